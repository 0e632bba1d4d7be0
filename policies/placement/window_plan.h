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

/* ---- Node timelines: node_timeline.c ----------------------------------------------------------- */

/* What begins at a step. */
enum { HR__STEP_END = 1, HR__STEP_BEGIN = 2 };

/* Of some columns of a step: the minimum, and how many are 0. Searches read this before they read the columns. */
struct hr__step_summary {
  uint32_t min, n_zero;
};

/* Step i lasts from at_us[i] to at_us[i + 1]; the last step has no end. */
struct hr__node_timeline {
  int64_t *at_us;
  uint64_t *use; /* [count][columns] */
  uint8_t *what; /* [count]: a set: some occupant ends, or some occupant begins, at the begin of the step */
  struct hr__step_summary *summary; /* [count]: of the columns first_summed .. first_summed + n_summed - 1 */
  uint32_t count, capacity, columns, first_summed, n_summed;
  /* number of changes since the timeline was created; a window with the same steps has the same occupants unless this
     number changes */
  uint32_t version;
};

/* Replaces all steps: one begins at `now_us`, and one at each distinct time of `ends_us` ([n], ascending, after
   `now_us`), where occupants end. The uses are undefined. */
bool hr__node_timeline_set_steps(struct hr__node_timeline *timeline, struct hr_arena *arena, int64_t now_us,
                                 const int64_t *ends_us, uint32_t n);
/* Updates the summaries of the steps first .. end - 1, after the caller has written their uses. */
void hr__node_timeline_summarize(struct hr__node_timeline *timeline, uint32_t first, uint32_t end);
/* Returns the array of what is used during a step. */
static inline uint64_t *hr__node_timeline_use(const struct hr__node_timeline *timeline, uint32_t step) {
  return timeline->use + (size_t)step * timeline->columns;
}
/* Adds an occupant that uses the node from `from_us` to `to_us`. */
bool hr__node_timeline_add(struct hr__node_timeline *timeline, struct hr_arena *arena, int64_t from_us, int64_t to_us,
                           const uint64_t *use);
/* Returns the index of the step that contains a time. */
uint32_t hr__node_timeline_step(const struct hr__node_timeline *timeline, int64_t at_us);
/* Writes the maximum use over the steps first .. last to `use`. */
void hr__node_timeline_max(const struct hr__node_timeline *timeline, uint32_t first, uint32_t last, uint64_t *use);
/* Returns the first time after `at_us` at which an occupant ends; HR_NEVER_US: none. */
int64_t hr__node_timeline_next_end(const struct hr__node_timeline *timeline, int64_t at_us);

#endif
