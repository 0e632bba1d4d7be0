/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLACEMENT_NODE_TIMELINE_H
#define HR_POLICIES_PLACEMENT_NODE_TIMELINE_H

/* What running and planned jobs use of one node, as a step function of time. A use is an array of `columns` numbers
   (see hr_capacity_columns). All memory is allocated in the arena. Functions that return bool return false if no memory
   is available. */

#include "headroom/base.h"

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
