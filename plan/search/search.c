/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A search, for those parts that make it. */

#include "plan/search/search.h"

#include <gsl/gsl_qrng.h>
#include <stdlib.h>
#include <string.h>

/* What is known of a candidate. */
enum hr__search_state { HR__SEARCH_UNKNOWN, HR__SEARCH_RUN, HR__SEARCH_TOO_DEAR, HR__SEARCH_TOO_SMALL };

/* Neighbours of a point: a step each way on each axis, and of each axis for each other, in steps and in GPUs. */
enum { HR__MOST_TRIED = 2 * HR_MOST_PLAN_VARIABLES * HR_MOST_PLAN_VARIABLES, HR__LEAN_SLICES = 4 };

/* How far the search has come in a slice. */
struct hr__climb {
  uint32_t slice, at;
  uint32_t step[HR_MOST_PLAN_VARIABLES]; /* by capacity axis, levels */
};

struct hr__search {
  const struct hr__search_config *config;
  const struct hr__space *space;
  struct hr__evaluator *judge;
  uint8_t *state;                  /* [n_candidates] enum hr__search_state */
  struct hr__evaluation *verdicts; /* [n_candidates] of those that were run */
  uint32_t *run;                   /* in the order in which they were run */
  uint32_t n_run;
  uint32_t *small; /* of them, those that serve jobs too badly */
  uint32_t n_small;
  uint32_t best;   /* HR_NONE: none was run yet */
  uint32_t *batch; /* to be run together */
  uint32_t n_batch;
  uint32_t *tried; /* wanted since the last move, run before or not */
  uint32_t n_tried;
  struct hr__climb *climbs; /* by rank */
  uint32_t n_climbs;
  struct hr_error *error;
};

/* ---- Candidates -------------------------------------------------------------------------------------- */

/* Whether the first is better than the other, which may be HR_NONE. Both were run. */
static bool hr__search_is_better(const struct hr__search *search, uint32_t a, uint32_t b);
/* Whether something that has no less of anything served jobs too badly. */
static bool hr__search_is_too_small(const struct hr__search *search, uint32_t candidate);
/* Whether its prices alone make it dearer than one that meets the goals. */
static bool hr__search_is_too_dear(const struct hr__search *search, uint32_t candidate);
/* Puts a candidate into the batch unless it was run or need not be. */
static void hr__search_want(struct hr__search *search, uint32_t candidate);
/* No runs are left. */
static bool hr__search_is_spent(const struct hr__search *search);
/* Runs the batch, and empties it. */
static enum hr_status hr__search_run_batch(struct hr__search *search);

/* ---- The first point of a slice ---------------------------------------------------------------------- */

/* Whether it was run and served jobs as they should be. */
static bool hr__search_serves(const struct hr__search *search, uint32_t candidate);
/* From one point towards one with more, to where jobs are served as they should be: bisection, as more capacity serves
   them no worse. */
static enum hr_status hr__search_bisect(struct hr__search *search, struct hr__point low, struct hr__point high);
/* The best that was run in the climb's slice; where it stands if none was. */
static uint32_t hr__search_best_of_slice(const struct hr__search *search, const struct hr__climb *climb);
/* All slices together; then each where nothing served yet, be it that what would have been first need not be run. */
static enum hr_status hr__search_begin(struct hr__search *search);
/* The same with as little elastic capacity as serves, for the best slices; after hr__search_rank_climbs. */
static enum hr_status hr__search_begin_lean(struct hr__search *search);

/* ---- Climbing ---------------------------------------------------------------------------------------- */

/* The last level of a capacity. */
static int64_t hr__search_last_of(const struct hr__space *space, uint32_t capacity);
/* Along each axis ever farther, to its end: where more of a capacity changes next to nothing, neighbours differ by
   chance alone, and say nothing of which way is better. */
static void hr__search_want_far(struct hr__search *search, uint32_t from);
/* As far as the steps lead, and then by exchanges. */
static enum hr_status hr__search_climb_level(struct hr__search *search, struct hr__climb *climb);
/* By the best that was run in each slice. */
static void hr__search_rank_climbs(struct hr__search *search);
/* The better half of the slices goes on with half the steps; a few go to the end, as coarse steps do not tell them
   apart. */
static enum hr_status hr__search_climb_all(struct hr__search *search);

/* ---- Elsewhere --------------------------------------------------------------------------------------- */

/* Capacity that stands, alone: where it pays to have no other at all, the way there may be one on which every step
   costs more. */
static enum hr_status hr__search_stand_alone(struct hr__search *search);
/* Leaps from the best, and on from where they lead, as long as they lead to something better. */
static enum hr_status hr__search_leap(struct hr__search *search);
/* Points of Sobol's sequence that nothing speaks against, a twenty-fifth of the grid and at most 20; on from there if
   one is better than all. */
static enum hr_status hr__search_look_elsewhere(struct hr__search *search);
/* Where what a mix costs is known before it is run, the mixes that are left would all be better if they met the goals;
   and where one kind of GPU does the work of several of another, they lie in valleys of their own. A few at a time, so
   that the best of them spares the others. */
static enum hr_status hr__search_try_all_cheaper(struct hr__search *search);

/* A search from its begin to its ranking. */

static enum hr_status rank(struct hr__search *search, struct hr__search_result *result) {
  result->ranking = malloc(((size_t)search->n_run + 1) * sizeof *result->ranking);
  if (!result->ranking) return hr_fail(search->error, HR_NO_MEMORY, "out of memory for the search");
  for (uint32_t i = 0; i < search->n_run; i++) {
    uint32_t k = result->n_ranked++;
    for (; k > 0 && hr__search_is_better(search, search->run[i], result->ranking[k - 1]); k--)
      result->ranking[k] = result->ranking[k - 1];
    result->ranking[k] = search->run[i];
  }
  result->small = search->small;
  result->n_small = search->n_small;
  for (uint32_t i = 0; i < search->space->n_candidates; i++) {
    if (search->state[i] == HR__SEARCH_UNKNOWN && hr__search_is_too_small(search, i))
      search->state[i] = HR__SEARCH_TOO_SMALL;
    if (search->state[i] == HR__SEARCH_UNKNOWN && hr__search_is_too_dear(search, i))
      search->state[i] = HR__SEARCH_TOO_DEAR;
    result->counts.run += search->state[i] == HR__SEARCH_RUN;
    result->counts.too_dear += search->state[i] == HR__SEARCH_TOO_DEAR;
    result->counts.too_small += search->state[i] == HR__SEARCH_TOO_SMALL;
    result->counts.left += search->state[i] == HR__SEARCH_UNKNOWN;
  }
  search->small = NULL; /* it is the result's now */
  return HR_OK;
}

static bool make_room(struct hr__search *search) {
  size_t most = (size_t)search->space->n_candidates + 1;
  search->state = calloc(most, sizeof *search->state);
  search->verdicts = calloc(most, sizeof *search->verdicts);
  search->run = calloc(most, sizeof *search->run);
  search->small = calloc(most, sizeof *search->small);
  search->batch = calloc(most, sizeof *search->batch);
  search->tried = calloc(HR__MOST_TRIED, sizeof *search->tried);
  search->climbs = calloc((size_t)search->space->n_slices + HR__LEAN_SLICES, sizeof *search->climbs);
  return search->state && search->verdicts && search->run && search->small && search->batch && search->tried &&
         search->climbs;
}

static void free_room(struct hr__search *search) {
  free(search->state);
  free(search->verdicts);
  free(search->run);
  free(search->small);
  free(search->batch);
  free(search->tried);
  free(search->climbs);
}

static enum hr_status search_by(const struct hr__search_config *config, enum hr_status (*go)(struct hr__search *search),
                                struct hr__search_result *result, struct hr_error *error) {
  struct hr__search search = {
      .config = config, .space = config->judge->space, .judge = config->judge, .best = HR_NONE, .error = error};
  *result = (struct hr__search_result){0};
  enum hr_status status = make_room(&search) ? go(&search) : hr_fail(error, HR_NO_MEMORY, "out of memory");
  if (status == HR_OK) status = rank(&search, result);
  free_room(&search);
  return status;
}

static enum hr_status go_fast(struct hr__search *search) {
  enum hr_status status = hr__search_begin(search);
  hr__search_rank_climbs(search);
  if (status == HR_OK) status = hr__search_begin_lean(search);
  if (status == HR_OK) status = hr__search_climb_all(search);
  if (status != HR_OK || search->config->begin != HR_NONE) return status;
  status = hr__search_stand_alone(search);
  if (status == HR_OK && search->config->thorough) status = hr__search_look_elsewhere(search);
  if (status == HR_OK) status = hr__search_leap(search);
  return status == HR_OK ? hr__search_try_all_cheaper(search) : status;
}

static enum hr_status go_everywhere(struct hr__search *search) {
  for (uint32_t i = 0; i < search->space->n_candidates; i++) search->batch[search->n_batch++] = i;
  return hr__search_run_batch(search);
}

enum hr_status hr__search(const struct hr__search_config *config, struct hr__search_result *result,
                          struct hr_error *error) {
  return search_by(config, go_fast, result, error);
}

enum hr_status hr__search_exhaustive(const struct hr__search_config *config, struct hr__search_result *result,
                                     struct hr_error *error) {
  return search_by(config, go_everywhere, result, error);
}

void hr__search_finish(struct hr__search_result *result) {
  free(result->ranking);
  free(result->small);
  *result = (struct hr__search_result){0};
}

/* The first points of a slice: where jobs are served as they should be, and with as little elastic capacity as that
 * takes. */

static uint32_t max_steps(const struct hr__space *space, const struct hr__point *from, const struct hr__point *to) {
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

static bool hr__search_serves(const struct hr__search *search, uint32_t candidate) {
  return search->state[candidate] == HR__SEARCH_RUN &&
         !hr__evaluator_is_short(search->judge, candidate, search->config->replications);
}

/* Whether less may do: jobs are served, or would be at too high a price. */
static bool may_be_less(const struct hr__search *search, uint32_t candidate) {
  return hr__search_serves(search, candidate) || search->state[candidate] == HR__SEARCH_TOO_DEAR;
}

static enum hr_status hr__search_bisect(struct hr__search *search, struct hr__point low, struct hr__point high) {
  uint32_t steps = max_steps(search->space, &low, &high), bad = 0, good = steps;
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

static uint32_t hr__search_best_of_slice(const struct hr__search *search, const struct hr__climb *climb) {
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

static enum hr_status hr__search_begin(struct hr__search *search) {
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

static enum hr_status hr__search_begin_lean(struct hr__search *search) {
  uint32_t count = search->n_climbs < HR__LEAN_SLICES ? search->n_climbs : HR__LEAN_SLICES;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < count && status == HR_OK && search->config->bounds && search->config->begin == HR_NONE; i++)
    status = begin_lean(search, search->climbs[i].slice, search->climbs[i].at);
  return status;
}

/* From a point to better ones nearby, by steps that halve; slices side by side, the better half of which goes on. */

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

static int64_t hr__search_last_of(const struct hr__space *space, uint32_t capacity) {
  return (int64_t)hr__space_levels(space, space->capacity[capacity]) - 1;
}

static void hr__search_want_far(struct hr__search *search, uint32_t from) {
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

static enum hr_status hr__search_climb_level(struct hr__search *search, struct hr__climb *climb) {
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

static void hr__search_rank_climbs(struct hr__search *search) {
  for (uint32_t i = 1; i < search->n_climbs; i++)
    for (uint32_t k = i; k > 0; k--) {
      struct hr__climb *before = &search->climbs[k - 1], *self = &search->climbs[k];
      if (search->state[self->at] != HR__SEARCH_RUN || !hr__search_is_better(search, self->at, before->at)) break;
      struct hr__climb swapped = *before;
      *before = *self;
      *self = swapped;
    }
}

static enum hr_status hr__search_climb_all(struct hr__search *search) {
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

/* What climbing alone would not find: other choices, long steps, a spread over the grid, all that would be cheaper. */

/* From the best of all on, with the finest steps, unless it is the same as `before`. */
static enum hr_status climb_from_best(struct hr__search *search, uint32_t before) {
  if (search->best == HR_NONE || search->best == before) return HR_OK;
  struct hr__climb climb = {.slice = hr__space_slice(search->space, search->best), .at = search->best};
  for (uint32_t i = 0; i < search->space->n_capacity; i++) climb.step[i] = 1;
  return hr__search_climb_level(search, &climb);
}

/* The same capacity with one choice of another kind made otherwise. */
static void want_other_choices(struct hr__search *search) {
  const struct hr__space *space = search->space;
  for (uint32_t i = 0; i < space->n_axes; i++) {
    if (space->spec->variables[i].pools) continue;
    struct hr__point point = hr__space_point(space, search->best);
    for (point.level[i] = 0; point.level[i] < hr__space_levels(space, i); point.level[i]++)
      hr__search_want(search, hr__space_candidate(space, &point));
  }
}

/* Whether a climb in the slice came to the end, or there are so few slices that all are gone into. */
static bool is_kept(const struct hr__search *search, uint32_t slice) {
  enum { FEW = 4 };
  bool kept = search->space->n_slices <= FEW;
  for (uint32_t i = 0; i < search->n_climbs; i++) kept = kept || search->climbs[i].slice == slice;
  return kept;
}

/* As much of one capacity as serves alone, and on from there if nothing in the slice is better. */
static enum hr_status stand_on(struct hr__search *search, uint32_t slice, uint32_t capacity) {
  const struct hr__space *space = search->space;
  struct hr__point low = hr__space_corner(space, slice, false), high = low;
  struct hr__climb climb = {.slice = slice, .at = hr__space_candidate(space, &low)};
  uint32_t before = hr__search_best_of_slice(search, &climb);
  high.level[space->capacity[capacity]] = (uint32_t)hr__search_last_of(space, capacity);
  enum hr_status status = hr__search_bisect(search, low, high);
  climb.at = hr__search_best_of_slice(search, &climb);
  if (status != HR_OK || climb.at == before) return status;
  for (uint32_t i = 0; i < space->n_capacity; i++) climb.step[i] = 1;
  return hr__search_climb_level(search, &climb);
}

static enum hr_status hr__search_stand_alone(struct hr__search *search) {
  const struct hr__bounds *bounds = search->config->bounds;
  enum hr_status status = HR_OK;
  for (uint32_t slice = 0; bounds && slice < search->space->n_slices; slice++)
    for (uint32_t k = 0; k < search->space->n_capacity && status == HR_OK && is_kept(search, slice); k++)
      if (bounds->slices[slice].standing[k] > 0) status = stand_on(search, slice, k);
  return status;
}

static enum hr_status hr__search_leap(struct hr__search *search) {
  uint32_t before = HR_NONE;
  enum hr_status status = HR_OK;
  while (status == HR_OK && search->best != before && !hr__search_is_spent(search)) {
    before = search->best;
    hr__search_want_far(search, search->best);
    want_other_choices(search);
    status = hr__search_run_batch(search);
    if (status == HR_OK) status = climb_from_best(search, before);
  }
  return status;
}

static enum hr_status hr__search_look_elsewhere(struct hr__search *search) {
  enum { MOST = 20 };
  const struct hr__space *space = search->space;
  uint32_t wanted = space->n_candidates / 25 < MOST ? space->n_candidates / 25 : MOST, before = search->best;
  gsl_qrng *sobol = gsl_qrng_alloc(gsl_qrng_sobol, space->n_axes);
  if (!sobol) return hr_fail(search->error, HR_NO_MEMORY, "out of memory for the search");
  for (uint32_t tries = 0; search->n_batch < wanted && tries < 16 * wanted; tries++) {
    double at[HR_MOST_PLAN_VARIABLES];
    struct hr__point point;
    gsl_qrng_get(sobol, at);
    for (uint32_t i = 0; i < space->n_axes; i++) point.level[i] = (uint32_t)(at[i] * hr__space_levels(space, i));
    hr__search_want(search, hr__space_candidate(space, &point));
  }
  gsl_qrng_free(sobol);
  enum hr_status status = hr__search_run_batch(search);
  return status == HR_OK ? climb_from_best(search, before) : status;
}

static enum hr_status hr__search_try_all_cheaper(struct hr__search *search) {
  enum { AT_A_TIME = 16, MOST = 200 };
  const struct hr__space *space = search->space;
  bool alike = true;
  for (uint32_t i = 0; i < space->n_capacity; i++) alike = alike && !space->doubtful[space->capacity[i]];
  enum hr_status status = HR_OK;
  if (alike || !search->config->bounds) return status;
  uint32_t most = search->n_run + MOST;
  for (uint32_t i = space->n_candidates; i-- > 0 && status == HR_OK && search->n_run < most;) {
    if (hr__bounds_exact(search->config->bounds, hr__space_slice(space, i))) hr__search_want(search, i);
    if (search->n_batch == AT_A_TIME || i == 0) status = hr__search_run_batch(search);
  }
  return status == HR_OK && search->n_batch ? hr__search_run_batch(search) : status;
}

/* Which candidates are run next, and what their runs say of others. */

/* A candidate that misses its goals by no more than this share says nothing of those that it covers. */
static const double clear_miss = 0.1;

static bool hr__search_is_better(const struct hr__search *search, uint32_t a, uint32_t b) {
  return b == HR_NONE || hr__verdict_better(search->space, a, &search->verdicts[a], b, &search->verdicts[b]);
}

static bool hr__search_is_too_small(const struct hr__search *search, uint32_t candidate) {
  const struct hr__search_config *config = search->config;
  for (uint32_t i = 0; i < search->n_small; i++)
    if (hr__space_covers(search->space, search->small[i], candidate)) return true;
  for (uint32_t i = 0; i < config->n_small; i++)
    if (hr__space_covers(search->space, config->small[i], candidate)) return true;
  return false;
}

static bool hr__search_is_too_dear(const struct hr__search *search, uint32_t candidate) {
  if (!search->config->bounds || search->best == HR_NONE) return false;
  const struct hr__evaluation *best = &search->verdicts[search->best];
  return best->violation == 0 && hr__bounds_least(search->config->bounds, candidate) > best->objective;
}

static void hr__search_want(struct hr__search *search, uint32_t candidate) {
  if (search->n_tried < HR__MOST_TRIED) search->tried[search->n_tried++] = candidate;
  if (search->state[candidate] != HR__SEARCH_UNKNOWN) return;
  for (uint32_t i = 0; i < search->n_batch; i++)
    if (search->batch[i] == candidate) return;
  if (hr__search_is_too_small(search, candidate))
    search->state[candidate] = HR__SEARCH_TOO_SMALL;
  else if (hr__search_is_too_dear(search, candidate))
    search->state[candidate] = HR__SEARCH_TOO_DEAR;
  else
    search->batch[search->n_batch++] = candidate;
}

static void keep(struct hr__search *search, uint32_t candidate) {
  search->state[candidate] = HR__SEARCH_RUN;
  search->verdicts[candidate] = hr__evaluator_evaluation(search->judge, candidate, search->config->replications);
  search->run[search->n_run++] = candidate;
  /* Less may serve a little better than more, where spot nodes are taken away or gangs come in the way of each other.
   */
  if (search->verdicts[candidate].violation > clear_miss &&
      hr__evaluator_is_short(search->judge, candidate, search->config->replications))
    search->small[search->n_small++] = candidate;
  if (hr__search_is_better(search, candidate, search->best)) search->best = candidate;
}

static bool hr__search_is_spent(const struct hr__search *search) {
  return hr__runner_runs(search->judge->lab) >= search->config->max_runs;
}

static enum hr_status hr__search_run_batch(struct hr__search *search) {
  uint32_t count = hr__search_is_spent(search) ? 0 : search->n_batch;
  search->n_batch = 0;
  enum hr_status status =
      hr__evaluator_run(search->judge, search->batch, count, search->config->replications, search->error);
  for (uint32_t i = 0; i < count && status == HR_OK; i++) keep(search, search->batch[i]);
  return status;
}
