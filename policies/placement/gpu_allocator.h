/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLACEMENT_GPU_ALLOCATOR_H
#define HR_POLICIES_PLACEMENT_GPU_ALLOCATOR_H

/*
 * Where jobs go on a cluster that tells GPUs apart: by a packing rule, task by task, all tasks of a job in one pool. It
 * keeps a stock of its own, which follows what happens, so that a gang can be tried before it is placed.
 */

#include "headroom/placement.h"

struct hr__queue;
struct hr__sharer;

/* In the arena; it listens to the queue. NULL: out of memory. */
struct hr__sharer *hr__sharer_create(struct hr__queue *queue, const struct hr_policy_env *env,
                                     const struct hr_packing_rule *rule);
/* Where a job of this request (its number) would go now; the placement is valid until the next question. */
bool hr__sharer_find(struct hr__sharer *sharer, uint32_t request, struct hr_placement *placement);
/* Likewise within one group of a tier, HR_TIER_ISLAND to HR_TIER_ZONE. */
bool hr__sharer_find_within(struct hr__sharer *sharer, uint32_t request, enum hr_tier tier,
                            struct hr_placement *placement);
/* Draws go by how many places were looked for: that those looked for since then were only to know whether there is one.
 */
uint64_t hr__sharer_finds(const struct hr__sharer *sharer);
void hr__sharer_rewind(struct hr__sharer *sharer, uint64_t finds);
/* Whether a job that finds no place would find one if it asked for no CPU or memory of nodes (sharer_bare.c). */
bool hr__sharer_lacks_node(struct hr__queue *queue, hr_job job);
/* Whether memory ran out while it was asked. */
bool hr__sharer_failed(const struct hr__sharer *sharer);

/* ---- Other states than the present one -------------------------------------------------------------- */

/* In the arena; as the cluster is when it is made, before any job runs. NULL: out of memory. */
struct hr__yard;
struct hr__yard *hr__yard_create(const struct hr__sharer *sharer, const struct hr_policy_env *env,
                                 const struct hr_packing_rule *rule);
/* As hr__sharer_find. */
bool hr__yard_find(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                   struct hr_placement *placement);
/* As hr__sharer_find_within. */
bool hr__yard_find_within(struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request, enum hr_tier tier,
                          struct hr_placement *placement);
/* A job of this request has a place there, which must be free; leaves it; or is taken back just after it came. */
void hr__yard_take(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                   const struct hr_placement *placement);
void hr__yard_give(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                   const struct hr_placement *placement);
void hr__yard_undo(const struct hr__sharer *sharer, const struct hr__yard *yard, uint32_t request,
                   const struct hr_placement *placement);
/* A node has come, is to go, or has gone. */
void hr__yard_node_changes(const struct hr__yard *yard, const struct hr_view *view, const struct hr_event *event);

#endif
