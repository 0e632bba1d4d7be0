/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Profiles one run: an observer that sums, by class and pool, the GPU time of jobs, and by pool, the allocated time.
 *
 * A job's time is added when it ends or is interrupted, a pool's whenever its allocation changes. All sums are integers
 * (milli-GPU x microseconds), so their order does not matter.
 */

#include "plan/advise/advise.h"

#include "headroom/unstable/compare.h"

#include <stdlib.h>
#include <string.h>

static const int64_t long_us = INT64_C(3600) * HR_SECOND_US;

/* ---- Allocation ------------------------------------------------------------------------------------ */

static bool allocate_levels(struct hr__run_profile *profile) {
  for (uint32_t i = 0; i < profile->n_pools; i++) {
    const struct hr_pool_spec *spec = &profile->cluster->pools[i];
    if (hr_market_is_elastic(spec->market.market)) continue;
    profile->pools[i].at_level = calloc((size_t)spec->nodes + 1, sizeof *profile->pools[i].at_level);
    if (!profile->pools[i].at_level) return false;
  }
  return true;
}

static bool allocate(struct hr__run_profile *profile) {
  size_t n_uses = (size_t)HR_N_CLASSES * profile->n_pools, n_jobs = profile->trace->n_jobs;
  profile->uses = calloc(n_uses + 1, sizeof *profile->uses);
  profile->by_tenant = calloc(n_uses * profile->n_tenants + 1, sizeof *profile->by_tenant);
  profile->pools = calloc((size_t)profile->n_pools + 1, sizeof *profile->pools);
  profile->allocations = malloc((n_jobs + 1) * sizeof *profile->allocations);
  if (!profile->uses || !profile->by_tenant || !profile->pools || !profile->allocations) return false;
  for (size_t job = 0; job < n_jobs; job++)
    profile->allocations[job] = (struct hr__profile_allocation){.since_us = HR_NEVER_US, .pool = HR_NONE};
  return allocate_levels(profile);
}

void hr__run_profile_finish(struct hr__run_profile *profile) {
  for (uint32_t i = 0; profile->pools && i < profile->n_pools; i++) free(profile->pools[i].at_level);
  free(profile->uses);
  free(profile->by_tenant);
  free(profile->pools);
  free(profile->allocations);
  *profile = (struct hr__run_profile){0};
}

/* ---- Events ---------------------------------------------------------------------------------------- */

static void advance_pool(struct hr__run_profile *profile, uint32_t number, int64_t now_us) {
  struct hr__pool_profile *pool = &profile->pools[number];
  const struct hr_pool_spec *spec = &profile->cluster->pools[number];
  uint64_t passed_us = (uint64_t)(now_us - pool->until_us), node_milli = (uint64_t)spec->gpus_per_node * 1000;
  uint64_t level = (pool->allocated_milli + node_milli - 1) / node_milli;
  pool->allocated_milli_us += (hr__wide)pool->allocated_milli * passed_us;
  if (pool->at_level) pool->at_level[level < spec->nodes ? level : spec->nodes] += (int64_t)passed_us;
  pool->until_us = now_us;
}

static struct hr__pool_use *use_at(struct hr__run_profile *profile, hr_job job, uint32_t pool) {
  uint32_t class_ = profile->trace->class_ ? profile->trace->class_[job.id] : HR_CLASS_UNKNOWN;
  return &profile->uses[(size_t)class_ * profile->n_pools + pool];
}

static void note_request(const struct hr_trace *trace, hr_job job, struct hr__pool_use *use) {
  uint32_t tasks = trace->tasks && trace->tasks[job.id] ? trace->tasks[job.id] : 1;
  uint32_t gpus_per_task = trace->gpus[job.id] / tasks;
  uint64_t mem_mib = trace->gpu_mem_mib ? trace->gpu_mem_mib[job.id] : 0;
  uint64_t checkpoint_mib = trace->checkpoint_mib ? trace->checkpoint_mib[job.id] : 0;
  use->starts++;
  use->long_starts += trace->work_us[job.id] > long_us;
  use->mem_unknown += mem_mib == 0;
  use->typed += trace->gpu_types && trace->gpu_types[job.id] != HR_NONE;
  use->own_checkpoints += trace->checkpoint_interval_us && trace->checkpoint_interval_us[job.id] > 0;
  use->sized_checkpoints += checkpoint_mib > 0;
  use->checkpoint_mib += checkpoint_mib;
  if (mem_mib > use->max_mem_mib) use->max_mem_mib = mem_mib;
  if (gpus_per_task > use->max_gpus_per_task) use->max_gpus_per_task = gpus_per_task;
}

/* A gang has a slice on each node or, with per-GPU allocation, one per task; slices are in the order of nodes. */
static uint32_t node_count(const struct hr_placement *placement) {
  uint32_t nodes = 1;
  for (uint32_t i = 1; i < placement->n_slices; i++)
    nodes += placement->slices[i].node.id != placement->slices[i - 1].node.id;
  return nodes;
}

static void note_start(struct hr__run_profile *profile, const struct hr_event *event) {
  uint32_t pool = event->placement->pool.id;
  uint64_t milli = hr_placement_milli(event->placement, profile->trace, event->job);
  struct hr__pool_use *use = use_at(profile, event->job, pool);
  note_request(profile->trace, event->job, use);
  advance_pool(profile, pool, event->at_us);
  use->milli += milli;
  if (use->milli > use->peak_milli) use->peak_milli = use->milli;
  profile->pools[pool].allocated_milli += milli;
  profile->allocations[event->job.id] =
      (struct hr__profile_allocation){event->at_us, milli, pool, node_count(event->placement)};
}

static void note_end(struct hr__run_profile *profile, hr_job job, int64_t now_us) {
  struct hr__profile_allocation *allocation = &profile->allocations[job.id];
  uint32_t tenant = profile->trace->tenant ? profile->trace->tenant[job.id] : HR_NONE;
  struct hr__pool_use *use = use_at(profile, job, allocation->pool);
  hr__wide allocated = (hr__wide)allocation->milli * (uint64_t)(now_us - allocation->since_us);
  advance_pool(profile, allocation->pool, now_us);
  use->milli -= allocation->milli;
  use->allocated_milli_us += allocated;
  use->allocated_times_nodes += allocated * allocation->nodes;
  if (profile->trace->flags && profile->trace->flags[job.id] & HR_JOB_NOT_INTERRUPTIBLE)
    use->uninterruptible_milli_us += allocated;
  if (tenant != HR_NONE) {
    size_t class_ = (size_t)(use - profile->uses) / profile->n_pools;
    profile->by_tenant[(tenant * (size_t)HR_N_CLASSES + class_) * profile->n_pools + allocation->pool] += allocated;
  }
  profile->pools[allocation->pool].allocated_milli -= allocation->milli;
  allocation->since_us = HR_NEVER_US;
}

static void note_rates(struct hr__run_profile *profile, const struct hr_cluster *cluster) {
  for (uint32_t i = 0; i < profile->n_pools; i++)
    profile->pools[i].reclaims_per_h = profile->cluster->pools[i].market.market == HR_MARKET_SPOT
                                           ? hr_cluster_reclaims_per_h(cluster, (hr_pool){i})
                                           : 0;
  profile->rates_known = true;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__run_profile *profile = self;
  if (!profile->rates_known) note_rates(profile, view->cluster);
  if (!event->placement) return;
  if (event->kind == HR_EVENT_START) note_start(profile, event);
  if (event->kind == HR_EVENT_END || event->kind == HR_EVENT_INTERRUPT || event->kind == HR_EVENT_PREEMPT)
    note_end(profile, event->job, event->at_us);
}

/* ---- The end of the run ---------------------------------------------------------------------------- */

/* GPU time that nodes of a pool were available. */
static hr__wide available_of(const struct hr__run_profile *profile, uint32_t number, const struct hr_result *result) {
  const struct hr_pool_spec *spec = &profile->cluster->pools[number];
  const struct hr_market_spec *market = &spec->market;
  uint64_t node_milli = (uint64_t)spec->gpus_per_node * 1000;
  if (hr_market_is_elastic(market->market)) return (hr__wide)result->pools[number].up_us * node_milli;
  int64_t from_us = market->market == HR_MARKET_RESERVED ? market->from_us : 0;
  int64_t to_us =
      market->market == HR_MARKET_RESERVED && market->to_us < profile->end_us ? market->to_us : profile->end_us;
  return to_us > from_us ? (hr__wide)node_milli * spec->nodes * (uint64_t)(to_us - from_us) : 0;
}

static void close_all(struct hr__run_profile *profile, const struct hr_result *result) {
  profile->end_us = result->end_us;
  for (uint32_t job = 0; job < profile->trace->n_jobs; job++) {
    const struct hr__profile_allocation *allocation = &profile->allocations[job];
    if (allocation->since_us != HR_NEVER_US) note_end(profile, (hr_job){job}, profile->end_us);
    if (allocation->pool != HR_NONE && result->accounting)
      use_at(profile, (hr_job){job}, allocation->pool)->lost_milli_us +=
          (hr__wide)result->accounting[job].milli_us.lost;
  }
  for (uint32_t i = 0; i < profile->n_pools; i++) {
    advance_pool(profile, i, profile->end_us);
    profile->pools[i].available_milli_us = available_of(profile, i, result);
  }
}

enum hr_status hr__run_profile_make(const struct hr_scenario *scenario, const struct hr_trace *trace,
                                    struct hr__run_profile *profile, struct hr_error *error) {
  *profile = (struct hr__run_profile){.trace = trace,
                                      .cluster = &scenario->cluster,
                                      .n_pools = scenario->cluster.n_pools,
                                      .n_tenants = trace->tenant ? trace->tenants.count : 0};
  if (!allocate(profile)) return hr_fail(error, HR_NO_MEMORY, "out of memory for the profile of the run");
  const struct hr_observer observer = {.self = profile, .on_event = on_event};
  struct hr_run_config config = {.trace = trace,
                                 .cluster = &scenario->cluster,
                                 .policy = scenario->policy.ops,
                                 .params = scenario->policy.params,
                                 .seed = hr_replication_seed(scenario->seed, 0),
                                 .horizon_us = scenario->horizon_us,
                                 .classes = scenario->classes,
                                 .observers = &observer,
                                 .n_observers = 1,
                                 .quotas = scenario->quotas,
                                 .speeds = scenario->speeds,
                                 .network_speeds = scenario->network_speeds};
  struct hr_result *result = NULL;
  enum hr_status status = hr_sim_run(&config, &result, error);
  if (status == HR_OK) close_all(profile, result);
  hr_result_destroy(result);
  return status;
}

/* ---- Results --------------------------------------------------------------------------------------- */

double hr__run_profile_tenant_hours(const struct hr__run_profile *profile, uint32_t tenant, uint32_t class_,
                                    uint32_t pool) {
  const hr__wide *allocated = &profile->by_tenant[(size_t)tenant * HR_N_CLASSES * profile->n_pools];
  hr__wide sum = 0;
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    for (uint32_t k = 0; k < profile->n_pools; k++)
      if ((class_ == HR_N_CLASSES || i == class_) && (pool == HR_NONE || k == pool))
        sum += allocated[(size_t)i * profile->n_pools + k];
  return hr__run_profile_gpu_hours(sum);
}
