/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which nodes Karpenter removes: empty ones, as many as the budgets allow, the most expensive first; if there are none,
 * one that has drifted; otherwise nodes with jobs that fit on other nodes, or that one cheaper node can replace.
 *
 * A node is empty if it has no job, none for some time, and no waiting job would use it. It has drifted if the template
 * of its node pool has changed since it was requested. A pass takes one such node, empty ones first, then the one that
 * drifted first. Its jobs must fit on other nodes and on at most one new node, at any price; the command is carried out
 * at once, and the next pass follows at once. The decisions about nodes with jobs are those of hr__karpenter_try; this
 * file describes the nodes of one node pool to it, with the room of all others, and carries out its command. A
 * replacement is requested first; the nodes that it replaces are closed, and go when it has booted.
 *
 * Layout: each elastic pool is an instance type with one offering, and each job of a node one pod. A job with several
 * nodes holds them. Invariants: a node that awaits a replacement is closed; what a command removes is within the
 * budgets, both when it is found and when it is carried out. Source: kubernetes-sigs/karpenter,
 * pkg/controllers/disruption (multinodeconsolidation.go, singlenodeconsolidation.go, drift.go, controller.go,
 * queue.go), at 22664681.
 */

#include "base/containers.h"
#include "sim/market/autoscaler.h"

static uint32_t pool_of(const struct hr__engine *engine, uint32_t node) {
  return hr__cluster_pool_of(&engine->cluster, (hr_node){node}).id;
}

static uint32_t node_pool_of(const struct hr__engine *engine, uint32_t node) {
  return engine->autoscaler->karpenter->node_pool[pool_of(engine, node)];
}

/* Returns when the template of a node has first changed since it was requested; HR_NEVER_US: not yet. */
static int64_t drifted_us(const struct hr__engine *engine, uint32_t node) {
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

/* ---- Budgets and times -------------------------------------------------------------------------------------- */

/* Returns the present time in seconds since 1970 UTC; without dates, the clock of the trace begins there. */
static int64_t utc_s(const struct hr__engine *engine) {
  const int64_t us = engine->trace->origin_us + engine->view.now_us;
  return us / HR_SECOND_US - (us % HR_SECOND_US < 0);
}

/* The pass may decide otherwise at this time. */
static void pass_is_due(struct hr__karpenter_loop *loop, int64_t at_us) {
  if (at_us < loop->due_us) loop->due_us = at_us;
}

/* Notes when a budget begins or ceases to apply: then a command may be found without a change. */
static void note_times(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  const int64_t now_s = utc_s(engine);
  for (uint32_t i = 0; i < loop->first_budget[self->spec->n_node_pools]; i++) {
    const int64_t until_s = hr__karpenter_constant_until(&loop->budgets[i], now_s);
    if (until_s < HR_NEVER_US / HR_SECOND_US) pass_is_due(loop, until_s * HR_SECOND_US - engine->trace->origin_us);
  }
}

/* Sets how many nodes of each node pool may be removed for a reason. */
static void set_budgets_left(struct hr__engine *engine, enum hr__karpenter_reason reason) {
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

/* Whether a node may be removed now according to the policy of its node pool. Notes when it may be. */
static bool may_remove(struct hr__engine *engine, uint32_t node) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  const uint32_t number = loop->node_pool[pool_of(engine, node)];
  if (number == HR_NONE || engine->cluster.nodes[node].state != HR_NODE_UP) return false;
  const struct hr_node_pool *spec = &self->spec->node_pools[number];
  if (spec->consolidation == HR_CONSOLIDATION_NEVER) return false;
  const int64_t now_us = engine->view.now_us;
  if (now_us - loop->touched_us[node] >= spec->consolidate_after_us) return true;
  if (spec->consolidate_after_us < HR_NEVER_US - now_us)
    pass_is_due(loop, loop->touched_us[node] + spec->consolidate_after_us);
  return false;
}

/* Takes a node from the budget of its node pool; false: the budget is used up. */
static bool take_budget(struct hr__engine *engine, uint32_t node) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  int64_t *left = &loop->budget_left[loop->node_pool[pool_of(engine, node)]];
  if (*left <= 0) return false;
  --*left;
  return true;
}

/* ---- The world of a node pool ----------------------------------------------------------------------------- */

/* Whether all jobs of a node are on this node only. */
static bool has_whole_jobs(struct hr__engine *engine, uint32_t node) {
  const struct hr__residents *residents = &engine->residents;
  for (uint32_t link = residents->first[node]; link; link = residents->links[link - 1].next) {
    struct hr_slice one;
    const struct hr_placement placement = hr__allocation_placement(engine, residents->links[link - 1].job, &one);
    for (uint32_t i = 0; i < placement.n_slices; i++)
      if (placement.slices[i].node.id != node) return false;
  }
  return true;
}

/* Sets what a job requests on a node of each pool. */
static bool add_pod(struct hr__engine *engine, hr_job job, uint32_t number) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  const struct hr__pod_kind *kind = hr__node_demand_kind(engine, job);
  const uint32_t n_pools = engine->cluster.n_pools;
  const size_t first = (size_t)number * n_pools;
  if (!HR__ARRAY_HAS_ROOM_FOR(loop->by_type, first + n_pools, loop->by_type_capacity)) {
    engine->autoscaler->lacks_memory = true;
    return false;
  }
  for (uint32_t i = 0; i < n_pools; i++) {
    struct hr__node_amounts *request = &loop->by_type[first + i];
    *request = (struct hr__node_amounts){{[HR__GPUS] = HR__KARPENTER_TOO_LARGE}};
    if (!hr__pod_kind_suits(engine, kind, i)) continue;
    const struct hr__pod_rows rows = hr__pod_kind_rows(engine, kind, i);
    *request = (struct hr__node_amounts){{0}};
    for (uint32_t k = 0; k < rows.n_rows; k++) hr__amounts_add(request, &rows.row[k].request, rows.row[k].count);
  }
  return true;
}

static bool is_candidate(struct hr__engine *engine, uint32_t node, uint32_t number, enum hr__karpenter_reason reason) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (self->karpenter->node_pool[pool_of(engine, node)] != number || self->room[node].is_needed) return false;
  if (reason == HR__KARPENTER_DRIFTED) return drifted_us(engine, node) != HR_NEVER_US && has_whole_jobs(engine, node);
  return self->n_tasks[node] > 0 && self->spec->node_pools[number].consolidation == HR_CONSOLIDATION_UNDERUTILIZED &&
         may_remove(engine, node) && has_whole_jobs(engine, node);
}

static void add_offerings(struct hr__engine *engine, uint32_t number) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  hr__karpenter_set_options(engine);
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__karpenter_option *option = &loop->options[i];
    const bool is_used = option->node_pool == number;
    loop->types[i] = (struct hr__karpenter_type){.size = option->size, .first = i, .n = is_used};
    loop->offerings[i] = (struct hr__karpenter_offering){.price = option->price, .is_spot = option->is_spot};
    if (!is_used) continue;
    const struct hr__karpenter_node_pool *limit = &loop->limits[number];
    loop->offerings[i].is_available = option->is_available && option->room > 0 && limit->nodes_left > 0 &&
                                      hr__amounts_fit(&option->size, &limit->left);
  }
}

/* Describes the nodes: those of a node pool that may go for a reason are candidates. */
static struct hr__karpenter_world describe(struct hr__engine *engine, uint32_t number,
                                           enum hr__karpenter_reason reason) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  struct hr__karpenter_world world = {.types = loop->types,
                                      .offerings = loop->offerings,
                                      .nodes = loop->nodes,
                                      .n_types = engine->cluster.n_pools,
                                      .allows_spot = true,
                                      .allows_on_demand = true,
                                      .zone = HR__KARPENTER_ANY,
                                      .spot_to_spot = self->spec->spot_to_spot,
                                      .any_price = reason == HR__KARPENTER_DRIFTED,
                                      .free = loop->free,
                                      .left = loop->left,
                                      .leaves = loop->leaves,
                                      .order = loop->order,
                                      .sent = loop->types_sent};
  uint32_t n_pods = 0;
  add_offerings(engine, number);
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++) {
    const uint32_t pool = pool_of(engine, i);
    if (engine->cluster.nodes[i].state != HR_NODE_UP || !self->room[i].is_usable) continue;
    struct hr__karpenter_node *node = &loop->nodes[world.n_nodes];
    loop->node_id[world.n_nodes++] = i;
    *node = (struct hr__karpenter_node){.price = hr__karpenter_price(engine, pool),
                                        .type = pool,
                                        .is_spot = engine->cluster.pools[pool].spec->market.market == HR_MARKET_SPOT,
                                        .is_candidate = is_candidate(engine, i, number, reason),
                                        .disruption = HR__KARPENTER_NODE_DISRUPTION,
                                        .free = self->room[i].free,
                                        .first = n_pods};
    if (!node->is_candidate) continue;
    const struct hr__residents *residents = &engine->residents;
    for (uint32_t link = residents->first[i]; link; link = residents->links[link - 1].next) {
      if (!add_pod(engine, residents->links[link - 1].job, n_pods)) return world;
      node->disruption += hr__karpenter_eviction_cost(0, 0);
      node->n++;
      n_pods++;
    }
  }
  world.by_type = loop->by_type;
  return world;
}

/* ---- Consolidation ---------------------------------------------------------------------------------------- */

/* Stores a command about this world. */
static void store_command(struct hr__engine *engine, const struct hr__karpenter_world *world,
                          const struct hr__karpenter_command *command, enum hr__karpenter_reason reason) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  loop->reason = reason;
  loop->action = command->action;
  loop->sends_spot = command->is_spot;
  loop->n_command = command->n_nodes;
  for (uint32_t i = 0; i < command->n_nodes; i++) loop->command[i] = loop->node_id[world->order[command->first + i]];
  for (uint32_t i = 0; i < world->n_types; i++) loop->sent[i] = false;
  for (uint32_t i = 0; i < command->n_sent; i++) loop->sent[world->sent[i]] = true;
}

/* Notes when a price changes, or a pool is tried again: then a command may be found without a change. */
static void note_offerings(struct hr__engine *engine) {
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const int64_t again_us = engine->autoscaler->karpenter->unavailable_until_us[i];
    if (again_us > engine->view.now_us) pass_is_due(engine->autoscaler->karpenter, again_us);
    const struct hr_market_spec *market = &engine->cluster.pools[i].spec->market;
    uint32_t k = 0;
    while (k < market->n_prices && market->prices[k].at_us <= engine->view.now_us) k++;
    if (k < market->n_prices) pass_is_due(engine->autoscaler->karpenter, market->prices[k].at_us);
  }
}

static bool find_in(struct hr__engine *engine, uint32_t number) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  const struct hr__karpenter_world world = describe(engine, number, HR__KARPENTER_UNDERUTILIZED);
  if (engine->autoscaler->lacks_memory) return false;
  const uint32_t n = hr__karpenter_order(&world);
  const int64_t allowed = loop->budget_left[number];
  if (n == 0) return false;
  note_offerings(engine);
  note_times(engine);
  if (allowed <= 0) return false;
  struct hr__karpenter_command command = {HR__KARPENTER_NOTHING, 0, 0, 0, false};
  if (n > 1 && allowed > 1) command = hr__karpenter_try_several(&world, allowed < n ? (uint32_t)allowed : n);
  for (uint32_t i = 0; i < n && command.action == HR__KARPENTER_NOTHING; i++) command = hr__karpenter_try(&world, i, 1);
  if (command.action == HR__KARPENTER_NOTHING) return false;
  store_command(engine, &world, &command, HR__KARPENTER_UNDERUTILIZED);
  return true;
}

static bool find_underutilized(struct hr__engine *engine) {
  const struct hr_autoscaler_spec *spec = engine->autoscaler->spec;
  set_budgets_left(engine, HR__KARPENTER_UNDERUTILIZED);
  for (uint32_t i = 0; i < spec->n_node_pools; i++)
    if (spec->node_pools[i].consolidation == HR_CONSOLIDATION_UNDERUTILIZED && find_in(engine, i)) return true;
  return false;
}

/* Whether the stored command would be found again. */
static bool is_valid(struct hr__engine *engine) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  const uint32_t number = loop->node_pool[pool_of(engine, loop->command[0])];
  set_budgets_left(engine, HR__KARPENTER_UNDERUTILIZED);
  if (loop->budget_left[number] < loop->n_command) return false;
  const struct hr__karpenter_world world = describe(engine, number, HR__KARPENTER_UNDERUTILIZED);
  for (uint32_t i = 0; i < loop->n_command; i++) {
    uint32_t at = 0;
    while (at < world.n_nodes && loop->node_id[at] != loop->command[i]) at++;
    if (at == world.n_nodes || !world.nodes[at].is_candidate) return false;
    world.order[i] = at;
  }
  const struct hr__karpenter_command command = hr__karpenter_try(&world, 0, loop->n_command);
  if (command.action != loop->action || command.is_spot != loop->sends_spot) return false;
  uint32_t n_sent = 0, n_again = 0;
  for (uint32_t i = 0; i < world.n_types; i++) n_sent += loop->sent[i];
  for (uint32_t i = 0; i < command.n_sent; i++) n_again += loop->sent[world.sent[i]];
  return n_again == n_sent;
}

static enum hr_status remove_node(struct hr__engine *engine, uint32_t node) {
  const uint32_t pool = pool_of(engine, node);
  engine->pool_accounting[pool].removals++;
  return hr__market_take_down(engine, (hr_pool){pool}, (hr_node){node}, HR_REASON_SCALED_DOWN);
}

/* Closes a node until its replacement has booted, or opens it again. */
static enum hr_status set_closed(struct hr__engine *engine, uint32_t node, bool closed) {
  struct hr_event event = hr__node_event(engine, closed ? HR_EVENT_NOTICE : HR_EVENT_NODE_UP, HR_REASON_SCALED_DOWN,
                                         (hr_pool){pool_of(engine, node)}, (hr_node){node});
  hr__market_set_state(engine, (hr_node){node}, closed ? HR_NODE_CLOSING : HR_NODE_UP);
  engine->cluster.nodes[node].down_us = HR_NEVER_US;
  return hr__emit(engine, &event);
}

/* Executes the stored command. Sets `any`, unless there is no replacement. */
static enum hr_status execute(struct hr__engine *engine, bool *any) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  enum hr_status status = HR_OK;
  hr_node node = {HR_NONE};
  if (loop->action == HR__KARPENTER_REPLACE) {
    for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
      loop->sent[i] = loop->sent[i] && (!loop->sends_spot || loop->options[i].is_spot);
    status = hr__karpenter_launch(engine, loop->sent, &node);
    if (status != HR_OK || node.id == HR_NONE) return status;
  }
  *any = self->has_acted = true;
  for (uint32_t i = 0; i < loop->n_command && status == HR_OK; i++) {
    if (node.id == HR_NONE) {
      status = remove_node(engine, loop->command[i]);
      continue;
    }
    loop->awaits[loop->command[i]] = node.id + 1;
    loop->n_awaiting++;
    status = set_closed(engine, loop->command[i], true);
  }
  return status;
}

enum hr_status hr__karpenter_settle(struct hr__engine *engine) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < engine->cluster.n_nodes && loop->n_awaiting > 0 && status == HR_OK; i++) {
    if (!loop->awaits[i]) continue;
    const struct hr__node *node = &engine->cluster.nodes[i];
    const uint8_t state = engine->cluster.nodes[loop->awaits[i] - 1].state;
    if (node->state == HR_NODE_CLOSING && state == HR_NODE_BOOTING) continue;
    loop->awaits[i] = 0;
    loop->n_awaiting--;
    if (node->state != HR_NODE_CLOSING) continue; /* it is gone */
    if (state != HR_NODE_OFF)
      status = remove_node(engine, i);
    else if (node->down_us == HR_NEVER_US)
      status = set_closed(engine, i, false);
  }
  return status;
}

/* ---- Drift -------------------------------------------------------------------------------------------------- */

/* Notes when the template of a node pool changes next. */
static bool note_drifts(struct hr__engine *engine) {
  const struct hr_autoscaler_spec *spec = engine->autoscaler->spec;
  bool any = false;
  for (uint32_t i = 0; i < spec->n_node_pools; i++)
    for (uint32_t k = 0; k < spec->node_pools[i].n_drifts; k++) {
      any = true;
      if (spec->node_pools[i].drifts_us[k] > engine->view.now_us)
        pass_is_due(engine->autoscaler->karpenter, spec->node_pools[i].drifts_us[k]);
    }
  return any;
}

/* Lists the nodes that have drifted, in the order in which they are tried. Returns their number. */
static uint32_t list_drifted(struct hr__engine *engine) {
  const struct hr__autoscaler *self = engine->autoscaler;
  uint32_t n = 0, *list = self->karpenter->command;
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++) {
    if (engine->cluster.nodes[i].state != HR_NODE_UP) continue;
    const int64_t at_us = drifted_us(engine, i);
    if (at_us == HR_NEVER_US) continue;
    uint32_t at = n++;
    for (; at > 0; at--) {
      const bool is_empty = self->n_tasks[i] == 0, other_is_empty = self->n_tasks[list[at - 1]] == 0;
      if (is_empty == other_is_empty ? at_us >= drifted_us(engine, list[at - 1]) : other_is_empty) break;
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

static bool find_drifted(struct hr__engine *engine) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  if (!note_drifts(engine)) return false;
  const uint32_t n = list_drifted(engine);
  if (n == 0) return false;
  note_times(engine);
  note_offerings(engine);
  set_budgets_left(engine, HR__KARPENTER_DRIFTED);
  struct hr__karpenter_world world = {.nodes = NULL};
  uint32_t described = HR_NONE;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t node = loop->command[i], number = node_pool_of(engine, node);
    if (loop->budget_left[number] <= 0) continue;
    if (number != described) world = describe(engine, number, HR__KARPENTER_DRIFTED);
    described = number;
    if (engine->autoscaler->lacks_memory || !world.order) return false;
    world.order[0] = candidate_at(loop, &world, node);
    if (world.order[0] == HR_NONE) continue;
    const struct hr__karpenter_command command = hr__karpenter_try(&world, 0, 1);
    if (command.action == HR__KARPENTER_NOTHING) continue;
    store_command(engine, &world, &command, HR__KARPENTER_DRIFTED);
    return true;
  }
  return false;
}

/* ---- Commands ----------------------------------------------------------------------------------------------- */

static bool is_empty(struct hr__engine *engine, uint32_t node) {
  const struct hr__autoscaler *self = engine->autoscaler;
  return self->n_tasks[node] == 0 && !self->room[node].is_needed && may_remove(engine, node);
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
  if (n > 0) note_times(engine);
  set_budgets_left(engine, HR__KARPENTER_EMPTY);
  loop->n_command = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t node = loop->node_id[loop->order[i]];
    if (take_budget(engine, node)) loop->command[loop->n_command++] = node;
  }
  loop->reason = HR__KARPENTER_EMPTY;
  return loop->n_command > 0 || find_drifted(engine) || find_underutilized(engine);
}

enum hr_status hr__karpenter_carry_out(struct hr__engine *engine, bool *any) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  enum hr_status status = HR_OK;
  hr__node_demand_find(engine);
  if (loop->reason == HR__KARPENTER_DRIFTED) return execute(engine, any);
  if (loop->reason == HR__KARPENTER_UNDERUTILIZED)
    return is_valid(engine) && !self->lacks_memory ? execute(engine, any) : HR_OK;
  set_budgets_left(engine, HR__KARPENTER_EMPTY);
  for (uint32_t i = 0; i < loop->n_command && status == HR_OK; i++) {
    const uint32_t node = loop->command[i], pool = pool_of(engine, node);
    if (!is_empty(engine, node) || !take_budget(engine, node)) continue;
    status = hr__market_take_down(engine, (hr_pool){pool}, (hr_node){node}, HR_REASON_SCALED_DOWN);
    engine->pool_accounting[pool].removals++;
    *any = self->has_acted = true;
  }
  return status;
}
