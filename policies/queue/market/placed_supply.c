/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Supply with per-GPU allocation or topology constraints: see market.h.
 *
 * The supply state is a capacity in which booting nodes are usable and empty. Jobs are placed in it one by one by the
 * placement rule. With per-GPU allocation it is the present capacity of the queue, which gets its former state back at
 * the end: placements are undone in reverse order, and the booting nodes become unusable. So a pass takes one search
 * for each job that fits, one for each demand with a job that does not fit, and one step for each booting node. In
 * counted allocation the present capacity belongs to the engine, so a planned one follows the starts and ends of jobs.
 *
 * Nodes that could be acquired are tried in the order in which the engine provides them: those with the lowest numbers
 * first. The nodes that are off are found from `first_off`, below which no node of the pool is off.
 */

#include "policies/queue/market/market.h"

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

/* ---- Nodes ---------------------------------------------------------------------------------------- */

static enum hr_node_state state_of(const struct hr__queue *queue, struct pool_node node) {
  return hr_cluster_node_state(queue->cluster, node.node);
}

/* Returns the first node of the pool that is off, from node `number` on; its number is HR_NONE if no node is off. */
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
    struct pool_node *booting =
        hr__ensure_room(queue->arena, supply->booting, supply->n_booting, &supply->booting_capacity, sizeof *booting);
    if (!booting) {
      supply->failed = true;
      return false;
    }
    supply->booting = booting;
    booting[supply->n_booting++] = (struct pool_node){pool, {first + number}};
    number = next_off(queue, pool, number + 1);
  }
  return true;
}

static void set_usable(const struct hr__placed_supply *supply, uint32_t from, uint32_t to, bool usable) {
  for (uint32_t i = from; i < to; i++)
    hr_capacity_set_usable(supply->capacity, supply->booting[i].pool, supply->booting[i].node, usable, usable);
}

enum hr_status hr__placed_supply_request(struct hr__queue *queue, struct hr_moves *moves, hr_pool pool,
                                         uint32_t nodes) {
  return append_nodes(queue, pool, nodes) ? hr_moves_acquire(moves, pool, nodes) : HR_NO_MEMORY;
}

/* ---- Begin and end -------------------------------------------------------------------------------- */

bool hr__placed_supply_begin(struct hr__queue *queue) {
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

bool hr__placed_supply_end(struct hr__queue *queue) {
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

/* ---- Packing -------------------------------------------------------------------------------------- */

/* Stores a placement for hr__placed_supply_end. False: out of memory. */
static bool store(struct hr__queue *queue, const struct hr_need *need, const struct hr_placement *placement) {
  struct hr__placed_supply *supply = queue->market->placed;
  struct placed *placed =
      hr__ensure_room(queue->arena, supply->placed, supply->n_placed, &supply->placed_capacity, sizeof *placed);
  if (!placed) return false;
  supply->placed = placed;
  uint32_t first = supply->n_slices;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct hr_slice *slices =
        hr__ensure_room(queue->arena, supply->slices, first + i, &supply->slices_capacity, sizeof *slices);
    if (!slices) return false;
    supply->slices = slices;
    slices[first + i] = placement->slices[i];
  }
  supply->n_slices = first + placement->n_slices;
  placed[supply->n_placed++] = (struct placed){*need, placement->pool, first, placement->n_slices};
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

uint32_t hr__placed_supply_pack(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                                bool spot_only) {
  const struct hr__market *market = queue->market;
  uint32_t placed = 0;
  if (!spot_only) return place(queue, &demand->need, HR_NONE, count);
  for (uint32_t i = 0; i < market->n_pools && placed < count; i++)
    if (hr__market_is_spot(queue, i) && hr_cluster_accepts(queue->cluster, demand->need.accept_class, (hr_pool){i}))
      placed += place(queue, &demand->need, i, count - placed);
  return placed;
}

/* ---- Acquisition ---------------------------------------------------------------------------------- */

/* Returns the maximum number of additional nodes of the pool that a job of the demand may need. A job with a required
   tier may need nodes that it does not use, because a certain group must be complete. */
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

/* Whether a job can be placed in the pool if, of the nodes from `base` on, which are off, `count` are empty and usable.
   `*usable`: number of those that are usable. */
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

/* Returns the least number of nodes, from 1 to `maximum`, which must be added to the pool so that a job can be placed
   in it; 0: none. If a job fits with some number of nodes, it fits with more nodes. */
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

static uint32_t min_u32(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* Returns the pool that the rule prefers among those with enough available nodes for at least one job of the demand;
   HR_NONE: no pool has enough available nodes. `*nodes`: the number of nodes to acquire. */
static uint32_t choose_pool(struct hr__queue *queue, const struct hr__market_demand *demand, bool spot_only,
                            int64_t now_us, uint32_t *nodes) {
  uint32_t best = HR_NONE;
  double best_value = 0;
  for (uint32_t i = 0; i < queue->market->n_pools; i++) {
    if (!hr__offer_accepts(queue, i, demand, spot_only)) continue;
    double value = hr__offer_value(queue, i, now_us);
    if (best != HR_NONE && value >= best_value) continue;
    uint32_t maximum = min_u32(hr__offer_room(queue, i, now_us), max_nodes(queue, demand, (hr_pool){i}));
    uint32_t needed = least_nodes(queue, &demand->need, (hr_pool){i}, maximum);
    if (needed == 0) continue;
    best = i;
    best_value = value;
    *nodes = needed;
  }
  return best;
}

enum hr_status hr__placed_supply_acquire(struct hr__queue *queue, const struct hr__market_demand *demand,
                                         uint32_t count, bool spot_only, const struct hr_view *view,
                                         struct hr_moves *moves, uint32_t *found) {
  struct hr__placed_supply *supply = queue->market->placed;
  enum hr_status status = HR_OK;
  for (*found = 0; status == HR_OK && *found < count && !supply->failed;) {
    uint32_t nodes = 0, base = supply->n_booting;
    uint32_t pool = choose_pool(queue, demand, spot_only, view->now_us, &nodes);
    if (pool == HR_NONE) break;
    status = hr__placed_supply_request(queue, moves, (hr_pool){pool}, nodes);
    set_usable(supply, base, supply->n_booting, true);
    uint32_t placed = hr__placed_supply_pack(queue, demand, count - *found, spot_only);
    *found += placed;
    if (placed == 0) break; /* out of memory */
  }
  return status;
}

bool hr__placed_supply_could_acquire(struct hr__queue *queue, const struct hr__market_demand *demand) {
  const struct hr__placed_supply *supply = queue->market->placed;
  uint64_t searches = hr_capacity_searches(supply->capacity);
  bool found = false;
  for (uint32_t i = 0; i < queue->market->n_pools && !found; i++) {
    if (!hr__offer_accepts(queue, i, demand, false)) continue;
    uint32_t maximum = min_u32(hr_cluster_offer(queue->cluster, (hr_pool){i}), max_nodes(queue, demand, (hr_pool){i}));
    found = least_nodes(queue, &demand->need, (hr_pool){i}, maximum) > 0;
  }
  hr_capacity_set_searches(supply->capacity, searches);
  return found;
}

uint32_t hr__placed_supply_empty_nodes(const struct hr__queue *queue, uint32_t pool) {
  uint32_t first = hr_cluster_first_node(queue->cluster, (hr_pool){pool}).id, count = 0;
  for (uint32_t i = 0; i < hr_cluster_pool_spec(queue->cluster, (hr_pool){pool})->nodes; i++)
    count += hr_capacity_is_idle(queue->market->placed->capacity, (hr_pool){pool}, (hr_node){first + i});
  return count;
}

/* ---- Events --------------------------------------------------------------------------------------- */

void hr__placed_supply_job_changes(struct hr__queue *queue, hr_job job, const struct hr_placement *placement,
                                   bool starts) {
  const struct hr__placed_supply *supply = queue->market->placed;
  if (!supply->is_planned) return;
  struct hr_need need = hr__need_of(queue, job);
  if (starts)
    hr_capacity_take(supply->capacity, &need, placement);
  else
    hr_capacity_give(supply->capacity, &need, placement);
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
  supply->first_off = hr_arena_alloc(queue->arena, queue->market->n_pools * sizeof *supply->first_off);
  if (supply->is_planned) supply->capacity = hr_capacity_create(queue->capacities);
  queue->market->placed = supply;
  return supply->capacity && supply->first_off;
}
