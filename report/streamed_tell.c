/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of a streamed run for a person and as JSON: those of a summary, as far as they are there. */

#include "headroom/streamed.h"
#include "report/json_tree.h"
#include "report/sketch.h"
#include "report/summary_table.h"

static struct hr_summary summary_of(const struct hr_streamed_figures *figures, const struct hr_cluster_spec *cluster) {
  struct hr_summary summary = {.gpus = hr_cluster_spec_gpus(cluster),
                               .jobs_submitted = figures->jobs_submitted,
                               .jobs_completed = figures->jobs_completed,
                               .jobs_rejected = figures->jobs_rejected,
                               .jobs_unfinished = figures->jobs_unfinished,
                               .jobs_backfilled = figures->jobs_backfilled,
                               .outcome_failed = figures->outcome_failed,
                               .outcome_cancelled = figures->outcome_cancelled,
                               .deadlines = figures->deadlines,
                               .missed_deadlines = figures->missed_deadlines,
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
                               .n_events = figures->n_events,
                               .n_passes = figures->n_passes,
                               .digest = figures->digest,
                               .stoppable = figures->stoppable,
                               .goodput = figures->goodput,
                               .spot = figures->spot,
                               .oom = figures->oom,
                               .costs = figures->costs};
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
  hr__put_run_costs(&table, &summary);
  if (summary.costs || summary.stoppable) fputc('\n', out);
  fprintf(out, "%sStreamed: quantiles are from a sketch, off by at most 1/%d of themselves.%s\n", hr__dim(&table),
          HR__SKETCH_ERROR_PART, hr__plain(&table));
  hr__put_run_foot(&table, &summary, perf);
  if (table.out_of_memory) return HR_NO_MEMORY;
  return ferror(out) ? HR_IO_ERROR : HR_OK;
}

/* ---- As JSON ---------------------------------------------------------------------------------------- */

enum hr_status hr_streamed_write_json(const char *path, const struct hr_streamed_figures *figures,
                                      const struct hr_run_label *label, const struct hr_perf *perf,
                                      struct hr_error *error) {
  struct hr__json json = {false};
  cJSON *root = cJSON_CreateObject();
  const struct hr_summary summary = summary_of(figures, label->cluster);
  hr__json_label(&json, root, &summary, label);
  hr__json_figures(&json, root, &summary);
  hr__json_number(&json, root, "quantile_error", 1.0 / HR__SKETCH_ERROR_PART);
  hr__json_markets(&json, root, &summary);
  hr__json_evidence(&json, root, &summary);
  hr__json_remarks(&json, root, label);
  hr__json_perf(&json, root, &summary, perf);
  return hr__json_write(&json, root, path, error);
}
