/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_REPLICATIONS_H
#define HEADROOM_UNSTABLE_REPLICATIONS_H

/*
 * Replications of a scenario: several runs with different random events and, if requested, redrawn workloads. Also
 * statistics of metrics over replications.
 *
 * Replication r has the seed hr_replication_seed(seed, r), see headroom/unstable/compare.h. If a metric is a mean or a
 * sum, the result is its mean over replications with Student's confidence interval, corrected for skewness. If a metric
 * is a quantile, the result is its median over replications with a confidence interval from order statistics.
 * docs/researcher/replications.md has the details.
 */

#include "headroom/base.h"
#include "headroom/report.h"
#include "headroom/trace.h"
#include "headroom/unstable/experiments.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr_scenario;

/* The input. Everything is borrowed and must outlive the result. */
struct hr_replicate_config {
  const struct hr_scenario *scenario;
  const char *const *overrides; /* overrides with which the scenario was loaded */
  size_t n_overrides;
  const struct hr_trace *trace;
  const struct hr_replication_spec *spec;
  uint32_t n_threads;
  struct hr_progress progress;
};

/* Executes all runs on `n_threads` threads. Results do not depend on the number of threads. If neither the scenario nor
   the policy uses random numbers and the workload is not redrawn, one run is executed. The caller frees `*replicates`
   with hr_replicates_destroy. */
struct hr_replicates;
HR_API enum hr_status hr_replicate(const struct hr_replicate_config *config, struct hr_replicates **replicates,
                                   struct hr_error *error);
HR_API void hr_replicates_destroy(struct hr_replicates *replicates);

/* Statistics of a metric over replications. NAN: unknown. */
struct hr_replicated {
  uint32_t count;          /* number of replications in which the metric is known */
  double mean, median, sd; /* sd: standard deviation */
  double low, high;        /* confidence interval */
  /* `low` and `high` are the interval of the median; otherwise they are the interval of the mean */
  bool of_median;
};
/* Computes the statistics of the metric `name`, written as users write it. Returns HR_BAD_INPUT for an unknown name. */
HR_API enum hr_status hr_replicates_metric(const struct hr_replicates *replicates, const char *name,
                                           struct hr_replicated *figure, struct hr_error *error);
/* Returns notes for the user. */
HR_API const struct hr_notes *hr_replicates_notes(const struct hr_replicates *replicates);

/* Prints the results as a table, 80 columns wide. */
HR_API enum hr_status hr_replicates_print(FILE *out, const struct hr_replicates *replicates, const struct hr_perf *perf,
                                          bool colour);
/* Writes the summary of replication 0 as JSON, as `headroom run` does. In addition, the key `replications` contains the
   statistics over all replications (docs/reference/schemas/summary.schema.json). `path` "-" is standard output. */
HR_API enum hr_status hr_replicates_write_json(const char *path, const struct hr_replicates *replicates,
                                               const struct hr_perf *perf, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
