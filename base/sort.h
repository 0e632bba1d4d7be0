/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_SORT_H
#define HR_BASE_SORT_H

/* A radix sort of rows by key, and binary heaps. */

#include "headroom/base.h"

#include <stdint.h>

/* ---- The radix sort ------------------------------------------------------------------------------------ */

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
