/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Searches a plan's grid for the best candidates, with few runs. A slice of the grid consists of all candidates that
 * differ only in their capacity (search.h).
 *
 * Two kinds of candidates are not run. A candidate is too expensive if the lower bound of its cost exceeds the
 * objective of a candidate that meets the goals (bounds.c). A candidate is too small if another candidate, which covers
 * it (hr__space_covers), serves jobs too badly.
 *
 * 1. In each slice the search begins at the newsvendor solution for fixed capacity (hr__demand_newsvendor). If this
 *    candidate misses the goals, the search looks for the smallest capacity that meets them, between this candidate and
 *    the maximum capacity (trisect). In the best slices, it also begins at the minimum of elastic capacity
 *    that meets the goals.
 * 2. From each start a pattern search changes one capacity, or exchanges two capacities: a step on one axis for a step
 *    on another axis, or some GPUs of one axis for the same number of GPUs of another axis. Its steps are halved when
 *    no neighbour is better (Hooke and Jeeves, J. ACM 8, 1961).
 * 3. Slices are compared over the same random events after each halving, and the better half continues (successive
 *    halving: Karnin, Koren and Somekh, ICML 2013). Three slices continue to the end.
 * 4. To leave local optima, the search tries each fixed capacity alone, points of a Sobol sequence, long steps from the
 *    best candidate, and other settings. Then it tries candidates with a good predicted objective; the prediction uses
 *    the nearest candidate that was run. If GPU types differ and all capacity is fixed, it also tries the candidates
 *    that would be cheaper. If no candidate meets the goals, it tries up to 200 of those that are left. A search that
 *    begins at a given candidate (hr__search_config.begin) omits this step.
 *
 * If the search is a race (hr__search_config.races), steps 1 to 4 make only one replication of each candidate. Then the
 * candidates that are not clearly worse than the best one get the other replications. If another candidate is the best
 * one after this, the search continues from there.
 *
 * Invariant: each candidate is unknown, run, too expensive or too small. No run of it is made twice. `best` is the best
 * candidate that was run.
 */

#include "plan/search/search.h"

#include <gsl/gsl_qrng.h>
#include <math.h>
#include <stdlib.h>

/* State of a candidate. */
enum search_state { SEARCH_UNKNOWN, SEARCH_RUN, SEARCH_TOO_EXPENSIVE, SEARCH_TOO_SMALL };

/* MAX_PROPOSED: maximum number of neighbours of a point, by steps on each axis and by exchanges of two axes. */
enum { MAX_PROPOSED = 4 * HR_MAX_PLAN_VARIABLES * HR_MAX_PLAN_VARIABLES, MAX_LEAN_SLICES = 4 };

/* A climb: the progress of the search in one slice. */
struct climb {
  uint32_t slice, at;
  uint32_t step[HR_MAX_PLAN_VARIABLES]; /* [n_capacity] current step on each capacity axis, in levels */
};

struct hr__search {
  const struct hr__search_config *config;
  const struct hr__space *space;
  struct hr__evaluator *evaluator;
  uint8_t *state;                     /* [n_candidates] enum search_state */
  struct hr__evaluation *evaluations; /* [n_candidates] valid for candidates that were run */
  uint32_t *run;                      /* [n_run] candidates in the order of their runs */
  uint32_t n_run;
  uint32_t *too_small; /* [n_too_small] candidates that were run and serve jobs too badly */
  uint32_t n_too_small;
  uint32_t best;   /* HR_NONE: no candidate was run */
  uint32_t *batch; /* [n_batch] candidates that will be run together */
  uint32_t n_batch;
  uint32_t *proposed; /* [n_proposed] candidates enqueued since the last move, including those that were run before */
  uint32_t n_proposed;
  struct climb *climbs; /* sorted by rank_climbs: the best climb is first */
  uint32_t n_climbs;
  struct hr_error *error;
};

/* ---- Running candidates ---------------------------------------------------------------------------- */

/* A candidate excludes the candidates that it covers only if its violation is larger than this. */
static const double clear_miss = 0.1;

/* Whether `a` is better than `b`, by their evaluations. Everything is better than HR_NONE. */
static bool is_better(const struct hr__search *search, uint32_t a, uint32_t b) {
  return b == HR_NONE ||
         hr__evaluation_is_better(search->space, a, &search->evaluations[a], b, &search->evaluations[b]);
}

/* Whether a candidate that covers this one served jobs too badly. O(number of candidates that are too small). */
static bool is_too_small(const struct hr__search *search, uint32_t candidate) {
  const struct hr__search_config *config = search->config;
  for (uint32_t i = 0; i < search->n_too_small; i++)
    if (hr__space_covers(search->space, search->too_small[i], candidate)) return true;
  for (uint32_t i = 0; i < config->n_too_small; i++)
    if (hr__space_covers(search->space, config->too_small[i], candidate)) return true;
  return false;
}

/* Whether the best candidate meets the goals, and its objective is below the lower bound of this candidate. */
static bool is_too_expensive(const struct hr__search *search, uint32_t candidate) {
  if (!search->config->bounds || search->best == HR_NONE) return false;
  const struct hr__evaluation *best = &search->evaluations[search->best];
  return best->violation == 0 && hr__bounds_min_objective(search->config->bounds, candidate) > best->objective;
}

/* Adds a candidate to the batch unless it was run or can be excluded. */
static void enqueue(struct hr__search *search, uint32_t candidate) {
  if (search->n_proposed < MAX_PROPOSED) search->proposed[search->n_proposed++] = candidate;
  if (search->state[candidate] != SEARCH_UNKNOWN) return;
  for (uint32_t i = 0; i < search->n_batch; i++)
    if (search->batch[i] == candidate) return;
  if (is_too_small(search, candidate))
    search->state[candidate] = SEARCH_TOO_SMALL;
  else if (is_too_expensive(search, candidate))
    search->state[candidate] = SEARCH_TOO_EXPENSIVE;
  else
    search->batch[search->n_batch++] = candidate;
}

static void record_run(struct hr__search *search, uint32_t candidate) {
  search->state[candidate] = SEARCH_RUN;
  search->evaluations[candidate] = hr__evaluator_evaluate(search->evaluator, candidate, search->config->replications);
  search->run[search->n_run++] = candidate;
  /* Spot interruptions and the packing of gangs add noise, so a candidate that slightly misses the goals excludes
     nothing. */
  if (search->evaluations[candidate].violation > clear_miss &&
      hr__evaluator_is_short(search->evaluator, candidate, search->config->replications))
    search->too_small[search->n_too_small++] = candidate;
  if (is_better(search, candidate, search->best)) search->best = candidate;
  const struct hr__search_watch *watch = &search->config->watch;
  if (watch->ran)
    watch->ran(watch->self, candidate, hr__evaluator_made(search->evaluator, candidate, search->config->replications));
}

/* Whether the number of runs has reached its limit. */
static bool is_budget_used(const struct hr__search *search) {
  return hr__runner_runs(search->evaluator->runner) >= search->config->max_runs;
}

/* Runs and empties the batch. Runs nothing if the budget is used up. */
static enum hr_status run_batch(struct hr__search *search) {
  uint32_t count = is_budget_used(search) ? 0 : search->n_batch;
  uint32_t replications = search->config->races ? 1 : search->config->replications;
  search->n_batch = 0;
  enum hr_status status = hr__evaluator_run(search->evaluator, search->batch, count, replications, search->error);
  for (uint32_t i = 0; i < count && status == HR_OK; i++) record_run(search, search->batch[i]);
  return status;
}

/* ---- Climbs ----------------------------------------------------------------------------------------- */

/* A climb searches for the best candidate of a slice, from a starting point, by steps along the axes of capacity.

   Invariant: of the candidates that a climb proposed and that were run, `at` is the best one. */

/* ---- Climbs: starting points ------------------------------------------------------------------------ */

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
  return search->state[candidate] == SEARCH_RUN &&
         !hr__evaluator_is_short(search->evaluator, candidate, search->config->replications);
}

/* Whether less capacity may suffice than at `step` of `steps` equal steps: the candidate there serves its jobs, or was
   not run because it is too expensive, and the next step is no cheaper. If the next step is cheaper, the candidate is
   too expensive because it has too little fixed capacity. */
static bool may_shrink(const struct hr__search *search, const struct hr__point *low, const struct hr__point *high,
                       uint32_t step, uint32_t steps) {
  const struct hr__bounds *bounds = search->config->bounds;
  uint32_t candidate = between(search->space, low, high, step, steps);
  if (search->state[candidate] != SEARCH_TOO_EXPENSIVE) return meets_service(search, candidate);
  uint32_t next = step < steps ? between(search->space, low, high, step + 1, steps) : candidate;
  return hr__bounds_min_objective(bounds, candidate) <= hr__bounds_min_objective(bounds, next);
}

/* Finds the smallest point between `low`, which does not serve the jobs, and `high` that serves them. Assumes that more
   capacity serves jobs better. Each batch has two points that divide the interval by three, so that two threads have
   work. The first batch has `high`, too. */
static enum hr_status trisect(struct hr__search *search, struct hr__point low, struct hr__point high) {
  uint32_t steps = max_steps(search->space, &low, &high), bad = 0, good = steps;
  uint32_t max = hr__space_candidate(search->space, &high);
  enqueue(search, max);
  enum hr_status status = good - bad > 1 ? HR_OK : run_batch(search);
  while (good - bad > 1 && status == HR_OK && !is_budget_used(search)) {
    uint32_t third = good - bad < 3 ? 1 : (good - bad) / 3;
    uint32_t first = between(search->space, &low, &high, bad + third, steps);
    uint32_t second = between(search->space, &low, &high, good - third, steps);
    enqueue(search, first);
    enqueue(search, second);
    status = run_batch(search);
    if (!may_shrink(search, &low, &high, steps, steps)) break;
    if (may_shrink(search, &low, &high, bad + third, steps)) {
      good = bad + third;
    } else {
      bad += third;
      if (good - bad <= third) break; /* both points are the same */
      *(may_shrink(search, &low, &high, good - third, steps) ? &good : &bad) = good - third;
    }
  }
  return status;
}

/* The best candidate that was run in the slice of the climb; if none was run, the current candidate of the climb. */
static uint32_t best_of_slice(const struct hr__search *search, const struct climb *climb) {
  uint32_t best = HR_NONE;
  for (uint32_t i = 0; i < search->n_run; i++)
    if (hr__space_slice(search->space, search->run[i]) == climb->slice && is_better(search, search->run[i], best))
      best = search->run[i];
  return best == HR_NONE ? climb->at : best;
}

static void begin_steps(const struct hr__search *search, struct climb *climb) {
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
static void enqueue_start(struct hr__search *search, struct climb *climb) {
  const struct hr__search_config *config = search->config;
  struct hr__point low = hr__space_corner(search->space, climb->slice, true), high = low;
  if (config->begin != HR_NONE) {
    climb->at = moved_to_slice(search->space, config->begin, climb->slice);
    enqueue(search, climb->at);
    return;
  }
  if (config->bounds) {
    low = hr__bounds_start(config->bounds, climb->slice, true);
    high = hr__bounds_start(config->bounds, climb->slice, false);
  }
  climb->at = hr__space_candidate(search->space, &high);
  enqueue(search, climb->at);
  enqueue(search, hr__space_candidate(search->space, &low));
}

/* Runs the starting points of all slices together. Then finds the capacity that serves the jobs in each slice in
   which no starting point does. */
static enum hr_status begin_slices(struct hr__search *search) {
  const struct hr__search_config *config = search->config;
  for (uint32_t i = 0; i < search->space->n_slices; i++) {
    if (config->one_slice && i != hr__space_slice(search->space, config->begin)) continue;
    struct climb *climb = &search->climbs[search->n_climbs++];
    *climb = (struct climb){.slice = i};
    begin_steps(search, climb);
    enqueue_start(search, climb);
  }
  enum hr_status status = run_batch(search);
  for (uint32_t i = 0; i < search->n_climbs && status == HR_OK; i++) {
    struct climb *climb = &search->climbs[i];
    climb->at = best_of_slice(search, climb);
    if (!meets_service(search, climb->at) && search->state[climb->at] != SEARCH_TOO_EXPENSIVE)
      status = trisect(search, hr__space_point(search->space, climb->at),
                       hr__space_corner(search->space, climb->slice, true));
    climb->at = best_of_slice(search, climb);
  }
  return status;
}

/* Reduces one capacity of a climb to the minimum that still serves the jobs. */
static enum hr_status make_lean(struct hr__search *search, struct climb *climb, uint32_t axis) {
  struct hr__point high = hr__space_point(search->space, climb->at), low = high;
  low.level[axis] = 0;
  enqueue(search, hr__space_candidate(search->space, &low));
  enum hr_status status = run_batch(search);
  if (status == HR_OK && !meets_service(search, hr__space_candidate(search->space, &low)))
    status = trisect(search, low, high);
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
  struct climb *climb = &search->climbs[search->n_climbs++];
  bool done[HR_MAX_PLAN_VARIABLES] = {false};
  *climb = (struct climb){.slice = slice, .at = from};
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

/* Begins second climbs in the best slices. rank_climbs() must have been called before. */
static enum hr_status begin_lean_slices(struct hr__search *search) {
  uint32_t count = search->n_climbs < MAX_LEAN_SLICES ? search->n_climbs : MAX_LEAN_SLICES;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < count && status == HR_OK && search->config->bounds && search->config->begin == HR_NONE; i++)
    status = begin_lean_slice(search, search->climbs[i].slice, search->climbs[i].at);
  return status;
}

/* ---- Climbs: pattern search ------------------------------------------------------------------------- */

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

static void enqueue_steps(struct hr__search *search, const struct climb *climb) {
  for (uint32_t i = 0; i < search->space->n_capacity; i++)
    for (int sign = -1; sign <= 1; sign += 2) {
      struct hr__point point = hr__space_point(search->space, climb->at);
      if (step_along(search->space, &point, i, sign * (int64_t)climb->step[i]))
        enqueue(search, hr__space_candidate(search->space, &point));
    }
}

/* Enqueues the candidate with one level less of capacity `from`, and with additional levels of `to` that replace its
   GPUs. */
static void enqueue_gpu_exchange(struct hr__search *search, const struct climb *climb, uint32_t from, uint32_t to) {
  struct hr__point before = hr__space_point(search->space, climb->at), point = before;
  if (!step_along(search->space, &point, from, -1)) return;
  double lost = hr__space_gpus_at(search->space, &before, from) - hr__space_gpus_at(search->space, &point, from);
  while (hr__space_gpus_at(search->space, &point, to) - hr__space_gpus_at(search->space, &before, to) < lost)
    if (!step_along(search->space, &point, to, 1)) return;
  enqueue(search, hr__space_candidate(search->space, &point));
}

/* Enqueues the candidate with one level more of capacity `to`, and without the levels of `from` that the added GPUs
   replace. */
static void enqueue_replacement(struct hr__search *search, const struct climb *climb, uint32_t from, uint32_t to) {
  struct hr__point before = hr__space_point(search->space, climb->at), point = before;
  if (!step_along(search->space, &point, to, 1)) return;
  double gained = hr__space_gpus_at(search->space, &point, to) - hr__space_gpus_at(search->space, &before, to);
  while (step_along(search->space, &point, from, -1))
    if (hr__space_gpus_at(search->space, &before, from) - hr__space_gpus_at(search->space, &point, from) >= gained)
      break;
  enqueue(search, hr__space_candidate(search->space, &point));
}

/* Enqueues three exchanges for each pair of capacity axes: a step on the first axis for a step on the second axis, and
   one level on either axis for the same number of GPUs on the other axis. */
static void enqueue_exchanges(struct hr__search *search, const struct climb *climb) {
  for (uint32_t i = 0; i < search->space->n_capacity; i++)
    for (uint32_t k = 0; k < search->space->n_capacity; k++) {
      struct hr__point point = hr__space_point(search->space, climb->at);
      if (i == k) continue;
      enqueue_gpu_exchange(search, climb, k, i);
      enqueue_replacement(search, climb, k, i);
      if (step_along(search->space, &point, i, climb->step[i]) &&
          step_along(search->space, &point, k, -(int64_t)climb->step[k]))
        enqueue(search, hr__space_candidate(search->space, &point));
    }
}

/* Enqueues steps of increasing length on each capacity axis, because neighbours may differ only by random effects. */
static void enqueue_long_steps(struct hr__search *search, uint32_t from) {
  for (uint32_t i = 0; i < search->space->n_capacity; i++) {
    int64_t last_level = (int64_t)hr__space_levels(search->space, search->space->capacity[i]) - 1;
    for (int sign = -1; sign <= 1; sign += 2)
      for (int64_t levels = 2; levels < 2 * last_level; levels += (levels + 1) / 2) {
        struct hr__point point = hr__space_point(search->space, from);
        if (step_along(search->space, &point, i, sign * levels))
          enqueue(search, hr__space_candidate(search->space, &point));
      }
  }
}

static bool is_finest(const struct hr__search *search, const struct climb *climb) {
  for (uint32_t i = 0; i < search->space->n_capacity; i++)
    if (climb->step[i] > 1) return false;
  return true;
}

/* Runs the batch and moves the climb to the best proposed candidate. Sets *moved if this candidate is better than the
   current one. */
static enum hr_status move_to_best(struct hr__search *search, struct climb *climb, bool *moved) {
  enum hr_status status = run_batch(search);
  *moved = false;
  for (uint32_t i = 0; i < search->n_proposed && status == HR_OK; i++) {
    uint32_t candidate = search->proposed[i];
    bool known = search->state[climb->at] == SEARCH_RUN;
    if (search->state[candidate] != SEARCH_RUN || (known && !is_better(search, candidate, climb->at))) continue;
    climb->at = candidate;
    *moved = true;
  }
  search->n_proposed = 0;
  return status;
}

/* Moves the climb by steps of the current size until no step or exchange improves it. Exchanges are tried only if no
   step improves it. */
static enum hr_status climb_level(struct hr__search *search, struct climb *climb) {
  enum hr_status status = HR_OK;
  bool moved = true;
  search->n_proposed = 0;
  while (moved && status == HR_OK && !is_budget_used(search)) {
    enqueue_steps(search, climb);
    status = move_to_best(search, climb, &moved);
    if (moved || status != HR_OK) continue;
    enqueue_exchanges(search, climb);
    status = move_to_best(search, climb, &moved);
  }
  return status;
}

/* Sorts the climbs by their current candidates. There are few climbs, so insertion sort is fast enough. */
static void rank_climbs(struct hr__search *search) {
  for (uint32_t i = 1; i < search->n_climbs; i++)
    for (uint32_t k = i; k > 0; k--) {
      struct climb before = search->climbs[k - 1], self = search->climbs[k];
      if (search->state[self.at] != SEARCH_RUN || !is_better(search, self.at, before.at)) break;
      search->climbs[k - 1] = self;
      search->climbs[k] = before;
    }
}

/* Climbs in all slices. After each halving of the steps only the better half continues. The last FINAL_CLIMBS continue
   to the end, since coarse steps cannot distinguish them. */
static enum hr_status climb_all(struct hr__search *search) {
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
    rank_climbs(search);
    uint32_t half = (search->n_climbs + 1) / 2;
    if (search->n_climbs > FINAL_CLIMBS) search->n_climbs = half > FINAL_CLIMBS ? half : FINAL_CLIMBS;
  }
  return status;
}

/* Climbs from a candidate with the finest steps. */
static enum hr_status climb_finely(struct hr__search *search, uint32_t from) {
  struct climb climb = {.slice = hr__space_slice(search->space, from), .at = from};
  for (uint32_t i = 0; i < search->space->n_capacity; i++) climb.step[i] = 1;
  return climb_level(search, &climb);
}

/* Climbs from the best candidate with the finest steps. Does nothing if the best candidate is still `before`. */
static enum hr_status climb_from_best(struct hr__search *search, uint32_t before) {
  if (search->best == HR_NONE || search->best == before) return HR_OK;
  return climb_finely(search, search->best);
}

/* ---- Races ----------------------------------------------------------------------------------------- */

/* A candidate is clearly worse than the best one if, in the first replication, its violation is larger by
   clearly_missed, or its objective by the share clearly_behind. The first replication of both has the same random
   events. */
static const double clearly_missed = 0.5, clearly_behind = 0.1;

/* Whether a candidate, judged by its first replication, may be better than the best one over more replications. */
static bool is_contender(const struct hr__search *search, uint32_t candidate) {
  struct hr__evaluation own = hr__evaluator_evaluate(search->evaluator, candidate, 1),
                        best = hr__evaluator_evaluate(search->evaluator, search->best, 1);
  double violation = fmax(best.violation, search->evaluations[search->best].violation);
  if (own.violation > violation + clearly_missed) return false;
  double margin = own.violation > 0 ? 0 : clearly_behind * fabs(best.objective);
  return violation > 0 || !(own.objective > best.objective + margin);
}

/* Adds contenders to the batch: candidates that lack replications and may be better than the best one. At most
   CONTENDERS candidates are added, the best ones by the replications that were made. */
static void list_contenders(struct hr__search *search) {
  enum { CONTENDERS = 4 };
  for (uint32_t i = 0; i < search->n_run; i++) {
    uint32_t candidate = search->run[i];
    uint32_t all = search->config->replications;
    if (hr__evaluator_made(search->evaluator, candidate, all) == all || !is_contender(search, candidate)) continue;
    bool full = search->n_batch == CONTENDERS;
    if (full && !is_better(search, candidate, search->batch[CONTENDERS - 1])) continue;
    uint32_t k = full ? CONTENDERS - 1 : search->n_batch++;
    for (; k > 0 && is_better(search, candidate, search->batch[k - 1]); k--) search->batch[k] = search->batch[k - 1];
    search->batch[k] = candidate;
  }
}

/* Makes the other replications of the candidates of the batch, and determines the best candidate again. */
static enum hr_status run_again(struct hr__search *search) {
  uint32_t count = search->n_batch, replications = search->config->replications;
  search->n_batch = 0;
  enum hr_status status = hr__evaluator_run(search->evaluator, search->batch, count, replications, search->error);
  for (uint32_t i = 0; i < count && status == HR_OK; i++)
    search->evaluations[search->batch[i]] = hr__evaluator_evaluate(search->evaluator, search->batch[i], replications);
  search->best = HR_NONE;
  for (uint32_t i = 0; i < search->n_run; i++)
    if (is_better(search, search->run[i], search->best)) search->best = search->run[i];
  return status;
}

/* Ends a race: makes the other replications of all candidates that may be the best one, a few at a time. When another
   candidate becomes the best one, climbs from there. */
static enum hr_status settle(struct hr__search *search) {
  enum hr_status status = HR_OK;
  while (status == HR_OK && search->config->races && search->best != HR_NONE && !is_budget_used(search)) {
    uint32_t before = search->best;
    list_contenders(search);
    if (search->n_batch == 0) return HR_OK;
    status = run_again(search);
    if (status == HR_OK) status = climb_from_best(search, before);
  }
  return status;
}

/* ---- The whole search ------------------------------------------------------------------------------ */

/* Returns a lower bound of the objective of a candidate if it meets the goals. Infinite if it certainly misses a
   goal. */
static double least_objective(const struct hr__search *search, uint32_t candidate) {
  const struct hr__evaluator *evaluator = search->evaluator;
  if (search->state[candidate] == SEARCH_RUN &&
      !hr__runner_is_random(evaluator->runner, evaluator->runner_ids[candidate]))
    return search->evaluations[candidate].violation > 0 ? (double)INFINITY : search->evaluations[candidate].objective;
  return search->config->bounds ? hr__bounds_proven(search->config->bounds, candidate) : -(double)INFINITY;
}

static enum hr_status rank(struct hr__search *search, struct hr__search_result *result) {
  result->ranking = malloc(((size_t)search->n_run + 1) * sizeof *result->ranking);
  if (!result->ranking) return hr_fail(search->error, HR_NO_MEMORY, "out of memory for the search");
  for (uint32_t i = 0; i < search->n_run; i++) {
    uint32_t k = result->n_ranked++;
    for (; k > 0 && is_better(search, search->run[i], result->ranking[k - 1]); k--)
      result->ranking[k] = result->ranking[k - 1];
    result->ranking[k] = search->run[i];
  }
  result->min_left = result->min_all = (double)INFINITY;
  result->too_small = search->too_small;
  result->n_too_small = search->n_too_small;
  for (uint32_t i = 0; i < search->space->n_candidates; i++) {
    if (search->state[i] == SEARCH_UNKNOWN && is_too_small(search, i)) search->state[i] = SEARCH_TOO_SMALL;
    if (search->state[i] == SEARCH_UNKNOWN && is_too_expensive(search, i)) search->state[i] = SEARCH_TOO_EXPENSIVE;
    result->counts.run += search->state[i] == SEARCH_RUN;
    result->counts.too_expensive += search->state[i] == SEARCH_TOO_EXPENSIVE;
    result->counts.too_small += search->state[i] == SEARCH_TOO_SMALL;
    result->counts.not_evaluated += search->state[i] == SEARCH_UNKNOWN;
    double bound = least_objective(search, i);
    if (search->state[i] == SEARCH_UNKNOWN && bound < result->min_left) result->min_left = bound;
    if (bound < result->min_all) result->min_all = bound;
  }
  search->too_small = NULL; /* the result owns the list now */
  return HR_OK;
}

/* ---- Leaving local optima -------------------------------------------------------------------------- */

/* Enqueues candidates that differ from the best one in exactly one axis that is not capacity. */
static void enqueue_other_settings(struct hr__search *search) {
  const struct hr__space *space = search->space;
  for (uint32_t i = 0; i < space->n_axes; i++) {
    if (space->spec->variables[i].pools) continue;
    struct hr__point point = hr__space_point(space, search->best);
    for (point.level[i] = 0; point.level[i] < hr__space_levels(space, i); point.level[i]++)
      enqueue(search, hr__space_candidate(space, &point));
  }
}

/* Whether the slice is searched for local optima: a climb of the slice continued to the end, or there are few slices.
 */
static bool is_examined(const struct hr__search *search, uint32_t slice) {
  enum { FEW_SLICES = 4 };
  bool examined = search->space->n_slices <= FEW_SLICES;
  for (uint32_t i = 0; i < search->n_climbs; i++) examined = examined || search->climbs[i].slice == slice;
  return examined;
}

/* Finds the minimum of one capacity that serves the jobs without any other variable capacity. Climbs from there if this
   candidate is the best of its slice. */
static enum hr_status try_one_fixed(struct hr__search *search, uint32_t slice, uint32_t capacity) {
  const struct hr__space *space = search->space;
  struct hr__point low = hr__space_corner(space, slice, false), high = low;
  struct climb climb = {.slice = slice, .at = hr__space_candidate(space, &low)};
  uint32_t before = best_of_slice(search, &climb);
  high.level[space->capacity[capacity]] = hr__space_levels(space, space->capacity[capacity]) - 1;
  enum hr_status status = trisect(search, low, high);
  climb.at = best_of_slice(search, &climb);
  return status == HR_OK && climb.at != before ? climb_finely(search, climb.at) : status;
}

/* Tries each fixed capacity without any other variable capacity. A climb does not find these candidates, since every
   single step towards them may increase the cost. */
static enum hr_status try_fixed_only(struct hr__search *search) {
  const struct hr__bounds *bounds = search->config->bounds;
  enum hr_status status = HR_OK;
  for (uint32_t slice = 0; bounds && slice < search->space->n_slices; slice++)
    for (uint32_t k = 0; k < search->space->n_capacity && status == HR_OK && is_examined(search, slice); k++)
      if (bounds->slices[slice].fixed[k] > 0) status = try_one_fixed(search, slice, k);
  return status;
}

/* Tries long steps and other settings from the best candidate, as long as they improve it. */
static enum hr_status take_long_steps(struct hr__search *search) {
  uint32_t before = HR_NONE;
  enum hr_status status = HR_OK;
  while (status == HR_OK && search->best != before && !is_budget_used(search)) {
    before = search->best;
    enqueue_long_steps(search, search->best);
    enqueue_other_settings(search);
    status = run_batch(search);
    if (status == HR_OK) status = climb_from_best(search, before);
  }
  return status;
}

/* Tries points of a Sobol sequence: 1/25 of the grid, at most 20 points. Climbs if one of them is the best candidate.
 */
static enum hr_status sample_grid(struct hr__search *search) {
  enum { MAX_SAMPLES = 20 };
  const struct hr__space *space = search->space;
  uint32_t n_samples = space->n_candidates / 25 < MAX_SAMPLES ? space->n_candidates / 25 : MAX_SAMPLES,
           before = search->best;
  gsl_qrng *sobol = gsl_qrng_alloc(gsl_qrng_sobol, space->n_axes);
  if (!sobol) return hr_fail(search->error, HR_NO_MEMORY, "out of memory for the search");
  for (uint32_t tries = 0; search->n_batch < n_samples && tries < 16 * n_samples; tries++) {
    double at[HR_MAX_PLAN_VARIABLES];
    struct hr__point point;
    gsl_qrng_get(sobol, at);
    for (uint32_t i = 0; i < space->n_axes; i++) point.level[i] = (uint32_t)(at[i] * hr__space_levels(space, i));
    enqueue(search, hr__space_candidate(space, &point));
  }
  gsl_qrng_free(sobol);
  enum hr_status status = run_batch(search);
  return status == HR_OK ? climb_from_best(search, before) : status;
}

/* Whether all capacity of the slice is fixed. The lower bound is then exact. */
static bool has_exact_bounds(const struct hr__bounds *bounds, uint32_t slice) {
  const struct hr__slice_prices *prices = &bounds->slices[slice];
  bool exact = bounds->weight > 0 && prices->min_elastic == 0;
  for (uint32_t i = 0; i < bounds->space->n_capacity; i++) exact = exact && prices->fixed[i] > 0;
  return exact;
}

/* Runs candidates that are unknown, and only those with exact bounds if `exact` is set, from the largest capacity on,
   in small batches, so that good candidates exclude others. Ends after MAX_RUNS runs or, if `any` is set, when a
   candidate meets the goals. */
static enum hr_status run_unknown(struct hr__search *search, bool exact, bool any) {
  enum { BATCH = 16, MAX_RUNS = 200 };
  const struct hr__bounds *bounds = search->config->bounds;
  uint32_t max = search->n_run + MAX_RUNS;
  enum hr_status status = HR_OK;
  for (uint32_t i = search->space->n_candidates;
       i-- > 0 && status == HR_OK && search->n_run < max && !is_budget_used(search);) {
    if (!exact || has_exact_bounds(bounds, hr__space_slice(search->space, i))) enqueue(search, i);
    if (search->n_batch == BATCH || i == 0) status = run_batch(search);
    if (any && search->evaluations[search->best].violation == 0) break;
  }
  return status == HR_OK && search->n_batch ? run_batch(search) : status;
}

/* Runs candidates that cost less than the best one, in slices in which all capacity is fixed. There, costs are known
   without runs. Does nothing if every capacity is monotone: more of it never serves jobs worse. Otherwise a cheaper
   candidate may be another local optimum, for example with several GPUs of one type in place of one GPU of
   another type. */
static enum hr_status try_cheaper(struct hr__search *search) {
  const struct hr__space *space = search->space;
  bool monotone = true;
  for (uint32_t i = 0; i < space->n_capacity; i++) monotone = monotone && !space->non_monotone[space->capacity[i]];
  return monotone || !search->config->bounds ? HR_OK : run_unknown(search, true, false);
}

/* If no candidate met the goals, runs candidates until one does, and climbs from there. */
static enum hr_status try_any(struct hr__search *search) {
  uint32_t before = search->best;
  if (before == HR_NONE || search->evaluations[before].violation == 0) return HR_OK;
  enum hr_status status = run_unknown(search, false, true);
  return status == HR_OK ? climb_from_best(search, before) : status;
}

/* ---- Prediction ------------------------------------------------------------------------------------ */

/* PREDICTED: candidates that are run together because they are promising. PATIENCE: candidates that are run without an
   improvement before the search ends. */
enum { PREDICTED = 4, PATIENCE = 16 };
/* No prediction is made from a candidate with a larger violation than this. */
static const double near_enough = 0.5;
/* A candidate is promising if its predicted objective is at most this share above the best one. */
static const double promising = 0.15;

/* The number of steps between two candidates: levels of capacity, and two for each other axis that differs. */
static uint32_t distance(const struct hr__space *space, const struct hr__point *a, const struct hr__point *b) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < space->n_axes; i++) {
    uint32_t x = a->level[i], y = b->level[i], apart = x < y ? y - x : x - y;
    sum += hr__space_is_capacity(space, i) ? apart : 2 * (apart > 0);
  }
  return sum;
}

/* The candidate that was run and is nearest to a point; of several, the best. */
static uint32_t nearest_run(const struct hr__search *search, const struct hr__point *point) {
  uint32_t nearest = HR_NONE, min = UINT32_MAX;
  for (uint32_t i = 0; i < search->n_run; i++) {
    struct hr__point other = hr__space_point(search->space, search->run[i]);
    uint32_t steps = distance(search->space, point, &other);
    if (steps > min || (steps == min && !is_better(search, search->run[i], nearest))) continue;
    nearest = search->run[i];
    min = steps;
  }
  return nearest;
}

/* Predicts the objective of a candidate: that of the nearest candidate that was run, plus the difference of their lower
   bounds. Infinite if the nearest candidate misses a goal by much. Also infinite if it misses a goal slightly and this
   candidate does not have more GPUs. */
static double predict(const struct hr__search *search, uint32_t candidate) {
  const struct hr__bounds *bounds = search->config->bounds;
  struct hr__point point = hr__space_point(search->space, candidate);
  uint32_t nearest = nearest_run(search, &point);
  const struct hr__evaluation *known = &search->evaluations[nearest];
  bool has_more = hr__space_gpus(search->space, candidate) > hr__space_gpus(search->space, nearest);
  if (known->violation > near_enough || (known->violation > 0 && !has_more)) return (double)INFINITY;
  return known->objective + hr__bounds_min_objective(bounds, candidate) - hr__bounds_min_objective(bounds, nearest);
}

/* Enqueues the candidates with the lowest predictions that are at most slightly above the best objective. */
static void enqueue_predicted(struct hr__search *search) {
  double limit = search->evaluations[search->best].objective * (1 + promising);
  struct {
    uint32_t candidate;
    double objective;
  } found[PREDICTED];
  uint32_t n = 0;
  for (uint32_t i = 0; i < search->space->n_candidates; i++) {
    if (search->state[i] != SEARCH_UNKNOWN || is_too_expensive(search, i) || is_too_small(search, i)) continue;
    double objective = predict(search, i);
    if (!(objective <= limit) || (n == PREDICTED && objective >= found[n - 1].objective)) continue;
    uint32_t k = n < PREDICTED ? n++ : n - 1;
    for (; k > 0 && objective < found[k - 1].objective; k--) found[k] = found[k - 1];
    found[k].candidate = i;
    found[k].objective = objective;
  }
  for (uint32_t i = 0; i < n; i++) enqueue(search, found[i].candidate);
}

/* Runs the most promising candidates until PATIENCE of them have not improved the best candidate. Does nothing on
   grids on which the predictions would take long. */
static enum hr_status try_predicted(struct hr__search *search) {
  uint32_t until = search->n_run + PATIENCE;
  enum hr_status status = HR_OK;
  const double max_work = 2e7;
  if (!search->config->bounds || search->best == HR_NONE || search->evaluations[search->best].violation > 0 ||
      (double)search->space->n_candidates * search->n_run > max_work)
    return status;
  while (status == HR_OK && search->n_run < until && !is_budget_used(search)) {
    uint32_t before = search->best, n_run = search->n_run;
    enqueue_predicted(search);
    if (search->n_batch == 0) return status;
    status = run_batch(search);
    if (status == HR_OK) status = climb_from_best(search, before);
    if (search->n_run == n_run) break;
    if (search->best != before) until = search->n_run + PATIENCE;
  }
  return status;
}

/* ---- The search ------------------------------------------------------------------------------------------ */

static bool allocate(struct hr__search *search) {
  size_t max = (size_t)search->space->n_candidates + 1;
  search->state = calloc(max, sizeof *search->state);
  search->evaluations = calloc(max, sizeof *search->evaluations);
  search->run = calloc(max, sizeof *search->run);
  search->too_small = calloc(max, sizeof *search->too_small);
  search->batch = calloc(max, sizeof *search->batch);
  search->proposed = calloc(MAX_PROPOSED, sizeof *search->proposed);
  search->climbs = calloc((size_t)search->space->n_slices + MAX_LEAN_SLICES, sizeof *search->climbs);
  return search->state && search->evaluations && search->run && search->too_small && search->batch &&
         search->proposed && search->climbs;
}

static void release(struct hr__search *search) {
  free(search->state);
  free(search->evaluations);
  free(search->run);
  free(search->too_small);
  free(search->batch);
  free(search->proposed);
  free(search->climbs);
}

static enum hr_status search_fast(struct hr__search *search) {
  enum hr_status status = begin_slices(search);
  rank_climbs(search);
  if (status == HR_OK) status = begin_lean_slices(search);
  if (status == HR_OK) status = climb_all(search);
  if (status == HR_OK) status = settle(search);
  if (status != HR_OK || search->config->begin != HR_NONE) return status;
  status = try_fixed_only(search);
  if (status == HR_OK && search->config->thorough) status = sample_grid(search);
  if (status == HR_OK) status = take_long_steps(search);
  if (status == HR_OK) status = try_any(search);
  if (status == HR_OK) status = try_predicted(search);
  if (status == HR_OK) status = try_cheaper(search);
  return status == HR_OK ? settle(search) : status;
}

enum hr_status hr__search(const struct hr__search_config *config, struct hr__search_result *result,
                          struct hr_error *error) {
  struct hr__search search = {.config = config,
                              .space = config->evaluator->space,
                              .evaluator = config->evaluator,
                              .best = HR_NONE,
                              .error = error};
  *result = (struct hr__search_result){0};
  enum hr_status status = allocate(&search) ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (uint32_t i = 0; config->exhaustive && status == HR_OK && i < search.space->n_candidates; i++)
    search.batch[search.n_batch++] = i;
  if (status == HR_OK) status = config->exhaustive ? run_batch(&search) : search_fast(&search);
  if (status == HR_OK) status = rank(&search, result);
  release(&search);
  return status;
}
