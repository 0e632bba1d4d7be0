/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dominant resource fairness (Ghodsi et al., NSDI'11): the tenant whose dominant share / weight is least goes first;
 * within a tenant, by (submit, row). A share is what the tenant's running jobs hold of a resource, as a part of all of
 * it; the dominant one is its greatest. Resources are the GPUs of each type, in thousandths, and CPUs and memory where
 * the pools tell how much they have. It is worked out after each start and each stop.
 */

#include "policies/shares.h"

#include <math.h>
#include <string.h>

/* What a key counts a share in, and the most that it can count to: shares of tenants with little weight are large. */
#define WHOLE_SHARE ((double)(INT64_C(1) << 50))
#define MOST ((double)(INT64_C(1) << 62))

struct tenant {
  double weight;
  int64_t key;      /* as ranked */
  int64_t next_key; /* as it is now */
  uint64_t *held;   /* by resource */
};

struct drf {
  uint32_t n_resources, n_types; /* GPU types first, then CPU, then memory */
  uint32_t *type_of;             /* by pool */
  uint64_t *total;               /* by resource; 0: not told */
  struct tenant *tenants;        /* the last one is that of jobs without a tenant */
  uint32_t n_tenants;
  uint32_t changed; /* whose key has changed: a tenant, NOBODY or SEVERAL */
};

#define NOBODY HR_NONE
#define SEVERAL (HR_NONE - 1)

static uint32_t tenant_of(const struct hr__queue *queue, hr_job job) {
  const struct drf *drf = queue->order_state;
  uint32_t tenant = queue->trace->tenant ? queue->trace->tenant[job.id] : HR_NONE;
  return tenant == HR_NONE ? drf->n_tenants - 1 : tenant;
}

/* ---- Making one ------------------------------------------------------------------------------------- */

static uint32_t type_of_pool(const struct hr_cluster *cluster, const struct drf *drf, uint32_t pool) {
  const char *gpu = hr_cluster_pool_spec(cluster, (hr_pool){pool})->gpu;
  for (uint32_t i = 0; i < pool; i++)
    if (strcmp(hr_cluster_pool_spec(cluster, (hr_pool){i})->gpu, gpu) == 0) return drf->type_of[i];
  return drf->n_types;
}

static void count_resources(const struct hr_cluster *cluster, struct drf *drf) {
  for (uint32_t i = 0; i < hr_cluster_pools(cluster); i++) {
    drf->type_of[i] = type_of_pool(cluster, drf, i);
    if (drf->type_of[i] == drf->n_types) drf->n_types++;
  }
  drf->n_resources = drf->n_types + 2;
  for (uint32_t i = 0; i < hr_cluster_pools(cluster); i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(cluster, (hr_pool){i});
    drf->total[drf->type_of[i]] += (uint64_t)spec->nodes * spec->gpus_per_node * HR_WHOLE_GPU_MILLI;
    drf->total[drf->n_types] += (uint64_t)spec->nodes * spec->cpu_milli_per_node;
    drf->total[drf->n_types + 1] += (uint64_t)spec->nodes * spec->mem_mib_per_node;
  }
}

static enum hr_status create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  (void)error;
  struct drf *drf = hr_arena_alloc(env->arena, sizeof *drf);
  if (!drf) return HR_NO_MEMORY;
  uint32_t n_pools = hr_cluster_pools(env->cluster);
  *drf = (struct drf){.n_tenants = env->jobs->tenants.count + 1, .changed = NOBODY};
  drf->type_of = hr_arena_alloc(env->arena, n_pools * sizeof *drf->type_of);
  drf->total = hr_arena_alloc(env->arena, ((size_t)n_pools + 2) * sizeof *drf->total);
  drf->tenants = hr_arena_alloc(env->arena, drf->n_tenants * sizeof *drf->tenants);
  if (!drf->type_of || !drf->total || !drf->tenants) return HR_NO_MEMORY;
  count_resources(env->cluster, drf);
  for (uint32_t i = 0; i < drf->n_tenants; i++) {
    struct tenant *tenant = &drf->tenants[i];
    tenant->weight = hr__tenant_weight(env->quotas, env->jobs, i + 1 < drf->n_tenants ? i : HR_NONE);
    tenant->held = hr_arena_alloc(env->arena, drf->n_resources * sizeof *tenant->held);
    if (!tenant->held) return HR_NO_MEMORY;
  }
  queue->order_state = drf;
  return HR_OK;
}

/* ---- Shares ----------------------------------------------------------------------------------------- */

static int64_t key_of_share(const struct drf *drf, const struct tenant *tenant) {
  double dominant = 0;
  for (uint32_t i = 0; i < drf->n_resources; i++)
    if (drf->total[i]) dominant = fmax(dominant, (double)tenant->held[i] / (double)drf->total[i]);
  return llround(fmin(dominant / tenant->weight * WHOLE_SHARE, MOST));
}

/* Where GPUs are told apart, a job's tasks are those that it is placed as. */
struct demand {
  uint64_t tasks, cpu_milli, mem_mib; /* CPU and memory: of each */
};

static struct demand demand_of(const struct hr__queue *queue, hr_job job) {
  const struct hr_requests *requests = hr_cluster_requests(queue->cluster);
  if (requests) {
    const struct hr_request *request = &requests->request[requests->of_job[job.id]];
    return (struct demand){request->tasks, request->cpu_milli, request->mem_mib};
  }
  const struct hr_trace *trace = queue->trace;
  return (struct demand){trace->tasks ? trace->tasks[job.id] : 1, trace->cpu_milli ? trace->cpu_milli[job.id] : 0,
                         trace->mem_mib ? trace->mem_mib[job.id] : 0};
}

/* Adds what the job asks for, or takes it away: unsigned numbers wrap around. */
static void change(struct hr__queue *queue, hr_job job, hr_pool pool, uint64_t sign) {
  struct drf *drf = queue->order_state;
  uint32_t number = tenant_of(queue, job);
  struct tenant *tenant = &drf->tenants[number];
  struct demand demand = demand_of(queue, job);
  tenant->held[drf->type_of[pool.id]] += sign * hr__counted_milli(queue, job);
  tenant->held[drf->n_types] += sign * demand.tasks * demand.cpu_milli;
  tenant->held[drf->n_types + 1] += sign * demand.tasks * demand.mem_mib;
  tenant->next_key = key_of_share(drf, tenant);
  drf->changed = drf->changed == NOBODY || drf->changed == number ? number : SEVERAL;
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  (void)view;
  change(queue, job, placement->pool, 1);
  return HR_OK;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  change(queue, event->job, event->placement->pool, UINT64_MAX);
  return HR_OK;
}

static enum hr_status job_moves(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                const struct hr_placement *from, const struct hr_placement *to) {
  (void)view;
  change(queue, job, from->pool, UINT64_MAX);
  change(queue, job, to->pool, 1);
  return HR_OK;
}

/* ---- The order -------------------------------------------------------------------------------------- */

static enum hr_status refresh(struct hr__queue *queue, const struct hr_view *view) {
  (void)view;
  struct drf *drf = queue->order_state;
  uint32_t tenant = drf->changed;
  drf->changed = NOBODY;
  if (tenant == NOBODY) return HR_OK;
  uint32_t first = tenant == SEVERAL ? 0 : tenant, end = tenant == SEVERAL ? drf->n_tenants : tenant + 1;
  for (uint32_t i = first; i < end; i++) drf->tenants[i].key = drf->tenants[i].next_key;
  return tenant == SEVERAL ? hr__waiting_rerank_all(&queue->waiting) : hr__waiting_rerank(&queue->waiting, tenant);
}

static uint64_t lane(const struct hr__queue *queue, hr_job job) {
  return tenant_of(queue, job);
}

static int64_t full_key(void *self, const struct hr__lane *lane, struct hr_job_entry entry) {
  (void)entry;
  const struct hr__queue *queue = self;
  const struct drf *drf = queue->order_state;
  return drf->tenants[lane->name].key;
}

static int64_t key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)queue;
  (void)view;
  (void)job;
  return 0;
}

static const struct hr__listener listener = {.job_starts = job_starts, .job_stops = job_stops, .job_moves = job_moves};

const struct hr__order hr__order_drf = {
    .key = key, .lane = lane, .full_key = full_key, .create = create, .listener = &listener, .refresh = refresh};
