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

/* Returns the metrics after the run. The groups, fairness, fragmentation, costs, preemptions and restarts of the
   summary are not known; they are empty. Do not pass the summary to hr_summary_destroy. */
HR_API struct hr_summary hr_streamed_close(const struct hr_streamed *streamed, const struct hr_cluster_spec *cluster,
                                           const struct hr_result *result);
/* Computes the costs of the run and stores them in `summary`. Costs that depend on single jobs are omitted: checkpoint
   storage, egress per job and missed deadlines. The caller then frees the costs with hr_streamed_summary_finish.
   Returns HR_BAD_INPUT if costs exceed the range of micro-dollars. */
HR_API enum hr_status hr_streamed_cost(const struct hr_streamed *streamed, const struct hr_cluster_spec *cluster,
                                       const struct hr_result *result, const struct hr_cost_basis *basis,
                                       struct hr_summary *summary, struct hr_error *error);
HR_API void hr_streamed_summary_finish(struct hr_summary *summary);
/* Adds notes on jobs that can never run, as hr_run_notes does. */
HR_API enum hr_status hr_streamed_notes(const struct hr_streamed *streamed, struct hr_notes *notes);

/* Print the metrics as tables, 80 columns wide, or write them as JSON (docs/reference/schemas/streamed.schema.json).
   `style`: a set of HR_STYLE flags. `path` "-" is standard output. */
HR_API enum hr_status hr_streamed_print(FILE *out, const struct hr_summary *summary, const struct hr_run_label *label,
                                        const struct hr_perf *perf, unsigned style);
HR_API enum hr_status hr_streamed_write_json(const char *path, const struct hr_summary *summary,
                                             const struct hr_run_label *label, const struct hr_perf *perf,
                                             struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
