/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A binary heap (base/heap.h) that, if `place` is set, records where the entry of each job is, so that the entry can be
 * removed early. (Floyd's variant, which lets the hole of a removed entry sink to a leaf first, halves the comparisons,
 * but runs of 1,000,000 jobs on 1,024 and on 100,000 GPUs were not measurably faster with it.)
 */

#include "sim/engine/event_heap.h"

#include "base/array.h"
#include "base/heap.h"

static inline bool precedes(const void *self, struct hr__pending a, struct hr__pending b) {
  (void)self;
  return hr__pending_before(a, b);
}

static inline void put(const void *self, struct hr__pending *entries, uint32_t at, struct hr__pending pending) {
  const struct hr__event_heap *heap = self;
  entries[at] = pending;
  if (heap->place && hr__pending_kind(pending) <= HR__PENDING_PHASE) heap->place[hr__pending_entity(pending)] = at + 1;
}

HR__HEAP_PLACED(pending_heap, struct hr__pending, precedes, put)

enum hr_status hr__event_heap_push(struct hr__event_heap *heap, struct hr__pending pending) {
  if (!HR__ARRAY_HAS_ROOM(heap->entries, heap->count, heap->capacity)) return HR_NO_MEMORY;
  pending_heap_rise(heap->entries, heap->count++, pending, heap);
  return HR_OK;
}

static void remove_at(struct hr__event_heap *heap, uint32_t at) {
  struct hr__pending removed = heap->entries[at], last = heap->entries[--heap->count];
  if (heap->place && hr__pending_kind(removed) <= HR__PENDING_PHASE) heap->place[hr__pending_entity(removed)] = 0;
  if (at < heap->count) pending_heap_refill(heap->entries, heap->count, at, last, heap);
}

struct hr__pending hr__event_heap_pop(struct hr__event_heap *heap) {
  struct hr__pending top = heap->entries[0];
  remove_at(heap, 0);
  return top;
}

void hr__event_heap_remove_job(struct hr__event_heap *heap, uint32_t job) {
  if (heap->place[job]) remove_at(heap, heap->place[job] - 1);
}
