/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_CONTAINERS_H
#define HR_BASE_CONTAINERS_H

/*
 * Containers: arrays that grow, and a queue on such an array; arenas; heaps; hash tables, maps from pairs, and interned
 * strings; sets of small integers; values as bytes. A radix sort of rows and a few functions of numbers are here too.
 *
 * Small functions of hot loops are inline. Functions that allocate return false or NULL if memory is exhausted.
 */

#include "headroom/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- Numbers --------------------------------------------------------------------------------------- */

static inline int64_t hr__smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t hr__larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}
/* Returns the greatest common divisor of two numbers that are not negative. */
static inline int64_t hr__common_divisor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* ---- Arrays ---------------------------------------------------------------------------------------- */

/* An array grows, usually by doubling. The memory comes from malloc, and the owner of the array frees it. Arrays
   that are needed until the end of a run are allocated in the arena of the run instead: see HR__ARENA_HAS_ROOM. */

/* Implements HR__ARRAY_RESIZE. `array` is the address of the variable that points to the items. Returns false if memory
   is exhausted. */
static inline bool hr__array_resize(void *array, size_t count, size_t bytes) {
  void *items;
  memcpy(&items, array, sizeof items);
  items = realloc(items, (count ? count : 1) * bytes);
  if (items) memcpy(array, &items, sizeof items);
  return items != NULL;
}

/* Implements HR__ARRAY_HAS_ROOM and HR__ARRAY_HAS_ROOM_FOR. Doubles the capacity, or increases it to `needed` if that
   is larger. A capacity of 0 grows to at least 64. Returns false if memory is exhausted. */
static inline bool hr__array_grow(void *array, size_t needed, uint32_t *capacity, size_t bytes) {
  size_t wanted = *capacity ? 2 * (size_t)*capacity : 64;
  if (wanted < needed) wanted = needed;
  if (wanted > UINT32_MAX || !hr__array_resize(array, wanted, bytes)) return false;
  *capacity = (uint32_t)wanted;
  return true;
}

/* The macros below take the variable that points to the items. The value of each expression is true on success. It is
   false if memory is exhausted; the array and its capacity are then unchanged. */

/* Makes room for one more item after the first `count` items. `capacity` is an lvalue of type uint32_t. */
#define HR__ARRAY_HAS_ROOM(items, count, capacity)                                                                     \
  ((count) < (capacity) || hr__array_grow(&(items), (size_t)(count) + 1, &(capacity), sizeof *(items)))

/* Makes room for `needed` items in total. `capacity` is an lvalue of type uint32_t. */
#define HR__ARRAY_HAS_ROOM_FOR(items, needed, capacity)                                                                \
  ((needed) <= (capacity) || hr__array_grow(&(items), (needed), &(capacity), sizeof *(items)))

/* Reallocates an array so that it has room for exactly `count` items. Use this for short arrays without a capacity, for
   arrays that share one capacity, and to free the unused part of an array. */
#define HR__ARRAY_RESIZE(items, count) hr__array_resize(&(items), (count), sizeof *(items))

/* Allocates an array of `count` zeroed items, and one more so that `count` may be 0. */
#define HR__ARRAY_MAKE(items, count) (((items) = calloc((size_t)(count) + 1, sizeof *(items))) != NULL)

/* A first-in, first-out queue of items of equal size. Each function takes the size of an item in `bytes`. A queue with
   all members 0 is empty. */
struct hr__fifo {
  char *items;
  uint32_t first, end, capacity; /* the queue holds items first .. end - 1 */
};

static inline uint32_t hr__fifo_count(const struct hr__fifo *fifo) {
  return fifo->end - fifo->first;
}

/* Returns the oldest item. The queue must not be empty. The pointer is valid until the next push. */
static inline const void *hr__fifo_front(const struct hr__fifo *fifo, size_t bytes) {
  return fifo->items + fifo->first * bytes;
}

/* Removes the oldest item. The queue must not be empty. */
static inline void hr__fifo_pop(struct hr__fifo *fifo) {
  if (++fifo->first == fifo->end) fifo->first = fifo->end = 0;
}

/* Appends a copy of the item. A full array is compacted if more than half of its items were already removed, and
   doubled otherwise. A push therefore takes O(1) amortized time. Returns false if memory is exhausted. */
static inline bool hr__fifo_push(struct hr__fifo *fifo, const void *item, size_t bytes) {
  if (fifo->end == fifo->capacity && fifo->first > fifo->end / 2) {
    fifo->end -= fifo->first;
    memmove(fifo->items, fifo->items + fifo->first * bytes, fifo->end * bytes);
    fifo->first = 0;
  }
  if (fifo->end == fifo->capacity && !hr__array_grow(&fifo->items, fifo->end + (size_t)1, &fifo->capacity, bytes))
    return false;
  memcpy(fifo->items + fifo->end++ * bytes, item, bytes);
  return true;
}

static inline void hr__fifo_finish(struct hr__fifo *fifo) {
  free(fifo->items);
}

/* ---- Arenas ---------------------------------------------------------------------------------------- */

/* The memory of a run. It is allocated in chunks, zeroed, and freed all at once. The allocation functions are
   declared in headroom/base.h. An arena with all members 0 is empty. */

struct hr__arena_chunk;

/* The allocator of per-job columns in a streamed run. It reclaims the memory of finished jobs (sim/engine/jobs.c). */
struct hr__arena_job_columns {
  /* Allocates a zeroed column with `width` bytes per job. Returns NULL if memory is exhausted. */
  void *(*allocate)(void *self, uint32_t n_jobs, size_t width);
  /* Reports that no column needs the values of `job` and of earlier jobs any more (hr_arena_passed_job). */
  void (*passed)(void *self, hr_job job);
  void *self;
};

struct hr_arena {
  struct hr__arena_chunk *chunks; /* linked list, newest chunk first */
  char *next;                     /* the unused part of the newest chunk; it has `left` bytes */
  size_t left;
  struct hr__arena_job_columns job_columns; /* `job_columns.self` is NULL unless the run is streamed */
};

/* Returns whether the run is streamed. In a streamed run the memory of finished jobs is reclaimed. */
static inline bool hr__arena_is_streamed(const struct hr_arena *arena) {
  return arena->job_columns.self != NULL;
}

/* Allocates an array of `count` zeroed items in an arena, and one more so that `count` may be 0. The macro takes the
   variable that points to the items. The value of the expression is false if memory is exhausted. */
#define HR__ARENA_ARRAY(arena, items, count)                                                                           \
  (((items) = hr_arena_alloc((arena), ((size_t)(count) + 1) * sizeof *(items))) != NULL)
/* The same with one item for each job: see hr_arena_alloc_by_job. */
#define HR__ARENA_ARRAY_BY_JOB(arena, items, n_jobs)                                                                   \
  (((items) = hr_arena_alloc_by_job((arena), (n_jobs), sizeof *(items))) != NULL)

/* Frees all memory. The arena is empty afterwards and can be used again. */
void hr__arena_finish(struct hr_arena *arena);

/* Implements HR__ARENA_HAS_ROOM and HR__ARENA_HAS_ROOM_FOR. Returns false if memory is exhausted. */
static inline bool hr__arena_grow(struct hr_arena *arena, void *array, size_t needed, uint32_t *capacity,
                                  size_t bytes) {
  while (*capacity < needed) {
    void *items;
    memcpy(&items, array, sizeof items);
    items = hr_arena_grown(arena, items, capacity, bytes);
    if (!items) return false;
    memcpy(array, &items, sizeof items);
  }
  return true;
}

/* As HR__ARRAY_HAS_ROOM and HR__ARRAY_HAS_ROOM_FOR, for an array whose memory comes from an arena. New items are
   zeroed. */
#define HR__ARENA_HAS_ROOM(arena, items, count, capacity)                                                              \
  HR__ARENA_HAS_ROOM_FOR(arena, items, (size_t)(count) + 1, capacity)
#define HR__ARENA_HAS_ROOM_FOR(arena, items, needed, capacity)                                                         \
  ((needed) <= (capacity) || hr__arena_grow((arena), &(items), (needed), &(capacity), sizeof *(items)))

/* Implements HR__ARENA_RESIZE. `array` is the address of the variable that points to the items. */
static inline bool hr__arena_resize(struct hr_arena *arena, void *array, size_t count, size_t capacity, size_t bytes) {
  void *items, *copy = hr_arena_alloc(arena, (capacity + 1) * bytes);
  if (!copy) return false;
  memcpy(&items, array, sizeof items);
  if (count) memcpy(copy, items, count * bytes);
  memcpy(array, &copy, sizeof copy);
  return true;
}

/* Replaces an array in an arena by a larger one with its first `count` items, and with room for `capacity` items and
   one more. The value is false if memory is exhausted; the array is then unchanged. */
#define HR__ARENA_RESIZE(arena, items, count, capacity)                                                                \
  hr__arena_resize((arena), &(items), (count), (capacity), sizeof *(items))

/* ---- Radix sort ------------------------------------------------------------------------------------ */

struct hr__keyed_row {
  uint64_t key;
  uint32_t row;
};

/* Sorts rows by key. The sort is stable. It takes O(count) time and as much additional memory as the rows. Returns
   false if memory is exhausted; the order is then unchanged. */
bool hr__sort_keyed_rows(struct hr__keyed_row *rows, size_t count);

/* ---- Sorted arrays --------------------------------------------------------------------------------- */

/* Returns how many keys are below `key`. The keys are in ascending order; the first one is at `keys`, and each other
   one `stride` bytes after the one before. O(log count). */
static inline uint32_t hr__count_below(const int64_t *keys, size_t stride, uint32_t count, int64_t key) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int64_t other;
    memcpy(&other, (const char *)keys + middle * stride, sizeof other);
    if (other < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* ---- Heaps ----------------------------------------------------------------------------------------- */

/* Suppresses the compiler's warning about unused functions. A source file need not use all functions of a heap. */
#ifdef __GNUC__
#define HR__HEAP_FUNCTION __attribute__((unused)) static inline
#else
#define HR__HEAP_FUNCTION static inline
#endif

/*
 * Binary heaps in arrays of the caller, for items of any type. HR__HEAP(NAME, ITEM, PRECEDES) defines three functions:
 *   void NAME_rise(ITEM *heap, uint32_t count, ITEM item, const void *self)
 *     inserts an item into a heap of `count` items; the array must have room for one more item
 *   void NAME_sink(ITEM *heap, uint32_t count, ITEM item, const void *self)
 *     replaces the first item of a heap of `count` items by `item`
 *   void NAME_refill(ITEM *heap, uint32_t count, uint32_t hole, ITEM item, const void *self)
 *     replaces the item at index `hole` of a heap of `count` items by `item`
 * Each function takes O(log count) time. bool PRECEDES(const void *self, ITEM a, ITEM b) returns whether `a` must be
 * before `b`; it is a strict order. The functions pass `self` on to PRECEDES. The first item of the heap is heap[0]. To
 * remove it, call NAME_sink(heap, count - 1, heap[count - 1], self).
 *
 * HR__HEAP_PLACED(NAME, ITEM, PRECEDES, PUT) defines a heap that records the index of each item. The functions call
 * void PUT(const void *self, ITEM *heap, uint32_t at, ITEM item), which must store the item at index `at` and may
 * record the index.
 */
#define HR__HEAP_PLACED(name, item_type, precedes, put)                                                                \
  HR__HEAP_FUNCTION void name##_rise(item_type *heap, uint32_t count, item_type item, const void *self) {              \
    uint32_t hole = count;                                                                                             \
    for (; hole > 0 && precedes(self, item, heap[(hole - 1) / 2]); hole = (hole - 1) / 2)                              \
      put(self, heap, hole, heap[(hole - 1) / 2]);                                                                     \
    put(self, heap, hole, item);                                                                                       \
  }                                                                                                                    \
  HR__HEAP_FUNCTION void name##_sink_from(item_type *heap, uint32_t count, uint32_t hole, item_type item,              \
                                          const void *self) {                                                          \
    for (uint32_t child = 2 * hole + 1; child < count; child = 2 * hole + 1) {                                         \
      child += child + 1 < count && precedes(self, heap[child + 1], heap[child]);                                      \
      if (!precedes(self, heap[child], item)) break;                                                                   \
      put(self, heap, hole, heap[child]);                                                                              \
      hole = child;                                                                                                    \
    }                                                                                                                  \
    put(self, heap, hole, item);                                                                                       \
  }                                                                                                                    \
  HR__HEAP_FUNCTION void name##_sink(item_type *heap, uint32_t count, item_type item, const void *self) {              \
    name##_sink_from(heap, count, 0, item, self);                                                                      \
  }                                                                                                                    \
  HR__HEAP_FUNCTION void name##_refill(item_type *heap, uint32_t count, uint32_t hole, item_type item,                 \
                                       const void *self) {                                                             \
    if (hole > 0 && precedes(self, item, heap[(hole - 1) / 2]))                                                        \
      name##_rise(heap, hole, item, self);                                                                             \
    else                                                                                                               \
      name##_sink_from(heap, count, hole, item, self);                                                                 \
  }

#define HR__HEAP(name, item_type, precedes)                                                                            \
  HR__HEAP_FUNCTION void name##_put(const void *self, item_type *heap, uint32_t at, item_type item) {                  \
    (void)self;                                                                                                        \
    heap[at] = item;                                                                                                   \
  }                                                                                                                    \
  HR__HEAP_PLACED(name, item_type, precedes, name##_put)

/* ---- Hash tables ----------------------------------------------------------------------------------- */

/*
 * Digests, and hash tables.
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

/* ---- Maps from pairs of integers ------------------------------------------------------------------- */

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

/* Returns the number of a pair in a map that numbers its pairs from 0 in the order of their first calls; HR_NONE: out
   of memory. */
static inline uint32_t hr__pair_map_intern(struct hr__pair_map *map, struct hr_arena *arena, struct hr__pair pair) {
  uint32_t number = hr__pair_map_find(map, pair);
  if (number != HR_NONE) return number;
  number = map->count;
  return hr__pair_map_add(map, arena, pair, number) ? number : HR_NONE;
}

/* ---- Interned strings ------------------------------------------------------------------------------ */

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

/* ---- Bit sets -------------------------------------------------------------------------------------- */

/*
 * A set of small integers with summary levels. Bit i of level k + 1 is set if word i of level k is not zero. A search
 * for the next member reads at most two words per level, however large the set is. Several sets of the same size may
 * share one shape (the positions of the levels). The words of a set are stored level after level, in memory that the
 * caller owns and has zeroed.
 */

enum { HR__BITSET_LEVELS = 4 }; /* 64^4 = 16.7 million members */

struct hr__bitset_shape {
  uint32_t n_levels, n_words;
  /* for each level: the index of its first word, and how many words it has */
  uint32_t offset[HR__BITSET_LEVELS], length[HR__BITSET_LEVELS];
};

static inline struct hr__bitset_shape hr__bitset_shape(uint32_t n_bits) {
  struct hr__bitset_shape shape = {0};
  do {
    n_bits = n_bits / 64 + (n_bits % 64 != 0 || n_bits == 0);
    shape.offset[shape.n_levels] = shape.n_words;
    shape.length[shape.n_levels++] = n_bits;
    shape.n_words += n_bits;
  } while (n_bits > 1);
  return shape;
}

static inline bool hr__bitset_has(const uint64_t *words, uint32_t bit) {
  return words[bit / 64] >> bit % 64 & 1;
}

static inline void hr__bitset_add(const struct hr__bitset_shape *shape, uint64_t *words, uint32_t bit) {
  for (uint32_t level = 0; level < shape->n_levels; level++, bit /= 64) {
    uint64_t *word = &words[shape->offset[level] + bit / 64];
    bool was_empty = *word == 0;
    *word |= UINT64_C(1) << bit % 64;
    if (!was_empty) return;
  }
}

static inline void hr__bitset_remove(const struct hr__bitset_shape *shape, uint64_t *words, uint32_t bit) {
  for (uint32_t level = 0; level < shape->n_levels; level++, bit /= 64) {
    uint64_t *word = &words[shape->offset[level] + bit / 64];
    *word &= ~(UINT64_C(1) << bit % 64);
    if (*word) return;
  }
}

/* Returns the smallest member >= `from`, or UINT32_MAX if no such member exists. */
static inline uint32_t hr__bitset_next(const struct hr__bitset_shape *shape, const uint64_t *words, uint32_t from) {
  uint32_t level = 0, at = from;
  for (;; level++) { /* ascend to the first level with a set bit at or after `at` in the same word */
    if (level == shape->n_levels || at / 64 >= shape->length[level]) return UINT32_MAX;
    uint64_t word = words[shape->offset[level] + at / 64] & ~UINT64_C(0) << at % 64;
    if (word) {
      at = at / 64 * 64 + (uint32_t)__builtin_ctzll(word);
      break;
    }
    at = at / 64 + 1;
  }
  /* descend to the smallest member below this bit */
  while (level-- > 0) at = at * 64 + (uint32_t)__builtin_ctzll(words[shape->offset[level] + at]);
  return at;
}

/* Returns the largest member, or UINT32_MAX if the set is empty. */
static inline uint32_t hr__bitset_last(const struct hr__bitset_shape *shape, const uint64_t *words) {
  uint32_t at = 0;
  for (uint32_t level = shape->n_levels; level-- > 0;) {
    uint64_t word = words[shape->offset[level] + at];
    if (!word) return UINT32_MAX;
    at = at * 64 + 63 - (uint32_t)__builtin_clzll(word);
  }
  return at;
}

/* ---- Parcels --------------------------------------------------------------------------------------- */

/*
 * Values as bytes, for another process of the same program on a machine of the same kind. Numbers are copied as they
 * are in memory, so nothing is converted.
 *
 * The same code writes and reads: each function copies a value into the parcel or, if `reading` is set, out of it. A
 * function that passes every member of a structure to these functions therefore packs and unpacks the structure. If
 * memory is exhausted, or a parcel has too few bytes, `failed` is set, and all pointers that are read afterwards become
 * NULL. The structure can then still be freed.
 */

struct hr__parcel {
  char *bytes;
  size_t used; /* number of bytes that were written or read so far */
  size_t size; /* reading: number of bytes; writing: number of allocated bytes */
  bool reading, failed;
};

static inline void hr__parcel_finish(struct hr__parcel *parcel) {
  free(parcel->bytes);
  *parcel = (struct hr__parcel){0};
}

/* Makes room for more bytes. Doubles the size, so that many small values are cheap. Returns false if memory is
   exhausted. */
static inline bool hr__parcel_grow(struct hr__parcel *parcel, size_t count) {
  if (parcel->used + count <= parcel->size) return true;
  size_t size = 2 * (parcel->used + count);
  if (!HR__ARRAY_RESIZE(parcel->bytes, size)) return false;
  parcel->size = size;
  return true;
}

/* Copies `count` bytes. If this fails while reading, the bytes become 0. */
static inline void hr__parcel_bytes(struct hr__parcel *parcel, void *at, size_t count) {
  bool possible =
      !parcel->failed && (parcel->reading ? count <= parcel->size - parcel->used : hr__parcel_grow(parcel, count));
  if (!possible) {
    parcel->failed = true;
    if (parcel->reading && count) memset(at, 0, count);
    return;
  }
  if (count == 0) return;
  if (parcel->reading)
    memcpy(at, parcel->bytes + parcel->used, count);
  else
    memcpy(parcel->bytes + parcel->used, at, count);
  parcel->used += count;
}

/* Copies an array of `*count` elements of `bytes` bytes. Reading allocates the array, unless it is empty. On failure,
   `*count` becomes 0. Returns the array; NULL if it is empty. */
static inline void *hr__parcel_array(struct hr__parcel *parcel, void *array, size_t *count, size_t bytes) {
  if (*count == 0) return NULL;
  if (parcel->reading) {
    array = parcel->failed || *count > (parcel->size - parcel->used) / bytes ? NULL : calloc(*count, bytes);
    parcel->failed = parcel->failed || !array;
    if (!array) *count = 0;
  }
  hr__parcel_bytes(parcel, array, *count * bytes);
  return array;
}

/* Copies a text that is owned by its structure, or NULL. */
static inline void hr__parcel_text(struct hr__parcel *parcel, char **text) {
  size_t length = !parcel->reading && *text ? strlen(*text) + 1 : 0;
  hr__parcel_bytes(parcel, &length, sizeof length);
  if (parcel->reading && length == 0)
    *text = NULL;
  else if (length)
    *text = hr__parcel_array(parcel, *text, &length, 1);
}

#endif
