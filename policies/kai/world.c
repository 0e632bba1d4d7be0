/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Creates the cluster of a run as KAI sees it: settings, queues, nodes and the topology of the pools.
 *
 * Nodes of the session are those of the engine, with equal ids. Invariant: a node that is not up has no resources.
 */

#include "policies/kai/world.h"

#include <string.h>

static const int64_t mb_bytes = 1000000, unknown_cpu = INT64_C(1000000000000), unknown_mem = INT64_C(100000000000000),
                     unknown_gpu_mib = 100000;

/* ---- Settings ------------------------------------------------------------------------------------------ */

struct hr_kai_scheduler hr__kai_default_scheduler(void) {
  return (struct hr_kai_scheduler){.period_us = HR_SECOND_US,
                                   .k_value = 1,
                                   .saturation_multiplier = 1,
                                   .gpu_placement = HR_KAI_BINPACK,
                                   .cpu_placement = HR_KAI_BINPACK,
                                   .allow_consolidating_reclaim = true,
                                   .max_consolidation_victims = 16,
                                   .stale_grace_us = 60 * HR_SECOND_US,
                                   .reclaim_method = HR_KAI_RECLAIM_LCA,
                                   .termination_grace_us = 30 * HR_SECOND_US,
                                   .signatures = true};
}

static struct hr__kai_config settings_of(const struct hr_kai_scheduler *scheduler) {
  struct hr__kai_config settings = hr__kai_default_config();
  settings.gpu_pack = !scheduler->gpu_spread;
  settings.gpu_spread = scheduler->gpu_spread;
  settings.allow_consolidating_reclaim = scheduler->allow_consolidating_reclaim;
  settings.gpu_placement = scheduler->gpu_placement == HR_KAI_SPREAD ? HR__KAI_SPREAD : HR__KAI_BINPACK;
  settings.cpu_placement = scheduler->cpu_placement == HR_KAI_SPREAD ? HR__KAI_SPREAD : HR__KAI_BINPACK;
  settings.reclaim_method = scheduler->reclaim_method;
  settings.preempt_min_runtime_us = scheduler->preempt_min_runtime_us;
  settings.reclaim_min_runtime_us = scheduler->reclaim_min_runtime_us;
  settings.max_consolidation_victims = scheduler->max_consolidation_victims;
  settings.stale_grace_us = scheduler->stale_grace_us;
  settings.k_value = scheduler->k_value;
  settings.saturation_multiplier = scheduler->saturation_multiplier;
  settings.signatures = scheduler->signatures;
  settings.depth[HR__KAI_ALLOCATE] = (uint32_t)scheduler->allocate_depth;
  settings.depth[HR__KAI_CONSOLIDATE] = (uint32_t)scheduler->consolidation_depth;
  settings.depth[HR__KAI_RECLAIM_ACTION] = (uint32_t)scheduler->reclaim_depth;
  settings.depth[HR__KAI_PREEMPT] = (uint32_t)scheduler->preempt_depth;
  return settings;
}

/* ---- Queues -------------------------------------------------------------------------------------------- */

static void set_share(struct hr__kai_share *share, const struct hr_kai_resource *resource, double unit) {
  share->deserved = resource->quota < 0 ? HR__KAI_UNLIMITED : llround(resource->quota * unit);
  share->limit = resource->limit < 0 ? HR__KAI_UNLIMITED : llround(resource->limit * unit);
  share->weight = resource->over_quota_weight;
}

static bool create_queues(struct hr__kai_world *world, const struct hr_kai_config *config) {
  static const struct hr_kai_resource unlimited = {-1, -1, 1};
  const uint32_t n = config && config->n_queues ? config->n_queues : 1;
  world->queues = hr__kai_alloc(world, n, sizeof *world->queues);
  world->queue_names = hr__kai_alloc(world, n, sizeof(*world->queue_names));
  world->jobs_in_queue = hr__kai_alloc(world, n, sizeof *world->jobs_in_queue);
  world->classes_in_queue = hr__kai_alloc(world, n, sizeof *world->classes_in_queue);
  world->leaves = hr__kai_alloc(world, n, sizeof *world->leaves);
  if (!world->queues || !world->queue_names || !world->jobs_in_queue || !world->classes_in_queue || !world->leaves)
    return false;
  for (uint32_t i = 0; i < n; i++) {
    struct hr__kai_queue *queue = &world->queues[i];
    const struct hr_kai_queue *described = config && config->n_queues ? &config->queues[i] : NULL;
    world->queue_names[i] = described ? described->name : "default-queue";
    *queue = (struct hr__kai_queue){.parent = described ? described->above : HR__KAI_NONE,
                                    .n_children = described ? described->n_below : 0,
                                    .name_rank = i,
                                    .priority = described ? described->priority : 100,
                                    .created = i,
                                    .preempt_min_runtime_us = described ? described->preempt_min_runtime_us : -1,
                                    .reclaim_min_runtime_us = described ? described->reclaim_min_runtime_us : -1};
    if (queue->preempt_min_runtime_us < 0) queue->preempt_min_runtime_us = -1;
    if (queue->reclaim_min_runtime_us < 0) queue->reclaim_min_runtime_us = -1;
    set_share(&queue->share[HR__KAI_GPU], described ? &described->gpu : &unlimited, HR__KAI_GPU_UNIT);
    set_share(&queue->share[HR__KAI_CPU], described ? &described->cpu : &unlimited, 1);
    set_share(&queue->share[HR__KAI_MEM], described ? &described->memory : &unlimited, (double)mb_bytes);
  }
  world->cluster.queues = world->queues;
  world->cluster.n_queues = n;
  world->cluster.jobs_in_queue = world->jobs_in_queue;
  world->cluster.classes_in_queue = world->classes_in_queue;
  return true;
}

/* ---- Nodes --------------------------------------------------------------------------------------------- */

/* Makes each MIG profile of the pools a dimension. */
static bool create_dimensions(struct hr__kai_world *world) {
  uint32_t most = 0;
  world->cluster.n_dims = HR__KAI_DIM_MIG;
  for (uint32_t p = 0; p < world->n_pools; p++) most += hr__kai_pool(world, p)->mig ? HR_MIG_PROFILES : 0;
  int64_t *slices = hr__kai_alloc(world, HR__KAI_DIM_MIG + most, sizeof *slices);
  world->profiles = hr__kai_alloc(world, most, sizeof(*world->profiles));
  if (!slices || !world->profiles) return false;
  world->cluster.mig_slices = slices;
  for (uint32_t p = 0; p < world->n_pools; p++) {
    const struct hr_mig_spec *mig = hr__kai_pool(world, p)->mig;
    for (uint32_t i = 0; mig && i < mig->type.n_profiles; i++) {
      if (hr__kai_dimension_of(world, mig->type.profiles[i].name)) continue;
      world->profiles[world->cluster.n_dims - HR__KAI_DIM_MIG] = mig->type.profiles[i].name;
      slices[world->cluster.n_dims++] = mig->type.profiles[i].compute_slices;
    }
  }
  return true;
}

static bool create_pool(struct hr__kai_world *world, uint32_t pool) {
  const struct hr_pool_spec *spec = hr__kai_pool(world, pool);
  int64_t *amounts = hr__kai_alloc(world, world->cluster.n_dims, sizeof *amounts);
  if (!amounts) return false;
  if (world->counts_cpu) {
    amounts[HR__KAI_DIM_CPU] = spec->cpu_milli_per_node ? spec->cpu_milli_per_node : unknown_cpu;
    amounts[HR__KAI_DIM_MEM] =
        spec->mem_mib_per_node ? (int64_t)spec->mem_mib_per_node * HR__KAI_MIB_BYTES : unknown_mem;
  }
  amounts[HR__KAI_DIM_PODS] = HR__KAI_MANY_PODS;
  amounts[HR__KAI_DIM_GPUS] = spec->mig ? 0 : spec->gpus_per_node;
  for (uint32_t i = 0; spec->mig && i < spec->mig->type.n_profiles; i++)
    amounts[hr__kai_dimension_of(world, spec->mig->type.profiles[i].name)] = hr__kai_count_instances(spec, i);
  world->node_amounts[pool] = amounts;
  const uint32_t first = hr_cluster_first_node(world->simulated, (hr_pool){pool}).id;
  for (uint32_t n = first; n < first + spec->nodes; n++) {
    struct hr__kai_node *node = &world->nodes[n];
    const uint32_t *order = hr_cluster_spec_of(world->simulated)->node_order;
    const int64_t mib = spec->gpu_mem_mib >= 100 ? spec->gpu_mem_mib - spec->gpu_mem_mib % 100 : unknown_gpu_mib;
    *node = (struct hr__kai_node){.allocatable = world->no_amounts,
                                  .gpu_mib = mib,
                                  .n_gpus = spec->gpus_per_node,
                                  .name_rank = order ? order[n] : n,
                                  .mig = spec->mig ? HR__KAI_MIG_MIXED : HR__KAI_MIG_NONE};
    world->pool_of[n] = pool;
  }
  return true;
}

static bool create_nodes(struct hr__kai_world *world) {
  struct hr__kai_cluster *cluster = &world->cluster;
  world->n_pools = hr_cluster_pools(world->simulated);
  for (uint32_t p = 0; p < world->n_pools; p++) cluster->n_nodes += hr__kai_pool(world, p)->nodes;
  if (!create_dimensions(world)) return false;
  world->counts_cpu = hr_cluster_gpu_inventory(world->simulated) != NULL;
  world->nodes = hr__kai_alloc(world, cluster->n_nodes, sizeof *world->nodes);
  world->pool_of = hr__kai_alloc(world, cluster->n_nodes, sizeof *world->pool_of);
  world->is_up = hr__kai_alloc(world, cluster->n_nodes, sizeof *world->is_up);
  world->node_amounts = hr__kai_alloc(world, world->n_pools, sizeof(*world->node_amounts));
  world->no_amounts = hr__kai_alloc(world, cluster->n_dims, sizeof *world->no_amounts);
  if (!world->nodes || !world->pool_of || !world->is_up || !world->node_amounts || !world->no_amounts) return false;
  for (uint32_t p = 0; p < world->n_pools; p++)
    if (!create_pool(world, p)) return false;
  cluster->nodes = world->nodes;
  return true;
}

static uint32_t group_of(const struct hr__kai_world *world, uint32_t node, enum hr_tier tier) {
  const struct hr_pool_spec *spec = hr__kai_pool(world, world->pool_of[node]);
  const uint32_t number = node - hr_cluster_first_node(world->simulated, (hr_pool){world->pool_of[node]}).id;
  return hr_topology_group(&spec->topology, tier, spec->nodes, number);
}

static bool create_topology(struct hr__kai_world *world) {
  static const enum hr_tier tiers[] = {HR_TIER_ANY, HR_TIER_POOL, HR_TIER_ZONE, HR_TIER_RACK, HR_TIER_NODE};
  const uint32_t n_nodes = world->cluster.n_nodes;
  uint32_t *domain_of = hr__kai_alloc(world, (size_t)(HR__KAI_N_LEVELS + 1) * n_nodes, sizeof *domain_of),
           n_domains = 1;
  uint32_t *ranks = hr__kai_alloc(world, (size_t)HR__KAI_N_LEVELS * n_nodes + 1, sizeof *ranks);
  struct hr__kai_topology *topology = hr__kai_alloc(world, 1, sizeof *topology);
  if (!domain_of || !ranks || !topology) return false;
  for (uint32_t level = 1; level <= HR__KAI_N_LEVELS; level++)
    for (uint32_t n = 0; n < n_nodes; n++) {
      const bool same = n > 0 && world->pool_of[n] == world->pool_of[n - 1] &&
                        group_of(world, n, tiers[level]) == group_of(world, n - 1, tiers[level]);
      domain_of[level * n_nodes + n] = same ? n_domains - 1 : n_domains++;
    }
  for (uint32_t d = 0; d < n_domains; d++) ranks[d] = d;
  *topology = (struct hr__kai_topology){
      .n_levels = HR__KAI_N_LEVELS, .domain_of = domain_of, .n_domains = n_domains, .id_ranks = ranks};
  world->cluster.topologies = topology;
  world->cluster.n_topologies = 1;
  return true;
}

void hr__kai_set_up(struct hr__kai_world *world, uint32_t node, bool is_up) {
  if (world->is_up[node] == is_up) return;
  world->is_up[node] = is_up;
  hr__kai_set_allocatable(world->session, &world->nodes[node],
                          is_up ? world->node_amounts[world->pool_of[node]] : world->no_amounts);
}

/* ---- Creation ------------------------------------------------------------------------------------------ */

/* Whether elastic jobs may have fewer pods, or more: GPUs are counted by node, and no nodes are rented. */
static bool may_resize(const struct hr_policy_env *env) {
  bool rents = false, some = false;
  for (uint32_t p = 0; p < hr_cluster_pools(env->cluster); p++)
    rents = rents || hr_market_is_elastic(hr_cluster_pool_spec(env->cluster, (hr_pool){p})->market.market);
  if (rents || hr_cluster_requests(env->cluster) || (!env->jobs->min_gpus && !env->jobs->max_gpus)) return false;
  for (uint32_t j = 0; j < env->jobs->n_jobs && !some; j++) {
    const struct hr_sizes sizes = hr_cluster_sizes(env->cluster, (hr_job){j});
    some = sizes.min != sizes.max;
  }
  return some;
}

enum hr_status hr__kai_world_create(struct hr__kai_world *world, const struct hr_policy_env *env,
                                    const struct hr_kai_config *config, bool is_plain, struct hr_error *error) {
  const struct hr_kai_scheduler scheduler = config ? config->scheduler : hr__kai_default_scheduler();
  *world = (struct hr__kai_world){.arena = env->arena, .trace = env->jobs, .simulated = env->cluster, .config = config};
  world->resizes = may_resize(env);
  world->is_plain = is_plain || world->resizes;
  for (uint32_t p = 0; p < hr_cluster_pools(env->cluster); p++) {
    const struct hr_pool_spec *spec = hr__kai_pool(world, p);
    if (spec->nodes == 0 || spec->sharing == HR_SHARING_WHOLE || spec->sharing == HR_SHARING_FRACTION) continue;
    if (spec->mig && spec->mig->mode == HR_MIG_STATIC) continue;
    return hr_fail(error, HR_BAD_INPUT,
                   "policy 'kai': pool '%.60s' has the sharing '%s'; expected whole, fraction, or mig in mode static",
                   spec->name, hr_sharing_name(spec->sharing));
  }
  world->cluster.config = settings_of(&scheduler);
  world->slot_of = hr_arena_alloc_by_job(env->arena, env->jobs->n_jobs, sizeof *world->slot_of);
  if (!world->slot_of || !create_queues(world, config) || !create_nodes(world) || !create_topology(world) ||
      !hr__kai_gpus_create(world))
    return HR_NO_MEMORY;
  const bool has_queues = config && config->n_queues > 0;
  world->default_queue = has_queues ? hr__kai_find_queue(world, config->default_queue) : 0;
  int64_t least = INT64_MAX;
  for (uint32_t n = 0; n < world->cluster.n_nodes; n++)
    if (world->nodes[n].gpu_mib < least) least = world->nodes[n].gpu_mib;
  if (world->cluster.n_nodes > 0) world->cluster.config.min_gpu_mib = least;
  return hr__kai_make_room(world, 1, 0) ? HR_OK : HR_NO_MEMORY;
}
