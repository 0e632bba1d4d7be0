/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_ARENA_H
#define HR_BASE_ARENA_H

/* Memory of one run: taken in chunks, given back all at once. */

#include "headroom/policy.h"

struct hr__arena_chunk;

struct hr_arena {
  struct hr__arena_chunk *chunks; /* newest first */
  char *next;                     /* free bytes of the newest chunk */
  size_t left;
  struct hr__column_reclaim *reclaim; /* where columns by job are, in a streamed run; else NULL */
};

void hr__arena_finish(struct hr_arena *arena);

#endif
