/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/check_stock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum hr_status hr__stock_use_init(struct hr__stock_use *use, const struct hr_cluster *cluster) {
  *use = (struct hr__stock_use){0};
  const struct hr_stock *stock = cluster->stock;
  if (!stock) return HR_OK;
  size_t n_nodes = (size_t)stock->n_nodes + 1, n_gpus = n_nodes * stock->most_gpus + 1;
  use->cpu_milli = calloc(n_nodes, sizeof *use->cpu_milli);
  use->mem_mib = calloc(n_nodes, sizeof *use->mem_mib);
  use->tasks = calloc(n_nodes, sizeof *use->tasks);
  use->alone = calloc(n_nodes, sizeof *use->alone);
  if (!use->tasks || !use->alone) return HR_NO_MEMORY;
  use->gpu_milli = calloc(n_gpus, sizeof *use->gpu_milli);
  use->gpu_mem_mib = calloc(n_gpus, sizeof *use->gpu_mem_mib);
  use->instances = calloc(n_gpus, sizeof *use->instances);
  return use->cpu_milli && use->mem_mib && use->gpu_milli && use->gpu_mem_mib && use->instances ? HR_OK : HR_NO_MEMORY;
}

void hr__stock_use_finish(struct hr__stock_use *use) {
  free(use->cpu_milli);
  free(use->tasks);
  free(use->alone);
  free(use->mem_mib);
  free(use->gpu_milli);
  free(use->gpu_mem_mib);
  free(use->instances);
}

void hr__stock_use_add(struct hr__stock_use *use, const struct hr_cluster *cluster, hr_job job,
                       const struct hr_placement *placement) {
  const struct hr_stock *stock = cluster->stock;
  if (!stock) return;
  const struct hr_request *request = &cluster->requests->request[cluster->requests->of_job[job.id]];
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct hr_slice slice = placement->slices[i];
    use->tasks[slice.node.id]++;
    use->alone[slice.node.id] += request->dedicated;
    use->cpu_milli[slice.node.id] += hr_stock_cpu_milli(stock, request, slice.node);
    use->mem_mib[slice.node.id] += request->mem_mib;
    for (uint32_t gpu = 0; gpu < stock->most_gpus; gpu++) {
      if (!(slice.gpus >> gpu & 1)) continue;
      if (hr_stock_mig(stock, slice.node)) {
        uint8_t *at = &use->instances[(size_t)slice.node.id * stock->most_gpus + gpu].at[slice.instance.start];
        *at = *at ? UINT8_MAX : (uint8_t)(slice.instance.profile + 1);
      }
      use->gpu_milli[(size_t)slice.node.id * stock->most_gpus + gpu] += slice.gpu_milli / request->gpus;
      use->gpu_mem_mib[(size_t)slice.node.id * stock->most_gpus + gpu] += request->gpu_mem_mib;
    }
  }
}

static const char *check_gpu(const struct hr_stock *stock, const struct hr__stock_use *use, size_t gpu,
                             const struct hr_pool_spec *spec) {
  if (use->gpu_milli[gpu] + stock->gpu_milli[gpu] != HR_WHOLE_GPU_MILLI) return "what is free of a GPU differs";
  uint32_t mem_mib = hr_pool_reserved_mem_mib(spec);
  if (mem_mib != HR_NONE && use->gpu_mem_mib[gpu] + stock->gpu_mem_mib[gpu] != mem_mib)
    return "the free memory of a GPU differs";
  return NULL;
}

/* A GPU's instances that tasks have, against those that it has, and against each other. */
static const char *check_instances(const struct hr_stock *stock, const struct hr__stock_use *use, size_t gpu,
                                   const struct hr_mig_spec *mig) {
  const struct hr_mig_gpu *used = &use->instances[gpu], *has = &stock->mig_gpu[gpu];
  struct hr_mig_gpu alone = {0};
  for (uint32_t start = 0; start < HR_MIG_SLICES; start++) {
    if ((used->at[start] != 0) != (stock->mig_taken[gpu] >> start & 1)) return "the instances that are taken differ";
    if (used->at[start] && used->at[start] != has->at[start]) return "an instance is not there, or two tasks have it";
    if (used->at[start] && !hr_mig_create(&mig->type, &alone, used->at[start] - 1U, start))
      return "instances are in each other's way";
  }
  if (mig->mode == HR_MIG_ON_DEMAND) return alone.occupied == has->occupied ? NULL : "an instance is nobody's";
  const struct hr_mig_gpu *layout = &mig->layouts[stock->mig_layout[gpu]].gpu;
  return memcmp(layout, has, sizeof *layout) == 0 ? NULL : "a GPU is not split as its layout says";
}

/* The figures that sum a node's GPUs up. */
static const char *check_sums(const struct hr_stock *stock, uint32_t node) {
  const uint16_t *milli = hr_stock_gpus(stock, (hr_node){node});
  uint32_t sum = 0, widest = 0;
  for (uint32_t gpu = 0; gpu < stock->n_gpus[node]; gpu++) {
    sum += milli[gpu];
    if (milli[gpu] > widest) widest = milli[gpu];
  }
  bool same = sum == stock->left_milli[node] && widest == stock->widest_milli[node];
  return same ? NULL : "what its GPUs have left together differs";
}

static const char *check_node(const struct hr_stock *stock, const struct hr__stock_use *use, uint32_t node,
                              const struct hr_pool_spec *spec) {
  if (spec->cpu_milli_per_node && use->cpu_milli[node] + stock->cpu_milli[node] != spec->cpu_milli_per_node)
    return "the free CPU differs";
  if (spec->mem_mib_per_node && use->mem_mib[node] + stock->mem_mib[node] != spec->mem_mib_per_node)
    return "the free memory differs";
  if (use->tasks[node] != stock->tasks[node]) return "the number of its tasks differs";
  if (use->alone[node] && use->tasks[node] > 1) return "a task does not have the node to itself";
  if ((use->alone[node] > 0) != stock->alone[node]) return "whether a task has it to itself differs";
  const char *sums = check_sums(stock, node);
  if (sums) return sums;
  for (uint32_t i = 0; i < spec->gpus_per_node; i++) {
    size_t gpu = (size_t)node * stock->most_gpus + i;
    const char *fault = check_gpu(stock, use, gpu, spec);
    if (!fault && spec->mig) fault = check_instances(stock, use, gpu, spec->mig);
    if (fault) return fault;
  }
  return NULL;
}

const char *hr__stock_use_check(const struct hr__stock_use *use, const struct hr_cluster *cluster, uint32_t *node) {
  for (uint32_t i = 0; cluster->stock && i < cluster->n_pools; i++) {
    const struct hr__pool *pool = &cluster->pools[i];
    for (*node = pool->first_node.id; *node < pool->first_node.id + pool->spec->nodes; (*node)++) {
      const char *fault = check_node(cluster->stock, use, *node, pool->spec);
      bool is_up = hr_cluster_node_state(cluster, (hr_node){*node}) == HR_NODE_UP;
      if (!fault && cluster->stock->closed[*node] == is_up) fault = "it is closed or not at odds with its state";
      if (fault) return fault;
    }
  }
  return NULL;
}
