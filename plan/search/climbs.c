/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Climbs: searches of the best candidate of a slice, from a starting point, by steps along the axes of capacity.
 *
 * Starting points, pattern steps and the halving of the number of climbs are described in search_state.h, items 1 to 3.
 *
 * Invariant: `at` of a climb is the best candidate that was run of those that the climb proposed, if any of these was
 * run.
 */

#include "plan/search/search_state.h"

#include <math.h>

/* ---- Starting points ------------------------------------------------------------------------------- */

static uint32_t max_steps(const struct hr__space *space, const struct hr__point *from, const struct hr__point *to) {
  uint32_t max = 0;
  for (uint32_t i = 0; i < space->n_capacity; i++) {
    uint32_t axis = space->capacity[i], distance = to->level[axis] - from->level[axis];
    if (distance > max) max = distance;
  }
  return max;
}

/* The candidate after `step` of `steps` equal steps from `from` to `to`. `to` must have at least as much of every
   capacity. */
static uint32_t between(const struct hr__space *space, const struct hr__point *from, const struct hr__point *to,
                        uint32_t step, uint32_t steps) {
  struct hr__point point = *from;
  for (uint32_t i = 0; i < space->n_capacity && steps; i++) {
    uint32_t axis = space->capacity[i];
    point.level[axis] += (uint32_t)(((uint64_t)(to->level[axis] - from->level[axis]) * step + steps / 2) / steps);
  }
  return hr__space_candidate(space, &point);
}

/* Whether the candidate was run, and meets every goal for which more capacity helps. */
static bool meets_service(const struct hr__search *search, uint32_t candidate) {
  return search->state[candidate] == HR__SEARCH_RUN &&
         !hr__evaluator_is_short(search->evaluator, candidate, search->config->replications);
}

/* Whether less capacity may suffice: the candidate serves its jobs, or was not run because it is too expensive. */
static bool may_shrink(const struct hr__search *search, uint32_t candidate) {
  return meets_service(search, candidate) || search->state[candidate] == HR__SEARCH_TOO_EXPENSIVE;
}

enum hr_status hr__search_trisect(struct hr__search *search, struct hr__point low, struct hr__point high) {
  uint32_t steps = max_steps(search->space, &low, &high), bad = 0, good = steps;
  uint32_t max = hr__space_candidate(search->space, &high);
  hr__search_enqueue(search, max);
  enum hr_status status = good - bad > 1 ? HR_OK : hr__search_run_batch(search);
  while (good - bad > 1 && status == HR_OK && !hr__search_is_budget_used(search)) {
    uint32_t third = good - bad < 3 ? 1 : (good - bad) / 3;
    uint32_t first = between(search->space, &low, &high, bad + third, steps);
    uint32_t second = between(search->space, &low, &high, good - third, steps);
    hr__search_enqueue(search, first);
    hr__search_enqueue(search, second);
    status = hr__search_run_batch(search);
    if (!may_shrink(search, max)) break;
    if (may_shrink(search, first)) {
      good = bad + third;
    } else {
      bad += third;
      if (good - bad <= third) break; /* both points are the same */
      *(may_shrink(search, second) ? &good : &bad) = good - third;
    }
  }
  return status;
}

uint32_t hr__search_best_of_slice(const struct hr__search *search, const struct hr__climb *climb) {
  uint32_t best = HR_NONE;
  for (uint32_t i = 0; i < search->n_run; i++)
    if (hr__space_slice(search->space, search->run[i]) == climb->slice &&
        hr__search_is_better(search, search->run[i], best))
      best = search->run[i];
  return best == HR_NONE ? climb->at : best;
}

static void begin_steps(const struct hr__search *search, struct hr__climb *climb) {
  uint32_t part = search->config->begin == HR_NONE ? 4 : 8;
  for (uint32_t i = 0; i < search->space->n_capacity; i++) {
    uint32_t levels = hr__space_levels(search->space, search->space->capacity[i]);
    climb->step[i] = levels / part ? levels / part : 1;
  }
}

/* The candidate in slice `slice` that has the same capacity as `candidate`. */
static uint32_t moved_to_slice(const struct hr__space *space, uint32_t candidate, uint32_t slice) {
  struct hr__point point = hr__space_corner(space, slice, true), from = hr__space_point(space, candidate);
  for (uint32_t i = 0; i < space->n_capacity; i++) point.level[space->capacity[i]] = from.level[space->capacity[i]];
  return hr__space_candidate(space, &point);
}

/* Enqueues the start of a climb: the candidate that the configuration names, or both ends of the newsvendor's bracket.
 */
static void enqueue_start(struct hr__search *search, struct hr__climb *climb) {
  const struct hr__search_config *config = search->config;
  struct hr__point low = hr__space_corner(search->space, climb->slice, true), high = low;
  if (config->begin != HR_NONE) {
    climb->at = moved_to_slice(search->space, config->begin, climb->slice);
    hr__search_enqueue(search, climb->at);
    return;
  }
  if (config->bounds) {
    low = hr__bounds_start(config->bounds, climb->slice, true);
    high = hr__bounds_start(config->bounds, climb->slice, false);
  }
  climb->at = hr__space_candidate(search->space, &high);
  hr__search_enqueue(search, climb->at);
  hr__search_enqueue(search, hr__space_candidate(search->space, &low));
}

enum hr_status hr__search_begin_slices(struct hr__search *search) {
  const struct hr__search_config *config = search->config;
  for (uint32_t i = 0; i < search->space->n_slices; i++) {
    if (config->one_slice && i != hr__space_slice(search->space, config->begin)) continue;
    struct hr__climb *climb = &search->climbs[search->n_climbs++];
    *climb = (struct hr__climb){.slice = i};
    begin_steps(search, climb);
    enqueue_start(search, climb);
  }
  enum hr_status status = hr__search_run_batch(search);
  for (uint32_t i = 0; i < search->n_climbs && status == HR_OK; i++) {
    struct hr__climb *climb = &search->climbs[i];
    climb->at = hr__search_best_of_slice(search, climb);
    if (!meets_service(search, climb->at) && search->state[climb->at] != HR__SEARCH_TOO_EXPENSIVE)
      status = hr__search_trisect(search, hr__space_point(search->space, climb->at),
                                  hr__space_corner(search->space, climb->slice, true));
    climb->at = hr__search_best_of_slice(search, climb);
  }
  return status;
}

/* Reduces one capacity of a climb to the minimum that still serves the jobs. */
static enum hr_status make_lean(struct hr__search *search, struct hr__climb *climb, uint32_t axis) {
  struct hr__point high = hr__space_point(search->space, climb->at), low = high;
  low.level[axis] = 0;
  hr__search_enqueue(search, hr__space_candidate(search->space, &low));
  enum hr_status status = hr__search_run_batch(search);
  if (status == HR_OK && !meets_service(search, hr__space_candidate(search->space, &low)))
    status = hr__search_trisect(search, low, high);
  while (low.level[axis] < high.level[axis] && !meets_service(search, hr__space_candidate(search->space, &low)))
    low.level[axis]++;
  climb->at = hr__space_candidate(search->space, &low);
  return status;
}

/* Of the capacity axes with elastic capacity that are not `done`, the most expensive one; HR_NONE: no such axis
   remains. */
static uint32_t costliest_axis(const struct hr__slice_prices *prices, uint32_t count, const bool *done) {
  uint32_t costliest = HR_NONE;
  for (uint32_t i = 0; i < count; i++)
    if (!done[i] && isfinite(prices->elastic[i]) &&
        (costliest == HR_NONE || prices->elastic[i] > prices->elastic[costliest]))
      costliest = i;
  return costliest;
}

/* Begins a second climb in a slice, at the minimum of elastic capacity that serves the jobs. Small steps from the first
   start would not lead there. */
static enum hr_status begin_lean_slice(struct hr__search *search, uint32_t slice, uint32_t from) {
  const struct hr__bounds *bounds = search->config->bounds;
  const struct hr__slice_prices *prices = &bounds->slices[slice];
  struct hr__climb *climb = &search->climbs[search->n_climbs++];
  bool done[HR_MAX_PLAN_VARIABLES] = {false};
  *climb = (struct hr__climb){.slice = slice, .at = from};
  begin_steps(search, climb);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < search->space->n_capacity && status == HR_OK && meets_service(search, climb->at); i++) {
    uint32_t costliest = costliest_axis(prices, search->space->n_capacity, done);
    if (costliest == HR_NONE) break;
    done[costliest] = true;
    status = make_lean(search, climb, search->space->capacity[costliest]);
  }
  return status;
}

enum hr_status hr__search_begin_lean_slices(struct hr__search *search) {
  uint32_t count = search->n_climbs < HR__MAX_LEAN_SLICES ? search->n_climbs : HR__MAX_LEAN_SLICES;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < count && status == HR_OK && search->config->bounds && search->config->begin == HR_NONE; i++)
    status = begin_lean_slice(search, search->climbs[i].slice, search->climbs[i].at);
  return status;
}

/* ---- Pattern search -------------------------------------------------------------------------------- */

/* Moves the point by `levels` along a capacity axis, at most to its end. Returns false if the point did not move. */
static bool step_along(const struct hr__space *space, struct hr__point *point, uint32_t capacity, int64_t levels) {
  uint32_t axis = space->capacity[capacity];
  int64_t level = (int64_t)point->level[axis] + levels, last = (int64_t)hr__space_levels(space, axis) - 1;
  if (level < 0) level = 0;
  if (level > last) level = last;
  bool moved = level != (int64_t)point->level[axis];
  point->level[axis] = (uint32_t)level;
  return moved;
}

static void enqueue_steps(struct hr__search *search, const struct hr__climb *climb) {
  for (uint32_t i = 0; i < search->space->n_capacity; i++)
    for (int sign = -1; sign <= 1; sign += 2) {
      struct hr__point point = hr__space_point(search->space, climb->at);
      if (step_along(search->space, &point, i, sign * (int64_t)climb->step[i]))
        hr__search_enqueue(search, hr__space_candidate(search->space, &point));
    }
}

/* Enqueues the candidate with one level less of capacity `from`, and with additional levels of `to` that replace its
   GPUs. */
static void enqueue_gpu_exchange(struct hr__search *search, const struct hr__climb *climb, uint32_t from, uint32_t to) {
  struct hr__point before = hr__space_point(search->space, climb->at), point = before;
  if (!step_along(search->space, &point, from, -1)) return;
  double lost = hr__space_gpus_at(search->space, &before, from) - hr__space_gpus_at(search->space, &point, from);
  while (hr__space_gpus_at(search->space, &point, to) - hr__space_gpus_at(search->space, &before, to) < lost)
    if (!step_along(search->space, &point, to, 1)) return;
  hr__search_enqueue(search, hr__space_candidate(search->space, &point));
}

/* Enqueues the candidate with one level more of capacity `to`, and as many levels less of `from` as it replaces. */
static void enqueue_replacement(struct hr__search *search, const struct hr__climb *climb, uint32_t from, uint32_t to) {
  struct hr__point before = hr__space_point(search->space, climb->at), point = before;
  if (!step_along(search->space, &point, to, 1)) return;
  double gained = hr__space_gpus_at(search->space, &point, to) - hr__space_gpus_at(search->space, &before, to);
  while (step_along(search->space, &point, from, -1))
    if (hr__space_gpus_at(search->space, &before, from) - hr__space_gpus_at(search->space, &point, from) >= gained)
      break;
  hr__search_enqueue(search, hr__space_candidate(search->space, &point));
}

/* Enqueues three exchanges for each pair of capacity axes. One exchanges a step on the first axis for a step on the
   second. The others exchange one level on one axis for the same number of GPUs on the other. */
static void enqueue_exchanges(struct hr__search *search, const struct hr__climb *climb) {
  for (uint32_t i = 0; i < search->space->n_capacity; i++)
    for (uint32_t k = 0; k < search->space->n_capacity; k++) {
      struct hr__point point = hr__space_point(search->space, climb->at);
      if (i == k) continue;
      enqueue_gpu_exchange(search, climb, k, i);
      enqueue_replacement(search, climb, k, i);
      if (step_along(search->space, &point, i, climb->step[i]) &&
          step_along(search->space, &point, k, -(int64_t)climb->step[k]))
        hr__search_enqueue(search, hr__space_candidate(search->space, &point));
    }
}

void hr__search_enqueue_long_steps(struct hr__search *search, uint32_t from) {
  for (uint32_t i = 0; i < search->space->n_capacity; i++) {
    int64_t last_level = (int64_t)hr__space_levels(search->space, search->space->capacity[i]) - 1;
    for (int sign = -1; sign <= 1; sign += 2)
      for (int64_t levels = 2; levels < 2 * last_level; levels += (levels + 1) / 2) {
        struct hr__point point = hr__space_point(search->space, from);
        if (step_along(search->space, &point, i, sign * levels))
          hr__search_enqueue(search, hr__space_candidate(search->space, &point));
      }
  }
}

static bool is_finest(const struct hr__search *search, const struct hr__climb *climb) {
  for (uint32_t i = 0; i < search->space->n_capacity; i++)
    if (climb->step[i] > 1) return false;
  return true;
}

/* Runs the batch and moves the climb to the best proposed candidate. Sets *moved if this candidate is better than the
   current one. */
static enum hr_status move_to_best(struct hr__search *search, struct hr__climb *climb, bool *moved) {
  enum hr_status status = hr__search_run_batch(search);
  *moved = false;
  for (uint32_t i = 0; i < search->n_proposed && status == HR_OK; i++) {
    uint32_t candidate = search->proposed[i];
    bool known = search->state[climb->at] == HR__SEARCH_RUN;
    if (search->state[candidate] != HR__SEARCH_RUN || (known && !hr__search_is_better(search, candidate, climb->at)))
      continue;
    climb->at = candidate;
    *moved = true;
  }
  search->n_proposed = 0;
  return status;
}

/* Moves the climb by steps of the current size until no step or exchange improves it. Exchanges are tried only if no
   step improves it. */
static enum hr_status climb_level(struct hr__search *search, struct hr__climb *climb) {
  enum hr_status status = HR_OK;
  bool moved = true;
  search->n_proposed = 0;
  while (moved && status == HR_OK && !hr__search_is_budget_used(search)) {
    enqueue_steps(search, climb);
    status = move_to_best(search, climb, &moved);
    if (moved || status != HR_OK) continue;
    enqueue_exchanges(search, climb);
    status = move_to_best(search, climb, &moved);
  }
  return status;
}

void hr__search_rank_climbs(struct hr__search *search) {
  for (uint32_t i = 1; i < search->n_climbs; i++)
    for (uint32_t k = i; k > 0; k--) {
      struct hr__climb before = search->climbs[k - 1], self = search->climbs[k];
      if (search->state[self.at] != HR__SEARCH_RUN || !hr__search_is_better(search, self.at, before.at)) break;
      search->climbs[k - 1] = self;
      search->climbs[k] = before;
    }
}

enum hr_status hr__search_climb_all(struct hr__search *search) {
  enum { FINAL_CLIMBS = 3 };
  enum hr_status status = HR_OK;
  for (bool done = false; !done && status == HR_OK;) {
    done = true;
    for (uint32_t i = 0; i < search->n_climbs && status == HR_OK; i++) {
      bool finest = is_finest(search, &search->climbs[i]);
      status = climb_level(search, &search->climbs[i]);
      done = done && finest;
      for (uint32_t k = 0; k < search->space->n_capacity; k++)
        search->climbs[i].step[k] = (search->climbs[i].step[k] + 1) / 2;
    }
    hr__search_rank_climbs(search);
    uint32_t half = (search->n_climbs + 1) / 2;
    if (search->n_climbs > FINAL_CLIMBS) search->n_climbs = half > FINAL_CLIMBS ? half : FINAL_CLIMBS;
  }
  return status;
}

enum hr_status hr__search_climb_finely(struct hr__search *search, uint32_t from) {
  struct hr__climb climb = {.slice = hr__space_slice(search->space, from), .at = from};
  for (uint32_t i = 0; i < search->space->n_capacity; i++) climb.step[i] = 1;
  return climb_level(search, &climb);
}

enum hr_status hr__search_climb_from_best(struct hr__search *search, uint32_t before) {
  if (search->best == HR_NONE || search->best == before) return HR_OK;
  return hr__search_climb_finely(search, search->best);
}
