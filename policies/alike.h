/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_ALIKE_H
#define HR_POLICIES_ALIKE_H

/* Which nodes are alike: in all that a score may depend on, so that one score is that of all. */

#include "headroom/packing.h"

struct hr__alike {
  uint32_t *slot; /* [size], a node + 1; 0: empty */
  uint32_t size;  /* a power of two, at least twice as many as nodes */
};

/* In the arena. False: out of memory. */
bool hr__alike_init(struct hr__alike *alike, struct hr_arena *arena, uint32_t n_nodes);
/* Before nodes are looked at again, one after the other, none of which changes meanwhile. */
void hr__alike_begin(struct hr__alike *alike);
/* The first node that was looked at and is like this one; itself: there is none before it. */
hr_node hr__alike_first(struct hr__alike *alike, const struct hr_packing *packing, hr_node node);

#endif
