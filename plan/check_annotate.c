/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GitHub's workflow commands: "::error file=F,title=T::MESSAGE", in which some characters are written as %XX. Source:
   docs.github.com, "Workflow commands for GitHub Actions"; escapes as in actions/toolkit, packages/core/src/command.ts.
 */

#include "plan/checking.h"
#include "plan/figures.h"
#include "report/text.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FIGURES = 3 };

struct page {
  FILE *out;
  bool property; /* or else the message */
  bool out_of_memory;
};

static void put_text(struct page *page, const char *text) {
  char *utf8 = hr__utf8_copy(text);
  if (!utf8) page->out_of_memory = true;
  for (const char *at = utf8; at && *at; at++) {
    bool escaped = *at == '%' || *at == '\r' || *at == '\n' || (page->property && (*at == ':' || *at == ','));
    fprintf(page->out, escaped ? "%%%02X" : "%c", (unsigned char)*at);
  }
  free(utf8);
}

static void put_sentence(void *self, const char *sentence) {
  put_text(self, sentence);
  put_text(self, "\n");
}

static void put_figures(struct page *page, const struct hr__check_case *item) {
  size_t shown = 0, worse = hr__case_worse(item);
  for (size_t i = 0; i < item->n_moved && shown < MOST_FIGURES; i++) {
    char before[HR__FIGURE_BYTES], now[HR__FIGURE_BYTES], line[HR__LABEL_BYTES + 3 * HR__FIGURE_BYTES];
    const struct hr__moved *moved = &item->moved[i];
    if (moved->verdict != HR__WORSE) continue;
    hr__moved_texts(moved, before, now);
    snprintf(line, sizeof line, "%s: %s, was %s\n", moved->label, now, before);
    put_text(page, line);
    shown++;
  }
  char more[60];
  snprintf(more, sizeof more, "and %zu more figures\n", worse - shown);
  if (worse > shown) put_text(page, more);
}

enum hr_status hr_check_annotate(FILE *out, const struct hr_check *check) {
  struct page page = {.out = out};
  for (size_t i = 0; i < check->n_cases; i++) {
    const struct hr__check_case *item = &check->cases[i];
    const struct hr__sentences to = {.self = &page, .put = put_sentence};
    if (!hr__case_failed(item)) continue;
    page.property = true;
    fputs("::error file=", out);
    put_text(&page, item->run ? item->run->scenario : check->config.baseline_path);
    fputs(",title=", out);
    put_text(&page, "headroom check: ");
    put_text(&page, item->name);
    fputs("::", out);
    page.property = false;
    put_figures(&page, item);
    hr__case_tell(item, &to);
    fputc('\n', out);
  }
  return page.out_of_memory ? HR_NO_MEMORY : HR_OK;
}
