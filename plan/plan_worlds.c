/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice in worlds that are otherwise than supposed: what becomes of it, and what would then be best. */

#include "plan/planning.h"

#include <stdio.h>
#include <string.h>

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
  const struct hr_cluster_spec *cluster = &hr__lab_scenario(plan->lab, plan->choice.mix)->cluster;
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
static enum hr_status find_best(struct hr_plan *plan, struct hr__judge *judge, const struct hr__world *world,
                                uint32_t depth, struct hr__changed_world *changed, struct hr_error *error) {
  bool anywhere = plan->config.scenario->speeds && plan->space.n_capacity > 1;
  struct hr__search_config config = {.judge = judge,
                                     .bounds = world->stress.without_gpu ? NULL : &plan->bounds,
                                     .replications = depth < FEW ? depth : FEW,
                                     .most_runs = plan->space.spec->most_runs,
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
static uint32_t depth_of(const struct hr_plan *plan, const struct hr__judge *judge) {
  uint32_t most = plan->space.spec->most_replications;
  if (!judge->random) return 1;
  if (plan->judge.random) return plan->depth;
  return most < ENOUGH ? most : ENOUGH;
}

static enum hr_status add_world(struct hr_plan *plan, const struct hr__world *world, double factor, const char *name,
                                struct hr_error *error) {
  if (plan->n_worlds == HR__MOST_WORLDS) return HR_OK;
  struct hr__changed_world *changed = &plan->worlds[plan->n_worlds++];
  struct hr__judge judge = {0};
  uint32_t number, candidate = plan->choice.candidate;
  hr__option_finish(plan, &changed->same);
  hr__option_finish(plan, &changed->best);
  snprintf(changed->name, sizeof changed->name, "%s", name);
  changed->factor = factor;
  enum hr_status status = hr__lab_add_world(plan->lab, world, &number, error);
  if (status == HR_OK) status = hr__judge_make(&judge, plan->lab, &plan->space, &plan->goals, number, error);
  if (status == HR_OK) status = hr__judge_run(&judge, &candidate, 1, 1, error);
  uint32_t depth = depth_of(plan, &judge);
  if (status == HR_OK) status = hr__judge_run(&judge, &candidate, 1, depth, error);
  if (status == HR_OK)
    status = hr__option_make(plan, &judge, candidate, judge.mixes[candidate], depth, &changed->same, error);
  if (status == HR_OK) status = find_best(plan, &judge, world, depth, changed, error);
  hr__judge_finish(&judge);
  return status;
}

/* ---- All worlds ------------------------------------------------------------------------------------- */

static enum hr_status change_spot(struct hr_plan *plan, struct hr_error *error) {
  struct hr__world world;
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
    struct hr__world world;
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
    struct hr__world world;
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
  uint64_t before = hr__lab_runs(plan->lab);
  enum hr_status status = change_spot(plan, error);
  if (status == HR_OK) status = change_demand(plan, error);
  if (status == HR_OK) status = take_gpus_away(plan, error);
  plan->runs_of_worlds = hr__lab_runs(plan->lab) - before;
  return status;
}
