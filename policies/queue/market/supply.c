/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The supply of the demands: see market.h. This file contains both implementations of the supply, and selects one of
 * them. It also decides in which pools nodes are acquired, and for how many jobs of each demand.
 *
 * Counted supply, for whole GPUs. The supply state is the number of nodes that are free or booting, by pool and number
 * of free GPUs of the node (`levels`). Packing only counts, and only numbers of free GPUs that some node has are
 * examined. A pass takes O(demands x pools x such numbers), independent of the number of waiting jobs and of the GPUs
 * of a node.
 *
 * Placed supply, for per-GPU allocation or topology constraints. The supply state is a capacity in which booting nodes
 * are usable and empty. Jobs are placed in it one by one with the placement rule. With per-GPU allocation, this is the
 * present capacity of the queue, which is restored at the end: placements are undone in reverse order, and the booting
 * nodes become unusable. So a pass takes one search for each job that fits, one for each demand with a job that does
 * not fit, and one step for each booting node. In counted allocation, the present capacity belongs to the engine.
 * Therefore a planned capacity is used instead, which is updated whenever a job starts or stops.
 *
 * Nodes that could be acquired are tried in the order in which the engine provides them: those with the lowest numbers
 * first. The nodes that are off are found from `first_off`, below which no node of the pool is off.
 */

#include "policies/queue/market/market.h"

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

/* Returns the number of nodes of the pool that the rule may acquire now. */
static uint32_t offer_room(const struct hr__queue *queue, uint32_t pool, int64_t now_us) {
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

/* Returns the value by which the rule chooses a pool: the pool with the smallest value is chosen. */
static double offer_value(const struct hr__queue *queue, uint32_t pool, int64_t now_us) {
  if (queue->market->limits.rule == HR__MARKET_PRICE_CAPACITY) return score(queue, pool, now_us);
  return (double)hr_cluster_price_uusd_h(queue->cluster, (hr_pool){pool}, now_us);
}

/* Returns whether nodes of the pool may be acquired for jobs of the demand. */
static bool offer_accepts(const struct hr__queue *queue, uint32_t pool, const struct hr__market_demand *demand,
                          bool spot_only) {
  if (!hr__market_is_elastic(queue, pool) || (spot_only && !hr__market_is_spot(queue, pool))) return false;
  return hr_cluster_accepts(queue->cluster, demand->need.accept_class, (hr_pool){pool});
}

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
    if (!offer_accepts(queue, i, demand, spot_only)) continue;
    if (demand->is_single && demand->need.gpus > size) continue;
    uint32_t needed = demand->is_single ? 1 : nodes_per_job(demand->need.gpus, size);
    uint32_t whole = demand->is_single ? 0 : market->levels[i].count[size];
    uint32_t room = offer_room(queue, i, now_us);
    if (room + whole < needed || room == 0) continue;
    double value = offer_value(queue, i, now_us);
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
    nodes = min_u32(nodes, offer_room(queue, i, view->now_us));
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
  return HR__ARENA_ARRAY(arena, levels->count, (size_t)gpus_per_node + 1) &&
         HR__ARENA_ARRAY(arena, levels->used, levels->shape.n_words);
}

bool hr__counted_supply_create(struct hr__queue *queue) {
  struct hr__market *market = queue->market;
  if (!HR__ARENA_ARRAY(queue->arena, market->gpus_per_node, market->n_pools) ||
      !HR__ARENA_ARRAY(queue->arena, market->levels, market->n_pools))
    return false;
  for (uint32_t i = 0; i < market->n_pools; i++) {
    market->gpus_per_node[i] = hr_cluster_pool_spec(queue->cluster, (hr_pool){i})->gpus_per_node;
    if (!create_levels(&market->levels[i], queue->arena, market->gpus_per_node[i])) return false;
  }
  return true;
}

/* ---- Placed supply ------------------------------------------------------------------------------------- */

/* A placement on the supply state. */
struct placed {
  struct hr_need need;
  hr_pool pool;
  uint32_t first, n_slices; /* its slices, in the array of all slices */
};

struct pool_node {
  hr_pool pool;
  hr_node node;
};

struct hr__placed_supply {
  struct hr_capacity *capacity;
  bool is_planned; /* the capacity is not the present one */
  struct placed *placed;
  uint32_t n_placed, placed_capacity;
  struct hr_slice *slices;
  uint32_t n_slices, slices_capacity;
  struct pool_node *booting; /* the nodes that are booting, and those that are tried */
  uint32_t n_booting, booting_capacity;
  uint32_t *first_off; /* by pool: number of a node of the pool; no node with a lower number is off */
  uint64_t searches;   /* see hr_capacity_searches */
  bool failed;         /* out of memory */
};

/* ---- Placed supply: nodes ---------------------------------------------------------------------------------------- */

static enum hr_node_state state_of(const struct hr__queue *queue, struct pool_node node) {
  return hr_cluster_node_state(queue->cluster, node.node);
}

/* Returns the number in the pool of the first node, from node `number` on, that is off; HR_NONE: no such node. */
static uint32_t next_off(const struct hr__queue *queue, hr_pool pool, uint32_t number) {
  uint32_t first = hr_cluster_first_node(queue->cluster, pool).id;
  uint32_t n_nodes = hr_cluster_pool_spec(queue->cluster, pool)->nodes;
  for (; number < n_nodes; number++)
    if (hr_cluster_node_state(queue->cluster, (hr_node){first + number}) == HR_NODE_OFF) return number;
  return HR_NONE;
}

/* Appends the next `count` nodes of the pool that are off to the list of booting nodes. False: out of memory. */
static bool append_nodes(struct hr__queue *queue, hr_pool pool, uint32_t count) {
  struct hr__placed_supply *supply = queue->market->placed;
  uint32_t first = hr_cluster_first_node(queue->cluster, pool).id;
  uint32_t number = next_off(queue, pool, supply->first_off[pool.id]);
  if (number != HR_NONE) supply->first_off[pool.id] = number;
  for (uint32_t i = 0; i < count && number != HR_NONE; i++) {
    if (!HR__ARENA_HAS_ROOM(queue->arena, supply->booting, supply->n_booting, supply->booting_capacity)) {
      supply->failed = true;
      return false;
    }
    supply->booting[supply->n_booting++] = (struct pool_node){pool, {first + number}};
    number = next_off(queue, pool, number + 1);
  }
  return true;
}

static void set_usable(const struct hr__placed_supply *supply, uint32_t from, uint32_t to, bool usable) {
  for (uint32_t i = from; i < to; i++)
    hr_capacity_set_usable(supply->capacity, supply->booting[i].pool, supply->booting[i].node, usable, usable);
}

/* Acquires nodes outside of the supply state. */
static enum hr_status placed_request(struct hr__queue *queue, struct hr_moves *moves, hr_pool pool, uint32_t nodes) {
  return append_nodes(queue, pool, nodes) ? hr_moves_acquire(moves, pool, nodes) : HR_NO_MEMORY;
}

/* ---- Placed supply: begin and end -------------------------------------------------------------------------------- */

static bool placed_begin(struct hr__queue *queue) {
  struct hr__placed_supply *supply = queue->market->placed;
  uint32_t n_booting = 0;
  for (uint32_t i = 0; i < supply->n_booting; i++)
    if (state_of(queue, supply->booting[i]) == HR_NODE_BOOTING) supply->booting[n_booting++] = supply->booting[i];
  supply->n_booting = n_booting;
  supply->n_placed = supply->n_slices = 0;
  supply->searches = hr_capacity_searches(supply->capacity);
  set_usable(supply, 0, n_booting, true);
  return true;
}

static bool placed_end(struct hr__queue *queue) {
  struct hr__placed_supply *supply = queue->market->placed;
  for (uint32_t i = supply->n_placed; i-- > 0;) {
    const struct placed *placed = &supply->placed[i];
    struct hr_placement placement = {placed->pool, placed->n_slices, supply->slices + placed->first};
    hr_capacity_undo(supply->capacity, &placed->need, &placement);
  }
  set_usable(supply, 0, supply->n_booting, false);
  hr_capacity_set_searches(supply->capacity, supply->searches);
  return !supply->failed && !hr_capacity_set_failed(queue->capacities);
}

/* ---- Placed supply: packing -------------------------------------------------------------------------------------- */

/* Stores a placement for placed_end. False: out of memory. */
static bool store(struct hr__queue *queue, const struct hr_need *need, const struct hr_placement *placement) {
  struct hr__placed_supply *supply = queue->market->placed;
  if (!HR__ARENA_HAS_ROOM(queue->arena, supply->placed, supply->n_placed, supply->placed_capacity)) return false;
  uint32_t first = supply->n_slices;
  supply->n_slices += placement->n_slices;
  if (!HR__ARENA_HAS_ROOM_FOR(queue->arena, supply->slices, supply->n_slices, supply->slices_capacity)) return false;
  for (uint32_t i = 0; i < placement->n_slices; i++) supply->slices[first + i] = placement->slices[i];
  supply->placed[supply->n_placed++] = (struct placed){*need, placement->pool, first, placement->n_slices};
  return true;
}

/* Places up to `count` jobs in the pool (HR_NONE: in any pool). Returns the number of placed jobs. */
static uint32_t place(struct hr__queue *queue, const struct hr_need *need, uint32_t pool, uint32_t count) {
  struct hr__placed_supply *supply = queue->market->placed;
  uint32_t placed = 0;
  struct hr_placement placement;
  while (placed < count &&
         (pool == HR_NONE ? hr_capacity_find(supply->capacity, need, &placement)
                          : hr_capacity_find_in(supply->capacity, (hr_pool){pool}, need, &placement))) {
    if (!store(queue, need, &placement)) {
      supply->failed = true;
      return placed;
    }
    hr_capacity_take(supply->capacity, need, &placement);
    placed++;
  }
  return placed;
}

static uint32_t placed_pack(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                            bool spot_only) {
  const struct hr__market *market = queue->market;
  uint32_t placed = 0;
  if (!spot_only) return place(queue, &demand->need, HR_NONE, count);
  for (uint32_t i = 0; i < market->n_pools && placed < count; i++)
    if (hr__market_is_spot(queue, i) && hr_cluster_accepts(queue->cluster, demand->need.accept_class, (hr_pool){i}))
      placed += place(queue, &demand->need, i, count - placed);
  return placed;
}

/* ---- Placed supply: acquisition ---------------------------------------------------------------------------------- */

/* Returns the maximum number of additional nodes of the pool that a job of the demand may need. A job with a required
   tier may need more nodes than it uses: nodes are acquired by number, until one group of the tier has enough of
   them. */
static uint32_t max_nodes(const struct hr__queue *queue, const struct hr__market_demand *demand, hr_pool pool) {
  const struct hr_need *need = &demand->need;
  uint32_t size = hr_cluster_pool_spec(queue->cluster, pool)->gpus_per_node, n_tasks = 1;
  if (queue->by_gpu)
    n_tasks = hr_cluster_requests(queue->cluster)->request[need->request].tasks;
  else if (size == 0)
    return 0;
  else if (!demand->is_single)
    n_tasks = need->gpus / size + (need->gpus % size != 0);
  return n_tasks == 1 || need->tier == HR_TIER_ANY || need->preferred ? n_tasks : UINT32_MAX;
}

/* Returns whether a job can be placed in the pool if the first `count` nodes of the list `booting`, from index `base`
   on, are usable and empty. These nodes are off. `*usable`: number of these nodes that are usable now; is set to
   `count`. */
static bool fits_with(struct hr__placed_supply *supply, const struct hr_need *need, hr_pool pool, uint32_t base,
                      uint32_t *usable, uint32_t count) {
  struct hr_placement unused;
  if (*usable < count)
    set_usable(supply, base + *usable, base + count, true);
  else
    set_usable(supply, base + count, base + *usable, false);
  *usable = count;
  return hr_capacity_find_in(supply->capacity, pool, need, &unused);
}

/* Returns the minimum number of nodes, from 1 to `maximum`, that must be added to the pool so that a job can be placed
   in it; 0: even `maximum` nodes do not suffice. If a job fits with some number of nodes, it fits with more nodes. */
static uint32_t least_nodes(struct hr__queue *queue, const struct hr_need *need, hr_pool pool, uint32_t maximum) {
  struct hr__placed_supply *supply = queue->market->placed;
  uint32_t base = supply->n_booting, usable = 0, too_few = 0, enough = 1;
  if (maximum == 0 || !append_nodes(queue, pool, maximum)) return 0;
  while (!fits_with(supply, need, pool, base, &usable, enough)) {
    too_few = enough;
    if (enough == maximum) break;
    enough = enough < maximum / 2 ? 2 * enough : maximum;
  }
  while (too_few < enough && enough - too_few > 1) {
    uint32_t middle = too_few + (enough - too_few) / 2;
    if (fits_with(supply, need, pool, base, &usable, middle))
      enough = middle;
    else
      too_few = middle;
  }
  set_usable(supply, base, base + usable, false);
  supply->n_booting = base;
  return too_few < enough ? enough : 0;
}

/* Returns the pool that the rule prefers among those with enough available nodes for at least one job of the demand;
   HR_NONE: no pool has enough available nodes. `*nodes`: the number of nodes to acquire. */
static uint32_t choose_placed_pool(struct hr__queue *queue, const struct hr__market_demand *demand, bool spot_only,
                                   int64_t now_us, uint32_t *nodes) {
  uint32_t best = HR_NONE;
  double best_value = 0;
  for (uint32_t i = 0; i < queue->market->n_pools; i++) {
    if (!offer_accepts(queue, i, demand, spot_only)) continue;
    double value = offer_value(queue, i, now_us);
    if (best != HR_NONE && value >= best_value) continue;
    uint32_t maximum = min_u32(offer_room(queue, i, now_us), max_nodes(queue, demand, (hr_pool){i}));
    uint32_t needed = least_nodes(queue, &demand->need, (hr_pool){i}, maximum);
    if (needed == 0) continue;
    best = i;
    best_value = value;
    *nodes = needed;
  }
  return best;
}

static enum hr_status placed_acquire(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                                     bool spot_only, const struct hr_view *view, struct hr_moves *moves,
                                     uint32_t *found) {
  struct hr__placed_supply *supply = queue->market->placed;
  enum hr_status status = HR_OK;
  for (*found = 0; status == HR_OK && *found < count && !supply->failed;) {
    uint32_t nodes = 0, base = supply->n_booting;
    uint32_t pool = choose_placed_pool(queue, demand, spot_only, view->now_us, &nodes);
    if (pool == HR_NONE) break;
    status = placed_request(queue, moves, (hr_pool){pool}, nodes);
    set_usable(supply, base, supply->n_booting, true);
    uint32_t placed = placed_pack(queue, demand, count - *found, spot_only);
    *found += placed;
    if (placed == 0) break; /* out of memory */
  }
  return status;
}

static bool placed_could_acquire(struct hr__queue *queue, const struct hr__market_demand *demand) {
  const struct hr__placed_supply *supply = queue->market->placed;
  uint64_t searches = hr_capacity_searches(supply->capacity);
  bool found = false;
  for (uint32_t i = 0; i < queue->market->n_pools && !found; i++) {
    if (!offer_accepts(queue, i, demand, false)) continue;
    uint32_t maximum = min_u32(hr_cluster_offer(queue->cluster, (hr_pool){i}), max_nodes(queue, demand, (hr_pool){i}));
    found = least_nodes(queue, &demand->need, (hr_pool){i}, maximum) > 0;
  }
  hr_capacity_set_searches(supply->capacity, searches);
  return found;
}

static uint32_t placed_empty_nodes(const struct hr__queue *queue, uint32_t pool) {
  uint32_t first = hr_cluster_first_node(queue->cluster, (hr_pool){pool}).id, count = 0;
  for (uint32_t i = 0; i < hr_cluster_pool_spec(queue->cluster, (hr_pool){pool})->nodes; i++)
    count += hr_capacity_is_idle(queue->market->placed->capacity, (hr_pool){pool}, (hr_node){first + i});
  return count;
}

/* ---- Placed supply: events --------------------------------------------------------------------------------------- */

void hr__placed_supply_job_changes(struct hr__queue *queue, hr_job job, const struct hr_placement *placement,
                                   bool starts) {
  const struct hr__placed_supply *supply = queue->market->placed;
  if (supply->is_planned) hr__count_in(queue, supply->capacity, job, placement, starts);
}

void hr__placed_supply_node_changes(struct hr__queue *queue, const struct hr_event *event) {
  const struct hr__placed_supply *supply = queue->market->placed;
  if (event->node.id == HR_NONE) return;
  if (supply->is_planned) hr__queue_node_changes(supply->capacity, event);
  uint32_t number = event->node.id - hr_cluster_first_node(queue->cluster, event->pool).id;
  bool is_off = event->kind == HR_EVENT_NODE_DOWN || event->kind == HR_EVENT_RELEASE;
  if (is_off && number < supply->first_off[event->pool.id]) supply->first_off[event->pool.id] = number;
}

bool hr__placed_supply_create(struct hr__queue *queue) {
  struct hr__placed_supply *supply = hr_arena_alloc(queue->arena, sizeof *supply);
  if (!supply) return false;
  *supply = (struct hr__placed_supply){.capacity = queue->capacity, .is_planned = !queue->by_gpu};
  if (supply->is_planned) supply->capacity = hr_capacity_create(queue->capacities);
  queue->market->placed = supply;
  return supply->capacity && HR__ARENA_ARRAY(queue->arena, supply->first_off, queue->market->n_pools);
}

/* ---- Selection ----------------------------------------------------------------------------------------- */

bool hr__supply_begin(struct hr__queue *queue) {
  if (queue->market->placed) return placed_begin(queue);
  counted_begin(queue);
  return true;
}

bool hr__supply_end(struct hr__queue *queue) {
  return !queue->market->placed || placed_end(queue);
}

uint32_t hr__supply_pack(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                         bool spot_only) {
  return queue->market->placed ? placed_pack(queue, demand, count, spot_only)
                               : counted_pack(queue, demand, count, spot_only);
}

enum hr_status hr__supply_acquire(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                                  bool spot_only, const struct hr_view *view, struct hr_moves *moves, uint32_t *found) {
  return queue->market->placed ? placed_acquire(queue, demand, count, spot_only, view, moves, found)
                               : counted_acquire(queue, demand, count, spot_only, view, moves, found);
}

uint32_t hr__supply_empty_nodes(const struct hr__queue *queue, uint32_t pool) {
  const struct hr__market *market = queue->market;
  return market->placed ? placed_empty_nodes(queue, pool) : market->levels[pool].count[market->gpus_per_node[pool]];
}

enum hr_status hr__supply_request(struct hr__queue *queue, struct hr_moves *moves, uint32_t pool, uint32_t nodes) {
  return queue->market->placed ? placed_request(queue, moves, (hr_pool){pool}, nodes)
                               : hr_moves_acquire(moves, (hr_pool){pool}, nodes);
}

bool hr__market_could_ask(struct hr__queue *queue, hr_job job) {
  const struct hr__market_demand *demand = hr__market_demand_of(queue, job);
  if (!demand) return false;
  return queue->market->placed ? placed_could_acquire(queue, demand) : counted_could_acquire(queue, demand);
}

/* ---- Demands -------------------------------------------------------------------------------------- */

/* Supplies a demand: packs its jobs, and acquires nodes for those that cannot be packed. `moves` NULL: only packs. */
static enum hr_status supply(struct hr__queue *queue, const struct hr__market_demand *demand,
                             const struct hr_view *view, struct hr_moves *moves) {
  uint32_t count = demand->count - demand->held, packed = hr__supply_pack(queue, demand, count, false);
  uint32_t left = count - packed, found = 0;
  if (left == 0 || !moves) return HR_OK;
  if (queue->market->limits.rule != HR__MARKET_SPOT_FIRST || !demand->may_use_spot)
    return hr__supply_acquire(queue, demand, left, false, view, moves, &found);
  enum hr_status status = hr__supply_acquire(queue, demand, left, true, view, moves, &found);
  /* packed jobs, and those that quotas block, need no on-demand nodes */
  uint32_t excluded = packed + found + demand->held_impatient;
  if (status != HR_OK || demand->impatient <= excluded) return status;
  return hr__supply_acquire(queue, demand, demand->impatient - excluded, false, view, moves, &found);
}

static bool is_impatient(const struct hr__market *market, hr_job job) {
  return market->patience_us[job.id] == HR__IMPATIENT;
}

/* Supplies the first job in order, before all other jobs. Does nothing with the backfill `skip`, under
   which the first job has no precedence. `*of`: the demand of the first job; NULL: nothing was done. */
static enum hr_status supply_first(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                   struct hr__market_demand **of) {
  const struct hr__shape *shape = hr__waiting_first(&queue->waiting);
  *of = NULL;
  if (queue->backfill->passes_over || !shape) return HR_OK;
  *of = hr__market_demand_of(queue, shape->head.job);
  if (!*of) return HR_OK;
  struct hr__market_demand one = **of;
  one.count = 1;
  one.held = one.held_impatient = 0;
  one.impatient = is_impatient(queue->market, shape->head.job);
  return supply(queue, &one, view, moves);
}

/* Supplies the first job, and then the demands in the order in which they first occurred. */
static enum hr_status supply_each(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__market *market = queue->market;
  struct hr__market_demand *of_first;
  enum hr_status status = supply_first(queue, view, moves, &of_first);
  bool first_is_impatient = of_first && is_impatient(market, hr__waiting_first(&queue->waiting)->head.job);
  /* the first job is not counted again: supply_first has packed it or acquired its nodes */
  if (of_first) of_first->held++;
  if (first_is_impatient) of_first->held_impatient++;
  for (uint32_t i = 0; i < market->n_demands && status == HR_OK; i++)
    if (market->demands[i].count > market->demands[i].held) status = supply(queue, &market->demands[i], view, moves);
  if (of_first) of_first->held--;
  if (first_is_impatient) of_first->held_impatient--;
  return status;
}

enum hr_status hr__supply_pack_all(struct hr__queue *queue) {
  return supply_each(queue, NULL, NULL);
}

/* Returns whether nodes of pool i may be acquired for a job of the demand, if all nodes without jobs were available to
   it. If not, no packing of other jobs can change that. */
static bool could_acquire(const struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t i) {
  const struct hr__market *market = queue->market;
  if (market->room[i] == 0 || !offer_accepts(queue, i, demand, false)) return false;
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
    market->room[i] = hr__market_is_elastic(queue, i) ? offer_room(queue, i, now_us) : 0;
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
