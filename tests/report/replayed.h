/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_REPLAYED_H
#define HR_TESTS_REPORT_REPLAYED_H

/* A run made by hand: the trace, when and where each job ran, and the events that the engine would emit. */

#include "headroom/policies.h"
#include "headroom/report.h"

enum { MOST_JOBS = 16, NEVER = -1 };

/* Times in seconds. A job with start NEVER waits forever, unless it is rejected. */
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

/* Jobs sorted by submit, on a cluster of 8 GPUs (2 nodes of 4) called "main"; a second pool, "spare", has 1 node of 2.
   `horizon_s` ends the run; NEVER: none. */
void replayed_make(struct replayed *run, const struct replayed_job *jobs, uint32_t n_jobs, double horizon_s);

/* Notifies the observers, instant by instant. `placements` (by job) may be NULL: counted allocation. */
void replayed_tell(struct replayed *run, const struct hr_observer *observers, uint32_t n_observers,
                   const struct hr_placement *placements);

/* Notifies the usage observer and computes the summary. Returns NULL on failure. */
struct hr_summary *replayed_summary(struct replayed *run);

/* A policy without code, for results that need a name. */
struct replayed_policy {
  struct hr_policy_ops ops;
  struct hr_param params[5];
  struct hr_param_value values[4];
  struct hr_policy_choice choice;
};
void replayed_policy_init(struct replayed_policy *policy);

#endif
