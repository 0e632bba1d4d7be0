/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The actions preempt (jobs of the same queue, then tasks of the same job), reclaim (other queues) and shuffle (tasks
   that plug-ins evict of their own accord).

   A preemptor is pipelined on a node and the victims on this node are evicted, one by one until it fits. The operations
   of a job are committed together if it is pipelined.
   Source: volcano-sh/volcano, pkg/scheduler/actions/{preempt,reclaim,shuffle,utils}. */

#include "policies/volcano/session.h"

#include <stdint.h>

/* Possible victims. */
enum scope { OTHER_JOBS_OF_QUEUE, SAME_JOB, OTHER_QUEUES };

/* ---- Candidates ---- */

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

/* Collects the candidates on a node in session->candidates. Returns their number. */
static uint32_t collect_candidates(struct hr__volcano_session *session, enum scope scope, uint32_t preemptor,
                                   uint32_t node) {
  uint32_t n = 0;
  for (uint32_t at = session->nodes[node].first_task; at != HR__VOLCANO_NONE; at = session->task_next[at])
    if (is_candidate(session, scope, preemptor, at)) session->candidates[n++] = at;
  return n;
}

/* Whether the preemptor fits the node if all victims are evicted. */
static bool would_fit(const struct hr__volcano_session *session, uint32_t preemptor, uint32_t node,
                      const uint32_t *victims, uint32_t n_victims) {
  struct hr__volcano_vector future = hr__volcano_future_idle(session, node);
  for (uint32_t i = 0; i < n_victims; i++) hr__volcano_add(&future, hr__volcano_request(session, victims[i]));
  return hr__volcano_less_equal(hr__volcano_request(session, preemptor), &future);
}

/* Collects the nodes on which evictions may help in session->node_list. Returns their number. */
static uint32_t collect_nodes(struct hr__volcano_session *session, uint32_t preemptor) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < session->snapshot->n_nodes; i++)
    if (hr__volcano_predicate(session, preemptor, i, NULL) != HR__VOLCANO_UNSCHEDULABLE_FOR_GOOD)
      session->node_list[n++] = i;
  return n;
}

/* Sorts the nodes by descending score. Nodes of equal score keep their order, or the reverse of it. */
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

static bool fits_now(const struct hr__volcano_session *session, uint32_t preemptor, uint32_t node) {
  return hr__volcano_allocatable(session, queue_of(session, preemptor), preemptor) &&
         hr__volcano_fits_future(session, preemptor, node) &&
         hr__volcano_predicate(session, preemptor, node, NULL) == HR__VOLCANO_FITS &&
         hr__volcano_owner_accepts(session, preemptor, node);
}

/* ---- preempt, node by node ---- */

static bool preempt_on_node(struct hr__volcano_session *session, enum scope scope, uint32_t preemptor, uint32_t node) {
  uint32_t n = collect_candidates(session, scope, preemptor, node), mark = session->n_log;
  uint32_t n_victims = hr__volcano_choose_victims(session, HR__VOLCANO_PREEMPTABLE, preemptor, n);
  if (!would_fit(session, preemptor, node, session->victims, n_victims)) return false;
  hr__volcano_victims_begin(session, preemptor, session->victims, n_victims);
  bool fits = fits_now(session, preemptor, node);
  while (!fits && session->victim_heap.count) {
    hr__volcano_evict(session, hr__volcano_victims_pop(session));
    fits = fits_now(session, preemptor, node);
  }
  if (fits)
    hr__volcano_pipeline(session, preemptor, node);
  else
    hr__volcano_undo(session, mark);
  return fits;
}

/* ---- preempt with a comparison of nodes ---- */

/* A plan for one node: the victims are session->candidates [n_victims]. */
struct plan {
  uint32_t node, n_victims;
  int64_t first_priority, priority_sum;
};

/* Tries which victims are needed on the node; the session is unchanged afterwards. Returns false if the preemptor
   cannot be placed. The victims needed are in session->filtered. */
static bool plan_on_node(struct hr__volcano_session *session, enum scope scope, uint32_t preemptor, uint32_t node,
                         struct plan *plan) {
  uint32_t n = collect_candidates(session, scope, preemptor, node), mark = session->n_log;
  uint32_t n_victims = hr__volcano_choose_victims(session, HR__VOLCANO_PREEMPTABLE, preemptor, n), n_evicted = 0;
  if (!would_fit(session, preemptor, node, session->victims, n_victims)) return false;
  hr__volcano_victims_begin(session, preemptor, session->victims, n_victims);
  uint32_t *evicted = session->victims; /* the heap has a copy */
  while (session->victim_heap.count) {
    uint32_t task = hr__volcano_victims_pop(session);
    evicted[n_evicted++] = task;
    hr__volcano_evict(session, task);
    if (fits_now(session, preemptor, node)) break;
  }
  hr__volcano_forget(session, mark); /* the evictions are undone one by one below */
  bool accepted = hr__volcano_predicate(session, preemptor, node, NULL) == HR__VOLCANO_FITS;
  if (!n_evicted && !fits_now(session, preemptor, node)) accepted = false;
  *plan = (struct plan){.node = node};
  /* Spare the last victims first: they have the highest priority. */
  for (uint32_t i = n_evicted; i-- > 0 && accepted;) {
    hr__volcano_restore(session, evicted[i]);
    if (fits_now(session, preemptor, node)) continue;
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

/* Whether plan `a` is better: the first victim has a lower priority, then the sum of priorities, then the number of
   victims is smaller. */
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

/* ---- preempt ---- */

static bool preempt(struct hr__volcano_session *session, enum scope scope, uint32_t preemptor) {
  if (session->snapshot->tasks[preemptor].never_preempts) return false;
  uint32_t n = collect_nodes(session, preemptor);
  if (session->config->topology_aware_preemption) return preempt_on_best_node(session, scope, preemptor, n);
  sort_nodes(session, preemptor, n);
  for (uint32_t i = 0; i < n; i++)
    if (preempt_on_node(session, scope, preemptor, session->node_list[i])) return true;
  return false;
}

/* Fills the heap of pending tasks of a job. */
static void collect_tasks(struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  struct hr__volcano_heap *heap = &session->task_heaps[job];
  heap->count = 0;
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++)
    if (session->task_state[i] == HR__VOLCANO_PENDING && !session->snapshot->tasks[i].gated)
      hr__volcano_push_task(session, heap, i);
}

/* Fills the heaps of starving jobs. `all_queues`: the heap of queues has all queues with jobs that take part, else
   those with starving jobs. */
static void collect_starving(struct hr__volcano_session *session, bool all_queues) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  uint32_t *n_jobs = session->scratch_stamp;
  for (uint32_t i = 0; i < snapshot->n_queues; i++) n_jobs[i] = 0;
  for (uint32_t i = 0; i < snapshot->n_jobs; i++)
    if (snapshot->jobs[i].queue != HR__VOLCANO_NONE) n_jobs[snapshot->jobs[i].queue]++;
  for (uint32_t i = 0; i < snapshot->n_queues; i++) {
    session->job_heaps[i] = hr__volcano_pool_heap(session, n_jobs[i]);
    n_jobs[i] = 0;
  }
  session->stamp = 0;
  session->queue_heap.count = 0;
  for (uint32_t i = 0; i < snapshot->n_jobs; i++) {
    uint32_t queue = snapshot->jobs[i].queue;
    if (queue == HR__VOLCANO_NONE || session->job_phase[i] == HR__VOLCANO_PHASE_PENDING ||
        !hr__volcano_job_is_valid(session, i))
      continue;
    bool is_starving = hr__volcano_job_is_starving(session, i);
    if ((all_queues || is_starving) && !n_jobs[queue]++) hr__volcano_push_queue(session, &session->queue_heap, queue);
    if (!is_starving) continue;
    hr__volcano_push_job(session, &session->job_heaps[queue], i);
    session->task_heaps[i] = hr__volcano_pool_heap(session, snapshot->jobs[i].n_tasks);
    collect_tasks(session, i);
  }
  for (uint32_t i = 0; i < snapshot->n_queues; i++) n_jobs[i] = 0;
}

/* In a lasting session, adds a waiting job like the one that was served. */
static void add_successor(struct hr__volcano_session *session, uint32_t job) {
  if (!session->owner || !session->owner->successor) return;
  uint32_t next = session->owner->successor(session->owner->self, job);
  if (next == HR__VOLCANO_NONE) return;
  session->task_heaps[next] = hr__volcano_pool_heap(session, session->snapshot->jobs[next].n_tasks);
  collect_tasks(session, next);
  hr__volcano_push_job(session, &session->job_heaps[session->snapshot->jobs[next].queue], next);
}

/* Preempts other jobs of the queue for a starving job. */
static void preempt_for_job(struct hr__volcano_session *session, uint32_t job) {
  uint32_t mark = session->n_log;
  while (hr__volcano_job_is_starving(session, job) && session->task_heaps[job].count)
    preempt(session, OTHER_JOBS_OF_QUEUE, hr__volcano_pop_task(session, &session->task_heaps[job]));
  if (!hr__volcano_job_is_pipelined(session, job)) {
    hr__volcano_undo(session, mark);
    return;
  }
  hr__volcano_commit(session, mark);
  add_successor(session, job);
}

/* Preempts tasks of the job for others of the same job. */
static void preempt_within_job(struct hr__volcano_session *session, uint32_t job) {
  collect_tasks(session, job);
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
    /* The heap is emptied into a list first, because preemption within jobs needs the list. */
    uint32_t n = session->job_heaps[queue].count;
    struct hr__volcano_heap starving = hr__volcano_pool_heap(session, n);
    for (uint32_t i = 0; i < n; i++) starving.items[i] = session->job_heaps[queue].items[i];
    while (session->job_heaps[queue].count)
      preempt_for_job(session, hr__volcano_pop_job(session, &session->job_heaps[queue]));
    for (uint32_t i = 0; i < n; i++) preempt_within_job(session, starving.items[i]);
  }
}

/* ---- reclaim ---- */

static bool would_fit_now(const struct hr__volcano_session *session, uint32_t reclaimer, uint32_t node) {
  return hr__volcano_fits_future(session, reclaimer, node) && hr__volcano_owner_accepts(session, reclaimer, node);
}

static bool reclaim_on_node(struct hr__volcano_session *session, uint32_t reclaimer, uint32_t node) {
  uint32_t n = collect_candidates(session, OTHER_QUEUES, reclaimer, node), mark = session->n_log;
  if (!n) return false;
  uint32_t n_victims = hr__volcano_choose_victims(session, HR__VOLCANO_RECLAIMABLE, reclaimer, n);
  if (!would_fit(session, reclaimer, node, session->victims, n_victims)) return false;
  hr__volcano_victims_begin(session, reclaimer, session->victims, n_victims);
  bool fits = false;
  while (!fits && session->victim_heap.count) {
    hr__volcano_evict(session, hr__volcano_victims_pop(session));
    fits = would_fit_now(session, reclaimer, node);
  }
  if (!fits && !would_fit_now(session, reclaimer, node)) {
    hr__volcano_undo(session, mark);
    return false;
  }
  hr__volcano_pipeline(session, reclaimer, node);
  return true;
}

static void reclaim_for_task(struct hr__volcano_session *session, uint32_t task) {
  if (session->snapshot->tasks[task].never_preempts) return;
  if (!hr__volcano_preemptive(session, queue_of(session, task), task)) return;
  uint32_t n = collect_nodes(session, task);
  bool reversed = session->config->prefers_last_node;
  for (uint32_t i = 0; i < n; i++)
    if (reclaim_on_node(session, task, session->node_list[reversed ? n - 1 - i : i])) return;
}

static void reclaim_for_job(struct hr__volcano_session *session, uint32_t job) {
  uint32_t mark = session->n_log;
  while (hr__volcano_job_is_starving(session, job) && session->task_heaps[job].count)
    reclaim_for_task(session, hr__volcano_pop_task(session, &session->task_heaps[job]));
  if (!hr__volcano_job_is_pipelined(session, job)) {
    hr__volcano_undo(session, mark);
    return;
  }
  hr__volcano_commit(session, mark);
  add_successor(session, job);
}

void hr__volcano_run_reclaim(struct hr__volcano_session *session) {
  collect_starving(session, true);
  while (session->queue_heap.count) {
    uint32_t queue = hr__volcano_pop_queue(session, &session->queue_heap);
    if (hr__volcano_overused(session, queue)) continue;
    while (session->job_heaps[queue].count)
      reclaim_for_job(session, hr__volcano_pop_job(session, &session->job_heaps[queue]));
  }
}

/* ---- shuffle ---- */

void hr__volcano_run_shuffle(struct hr__volcano_session *session) {
  uint32_t n = hr__volcano_victims(session, session->victims), mark = session->n_log;
  for (uint32_t i = 0; i < n; i++) hr__volcano_evict(session, session->victims[i]);
  hr__volcano_commit(session, mark);
}
