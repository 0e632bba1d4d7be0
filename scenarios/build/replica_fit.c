/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether all replicas of services with a fixed number of replicas fit into the pools at once, and hold their GPUs for
 * the whole run. Then the services can be simulated without the engine of jobs.
 *
 * The replicas are placed one service after the other, in the order of the pools: first fit. Nodes of a pool with the
 * same free capacity are one entry with a number, so the time does not depend on the number of nodes or replicas. The
 * answer errs on the side of no: pools that divide GPUs, and restrictions of the locality, are left to the engine.
 */

#include "headroom/unstable/scenario_clusters.h"
#include "headroom/unstable/services.h"

#include "base/containers.h"
#include "scenarios/build/builder.h"

#include <stdlib.h>

/* Nodes of a pool with the same free capacity. CPUs and memory: UINT64_MAX if unknown. */
struct free_nodes {
  uint32_t pool, gpus;
  uint64_t nodes, cpu_milli, mem_mib;
};

struct replica_fit {
  const struct hr_scenario *scenario; /* with the pools of one cluster */
  struct hr_cluster_spec alone;       /* a copy of the pools, of which one at a time has nodes */
  struct free_nodes *at;
  uint32_t count, capacity;
};

/* ---- Placement -------------------------------------------------------------------------------------- */

/* The capacity that a replica takes on its node. */
static struct free_nodes need_of(const struct replica_fit *fit, const struct hr_service *service, uint32_t pool) {
  const struct hr_cluster_spec *cluster = &fit->scenario->cluster;
  struct free_nodes need = {.gpus = service->gpus, .cpu_milli = service->cpu_milli, .mem_mib = service->mem_mib};
  if (!need.cpu_milli && hr_cluster_spec_by_gpu(cluster))
    need.cpu_milli = (uint64_t)service->gpus * cluster->pools[pool].cpu_milli_per_gpu;
  return need;
}

/* Returns how many replicas fit onto a node. */
static uint64_t count_on_node(const struct free_nodes *nodes, const struct free_nodes *need) {
  uint64_t count = nodes->gpus / need->gpus;
  if (need->cpu_milli && nodes->cpu_milli / need->cpu_milli < count) count = nodes->cpu_milli / need->cpu_milli;
  if (need->mem_mib && nodes->mem_mib / need->mem_mib < count) count = nodes->mem_mib / need->mem_mib;
  return count;
}

static bool add(struct replica_fit *fit, struct free_nodes nodes) {
  if (!nodes.nodes) return true;
  if (!HR__ARRAY_HAS_ROOM(fit->at, fit->count, fit->capacity)) return false;
  fit->at[fit->count++] = nodes;
  return true;
}

static struct free_nodes without(struct free_nodes nodes, const struct free_nodes *need, uint64_t replicas) {
  nodes.gpus -= (uint32_t)(replicas * need->gpus);
  if (nodes.cpu_milli != UINT64_MAX) nodes.cpu_milli -= replicas * need->cpu_milli;
  if (nodes.mem_mib != UINT64_MAX) nodes.mem_mib -= replicas * need->mem_mib;
  return nodes;
}

/* Places as many of `*wanted` replicas as fit onto the nodes of an entry, and reduces it. */
static bool place_on_nodes(struct replica_fit *fit, uint32_t entry, const struct free_nodes *need, uint64_t *wanted) {
  const struct free_nodes nodes = fit->at[entry];
  const uint64_t on_each = count_on_node(&nodes, need);
  if (!on_each || !*wanted) return true;
  const uint64_t full = nodes.nodes < *wanted / on_each ? nodes.nodes : *wanted / on_each;
  const uint64_t rest = nodes.nodes > full ? *wanted - full * on_each : 0;
  struct free_nodes untouched = nodes, partial = without(nodes, need, rest);
  fit->at[entry] = without(nodes, need, on_each);
  fit->at[entry].nodes = full;
  untouched.nodes -= full + (rest > 0);
  partial.nodes = rest > 0;
  *wanted -= full * on_each + rest;
  return add(fit, untouched) && add(fit, partial);
}

/* The same for replicas that are larger than a node: they take whole empty nodes. */
static bool place_on_several(struct replica_fit *fit, uint32_t entry, const struct free_nodes *need, uint64_t *wanted) {
  struct free_nodes *nodes = &fit->at[entry];
  const uint32_t per_node = fit->scenario->cluster.pools[nodes->pool].gpus_per_node;
  if (!per_node || nodes->gpus < per_node || need->cpu_milli || need->mem_mib) return true;
  const uint64_t span = (need->gpus + per_node - 1) / per_node;
  const uint64_t placed = nodes->nodes / span < *wanted ? nodes->nodes / span : *wanted;
  nodes->nodes -= placed * span;
  *wanted -= placed;
  return true;
}

/* ---- Services --------------------------------------------------------------------------------------- */

/* Whether a pool can hold a replica of a service. */
static enum hr_status accepts(struct replica_fit *fit, const struct hr_service *service, uint32_t pool, bool *accepted,
                              struct hr_error *error) {
  const uint32_t nodes = fit->scenario->cluster.pools[pool].nodes;
  enum hr_reason reason;
  *accepted = false;
  if (!nodes) return HR_OK;
  fit->alone.pools[pool].nodes = nodes < service->gpus ? nodes : service->gpus;
  const enum hr_status status = hr__replica_reason(fit->scenario, &fit->alone, NULL, service, &reason, error);
  fit->alone.pools[pool].nodes = 0;
  *accepted = status == HR_OK && reason == HR_REASON_NONE;
  return status;
}

/* Places the replicas of a service. `*fits`: whether all have a place. */
static enum hr_status place_service(struct replica_fit *fit, const struct hr_service *service, bool *fits,
                                    struct hr_error *error) {
  uint64_t wanted = service->autoscale.max;
  for (uint32_t pool = 0; pool < fit->scenario->cluster.n_pools && wanted; pool++) {
    const struct hr_pool_spec *spec = &fit->scenario->cluster.pools[pool];
    bool accepted;
    const enum hr_status status = accepts(fit, service, pool, &accepted, error);
    if (status != HR_OK) return status;
    if (!accepted || spec->sharing != HR_SHARING_WHOLE) continue;
    const struct free_nodes need = need_of(fit, service, pool);
    for (uint32_t i = 0, count = fit->count; i < count; i++) {
      if (fit->at[i].pool != pool) continue;
      const bool is_large = need.gpus > spec->gpus_per_node;
      if (!(is_large ? place_on_several : place_on_nodes)(fit, i, &need, &wanted))
        return hr_fail(error, HR_NO_MEMORY, "out of memory");
    }
  }
  *fits = !wanted;
  return HR_OK;
}

/* Whether the capacity for replicas is the same during the whole run, and is all for them. */
static bool is_constant(const struct hr_scenario *scenario) {
  if (scenario->quotas || scenario->systems) return false;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    if (pool->faults || pool->n_maintenance || hr_pool_power_budget_w(pool) > 0) return false;
  }
  for (unsigned i = 0; i < HR_N_CLASSES; i++)
    if (scenario->classes[i].within != HR_TIER_ANY) return false;
  return true;
}

static enum hr_status fit_cluster(const struct hr_scenario *scenario, const struct hr_services *all, uint32_t number,
                                  bool *fits, struct hr_error *error) {
  const struct hr_cluster_spec *cluster = &scenario->cluster;
  struct replica_fit fit = {.scenario = scenario, .alone = *cluster};
  enum hr_status status = HR_OK;
  fit.alone.pools = calloc((size_t)cluster->n_pools + 1, sizeof *fit.alone.pools);
  bool has_memory = fit.alone.pools != NULL;
  for (uint32_t i = 0; i < cluster->n_pools && has_memory; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    fit.alone.pools[i] = *pool;
    fit.alone.pools[i].nodes = 0;
    has_memory = add(&fit, (struct free_nodes){i, pool->gpus_per_node, pool->nodes,
                                               pool->cpu_milli_per_node ? pool->cpu_milli_per_node : UINT64_MAX,
                                               pool->mem_mib_per_node ? pool->mem_mib_per_node : UINT64_MAX});
  }
  if (!has_memory) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  *fits = is_constant(scenario);
  for (uint32_t i = 0; i < all->count && status == HR_OK && *fits; i++)
    if (all->at[i].cluster == number) status = place_service(&fit, &all->at[i], fits, error);
  free(fit.alone.pools);
  free(fit.at);
  return status;
}

enum hr_status hr_replicas_fit(const struct hr_scenario *scenario, bool *fit, struct hr_error *error) {
  const struct hr_scenario_clusters *clusters = scenario->clusters;
  enum hr_status status = HR_OK;
  *fit = scenario->horizon_us == HR_NEVER_US && is_constant(scenario);
  for (uint32_t i = 0; scenario->services && i < (clusters ? clusters->count : 1) && status == HR_OK && *fit; i++)
    status = fit_cluster(clusters ? clusters->at[i].scenario : scenario, scenario->services, i, fit, error);
  return status;
}

enum hr_status hr_replica_refusal(const struct hr_scenario *scenario, const struct hr_service *service,
                                  enum hr_reason *reason, struct hr_error *error) {
  const struct hr_scenario_clusters *clusters = scenario->clusters;
  const struct hr_scenario *home = clusters ? clusters->at[service->cluster].scenario : scenario;
  *reason = HR_REASON_NONE;
  if (!service->autoscale.max) return HR_OK;
  uint32_t *usable_nodes = hr_scenario_usable_nodes(home);
  if (!usable_nodes) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  enum hr_status status = hr__replica_reason(home, &home->cluster, usable_nodes, service, reason, error);
  free(usable_nodes);
  return status;
}
