/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_ARRAY_H
#define HR_BASE_ARRAY_H

/*
 * Arrays that grow by doubling, and a queue that is built on such an array. The memory comes from malloc, and the owner
 * of the array frees it. Arrays that are needed until the end of a run are allocated in the arena of the run instead:
 * see hr_arena_grown in headroom/base.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Reallocates an array of `*capacity` items of `bytes` bytes each to twice the capacity; a capacity of 0 grows to 64.
   Stores the new capacity in `*capacity` and returns the new array. Returns NULL if memory is exhausted; the array and
   `*capacity` are then unchanged. */
static inline void *hr__grown(void *items, uint32_t *capacity, size_t bytes) {
  uint32_t wanted = *capacity ? 2 * *capacity : 64;
  void *grown = wanted > *capacity ? realloc(items, wanted * bytes) : NULL;
  if (grown) *capacity = wanted;
  return grown;
}

/* Implements HR__ARRAY_HAS_ROOM. `array` is the address of the variable that points to the items. */
static inline bool hr__array_grow(void *array, uint32_t *capacity, size_t bytes) {
  void *items;
  memcpy(&items, array, sizeof items);
  items = hr__grown(items, capacity, bytes);
  if (items) memcpy(array, &items, sizeof items);
  return items != NULL;
}

/* Makes room for one more item after the first `count` items. All three arguments are lvalues; `count` and `capacity`
   are of type uint32_t. The value of the expression is true on success. It is false if memory is exhausted; the array
   is then unchanged. */
#define HR__ARRAY_HAS_ROOM(items, count, capacity)                                                                     \
  ((count) < (capacity) || hr__array_grow(&(items), &(capacity), sizeof *(items)))

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
  if (fifo->end == fifo->capacity && !hr__array_grow(&fifo->items, &fifo->capacity, bytes)) return false;
  memcpy(fifo->items + fifo->end++ * bytes, item, bytes);
  return true;
}

static inline void hr__fifo_finish(struct hr__fifo *fifo) {
  free(fifo->items);
}

#endif
