/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a session: the state and the node of each task, the sums of nodes and jobs that follow from these, and
   the log of changes. Also resource vectors, default arguments of plug-ins, and checked mode. See volcano.h for the
   layout. Invariant: the vectors of a node and the counts of a job equal the sums over their tasks; hr__volcano_check
   verifies it. Source: volcano-sh/volcano, pkg/scheduler/framework/statement.go and pkg/scheduler/api/node_info.go. */

#include "policies/volcano/volcano.h"

#include "base/containers.h"

#include <math.h>
#include <string.h>

#define NAME_OF(name, text) text,
const char *const hr__volcano_plugin_names[] = {HR__VOLCANO_PLUGINS(NAME_OF)};
const char *const hr__volcano_callback_names[] = {HR__VOLCANO_CALLBACKS(NAME_OF)};
const char *const hr__volcano_action_names[] = {HR__VOLCANO_ACTIONS(NAME_OF)};
#undef NAME_OF

/* ---- Resource vectors ------------------------------------------------------------------------------- */

/* Arithmetic and comparisons of resource vectors; see volcano.h for the layout, the invariant and the source. */

enum { ALWAYS = 1 << HR__VOLCANO_CPU | 1 << HR__VOLCANO_MEMORY };

/* ---- Resource vectors: arithmetic ------------------------------------------------------------------- */

void hr__volcano_clear(struct hr__volcano_vector *vector) {
  *vector = (struct hr__volcano_vector){.present = ALWAYS, .width = HR__VOLCANO_MEMORY + 1};
}

void hr__volcano_add(struct hr__volcano_vector *to, const struct hr__volcano_vector *what) {
  for (uint32_t i = 0; i < what->width; i++) to->amount[i] += what->amount[i];
  to->present |= what->present;
  if (to->width < what->width) to->width = what->width;
}

void hr__volcano_subtract(struct hr__volcano_vector *from, const struct hr__volcano_vector *what) {
  uint32_t width = from->present == ALWAYS ? HR__VOLCANO_MEMORY + 1 : what->width;
  for (uint32_t i = 0; i < width; i++) from->amount[i] -= what->amount[i];
  if (from->present == ALWAYS) return;
  from->present |= what->present;
  if (from->width < what->width) from->width = what->width;
}

void hr__volcano_limit(struct hr__volcano_vector *vector, const struct hr__volcano_vector *limit,
                       bool absent_is_unlimited) {
  for (uint32_t i = 0; i < vector->width; i++) {
    if (absent_is_unlimited && !hr__volcano_has(limit, i)) continue;
    if (vector->amount[i] > limit->amount[i]) vector->amount[i] = limit->amount[i];
    /* If the limit is absent, the amount becomes 0, even if it was negative. */
    if (!hr__volcano_has(limit, i)) vector->amount[i] = 0;
  }
}

struct hr__volcano_vector hr__volcano_exceeding(const struct hr__volcano_vector *left,
                                                const struct hr__volcano_vector *right) {
  struct hr__volcano_vector result;
  hr__volcano_clear(&result);
  uint32_t width = left->width > right->width ? left->width : right->width;
  for (uint32_t i = 0; i < width; i++)
    if (left->amount[i] > right->amount[i]) hr__volcano_set(&result, i, left->amount[i] - right->amount[i]);
  return result;
}

/* ---- Resource vectors: comparisons ------------------------------------------------------------------ */

static bool at_most(double left, double right) {
  return left < right || fabs(left - right) < HR__VOLCANO_TOLERANCE;
}

bool hr__volcano_less_equal(const struct hr__volcano_vector *left, const struct hr__volcano_vector *right) {
  for (uint32_t i = 0; i < left->width; i++)
    if (hr__volcano_has(left, i) && !at_most(left->amount[i], right->amount[i])) return false;
  return true;
}

bool hr__volcano_within_partly(const struct hr__volcano_vector *used, const struct hr__volcano_vector *limit,
                               const struct hr__volcano_vector *request) {
  for (uint32_t i = 0; i < request->width; i++) {
    if (i == HR__VOLCANO_PODS || request->amount[i] <= 0) continue;
    if (!hr__volcano_is_positive(used, i) && !hr__volcano_is_positive(limit, i)) continue;
    if (at_most(used->amount[i], limit->amount[i])) return true;
  }
  return false;
}

bool hr__volcano_exceeds_partly(const struct hr__volcano_vector *used, const struct hr__volcano_vector *limit,
                                const struct hr__volcano_vector *request) {
  for (uint32_t i = 0; i < request->width; i++) {
    if (i == HR__VOLCANO_PODS || request->amount[i] <= 0) continue;
    bool relevant = i <= HR__VOLCANO_MEMORY ? hr__volcano_is_positive(limit, i) : hr__volcano_has(limit, i);
    if (relevant && used->amount[i] > limit->amount[i]) return true;
  }
  return false;
}

double hr__volcano_dominant_share(const struct hr__volcano_vector *used, const struct hr__volcano_vector *of) {
  double result = 0;
  for (uint32_t i = 0; i < of->width; i++) {
    if (!hr__volcano_is_positive(of, i)) continue;
    double share = hr__volcano_share(used->amount[i], of->amount[i]);
    if (share > result) result = share;
  }
  return result;
}

/* ---- Configuration ---------------------------------------------------------------------------------- */

void hr__volcano_default_arguments(struct hr__volcano_plugin *plugin) {
  memset(&plugin->arguments, 0, sizeof plugin->arguments);
  switch (plugin->id) {
  case HR__VOLCANO_OVERCOMMIT:
    plugin->arguments.overcommit_factor = 1.2;
    break;
  case HR__VOLCANO_NODEORDER:
    plugin->arguments.nodeorder = (struct hr__volcano_nodeorder_arguments){
        .least_requested = 1, .balanced_resource = 1, .node_affinity = 2, .taint_toleration = 3, .topology_spread = 2};
    break;
  case HR__VOLCANO_BINPACK:
    plugin->arguments.binpack =
        (struct hr__volcano_binpack_arguments){.weight = 1, .weighted = 3, .dimension_weight = {1, 1}};
    break;
  case HR__VOLCANO_RESOURCE_STRATEGY_FIT:
    plugin->arguments.strategy =
        (struct hr__volcano_strategy_arguments){.weight = 10, .weighted = 3, .dimension_weight = {1, 1}};
    break;
  case HR__VOLCANO_USAGE:
    plugin->arguments.usage = (struct hr__volcano_usage_arguments){5, 1, 1, 80, 80};
    break;
  case HR__VOLCANO_NODEGROUP:
    plugin->arguments.nodegroup.is_strict = true;
    break;
  default:
    break;
  }
}

/* ---- Resources of a node ---------------------------------------------------------------------------- */

struct hr__volcano_vector hr__volcano_future_idle(const struct hr__volcano_session *session, uint32_t node) {
  const struct hr__volcano_node_state *state = &session->nodes[node];
  struct hr__volcano_vector result = state->idle;
  hr__volcano_add(&result, &state->releasing);
  hr__volcano_subtract(&result, &state->pipelined);
  return result;
}

void hr__volcano_change(struct hr__volcano_vector *vector, const struct hr__volcano_vector *request, bool add) {
  if (add)
    hr__volcano_add(vector, request);
  else
    hr__volcano_subtract(vector, request);
}

/* Adds the request of a task to the sums of its node (`add`), or subtracts it. */
static void count_on_node(struct hr__volcano_session *session, uint32_t task, bool add) {
  uint32_t node = session->task_node[task];
  if (node == HR__VOLCANO_NONE) return;
  struct hr__volcano_node_state *state = &session->nodes[node];
  const struct hr__volcano_vector *request = hr__volcano_request(session, task);
  enum hr__volcano_state how = session->task_state[task];
  if (how == HR__VOLCANO_SUCCEEDED || how == HR__VOLCANO_FAILED) return;
  if (how == HR__VOLCANO_PIPELINED || how == HR__VOLCANO_RELEASING) state->n_changing += add ? 1 : UINT32_MAX;
  if (how == HR__VOLCANO_PIPELINED) {
    hr__volcano_change(&state->pipelined, request, add);
  } else {
    hr__volcano_change(&state->idle, request, !add);
    hr__volcano_change(&state->used, request, add);
  }
  if (how == HR__VOLCANO_RELEASING)
    hr__volcano_change(&state->releasing, request, add);
  else
    state->n_pods += add ? 1 : UINT32_MAX;
}

static void link_to_node(struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  struct hr__volcano_node_state *state = &session->nodes[node];
  session->task_node[task] = node;
  session->task_next[task] = HR__VOLCANO_NONE;
  session->task_previous[task] = state->last_task;
  if (state->last_task == HR__VOLCANO_NONE)
    state->first_task = task;
  else
    session->task_next[state->last_task] = task;
  state->last_task = task;
}

static void unlink_from_node(struct hr__volcano_session *session, uint32_t task) {
  struct hr__volcano_node_state *state = &session->nodes[session->task_node[task]];
  uint32_t next = session->task_next[task], previous = session->task_previous[task];
  if (previous == HR__VOLCANO_NONE)
    state->first_task = next;
  else
    session->task_next[previous] = next;
  if (next == HR__VOLCANO_NONE)
    state->last_task = previous;
  else
    session->task_previous[next] = previous;
  session->task_node[task] = HR__VOLCANO_NONE;
}

/* Adds the task to the counts of its job (`add`), or removes it. */
static void count_in_job(struct hr__volcano_session *session, uint32_t task, bool add) {
  uint32_t job = session->snapshot->tasks[task].job;
  if (job == HR__VOLCANO_NONE) return;
  enum hr__volcano_state state = session->task_state[task];
  uint32_t step = add ? 1 : UINT32_MAX;
  session->job_count[job][state] += step;
  if (state == HR__VOLCANO_PENDING && session->is_best_effort[task]) session->job_pending_best_effort[job] += step;
  if (hr__volcano_is_allocated(state))
    hr__volcano_change(&session->job_allocated[job], hr__volcano_request(session, task), add);
}

static void set_state(struct hr__volcano_session *session, uint32_t task, enum hr__volcano_state state) {
  count_in_job(session, task, false);
  count_on_node(session, task, false);
  session->task_state[task] = state;
  count_on_node(session, task, true);
  count_in_job(session, task, true);
}

/* ---- Changes ---------------------------------------------------------------------------------------- */

static void append(struct hr__volcano_session *session, enum hr__volcano_operation_kind kind, uint32_t task) {
  session->log[session->n_log++] = (struct hr__volcano_operation){kind, task};
}

void hr__volcano_evict(struct hr__volcano_session *session, uint32_t task) {
  set_state(session, task, HR__VOLCANO_RELEASING);
  session->epoch++;
  hr__volcano_notify(session, task, false);
  append(session, HR__VOLCANO_EVICTED, task);
  if (session->owner && session->owner->evicted) session->owner->evicted(session->owner->self, task);
}

void hr__volcano_restore(struct hr__volcano_session *session, uint32_t task) {
  set_state(session, task, HR__VOLCANO_RUNNING);
  hr__volcano_notify(session, task, true);
  if (session->owner && session->owner->restored) session->owner->restored(session->owner->self, task);
}

static void put(struct hr__volcano_session *session, uint32_t task, uint32_t node, enum hr__volcano_state state) {
  count_in_job(session, task, false);
  link_to_node(session, task, node);
  session->task_state[task] = state;
  count_on_node(session, task, true);
  count_in_job(session, task, true);
  hr__volcano_notify(session, task, true);
}

void hr__volcano_place(struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  put(session, task, node, HR__VOLCANO_ALLOCATED);
  if (session->owner && session->owner->placed) session->owner->placed(session->owner->self, task, node);
  append(session, HR__VOLCANO_PLACED, task);
}

void hr__volcano_pipeline(struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  put(session, task, node, HR__VOLCANO_PIPELINED);
  append(session, HR__VOLCANO_WAITS, task);
}

void hr__volcano_withdraw(struct hr__volcano_session *session, uint32_t task) {
  bool was_placed = session->task_state[task] != HR__VOLCANO_PIPELINED;
  if (was_placed && session->owner && session->owner->withdrawn) session->owner->withdrawn(session->owner->self, task);
  hr__volcano_notify(session, task, false);
  hr__volcano_drop(session, task);
  session->epoch++;
}

void hr__volcano_bind(struct hr__volcano_session *session, uint32_t task) {
  set_state(session, task, HR__VOLCANO_BINDING);
  session->binds[session->n_binds++] = task;
}

void hr__volcano_commit(struct hr__volcano_session *session, uint32_t mark) {
  for (uint32_t i = mark; i < session->n_log; i++) {
    uint32_t task = session->log[i].task;
    if (session->log[i].kind == HR__VOLCANO_EVICTED) session->evictions[session->n_evictions++] = task;
    if (session->log[i].kind == HR__VOLCANO_PLACED) hr__volcano_bind(session, task);
  }
  session->n_log = mark;
}

void hr__volcano_undo(struct hr__volcano_session *session, uint32_t mark) {
  while (session->n_log > mark) {
    struct hr__volcano_operation operation = session->log[--session->n_log];
    if (operation.kind == HR__VOLCANO_EVICTED)
      hr__volcano_restore(session, operation.task);
    else
      hr__volcano_withdraw(session, operation.task);
  }
}

/* ---- Opening ---------------------------------------------------------------------------------------- */

static void pool_reset(struct hr__volcano_session *session) {
  session->pool.items = session->pool_start;
}

static bool allocate_tasks(struct hr__volcano_session *session, struct hr_arena *arena) {
  uint32_t n = session->snapshot->n_tasks, n_jobs = session->snapshot->n_jobs, n_queues = session->snapshot->n_queues;
  uint32_t n_scratch = n_jobs > n_queues ? n_jobs : n_queues;
  return HR__ARENA_ARRAY(arena, session->task_state, n) && HR__ARENA_ARRAY(arena, session->task_node, n) &&
         HR__ARENA_ARRAY(arena, session->task_next, n) && HR__ARENA_ARRAY(arena, session->task_previous, n) &&
         HR__ARENA_ARRAY(arena, session->is_best_effort, n) && HR__ARENA_ARRAY(arena, session->task_epoch, n) &&
         HR__ARENA_ARRAY(arena, session->log, 2 * (size_t)n) && HR__ARENA_ARRAY(arena, session->binds, n) &&
         HR__ARENA_ARRAY(arena, session->evictions, n) && HR__ARENA_ARRAY(arena, session->candidates, n) &&
         HR__ARENA_ARRAY(arena, session->victims, n) && HR__ARENA_ARRAY(arena, session->filtered, 2 * (size_t)n) &&
         HR__ARENA_ARRAY(arena, session->victim_heap.items, n) &&
         HR__ARENA_ARRAY(arena, session->pool_start, 2 * (size_t)n + 6 * (size_t)n_jobs + 2 * (size_t)n_queues) &&
         HR__ARENA_ARRAY(arena, session->scratch, n_scratch) &&
         HR__ARENA_ARRAY(arena, session->scratch_stamp, n_scratch);
}

static bool allocate_jobs(struct hr__volcano_session *session, struct hr_arena *arena) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  uint32_t n = snapshot->n_jobs, n_nodes = snapshot->n_nodes, n_queues = snapshot->n_queues;
  size_t n_roles = 0;
  for (uint32_t i = 0; i < n; i++) n_roles += snapshot->jobs[i].n_roles;
  bool *roles;
  if (!HR__ARENA_ARRAY(arena, session->job_count, n) || !HR__ARENA_ARRAY(arena, session->job_pending_best_effort, n) ||
      !HR__ARENA_ARRAY(arena, session->job_allocated, n) || !HR__ARENA_ARRAY(arena, session->job_phase, n) ||
      !HR__ARENA_ARRAY(arena, session->job_share, n) || !HR__ARENA_ARRAY(arena, session->role_failed, n) ||
      !HR__ARENA_ARRAY(arena, roles, n_roles) || !HR__ARENA_ARRAY(arena, session->nodes, n_nodes) ||
      !HR__ARENA_ARRAY(arena, session->queue_heap.items, 2 * (size_t)n_queues + n) ||
      !HR__ARENA_ARRAY(arena, session->job_heaps, n_queues) || !HR__ARENA_ARRAY(arena, session->task_heaps, n) ||
      !HR__ARENA_ARRAY(arena, session->node_list, n_nodes) || !HR__ARENA_ARRAY(arena, session->node_scores, n_nodes) ||
      !HR__ARENA_ARRAY(arena, session->spread_scores, n_nodes) ||
      !HR__ARENA_ARRAY(arena, session->spread_counts, n_nodes) ||
      !HR__ARENA_ARRAY(arena, session->namespace_pending, snapshot->n_namespaces))
    return false;
  for (uint32_t i = 0; i < n; i++) {
    session->role_failed[i] = roles;
    roles += snapshot->jobs[i].n_roles;
    session->job_phase[i] = snapshot->jobs[i].phase;
    hr__volcano_clear(&session->job_allocated[i]);
  }
  for (uint32_t i = 0; i < snapshot->n_namespaces; i++) hr__volcano_clear(&session->namespace_pending[i]);
  return true;
}

static bool allocate_plugins(struct hr__volcano_session *session, struct hr_arena *arena) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  uint32_t n_queues = snapshot->n_queues;
  size_t n_groups = (size_t)n_queues * snapshot->n_groups;
  if (session->plugin[HR__VOLCANO_PROPORTION] && !HR__ARENA_ARRAY(arena, session->proportion, n_queues)) return false;
  if (session->plugin[HR__VOLCANO_CAPACITY] && !HR__ARENA_ARRAY(arena, session->capacity, n_queues)) return false;
  if (!session->plugin[HR__VOLCANO_NODEGROUP]) return true;
  if (!HR__ARENA_ARRAY(arena, session->group_allocated, n_groups)) return false;
  for (size_t i = 0; i < n_groups; i++) hr__volcano_clear(&session->group_allocated[i]);
  return true;
}

static void open_nodes(struct hr__volcano_session *session) {
  hr__volcano_clear(&session->total);
  for (uint32_t i = 0; i < session->snapshot->n_nodes; i++) {
    hr__volcano_set_node(session, i);
    session->nodes[i].first_task = session->nodes[i].last_task = HR__VOLCANO_NONE;
    hr__volcano_add(&session->total, &session->nodes[i].idle);
  }
}

static void open_tasks(struct hr__volcano_session *session) {
  for (uint32_t i = 0; i < session->snapshot->n_tasks; i++) {
    const struct hr__volcano_task *task = &session->snapshot->tasks[i];
    session->task_state[i] = task->state;
    session->task_node[i] = HR__VOLCANO_NONE;
    session->is_best_effort[i] = hr__volcano_is_empty(task->request);
    if (task->node != HR__VOLCANO_NONE) {
      link_to_node(session, i, task->node);
      count_on_node(session, i, true);
    }
    count_in_job(session, i, true);
  }
}

static void nodegroup_open(struct hr__volcano_session *session) {
  for (uint32_t i = 0; i < session->snapshot->n_tasks; i++)
    if (hr__volcano_is_allocated(session->task_state[i])) hr__volcano_nodegroup_notify(session, i, true);
}

struct hr__volcano_session *hr__volcano_open(struct hr_arena *arena, const struct hr__volcano_snapshot *snapshot,
                                             const struct hr__volcano_config *config) {
  struct hr__volcano_session *session;
  if (!HR__ARENA_ARRAY(arena, session, 1)) return NULL;
  session->snapshot = snapshot;
  session->config = config;
  for (uint32_t i = 0; i < config->n_plugins; i++) session->plugin[config->plugins[i].id] = &config->plugins[i];
  if (!allocate_tasks(session, arena) || !allocate_jobs(session, arena) || !allocate_plugins(session, arena))
    return NULL;
  pool_reset(session);
  session->epoch = 1;
  open_nodes(session);
  open_tasks(session);
  if (session->proportion) hr__volcano_proportion_open(session);
  if (session->capacity) session->capacity_is_ready = hr__volcano_capacity_open(session);
  if (session->plugin[HR__VOLCANO_DRF] && !hr__volcano_drf_open(session, arena)) return NULL;
  hr__volcano_admission_open(session);
  if (session->plugin[HR__VOLCANO_NODEGROUP]) nodegroup_open(session);
  return session;
}

/* ---- Lasting sessions ------------------------------------------------------------------------------- */

void hr__volcano_join(struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  session->job_phase[job] = info->phase;
  session->job_share[job] = 0;
  for (uint32_t i = 0; i < HR__VOLCANO_N_STATES; i++) session->job_count[job][i] = 0;
  session->job_pending_best_effort[job] = 0;
  hr__volcano_clear(&session->job_allocated[job]);
  if (session->drf_allocated) hr__volcano_clear(&session->drf_allocated[job]);
  for (uint32_t i = 0; i < info->n_roles; i++) session->role_failed[job][i] = false;
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++) {
    session->task_state[i] = HR__VOLCANO_PENDING;
    session->task_node[i] = HR__VOLCANO_NONE;
    session->is_best_effort[i] = hr__volcano_is_empty(session->snapshot->tasks[i].request);
    count_in_job(session, i, true);
  }
}

void hr__volcano_part(struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++) {
    if (session->task_node[i] != HR__VOLCANO_NONE) {
      count_on_node(session, i, false);
      unlink_from_node(session, i);
    }
    session->task_state[i] = HR__VOLCANO_SUCCEEDED;
  }
}

void hr__volcano_settle(struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  session->job_phase[job] = HR__VOLCANO_PHASE_RUNNING;
  for (uint32_t i = 0; i < info->n_roles; i++) session->role_failed[job][i] = false;
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++) {
    if (session->task_state[i] == HR__VOLCANO_BINDING) set_state(session, i, HR__VOLCANO_RUNNING);
    if (session->task_state[i] == HR__VOLCANO_PIPELINED) hr__volcano_withdraw(session, i);
  }
}

void hr__volcano_drop(struct hr__volcano_session *session, uint32_t task) {
  count_in_job(session, task, false);
  count_on_node(session, task, false);
  unlink_from_node(session, task);
  session->task_state[task] = HR__VOLCANO_PENDING;
  count_in_job(session, task, true);
}

void hr__volcano_set_node(struct hr__volcano_session *session, uint32_t node) {
  struct hr__volcano_node_state *state = &session->nodes[node];
  state->idle = session->snapshot->nodes[node].allocatable;
  hr__volcano_clear(&state->used);
  hr__volcano_clear(&state->releasing);
  hr__volcano_clear(&state->pipelined);
}

void hr__volcano_refresh(struct hr__volcano_session *session) {
  struct hr__volcano_vector before = session->total;
  hr__volcano_clear(&session->total);
  for (uint32_t i = 0; i < session->snapshot->n_nodes; i++)
    hr__volcano_add(&session->total, &session->snapshot->nodes[i].allocatable);
  session->epoch++;
  session->n_log = session->n_binds = session->n_evictions = 0;
  if (session->proportion) hr__volcano_proportion_open(session);
  if (session->capacity) session->capacity_is_ready = hr__volcano_capacity_open(session);
  hr__volcano_admission_open(session);
  if (!session->drf_allocated || hr__volcano_same(&before, &session->total)) return;
  for (uint32_t i = 0; i < session->snapshot->n_jobs; i++)
    if (session->snapshot->jobs[i].queue != HR__VOLCANO_NONE)
      session->job_share[i] = hr__volcano_dominant_share(&session->drf_allocated[i], &session->total);
}

/* ---- Running, results ------------------------------------------------------------------------------- */

void hr__volcano_run(struct hr__volcano_session *session) {
  static void (*const actions[])(struct hr__volcano_session *) = {hr__volcano_run_enqueue,  hr__volcano_run_allocate,
                                                                  hr__volcano_run_backfill, hr__volcano_run_preempt,
                                                                  hr__volcano_run_reclaim,  hr__volcano_run_shuffle};
  for (uint32_t i = 0; i < session->config->n_actions; i++) {
    pool_reset(session);
    actions[session->config->actions[i]](session);
  }
}

/* ---- Checked mode ----------------------------------------------------------------------------------- */

static bool is_close(const struct hr__volcano_vector *a, const struct hr__volcano_vector *b) {
  for (uint32_t i = 0; i < HR__VOLCANO_MAX_DIMENSIONS; i++) {
    double difference = a->amount[i] - b->amount[i];
    if (difference > HR__VOLCANO_TOLERANCE || difference < -HR__VOLCANO_TOLERANCE) return false;
  }
  return true;
}

static const char *check_node(const struct hr__volcano_session *session, uint32_t node) {
  const struct hr__volcano_node_state *state = &session->nodes[node];
  struct hr__volcano_vector used, waiting, released, sum;
  hr__volcano_clear(&used);
  waiting = released = used;
  uint32_t n_pods = 0;
  for (uint32_t at = state->first_task; at != HR__VOLCANO_NONE; at = session->task_next[at]) {
    enum hr__volcano_state how = session->task_state[at];
    if (how == HR__VOLCANO_SUCCEEDED || how == HR__VOLCANO_FAILED) continue;
    hr__volcano_add(how == HR__VOLCANO_PIPELINED ? &waiting : &used, hr__volcano_request(session, at));
    if (how == HR__VOLCANO_RELEASING) hr__volcano_add(&released, hr__volcano_request(session, at));
    n_pods += how != HR__VOLCANO_RELEASING;
  }
  sum = state->idle;
  hr__volcano_add(&sum, &used);
  if (!is_close(&used, &state->used) || !is_close(&released, &state->releasing) ||
      !is_close(&waiting, &state->pipelined) || n_pods != state->n_pods)
    return "the resources of a node differ from the sum over its tasks";
  return is_close(&sum, &session->snapshot->nodes[node].allocatable) || state->idle.present < 8
             ? NULL
             : "idle and used resources of a node differ from what it has";
}

static const char *check_job(const struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  uint32_t counts[HR__VOLCANO_N_STATES] = {0};
  struct hr__volcano_vector allocated;
  hr__volcano_clear(&allocated);
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++) {
    counts[session->task_state[i]]++;
    if (hr__volcano_is_allocated(session->task_state[i]))
      hr__volcano_add(&allocated, session->snapshot->tasks[i].request);
  }
  for (uint32_t i = 0; i < HR__VOLCANO_N_STATES; i++)
    if (counts[i] != session->job_count[job][i]) return "the counts of a job differ from its tasks";
  return is_close(&allocated, &session->job_allocated[job]) ? NULL : "the resources of a job differ from its tasks";
}

/* Whether enough tasks of a job have succeeded, are running or placed, or wait but request nothing. */
static bool is_complete(const struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  int32_t n = 0;
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++) {
    enum hr__volcano_state state = session->task_state[i];
    bool waits = state == HR__VOLCANO_PENDING || state == HR__VOLCANO_PIPELINED;
    n += hr__volcano_is_allocated(state) || state == HR__VOLCANO_SUCCEEDED || (waits && session->is_best_effort[i]);
  }
  return n >= info->min_available;
}

/* The sum of the requests of the allocated tasks of a queue, without pipelined ones. */
static struct hr__volcano_vector allocated_of(const struct hr__volcano_session *session, uint32_t queue) {
  struct hr__volcano_vector result = session->capacity[queue].allocated;
  for (uint32_t i = 0; i < session->snapshot->n_tasks; i++) {
    uint32_t job = session->snapshot->tasks[i].job;
    if (session->task_state[i] == HR__VOLCANO_PIPELINED && session->snapshot->jobs[job].queue == queue)
      hr__volcano_subtract(&result, hr__volcano_request(session, i));
  }
  return result;
}

/* Whether the allocation of a queue is at most its capability in the dimensions that the task requests. */
static bool is_within(const struct hr__volcano_session *session, uint32_t queue, uint32_t task) {
  const struct hr__volcano_queue_state *state = &session->capacity[queue];
  const struct hr__volcano_vector *request = hr__volcano_request(session, task);
  if (hr__volcano_within(&state->allocated, &state->real_capability, request)) return true;
  struct hr__volcano_vector allocated = allocated_of(session, queue);
  return hr__volcano_within(&allocated, &state->real_capability, request);
}

/* Checks that bound tasks belong to complete gangs and stay within the capability of their queue. */
const char *hr__volcano_check_binds(const struct hr__volcano_session *session) {
  const struct hr__volcano_plugin *gang = session->plugin[HR__VOLCANO_GANG];
  const struct hr__volcano_plugin *capacity = session->plugin[HR__VOLCANO_CAPACITY];
  for (uint32_t i = 0; i < session->n_binds; i++) {
    uint32_t task = session->binds[i], job = session->snapshot->tasks[task].job;
    uint32_t queue = session->snapshot->jobs[job].queue;
    if (gang && hr__volcano_enables(gang, HR__VOLCANO_JOB_READY) && !session->n_evictions && !is_complete(session, job))
      return "a task of an incomplete gang was bound";
    if (!capacity || !hr__volcano_enables(capacity, HR__VOLCANO_ALLOCATABLE) || session->is_best_effort[task]) continue;
    if (!is_within(session, queue, task)) return "a queue has more than its capability after a task was bound";
  }
  return NULL;
}

const char *hr__volcano_check(const struct hr__volcano_session *session) {
  const char *violation = session->n_log ? "an operation was neither committed nor undone" : NULL;
  for (uint32_t i = 0; i < session->snapshot->n_nodes && !violation; i++) violation = check_node(session, i);
  for (uint32_t i = 0; i < session->snapshot->n_jobs && !violation; i++) violation = check_job(session, i);
  return violation ? violation : hr__volcano_check_binds(session);
}
