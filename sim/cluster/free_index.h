/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_FREE_INDEX_H
#define HR_SIM_CLUSTER_FREE_INDEX_H

#include "base/bitset.h"
#include "headroom/policy.h"

struct hr_free_index {
  uint32_t n_nodes, gpus_per_node;
  struct hr__bitset_shape node_shape, level_shape;
  uint64_t *nodes_at;            /* [gpus_per_node + 1] sets of nodes, by free GPUs */
  uint64_t *levels;              /* set of counts that some node has free */
  uint32_t *count_at;            /* [gpus_per_node + 1] nodes, by free GPUs */
  uint32_t *free;                /* [n_nodes] */
  struct hr_group_index *groups; /* that follow it, a list; NULL: none */
};

/* Groups of so many neighbouring nodes follow the index from now on. In the arena; NULL when out of memory. */
struct hr_group_index *hr__free_index_group(struct hr_arena *arena, struct hr_free_index *index,
                                            uint32_t nodes_per_group);
/* Whether each of them has it that a group has as much room as the index says. */
bool hr__group_index_agrees(const struct hr_free_index *index);

#endif
