/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLACEMENT_GANG_GROUPS_H
#define HR_POLICIES_PLACEMENT_GANG_GROUPS_H

/* The groups of topology tiers in per-GPU allocation, with the number of tasks that fit into each group (its room).
   They find the tightest group for a gang with a topology constraint. */

#include "headroom/gpu_inventory.h"

/* The part of a pool that forms one group. */
struct hr__group_place {
  hr_node first;    /* first node of the group */
  uint32_t n_nodes; /* 1 if the group is a set of GPUs of one node */
  uint64_t gpus;    /* bit set of the GPUs of the group on each of its nodes */
};

struct hr__gang_groups;

/* Creates the groups in the arena. `inventory` and `requests` ([n_requests]) must outlive them. NULL: out of memory. */
struct hr__gang_groups *hr__gang_groups_create(struct hr_arena *arena, const struct hr_cluster_spec *cluster,
                                               const struct hr_gpu_inventory *inventory,
                                               const struct hr_request *requests, uint32_t n_requests);
/* Marks a node for the next update. Called when the free capacity of the node has changed, or when the node has become
   usable or unusable. */
void hr__gang_groups_changed(struct hr__gang_groups *groups, hr_node node);
/* Updates the groups of the request and tier: visits each node that has changed since the previous update. False: out
   of memory. */
bool hr__gang_groups_update(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier);
/* Returns the index of the tightest group of the pool in which all tasks of the request fit, and writes its place. Of
   equally tight groups, the one with the lowest index is returned. HR_NONE: no such group. The result is as of the last
   update. */
uint32_t hr__gang_groups_tightest(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier, hr_pool pool,
                                  struct hr__group_place *place);
/* Excludes the group from searches until the next update, which restores its value in the tournament. */
void hr__gang_groups_exclude(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier, hr_pool pool,
                             uint32_t group);

#endif
