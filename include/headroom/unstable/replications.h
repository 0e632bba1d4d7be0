/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_REPLICATIONS_H
#define HEADROOM_UNSTABLE_REPLICATIONS_H

/*
 * The same scenario many times over, each time with other random events and, if asked, another workload, and what can
 * be said of its figures in the long run.
 *
 * Replication r has the seed hr_replication_seed(seed, r) of headroom/compare.h. A mean or a sum is told as its mean
 * over replications with Student's interval; a quantile as its median over replications with an interval from order
 * statistics. docs/researcher/replications.md says it at length.
 */

#include "headroom/base.h"
#include "headroom/report.h"
#include "headroom/trace.h"
#include "headroom/unstable/experiments.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr_scenario;

/* All of it is borrowed, and must live as long as the result. */
struct hr_replicate_config {
  const struct hr_scenario *scenario;
  const char *const *overrides; /* that it was loaded with */
  size_t n_overrides;
  const struct hr_trace *trace;
  const struct hr_replication_spec *spec;
  uint32_t n_threads;
  struct hr_progress progress;
};

/* Runs all, on threads; results do not depend on how many. Where nothing is random one run tells all. */
struct hr_replicates;
HR_API enum hr_status hr_replicate(const struct hr_replicate_config *config, struct hr_replicates **replicates,
                                   struct hr_error *error);
HR_API void hr_replicates_destroy(struct hr_replicates *replicates);

/* What can be said of a figure. NaN: cannot be told. */
struct hr_replicated {
  uint32_t count; /* replications in which it is known */
  double mean, median, sd;
  double low, high;
  bool of_median; /* what low and high are the interval of */
};
/* A figure by the name that people give it; HR_BAD_INPUT, in words, for one that there is not. */
HR_API enum hr_status hr_replicates_figure(const struct hr_replicates *replicates, const char *name,
                                           struct hr_replicated *figure, struct hr_error *error);
HR_API uint32_t hr_replicates_count(const struct hr_replicates *replicates);
/* What a person should know of them. */
HR_API const struct hr_notes *hr_replicates_notes(const struct hr_replicates *replicates);

/* The table for a person, 80 columns wide. */
HR_API enum hr_status hr_replicates_print(FILE *out, const struct hr_replicates *replicates, const struct hr_perf *perf,
                                          bool colour);
/* The summary of replication 0, as `headroom run` writes it, and under `replications` what all of them tell
   (docs/reference/schemas/summary.schema.json). */
HR_API enum hr_status hr_replicates_write_json(const char *path, const struct hr_replicates *replicates,
                                               const struct hr_perf *perf, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
