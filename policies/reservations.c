/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policies/reservations.h"

#include "policies/heap.h"

void hr__reservations_clear(struct hr__reservations *all) {
  all->n_made = all->n_heap = all->n_due = all->n_slices = 0;
}

/* The list with room for one more; NULL: out of memory. */
static void *roomy(struct hr_arena *arena, void *list, uint32_t count, uint32_t *capacity, size_t bytes) {
  return count < *capacity ? list : hr_arena_grown(arena, list, capacity, bytes);
}

static bool make_room(struct hr__reservations *all) {
  struct hr_arena *arena = all->arena;
  all->made = roomy(arena, all->made, all->n_made, &all->made_capacity, sizeof *all->made);
  all->heap = roomy(arena, all->heap, all->n_made, &all->heap_capacity, sizeof *all->heap);
  all->due = roomy(arena, all->due, all->n_made, &all->due_capacity, sizeof *all->due);
  return all->made && all->heap && all->due;
}

static bool is_earlier(const void *self, uint32_t a, uint32_t b) {
  const struct hr__reservations *all = self;
  int64_t first_us = all->made[a].start_us, second_us = all->made[b].start_us;
  return first_us != second_us ? first_us < second_us : a < b;
}

HR__HEAP(numbers, uint32_t, is_earlier)

static uint32_t pop(struct hr__reservations *all) {
  uint32_t top = all->heap[0], last = all->heap[--all->n_heap];
  numbers_sink(all->heap, all->n_heap, last, all);
  return top;
}

bool hr__reservations_add(struct hr__reservations *all, const struct hr__reservation *made,
                          const struct hr_placement *placement) {
  if (!make_room(all)) return false;
  struct hr__reservation *added = &all->made[all->n_made];
  *added = *made;
  added->pool = placement->pool;
  added->first_slice = all->n_slices;
  added->n_slices = placement->n_slices;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    all->slices = roomy(all->arena, all->slices, all->n_slices, &all->slices_capacity, sizeof *all->slices);
    if (!all->slices) return false;
    all->slices[all->n_slices++] = placement->slices[i];
  }
  numbers_rise(all->heap, all->n_heap++, all->n_made++, all);
  return true;
}

bool hr__reservations_come_to(struct hr__reservations *all, int64_t now_us) {
  all->n_due = 0;
  while (all->n_heap > 0 && all->made[all->heap[0]].start_us == now_us) all->due[all->n_due++] = pop(all);
  return all->n_heap == 0 || all->made[all->heap[0]].start_us > now_us;
}

const struct hr__reservation *hr__reservations_due(const struct hr__reservations *all, uint32_t i,
                                                   struct hr_placement *placement) {
  const struct hr__reservation *due = &all->made[all->due[i]];
  *placement = (struct hr_placement){due->pool, due->n_slices, due->n_slices ? all->slices + due->first_slice : NULL};
  return due;
}
