/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_FIFO_H
#define HR_BASE_FIFO_H

/* First in, first out. All zero is an empty one; items are of one size, which every call is told. */

#include "base/array.h"

#include <stdbool.h>
#include <string.h>

struct hr__fifo {
  char *items;
  uint32_t first, end, capacity; /* items from `first` to before `end` are in it */
};

static inline uint32_t hr__fifo_count(const struct hr__fifo *fifo) {
  return fifo->end - fifo->first;
}

/* The item that is to go out next; there must be one. Valid until the next push. */
static inline const void *hr__fifo_front(const struct hr__fifo *fifo, size_t bytes) {
  return fifo->items + fifo->first * bytes;
}

static inline void hr__fifo_pop(struct hr__fifo *fifo) {
  if (++fifo->first == fifo->end) fifo->first = fifo->end = 0;
}

/* False: out of memory. What has gone out makes room once it is more than half. */
static inline bool hr__fifo_push(struct hr__fifo *fifo, const void *item, size_t bytes) {
  if (fifo->end == fifo->capacity && fifo->first > fifo->end / 2) {
    fifo->end -= fifo->first;
    memmove(fifo->items, fifo->items + fifo->first * bytes, fifo->end * bytes);
    fifo->first = 0;
  }
  if (fifo->end == fifo->capacity) {
    char *grown = hr__grown(fifo->items, &fifo->capacity, bytes);
    if (!grown) return false;
    fifo->items = grown;
  }
  memcpy(fifo->items + fifo->end++ * bytes, item, bytes);
  return true;
}

static inline void hr__fifo_finish(struct hr__fifo *fifo) {
  free(fifo->items);
}

#endif
