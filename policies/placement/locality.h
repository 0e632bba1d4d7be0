/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLACEMENT_LOCALITY_H
#define HR_POLICIES_PLACEMENT_LOCALITY_H

/* Topology constraints of jobs in the queue policy: kinds of jobs, placements within one group of a tier, earliest
   start times, and required constraints that expire. An expired constraint is treated as a preference: if the job does
   not fit within one group of the tier, it is placed anywhere. */

#include "headroom/unstable/capacity.h"
#include "policies/queue/waiting.h"

struct hr__queue;
struct hr__locality_state;

/* Creates the state in the arena, and adds it to the listeners of the queue. NULL: out of memory. */
struct hr__locality_state *hr__locality_create(struct hr__queue *queue, const struct hr_policy_env *env);
/* Returns the kind of a waiting job. `base`: its acceptance class or, with per-GPU allocation, the index of its
   request. */
uint32_t hr__locality_kind(const struct hr__queue *queue, hr_job job, uint32_t base);
/* Returns what a job with this number of GPUs and this kind needs. */
struct hr_need hr__locality_need(const struct hr__queue *queue, uint32_t gpus, uint32_t kind);

/* Returns the earliest time at which the first job of a shape can start, if it does not fit now. The time is computed
   from the expected ends of running jobs (hr_release_calendar_earliest, or the GPU release calendar) and from the
   expiry of the job's constraint. Jobs without a constraint are supported, too. */
int64_t hr__locality_earliest(struct hr__queue *queue, const struct hr_view *view, const struct hr__shape *head);
/* Returns whether `head`, the shape of the last call of hr__locality_earliest, could still start at the returned time
   `at_us` if a job of `shape` ran at `placement` beyond that time. */
bool hr__locality_allows(struct hr__queue *queue, const struct hr__shape *shape, struct hr_placement *placement,
                         const struct hr__shape *head, int64_t at_us, int64_t now_us);

/* Called before a pass. Finds a waiting job with an expired constraint, writes it to `*job`, and returns the flag that
   the caller must set for it; NULL: no such job. The flag changes the kind of the job, so the caller must set it with
   hr__queue_change_kind. */
uint8_t *hr__locality_next_expired(struct hr__queue *queue, const struct hr_view *view, hr_job *job);
/* Called after a pass: requests a wake-up for the next expiry of a constraint. */
enum hr_status hr__locality_end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

/* The GPU release calendar: earliest start times with per-GPU allocation, computed by removing running jobs in order of
   their expected ends. */

struct hr__gpu_release_calendar;

/* Creates the release calendar, and adds it to the listeners of the queue: queue->gpu_calendar with per-GPU allocation,
   queue->calendar for allocation by node. False: out of memory. */
bool hr__locality_create_calendar(struct hr__queue *queue, const struct hr_policy_env *env);

#endif
