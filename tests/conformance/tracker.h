/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_CONFORMANCE_TRACKER_H
#define HR_TESTS_CONFORMANCE_TRACKER_H

/* An observer that verifies a run from its events: states of jobs, capacities of nodes and pools, and gangs. It
   computes these without the engine's own bookkeeping. */

#include "headroom/sim.h"

struct tracker {
  const struct hr_cluster_spec *cluster;
  const struct hr_trace *trace;
  uint8_t *state;      /* by job: enum hr_job_state, derived from the events */
  uint32_t *node_used; /* by node: allocated thousandths of a GPU */
  uint64_t *pool_used; /* by pool: allocated thousandths of a GPU */
  uint32_t n_nodes;
  uint64_t n_submitted, n_ended;
  char fault[200]; /* text of the first violation; empty: none */
};

/* Returns false if out of memory. Call tracker_finish in any case. */
bool tracker_init(struct tracker *tracker, const struct hr_trace *trace, const struct hr_cluster_spec *cluster);
void tracker_finish(struct tracker *tracker);
/* Returns the observer to be passed to the run. */
struct hr_observer tracker_observer(struct tracker *tracker);
/* To be called after the run. Verifies that every job has ended or was rejected, and that the states agree with the
   result. A job that fits may only be rejected by the policy, by a quota, or by a preemption that kills jobs. */
void tracker_check_end(struct tracker *tracker, const struct hr_result *result);

#endif
