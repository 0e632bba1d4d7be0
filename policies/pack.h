/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PACK_H
#define HR_POLICIES_PACK_H

/* What placement rules share, a file `pack_NAME.c` each; hr_packing_rules lists them. */

#include "headroom/packing.h"

/* Thousandths that the node's GPUs have left, all of them together. */
static inline uint64_t hr__left_milli(const struct hr_packing *packing, hr_node node) {
  return packing->stock->left_milli[node.id];
}

/* Thousandths of GPUs that a task takes on the node, which it fits, all of them together. An instance of MIG may have
   one less than was asked for. */
static inline uint64_t hr__asked_milli(const struct hr_packing *packing, const struct hr_request *request,
                                       hr_node node) {
  uint64_t asked_milli = (uint64_t)request->gpus * hr_stock_milli(packing->stock, request, node);
  uint64_t left_milli = hr__left_milli(packing, node);
  return asked_milli < left_milli ? asked_milli : left_milli;
}

/* CPU that the node has left; 0 where it is not told. */
static inline uint64_t hr__left_cpu_milli(const struct hr_packing *packing, hr_node node) {
  uint32_t cpu_milli = packing->stock->cpu_milli[node.id];
  return cpu_milli == HR_NONE ? 0 : cpu_milli;
}

static inline const struct hr_pool_spec *hr__pool_of(const struct hr_packing *packing, hr_node node) {
  return &packing->cluster->pools[packing->stock->pool[node.id]];
}

/* Whether it takes a share of one GPU there, which may be any that has it. */
static inline bool hr__is_share(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  return request->gpus == 1 && hr_stock_milli(packing->stock, request, node) < HR_WHOLE_GPU_MILLI;
}

/* hr_stock_pick, but shares are of the GPUs with the most left, the lowest numbers first among equals. */
uint64_t hr__pick_widest(const struct hr_packing *packing, const struct hr_request *request, hr_node node);

/* What Kubernetes knows of a node: CPU, memory and GPUs, of those that are told. */
enum { HR__CPU, HR__MEMORY, HR__GPU, HR__N_RESOURCES };
struct hr__amounts {
  uint64_t capacity, used, asked; /* capacity 0: not told */
};
void hr__kube_amounts(const struct hr_packing *packing, const struct hr_request *request, hr_node node,
                      struct hr__amounts amounts[HR__N_RESOURCES]);

extern const struct hr_packing_rule hr__pack_first_fit, hr__pack_best_fit, hr__pack_worst_fit, hr__pack_spread,
    hr__pack_random, hr__pack_weighted_best_fit, hr__pack_dot_product, hr__pack_gpu_packing, hr__pack_gpu_clustering,
    hr__pack_fgd, hr__pack_kube_default, hr__pack_kube_most_allocated;

#endif
