/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A comparison as Markdown: figures are rows, policies columns; then a table each for classes and tenants. */

#include "plan/figures.h"
#include "report/markdown.h"
#include "report/policy_words.h"
#include "report/text.h"
#include "sim/output_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_GROUPS = 20 };

struct page {
  struct hr__console console; /* whose text it makes fit */
  const struct hr_comparison *comparison;
};

static void put_text(struct page *page, const char *text) {
  hr__markdown_text(&page->console, text);
}

/* "1 h 2 min (-4 h)"; bold where the difference is significant and not merely exact. */
static void put_estimate(struct page *page, enum hr__unit unit, const struct hr_estimate *estimate, bool first) {
  char text[HR__FIGURE_BYTES];
  FILE *out = page->console.out;
  bool bold = estimate->significant && !page->comparison->exact;
  fprintf(out, " %s%s", bold ? "**" : "", hr__figure_text(unit, estimate->value, text));
  if (!first && !isnan(estimate->difference)) {
    fprintf(out, " (%s", hr__difference_text(unit, estimate->difference, text));
    if (page->comparison->n_replications > 1) fprintf(out, " %s", hr__margin_text(unit, estimate, text));
    fputc(')', out);
  }
  fprintf(out, "%s |", bold ? "**" : "");
}

static void put_head(struct page *page) {
  const struct hr_compare_config *config = &page->comparison->config;
  FILE *out = page->console.out;
  fputs("# ", out);
  put_text(page, config->scenario->name);
  fputs("\n\nTrace ", out);
  put_text(page, config->trace->source);
  fprintf(out, ", %" PRIu32 " jobs; seed %" PRIu64 ". ", config->trace->n_jobs, config->scenario->seed);
  if (page->comparison->exact)
    fputs("Nothing is random: one run of each policy, and every difference to the first, in brackets, is exact.\n\n",
          out);
  else if (page->comparison->n_replications == 1)
    fputs("One run of each policy: which differences to the first, in brackets, are significant cannot be told.\n\n",
          out);
  else
    fprintf(out,
            "%" PRIu32 " runs of each policy with the same random events for all. In brackets: the difference to the "
            "first policy with the margin of its paired 95 %% interval; bold: it leaves zero out.\n\n",
            page->comparison->n_replications);
}

static void put_policies(struct page *page) {
  const struct hr_compare_config *config = &page->comparison->config;
  for (uint32_t i = 0; i < config->n_contenders; i++) {
    char *words = hr__policy_words(config->contenders[i].policy);
    if (!words) page->console.out_of_memory = true;
    fputs("- ", page->console.out);
    put_text(page, config->contenders[i].label);
    fputs(": ", page->console.out);
    if (words) put_text(page, words);
    fputc('\n', page->console.out);
    free(words);
  }
  fputc('\n', page->console.out);
}

static void put_metrics(struct page *page) {
  const struct hr_compare_config *config = &page->comparison->config;
  FILE *out = page->console.out;
  fputs("| |", out);
  for (uint32_t i = 0; i < config->n_contenders; i++) {
    fputc(' ', out);
    put_text(page, config->contenders[i].label);
    fputs(" |", out);
  }
  fputs("\n|---|", out);
  for (uint32_t i = 0; i < config->n_contenders; i++) fputs("---:|", out);
  fputc('\n', out);
  for (unsigned m = 0; m < HR__N_METRICS; m++) {
    if (!hr__has_metric(page->comparison, (enum hr__metric)m)) continue;
    fprintf(out, "| %s: %s |", hr__metric_infos[m].block, hr__metric_infos[m].title);
    for (uint32_t i = 0; i < config->n_contenders; i++) {
      struct hr_estimate estimate = hr__estimate(page->comparison, i, (enum hr__metric)m);
      put_estimate(page, hr__metric_unit(&hr__metric_infos[m]), &estimate, i == 0);
    }
    fputc('\n', out);
  }
}

static void put_group(struct page *page, const struct hr__group_table *groups, const char *name) {
  const struct hr_compare_config *config = &page->comparison->config;
  size_t place = hr__group_find(groups, name);
  for (uint32_t i = 0; place != SIZE_MAX && i < config->n_contenders; i++) {
    fputs("| ", page->console.out);
    put_text(page, name[0] ? name : "(none)");
    fputs(" | ", page->console.out);
    put_text(page, config->contenders[i].label);
    fputs(" |", page->console.out);
    for (unsigned m = 0; m < HR__N_GROUP_METRICS; m++) {
      struct hr_estimate estimate = hr__group_estimate(page->comparison, groups, i, place, (enum hr__group_metric)m);
      put_estimate(page, hr__metric_unit(&hr__group_metric_infos[m]), &estimate, i == 0);
    }
    fputc('\n', page->console.out);
  }
}

static void put_groups(struct page *page, const struct hr__group_table *groups) {
  size_t count;
  const struct hr_group *of_first = groups->of(page->comparison->first_runs[0].summary, &count);
  if (count == 0) return;
  fprintf(page->console.out, "\n| %s | policy |", groups->title);
  for (unsigned m = 0; m < HR__N_GROUP_METRICS; m++)
    fprintf(page->console.out, " %s |", hr__group_metric_infos[m].title);
  fputs("\n|---|---|---:|---:|---:|---:|\n", page->console.out);
  for (size_t i = 0; i < count && i < MOST_GROUPS; i++) put_group(page, groups, of_first[i].name);
  if (count > MOST_GROUPS) fprintf(page->console.out, "\nand %zu more\n", count - MOST_GROUPS);
}

enum hr_status hr_comparison_write_markdown(const char *path, const struct hr_comparison *comparison,
                                            struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  struct page page = {.console = {.out = file.stream}, .comparison = comparison};
  put_head(&page);
  put_policies(&page);
  put_metrics(&page);
  put_groups(&page, &comparison->groups[HR__CLASSES]);
  put_groups(&page, &comparison->groups[HR__TENANTS]);
  if (!page.console.out_of_memory) return hr__output_commit(&file, error);
  hr__output_abandon(&file);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}
