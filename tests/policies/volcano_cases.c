/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules of the model of Volcano on small cases whose results are computed by hand, or published with Volcano. */

#include "base/containers.h"
#include "harness.h"
#include "policies/volcano/volcano.h"

#include <string.h>

enum { MAX_NODES = 2, MAX_QUEUES = 8, MAX_JOBS = 8, MAX_TASKS = 200, MAX_PLUGINS = 6, MAX_ACTIONS = 3 };

/* A small cluster. Amounts of CPU are in cores. */
struct cluster {
  struct hr__volcano_snapshot snapshot;
  struct hr__volcano_config config;
  struct hr__volcano_node nodes[MAX_NODES];
  struct hr__volcano_queue queues[MAX_QUEUES];
  struct hr__volcano_job jobs[MAX_JOBS];
  struct hr__volcano_task tasks[MAX_TASKS];
  struct hr__volcano_vector requests[MAX_TASKS];
  bool role_has_name[2];
  int32_t role_min[2];
  char names[MAX_TASKS][8];
  struct hr__volcano_plugin plugins[MAX_PLUGINS];
  enum hr__volcano_action actions[MAX_ACTIONS];
  struct hr_arena arena;
  struct hr__volcano_session *session;
};

/* ---- Building blocks ---- */

static struct hr__volcano_vector cpu_memory(double cpu, double memory) {
  struct hr__volcano_vector result;
  hr__volcano_clear(&result);
  result.amount[HR__VOLCANO_CPU] = 1000 * cpu;
  result.amount[HR__VOLCANO_MEMORY] = memory;
  return result;
}

static void begin(struct cluster *cluster, enum hr__volcano_action action) {
  memset(cluster, 0, sizeof *cluster);
  for (uint32_t i = 0; i < MAX_TASKS; i++) snprintf(cluster->names[i], sizeof cluster->names[i], "%03u", i);
  cluster->config = hr__volcano_default_config();
  cluster->config.plugins = cluster->plugins;
  cluster->config.actions = cluster->actions;
  cluster->actions[cluster->config.n_actions++] = action;
  cluster->role_has_name[0] = cluster->role_has_name[1] = true;
  cluster->snapshot = (struct hr__volcano_snapshot){.nodes = cluster->nodes,
                                                    .queues = cluster->queues,
                                                    .jobs = cluster->jobs,
                                                    .tasks = cluster->tasks,
                                                    .n_namespaces = 1,
                                                    .root_queue = HR__VOLCANO_NONE,
                                                    .gpu_dimension = HR__VOLCANO_NONE};
}

static void add_node(struct cluster *cluster, double cpu, double memory) {
  struct hr__volcano_node *node = &cluster->nodes[cluster->snapshot.n_nodes++];
  *node = (struct hr__volcano_node){
      .allocatable = cpu_memory(cpu, memory), .group = HR__VOLCANO_NONE, .zone = HR__VOLCANO_NONE};
  hr__volcano_set(&node->allocatable, HR__VOLCANO_PODS, 500);
}

static struct hr__volcano_queue *add_queue(struct cluster *cluster) {
  uint32_t at = cluster->snapshot.n_queues++;
  struct hr__volcano_vector none = cpu_memory(0, 0);
  cluster->queues[at] = (struct hr__volcano_queue){.name = cluster->names[at],
                                                   .parent = HR__VOLCANO_NONE,
                                                   .weight = 1,
                                                   .is_open = true,
                                                   .reclaimable = true,
                                                   .capability = none,
                                                   .deserved = none,
                                                   .guarantee = none};
  return &cluster->queues[at];
}

/* Adds a job of equal tasks. They run on `node`; HR__VOLCANO_NONE: they are pending. */
static struct hr__volcano_job *add_job(struct cluster *cluster, uint32_t queue, uint32_t n_tasks, double cpu,
                                       double memory, uint32_t node) {
  uint32_t at = cluster->snapshot.n_jobs++;
  struct hr__volcano_job *job = &cluster->jobs[at];
  *job = (struct hr__volcano_job){.uid = cluster->names[at],
                                  .queue = queue,
                                  .role_min = cluster->role_min,
                                  .role_has_name = cluster->role_has_name,
                                  .n_roles = 2,
                                  .phase = HR__VOLCANO_PHASE_INQUEUE,
                                  .first_task = cluster->snapshot.n_tasks,
                                  .n_tasks = n_tasks,
                                  .min_resources = cpu_memory(0, 0)};
  for (uint32_t i = 0; i < n_tasks; i++) {
    uint32_t task = cluster->snapshot.n_tasks++;
    cluster->requests[task] = cpu_memory(cpu, memory);
    hr__volcano_set(&cluster->requests[task], HR__VOLCANO_PODS, 1);
    cluster->tasks[task] =
        (struct hr__volcano_task){.uid = cluster->names[task],
                                  .request = &cluster->requests[task],
                                  .job = at,
                                  .node = node,
                                  .priority = 1,
                                  .index = -1,
                                  .preemptable = true,
                                  .state = node == HR__VOLCANO_NONE ? HR__VOLCANO_PENDING : HR__VOLCANO_RUNNING};
  }
  return job;
}

static struct hr__volcano_plugin *add_plugin(struct cluster *cluster, enum hr__volcano_plugin_id id) {
  struct hr__volcano_plugin *plugin = &cluster->plugins[cluster->config.n_plugins++];
  *plugin = (struct hr__volcano_plugin){.id = id, .enabled = (1u << HR__VOLCANO_HIERARCHY) - 1};
  hr__volcano_default_arguments(plugin);
  return plugin;
}

static void run(struct cluster *cluster) {
  cluster->session = hr__volcano_open(&cluster->arena, &cluster->snapshot, &cluster->config);
  CU_ASSERT_PTR_NOT_NULL_FATAL(cluster->session);
  hr__volcano_run(cluster->session);
  CU_ASSERT_PTR_NULL(hr__volcano_check(cluster->session));
}

static void end(struct cluster *cluster) {
  hr__arena_finish(&cluster->arena);
}

static uint32_t bound_of(const struct cluster *cluster, uint32_t job) {
  struct hr__volcano_id_list list = hr__volcano_binds(cluster->session);
  uint32_t n = 0;
  for (uint32_t i = 0; i < list.n_ids; i++) n += cluster->tasks[list.ids[i]].job == job;
  return n;
}

static uint32_t evicted_of(const struct cluster *cluster, uint32_t job) {
  struct hr__volcano_id_list list = hr__volcano_evictions(cluster->session);
  uint32_t n = 0;
  for (uint32_t i = 0; i < list.n_ids; i++) n += cluster->tasks[list.ids[i]].job == job;
  return n;
}

/* ---- Shares ---- */

/* 12 cores for weights 1, 2 and 3. The third queue requests only 3 of its 6 cores; the rest is divided in the ratio 1
   to 2. */
static void divides_by_weight(void) {
  static struct cluster cluster;
  begin(&cluster, HR__VOLCANO_ALLOCATE);
  add_node(&cluster, 12, 1e9);
  for (int32_t i = 0; i < 3; i++) {
    add_queue(&cluster)->weight = i + 1;
    add_job(&cluster, (uint32_t)i, i == 2 ? 3 : 20, 1, 1, HR__VOLCANO_NONE);
  }
  add_plugin(&cluster, HR__VOLCANO_PROPORTION);
  run(&cluster);
  CU_ASSERT_EQUAL(bound_of(&cluster, 0), 3);
  CU_ASSERT_EQUAL(bound_of(&cluster, 1), 6);
  CU_ASSERT_EQUAL(bound_of(&cluster, 2), 3);
  end(&cluster);
}

/* The case "blocking nodes" of hierarchical dominant resource fairness, with the values of Volcano's own test
   (plugins/drf/hdrf_test.go): a child that needs only memory does not block its sibling that needs only CPU. */
static void shares_a_hierarchy_without_blocking(void) {
  static const char *const paths[] = {"root/pg1", "root/pg2", "root/pg3/pg31", "root/pg3/pg32", "root/pg4"};
  static const uint32_t expected[] = {10, 10, 10, 15, 15};
  static struct cluster cluster;
  begin(&cluster, HR__VOLCANO_ALLOCATE);
  add_node(&cluster, 30, 30);
  for (uint32_t i = 0; i < 5; i++) {
    struct hr__volcano_queue *queue = add_queue(&cluster);
    queue->hierarchy = paths[i];
    queue->hierarchy_weights = i == 2 || i == 3 ? "100/25/50" : "100/25";
    add_job(&cluster, i, 30, i < 3, i >= 3, HR__VOLCANO_NONE);
  }
  add_plugin(&cluster, HR__VOLCANO_DRF)->enabled =
      1u << HR__VOLCANO_HIERARCHY | 1u << HR__VOLCANO_JOB_ORDER | 1u << HR__VOLCANO_QUEUE_ORDER;
  run(&cluster);
  for (uint32_t i = 0; i < 5; i++) CU_ASSERT_EQUAL(bound_of(&cluster, i), expected[i]);
  end(&cluster);
}

/* ---- Gangs ---- */

/* The minimum of a role counts only if the job's minimum is not smaller than the sum over its roles. */
static void respects_minimums_of_roles(void) {
  for (int32_t is_counted = 0; is_counted < 2; is_counted++) {
    static struct cluster cluster;
    begin(&cluster, HR__VOLCANO_ALLOCATE);
    add_node(&cluster, 4, 1e9);
    add_queue(&cluster);
    struct hr__volcano_job *job = add_job(&cluster, 0, 3, 2, 1, HR__VOLCANO_NONE);
    cluster.tasks[2].role = 1;
    cluster.requests[2].amount[HR__VOLCANO_CPU] = 8000; /* never fits */
    job->min_available = 2;
    cluster.role_min[0] = cluster.role_min[1] = is_counted ? 1 : 2;
    job->role_min_total = 2 * cluster.role_min[0];
    add_plugin(&cluster, HR__VOLCANO_GANG);
    run(&cluster);
    CU_ASSERT_EQUAL(bound_of(&cluster, 0), is_counted ? 0 : 2);
    end(&cluster);
  }
}

/* A gang of 3 with 1 core each does not fit 2 cores and leaves them to the next job. */
static void undoes_a_gang_that_does_not_fit(void) {
  static struct cluster cluster;
  begin(&cluster, HR__VOLCANO_ALLOCATE);
  add_node(&cluster, 2, 1e9);
  add_queue(&cluster);
  add_job(&cluster, 0, 3, 1, 1, HR__VOLCANO_NONE)->min_available = 3;
  add_job(&cluster, 0, 2, 1, 1, HR__VOLCANO_NONE)->min_available = 2;
  add_plugin(&cluster, HR__VOLCANO_GANG);
  run(&cluster);
  CU_ASSERT_EQUAL(bound_of(&cluster, 0), 0);
  CU_ASSERT_EQUAL(bound_of(&cluster, 1), 2);
  end(&cluster);
}

/* ---- Enqueue ---- */

/* The queue has a capability of 10 cores. A job with a minimum of 4 cores runs with 6, so 2 of these are elastic. A job
   that needs 5 cores is already enqueued. So a job that needs 10 - (6 + 5 - 2) = 1 core is enqueued, and a job that
   needs 2 cores is not. */
static void counts_elastic_and_queued_resources(void) {
  for (int32_t need = 1; need <= 2; need++) {
    static struct cluster cluster;
    begin(&cluster, HR__VOLCANO_ENQUEUE);
    add_node(&cluster, 100, 1e9);
    struct hr__volcano_queue *queue = add_queue(&cluster);
    queue->has_capability = true;
    queue->capability = cpu_memory(10, 0);
    struct hr__volcano_job *runs = add_job(&cluster, 0, 6, 1, 1, 0);
    runs->phase = HR__VOLCANO_PHASE_RUNNING;
    runs->min_available = 4;
    const double wants[] = {4, 5, need};
    add_job(&cluster, 0, 1, 5, 1, HR__VOLCANO_NONE);
    add_job(&cluster, 0, 1, need, 1, HR__VOLCANO_NONE)->phase = HR__VOLCANO_PHASE_PENDING;
    for (uint32_t i = 0; i < 3; i++) {
      cluster.jobs[i].has_min_resources = true;
      cluster.jobs[i].min_resources = cpu_memory(wants[i], 0);
    }
    add_plugin(&cluster, HR__VOLCANO_CAPACITY);
    run(&cluster);
    CU_ASSERT_EQUAL(hr__volcano_job_phase(cluster.session, 2),
                    need == 1 ? HR__VOLCANO_PHASE_INQUEUE : HR__VOLCANO_PHASE_PENDING);
    end(&cluster);
  }
}

/* ---- Evictions ---- */

/* Two queues use 2 of 4 cores each, and deserve 1 core each. The third queue reclaims from the queue with the lower
   priority, which is queue 0. */
static void reclaim_with(bool is_open, uint32_t *first, uint32_t *second) {
  static struct cluster cluster;
  static const int32_t priorities[] = {5, 10, 1};
  begin(&cluster, HR__VOLCANO_RECLAIM);
  add_node(&cluster, 4, 1e9);
  for (uint32_t i = 0; i < 3; i++) {
    struct hr__volcano_queue *queue = add_queue(&cluster);
    queue->priority = priorities[i];
    queue->deserved = cpu_memory(1, 0);
    add_job(&cluster, i, i < 2 ? 2 : 1, 1, 1, i < 2 ? 0 : HR__VOLCANO_NONE)->min_available = i < 2 ? 0 : 1;
  }
  cluster.queues[2].is_open = is_open;
  add_plugin(&cluster, HR__VOLCANO_GANG);
  add_plugin(&cluster, HR__VOLCANO_CAPACITY);
  run(&cluster);
  *first = evicted_of(&cluster, 0);
  *second = evicted_of(&cluster, 1);
  CU_ASSERT_EQUAL(hr__volcano_task_node(cluster.session, 4), is_open ? 0 : HR__VOLCANO_NONE);
  end(&cluster);
}

static void reclaims_from_the_queue_of_lower_priority(void) {
  uint32_t first, second;
  reclaim_with(true, &first, &second);
  CU_ASSERT_EQUAL(first, 1);
  CU_ASSERT_EQUAL(second, 0);
}

static void closed_queue_reclaims_nothing(void) {
  uint32_t first, second;
  reclaim_with(false, &first, &second);
  CU_ASSERT_EQUAL(first + second, 0);
}

/* Both nodes are full. If all nodes are compared, the pod of lower priority is evicted, on the second node. */
static void compares_nodes_before_it_preempts(void) {
  for (int32_t is_aware = 0; is_aware < 2; is_aware++) {
    static struct cluster cluster;
    begin(&cluster, HR__VOLCANO_PREEMPT);
    add_node(&cluster, 1, 1e9);
    add_node(&cluster, 1, 1e9);
    add_queue(&cluster);
    add_job(&cluster, 0, 1, 1, 1, 0);
    add_job(&cluster, 0, 1, 1, 1, 1);
    struct hr__volcano_job *job = add_job(&cluster, 0, 1, 1, 1, HR__VOLCANO_NONE);
    job->priority = 3;
    job->min_available = 1;
    cluster.tasks[0].pod_priority = 2;
    cluster.tasks[1].pod_priority = 1;
    cluster.config.topology_aware_preemption = is_aware;
    cluster.config.candidate_percent = 100;
    add_plugin(&cluster, HR__VOLCANO_GANG);
    add_plugin(&cluster, HR__VOLCANO_PRIORITY);
    run(&cluster);
    CU_ASSERT_EQUAL(evicted_of(&cluster, 0), 1 - (uint32_t)is_aware);
    CU_ASSERT_EQUAL(evicted_of(&cluster, 1), (uint32_t)is_aware);
    end(&cluster);
  }
}

/* A gang of 2 with a minimum of 2 loses no task; with a minimum of 1 it loses one. */
static void spares_complete_gangs(void) {
  for (int32_t minimum = 1; minimum <= 2; minimum++) {
    static struct cluster cluster;
    begin(&cluster, HR__VOLCANO_PREEMPT);
    add_node(&cluster, 2, 1e9);
    add_queue(&cluster);
    add_job(&cluster, 0, 2, 1, 1, 0)->min_available = minimum;
    struct hr__volcano_job *job = add_job(&cluster, 0, 1, 1, 1, HR__VOLCANO_NONE);
    job->priority = 1;
    job->min_available = 1;
    add_plugin(&cluster, HR__VOLCANO_GANG);
    add_plugin(&cluster, HR__VOLCANO_PRIORITY);
    run(&cluster);
    CU_ASSERT_EQUAL(evicted_of(&cluster, 0), minimum == 1 ? 1 : 0);
    end(&cluster);
  }
}

/* ---- Revocable zones ---- */

static bool may_use_zone(int32_t start, int32_t end_min, int32_t now) {
  static struct cluster cluster;
  struct hr__volcano_zone_window window = {.zone = 0, .start_min = start, .end_min = end_min};
  begin(&cluster, HR__VOLCANO_ALLOCATE);
  cluster.snapshot.n_zones = 1;
  cluster.config.minute_of_day = now;
  add_node(&cluster, 4, 1e9);
  cluster.nodes[0].zone = 0;
  add_queue(&cluster);
  add_job(&cluster, 0, 1, 1, 1, HR__VOLCANO_NONE);
  cluster.tasks[0].uses_revocable_zones = true;
  struct hr__volcano_plugin *tdm = add_plugin(&cluster, HR__VOLCANO_TDM);
  tdm->arguments.tdm.windows = &window;
  tdm->arguments.tdm.n_windows = 1;
  run(&cluster);
  bool result = bound_of(&cluster, 0) == 1;
  end(&cluster);
  return result;
}

static void windows_may_pass_midnight(void) {
  CU_ASSERT_FALSE(may_use_zone(22 * 60, 6 * 60, 21 * 60 + 59));
  CU_ASSERT_TRUE(may_use_zone(22 * 60, 6 * 60, 22 * 60));
  CU_ASSERT_TRUE(may_use_zone(22 * 60, 6 * 60, 0));
  CU_ASSERT_TRUE(may_use_zone(22 * 60, 6 * 60, 5 * 60 + 59));
  CU_ASSERT_FALSE(may_use_zone(22 * 60, 6 * 60, 6 * 60 + 1));
  CU_ASSERT_FALSE(may_use_zone(9 * 60, 17 * 60, 8 * 60 + 59));
  CU_ASSERT_TRUE(may_use_zone(9 * 60, 17 * 60, 12 * 60));
  /* Equal start and end: the whole day. */
  CU_ASSERT_TRUE(may_use_zone(0, 0, 12 * 60));
}

TEST_MAIN("rules of Volcano", TEST(divides_by_weight), TEST(shares_a_hierarchy_without_blocking),
          TEST(respects_minimums_of_roles), TEST(undoes_a_gang_that_does_not_fit),
          TEST(counts_elastic_and_queued_resources), TEST(reclaims_from_the_queue_of_lower_priority),
          TEST(closed_queue_reclaims_nothing), TEST(compares_nodes_before_it_preempts), TEST(spares_complete_gangs),
          TEST(windows_may_pass_midnight))
