/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_GPU_UNITS_H
#define HR_REPORT_GPU_UNITS_H

/*
 * Who held which GPU, and when. A unit is a GPU where GPUs are told apart or each is wanted for itself, else a node;
 * behind those of all nodes there is one for each pool, of what sits on no node. Units of a node, and nodes of a pool,
 * follow without a gap. Where the engine only counts the GPUs of a node, a job is given the first that are free.
 */

#include "headroom/exports.h"

struct hr__hold {
  uint32_t attempt; /* its place in the history */
  uint32_t milli;   /* of GPUs */
};

struct hr__gpu_units {
  uint32_t n_nodes, n_pools;
  bool by_gpu;
  uint32_t *first_node;   /* [n_pools + 1] */
  uint32_t *first_unit;   /* [n_nodes + n_pools + 1], by owner: a node, or a pool behind the nodes */
  uint32_t *first_hold;   /* [units + 1] */
  struct hr__hold *holds; /* by unit, in the order of their begins */
};

/* HR_NO_MEMORY on failure; to be finished whatever is returned. */
enum hr_status hr__gpu_units_init(struct hr__gpu_units *units, const struct hr_export *run, bool each_gpu);
void hr__gpu_units_finish(struct hr__gpu_units *units);

#endif
