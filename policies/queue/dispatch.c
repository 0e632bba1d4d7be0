/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dispatch of events to the modules of the queue policy, and the moves that modules share. */

#include "policies/queue/dispatch.h"

#include "headroom/policy_kit.h"
#include "policies/kit/jobs.h"
#include "policies/queue/preemption/preemption.h"
#include "policies/queue/quota/quota.h"

enum hr_status hr__queue_refresh(struct hr__queue *queue, const struct hr_view *view) {
  if (queue->waiting.failed) return HR_NO_MEMORY;
  if (queue->frozen) return HR_OK;
  enum hr_status status = queue->order->refresh ? queue->order->refresh(queue, view) : HR_OK;
  return status == HR_OK ? hr__waiting_find_first(&queue->waiting) : status;
}

/* ---- Gains of free capacity ----------------------------------------------------------------------- */

static void gain(struct hr__gains *gains, uint32_t free) {
  gains->count++;
  if (free > gains->n_last) free = gains->n_last;
  for (uint32_t i = 1; i <= free; i++) gains->last[i] = gains->count;
}

static void gain_on(struct hr__queue *queue, const struct hr_placement *placement) {
  const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, placement->pool);
  uint32_t first = hr_cluster_first_node(queue->cluster, placement->pool).id;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    gain(queue->gains, hr_free_index_get(index, placement->slices[i].node.id - first));
}

static enum hr_status gains_job_uses(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                     const struct hr_placement *placement, bool uses) {
  (void)view;
  (void)job;
  if (!uses) gain_on(queue, placement);
  return HR_OK;
}

static enum hr_status gains_node_changes(struct hr__queue *queue, const struct hr_view *view,
                                         const struct hr_event *event) {
  (void)view;
  if (event->kind == HR_EVENT_NODE_UP) gain(queue->gains, queue->gains->n_last);
  return HR_OK;
}

static const struct hr__listener gains_listener = {.job_uses = gains_job_uses, .node_changes = gains_node_changes};

bool hr__gains_create(struct hr__queue *queue) {
  enum { MAX_LEVELS = 64 };
  bool stops_tentatively = queue->preemptor && !hr__ranked_applies(queue);
  if (queue->by_gpu || queue->locality || stops_tentatively || queue->rule == HR_PLACE_POOL) return true;
  struct hr__gains *gains = hr_arena_alloc(queue->arena, sizeof *gains);
  if (!gains) return false;
  *gains = (struct hr__gains){.count = 1};
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++) {
    uint32_t size = hr_free_index_gpus_per_node(hr_cluster_free_index(queue->cluster, (hr_pool){i}));
    if (size > gains->n_last) gains->n_last = size < MAX_LEVELS ? size : MAX_LEVELS;
  }
  if (!HR__ARENA_ARRAY(queue->arena, gains->last, (size_t)gains->n_last + 1)) return false;
  queue->gains = gains;
  hr__queue_add_listener(queue, &gains_listener);
  return true;
}

uint32_t hr__least_gpus(const struct hr__queue *queue, const struct hr__shape *shape) {
  struct hr_need need = hr__need(queue, shape->gpus, shape->kind);
  uint32_t least = need.gpus;
  if (hr_placer_is_single(queue->placer, need.gpus, need.accept_class)) return least;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++) {
    uint32_t size = hr_free_index_gpus_per_node(hr_cluster_free_index(queue->cluster, (hr_pool){i}));
    uint32_t rest = size ? need.gpus % size : 0, fewest = rest ? rest : size;
    if (fewest && fewest < least) least = fewest;
  }
  return least;
}

bool hr__shape_try(const struct hr__queue *queue, struct hr__shape *shape, struct hr_placement *placement) {
  if (hr__fits(queue, shape->gpus, shape->kind, placement)) return true;
  if (!queue->gains) return false;
  uint32_t least = shape->gain ? shape->gain : hr__least_gpus(queue, shape);
  shape->gain = least < queue->gains->n_last ? least : queue->gains->n_last;
  shape->unfit = queue->gains->count;
  return false;
}

/* ---- Events --------------------------------------------------------------------------------------- */

/* Returns the key with which a job is added to the queue: the key of the order, unless the parameter `requeue` requires
   another key. The value `tail` requires the order `fifo`. Jobs that were never stopped then have their submit times as
   keys. */
static int64_t key_of(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  if (queue->requeue_key && queue->requeue_key[job.id]) return queue->requeue_key[job.id];
  if (queue->requeue == HR__REQUEUE_TAIL) return queue->trace->submit_us[job.id];
  return queue->order->key(queue, view, job);
}

void hr__queue_requeue(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  if (queue->requeue == HR__REQUEUE_HEAD) queue->requeue_key[job.id] = INT64_MIN / 2 + queue->n_requeued++;
  if (queue->requeue == HR__REQUEUE_TAIL) queue->requeue_key[job.id] = view->now_us;
}

static struct hr__queued_job queued_job_for(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr__queued_job queued = {.job = job, .key = key_of(queue, view, job)};
  uint32_t tenant = queue->quota ? hr__tenant(queue, job) : 0;
  uint32_t priority = queue->by_priority ? (uint32_t)queue->trace->priority[job.id] : 0;
  queued.part = (uint64_t)tenant << 32 | priority;
  queued.owner = hr__quota_owner(queue, job);
  if (queue->order->subqueue) queued.subqueue = queue->order->subqueue(queue, job);
  if (queue->backfill->value) queued.value = queue->backfill->value(queue->trace, job);
  if (!queue->backfill->by_shape) return queued;
  queued.gpus = hr__gpus(queue, job);
  queued.kind = hr__kind(queue, job);
  return queued;
}

enum hr_status hr__queue_job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  enum hr_status status = HR_OK;
  HR__NOTIFY(queue, status, job_waits, view, job);
  if (status != HR_OK) return status;
  struct hr__queued_job queued = queued_job_for(queue, view, job);
  return hr__waiting_add(&queue->waiting, &queued);
}

enum hr_status hr__queue_add_again(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr__queued_job queued = queued_job_for(queue, view, job);
  return hr__waiting_add(&queue->waiting, &queued);
}

enum hr_status hr__queue_job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  enum hr_status status = HR_OK;
  queue->freed = true;
  queue->settled.head = (hr_job){HR_NONE};
  HR__NOTIFY(queue, status, job_uses, view, event->job, event->placement, false);
  HR__NOTIFY(queue, status, job_stops, view, event);
  return status == HR_OK ? hr__queue_refresh(queue, view) : status;
}

enum hr_status hr__queue_job_moves(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                   const struct hr_placement *from, const struct hr_placement *to) {
  enum hr_status status = HR_OK;
  HR__NOTIFY(queue, status, job_uses, view, job, from, false);
  HR__NOTIFY(queue, status, job_uses, view, job, to, true);
  HR__NOTIFY(queue, status, job_moves, view, job, from, to);
  return status == HR_OK ? hr__queue_refresh(queue, view) : status;
}

/* ---- Moves ---------------------------------------------------------------------------------------- */

/* Rejects the job `entry` of a shape. */
static enum hr_status reject_entry(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                   struct hr__shape *shape, struct hr_job_entry entry, enum hr_reason reason) {
  enum hr_status status = hr_moves_reject(moves, entry.job, reason);
  queue->settled.head = (hr_job){HR_NONE};
  HR__NOTIFY(queue, status, job_rejected, view, entry.job);
  return status == HR_OK ? hr__waiting_remove(&queue->waiting, shape, entry) : status;
}

enum hr_status hr__queue_start(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                               struct hr__shape *shape, struct hr_job_entry entry, const struct hr_placement *placement,
                               enum hr_reason reason) {
  enum hr_status status = HR_OK;
  struct hr_placement checked = *placement;
  enum hr__hold hold = queue->holds ? hr__holds_try(queue, view, entry.job, &checked) : HR__HOLD_NONE;
  if (hold != HR__HOLD_NONE) {
    status = hold == HR__HOLD_HELD ? hr__waiting_remove(&queue->waiting, shape, entry) : HR_NO_MEMORY;
    return status == HR_OK ? hr__queue_refresh(queue, view) : status;
  }
  placement = &checked;
  if (!hr__tasks_have_memory(view->cluster, view->jobs, entry.job, placement)) {
    status = reject_entry(queue, view, moves, shape, entry, HR_REASON_GPU_MEMORY);
    return status == HR_OK ? hr__queue_refresh(queue, view) : status;
  }
  queue->settled.head = (hr_job){HR_NONE};
  status = hr_moves_start(moves, entry.job, placement, reason);
  HR__NOTIFY(queue, status, job_uses, view, entry.job, placement, true);
  HR__NOTIFY(queue, status, job_starts, view, entry.job, placement);
  if (status == HR_OK) status = hr__waiting_remove(&queue->waiting, shape, entry);
  return status == HR_OK ? hr__queue_refresh(queue, view) : status;
}

/* Returns the entry of a waiting job in the queue. Without subqueues, no key is stored, so the key is computed again;
   it is the same as when the job was added. */
static struct hr_job_entry entry_of(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                    struct hr__shape **shape) {
  struct hr__queued_job queued = queued_job_for(queue, view, job);
  *shape = hr__waiting_shape(&queue->waiting, queued.gpus, queued.kind);
  return (struct hr_job_entry){queued.key, job, queued.value};
}

enum hr_status hr__queue_start_job(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                   hr_job job, const struct hr_placement *placement, enum hr_reason reason) {
  struct hr__shape *shape;
  struct hr_job_entry entry = entry_of(queue, view, job, &shape);
  return hr__queue_start(queue, view, moves, shape, entry, placement, reason);
}

enum hr_status hr__queue_start_in_order(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                        struct hr__shape **blocked) {
  enum hr_status status = HR_OK;
  while (status == HR_OK && (*blocked = hr__waiting_first(&queue->waiting))) {
    struct hr_job_entry head = (*blocked)->head;
    struct hr_placement placement;
    bool fits = queue->backfill->by_shape
                    ? hr__shape_fits(queue, *blocked, &placement)
                    : hr__fits(queue, hr__gpus(queue, head.job), hr__kind(queue, head.job), &placement);
    if (!fits) return HR_OK;
    status = hr__queue_start(queue, view, moves, *blocked, head, &placement, HR_REASON_IN_ORDER);
  }
  return status;
}

static enum hr_status reject(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves, hr_job job,
                             enum hr_reason reason) {
  struct hr__shape *shape;
  enum hr_status status = queue->holds ? hr__holds_drop(queue, view, job) : HR_OK;
  if (status != HR_OK) return status;
  struct hr_job_entry entry = entry_of(queue, view, job, &shape);
  return reject_entry(queue, view, moves, shape, entry, reason);
}

/* A job may be marked several times, with different reasons. The first reason is used. */
enum hr_status hr__queue_reject_marked(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < queue->n_rejections && status == HR_OK; i++)
    if (view->state[queue->rejections[i].job.id] == HR_JOB_WAITING)
      status = reject(queue, view, moves, queue->rejections[i].job, queue->rejections[i].reason);
  queue->n_rejections = 0;
  return status;
}

enum hr_status hr__queue_change_kind(struct hr__queue *queue, const struct hr_view *view, hr_job job, uint8_t *flag) {
  struct hr__shape *shape;
  enum hr_status status = queue->holds ? hr__holds_drop(queue, view, job) : HR_OK;
  if (status != HR_OK) return status;
  struct hr_job_entry entry = entry_of(queue, view, job, &shape);
  status = hr__waiting_remove(&queue->waiting, shape, entry);
  *flag = true;
  HR__NOTIFY(queue, status, kind_changes, view, job);
  struct hr__queued_job queued = queued_job_for(queue, view, job);
  return status == HR_OK ? hr__waiting_add(&queue->waiting, &queued) : status;
}

enum hr_status hr__queue_rekey(struct hr__queue *queue, const struct hr_view *view, hr_job job, int64_t old_key) {
  struct hr__queued_job queued = queued_job_for(queue, view, job);
  struct hr__shape *shape = hr__waiting_shape(&queue->waiting, queued.gpus, queued.kind);
  enum hr_status status = hr__waiting_remove(&queue->waiting, shape, (struct hr_job_entry){old_key, job, queued.value});
  return status == HR_OK ? hr__waiting_add(&queue->waiting, &queued) : status;
}
