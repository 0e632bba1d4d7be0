/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Queues of waiting workloads, and the readiness of the pods of admitted workloads. Layout: the workloads of one shape
 * in one queue are a bucket with two binary heaps (halves): the workloads that can be a head, and the workloads that
 * are parked. A queue has a binary heap of its buckets, ordered by their first workloads. If a workload of a shape is
 * inadmissible, all other workloads of the shape are parked, too: the smaller heap is merged into the larger one, which
 * takes the role of the parked heap. They return in the same way. Both operations take O(log n) amortized time for any
 * number of workloads. Workloads without a shape are in one bucket per queue, and are parked one by one. Parked
 * workloads that do not return when quota becomes free (because of back-off, `held` or a namespace mismatch) are in a
 * list.
 *
 * Invariant: position[items[i]] == i in each heap of a bucket, and a workload is in at most one place.
 *
 * Source: pkg/cache/queue/cluster_queue.go of kubernetes-sigs/kueue.
 */

#include "policies/kueue/cycle.h"

#include "policies/kueue/kueue.h"

#include <string.h>

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
  return hr__kueue_requeue_delay(state, now_us + backoff(rules, count), true);
}

/* ---- Steps ---- */

static struct hr__kueue_step step_of(enum hr__kueue_step_kind kind, enum hr__kueue_end end) {
  return (struct hr__kueue_step){.kind = kind, .end = end};
}

/* A workload with the condition Requeued = false waits until the cause that the condition names has ended. */
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

bool hr__kueue_pending_grow(struct hr__kueue_pending *self, uint32_t before) {
  struct hr_arena *arena = self->arena;
  size_t n = self->world->n_workloads;
  if (!HR__ARENA_RESIZE(arena, self->place, before, n) || !HR__ARENA_RESIZE(arena, self->bucket, before, n) ||
      !HR__ARENA_RESIZE(arena, self->half, before, n) || !HR__ARENA_RESIZE(arena, self->position, before, n) ||
      !HR__ARENA_RESIZE(arena, self->next, before, n) || !HR__ARENA_RESIZE(arena, self->previous, before, n) ||
      !HR__ARENA_RESIZE(arena, self->requeue_us, before, n) || !HR__ARENA_RESIZE(arena, self->held, before, n) ||
      !HR__ARENA_RESIZE(arena, self->shape, before, n) || !HR__ARENA_RESIZE(arena, self->why, before, n))
    return false;
  for (size_t i = before; i <= n; i++) {
    self->requeue_us[i] = HR__KUEUE_NO_TIME;
    self->shape[i] = HR_NONE;
  }
  return true;
}

bool hr__kueue_pending_begin(struct hr__kueue_pending *self, struct hr_arena *arena, struct hr__kueue_world *world) {
  *self = (struct hr__kueue_pending){.world = world, .arena = arena};
  if (!HR__ARENA_ARRAY(arena, self->queues, world->tree.n_queues) || !hr__kueue_pending_grow(self, 0)) return false;
  for (uint32_t i = 0; i < world->tree.n_queues; i++)
    self->queues[i] =
        (struct hr__kueue_pending_queue){.first_alone = HR_NONE, .first_parked = HR_NONE, .freed_cycle = -1};
  return true;
}

enum hr__kueue_place hr__kueue_pending_place(const struct hr__kueue_pending *self, uint32_t workload) {
  enum hr__kueue_place place = (enum hr__kueue_place)self->place[workload];
  if (place != HR__KUEUE_IN_HEAP) return place;
  return self->half[workload] == self->buckets[self->bucket[workload]].active ? HR__KUEUE_IN_HEAP : HR__KUEUE_PARKED;
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

/* ---- Heaps of workloads ---- */

static bool workload_precedes(const void *self, uint32_t a, uint32_t b) {
  return is_before(((const struct hr__kueue_pending *)self)->world, a, b);
}

static void put_workload(const void *self, uint32_t *heap, uint32_t at, uint32_t workload) {
  heap[at] = workload;
  ((const struct hr__kueue_pending *)self)->position[workload] = at;
}

HR__HEAP_PLACED(workloads, uint32_t, workload_precedes, put_workload)

/* Adds a workload to a half of its bucket. Returns false if memory is exhausted. */
static bool join(struct hr__kueue_pending *self, uint32_t bucket, uint8_t half, uint32_t workload) {
  struct hr__kueue_pending_heap *heap = &self->buckets[bucket].half[half];
  if (!HR__ARENA_HAS_ROOM(self->arena, heap->items, heap->count, heap->capacity)) {
    self->no_memory = true;
    return false;
  }
  self->place[workload] = HR__KUEUE_IN_HEAP;
  self->bucket[workload] = bucket;
  self->half[workload] = half;
  workloads_rise(heap->items, heap->count++, workload, self);
  return true;
}

static void leave(struct hr__kueue_pending *self, uint32_t workload) {
  struct hr__kueue_pending_heap *heap = &self->buckets[self->bucket[workload]].half[self->half[workload]];
  uint32_t at = self->position[workload], last = heap->items[--heap->count];
  self->place[workload] = HR__KUEUE_NOT_QUEUED;
  if (last != workload) workloads_refill(heap->items, heap->count, at, last, self);
}

/* ---- Heaps of buckets ---- */

static const struct hr__kueue_pending_heap *active_of(const struct hr__kueue_pending *self, uint32_t bucket) {
  return &self->buckets[bucket].half[self->buckets[bucket].active];
}

static bool bucket_precedes(const void *self, uint32_t a, uint32_t b) {
  return workload_precedes(self, active_of(self, a)->items[0], active_of(self, b)->items[0]);
}

static void put_bucket(const void *self, uint32_t *heap, uint32_t at, uint32_t bucket) {
  heap[at] = bucket;
  ((const struct hr__kueue_pending *)self)->buckets[bucket].at = at;
}

HR__HEAP_PLACED(buckets, uint32_t, bucket_precedes, put_bucket)

/* Restores the place of a bucket among those of its queue after its first active workload has changed. */
static void settle(struct hr__kueue_pending *self, uint32_t id) {
  struct hr__kueue_bucket *bucket = &self->buckets[id];
  struct hr__kueue_pending_queue *queue = &self->queues[bucket->queue];
  bool has_active = active_of(self, id)->count > 0;
  if (!has_active && bucket->at != HR_NONE) {
    uint32_t at = bucket->at, last = queue->heap[--queue->n_buckets];
    bucket->at = HR_NONE;
    if (last != id) buckets_refill(queue->heap, queue->n_buckets, at, last, self);
  } else if (has_active) {
    if (bucket->at == HR_NONE) bucket->at = queue->n_buckets++;
    buckets_refill(queue->heap, queue->n_buckets, bucket->at, id, self);
  }
}

/* Adds a bucket to the list of buckets with parked workloads, or removes it, if this has changed. */
static void settle_parked(struct hr__kueue_pending *self, uint32_t id) {
  struct hr__kueue_bucket *bucket = &self->buckets[id];
  struct hr__kueue_pending_queue *queue = &self->queues[bucket->queue];
  bool has = bucket->half[!bucket->active].count > 0;
  if (has == bucket->is_listed) return;
  bucket->is_listed = has;
  if (has) {
    bucket->previous = HR_NONE;
    bucket->next = queue->first_parked;
    if (bucket->next != HR_NONE) self->buckets[bucket->next].previous = id;
    queue->first_parked = id;
    return;
  }
  if (bucket->previous != HR_NONE)
    self->buckets[bucket->previous].next = bucket->next;
  else
    queue->first_parked = bucket->next;
  if (bucket->next != HR_NONE) self->buckets[bucket->next].previous = bucket->previous;
}

/* The shape that determines the bucket of a workload; HR_NONE: it is in the bucket for workloads without a shape. */
static uint32_t shape_of(const struct hr__kueue_pending *self, uint32_t workload) {
  const struct hr__kueue_world *world = self->world;
  if (world->queues[world->workloads[workload].queue].strict ||
      !hr__kueue_has_gate(world, HR__KUEUE_BIT_EQUIVALENCE_HASHING))
    return HR_NONE;
  return self->shape[workload];
}

/* Adds a bucket. HR_NONE: memory is exhausted. */
static uint32_t add_bucket(struct hr__kueue_pending *self, struct hr__pair pair) {
  struct hr__kueue_pending_queue *at = &self->queues[pair.a];
  /* The heap of the queue has room for all its buckets. */
  if (!HR__ARENA_HAS_ROOM(self->arena, self->buckets, self->n_buckets, self->buckets_capacity) ||
      !HR__ARENA_HAS_ROOM(self->arena, at->heap, at->n_known, at->capacity))
    return HR_NONE;
  at->n_known++;
  self->buckets[self->n_buckets] =
      (struct hr__kueue_bucket){.queue = (uint32_t)pair.a, .shape = (uint32_t)pair.b, .at = HR_NONE};
  return hr__pair_map_add(&self->bucket_at, self->arena, pair, self->n_buckets) ? self->n_buckets++ : HR_NONE;
}

/* The bucket of a workload. HR_NONE: memory is exhausted. */
static uint32_t bucket_of(struct hr__kueue_pending *self, uint32_t workload) {
  uint32_t queue = self->world->workloads[workload].queue;
  struct hr__pair pair = {queue, shape_of(self, workload)};
  uint32_t id = hr__pair_map_find(&self->bucket_at, pair);
  if (id == HR_NONE) id = add_bucket(self, pair);
  if (id == HR_NONE) self->no_memory = true;
  return id;
}

/* ---- Places ---- */

/* Makes all workloads of a bucket active (`to_active`), or parks all of them. The workloads of the smaller half are
   moved to the larger half. If the larger half was the one to empty, the halves exchange their roles. Returns false if
   memory is exhausted. */
static bool merge_halves(struct hr__kueue_pending *self, uint32_t id, bool to_active) {
  struct hr__kueue_bucket *bucket = &self->buckets[id];
  uint8_t from = to_active ? !bucket->active : bucket->active, to = !from;
  if (bucket->half[from].count > bucket->half[to].count) {
    bucket->active = !bucket->active;
    from = to;
    to = !from;
  }
  while (bucket->half[from].count) {
    uint32_t workload = bucket->half[from].items[--bucket->half[from].count];
    if (!join(self, id, to, workload)) return false;
  }
  settle(self, id);
  settle_parked(self, id);
  return true;
}

/* Makes the parked workloads of a bucket active again. Returns their number. */
static uint32_t return_bucket(struct hr__kueue_pending *self, uint32_t id) {
  struct hr__kueue_pending_queue *queue = &self->queues[self->buckets[id].queue];
  uint32_t count = self->buckets[id].half[!self->buckets[id].active].count;
  if (!merge_halves(self, id, true)) return 0;
  queue->n_heap += count;
  queue->n_parked -= count;
  return count;
}

/* How many of the buckets that stayed parked come before a workload. */
static uint32_t count_before(const struct hr__kueue_pending *self, const struct hr__kueue_pending_queue *queue,
                             uint32_t workload) {
  uint32_t count = 0;
  for (uint32_t bucket = queue->first_parked; bucket != HR_NONE; bucket = self->buckets[bucket].next) {
    const struct hr__kueue_bucket *at = &self->buckets[bucket];
    count += at->stayed == queue->epoch && is_before(self->world, at->half[!at->active].items[0], workload);
  }
  return count;
}

/* Called before a workload joins a bucket as a possible head. If the bucket stayed parked and has not used up its turn,
   its parked workloads return, and share one turn with the new workload. Returns false if memory is exhausted. */
static bool return_stayed(struct hr__kueue_pending *self, uint32_t id) {
  struct hr__kueue_bucket *bucket = &self->buckets[id];
  struct hr__kueue_pending_queue *queue = &self->queues[bucket->queue];
  const struct hr__kueue_pending_heap *parked = &bucket->half[!bucket->active];
  if (!bucket->is_listed || bucket->stayed != queue->epoch || queue->n_skipped == queue->n_stayed ||
      count_before(self, queue, parked->items[0]) < queue->n_skipped)
    return true;
  bucket->stayed = 0;
  queue->n_stayed--;
  queue->counted = HR_NONE;
  return return_bucket(self, id) > 0;
}

static bool push(struct hr__kueue_pending *self, uint32_t workload) {
  uint32_t bucket = bucket_of(self, workload);
  if (bucket == HR_NONE || !return_stayed(self, bucket) || !join(self, bucket, self->buckets[bucket].active, workload))
    return false;
  self->queues[self->buckets[bucket].queue].n_heap++;
  settle(self, bucket);
  return true;
}

static bool backoff_is_over(const struct hr__kueue_pending *self, uint32_t workload) {
  return !self->held[workload] && self->requeue_us[workload] <= self->world->now_us;
}

/* Whether a workload stays parked although quota or nodes became free. */
static bool is_alone(const struct hr__kueue_pending *self, uint32_t workload) {
  return self->world->workloads[workload].obstacle == HR__KUEUE_NAMESPACE_MISMATCH || !backoff_is_over(self, workload);
}

static void park_alone(struct hr__kueue_pending *self, uint32_t workload) {
  struct hr__kueue_pending_queue *queue = &self->queues[self->world->workloads[workload].queue];
  self->place[workload] = HR__KUEUE_PARKED;
  self->previous[workload] = HR_NONE;
  self->next[workload] = queue->first_alone;
  if (queue->first_alone != HR_NONE) self->previous[queue->first_alone] = workload;
  queue->first_alone = workload;
}

static void leave_alone(struct hr__kueue_pending *self, uint32_t workload) {
  struct hr__kueue_pending_queue *queue = &self->queues[self->world->workloads[workload].queue];
  uint32_t next = self->next[workload], previous = self->previous[workload];
  if (previous != HR_NONE)
    self->next[previous] = next;
  else
    queue->first_alone = next;
  if (next != HR_NONE) self->previous[next] = previous;
  self->place[workload] = HR__KUEUE_NOT_QUEUED;
}

static bool park(struct hr__kueue_pending *self, uint32_t workload, enum hr__kueue_requeue why) {
  self->why[workload] = why;
  self->queues[self->world->workloads[workload].queue].n_parked++;
  if (is_alone(self, workload)) {
    park_alone(self, workload);
    return true;
  }
  uint32_t bucket = bucket_of(self, workload);
  if (bucket == HR_NONE || !join(self, bucket, !self->buckets[bucket].active, workload)) return false;
  settle_parked(self, bucket);
  return true;
}

/* ---- Adding and removing ---- */

void hr__kueue_pending_remove(struct hr__kueue_pending *self, uint32_t workload) {
  enum hr__kueue_place place = hr__kueue_pending_place(self, workload);
  if (place == HR__KUEUE_IN_HEAP || place == HR__KUEUE_PARKED) {
    struct hr__kueue_pending_queue *queue = &self->queues[self->world->workloads[workload].queue];
    *(place == HR__KUEUE_IN_HEAP ? &queue->n_heap : &queue->n_parked) -= 1;
    if (self->place[workload] == HR__KUEUE_PARKED) {
      leave_alone(self, workload);
    } else {
      leave(self, workload);
      settle(self, self->bucket[workload]);
      settle_parked(self, self->bucket[workload]);
    }
  }
  self->place[workload] = HR__KUEUE_NOT_QUEUED;
}

bool hr__kueue_pending_add(struct hr__kueue_pending *self, uint32_t workload) {
  bool in_heap = hr__kueue_pending_place(self, workload) == HR__KUEUE_IN_HEAP;
  hr__kueue_pending_remove(self, workload);
  if (in_heap || backoff_is_over(self, workload)) return push(self, workload);
  return park(self, workload, HR__KUEUE_REQUEUE_GENERIC);
}

uint32_t hr__kueue_pending_pop(struct hr__kueue_pending *self, uint32_t id) {
  struct hr__kueue_pending_queue *queue = &self->queues[id];
  queue->cycle++;
  if (!queue->n_buckets) return HR_NONE;
  uint32_t head = active_of(self, queue->heap[0])->items[0];
  hr__kueue_pending_remove(self, head);
  self->place[head] = HR__KUEUE_IN_CYCLE;
  return head;
}

uint32_t hr__kueue_pending_head(const struct hr__kueue_pending *self, uint32_t id) {
  const struct hr__kueue_pending_queue *queue = &self->queues[id];
  return queue->n_buckets ? active_of(self, queue->heap[0])->items[0] : HR_NONE;
}

void hr__kueue_pending_reorder(struct hr__kueue_pending *self, uint32_t id) {
  struct hr__kueue_pending_queue *queue = &self->queues[id];
  for (uint32_t i = 0; i < self->n_buckets; i++)
    for (int half = 0; half < 2 && self->buckets[i].queue == id; half++) {
      const struct hr__kueue_pending_heap *heap = &self->buckets[i].half[half];
      for (uint32_t k = heap->count / 2; k-- > 0;)
        workloads_sink_from(heap->items, heap->count, k, heap->items[k], self);
    }
  for (uint32_t i = queue->n_buckets / 2; i-- > 0;)
    buckets_sink_from(queue->heap, queue->n_buckets, i, queue->heap[i], self);
}

/* ---- Requeue ---- */

/* Parks the workloads that can be a head and have the same shape as an inadmissible one. Returns false if memory is
   exhausted. */
static bool park_shape(struct hr__kueue_pending *self, uint32_t workload) {
  if (shape_of(self, workload) == HR_NONE) return true;
  uint32_t id = bucket_of(self, workload);
  if (id == HR_NONE) return false;
  uint32_t count = active_of(self, id)->count;
  struct hr__kueue_pending_queue *queue = &self->queues[self->buckets[id].queue];
  queue->n_heap -= count;
  queue->n_parked += count;
  return !count || merge_halves(self, id, false);
}

bool hr__kueue_pending_requeue_as(struct hr__kueue_pending *self, uint32_t workload, bool at_once,
                                  enum hr__kueue_requeue why) {
  struct hr__kueue_pending_queue *queue = &self->queues[self->world->workloads[workload].queue];
  if (self->place[workload] == HR__KUEUE_IN_CYCLE) self->place[workload] = HR__KUEUE_NOT_QUEUED;
  enum hr__kueue_place place = hr__kueue_pending_place(self, workload);
  if (backoff_is_over(self, workload) && (at_once || queue->freed_cycle >= queue->cycle)) {
    if (place == HR__KUEUE_IN_HEAP) return false;
    hr__kueue_pending_remove(self, workload);
    return push(self, workload);
  }
  if (place != HR__KUEUE_NOT_QUEUED) return false;
  if (!park(self, workload, why)) return false;
  return !hr__kueue_requeue_counts_for_shape(why) || park_shape(self, workload);
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

bool hr__kueue_pending_park_head(struct hr__kueue_pending *self, uint32_t id) {
  struct hr__kueue_pending_queue *queue = &self->queues[id];
  uint32_t top = queue->heap[0], count = active_of(self, top)->count;
  if (self->buckets[top].shape == HR_NONE) return false;
  queue->cycle++;
  queue->n_heap -= count;
  queue->n_parked += count;
  return merge_halves(self, top, false);
}

void hr__kueue_pending_freed(struct hr__kueue_pending *self, uint32_t queue) {
  uint32_t root = hr__kueue_root(&self->world->tree, queue);
  for (uint32_t i = 0; i < self->world->tree.n_queues; i++)
    if (hr__kueue_root(&self->world->tree, i) == root) self->queues[i].freed_cycle = self->queues[i].cycle;
}

uint32_t hr__kueue_pending_return_some(struct hr__kueue_pending *self, uint32_t id, hr__kueue_stays_parked *stays,
                                       void *argument) {
  struct hr__kueue_pending_queue *queue = &self->queues[id];
  uint32_t moved = 0;
  queue->freed_cycle = queue->cycle;
  queue->epoch++;
  queue->n_stayed = queue->n_skipped = 0;
  queue->counted = HR_NONE;
  for (uint32_t bucket = queue->first_parked, next; bucket != HR_NONE; bucket = next) {
    struct hr__kueue_bucket *at = &self->buckets[bucket];
    next = at->next;
    bool is_alone = at->half[at->active].count == 0;
    if (stays && is_alone && at->shape != HR_NONE && stays(argument, id, at->shape, at->half[!at->active].items[0])) {
      at->stayed = queue->epoch;
      queue->n_stayed++;
    } else {
      moved += return_bucket(self, bucket);
    }
  }
  for (uint32_t workload = queue->first_alone, next; workload != HR_NONE; workload = next) {
    next = self->next[workload];
    if (is_alone(self, workload)) continue;
    hr__kueue_pending_remove(self, workload);
    moved += push(self, workload);
  }
  return moved;
}

void hr__kueue_pending_recheck(struct hr__kueue_pending *self, uint32_t id, hr__kueue_stays_parked *stays,
                               void *argument) {
  struct hr__kueue_pending_queue *queue = &self->queues[id];
  for (uint32_t bucket = queue->first_parked, next; bucket != HR_NONE && queue->n_skipped < queue->n_stayed;
       bucket = next) {
    struct hr__kueue_bucket *at = &self->buckets[bucket];
    next = at->next;
    uint32_t first = at->stayed == queue->epoch ? at->half[!at->active].items[0] : HR_NONE;
    if (first == HR_NONE || stays(argument, id, at->shape, first) ||
        count_before(self, queue, first) < queue->n_skipped)
      continue;
    at->stayed = 0;
    queue->n_stayed--;
    queue->counted = HR_NONE;
    return_bucket(self, bucket);
  }
}

bool hr__kueue_pending_skip(struct hr__kueue_pending *self, uint32_t id) {
  struct hr__kueue_pending_queue *queue = &self->queues[id];
  uint32_t head = hr__kueue_pending_head(self, id);
  if (queue->n_skipped == queue->n_stayed) return false;
  if (head == HR_NONE) {
    queue->n_skipped++;
    queue->cycle++;
    return false;
  }
  if (queue->counted != head) {
    queue->counted = head;
    queue->n_before = count_before(self, queue, head);
  }
  if (queue->n_skipped >= queue->n_before) return false;
  queue->n_skipped++;
  queue->cycle++;
  return true;
}

void hr__kueue_pending_settled(struct hr__kueue_pending *self) {
  if (!self->world) return; /* not created: the cluster has no nodes */
  for (uint32_t i = 0; i < self->world->tree.n_queues; i++) self->queues[i].n_skipped = self->queues[i].n_stayed;
}

static uint32_t return_parked(struct hr__kueue_pending *self, uint32_t id) {
  return hr__kueue_pending_return_some(self, id, NULL, NULL);
}

uint32_t hr__kueue_pending_return(struct hr__kueue_pending *self, uint32_t queue) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  if (tree->parent[queue] == HR_NONE) return return_parked(self, queue);
  uint32_t root = hr__kueue_root(tree, queue), moved = 0;
  for (uint32_t i = 0; i < tree->n_queues; i++)
    if (hr__kueue_root(tree, i) == root) moved += return_parked(self, i);
  return moved;
}
