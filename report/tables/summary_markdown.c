/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the summary of a run as a Markdown page. It contains the same metrics as the table (summary_table.c), and the
   notes. */

#include "base/console.h"
#include "base/output_file.h"
#include "base/text.h"
#include "headroom/report.h"
#include "report/metrics/statistics.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MAX_GROUPS = 20 };

struct summary_markdown_page {
  struct hr__console console; /* output to the file */
  const struct hr_summary *summary;
  const struct hr_run_label *label;
};

/* ---- Configuration ------------------------------------------------------------------------------- */

static void put_head(struct summary_markdown_page *page) {
  FILE *out = page->console.out;
  char *words = hr__policy_words(page->label->policy);
  char text[2][HR__NUMBER_BYTES];
  if (!words) page->console.out_of_memory = true;
  fputs("# ", out);
  hr__markdown_text(&page->console, page->label->scenario && page->label->scenario[0] ? page->label->scenario : "Run");
  fputs("\n\n- Trace: ", out);
  hr__markdown_text(&page->console, page->label->trace ? page->label->trace : "");
  fprintf(out, "\n- Cluster: %s GPU%s on %s node%s\n- Policy: ", hr__count_text(page->summary->gpus, text[0]),
          page->summary->gpus == 1 ? "" : "s", hr__count_text(page->summary->nodes, text[1]),
          page->summary->nodes == 1 ? "" : "s");
  hr__markdown_text(&page->console, words ? words : "");
  fprintf(out, "\n- Seed %" PRIu64 ", Headroom %s, digest `%016" PRIx64 "`\n", page->label->seed, hr_version(),
          page->summary->digest);
  free(words);
}

/* ---- Over time ----------------------------------------------------------------------------------- */

static void put_timeline(struct summary_markdown_page *page) {
  const struct hr_timeline_summary *timeline = page->label->timeline;
  struct hr__sparkline line;
  char duration[HR__NUMBER_BYTES];
  if (!timeline || timeline->waiting.until_us == 0) return;
  fputs("\n```text\nallocated GPUs (mean)\n", page->console.out);
  hr__sparkline_of_buckets(&line, HR__SPARK_MEANS, &timeline->allocated_milli,
                           hr__timeline_summary_gpus(timeline) * 1000);
  hr__put_sparkline(&page->console, &line, hr__timeline_summary_gpus(timeline));
  fputs("waiting jobs (maximum)\n", page->console.out);
  hr__sparkline_of_buckets(&line, HR__SPARK_PEAKS, &timeline->waiting, page->summary->queue_max);
  hr__put_sparkline(&page->console, &line, page->summary->queue_max);
  hr__duration_text((double)timeline->waiting.until_us / 1e6 / line.n, duration);
  fprintf(page->console.out, "each bar covers %s\n```\n", duration);
}

/* ---- Tables -------------------------------------------------------------------------------------- */

static void put_distribution(struct summary_markdown_page *page, const char *name,
                             const struct hr_distribution *distribution,
                             const char *(*show)(double value, char *buffer)) {
  const double figure[] = {distribution->mean, distribution->p50, distribution->p90,
                           distribution->p95,  distribution->p99, distribution->max};
  fprintf(page->console.out, "| %s |", name);
  for (size_t i = 0; i < sizeof figure / sizeof *figure; i++) {
    char text[HR__NUMBER_BYTES];
    fprintf(page->console.out, " %s |", distribution->count ? show(figure[i], text) : "-");
  }
  fputc('\n', page->console.out);
}

static void put_distributions(struct summary_markdown_page *page) {
  hr__markdown_head(&page->console, "", " mean | p50 | p90 | p95 | p99 | max ");
  put_distribution(page, "Wait", &page->summary->wait_s, hr__duration_text);
  put_distribution(page, "Completion time", &page->summary->jct_s, hr__duration_text);
  put_distribution(page, "Slowdown", &page->summary->slowdown, hr__factor_text);
}

static void put_groups(struct summary_markdown_page *page, const char *title, const struct hr_group *groups,
                       size_t count) {
  FILE *out = page->console.out;
  if (count == 0) return;
  hr__markdown_head(&page->console, title, " jobs | GPU hours | mean wait | p95 wait | slowdown ");
  for (size_t i = 0; i < count && i < MAX_GROUPS; i++) {
    const struct hr_group *group = &groups[i];
    char text[5][HR__NUMBER_BYTES];
    bool waited = group->wait_s.count > 0;
    fputs("| ", out);
    hr__markdown_text(&page->console, group->name[0] ? group->name : "(none)");
    fprintf(out, " | %s | %s | %s | %s | %s |\n", hr__count_text(group->jobs, text[0]),
            hr__fixed_text(group->gpu_hours, group->gpu_hours < 1000 ? 1 : 0, text[1]),
            waited ? hr__duration_text(group->wait_s.mean, text[2]) : "-",
            waited ? hr__duration_text(group->wait_s.p95, text[3]) : "-",
            group->slowdown.count ? hr__factor_text(group->slowdown.mean, text[4]) : "-");
  }
  if (count > MAX_GROUPS) fprintf(out, "\nand %zu more\n", count - MAX_GROUPS);
}

static void put_cost_lines(struct summary_markdown_page *page, const char *title, const struct hr_cost_lines *lines,
                           int64_t all_uusd) {
  FILE *out = page->console.out;
  hr__markdown_head(&page->console, title, " cost | share ");
  for (size_t i = 0; i < lines->count && i < MAX_GROUPS; i++) {
    char text[2][HR__NUMBER_BYTES];
    double share = all_uusd ? 100 * (double)lines->line[i].uusd / (double)all_uusd : 0;
    fputs("| ", out);
    hr__markdown_text(&page->console, lines->line[i].name[0] ? lines->line[i].name : "(none)");
    fprintf(out, " | %s | %s %% |\n", hr__usd_text(lines->line[i].uusd, text[0]), hr__fixed_text(share, 1, text[1]));
  }
  if (lines->count > MAX_GROUPS) fprintf(out, "\nand %zu more\n", lines->count - MAX_GROUPS);
}

static void put_notes(struct summary_markdown_page *page) {
  bool any = false;
  for (size_t i = 0; i < page->label->n_notes; i++)
    for (size_t k = 0; k < page->label->notes[i]->count; k++) {
      fputs(any ? "- " : "\nNotes:\n\n- ", page->console.out);
      hr__markdown_text(&page->console, page->label->notes[i]->text[k]);
      fputc('\n', page->console.out);
      any = true;
    }
}

enum hr_status hr_summary_write_markdown(const char *path, const struct hr_summary *summary,
                                         const struct hr_run_label *label, struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  struct summary_markdown_page page = {{.out = file.stream, .unicode = true}, summary, label};
  put_head(&page);
  hr__markdown_head(&page.console, "", " ");
  hr__markdown_metrics(&page.console, summary);
  put_timeline(&page);
  put_distributions(&page);
  put_groups(&page, "GPUs requested", summary->by_size, summary->n_sizes);
  put_groups(&page, "Class", summary->by_class, summary->n_classes);
  put_groups(&page, "Tenant", summary->by_tenant, summary->n_tenants);
  if (summary->costs) {
    put_cost_lines(&page, "Market", &summary->costs->by_market, summary->costs->total_uusd);
    put_cost_lines(&page, "Cost by tenant", &summary->costs->by_tenant, summary->costs->total_uusd);
  }
  hr__markdown_alerts(&page.console, label->alerts, label->clock_us);
  put_notes(&page);
  if (!page.console.out_of_memory) return hr__output_commit(&file, error);
  hr__output_abandon(&file);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}
