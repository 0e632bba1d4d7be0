/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Supply of whole GPUs: see supply.h. The supply state is the number of nodes that are free or booting, by pool and
 * number of free GPUs of the node (`levels`). Packing only counts, so a pass takes O(demands x pools), independent of
 * the number of waiting jobs.
 */

#include "policies/queue/market/supply.h"

static uint32_t min_u32(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* Returns the number of nodes of `size` GPUs that a gang with `gpus` GPUs uses. */
static uint32_t nodes_per_job(uint32_t gpus, uint32_t size) {
  return gpus / size + (gpus % size != 0);
}

void hr__counted_supply_begin(struct hr__queue *queue) {
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
  uint32_t gpus = demand->need.gpus, packed = 0;
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

uint32_t hr__counted_supply_pack(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                                 bool spot_only) {
  uint32_t packed = 0;
  for (uint32_t i = 0; i < queue->market->n_pools && packed < count; i++)
    if ((!spot_only || hr__market_is_spot(queue, i)) &&
        hr_cluster_accepts(queue->cluster, demand->need.accept_class, (hr_pool){i}))
      packed += pack_in_pool(queue->market->levels[i], queue->market->gpus_per_node[i], demand, count - packed);
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
    uint32_t whole = demand->is_single ? 0 : market->levels[i][size];
    uint32_t room = hr__offer_room(queue, i, now_us);
    if (room + whole < needed || room == 0) continue;
    double value = hr__offer_value(queue, i, now_us);
    if (best != HR_NONE && value >= best_score) continue;
    best = i;
    best_score = value;
  }
  return best;
}

enum hr_status hr__counted_supply_acquire(struct hr__queue *queue, const struct hr__market_demand *demand,
                                          uint32_t count, bool spot_only, const struct hr_view *view,
                                          struct hr_moves *moves, uint32_t *found) {
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
              min_u32(market->levels[i][size], nodes_per_job(demand->need.gpus, size) - 1);
    nodes = min_u32(nodes, hr__offer_room(queue, i, view->now_us));
    /* one node at a time, because each acquired node changes the shares on which the scores of pools depend */
    if (market->limits.rule == HR__MARKET_PRICE_CAPACITY && demand->is_single) nodes = 1;
    status = hr_moves_acquire(moves, (hr_pool){i}, nodes);
    market->levels[i][size] += nodes;
    *found += pack_in_pool(market->levels[i], size, demand, left);
  }
  return status;
}

bool hr__counted_supply_could_acquire(const struct hr__queue *queue, const struct hr__market_demand *demand) {
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

bool hr__counted_supply_create(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  market->gpus_per_node = hr_arena_alloc(queue->arena, market->n_pools * sizeof *market->gpus_per_node);
  market->levels = hr_arena_alloc(queue->arena, market->n_pools * sizeof(*market->levels));
  if (!market->gpus_per_node || !market->levels) return false;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    market->gpus_per_node[i] = hr_cluster_pool_spec(queue->cluster, (hr_pool){i})->gpus_per_node;
    market->levels[i] = hr_arena_alloc(queue->arena, (market->gpus_per_node[i] + 1) * sizeof **market->levels);
    if (!market->levels[i]) return false;
  }
  return true;
}
