/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state of a cluster, and the index of free nodes.
 *
 * Free capacity is stored at three levels: free milli-GPUs per node, free whole GPUs per node (in the pool's free
 * index), and free milli-GPUs per pool. A placement with slices changes all three levels. A placement without slices
 * has no particular nodes, so it changes only the free milli-GPUs of the pool.
 *
 * Nodes of some pools come and go: they are requested, boot, are up, and go down. Jobs can start on such a node only
 * while it is up. In any other state the node has no free GPUs in the index, and its GPUs do not count as free GPUs of
 * its pool. While the node is closing, its own count of free milli-GPUs is still maintained, because jobs still run on
 * it and release their GPUs.
 *
 * In per-GPU allocation (hr_cluster_spec_by_gpu) the GPU inventory has the state of each GPU, and the free capacity of
 * nodes is derived from it. A GPU counts as a free whole GPU if it is idle.
 */

#include "sim/cluster/cluster.h"

#include "headroom/unstable/faults.h"
#include "sim/market/market.h"

/* ---- Free index ------------------------------------------------------------------------------------- */

/* An index of the nodes of a pool by free GPUs. It has one set of nodes for each number of free GPUs, and the set of
   those numbers of free GPUs that at least one node has. All queries take O(1) time. */

static uint64_t *nodes_at(const struct hr_free_index *index, uint32_t gpus) {
  return index->nodes_at + (size_t)gpus * index->node_shape.n_words;
}

static void link_node(struct hr_free_index *index, uint32_t node, uint32_t gpus) {
  hr__bitset_add(&index->node_shape, nodes_at(index, gpus), node);
  if (index->count_at[gpus]++ == 0) hr__bitset_add(&index->level_shape, index->levels, gpus);
}

struct hr_free_index *hr_free_index_create(struct hr_arena *arena, uint32_t n_nodes, uint32_t gpus_per_node) {
  struct hr_free_index *index = hr_arena_alloc(arena, sizeof *index);
  if (!index) return NULL;
  size_t n_levels = (size_t)gpus_per_node + 1;
  index->n_nodes = n_nodes;
  index->gpus_per_node = gpus_per_node;
  index->node_shape = hr__bitset_shape(n_nodes);
  index->level_shape = hr__bitset_shape(gpus_per_node + 1);
  if (!HR__ARENA_ARRAY(arena, index->nodes_at, n_levels * index->node_shape.n_words) ||
      !HR__ARENA_ARRAY(arena, index->levels, index->level_shape.n_words) ||
      !HR__ARENA_ARRAY(arena, index->count_at, n_levels) || !HR__ARENA_ARRAY(arena, index->free, n_nodes))
    return NULL;
  for (uint32_t node = 0; node < n_nodes; node++) {
    index->free[node] = gpus_per_node;
    link_node(index, node, gpus_per_node);
  }
  return index;
}

static void move_node(struct hr_group_index *groups, uint32_t node, uint32_t before, uint32_t after);

void hr_free_index_set(struct hr_free_index *index, uint32_t node, uint32_t gpus) {
  uint32_t before = index->free[node];
  if (before == gpus) return;
  hr__bitset_remove(&index->node_shape, nodes_at(index, before), node);
  if (--index->count_at[before] == 0) hr__bitset_remove(&index->level_shape, index->levels, before);
  index->free[node] = gpus;
  link_node(index, node, gpus);
  if (index->groups) move_node(index->groups, node, before, gpus);
}

uint32_t hr_free_index_nodes(const struct hr_free_index *index) {
  return index->n_nodes;
}

uint32_t hr_free_index_gpus_per_node(const struct hr_free_index *index) {
  return index->gpus_per_node;
}

uint32_t hr_free_index_get(const struct hr_free_index *index, uint32_t node) {
  return index->free[node];
}

uint32_t hr_free_index_lowest(const struct hr_free_index *index, uint32_t gpus) {
  return hr__bitset_next(&index->level_shape, index->levels, gpus);
}

uint32_t hr_free_index_highest(const struct hr_free_index *index) {
  return hr__bitset_last(&index->level_shape, index->levels);
}

uint32_t hr_free_index_node(const struct hr_free_index *index, uint32_t gpus, uint32_t from) {
  return hr__bitset_next(&index->node_shape, nodes_at(index, gpus), from);
}

uint32_t hr_free_index_count(const struct hr_free_index *index, uint32_t gpus) {
  return index->count_at[gpus];
}

/*
 * An index of groups of consecutive nodes. The size of a group is the number of GPUs of the largest gang that fits into
 * the group. A gang takes whole empty nodes and, for its remaining GPUs, one more node. Let w be the number of empty
 * nodes of a group, and p the maximum number of free GPUs on any node that is not empty. The size of the group is then
 * w * gpus_per_node + p, and every smaller gang fits, too. A free index of the groups by size therefore finds the
 * smallest group into which a gang fits.
 */

struct hr_group_index {
  struct hr_group_index *next; /* the next group index in the linked list of the same free index */
  uint32_t nodes_per_group, n_levels;
  uint32_t *count; /* [groups][n_levels]: for each number of free GPUs, how many nodes of the group have it */
  struct hr_free_index *by_room;
};

static uint32_t room_of(const struct hr_group_index *groups, uint32_t group) {
  const uint32_t *count = groups->count + (size_t)group * groups->n_levels;
  uint32_t size = groups->n_levels - 1, rest = size;
  while (rest > 0 && count[--rest] == 0) continue;
  return count[size] * size + rest;
}

bool hr_free_index_add_groups(struct hr_arena *arena, struct hr_free_index *index, uint32_t nodes_per_group) {
  for (struct hr_group_index *each = index->groups; each; each = each->next)
    if (each->nodes_per_group == nodes_per_group) return true;
  struct hr_group_index *groups;
  uint32_t n_groups = (index->n_nodes + nodes_per_group - 1) / nodes_per_group;
  if (!HR__ARENA_ARRAY(arena, groups, 1)) return false;
  groups->nodes_per_group = nodes_per_group;
  groups->n_levels = index->gpus_per_node + 1;
  if (!HR__ARENA_ARRAY(arena, groups->count, (size_t)n_groups * groups->n_levels)) return false;
  groups->by_room = hr_free_index_create(arena, n_groups, nodes_per_group * index->gpus_per_node);
  if (!groups->by_room) return false;
  for (uint32_t node = 0; node < index->n_nodes; node++)
    groups->count[(size_t)(node / nodes_per_group) * groups->n_levels + index->free[node]]++;
  for (uint32_t group = 0; group < n_groups; group++) hr_free_index_set(groups->by_room, group, room_of(groups, group));
  groups->next = index->groups;
  index->groups = groups;
  return true;
}

/* Updates all group indices after the number of free GPUs of a node has changed from `before` to `after`. */
static void move_node(struct hr_group_index *groups, uint32_t node, uint32_t before, uint32_t after) {
  for (; groups; groups = groups->next) {
    uint32_t group = node / groups->nodes_per_group;
    uint32_t *count = groups->count + (size_t)group * groups->n_levels;
    count[before]--;
    count[after]++;
    hr_free_index_set(groups->by_room, group, room_of(groups, group));
  }
}

/* Returns the number of GPUs of the largest gang that fits into nodes from .. end - 1. Computes it from the free GPUs
   of these nodes. */
static uint32_t room_by_node(const struct hr_free_index *index, uint32_t from, uint32_t end) {
  uint32_t size = index->gpus_per_node, whole = 0, rest = 0;
  for (uint32_t node = from; node < end && node < index->n_nodes; node++) {
    uint32_t free = index->free[node];
    whole += free == size;
    if (free < size && free > rest) rest = free;
  }
  return whole * size + rest;
}

bool hr__group_index_is_consistent(const struct hr_free_index *index) {
  for (const struct hr_group_index *each = index->groups; each; each = each->next)
    for (uint32_t group = 0; group < hr_free_index_nodes(each->by_room); group++) {
      uint32_t from = group * each->nodes_per_group;
      if (hr_free_index_get(each->by_room, group) != room_by_node(index, from, from + each->nodes_per_group))
        return false;
    }
  return true;
}

uint32_t hr_free_index_group(const struct hr_free_index *index, uint32_t nodes_per_group, uint32_t gpus) {
  const struct hr_group_index *groups = index->groups;
  while (groups && groups->nodes_per_group != nodes_per_group) groups = groups->next;
  if (!groups || gpus > hr_free_index_gpus_per_node(groups->by_room)) return HR_NONE;
  uint32_t room = hr_free_index_lowest(groups->by_room, gpus);
  return room == HR_NONE ? HR_NONE : hr_free_index_node(groups->by_room, room, 0);
}

/* ---- Cluster ---------------------------------------------------------------------------------------- */

enum { MILLI = 1000 };

/* ---- Initialization --------------------------------------------------------------------------------- */

/* Returns whether the nodes of the pool are off at first: the pool is elastic, or exists for a limited time. */
static bool begins_off(const struct hr_pool_spec *spec) {
  return spec->nodes > 0 && (hr_market_is_elastic(spec->market.market) || hr_market_is_bounded(&spec->market));
}

/* Returns whether nodes of the pool come and go (see struct hr__pool). */
static bool pool_comes_and_goes(const struct hr_pool_spec *spec) {
  if (spec->nodes == 0) return false;
  return begins_off(spec) || (spec->faults && (spec->faults->n_processes > 0 || spec->faults->spares > 0)) ||
         spec->n_maintenance > 0 || (spec->power && (spec->power->sleep.idle_us > 0 || spec->power->budget_w > 0));
}

/* Initializes a pool of nodes that come and go. */
static bool init_elastic(struct hr__pool *pool, struct hr_arena *arena) {
  uint32_t n_nodes = pool->spec->nodes;
  pool->comes_and_goes = true;
  pool->shape = hr__bitset_shape(n_nodes);
  if (!HR__ARENA_ARRAY(arena, pool->off, pool->shape.n_words)) return false;
  if (!begins_off(pool->spec)) return true;
  if (pool->spec->market.market == HR_MARKET_SPOT)
    pool->reclaims_per_h = 3600 / hr__spot_mean_life_s(&pool->spec->market.spot);
  pool->total_milli = pool->free_milli = 0;
  pool->n_in[HR_NODE_UP] = 0;
  pool->n_in[HR_NODE_OFF] = n_nodes;
  for (uint32_t node = 0; node < n_nodes; node++) {
    hr__bitset_add(&pool->shape, pool->off, node);
    hr_free_index_set(pool->index, node, 0);
  }
  return true;
}

static bool init_pool(struct hr_cluster *cluster, struct hr_arena *arena, const struct hr_pool_spec *spec) {
  struct hr__pool *pool = &cluster->pools[cluster->n_pools++];
  pool->spec = spec;
  pool->first_node = (hr_node){cluster->n_nodes};
  pool->usable_nodes = spec->nodes;
  pool->size_milli = pool->total_milli = pool->free_milli = (uint64_t)spec->nodes * spec->gpus_per_node * MILLI;
  pool->n_in[HR_NODE_UP] = spec->nodes;
  pool->index = hr_free_index_create(arena, spec->nodes, spec->gpus_per_node);
  cluster->n_nodes += spec->nodes;
  if (!pool->index || (pool_comes_and_goes(spec) && !init_elastic(pool, arena))) return false;
  cluster->total_milli += pool->total_milli;
  cluster->free_milli += pool->free_milli;
  return true;
}

static bool any_comes_and_goes(const struct hr_cluster *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].comes_and_goes) return true;
  return false;
}

static bool init_nodes(struct hr_cluster *cluster, struct hr_arena *arena) {
  bool some_come_and_go = any_comes_and_goes(cluster);
  if (!HR__ARENA_ARRAY(arena, cluster->node_free_milli, cluster->n_nodes)) return false;
  if (some_come_and_go && !HR__ARENA_ARRAY(arena, cluster->nodes, cluster->n_nodes)) return false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr__pool *pool = &cluster->pools[i];
    for (uint32_t node = pool->first_node.id; node < pool->first_node.id + pool->spec->nodes; node++) {
      bool off = begins_off(pool->spec);
      if (!off) cluster->node_free_milli[node] = pool->spec->gpus_per_node * MILLI;
      if (!some_come_and_go) continue;
      cluster->nodes[node] =
          (struct hr__node){.down_us = HR_NEVER_US, .dies_us = HR_NEVER_US, .state = off ? HR_NODE_OFF : HR_NODE_UP};
    }
  }
  return true;
}

static bool create_requests(struct hr_cluster *cluster, struct hr_arena *arena) {
  size_t n_classes = cluster->accepts.classes.count;
  uint32_t *max_gpus = hr_arena_alloc(arena, (n_classes + 1) * sizeof *max_gpus);
  if (!max_gpus) return false;
  for (uint32_t class_ = 0; class_ < n_classes; class_++)
    for (uint32_t i = 0; i < cluster->n_pools; i++) {
      uint32_t gpus = cluster->pools[i].spec->gpus_per_node;
      if (hr_cluster_accepts(cluster, class_, (hr_pool){i}) && gpus > max_gpus[class_]) max_gpus[class_] = gpus;
    }
  cluster->requests = hr__requests_create(arena, &cluster->accepts, max_gpus, cluster->spec);
  return cluster->requests;
}

static bool create_inventory(struct hr_cluster *cluster, struct hr_arena *arena, const struct hr_cluster_spec *spec) {
  if (!hr_cluster_spec_by_gpu(spec)) return true;
  if (!create_requests(cluster, arena)) return false;
  cluster->inventory = hr_gpu_inventory_create(arena, spec, cluster->requests);
  if (!cluster->inventory) return false;
  for (uint32_t node = 0; node < cluster->n_nodes; node++)
    cluster->inventory->closed[node] = cluster->nodes && cluster->nodes[node].state != HR_NODE_UP;
  return true;
}

enum hr_status hr__cluster_init(struct hr_cluster *cluster, struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                const struct hr_trace *trace, const struct hr_class_spec *classes,
                                const struct hr__speed_table *speeds) {
  *cluster = (struct hr_cluster){.spec = spec, .trace = trace, .classes = classes};
  if (!HR__ARENA_ARRAY(arena, cluster->pools, spec->n_pools)) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < spec->n_pools; i++)
    if (!init_pool(cluster, arena, &spec->pools[i])) return HR_NO_MEMORY;
  while (cluster->n_nodes > 0 && spec->pools[cluster->first_pool.id].nodes == 0) cluster->first_pool.id++;
  const bool is_made = init_nodes(cluster, arena) &&
                       hr__accepts_init(&cluster->accepts, arena, spec, trace, classes, speeds) &&
                       create_inventory(cluster, arena, spec) && hr__locality_init(cluster, arena);
  return is_made ? HR_OK : HR_NO_MEMORY;
}

/* ---- Queries ---------------------------------------------------------------------------------------- */

hr_pool hr__cluster_pool_of(const struct hr_cluster *cluster, hr_node node) {
  uint32_t low = 0, high = cluster->n_pools - 1;
  while (low < high) {
    uint32_t middle = (low + high + 1) / 2;
    if (cluster->pools[middle].first_node.id <= node.id)
      low = middle;
    else
      high = middle - 1;
  }
  return (hr_pool){low};
}

const struct hr_cluster_spec *hr_cluster_spec_of(const struct hr_cluster *cluster) {
  return cluster->spec;
}

const struct hr_gpu_inventory *hr_cluster_gpu_inventory(const struct hr_cluster *cluster) {
  return cluster->inventory;
}

void hr_cluster_copy_layouts(const struct hr_cluster *cluster, struct hr_gpu_inventory *inventory, hr_node node) {
  if (inventory->tasks[node.id] > 0) return;
  if (cluster->inventory && hr_cluster_node_state(cluster, node) == HR_NODE_UP)
    hr_gpu_inventory_copy_layouts(inventory, cluster->inventory, node);
  else
    hr_gpu_inventory_renew(inventory, node);
}

const struct hr_requests *hr_cluster_requests(const struct hr_cluster *cluster) {
  return cluster->requests;
}

uint64_t hr_cluster_asked_milli(const struct hr_cluster *cluster, hr_job job) {
  const struct hr_request *request = hr__cluster_request(cluster, job);
  return request ? hr_request_milli(request) : (uint64_t)cluster->trace->gpus[job.id] * MILLI;
}

/* Rounds a minimum (`up`) or a maximum number of GPUs to whole tasks of `step` GPUs, at least one task. Minima are
   rounded up, maxima down. If the bound is HR_NONE (none), returns `gpus`. */
static uint32_t whole_tasks(uint32_t bound, uint32_t gpus, uint32_t step, bool up) {
  if (bound == HR_NONE) return gpus;
  uint64_t tasks = ((uint64_t)bound + (up ? step - 1 : 0)) / step;
  return (uint32_t)((tasks > 0 ? tasks : 1) * step);
}

struct hr_sizes hr_cluster_sizes(const struct hr_cluster *cluster, hr_job job) {
  const struct hr_trace *trace = cluster->trace;
  uint32_t gpus = trace->gpus[job.id], tasks = trace->tasks ? trace->tasks[job.id] : 1;
  const struct hr_request *request = hr__cluster_request(cluster, job);
  struct hr_sizes sizes = {gpus, gpus, tasks > 1 && gpus > 0 ? gpus / tasks : 1};
  if (request) {
    sizes.step = request->gpus;
    sizes.min = sizes.max = request->gpus * request->tasks;
  }
  if (gpus == 0 || sizes.step == 0 || sizes.min != gpus) return sizes;
  if (trace->min_gpus) sizes.min = whole_tasks(trace->min_gpus[job.id], gpus, sizes.step, true);
  if (trace->max_gpus) sizes.max = whole_tasks(trace->max_gpus[job.id], gpus, sizes.step, false);
  return sizes;
}

uint32_t hr_cluster_pools(const struct hr_cluster *cluster) {
  return cluster->n_pools;
}

const struct hr_pool_spec *hr_cluster_pool_spec(const struct hr_cluster *cluster, hr_pool pool) {
  return cluster->pools[pool.id].spec;
}

hr_node hr_cluster_first_node(const struct hr_cluster *cluster, hr_pool pool) {
  return cluster->pools[pool.id].first_node;
}

uint64_t hr_cluster_total_milli(const struct hr_cluster *cluster, hr_pool pool) {
  return cluster->pools[pool.id].total_milli;
}

uint64_t hr_cluster_free_milli(const struct hr_cluster *cluster, hr_pool pool) {
  return cluster->pools[pool.id].free_milli;
}

const struct hr_free_index *hr_cluster_free_index(const struct hr_cluster *cluster, hr_pool pool) {
  return cluster->pools[pool.id].index;
}

uint32_t hr_cluster_accept_class(const struct hr_cluster *cluster, hr_job job) {
  return hr__accepts_class(&cluster->accepts, job);
}

bool hr_cluster_accepts(const struct hr_cluster *cluster, uint32_t accept_class, hr_pool pool) {
  return hr__accepts_pool(&cluster->accepts, accept_class, pool.id);
}

bool hr__cluster_has_node_for(const struct hr_cluster *cluster, uint32_t accept_class, uint32_t gpus) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].spec->gpus_per_node >= gpus && hr_cluster_accepts(cluster, accept_class, (hr_pool){i}))
      return true;
  return false;
}

/* ---- Nodes that come and go ------------------------------------------------------------------------- */

bool hr_cluster_changes(const struct hr_cluster *cluster) {
  return cluster->nodes != NULL;
}

enum hr_node_state hr_cluster_node_state(const struct hr_cluster *cluster, hr_node node) {
  return cluster->nodes ? (enum hr_node_state)cluster->nodes[node.id].state : HR_NODE_UP;
}

int64_t hr_cluster_node_since_us(const struct hr_cluster *cluster, hr_node node) {
  return cluster->nodes ? cluster->nodes[node.id].since_us : 0;
}

uint32_t hr_cluster_nodes_in(const struct hr_cluster *cluster, hr_pool pool, enum hr_node_state state) {
  return cluster->pools[pool.id].n_in[state];
}

uint32_t hr_cluster_offer(const struct hr_cluster *cluster, hr_pool pool) {
  return cluster->pools[pool.id].n_offered;
}

int64_t hr_cluster_price_uusd_h(const struct hr_cluster *cluster, hr_pool pool, int64_t now_us) {
  return hr_market_price_at(&cluster->pools[pool.id].spec->market, now_us);
}

double hr_cluster_reclaims_per_h(const struct hr_cluster *cluster, hr_pool pool) {
  return cluster->pools[pool.id].reclaims_per_h;
}

static void add_total(struct hr_cluster *cluster, struct hr__pool *pool, bool more) {
  uint64_t size_milli = (uint64_t)pool->spec->gpus_per_node * MILLI;
  pool->total_milli += more ? size_milli : -size_milli;
  cluster->total_milli += more ? size_milli : -size_milli;
}

/* Returns how many whole GPUs of a node are free. */
static uint32_t whole_gpus(const struct hr_cluster *cluster, hr_node node) {
  return cluster->inventory ? hr_gpu_inventory_idle_gpus(cluster->inventory, node)
                            : cluster->node_free_milli[node.id] / 1000;
}

static void add_free(struct hr_cluster *cluster, struct hr__pool *pool, hr_node node, bool more) {
  uint64_t free_milli = cluster->node_free_milli[node.id];
  pool->free_milli += more ? free_milli : -free_milli;
  cluster->free_milli += more ? free_milli : -free_milli;
  if (!cluster->is_copy)
    hr_free_index_set(pool->index, node.id - pool->first_node.id, more ? whole_gpus(cluster, node) : 0);
  if (cluster->inventory) cluster->inventory->closed[node.id] = !more;
}

static bool is_there(enum hr_node_state state) {
  return state == HR_NODE_UP || state == HR_NODE_CLOSING;
}

static void count_off(struct hr__pool *pool, uint32_t number, bool off) {
  if (off)
    hr__bitset_add(&pool->shape, pool->off, number);
  else
    hr__bitset_remove(&pool->shape, pool->off, number);
  if (number < pool->obtainable) pool->n_offered += off ? 1 : (uint32_t)-1;
}

void hr__cluster_set_state(struct hr_cluster *cluster, hr_node node, enum hr_node_state state) {
  struct hr__pool *pool = &cluster->pools[hr__cluster_pool_of(cluster, node).id];
  struct hr__node *self = &cluster->nodes[node.id];
  enum hr_node_state before = (enum hr_node_state)self->state;
  if (before == HR_NODE_UP) add_free(cluster, pool, node, false);
  self->state = (uint8_t)state;
  pool->n_in[before]--;
  pool->n_in[state]++;
  if ((before == HR_NODE_OFF) != (state == HR_NODE_OFF))
    count_off(pool, node.id - pool->first_node.id, state == HR_NODE_OFF);
  if (is_there(before) != is_there(state)) {
    add_total(cluster, pool, is_there(state));
    if (!cluster->is_copy || cluster->inventory)
      cluster->node_free_milli[node.id] = is_there(state) ? pool->spec->gpus_per_node * MILLI : 0;
  }
  if (state == HR_NODE_UP) add_free(cluster, pool, node, true);
}

void hr__cluster_put_up(struct hr_cluster *cluster, hr_node node) {
  if (cluster->inventory && hr_cluster_node_state(cluster, node) != HR_NODE_CLOSING)
    hr_gpu_inventory_renew(cluster->inventory, node);
  hr__cluster_set_state(cluster, node, HR_NODE_UP);
}

void hr__cluster_set_obtainable(struct hr_cluster *cluster, hr_pool pool, uint32_t obtainable) {
  struct hr__pool *self = &cluster->pools[pool.id];
  uint32_t low = obtainable < self->obtainable ? obtainable : self->obtainable;
  uint32_t high = obtainable < self->obtainable ? self->obtainable : obtainable, between = 0;
  for (uint32_t node = hr__bitset_next(&self->shape, self->off, low); node < high;
       node = hr__bitset_next(&self->shape, self->off, node + 1))
    between++;
  self->n_offered += obtainable > self->obtainable ? between : -between;
  self->obtainable = obtainable;
}

/* ---- Allocation and release ------------------------------------------------------------------------- */

static bool is_up(const struct hr_cluster *cluster, hr_node node) {
  return !cluster->nodes || cluster->nodes[node.id].state == HR_NODE_UP;
}

static void change_node(struct hr_cluster *cluster, struct hr__pool *pool, hr_node node, uint32_t free_milli) {
  cluster->node_free_milli[node.id] = free_milli;
  if (cluster->is_copy || !is_up(cluster, node)) return;
  hr_free_index_set(pool->index, node.id - pool->first_node.id, whole_gpus(cluster, node));
}

typedef void change_function(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                             const struct hr_slice *slice);

/* Releases slices (`sign` 1), or takes them without any check (-1). `request` is NULL in counted allocation. In per-GPU
   allocation, `change` changes the inventory: it is hr_gpu_inventory_give, hr_gpu_inventory_undo or, with -1,
   hr_gpu_inventory_take. */
static void change_slices(struct hr_cluster *cluster, struct hr__pool *pool, const struct hr_request *request,
                          const struct hr_slice *slices, uint32_t n_slices, change_function *change, int sign) {
  for (uint32_t i = 0; i < n_slices; i++) {
    if (request) change(cluster->inventory, request, &slices[i]);
    const uint32_t milli = slices[i].gpu_milli, free_milli = cluster->node_free_milli[slices[i].node.id];
    change_node(cluster, pool, slices[i].node, sign > 0 ? free_milli + milli : free_milli - milli);
  }
}

static const char *allocate_slice(struct hr_cluster *cluster, struct hr__pool *pool, const struct hr_request *request,
                                  struct hr_slice slice) {
  if (slice.node.id - pool->first_node.id >= pool->spec->nodes) return "a node is not in the placement's pool";
  if (slice.gpu_milli == 0 && !(request && request->gpus == 0)) return "a slice is empty";
  if (!is_up(cluster, slice.node)) return "a node is not up, or has notice";
  const char *refusal = request ? hr_gpu_inventory_refuse(cluster->inventory, request, &slice) : NULL;
  if (refusal) return refusal;
  uint32_t free_milli = cluster->node_free_milli[slice.node.id];
  if (slice.gpu_milli > free_milli) return "a node has too few GPUs free";
  if (request) hr_gpu_inventory_take(cluster->inventory, request, &slice);
  change_node(cluster, pool, slice.node, free_milli - slice.gpu_milli);
  return NULL;
}

/* Allocates all slices and returns NULL. If a slice breaks a rule, the function allocates nothing and returns a
   description of the rule. */
static const char *allocate_slices(struct hr_cluster *cluster, struct hr__pool *pool, const struct hr_request *request,
                                   const struct hr_placement *placement) {
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    const char *refusal = allocate_slice(cluster, pool, request, placement->slices[i]);
    if (!refusal) continue;
    change_slices(cluster, pool, request, placement->slices, i, hr_gpu_inventory_undo, 1);
    return refusal;
  }
  return NULL;
}

static uint64_t requested_milli(const struct hr_cluster *cluster, hr_job job) {
  return (uint64_t)cluster->trace->gpus[job.id] * MILLI;
}

static bool needs_node(const struct hr_cluster *cluster, hr_job job, const struct hr_request *request) {
  return request ? hr_request_needs_node(request) : cluster->trace->gpus[job.id] > 0;
}

/* Returns whether a job may have this number of milli-GPUs. A job may have the number that it requests. An elastic job
   may also have every number of whole GPUs that hr_cluster_sizes permits. */
static bool may_have(const struct hr_cluster *cluster, hr_job job, uint64_t gpu_milli) {
  if (gpu_milli == requested_milli(cluster, job)) return true;
  if (!cluster->resizes || gpu_milli % MILLI) return false;
  struct hr_sizes sizes = hr_cluster_sizes(cluster, job);
  uint64_t gpus = gpu_milli / MILLI;
  return gpus >= sizes.min && gpus <= sizes.max && gpus % sizes.step == 0;
}

/* Returns whether a job may run with this number of tasks. Per-GPU allocation only. */
static bool may_have_tasks(const struct hr_cluster *cluster, hr_job job, const struct hr_request *request,
                           uint32_t tasks) {
  if (tasks == request->tasks) return true;
  if (!cluster->resizes || tasks == 0 || request->gpus == 0) return false;
  struct hr_sizes sizes = hr_cluster_sizes(cluster, job);
  uint64_t gpus = (uint64_t)tasks * request->gpus;
  return gpus >= sizes.min && gpus <= sizes.max;
}

/* Returns a description of the rule that the placement as a whole breaks, or NULL if it breaks none. The slices are
   checked when they are allocated. */
static const char *refuse_placement(const struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job,
                                    const struct hr_request *request) {
  if (!hr_cluster_accepts(cluster, hr_cluster_accept_class(cluster, job), placement->pool))
    return "the job does not accept the pool";
  const struct hr__pool *pool = &cluster->pools[placement->pool.id];
  uint64_t gpu_milli =
      request || cluster->resizes ? hr_placement_milli(placement, cluster->trace, job) : requested_milli(cluster, job);
  if (pool->free_milli < gpu_milli) return "the pool has too few GPUs free";
  if (request)
    return may_have_tasks(cluster, job, request, placement->n_slices) ? NULL : "a job must have one slice per task";
  bool is_counted = pool->comes_and_goes && placement->n_slices == 0;
  return is_counted ? "in pools with nodes that may be unavailable, jobs must be placed on nodes" : NULL;
}

const char *hr__cluster_allocate(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job) {
  const struct hr_request *request = hr__cluster_request(cluster, job);
  if (placement->pool.id >= cluster->n_pools) return "there is no such pool";
  if (!needs_node(cluster, job, request)) return placement->n_slices ? "a job without GPUs must not have slices" : NULL;
  const char *refusal = refuse_placement(cluster, placement, job, request);
  if (refusal) return refusal;
  struct hr__pool *pool = &cluster->pools[placement->pool.id];
  refusal = allocate_slices(cluster, pool, request, placement);
  if (refusal) return refusal;
  uint64_t gpu_milli = hr_placement_milli(placement, cluster->trace, job);
  if (!request && !may_have(cluster, job, gpu_milli)) {
    change_slices(cluster, pool, request, placement->slices, placement->n_slices, hr_gpu_inventory_undo, 1);
    return "the slices do not add up to what the job requests";
  }
  pool->free_milli -= gpu_milli;
  cluster->free_milli -= gpu_milli;
  return NULL;
}

/* Returns how many milli-GPUs of a placement are on nodes on which jobs may start. */
static uint64_t usable_milli(const struct hr_cluster *cluster, const struct hr_placement *placement) {
  uint64_t sum_milli = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    if (is_up(cluster, placement->slices[i].node)) sum_milli += placement->slices[i].gpu_milli;
  return sum_milli;
}

/* Releases a placement (`sign` 1), or takes it without any check (-1); see change_slices. */
static void change_placement(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job,
                             change_function *change, int sign) {
  const struct hr_request *request = hr__cluster_request(cluster, job);
  if (!needs_node(cluster, job, request)) return;
  struct hr__pool *pool = &cluster->pools[placement->pool.id];
  uint64_t gpu_milli = hr_placement_milli(placement, cluster->trace, job);
  change_slices(cluster, pool, request, placement->slices, placement->n_slices, change, sign);
  if (pool->comes_and_goes) gpu_milli = usable_milli(cluster, placement);
  pool->free_milli += sign > 0 ? gpu_milli : -gpu_milli;
  cluster->free_milli += sign > 0 ? gpu_milli : -gpu_milli;
}

void hr__cluster_release(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job) {
  change_placement(cluster, placement, job, hr_gpu_inventory_give, 1);
}

void hr__cluster_undo_allocate(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job) {
  change_placement(cluster, placement, job, hr_gpu_inventory_undo, 1);
}

void hr__cluster_undo_release(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job) {
  change_placement(cluster, placement, job, hr_gpu_inventory_take, -1);
}

void hr__cluster_follow(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job,
                        const struct hr_request *request, bool starts) {
  if (!needs_node(cluster, job, request)) return;
  struct hr__pool *pool = &cluster->pools[placement->pool.id];
  uint64_t gpu_milli = placement->n_slices ? 0 : requested_milli(cluster, job);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    const struct hr_slice *slice = &placement->slices[i];
    if (starts)
      hr_gpu_inventory_take(cluster->inventory, request, slice);
    else
      hr_gpu_inventory_give(cluster->inventory, request, slice);
    cluster->node_free_milli[slice->node.id] += starts ? -slice->gpu_milli : slice->gpu_milli;
    if (is_up(cluster, slice->node)) gpu_milli += slice->gpu_milli;
  }
  pool->free_milli += starts ? -gpu_milli : gpu_milli;
  cluster->free_milli += starts ? -gpu_milli : gpu_milli;
}

/* ---- Jobs that never fit ---------------------------------------------------------------------------- */

/* Returns the rank of a reason for which a pool does not fit a job. Of the reasons of all pools, the one with the
   highest rank is reported, because the pool with this reason is the closest to a fit. The rank of reasons that are not
   listed is 0. */
static int nearness(enum hr_reason reason) {
  static const int8_t ranks[] = {
      [HR_REASON_NO_GPU_TYPE] = -6, [HR_REASON_GPU_MEMORY] = -5,     [HR_REASON_NO_REGION] = -4,
      [HR_REASON_TOO_LARGE] = -3,   [HR_REASON_NODE_TOO_SMALL] = -3, [HR_REASON_MIG_PROFILE] = -3,
      [HR_REASON_ONLY_MIG] = -3,    [HR_REASON_NO_GROUP] = -2,       [HR_REASON_NO_CLASS_POOL] = -1,
  };
  return (size_t)reason < sizeof ranks ? ranks[reason] : 0;
}

/* Returns whether the MIG instances of a node do not suffice for even one task, whatever CPU and memory the node
   has. */
static bool lacks_instances(const struct hr_cluster *cluster, hr_pool pool, const struct hr_request *request) {
  struct hr_request gpus_alone = *request;
  gpus_alone.cpu_milli = 0;
  gpus_alone.mem_mib = 0;
  return cluster->pools[pool.id].spec->mig && hr_pool_max_tasks(cluster->spec, pool, &gpus_alone) == 0;
}

/* Returns the maximum number of nodes of a pool that run jobs at the same time: all nodes but the spares. */
static uint32_t working_nodes(const struct hr_pool_spec *spec) {
  uint32_t spares = spec->faults && spec->faults->spares < spec->nodes ? spec->faults->spares : 0;
  return spec->nodes - spares;
}

/* Returns the reason why `nodes` empty nodes of the pool have no room for the job, or HR_REASON_NONE if they have
   room. */
static enum hr_reason refuse_room(const struct hr_cluster *cluster, hr_pool number, hr_job job,
                                  const struct hr_request *request, uint32_t nodes) {
  const struct hr__pool *pool = &cluster->pools[number.id];
  struct hr_sizes sizes = {0, 0, 1};
  if (cluster->resizes) sizes = hr_cluster_sizes(cluster, job);
  uint64_t least_milli = cluster->resizes ? (uint64_t)sizes.min * MILLI : requested_milli(cluster, job);
  if (!request) {
    uint64_t spare_milli = (uint64_t)(pool->spec->nodes - nodes) * pool->spec->gpus_per_node * MILLI;
    return pool->size_milli >= least_milli + spare_milli ? HR_REASON_NONE : HR_REASON_TOO_LARGE;
  }
  uint64_t on_each = hr_pool_max_tasks(cluster->spec, number, request);
  if (on_each == 0 && lacks_instances(cluster, number, request)) return HR_REASON_MIG_PROFILE;
  if (request->gpu_mem_mib > hr_pool_part_mem_mib(pool->spec)) return HR_REASON_GPU_MEMORY;
  if (on_each == 0) return HR_REASON_NODE_TOO_SMALL;
  uint32_t least = cluster->resizes && request->gpus ? sizes.min / request->gpus : request->tasks;
  return on_each * nodes >= least ? HR_REASON_NONE : HR_REASON_TOO_LARGE;
}

/* Returns the reason why the job would not fit into the pool even if all nodes but the spares were present and empty.
   Returns HR_REASON_NONE if it would fit. */
static enum hr_reason refuse_empty(const struct hr_cluster *cluster, hr_pool number, hr_job job,
                                   const struct hr_request *request) {
  enum hr_reason reason = refuse_room(cluster, number, job, request, working_nodes(cluster->pools[number.id].spec));
  bool never = reason == HR_REASON_NONE && hr__locality_never_fits(cluster, number, job, request);
  return never ? HR_REASON_NO_GROUP : reason;
}

/* For a job that fits into the empty pool: returns the reason why the nodes that the policy lets jobs use
   (`usable_nodes`) have no room for the job. Returns HR_REASON_NONE if they have room. */
static enum hr_reason refuse_use(const struct hr_cluster *cluster, hr_pool number, hr_job job,
                                 const struct hr_request *request) {
  const struct hr__pool *pool = &cluster->pools[number.id];
  if (pool->usable_nodes >= working_nodes(pool->spec)) return HR_REASON_NONE;
  if (refuse_room(cluster, number, job, request, pool->usable_nodes) == HR_REASON_NONE) return HR_REASON_NONE;
  return pool->spec->market.market == HR_MARKET_SPOT ? HR_REASON_SPOT_ONLY : HR_REASON_POLICY;
}

/* Returns whether a job could be placed in the pool. Pools without nodes are ignored, unless no pool has nodes. */
static bool is_relevant(const struct hr_cluster *cluster, uint32_t pool) {
  return cluster->pools[pool].spec->nodes > 0 || cluster->n_nodes == 0;
}

enum hr_reason hr__cluster_never_fits(const struct hr_cluster *cluster, hr_job job) {
  const struct hr_request *request = hr__cluster_request(cluster, job);
  if (!needs_node(cluster, job, request)) return HR_REASON_NONE;
  uint32_t accept_class = hr_cluster_accept_class(cluster, job);
  enum hr_reason nearest = HR_REASON_NO_GPU_TYPE;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    if (!is_relevant(cluster, i)) continue;
    enum hr_reason reason = hr__accepts_refusal(&cluster->accepts, job, accept_class, i);
    enum hr_reason refusal = refuse_empty(cluster, (hr_pool){i}, job, request);
    if (reason == HR_REASON_NONE && refusal == HR_REASON_NONE) reason = refuse_use(cluster, (hr_pool){i}, job, request);
    if (reason == HR_REASON_NONE && refusal == HR_REASON_NONE) return HR_REASON_NONE;
    if (nearness(reason) > nearness(HR_REASON_TOO_LARGE) && refusal != HR_REASON_NONE) reason = refusal;
    if (nearness(reason) > nearness(nearest)) nearest = reason;
  }
  return nearest;
}

uint64_t hr__cluster_max_copies(const struct hr_cluster *cluster, hr_pool pool, hr_job job) {
  const struct hr_request *request = hr__cluster_request(cluster, job);
  const struct hr_pool_spec *spec = cluster->pools[pool.id].spec;
  const uint32_t accept_class = hr_cluster_accept_class(cluster, job);
  if (!spec->nodes || hr__accepts_refusal(&cluster->accepts, job, accept_class, pool.id) != HR_REASON_NONE) return 0;
  if (request) return (uint64_t)hr_pool_max_tasks(cluster->spec, pool, request) * spec->nodes / request->tasks;
  return (uint64_t)spec->nodes * spec->gpus_per_node / cluster->trace->gpus[job.id];
}
