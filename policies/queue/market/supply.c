/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The supply of the demands: see market.h. This file selects the implementation, decides for how many jobs of each
 * demand nodes are acquired, and of which pools, and has the implementation for whole GPUs.
 *
 * Whole GPUs. The supply state is the number of nodes that are free or booting, by pool and
 * number of free GPUs of the node (`levels`). Packing only counts, and only numbers of free GPUs that some node has are
 * examined. A pass takes O(demands x pools x such numbers), independent of the number of waiting jobs and of the GPUs
 * of a node.
 */

#include "policies/queue/market/market.h"

/* ---- Counted supply ------------------------------------------------------------------------------------ */

static uint32_t min_u32(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* Returns the number of nodes of `size` GPUs that a gang with `gpus` GPUs uses. */
static uint32_t nodes_per_job(uint32_t gpus, uint32_t size) {
  return gpus / size + (gpus % size != 0);
}

static void add_nodes(struct hr__node_levels *levels, uint32_t free, uint32_t nodes) {
  if (nodes == 0) return;
  if (levels->count[free] == 0) hr__bitset_add(&levels->shape, levels->used, free);
  levels->count[free] += nodes;
}

static void remove_nodes(struct hr__node_levels *levels, uint32_t free, uint32_t nodes) {
  if (nodes == 0) return;
  levels->count[free] -= nodes;
  if (levels->count[free] == 0) hr__bitset_remove(&levels->shape, levels->used, free);
}

static uint32_t next_level(const struct hr__node_levels *levels, uint32_t from) {
  return hr__bitset_next(&levels->shape, levels->used, from);
}

static void counted_begin(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    const struct hr_free_index *index = hr_cluster_free_index(queue->cluster, (hr_pool){i});
    struct hr__node_levels *levels = &market->levels[i];
    uint32_t free, size = market->gpus_per_node[i];
    while ((free = next_level(levels, 0)) != HR_NONE) remove_nodes(levels, free, levels->count[free]);
    for (free = hr_free_index_lowest(index, 1); free != HR_NONE; free = hr_free_index_lowest(index, free + 1))
      add_nodes(levels, free, hr_free_index_count(index, free));
    add_nodes(levels, size, hr_cluster_nodes_in(queue->cluster, (hr_pool){i}, HR_NODE_BOOTING));
  }
}

/* Packs up to `count` jobs of a demand on the nodes that `levels` counts. Each node has `size` GPUs. Returns the number
   of packed jobs. */
static uint32_t pack_in_pool(struct hr__node_levels *levels, uint32_t size, const struct hr__market_demand *demand,
                             uint32_t count) {
  uint32_t gpus = demand->need.gpus, packed = 0;
  if (gpus == 0) return count;
  if (!demand->is_single) {
    uint32_t nodes = nodes_per_job(gpus, size);
    packed = min_u32(count, levels->count[size] / nodes);
    remove_nodes(levels, size, packed * nodes);
    if (gpus % size) add_nodes(levels, size - gpus % size, packed);
    return packed;
  }
  for (uint32_t free = next_level(levels, gpus); free != HR_NONE && packed < count;
       free = next_level(levels, free + 1)) {
    uint32_t per_node = free / gpus, jobs = min_u32(count - packed, levels->count[free] * per_node);
    uint32_t nodes = (jobs + per_node - 1) / per_node;
    remove_nodes(levels, free, nodes);
    add_nodes(levels, free - per_node * gpus, nodes);
    packed += jobs;
  }
  return packed;
}

static uint32_t counted_pack(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                             bool spot_only) {
  uint32_t packed = 0;
  for (uint32_t i = 0; i < queue->market->n_pools && packed < count; i++)
    if ((!spot_only || hr__market_is_spot(queue, i)) &&
        hr_cluster_accepts(queue->cluster, demand->need.accept_class, (hr_pool){i}))
      packed += pack_in_pool(&queue->market->levels[i], queue->market->gpus_per_node[i], demand, count - packed);
  return packed;
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
    if (!hr__offer_accepts(queue, i, demand, spot_only)) continue;
    if (demand->is_single && demand->need.gpus > size) continue;
    uint32_t needed = demand->is_single ? 1 : nodes_per_job(demand->need.gpus, size);
    uint32_t whole = demand->is_single ? 0 : market->levels[i].count[size];
    uint32_t room = hr__offer_room(queue, i, now_us);
    if (room + whole < needed || room == 0) continue;
    double value = hr__offer_value(queue, i, now_us);
    if (best != HR_NONE && value >= best_score) continue;
    best = i;
    best_score = value;
  }
  return best;
}

static enum hr_status counted_acquire(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                                      bool spot_only, const struct hr_view *view, struct hr_moves *moves,
                                      uint32_t *found) {
  struct hr__market *market = queue->market;
  enum hr_status status = HR_OK;
  for (*found = 0; status == HR_OK && *found < count;) {
    uint32_t i = choose_pool(queue, demand, spot_only, view->now_us);
    if (i == HR_NONE) break;
    uint32_t size = market->gpus_per_node[i], left = count - *found, nodes;
    if (demand->is_single)
      nodes = (left + size / demand->need.gpus - 1) / (size / demand->need.gpus);
    else
      nodes = nodes_per_job(demand->need.gpus, size) -
              min_u32(market->levels[i].count[size], nodes_per_job(demand->need.gpus, size) - 1);
    nodes = min_u32(nodes, hr__offer_room(queue, i, view->now_us));
    /* one node at a time, because each acquired node changes the shares on which the scores of pools depend */
    if (market->limits.rule == HR__MARKET_PRICE_CAPACITY && demand->is_single) nodes = 1;
    status = hr_moves_acquire(moves, (hr_pool){i}, nodes);
    add_nodes(&market->levels[i], size, nodes);
    *found += pack_in_pool(&market->levels[i], size, demand, left);
  }
  return status;
}

static bool counted_could_acquire(const struct hr__queue *queue, const struct hr__market_demand *demand) {
  const struct hr__market *market = queue->market;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    uint32_t size = market->gpus_per_node[i], offer = hr_cluster_offer(queue->cluster, (hr_pool){i});
    if (offer == 0 || !hr_cluster_accepts(queue->cluster, demand->need.accept_class, (hr_pool){i})) continue;
    uint32_t free = hr_free_index_count(hr_cluster_free_index(queue->cluster, (hr_pool){i}), size);
    if (demand->is_single ? demand->need.gpus <= size : offer + free >= nodes_per_job(demand->need.gpus, size))
      return true;
  }
  return false;
}

static bool create_levels(struct hr__node_levels *levels, struct hr_arena *arena, uint32_t gpus_per_node) {
  levels->shape = hr__bitset_shape(gpus_per_node + 1);
  levels->count = hr_arena_alloc(arena, ((size_t)gpus_per_node + 1) * sizeof *levels->count);
  levels->used = hr_arena_alloc(arena, levels->shape.n_words * sizeof *levels->used);
  return levels->count && levels->used;
}

bool hr__counted_supply_create(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  market->gpus_per_node = hr_arena_alloc(queue->arena, market->n_pools * sizeof *market->gpus_per_node);
  market->levels = hr_arena_alloc(queue->arena, market->n_pools * sizeof *market->levels);
  if (!market->gpus_per_node || !market->levels) return false;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    market->gpus_per_node[i] = hr_cluster_pool_spec(queue->cluster, (hr_pool){i})->gpus_per_node;
    if (!create_levels(&market->levels[i], queue->arena, market->gpus_per_node[i])) return false;
  }
  return true;
}

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
  double maximum = hr__market_max_spot(market->limits.max_spot_share, others) - spot;
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
  counted_begin(queue);
  return true;
}

bool hr__supply_end(struct hr__queue *queue) {
  return !queue->market->placed || hr__placed_supply_end(queue);
}

uint32_t hr__supply_pack(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                         bool spot_only) {
  return queue->market->placed ? hr__placed_supply_pack(queue, demand, count, spot_only)
                               : counted_pack(queue, demand, count, spot_only);
}

enum hr_status hr__supply_acquire(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                                  bool spot_only, const struct hr_view *view, struct hr_moves *moves, uint32_t *found) {
  return queue->market->placed ? hr__placed_supply_acquire(queue, demand, count, spot_only, view, moves, found)
                               : counted_acquire(queue, demand, count, spot_only, view, moves, found);
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
  return queue->market->placed ? hr__placed_supply_could_acquire(queue, demand) : counted_could_acquire(queue, demand);
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

/* Returns whether nodes of pool i may be acquired for a job of the demand, if all nodes without jobs were available to
   it. If not, no packing of other jobs can change that. */
static bool could_acquire(const struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t i) {
  const struct hr__market *market = queue->market;
  if (market->room[i] == 0 || !hr__offer_accepts(queue, i, demand, false)) return false;
  bool waits_for_spot = market->limits.rule == HR__MARKET_SPOT_FIRST && demand->may_use_spot && demand->impatient == 0;
  if (waits_for_spot && !hr__market_is_spot(queue, i)) return false;
  if (market->placed) return true;
  uint32_t size = market->gpus_per_node[i];
  if (demand->is_single) return demand->need.gpus <= size;
  uint32_t whole = hr_free_index_count(hr_cluster_free_index(queue->cluster, (hr_pool){i}), size);
  whole += hr_cluster_nodes_in(queue->cluster, (hr_pool){i}, HR_NODE_BOOTING);
  return market->room[i] + whole >= nodes_per_job(demand->need.gpus, size);
}

/* Returns whether nodes may be acquired for some waiting job. If not, packing the jobs has no effect. */
static bool any_could_acquire(const struct hr__queue *queue, int64_t now_us) {
  struct hr__market *market = queue->market;
  bool any_room = false;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    market->room[i] = hr__market_is_elastic(queue, i) ? hr__offer_room(queue, i, now_us) : 0;
    any_room = any_room || market->room[i] > 0;
  }
  for (uint32_t k = 0; k < market->n_active_demands && any_room; k++)
    for (uint32_t i = 0; i < market->n_pools; i++)
      if (could_acquire(queue, &market->demands[market->active_demands[k]], i)) return true;
  return false;
}

enum hr_status hr__supply_all(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  if (!any_could_acquire(queue, view->now_us)) return HR_OK;
  if (!hr__supply_begin(queue)) return HR_NO_MEMORY;
  enum hr_status status = supply_each(queue, view, moves);
  return hr__supply_end(queue) ? status : HR_NO_MEMORY;
}
