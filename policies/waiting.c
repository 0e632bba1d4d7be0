/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waiting jobs by shape. A shape is found through a hash of what it asks for; those with waiting jobs are listed, in
 * no order, each with its first job at hand, so that a pass looks at one job per shape.
 */

#include "policies/queue.h"

#include <string.h>

enum { FIRST_SLOTS = 64 };

static uint32_t hash_shape(uint32_t gpus, uint32_t accept_class) {
  uint64_t hash = ((uint64_t)accept_class << 32 | gpus) * UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(hash >> 32);
}

static uint32_t find_slot(const struct hr__queue *queue, uint32_t gpus, uint32_t accept_class) {
  uint32_t at = hash_shape(gpus, accept_class) & (queue->n_slots - 1);
  while (queue->slot[at]) {
    const struct hr__shape *shape = queue->shapes[queue->slot[at] - 1];
    if (shape->gpus == gpus && shape->accept_class == accept_class) break;
    at = (at + 1) & (queue->n_slots - 1);
  }
  return at;
}

/* Tables for twice as many shapes; the old ones stay in the arena. */
static enum hr_status grow(struct hr__queue *queue, uint32_t n_slots) {
  struct hr__shape **shapes = hr_arena_alloc(queue->arena, n_slots / 2 * sizeof(*shapes));
  uint32_t *active = hr_arena_alloc(queue->arena, n_slots / 2 * sizeof *active);
  uint32_t *slot = hr_arena_alloc(queue->arena, n_slots * sizeof *slot);
  if (!shapes || !active || !slot) return HR_NO_MEMORY;
  if (queue->n_shapes) memcpy(shapes, queue->shapes, queue->n_shapes * sizeof(*shapes));
  if (queue->n_active) memcpy(active, queue->active, queue->n_active * sizeof *active);
  queue->shapes = shapes;
  queue->active = active;
  queue->slot = slot;
  queue->n_slots = n_slots;
  for (uint32_t i = 0; i < queue->n_shapes; i++)
    slot[find_slot(queue, shapes[i]->gpus, shapes[i]->accept_class)] = i + 1;
  return HR_OK;
}

enum hr_status hr__waiting_init(struct hr__queue *queue) {
  return grow(queue, FIRST_SLOTS);
}

static uint32_t make_shape(struct hr__queue *queue, uint32_t gpus, uint32_t accept_class) {
  if (queue->n_shapes == queue->n_slots / 2 && grow(queue, 2 * queue->n_slots) != HR_OK) return HR_NONE;
  struct hr__shape *shape = hr_arena_alloc(queue->arena, sizeof *shape);
  if (!shape) return HR_NONE;
  *shape =
      (struct hr__shape){.gpus = gpus, .accept_class = accept_class, .jobs.store = queue->store, .active_at = HR_NONE};
  queue->slot[find_slot(queue, gpus, accept_class)] = queue->n_shapes + 1;
  queue->shapes[queue->n_shapes] = shape;
  return queue->n_shapes++;
}

static uint32_t shape_of(struct hr__queue *queue, hr_job job) {
  uint32_t gpus = 0, accept_class = 0;
  if (queue->backfill->by_shape) {
    gpus = hr__gpus(queue, job);
    accept_class = hr_cluster_accept_class(queue->cluster, job);
  }
  uint32_t number = queue->slot[find_slot(queue, gpus, accept_class)];
  return number ? number - 1 : make_shape(queue, gpus, accept_class);
}

enum hr_status hr__waiting_add(struct hr__queue *queue, hr_job job) {
  uint32_t number = shape_of(queue, job);
  if (number == HR_NONE) return HR_NO_MEMORY;
  struct hr__shape *shape = queue->shapes[number];
  int64_t value = queue->backfill->value ? queue->backfill->value(queue->trace, job) : 0;
  struct hr_job_entry entry = {queue->order->key(queue->trace, job), job, value};
  if (!hr_job_tree_insert(&shape->jobs, entry)) return HR_NO_MEMORY;
  if (shape->active_at == HR_NONE) {
    shape->active_at = queue->n_active;
    queue->active[queue->n_active++] = number;
    shape->head = entry;
  } else if (hr__entry_before(entry, shape->head)) {
    shape->head = entry;
  }
  return HR_OK;
}

static void deactivate(struct hr__queue *queue, struct hr__shape *shape) {
  uint32_t last = queue->active[--queue->n_active];
  queue->active[shape->active_at] = last;
  queue->shapes[last]->active_at = shape->active_at;
  shape->active_at = HR_NONE;
}

enum hr_status hr__waiting_remove(struct hr__queue *queue, struct hr__shape *shape, struct hr_job_entry entry) {
  if (!hr_job_tree_remove(&shape->jobs, entry.key, entry.job)) return HR_INTERNAL;
  if (shape->jobs.count == 0)
    deactivate(queue, shape);
  else if (shape->head.job.id == entry.job.id)
    hr_job_tree_first(&shape->jobs, &shape->head);
  return HR_OK;
}

struct hr__shape *hr__waiting_first(const struct hr__queue *queue) {
  struct hr__shape *first = NULL;
  for (uint32_t i = 0; i < queue->n_active; i++) {
    struct hr__shape *shape = hr__active_shape(queue, i);
    if (!first || hr__entry_before(shape->head, first->head)) first = shape;
  }
  return first;
}
