/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which nodes Karpenter removes: empty ones, as many as the budgets allow, the most expensive first; if there are none,
 * those of karpenter_consolidation.c. A node is empty if it has no job, none for some time, and no waiting job would
 * use it.
 *
 * Invariant: what a command removes is within the budgets, both when it is found and when it is carried out. Source:
 * kubernetes-sigs/karpenter, pkg/controllers/disruption, at 22664681.
 */

#include "sim/market/karpenter_nodes.h"

static uint32_t pool_of(const struct hr__engine *engine, uint32_t node) {
  return hr__cluster_pool_of(&engine->cluster, (hr_node){node}).id;
}

/* Returns the present time in seconds since 1970 UTC; without dates, the clock of the trace begins there. */
static int64_t utc_s(const struct hr__engine *engine) {
  const int64_t us = engine->trace->origin_us + engine->view.now_us;
  return us / HR_SECOND_US - (us % HR_SECOND_US < 0);
}

void hr__karpenter_note_times(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  const int64_t now_s = utc_s(engine);
  for (uint32_t i = 0; i < loop->first_budget[self->spec->n_node_pools]; i++) {
    const int64_t until_s = hr__karpenter_constant_until(&loop->budgets[i], now_s);
    if (until_s < HR_NEVER_US / HR_SECOND_US)
      hr__karpenter_pass_is_due(loop, until_s * HR_SECOND_US - engine->trace->origin_us);
  }
}

void hr__karpenter_set_budgets_left(struct hr__engine *engine, enum hr__karpenter_reason reason) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  for (uint32_t i = 0; i < self->spec->n_node_pools; i++) {
    int64_t booted = 0, leaving = 0;
    for (uint32_t k = 0; k < engine->cluster.n_pools; k++) {
      const struct hr__pool *pool = &engine->cluster.pools[k];
      if (loop->node_pool[k] != i) continue;
      booted += (int64_t)pool->n_in[HR_NODE_UP] + pool->n_in[HR_NODE_CLOSING];
      leaving += pool->n_in[HR_NODE_CLOSING];
    }
    const uint32_t first = loop->first_budget[i], n = loop->first_budget[i + 1] - first;
    const int64_t allowed = hr__karpenter_allowed_for(&loop->budgets[first], n, reason, booted, utc_s(engine));
    loop->budget_left[i] = hr__karpenter_left(allowed, leaving);
  }
}

bool hr__karpenter_may_remove(struct hr__engine *engine, uint32_t node) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  const uint32_t number = loop->node_pool[pool_of(engine, node)];
  if (number == HR_NONE || engine->cluster.nodes[node].state != HR_NODE_UP) return false;
  const struct hr_node_pool *spec = &self->spec->node_pools[number];
  if (spec->consolidation == HR_CONSOLIDATION_NEVER) return false;
  const int64_t now_us = engine->view.now_us;
  if (now_us - loop->touched_us[node] >= spec->consolidate_after_us) return true;
  if (spec->consolidate_after_us < HR_NEVER_US - now_us)
    hr__karpenter_pass_is_due(loop, loop->touched_us[node] + spec->consolidate_after_us);
  return false;
}

static bool is_empty(struct hr__engine *engine, uint32_t node) {
  const struct hr__autoscaler *self = engine->autoscaler;
  return self->n_tasks[node] == 0 && !self->room[node].is_needed && hr__karpenter_may_remove(engine, node);
}

bool hr__karpenter_take_budget(struct hr__engine *engine, uint32_t node) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  int64_t *left = &loop->budget_left[loop->node_pool[pool_of(engine, node)]];
  if (*left <= 0) return false;
  --*left;
  return true;
}

bool hr__karpenter_find_command(struct hr__engine *engine) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  struct hr__karpenter_world world = {.nodes = loop->nodes, .order = loop->order};
  hr__node_demand_find(engine);
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++) {
    if (!is_empty(engine, i)) continue;
    loop->node_id[world.n_nodes] = i;
    loop->nodes[world.n_nodes++] = (struct hr__karpenter_node){.price = hr__karpenter_price(engine, pool_of(engine, i)),
                                                               .disruption = HR__KARPENTER_NODE_DISRUPTION,
                                                               .is_candidate = true};
  }
  const uint32_t n = hr__karpenter_order(&world);
  if (n > 0) hr__karpenter_note_times(engine);
  hr__karpenter_set_budgets_left(engine, HR__KARPENTER_EMPTY);
  loop->n_command = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t node = loop->node_id[loop->order[i]];
    if (hr__karpenter_take_budget(engine, node)) loop->command[loop->n_command++] = node;
  }
  loop->reason = HR__KARPENTER_EMPTY;
  return loop->n_command > 0 || hr__karpenter_find_drifted(engine) || hr__karpenter_find_underutilized(engine);
}

enum hr_status hr__karpenter_carry_out(struct hr__engine *engine, bool *any) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  enum hr_status status = HR_OK;
  hr__node_demand_find(engine);
  if (loop->reason == HR__KARPENTER_DRIFTED) return hr__karpenter_execute(engine, any);
  if (loop->reason == HR__KARPENTER_UNDERUTILIZED) return hr__karpenter_consolidate_now(engine, any);
  hr__karpenter_set_budgets_left(engine, HR__KARPENTER_EMPTY);
  for (uint32_t i = 0; i < loop->n_command && status == HR_OK; i++) {
    const uint32_t node = loop->command[i], pool = pool_of(engine, node);
    if (!is_empty(engine, node) || !hr__karpenter_take_budget(engine, node)) continue;
    status = hr__market_take_down(engine, (hr_pool){pool}, (hr_node){node}, HR_REASON_SCALED_DOWN);
    engine->pool_accounting[pool].removals++;
    *any = self->has_acted = true;
  }
  return status;
}
