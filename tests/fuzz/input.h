/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_FUZZ_INPUT_H
#define HR_TESTS_FUZZ_INPUT_H

/* What a fuzz target needs: its entry point, and the input as a file, since that is what the readers read. */

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's entry point; also called by replay.c. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_PATH_BUFFER = 64 };
/* Where such files are: in memory where the system has such a folder. */
const char *fuzz_folder(void);
/* Writes the bytes to a new file and its name to `path`; the caller unlinks it. Aborts when that cannot be done. */
void fuzz_input_write(const uint8_t *data, size_t size, char path[FUZZ_PATH_BUFFER]);

#endif
