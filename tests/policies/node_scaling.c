/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elastic pools with a cluster autoscaler: cases with times and costs computed by hand, and random worlds in which a
   slow model of the autoscaler requests and removes the same nodes at the same times. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "lab.h"
#include "naive_scaling.h"

#include <string.h>

#define S HR_SECOND_US

static const struct hr_autoscaler_spec defaults = {.scan_us = 10 * S,
                                                   .new_job_us = 2 * S,
                                                   .new_gpu_job_us = 30 * S,
                                                   .provision_us = 900 * S,
                                                   .backoff_us = 300 * S,
                                                   .max_backoff_us = 1800 * S,
                                                   .backoff_reset_us = 10800 * S,
                                                   .unneeded_us = 600 * S,
                                                   .utilization_threshold = 0.5,
                                                   .after_add_us = 600 * S,
                                                   .after_failure_us = 180 * S,
                                                   .max_deletions = 10,
                                                   .max_drains = 1};

/* ---- Runs ---- */

struct outcome {
  struct hr_result *result;
  hr_amount cost[NAIVE_POOLS]; /* ledger units */
};

/* Runs the world with the policy `queue` in strict FIFO order; each job starts on the first node on which it fits. */
static struct outcome run(struct naive_world *world) {
  char name[] = "pool", gpu[] = "T4";
  int64_t submit_us[NAIVE_JOBS], work_us[NAIVE_JOBS];
  uint32_t gpus[NAIVE_JOBS], tenant[NAIVE_JOBS];
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    submit_us[i] = world->jobs[i].submit_us;
    work_us[i] = world->jobs[i].work_us;
    gpus[i] = world->jobs[i].gpus;
    tenant[i] = HR_NONE;
  }
  struct hr_trace trace = {.source = "test",
                           .n_jobs = world->n_jobs,
                           .submit_us = submit_us,
                           .work_us = work_us,
                           .gpus = gpus,
                           .tenant = tenant};
  struct hr_pool_spec pools[NAIVE_POOLS] = {{0}};
  for (uint32_t i = 0; i < world->n_pools; i++) {
    const struct naive_pool *from = &world->pools[i];
    pools[i] = (struct hr_pool_spec){.name = name,
                                     .gpu = gpu,
                                     .nodes = from->nodes,
                                     .gpus_per_node = from->size,
                                     .min_nodes = from->min_nodes,
                                     .scale_priority = from->priority};
    if (!from->is_elastic) continue;
    pools[i].market = (struct hr_market_spec){.market = HR_MARKET_ON_DEMAND,
                                              .price_uusd_h = from->price_uusd_h,
                                              .boot = {HR_DURATION_FIXED, (double)from->boot_us / (double)S, 0},
                                              .queue = {HR_DURATION_FIXED, (double)from->queue_us / (double)S, 0},
                                              .max_run_us = from->max_run_us};
  }
  double no_capacity[NAIVE_POOLS];
  for (uint32_t i = 0; i < world->n_pools; i++) no_capacity[i] = world->pools[i].no_capacity;
  world->spec.failure_share = no_capacity;
  struct hr_cluster_spec cluster = {.pools = pools, .n_pools = world->n_pools, .autoscaler = &world->spec};
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
  struct outcome outcome = {0};
  enum hr_status status = hr_sim_run(&config, &outcome.result, &error);
  if (status != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_ledger_close(ledger, outcome.result), HR_OK);
  for (uint32_t i = 0; i < world->n_pools; i++) {
    outcome.cost[i] = hr_ledger_pool(ledger, (hr_pool){i})->cost;
    /* a node is billed for the time in which it exists */
    const hr_amount node_us = outcome.result->pools[i].up_us * world->pools[i].size;
    if (world->pools[i].is_elastic) CU_ASSERT(outcome.cost[i] == node_us * 1000 * world->pools[i].price_uusd_h);
  }
  outcome.result->trace = NULL; /* the object is on the stack */
  hr_ledger_destroy(ledger);
  hr_policy_choice_finish(&choice);
  return outcome;
}

/* ---- By hand ---- */

/* Returns a world with one elastic pool, a job at 0, and a job that is submitted at `late_us`. */
static struct naive_world one_job(int64_t boot_us, int64_t work_us, int64_t late_us) {
  struct naive_world world = {.n_pools = 1, .n_jobs = 2, .spec = defaults};
  world.pools[0] =
      (struct naive_pool){.nodes = 3, .size = 2, .is_elastic = true, .price_uusd_h = 1000000, .boot_us = boot_us};
  world.jobs[0] = (struct naive_job){.work_us = work_us, .gpus = 1};
  world.jobs[1] = (struct naive_job){.submit_us = late_us, .work_us = 1, .gpus = 1};
  return world;
}

/* The job waits 30 s for the scan that requests a node, and for the node. The node is idle from the end of the job. The
   next scan finds that it is unneeded, and the first scan more than 600 s later removes it. */
static void a_node_is_there_as_long_as_stated(void) {
  const int64_t boot_us = 247 * S + 123457, work_us = 3000 * S + 7, late_us = 100000 * S + 3;
  struct naive_world world = one_job(boot_us, work_us, late_us);
  struct outcome outcome = run(&world);
  const struct hr_result *result = outcome.result;
  const int64_t start_us = 30 * S + boot_us, end_us = start_us + work_us;
  const int64_t found_us = (end_us + 10 * S - 1) / (10 * S) * (10 * S), gone_us = found_us + 610 * S;
  /* the late job: a node is requested at the first scan after it has waited for 30 s */
  const int64_t second_us = 100040 * S, second_end_us = second_us + boot_us + 1;
  CU_ASSERT_EQUAL(result->start_us[0], start_us);
  CU_ASSERT_EQUAL(result->start_us[1], second_us + boot_us);
  CU_ASSERT_EQUAL(result->end_us, second_end_us);
  CU_ASSERT_EQUAL(result->pools[0].launches, 2);
  CU_ASSERT_EQUAL(result->pools[0].removals, 1);
  CU_ASSERT_EQUAL(result->pools[0].provisioned, 2);
  CU_ASSERT(result->pools[0].provision_us == 2 * boot_us);
  CU_ASSERT(result->pools[0].up_us == gone_us - 30 * S + boot_us + 1);
  CU_ASSERT(result->pools[0].empty_us == gone_us - end_us);
  CU_ASSERT(outcome.cost[0] == (hr_amount)(gone_us - 30 * S + boot_us + 1) * 2 * 1000 * 1000000);
  hr_result_destroy(outcome.result);
}

/* The provider delivers the node 5000 s after its request, which exceeds the maximum boot time. It is billed from its
   delivery, and is stopped 6000 s after its delivery, so the second job needs another node. */
static void a_node_is_given_later(void) {
  const int64_t queue_us = 5000 * S, boot_us = 100 * S, work_us = 3000 * S;
  struct naive_world world = one_job(boot_us, work_us, 1000 * S);
  world.pools[0].queue_us = queue_us;
  world.pools[0].max_run_us = 6000 * S;
  world.pools[0].nodes = 1;
  world.jobs[1].work_us = 5000 * S;
  world.jobs[1].gpus = 2;
  struct outcome outcome = run(&world);
  const struct hr_result *result = outcome.result;
  const int64_t given_us = 30 * S + queue_us, first_us = given_us + boot_us;
  /* the second job starts when the first ends, and loses its work when the node is stopped; then it waits 30 s for
     the scan */
  const int64_t stopped_us = given_us + 6000 * S, again_us = stopped_us + 30 * S + queue_us;
  CU_ASSERT_EQUAL(result->start_us[0], first_us);
  CU_ASSERT_EQUAL(result->end_us, again_us + boot_us + 5000 * S);
  CU_ASSERT_EQUAL(result->pools[0].launches, 2);
  CU_ASSERT_EQUAL(result->pools[0].reclaims, 1);
  CU_ASSERT_EQUAL(result->pools[0].scale_failures, 0);
  CU_ASSERT(result->pools[0].provision_us == 2 * (queue_us + boot_us));
  CU_ASSERT(result->pools[0].up_us == 6000 * S + boot_us + 5000 * S);
  CU_ASSERT(outcome.cost[0] == (hr_amount)(6000 * S + boot_us + 5000 * S) * 2 * 1000 * 1000000);
  hr_result_destroy(outcome.result);
}

/* A node that does not boot in time is abandoned. Its pool then has a back-off, so the pool with the lower priority
   gets a node. */
static void late_nodes_are_given_up(void) {
  struct naive_world world = one_job(20 * S, 10 * S, 0);
  world.n_jobs = 1;
  world.pools[0].boot_us = 2000 * S;
  world.pools[1] = world.pools[0];
  world.pools[1].boot_us = 50 * S;
  world.n_pools = 2;
  world.spec.expanders = world.expanders;
  world.spec.n_expanders = 1;
  world.expanders[0].kind = HR_EXPANDER_PRIORITY;
  world.pools[0].priority = 2;
  world.pools[1].priority = 1;
  struct outcome outcome = run(&world);
  /* requested at 30 s, abandoned at 940 s (more than 900 s later); the other pool is tried in the same scan */
  CU_ASSERT_EQUAL(outcome.result->pools[0].scale_failures, 1);
  CU_ASSERT(outcome.result->pools[0].up_us == 910 * S);
  CU_ASSERT_EQUAL(outcome.result->start_us[0], 990 * S);
  hr_result_destroy(outcome.result);
}

/* Two nodes have a job of 3 GPUs each, and one of them also has a job of 1 GPU. When the first job has ended, the small
   job fits on the other node. At 780 s this has been the case for more than 600 s. The node is removed, and the job
   starts again on the other node. */
static void little_used_nodes_are_drained(void) {
  struct naive_world world = one_job(40 * S, 100 * S, 0);
  world.pools[0].size = 4;
  world.n_jobs = 3;
  world.jobs[0].gpus = 3;
  world.jobs[1] = (struct naive_job){.work_us = 5000 * S, .gpus = 3};
  world.jobs[2] = (struct naive_job){.work_us = 3000 * S + 1, .gpus = 1};
  for (int drains = 0; drains <= 1; drains++) {
    world.spec.drains = drains == 1;
    struct outcome outcome = run(&world);
    CU_ASSERT_EQUAL(outcome.result->pools[0].launches, 2);
    CU_ASSERT_EQUAL(outcome.result->start_us[2], 70 * S);
    CU_ASSERT_EQUAL(outcome.result->ended_us[2], (drains ? 780 : 70) * S + 3000 * S + 1);
    CU_ASSERT_EQUAL(outcome.result->pools[0].removals, 1);
    CU_ASSERT(outcome.result->pools[0].up_us == (5040 + (drains ? 750 : 3660)) * S);
    hr_result_destroy(outcome.result);
  }
}

/* From 600 s on, node 0 has jobs of 3 and 4 GPUs, node 1 one of 5, and the smaller node 2 one of 4. The jobs of node 0
   do not both fit on other nodes. So no room is reserved for them, and the job of node 2 can move to node 1. */
static void failed_drains_reserve_nothing(void) {
  static const uint32_t gpus[] = {3, 4, 3, 5, 5, 4};
  struct naive_world world = one_job(40 * S, 0, 0);
  world.pools[0].nodes = 2;
  world.pools[0].size = 10;
  world.pools[1] = world.pools[0];
  world.pools[1].nodes = 1;
  world.pools[1].size = 6;
  world.n_pools = 2;
  world.spec.drains = true;
  world.spec.utilization_threshold = 0.75;
  world.n_jobs = 6;
  for (uint32_t i = 0; i < 6; i++)
    world.jobs[i] =
        (struct naive_job){.submit_us = i / 3 * 200 * S + i / 5 * 200 * S, .work_us = 5000 * S, .gpus = gpus[i]};
  world.jobs[2].work_us = 530 * S;
  world.jobs[4].work_us = 330 * S;
  struct outcome outcome = run(&world);
  CU_ASSERT_EQUAL(outcome.result->pools[0].launches, 2);
  CU_ASSERT_EQUAL(outcome.result->pools[1].launches, 1);
  CU_ASSERT_EQUAL(outcome.result->start_us[5], 470 * S);
  CU_ASSERT_EQUAL(outcome.result->ended_us[2], 600 * S);
  CU_ASSERT_EQUAL(outcome.result->ended_us[4], 600 * S);
  CU_ASSERT_EQUAL(outcome.result->ended_us[5], 1210 * S + 5000 * S);
  CU_ASSERT_EQUAL(outcome.result->ended_us[0], 70 * S + 5000 * S);
  hr_result_destroy(outcome.result);
}

/* Four nodes are shared by two equal pools. */
static void similar_pools_grow_together(void) {
  struct naive_world world = one_job(40 * S, 100 * S, 0);
  world.pools[0].nodes = 4;
  world.pools[1] = world.pools[0];
  world.n_pools = 2;
  world.n_jobs = 4;
  for (uint32_t i = 0; i < 4; i++) world.jobs[i] = (struct naive_job){.work_us = 100 * S, .gpus = 2};
  world.spec.balances = true;
  struct outcome outcome = run(&world);
  CU_ASSERT_EQUAL(outcome.result->pools[0].launches, 2);
  CU_ASSERT_EQUAL(outcome.result->pools[1].launches, 2);
  hr_result_destroy(outcome.result);
}

/* A quota of 5 GPUs is enough for two nodes of 2. */
static void quotas_hold(void) {
  struct naive_world world = one_job(40 * S, 100 * S, 0);
  world.n_jobs = 4;
  for (uint32_t i = 0; i < 4; i++) world.jobs[i] = (struct naive_job){.work_us = 100 * S, .gpus = 2};
  world.spec.quotas = world.quotas;
  world.spec.n_quotas = 1;
  world.of_pool[0][0] = true;
  world.quotas[0] = (struct hr_scaling_quota){.max_gpus = 5, .of_pool = world.of_pool[0]};
  struct outcome outcome = run(&world);
  /* two jobs start at 70 s, and the other two when these end, 100 s later */
  for (uint32_t i = 0; i < 4; i++) CU_ASSERT_EQUAL(outcome.result->start_us[i], (i < 2 ? 70 : 170) * S);
  CU_ASSERT_EQUAL(outcome.result->pools[0].launches, 2);
  hr_result_destroy(outcome.result);
}

/* ---- Random worlds ---- */

static uint32_t pick(struct lab_dice *dice, const uint32_t *values, uint32_t n) {
  return values[lab_roll(dice, n)];
}

static void roll_pools(struct lab_dice *dice, struct naive_world *world) {
  static const uint32_t sizes[] = {1, 2, 4, 8}, boots[] = {7, 40, 95, 180, 700};
  world->n_pools = 1 + lab_roll(dice, 3);
  for (uint32_t i = 0; i < world->n_pools; i++) {
    struct naive_pool *pool = &world->pools[i];
    pool->nodes = 1 + lab_roll(dice, 8);
    pool->size = pick(dice, sizes, 4);
    pool->is_elastic = i == 0 || !lab_chance(dice, 25);
    if (!pool->is_elastic) continue;
    pool->min_nodes = lab_chance(dice, 30) ? lab_roll(dice, pool->nodes + 1) : 0;
    pool->priority = lab_chance(dice, 70) ? 1 + lab_roll(dice, 3) : 0;
    pool->price_uusd_h = 1000000 + 100003 * lab_roll(dice, 40);
    pool->no_capacity = lab_chance(dice, 20) ? 0.3 : 0;
    pool->queue_us = lab_chance(dice, 30) ? (int64_t)lab_roll(dice, 2000) * S + 1 : 0;
    pool->boot_us = pick(dice, boots, 5) * S + (lab_chance(dice, 50) ? lab_roll(dice, 1000000) : 0);
  }
}

static void roll_jobs(struct lab_dice *dice, struct naive_world *world) {
  uint32_t most = 1;
  for (uint32_t i = 0; i < world->n_pools; i++)
    if (world->pools[i].size * world->pools[i].nodes > most) most = world->pools[i].size * world->pools[i].nodes;
  const bool whole = lab_chance(dice, 40);
  int64_t at_us = 0;
  world->n_jobs = 1 + lab_roll(dice, 40);
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    if (!lab_chance(dice, 40)) at_us += (int64_t)lab_roll(dice, lab_chance(dice, 10) ? 3000 : 120) * S;
    world->jobs[i].submit_us = at_us + (whole ? 0 : lab_roll(dice, 999999));
    if (i && world->jobs[i].submit_us < world->jobs[i - 1].submit_us)
      world->jobs[i].submit_us = world->jobs[i - 1].submit_us;
    world->jobs[i].work_us = (int64_t)(1 + lab_roll(dice, 400)) * S + (whole ? 0 : 1 + lab_roll(dice, 999997));
    world->jobs[i].gpus = 1 + lab_roll(dice, lab_chance(dice, 75) && most > 4 ? 4 : most);
  }
}

static void roll_spec(struct lab_dice *dice, struct naive_world *world) {
  static const uint32_t unneeded[] = {20, 60, 300}, delays[] = {0, 30, 200}, provisions[] = {60, 150, 900};
  struct hr_autoscaler_spec *spec = &world->spec;
  *spec = defaults;
  spec->unneeded_us = pick(dice, unneeded, 3) * S;
  spec->after_add_us = pick(dice, delays, 3) * S;
  spec->after_delete_us = pick(dice, delays, 3) * S;
  spec->after_failure_us = pick(dice, delays, 3) * S;
  spec->provision_us = pick(dice, provisions, 3) * S;
  spec->backoff_us = 50 * S;
  spec->max_backoff_us = 150 * S;
  spec->backoff_reset_us = 1000 * S;
  spec->new_gpu_job_us = lab_chance(dice, 50) ? 30 * S : 0;
  spec->max_deletions = 1 + lab_roll(dice, 3);
  spec->n_expanders = 1 + lab_roll(dice, 3);
  spec->expanders = world->expanders;
  spec->max_nodes = lab_chance(dice, 30) ? 2 + lab_roll(dice, 16) : 0;
  spec->quotas = world->quotas;
  spec->n_quotas = lab_chance(dice, 40) ? 1 + lab_roll(dice, 2) : 0;
  for (uint32_t k = 0; k < spec->n_quotas; k++) {
    world->quotas[k] = (struct hr_scaling_quota){.max_gpus = 1 + lab_roll(dice, 40), .of_pool = world->of_pool[k]};
    for (uint32_t i = 0; i < world->n_pools; i++)
      world->of_pool[k][i] = world->pools[i].is_elastic && lab_chance(dice, 60);
  }
  for (uint32_t i = 0; i < spec->n_expanders; i++)
    world->expanders[i].kind = (enum hr_expander_kind)lab_roll(dice, HR_N_EXPANDERS);
}

/* Returns whether each job can run: some pool is large enough for it, and boots in time if it is elastic. */
static bool can_end(const struct naive_world *world) {
  for (uint32_t job = 0; job < world->n_jobs; job++) {
    uint32_t largest = 0;
    bool can = false;
    for (uint32_t i = 0; i < world->n_pools; i++)
      if (world->pools[i].size > largest) largest = world->pools[i].size;
    for (uint32_t i = 0; i < world->n_pools; i++) {
      const struct naive_pool *pool = &world->pools[i];
      const bool suits = world->jobs[job].gpus > largest || pool->size >= world->jobs[job].gpus;
      const bool boots = !pool->is_elastic || pool->boot_us < world->spec.provision_us;
      can = can || (suits && boots && pool->size * pool->nodes >= world->jobs[job].gpus);
    }
    if (!can) return false;
  }
  return true;
}

static bool agree(struct naive_world *world, const struct outcome *outcome) {
  const struct hr_result *result = outcome->result;
  bool same = result->end_us == world->end_us;
  for (uint32_t i = 0; i < world->n_jobs; i++) same = same && result->start_us[i] == world->jobs[i].start_us;
  for (uint32_t i = 0; i < world->n_pools; i++) {
    const struct naive_pool *pool = &world->pools[i];
    if (!pool->is_elastic) continue;
    same = same && result->pools[i].launches == pool->added && result->pools[i].scale_failures == pool->failures;
    same = same && result->pools[i].up_us == pool->up_us && result->pools[i].removals == pool->removed;
  }
  return same;
}

static void report(const struct naive_world *world, const struct outcome *outcome, uint32_t number) {
  fprintf(stderr, "\n    world %u: ends at %lld us, expected %lld\n", number, (long long)outcome->result->end_us,
          (long long)world->end_us);
  for (uint32_t i = 0; i < world->n_jobs; i++)
    fprintf(stderr, "    job %u: %u GPUs, submitted %lld, starts at %lld us, expected %lld\n", i, world->jobs[i].gpus,
            (long long)world->jobs[i].submit_us, (long long)outcome->result->start_us[i],
            (long long)world->jobs[i].start_us);
  for (uint32_t i = 0; i < world->n_pools; i++)
    fprintf(stderr,
            "    pool %u (%u nodes of %u GPUs): %u added, expected %u; %u removed, expected %u; %u failures, %u; up "
            "%lld us, %lld\n",
            i, world->pools[i].nodes, world->pools[i].size, (unsigned)outcome->result->pools[i].launches,
            world->pools[i].added, (unsigned)outcome->result->pools[i].removals, world->pools[i].removed,
            (unsigned)outcome->result->pools[i].scale_failures, world->pools[i].failures,
            (long long)outcome->result->pools[i].up_us, (long long)world->pools[i].up_us);
}

static void worlds_agree(uint32_t first, uint32_t count) {
  uint32_t n_run = 0, n_different = 0, n_grew = 0, n_removed = 0, n_failed = 0;
  for (uint32_t number = first; n_run < count; number++) {
    struct lab_dice dice = {number};
    struct naive_world world = {.seed = number};
    roll_pools(&dice, &world);
    roll_spec(&dice, &world);
    roll_jobs(&dice, &world);
    if (!can_end(&world)) continue;
    if (!naive_scaling_run(&world)) continue; /* a quota is too small for a job */
    struct outcome outcome = run(&world);
    n_run++;
    for (uint32_t i = 0; i < world.n_pools; i++) {
      n_grew += world.pools[i].added;
      n_removed += world.pools[i].removed;
      n_failed += world.pools[i].failures;
    }
    if (!agree(&world, &outcome) && n_different++ == 0) report(&world, &outcome, number);
    hr_result_destroy(outcome.result);
  }
  CU_ASSERT_EQUAL(n_different, 0);
  /* checks that the worlds are not trivial */
  CU_ASSERT(n_grew > count && n_removed > count / 4 && n_failed > 0);
}

static void worlds_of_a_slow_model_agree(void) {
  worlds_agree(test_argument(2, 1), test_argument(1, 60));
}

TEST_MAIN("node scaling", TEST(a_node_is_there_as_long_as_stated), TEST(a_node_is_given_later),
          TEST(late_nodes_are_given_up), TEST(little_used_nodes_are_drained), TEST(failed_drains_reserve_nothing),
          TEST(similar_pools_grow_together), TEST(quotas_hold), TEST(worlds_of_a_slow_model_agree))
