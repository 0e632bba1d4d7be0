/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_AUTOSCALER_H
#define HR_POLICIES_KAI_AUTOSCALER_H

/* Requests and releases nodes of elastic pools. */

#include "policies/kai/world.h"

struct hr__kai_autoscaler {
  struct hr__kai_world *world;
  int64_t idle_release_us;
  int64_t *idle_us; /* [n_nodes] the time since which a node has no pods; HR_NEVER_US: it has some, or is not up */
  /* Scratch memory of a pass. */
  uint32_t *pools; /* [n_virtual] the pools of nodes that will come up */
  int64_t *left;   /* [n_virtual * n_dims] the rest on them */
  uint32_t n_virtual;
  bool *idle_used;              /* [n_pools] a gang uses the idle nodes */
  struct hr__kai_amounts *held; /* [n_queues] requests of jobs for which there will be capacity */
};

/* Whether any pool is elastic. */
bool hr__kai_has_elastic(const struct hr__kai_world *world);
/* False: out of memory. */
bool hr__kai_autoscaler_create(struct hr__kai_autoscaler *scaler, struct hr__kai_world *world, int64_t idle_release_us);
/* Requests nodes for the jobs that wait after a cycle. `some_up`: some nodes are up at once. */
enum hr_status hr__kai_request_nodes(struct hr__kai_autoscaler *scaler, const struct hr_view *view,
                                     struct hr_moves *moves, bool *some_up);
/* Releases nodes that have been empty for long enough. `next_us`: when the next one is due; HR_NEVER_US: unknown. */
enum hr_status hr__kai_release_nodes(struct hr__kai_autoscaler *scaler, const struct hr_view *view,
                                     struct hr_moves *moves, int64_t *next_us);

#endif
