/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CHECK_STOCK_H
#define HR_SIM_CHECK_STOCK_H

/* The stock against the jobs that run: what they use of each node and GPU, added up. */

#include "sim/cluster.h"

struct hr__stock_use {
  uint64_t *cpu_milli, *mem_mib;     /* by node */
  uint32_t *tasks, *alone;           /* likewise; those that are to have it to themselves */
  uint64_t *gpu_milli, *gpu_mem_mib; /* by node and GPU, as in the stock */
  struct hr_mig_gpu *instances;      /* likewise: `at` alone, those that tasks have; UINT8_MAX: two tasks do */
};

/* Nothing is used yet; of a cluster without a stock, nothing ever is. HR_NO_MEMORY is the only failure. */
enum hr_status hr__stock_use_init(struct hr__stock_use *use, const struct hr_cluster *cluster);
void hr__stock_use_finish(struct hr__stock_use *use);
void hr__stock_use_add(struct hr__stock_use *use, const struct hr_cluster *cluster, hr_job job,
                       const struct hr_placement *placement);
/* What does not add up, and on which node; NULL when all does. */
const char *hr__stock_use_check(const struct hr__stock_use *use, const struct hr_cluster *cluster, uint32_t *node);

#endif
