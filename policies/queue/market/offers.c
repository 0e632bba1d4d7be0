/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Offers: which nodes of elastic pools the market rule may acquire now, and the value by which it chooses a pool. */

#include "policies/queue/market/supply.h"

#include <math.h>

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
