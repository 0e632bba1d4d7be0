/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_SHARED_WORLD_H
#define HR_TESTS_ORACLE_SHARED_WORLD_H

/* Random small clusters with shared GPUs and their jobs, as input of the naive scheduler for GPUs. Times are whole
   seconds in microseconds. */

#include "naive_gpus.h"

/* How GPUs are allocated. */
enum world_sharing {
  WORLD_COUNTED, /* whole GPUs, counted per node; tests rules for which single GPUs do not matter */
  WORLD_FRACTION,
  WORLD_MPS,
  WORLD_MIG_STATIC,
  WORLD_MIG_DYNAMIC,
  WORLD_MIG_ON_DEMAND,
  WORLD_MIG, /* any of these three modes */
  WORLD_ISLANDS,
  WORLD_MIG_ISLANDS
};

/* The rule that is tested. */
enum world_feature {
  WORLD_STRICT,
  WORLD_SKIP,
  WORLD_EASY,
  WORLD_CONSERVATIVE,
  WORLD_PREEMPT_PRIORITY,
  WORLD_PREEMPT_ORDER,
  WORLD_RECLAIM,
  WORLD_STATIC_SPOT,
  WORLD_ON_DEMAND_ONLY,
  WORLD_SPOT_FIRST
};

/* `mig` and `mps` are by pool. The MIG settings of `in` point into `mig`. `counted`: counted allocation; each node of
   `in` then has one GPU with the capacity of all GPUs of the node. */
struct world {
  struct naive_gpus_input in;
  struct naive_mig mig[NAIVE_GPUS_POOLS];
  bool counted, mps[NAIVE_GPUS_POOLS], by_gpu;
};

/* Draws a world. The same arguments give the same world. */
void world_draw(struct world *world, enum world_sharing sharing, enum world_feature feature, uint32_t seed);
/* Prints the world and its rules. */
void world_print(const struct world *world);

#endif
