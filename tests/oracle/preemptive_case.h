/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_PREEMPTIVE_CASE_H
#define HR_TESTS_ORACLE_PREEMPTIVE_CASE_H

/* Random workloads for the preemptive orders, run by Headroom or by the naive scheduler of naive_preemptive.h. Outcomes
   have the same form. The functions abort on errors of the test itself, such as a lack of memory. */

#include "naive_preemptive.h"
#include "replay.h"

struct preemptive_rules {
  enum naive_preemptive_order order;
  bool preempts;
  bool defaults; /* las: Headroom uses its default thresholds; thresholds_us must have the same values */
  int64_t thresholds_us[NAIVE_THRESHOLDS];
};
/* The documented default thresholds of las, in GPU-microseconds. */
#define PREEMPTIVE_DEFAULTS                                                                                            \
  { 3250 * HR_SECOND_US, 7200 * HR_SECOND_US }

/* The magnitude of the times of a random case. */
enum preemptive_grain {
  PREEMPTIVE_TICKS, /* a few microseconds: many ties */
  /* a few seconds, in whole seconds; the service of gangs can reach thresholds between whole seconds */
  PREEMPTIVE_SECONDS,
  PREEMPTIVE_FINE, /* a few seconds, in whole microseconds */
  PREEMPTIVE_LONG, /* multiples of 150 seconds: jobs reach the default thresholds */
  PREEMPTIVE_GRAINS
};
enum { PREEMPTIVE_MAX_JOBS = 40 };
/* Creates the random case with a number and a grain. `workload->jobs` must have room for PREEMPTIVE_MAX_JOBS jobs. Sets
   the thresholds of `rules`. */
void preemptive_random(uint32_t number, enum preemptive_grain grain, struct replay_case *workload,
                       struct preemptive_rules *rules);

/* Returns whether the naive preemptive scheduler implements a value of the queue policy's parameter `order`. */
bool preemptive_has_order(const char *order);

struct preemptive_outcome {
  struct naive_outcome *job; /* by job; times in microseconds since the first submit */
  uint32_t n_jobs;
  bool failed; /* Headroom's run failed with `error` */
  struct hr_error error;
};
void preemptive_outcome_finish(struct preemptive_outcome *outcome);

/* Run a workload by Headroom and by the naive scheduler. `check`: enables Headroom's checked mode. Free the outcome
   with preemptive_outcome_finish. */
struct preemptive_outcome preemptive_headroom(const struct replay_case *workload, const struct preemptive_rules *rules,
                                              bool check);
struct preemptive_outcome preemptive_naive(const struct replay_case *workload, const struct preemptive_rules *rules);

/* Returns the first job whose outcomes differ; HR_NONE: none. If a run failed, returns job 0. */
uint32_t preemptive_first_difference(const struct preemptive_outcome *a, const struct preemptive_outcome *b);

/* Prints the command that runs the case, the case as a trace in Headroom's CSV format, and both outcomes. */
void preemptive_print(const struct replay_case *workload, const struct preemptive_rules *rules,
                      const struct preemptive_outcome *naive, const struct preemptive_outcome *other);

#endif
