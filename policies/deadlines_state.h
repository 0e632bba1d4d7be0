/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_DEADLINES_STATE_H
#define HR_POLICIES_DEADLINES_STATE_H

/* What the files of the rules by deadlines share. */

#include "policies/deadlines.h"
#include "policies/dispatch.h"
#include "policies/omniscient.h"

/* A job that is not done. On an owned or reserved pool it has no nodes of its own. */
struct hr__dated {
  hr_job job;
  int64_t from_us, deadline_us; /* HR_NEVER_US: none */
  uint32_t pool;                /* that it holds nodes of, HR_NONE */
  uint32_t n_nodes;
  hr_node *nodes;         /* room for the most that it may hold */
  struct hr_slice *seats; /* likewise */
  bool committed;         /* on-demand to the end */
  bool can_hurry;         /* there is an on-demand pool that could hold it */
  struct hr__itinerary itinerary;
  uint32_t next_step;
};

struct hr__deadlines {
  enum hr__market_rule rule;
  int64_t changeover_us;
  struct hr__dated *jobs; /* in order of their ids */
  uint32_t count, capacity;
  bool *owned; /* by node */
  struct hr_error *error;
  int64_t wake_us;
};

/* The cheapest pool of the market that offers the job its nodes now, HR_NONE. */
uint32_t hr__deadlines_offer(const struct hr__queue *queue, const struct hr__dated *dated, enum hr_market market,
                             int64_t now_us);

#endif
