/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_ARRAY_H
#define HR_BASE_ARRAY_H

/* Arrays that grow, and a queue on such an array; arenas: memory that is freed all at once; a radix sort; heaps. */

#include "headroom/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- Arrays -------------------------------------------------------------------------------------------- */

/* An array grows, usually by doubling. The memory comes from malloc, and the owner of the array frees it. Arrays
   that are needed until the end of a run are allocated in the arena of the run instead: see hr_arena_grown in
   headroom/base.h. */

/* Implements HR__ARRAY_RESIZE. `array` is the address of the variable that points to the items. */
static inline bool hr__array_resize(void *array, size_t count, size_t bytes) {
  void *items;
  memcpy(&items, array, sizeof items);
  items = realloc(items, (count ? count : 1) * bytes);
  if (items) memcpy(array, &items, sizeof items);
  return items != NULL;
}

/* Implements HR__ARRAY_HAS_ROOM and HR__ARRAY_HAS_ROOM_FOR. Doubles the capacity, or increases it to `needed` if that
   is larger. A capacity of 0 grows to at least 64. */
static inline bool hr__array_grow(void *array, size_t needed, uint32_t *capacity, size_t bytes) {
  size_t wanted = *capacity ? 2 * (size_t)*capacity : 64;
  if (wanted < needed) wanted = needed;
  if (wanted > UINT32_MAX || !hr__array_resize(array, wanted, bytes)) return false;
  *capacity = (uint32_t)wanted;
  return true;
}

/* The macros below take the variable that points to the items. The value of each expression is true on success. It is
   false if memory is exhausted; the array and its capacity are then unchanged. */

/* Makes room for one more item after the first `count` items. `capacity` is an lvalue of type uint32_t. */
#define HR__ARRAY_HAS_ROOM(items, count, capacity)                                                                     \
  ((count) < (capacity) || hr__array_grow(&(items), (size_t)(count) + 1, &(capacity), sizeof *(items)))

/* Makes room for `needed` items in total. `capacity` is an lvalue of type uint32_t. */
#define HR__ARRAY_HAS_ROOM_FOR(items, needed, capacity)                                                                \
  ((needed) <= (capacity) || hr__array_grow(&(items), (needed), &(capacity), sizeof *(items)))

/* Reallocates an array so that it has room for exactly `count` items. Use this for short arrays without a capacity, for
   arrays that share one capacity, and to free the unused part of an array. */
#define HR__ARRAY_RESIZE(items, count) hr__array_resize(&(items), (count), sizeof *(items))

/* A first-in, first-out queue of items of equal size. Each function takes the size of an item in `bytes`. A queue with
   all members 0 is empty. */
struct hr__fifo {
  char *items;
  uint32_t first, end, capacity; /* the queue holds items first .. end - 1 */
};

static inline uint32_t hr__fifo_count(const struct hr__fifo *fifo) {
  return fifo->end - fifo->first;
}

/* Returns the oldest item. The queue must not be empty. The pointer is valid until the next push. */
static inline const void *hr__fifo_front(const struct hr__fifo *fifo, size_t bytes) {
  return fifo->items + fifo->first * bytes;
}

/* Removes the oldest item. The queue must not be empty. */
static inline void hr__fifo_pop(struct hr__fifo *fifo) {
  if (++fifo->first == fifo->end) fifo->first = fifo->end = 0;
}

/* Appends a copy of the item. A full array is compacted if more than half of its items were already removed, and
   doubled otherwise. A push therefore takes O(1) amortized time. Returns false if memory is exhausted. */
static inline bool hr__fifo_push(struct hr__fifo *fifo, const void *item, size_t bytes) {
  if (fifo->end == fifo->capacity && fifo->first > fifo->end / 2) {
    fifo->end -= fifo->first;
    memmove(fifo->items, fifo->items + fifo->first * bytes, fifo->end * bytes);
    fifo->first = 0;
  }
  if (fifo->end == fifo->capacity && !hr__array_grow(&fifo->items, fifo->end + (size_t)1, &fifo->capacity, bytes))
    return false;
  memcpy(fifo->items + fifo->end++ * bytes, item, bytes);
  return true;
}

static inline void hr__fifo_finish(struct hr__fifo *fifo) {
  free(fifo->items);
}

/* ---- Arenas -------------------------------------------------------------------------------------------- */

/* The memory of a run. It is allocated in chunks, zeroed, and freed all at once. The allocation functions are
   declared in headroom/base.h. An arena with all members 0 is empty. */

struct hr__arena_chunk;

/* The allocator of per-job columns in a streamed run. It reclaims the memory of finished jobs
   (sim/engine/jobs.c). */
struct hr__arena_job_columns {
  /* Allocates a zeroed column with `width` bytes per job. Returns NULL if memory is exhausted. */
  void *(*allocate)(void *self, uint32_t n_jobs, size_t width);
  void (*passed)(void *self, hr_job job);
  void *self;
};

struct hr_arena {
  struct hr__arena_chunk *chunks; /* linked list, newest chunk first */
  char *next;                     /* the unused part of the newest chunk; it has `left` bytes */
  size_t left;
  struct hr__arena_job_columns job_columns; /* `job_columns.self` is NULL unless the run is streamed */
};

/* Returns whether the run is streamed. In a streamed run the memory of finished jobs is reclaimed. */
static inline bool hr__arena_is_streamed(const struct hr_arena *arena) {
  return arena->job_columns.self != NULL;
}

/* Frees all memory. The arena is empty afterwards and can be used again. */
void hr__arena_finish(struct hr_arena *arena);

/* ---- Radix sort ---------------------------------------------------------------------------------------- */

struct hr__keyed_row {
  uint64_t key;
  uint32_t row;
};

/* Sorts rows by key. The sort is stable. It takes O(count) time and as much additional memory as the rows. Returns
   false if memory is exhausted; the order is then unchanged. */
bool hr__sort_keyed_rows(struct hr__keyed_row *rows, size_t count);

/* ---- Heaps --------------------------------------------------------------------------------------------- */

/* Suppresses the compiler's warning about unused functions. A source file need not use all functions of a heap. */
#ifdef __GNUC__
#define HR__HEAP_FUNCTION __attribute__((unused)) static inline
#else
#define HR__HEAP_FUNCTION static inline
#endif

/*
 * Binary heaps in arrays of the caller, for items of any type. HR__HEAP(NAME, ITEM, PRECEDES) defines three functions:
 *   void NAME_rise(ITEM *heap, uint32_t count, ITEM item, const void *self)
 *     inserts an item into a heap of `count` items; the array must have room for one more item
 *   void NAME_sink(ITEM *heap, uint32_t count, ITEM item, const void *self)
 *     replaces the first item of a heap of `count` items by `item`
 *   void NAME_refill(ITEM *heap, uint32_t count, uint32_t hole, ITEM item, const void *self)
 *     replaces the item at index `hole` of a heap of `count` items by `item`
 * Each function takes O(log count) time. bool PRECEDES(const void *self, ITEM a, ITEM b) returns whether `a` must be
 * before `b`; it is a strict order. The functions pass `self` on to PRECEDES. The first item of the heap is heap[0]. To
 * remove it, call NAME_sink(heap, count - 1, heap[count - 1], self).
 *
 * HR__HEAP_PLACED(NAME, ITEM, PRECEDES, PUT) defines a heap that records the index of each item. The functions call
 * void PUT(const void *self, ITEM *heap, uint32_t at, ITEM item), which must store the item at index `at` and may
 * record the index.
 */
#define HR__HEAP_PLACED(name, item_type, precedes, put)                                                                \
  HR__HEAP_FUNCTION void name##_rise(item_type *heap, uint32_t count, item_type item, const void *self) {              \
    uint32_t hole = count;                                                                                             \
    for (; hole > 0 && precedes(self, item, heap[(hole - 1) / 2]); hole = (hole - 1) / 2)                              \
      put(self, heap, hole, heap[(hole - 1) / 2]);                                                                     \
    put(self, heap, hole, item);                                                                                       \
  }                                                                                                                    \
  HR__HEAP_FUNCTION void name##_sink_from(item_type *heap, uint32_t count, uint32_t hole, item_type item,              \
                                          const void *self) {                                                          \
    for (uint32_t child = 2 * hole + 1; child < count; child = 2 * hole + 1) {                                         \
      child += child + 1 < count && precedes(self, heap[child + 1], heap[child]);                                      \
      if (!precedes(self, heap[child], item)) break;                                                                   \
      put(self, heap, hole, heap[child]);                                                                              \
      hole = child;                                                                                                    \
    }                                                                                                                  \
    put(self, heap, hole, item);                                                                                       \
  }                                                                                                                    \
  HR__HEAP_FUNCTION void name##_sink(item_type *heap, uint32_t count, item_type item, const void *self) {              \
    name##_sink_from(heap, count, 0, item, self);                                                                      \
  }                                                                                                                    \
  HR__HEAP_FUNCTION void name##_refill(item_type *heap, uint32_t count, uint32_t hole, item_type item,                 \
                                       const void *self) {                                                             \
    if (hole > 0 && precedes(self, item, heap[(hole - 1) / 2]))                                                        \
      name##_rise(heap, hole, item, self);                                                                             \
    else                                                                                                               \
      name##_sink_from(heap, count, hole, item, self);                                                                 \
  }

#define HR__HEAP(name, item_type, precedes)                                                                            \
  HR__HEAP_FUNCTION void name##_put(const void *self, item_type *heap, uint32_t at, item_type item) {                  \
    (void)self;                                                                                                        \
    heap[at] = item;                                                                                                   \
  }                                                                                                                    \
  HR__HEAP_PLACED(name, item_type, precedes, name##_put)

#endif
