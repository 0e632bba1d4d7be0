/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_REPLAYED_H
#define HR_TESTS_REPORT_REPLAYED_H

/* A run made by hand: the trace, where and when each job ran, and the events that an engine would have told. */

#include "headroom/policies.h"
#include "headroom/report.h"

enum { MOST_JOBS = 16, NEVER = -1 };

/* Times in seconds. A start of NEVER is a job that waits for ever, unless it is rejected. */
struct replayed_job {
  double submit_s, work_s, start_s;
  uint32_t gpus;
  bool rejected;
};

struct replayed {
  int64_t submit_us[MOST_JOBS], work_us[MOST_JOBS], start_us[MOST_JOBS];
  uint32_t gpus[MOST_JOBS];
  uint8_t state[MOST_JOBS], reason[MOST_JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pool[2];
  struct hr_cluster_spec cluster;
  struct hr_result result;
};

/* Jobs in order of submit, on a cluster of 8 GPUs (2 nodes of 4) called "main"; a second pool, "spare", has 1 node of
   2. `horizon_s` ends the run; NEVER is none. */
void replayed_make(struct replayed *run, const struct replayed_job *jobs, uint32_t n_jobs, double horizon_s);

/* Tells the folds what happened, instant by instant. `placements` (by job) may be NULL: then all is by count. */
void replayed_tell(struct replayed *run, const struct hr_observer *observers, uint32_t n_observers,
                   const struct hr_placement *placements);

/* Both: the usage fold is told, and the summary made. NULL when it cannot be. */
struct hr_summary *replayed_summary(struct replayed *run);

/* A policy without code, to be named in results. */
struct replayed_policy {
  struct hr_policy_ops ops;
  struct hr_param params[5];
  struct hr_param_value values[4];
  struct hr_policy_choice choice;
};
void replayed_policy_init(struct replayed_policy *policy);

#endif
