/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Open addressing with linear probing, at most half full. */

#include "base/pair_map.h"

enum { FIRST_SLOTS = 64 };

struct hr__pair_slot {
  struct hr__pair pair;
  uint32_t number; /* + 1; 0: empty */
};

static uint32_t hash(struct hr__pair pair) {
  uint64_t mixed = (pair.a ^ pair.b * UINT64_C(0xff51afd7ed558ccd)) * UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(mixed >> 32);
}

static struct hr__pair_slot *slot_of(const struct hr__pair_map *map, struct hr__pair pair) {
  uint32_t at = hash(pair) & (map->n_slots - 1);
  while (map->slots[at].number && (map->slots[at].pair.a != pair.a || map->slots[at].pair.b != pair.b))
    at = (at + 1) & (map->n_slots - 1);
  return &map->slots[at];
}

uint32_t hr__pair_map_find(const struct hr__pair_map *map, struct hr__pair pair) {
  return map->n_slots ? slot_of(map, pair)->number - 1 : HR_NONE;
}

/* The old slots stay in the arena. */
static bool grow(struct hr__pair_map *map, struct hr_arena *arena) {
  struct hr__pair_map larger = {.count = map->count, .n_slots = map->n_slots ? 2 * map->n_slots : FIRST_SLOTS};
  larger.slots = hr_arena_alloc(arena, larger.n_slots * sizeof *larger.slots);
  if (!larger.slots) return false;
  for (uint32_t i = 0; i < map->n_slots; i++)
    if (map->slots[i].number) *slot_of(&larger, map->slots[i].pair) = map->slots[i];
  *map = larger;
  return true;
}

bool hr__pair_map_add(struct hr__pair_map *map, struct hr_arena *arena, struct hr__pair pair, uint32_t number) {
  if (2 * map->count >= map->n_slots && !grow(map, arena)) return false;
  *slot_of(map, pair) = (struct hr__pair_slot){pair, number + 1};
  map->count++;
  return true;
}
