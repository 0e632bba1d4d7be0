/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An autoscaler that requests and removes the nodes of elastic pools, as a component of the engine: its state, requests
 * for nodes, quotas. Each kind of autoscaler has rules (struct hr__scaling_rules), which decide when it examines the
 * cluster and what it does then: node_scans.c, karpenter_loop.c.
 *
 * Invariant: a pool never has more nodes than its maximum and the quotas allow.
 */

#include "sim/market/autoscaler.h"
#include "base/random.h"

static hr_pool pool_of(const struct hr__engine *engine, uint32_t node) {
  return hr__cluster_pool_of(&engine->cluster, (hr_node){node});
}

static void note(struct hr__engine *engine, enum hr__change_kind kind, uint32_t entity) {
  struct hr__scaling_change change = {.kind = kind, .job = HR_NONE, .node = HR_NONE};
  if (kind == HR__CHANGE_JOB_WAITS || kind == HR__CHANGE_JOB_LEAVES)
    change.job = entity;
  else
    change.node = entity;
  engine->autoscaler->rules->note(engine, &change);
}

static enum hr_status advance(struct hr__engine *engine, struct hr__pending pending) {
  return engine->autoscaler->rules->advance(engine, hr__pending_entity(pending));
}

/* ---- Jobs and nodes --------------------------------------------------------------------------------------- */

static void submit(struct hr__engine *engine, hr_job job) {
  engine->autoscaler->waiting[job.id] = (struct hr__waiting_job){0};
  hr__node_demand_add(engine, job);
  note(engine, HR__CHANGE_JOB_WAITS, job.id);
}

static void forget(struct hr__engine *engine, hr_job job) {
  hr__node_demand_remove(engine, job);
  note(engine, HR__CHANGE_JOB_LEAVES, job.id);
}

static void end_empty(struct hr__engine *engine, uint32_t node) {
  const int64_t passed_us = engine->view.now_us - engine->autoscaler->empty_since_us[node];
  engine->pool_accounting[pool_of(engine, node).id].empty_us += passed_us;
}

static enum hr_status start(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            int64_t run_us) {
  struct hr__autoscaler *self = engine->autoscaler;
  (void)run_us;
  hr__node_demand_remove(engine, job);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    const uint32_t node = placement->slices[i].node.id;
    if (self->n_tasks[node]++ == 0 && self->pools[placement->pool.id].is_scaled) end_empty(engine, node);
    note(engine, HR__CHANGE_NODE_JOBS, node);
  }
  return HR_OK;
}

static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (how == HR__STOP_KEEP_ALL || how == HR__STOP_KEEP_SAVED) {
    hr__node_demand_add(engine, job);
    note(engine, HR__CHANGE_JOB_WAITS, job.id);
  }
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    const uint32_t node = placement->slices[i].node.id;
    if (--self->n_tasks[node] == 0 && self->pools[placement->pool.id].is_scaled)
      self->empty_since_us[node] = engine->view.now_us;
    note(engine, HR__CHANGE_NODE_JOBS, node);
  }
  return HR_OK;
}

static enum hr_status node_up(struct hr__engine *engine, hr_pool pool, hr_node node) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (!self->pools[pool.id].is_scaled) return HR_OK;
  engine->pool_accounting[pool.id].provisioned++;
  const struct hr__node *up = &engine->cluster.nodes[node.id];
  engine->pool_accounting[pool.id].provision_us += engine->view.now_us - up->since_us + up->queued_us;
  self->empty_since_us[node.id] = engine->view.now_us;
  note(engine, HR__CHANGE_NODE_UP, node.id);
  return HR_OK;
}

/* Handles a node that has gone down. The node was up before if its boot was complete. */
static void node_down(struct hr__engine *engine, hr_pool pool, hr_node node) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (!self->pools[pool.id].is_scaled) return;
  if (self->empty_since_us[node.id] >= 0) end_empty(engine, node.id);
  self->empty_since_us[node.id] = -1;
  note(engine, HR__CHANGE_NODE_DOWN, node.id);
}

/* ---- Requests for nodes ----------------------------------------------------------------------------------- */

int64_t hr__nodes_allowed(const struct hr__engine *engine, uint32_t pool) {
  const struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__pool *pools = engine->cluster.pools;
  int64_t allowed = hr__ca_room(pools[pool].spec->nodes, hr__scaled_size(&pools[pool])), nodes = 0;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) nodes += hr__scaled_size(&pools[i]);
  if (self->spec->max_nodes && hr__ca_room(self->spec->max_nodes, nodes) < allowed)
    allowed = hr__ca_room(self->spec->max_nodes, nodes);
  for (uint32_t k = 0; k < self->spec->n_quotas; k++) {
    const struct hr_scaling_quota *quota = &self->spec->quotas[k];
    int64_t used = 0;
    if (!quota->of_pool[pool] || pools[pool].spec->gpus_per_node == 0) continue;
    for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
      if (quota->of_pool[i]) used += hr__scaled_size(&pools[i]) * pools[i].spec->gpus_per_node;
    const int64_t room = hr__ca_room(quota->max_gpus, used) / pools[pool].spec->gpus_per_node;
    if (room < allowed) allowed = room;
  }
  return allowed;
}

/* Draws at random whether the provider has no capacity for the next node of a pool. */
static bool draw_failure(struct hr__engine *engine, uint32_t pool) {
  struct hr__autoscaler *self = engine->autoscaler;
  const uint32_t number = self->pools[pool].n_requests++;
  if (!self->spec->failure_share || !(self->spec->failure_share[pool] > 0)) return false;
  struct hr__stream stream;
  hr__stream_init(&stream, engine->config->seed, HR__PURPOSE_BOOT, pool, 1);
  hr__stream_skip_to_life(&stream, number);
  const double draw = hr__stream_uniform(&stream);
  return draw < self->spec->failure_share[pool];
}

enum hr_status hr__node_request(struct hr__engine *engine, uint32_t pool, hr_node *node) {
  *node = (hr_node){HR_NONE};
  if (engine->cluster.pools[pool].n_offered == 0 || draw_failure(engine, pool)) return HR_OK;
  *node = hr__market_request(engine, (hr_pool){pool});
  engine->autoscaler->empty_since_us[node->id] = -1;
  return hr__market_launch(engine, *node);
}

enum hr_status hr__autoscaler_after_pass(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  self->has_acted = false;
  const enum hr_status status = self->lacks_memory ? HR_OK : self->rules->after_pass(engine);
  if (status != HR_OK || self->lacks_memory) return status != HR_OK ? status : hr__out_of_memory(engine);
  /* a pass follows, by which observers and the policy learn of the changes */
  return self->has_acted ? hr__schedule(engine, engine->view.now_us, HR__PENDING_TIMER, 0) : HR_OK;
}

bool hr_cluster_is_autoscaled(const struct hr_cluster *cluster) {
  return cluster->spec->autoscaler != NULL;
}

bool hr__autoscaler_may_grow(const struct hr__engine *engine, hr_job job) {
  const struct hr__autoscaler *self = engine->autoscaler;
  const uint32_t accept_class = hr_cluster_accept_class(&engine->cluster, job);
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool *pool = &engine->cluster.pools[i];
    if (self->pools[i].is_scaled && hr_cluster_accepts(&engine->cluster, accept_class, (hr_pool){i}) &&
        pool->n_in[HR_NODE_OFF] > 0 && hr__nodes_allowed(engine, i) > 0)
      return true;
  }
  return false;
}

/* ---- Start and end of a run ------------------------------------------------------------------------------- */

static bool allocate(struct hr__engine *engine, struct hr__autoscaler *self) {
  struct hr_arena *arena = &engine->arena;
  const size_t n_pools = engine->cluster.n_pools, n_nodes = engine->cluster.n_nodes;
  self->pools = hr_arena_alloc(arena, n_pools * sizeof *self->pools);
  self->room = hr_arena_alloc(arena, n_nodes * sizeof *self->room);
  self->n_tasks = hr_arena_alloc(arena, n_nodes * sizeof *self->n_tasks);
  self->empty_since_us = hr_arena_alloc(arena, n_nodes * sizeof *self->empty_since_us);
  self->waiting = hr_arena_alloc_by_job(arena, engine->trace->n_jobs, sizeof *self->waiting);
  return self->pools && self->room && self->n_tasks && self->empty_since_us && self->waiting;
}

static enum hr_status init(struct hr__engine *engine) {
  const struct hr_autoscaler_spec *spec = engine->config->cluster->autoscaler;
  if (!spec || !engine->cluster.nodes) return HR_OK;
  struct hr__autoscaler *self = hr_arena_alloc(&engine->arena, sizeof *self);
  if (!self || !allocate(engine, self)) return hr__out_of_memory(engine);
  self->spec = spec;
  self->rules = spec->kind == HR_NODE_AUTOSCALER_KARPENTER ? &hr__karpenter_rules : &hr__cluster_autoscaler_rules;
  self->first_kind = HR_NONE;
  engine->autoscaler = self;
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++) self->empty_since_us[i] = -1;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = engine->cluster.pools[i].spec;
    self->pools[i].is_scaled = pool->nodes > 0 && hr_market_is_elastic(pool->market.market);
    self->pools[i].node = hr__node_capacity(engine, i);
  }
  return self->rules->create(engine) ? HR_OK : hr__out_of_memory(engine);
}

static bool is_needed(const struct hr__engine *engine) {
  return engine->autoscaler;
}

static enum hr_status begin(struct hr__engine *engine) {
  if (engine->abilities & HR_POLICY_MANAGES_CAPACITY)
    return hr_fail(
        engine->error, HR_BAD_INPUT,
        "the policy '%s' requests and releases nodes itself, as does 'autoscaler' of the cluster; keep one of "
        "them",
        engine->config->policy->name);
  return engine->autoscaler->rules->begin(engine);
}

static void settle(struct hr__engine *engine) {
  const struct hr__autoscaler *self = engine->autoscaler;
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++) {
    const enum hr_node_state state = (enum hr_node_state)engine->cluster.nodes[i].state;
    if (self->n_tasks[i] == 0 && self->empty_since_us[i] >= 0 && state != HR_NODE_OFF && state != HR_NODE_BOOTING &&
        self->pools[pool_of(engine, i).id].is_scaled)
      end_empty(engine, i);
  }
}

static void close(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (!self) return;
  if (self->rules->close) self->rules->close(engine);
  free(self->kinds);
  free(self->pods);
  free(self->pods_of);
  free(self->states);
  free(self->order);
  free(self->log);
}

/* ---- Checked mode ----------------------------------------------------------------------------------------- */

static enum hr_status check(const struct hr__engine *engine, const struct hr__running *running) {
  const struct hr__autoscaler *self = engine->autoscaler;
  uint32_t n_waiting = 0;
  for (uint32_t at = self->first; at && running->every_job && !engine->whole;
       at = self->waiting[at - 1].after, n_waiting++)
    if (engine->state[at - 1] != HR_JOB_WAITING)
      return hr__broken(engine, "the autoscaler counts job %" PRIu32 " as waiting", at - 1);
  if (running->every_job && !engine->whole && n_waiting != engine->view.n_waiting)
    return hr__broken(engine, "the autoscaler counts %" PRIu32 " waiting jobs", n_waiting);
  int64_t nodes = 0, n_scaled = 0;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool *pool = &engine->cluster.pools[i];
    const struct hr_pool_accounting *account = &engine->pool_accounting[i];
    nodes += hr__scaled_size(pool);
    if (!self->pools[i].is_scaled) continue;
    n_scaled += hr__scaled_size(pool);
    if (account->provisioned + pool->n_in[HR_NODE_BOOTING] > account->launches)
      return hr__broken(engine, "pool '%s': more nodes have booted than were requested", pool->spec->name);
  }
  if (self->spec->max_nodes && n_scaled > 0 && nodes > self->spec->max_nodes)
    return hr__broken(engine, "%" PRId64 " nodes are there, more than the autoscaler may have", nodes);
  for (uint32_t k = 0; k < self->spec->n_quotas; k++) {
    int64_t used = 0;
    for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
      if (self->spec->quotas[k].of_pool[i])
        used += hr__scaled_size(&engine->cluster.pools[i]) * engine->cluster.pools[i].spec->gpus_per_node;
    if (used > self->spec->quotas[k].max_gpus)
      return hr__broken(engine, "%" PRId64 " GPUs are there, more than the quota of %" PRIu32, used,
                        self->spec->quotas[k].max_gpus);
  }
  return HR_OK;
}

const struct hr__component hr__component_autoscaler = {
    .disturbs_jobs = true,
    .is_endless = true,
    .init = init,
    .is_needed = is_needed,
    .begin = begin,
    .submit = submit,
    .start = start,
    .stop = stop,
    .forget = forget,
    .leave = forget,
    .node_up = node_up,
    .node_down = node_down,
    .kinds = 1u << HR__PENDING_SCAN,
    .advance = advance,
    .settle = settle,
    .close = close,
    .check = check,
};
