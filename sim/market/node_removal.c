/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which nodes an autoscaler removes. In each scan, a node is unneeded if it has no job and no waiting job would use it,
 * or if its utilization is low and all its jobs fit on other nodes. A node that was unneeded in all scans for long
 * enough is removed, with three exceptions: a delay after another change has not ended; the pool is at its minimum;
 * enough other nodes are removed in this scan.
 *
 * Layout: the time since which each node is unneeded, by node. Invariant: no pool falls below its minimum. Source:
 * kubernetes/autoscaler, cluster-autoscaler/core/scaledown.
 */

#include "sim/market/autoscaler.h"

/* Returns whether all jobs of a node fit on other nodes that are up. If they do, the room for them is reserved. */
static bool may_drain(struct hr__engine *engine, uint32_t node) {
  const struct hr__residents *residents = &engine->residents;
  for (uint32_t link = residents->first[node]; link; link = residents->links[link - 1].next) {
    const hr_job job = residents->links[link - 1].job;
    const struct hr__pod_kind *kind = hr__node_demand_kind(engine, job);
    struct hr_slice one;
    const struct hr_placement placement = hr__allocation_placement(engine, job, &one);
    bool fits = false;
    for (uint32_t i = 0; i < placement.n_slices; i++)
      if (placement.slices[i].node.id != node) return false; /* the job has other nodes, too */
    for (uint32_t pool = 0; pool < engine->cluster.n_pools && !fits; pool++)
      fits = hr__pod_kind_suits(engine, kind, pool) && hr__node_demand_place(engine, kind, pool, node);
    if (!fits) return false;
  }
  return true;
}

static bool is_unneeded(struct hr__engine *engine, uint32_t pool, uint32_t node) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__node_amounts *whole = &self->pools[pool].node;
  const struct hr__node_room *room = &self->room[node];
  if (engine->cluster.nodes[node].state != HR_NODE_UP || room->is_needed) return false;
  if (self->n_tasks[node] == 0) return true;
  if (!self->spec->drains) return false;
  struct hr__ca_use use = {.containers = *whole};
  hr__amounts_add(&use.containers, &room->free, -1);
  const struct hr__ca_used_node used = {
      .allocatable = *whole, .has_gpus = whole->of[HR__GPUS] > 0, .pods = &use, .n_pods = 1};
  const struct hr__ca_candidate candidate = {
      .is_ready = true, .has_group = true, .threshold = self->spec->utilization_threshold};
  if (hr__ca_eligible(&candidate, &used) != HR__CA_NO_REASON) return false;
  self->room[node].is_usable = false;
  const bool may = may_drain(engine, node);
  self->room[node].is_usable = !may; /* jobs of other nodes do not move to this node */
  return may;
}

/* Records which nodes are unneeded: first nodes without jobs, then nodes with jobs that could move. */
static void note_unneeded(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  memset(self->is_unneeded, 0, engine->cluster.n_nodes * sizeof *self->is_unneeded);
  for (int with_jobs = 0; with_jobs <= (self->spec->drains ? 1 : 0); with_jobs++)
    for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
      const struct hr__pool *pool = &engine->cluster.pools[i];
      const uint32_t first = pool->first_node.id;
      for (uint32_t k = 0; k < pool->spec->nodes && self->pools[i].is_scaled; k++) {
        if ((self->n_tasks[first + k] > 0) != (with_jobs == 1)) continue;
        self->is_unneeded[first + k] = is_unneeded(engine, i, first + k);
        /* jobs of other nodes are not moved to an empty unneeded node */
        if (self->is_unneeded[first + k]) self->room[first + k].is_usable = false;
      }
    }
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool *pool = &engine->cluster.pools[i];
    const uint32_t first = pool->first_node.id;
    if (self->pools[i].is_scaled)
      hr__ca_note_unneeded(&self->unneeded_since_us[first], &self->is_unneeded[first], pool->spec->nodes,
                           engine->view.now_us);
  }
}

/* Returns when the delays before removals end. */
static int64_t delays_end_us(const struct hr__autoscaler *self) {
  const struct hr_autoscaler_spec *spec = self->spec;
  int64_t end_us = self->added_us + spec->after_add_us;
  const int64_t others[] = {self->deleted_us + spec->after_delete_us, self->failed_us + spec->after_failure_us};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i] > end_us) end_us = others[i];
  return end_us;
}

static bool may_go(const struct hr__engine *engine, uint32_t pool, uint32_t node, int64_t size) {
  const struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__node_amounts no_minimum = {{INT64_MAX, INT64_MAX, INT64_MAX}};
  const struct hr__ca_candidate candidate = {.is_ready = true,
                                             .has_group = true,
                                             .since_us = self->unneeded_since_us[node],
                                             .unneeded_us = self->spec->unneeded_us,
                                             .group_size = size,
                                             .group_min = engine->cluster.pools[pool].spec->min_nodes,
                                             .cluster_left = no_minimum,
                                             .cluster_nodes_left = INT64_MAX};
  return self->unneeded_since_us[node] >= 0 &&
         hr__ca_removable(&candidate, &self->pools[pool].node, engine->view.now_us) == HR__CA_NO_REASON;
}

/* Counts the nodes of a pool that may be removed, empty nodes first. Records when other nodes may be removed. */
static struct hr__ca_deletion count_candidates(struct hr__engine *engine, uint32_t number, int64_t delayed_us) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__pool *pool = &engine->cluster.pools[number];
  struct hr__ca_deletion found = {0};
  int64_t size = hr__scaled_size(pool);
  for (int with_jobs = 0; with_jobs <= 1; with_jobs++)
    for (uint32_t k = 0; k < pool->spec->nodes; k++) {
      const uint32_t node = pool->first_node.id + k;
      const int64_t since_us = self->unneeded_since_us[node];
      if (since_us < 0 || (self->n_tasks[node] > 0) != (with_jobs == 1) || size <= pool->spec->min_nodes) continue;
      if (engine->view.now_us < delayed_us || !may_go(engine, number, node, size)) {
        const int64_t age_us = since_us + self->spec->unneeded_us + 1;
        hr__scan_is_due(self, age_us > delayed_us ? age_us : delayed_us);
        continue;
      }
      size--;
      found.empty += with_jobs == 0;
      found.drain += with_jobs == 1;
    }
  return found;
}

static enum hr_status remove_nodes(struct hr__engine *engine, uint32_t number, int64_t count, bool with_jobs) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__pool *pool = &engine->cluster.pools[number];
  enum hr_status status = HR_OK;
  for (uint32_t k = 0; k < pool->spec->nodes && count > 0 && status == HR_OK; k++) {
    const uint32_t node = pool->first_node.id + k;
    if (self->unneeded_since_us[node] < 0 || (self->n_tasks[node] > 0) != with_jobs) continue;
    if (!may_go(engine, number, node, hr__scaled_size(pool))) continue;
    status = hr__market_take_down(engine, (hr_pool){number}, (hr_node){node}, HR_REASON_SCALED_DOWN);
    engine->pool_accounting[number].removals++;
    self->deleted_us = engine->view.now_us;
    self->has_acted = true;
    count--;
  }
  return status;
}

enum hr_status hr__nodes_remove(struct hr__engine *engine, bool is_off) {
  struct hr__autoscaler *self = engine->autoscaler;
  const uint32_t n_pools = engine->cluster.n_pools;
  const int64_t end_us = delays_end_us(self), delayed_us = is_off ? engine->view.now_us + 1 : end_us;
  enum hr_status status = HR_OK;
  int64_t left = 0;
  note_unneeded(engine);
  for (uint32_t i = 0; i < n_pools; i++) {
    self->deletions[i] = (struct hr__ca_deletion){0};
    self->kept[i] = i;
    if (self->pools[i].is_scaled) self->deletions[i] = count_candidates(engine, i, delayed_us);
  }
  struct hr__ca_deletions all = {self->deletions, self->kept, self->kept, n_pools, n_pools};
  hr__ca_take(&all, (struct hr__ca_budget){self->spec->max_deletions, self->spec->max_drains});
  for (uint32_t i = 0; i < n_pools; i++) {
    const struct hr__ca_deletion *taken = &self->deletions[i];
    left += taken->empty + taken->drain - taken->take_empty - taken->take_drain;
    if (status == HR_OK) status = remove_nodes(engine, i, taken->take_empty, false);
    if (status == HR_OK) status = remove_nodes(engine, i, taken->take_drain, true);
  }
  if (left > 0) hr__scan_is_due(self, engine->view.now_us + 1);
  return status;
}
