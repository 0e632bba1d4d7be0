/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_TEXT_H
#define HR_BASE_TEXT_H

/* Text for files and for people: numbers, durations and amounts of money as text; UTF-8; text for terminals and for
   Markdown. No function depends on the locale. */

#include "headroom/base.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Defines a function that returns the text of an enumerator, or "" for other values. The table has rows X(enumerator,
   text, ...), and its enumerators count from 0 without gaps. */
#define HR__NAME_FUNCTION(function, type, table)                                                                       \
  const char *function(type value) {                                                                                   \
    static const char *const names[] = {table(HR__NAME_ELEMENT)};                                                      \
    return (size_t)value < sizeof names / sizeof *names ? names[value] : "";                                           \
  }
#define HR__NAME_ELEMENT(value, ...) [value] = HR__FIRST_OF(__VA_ARGS__, ),
#define HR__FIRST_OF(first, ...) first

/* The size of a buffer for the text that any of the functions for numbers below writes, including a terminating NUL. */
#define HR__NUMBER_BYTES 32

/* The hr__put functions write text at the address `at`, without a terminating NUL, and return the address after the
   text. */
char *hr__put_u64(char *at, uint64_t value);
static inline char *hr__put_i64(char *at, int64_t value) {
  if (value < 0) *at++ = '-';
  return hr__put_u64(at, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}
/* Write a value in millionths or thousandths as a decimal: 1500000 millionths are written as "1.5". Trailing zeros are
   omitted. */
char *hr__put_millionths(char *at, int64_t value);
char *hr__put_thousandths(char *at, int64_t value);
/* Writes micro-dollars as dollars with six decimals: "-12.500000". */
char *hr__put_usd(char *at, int64_t uusd);

/* The functions below write a NUL-terminated text and return `buffer`, which has HR__NUMBER_BYTES bytes. */

/* Formats a number with at most six decimals and without trailing zeros. The text is a valid JSON number. */
const char *hr__decimal_text(double value, char *buffer);
/* Formats a finite number as the shortest decimal from which the same number can be read back. The decimal has an
   exponent if it is shorter with one. The text is a valid JSON number. */
const char *hr__exact_text(double value, char *buffer);
/* Formats a count with thousands separators: "1,234,567". */
const char *hr__count_text(uint64_t count, char *buffer);
/* Formats a number with `decimals` decimals (at most 6) and thousands separators: "1,234.50". */
const char *hr__fixed_text(double value, unsigned decimals, char *buffer);
/* Formats a ratio: "1.25", "12,345", "1.23e7". The text has at most 9 columns. */
const char *hr__factor_text(double value, char *buffer);
/* Formats micro-dollars as dollars: "$1,234.50", "$12,346", "-$3.25". Amounts below $10,000 are rounded to cents,
   larger amounts to dollars. */
const char *hr__usd_text(int64_t uusd, char *buffer);
/* Formats a duration: "0 s", "1.25 s", "4 min 10 s", "3 h 12 min", "12 d 3 h". */
const char *hr__duration_text(double seconds, char *buffer);

/* Returns the edit distance of two words with transpositions of adjacent letters (optimal string alignment). Case is
   ignored. Returns SIZE_MAX if a word has more than 63 bytes. */
size_t hr__edit_distance(const char *a, const char *b);

/* Returns a copy of a text in valid UTF-8. A text that is not valid UTF-8 is read as Latin-1. The caller frees the
   copy. Returns NULL if memory is exhausted. */
char *hr__utf8_copy(const char *text);

/* Returns the number of bytes of the UTF-8 character at `text`, or 0 if the bytes are not valid UTF-8 (RFC 3629). */
size_t hr__utf8_length(const char *text);
static inline bool hr__is_utf8(const char *text) {
  size_t length = 1;
  while (*text && length > 0) text += length = hr__utf8_length(text);
  return length > 0;
}
/* Copies a text such that it is safe for a terminal. A control character of one byte, or a byte that is not UTF-8, is
   replaced by an escape such as "\x1B". A control character of several bytes is replaced by an escape such as
   "\u202E". Line feeds are copied if `keeps_lines` is set. The copy is truncated at a character boundary to `size`
   bytes, including its NUL. A text that is already safe is not changed. */
void hr__copy_safe(char *to, size_t size, const char *text, bool keeps_lines);

/* Returns `one` if the count is 1, else `many`, as in "1 job", "2 jobs". */
static inline const char *hr__counted(uint64_t count, const char *one, const char *many) {
  return count == 1 ? one : many;
}

/* Returns "s" unless the count is 1. */
static inline const char *hr__plural(uint64_t count) {
  return hr__counted(count, "", "s");
}

/* A 128-bit integer. It is used for sums of microseconds over millions of jobs and for products of GPUs and
   microseconds, because these can exceed 64 bits. */
__extension__ typedef unsigned __int128 hr__wide;

/* Durations in microseconds. */

#define HR__MINUTE_US (60 * HR_SECOND_US)
#define HR__HOUR_US (3600 * HR_SECOND_US)
#define HR__DAY_US (24 * HR__HOUR_US)

static inline double hr__seconds(int64_t us) {
  return (double)us / (double)HR_SECOND_US;
}

/* The number of size classes of requests. They are numbered from 0, the smallest size first. */
enum { HR__SIZES = 9 };
/* Returns the size class of a request for `gpus` GPUs. */
static inline uint32_t hr__size_of(uint32_t gpus) {
  if (gpus <= 1) return gpus;
  if (gpus <= 4) return 2;
  uint32_t doublings = 32u - (uint32_t)__builtin_clz(gpus - 1);
  return doublings < HR__SIZES - 1 ? doublings : HR__SIZES - 1;
}
/* Returns the name of a size class, such as "2-4"; NULL if no class has that number. */
static inline const char *hr__size_name(uint32_t size) {
  static const char *const names[HR__SIZES] = {"0", "1", "2-4", "5-8", "9-16", "17-32", "33-64", "65-128", "129+"};
  return size < HR__SIZES ? names[size] : NULL;
}

/* ---- Whole files ----------------------------------------------------------------------------------- */

/* Reads a file from its present position to the end. Returns the bytes with a terminating NUL; the caller frees them.
   `*length` is set to their number without the NUL. Reading stops soon after `max_bytes` bytes, so a `*length` above
   `max_bytes` means that the file is too large. Returns NULL if memory is exhausted. Check ferror() for read errors. */
char *hr__file_text(FILE *file, size_t max_bytes, size_t *length);

/* Closes a stream of open_memstream. Returns its text; if memory was exhausted, frees the text and returns NULL. */
char *hr__stream_text(FILE *stream, char **text);

/* ---- Console --------------------------------------------------------------------------------------- */

/* Text output for terminals of 80 columns, and for pages of Markdown. */

enum { HR__LINE_WIDTH = 80, HR__LABEL_WIDTH = 13 };

struct hr__console {
  FILE *out;
  bool colour;
  bool unicode;       /* the terminal can display UTF-8; otherwise only ASCII */
  bool out_of_memory; /* some text could not be printed; the caller checks this at the end */
};

/* Return the escape sequences for bold, dim and plain text, or "" if the console has no colour. */
static inline const char *hr__bold(const struct hr__console *console) {
  return console->colour ? "\033[1m" : "";
}

static inline const char *hr__dim(const struct hr__console *console) {
  return console->colour ? "\033[2m" : "";
}

static inline const char *hr__plain(const struct hr__console *console) {
  return console->colour ? "\033[0m" : "";
}

/* Returns whether a byte of a UTF-8 text is the first byte of a character. */
static inline bool hr__begins_character(char byte) {
  return ((unsigned char)byte & 0xc0) != 0x80;
}

/* Returns how many columns the first `bytes` bytes of a UTF-8 text take. Each character counts as one column. */
static inline size_t hr__width_of(const char *text, size_t bytes) {
  size_t width = 0;
  for (size_t i = 0; i < bytes; i++) width += hr__begins_character(text[i]);
  return width;
}

/* Returns a copy of a text from the input that is safe to print: the copy is valid UTF-8, and control characters, also
   those of bidirectional text, are replaced by '?'. A text of more than `width` columns is cut to `width` columns, and
   the removed part is replaced by "...". The removed part is the end of the text, or the beginning if `keep_end` is
   set. `width` must be at least 3. The caller frees the copy. If memory is exhausted, the function returns NULL and
   sets console->out_of_memory. */
char *hr__fitted(struct hr__console *console, const char *text, size_t width, bool keep_end);
/* Returns a copy as hr__fitted does, without a limit of the width. */
static inline char *hr__presentable(struct hr__console *console, const char *text) {
  return hr__fitted(console, text, SIZE_MAX, false);
}

/* Print a text in a column of `width` columns, left-aligned or right-aligned. A wider text is not cut. */
static inline void hr__put_left(FILE *out, const char *text, size_t width) {
  size_t taken = hr__width_of(text, strlen(text));
  fprintf(out, "%s%*s", text, (int)(taken < width ? width - taken : 0), "");
}

static inline void hr__put_right(FILE *out, const char *text, size_t width) {
  size_t taken = hr__width_of(text, strlen(text));
  fprintf(out, "%*s%s", (int)(taken < width ? width - taken : 0), "", text);
}

/* Prints a text from the input in a column of `width` columns, left-aligned. It is cut so that a space follows it. */
void hr__put_fitted(struct hr__console *console, const char *text, size_t width);
/* Prints the first line of a page: the program, `what` and a name from the input of at most `width` columns. */
void hr__put_page_title(struct hr__console *console, const char *what, const char *name, size_t width);
/* Returns whether everything was printed: HR_OK, HR_NO_MEMORY or HR_IO_ERROR. */
enum hr_status hr__console_status(const struct hr__console *console);

/* Prints a label in the first column of a field list, without a line end. */
void hr__put_label(struct hr__console *console, const char *label);
/* Prints a label in the first column of a field list, and a text in the second column. The text is wrapped at word
   boundaries. */
void hr__put_field(struct hr__console *console, const char *label, const char *format, ...) HR_PRINTF(3, 4);
/* Prints the field "speed": the number of runs, their time in seconds, the number of threads, and the time to read the
   trace. If `load_s` is 0, the time to read the trace is unknown. Prints nothing if `sim_s` is 0. */
void hr__put_speed(struct hr__console *console, uint64_t runs, uint32_t threads, double sim_s, double load_s);

/* ---- Console: Markdown ----------------------------------------------------------------------------- */

/* Prints a text from the input. Characters that are special in Markdown are escaped. */
void hr__markdown_text(struct hr__console *page, const char *text);
/* Prints the head of a table. `first` is the title of the first column, which is left-aligned. `columns` has the titles
   of the other columns, separated by '|'; these columns are right-aligned. */
void hr__markdown_head(struct hr__console *page, const char *first, const char *columns);

#endif
