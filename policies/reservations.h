/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_RESERVATIONS_H
#define HR_POLICIES_RESERVATIONS_H

/* Who is to start where and when, as far as that is kept from pass to pass: in the order in which reservations were
   made, and a heap by their starts. */

#include "policies/waiting.h"

/* For jobs of one shape that follow one another in order, at one place each with room for all. */
struct hr__reservation {
  int64_t start_us;
  struct hr__shape *shape;
  hr_pool pool;
  uint32_t first_job, n_jobs; /* where the batches have them */
  uint32_t first_slice, n_slices;
};

struct hr__reservations {
  struct hr_arena *arena;
  struct hr__reservation *made;
  uint32_t *heap; /* numbers of reservations, by (start, number) */
  uint32_t *due;  /* likewise, taken from the heap, in the order in which they were made */
  struct hr_slice *slices;
  uint32_t n_made, made_capacity, n_heap, heap_capacity, n_due, due_capacity;
  uint32_t n_slices, slices_capacity;
};

void hr__reservations_clear(struct hr__reservations *all);
/* Adds what is made, its place set from the placement of each of its jobs. False: out of memory. */
bool hr__reservations_add(struct hr__reservations *all, const struct hr__reservation *made,
                          const struct hr_placement *placement);
/* Those that start at `now_us` become what is due, instead of what was. False: one should have started before; or out
   of memory. */
bool hr__reservations_come_to(struct hr__reservations *all, int64_t now_us);
/* The i-th of those that are due, and the placement of each of its jobs. */
const struct hr__reservation *hr__reservations_due(const struct hr__reservations *all, uint32_t i,
                                                   struct hr_placement *placement);

#endif
