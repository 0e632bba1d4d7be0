/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sort of rows by keys, for pairs; a set of hashes in open addressing. Both take time in proportion to a trace. */

#include "workload/pairs.h"

#include "sim/sort.h"

#include <stdlib.h>

bool hr__pairs_sort(struct hr__pair *pairs, size_t count) {
  struct hr__keyed_row *rows = malloc((count + 1) * sizeof *rows);
  struct hr__pair *unsorted = malloc((count + 1) * sizeof *unsorted);
  bool done = rows && unsorted;
  for (size_t i = 0; done && i < count; i++) {
    rows[i] = (struct hr__keyed_row){(uint64_t)pairs[i].key, (uint32_t)i};
    unsorted[i] = pairs[i];
  }
  done = done && hr__sort_keyed_rows(rows, count);
  for (size_t i = 0; done && i < count; i++) pairs[i] = unsorted[rows[i].row];
  free(rows);
  free(unsorted);
  return done;
}

/* ---- Hashes ----------------------------------------------------------------------------------------- */

bool hr__hash_set_init(struct hr__hash_set *set, size_t count) {
  uint64_t size = 16;
  while (size < 2 * (uint64_t)count) size *= 2;
  *set = (struct hr__hash_set){.slot = calloc(size, sizeof *set->slot), .mask = size - 1};
  return set->slot != NULL;
}

void hr__hash_set_finish(struct hr__hash_set *set) {
  free(set->slot);
}

static uint64_t slot_of(const struct hr__hash_set *set, uint64_t hash) {
  uint64_t at = hash & set->mask;
  while (set->slot[at] && set->slot[at] != hash) at = (at + 1) & set->mask;
  return at;
}

bool hr__hash_set_has(const struct hr__hash_set *set, uint64_t hash) {
  if (hash == 0) hash = 1;
  return set->slot[slot_of(set, hash)] == hash;
}

bool hr__hash_set_add(struct hr__hash_set *set, uint64_t hash) {
  if (hash == 0) hash = 1;
  uint64_t at = slot_of(set, hash);
  if (set->slot[at]) return false;
  set->slot[at] = hash;
  return true;
}

uint64_t hr__hash_more(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
  hash ^= hash >> 32;
  hash *= UINT64_C(0xD6E8FEB86659FD93);
  return hash ^ hash >> 32;
}
