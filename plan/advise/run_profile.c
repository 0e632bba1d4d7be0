/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A fold beside a run. Jobs' time is summed when they leave their place, a pool's time whenever what it holds changes;
 * all sums are of integers.
 */

#include "plan/advise/run_profile.h"

#include "headroom/unstable/compare.h"

#include <stdlib.h>
#include <string.h>

static const int64_t long_us = INT64_C(3600) * HR_SECOND_US;
static const double milli_us_per_gpu_hour = 1000.0 * 3600.0 * 1e6;

/* ---- Making and unmaking ---------------------------------------------------------------------------- */

static bool allocate_levels(struct hr__run_profile *look) {
  for (uint32_t i = 0; i < look->n_pools; i++) {
    const struct hr_pool_spec *spec = &look->cluster->pools[i];
    if (hr_market_is_elastic(spec->market.market)) continue;
    look->pools[i].at_level = calloc((size_t)spec->nodes + 1, sizeof *look->pools[i].at_level);
    if (!look->pools[i].at_level) return false;
  }
  return true;
}

static bool allocate(struct hr__run_profile *look) {
  size_t n_uses = (size_t)HR_N_CLASSES * look->n_pools, n_jobs = look->trace->n_jobs;
  look->uses = calloc(n_uses + 1, sizeof *look->uses);
  look->by_tenant = calloc(n_uses * look->n_tenants + 1, sizeof *look->by_tenant);
  look->pools = calloc((size_t)look->n_pools + 1, sizeof *look->pools);
  look->seats = malloc((n_jobs + 1) * sizeof *look->seats);
  if (!look->uses || !look->by_tenant || !look->pools || !look->seats) return false;
  for (size_t job = 0; job < n_jobs; job++)
    look->seats[job] = (struct hr__allocation_taken){.since_us = HR_NEVER_US, .pool = HR_NONE};
  return allocate_levels(look);
}

void hr__run_profile_finish(struct hr__run_profile *look) {
  for (uint32_t i = 0; look->pools && i < look->n_pools; i++) free(look->pools[i].at_level);
  free(look->uses);
  free(look->by_tenant);
  free(look->pools);
  free(look->seats);
  *look = (struct hr__run_profile){0};
}

/* ---- What happens ----------------------------------------------------------------------------------- */

static void advance(struct hr__run_profile *look, uint32_t number, int64_t now_us) {
  struct hr__pool_look *pool = &look->pools[number];
  const struct hr_pool_spec *spec = &look->cluster->pools[number];
  uint64_t passed_us = (uint64_t)(now_us - pool->until_us), node_milli = (uint64_t)spec->gpus_per_node * 1000;
  uint64_t level = (pool->allocated_milli + node_milli - 1) / node_milli;
  pool->allocated_milli_us += (hr__wide)pool->allocated_milli * passed_us;
  if (pool->at_level) pool->at_level[level < spec->nodes ? level : spec->nodes] += (int64_t)passed_us;
  pool->until_us = now_us;
}

static struct hr__pool_use *use_of(struct hr__run_profile *look, hr_job job, uint32_t pool) {
  uint32_t class_ = look->trace->class_ ? look->trace->class_[job.id] : HR_CLASS_UNKNOWN;
  return &look->uses[(size_t)class_ * look->n_pools + pool];
}

static void note_wants(const struct hr_trace *trace, hr_job job, struct hr__pool_use *use) {
  uint32_t tasks = trace->tasks && trace->tasks[job.id] ? trace->tasks[job.id] : 1;
  uint32_t gpus_per_task = trace->gpus[job.id] / tasks;
  uint64_t mem_mib = trace->gpu_mem_mib ? trace->gpu_mem_mib[job.id] : 0;
  uint64_t checkpoint_mib = trace->checkpoint_mib ? trace->checkpoint_mib[job.id] : 0;
  use->starts++;
  use->long_ones += trace->work_us[job.id] > long_us;
  use->mem_untold += mem_mib == 0;
  use->typed += trace->gpu_types && trace->gpu_types[job.id] != HR_NONE;
  use->own_checkpoints += trace->checkpoint_interval_us && trace->checkpoint_interval_us[job.id] > 0;
  use->sized_checkpoints += checkpoint_mib > 0;
  use->checkpoint_mib += checkpoint_mib;
  if (mem_mib > use->max_mem_mib) use->max_mem_mib = mem_mib;
  if (gpus_per_task > use->max_gpus_per_task) use->max_gpus_per_task = gpus_per_task;
}

/* A gang has a slice on each node, or, where GPUs are told apart, one for each task, in the order of nodes. */
static uint32_t nodes_of(const struct hr_placement *placement) {
  uint32_t nodes = 1;
  for (uint32_t i = 1; i < placement->n_slices; i++)
    nodes += placement->slices[i].node.id != placement->slices[i - 1].node.id;
  return nodes;
}

static void note_start(struct hr__run_profile *look, const struct hr_event *event) {
  uint32_t pool = event->placement->pool.id;
  uint64_t milli = hr_placement_milli(event->placement, look->trace, event->job);
  struct hr__pool_use *use = use_of(look, event->job, pool);
  note_wants(look->trace, event->job, use);
  advance(look, pool, event->at_us);
  use->milli += milli;
  if (use->milli > use->peak_milli) use->peak_milli = use->milli;
  look->pools[pool].allocated_milli += milli;
  look->seats[event->job.id] = (struct hr__allocation_taken){event->at_us, milli, pool, nodes_of(event->placement)};
}

static void note_leave(struct hr__run_profile *look, hr_job job, int64_t now_us) {
  struct hr__allocation_taken *seat = &look->seats[job.id];
  uint32_t tenant = look->trace->tenant ? look->trace->tenant[job.id] : HR_NONE;
  struct hr__pool_use *use = use_of(look, job, seat->pool);
  hr__wide held = (hr__wide)seat->milli * (uint64_t)(now_us - seat->since_us);
  advance(look, seat->pool, now_us);
  use->milli -= seat->milli;
  use->held_milli_us += held;
  use->held_by_nodes += held * seat->nodes;
  if (look->trace->flags && look->trace->flags[job.id] & HR_JOB_NOT_INTERRUPTIBLE) use->bound_milli_us += held;
  if (tenant != HR_NONE) {
    size_t class_ = (size_t)(use - look->uses) / look->n_pools;
    look->by_tenant[(tenant * (size_t)HR_N_CLASSES + class_) * look->n_pools + seat->pool] += held;
  }
  look->pools[seat->pool].allocated_milli -= seat->milli;
  seat->since_us = HR_NEVER_US;
}

static void note_rates(struct hr__run_profile *look, const struct hr_cluster *cluster) {
  for (uint32_t i = 0; i < look->n_pools; i++)
    look->pools[i].reclaims_per_h =
        look->cluster->pools[i].market.market == HR_MARKET_SPOT ? hr_cluster_reclaims_per_h(cluster, (hr_pool){i}) : 0;
  look->seen = true;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__run_profile *look = self;
  if (!look->seen) note_rates(look, view->cluster);
  if (!event->placement) return;
  if (event->kind == HR_EVENT_START) note_start(look, event);
  if (event->kind == HR_EVENT_END || event->kind == HR_EVENT_INTERRUPT || event->kind == HR_EVENT_PREEMPT)
    note_leave(look, event->job, event->at_us);
}

/* ---- When all is over ------------------------------------------------------------------------------- */

/* GPUs x microseconds that nodes of a pool were there. */
static hr__wide there_of(const struct hr__run_profile *look, uint32_t number, const struct hr_result *result) {
  const struct hr_pool_spec *spec = &look->cluster->pools[number];
  const struct hr_market_spec *market = &spec->market;
  uint64_t node_milli = (uint64_t)spec->gpus_per_node * 1000;
  if (hr_market_is_elastic(market->market)) return (hr__wide)result->pools[number].up_us * node_milli;
  int64_t from_us = market->market == HR_MARKET_RESERVED ? market->from_us : 0;
  int64_t to_us = market->market == HR_MARKET_RESERVED && market->to_us < look->end_us ? market->to_us : look->end_us;
  return to_us > from_us ? (hr__wide)node_milli * spec->nodes * (uint64_t)(to_us - from_us) : 0;
}

static void close_all(struct hr__run_profile *look, const struct hr_result *result) {
  look->end_us = result->end_us;
  for (uint32_t job = 0; job < look->trace->n_jobs; job++) {
    const struct hr__allocation_taken *seat = &look->seats[job];
    if (seat->since_us != HR_NEVER_US) note_leave(look, (hr_job){job}, look->end_us);
    if (seat->pool != HR_NONE && result->accounting)
      use_of(look, (hr_job){job}, seat->pool)->lost_milli_us += (hr__wide)result->accounting[job].milli_us.lost;
  }
  for (uint32_t i = 0; i < look->n_pools; i++) {
    advance(look, i, look->end_us);
    look->pools[i].there_milli_us = there_of(look, i, result);
  }
}

enum hr_status hr__run_profile_make(const struct hr_scenario *scenario, const struct hr_trace *trace,
                                    struct hr__run_profile *look, struct hr_error *error) {
  *look = (struct hr__run_profile){.trace = trace,
                                   .cluster = &scenario->cluster,
                                   .n_pools = scenario->cluster.n_pools,
                                   .n_tenants = trace->tenant ? trace->tenants.count : 0};
  if (!allocate(look)) return hr_fail(error, HR_NO_MEMORY, "out of memory for a look at the run");
  const struct hr_observer observer = {.self = look, .on_event = on_event};
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
  if (status == HR_OK) close_all(look, result);
  hr_result_destroy(result);
  return status;
}

/* ---- What was seen ---------------------------------------------------------------------------------- */

double hr__run_profile_gpu_hours(const struct hr__run_profile *look, uint32_t class_, uint32_t pool) {
  return (double)hr__run_profile_use(look, class_, pool)->held_milli_us / milli_us_per_gpu_hour;
}

double hr__run_profile_utilization(const struct hr__run_profile *look, uint32_t pool) {
  const struct hr__pool_look *self = &look->pools[pool];
  return self->there_milli_us ? (double)self->allocated_milli_us / (double)self->there_milli_us : 0;
}

uint32_t hr__run_profile_classes(const struct hr__run_profile *look, uint32_t pool) {
  uint32_t count = 0;
  for (uint32_t class_ = 0; class_ < HR_N_CLASSES; class_++)
    count += hr__run_profile_use(look, class_, pool)->starts > 0;
  return count;
}

double hr__run_profile_tenant_hours(const struct hr__run_profile *look, uint32_t tenant, uint32_t class_,
                                    uint32_t pool) {
  const hr__wide *held = &look->by_tenant[(size_t)tenant * HR_N_CLASSES * look->n_pools];
  hr__wide sum = 0;
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    for (uint32_t k = 0; k < look->n_pools; k++)
      if ((class_ == HR_N_CLASSES || i == class_) && (pool == HR_NONE || k == pool))
        sum += held[(size_t)i * look->n_pools + k];
  return (double)sum / milli_us_per_gpu_hour;
}

uint32_t hr__run_profile_tenant(const struct hr__run_profile *look, uint32_t class_, uint32_t pool) {
  uint32_t found = HR_NONE;
  for (uint32_t tenant = 0; tenant < look->n_tenants; tenant++) {
    if (hr__run_profile_tenant_hours(look, tenant, class_, pool) == 0) continue;
    if (found != HR_NONE) return HR_NONE;
    found = tenant;
  }
  return found;
}
