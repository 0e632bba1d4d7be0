/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An autoscaler that requests and removes the nodes of elastic pools, as a component of the engine. The rules are in
 * sim/clusters/cluster_autoscaler.h. This file gives them the state of the run and carries out their decisions.
 *
 * The autoscaler scans the cluster at multiples of its scan interval, after the pass of that instant. A scan without
 * changes since the last one decides the same unless some time has passed: an age, a delay, a back-off. So scans are
 * made only after changes and at these times. A scan first gives up nodes that did not boot in time, then keeps the
 * minimum of each pool, then grows one pool (and similar ones) for jobs that no node can take, or else removes nodes.
 *
 * Invariants: a pool never has more nodes than its maximum, and is not below its minimum after a scan unless the
 * provider lacks nodes; a removed node has no job. Source: kubernetes/autoscaler, cluster-autoscaler/core
 * (static_autoscaler.go, scaleup, scaledown) and clusterstate at f7bb0c36.
 */

#include "sim/market/autoscaler.h"
#include "base/random.h"

#define LONG_AGO (INT64_MIN / 4)

static hr_pool pool_of(const struct hr__engine *engine, uint32_t node) {
  return hr__cluster_pool_of(&engine->cluster, (hr_node){node});
}

/* ---- Scans ------------------------------------------------------------------------------------------------ */

/* Schedules the first scan from a time on, unless an earlier one is pending. */
static enum hr_status scan_from(struct hr__engine *engine, int64_t from_us) {
  struct hr__autoscaler *self = engine->autoscaler;
  const int64_t step_us = self->spec->scan_us;
  if (from_us <= self->last_us) from_us = self->last_us + 1;
  if (from_us > HR_NEVER_US - step_us) return HR_OK;
  const int64_t at_us = (from_us + step_us - 1) / step_us * step_us;
  if (at_us >= self->next_us) return HR_OK;
  self->next_us = at_us;
  return hr__schedule(engine, at_us, HR__PENDING_SCAN, 0);
}

static void note_change(struct hr__engine *engine) {
  if (scan_from(engine, engine->view.now_us) != HR_OK) engine->autoscaler->lacks_memory = true;
}

static enum hr_status advance(struct hr__engine *engine, struct hr__pending pending) {
  (void)pending;
  if (engine->view.now_us == engine->autoscaler->next_us) engine->autoscaler->is_due = true;
  return HR_OK;
}

/* ---- Jobs and nodes --------------------------------------------------------------------------------------- */

static void submit(struct hr__engine *engine, hr_job job) {
  engine->autoscaler->waiting[job.id] = (struct hr__waiting_job){0};
  hr__node_demand_add(engine, job);
  note_change(engine);
}

static void forget(struct hr__engine *engine, hr_job job) {
  hr__node_demand_remove(engine, job);
  note_change(engine);
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
  }
  note_change(engine);
  return HR_OK;
}

static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (how == HR__STOP_KEEP_ALL || how == HR__STOP_KEEP_SAVED) hr__node_demand_add(engine, job);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    const uint32_t node = placement->slices[i].node.id;
    if (--self->n_tasks[node] == 0 && self->pools[placement->pool.id].is_scaled)
      self->empty_since_us[node] = engine->view.now_us;
  }
  note_change(engine);
  return HR_OK;
}

static enum hr_status node_up(struct hr__engine *engine, hr_pool pool, hr_node node) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (!self->pools[pool.id].is_scaled) return HR_OK;
  engine->pool_accounting[pool.id].provisioned++;
  engine->pool_accounting[pool.id].provision_us += engine->view.now_us - engine->cluster.nodes[node.id].since_us;
  self->empty_since_us[node.id] = engine->view.now_us;
  self->unneeded_since_us[node.id] = -1;
  note_change(engine);
  return HR_OK;
}

/* The node was up if its boot is over. */
static void node_down(struct hr__engine *engine, hr_pool pool, hr_node node) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (!self->pools[pool.id].is_scaled) return;
  if (self->empty_since_us[node.id] >= 0) end_empty(engine, node.id);
  self->empty_since_us[node.id] = -1;
  self->unneeded_since_us[node.id] = -1;
  note_change(engine);
}

/* ---- Requests for nodes ----------------------------------------------------------------------------------- */

static struct hr__ca_backoff_spec backoff_spec(const struct hr__autoscaler *self) {
  const struct hr_autoscaler_spec *spec = self->spec;
  return (struct hr__ca_backoff_spec){spec->backoff_us, spec->max_backoff_us, spec->backoff_reset_us};
}

static void fail_pool(struct hr__engine *engine, uint32_t pool) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__ca_backoff_spec spec = backoff_spec(self);
  hr__ca_fail(&spec, &self->pools[pool].backoff, engine->view.now_us);
  engine->pool_accounting[pool].scale_failures++;
  self->failed_us = engine->view.now_us;
  hr__scan_is_due(self, self->pools[pool].backoff.until_us + 1);
}

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

/* Draws whether the provider has no capacity for the next node of a pool. */
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

enum hr_status hr__nodes_request(struct hr__engine *engine, uint32_t pool, int64_t count, int64_t *n_requested) {
  struct hr__autoscaler *self = engine->autoscaler;
  enum hr_status status = HR_OK;
  *n_requested = 0;
  while (status == HR_OK && *n_requested < count && engine->cluster.pools[pool].n_offered > 0) {
    if (draw_failure(engine, pool)) break;
    const hr_node node = hr__market_request(engine, (hr_pool){pool});
    self->empty_since_us[node.id] = self->unneeded_since_us[node.id] = -1;
    status = hr__market_launch(engine, node);
    ++*n_requested;
  }
  if (*n_requested > 0) hr__scan_is_due(self, engine->view.now_us + self->spec->provision_us + 1);
  if (*n_requested < count) fail_pool(engine, pool);
  self->has_acted = self->has_acted || *n_requested > 0;
  return status;
}

/* Gives up nodes that did not boot in time. */
static enum hr_status give_up_late(struct hr__engine *engine, uint32_t number) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__pool *pool = &engine->cluster.pools[number];
  enum hr_status status = HR_OK;
  bool any = false;
  for (uint32_t i = pool->first_node.id, end = i + pool->spec->nodes; i < end && status == HR_OK; i++) {
    if (pool->n_in[HR_NODE_BOOTING] == 0) break;
    if (engine->cluster.nodes[i].state != HR_NODE_BOOTING) continue;
    const int64_t end_us = engine->cluster.nodes[i].since_us + self->spec->provision_us;
    if (end_us >= engine->view.now_us) {
      hr__scan_is_due(self, end_us + 1);
      continue;
    }
    status = hr__market_take_down(engine, (hr_pool){number}, (hr_node){i}, HR_REASON_NOT_PROVISIONED);
    self->has_acted = any = true;
  }
  if (any) fail_pool(engine, number);
  return status;
}

bool hr__pool_backs_off(struct hr__engine *engine, uint32_t pool) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__ca_backoff_spec spec = backoff_spec(self);
  struct hr__ca_backoff *backoff = &self->pools[pool].backoff;
  hr__ca_forget(&spec, backoff, engine->view.now_us);
  if (!hr__ca_is_backed_off(backoff, engine->view.now_us)) return false;
  hr__scan_is_due(self, backoff->until_us + 1);
  return true;
}

static enum hr_status keep_minimum(struct hr__engine *engine, uint32_t number) {
  const struct hr__pool *pool = &engine->cluster.pools[number];
  const int64_t allowed = hr__nodes_allowed(engine, number);
  int64_t lacks = (int64_t)pool->spec->min_nodes - hr__scaled_size(pool), n_requested;
  if (allowed < lacks) lacks = allowed;
  if (lacks <= 0 || hr__pool_backs_off(engine, number)) return HR_OK;
  return hr__nodes_request(engine, number, lacks, &n_requested);
}

/* Whether waiting jobs matter to a scan: a pool may grow, or a node without a job may be removed. */
static bool must_place_jobs(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (!self->first) return self->spec->drains;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    if (self->pools[i].is_scaled && hr__nodes_allowed(engine, i) > 0 && !hr__pool_backs_off(engine, i)) return true;
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++)
    if (self->n_tasks[i] == 0 && self->empty_since_us[i] >= 0) return true;
  return self->spec->drains;
}

/* ---- A scan ----------------------------------------------------------------------------------------------- */

/* Returns whether all jobs that need nodes are too young. */
static bool are_young(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  const int64_t oldest_us = hr__node_demand_oldest_us(engine, false);
  const int64_t with_gpus_us = hr__node_demand_oldest_us(engine, true);
  int64_t old_us = oldest_us + self->spec->new_job_us;
  if (with_gpus_us != HR_NEVER_US && with_gpus_us + self->spec->new_gpu_job_us > old_us)
    old_us = with_gpus_us + self->spec->new_gpu_job_us;
  if (old_us <= engine->view.now_us) return false;
  hr__scan_is_due(self, old_us);
  return true;
}

static enum hr_status scan(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  enum hr_status status = HR_OK;
  bool grew = false, are_new = false;
  self->due_us = HR_NEVER_US;
  self->has_acted = false;
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++)
    if (self->pools[i].is_scaled) status = give_up_late(engine, i);
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++)
    if (self->pools[i].is_scaled) status = keep_minimum(engine, i);
  const bool any = status == HR_OK && must_place_jobs(engine);
  if (status == HR_OK && !any) memset(self->room, 0, engine->cluster.n_nodes * sizeof *self->room);
  if (any && hr__node_demand_find(engine)) {
    are_new = are_young(engine);
    if (!are_new) status = hr__nodes_grow(engine, &grew);
  }
  if (status == HR_OK && !grew) status = hr__nodes_remove(engine, are_new);
  return self->lacks_memory ? hr__out_of_memory(engine) : status;
}

enum hr_status hr__autoscaler_after_pass(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (self->lacks_memory) return hr__out_of_memory(engine);
  if (!self->is_due) return HR_OK;
  self->is_due = false;
  if (!engine->whole && hr__engine_is_over(engine, engine->view.now_us)) return HR_OK;
  self->last_us = engine->view.now_us;
  self->next_us = HR_NEVER_US;
  enum hr_status status = scan(engine);
  if (status == HR_OK && self->due_us != HR_NEVER_US) status = scan_from(engine, self->due_us);
  /* a pass follows, by which observers and the policy learn of the changes */
  return status == HR_OK && self->has_acted ? hr__schedule(engine, engine->view.now_us, HR__PENDING_TIMER, 0) : status;
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
  self->groups = hr_arena_alloc(arena, n_pools * sizeof *self->groups);
  self->options = hr_arena_alloc(arena, n_pools * sizeof *self->options);
  self->option_pool = hr_arena_alloc(arena, n_pools * sizeof *self->option_pool);
  self->kept = hr_arena_alloc(arena, n_pools * sizeof *self->kept);
  self->scores = hr_arena_alloc(arena, n_pools * sizeof *self->scores);
  self->deletions = hr_arena_alloc(arena, n_pools * sizeof *self->deletions);
  self->room = hr_arena_alloc(arena, n_nodes * sizeof *self->room);
  self->packed = hr_arena_alloc(arena, (n_nodes + 2) * sizeof *self->packed);
  self->unneeded_since_us = hr_arena_alloc(arena, n_nodes * sizeof *self->unneeded_since_us);
  self->is_unneeded = hr_arena_alloc(arena, n_nodes * sizeof *self->is_unneeded);
  self->n_tasks = hr_arena_alloc(arena, n_nodes * sizeof *self->n_tasks);
  self->empty_since_us = hr_arena_alloc(arena, n_nodes * sizeof *self->empty_since_us);
  self->quotas = hr_arena_alloc(arena, (self->spec->n_quotas + 1) * sizeof *self->quotas);
  self->waiting = hr_arena_alloc_by_job(arena, engine->trace->n_jobs, sizeof *self->waiting);
  return self->pools && self->groups && self->options && self->option_pool && self->kept && self->scores &&
         self->deletions && self->room && self->packed && self->unneeded_since_us && self->is_unneeded &&
         self->n_tasks && self->empty_since_us && self->quotas && self->waiting;
}

static enum hr_status init(struct hr__engine *engine) {
  const struct hr_autoscaler_spec *spec = engine->config->cluster->autoscaler;
  if (!spec || !engine->cluster.nodes) return HR_OK;
  struct hr__autoscaler *self = hr_arena_alloc(&engine->arena, sizeof *self);
  if (self) self->spec = spec;
  if (!self || !allocate(engine, self)) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < spec->n_quotas; i++)
    self->quotas[i] = (struct hr__ca_quota){HR__CA_ALL_GROUPS,
                                            {{[HR__CPU_M] = INT64_MAX,
                                              [HR__MEMORY_BYTES] = INT64_MAX,
                                              [HR__GPUS] = (int64_t)spec->quotas[i].max_gpus * 1000}},
                                            spec->quotas[i].of_pool};
  self->first_kind = HR_NONE;
  self->next_us = HR_NEVER_US;
  self->last_us = -1;
  self->added_us = self->deleted_us = self->failed_us = LONG_AGO;
  engine->autoscaler = self;
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++) self->unneeded_since_us[i] = self->empty_since_us[i] = -1;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = engine->cluster.pools[i].spec;
    self->pools[i].is_scaled = pool->nodes > 0 && hr_market_is_elastic(pool->market.market);
    self->pools[i].node = hr__node_capacity(engine, i);
  }
  return HR_OK;
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
  return scan_from(engine, 0);
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
