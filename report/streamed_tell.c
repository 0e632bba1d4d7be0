/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of a streamed run for a person and as JSON: those of a summary, as far as they are there. */

#include "headroom/streamed.h"
#include "report/json_tree.h"
#include "report/sketch.h"
#include "report/summary_table.h"

#include <inttypes.h>

static struct hr_summary summary_of(const struct hr_streamed_figures *figures, const struct hr_cluster_spec *cluster) {
  struct hr_summary summary = {.gpus = hr_cluster_spec_gpus(cluster),
                               .jobs_submitted = figures->jobs_submitted,
                               .jobs_completed = figures->jobs_completed,
                               .jobs_rejected = figures->jobs_rejected,
                               .jobs_unfinished = figures->jobs_unfinished,
                               .jobs_backfilled = figures->jobs_backfilled,
                               .outcome_failed = figures->outcome_failed,
                               .outcome_cancelled = figures->outcome_cancelled,
                               .wait_s = figures->wait_s,
                               .jct_s = figures->jct_s,
                               .slowdown = figures->slowdown,
                               .makespan_s = figures->makespan_s,
                               .submit_window_s = figures->submit_window_s,
                               .utilization_makespan = figures->utilization_makespan,
                               .utilization_submit_window = figures->utilization_submit_window,
                               .gpu_hours = figures->gpu_hours,
                               .queue_mean = figures->queue_mean,
                               .queue_max = figures->queue_max,
                               .digest = figures->digest};
  for (uint32_t i = 0; i < cluster->n_pools; i++) summary.nodes += cluster->pools[i].nodes;
  return summary;
}

/* ---- For a person ----------------------------------------------------------------------------------- */

enum hr_status hr_streamed_print(FILE *out, const struct hr_streamed_figures *figures, const struct hr_run_label *label,
                                 const struct hr_perf *perf, unsigned style) {
  struct hr__console table = {.out = out, .colour = style & HR_STYLE_COLOUR, .unicode = style & HR_STYLE_UNICODE};
  const struct hr_summary summary = summary_of(figures, label->cluster);
  hr__put_run_head(&table, &summary, label);
  fputc('\n', out);
  hr__put_run_jobs(&table, &summary, label);
  hr__put_run_totals(&table, &summary, NULL);
  hr__put_run_distributions(&table, &summary);
  fprintf(out, "%sStreamed: quantiles are from a sketch, off by at most 1/%d of themselves.%s\n", hr__dim(&table),
          HR__SKETCH_ERROR_PART, hr__plain(&table));
  hr__put_run_foot(&table, &summary, perf);
  if (table.out_of_memory) return HR_NO_MEMORY;
  return ferror(out) ? HR_IO_ERROR : HR_OK;
}

/* ---- As JSON ---------------------------------------------------------------------------------------- */

static void put_jobs(struct hr__json *json, cJSON *root, const struct hr_streamed_figures *figures) {
  cJSON *jobs = hr__json_object(json, root, "jobs");
  hr__json_count(json, jobs, "submitted", figures->jobs_submitted);
  hr__json_count(json, jobs, "completed", figures->jobs_completed);
  hr__json_count(json, jobs, "rejected", figures->jobs_rejected);
  hr__json_count(json, jobs, "unfinished", figures->jobs_unfinished);
  hr__json_count(json, jobs, "backfilled", figures->jobs_backfilled);
  hr__json_count(json, jobs, "outcome_failed", figures->outcome_failed);
  hr__json_count(json, jobs, "outcome_cancelled", figures->outcome_cancelled);
}

static void put_figures(struct hr__json *json, cJSON *root, const struct hr_streamed_figures *figures) {
  bool spanned = figures->makespan_s > 0;
  put_jobs(json, root, figures);
  hr__json_distribution(json, root, "wait_s", &figures->wait_s);
  hr__json_distribution(json, root, "jct_s", &figures->jct_s);
  hr__json_distribution(json, root, "slowdown", &figures->slowdown);
  hr__json_number(json, root, "quantile_error", 1.0 / HR__SKETCH_ERROR_PART);
  hr__json_number(json, root, "makespan_s", figures->makespan_s);
  hr__json_number(json, root, "submit_window_s", figures->submit_window_s);
  cJSON *utilization = hr__json_object(json, root, "utilization");
  hr__json_number_if(json, utilization, "submit_window", figures->submit_window_s > 0,
                     figures->utilization_submit_window);
  hr__json_number_if(json, utilization, "makespan", spanned, figures->utilization_makespan);
  cJSON *queue = hr__json_object(json, root, "queue");
  hr__json_number_if(json, queue, "mean", spanned, figures->queue_mean);
  hr__json_count(json, queue, "max", figures->queue_max);
  hr__json_number(json, root, "gpu_hours", figures->gpu_hours);
}

static void put_evidence(struct hr__json *json, cJSON *root, const struct hr_streamed_figures *figures) {
  char digest[24];
  snprintf(digest, sizeof digest, "%016" PRIx64, figures->digest);
  hr__json_count(json, root, "events", figures->n_events);
  hr__json_count(json, root, "passes", figures->n_passes);
  hr__json_text(json, root, "digest", digest);
}

static void put_perf(struct hr__json *json, cJSON *root, const struct hr_perf *perf) {
  cJSON *inner = hr__json_object(json, root, "perf");
  hr__json_number(json, inner, "load_s", perf->load_s);
  hr__json_number(json, inner, "sim_s", perf->sim_s);
  hr__json_number(json, inner, "peak_rss_mib", perf->peak_rss_mib);
}

enum hr_status hr_streamed_write_json(const char *path, const struct hr_streamed_figures *figures,
                                      const struct hr_run_label *label, const struct hr_perf *perf,
                                      struct hr_error *error) {
  struct hr__json json = {false};
  cJSON *root = cJSON_CreateObject();
  const struct hr_summary summary = summary_of(figures, label->cluster);
  hr__json_label(&json, root, &summary, label);
  put_figures(&json, root, figures);
  put_evidence(&json, root, figures);
  hr__json_remarks(&json, root, label);
  put_perf(&json, root, perf);
  return hr__json_write(&json, root, path, error);
}
