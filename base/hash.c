/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Open addressing with linear probing. At most half of the slots are occupied, so a lookup takes O(1) on average. A
 * slot stores the 32-bit hash of its entry. The caller therefore compares keys only for entries with an equal hash, and
 * the table can grow without access to the keys.
 *
 * When an entry is removed, later entries of the same sequence of occupied slots move back into the gap. The table
 * therefore needs no deletion marks (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
 */

#include "base/hash.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 64 };

static void insert(struct hr__hash *table, struct hr__hash_slot entry) {
  uint32_t mask = table->n_slots - 1, at = entry.hash & mask;
  while (table->slots[at].number) at = (at + 1) & mask;
  table->slots[at] = entry;
}

static bool make_room(struct hr__hash *table, struct hr_arena *arena) {
  if (2 * (table->count + 1) <= table->n_slots) return true;
  struct hr__hash larger = {.count = table->count, .n_slots = table->n_slots ? 2 * table->n_slots : FIRST_SLOTS};
  if (larger.n_slots == 0) return false; /* the table already has 2^31 slots */
  larger.slots = arena ? hr_arena_alloc(arena, larger.n_slots * sizeof *larger.slots)
                       : calloc(larger.n_slots, sizeof *larger.slots);
  if (!larger.slots) return false;
  for (uint32_t i = 0; i < table->n_slots; i++)
    if (table->slots[i].number) insert(&larger, table->slots[i]);
  if (!arena) free(table->slots); /* a table in an arena leaves its old slots allocated until the run ends */
  *table = larger;
  return true;
}

bool hr__hash_add(struct hr__hash *table, struct hr_arena *arena, uint32_t hash, uint32_t number) {
  if (!make_room(table, arena)) return false;
  insert(table, (struct hr__hash_slot){hash, number + 1});
  table->count++;
  return true;
}

void hr__hash_remove(struct hr__hash *table, struct hr__hash_cursor at) {
  uint32_t mask = table->n_slots - 1, gap = at.slot;
  for (uint32_t next = (gap + 1) & mask; table->slots[next].number; next = (next + 1) & mask) {
    uint32_t home = table->slots[next].hash & mask;
    /* An entry cannot move into a gap that is before its home slot, because lookups begin at the home slot. */
    if (((next - home) & mask) < ((next - gap) & mask)) continue;
    table->slots[gap] = table->slots[next];
    gap = next;
  }
  table->slots[gap] = (struct hr__hash_slot){0};
  table->count--;
}

bool hr__pair_map_add(struct hr__pair_map *map, struct hr_arena *arena, struct hr__pair pair, uint32_t number) {
  if (map->count == map->capacity) {
    struct hr__pair_entry *entries = hr_arena_grown(arena, map->entries, &map->capacity, sizeof *entries);
    if (!entries) return false;
    map->entries = entries;
  }
  if (!hr__hash_add(&map->table, arena, hr__hash_pair(pair), map->count)) return false;
  map->entries[map->count++] = (struct hr__pair_entry){pair, number};
  return true;
}
