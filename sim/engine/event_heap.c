/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A binary heap in an array. It does not use base/heap.h: a removed entry leaves a hole that sinks to a leaf and is
   then filled with the last entry, which nearly always belongs there. This takes about half the comparisons of
   sinking the last entry from the top. Besides, if `place` is set, each move of a job's entry is recorded, so that
   it can be removed early. The code is compiled twice, with and without that, so that runs without it do not pay for
   it. */

#include "sim/engine/event_heap.h"

#include "base/array.h"

#define ALWAYS_INLINE __attribute__((always_inline)) inline

static ALWAYS_INLINE void put(const struct hr__event_heap *heap, bool placed, uint32_t at, struct hr__pending pending) {
  heap->entries[at] = pending;
  if (placed && hr__pending_kind(pending) <= HR__PENDING_PHASE) heap->place[hr__pending_entity(pending)] = at + 1;
}

static ALWAYS_INLINE void rise(const struct hr__event_heap *heap, bool placed, uint32_t hole,
                               struct hr__pending pending) {
  while (hole > 0) {
    uint32_t parent = (hole - 1) / 2;
    if (!hr__pending_before(pending, heap->entries[parent])) break;
    put(heap, placed, hole, heap->entries[parent]);
    hole = parent;
  }
  put(heap, placed, hole, pending);
}

/* Fills the hole of a removed entry, after `count` was decremented. */
static ALWAYS_INLINE void close_hole(const struct hr__event_heap *heap, bool placed, uint32_t hole) {
  const struct hr__pending *entries = heap->entries;
  uint32_t count = heap->count;
  for (uint32_t child = 2 * hole + 1; child < count; child = 2 * hole + 1) {
    child += child + 1 < count && hr__pending_before(entries[child + 1], entries[child]);
    put(heap, placed, hole, entries[child]);
    hole = child;
  }
  if (hole < count) rise(heap, placed, hole, entries[count]);
}

enum hr_status hr__event_heap_push(struct hr__event_heap *heap, struct hr__pending pending) {
  if (!HR__ARRAY_HAS_ROOM(heap->entries, heap->count, heap->capacity)) return HR_NO_MEMORY;
  uint32_t at = heap->count++;
  if (heap->place)
    rise(heap, true, at, pending);
  else
    rise(heap, false, at, pending);
  return HR_OK;
}

static void take_out(struct hr__event_heap *heap, uint32_t at) {
  struct hr__pending taken = heap->entries[at];
  heap->count--;
  if (!heap->place) {
    close_hole(heap, false, at);
    return;
  }
  if (hr__pending_kind(taken) <= HR__PENDING_PHASE) heap->place[hr__pending_entity(taken)] = 0;
  close_hole(heap, true, at);
}

struct hr__pending hr__event_heap_pop(struct hr__event_heap *heap) {
  struct hr__pending top = heap->entries[0];
  take_out(heap, 0);
  return top;
}

void hr__event_heap_remove_job(struct hr__event_heap *heap, uint32_t job) {
  if (heap->place[job]) take_out(heap, heap->place[job] - 1);
}
