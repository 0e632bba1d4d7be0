/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_CONSOLE_H
#define HR_BASE_CONSOLE_H

/* Text output for terminals of 80 columns, and for pages of Markdown. */

#include "headroom/base.h"

#include <stdio.h>

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
   the removed part is replaced by "...". It is the end of the text, or the beginning if `keep_end` is set. `width` must
   be at least 3. The caller frees the copy. If memory is exhausted, the function returns NULL and sets
   console->out_of_memory. */
char *hr__fitted(struct hr__console *console, const char *text, size_t width, bool keep_end);
/* Returns a copy as hr__fitted does, but of the whole text. */
static inline char *hr__presentable(struct hr__console *console, const char *text) {
  return hr__fitted(console, text, SIZE_MAX, false);
}

void hr__put_label(struct hr__console *console, const char *label);
/* Prints a label in the first column of a field list, and a text in the second column. The text is wrapped at word
   boundaries. */
void hr__put_field(struct hr__console *console, const char *label, const char *format, ...) HR_PRINTF(3, 4);
/* Prints the field "speed": how many runs took how many seconds on how many threads, and the time to read the trace;
   load_s 0: unknown. Prints nothing if sim_s is 0. */
void hr__put_speed(struct hr__console *console, uint64_t runs, uint32_t threads, double sim_s, double load_s);

/* ---- Markdown ---- */

/* Prints a text from the input. Characters that are special in Markdown are escaped. */
void hr__markdown_text(struct hr__console *page, const char *text);
/* Prints the head of a table. `first` is the title of the first column, which is left-aligned. `columns` has the titles
   of the other columns, separated by '|'; these columns are right-aligned. */
void hr__markdown_head(struct hr__console *page, const char *first, const char *columns);

#endif
