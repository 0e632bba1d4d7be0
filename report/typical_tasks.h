/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_TYPICAL_TASKS_H
#define HR_REPORT_TYPICAL_TASKS_H

/*
 * Tasks that ask for GPUs and make up the typical pods, with the memory that pods leave out: which of them decide
 * whether any fits a node of a pool, and the one that gangs are measured in. Memory of GPUs has no say, as in F.
 */

#include "headroom/fragmentation.h"
#include "headroom/policy.h"

/* Those are left out that ask for no less of anything than another one does: where one of them fits, that one does. */
struct hr__needs {
  struct hr_request *task; /* in order of `gpu_milli` */
  uint32_t count;
};

struct hr__typical_tasks {
  struct hr__needs *needs; /* [n_pools], of the tasks that the pool is accepted by */
  struct hr_request gang;  /* one task of one GPU; without CPU and memory where no typical one asks for a whole GPU */
};

/* In the arena; NULL when out of memory. */
struct hr__typical_tasks *hr__typical_tasks_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                                   const struct hr_typical_pods *typical);

/* What is idle on the node, if some of the tasks would fit its GPUs and none of these its CPU and memory; else 0. */
uint32_t hr__stranded_milli(const struct hr__typical_tasks *tasks, const struct hr_stock *stock, hr_node node);
/* Tasks of a gang that the node has room for. */
uint32_t hr__gang_on(const struct hr__typical_tasks *tasks, const struct hr_stock *stock, hr_node node);

#endif
