/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLACEMENT_LOCALITY_H
#define HR_POLICIES_PLACEMENT_LOCALITY_H

/* Topology constraints of jobs in the queue policy: kinds of jobs, placements within one group of a tier, earliest
   start times, and required constraints that expire. After the expiry, the constraint is only preferred: the job goes
   anywhere if it does not fit within its tier. */

#include "policies/placement/gpu_allocator.h"
#include "policies/queue/waiting.h"

struct hr__queue;
struct hr__locality_state;

/* Creates the state in the arena; it listens to the queue. NULL: out of memory. */
struct hr__locality_state *hr__locality_create(struct hr__queue *queue, const struct hr_policy_env *env);
/* Returns the kind of a waiting job. `base`: the class of pools that it accepts, or the number of its request. */
uint32_t hr__locality_kind(const struct hr__queue *queue, hr_job job, uint32_t base);
/* As hr__fits, for a kind with a topology constraint. */
bool hr__locality_fits(const struct hr__queue *queue, uint32_t gpus, uint32_t kind, struct hr_placement *placement);

/* Returns whether a job that does not fit would fit without its topology constraint. */
bool hr__locality_excludes(const struct hr__queue *queue, uint32_t gpus, uint32_t kind);

/* Returns when the first job of a shape that does not fit now could start, by the expected ends of running jobs
   (hr_release_calendar_earliest, or the GPU release calendar); the expiry of its constraint is considered. Works for
   any job, with a constraint or without. */
int64_t hr__locality_earliest(struct hr__queue *queue, const struct hr_view *view, const struct hr__shape *head);
/* Returns whether it could still start at that time if a job of a shape ran beyond it at a placement. */
bool hr__locality_allows(struct hr__queue *queue, const struct hr__shape *shape, struct hr_placement *placement,
                         const struct hr__shape *head, int64_t at_us, int64_t now_us);

/* Before a pass: returns the flag to be set for a waiting job with a constraint that has expired, and the job; NULL if
   there is none. The job's kind depends on the flag: see hr__queue_change_kind. */
uint8_t *hr__locality_next_expired(struct hr__queue *queue, const struct hr_view *view, hr_job *job);
/* After a pass: requests a wake-up for the next expiry. */
enum hr_status hr__locality_end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

/* The GPU release calendar: earliest start times with per-GPU allocation, by the expected ends of running jobs in
   order. */

struct hr__gpu_release_calendar;

/* Creates the calendar of the queue, which listens to it and is used by the functions above: queue->gpu_calendar with
   per-GPU allocation by `rule`, after the allocator; queue->calendar, by nodes, if `rule` is NULL. False: out of
   memory. */
bool hr__locality_create_calendar(struct hr__queue *queue, const struct hr_policy_env *env,
                                  const struct hr_packing_rule *rule);

#endif
