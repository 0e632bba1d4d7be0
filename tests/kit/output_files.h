/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_OUTPUT_FILES_H
#define HR_TESTS_KIT_OUTPUT_FILES_H

/* Files that a test writes and reads back, in a folder of its own that goes when the program ends. */

#include <stdbool.h>

/* The path of a file in the folder; valid until the next call. */
const char *files_path(const char *name);
/* The whole file; the caller frees it. Ends the program when it cannot be read. */
char *files_read(const char *path);
/* Nothing is in the folder but the file called `name` (NULL: nothing at all). */
bool files_only(const char *name);

#endif
