/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Locality: the tier and the network links of a placement; the tier that a job requires; whether a placement satisfies
 * this requirement; and whether any placement on the empty cluster could satisfy it.
 */

#include "sim/cluster/cluster.h"

/* ---- Placements ---- */

/* The lowest and the highest node of a placement, relative to the first node of its pool. */
struct network_range {
  uint32_t low, high;
};

static struct network_range nodes_of(const struct hr_cluster *cluster, const struct hr_placement *placement) {
  uint32_t first = cluster->pools[placement->pool.id].first_node.id;
  struct network_range range = {UINT32_MAX, 0};
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t number = placement->slices[i].node.id - first;
    if (number < range.low) range.low = number;
    if (number > range.high) range.high = number;
  }
  return range;
}

/* Returns the tier of a placement on one node. This is the narrowest tier that has a group which contains all GPUs of
   the placement. */
static enum hr_tier tier_on_node(const struct hr_pool_spec *spec, const struct hr_placement *placement) {
  uint64_t gpus = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++) gpus |= placement->slices[i].gpus;
  uint32_t low = gpus ? (uint32_t)__builtin_ctzll(gpus) : 0;
  uint32_t high = gpus ? 63 - (uint32_t)__builtin_clzll(gpus) : 0;
  for (enum hr_tier tier = HR_TIER_ISLAND; tier < HR_TIER_NODE; tier++) {
    uint32_t size = hr_topology_gpus(&spec->topology, tier, spec->gpus_per_node);
    if (low / size == high / size) return tier;
  }
  return HR_TIER_NODE;
}

/* Returns the narrowest tier that has a group which contains the whole placement. Groups consist of consecutive nodes,
   so it suffices to compare the groups of the lowest and the highest node. In counted allocation, tiers within a node
   are not distinguished. */
enum hr_tier hr_cluster_span(const struct hr_cluster *cluster, const struct hr_placement *placement) {
  const struct hr_pool_spec *spec = cluster->pools[placement->pool.id].spec;
  if (placement->n_slices == 0) return HR_TIER_POOL;
  struct network_range range = nodes_of(cluster, placement);
  if (range.low == range.high) return tier_on_node(spec, placement);
  for (enum hr_tier tier = HR_TIER_RACK; tier < HR_TIER_POOL; tier++)
    if (hr_topology_group(&spec->topology, tier, spec->nodes, range.low) ==
        hr_topology_group(&spec->topology, tier, spec->nodes, range.high))
      return tier;
  return HR_TIER_POOL;
}

/* Returns the network links of a placement. These are the links of the tier of the placement. If they are not
   specified, the links of the next wider tier are returned. */
enum hr_network hr_cluster_links(const struct hr_cluster *cluster, const struct hr_placement *placement) {
  const struct hr_pool_spec *spec = cluster->pools[placement->pool.id].spec;
  enum hr_tier tier = hr_cluster_span(cluster, placement);
  while (tier < HR_TIER_POOL && !hr_topology_has(&spec->topology, tier)) tier++;
  return (enum hr_network)spec->topology.network[tier];
}

/* ---- Jobs ---- */

/* Returns whether a placement of the job can extend over several groups. This is false for a job with one GPU, which
   satisfies every required tier. In per-GPU allocation, tasks without GPUs are placed on nodes, so a job with several
   such tasks can extend over several groups, too. */
static bool may_spread(const struct hr_cluster *cluster, hr_job job) {
  const struct hr_trace *trace = cluster->trace;
  return trace->gpus[job.id] > 1 || (cluster->inventory && trace->tasks && trace->tasks[job.id] > 1);
}

/* Returns the tier that a job requires. The job's own columns take precedence over the settings of its class. */
struct hr_locality hr_cluster_locality(const struct hr_cluster *cluster, hr_job job) {
  const struct hr_trace *trace = cluster->trace;
  enum hr_tier tier = trace->within ? (enum hr_tier)trace->within[job.id] : HR_TIER_ANY;
  int64_t wait_us = trace->within_wait_us ? trace->within_wait_us[job.id] : HR_UNKNOWN_US;
  if (tier == HR_TIER_ANY && cluster->classes) {
    const struct hr_class_spec *class_ = &cluster->classes[trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN];
    tier = (enum hr_tier)class_->within;
    wait_us = class_->within_wait_us;
  }
  if (tier == HR_TIER_ANY || !may_spread(cluster, job)) return (struct hr_locality){HR_TIER_ANY, HR_NEVER_US};
  return (struct hr_locality){tier, wait_us == HR_UNKNOWN_US ? HR_NEVER_US : trace->submit_us[job.id] + wait_us};
}

bool hr_cluster_any_within(const struct hr_cluster *cluster) {
  return cluster->tiers_within != 0;
}

static void find_tiers(struct hr_cluster *cluster, struct hr_arena *arena) {
  bool any_class = false;
  for (unsigned i = 0; cluster->classes && i < HR_N_CLASSES; i++)
    any_class = any_class || cluster->classes[i].within != HR_TIER_ANY;
  if (!cluster->trace->within && !any_class) return;
  for (uint32_t job = 0; job < cluster->trace->n_jobs; job++) {
    cluster->tiers_within |= 1u << hr_cluster_locality(cluster, (hr_job){job}).tier;
    hr_arena_passed_job(arena, (hr_job){job});
  }
  cluster->tiers_within &= ~(1u << HR_TIER_ANY);
}

/* Makes the group indices of all tiers that jobs require. They are used in counted allocation only. In per-GPU
   allocation, policies examine the groups one after the other. */
static enum hr_status make_groups(struct hr_cluster *cluster, struct hr_arena *arena) {
  for (uint32_t i = 0; i < cluster->n_pools && !cluster->inventory; i++) {
    const struct hr_pool_spec *spec = cluster->pools[i].spec;
    for (enum hr_tier tier = HR_TIER_RACK; tier <= HR_TIER_ZONE; tier++) {
      uint32_t n_nodes = hr_topology_nodes(&spec->topology, tier, spec->nodes);
      if (!(cluster->tiers_within >> tier & 1) || n_nodes >= spec->nodes) continue;
      if (!hr_free_index_add_groups(arena, cluster->pools[i].index, n_nodes)) return HR_NO_MEMORY;
    }
  }
  return HR_OK;
}

enum hr_status hr__locality_init(struct hr_cluster *cluster, struct hr_arena *arena) {
  find_tiers(cluster, arena);
  return make_groups(cluster, arena);
}

/* ---- The empty cluster ---- */

/* Returns for how many tasks the MIG GPUs that one group has on a node have instances. GPUs of a node may have
   different layouts, so the best group is counted. */
static uint64_t mig_room_on_node(const struct hr_cluster *cluster, hr_pool pool, const struct hr_request *request,
                                 uint32_t gpus_per_group) {
  uint64_t most = 0;
  for (uint32_t gpu = 0; gpu < cluster->pools[pool.id].spec->gpus_per_node; gpu += gpus_per_group) {
    uint64_t room = hr__gpu_inventory_mig_empty_room(cluster->inventory, request, pool, gpu, gpus_per_group);
    if (room > most) most = room;
  }
  return most;
}

/* Returns how many tasks fit into one group of the empty pool. */
static uint64_t room_of_group(const struct hr_cluster *cluster, hr_pool pool, const struct hr_request *request,
                              enum hr_tier tier) {
  const struct hr_pool_spec *spec = cluster->pools[pool.id].spec;
  struct hr_pool_spec part = *spec; /* a node then has only the GPUs that one group has on a node */
  struct hr_cluster_spec alone = {.pools = &part, .n_pools = 1};
  struct hr_request asked = *request;
  part.gpus_per_node = hr_topology_gpus(&spec->topology, tier, spec->gpus_per_node);
  uint64_t on_node = UINT64_MAX;
  if (spec->mig && request->gpus > 0) {
    on_node = mig_room_on_node(cluster, pool, request, part.gpus_per_node);
    asked.gpus = 0; /* the rest of the check concerns CPU and memory */
    asked.cpu_milli = hr_pool_cpu_milli(spec, request);
  }
  uint64_t room = hr_pool_max_tasks(&alone, (hr_pool){0}, &asked);
  if (on_node < room) room = on_node;
  return room * hr_topology_nodes(&spec->topology, tier, spec->nodes);
}

bool hr__locality_never_fits(const struct hr_cluster *cluster, hr_pool pool, hr_job job,
                             const struct hr_request *request) {
  const struct hr_pool_spec *spec = cluster->pools[pool.id].spec;
  if (!cluster->tiers_within) return false;
  struct hr_locality within = hr_cluster_locality(cluster, job);
  if (within.tier == HR_TIER_ANY || within.until_us != HR_NEVER_US) return false;
  if (request) return room_of_group(cluster, pool, request, within.tier) < request->tasks;
  uint64_t n_nodes = hr_topology_nodes(&spec->topology, within.tier, spec->nodes);
  return n_nodes * spec->gpus_per_node < cluster->trace->gpus[job.id];
}
