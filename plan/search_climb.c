/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a point to better ones nearby, by steps that halve; slices side by side, the better half of which goes on. */

#include "plan/searching.h"

/* The point with so many levels more, or less, of an axis; false where the grid has ended. */
static bool step_along(const struct hr__space *space, struct hr__point *point, uint32_t capacity, int64_t levels) {
  uint32_t axis = space->capacity[capacity];
  int64_t level = (int64_t)point->level[axis] + levels, last = (int64_t)hr__space_levels(space, axis) - 1;
  if (level < 0) level = 0;
  if (level > last) level = last;
  bool moved = level != (int64_t)point->level[axis];
  point->level[axis] = (uint32_t)level;
  return moved;
}

static void want_steps(struct hr__search *search, const struct hr__climb *climb) {
  for (uint32_t i = 0; i < search->space->n_capacity; i++)
    for (int sign = -1; sign <= 1; sign += 2) {
      struct hr__point point = hr__space_point(search->space, climb->at);
      if (step_along(search->space, &point, i, sign * (int64_t)climb->step[i]))
        hr__search_want(search, hr__space_candidate(search->space, &point));
    }
}

static double gpus_at(const struct hr__space *space, const struct hr__point *point, uint32_t capacity) {
  uint32_t axis = space->capacity[capacity];
  return space->spec->variables[axis].axis.levels[point->level[axis]].number;
}

/* One level of capacity `from` for as many of `to` as have no fewer GPUs. */
static void want_as_many(struct hr__search *search, const struct hr__climb *climb, uint32_t from, uint32_t to) {
  struct hr__point before = hr__space_point(search->space, climb->at), point = before;
  if (!step_along(search->space, &point, from, -1)) return;
  double lost = gpus_at(search->space, &before, from) - gpus_at(search->space, &point, from);
  while (gpus_at(search->space, &point, to) - gpus_at(search->space, &before, to) < lost)
    if (!step_along(search->space, &point, to, 1)) return;
  hr__search_want(search, hr__space_candidate(search->space, &point));
}

/* A step of one capacity for one of another, or a level of it for as many GPUs of that. */
static void want_exchanges(struct hr__search *search, const struct hr__climb *climb) {
  for (uint32_t i = 0; i < search->space->n_capacity; i++)
    for (uint32_t k = 0; k < search->space->n_capacity; k++) {
      struct hr__point point = hr__space_point(search->space, climb->at);
      if (i == k) continue;
      want_as_many(search, climb, k, i);
      if (step_along(search->space, &point, i, climb->step[i]) &&
          step_along(search->space, &point, k, -(int64_t)climb->step[k]))
        hr__search_want(search, hr__space_candidate(search->space, &point));
    }
}

int64_t hr__search_last_of(const struct hr__space *space, uint32_t capacity) {
  return (int64_t)hr__space_levels(space, space->capacity[capacity]) - 1;
}

void hr__search_want_far(struct hr__search *search, uint32_t from) {
  for (uint32_t i = 0; i < search->space->n_capacity; i++)
    for (int sign = -1; sign <= 1; sign += 2)
      for (int64_t levels = 2; levels < 2 * hr__search_last_of(search->space, i); levels += (levels + 1) / 2) {
        struct hr__point point = hr__space_point(search->space, from);
        if (step_along(search->space, &point, i, sign * levels))
          hr__search_want(search, hr__space_candidate(search->space, &point));
      }
}

static bool is_finest(const struct hr__search *search, const struct hr__climb *climb) {
  for (uint32_t i = 0; i < search->space->n_capacity; i++)
    if (climb->step[i] > 1) return false;
  return true;
}

/* Runs what was wanted, and goes to the best of it; `moved`: it is better than where the climb stood. */
static enum hr_status move(struct hr__search *search, struct hr__climb *climb, bool *moved) {
  enum hr_status status = hr__search_run_batch(search);
  *moved = false;
  for (uint32_t i = 0; i < search->n_tried && status == HR_OK; i++) {
    uint32_t candidate = search->tried[i];
    bool stands = search->state[climb->at] == HR__SEARCH_RUN;
    if (search->state[candidate] != HR__SEARCH_RUN || (stands && !hr__search_is_better(search, candidate, climb->at)))
      continue;
    climb->at = candidate;
    *moved = true;
  }
  search->n_tried = 0;
  return status;
}

enum hr_status hr__search_climb_level(struct hr__search *search, struct hr__climb *climb) {
  enum hr_status status = HR_OK;
  bool moved = true;
  search->n_tried = 0;
  while (moved && status == HR_OK && !hr__search_is_spent(search)) {
    want_steps(search, climb);
    status = move(search, climb, &moved);
    if (moved || status != HR_OK) continue;
    want_exchanges(search, climb);
    status = move(search, climb, &moved);
  }
  return status;
}

static void halve_steps(const struct hr__search *search, struct hr__climb *climb) {
  for (uint32_t i = 0; i < search->space->n_capacity; i++) climb->step[i] = (climb->step[i] + 1) / 2;
}

void hr__search_rank_climbs(struct hr__search *search) {
  for (uint32_t i = 1; i < search->n_climbs; i++)
    for (uint32_t k = i; k > 0; k--) {
      struct hr__climb *before = &search->climbs[k - 1], *self = &search->climbs[k];
      if (search->state[self->at] != HR__SEARCH_RUN || !hr__search_is_better(search, self->at, before->at)) break;
      struct hr__climb swapped = *before;
      *before = *self;
      *self = swapped;
    }
}

enum hr_status hr__search_climb_all(struct hr__search *search) {
  enum { MANY = 3 };
  enum hr_status status = HR_OK;
  for (bool done = false; !done && status == HR_OK;) {
    done = true;
    for (uint32_t i = 0; i < search->n_climbs && status == HR_OK; i++) {
      bool finest = is_finest(search, &search->climbs[i]);
      status = hr__search_climb_level(search, &search->climbs[i]);
      done = done && finest;
      halve_steps(search, &search->climbs[i]);
    }
    hr__search_rank_climbs(search);
    uint32_t half = (search->n_climbs + 1) / 2;
    if (search->n_climbs > MANY) search->n_climbs = half > MANY ? half : MANY;
  }
  return status;
}
