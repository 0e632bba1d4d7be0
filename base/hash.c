/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hash tables and interned strings.
 *
 * A hash table uses open addressing with linear probing. At most half of the slots are occupied, so a lookup takes O(1)
 * on average. A slot stores the 32-bit hash of its entry. The caller therefore compares keys only for entries with an
 * equal hash, and the table can grow without access to the keys.
 *
 * When an entry is removed, later entries of the same sequence of occupied slots move back into the gap. The table
 * therefore needs no deletion marks (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
 */

#include "base/hash.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- Interned strings ---------------------------------------------------------------------------------- */

/* Interned strings: an array of texts and an array of their lengths, both indexed by the number of the text, and a
   hash table of all texts. A trace reader looks up a name for each row and column. For speed, texts are hashed and
   compared eight bytes at a time. */

/* Returns the tail of a text, its last `length` bytes, as one integer. `length` is at most eight. Two tails of equal
   length are equal if their integers are equal. For a tail of 4 to 7 bytes, the integer consists of its first 4 and its
   last 4 bytes, which overlap. */
static uint64_t load_tail(const char *text, size_t length) {
  uint32_t first, last;
  if (length >= sizeof first) {
    memcpy(&first, text, sizeof first);
    memcpy(&last, text + length - sizeof last, sizeof last);
    return (uint64_t)first << 32 | last;
  }
  const unsigned char *bytes = (const unsigned char *)text;
  return length ? (uint64_t)bytes[0] << 16 | (uint64_t)bytes[length / 2] << 8 | bytes[length - 1] : 0;
}

static uint32_t hash_text(const char *text, size_t length) {
  uint64_t hash = length, word;
  for (; length > sizeof word; text += sizeof word, length -= sizeof word) {
    memcpy(&word, text, sizeof word);
    hash = hr__digest_add(hash, word);
  }
  return (uint32_t)hr__digest_add(hash, load_tail(text, length));
}

static bool equal_bytes(const char *a, const char *b, size_t length) {
  uint64_t x, y;
  for (; length > sizeof x; a += sizeof x, b += sizeof x, length -= sizeof x) {
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (x != y) return false;
  }
  return load_tail(a, length) == load_tail(b, length);
}

static bool equal_text(const struct hr__name_table *names, uint32_t number, const char *text, size_t length) {
  return names->length[number] == length && equal_bytes(names->text[number], text, length);
}

uint32_t hr__names_find(const struct hr__name_table *names, const char *text, size_t length) {
  struct hr__hash_cursor at;
  uint32_t number = hr__hash_first(&names->table, hash_text(text, length), &at);
  while (number != HR_NONE && !equal_text(names, number, text, length)) number = hr__hash_next(&names->table, &at);
  return number;
}

/* Makes room for one more text in both arrays. Returns false if memory is exhausted. Both arrays have the capacity
   `names->capacity`. */
static bool make_name_room(struct hr__name_table *names) {
  uint32_t text_capacity = names->capacity, length_capacity = names->capacity;
  if (!HR__ARRAY_HAS_ROOM(names->text, names->count, text_capacity) ||
      !HR__ARRAY_HAS_ROOM(names->length, names->count, length_capacity))
    return false;
  names->capacity = length_capacity;
  return true;
}

uint32_t hr__names_intern(struct hr__name_table *names, const char *text, size_t length) {
  uint32_t found = hr__names_find(names, text, length);
  if (found != HR_NONE) return found;
  char *copy = make_name_room(names) ? malloc(length + 1) : NULL;
  if (!copy || !hr__hash_add(&names->table, NULL, hash_text(text, length), names->count)) {
    free(copy);
    return HR_NONE;
  }
  memcpy(copy, text, length);
  copy[length] = '\0';
  names->text[names->count] = copy;
  names->length[names->count] = length;
  names->bytes += length + 1 + sizeof(char *);
  return names->count++;
}

void hr__names_finish(struct hr__name_table *names) {
  for (uint32_t i = 0; i < names->count; i++) free(names->text[i]);
  free(names->text);
  free(names->length);
  hr__hash_finish(&names->table);
  *names = (struct hr__name_table){0};
}
