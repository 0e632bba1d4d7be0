/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_ARRAY_H
#define HR_BASE_ARRAY_H

/* Memory: arrays that grow, a queue on such an array, and arenas: memory that is freed all at once. */

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
   (sim/engine/column_reclaim.c). */
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

#endif
