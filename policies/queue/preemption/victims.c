/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Selection of victims for a job that does not fit. Eligible jobs are preempted tentatively, one by one, until the job
 * fits. Then each victim, the last one first, is restored if the job still fits without its preemption; the remaining
 * victims are all needed. Finally all these moves are rolled back, and the caller preempts the remaining victims. Pools
 * are tried one at a time, until the job fits in one. With counted allocation by node, without quotas and topology
 * constraints, the search counts the free GPUs of nodes instead of preempting jobs tentatively.
 *
 * With per-GPU allocation, residual capacity first shows whether the job could fit at all; if not, this search is
 * omitted.
 */

#include "policies/queue/preemption/preemption.h"

#include <stdlib.h>
#include <string.h>

/* Returns whether a victim may be preempted for a job because the victim's tenant uses capacity that is guaranteed to
   the job's tenant; false without quotas. */
static inline bool quota_may_reclaim(const struct hr__queue *queue, hr_job job, hr_job victim) {
  return queue->quota && hr_quota_tree_may_reclaim(queue->quota->tree, hr__tenant(queue, job),
                                                   hr__counted_milli(queue, job), hr__tenant(queue, victim));
}

/* ---- Residual capacity ------------------------------------------------------------------------------ */

/*
 * Residual capacity shows whether a waiting job could fit if all running jobs that it may preempt were stopped. If it
 * could not, the slow search for victims, which stops jobs one by one, is omitted. In a cluster with many waiting jobs,
 * this saves many searches in each pass.
 *
 * A residual state is the free capacity of the cluster if only the running jobs with keys up to the bound of the state
 * ran. Running jobs that may not be preempted have the smallest key, so each state contains them. Each start, stop and
 * change of a key updates the states, so a check examines only nodes that have changed since the last check. When a
 * state gets another bound, the jobs with keys between the old and the new bound are removed or added. With preemption
 * by priority, there are as many states as different priorities in the trace, but at most 16, because the bounds of
 * successive waiting jobs alternate between priorities.
 *
 * The states have the same MIG layouts as the engine, because each start is entered in all states, and GPUs keep their
 * layouts when jobs are removed.
 */

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

/* ---- Residual capacity: changes --------------------------------------------------------------------- */

void hr__residual_change(struct hr__queue *queue, hr_job job, const struct hr_placement *placement, bool starts) {
  struct hr__residual *residual = queue->preemptor->residual;
  for (uint32_t i = 0; i < residual->n_states; i++)
    hr__count_in(queue, residual->state[i].capacity, job, placement, starts);
}

void hr__residual_rekey(struct hr__queue *queue, hr_job job, const struct hr_placement *placement, int64_t old_key,
                        int64_t new_key) {
  struct hr__residual *residual = queue->preemptor->residual;
  for (uint32_t i = 0; i < residual->n_states; i++) {
    const struct residual_state *state = &residual->state[i];
    bool contained = old_key <= state->bound, contains = new_key <= state->bound;
    if (contained != contains) hr__count_in(queue, state->capacity, job, placement, contains);
  }
}

void hr__residual_node_changes(struct hr__queue *queue, const struct hr_event *event) {
  struct hr__residual *residual = queue->preemptor->residual;
  for (uint32_t i = 0; i < residual->n_states; i++) hr__queue_node_changes(residual->state[i].capacity, event);
}

/* ---- Residual capacity: bounds ---------------------------------------------------------------------- */

/* A change of the bound of a state: the jobs with keys from the smaller bound (exclusive) up to `last` are added or
   removed. */
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
  hr__count_in(move->queue, move->capacity, entry.job, &placement, move->adds);
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

/* Returns the capacity of the state with the bound. If no state has the bound, changes the bound of an unused state; if
   all states are used, changes the state with the nearest bound. */
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

/* Returns whether a waiting job could fit in the pool if all running jobs with keys above the bound were preempted. If
   the result is true, the job does not necessarily fit. */
static bool residual_could_fit(struct hr__queue *queue, const struct hr_view *view, const struct hr_need *need,
                               int64_t bound, hr_pool pool) {
  struct hr_placement unused;
  if (!is_monotone(queue, &hr_cluster_requests(queue->cluster)->request[need->request])) return true;
  struct hr_capacity *state = state_at(queue, view, bound);
  if (!hr_capacity_fits(state, need)) return false;
  return hr_cluster_pools(queue->cluster) == 1 || hr_capacity_find_in(state, pool, need, &unused);
}

/* ---- Victims ---------------------------------------------------------------------------------------- */

static bool has_checkpoints(const struct hr__queue *queue, hr_job job) {
  const struct hr_trace *trace = queue->trace;
  if (trace->checkpoint_interval_us && trace->checkpoint_interval_us[job.id] > 0) return true;
  const struct hr_class_spec *classes = queue->preemptor->classes;
  return classes && classes[trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN].checkpoint != HR_CHECKPOINT_NONE;
}

bool hr__preemption_keeps(const struct hr__queue *queue, hr_job job) {
  const struct hr__preemption_terms *terms = &queue->preemptor->terms;
  if (terms->mode == HR__STOPPED_AUTO) return terms->rule->by_order && !has_checkpoints(queue, job);
  return terms->mode == HR__STOPPED_KEEPS;
}

/* ---- Order of victims ------------------------------------------------------------------------------- */

static int latest_first(const struct hr__victim *a, const struct hr__victim *b) {
  if (a->start_us != b->start_us) return a->start_us > b->start_us ? -1 : 1;
  return a->job.id > b->job.id ? -1 : 1;
}

static int by_place_in_order(const void *left, const void *right) {
  const struct hr__victim *a = left, *b = right;
  if (a->key != b->key) return a->key > b->key ? -1 : 1;
  return latest_first(a, b);
}

static int by_loss(const void *left, const void *right) {
  const struct hr__victim *a = left, *b = right;
  if (a->lost != b->lost) return a->lost < b->lost ? -1 : 1;
  return latest_first(a, b);
}

static int by_age(const void *left, const void *right) {
  return latest_first(left, right);
}

static int by_priority(const void *left, const void *right) {
  const struct hr__victim *a = left, *b = right;
  if (a->priority != b->priority) return a->priority < b->priority ? -1 : 1;
  return latest_first(a, b);
}

/* Victims are listed by increasing key, so in the most frequent order the list only needs to be reversed. */
static void reverse_victims(struct hr__preemptor *preemptor) {
  for (uint32_t i = 0, k = preemptor->n_victims; i + 1 < k; i++) {
    struct hr__victim victim = preemptor->victims[i];
    preemptor->victims[i] = preemptor->victims[--k];
    preemptor->victims[k] = victim;
  }
}

static void sort_victims(struct hr__preemptor *preemptor) {
  static int (*const orders[])(const void *, const void *) = {[HR__VICTIMS_LAST] = by_place_in_order,
                                                              [HR__VICTIMS_LEAST_LOST] = by_loss,
                                                              [HR__VICTIMS_YOUNGEST] = by_age,
                                                              [HR__VICTIMS_LOWEST_PRIORITY] = by_priority};
  int (*order)(const void *, const void *) = orders[preemptor->terms.victims];
  const struct hr__victim *victims = preemptor->victims;
  uint32_t sorted = 1;
  reverse_victims(preemptor);
  while (sorted < preemptor->n_victims && order(&victims[sorted - 1], &victims[sorted]) < 0) sorted++;
  if (sorted < preemptor->n_victims) qsort(preemptor->victims, preemptor->n_victims, sizeof *victims, order);
}

/* ---- Eligible jobs ---------------------------------------------------------------------------------- */

static bool make_room(struct hr__queue *queue, uint32_t n_slices) {
  struct hr__preemptor *preemptor = queue->preemptor;
  if (!HR__ARENA_HAS_ROOM_FOR(queue->arena, preemptor->slices, preemptor->n_slices + n_slices,
                              preemptor->slices_capacity))
    return false;
  return HR__ARENA_HAS_ROOM(queue->arena, preemptor->victims, preemptor->n_victims, preemptor->victims_capacity);
}

/* Returns the work that a job would lose, in requested GPU time. */
static hr__lost_work lost_work(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  if (hr__preemption_keeps(queue, job)) return 0;
  int64_t lost_us = hr_view_done_us(view, job) - view->kept_us[job.id];
  return (hr__lost_work)lost_us * (int64_t)hr__counted_milli(queue, job);
}

/* Adds a job to the list of possible victims. The victim refers to its slices by index, because the list of slices may
   be reallocated. A MIG GPU keeps its layout when the victim is preempted. The victim can therefore be restored only in
   this layout, even if the GPU had another layout before the victim started. */
static bool add_victim(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry entry) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr_slice one;
  hr_job job = entry.job;
  struct hr_placement placement = hr_view_placement(view, job, &one);
  if (!make_room(queue, placement.n_slices)) return false;
  preemptor->victims[preemptor->n_victims++] =
      (struct hr__victim){.job = job,
                          .key = entry.key,
                          .lost = preemptor->terms.victims == HR__VICTIMS_LEAST_LOST ? lost_work(queue, view, job) : 0,
                          .start_us = view->attempt_us[job.id],
                          .priority = queue->trace->priority ? queue->trace->priority[job.id] : 0,
                          .pool = placement.pool,
                          .n_slices = placement.n_slices,
                          .first_slice = preemptor->n_slices};
  for (uint32_t i = 0; i < placement.n_slices; i++) {
    struct hr_slice *slice = &preemptor->slices[preemptor->n_slices++];
    *slice = placement.slices[i];
    slice->instance.layout_before = slice->instance.layout;
  }
  return true;
}

/* Returns whether a running job uses a node that is about to go down. Such a job cannot be a victim: it could not be
   restored after a tentative preemption, because the node accepts no new jobs. */
static bool is_leaving(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr_slice one;
  if (!hr_cluster_changes(queue->cluster)) return false;
  struct hr_placement placement = hr_view_placement(view, job, &one);
  for (uint32_t i = 0; i < placement.n_slices; i++)
    if (hr_cluster_node_state(queue->cluster, placement.slices[i].node) != HR_NODE_UP) return true;
  return false;
}

/* Returns whether a running job may be preempted for a waiting job. A job that has started at this instant may not;
   preemptor->retries is then set. */
static bool may_preempt(struct hr__queue *queue, const struct hr_view *view, hr_job job, hr_job victim) {
  bool just_started = view->attempt_us[victim.id] == view->now_us;
  queue->preemptor->retries = queue->preemptor->retries || just_started;
  if (just_started || is_leaving(queue, view, victim)) return false;
  return !queue->preemptor->terms.rule->by_quota || quota_may_reclaim(queue, job, victim);
}

/* A search for victims among those running jobs of one pool that have keys above the bound of a waiting job. */
struct pool_search {
  struct hr__queue *queue;
  const struct hr_view *view;
  hr_job job;
  uint32_t accept_class;
  int64_t bound;
  bool failed; /* out of memory */
  /* Nodes of a pool, with counted allocation by node: see has_room and count_search. */
  const struct hr_free_index *index;
  uint32_t first_node, size, whole, whole_needed, rest, n_for_rest, n_counted;
  bool is_single, enough;
};

static bool list_one(void *self, struct hr_job_entry entry) {
  struct pool_search *search = self;
  if (!may_preempt(search->queue, search->view, search->job, entry.job)) return true;
  search->failed = !add_victim(search->queue, search->view, entry);
  return !search->failed;
}

/* Lists all eligible jobs of a pool, in the order in which the search tries to preempt them. False: out of memory. */
static bool gather(struct pool_search *search, uint32_t pool) {
  struct hr__preemptor *preemptor = search->queue->preemptor;
  preemptor->n_victims = preemptor->n_slices = 0;
  const struct hr_job_entry last_within = {.key = search->bound, .job = {UINT32_MAX}};
  hr_job_tree_each(&preemptor->running[pool], &last_within, list_one, search);
  sort_victims(preemptor);
  return !search->failed;
}

/* ---- Bounds ----------------------------------------------------------------------------------------- */

/* Counts the GPUs of a running job as free GPUs of its nodes. For a waiting job on one node, sets `enough` if one of
   these nodes then has enough free GPUs. For a gang of several nodes, sets `enough` if enough nodes are then wholly
   free. */
static bool add_room(void *self, struct hr_job_entry entry) {
  struct pool_search *search = self;
  struct hr_slice one;
  if (!may_preempt(search->queue, search->view, search->job, entry.job)) return true;
  struct hr_placement placement = hr_view_placement(search->view, entry.job, &one);
  for (uint32_t i = 0; i < placement.n_slices && !search->enough; i++) {
    uint32_t node = placement.slices[i].node.id - search->first_node;
    uint32_t *gain = &search->queue->preemptor->gain[node];
    *gain += placement.slices[i].gpu_milli / 1000;
    uint32_t room = hr_free_index_get(search->index, node) + *gain;
    search->whole += room == search->size;
    search->enough =
        search->is_single ? room >= hr__gpus(search->queue, search->job) : search->whole >= search->whole_needed;
  }
  return !search->enough;
}

/* Prepares a count of the free GPUs of the nodes of a pool. False: the job needs a larger node. */
static bool find_nodes(struct pool_search *search, uint32_t pool) {
  struct hr__queue *queue = search->queue;
  uint32_t gpus = hr__gpus(queue, search->job);
  search->index = hr_cluster_free_index(queue->cluster, (hr_pool){pool});
  search->first_node = hr_cluster_first_node(queue->cluster, (hr_pool){pool}).id;
  search->size = hr_free_index_gpus_per_node(search->index);
  search->is_single = hr_placer_is_single(queue->placer, gpus, search->accept_class);
  if (search->is_single && gpus > search->size) return false;
  search->whole = hr_free_index_count(search->index, search->size);
  search->whole_needed = gpus / search->size;
  memset(queue->preemptor->gain, 0, hr_free_index_nodes(search->index) * sizeof *queue->preemptor->gain);
  return true;
}

/* Returns whether the waiting job could fit on the nodes of the pool if all eligible jobs of the pool were preempted.
   The total number of GPUs has already been checked by could_suffice. Topology constraints are ignored. */
static bool has_room(struct pool_search *search, uint32_t pool) {
  struct hr__queue *queue = search->queue;
  if (queue->rule == HR_PLACE_POOL || queue->by_gpu) return true;
  if (!find_nodes(search, pool)) return false;
  search->enough = !search->is_single && search->whole >= search->whole_needed;
  const struct hr_job_entry last_within = {.key = search->bound, .job = {UINT32_MAX}};
  hr_job_tree_each(&queue->preemptor->running[pool], &last_within, add_room, search);
  return search->enough;
}

/* Returns whether the job could fit in the pool if running jobs of the pool with keys above the bound were preempted.
   In counted allocation, checks only whether the free GPUs of the pool and the GPUs of these jobs are together enough;
   the nodes on which these GPUs are do not matter. */
static bool could_suffice(struct hr__queue *queue, const struct hr_view *view, const struct hr_need *need,
                          uint32_t pool, int64_t bound) {
  const struct hr_job_tree *running = &queue->preemptor->running[pool];
  uint64_t free = hr_cluster_free_milli(queue->cluster, (hr_pool){pool}) / HR_WHOLE_GPU_MILLI;
  if (!queue->by_gpu && free + (uint64_t)running->sum < need->gpus) return false;
  int64_t above = running->sum - hr_job_tree_sum_to(running, bound);
  if (!queue->by_gpu) return free + (uint64_t)above >= need->gpus;
  return above > 0 && residual_could_fit(queue, view, need, bound, (hr_pool){pool});
}

/* ---- Search ----------------------------------------------------------------------------------------- */

/* Returns the placement from which a victim is preempted. */
static struct hr_placement placement_of(const struct hr__queue *queue, const struct hr__victim *victim) {
  const struct hr_slice *slices = victim->n_slices > 0 ? queue->preemptor->slices + victim->first_slice : NULL;
  return (struct hr_placement){victim->pool, victim->n_slices, slices};
}

/* If `runs` is false, subtracts a victim from the usage of its tenant and adds its GPUs to the policy's free capacity.
   If `runs` is true, reverts this. */
static void count_victim(struct hr__queue *queue, struct hr__victim *victim, bool runs) {
  struct hr_placement placement = placement_of(queue, victim);
  victim->needed = !runs;
  if (runs)
    hr__quota_count(queue, victim->job);
  else
    hr__quota_uncount(queue, victim->job);
  hr__count_in(queue, queue->capacity, victim->job, &placement, runs);
}

static enum hr_status stop_tentatively(struct hr__queue *queue, struct hr_moves *moves, struct hr__victim *victim) {
  enum hr_status status = hr_moves_preempt(moves, victim->job, HR_REASON_PREEMPTED);
  if (status == HR_OK) count_victim(queue, victim, false);
  return status;
}

static enum hr_status restore(struct hr__queue *queue, struct hr_moves *moves, struct hr__victim *victim) {
  struct hr_placement placement = placement_of(queue, victim);
  enum hr_status status = hr_moves_start(moves, victim->job, &placement, HR_REASON_NONE);
  if (status == HR_OK) count_victim(queue, victim, true);
  return status;
}

/* Returns whether the job fits now and the quota of its tenant admits it. */
static bool fits_now(const struct hr__queue *queue, hr_job job) {
  struct hr_need need = hr__need_of(queue, job);
  return hr__quota_allows(queue, job) && hr_capacity_fits(queue->capacity, &need);
}

/* Preempts victims tentatively until the job fits. With preemption by quota, eligibility is checked again for each
   victim, because each preemption changes the usage of its tenant. */
static enum hr_status stop_until_fits(struct hr__queue *queue, struct hr_moves *moves, hr_job job, bool *found) {
  struct hr__preemptor *preemptor = queue->preemptor;
  *found = false;
  for (uint32_t i = 0; i < preemptor->n_victims && !*found; i++) {
    struct hr__victim *victim = &preemptor->victims[i];
    if (preemptor->terms.rule->by_quota && !quota_may_reclaim(queue, job, victim->job)) continue;
    enum hr_status status = stop_tentatively(queue, moves, victim);
    if (status != HR_OK) return status;
    *found = fits_now(queue, job);
  }
  return HR_OK;
}

/* Restores each victim without which the job still fits. The last victim is tried first. */
static enum hr_status restore_unneeded(struct hr__queue *queue, struct hr_moves *moves, hr_job job) {
  struct hr__preemptor *preemptor = queue->preemptor;
  for (uint32_t i = preemptor->n_victims; i-- > 0;) {
    struct hr__victim *victim = &preemptor->victims[i];
    if (!victim->needed) continue;
    uint32_t mark = hr_moves_mark(moves);
    enum hr_status status = restore(queue, moves, victim);
    if (status != HR_OK) return status;
    if (fits_now(queue, job)) continue;
    hr_moves_rollback(moves, mark);
    count_victim(queue, victim, false);
  }
  return HR_OK;
}

/*
 * The search for victims with counted allocation by node, without quotas and topology constraints. Whether the job fits
 * then depends only on the free GPUs of each node, so nothing is preempted tentatively. Instead, the search counts
 * nodes. For a job on one node, `rest` is its number of GPUs, and `n_for_rest` is the number of nodes with at least
 * `rest` free GPUs. For a gang of several nodes, `whole` is the number of wholly free nodes, and `rest` is the number
 * of GPUs that the gang needs in addition to whole nodes. `n_for_rest` is the number of other nodes with at least
 * `rest` free GPUs.
 */

static bool is_counted(const struct hr__queue *queue) {
  return !queue->by_gpu && queue->rule != HR_PLACE_POOL && !queue->quota && !queue->locality;
}

static void count_node(struct pool_search *search, uint32_t room, uint32_t sign) {
  bool is_whole = room == search->size && !search->is_single;
  if (is_whole)
    search->whole += sign;
  else if (room >= search->rest)
    search->n_for_rest += sign;
}

/* Adds the GPUs of a victim to the room of its nodes, or subtracts them again. */
static void count_room(struct pool_search *search, struct hr__victim *victim, bool stops) {
  const struct hr__preemptor *preemptor = search->queue->preemptor;
  victim->needed = stops;
  for (uint32_t i = 0; i < victim->n_slices; i++) {
    const struct hr_slice *slice = &preemptor->slices[victim->first_slice + i];
    uint32_t node = slice->node.id - search->first_node, free = hr_free_index_get(search->index, node);
    uint32_t *gain = &preemptor->gain[node], gpus = slice->gpu_milli / HR_WHOLE_GPU_MILLI;
    count_node(search, free + *gain, UINT32_MAX);
    *gain = stops ? *gain + gpus : *gain - gpus;
    count_node(search, free + *gain, 1);
  }
}

static bool has_counted_room(const struct pool_search *search) {
  if (search->is_single) return search->n_for_rest > 0;
  bool for_rest = search->rest == 0 || search->whole > search->whole_needed || search->n_for_rest > 0;
  return search->whole >= search->whole_needed && for_rest;
}

/* Counts the nodes with room at present. False: the job needs a larger node. */
static bool begin_count(struct pool_search *search, uint32_t pool) {
  struct hr__queue *queue = search->queue;
  if (!find_nodes(search, pool)) return false;
  uint32_t gpus = hr__gpus(queue, search->job), end = search->is_single ? search->size + 1 : search->size;
  search->rest = search->is_single ? gpus : gpus % search->size;
  search->n_for_rest = search->n_counted = 0;
  for (uint32_t free = search->rest; free < end; free++) search->n_for_rest += hr_free_index_count(search->index, free);
  queue->preemptor->n_victims = queue->preemptor->n_slices = 0;
  return true;
}

/* Adds the GPUs of the listed victims that are not counted yet to the room of their nodes, in their order, until the
   job fits. Returns whether the job fits. */
static bool count_listed(struct pool_search *search) {
  const struct hr__preemptor *preemptor = search->queue->preemptor;
  while (search->n_counted < preemptor->n_victims && !has_counted_room(search))
    count_room(search, &preemptor->victims[search->n_counted++], true);
  return has_counted_room(search);
}

/* Sorts the listed victims that are not counted yet, which have equal keys, and calls count_listed. */
static bool count_group(struct pool_search *search) {
  const struct hr__preemptor *preemptor = search->queue->preemptor;
  uint32_t count = preemptor->n_victims - search->n_counted;
  if (count > 1) qsort(&preemptor->victims[search->n_counted], count, sizeof *preemptor->victims, by_place_in_order);
  return count_listed(search);
}

/* Marks each victim as not needed if the job still fits without its preemption. The last victim is tried first. */
static void keep_unneeded(struct pool_search *search) {
  for (uint32_t i = search->n_counted; i-- > 0;) {
    struct hr__victim *victim = &search->queue->preemptor->victims[i];
    count_room(search, victim, false);
    if (!has_counted_room(search)) count_room(search, victim, true);
  }
}

/* Searches for victims in one pool, as search_pool does, but by counting. Returns whether the job would fit; false also
   if memory is exhausted (search->failed). */
static bool count_search(struct pool_search *search, uint32_t pool) {
  if (!has_room(search, pool) || !begin_count(search, pool) || !gather(search, pool) || !count_listed(search))
    return false;
  keep_unneeded(search);
  return true;
}

/* Adds one victim to the list. If the previous victims have another key, counts them first. Returns false at the end of
   the search: the job fits, all keys above the bound were visited, or memory is exhausted. */
static bool count_one(void *self, struct hr_job_entry entry) {
  struct pool_search *search = self;
  const struct hr__preemptor *preemptor = search->queue->preemptor;
  if (entry.key <= search->bound) return false;
  if (!may_preempt(search->queue, search->view, search->job, entry.job)) return true;
  bool is_next = preemptor->n_victims > search->n_counted && preemptor->victims[search->n_counted].key != entry.key;
  if (is_next && count_group(search)) return false;
  search->failed = !add_victim(search->queue, search->view, entry);
  return !search->failed;
}

/* A faster count_search for the case that the last job in order is preempted first: lists no more victims than
   needed. */
static bool count_from_last(struct pool_search *search, uint32_t pool) {
  if (!begin_count(search, pool)) return false;
  hr_job_tree_each_back(&search->queue->preemptor->running[pool], count_one, search);
  if (search->failed || !count_group(search)) return false;
  keep_unneeded(search);
  return true;
}

/* Searches for victims in one pool by preempting them tentatively, and marks those that are needed. All moves of the
   search are rolled back. `*found`: the job would fit. */
static enum hr_status search_pool(struct pool_search *search, struct hr_moves *moves, uint32_t pool, bool *found) {
  struct hr__queue *queue = search->queue;
  struct hr__preemptor *preemptor = queue->preemptor;
  if (!gather(search, pool)) return HR_NO_MEMORY;
  uint32_t mark = hr_moves_mark(moves);
  enum hr_status status = stop_until_fits(queue, moves, search->job, found);
  if (status == HR_OK && *found) status = restore_unneeded(queue, moves, search->job);
  if (status != HR_OK) return status;
  hr_moves_rollback(moves, mark);
  for (uint32_t i = 0; i < preemptor->n_victims; i++) {
    struct hr__victim *victim = &preemptor->victims[i];
    bool needed = victim->needed;
    if (needed) count_victim(queue, victim, true);
    victim->needed = needed;
  }
  return HR_OK;
}

/* Searches for victims in one pool, with the fastest method that is possible. `*found`: the job would fit. */
static enum hr_status search_in(struct pool_search *search, struct hr_moves *moves, uint32_t pool, bool *found) {
  const struct hr__queue *queue = search->queue;
  bool last_first = hr__ranked_applies(queue) && queue->preemptor->terms.victims == HR__VICTIMS_LAST;
  if (is_counted(queue)) {
    *found = last_first ? count_from_last(search, pool) : count_search(search, pool);
    return search->failed ? HR_NO_MEMORY : HR_OK;
  }
  return has_room(search, pool) ? search_pool(search, moves, pool, found) : HR_OK;
}

/* Selects the victims in one pool with the lists of running jobs by node (ranked.c), without a search. `*found`: the
   job would fit. False: a search is necessary. */
static bool select_on_node(const struct pool_search *search, uint32_t pool, bool *found) {
  struct hr__queue *queue = search->queue;
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr__node_victims selected;
  uint32_t gpus = hr__gpus(queue, search->job);
  bool last_first = preemptor->terms.victims == HR__VICTIMS_LAST;
  if (!last_first || !hr__node_jobs_answer(queue, search->view, search->bound)) return false;
  if (hr_cluster_changes(queue->cluster) || !hr_placer_is_single(queue->placer, gpus, search->accept_class))
    return false;
  if (!hr__node_jobs_select(queue, pool, gpus, search->bound, preemptor->searched_nodes, &selected)) return false;
  preemptor->n_victims = preemptor->n_slices = 0;
  for (uint32_t i = 0; i < selected.count; i++) {
    if (!make_room(queue, 0)) return false;
    preemptor->victims[preemptor->n_victims++] = (struct hr__victim){.job = selected.jobs[i], .needed = true};
  }
  *found = selected.count > 0;
  return true;
}

/* A job that fits now waits only because of its quota, so the checks of capacity are omitted for it. */
enum hr_status hr__preemption_find_victims(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                           struct hr_job_entry head, bool *found) {
  int64_t bound = queue->preemptor->terms.rule->bound(queue, view, head);
  struct pool_search search = {.queue = queue, .view = view, .job = head.job, .bound = bound};
  struct hr_need need = hr__need_of(queue, head.job);
  bool is_held = !hr__quota_allows(queue, head.job) && hr_capacity_fits(queue->capacity, &need);
  enum hr_status status = HR_OK;
  *found = false;
  search.accept_class = queue->by_gpu ? hr_cluster_accept_class(queue->cluster, head.job) : need.accept_class;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster) && status == HR_OK && !*found; i++) {
    if (!hr_cluster_accepts(queue->cluster, search.accept_class, (hr_pool){i})) continue;
    if (is_held)
      status = search_pool(&search, moves, i, found);
    else if (select_on_node(&search, i, found))
      continue;
    else if (could_suffice(queue, view, &need, i, bound))
      status = search_in(&search, moves, i, found);
  }
  return status;
}
