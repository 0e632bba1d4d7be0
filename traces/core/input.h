/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_INPUT_H
#define HR_TRACES_CORE_INPUT_H

/* A text file, plain or compressed, read line by line in bounded memory. */

#include "headroom/base.h"
#include "headroom/trace_files.h"

#include <string.h>
#include <strings.h>

#define HR__LONGEST_LINE ((size_t)1 << 20) /* bytes, with the line end */

struct hr__input;
/* Opens a text file. Fails if it cannot be read, is empty, or is not text. `path` must outlive the input. */
enum hr_status hr__input_open(const char *path, struct hr__input **input, struct hr_error *error);
/* Closes the file and frees the input. NULL is allowed. */
void hr__input_close(struct hr__input *input);

/* The beginning of the file, up to a few hundred kilobytes. Valid until the first line is taken. */
struct hr_text hr__input_peek(const struct hr__input *input);

/* Whether a text begins with `start`. */
static inline bool hr__begins_with(struct hr_text text, const char *start) {
  size_t length = strlen(start);
  return text.length >= length && memcmp(text.at, start, length) == 0;
}

/* Whether a header line begins with `start`, ignoring case. */
static inline bool hr__begins_with_names(struct hr_text line, const char *start) {
  size_t length = strlen(start);
  return line.length >= length && strncasecmp(line.at, start, length) == 0;
}

/* The first line that is neither blank nor a `#` comment, without surrounding white space. */
struct hr_text hr__first_line(struct hr_text beginning);

/* Takes the next line with its line end (the last line may have none). It is valid until the next call; `line->at` is
   NULL at the end of the file. A line of more than HR__LONGEST_LINE bytes is an error. */
enum hr_status hr__input_line(struct hr__input *input, struct hr_text *line, struct hr_error *error);
/* Takes the next bytes, whole lines or parts of lines, valid until the next call; empty at the end of the file. */
enum hr_status hr__input_chunk(struct hr__input *input, struct hr_text *chunk, struct hr_error *error);
/* Takes all whole lines in memory if each is a plain row: no quote, no carriage return, no empty line, no line that
   begins with white space. Otherwise returns an empty text and takes nothing. */
struct hr_text hr__input_plain_lines(struct hr__input *input);
/* Number, from 1, of the line that was taken last. */
uint64_t hr__input_line_number(const struct hr__input *input);

/* Use as a path to read standard input; also its name in messages. */
extern const char hr__standard_input[];

/* Reads a whole table: a plain, gzip or zstd file, detected by its first bytes, of at most `max_bytes` when decoded.
   Other known formats (zip, bzip2, xz, Parquet, UTF-16) are errors that say what to do. The caller frees `*bytes`, also
   after an error. */
enum hr_status hr__decoded_file(const char *path, size_t max_bytes, char **bytes, size_t *size, struct hr_error *error);

#endif
