/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reservations on window states: see gpu_capacity.h.
 *
 * Each node has a list of its running tasks. When the current plan examines the node for the first time, it makes a
 * timeline of what running tasks and reservations use there. The state of a node in a window is its capacity minus the
 * maximum use over the steps of the window. With MIG, it also depends on the instances of all occupants of the window.
 *
 * Search. Let k be the minimum number of nodes that a placement uses (hr_capacity_min_nodes). A placement at time t
 * needs at least k nodes of one pool that each have room for a task during [t, t + length). For each shape, each class
 * of lengths and each node, the plan stores a lower bound of the first time at which the node has this room. Searches
 * increase the bounds. Reservations only reduce free capacity, so a bound is valid until the end of the plan, for
 * windows that are not shorter. A search examines the times at which occupants end, from the k-th smallest bound on. At
 * each time, it copies the states of all nodes with room to a planned capacity, closes all other nodes there, and
 * searches there with the placement rule.
 *
 * Cost, for n nodes with s steps each and c columns: a search takes O(n), plus O(s c) for each examined node and time.
 * In a crowded cluster, a search for a job with one task examines few nodes, because the bounds of most nodes are later
 * than its start. A search for a gang examines all nodes of a pool once and then, at each time that it tries, all nodes
 * with room.
 */

#include "policies/placement/gpu_capacity.h"

#include "base/containers.h"
#include "headroom/policy_kit.h"
#include "policies/kit/jobs.h"

#include <stdlib.h>
#include <string.h>

/* Events at the beginning of a step: some occupant ends there, or some occupant begins there. */
enum { HR__STEP_END = 1, HR__STEP_BEGIN = 2 };

/* A summary of the columns of a step with the used shares of GPUs: the minimum, and how many are 0. Searches read it
   before they read the columns. */
struct hr__step_summary {
  uint32_t min, n_zero;
};

/* Step i lasts from at_us[i] to at_us[i + 1]; the last step has no end. */
struct hr__node_timeline {
  int64_t *at_us;
  uint64_t *use;                    /* [count][columns] */
  uint8_t *what;                    /* [count]: bit set of HR__STEP_END and HR__STEP_BEGIN */
  struct hr__step_summary *summary; /* [count]: of the columns first_summed .. first_summed + n_summed - 1 */
  uint32_t count, capacity, columns, first_summed, n_summed;
  /* number of changes since the timeline was created; a window with the same steps has the same occupants unless this
     number changes */
  uint32_t version;
};

/* Returns the array of the use during a step. */
static inline uint64_t *node_timeline_use(const struct hr__node_timeline *timeline, uint32_t step) {
  return timeline->use + (size_t)step * timeline->columns;
}

/* ---- Use of a node over time ------------------------------------------------------------------------ */

static bool reserve(struct hr__node_timeline *timeline, struct hr_arena *arena, uint32_t count) {
  if (count <= timeline->capacity) return true;
  uint32_t capacity = 2 * timeline->capacity > count ? 2 * timeline->capacity : count + 6;
  int64_t *at_us = hr_arena_alloc(arena, capacity * sizeof *at_us);
  uint64_t *use = hr_arena_alloc(arena, (size_t)capacity * timeline->columns * sizeof *use);
  uint8_t *what = hr_arena_alloc(arena, capacity);
  struct hr__step_summary *summary = hr_arena_alloc(arena, capacity * sizeof *summary);
  if (!at_us || !use || !what || !summary) return false;
  if (timeline->count) {
    memcpy(at_us, timeline->at_us, timeline->count * sizeof *at_us);
    memcpy(use, timeline->use, (size_t)timeline->count * timeline->columns * sizeof *use);
    memcpy(what, timeline->what, timeline->count);
    memcpy(summary, timeline->summary, timeline->count * sizeof *summary);
  }
  timeline->at_us = at_us;
  timeline->use = use;
  timeline->what = what;
  timeline->summary = summary;
  timeline->capacity = capacity;
  return true;
}

/* Replaces all steps: one begins at `now_us`, and one at each distinct time of `ends_us` ([n], ascending, after
   `now_us`), where occupants end. The uses are undefined. False: out of memory. */
static bool node_timeline_set_steps(struct hr__node_timeline *timeline, struct hr_arena *arena, int64_t now_us,
                                    const int64_t *ends_us, uint32_t n) {
  if (!reserve(timeline, arena, n + 1)) return false;
  timeline->at_us[0] = now_us;
  timeline->what[0] = 0;
  timeline->count = 1;
  for (uint32_t i = 0; i < n; i++) {
    if (ends_us[i] == timeline->at_us[timeline->count - 1]) continue;
    timeline->at_us[timeline->count] = ends_us[i];
    timeline->what[timeline->count++] = HR__STEP_END;
  }
  timeline->version++;
  return true;
}

/* Returns the index of the step that contains a time. */
static uint32_t node_timeline_step(const struct hr__node_timeline *timeline, int64_t at_us) {
  uint32_t low = 0, high = timeline->count - 1;
  while (low < high) {
    uint32_t middle = (low + high + 1) / 2;
    if (timeline->at_us[middle] <= at_us)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* Returns the index of the step that begins at `at_us`. Splits a step if none begins there; the buffers must have room
   for one more step. */
static uint32_t split_at(struct hr__node_timeline *timeline, int64_t at_us) {
  uint32_t step = node_timeline_step(timeline, at_us), tail = timeline->count - step - 1;
  if (timeline->at_us[step] == at_us) return step;
  memmove(timeline->at_us + step + 2, timeline->at_us + step + 1, tail * sizeof *timeline->at_us);
  memmove(timeline->what + step + 2, timeline->what + step + 1, tail);
  memmove(timeline->summary + step + 2, timeline->summary + step + 1, tail * sizeof *timeline->summary);
  memmove(node_timeline_use(timeline, step + 2), node_timeline_use(timeline, step + 1),
          (size_t)tail * timeline->columns * sizeof *timeline->use);
  memcpy(node_timeline_use(timeline, step + 1), node_timeline_use(timeline, step),
         timeline->columns * sizeof *timeline->use);
  timeline->at_us[step + 1] = at_us;
  timeline->what[step + 1] = 0;
  timeline->summary[step + 1] = timeline->summary[step];
  timeline->count++;
  return step + 1;
}

/* Updates the summaries of the steps first .. end - 1, after the caller has written their uses. */
static void node_timeline_summarize(struct hr__node_timeline *timeline, uint32_t first, uint32_t end) {
  for (uint32_t step = first; step < end; step++) {
    const uint64_t *use = node_timeline_use(timeline, step) + timeline->first_summed;
    struct hr__step_summary summary = {.min = UINT32_MAX};
    for (uint32_t i = 0; i < timeline->n_summed; i++) {
      summary.min = use[i] < summary.min ? (uint32_t)use[i] : summary.min;
      summary.n_zero += use[i] == 0;
    }
    timeline->summary[step] = summary;
  }
}

static void add_to(uint64_t *use, const uint64_t *more, uint32_t columns) {
  for (uint32_t i = 0; i < columns; i++) use[i] += more[i];
}

/* Adds an occupant that uses the node from `from_us` to `to_us`. False: out of memory. */
static bool node_timeline_add(struct hr__node_timeline *timeline, struct hr_arena *arena, int64_t from_us,
                              int64_t to_us, const uint64_t *use) {
  if (!reserve(timeline, arena, timeline->count + 2)) return false;
  uint32_t first = split_at(timeline, from_us), end = split_at(timeline, to_us);
  for (uint32_t step = first; step < end; step++) add_to(node_timeline_use(timeline, step), use, timeline->columns);
  node_timeline_summarize(timeline, first, end);
  timeline->what[first] |= HR__STEP_BEGIN;
  timeline->what[end] |= HR__STEP_END;
  timeline->version++;
  return true;
}

/* Writes the maximum use over the steps first .. last to `use`. */
static void node_timeline_max(const struct hr__node_timeline *timeline, uint32_t first, uint32_t last, uint64_t *use) {
  uint32_t columns = timeline->columns;
  memcpy(use, node_timeline_use(timeline, first), columns * sizeof *use);
  for (uint32_t step = first + 1; step <= last; step++) {
    const uint64_t *of_step = node_timeline_use(timeline, step);
    for (uint32_t i = 0; i < columns; i++) use[i] = of_step[i] > use[i] ? of_step[i] : use[i];
  }
}

/* Returns the first time after `at_us` at which an occupant ends; HR_NEVER_US: none. */
static int64_t node_timeline_next_end(const struct hr__node_timeline *timeline, int64_t at_us) {
  for (uint32_t step = node_timeline_step(timeline, at_us) + 1; step < timeline->count; step++)
    if (timeline->what[step] & HR__STEP_END) return timeline->at_us[step];
  return HR_NEVER_US;
}

/* ---- Window plans ----------------------------------------------------------------------------------- */

/* A task that runs on a node. */
struct running_task {
  int64_t end_us;
  hr_job job;
  struct hr_need need;
  struct hr_slice slice;
  uint32_t reserved_in; /* the plan that has a reservation for the job; 0: none */
};

/* A task of a reservation. */
struct reserved_task {
  int64_t from_us, to_us;
  struct hr_slice slice;
};

struct planned_node {
  struct hr__node_timeline timeline;
  struct running_task *running; /* sorted by end */
  /* sorted by (from, order of creation); only on nodes with MIG, and of the plan `built_in` */
  struct reserved_task *reserved;
  uint32_t n_running, running_capacity, n_reserved, reserved_capacity;
  uint32_t built_in; /* the plan to which the timeline belongs */
  hr_pool pool;
  bool has_mig;
  /* the window to which the planned state of the node is set: its first and last step, and the timeline's version */
  bool is_open;
  uint32_t first, last, version;
};

/* Lower bounds of the first time at which a task fits on a node, for windows of at least `length_us`. */
struct node_bounds {
  uint32_t made_in; /* the plan for which the bounds are valid */
  int64_t length_us;
  int64_t *at_us; /* by node */
};

enum { LENGTH_CLASSES = 64 };

struct shape_bounds {
  struct node_bounds of[LENGTH_CLASSES]; /* by the logarithm of the length to base 2 */
};

struct hr__window_plan {
  struct hr_arena *arena;
  const struct hr_cluster *cluster;
  struct hr_capacity_set *set;
  struct hr_capacity *probe;   /* the state of a node is set here to find out whether a task fits */
  struct hr_capacity *planned; /* the state in which placements are searched; nodes are closed unless is_open */
  uint32_t n_nodes, n_pools, columns, n_plans;
  bool is_planning, failed;
  int64_t now_us;
  struct planned_node *nodes;
  struct shape_bounds **bounds; /* by shape */
  uint32_t bounds_capacity;
  uint64_t *use;  /* [columns]: buffer */
  int64_t *times; /* buffers; times_capacity is at least n_nodes */
  int64_t *at_us; /* [n_nodes]: bounds of the current search */
  struct hr_slice *within, *before;
  uint32_t times_capacity, within_capacity, before_capacity;
  struct hr__place found; /* copy of the placement that the last search has found */
};

/* ---- Construction ----------------------------------------------------------------------------------- */

static void init_node(struct hr__window_plan *plan, hr_pool pool, hr_node number) {
  const struct hr_gpu_inventory *inventory = hr_cluster_gpu_inventory(plan->cluster);
  struct planned_node *node = &plan->nodes[number.id];
  node->pool = pool;
  node->timeline.columns = plan->columns;
  node->timeline.first_summed = hr_capacity_first_gpu_column(plan->set);
  node->timeline.n_summed = inventory ? inventory->n_gpus[number.id] : 0;
  node->has_mig = inventory && hr_gpu_inventory_mig(inventory, number);
  hr_capacity_set_usable(plan->planned, pool, number, false, false);
  hr_capacity_set_usable(plan->probe, pool, number, true, false);
}

static bool make_nodes(struct hr__window_plan *plan) {
  plan->n_nodes = hr__n_nodes(plan->cluster);
  const size_t n = (size_t)plan->n_nodes + 1;
  plan->times_capacity = plan->n_nodes + 1;
  if (!HR__ARENA_ARRAY(plan->arena, plan->nodes, n) || !HR__ARENA_ARRAY(plan->arena, plan->at_us, n) ||
      !HR__ARENA_ARRAY(plan->arena, plan->times, n) || !HR__ARENA_ARRAY(plan->arena, plan->use, plan->columns))
    return false;
  for (uint32_t i = 0, node = 0; i < plan->n_pools; i++)
    for (uint32_t end = node + hr_cluster_pool_spec(plan->cluster, (hr_pool){i})->nodes; node < end; node++) {
      init_node(plan, (hr_pool){i}, (hr_node){node});
    }
  return true;
}

struct hr__window_plan *hr__window_plan_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                               struct hr_capacity_set *set) {
  struct hr__window_plan *plan = hr_arena_alloc(arena, sizeof *plan);
  if (!plan) return NULL;
  *plan = (struct hr__window_plan){.arena = arena,
                                   .cluster = cluster,
                                   .set = set,
                                   .probe = hr_capacity_create(set),
                                   .planned = hr_capacity_create(set),
                                   .n_pools = hr_cluster_pools(cluster),
                                   .columns = hr_capacity_columns(set)};
  return plan->probe && plan->planned && make_nodes(plan) ? plan : NULL;
}

bool hr__window_plan_failed(const struct hr__window_plan *plan) {
  return plan->failed || hr_capacity_set_failed(plan->set);
}

/* ---- Running tasks ---------------------------------------------------------------------------------- */

static bool add_running(struct hr__window_plan *plan, struct planned_node *node, const struct running_task *task) {
  if (!HR__ARENA_HAS_ROOM(plan->arena, node->running, node->n_running, node->running_capacity)) return false;
  uint32_t at = node->n_running++;
  for (; at > 0 && node->running[at - 1].end_us > task->end_us; at--) node->running[at] = node->running[at - 1];
  node->running[at] = *task;
  return true;
}

bool hr__window_plan_add_job(struct hr__window_plan *plan, hr_job job, const struct hr_need *need,
                             const struct hr_placement *placement, int64_t end_us) {
  struct running_task task = {
      .end_us = end_us, .job = job, .need = *need, .reserved_in = plan->is_planning ? plan->n_plans : 0};
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    task.slice = placement->slices[i];
    if (!add_running(plan, &plan->nodes[task.slice.node.id], &task)) return false;
  }
  return true;
}

void hr__window_plan_remove_job(struct hr__window_plan *plan, hr_job job, const struct hr_placement *placement) {
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct planned_node *node = &plan->nodes[placement->slices[i].node.id];
    uint32_t n = 0;
    for (uint32_t k = 0; k < node->n_running; k++)
      if (node->running[k].job.id != job.id) node->running[n++] = node->running[k];
    node->n_running = n;
  }
}

/* ---- Timelines -------------------------------------------------------------------------------------- */

void hr__window_plan_begin(struct hr__window_plan *plan, int64_t now_us) {
  plan->n_plans++;
  plan->now_us = now_us;
  plan->is_planning = true;
}

void hr__window_plan_end(struct hr__window_plan *plan) {
  plan->is_planning = false;
}

static bool ensure_times(struct hr__window_plan *plan, uint32_t count) {
  if (!HR__ARENA_HAS_ROOM_FOR(plan->arena, plan->times, count, plan->times_capacity)) return false;
  return true;
}

/* Returns the time at which a running task is expected to end. An overdue task ends one microsecond from now. */
static int64_t end_of(const struct hr__window_plan *plan, const struct running_task *task) {
  return task->end_us > plan->now_us ? task->end_us : plan->now_us + 1;
}

/* Builds the timeline of a node from its running tasks. False: out of memory. */
static bool build(struct hr__window_plan *plan, struct planned_node *node) {
  struct hr__node_timeline *timeline = &node->timeline;
  uint32_t n = 0;
  if (!ensure_times(plan, node->n_running)) return false;
  for (uint32_t i = 0; i < node->n_running; i++)
    if (node->running[i].reserved_in != plan->n_plans) plan->times[n++] = end_of(plan, &node->running[i]);
  if (!node_timeline_set_steps(timeline, plan->arena, plan->now_us, plan->times, n)) return false;
  uint32_t step = timeline->count - 1;
  memset(node_timeline_use(timeline, step), 0, timeline->columns * sizeof *timeline->use);
  for (uint32_t i = node->n_running; i-- > 0;) {
    const struct running_task *task = &node->running[i];
    if (task->reserved_in == plan->n_plans) continue;
    if (end_of(plan, task) == timeline->at_us[step]) {
      memcpy(node_timeline_use(timeline, step - 1), node_timeline_use(timeline, step),
             timeline->columns * sizeof *timeline->use);
      step--;
    }
    hr_capacity_add_use(plan->set, &task->need, node->pool, &task->slice, node_timeline_use(timeline, step));
  }
  node_timeline_summarize(timeline, 0, timeline->count);
  node->n_reserved = 0;
  node->built_in = plan->n_plans;
  return true;
}

/* Returns the node with its timeline in the current plan; NULL: no memory is available. */
static struct planned_node *node_of(struct hr__window_plan *plan, uint32_t node) {
  struct planned_node *of_node = &plan->nodes[node];
  if (of_node->built_in == plan->n_plans || build(plan, of_node)) return of_node;
  plan->failed = true;
  return NULL;
}

/* ---- Window states ---------------------------------------------------------------------------------- */

static bool append(struct hr__window_plan *plan, struct hr_slice **slices, uint32_t *count, uint32_t *capacity,
                   const struct hr_slice *slice) {
  if (!HR__ARENA_HAS_ROOM(plan->arena, *slices, *count, *capacity)) return false;
  (*slices)[(*count)++] = *slice;
  return true;
}

/* Lists the slices of the occupants that are on the node during a window, and of the reservations before it. False: out
   of memory. */
static bool list_occupants(struct hr__window_plan *plan, const struct planned_node *node, int64_t from_us,
                           int64_t to_us, struct hr_window_use *use) {
  for (uint32_t i = 0; i < node->n_running; i++) {
    const struct running_task *task = &node->running[i];
    if (task->reserved_in == plan->n_plans || end_of(plan, task) <= from_us) continue;
    if (!append(plan, &plan->within, &use->n_within, &plan->within_capacity, &task->slice)) return false;
  }
  for (uint32_t i = 0; i < node->n_reserved; i++) {
    const struct reserved_task *task = &node->reserved[i];
    bool is_over = task->to_us <= from_us;
    if (is_over && !append(plan, &plan->before, &use->n_before, &plan->before_capacity, &task->slice)) return false;
    if (is_over || task->from_us >= to_us) continue;
    if (!append(plan, &plan->within, &use->n_within, &plan->within_capacity, &task->slice)) return false;
  }
  use->within = plan->within;
  use->before = plan->before;
  return true;
}

/* Returns the last step of a window that ends at `to_us`. */
static uint32_t last_step(const struct hr__node_timeline *timeline, int64_t to_us) {
  return node_timeline_step(timeline, to_us - 1);
}

/* Returns from_us + length_us, or the latest time if the sum is greater. */
static int64_t end_us_of(int64_t from_us, int64_t length_us) {
  return length_us > HR_NEVER_US - 1 - from_us ? HR_NEVER_US - 1 : from_us + length_us;
}

/* Sets the state of a node in a capacity to a window. False: out of memory. */
static bool set_window(struct hr__window_plan *plan, struct hr_capacity *capacity, uint32_t number, int64_t from_us,
                       int64_t to_us) {
  struct planned_node *node = node_of(plan, number);
  if (!node) return false;
  struct hr_window_use use = {.columns = plan->use};
  uint32_t first = node_timeline_step(&node->timeline, from_us);
  node_timeline_max(&node->timeline, first, last_step(&node->timeline, to_us), plan->use);
  if (node->has_mig && !list_occupants(plan, node, from_us, to_us, &use)) {
    plan->failed = true;
    return false;
  }
  hr_capacity_set_window(capacity, node->pool, (hr_node){number}, &use);
  return true;
}

/* Returns whether a task fits on a node during a window. */
static bool fits_during(struct hr__window_plan *plan, const struct hr_need *need, uint32_t node, int64_t from_us,
                        int64_t to_us) {
  return set_window(plan, plan->probe, node, from_us, to_us) &&
         hr_capacity_fits_on(plan->probe, need, plan->nodes[node].pool, (hr_node){node});
}

/* Opens a node in the planned capacity, with the state of a window. */
static void open_node(struct hr__window_plan *plan, uint32_t number, int64_t from_us, int64_t to_us) {
  struct planned_node *node = node_of(plan, number);
  if (!node) return;
  uint32_t first = node_timeline_step(&node->timeline, from_us), last = last_step(&node->timeline, to_us);
  if (node->is_open && node->version == node->timeline.version && node->first == first && node->last == last) return;
  node->is_open = set_window(plan, plan->planned, number, from_us, to_us);
  node->first = first;
  node->last = last;
  node->version = node->timeline.version;
}

static void close_node(struct hr__window_plan *plan, uint32_t number) {
  struct planned_node *node = &plan->nodes[number];
  if (node->is_open) hr_capacity_set_usable(plan->planned, node->pool, (hr_node){number}, false, false);
  node->is_open = false;
}

/* ---- Bounds ----------------------------------------------------------------------------------------- */

static uint32_t length_class(int64_t length_us) {
  return 63u - (unsigned)__builtin_clzll((unsigned long long)length_us);
}

static struct shape_bounds *bounds_of_shape(struct hr__window_plan *plan, uint32_t shape) {
  if (!HR__ARENA_HAS_ROOM(plan->arena, plan->bounds, shape, plan->bounds_capacity)) return NULL;
  if (!plan->bounds[shape]) plan->bounds[shape] = hr_arena_alloc(plan->arena, sizeof *plan->bounds[shape]);
  return plan->bounds[shape];
}

/* Returns the valid bounds for the longest lengths that are at most `length_us`; NULL: none. */
static const struct node_bounds *nearest_bounds(const struct hr__window_plan *plan, const struct shape_bounds *shape,
                                                int64_t length_us) {
  for (uint32_t i = length_class(length_us) + 1; i-- > 0;)
    if (shape->of[i].made_in == plan->n_plans && shape->of[i].length_us <= length_us) return &shape->of[i];
  return NULL;
}

/* Writes the first bounds of a search to plan->at_us: the later of `from_us` and the known bound. For a node that is
   not up, or is in a pool in which the job cannot be placed, the bound is HR_NEVER_US. */
static void begin_bounds(struct hr__window_plan *plan, const struct hr__window_demand *demand,
                         const struct node_bounds *known, int64_t from_us) {
  uint32_t node = 0;
  for (uint32_t i = 0; i < plan->n_pools; i++) {
    uint32_t end = node + hr_cluster_pool_spec(plan->cluster, (hr_pool){i})->nodes;
    bool accepted = hr_capacity_min_nodes(plan->set, &demand->need, (hr_pool){i}) != HR_NONE;
    for (; node < end; node++) {
      bool usable = accepted && hr_cluster_node_state(plan->cluster, (hr_node){node}) == HR_NODE_UP;
      int64_t at_us = known && known->at_us[node] > from_us ? known->at_us[node] : from_us;
      plan->at_us[node] = usable ? at_us : HR_NEVER_US;
    }
  }
}

/* Stores the bounds of a search for later searches, unless the class of lengths already has bounds for shorter
   windows. */
static void keep_bounds(struct hr__window_plan *plan, struct shape_bounds *shape, int64_t length_us) {
  struct node_bounds *bounds = &shape->of[length_class(length_us)];
  if (bounds->made_in == plan->n_plans && bounds->length_us < length_us) return;
  if (!bounds->at_us) bounds->at_us = hr_arena_alloc(plan->arena, plan->n_nodes * sizeof *bounds->at_us);
  if (!bounds->at_us) {
    plan->failed = true;
    return;
  }
  bounds->made_in = plan->n_plans;
  bounds->length_us = length_us;
  memcpy(bounds->at_us, plan->at_us, plan->n_nodes * sizeof *bounds->at_us);
}

/* Returns whether the use of a node in one step is within the limits. In counted allocation there is one column, and
   the limits exclude all others. */
static bool is_within(const struct hr_use_limits *limits, const struct hr__node_timeline *timeline, uint32_t step) {
  const uint64_t *use = node_timeline_use(timeline, step);
  struct hr__step_summary summary = timeline->summary[step];
  if (limits->gpus > 0 && summary.min > limits->max_gpu_milli) return false;
  if (limits->max_gpu_milli == 0 && summary.n_zero < limits->gpus) return false;
  if (limits->max_first != UINT64_MAX && use[0] > limits->max_first) return false;
  if (limits->max_second != UINT64_MAX && use[1] > limits->max_second) return false;
  uint32_t gpus = 0;
  if (limits->gpus <= 1 || limits->max_gpu_milli == 0) return true;
  for (uint32_t i = 0; i < limits->n_gpus; i++) gpus += use[limits->first_gpu + i] <= limits->max_gpu_milli;
  return gpus >= limits->gpus;
}

/* Returns the first step in [step, end of the window) in which the use of the node exceeds the limits; HR_NONE: none.
 */
static uint32_t first_excess(const struct hr_use_limits *limits, const struct hr__node_timeline *timeline,
                             uint32_t step, int64_t to_us) {
  for (; step < timeline->count && timeline->at_us[step] < to_us; step++)
    if (!is_within(limits, timeline, step)) return step;
  return HR_NONE;
}

/* Returns the first step from `step` on at which an occupant ends, and in which the use is within the limits; the
   number of steps if none exists. */
static uint32_t next_start(const struct hr_use_limits *limits, const struct hr__node_timeline *timeline,
                           uint32_t step) {
  while (step < timeline->count && !(timeline->what[step] & HR__STEP_END && is_within(limits, timeline, step))) step++;
  return step;
}

/* Increases the bound of a node until a task fits there, or until the bound exceeds `by_us`. If the use in one step of
   the window exceeds the limits, the window must begin after this step. Takes O(steps), plus O(steps of the window x
   columns) for each time at which all steps are within the limits. */
static void advance_bound(struct hr__window_plan *plan, const struct hr__window_demand *demand,
                          const struct hr_use_limits *limits, uint32_t number, int64_t by_us) {
  int64_t at_us = plan->at_us[number];
  if (at_us > by_us || at_us == HR_NEVER_US) return;
  const struct planned_node *node = node_of(plan, number);
  if (!node) return;
  const struct hr__node_timeline *timeline = &node->timeline;
  uint32_t step = node_timeline_step(timeline, at_us);
  while (at_us <= by_us) {
    int64_t to_us = end_us_of(at_us, demand->length_us);
    uint32_t excess = first_excess(limits, timeline, step, to_us);
    if (excess == HR_NONE && (plan->failed || fits_during(plan, &demand->need, number, at_us, to_us))) break;
    step = next_start(limits, timeline, excess == HR_NONE ? step + 1 : excess + 1);
    at_us = step < timeline->count ? timeline->at_us[step] : HR_NEVER_US;
    if (at_us == HR_NEVER_US) break;
  }
  plan->at_us[number] = at_us;
}

/* ---- Search ----------------------------------------------------------------------------------------- */

static int compare_times(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

/* Returns the k-th smallest bound of the nodes first .. end - 1. */
static int64_t kth_bound(struct hr__window_plan *plan, uint32_t first, uint32_t end, uint32_t k) {
  memcpy(plan->times, plan->at_us + first, (end - first) * sizeof *plan->times);
  qsort(plan->times, end - first, sizeof *plan->times, compare_times);
  return plan->times[k - 1];
}

static uint32_t earliest_node(const struct hr__window_plan *plan, uint32_t first, uint32_t end) {
  uint32_t earliest = first;
  for (uint32_t node = first + 1; node < end; node++)
    if (plan->at_us[node] < plan->at_us[earliest]) earliest = node;
  return earliest;
}

/* Advances the bounds of the nodes of a pool until the k-th smallest bound is exact, and returns this bound. If the
   k-th smallest bound is after `by_us`, it need not be exact: the result can be any time after `by_us`. */
static int64_t advance_pool(struct hr__window_plan *plan, const struct hr__window_demand *demand, uint32_t first,
                            uint32_t end, uint32_t k, int64_t by_us) {
  struct hr_use_limits limits = hr_capacity_use_limits(plan->set, &demand->need, plan->nodes[first].pool);
  if (k == 1) {
    uint32_t earliest = earliest_node(plan, first, end);
    advance_bound(plan, demand, &limits, earliest, by_us);
    if (plan->at_us[earliest] < by_us) by_us = plan->at_us[earliest];
  }
  for (uint32_t node = first; node < end; node++) {
    advance_bound(plan, demand, &limits, node, by_us);
    if (k == 1 && plan->at_us[node] < by_us) by_us = plan->at_us[node];
  }
  return k == 1 ? plan->at_us[earliest_node(plan, first, end)] : kth_bound(plan, first, end, k);
}

/* Returns the first time at which some pool has enough nodes for a placement, each with room for a task. */
static int64_t first_time(struct hr__window_plan *plan, const struct hr__window_demand *demand) {
  int64_t earliest_us = HR_NEVER_US;
  for (uint32_t i = 0, first = 0; i < plan->n_pools; i++) {
    uint32_t end = first + hr_cluster_pool_spec(plan->cluster, (hr_pool){i})->nodes;
    uint32_t k = hr_capacity_min_nodes(plan->set, &demand->need, (hr_pool){i});
    int64_t at_us = k == HR_NONE ? HR_NEVER_US : advance_pool(plan, demand, first, end, k, earliest_us);
    if (at_us < earliest_us) earliest_us = at_us;
    first = end;
  }
  return earliest_us;
}

/* Searches with the placement rule at one time. Nodes with bounds after this time have no room. False: no placement, or
   out of memory. */
static bool find_at(struct hr__window_plan *plan, const struct hr__window_demand *demand, int64_t at_us,
                    struct hr_placement *placement) {
  int64_t to_us = end_us_of(at_us, demand->length_us);
  for (uint32_t node = 0; node < plan->n_nodes; node++)
    if (plan->at_us[node] <= at_us)
      open_node(plan, node, at_us, to_us);
    else
      close_node(plan, node);
  return !plan->failed && hr_capacity_find(plan->planned, &demand->need, placement);
}

/* Returns the first time after `at_us` at which an occupant of a node with room ends, or at which a node gets room;
   HR_NEVER_US: none. If the need is not monotone, returns the first end of any occupant. */
static int64_t next_time(struct hr__window_plan *plan, bool is_monotone, int64_t at_us) {
  int64_t next_us = HR_NEVER_US;
  for (uint32_t i = 0; i < plan->n_nodes && !plan->failed; i++) {
    int64_t of_node_us = plan->at_us[i];
    if (of_node_us <= at_us || !is_monotone) {
      const struct planned_node *node = node_of(plan, i);
      of_node_us = node ? node_timeline_next_end(&node->timeline, at_us) : HR_NEVER_US;
    }
    if (of_node_us < next_us) next_us = of_node_us;
  }
  return next_us;
}

int64_t hr__window_plan_earliest(struct hr__window_plan *plan, const struct hr__window_demand *demand, int64_t from_us,
                                 struct hr_placement *placement) {
  struct shape_bounds *shape = bounds_of_shape(plan, demand->shape);
  if (!shape) {
    plan->failed = true;
    return HR_NEVER_US;
  }
  begin_bounds(plan, demand, nearest_bounds(plan, shape, demand->length_us), from_us);
  int64_t at_us = first_time(plan, demand);
  bool is_monotone = hr_capacity_is_monotone(plan->set, &demand->need);
  keep_bounds(plan, shape, demand->length_us);
  while (at_us != HR_NEVER_US && !plan->failed && !find_at(plan, demand, at_us, placement))
    at_us = next_time(plan, is_monotone, at_us);
  if (plan->failed || at_us == HR_NEVER_US) return HR_NEVER_US;
  if (!hr__place_set(&plan->found, plan->arena, placement)) {
    plan->failed = true;
    return HR_NEVER_US;
  }
  *placement = plan->found.placement;
  if (at_us == plan->now_us) hr_capacity_adopt(plan->set, placement, plan->found.slices);
  return at_us;
}

/* ---- Reservations ----------------------------------------------------------------------------------- */

static bool add_reserved(struct hr__window_plan *plan, struct planned_node *node, const struct reserved_task *task) {
  if (!HR__ARENA_HAS_ROOM(plan->arena, node->reserved, node->n_reserved, node->reserved_capacity)) return false;
  uint32_t at = node->n_reserved++;
  for (; at > 0 && node->reserved[at - 1].from_us > task->from_us; at--) node->reserved[at] = node->reserved[at - 1];
  node->reserved[at] = *task;
  return true;
}

bool hr__window_plan_reserve(struct hr__window_plan *plan, const struct hr__window_demand *demand, int64_t start_us,
                             const struct hr_placement *placement) {
  struct reserved_task task = {.from_us = start_us, .to_us = end_us_of(start_us, demand->length_us)};
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    task.slice = placement->slices[i];
    struct planned_node *node = node_of(plan, task.slice.node.id);
    if (!node) return false;
    memset(plan->use, 0, plan->columns * sizeof *plan->use);
    hr_capacity_add_use(plan->set, &demand->need, node->pool, &task.slice, plan->use);
    if (!node_timeline_add(&node->timeline, plan->arena, task.from_us, task.to_us, plan->use)) return false;
    if (node->has_mig && !add_reserved(plan, node, &task)) return false;
  }
  return true;
}

/* ---- Windows from now on ---------------------------------------------------------------------------- */

/* Returns for how long from now on a task fits on a node on which it fits now; HR_NEVER_US: without end. */
static int64_t window_of(struct hr__window_plan *plan, const struct hr_need *need, uint32_t number) {
  const struct planned_node *node = node_of(plan, number);
  if (!node) return 0;
  for (uint32_t step = 1; step < node->timeline.count; step++) {
    int64_t at_us = node->timeline.at_us[step];
    bool begins = node->timeline.what[step] & HR__STEP_BEGIN;
    if (begins && !fits_during(plan, need, number, plan->now_us, at_us + 1)) return at_us - plan->now_us;
  }
  return HR_NEVER_US;
}

/* Returns the k-th longest window of the nodes first .. end - 1; 0: the task fits on fewer than k of them now. */
static int64_t kth_window(struct hr__window_plan *plan, const struct hr_need *need, hr_pool pool, uint32_t first,
                          uint32_t end, uint32_t k) {
  struct hr_capacity *present = hr_capacity_present(plan->set);
  uint32_t n = 0;
  for (uint32_t node = first; node < end; node++) {
    bool usable = hr_cluster_node_state(plan->cluster, (hr_node){node}) == HR_NODE_UP;
    if (!usable || !hr_capacity_fits_on(present, need, pool, (hr_node){node})) continue;
    int64_t window_us = window_of(plan, need, node);
    plan->at_us[n++] = -window_us;
    if (k == 1 && window_us == HR_NEVER_US) return window_us;
  }
  if (n < k) return 0;
  qsort(plan->at_us, n, sizeof *plan->at_us, compare_times);
  return -plan->at_us[k - 1];
}

int64_t hr__window_plan_longest(struct hr__window_plan *plan, const struct hr_need *need) {
  int64_t longest_us = 0;
  if (hr_capacity_is_monotone(plan->set, need) && !hr_capacity_fits(hr_capacity_present(plan->set), need)) return 0;
  for (uint32_t i = 0, first = 0; i < plan->n_pools; i++) {
    uint32_t end = first + hr_cluster_pool_spec(plan->cluster, (hr_pool){i})->nodes;
    uint32_t k = hr_capacity_min_nodes(plan->set, need, (hr_pool){i});
    int64_t window_us = k == HR_NONE ? 0 : kth_window(plan, need, (hr_pool){i}, first, end, k);
    if (window_us > longest_us) longest_us = window_us;
    first = end;
  }
  return longest_us;
}
