/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of a run for people: the summary as a table of 80 columns and as a Markdown page, which contain the same
   metrics, and the metrics of inference services as a table and, request by request, as CSV. */

#include "base/output_file.h"
#include "base/text.h"
#include "headroom/policies.h"
#include "headroom/report.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/faults.h"
#include "headroom/unstable/metrics.h"
#include "report/metrics/catalog.h"
#include "report/metrics/metrics.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The table ------------------------------------------------------------------------------------- */

/* Prints the summary of a run as a table of 80 columns: configuration, utilization and waits, groups of jobs, pools,
   costs. For a streamed run, only the parts with known metrics are printed. */

enum { NAME_WIDTH = 15, MAX_POOLS = 16 };

/* Formats a price. Prices below one dollar have four decimals, since a job may cost less than a cent. */
static const char *price_text(int64_t uusd, char *buffer) {
  if (uusd == HR_UNKNOWN_UUSD) return "-";
  if (uusd < 0 || uusd >= 1000000) return hr__usd_text(uusd, buffer);
  buffer[0] = '$';
  hr__fixed_text((double)uusd / 1e6, 4, buffer + 1);
  return buffer;
}

static const char *percent_text(double share, char *buffer) {
  if (isnan(share)) return "-";
  hr__fixed_text(100 * share, 1, buffer);
  return strcat(buffer, " %");
}

static const char *factor_text(double factor, bool known, char *buffer) {
  return known ? hr__factor_text(factor, buffer) : "-";
}

static void put_pool(struct hr__console *console, const struct hr_pool_metrics *pool) {
  char text[6][HR__NUMBER_BYTES];
  const struct hr_distribution *latency = &pool->latency_factor;
  bool known = latency->count > 0, priced = pool->cost_uusd != HR_UNKNOWN_UUSD;
  hr__put_cell(console, pool->name ? pool->name : "", NAME_WIDTH, false);
  fprintf(console->out, "%10s%11s%9s%9s%13s%12s\n", hr__count_text(pool->completed, text[0]),
          percent_text(pool->utilization, text[1]), factor_text(latency->mean, known, text[2]),
          factor_text(latency->p95, known, text[3]), priced ? hr__usd_text(pool->cost_uusd, text[4]) : "-",
          price_text(pool->per_completed_job_uusd, text[5]));
}

/* ---- The table: pools (several pools, per-GPU allocation) ------------------------------------------ */

static void put_pools(struct hr__console *console, const struct hr_summary *summary) {
  size_t count = summary->n_pools;
  if (count < 2 || !summary->fragmentation.known) return;
  fprintf(console->out, "\n%s%-*s%10s%11s%9s%9s%13s%12s%s\n", hr__bold(console), NAME_WIDTH + 1, "pool", "jobs",
          "allocated", "latency", "p95", "cost", "per job", hr__plain(console));
  for (size_t i = 0; i < count && i < MAX_POOLS; i++) put_pool(console, &summary->by_pool[i]);
  hr__put_more(console, count, MAX_POOLS);
  fprintf(console->out, "%slatency: time with GPUs allocated / recorded run time of a job, mean and p95.%s\n",
          hr__dim(console), hr__plain(console));
}

enum { TABLE_NAME_WIDTH = 15, COST_NAME_WIDTH = 30, MAX_TENANTS = 10, TABLE_MAX_POOLS = 4 };

/* ---- The table: configuration ---------------------------------------------------------------------- */

static void put_trace(struct hr__console *table, const struct hr_run_label *label) {
  const char *format = label->format ? label->format : "";
  char *name =
      hr__fitted(table, label->trace ? label->trace : "", HR__LINE_WIDTH - HR__LABEL_WIDTH - strlen(format) - 3, true);
  if (!name) return;
  hr__put_label(table, "trace");
  fprintf(table->out, "%s%s%s%s\n", name, *format ? " (" : "", format, *format ? ")" : "");
  free(name);
}

static void put_cluster(struct hr__console *table, const struct hr_summary *summary,
                        const struct hr_cluster_spec *cluster) {
  char gpus[HR__NUMBER_BYTES], nodes[HR__NUMBER_BYTES];
  struct hr__sentence sentence;
  if (!hr__sentence_begin(table, &sentence)) return;
  fprintf(sentence.out, "%s GPUs on %s node%s: ", hr__count_text(summary->gpus, gpus),
          hr__count_text(summary->nodes, nodes), hr__plural(summary->nodes));
  for (uint32_t i = 0; i < cluster->n_pools && i < TABLE_MAX_POOLS; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    char count[HR__NUMBER_BYTES];
    fprintf(sentence.out, "%s%s x %" PRIu32 " %s", i ? ", " : "", hr__count_text(pool->nodes, count),
            pool->gpus_per_node, pool->gpu ? pool->gpu : "GPUs");
    if (pool->sharing != HR_SHARING_WHOLE) fprintf(sentence.out, " (%s)", hr_sharing_name(pool->sharing));
    if (pool->faults && pool->faults->spares && pool->faults->spares < pool->nodes)
      fprintf(sentence.out, " (%s GPUs are spares)", hr__count_text(pool->faults->spares * pool->gpus_per_node, count));
  }
  uint32_t more = cluster->n_pools > TABLE_MAX_POOLS ? cluster->n_pools - TABLE_MAX_POOLS : 0;
  if (more) fprintf(sentence.out, " and %" PRIu32 " more pool%s", more, hr__plural(more));
  hr__sentence_end(table, &sentence, "cluster");
}

static void put_policy(struct hr__console *table, const struct hr_policy_choice *choice) {
  char *words = hr__policy_words(choice);
  if (words)
    hr__put_field(table, "policy", "%s", words);
  else
    table->out_of_memory = true;
  free(words);
}

static void put_run_head(struct hr__console *table, const struct hr_summary *summary,
                         const struct hr_run_label *label) {
  hr__put_title(table, ": ", label->scenario ? label->scenario : "", HR__LINE_WIDTH - 20, false);
  put_trace(table, label);
  put_cluster(table, summary, label->cluster);
  put_policy(table, label->policy);
  hr__put_field(table, "seed", "%" PRIu64, label->seed);
}

/* ---- The table: jobs, GPUs and queue --------------------------------------------------------------- */

static void put_run_jobs(struct hr__console *table, const struct hr_summary *summary,
                         const struct hr_run_label *label) {
  char text[HR__NUMBER_BYTES];
  hr__put_metric_lines(table, HR__PART_JOBS, summary);
  uint64_t skipped = 0;
  for (size_t i = 0; i < label->n_skipped_reasons; i++) skipped += label->skipped[i].count;
  if (skipped)
    hr__put_field(table, "skipped", "%s row%s of the trace", hr__count_text(skipped, text), hr__plural(skipped));
}

/* Returns the maximum number of GPUs present, rounded up. */
static uint64_t max_gpus(const struct hr_timeline_summary *timeline) {
  uint64_t max_milli = 0;
  for (uint32_t i = 0; i < timeline->total_milli.n; i++)
    if (timeline->total_milli.bucket[i].max > max_milli) max_milli = timeline->total_milli.bucket[i].max;
  return (max_milli + 999) / 1000;
}

static void put_gpu_timeline(struct hr__console *table, const struct hr_timeline_summary *timeline) {
  struct hr__sparkline line;
  uint64_t gpus = max_gpus(timeline);
  hr__sparkline_of_buckets(&line, HR__SPARK_MEANS, &timeline->allocated_milli, gpus * 1000);
  hr__put_sparkline(table, &line, gpus);
}

static void put_queue_timeline(struct hr__console *table, const struct hr_timeline_summary *timeline,
                               uint64_t queue_max) {
  struct hr__sparkline line;
  char duration[HR__NUMBER_BYTES];
  hr__sparkline_of_buckets(&line, HR__SPARK_PEAKS, &timeline->waiting, queue_max);
  hr__put_sparkline(table, &line, queue_max);
  hr__duration_text((double)timeline->waiting.until_us / 1e6 / line.n, duration);
  hr__put_label(table, "");
  fprintf(table->out, "%seach bar covers %s: mean GPUs, maximum waiting jobs%s\n", hr__dim(table), duration,
          hr__plain(table));
}

static void put_run_totals(struct hr__console *table, const struct hr_summary *summary,
                           const struct hr_timeline_summary *timeline) {
  bool drawn = timeline && timeline->waiting.until_us > 0;
  hr__put_metric_lines(table, HR__PART_GPUS, summary);
  if (drawn) put_gpu_timeline(table, timeline);
  hr__put_metric_lines(table, HR__PART_FRAGMENTS, summary);
  hr__put_metric_lines(table, HR__PART_HOURS, summary);
  hr__put_metric_lines(table, HR__PART_QUEUE, summary);
  if (drawn) put_queue_timeline(table, timeline, summary->queue_max);
  hr__put_other_metrics(table, summary);
}

static void put_distribution(struct hr__console *table, const char *label, const struct hr_distribution *distribution,
                             const char *(*show)(double value, char *buffer)) {
  const double figure[] = {distribution->mean, distribution->p50, distribution->p90,
                           distribution->p95,  distribution->p99, distribution->max};
  fprintf(table->out, "%-8s", label);
  for (size_t i = 0; i < sizeof figure / sizeof *figure; i++) {
    char buffer[HR__NUMBER_BYTES];
    fprintf(table->out, "%12s", distribution->count ? show(figure[i], buffer) : "-");
  }
  fputc('\n', table->out);
}

static void put_run_distributions(struct hr__console *table, const struct hr_summary *summary) {
  fprintf(table->out, "\n%s%20s%12s%12s%12s%12s%12s%s\n", hr__bold(table), "mean", "p50", "p90", "p95", "p99", "max",
          hr__plain(table));
  put_distribution(table, "wait", &summary->wait_s, hr__duration_text);
  put_distribution(table, "jct", &summary->jct_s, hr__duration_text);
  put_distribution(table, "slowdown", &summary->slowdown, hr__factor_text);
  fprintf(table->out, "%sjct: from submit to end. slowdown: jct / max(run time, 10 s), at least 1.%s\n", hr__dim(table),
          hr__plain(table));
}

/* ---- The table: groups ----------------------------------------------------------------------------- */

static void put_group(struct hr__console *table, const struct hr_group *group, double all_gpu_hours) {
  char text[6][HR__NUMBER_BYTES];
  double share = all_gpu_hours > 0 ? 100 * group->gpu_hours / all_gpu_hours : 0;
  bool waited = group->wait_s.count > 0, ended = group->slowdown.count > 0;
  hr__put_cell(table, group->name[0] ? group->name : "(none)", TABLE_NAME_WIDTH, false);
  fprintf(table->out, "%10s%12s%6s %%%12s%12s%10s\n", hr__count_text(group->jobs, text[0]),
          hr__fixed_text(group->gpu_hours, group->gpu_hours < 1000 ? 1 : 0, text[1]), hr__fixed_text(share, 1, text[2]),
          waited ? hr__duration_text(group->wait_s.mean, text[3]) : "-",
          waited ? hr__duration_text(group->wait_s.p95, text[4]) : "-",
          ended ? hr__factor_text(group->slowdown.mean, text[5]) : "-");
}

static void put_groups(struct hr__console *table, const char *title, const struct hr_group *group, size_t count,
                       size_t max_rows, double all_gpu_hours) {
  if (count == 0) return;
  fprintf(table->out, "\n%s%-*s%10s%12s%8s%12s%12s%10s%s\n", hr__bold(table), TABLE_NAME_WIDTH + 1, title, "jobs",
          "GPU hours", "share", "mean wait", "p95 wait", "slowdown", hr__plain(table));
  for (size_t i = 0; i < count && i < max_rows; i++) put_group(table, &group[i], all_gpu_hours);
  hr__put_more(table, count, max_rows);
}

/* Prints how many jobs the router spilled from and to each cluster, if it spilled any. */
static void put_routing(struct hr__console *table, const struct hr_summary *summary) {
  char text[2][HR__NUMBER_BYTES];
  uint64_t spilled = 0;
  for (size_t i = 0; i < summary->n_routing; i++) spilled += summary->routing[i].spilled_in;
  if (!spilled) return;
  fprintf(table->out, "\n%s%-*s%20s%20s%s\n", hr__bold(table), TABLE_NAME_WIDTH + 1, "cluster", "from other homes",
          "to other clusters", hr__plain(table));
  for (size_t i = 0; i < summary->n_routing; i++) {
    const struct hr_cluster_routing *routing = &summary->routing[i];
    hr__put_cell(table, routing->name, TABLE_NAME_WIDTH, false);
    fprintf(table->out, "%20s%20s\n", hr__count_text(routing->spilled_in, text[0]),
            hr__count_text(routing->spilled_out, text[1]));
  }
}

/* ---- The table: costs ------------------------------------------------------------------------------ */

static void put_cost_lines(struct hr__console *table, const char *title, const struct hr_cost_lines *lines,
                           size_t max_rows, int64_t total_uusd) {
  char text[2][HR__NUMBER_BYTES];
  fprintf(table->out, "\n%s%-*s%20s%8s%s\n", hr__bold(table), COST_NAME_WIDTH + 1, title, "cost", "share",
          hr__plain(table));
  for (size_t i = 0; i < lines->count && i < max_rows; i++) {
    const struct hr_cost_line *line = &lines->line[i];
    double share = total_uusd ? 100 * (double)line->uusd / (double)total_uusd : 0;
    hr__put_cell(table, line->name[0] ? line->name : "(none)", COST_NAME_WIDTH, false);
    fprintf(table->out, "%20s%6s %%\n", hr__usd_text(line->uusd, text[0]), hr__fixed_text(share, 1, text[1]));
  }
  hr__put_more(table, lines->count, max_rows);
}

static void put_over_budget(struct hr__console *table, const struct hr_cost_summary *costs) {
  size_t over = 0;
  char text[2][HR__NUMBER_BYTES];
  for (size_t i = 0; i < costs->n_budgets; i++) over += costs->budgets[i].over;
  if (costs->n_budgets)
    hr__put_field(table, "budgets", "%s of %s tenant months over budget", hr__count_text(over, text[0]),
                  hr__count_text(costs->n_budgets, text[1]));
}

static bool has_unpriced_jobs(const struct hr_pool_metrics *pool) {
  return pool->gpu_hours > 0 && pool->cost_uusd == HR_UNKNOWN_UUSD;
}

bool hr__is_unpriced(const struct hr_summary *summary) {
  if (!summary->costs) return false;
  bool any = false;
  for (size_t i = 0; i < summary->n_pools; i++) {
    any = any || has_unpriced_jobs(&summary->by_pool[i]);
    if (summary->by_pool[i].gpu_hours > 0 && !has_unpriced_jobs(&summary->by_pool[i])) return false;
  }
  return any && summary->costs->total_uusd == 0;
}

/* Prints which pools have jobs but no price. The costs do not include these pools. `all`: no pool with jobs has a
   price, so the cost is unknown. */
static void put_unpriced(struct hr__console *table, const struct hr_summary *summary, bool all) {
  const char *label = all ? "cost" : "no price";
  for (size_t i = 0; i < summary->n_pools; i++) {
    if (!has_unpriced_jobs(&summary->by_pool[i])) continue;
    hr__put_field(table, label, "%spool %s%s", all ? "unknown: " : "", summary->by_pool[i].name,
                  all ? " has no price" : ": the costs do not contain it");
    label = "";
  }
}

/* Prints a table with one row for each storage system or link. */
static void put_data_lines(struct hr__console *table, const char *title, const struct hr_data_line *lines,
                           size_t count) {
  char text[4][HR__NUMBER_BYTES];
  if (!count) return;
  fprintf(table->out, "\n%s%-*s%14s%14s%10s%14s%s\n", hr__bold(table), TABLE_NAME_WIDTH + 1, title, "GB sent",
          "GB received", "in use", "cost", hr__plain(table));
  for (size_t i = 0; i < count; i++) {
    hr__put_cell(table, lines[i].name, TABLE_NAME_WIDTH, false);
    /* unknown if nothing was transferred or if the bandwidth has no limit */
    hr__metric_text(HR_UNIT_SHARE, lines[i].utilization > 0 ? lines[i].utilization : HR__UNKNOWN, text[2]);
    fprintf(table->out, "%14s%14s%10s%14s\n", hr__fixed_text(lines[i].sent_gb, 1, text[0]),
            hr__fixed_text(lines[i].received_gb, 1, text[1]), text[2], hr__usd_text(lines[i].uusd, text[3]));
  }
}

static void put_data(struct hr__console *table, const struct hr_summary *summary) {
  if (!summary->data.known) return;
  hr__put_metric_lines(table, HR__PART_DATA, summary);
  put_data_lines(table, "storage", summary->data.by_storage, summary->data.n_storage);
  put_data_lines(table, "link", summary->data.by_link, summary->data.n_links);
}

/* Prints the ETTR by the number of GPUs that jobs request, if nodes fail and there are several sizes. */
static void put_ettr_by_size(struct hr__console *table, const struct hr_summary *summary) {
  struct hr__sentence sentence;
  if (!summary->faults.known || summary->n_sizes < 2 || !hr__sentence_begin(table, &sentence)) return;
  fputs("by GPUs requested: ", sentence.out);
  for (size_t i = 0; i < summary->n_sizes; i++) {
    char number[HR__METRIC_BYTES];
    double ettr = hr__metric_of_group(HR__M_ETTR, &summary->by_size[i], NULL).value;
    fprintf(sentence.out, "%s%s: %s", i ? ", " : "", summary->by_size[i].name,
            hr__metric_text(HR_UNIT_SHARE, ettr, number));
  }
  hr__sentence_end(table, &sentence, "ETTR");
}

/* Prints failures by class, if there are several classes. */
static void put_failure_classes(struct hr__console *table, const struct hr_summary *summary) {
  const struct hr_fault_metrics *faults = &summary->faults;
  char text[4][HR__NUMBER_BYTES];
  if (faults->n_failure_classes < 2) return;
  fprintf(table->out, "\n%s%-*s%10s%14s%14s%14s%s\n", hr__bold(table), TABLE_NAME_WIDTH + 1, "failures of", "count",
          "stopped jobs", "GPU-h lost", "node-h down", hr__plain(table));
  for (size_t i = 0; i < faults->n_failure_classes; i++) {
    const struct hr_outage_line *line = &faults->by_failure_class[i];
    hr__put_cell(table, line->name, TABLE_NAME_WIDTH, false);
    fprintf(table->out, "%10s%14s%14s%14s\n", hr__count_text(line->failures, text[0]),
            hr__count_text(line->jobs_stopped, text[1]), hr__fixed_text(line->lost_gpu_hours, 1, text[2]),
            hr__fixed_text(line->down_node_hours, 1, text[3]));
  }
}

static void put_run_costs(struct hr__console *table, const struct hr_summary *summary) {
  const struct hr_cost_summary *costs = summary->costs;
  if (costs || summary->stoppable) fputc('\n', table->out);
  bool unpriced = hr__is_unpriced(summary);
  if (unpriced) put_unpriced(table, summary, true);
  if (costs && !unpriced) {
    for (unsigned part = HR__PART_COST; part <= HR__PART_ON_DEMAND; part++)
      hr__put_metric_lines(table, (enum hr__metric_part)part, summary);
    put_unpriced(table, summary, false);
    put_over_budget(table, costs);
  }
  for (unsigned part = HR__PART_GOODPUT; summary->stoppable && part <= HR__PART_MAINTENANCE; part++) {
    hr__put_metric_lines(table, (enum hr__metric_part)part, summary);
    if (part == HR__PART_FAULTS) put_ettr_by_size(table, summary);
  }
  if (summary->energy.known && !costs && !summary->stoppable) fputc('\n', table->out);
  hr__put_metric_lines(table, HR__PART_ENERGY, summary);
  put_data(table, summary);
  put_failure_classes(table, summary);
  if (!costs || unpriced) return;
  put_cost_lines(table, "market", &costs->by_market, costs->by_market.count, costs->total_uusd);
  put_cost_lines(table, "cost by tenant", &costs->by_tenant, MAX_TENANTS, costs->total_uusd);
}

/* ---- The table: footer ----------------------------------------------------------------------------- */

/* Rounds to three significant digits, because measured times are not more precise. */
static double rounded(double value) {
  double unit = 1;
  while (value / unit >= 1000) unit *= 10;
  return round(value / unit) * unit;
}

static void put_run_foot(struct hr__console *table, const struct hr_summary *summary, const struct hr_perf *perf) {
  char text[4][HR__NUMBER_BYTES];
  fputc('\n', table->out);
  hr__put_field(table, "digest", "%016" PRIx64, summary->digest);
  if (perf->sim_s > 0)
    hr__put_field(table, "speed", "%s jobs in %s s: %s jobs/s; trace read in %s s",
                  hr__count_text(summary->jobs_submitted, text[0]),
                  hr__fixed_text(perf->sim_s, perf->sim_s < 0.1 ? 4 : 2, text[1]),
                  hr__fixed_text(rounded((double)summary->jobs_submitted / perf->sim_s), 0, text[2]),
                  hr__fixed_text(perf->load_s, 2, text[3]));
  if (perf->peak_rss_mib > 0)
    hr__put_field(table, "memory", "%s MiB peak", hr__fixed_text(perf->peak_rss_mib, 0, text[0]));
}

/* Prints the table of a run. A streamed run has no groups, pools and alerts. */
static enum hr_status print_table(FILE *out, const struct hr_summary *summary, const struct hr_run_label *label,
                                  const struct hr_perf *perf, unsigned style, bool is_streamed) {
  struct hr__console table = {.out = out, .colour = style & HR_STYLE_COLOUR, .unicode = style & HR_STYLE_UNICODE};
  put_run_head(&table, summary, label);
  fputc('\n', out);
  put_run_jobs(&table, summary, label);
  put_run_totals(&table, summary, is_streamed ? NULL : label->timeline);
  put_run_distributions(&table, summary);
  put_groups(&table, "GPUs requested", summary->by_size, summary->n_sizes, summary->n_sizes, summary->gpu_hours);
  put_groups(&table, "class", summary->by_class, summary->n_classes, summary->n_classes, summary->gpu_hours);
  put_groups(&table, "tenant", summary->by_tenant, summary->n_tenants, MAX_TENANTS, summary->gpu_hours);
  put_groups(&table, "cluster", summary->by_cluster, summary->n_clusters, summary->n_clusters, summary->gpu_hours);
  put_routing(&table, summary);
  put_pools(&table, summary);
  put_run_costs(&table, summary);
  if (is_streamed && (summary->costs || summary->stoppable)) fputc('\n', out);
  if (is_streamed)
    fprintf(out, "%sStreamed: quantiles come from a sketch with a relative error of at most 1/%d.%s\n", hr__dim(&table),
            HR__SKETCH_ERROR_PART, hr__plain(&table));
  else
    hr__put_alerts(&table, label->alerts, label->clock_us);
  put_run_foot(&table, summary, perf);
  if (table.out_of_memory) return HR_NO_MEMORY;
  return ferror(out) ? HR_IO_ERROR : HR_OK;
}

enum hr_status hr_summary_print(FILE *out, const struct hr_summary *summary, const struct hr_run_label *label,
                                const struct hr_perf *perf, unsigned style) {
  return print_table(out, summary, label, perf, style, false);
}

enum hr_status hr_streamed_print(FILE *out, const struct hr_summary *summary, const struct hr_run_label *label,
                                 const struct hr_perf *perf, unsigned style) {
  return print_table(out, summary, label, perf, style, true);
}

/* ---- Markdown -------------------------------------------------------------------------------------- */

/* Writes the summary of a run as a Markdown page. It contains the same metrics as the table above, and the notes. */

enum { MAX_GROUPS = 20 };

struct summary_markdown_page {
  struct hr__console console; /* output to the file */
  const struct hr_summary *summary;
  const struct hr_run_label *label;
};

/* ---- Markdown: configuration ----------------------------------------------------------------------- */

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
          hr__plural(page->summary->gpus), hr__count_text(page->summary->nodes, text[1]),
          hr__plural(page->summary->nodes));
  hr__markdown_text(&page->console, words ? words : "");
  fprintf(out, "\n- Seed %" PRIu64 ", Headroom %s, digest `%016" PRIx64 "`\n", page->label->seed, hr_version(),
          page->summary->digest);
  free(words);
}

/* ---- Markdown: over time --------------------------------------------------------------------------- */

static void put_timeline(struct summary_markdown_page *page) {
  const struct hr_timeline_summary *timeline = page->label->timeline;
  struct hr__sparkline line;
  char duration[HR__NUMBER_BYTES];
  if (!timeline || timeline->waiting.until_us == 0) return;
  fputs("\n```text\nallocated GPUs (mean)\n", page->console.out);
  hr__sparkline_of_buckets(&line, HR__SPARK_MEANS, &timeline->allocated_milli, max_gpus(timeline) * 1000);
  hr__put_sparkline(&page->console, &line, max_gpus(timeline));
  fputs("waiting jobs (maximum)\n", page->console.out);
  hr__sparkline_of_buckets(&line, HR__SPARK_PEAKS, &timeline->waiting, page->summary->queue_max);
  hr__put_sparkline(&page->console, &line, page->summary->queue_max);
  hr__duration_text((double)timeline->waiting.until_us / 1e6 / line.n, duration);
  fprintf(page->console.out, "each bar covers %s\n```\n", duration);
}

/* ---- Markdown: tables ------------------------------------------------------------------------------ */

static void markdown_distribution(struct summary_markdown_page *page, const char *name,
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
  markdown_distribution(page, "Wait", &page->summary->wait_s, hr__duration_text);
  markdown_distribution(page, "Completion time", &page->summary->jct_s, hr__duration_text);
  markdown_distribution(page, "Slowdown", &page->summary->slowdown, hr__factor_text);
}

static void markdown_groups(struct summary_markdown_page *page, const char *title, const struct hr_group *groups,
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

static void markdown_cost_lines(struct summary_markdown_page *page, const char *title,
                                const struct hr_cost_lines *lines, int64_t all_uusd) {
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

static void markdown_services(struct summary_markdown_page *page) {
  for (size_t i = 0; i < page->summary->n_services; i++) {
    fputs("\n## ", page->console.out);
    hr__markdown_text(&page->console, page->summary->services[i].name);
    fputc('\n', page->console.out);
    hr__markdown_head(&page->console, "", " ");
    for (unsigned k = 0; k < HR__N_METRICS; k++) {
      char text[HR__METRIC_BYTES];
      const double value = hr__metric_of_service((enum hr__metric)k, &page->summary->services[i]).value;
      if (!isnan(value))
        fprintf(page->console.out, "| %s | %s |\n", hr__metric_rows[k].title,
                hr__metric_text(hr__metric_rows[k].unit, value, text));
    }
  }
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
  markdown_groups(&page, "GPUs requested", summary->by_size, summary->n_sizes);
  markdown_groups(&page, "Class", summary->by_class, summary->n_classes);
  markdown_groups(&page, "Tenant", summary->by_tenant, summary->n_tenants);
  markdown_groups(&page, "Cluster", summary->by_cluster, summary->n_clusters);
  if (summary->costs && !hr__is_unpriced(summary)) {
    markdown_cost_lines(&page, "Market", &summary->costs->by_market, summary->costs->total_uusd);
    markdown_cost_lines(&page, "Cost by tenant", &summary->costs->by_tenant, summary->costs->total_uusd);
  }
  markdown_services(&page);
  hr__markdown_alerts(&page.console, label->alerts, label->clock_us);
  put_notes(&page);
  if (!page.console.out_of_memory) return hr__output_commit(&file, error);
  hr__output_abandon(&file);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}

/* ---- Services -------------------------------------------------------------------------------------- */

/* Metrics of inference services as a table for a terminal, and request by request as CSV. They are computed in
   report/metrics/groups.c. */

/* ---- Services: the table --------------------------------------------------------------------------- */

static void put_row(FILE *out, const char *name, const struct hr_distribution *row) {
  if (row->count == 0) {
    fprintf(out, "  %-10s %11s %9s %9s %9s %9s\n", name, "-", "-", "-", "-", "-");
    return;
  }
  fprintf(out, "  %-10s %9.3f s %9.3f %9.3f %9.3f %9.3f\n", name, row->mean / 1000, row->p50 / 1000, row->p90 / 1000,
          row->p95 / 1000, row->p99 / 1000);
}

static void put_usd(FILE *out, const char *before, const char *words, enum hr__metric metric,
                    const struct hr_service_summary *summary) {
  char text[HR__METRIC_BYTES];
  const double value = hr__metric_of_service(metric, summary).value;
  if (isnan(value)) return;
  if (value < 1)
    snprintf(text, sizeof text, "$%.6f", value);
  else
    hr__metric_text(HR_UNIT_DOLLARS, value, text);
  fprintf(out, "%s%s%s", before, text, words);
}

static void put_money(FILE *out, const struct hr_service_summary *summary) {
  if (summary->cost_uusd != HR_UNKNOWN_UUSD) {
    fputs("  cost       ", out);
    put_usd(out, "", "", HR__M_SERVING_COST, summary);
    put_usd(out, "; ", " per million tokens", HR__M_PER_MTOK, summary);
    put_usd(out, "; ", " per request within the goals", HR__M_PER_ATTAINED, summary);
    fputc('\n', out);
  }
  put_usd(out, "  revenue    ", "\n", HR__M_REVENUE, summary);
}

/* Prints the events of the replicas, if there were any. */
static void print_replicas(FILE *out, const struct hr_served *served) {
  const struct hr_service_result *result = served->result;
  uint32_t most = 0, n_later = result->n_decisions;
  for (uint32_t i = 0; i < result->n_decisions; i++)
    if (result->decisions[i].to > most) most = result->decisions[i].to;
  /* the initial number of replicas is not counted as a decision; it is recorded only if it is not 0 */
  if (n_later && result->decisions[0].reason == HR_SCALE_INITIAL) n_later--;
  if (result->cold_starts)
    fprintf(out, "  starts     %" PRIu64 " cold; %" PRIu64 " requests waited for a ready replica\n",
            result->cold_starts, result->met_cold_start);
  if (n_later)
    fprintf(out, "  scaling    %s: %" PRIu32 " decision%s, at most %" PRIu32 " replica%s\n",
            hr_autoscaler_name(served->service->autoscale.policy), n_later, hr__plural(n_later), most,
            hr__plural(most));
  if (result->interruptions)
    fprintf(out, "  stopped    %" PRIu64 " replicas interrupted; %" PRIu64 " tokens lost\n", result->interruptions,
            result->lost_tokens);
}

void hr_service_print(FILE *out, const struct hr_served *served, const struct hr_service_summary *summary) {
  const struct hr_service *service = served->service;
  fputs("service ", out);
  hr_print_safe(out, service->name, 60);
  if (service->autoscale.policy != HR_AUTOSCALE_FIXED)
    fprintf(out, ": %" PRIu32 " to", service->autoscale.min);
  else
    fputc(':', out);
  fprintf(out, " %" PRIu32 " replica%s of %" PRIu32 " GPU%s, engine %s, router %s\n", service->replicas,
          hr__plural(service->replicas), service->gpus, hr__plural(service->gpus),
          hr_service_engine_name(service->engine), hr_service_router_name(service->router));
  fprintf(out, "  requests   %" PRIu64 " offered, %" PRIu64 " completed, %" PRIu64 " refused", summary->offered,
          summary->completed, summary->refused);
  if (summary->timed_out) fprintf(out, ", %" PRIu64 " timed out", summary->timed_out);
  if (summary->spilled) fprintf(out, ", %" PRIu64 " spilled", summary->spilled);
  if (summary->unfinished) fprintf(out, ", %" PRIu64 " unfinished", summary->unfinished);
  fputc('\n', out);
  if (served->result->received)
    fprintf(out, "             %" PRIu64 " of them came from other services\n", served->result->received);
  if (summary->overflowed)
    fprintf(out, "             %" PRIu64 " went to '%s'\n", summary->overflowed, service->routing.spill.to);
  fprintf(out, "  %-10s %11s %9s %9s %9s %9s\n", "", "mean", "p50", "p90", "p95", "p99");
  put_row(out, "TTFT", &summary->ttft_ms);
  put_row(out, "TPOT", &summary->tpot_ms);
  put_row(out, "E2E", &summary->e2e_ms);
  const double attained = summary->due ? (double)summary->attained / (double)summary->due : 0;
  if (summary->has_goals && summary->due) {
    fprintf(out, "  goals      %.2f %% of all requests within the goals", 100 * attained);
    if (service->slo.attainment > 0)
      fprintf(out, "; %.2f %% are required: %s", 100 * service->slo.attainment,
              attained >= service->slo.attainment ? "met" : "MISSED");
    fprintf(out, "\n  goodput    %.3f requests/s within the goals per GPU\n", summary->goodput_per_gpu);
  }
  fprintf(out, "  tokens     %" PRIu64 " prompt, %" PRIu64 " output", summary->prompt_tokens, summary->output_tokens);
  if (summary->restarts)
    fprintf(out, "; %" PRIu64 " recomputed in %" PRIu64 " restart%s", summary->recomputed_tokens, summary->restarts,
            hr__plural(summary->restarts));
  fprintf(out, "\n  GPU hours  %.2f held, %.2f busy", summary->gpu_hours, summary->busy_gpu_hours);
  if (summary->gpu_hours > 0) fprintf(out, " (%.1f %%)", 100 * summary->busy_gpu_hours / summary->gpu_hours);
  if (summary->starting_gpu_hours > 0) fprintf(out, ", %.2f starting", summary->starting_gpu_hours);
  fputc('\n', out);
  if (summary->memory_iterations)
    fprintf(out, "  KV memory  %.1f %% used on average, %.1f %% at most\n", 100 * summary->memory_mean,
            100 * summary->memory_peak);
  put_money(out, summary);
  print_replicas(out, served);
}

/* ---- Services: requests ---------------------------------------------------------------------------- */

/* Writes microseconds as seconds with six decimals. */
static void put_time(struct hr__csv_out *csv, int64_t us) {
  hr__csv_begin_field(csv);
  hr__out_to(&csv->out, hr__put_usd(hr__out_room(&csv->out, HR__NUMBER_BYTES), us));
}

/* Writes a time in seconds with twelve decimals. The time is the sum of `us` microseconds and `ps` picoseconds; `ps`
   may be negative. */
static void put_exact_time(struct hr__csv_out *csv, int64_t us, int32_t ps) {
  char text[64];
  if (ps < 0) us--, ps += 1000000;
  snprintf(text, sizeof text, "%" PRId64 ".%06d%06d", us / HR_SECOND_US, (int)(us % HR_SECOND_US), (int)ps);
  hr__csv_text(csv, text);
}

static void put_replica(struct hr__csv_out *csv, uint32_t replica) {
  if (replica == HR_NONE)
    hr__csv_empty(csv);
  else
    hr__csv_u64(csv, replica);
}

static void put_request(struct hr__csv_out *csv, const struct hr_served *served, uint32_t id, bool with_phases) {
  const struct hr_service_result *result = served->result;
  const bool is_served = result->replica[id] != HR_NONE || result->state[id] == HR_REQUEST_TIMED_OUT;
  const int64_t times_us[] = {result->scheduled_us[id], result->first_token_us[id], result->end_us[id]};
  hr__csv_text(csv, served->service->name);
  hr__csv_u64(csv, id);
  put_time(csv, served->requests->arrival_us[id]);
  hr__csv_u64(csv, served->requests->prompt_tokens[id]);
  hr__csv_u64(csv, served->requests->output_tokens[id]);
  put_replica(csv, result->replica[id]);
  for (size_t i = 0; i < sizeof times_us / sizeof *times_us; i++) {
    if (!is_served || times_us[i] == HR_NEVER_US)
      hr__csv_empty(csv);
    else if (result->rest_ps)
      put_exact_time(csv, times_us[i], result->rest_ps[id][i]);
    else
      put_time(csv, times_us[i]);
  }
  hr__csv_text(csv, hr_request_state_name((enum hr_request_state)result->state[id]));
  hr__csv_u64(csv, result->restarts[id]);
  if (with_phases) {
    put_replica(csv, result->decode_replica ? result->replica[id] : HR_NONE);
    put_replica(csv, result->decode_replica ? result->decode_replica[id] : HR_NONE);
  }
  hr__csv_end_row(csv);
}

/* Returns the service with the earliest next request; `count`: no service has one. */
static uint32_t earliest(const struct hr_served *served, const uint32_t *next, uint32_t count) {
  uint32_t best = count;
  for (uint32_t i = 0; i < count; i++) {
    if (next[i] == served[i].requests->count) continue;
    const int64_t at_us = served[i].requests->arrival_us[next[i]];
    if (best == count || at_us < served[best].requests->arrival_us[next[best]]) best = i;
  }
  return best;
}

enum hr_status hr_services_write_requests(const char *path, const struct hr_served *served, uint32_t count,
                                          struct hr_error *error) {
  static const char header[] =
      "service,request,arrival_s,prompt_tokens,output_tokens,replica,scheduled_s,first_token_s,"
      "end_s,state,restarts",
                    phase_header[] = ",prefill_replica,decode_replica";
  char columns[sizeof header + sizeof phase_header];
  bool with_phases = false;
  for (uint32_t i = 0; i < count; i++) with_phases |= served[i].result->decode_replica != NULL;
  snprintf(columns, sizeof columns, "%s%s", header, with_phases ? phase_header : "");
  struct hr__csv_out csv;
  uint32_t *next = calloc((size_t)count + 1, sizeof *next);
  if (!next) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  enum hr_status status = hr__csv_open(&csv, path, columns, error);
  if (status == HR_OK) {
    for (uint32_t i = earliest(served, next, count); i < count; i = earliest(served, next, count))
      put_request(&csv, &served[i], next[i]++, with_phases);
    status = hr__csv_commit(&csv, error);
  }
  free(next);
  return status;
}
