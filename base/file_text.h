/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_FILE_TEXT_H
#define HR_BASE_FILE_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Reads a file from its current position to its end, or until more than `max_bytes` bytes are read. The size of the
   file need not be known, so the file can be a pipe. Returns the text, which ends with NUL, and stores its length. The
   caller frees the text, and checks the file for a read error with ferror(). Returns NULL if memory is exhausted. */
char *hr__file_text(FILE *file, size_t max_bytes, size_t *length);

#endif
