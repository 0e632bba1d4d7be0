/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far a placement spreads, and what that makes of a job's speed. Rows are looked up once for each model of the
 * trace; a start costs a look at each of its slices.
 */

#include "sim/engine/network.h"

#include "sim/engine/engine.h"

/* ---- How far a placement spreads -------------------------------------------------------------------- */

/* The lowest and the highest of a placement's nodes, within its pool. */
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

/* On one node: the narrowest group that has all of its GPUs. */
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

/* Where GPUs are not told apart, no node has parts. Groups are runs of nodes: what the outermost two share, all share.
 */
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

/* A tier that is the next wider one has that one's links. */
enum hr_network hr_cluster_links(const struct hr_cluster *cluster, const struct hr_placement *placement) {
  const struct hr_pool_spec *spec = cluster->pools[placement->pool.id].spec;
  enum hr_tier tier = hr_cluster_span(cluster, placement);
  while (tier < HR_TIER_POOL && !hr_topology_has(&spec->topology, tier)) tier++;
  return (enum hr_network)spec->topology.network[tier];
}

/* ---- Speeds ----------------------------------------------------------------------------------------- */

static bool any_links(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    for (unsigned tier = 0; cluster->pools[i].nodes > 0 && tier < HR_N_TIERS; tier++)
      if (cluster->pools[i].topology.network[tier] != HR_NETWORK_NONE) return true;
  return false;
}

enum hr_status hr__network_init(struct hr__network_speeds *network, struct hr_arena *arena,
                                const struct hr_network_speeds *table, const struct hr_cluster_spec *cluster,
                                const struct hr_trace *trace) {
  *network = (struct hr__network_speeds){.min_ppm = HR__FULL_SPEED_PPM};
  if (!table || table->n_rows == 0 || !any_links(cluster)) return HR_OK;
  network->table = table;
  for (uint32_t i = 0; i < table->n_rows; i++)
    if (table->rows[i].speed_ppm < network->min_ppm) network->min_ppm = table->rows[i].speed_ppm;
  size_t n_models = (size_t)trace->models.count + 1;
  network->spans = hr_arena_alloc(arena, n_models * HR_N_NETWORKS * sizeof *network->spans);
  if (!network->spans) return HR_NO_MEMORY;
  for (size_t model = 0; model < n_models; model++)
    for (unsigned links = 0; links < HR_N_NETWORKS; links++)
      network->spans[model * HR_N_NETWORKS + links] = hr_network_span_of(
          table, model < trace->models.count ? trace->models.text[model] : NULL, (enum hr_network)links);
  return HR_OK;
}

/* How fast a job is on links of this kind. */
static uint32_t hr__network_ppm(const struct hr__network_speeds *network, const struct hr_trace *trace, hr_job job,
                                enum hr_network links) {
  if (!network->table || links == HR_NETWORK_NONE || trace->gpus[job.id] < 2) return HR__FULL_SPEED_PPM;
  uint32_t model = trace->model ? trace->model[job.id] : HR_NONE;
  size_t row = model == HR_NONE ? trace->models.count : model;
  return hr_network_span_ppm(network->table, network->spans[row * HR_N_NETWORKS + links], trace->gpus[job.id]);
}

uint32_t hr__speed_at_ppm(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  uint32_t speed_ppm = hr__speed_ppm(&engine->speeds, job, placement->pool);
  if (!engine->network.table) return speed_ppm;
  uint32_t network_ppm =
      hr__network_ppm(&engine->network, engine->trace, job, hr_cluster_links(&engine->cluster, placement));
  uint32_t both_ppm = (uint32_t)((uint64_t)speed_ppm * network_ppm / HR__FULL_SPEED_PPM);
  return both_ppm > 0 ? both_ppm : 1;
}
