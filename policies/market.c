/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When nodes of elastic pools are asked for and given back.
 *
 * After the backfill has started what fits, the jobs that still wait are laid, shape by shape, on the GPUs that are
 * free or booting; for those left over, nodes are asked for in the pool that the rule prefers. A pass costs shapes x
 * pools, whatever the number of waiting jobs: for spot-first, which lets a job wait a while for spot capacity before it
 * pays for on-demand, each shape counts its jobs whose while is over. A node that has been idle for long enough is
 * given back.
 *
 * market_demand.c counts who waits, market_lay.c lays them, market_ask.c asks for nodes, market_nodes.c gives them
 * back; market_return.c moves jobs back to spot capacity. All work on one plan (market_plan.h).
 */

#include "policies/market_plan.h"

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  struct hr__market_plan *market = queue->market;
  if (hr__gpus(queue, job) == 0) return HR_OK;
  const struct hr__demand *demand = &market->demands[market->demand_of[job.id]];
  hr__market_job_waits_no_more(queue, view, job);
  bool would_return = market->limits.returns && demand->may_use_spot && placement->n_slices == 1;
  if (!would_return || !hr__market_is_elastic(queue, placement->pool.id) ||
      hr__market_is_spot(queue, placement->pool.id))
    return HR_OK;
  return hr__market_add_guest(queue, job, placement) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  hr__market_drop_guest(queue, event->job);
  return hr__market_leave_place(queue, event->placement, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_moves(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                const struct hr_placement *from, const struct hr_placement *to) {
  (void)to;
  hr__market_drop_guest(queue, job);
  return hr__market_leave_place(queue, from, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

/* ---- The pass --------------------------------------------------------------------------------------- */

/* When spot capacity that is on offer will have been so for long enough. */
static int64_t next_calm_us(const struct hr__market_plan *market, int64_t now_us) {
  int64_t next_us = HR_NEVER_US;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    if (market->calm_us[i] == HR_NEVER_US) continue;
    int64_t held_us = market->calm_us[i] + market->limits.spot_hold_us;
    if (held_us > now_us && held_us < next_us) next_us = held_us;
  }
  return next_us;
}

static enum hr_status wake_for_next(struct hr__market_plan *market, const struct hr_view *view, struct hr_plan *plan) {
  int64_t next_us = hr__dues_first_us(&market->idle), patience_us = hr__dues_first_us(&market->patience);
  int64_t calm_us = market->limits.rule == HR__MARKET_SPOT_FIRST ? next_calm_us(market, view->now_us) : HR_NEVER_US;
  if (patience_us < next_us) next_us = patience_us;
  if (calm_us < next_us) next_us = calm_us;
  bool pending = market->wake_us > view->now_us && market->wake_us <= next_us;
  if (next_us == HR_NEVER_US || pending) return HR_OK;
  market->wake_us = next_us;
  return hr_plan_wake_at(plan, next_us);
}

enum hr_status hr__market_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__market_plan *market = queue->market;
  hr__market_lose_patience(market, view->now_us);
  if (queue->quota && !hr__market_count_held(queue)) return HR_NO_MEMORY;
  enum hr_status status = hr__market_release_idle(queue, view, plan);
  if (status == HR_OK) status = hr__market_keep_minimum(queue, plan);
  if (status == HR_OK && view->n_waiting) {
    hr__market_read_levels(queue);
    status = hr__market_supply(queue, view, plan);
  } else if (status == HR_OK && market->n_guests) {
    status = hr__market_bring_back(queue, view, plan);
  }
  return status == HR_OK ? wake_for_next(market, view, plan) : status;
}

/* ---- Making one ------------------------------------------------------------------------------------- */

static bool make_levels(struct hr__queue *queue) {
  struct hr__market_plan *market = queue->market;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    market->gpus_per_node[i] = hr_cluster_pool_spec(queue->cluster, (hr_pool){i})->gpus_per_node;
    market->levels[i] = hr_arena_alloc(queue->arena, (market->gpus_per_node[i] + 1) * sizeof **market->levels);
    if (!market->levels[i]) return false;
  }
  return true;
}

static uint32_t n_nodes(const struct hr_cluster *cluster) {
  hr_pool last = {hr_cluster_pools(cluster) - 1};
  return hr_cluster_first_node(cluster, last).id + hr_cluster_pool_spec(cluster, last)->nodes;
}

static const struct hr__listener listener = {.job_waits = hr__market_job_waits,
                                             .job_starts = job_starts,
                                             .job_rejected = hr__market_job_waits_no_more,
                                             .job_stops = job_stops,
                                             .job_moves = job_moves,
                                             .node_changes = hr__market_node_changes};

bool hr__market_create(struct hr__queue *queue, const struct hr__market_limits *limits) {
  struct hr__market_plan *market = hr_arena_alloc(queue->arena, sizeof *market);
  if (!market) return false;
  size_t n_pools = hr_cluster_pools(queue->cluster);
  uint32_t n_jobs = queue->trace->n_jobs;
  *market = (struct hr__market_plan){.limits = *limits, .n_pools = (uint32_t)n_pools};
  market->gpus_per_node = hr_arena_alloc(queue->arena, n_pools * sizeof *market->gpus_per_node);
  market->demand_of = hr_arena_alloc_by_job(queue->arena, n_jobs, sizeof *market->demand_of);
  market->patience_us = hr_arena_alloc_by_job(queue->arena, n_jobs, sizeof *market->patience_us);
  market->calm_us = hr_arena_alloc(queue->arena, n_pools * sizeof *market->calm_us);
  market->idle_us = hr_arena_alloc(queue->arena, n_nodes(queue->cluster) * sizeof *market->idle_us);
  market->levels = hr_arena_alloc(queue->arena, n_pools * sizeof(*market->levels));
  market->guest_at = hr_arena_alloc_by_job(queue->arena, n_jobs, sizeof *market->guest_at);
  bool all = market->guest_at && market->gpus_per_node && market->demand_of && market->patience_us && market->calm_us &&
             market->idle_us && market->levels;
  if (!all) return false;
  /* What is on offer at the beginning is taken to have been so for long. */
  for (uint32_t i = 0; i < n_pools; i++)
    market->calm_us[i] = hr_cluster_offer(queue->cluster, (hr_pool){i}) ? -limits->spot_hold_us : HR_NEVER_US;
  queue->market = market;
  hr__queue_listen(queue, &listener);
  return make_levels(queue);
}
