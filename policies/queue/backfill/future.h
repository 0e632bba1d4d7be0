/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_BACKFILL_FUTURE_H
#define HR_POLICIES_QUEUE_BACKFILL_FUTURE_H

/* Future capacity for conservative backfill: the earliest windows in which jobs can run, and reservations. There are
   two implementations: capacity profiles (capacity_profile.h) for counted allocation without topology constraints, and
   window plans (policies/placement/window_plan.h) for all other cases. */

#include "policies/queue/backfill/capacity_profile.h"
#include "policies/queue/dispatch.h"

struct hr__window_plan;
struct hr__start_bounds;

struct hr__future {
  struct hr__queue *queue;
  struct hr__cluster_profile profile; /* not used if `windows` is set */
  struct hr__window_plan *windows;
  int64_t now_us;
  /* lower bounds for the starts of jobs in the current plan, by number of the shape */
  struct hr__start_bounds **bounds;
  /* n_plans: number of plans so far; n_classes: number of classes up to that of the longest limit in the trace */
  uint32_t n_plans, n_classes, bounds_capacity;
};

/* A request of a job of one shape during a window of `length_us`, at least 1 us. The job needs a node. */
struct hr__future_demand {
  const struct hr__shape *shape;
  struct hr_need need;
  int64_t length_us;
};

/* Creates the future for the queue, and adds the listeners that report running jobs. */
enum hr_status hr__future_init(struct hr__future *future, struct hr__queue *queue, const struct hr_policy_env *env);
/* Begins a plan without reservations. Jobs that start until hr__future_end have reservations. */
enum hr_status hr__future_begin(struct hr__future *future, int64_t now_us);
void hr__future_end(struct hr__future *future);
/* Continues the plan at a later time `now_us`, at which everything is as planned. Not with window plans. */
void hr__future_advance(struct hr__future *future, int64_t now_us);
/* Writes the earliest time, from now on, at which the demand can be placed, and its placement, which is valid until the
   next call. HR_NEVER_US: no such time. */
enum hr_status hr__future_earliest(struct hr__future *future, const struct hr__future_demand *demand, int64_t *start_us,
                                   struct hr_placement *placement);
/* Returns a length such that no job of the shape that is at least that long can start before `until_us`, as far as
   previous calls of hr__future_earliest have shown; INT64_MAX: none is known. `*bound_us`: before that time no such job
   can start; it is at least `until_us`, and HR_NEVER_US if no such length is known. */
int64_t hr__future_too_long(const struct hr__future *future, const struct hr__shape *shape, int64_t until_us,
                            int64_t *bound_us);
/* Returns how many equal demands, up to `maximum`, have the same earliest time and the same placement as the demand
   that was just placed. That demand is counted, too. If the number is not known without a search, the result is 1. */
uint32_t hr__future_count_equal(const struct hr__future *future, const struct hr__future_demand *demand,
                                const struct hr_placement *placement, uint32_t maximum);
/* Adds reservations for `n` equal demands at a placement. False: out of memory. */
bool hr__future_reserve(struct hr__future *future, const struct hr__future_demand *demand, uint32_t n, int64_t start_us,
                        const struct hr_placement *placement);
/* Returns an upper bound for the length of a window from now on in which the need can be met. */
int64_t hr__future_longest(struct hr__future *future, const struct hr_need *need);
/* Whether the earliest start of each job, and its placement at a given start, depend only on the capacity that is free
   during its window, so that further reservations cannot make the start earlier. */
bool hr__future_is_regular(const struct hr__future *future, const struct hr_policy_env *env);

#endif
