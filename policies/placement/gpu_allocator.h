/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLACEMENT_GPU_ALLOCATOR_H
#define HR_POLICIES_PLACEMENT_GPU_ALLOCATOR_H

/*
 * Where jobs go on a cluster that tells GPUs apart: by a packing rule, task by task, all tasks of a job in one pool. It
 * keeps a stock of its own, which follows what happens, so that a gang can be tried before it is placed.
 */

#include "headroom/placement.h"

struct hr__queue;
struct hr__gpu_allocator;

/* In the arena; it listens to the queue. NULL: out of memory. */
struct hr__gpu_allocator *hr__gpu_allocator_create(struct hr__queue *queue, const struct hr_policy_env *env,
                                                   const struct hr_packing_rule *rule);
/* Where a job of this request (its number) would go now; the placement is valid until the next question. */
bool hr__gpu_allocator_find(struct hr__gpu_allocator *allocator, uint32_t request, struct hr_placement *placement);
/* Likewise within one group of a tier, HR_TIER_ISLAND to HR_TIER_ZONE. */
bool hr__gpu_allocator_find_within(struct hr__gpu_allocator *allocator, uint32_t request, enum hr_tier tier,
                                   struct hr_placement *placement);
/* Draws go by how many places were looked for: that those looked for since then were only to know whether there is one.
 */
uint64_t hr__gpu_allocator_finds(const struct hr__gpu_allocator *allocator);
void hr__gpu_allocator_rewind(struct hr__gpu_allocator *allocator, uint64_t finds);
/* Whether a job that finds no place would find one if it asked for no CPU or memory of nodes (sharer_bare.c). */
bool hr__gpu_allocator_lacks_node_resources(struct hr__queue *queue, hr_job job);
/* Whether memory ran out while it was asked. */
bool hr__gpu_allocator_failed(const struct hr__gpu_allocator *allocator);

/* ---- Other states than the present one -------------------------------------------------------------- */

/* In the arena; as the cluster is when it is made, before any job runs. NULL: out of memory. */
struct hr__cluster_snapshot;
struct hr__cluster_snapshot *hr__cluster_snapshot_create(const struct hr__gpu_allocator *allocator,
                                                         const struct hr_policy_env *env,
                                                         const struct hr_packing_rule *rule);
/* As hr__gpu_allocator_find. */
bool hr__cluster_snapshot_find(const struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                               uint32_t request, struct hr_placement *placement);
/* As hr__gpu_allocator_find_within. */
bool hr__cluster_snapshot_find_within(struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                                      uint32_t request, enum hr_tier tier, struct hr_placement *placement);
/* A job of this request has a place there, which must be free; leaves it; or is taken back just after it came. */
void hr__cluster_snapshot_take(const struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                               uint32_t request, const struct hr_placement *placement);
void hr__cluster_snapshot_give(const struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                               uint32_t request, const struct hr_placement *placement);
void hr__cluster_snapshot_undo(const struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                               uint32_t request, const struct hr_placement *placement);
/* A node has come, is to go, or has gone. */
void hr__cluster_snapshot_node_changes(const struct hr__cluster_snapshot *snapshot, const struct hr_view *view,
                                       const struct hr_event *event);

#endif
