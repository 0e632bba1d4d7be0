/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_ARENA_H
#define HR_BASE_ARENA_H

/* Memory of one run, allocated in chunks and freed all at once. Allocation: headroom/base.h. */

#include "headroom/base.h"

struct hr__arena_chunk;

/* Where the columns by job of a streamed run come from: memory that is reclaimed as jobs finish. */
struct hr__arena_job_columns {
  void *(*allocate)(void *self, uint32_t n_jobs, size_t width); /* zeroed; NULL if memory is exhausted */
  void (*passed)(void *self, hr_job job);
  void *self;
};

struct hr_arena {
  struct hr__arena_chunk *chunks; /* newest first */
  char *next;                     /* free bytes of the newest chunk */
  size_t left;
  struct hr__arena_job_columns job_columns; /* `self` is NULL unless the run is streamed */
};

/* Whether memory of finished jobs is reclaimed during the run. */
static inline bool hr__arena_is_streamed(const struct hr_arena *arena) {
  return arena->job_columns.self != NULL;
}

/* Frees all memory; the arena is then empty and may be used again. */
void hr__arena_finish(struct hr_arena *arena);

#endif
