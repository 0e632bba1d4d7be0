/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_BACKFILL_PARTIAL_PLAN_H
#define HR_POLICIES_QUEUE_BACKFILL_PARTIAL_PLAN_H

/* Partial plans for conservative backfill: of all reservations, only those on which depends which jobs start now. The
   queue must have no subqueues, and the future must be regular (hr__future_is_regular). All memory is allocated in the
   arena of the run. */

#include "policies/queue/backfill/future.h"

struct hr__partial_plan;

/* Creates a plan. `can_keep`: while everything is as planned, a new plan would make the same reservations again. NULL:
   out of memory. */
struct hr__partial_plan *hr__partial_plan_create(struct hr__queue *queue, struct hr__future *future,
                                                 const struct hr_policy_env *env, bool can_keep);
/* Begins a new plan. The caller has begun the plan of the future, and calls hr__partial_plan_start_jobs next. */
void hr__partial_plan_begin(struct hr__partial_plan *plan);
/* Returns whether the plan can be continued: everything was as planned since it was begun. If so, advances it to now.
   If not, or if a pass makes no plan, the plan is discarded. */
bool hr__partial_plan_continues(struct hr__partial_plan *plan, const struct hr_view *view);
/* Starts, in order, all jobs with reservations that begin now. */
enum hr_status hr__partial_plan_start_jobs(struct hr__partial_plan *plan, const struct hr_view *view,
                                           struct hr_moves *moves);

/* Report events: a job begins to wait with this key; a job stops; anything else happens that is not planned. */
void hr__partial_plan_job_waits(struct hr__partial_plan *plan, struct hr_job_entry job);
void hr__partial_plan_job_stops(struct hr__partial_plan *plan, const struct hr_view *view,
                                const struct hr_event *event);
void hr__partial_plan_drop(struct hr__partial_plan *plan);

/* Starts a job of a plan: the reason depends on whether it is the first waiting job. */
static inline enum hr_status hr__start_planned(struct hr__queue *queue, const struct hr_view *view,
                                               struct hr_moves *moves, struct hr__shape *shape, struct hr_job_entry job,
                                               const struct hr_placement *placement) {
  const struct hr__shape *first = hr__waiting_first(&queue->waiting);
  bool in_order = first && first->head.job.id == job.job.id;
  return hr__queue_start(queue, view, moves, shape, job, placement, in_order ? HR_REASON_IN_ORDER : HR_REASON_BACKFILL);
}

#endif
