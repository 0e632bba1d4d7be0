/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The policy `volcano`: the scheduler Volcano, with a session in each period in which something changed, and a cluster
   autoscaler.

   A job is a PodGroup whose tasks are pods; it runs when all of them are bound. A session binds and evicts pods; the
   policy then stops each job of which a pod was evicted, and starts each job whose pods were bound. Jobs that wait for
   resources of evicted pods get them in the next session. See volcano_policy.h for the layout.
   Source: volcano-sh/volcano, pkg/scheduler. */

#include "policies/volcano/volcano_policy.h"

#include "headroom/unstable/systems/systems.h"

#include <stdio.h>

/* The configuration without a section. */
static const struct hr_volcano_config defaults = {
    .period_us = HR_SECOND_US, .pods_per_node = 110, .idle_release_us = 600 * HR_SECOND_US};

/* Room of the first session: slots and tasks. */
enum { MIN_JOBS = 256, MIN_TASKS = 1024 };

static bool create_session(struct hr__volcano_policy *volcano) {
  uint32_t n_nodes = volcano->pods.n_nodes;
  volcano->nodes = hr_arena_alloc(volcano->arena, (n_nodes + 1) * sizeof *volcano->nodes);
  if (!volcano->nodes) return false;
  for (uint32_t i = 0; i < n_nodes; i++) hr__volcano_update_node(volcano, i);
  volcano->snapshot.nodes = volcano->nodes;
  volcano->snapshot.n_nodes = n_nodes;
  volcano->snapshot.n_namespaces = 1;
  volcano->owner = hr__volcano_owner_of_policy;
  volcano->owner.self = volcano;
  volcano->owner.sums = volcano->sums;
  volcano->free_slot = HR_NONE;
  volcano->n_slots = 1; /* slot 0 votes */
  return hr__volcano_make_room(volcano, MIN_JOBS, MIN_TASKS);
}

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)error;
  struct hr__volcano_policy *volcano = hr_arena_alloc(env->arena, sizeof *volcano);
  if (!(*self = volcano)) return HR_NO_MEMORY;
  volcano->arena = env->arena;
  volcano->config = env->systems && env->systems->volcano ? env->systems->volcano : &defaults;
  volcano->wake_us = volcano->release_wake_us = HR_NEVER_US;
  volcano->store = hr_tree_store_create(env->arena);
  if (!volcano->store ||
      !hr__pods_init(&volcano->pods, env, volcano->config->pods_per_node, volcano->config->idle_release_us))
    return HR_NO_MEMORY;
  volcano->pods.resizes = (env->jobs->min_gpus || env->jobs->max_gpus) && !volcano->pods.requests;
  if (!hr__volcano_configure(volcano, env->jobs) || !create_session(volcano)) return HR_NO_MEMORY;
  volcano->scales = hr__pods_are_scaled(&volcano->pods, env);
  return HR_OK;
}

static uint32_t abilities(void *self) {
  const struct hr__volcano_policy *volcano = self;
  return HR_POLICY_REASONS_BY_JOB | (volcano->evicts ? (uint32_t)HR_POLICY_PREEMPTS : 0) |
         (volcano->pods.resizes ? (uint32_t)HR_POLICY_RESIZES : 0) |
         (volcano->pods.resizes && !volcano->config->restarts_jobs ? (uint32_t)HR_POLICY_SHRINKS : 0) |
         (volcano->scales ? (uint32_t)HR_POLICY_MANAGES_CAPACITY : 0);
}

/* ---- Events ---- */

static bool submit(struct hr__volcano_policy *volcano, const struct hr_view *view, hr_job job) {
  int32_t priority = view->jobs->priority ? view->jobs->priority[job.id] : 0;
  uint32_t queue = hr__volcano_queue_of(volcano, view->jobs, job);
  uint32_t kind = queue == HR_NONE ? HR_NONE : hr__pods_kind(&volcano->pods, view, job, queue, priority);
  if (kind == HR_NONE || !hr__volcano_make_kind(volcano, kind)) return false;
  volcano->kind_of[job.id] = kind;
  if (volcano->pods.kinds[kind].is_empty) return hr__job_list_add(&volcano->pods.idle_jobs, volcano->arena, job);
  if (volcano->pods.kinds[kind].never_fits) return hr__job_list_add(&volcano->pods.unfit, volcano->arena, job);
  return hr__volcano_enter(volcano, job, true);
}

/* A running job ends or stops: its pods leave the session and, unless they are set aside, the ledger. */
static void stop(struct hr__volcano_policy *volcano, hr_job job, bool is_aside) {
  uint32_t slot = hr__volcano_slot_of(volcano, job);
  const struct hr__volcano_kind *kind = &volcano->kinds[volcano->kind_of[job.id]];
  if (slot == HR_NONE) return;
  if (kind->is_elastic)
    hr__volcano_elastic_end(volcano, slot);
  else
    hr__volcano_subtract(&volcano->sums[kind->queue].allocated, &kind->whole);
  hr__volcano_subtract(&volcano->sums[kind->queue].request, &kind->whole);
  hr__volcano_free_slot(volcano, slot);
  if (is_aside && !kind->is_elastic)
    hr__pods_drop(&volcano->pods, job);
  else
    hr__pods_cut(&volcano->pods, job, HR_NONE, false);
}

static void forget(struct hr__volcano_policy *volcano, hr_job job) {
  volcano->sums[volcano->kinds[volcano->kind_of[job.id]].queue].n_jobs--;
}

/* A waiting job was cancelled. Between sessions it has no slot. */
static bool withdraw(struct hr__volcano_policy *volcano, hr_job job) {
  if (hr__pods_lists(&volcano->pods, job)) return true; /* it starts now, or is rejected now */
  hr__volcano_leave(volcano, job);
  forget(volcano, job);
  return hr__job_list_add(&volcano->pods.withdrawn, volcano->arena, job);
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__volcano_policy *volcano = self;
  volcano->view = view;
  if (event->kind != HR_EVENT_TIMER) volcano->changed = true;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return submit(volcano, view, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_END:
    if (hr__volcano_slot_of(volcano, event->job) != HR_NONE) forget(volcano, event->job);
    stop(volcano, event->job, false);
    return HR_OK;
  case HR_EVENT_INTERRUPT:
    stop(volcano, event->job, false);
    return hr__volcano_enter(volcano, event->job, false) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_RESIZE:
    hr__volcano_elastic_lose(volcano, event->job);
    return HR_OK;
  case HR_EVENT_WITHDRAW:
    return withdraw(volcano, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_NODE_UP:
  case HR_EVENT_NOTICE:
  case HR_EVENT_NODE_DOWN:
    hr__pods_node_event(&volcano->pods, event);
    if (event->kind == HR_EVENT_NOTICE) {
      hr__volcano_elastic_notice(volcano, event->node);
      return HR_OK; /* its pods still run */
    }
    hr__volcano_update_node(volcano, event->node.id);
    hr__volcano_set_node(volcano->session, event->node.id);
    return HR_OK;
  default:
    return HR_OK;
  }
}

/* ---- What a session decided ---- */

static void stop_evicted(struct hr__volcano_policy *volcano) {
  struct hr__volcano_id_list list = hr__volcano_evictions(volcano->session);
  for (uint32_t i = 0; i < list.n_ids && volcano->status == HR_OK; i++) {
    uint32_t slot = volcano->tasks[list.ids[i]].job;
    if (slot == HR__VOLCANO_NONE) continue; /* another pod of the job was evicted, too */
    volcano->changed = true;
    if (hr__volcano_elastic_shrink(volcano, list.ids[i])) continue;
    hr_job job = volcano->slots[slot].job;
    stop(volcano, job, true);
    volcano->status = hr_moves_requeue(volcano->moves, job, HR_REASON_PREEMPTED);
    if (volcano->status == HR_OK && !hr__volcano_enter(volcano, job, false)) volcano->status = HR_NO_MEMORY;
  }
}

/* Whether the pods of a waiting job that it needs to run were bound. */
static bool is_bound(const struct hr__volcano_policy *volcano, uint32_t slot) {
  return (int64_t)volcano->session->job_count[slot][HR__VOLCANO_BINDING] >= volcano->jobs[slot].min_available;
}

static void start(struct hr__volcano_policy *volcano, uint32_t slot) {
  hr_job job = volcano->slots[slot].job;
  struct hr__volcano_kind *kind = &volcano->kinds[volcano->slots[slot].kind];
  struct hr_placement placement;
  if (!hr__pods_placement(&volcano->pods, job, &placement)) {
    volcano->status = HR_NO_MEMORY;
    return;
  }
  bool is_first = volcano->n_listed == 1 && kind->waiting[0].count + kind->waiting[1].count == 1;
  hr__volcano_leave(volcano, job);
  if (!hr__pods_have_memory(&volcano->pods, job, &placement)) {
    forget(volcano, job);
    hr__volcano_free_slot(volcano, slot);
    hr__pods_cut(&volcano->pods, job, HR_NONE, false);
    volcano->status = hr_moves_reject(volcano->moves, job, HR_REASON_GPU_MEMORY);
    return;
  }
  volcano->slots[slot].is_running = true;
  volcano->changed = true; /* queues hold more */
  hr__volcano_settle(volcano->session, slot);
  if (!kind->is_elastic)
    hr__volcano_add(&volcano->sums[kind->queue].allocated, &kind->whole);
  else if (!hr__volcano_elastic_begin(volcano, slot))
    volcano->status = HR_NO_MEMORY;
  hr__volcano_add(&volcano->sums[kind->queue].request, &kind->whole);
  if (volcano->status != HR_OK) return;
  volcano->status = hr_moves_start(volcano->moves, job, &placement, is_first ? HR_REASON_IN_ORDER : HR_REASON_POLICY);
}

/* Starts the jobs that were bound, and frees the slots of all others that wait. */
static void settle(struct hr__volcano_policy *volcano) {
  for (uint32_t i = 0; i < volcano->n_fresh && volcano->status == HR_OK; i++) {
    uint32_t slot = volcano->fresh[i];
    if (is_bound(volcano, slot)) {
      start(volcano, slot);
      continue;
    }
    hr_job job = volcano->slots[slot].job;
    hr__volcano_free_slot(volcano, slot);
    hr__pods_cut(&volcano->pods, job, HR_NONE, true);
  }
  volcano->n_fresh = 0;
}

/* ---- A session ---- */

static enum hr_status check(const struct hr__volcano_policy *volcano) {
  const char *violation = hr__volcano_check_binds(volcano->session);
  if (!violation) return HR_OK;
  fprintf(stderr, "volcano: %s\n", violation);
  return HR_INTERNAL;
}

static void run_session(struct hr__volcano_policy *volcano) {
  uint32_t n_jobs = volcano->snapshot.n_jobs, n_tasks = volcano->snapshot.n_tasks;
  if ((volcano->is_full || volcano->n_slots + volcano->n_listed > n_jobs) &&
      !hr__volcano_make_room(volcano, 2 * n_jobs + volcano->n_listed, 2 * n_tasks)) {
    volcano->status = HR_NO_MEMORY;
    return;
  }
  volcano->rules.now_us = volcano->view->now_us;
  hr__volcano_refresh(volcano->session);
  hr__volcano_fill(volcano);
  if (volcano->enqueues && volcano->status == HR_OK) hr__volcano_enqueue(volcano);
  if (volcano->status != HR_OK) return;
  if (volcano->n_fresh || volcano->n_missing) hr__volcano_run(volcano->session);
  hr__volcano_make_pods(volcano);
  if (volcano->status == HR_OK) volcano->status = check(volcano);
  if (volcano->status == HR_OK) stop_evicted(volcano);
  if (volcano->status == HR_OK) hr__volcano_elastic_settle(volcano);
  if (volcano->status == HR_OK) settle(volcano);
  if (volcano->is_full) volcano->changed = true;
}

/* Whether the autoscaler may be asked for this request of a queue, which is then counted. */
static bool may_ask(struct hr__volcano_policy *volcano, uint32_t at, const struct hr__volcano_vector *request) {
  const struct hr__volcano_queue *queue = &volcano->queues[at];
  double gpus = request->amount[HR__VOLCANO_GPU];
  double asked = volcano->asked[at] + volcano->sums[at].allocated.amount[HR__VOLCANO_GPU] + gpus;
  bool is_limited = queue->has_capability && hr__volcano_has(&queue->capability, HR__VOLCANO_GPU);
  if (!queue->is_open || (is_limited && asked > queue->capability.amount[HR__VOLCANO_GPU])) return false;
  volcano->asked[at] += gpus;
  return true;
}

/* The waiting jobs for the autoscaler, kind by kind, within the limits of their queues; then the running jobs that
   could have more pods. */
static hr_job next_waiting(void *self, bool fits, uint32_t *kind) {
  struct hr__volcano_policy *volcano = self;
  for (; volcano->scale_at < volcano->n_listed; volcano->scale_at += volcano->scale_phase == 0) {
    struct hr__volcano_kind *of = &volcano->kinds[volcano->listed[volcano->scale_at]];
    uint32_t seen = 2 * of->kind + volcano->scale_phase;
    struct hr_job_tree *tree = &of->waiting[volcano->scale_phase];
    bool found = seen != *kind ? hr_job_tree_first(tree, &volcano->scale_entry)
                               : fits && hr_job_tree_next(tree, volcano->scale_entry.key, volcano->scale_entry.job,
                                                          INT64_MAX, &volcano->scale_entry);
    *kind = seen;
    if (found && may_ask(volcano, of->queue, &of->minimum)) return volcano->scale_entry.job;
    volcano->scale_phase = !volcano->scale_phase;
  }
  while (volcano->scale_elastic < volcano->n_elastic) {
    const struct hr__volcano_slot *slot = &volcano->slots[volcano->elastic[volcano->scale_elastic++]];
    const struct hr__volcano_kind *of = &volcano->kinds[slot->kind];
    if (slot->held < of->n_pods && !slot->is_leaving && may_ask(volcano, of->queue, &of->each)) return slot->job;
  }
  return (hr_job){HR_NONE};
}

static hr_job next_for_autoscaler(void *self, bool fits, uint32_t *kind) {
  struct hr__volcano_policy *volcano = self;
  hr_job job = next_waiting(self, fits, &volcano->scale_seen);
  if (job.id != HR_NONE) *kind = volcano->kind_of[job.id];
  return job;
}

static void scale(struct hr__volcano_policy *volcano) {
  volcano->scale_at = volcano->scale_phase = volcano->scale_elastic = 0;
  volcano->scale_seen = HR_NONE;
  for (uint32_t i = 0; i < volcano->snapshot.n_queues; i++) volcano->asked[i] = 0;
  volcano->status = hr__pods_scale(&volcano->pods, volcano->view, volcano->moves, next_for_autoscaler, volcano,
                                   &volcano->release_wake_us);
}

/* Whether a session may change anything: a job waits, or could have more pods. */
static bool has_work(const struct hr__volcano_policy *volcano) {
  return volcano->n_listed || volcano->n_missing;
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__volcano_policy *volcano = self;
  int64_t period_us = volcano->config->period_us;
  volcano->view = view;
  volcano->moves = moves;
  volcano->status = hr__pods_settle_lists(&volcano->pods, moves);
  if (volcano->changed && has_work(volcano) && view->now_us % period_us == 0 && volcano->status == HR_OK) {
    volcano->changed = false;
    run_session(volcano);
  }
  if (volcano->scales && volcano->status == HR_OK) scale(volcano);
  int64_t wake_us = volcano->scales ? volcano->release_wake_us : HR_NEVER_US;
  if (volcano->changed && has_work(volcano)) {
    int64_t next_us = (view->now_us / period_us + 1) * period_us;
    if (next_us < wake_us) wake_us = next_us;
  }
  if (volcano->status != HR_OK || wake_us == HR_NEVER_US) return volcano->status;
  if (wake_us == volcano->wake_us && volcano->wake_us > view->now_us) return HR_OK;
  volcano->wake_us = wake_us;
  return hr_moves_wake_at(moves, wake_us);
}

/* ---- Reasons ---- */

/* Whether the queue of a job has no room for its minimum. */
static bool is_over_quota(const struct hr__volcano_policy *volcano, const struct hr__volcano_kind *kind) {
  const struct hr__volcano_session *session = volcano->session;
  return (session->proportion && !hr__volcano_has_room(&session->proportion[kind->queue], &kind->minimum)) ||
         (session->capacity && !hr__volcano_has_room(&session->capacity[kind->queue], &kind->minimum));
}

static void explain(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  struct hr__volcano_policy *volcano = self;
  const struct hr__volcano_kind *waiting = &volcano->kinds[volcano->kind_of[job.id]];
  if (hr__pods_pool_that_fits(&volcano->pods, job, volcano->kind_of[job.id]) == HR_NONE) {
    hr_view_lack(view, job, wait);
    if (waiting->is_elastic) wait->asked_milli = (uint64_t)waiting->minimum.amount[HR__VOLCANO_GPU];
  } else if (volcano->changed) {
    wait->reason = HR_WAIT_REASON_TURN;
    wait->until_us = volcano->wake_us;
  } else if (is_over_quota(volcano, waiting) || hr__volcano_overused(volcano->session, waiting->queue)) {
    wait->reason = HR_WAIT_REASON_QUOTA;
    wait->quota = HR_QUOTA_FALLBACK;
  }
}

static void describe(void *self, const struct hr_view *view, hr_job job, char *text, size_t size) {
  struct hr__volcano_policy *volcano = self;
  const struct hr__volcano_kind *kind = &volcano->kinds[volcano->kind_of[job.id]];
  const struct hr__job_kind *of = &volcano->pods.kinds[kind->kind];
  uint32_t n = 0, fewest = 0;
  (void)view;
  if (volcano->phase_of[job.id] == HR__VOLCANO_WAITS_PENDING) {
    snprintf(text, size, "PodGroup is Pending: %s",
             is_over_quota(volcano, kind) ? "queue resource quota insufficient" : "resource in cluster is overused");
    return;
  }
  for (uint32_t i = 0; i < volcano->pods.n_pools && n == 0; i++) {
    n = of->shapes[i].n_pods;
    fewest = of->shapes[i].fewest;
  }
  struct hr__pod_lacks lacks = hr__pods_lacks(&volcano->pods, kind->kind, 0);
  int used = snprintf(text, size,
                      "%u/%u tasks in gang unschedulable: pod group is not ready, %u Pending, %u minAvailable; %u/%u "
                      "nodes are available:",
                      fewest, n, n, fewest, lacks.fits, lacks.n_nodes);
  if (used > 0)
    hr__pods_put_lacks(&volcano->pods, job, &lacks, volcano->config->gpu_resource, text, size, (size_t)used);
}

HR_POLICY(volcano) = {HR_POLICY_HEAD,
                      .name = "volcano",
                      .summary = "Volcano: sessions with gangs, queues by weight or capacity, preemption and reclaim",
                      .params = hr__pod_params,
                      .create = create,
                      .observe = observe,
                      .decide = decide,
                      .abilities = abilities,
                      .explain = explain,
                      .describe = describe};
