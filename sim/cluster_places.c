/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places of jobs: what a placement must be, what it takes and gives back, and who would find none on the empty cluster.
 */

#include "sim/cluster.h"

enum { MILLI = 1000 };

/* ---- Taking and giving ------------------------------------------------------------------------------ */

static bool is_up(const struct hr_cluster *cluster, hr_node node) {
  return !cluster->nodes || cluster->nodes[node.id].state == HR_NODE_UP;
}

static void change_node(struct hr_cluster *cluster, struct hr__pool *pool, hr_node node, uint32_t free_milli) {
  cluster->node_free_milli[node.id] = free_milli;
  if (!is_up(cluster, node)) return;
  hr_free_index_set(pool->index, node.id - pool->first_node.id, hr__cluster_whole_gpus(cluster, node));
}

typedef void give(struct hr_stock *stock, const struct hr_request *request, const struct hr_slice *slice);

/* `request` is NULL where GPUs are not told apart. `back`: hr_stock_give or hr_stock_undo. */
static void give_slices(struct hr_cluster *cluster, struct hr__pool *pool, const struct hr_request *request,
                        const struct hr_slice *slices, uint32_t n_slices, give *back) {
  for (uint32_t i = 0; i < n_slices; i++) {
    if (request) back(cluster->stock, request, &slices[i]);
    change_node(cluster, pool, slices[i].node, cluster->node_free_milli[slices[i].node.id] + slices[i].gpu_milli);
  }
}

static const char *take_slice(struct hr_cluster *cluster, struct hr__pool *pool, const struct hr_request *request,
                              struct hr_slice slice) {
  if (slice.node.id - pool->first_node.id >= pool->spec->nodes) return "a node is not of the placement's pool";
  if (slice.gpu_milli == 0 && !(request && request->gpus == 0)) return "a slice is empty";
  if (!is_up(cluster, slice.node)) return "a node is not up, or has notice";
  const char *refusal = request ? hr_stock_refuse(cluster->stock, request, &slice) : NULL;
  if (refusal) return refusal;
  uint32_t free_milli = cluster->node_free_milli[slice.node.id];
  if (slice.gpu_milli > free_milli) return "a node has too few GPUs free";
  if (request) hr_stock_take(cluster->stock, request, &slice);
  change_node(cluster, pool, slice.node, free_milli - slice.gpu_milli);
  return NULL;
}

/* All slices or none. */
static const char *take_slices(struct hr_cluster *cluster, struct hr__pool *pool, const struct hr_request *request,
                               const struct hr_placement *placement) {
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    const char *refusal = take_slice(cluster, pool, request, placement->slices[i]);
    if (!refusal) continue;
    give_slices(cluster, pool, request, placement->slices, i, hr_stock_undo);
    return refusal;
  }
  return NULL;
}

/* What the job asks for of each node; NULL where GPUs are not told apart. */
static const struct hr_request *request_of(const struct hr_cluster *cluster, hr_job job) {
  return cluster->stock ? &cluster->requests->request[cluster->requests->of_job[job.id]] : NULL;
}

static uint64_t asked_milli(const struct hr_cluster *cluster, hr_job job) {
  return (uint64_t)cluster->trace->gpus[job.id] * MILLI;
}

static bool asks_for_a_node(const struct hr_cluster *cluster, hr_job job, const struct hr_request *request) {
  return request ? hr_request_needs_node(request) : cluster->trace->gpus[job.id] > 0;
}

/* Before anything is taken. */
static const char *refuse_placement(const struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job,
                                    const struct hr_request *request) {
  if (!hr_cluster_accepts(cluster, hr_cluster_accept_class(cluster, job), placement->pool))
    return "the job does not accept the pool";
  const struct hr__pool *pool = &cluster->pools[placement->pool.id];
  uint64_t gpu_milli = request ? hr_placement_milli(placement, cluster->trace, job) : asked_milli(cluster, job);
  if (pool->free_milli < gpu_milli) return "the pool has too few GPUs free";
  if (request) return placement->n_slices == request->tasks ? NULL : "a job has a slice for each of its tasks";
  bool is_counted = pool->comes_and_goes && placement->n_slices == 0;
  return is_counted ? "where nodes come and go, jobs are placed on nodes" : NULL;
}

const char *hr__cluster_take(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job) {
  const struct hr_request *request = request_of(cluster, job);
  if (placement->pool.id >= cluster->n_pools) return "there is no such pool";
  if (!asks_for_a_node(cluster, job, request))
    return placement->n_slices ? "a job without GPUs takes no slice of a node" : NULL;
  const char *refusal = refuse_placement(cluster, placement, job, request);
  if (refusal) return refusal;
  struct hr__pool *pool = &cluster->pools[placement->pool.id];
  refusal = take_slices(cluster, pool, request, placement);
  if (refusal) return refusal;
  uint64_t gpu_milli = hr_placement_milli(placement, cluster->trace, job);
  if (!request && gpu_milli != asked_milli(cluster, job)) {
    give_slices(cluster, pool, request, placement->slices, placement->n_slices, hr_stock_undo);
    return "the slices do not add up to what the job asks for";
  }
  pool->free_milli -= gpu_milli;
  cluster->free_milli -= gpu_milli;
  return NULL;
}

/* What of it lies on nodes that jobs may start on. */
static uint64_t usable_milli(const struct hr_cluster *cluster, const struct hr_placement *placement) {
  uint64_t sum_milli = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    if (is_up(cluster, placement->slices[i].node)) sum_milli += placement->slices[i].gpu_milli;
  return sum_milli;
}

static void give_back(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job, give *back) {
  const struct hr_request *request = request_of(cluster, job);
  if (!asks_for_a_node(cluster, job, request)) return;
  struct hr__pool *pool = &cluster->pools[placement->pool.id];
  uint64_t gpu_milli = hr_placement_milli(placement, cluster->trace, job);
  give_slices(cluster, pool, request, placement->slices, placement->n_slices, back);
  if (pool->comes_and_goes) gpu_milli = usable_milli(cluster, placement);
  pool->free_milli += gpu_milli;
  cluster->free_milli += gpu_milli;
}

void hr__cluster_give(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job) {
  give_back(cluster, placement, job, hr_stock_give);
}

void hr__cluster_undo(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job) {
  give_back(cluster, placement, job, hr_stock_undo);
}

void hr__cluster_retake(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job) {
  const struct hr_request *request = request_of(cluster, job);
  if (!asks_for_a_node(cluster, job, request)) return;
  struct hr__pool *pool = &cluster->pools[placement->pool.id];
  uint64_t gpu_milli = hr_placement_milli(placement, cluster->trace, job);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct hr_slice slice = placement->slices[i];
    if (request) hr_stock_take(cluster->stock, request, &slice);
    change_node(cluster, pool, slice.node, cluster->node_free_milli[slice.node.id] - slice.gpu_milli);
  }
  if (pool->comes_and_goes) gpu_milli = usable_milli(cluster, placement);
  pool->free_milli -= gpu_milli;
  cluster->free_milli -= gpu_milli;
}

/* ---- Who never fits --------------------------------------------------------------------------------- */

/* How near a reason comes to a place on the cluster. */
static int nearness(enum hr_reason reason) {
  switch (reason) {
  case HR_REASON_NO_GPU_TYPE:
    return 0;
  case HR_REASON_GPU_MEMORY:
    return 1;
  case HR_REASON_NO_REGION:
    return 2;
  case HR_REASON_TOO_LARGE:
  case HR_REASON_NODE_TOO_SMALL:
  case HR_REASON_MIG_PROFILE:
    return 3;
  case HR_REASON_NO_GROUP:
    return 4;
  case HR_REASON_NO_CLASS_POOL:
    return 5;
  default:
    return 6;
  }
}

/* Whether it is for want of instances of MIG that no task fits a node. */
static bool lacks_instances(const struct hr_cluster *cluster, hr_pool pool, const struct hr_request *request) {
  struct hr_request gpus_alone = *request;
  gpus_alone.cpu_milli = 0;
  gpus_alone.mem_mib = 0;
  return cluster->pools[pool.id].spec->mig && hr_pool_most_tasks(cluster->spec, pool, &gpus_alone) == 0;
}

static enum hr_reason refuse_room(const struct hr_cluster *cluster, hr_pool number, hr_job job,
                                  const struct hr_request *request) {
  const struct hr__pool *pool = &cluster->pools[number.id];
  if (!request) return pool->size_milli >= asked_milli(cluster, job) ? HR_REASON_NONE : HR_REASON_TOO_LARGE;
  uint64_t on_each = hr_pool_most_tasks(cluster->spec, number, request);
  if (on_each == 0 && lacks_instances(cluster, number, request)) return HR_REASON_MIG_PROFILE;
  if (request->gpu_mem_mib > hr_pool_part_mem_mib(pool->spec)) return HR_REASON_GPU_MEMORY;
  if (on_each == 0) return HR_REASON_NODE_TOO_SMALL;
  return on_each * pool->spec->nodes >= request->tasks ? HR_REASON_NONE : HR_REASON_TOO_LARGE;
}

/* Whether the pool, all of its nodes there and empty, would have room for the job. */
static enum hr_reason refuse_empty(const struct hr_cluster *cluster, hr_pool number, hr_job job,
                                   const struct hr_request *request) {
  enum hr_reason reason = refuse_room(cluster, number, job, request);
  bool never = reason == HR_REASON_NONE && hr__within_never_fits(cluster, number, job, request);
  return never ? HR_REASON_NO_GROUP : reason;
}

/* A pool without nodes says nothing beside others that have some: it is as if it were not there. */
static bool counts(const struct hr_cluster *cluster, uint32_t pool) {
  return cluster->pools[pool].spec->nodes > 0 || cluster->n_nodes == 0;
}

enum hr_reason hr__cluster_never_fits(const struct hr_cluster *cluster, hr_job job) {
  const struct hr_request *request = request_of(cluster, job);
  if (!asks_for_a_node(cluster, job, request)) return HR_REASON_NONE;
  uint32_t accept_class = hr_cluster_accept_class(cluster, job);
  enum hr_reason nearest = HR_REASON_NO_GPU_TYPE;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    if (!counts(cluster, i)) continue;
    enum hr_reason reason = hr__accepts_refusal(&cluster->accepts, cluster->trace, job, accept_class, i);
    enum hr_reason refusal = refuse_empty(cluster, (hr_pool){i}, job, request);
    if (reason == HR_REASON_NONE && refusal == HR_REASON_NONE) return HR_REASON_NONE;
    if (nearness(reason) > nearness(HR_REASON_TOO_LARGE) && refusal != HR_REASON_NONE) reason = refusal;
    if (nearness(reason) > nearness(nearest)) nearest = reason;
  }
  return nearest;
}
