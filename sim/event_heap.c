/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A binary heap in an array. A removed top leaves a hole that sinks to a leaf and is then filled by the last
   entry, which nearly always belongs there: about half the comparisons of sinking the entry itself. */

#include "sim/event_heap.h"

#include <stdlib.h>

static void rise(struct hr__pending *entries, uint32_t hole, struct hr__pending pending) {
  while (hole > 0) {
    uint32_t parent = (hole - 1) / 2;
    if (!hr__pending_before(pending, entries[parent])) break;
    entries[hole] = entries[parent];
    hole = parent;
  }
  entries[hole] = pending;
}

enum hr_status hr__event_heap_push(struct hr__event_heap *heap, struct hr__pending pending) {
  if (heap->count == heap->capacity) {
    uint32_t capacity = heap->capacity ? 2 * heap->capacity : 1024;
    struct hr__pending *entries = realloc(heap->entries, capacity * sizeof *entries);
    if (!entries) return HR_NO_MEMORY;
    heap->entries = entries;
    heap->capacity = capacity;
  }
  rise(heap->entries, heap->count++, pending);
  return HR_OK;
}

struct hr__pending hr__event_heap_pop(struct hr__event_heap *heap) {
  struct hr__pending *entries = heap->entries, top = entries[0];
  uint32_t count = --heap->count, hole = 0;
  for (uint32_t child = 1; child < count; child = 2 * hole + 1) {
    child += child + 1 < count && hr__pending_before(entries[child + 1], entries[child]);
    entries[hole] = entries[child];
    hole = child;
  }
  if (count > 0) rise(entries, hole, entries[count]);
  return top;
}

void hr__event_heap_finish(struct hr__event_heap *heap) {
  free(heap->entries);
  *heap = (struct hr__event_heap){0};
}
