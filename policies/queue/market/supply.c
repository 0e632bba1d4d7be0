/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The supply of the demands: see supply.h. This file selects the implementation, and decides for how many jobs of each
   demand nodes are acquired, and of which pools. */

#include "policies/queue/market/supply.h"

#include <math.h>

/* ---- Offers ------------------------------------------------------------------------------------ */

/* Returns the price of a GPU-hour in the pool, increased by the expected cost of the work lost to reclaims. This cost
   increases with the pool's share of all elastic nodes, because the nodes of one pool may be reclaimed together. */
static double score(const struct hr__queue *queue, uint32_t pool, int64_t now_us) {
  double price = (double)hr_cluster_price_uusd_h(queue->cluster, (hr_pool){pool}, now_us);
  uint32_t all = hr__market_n_active_in(queue, true, true);
  double share = all ? (double)hr__market_n_active(queue, pool) / all : 0;
  double reclaims_per_h = hr_cluster_reclaims_per_h(queue->cluster, (hr_pool){pool});
  return price * (1 + reclaims_per_h * queue->market->limits.reclaim_hours * (1 + share));
}

uint32_t hr__offer_room(const struct hr__queue *queue, uint32_t pool, int64_t now_us) {
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

double hr__offer_value(const struct hr__queue *queue, uint32_t pool, int64_t now_us) {
  if (queue->market->limits.rule == HR__MARKET_PRICE_CAPACITY) return score(queue, pool, now_us);
  return (double)hr_cluster_price_uusd_h(queue->cluster, (hr_pool){pool}, now_us);
}

bool hr__offer_accepts(const struct hr__queue *queue, uint32_t pool, const struct hr__market_demand *demand,
                       bool spot_only) {
  if (!hr__market_is_elastic(queue, pool) || (spot_only && !hr__market_is_spot(queue, pool))) return false;
  return hr_cluster_accepts(queue->cluster, demand->need.accept_class, (hr_pool){pool});
}

bool hr__supply_begin(struct hr__queue *queue) {
  if (queue->market->placed) return hr__placed_supply_begin(queue);
  hr__counted_supply_begin(queue);
  return true;
}

bool hr__supply_end(struct hr__queue *queue) {
  return !queue->market->placed || hr__placed_supply_end(queue);
}

uint32_t hr__supply_pack(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                         bool spot_only) {
  return queue->market->placed ? hr__placed_supply_pack(queue, demand, count, spot_only)
                               : hr__counted_supply_pack(queue, demand, count, spot_only);
}

enum hr_status hr__supply_acquire(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                                  bool spot_only, const struct hr_view *view, struct hr_moves *moves, uint32_t *found) {
  return queue->market->placed ? hr__placed_supply_acquire(queue, demand, count, spot_only, view, moves, found)
                               : hr__counted_supply_acquire(queue, demand, count, spot_only, view, moves, found);
}

uint32_t hr__supply_empty_nodes(const struct hr__queue *queue, uint32_t pool) {
  const struct hr__market *market = queue->market;
  return market->placed ? hr__placed_supply_empty_nodes(queue, pool)
                        : market->levels[pool].count[market->gpus_per_node[pool]];
}

enum hr_status hr__supply_request(struct hr__queue *queue, struct hr_moves *moves, uint32_t pool, uint32_t nodes) {
  return queue->market->placed ? hr__placed_supply_request(queue, moves, (hr_pool){pool}, nodes)
                               : hr_moves_acquire(moves, (hr_pool){pool}, nodes);
}

bool hr__market_could_ask(struct hr__queue *queue, hr_job job) {
  const struct hr__market_demand *demand = hr__market_demand_of(queue, job);
  if (!demand) return false;
  return queue->market->placed ? hr__placed_supply_could_acquire(queue, demand)
                               : hr__counted_supply_could_acquire(queue, demand);
}

/* ---- Demands -------------------------------------------------------------------------------------- */

/* Packs the jobs of a demand, and acquires nodes for those that cannot be packed. */
static enum hr_status supply(struct hr__queue *queue, const struct hr__market_demand *demand,
                             const struct hr_view *view, struct hr_moves *moves) {
  uint32_t count = demand->count - demand->held, packed = hr__supply_pack(queue, demand, count, false);
  uint32_t left = count - packed, found = 0;
  if (left == 0) return HR_OK;
  if (queue->market->limits.rule != HR__MARKET_SPOT_FIRST || !demand->may_use_spot)
    return hr__supply_acquire(queue, demand, left, false, view, moves, &found);
  enum hr_status status = hr__supply_acquire(queue, demand, left, true, view, moves, &found);
  packed += found;
  uint32_t impatient = demand->impatient > packed ? demand->impatient - packed : 0;
  if (status != HR_OK || impatient == 0) return status;
  return hr__supply_acquire(queue, demand, impatient, false, view, moves, &found);
}

/* Acquires nodes for the first job in order before those for other jobs. Does nothing with the backfill `skip`, under
   which the first job has no precedence. `*of`: the demand of the first job; NULL: nothing was done. */
static enum hr_status supply_first(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                   struct hr__market_demand **of) {
  const struct hr__shape *shape = hr__waiting_first(&queue->waiting);
  *of = NULL;
  if (queue->backfill->passes_over || !shape) return HR_OK;
  const struct hr__market *market = queue->market;
  *of = hr__market_demand_of(queue, shape->head.job);
  if (!*of) return HR_OK;
  struct hr__market_demand one = **of;
  one.count = 1;
  one.held = 0;
  one.impatient = market->patience_us[shape->head.job.id] == HR__IMPATIENT;
  return supply(queue, &one, view, moves);
}

/* Acquires nodes for the first job, and then for the demands in the order in which they first occurred. */
static enum hr_status supply_each(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__market *market = queue->market;
  struct hr__market_demand *of_first;
  enum hr_status status = supply_first(queue, view, moves, &of_first);
  if (of_first) of_first->held++; /* not counted again: supply_first has packed the first job or acquired its nodes */
  for (uint32_t i = 0; i < market->n_demands && status == HR_OK; i++)
    if (market->demands[i].count > market->demands[i].held) status = supply(queue, &market->demands[i], view, moves);
  if (of_first) of_first->held--;
  return status;
}

/* Returns whether any node can be acquired. */
static bool any_offer(const struct hr__queue *queue) {
  for (uint32_t i = 0; i < queue->market->n_pools; i++)
    if (hr__market_is_elastic(queue, i) && hr_cluster_offer(queue->cluster, (hr_pool){i}) > 0) return true;
  return false;
}

enum hr_status hr__supply_all(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  if (!any_offer(queue)) return HR_OK; /* packing without acquisition has no effect */
  if (!hr__supply_begin(queue)) return HR_NO_MEMORY;
  enum hr_status status = supply_each(queue, view, moves);
  return hr__supply_end(queue) ? status : HR_NO_MEMORY;
}
