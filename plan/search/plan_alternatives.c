/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Alternatives to the choice of a plan, which is the candidate that it recommends: baselines (the capacity of today,
 * and everything on demand), the frontier of cost and wait, the goals that exclude better candidates, the cost of
 * tighter goals, and the choice in changed environments.
 *
 * All alternatives use the runner of the search, so runs that exist are not repeated.
 */

#include "headroom/unstable/scenario_files.h"
#include "plan/search/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Options --------------------------------------------------------------------------------------- */

enum hr_status hr__option_make(const struct hr_plan *plan, const struct hr__evaluator *evaluator, uint32_t candidate,
                               uint32_t runner_id, uint32_t replications, struct hr__option *option,
                               struct hr_error *error) {
  const struct hr__goals *goals = &plan->goals;
  bool exact = !hr__runner_is_random(plan->runner, runner_id);
  uint32_t count = exact ? 1 : replications;
  *option = (struct hr__option){.candidate = candidate, .runner_id = runner_id, .replications = count};
  option->metrics = calloc(goals->n_metrics + 1, sizeof *option->metrics);
  double *values = malloc(((size_t)count + 1) * sizeof *values);
  enum hr_status status = option->metrics && values ? HR_OK : HR_NO_MEMORY;
  for (size_t i = 0; i < goals->n_metrics && status == HR_OK; i++) {
    for (uint32_t r = 0; r < count; r++) values[r] = hr__runner_values(plan->runner, runner_id, r)[i];
    status = hr__interval_of(values, count, hr__metric_rows[goals->metrics[i].id].kind,
                             plan->config.scenario->replications.confidence, exact, &option->metrics[i]);
  }
  struct hr__evaluator single = *evaluator;
  uint32_t self = runner_id;
  single.runner_ids = &self;
  struct hr__evaluation evaluation = hr__evaluator_evaluate(&single, 0, count);
  option->objective = evaluation.objective;
  option->violation = evaluation.violation;
  free(values);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory for the plan");
}

/* ---- Baselines ------------------------------------------------------------------------------------- */

/* An option that is not on the grid, before it is run: its overrides, and the value of each variable as text. */
struct plan_variant {
  const char **set; /* overrides; some texts are borrowed, the others are in `made` */
  size_t n_set;
  char **texts; /* [n_variables] value of each variable */
  char **made;  /* overrides that the variant owns */
  size_t n_made;
};

static bool variant_make(const struct hr_plan *plan, struct plan_variant *variant) {
  size_t max = 0;
  for (uint32_t i = 0; i < plan->space.n_axes; i++) {
    const struct hr_plan_variable *variable = &plan->space.spec->variables[i];
    max += variable->n_pools;
    for (uint32_t k = 0; k < variable->axis.n_levels; k++) max += variable->axis.levels[k].n_set;
    if (plan->space.spec->baseline) max += plan->space.spec->baseline[i].n_set;
  }
  *variant = (struct plan_variant){.set = calloc(max + 1, sizeof *variant->set),
                                   .texts = calloc((size_t)plan->space.n_axes + 1, sizeof *variant->texts),
                                   .made = calloc(max + 1, sizeof *variant->made)};
  return variant->set && variant->texts && variant->made;
}

/* Frees a variant. Its texts are NULL if an option has taken ownership of them. */
static void variant_finish(const struct hr_plan *plan, struct plan_variant *variant) {
  for (size_t i = 0; i < variant->n_made; i++) free(variant->made[i]);
  for (uint32_t i = 0; variant->texts && i < plan->space.n_axes; i++) free(variant->texts[i]);
  free(variant->texts);
  free(variant->set);
  free(variant->made);
}

static bool take_level(struct plan_variant *variant, uint32_t variable, const struct hr_grid_level *level) {
  for (size_t i = 0; i < level->n_set; i++) variant->set[variant->n_set++] = level->set[i];
  return (variant->texts[variable] = strdup(level->text)) != NULL;
}

static enum hr_status run_variant(struct hr_plan *plan, struct plan_variant *variant, struct hr__option *option,
                                  struct hr_error *error) {
  uint32_t runner_id, replications = plan->choice.replications;
  struct hr__trial *trials = calloc((size_t)replications + 1, sizeof *trials);
  struct hr_error inner = {0};
  enum hr_status status = trials ? HR_OK : hr__plan_no_memory(error);
  if (status == HR_OK) {
    status = hr__runner_add_candidate(plan->runner, variant->set, variant->n_set, plan->evaluator.environment,
                                      &runner_id, &inner);
    if (status != HR_OK) hr_fail(error, status, "%sbaseline: %s", plan->space.spec->self.place, inner.text);
  }
  for (uint32_t r = 0; status == HR_OK && r < replications; r++) trials[r] = (struct hr__trial){runner_id, r};
  if (status == HR_OK) status = hr__runner_run(plan->runner, trials, replications, error);
  if (status == HR_OK)
    status = hr__option_make(plan, &plan->evaluator, HR_NONE, runner_id, replications, option, error);
  if (status == HR_OK) {
    option->texts = variant->texts;
    variant->texts = NULL;
  }
  free(trials);
  return status;
}

/* Whether on-demand capacity is possible, either as a variable or in a constant pool. */
static bool has_on_demand(const struct hr_plan *plan) {
  const struct hr_scenario *scenario = hr__runner_scenario(plan->runner, plan->choice.runner_id);
  for (uint32_t i = 0; i < plan->space.n_axes; i++)
    if (plan->space.spec->variables[i].pools && hr__plan_is_of_market(plan, i, HR_MARKET_ON_DEMAND)) return true;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++)
    if (scenario->cluster.pools[i].market.market == HR_MARKET_ON_DEMAND && scenario->cluster.pools[i].nodes > 0)
      return true;
  return false;
}

static bool take_zero(const struct hr_scenario *scenario, struct plan_variant *variant, uint32_t variable,
                      const struct hr_plan_variable *of) {
  for (uint32_t i = 0; i < of->n_pools; i++) {
    char text[HR_POOL_PATH_BYTES + sizeof ".nodes=0"], path[HR_POOL_PATH_BYTES];
    snprintf(text, sizeof text, "%s.nodes=0", hr_scenario_pool_path(scenario, of->pools[i], path));
    char *copy = strdup(text);
    if (!copy) return false;
    variant->made[variant->n_made++] = copy;
    variant->set[variant->n_set++] = copy;
  }
  return (variant->texts[variable] = strdup("0")) != NULL;
}

/* Sets a variable of the capacity of today. If the scenario's baseline does not name it, it has the value `chosen`, as
   in the choice. */
static bool take_today(const struct hr_plan *plan, struct plan_variant *variant, uint32_t i,
                       const struct hr_grid_level *chosen) {
  const struct hr_grid_level *level = &plan->space.spec->baseline[i];
  return take_level(variant, i, level->text ? level : chosen);
}

/* Sets a variable of the on-demand capacity: variable on-demand capacity has its maximum, all other variable capacity
   is 0, and everything else is as in the choice. */
static bool take_on_demand(const struct hr_plan *plan, struct plan_variant *variant, uint32_t i,
                           const struct hr_grid_level *chosen) {
  const struct hr_plan_variable *variable = &plan->space.spec->variables[i];
  if (!variable->pools) return take_level(variant, i, chosen);
  if (hr__plan_is_of_market(plan, i, HR_MARKET_ON_DEMAND))
    return take_level(variant, i, &variable->axis.levels[variable->axis.n_levels - 1]);
  return take_zero(plan->config.scenario, variant, i, variable);
}

static enum hr_status make_baseline(struct hr_plan *plan,
                                    bool (*take)(const struct hr_plan *plan, struct plan_variant *variant, uint32_t i,
                                                 const struct hr_grid_level *chosen),
                                    struct hr__option *option, struct hr_error *error) {
  struct plan_variant variant;
  bool made = variant_make(plan, &variant);
  struct hr__point point = hr__space_point(&plan->space, plan->choice.candidate);
  for (uint32_t i = 0; i < plan->space.n_axes && made; i++)
    made = take(plan, &variant, i, &plan->space.spec->variables[i].axis.levels[point.level[i]]);
  enum hr_status status = made ? run_variant(plan, &variant, option, error) : hr__plan_no_memory(error);
  variant_finish(plan, &variant);
  return status;
}

static enum hr_status plan_baselines(struct hr_plan *plan, struct hr_error *error) {
  uint64_t before = hr__runner_runs(plan->runner);
  enum hr_status status = plan->space.spec->baseline ? make_baseline(plan, take_today, &plan->today, error) : HR_OK;
  /* without capacity variables, the mix would be that of the choice */
  if (status == HR_OK && plan->space.n_capacity > 0 && has_on_demand(plan))
    status = make_baseline(plan, take_on_demand, &plan->all_on_demand, error);
  plan->baseline_runs = hr__runner_runs(plan->runner) - before;
  return status;
}

/* ---- The frontier ---------------------------------------------------------------------------------- */

/* A candidate with its cost and wait. */
struct frontier_point {
  double cost, wait;
  uint32_t candidate;
};

static int by_cost(const void *a, const void *b) {
  const struct frontier_point *first = a, *second = b;
  if (first->cost != second->cost) return first->cost < second->cost ? -1 : 1;
  if (first->wait != second->wait) return first->wait < second->wait ? -1 : 1;
  return (first->candidate > second->candidate) - (first->candidate < second->candidate);
}

/* Selects the metrics of the frontier. The wait is the metric of the first goal on a time, or the 95 % quantile of the
   wait if no such goal exists. The cost is the monthly cost. */
static void find_metrics(struct hr_plan *plan) {
  const struct hr__goals *goals = &plan->goals;
  const struct hr__scoped_metric wait = {.id = HR__M_WAIT_P95}, cost = {.id = HR__M_MONTHLY};
  plan->pareto_wait = hr__goals_find(goals, &wait);
  plan->pareto_cost = hr__goals_find(goals, &cost);
  for (size_t i = goals->n_goals; i-- > 0;) {
    const enum hr_unit unit = hr__metric_rows[goals->metrics[goals->goals[i].metric].id].unit;
    if (unit == HR_UNIT_SECONDS || unit == HR_UNIT_MILLISECONDS) plan->pareto_wait = goals->goals[i].metric;
  }
}

/* Whether the candidate meets all goals that are not on a metric of the frontier. */
static bool meets_others(const struct hr_plan *plan, uint32_t candidate, uint32_t replications) {
  const struct hr__goals *goals = &plan->goals;
  for (size_t i = 0; i < goals->n_goals; i++) {
    const struct hr__goal *goal = &goals->goals[i];
    if (goal->metric == plan->pareto_wait || goal->metric == plan->pareto_cost) continue;
    if (hr__goal_violation(goal, hr__evaluator_centre(&plan->evaluator, candidate, replications, goal->metric)) > 0)
      return false;
  }
  return true;
}

/* Reduces `count` candidates in place to their frontier, cheapest first. Returns the number of candidates on it. O(n
   log n). */
static size_t filter_frontier(const struct hr_plan *plan, uint32_t *candidates, size_t count, uint32_t replications,
                              struct frontier_point *points) {
  size_t n_points = 0, n_kept = 0;
  for (size_t i = 0; i < count; i++) {
    struct frontier_point point = {
        hr__evaluator_centre(&plan->evaluator, candidates[i], replications, plan->pareto_cost),
        hr__evaluator_centre(&plan->evaluator, candidates[i], replications, plan->pareto_wait), candidates[i]};
    if (!isnan(point.cost) && !isnan(point.wait) && meets_others(plan, candidates[i], replications))
      points[n_points++] = point;
  }
  qsort(points, n_points, sizeof *points, by_cost);
  double min_wait = (double)INFINITY;
  for (size_t i = 0; i < n_points; i++) {
    if (points[i].wait >= min_wait) continue;
    min_wait = points[i].wait;
    candidates[n_kept++] = points[i].candidate;
  }
  return n_kept;
}

/* Computes the frontier in two steps. The first frontier is computed from the replications of the search. The
   candidates on it are then run with as many replications as the choice. The final frontier is computed from these
   candidates and the choice. */
static enum hr_status plan_pareto(struct hr_plan *plan, struct hr_error *error) {
  const struct hr__search_result *search = &plan->search;
  struct frontier_point *points = calloc((size_t)search->n_ranked + 2, sizeof *points);
  plan->pareto = calloc((size_t)search->n_ranked + 2, sizeof *plan->pareto);
  enum hr_status status = points && plan->pareto ? HR_OK : hr__plan_no_memory(error);
  if (status == HR_OK) {
    find_metrics(plan);
    for (uint32_t i = 0; i < search->n_ranked; i++) plan->pareto[i] = search->ranking[i];
    plan->n_pareto = filter_frontier(plan, plan->pareto, search->n_ranked, plan->screening, points);
    plan->pareto[plan->n_pareto++] = plan->choice.candidate;
    status = hr__evaluator_run(&plan->evaluator, plan->pareto, plan->n_pareto, plan->depth, error);
  }
  if (status == HR_OK) plan->n_pareto = filter_frontier(plan, plan->pareto, plan->n_pareto, plan->depth, points);
  free(points);
  return status;
}

/* ---- Goals that exclude candidates -------------------------------------------------------------------- */

static double violation_of(const struct hr_plan *plan, uint32_t candidate, size_t goal) {
  const struct hr__goal *of = &plan->goals.goals[goal];
  return hr__goal_violation(of, hr__evaluator_centre(&plan->evaluator, candidate, plan->screening, of->metric));
}

/* Determines the goals that some candidate with a better objective, which was run, misses. If no candidate meets all
   goals, these are the goals that the nearest candidate misses. */
static enum hr_status plan_excluding(struct hr_plan *plan, struct hr_error *error) {
  plan->excluding = calloc(plan->goals.n_goals + 1, sizeof *plan->excluding);
  if (!plan->excluding) return hr__plan_no_memory(error);
  double own = hr__evaluator_evaluate(&plan->evaluator, plan->choice.candidate, plan->screening).objective;
  for (size_t i = 0; i < plan->goals.n_goals; i++) {
    if (plan->selection.choice == HR_NONE) {
      const struct hr__goal *goal = &plan->goals.goals[i];
      double centre = hr__interval_centre(&plan->choice.metrics[goal->metric]);
      plan->excluding[i] = hr__goal_violation(goal, centre) > 0;
      continue;
    }
    for (uint32_t k = 0; k < plan->search.n_ranked && !plan->excluding[i]; k++) {
      uint32_t candidate = plan->search.ranking[k];
      double objective = hr__evaluator_evaluate(&plan->evaluator, candidate, plan->screening).objective;
      plan->excluding[i] = objective < own && violation_of(plan, candidate, i) > 0;
    }
  }
  return HR_OK;
}

/* ---- Tighter goals --------------------------------------------------------------------------------- */

enum { RECHECKED = 4 }; /* number of best candidates of a search that are run again with full depth */

/* Whether a candidate of a ranking is as good as the first candidate, or slightly worse, over the replications of the
   search. Such a candidate may be the best one over more replications. */
static bool is_near_first(const struct hr__evaluator *evaluator, const struct hr__search_result *result, uint32_t rank,
                          uint32_t replications) {
  static const double near_violation = 0.1, near_objective = 0.1;
  uint32_t first = result->ranking[0], other = result->ranking[rank];
  struct hr__evaluation best = hr__evaluator_evaluate(evaluator, first, replications),
                        own = hr__evaluator_evaluate(evaluator, other, replications);
  if (own.violation > best.violation + near_violation) return false;
  return best.violation > 0 || own.objective <= best.objective + near_objective * fabs(best.objective);
}

/* Runs the first RECHECKED candidates of a ranking with `depth` replications, except those that are clearly worse than
   the first one over `screening` replications. Sets *best to the best of them; HR_NONE: the ranking is empty. */
static enum hr_status pick_best(struct hr__evaluator *evaluator, const struct hr__search_result *result,
                                uint32_t screening, uint32_t depth, uint32_t *best, struct hr_error *error) {
  uint32_t count = 0;
  while (count < result->n_ranked && count < RECHECKED && is_near_first(evaluator, result, count, screening)) count++;
  enum hr_status status = hr__evaluator_run(evaluator, result->ranking, count, depth, error);
  struct hr__evaluation best_evaluation = {0};
  *best = HR_NONE;
  for (uint32_t i = 0; i < count && status == HR_OK; i++) {
    struct hr__evaluation evaluation = hr__evaluator_evaluate(evaluator, result->ranking[i], depth);
    if (*best != HR_NONE &&
        !hr__evaluation_is_better(evaluator->space, result->ranking[i], &evaluation, *best, &best_evaluation))
      continue;
    *best = result->ranking[i];
    best_evaluation = evaluation;
  }
  return status;
}

static enum hr_status tighten(struct hr_plan *plan, size_t number, double share, struct hr_error *error) {
  /* Some bounds cannot be tightened, such as 100 % of the jobs or a wait of 0. */
  if (hr__goal_tightened(&plan->goals, &plan->goals.goals[number], share) == plan->goals.goals[number].bound)
    return HR_OK;
  struct hr__goal *goal = &plan->goals.goals[number];
  struct hr__tightening *tightening = &plan->tightenings[plan->n_tightenings++];
  double bound = goal->bound;
  *tightening = (struct hr__tightening){
      .goal = number, .bound = hr__goal_tightened(&plan->goals, goal, share), .candidate = HR_NONE};
  const struct hr__search_config config = hr__plan_search_config(plan);
  struct hr__search_result result;
  goal->bound = tightening->bound;
  enum hr_status status = hr__search(&config, &result, error);
  uint32_t best = HR_NONE;
  if (status == HR_OK) status = pick_best(&plan->evaluator, &result, plan->screening, plan->depth, &best, error);
  if (status == HR_OK && best != HR_NONE) {
    struct hr__evaluation evaluation = hr__evaluator_evaluate(&plan->evaluator, best, plan->depth);
    if (evaluation.violation == 0) tightening->candidate = best;
    tightening->objective = evaluation.objective;
  }
  goal->bound = bound;
  hr__search_finish(&result);
  return status;
}

static enum hr_status plan_tighten(struct hr_plan *plan, struct hr_error *error) {
  static const double shares[HR__TIGHTENINGS_PER_GOAL] = {0.9, 0.75, 0.5};
  uint64_t before = hr__runner_runs(plan->runner);
  enum hr_status status = HR_OK;
  bool goes_on = true;
  plan->n_tightenings = 0;
  for (size_t i = 0; i < plan->goals.n_goals && goes_on; i++)
    for (size_t k = 0; k < HR__TIGHTENINGS_PER_GOAL && goes_on && !plan->goals.goals[i].assumed; k++)
      goes_on = hr__plan_goes_on(plan, tighten(plan, i, shares[k], error), &status);
  plan->tightening_runs = hr__runner_runs(plan->runner) - before;
  return status;
}

/* Whether a candidate has as many runs as the choice. */
static bool has_final_figures(const struct hr_plan *plan, uint32_t candidate) {
  uint32_t runner_id = plan->evaluator.runner_ids[candidate];
  if (runner_id == HR_NONE || !hr__runner_values(plan->runner, runner_id, 0)) return false;
  return !hr__runner_is_random(plan->runner, runner_id) ||
         hr__evaluator_made(&plan->evaluator, candidate, plan->depth) == plan->depth;
}

/* Replaces the best candidate of a tightened goal by any better candidate that another part of the plan has run as
   often, so that all tables agree. */
static void conclude_tightenings(struct hr_plan *plan) {
  for (uint32_t candidate = 0; candidate < plan->space.n_candidates; candidate++) {
    if (!has_final_figures(plan, candidate)) continue;
    for (size_t i = 0; i < plan->n_tightenings; i++) {
      struct hr__tightening *tightening = &plan->tightenings[i];
      struct hr__goal *goal = &plan->goals.goals[tightening->goal];
      double bound = goal->bound;
      goal->bound = tightening->bound;
      struct hr__evaluation evaluation = hr__evaluator_evaluate(&plan->evaluator, candidate, plan->depth);
      goal->bound = bound;
      bool better = tightening->candidate == HR_NONE || evaluation.objective < tightening->objective;
      if (evaluation.violation > 0 || !better) continue;
      tightening->candidate = candidate;
      tightening->objective = evaluation.objective;
    }
  }
}

/* ---- Changed environments -------------------------------------------------------------------------- */

/* SCREENING_RUNS: replications of each candidate in a search. REPORTED_RUNS: replications of each reported option if
   the choice itself is deterministic. */
enum { SCREENING_RUNS = 3, REPORTED_RUNS = 8 };

/* Finds the best candidate in a changed environment. No changed environment is easier than the original one. Candidates
   that served jobs too badly in the original environment therefore also do so in the changed one, and the bounds on
   costs remain valid unless capacity was removed. The search therefore begins at the choice, and is limited to the
   slice of the choice unless a GPU type was removed. If GPU types have different speeds, the best candidate may be
   anywhere, and the whole grid is searched. If no variable is a capacity, such as in a plan of numbers of replicas,
   each slice has one candidate, and all are searched. */
static enum hr_status find_best(struct hr_plan *plan, struct hr__evaluator *evaluator,
                                const struct hr__environment *environment, uint32_t depth,
                                struct hr__sensitivity_case *changed, struct hr_error *error) {
  bool anywhere = plan->config.scenario->speeds && plan->space.n_capacity > 1;
  if (anywhere && hr__runner_looks_ahead(plan->runner)) return HR_CHECK_FAILED; /* would be repeated too often */
  struct hr__search_config config = hr__plan_search_config(plan);
  config.evaluator = evaluator;
  config.replications = depth < SCREENING_RUNS ? depth : SCREENING_RUNS;
  config.one_slice = !anywhere && !environment->stress.without_gpu && plan->space.n_capacity > 0;
  config.thorough = anywhere;
  if (environment->stress.without_gpu) config.bounds = NULL;
  if (anywhere) config.begin = HR_NONE;
  struct hr__search_result result;
  changed->same_settings = config.one_slice && plan->space.n_slices > 1;
  enum hr_status status = hr__search(&config, &result, error);
  uint32_t best = HR_NONE;
  if (status == HR_OK) status = pick_best(evaluator, &result, config.replications, depth, &best, error);
  if (status == HR_OK && best != HR_NONE) {
    status = hr__option_make(plan, evaluator, best, evaluator->runner_ids[best], depth, &changed->best, error);
    changed->best_meets = status == HR_OK && changed->best.violation == 0;
  }
  hr__search_finish(&result);
  return status;
}

/* The number of replications of a candidate in a changed environment. It must not depend on which other candidates were
   loaded there, because a look-ahead loads them earlier. In an environment with more demand, the runner repeats random
   jobs, so its runs may be random even if those of the original environment are not. */
static uint32_t depth_of(const struct hr_plan *plan, const struct hr__evaluator *evaluator, uint32_t candidate) {
  uint32_t max = plan->space.spec->max_replications;
  if (!hr__runner_is_random(plan->runner, evaluator->runner_ids[candidate])) return 1;
  if (plan->evaluator.random) return plan->depth;
  return max < REPORTED_RUNS ? max : REPORTED_RUNS;
}

/* Sets changed->best_is_better to whether the runs in a changed environment show that the best candidate there is
   better than the choice. */
static enum hr_status compare_best(const struct hr_plan *plan, const struct hr__evaluator *evaluator, uint32_t depth,
                                   struct hr__sensitivity_case *changed, struct hr_error *error) {
  bool only_best_is_known = isfinite(changed->best.objective) && !isfinite(changed->same.objective);
  changed->best_is_better = changed->best_meets && (changed->same.violation > 0 || only_best_is_known);
  if (!changed->best_meets || changed->best_is_better || changed->best.candidate == changed->same.candidate)
    return HR_OK;
  return hr__significantly_lower(evaluator, changed->best.candidate, changed->same.candidate, depth,
                                 plan->config.scenario->replications.confidence, &changed->best_is_better, error);
}

/* Runs the choice in a changed environment, and finds the best candidate in that environment. */
static enum hr_status add_case(struct hr_plan *plan, const struct hr__environment *environment, double factor,
                               const char *name, struct hr_error *error) {
  if (plan->n_cases == HR__MAX_SENSITIVITY_CASES) return HR_OK;
  struct hr__sensitivity_case *changed = &plan->cases[plan->n_cases++];
  struct hr__evaluator *evaluator = NULL;
  uint32_t candidate = plan->choice.candidate;
  hr__option_finish(plan, &changed->same);
  hr__option_finish(plan, &changed->best);
  snprintf(changed->name, sizeof changed->name, "%s", name);
  changed->factor = factor;
  enum hr_status status = hr__plan_world(plan, environment, &evaluator, error);
  if (status == HR_OK) status = hr__evaluator_run(evaluator, &candidate, 1, 1, error);
  if (status != HR_OK) return status;
  uint32_t depth = depth_of(plan, evaluator, candidate);
  status = hr__evaluator_run(evaluator, &candidate, 1, depth, error);
  if (status == HR_OK)
    status =
        hr__option_make(plan, evaluator, candidate, evaluator->runner_ids[candidate], depth, &changed->same, error);
  if (hr__plan_goes_on(plan, HR_OK, &status))
    hr__plan_goes_on(plan, find_best(plan, evaluator, environment, depth, changed, error), &status);
  if (status == HR_OK) status = compare_best(plan, evaluator, depth, changed, error);
  return status;
}

static enum hr_status vary_spot(struct hr_plan *plan, struct hr_error *error) {
  if (!hr__plan_has_spot(plan)) return HR_OK;
  struct hr__environment environment = hr__plan_environment(plan);
  environment.stress.spot_reclaims = 2;
  enum hr_status status = add_case(plan, &environment, 2, "spot reclaims x 2", error);
  if (!hr__plan_goes_on(plan, HR_OK, &status)) return status;
  environment = hr__plan_environment(plan);
  environment.stress.spot_price = 1.5;
  hr__plan_goes_on(plan, add_case(plan, &environment, 1.5, "spot price + 50 %", error), &status);
  return status;
}

static enum hr_status vary_demand(struct hr_plan *plan, struct hr_error *error) {
  static const int percents[] = {10, 25, 50};
  enum hr_status status = HR_OK;
  bool goes_on = true;
  for (size_t i = 0; i < sizeof percents / sizeof *percents && goes_on; i++) {
    char name[40];
    struct hr__environment environment = hr__plan_environment(plan);
    environment.workload.growth *= 1 + percents[i] / 100.0;
    snprintf(name, sizeof name, "demand + %d %%", percents[i]);
    goes_on = hr__plan_goes_on(plan, add_case(plan, &environment, 1 + percents[i] / 100.0, name, error), &status);
  }
  return status;
}

static enum hr_status remove_gpu_types(struct hr_plan *plan, struct hr_error *error) {
  enum hr_status status = HR_OK;
  bool goes_on = true;
  for (uint32_t i = 0; i < plan->robustness.n_conditions && goes_on; i++) {
    const struct hr__condition *condition = &plan->robustness.conditions[i];
    if (condition->kind == HR__CONDITION_GPU_SUPPLY)
      goes_on = hr__plan_goes_on(plan, add_case(plan, &condition->environment, 0, condition->name, error), &status);
  }
  return status;
}

static enum hr_status plan_sensitivity(struct hr_plan *plan, struct hr_error *error) {
  uint64_t before = hr__runner_runs(plan->runner);
  plan->n_cases = 0;
  enum hr_status status = vary_spot(plan, error);
  if (hr__plan_goes_on(plan, HR_OK, &status) && hr__plan_goes_on(plan, vary_demand(plan, error), &status))
    hr__plan_goes_on(plan, remove_gpu_types(plan, error), &status);
  plan->sensitivity_runs = hr__runner_runs(plan->runner) - before;
  return status;
}

/* ---- All alternatives ------------------------------------------------------------------------------ */

/* Computes robustness, tighter goals and changed environments, which do not depend on each other, and then the parts
   that use their results. */
static enum hr_status vary(struct hr_plan *plan, struct hr_error *error) {
  enum hr_status status = hr__plan_robustness(plan, error);
  if (hr__plan_goes_on(plan, HR_OK, &status) && hr__plan_goes_on(plan, plan_tighten(plan, error), &status))
    hr__plan_goes_on(plan, plan_sensitivity(plan, error), &status);
  if (status == HR_OK) status = hr__plan_other_mixes(plan, error);
  if (status == HR_OK) hr__robustness_conclude(plan);
  if (status == HR_OK && !hr__runner_looks_ahead(plan->runner)) conclude_tightenings(plan);
  return status;
}

/* Makes the runs of these parts together, in few large batches. Each part alone is a sequence of small batches, for
   which many threads and ranks would wait. Every look-ahead repeats the parts without their runs, so large grids are
   excluded. */
static enum hr_status look_ahead(struct hr_plan *plan, struct hr_error *error) {
  enum { MAX_CANDIDATES = 5000 };
  bool alone = plan->config.n_threads <= 1 && !hr__ranks_several(plan->config.ranks);
  size_t made = !alone && plan->space.n_candidates <= MAX_CANDIDATES;
  enum hr_status status = HR_OK;
  while (made && status == HR_OK) {
    hr__runner_look_ahead(plan->runner);
    enum hr_status part = vary(plan, error);
    status = hr__runner_catch_up(plan->runner, plan->space.spec->max_runs, &made, error);
    if (part != HR_OK && part != HR_CHECK_FAILED) return part;
  }
  return status;
}

enum hr_status hr__plan_examine(struct hr_plan *plan, struct hr_error *error) {
  bool varies = !plan->config.no_sensitivity && plan->selection.choice != HR_NONE;
  enum hr_status status = plan_baselines(plan, error);
  if (status == HR_OK) status = plan_pareto(plan, error);
  if (status == HR_OK) status = plan_excluding(plan, error);
  if (status != HR_OK || !varies) return status;
  plan->tightenings = calloc(plan->goals.n_goals * HR__TIGHTENINGS_PER_GOAL + 1, sizeof *plan->tightenings);
  status = plan->tightenings ? hr__plan_conditions(plan, error) : hr__plan_no_memory(error);
  if (status == HR_OK) status = look_ahead(plan, error);
  return status == HR_OK ? vary(plan, error) : status;
}
