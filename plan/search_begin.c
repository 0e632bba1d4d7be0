/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first points of a slice: where jobs are served as they should be, and with as little elastic capacity as that
 * takes. */

#include "plan/searching.h"

#include <string.h>

static uint32_t most_steps(const struct hr__space *space, const struct hr__point *from, const struct hr__point *to) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < space->n_capacity; i++) {
    uint32_t axis = space->capacity[i], distance = to->level[axis] - from->level[axis];
    if (distance > most) most = distance;
  }
  return most;
}

/* The point after `step` of `steps` from one to another that has more of everything. */
static uint32_t between(const struct hr__space *space, const struct hr__point *from, const struct hr__point *to,
                        uint32_t step, uint32_t steps) {
  struct hr__point point = *from;
  for (uint32_t i = 0; i < space->n_capacity && steps; i++) {
    uint32_t axis = space->capacity[i];
    point.level[axis] += (uint32_t)(((uint64_t)(to->level[axis] - from->level[axis]) * step + steps / 2) / steps);
  }
  return hr__space_candidate(space, &point);
}

bool hr__search_serves(const struct hr__search *search, uint32_t candidate) {
  return search->state[candidate] == HR__SEARCH_RUN &&
         !hr__judge_is_short(search->judge, candidate, search->config->replications);
}

/* Whether less may do: jobs are served, or would be at too high a price. */
static bool may_be_less(const struct hr__search *search, uint32_t candidate) {
  return hr__search_serves(search, candidate) || search->state[candidate] == HR__SEARCH_TOO_DEAR;
}

enum hr_status hr__search_bisect(struct hr__search *search, struct hr__point low, struct hr__point high) {
  uint32_t steps = most_steps(search->space, &low, &high), bad = 0, good = steps;
  uint32_t most = hr__space_candidate(search->space, &high);
  hr__search_want(search, most);
  enum hr_status status = hr__search_run_batch(search);
  if (!may_be_less(search, most)) return status;
  while (good - bad > 1 && status == HR_OK && !hr__search_is_spent(search)) {
    uint32_t middle = bad + (good - bad) / 2, candidate = between(search->space, &low, &high, middle, steps);
    hr__search_want(search, candidate);
    status = hr__search_run_batch(search);
    if (may_be_less(search, candidate))
      good = middle;
    else
      bad = middle;
  }
  return status;
}

/* Towards the corner with the most of everything. */
static enum hr_status bisect_slice(struct hr__search *search, const struct hr__climb *climb) {
  return hr__search_bisect(search, hr__space_point(search->space, climb->at),
                           hr__space_corner(search->space, climb->slice, true));
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

/* The candidate to begin with, in the climb's slice. */
static uint32_t moved_to_slice(const struct hr__space *space, uint32_t candidate, uint32_t slice) {
  struct hr__point point = hr__space_corner(space, slice, true), from = hr__space_point(space, candidate);
  for (uint32_t i = 0; i < space->n_capacity; i++) point.level[space->capacity[i]] = from.level[space->capacity[i]];
  return hr__space_candidate(space, &point);
}

/* Both ends of the newsvendor's bracket, or what the search was told to begin with. */
static void want_first(struct hr__search *search, struct hr__climb *climb) {
  const struct hr__search_config *config = search->config;
  struct hr__point low = hr__space_corner(search->space, climb->slice, true), high = low;
  if (config->begin != HR_NONE) {
    climb->at = moved_to_slice(search->space, config->begin, climb->slice);
    hr__search_want(search, climb->at);
    return;
  }
  if (config->bounds) {
    low = hr__bounds_start(config->bounds, climb->slice, true);
    high = hr__bounds_start(config->bounds, climb->slice, false);
  }
  climb->at = hr__space_candidate(search->space, &high);
  hr__search_want(search, climb->at);
  hr__search_want(search, hr__space_candidate(search->space, &low));
}

enum hr_status hr__search_begin(struct hr__search *search) {
  const struct hr__search_config *config = search->config;
  for (uint32_t i = 0; i < search->space->n_slices; i++) {
    if (config->one_slice && i != hr__space_slice(search->space, config->begin)) continue;
    struct hr__climb *climb = &search->climbs[search->n_climbs++];
    *climb = (struct hr__climb){.slice = i};
    begin_steps(search, climb);
    want_first(search, climb);
  }
  enum hr_status status = hr__search_run_batch(search);
  for (uint32_t i = 0; i < search->n_climbs && status == HR_OK; i++) {
    struct hr__climb *climb = &search->climbs[i];
    climb->at = hr__search_best_of_slice(search, climb);
    if (!hr__search_serves(search, climb->at) && search->state[climb->at] != HR__SEARCH_TOO_DEAR)
      status = bisect_slice(search, climb);
    climb->at = hr__search_best_of_slice(search, climb);
  }
  return status;
}

/* Less of one capacity, to where jobs are only just served as they should be. */
static enum hr_status make_lean(struct hr__search *search, struct hr__climb *climb, uint32_t axis) {
  struct hr__point high = hr__space_point(search->space, climb->at), low = high;
  low.level[axis] = 0;
  hr__search_want(search, hr__space_candidate(search->space, &low));
  enum hr_status status = hr__search_run_batch(search);
  if (status == HR_OK && !hr__search_serves(search, hr__space_candidate(search->space, &low)))
    status = hr__search_bisect(search, low, high);
  while (low.level[axis] < high.level[axis] && !hr__search_serves(search, hr__space_candidate(search->space, &low)))
    low.level[axis]++;
  climb->at = hr__space_candidate(search->space, &low);
  return status;
}

/* The dearest elastic capacity that was not made lean yet; HR_NONE: there is no more. */
static uint32_t dearest_axis(const struct hr__slice_prices *prices, uint32_t count, const bool *done) {
  uint32_t dearest = HR_NONE;
  for (uint32_t i = 0; i < count; i++)
    if (!done[i] && isfinite(prices->elastic[i]) &&
        (dearest == HR_NONE || prices->elastic[i] > prices->elastic[dearest]))
      dearest = i;
  return dearest;
}

/* A second climb of a slice, from its best point so far with as little elastic capacity as will do: where there is
   plenty of it, a little less makes no difference, and no step would lead here. */
static enum hr_status begin_lean(struct hr__search *search, uint32_t slice, uint32_t from) {
  const struct hr__bounds *bounds = search->config->bounds;
  const struct hr__slice_prices *prices = &bounds->slices[slice];
  struct hr__climb *climb = &search->climbs[search->n_climbs++];
  bool done[HR_MOST_PLAN_VARIABLES] = {false};
  *climb = (struct hr__climb){.slice = slice, .at = from};
  begin_steps(search, climb);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < search->space->n_capacity && status == HR_OK && hr__search_serves(search, climb->at); i++) {
    uint32_t dearest = dearest_axis(prices, search->space->n_capacity, done);
    if (dearest == HR_NONE) break;
    done[dearest] = true;
    status = make_lean(search, climb, search->space->capacity[dearest]);
  }
  return status;
}

enum hr_status hr__search_begin_lean(struct hr__search *search) {
  uint32_t count = search->n_climbs < HR__LEAN_SLICES ? search->n_climbs : HR__LEAN_SLICES;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < count && status == HR_OK && search->config->bounds && search->config->begin == HR_NONE; i++)
    status = begin_lean(search, search->climbs[i].slice, search->climbs[i].at);
  return status;
}
