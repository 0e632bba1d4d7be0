/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_COMPARE_H
#define HEADROOM_UNSTABLE_COMPARE_H

/*
 * The same trace and the same random events under several policies, and what differs.
 *
 * Replication r of a comparison runs every policy under one seed, hr_replication_seed(seed, r): what is drawn does not
 * depend on what policies do, so all of them meet the same reclaims, boots and prices (common random numbers).
 * Differences are taken within a replication, and their mean has a 95 % interval by Student's t over replications.
 * Replication 0 is the run that `headroom run` makes of the scenario. docs/researcher/compare.md says it at length.
 */

#include "headroom/base.h"
#include "headroom/report.h"
#include "headroom/scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The seed of a replication: the scenario's own for number 0, else 53 bits drawn from it. */
HR_API uint64_t hr_replication_seed(uint64_t seed, uint32_t replication);

/* A policy that takes part. */
struct hr_contender {
  const char *name;  /* as a person calls it */
  const char *label; /* likewise, with the parameters that were given; no two are the same */
  const struct hr_policy_choice *policy;
};

/* All of it is borrowed, and must live as long as the comparison. */
struct hr_compare_config {
  const struct hr_scenario *scenario; /* its policy takes no part */
  const char *const *overrides;       /* that it was loaded with: where prices are drawn it is loaded again by seed */
  size_t n_overrides;
  const struct hr_trace *trace;
  const struct hr_contender *contenders; /* the first is what the others are compared with */
  uint32_t n_contenders;
  uint32_t n_replications; /* 1 is enough, and all that is run, where nothing can be random */
  uint32_t n_threads;
  struct hr_progress progress; /* jobs of all runs; told from any thread, one at a time */
};

/* Whether anything is drawn: by the scenario, or by a policy that places jobs at random. */
HR_API bool hr_compare_is_random(const struct hr_compare_config *config);

/* Runs all, on threads; results do not depend on how many. A run that fails ends the comparison with an error that
   names the policy. */
struct hr_comparison;
HR_API enum hr_status hr_compare(const struct hr_compare_config *config, struct hr_comparison **comparison,
                                 struct hr_error *error);
HR_API void hr_comparison_destroy(struct hr_comparison *comparison);

/* A figure of one policy beside that of the first. NaN stands for what cannot be told. */
struct hr_estimate {
  double value;                 /* mean over replications */
  double difference, low, high; /* to the first: mean, and its interval; what is not random has one of no width */
  bool significant;             /* the interval leaves zero out; false where there is none */
};

/* The names of all figures ("wait_mean_s"), by number from 0; NULL after the last. */
HR_API const char *hr_comparison_metric(uint32_t number);
/* NaN throughout for a figure that no run has, or no such name. */
HR_API struct hr_estimate hr_comparison_estimate(const struct hr_comparison *comparison, uint32_t contender,
                                                 const char *metric);
HR_API uint32_t hr_comparison_replications(const struct hr_comparison *comparison);
/* The whole summary of a policy's replication 0. */
HR_API const struct hr_summary *hr_comparison_summary(const struct hr_comparison *comparison, uint32_t contender);
/* What a person should know of the runs and of the comparison. */
HR_API const struct hr_notes *hr_comparison_notes(const struct hr_comparison *comparison);

/* The table for a person, 80 columns wide. `perf`, which may be NULL: sim_s is the time of all runs together. */
HR_API enum hr_status hr_comparison_print(FILE *out, const struct hr_comparison *comparison, const struct hr_perf *perf,
                                          bool colour);
/* Files; `path` "-" is standard output. JSON: docs/reference/schemas/compare.schema.json. CSV: a row for each policy,
 * group and figure.
 */
HR_API enum hr_status hr_comparison_write_json(const char *path, const struct hr_comparison *comparison,
                                               const struct hr_perf *perf, struct hr_error *error);
/* The same JSON as text, which the caller frees; NULL when out of memory. */
HR_API char *hr_comparison_json(const struct hr_comparison *comparison, const struct hr_perf *perf);
HR_API enum hr_status hr_comparison_write_csv(const char *path, const struct hr_comparison *comparison,
                                              struct hr_error *error);
HR_API enum hr_status hr_comparison_write_markdown(const char *path, const struct hr_comparison *comparison,
                                                   struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
