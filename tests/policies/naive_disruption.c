/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The slow model of Karpenter: nodes that are removed or replaced. See naive_karpenter.h. */

#include "naive_karpenter_model.h"

#include <string.h>

/* ---- Removal ---- */

/* Returns whether the budget applies now to removals for this reason. With `every_min`, it applies for `active_s`
   seconds from the minutes 0, every_min, 2 * every_min, ... of each hour on. */
static bool applies(const struct naive_model *model, const struct naive_node_pool *pool, enum naive_reason reason) {
  const int64_t now_s = model->now_us / S;
  if (!pool->limits[reason]) return false;
  if (pool->every_min == 0) return true;
  for (int64_t at_s = now_s; at_s > now_s - pool->active_s; at_s--)
    if (at_s % 60 == 0 && at_s / 60 % 60 % pool->every_min == 0) return true; /* at_s may be before the run */
  return false;
}

static int64_t allowed(const struct naive_model *model, uint32_t node_pool, enum naive_reason reason) {
  const struct naive_node_pool *pool = &model->world->node_pools[node_pool];
  int64_t booted = 0, closing = 0;
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    if (model->world->types[model->nodes[i].type].node_pool != node_pool) continue;
    booted += model->nodes[i].state == UP || model->nodes[i].state == CLOSES;
    closing += model->nodes[i].state == CLOSES;
  }
  if (!applies(model, pool, reason)) return NEVER;
  const int64_t most = pool->percent == UINT32_MAX ? pool->budget : (booted * pool->percent + 99) / 100;
  return most > closing ? most - closing : 0;
}

static bool is_empty(const struct naive_model *model, uint32_t at) {
  const struct naive_node *node = &model->nodes[at];
  const struct naive_node_pool *pool = &model->world->node_pools[model->world->types[node->type].node_pool];
  return node->state == UP && node->jobs == 0 && !node->is_needed && pool->removes_empty &&
         model->now_us - node->touched_us >= pool->after_us;
}

/* Chooses as many empty nodes as the budgets permit, the most expensive first. `only`: chooses only among the nodes
   that are chosen already. Returns whether a node was chosen. */
static bool choose(struct naive_model *model, bool only) {
  int64_t left[NAIVE_NODE_POOLS];
  bool lacks[NAIVE_PODS], may[NAIVE_CLAIMS], any = false;
  naive_find_lacking(model, lacks);
  for (uint32_t p = 0; p < model->world->n_node_pools; p++) left[p] = allowed(model, p, NAIVE_EMPTY);
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    may[i] = is_empty(model, i) && (!only || model->nodes[i].is_chosen);
    model->nodes[i].is_chosen = false;
  }
  for (;;) {
    uint32_t best = NAIVE_CLAIMS;
    int64_t highest = -1;
    for (uint32_t i = 0; i < model->n_nodes; i++) {
      const struct naive_type *type = &model->world->types[model->nodes[i].type];
      if (!may[i] || left[type->node_pool] < 1 || type->price_uusd_h * type->size <= highest) continue;
      best = i;
      highest = type->price_uusd_h * type->size;
    }
    if (best == NAIVE_CLAIMS) return any;
    may[best] = false;
    model->nodes[best].is_chosen = any = true;
    left[model->world->types[model->nodes[best].type].node_pool]--;
  }
}

/* ---- Nodes with jobs ---- */

static uint32_t node_pool_of(const struct naive_model *model, uint32_t at) {
  return model->world->types[model->nodes[at].type].node_pool;
}

/* Places the jobs of the nodes of a command on other nodes. Returns the GPUs of the jobs that could not be placed. */
static uint32_t left_over(const struct naive_model *model, const struct naive_command *command) {
  uint32_t room[NAIVE_CLAIMS], left = 0;
  for (uint32_t i = 0; i < model->n_nodes; i++) room[i] = model->nodes[i].state == UP ? model->nodes[i].room : 0;
  for (uint32_t k = 0; k < command->n; k++) room[command->nodes[k]] = 0;
  for (uint32_t k = 0; k < command->n; k++)
    for (uint32_t turn = model->n_starts; turn > 0; turn--) /* the job that started last is first */
      for (uint32_t i = 0; i < model->world->n_pods; i++) {
        const uint32_t gpus = model->world->pods[i].gpus;
        if (model->began_us[i] < 0 || model->turn[i] != turn || model->on[i] != command->nodes[k]) continue;
        uint32_t at = 0;
        while (at < model->n_nodes && room[at] < gpus) at++;
        if (at < model->n_nodes)
          room[at] -= gpus;
        else
          left += gpus;
      }
  return left;
}

/* Decides whether to delete or to replace the nodes of a command, which are of one node pool. */
static void decide(const struct naive_model *model, struct naive_command *command) {
  const struct naive_claims *world = model->world;
  const uint32_t left = left_over(model, command), p = node_pool_of(model, command->nodes[0]);
  const struct naive_plan plan = naive_new_plan(model);
  int64_t cost = 0, limit = NEVER;
  bool all_spot = true, any = false;
  command->acts = left == 0;
  command->replaces = command->as_spot = false;
  memset(command->sent, 0, sizeof command->sent);
  if (left == 0) return;
  for (uint32_t k = 0; k < command->n; k++) {
    cost += naive_price_of(model, model->nodes[command->nodes[k]].type);
    all_spot = all_spot && world->types[model->nodes[command->nodes[k]].type].is_spot;
  }
  if (command->reason == NAIVE_DRIFTED) cost = NEVER;
  for (uint32_t k = 0; k < world->n_types; k++)
    command->sent[k] = world->types[k].node_pool == p && world->types[k].size >= left &&
                       naive_price_of(model, k) < cost && model->now_us >= model->blocked_until_us[k] &&
                       naive_size_of(model, k) < world->types[k].nodes && plan.nodes_left[p] > 0 &&
                       plan.gpus_left[p] >= world->types[k].size;
  for (uint32_t k = 0; k < command->n && command->n > 1; k++) {
    const uint32_t type = model->nodes[command->nodes[k]].type;
    if (command->sent[type] && naive_price_of(model, type) < limit) limit = naive_price_of(model, type);
  }
  for (uint32_t k = 0; k < world->n_types; k++) {
    command->sent[k] = command->sent[k] && naive_price_of(model, k) < limit;
    any = any || command->sent[k];
    command->as_spot = command->as_spot || (command->sent[k] && world->types[k].is_spot);
  }
  if (command->reason == NAIVE_DRIFTED) command->as_spot = false; /* a drifted node may be replaced in any market */
  /* a single spot node would need 15 types that cost less, and there are only NAIVE_TYPES */
  if (command->as_spot && all_spot && (command->n == 1 || !world->spot_to_spot)) any = false;
  command->acts = command->replaces = any;
}

static bool may_consolidate(const struct naive_model *model, uint32_t at) {
  const struct naive_node *node = &model->nodes[at];
  const struct naive_node_pool *pool = &model->world->node_pools[node_pool_of(model, at)];
  return node->state == UP && node->jobs > 0 && !node->is_needed && pool->consolidates &&
         model->now_us - node->touched_us >= pool->after_us;
}

/* Lists the nodes of a node pool that may be removed. The nodes with the maximum savings per disrupted job and node are
   first. Returns their number. */
static uint32_t list_candidates(const struct naive_model *model, uint32_t p, uint32_t list[NAIVE_CLAIMS]) {
  bool is_listed[NAIVE_CLAIMS] = {false};
  for (uint32_t n = 0;; n++) {
    uint32_t best = NAIVE_CLAIMS;
    for (uint32_t i = 0; i < model->n_nodes; i++) {
      if (is_listed[i] || node_pool_of(model, i) != p || !may_consolidate(model, i)) continue;
      const struct naive_node *node = &model->nodes[i], *other = &model->nodes[best < NAIVE_CLAIMS ? best : i];
      if (best == NAIVE_CLAIMS ||
          naive_price_of(model, node->type) * (1 + other->jobs) > naive_price_of(model, other->type) * (1 + node->jobs))
        best = i;
    }
    if (best == NAIVE_CLAIMS) return n;
    is_listed[best] = true;
    list[n] = best;
  }
}

static bool find_underutilized(struct naive_model *model) {
  static struct naive_command best;
  for (uint32_t p = 0; p < model->world->n_node_pools; p++) {
    uint32_t list[NAIVE_CLAIMS];
    const uint32_t n = list_candidates(model, p, list);
    const int64_t most = allowed(model, p, NAIVE_UNDERUTILIZED);
    static struct naive_command command;
    best.acts = false;
    command.reason = NAIVE_UNDERUTILIZED;
    /* binary search for the longest prefix that can be removed; assumes that longer prefixes than an invalid one are
       also invalid */
    for (uint32_t low = 2, high = most < n ? (uint32_t)most : n; low <= high;) {
      command.n = (low + high) / 2;
      memcpy(command.nodes, list, sizeof list);
      decide(model, &command);
      if (command.acts) best = command;
      if (command.acts)
        low = command.n + 1;
      else
        high = command.n - 1;
    }
    for (uint32_t i = 0; i < n && most > 0 && !best.acts; i++) {
      command.n = 1;
      command.nodes[0] = list[i];
      decide(model, &command);
      if (command.acts) best = command;
    }
    if (!best.acts) continue;
    model->command = best;
    return true;
  }
  return false;
}

static int64_t drifted_us(const struct naive_model *model, uint32_t at) {
  const struct naive_node_pool *pool = &model->world->node_pools[node_pool_of(model, at)];
  int64_t first_us = NEVER;
  for (uint32_t k = 0; k < NAIVE_DRIFTS; k++)
    if (pool->drifts_us[k] > model->nodes[at].asked_us && pool->drifts_us[k] <= model->now_us &&
        pool->drifts_us[k] < first_us)
      first_us = pool->drifts_us[k];
  return first_us;
}

static bool find_drifted(struct naive_model *model) {
  static struct naive_command command;
  bool is_done[NAIVE_CLAIMS] = {false};
  for (;;) {
    uint32_t best = NAIVE_CLAIMS;
    for (uint32_t i = 0; i < model->n_nodes; i++) {
      if (is_done[i] || model->nodes[i].state != UP || drifted_us(model, i) == NEVER) continue;
      const bool is_empty = model->nodes[i].jobs == 0, other_is = best < NAIVE_CLAIMS && model->nodes[best].jobs == 0;
      if (best == NAIVE_CLAIMS || (is_empty && !other_is) ||
          (is_empty == other_is && drifted_us(model, i) < drifted_us(model, best)))
        best = i;
    }
    if (best == NAIVE_CLAIMS) return false;
    is_done[best] = true;
    if (model->nodes[best].is_needed || allowed(model, node_pool_of(model, best), NAIVE_DRIFTED) < 1) continue;
    command = (struct naive_command){.reason = NAIVE_DRIFTED, .nodes = {best}, .n = 1};
    decide(model, &command);
    if (!command.acts) continue;
    model->command = command;
    return true;
  }
}

/* Deletes the nodes of the command, or requests a node that replaces them. Returns whether this was possible. */
static bool execute(struct naive_model *model) {
  const struct naive_command *command = &model->command;
  uint32_t at = NAIVE_CLAIMS;
  bool may[NAIVE_TYPES];
  for (uint32_t k = 0; k < NAIVE_TYPES; k++)
    may[k] = command->sent[k] && (!command->as_spot || model->world->types[k].is_spot);
  if (command->replaces && (at = naive_launch(model, may)) == NAIVE_CLAIMS) return false;
  for (uint32_t i = 0; i < command->n; i++) {
    struct naive_node *node = &model->nodes[command->nodes[i]];
    if (command->replaces) {
      node->state = CLOSES;
      node->waits_for = at + 1;
    } else {
      naive_remove_node(model, command->nodes[i]);
      model->world->types[node->type].removals++;
    }
  }
  if (command->replaces)
    model->world->n_replaced[command->reason]++;
  else
    model->world->n_moved[command->reason]++;
  return true;
}

static bool is_still_valid(struct naive_model *model) {
  struct naive_command *old = &model->command;
  static struct naive_command command;
  bool lacks[NAIVE_PODS];
  naive_find_lacking(model, lacks);
  command = *old;
  decide(model, &command);
  bool same = command.acts && command.replaces == old->replaces && command.as_spot == old->as_spot &&
              allowed(model, node_pool_of(model, old->nodes[0]), NAIVE_UNDERUTILIZED) >= old->n;
  for (uint32_t i = 0; i < old->n; i++) same = same && may_consolidate(model, old->nodes[i]);
  for (uint32_t k = 0; k < NAIVE_TYPES; k++) same = same && (!old->sent[k] || command.sent[k]);
  return same;
}

/* ---- Passes ---- */

void naive_pass(struct naive_model *model) {
  for (;;) {
    if (choose(model, false)) {
      model->command.reason = NAIVE_EMPTY;
      break;
    }
    if (find_drifted(model)) {
      if (execute(model)) continue;
      return;
    }
    if (!find_underutilized(model)) return;
    break;
  }
  model->validate_us = model->now_us + 15 * S;
}

void naive_validate(struct naive_model *model) {
  model->validate_us = NEVER;
  model->base_us = model->now_us;
  if (model->command.reason == NAIVE_UNDERUTILIZED) {
    if (is_still_valid(model) && execute(model)) naive_pass(model);
    return;
  }
  if (!choose(model, true)) return;
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    if (!model->nodes[i].is_chosen) continue;
    naive_remove_node(model, i);
    model->world->types[model->nodes[i].type].removals++;
    model->world->n_moved[NAIVE_EMPTY]++;
  }
  naive_pass(model);
}
