/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a comparison as CSV, JSON and Markdown. The CSV has one row for each policy, group and metric, and unknown
 * values are empty. The JSON follows docs/reference/schemas/compare.schema.json.
 *
 * The first part computes the distributions and the jobs of each policy's first run, which the files contain.
 */

#include "base/output_file.h"
#include "base/text.h"
#include "headroom/unstable/replay.h"
#include "plan/compare/compare.h"
#include "report/exports/exports.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- Details of first runs ----------------------------------------------------------------------------- */

/*
 * What a comparison keeps of the single jobs of each policy's first run: the cumulative distributions of waits and
 * completion times, and the CSV files of jobs.
 *
 * A distribution is stored as its quantiles at HR__CURVE_POINTS equidistant shares, so its size does not depend on the
 * number of jobs. Quantiles interpolate linearly between order statistics, as those of a summary do. A file of jobs is
 * written in the thread of its run, while the results are in memory. It stays open, without a name, until all runs have
 * succeeded; hr_comparison_commit_jobs then gives all files their names.
 */

/* ---- Distributions ---------------------------------------------------------------------------------- */

/* Writes the quantiles of sorted durations in seconds; NaN if there are none. */
static void put_quantiles(const int64_t *sorted, size_t count, double *seconds) {
  for (size_t i = 0; i < HR__CURVE_POINTS; i++) {
    double at = (double)i / (HR__CURVE_POINTS - 1) * (double)(count ? count - 1 : 0);
    size_t low = (size_t)at, high = low + 1 < count ? low + 1 : low;
    double weight = at - (double)low;
    seconds[i] = HR__UNKNOWN;
    if (count)
      seconds[i] = ((double)sorted[low] + weight * ((double)sorted[high] - (double)sorted[low])) / (double)HR_SECOND_US;
  }
}

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static bool make_curves(const struct hr_result *result, struct hr__compare_curves *curves) {
  const struct hr_trace *trace = result->trace;
  int64_t *us = malloc(((size_t)result->n_jobs + 1) * sizeof *us);
  size_t started = 0, completed = 0;
  if (!us) return false;
  for (uint32_t i = 0; i < result->n_jobs; i++)
    if (result->start_us[i] != HR_NEVER_US) us[started++] = result->start_us[i] - trace->submit_us[i];
  qsort(us, started, sizeof *us, by_value);
  put_quantiles(us, started, curves->wait_s);
  for (uint32_t i = 0; i < result->n_jobs; i++)
    if (result->state[i] == HR_JOB_COMPLETED)
      us[completed++] = hr_result_end_us(result, (hr_job){i}) - trace->submit_us[i];
  qsort(us, completed, sizeof *us, by_value);
  put_quantiles(us, completed, curves->jct_s);
  free(us);
  return true;
}

/* ---- Callbacks of a run ----------------------------------------------------------------------------- */

enum hr_status hr__compare_details_prepare(void *self, struct hr_replay *replay, struct hr_error *error) {
  struct hr__compare_details *details = self;
  if (!details->comparison->config.jobs) return HR_OK;
  details->placements = hr_placements_create(replay->config.trace);
  if (!details->placements) return hr_fail(error, HR_NO_MEMORY, "out of memory for the placements");
  return hr_replay_add(replay, hr_placements_observer(details->placements), error);
}

enum hr_status hr__compare_details_collect(void *self, const struct hr_replay *replay, struct hr_error *error) {
  struct hr__compare_details *details = self;
  struct hr_comparison *comparison = details->comparison;
  if (!make_curves(replay->result, &comparison->curves[details->contender]))
    return hr_fail(error, HR_NO_MEMORY, "out of memory for the distributions");
  if (!comparison->config.jobs) return HR_OK;
  struct hr__csv_out *csv = &comparison->job_files[details->contender].csv;
  enum hr_status status =
      hr__jobs_open(comparison->config.jobs[details->contender], replay->config.trace,
                    &replay->config.scenario->cluster, replay->result, details->placements, replay->ledger, csv, error);
  comparison->job_files[details->contender].open = status == HR_OK;
  return status;
}

/* ---- Files of jobs ---------------------------------------------------------------------------------- */

enum hr_status hr_comparison_commit_jobs(struct hr_comparison *comparison, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; comparison->job_files && i < comparison->config.n_contenders; i++) {
    struct hr__compare_job_file *file = &comparison->job_files[i];
    if (!file->open) continue;
    file->open = false;
    if (status == HR_OK)
      status = hr__csv_commit(&file->csv, error);
    else
      hr__csv_abandon(&file->csv);
  }
  return status;
}

void hr__compare_job_files_finish(struct hr_comparison *comparison) {
  for (uint32_t i = 0; comparison->job_files && i < comparison->config.n_contenders; i++)
    if (comparison->job_files[i].open) hr__csv_abandon(&comparison->job_files[i].csv);
  free(comparison->job_files);
}

/* ---- CSV -------------------------------------------------------------------------------------------- */

static void put_number(struct hr__csv_out *out, double value) {
  char buffer[HR__NUMBER_BYTES];
  hr__csv_text(out, isnan(value) ? "" : hr__decimal_text(value, buffer));
}

static void csv_put_estimate(struct hr__csv_out *out, const char *policy, const char *group, const char *name,
                             const char *metric, const struct hr_estimate *estimate) {
  hr__csv_text(out, policy);
  hr__csv_text(out, group);
  hr__csv_text(out, name);
  hr__csv_text(out, metric);
  put_number(out, estimate->value);
  put_number(out, estimate->difference);
  put_number(out, estimate->low);
  put_number(out, estimate->high);
  hr__csv_text(out, isnan(estimate->low) ? "" : estimate->significant ? "true" : "false");
  hr__csv_end_row(out);
}

static void csv_put_groups(struct hr__csv_out *out, const struct hr_comparison *comparison,
                           const struct hr__group_table *table, uint32_t contender) {
  const struct hr_summary *first = comparison->first_runs[0].summary;
  const size_t count = table->count_of(first);
  for (size_t i = 0; i < count; i++) {
    const char *name = table->name_of(first, i);
    size_t index = hr__compare_find_group(table, name);
    for (unsigned m = 0; index != SIZE_MAX && m < HR__N_COMPARE_GROUP_METRICS; m++) {
      struct hr_estimate estimate = hr__compare_group_estimate(comparison, table, contender, index, m);
      csv_put_estimate(out, comparison->config.contenders[contender].label, table->title, name,
                       hr__metric_rows[table->columns[m].metric].column, &estimate);
    }
  }
}

enum hr_status hr_comparison_write_csv(const char *path, const struct hr_comparison *comparison,
                                       struct hr_error *error) {
  struct hr__csv_out out;
  enum hr_status status =
      hr__csv_open(&out, path, "policy,group,name,metric,value,difference,low,high,significant", error);
  if (status != HR_OK) return status;
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++) {
    for (unsigned m = 0; m < HR__N_METRICS; m++) {
      if (!hr__compare_has_metric(comparison, (enum hr__metric)m)) continue;
      struct hr_estimate estimate = hr__compare_estimate(comparison, i, (enum hr__metric)m);
      csv_put_estimate(&out, comparison->config.contenders[i].label, "all", "", hr__metric_rows[m].column, &estimate);
    }
    csv_put_groups(&out, comparison, &comparison->groups[HR__CLASSES], i);
    csv_put_groups(&out, comparison, &comparison->groups[HR__TENANTS], i);
    csv_put_groups(&out, comparison, &comparison->groups[HR__SERVICES], i);
  }
  return hr__csv_commit(&out, error);
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

/* The heading of the summary of a policy's first run. Stores pointers to three borrowed lists in `notes`, to which the
 * result points. */
static struct hr_run_label run_label(const struct hr_comparison *comparison, uint32_t contender,
                                     const struct hr_notes **notes) {
  const struct hr_compare_config *config = &comparison->config;
  const struct hr_trace *trace = config->trace;
  notes[0] = &config->scenario->notes;
  notes[1] = &trace->notes;
  notes[2] = &comparison->first_runs[contender].notes;
  return (struct hr_run_label){.scenario = config->scenario->name,
                               .trace = trace->source,
                               .format = trace->format,
                               .cluster = &config->scenario->cluster,
                               .policy = config->contenders[contender].policy,
                               .seed = config->scenario->seed,
                               .notes = notes,
                               .n_notes = 3,
                               .skipped = trace->skipped,
                               .n_skipped_reasons = trace->n_skipped_reasons,
                               .alerts = comparison->first_runs[contender].alerts,
                               .clock_us = hr_trace_clock_us(trace)};
}

static void put_metric(struct hr__json *json, cJSON *object, const char *key, double value) {
  hr__json_number_if(json, object, key, !isnan(value), value);
}

/* Adds the mean to `means`, and the difference from the first policy to `differences`. */
static void put_estimate(struct hr__json *json, cJSON *means, cJSON *differences, const char *key,
                         const struct hr_estimate *estimate) {
  put_metric(json, means, key, estimate->value);
  cJSON *inner = hr__json_object(json, differences, key);
  put_metric(json, inner, "mean", estimate->difference);
  put_metric(json, inner, "low", estimate->low);
  put_metric(json, inner, "high", estimate->high);
  if (isnan(estimate->low))
    hr__json_null(json, inner, "significant");
  else
    hr__json_bool(json, inner, "significant", estimate->significant);
}

static void put_metrics(struct hr__json *json, cJSON *policy, const struct hr_comparison *comparison,
                        uint32_t contender) {
  cJSON *means = hr__json_object(json, policy, "mean");
  cJSON *differences = hr__json_object(json, policy, "difference");
  for (unsigned i = 0; i < HR__N_METRICS; i++) {
    struct hr_estimate estimate = hr__compare_estimate(comparison, contender, (enum hr__metric)i);
    put_estimate(json, means, differences, hr__metric_rows[i].column, &estimate);
  }
}

/* Writes the groups in the order of the first policy's summary. */
static void json_put_groups(struct hr__json *json, cJSON *policy, const char *key,
                            const struct hr_comparison *comparison, const struct hr__group_table *table,
                            uint32_t contender) {
  const struct hr_summary *first = comparison->first_runs[0].summary;
  const size_t count = table->count_of(first);
  cJSON *all = hr__json_object(json, policy, key);
  for (size_t i = 0; i < count; i++) {
    size_t index = hr__compare_find_group(table, table->name_of(first, i));
    if (index == SIZE_MAX) continue;
    cJSON *inner = hr__json_object(json, all, table->name_of(first, i));
    cJSON *means = hr__json_object(json, inner, "mean");
    cJSON *differences = hr__json_object(json, inner, "difference");
    for (unsigned m = 0; m < HR__N_COMPARE_GROUP_METRICS; m++) {
      struct hr_estimate estimate = hr__compare_group_estimate(comparison, table, contender, index, m);
      put_estimate(json, means, differences, hr__metric_rows[table->columns[m].metric].column, &estimate);
    }
  }
}

static void put_curve(struct hr__json *json, cJSON *object, const char *key, const double *seconds) {
  cJSON *array = hr__json_array(json, object, key);
  for (size_t i = 0; i < HR__CURVE_POINTS && !isnan(seconds[0]); i++) {
    char buffer[HR__NUMBER_BYTES];
    hr__json_append(json, array, cJSON_CreateRaw(hr__decimal_text(seconds[i], buffer)));
  }
}

static void put_curves(struct hr__json *json, cJSON *policy, const struct hr__compare_curves *curves) {
  cJSON *object = hr__json_object(json, policy, "cdf");
  put_curve(json, object, "wait_s", curves->wait_s);
  put_curve(json, object, "jct_s", curves->jct_s);
}

static void put_policy(struct hr__json *json, cJSON *policies, const struct hr_comparison *comparison,
                       uint32_t contender) {
  const struct hr_contender *self = &comparison->config.contenders[contender];
  cJSON *policy = hr__json_append(json, policies, cJSON_CreateObject());
  hr__json_text(json, policy, "name", self->name);
  hr__json_text(json, policy, "label", self->label);
  hr__json_text(json, policy, "title", comparison->titles[contender]);
  hr__json_text(json, policy, "policy", self->policy->ops->name);
  hr__json_params(json, hr__json_object(json, policy, "params"), self->policy);
  hr__json_bool(json, policy, "identical", comparison->identical[contender]);
  put_metrics(json, policy, comparison, contender);
  put_curves(json, policy, &comparison->curves[contender]);
  json_put_groups(json, policy, "by_class", comparison, &comparison->groups[HR__CLASSES], contender);
  json_put_groups(json, policy, "by_tenant", comparison, &comparison->groups[HR__TENANTS], contender);
  json_put_groups(json, policy, "by_service", comparison, &comparison->groups[HR__SERVICES], contender);
  const struct hr_notes *notes[3];
  struct hr_run_label label = run_label(comparison, contender, notes);
  hr__json_summary(json, hr__json_object(json, policy, "summary"), comparison->first_runs[contender].summary, &label);
}

static void put_head(struct hr__json *json, cJSON *root, const struct hr_comparison *comparison) {
  const struct hr_compare_config *config = &comparison->config;
  hr__json_head(json, root, config->scenario->name, config->trace->source, config->trace->format);
  hr__json_bool(json, root, "random", !comparison->exact);
  hr__json_count(json, root, "replications", comparison->n_replications);
  hr__json_text(json, root, "resample", hr_blocks_name(config->scenario->replications.workload.blocks));
  hr__json_number(json, root, "growth", config->scenario->replications.workload.growth);
  hr__json_number(json, root, "confidence", 0.95);
  cJSON *seeds = hr__json_array(json, root, "seeds");
  for (uint32_t i = 0; i < comparison->n_replications; i++) hr__json_append_seed(json, seeds, comparison->seeds[i]);
}

static void put_perf(struct hr__json *json, cJSON *root, const struct hr_comparison *comparison,
                     const struct hr_perf *perf) {
  cJSON *inner = hr__json_object(json, root, "perf");
  hr__json_number(json, inner, "load_s", perf->load_s);
  hr__json_number(json, inner, "sim_s", perf->sim_s);
  hr__json_count(json, inner, "threads", comparison->config.n_threads);
  hr__json_number(json, inner, "peak_rss_mib", perf->peak_rss_mib);
  cJSON *seconds = hr__json_object(json, inner, "seconds");
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++)
    hr__json_number(json, seconds, comparison->config.contenders[i].label, comparison->seconds[i]);
}

static cJSON *make_tree(struct hr__json *json, const struct hr_comparison *comparison, const struct hr_perf *perf) {
  static const struct hr_perf nothing = {0};
  cJSON *root = cJSON_CreateObject();
  put_head(json, root, comparison);
  cJSON *policies = hr__json_array(json, root, "policies");
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++) put_policy(json, policies, comparison, i);
  hr__json_notes(json, hr__json_array(json, root, "notes"), &comparison->notes);
  put_perf(json, root, comparison, perf ? perf : &nothing);
  return root;
}

char *hr_comparison_json(const struct hr_comparison *comparison, const struct hr_perf *perf) {
  struct hr__json json = {false};
  cJSON *root = make_tree(&json, comparison, perf);
  return hr__json_print(&json, root);
}

enum hr_status hr_comparison_write_json(const char *path, const struct hr_comparison *comparison,
                                        const struct hr_perf *perf, struct hr_error *error) {
  struct hr__json json = {false};
  cJSON *root = make_tree(&json, comparison, perf);
  return hr__json_write(&json, root, path, error);
}

/* ---- Markdown --------------------------------------------------------------------------------------- */

/* Writes a table of all jobs, with a row for each metric and a column for each policy, then a table of classes and a
   table of tenants. A table has at most MAX_GROUPS groups. */

enum { MAX_GROUPS = 20 };

struct compare_markdown {
  struct hr__console console;
  const struct hr_comparison *comparison;
};

static void put_text(struct compare_markdown *page, const char *text) {
  hr__markdown_text(&page->console, text);
}

/* Writes "1 h 2 min (-4 h)". Significant differences are bold. If the scenario is deterministic, every difference is
   significant and none is bold. */
static void markdown_put_estimate(struct compare_markdown *page, enum hr_unit unit, const struct hr_estimate *estimate,
                                  bool first) {
  char text[HR__METRIC_BYTES];
  FILE *out = page->console.out;
  bool bold = estimate->significant && !page->comparison->exact;
  fprintf(out, " %s%s", bold ? "**" : "", hr__metric_text(unit, estimate->value, text));
  if (!first && !isnan(estimate->difference)) {
    fprintf(out, " (%s", hr__difference_text(unit, estimate->difference, text));
    if (page->comparison->n_replications > 1 && !isnan(estimate->low))
      fprintf(out, " %s", hr__margin_text(unit, estimate->low, estimate->high, text));
    fputc(')', out);
  }
  fprintf(out, "%s |", bold ? "**" : "");
}

static void markdown_put_head(struct compare_markdown *page) {
  const struct hr_compare_config *config = &page->comparison->config;
  FILE *out = page->console.out;
  fputs("# ", out);
  put_text(page, config->scenario->name);
  fputs("\n\nTrace ", out);
  put_text(page, config->trace->source);
  fprintf(out, ", %" PRIu32 " jobs; seed %" PRIu64 ". ", config->trace->n_jobs, config->scenario->seed);
  if (page->comparison->exact)
    fputs("Deterministic: one run of each policy. Differences from the first policy, in brackets, are exact.\n\n", out);
  else if (page->comparison->n_replications == 1)
    fputs("One run of each policy. In brackets: differences from the first policy, whose significance is unknown.\n\n",
          out);
  else if (config->n_contenders > 1 && !hr__compare_has_intervals(page->comparison))
    fprintf(out,
            "%" PRIu32 " runs of each policy, all identical. In brackets: differences from the first policy, which "
            "have no interval.\n\n",
            page->comparison->n_replications);
  else
    fprintf(out,
            "%" PRIu32
            " runs of each policy, with the same %srandom events for all. In brackets: the difference from the "
            "first policy with the margin of its paired 95 %% interval; bold: significant.\n\n",
            page->comparison->n_replications, page->comparison->redrawn ? "workloads and " : "");
}

static void markdown_put_policies(struct compare_markdown *page) {
  const struct hr_compare_config *config = &page->comparison->config;
  for (uint32_t i = 0; i < config->n_contenders; i++) {
    char *text = hr__policy_words(config->contenders[i].policy);
    if (!text) page->console.out_of_memory = true;
    fputs("- ", page->console.out);
    put_text(page, page->comparison->titles[i]);
    fputs(": ", page->console.out);
    if (text) put_text(page, text);
    fputc('\n', page->console.out);
    free(text);
  }
  fputc('\n', page->console.out);
}

static void markdown_put_metrics(struct compare_markdown *page) {
  const struct hr_compare_config *config = &page->comparison->config;
  FILE *out = page->console.out;
  fputs("| |", out);
  for (uint32_t i = 0; i < config->n_contenders; i++) {
    fputc(' ', out);
    put_text(page, page->comparison->titles[i]);
    fputs(" |", out);
  }
  fputs("\n|---|", out);
  for (uint32_t i = 0; i < config->n_contenders; i++) fputs("---:|", out);
  fputc('\n', out);
  for (const struct hr__compare_column *at = hr__compare_columns; at->block; at++) {
    if (!hr__compare_has_metric(page->comparison, at->metric)) continue;
    fprintf(out, "| %s: %s |", at->block, at->title);
    for (uint32_t i = 0; i < config->n_contenders; i++) {
      struct hr_estimate estimate = hr__compare_estimate(page->comparison, i, at->metric);
      markdown_put_estimate(page, hr__metric_rows[at->metric].unit, &estimate, i == 0);
    }
    fputc('\n', out);
  }
}

static void markdown_put_group(struct compare_markdown *page, const struct hr__group_table *groups, const char *name) {
  const struct hr_compare_config *config = &page->comparison->config;
  size_t index = hr__compare_find_group(groups, name);
  for (uint32_t i = 0; index != SIZE_MAX && i < config->n_contenders; i++) {
    fputs("| ", page->console.out);
    put_text(page, name[0] ? name : "(none)");
    fputs(" | ", page->console.out);
    put_text(page, page->comparison->titles[i]);
    fputs(" |", page->console.out);
    for (unsigned m = 0; m < HR__N_COMPARE_GROUP_METRICS; m++) {
      struct hr_estimate estimate = hr__compare_group_estimate(page->comparison, groups, i, index, m);
      markdown_put_estimate(page, hr__metric_rows[groups->columns[m].metric].unit, &estimate, i == 0);
    }
    fputc('\n', page->console.out);
  }
}

static void markdown_put_groups(struct compare_markdown *page, const struct hr__group_table *groups) {
  const struct hr_summary *first = page->comparison->first_runs[0].summary;
  const size_t count = groups->count_of(first);
  if (count == 0) return;
  fprintf(page->console.out, "\n| %s | policy |", groups->title);
  for (unsigned m = 0; m < HR__N_COMPARE_GROUP_METRICS; m++)
    fprintf(page->console.out, " %s |", groups->columns[m].title);
  fputs("\n|---|---|---:|---:|---:|---:|\n", page->console.out);
  for (size_t i = 0; i < count && i < MAX_GROUPS; i++) markdown_put_group(page, groups, groups->name_of(first, i));
  if (count > MAX_GROUPS) fprintf(page->console.out, "\nand %zu more\n", count - MAX_GROUPS);
}

enum hr_status hr_comparison_write_markdown(const char *path, const struct hr_comparison *comparison,
                                            struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  struct compare_markdown page = {.console = {.out = file.stream}, .comparison = comparison};
  markdown_put_head(&page);
  markdown_put_policies(&page);
  markdown_put_metrics(&page);
  markdown_put_groups(&page, &comparison->groups[HR__CLASSES]);
  markdown_put_groups(&page, &comparison->groups[HR__TENANTS]);
  markdown_put_groups(&page, &comparison->groups[HR__SERVICES]);
  if (!page.console.out_of_memory) return hr__output_commit(&file, error);
  hr__output_abandon(&file);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}
