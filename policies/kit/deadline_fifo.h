/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KIT_DEADLINE_FIFO_H
#define HR_POLICIES_KIT_DEADLINE_FIFO_H

/* Times at which something of a job or of a node becomes due, first in, first out: all dues of one list are equally far
   ahead, so they are in order of time. What has changed since is for the one who takes them to find out. */

#include "headroom/policy.h"

struct hr__deadline_entry {
  int64_t at_us;
  uint32_t id;
};

/* All zero: none. */
struct hr__deadline_fifo {
  struct hr__deadline_entry *ring;
  uint32_t first, count, capacity; /* a power of two */
};

enum { HR__DEADLINE_FIFO_CAPACITY = 64 };

static inline bool hr__deadline_fifo_add(struct hr__deadline_fifo *dues, struct hr_arena *arena, struct hr__deadline_entry due) {
  if (dues->count == dues->capacity) {
    uint32_t capacity = dues->capacity ? 2 * dues->capacity : HR__DEADLINE_FIFO_CAPACITY;
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

static inline bool hr__deadline_fifo_take(struct hr__deadline_fifo *dues, int64_t now_us, struct hr__deadline_entry *due) {
  if (!dues->count || dues->ring[dues->first].at_us > now_us) return false;
  *due = dues->ring[dues->first];
  dues->first = (dues->first + 1) & (dues->capacity - 1);
  dues->count--;
  return true;
}

static inline int64_t hr__deadline_fifo_first_us(const struct hr__deadline_fifo *dues) {
  return dues->count ? dues->ring[dues->first].at_us : HR_NEVER_US;
}

#endif
