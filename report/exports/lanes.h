/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_EXPORTS_LANES_H
#define HR_REPORT_EXPORTS_LANES_H

/* Lines on which stays are drawn one after the other: each is given the first line that is free when it begins. */

#include "headroom/base.h"

struct hr__subqueues {
  int64_t *free_us; /* [2 x room], a tree: from when the line is free, and the least of each two below */
  uint32_t n, room; /* lines that are used, and that there is room for: a power of 2, or 0 */
};

/* The line, from 0; HR_NONE when out of memory. Stays come in the order of their begins. */
uint32_t hr__subqueues_take(struct hr__subqueues *lanes, int64_t begin_us, int64_t end_us);
void hr__subqueues_finish(struct hr__subqueues *lanes);

#endif
