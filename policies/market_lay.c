/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs laid, shape by shape, on nodes that are free or booting: counts of nodes by how many GPUs are free on them, from
   which each job laid takes its part. */

#include "policies/market_plan.h"

void hr__market_read_levels(struct hr__queue *queue) {
  struct hr__market_plan *market = queue->market;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, (hr_pool){i});
    for (uint32_t free = 1; free <= market->gpus_per_node[i]; free++)
      market->levels[i][free] = hr_free_index_count(index, free);
    market->levels[i][market->gpus_per_node[i]] += hr_cluster_nodes_in(queue->cluster, (hr_pool){i}, HR_NODE_BOOTING);
  }
}

uint32_t hr__market_lay_in_pool(uint32_t *levels, uint32_t size, const struct hr__demand *demand, uint32_t count) {
  uint32_t gpus = demand->gpus, laid = 0;
  if (gpus == 0) return count;
  if (!demand->is_single) {
    uint32_t nodes = hr__nodes_per_job(gpus, size);
    laid = hr__least(count, levels[size] / nodes);
    levels[size] -= laid * nodes;
    if (gpus % size) levels[size - gpus % size] += laid;
    return laid;
  }
  for (uint32_t free = gpus; free <= size && laid < count; free++) {
    uint32_t per_node = free / gpus, jobs = hr__least(count - laid, levels[free] * per_node);
    uint32_t nodes = (jobs + per_node - 1) / per_node;
    levels[free] -= nodes;
    levels[free - per_node * gpus] += nodes;
    laid += jobs;
  }
  return laid;
}

uint32_t hr__market_lay(struct hr__queue *queue, const struct hr__demand *demand, uint32_t count) {
  uint32_t laid = 0;
  for (uint32_t i = 0; i < queue->market->n_pools && laid < count; i++)
    if (hr_cluster_accepts(queue->cluster, demand->accept_class, (hr_pool){i}))
      laid += hr__market_lay_in_pool(queue->market->levels[i], queue->market->gpus_per_node[i], demand, count - laid);
  return laid;
}

bool hr__market_lay_on_spot(struct hr__queue *queue, const struct hr__demand *demand) {
  for (uint32_t i = 0; i < queue->market->n_pools; i++)
    if (hr__market_is_spot(queue, i) && hr_cluster_accepts(queue->cluster, demand->accept_class, (hr_pool){i}) &&
        hr__market_lay_in_pool(queue->market->levels[i], queue->market->gpus_per_node[i], demand, 1))
      return true;
  return false;
}
