/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The search of a plan's grid: the batch of candidates that are run together, races, and the order of the parts of the
 * search. search_state.h describes the whole search and its data.
 */

#include "plan/search/search_state.h"

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
  status = hr__search_try_fixed_only(search);
  if (status == HR_OK && search->config->thorough) status = hr__search_sample_grid(search);
  if (status == HR_OK) status = hr__search_take_long_steps(search);
  if (status == HR_OK) status = hr__search_try_predicted(search);
  if (status == HR_OK) status = hr__search_try_cheaper(search);
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
