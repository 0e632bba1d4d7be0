/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_COMPARE_H
#define HEADROOM_UNSTABLE_COMPARE_H

/*
 * Comparison of policies on the same trace with the same random events.
 *
 * Replication r runs every policy with one seed, hr_replication_seed(seed, r). Draws do not depend on what policies do,
 * so all of them see the same interruptions, boot times and prices (common random numbers). Differences are computed
 * within each replication; their mean has a 95 % confidence interval from Student's t over replications. Replication 0
 * is the run that `headroom run` makes of the scenario. docs/researcher/compare.md has the details.
 */

#include "headroom/base.h"
#include "headroom/report.h"
#include "headroom/scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The seed of a replication: the scenario's own for replication 0, else 53 bits drawn from it. */
HR_API uint64_t hr_replication_seed(uint64_t seed, uint32_t replication);

/* A policy that is compared. */
struct hr_contender {
  const char *name;  /* as given by the user */
  const char *label; /* with its parameters; distinct */
  const struct hr_policy_choice *policy;
};

/* Borrowed, and must outlive the comparison. */
struct hr_compare_config {
  const struct hr_scenario *scenario; /* its policy is not used */
  /* with which it was loaded; if prices are random it is loaded again for each seed */
  const char *const *overrides;
  size_t n_overrides;
  const struct hr_trace *trace;
  const struct hr_contender *contenders; /* the first one is the reference of the differences */
  uint32_t n_contenders;
  /* 0: HR_DEFAULT_MIN_REPLICATIONS, or 1 if neither the scenario nor a policy is random. One suffices, and is all that
     is run, if nothing is random. */
  uint32_t n_replications;
  uint32_t n_threads;
  struct hr_progress progress; /* jobs of all runs; called from any thread, one at a time */
};

/* Runs all policies and replications on threads; results do not depend on their number. A failing run ends the
   comparison with an error that names the policy. The caller destroys `*comparison`. */
struct hr_comparison;
HR_API enum hr_status hr_compare(const struct hr_compare_config *config, struct hr_comparison **comparison,
                                 struct hr_error *error);
HR_API void hr_comparison_destroy(struct hr_comparison *comparison);

/* A metric of one policy compared with the first. NAN: unknown. */
struct hr_estimate {
  double value;                 /* mean over replications */
  double difference, low, high; /* to the first policy: mean and confidence interval, of width 0 if nothing is random */
  bool significant;             /* the interval excludes 0; false without an interval */
};

/* `metric`: the name of a CSV column ("wait_mean_s"). NAN in all members for a metric that no run has, and for unknown
   names. */
HR_API struct hr_estimate hr_comparison_estimate(const struct hr_comparison *comparison, uint32_t contender,
                                                 const char *metric);
/* The summary of a policy's replication 0. */
HR_API const struct hr_summary *hr_comparison_summary(const struct hr_comparison *comparison, uint32_t contender);
/* Notes on the runs and on the comparison. */
HR_API const struct hr_notes *hr_comparison_notes(const struct hr_comparison *comparison);

/* Prints the table, 80 columns wide. `perf` (may be NULL): sim_s is the time of all runs together. */
HR_API enum hr_status hr_comparison_print(FILE *out, const struct hr_comparison *comparison, const struct hr_perf *perf,
                                          bool colour);
/* Writes files; `path` "-" is standard output. JSON: docs/reference/schemas/compare.schema.json. CSV: one row per
   policy, group and metric. */
HR_API enum hr_status hr_comparison_write_json(const char *path, const struct hr_comparison *comparison,
                                               const struct hr_perf *perf, struct hr_error *error);
/* The JSON as text, which the caller frees; NULL if memory is exhausted. */
HR_API char *hr_comparison_json(const struct hr_comparison *comparison, const struct hr_perf *perf);
HR_API enum hr_status hr_comparison_write_csv(const char *path, const struct hr_comparison *comparison,
                                              struct hr_error *error);
HR_API enum hr_status hr_comparison_write_markdown(const char *path, const struct hr_comparison *comparison,
                                                   struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
