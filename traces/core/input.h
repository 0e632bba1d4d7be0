/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_INPUT_H
#define HR_TRACES_CORE_INPUT_H

/* A text file line by line, plain or compressed, never held in memory as a whole. */

#include "headroom/base.h"
#include "headroom/trace_files.h"

#include <string.h>
#include <strings.h>

#define HR__LONGEST_LINE ((size_t)1 << 20)

struct hr__input;
/* Fails for what cannot be read, is empty, or is no text. `path` must outlive the input. */
enum hr_status hr__input_open(const char *path, struct hr__input **input, struct hr_error *error);
void hr__input_close(struct hr__input *input);

/* The file's beginning, up to a few hundred kilobytes, as long as no line was taken. */
struct hr_text hr__input_peek(const struct hr__input *input);

/* Whether a text begins with this. */
static inline bool hr__begins_with(struct hr_text text, const char *start) {
  size_t length = strlen(start);
  return text.length >= length && memcmp(text.at, start, length) == 0;
}

/* The same of a line of names of columns, in upper or lower case. */
static inline bool hr__begins_with_names(struct hr_text line, const char *start) {
  size_t length = strlen(start);
  return line.length >= length && strncasecmp(line.at, start, length) == 0;
}

/* The first line of a text that is neither blank nor a `#` comment, without white space around it. */
struct hr_text hr__first_line(struct hr_text beginning);

/* The next line with its line end (the last one may have none), valid until the next call; `line->at` is NULL at the
   end of the file. */
enum hr_status hr__input_line(struct hr__input *input, struct hr_text *line, struct hr_error *error);
/* Whatever comes next, lines or parts of them, valid until the next call; empty at the end of the file. */
enum hr_status hr__input_chunk(struct hr__input *input, struct hr_text *chunk, struct hr_error *error);
/* All whole lines that are at hand, when there is nothing in them to look at one by one: no quote, no carriage return,
   no line that begins with white space or is empty. Empty text when there are none such. */
struct hr_text hr__input_plain_lines(struct hr__input *input);
/* The number, from 1, of the line that was taken last. */
uint64_t hr__input_line_number(const struct hr__input *input);

/* A file's bytes, decompressed on the way when it is gzip or zstd (recognised by its first bytes). */

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
