/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Demands of waiting jobs, and nodes for them. Jobs are packed on counts of nodes by free GPUs (`levels`): nodes that
   are free or booting, from which each packed job takes its part. For jobs that find no room, nodes are acquired. */

#include "policies/queue/market/market.h"

#include "policies/queue/quota/quota.h"

#include <math.h>

/* Packs up to `count` jobs on nodes of `size` GPUs, counted in `levels`. Returns how many found room. */
static uint32_t pack_in_pool(uint32_t *levels, uint32_t size, const struct hr__market_demand *demand, uint32_t count) {
  uint32_t gpus = demand->gpus, packed = 0;
  if (gpus == 0) return count;
  if (!demand->is_single) {
    uint32_t nodes = hr__nodes_per_job(gpus, size);
    packed = hr__min_u32(count, levels[size] / nodes);
    levels[size] -= packed * nodes;
    if (gpus % size) levels[size - gpus % size] += packed;
    return packed;
  }
  for (uint32_t free = gpus; free <= size && packed < count; free++) {
    uint32_t per_node = free / gpus, jobs = hr__min_u32(count - packed, levels[free] * per_node);
    uint32_t nodes = (jobs + per_node - 1) / per_node;
    levels[free] -= nodes;
    levels[free - per_node * gpus] += nodes;
    packed += jobs;
  }
  return packed;
}

uint32_t hr__market_pack(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                         bool spot_only) {
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

static uint32_t find_demand(struct hr__queue *queue, hr_job job) {
  struct hr__market *market = queue->market;
  uint32_t gpus = hr__gpus(queue, job), accept_class = hr_cluster_accept_class(queue->cluster, job);
  for (uint32_t i = 0; i < market->n_demands; i++)
    if (market->demands[i].gpus == gpus && market->demands[i].accept_class == accept_class) return i;
  if (market->n_demands == market->demands_capacity) {
    struct hr__market_demand *demands =
        hr_arena_grown(queue->arena, market->demands, &market->demands_capacity, sizeof *demands);
    if (!demands) return HR_NONE;
    market->demands = demands;
  }
  market->demands[market->n_demands] =
      (struct hr__market_demand){.gpus = gpus,
                                 .accept_class = accept_class,
                                 .is_single = hr_placer_is_single(queue->placer, gpus, accept_class),
                                 .may_use_spot = may_use_spot(queue, accept_class)};
  return market->n_demands++;
}

enum hr_status hr__market_job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
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

/* A job may have ended before its time is over. Its column is then HR_NEVER_US, or 0 once it has been forgotten.
   Neither is mistaken for a due time: times of 0 are taken in the first pass, before any job that waited can have
   ended. */
static void lose_patience(struct hr__market *market, int64_t now_us) {
  struct hr__deadline_entry entry;
  while (hr__deadline_fifo_take(&market->patience, now_us, &entry)) {
    if (market->patience_us[entry.id] != entry.at_us) continue; /* it has started since */
    market->patience_us[entry.id] = HR__IMPATIENT;
    market->demands[market->demand_of[entry.id]].impatient++;
  }
}

/* Counts a job if its quota admits it in addition to those counted before. */
static bool count_in(void *self, struct hr_job_entry entry) {
  struct hr__queue *queue = self;
  struct hr__market *market = queue->market;
  if (hr__gpus(queue, entry.job) == 0) return true;
  if (!hr__quota_allows(queue, entry.job)) return false;
  if (market->n_counted == market->counted_capacity) {
    market->counted = hr_arena_grown(queue->arena, market->counted, &market->counted_capacity, sizeof(hr_job));
    if (!market->counted) return false;
  }
  market->counted[market->n_counted++] = entry.job;
  market->demands[market->demand_of[entry.job.id]].held--;
  hr__quota_count(queue, entry.job);
  return true;
}

static bool count_held(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  market->n_counted = 0;
  for (uint32_t i = 0; i < market->n_demands; i++) market->demands[i].held = market->demands[i].count;
  for (uint32_t i = 0; i < queue->waiting.n_active_subqueues; i++)
    hr_job_tree_each(&queue->waiting.active_subqueues[i]->jobs, count_in, queue);
  for (uint32_t i = 0; i < market->n_counted; i++) hr__quota_uncount(queue, market->counted[i]);
  return market->counted || market->n_counted == 0;
}

bool hr__market_count_demand(struct hr__queue *queue, int64_t now_us) {
  lose_patience(queue->market, now_us);
  return !queue->quota || count_held(queue);
}

/* ---- Acquiring nodes ------------------------------------------------------------------------------ */

/* The price of a GPU-hour including the work lost to reclaims; the risk grows with the pool's share of all nodes, which
   would be lost together. */
static double score(const struct hr__queue *queue, uint32_t pool, int64_t now_us) {
  double price = (double)hr_cluster_price_uusd_h(queue->cluster, (hr_pool){pool}, now_us);
  uint32_t all = hr__market_n_active_in(queue, true, true);
  double share = all ? (double)hr__market_n_active(queue, pool) / all : 0;
  double reclaims_per_h = hr_cluster_reclaims_per_h(queue->cluster, (hr_pool){pool});
  return price * (1 + reclaims_per_h * queue->market->limits.reclaim_hours * (1 + share));
}

/* Returns how many nodes of the pool may be acquired now. */
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

/* Returns the pool in which to acquire nodes for at least one job of the demand; HR_NONE: none. */
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
    uint32_t needed = demand->is_single ? 1 : hr__nodes_per_job(demand->gpus, size);
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

enum hr_status hr__market_acquire(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
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
      nodes = hr__nodes_per_job(demand->gpus, size) -
              hr__min_u32(market->levels[i][size], hr__nodes_per_job(demand->gpus, size) - 1);
    nodes = hr__min_u32(nodes, room(queue, i, view->now_us));
    /* one node at a time, as each changes the shares */
    if (market->limits.rule == HR__MARKET_PRICE_CAPACITY && demand->is_single) nodes = 1;
    status = hr_moves_acquire(moves, (hr_pool){i}, nodes);
    market->levels[i][size] += nodes;
    *found += pack_in_pool(market->levels[i], size, demand, left);
  }
  return status;
}

static enum hr_status supply(struct hr__queue *queue, const struct hr__market_demand *demand,
                             const struct hr_view *view, struct hr_moves *moves) {
  uint32_t count = demand->count - demand->held, packed = hr__market_pack(queue, demand, count, false);
  uint32_t left = count - packed, found = 0;
  if (left == 0) return HR_OK;
  if (queue->market->limits.rule != HR__MARKET_SPOT_FIRST || !demand->may_use_spot)
    return hr__market_acquire(queue, demand, left, false, view, moves, &found);
  enum hr_status status = hr__market_acquire(queue, demand, left, true, view, moves, &found);
  packed += found;
  uint32_t impatient = demand->impatient > packed ? demand->impatient - packed : 0;
  if (status != HR_OK || impatient == 0) return status;
  return hr__market_acquire(queue, demand, impatient, false, view, moves, &found);
}

/* If the first job blocks the others, nodes are acquired for it first. */
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

enum hr_status hr__market_supply(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__market *market = queue->market;
  struct hr__market_demand *of_first;
  enum hr_status status = supply_first(queue, view, moves, &of_first);
  if (of_first) of_first->held++; /* its nodes have been acquired */
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
    if (demand->is_single ? demand->gpus <= size : offer + free >= hr__nodes_per_job(demand->gpus, size)) return true;
  }
  return false;
}
