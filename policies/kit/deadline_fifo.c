/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A ring that doubles. */

#include "policies/kit/deadline_fifo.h"

enum { FIRST_CAPACITY = 64 };

bool hr__deadline_fifo_add(struct hr__deadline_fifo *dues, struct hr_arena *arena, struct hr__deadline_entry due) {
  if (dues->count == dues->capacity) {
    uint32_t capacity = dues->capacity ? 2 * dues->capacity : FIRST_CAPACITY;
    struct hr__deadline_entry *ring = hr_arena_alloc(arena, capacity * sizeof *ring);
    if (!ring) return false;
    for (uint32_t i = 0; i < dues->count; i++) ring[i] = dues->ring[(dues->first + i) & (dues->capacity - 1)];
    dues->ring = ring;
    dues->first = 0;
    dues->capacity = capacity;
  }
  dues->ring[(dues->first + dues->count++) & (dues->capacity - 1)] = due;
  return true;
}

bool hr__deadline_fifo_take(struct hr__deadline_fifo *dues, int64_t now_us, struct hr__deadline_entry *due) {
  if (!dues->count || dues->ring[dues->first].at_us > now_us) return false;
  *due = dues->ring[dues->first];
  dues->first = (dues->first + 1) & (dues->capacity - 1);
  dues->count--;
  return true;
}

int64_t hr__deadline_fifo_first_us(const struct hr__deadline_fifo *dues) {
  return dues->count ? dues->ring[dues->first].at_us : HR_NEVER_US;
}
