/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The GPU type for which the defaults of a service are taken: that of the first pool that can hold a replica. A service
 * has one cost and one size of memory. So if its replicas can also run on GPUs of another type, a note says that they
 * are assumed to be as fast there.
 */

#include "headroom/unstable/scenario_clusters.h"
#include "headroom/unstable/services.h"
#include "scenarios/build/builder.h"

#include <string.h>

/* Whether a service may have replicas in the cluster of a pool. */
static bool is_placed(const struct hr_scenario *scenario, const struct hr_service *service, uint32_t pool) {
  const struct hr_scenario_clusters *clusters = scenario->clusters;
  bool any = !clusters || service->n_places == 0;
  uint32_t at = 0;
  while (clusters && pool >= clusters->at[at].scenario->cluster.n_pools)
    pool -= clusters->at[at++].scenario->cluster.n_pools;
  for (uint32_t i = 0; i < service->n_places && !any; i++)
    any = strcmp(service->places[i].name, clusters->at[at].name) == 0;
  return any;
}

/* Whether a pool could hold a replica if it had enough nodes. */
static bool can_hold(const struct hr_scenario *scenario, const struct hr_service *service, uint32_t pool) {
  struct hr_pool_spec copy = scenario->cluster.pools[pool];
  struct hr_cluster_spec one = scenario->cluster;
  enum hr_reason reason;
  struct hr_error error;
  copy.nodes = service->gpus ? service->gpus : 1;
  one.pools = &copy;
  one.n_pools = 1;
  return is_placed(scenario, service, pool) &&
         hr__replica_reason(scenario, &one, NULL, service, &reason, &error) == HR_OK && reason == HR_REASON_NONE;
}

uint32_t hr__service_pool(const struct hr_scenario *scenario, const struct hr_service *service) {
  uint32_t found = HR_NONE;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) {
    const bool is_better =
        found == HR_NONE || (!scenario->cluster.pools[found].nodes && scenario->cluster.pools[i].nodes);
    if (is_better && can_hold(scenario, service, i)) found = i;
  }
  return found;
}

enum hr_status hr__note_other_gpus(struct hr__builder *builder, const struct hr_service *service) {
  const struct hr_scenario *scenario = builder->scenario;
  const uint32_t first = hr__service_pool(scenario, service);
  for (uint32_t i = 0; i < scenario->cluster.n_pools && first != HR_NONE; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    if (pool->nodes > 0 && strcmp(pool->gpu, scenario->cluster.pools[first].gpu) != 0 && can_hold(scenario, service, i))
      return hr_notes_add(&builder->scenario->notes,
                          "service '%.60s': its replicas are as fast on %.60s as on %.60s, with the same memory for "
                          "tokens; set 'replica.gpu_type', and have a service for each type",
                          service->name, pool->gpu, scenario->cluster.pools[first].gpu);
  }
  return HR_OK;
}
