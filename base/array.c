/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arenas. An arena is a bump allocator: each allocation takes the next bytes of the current chunk. Chunks come from
   calloc, so memory is zero and pages that are never accessed use no physical memory. A request that is larger than
   a quarter of a chunk gets a separate chunk. */

#include "base/array.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- Sort --------------------------------------------------------------------------------------- */

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
