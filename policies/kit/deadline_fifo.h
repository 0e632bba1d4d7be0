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

/* False: out of memory. */
bool hr__deadline_fifo_add(struct hr__deadline_fifo *dues, struct hr_arena *arena, struct hr__deadline_entry due);
/* Takes the first one if it is due by now. */
bool hr__deadline_fifo_take(struct hr__deadline_fifo *dues, int64_t now_us, struct hr__deadline_entry *due);
/* When the first one is; HR_NEVER_US when there is none. */
int64_t hr__deadline_fifo_first_us(const struct hr__deadline_fifo *dues);

#endif
