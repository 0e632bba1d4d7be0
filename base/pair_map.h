/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_PAIR_MAP_H
#define HR_BASE_PAIR_MAP_H

/* A hash map from a pair of numbers to a number below HR_NONE, in an arena. Pairs are never taken out. */

#include "headroom/base.h"

struct hr__pair {
  uint64_t a, b;
};

struct hr__pair_map {
  struct hr__pair_slot *slots;
  uint32_t count, n_slots; /* n_slots: a power of two, or 0 */
};

/* The pair's number, HR_NONE when it has none. A map that is all zero is empty. */
uint32_t hr__pair_map_find(const struct hr__pair_map *map, struct hr__pair pair);
/* The pair must not be there yet; false: out of memory. */
bool hr__pair_map_add(struct hr__pair_map *map, struct hr_arena *arena, struct hr__pair pair, uint32_t number);

#endif
