/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_STREAMED_H
#define HEADROOM_UNSTABLE_STREAMED_H

/*
 * Metrics of a streamed run (`stream` of struct hr_run_config). Such a run discards finished jobs, so metrics are
 * accumulated during the run. They are defined as in headroom/report.h. The relative error of quantiles is at most
 * 1/256, and slowdowns are rounded to millionths. All other metrics are exact.
 */

#include "headroom/report.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr_streamed;
/* Creates an observer for one run. The trace must outlive the observer. Returns NULL if memory is exhausted. */
HR_API struct hr_streamed *hr_streamed_create(const struct hr_trace *trace);
HR_API void hr_streamed_destroy(struct hr_streamed *streamed);
HR_API struct hr_observer hr_streamed_observer(struct hr_streamed *streamed);

/* The metrics of a run. Durations are in seconds (`_s`). */
struct hr_streamed_figures {
  uint64_t jobs_submitted, jobs_completed, jobs_rejected, jobs_unfinished, jobs_backfilled;
  uint64_t outcome_failed, outcome_cancelled; /* number of completed jobs with this recorded outcome */
  uint64_t deadlines, missed_deadlines;       /* number of jobs with a deadline, and number of jobs that missed it */
  struct hr_distribution wait_s, jct_s, slowdown;
  double makespan_s, submit_window_s, utilization_makespan, utilization_submit_window, queue_mean, gpu_hours;
  uint64_t queue_max, n_events, n_passes, digest;
  bool stoppable; /* jobs could be stopped before their end; if false, `goodput`, `spot` and `oom` have no meaning */
  struct hr_goodput goodput;
  struct hr_spot_figures spot;
  struct hr_oom_figures oom;
  struct hr_cost_summary *costs; /* NULL unless hr_streamed_cost was called */
};
/* Computes the metrics after the run. `costs` of the result is NULL. */
HR_API struct hr_streamed_figures hr_streamed_close(const struct hr_streamed *streamed,
                                                    const struct hr_cluster_spec *cluster,
                                                    const struct hr_result *result);
/* Computes the costs of the run and stores them in `figures`. Costs that depend on single jobs are omitted: checkpoint
   storage, egress per job and missed deadlines. The caller then frees the costs with hr_streamed_figures_finish.
   Returns HR_BAD_INPUT if costs exceed the range of micro-dollars. */
HR_API enum hr_status hr_streamed_cost(const struct hr_streamed *streamed, const struct hr_cluster_spec *cluster,
                                       const struct hr_result *result, const struct hr_cost_basis *basis,
                                       struct hr_streamed_figures *figures, struct hr_error *error);
HR_API void hr_streamed_figures_finish(struct hr_streamed_figures *figures);
/* Adds notes on jobs that can never run, as hr_run_notes does. */
HR_API enum hr_status hr_streamed_notes(const struct hr_streamed *streamed, struct hr_notes *notes);

/* Print the metrics as tables, 80 columns wide, or write them as JSON (docs/reference/schemas/streamed.schema.json).
   `style`: a set of HR_STYLE flags. `path` "-" is standard output. */
HR_API enum hr_status hr_streamed_print(FILE *out, const struct hr_streamed_figures *figures,
                                        const struct hr_run_label *label, const struct hr_perf *perf, unsigned style);
HR_API enum hr_status hr_streamed_write_json(const char *path, const struct hr_streamed_figures *figures,
                                             const struct hr_run_label *label, const struct hr_perf *perf,
                                             struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
