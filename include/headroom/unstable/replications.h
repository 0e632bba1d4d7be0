/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_REPLICATIONS_H
#define HEADROOM_UNSTABLE_REPLICATIONS_H

/*
 * Replications of a scenario: runs with different random events and, if requested, redrawn workloads; and statistics of
 * metrics over them.
 *
 * Replication r has the seed hr_replication_seed(seed, r) of headroom/unstable/compare.h. A mean or a sum is reported
 * as its mean over replications with Student's confidence interval; a quantile as its median over replications with an
 * interval from order statistics. docs/researcher/replications.md has the details.
 */

#include "headroom/base.h"
#include "headroom/report.h"
#include "headroom/trace.h"
#include "headroom/unstable/experiments.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr_scenario;

/* Borrowed, and must outlive the result. */
struct hr_replicate_config {
  const struct hr_scenario *scenario;
  const char *const *overrides; /* with which it was loaded */
  size_t n_overrides;
  const struct hr_trace *trace;
  const struct hr_replication_spec *spec;
  uint32_t n_threads;
  struct hr_progress progress;
};

/* Makes all runs, on threads; results do not depend on their number. One run suffices if nothing is random. The
   caller destroys `*replicates`. */
struct hr_replicates;
HR_API enum hr_status hr_replicate(const struct hr_replicate_config *config, struct hr_replicates **replicates,
                                   struct hr_error *error);
HR_API void hr_replicates_destroy(struct hr_replicates *replicates);

/* Statistics of a metric. NAN: unknown. */
struct hr_replicated {
  uint32_t count; /* replications in which it is known */
  double mean, median, sd;
  double low, high;
  bool of_median; /* low and high are the interval of the median; otherwise of the mean */
};
/* The statistics of a metric by its name, as users write it. HR_BAD_INPUT for an unknown one. */
HR_API enum hr_status hr_replicates_figure(const struct hr_replicates *replicates, const char *name,
                                           struct hr_replicated *figure, struct hr_error *error);
/* Notes for the user. */
HR_API const struct hr_notes *hr_replicates_notes(const struct hr_replicates *replicates);

/* Prints the table, 80 columns wide. */
HR_API enum hr_status hr_replicates_print(FILE *out, const struct hr_replicates *replicates, const struct hr_perf *perf,
                                          bool colour);
/* Writes the summary of replication 0, as `headroom run` does, with statistics of all replications under
   `replications` (docs/reference/schemas/summary.schema.json). `path` "-" is standard output. */
HR_API enum hr_status hr_replicates_write_json(const char *path, const struct hr_replicates *replicates,
                                               const struct hr_perf *perf, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
