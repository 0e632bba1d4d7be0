/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_FUZZ_INPUT_H
#define HR_TESTS_FUZZ_INPUT_H

/* The interface of fuzz targets: the entry point, and the input as a file. Readers read files, so each target writes
   its input to a file. */

#include <stddef.h>
#include <stdint.h>

/* Entry point of libFuzzer. replay.c calls it, too. Returns 0, or another value if the input file cannot be removed. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_PATH_BUFFER = 64 };
/* Returns the folder for input files. It is in memory if the system has such a folder. */
const char *fuzz_folder(void);
/* Writes the bytes to a new file and sets `path` to its path. The caller unlinks the file. Aborts on errors. */
void fuzz_input_write(const uint8_t *data, size_t size, char path[FUZZ_PATH_BUFFER]);

#endif
