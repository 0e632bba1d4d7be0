/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The search of a plan's grid: the batch of candidates that are run together, races, the methods that leave local
 * optima, and the order of the parts of the search. search_state.h describes the whole search and its data.
 */

#include "plan/search/search_state.h"

#include <gsl/gsl_qrng.h>
#include <math.h>
#include <stdlib.h>

/* ---- Running candidates ---------------------------------------------------------------------------- */

/* A candidate excludes the candidates that it covers only if its violation is larger than this. */
static const double clear_miss = 0.1;

bool hr__search_is_better(const struct hr__search *search, uint32_t a, uint32_t b) {
  return b == HR_NONE ||
         hr__evaluation_is_better(search->space, a, &search->evaluations[a], b, &search->evaluations[b]);
}

bool hr__search_is_too_small(const struct hr__search *search, uint32_t candidate) {
  const struct hr__search_config *config = search->config;
  for (uint32_t i = 0; i < search->n_too_small; i++)
    if (hr__space_covers(search->space, search->too_small[i], candidate)) return true;
  for (uint32_t i = 0; i < config->n_too_small; i++)
    if (hr__space_covers(search->space, config->too_small[i], candidate)) return true;
  return false;
}

bool hr__search_is_too_expensive(const struct hr__search *search, uint32_t candidate) {
  if (!search->config->bounds || search->best == HR_NONE) return false;
  const struct hr__evaluation *best = &search->evaluations[search->best];
  return best->violation == 0 && hr__bounds_min_objective(search->config->bounds, candidate) > best->objective;
}

void hr__search_enqueue(struct hr__search *search, uint32_t candidate) {
  if (search->n_proposed < HR__MAX_PROPOSED) search->proposed[search->n_proposed++] = candidate;
  if (search->state[candidate] != HR__SEARCH_UNKNOWN) return;
  for (uint32_t i = 0; i < search->n_batch; i++)
    if (search->batch[i] == candidate) return;
  if (hr__search_is_too_small(search, candidate))
    search->state[candidate] = HR__SEARCH_TOO_SMALL;
  else if (hr__search_is_too_expensive(search, candidate))
    search->state[candidate] = HR__SEARCH_TOO_EXPENSIVE;
  else
    search->batch[search->n_batch++] = candidate;
}

static void record_run(struct hr__search *search, uint32_t candidate) {
  search->state[candidate] = HR__SEARCH_RUN;
  search->evaluations[candidate] = hr__evaluator_evaluate(search->evaluator, candidate, search->config->replications);
  search->run[search->n_run++] = candidate;
  /* Spot interruptions and the packing of gangs add noise, so a candidate that slightly misses the goals excludes
     nothing. */
  if (search->evaluations[candidate].violation > clear_miss &&
      hr__evaluator_is_short(search->evaluator, candidate, search->config->replications))
    search->too_small[search->n_too_small++] = candidate;
  if (hr__search_is_better(search, candidate, search->best)) search->best = candidate;
  const struct hr__search_watch *watch = &search->config->watch;
  if (watch->ran)
    watch->ran(watch->self, candidate, hr__evaluator_made(search->evaluator, candidate, search->config->replications));
}

bool hr__search_is_budget_used(const struct hr__search *search) {
  return hr__runner_runs(search->evaluator->runner) >= search->config->max_runs;
}

enum hr_status hr__search_run_batch(struct hr__search *search) {
  uint32_t count = hr__search_is_budget_used(search) ? 0 : search->n_batch;
  uint32_t replications = search->config->races ? 1 : search->config->replications;
  search->n_batch = 0;
  enum hr_status status = hr__evaluator_run(search->evaluator, search->batch, count, replications, search->error);
  for (uint32_t i = 0; i < count && status == HR_OK; i++) record_run(search, search->batch[i]);
  return status;
}

/* ---- Races ----------------------------------------------------------------------------------------- */

/* A candidate is clearly worse than the best one if, in the first replication, its violation is larger by this, or its
   objective by this share. The first replication of both has the same random events. */
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

/* Puts up to CONTENDERS candidates into the batch that may be better than the best one and lack replications: the best
   ones by the replications that were made. */
static void list_contenders(struct hr__search *search) {
  enum { CONTENDERS = 4 };
  for (uint32_t i = 0; i < search->n_run; i++) {
    uint32_t candidate = search->run[i];
    uint32_t all = search->config->replications;
    if (hr__evaluator_made(search->evaluator, candidate, all) == all || !is_contender(search, candidate)) continue;
    bool full = search->n_batch == CONTENDERS;
    if (full && !hr__search_is_better(search, candidate, search->batch[CONTENDERS - 1])) continue;
    uint32_t k = full ? CONTENDERS - 1 : search->n_batch++;
    for (; k > 0 && hr__search_is_better(search, candidate, search->batch[k - 1]); k--)
      search->batch[k] = search->batch[k - 1];
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
    if (hr__search_is_better(search, search->run[i], search->best)) search->best = search->run[i];
  return status;
}

/* Ends a race: makes the other replications of all candidates that may be the best one, a few at a time. When another
   candidate becomes the best one, climbs from there. */
static enum hr_status settle(struct hr__search *search) {
  enum hr_status status = HR_OK;
  while (status == HR_OK && search->config->races && search->best != HR_NONE && !hr__search_is_budget_used(search)) {
    uint32_t before = search->best;
    list_contenders(search);
    if (search->n_batch == 0) return HR_OK;
    status = run_again(search);
    if (status == HR_OK) status = hr__search_climb_from_best(search, before);
  }
  return status;
}

/* ---- The whole search ------------------------------------------------------------------------------ */

/* Returns a lower bound of the cost of a candidate if it meets the goals. Infinite if it certainly misses a goal. */
static double least_objective(const struct hr__search *search, uint32_t candidate) {
  const struct hr__evaluator *evaluator = search->evaluator;
  if (search->state[candidate] == HR__SEARCH_RUN &&
      !hr__runner_is_random(evaluator->runner, evaluator->runner_ids[candidate]))
    return search->evaluations[candidate].violation > 0 ? (double)INFINITY : search->evaluations[candidate].objective;
  return search->config->bounds ? hr__bounds_proven(search->config->bounds, candidate) : -(double)INFINITY;
}

static enum hr_status rank(struct hr__search *search, struct hr__search_result *result) {
  result->ranking = malloc(((size_t)search->n_run + 1) * sizeof *result->ranking);
  if (!result->ranking) return hr_fail(search->error, HR_NO_MEMORY, "out of memory for the search");
  for (uint32_t i = 0; i < search->n_run; i++) {
    uint32_t k = result->n_ranked++;
    for (; k > 0 && hr__search_is_better(search, search->run[i], result->ranking[k - 1]); k--)
      result->ranking[k] = result->ranking[k - 1];
    result->ranking[k] = search->run[i];
  }
  result->min_left = result->min_all = (double)INFINITY;
  result->too_small = search->too_small;
  result->n_too_small = search->n_too_small;
  for (uint32_t i = 0; i < search->space->n_candidates; i++) {
    if (search->state[i] == HR__SEARCH_UNKNOWN && hr__search_is_too_small(search, i))
      search->state[i] = HR__SEARCH_TOO_SMALL;
    if (search->state[i] == HR__SEARCH_UNKNOWN && hr__search_is_too_expensive(search, i))
      search->state[i] = HR__SEARCH_TOO_EXPENSIVE;
    result->counts.run += search->state[i] == HR__SEARCH_RUN;
    result->counts.too_expensive += search->state[i] == HR__SEARCH_TOO_EXPENSIVE;
    result->counts.too_small += search->state[i] == HR__SEARCH_TOO_SMALL;
    result->counts.not_evaluated += search->state[i] == HR__SEARCH_UNKNOWN;
    double bound = least_objective(search, i);
    if (search->state[i] == HR__SEARCH_UNKNOWN && bound < result->min_left) result->min_left = bound;
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
  while (status == HR_OK && search->best != before && !hr__search_is_budget_used(search)) {
    before = search->best;
    hr__search_enqueue_long_steps(search, search->best);
    enqueue_other_settings(search);
    status = hr__search_run_batch(search);
    if (status == HR_OK) status = hr__search_climb_from_best(search, before);
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
    hr__search_enqueue(search, hr__space_candidate(space, &point));
  }
  gsl_qrng_free(sobol);
  enum hr_status status = hr__search_run_batch(search);
  return status == HR_OK ? hr__search_climb_from_best(search, before) : status;
}

/* Whether all capacity of the slice is fixed. The lower bound is then exact. */
static bool has_exact_bounds(const struct hr__bounds *bounds, uint32_t slice) {
  const struct hr__slice_prices *prices = &bounds->slices[slice];
  bool exact = bounds->weight > 0 && prices->min_elastic == 0;
  for (uint32_t i = 0; i < bounds->space->n_capacity; i++) exact = exact && prices->fixed[i] > 0;
  return exact;
}

/* Runs candidates that cost less than the best one, in slices in which all capacity is fixed. There, costs are known
   without runs. Does nothing if every capacity is monotone: more of it never serves jobs worse. Otherwise a cheaper
   candidate may be another local optimum, for example with several GPUs of one type in place of one GPU of
   another type. The candidates are run in small batches, so that good candidates exclude others. */
static enum hr_status try_cheaper(struct hr__search *search) {
  enum { BATCH = 16, MAX_RUNS = 200 };
  const struct hr__space *space = search->space;
  bool monotone = true;
  for (uint32_t i = 0; i < space->n_capacity; i++) monotone = monotone && !space->non_monotone[space->capacity[i]];
  enum hr_status status = HR_OK;
  if (monotone || !search->config->bounds) return status;
  uint32_t max = search->n_run + MAX_RUNS;
  for (uint32_t i = space->n_candidates; i-- > 0 && status == HR_OK && search->n_run < max;) {
    if (has_exact_bounds(search->config->bounds, hr__space_slice(space, i))) hr__search_enqueue(search, i);
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

/* Runs the most promising candidates until PATIENCE of them have not improved the best candidate. Does nothing on
   grids on which the predictions would take long. */
static enum hr_status try_predicted(struct hr__search *search) {
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

/* ---- The search ------------------------------------------------------------------------------------------ */

static bool allocate(struct hr__search *search) {
  size_t max = (size_t)search->space->n_candidates + 1;
  search->state = calloc(max, sizeof *search->state);
  search->evaluations = calloc(max, sizeof *search->evaluations);
  search->run = calloc(max, sizeof *search->run);
  search->too_small = calloc(max, sizeof *search->too_small);
  search->batch = calloc(max, sizeof *search->batch);
  search->proposed = calloc(HR__MAX_PROPOSED, sizeof *search->proposed);
  search->climbs = calloc((size_t)search->space->n_slices + HR__MAX_LEAN_SLICES, sizeof *search->climbs);
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
  enum hr_status status = hr__search_begin_slices(search);
  hr__search_rank_climbs(search);
  if (status == HR_OK) status = hr__search_begin_lean_slices(search);
  if (status == HR_OK) status = hr__search_climb_all(search);
  if (status == HR_OK) status = settle(search);
  if (status != HR_OK || search->config->begin != HR_NONE) return status;
  status = try_fixed_only(search);
  if (status == HR_OK && search->config->thorough) status = sample_grid(search);
  if (status == HR_OK) status = take_long_steps(search);
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
  if (status == HR_OK) status = config->exhaustive ? hr__search_run_batch(&search) : search_fast(&search);
  if (status == HR_OK) status = rank(&search, result);
  release(&search);
  return status;
}
