/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Advice for a person, 80 columns wide: dollars first, then what to change, with overrides that can be copied. */

#include "plan/advising.h"
#include "plan/figures.h"
#include "report/console.h"
#include "report/text.h"

#include <stdlib.h>
#include <string.h>

struct page {
  struct hr__console console;
  const struct hr_advice *advice;
};

/* ---- Overrides -------------------------------------------------------------------------------------- */

/* The length of the piece at `text` behind which a line may end: JSON takes a new line behind a comma, and a shell one
   within quotes. Within a JSON text no line may end. */
static size_t piece_length(const char *text, bool *in_text) {
  size_t at = 0;
  for (; text[at]; at++) {
    if (text[at] == '\\' && *in_text && text[at + 1])
      at++;
    else if (text[at] == '"')
      *in_text = !*in_text;
    else if (text[at] == ',' && !*in_text)
      return at + 1;
  }
  return at;
}

/* Characters as they stand within single quotes. */
static void put_quoted(FILE *out, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '\'')
      fputs("'\\''", out);
    else
      fputc(text[i], out);
  }
}

static void put_override(struct page *page, const char *text) {
  FILE *out = page->console.out;
  bool plain = text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-=")] == '\0';
  bool in_text = false;
  size_t column = strlen("    --set '");
  fprintf(out, "    --set %s", plain ? "" : "'");
  while (*text) {
    size_t length = piece_length(text, &in_text), width = hr__width_of(text, length);
    if (column > 11 && column + width + 1 > HR__LINE_WIDTH) {
      fputs("\n      ", out);
      column = 6;
    }
    put_quoted(out, text, length);
    column += width;
    text += length;
  }
  fputs(plain ? "\n" : "'\n", out);
}

/* ---- Items ------------------------------------------------------------------------------------------ */

static const char *usd_text(const struct hr_replicated *usd, char *text, size_t size) {
  char number[3][HR__FIGURE_BYTES];
  hr__difference_text(HR__DOLLARS, usd->mean, number[0]);
  if (usd->mean == 0) snprintf(number[0], sizeof number[0], "$0");
  hr__difference_text(HR__DOLLARS, usd->low, number[1]);
  hr__difference_text(HR__DOLLARS, usd->high, number[2]);
  if (isnan(usd->low) || strcmp(number[1], number[2]) == 0)
    snprintf(text, size, "%s", number[0]);
  else
    snprintf(text, size, "%s (%s to %s)", number[0], number[1], number[2]);
  return text;
}

/* "training of retail in pool aws" */
static void put_subject(struct page *page, const struct hr_advice_item *item) {
  char text[700];
  snprintf(text, sizeof text, "%s%s%.200s%s%.200s", item->class_ ? item->class_ : "all jobs",
           item->tenant ? " of " : "", item->tenant ? item->tenant : "", item->pool ? " in pool " : " in all pools",
           item->pool ? item->pool : "");
  hr__put_field(&page->console, "  for", "%s", text);
}

static void put_item(struct page *page, size_t place) {
  struct hr_advice_item item;
  struct hr__console *console = &page->console;
  char text[200], number[4][HR__FIGURE_BYTES];
  hr_advice_item(page->advice, place, &item);
  fprintf(console->out, "\n  %s%-17s %s a month%s\n", hr__bold(console), hr_advice_kind_name(item.kind),
          usd_text(&item.monthly_usd, text, sizeof text), hr__plain(console));
  put_subject(page, &item);
  hr__put_field(console, "  change", "%s -> %s", item.from, item.to);
  hr__put_field(console, "  p95 wait", "%s -> %s; completed %s -> %s",
                hr__figure_text(HR__SECONDS, item.wait_p95_s.before, number[0]),
                hr__figure_text(HR__SECONDS, item.wait_p95_s.after, number[1]),
                hr__figure_text(HR__SHARE, item.completed.before, number[2]),
                hr__figure_text(HR__SHARE, item.completed.after, number[3]));
  if (item.reason) {
    hr__put_field(console, "  but", "%s", item.reason);
    return; /* the rest of what is not advised is in the JSON */
  }
  for (size_t i = 0; i < item.assumed->count; i++)
    hr__put_field(console, i ? "" : "  assumed", "%s", item.assumed->text[i]);
  for (size_t i = 0; i < item.n_set; i++) put_override(page, item.set[i]);
}

static void put_items(struct page *page, bool advised, const char *title, const char *nothing) {
  const struct hr_advice *advice = page->advice;
  bool any = false;
  fprintf(page->console.out, "\n%s%s%s\n", hr__bold(&page->console), title, hr__plain(&page->console));
  for (size_t i = 0; i < advice->n_proposals; i++) {
    if (advice->proposals[i].advised != advised) continue;
    put_item(page, i);
    any = true;
  }
  if (!any) fprintf(page->console.out, "  %s\n", nothing);
}

/* ---- The whole -------------------------------------------------------------------------------------- */

static void put_head(struct page *page) {
  const struct hr_advice *advice = page->advice;
  struct hr__console *console = &page->console;
  char text[2][HR__FIGURE_BYTES], counts[HR__NUMBER_BYTES];
  char *name = hr__fitted(console, advice->config.scenario->name, HR__LINE_WIDTH - 24, false);
  if (!name) return;
  fprintf(console->out, "%sHeadroom %s: advice on %s%s\n\n", hr__bold(console), hr_version(), name, hr__plain(console));
  free(name);
  hr__put_field(console, "trace", "%s (%s jobs)", advice->config.trace->source,
                hr__count_text(advice->config.trace->n_jobs, counts));
  double usd = hr__advice_figure(advice, advice->base, HR__A_MONTHLY, advice->n_replications).before;
  size_t wait = hr__group_figure(advice, HR_N_CLASSES, HR__A_WAIT);
  hr__put_field(console, "today", "%s a month, p95 wait %s", hr__figure_text(HR__DOLLARS, usd, text[0]),
                hr__figure_text(HR__SECONDS,
                                hr__advice_figure(advice, advice->base, wait, advice->n_replications).before, text[1]));
}

static void put_foot(struct page *page, const struct hr_perf *perf) {
  const struct hr_advice *advice = page->advice;
  struct hr__console *console = &page->console;
  char text[2][HR__NUMBER_BYTES];
  fputc('\n', console->out);
  hr__put_field(console, "each",
                "is run alone, over %s replication%s at most, beside the scenario as it is over the "
                "same random events; together they need not save the sum. Intervals: %.4g %%.",
                hr__count_text(advice->n_replications, text[0]), advice->n_replications == 1 ? "" : "s",
                100 * advice->config.scenario->replications.confidence);
  hr__put_field(console, "advised",
                "is what surely saves something, lets as large a share of each class complete and "
                "makes no p95 wait longer by more than %d %% and %d s.",
                (int)(100 * HR_ADVISE_WAIT_SHARE), HR_ADVISE_WAIT_S);
  if (perf && perf->sim_s > 0)
    hr__put_field(console, "speed", "%s runs in %s s on %u thread%s",
                  hr__count_text(hr__lab_runs(advice->lab), text[0]), hr__fixed_text(perf->sim_s, 2, text[1]),
                  (unsigned)advice->config.n_threads, advice->config.n_threads == 1 ? "" : "s");
}

enum hr_status hr_advice_print(FILE *out, const struct hr_advice *advice, const struct hr_perf *perf, bool colour) {
  struct page page = {.console = {.out = out, .colour = colour}, .advice = advice};
  put_head(&page);
  put_items(&page, true, "Advised", "Nothing found that saves anything and serves as well.");
  if (advice->n_proposals) put_items(&page, false, "Looked at, not advised", "Nothing.");
  put_foot(&page, perf);
  if (page.console.out_of_memory) return HR_NO_MEMORY;
  return ferror(out) ? HR_IO_ERROR : HR_OK;
}
