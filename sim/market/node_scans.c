/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When Kubernetes' cluster autoscaler scans the cluster, and what it does then. It uses the decisions of
 * sim/clusters/cluster_autoscaler.h.
 *
 * It scans the cluster at multiples of its scan interval, after the pass of that instant. If nothing has changed since
 * the last scan, a scan decides the same, unless an age, a delay or a back-off has ended. So scans are made only after
 * changes and at these times. A scan has four steps. It gives up nodes that did not boot in time. It requests nodes for
 * pools below their minimum. It grows one pool, and similar pools, for jobs that fit on no node. If it grows no pool,
 * it removes nodes.
 *
 * Invariant: a pool is not below its minimum after a scan unless the provider lacks nodes. Source:
 * kubernetes/autoscaler, cluster-autoscaler/core (static_autoscaler.go, scaleup, scaledown) and clusterstate at
 * f7bb0c36.
 */

#include "sim/market/autoscaler.h"

#define LONG_AGO (INT64_MIN / 4)

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

static void note_change(struct hr__engine *engine, const struct hr__scaling_change *change) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (change->kind == HR__CHANGE_NODE_UP || change->kind == HR__CHANGE_NODE_DOWN)
    self->unneeded_since_us[change->node] = -1;
  if (scan_from(engine, engine->view.now_us) != HR_OK) self->lacks_memory = true;
}

static enum hr_status advance(struct hr__engine *engine, uint32_t entity) {
  (void)entity;
  if (engine->view.now_us == engine->autoscaler->next_us) engine->autoscaler->is_due = true;
  return HR_OK;
}

/* ---- Requests for nodes ----------------------------------------------------------------------------------- */

static struct hr__ca_backoff_spec backoff_spec(const struct hr__autoscaler *self) {
  const struct hr_autoscaler_spec *spec = self->spec;
  return (struct hr__ca_backoff_spec){spec->backoff_us, spec->max_backoff_us, spec->backoff_reset_us};
}

static void fail_pool(struct hr__engine *engine, uint32_t pool) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__ca_backoff_spec spec = backoff_spec(self);
  hr__ca_forget(&spec, &self->pools[pool].backoff, engine->view.now_us); /* the last failure may be long ago */
  hr__ca_fail(&spec, &self->pools[pool].backoff, engine->view.now_us);
  engine->pool_accounting[pool].scale_failures++;
  self->failed_us = engine->view.now_us;
  hr__scan_is_due(self, self->pools[pool].backoff.until_us + 1);
}

enum hr_status hr__nodes_request(struct hr__engine *engine, uint32_t pool, int64_t count, int64_t *n_requested) {
  struct hr__autoscaler *self = engine->autoscaler;
  enum hr_status status = HR_OK;
  *n_requested = 0;
  while (status == HR_OK && *n_requested < count) {
    hr_node node;
    status = hr__node_request(engine, pool, &node);
    if (node.id == HR_NONE) break;
    self->unneeded_since_us[node.id] = -1;
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

static bool backs_off(struct hr__engine *engine, uint32_t pool) {
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
  if (lacks <= 0 || backs_off(engine, number)) return HR_OK;
  return hr__nodes_request(engine, number, lacks, &n_requested);
}

/* Returns whether waiting jobs can affect a scan: a pool may grow, or a node without a job may be removed. */
static bool must_place_jobs(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (!self->first) return self->spec->drains;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    if (self->pools[i].is_scaled && hr__nodes_allowed(engine, i) > 0 && !backs_off(engine, i)) return true;
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++)
    if (self->n_tasks[i] == 0 && self->empty_since_us[i] >= 0) return true;
  return self->spec->drains;
}

/* ---- A scan ----------------------------------------------------------------------------------------------- */

/* Returns whether all jobs that need nodes have waited for too short a time. */
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
  return status;
}

static enum hr_status after_pass(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (!self->is_due) return HR_OK;
  self->is_due = false;
  if (!engine->whole && hr__engine_is_over(engine, engine->view.now_us)) return HR_OK;
  self->last_us = engine->view.now_us;
  self->next_us = HR_NEVER_US;
  const enum hr_status status = scan(engine);
  return status == HR_OK && self->due_us != HR_NEVER_US ? scan_from(engine, self->due_us) : status;
}

/* ---- Start of a run ---------------------------------------------------------------------------------------- */

static bool create(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr_autoscaler_spec *spec = self->spec;
  struct hr_arena *arena = &engine->arena;
  const size_t n_pools = engine->cluster.n_pools, n_nodes = engine->cluster.n_nodes;
  self->groups = hr_arena_alloc(arena, n_pools * sizeof *self->groups);
  self->options = hr_arena_alloc(arena, n_pools * sizeof *self->options);
  self->option_pool = hr_arena_alloc(arena, n_pools * sizeof *self->option_pool);
  self->kept = hr_arena_alloc(arena, n_pools * sizeof *self->kept);
  self->scores = hr_arena_alloc(arena, n_pools * sizeof *self->scores);
  self->deletions = hr_arena_alloc(arena, n_pools * sizeof *self->deletions);
  self->packed = hr_arena_alloc(arena, (n_nodes + 2) * sizeof *self->packed);
  self->unneeded_since_us = hr_arena_alloc(arena, n_nodes * sizeof *self->unneeded_since_us);
  self->is_unneeded = hr_arena_alloc(arena, n_nodes * sizeof *self->is_unneeded);
  self->quotas = hr_arena_alloc(arena, (spec->n_quotas + 1) * sizeof *self->quotas);
  if (!self->groups || !self->options || !self->option_pool || !self->kept || !self->scores || !self->deletions ||
      !self->packed || !self->unneeded_since_us || !self->is_unneeded || !self->quotas)
    return false;
  for (uint32_t i = 0; i < spec->n_quotas; i++)
    self->quotas[i] = (struct hr__ca_quota){HR__CA_ALL_GROUPS,
                                            {{[HR__CPU_M] = INT64_MAX,
                                              [HR__MEMORY_BYTES] = INT64_MAX,
                                              [HR__GPUS] = (int64_t)spec->quotas[i].max_gpus * 1000}},
                                            spec->quotas[i].of_pool};
  self->next_us = HR_NEVER_US;
  self->last_us = -1;
  self->added_us = self->deleted_us = self->failed_us = LONG_AGO;
  for (uint32_t i = 0; i < n_nodes; i++) self->unneeded_since_us[i] = -1;
  return true;
}

static enum hr_status begin(struct hr__engine *engine) {
  return scan_from(engine, 0);
}

/* Kinds with a higher priority come first; among equal priorities, the kind with the oldest job. */
static bool precedes(const struct hr__pod_kind *kind, const struct hr__pod_kind *other) {
  return kind->priority > other->priority;
}

const struct hr__scaling_rules hr__cluster_autoscaler_rules = {.create = create,
                                                               .begin = begin,
                                                               .note = note_change,
                                                               .advance = advance,
                                                               .after_pass = after_pass,
                                                               .backs_off = backs_off,
                                                               .precedes = precedes};
