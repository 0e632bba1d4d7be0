/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_JOB_MAP_H
#define HR_BASE_JOB_MAP_H

/* Which of a few jobs stands where in a list, for who must not have a column by job. */

#include "headroom/base.h"

/* All zero at the beginning. */
struct hr__job_map {
  struct hr__job_place {
    uint32_t job, place; /* place + 1; 0: empty */
  } * slots;             /* [size], open addressing */
  uint32_t size, count;  /* size: 0, or a power of two */
};

/* HR_NONE: it is nowhere. */
uint32_t hr__job_map_find(const struct hr__job_map *map, uint32_t job);
/* Puts a job at a place, also one that has another. false: out of memory, and nothing has changed. */
bool hr__job_map_put(struct hr__job_map *map, uint32_t job, uint32_t place);
/* One that is in it. */
void hr__job_map_remove(struct hr__job_map *map, uint32_t job);
void hr__job_map_finish(struct hr__job_map *map);

#endif
