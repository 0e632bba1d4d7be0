/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Capacities: see headroom/unstable/capacity.h. This file implements counted allocation and selects the implementation.
 *
 * A counted state has the number of free GPUs of each pool and, unless the rule is `pool`, a free index (struct
 * hr_free_index) of each pool. The present state uses the indexes of the engine, which every move of the policy updates
 * at once. A search in one pool passes empty indexes for all other pools. A node that is not usable, such as a node
 * that is about to go down, has no free GPUs, even if jobs on it end.
 */

#include "headroom/unstable/capacity.h"

#include "headroom/gpu_inventory.h"
#include "headroom/policy_kit.h"
#include "policies/kit/jobs.h"
#include "policies/placement/gpu_capacity.h"

#include <string.h>

enum { MILLI = 1000 };

struct hr_capacity {
  struct hr_capacity_set *set;
  bool is_present;
  struct hr__gpu_state gpus; /* per-GPU allocation; not used in counted allocation */
  /* planned states in counted allocation; NULL in the present state and in per-GPU allocation */
  struct hr_free_index **index; /* by pool; under the rule `pool`, all entries are NULL */
  uint64_t *free_gpus;          /* by pool */
  uint8_t *usable;              /* by node: 1 if jobs may be placed on it; NULL under the rule `pool` */
};

struct hr_capacity_set {
  struct hr_arena *arena;
  const struct hr_cluster *cluster;
  uint32_t n_pools;
  bool by_gpu, by_count; /* by_count: the rule is `pool` */
  struct hr_placer *placer;
  /* by pool: the index `none`; a search in one pool sets the entry of this pool for the time of the search */
  const struct hr_free_index **only;
  const struct hr_free_index *none; /* index of a pool without free GPUs */
  uint64_t *only_gpus;
  /* buffers of hr_capacity_find_on in counted allocation; NULL until needed */
  struct hr_slice *slices; /* [number of nodes of the largest pool] */
  uint32_t *taken;         /* by node of the pool: GPUs of the present search */
  enum hr_placement_rule rule;
  bool failed; /* memory ran out during a search */
  struct hr__gpu_set gpus;
  struct hr_capacity present;
};

/* ---- Needs ---------------------------------------------------------------------------------------- */

struct hr_need hr_need_of(const struct hr_cluster *cluster, const struct hr_trace *jobs, hr_job job) {
  const struct hr_requests *requests = hr_cluster_requests(cluster);
  struct hr_locality locality = hr_cluster_locality(cluster, job);
  return (struct hr_need){.gpus = jobs->gpus[job.id],
                          .accept_class = hr_cluster_accept_class(cluster, job),
                          .request = requests ? requests->of_job[job.id] : HR_NONE,
                          .tier = locality.tier,
                          .preferred = false};
}

bool hr_need_is_empty(const struct hr_cluster *cluster, const struct hr_need *need) {
  if (need->request == HR_NONE) return need->gpus == 0;
  return !hr_request_needs_node(&hr_cluster_requests(cluster)->request[need->request]);
}

/* ---- Construction --------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  enum hr_placement_rule rule;
} node_rules[] = {{"pool", HR_PLACE_POOL},
                  {"first-fit", HR_PLACE_FIRST_FIT},
                  {"best-fit", HR_PLACE_BEST_FIT},
                  {"worst-fit", HR_PLACE_WORST_FIT}};

static enum hr_status init_counted(struct hr_capacity_set *set, const char *name, struct hr_error *error) {
  size_t i = 0, n_rules = sizeof node_rules / sizeof *node_rules;
  while (i < n_rules && strcmp(node_rules[i].name, name) != 0) i++;
  if (i == n_rules)
    return hr_fail(error, HR_BAD_INPUT,
                   "parameter 'placement': '%s' needs per-GPU allocation; set 'cluster.by_gpu' or a pool's 'sharing'",
                   name);
  set->rule = node_rules[i].rule;
  set->by_count = set->rule == HR_PLACE_POOL;
  set->placer = hr_placer_create(set->arena, set->cluster, node_rules[i].rule);
  struct hr_free_index *none = hr_free_index_create(set->arena, 1, 1);
  if (!set->placer || !none || !HR__ARENA_ARRAY(set->arena, set->only, set->n_pools) ||
      !HR__ARENA_ARRAY(set->arena, set->only_gpus, set->n_pools))
    return HR_NO_MEMORY;
  hr_free_index_set(none, 0, 0);
  set->none = none;
  for (uint32_t pool = 0; pool < set->n_pools; pool++) set->only[pool] = none;
  return HR_OK;
}

static enum hr_status init_by_gpu(struct hr_capacity_set *set, const struct hr_capacity_config *config,
                                  struct hr_error *error) {
  if (strcmp(config->rule, "pool") == 0)
    return hr_fail(error, HR_BAD_INPUT, "parameter 'placement': 'pool' does not support per-GPU allocation");
  const struct hr_packing_rule *rule = hr_packing_rule_find(config->rule, error);
  if (!rule) return HR_BAD_INPUT;
  enum hr_status status = hr__gpu_set_init(&set->gpus, set->arena, set->cluster, rule, config->seed);
  if (status != HR_OK) return status;
  return hr__gpu_state_init(&set->gpus, &set->present.gpus, false) ? HR_OK : HR_NO_MEMORY;
}

enum hr_status hr_capacity_set_create(const struct hr_capacity_config *config, struct hr_capacity_set **created,
                                      struct hr_error *error) {
  struct hr_capacity_set *set = hr_arena_alloc(config->arena, sizeof *set);
  if (!set) return HR_NO_MEMORY;
  *set = (struct hr_capacity_set){.arena = config->arena,
                                  .cluster = config->cluster,
                                  .n_pools = hr_cluster_pools(config->cluster),
                                  .by_gpu = hr_cluster_gpu_inventory(config->cluster) != NULL};
  set->present = (struct hr_capacity){.set = set, .is_present = true};
  *created = set;
  return set->by_gpu ? init_by_gpu(set, config, error) : init_counted(set, config->rule, error);
}

bool hr_capacity_set_failed(const struct hr_capacity_set *set) {
  return set->gpus.failed || set->failed;
}

struct hr_capacity *hr_capacity_present(struct hr_capacity_set *set) {
  return &set->present;
}

/* Adds the groups of racks and zones to a planned index. False: out of memory. */
static bool add_groups(const struct hr_capacity_set *set, struct hr_free_index *index,
                       const struct hr_pool_spec *spec) {
  if (!hr_cluster_any_within(set->cluster)) return true;
  for (enum hr_tier tier = HR_TIER_RACK; tier <= HR_TIER_ZONE; tier++) {
    uint32_t n_nodes = hr_topology_nodes(&spec->topology, tier, spec->nodes);
    if (n_nodes < spec->nodes && !hr_free_index_add_groups(set->arena, index, n_nodes)) return false;
  }
  return true;
}

static bool make_indexes(struct hr_capacity *capacity) {
  const struct hr_capacity_set *set = capacity->set;
  if (!HR__ARENA_ARRAY(set->arena, capacity->index, set->n_pools) ||
      !HR__ARENA_ARRAY(set->arena, capacity->free_gpus, set->n_pools))
    return false;
  if (set->by_count) return true;
  if (!HR__ARENA_ARRAY(set->arena, capacity->usable, hr__n_nodes(set->cluster))) return false;
  for (uint32_t i = 0; i < set->n_pools; i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(set->cluster, (hr_pool){i});
    capacity->index[i] = hr_free_index_create(set->arena, spec->nodes, spec->gpus_per_node);
    if (!capacity->index[i] || !add_groups(set, capacity->index[i], spec)) return false;
  }
  return true;
}

struct hr_capacity *hr_capacity_create(struct hr_capacity_set *set) {
  struct hr_capacity *capacity = hr_arena_alloc(set->arena, sizeof *capacity);
  if (!capacity) return NULL;
  *capacity = (struct hr_capacity){.set = set};
  if (set->by_gpu) return hr__gpu_state_init(&set->gpus, &capacity->gpus, false) ? capacity : NULL;
  if (!make_indexes(capacity)) return NULL;
  hr_capacity_reset(capacity);
  return capacity;
}

static bool is_up(const struct hr_capacity *capacity, hr_node node) {
  return hr_cluster_node_state(capacity->set->cluster, node) == HR_NODE_UP;
}

static void reset_pool(struct hr_capacity *capacity, hr_pool pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(capacity->set->cluster, pool);
  uint32_t first = hr_cluster_first_node(capacity->set->cluster, pool).id, n_up = 0;
  for (uint32_t node = 0; node < spec->nodes; node++) {
    bool up = is_up(capacity, (hr_node){first + node});
    n_up += up;
    if (capacity->set->by_count) continue;
    hr_free_index_set(capacity->index[pool.id], node, up ? spec->gpus_per_node : 0);
    capacity->usable[first + node] = up;
  }
  capacity->free_gpus[pool.id] = (uint64_t)n_up * spec->gpus_per_node;
}

void hr_capacity_reset(struct hr_capacity *capacity) {
  const struct hr_capacity_set *set = capacity->set;
  if (set->by_gpu) hr__gpu_state_reset(&set->gpus, &capacity->gpus);
  for (uint32_t i = 0; i < set->n_pools && !set->by_gpu; i++) reset_pool(capacity, (hr_pool){i});
}

/* ---- Search --------------------------------------------------------------------------------------- */

/* Finds a counted placement within one group of `tier` (HR_TIER_ANY: anywhere). False: no placement. */
static bool find_counted(const struct hr_capacity *capacity, const struct hr_need *need, enum hr_tier tier,
                         struct hr_placement *placement) {
  struct hr_placer *placer = capacity->set->placer;
  if (capacity->is_present)
    return tier == HR_TIER_ANY ? hr_placer_find(placer, need->gpus, need->accept_class, placement)
                               : hr_placer_find_within(placer, tier, need->gpus, need->accept_class, placement);
  const struct hr_free_gpus all = {capacity->set->n_pools, (const struct hr_free_index *const *)capacity->index,
                                   capacity->free_gpus};
  return hr_placer_find_in(placer, &all, tier, need->gpus, need->accept_class, placement);
}

static uint64_t free_gpus_of(const struct hr_capacity *capacity, hr_pool pool) {
  if (capacity->is_present) return hr_cluster_free_milli(capacity->set->cluster, pool) / MILLI;
  return capacity->free_gpus[pool.id];
}

static const struct hr_free_index *index_of(const struct hr_capacity *capacity, hr_pool pool) {
  return capacity->is_present ? hr_cluster_free_index(capacity->set->cluster, pool) : capacity->index[pool.id];
}

static bool find_counted_in(const struct hr_capacity *capacity, hr_pool pool, const struct hr_need *need,
                            enum hr_tier tier, struct hr_placement *placement) {
  const struct hr_capacity_set *set = capacity->set;
  const struct hr_free_gpus one = {set->n_pools, set->only, set->only_gpus};
  uint64_t free = free_gpus_of(capacity, pool);
  if (free < need->gpus) return false;
  if (!set->by_count) set->only[pool.id] = index_of(capacity, pool);
  set->only_gpus[pool.id] = free;
  bool found = hr_placer_find_in(set->placer, &one, tier, need->gpus, need->accept_class, placement);
  set->only[pool.id] = set->none;
  set->only_gpus[pool.id] = 0;
  return found;
}

/* `only`: the pool to be searched; HR_NONE: all pools. */
static bool find_in_tier(struct hr_capacity *capacity, uint32_t only, const struct hr_need *need, enum hr_tier tier,
                         struct hr_placement *placement) {
  struct hr_capacity_set *set = capacity->set;
  if (set->by_gpu) return hr__gpu_state_find(&set->gpus, &capacity->gpus, need->request, tier, only, placement);
  return only == HR_NONE ? find_counted(capacity, need, tier, placement)
                         : find_counted_in(capacity, (hr_pool){only}, need, tier, placement);
}

static bool find(struct hr_capacity *capacity, uint32_t only, const struct hr_need *need,
                 struct hr_placement *placement) {
  if (find_in_tier(capacity, only, need, need->tier, placement)) return true;
  return need->tier != HR_TIER_ANY && need->preferred && find_in_tier(capacity, only, need, HR_TIER_ANY, placement);
}

bool hr_capacity_find(struct hr_capacity *capacity, const struct hr_need *need, struct hr_placement *placement) {
  return find(capacity, HR_NONE, need, placement);
}

bool hr_capacity_find_in(struct hr_capacity *capacity, hr_pool pool, const struct hr_need *need,
                         struct hr_placement *placement) {
  return find(capacity, pool.id, need, placement);
}

/* Allocates the buffers of hr_capacity_find_on. False: out of memory. */
static bool make_buffers(struct hr_capacity_set *set) {
  if (set->slices) return true;
  uint32_t most = 0;
  for (uint32_t i = 0; i < set->n_pools; i++) {
    uint32_t nodes = hr_cluster_pool_spec(set->cluster, (hr_pool){i})->nodes;
    if (nodes > most) most = nodes;
  }
  bool made = HR__ARENA_ARRAY(set->arena, set->taken, most + (size_t)1) &&
              HR__ARENA_ARRAY(set->arena, set->slices, most + (size_t)1);
  set->failed |= !made;
  return made;
}

/* Returns the node of a share on which the rule places a task, given the tasks that this search has already placed;
   HR_NONE: no node has room. Nodes are numbered within the pool. */
static uint32_t choose_node(const struct hr_capacity_set *set, const struct hr_free_index *index, uint32_t first,
                            uint32_t n_nodes, uint32_t gpus) {
  uint32_t best = HR_NONE, best_free = 0;
  for (uint32_t node = first; node < first + n_nodes; node++) {
    uint32_t free = hr_free_index_get(index, node) - set->taken[node];
    if (free < gpus) continue;
    if (best != HR_NONE && (set->rule == HR_PLACE_WORST_FIT ? free <= best_free : free >= best_free)) continue;
    best = node;
    best_free = free;
    if (set->rule == HR_PLACE_FIRST_FIT) break;
  }
  return best;
}

/* Adds the slices of a share to the placement. Returns false if its tasks have no room. */
static bool find_share(struct hr_capacity_set *set, const struct hr_free_index *index, hr_pool pool,
                       const struct hr_node_share *share, uint32_t gpus, struct hr_placement *placement) {
  uint32_t first_of_pool = hr_cluster_first_node(set->cluster, pool).id, first = share->first.id - first_of_pool;
  bool ok = true;
  for (uint32_t i = 0; i < share->tasks && ok; i++) {
    uint32_t node = choose_node(set, index, first, share->n_nodes, gpus);
    ok = node != HR_NONE;
    if (ok) set->taken[node] += gpus;
  }
  for (uint32_t node = first; node < first + share->n_nodes; node++) {
    if (set->taken[node])
      set->slices[placement->n_slices++] =
          (struct hr_slice){.node = {first_of_pool + node}, .gpu_milli = set->taken[node] * MILLI};
    set->taken[node] = 0;
  }
  return ok;
}

bool hr_capacity_find_on(struct hr_capacity *capacity, hr_pool pool, const struct hr_need *need,
                         const struct hr_node_share *shares, uint32_t n_shares, uint32_t gpus,
                         struct hr_placement *placement) {
  struct hr_capacity_set *set = capacity->set;
  if (set->by_gpu)
    return hr__gpu_state_find_on(&set->gpus, &capacity->gpus, need->request, need->tier, pool, shares, n_shares,
                                 placement);
  if (!make_buffers(set)) return false;
  *placement = (struct hr_placement){.pool = pool, .slices = set->slices};
  const struct hr_free_index *index = index_of(capacity, pool);
  for (uint32_t i = 0; i < n_shares; i++)
    if (!find_share(set, index, pool, &shares[i], gpus, placement)) return false;
  return true;
}

bool hr_capacity_fits(struct hr_capacity *capacity, const struct hr_need *need) {
  struct hr_placement unused;
  uint64_t searches = hr_capacity_searches(capacity);
  bool found = hr_capacity_find(capacity, need, &unused);
  hr_capacity_set_searches(capacity, searches);
  return found;
}

uint64_t hr_capacity_searches(const struct hr_capacity *capacity) {
  return capacity->gpus.finds;
}

void hr_capacity_set_searches(struct hr_capacity *capacity, uint64_t searches) {
  capacity->gpus.finds = searches;
}

bool hr_capacity_lacks_node_resources(struct hr_capacity *capacity, const struct hr_need *need) {
  struct hr_capacity_set *set = capacity->set;
  return set->by_gpu && hr__gpu_state_lacks_node_resources(&set->gpus, &capacity->gpus, need->request);
}

enum hr_reason hr_capacity_never_fits(struct hr_capacity_set *set, const struct hr_need *need) {
  return set->by_gpu ? hr__gpu_set_never_fits(&set->gpus, need) : HR_REASON_NONE;
}

/* ---- Changes -------------------------------------------------------------------------------------- */

static uint32_t number_of(const struct hr_capacity *capacity, hr_pool pool, hr_node node) {
  return node.id - hr_cluster_first_node(capacity->set->cluster, pool).id;
}

/* Sets the number of free GPUs of a node of a planned counted state. */
static void set_free(struct hr_capacity *capacity, hr_pool pool, hr_node node, uint32_t gpus) {
  struct hr_free_index *index = capacity->index[pool.id];
  uint32_t number = number_of(capacity, pool, node);
  capacity->free_gpus[pool.id] += gpus;
  capacity->free_gpus[pool.id] -= hr_free_index_get(index, number);
  hr_free_index_set(index, number, gpus);
}

/* Adds the GPUs of a placement to a planned counted state (`returns`), or subtracts them. */
static void change_counted(struct hr_capacity *capacity, const struct hr_need *need,
                           const struct hr_placement *placement, bool returns) {
  hr_pool pool = placement->pool;
  if (capacity->is_present) return;
  if (placement->n_slices == 0) capacity->free_gpus[pool.id] += returns ? need->gpus : -(uint64_t)need->gpus;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    hr_node node = placement->slices[i].node;
    if (!capacity->usable[node.id]) continue;
    uint32_t gpus = placement->slices[i].gpu_milli / MILLI;
    uint32_t free = hr_free_index_get(capacity->index[pool.id], number_of(capacity, pool, node));
    set_free(capacity, pool, node, returns ? free + gpus : free - gpus);
  }
}

static void change(struct hr_capacity *capacity, const struct hr_need *need, const struct hr_placement *placement,
                   enum hr__gpu_change how) {
  const struct hr_capacity_set *set = capacity->set;
  if (set->by_gpu)
    hr__gpu_state_change(&set->gpus, &capacity->gpus, need->request, placement, how);
  else
    change_counted(capacity, need, placement, how != HR__GPUS_TAKE);
}

void hr_capacity_take(struct hr_capacity *capacity, const struct hr_need *need, const struct hr_placement *placement) {
  change(capacity, need, placement, HR__GPUS_TAKE);
}

void hr_capacity_give(struct hr_capacity *capacity, const struct hr_need *need, const struct hr_placement *placement) {
  change(capacity, need, placement, HR__GPUS_GIVE);
}

void hr_capacity_undo(struct hr_capacity *capacity, const struct hr_need *need, const struct hr_placement *placement) {
  change(capacity, need, placement, HR__GPUS_UNDO);
}

void hr_capacity_set_usable(struct hr_capacity *capacity, hr_pool pool, hr_node node, bool usable, bool renew) {
  const struct hr_capacity_set *set = capacity->set;
  if (set->by_gpu) {
    hr__gpu_state_set_usable(&set->gpus, &capacity->gpus, node, usable, renew);
    return;
  }
  if (capacity->is_present || set->by_count) return;
  set_free(capacity, pool, node, usable ? hr_cluster_pool_spec(set->cluster, pool)->gpus_per_node : 0);
  capacity->usable[node.id] = usable;
}

/* ---- Free capacity -------------------------------------------------------------------------------- */

static bool has_counted(const struct hr_capacity *capacity, const struct hr_need *need,
                        const struct hr_placement *placement) {
  if (placement->n_slices == 0) return free_gpus_of(capacity, placement->pool) >= need->gpus;
  const struct hr_free_index *index = index_of(capacity, placement->pool);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t node = number_of(capacity, placement->pool, placement->slices[i].node);
    if (hr_free_index_get(index, node) < placement->slices[i].gpu_milli / MILLI) return false;
  }
  return true;
}

bool hr_capacity_has(const struct hr_capacity *capacity, const struct hr_need *need,
                     const struct hr_placement *placement) {
  const struct hr_capacity_set *set = capacity->set;
  return set->by_gpu ? hr__gpu_state_has(&set->gpus, &capacity->gpus, need->request, placement)
                     : has_counted(capacity, need, placement);
}

bool hr_capacity_is_idle(const struct hr_capacity *capacity, hr_pool pool, hr_node node) {
  const struct hr_capacity_set *set = capacity->set;
  if (set->by_gpu) return !capacity->gpus.inventory->closed[node.id] && capacity->gpus.inventory->tasks[node.id] == 0;
  const struct hr_free_index *index = index_of(capacity, pool);
  return hr_free_index_get(index, number_of(capacity, pool, node)) == hr_free_index_gpus_per_node(index);
}

uint64_t hr_capacity_free_milli(const struct hr_capacity *capacity, hr_pool pool) {
  if (!capacity->set->by_gpu) return free_gpus_of(capacity, pool) * MILLI;
  const struct hr_gpu_inventory *inventory = capacity->gpus.inventory;
  uint32_t first = hr_cluster_first_node(capacity->set->cluster, pool).id;
  uint64_t sum_milli = 0;
  for (uint32_t i = 0; i < hr_cluster_pool_spec(capacity->set->cluster, pool)->nodes; i++)
    if (!inventory->closed[first + i]) sum_milli += inventory->left_milli[first + i];
  return sum_milli;
}

/* ---- Windows -------------------------------------------------------------------------------------- */

uint32_t hr_capacity_columns(const struct hr_capacity_set *set) {
  return set->by_gpu ? hr__gpu_set_columns(&set->gpus) : 1;
}

uint32_t hr_capacity_first_gpu_column(const struct hr_capacity_set *set) {
  return set->by_gpu ? hr__gpu_set_first_gpu_column() : 0;
}

void hr_capacity_add_use(const struct hr_capacity_set *set, const struct hr_need *need, hr_pool pool,
                         const struct hr_slice *slice, uint64_t *use) {
  (void)pool;
  if (set->by_gpu)
    hr__gpu_set_add_use(&set->gpus, need->request, slice, use);
  else
    use[0] += slice->gpu_milli / MILLI;
}

void hr_capacity_set_window(struct hr_capacity *capacity, hr_pool pool, hr_node node, const struct hr_window_use *use) {
  const struct hr_capacity_set *set = capacity->set;
  if (set->by_gpu) {
    hr__gpu_state_set_window(&set->gpus, &capacity->gpus, &set->present.gpus, node, use);
    return;
  }
  set_free(capacity, pool, node, hr_cluster_pool_spec(set->cluster, pool)->gpus_per_node - (uint32_t)use->columns[0]);
}

/* Returns the smallest number of GPUs that a counted job uses on any of its nodes in the pool. A job on one node uses
   all its GPUs there. A job on several nodes uses whole nodes and, if GPUs remain, the remaining GPUs on one more
   node. */
static uint32_t min_part(const struct hr_capacity_set *set, const struct hr_need *need, hr_pool pool) {
  uint32_t size = hr_cluster_pool_spec(set->cluster, pool)->gpus_per_node;
  if (hr_placer_is_single(set->placer, need->gpus, need->accept_class)) return need->gpus;
  return need->gpus % size ? need->gpus % size : size;
}

struct hr_use_limits hr_capacity_use_limits(const struct hr_capacity_set *set, const struct hr_need *need,
                                            hr_pool pool) {
  if (set->by_gpu) return hr__gpu_set_use_limits(&set->gpus, need->request, pool);
  uint32_t size = hr_cluster_pool_spec(set->cluster, pool)->gpus_per_node, part = min_part(set, need, pool);
  return (struct hr_use_limits){.max_first = size - (part < size ? part : size), .max_second = UINT64_MAX};
}

bool hr_capacity_fits_on(const struct hr_capacity *capacity, const struct hr_need *need, hr_pool pool, hr_node node) {
  const struct hr_capacity_set *set = capacity->set;
  if (set->by_gpu) return hr_gpu_inventory_fits(capacity->gpus.inventory, &set->gpus.asked[need->request], node);
  const struct hr_free_index *index = index_of(capacity, pool);
  return hr_free_index_get(index, number_of(capacity, pool, node)) >= min_part(set, need, pool);
}

static uint32_t min_nodes_counted(const struct hr_capacity_set *set, const struct hr_need *need, hr_pool pool) {
  uint32_t size = hr_cluster_pool_spec(set->cluster, pool)->gpus_per_node;
  if (!hr_cluster_accepts(set->cluster, need->accept_class, pool) || size == 0) return HR_NONE;
  if (hr_placer_is_single(set->placer, need->gpus, need->accept_class)) return size >= need->gpus ? 1 : HR_NONE;
  return need->gpus / size + (need->gpus % size > 0);
}

uint32_t hr_capacity_min_nodes(const struct hr_capacity_set *set, const struct hr_need *need, hr_pool pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(set->cluster, pool);
  uint32_t n_nodes =
      set->by_gpu ? hr__gpu_set_min_nodes(&set->gpus, need->request, pool) : min_nodes_counted(set, need, pool);
  return n_nodes > spec->nodes ? HR_NONE : n_nodes;
}

bool hr_capacity_is_monotone(const struct hr_capacity_set *set, const struct hr_need *need) {
  return !set->by_gpu || hr__gpu_set_is_monotone(&set->gpus, need->request);
}

void hr_capacity_adopt(const struct hr_capacity_set *set, struct hr_placement *placement, struct hr_slice *slices) {
  if (!set->by_gpu) return;
  hr_gpu_inventory_adopt_layouts(set->present.gpus.inventory, slices, placement->n_slices);
  placement->slices = slices;
}
