/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linear probing; at most half of the slots are taken. What stands behind one that is removed moves up, so that no slot
   is ever marked as deleted (Knuth, The Art of Computer Programming 3, 6.4, algorithm R). */

#include "base/job_map.h"

#include <stdlib.h>

enum { FIRST_SIZE = 64 };

static uint32_t home_of(const struct hr__job_map *map, uint32_t job) {
  return (uint32_t)((job * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (map->size - 1);
}

/* Where the job stands, or the empty slot where it would. */
static uint32_t slot_of(const struct hr__job_map *map, uint32_t job) {
  uint32_t at = home_of(map, job);
  while (map->slots[at].place && map->slots[at].job != job) at = (at + 1) & (map->size - 1);
  return at;
}

uint32_t hr__job_map_find(const struct hr__job_map *map, uint32_t job) {
  uint32_t place = map->size ? map->slots[slot_of(map, job)].place : 0;
  return place ? place - 1 : HR_NONE;
}

static bool grow(struct hr__job_map *map) {
  struct hr__job_map fresh = {.size = map->size ? 2 * map->size : FIRST_SIZE, .count = map->count};
  fresh.slots = calloc(fresh.size, sizeof *fresh.slots);
  if (!fresh.slots) return false;
  for (uint32_t i = 0; i < map->size; i++)
    if (map->slots[i].place) fresh.slots[slot_of(&fresh, map->slots[i].job)] = map->slots[i];
  free(map->slots);
  *map = fresh;
  return true;
}

bool hr__job_map_put(struct hr__job_map *map, uint32_t job, uint32_t place) {
  if (2 * map->count >= map->size && !grow(map)) return false;
  struct hr__job_place *slot = &map->slots[slot_of(map, job)];
  map->count += slot->place == 0;
  *slot = (struct hr__job_place){job, place + 1};
  return true;
}

void hr__job_map_remove(struct hr__job_map *map, uint32_t job) {
  uint32_t mask = map->size - 1, hole = slot_of(map, job);
  for (uint32_t at = (hole + 1) & mask; map->slots[at].place; at = (at + 1) & mask) {
    uint32_t home = home_of(map, map->slots[at].job);
    if (((at - home) & mask) < ((at - hole) & mask)) continue; /* it would come before where it belongs */
    map->slots[hole] = map->slots[at];
    hole = at;
  }
  map->slots[hole] = (struct hr__job_place){0};
  map->count--;
}

void hr__job_map_finish(struct hr__job_map *map) {
  free(map->slots);
  *map = (struct hr__job_map){0};
}
