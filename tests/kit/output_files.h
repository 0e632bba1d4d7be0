/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_OUTPUT_FILES_H
#define HR_TESTS_KIT_OUTPUT_FILES_H

/* Output files of a test, in a temporary folder that is removed when the program ends. */

#include <stdbool.h>

/* Returns the path of a file in the folder. It is valid until the next call. */
const char *files_path(const char *name);
/* Returns the content of a file. The caller frees it. If the file cannot be read, the program aborts. */
char *files_read(const char *path);
/* Returns whether the folder contains only the file `name`, or no file if `name` is NULL. */
bool files_only(const char *name);

#endif
