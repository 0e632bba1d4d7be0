/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a pool hangs together: `topology`. */

#include "scenarios/pools.h"

#include <string.h>

#define WORD(name, text) text,
static const char *const tiers[] = {HR_TIER_TABLE(WORD) NULL};
static const char *const networks[] = {HR_NETWORK_TABLE(WORD) NULL};
#undef WORD

/* Sizes within a node: each divides the next wider one. */
static enum hr_status check_gpus(struct hr__builder *builder, const cJSON *entry, const struct hr_pool_spec *pool) {
  const struct hr_topology *topology = &pool->topology;
  uint32_t wider = hr_topology_gpus(topology, HR_TIER_NUMA, pool->gpus_per_node);
  if (pool->gpus_per_node % wider != 0)
    return hr__build_fail_at(builder, entry, "numa_gpus", "'numa_gpus' %u does not divide the %u GPUs of a node",
                             (unsigned)wider, (unsigned)pool->gpus_per_node);
  if (topology->island_gpus && wider % topology->island_gpus != 0)
    return hr__build_fail_at(builder, entry, "island_gpus", "'island_gpus' %u does not divide the %u GPUs of a %s",
                             (unsigned)topology->island_gpus, (unsigned)wider,
                             topology->numa_gpus ? "NUMA domain" : "node");
  return HR_OK;
}

static enum hr_status check_nodes(struct hr__builder *builder, const cJSON *entry, const struct hr_topology *topology) {
  if (!topology->racks_per_zone || topology->nodes_per_rack) return HR_OK;
  return hr__build_fail_at(builder, entry, "racks_per_zone",
                           "'racks_per_zone' says nothing without 'nodes_per_rack', the nodes of a rack");
}

/* The size that makes a tier, by tier. */
static const char *const sizes[HR_N_TIERS] = {[HR_TIER_ISLAND] = "island_gpus",
                                              [HR_TIER_NUMA] = "numa_gpus",
                                              [HR_TIER_RACK] = "nodes_per_rack",
                                              [HR_TIER_ZONE] = "racks_per_zone"};

/* Links of a tier that the pool does not have would never be looked at. */
static enum hr_status take_network(struct hr__builder *builder, const cJSON *entry, struct hr_topology *topology) {
  const cJSON *network = hr__build_enter(builder, entry, "network");
  if (!network) return HR_OK;
  for (unsigned tier = HR_TIER_ISLAND; tier < HR_N_TIERS; tier++) {
    if (!hr__has(network, tiers[tier])) continue;
    topology->network[tier] = (uint8_t)hr__choice_of(network, tiers[tier], networks, HR_NETWORK_NONE);
    if (!hr_topology_has(topology, (enum hr_tier)tier))
      return hr__build_fail_at(builder, network, tiers[tier], "the pool has no tier '%s': '%s' makes it", tiers[tier],
                               sizes[tier]);
  }
  hr__build_leave(builder);
  return HR_OK;
}

enum hr_status hr__build_topology(struct hr__builder *builder, struct hr__draft *draft) {
  struct hr_topology *topology = &draft->pool.topology;
  const cJSON *entry = hr__build_enter(builder, draft->entry, "topology");
  if (!entry) return HR_OK;
  topology->island_gpus = (uint32_t)hr__number_of(entry, "island_gpus", 0);
  topology->numa_gpus = (uint32_t)hr__number_of(entry, "numa_gpus", 0);
  topology->nodes_per_rack = (uint32_t)hr__number_of(entry, "nodes_per_rack", 0);
  topology->racks_per_zone = (uint32_t)hr__number_of(entry, "racks_per_zone", 0);
  enum hr_status status = check_gpus(builder, entry, &draft->pool);
  if (status == HR_OK) status = check_nodes(builder, entry, topology);
  if (status == HR_OK) status = take_network(builder, entry, topology);
  if (status == HR_OK) hr__build_leave(builder);
  return status;
}
