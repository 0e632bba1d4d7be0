/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLACEMENT_GANG_GROUPS_H
#define HR_POLICIES_PLACEMENT_GANG_GROUPS_H

/* For per-GPU allocation: the groups of a tier by the number of tasks of a request for which they have room, in one
   state of the cluster. */

#include "headroom/policy.h"

struct hr__gang_groups;

/* The part of a pool that is one group. */
struct hr__group_place {
  hr_node first;    /* its first node */
  uint32_t n_nodes; /* 1 if it is GPUs of one node */
  uint64_t gpus;    /* of each node */
};

/* Creates the groups in the arena; `inventory` and `requests` ([n_requests]) are borrowed. NULL: out of memory. */
struct hr__gang_groups *hr__groups_create(struct hr_arena *arena, const struct hr_cluster_spec *cluster,
                                          const struct hr_gpu_inventory *inventory, const struct hr_request *requests,
                                          uint32_t n_requests);
/* A node's free capacity has changed, or whether it is closed. */
void hr__groups_changed(struct hr__gang_groups *groups, hr_node node);
/* Updates the groups for a request and tier: visits each node that has changed since the last update. False: out of
   memory. */
bool hr__groups_update(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier);
/* As of the last update: returns the group in a pool with the least room among those with room for all tasks of the
   request, the lowest number among equals, and its place; HR_NONE: none. */
uint32_t hr__groups_tightest(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier, hr_pool pool,
                             struct hr__group_place *place);
/* The group has no room until the next update. */
void hr__groups_exclude(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier, hr_pool pool,
                        uint32_t group);

#endif
