/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asking for nodes, in the pool that the rule prefers, for jobs for which there is no room yet. */

#include "policies/market_plan.h"

#include <math.h>

/* What a GPU-hour costs when what is lost to reclaims is counted in; more so where many nodes would be lost together.
 */
static double score(const struct hr__queue *queue, uint32_t pool, int64_t now_us) {
  double price = (double)hr_cluster_price_uusd_h(queue->cluster, (hr_pool){pool}, now_us);
  uint32_t all = hr__market_n_active_in(queue, true, true);
  double share = all ? (double)hr__market_n_active(queue, pool) / all : 0;
  double reclaims_per_h = hr_cluster_reclaims_per_h(queue->cluster, (hr_pool){pool});
  return price * (1 + reclaims_per_h * queue->market->limits.reclaim_hours * (1 + share));
}

bool hr__market_is_calm(const struct hr__market_plan *market, uint32_t pool, int64_t now_us) {
  int64_t calm_us = market->calm_us[pool];
  return calm_us != HR_NEVER_US && now_us - calm_us >= market->limits.spot_hold_us;
}

bool hr__market_keeps_share(const struct hr__queue *queue, uint32_t more_spot, uint32_t fewer_others) {
  double spot = hr__market_n_active_in(queue, true, false) + more_spot;
  double others = hr__market_n_active_in(queue, false, true);
  others = others > fewer_others ? others - fewer_others : 0;
  return queue->market->limits.max_spot_share >= 1 ||
         spot <= queue->market->limits.max_spot_share * (spot + others) + 1e-9;
}

/* How many nodes of the pool may be asked for now. */
static uint32_t room(const struct hr__queue *queue, uint32_t pool, int64_t now_us) {
  const struct hr__market_plan *market = queue->market;
  uint32_t offer = hr_cluster_offer(queue->cluster, (hr_pool){pool});
  if (!offer || !hr__market_is_spot(queue, pool)) return offer;
  if (market->limits.rule == HR__MARKET_ON_DEMAND_ONLY) return 0;
  if (market->limits.rule == HR__MARKET_SPOT_FIRST && !hr__market_is_calm(market, pool, now_us)) return 0;
  if (market->limits.max_spot_share >= 1) return offer;
  double spot = hr__market_n_active_in(queue, true, false), others = hr__market_n_active_in(queue, false, true);
  double most = floor(market->limits.max_spot_share * others / (1 - market->limits.max_spot_share) + 1e-9) - spot;
  return most <= 0 ? 0 : most < offer ? (uint32_t)most : offer;
}

/* The pool to ask for nodes for one job of the demand at least; HR_NONE when there is none. */
static uint32_t choose_pool(const struct hr__queue *queue, const struct hr__demand *demand, bool spot_only,
                            int64_t now_us) {
  const struct hr__market_plan *market = queue->market;
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

enum hr_status hr__market_ask(struct hr__queue *queue, const struct hr__demand *demand, uint32_t count, bool spot_only,
                              const struct hr_view *view, struct hr_plan *plan, uint32_t *found) {
  struct hr__market_plan *market = queue->market;
  enum hr_status status = HR_OK;
  for (*found = 0; status == HR_OK && *found < count;) {
    uint32_t i = choose_pool(queue, demand, spot_only, view->now_us);
    if (i == HR_NONE) break;
    uint32_t size = market->gpus_per_node[i], left = count - *found, nodes;
    if (demand->is_single)
      nodes = (left + size / demand->gpus - 1) / (size / demand->gpus);
    else
      nodes = hr__nodes_per_job(demand->gpus, size) -
              hr__least(market->levels[i][size], hr__nodes_per_job(demand->gpus, size) - 1);
    nodes = hr__least(nodes, room(queue, i, view->now_us));
    /* One node at a time, as each changes the shares. */
    if (market->limits.rule == HR__MARKET_PRICE_CAPACITY && demand->is_single) nodes = 1;
    status = hr_plan_acquire(plan, (hr_pool){i}, nodes);
    market->levels[i][size] += nodes;
    *found += hr__market_lay_in_pool(market->levels[i], size, demand, left);
  }
  return status;
}

/* ---- For whom --------------------------------------------------------------------------------------- */

static enum hr_status supply(struct hr__queue *queue, const struct hr__demand *demand, const struct hr_view *view,
                             struct hr_plan *plan) {
  uint32_t count = demand->count - demand->held, laid = hr__market_lay(queue, demand, count);
  uint32_t left = count - laid, found = 0;
  if (left == 0) return HR_OK;
  if (queue->market->limits.rule != HR__MARKET_SPOT_FIRST || !demand->may_use_spot)
    return hr__market_ask(queue, demand, left, false, view, plan, &found);
  enum hr_status status = hr__market_ask(queue, demand, left, true, view, plan, &found);
  laid += found;
  uint32_t impatient = demand->impatient > laid ? demand->impatient - laid : 0;
  if (status != HR_OK || impatient == 0) return status;
  return hr__market_ask(queue, demand, impatient, false, view, plan, &found);
}

/* Where the first job holds the others back, nodes are for that one before all others. */
static enum hr_status supply_first(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                                   struct hr__demand **of) {
  const struct hr__shape *shape = hr__waiting_first(&queue->waiting);
  *of = NULL;
  if (queue->backfill->passes_over || !shape || hr__gpus(queue, shape->head.job) == 0) return HR_OK;
  struct hr__market_plan *market = queue->market;
  *of = &market->demands[market->demand_of[shape->head.job.id]];
  struct hr__demand one = **of;
  one.count = 1;
  one.held = 0;
  one.impatient = market->patience_us[shape->head.job.id] == HR__IMPATIENT;
  return supply(queue, &one, view, plan);
}

enum hr_status hr__market_supply(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct hr__market_plan *market = queue->market;
  struct hr__demand *of_first;
  enum hr_status status = supply_first(queue, view, plan, &of_first);
  if (of_first) of_first->held++; /* that one has been seen to */
  for (uint32_t i = 0; i < market->n_demands && status == HR_OK; i++)
    if (market->demands[i].count > market->demands[i].held) status = supply(queue, &market->demands[i], view, plan);
  if (of_first) of_first->held--;
  return status;
}

bool hr__market_could_ask(const struct hr__queue *queue, hr_job job) {
  const struct hr__market_plan *market = queue->market;
  if (hr__gpus(queue, job) == 0) return false;
  const struct hr__demand *demand = &market->demands[market->demand_of[job.id]];
  for (uint32_t i = 0; i < market->n_pools; i++) {
    uint32_t size = market->gpus_per_node[i], offer = hr_cluster_offer(queue->cluster, (hr_pool){i});
    if (offer == 0 || !hr_cluster_accepts(queue->cluster, demand->accept_class, (hr_pool){i})) continue;
    uint32_t free = hr_free_index_count(hr_cluster_free_index(queue->cluster, (hr_pool){i}), size);
    if (demand->is_single ? demand->gpus <= size : offer + free >= hr__nodes_per_job(demand->gpus, size)) return true;
  }
  return false;
}

int64_t hr__market_patience_us(const struct hr__queue *queue, hr_job job) {
  int64_t until_us = queue->market->patience_us[job.id];
  bool waits = queue->market->limits.rule == HR__MARKET_SPOT_FIRST && until_us != HR__IMPATIENT;
  return waits ? until_us : HR_NEVER_US;
}

enum hr_status hr__market_keep_minimum(struct hr__queue *queue, struct hr_plan *plan) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < queue->market->n_pools && status == HR_OK; i++) {
    uint32_t there = hr__market_n_active_in(queue, false, true), minimum = queue->market->limits.min_on_demand;
    if (there >= minimum) break;
    if (!hr__market_is_elastic(queue, i) || hr__market_is_spot(queue, i)) continue;
    status =
        hr_plan_acquire(plan, (hr_pool){i}, hr__least(minimum - there, hr_cluster_offer(queue->cluster, (hr_pool){i})));
  }
  return status;
}
