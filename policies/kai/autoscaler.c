/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests and releases nodes of elastic pools, like a cluster autoscaler that is used together with KAI.
 *
 * After a cycle, jobs that still wait and are within the limits of their queues are packed, in their order, on the
 * nodes that are booting (virtual nodes). If a job does not fit, nodes of the cheapest pool are requested. A gang may
 * also use the idle capacity of a pool, but only one gang per pool and pass. Packing only estimates how many nodes are
 * needed; it starts no jobs. A node that has had no pods for `idle_release_us` is released if no nodes of its pool are
 * booting. Invariant: `idle_us[n]` is the time since which node n has had no pods.
 *
 * Source: Kubernetes cluster-autoscaler (scale-up by bin packing of pending pods, scale-down-unneeded-time).
 */

#include "headroom/unstable/clusters.h"
#include "policies/kai/world.h"

#include <string.h>

bool hr__kai_autoscaler_create(struct hr__kai_autoscaler *scaler, struct hr__kai_world *world,
                               int64_t idle_release_us) {
  const size_t n = world->cluster.n_nodes;
  *scaler = (struct hr__kai_autoscaler){.world = world, .idle_release_us = idle_release_us};
  if (!HR__ARENA_ARRAY(world->arena, scaler->idle_us, n) || !HR__ARENA_ARRAY(world->arena, scaler->pools, n) ||
      !HR__ARENA_ARRAY(world->arena, scaler->left, n * world->cluster.n_dims) ||
      !HR__ARENA_ARRAY(world->arena, scaler->idle_used, world->n_pools) ||
      !HR__ARENA_ARRAY(world->arena, scaler->held, world->cluster.n_queues))
    return false;
  for (uint32_t i = 0; i < world->cluster.n_nodes; i++) scaler->idle_us[i] = HR_NEVER_US;
  return true;
}

static bool is_elastic(const struct hr__kai_world *world, uint32_t pool) {
  return hr_market_is_elastic(hr_cluster_pool_spec(world->simulated, (hr_pool){pool})->market.market);
}

bool hr__kai_has_elastic(const struct hr__kai_world *world) {
  if (hr_cluster_is_autoscaled(world->simulated)) return false;
  bool found = false;
  for (uint32_t p = 0; p < world->n_pools; p++) found = found || is_elastic(world, p);
  return found;
}

/* ---- Packing ------------------------------------------------------------------------------------------- */

/* Adds `n` empty virtual nodes of a pool. */
static void add_virtual(struct hr__kai_autoscaler *scaler, uint32_t pool, uint32_t n) {
  const struct hr__kai_world *world = scaler->world;
  const uint32_t n_dims = world->cluster.n_dims;
  for (; n > 0 && scaler->n_virtual < world->cluster.n_nodes; n--) {
    memcpy(scaler->left + (size_t)scaler->n_virtual * n_dims, world->node_amounts[pool], n_dims * sizeof(int64_t));
    scaler->pools[scaler->n_virtual++] = pool;
  }
}

static void take(const struct hr__kai_world *world, const struct hr__kai_kind *kind, int64_t *left, int64_t n) {
  for (uint32_t d = 0; d < world->cluster.n_dims; d++) left[d] -= n * kind->amounts[d];
  if (kind->pod.kind != HR__KAI_FRACTION) return;
  const int64_t part = llround(kind->pod.portion * 100), on_each = part > 0 && part < 100 ? 100 / part : 1;
  left[HR__KAI_DIM_GPUS] -= (n + on_each - 1) / on_each * kind->pod.n_devices;
}

/* The number of pods of the kind that fit on idle resources of a pool. */
static int64_t idle_pods(const struct hr__kai_world *world, const struct hr__kai_kind *kind, uint32_t pool) {
  const uint32_t first = hr_cluster_first_node(world->simulated, (hr_pool){pool}).id;
  int64_t n = 0;
  for (uint32_t i = first; i < first + hr_cluster_pool_spec(world->simulated, (hr_pool){pool})->nodes; i++)
    n += hr__kai_pods_in(world, kind, world->session->idle + (size_t)i * world->cluster.n_dims);
  return n;
}

/* Packs `n` pods on the virtual nodes of a pool; with `really` false, only counts. Returns the number of pods that do
   not fit. */
static int64_t pack(struct hr__kai_autoscaler *scaler, const struct hr__kai_kind *kind, uint32_t pool, int64_t n,
                    bool really) {
  for (uint32_t i = 0; i < scaler->n_virtual && n > 0; i++) {
    if (scaler->pools[i] != pool) continue;
    int64_t *left = scaler->left + (size_t)i * scaler->world->cluster.n_dims,
            fits = hr__kai_pods_in(scaler->world, kind, left);
    if (fits > n) fits = n;
    if (really) take(scaler->world, kind, left, fits);
    n -= fits;
  }
  return n;
}

/* The number of pods of a job that fit neither on idle nor on virtual nodes of a pool. */
static int64_t lacking_in(struct hr__kai_autoscaler *scaler, const struct hr__kai_kind *kind, uint32_t pool) {
  int64_t n = kind->n_pods;
  if (n > 1 && !scaler->idle_used[pool]) n -= idle_pods(scaler->world, kind, pool);
  return n > 0 ? pack(scaler, kind, pool, n, false) : 0;
}

/* The cheapest pool that can supply the nodes for a job; HR_NONE: none. `nodes`: the number of nodes to request. */
static uint32_t choose_pool(struct hr__kai_autoscaler *scaler, const struct hr__kai_kind *kind, int64_t now_us,
                            uint32_t *nodes) {
  const struct hr__kai_world *world = scaler->world;
  uint32_t best = HR_NONE;
  int64_t best_price = INT64_MAX;
  for (uint32_t p = 0; p < world->n_pools; p++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(world->simulated, (hr_pool){p});
    if (spec->nodes == 0 || !kind->allowed_nodes[hr_cluster_first_node(world->simulated, (hr_pool){p}).id]) continue;
    const int64_t lacking = lacking_in(scaler, kind, p), on_each = hr__kai_pods_in(world, kind, world->node_amounts[p]);
    if (lacking > 0 && (!is_elastic(world, p) || on_each == 0)) continue;
    const int64_t needed = lacking > 0 ? (lacking + on_each - 1) / on_each : 0;
    if (needed > (int64_t)hr_cluster_offer(world->simulated, (hr_pool){p})) continue;
    const int64_t price = needed == 0 ? 0 : hr_cluster_price_uusd_h(world->simulated, (hr_pool){p}, now_us);
    if (price >= best_price) continue;
    best = p;
    best_price = price;
    *nodes = (uint32_t)needed;
  }
  return best;
}

/* ---- Requests ------------------------------------------------------------------------------------------ */

/* Whether the limits and quotas of its queues allow the job in addition to the jobs that will get capacity. If so, adds
   its request to theirs. */
static bool is_allowed(struct hr__kai_autoscaler *scaler, uint32_t slot) {
  const struct hr__kai_world *world = scaler->world;
  const struct hr__kai_job *job = &world->jobs[slot];
  struct hr__kai_amounts request = {{0}};
  for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++) hr__kai_add(&request, &world->pods[p].quota);
  for (uint32_t q = job->queue; q != HR__KAI_NONE; q = world->queues[q].parent) {
    struct hr__kai_amounts sum = scaler->held[q];
    hr__kai_add(&sum, &request);
    if (hr__kai_over_limit(&world->queues[q], &sum)) return false;
    if (!job->preemptible && hr__kai_over_quota(&world->queues[q], &sum)) return false;
  }
  for (uint32_t q = job->queue; q != HR__KAI_NONE; q = world->queues[q].parent) hr__kai_add(&scaler->held[q], &request);
  return true;
}

/* Marks the nodes of a pool that have booted in no time as up. Returns whether there are any. */
static bool bring_up(struct hr__kai_world *world, uint32_t pool) {
  const uint32_t first = hr_cluster_first_node(world->simulated, (hr_pool){pool}).id;
  bool some = false;
  for (uint32_t n = first; n < first + hr_cluster_pool_spec(world->simulated, (hr_pool){pool})->nodes; n++) {
    if (world->is_up[n] || hr_cluster_node_state(world->simulated, (hr_node){n}) != HR_NODE_UP) continue;
    hr__kai_set_up(world, n, true);
    some = true;
  }
  return some;
}

static enum hr_status request_for(struct hr__kai_autoscaler *scaler, uint32_t slot, const struct hr_view *view,
                                  struct hr_moves *moves, bool *some_up) {
  struct hr__kai_world *world = scaler->world;
  const struct hr__kai_kind *kind = &world->kinds[world->kind_of[slot]];
  uint32_t nodes = 0;
  const uint32_t pool = choose_pool(scaler, kind, view->now_us, &nodes);
  if (pool == HR_NONE) return HR_OK;
  int64_t n = kind->n_pods;
  if (n > 1 && !scaler->idle_used[pool]) {
    n -= idle_pods(world, kind, pool);
    scaler->idle_used[pool] = true;
  }
  enum hr_status status = nodes > 0 ? hr_moves_acquire(moves, (hr_pool){pool}, nodes) : HR_OK;
  if (status != HR_OK) return status;
  add_virtual(scaler, pool, nodes);
  if (n > 0) (void)pack(scaler, kind, pool, n, true);
  if (nodes > 0 && bring_up(world, pool)) *some_up = true;
  return HR_OK;
}

enum hr_status hr__kai_request_nodes(struct hr__kai_autoscaler *scaler, const struct hr_view *view,
                                     struct hr_moves *moves, bool *some_up) {
  struct hr__kai_world *world = scaler->world;
  *some_up = false;
  scaler->n_virtual = 0;
  for (uint32_t q = 0; q < world->cluster.n_queues; q++) scaler->held[q] = (struct hr__kai_amounts){{0}};
  for (uint32_t p = 0; p < world->n_pools; p++) {
    scaler->idle_used[p] = false;
    if (is_elastic(world, p))
      add_virtual(scaler, p, hr_cluster_nodes_in(world->simulated, (hr_pool){p}, HR_NODE_BOOTING));
  }
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < world->n_waiting && status == HR_OK; i++)
    if (is_allowed(scaler, world->waiting[i])) status = request_for(scaler, world->waiting[i], view, moves, some_up);
  return status;
}

/* ---- Releases ------------------------------------------------------------------------------------------ */

/* Whether no pod is on the node. */
static bool is_empty(const struct hr__kai_world *world, uint32_t node) {
  const size_t cell = (size_t)node * world->cluster.n_dims + HR__KAI_DIM_PODS;
  return world->session->idle[cell] == world->nodes[node].allocatable[HR__KAI_DIM_PODS];
}

enum hr_status hr__kai_release_nodes(struct hr__kai_autoscaler *scaler, const struct hr_view *view,
                                     struct hr_moves *moves, int64_t *next_us) {
  struct hr__kai_world *world = scaler->world;
  enum hr_status status = HR_OK;
  *next_us = HR_NEVER_US;
  for (uint32_t n = 0; n < world->cluster.n_nodes && status == HR_OK; n++) {
    const hr_pool pool = {world->pool_of[n]};
    if (!is_elastic(world, pool.id) || !world->is_up[n] || !is_empty(world, n)) {
      scaler->idle_us[n] = HR_NEVER_US;
      continue;
    }
    if (scaler->idle_us[n] == HR_NEVER_US) scaler->idle_us[n] = view->now_us;
    if (hr_cluster_nodes_in(world->simulated, pool, HR_NODE_BOOTING) > 0) continue;
    const int64_t end_us = scaler->idle_us[n] + scaler->idle_release_us;
    if (view->now_us < end_us) {
      if (end_us < *next_us) *next_us = end_us;
      continue;
    }
    status = hr_moves_release(moves, (hr_node){n});
    hr__kai_set_up(world, n, false);
    scaler->idle_us[n] = HR_NEVER_US;
  }
  return status;
}
