/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Containers: arenas, the radix sort, hash tables and interned strings. The other containers are inline (containers.h).
 *
 * An arena is a bump allocator: each allocation takes the next bytes of the current chunk. Chunks come from calloc, so
 * memory is zero and pages that are never accessed use no physical memory. A request that is larger than a quarter of a
 * chunk gets a separate chunk.
 */

#include "base/containers.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* ---- Arenas ---------------------------------------------------------------------------------------- */

struct hr__arena_chunk {
  struct hr__arena_chunk *older;
  alignas(max_align_t) char bytes[];
};

enum { CHUNK_BYTES = 1 << 18, ALIGNMENT = alignof(max_align_t) };

static struct hr__arena_chunk *add_chunk(struct hr_arena *arena, size_t bytes) {
  if (bytes > SIZE_MAX - sizeof(struct hr__arena_chunk)) return NULL;
  struct hr__arena_chunk *chunk = calloc(1, sizeof *chunk + bytes);
  if (!chunk) return NULL;
  chunk->older = arena->chunks;
  arena->chunks = chunk;
  return chunk;
}

void *hr_arena_alloc(struct hr_arena *arena, size_t bytes) {
  if (bytes > SIZE_MAX - ALIGNMENT) return NULL;
  bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (bytes > CHUNK_BYTES / 4) {
    struct hr__arena_chunk *own = add_chunk(arena, bytes);
    return own ? own->bytes : NULL;
  }
  if (bytes > arena->left) {
    struct hr__arena_chunk *chunk = add_chunk(arena, CHUNK_BYTES);
    if (!chunk) return NULL;
    arena->next = chunk->bytes;
    arena->left = CHUNK_BYTES;
  }
  void *memory = arena->next;
  arena->next += bytes;
  arena->left -= bytes;
  return memory;
}

void *hr_arena_alloc_by_job(struct hr_arena *arena, uint32_t n_jobs, size_t bytes) {
  const struct hr__arena_job_columns *columns = &arena->job_columns;
  if (columns->self) return columns->allocate(columns->self, n_jobs, bytes);
  return hr_arena_alloc(arena, ((size_t)n_jobs + 1) * bytes);
}

void hr_arena_passed_job(struct hr_arena *arena, hr_job job) {
  if (arena->job_columns.self) arena->job_columns.passed(arena->job_columns.self, job);
}

void *hr_arena_grown(struct hr_arena *arena, const void *items, uint32_t *capacity, size_t bytes) {
  uint32_t wanted = *capacity ? 2 * *capacity : 64;
  void *grown = wanted > *capacity ? hr_arena_alloc(arena, wanted * bytes) : NULL;
  if (!grown) return NULL;
  if (*capacity) memcpy(grown, items, *capacity * bytes);
  *capacity = wanted;
  return grown;
}

void hr__arena_finish(struct hr_arena *arena) {
  while (arena->chunks) {
    struct hr__arena_chunk *older = arena->chunks->older;
    free(arena->chunks);
    arena->chunks = older;
  }
  *arena = (struct hr_arena){0};
}

/* ---- Radix sort ------------------------------------------------------------------------------------ */

/* Least-significant-digit radix sort by bytes. It is stable. A byte position with the same value in all keys is
   skipped. */

enum { N_BYTES = 8, N_VALUES = 256 };

static void count_bytes(const struct hr__keyed_row *rows, size_t count, size_t counts[N_BYTES][N_VALUES]) {
  memset(counts, 0, N_BYTES * sizeof *counts);
  for (size_t i = 0; i < count; i++)
    for (int byte = 0; byte < N_BYTES; byte++) counts[byte][rows[i].key >> (8 * byte) & 0xFF]++;
}

static void scatter(const struct hr__keyed_row *from, struct hr__keyed_row *to, size_t count, int byte,
                    const size_t counts[N_VALUES]) {
  size_t place[N_VALUES], sum = 0;
  for (int value = 0; value < N_VALUES; value++) {
    place[value] = sum;
    sum += counts[value];
  }
  for (size_t i = 0; i < count; i++) to[place[from[i].key >> (8 * byte) & 0xFF]++] = from[i];
}

bool hr__sort_keyed_rows(struct hr__keyed_row *rows, size_t count) {
  if (count < 2) return true;
  struct hr__keyed_row *other = malloc(count * sizeof *other);
  if (!other) return false;
  struct hr__keyed_row *from = rows, *to = other;
  size_t counts[N_BYTES][N_VALUES];
  count_bytes(rows, count, counts);
  for (int byte = 0; byte < N_BYTES; byte++) {
    if (counts[byte][rows[0].key >> (8 * byte) & 0xFF] == count) continue;
    scatter(from, to, count, byte, counts[byte]);
    struct hr__keyed_row *swapped = from;
    from = to;
    to = swapped;
  }
  if (from != rows) memcpy(rows, from, count * sizeof *rows);
  free(other);
  return true;
}

/* ---- Hash tables ----------------------------------------------------------------------------------- */

/*
 * A hash table uses open addressing with linear probing. At most half of the slots are occupied, so a lookup takes O(1)
 * on average. A slot stores the 32-bit hash of its entry. The caller therefore compares keys only for entries with an
 * equal hash, and the table can grow without access to the keys.
 *
 * When an entry is removed, later entries of the same sequence of occupied slots move back into the gap. The table
 * therefore needs no deletion marks (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
 */

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

/* ---- Interned strings ------------------------------------------------------------------------------ */

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
