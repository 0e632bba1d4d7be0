/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_EXPORTS_LANES_H
#define HR_REPORT_EXPORTS_LANES_H

/* Assigns intervals to lanes so that the intervals of one lane do not overlap. Each interval is assigned to the free
   lane with the smallest index. A binary tree in an array stores for each lane (leaf) the end of its last interval, and
   in each inner node the minimum of its two children. Assigning an interval therefore costs O(log n). INT64_MIN in a
   leaf means that the lane was never used. */

#include "headroom/base.h"

#include <stdlib.h>

struct hr__lanes {
  int64_t *free_us; /* [2 x room]: the tree; the root is at 1, the leaf of lane i at room + i */
  uint32_t n, room; /* n: number of lanes used; room: capacity, which is 0 or a power of 2 */
};

static inline bool hr__lanes_grow(struct hr__lanes *lanes) {
  uint32_t room = lanes->room ? 2 * lanes->room : 1;
  int64_t *tree = malloc((size_t)2 * room * sizeof *tree);
  if (!tree) return false;
  for (uint32_t i = 0; i < room; i++) tree[room + i] = i < lanes->room ? lanes->free_us[lanes->room + i] : INT64_MIN;
  for (uint32_t i = room; i-- > 1;) tree[i] = tree[2 * i] < tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
  free(lanes->free_us);
  lanes->free_us = tree;
  lanes->room = room;
  return true;
}

/* Returns the lane of an interval, counted from 0; HR_NONE if out of memory. Calls must be in ascending order of
   `begin_us`. */
static inline uint32_t hr__lanes_take(struct hr__lanes *lanes, int64_t begin_us, int64_t end_us) {
  if ((lanes->room == 0 || lanes->free_us[1] > begin_us) && !hr__lanes_grow(lanes)) return HR_NONE;
  int64_t *tree = lanes->free_us;
  uint32_t at = 1;
  while (at < lanes->room) at = 2 * at + (tree[2 * at] > begin_us);
  uint32_t lane = at - lanes->room;
  tree[at] = end_us;
  for (at /= 2; at > 0; at /= 2) tree[at] = tree[2 * at] < tree[2 * at + 1] ? tree[2 * at] : tree[2 * at + 1];
  if (lane >= lanes->n) lanes->n = lane + 1;
  return lane;
}

static inline void hr__lanes_finish(struct hr__lanes *lanes) {
  free(lanes->free_us);
  *lanes = (struct hr__lanes){0};
}

#endif
