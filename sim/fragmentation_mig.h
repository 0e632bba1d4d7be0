/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_FRAGMENTATION_MIG_H
#define HR_SIM_FRAGMENTATION_MIG_H

#include "headroom/fragmentation.h"

/*
 * F where GPUs are split by MIG. A pod can use what is left of a GPU if there is, or may be made, an instance of it
 * that will do, whatever the thousandths say; otherwise as elsewhere.
 */
struct hr__mig_fragments;

/* In the arena; NULL when out of memory. */
struct hr__mig_fragments *hr__mig_fragments_create(struct hr_arena *arena, const struct hr_typical_pods *typical,
                                                   const struct hr_acceptance *acceptance,
                                                   const struct hr_stock *stock);
/* F(node) x typical->total of a node whose GPUs are split; `slice`: as if it were taken on it, for a task that takes so
   much CPU; NULL: as the node is. */
uint64_t hr__mig_fragment(struct hr__mig_fragments *fragments, hr_node node, const struct hr_slice *slice,
                          uint32_t cpu_milli);

#endif
