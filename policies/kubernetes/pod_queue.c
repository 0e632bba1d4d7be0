/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scheduling queue of kube-scheduler: which job is tried next.

   Jobs are tried in the order of their priority, then of the time at which they entered the queue. A job that does not
   fit is tried again after an event that frees resources, but not before its back-off is over, which doubles with each
   try. Source: kubernetes/kubernetes, pkg/scheduler/backend/queue. */

#include "policies/kubernetes/kubernetes_policy.h"

#include "base/array.h"

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

bool hr__kube_enter(struct hr__kube_policy *kube, hr_job job, uint32_t kind) {
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

void hr__kube_leave(struct hr__kube_policy *kube, hr_job job) {
  struct hr__kube_queue *queue = queue_of(kube, kube->kind_of[job.id]);
  hr_job_tree_remove(&queue->jobs, kube->entered_us[job.id], job);
  if (queue->jobs.count) return;
  uint32_t last = kube->listed[--kube->n_listed];
  kube->listed[queue->listed_at] = last;
  kube->queues[last].listed_at = queue->listed_at;
  queue->listed_at = HR_NONE;
  queue->n_failures = 0;
}

void hr__kube_freed_by(struct hr__kube_policy *kube, hr_job job) {
  for (uint32_t at = hr__pods_first(&kube->pods, job); at != HR_NONE; at = kube->pods.pods[at].next_of_job)
    hr__kube_freed(kube, kube->pods.pods[at].slice.node.id);
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

int64_t hr__kube_wake_us(const struct hr__kube_policy *kube) {
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

void hr__kube_collect(struct hr__kube_policy *kube) {
  kube->n_heap = 0;
  for (uint32_t i = 0; i < kube->n_listed; i++) {
    struct hr__kube_queue *queue = queue_of(kube, kube->listed[i]);
    if (is_due(kube, queue) && find_head(kube, queue)) active_rise(kube->heap, kube->n_heap++, queue->kind, kube);
  }
}

uint32_t hr__kube_next(struct hr__kube_policy *kube) {
  if (kube->n_heap == 0) return HR_NONE;
  uint32_t kind = kube->heap[0];
  kube->n_heap--;
  if (kube->n_heap) active_sink(kube->heap, kube->n_heap, kube->heap[kube->n_heap], kube);
  return kind;
}

void hr__kube_again(struct hr__kube_policy *kube, uint32_t kind, bool after_head) {
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

void hr__kube_failed(struct hr__kube_policy *kube, uint32_t kind) {
  struct hr__kube_queue *queue = queue_of(kube, kind);
  struct hr_job_entry last = {0};
  hr_job_tree_each_back(&queue->jobs, see_last, &last);
  queue->n_failures++;
  queue->marks[queue->n_failures % HR__KUBE_MARKS] = (struct hr__kube_head){last.key, last.job};
  queue->failed_us = kube->view->now_us;
  queue->freed_seen = kube->n_freed;
  queue->retries = false;
}

bool hr__kube_may_fit(const struct hr__kube_policy *kube, uint32_t kind) {
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
