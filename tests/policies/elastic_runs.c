/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Elastic jobs under models of schedulers, in random small worlds.
 *
 * Growth: a naive simulation of Volcano, second by second. Each pod has one GPU, so that only the number of free GPUs
 * counts. Starts, ends and GPU time must be the same.
 *
 * Conservation: with queues, preemption and reclaim, the GPU time of each job that ends is its work, rounded up to the
 * next microsecond, and at each eviction; work since the last resize or start before an eviction does not count. A job
 * has one of its sizes at all times. Runs with and without checked mode have the same digest.
 *
 * Failures: a job of which pods are lost with a node stops only if too few are left.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/faults.h"
#include "headroom/unstable/systems.h"
#include "headroom/unstable/volcano_config.h"

#include <string.h>

enum { MAX_JOBS = 30, GROWTH_WORLDS = 150, CONSERVATION_WORLDS = 100, FAILURE_WORLDS = 40, LONGEST_S = 20000 };

struct elastic_world {
  struct hr__stream draws;
  const char *policy;
  uint32_t n_jobs, nodes, gpus_per_node;
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], tasks[MAX_JOBS], min_gpus[MAX_JOBS], max_gpus[MAX_JOBS], queue[MAX_JOBS];
  int32_t priority[MAX_JOBS];
  struct hr_systems systems;
  struct hr_fault_spec *faults; /* NULL: nodes do not fail */
  /* Results. GPU time is without that since the last resize or start if the job was evicted, which is lost. */
  int64_t start_us[MAX_JOBS], end_us[MAX_JOBS], since_us[MAX_JOBS];
  uint64_t gpu_us[MAX_JOBS];
  uint32_t has[MAX_JOBS], evictions[MAX_JOBS], n_resizes, n_evictions;
  uint32_t n_shrinks, n_stopped, n_in_vain; /* n_in_vain: stopped although enough pods were left */
  bool is_wrong;
  uint64_t digest;
};

static uint32_t draw(struct elastic_world *world, uint32_t below) {
  return (uint32_t)(hr__stream_next(&world->draws) % below);
}

static uint32_t gpus_of(const struct hr_placement *placement) {
  uint32_t gpus = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++) gpus += placement->slices[i].gpu_milli / HR_WHOLE_GPU_MILLI;
  return gpus;
}

static void end_segment(struct elastic_world *world, uint32_t job, int64_t now_us) {
  world->gpu_us[job] += (uint64_t)(now_us - world->since_us[job]) * world->has[job];
}

/* Whether a job could go on without any one of its nodes. */
static bool may_go_on(const struct elastic_world *world, uint32_t job, const struct hr_placement *placement) {
  uint32_t gpus = gpus_of(placement);
  bool may = placement->n_slices > 1;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    may = may && gpus - placement->slices[i].gpu_milli / HR_WHOLE_GPU_MILLI >= world->min_gpus[job];
  return may;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct elastic_world *world = self;
  uint32_t job = event->job.id;
  (void)view;
  switch (event->kind) {
  case HR_EVENT_START:
    if (world->start_us[job] < 0) world->start_us[job] = event->at_us;
    world->since_us[job] = event->at_us;
    world->n_shrinks += event->reason == HR_REASON_RESIZED && gpus_of(event->placement) < world->has[job];
    world->has[job] = gpus_of(event->placement);
    world->is_wrong |= world->has[job] < world->min_gpus[job] || world->has[job] > world->max_gpus[job] ||
                       world->has[job] % (world->gpus[job] / world->tasks[job]) > 0;
    break;
  case HR_EVENT_PREEMPT:
    world->n_resizes += event->reason == HR_REASON_RESIZED;
    world->n_evictions += event->reason != HR_REASON_RESIZED;
    world->evictions[job] += event->reason != HR_REASON_RESIZED;
    if (event->reason == HR_REASON_RESIZED) end_segment(world, job, event->at_us);
    break;
  case HR_EVENT_INTERRUPT:
    world->n_stopped++;
    world->n_in_vain += may_go_on(world, job, event->placement);
    break;
  case HR_EVENT_END:
    end_segment(world, job, event->at_us);
    world->end_us[job] = event->at_us;
    break;
  default:
    break;
  }
}

static void run(struct elastic_world *world, bool check) {
  static const char *const names[] = {"q0", "q1", "q2"};
  char pool_name[] = "pool", gpu[] = "H100";
  struct hr_class_spec classes[HR_N_CLASSES] = {0};
  struct hr_error error = {0};
  world->n_resizes = world->n_evictions = world->n_shrinks = world->n_stopped = world->n_in_vain = 0;
  world->is_wrong = false;
  for (uint32_t i = 0; i < MAX_JOBS; i++) {
    world->start_us[i] = world->end_us[i] = -1;
    world->gpu_us[i] = world->evictions[i] = 0;
  }
  const struct hr_trace trace = {.source = "test",
                                 .n_jobs = world->n_jobs,
                                 .submit_us = world->submit_us,
                                 .work_us = world->work_us,
                                 .gpus = world->gpus,
                                 .tasks = world->tasks,
                                 .min_gpus = world->min_gpus,
                                 .max_gpus = world->max_gpus,
                                 .queue = world->queue,
                                 .priority = world->priority,
                                 .queues = {3, names}};
  struct hr_pool_spec pool = {.name = pool_name,
                              .gpu = gpu,
                              .nodes = world->nodes,
                              .gpus_per_node = world->gpus_per_node,
                              .faults = world->faults,
                              .market = {.market = HR_MARKET_OWNED, .to_us = HR_NEVER_US}};
  const struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  struct hr_policy_choice choice;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, world->policy, &error), HR_OK);
  const struct hr_observer observer = {.self = world, .on_event = on_event};
  const struct hr_run_config config = {.trace = &trace,
                                       .cluster = &cluster,
                                       .policy = choice.ops,
                                       .params = choice.params,
                                       .seed = 1,
                                       .horizon_us = HR_NEVER_US,
                                       .check = check,
                                       .classes = classes,
                                       .systems = &world->systems,
                                       .observers = &observer,
                                       .n_observers = 1};
  struct hr_result *result = NULL;
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  world->digest = result->digest;
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
}

/* Draws jobs with pods of up to `widest` GPUs, of which at least `fewest` fit. */
static void draw_jobs(struct elastic_world *world, uint32_t widest, uint32_t n_queues) {
  int64_t now_us = 0;
  world->n_jobs = 10 + draw(world, MAX_JOBS - 9);
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    now_us += (int64_t)draw(world, 40) * (HR_SECOND_US / 2);
    uint32_t each = 1 + draw(world, widest), least = 1 + draw(world, 4), more = draw(world, 5), most = draw(world, 3);
    world->submit_us[i] = now_us;
    world->work_us[i] = 1 + (int64_t)draw(world, 200000000);
    world->tasks[i] = least + more;
    world->gpus[i] = each * (least + more);
    world->min_gpus[i] = each * least;
    world->max_gpus[i] = each * (least + more + most);
    world->queue[i] = draw(world, n_queues);
    world->priority[i] = (int32_t)draw(world, 3);
  }
}

/* ---- Growth -------------------------------------------------------------------------------------------- */

struct naive_elastic {
  uint64_t left[MAX_JOBS], gpu_us[MAX_JOBS]; /* left: GPU time */
  uint32_t pods[MAX_JOBS];
  int64_t start_us[MAX_JOBS], end_us[MAX_JOBS];
  bool is_done[MAX_JOBS];
  uint32_t n_free;
};

/* The job that gets pods next: by priority; those that do not run yet first; by age. */
static uint32_t next_job(const struct elastic_world *world, const struct naive_elastic *naive, const bool *tried,
                         int64_t now_us) {
  uint32_t best = HR_NONE;
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    if (tried[i] || naive->is_done[i] || world->submit_us[i] > now_us || naive->pods[i] == world->max_gpus[i]) continue;
    if (best == HR_NONE || world->priority[i] > world->priority[best] ||
        (world->priority[i] == world->priority[best] && !naive->pods[i] && naive->pods[best]))
      best = i;
  }
  return best;
}

static void naive_session(const struct elastic_world *world, struct naive_elastic *naive, int64_t now_us) {
  bool tried[MAX_JOBS] = {false};
  for (uint32_t job; (job = next_job(world, naive, tried, now_us)) != HR_NONE;) {
    uint32_t more = naive->pods[job] ? 1 : world->min_gpus[job];
    if (more > naive->n_free) {
      tried[job] = true;
      continue;
    }
    if (!naive->pods[job]) naive->start_us[job] = now_us;
    naive->pods[job] += more;
    naive->n_free -= more;
  }
}

/* Lets the jobs work for a second. */
static void naive_work(const struct elastic_world *world, struct naive_elastic *naive, int64_t now_us) {
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    if (naive->is_done[i] || !naive->pods[i]) continue;
    uint64_t span_us = (naive->left[i] + naive->pods[i] - 1) / naive->pods[i];
    bool ends = span_us <= (uint64_t)HR_SECOND_US;
    if (!ends) span_us = (uint64_t)HR_SECOND_US;
    naive->gpu_us[i] += span_us * naive->pods[i];
    naive->left[i] -= ends ? naive->left[i] : span_us * naive->pods[i];
    if (!ends) continue;
    naive->is_done[i] = true;
    naive->end_us[i] = now_us + (int64_t)span_us;
    naive->n_free += naive->pods[i];
    naive->pods[i] = 0;
  }
}

static void simulate(const struct elastic_world *world, struct naive_elastic *naive) {
  *naive = (struct naive_elastic){.n_free = world->nodes * world->gpus_per_node};
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    naive->left[i] = (uint64_t)world->work_us[i] * world->gpus[i];
    naive->end_us[i] = -1;
  }
  for (int64_t at_s = 0; at_s < LONGEST_S; at_s++) {
    naive_session(world, naive, at_s * HR_SECOND_US);
    naive_work(world, naive, at_s * HR_SECOND_US);
  }
}

static struct hr_volcano_plugin_config growth_plugins[] = {{.id = HR_VOLCANO_PRIORITY}, {.id = HR_VOLCANO_GANG}};
static struct hr_volcano_tier growth_tier = {growth_plugins, 2};
static uint32_t growth_actions[] = {HR_VOLCANO_ALLOCATE};
static struct hr_volcano_config growth_config = {.actions = growth_actions,
                                                 .n_actions = 1,
                                                 .tiers = &growth_tier,
                                                 .n_tiers = 1,
                                                 .period_us = HR_SECOND_US,
                                                 .pods_per_node = 110};

static void volcano_grows_as_a_naive_simulation(void) {
  static struct elastic_world world;
  static struct naive_elastic naive;
  uint32_t n_resizes = 0;
  const uint32_t n_worlds = (uint32_t)test_argument(1, GROWTH_WORLDS);
  for (uint32_t k = 0; k < n_worlds; k++) {
    hr__stream_init(&world.draws, 21, HR__PURPOSE_SAMPLE, k, 0);
    world.policy = "volcano";
    world.systems = (struct hr_systems){.volcano = &growth_config};
    world.nodes = 1 + draw(&world, 3);
    world.gpus_per_node = 4 + draw(&world, 5);
    draw_jobs(&world, 1, 1);
    run(&world, true);
    simulate(&world, &naive);
    for (uint32_t i = 0; i < world.n_jobs; i++) {
      CU_ASSERT_EQUAL_FATAL(world.start_us[i], naive.start_us[i]);
      CU_ASSERT_EQUAL_FATAL(world.end_us[i], naive.end_us[i]);
      CU_ASSERT_EQUAL_FATAL(world.gpu_us[i], naive.gpu_us[i]);
    }
    CU_ASSERT(!world.is_wrong);
    n_resizes += world.n_resizes;
  }
  CU_ASSERT(n_resizes > 10 * n_worlds);
}

/* ---- Conservation -------------------------------------------------------------------------------------- */

static void expect_conservation(const struct elastic_world *world) {
  CU_ASSERT(!world->is_wrong);
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    uint64_t work = (uint64_t)world->work_us[i] * world->gpus[i];
    if (world->end_us[i] < 0) continue;
    bool is_kept = world->gpu_us[i] >= work &&
                   world->gpu_us[i] - work < world->has[i] + (uint64_t)world->evictions[i] * world->gpus[i];
    if (!is_kept)
      printf("\n  job %u has %llu of %llu\n", i, (unsigned long long)world->gpu_us[i], (unsigned long long)work);
    CU_ASSERT_FATAL(is_kept);
  }
}

/* Runs worlds that `prepare` draws, with and without checked mode. */
static void conserve(const char *policy, void (*prepare)(struct elastic_world *world)) {
  static struct elastic_world world;
  uint32_t n_resizes = 0, n_evictions = 0;
  const uint32_t n_worlds = (uint32_t)test_argument(1, CONSERVATION_WORLDS);
  for (uint32_t k = 0; k < n_worlds; k++) {
    hr__stream_init(&world.draws, 22, HR__PURPOSE_SAMPLE, k, 0);
    world.policy = policy;
    world.systems = (struct hr_systems){0};
    world.nodes = 3 + draw(&world, 3);
    world.gpus_per_node = 4 + draw(&world, 5);
    draw_jobs(&world, 4, 3);
    prepare(&world);
    run(&world, true);
    uint64_t digest = world.digest;
    expect_conservation(&world);
    run(&world, false);
    CU_ASSERT_EQUAL(world.digest, digest);
    n_resizes += world.n_resizes;
    n_evictions += world.n_evictions;
  }
  CU_ASSERT(n_resizes > 5 * n_worlds);
  CU_ASSERT(n_evictions > n_worlds / 2);
}

static char queue_names[3][4] = {"q0", "q1", "q2"};

static void prepare_volcano(struct elastic_world *world) {
  static uint32_t actions[] = {HR_VOLCANO_ENQUEUE, HR_VOLCANO_ALLOCATE, HR_VOLCANO_PREEMPT, HR_VOLCANO_RECLAIM};
  static struct hr_volcano_plugin_config first[2], second[4];
  static struct hr_volcano_tier tiers[] = {{first, 2}, {second, 4}};
  static struct hr_volcano_queue queues[3];
  static struct hr_volcano_config config;
  memset(first, 0, sizeof first);
  memset(second, 0, sizeof second);
  first[0].id = HR_VOLCANO_PRIORITY;
  first[1].id = HR_VOLCANO_GANG;
  if (draw(world, 2)) first[1].disabled = UINT32_C(1) << HR_VOLCANO_PREEMPTABLE;
  second[0].id = HR_VOLCANO_DRF;
  second[0].disabled = UINT32_C(1) << HR_VOLCANO_PREEMPTABLE;
  second[1].id = HR_VOLCANO_PREDICATES;
  second[2].id = HR_VOLCANO_PROPORTION;
  second[3].id = HR_VOLCANO_NODEORDER;
  second[3].least_requested = 1;
  for (uint32_t i = 0; i < 3; i++)
    queues[i] = (struct hr_volcano_queue){.name = queue_names[i], .weight = 1 + draw(world, 3), .reclaimable = true};
  config = (struct hr_volcano_config){.actions = actions,
                                      .n_actions = 4,
                                      .tiers = tiers,
                                      .n_tiers = 2,
                                      .queues = queues,
                                      .n_queues = 3,
                                      .period_us = HR_SECOND_US,
                                      .pods_per_node = 110};
  world->systems.volcano = &config;
}

static void volcano_conserves_work(void) {
  conserve("volcano", prepare_volcano);
}

/* ---- Failures ------------------------------------------------------------------------------------------ */

/* Runs worlds whose nodes fail; without preemption, jobs lose GPUs only because of failures. */
static void fail_nodes(struct hr_volcano_config *config, uint32_t *n_shrinks, uint32_t *n_stopped,
                       uint32_t *n_in_vain) {
  struct hr_fault_process process = {.unit = HR_TIER_NODE,
                                     .bad_factor = 1,
                                     .fresh = true,
                                     .between = {HR_DURATION_EXPONENTIAL, 400, 0},
                                     .only = {.repair = {HR_DURATION_FIXED, 30, 0}}};
  struct hr_fault_spec faults = {.processes = &process, .n_processes = 1};
  *n_shrinks = *n_stopped = *n_in_vain = 0;
  for (uint32_t k = 0; k < FAILURE_WORLDS; k++) {
    struct elastic_world world = {.policy = "volcano", .systems = {.volcano = config}, .faults = &faults};
    hr__stream_init(&world.draws, 23, HR__PURPOSE_SAMPLE, k, 0);
    world.nodes = 2 + draw(&world, 4);
    world.gpus_per_node = 4 + draw(&world, 5);
    draw_jobs(&world, 2, 1);
    run(&world, true);
    uint64_t digest = world.digest;
    run(&world, false);
    CU_ASSERT_EQUAL(world.digest, digest);
    CU_ASSERT_FALSE(world.is_wrong);
    *n_shrinks += world.n_shrinks;
    *n_stopped += world.n_stopped;
    *n_in_vain += world.n_in_vain;
  }
}

static void volcano_loses_only_the_pods_of_a_failed_node(void) {
  uint32_t n_shrinks, n_stopped, n_in_vain;
  fail_nodes(&growth_config, &n_shrinks, &n_stopped, &n_in_vain);
  CU_ASSERT(n_shrinks > 20);
  CU_ASSERT(n_stopped > 20); /* too few pods were left */
  CU_ASSERT_EQUAL(n_in_vain, 0);
  struct hr_volcano_config restarts = growth_config;
  restarts.restarts_jobs = true;
  fail_nodes(&restarts, &n_shrinks, &n_stopped, &n_in_vain);
  CU_ASSERT_EQUAL(n_shrinks, 0);
  CU_ASSERT(n_in_vain > 20);
}

TEST_MAIN("Elastic jobs of schedulers", TEST(volcano_grows_as_a_naive_simulation), TEST(volcano_conserves_work),
          TEST(volcano_loses_only_the_pods_of_a_failed_node))
