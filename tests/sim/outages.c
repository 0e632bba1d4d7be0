/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Accounts of failures by class: a case that is computed by hand, and random worlds in which the classes add up to the
 * accounts of the pool.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/sim.h"
#include "headroom/unstable/faults.h"
#include "queue_choice.h"

#define S HR_SECOND_US

enum { MAX_JOBS = 40 };

struct world {
  struct hr_pool_spec pool;
  struct hr_fault_spec spec;
  struct hr_fault_process process[3];
  struct hr_class_spec class_;
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], n_jobs;
  int64_t horizon_us;
  uint64_t seed;
};

static struct hr_duration fixed(double seconds) {
  return (struct hr_duration){HR_DURATION_FIXED, seconds, 0};
}
static struct hr_duration exponential(double mean_s) {
  return (struct hr_duration){HR_DURATION_EXPONENTIAL, mean_s, 0};
}

static struct hr_result *run(struct world *world) {
  static char name[] = "p", gpu[] = "A100";
  struct hr_class_spec classes[HR_N_CLASSES];
  struct hr_trace trace = {.source = "test",
                           .n_jobs = world->n_jobs,
                           .submit_us = world->submit_us,
                           .work_us = world->work_us,
                           .gpus = world->gpus};
  struct hr_cluster_spec cluster = {&world->pool, 1};
  struct hr_policy_choice choice = queue_choice("skip", "first-fit");
  struct hr_result *result = NULL;
  struct hr_error error = {0};
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) classes[i] = world->class_;
  world->pool.name = name;
  world->pool.gpu = gpu;
  world->pool.market.to_us = HR_NEVER_US;
  world->spec.processes = world->process;
  world->pool.faults = &world->spec;
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = world->seed,
                                 .horizon_us = world->horizon_us,
                                 .check = true,
                                 .classes = classes};
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) fprintf(stderr, "%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  hr_policy_choice_finish(&choice);
  return result;
}

static void expect(const struct hr_outage_accounting *account, uint64_t failures, uint64_t stopped, int64_t down_s,
                   int64_t lost_gpu_s) {
  CU_ASSERT_EQUAL(account->failures, failures);
  CU_ASSERT_EQUAL(account->jobs_stopped, stopped);
  CU_ASSERT(account->down_us == (hr_amount)down_s * S);
  CU_ASSERT(account->lost_milli_us == (hr_amount)lost_gpu_s * 1000 * S);
}

/* Two nodes, each with a job without checkpoints that starts again after a stop. Each node fails after 100 s in
   operation. Both fail at 100 s and are repaired at 125 s: 100 s of work are lost. Both lose their power from 160 s to
   170 s: 35 s are lost. They fail again at 235 s, after 35 + 65 s in operation: 65 s are lost. At the end of the run,
   at 250 s, they have been in repair for 15 s. */
static void each_class_has_its_losses(void) {
  struct world world = {.n_jobs = 2, .work_us = {1000 * S, 1000 * S}, .gpus = {1, 1}, .horizon_us = 250 * S};
  world.pool.nodes = 2;
  world.pool.gpus_per_node = 1;
  world.spec.n_processes = 2;
  world.process[0] = (struct hr_fault_process){.unit = HR_TIER_NODE, .fresh = true, .bad_factor = 1};
  world.process[0].between = fixed(100);
  world.process[0].only.repair = fixed(25);
  world.process[1] = (struct hr_fault_process){.unit = HR_TIER_POOL, .group_nodes = 2, .fresh = true, .bad_factor = 1};
  world.process[1].between = fixed(160);
  world.process[1].only.repair = fixed(10);
  struct hr_result *result = run(&world);
  CU_ASSERT_PTR_NOT_NULL_FATAL(result->outages);
  expect(&result->outages[0], 4, 4, 2 * 25 + 2 * 15, 2 * 100 + 2 * 65);
  expect(&result->outages[1], 1, 2, 2 * 10, 2 * 35);
  CU_ASSERT_EQUAL(result->pools[0].failures, 5);
  CU_ASSERT_EQUAL(result->pools[0].failed_jobs, 6);
  CU_ASSERT((int64_t)result->pools[0].down_us == 100 * S);
  hr_result_destroy(result);
}

static uint32_t below(struct hr__stream *stream, uint32_t bound) {
  return (uint32_t)(hr__stream_uniform(stream) * bound);
}

static void draw(struct world *world, struct hr__stream *stream, struct hr_fault_class *classes) {
  world->pool.nodes = 1 + below(stream, 6);
  world->pool.gpus_per_node = 2;
  world->pool.topology = (struct hr_topology){.nodes_per_rack = 2, .island_gpus = 1};
  world->spec.crew = below(stream, 3);
  world->spec.n_processes = 1 + below(stream, 3);
  static const enum hr_tier tiers[] = {HR_TIER_NODE, HR_TIER_RACK, HR_TIER_ISLAND};
  for (uint32_t i = 0; i < 3; i++)
    world->process[i] = (struct hr_fault_process){.unit = tiers[i],
                                                  .between = exponential(5000),
                                                  .clock = (enum hr_fault_clock)below(stream, HR_N_FAULT_CLOCKS),
                                                  .fresh = below(stream, 2),
                                                  .only = {.repair = exponential(500)},
                                                  .classes = below(stream, 2) ? classes : NULL,
                                                  .bad_factor = 1};
  for (uint32_t i = 0; i < 3; i++) world->process[i].n_classes = world->process[i].classes ? 3 : 0;
  world->class_ = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_INTERVAL, .interval_us = 300 * S};
  world->n_jobs = MAX_JOBS;
  world->horizon_us = below(stream, 2) ? 15000 * S : HR_NEVER_US;
  for (uint32_t i = 0; i < MAX_JOBS; i++) {
    world->submit_us[i] = (i ? world->submit_us[i - 1] : 0) + (int64_t)below(stream, 400) * S;
    world->work_us[i] = (int64_t)(1 + below(stream, 1500)) * S;
    world->gpus[i] = 1 + below(stream, 2 * world->pool.nodes);
  }
}

/* The sums over all classes of failures and stopped jobs equal the accounts of the pool. Work is lost only in failures,
   so the lost work equals that of all jobs. With a single process, the downtime equals that of the pool. With several
   processes, outages can overlap, so the sum can be larger. */
static void classes_add_up(void) {
  static char name[] = "class";
  struct hr_fault_class classes[3] = {{.name = name, .share = 5, .repair = exponential(100)},
                                      {.name = name, .share = 3, .detect = exponential(60), .repair = exponential(900)},
                                      {.name = name, .share = 2, .detect = exponential(600), .repair = fixed(60)}};
  uint64_t failures = 0;
  uint32_t overlaps = 0;
  classes[2].corrupts = true;
  for (uint32_t number = 0; number < 200; number++) {
    struct hr__stream stream;
    struct world world = {.seed = number};
    hr__stream_init(&stream, 5, HR__PURPOSE_SAMPLE, number, 0);
    draw(&world, &stream, classes);
    struct hr_result *result = run(&world);
    const struct hr_pool_accounting *pool = &result->pools[0];
    struct hr_outage_accounting sum = {0};
    hr_amount lost = 0;
    for (uint32_t i = 0; i < hr_outages_count(&world.pool, 1); i++) {
      sum.failures += result->outages[i].failures;
      sum.jobs_stopped += result->outages[i].jobs_stopped;
      sum.down_us += result->outages[i].down_us;
      sum.lost_milli_us += result->outages[i].lost_milli_us;
    }
    for (uint32_t i = 0; i < MAX_JOBS; i++) lost += hr_result_accounting(result, (hr_job){i}).milli_us.lost;
    CU_ASSERT_EQUAL(sum.failures, pool->failures);
    CU_ASSERT_EQUAL(sum.jobs_stopped, pool->failed_jobs);
    CU_ASSERT(sum.lost_milli_us == lost);
    CU_ASSERT(world.spec.n_processes == 1 ? sum.down_us == pool->down_us : sum.down_us >= pool->down_us);
    overlaps += sum.down_us > pool->down_us;
    failures += sum.failures;
    hr_result_destroy(result);
  }
  CU_ASSERT(failures > 1000);
  CU_ASSERT(overlaps > 50);
}

TEST_MAIN("Accounts of failures by class", TEST(each_class_has_its_losses), TEST(classes_add_up))
