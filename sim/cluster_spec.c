/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a cluster is made of, as it is told: pools, and all that they own. */

#include "headroom/cluster.h"

#include <stdlib.h>
#include <string.h>

enum hr_status hr_cluster_spec_add(struct hr_cluster_spec *spec, const struct hr_pool_spec *pool,
                                   struct hr_error *error) {
  struct hr_pool_spec *pools = realloc(spec->pools, (spec->n_pools + 1) * sizeof *pools);
  if (!pools) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  spec->pools = pools;
  struct hr_pool_spec copy = *pool;
  copy.name = strdup(pool->name);
  copy.gpu = strdup(pool->gpu);
  copy.region = pool->region ? strdup(pool->region) : NULL;
  if (!copy.name || !copy.gpu || (pool->region && !copy.region)) {
    free(copy.name);
    free(copy.gpu);
    free(copy.region);
    return hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  pools[spec->n_pools++] = copy;
  return HR_OK;
}

void hr_pool_sharing_finish(struct hr_pool_spec *pool) {
  for (uint32_t i = 0; i < pool->n_pairs; i++) {
    free(pool->pairs[i].model);
    free(pool->pairs[i].with);
  }
  free(pool->pairs);
  free(pool->interference);
  hr_mig_spec_destroy(pool->mig);
}

void hr_cluster_spec_finish(struct hr_cluster_spec *spec) {
  for (uint32_t i = 0; i < spec->n_pools; i++) {
    free(spec->pools[i].name);
    free(spec->pools[i].gpu);
    free(spec->pools[i].region);
    free(spec->pools[i].market.prices);
    free(spec->pools[i].market.spot.levels);
    hr_pool_sharing_finish(&spec->pools[i]);
  }
  free(spec->pools);
  free(spec->node_order);
  *spec = (struct hr_cluster_spec){0};
}

uint64_t hr_cluster_spec_gpus(const struct hr_cluster_spec *spec) {
  uint64_t gpus = 0;
  for (uint32_t i = 0; i < spec->n_pools; i++) gpus += (uint64_t)spec->pools[i].nodes * spec->pools[i].gpus_per_node;
  return gpus;
}

bool hr_cluster_spec_by_gpu(const struct hr_cluster_spec *spec) {
  for (uint32_t i = 0; i < spec->n_pools; i++) {
    const struct hr_pool_spec *pool = &spec->pools[i];
    if (pool->nodes == 0) continue;
    if (pool->sharing != HR_SHARING_WHOLE || hr_topology_parts_nodes(&pool->topology, pool->gpus_per_node)) return true;
  }
  return spec->by_gpu;
}
