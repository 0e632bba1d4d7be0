/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes that Karpenter replaces because the template of their node pool has changed since they were requested: drift.
 * A pass takes one of them, empty ones first, then the one that drifted first. Its jobs must fit on other nodes and on
 * at most one new node, at any price; the command is carried out at once, and the next pass follows at once.
 *
 * Invariant: what a command removes is within the budgets. Source: kubernetes-sigs/karpenter,
 * pkg/controllers/disruption (drift.go, controller.go).
 */

#include "sim/market/karpenter_nodes.h"

static uint32_t node_pool_of(const struct hr__engine *engine, uint32_t node) {
  return engine->autoscaler->karpenter->node_pool[hr__cluster_pool_of(&engine->cluster, (hr_node){node}).id];
}

int64_t hr__karpenter_drifted_us(const struct hr__engine *engine, uint32_t node) {
  const uint32_t number = node_pool_of(engine, node);
  if (number == HR_NONE) return HR_NEVER_US;
  const struct hr_node_pool *spec = &engine->autoscaler->spec->node_pools[number];
  int64_t first_us = HR_NEVER_US;
  for (uint32_t i = 0; i < spec->n_drifts; i++) {
    const int64_t at_us = spec->drifts_us[i];
    if (at_us > engine->cluster.nodes[node].since_us && at_us <= engine->view.now_us && at_us < first_us)
      first_us = at_us;
  }
  return first_us;
}

/* Notes when the template of a node pool changes next. */
static bool note_drifts(struct hr__engine *engine) {
  const struct hr_autoscaler_spec *spec = engine->autoscaler->spec;
  bool any = false;
  for (uint32_t i = 0; i < spec->n_node_pools; i++)
    for (uint32_t k = 0; k < spec->node_pools[i].n_drifts; k++) {
      any = true;
      if (spec->node_pools[i].drifts_us[k] > engine->view.now_us)
        hr__karpenter_pass_is_due(engine->autoscaler->karpenter, spec->node_pools[i].drifts_us[k]);
    }
  return any;
}

/* Lists the nodes that have drifted, in the order in which they are tried. Returns their number. */
static uint32_t list_drifted(struct hr__engine *engine) {
  const struct hr__autoscaler *self = engine->autoscaler;
  uint32_t n = 0, *list = self->karpenter->command;
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++) {
    if (engine->cluster.nodes[i].state != HR_NODE_UP) continue;
    const int64_t at_us = hr__karpenter_drifted_us(engine, i);
    if (at_us == HR_NEVER_US) continue;
    uint32_t at = n++;
    for (; at > 0; at--) {
      const bool is_empty = self->n_tasks[i] == 0, other_is_empty = self->n_tasks[list[at - 1]] == 0;
      if (is_empty == other_is_empty ? at_us >= hr__karpenter_drifted_us(engine, list[at - 1]) : other_is_empty) break;
      list[at] = list[at - 1];
    }
    list[at] = i;
  }
  return n;
}

/* Returns the number of a node in the world if it may go; HR_NONE: it must not. */
static uint32_t candidate_at(const struct hr__karpenter_loop *loop, const struct hr__karpenter_world *world,
                             uint32_t node) {
  for (uint32_t i = 0; i < world->n_nodes; i++)
    if (loop->node_id[i] == node) return world->nodes[i].is_candidate ? i : HR_NONE;
  return HR_NONE;
}

bool hr__karpenter_find_drifted(struct hr__engine *engine) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  if (!note_drifts(engine)) return false;
  const uint32_t n = list_drifted(engine);
  if (n == 0) return false;
  hr__karpenter_note_times(engine);
  hr__karpenter_note_offerings(engine);
  hr__karpenter_set_budgets_left(engine, HR__KARPENTER_DRIFTED);
  struct hr__karpenter_world world = {.nodes = NULL};
  uint32_t described = HR_NONE;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t node = loop->command[i], number = node_pool_of(engine, node);
    if (loop->budget_left[number] <= 0) continue;
    if (number != described) world = hr__karpenter_describe(engine, number, HR__KARPENTER_DRIFTED);
    described = number;
    if (engine->autoscaler->lacks_memory || !world.order) return false;
    world.order[0] = candidate_at(loop, &world, node);
    if (world.order[0] == HR_NONE) continue;
    const struct hr__karpenter_command command = hr__karpenter_try(&world, 0, 1);
    if (command.action == HR__KARPENTER_NOTHING) continue;
    hr__karpenter_store(engine, &world, &command, HR__KARPENTER_DRIFTED);
    return true;
  }
  return false;
}
