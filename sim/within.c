/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How near together jobs are to be: what a job asks for, and whether a placement, or the empty cluster, keeps to it. */

#include "sim/engine.h"

/* A job on one GPU is in one group of everything; tasks without GPUs sit on nodes where GPUs are told apart. */
static bool may_spread(const struct hr_cluster *cluster, hr_job job) {
  const struct hr_trace *trace = cluster->trace;
  return trace->gpus[job.id] > 1 || (cluster->stock && trace->tasks && trace->tasks[job.id] > 1);
}

/* What the trace says of the job goes before what is said of its class. */
struct hr_within hr_cluster_within(const struct hr_cluster *cluster, hr_job job) {
  const struct hr_trace *trace = cluster->trace;
  enum hr_tier tier = trace->within ? (enum hr_tier)trace->within[job.id] : HR_TIER_ANY;
  int64_t wait_us = trace->within_wait_us ? trace->within_wait_us[job.id] : HR_UNKNOWN_US;
  if (tier == HR_TIER_ANY && cluster->classes) {
    const struct hr_class_spec *class_ = &cluster->classes[trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN];
    tier = (enum hr_tier)class_->within;
    wait_us = class_->within_wait_us;
  }
  if (tier == HR_TIER_ANY || !may_spread(cluster, job)) return (struct hr_within){HR_TIER_ANY, HR_NEVER_US};
  return (struct hr_within){tier, wait_us == HR_UNKNOWN_US ? HR_NEVER_US : trace->submit_us[job.id] + wait_us};
}

bool hr_cluster_any_within(const struct hr_cluster *cluster) {
  return cluster->tiers_within != 0;
}

void hr__within_look(struct hr_cluster *cluster, struct hr_arena *arena) {
  bool any_class = false;
  for (unsigned i = 0; cluster->classes && i < HR_N_CLASSES; i++)
    any_class = any_class || cluster->classes[i].within != HR_TIER_ANY;
  if (!cluster->trace->within && !any_class) return;
  for (uint32_t job = 0; job < cluster->trace->n_jobs; job++) {
    cluster->tiers_within |= 1u << hr_cluster_within(cluster, (hr_job){job}).tier;
    hr_arena_passed_job(arena, (hr_job){job});
  }
  cluster->tiers_within &= ~(1u << HR_TIER_ANY);
}

/* Where GPUs are told apart, a policy looks at groups by itself. */
enum hr_status hr__within_group(struct hr_cluster *cluster, struct hr_arena *arena) {
  for (uint32_t i = 0; i < cluster->n_pools && !cluster->stock; i++) {
    const struct hr_pool_spec *spec = cluster->pools[i].spec;
    for (enum hr_tier tier = HR_TIER_RACK; tier <= HR_TIER_ZONE; tier++) {
      uint32_t n_nodes = hr_topology_nodes(&spec->topology, tier, spec->nodes);
      if (!(cluster->tiers_within >> tier & 1) || n_nodes >= spec->nodes) continue;
      if (!hr__free_index_group(arena, cluster->pools[i].index, n_nodes)) return HR_NO_MEMORY;
    }
  }
  return HR_OK;
}

const char *hr__within_refuses(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  const struct hr_cluster *cluster = &engine->cluster;
  bool sits_nowhere = placement->n_slices == 0 && engine->trace->gpus[job.id] == 0;
  if (!cluster->tiers_within || sits_nowhere || placement->pool.id >= cluster->n_pools) return NULL;
  struct hr_within within = hr_cluster_within(cluster, job);
  if (within.tier == HR_TIER_ANY || engine->view.now_us >= within.until_us) return NULL;
  return hr_cluster_span(cluster, placement) > within.tier ? "the job is to be within a narrower tier" : NULL;
}

/* ---- The empty cluster ------------------------------------------------------------------------------ */

/* Tasks that one group of the empty pool has room for. */
static uint64_t room_of_group(const struct hr_pool_spec *spec, const struct hr_request *request, enum hr_tier tier) {
  struct hr_pool_spec part = *spec; /* a node with no more GPUs than the group has of one */
  struct hr_cluster_spec alone = {.pools = &part, .n_pools = 1};
  part.gpus_per_node = hr_topology_gpus(&spec->topology, tier, spec->gpus_per_node);
  return (uint64_t)hr_pool_most_tasks(&alone, (hr_pool){0}, request) *
         hr_topology_nodes(&spec->topology, tier, spec->nodes);
}

bool hr__within_never_fits(const struct hr_cluster *cluster, hr_pool pool, hr_job job,
                           const struct hr_request *request) {
  const struct hr_pool_spec *spec = cluster->pools[pool.id].spec;
  if (!cluster->tiers_within) return false;
  struct hr_within within = hr_cluster_within(cluster, job);
  if (within.tier == HR_TIER_ANY || within.until_us != HR_NEVER_US) return false;
  if (request && spec->mig) return false; /* a policy refuses that */
  if (request) return room_of_group(spec, request, within.tier) < request->tasks;
  uint64_t n_nodes = hr_topology_nodes(&spec->topology, within.tier, spec->nodes);
  return n_nodes * spec->gpus_per_node < cluster->trace->gpus[job.id];
}
