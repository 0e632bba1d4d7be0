/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elastic pools with Karpenter: cases with times and costs computed by hand. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/clusters.h"

#include <string.h>

#define S HR_SECOND_US

enum { MAX_POOLS = 17, MAX_JOBS = 12 };

struct world {
  struct hr_pool_spec pools[MAX_POOLS];
  uint32_t n_pools, n_jobs;
  struct hr_disruption_budget budgets[MAX_POOLS];
  bool of_pool[MAX_POOLS][MAX_POOLS];
  struct hr_node_pool node_pools[MAX_POOLS];
  struct hr_autoscaler_spec spec;
  double no_capacity[MAX_POOLS];
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], tenant[MAX_JOBS];
  uint64_t seed;
  int64_t origin_us;         /* time 0 of the run since 1970 UTC */
  hr_amount cost[MAX_POOLS]; /* result, ledger units */
};

static char name[] = "pool", gpu[] = "T4";

static void add_pool(struct world *world, uint32_t nodes, uint32_t size, int64_t uusd_h, int64_t boot_us) {
  world->pools[world->n_pools++] =
      (struct hr_pool_spec){.name = name,
                            .gpu = gpu,
                            .nodes = nodes,
                            .gpus_per_node = size,
                            .market = {.market = HR_MARKET_ON_DEMAND,
                                       .price_uusd_h = uusd_h,
                                       .boot = {HR_DURATION_FIXED, (double)boot_us / (double)S, 0}}};
}

static void add_job(struct world *world, int64_t submit_us, int64_t work_us, uint32_t gpus) {
  const uint32_t i = world->n_jobs++;
  world->submit_us[i] = submit_us;
  world->work_us[i] = work_us;
  world->gpus[i] = gpus;
  world->tenant[i] = HR_NONE;
}

/* Adds a node pool of the pools from `first` to `end` - 1. */
static struct hr_node_pool *add_node_pool(struct world *world, uint32_t first, uint32_t end) {
  const uint32_t i = world->spec.n_node_pools++;
  for (uint32_t k = first; k < end; k++) world->of_pool[i][k] = true;
  world->budgets[i] = (struct hr_disruption_budget){.percent = 10};
  world->node_pools[i] = (struct hr_node_pool){.name = name,
                                               .of_pool = world->of_pool[i],
                                               .max_nodes = UINT32_MAX,
                                               .max_gpus = UINT32_MAX,
                                               .max_cpu_milli = INT64_MAX,
                                               .max_mem_mib = INT64_MAX,
                                               .consolidation = HR_CONSOLIDATION_EMPTY,
                                               .expire_us = 720 * 3600 * S,
                                               .budgets = &world->budgets[i],
                                               .n_budgets = 1};
  return &world->node_pools[i];
}

/* Adds a node pool of the first pool. Its nodes are removed only because of drift. */
static struct hr_node_pool *add_drifting(struct world *world, int64_t *drifts_us, uint32_t n_drifts) {
  struct hr_node_pool *pool = add_node_pool(world, 0, 1);
  pool->consolidation = HR_CONSOLIDATION_NEVER;
  pool->drifts_us = drifts_us;
  pool->n_drifts = n_drifts;
  return pool;
}

static void init(struct world *world) {
  *world = (struct world){.spec = {.kind = HR_NODE_AUTOSCALER_KARPENTER,
                                   .provision_us = 900 * S,
                                   .batch_idle_us = S,
                                   .batch_max_us = 10 * S,
                                   .unavailable_us = 180 * S}};
}

static struct hr_result *run(struct world *world) {
  struct hr_trace trace = {.source = "test",
                           .origin_us = world->origin_us,
                           .n_jobs = world->n_jobs,
                           .submit_us = world->submit_us,
                           .work_us = world->work_us,
                           .gpus = world->gpus,
                           .tenant = world->tenant};
  world->spec.node_pools = world->node_pools;
  world->spec.failure_share = world->no_capacity;
  struct hr_cluster_spec cluster = {.pools = world->pools, .n_pools = world->n_pools, .autoscaler = &world->spec};
  struct hr_policy_choice choice = {0};
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "fifo", &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, "placement", "first-fit", &error), HR_OK);
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
  for (uint32_t i = 0; i < world->n_pools; i++) {
    world->cost[i] = hr_ledger_pool(ledger, (hr_pool){i})->cost;
    /* a node is billed from its request until its removal */
    const hr_amount gpu_us = result->pools[i].up_us * world->pools[i].gpus_per_node;
    CU_ASSERT(world->cost[i] == gpu_us * 1000 * world->pools[i].market.price_uusd_h);
    CU_ASSERT(result->pools[i].launches >= result->pools[i].removals);
  }
  result->trace = NULL; /* the object is on the stack */
  hr_ledger_destroy(ledger);
  hr_policy_choice_finish(&choice);
  return result;
}

/* ---- Nodes that are requested ---- */

/* Two jobs within a second are one batch, and get one node: the cheapest node on which both fit. The third job needs a
   node of 8 GPUs. The last job takes 3 nodes of 4 GPUs, which cost less than 2 nodes of 8. A pass searches for empty
   nodes every 10 s. Empty nodes are removed 15 s after the pass that finds them. A pass follows immediately after this
   removal, and then one every 10 s. */
static void nodes_are_the_cheapest_ones(void) {
  struct world world;
  init(&world);
  add_pool(&world, 4, 4, 1000000, 100 * S + 7);
  add_pool(&world, 4, 8, 900000, 200 * S);
  add_node_pool(&world, 0, 2);
  add_job(&world, 0, 3000 * S, 1);
  add_job(&world, S / 2 + 1, 3000 * S, 2);
  add_job(&world, 20 * S, 1000 * S, 8);
  add_job(&world, 9000 * S, 10 * S, 12);
  struct hr_result *result = run(&world);
  const int64_t asked_us = 3 * S / 2 + 1, start_us = asked_us + 100 * S + 7;
  CU_ASSERT_EQUAL(result->start_us[0], start_us);
  CU_ASSERT_EQUAL(result->start_us[1], start_us);
  CU_ASSERT_EQUAL(result->start_us[2], 221 * S);
  CU_ASSERT_EQUAL(result->start_us[3], 9101 * S + 7);
  /* the large node is empty at 1221 s, found at 1230 s, gone at 1245 s; the small one empty at 3101.5 s, found at
     3105 s, gone at 3120 s */
  CU_ASSERT(result->pools[1].up_us == (1245 - 21) * S);
  CU_ASSERT(result->pools[0].up_us == 3120 * S - asked_us + 3 * (110 * S + 7));
  CU_ASSERT_EQUAL(result->pools[0].launches, 4);
  CU_ASSERT_EQUAL(result->pools[0].removals, 1);
  CU_ASSERT(result->pools[0].empty_us == 3120 * S - (start_us + 3000 * S));
  hr_result_destroy(result);
}

/* A job is submitted every 0.9 s. The batch of jobs ends 10 s after its first job. */
static void batches_end(void) {
  struct world world;
  init(&world);
  add_pool(&world, 1, 32, 1000000, 0);
  add_node_pool(&world, 0, 1);
  for (int i = 0; i < MAX_JOBS; i++)
    add_job(&world, (3 + (int64_t)i) * 9 * S / 10, 1000 * S, i < MAX_JOBS - 1 ? 1 : 32);
  world.pools[0].nodes = 2;
  struct hr_result *result = run(&world);
  /* the batch is open from 2.7 s to 12.7 s; its last job, of 12.6 s, gets a node of its own */
  for (int i = 0; i < MAX_JOBS; i++) CU_ASSERT_EQUAL(result->start_us[i], 127 * S / 10);
  CU_ASSERT_EQUAL(result->pools[0].launches, 2);
  hr_result_destroy(result);
}

/* The node pool with the highest weight is tried first, although its nodes cost more; its limit allows one node. */
static void weights_and_limits_hold(void) {
  struct world world;
  init(&world);
  add_pool(&world, 8, 4, 1000000, 50 * S);
  add_pool(&world, 8, 4, 2000000, 10 * S);
  add_node_pool(&world, 0, 1);
  struct hr_node_pool *second = add_node_pool(&world, 1, 2);
  second->weight = 10;
  for (int limit = 0; limit < 3; limit++) {
    world.n_jobs = 0;
    second->max_gpus = limit == 0 ? 7 : UINT32_MAX;
    second->max_nodes = limit == 1 ? 1 : UINT32_MAX;
    second->max_cpu_milli = limit == 2 ? 4000 : INT64_MAX;
    for (int i = 0; i < 3; i++) add_job(&world, 0, 100 * S, 4);
    struct hr_result *result = run(&world);
    CU_ASSERT_EQUAL(result->pools[1].launches, 1);
    CU_ASSERT_EQUAL(result->pools[0].launches, 2);
    CU_ASSERT_EQUAL(result->start_us[0], 11 * S);
    CU_ASSERT_EQUAL(result->start_us[1], 51 * S);
    hr_result_destroy(result);
  }
}

/* The cheapest pool has no capacity. It is not tried again for 180 s, so the second job gets the other pool without a
   failure. For the third job, at 181 s, the cheapest pool is tried and fails again. */
static void pools_without_capacity_are_left_out(void) {
  struct world world;
  init(&world);
  add_pool(&world, 8, 4, 1000000, 50 * S);
  add_pool(&world, 8, 4, 2000000, 60 * S);
  world.no_capacity[0] = 1;
  add_node_pool(&world, 0, 2);
  add_job(&world, 0, 1000 * S, 4);
  add_job(&world, 100 * S, 1000 * S, 4);
  add_job(&world, 180 * S, 1000 * S, 4);
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(result->pools[0].launches, 0);
  CU_ASSERT_EQUAL(result->pools[0].scale_failures, 2);
  for (int i = 0; i < 3; i++) CU_ASSERT_EQUAL(result->start_us[i], world.submit_us[i] + 61 * S);
  hr_result_destroy(result);
}

/* Without another pool, the pool is tried again after 180 s. If a node has not booted after 900 s, it is abandoned.
   Another node is requested at the same time, because the next pass is due then. */
static void failures_are_repeated(void) {
  uint64_t total[2] = {0};
  for (uint64_t seed = 1; seed <= 12; seed++) {
    const bool is_late = seed % 2 == 0;
    struct world world;
    init(&world);
    world.seed = seed;
    add_pool(&world, 8, 4, 1000000, 50 * S);
    world.no_capacity[0] = is_late ? 0 : 0.75;
    if (is_late) world.pools[0].market.boot = (struct hr_duration){HR_DURATION_EXPONENTIAL, 2500, 0};
    add_node_pool(&world, 0, 1);
    add_job(&world, 0, 1000 * S, 4);
    struct hr_result *result = run(&world);
    const uint64_t failures = result->pools[0].scale_failures;
    const int64_t boot_us = (int64_t)result->pools[0].provision_us; /* of the node that has booted */
    CU_ASSERT_EQUAL(result->start_us[0], S + (int64_t)failures * (is_late ? 900 : 180) * S + boot_us);
    CU_ASSERT(result->pools[0].up_us == (is_late ? (int64_t)failures * 900 * S : 0) + boot_us + 1000 * S);
    total[is_late] += failures;
    hr_result_destroy(result);
  }
  CU_ASSERT(total[0] > 3 && total[1] > 3);
}

/* ---- Nodes that are removed ---- */

/* Ten empty nodes are removed as the budget permits. A pass follows immediately after each removal. */
static void budgets_hold(void) {
  struct world world;
  init(&world);
  add_pool(&world, 10, 1, 1000000, 0);
  add_node_pool(&world, 0, 1);
  for (int i = 0; i < 10; i++) add_job(&world, 0, 100 * S, 1);
  add_job(&world, 1000 * S, S, 1);
  static const struct hr_disruption_budget budgets[] = {{.nodes = 2, .percent = UINT32_MAX},
                                                        {.percent = 15},
                                                        {.percent = 0, .reasons = 1u << HR_DISRUPTION_UNDERUTILIZED}};
  for (int k = 0; k < 3; k++) {
    world.budgets[0] = budgets[k];
    struct hr_result *result = run(&world);
    /* all start at 1 s and end at 101 s. Passes at 110, 125, 140, ...; removals 15 s after each. 2 nodes of 10, then
       15 % of 8, 6, 5, ... rounded up are 2, 1, 1, ... */
    static const int64_t gone_s[3][10] = {{125, 125, 140, 140, 155, 155, 170, 170, 185, 185},
                                          {125, 125, 140, 140, 155, 170, 185, 200, 215, 230},
                                          {125, 125, 125, 125, 125, 125, 125, 125, 125, 125}};
    int64_t up_s = 0;
    for (int i = 0; i < 10; i++) up_s += gone_s[k][i] - 1;
    CU_ASSERT(result->pools[0].up_us == (up_s + 1) * S);
    CU_ASSERT_EQUAL(result->pools[0].removals, 10);
    hr_result_destroy(result);
  }
}

/* Ten nodes are empty at 101 s. They are removed 15 s after the first pass at which the budget of 0 nodes does not
   apply, `found_s`. The schedules are midnight, midnight on Fridays, 00:02, and every half hour. In the case 00:02, the
   pass at 110 s finds the nodes, but at 125 s the budget prevents their removal; passes then continue every 10 s until
   3,725 s. The run begins on Thursday, 1970-01-01, at 00:00, a day later, or a second before that. */
static void budgets_follow_their_schedules(void) {
  static char midnight[] = "0 0 * * *", friday[] = "0 0 * * fri", two_min[] = "2 0 * * *", often[] = "*/30 * * * *";
  static const struct {
    char *schedule;
    int64_t duration_s, origin_s, found_s;
  } cases[] = {{midnight, 3600, 0, 3600}, {friday, 3600, 0, 110}, {friday, 3600, 86400, 3600},
               {two_min, 3600, 0, 3725},  {often, 600, 0, 600},   {often, 600, 86399, 610},
               {midnight, 90, 0, 110},    {midnight, 120, 0, 120}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct world world;
    init(&world);
    add_pool(&world, 10, 1, 1000000, 0);
    add_node_pool(&world, 0, 1);
    for (int i = 0; i < 10; i++) add_job(&world, 0, 100 * S, 1);
    add_job(&world, 5000 * S, S, 1);
    world.budgets[0] = (struct hr_disruption_budget){
        .percent = UINT32_MAX, .schedule = cases[k].schedule, .duration_us = cases[k].duration_s * S};
    world.origin_us = cases[k].origin_s * S;
    struct hr_result *result = run(&world);
    CU_ASSERT_EQUAL(result->pools[0].removals, 10);
    CU_ASSERT_EQUAL(result->pools[0].up_us, (10 * (cases[k].found_s + 15 - 1) + 1) * S);
    hr_result_destroy(result);
  }
}

/* A node is kept after its last job for the configured time, or without limit with `never`. It is removed by the first
   pass after this time. */
static void nodes_stay_as_long_as_stated(void) {
  struct world world;
  init(&world);
  add_pool(&world, 1, 1, 1000000, 0);
  struct hr_node_pool *pool = add_node_pool(&world, 0, 1);
  add_job(&world, 0, 100 * S, 1);
  add_job(&world, 10000 * S, S, 1);
  pool->consolidate_after_us = 300 * S;
  struct hr_result *result = run(&world);
  CU_ASSERT(result->pools[0].up_us == (425 - 1 + 1) * S); /* 101 s + 300 s, found at 410 s; later 1 s */
  CU_ASSERT_EQUAL(result->start_us[1], 10001 * S);
  hr_result_destroy(result);
  pool->consolidation = HR_CONSOLIDATION_NEVER;
  result = run(&world);
  CU_ASSERT_EQUAL(result->start_us[1], 10000 * S);
  CU_ASSERT(result->pools[0].up_us == 10000 * S);
  hr_result_destroy(result);
}

/* Two nodes have a job of 3 GPUs each, and one of them also has a job of 1 GPU. When the first job has ended, the small
   job fits on the other node. Its node is removed, and the job starts again on the other node. */
static void jobs_move_to_other_nodes(void) {
  for (int moves = 0; moves <= 1; moves++) {
    struct world world;
    init(&world);
    add_pool(&world, 3, 4, 1000000, 40 * S);
    add_node_pool(&world, 0, 1)->consolidation = moves ? HR_CONSOLIDATION_UNDERUTILIZED : HR_CONSOLIDATION_EMPTY;
    add_job(&world, 0, 100 * S, 3);
    add_job(&world, 0, 5000 * S, 3);
    add_job(&world, 0, 3000 * S + 1, 1);
    struct hr_result *result = run(&world);
    /* requested at 1 s; the first job ends at 141 s; found at 150 s, moved at 165 s */
    CU_ASSERT_EQUAL(result->pools[0].launches, 2);
    CU_ASSERT_EQUAL(result->start_us[2], 41 * S);
    CU_ASSERT_EQUAL(result->ended_us[2], (moves ? 165 : 41) * S + 3000 * S + 1);
    /* without moves, the node is empty at 3041.000001 s, found at 3050 s, gone at 3065 s */
    CU_ASSERT(result->pools[0].up_us == (5040 + (moves ? 164 : 3064)) * S);
    CU_ASSERT_EQUAL(result->pools[0].removals, 1);
    hr_result_destroy(result);
  }
}

/* A large node has a job of 8 GPUs and one of 1 GPU. When the first job has ended, a small node costs less. It is
   requested, and the large node is removed when the small node has booted. If it does not boot in time, the large node
   is kept. */
static void nodes_are_replaced_by_cheaper_ones(void) {
  for (int late = 0; late <= 1; late++) {
    struct world world;
    init(&world);
    add_pool(&world, 3, 1, 1000000, late ? 1000 * S : 70 * S);
    add_pool(&world, 3, 9, 1000000, 40 * S);
    add_node_pool(&world, 0, 2)->consolidation = HR_CONSOLIDATION_UNDERUTILIZED;
    add_job(&world, 0, 100 * S, 8);
    add_job(&world, 0, (late ? 2000 : 930) * S, 1);
    if (late) add_job(&world, 1070 * S, 1000 * S, 8);
    struct hr_result *result = run(&world);
    /* Both jobs are on one node from 41 s on. The first job ends at 141 s. At 150 s a smaller node is found, which is
       requested at 165 s. If it does not boot, it is abandoned at 1065 s, and the large node accepts jobs again. */
    CU_ASSERT_EQUAL(result->pools[0].launches, 1);
    CU_ASSERT_EQUAL(result->pools[1].launches, 1);
    CU_ASSERT_EQUAL(result->ended_us[1], (late ? 41 + 2000 : 165 + 70 + 930) * S);
    CU_ASSERT(result->pools[1].up_us == (late ? 2069 : 234) * S);
    CU_ASSERT(result->pools[0].up_us == (late ? 900 : 1000) * S);
    CU_ASSERT_EQUAL(result->pools[1].removals, late ? 0 : 1);
    if (late) CU_ASSERT_EQUAL(result->start_us[2], 1070 * S);
    hr_result_destroy(result);
  }
}

/* Three nodes with a job each are replaced by one node, which costs less than two of them. A budget of one node
   prevents this; a budget for other reasons has no effect. */
static void several_nodes_become_one(void) {
  for (int k = 0; k < 3; k++) {
    struct world world;
    init(&world);
    add_pool(&world, 3, 1, 1000000, 0);
    add_pool(&world, 3, 3, 600000, 30 * S);
    add_node_pool(&world, 0, 2)->consolidation = HR_CONSOLIDATION_UNDERUTILIZED;
    world.budgets[0] = k == 0   ? (struct hr_disruption_budget){.percent = 100}
                       : k == 1 ? (struct hr_disruption_budget){.nodes = 1, .percent = UINT32_MAX}
                                : (struct hr_disruption_budget){.percent = 0, .reasons = 1u << HR_DISRUPTION_EMPTY};
    for (int i = 0; i < 3; i++) add_job(&world, i * 2 * S, 1000 * S, 1);
    struct hr_result *result = run(&world);
    /* the jobs start at 1 s, 3 s, 5 s; found at 10 s, requested at 25 s, booted at 55 s */
    CU_ASSERT_EQUAL(result->pools[0].launches, 3);
    CU_ASSERT_EQUAL(result->pools[1].launches, k != 1);
    for (int i = 0; i < 3; i++) CU_ASSERT_EQUAL(result->ended_us[i], (k == 1 ? 1001 + 2 * i : 1055) * S);
    if (k != 1) CU_ASSERT(result->pools[0].up_us == (54 + 52 + 50) * S && result->pools[1].up_us == 1030 * S);
    hr_result_destroy(result);
  }
}

/* A node expires 500 s after its request. Its job is stopped and starts again on a new node. */
static void nodes_expire(void) {
  struct world world;
  init(&world);
  add_pool(&world, 1, 1, 1000000, 40 * S);
  add_node_pool(&world, 0, 1)->expire_us = 500 * S;
  add_job(&world, 0, 300 * S, 1);
  add_job(&world, 250 * S, 300 * S, 1);
  struct hr_result *result = run(&world);
  /* requested at 1 s; the second job runs from 341 s to 501 s, and again from 502 s + 40 s */
  CU_ASSERT_EQUAL(result->ended_us[0], 341 * S);
  CU_ASSERT_EQUAL(result->ended_us[1], 842 * S);
  CU_ASSERT(result->pools[0].up_us == (500 + 340) * S);
  CU_ASSERT_EQUAL(result->pools[0].removals, 1);
  hr_result_destroy(result);
}

/* ---- Drift ---- */

/* The template changes at 500 s. Each node is replaced after a new node has booted. Replacements begin immediately,
   unless a budget is exhausted; then they follow one another. Neither the consolidation policy nor the time since the
   last job matters. */
static void drifted_nodes_are_replaced(void) {
  static int64_t drifts_us[] = {500 * S};
  for (int one_by_one = 0; one_by_one <= 1; one_by_one++) {
    struct world world;
    init(&world);
    add_pool(&world, 6, 1, 1000000, 40 * S);
    add_drifting(&world, drifts_us, 1)->consolidate_after_us = 1000 * S;
    world.budgets[0] = (struct hr_disruption_budget){.nodes = one_by_one ? 1 : 3, .percent = UINT32_MAX};
    for (int i = 0; i < 3; i++) add_job(&world, 0, 2000 * S, 1);
    struct hr_result *result = run(&world);
    /* requested at 1 s; replacements at 500 s, and after 40 s each; the jobs start again when their node is removed */
    for (int i = 0; i < 3; i++) CU_ASSERT_EQUAL(result->ended_us[i], (500 + 40 + (one_by_one ? 40 * i : 0) + 2000) * S);
    CU_ASSERT_EQUAL(result->pools[0].launches, 6);
    CU_ASSERT_EQUAL(result->pools[0].removals, 3);
    hr_result_destroy(result);
  }
}

/* At 500 s a replacement of the node is requested. The template changes again at 503 s, so the replacement, which boots
   until 504 s, has drifted. The pass at 510 s requests another node, which boots until 514 s and does not drift. */
static void nodes_drift_again(void) {
  static int64_t drifts_us[] = {503 * S, 500 * S};
  struct world world;
  init(&world);
  add_pool(&world, 6, 1, 1000000, 4 * S);
  struct hr_node_pool *pool = add_node_pool(&world, 0, 1);
  pool->drifts_us = drifts_us;
  pool->n_drifts = 2;
  add_job(&world, 0, 2000 * S, 1);
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(result->ended_us[0], (514 + 2000) * S);
  CU_ASSERT_EQUAL(result->pools[0].launches, 3);
  hr_result_destroy(result);
}

/* With a budget of 0 nodes for drift, or if the template changes at the time of the request, the nodes are kept.
   Otherwise the empty node is removed first, and then the other node is replaced. */
static void empty_nodes_go_first(void) {
  static int64_t drift_us[1];
  for (int k = 0; k < 3; k++) {
    struct world world;
    init(&world);
    add_pool(&world, 2, 2, 1000000, 40 * S);
    add_drifting(&world, drift_us, 1);
    drift_us[0] = (k == 1 ? 1 : 500) * S;
    world.budgets[0] =
        (struct hr_disruption_budget){.reasons = 1u << HR_DISRUPTION_DRIFTED, .percent = k == 0 ? 0 : 50};
    add_job(&world, 0, 1000 * S, 2);
    add_job(&world, 0, 100 * S, 2);
    struct hr_result *result = run(&world);
    /* both start at 41 s, and the second node is empty at 141 s. The pool has at most two nodes, so the first node
       cannot be replaced before the second one is removed. */
    CU_ASSERT_EQUAL(result->ended_us[0], (k < 2 ? 1041 : 1540) * S);
    CU_ASSERT_EQUAL(result->pools[0].launches, k < 2 ? 2 : 3);
    CU_ASSERT_EQUAL(result->pools[0].removals, k < 2 ? 0 : 2);
    CU_ASSERT_EQUAL(result->pools[0].up_us, (k < 2 ? 1040 + 1040 : 499 + 539 + 1040) * S);
    hr_result_destroy(result);
  }
}

/* A node drifts whose job fits on another node. It is removed without a replacement, and the job starts again on the
   other node. The other node has drifted, too, and is replaced at the next pass. */
static void jobs_of_drifted_nodes_move(void) {
  static int64_t drift_us[] = {500 * S};
  struct world world;
  init(&world);
  add_pool(&world, 2, 2, 1000000, 40 * S);
  add_drifting(&world, drift_us, 1);
  for (int i = 0; i < 3; i++) add_job(&world, 0, (i == 1 ? 100 : 1000) * S, 1);
  struct hr_result *result = run(&world);
  /* The first two jobs share a node. The node of the first job is removed at 500 s. The other node is replaced from 510
     to 550 s. */
  CU_ASSERT_EQUAL(result->ended_us[0], 1550 * S);
  CU_ASSERT_EQUAL(result->ended_us[2], 1550 * S);
  CU_ASSERT_EQUAL(result->pools[0].up_us, (499 + 549 + 1040) * S);
  CU_ASSERT_EQUAL(result->pools[0].launches, 3);
  CU_ASSERT_EQUAL(result->pools[0].removals, 2);
  hr_result_destroy(result);
}

/* The replacement of a drifted node may cost more, because the pool of the node has no more capacity. */
static void drifted_nodes_are_replaced_at_any_price(void) {
  static int64_t drift_us[] = {500 * S};
  for (int drifts = 0; drifts <= 1; drifts++) {
    struct world world;
    init(&world);
    add_pool(&world, 1, 1, 1000000, 40 * S);
    add_pool(&world, 1, 1, 9000000, 40 * S);
    struct hr_node_pool *pool = add_node_pool(&world, 0, 2);
    pool->consolidation = HR_CONSOLIDATION_UNDERUTILIZED;
    pool->drifts_us = drift_us;
    pool->n_drifts = (uint32_t)drifts;
    add_job(&world, 0, 600 * S, 1);
    struct hr_result *result = run(&world);
    /* The expensive node runs the job from 540 s on. The pass at 540 s finds that a cheap node would suffice. It is
       requested at 555 s, and the job starts again on it at 595 s. */
    CU_ASSERT_EQUAL(result->pools[1].launches, (uint64_t)drifts);
    CU_ASSERT_EQUAL(result->ended_us[0], (drifts ? 595 + 600 : 641) * S);
    hr_result_destroy(result);
  }
}

/* ---- Spot nodes ---- */

/* A job of 8 GPUs has ended, and a job of 1 GPU remains on a spot node of 9 GPUs. Spot nodes of 1 GPU cost less. One of
   them replaces the large node if this is enabled, and if there are at least 15 pools of such nodes. */
static void spot_nodes_are_replaced_by_spot_nodes(void) {
  for (uint32_t k = 0; k < 4; k++) {
    const uint32_t n_small = k == 3 ? 15 : 13 + k;
    const bool is_allowed = k < 3, moves = is_allowed && n_small >= 15;
    struct world world;
    init(&world);
    world.spec.spot_to_spot = is_allowed;
    add_pool(&world, 1, 9, 1000000, 40 * S);
    for (uint32_t i = 0; i < n_small; i++) add_pool(&world, 1, 1, 1500000 - i, 40 * S);
    for (uint32_t i = 0; i < world.n_pools; i++) world.pools[i].market.market = HR_MARKET_SPOT;
    add_node_pool(&world, 0, world.n_pools)->consolidation = HR_CONSOLIDATION_UNDERUTILIZED;
    add_job(&world, 0, 100 * S, 8);
    add_job(&world, 0, 2000 * S, 1);
    struct hr_result *result = run(&world);
    /* found at 150 s, requested at 165 s; the cheapest pool is the last one */
    CU_ASSERT_EQUAL(result->pools[0].removals, moves);
    CU_ASSERT_EQUAL(result->pools[n_small].launches, moves);
    CU_ASSERT_EQUAL(result->ended_us[1], (moves ? 205 + 2000 : 2041) * S);
    hr_result_destroy(result);
  }
}

/* Two spot nodes are replaced by one if this is enabled. The minimum of 15 pools does not apply to this case. */
static void several_spot_nodes_become_one(void) {
  for (int is_allowed = 0; is_allowed <= 1; is_allowed++) {
    struct world world;
    init(&world);
    world.spec.spot_to_spot = is_allowed;
    add_pool(&world, 2, 1, 1000000, 0);
    add_pool(&world, 1, 2, 800000, 30 * S);
    for (int i = 0; i < 2; i++) world.pools[i].market.market = HR_MARKET_SPOT;
    add_node_pool(&world, 0, 2)->consolidation = HR_CONSOLIDATION_UNDERUTILIZED;
    world.budgets[0] = (struct hr_disruption_budget){.percent = 100};
    for (int i = 0; i < 2; i++) add_job(&world, i * 2 * S, 1000 * S, 1);
    struct hr_result *result = run(&world);
    CU_ASSERT_EQUAL(result->pools[1].launches, (uint64_t)is_allowed);
    for (int i = 0; i < 2; i++) CU_ASSERT_EQUAL(result->ended_us[i], (is_allowed ? 1055 : 1001 + 2 * i) * S);
    hr_result_destroy(result);
  }
}

TEST_MAIN("Karpenter in runs", TEST(nodes_are_the_cheapest_ones), TEST(batches_end), TEST(weights_and_limits_hold),
          TEST(pools_without_capacity_are_left_out), TEST(failures_are_repeated), TEST(budgets_hold),
          TEST(nodes_stay_as_long_as_stated), TEST(jobs_move_to_other_nodes), TEST(nodes_are_replaced_by_cheaper_ones),
          TEST(several_nodes_become_one), TEST(nodes_expire), TEST(budgets_follow_their_schedules),
          TEST(drifted_nodes_are_replaced), TEST(nodes_drift_again), TEST(empty_nodes_go_first),
          TEST(jobs_of_drifted_nodes_move), TEST(drifted_nodes_are_replaced_at_any_price),
          TEST(spot_nodes_are_replaced_by_spot_nodes), TEST(several_spot_nodes_become_one))
