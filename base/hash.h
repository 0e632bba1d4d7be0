/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_HASH_H
#define HR_BASE_HASH_H

/*
 * Digests, hash tables, and interned strings, which are numbered by a hash table.
 *
 * A table maps a 32-bit hash to numbers less than HR_NONE. The numbers are usually indices into an array of the caller,
 * and the keys are in the items of that array. To find a key, compare it with the keys of all entries that have its
 * hash:
 *
 *   struct hr__hash_cursor at;
 *   for (uint32_t i = hr__hash_first(table, hash, &at); i != HR_NONE; i = hr__hash_next(table, &at))
 *     if (equal(&items[i], key)) return i;
 *
 * A table with all members 0 is empty. The memory of a table comes from an arena or, if `arena` is NULL, from malloc.
 * All calls for a table must pass the same `arena`. The results of a run cannot depend on the order of entries in a
 * table, because no function iterates over a table.
 */

#include "headroom/base.h"

#include <stdlib.h>
#include <string.h>

#define HR__DIGEST_SEED UINT64_C(0x243f6a8885a308d3) /* the first digits of pi */

/* Adds a number to a 64-bit digest of a sequence of numbers and returns the new digest. The digest is fast (one
   multiplication and one shift), but not cryptographic. */
static inline uint64_t hr__digest_add(uint64_t digest, uint64_t value) {
  digest = (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
  return digest ^ digest >> 32;
}

/* Returns the 32-bit hash of a 64-bit digest or key. */
static inline uint32_t hr__hash_u64(uint64_t key) {
  return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

/* Returns the hash of a 32-bit key. The function is one-to-one (the finalizer of MurmurHash3): equal hashes imply equal
   keys, so a table of such keys needs no comparison of keys. */
static inline uint32_t hr__hash_u32(uint32_t key) {
  key = (key ^ key >> 16) * UINT32_C(0x85ebca6b);
  key = (key ^ key >> 13) * UINT32_C(0xc2b2ae35);
  return key ^ key >> 16;
}

struct hr__hash_slot {
  uint32_t hash, number; /* number + 1; 0 if the slot is empty */
};

struct hr__hash {
  struct hr__hash_slot *slots;
  uint32_t n_slots, count; /* `count`: number of entries; `n_slots`: 0 or a power of two, and at least 2 * count */
};

/* The position of an entry in a table. It is valid until any entry is added to the table or removed from it. */
struct hr__hash_cursor {
  uint32_t slot, hash;
};

/* Searches for an entry with the hash of the cursor, beginning at the cursor's slot. Moves the cursor to the entry and
   returns its number. Returns HR_NONE if no such entry exists. */
static inline uint32_t hr__hash_probe(const struct hr__hash *table, struct hr__hash_cursor *at) {
  for (;; at->slot = (at->slot + 1) & (table->n_slots - 1)) {
    const struct hr__hash_slot *slot = &table->slots[at->slot];
    if (!slot->number) return HR_NONE;
    if (slot->hash == at->hash) return slot->number - 1;
  }
}

/* Finds the first entry with this hash. Sets the cursor to the entry and returns its number. Returns HR_NONE if no such
   entry exists. */
static inline uint32_t hr__hash_first(const struct hr__hash *table, uint32_t hash, struct hr__hash_cursor *at) {
  if (!table->slots) return HR_NONE;
  *at = (struct hr__hash_cursor){hash & (table->n_slots - 1), hash};
  return hr__hash_probe(table, at);
}

/* Finds the next entry with the same hash. Moves the cursor to the entry and returns its number. Returns HR_NONE if no
   such entry exists. */
static inline uint32_t hr__hash_next(const struct hr__hash *table, struct hr__hash_cursor *at) {
  at->slot = (at->slot + 1) & (table->n_slots - 1);
  return hr__hash_probe(table, at);
}

/* Adds an entry. Its key must not be in the table already. Returns false if memory is exhausted; the table is then
   unchanged. */
bool hr__hash_add(struct hr__hash *table, struct hr_arena *arena, uint32_t hash, uint32_t number);

/* Replaces the number of the entry at the cursor. No effect on an empty table. */
static inline void hr__hash_set(struct hr__hash *table, struct hr__hash_cursor at, uint32_t number) {
  if (table->slots) table->slots[at.slot].number = number + 1;
}

/* Removes the entry at the cursor. All cursors are invalid afterwards. */
void hr__hash_remove(struct hr__hash *table, struct hr__hash_cursor at);

/* Removes all entries. The memory stays allocated. */
static inline void hr__hash_clear(struct hr__hash *table) {
  if (table->n_slots) memset(table->slots, 0, table->n_slots * sizeof *table->slots);
  table->count = 0;
}

/* Frees the memory of a table that uses malloc. The table is empty afterwards. */
static inline void hr__hash_finish(struct hr__hash *table) {
  free(table->slots);
  *table = (struct hr__hash){0};
}

/* ---- Maps from pairs of integers ---- */

struct hr__pair {
  uint64_t a, b;
};

struct hr__pair_entry {
  struct hr__pair pair;
  uint32_t number;
};

/* A map from pairs of integers to numbers less than HR_NONE. Its memory comes from an arena. A map with all members 0
   is empty. Pairs cannot be removed. */
struct hr__pair_map {
  struct hr__hash table;
  struct hr__pair_entry *entries;
  uint32_t count, capacity;
};

static inline uint32_t hr__hash_pair(struct hr__pair pair) {
  return hr__hash_u64(pair.a ^ pair.b * UINT64_C(0xff51afd7ed558ccd));
}

/* Returns the number that the map stores for the pair, or HR_NONE if the pair is not in the map. */
static inline uint32_t hr__pair_map_find(const struct hr__pair_map *map, struct hr__pair pair) {
  struct hr__hash_cursor at;
  for (uint32_t i = hr__hash_first(&map->table, hr__hash_pair(pair), &at); i != HR_NONE;
       i = hr__hash_next(&map->table, &at))
    if (map->entries[i].pair.a == pair.a && map->entries[i].pair.b == pair.b) return map->entries[i].number;
  return HR_NONE;
}

/* Adds a pair. The pair must not be in the map. Returns false if memory is exhausted. */
bool hr__pair_map_add(struct hr__pair_map *map, struct hr_arena *arena, struct hr__pair pair, uint32_t number);

/* ---- Interned strings ---------------------------------------------------------------------------------- */

/* Interned strings. Each distinct text has a number. Numbers count from 0 in the order in which the texts were first
   interned. A table with all members 0 is empty. */

struct hr__name_table {
  char **text;    /* [count], each NUL-terminated */
  size_t *length; /* [count] */
  uint32_t count, capacity;
  struct hr__hash table;
  uint64_t bytes; /* memory used by all texts and by the pointers to them */
};

/* Returns the number of a text of `length` bytes. The text must not contain NUL. If the text is not in the table, the
   function first stores a copy and gives it the next unused number. Returns HR_NONE if memory is exhausted. */
uint32_t hr__names_intern(struct hr__name_table *names, const char *text, size_t length);
/* Returns the number of a text, or HR_NONE if the text is not in the table. */
uint32_t hr__names_find(const struct hr__name_table *names, const char *text, size_t length);
/* Frees all texts. The table is empty afterwards. */
void hr__names_finish(struct hr__name_table *names);

#endif
