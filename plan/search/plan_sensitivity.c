/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands around a choice: the frontier of cost against wait, the goals that hold it where it is, and what tighter
   ones would cost. */

#include "plan/search/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the plan");
}

/* ---- The frontier ----------------------------------------------------------------------------------- */

/* A candidate of the search, its cost and its wait. */
struct plan_sensitivity_spot {
  double cost, wait;
  uint32_t candidate;
};

static int by_cost(const void *a, const void *b) {
  const struct plan_sensitivity_spot *first = a, *second = b;
  if (first->cost != second->cost) return first->cost < second->cost ? -1 : 1;
  if (first->wait != second->wait) return first->wait < second->wait ? -1 : 1;
  return (first->candidate > second->candidate) - (first->candidate < second->candidate);
}

/* The first goal on a time, or else the 95 % quantile of the wait; the monthly cost. */
static void find_figures(struct hr_plan *plan) {
  const struct hr__goals *goals = &plan->goals;
  const struct hr__figure wait = {.measure = HR__M_WAIT_P95}, cost = {.measure = HR__M_MONTHLY};
  plan->pareto_wait = hr__goals_find(goals, &wait);
  plan->pareto_cost = hr__goals_find(goals, &cost);
  for (size_t i = goals->n_goals; i-- > 0;)
    if (hr__measure_infos[goals->figures[goals->goals[i].figure].measure].unit == HR__SECONDS)
      plan->pareto_wait = goals->goals[i].figure;
}

/* All goals but those on the wait, which the frontier is about, and on the cost. */
static bool meets_others(const struct hr_plan *plan, uint32_t candidate, uint32_t replications) {
  const struct hr__goals *goals = &plan->goals;
  for (size_t i = 0; i < goals->n_goals; i++) {
    const struct hr__goal *goal = &goals->goals[i];
    if (goal->figure == plan->pareto_wait || goal->figure == plan->pareto_cost) continue;
    if (hr__goal_violation(goal, hr__evaluator_centre(&plan->judge, candidate, replications, goal->figure)) > 0)
      return false;
  }
  return true;
}

/* The frontier of `count` candidates by so many replications, in place, the cheapest first; its length. */
static size_t sift(const struct hr_plan *plan, uint32_t *candidates, size_t count, uint32_t replications,
                   struct plan_sensitivity_spot *spots) {
  size_t n_spots = 0, n_kept = 0;
  for (size_t i = 0; i < count; i++) {
    struct plan_sensitivity_spot spot = {
        hr__evaluator_centre(&plan->judge, candidates[i], replications, plan->pareto_cost),
        hr__evaluator_centre(&plan->judge, candidates[i], replications, plan->pareto_wait), candidates[i]};
    if (!isnan(spot.cost) && !isnan(spot.wait) && meets_others(plan, candidates[i], replications))
      spots[n_spots++] = spot;
  }
  qsort(spots, n_spots, sizeof *spots, by_cost);
  double least = (double)INFINITY;
  for (size_t i = 0; i < n_spots; i++) {
    if (spots[i].wait >= least) continue;
    least = spots[i].wait;
    candidates[n_kept++] = spots[i].candidate;
  }
  return n_kept;
}

/* Sifted by the replications of the search first, and those that are left, with the choice, by as many as the choice
   has: what stands side by side was run as often. */
enum hr_status hr__plan_pareto(struct hr_plan *plan, struct hr_error *error) {
  const struct hr__search_result *search = &plan->search;
  struct plan_sensitivity_spot *spots = calloc((size_t)search->n_ranked + 2, sizeof *spots);
  plan->pareto = calloc((size_t)search->n_ranked + 2, sizeof *plan->pareto);
  enum hr_status status = spots && plan->pareto ? HR_OK : no_memory(error);
  if (status == HR_OK) {
    find_figures(plan);
    for (uint32_t i = 0; i < search->n_ranked; i++) plan->pareto[i] = search->ranking[i];
    plan->n_pareto = sift(plan, plan->pareto, search->n_ranked, plan->screening, spots);
    plan->pareto[plan->n_pareto++] = plan->choice.candidate;
    status = hr__evaluator_run(&plan->judge, plan->pareto, plan->n_pareto, plan->depth, error);
  }
  if (status == HR_OK) plan->n_pareto = sift(plan, plan->pareto, plan->n_pareto, plan->depth, spots);
  free(spots);
  return status;
}

/* ---- Goals that bind -------------------------------------------------------------------------------- */

static double violation_of(const struct hr_plan *plan, uint32_t candidate, size_t goal) {
  const struct hr__goal *of = &plan->goals.goals[goal];
  return hr__goal_violation(of, hr__evaluator_centre(&plan->judge, candidate, plan->screening, of->figure));
}

/* A goal binds where a better mix that was run misses it; where no mix will do, those bind that the nearest misses. */
enum hr_status hr__plan_binding(struct hr_plan *plan, struct hr_error *error) {
  plan->binding = calloc(plan->goals.n_goals + 1, sizeof *plan->binding);
  if (!plan->binding) return no_memory(error);
  double own = hr__evaluator_evaluation(&plan->judge, plan->choice.candidate, plan->screening).objective;
  for (size_t i = 0; i < plan->goals.n_goals; i++) {
    if (!hr_plan_feasible(plan)) {
      const struct hr__goal *goal = &plan->goals.goals[i];
      double centre = hr__interval_centre(&plan->choice.figures[goal->figure]);
      plan->binding[i] = hr__goal_violation(goal, centre) > 0;
      continue;
    }
    for (uint32_t k = 0; k < plan->search.n_ranked && !plan->binding[i]; k++) {
      uint32_t candidate = plan->search.ranking[k];
      double objective = hr__evaluator_evaluation(&plan->judge, candidate, plan->screening).objective;
      plan->binding[i] = objective < own && violation_of(plan, candidate, i) > 0;
    }
  }
  return HR_OK;
}

/* ---- Tighter goals ---------------------------------------------------------------------------------- */

static enum hr_status tighten(struct hr_plan *plan, size_t number, double share, struct hr_error *error) {
  /* Nothing is tighter than all jobs, or no wait at all. */
  if (hr__goal_tightened(&plan->goals, &plan->goals.goals[number], share) == plan->goals.goals[number].bound)
    return HR_OK;
  struct hr__goal *goal = &plan->goals.goals[number];
  struct hr__tightening *tightening = &plan->tightenings[plan->n_tightenings++];
  double bound = goal->bound;
  *tightening = (struct hr__tightening){
      .goal = number, .bound = hr__goal_tightened(&plan->goals, goal, share), .candidate = HR_NONE};
  struct hr__search_config config = {.judge = &plan->judge,
                                     .bounds = &plan->bounds,
                                     .replications = plan->screening,
                                     .max_runs = plan->space.spec->max_runs,
                                     .begin = plan->choice.candidate,
                                     .small = plan->search.small,
                                     .n_small = plan->search.n_small};
  struct hr__search_result result;
  goal->bound = tightening->bound;
  enum hr_status status = hr__search(&config, &result, error);
  uint32_t best = HR_NONE;
  if (status == HR_OK) status = hr__plan_settle(&plan->judge, &result, plan->depth, &best, error);
  if (status == HR_OK && best != HR_NONE) {
    struct hr__evaluation verdict = hr__evaluator_evaluation(&plan->judge, best, plan->depth);
    if (verdict.violation == 0) tightening->candidate = best;
    tightening->objective = verdict.objective;
  }
  goal->bound = bound;
  hr__search_finish(&result);
  return status;
}

enum hr_status hr__plan_tighten(struct hr_plan *plan, struct hr_error *error) {
  static const double shares[HR__TIGHTENINGS] = {0.9, 0.75, 0.5};
  uint64_t before = hr__runner_runs(plan->lab);
  plan->tightenings = calloc(plan->goals.n_goals * HR__TIGHTENINGS + 1, sizeof *plan->tightenings);
  enum hr_status status = plan->tightenings ? HR_OK : no_memory(error);
  for (size_t i = 0; i < plan->goals.n_goals && status == HR_OK; i++)
    for (size_t k = 0; k < HR__TIGHTENINGS && status == HR_OK && !plan->goals.goals[i].assumed; k++)
      status = tighten(plan, i, shares[k], error);
  plan->runs_of_tightening = hr__runner_runs(plan->lab) - before;
  return status;
}

/* The choice in worlds that are otherwise than supposed: what becomes of it, and what would then be best. */

/* Replications of each candidate of a search; and of what is shown, where the choice itself is exact. */
enum { FEW = 3, ENOUGH = 8 };

static bool has_spot(const struct hr_plan *plan) {
  const struct hr_cluster_spec *cluster = &plan->config.scenario->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].market.market == HR_MARKET_SPOT) return true;
  return false;
}

/* The choice as it was loaded: pools that have nodes there are those that a missing type would touch. */
static bool uses_gpu(const struct hr_plan *plan, const char *gpu) {
  const struct hr_cluster_spec *cluster = &hr__runner_scenario(plan->lab, plan->choice.mix)->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].gpu && cluster->pools[i].nodes && strcmp(cluster->pools[i].gpu, gpu) == 0) return true;
  return false;
}

static bool is_first_of_its_gpu(const struct hr_cluster_spec *cluster, uint32_t pool) {
  for (uint32_t i = 0; i < pool; i++)
    if (cluster->pools[i].gpu && strcmp(cluster->pools[i].gpu, cluster->pools[pool].gpu) == 0) return false;
  return true;
}

static bool has_other_gpus(const struct hr_cluster_spec *cluster, const char *gpu) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (!cluster->pools[i].gpu || strcmp(cluster->pools[i].gpu, gpu) != 0) return true;
  return false;
}

/* ---- One world -------------------------------------------------------------------------------------- */

/* All these worlds are no kinder than the one supposed, so what served jobs too badly there does so here; and what a
   mix costs at least is no less, unless some of it cannot be had. So it is enough to look around the choice, and not
   for another policy, but where a GPU type is missing. Where GPUs are unlike, what is best may lie in another valley,
   and the whole is searched. */
static enum hr_status find_best(struct hr_plan *plan, struct hr__evaluator *judge, const struct hr__environment *world,
                                uint32_t depth, struct hr__changed_world *changed, struct hr_error *error) {
  bool anywhere = plan->config.scenario->speeds && plan->space.n_capacity > 1;
  struct hr__search_config config = {.judge = judge,
                                     .bounds = world->stress.without_gpu ? NULL : &plan->bounds,
                                     .replications = depth < FEW ? depth : FEW,
                                     .max_runs = plan->space.spec->max_runs,
                                     .begin = anywhere ? HR_NONE : plan->choice.candidate,
                                     .one_slice = !anywhere && !world->stress.without_gpu,
                                     .thorough = anywhere,
                                     .small = plan->search.small,
                                     .n_small = plan->search.n_small};
  struct hr__search_result result;
  enum hr_status status = hr__search(&config, &result, error);
  uint32_t best = HR_NONE;
  if (status == HR_OK) status = hr__plan_settle(judge, &result, depth, &best, error);
  if (status == HR_OK && best != HR_NONE) {
    status = hr__option_make(plan, judge, best, judge->mixes[best], depth, &changed->best, error);
    changed->best_meets = status == HR_OK && changed->best.violation == 0;
  }
  hr__search_finish(&result);
  return status;
}

/* A world may be random where the one supposed is not: more demand is drawn. */
static uint32_t depth_of(const struct hr_plan *plan, const struct hr__evaluator *judge) {
  uint32_t most = plan->space.spec->max_replications;
  if (!judge->random) return 1;
  if (plan->judge.random) return plan->depth;
  return most < ENOUGH ? most : ENOUGH;
}

static enum hr_status add_world(struct hr_plan *plan, const struct hr__environment *world, double factor,
                                const char *name, struct hr_error *error) {
  if (plan->n_worlds == HR__MOST_WORLDS) return HR_OK;
  struct hr__changed_world *changed = &plan->worlds[plan->n_worlds++];
  struct hr__evaluator judge = {0};
  uint32_t number, candidate = plan->choice.candidate;
  hr__option_finish(plan, &changed->same);
  hr__option_finish(plan, &changed->best);
  snprintf(changed->name, sizeof changed->name, "%s", name);
  changed->factor = factor;
  enum hr_status status = hr__runner_add_environment(plan->lab, world, &number, error);
  if (status == HR_OK) status = hr__evaluator_make(&judge, plan->lab, &plan->space, &plan->goals, number, error);
  if (status == HR_OK) status = hr__evaluator_run(&judge, &candidate, 1, 1, error);
  uint32_t depth = depth_of(plan, &judge);
  if (status == HR_OK) status = hr__evaluator_run(&judge, &candidate, 1, depth, error);
  if (status == HR_OK)
    status = hr__option_make(plan, &judge, candidate, judge.mixes[candidate], depth, &changed->same, error);
  if (status == HR_OK) status = find_best(plan, &judge, world, depth, changed, error);
  hr__evaluator_finish(&judge);
  return status;
}

/* ---- All worlds ------------------------------------------------------------------------------------- */

static enum hr_status change_spot(struct hr_plan *plan, struct hr_error *error) {
  struct hr__environment world;
  if (!has_spot(plan)) return HR_OK;
  hr__plan_world(plan, &world);
  world.stress.spot_reclaims = 2;
  enum hr_status status = add_world(plan, &world, 2, "spot reclaims x 2", error);
  hr__plan_world(plan, &world);
  world.stress.spot_price = 1.5;
  return status == HR_OK ? add_world(plan, &world, 1.5, "spot price + 50 %", error) : status;
}

static enum hr_status change_demand(struct hr_plan *plan, struct hr_error *error) {
  static const int percents[] = {10, 25, 50};
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof percents / sizeof *percents && status == HR_OK; i++) {
    struct hr__environment world;
    char name[40];
    hr__plan_world(plan, &world);
    world.workload.growth *= 1 + percents[i] / 100.0;
    snprintf(name, sizeof name, "demand + %d %%", percents[i]);
    status = add_world(plan, &world, 1 + percents[i] / 100.0, name, error);
  }
  return status;
}

static enum hr_status take_gpus_away(struct hr_plan *plan, struct hr_error *error) {
  const struct hr_cluster_spec *cluster = &plan->config.scenario->cluster;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++) {
    const char *gpu = cluster->pools[i].gpu;
    struct hr__environment world;
    char name[80];
    if (!gpu || !is_first_of_its_gpu(cluster, i) || !has_other_gpus(cluster, gpu) || !uses_gpu(plan, gpu)) continue;
    hr__plan_world(plan, &world);
    world.stress.without_gpu = gpu;
    snprintf(name, sizeof name, "no %.60s to be had", gpu);
    status = add_world(plan, &world, 0, name, error);
  }
  return status;
}

enum hr_status hr__plan_sensitivity(struct hr_plan *plan, struct hr_error *error) {
  uint64_t before = hr__runner_runs(plan->lab);
  enum hr_status status = change_spot(plan, error);
  if (status == HR_OK) status = change_demand(plan, error);
  if (status == HR_OK) status = take_gpus_away(plan, error);
  plan->runs_of_worlds = hr__runner_runs(plan->lab) - before;
  return status;
}
