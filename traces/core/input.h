/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_INPUT_H
#define HR_TRACES_CORE_INPUT_H

/* A text file, plain or compressed, read line by line in bounded memory. */

#include "headroom/base.h"
#include "headroom/trace_files.h"

#include <string.h>
#include <strings.h>

#define HR__LONGEST_LINE ((size_t)1 << 20) /* bytes, including the line end */

struct hr__input;
/* Opens a text file. Returns an error if the file cannot be read, is empty or is not text. `path` must outlive the
   input. */
enum hr_status hr__input_open(const char *path, struct hr__input **input, struct hr_error *error);
/* Closes the file and frees the input. NULL is allowed. */
void hr__input_close(struct hr__input *input);

/* Returns the beginning of the file, up to a few hundred kilobytes. The text is valid until the first line is read. */
struct hr_text hr__input_peek(const struct hr__input *input);

/* Returns true if a text begins with `start`. */
static inline bool hr__begins_with(struct hr_text text, const char *start) {
  size_t length = strlen(start);
  return text.length >= length && memcmp(text.at, start, length) == 0;
}

/* Returns true if a header line begins with `start`, ignoring case. */
static inline bool hr__begins_with_names(struct hr_text line, const char *start) {
  size_t length = strlen(start);
  return line.length >= length && strncasecmp(line.at, start, length) == 0;
}

/* Returns the field at a position of a row of a simple CSV file; its text is NULL if the row is shorter. Quotes have no
   meaning. */
static inline struct hr_text hr__comma_field(struct hr_text line, uint32_t position) {
  const char *at = line.at, *end = line.at + line.length;
  for (;; position--) {
    const char *comma = memchr(at, ',', (size_t)(end - at));
    if (position == 0) return (struct hr_text){at, (size_t)((comma ? comma : end) - at)};
    if (!comma) return (struct hr_text){NULL, 0};
    at = comma + 1;
  }
}

/* Returns the first line that is neither blank nor a `#` comment, without surrounding white space. */
struct hr_text hr__first_line(struct hr_text beginning);

/* Reads the next line, including its line end. The last line of a file may have no line end. The line is valid until
   the next call. At the end of the file, `line->at` is NULL. A line of more than HR__LONGEST_LINE bytes is an error. */
enum hr_status hr__input_line(struct hr__input *input, struct hr_text *line, struct hr_error *error);
/* Reads the next bytes, which need not end at a line end. They are valid until the next call. The chunk is empty at
   the end of the file. */
enum hr_status hr__input_chunk(struct hr__input *input, struct hr_text *chunk, struct hr_error *error);
/* Returns complete lines in memory, up to all, as long as each is a plain row: no quote, no carriage return, not empty,
   and no white space at its beginning. If the next line is not plain, returns an empty text and reads nothing. */
struct hr_text hr__input_plain_lines(struct hr__input *input);
/* Returns the number, from 1, of the line that was read last. */
uint64_t hr__input_line_number(const struct hr__input *input);

/* The path that means standard input, and the name of standard input in messages. */
extern const char hr__standard_input[];

/* Returns true if a file with these first bytes, of which four are enough, is gzip or zstd. */
static inline bool hr__is_compressed(const void *bytes, size_t length) {
  return (length >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0) ||
         (length >= 4 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0);
}

/* Reads a complete file. Its first bytes determine whether it is plain, gzip or zstd. The decoded file may have at
   most `max_bytes`. For other known formats (zip, bzip2, xz, Parquet, UTF-16) the error message says how to convert
   the file. The caller frees `*bytes`, also after an error. */
enum hr_status hr__decoded_file(const char *path, size_t max_bytes, char **bytes, size_t *size, struct hr_error *error);

#endif
