/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Market rules: when nodes of elastic pools are acquired and released.
 *
 * A demand is the set of waiting jobs with equal needs (demands.c). After the backfill has started jobs, the remaining
 * waiting jobs are packed on capacity that is free or booting, one demand after the other. For jobs that cannot be
 * packed, nodes are acquired in the pool that the rule prefers (supply.c).
 *
 * Under spot-first a job waits for spot capacity for a limited time, its patience, before it uses on-demand. A node
 * that has been idle for a minimum time is released (this file). Under spot-first, jobs on on-demand nodes may return
 * to spot capacity while no job waits (demands.c).
 */

#include "policies/queue/market/market.h"

/* ---- Idle nodes -------------------------------------------------------------------------------- */

/* Begins the idle time of a node. False: out of memory. */
static bool idle_begin(struct hr__queue *queue, hr_node node, int64_t now_us) {
  struct hr__market *market = queue->market;
  market->idle_us[node.id] = now_us;
  return hr__deadline_fifo_add(&market->idle, queue->arena,
                               (struct hr__deadline_entry){now_us + market->limits.idle_release_us, node.id});
}

/* Returns whether a node is up and no job is on it. */
static bool is_idle(const struct hr__queue *queue, hr_pool pool, hr_node node) {
  return hr_cluster_node_state(queue->cluster, node) == HR_NODE_UP && hr_capacity_is_idle(queue->capacity, pool, node);
}

/* Begins the idle time of the nodes of a placement that became empty when its job left. False: out of memory. */
static bool idle_after(struct hr__queue *queue, const struct hr_placement *placement, int64_t now_us) {
  if (!hr__market_is_elastic(queue, placement->pool.id)) return true;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    hr_node node = placement->slices[i].node;
    if (is_idle(queue, placement->pool, node) && !idle_begin(queue, node, now_us)) return false;
  }
  return true;
}

/* Returns whether the node of the entry has been idle without interruption since the entry was added. */
static bool is_still_idle(const struct hr__queue *queue, struct hr__deadline_entry entry, hr_pool pool) {
  return queue->market->idle_us[entry.id] + queue->market->limits.idle_release_us == entry.at_us &&
         is_idle(queue, pool, (hr_node){entry.id});
}

static hr_pool pool_of(const struct hr__queue *queue, uint32_t node) {
  uint32_t i = queue->market->n_pools - 1;
  while (hr_cluster_first_node(queue->cluster, (hr_pool){i}).id > node) i--;
  return (hr_pool){i};
}

/* Sets `spare` to the number of empty nodes by pool after all waiting jobs were packed on the capacity that is free or
   booting. A node that a waiting gang will use together with other nodes is not spare. False: out of memory. */
static bool count_spare(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  if (!hr__supply_begin(queue)) return false;
  for (uint32_t i = 0; i < market->n_demands; i++)
    hr__supply_pack(queue, &market->demands[i], market->demands[i].count - market->demands[i].held, false);
  for (uint32_t i = 0; i < market->n_pools; i++)
    market->spare[i] = hr__market_is_elastic(queue, i) ? hr__supply_empty_nodes(queue, i) : 0;
  return hr__supply_end(queue);
}

/* Returns whether an idle node of the pool may be released: a spare node remains, and the number of on-demand nodes
   exceeds their minimum. */
static bool is_spare(const struct hr__queue *queue, hr_pool pool) {
  const struct hr__market *market = queue->market;
  if (!hr__market_is_spot(queue, pool.id) && hr__market_n_active_in(queue, false, true) <= market->limits.min_on_demand)
    return false;
  return market->spare[pool.id] > 0;
}

/* Releases a node, and notifies the listeners. */
static enum hr_status release(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves, hr_pool pool,
                              hr_node node) {
  struct hr_event event = {
      .at_us = view->now_us, .kind = HR_EVENT_RELEASE, .job = {HR_NONE}, .pool = pool, .node = node};
  enum hr_status status = hr_moves_release(moves, node);
  queue->market->spare[pool.id]--;
  HR__NOTIFY(queue, status, node_changes, view, &event);
  return status;
}

/* Releases spare nodes that have been idle for the minimum time. */
static enum hr_status release_idle(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__market *market = queue->market;
  enum hr_status status = HR_OK;
  struct hr__deadline_entry entry;
  bool is_counted = false;
  while (status == HR_OK && hr__deadline_fifo_take(&market->idle, view->now_us, &entry)) {
    hr_pool pool = pool_of(queue, entry.id);
    if (!is_still_idle(queue, entry, pool)) continue;
    if (!is_counted && !count_spare(queue)) return HR_NO_MEMORY;
    is_counted = true;
    if (is_spare(queue, pool))
      status = release(queue, view, moves, pool, (hr_node){entry.id});
    else if (!idle_begin(queue, (hr_node){entry.id}, view->now_us)) /* check again after another idle time */
      return HR_NO_MEMORY;
  }
  return status;
}

/* ---- Events --------------------------------------------------------------------------------------- */

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  return hr__demand_add(queue, job, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_rejected(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  hr__demand_remove(queue, job);
  return HR_OK;
}

static enum hr_status kind_changes(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  return hr__demand_change(queue, job) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  const struct hr__market *market = queue->market;
  const struct hr__market_demand *demand = hr__market_demand_of(queue, job);
  (void)view;
  if (!demand) return HR_OK;
  if (market->placed) hr__placed_supply_job_changes(queue, job, placement, true);
  bool would_return = market->limits.returns && demand->may_use_spot && placement->n_slices == 1;
  hr__demand_remove(queue, job);
  if (!would_return || !hr__market_is_elastic(queue, placement->pool.id) ||
      hr__market_is_spot(queue, placement->pool.id))
    return HR_OK;
  return hr__returning_add(queue, job, placement->pool) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  hr__returning_drop(queue, event->job);
  if (queue->market->placed) hr__placed_supply_job_changes(queue, event->job, event->placement, false);
  return idle_after(queue, event->placement, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_moves(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                const struct hr_placement *from, const struct hr_placement *to) {
  hr__returning_drop(queue, job);
  if (queue->market->placed) {
    hr__placed_supply_job_changes(queue, job, from, false);
    hr__placed_supply_job_changes(queue, job, to, true);
  }
  return idle_after(queue, from, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status node_changes(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  struct hr__market *market = queue->market;
  hr_pool pool = event->pool;
  if (market->placed) hr__placed_supply_node_changes(queue, event);
  if (!hr__market_is_elastic(queue, pool.id)) return HR_OK;
  if (event->kind == HR_EVENT_OFFER) {
    bool offered = hr_cluster_offer(queue->cluster, pool) > 0;
    if (!offered) market->stable_us[pool.id] = HR_NEVER_US;
    if (offered && market->stable_us[pool.id] == HR_NEVER_US) market->stable_us[pool.id] = event->at_us;
    return HR_OK;
  }
  if (event->kind == HR_EVENT_NODE_DOWN) {
    if (market->stable_us[pool.id] != HR_NEVER_US) market->stable_us[pool.id] = event->at_us;
    return HR_OK;
  }
  return event->kind != HR_EVENT_NODE_UP || idle_begin(queue, event->node, event->at_us) ? HR_OK : HR_NO_MEMORY;
}

/* ---- Pass ----------------------------------------------------------------------------------------- */

/* Returns the next time after now at which the available capacity of some pool becomes stable; HR_NEVER_US: none. */
static int64_t next_stable_us(const struct hr__market *market, int64_t now_us) {
  int64_t next_us = HR_NEVER_US;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    if (market->stable_us[i] == HR_NEVER_US) continue;
    int64_t held_us = market->stable_us[i] + market->limits.spot_hold_us;
    if (held_us > now_us && held_us < next_us) next_us = held_us;
  }
  return next_us;
}

static enum hr_status request_wake(struct hr__market *market, const struct hr_view *view, struct hr_moves *moves) {
  int64_t next_us = hr__deadline_fifo_first_us(&market->idle),
          patience_us = hr__deadline_fifo_first_us(&market->patience);
  int64_t stable_us = market->limits.rule == HR__MARKET_SPOT_FIRST ? next_stable_us(market, view->now_us) : HR_NEVER_US;
  if (patience_us < next_us) next_us = patience_us;
  if (stable_us < next_us) next_us = stable_us;
  bool pending = market->wake_us > view->now_us && market->wake_us <= next_us;
  if (next_us == HR_NEVER_US || pending) return HR_OK;
  market->wake_us = next_us;
  return hr_moves_wake_at(moves, next_us);
}

/* Acquires nodes until the minimum number of on-demand nodes is reached. */
static enum hr_status keep_minimum(struct hr__queue *queue, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  uint32_t minimum = queue->market->limits.min_on_demand;
  for (uint32_t i = 0; minimum && i < queue->market->n_pools && status == HR_OK; i++) {
    uint32_t there = hr__market_n_active_in(queue, false, true);
    if (there >= minimum) break;
    if (!hr__market_is_elastic(queue, i) || hr__market_is_spot(queue, i)) continue;
    uint32_t offer = hr_cluster_offer(queue->cluster, (hr_pool){i});
    status = hr__supply_request(queue, moves, i, offer < minimum - there ? offer : minimum - there);
  }
  return status;
}

enum hr_status hr__market_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__market *market = queue->market;
  if (!hr__demands_count(queue, view->now_us)) return HR_NO_MEMORY;
  enum hr_status status = release_idle(queue, view, moves);
  if (status == HR_OK) status = keep_minimum(queue, moves);
  if (status == HR_OK && view->n_waiting)
    status = hr__supply_all(queue, view, moves);
  else if (status == HR_OK && market->n_returning)
    status = hr__returning_pass(queue, view, moves);
  return status == HR_OK ? request_wake(market, view, moves) : status;
}

/* ---- Construction --------------------------------------------------------------------------------- */

static uint32_t n_nodes(const struct hr_cluster *cluster) {
  hr_pool last = {hr_cluster_pools(cluster) - 1};
  return hr_cluster_first_node(cluster, last).id + hr_cluster_pool_spec(cluster, last)->nodes;
}

static const struct hr__listener listener = {.job_waits = job_waits,
                                             .job_starts = job_starts,
                                             .job_rejected = job_rejected,
                                             .job_stops = job_stops,
                                             .job_moves = job_moves,
                                             .kind_changes = kind_changes,
                                             .node_changes = node_changes};

bool hr__market_create(struct hr__queue *queue, const struct hr__market_limits *limits) {
  struct hr__market *market = hr_arena_alloc(queue->arena, sizeof *market);
  if (!market) return false;
  size_t n_pools = hr_cluster_pools(queue->cluster);
  uint32_t n_jobs = queue->trace->n_jobs;
  *market = (struct hr__market){.limits = *limits, .n_pools = (uint32_t)n_pools};
  market->demand_of = hr_arena_alloc_by_job(queue->arena, n_jobs, sizeof *market->demand_of);
  market->patience_us = hr_arena_alloc_by_job(queue->arena, n_jobs, sizeof *market->patience_us);
  market->stable_us = hr_arena_alloc(queue->arena, n_pools * sizeof *market->stable_us);
  market->idle_us = hr_arena_alloc(queue->arena, n_nodes(queue->cluster) * sizeof *market->idle_us);
  market->spare = hr_arena_alloc(queue->arena, n_pools * sizeof *market->spare);
  market->room = hr_arena_alloc(queue->arena, n_pools * sizeof *market->room);
  market->kind = hr_arena_alloc(queue->arena, n_pools * sizeof *market->kind);
  market->returning_at = hr_arena_alloc_by_job(queue->arena, n_jobs, sizeof *market->returning_at);
  bool all = market->returning_at && market->demand_of && market->patience_us && market->stable_us && market->idle_us &&
             market->spare && market->room && market->kind;
  if (!all) return false;
  for (uint32_t i = 0; i < n_pools; i++)
    market->kind[i] = hr_cluster_pool_spec(queue->cluster, (hr_pool){i})->market.market;
  /* Capacity that is available at the start of the run counts as stable. */
  for (uint32_t i = 0; i < n_pools; i++)
    market->stable_us[i] = hr_cluster_offer(queue->cluster, (hr_pool){i}) ? -limits->spot_hold_us : HR_NEVER_US;
  queue->market = market;
  hr__queue_add_listener(queue, &listener);
  return queue->by_gpu || queue->locality ? hr__placed_supply_create(queue) : hr__counted_supply_create(queue);
}
