/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_HEAP_H
#define HR_BASE_HEAP_H

#include <stdint.h>

/*
 * Binary heaps in arrays of the caller, for items of any type. HR__HEAP(NAME, ITEM, PRECEDES) defines
 *   void NAME_rise(ITEM *heap, uint32_t count, ITEM item, const void *self)
 *     inserts an item into a heap of `count` items; the array has room for one more
 *   void NAME_sink(ITEM *heap, uint32_t count, ITEM item, const void *self)
 *     replaces the top of a heap of `count` items by `item`
 * Both take O(log count). bool PRECEDES(const void *self, ITEM a, ITEM b) is a strict order; `self` is passed through
 * to it. The top is heap[0]. To remove the top: NAME_sink(heap, count - 1, heap[count - 1], self).
 */
#define HR__HEAP(name, item_type, precedes)                                                                            \
  static inline void name##_rise(item_type *heap, uint32_t count, item_type item, const void *self) {                  \
    uint32_t hole = count;                                                                                             \
    for (; hole > 0 && precedes(self, item, heap[(hole - 1) / 2]); hole = (hole - 1) / 2)                              \
      heap[hole] = heap[(hole - 1) / 2];                                                                               \
    heap[hole] = item;                                                                                                 \
  }                                                                                                                    \
  static inline void name##_sink(item_type *heap, uint32_t count, item_type item, const void *self) {                  \
    uint32_t hole = 0;                                                                                                 \
    for (uint32_t child = 1; child < count; child = 2 * hole + 1) {                                                    \
      if (child + 1 < count && precedes(self, heap[child + 1], heap[child])) child++;                                  \
      if (!precedes(self, heap[child], item)) break;                                                                   \
      heap[hole] = heap[child];                                                                                        \
      hole = child;                                                                                                    \
    }                                                                                                                  \
    heap[hole] = item;                                                                                                 \
  }

#endif
