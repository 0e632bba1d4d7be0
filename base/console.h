/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_CONSOLE_H
#define HR_BASE_CONSOLE_H

/* Text for a person at a terminal, 80 columns wide. */

#include "headroom/base.h"

#include <stdio.h>

enum { HR__LINE_WIDTH = 80, HR__LABEL_WIDTH = 13 };

struct hr__console {
  FILE *out;
  bool colour;
  bool unicode;       /* more than ASCII can be shown */
  bool out_of_memory; /* set on the way, asked for at the end */
};

/* What turns text bold, dim and plain again: nothing without colour. */
const char *hr__bold(const struct hr__console *console);
const char *hr__dim(const struct hr__console *console);
const char *hr__plain(const struct hr__console *console);

/* Columns that the first `bytes` of a UTF-8 text take. */
size_t hr__width_of(const char *text, size_t bytes);
/* A copy of a text of the input that a terminal can show: UTF-8, without control characters. The caller frees it. */
char *hr__presentable(struct hr__console *console, const char *text);
/* Likewise in at most `width` columns: what is too long loses its end, or its begin where the end matters more. */
char *hr__fitted(struct hr__console *console, const char *text, size_t width, bool keep_end);

void hr__put_label(struct hr__console *console, const char *label);
/* A label and text beside it, broken into lines between words. */
void hr__put_field(struct hr__console *console, const char *label, const char *format, ...) HR_PRINTF(3, 4);

/* Pages of Markdown: text of the input is no markup there. */

/* A text of the input. */
void hr__markdown_text(struct hr__console *page, const char *text);
/* A table's head: `columns` after a first one, separated by '|', are aligned to the right. */
void hr__markdown_head(struct hr__console *page, const char *first, const char *columns);

#endif
