/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_H
#define HR_SIM_CLUSTER_H

/* The cluster's state: what is free where, and which job may go to which pool. */

#include "headroom/policy.h"

struct hr__pool {
  const struct hr_pool_spec *spec;
  hr_node first_node;
  uint64_t total_milli, free_milli;
  struct hr_free_index *index; /* whole GPUs free, by node */
};

struct hr_cluster {
  struct hr__pool *pools;
  uint32_t n_pools, n_nodes;
  uint64_t total_milli, free_milli;
  uint32_t *node_free_milli; /* [n_nodes] */
  const struct hr_trace *trace;
  uint32_t *class_of_list; /* [gpu_type_lists.count]: accept class of each list of GPU types */
  uint8_t *accepts;        /* [n_classes][n_pools]; class 0 accepts every pool */
  uint32_t n_classes;
};

/* In the arena; the spec and the trace must outlive it. */
enum hr_status hr__cluster_init(struct hr_cluster *cluster, struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                const struct hr_trace *trace);

/* Takes a placement for a job of `gpu_milli`, or takes nothing and returns the rule that it breaks. */
const char *hr__cluster_take(struct hr_cluster *cluster, const struct hr_placement *placement, uint64_t gpu_milli,
                             uint32_t accept_class);
/* Gives back what was taken. */
void hr__cluster_give(struct hr_cluster *cluster, const struct hr_placement *placement, uint64_t gpu_milli);

/* Whether the job could run on the empty cluster; HR_REASON_NONE when it could. */
enum hr_reason hr__cluster_never_fits(const struct hr_cluster *cluster, hr_job job);

/* The pool that a node belongs to. */
hr_pool hr__cluster_pool_of(const struct hr_cluster *cluster, hr_node node);

#endif
