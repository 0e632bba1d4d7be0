/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares Headroom with a slow model of Karpenter in random worlds: starts and ends of jobs, requested, refused and
 * removed nodes, and their cost to the micro-dollar.
 *
 * Arguments: the number of worlds, and the index of the first one.
 */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/clusters.h"
#include "lab.h"
#include "naive_karpenter.h"

#include <string.h>

#define S HR_SECOND_US

/* ---- Headroom ---- */

struct setup {
  struct hr_pool_spec pools[NAIVE_TYPES];
  struct hr_disruption_budget budgets[NAIVE_NODE_POOLS];
  char schedules[NAIVE_NODE_POOLS][32];
  int64_t drifts_us[NAIVE_NODE_POOLS][NAIVE_DRIFTS];
  struct hr_node_pool node_pools[NAIVE_NODE_POOLS];
  bool of_pool[NAIVE_NODE_POOLS][NAIVE_TYPES];
  double no_capacity[NAIVE_TYPES];
  struct hr_autoscaler_spec spec;
  int64_t submit_us[NAIVE_PODS], work_us[NAIVE_PODS];
  uint32_t gpus[NAIVE_PODS], tenant[NAIVE_PODS];
};

static char name[] = "pool", gpu[] = "T4";

static void set_node_pool(struct setup *setup, const struct naive_claims *world, uint32_t i) {
  const struct naive_node_pool *from = &world->node_pools[i];
  for (uint32_t k = 0; k < world->n_types; k++) setup->of_pool[i][k] = world->types[k].node_pool == i;
  setup->budgets[i] = (struct hr_disruption_budget){.nodes = from->budget, .percent = from->percent};
  for (uint32_t k = 0; k < NAIVE_REASONS; k++) setup->budgets[i].reasons |= (uint32_t)from->limits[k] << k;
  if (from->every_min) {
    snprintf(setup->schedules[i], sizeof setup->schedules[i], "*/%u * * * *", from->every_min);
    setup->budgets[i].schedule = setup->schedules[i];
    setup->budgets[i].duration_us = from->active_s * S;
  }
  setup->node_pools[i] = (struct hr_node_pool){.name = name,
                                               .of_pool = setup->of_pool[i],
                                               .weight = from->weight,
                                               .max_nodes = from->max_nodes,
                                               .max_gpus = from->max_gpus,
                                               .max_cpu_milli = INT64_MAX,
                                               .max_mem_mib = INT64_MAX,
                                               .consolidation = from->consolidates    ? HR_CONSOLIDATION_UNDERUTILIZED
                                                                : from->removes_empty ? HR_CONSOLIDATION_EMPTY
                                                                                      : HR_CONSOLIDATION_NEVER,
                                               .drifts_us = setup->drifts_us[i],
                                               .consolidate_after_us = from->after_us,
                                               .expire_us = from->expire_us,
                                               .budgets = &setup->budgets[i],
                                               .n_budgets = 1};
  for (uint32_t k = 0; k < NAIVE_DRIFTS; k++)
    if (from->drifts_us[k]) setup->drifts_us[i][setup->node_pools[i].n_drifts++] = from->drifts_us[k];
}

static void set_up(struct setup *setup, const struct naive_claims *world) {
  memset(setup, 0, sizeof *setup);
  for (uint32_t k = 0; k < world->n_types; k++) {
    const struct naive_type *from = &world->types[k];
    setup->pools[k] =
        (struct hr_pool_spec){.name = name,
                              .gpu = gpu,
                              .nodes = from->nodes,
                              .gpus_per_node = from->size,
                              .market = {.market = from->is_spot ? HR_MARKET_SPOT : HR_MARKET_ON_DEMAND,
                                         .price_uusd_h = from->price_uusd_h,
                                         .boot = {HR_DURATION_FIXED, (double)from->boot_us / (double)S, 0}}};
    setup->no_capacity[k] = from->no_capacity;
  }
  for (uint32_t i = 0; i < world->n_node_pools; i++) set_node_pool(setup, world, i);
  for (uint32_t i = 0; i < world->n_pods; i++) {
    setup->submit_us[i] = world->pods[i].submit_us;
    setup->work_us[i] = world->pods[i].work_us;
    setup->gpus[i] = world->pods[i].gpus;
    setup->tenant[i] = HR_NONE;
  }
  setup->spec = (struct hr_autoscaler_spec){.kind = HR_NODE_AUTOSCALER_KARPENTER,
                                            .provision_us = world->provision_us,
                                            .batch_idle_us = world->idle_us,
                                            .batch_max_us = world->max_us,
                                            .unavailable_us = world->unavailable_us,
                                            .node_pools = setup->node_pools,
                                            .n_node_pools = world->n_node_pools,
                                            .failure_share = setup->no_capacity,
                                            .spot_to_spot = world->spot_to_spot};
}

static struct hr_result *run(const struct naive_claims *world, hr_amount cost[NAIVE_TYPES]) {
  static struct setup setup;
  set_up(&setup, world);
  struct hr_trace trace = {.source = "test",
                           .n_jobs = world->n_pods,
                           .submit_us = setup.submit_us,
                           .work_us = setup.work_us,
                           .gpus = setup.gpus,
                           .tenant = setup.tenant};
  struct hr_cluster_spec cluster = {.pools = setup.pools, .n_pools = world->n_types, .autoscaler = &setup.spec};
  struct hr_policy_choice choice = {0};
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "fifo", &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, "placement", "first-fit", &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, "backfill", "strict", &error), HR_OK);
  struct hr_ledger *ledger = hr_ledger_create(&trace, &cluster, false);
  CU_ASSERT_PTR_NOT_NULL_FATAL(ledger);
  struct hr_observer observer = hr_ledger_observer(ledger);
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = world->seed,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true,
                                 .observers = &observer,
                                 .n_observers = 1};
  struct hr_result *result = NULL;
  const enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_ledger_close(ledger, result), HR_OK);
  for (uint32_t i = 0; i < world->n_types; i++) cost[i] = hr_ledger_pool(ledger, (hr_pool){i})->cost;
  result->trace = NULL; /* the object is on the stack */
  hr_ledger_destroy(ledger);
  hr_policy_choice_finish(&choice);
  return result;
}

/* ---- Random worlds ---- */

static void roll_types(struct lab_dice *dice, struct naive_claims *world) {
  static const uint32_t sizes[] = {1, 2, 4, 8}, boots[] = {7, 40, 95, 180};
  world->n_types = 1 + lab_roll(dice, NAIVE_TYPES);
  world->n_node_pools = 1 + lab_roll(dice, world->n_types < NAIVE_NODE_POOLS ? world->n_types : NAIVE_NODE_POOLS);
  for (uint32_t k = 0; k < world->n_types; k++) {
    struct naive_type *type = &world->types[k];
    type->nodes = 1 + lab_roll(dice, 10);
    type->size = sizes[lab_roll(dice, 4)];
    type->node_pool = k < world->n_node_pools ? k : lab_roll(dice, world->n_node_pools);
    type->price_uusd_h = 1000000 + 100003 * lab_roll(dice, 12);
    type->boot_us = boots[lab_roll(dice, 4)] * S + (lab_chance(dice, 50) ? lab_roll(dice, 1000000) : 0);
    type->no_capacity = lab_chance(dice, 25) ? 0.4 : 0;
    type->is_spot = lab_chance(dice, 40);
  }
}

static void roll_node_pools(struct lab_dice *dice, struct naive_claims *world) {
  static const uint32_t afters[] = {0, 0, 30, 300};
  for (uint32_t i = 0; i < world->n_node_pools; i++) {
    struct naive_node_pool *pool = &world->node_pools[i];
    pool->weight = lab_chance(dice, 50) ? lab_roll(dice, 4) : 0;
    pool->max_nodes = lab_chance(dice, 25) ? 1 + lab_roll(dice, 6) : UINT32_MAX;
    pool->max_gpus = lab_chance(dice, 25) ? 8 + lab_roll(dice, 24) : UINT32_MAX;
    pool->percent = lab_chance(dice, 50) ? 1 + lab_roll(dice, 60) : UINT32_MAX;
    pool->budget = 1 + lab_roll(dice, 3);
    for (uint32_t k = 0; k < NAIVE_REASONS; k++) pool->limits[k] = lab_chance(dice, 70);
    if (!pool->limits[0] && !pool->limits[1]) pool->limits[2] = true; /* without reasons it would apply to all */
    if (lab_chance(dice, 30)) {
      pool->every_min = 3 + lab_roll(dice, 40);
      pool->active_s = 60 + 30 * lab_roll(dice, 40);
    }
    pool->removes_empty = !lab_chance(dice, 10);
    pool->consolidates = pool->removes_empty && lab_chance(dice, 60);
    for (uint32_t k = 0; k < NAIVE_DRIFTS; k++)
      if (lab_chance(dice, 25))
        pool->drifts_us[k] = (1 + (int64_t)lab_roll(dice, 2000)) * S + (lab_chance(dice, 50) ? 3 : 0);
    pool->after_us = afters[lab_roll(dice, 4)] * S;
    pool->expire_us = lab_chance(dice, 30) ? (int64_t)(1000 + lab_roll(dice, 3000)) * S + 7 : 720 * 3600 * S;
  }
}

static void roll_pods(struct lab_dice *dice, struct naive_claims *world) {
  uint32_t most = 1;
  for (uint32_t k = 0; k < world->n_types; k++)
    if (world->types[k].size > most) most = world->types[k].size;
  const bool whole = lab_chance(dice, 30);
  int64_t at_us = 0;
  world->n_pods = 1 + lab_roll(dice, NAIVE_PODS);
  for (uint32_t i = 0; i < world->n_pods; i++) {
    struct naive_pod *pod = &world->pods[i];
    if (!lab_chance(dice, 40)) at_us += (int64_t)lab_roll(dice, lab_chance(dice, 10) ? 3000 : 90) * S;
    pod->submit_us = at_us + (whole ? 0 : lab_roll(dice, 999999));
    if (i && pod->submit_us < world->pods[i - 1].submit_us) pod->submit_us = world->pods[i - 1].submit_us;
    pod->work_us = (int64_t)(1 + lab_roll(dice, 600)) * S + (whole ? 0 : 1 + lab_roll(dice, 999997));
    pod->gpus = 1 + lab_roll(dice, most);
  }
}

static void roll(struct naive_claims *world, uint32_t number) {
  struct lab_dice dice = {number};
  *world = (struct naive_claims){.seed = number, .provision_us = 900 * S, .unavailable_us = 180 * S};
  world->idle_us = lab_chance(&dice, 50) ? S : 3 * S;
  world->max_us = lab_chance(&dice, 70) ? 10 * S : 5 * S;
  world->spot_to_spot = lab_chance(&dice, 50);
  roll_types(&dice, world);
  roll_node_pools(&dice, world);
  roll_pods(&dice, world);
}

static bool agree(const struct naive_claims *world, const struct hr_result *result, const hr_amount *cost) {
  bool same = true;
  for (uint32_t i = 0; i < world->n_pods; i++) {
    same = same && result->start_us[i] == world->pods[i].start_us;
    same = same && result->ended_us && result->ended_us[i] == world->pods[i].end_us;
  }
  for (uint32_t k = 0; k < world->n_types; k++) {
    const struct naive_type *type = &world->types[k];
    same = same && result->pools[k].launches == type->launches && result->pools[k].removals == type->removals &&
           result->pools[k].scale_failures == type->failures && result->pools[k].up_us == type->up_us;
    same = same && cost[k] == (hr_amount)type->up_us * type->size * 1000 * type->price_uusd_h;
  }
  return same;
}

static void report(const struct naive_claims *world, const struct hr_result *result, uint32_t number) {
  fprintf(stderr, "\n    world %u\n", number);
  for (uint32_t i = 0; i < world->n_pods; i++)
    fprintf(stderr,
            "    job %u: %u GPUs, submitted %lld, starts at %lld us, expected %lld; ends at %lld, expected %lld\n", i,
            world->pods[i].gpus, (long long)world->pods[i].submit_us, (long long)result->start_us[i],
            (long long)world->pods[i].start_us, (long long)(result->ended_us ? result->ended_us[i] : -1),
            (long long)world->pods[i].end_us);
  for (uint32_t k = 0; k < world->n_types; k++)
    fprintf(stderr,
            "    pool %u (%u nodes of %u GPUs): %u launches, expected %u; %u removals, expected %u; %u failures, "
            "expected %u; up %lld us, expected %lld\n",
            k, world->types[k].nodes, world->types[k].size, (unsigned)result->pools[k].launches,
            world->types[k].launches, (unsigned)result->pools[k].removals, world->types[k].removals,
            (unsigned)result->pools[k].scale_failures, world->types[k].failures, (long long)result->pools[k].up_us,
            (long long)world->types[k].up_us);
}

static void worlds_of_a_slow_model_agree(void) {
  const uint32_t count = (uint32_t)test_argument(1, 80);
  uint32_t n_run = 0, n_different = 0, n_launched = 0, n_removed = 0, n_failed = 0, n_moved = 0;
  uint32_t n_deletions[NAIVE_REASONS] = {0}, n_replacements[NAIVE_REASONS] = {0};
  for (uint32_t number = (uint32_t)test_argument(2, 1); n_run < count; number++) {
    static struct naive_claims world;
    roll(&world, number);
    if (!naive_karpenter_run(&world)) continue; /* a limit is too small for a job, or a node expires too early */
    hr_amount cost[NAIVE_TYPES];
    struct hr_result *result = run(&world, cost);
    n_run++;
    for (uint32_t k = 0; k < world.n_types; k++) {
      n_launched += world.types[k].launches;
      n_removed += world.types[k].removals;
      n_failed += world.types[k].failures;
    }
    for (uint32_t k = 0; k < NAIVE_REASONS; k++) {
      n_deletions[k] += world.n_moved[k];
      n_replacements[k] += world.n_replaced[k];
    }
    for (uint32_t i = 0; i < world.n_pods; i++)
      n_moved += world.pods[i].end_us - world.pods[i].start_us != world.pods[i].work_us;
    if (!agree(&world, result, cost) && n_different++ == 0) report(&world, result, number);
    hr_result_destroy(result);
  }
  CU_ASSERT_EQUAL(n_different, 0);
  if (n_different) fprintf(stderr, "    %u of %u worlds differ\n", n_different, count);
  /* checks that the worlds are not trivial */
  CU_ASSERT(n_launched > 3 * count && n_removed > count && n_failed > count / 4 && n_moved > count / 20);
  for (uint32_t k = 0; k < NAIVE_REASONS; k++) CU_ASSERT(n_deletions[k] > count / 4);
  CU_ASSERT(n_replacements[NAIVE_UNDERUTILIZED] > count / 4 && n_replacements[NAIVE_DRIFTED] > count / 4);
}

TEST_MAIN("Karpenter in random worlds", TEST(worlds_of_a_slow_model_agree))
