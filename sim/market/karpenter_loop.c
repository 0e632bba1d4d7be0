/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Karpenter in a run: when it examines the cluster, the nodes that it requests, and the nodes that it removes.
 *
 * The first loop requests nodes. A job that begins to wait opens a batch if none is open. The batch ends after a time
 * without new jobs, or at the latest after a maximum time. At the end of the batch, the loop examines the waiting jobs
 * (a look) and requests nodes. Jobs that still wait are examined again at intervals of 10 s (a retry).
 *
 * The second loop removes nodes. It makes a pass every 10 s. If a pass finds a command, the command is validated 15 s
 * later and then executed; only commands for drift are executed at once. The next pass follows immediately, or after 10
 * s if the command removed nothing. Both loops run after the policy's pass of the same instant.
 *
 * If no job or node has changed, a loop decides the same as the last time, with three exceptions:
 * - A pool without capacity may be tried again.
 * - A node may now be removed, because a delay has ended, or a budget or a template has changed.
 * - A price has changed.
 *
 * So the loops run only after changes and at the times of these exceptions. A request for nodes is a change, too: a
 * pool without capacity is excluded, and a requested node counts with its own size. Nodes that have not booted in time
 * and nodes that are too old are released.
 *
 * New nodes: the jobs that fit on no node are placed on planned nodes, in the order of their kinds (autoscaler.c). Each
 * planned node is requested from the cheapest suitable pool. If that pool has no capacity, the next cheapest pool is
 * tried, and the pool without capacity is not tried again for some time. Invariant: a node pool stays within its
 * limits.
 *
 * Source: kubernetes-sigs/karpenter, pkg/controllers/provisioning (batcher.go, controller.go), disruption
 * (controller.go, validation.go) and nodeclaim (lifecycle, expiration), at 22664681.
 */

#include "sim/market/autoscaler.h"

#include "base/containers.h"

/* Entities of HR__PENDING_SCAN. */
enum {
  HR__KARPENTER_BATCH,    /* a batch of new jobs ends */
  HR__KARPENTER_RETRY,    /* jobs that still wait are examined again */
  HR__KARPENTER_PASS,     /* a pass of the loop that removes nodes is due */
  HR__KARPENTER_VALIDATE, /* the stored command is validated and executed */
  HR__KARPENTER_SETTLE,   /* a node has booted or gone down, and it may be the replacement of other nodes */
  HR__KARPENTER_NODE      /* this + node: the node expires, or has not booted in time */
};

#define HR__KARPENTER_TOO_LARGE (INT64_C(1) << 44)

static inline void karpenter_batch_add(struct hr__karpenter_batch *batch, int64_t now_us) {
  if (!batch->is_open) batch->first_us = now_us;
  batch->is_open = true;
  batch->end_us = now_us + batch->idle_us;
  if (batch->end_us > batch->first_us + batch->max_us) batch->end_us = batch->first_us + batch->max_us;
}

/* ---- Prices ----------------------------------------------------------------------------------------- */

/* Returns the present price of a node of a pool, in dollars per hour. */
static double karpenter_price(const struct hr__engine *engine, uint32_t pool) {
  const int64_t uusd_h = hr_cluster_price_uusd_h(&engine->cluster, (hr_pool){pool}, engine->view.now_us);
  return (double)uusd_h * (double)engine->cluster.pools[pool].spec->gpus_per_node * 1e-6;
}

/* ---- Options and limits ----------------------------------------------------------------------------- */

static void set_limits(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  for (uint32_t i = 0; i < self->spec->n_node_pools; i++) {
    const struct hr_node_pool *spec = &self->spec->node_pools[i];
    struct hr__karpenter_node_pool *limit = &loop->limits[i];
    *limit = (struct hr__karpenter_node_pool){
        .weight = spec->weight,
        .left = {{[HR__CPU_M] = spec->max_cpu_milli,
                  [HR__MEMORY_BYTES] = spec->max_mem_mib == INT64_MAX ? INT64_MAX : spec->max_mem_mib * 1048576,
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

/* Sets options and limits to the present state. */
static void karpenter_set_options(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    loop->options[i] = (struct hr__karpenter_option){.node_pool = loop->node_pool[i]};
    if (loop->node_pool[i] == HR_NONE) continue;
    loop->options[i] =
        (struct hr__karpenter_option){.size = self->pools[i].node,
                                      .price = karpenter_price(engine, i),
                                      .node_pool = loop->node_pool[i],
                                      .is_spot = engine->cluster.pools[i].spec->market.market == HR_MARKET_SPOT,
                                      .is_available = engine->view.now_us >= loop->unavailable_until_us[i],
                                      .room = hr__nodes_allowed(engine, i)};
  }
  set_limits(engine);
}

/* ---- Requests --------------------------------------------------------------------------------------- */

/* Requests one node from the cheapest available pool of the set `may` ([n_pools]). If this pool has no capacity, it
   becomes unavailable for some time, and the next cheapest pool is tried. Sets `*node` to the node, or to HR_NONE if no
   pool has capacity. */
static enum hr_status karpenter_launch(struct hr__engine *engine, const bool *may, hr_node *node) {
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
    /* a quota can apply to several pools */
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

/* ---- Removal of nodes ------------------------------------------------------------------------------- */

/*
 * Karpenter removes nodes by the first of these rules that finds a node:
 * - It removes empty nodes, as many as the budgets allow, the most expensive first.
 * - It removes one node that has drifted.
 * - It removes nodes with jobs that fit on other nodes, or that one cheaper node can replace.
 *
 * A node is empty if it has had no job for some time, and no waiting job would use it. A node has drifted if the
 * template of its node pool has changed since the node was requested. A command for drift removes one node. Nodes
 * without jobs precede nodes with jobs, and nodes that drifted earlier precede nodes that drifted later. The jobs of
 * the node must fit on other nodes and on at most one new node, at any price. The command is executed immediately, and
 * the pass then searches for the next command.
 *
 * hr__karpenter_try decides which nodes with jobs are removed. This file passes a description of all nodes to this
 * function, and executes the returned command. In the description, nodes of one node pool are candidates for removal.
 * If the command has a replacement, this node is requested first. The nodes that it replaces are closed, and are
 * removed when the replacement has booted.
 *
 * Layout: each elastic pool is an instance type with one offering, and each job of a node is one pod. A node with a job
 * that also uses other nodes is not removed. Invariants: a node that waits for its replacement is closed. The nodes
 * that a command removes are within the budgets when the command is found and when it is executed. Source:
 * kubernetes-sigs/karpenter, pkg/controllers/disruption (multinodeconsolidation.go, singlenodeconsolidation.go,
 * drift.go, controller.go, queue.go), at 22664681.
 */

static uint32_t pool_of(const struct hr__engine *engine, uint32_t node) {
  return hr__cluster_pool_of(&engine->cluster, (hr_node){node}).id;
}

static uint32_t node_pool_of(const struct hr__engine *engine, uint32_t node) {
  return engine->autoscaler->karpenter->node_pool[pool_of(engine, node)];
}

/* Returns the first time at which the template of the node's node pool changed after the node was requested;
   HR_NEVER_US: the template has not changed. */
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

/* ---- Removal of nodes: budgets and times ------------------------------------------------------------ */

/* Returns the present time in seconds since 1970 UTC. If the trace has no dates, the run begins in 1970. */
static int64_t utc_s(const struct hr__engine *engine) {
  const int64_t us = engine->trace->origin_us + engine->view.now_us;
  return us / HR_SECOND_US - (us % HR_SECOND_US < 0);
}

/* Records that a pass at this time may find another command, although no job or node has changed. */
static void pass_is_due(struct hr__karpenter_loop *loop, int64_t at_us) {
  if (at_us < loop->due_us) loop->due_us = at_us;
}

/* Records the times at which budgets next begin or cease to apply, because a pass may then find another command. */
static void note_times(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  const int64_t now_s = utc_s(engine);
  for (uint32_t i = 0; i < loop->first_budget[self->spec->n_node_pools]; i++) {
    const int64_t until_s = hr__karpenter_constant_until(&loop->budgets[i], now_s);
    if (until_s < HR_NEVER_US / HR_SECOND_US) pass_is_due(loop, until_s * HR_SECOND_US - engine->trace->origin_us);
  }
}

/* Sets `budget_left`: the number of nodes of each node pool that may now be removed for a reason. */
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

/* Returns whether a node may be removed now according to the consolidation settings of its node pool. If it may be
   removed only later because jobs have changed recently, records this time. */
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

/* Deducts a node from the budget of its node pool. Returns false if the budget is used up. */
static bool take_budget(struct hr__engine *engine, uint32_t node) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  int64_t *left = &loop->budget_left[loop->node_pool[pool_of(engine, node)]];
  if (*left <= 0) return false;
  --*left;
  return true;
}

/* ---- Removal of nodes: the world of a node pool ----------------------------------------------------- */

/* Returns whether all jobs of a node are on this node only. */
static bool has_whole_jobs(struct hr__engine *engine, uint32_t node) {
  HR__EACH_RESIDENT(engine, node, link) {
    const struct hr_placement placement = HR__PLACEMENT_OF(engine, hr__resident(engine, link));
    for (uint32_t i = 0; i < placement.n_slices; i++)
      if (placement.slices[i].node.id != node) return false;
  }
  return true;
}

/* Sets row `number` of `by_type`: for each pool, the amounts that the job would request on one node. For a pool that
   does not suit the job, the request fits on no node. Returns false if memory is exhausted. */
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
  karpenter_set_options(engine);
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

/* Returns a description of all usable nodes for hr__karpenter_try. Candidates are the nodes of the node pool `number`
   that may be removed for the reason. Must follow hr__node_demand_find. If memory is exhausted, sets `lacks_memory`,
   and the description is incomplete. */
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
    *node = (struct hr__karpenter_node){.price = karpenter_price(engine, pool),
                                        .type = pool,
                                        .is_spot = engine->cluster.pools[pool].spec->market.market == HR_MARKET_SPOT,
                                        .is_candidate = is_candidate(engine, i, number, reason),
                                        .disruption = HR__KARPENTER_NODE_DISRUPTION,
                                        .free = self->room[i].free,
                                        .first = n_pods};
    if (!node->is_candidate) continue;
    HR__EACH_RESIDENT(engine, i, link) {
      if (!add_pod(engine, hr__resident(engine, link), n_pods)) return world;
      node->disruption += hr__karpenter_eviction_cost(0, 0);
      node->n++;
      n_pods++;
    }
  }
  world.by_type = loop->by_type;
  return world;
}

/* ---- Removal of nodes: consolidation ---------------------------------------------------------------- */

/* Stores a command that hr__karpenter_try has returned for this description. */
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

/* Records the times at which prices next change or pools are tried again, because a pass may then find another
   command. */
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

/* Returns the index of a node in the description if the node is a candidate; otherwise HR_NONE. */
static uint32_t candidate_at(const struct hr__karpenter_loop *loop, const struct hr__karpenter_world *world,
                             uint32_t node) {
  for (uint32_t i = 0; i < world->n_nodes; i++)
    if (loop->node_id[i] == node) return world->nodes[i].is_candidate ? i : HR_NONE;
  return HR_NONE;
}

/* Returns whether the stored command is still valid. All nodes of the command must still be candidates within the
   budget. hr__karpenter_try must again return the same action and all pools of the stored replacement. */
static bool is_valid(struct hr__engine *engine) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  const uint32_t number = loop->node_pool[pool_of(engine, loop->command[0])];
  set_budgets_left(engine, HR__KARPENTER_UNDERUTILIZED);
  if (loop->budget_left[number] < loop->n_command) return false;
  const struct hr__karpenter_world world = describe(engine, number, HR__KARPENTER_UNDERUTILIZED);
  for (uint32_t i = 0; i < loop->n_command; i++) {
    world.order[i] = candidate_at(loop, &world, loop->command[i]);
    if (world.order[i] == HR_NONE) return false;
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
  const hr_pool pool = {pool_of(engine, node)};
  if (closed) return hr__market_close(engine, pool, (hr_node){node}, HR_REASON_SCALED_DOWN, HR_NEVER_US);
  hr__market_set_state(engine, (hr_node){node}, HR_NODE_UP);
  engine->cluster.nodes[node].down_us = HR_NEVER_US;
  return hr__emit(engine, HR__NODE_EVENT(engine, HR_EVENT_NODE_UP, HR_REASON_SCALED_DOWN, pool, (hr_node){node}));
}

/* Executes the stored command and sets `*any`. If the command needs a replacement and no pool has capacity for it, the
   function removes no node and does not set `*any`. */
static enum hr_status execute(struct hr__engine *engine, bool *any) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  enum hr_status status = HR_OK;
  hr_node node = {HR_NONE};
  if (loop->action == HR__KARPENTER_REPLACE) {
    for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
      loop->sent[i] = loop->sent[i] && (!loop->sends_spot || loop->options[i].is_spot);
    status = karpenter_launch(engine, loop->sent, &node);
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

/* Removes nodes if their replacement has booted. Reopens nodes if their replacement does not exist any more. */
static enum hr_status karpenter_settle(struct hr__engine *engine) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < engine->cluster.n_nodes && loop->n_awaiting > 0 && status == HR_OK; i++) {
    if (!loop->awaits[i]) continue;
    const struct hr__node *node = &engine->cluster.nodes[i];
    const uint8_t state = engine->cluster.nodes[loop->awaits[i] - 1].state;
    if (node->state == HR_NODE_CLOSING && state == HR_NODE_BOOTING) continue;
    loop->awaits[i] = 0;
    loop->n_awaiting--;
    if (node->state != HR_NODE_CLOSING) continue; /* the node has gone down or is available again */
    if (state != HR_NODE_OFF)
      status = remove_node(engine, i);
    else if (node->down_us == HR_NEVER_US)
      status = set_closed(engine, i, false);
  }
  return status;
}

/* ---- Removal of nodes: drift ------------------------------------------------------------------------ */

/* Records the times at which templates of node pools change. Returns whether any node pool has such times. */
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

/* Writes the ids of the drifted nodes to `command`, in the order in which they are tried. Returns their number. */
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

/* ---- Removal of nodes: commands --------------------------------------------------------------------- */

static bool is_empty(struct hr__engine *engine, uint32_t node) {
  const struct hr__autoscaler *self = engine->autoscaler;
  return self->n_tasks[node] == 0 && !self->room[node].is_needed && may_remove(engine, node);
}

/* Searches for nodes to remove. If it finds any, stores a command and returns true. */
static bool karpenter_find_command(struct hr__engine *engine) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  struct hr__karpenter_world world = {.nodes = loop->nodes, .order = loop->order};
  hr__node_demand_find(engine);
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++) {
    if (!is_empty(engine, i)) continue;
    loop->node_id[world.n_nodes] = i;
    loop->nodes[world.n_nodes++] = (struct hr__karpenter_node){.price = karpenter_price(engine, pool_of(engine, i)),
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

/* Executes the stored command if it is still valid, and sets `*any` if a node was removed or is being replaced. A
   command for drift is executed without validation. A command for underutilized nodes is executed for all its nodes or
   not at all. A command for empty nodes is executed for the nodes that are still empty and within the budget. */
static enum hr_status karpenter_carry_out(struct hr__engine *engine, bool *any) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  enum hr_status status = HR_OK;
  hr__node_demand_find(engine);
  if (loop->reason == HR__KARPENTER_DRIFTED) return execute(engine, any);
  if (loop->reason == HR__KARPENTER_UNDERUTILIZED)
    return is_valid(engine) && !self->lacks_memory ? execute(engine, any) : HR_OK;
  set_budgets_left(engine, HR__KARPENTER_EMPTY);
  for (uint32_t i = 0; i < loop->n_command && status == HR_OK; i++) {
    if (!is_empty(engine, loop->command[i]) || !take_budget(engine, loop->command[i])) continue;
    status = remove_node(engine, loop->command[i]);
    *any = self->has_acted = true;
  }
  return status;
}

/* ---- Loop ------------------------------------------------------------------------------------------- */

#define PERIOD_US (10 * HR_SECOND_US) /* the interval of retries, and of passes of the loop that removes nodes */
#define VALIDATION_US (15 * HR_SECOND_US)

/* Schedules an examination of kind `entity` for the first possible time that is not before `from_us`, is after
   `last_us`, and is `base_us` plus a positive multiple of the period. Has no effect if `*due_us`, the time of the next
   examination of this kind, is not later. */
static enum hr_status schedule_from(struct hr__engine *engine, int64_t from_us, int64_t last_us, int64_t base_us,
                                    int64_t *due_us, uint32_t entity) {
  if (from_us > HR_NEVER_US - 2 * PERIOD_US) return HR_OK;
  if (from_us <= last_us) from_us = last_us + 1;
  const int64_t periods = from_us <= base_us ? 1 : (from_us - base_us + PERIOD_US - 1) / PERIOD_US;
  if (base_us + periods * PERIOD_US >= *due_us) return HR_OK;
  *due_us = base_us + periods * PERIOD_US;
  return hr__schedule(engine, *due_us, HR__PENDING_SCAN, entity);
}

/* ---- Times ------------------------------------------------------------------------------------------ */

/* Returns whether a waiting job was already waiting at the last look. */
static bool has_seen_jobs(const struct hr__engine *engine) {
  const struct hr__autoscaler *self = engine->autoscaler;
  return self->first && self->waiting[self->first - 1].since_us <= self->karpenter->looked_us;
}

/* Schedules a retry. Has no effect if no waiting job was already waiting at the last look. */
static enum hr_status retry_from(struct hr__engine *engine, int64_t from_us) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  if (!has_seen_jobs(engine) || loop->looked_us < 0) return HR_OK;
  return schedule_from(engine, from_us, loop->acted_us, loop->looked_us, &loop->retry_us, HR__KARPENTER_RETRY);
}

/* Schedules a pass. Has no effect if a command waits for its validation. */
static enum hr_status pass_from(struct hr__engine *engine, int64_t from_us) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  if (loop->validate_us != HR_NEVER_US) return HR_OK;
  return schedule_from(engine, from_us, loop->passed_us, loop->base_us, &loop->pass_us, HR__KARPENTER_PASS);
}

static enum hr_status note_change(struct hr__engine *engine, enum hr__change_kind kind, uint32_t entity) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  const int64_t now_us = engine->view.now_us;
  enum hr_status status = HR_OK;
  if (kind == HR__CHANGE_JOB_WAITS) {
    karpenter_batch_add(&loop->batch, now_us);
    status = hr__schedule(engine, loop->batch.end_us, HR__PENDING_SCAN, HR__KARPENTER_BATCH);
  }
  if (loop->n_awaiting > 0 && (kind == HR__CHANGE_NODE_UP || kind == HR__CHANGE_NODE_DOWN) && status == HR_OK)
    status = hr__schedule(engine, now_us, HR__PENDING_SCAN, HR__KARPENTER_SETTLE);
  if (kind == HR__CHANGE_NODE_JOBS || kind == HR__CHANGE_NODE_UP) loop->touched_us[entity] = now_us;
  if (status == HR_OK) status = retry_from(engine, now_us);
  return status == HR_OK ? pass_from(engine, now_us) : status;
}

static void note(struct hr__engine *engine, enum hr__change_kind kind, uint32_t entity) {
  if (note_change(engine, kind, entity) != HR_OK) engine->autoscaler->lacks_memory = true;
}

/* ---- Nodes that expire, or do not boot -------------------------------------------------------------- */

static enum hr_status end_node(struct hr__engine *engine, uint32_t id) {
  const struct hr__node *node = &engine->cluster.nodes[id];
  const hr_pool pool = hr__cluster_pool_of(&engine->cluster, (hr_node){id});
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr_node_pool *spec = &self->spec->node_pools[self->karpenter->node_pool[pool.id]];
  const int64_t age_us = engine->view.now_us - node->since_us;
  if (node->state == HR_NODE_OFF) return HR_OK;
  if (node->state == HR_NODE_BOOTING && age_us == self->spec->provision_us) {
    engine->pool_accounting[pool.id].scale_failures++;
    return hr__market_take_down(engine, pool, (hr_node){id}, HR_REASON_NOT_PROVISIONED);
  }
  return age_us == spec->expire_us ? remove_node(engine, id) : HR_OK;
}

static enum hr_status advance(struct hr__engine *engine, uint32_t entity) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  const int64_t now_us = engine->view.now_us;
  if (entity == HR__KARPENTER_SETTLE) return karpenter_settle(engine);
  if (entity >= HR__KARPENTER_NODE) return end_node(engine, entity - HR__KARPENTER_NODE);
  if (entity == HR__KARPENTER_BATCH && loop->batch.is_open && loop->batch.end_us == now_us) {
    loop->is_look_due = true;
    loop->batch.is_open = false;
  }
  if (entity == HR__KARPENTER_RETRY && loop->retry_us == now_us) loop->is_retry_due = true;
  if (entity == HR__KARPENTER_PASS && loop->pass_us == now_us) loop->is_pass_due = true;
  if (entity == HR__KARPENTER_VALIDATE && loop->validate_us == now_us) loop->is_validation_due = true;
  return HR_OK;
}

/* ---- Plans ------------------------------------------------------------------------------------------ */

/* Sets `pods`: for each pool, the pods of a job of the kind. `part`: only the pods that still need nodes, for the job
   that has reserved room for its other pods (part_pool, part_left). */
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

/* Requests nodes for the jobs that fit on no node. */
static enum hr_status grow(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  enum hr_status status = HR_OK;
  if (!hr__node_demand_find(engine)) return HR_OK;
  karpenter_set_options(engine);
  struct hr__karpenter_plan plan = {.options = loop->options,
                                    .n_options = engine->cluster.n_pools,
                                    .node_pools = loop->limits,
                                    .n_node_pools = self->spec->n_node_pools};
  for (uint32_t i = self->first_kind; i != HR_NONE; i = self->kinds[i].next)
    if (self->kinds[i].n_left > 0) plan_kind(engine, &plan, &self->kinds[i]);
  for (uint32_t i = 0; i < plan.n_nodes && status == HR_OK && !plan.lacks_memory; i++) {
    hr_node node;
    status = karpenter_launch(engine, &plan.may[(size_t)i * plan.n_options], &node);
  }
  self->lacks_memory = self->lacks_memory || plan.lacks_memory;
  hr__karpenter_plan_finish(&plan);
  return status;
}

/* ---- Looks and passes ------------------------------------------------------------------------------- */

/* Returns the number of requests for nodes so far, including failed requests. */
static uint64_t count_requests(const struct hr__engine *engine) {
  uint64_t n = 0;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    n += engine->pool_accounting[i].launches + engine->pool_accounting[i].scale_failures;
  return n;
}

static enum hr_status look(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  struct hr__karpenter_loop *loop = self->karpenter;
  const int64_t now_us = engine->view.now_us;
  loop->looked_us = now_us;
  loop->retry_us = HR_NEVER_US;
  if (!self->first) return HR_OK;
  const uint64_t n_requests = count_requests(engine);
  enum hr_status status = grow(engine);
  /* the next plan may differ: a pool without capacity is excluded, and a requested node may be smaller than the planned
     node for which the limits were reduced */
  if (count_requests(engine) != n_requests) {
    if (status == HR_OK) status = retry_from(engine, now_us);
    if (status == HR_OK) status = pass_from(engine, now_us); /* waiting jobs may now use other nodes */
  }
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++)
    if (loop->unavailable_until_us[i] > now_us) status = retry_from(engine, loop->unavailable_until_us[i]);
  return status;
}

static enum hr_status pass(struct hr__engine *engine) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  loop->passed_us = engine->view.now_us;
  loop->pass_us = HR_NEVER_US;
  loop->due_us = HR_NEVER_US;
  bool any = false, has_command = karpenter_find_command(engine);
  while (has_command && loop->reason == HR__KARPENTER_DRIFTED) {
    enum hr_status status = karpenter_carry_out(engine, &any);
    if (status != HR_OK) return status;
    if (!any) return pass_from(engine, loop->passed_us);
    any = false;
    has_command = karpenter_find_command(engine);
  }
  if (!has_command) return loop->due_us == HR_NEVER_US ? HR_OK : pass_from(engine, loop->due_us);
  loop->pass_us = HR_NEVER_US; /* cancels the pass that the loop's own changes have scheduled */
  loop->validate_us = engine->view.now_us + VALIDATION_US;
  return hr__schedule(engine, loop->validate_us, HR__PENDING_SCAN, HR__KARPENTER_VALIDATE);
}

static enum hr_status validate(struct hr__engine *engine) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  bool any = false;
  loop->validate_us = HR_NEVER_US;
  loop->base_us = engine->view.now_us;
  const enum hr_status status = karpenter_carry_out(engine, &any);
  if (status != HR_OK) return status;
  return any ? pass(engine) : pass_from(engine, engine->view.now_us);
}

static enum hr_status after_pass(struct hr__engine *engine) {
  struct hr__karpenter_loop *loop = engine->autoscaler->karpenter;
  /* the jobs that waited at the last look may have started at this instant */
  const bool looks = loop->is_look_due || (loop->is_retry_due && has_seen_jobs(engine));
  const bool passes = loop->is_pass_due, validates = loop->is_validation_due;
  enum hr_status status = HR_OK;
  loop->acted_us = engine->view.now_us;
  if (loop->is_retry_due) loop->retry_us = HR_NEVER_US;
  loop->is_retry_due = loop->is_look_due = loop->is_pass_due = loop->is_validation_due = false;
  if (!engine->whole && hr__engine_is_over(engine, engine->view.now_us)) return HR_OK;
  if (looks) status = look(engine);
  if (status == HR_OK && validates) status = validate(engine);
  if (status == HR_OK && passes) status = pass(engine);
  return status;
}

/* ---- Start of a run --------------------------------------------------------------------------------- */

static bool allocate(struct hr__engine *engine, struct hr__karpenter_loop *loop) {
  const struct hr_autoscaler_spec *spec = engine->autoscaler->spec;
  struct hr_arena *arena = &engine->arena;
  const size_t n_pools = engine->cluster.n_pools, n_nodes = engine->cluster.n_nodes, n = spec->n_node_pools + 1;
  size_t n_budgets = 1;
  for (uint32_t i = 0; i < spec->n_node_pools; i++) n_budgets += spec->node_pools[i].n_budgets;
  return HR__ARENA_ARRAY(arena, loop->node_pool, n_pools) &&
         HR__ARENA_ARRAY(arena, loop->unavailable_until_us, n_pools) &&
         HR__ARENA_ARRAY(arena, loop->options, n_pools) && HR__ARENA_ARRAY(arena, loop->pods, n_pools) &&
         HR__ARENA_ARRAY(arena, loop->limits, n) && HR__ARENA_ARRAY(arena, loop->budgets, n_budgets) &&
         HR__ARENA_ARRAY(arena, loop->first_budget, n) && HR__ARENA_ARRAY(arena, loop->budget_left, n) &&
         HR__ARENA_ARRAY(arena, loop->touched_us, n_nodes) && HR__ARENA_ARRAY(arena, loop->command, n_nodes) &&
         HR__ARENA_ARRAY(arena, loop->nodes, n_nodes) && HR__ARENA_ARRAY(arena, loop->node_id, n_nodes) &&
         HR__ARENA_ARRAY(arena, loop->order, n_nodes) && HR__ARENA_ARRAY(arena, loop->sent, n_pools) &&
         HR__ARENA_ARRAY(arena, loop->awaits, n_nodes) && HR__ARENA_ARRAY(arena, loop->leaves, n_nodes) &&
         HR__ARENA_ARRAY(arena, loop->free, n_nodes) && HR__ARENA_ARRAY(arena, loop->left, n_pools) &&
         HR__ARENA_ARRAY(arena, loop->types, n_pools) && HR__ARENA_ARRAY(arena, loop->offerings, n_pools) &&
         HR__ARENA_ARRAY(arena, loop->types_sent, n_pools);
}

static void set_budgets(const struct hr_autoscaler_spec *spec, struct hr__karpenter_loop *loop) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < spec->n_node_pools; i++) {
    loop->first_budget[i] = n;
    for (uint32_t k = 0; k < spec->node_pools[i].n_budgets; k++) {
      const struct hr_disruption_budget *from = &spec->node_pools[i].budgets[k];
      const bool is_percent = from->percent != UINT32_MAX;
      struct hr__karpenter_budget *budget = &loop->budgets[n++];
      *budget = (struct hr__karpenter_budget){.nodes = is_percent ? from->percent : from->nodes,
                                              .is_percent = is_percent,
                                              .is_always = !from->schedule,
                                              .duration_s = from->duration_us / HR_SECOND_US,
                                              .reasons = from->reasons};
      if (from->schedule) budget->is_wrong = !hr__cron_read(from->schedule, &budget->schedule);
    }
  }
  loop->first_budget[spec->n_node_pools] = n;
}

static bool create(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr_autoscaler_spec *spec = self->spec;
  struct hr__karpenter_loop *loop = hr_arena_alloc(&engine->arena, sizeof *loop);
  if (!loop || !allocate(engine, loop)) return false;
  loop->batch = (struct hr__karpenter_batch){.idle_us = spec->batch_idle_us, .max_us = spec->batch_max_us};
  loop->looked_us = loop->passed_us = loop->acted_us = -1;
  loop->retry_us = loop->pass_us = loop->validate_us = HR_NEVER_US;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    loop->node_pool[i] = HR_NONE;
    for (uint32_t k = 0; k < spec->n_node_pools && self->pools[i].is_scaled; k++)
      if (spec->node_pools[k].of_pool[i]) loop->node_pool[i] = k;
    self->pools[i].is_scaled = loop->node_pool[i] != HR_NONE;
  }
  set_budgets(spec, loop);
  self->karpenter = loop;
  return true;
}

static bool backs_off(struct hr__engine *engine, uint32_t pool) {
  return engine->view.now_us < engine->autoscaler->karpenter->unavailable_until_us[pool];
}

/* Kinds with larger pods are first: by CPU, then by memory. */
static bool precedes(const struct hr__pod_kind *kind, const struct hr__pod_kind *other) {
  return kind->cpu_m != other->cpu_m ? kind->cpu_m > other->cpu_m : kind->memory > other->memory;
}

static void finish(struct hr__engine *engine) {
  if (engine->autoscaler->karpenter) free(engine->autoscaler->karpenter->by_type);
}

const struct hr__scaling_rules hr__karpenter_rules = {.create = create,
                                                      .note = note,
                                                      .advance = advance,
                                                      .after_pass = after_pass,
                                                      .backs_off = backs_off,
                                                      .precedes = precedes,
                                                      .close = finish};
