/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_REJECTIONS_H
#define HEADROOM_UNSTABLE_REJECTIONS_H

/*
 * Jobs that are rejected because they can never run, by reason, with remedies. Most of them come from a difference
 * between the trace and the cluster, such as other names of GPU types, so results without them would mislead.
 */

#include "headroom/sim.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HR_MAX_REASONS = 32 };

/* Numbers of jobs. */
struct hr_rejections {
  uint64_t n_jobs, n_rejected;
  uint64_t by_reason[HR_MAX_REASONS]; /* by enum hr_reason */
};

/* Counts the jobs that a run rejected. In a streamed run, the result has no rejected jobs; see
   hr_streamed_rejections. */
HR_API void hr_rejections_of(const struct hr_result *result, struct hr_rejections *rejections);
/* Counts the jobs that can never run on a cluster, whatever the policy and the quotas are. `classes` and `speeds` are
   as in struct hr_run_config. */
HR_API enum hr_status hr_rejections_predict(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                            const struct hr_class_spec *classes, const struct hr_speeds *speeds,
                                            struct hr_rejections *rejections, struct hr_error *error);
/* Whether so many jobs were rejected (more than 1 %) that users must be warned. */
HR_API bool hr_rejections_are_many(const struct hr_rejections *rejections);
/* Writes a warning if many jobs were rejected: one line with their number, and one line with the remedy for each
   reason. */
HR_API void hr_rejections_warn(FILE *out, const struct hr_rejections *rejections, const struct hr_trace *trace,
                               const struct hr_cluster_spec *cluster);
/* Adds a note for each list of GPU types in the trace of which no pool has any type, with the nearest type. */
HR_API enum hr_status hr_gpu_type_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                        struct hr_notes *notes, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
