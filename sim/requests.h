/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_REQUESTS_H
#define HR_SIM_REQUESTS_H

/* What jobs ask for, each distinct request once. */

#include "headroom/policy.h"
#include "headroom/stock.h"
#include "sim/arena.h"

struct hr__requests {
  struct hr_request *of; /* [count], in order of first appearance in the trace */
  uint32_t count;
  uint32_t *number; /* [n_jobs] */
};

/* In the arena. `cluster` knows the accept classes of jobs already. HR_NO_MEMORY is the only failure. */
enum hr_status hr__requests_init(struct hr__requests *requests, struct hr_arena *arena,
                                 const struct hr_cluster *cluster, const struct hr_trace *trace);

#endif
