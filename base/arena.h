/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_ARENA_H
#define HR_BASE_ARENA_H

/* The memory of a run. It is allocated in chunks, zeroed, and freed all at once. The allocation functions are declared
   in headroom/base.h. An arena with all members 0 is empty. */

#include "headroom/base.h"

struct hr__arena_chunk;

/* The allocator of per-job columns in a streamed run. It reclaims the memory of finished jobs
   (sim/engine/column_reclaim.c). */
struct hr__arena_job_columns {
  /* Allocates a zeroed column with `width` bytes per job. Returns NULL if memory is exhausted. */
  void *(*allocate)(void *self, uint32_t n_jobs, size_t width);
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

/* Frees all memory. The arena is empty afterwards and can be used again. */
void hr__arena_finish(struct hr_arena *arena);

#endif
