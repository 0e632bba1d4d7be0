/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLACEMENT_LOCALITY_H
#define HR_POLICIES_PLACEMENT_LOCALITY_H

/*
 * Jobs that are to be within one group of a tier, as the queue has them: which of them are alike, where they go, when
 * one could start, and whose wait is over. A job whose wait is over goes anywhere if it finds no place within its tier.
 */

#include "policies/placement/gpu_allocator.h"
#include "policies/queue/waiting.h"

struct hr__queue;
struct hr__locality_state;

/* In the arena; it listens to the queue. NULL: out of memory. */
struct hr__locality_state *hr__locality_create(struct hr__queue *queue, const struct hr_policy_env *env);
/* The kind of a waiting job, `base` being what tells it apart otherwise: the pools that it accepts, or its request. */
uint32_t hr__locality_kind(const struct hr__queue *queue, hr_job job, uint32_t base);
/* hr__fits of such a kind. */
bool hr__locality_fits(const struct hr__queue *queue, uint32_t gpus, uint32_t kind, struct hr_placement *placement);

/* Whether such a job fits, but for having to be within its tier. */
bool hr__locality_excludes(const struct hr__queue *queue, uint32_t gpus, uint32_t kind);

/* When the first job of a shape that does not fit now could start, by what is known of the ends of what runs
   (hr_release_calendar_earliest, hr__gpu_release_calendar_earliest); that its wait is over before counts. Of any jobs,
   within groups or not.
 */
int64_t hr__locality_earliest(struct hr__queue *queue, const struct hr_view *view, const struct hr__shape *head);
/* Whether it still could at that time if a job of a shape ran on beyond it at a placement. */
bool hr__locality_allows(struct hr__queue *queue, const struct hr__shape *shape, struct hr_placement *placement,
                         const struct hr__shape *head, int64_t at_us, int64_t now_us);

/* Before a pass: jobs whose wait is over are of another kind from now on. */
enum hr_status hr__locality_begin_pass(struct hr__queue *queue, const struct hr_view *view);
/* After it: asks to be woken when the next wait is over. */
enum hr_status hr__locality_end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

/*
 * When a job will find its places, where GPUs are told apart: by the ends that are expected of what runs, in the order
 * in which they come.
 */

struct hr__gpu_release_calendar;

/* In the arena; it listens to the queue, after its sharer. NULL: out of memory. */
struct hr__gpu_release_calendar *hr__gpu_release_calendar_create(struct hr__queue *queue,
                                                                 const struct hr_policy_env *env,
                                                                 const struct hr_packing_rule *rule);

/* When running jobs are expected to end: keeps queue->releases, for backfills that look ahead. */

/* Makes queue->releases, and listens. False: out of memory. */
bool hr__release_calendar_create(struct hr__queue *queue);

#endif
