/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The actions of Volcano: enqueue (admits jobs), allocate (places tasks of complete gangs), backfill (places tasks that
 * request nothing), and preempt, reclaim and shuffle (evict tasks).
 *
 * Queues and jobs are popped from heaps and pushed back, so the order takes account of the allocations in between.
 *
 * Source: volcano-sh/volcano, pkg/scheduler/actions.
 */

#include "policies/volcano/volcano.h"

#include <stdint.h>
#include <string.h>

/* ---- Nodes for a task ------------------------------------------------------------------------------- */

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

/* Writes the nodes that accept the task and have enough idle resources to session->node_list. If there are none, writes
   those that will have enough resources when the tasks that are being released are gone. Returns the number of
   nodes. */
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
      list[n_idle++] = i; /* overwrites nodes that would fit later, which are not needed any more */
    else
      list[n_future++] = i;
  }
  return n_idle ? n_idle : n_future;
}

/* ---- enqueue ---------------------------------------------------------------------------------------- */

/* Returns a count of jobs by queue, in scratch memory; all are 0. */
static uint32_t *begin_job_heaps(struct hr__volcano_session *session) {
  for (uint32_t i = 0; i < session->snapshot->n_queues; i++) session->scratch_stamp[i] = 0;
  return session->scratch_stamp;
}

/* Creates an empty heap for each queue, with room for the counted jobs, and empties the heap of queues. Clears the
   counts. */
static void end_job_heaps(struct hr__volcano_session *session, uint32_t *n_jobs) {
  session->queue_heap.count = 0;
  for (uint32_t i = 0; i < session->snapshot->n_queues; i++) {
    session->job_heaps[i] = hr__volcano_pool_heap(session, n_jobs[i]);
    n_jobs[i] = 0;
  }
}

/* Creates an empty heap for each queue, with room for all its jobs. */
static void create_job_heaps(struct hr__volcano_session *session) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  uint32_t *n_jobs = begin_job_heaps(session);
  for (uint32_t i = 0; i < snapshot->n_jobs; i++)
    if (snapshot->jobs[i].queue != HR__VOLCANO_NONE) n_jobs[snapshot->jobs[i].queue]++;
  end_job_heaps(session, n_jobs);
}

void hr__volcano_run_enqueue(struct hr__volcano_session *session) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  create_job_heaps(session);
  for (uint32_t i = 0; i < snapshot->n_queues; i++)
    if (session->job_heaps[i].capacity) hr__volcano_push_queue(session, &session->queue_heap, i);
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

/* ---- allocate --------------------------------------------------------------------------------------- */

static bool has_action(const struct hr__volcano_session *session, enum hr__volcano_action action) {
  for (uint32_t i = 0; i < session->config->n_actions; i++)
    if (session->config->actions[i] == action) return true;
  return false;
}

/* Whether allocate considers the job. If the action enqueue is not configured, a pending job is enqueued here. */
static bool takes_part(struct hr__volcano_session *session, uint32_t job, bool enqueues) {
  if (session->snapshot->jobs[job].queue == HR__VOLCANO_NONE) return false;
  if (session->job_phase[job] == HR__VOLCANO_PHASE_PENDING) {
    if (enqueues) return false;
    session->job_phase[job] = HR__VOLCANO_PHASE_INQUEUE;
  }
  return hr__volcano_job_is_valid(session, job);
}

/* Fills the heap of the pending tasks of a job. `with_best_effort`: also those that request nothing. */
static void fill_task_heap(struct hr__volcano_session *session, uint32_t job, bool with_best_effort) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  struct hr__volcano_heap *heap = &session->task_heaps[job];
  heap->count = 0;
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++)
    if (session->task_state[i] == HR__VOLCANO_PENDING && !session->snapshot->tasks[i].gated &&
        (with_best_effort || !session->is_best_effort[i]))
      hr__volcano_push_task(session, heap, i);
}

/* Creates and fills the heap of the pending tasks of a job. */
static void collect_tasks(struct hr__volcano_session *session, uint32_t job, bool with_best_effort) {
  session->task_heaps[job] = hr__volcano_pool_heap(session, session->snapshot->jobs[job].n_tasks);
  fill_task_heap(session, job, with_best_effort);
}

/* Adds a job to the heap of its queue. The first job of a queue adds the queue, too. */
static void add_job(struct hr__volcano_session *session, uint32_t job) {
  uint32_t queue = session->snapshot->jobs[job].queue;
  if (!session->job_heaps[queue].count) hr__volcano_push_queue(session, &session->queue_heap, queue);
  hr__volcano_push_job(session, &session->job_heaps[queue], job);
}

static void collect_jobs(struct hr__volcano_session *session) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  uint32_t *n_jobs = begin_job_heaps(session);
  bool enqueues = has_action(session, HR__VOLCANO_ENQUEUE);
  for (uint32_t i = 0; i < snapshot->n_jobs; i++) {
    session->task_heaps[i].count = 0;
    if (!takes_part(session, i, enqueues)) continue;
    collect_tasks(session, i, false);
    if (session->task_heaps[i].count) n_jobs[snapshot->jobs[i].queue]++;
  }
  end_job_heaps(session, n_jobs);
  for (uint32_t i = 0; i < snapshot->n_jobs; i++)
    if (session->task_heaps[i].count) add_job(session, i);
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

/* Tries to place a task of a job. Returns whether the next task should be tried. */
static bool try_task(struct hr__volcano_session *session, uint32_t job, uint32_t task) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  uint32_t role = session->snapshot->tasks[task].role;
  if (!hr__volcano_allocatable(session, info->queue, task)) return true;
  if (info->role_has_name[role] && session->role_failed[job][role]) return true;
  if (allocate_task(session, task)) return true;
  session->role_failed[job][role] = true;
  return hr__volcano_may_continue(session, job);
}

/* ---- allocate: sub-jobs ----------------------------------------------------------------------------- */

/* Whether the sub-job is incomplete, and the minimum of its policy is not met by other sub-jobs that are complete or
   that precede it. */
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

/* The sub-job that is served next, of those with waiting tasks. Needed sub-jobs come first. */
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

/* Places tasks of a sub-job until it is complete. If it is then not complete, even with pipelined tasks, the placements
   are undone. If tasks were placed, those that were not tried wait again. Returns whether tasks were placed. */
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

/* ---- allocate: jobs --------------------------------------------------------------------------------- */

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

/* Places tasks of the job until it is ready. If it is ready, the operations are committed. If it is only pipelined,
   they are forgotten, which keeps their effect on the session. Otherwise they are undone. Returns whether the job is
   ready. */
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

/* In a lasting session, adds the successor of a job that was served, if there is one. */
static void add_successor(struct hr__volcano_session *session, uint32_t job, bool with_best_effort) {
  if (!session->owner || !session->owner->successor) return;
  uint32_t next = session->owner->successor(session->owner->self, job);
  if (next == HR__VOLCANO_NONE) return;
  collect_tasks(session, next, with_best_effort);
  struct hr__volcano_heap *heap = &session->job_heaps[session->snapshot->jobs[next].queue];
  if (heap->count == heap->capacity) { /* the served job is in the heap, too, because it is elastic */
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
    if (goes_on ? is_elastic : is_ready || hr__volcano_job_is_pipelined(session, job))
      add_successor(session, job, false);
    hr__volcano_push_queue(session, &session->queue_heap, queue);
  }
}

/* ---- backfill --------------------------------------------------------------------------------------- */

/* Fills the heaps with the best-effort tasks of jobs that are enqueued. Pipelined tasks become pending again. */
static void collect_best_effort(struct hr__volcano_session *session) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  create_job_heaps(session);
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
    if (session->task_heaps[i].count) add_job(session, i);
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

/* ---- Eviction --------------------------------------------------------------------------------------- */

/* The actions that evict tasks: preempt (for jobs of the same queue, then for tasks of the same job), reclaim (for
   other queues) and shuffle (tasks that plug-ins evict without a preemptor). A preemptor is pipelined on a node and the
   victims on this node are evicted, one by one until it fits. The operations of a job are committed together if it is
   pipelined. Source: volcano-sh/volcano, pkg/scheduler/actions/{preempt,reclaim,shuffle,utils}. */

/* The tasks that may be victims. */
enum scope { OTHER_JOBS_OF_QUEUE, SAME_JOB, OTHER_QUEUES };

/* ---- Eviction: candidates --------------------------------------------------------------------------- */

static bool is_candidate(const struct hr__volcano_session *session, enum scope scope, uint32_t preemptor,
                         uint32_t task) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  const struct hr__volcano_task *info = &snapshot->tasks[task];
  enum hr__volcano_state state = session->task_state[task];
  if (!info->preemptable || info->job == HR__VOLCANO_NONE) return false;
  if (snapshot->jobs[info->job].queue == HR__VOLCANO_NONE) return false;
  uint32_t own_job = snapshot->tasks[preemptor].job, own_queue = snapshot->jobs[own_job].queue;
  if (scope == OTHER_QUEUES) {
    uint32_t queue = snapshot->jobs[info->job].queue;
    return state == HR__VOLCANO_RUNNING && queue != own_queue && snapshot->queues[queue].reclaimable;
  }
  if (state != HR__VOLCANO_RUNNING && state != HR__VOLCANO_BOUND) return false;
  if (session->is_best_effort[preemptor] && !session->is_best_effort[task]) return false;
  if (scope == SAME_JOB) return info->job == own_job;
  return info->job != own_job && snapshot->jobs[info->job].queue == own_queue;
}

/* Writes the candidates on a node to session->candidates. Returns their number. */
static uint32_t collect_candidates(struct hr__volcano_session *session, enum scope scope, uint32_t preemptor,
                                   uint32_t node) {
  uint32_t n = 0;
  for (uint32_t at = session->nodes[node].first_task; at != HR__VOLCANO_NONE; at = session->task_next[at])
    if (is_candidate(session, scope, preemptor, at)) session->candidates[n++] = at;
  return n;
}

/* Whether the preemptor would fit on the node if all victims were evicted. */
static bool would_fit(const struct hr__volcano_session *session, uint32_t preemptor, uint32_t node,
                      const uint32_t *victims, uint32_t n_victims) {
  struct hr__volcano_vector future = hr__volcano_future_idle(session, node);
  for (uint32_t i = 0; i < n_victims; i++) hr__volcano_add(&future, hr__volcano_request(session, victims[i]));
  return hr__volcano_less_equal(hr__volcano_request(session, preemptor), &future);
}

/* Writes the nodes on which evictions may help to session->node_list. Returns their number. */
static uint32_t collect_possible_nodes(struct hr__volcano_session *session, uint32_t preemptor) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < session->snapshot->n_nodes; i++)
    if (hr__volcano_predicate(session, preemptor, i, NULL) != HR__VOLCANO_UNSCHEDULABLE_FOR_GOOD)
      session->node_list[n++] = i;
  return n;
}

/* Sorts the nodes by descending score. Nodes of equal score keep their order; with `prefers_last_node`, their order is
   reversed. */
static void sort_nodes(struct hr__volcano_session *session, uint32_t preemptor, uint32_t n) {
  uint32_t *list = session->node_list;
  double *scores = session->node_scores;
  bool reversed = session->config->prefers_last_node;
  hr__volcano_spread_prepare(session, preemptor, list, n);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t node = list[i], at = i;
    double score = hr__volcano_score(session, preemptor, node);
    for (; at && (scores[at - 1] < score || (reversed && scores[at - 1] == score)); at--) {
      list[at] = list[at - 1];
      scores[at] = scores[at - 1];
    }
    list[at] = node;
    scores[at] = score;
  }
}

static uint32_t queue_of(const struct hr__volcano_session *session, uint32_t task) {
  return session->snapshot->jobs[session->snapshot->tasks[task].job].queue;
}

/* Whether the preemptor fits on the node now. For other queues, only the resources are checked. */
static bool fits_now(const struct hr__volcano_session *session, enum scope scope, uint32_t preemptor, uint32_t node) {
  if (scope != OTHER_QUEUES && !hr__volcano_allocatable(session, queue_of(session, preemptor), preemptor)) return false;
  if (!hr__volcano_fits_future(session, preemptor, node)) return false;
  if (scope != OTHER_QUEUES && hr__volcano_predicate(session, preemptor, node, NULL) != HR__VOLCANO_FITS) return false;
  return hr__volcano_owner_accepts(session, preemptor, node);
}

/* ---- preempt, node by node -------------------------------------------------------------------------- */

static bool preempt_on_node(struct hr__volcano_session *session, enum scope scope, uint32_t preemptor, uint32_t node) {
  bool reclaims = scope == OTHER_QUEUES;
  uint32_t n = collect_candidates(session, scope, preemptor, node), mark = session->n_log;
  if (reclaims && !n) return false;
  enum hr__volcano_callback callback = reclaims ? HR__VOLCANO_RECLAIMABLE : HR__VOLCANO_PREEMPTABLE;
  uint32_t n_victims = hr__volcano_choose_victims(session, callback, preemptor, n);
  if (!would_fit(session, preemptor, node, session->victims, n_victims)) return false;
  hr__volcano_victims_begin(session, preemptor, session->victims, n_victims);
  /* As in Volcano, reclaim evicts the first victim even if the task fits without that. */
  bool fits = (!reclaims || !n_victims) && fits_now(session, scope, preemptor, node);
  while (!fits && session->victim_heap.count) {
    hr__volcano_evict(session, hr__volcano_pop_victim(session, &session->victim_heap));
    fits = fits_now(session, scope, preemptor, node);
  }
  if (fits)
    hr__volcano_pipeline(session, preemptor, node);
  else
    hr__volcano_undo(session, mark);
  return fits;
}

/* ---- preempt with a comparison of nodes ------------------------------------------------------------- */

/* A plan for one node, with its number of victims. */
struct plan {
  uint32_t node, n_victims;
  int64_t first_priority, priority_sum;
};

/* Finds the victims that are necessary on the node and writes them to session->filtered. The session is unchanged
   afterwards. Returns false if the preemptor cannot be placed. */
static bool plan_on_node(struct hr__volcano_session *session, enum scope scope, uint32_t preemptor, uint32_t node,
                         struct plan *plan) {
  uint32_t n = collect_candidates(session, scope, preemptor, node), mark = session->n_log;
  uint32_t n_victims = hr__volcano_choose_victims(session, HR__VOLCANO_PREEMPTABLE, preemptor, n), n_evicted = 0;
  if (!would_fit(session, preemptor, node, session->victims, n_victims)) return false;
  hr__volcano_victims_begin(session, preemptor, session->victims, n_victims);
  uint32_t *evicted = session->victims; /* the heap has a copy */
  while (session->victim_heap.count) {
    uint32_t task = hr__volcano_pop_victim(session, &session->victim_heap);
    evicted[n_evicted++] = task;
    hr__volcano_evict(session, task);
    if (fits_now(session, scope, preemptor, node)) break;
  }
  hr__volcano_forget(session, mark); /* the evictions are undone one by one below */
  bool accepted = hr__volcano_predicate(session, preemptor, node, NULL) == HR__VOLCANO_FITS;
  if (!n_evicted && !fits_now(session, scope, preemptor, node)) accepted = false;
  *plan = (struct plan){.node = node};
  /* Restore the last victims first, because they have the highest priority. */
  for (uint32_t i = n_evicted; i-- > 0 && accepted;) {
    hr__volcano_restore(session, evicted[i]);
    if (fits_now(session, scope, preemptor, node)) continue;
    hr__volcano_evict(session, evicted[i]);
    hr__volcano_forget(session, mark);
    session->filtered[plan->n_victims++] = evicted[i];
    plan->priority_sum += (int64_t)session->snapshot->tasks[evicted[i]].pod_priority + INT32_MAX + 1;
  }
  for (uint32_t i = 0; i < n_evicted; i++)
    if (session->task_state[evicted[i]] == HR__VOLCANO_RELEASING) hr__volcano_restore(session, evicted[i]);
  if (plan->n_victims) plan->first_priority = session->snapshot->tasks[session->filtered[0]].pod_priority;
  return accepted;
}

/* Whether plan `a` is better: its first victim has a lower priority. Ties are broken by the smaller sum of priorities,
   then by the smaller number of victims. */
static bool is_better(const struct plan *a, const struct plan *b) {
  int64_t first_a = a->n_victims ? a->first_priority : 0, first_b = b->n_victims ? b->first_priority : 0;
  if (first_a != first_b) return first_a < first_b;
  if (a->priority_sum != b->priority_sum) return a->priority_sum < b->priority_sum;
  return a->n_victims < b->n_victims;
}

static uint32_t max_plans(const struct hr__volcano_session *session, uint32_t n_nodes) {
  const struct hr__volcano_config *config = session->config;
  int64_t n = (int64_t)n_nodes * config->candidate_percent / 100;
  if (n < config->min_candidates) n = config->min_candidates;
  if (n > config->max_candidates) n = config->max_candidates;
  return n > (int64_t)n_nodes ? n_nodes : (uint32_t)n;
}

static bool preempt_on_best_node(struct hr__volcano_session *session, enum scope scope, uint32_t preemptor,
                                 uint32_t n_nodes) {
  uint32_t n_plans = 0, wanted = max_plans(session, n_nodes), mark = session->n_log;
  struct plan best = {0}, plan;
  for (uint32_t i = 0; i < n_nodes && n_plans < wanted; i++) {
    if (!plan_on_node(session, scope, preemptor, session->node_list[i], &plan)) continue;
    if (!n_plans++ || is_better(&plan, &best)) best = plan;
  }
  if (!n_plans || !plan_on_node(session, scope, preemptor, best.node, &best)) return false;
  for (uint32_t i = 0; i < best.n_victims; i++) hr__volcano_evict(session, session->filtered[i]);
  if (hr__volcano_predicate(session, preemptor, best.node, NULL) == HR__VOLCANO_UNSCHEDULABLE_FOR_GOOD) {
    hr__volcano_undo(session, mark);
    return false;
  }
  hr__volcano_pipeline(session, preemptor, best.node);
  return true;
}

/* ---- preempt ---------------------------------------------------------------------------------------- */

/* Pipelines a task after the necessary evictions. Returns false if it fits on no node. */
static bool preempt(struct hr__volcano_session *session, enum scope scope, uint32_t preemptor) {
  bool reclaims = scope == OTHER_QUEUES, reversed = reclaims && session->config->prefers_last_node;
  if (session->snapshot->tasks[preemptor].never_preempts) return false;
  if (reclaims && !hr__volcano_preemptive(session, queue_of(session, preemptor), preemptor)) return false;
  uint32_t n = collect_possible_nodes(session, preemptor);
  if (!reclaims && session->config->topology_aware_preemption)
    return preempt_on_best_node(session, scope, preemptor, n);
  if (!reclaims) sort_nodes(session, preemptor, n);
  for (uint32_t i = 0; i < n; i++)
    if (preempt_on_node(session, scope, preemptor, session->node_list[reversed ? n - 1 - i : i])) return true;
  return false;
}

/* Fills the heaps of starving jobs. `all_queues`: the heap of queues gets all queues with valid, enqueued jobs, else
   only those with starving jobs. */
static void collect_starving(struct hr__volcano_session *session, bool all_queues) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  uint32_t *n_jobs = session->scratch_stamp;
  create_job_heaps(session);
  for (uint32_t i = 0; i < snapshot->n_jobs; i++) {
    uint32_t queue = snapshot->jobs[i].queue;
    if (queue == HR__VOLCANO_NONE || session->job_phase[i] == HR__VOLCANO_PHASE_PENDING ||
        !hr__volcano_job_is_valid(session, i))
      continue;
    bool is_starving = hr__volcano_job_is_starving(session, i);
    if ((all_queues || is_starving) && !n_jobs[queue]++) hr__volcano_push_queue(session, &session->queue_heap, queue);
    if (!is_starving) continue;
    hr__volcano_push_job(session, &session->job_heaps[queue], i);
    collect_tasks(session, i, true);
  }
  for (uint32_t i = 0; i < snapshot->n_queues; i++) n_jobs[i] = 0;
}

/* Evicts other jobs of the queue, or jobs of other queues, for a starving job. */
static void preempt_for_job(struct hr__volcano_session *session, enum scope scope, uint32_t job) {
  uint32_t mark = session->n_log;
  while (hr__volcano_job_is_starving(session, job) && session->task_heaps[job].count)
    preempt(session, scope, hr__volcano_pop_task(session, &session->task_heaps[job]));
  if (!hr__volcano_job_is_pipelined(session, job)) {
    hr__volcano_undo(session, mark);
    return;
  }
  hr__volcano_commit(session, mark);
  add_successor(session, job, true);
}

/* Preempts tasks of a job for other tasks of the same job. */
static void preempt_within_job(struct hr__volcano_session *session, uint32_t job) {
  fill_task_heap(session, job, true);
  while (session->task_heaps[job].count) {
    uint32_t mark = session->n_log, task = hr__volcano_pop_task(session, &session->task_heaps[job]);
    if (!preempt(session, SAME_JOB, task)) break;
    hr__volcano_commit(session, mark);
  }
}

void hr__volcano_run_preempt(struct hr__volcano_session *session) {
  collect_starving(session, false);
  while (session->queue_heap.count) {
    uint32_t queue = hr__volcano_pop_queue(session, &session->queue_heap);
    /* The jobs are copied to a list first, because preemption within jobs needs them after the heap is empty. */
    uint32_t n = session->job_heaps[queue].count;
    struct hr__volcano_heap starving = hr__volcano_pool_heap(session, n);
    for (uint32_t i = 0; i < n; i++) starving.items[i] = session->job_heaps[queue].items[i];
    while (session->job_heaps[queue].count)
      preempt_for_job(session, OTHER_JOBS_OF_QUEUE, hr__volcano_pop_job(session, &session->job_heaps[queue]));
    for (uint32_t i = 0; i < n; i++) preempt_within_job(session, starving.items[i]);
  }
}

/* ---- reclaim ---------------------------------------------------------------------------------------- */

void hr__volcano_run_reclaim(struct hr__volcano_session *session) {
  collect_starving(session, true);
  while (session->queue_heap.count) {
    uint32_t queue = hr__volcano_pop_queue(session, &session->queue_heap);
    if (hr__volcano_overused(session, queue)) continue;
    while (session->job_heaps[queue].count)
      preempt_for_job(session, OTHER_QUEUES, hr__volcano_pop_job(session, &session->job_heaps[queue]));
  }
}

/* ---- shuffle ---------------------------------------------------------------------------------------- */

void hr__volcano_run_shuffle(struct hr__volcano_session *session) {
  uint32_t n = hr__volcano_victims(session, session->victims), mark = session->n_log;
  for (uint32_t i = 0; i < n; i++) hr__volcano_evict(session, session->victims[i]);
  hr__volcano_commit(session, mark);
}
