/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs of the policy `kai`. Small worlds with known results: fair shares with weights, reclaim between queues,
 * preemption by priority, consolidation, minimum run times, limits, shared GPUs, nodes on demand. In random worlds, a
 * second run builds the session again for each cycle and tries every job; it must make the same decisions.
 */

#include "harness.h"

#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/systems/systems.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_JOBS = 64, MAX_QUEUES = 8, RANDOM_WORLDS = 40 };

/* A world: times are in seconds. */
struct world {
  uint32_t n_jobs, nodes, gpus_per_node;
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], tasks[MAX_JOBS], queue[MAX_JOBS];
  int32_t priority[MAX_JOBS];
  uint16_t gpu_milli[MAX_JOBS];
  enum hr_sharing sharing;
  enum hr_market market;
  struct hr_kai_queue queues[MAX_QUEUES];
  uint32_t n_queues;
  struct hr_kai_scheduler scheduler;
  int64_t start_us[MAX_JOBS], end_us[MAX_JOBS], first_us[MAX_JOBS]; /* last start, end, first start; -1: none */
  uint64_t digest;
};

static char queue_names[MAX_QUEUES][4] = {"q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7"};

static void begin(struct world *world, uint32_t nodes, uint32_t gpus_per_node) {
  *world = (struct world){.nodes = nodes, .gpus_per_node = gpus_per_node, .market = HR_MARKET_OWNED};
  world->scheduler = (struct hr_kai_scheduler){.period_us = HR_SECOND_US,
                                               .k_value = 1,
                                               .saturation_multiplier = 1,
                                               .allow_consolidating_reclaim = true,
                                               .max_consolidation_victims = 16,
                                               .stale_grace_us = 60 * HR_SECOND_US,
                                               .termination_grace_us = 30 * HR_SECOND_US,
                                               .signatures = true};
}

/* Adds a queue without CPU and memory limits. `above`: its parent, or HR_NONE. */
static uint32_t add_queue(struct world *world, uint32_t above, double quota, double limit, double weight) {
  const uint32_t q = world->n_queues++;
  world->queues[q] = (struct hr_kai_queue){.name = queue_names[q],
                                           .above = above,
                                           .priority = 100,
                                           .gpu = {quota, limit, weight},
                                           .cpu = {-1, -1, 1},
                                           .memory = {-1, -1, 1},
                                           .preempt_min_runtime_us = HR_UNKNOWN_US,
                                           .reclaim_min_runtime_us = HR_UNKNOWN_US};
  if (above != HR_NONE) world->queues[above].n_below++;
  return q;
}

static uint32_t add_job(struct world *world, int64_t submit_s, int64_t work_s, uint32_t gpus, uint32_t queue) {
  const uint32_t j = world->n_jobs++;
  world->submit_us[j] = submit_s * HR_SECOND_US;
  world->work_us[j] = work_s * HR_SECOND_US;
  world->gpus[j] = gpus;
  world->tasks[j] = 1;
  world->queue[j] = queue;
  world->priority[j] = 50;
  world->gpu_milli[j] = 1000;
  return j;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct world *world = self;
  (void)view;
  if (event->kind == HR_EVENT_START) {
    world->start_us[event->job.id] = event->at_us;
    if (world->first_us[event->job.id] < 0) world->first_us[event->job.id] = event->at_us;
  }
  if (event->kind == HR_EVENT_END) world->end_us[event->job.id] = event->at_us;
}

/* Runs the world in checked mode. `plain`: a new session for each cycle. */
static void run(struct world *world, bool plain) {
  const char *names[MAX_QUEUES];
  struct hr_class_spec classes[HR_N_CLASSES] = {0};
  char pool_name[] = "pool", gpu[] = "H100";
  struct hr_error error = {0};
  for (uint32_t q = 0; q < MAX_QUEUES; q++) names[q] = queue_names[q];
  for (uint32_t j = 0; j < MAX_JOBS; j++) world->start_us[j] = world->end_us[j] = world->first_us[j] = -1;
  struct hr_trace trace = {.source = "test",
                           .n_jobs = world->n_jobs,
                           .submit_us = world->submit_us,
                           .work_us = world->work_us,
                           .gpus = world->gpus,
                           .tasks = world->tasks,
                           .queue = world->queue,
                           .priority = world->priority,
                           .gpu_milli = world->gpu_milli,
                           .queues = {MAX_QUEUES, names}};
  struct hr_pool_spec pool = {.name = pool_name,
                              .gpu = gpu,
                              .nodes = world->nodes,
                              .gpus_per_node = world->gpus_per_node,
                              .gpu_mem_mib = 80000,
                              .sharing = world->sharing,
                              .market = {.market = world->market, .to_us = HR_NEVER_US, .price_uusd_h = 1000000}};
  struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  struct hr_kai_config config = {
      .queues = world->queues, .n_queues = world->n_queues, .scheduler = world->scheduler, .default_priority = 50};
  struct hr_systems systems = {.kai = &config};
  struct hr_policy_choice choice;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "kai", &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, "check", "true", &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, "plain", plain ? "true" : "false", &error), HR_OK);
  struct hr_observer observer = {.self = world, .on_event = on_event};
  struct hr_run_config run_config = {.trace = &trace,
                                     .cluster = &cluster,
                                     .policy = choice.ops,
                                     .params = choice.params,
                                     .seed = 1,
                                     .horizon_us = HR_NEVER_US,
                                     .check = true,
                                     .classes = classes,
                                     .systems = &systems,
                                     .observers = &observer,
                                     .n_observers = 1};
  struct hr_result *result = NULL;
  const enum hr_status status = hr_sim_run(&run_config, &result, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  world->digest = result->digest;
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
}

static uint32_t started_at(const struct world *world, int64_t at_s, uint32_t queue) {
  uint32_t n = 0;
  for (uint32_t j = 0; j < world->n_jobs; j++)
    n += world->queue[j] == queue && world->first_us[j] == at_s * HR_SECOND_US;
  return n;
}

/* Queue a has a quota of 2 GPUs and b of 4. The other 6 of 12 GPUs are divided by the weights 2 and 1. So both queues
   get 6. */
static void weights_divide_what_exceeds_the_quotas(void) {
  static struct world world;
  begin(&world, 3, 4);
  const uint32_t a = add_queue(&world, HR_NONE, 2, -1, 2), b = add_queue(&world, HR_NONE, 4, -1, 1);
  for (int i = 0; i < 20; i++) {
    add_job(&world, 0, 100, 1, a);
    add_job(&world, 0, 100, 1, b);
  }
  run(&world, false);
  CU_ASSERT_EQUAL(started_at(&world, 0, a), 6);
  CU_ASSERT_EQUAL(started_at(&world, 0, b), 6);
}

/* At 100 s, two jobs of queue b reclaim its quota from two of the four jobs of a. The victims have a grace period of 30
   s. They lose their work and run again from 630 s, when the jobs of b end. */
static void quota_is_reclaimed(void) {
  static struct world world;
  begin(&world, 4, 8);
  const uint32_t a = add_queue(&world, HR_NONE, 16, -1, 1), b = add_queue(&world, HR_NONE, 16, -1, 1);
  for (int i = 0; i < 4; i++) add_job(&world, 0, 1000, 8, a);
  const uint32_t late = add_job(&world, 100, 500, 8, b);
  add_job(&world, 100, 500, 8, b);
  run(&world, false);
  CU_ASSERT_EQUAL(world.first_us[late], 130 * HR_SECOND_US);
  CU_ASSERT_EQUAL(world.first_us[late + 1], 130 * HR_SECOND_US);
  CU_ASSERT_EQUAL(world.end_us[0], 1000 * HR_SECOND_US);
  CU_ASSERT_EQUAL(world.end_us[1], 1000 * HR_SECOND_US);
  CU_ASSERT_EQUAL(world.end_us[2], 1630 * HR_SECOND_US);
  CU_ASSERT_EQUAL(world.end_us[3], 1630 * HR_SECOND_US);
}

/* The same, if jobs are protected for 300 s after their start. With the grace period, the job of b starts at 330 s. */
static void minimum_run_time_delays_reclaim(void) {
  static struct world world;
  begin(&world, 2, 8);
  const uint32_t a = add_queue(&world, HR_NONE, 8, -1, 1), b = add_queue(&world, HR_NONE, 8, -1, 1);
  world.queues[a].reclaim_min_runtime_us = 300 * HR_SECOND_US;
  add_job(&world, 0, 1000, 8, a);
  add_job(&world, 0, 1000, 8, a);
  const uint32_t late = add_job(&world, 100, 500, 8, b);
  run(&world, false);
  CU_ASSERT_EQUAL(world.first_us[late], 330 * HR_SECOND_US);
}

static void priority_preempts_within_a_queue(void) {
  static struct world world;
  begin(&world, 1, 8);
  const uint32_t a = add_queue(&world, HR_NONE, 8, -1, 1);
  const uint32_t low = add_job(&world, 0, 1000, 8, a), high = add_job(&world, 50, 100, 8, a);
  world.priority[high] = 75;
  run(&world, false);
  CU_ASSERT_EQUAL(world.first_us[high], 80 * HR_SECOND_US);
  CU_ASSERT_EQUAL(world.start_us[low], 180 * HR_SECOND_US);
}

/* Jobs of priority 100 are not preemptible, and together must not exceed the quota of 8 GPUs. */
static void jobs_that_are_not_preemptible_stay_within_the_quota(void) {
  static struct world world;
  begin(&world, 2, 8);
  const uint32_t a = add_queue(&world, HR_NONE, 8, -1, 1);
  const uint32_t first = add_job(&world, 0, 1000, 8, a), second = add_job(&world, 0, 100, 8, a);
  const uint32_t large = add_job(&world, 0, 100, 16, a), train = add_job(&world, 0, 100, 8, a);
  world.priority[first] = world.priority[second] = world.priority[large] = 100;
  run(&world, false);
  CU_ASSERT_EQUAL(world.first_us[first], 0);
  CU_ASSERT_EQUAL(world.first_us[second], 1000 * HR_SECOND_US);
  CU_ASSERT_EQUAL(world.first_us[train], 0);
  CU_ASSERT_EQUAL(world.first_us[large], -1); /* rejected: it alone exceeds the quota */
}

static void limits_hold(void) {
  static struct world world;
  begin(&world, 2, 8);
  const uint32_t top = add_queue(&world, HR_NONE, -1, 10, 1), a = add_queue(&world, top, 8, -1, 1);
  const uint32_t one = add_job(&world, 0, 100, 8, a), two = add_job(&world, 0, 100, 8, a);
  run(&world, false);
  CU_ASSERT_EQUAL(world.first_us[one], 0);
  CU_ASSERT_EQUAL(world.first_us[two], 100 * HR_SECOND_US);
}

/* At 100 s, two nodes have two free GPUs each. A job moves to the other node, with a grace period of 30 s, so that a
   job with four GPUs fits. Without consolidation, this job waits until 1,000 s. */
static void consolidation_makes_room(void) {
  static struct world world;
  begin(&world, 2, 4);
  const uint32_t a = add_queue(&world, HR_NONE, 8, -1, 1);
  add_job(&world, 0, 1000, 2, a);
  add_job(&world, 0, 50, 2, a);
  add_job(&world, 0, 1000, 2, a);
  add_job(&world, 0, 50, 2, a);
  const uint32_t large = add_job(&world, 100, 200, 4, a);
  run(&world, false);
  CU_ASSERT_EQUAL(world.first_us[large], 130 * HR_SECOND_US);
  world.scheduler.max_consolidation_victims = 0;
  run(&world, false);
  CU_ASSERT_EQUAL(world.first_us[large], 1000 * HR_SECOND_US);
}

/* With a depth of 1, only the first job of a queue is tried: a smaller job behind it waits, although it fits. */
static void depth_limits_the_jobs_of_a_queue(void) {
  static struct world world;
  begin(&world, 1, 4);
  const uint32_t a = add_queue(&world, HR_NONE, 4, -1, 1);
  add_job(&world, 0, 1000, 2, a);
  const uint32_t large = add_job(&world, 10, 100, 4, a), small = add_job(&world, 20, 100, 2, a);
  run(&world, false);
  CU_ASSERT_EQUAL(world.first_us[small], 20 * HR_SECOND_US);
  for (int plain = 0; plain < 2; plain++) {
    world.scheduler.allocate_depth = 1;
    run(&world, plain);
    CU_ASSERT_EQUAL(world.first_us[large], 1000 * HR_SECOND_US);
    CU_ASSERT_EQUAL(world.first_us[small], 1100 * HR_SECOND_US);
    world.scheduler.allocate_depth = 2;
    run(&world, plain);
    CU_ASSERT_EQUAL(world.first_us[small], 20 * HR_SECOND_US);
  }
}

/* Four jobs with 0.4 of a GPU fit on two GPUs; the fifth job waits. */
static void jobs_share_gpus(void) {
  static struct world world;
  begin(&world, 1, 2);
  world.sharing = HR_SHARING_FRACTION;
  const uint32_t a = add_queue(&world, HR_NONE, 2, -1, 1);
  for (int i = 0; i < 5; i++) world.gpu_milli[add_job(&world, 0, 100, 1, a)] = 400;
  run(&world, false);
  CU_ASSERT_EQUAL(started_at(&world, 0, a), 4);
  CU_ASSERT_EQUAL(world.first_us[4], 100 * HR_SECOND_US);
}

/* Queue a held all 8 GPUs for the first `held_s` seconds. At `at_s`, 20 jobs with one GPU arrive. Expects that a then
   starts `n` jobs and b starts 8 - n. */
static void expect_division(const struct hr_kai_usage *usage, double k, int64_t held_s, int64_t at_s, uint32_t n) {
  static struct world world;
  begin(&world, 1, 8);
  const uint32_t a = add_queue(&world, HR_NONE, 0, -1, 1), b = add_queue(&world, HR_NONE, 0, -1, 1);
  if (usage) world.scheduler.usage = *usage;
  world.scheduler.k_value = k;
  add_job(&world, 0, held_s, 8, a);
  for (int i = 0; i < 10; i++) {
    add_job(&world, at_s, 5, 1, a);
    add_job(&world, at_s, 5, 1, b);
  }
  run(&world, false);
  CU_ASSERT_EQUAL(started_at(&world, at_s, a), n);
  CU_ASSERT_EQUAL(started_at(&world, at_s, b), 8 - n);
}

/*
 * Both weights are 1/2. The part of a queue, which is reduced by its past usage, is 1/2 + k * (1/2 - usage). The GPUs
 * are divided in proportion to the parts. Queue b has no past usage, so its part is 1 if k is 1.
 *
 * - a held all GPUs for 300 of 900 s, so its usage is 1/3: the parts are 2/3 and 1, which gives 3.2 and 4.8 of 8
 *   GPUs. In whole GPUs this is 3 and 4. The last GPU is for b, which has the larger remainder. With k = 0, both get 4.
 *   If a held all GPUs for all 900 s, its part is 0.
 * - sliding window of 450 s: if a held all GPUs until 675 s, it held them for 225 of the last 450 s. The parts are
 *   1/2 and 1, which gives 8/3 and 16/3. If a held them until 450 s, its usage is 0.
 * - tumbling windows of 600 s: the second window began at 600 s. If a held all GPUs until 600 s, its usage is 0. If
 *   it held them until 750 s, its usage at 900 s is 1/2.
 * - half-life of 300 s: a held all GPUs until 300 s, now it is 900 s. The integrals of the decaying weights are 1/4 -
 *   1/8 = 1/8 (until 300 s) and 1 - 1/8 = 7/8 (until 900 s), so the usage of a is 1/7. The parts are 6/7 and 1, which
 *   gives 48/13 = 3.69 and 4.31. The last GPU is for a.
 * - usage is read at multiples of 800 s: at 900 s the usage at 800 s counts, which is 3/8. The parts are 5/8 and 1,
 *   which gives 3.08 and 4.92. At 1,600 s the usage is 3/16, and the parts are 13/16 and 1: 3.59 and 4.41.
 */
static void past_usage_reduces_the_fair_share(void) {
  const struct hr_kai_usage sliding = {.enabled = true,
                                       .window = HR_KAI_SLIDING,
                                       .window_us = 604800 * HR_SECOND_US,
                                       .fetch_interval_us = 60 * HR_SECOND_US};
  struct hr_kai_usage usage = sliding;
  expect_division(NULL, 1, 300, 900, 4);
  expect_division(&usage, 1, 300, 900, 3);
  expect_division(&usage, 0, 300, 900, 4);
  expect_division(&usage, 1, 900, 900, 0);
  usage.window_us = 450 * HR_SECOND_US;
  expect_division(&usage, 1, 675, 900, 3);
  expect_division(&usage, 1, 450, 900, 4);
  usage = sliding;
  usage.window = HR_KAI_TUMBLING;
  usage.window_us = 600 * HR_SECOND_US;
  expect_division(&usage, 1, 600, 900, 4);
  expect_division(&usage, 1, 750, 900, 3);
  usage = sliding;
  usage.half_life_us = 300 * HR_SECOND_US;
  expect_division(&usage, 1, 300, 900, 4);
  usage = sliding;
  usage.fetch_interval_us = 800 * HR_SECOND_US;
  expect_division(&usage, 1, 300, 900, 3);
  expect_division(&usage, 1, 300, 1600, 4);
}

/* Past usage causes reclaim even without other events. Queue a has held all GPUs for 100 s, so the fair share of b is
   all of them. At the time t, the usage of a is 100 / t and that of b is (t - 101) / t, and the parts are 1 minus these
   values. So a gets 8 (t - 100) / (t + 1) GPUs, which is more than 3.5, and so 4 in whole GPUs, from t = 178.6 s on.
   The next reading is at 180 s, and the job starts in the next cycle. */
static void past_usage_is_read_while_jobs_wait(void) {
  static struct world world;
  begin(&world, 1, 8);
  const uint32_t a = add_queue(&world, HR_NONE, 0, -1, 1), b = add_queue(&world, HR_NONE, 0, -1, 1);
  world.scheduler.usage = (struct hr_kai_usage){.enabled = true,
                                                .window = HR_KAI_SLIDING,
                                                .window_us = 1000 * HR_SECOND_US,
                                                .fetch_interval_us = 10 * HR_SECOND_US};
  world.scheduler.termination_grace_us = 0;
  add_job(&world, 0, 3000, 4, a);
  add_job(&world, 0, 3000, 4, a);
  add_job(&world, 100, 3000, 4, b);
  add_job(&world, 100, 3000, 4, b);
  const uint32_t next = add_job(&world, 102, 3000, 4, a);
  world.priority[next] = 75;
  run(&world, false);
  CU_ASSERT_EQUAL(started_at(&world, 101, b), 2);
  CU_ASSERT_EQUAL(world.first_us[next], 181 * HR_SECOND_US);
}

static void nodes_are_requested_for_waiting_jobs(void) {
  static struct world world;
  begin(&world, 4, 8);
  world.market = HR_MARKET_ON_DEMAND;
  const uint32_t a = add_queue(&world, HR_NONE, 32, -1, 1);
  add_job(&world, 0, 100, 8, a);
  add_job(&world, 0, 100, 16, a);
  run(&world, false);
  CU_ASSERT_EQUAL(started_at(&world, 1, a), 2);
}

/* ---- Random worlds ------------------------------------------------------------------------------------- */

static uint64_t random_state;

static uint32_t draw(uint32_t below) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((random_state >> 33) % below);
}

static void draw_world(struct world *world) {
  static const int32_t priorities[] = {50, 50, 50, 75, 100};
  begin(world, 2 + draw(3), 4);
  const uint32_t top = add_queue(world, HR_NONE, -1, -1, 1), other = add_queue(world, HR_NONE, draw(4), -1, 1);
  for (int i = 0; i < 4; i++) {
    const double quota = draw(6), limit = draw(4) ? -1 : 6;
    const uint32_t weight = draw(3), q = add_queue(world, i < 2 ? top : other, quota, limit, weight);
    if (draw(3) == 0) world->queues[q].reclaim_min_runtime_us = 60 * HR_SECOND_US * draw(4);
    if (draw(4) == 0) world->queues[q].priority = 100 + (int32_t)draw(3);
  }
  if (draw(3) == 0)
    world->scheduler.usage = (struct hr_kai_usage){.enabled = true,
                                                   .window = draw(2) ? HR_KAI_SLIDING : HR_KAI_TUMBLING,
                                                   .half_life_us = 50000 * HR_SECOND_US * draw(2),
                                                   .window_us = 100000 * HR_SECOND_US,
                                                   .fetch_interval_us = 7 * HR_SECOND_US};
  world->scheduler.termination_grace_us = draw(2) ? 30 * HR_SECOND_US : 0;
  world->scheduler.signatures = draw(2);
  world->scheduler.gpu_placement = draw(2) ? HR_KAI_SPREAD : HR_KAI_BINPACK;
  world->sharing = draw(3) ? HR_SHARING_WHOLE : HR_SHARING_FRACTION;
  int64_t at_s = 0;
  for (uint32_t j = 0; j < 40; j++) {
    at_s += draw(20);
    const uint32_t work_s = 20 + draw(300), gpus = 1 + draw(4), queue = 2 + draw(4);
    add_job(world, at_s, work_s, gpus, queue);
    if (draw(4) == 0) world->tasks[j] = world->gpus[j];
    world->priority[j] = priorities[draw(5)];
    if (world->sharing == HR_SHARING_FRACTION && draw(2)) {
      world->gpus[j] = world->tasks[j] = 1;
      world->gpu_milli[j] = (uint16_t)(100 + draw(90) * 10);
    }
  }
}

static void sessions_that_last_decide_as_new_ones(void) {
  static struct world world;
  const uint64_t last = (uint64_t)test_argument(1, RANDOM_WORLDS);
  for (uint64_t seed = 1; seed <= last; seed++) {
    random_state = seed;
    draw_world(&world);
    if (seed % 3 == 0) world.scheduler.allocate_depth = 1 + (int64_t)(seed / 3 % 3);
    if (seed % 4 == 0) world.scheduler.reclaim_depth = world.scheduler.preempt_depth = 1 + (int64_t)(seed / 4 % 2);
    if (seed % 5 == 0) world.scheduler.consolidation_depth = 1;
    run(&world, false);
    const uint64_t digest = world.digest;
    run(&world, true);
    if (world.digest != digest) printf("\n  world %u: new sessions decide otherwise\n", (unsigned)seed);
    CU_ASSERT_EQUAL(world.digest, digest);
  }
}

/* In this world, jobs of two queues would reclaim GPUs from each other endlessly, and lose their work each time. One
   queue remains within its quota, and the other queue within its fair share. After some time the model lets jobs run,
   so all jobs end. */
static void exchanges_without_end_stop(void) {
  static struct world world;
  random_state = 281;
  draw_world(&world);
  run(&world, false);
  for (uint32_t j = 0; j < world.n_jobs; j++)
    CU_ASSERT_TRUE(world.first_us[j] < 0 || world.end_us[j] > world.start_us[j]);
}

TEST_MAIN("kai runs", TEST(weights_divide_what_exceeds_the_quotas), TEST(quota_is_reclaimed),
          TEST(minimum_run_time_delays_reclaim), TEST(priority_preempts_within_a_queue),
          TEST(jobs_that_are_not_preemptible_stay_within_the_quota), TEST(limits_hold), TEST(consolidation_makes_room),
          TEST(depth_limits_the_jobs_of_a_queue), TEST(jobs_share_gpus), TEST(past_usage_reduces_the_fair_share),
          TEST(past_usage_is_read_while_jobs_wait), TEST(nodes_are_requested_for_waiting_jobs),
          TEST(sessions_that_last_decide_as_new_ones), TEST(exchanges_without_end_stop))
