/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTERS_KARPENTER_PROVISIONING_H
#define HR_SIM_CLUSTERS_KARPENTER_PROVISIONING_H

/*
 * Karpenter's rules for new nodes, as functions of a plan: pods are packed on planned nodes. A planned node may be
 * bought as any of several options; each pod that is added narrows them. An option is an instance type in a zone as
 * spot or on-demand capacity. Prices are $ an hour of a node. All arrays belong to the caller, except those of the
 * plan.
 *
 * Source: kubernetes-sigs/karpenter, pkg/controllers/provisioning, at 22664681; aws/karpenter-provider-aws,
 * pkg/providers/instance, at 1d927085.
 */

#include "sim/clusters/amounts.h"

struct hr__karpenter_option {
  struct hr__node_amounts size;
  double price;
  uint32_t node_pool; /* HR_NONE: it is not used */
  bool is_spot, is_available;
  int64_t room; /* nodes that may be added */
};

/* A node pool: which options are tried first, and what its limits leave; INT64_MAX: no limit. */
struct hr__karpenter_node_pool {
  uint32_t weight;
  struct hr__node_amounts left;
  int64_t nodes_left;
};

/* Pods of one job that differ by option, because nodes have different sizes: up to two rows of equal pods. */
struct hr__karpenter_pods {
  struct hr__node_amounts request[2];
  uint32_t count[2]; /* 0 in both rows: the option does not suit */
};

struct hr__karpenter_planned {
  uint32_t node_pool, n_pods;
};

/* Begin with the arrays and numbers of options and node pools, and all other members 0. */
struct hr__karpenter_plan {
  const struct hr__karpenter_option *options;
  uint32_t n_options;
  struct hr__karpenter_node_pool *node_pools; /* their limits fall as nodes are planned */
  uint32_t n_node_pools;
  /* result: planned nodes, from malloc */
  struct hr__karpenter_planned *nodes;
  uint32_t n_nodes, capacity;
  bool *may;                     /* [capacity * n_options]: the options of each node */
  struct hr__node_amounts *used; /* [capacity * n_options]: what its pods request */
  struct hr__node_amounts *trial;
  uint32_t *trial_pods, *trial_node; /* scratch */
  uint32_t trial_capacity;
  bool lacks_memory;
};

void hr__karpenter_plan_finish(struct hr__karpenter_plan *plan);
/* Places a pod: on the planned node with the fewest pods that can have it, or on a new node of the first node pool, by
   weight, whose options and limits allow one. A limit is reduced by the largest of the options of the new node.
   `pods`: [n_options], one row each. Returns whether it was placed. */
bool hr__karpenter_place_pod(struct hr__karpenter_plan *plan, const struct hr__karpenter_pods *pods);
/* Places all pods of a job on nodes of one option, or none of them. The node pool is the first one, by weight, that
   allows these nodes; the option is the one whose new nodes cost least. */
bool hr__karpenter_place_job(struct hr__karpenter_plan *plan, const struct hr__karpenter_pods *pods);

/* Returns whether one of the options is bought as spot capacity: spot is preferred unless on-demand is cheaper. */
bool hr__karpenter_buys_spot(const struct hr__karpenter_option *options, const bool *may, uint32_t n_options);
/* Returns the cheapest option that is available and has room, of spot or of on-demand capacity; HR_NONE: none. */
uint32_t hr__karpenter_cheapest(const struct hr__karpenter_option *options, const bool *may, uint32_t n_options,
                                bool is_spot);

/* ---- Batches ---------------------------------------------------------------------------------------------- */

/* The window in which new pods are collected. It ends idle_us after the last new pod, and max_us after the first. */
struct hr__karpenter_batch {
  int64_t idle_us, max_us;
  bool is_open;
  int64_t first_us, end_us;
};
static inline void hr__karpenter_batch_add(struct hr__karpenter_batch *batch, int64_t now_us) {
  if (!batch->is_open) batch->first_us = now_us;
  batch->is_open = true;
  batch->end_us = now_us + batch->idle_us;
  if (batch->end_us > batch->first_us + batch->max_us) batch->end_us = batch->first_us + batch->max_us;
}

#endif
