/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_COMPARE_H
#define HEADROOM_UNSTABLE_COMPARE_H

/*
 * Comparison of policies on the same trace with the same random events.
 *
 * Replication r runs each policy with the seed hr_replication_seed(seed, r). Random draws do not depend on the
 * decisions of policies, so all policies have the same interruptions, boot times and prices (common random numbers).
 * Differences of metrics are computed within each replication. The mean difference has a 95 % confidence interval from
 * Student's t over replications. Replication 0 is identical to the run of `headroom run`. docs/researcher/compare.md
 * has the details.
 */

#include "headroom/base.h"
#include "headroom/report.h"
#include "headroom/scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the seed of a replication: `seed` itself for replication 0, otherwise 53 random bits drawn with `seed`. */
HR_API uint64_t hr_replication_seed(uint64_t seed, uint32_t replication);

/* A policy to compare. */
struct hr_contender {
  const char *name;  /* name as the user wrote it */
  const char *label; /* name with parameters, or a label of the user; labels are distinct */
  const struct hr_policy_choice *policy;
  bool labelled; /* the user chose the label, so it is never shortened to what distinguishes the policies */
};

/* The input. Everything is borrowed and must outlive the comparison. */
struct hr_compare_config {
  const struct hr_scenario *scenario; /* the scenario's policy is ignored */
  /* overrides with which the scenario was loaded; if prices are random, the scenario is loaded again for each seed */
  const char *const *overrides;
  size_t n_overrides;
  const struct hr_trace *trace;
  const struct hr_contender *contenders; /* [n_contenders]; differences are relative to the first one */
  uint32_t n_contenders;
  /* 0: the number of the scenario (`replications.count`), otherwise HR_DEFAULT_MIN_REPLICATIONS; one if nothing is
     random. More than one is an error if neither the scenario nor any policy uses random numbers and workloads are not
     redrawn. */
  uint32_t n_replications;
  /* [n_contenders]: paths of the CSV files of the jobs of each policy in replication 0, written by
     hr_comparison_commit_jobs; NULL: none */
  const char *const *jobs;
  uint32_t n_threads;
  struct hr_progress progress; /* counts jobs of all runs; called from any thread, but not concurrently */
};

/* If the scenario redraws its workload (`replications.workload`), replication r of every policy has the workload that
   `headroom run --replications` draws for replication r. Executes all policies and replications on `n_threads` threads.
   Results do not depend on the number of threads. If a run fails, the comparison fails and `error` names the policy.
   The caller frees `*comparison` with hr_comparison_destroy. */
struct hr_comparison;
HR_API enum hr_status hr_compare(const struct hr_compare_config *config, struct hr_comparison **comparison,
                                 struct hr_error *error);
HR_API void hr_comparison_destroy(struct hr_comparison *comparison);

/* A metric of one policy, compared with the first policy. NAN: unknown. */
struct hr_estimate {
  double value; /* mean over replications */
  /* difference: mean of (value - value of the first policy); low, high: confidence interval of this mean. If nothing is
     random, the interval has width 0. If all replications of both policies are identical, no interval exists */
  double difference, low, high;
  bool significant; /* the confidence interval excludes 0; false if no interval exists */
};

/* Returns the estimate of a metric for a policy. `contender` is the index of the policy in the configuration. `metric`:
   the name of a CSV column, such as "wait_mean_s". All values are NAN if the name is unknown or if no run has the
   metric. */
HR_API struct hr_estimate hr_comparison_estimate(const struct hr_comparison *comparison, uint32_t contender,
                                                 const char *metric);
/* Returns the summary of replication 0 of a policy. `contender` is the index of the policy in the configuration. The
   summary belongs to the comparison. */
HR_API const struct hr_summary *hr_comparison_summary(const struct hr_comparison *comparison, uint32_t contender);
/* Returns the trace of replication 0, which differs from that of the configuration if workloads are redrawn. It belongs
   to the comparison or to the caller. */
HR_API const struct hr_trace *hr_comparison_trace(const struct hr_comparison *comparison);
/* Gives the files of jobs their names, if the configuration has any. */
HR_API enum hr_status hr_comparison_commit_jobs(struct hr_comparison *comparison, struct hr_error *error);
/* Returns notes on the runs and on the comparison. */
HR_API const struct hr_notes *hr_comparison_notes(const struct hr_comparison *comparison);

/* Prints the comparison as a table, 80 columns wide. `perf` may be NULL; its sim_s is the sum over all runs. */
HR_API enum hr_status hr_comparison_print(FILE *out, const struct hr_comparison *comparison, const struct hr_perf *perf,
                                          bool colour);
/* Write the comparison to a file; `path` "-" is standard output. JSON: see docs/reference/schemas/compare.schema.json.
   CSV: one row per policy, group and metric. */
HR_API enum hr_status hr_comparison_write_json(const char *path, const struct hr_comparison *comparison,
                                               const struct hr_perf *perf, struct hr_error *error);
/* Returns the comparison as JSON text, which the caller frees with free(); NULL if memory is exhausted. */
HR_API char *hr_comparison_json(const struct hr_comparison *comparison, const struct hr_perf *perf);
HR_API enum hr_status hr_comparison_write_csv(const char *path, const struct hr_comparison *comparison,
                                              struct hr_error *error);
HR_API enum hr_status hr_comparison_write_markdown(const char *path, const struct hr_comparison *comparison,
                                                   struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
