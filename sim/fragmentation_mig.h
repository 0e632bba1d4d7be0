/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_FRAGMENTATION_MIG_H
#define HR_SIM_FRAGMENTATION_MIG_H

#include "headroom/fragmentation.h"

/* F(node) x typical->total of a node whose GPUs are split by MIG; `slice`: as if it were taken on it, for a task that
   takes so much CPU; NULL: as the node is. */
uint64_t hr__mig_fragment(const struct hr_typical_pods *typical, const struct hr_acceptance *acceptance,
                          const struct hr_stock *stock, hr_node node, const struct hr_slice *slice, uint32_t cpu_milli);

#endif
