/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Selects the best of a few finalists (the choice), with as many replications as the selection needs.
 *
 * The procedure is that of Kim and Nelson (ACM TOMACS 11, 2001) on common random numbers. All finalists are run side by
 * side. A finalist is dropped when another finalist, which meets the goals, is better by more than the procedure
 * allows. Both are compared over the replications that both have. Differences within the indifference zone are not
 * resolved. If metrics are normally distributed, the choice is, with the requested probability, the best finalist or
 * differs from it by at most the indifference zone.
 *
 * The reported probability is computed differently, by a paired bootstrap. Replications are resampled, the same ones
 * for all finalists. The probability is the share of resamples in which the choice meets the goals, and no other
 * finalist that meets them is better by more than the zone.
 */

#include "plan/search/search.h"

#include "base/random.h"
#include "plan/runner/runner.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWS = 2000 };

struct contest {
  const struct hr__selection_config *config;
  struct hr__evaluator *evaluator;
  const uint32_t *finalists;
  uint32_t count;
  uint32_t replications; /* number of replications of the active finalists */
  uint32_t *made;        /* [count] number of replications of each finalist */
  bool *active;          /* [count] the finalist was not dropped */
  double *objectives;    /* [count][max_replications] */
  struct hr_error *error;
};

static double *objectives_of(const struct contest *contest, uint32_t finalist) {
  return contest->objectives + (size_t)finalist * contest->config->max_replications;
}

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the finalists");
}

/* ---- Running --------------------------------------------------------------------------------------- */

static enum hr_status run(struct contest *contest, uint32_t replications) {
  uint32_t *batch = calloc((size_t)contest->count + 1, sizeof *batch), n = 0;
  if (!batch) return no_memory(contest->error);
  for (uint32_t i = 0; i < contest->count; i++)
    if (contest->active[i]) batch[n++] = contest->finalists[i];
  enum hr_status status = hr__evaluator_run(contest->evaluator, batch, n, replications, contest->error);
  free(batch);
  if (status != HR_OK) return status;
  contest->replications = replications;
  for (uint32_t i = 0; i < contest->count; i++) {
    if (!contest->active[i]) continue;
    contest->made[i] = replications;
    hr__evaluator_objectives(contest->evaluator, contest->finalists[i], replications, objectives_of(contest, i));
  }
  return HR_OK;
}

/* ---- Dropping -------------------------------------------------------------------------------------- */

static struct hr__evaluation evaluation_of(const struct contest *contest, uint32_t finalist) {
  return hr__evaluator_evaluate(contest->evaluator, contest->finalists[finalist], contest->made[finalist]);
}

/* The best active finalist. */
static uint32_t leader(const struct contest *contest) {
  uint32_t best = HR_NONE;
  struct hr__evaluation best_evaluation = {0};
  for (uint32_t i = 0; i < contest->count; i++) {
    if (!contest->active[i]) continue;
    struct hr__evaluation evaluation = evaluation_of(contest, i);
    if (best != HR_NONE && !hr__evaluation_is_better(contest->evaluator->space, contest->finalists[i], &evaluation,
                                                     contest->finalists[best], &best_evaluation))
      continue;
    best = i;
    best_evaluation = evaluation;
  }
  return best;
}

static double mean_difference(const double *a, const double *b, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += a[i] - b[i];
  return sum / count;
}

/* The sample variance of the differences a - b over the first `count` replications. */
static double variance(const double *a, const double *b, uint32_t count) {
  double mean = mean_difference(a, b, count), squares = 0;
  for (uint32_t i = 0; i < count; i++) squares += (a[i] - b[i] - mean) * (a[i] - b[i] - mean);
  return squares / (count - 1);
}

/* The maximum difference from the leader with which a finalist is not dropped: W = max(0, d / (2 r) (h^2 S^2 / d^2 -
   r)), where h^2 = 2 eta (n0 - 1), eta = ((2 alpha / (k - 1))^(-2 / (n0 - 1)) - 1) / 2. Here d is the zone, r the
   number of replications, S^2 the `spread`, n0 the size of the first stage and k the number of finalists. */
static double allowance(const struct contest *contest, double zone, double spread) {
  const struct hr__selection_config *config = contest->config;
  double n0 = config->first, r = contest->replications, alpha = 1 - config->confidence;
  double eta = (pow(2 * alpha / fmax(1, contest->count - 1.0), -2 / (n0 - 1)) - 1) / 2;
  double h2 = 2 * eta * (n0 - 1);
  return zone > 0 ? fmax(0, zone / (2 * r) * (h2 * spread / (zone * zone) - r)) : (spread > 0 ? (double)INFINITY : 0);
}

/* Whether a goal is missed with statistical significance. */
static enum hr_status significantly_fails(const struct contest *contest, uint32_t finalist, bool *fails) {
  const struct hr__goals *goals = contest->evaluator->goals;
  double *values = malloc(((size_t)contest->made[finalist] + 1) * sizeof *values);
  enum hr_status status = values ? HR_OK : HR_NO_MEMORY;
  *fails = hr__evaluator_unknown_costs(contest->evaluator, contest->finalists[finalist]) > 0;
  for (size_t i = 0; i < goals->n_goals && status == HR_OK; i++) {
    const struct hr__goal *goal = &goals->goals[i];
    struct hr__interval interval;
    hr__evaluator_values(contest->evaluator, contest->finalists[finalist], contest->made[finalist], goal->metric,
                         values);
    status =
        hr__interval_uncorrected(values, contest->made[finalist], hr__metric_rows[goals->metrics[goal->metric].id].kind,
                                 contest->config->confidence, !contest->evaluator->random, &interval);
    double best_case = goal->at_most ? interval.low : interval.high;
    *fails = *fails || (!isnan(best_case) && hr__goal_violation(goal, best_case) > 0);
  }
  free(values);
  return status;
}

/* If the leader meets all goals: drops finalists that are significantly worse, or that significantly miss a goal. Sets
 *settled if no further replications are needed. */
static enum hr_status drop_losers(struct contest *contest, double *zone, bool *settled) {
  uint32_t best = leader(contest);
  struct hr__evaluation best_evaluation = evaluation_of(contest, best);
  *zone = contest->config->indifference * fabs(best_evaluation.objective);
  *settled = true;
  if (best_evaluation.violation > 0) {
    *settled = false;
    return HR_OK;
  }
  for (uint32_t i = 0; i < contest->count; i++) {
    bool fails;
    if (!contest->active[i] || i == best) continue;
    if (significantly_fails(contest, i, &fails) != HR_OK) return no_memory(contest->error);
    double spread = variance(objectives_of(contest, i), objectives_of(contest, best), contest->config->first);
    double behind = mean_difference(objectives_of(contest, i), objectives_of(contest, best), contest->replications);
    double allowed = allowance(contest, *zone, spread);
    if (fails || behind > allowed)
      contest->active[i] = false;
    else
      *settled = *settled && allowed == 0;
  }
  return HR_OK;
}

enum hr_status hr__significantly_lower(const struct hr__evaluator *evaluator, uint32_t a, uint32_t b,
                                       uint32_t replications, double confidence, bool *lower, struct hr_error *error) {
  uint32_t count_a = hr__evaluator_made(evaluator, a, replications),
           count_b = hr__evaluator_made(evaluator, b, replications), count = count_a < count_b ? count_a : count_b;
  bool exact = !hr__runner_is_random(evaluator->runner, evaluator->runner_ids[a]) &&
               !hr__runner_is_random(evaluator->runner, evaluator->runner_ids[b]);
  double *values = malloc(2 * (size_t)count * sizeof *values), *other = values + count;
  struct hr__interval interval;
  if (!values) return no_memory(error);
  hr__evaluator_objectives(evaluator, a, count, values);
  hr__evaluator_objectives(evaluator, b, count, other);
  for (uint32_t r = 0; r < count; r++) values[r] -= other[r];
  enum hr_status status = hr__interval_uncorrected(values, count, HR_METRIC_MEAN, confidence, exact, &interval);
  *lower = interval.high < 0; /* false if there is no interval */
  free(values);
  return status == HR_OK ? HR_OK : no_memory(error);
}

/* ---- Probability ----------------------------------------------------------------------------------- */

/* The objective of a finalist over resampled replications; infinite if the finalist misses a goal over them. */
static double resampled_objective(const struct contest *contest, uint32_t finalist, const double *uniform,
                                  double *values) {
  const struct hr__goals *goals = contest->evaluator->goals;
  uint32_t made = contest->made[finalist], candidate = contest->finalists[finalist];
  const struct hr__runner *runner = contest->evaluator->runner;
  uint32_t runner_id = contest->evaluator->runner_ids[candidate];
  double sum = 0;
  if (hr__evaluator_unknown_costs(contest->evaluator, candidate)) return (double)INFINITY;
  for (uint32_t r = 0; r < made; r++) sum += objectives_of(contest, finalist)[(uint32_t)(uniform[r] * made)];
  for (size_t i = 0; i < goals->n_goals; i++) {
    const struct hr__goal *goal = &goals->goals[i];
    for (uint32_t r = 0; r < made; r++)
      values[r] = hr__runner_values(runner, runner_id, (uint32_t)(uniform[r] * made))[goal->metric];
    double centre = hr__metric_centre(values, made, hr__metric_rows[goals->metrics[goal->metric].id].kind);
    if (hr__goal_violation(goal, centre) > 0) return (double)INFINITY;
  }
  return sum / made;
}

static enum hr_status estimate_probability(const struct contest *contest, uint32_t choice, double zone, uint64_t seed,
                                           double *probability) {
  size_t max = (size_t)contest->config->max_replications + 1;
  double *uniform = malloc(max * sizeof *uniform), *values = malloc(max * sizeof *values);
  uint32_t wins = 0;
  struct hr__stream stream;
  if (!uniform || !values) {
    free(uniform);
    free(values);
    return no_memory(contest->error);
  }
  hr__stream_init(&stream, seed, HR__PURPOSE_BOOTSTRAP, 0, 0);
  for (uint32_t draw = 0; draw < DRAWS; draw++) {
    for (uint32_t r = 0; r < contest->config->max_replications; r++) uniform[r] = hr__stream_uniform(&stream);
    double own = resampled_objective(contest, choice, uniform, values), min = (double)INFINITY;
    for (uint32_t i = 0; i < contest->count && !isinf(own); i++)
      if (i != choice) min = fmin(min, resampled_objective(contest, i, uniform, values));
    wins += !isinf(own) && own <= min + zone;
  }
  *probability = (double)wins / DRAWS;
  free(uniform);
  free(values);
  return HR_OK;
}

/* ---- The whole selection --------------------------------------------------------------------------- */

/* Runs rounds until the selection is settled. Each round has 1.5 times as many replications as the round before. */
static enum hr_status run_rounds(struct contest *contest, double *zone) {
  const struct hr__selection_config *config = contest->config;
  bool settled = false;
  enum hr_status status = run(contest, 1); /* shows which finalists depend on random numbers */
  if (status == HR_OK && contest->evaluator->random && config->first > 1) status = run(contest, config->first);
  while (status == HR_OK) {
    uint32_t best = leader(contest);
    if (!contest->evaluator->random) {
      *zone = config->indifference * fabs(evaluation_of(contest, best).objective);
      return HR_OK;
    }
    status = drop_losers(contest, zone, &settled);
    uint32_t next = contest->replications + (contest->replications + 1) / 2;
    bool done = settled || contest->replications >= config->max_replications ||
                hr__runner_runs(contest->evaluator->runner) >= config->max_runs;
    if (status != HR_OK || done) return status;
    status = run(contest, next < config->max_replications ? next : config->max_replications);
  }
  return status;
}

enum hr_status hr__select(const struct hr__selection_config *config, const uint32_t *finalists, uint32_t count,
                          struct hr__selection *selection, struct hr_error *error) {
  struct contest contest = {.config = config,
                            .evaluator = config->evaluator,
                            .finalists = finalists,
                            .count = count,
                            .made = calloc((size_t)count + 1, sizeof *contest.made),
                            .active = malloc((size_t)count + 1),
                            .objectives =
                                malloc(((size_t)count * config->max_replications + 1) * sizeof *contest.objectives),
                            .error = error};
  enum hr_status status = contest.made && contest.active && contest.objectives ? HR_OK : no_memory(error);
  for (uint32_t i = 0; i < count && status == HR_OK; i++) contest.active[i] = true;
  if (status == HR_OK) status = run_rounds(&contest, &selection->zone);
  if (status == HR_OK) {
    uint32_t best = leader(&contest);
    selection->nearest = finalists[best];
    selection->choice = evaluation_of(&contest, best).violation == 0 ? finalists[best] : HR_NONE;
    selection->replications = contest.made[best];
    selection->probability = selection->choice == HR_NONE ? 0 : 1;
    if (selection->choice != HR_NONE && contest.evaluator->random)
      status = estimate_probability(&contest, best, selection->zone, config->seed, &selection->probability);
  }
  free(contest.made);
  free(contest.active);
  free(contest.objectives);
  return status;
}
