/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes that sleep, and power budgets: cases that are computed by hand, closed forms of queues with setup times, and
 * random worlds in checked mode with failures, maintenance and several policies. In the random worlds, the uses of
 * energy must add up exactly to the meter, and the power must never exceed the budget.
 *
 * Sources: M/M/1 with setup times: Gandhi, Harchol-Balter and Adan, Server farms with setup costs (2010); energy of a
 * host that is switched off: Batsim's platform figures (Taurus).
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/power.h"
#include "headroom/sim.h"
#include "headroom/unstable/faults.h"
#include "queue_choice.h"

#include <math.h>
#include <string.h>

#define S HR_SECOND_US
#define JOULE 1e15

enum { MAX_JOBS = 20000, MAX_POOLS = 2 };

struct world {
  struct hr_pool_spec pools[MAX_POOLS];
  struct hr_power_spec power[MAX_POOLS];
  struct hr_power_cap caps[MAX_POOLS][2];
  struct hr_fault_spec faults;
  struct hr_fault_process process;
  struct hr_maintenance window;
  uint32_t n_pools, n_jobs;
  int64_t *submit_us, *work_us;
  uint32_t *gpus, *power_ppm;
  const char *policy; /* NULL: `queue` with backfill `skip` */
  uint64_t seed;
  struct hr_trace trace; /* the result of a run refers to it and to the cluster */
  struct hr_cluster_spec cluster;
};

static struct hr_duration fixed(double seconds) {
  return (struct hr_duration){HR_DURATION_FIXED, seconds, 0};
}

static void world_init(struct world *world, uint32_t n_nodes, uint32_t gpus) {
  static char names[MAX_POOLS][2] = {"p", "q"}, gpu[] = "A100";
  *world = (struct world){.n_pools = 1, .seed = 1};
  for (uint32_t i = 0; i < MAX_POOLS; i++) {
    world->pools[i] = (struct hr_pool_spec){
        .name = names[i], .gpu = gpu, .nodes = n_nodes, .gpus_per_node = gpus, .market = {.to_us = HR_NEVER_US}};
    world->power[i] = (struct hr_power_spec){.gpu_idle_w = 95, .gpu_max_w = 200, .utilization = 1, .pue = 1};
  }
  world->submit_us = calloc(MAX_JOBS, sizeof *world->submit_us);
  world->work_us = calloc(MAX_JOBS, sizeof *world->work_us);
  world->gpus = calloc(MAX_JOBS, sizeof *world->gpus);
  world->power_ppm = calloc(MAX_JOBS, sizeof *world->power_ppm);
  CU_ASSERT_FATAL(world->submit_us && world->work_us && world->gpus && world->power_ppm);
}

static void world_finish(struct world *world) {
  free(world->submit_us);
  free(world->work_us);
  free(world->gpus);
  free(world->power_ppm);
}

static void add_job(struct world *world, double submit_s, double work_s, uint32_t gpus) {
  world->submit_us[world->n_jobs] = (int64_t)llround(submit_s * 1e6);
  world->work_us[world->n_jobs] = (int64_t)llround(work_s * 1e6);
  world->power_ppm[world->n_jobs] = HR_NONE;
  world->gpus[world->n_jobs++] = gpus;
}

static struct hr_result *run(struct world *world, bool check) {
  world->trace = (struct hr_trace){.source = "test",
                                   .n_jobs = world->n_jobs,
                                   .submit_us = world->submit_us,
                                   .work_us = world->work_us,
                                   .gpus = world->gpus,
                                   .gpu_power_ppm = world->power_ppm};
  world->cluster = (struct hr_cluster_spec){world->pools, world->n_pools};
  struct hr_policy_choice choice = {0};
  struct hr_result *result = NULL;
  struct hr_error error = {0};
  world->faults.processes = &world->process;
  for (uint32_t i = 0; i < world->n_pools; i++) {
    world->pools[i].power = &world->power[i];
    if (world->faults.n_processes) world->pools[i].faults = &world->faults;
    if (world->window.duration_us) world->pools[i].maintenance = &world->window;
    world->pools[i].n_maintenance = world->window.duration_us ? 1 : 0;
  }
  if (world->policy) {
    CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, world->policy, &error), HR_OK);
  } else {
    choice = queue_choice("skip", "first-fit");
  }
  struct hr_run_config config = {.trace = &world->trace,
                                 .cluster = &world->cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = world->seed,
                                 .horizon_us = HR_NEVER_US,
                                 .check = check};
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK)
    fprintf(stderr, "policy %s, seed %d: %s\n", world->policy ? world->policy : "queue", (int)world->seed, error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  hr_policy_choice_finish(&choice);
  return result;
}

static void check_sums(const struct world *world, const struct hr_result *result) {
  hr_amount jobs = 0, used = 0;
  for (uint32_t i = 0; i < world->n_pools; i++) {
    const struct hr_pool_energy *energy = &result->pools[i].energy;
    hr_amount sum = 0;
    for (unsigned use = 0; use < HR_N_ENERGY_USES; use++) sum += energy->use[use].it;
    CU_ASSERT(sum == energy->meter.it);
    used += energy->use[HR_ENERGY_JOBS].it;
  }
  for (uint32_t i = 0; i < result->n_jobs; i++) jobs += hr_result_energy(result, (hr_job){i}).it;
  CU_ASSERT(jobs == used);
}

static double joules(const struct hr_result *result, enum hr_energy_use use) {
  return (double)result->pools[0].energy.use[use].it / JOULE;
}

/* ---- Sleep ---- */

static void let_sleep(struct world *world, double idle_s, double suspend_s, double boot_s) {
  for (uint32_t i = 0; i < MAX_POOLS; i++)
    world->power[i].sleep = (struct hr_power_sleep){.idle_us = (int64_t)llround(idle_s * 1e6),
                                                    .suspend_us = (int64_t)llround(suspend_s * 1e6),
                                                    .suspend_w = 100.997,
                                                    .sleep_w = 9.75,
                                                    .boot = fixed(boot_s)};
}

/* Taurus: idle 95 W, suspended in 6.1 s at 100.997 W, asleep 9.75 W, boots in 151.52 s at 125.174 W. */
static void a_node_sleeps_and_boots(void) {
  struct world world;
  world_init(&world, 1, 1);
  let_sleep(&world, 100, 6.1, 151.52);
  world.power[0].boot_w = 125.174;
  add_job(&world, 0, 50, 1);
  add_job(&world, 1000, 10, 1);
  struct hr_result *result = run(&world, true);
  check_sums(&world, result);
  CU_ASSERT_EQUAL(result->start_us[1], 1151520000);
  CU_ASSERT_EQUAL(result->pools[0].sleeps, 1);
  CU_ASSERT_EQUAL(result->pools[0].wakes, 1);
  CU_ASSERT_DOUBLE_EQUAL(joules(result, HR_ENERGY_JOBS), 60 * 200.0, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(joules(result, HR_ENERGY_IDLE), 100 * 95.0, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(joules(result, HR_ENERGY_BOOT), 6.1 * 100.997 + 151.52 * 125.174, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL(joules(result, HR_ENERGY_DOWN), (1000 - 156.1) * 9.75, 1e-6);
  hr_result_destroy(result);
  world_finish(&world);
}

/* Switching the host off saves energy if it would be idle for more than x = 211.7 s, the solution of 95 x = 6.1 *
   100.997 + 151.52 * 125.174 + 9.75 (x - 6.1 - 151.52). */
static void the_break_even_of_an_idle_time(void) {
  double saved[2];
  for (int longer = 0; longer < 2; longer++) {
    double used[2], gap_s = longer ? 213 : 210;
    for (int sleeps = 0; sleeps < 2; sleeps++) {
      struct world world;
      world_init(&world, 1, 1);
      world.power[0].boot_w = 125.174;
      if (sleeps) let_sleep(&world, 1e-6, 6.1, 151.52);
      add_job(&world, 0, 10, 1);
      /* the node is ready again `gap_s` after it became idle */
      add_job(&world, sleeps ? 10 + gap_s - 151.52 : 10 + gap_s, 10, 1);
      struct hr_result *result = run(&world, true);
      used[sleeps] = (double)result->pools[0].energy.meter.it / JOULE;
      hr_result_destroy(result);
      world_finish(&world);
    }
    saved[longer] = used[0] - used[1];
  }
  CU_ASSERT(saved[0] < 0);
  CU_ASSERT(saved[1] > 0);
}

static void a_node_is_not_woken_while_it_is_suspended(void) {
  struct world world;
  world_init(&world, 1, 1);
  let_sleep(&world, 100, 60, 30);
  add_job(&world, 0, 50, 1);
  add_job(&world, 160, 10, 1); /* asleep at 210, up at 240 */
  struct hr_result *result = run(&world, true);
  CU_ASSERT_EQUAL(result->start_us[1], 240 * S);
  hr_result_destroy(result);
  world_finish(&world);
}

static void some_nodes_remain_awake(void) {
  struct world world;
  world_init(&world, 5, 1);
  let_sleep(&world, 10, 0, 100);
  world.power[0].sleep.min_awake = 2;
  add_job(&world, 1000, 10, 2);
  add_job(&world, 1000, 10, 1);
  struct hr_result *result = run(&world, true);
  CU_ASSERT_EQUAL(result->start_us[0], 1000 * S);
  CU_ASSERT_EQUAL(result->start_us[1], 1010 * S);
  CU_ASSERT_EQUAL(result->pools[0].sleeps, 3);
  hr_result_destroy(result);
  world_finish(&world);
}

static double draw_exponential(struct hr__stream *stream, double mean) {
  return -mean * log1p(-hr__stream_uniform(stream));
}

/* M/M/1 with arrival rate lambda, service rate mu and an exponential setup time with rate alpha; rho = lambda / mu. The
   mean time in the system is E[T] = 1 / (mu - lambda) + 1 / alpha. The server is busy for the share rho of the time,
   boots for (1 - rho) lambda / (lambda + alpha), and is off for (1 - rho) alpha / (lambda + alpha). */
static void a_queue_with_setup_times(void) {
  const double lambda = 0.5, mu = 1, alpha = 0.4;
  struct world world;
  struct hr__stream stream;
  world_init(&world, 1, 1);
  hr__stream_init(&stream, 11, HR__PURPOSE_SAMPLE, 1, 0);
  let_sleep(&world, 1e-6, 0, 0);
  world.power[0].sleep.boot = (struct hr_duration){HR_DURATION_EXPONENTIAL, 1 / alpha, 0};
  world.power[0].boot_w = 150;
  double at_s = 0, sum_s = 0;
  for (uint32_t i = 0; i < MAX_JOBS; i++) {
    at_s += draw_exponential(&stream, 1 / lambda);
    double work_s = draw_exponential(&stream, 1 / mu);
    add_job(&world, at_s, work_s, 1);
  }
  struct hr_result *result = run(&world, false);
  for (uint32_t i = 0; i < MAX_JOBS; i++)
    sum_s += (double)(result->start_us[i] + world.work_us[i] - world.submit_us[i]) / 1e6;
  double rho = lambda / mu, seconds = (double)result->end_us / 1e6;
  double boot = (1 - rho) * lambda / (lambda + alpha), off = (1 - rho) * alpha / (lambda + alpha);
  CU_ASSERT_DOUBLE_EQUAL(sum_s / MAX_JOBS, 1 / (mu - lambda) + 1 / alpha, 0.2);
  CU_ASSERT_DOUBLE_EQUAL(joules(result, HR_ENERGY_JOBS) / 200 / seconds, rho, 0.012);
  CU_ASSERT_DOUBLE_EQUAL(joules(result, HR_ENERGY_BOOT) / 150 / seconds, boot, 0.012);
  CU_ASSERT_DOUBLE_EQUAL(joules(result, HR_ENERGY_DOWN) / 9.75 / seconds, off, 0.012);
  hr_result_destroy(result);
  world_finish(&world);
}

/* ---- Budget ---- */

/* Four nodes, 95 W idle and 200 W at work. With a budget of 600 W, two nodes can work (2 x 200 W + 2 x 95 W = 590
   W). */
static void a_budget_admits_jobs(void) {
  struct world world;
  world_init(&world, 4, 1);
  world.power[0].budget_w = 600;
  for (int i = 0; i < 4; i++) add_job(&world, 0, 100, 1);
  struct hr_result *result = run(&world, true);
  check_sums(&world, result);
  for (int i = 0; i < 4; i++) CU_ASSERT_EQUAL(result->start_us[i], i < 2 ? 0 : 100 * S);
  CU_ASSERT_EQUAL(result->peaks.it_nw, INT64_C(590000000000));
  CU_ASSERT_EQUAL(result->peaks.budget_nw, INT64_C(600000000000));
  CU_ASSERT((double)result->peaks.bound_us == 100e6);
  CU_ASSERT((double)result->peaks.bound_job_us == 200e6);
  hr_result_destroy(result);
  world_finish(&world);
}

/* As above, but three jobs use 120 W each. The budget counts the power that jobs really use, so all four jobs start at
   once: 3 x 120 W + 200 W = 560 W. */
static void a_budget_counts_the_power_of_jobs(void) {
  struct world world;
  world_init(&world, 4, 1);
  world.power[0].budget_w = 600;
  for (int i = 0; i < 4; i++) add_job(&world, 0, 100, 1);
  for (int i = 0; i < 3; i++) world.power_ppm[i] = 600000; /* 120 W, 25 W more than idle */
  struct hr_result *result = run(&world, true);
  for (int i = 0; i < 4; i++) CU_ASSERT_EQUAL(result->start_us[i], 0);
  CU_ASSERT_EQUAL(result->peaks.it_nw, INT64_C(560000000000));
  hr_result_destroy(result);
  world_finish(&world);
}

/* The same four nodes and budget, but GPUs can be limited to between 200 W and 100 W. With four jobs, each GPU is
   limited to 150 W, and work takes 1.5 times as long. When two jobs have ended, the other two work at full speed. */
static void a_budget_slows_gpus(void) {
  struct hr_power_cap caps[] = {{200, 1, 1}, {100, 2, 0.5}};
  struct world world;
  world_init(&world, 4, 1);
  world.power[0].budget_w = 600;
  world.power[0].budget_caps = true;
  world.power[0].caps = caps;
  world.power[0].n_caps = 2;
  for (int i = 0; i < 4; i++) add_job(&world, 0, i < 2 ? 100 : 200, 1);
  struct hr_result *result = run(&world, true);
  check_sums(&world, result);
  const int64_t slow_us = (int64_t)ceil(100e6 * 1e6 / 666667);
  for (int i = 0; i < 4; i++) CU_ASSERT_EQUAL(result->start_us[i], 0);
  CU_ASSERT_EQUAL(result->ended_us[0], slow_us);
  CU_ASSERT(llabs(result->ended_us[3] - slow_us - 100 * S) <= 2);
  CU_ASSERT_EQUAL(result->peaks.it_nw, INT64_C(600000000000));
  CU_ASSERT((int64_t)result->peaks.capped_us == slow_us);
  CU_ASSERT((double)result->peaks.bound_us == 0);
  CU_ASSERT_DOUBLE_EQUAL((double)hr_result_energy(result, (hr_job){0}).it / JOULE, 150 * 150, 0.02);
  CU_ASSERT_DOUBLE_EQUAL((double)hr_result_energy(result, (hr_job){3}).it / JOULE, 150 * 150 + 200 * 100, 0.02);
  hr_result_destroy(result);
  world_finish(&world);
}

/* A budget that permits two nodes at the lowest limit: 2 x 100 W + 2 x 95 W = 390 W. Two jobs run at half the speed,
   for 200 s, and the other two wait. */
static void a_budget_slows_gpus_and_holds_nodes(void) {
  struct hr_power_cap caps[] = {{200, 1, 1}, {100, 2, 0.5}};
  struct world world;
  world_init(&world, 4, 1);
  world.power[0].budget_w = 390;
  world.power[0].budget_caps = true;
  world.power[0].caps = caps;
  world.power[0].n_caps = 2;
  for (int i = 0; i < 4; i++) add_job(&world, 0, 100, 1);
  struct hr_result *result = run(&world, true);
  check_sums(&world, result);
  for (int i = 0; i < 4; i++) CU_ASSERT_EQUAL(result->start_us[i], i < 2 ? 0 : 200 * S);
  CU_ASSERT_EQUAL(result->peaks.it_nw, INT64_C(390000000000));
  CU_ASSERT((int64_t)result->peaks.capped_us == 400 * S);
  CU_ASSERT((int64_t)result->peaks.bound_us == 200 * S);
  hr_result_destroy(result);
  world_finish(&world);
}

/* ---- Random worlds ---- */

static uint32_t below(struct hr__stream *stream, uint32_t bound) {
  return (uint32_t)(hr__stream_uniform(stream) * bound);
}

static void draw_pool(struct world *world, struct hr__stream *stream, uint32_t number) {
  struct hr_power_spec *power = &world->power[number];
  world->pools[number].nodes = 2 + below(stream, 5);
  world->pools[number].gpus_per_node = 1 + below(stream, 4);
  power->gpu_idle_w = 50 + 50 * hr__stream_uniform(stream);
  power->gpu_max_w = power->gpu_idle_w + 300 * hr__stream_uniform(stream);
  power->host_idle_w = 300 * hr__stream_uniform(stream);
  power->host_max_w = power->host_idle_w * (1 + hr__stream_uniform(stream));
  power->boot_w = power->host_idle_w;
  power->pue = 1 + hr__stream_uniform(stream);
  power->down_w = 20 * hr__stream_uniform(stream);
  if (below(stream, 4) == 0) return;
  power->sleep.idle_us = 1 + (int64_t)(300e6 * hr__stream_uniform(stream));
  power->sleep.suspend_us = below(stream, 2) * (int64_t)(100e6 * hr__stream_uniform(stream));
  power->sleep.suspend_w = power->host_idle_w;
  power->sleep.sleep_w = 5;
  power->sleep.boot = (struct hr_duration){HR_DURATION_EXPONENTIAL, 100, 0};
  power->sleep.min_awake = below(stream, 3);
}

/* A budget for all pools, or none. At least two nodes of each pool can work at the same time. */
static void draw_budget(struct world *world, struct hr__stream *stream) {
  double idle_w = 0, most_w = 0, all_w = 0, least_w = 0; /* least_w: at the lowest limit */
  if (below(stream, 3) == 0) return;
  for (uint32_t i = 0; i < world->n_pools; i++) {
    const struct hr_power_spec *power = &world->power[i];
    double gpus = world->pools[i].gpus_per_node;
    double node_w = gpus * (power->gpu_max_w - power->gpu_idle_w) + power->host_max_w - power->host_idle_w;
    idle_w += world->pools[i].nodes * (gpus * power->gpu_idle_w + power->host_idle_w);
    all_w += world->pools[i].nodes * node_w;
    most_w += node_w * (world->pools[i].nodes > 1 ? 2 : 1);
    double low_w = node_w - gpus * (power->gpu_max_w - power->gpu_idle_w) / 2;
    least_w += low_w * (world->pools[i].nodes > 1 ? 2 : 1);
  }
  double budget_w = idle_w + most_w + 1 + (all_w > most_w ? (all_w - most_w) * hr__stream_uniform(stream) : 0);
  for (uint32_t i = 0; i < world->n_pools; i++) world->power[i].budget_w = budget_w;
  for (uint32_t i = 0; i < world->n_pools && world->seed / 9 % 2; i++) {
    struct hr_power_spec *power = &world->power[i];
    double span_w = power->gpu_max_w - power->gpu_idle_w;
    world->caps[i][0] = (struct hr_power_cap){power->gpu_max_w, 1, 1};
    world->caps[i][1] = (struct hr_power_cap){power->gpu_idle_w + span_w / 2, 1.5, 0.7};
    power->caps = world->caps[i];
    power->n_caps = 2;
    power->budget_caps = true;
    power->budget_w = idle_w + least_w + 1 + 0.3 * (budget_w - idle_w - least_w);
  }
}

static void draw_world(struct world *world, struct hr__stream *stream, uint32_t number) {
  static const char *const policies[] = {NULL,         "queue",   "gang-slice", "deadline", "rounds",
                                         "kubernetes", "volcano", "slurm",      "kai"};
  world_init(world, 1, 1);
  world->policy = policies[number % (sizeof policies / sizeof *policies)];
  world->seed = number;
  world->n_pools = 1 + below(stream, 2);
  uint32_t least = UINT32_MAX;
  for (uint32_t i = 0; i < world->n_pools; i++) {
    draw_pool(world, stream, i);
    uint32_t two = 2 * world->pools[i].gpus_per_node;
    if (two < least) least = two;
  }
  draw_budget(world, stream);
  world->faults.n_processes = below(stream, 2);
  world->process = (struct hr_fault_process){.unit = HR_TIER_NODE, .bad_factor = 1};
  world->process.between = (struct hr_duration){HR_DURATION_EXPONENTIAL, 5000, 0};
  world->process.only.detect = fixed(30 * below(stream, 2));
  world->process.only.repair = (struct hr_duration){HR_DURATION_EXPONENTIAL, 300, 0};
  if (below(stream, 3) == 0)
    world->window = (struct hr_maintenance){.start_us = 2000 * S,
                                            .duration_us = 500 * S,
                                            .lead_us = 100 * S,
                                            .group_nodes = 1,
                                            .max_unavailable = HR_NONE,
                                            .drain = HR_DRAIN_MIGRATE};
  uint32_t n_jobs = 5 + below(stream, 20);
  double at_s = 0;
  for (uint32_t i = 0; i < n_jobs; i++) {
    at_s += below(stream, 800);
    double work_s = 1 + 500 * hr__stream_uniform(stream);
    uint32_t gpus = 1 + below(stream, least);
    add_job(world, at_s, work_s, gpus);
    if (below(stream, 2)) world->power_ppm[i] = below(stream, 1000001);
  }
}

static void random_worlds_keep_budgets(void) {
  uint64_t sleeps = 0, wakes = 0, failures = 0, bound = 0, capped = 0, completed = 0, jobs = 0;
  for (uint32_t number = 0; number < 1000; number++) {
    struct hr__stream stream;
    struct world world;
    hr__stream_init(&stream, 23, HR__PURPOSE_SAMPLE, number, 0);
    draw_world(&world, &stream, number);
    struct hr_result *result = run(&world, true);
    check_sums(&world, result);
    for (uint32_t i = 0; i < world.n_pools; i++) {
      sleeps += result->pools[i].sleeps;
      wakes += result->pools[i].wakes;
      failures += result->pools[i].failures;
    }
    bound += result->peaks.bound_us > 0;
    capped += result->peaks.capped_us > 0;
    completed += result->n_completed;
    jobs += world.n_jobs;
    if (result->n_completed < world.n_jobs)
      fprintf(stderr, "world %u (%s): %d of %u jobs completed, %d rejected%s\n", number,
              world.policy ? world.policy : "queue", (int)result->n_completed, world.n_jobs, (int)result->n_rejected,
              result->stalled ? ", stalled" : "");
    hr_result_destroy(result);
    world_finish(&world);
  }
  CU_ASSERT_EQUAL(completed, jobs);
  CU_ASSERT(sleeps > 1000);
  CU_ASSERT(wakes > 500);
  CU_ASSERT(failures > 200);
  CU_ASSERT(bound > 50);
  CU_ASSERT(capped > 50);
}

TEST_MAIN("Sleep and power budgets", TEST(a_node_sleeps_and_boots), TEST(the_break_even_of_an_idle_time),
          TEST(a_node_is_not_woken_while_it_is_suspended), TEST(some_nodes_remain_awake),
          TEST(a_queue_with_setup_times), TEST(a_budget_admits_jobs), TEST(a_budget_counts_the_power_of_jobs),
          TEST(a_budget_slows_gpus), TEST(a_budget_slows_gpus_and_holds_nodes), TEST(random_worlds_keep_budgets))
