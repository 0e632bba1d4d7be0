/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Queues of waiting workloads.
 *
 * Layout: a binary heap and a doubly linked list of parked workloads per queue; arrays by workload have its place and
 * its position in the heap. Invariant: position[heap[i]] == i, and a workload is in at most one place.
 *
 * Source: pkg/cache/queue/cluster_queue.go of kubernetes-sigs/kueue.
 */

#include "policies/kueue/cycle.h"

#include "policies/kueue/kueue.h"

/* ---- Readiness of pods --------------------------------------------------------------------------------- */

/* Timeouts of pods that are not ready, the back-off before a workload is queued again, and the order in which the
   reasons to end an admission are considered. Source: pkg/controller/core/workload_controller.go and
   pkg/workload/workload.go of kubernetes-sigs/kueue. */

/* ---- Readiness ---- */

enum hr__kueue_ready_cause hr__kueue_ready_countdown(const struct hr__kueue_ready_rules *rules,
                                                     const struct hr__kueue_readiness *readiness, int64_t now_us,
                                                     int64_t *remaining_us) {
  *remaining_us = 0;
  if (!readiness->admitted || readiness->ready) return HR__KUEUE_NOT_COUNTING;
  int64_t limit = readiness->was_ready ? rules->recovery_timeout_us : rules->timeout_us;
  if (limit == HR__KUEUE_NO_TIME) return HR__KUEUE_NOT_COUNTING;
  int64_t left = limit - (now_us - (readiness->was_ready ? readiness->changed_us : readiness->admitted_us));
  if (left > 0) *remaining_us = left;
  return readiness->was_ready ? HR__KUEUE_WAIT_FOR_RECOVERY : HR__KUEUE_WAIT_FOR_START;
}

/* The back-off before attempt number `count` (from 1). */
static int64_t backoff(const struct hr__kueue_ready_rules *rules, int64_t count) {
  int64_t delay = rules->backoff_base_us;
  for (int64_t i = 1; i < count && delay < rules->backoff_max_us; i++)
    delay = delay > INT64_MAX / 2 ? INT64_MAX : 2 * delay;
  return delay < rules->backoff_max_us ? delay : rules->backoff_max_us;
}

/* ---- State of requeuing ---- */

bool hr__kueue_requeue_delay(struct hr__kueue_requeue_state *state, int64_t wait_until_us, bool count) {
  bool changed = false;
  if (wait_until_us > state->at_us) {
    state->at_us = wait_until_us;
    changed = true;
  }
  if (!count) return changed;
  state->count = state->count < 0 ? 1 : state->count + 1;
  return true;
}

/* Counts a timeout: delays the workload by its back-off. Returns false if the limit is exceeded: the workload is then
   deactivated, and the state is unchanged. */
static bool requeue_timeout(const struct hr__kueue_ready_rules *rules, struct hr__kueue_requeue_state *state,
                            int64_t now_us) {
  int64_t count = state->count < 0 ? 1 : state->count + 1;
  if (rules->backoff_limit >= 0 && count > rules->backoff_limit) return false;
  state->count = count;
  int64_t at = now_us + backoff(rules, count);
  if (at > state->at_us) state->at_us = at;
  return true;
}

/* ---- Steps ---- */

static struct hr__kueue_step step_of(enum hr__kueue_step_kind kind, enum hr__kueue_end end) {
  return (struct hr__kueue_step){.kind = kind, .end = end};
}

/* A workload whose condition Requeued is false waits for the end of what it names. */
static struct hr__kueue_step step_of_requeued(struct hr__kueue_life *life, int64_t now_us) {
  enum hr__kueue_end reason = life->requeued_reason;
  if (reason == HR__KUEUE_END_QUEUE_STOPPED || reason == HR__KUEUE_END_LOCAL_STOPPED) {
    bool stopped = reason == HR__KUEUE_END_QUEUE_STOPPED ? life->queue_stop : life->local_stop;
    return step_of(stopped ? HR__KUEUE_STEP_NONE : HR__KUEUE_STEP_REQUEUE, reason);
  }
  if (life->requeue.at_us > now_us) {
    struct hr__kueue_step step = step_of(HR__KUEUE_STEP_WAIT, reason);
    step.wait_us = life->requeue.at_us - now_us;
    return step;
  }
  life->requeue.at_us = HR__KUEUE_NO_TIME;
  return step_of(HR__KUEUE_STEP_REQUEUE, reason);
}

static struct hr__kueue_step step_of_pods(const struct hr__kueue_ready_rules *rules, struct hr__kueue_life *life,
                                          int64_t now_us) {
  struct hr__kueue_step step = step_of(HR__KUEUE_STEP_NONE, HR__KUEUE_END_NONE);
  int64_t left;
  step.cause = hr__kueue_ready_countdown(rules, &life->readiness, now_us, &left);
  if (step.cause == HR__KUEUE_NOT_COUNTING || left > 0 || life->evicted) return step;
  bool within_limit = requeue_timeout(rules, &life->requeue, now_us);
  step.kind = within_limit ? HR__KUEUE_STEP_EVICT : HR__KUEUE_STEP_DEACTIVATE;
  step.end = within_limit ? HR__KUEUE_END_TIMEOUT : HR__KUEUE_END_LIMIT;
  return step;
}

struct hr__kueue_step hr__kueue_life_step(const struct hr__kueue_ready_rules *rules, struct hr__kueue_life *life,
                                          int64_t now_us) {
  if (life->finished) return step_of(HR__KUEUE_STEP_NONE, HR__KUEUE_END_NONE);
  if (!life->active)
    return step_of(life->evicted ? HR__KUEUE_STEP_NONE : HR__KUEUE_STEP_EVICT, HR__KUEUE_END_DEACTIVATED);
  if (life->deactivating) return step_of(HR__KUEUE_STEP_SWITCH_OFF, HR__KUEUE_END_DEACTIVATED);
  if (life->requeued == HR__KUEUE_REQUEUED_FALSE) return step_of_requeued(life, now_us);
  if (!life->reserved || life->evicted) return step_of(HR__KUEUE_STEP_NONE, HR__KUEUE_END_NONE);
  if (life->local_stop == HR__KUEUE_HOLD_AND_DRAIN) return step_of(HR__KUEUE_STEP_EVICT, HR__KUEUE_END_LOCAL_STOPPED);
  if (life->queue_stop == HR__KUEUE_HOLD_AND_DRAIN) return step_of(HR__KUEUE_STEP_EVICT, HR__KUEUE_END_QUEUE_STOPPED);
  if (life->check_rejected) return step_of(HR__KUEUE_STEP_DEACTIVATE, HR__KUEUE_END_CHECK);
  if (life->check_retry) return step_of(HR__KUEUE_STEP_EVICT, HR__KUEUE_END_CHECK);
  return step_of_pods(rules, life, now_us);
}

/* ---- Pending workloads --------------------------------------------------------------------------------- */

/* Allocates the arrays by workload, and copies those of `before` workloads. */
static bool allocate_columns(struct hr__kueue_pending *self, uint32_t before) {
  struct hr__kueue_pending was = *self;
  size_t n = (size_t)self->world->n_workloads + 1;
#define COLUMN(member)                                                                                                 \
  if (!(self->member = hr_arena_alloc(self->arena, n * sizeof *self->member))) return false;                           \
  if (before) memcpy(self->member, was.member, before * sizeof *self->member)
  COLUMN(place);
  COLUMN(position);
  COLUMN(next);
  COLUMN(previous);
  COLUMN(requeue_us);
  COLUMN(held);
  COLUMN(shape);
  COLUMN(why);
#undef COLUMN
  for (size_t i = before; i < n; i++) {
    self->requeue_us[i] = HR__KUEUE_NO_TIME;
    self->shape[i] = HR_NONE;
  }
  return true;
}

bool hr__kueue_pending_grow(struct hr__kueue_pending *self, uint32_t before) {
  return allocate_columns(self, before);
}

bool hr__kueue_pending_begin(struct hr__kueue_pending *self, struct hr_arena *arena, struct hr__kueue_world *world) {
  *self = (struct hr__kueue_pending){.world = world, .arena = arena};
  size_t queues = (size_t)world->tree.n_queues + 1;
  self->queues = hr_arena_alloc(arena, queues * sizeof *self->queues);
  if (!self->queues || !allocate_columns(self, 0)) return false;
  for (size_t i = 0; i < queues; i++) {
    self->queues[i].first_parked = HR_NONE;
    self->queues[i].freed_cycle = -1;
  }
  return true;
}

/* ---- Order ---- */

/* Whether a workload is ordered before another one of its queue. */
static bool is_before(const struct hr__kueue_world *world, uint32_t a_id, uint32_t b_id) {
  const struct hr__kueue_workload *a = &world->workloads[a_id], *b = &world->workloads[b_id];
  if (world->admission_fair_sharing && a->queue != HR_NONE && world->queues[a->queue].usage_based &&
      a->local_queue != HR_NONE && b->local_queue != HR_NONE) {
    double left = world->local_queues[a->local_queue].usage, right = world->local_queues[b->local_queue].usage;
    if (left < right || left > right) return left < right;
  }
  if (a->priority != b->priority) return a->priority > b->priority;
  if (a->queue_us != b->queue_us) return a->queue_us < b->queue_us;
  if (a->uid_rank != b->uid_rank) return a->uid_rank < b->uid_rank;
  return a_id < b_id;
}

/* ---- Heap ---- */

static void put(struct hr__kueue_pending *self, struct hr__kueue_pending_queue *queue, uint32_t at, uint32_t workload) {
  queue->heap[at] = workload;
  self->position[workload] = at;
}

static void rise(struct hr__kueue_pending *self, struct hr__kueue_pending_queue *queue, uint32_t at) {
  uint32_t workload = queue->heap[at];
  for (; at > 0; at = (at - 1) / 2) {
    uint32_t above = queue->heap[(at - 1) / 2];
    if (!is_before(self->world, workload, above)) break;
    put(self, queue, at, above);
  }
  put(self, queue, at, workload);
}

static void sink(struct hr__kueue_pending *self, struct hr__kueue_pending_queue *queue, uint32_t at) {
  uint32_t workload = queue->heap[at];
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= queue->n_heap) break;
    if (child + 1 < queue->n_heap && is_before(self->world, queue->heap[child + 1], queue->heap[child])) child++;
    if (!is_before(self->world, queue->heap[child], workload)) break;
    put(self, queue, at, queue->heap[child]);
    at = child;
  }
  put(self, queue, at, workload);
}

static bool push(struct hr__kueue_pending *self, uint32_t workload) {
  struct hr__kueue_pending_queue *queue = &self->queues[self->world->workloads[workload].queue];
  if (queue->n_heap == queue->capacity) {
    uint32_t *grown = hr_arena_grown(self->arena, queue->heap, &queue->capacity, sizeof *queue->heap);
    if (!grown) return false;
    queue->heap = grown;
  }
  queue->heap[queue->n_heap] = workload;
  self->place[workload] = HR__KUEUE_IN_HEAP;
  rise(self, queue, queue->n_heap++);
  return true;
}

static void leave_heap(struct hr__kueue_pending *self, uint32_t workload) {
  struct hr__kueue_pending_queue *queue = &self->queues[self->world->workloads[workload].queue];
  uint32_t at = self->position[workload], last = queue->heap[--queue->n_heap];
  self->place[workload] = HR__KUEUE_NOT_QUEUED;
  if (last == workload) return;
  put(self, queue, at, last);
  rise(self, queue, at);
  sink(self, queue, self->position[last]);
}

/* ---- Parked workloads ---- */

static void park(struct hr__kueue_pending *self, uint32_t workload, enum hr__kueue_requeue why) {
  struct hr__kueue_pending_queue *queue = &self->queues[self->world->workloads[workload].queue];
  self->place[workload] = HR__KUEUE_PARKED;
  self->why[workload] = why;
  self->previous[workload] = HR_NONE;
  self->next[workload] = queue->first_parked;
  if (queue->first_parked != HR_NONE) self->previous[queue->first_parked] = workload;
  queue->first_parked = workload;
  queue->n_parked++;
}

static void unpark(struct hr__kueue_pending *self, uint32_t workload) {
  struct hr__kueue_pending_queue *queue = &self->queues[self->world->workloads[workload].queue];
  uint32_t next = self->next[workload], previous = self->previous[workload];
  if (previous != HR_NONE)
    self->next[previous] = next;
  else
    queue->first_parked = next;
  if (next != HR_NONE) self->previous[next] = previous;
  queue->n_parked--;
  self->place[workload] = HR__KUEUE_NOT_QUEUED;
}

static bool backoff_is_over(const struct hr__kueue_pending *self, uint32_t workload) {
  return !self->held[workload] && self->requeue_us[workload] <= self->world->now_us;
}

/* ---- Adding and removing ---- */

void hr__kueue_pending_remove(struct hr__kueue_pending *self, uint32_t workload) {
  if (self->place[workload] == HR__KUEUE_IN_HEAP) leave_heap(self, workload);
  if (self->place[workload] == HR__KUEUE_PARKED) unpark(self, workload);
  self->place[workload] = HR__KUEUE_NOT_QUEUED;
}

bool hr__kueue_pending_add(struct hr__kueue_pending *self, uint32_t workload) {
  bool in_heap = self->place[workload] == HR__KUEUE_IN_HEAP;
  hr__kueue_pending_remove(self, workload);
  if (in_heap || backoff_is_over(self, workload)) return push(self, workload);
  park(self, workload, HR__KUEUE_REQUEUE_GENERIC);
  return true;
}

uint32_t hr__kueue_pending_pop(struct hr__kueue_pending *self, uint32_t id) {
  struct hr__kueue_pending_queue *queue = &self->queues[id];
  queue->cycle++;
  if (!queue->n_heap) return HR_NONE;
  uint32_t head = queue->heap[0];
  leave_heap(self, head);
  self->place[head] = HR__KUEUE_IN_CYCLE;
  return head;
}

void hr__kueue_pending_reorder(struct hr__kueue_pending *self, uint32_t id) {
  struct hr__kueue_pending_queue *queue = &self->queues[id];
  for (uint32_t i = queue->n_heap / 2; i-- > 0;) sink(self, queue, i);
}

/* ---- Requeue ---- */

/* Parks the workloads in the heap of the same shape. Does nothing unless the queue is BestEffortFIFO. */
static void park_shape(struct hr__kueue_pending *self, uint32_t workload) {
  uint32_t id = self->world->workloads[workload].queue, shape = self->shape[workload];
  struct hr__kueue_pending_queue *queue = &self->queues[id];
  if (self->world->queues[id].strict || shape == HR_NONE ||
      !hr__kueue_has_gate(self->world, HR__KUEUE_BIT_EQUIVALENCE_HASHING))
    return;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < queue->n_heap; i++) {
    uint32_t other = queue->heap[i];
    if (self->shape[other] == shape)
      park(self, other, self->why[workload]);
    else
      put(self, queue, kept++, other);
  }
  if (kept == queue->n_heap) return;
  queue->n_heap = kept;
  for (uint32_t i = kept / 2; i-- > 0;) sink(self, queue, i);
}

bool hr__kueue_pending_requeue_as(struct hr__kueue_pending *self, uint32_t workload, bool at_once,
                                  enum hr__kueue_requeue why) {
  struct hr__kueue_pending_queue *queue = &self->queues[self->world->workloads[workload].queue];
  if (self->place[workload] == HR__KUEUE_IN_CYCLE) self->place[workload] = HR__KUEUE_NOT_QUEUED;
  if (backoff_is_over(self, workload) && (at_once || queue->freed_cycle >= queue->cycle)) {
    if (self->place[workload] == HR__KUEUE_IN_HEAP) return false;
    if (self->place[workload] == HR__KUEUE_PARKED) unpark(self, workload);
    return push(self, workload);
  }
  if (self->place[workload] != HR__KUEUE_NOT_QUEUED) return false;
  park(self, workload, why);
  if (hr__kueue_requeue_counts_for_shape(why)) park_shape(self, workload);
  return true;
}

bool hr__kueue_pending_requeue(struct hr__kueue_pending *self, uint32_t workload, enum hr__kueue_requeue why,
                               bool has_bookmark) {
  bool at_once = has_bookmark;
  if (self->world->queues[self->world->workloads[workload].queue].strict)
    at_once |= why != HR__KUEUE_REQUEUE_NAMESPACE_MISMATCH;
  else
    at_once |= why == HR__KUEUE_REQUEUE_FAILED_AFTER_NOMINATION || why == HR__KUEUE_REQUEUE_PENDING_PREEMPTION ||
               why == HR__KUEUE_REQUEUE_PENDING_MIGRATION || why == HR__KUEUE_REQUEUE_PREEMPTION_FAILED;
  return hr__kueue_pending_requeue_as(self, workload, at_once, why);
}

static uint32_t return_parked(struct hr__kueue_pending *self, uint32_t id) {
  struct hr__kueue_pending_queue *queue = &self->queues[id];
  uint32_t moved = 0;
  queue->freed_cycle = queue->cycle;
  for (uint32_t workload = queue->first_parked, next; workload != HR_NONE; workload = next) {
    next = self->next[workload];
    if (self->world->workloads[workload].obstacle == HR__KUEUE_NAMESPACE_MISMATCH || !backoff_is_over(self, workload))
      continue;
    unpark(self, workload);
    moved += push(self, workload);
  }
  return moved;
}

uint32_t hr__kueue_pending_return(struct hr__kueue_pending *self, uint32_t queue) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  if (tree->parent[queue] == HR_NONE) return return_parked(self, queue);
  uint32_t root = hr__kueue_root(tree, queue), moved = 0;
  for (uint32_t i = 0; i < tree->n_queues; i++)
    if (hr__kueue_root(tree, i) == root) moved += return_parked(self, i);
  return moved;
}
