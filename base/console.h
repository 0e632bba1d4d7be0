/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_CONSOLE_H
#define HR_BASE_CONSOLE_H

/* Text output for terminals, 80 columns wide, and for pages of Markdown. */

#include "headroom/base.h"

#include <stdio.h>

enum { HR__LINE_WIDTH = 80, HR__LABEL_WIDTH = 13 };

struct hr__console {
  FILE *out;
  bool colour;
  bool unicode;       /* the terminal shows UTF-8, not only ASCII */
  bool out_of_memory; /* some text could not be printed; check it at the end */
};

/* Escape sequences for bold, dim and plain text; "" if the console has no colour. */
static inline const char *hr__bold(const struct hr__console *console) {
  return console->colour ? "\033[1m" : "";
}

static inline const char *hr__dim(const struct hr__console *console) {
  return console->colour ? "\033[2m" : "";
}

static inline const char *hr__plain(const struct hr__console *console) {
  return console->colour ? "\033[0m" : "";
}

/* Whether a byte of a UTF-8 text is the first one of a character. */
static inline bool hr__begins_character(char byte) {
  return ((unsigned char)byte & 0xc0) != 0x80;
}

/* The number of columns of the first `bytes` bytes of a UTF-8 text: one for each character. */
static inline size_t hr__width_of(const char *text, size_t bytes) {
  size_t width = 0;
  for (size_t i = 0; i < bytes; i++) width += hr__begins_character(text[i]);
  return width;
}

/* A copy of a text from the input that is safe to print: valid UTF-8, with '?' for control characters; cut to `width`
   columns (at least 3) with "..." at the end, or at the beginning if `keep_end` is set. The caller frees it. NULL if
   memory is exhausted, and then console->out_of_memory is set. */
char *hr__fitted(struct hr__console *console, const char *text, size_t width, bool keep_end);
/* As hr__fitted, of any width. */
static inline char *hr__presentable(struct hr__console *console, const char *text) {
  return hr__fitted(console, text, SIZE_MAX, false);
}

void hr__put_label(struct hr__console *console, const char *label);
/* Prints a label and, in the column beside it, a text that is wrapped at word boundaries. */
void hr__put_field(struct hr__console *console, const char *label, const char *format, ...) HR_PRINTF(3, 4);

/* ---- Markdown: special characters in text from the input are escaped ---- */

/* Prints a text from the input. */
void hr__markdown_text(struct hr__console *page, const char *text);
/* Prints the head of a table: a first column, left-aligned, and further columns, separated by '|' in `columns`,
   aligned to the right. */
void hr__markdown_head(struct hr__console *page, const char *first, const char *columns);

#endif
