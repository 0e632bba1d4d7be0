/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model of KAI and a naive implementation leave the pods of small random clusters in the same state. */

#include "harness.h"
#include "kai_naive.h"

#include "base/containers.h"
#include "policies/kai/session.h"

#include <string.h>

enum { MAX_NODES = 4, MAX_SETS = 2 * NAIVE_JOBS, SEED = 20260307, DIMS = HR__KAI_DIM_MIG };

/* A random cluster, with the memory of all its parts. */
struct kai_world {
  struct hr__kai_cluster cluster;
  struct hr__kai_node nodes[MAX_NODES];
  int64_t allocatable[MAX_NODES][DIMS], requests[NAIVE_PODS][DIMS], slices[DIMS];
  struct hr__kai_queue queues[NAIVE_QUEUES];
  struct hr__kai_job jobs[NAIVE_JOBS];
  struct hr__kai_pod pods[NAIVE_PODS];
  struct hr__kai_pod_set sets[MAX_SETS];
  struct hr__kai_group groups[NAIVE_JOBS];
  struct hr__kai_start start[NAIVE_PODS];
  uint32_t pods_of_sets[NAIVE_PODS];
  uint64_t number, draw;
};

static uint32_t below(struct kai_world *world, uint32_t bound) {
  return hr_random_below(SEED, (uint32_t)world->number, world->draw++, bound);
}

static void make_nodes(struct kai_world *world) {
  world->cluster.n_nodes = 1 + below(world, MAX_NODES);
  for (uint32_t n = 0; n < world->cluster.n_nodes; n++) {
    world->allocatable[n][HR__KAI_DIM_GPUS] = below(world, 6) == 0 ? 0 : 1 + below(world, 4);
    world->allocatable[n][HR__KAI_DIM_CPU] = 1000 * (3 + below(world, 6));
    world->allocatable[n][HR__KAI_DIM_MEM] = 1000 * (3 + below(world, 6));
    world->allocatable[n][HR__KAI_DIM_PODS] = 20;
    world->nodes[n] = (struct hr__kai_node){.allocatable = world->allocatable[n],
                                            .gpu_mib = 100,
                                            .n_gpus = world->allocatable[n][HR__KAI_DIM_GPUS],
                                            .name_rank = n};
  }
}

/* Draws a quota or limit, which is limited in one of `one_in` cases. */
static int64_t draw_bound(struct kai_world *world, int64_t unit, uint32_t one_in) {
  return below(world, one_in) == 0 ? (int64_t)below(world, 6) * unit : HR__KAI_UNLIMITED;
}

static void make_queues(struct kai_world *world) {
  const uint32_t n_top = 1 + below(world, 2), n = n_top + 1 + below(world, 4);
  world->cluster.n_queues = n;
  for (uint32_t q = 0; q < n; q++) {
    struct hr__kai_queue *queue = &world->queues[q];
    *queue = (struct hr__kai_queue){.parent = q < n_top ? HR__KAI_NONE : below(world, n_top),
                                    .name_rank = q,
                                    .priority = (int32_t)(1 + (below(world, 4) == 0)),
                                    .created = q,
                                    .preempt_min_runtime_us = -1,
                                    .reclaim_min_runtime_us = -1};
    if (q >= n_top) world->queues[queue->parent].n_children++;
    queue->share[HR__KAI_GPU] = (struct hr__kai_share){
        .deserved = below(world, 5) == 0 ? HR__KAI_UNLIMITED : (int64_t)below(world, 5) * HR__KAI_GPU_UNIT,
        .limit = draw_bound(world, HR__KAI_GPU_UNIT, 4),
        .weight = below(world, 4)};
    for (int r = 0; r < HR__KAI_GPU; r++)
      queue->share[r] = (struct hr__kai_share){
          .deserved = draw_bound(world, 2000, 5), .limit = draw_bound(world, 4000, 8), .weight = 1};
  }
}

/* Places a pod on a node where it fits, as a running or releasing pod. */
static void start_somewhere(struct kai_world *world, uint32_t pod, int64_t (*left)[DIMS]) {
  const uint32_t first = below(world, world->cluster.n_nodes);
  for (uint32_t i = 0; i < world->cluster.n_nodes; i++) {
    const uint32_t node = (first + i) % world->cluster.n_nodes;
    bool fits = true;
    for (uint32_t d = 0; d < DIMS; d++) fits = fits && world->requests[pod][d] <= left[node][d];
    if (!fits) continue;
    for (uint32_t d = 0; d < DIMS; d++) left[node][d] -= world->requests[pod][d];
    world->start[pod].node = node;
    world->start[pod].status = below(world, 10) == 0 ? HR__KAI_RELEASING : HR__KAI_RUNNING;
    return;
  }
}

static void make_pods(struct kai_world *world, uint32_t job, uint32_t set, uint32_t n, bool runs,
                      int64_t (*left)[DIMS]) {
  const int64_t gpus = below(world, 8) == 0 ? 0 : 1 + below(world, 3);
  world->sets[set].first_pod = world->cluster.n_pods;
  world->sets[set].n_pods = n;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t p = world->cluster.n_pods++;
    int64_t *request = world->requests[p];
    request[HR__KAI_DIM_CPU] = request[HR__KAI_DIM_MEM] = 1000;
    request[HR__KAI_DIM_PODS] = 1;
    request[HR__KAI_DIM_GPUS] = gpus;
    world->pods[p] = (struct hr__kai_pod){.request = request,
                                          .quota = {{1000, 1000, gpus * HR__KAI_GPU_UNIT}},
                                          .gpus = gpus * HR__KAI_GPU_UNIT,
                                          .job = job,
                                          .pod_set = set,
                                          .order = p - world->jobs[job].first_pod};
    world->pods_of_sets[p] = p;
    world->start[p] = (struct hr__kai_start){.status = HR__KAI_PENDING, .node = HR__KAI_NONE};
    if (runs && (i < world->sets[set].min_available || below(world, 2) == 0)) start_somewhere(world, p, left);
  }
}

static uint32_t draw_leaf(struct kai_world *world) {
  for (;;) {
    const uint32_t q = below(world, world->cluster.n_queues);
    if (world->queues[q].n_children == 0) return q;
  }
}

static void make_jobs(struct kai_world *world) {
  static const int32_t priorities[] = {50, 75, 100, 125};
  int64_t left[MAX_NODES][DIMS];
  memcpy(left, world->allocatable, sizeof left);
  world->cluster.n_jobs = 1 + below(world, 8);
  for (uint32_t j = 0; j < world->cluster.n_jobs; j++) {
    struct hr__kai_job *job = &world->jobs[j];
    *job = (struct hr__kai_job){.queue = draw_leaf(world),
                                .priority = priorities[below(world, 4)],
                                .created = below(world, 100),
                                .name_rank = j,
                                .first_pod = world->cluster.n_pods,
                                .first_set = world->cluster.n_sets,
                                .n_sets = 1 + (below(world, 5) == 0),
                                .first_group = j,
                                .n_groups = 1,
                                .last_start_us = INT64_MIN,
                                .stale_since_us = INT64_MIN};
    job->preemptible = job->priority < 100;
    world->groups[j] =
        (struct hr__kai_group){.constraint = {.topology = HR__KAI_NONE}, .job = j, .parent = HR__KAI_NONE};
    const bool runs = below(world, 3) > 0;
    for (uint32_t i = 0; i < job->n_sets; i++) {
      const uint32_t set = world->cluster.n_sets++, n = 1 + below(world, 3);
      world->sets[set] = (struct hr__kai_pod_set){.constraint = {.topology = HR__KAI_NONE},
                                                  .job = j,
                                                  .group = j,
                                                  .min_available = 1 + below(world, n),
                                                  .name_rank = i};
      make_pods(world, j, set, n, runs, left);
    }
    job->n_pods = world->cluster.n_pods - job->first_pod;
  }
  world->cluster.n_groups = world->cluster.n_jobs;
}

static void make_world(struct kai_world *world, uint64_t number) {
  memset(world, 0, sizeof *world);
  world->number = number;
  world->cluster = (struct hr__kai_cluster){.nodes = world->nodes,
                                            .queues = world->queues,
                                            .jobs = world->jobs,
                                            .pods = world->pods,
                                            .sets = world->sets,
                                            .groups = world->groups,
                                            .pods_of_sets = world->pods_of_sets,
                                            .n_dims = DIMS,
                                            .mig_slices = world->slices,
                                            .config = hr__kai_default_config()};
  make_nodes(world);
  make_queues(world);
  make_jobs(world);
}

/* Compares the pods after an action. Returns the first pod that differs; n_pods: none. */
static uint32_t first_difference(const struct hr__kai_session *session, const struct naive *naive) {
  uint32_t p = 0;
  for (; p < session->cluster->n_pods; p++)
    if (session->pods[p].status != naive->pods[p].status || session->pods[p].node != naive->pods[p].node) break;
  return p;
}

/* Runs all actions in a world in both implementations. Returns whether they agree. */
static bool agree(struct kai_world *world, uint64_t *n_changed) {
  struct hr_arena arena = {.chunks = NULL};
  struct naive naive;
  struct hr__kai_session *session = hr__kai_session_create(&arena, &world->cluster, world->start);
  struct hr__kai_cycle *cycle = session ? hr__kai_cycle_create(session) : NULL;
  bool same = cycle != NULL;
  naive_start(&naive, &world->cluster, world->start);
  for (int action = 0; action < HR__KAI_N_ACTIONS && same; action++) {
    hr__kai_run_action(cycle, (enum hr__kai_action)action);
    naive_run(&naive, (enum hr__kai_action)action);
    const char *broken = hr__kai_check(session);
    const uint32_t p = first_difference(session, &naive);
    same = !broken && p == world->cluster.n_pods;
    if (same) continue;
    printf("world %llu, action %d: %s; pod %u: %d on node %d, naive: %d on node %d\n",
           (unsigned long long)world->number, action, broken ? broken : "pods differ", p,
           p < world->cluster.n_pods ? (int)session->pods[p].status : 0,
           p < world->cluster.n_pods ? (int)session->pods[p].node : 0, p < NAIVE_PODS ? naive.pods[p].status : 0,
           p < NAIVE_PODS ? naive.pods[p].node : 0);
  }
  if (same) {
    n_changed[0] += session->n_bound > 0;
    n_changed[1] += session->n_evicted > 0;
    n_changed[2] += session->n_pipelined > 0;
  }
  hr__arena_finish(&arena);
  return same;
}

static void random_worlds(void) {
  static struct kai_world world;
  const uint32_t n = test_argument(1, 10000);
  uint64_t n_changed[3] = {0};
  uint32_t n_failed = 0;
  for (uint32_t i = 0; i < n && n_failed < 5; i++) {
    make_world(&world, i);
    n_failed += !agree(&world, n_changed);
  }
  CU_ASSERT_EQUAL(n_failed, 0);
  /* Checks that the worlds are not trivial. */
  for (int i = 0; i < 3; i++) CU_ASSERT_TRUE(n_changed[i] > n / 50);
}

TEST_MAIN("KAI in small random clusters", TEST(random_worlds))
