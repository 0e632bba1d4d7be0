/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Climbs can end in local optima. To leave them, the search tries each fixed capacity alone, long steps, other
 * settings, points of a Sobol sequence, and candidates for which the results of other candidates predict a good
 * objective.
 *
 * They are described in search_state.h, item 4. If one of these methods finds a new best candidate, it climbs from this
 * candidate.
 */

#include "plan/search/search_state.h"

#include <gsl/gsl_qrng.h>
#include <math.h>

/* ---- Leaving local optima -------------------------------------------------------------------------- */

/* Enqueues candidates that differ from the best one in exactly one axis that is not capacity. */
static void enqueue_other_settings(struct hr__search *search) {
  const struct hr__space *space = search->space;
  for (uint32_t i = 0; i < space->n_axes; i++) {
    if (space->spec->variables[i].pools) continue;
    struct hr__point point = hr__space_point(space, search->best);
    for (point.level[i] = 0; point.level[i] < hr__space_levels(space, i); point.level[i]++)
      hr__search_enqueue(search, hr__space_candidate(space, &point));
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
  struct hr__climb climb = {.slice = slice, .at = hr__space_candidate(space, &low)};
  uint32_t before = hr__search_best_of_slice(search, &climb);
  high.level[space->capacity[capacity]] = hr__space_levels(space, space->capacity[capacity]) - 1;
  enum hr_status status = hr__search_trisect(search, low, high);
  climb.at = hr__search_best_of_slice(search, &climb);
  return status == HR_OK && climb.at != before ? hr__search_climb_finely(search, climb.at) : status;
}

enum hr_status hr__search_try_fixed_only(struct hr__search *search) {
  const struct hr__bounds *bounds = search->config->bounds;
  enum hr_status status = HR_OK;
  for (uint32_t slice = 0; bounds && slice < search->space->n_slices; slice++)
    for (uint32_t k = 0; k < search->space->n_capacity && status == HR_OK && is_examined(search, slice); k++)
      if (bounds->slices[slice].fixed[k] > 0) status = try_one_fixed(search, slice, k);
  return status;
}

enum hr_status hr__search_take_long_steps(struct hr__search *search) {
  uint32_t before = HR_NONE;
  enum hr_status status = HR_OK;
  while (status == HR_OK && search->best != before && !hr__search_is_budget_used(search)) {
    before = search->best;
    hr__search_enqueue_long_steps(search, search->best);
    enqueue_other_settings(search);
    status = hr__search_run_batch(search);
    if (status == HR_OK) status = hr__search_climb_from_best(search, before);
  }
  return status;
}

enum hr_status hr__search_sample_grid(struct hr__search *search) {
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
    hr__search_enqueue(search, hr__space_candidate(space, &point));
  }
  gsl_qrng_free(sobol);
  enum hr_status status = hr__search_run_batch(search);
  return status == HR_OK ? hr__search_climb_from_best(search, before) : status;
}

enum hr_status hr__search_try_cheaper(struct hr__search *search) {
  enum { BATCH = 16, MAX_RUNS = 200 };
  const struct hr__space *space = search->space;
  bool monotone = true;
  for (uint32_t i = 0; i < space->n_capacity; i++) monotone = monotone && !space->non_monotone[space->capacity[i]];
  enum hr_status status = HR_OK;
  if (monotone || !search->config->bounds) return status;
  uint32_t max = search->n_run + MAX_RUNS;
  for (uint32_t i = space->n_candidates; i-- > 0 && status == HR_OK && search->n_run < max;) {
    if (hr__bounds_exact(search->config->bounds, hr__space_slice(space, i))) hr__search_enqueue(search, i);
    if (search->n_batch == BATCH || i == 0) status = hr__search_run_batch(search);
  }
  return status == HR_OK && search->n_batch ? hr__search_run_batch(search) : status;
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
    if (steps > min || (steps == min && !hr__search_is_better(search, search->run[i], nearest))) continue;
    nearest = search->run[i];
    min = steps;
  }
  return nearest;
}

/* Predicts the objective of a candidate: that of the nearest candidate that was run, plus the difference of their lower
   bounds. Infinite if the nearest candidate misses a goal by much, or slightly without this one having more GPUs. */
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
    if (search->state[i] != HR__SEARCH_UNKNOWN || hr__search_is_too_expensive(search, i) ||
        hr__search_is_too_small(search, i))
      continue;
    double objective = predict(search, i);
    if (!(objective <= limit) || (n == PREDICTED && objective >= found[n - 1].objective)) continue;
    uint32_t k = n < PREDICTED ? n++ : n - 1;
    for (; k > 0 && objective < found[k - 1].objective; k--) found[k] = found[k - 1];
    found[k].candidate = i;
    found[k].objective = objective;
  }
  for (uint32_t i = 0; i < n; i++) hr__search_enqueue(search, found[i].candidate);
}

enum hr_status hr__search_try_predicted(struct hr__search *search) {
  uint32_t until = search->n_run + PATIENCE;
  enum hr_status status = HR_OK;
  const double max_work = 2e7;
  if (!search->config->bounds || search->best == HR_NONE || search->evaluations[search->best].violation > 0 ||
      (double)search->space->n_candidates * search->n_run > max_work)
    return status;
  while (status == HR_OK && search->n_run < until && !hr__search_is_budget_used(search)) {
    uint32_t before = search->best, n_run = search->n_run;
    enqueue_predicted(search);
    if (search->n_batch == 0) return status;
    status = hr__search_run_batch(search);
    if (status == HR_OK) status = hr__search_climb_from_best(search, before);
    if (search->n_run == n_run) break;
    if (search->best != before) until = search->n_run + PATIENCE;
  }
  return status;
}
