/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the model of Volcano with a naive implementation in random small worlds, and checks its invariants. Rules
   that the test vectors do not cover are checked in cases computed by hand. */

#include "base/containers.h"
#include "harness.h"
#include "naive_volcano.h"

#include <string.h>

enum { WORLDS = 50000, MAX_NODES = 3, MAX_PLUGINS = 6 };

/* A random world in one block of memory. */
struct lab {
  struct hr__volcano_snapshot snapshot;
  struct hr__volcano_config config;
  struct hr__volcano_node nodes[MAX_NODES];
  struct hr__volcano_queue queues[NAIVE_QUEUES];
  struct hr__volcano_job jobs[NAIVE_JOBS];
  struct hr__volcano_task tasks[NAIVE_TASKS];
  struct hr__volcano_vector requests[NAIVE_TASKS];
  uint64_t accepted[NAIVE_TASKS];
  int32_t role_min[NAIVE_JOBS][2];
  bool role_has_name[2];
  char names[NAIVE_QUEUES + NAIVE_JOBS + NAIVE_TASKS][8];
  struct hr__volcano_plugin plugins[MAX_PLUGINS];
  enum hr__volcano_action actions[6]; /* `preempt` may be last, too */
  uint64_t seed, draws;
  bool is_tree, is_proportion; /* the queues form a tree; the plug-in `proportion` is used instead of `capacity` */
};

static uint32_t draw(struct lab *lab, uint32_t bound) {
  return hr_random_below(lab->seed, 7, lab->draws++, bound);
}

static bool one_in(struct lab *lab, uint32_t n) {
  return draw(lab, n) == 0;
}

/* Returns a vector. CPU and the other resource are stored in thousandths of these amounts, memory in bytes. */
static struct hr__volcano_vector vector_of(double cpu, double memory, double pods, double other) {
  struct hr__volcano_vector result;
  hr__volcano_clear(&result);
  hr__volcano_set(&result, HR__VOLCANO_CPU, 1000 * cpu);
  hr__volcano_set(&result, HR__VOLCANO_MEMORY, memory);
  hr__volcano_set(&result, HR__VOLCANO_PODS, pods);
  hr__volcano_set(&result, HR__VOLCANO_FIRST_OTHER, 1000 * other);
  return result;
}

/* ---- Random worlds ---- */

static void draw_nodes(struct lab *lab) {
  lab->snapshot.n_nodes = 1 + draw(lab, MAX_NODES);
  for (uint32_t i = 0; i < lab->snapshot.n_nodes; i++)
    lab->nodes[i] = (struct hr__volcano_node){
        .allocatable = vector_of(2 + draw(lab, 7), 2 + draw(lab, 7), one_in(lab, 4) ? 3 : 20, draw(lab, 5)),
        .group = HR__VOLCANO_NONE,
        .zone = HR__VOLCANO_NONE};
}

/* Draws a vector of a queue. Dimensions without amount are absent. `with_other`: also draws an amount of one more
   resource. */
static struct hr__volcano_vector draw_amounts(struct lab *lab, uint32_t bound, bool with_other) {
  struct hr__volcano_vector result;
  hr__volcano_clear(&result);
  result.amount[HR__VOLCANO_CPU] = 1000.0 * draw(lab, bound);
  result.amount[HR__VOLCANO_MEMORY] = draw(lab, bound);
  uint32_t other = with_other ? draw(lab, bound) : 0;
  if (other) hr__volcano_set(&result, HR__VOLCANO_FIRST_OTHER, 1000.0 * other);
  return result;
}

static void draw_queues(struct lab *lab) {
  uint32_t n = lab->is_tree ? 4 + draw(lab, NAIVE_QUEUES - 3) : 2 + draw(lab, 4);
  lab->snapshot.n_queues = n;
  lab->snapshot.root_queue = 0;
  for (uint32_t i = 0; i < n; i++) {
    struct hr__volcano_queue *queue = &lab->queues[i];
    *queue = (struct hr__volcano_queue){.name = lab->names[i], .parent = HR__VOLCANO_NONE, .is_open = !one_in(lab, 10)};
    queue->weight = 1 + (int32_t)draw(lab, 3);
    queue->priority = one_in(lab, 3) ? (int32_t)draw(lab, 3) : 0;
    queue->reclaimable = !one_in(lab, 8);
    queue->has_capability = i && one_in(lab, 2);
    queue->capability = queue->has_capability ? draw_amounts(lab, 8, true) : draw_amounts(lab, 1, false);
    queue->deserved = draw_amounts(lab, i && !one_in(lab, 4) ? 6 : 1, true);
    queue->guarantee = draw_amounts(lab, i && one_in(lab, 4) ? 3 : 1, false);
    if (i > 1 && !one_in(lab, 3)) queue->parent = 1 + draw(lab, i - 1);
  }
}

/* Draws a queue for a job. In a tree it is rarely an inner queue, because a job in an inner queue stops all
   scheduling. */
static uint32_t draw_queue(struct lab *lab) {
  for (;;) {
    uint32_t queue = 1 + draw(lab, lab->snapshot.n_queues - 1);
    bool is_inner = false;
    for (uint32_t i = 0; i < lab->snapshot.n_queues; i++) is_inner |= lab->queues[i].parent == queue;
    if (!is_inner || !lab->is_tree || one_in(lab, 100)) return queue;
  }
}

static void draw_task(struct lab *lab, uint32_t at, uint32_t job) {
  struct hr__volcano_task *task = &lab->tasks[at];
  bool is_best_effort = one_in(lab, 8), runs = one_in(lab, 2);
  lab->requests[at] = is_best_effort ? vector_of(0, 0, 1, 0)
                                     : vector_of(draw(lab, 4), 1 + draw(lab, 3), 1, one_in(lab, 2) ? draw(lab, 3) : 0);
  *task = (struct hr__volcano_task){.uid = lab->names[NAIVE_QUEUES + NAIVE_JOBS + at],
                                    .request = &lab->requests[at],
                                    .job = job,
                                    .role = draw(lab, 2),
                                    .node = HR__VOLCANO_NONE,
                                    .index = -1};
  task->priority = one_in(lab, 3) ? (int32_t)draw(lab, 3) : 1;
  task->preemptable = !one_in(lab, 5);
  task->never_preempts = one_in(lab, 12);
  if (one_in(lab, 5)) {
    lab->accepted[at] = draw(lab, 1u << lab->snapshot.n_nodes);
    task->nodes = &lab->accepted[at];
  }
  if (!runs) return;
  /* The task runs on a random node on which it fits. */
  uint32_t node = draw(lab, lab->snapshot.n_nodes);
  struct hr__volcano_vector used = lab->requests[at];
  for (uint32_t i = 0; i < at; i++)
    if (lab->tasks[i].node == node) hr__volcano_add(&used, &lab->requests[i]);
  if (!hr__volcano_less_equal(&used, &lab->nodes[node].allocatable)) return;
  task->node = node;
  task->state = one_in(lab, 8) ? HR__VOLCANO_RELEASING : one_in(lab, 8) ? HR__VOLCANO_BOUND : HR__VOLCANO_RUNNING;
}

static void draw_job(struct lab *lab, uint32_t at) {
  struct hr__volcano_job *job = &lab->jobs[at];
  static const enum hr__volcano_phase phases[] = {HR__VOLCANO_PHASE_PENDING, HR__VOLCANO_PHASE_INQUEUE,
                                                  HR__VOLCANO_PHASE_INQUEUE, HR__VOLCANO_PHASE_RUNNING};
  *job = (struct hr__volcano_job){.uid = lab->names[NAIVE_QUEUES + at],
                                  .role_has_name = lab->role_has_name,
                                  .role_min = lab->role_min[at],
                                  .n_roles = 2};
  job->queue = draw_queue(lab);
  job->priority = (int32_t)draw(lab, 3);
  job->phase = phases[draw(lab, 4)];
  job->first_task = lab->snapshot.n_tasks;
  job->n_tasks = 1 + draw(lab, 3);
  job->min_available = (int32_t)draw(lab, job->n_tasks + 1);
  lab->role_min[at][0] = one_in(lab, 4) ? (int32_t)draw(lab, 2) : 0;
  lab->role_min[at][1] = one_in(lab, 4) ? (int32_t)draw(lab, 2) : 0;
  job->role_min_total = lab->role_min[at][0] + lab->role_min[at][1];
  job->has_min_resources = one_in(lab, 2);
  job->min_resources = job->has_min_resources ? draw_amounts(lab, 5, true) : draw_amounts(lab, 1, false);
  for (uint32_t i = 0; i < job->n_tasks; i++) draw_task(lab, lab->snapshot.n_tasks++, at);
}

static void add_plugin(struct lab *lab, enum hr__volcano_plugin_id id, uint32_t enabled) {
  struct hr__volcano_plugin *plugin = &lab->plugins[lab->config.n_plugins++];
  *plugin = (struct hr__volcano_plugin){.id = id, .enabled = enabled};
  hr__volcano_default_arguments(plugin);
}

static void draw_plugins(struct lab *lab) {
  uint32_t all = (1u << HR__VOLCANO_N_CALLBACKS) - 1, no_tree = all & ~(1u << HR__VOLCANO_HIERARCHY);
  if (!one_in(lab, 6)) add_plugin(lab, HR__VOLCANO_GANG, one_in(lab, 3) ? draw(lab, all) : all);
  if (!one_in(lab, 3)) add_plugin(lab, HR__VOLCANO_PRIORITY, one_in(lab, 3) ? draw(lab, all) : all);
  if (one_in(lab, 3)) add_plugin(lab, HR__VOLCANO_DRF, 1u << HR__VOLCANO_JOB_ORDER);
  if (!one_in(lab, 4)) add_plugin(lab, HR__VOLCANO_PREDICATES, all);
  if (one_in(lab, 2)) add_plugin(lab, HR__VOLCANO_BINPACK, all);
  uint32_t enabled = one_in(lab, 3) ? draw(lab, all) : all;
  if (lab->is_proportion) {
    add_plugin(lab, HR__VOLCANO_PROPORTION, enabled & no_tree);
  } else {
    add_plugin(lab, HR__VOLCANO_CAPACITY, lab->is_tree ? enabled | 1u << HR__VOLCANO_HIERARCHY : enabled & no_tree);
    lab->plugins[lab->config.n_plugins - 1].arguments.ancestor_reclaim_level = (int32_t)draw(lab, 3);
  }
  static const enum hr__volcano_action order[] = {HR__VOLCANO_ENQUEUE, HR__VOLCANO_ALLOCATE, HR__VOLCANO_BACKFILL,
                                                  HR__VOLCANO_PREEMPT, HR__VOLCANO_RECLAIM};
  uint32_t chosen = 1 + draw(lab, 31);
  for (uint32_t i = 0; i < 5; i++)
    if (chosen >> i & 1) lab->actions[lab->config.n_actions++] = order[i];
  if (one_in(lab, 4)) lab->actions[lab->config.n_actions++] = HR__VOLCANO_PREEMPT;
}

static void draw_world(struct lab *lab, uint64_t seed) {
  memset(lab, 0, sizeof *lab);
  lab->seed = seed;
  lab->is_proportion = one_in(lab, 3);
  lab->is_tree = !lab->is_proportion && !one_in(lab, 3);
  lab->config = hr__volcano_default_config();
  lab->config.plugins = lab->plugins;
  lab->config.actions = lab->actions;
  lab->role_has_name[1] = true;
  lab->snapshot = (struct hr__volcano_snapshot){.nodes = lab->nodes,
                                                .queues = lab->queues,
                                                .jobs = lab->jobs,
                                                .tasks = lab->tasks,
                                                .n_namespaces = 1,
                                                .gpu_dimension = HR__VOLCANO_FIRST_OTHER};
  /* Names are not in the order of the arrays. */
  for (uint32_t i = 0; i < sizeof lab->names / sizeof lab->names[0]; i++)
    snprintf(lab->names[i], sizeof lab->names[i], "%02u", i * 37 % 71);
  draw_nodes(lab);
  draw_queues(lab);
  lab->snapshot.n_jobs = 1 + draw(lab, NAIVE_JOBS);
  for (uint32_t i = 0; i < lab->snapshot.n_jobs; i++) draw_job(lab, i);
  draw_plugins(lab);
}

/* ---- Comparison ---- */

static bool contains(struct hr__volcano_id_list list, uint32_t id) {
  for (uint32_t i = 0; i < list.n_ids; i++)
    if (list.ids[i] == id) return true;
  return false;
}

static bool agrees(const struct lab *lab, const struct hr__volcano_session *session,
                   const struct naive_volcano *naive) {
  for (uint32_t i = 0; i < lab->snapshot.n_tasks; i++)
    if (hr__volcano_task_state(session, i) != naive->state[i] || hr__volcano_task_node(session, i) != naive->node[i] ||
        contains(hr__volcano_binds(session), i) != naive->bound[i] ||
        contains(hr__volcano_evictions(session), i) != naive->evicted[i])
      return false;
  for (uint32_t i = 0; i < lab->snapshot.n_jobs; i++)
    if (hr__volcano_job_phase(session, i) != naive->phase[i]) return false;
  return true;
}

/* Arguments of the test: the number of worlds, and the first seed. */
static void agrees_with_a_naive_volcano(void) {
  static struct lab lab;
  static struct naive_volcano naive;
  uint32_t n = test_argument(1, WORLDS), first = test_argument(2, 0);
  uint64_t n_binds = 0, n_evictions = 0, n_bad = 0;
  for (uint32_t i = first; i < first + n; i++) {
    struct hr_arena arena = {0};
    draw_world(&lab, i);
    struct hr__volcano_session *session = hr__volcano_open(&arena, &lab.snapshot, &lab.config);
    CU_ASSERT_PTR_NOT_NULL_FATAL(session);
    hr__volcano_run(session);
    naive_volcano_run(&naive, &lab.snapshot, &lab.config);
    const char *violation = hr__volcano_check(session);
    if (violation || !agrees(&lab, session, &naive)) {
      if (!n_bad++) printf("\nworld %u differs%s%s\n", i, violation ? ": " : "", violation ? violation : "");
    }
    n_binds += hr__volcano_binds(session).n_ids;
    n_evictions += hr__volcano_evictions(session).n_ids;
    hr__arena_finish(&arena);
  }
  CU_ASSERT_EQUAL(n_bad, 0);
  /* Checks that the worlds are not trivial. */
  CU_ASSERT_TRUE(n < 1000 || n_binds > n / 2);
  CU_ASSERT_TRUE(n < 1000 || n_evictions > n / 20);
}

TEST_MAIN("model of Volcano", TEST(agrees_with_a_naive_volcano))
