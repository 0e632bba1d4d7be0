/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Market rules: when nodes of elastic pools are acquired and released.
 *
 * A demand is the set of waiting jobs with equal requests. After the backfill has started jobs, this module packs the
 * remaining waiting jobs on GPUs that are free or booting, one demand after the other. Packing only counts; it starts
 * no jobs. For jobs that cannot be packed, nodes are acquired in the pool that the rule prefers. A pass costs O(demands
 * x pools), independent of the number of waiting jobs.
 *
 * Under spot-first a job waits for spot capacity for a limited time, its patience, before it uses on-demand. Each
 * demand has a count of its jobs without remaining patience. A node that has been idle for a minimum time is released.
 * Under spot-first, jobs on on-demand nodes may return to spot capacity while no job waits.
 */

#include "policies/queue/market/market.h"

#include "policies/queue/quota/quota.h"

#include <math.h>

/* ---- Packing -------------------------------------------------------------------------------------- */

static uint32_t min_u32(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* Returns the number of nodes of `size` GPUs that a gang with `gpus` GPUs uses. */
static uint32_t nodes_per_job(uint32_t gpus, uint32_t size) {
  return gpus / size + (gpus % size != 0);
}

/* Sets `levels` to the number of nodes that are up or booting, by pool and number of free GPUs of the node. */
static void read_levels(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, (hr_pool){i});
    for (uint32_t free = 1; free <= market->gpus_per_node[i]; free++)
      market->levels[i][free] = hr_free_index_count(index, free);
    market->levels[i][market->gpus_per_node[i]] += hr_cluster_nodes_in(queue->cluster, (hr_pool){i}, HR_NODE_BOOTING);
  }
}

/* Packs up to `count` jobs of a demand on the nodes that `levels` counts. Each node has `size` GPUs. Returns the number
   of packed jobs. */
static uint32_t pack_in_pool(uint32_t *levels, uint32_t size, const struct hr__market_demand *demand, uint32_t count) {
  uint32_t gpus = demand->gpus, packed = 0;
  if (gpus == 0) return count;
  if (!demand->is_single) {
    uint32_t nodes = nodes_per_job(gpus, size);
    packed = min_u32(count, levels[size] / nodes);
    levels[size] -= packed * nodes;
    if (gpus % size) levels[size - gpus % size] += packed;
    return packed;
  }
  for (uint32_t free = gpus; free <= size && packed < count; free++) {
    uint32_t per_node = free / gpus, jobs = min_u32(count - packed, levels[free] * per_node);
    uint32_t nodes = (jobs + per_node - 1) / per_node;
    levels[free] -= nodes;
    levels[free - per_node * gpus] += nodes;
    packed += jobs;
  }
  return packed;
}

/* Packs up to `count` jobs of a demand on the nodes that `levels` counts, in the pools that the jobs accept (if
   `spot_only`, in spot pools only). Returns the number of packed jobs. */
static uint32_t pack(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count, bool spot_only) {
  uint32_t packed = 0;
  for (uint32_t i = 0; i < queue->market->n_pools && packed < count; i++)
    if ((!spot_only || hr__market_is_spot(queue, i)) &&
        hr_cluster_accepts(queue->cluster, demand->accept_class, (hr_pool){i}))
      packed += pack_in_pool(queue->market->levels[i], queue->market->gpus_per_node[i], demand, count - packed);
  return packed;
}

/* ---- Demands -------------------------------------------------------------------------------------- */

static bool may_use_spot(const struct hr__queue *queue, uint32_t accept_class) {
  for (uint32_t i = 0; i < queue->market->n_pools; i++)
    if (hr__market_is_spot(queue, i) && hr_cluster_accepts(queue->cluster, accept_class, (hr_pool){i})) return true;
  return false;
}

/* Returns the index of the job's demand, created if needed; HR_NONE: out of memory. */
static uint32_t find_demand(struct hr__queue *queue, hr_job job) {
  struct hr__market *market = queue->market;
  uint32_t gpus = hr__gpus(queue, job), accept_class = hr_cluster_accept_class(queue->cluster, job);
  for (uint32_t i = 0; i < market->n_demands; i++)
    if (market->demands[i].gpus == gpus && market->demands[i].accept_class == accept_class) return i;
  struct hr__market_demand *demands =
      hr__ensure_room(queue->arena, market->demands, market->n_demands, &market->demands_capacity, sizeof *demands);
  if (!demands) return HR_NONE;
  market->demands = demands;
  demands[market->n_demands] =
      (struct hr__market_demand){.gpus = gpus,
                                 .accept_class = accept_class,
                                 .is_single = hr_placer_is_single(queue->placer, gpus, accept_class),
                                 .may_use_spot = may_use_spot(queue, accept_class)};
  return market->n_demands++;
}

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr__market *market = queue->market;
  if (hr__gpus(queue, job) == 0) return HR_OK;
  uint32_t at = find_demand(queue, job);
  if (at == HR_NONE) return HR_NO_MEMORY;
  market->demand_of[job.id] = at;
  market->demands[at].count++;
  market->patience_us[job.id] = view->now_us + market->limits.spot_wait_us;
  if (market->limits.rule != HR__MARKET_SPOT_FIRST || !market->demands[at].may_use_spot) return HR_OK;
  struct hr__deadline_entry entry = {market->patience_us[job.id], job.id};
  return hr__deadline_fifo_add(&market->patience, queue->arena, entry) ? HR_OK : HR_NO_MEMORY;
}

/* Counts jobs without remaining patience. An entry of a job that has started or ended meanwhile is skipped. It is
   recognized because patience_us then differs from the time of the entry: after a start it is HR_NEVER_US, and after
   the state of an ended job was discarded it reads as 0. No entry with time 0 is left by then, because such entries are
   removed in the first pass, before any job that waited can have ended. */
static void end_patience(struct hr__market *market, int64_t now_us) {
  struct hr__deadline_entry entry;
  while (hr__deadline_fifo_take(&market->patience, now_us, &entry)) {
    if (market->patience_us[entry.id] != entry.at_us) continue; /* the job has started or ended meanwhile */
    market->patience_us[entry.id] = HR__IMPATIENT;
    market->demands[market->demand_of[entry.id]].impatient++;
  }
}

/* If the tenant's quota admits the job in addition to the jobs that this function has accepted before, subtracts the
   job from the `held` jobs of its demand, and adds it to the usage of its tenant for the rest of the count. */
static bool count_in(void *self, struct hr_job_entry entry) {
  struct hr__queue *queue = self;
  struct hr__market *market = queue->market;
  if (hr__gpus(queue, entry.job) == 0) return true;
  if (!hr__quota_allows(queue, entry.job)) return false;
  market->counted =
      hr__ensure_room(queue->arena, market->counted, market->n_counted, &market->counted_capacity, sizeof(hr_job));
  if (!market->counted) return false;
  market->counted[market->n_counted++] = entry.job;
  market->demands[market->demand_of[entry.job.id]].held--;
  hr__quota_count(queue, entry.job);
  return true;
}

/* Sets `held` of each demand: the number of its jobs that quotas would block even if there were enough nodes. False:
   out of memory. */
static bool count_held(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  market->n_counted = 0;
  for (uint32_t i = 0; i < market->n_demands; i++) market->demands[i].held = market->demands[i].count;
  for (uint32_t i = 0; i < queue->waiting.n_active_subqueues; i++)
    hr_job_tree_each(&queue->waiting.active_subqueues[i]->jobs, NULL, count_in, queue);
  for (uint32_t i = 0; i < market->n_counted; i++) hr__quota_uncount(queue, market->counted[i]);
  return market->counted || market->n_counted == 0;
}

/* Sets `impatient` and `held` of each demand. False: out of memory. */
static bool count_demands(struct hr__queue *queue, int64_t now_us) {
  end_patience(queue->market, now_us);
  return !queue->quota || count_held(queue);
}

/* ---- Acquiring nodes ------------------------------------------------------------------------------ */

/* Returns the price of a GPU-hour in the pool, increased by the expected cost of the work lost to reclaims. This cost
   increases with the pool's share of all elastic nodes, because the nodes of one pool may be reclaimed together. */
static double score(const struct hr__queue *queue, uint32_t pool, int64_t now_us) {
  double price = (double)hr_cluster_price_uusd_h(queue->cluster, (hr_pool){pool}, now_us);
  uint32_t all = hr__market_n_active_in(queue, true, true);
  double share = all ? (double)hr__market_n_active(queue, pool) / all : 0;
  double reclaims_per_h = hr_cluster_reclaims_per_h(queue->cluster, (hr_pool){pool});
  return price * (1 + reclaims_per_h * queue->market->limits.reclaim_hours * (1 + share));
}

/* Returns the number of nodes of the pool that may be acquired now. */
static uint32_t room(const struct hr__queue *queue, uint32_t pool, int64_t now_us) {
  const struct hr__market *market = queue->market;
  uint32_t offer = hr_cluster_offer(queue->cluster, (hr_pool){pool});
  if (!offer || !hr__market_is_spot(queue, pool)) return offer;
  if (market->limits.rule == HR__MARKET_ON_DEMAND_ONLY) return 0;
  if (market->limits.rule == HR__MARKET_SPOT_FIRST && !hr__market_is_stable(market, pool, now_us)) return 0;
  if (market->limits.max_spot_share >= 1) return offer;
  double spot = hr__market_n_active_in(queue, true, false), others = hr__market_n_active_in(queue, false, true);
  double maximum = floor(market->limits.max_spot_share * others / (1 - market->limits.max_spot_share) + 1e-9) - spot;
  return maximum <= 0 ? 0 : maximum < offer ? (uint32_t)maximum : offer;
}

/* Returns the pool that the rule prefers among those with enough available nodes for at least one job of the demand;
   HR_NONE: no pool has enough available nodes. */
static uint32_t choose_pool(const struct hr__queue *queue, const struct hr__market_demand *demand, bool spot_only,
                            int64_t now_us) {
  const struct hr__market *market = queue->market;
  uint32_t best = HR_NONE;
  double best_score = 0;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    uint32_t size = market->gpus_per_node[i];
    if (!hr__market_is_elastic(queue, i) || (spot_only && !hr__market_is_spot(queue, i))) continue;
    if (!hr_cluster_accepts(queue->cluster, demand->accept_class, (hr_pool){i})) continue;
    if (demand->is_single && demand->gpus > size) continue;
    uint32_t needed = demand->is_single ? 1 : nodes_per_job(demand->gpus, size);
    uint32_t whole = demand->is_single ? 0 : market->levels[i][size];
    if (room(queue, i, now_us) + whole < needed || room(queue, i, now_us) == 0) continue;
    double value = market->limits.rule == HR__MARKET_PRICE_CAPACITY
                       ? score(queue, i, now_us)
                       : (double)hr_cluster_price_uusd_h(queue->cluster, (hr_pool){i}, now_us);
    if (best != HR_NONE && value >= best_score) continue;
    best = i;
    best_score = value;
  }
  return best;
}

/* Acquires nodes for up to `count` jobs of a demand, in the pools that the jobs accept (if `spot_only`, in spot pools
   only). `*found`: the number of jobs for which nodes were acquired. */
static enum hr_status acquire(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                              bool spot_only, const struct hr_view *view, struct hr_moves *moves, uint32_t *found) {
  struct hr__market *market = queue->market;
  enum hr_status status = HR_OK;
  for (*found = 0; status == HR_OK && *found < count;) {
    uint32_t i = choose_pool(queue, demand, spot_only, view->now_us);
    if (i == HR_NONE) break;
    uint32_t size = market->gpus_per_node[i], left = count - *found, nodes;
    if (demand->is_single)
      nodes = (left + size / demand->gpus - 1) / (size / demand->gpus);
    else
      nodes =
          nodes_per_job(demand->gpus, size) - min_u32(market->levels[i][size], nodes_per_job(demand->gpus, size) - 1);
    nodes = min_u32(nodes, room(queue, i, view->now_us));
    /* one node at a time, because each acquired node changes the shares on which the scores of pools depend */
    if (market->limits.rule == HR__MARKET_PRICE_CAPACITY && demand->is_single) nodes = 1;
    status = hr_moves_acquire(moves, (hr_pool){i}, nodes);
    market->levels[i][size] += nodes;
    *found += pack_in_pool(market->levels[i], size, demand, left);
  }
  return status;
}

/* Packs the jobs of a demand, and acquires nodes for those that cannot be packed. */
static enum hr_status supply(struct hr__queue *queue, const struct hr__market_demand *demand,
                             const struct hr_view *view, struct hr_moves *moves) {
  uint32_t count = demand->count - demand->held, packed = pack(queue, demand, count, false);
  uint32_t left = count - packed, found = 0;
  if (left == 0) return HR_OK;
  if (queue->market->limits.rule != HR__MARKET_SPOT_FIRST || !demand->may_use_spot)
    return acquire(queue, demand, left, false, view, moves, &found);
  enum hr_status status = acquire(queue, demand, left, true, view, moves, &found);
  packed += found;
  uint32_t impatient = demand->impatient > packed ? demand->impatient - packed : 0;
  if (status != HR_OK || impatient == 0) return status;
  return acquire(queue, demand, impatient, false, view, moves, &found);
}

/* Acquires nodes for the first job in order before those for other jobs. Does nothing with the backfill `skip`, under
   which the first job has no precedence. `*of`: the demand of the first job; NULL: nothing was done. */
static enum hr_status supply_first(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                   struct hr__market_demand **of) {
  const struct hr__shape *shape = hr__waiting_first(&queue->waiting);
  *of = NULL;
  if (queue->backfill->passes_over || !shape || hr__gpus(queue, shape->head.job) == 0) return HR_OK;
  struct hr__market *market = queue->market;
  *of = &market->demands[market->demand_of[shape->head.job.id]];
  struct hr__market_demand one = **of;
  one.count = 1;
  one.held = 0;
  one.impatient = market->patience_us[shape->head.job.id] == HR__IMPATIENT;
  return supply(queue, &one, view, moves);
}

/* Acquires nodes for all waiting jobs that cannot be packed on the nodes that `levels` counts. */
static enum hr_status supply_all(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__market *market = queue->market;
  struct hr__market_demand *of_first;
  enum hr_status status = supply_first(queue, view, moves, &of_first);
  if (of_first) of_first->held++; /* not counted again: supply_first has packed the first job or acquired its nodes */
  for (uint32_t i = 0; i < market->n_demands && status == HR_OK; i++)
    if (market->demands[i].count > market->demands[i].held) status = supply(queue, &market->demands[i], view, moves);
  if (of_first) of_first->held--;
  return status;
}

bool hr__market_could_ask(const struct hr__queue *queue, hr_job job) {
  const struct hr__market *market = queue->market;
  if (hr__gpus(queue, job) == 0) return false;
  const struct hr__market_demand *demand = &market->demands[market->demand_of[job.id]];
  for (uint32_t i = 0; i < market->n_pools; i++) {
    uint32_t size = market->gpus_per_node[i], offer = hr_cluster_offer(queue->cluster, (hr_pool){i});
    if (offer == 0 || !hr_cluster_accepts(queue->cluster, demand->accept_class, (hr_pool){i})) continue;
    uint32_t free = hr_free_index_count(hr_cluster_free_index(queue->cluster, (hr_pool){i}), size);
    if (demand->is_single ? demand->gpus <= size : offer + free >= nodes_per_job(demand->gpus, size)) return true;
  }
  return false;
}

/* ---- Idle nodes ----------------------------------------------------------------------------------- */

/* Begins the idle time of a node. False: out of memory. */
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

/* Begins the idle time of the nodes of a placement that became wholly free when its job left. False: out of memory. */
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

/* Returns whether the node of the entry has been idle without interruption since the entry was added. */
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

/* Counts the nodes in `levels`, and packs all waiting jobs on them. Afterwards, `levels` counts the capacity that no
   waiting job will use. */
static void pack_all(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  read_levels(queue);
  for (uint32_t i = 0; i < market->n_demands; i++)
    pack(queue, &market->demands[i], market->demands[i].count - market->demands[i].held, false);
}

/* Returns whether a wholly free node of the pool is spare: no waiting job will use it, and the number of on-demand
   nodes exceeds their minimum. A node that a waiting gang will use together with other nodes is not spare. */
static bool is_spare(const struct hr__queue *queue, hr_pool pool) {
  const struct hr__market *market = queue->market;
  if (!hr__market_is_spot(queue, pool.id) && hr__market_n_active_in(queue, false, true) <= market->limits.min_on_demand)
    return false;
  return market->levels[pool.id][market->gpus_per_node[pool.id]] > 0;
}

/* Releases spare nodes that have been idle for the minimum time. */
static enum hr_status release_idle(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__market *market = queue->market;
  enum hr_status status = HR_OK;
  struct hr__deadline_entry entry;
  if (hr__deadline_fifo_first_us(&market->idle) <= view->now_us) pack_all(queue);
  while (status == HR_OK && hr__deadline_fifo_take(&market->idle, view->now_us, &entry)) {
    hr_pool pool = pool_of(queue, entry.id);
    if (!is_still_idle(queue, entry, pool)) continue;
    if (!is_spare(queue, pool)) { /* check again after another idle time */
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

/* Adds a job to the list of returning jobs. The job has just started on one on-demand node, and may use spot capacity.
   Gangs on several nodes are never moved, so they are not added. False: out of memory. */
static bool add_returning(struct hr__queue *queue, hr_job job, const struct hr_placement *placement) {
  struct hr__market *market = queue->market;
  struct hr__returning_job *returning = hr__ensure_room(queue->arena, market->returning, market->n_returning,
                                                        &market->returning_capacity, sizeof *returning);
  if (!returning) return false;
  market->returning = returning;
  returning[market->n_returning++] = (struct hr__returning_job){job, placement->pool.id, placement->slices[0].node.id};
  market->returning_at[job.id] = market->n_returning;
  return true;
}

/* Removes a job from the list of returning jobs, if it is in the list. */
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

/* Finds a spot node for a job: the fullest node with room, in the first pool with such a node. The job must accept the
   pool, and the pool must be stable and cheaper than the job's pool. */
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

/* Returns whether a job should be moved. It must not have started at this instant, and the remaining time until its
   limit must exceed spot_hold_us. */
static bool is_worth_moving(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  if (view->attempt_us[job.id] == view->now_us) return false;
  return hr_trace_limit_us(queue->trace, job) - hr_view_done_us(view, job) > queue->market->limits.spot_hold_us;
}

/* Moves a running job to another placement. The job loses no work. */
static enum hr_status move_job(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                               struct hr__returning_job job, const struct hr_placement *to) {
  struct hr_slice slice = {{job.node}, hr__gpus(queue, job.job) * 1000, 0};
  struct hr_placement from = {{job.pool}, 1, &slice};
  enum hr_status status = hr_moves_preempt(moves, job.job, HR_REASON_POLICY);
  if (status == HR_OK) status = hr_moves_start(moves, job.job, to, HR_REASON_IN_ORDER);
  queue->freed = true;
  HR__NOTIFY(queue, status, job_moves, view, job.job, &from, to);
  return status == HR_OK ? hr__queue_refresh(queue, view) : status;
}

/* Moves returning jobs to spot nodes with room. `*leaving`: incremented for each moved job. The loop runs backwards
   because a moved job is removed from the list, and the last job of the list takes its place. */
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

/* Called while no job waits: moves returning jobs to spot nodes that have room, and acquires spot nodes for the other
   returning jobs, which a later pass can move. */
static enum hr_status return_to_spot(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__market *market = queue->market;
  uint32_t leaving = 0;
  enum hr_status status = move_all(queue, view, moves, &leaving);
  if (status != HR_OK || market->n_returning == 0) return status;
  read_levels(queue);
  for (uint32_t i = 0; i < market->n_returning && status == HR_OK; i++) {
    if (!is_worth_moving(queue, view, market->returning[i].job)) continue;
    uint32_t found, gpus = hr__gpus(queue, market->returning[i].job);
    struct hr__market_demand demand = {.gpus = gpus,
                                       .accept_class =
                                           hr_cluster_accept_class(queue->cluster, market->returning[i].job),
                                       .is_single = true};
    leaving++;
    if (pack(queue, &demand, 1, true)) continue;
    if (!hr__market_keeps_share(queue, 1, leaving)) break;
    status = acquire(queue, &demand, 1, true, view, moves, &found);
    if (!found) break; /* no spot node is available */
  }
  return status;
}

/* Acquires nodes until the minimum number of on-demand nodes is reached. */
static enum hr_status keep_minimum(struct hr__queue *queue, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < queue->market->n_pools && status == HR_OK; i++) {
    uint32_t there = hr__market_n_active_in(queue, false, true), minimum = queue->market->limits.min_on_demand;
    if (there >= minimum) break;
    if (!hr__market_is_elastic(queue, i) || hr__market_is_spot(queue, i)) continue;
    status =
        hr_moves_acquire(moves, (hr_pool){i}, min_u32(minimum - there, hr_cluster_offer(queue->cluster, (hr_pool){i})));
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

enum hr_status hr__market_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__market *market = queue->market;
  if (!count_demands(queue, view->now_us)) return HR_NO_MEMORY;
  enum hr_status status = release_idle(queue, view, moves);
  if (status == HR_OK) status = keep_minimum(queue, moves);
  if (status == HR_OK && view->n_waiting) {
    read_levels(queue);
    status = supply_all(queue, view, moves);
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

static const struct hr__listener listener = {.job_waits = job_waits,
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
  /* Capacity that is available at the start of the run counts as stable. */
  for (uint32_t i = 0; i < n_pools; i++)
    market->stable_us[i] = hr_cluster_offer(queue->cluster, (hr_pool){i}) ? -limits->spot_hold_us : HR_NEVER_US;
  queue->market = market;
  hr__queue_add_listener(queue, &listener);
  return make_levels(queue);
}
