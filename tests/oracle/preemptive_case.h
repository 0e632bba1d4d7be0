/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_PREEMPTIVE_CASE_H
#define HR_TESTS_ORACLE_PREEMPTIVE_CASE_H

/* Workloads under the preemptive orders, for the product and for naive schedulers. Errors that cannot occur in a sound
   test end the program. */

#include "naive_preemptive.h"
#include "replay.h"

struct preemptive_rules {
  enum naive_preemptive_order order;
  bool preempts;
  bool defaults; /* the product is told no thresholds: they are its own */
  int64_t thresholds_us[NAIVE_THRESHOLDS];
};
/* As the orders are documented. */
#define PREEMPTIVE_DEFAULTS                                                                                            \
  { 3250 * HR_SECOND_US, 7200 * HR_SECOND_US }

/* What a random case's times are made of. */
enum preemptive_grain {
  PREEMPTIVE_TICKS,   /* a few microseconds: ties everywhere */
  PREEMPTIVE_SECONDS, /* a few seconds: thresholds are crossed between them */
  PREEMPTIVE_FINE,    /* any microsecond of some seconds */
  PREEMPTIVE_LONG,    /* some hundreds of seconds: the default thresholds are crossed */
  PREEMPTIVE_GRAINS
};
enum { PREEMPTIVE_MAX_JOBS = 40 };
/* A case of its own for each number; `workload->jobs` has room for PREEMPTIVE_MAX_JOBS, `rules` gets thresholds. */
void preemptive_random(uint32_t number, enum preemptive_grain grain, struct replay_case *workload,
                       struct preemptive_rules *rules);

/* Whether the naive preemptive scheduler implements this order of the queue policy. */
bool preemptive_has_order(const char *order);

struct preemptive_outcome {
  struct naive_fate *accounting; /* by job; times from the first submit */
  uint32_t n_jobs;
  bool failed; /* the product ended with `error` */
  struct hr_error error;
};
void preemptive_outcome_finish(struct preemptive_outcome *outcome);

struct preemptive_outcome preemptive_product(const struct replay_case *workload, const struct preemptive_rules *rules,
                                             bool check);
struct preemptive_outcome preemptive_naive(const struct replay_case *workload, const struct preemptive_rules *rules);

/* The first job whose fate differs, HR_NONE when there is none. */
uint32_t preemptive_first_difference(const struct preemptive_outcome *a, const struct preemptive_outcome *b);

/* Prints a trace in Headroom's CSV, the command that replays it, and both outcomes. */
void preemptive_print(const struct replay_case *workload, const struct preemptive_rules *rules,
                      const struct preemptive_outcome *naive, const struct preemptive_outcome *other);

#endif
