/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_DECODE_H
#define HR_TRACES_DECODE_H

/* A file's bytes, decompressed on the way when it is gzip or zstd (recognised by its first bytes). */

#include "headroom/base.h"

/* Instead of a path: standard input is read, and called so in messages. */
extern const char hr__standard_input[];

struct hr__decoder;
enum hr_status hr__decoder_open(const char *path, struct hr__decoder **decoder, struct hr_error *error);
/* Fills `buffer` as far as the file goes; `*length` below `capacity` is the end. A truncated or damaged
   compressed file is an error. */
enum hr_status hr__decoder_read(struct hr__decoder *decoder, char *buffer, size_t capacity, size_t *length,
                                struct hr_error *error);
void hr__decoder_close(struct hr__decoder *decoder);

#endif
