/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The policy `kubernetes`: kube-scheduler with the plug-ins NodeResourcesFit, NodeResourcesBalancedAllocation and
   DefaultPreemption, and a cluster autoscaler.

   Each task of a job is a pod. Pods are scheduled one at a time; a job runs when all its pods are bound. The engine
   starts a job as a whole, so pods that are bound earlier either hold their GPUs only in the ledger of this policy
   (`partial_jobs` hold), or wait with the others. Evicting a pod stops its job, which enters the queue again.
   See kubernetes_policy.h for the layout. Source: kubernetes/kubernetes, pkg/scheduler. */

#include "policies/kubernetes/kubernetes_policy.h"

#include "headroom/unstable/systems/systems.h"

#include <stdio.h>

/* The configuration of a scenario without the section `kubernetes`. */
static const struct hr_kubernetes_config defaults = {.fit_weight = 1,
                                                     .balanced_weight = 1,
                                                     .preempts = true,
                                                     .initial_backoff_us = HR_SECOND_US,
                                                     .max_backoff_us = 10 * HR_SECOND_US,
                                                     .pods_per_node = 110,
                                                     .idle_release_us = 600 * HR_SECOND_US};

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)error;
  struct hr__kube_policy *kube = hr_arena_alloc(env->arena, sizeof *kube);
  if (!(*self = kube)) return HR_NO_MEMORY;
  kube->arena = env->arena;
  kube->config = env->systems && env->systems->kubernetes ? env->systems->kubernetes : &defaults;
  kube->seed = kube->config->seed ? kube->config->seed : env->seed;
  kube->wake_us = HR_NEVER_US;
  kube->store = hr_tree_store_create(env->arena);
  kube->kind_of = hr_arena_alloc_by_job(env->arena, env->jobs->n_jobs, sizeof *kube->kind_of);
  kube->entered_us = hr_arena_alloc_by_job(env->arena, env->jobs->n_jobs, sizeof *kube->entered_us);
  kube->started_us = hr_arena_alloc_by_job(env->arena, env->jobs->n_jobs, sizeof *kube->started_us);
  if (!kube->store || !kube->kind_of || !kube->entered_us || !kube->started_us) return HR_NO_MEMORY;
  if (!hr__pods_init(&kube->pods, env, kube->config->pods_per_node, kube->config->idle_release_us)) return HR_NO_MEMORY;
  kube->scales = hr__pods_are_scaled(&kube->pods, env);
  return hr__kube_init_scores(kube) ? HR_OK : HR_NO_MEMORY;
}

static uint32_t abilities(void *self) {
  const struct hr__kube_policy *kube = self;
  return HR_POLICY_PREEMPTS | HR_POLICY_REASONS_BY_JOB | (kube->scales ? (uint32_t)HR_POLICY_MANAGES_CAPACITY : 0);
}

/* ---- Events ---- */

static bool submit(struct hr__kube_policy *kube, const struct hr_view *view, hr_job job) {
  int32_t priority = view->jobs->priority ? view->jobs->priority[job.id] : 0;
  uint32_t kind = hr__pods_kind(&kube->pods, view, job, 0, priority);
  if (kind == HR_NONE) return false;
  if (kube->pods.kinds[kind].is_empty) return hr__job_list_add(&kube->pods.idle_jobs, kube->arena, job);
  if (kube->pods.kinds[kind].never_fits) return hr__job_list_add(&kube->pods.unfit, kube->arena, job);
  return hr__kube_enter(kube, job, kind);
}

/* Removes all pods of a job from their nodes. */
static void unbind(struct hr__kube_policy *kube, hr_job job) {
  if (hr__pods_first(&kube->pods, job) == HR_NONE) return;
  hr__kube_freed_by(kube, job);
  (void)hr__kube_count_priority(kube, kube->kind_of[job.id], hr__kube_n_pods(kube, job), -1);
  hr__pods_cut(&kube->pods, job, HR_NONE, false);
}

/* Waiting jobs lose all pods that they hold if one of these pods is on a node that leaves. */
static void drop_held(struct hr__kube_policy *kube, const struct hr_view *view, uint32_t node) {
  uint32_t at = kube->pods.nodes[node].first_pod;
  while (at != HR_NONE) {
    hr_job job = {kube->pods.pods[at].job};
    if (view->state[job.id] == HR_JOB_WAITING) {
      unbind(kube, job);
      at = kube->pods.nodes[node].first_pod;
    } else {
      at = kube->pods.pods[at].next_on_node;
    }
  }
}

/* A waiting job was withdrawn: it is not needed any more. */
static bool withdraw(struct hr__kube_policy *kube, hr_job job) {
  if (hr__pods_lists(&kube->pods, job)) return true; /* it starts now, or is rejected now */
  hr__kube_leave(kube, job);
  unbind(kube, job);
  return hr__job_list_add(&kube->pods.withdrawn, kube->arena, job);
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__kube_policy *kube = self;
  kube->view = view;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return submit(kube, view, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_END:
    unbind(kube, event->job);
    return HR_OK;
  case HR_EVENT_INTERRUPT:
    unbind(kube, event->job);
    return hr__kube_enter(kube, event->job, kube->kind_of[event->job.id]) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_WITHDRAW:
    return withdraw(kube, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_NODE_UP:
    hr__pods_node_event(&kube->pods, event);
    hr__kube_freed(kube, event->node.id);
    return HR_OK;
  case HR_EVENT_NOTICE:
  case HR_EVENT_NODE_DOWN:
    drop_held(kube, view, event->node.id);
    hr__pods_node_event(&kube->pods, event);
    return HR_OK;
  default:
    return HR_OK;
  }
}

/* ---- One job ---- */

/* Stops the jobs that were evicted for a pod. They enter the queue again. */
static void stop_evicted(struct hr__kube_policy *kube) {
  for (uint32_t i = 0; i < kube->evicted.count && kube->status == HR_OK; i++) {
    hr_job job = kube->evicted.jobs[i];
    uint32_t kind = kube->kind_of[job.id];
    bool runs = kube->view->state[job.id] == HR_JOB_RUNNING;
    hr__kube_freed_by(kube, job);
    (void)hr__kube_count_priority(kube, kind, hr__kube_n_pods(kube, job), -1);
    hr__pods_drop(&kube->pods, job);
    if (!runs) continue;
    kube->status = hr_moves_requeue(kube->moves, job, HR_REASON_PREEMPTED);
    if (kube->status == HR_OK && !hr__kube_enter(kube, job, kind)) kube->status = HR_NO_MEMORY;
  }
}

/* Starts a job whose pods are all bound. */
static void start(struct hr__kube_policy *kube, hr_job job, bool passed_others) {
  struct hr_placement placement;
  if (!hr__pods_placement(&kube->pods, job, &placement)) {
    kube->status = HR_NO_MEMORY;
    return;
  }
  hr__kube_leave(kube, job);
  if (!hr__pods_have_memory(&kube->pods, job, &placement)) {
    unbind(kube, job);
    kube->status = hr_moves_reject(kube->moves, job, HR_REASON_GPU_MEMORY);
    return;
  }
  kube->started_us[job.id] = kube->view->now_us;
  kube->status = hr_moves_start(kube->moves, job, &placement, passed_others ? HR_REASON_BACKFILL : HR_REASON_IN_ORDER);
}

/* Tries the first job of a kind. Returns whether it started. */
static bool try_job(struct hr__kube_policy *kube, uint32_t kind, bool passed_others) {
  hr_job job = kube->queues[kind].head.job;
  bool any_is_lower = kube->n_priorities > 1, holds = kube->config->partial == HR_KUBERNETES_HOLD, placed = false;
  uint32_t before = hr__kube_n_pods(kube, job);
  kube->was_blocked = false;
  kube->evicted.count = 0;
  if (any_is_lower || holds || hr__kube_may_fit(kube, kind)) placed = hr__kube_place(kube, job, kind);
  if (kube->status != HR_OK) return false;
  uint32_t n_new = hr__kube_n_pods(kube, job) - before;
  if (n_new && !hr__kube_count_priority(kube, kind, n_new, 1)) kube->status = HR_NO_MEMORY;
  if (kube->evicted.count) stop_evicted(kube);
  if (placed && kube->status == HR_OK) start(kube, job, passed_others);
  return placed;
}

/* ---- A pass ---- */

static void run_queue(struct hr__kube_policy *kube) {
  bool passed_others = false, any_evicted = true;
  while (any_evicted && kube->status == HR_OK) {
    any_evicted = false;
    hr__kube_collect(kube);
    passed_others = passed_others || kube->n_heap < kube->n_listed;
    for (uint32_t kind = hr__kube_next(kube); kind != HR_NONE; kind = hr__kube_next(kube)) {
      bool started = try_job(kube, kind, passed_others);
      if (kube->status != HR_OK) return;
      any_evicted = any_evicted || kube->evicted.count;
      if (started) {
        hr__kube_again(kube, kind, false);
        continue;
      }
      passed_others = true;
      if (hr__pods_first(&kube->pods, kube->queues[kind].head.job) != HR_NONE && kube->queues[kind].jobs.count > 1)
        hr__kube_again(kube, kind, true); /* the others may fit in another pool */
      hr__kube_failed(kube, kind);
      kube->queues[kind].retries = kube->was_blocked;
    }
  }
}

/* The waiting jobs for the autoscaler: kind by kind. */
static hr_job next_waiting(void *self, bool fits, uint32_t *kind) {
  struct hr__kube_policy *kube = self;
  for (; kube->scale_at < kube->n_listed; kube->scale_at++) {
    struct hr__kube_queue *queue = &kube->queues[kube->listed[kube->scale_at]];
    bool is_first = *kind != queue->kind;
    bool found = is_first ? hr_job_tree_first(&queue->jobs, &kube->scale_entry)
                          : fits && hr_job_tree_next(&queue->jobs, kube->scale_entry.key, kube->scale_entry.job,
                                                     INT64_MAX, &kube->scale_entry);
    *kind = queue->kind;
    if (found) return kube->scale_entry.job;
  }
  return (hr_job){HR_NONE};
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__kube_policy *kube = self;
  kube->view = view;
  kube->moves = moves;
  kube->status = hr__pods_settle_lists(&kube->pods, moves);
  if (kube->n_listed && kube->status == HR_OK) run_queue(kube);
  int64_t release_us = HR_NEVER_US;
  kube->scale_at = 0;
  if (kube->scales && kube->status == HR_OK)
    kube->status = hr__pods_scale(&kube->pods, view, moves, next_waiting, kube, &release_us);
  if (kube->status != HR_OK) return kube->status;
  int64_t wake_us = hr__kube_wake_us(kube);
  if (release_us < wake_us) wake_us = release_us;
  if (wake_us == HR_NEVER_US || (wake_us == kube->wake_us && kube->wake_us > view->now_us)) return HR_OK;
  kube->wake_us = wake_us;
  return hr_moves_wake_at(moves, wake_us);
}

/* ---- Reasons ---- */

/* A job that would fit now is in back-off. */
static void explain(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  struct hr__kube_policy *kube = self;
  uint32_t kind = kube->kind_of[job.id];
  kube->view = view;
  if (hr__pods_pool_that_fits(&kube->pods, job, kind) != HR_NONE) {
    wait->reason = HR_WAIT_REASON_TURN;
    wait->until_us = kube->wake_us > view->now_us ? kube->wake_us : HR_NEVER_US;
    return;
  }
  hr_view_lack(view, job, wait);
}

static void describe(void *self, const struct hr_view *view, hr_job job, char *text, size_t size) {
  const struct hr__kube_policy *kube = self;
  (void)view;
  struct hr__pod_lacks lacks = hr__pods_lacks(&kube->pods, kube->kind_of[job.id], hr__kube_n_pods(kube, job));
  int used = snprintf(text, size, "%u/%u nodes are available:", lacks.fits, lacks.n_nodes);
  if (used > 0) hr__pods_put_lacks(&kube->pods, job, &lacks, kube->config->gpu_resource, text, size, (size_t)used);
}

HR_POLICY(kubernetes) = {HR_POLICY_HEAD,
                         .name = "kubernetes",
                         .summary = "kube-scheduler: pods one at a time, by priority, with preemption and autoscaler",
                         .params = hr__pod_params,
                         .create = create,
                         .observe = observe,
                         .decide = decide,
                         .abilities = abilities,
                         .explain = explain,
                         .describe = describe};
