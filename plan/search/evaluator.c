/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The grid of candidates, and their evaluation by simulation.
 *
 * The index of a candidate is a number in mixed radix: its digits are the levels of the candidate, and the last axis is
 * the least significant digit. The index of a slice is computed in the same way from the axes that are not capacity.
 * The runner stores the runs. The evaluator only maps candidates to their indexes in the runner, so an evaluation is a
 * pure function of existing runs.
 */

#include "plan/search/search.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <inttypes.h>
#include <stdlib.h>

static bool may_draw_jobs_away(const struct hr_scenario *scenario, const struct hr_plan_variable *variable) {
  const struct hr_cluster_spec *cluster = &scenario->cluster;
  for (uint32_t i = 0; i < variable->n_pools; i++)
    if (cluster->pools[variable->pools[i]].market.market == HR_MARKET_SPOT && cluster->n_pools > 1) return true;
  return scenario->speeds && cluster->n_pools > variable->n_pools;
}

enum hr_status hr__space_make(const struct hr_plan_spec *spec, const struct hr_scenario *scenario,
                              struct hr__space *space, struct hr_error *error) {
  *space = (struct hr__space){.spec = spec, .n_axes = spec->n_variables, .n_slices = 1};
  double count = 1;
  for (uint32_t i = 0; i < spec->n_variables; i++) count *= spec->variables[i].axis.n_levels;
  if (count > (double)spec->max_candidates)
    return hr_fail(error, HR_BAD_INPUT,
                   "%sthe variables span %.0f candidates, but 'max_candidates' is %" PRIu64 "; use wider steps",
                   spec->self.place, count, spec->max_candidates);
  space->n_candidates = (uint32_t)count;
  for (uint32_t i = 0; i < space->n_axes; i++) {
    space->non_monotone[i] =
        scenario && hr__space_is_capacity(space, i) && may_draw_jobs_away(scenario, &spec->variables[i]);
    if (hr__space_is_capacity(space, i))
      space->capacity[space->n_capacity++] = i;
    else
      space->n_slices *= hr__space_levels(space, i);
  }
  return HR_OK;
}

const char **hr__space_overrides(const struct hr__space *space, uint32_t candidate, size_t *count) {
  struct hr__point point = hr__space_point(space, candidate);
  size_t max = 0;
  *count = 0;
  for (uint32_t i = 0; i < space->n_axes; i++) max += space->spec->variables[i].axis.levels[point.level[i]].n_set;
  const char **overrides = calloc(max + 1, sizeof *overrides);
  for (uint32_t i = 0; overrides && i < space->n_axes; i++) {
    const struct hr_grid_level *level = &space->spec->variables[i].axis.levels[point.level[i]];
    for (size_t k = 0; k < level->n_set; k++) overrides[(*count)++] = level->set[k];
  }
  return overrides;
}

enum hr_status hr__evaluator_make(struct hr__evaluator *evaluator, struct hr__runner *runner,
                                  const struct hr__space *space, const struct hr__goals *goals, uint32_t environment,
                                  struct hr_error *error) {
  *evaluator = (struct hr__evaluator){.runner = runner, .space = space, .goals = goals, .environment = environment};
  evaluator->runner_ids = malloc(((size_t)space->n_candidates + 1) * sizeof *evaluator->runner_ids);
  if (!evaluator->runner_ids) return hr_fail(error, HR_NO_MEMORY, "out of memory for the candidates");
  for (uint32_t i = 0; i < space->n_candidates; i++) evaluator->runner_ids[i] = HR_NONE;
  return HR_OK;
}

/* ---- Runs ------------------------------------------------------------------------------------------ */

static enum hr_status add(struct hr__evaluator *evaluator, uint32_t candidate, struct hr_error *error) {
  size_t count;
  if (evaluator->runner_ids[candidate] != HR_NONE) return HR_OK;
  const char **overrides = hr__space_overrides(evaluator->space, candidate, &count);
  if (!overrides) return hr_fail(error, HR_NO_MEMORY, "out of memory for the candidates");
  struct hr_error inner = {0};
  enum hr_status status = hr__runner_add_candidate(evaluator->runner, overrides, count, evaluator->environment,
                                                   &evaluator->runner_ids[candidate], &inner);
  free(overrides);
  if (status != HR_OK) return hr_fail(error, status, "%s%s", evaluator->space->spec->self.place, inner.text);
  evaluator->random = evaluator->random || hr__runner_is_random(evaluator->runner, evaluator->runner_ids[candidate]);
  return HR_OK;
}

enum hr_status hr__evaluator_run(struct hr__evaluator *evaluator, const uint32_t *candidates, size_t count,
                                 uint32_t replications, struct hr_error *error) {
  struct hr__trial *trials = calloc(count * replications + 1, sizeof *trials);
  size_t n_trials = 0;
  enum hr_status status = trials ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory for the runs");
  for (size_t i = 0; i < count && status == HR_OK; i++) status = add(evaluator, candidates[i], error);
  for (uint32_t r = 0; r < replications && status == HR_OK; r++)
    for (size_t i = 0; i < count; i++) trials[n_trials++] = (struct hr__trial){evaluator->runner_ids[candidates[i]], r};
  if (status == HR_OK) status = hr__runner_run(evaluator->runner, trials, n_trials, error);
  free(trials);
  return status;
}

/* ---- Evaluations ----------------------------------------------------------------------------------- */

/* The mean of values that may be infinite. gsl_stats_mean cannot be used, since it returns NaN for two infinite values.
 */
static double mean_of(const double *values, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += values[i];
  return sum / count;
}

double hr__metric_centre(double *values, uint32_t count, enum hr_metric_kind kind) {
  uint32_t known = 0;
  for (uint32_t i = 0; i < count; i++)
    if (!isnan(values[i])) values[known++] = values[i];
  if (known == 0) return HR__UNKNOWN;
  gsl_sort(values, 1, known);
  return kind == HR_METRIC_QUANTILE ? gsl_stats_median_from_sorted_data(values, 1, known) : mean_of(values, known);
}

struct hr__evaluation hr__evaluator_evaluate(const struct hr__evaluator *evaluator, uint32_t candidate,
                                             uint32_t replications) {
  enum { MAX = 1024 };
  double values[MAX];
  struct hr__evaluation evaluation = {0};
  uint32_t count = replications < MAX ? replications : MAX;
  hr__evaluator_objectives(evaluator, candidate, count, values);
  evaluation.objective = mean_of(values, count);
  double cost = hr__evaluator_centre(evaluator, candidate, count, evaluator->goals->cost);
  evaluation.cost = isnan(cost) ? 0 : cost;
  for (size_t i = 0; i < evaluator->goals->n_goals; i++) {
    const struct hr__goal *goal = &evaluator->goals->goals[i];
    evaluation.violation += hr__goal_violation(goal, hr__evaluator_centre(evaluator, candidate, count, goal->metric));
  }
  return evaluation;
}
