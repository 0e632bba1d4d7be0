/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLACEMENT_GANG_GROUPS_H
#define HR_POLICIES_PLACEMENT_GANG_GROUPS_H

/* Where GPUs are told apart: the groups of a tier by how many tasks of a request they have room for, in one state of
   the cluster. */

#include "headroom/policy.h"

struct hr__gang_groups;

/* What of a pool is one group. */
struct hr__group_place {
  hr_node first;    /* of its nodes */
  uint32_t n_nodes; /* 1 where it is GPUs of one node */
  uint64_t gpus;    /* those of each node */
};

/* In the arena; `stock` and `requests` ([n_requests]) are borrowed. NULL: out of memory. */
struct hr__gang_groups *hr__groups_create(struct hr_arena *arena, const struct hr_cluster_spec *cluster,
                                          const struct hr_gpu_inventory *inventory, const struct hr_request *requests,
                                          uint32_t n_requests);
/* To be told when a node has more or less free, or is closed or not. */
void hr__groups_changed(struct hr__gang_groups *groups, hr_node node);
/* Looks at each node that has changed since the last look for this request and tier; false: out of memory. */
bool hr__groups_update(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier);
/* As of the last look: of the groups in a pool that have room for all tasks of the request, the one with the least
   room, the lowest number among equals, HR_NONE if there is none. */
uint32_t hr__groups_tightest(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier, hr_pool pool,
                             struct hr__group_place *place);
/* The group has no room until the next look. */
void hr__groups_exclude(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier, hr_pool pool,
                        uint32_t group);

#endif
