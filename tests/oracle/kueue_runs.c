/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs of the policy `kueue` in random small worlds.
 *
 * Topologies: after each change, a naive simulation tries all waiting jobs in the order of their queue, and places them
 * with the naive model of naive_topology.c. Starts and nodes must be the same. There is one ClusterQueue without
 * preemption; in this case the cycles of Kueue have the same result as this simulation.
 *
 * Partial admission: a naive simulation starts jobs in order with the maximum number of pods for which there is quota,
 * but at least the minimum that they accept. A job with a fraction of its pods runs at the same fraction of its speed.
 *
 * Prospects: the policy does not examine jobs that certainly get no quota. A run that examines all jobs in each cycle
 * must make the same decisions.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/systems/kueue.h"
#include "headroom/unstable/systems/systems.h"
#include "naive_topology.h"
#include "policies/kueue/kueue.h"

#include <string.h>

enum { MAX_JOBS = 40, MAX_QUEUES = 6, TOPOLOGY_WORLDS = 400, PARTIAL_WORLDS = 400, PROSPECT_WORLDS = 400 };

struct kueue_world {
  struct hr__stream draws;
  uint32_t n_jobs, nodes, gpus_per_node, n_queues;
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS], within_wait_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], tasks[MAX_JOBS], queue[MAX_JOBS];
  uint32_t min_gpus[MAX_JOBS]; /* min_gpus[0] = 0: no job is elastic */
  int32_t priority[MAX_JOBS];
  uint8_t within[MAX_JOBS];
  struct hr_topology topology;
  struct hr_kueue_config config;
  const char *preempted, *plain;
  /* Results: */
  int64_t start_us[MAX_JOBS], end_us[MAX_JOBS];
  uint32_t on_node[MAX_JOBS][NAIVE_NODES]; /* GPUs at the start */
  uint64_t digest;
};

static uint32_t draw(struct kueue_world *world, uint32_t below) {
  return (uint32_t)(hr__stream_next(&world->draws) % below);
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct kueue_world *world = self;
  (void)view;
  if (event->kind == HR_EVENT_END) world->end_us[event->job.id] = event->at_us;
  if (event->kind != HR_EVENT_START || world->start_us[event->job.id] >= 0) return;
  world->start_us[event->job.id] = event->at_us;
  for (uint32_t i = 0; i < event->placement->n_slices; i++)
    world->on_node[event->job.id][event->placement->slices[i].node.id] +=
        event->placement->slices[i].gpu_milli / HR_WHOLE_GPU_MILLI;
}

/* Runs the world in checked mode. */
static void run(struct kueue_world *world) {
  static const char *const names[MAX_QUEUES] = {"q0", "q1", "q2", "q3", "q4", "q5"};
  char pool_name[] = "pool", gpu[] = "H100";
  struct hr_class_spec classes[HR_N_CLASSES] = {0};
  struct hr_error error = {0};
  memset(world->on_node, 0, sizeof world->on_node);
  for (uint32_t i = 0; i < MAX_JOBS; i++) world->start_us[i] = world->end_us[i] = -1;
  struct hr_trace trace = {.source = "test",
                           .n_jobs = world->n_jobs,
                           .submit_us = world->submit_us,
                           .work_us = world->work_us,
                           .gpus = world->gpus,
                           .tasks = world->tasks,
                           .min_gpus = world->min_gpus[0] ? world->min_gpus : NULL,
                           .queue = world->queue,
                           .priority = world->priority,
                           .within = world->within,
                           .within_wait_us = world->within_wait_us,
                           .queues = {MAX_QUEUES, names}};
  struct hr_pool_spec pool = {.name = pool_name,
                              .gpu = gpu,
                              .nodes = world->nodes,
                              .gpus_per_node = world->gpus_per_node,
                              .topology = world->topology,
                              .market = {.market = HR_MARKET_OWNED, .to_us = HR_NEVER_US}};
  struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  struct hr_systems systems = {.kueue = &world->config};
  struct hr_policy_choice choice;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "kueue", &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, "preempted", world->preempted, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, "plain", world->plain, &error), HR_OK);
  struct hr_observer observer = {.self = world, .on_event = on_event};
  struct hr_run_config config = {.trace = &trace,
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
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  world->digest = result->digest;
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
}

/* ---- Configurations ---- */

/* The objects to which a configuration points. */
struct kueue_objects {
  struct hr_kueue_level levels[NAIVE_LEVELS];
  struct hr_kueue_topology topology;
  struct hr_kueue_flavor_config flavor;
  struct hr_kueue_quota quotas[MAX_QUEUES];
  struct hr_kueue_flavor_quotas of_flavor[MAX_QUEUES];
  struct hr_kueue_resource_group groups[MAX_QUEUES];
  struct hr_kueue_cluster_queue queues[MAX_QUEUES];
  struct hr_kueue_cohort cohorts[2];
};

static char gpu_resource[] = "nvidia.com/gpu", flavor_name[] = "f", topology_name[] = "t", cohort_name[] = "c",
            root_name[] = "r";
static char queue_names[MAX_QUEUES][4] = {"q0", "q1", "q2", "q3", "q4", "q5"};

static void add_queue(struct kueue_world *world, struct kueue_objects *objects, int64_t nominal) {
  uint32_t at = world->n_queues++;
  objects->quotas[at] = (struct hr_kueue_quota){gpu_resource, nominal, HR_KUEUE_NO_LIMIT, HR_KUEUE_NO_LIMIT};
  objects->of_flavor[at] =
      (struct hr_kueue_flavor_quotas){.name = flavor_name, .resources = &objects->quotas[at], .n_resources = 1};
  objects->groups[at] = (struct hr_kueue_resource_group){.flavors = &objects->of_flavor[at], .n_flavors = 1};
  objects->queues[at] = (struct hr_kueue_cluster_queue){
      .name = queue_names[at], .resource_groups = &objects->groups[at], .n_resource_groups = 1, .fair_weight = 1};
  objects->queues[at].preemption.borrow_within_cohort.max_priority_threshold = HR_KUEUE_NO_LIMIT;
  objects->queues[at].flavor_fungibility.when_can_preempt = HR_KUEUE_TRY_NEXT_FLAVOR;
}

static void begin(struct kueue_world *world, struct kueue_objects *objects) {
  *objects = (struct kueue_objects){.flavor = {.name = flavor_name}};
  world->n_queues = 0;
  world->min_gpus[0] = 0;
  world->preempted = "requeue";
  world->plain = "false";
  world->topology = (struct hr_topology){0};
  world->config = (struct hr_kueue_config){.gates = hr__kueue_gates_of_version(HR__KUEUE_NEWEST_VERSION),
                                           .gpu_resource = gpu_resource,
                                           .flavors = &objects->flavor,
                                           .n_flavors = 1,
                                           .cluster_queues = objects->queues};
}

/* ---- Topologies ---- */

/* Returns the level of a tier in the naive model; -1: none. Levels are zone (if there are zones), rack and host. */
static int level_of(const struct kueue_world *world, enum hr_tier tier) {
  int zones = world->topology.racks_per_zone > 0;
  if (tier == HR_TIER_ZONE) return zones ? 0 : -1;
  return tier == HR_TIER_RACK ? zones : zones + 1;
}

static void draw_topology(struct kueue_world *world, struct kueue_objects *objects) {
  static char labels[NAIVE_LEVELS][24] = {"zone", "rack", "kubernetes.io/hostname"};
  static const uint8_t tiers[NAIVE_LEVELS] = {HR_TIER_ZONE, HR_TIER_RACK, HR_TIER_NODE};
  world->topology = (struct hr_topology){.nodes_per_rack = 1 + draw(world, 4)};
  if (draw(world, 2)) world->topology.racks_per_zone = 1 + draw(world, 3);
  uint32_t first = world->topology.racks_per_zone ? 0 : 1;
  for (uint32_t i = first; i < NAIVE_LEVELS; i++)
    objects->levels[i - first] = (struct hr_kueue_level){labels[i], tiers[i]};
  objects->topology = (struct hr_kueue_topology){topology_name, objects->levels, NAIVE_LEVELS - first};
  objects->flavor.topology = topology_name;
  world->config.topologies = &objects->topology;
  world->config.n_topologies = 1;
}

static void draw_topology_jobs(struct kueue_world *world) {
  static const uint8_t tiers[] = {HR_TIER_ANY, HR_TIER_ANY, HR_TIER_NODE, HR_TIER_RACK, HR_TIER_RACK, HR_TIER_ZONE};
  world->n_jobs = 10 + draw(world, MAX_JOBS - 9);
  int64_t now_us = 0;
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    now_us += draw(world, 20) * HR_SECOND_US;
    uint32_t per_task = 1 + draw(world, world->gpus_per_node);
    world->submit_us[i] = now_us;
    world->work_us[i] = (1 + draw(world, 100)) * HR_SECOND_US;
    world->tasks[i] = draw(world, 3) ? 1 + draw(world, 6) : 1;
    world->gpus[i] = per_task * world->tasks[i];
    world->queue[i] = 0;
    world->priority[i] = (int32_t)draw(world, 2);
    world->within[i] = tiers[draw(world, sizeof tiers)];
    world->within_wait_us[i] = draw(world, 2) ? HR_UNKNOWN_US : 0;
  }
}

/* The naive simulation. */
struct naive_run {
  struct naive_topology topology;
  int64_t start_us[MAX_JOBS];
  int64_t pods[MAX_JOBS][NAIVE_NODES];
  bool is_running[MAX_JOBS], is_done[MAX_JOBS];
  int64_t used;
};

static void describe_nodes(const struct kueue_world *world, struct naive_run *naive) {
  uint32_t rack = world->topology.nodes_per_rack, zone = rack * world->topology.racks_per_zone;
  naive->topology.n_levels = zone ? 3 : 2;
  naive->topology.n_nodes = (int)world->nodes;
  naive->topology.profile_mixed = true;
  for (uint32_t i = 0; i < world->nodes; i++) {
    struct naive_leaf_node *node = &naive->topology.nodes[i];
    int at = 0;
    if (zone) node->value[at++] = (int)(i / zone);
    node->value[at++] = (int)(i / rack);
    node->value[at] = (int)i;
    node->room[0] = world->gpus_per_node;
    node->room[NAIVE_PODS] = 1000000;
  }
}

static void change_room(const struct kueue_world *world, struct naive_run *naive, uint32_t job, int sign) {
  int64_t per_task = world->gpus[job] / world->tasks[job];
  for (uint32_t i = 0; i < world->nodes; i++) {
    naive->topology.nodes[i].room[0] -= sign * per_task * naive->pods[job][i];
    naive->topology.nodes[i].room[NAIVE_PODS] -= sign * naive->pods[job][i];
  }
  naive->used += sign * (int64_t)world->gpus[job];
}

/* Tries to start a job. Returns whether it starts. */
static bool try_job(const struct kueue_world *world, struct naive_run *naive, uint32_t job, int64_t now_us) {
  enum hr_tier tier = (enum hr_tier)world->within[job];
  bool spreads = world->tasks[job] > 1, prefers = spreads && world->within_wait_us[job] == 0;
  struct naive_pod_set request = {.mode = tier == HR_TIER_ANY ? NAIVE_UNCONSTRAINED
                                          : prefers           ? NAIVE_PREFERRED
                                                              : NAIVE_REQUIRED,
                                  .level = tier == HR_TIER_ANY ? naive->topology.n_levels - 1 : level_of(world, tier),
                                  .pod = {world->gpus[job] / world->tasks[job]},
                                  .count = world->tasks[job]};
  struct naive_placement placement;
  if (request.level < 0) return false; /* no topology has the level: the job is rejected */
  if (naive->used + world->gpus[job] >
      world->config.cluster_queues[0].resource_groups[0].flavors[0].resources[0].nominal)
    return false;
  naive_topology_place(&naive->topology, &request, &placement);
  if (!placement.fits) return false;
  memcpy(naive->pods[job], placement.pods, sizeof placement.pods);
  naive->start_us[job] = now_us;
  naive->is_running[job] = true;
  change_room(world, naive, job, 1);
  return true;
}

/* Returns the first waiting job, in the order of the queue, that was not tried; HR_NONE: none. `tried`: by job, whether
   it was tried. */
static uint32_t next_job(const struct kueue_world *world, const struct naive_run *naive, const bool *tried,
                         int64_t now_us) {
  uint32_t best = HR_NONE;
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    if (tried[i] || naive->is_running[i] || naive->is_done[i] || world->submit_us[i] > now_us) continue;
    if (best == HR_NONE || world->priority[i] > world->priority[best]) best = i;
  }
  return best;
}

static void simulate(const struct kueue_world *world, struct naive_run *naive) {
  *naive = (struct naive_run){0};
  describe_nodes(world, naive);
  for (uint32_t i = 0; i < MAX_JOBS; i++) naive->start_us[i] = -1;
  for (int64_t now_us = 0; now_us != HR_NEVER_US;) {
    bool tried[MAX_JOBS] = {false};
    for (uint32_t i = 0; i < world->n_jobs; i++) {
      if (!naive->is_running[i] || naive->start_us[i] + world->work_us[i] > now_us) continue;
      naive->is_running[i] = false;
      naive->is_done[i] = true;
      change_room(world, naive, i, -1);
    }
    for (uint32_t job; (job = next_job(world, naive, tried, now_us)) != HR_NONE; tried[job] = true)
      try_job(world, naive, job, now_us);
    int64_t next_us = HR_NEVER_US;
    for (uint32_t i = 0; i < world->n_jobs; i++) {
      int64_t at_us = naive->is_running[i] ? naive->start_us[i] + world->work_us[i] : world->submit_us[i];
      if (at_us > now_us && at_us < next_us) next_us = at_us;
    }
    now_us = next_us;
  }
}

/* Checks that starts and nodes are those of the naive simulation. Returns the number of jobs that waited. */
static uint32_t compare(const struct kueue_world *world, const struct naive_run *naive) {
  uint32_t waited = 0;
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    int64_t per_task = world->gpus[i] / world->tasks[i];
    bool same = world->start_us[i] == naive->start_us[i];
    for (uint32_t k = 0; k < world->nodes && same; k++) same = world->on_node[i][k] == naive->pods[i][k] * per_task;
    CU_ASSERT_FATAL(same);
    waited += world->start_us[i] > world->submit_us[i];
  }
  return waited;
}

static void topologies_as_in_a_naive_simulation(void) {
  static struct kueue_world world;
  static struct kueue_objects objects;
  static struct naive_run naive;
  uint32_t waited = 0;
  for (uint32_t i = 0; i < TOPOLOGY_WORLDS; i++) {
    hr__stream_init(&world.draws, 11, HR__PURPOSE_SAMPLE, i, 0);
    begin(&world, &objects);
    world.nodes = 2 + draw(&world, NAIVE_NODES - 1);
    world.gpus_per_node = 1 + draw(&world, 4);
    draw_topology(&world, &objects);
    int64_t all = (int64_t)world.nodes * world.gpus_per_node;
    add_queue(&world, &objects, draw(&world, 3) ? all : all / 2 + 1);
    world.config.n_cluster_queues = 1;
    draw_topology_jobs(&world);
    run(&world);
    simulate(&world, &naive);
    waited += compare(&world, &naive);
  }
  CU_ASSERT(waited > TOPOLOGY_WORLDS);
}

/* ---- Partial admission ---- */

static void draw_partial_jobs(struct kueue_world *world) {
  int64_t now_us = 0;
  world->n_jobs = 10 + draw(world, MAX_JOBS - 9);
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    now_us += draw(world, 20) * HR_SECOND_US;
    uint32_t per_task = 1 + draw(world, 3), fewest;
    world->submit_us[i] = now_us;
    world->work_us[i] = 1 + draw(world, 100) * HR_SECOND_US;
    world->tasks[i] = 1 + draw(world, 8);
    world->gpus[i] = per_task * world->tasks[i];
    fewest = 1 + draw(world, world->tasks[i]);
    world->min_gpus[i] = fewest * per_task - draw(world, per_task); /* Headroom rounds it up to whole tasks */
    world->queue[i] = 0;
    world->priority[i] = (int32_t)draw(world, 2);
    world->within[i] = HR_TIER_ANY;
    world->within_wait_us[i] = HR_UNKNOWN_US;
  }
}

/* Returns the number of pods that a job gets; 0: it waits. */
static uint32_t pods_for(const struct kueue_world *world, uint32_t job, int64_t free_gpus) {
  uint32_t per_task = world->gpus[job] / world->tasks[job];
  for (uint32_t pods = world->tasks[job]; pods > 0 && pods * per_task >= world->min_gpus[job]; pods--)
    if ((int64_t)pods * per_task <= free_gpus) return pods;
  return 0;
}

/* Simulates the world, and checks that starts, ends and pods are the same. Returns the number of jobs that had fewer
   pods than requested. */
static uint32_t compare_partial(const struct kueue_world *world, int64_t quota) {
  int64_t end_us[MAX_JOBS], free_gpus = quota;
  uint32_t pods[MAX_JOBS] = {0}, n_reduced = 0;
  struct naive_run naive = {0};
  for (int64_t now_us = 0; now_us != HR_NEVER_US;) {
    bool tried[MAX_JOBS] = {false};
    for (uint32_t i = 0; i < world->n_jobs; i++) {
      if (!naive.is_running[i] || end_us[i] != now_us) continue;
      naive.is_running[i] = false;
      naive.is_done[i] = true;
      free_gpus += pods[i] * (world->gpus[i] / world->tasks[i]);
      CU_ASSERT_EQUAL_FATAL(world->end_us[i], now_us);
    }
    for (uint32_t job; (job = next_job(world, &naive, tried, now_us)) != HR_NONE; tried[job] = true) {
      if (!(pods[job] = pods_for(world, job, free_gpus))) continue;
      naive.is_running[job] = true;
      free_gpus -= pods[job] * (world->gpus[job] / world->tasks[job]);
      end_us[job] = now_us + (world->work_us[job] * world->tasks[job] + pods[job] - 1) / pods[job];
      n_reduced += pods[job] < world->tasks[job];
      CU_ASSERT_EQUAL_FATAL(world->start_us[job], now_us);
      CU_ASSERT_EQUAL_FATAL(world->on_node[job][0], pods[job] * (world->gpus[job] / world->tasks[job]));
    }
    int64_t next_us = HR_NEVER_US;
    for (uint32_t i = 0; i < world->n_jobs; i++) {
      int64_t at_us = naive.is_running[i] ? end_us[i] : world->submit_us[i];
      if (at_us > now_us && at_us < next_us) next_us = at_us;
    }
    now_us = next_us;
  }
  return n_reduced;
}

/* One node has all GPUs, so that only quotas limit the jobs. */
static void partial_admission_as_in_a_naive_simulation(void) {
  static struct kueue_world world;
  static struct kueue_objects objects;
  uint32_t n_reduced = 0;
  for (uint32_t i = 0; i < PARTIAL_WORLDS; i++) {
    hr__stream_init(&world.draws, 13, HR__PURPOSE_SAMPLE, i, 0);
    begin(&world, &objects);
    world.nodes = 1;
    world.gpus_per_node = 24 + draw(&world, 16);
    add_queue(&world, &objects, 24 - draw(&world, 8));
    world.config.n_cluster_queues = 1;
    draw_partial_jobs(&world);
    for (uint32_t k = 0; k < world.n_jobs; k++)
      if (world.min_gpus[k] > 16) world.min_gpus[k] = 16 - 16 % (world.gpus[k] / world.tasks[k]);
    run(&world);
    n_reduced += compare_partial(&world, objects.quotas[0].nominal);
  }
  CU_ASSERT(n_reduced > PARTIAL_WORLDS);
}

/* ---- Prospects ---- */

static void draw_queues(struct kueue_world *world, struct kueue_objects *objects) {
  static const enum hr_kueue_preemption_policy policies[] = {HR_KUEUE_NEVER, HR_KUEUE_LOWER_PRIORITY,
                                                             HR_KUEUE_LOWER_OR_NEWER, HR_KUEUE_ANY};
  uint32_t n_queues = 1 + draw(world, MAX_QUEUES);
  bool tree = draw(world, 3) == 0, borrow = draw(world, 3) == 0;
  for (uint32_t i = 0; i < n_queues; i++) {
    add_queue(world, objects, draw(world, 3 * world->gpus_per_node));
    struct hr_kueue_cluster_queue *queue = &objects->queues[i];
    queue->cohort = draw(world, 5) ? cohort_name : NULL;
    queue->queueing_strategy = draw(world, 4) ? HR_KUEUE_BEST_EFFORT_FIFO : HR_KUEUE_STRICT_FIFO;
    queue->preemption.within_cluster_queue = policies[draw(world, 3)];
    queue->preemption.reclaim_within_cohort = draw(world, 3) ? policies[draw(world, 2) ? 3 : 1] : HR_KUEUE_NEVER;
    if (borrow) queue->preemption.borrow_within_cohort.policy = HR_KUEUE_LOWER_PRIORITY;
    if (!draw(world, 4)) objects->quotas[i].borrowing_limit = draw(world, 8);
    if (!draw(world, 4)) objects->quotas[i].lending_limit = draw(world, 8);
  }
  world->config.n_cluster_queues = n_queues;
  world->config.fair_sharing.enable = draw(world, 3) == 0;
  if (!tree) return;
  objects->cohorts[0] = (struct hr_kueue_cohort){.name = cohort_name, .parent = root_name, .fair_weight = 1};
  world->config.cohorts = objects->cohorts;
  world->config.n_cohorts = 1;
}

static void draw_jobs(struct kueue_world *world) {
  world->n_jobs = 20 + draw(world, MAX_JOBS - 19);
  int64_t now_us = 0;
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    now_us += draw(world, 12) * HR_SECOND_US;
    world->submit_us[i] = now_us;
    world->work_us[i] = (1 + draw(world, 120)) * HR_SECOND_US;
    world->tasks[i] = 1;
    world->gpus[i] = 1 + draw(world, 2 * world->gpus_per_node);
    if (world->gpus[i] > world->gpus_per_node) world->gpus[i] = 2 * world->gpus_per_node;
    world->queue[i] = draw(world, world->n_queues);
    world->priority[i] = (int32_t)draw(world, 3);
    world->within[i] = draw(world, 3) ? HR_TIER_ANY : HR_TIER_RACK;
    world->within_wait_us[i] = draw(world, 2) ? HR_UNKNOWN_US : (int64_t)draw(world, 60) * HR_SECOND_US;
  }
}

/* Changes the jobs to one task per GPU. Some jobs accept fewer tasks. */
static void draw_fewest(struct kueue_world *world) {
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    world->tasks[i] = world->gpus[i];
    world->min_gpus[i] = world->gpus[i] - draw(world, 2) * draw(world, world->gpus[i]);
  }
}

static void jobs_without_prospects_change_nothing(void) {
  static struct kueue_world world;
  static struct kueue_objects objects;
  uint32_t differs = 0;
  for (uint32_t i = 0; i < PROSPECT_WORLDS; i++) {
    hr__stream_init(&world.draws, 12, HR__PURPOSE_SAMPLE, i, 0);
    begin(&world, &objects);
    world.nodes = 2 + draw(&world, NAIVE_NODES - 1);
    world.gpus_per_node = 1 + draw(&world, 4);
    world.preempted = draw(&world, 2) ? "requeue" : "checkpoint";
    if (draw(&world, 2))
      draw_topology(&world, &objects);
    else
      world.topology.nodes_per_rack = 2;
    draw_queues(&world, &objects);
    draw_jobs(&world);
    if (draw(&world, 2)) draw_fewest(&world);
    run(&world);
    uint64_t digest = world.digest;
    world.plain = "true";
    run(&world);
    if (world.digest != digest) printf("\n  world %u differs\n", (unsigned)i);
    differs += world.digest != digest;
  }
  CU_ASSERT_EQUAL(differs, 0);
}

TEST_MAIN("Runs of Kueue", TEST(topologies_as_in_a_naive_simulation), TEST(partial_admission_as_in_a_naive_simulation),
          TEST(jobs_without_prospects_change_nothing))
