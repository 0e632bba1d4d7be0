/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/markdown.h"

#include <stdlib.h>
#include <string.h>

void hr__markdown_text(struct hr__console *page, const char *text) {
  char *clean = hr__presentable(page, text);
  for (const char *at = clean; at && *at; at++) {
    if (strchr("\\`*_|<>[]#~", *at)) fputc('\\', page->out);
    fputc(*at, page->out);
  }
  free(clean);
}

void hr__markdown_head(struct hr__console *page, const char *first, const char *columns) {
  size_t count = 1;
  for (const char *at = columns; *at; at++) count += *at == '|';
  fprintf(page->out, "\n| %s |%s|\n|---|", first, columns);
  for (size_t i = 0; i < count; i++) fputs("---:|", page->out);
  fputc('\n', page->out);
}
