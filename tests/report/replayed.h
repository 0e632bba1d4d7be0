/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_REPLAYED_H
#define HR_TESTS_REPORT_REPLAYED_H

/* A run with given starts: the trace, the result, and the events that the engine would emit. */

#include "headroom/policies.h"
#include "headroom/report.h"

enum { MAX_JOBS = 16, NEVER = -1 };

/* Times are in seconds. A job with start NEVER never starts; it waits unless it is rejected. */
struct replayed_job {
  double submit_s, work_s, start_s;
  uint32_t gpus;
  bool rejected;
};

struct replayed {
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS], start_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS];
  uint8_t state[MAX_JOBS], reason[MAX_JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pool[2];
  struct hr_cluster_spec cluster;
  struct hr_result result;
};

/* Initializes a run. Jobs must be sorted by submit. The cluster consists of the pool "main" with 2 nodes of 4 GPUs; the
   member `pool` also contains a pool "spare" with 1 node of 2 GPUs. `horizon_s` is the end of the run; NEVER: the last
   end of a job. */
void replayed_make(struct replayed *run, const struct replayed_job *jobs, uint32_t n_jobs, double horizon_s);

/* Notifies the observers of all events and passes. placements[job] is the placement of a job; `placements` may be NULL
   for counted allocation. */
void replayed_notify(struct replayed *run, const struct hr_observer *observers, uint32_t n_observers,
                     const struct hr_placement *placements);

/* Notifies the usage observer and returns the summary; NULL on failure. */
struct hr_summary *replayed_summary(struct replayed *run);

/* A policy without functions, for reports that contain the name of the policy. */
struct replayed_policy {
  struct hr_policy_ops ops;
  struct hr_param params[5];
  struct hr_param_value values[4];
  struct hr_policy_choice choice;
};
void replayed_policy_init(struct replayed_policy *policy);

#endif
