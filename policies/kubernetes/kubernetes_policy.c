/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The policy `kubernetes`: kube-scheduler with the plug-ins NodeResourcesFit, NodeResourcesBalancedAllocation and
   DefaultPreemption, and a cluster autoscaler.

   Each task of a job is a pod. Pods are scheduled one at a time; a job runs when all its pods are bound. The engine
   starts a job as a whole, so pods that are bound earlier either hold their GPUs only in the ledger of this policy
   (`partial_jobs` hold), or wait with the others. Evicting a pod stops its job, which enters the queue again.
   See kubernetes_policy.h for the layout. Source: kubernetes/kubernetes, pkg/scheduler. */

#include "policies/kubernetes/kubernetes_policy.h"

#include "base/containers.h"
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

/* ---- The scheduling queue: which job is tried next -------------------------------------------------------- */

/* Jobs are tried in the order of their priority, then of the time at which they entered the queue. A job that does not
   fit is tried again after an event that frees resources, but not before its back-off is over, which doubles with each
   try. Source: kubernetes/kubernetes, pkg/scheduler/backend/queue. */

/* ---- Entering and leaving ---- */

static struct hr__kube_queue *queue_of(const struct hr__kube_policy *kube, uint32_t kind) {
  return &kube->queues[kind];
}

/* Makes a queue for each kind. */
static bool make_queues(struct hr__kube_policy *kube, uint32_t kind) {
  while (kind >= kube->queues_capacity) {
    uint32_t before = kube->queues_capacity, capacity = before;
    struct hr__kube_queue *grown = hr_arena_grown(kube->arena, kube->queues, &capacity, sizeof *grown);
    uint32_t *listed = hr_arena_alloc(kube->arena, capacity * sizeof *listed);
    uint32_t *heap = hr_arena_alloc(kube->arena, capacity * sizeof *heap);
    if (!grown || !listed || !heap) return false;
    for (uint32_t i = 0; i < kube->n_listed; i++) listed[i] = kube->listed[i];
    for (uint32_t i = 0; i < kube->n_heap; i++) heap[i] = kube->heap[i];
    for (uint32_t i = before; i < capacity; i++)
      grown[i] = (struct hr__kube_queue){.jobs = {.store = kube->store}, .kind = i, .listed_at = HR_NONE};
    kube->queues = grown;
    kube->listed = listed;
    kube->heap = heap;
    kube->queues_capacity = capacity;
  }
  return true;
}

static void set_up(const struct hr__kube_policy *kube, struct hr__kube_queue *queue) {
  int32_t priority = kube->pods.kinds[queue->kind].priority;
  for (uint32_t i = 0; i < kube->config->n_classes; i++)
    if (kube->config->classes[i].value == priority)
      queue->never_preempts = kube->config->classes[i].preemption == HR_KUBERNETES_PREEMPT_NEVER;
}

/* Whether a node was freed since the last failure of the kind. */
static bool is_due(const struct hr__kube_policy *kube, const struct hr__kube_queue *queue) {
  return queue->n_failures == 0 || queue->retries || queue->freed_seen < kube->n_freed;
}

/* A job begins to wait. False: out of memory. */
static bool enter_queue(struct hr__kube_policy *kube, hr_job job, uint32_t kind) {
  if (!make_queues(kube, kind)) return false;
  struct hr__kube_queue *queue = queue_of(kube, kind);
  int64_t now_us = kube->view->now_us;
  if (!hr_job_tree_insert(&queue->jobs, (struct hr_job_entry){now_us, job, 0})) return false;
  kube->kind_of[job.id] = kind;
  kube->entered_us[job.id] = now_us;
  if (queue->listed_at == HR_NONE) {
    set_up(kube, queue);
    queue->listed_at = kube->n_listed;
    kube->listed[kube->n_listed++] = kind;
  }
  /* The job would fail like the other jobs of its kind, so it counts as tried together with them. */
  if (!is_due(kube, queue)) queue->marks[queue->n_failures % HR__KUBE_MARKS] = (struct hr__kube_head){now_us, job};
  return true;
}

static void leave_queue(struct hr__kube_policy *kube, hr_job job) {
  struct hr__kube_queue *queue = queue_of(kube, kube->kind_of[job.id]);
  hr_job_tree_remove(&queue->jobs, kube->entered_us[job.id], job);
  if (queue->jobs.count) return;
  uint32_t last = kube->listed[--kube->n_listed];
  kube->listed[queue->listed_at] = last;
  kube->queues[last].listed_at = queue->listed_at;
  queue->listed_at = HR_NONE;
  queue->n_failures = 0;
}

/* Reports that pods left the node, or that the node came. */
static void note_freed(struct hr__kube_policy *kube, uint32_t node) {
  kube->freed[kube->n_freed++ % HR__KUBE_FREED] = node;
}

/* Reports the nodes of all pods of a job. */
static void note_freed_by(struct hr__kube_policy *kube, hr_job job) {
  for (uint32_t at = hr__pods_first(&kube->pods, job); at != HR_NONE; at = kube->pods.pods[at].next_of_job)
    note_freed(kube, kube->pods.pods[at].slice.node.id);
}

/* ---- Back-off ---- */

/* The back-off after a number of tries. */
static int64_t backoff_us(const struct hr__kube_policy *kube, uint64_t n_tries) {
  int64_t us = kube->config->initial_backoff_us;
  for (uint64_t i = 1; i < n_tries && us < kube->config->max_backoff_us; i++) us *= 2;
  if (n_tries == 0) return 0;
  return us < kube->config->max_backoff_us ? us : kube->config->max_backoff_us;
}

/* The largest number of tries after which the back-off of a job of the kind is over now; UINT64_MAX: any number. */
static uint64_t tries_over(const struct hr__kube_policy *kube, const struct hr__kube_queue *queue) {
  int64_t passed_us = kube->view->now_us - queue->failed_us;
  if (passed_us >= kube->config->max_backoff_us) return UINT64_MAX;
  uint64_t n_tries = 0;
  while (n_tries + 1 < HR__KUBE_MARKS && backoff_us(kube, n_tries + 1) <= passed_us) n_tries++;
  return n_tries;
}

/* Finds the first job of the kind whose back-off is over. */
static bool find_head(const struct hr__kube_policy *kube, struct hr__kube_queue *queue) {
  struct hr_job_entry entry;
  uint64_t n_tries = tries_over(kube, queue);
  bool found;
  if (queue->n_failures <= n_tries) {
    found = hr_job_tree_first(&queue->jobs, &entry);
  } else {
    const struct hr__kube_head *mark = &queue->marks[(queue->n_failures - n_tries) % HR__KUBE_MARKS];
    found = hr_job_tree_next(&queue->jobs, mark->entered_us, mark->job, INT64_MAX, &entry);
  }
  if (found) queue->head = (struct hr__kube_head){entry.key, entry.job};
  return found;
}

/* The time at which the next job leaves the back-off; HR_NEVER_US: none. */
static int64_t queue_wake_us(const struct hr__kube_policy *kube) {
  int64_t first_us = HR_NEVER_US;
  for (uint32_t i = 0; i < kube->n_listed; i++) {
    const struct hr__kube_queue *queue = queue_of(kube, kube->listed[i]);
    if (!is_due(kube, queue) || queue->n_failures == 0) continue;
    uint64_t n_tries = tries_over(kube, queue);
    if (n_tries >= queue->n_failures) continue;
    int64_t at_us = queue->failed_us + backoff_us(kube, n_tries + 1);
    if (at_us > kube->view->now_us && at_us < first_us) first_us = at_us;
  }
  return first_us;
}

/* ---- The active queue ---- */

static bool precedes(const void *self, uint32_t a, uint32_t b) {
  const struct hr__kube_policy *kube = self;
  const struct hr__kube_head *one = &kube->queues[a].head, *other = &kube->queues[b].head;
  int32_t priority = kube->pods.kinds[a].priority, other_priority = kube->pods.kinds[b].priority;
  if (priority != other_priority) return priority > other_priority;
  if (one->entered_us != other->entered_us) return one->entered_us < other->entered_us;
  return one->job.id < other->job.id;
}

HR__HEAP(active, uint32_t, precedes)

/* Fills the heap with the kinds that have a job to be tried now. */
static void collect_kinds(struct hr__kube_policy *kube) {
  kube->n_heap = 0;
  for (uint32_t i = 0; i < kube->n_listed; i++) {
    struct hr__kube_queue *queue = queue_of(kube, kube->listed[i]);
    if (is_due(kube, queue) && find_head(kube, queue)) active_rise(kube->heap, kube->n_heap++, queue->kind, kube);
  }
}

/* Takes the first kind from the heap; HR_NONE: none is left. Its job is queues[kind].head.job. */
static uint32_t next_kind(struct hr__kube_policy *kube) {
  if (kube->n_heap == 0) return HR_NONE;
  uint32_t kind = kube->heap[0];
  kube->n_heap--;
  if (kube->n_heap) active_sink(kube->heap, kube->n_heap, kube->heap[kube->n_heap], kube);
  return kind;
}

/* Puts back a kind with a first job that left the queue, or that did not fit while others may fit. */
static void try_again(struct hr__kube_policy *kube, uint32_t kind, bool after_head) {
  struct hr__kube_queue *queue = queue_of(kube, kind);
  struct hr_job_entry entry;
  if (queue->jobs.count == 0) return;
  if (after_head) {
    if (!hr_job_tree_next(&queue->jobs, queue->head.entered_us, queue->head.job, INT64_MAX, &entry)) return;
    queue->head = (struct hr__kube_head){entry.key, entry.job};
  } else if (!find_head(kube, queue)) {
    return;
  }
  active_rise(kube->heap, kube->n_heap++, kind, kube);
}

static bool see_last(void *self, struct hr_job_entry entry) {
  *(struct hr_job_entry *)self = entry;
  return false;
}

/* The job of the kind did not fit. */
static void note_failure(struct hr__kube_policy *kube, uint32_t kind) {
  struct hr__kube_queue *queue = queue_of(kube, kind);
  struct hr_job_entry last = {0};
  hr_job_tree_each_back(&queue->jobs, see_last, &last);
  queue->n_failures++;
  queue->marks[queue->n_failures % HR__KUBE_MARKS] = (struct hr__kube_head){last.key, last.job};
  queue->failed_us = kube->view->now_us;
  queue->freed_seen = kube->n_freed;
  queue->retries = false;
}

/* Whether any node that was freed since the last failure of the kind accepts a pod. */
static bool may_fit(const struct hr__kube_policy *kube, uint32_t kind) {
  const struct hr__kube_queue *queue = queue_of(kube, kind);
  const struct hr__job_kind *of = &kube->pods.kinds[kind];
  uint64_t seen = queue->freed_seen;
  if (queue->n_failures == 0 || queue->retries || kube->n_freed - seen > HR__KUBE_FREED) return true;
  for (uint32_t pool = 0; pool < kube->pods.n_pools; pool++)
    if (of->shapes[pool].n_pods && of->shapes[pool].gpu_milli != of->shapes[pool].last_milli) return true;
  for (; seen < kube->n_freed; seen++)
    if (hr__pods_fit(&kube->pods, kind, 0, kube->freed[seen % HR__KUBE_FREED])) return true;
  return false;
}

/* ---- Events ---- */

static bool submit(struct hr__kube_policy *kube, const struct hr_view *view, hr_job job) {
  int32_t priority = view->jobs->priority ? view->jobs->priority[job.id] : 0;
  uint32_t kind = hr__pods_kind(&kube->pods, view, job, 0, priority);
  if (kind == HR_NONE) return false;
  if (kube->pods.kinds[kind].is_empty) return hr__job_list_add(&kube->pods.idle_jobs, kube->arena, job);
  if (kube->pods.kinds[kind].never_fits) return hr__job_list_add(&kube->pods.unfit, kube->arena, job);
  return enter_queue(kube, job, kind);
}

/* Removes all pods of a job from their nodes. */
static void unbind(struct hr__kube_policy *kube, hr_job job) {
  if (hr__pods_first(&kube->pods, job) == HR_NONE) return;
  note_freed_by(kube, job);
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
  leave_queue(kube, job);
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
    return enter_queue(kube, event->job, kube->kind_of[event->job.id]) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_WITHDRAW:
    return withdraw(kube, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_NODE_UP:
    hr__pods_node_event(&kube->pods, event);
    note_freed(kube, event->node.id);
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
    note_freed_by(kube, job);
    (void)hr__kube_count_priority(kube, kind, hr__kube_n_pods(kube, job), -1);
    hr__pods_drop(&kube->pods, job);
    if (!runs) continue;
    kube->status = hr_moves_requeue(kube->moves, job, HR_REASON_PREEMPTED);
    if (kube->status == HR_OK && !enter_queue(kube, job, kind)) kube->status = HR_NO_MEMORY;
  }
}

/* Starts a job whose pods are all bound. */
static void start(struct hr__kube_policy *kube, hr_job job, bool passed_others) {
  struct hr_placement placement;
  if (!hr__pods_placement(&kube->pods, job, &placement)) {
    kube->status = HR_NO_MEMORY;
    return;
  }
  leave_queue(kube, job);
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
  if (any_is_lower || holds || may_fit(kube, kind)) placed = hr__kube_place(kube, job, kind);
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
    collect_kinds(kube);
    passed_others = passed_others || kube->n_heap < kube->n_listed;
    for (uint32_t kind = next_kind(kube); kind != HR_NONE; kind = next_kind(kube)) {
      bool started = try_job(kube, kind, passed_others);
      if (kube->status != HR_OK) return;
      any_evicted = any_evicted || kube->evicted.count;
      if (started) {
        try_again(kube, kind, false);
        continue;
      }
      passed_others = true;
      if (hr__pods_first(&kube->pods, kube->queues[kind].head.job) != HR_NONE && kube->queues[kind].jobs.count > 1)
        try_again(kube, kind, true); /* the others may fit in another pool */
      note_failure(kube, kind);
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
  int64_t wake_us = queue_wake_us(kube);
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
