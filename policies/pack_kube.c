/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kubernetes' own scores, in its whole numbers, after kube-scheduler's plugins NodeResourcesFit and
 * NodeResourcesBalancedAllocation. The default one looks at CPU and memory alone: GPUs count only by fitting. Its other
 * plugins (taints, affinities, topology, images) give all nodes the same here and are left out, as is that it looks at
 * a part of a large cluster only; it draws among equals, where the first node is taken here. Resources that a pool does
 * not tell are left out of every sum.
 */

#include "policies/pack.h"

#include <math.h>

void hr__kube_amounts(const struct hr_packing *packing, const struct hr_request *request, hr_node node,
                      struct hr__amounts amounts[HR__N_RESOURCES]) {
  const struct hr_pool_spec *pool = hr__pool_of(packing, node);
  uint64_t gpu_milli = (uint64_t)pool->gpus_per_node * HR_WHOLE_GPU_MILLI;
  amounts[HR__CPU] =
      (struct hr__amounts){pool->cpu_milli_per_node, 0, hr_stock_cpu_milli(packing->stock, request, node)};
  amounts[HR__MEMORY] = (struct hr__amounts){pool->mem_mib_per_node, 0, request->mem_mib};
  amounts[HR__GPU] = (struct hr__amounts){gpu_milli, gpu_milli - hr__left_milli(packing, node),
                                          hr__asked_milli(packing, request, node)};
  if (pool->cpu_milli_per_node) amounts[HR__CPU].used = pool->cpu_milli_per_node - packing->stock->cpu_milli[node.id];
  if (pool->mem_mib_per_node) amounts[HR__MEMORY].used = pool->mem_mib_per_node - packing->stock->mem_mib[node.id];
}

/* ---- The default ------------------------------------------------------------------------------------ */

static int32_t least_allocated(const struct hr__amounts *amounts, size_t count) {
  uint64_t sum = 0, weight = 0;
  for (size_t i = 0; i < count; i++) {
    if (!amounts[i].capacity) continue;
    sum += (amounts[i].capacity - amounts[i].used - amounts[i].asked) * 100 / amounts[i].capacity;
    weight++;
  }
  return weight ? (int32_t)(sum / weight) : 0;
}

/* How alike the shares of CPU and of memory that are in use are, 0 to 100. */
static int32_t balance(const struct hr__amounts amounts[HR__N_RESOURCES], bool with_task) {
  double share[2];
  for (size_t i = 0; i < 2; i++) {
    uint64_t used = amounts[i].used + (with_task ? amounts[i].asked : 0);
    share[i] = (double)used / (double)amounts[i].capacity;
  }
  return (int32_t)((1 - fabs(share[0] - share[1]) / 2) * 100);
}

static int32_t balanced_allocation(const struct hr__amounts amounts[HR__N_RESOURCES]) {
  if (!amounts[HR__CPU].capacity || !amounts[HR__MEMORY].capacity) return 75;
  return 50 + (50 + balance(amounts, true) - balance(amounts, false)) / 2;
}

static int32_t score_default(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  struct hr__amounts amounts[HR__N_RESOURCES];
  hr__kube_amounts(packing, request, node, amounts);
  return least_allocated(amounts, HR__GPU) + balanced_allocation(amounts);
}

/* ---- Most allocated --------------------------------------------------------------------------------- */

static int32_t score_most(const struct hr_packing *packing, const struct hr_request *request, hr_node node) {
  static const uint64_t weights[HR__N_RESOURCES] = {1, 1, 3}; /* 3: as Kubernetes' documents have it for devices */
  struct hr__amounts amounts[HR__N_RESOURCES];
  uint64_t sum = 0, weight = 0;
  hr__kube_amounts(packing, request, node, amounts);
  for (size_t i = 0; i < HR__N_RESOURCES; i++) {
    if (!amounts[i].capacity) continue;
    sum += weights[i] * ((amounts[i].used + amounts[i].asked) * 100 / amounts[i].capacity);
    weight += weights[i];
  }
  return weight ? (int32_t)(sum / weight) : 0;
}

const struct hr_packing_rule hr__pack_kube_default = {
    .name = "kube-default",
    .summary = "Kubernetes as it comes: spreads by CPU and memory, and does not look at GPUs",
    .score = score_default};
const struct hr_packing_rule hr__pack_kube_most_allocated = {
    .name = "kube-most-allocated",
    .summary = "Kubernetes' MostAllocated: the fullest node, GPUs weighing three times CPU or memory",
    .score = score_most};
