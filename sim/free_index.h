/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_FREE_INDEX_H
#define HR_SIM_FREE_INDEX_H

#include "headroom/policy.h"
#include "sim/bitset.h"

struct hr_free_index {
  uint32_t n_nodes, gpus_per_node;
  struct hr__bitset_shape node_shape, level_shape;
  uint64_t *nodes_at; /* [gpus_per_node + 1] sets of nodes, by free GPUs */
  uint64_t *levels;   /* set of counts that some node has free */
  uint32_t *count_at; /* [gpus_per_node + 1] nodes, by free GPUs */
  uint32_t *free;     /* [n_nodes] */
};

#endif
