/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Market rules: when nodes of elastic pools are acquired and released.
 *
 * After the backfill has started what fits, the jobs that still wait are packed, demand by demand, on the GPUs that are
 * free or booting. For the rest, nodes are acquired in the pool that the rule prefers (market_demand.c). A pass costs
 * O(demands x pools), whatever the number of waiting jobs. Under spot-first a job waits for spot capacity for some time
 * before it uses on-demand; each demand counts its jobs that have waited for that time. A node that has been idle for
 * long enough is released. Under spot-first, jobs on on-demand nodes may return to spot capacity while no job waits.
 */

#include "policies/queue/market/market.h"

/* ---- Idle nodes ----------------------------------------------------------------------------------- */

static bool node_idles(struct hr__queue *queue, hr_node node, int64_t now_us) {
  struct hr__market *market = queue->market;
  market->idle_us[node.id] = now_us;
  return hr__deadline_fifo_add(&market->idle, queue->arena,
                               (struct hr__deadline_entry){now_us + market->limits.idle_release_us, node.id});
}

static enum hr_status node_changes(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  struct hr__market *market = queue->market;
  hr_pool pool = event->pool;
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
  return event->kind != HR_EVENT_NODE_UP || node_idles(queue, event->node, event->at_us) ? HR_OK : HR_NO_MEMORY;
}

/* After a job has left: nodes that are wholly free begin to idle. False: out of memory. */
static bool idle_after(struct hr__queue *queue, const struct hr_placement *placement, int64_t now_us) {
  if (!hr__market_is_elastic(queue, placement->pool.id)) return true;
  uint32_t first = hr_cluster_first_node(queue->cluster, placement->pool).id;
  const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, placement->pool);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    hr_node node = placement->slices[i].node;
    if (hr_free_index_get(index, node.id - first) != hr_free_index_gpus_per_node(index)) continue;
    if (!node_idles(queue, node, now_us)) return false;
  }
  return true;
}

static bool is_still_idle(const struct hr__queue *queue, struct hr__deadline_entry entry, hr_pool pool) {
  if (queue->market->idle_us[entry.id] + queue->market->limits.idle_release_us != entry.at_us) return false;
  if (hr_cluster_node_state(queue->cluster, (hr_node){entry.id}) != HR_NODE_UP) return false;
  const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, pool);
  uint32_t number = entry.id - hr_cluster_first_node(queue->cluster, pool).id;
  return hr_free_index_get(index, number) == hr_free_index_gpus_per_node(index);
}

static hr_pool pool_of(const struct hr__queue *queue, uint32_t node) {
  uint32_t i = queue->market->n_pools - 1;
  while (hr_cluster_first_node(queue->cluster, (hr_pool){i}).id > node) i--;
  return (hr_pool){i};
}

/* Packs all waiting jobs on free and booting nodes. No job waits for the remaining capacity. */
static void pack_all(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  hr__market_read_levels(queue);
  for (uint32_t i = 0; i < market->n_demands; i++)
    hr__market_pack(queue, &market->demands[i], market->demands[i].count - market->demands[i].held, false);
}

/* A wholly free node of the pool is spare if no waiting job will use it (such as a gang that lacks further nodes) and
   it is not needed for the minimum of on-demand nodes. */
static bool is_spare(const struct hr__queue *queue, hr_pool pool) {
  const struct hr__market *market = queue->market;
  if (!hr__market_is_spot(queue, pool.id) && hr__market_n_active_in(queue, false, true) <= market->limits.min_on_demand)
    return false;
  return market->levels[pool.id][market->gpus_per_node[pool.id]] > 0;
}

/* Releases the nodes that have been idle for long enough and that no job waits for. */
static enum hr_status release_idle(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__market *market = queue->market;
  enum hr_status status = HR_OK;
  struct hr__deadline_entry entry;
  if (hr__deadline_fifo_first_us(&market->idle) <= view->now_us) pack_all(queue);
  while (status == HR_OK && hr__deadline_fifo_take(&market->idle, view->now_us, &entry)) {
    hr_pool pool = pool_of(queue, entry.id);
    if (!is_still_idle(queue, entry, pool)) continue;
    if (!is_spare(queue, pool)) { /* checked again later */
      if (!node_idles(queue, (hr_node){entry.id}, view->now_us)) return HR_NO_MEMORY;
      continue;
    }
    market->levels[pool.id][market->gpus_per_node[pool.id]]--;
    status = hr_moves_release(moves, (hr_node){entry.id});
    if (status == HR_OK && queue->calendar)
      hr_release_calendar_set_usable(queue->calendar, pool, (hr_node){entry.id}, false);
  }
  return status;
}

/* ---- Return to spot capacity ---------------------------------------------------------------------- */

/* Notes a job that starts on one on-demand node and could use spot capacity. Gangs over several nodes stay where they
   are. */
static bool add_returning(struct hr__queue *queue, hr_job job, const struct hr_placement *placement) {
  struct hr__market *market = queue->market;
  if (market->n_returning == market->returning_capacity) {
    struct hr__returning_job *returning =
        hr_arena_grown(queue->arena, market->returning, &market->returning_capacity, sizeof *returning);
    if (!returning) return false;
    market->returning = returning;
  }
  market->returning[market->n_returning++] =
      (struct hr__returning_job){job, placement->pool.id, placement->slices[0].node.id};
  market->returning_at[job.id] = market->n_returning;
  return true;
}

/* Does nothing for other jobs. */
static void drop_returning(struct hr__queue *queue, hr_job job) {
  struct hr__market *market = queue->market;
  uint32_t at = market->returning_at[job.id];
  if (!at) return;
  market->returning_at[job.id] = 0;
  struct hr__returning_job last = market->returning[--market->n_returning];
  if (last.job.id == job.id) return;
  market->returning[at - 1] = last;
  market->returning_at[last.job.id] = at;
}

/* Finds the fullest node of a cheaper spot pool that the job accepts and that has room for it. */
static bool find_spot_node(const struct hr__queue *queue, const struct hr__returning_job *job, int64_t now_us,
                           struct hr_slice *slice, hr_pool *pool) {
  uint32_t gpus = hr__gpus(queue, job->job), accept_class = hr_cluster_accept_class(queue->cluster, job->job);
  int64_t price = hr_cluster_price_uusd_h(queue->cluster, (hr_pool){job->pool}, now_us);
  for (uint32_t i = 0; i < queue->market->n_pools; i++) {
    if (!hr__market_is_spot(queue, i) || !hr_cluster_accepts(queue->cluster, accept_class, (hr_pool){i})) continue;
    if (!hr__market_is_stable(queue->market, i, now_us) ||
        hr_cluster_price_uusd_h(queue->cluster, (hr_pool){i}, now_us) >= price)
      continue;
    const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, (hr_pool){i});
    uint32_t free = hr_free_index_lowest(index, gpus);
    if (free == HR_NONE) continue;
    uint32_t number = hr_free_index_node(index, free, 0);
    *slice = (struct hr_slice){{hr_cluster_first_node(queue->cluster, (hr_pool){i}).id + number}, gpus * 1000, 0};
    *pool = (hr_pool){i};
    return true;
  }
  return false;
}

/* Excludes jobs that have just started, and jobs that will end soon by their limit. */
static bool is_worth_moving(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  if (view->attempt_us[job.id] == view->now_us) return false;
  return hr_trace_limit_us(queue->trace, job) - hr_view_done_us(view, job) > queue->market->limits.spot_hold_us;
}

/* Moves a running job to another placement without loss of work. */
static enum hr_status migrate(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves, hr_job job,
                              const struct hr_placement *from, const struct hr_placement *to) {
  enum hr_status status = hr_moves_preempt(moves, job, HR_REASON_POLICY);
  if (status == HR_OK) status = hr_moves_start(moves, job, to, HR_REASON_IN_ORDER);
  queue->freed = true;
  HR__NOTIFY(queue, status, job_moves, view, job, from, to);
  return status == HR_OK ? hr__queue_refresh(queue, view) : status;
}

static enum hr_status move_job(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                               struct hr__returning_job job, const struct hr_placement *to) {
  struct hr_slice slice = {{job.node}, hr__gpus(queue, job.job) * 1000, 0};
  struct hr_placement from = {{job.pool}, 1, &slice};
  return migrate(queue, view, moves, job.job, &from, to);
}

/* Moves jobs to spot nodes with room. `*leaving`: how many. A job that moves leaves the list, and the last one takes
   its place. */
static enum hr_status move_all(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                               uint32_t *leaving) {
  struct hr__market *market = queue->market;
  enum hr_status status = HR_OK;
  for (uint32_t i = market->n_returning;
       i-- > 0 && status == HR_OK && hr__market_keeps_share(queue, 0, *leaving + 1);) {
    struct hr_slice slice;
    if (!is_worth_moving(queue, view, market->returning[i].job)) continue;
    struct hr_placement to = {.n_slices = 1, .slices = &slice};
    if (!find_spot_node(queue, &market->returning[i], view->now_us, &slice, &to.pool)) continue;
    status = move_job(queue, view, moves, market->returning[i], &to);
    ++*leaving;
  }
  return status;
}

/* While no job waits: moves jobs to spot nodes, and acquires nodes for those that find none. */
static enum hr_status return_to_spot(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__market *market = queue->market;
  uint32_t leaving = 0;
  enum hr_status status = move_all(queue, view, moves, &leaving);
  if (status != HR_OK || market->n_returning == 0) return status;
  hr__market_read_levels(queue);
  for (uint32_t i = 0; i < market->n_returning && status == HR_OK; i++) {
    if (!is_worth_moving(queue, view, market->returning[i].job)) continue;
    uint32_t found, gpus = hr__gpus(queue, market->returning[i].job);
    struct hr__market_demand demand = {.gpus = gpus,
                                       .accept_class =
                                           hr_cluster_accept_class(queue->cluster, market->returning[i].job),
                                       .is_single = true};
    leaving++;
    if (hr__market_pack(queue, &demand, 1, true)) continue;
    if (!hr__market_keeps_share(queue, 1, leaving)) break;
    status = hr__market_acquire(queue, &demand, 1, true, view, moves, &found);
    if (!found) break; /* none is available */
  }
  return status;
}

static enum hr_status keep_minimum(struct hr__queue *queue, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < queue->market->n_pools && status == HR_OK; i++) {
    uint32_t there = hr__market_n_active_in(queue, false, true), minimum = queue->market->limits.min_on_demand;
    if (there >= minimum) break;
    if (!hr__market_is_elastic(queue, i) || hr__market_is_spot(queue, i)) continue;
    status = hr_moves_acquire(moves, (hr_pool){i},
                              hr__min_u32(minimum - there, hr_cluster_offer(queue->cluster, (hr_pool){i})));
  }
  return status;
}

static enum hr_status job_waits_no_more(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  struct hr__market *market = queue->market;
  if (hr__gpus(queue, job) == 0) return HR_OK;
  struct hr__market_demand *demand = &market->demands[market->demand_of[job.id]];
  demand->count--;
  demand->impatient -= market->patience_us[job.id] == HR__IMPATIENT;
  market->patience_us[job.id] = HR_NEVER_US;
  return HR_OK;
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  struct hr__market *market = queue->market;
  if (hr__gpus(queue, job) == 0) return HR_OK;
  const struct hr__market_demand *demand = &market->demands[market->demand_of[job.id]];
  job_waits_no_more(queue, view, job);
  bool would_return = market->limits.returns && demand->may_use_spot && placement->n_slices == 1;
  if (!would_return || !hr__market_is_elastic(queue, placement->pool.id) ||
      hr__market_is_spot(queue, placement->pool.id))
    return HR_OK;
  return add_returning(queue, job, placement) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  drop_returning(queue, event->job);
  return idle_after(queue, event->placement, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_moves(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                const struct hr_placement *from, const struct hr_placement *to) {
  (void)to;
  drop_returning(queue, job);
  return idle_after(queue, from, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

/* ---- The pass ------------------------------------------------------------------------------------- */

/* The next time at which available spot capacity becomes stable. */
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

enum hr_status hr__market_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__market *market = queue->market;
  if (!hr__market_count_demand(queue, view->now_us)) return HR_NO_MEMORY;
  enum hr_status status = release_idle(queue, view, moves);
  if (status == HR_OK) status = keep_minimum(queue, moves);
  if (status == HR_OK && view->n_waiting) {
    hr__market_read_levels(queue);
    status = hr__market_supply(queue, view, moves);
  } else if (status == HR_OK && market->n_returning) {
    status = return_to_spot(queue, view, moves);
  }
  return status == HR_OK ? request_wake(market, view, moves) : status;
}

/* ---- Construction --------------------------------------------------------------------------------- */

static bool make_levels(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
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
                                             .job_rejected = job_waits_no_more,
                                             .job_stops = job_stops,
                                             .job_moves = job_moves,
                                             .node_changes = node_changes};

bool hr__market_create(struct hr__queue *queue, const struct hr__market_limits *limits) {
  struct hr__market *market = hr_arena_alloc(queue->arena, sizeof *market);
  if (!market) return false;
  size_t n_pools = hr_cluster_pools(queue->cluster);
  uint32_t n_jobs = queue->trace->n_jobs;
  *market = (struct hr__market){.limits = *limits, .n_pools = (uint32_t)n_pools};
  market->gpus_per_node = hr_arena_alloc(queue->arena, n_pools * sizeof *market->gpus_per_node);
  market->demand_of = hr_arena_alloc_by_job(queue->arena, n_jobs, sizeof *market->demand_of);
  market->patience_us = hr_arena_alloc_by_job(queue->arena, n_jobs, sizeof *market->patience_us);
  market->stable_us = hr_arena_alloc(queue->arena, n_pools * sizeof *market->stable_us);
  market->idle_us = hr_arena_alloc(queue->arena, n_nodes(queue->cluster) * sizeof *market->idle_us);
  market->levels = hr_arena_alloc(queue->arena, n_pools * sizeof(*market->levels));
  market->returning_at = hr_arena_alloc_by_job(queue->arena, n_jobs, sizeof *market->returning_at);
  bool all = market->returning_at && market->gpus_per_node && market->demand_of && market->patience_us &&
             market->stable_us && market->idle_us && market->levels;
  if (!all) return false;
  /* Capacity that is available at the start counts as stable. */
  for (uint32_t i = 0; i < n_pools; i++)
    market->stable_us[i] = hr_cluster_offer(queue->cluster, (hr_pool){i}) ? -limits->spot_hold_us : HR_NEVER_US;
  queue->market = market;
  hr__queue_add_listener(queue, &listener);
  return make_levels(queue);
}
