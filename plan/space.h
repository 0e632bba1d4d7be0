/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SPACE_H
#define HR_PLAN_SPACE_H

/*
 * The candidates of a plan: a grid of levels of its variables, numbered with the last variable running fastest. Its
 * capacity axes are ordered from few GPUs to many; the others (a policy, a term, a spot model) are not. Candidates that
 * agree in all that is not capacity make a slice.
 */

#include "headroom/plan.h"
#include "headroom/scenario.h"

struct hr__space {
  const struct hr_plan_spec *spec;
  uint32_t n_axes, n_candidates;
  uint32_t capacity[HR_MOST_PLAN_VARIABLES]; /* axes of capacity */
  uint32_t n_capacity;
  uint32_t n_slices;
  bool doubtful[HR_MOST_PLAN_VARIABLES]; /* axes of capacity of which more may serve worse */
};

/* Levels of a candidate, by axis. */
struct hr__point {
  uint32_t level[HR_MOST_PLAN_VARIABLES];
};

/* Fails where there are more candidates than the plan wants. */
enum hr_status hr__space_make(const struct hr_plan_spec *spec, struct hr__space *space, struct hr_error *error);
/* Of which capacity more may serve jobs worse: spot nodes draw jobs away from nodes that nobody reclaims, and slow GPUs
   from fast ones. Until it is called none is. */
void hr__space_doubt(struct hr__space *space, const struct hr_scenario *scenario);

struct hr__point hr__space_point(const struct hr__space *space, uint32_t candidate);
uint32_t hr__space_candidate(const struct hr__space *space, const struct hr__point *point);
uint32_t hr__space_levels(const struct hr__space *space, uint32_t axis);
/* The slice's candidate with the least, or the most, of every capacity. */
struct hr__point hr__space_corner(const struct hr__space *space, uint32_t slice, bool most);
uint32_t hr__space_slice(const struct hr__space *space, uint32_t candidate);
/* Whether `a` has at least as much of every capacity as `b`, in the same slice, and as much of what is doubtful: then
   it serves jobs no worse. */
bool hr__space_covers(const struct hr__space *space, uint32_t a, uint32_t b);
/* GPUs of all capacity axes together. */
double hr__space_gpus(const struct hr__space *space, uint32_t candidate);

/* The overrides of a candidate, borrowed from the plan; the list is the caller's to free. NULL when out of memory. */
const char **hr__space_overrides(const struct hr__space *space, uint32_t candidate, size_t *count);

#endif
