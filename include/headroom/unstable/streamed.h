/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_STREAMED_H
#define HEADROOM_UNSTABLE_STREAMED_H

/*
 * The figures of a streamed run (struct hr_run_config, `stream`), which keeps nothing of jobs that are over: they are
 * gathered while it goes. Defined as in report.h; quantiles are off by 1/256 of themselves at most, slowdowns are
 * counted in whole millionths, all else is exact.
 */

#include "headroom/report.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr_streamed;
/* NULL when out of memory. The trace must outlive it. */
HR_API struct hr_streamed *hr_streamed_create(const struct hr_trace *trace);
HR_API void hr_streamed_destroy(struct hr_streamed *streamed);
HR_API struct hr_observer hr_streamed_observer(struct hr_streamed *streamed);

struct hr_streamed_figures {
  uint64_t jobs_submitted, jobs_completed, jobs_rejected, jobs_unfinished, jobs_backfilled;
  uint64_t outcome_failed, outcome_cancelled; /* of the completed, when recorded */
  uint64_t deadlines, missed_deadlines;
  struct hr_distribution wait_s, jct_s, slowdown;
  double makespan_s, submit_window_s, utilization_makespan, utilization_submit_window, queue_mean, gpu_hours;
  uint64_t queue_max, n_events, n_passes, digest;
  bool stoppable; /* jobs could be stopped before their end: the three below tell something */
  struct hr_goodput goodput;
  struct hr_spot_figures spot;
  struct hr_oom_figures oom;
  struct hr_cost_summary *costs; /* NULL: none were asked for */
};
/* After the run on the cluster. */
HR_API struct hr_streamed_figures hr_streamed_close(const struct hr_streamed *streamed,
                                                    const struct hr_cluster_spec *cluster,
                                                    const struct hr_result *result);
/* Adds what the run cost, from accounts that followed it, without what is charged by job for its checkpoints, what it
   sends or its deadline. To be finished then. HR_BAD_INPUT where it passes what dollars may come to. */
HR_API enum hr_status hr_streamed_cost(const struct hr_streamed *streamed, const struct hr_cluster_spec *cluster,
                                       const struct hr_result *result, const struct hr_cost_basis *basis,
                                       struct hr_streamed_figures *figures, struct hr_error *error);
HR_API void hr_streamed_figures_finish(struct hr_streamed_figures *figures);
/* Adds which jobs can never run, as hr_run_notes does of a run in memory. */
HR_API enum hr_status hr_streamed_notes(const struct hr_streamed *streamed, struct hr_notes *notes);

/* For a person, 80 columns wide (`style` as of hr_summary_print), and as JSON (`path` "-" is standard output;
   docs/reference/schemas/streamed.schema.json). */
HR_API enum hr_status hr_streamed_print(FILE *out, const struct hr_streamed_figures *figures,
                                        const struct hr_run_label *label, const struct hr_perf *perf, unsigned style);
HR_API enum hr_status hr_streamed_write_json(const char *path, const struct hr_streamed_figures *figures,
                                             const struct hr_run_label *label, const struct hr_perf *perf,
                                             struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
