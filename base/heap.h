/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_HEAP_H
#define HR_BASE_HEAP_H

#include <stdint.h>

/*
 * Binary heaps in arrays, for items of any type: HR__HEAP(NAME, ITEM, IS_ABOVE) defines
 *   void NAME_rise(ITEM *heap, uint32_t count, ITEM item, const void *self)   one more item, for which there is room
 *   void NAME_sink(ITEM *heap, uint32_t count, ITEM item, const void *self)   another item instead of the top one
 * bool IS_ABOVE(const void *self, ITEM a, ITEM b) says strictly which comes first; the top is heap[0]. To take the top
 * away is to let the last item sink among those that are left.
 */
#define HR__HEAP(name, item_type, is_above)                                                                            \
  static inline void name##_rise(item_type *heap, uint32_t count, item_type item, const void *self) {                  \
    uint32_t hole = count;                                                                                             \
    for (; hole > 0 && is_above(self, item, heap[(hole - 1) / 2]); hole = (hole - 1) / 2)                              \
      heap[hole] = heap[(hole - 1) / 2];                                                                               \
    heap[hole] = item;                                                                                                 \
  }                                                                                                                    \
  static inline void name##_sink(item_type *heap, uint32_t count, item_type item, const void *self) {                  \
    uint32_t hole = 0;                                                                                                 \
    for (uint32_t child = 1; child < count; child = 2 * hole + 1) {                                                    \
      if (child + 1 < count && is_above(self, heap[child + 1], heap[child])) child++;                                  \
      if (!is_above(self, heap[child], item)) break;                                                                   \
      heap[hole] = heap[child];                                                                                        \
      hole = child;                                                                                                    \
    }                                                                                                                  \
    heap[hole] = item;                                                                                                 \
  }

#endif
