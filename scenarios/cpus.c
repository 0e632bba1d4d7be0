/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPUs that go with a pool's GPUs: `cpu_per_gpu`, a number, or "proportional" for a GPU's part of the node's. */

#include "scenarios/pools.h"

#include <math.h>
#include <string.h>

enum hr_status hr__build_cpus(struct hr__builder *builder, struct hr__draft *draft) {
  struct hr_pool_spec *pool = &draft->pool;
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(draft->entry, "cpu_per_gpu");
  if (!value) return HR_OK;
  bool is_part = cJSON_IsString(value) && strcmp(value->valuestring, "proportional") == 0;
  if (!is_part && !(cJSON_IsNumber(value) && value->valuedouble > 0))
    return hr__build_fail_at(builder, draft->entry, "cpu_per_gpu", "a number above 0 or \"proportional\" is wanted");
  if (!pool->cpu_milli_per_node)
    return hr__build_fail_at(builder, draft->entry, "cpu_per_gpu",
                             "CPUs do not count in a pool without 'cpu_per_node'");
  if (!is_part && value->valuedouble * 1000 > pool->cpu_milli_per_node)
    return hr__build_fail_at(builder, draft->entry, "cpu_per_gpu", "a node has no more than %g CPUs",
                             pool->cpu_milli_per_node / 1000.0);
  pool->cpu_milli_per_gpu =
      is_part ? pool->cpu_milli_per_node / pool->gpus_per_node : (uint32_t)lround(value->valuedouble * 1000);
  return HR_OK;
}

enum hr_status hr__check_cpus(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  for (uint32_t i = 0; i < cluster->n_pools && !hr_cluster_spec_by_gpu(cluster); i++)
    if (cluster->pools[i].nodes > 0 && cluster->pools[i].cpu_milli_per_gpu)
      return hr__build_fail(builder, false,
                            "pool '%.60s' has 'cpu_per_gpu', but CPUs do not count where GPUs are not told apart; "
                            "'cluster.by_gpu' tells them apart",
                            cluster->pools[i].name);
  return HR_OK;
}
