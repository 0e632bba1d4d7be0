/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLACEMENT_WINDOW_PLAN_H
#define HR_POLICIES_PLACEMENT_WINDOW_PLAN_H

/*
 * Reservations on the capacities of a set (headroom/unstable/capacity.h), counted or per GPU, with topology
 * constraints.
 *
 * Occupants of the cluster are the running jobs, from now to their expected ends, and the reservations of the current
 * plan. A job may be placed at a time t if the rule of the set finds a placement on the window state of [t, t +
 * length), in which each node has what is free during all of the window. docs/reference/rules.md ("Conservative")
 * defines this state.
 *
 * All memory is allocated in the arena of the set. Functions that return bool return false if no memory is available.
 */

#include "headroom/unstable/capacity.h"

struct hr__window_plan;

/* A request for capacity during a window of `length_us`, at least 1 us. Equal needs have the same `shape`; shapes are
   numbered from 0. */
struct hr__window_demand {
  struct hr_need need;
  int64_t length_us;
  uint32_t shape;
};

/* Creates a plan for the capacities of a set. NULL: no memory is available. */
struct hr__window_plan *hr__window_plan_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                               struct hr_capacity_set *set);

/* Report a job that starts and is expected to end at `end_us`, and a job that leaves its placement. A job that is
   reported as started between hr__window_plan_begin and hr__window_plan_end must have a reservation. */
bool hr__window_plan_add_job(struct hr__window_plan *plan, hr_job job, const struct hr_need *need,
                             const struct hr_placement *placement, int64_t end_us);
void hr__window_plan_remove_job(struct hr__window_plan *plan, hr_job job, const struct hr_placement *placement);

/* Begins a new plan at `now_us`, without reservations. */
void hr__window_plan_begin(struct hr__window_plan *plan, int64_t now_us);
/* Ends the plan: jobs that start from now on have no reservations. */
void hr__window_plan_end(struct hr__window_plan *plan);
/* Returns the earliest time, not before `from_us`, at which the demand can be placed, and its placement, which is valid
   until the next call. If the time is now, the placement can be taken in the present state. HR_NEVER_US: no such time,
   or no memory is available. */
int64_t hr__window_plan_earliest(struct hr__window_plan *plan, const struct hr__window_demand *demand, int64_t from_us,
                                 struct hr_placement *placement);
/* Adds a reservation for a demand from `start_us` on. */
bool hr__window_plan_reserve(struct hr__window_plan *plan, const struct hr__window_demand *demand, int64_t start_us,
                             const struct hr_placement *placement);
/* Returns an upper bound for the length of a window from now on in which the need can be met; 0: not even now. */
int64_t hr__window_plan_longest(struct hr__window_plan *plan, const struct hr_need *need);
/* Whether memory was exhausted during a search. */
bool hr__window_plan_failed(const struct hr__window_plan *plan);

#endif
