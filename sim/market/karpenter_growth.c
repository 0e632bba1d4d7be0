/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes that Karpenter requests for waiting jobs. The jobs that no node can take are placed on planned nodes, in the
 * order of their kinds (node_demand.c); each planned node is then requested from the cheapest pool that it may be in.
 * If that pool has no capacity, it is not tried again for some time, and the next one is tried.
 *
 * Invariant: a node pool stays within its limits. Source: see sim/clusters/karpenter.h.
 */

#include "sim/market/karpenter_nodes.h"

double hr__karpenter_price(const struct hr__engine *engine, uint32_t pool) {
  const int64_t uusd_h = hr_cluster_price_uusd_h(&engine->cluster, (hr_pool){pool}, engine->view.now_us);
  return (double)uusd_h * (double)engine->cluster.pools[pool].spec->gpus_per_node * 1e-6;
}

/* ---- Options and limits ----------------------------------------------------------------------------------- */

static int64_t limit_of(int64_t limit, int64_t factor) {
  return limit == INT64_MAX ? limit : limit * factor;
}

static void set_limits(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  for (uint32_t i = 0; i < self->spec->n_node_pools; i++) {
    const struct hr_node_pool *spec = &self->spec->node_pools[i];
    struct hr__karpenter_node_pool *limit = &loop->limits[i];
    *limit = (struct hr__karpenter_node_pool){
        .weight = spec->weight,
        .left = {{[HR__CPU_M] = spec->max_cpu_milli,
                  [HR__MEMORY_BYTES] = limit_of(spec->max_mem_mib, 1048576),
                  [HR__GPUS] = spec->max_gpus == UINT32_MAX ? INT64_MAX : (int64_t)spec->max_gpus * 1000}},
        .nodes_left = spec->max_nodes == UINT32_MAX ? INT64_MAX : spec->max_nodes};
  }
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    if (loop->node_pool[i] == HR_NONE) continue;
    struct hr__karpenter_node_pool *limit = &loop->limits[loop->node_pool[i]];
    const int64_t size = hr__scaled_size(&engine->cluster.pools[i]);
    if (limit->nodes_left != INT64_MAX) limit->nodes_left -= size;
    for (int k = 0; k < HR__N_AMOUNTS; k++)
      if (limit->left.of[k] != INT64_MAX) limit->left.of[k] -= size * self->pools[i].node.of[k];
  }
}

void hr__karpenter_set_options(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    loop->options[i] = (struct hr__karpenter_option){.node_pool = loop->node_pool[i]};
    if (loop->node_pool[i] == HR_NONE) continue;
    loop->options[i] =
        (struct hr__karpenter_option){.size = self->pools[i].node,
                                      .price = hr__karpenter_price(engine, i),
                                      .node_pool = loop->node_pool[i],
                                      .is_spot = engine->cluster.pools[i].spec->market.market == HR_MARKET_SPOT,
                                      .is_available = engine->view.now_us >= loop->unavailable_until_us[i],
                                      .room = hr__nodes_allowed(engine, i)};
  }
  set_limits(engine);
}

/* ---- Requests --------------------------------------------------------------------------------------------- */

enum hr_status hr__karpenter_launch(struct hr__engine *engine, const bool *may, hr_node *node) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  const uint32_t n_pools = engine->cluster.n_pools;
  const bool is_spot = hr__karpenter_buys_spot(loop->options, may, n_pools);
  *node = (hr_node){HR_NONE};
  for (;;) {
    const uint32_t pool = hr__karpenter_cheapest(loop->options, may, n_pools, is_spot);
    if (pool == HR_NONE) return HR_OK;
    const enum hr_status status = hr__node_request(engine, pool, node);
    if (status != HR_OK) return status;
    if (node->id == HR_NONE) {
      engine->pool_accounting[pool].scale_failures++;
      loop->unavailable_until_us[pool] = engine->view.now_us + self->spec->unavailable_us;
      loop->options[pool].is_available = false;
      continue;
    }
    self->has_acted = true;
    /* the quotas may concern several pools */
    for (uint32_t i = 0; i < n_pools; i++)
      if (loop->node_pool[i] != HR_NONE) loop->options[i].room = hr__nodes_allowed(engine, i);
    const int64_t expire_us = self->spec->node_pools[loop->node_pool[pool]].expire_us;
    const int64_t now_us = engine->view.now_us;
    enum hr_status timer = HR_OK;
    if (expire_us < HR_NEVER_US - now_us)
      timer = hr__schedule(engine, now_us + expire_us, HR__PENDING_SCAN, HR__KARPENTER_NODE + node->id);
    if (timer != HR_OK || self->spec->provision_us >= HR_NEVER_US - now_us) return timer;
    return hr__schedule(engine, now_us + self->spec->provision_us, HR__PENDING_SCAN, HR__KARPENTER_NODE + node->id);
  }
}

/* ---- Plans ------------------------------------------------------------------------------------------------ */

/* Sets the pods of a job by pool; `part`: those that a job lacks which has some of its nodes. */
static void set_pods(struct hr__engine *engine, const struct hr__pod_kind *kind, bool part) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    struct hr__karpenter_pods *pods = &loop->pods[i];
    *pods = (struct hr__karpenter_pods){0};
    if (loop->node_pool[i] == HR_NONE || !hr__pod_kind_suits(engine, kind, i)) continue;
    if (part && kind->part_pool != i) continue;
    const struct hr__pod_rows rows = hr__pod_kind_rows(engine, kind, i);
    uint32_t n = 0;
    for (uint32_t k = 0; k < rows.n_rows; k++) {
      const uint32_t count = part ? kind->part_left[k] : rows.row[k].count;
      if (count == 0) continue;
      pods->request[n] = rows.row[k].request;
      pods->count[n++] = count;
    }
  }
}

static bool has_one_pod(const struct hr__engine *engine) {
  const struct hr__karpenter_pods *pods = engine->autoscaler->karpenter->pods;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    if (pods[i].count[0] + pods[i].count[1] > 1) return false;
  return true;
}

static void plan_kind(struct hr__engine *engine, struct hr__karpenter_plan *plan, const struct hr__pod_kind *kind) {
  const struct hr__karpenter_pods *pods = engine->autoscaler->karpenter->pods;
  uint32_t left = kind->n_left;
  if (kind->part_pool != HR_NONE) {
    set_pods(engine, kind, true);
    hr__karpenter_place_job(plan, pods);
    left--;
  }
  set_pods(engine, kind, false);
  const bool is_single = has_one_pod(engine);
  while (left > 0 && (is_single ? hr__karpenter_place_pod(plan, pods) : hr__karpenter_place_job(plan, pods))) left--;
}

enum hr_status hr__karpenter_grow(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  enum hr_status status = HR_OK;
  if (!hr__node_demand_find(engine)) return HR_OK;
  hr__karpenter_set_options(engine);
  struct hr__karpenter_plan plan = {.options = loop->options,
                                    .n_options = engine->cluster.n_pools,
                                    .node_pools = loop->limits,
                                    .n_node_pools = self->spec->n_node_pools};
  for (uint32_t i = self->first_kind; i != HR_NONE; i = self->kinds[i].next)
    if (self->kinds[i].n_left > 0) plan_kind(engine, &plan, &self->kinds[i]);
  for (uint32_t i = 0; i < plan.n_nodes && status == HR_OK && !plan.lacks_memory; i++) {
    hr_node node;
    status = hr__karpenter_launch(engine, &plan.may[(size_t)i * plan.n_options], &node);
  }
  self->lacks_memory = self->lacks_memory || plan.lacks_memory;
  hr__karpenter_plan_finish(&plan);
  return status;
}
