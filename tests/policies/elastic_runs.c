/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Elastic jobs under models of schedulers, in random small worlds.
 *
 * Growth: a naive simulation of Volcano, second by second. Each pod has one GPU, so only the number of free GPUs
 * matters. Starts, ends and GPU time must be the same.
 *
 * KAI with reclaim, preemption and consolidation: a naive simulation of the run, whose cycles are those of the naive
 * KAI (kai_naive.h). Starts, ends, evictions and GPU time must be the same.
 *
 * Conservation: with queues, preemption and reclaim, the GPU time of each job that ends equals its work. At the end of
 * the job and at each eviction, the remaining time is rounded up to whole microseconds. GPU time between a start or
 * resize and an eviction is lost and does not count. A job has one of its allowed sizes at all times. Runs with and
 * without checked mode have the same digest.
 *
 * Failures: a job that loses pods with a node stops only if too few pods remain.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/faults.h"
#include "headroom/unstable/systems/systems.h"
#include "kai_naive.h"

#include <string.h>

enum { MAX_JOBS = 30, GROWTH_WORLDS = 150, FAILURE_WORLDS = 40, LONGEST_S = 20000 };
enum { KAI_WORLDS = 500, KAI_NODES = 3, KAI_JOBS = 7, KAI_PODS = 6 };

struct elastic_world {
  struct hr__stream draws;
  const char *policy;
  uint32_t n_jobs, nodes, gpus_per_node;
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], tasks[MAX_JOBS], min_gpus[MAX_JOBS], max_gpus[MAX_JOBS], queue[MAX_JOBS];
  int32_t priority[MAX_JOBS];
  struct hr_systems systems;
  struct hr_fault_spec *faults; /* NULL: nodes do not fail */
  /* Results. If the job was evicted, its GPU time since the last resize or start is lost and not counted. */
  int64_t start_us[MAX_JOBS], end_us[MAX_JOBS], since_us[MAX_JOBS];
  uint64_t gpu_us[MAX_JOBS];
  uint32_t has[MAX_JOBS], evictions[MAX_JOBS], n_resizes, n_evictions;
  uint32_t n_shrinks, n_stopped, n_in_vain; /* n_in_vain: jobs that stopped although enough pods remained */
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

/* Returns whether a job could continue if it lost any one of its nodes. */
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
  case HR_EVENT_INTERRUPT: /* a failure, or the end of the grace period of an eviction */
    world->n_stopped++;
    world->n_in_vain += may_go_on(world, job, event->placement);
    world->n_evictions++;
    world->evictions[job]++;
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
  if (check && strcmp(world->policy, "kai") == 0)
    CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, "check", "true", &error), HR_OK);
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

/* Draws jobs with pods of up to `widest` GPUs. A job needs at least `least` of its pods. */
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

/* Returns the job that gets pods next: by priority, then jobs that do not run yet, then by age. */
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
      printf("\n  job %u has %llu of %llu; last %u, requests %u, evictions %u\n", (unsigned)i,
             (unsigned long long)world->gpu_us[i], (unsigned long long)work, (unsigned)world->has[i],
             (unsigned)world->gpus[i], (unsigned)world->evictions[i]);
    CU_ASSERT_FATAL(is_kept);
  }
}

/* Runs worlds that `prepare` draws, with and without checked mode. `fallback`: number of worlds unless the test has an
   argument. */
static void conserve(const char *policy, void (*prepare)(struct elastic_world *world), uint32_t fallback) {
  static struct elastic_world world;
  uint32_t n_resizes = 0, n_evictions = 0;
  const uint32_t n_worlds = test_argument(1, fallback);
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
  conserve("volcano", prepare_volcano, 100);
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

static struct hr_kai_config *draw_kai(struct elastic_world *world) {
  static struct hr_kai_queue queues[3];
  static struct hr_kai_config config;
  for (uint32_t i = 0; i < 3; i++) {
    const uint32_t quota = draw(world, 10), weight = 1 + draw(world, 2);
    queues[i] = (struct hr_kai_queue){.name = queue_names[i],
                                      .above = HR_NONE,
                                      .priority = 1,
                                      .gpu = {quota, -1, weight},
                                      .cpu = {-1, -1, 1},
                                      .memory = {-1, -1, 1},
                                      .preempt_min_runtime_us = HR_UNKNOWN_US,
                                      .reclaim_min_runtime_us = HR_UNKNOWN_US};
  }
  const bool has_grace = draw(world, 2) > 0, signatures = draw(world, 2) > 0;
  config = (struct hr_kai_config){.queues = queues, .n_queues = 3, .default_priority = 50};
  config.scheduler = (struct hr_kai_scheduler){.period_us = HR_SECOND_US,
                                               .k_value = 1,
                                               .saturation_multiplier = 1,
                                               .allow_consolidating_reclaim = true,
                                               .max_consolidation_victims = 16,
                                               .stale_grace_us = 60 * HR_SECOND_US,
                                               .termination_grace_us = has_grace ? 30 * HR_SECOND_US : 0,
                                               .signatures = signatures};
  world->systems.kai = &config;
  return &config;
}

static void prepare_kai(struct elastic_world *world) {
  draw_kai(world);
}

static void kai_conserves_work(void) {
  conserve("kai", prepare_kai, 25);
}

/* ---- A naive run of KAI -------------------------------------------------------------------------------- */

/* The description of the jobs that are in the cluster, with all pods of each. */
struct kai_cluster {
  struct hr__kai_cluster cluster;
  struct hr__kai_node nodes[KAI_NODES];
  struct hr__kai_queue queues[3];
  struct hr__kai_job jobs[KAI_JOBS];
  struct hr__kai_pod pods[KAI_JOBS * KAI_PODS];
  struct hr__kai_pod_set sets[KAI_JOBS];
  struct hr__kai_group groups[KAI_JOBS];
  struct hr__kai_start start[KAI_JOBS * KAI_PODS];
  uint32_t pods_of_sets[KAI_JOBS * KAI_PODS], id[KAI_JOBS]; /* id: the job of the world */
  int64_t allocatable[HR__KAI_DIM_MIG], requests[KAI_JOBS][HR__KAI_DIM_MIG], slices[HR__KAI_DIM_MIG];
};

struct kai_run {
  const struct elastic_world *world;
  struct kai_cluster described;
  int node[KAI_JOBS][KAI_PODS]; /* of each pod; -1: it is pending */
  uint64_t left[KAI_JOBS], gpu_us[KAI_JOBS];
  uint64_t kept_left[KAI_JOBS], kept_gpu_us[KAI_JOBS]; /* what an eviction restores */
  int64_t start_us[KAI_JOBS], end_us[KAI_JOBS];
  uint32_t evictions[KAI_JOBS];
  bool is_done[KAI_JOBS];
};

static uint32_t each_of(const struct elastic_world *world, uint32_t job) {
  return world->gpus[job] / world->tasks[job];
}

static uint32_t pods_of(const struct kai_run *x, uint32_t job) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < KAI_PODS; i++) n += x->node[job][i] >= 0;
  return n;
}

static void describe_cluster(struct kai_cluster *c, const struct elastic_world *world) {
  memset(c, 0, sizeof *c);
  c->cluster = (struct hr__kai_cluster){.nodes = c->nodes,
                                        .queues = c->queues,
                                        .jobs = c->jobs,
                                        .pods = c->pods,
                                        .sets = c->sets,
                                        .groups = c->groups,
                                        .pods_of_sets = c->pods_of_sets,
                                        .n_nodes = world->nodes,
                                        .n_queues = 3,
                                        .n_dims = HR__KAI_DIM_MIG,
                                        .mig_slices = c->slices,
                                        .config = hr__kai_default_config()};
  c->allocatable[HR__KAI_DIM_PODS] = 1000;
  c->allocatable[HR__KAI_DIM_GPUS] = world->gpus_per_node;
  for (uint32_t n = 0; n < world->nodes; n++)
    c->nodes[n] = (struct hr__kai_node){.allocatable = c->allocatable, .n_gpus = world->gpus_per_node, .name_rank = n};
  for (uint32_t q = 0; q < 3; q++) {
    const struct hr_kai_resource *gpu = &world->systems.kai->queues[q].gpu;
    c->queues[q] = (struct hr__kai_queue){.parent = HR__KAI_NONE, .name_rank = q, .priority = 1, .created = q};
    for (int r = 0; r < HR__KAI_RESOURCES; r++) c->queues[q].share[r] = (struct hr__kai_share){-1, -1, .weight = 1};
    c->queues[q].share[HR__KAI_GPU].deserved = (int64_t)gpu->quota * HR__KAI_GPU_UNIT;
    c->queues[q].share[HR__KAI_GPU].weight = gpu->over_quota_weight;
  }
}

/* Adds a job, with the present nodes of its pods. */
static void describe_job(struct kai_run *x, uint32_t id) {
  struct kai_cluster *c = &x->described;
  const struct elastic_world *world = x->world;
  const uint32_t j = c->cluster.n_jobs++, n = world->max_gpus[id] / each_of(world, id);
  c->cluster.n_sets = c->cluster.n_groups = c->cluster.n_jobs;
  c->id[j] = id;
  c->jobs[j] = (struct hr__kai_job){.queue = world->queue[id],
                                    .priority = world->priority[id],
                                    .created = id,
                                    .name_rank = id,
                                    .first_pod = c->cluster.n_pods,
                                    .n_pods = n,
                                    .first_set = j,
                                    .n_sets = 1,
                                    .first_group = j,
                                    .n_groups = 1,
                                    .last_start_us = INT64_MIN,
                                    .stale_since_us = INT64_MIN,
                                    .preemptible = true};
  c->groups[j] = (struct hr__kai_group){.constraint = {.topology = HR__KAI_NONE}, .job = j, .parent = HR__KAI_NONE};
  c->sets[j] = (struct hr__kai_pod_set){.constraint = {.topology = HR__KAI_NONE},
                                        .job = j,
                                        .group = j,
                                        .first_pod = c->cluster.n_pods,
                                        .n_pods = n,
                                        .min_available = world->min_gpus[id] / each_of(world, id)};
  c->requests[j][HR__KAI_DIM_PODS] = 1;
  c->requests[j][HR__KAI_DIM_GPUS] = each_of(world, id);
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t p = c->cluster.n_pods++;
    const int64_t gpus = (int64_t)each_of(world, id) * HR__KAI_GPU_UNIT;
    const bool runs = x->node[id][i] >= 0;
    c->pods[p] = (struct hr__kai_pod){
        .request = c->requests[j], .quota = {{0, 0, gpus}}, .gpus = gpus, .job = j, .pod_set = j, .order = i};
    c->pods_of_sets[p] = p;
    c->start[p] = (struct hr__kai_start){.status = runs ? HR__KAI_RUNNING : HR__KAI_PENDING,
                                         .node = runs ? (uint32_t)x->node[id][i] : HR__KAI_NONE};
  }
}

/* Applies the decision of a cycle for a job: it starts, is resized, or is evicted. Returns whether the job changed. */
static bool follow(struct kai_run *x, uint32_t j, const struct naive *naive, int64_t now_us) {
  const struct hr__kai_job *described = &x->described.jobs[j];
  const uint32_t id = x->described.id[j], before = pods_of(x, id);
  uint32_t n = 0;
  int there[KAI_NODES] = {0}; /* pods that a node gets */
  bool changed = false, moved = false;
  for (uint32_t i = 0; i < described->n_pods; i++) {
    const struct naive_pod *pod = &naive->pods[described->first_pod + i];
    const bool has_place = pod->status == HR__KAI_RUNNING || pod->status == HR__KAI_BINDING;
    changed |= has_place != (x->node[id][i] >= 0);
    if (x->node[id][i] >= 0) there[x->node[id][i]]--;
    if (has_place) there[pod->node]++;
    x->node[id][i] = has_place ? pod->node : -1;
    n += has_place;
  }
  for (uint32_t k = 0; k < KAI_NODES; k++) moved |= there[k] != 0;
  const bool runs = n >= x->described.sets[j].min_available;
  if (!runs)
    for (uint32_t i = 0; i < KAI_PODS; i++) x->node[id][i] = -1;
  if (!changed || (before == 0 && !runs)) return false;
  x->evictions[id] += !runs;
  /* The remaining work of an evicted job is a whole number of microseconds with the requested GPUs. */
  const uint64_t gpus = x->world->gpus[id];
  if (!runs) x->left[id] = (x->kept_left[id] + gpus - 1) / gpus * gpus;
  x->gpu_us[id] = runs ? x->gpu_us[id] : x->kept_gpu_us[id];
  if (moved || !runs) x->kept_left[id] = x->left[id];
  if (moved || !runs) x->kept_gpu_us[id] = x->gpu_us[id];
  if (x->start_us[id] < 0) x->start_us[id] = now_us;
  return true;
}

/* Runs a cycle. Returns whether something has changed. */
static bool naive_cycle(struct kai_run *x, int64_t now_us) {
  static struct naive naive;
  bool some = false;
  describe_cluster(&x->described, x->world);
  for (uint32_t i = 0; i < x->world->n_jobs; i++)
    if (!x->is_done[i] && x->world->submit_us[i] <= now_us) describe_job(x, i);
  naive_start(&naive, &x->described.cluster, x->described.start);
  for (int action = HR__KAI_ALLOCATE; action < HR__KAI_EVICT_STALE; action++)
    naive_run(&naive, (enum hr__kai_action)action);
  for (uint32_t j = 0; j < x->described.cluster.n_jobs; j++) some |= follow(x, j, &naive, now_us);
  return some;
}

/* Lets the jobs work for a second. Returns whether a job ends. */
static bool naive_second(struct kai_run *x, int64_t now_us) {
  bool some = false;
  for (uint32_t i = 0; i < x->world->n_jobs; i++) {
    const uint64_t gpus = (uint64_t)pods_of(x, i) * each_of(x->world, i);
    if (gpus == 0) continue;
    uint64_t span_us = (x->left[i] + gpus - 1) / gpus;
    const bool ends = span_us <= (uint64_t)HR_SECOND_US;
    if (!ends) span_us = (uint64_t)HR_SECOND_US;
    x->gpu_us[i] += span_us * gpus;
    x->left[i] -= ends ? x->left[i] : span_us * gpus;
    if (!ends) continue;
    some = x->is_done[i] = true;
    x->end_us[i] = now_us + (int64_t)span_us;
    for (uint32_t p = 0; p < KAI_PODS; p++) x->node[i][p] = -1;
  }
  return some;
}

/* Returns whether the run is over: all jobs are submitted, and none runs. */
static bool is_stuck(const struct kai_run *x, int64_t now_us) {
  uint32_t n_running = 0;
  for (uint32_t i = 0; i < x->world->n_jobs; i++) n_running += pods_of(x, i) > 0;
  return n_running == 0 && x->world->submit_us[x->world->n_jobs - 1] <= now_us;
}

/* Simulates the run. Returns false if jobs reclaim GPUs from each other endlessly. */
static bool simulate_kai(const struct elastic_world *world, struct kai_run *x) {
  *x = (struct kai_run){.world = world};
  uint32_t n_left = world->n_jobs, n_cycles = 0;
  bool changed = true;
  memset(x->node, -1, sizeof x->node);
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    x->left[i] = x->kept_left[i] = (uint64_t)world->work_us[i] * world->gpus[i];
    x->start_us[i] = x->end_us[i] = -1;
  }
  for (int64_t now_us = 0; n_left > 0 && n_cycles < 100; now_us += HR_SECOND_US) {
    for (uint32_t i = 0; i < world->n_jobs; i++)
      changed |= world->submit_us[i] <= now_us && world->submit_us[i] > now_us - HR_SECOND_US;
    n_cycles += changed;
    if (changed) changed = naive_cycle(x, now_us);
    if (!changed && is_stuck(x, now_us)) return true;
    if (!naive_second(x, now_us)) continue;
    changed = true;
    n_cycles = n_left = 0;
    for (uint32_t i = 0; i < world->n_jobs; i++) n_left += !x->is_done[i];
  }
  return n_left == 0;
}

static void draw_kai_world(struct elastic_world *world) {
  int64_t now_us = 0;
  world->policy = "kai";
  world->nodes = 1 + draw(world, KAI_NODES);
  world->gpus_per_node = 3 + draw(world, 4);
  world->n_jobs = 3 + draw(world, KAI_JOBS - 2);
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    now_us += (int64_t)draw(world, 20) * (HR_SECOND_US / 2);
    const uint32_t each = 1 + draw(world, 3), fit = world->nodes * (world->gpus_per_node / each);
    uint32_t least = 1 + draw(world, 3), more = draw(world, 3), most = draw(world, 2);
    if (least > fit) least = fit;
    world->submit_us[i] = now_us;
    world->work_us[i] = 1 + (int64_t)draw(world, 60000000);
    world->tasks[i] = least + more;
    world->gpus[i] = each * (least + more);
    world->min_gpus[i] = each * least;
    world->max_gpus[i] = each * (least + more + most);
    world->queue[i] = draw(world, 3);
    world->priority[i] = (int32_t)draw(world, 3);
  }
}

static void kai_runs_as_a_naive_simulation(void) {
  static struct elastic_world world;
  static struct kai_run naive;
  uint32_t n_resizes = 0, n_evictions = 0, n_endless = 0;
  const uint32_t n_worlds = test_argument(2, KAI_WORLDS);
  for (uint32_t k = 0; k < n_worlds; k++) {
    hr__stream_init(&world.draws, 23, HR__PURPOSE_SAMPLE, k, 0);
    draw_kai_world(&world);
    struct hr_kai_config *config = draw_kai(&world);
    config->scheduler.termination_grace_us = 0;
    config->scheduler.max_consolidation_victims = 1000;
    config->scheduler.signatures = false;
    if (!simulate_kai(&world, &naive)) {
      n_endless++;
      continue;
    }
    run(&world, true);
    for (uint32_t i = 0; i < world.n_jobs; i++) {
      CU_ASSERT_EQUAL_FATAL(world.start_us[i], naive.start_us[i]);
      CU_ASSERT_EQUAL_FATAL(world.end_us[i], naive.end_us[i]);
      CU_ASSERT_EQUAL_FATAL(world.evictions[i], naive.evictions[i]);
      CU_ASSERT_EQUAL_FATAL(world.gpu_us[i], naive.gpu_us[i]);
    }
    CU_ASSERT(!world.is_wrong);
    n_resizes += world.n_resizes;
    n_evictions += world.n_evictions;
  }
  CU_ASSERT(n_resizes > n_worlds);
  CU_ASSERT(n_evictions > n_worlds / 2);
  CU_ASSERT(n_endless < n_worlds / 20);
}

TEST_MAIN("Elastic jobs of schedulers", TEST(volcano_grows_as_a_naive_simulation), TEST(volcano_conserves_work),
          TEST(volcano_loses_only_the_pods_of_a_failed_node), TEST(kai_conserves_work),
          TEST(kai_runs_as_a_naive_simulation))
