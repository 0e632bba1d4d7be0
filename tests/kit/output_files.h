/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_OUTPUT_FILES_H
#define HR_TESTS_KIT_OUTPUT_FILES_H

/* Files of a test, in a temporary folder that is removed when the program ends. */

#include <stdbool.h>

/* Returns the path of a file in the folder; valid until the next call. */
const char *files_path(const char *name);
/* Returns the content of a file, to be freed by the caller. Ends the program on failure. */
char *files_read(const char *path);
/* Whether the folder contains only the file `name` (NULL: nothing). */
bool files_only(const char *name);

#endif
