/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_CONFORMANCE_TRACKER_H
#define HR_TESTS_CONFORMANCE_TRACKER_H

/* Follows a run by its events alone: who sits where, and what each job has been through. */

#include "headroom/sim.h"

struct tracker {
  const struct hr_cluster_spec *cluster;
  const struct hr_trace *trace;
  uint8_t *state;      /* by job, as the events have it: enum hr_job_state */
  uint32_t *node_used; /* by node: milli-GPUs */
  uint64_t *pool_used; /* by pool: milli-GPUs */
  uint32_t n_nodes;
  uint64_t n_submitted, n_ended;
  char fault[200]; /* the first rule that was broken; empty: none */
};

bool tracker_init(struct tracker *tracker, const struct hr_trace *trace, const struct hr_cluster_spec *cluster);
void tracker_finish(struct tracker *tracker);
struct hr_observer tracker_observer(struct tracker *tracker);
/* After the run: every job that was submitted has ended or was rejected for a reason that holds. */
void tracker_check_end(struct tracker *tracker, const struct hr_result *result);

#endif
