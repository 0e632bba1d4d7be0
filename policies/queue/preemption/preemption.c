/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The running jobs that may be stopped, and the moves. They are kept by pool in trees by their key, with their GPUs as
 * values, so that what could come free for a waiting job is one sum.
 */

#include "policies/queue/preemption/preemption.h"

#include "headroom/policy_kit.h"

#define NOT_LISTED INT64_MIN

/* ---- Who may be stopped for whom -------------------------------------------------------------------- */

/* Where running does not change a job's key, those with a greater one come after. */
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

/* Anybody, as far as the key goes. */
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

/* ---- What runs -------------------------------------------------------------------------------------- */

static bool may_be_stopped(const struct hr__queue *queue, hr_job job) {
  return !queue->trace->flags || !(queue->trace->flags[job.id] & HR_JOB_NOT_INTERRUPTIBLE);
}

static enum hr_status list(struct hr__queue *queue, hr_job job, hr_pool pool, int64_t key) {
  struct hr__preemptor *preemptor = queue->preemptor;
  preemptor->key_of[job.id] = key;
  struct hr_job_entry entry = {key, job, hr__gpus(queue, job)};
  return hr_job_tree_insert(&preemptor->running[pool.id], entry) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status unlist(struct hr__queue *queue, hr_job job, hr_pool pool) {
  struct hr__preemptor *preemptor = queue->preemptor;
  int64_t key = preemptor->key_of[job.id];
  if (key == NOT_LISTED) return HR_OK;
  preemptor->key_of[job.id] = NOT_LISTED;
  return hr_job_tree_remove(&preemptor->running[pool.id], key, job) ? HR_OK : HR_INTERNAL;
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  struct hr__preemptor *preemptor = queue->preemptor;
  preemptor->key_of[job.id] = NOT_LISTED;
  if (hr__gpus(queue, job) == 0 || !may_be_stopped(queue, job)) return HR_OK;
  int64_t key = preemptor->terms.rule->running_key(queue, view, job), min_run_us = preemptor->terms.min_run_us;
  if (min_run_us == 0) return list(queue, job, placement->pool, key);
  struct hr__deadline_entry due = {view->now_us + min_run_us, job.id};
  return hr__deadline_fifo_add(&preemptor->spared, queue->arena, due) ? HR_OK : HR_NO_MEMORY;
}

/* One that was told to leave has done so. */
static bool forget_leaving(struct hr__queue *queue, const struct hr_event *event) {
  struct hr__preemptor *preemptor = queue->preemptor;
  if (!preemptor->leaves || !preemptor->leaves[event->job.id]) return true;
  preemptor->leaves[event->job.id] = false;
  preemptor->n_leaving--;
  bool killed = preemptor->terms.stopped == HR__STOPPED_KILLED && event->kind == HR_EVENT_INTERRUPT;
  return !killed || hr__queue_give_up(queue, event->job, HR_REASON_KILLED);
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  if (!forget_leaving(queue, event)) return HR_NO_MEMORY;
  return unlist(queue, event->job, event->placement->pool);
}

static enum hr_status job_moves(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                const struct hr_placement *from, const struct hr_placement *to) {
  enum hr_status status = unlist(queue, job, from->pool);
  return status == HR_OK ? job_starts(queue, view, job, to) : status;
}

static const struct hr__listener listener = {.job_starts = job_starts, .job_stops = job_stops, .job_moves = job_moves};

bool hr__preemption_create(struct hr__queue *queue, const struct hr_policy_env *env,
                           const struct hr__preemption_terms *terms) {
  struct hr__preemptor *preemptor = hr_arena_alloc(env->arena, sizeof *preemptor);
  if (!preemptor) return false;
  size_t n_pools = hr_cluster_pools(env->cluster);
  uint32_t n_jobs = env->jobs->n_jobs;
  *preemptor = (struct hr__preemptor){.terms = *terms, .classes = env->classes, .promised = {HR_NONE}};
  bool gives_grace = terms->grace_us > 0;
  if (gives_grace) preemptor->leaves = hr_arena_alloc_by_job(env->arena, n_jobs, sizeof *preemptor->leaves);
  preemptor->running = hr_arena_alloc(env->arena, n_pools * sizeof *preemptor->running);
  preemptor->key_of = hr_arena_alloc_by_job(env->arena, n_jobs, sizeof *preemptor->key_of);
  uint32_t max_nodes = 0;
  for (uint32_t i = 0; i < n_pools; i++) {
    uint32_t nodes = hr_cluster_pool_spec(env->cluster, (hr_pool){i})->nodes;
    if (nodes > max_nodes) max_nodes = nodes;
  }
  preemptor->gain = hr_arena_alloc(env->arena, ((size_t)max_nodes + 1) * sizeof *preemptor->gain);
  if (!preemptor->running || !preemptor->key_of || !preemptor->gain || (gives_grace && !preemptor->leaves))
    return false;
  for (size_t i = 0; i < n_pools; i++) preemptor->running[i].store = queue->waiting.store;
  queue->preemptor = preemptor;
  hr__queue_listen(queue, &listener);
  return true;
}

enum hr_status hr__preemption_rekey(struct hr__queue *queue, const struct hr_view *view, hr_job job, int64_t key) {
  struct hr_slice one;
  if (!queue->preemptor || queue->preemptor->key_of[job.id] == NOT_LISTED) return HR_OK;
  hr_pool pool = hr_view_placement(view, job, &one).pool;
  enum hr_status status = unlist(queue, job, pool);
  return status == HR_OK ? list(queue, job, pool, key) : status;
}

/* Empties a pool's tree into a list of jobs, and fills it again. */
static enum hr_status rekey_pool(struct hr__queue *queue, const struct hr_view *view, uint32_t pool) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr_job_tree *running = &preemptor->running[pool];
  struct hr_job_entry entry;
  uint32_t count = 0;
  while (hr_job_tree_first(running, &entry)) {
    if (count == preemptor->jobs_capacity) {
      preemptor->jobs = hr_arena_grown(queue->arena, preemptor->jobs, &preemptor->jobs_capacity, sizeof(hr_job));
      if (!preemptor->jobs) return HR_NO_MEMORY;
    }
    hr_job_tree_remove(running, entry.key, entry.job);
    preemptor->jobs[count++] = entry.job;
  }
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < count && status == HR_OK; i++)
    status = list(queue, preemptor->jobs[i], (hr_pool){pool},
                  preemptor->terms.rule->running_key(queue, view, preemptor->jobs[i]));
  return status;
}

enum hr_status hr__preemption_rekey_all(struct hr__queue *queue, const struct hr_view *view) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster) && status == HR_OK; i++)
    status = rekey_pool(queue, view, i);
  return status;
}

enum hr_status hr__preemption_end_sparing(struct hr__queue *queue, const struct hr_view *view) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr__deadline_entry due;
  enum hr_status status = HR_OK;
  while (status == HR_OK && hr__deadline_fifo_take(&preemptor->spared, view->now_us, &due)) {
    hr_job job = {due.id};
    struct hr_slice one;
    /* It may be over, and its state, forgotten, zero: no running one either. */
    if (view->state[due.id] != HR_JOB_RUNNING || view->attempt_us[due.id] + preemptor->terms.min_run_us != due.at_us)
      continue;
    if (preemptor->key_of[due.id] != NOT_LISTED) continue;
    status =
        list(queue, job, hr_view_placement(view, job, &one).pool, preemptor->terms.rule->running_key(queue, view, job));
  }
  return status;
}

/* ---- The moves -------------------------------------------------------------------------------------- */

static bool has_checkpoints(const struct hr__queue *queue, hr_job job) {
  const struct hr_trace *trace = queue->trace;
  if (trace->checkpoint_interval_us && trace->checkpoint_interval_us[job.id] > 0) return true;
  const struct hr_class_spec *classes = queue->preemptor->classes;
  return classes && classes[trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN].checkpoint != HR_CHECKPOINT_NONE;
}

bool hr__preemption_keeps(const struct hr__queue *queue, hr_job job) {
  const struct hr__preemption_terms *terms = &queue->preemptor->terms;
  if (terms->stopped == HR__STOPPED_AUTO) return terms->rule->by_order && !has_checkpoints(queue, job);
  return terms->stopped == HR__STOPPED_KEEPS;
}

enum hr_status hr__preemption_stop(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan,
                                   hr_job job) {
  struct hr_slice one;
  struct hr_placement placement = hr_view_placement(view, job, &one);
  struct hr_event event = {view->now_us, HR_EVENT_PREEMPT, HR_REASON_PREEMPTED, job, &placement, {HR_NONE}, {HR_NONE}};
  bool killed = queue->preemptor->terms.stopped == HR__STOPPED_KILLED;
  enum hr_status status = hr__preemption_keeps(queue, job) ? hr_moves_preempt(plan, job, HR_REASON_PREEMPTED)
                                                           : hr_moves_requeue(plan, job, HR_REASON_PREEMPTED);
  if (status == HR_OK) status = hr__queue_job_stops(queue, view, &event);
  if (status != HR_OK) return status;
  return killed ? hr_moves_reject(plan, job, HR_REASON_KILLED) : hr__queue_job_waits(queue, view, job);
}

enum hr_status hr__preemption_warn(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan,
                                   hr_job job, hr_job promised) {
  struct hr__preemptor *preemptor = queue->preemptor;
  struct hr_slice one;
  hr_pool pool = hr_view_placement(view, job, &one).pool;
  int64_t at_us = view->now_us + preemptor->terms.grace_us;
  enum hr_status status = hr_moves_notice(plan, job, at_us, hr__preemption_keeps(queue, job));
  if (status != HR_OK) return status;
  preemptor->leaves[job.id] = true;
  preemptor->n_leaving++;
  preemptor->promised = promised;
  return unlist(queue, job, pool);
}

bool hr__preemption_holds(const struct hr__queue *queue) {
  return queue->preemptor->promised.id != HR_NONE;
}

enum hr_status hr__preemption_end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *plan) {
  int64_t next_us = hr__deadline_fifo_first_us(&queue->preemptor->spared);
  if (queue->preemptor->looks_again) next_us = view->now_us + 1;
  queue->preemptor->looks_again = false;
  return hr__waiting_any(&queue->waiting) ? hr__queue_wake(queue, view, plan, next_us) : HR_OK;
}
