/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preemption in the queue policy: the running jobs that may be preempted, and passes that preempt. Each pool has a tree
 * of its running jobs that may be preempted, sorted by key. In counted allocation, their GPUs are the values of the
 * tree. How many GPUs preemption could free for a waiting job is then the result of one query (a sum over keys).
 *
 * If preemption is by order, with the placement `pool`, without quotas and without a grace period, a pass is one walk
 * over all waiting jobs. Otherwise waiting jobs are tried one by one, and victims.c selects the victims for each job.
 * ranked.c omits tries that must fail.
 */

#include "policies/queue/preemption/preemption.h"

#include "headroom/policy_kit.h"

/* ---- Rules ---------------------------------------------------------------------------------------- */

/* For preemption by order: order_key returns the key of a running job, and order_bound the bound of a waiting job. If
   the order has no `running_key`, running jobs have the same keys as when they waited, and the bound of a waiting job
   is its key. */
static int64_t order_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  const struct hr__order *order = queue->order;
  return order->running_key ? order->running_key(queue, view, job) : order->key(queue, view, job);
}

static int64_t order_bound(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry head) {
  return queue->order->running_bound ? queue->order->running_bound(queue, view, head) : head.key;
}

static int64_t priority_of(const struct hr__queue *queue, hr_job job) {
  return queue->trace->priority ? queue->trace->priority[job.id] : 0;
}

static int64_t priority_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  return -priority_of(queue, job);
}

static int64_t priority_bound(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry head) {
  (void)view;
  return -priority_of(queue, head.job);
}

/* For preemption by quota: all keys are 0 and all bounds are -1, so keys exclude no running job. */
static int64_t any_key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)queue;
  (void)view;
  (void)job;
  return 0;
}

static int64_t any_bound(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry head) {
  (void)queue;
  (void)view;
  (void)head;
  return -1;
}

const struct hr__preemption hr__preemption_order = {.running_key = order_key, .bound = order_bound, .by_order = true};
const struct hr__preemption hr__preemption_priority = {.running_key = priority_key, .bound = priority_bound};
const struct hr__preemption hr__preemption_reclaim = {.running_key = any_key, .bound = any_bound, .by_quota = true};

/* ---- Running jobs --------------------------------------------------------------------------------- */

/* Returns whether preemption of the job would free anything. */
static bool uses_capacity(const struct hr__queue *queue, hr_job job) {
  struct hr_need need = hr__need_of(queue, job);
  return !hr_need_is_empty(queue->cluster, &need);
}

/* Sets the key of a running job. */
static void set_key(struct hr__queue *queue, hr_job job, const struct hr_placement *placement, int64_t key) {
  int64_t *key_of = &queue->preemptor->key_of[job.id];
  if (queue->preemptor->residual) hr__residual_rekey(queue, job, placement, *key_of, key);
  *key_of = key;
}

/* Adds a running job to the jobs that may be preempted. */
static enum hr_status list(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                           const struct hr_placement *placement, int64_t key) {
  set_key(queue, job, placement, key);
  if (queue->preemptor->node_jobs) hr__node_jobs_add(queue, view, job, placement, key);
  struct hr_job_entry entry = {key, job, queue->by_gpu ? 1 : hr__gpus(queue, job)};
  return hr_job_tree_insert(&queue->preemptor->running[placement->pool.id], entry) ? HR_OK : HR_NO_MEMORY;
}

/* Removes a job from the jobs that may be preempted, if it is among them. */
static enum hr_status unlist(struct hr__queue *queue, hr_job job, const struct hr_placement *placement) {
  struct hr__preemptor *preemptor = queue->preemptor;
  int64_t key = preemptor->key_of[job.id];
  if (key == HR__NOT_LISTED) return HR_OK;
  set_key(queue, job, placement, HR__NOT_LISTED);
  if (preemptor->node_jobs) hr__node_jobs_remove(queue, job, placement);
  return hr_job_tree_remove(&preemptor->running[placement->pool.id], key, job) ? HR_OK : HR_INTERNAL;
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  struct hr__preemptor *preemptor = queue->preemptor;
  preemptor->key_of[job.id] = HR__NOT_LISTED;
  if (preemptor->residual) hr__residual_change(queue, job, placement, true);
  if (!uses_capacity(queue, job) || !hr__is_interruptible(queue->trace, job)) return HR_OK;
  int64_t key = preemptor->terms.rule->running_key(queue, view, job), min_run_us = preemptor->terms.min_run_us;
  if (min_run_us == 0) return list(queue, view, job, placement, key);
  struct hr__deadline_entry entry = {view->now_us + min_run_us, job.id};
  return hr__deadline_fifo_add(&preemptor->protected_jobs, queue->arena, entry) ? HR_OK : HR_NO_MEMORY;
}

/* Updates the state after a job that had received notice has stopped. False: out of memory. */
static bool forget_leaving(struct hr__queue *queue, const struct hr_event *event) {
  struct hr__preemptor *preemptor = queue->preemptor;
  if (!preemptor->leaving || !preemptor->leaving[event->job.id]) return true;
  preemptor->leaving[event->job.id] = false;
  preemptor->n_leaving--;
  bool killed = preemptor->terms.mode == HR__STOPPED_KILLED && event->kind == HR_EVENT_INTERRUPT;
  return !killed || hr__queue_reject_later(queue, event->job, HR_REASON_KILLED);
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  if (!forget_leaving(queue, event)) return HR_NO_MEMORY;
  hr__ranked_ease(queue, queue->preemptor->key_of[event->job.id], INT64_MAX, hr__node_set_of(event->placement));
  enum hr_status status = unlist(queue, event->job, event->placement);
  if (queue->preemptor->residual) hr__residual_change(queue, event->job, event->placement, false);
  return status;
}

static enum hr_status job_moves(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                const struct hr_placement *from, const struct hr_placement *to) {
  enum hr_status status = unlist(queue, job, from);
  hr__ranked_ease(queue, INT64_MIN, INT64_MAX, HR__ALL_NODES);
  if (queue->preemptor->residual) hr__residual_change(queue, job, from, false);
  return status == HR_OK ? job_starts(queue, view, job, to) : status;
}

static enum hr_status node_changes(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  hr__ranked_ease(queue, INT64_MIN, INT64_MAX, HR__ALL_NODES);
  if (queue->preemptor->residual) hr__residual_node_changes(queue, event);
  return HR_OK;
}

static const struct hr__listener listener = {
    .job_starts = job_starts, .job_stops = job_stops, .job_moves = job_moves, .node_changes = node_changes};

bool hr__preemption_create(struct hr__queue *queue, const struct hr_policy_env *env,
                           const struct hr__preemption_terms *terms) {
  struct hr__preemptor *preemptor = hr_arena_alloc(env->arena, sizeof *preemptor);
  if (!preemptor) return false;
  size_t n_pools = hr_cluster_pools(env->cluster);
  uint32_t n_jobs = env->jobs->n_jobs;
  *preemptor = (struct hr__preemptor){.terms = *terms,
                                      .classes = env->classes,
                                      .beneficiary = {HR_NONE},
                                      .refused_head = {{HR_NONE}, 0},
                                      .searched_nodes = HR__ALL_NODES,
                                      .n_passes = 1};
  if (terms->grace_us > 0 && !HR__ARENA_ARRAY_BY_JOB(env->arena, preemptor->leaving, n_jobs)) return false;
  uint32_t max_nodes = 0;
  for (uint32_t i = 0; i < n_pools; i++) {
    uint32_t nodes = hr_cluster_pool_spec(env->cluster, (hr_pool){i})->nodes;
    if (nodes > max_nodes) max_nodes = nodes;
  }
  if (!HR__ARENA_ARRAY(env->arena, preemptor->running, n_pools) ||
      !HR__ARENA_ARRAY_BY_JOB(env->arena, preemptor->key_of, n_jobs) ||
      !HR__ARENA_ARRAY(env->arena, preemptor->gain, (size_t)max_nodes + 1))
    return false;
  for (size_t i = 0; i < n_pools; i++) preemptor->running[i].store = queue->waiting.store;
  queue->preemptor = preemptor;
  hr__queue_add_listener(queue, &listener);
  if (queue->by_gpu) return hr__residual_create(queue, env);
  return hr__node_jobs_create(queue);
}

enum hr_status hr__preemption_rekey(struct hr__queue *queue, const struct hr_view *view, hr_job job, int64_t key) {
  struct hr_slice one;
  if (!queue->preemptor || queue->preemptor->key_of[job.id] == HR__NOT_LISTED) return HR_OK;
  struct hr_placement placement = hr_view_placement(view, job, &one);
  hr__ranked_ease(queue, queue->preemptor->key_of[job.id], key, hr__node_set_of(&placement));
  enum hr_status status = unlist(queue, job, &placement);
  return status == HR_OK ? list(queue, view, job, &placement, key) : status;
}

/* Removes all jobs from the tree of a pool, and inserts them again with their new keys. */
static enum hr_status rekey_pool(struct hr__queue *queue, const struct hr_view *view, uint32_t pool) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr_job_tree *running = &preemptor->running[pool];
  struct hr_job_entry entry;
  uint32_t count = 0;
  while (hr_job_tree_first(running, &entry)) {
    if (!HR__ARENA_HAS_ROOM(queue->arena, preemptor->jobs, count, preemptor->jobs_capacity)) return HR_NO_MEMORY;
    hr_job_tree_remove(running, entry.key, entry.job);
    preemptor->jobs[count++] = entry.job;
  }
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < count && status == HR_OK; i++) {
    struct hr_slice one;
    hr_job job = preemptor->jobs[i];
    struct hr_placement placement = hr_view_placement(view, job, &one);
    if (preemptor->node_jobs) hr__node_jobs_remove(queue, job, &placement);
    status = list(queue, view, job, &placement, preemptor->terms.rule->running_key(queue, view, job));
  }
  return status;
}

enum hr_status hr__preemption_rekey_all(struct hr__queue *queue, const struct hr_view *view) {
  enum hr_status status = HR_OK;
  hr__ranked_ease(queue, INT64_MIN, INT64_MAX, HR__ALL_NODES);
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster) && status == HR_OK; i++)
    status = rekey_pool(queue, view, i);
  return status;
}

/* Adds the running jobs that have run for their minimum run time to the jobs that may be preempted. */
static enum hr_status end_protection(struct hr__queue *queue, const struct hr_view *view) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr__deadline_entry entry;
  enum hr_status status = HR_OK;
  while (status == HR_OK && hr__deadline_fifo_take(&preemptor->protected_jobs, view->now_us, &entry)) {
    hr_job job = {entry.id};
    struct hr_slice one;
    /* skips two kinds of jobs: jobs that do not run any more, and jobs that have been started again since they were
       added. The state of a job that has ended may have been discarded, and then reads as 0 */
    if (view->state[entry.id] != HR_JOB_RUNNING ||
        view->attempt_us[entry.id] + preemptor->terms.min_run_us != entry.at_us)
      continue;
    if (preemptor->key_of[entry.id] != HR__NOT_LISTED) continue;
    struct hr_placement placement = hr_view_placement(view, job, &one);
    hr__ranked_ease(queue, INT64_MIN, INT64_MAX, HR__ALL_NODES);
    status = list(queue, view, job, &placement, preemptor->terms.rule->running_key(queue, view, job));
  }
  return status;
}

/* ---- Moves ---------------------------------------------------------------------------------------- */

/* Preempts a job, which then waits again or, if preempted jobs are killed, is rejected. */
static enum hr_status stop_job(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                               hr_job job) {
  struct hr_slice one;
  struct hr_placement placement = hr_view_placement(view, job, &one);
  struct hr_event event = {view->now_us, HR_EVENT_PREEMPT, HR_REASON_PREEMPTED, job, &placement, {HR_NONE}, {HR_NONE}};
  bool killed = queue->preemptor->terms.mode == HR__STOPPED_KILLED;
  enum hr_status status = hr__preemption_keeps(queue, job) ? hr_moves_preempt(moves, job, HR_REASON_PREEMPTED)
                                                           : hr_moves_requeue(moves, job, HR_REASON_PREEMPTED);
  if (status == HR_OK) status = hr__queue_job_stops(queue, view, &event);
  if (status != HR_OK) return status;
  return killed ? hr_moves_reject(moves, job, HR_REASON_KILLED) : hr__queue_job_waits(queue, view, job);
}

/* Gives notice to a job, which will be evicted after the grace period. `beneficiary`: the waiting job that is to start
   when it has left. */
static enum hr_status give_notice(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                  hr_job job, hr_job beneficiary) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr_slice one;
  struct hr_placement placement = hr_view_placement(view, job, &one);
  int64_t at_us = view->now_us + preemptor->terms.grace_us;
  enum hr_status status = hr_moves_notice(moves, job, at_us, hr__preemption_keeps(queue, job));
  if (status != HR_OK) return status;
  preemptor->leaving[job.id] = true;
  preemptor->n_leaving++;
  preemptor->beneficiary = beneficiary;
  return unlist(queue, job, &placement);
}

/* Stops the needed victims. If there is a grace period, only gives notice to them: the waiting job starts when they
   have left, and until then, no other job is preempted. */
static enum hr_status stop_needed(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                  hr_job waiting) {
  const struct hr__preemptor *preemptor = queue->preemptor;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < preemptor->n_victims && status == HR_OK; i++) {
    hr_job job = preemptor->victims[i].job;
    if (!preemptor->victims[i].needed) continue;
    status = preemptor->terms.grace_us > 0 ? give_notice(queue, view, moves, job, waiting)
                                           : stop_job(queue, view, moves, job);
  }
  return status;
}

/* Returns whether the job fits now and the quota of its tenant admits it. If so, writes a placement. */
static bool fits(const struct hr__queue *queue, hr_job job, struct hr_placement *placement) {
  return hr__quota_allows(queue, job) && hr__fits(queue, hr__gpus(queue, job), hr__kind(queue, job), placement);
}

/* Preempts victims for a waiting job, and starts the job. If there is a grace period, only gives notice to the
   victims. */
static enum hr_status preempt_for(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                  struct hr__shape *shape, struct hr_job_entry head, enum hr_reason reason,
                                  bool *started) {
  bool found;
  enum hr_status status = hr__preemption_find_victims(queue, view, moves, head, &found);
  *started = false;
  if (status != HR_OK || !found) return status;
  struct hr_placement placement;
  status = stop_needed(queue, view, moves, head.job);
  if (status != HR_OK || queue->preemptor->terms.grace_us > 0) return status;
  if (!fits(queue, head.job, &placement)) return HR_INTERNAL;
  *started = true;
  return hr__queue_start(queue, view, moves, shape, head, &placement, reason);
}

enum hr_status hr__preemption_try(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                  struct hr__shape *shape, struct hr_job_entry entry, enum hr_reason reason,
                                  bool allowed, bool *started) {
  struct hr_placement placement;
  *started = allowed && hr__fits(queue, hr__gpus(queue, entry.job), hr__kind(queue, entry.job), &placement);
  if (!*started) return preempt_for(queue, view, moves, shape, entry, reason, started);
  return hr__queue_start(queue, view, moves, shape, entry, &placement, reason);
}

/*
 * Preemption by order with the placement `pool`. The result is the same as if an empty cluster were filled with all
 * running and waiting jobs, in order. A job then runs if it fits into the capacity that the jobs before it leave free.
 *
 * The walk visits waiting jobs only, in order. If a job of a shape does not fit, later jobs of the shape are not
 * visited, because they would have even less capacity. The debt of a pool is the number of GPUs that the jobs started
 * by the walk need in excess of the free GPUs of the pool. The debt is paid by running jobs that are late in order. A
 * running job becomes a victim if the debt exceeds the GPUs of all running jobs after it. Its GPUs then reduce the
 * debt. A waiting job fits if the running jobs after it have enough GPUs to pay both the debt and the GPUs of the
 * waiting job. These sums are computed with the trees of running jobs, so each step costs O(log n). The moves are made
 * after the walk.
 *
 * A job that fits in free GPUs of some pool starts in the first such pool. Any other job starts in the first pool in
 * which it fits with preemption.
 */

/* A start that the walk has decided on, and that is made after the walk. */
struct hr__start {
  struct hr__shape *shape;
  struct hr_job_entry entry;
  hr_pool pool;
  enum hr_reason reason;
};

/* The lists of the walk. Their memory is reused in each pass. */
struct hr__preemption_walk {
  int64_t *debt; /* by pool: debt in GPUs; negative: free GPUs */
  struct hr__walk *walks;
  struct hr__start *starts;
  hr_job *victims;
  uint32_t n_walks, walks_capacity, n_starts, starts_capacity, n_victims, victims_capacity;
};

static bool begin(struct hr__queue *queue) {
  struct hr__preemptor *preemptor = queue->preemptor;
  uint32_t n_pools = hr_cluster_pools(queue->cluster), n_shapes = queue->waiting.n_active;
  if (!preemptor->in_order) {
    preemptor->in_order = hr_arena_alloc(queue->arena, sizeof *preemptor->in_order);
    if (!preemptor->in_order || !HR__ARENA_ARRAY(queue->arena, preemptor->in_order->debt, n_pools)) return false;
  }
  struct hr__preemption_walk *walk = preemptor->in_order;
  if (!HR__ARENA_HAS_ROOM_FOR(queue->arena, walk->walks, n_shapes, walk->walks_capacity)) return false;
  walk->n_walks = n_shapes;
  walk->n_starts = walk->n_victims = 0;
  for (uint32_t i = 0; i < n_pools; i++)
    walk->debt[i] = -(int64_t)(hr_cluster_free_milli(queue->cluster, (hr_pool){i}) / 1000);
  bool ok = true;
  for (uint32_t i = 0; i < n_shapes && ok; i++)
    ok = hr__walk_begin(&queue->waiting, hr__active_shape(&queue->waiting, i), NULL, &walk->walks[i]);
  return ok;
}

static struct hr__walk *first_walk(struct hr__preemption_walk *walk) {
  struct hr__walk *first = &walk->walks[0];
  for (uint32_t i = 1; i < walk->n_walks; i++)
    if (hr__entry_before(walk->walks[i].entry, first->entry)) first = &walk->walks[i];
  return first;
}

/* Makes victims of running jobs of a pool, in order, until the debt is at most 0 or the key of the next victim exceeds
   `bound`. The next victim is the first running job for which all later running jobs together have fewer GPUs than the
   debt. False: out of memory. */
static bool make_victims(struct hr__queue *queue, uint32_t pool, int64_t bound) {
  struct hr__preemption_walk *walk = queue->preemptor->in_order;
  const struct hr_job_tree *running = &queue->preemptor->running[pool];
  struct hr_job_entry victim;
  while (walk->debt[pool] > 0 && hr_job_tree_reach(running, running->sum - walk->debt[pool] + 1, &victim) &&
         victim.key <= bound) {
    if (!HR__ARENA_HAS_ROOM(queue->arena, walk->victims, walk->n_victims, walk->victims_capacity)) return false;
    walk->victims[walk->n_victims++] = victim.job;
    walk->debt[pool] -= victim.value;
  }
  return true;
}

/* Selects a pool for a waiting job with the given bound. `*chosen`: HR_NONE if the job does not fit. False: out of
   memory. */
static bool choose_pool(struct hr__queue *queue, hr_job job, int64_t bound, uint32_t *chosen) {
  const struct hr__preemption_walk *walk = queue->preemptor->in_order;
  uint32_t n_pools = hr_cluster_pools(queue->cluster), accept_class = hr_cluster_accept_class(queue->cluster, job);
  int64_t gpus = hr__gpus(queue, job);
  *chosen = HR_NONE;
  for (uint32_t i = 0; i < n_pools; i++) {
    if (!hr_cluster_accepts(queue->cluster, accept_class, (hr_pool){i})) continue;
    if (!make_victims(queue, i, bound)) return false;
    const struct hr_job_tree *running = &queue->preemptor->running[i];
    bool is_free = walk->debt[i] + gpus <= 0;
    if (is_free) {
      *chosen = i;
      return true;
    }
    if (*chosen != HR_NONE || running->sum - walk->debt[i] < gpus) continue;
    if (running->sum - hr_job_tree_sum_to(running, bound) - walk->debt[i] >= gpus) *chosen = i;
  }
  return true;
}

/* Stores a start, and adds its GPUs to the debt of the pool. False: out of memory. */
static bool note_start(struct hr__queue *queue, const struct hr__walk *at, uint32_t pool, enum hr_reason reason) {
  struct hr__preemption_walk *walk = queue->preemptor->in_order;
  if (!HR__ARENA_HAS_ROOM(queue->arena, walk->starts, walk->n_starts, walk->starts_capacity)) return false;
  walk->debt[pool] += hr__gpus(queue, at->entry.job);
  walk->starts[walk->n_starts++] = (struct hr__start){at->shape, at->entry, {pool}, reason};
  return true;
}

/* Walks over the waiting jobs in order. The walk of each shape ends at the last job of the shape, or at its first job
   that does not fit. Unless the backfill `passes_over`, all walks end at the first job that does not fit. False: out of
   memory. */
static bool walk_order(struct hr__queue *queue, const struct hr_view *view) {
  struct hr__preemption_walk *walk = queue->preemptor->in_order;
  enum hr_reason reason = HR_REASON_IN_ORDER;
  while (walk->n_walks > 0) {
    struct hr__walk *at = first_walk(walk);
    hr_job job = at->entry.job;
    uint32_t pool = 0;
    if (hr__gpus(queue, job) > 0 &&
        !choose_pool(queue, job, queue->preemptor->terms.rule->bound(queue, view, at->entry), &pool))
      return false;
    if (pool != HR_NONE && !note_start(queue, at, pool, reason)) return false;
    if (pool == HR_NONE && !queue->backfill->passes_over) break;
    if (pool == HR_NONE) reason = HR_REASON_BACKFILL;
    if (pool != HR_NONE && hr__walk_next(&queue->waiting, at)) continue;
    if (!at->shape) return false;
    *at = walk->walks[--walk->n_walks];
  }
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++)
    if (!make_victims(queue, i, INT64_MAX)) return false;
  return true;
}

static bool has_several_pools(const struct hr_cluster *cluster) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < hr_cluster_pools(cluster); i++)
    count += hr_cluster_pool_spec(cluster, (hr_pool){i})->nodes > 0;
  return count > 1;
}

static enum hr_status preempt_by_count(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  if (!begin(queue) || !walk_order(queue, view)) return HR_NO_MEMORY;
  const struct hr__preemption_walk *walk = queue->preemptor->in_order;
  enum hr_status status = HR_OK;
  queue->preemptor->retries = walk->n_victims > 0 && has_several_pools(queue->cluster);
  for (uint32_t i = 0; i < walk->n_victims && status == HR_OK; i++)
    status = stop_job(queue, view, moves, walk->victims[i]);
  for (uint32_t i = 0; i < walk->n_starts && status == HR_OK; i++) {
    const struct hr__start *start = &walk->starts[i];
    struct hr_placement placement = {.pool = start->pool};
    status = hr__queue_start(queue, view, moves, start->shape, start->entry, &placement, start->reason);
  }
  return status;
}

/* ---- Preemption for single jobs ------------------------------------------------------------------- */

/* The next job to try. At first it is the first job of a shape. If that job was refused, the first jobs of the other
   subqueues of the shape are tried, too, because they may be allowed to preempt other running jobs. Subqueues that are
   blocked by quotas are also tried, because preemption may reduce the usage that blocks them. */
struct preemption_candidate {
  struct hr__shape *shape; /* NULL: no further job */
  struct hr_job_entry entry;
  struct hr__subqueue *subqueue; /* NULL without subqueues */
};

static void consider(struct preemption_candidate *next, struct hr__shape *shape, struct hr_job_entry entry,
                     struct hr__subqueue *subqueue) {
  if (next->shape && !hr__entry_before(entry, next->entry)) return;
  *next = (struct preemption_candidate){shape, entry, subqueue};
}

static void consider_shape(const struct hr__queue *queue, struct hr__shape *shape, struct preemption_candidate *next) {
  uint32_t pass = queue->preemptor->n_passes;
  const struct hr__waiting *waiting = &queue->waiting;
  struct hr__subqueue *subqueue = waiting->full_key ? hr__subqueue_of_job(waiting, shape->head.job) : NULL;
  if (shape->refused != pass) {
    consider(next, shape, shape->head, subqueue);
    return;
  }
  while (subqueue && subqueue->refused == pass) subqueue = hr__waiting_next_subqueue(waiting, subqueue);
  if (subqueue) consider(next, shape, subqueue->listed, subqueue);
}

/* Returns whether the first job of a parked subqueue should be tried. There are two cases: the job may
   start in this part of the pass (the first of two parts is for jobs within the guarantees of their tenants), or the
   first job of its shape precedes it and was refused. */
static bool may_be_next(const struct hr__queue *queue, const struct hr__subqueue *subqueue) {
  const struct hr__shape *shape = subqueue->shape;
  uint32_t pass = queue->preemptor->n_passes;
  if (subqueue->refused == pass) return false;
  if (!queue->waiting.preferred_only || hr__quota_is_guaranteed(queue, subqueue->head.job)) return true;
  bool is_active = shape->active_at[queue->waiting.preferred_only] != HR_NONE;
  return is_active && shape->refused == pass && hr__entry_before(shape->head, subqueue->listed);
}

static struct preemption_candidate next_in_order(struct hr__queue *queue) {
  const struct hr__waiting *waiting = &queue->waiting;
  struct preemption_candidate next = {0};
  for (uint32_t i = 0; i < waiting->n_active; i++) consider_shape(queue, hr__active_shape(waiting, i), &next);
  for (uint32_t i = 0; i < waiting->n_parked; i++) {
    struct hr__subqueue *subqueue = waiting->parked[i];
    if (may_be_next(queue, subqueue)) consider(&next, subqueue->shape, subqueue->listed, subqueue);
  }
  return next;
}

/* Tries waiting jobs one by one in order. A job that does not fit may preempt other jobs. */
static enum hr_status pass_on_nodes(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__preemptor *preemptor = queue->preemptor;
  enum hr_status status = HR_OK;
  enum hr_reason reason = HR_REASON_IN_ORDER;
  preemptor->n_passes++;
  for (struct preemption_candidate next; status == HR_OK && (next = next_in_order(queue)).shape;) {
    bool started, allowed = hr__quota_allows(queue, next.entry.job);
    status = hr__preemption_try(queue, view, moves, next.shape, next.entry, reason, allowed, &started);
    if (hr__preemption_pending(queue)) break;
    if (started) continue;
    if (next.subqueue) next.subqueue->refused = preemptor->n_passes;
    if (allowed) next.shape->refused = preemptor->n_passes;
    if (allowed && !queue->backfill->passes_over) break;
    reason = HR_REASON_BACKFILL;
  }
  return status;
}

/* Starts the beneficiary of a preemption (struct hr__preemptor) if it fits. If the job does not fit although all
   victims have left, the preemption has no beneficiary any more, and other jobs may use the capacity. */
static enum hr_status start_beneficiary(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__preemptor *preemptor = queue->preemptor;
  hr_job job = preemptor->beneficiary;
  struct hr_placement placement;
  if (job.id == HR_NONE) return HR_OK;
  bool starts = fits(queue, job, &placement);
  if (starts || preemptor->n_leaving == 0) preemptor->beneficiary = (hr_job){HR_NONE};
  return starts ? hr__queue_start_job(queue, view, moves, job, &placement, HR_REASON_IN_ORDER) : HR_OK;
}

enum hr_status hr__preemption_begin_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  enum hr_status status = end_protection(queue, view);
  return status == HR_OK ? start_beneficiary(queue, view, moves) : status;
}

enum hr_status hr__preemption_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  const struct hr__preemption_terms *terms = &queue->preemptor->terms;
  bool by_count = terms->rule->by_order && queue->rule == HR_PLACE_POOL && !queue->quota && terms->grace_us == 0;
  queue->preemptor->nothing_fits = false;
  if (view->n_waiting == 0) return HR_OK;
  if (by_count) return preempt_by_count(queue, view, moves);
  return hr__ranked_applies(queue) ? hr__ranked_pass(queue, view, moves) : pass_on_nodes(queue, view, moves);
}

enum hr_status hr__preemption_end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  int64_t next_us = hr__deadline_fifo_first_us(&queue->preemptor->protected_jobs);
  if (queue->preemptor->retries) next_us = view->now_us + 1;
  queue->preemptor->retries = false;
  if (hr__residual_failed(queue)) return HR_NO_MEMORY;
  return hr__waiting_any(&queue->waiting) ? hr__queue_wake(queue, view, moves, next_us) : HR_OK;
}
