/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Residual capacity, with per-GPU allocation: whether a waiting job could fit if all running jobs that it may preempt
 * were stopped. If it could not, the slow search for victims, which stops jobs one by one, is omitted. In a cluster
 * with many waiting jobs, this saves many searches in each pass.
 *
 * A residual state is a planned capacity that contains the running jobs with keys up to its bound; unlisted jobs have
 * the least key. Each start, stop and change of a key updates the states, so a check examines only nodes that have
 * changed since the last check. To check with another bound, the jobs with keys between the old and the new bound are
 * removed or added. With preemption by priority, there is one state for each of the first 16 priorities of the trace,
 * because the bounds of successive waiting jobs alternate between priorities.
 *
 * States contain the same MIG layouts as the engine: each start is entered in all states, and layouts remain if jobs
 * are removed.
 */

#include "policies/queue/preemption/preemption.h"

#define CONTAINS_ALL INT64_MAX /* the bound of a state that was never used */

enum { MAX_STATES = 16 };

struct residual_state {
  struct hr_capacity *capacity;
  int64_t bound;
};

struct hr__residual {
  struct hr_capacity_set *capacities; /* the placement rule has no effect on whether a job fits, so it is a fast one */
  uint32_t n_states;
  struct residual_state state[MAX_STATES];
};

/* Returns the number of different priorities, at most MAX_STATES. */
static uint32_t count_priorities(const struct hr_policy_env *env) {
  int32_t priorities[MAX_STATES];
  uint32_t count = 0;
  for (uint32_t job = 0; env->jobs->priority && job < env->jobs->n_jobs && count < MAX_STATES; job++) {
    uint32_t i = 0;
    while (i < count && priorities[i] != env->jobs->priority[job]) i++;
    if (i == count) priorities[count++] = env->jobs->priority[job];
    hr_arena_passed_job(env->arena, (hr_job){job});
  }
  return count;
}

bool hr__residual_create(struct hr__queue *queue, const struct hr_policy_env *env) {
  struct hr__residual *residual = hr_arena_alloc(env->arena, sizeof *residual);
  struct hr_capacity_config config = {.arena = env->arena, .cluster = env->cluster, .rule = "first-fit"};
  if (!residual) return false;
  bool by_priority = queue->preemptor->terms.rule == &hr__preemption_priority;
  *residual = (struct hr__residual){.n_states = by_priority ? count_priorities(env) : 1};
  if (residual->n_states == 0) residual->n_states = 1;
  if (hr_capacity_set_create(&config, &residual->capacities, NULL) != HR_OK) return false;
  for (uint32_t i = 0; i < residual->n_states; i++) {
    residual->state[i] = (struct residual_state){hr_capacity_create(residual->capacities), CONTAINS_ALL};
    if (!residual->state[i].capacity) return false;
  }
  queue->preemptor->residual = residual;
  return true;
}

bool hr__residual_failed(const struct hr__queue *queue) {
  const struct hr__residual *residual = queue->preemptor->residual;
  return residual && hr_capacity_set_failed(residual->capacities);
}

/* ---- Changes -------------------------------------------------------------------------------------- */

static void enter(struct hr__queue *queue, struct hr_capacity *capacity, hr_job job,
                  const struct hr_placement *placement, bool runs) {
  struct hr_need need = hr__need_of(queue, job);
  if (runs)
    hr_capacity_take(capacity, &need, placement);
  else
    hr_capacity_give(capacity, &need, placement);
}

void hr__residual_change(struct hr__queue *queue, hr_job job, const struct hr_placement *placement, bool starts) {
  struct hr__residual *residual = queue->preemptor->residual;
  for (uint32_t i = 0; i < residual->n_states; i++) enter(queue, residual->state[i].capacity, job, placement, starts);
}

void hr__residual_rekey(struct hr__queue *queue, hr_job job, const struct hr_placement *placement, int64_t old_key,
                        int64_t new_key) {
  struct hr__residual *residual = queue->preemptor->residual;
  for (uint32_t i = 0; i < residual->n_states; i++) {
    const struct residual_state *state = &residual->state[i];
    bool contained = old_key <= state->bound, contains = new_key <= state->bound;
    if (contained != contains) enter(queue, state->capacity, job, placement, contains);
  }
}

void hr__residual_node_changes(struct hr__queue *queue, const struct hr_event *event) {
  struct hr__residual *residual = queue->preemptor->residual;
  for (uint32_t i = 0; i < residual->n_states; i++) hr__queue_node_changes(residual->state[i].capacity, event);
}

/* ---- Bounds --------------------------------------------------------------------------------------- */

/* A change of the bound of a state: jobs with keys up to `last` are added or removed. */
struct bound_move {
  struct hr__queue *queue;
  const struct hr_view *view;
  struct hr_capacity *capacity;
  int64_t last;
  bool adds;
};

static bool move_job(void *self, struct hr_job_entry entry) {
  const struct bound_move *move = self;
  struct hr_slice one;
  if (entry.key > move->last) return false;
  struct hr_placement placement = hr_view_placement(move->view, entry.job, &one);
  enter(move->queue, move->capacity, entry.job, &placement, move->adds);
  return true;
}

static void set_bound(struct hr__queue *queue, const struct hr_view *view, struct residual_state *state,
                      int64_t bound) {
  bool adds = bound > state->bound;
  struct bound_move move = {queue, view, state->capacity, adds ? bound : state->bound, adds};
  const struct hr_job_entry after = {.key = adds ? state->bound : bound, .job = {UINT32_MAX}};
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster) && bound != state->bound; i++)
    hr_job_tree_each(&queue->preemptor->running[i], &after, move_job, &move);
  state->bound = bound;
}

static uint64_t distance(int64_t a, int64_t b) {
  return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* Returns the state with the bound. If none exists, changes an unused state or, if all are used, the one with the
   nearest bound. */
static struct hr_capacity *state_at(struct hr__queue *queue, const struct hr_view *view, int64_t bound) {
  struct hr__residual *residual = queue->preemptor->residual;
  struct residual_state *chosen = &residual->state[0];
  for (uint32_t i = 0; i < residual->n_states; i++) {
    struct residual_state *state = &residual->state[i];
    if (state->bound != CONTAINS_ALL && distance(state->bound, bound) < distance(chosen->bound, bound)) chosen = state;
  }
  for (uint32_t i = 0; i < residual->n_states && chosen->bound != bound; i++)
    if (residual->state[i].bound == CONTAINS_ALL) chosen = &residual->state[i];
  set_bound(queue, view, chosen, bound);
  return chosen->capacity;
}

/* Returns whether a job that fits in a state also fits after other jobs have left. This is not certain for gangs if the
   choice of GPUs or instances for one task affects how many other tasks fit. */
static bool is_monotone(const struct hr__queue *queue, const struct hr_request *request) {
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster) && request->tasks > 1; i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(queue->cluster, (hr_pool){i});
    uint32_t slot_milli = hr_pool_slot_milli(spec), milli = slot_milli ? slot_milli : request->gpu_milli;
    if (request->gpus > 1 && milli < HR_WHOLE_GPU_MILLI) return false;
    if (spec->mig && spec->mig->mode == HR_MIG_ON_DEMAND) return false;
  }
  return true;
}

bool hr__residual_could_fit(struct hr__queue *queue, const struct hr_view *view, const struct hr_need *need,
                            int64_t bound, hr_pool pool) {
  struct hr_placement unused;
  if (!is_monotone(queue, &hr_cluster_requests(queue->cluster)->request[need->request])) return true;
  struct hr_capacity *state = state_at(queue, view, bound);
  if (!hr_capacity_fits(state, need)) return false;
  return hr_cluster_pools(queue->cluster) == 1 || hr_capacity_find_in(state, pool, need, &unused);
}
