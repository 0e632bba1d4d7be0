/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The actions enqueue (which jobs may use resources at all), allocate (places jobs, complete gangs only) and backfill
   (places tasks that request nothing).

   Queues and jobs are popped from heaps and pushed back, so the order follows what was allocated meanwhile.
   Source: volcano-sh/volcano, pkg/scheduler/actions/{enqueue,allocate,backfill}. */

#include "policies/volcano/session.h"

#include <string.h>

/* ---- Nodes ---- */

/* The best node of session->node_list [n]; n > 0. */
static uint32_t best_node(struct hr__volcano_session *session, uint32_t task, uint32_t n) {
  uint32_t best = session->node_list[0];
  if (n == 1) return best;
  hr__volcano_spread_prepare(session, task, session->node_list, n);
  double best_score = hr__volcano_score(session, task, best);
  for (uint32_t i = 1; i < n; i++) {
    double score = hr__volcano_score(session, task, session->node_list[i]);
    if (score > best_score || (score == best_score && session->config->prefers_last_node)) {
      best = session->node_list[i];
      best_score = score;
    }
  }
  return best;
}

/* Collects the nodes that accept the task, with enough idle resources; if there are none, those with enough resources
   once tasks are released. Returns their number. */
static uint32_t collect_nodes(struct hr__volcano_session *session, uint32_t task) {
  uint32_t n_idle = 0, n_future = 0, n_nodes = session->snapshot->n_nodes;
  uint32_t *list = session->node_list;
  for (uint32_t i = 0; i < n_nodes; i++) {
    if (!hr__volcano_fits_future(session, task, i)) continue;
    bool fits_now = hr__volcano_fits_idle(session, task, i);
    if (!fits_now && n_idle) continue;
    if (hr__volcano_predicate(session, task, i, NULL) != HR__VOLCANO_FITS) continue;
    if (!hr__volcano_owner_accepts(session, task, i)) continue;
    if (fits_now)
      list[n_idle++] = i; /* overwrites nodes that would fit later: they are not needed any more */
    else
      list[n_future++] = i;
  }
  return n_idle ? n_idle : n_future;
}

/* ---- enqueue ---- */

/* A heap of the pending jobs of each queue, and a heap of the queues with any job. */
static void collect_pending_jobs(struct hr__volcano_session *session) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  uint32_t *n_jobs = session->scratch_stamp;
  for (uint32_t i = 0; i < snapshot->n_queues; i++) n_jobs[i] = 0;
  for (uint32_t i = 0; i < snapshot->n_jobs; i++)
    if (snapshot->jobs[i].queue != HR__VOLCANO_NONE) n_jobs[snapshot->jobs[i].queue]++;
  session->queue_heap.count = 0;
  for (uint32_t i = 0; i < snapshot->n_queues; i++) session->job_heaps[i] = hr__volcano_pool_heap(session, n_jobs[i]);
  for (uint32_t i = 0; i < snapshot->n_queues; i++) {
    if (n_jobs[i]) hr__volcano_push_queue(session, &session->queue_heap, i);
    n_jobs[i] = 0;
  }
  session->stamp = 0;
}

void hr__volcano_run_enqueue(struct hr__volcano_session *session) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  collect_pending_jobs(session);
  for (uint32_t i = 0; i < snapshot->n_jobs; i++)
    if (snapshot->jobs[i].queue != HR__VOLCANO_NONE && session->job_phase[i] == HR__VOLCANO_PHASE_PENDING)
      hr__volcano_push_job(session, &session->job_heaps[snapshot->jobs[i].queue], i);
  while (session->queue_heap.count) {
    uint32_t queue = hr__volcano_pop_queue(session, &session->queue_heap);
    if (!session->job_heaps[queue].count) continue;
    uint32_t job = hr__volcano_pop_job(session, &session->job_heaps[queue]);
    if (!snapshot->jobs[job].has_min_resources || hr__volcano_is_enqueueable(session, job)) {
      hr__volcano_job_enqueued(session, job);
      session->job_phase[job] = HR__VOLCANO_PHASE_INQUEUE;
    }
    hr__volcano_push_queue(session, &session->queue_heap, queue);
  }
}

/* ---- allocate ---- */

static bool has_action(const struct hr__volcano_session *session, enum hr__volcano_action action) {
  for (uint32_t i = 0; i < session->config->n_actions; i++)
    if (session->config->actions[i] == action) return true;
  return false;
}

/* Whether allocate considers the job at all. Pending jobs are enqueued if no action does this. */
static bool takes_part(struct hr__volcano_session *session, uint32_t job, bool enqueues) {
  if (session->snapshot->jobs[job].queue == HR__VOLCANO_NONE) return false;
  if (session->job_phase[job] == HR__VOLCANO_PHASE_PENDING) {
    if (enqueues) return false;
    session->job_phase[job] = HR__VOLCANO_PHASE_INQUEUE;
  }
  return hr__volcano_job_is_valid(session, job);
}

/* Fills the heap of the pending tasks of a job that are placed by allocate. */
static void collect_tasks(struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  session->task_heaps[job] = hr__volcano_pool_heap(session, session->job_count[job][HR__VOLCANO_PENDING]);
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++)
    if (session->task_state[i] == HR__VOLCANO_PENDING && !session->snapshot->tasks[i].gated &&
        !session->is_best_effort[i])
      hr__volcano_push_task(session, &session->task_heaps[job], i);
}

static void collect_jobs(struct hr__volcano_session *session) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  uint32_t *n_jobs = session->scratch_stamp;
  bool enqueues = has_action(session, HR__VOLCANO_ENQUEUE);
  for (uint32_t i = 0; i < snapshot->n_queues; i++) n_jobs[i] = 0;
  for (uint32_t i = 0; i < snapshot->n_jobs; i++) {
    session->task_heaps[i].count = 0;
    if (!takes_part(session, i, enqueues)) continue;
    collect_tasks(session, i);
    if (session->task_heaps[i].count) n_jobs[snapshot->jobs[i].queue]++;
  }
  session->queue_heap.count = 0;
  for (uint32_t i = 0; i < snapshot->n_queues; i++) session->job_heaps[i] = hr__volcano_pool_heap(session, n_jobs[i]);
  for (uint32_t i = 0; i < snapshot->n_jobs; i++) {
    if (!session->task_heaps[i].count) continue;
    struct hr__volcano_heap *heap = &session->job_heaps[snapshot->jobs[i].queue];
    if (!heap->count) hr__volcano_push_queue(session, &session->queue_heap, snapshot->jobs[i].queue);
    hr__volcano_push_job(session, heap, i);
  }
  for (uint32_t i = 0; i < snapshot->n_queues; i++) n_jobs[i] = 0;
  session->stamp = 0;
}

/* Places or pipelines a task on the best node. Returns false if no node accepts it. */
static bool allocate_task(struct hr__volcano_session *session, uint32_t task) {
  uint32_t equivalence = session->snapshot->tasks[task].equivalence;
  if (equivalence && session->task_epoch[equivalence] == session->epoch) return false;
  uint32_t n = collect_nodes(session, task);
  if (!n) {
    if (equivalence) session->task_epoch[equivalence] = session->epoch;
    return false;
  }
  uint32_t node = best_node(session, task, n);
  if (hr__volcano_fits_idle(session, task, node))
    hr__volcano_place(session, task, node);
  else
    hr__volcano_pipeline(session, task, node);
  return true;
}

/* Tries to place a task of a job. Returns whether it is worth trying the next one. */
static bool try_task(struct hr__volcano_session *session, uint32_t job, uint32_t task) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  uint32_t role = session->snapshot->tasks[task].role;
  if (!hr__volcano_allocatable(session, info->queue, task)) return true;
  if (info->role_has_name[role] && session->role_failed[job][role]) return true;
  if (allocate_task(session, task)) return true;
  session->role_failed[job][role] = true;
  return hr__volcano_may_continue(session, job);
}

/* ---- Sub-jobs ---- */

/* Whether the sub-job is one of the first that complete the minimum of its policy, in the order of sub-jobs. */
static bool is_needed(const struct hr__volcano_session *session, uint32_t job, uint32_t subjob) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  uint32_t policy = info->subjobs[subjob].policy;
  int64_t n_before = 0;
  if (policy == HR__VOLCANO_NONE || hr__volcano_subjob_votes(session, job, subjob, HR__VOLCANO_SUBJOB_READY))
    return false;
  for (uint32_t i = 0; i < info->n_subjobs; i++)
    n_before += i != subjob && info->subjobs[i].policy == policy &&
                (hr__volcano_subjob_votes(session, job, i, HR__VOLCANO_SUBJOB_READY) ||
                 hr__volcano_subjob_precedes(session, job, i, subjob));
  return n_before < info->policy_min[policy];
}

/* The sub-job of the waiting tasks that is served next: needed ones first. */
static uint32_t next_subjob(const struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_heap *tasks = &session->task_heaps[job];
  uint32_t best = session->snapshot->tasks[tasks->items[0]].subjob;
  for (uint32_t i = 1; i < tasks->count; i++) {
    uint32_t subjob = session->snapshot->tasks[tasks->items[i]].subjob;
    if (subjob == best) continue;
    bool a = is_needed(session, job, subjob), b = is_needed(session, job, best);
    if (a == b ? hr__volcano_subjob_precedes(session, job, subjob, best) : a) best = subjob;
  }
  return best;
}

/* Moves the waiting tasks of a sub-job, in their order, to session->candidates. Returns their number. */
static uint32_t take_subjob(struct hr__volcano_session *session, uint32_t job, uint32_t subjob) {
  struct hr__volcano_heap *tasks = &session->task_heaps[job];
  uint32_t n = 0, n_others = 0;
  while (tasks->count) {
    uint32_t task = hr__volcano_pop_task(session, tasks);
    if (session->snapshot->tasks[task].subjob == subjob)
      session->candidates[n++] = task;
    else
      session->victims[n_others++] = task;
  }
  for (uint32_t i = 0; i < n_others; i++) hr__volcano_push_task(session, tasks, session->victims[i]);
  return n;
}

/* Places tasks of a sub-job until it is complete. Undoes this if it is neither complete nor waits for resources. The
   tasks that were not tried wait again. Returns whether tasks were placed. */
static bool allocate_subjob(struct hr__volcano_session *session, uint32_t job, uint32_t subjob) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  uint32_t n = take_subjob(session, job, subjob), at = 0, mark = session->n_log;
  for (uint32_t role = 0; role < info->n_roles; role++) session->role_failed[job][role] = false;
  while (at < n && try_task(session, job, session->candidates[at++]))
    if (session->n_log > mark && hr__volcano_subjob_votes(session, job, subjob, HR__VOLCANO_SUBJOB_READY)) break;
  if (!hr__volcano_subjob_votes(session, job, subjob, HR__VOLCANO_SUBJOB_READY) &&
      !hr__volcano_subjob_votes(session, job, subjob, HR__VOLCANO_SUBJOB_PIPELINED))
    hr__volcano_undo(session, mark);
  if (session->n_log == mark) return false; /* the rest of the sub-job is not tried again */
  for (; at < n; at++) hr__volcano_push_task(session, &session->task_heaps[job], session->candidates[at]);
  return true;
}

/* ---- Jobs ---- */

static void place_tasks(struct hr__volcano_session *session, uint32_t job) {
  struct hr__volcano_heap *tasks = &session->task_heaps[job];
  while (tasks->count) {
    if (session->snapshot->jobs[job].n_subjobs) {
      if (!allocate_subjob(session, job, next_subjob(session, job))) continue;
    } else {
      uint32_t mark = session->n_log;
      if (!try_task(session, job, hr__volcano_pop_task(session, tasks))) return;
      if (session->n_log == mark) continue;
    }
    if (hr__volcano_job_is_ready(session, job)) return;
  }
}

/* Places tasks of the job until it is ready. The operations are committed if it is, and kept in the session if it is
   pipelined only. Returns whether the job is ready. */
static bool allocate_job(struct hr__volcano_session *session, uint32_t job) {
  uint32_t mark = session->n_log;
  place_tasks(session, job);
  bool is_ready = hr__volcano_job_is_ready(session, job);
  if (is_ready)
    hr__volcano_commit(session, mark);
  else if (hr__volcano_job_is_pipelined(session, job))
    hr__volcano_forget(session, mark);
  else
    hr__volcano_undo(session, mark);
  return is_ready;
}

/* In a lasting session, adds a waiting job like the one that was placed, unless this was done before. */
static void add_successor(struct hr__volcano_session *session, uint32_t job) {
  if (!session->owner || !session->owner->successor) return;
  uint32_t next = session->owner->successor(session->owner->self, job);
  if (next == HR__VOLCANO_NONE) return;
  collect_tasks(session, next);
  struct hr__volcano_heap *heap = &session->job_heaps[session->snapshot->jobs[next].queue];
  if (heap->count == heap->capacity) { /* the job before is in the heap, too, because it is elastic */
    struct hr__volcano_heap grown = hr__volcano_pool_heap(session, 2 * heap->capacity + 1);
    memcpy(grown.items, heap->items, heap->count * sizeof *grown.items);
    grown.count = heap->count;
    *heap = grown;
  }
  hr__volcano_push_job(session, heap, next);
}

void hr__volcano_run_allocate(struct hr__volcano_session *session) {
  collect_jobs(session);
  while (session->queue_heap.count) {
    uint32_t queue = hr__volcano_pop_queue(session, &session->queue_heap);
    if (hr__volcano_overused(session, queue) || !session->job_heaps[queue].count) continue;
    uint32_t job = hr__volcano_pop_job(session, &session->job_heaps[queue]);
    bool is_ready = allocate_job(session, job);
    bool goes_on = is_ready && session->task_heaps[job].count;
    bool is_elastic = session->snapshot->jobs[job].min_available < (int64_t)session->snapshot->jobs[job].n_tasks;
    if (goes_on) hr__volcano_push_job(session, &session->job_heaps[queue], job);
    if (goes_on ? is_elastic : is_ready || hr__volcano_job_is_pipelined(session, job)) add_successor(session, job);
    hr__volcano_push_queue(session, &session->queue_heap, queue);
  }
}

/* ---- backfill ---- */

/* Fills the heaps with the best-effort tasks of jobs that are enqueued. Pipelined ones are pending again. */
static void collect_best_effort(struct hr__volcano_session *session) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  collect_pending_jobs(session);
  session->queue_heap.count = 0;
  for (uint32_t i = 0; i < snapshot->n_jobs; i++) {
    const struct hr__volcano_job *info = &snapshot->jobs[i];
    session->task_heaps[i].count = 0;
    if (info->queue == HR__VOLCANO_NONE || session->job_phase[i] == HR__VOLCANO_PHASE_PENDING ||
        !hr__volcano_job_is_valid(session, i))
      continue;
    session->task_heaps[i] = hr__volcano_pool_heap(session, info->n_tasks);
    for (uint32_t k = info->first_task; k < info->first_task + info->n_tasks; k++) {
      if (!session->is_best_effort[k]) continue;
      if (session->task_state[k] == HR__VOLCANO_PIPELINED) hr__volcano_withdraw(session, k);
      if (session->task_state[k] == HR__VOLCANO_PENDING && !snapshot->tasks[k].gated)
        hr__volcano_push_task(session, &session->task_heaps[i], k);
    }
    if (!session->task_heaps[i].count) continue;
    if (!session->job_heaps[info->queue].count) hr__volcano_push_queue(session, &session->queue_heap, info->queue);
    hr__volcano_push_job(session, &session->job_heaps[info->queue], i);
  }
}

/* Places the task, and binds the placed tasks of its job if the job is ready. */
static void backfill_task(struct hr__volcano_session *session, uint32_t job, uint32_t task) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  uint32_t n = 0;
  for (uint32_t i = 0; i < session->snapshot->n_nodes; i++)
    if (hr__volcano_predicate(session, task, i, NULL) == HR__VOLCANO_FITS) session->node_list[n++] = i;
  if (!n) return;
  hr__volcano_place(session, task, best_node(session, task, n));
  session->n_log = 0;
  if (!hr__volcano_job_is_ready(session, job)) return;
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++)
    if (session->task_state[i] == HR__VOLCANO_ALLOCATED) hr__volcano_bind(session, i);
}

void hr__volcano_run_backfill(struct hr__volcano_session *session) {
  collect_best_effort(session);
  /* The order is fixed before the first task is placed. */
  uint32_t n = 0, *order = session->candidates;
  while (session->queue_heap.count) {
    uint32_t queue = hr__volcano_pop_queue(session, &session->queue_heap);
    while (session->job_heaps[queue].count) {
      uint32_t job = hr__volcano_pop_job(session, &session->job_heaps[queue]);
      while (session->task_heaps[job].count) order[n++] = hr__volcano_pop_task(session, &session->task_heaps[job]);
    }
  }
  for (uint32_t i = 0; i < n; i++) backfill_task(session, session->snapshot->tasks[order[i]].job, order[i]);
}
