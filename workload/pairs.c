/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A radix sort by bytes, least significant first, that skips bytes in which all keys agree; a set of hashes in open
   addressing. Both take time in proportion to a trace. */

#include "workload/pairs.h"

#include <stdlib.h>
#include <string.h>

enum { RADIX = 256, KEY_BYTES = 8 };

static void count_bytes(const struct hr__pair *pairs, size_t count, size_t counts[KEY_BYTES][RADIX]) {
  memset(counts, 0, sizeof(size_t[KEY_BYTES][RADIX]));
  for (size_t i = 0; i < count; i++)
    for (unsigned byte = 0; byte < KEY_BYTES; byte++) counts[byte][(uint64_t)pairs[i].key >> (8 * byte) & 0xff]++;
}

/* Whether one value takes all. */
static bool is_constant(const size_t counts[RADIX], const struct hr__pair *pairs, unsigned byte, size_t count) {
  return counts[(uint64_t)pairs[0].key >> (8 * byte) & 0xff] == count;
}

static void deal(const struct hr__pair *from, struct hr__pair *to, size_t count, unsigned byte, size_t counts[RADIX]) {
  size_t at = 0;
  for (size_t i = 0; i < RADIX; i++) {
    size_t here = counts[i];
    counts[i] = at;
    at += here;
  }
  for (size_t i = 0; i < count; i++) to[counts[(uint64_t)from[i].key >> (8 * byte) & 0xff]++] = from[i];
}

bool hr__pairs_sort(struct hr__pair *pairs, size_t count) {
  size_t counts[KEY_BYTES][RADIX];
  if (count < 2) return true;
  struct hr__pair *other = malloc(count * sizeof *other), *from = pairs, *to = other;
  if (!other) return false;
  count_bytes(pairs, count, counts);
  for (unsigned byte = 0; byte < KEY_BYTES; byte++) {
    if (is_constant(counts[byte], pairs, byte, count)) continue;
    deal(from, to, count, byte, counts[byte]);
    struct hr__pair *swap = from;
    from = to;
    to = swap;
  }
  if (from != pairs) memcpy(pairs, from, count * sizeof *pairs);
  free(other);
  return true;
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
