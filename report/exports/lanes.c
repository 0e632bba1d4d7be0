/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The least of each half tells which way the first free line is, so that it is found in so many steps as the tree is
   high, however many jobs run at once. Lines that nobody has used are free since ever. */

#include "report/exports/lanes.h"

#include <stdlib.h>

static bool grow(struct hr__subqueues *lanes) {
  uint32_t room = lanes->room ? 2 * lanes->room : 1;
  int64_t *fresh = malloc((size_t)2 * room * sizeof *fresh);
  if (!fresh) return false;
  for (uint32_t i = 0; i < room; i++) fresh[room + i] = i < lanes->room ? lanes->free_us[lanes->room + i] : INT64_MIN;
  for (uint32_t i = room; i-- > 1;) fresh[i] = fresh[2 * i] < fresh[2 * i + 1] ? fresh[2 * i] : fresh[2 * i + 1];
  free(lanes->free_us);
  lanes->free_us = fresh;
  lanes->room = room;
  return true;
}

uint32_t hr__subqueues_take(struct hr__subqueues *lanes, int64_t begin_us, int64_t end_us) {
  if ((lanes->room == 0 || lanes->free_us[1] > begin_us) && !grow(lanes)) return HR_NONE;
  int64_t *tree = lanes->free_us;
  uint32_t at = 1;
  while (at < lanes->room) at = 2 * at + (tree[2 * at] > begin_us);
  uint32_t lane = at - lanes->room;
  tree[at] = end_us;
  for (at /= 2; at > 0; at /= 2) tree[at] = tree[2 * at] < tree[2 * at + 1] ? tree[2 * at] : tree[2 * at + 1];
  if (lane >= lanes->n) lanes->n = lane + 1;
  return lane;
}

void hr__subqueues_finish(struct hr__subqueues *lanes) {
  free(lanes->free_us);
  *lanes = (struct hr__subqueues){0};
}
