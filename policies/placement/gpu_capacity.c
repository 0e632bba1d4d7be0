/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Per-GPU allocation, and the groups (of nodes, or of GPUs of a node) in which gangs with a topology constraint are
 * placed: see gpu_capacity.h.
 *
 * A gang may be placed in any pool that it accepts, but all its tasks must be in the same pool. The packer therefore
 * has one variant of the gang's request for each pool. A variant accepts only its pool. Pools are tried in the order of
 * the cluster.
 *
 * With mig_fallback, a job that names a MIG profile prefers the pools with GPUs that have the profile. If these pools
 * have no free instance, the job may use whole GPUs and shares of other pools. A gang tries the preferred pools first.
 * The request of a single task has one variant, which accepts only the preferred pools; a search tries this variant
 * first.
 */

#include "policies/placement/gpu_capacity.h"
#include "headroom/gpu_inventory.h"
#include "policies/kit/tournament.h"

/* The part of a pool that forms one group. */
struct hr__group_place {
  hr_node first;    /* first node of the group */
  uint32_t n_nodes; /* 1 if the group is a set of GPUs of one node */
  uint64_t gpus;    /* bit set of the GPUs of the group on each of its nodes */
};

/* ---- Groups of a tier ------------------------------------------------------------------------------- */

/*
 * The room of a group is the number of tasks of a request that fit in it: the sum over its nodes. For each (request,
 * tier) that was ever queried, each pool has a tournament over its groups. The value of a group is 0 if its room is
 * less than the number of tasks of the request. Otherwise, a smaller room gives a larger value, so the tournament
 * selects the tightest group: the one with the least room. The nodes are in a list, in order of their last change. An
 * update of the tournaments visits only the nodes that have changed since the previous update.
 */

struct pool_groups {
  struct hr__tournament_shape shape;
  uint32_t *tree; /* values of the groups: a tournament with one lane */
  uint64_t *room; /* by group: number of tasks that fit in the group */
};

struct room_query {
  uint64_t updated_at; /* groups->changes.count + 1 at the last update; 0: never updated */
  uint64_t *node_room; /* by node: number of tasks that fit on the node */
  struct pool_groups *pools;
};

struct hr__gang_groups {
  struct hr_arena *arena;
  const struct hr_cluster_spec *cluster;
  const struct hr_gpu_inventory *inventory;
  const struct hr_request *requests;
  uint32_t *first_node;        /* by pool */
  struct room_query **queries; /* [n_requests][HR_N_TIERS] */
  struct hr__node_changes changes;
};

/* Creates the groups in the arena. `cluster`, `inventory` and `requests` ([n_requests]) must outlive them. NULL: out of
   memory. */
static struct hr__gang_groups *gang_groups_create(struct hr_arena *arena, const struct hr_cluster_spec *cluster,
                                                  const struct hr_gpu_inventory *inventory,
                                                  const struct hr_request *requests, uint32_t n_requests) {
  struct hr__gang_groups *groups = hr_arena_alloc(arena, sizeof *groups);
  if (!groups) return NULL;
  *groups = (struct hr__gang_groups){.arena = arena, .cluster = cluster, .inventory = inventory, .requests = requests};
  if (!HR__ARENA_ARRAY(arena, groups->first_node, cluster->n_pools) ||
      !HR__ARENA_ARRAY(arena, groups->queries, ((size_t)n_requests + 1) * HR_N_TIERS) ||
      !hr__node_changes_init(&groups->changes, arena, inventory->n_nodes))
    return NULL;
  for (uint32_t i = 1; i < cluster->n_pools; i++)
    groups->first_node[i] = groups->first_node[i - 1] + cluster->pools[i - 1].nodes;
  return groups;
}

/* ---- Groups of a tier: room ------------------------------------------------------------------------- */

static uint64_t min_u64(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* Returns how many tasks fit on the GPU. At least one task must fit there. */
static uint64_t room_on_gpu(const struct hr_gpu_inventory *inventory, const struct hr_request *request, hr_node node,
                            size_t gpu) {
  uint64_t room = inventory->gpu_milli[gpu] / hr_gpu_inventory_milli(inventory, request, node);
  if (inventory->max_tasks[node.id] < HR_WHOLE_GPU_MILLI)
    room = min_u64(room, inventory->max_tasks[node.id] - inventory->gpu_tasks[gpu]);
  if (request->gpu_mem_mib && inventory->gpu_mem_mib[gpu] != HR_NONE)
    room = min_u64(room, inventory->gpu_mem_mib[gpu] / request->gpu_mem_mib);
  return room;
}

/* Returns how many fractions, each as large as the request's fraction of a GPU, fit on the given GPUs of the node. At
   most `tasks` of them are counted on each GPU. */
static uint64_t fractions_of(const struct hr_gpu_inventory *inventory, const struct hr_request *request, hr_node node,
                             uint64_t gpus, uint64_t tasks) {
  size_t first = (size_t)node.id * inventory->max_gpus;
  uint64_t sum = 0;
  for (; gpus; gpus &= gpus - 1)
    sum += min_u64(room_on_gpu(inventory, request, node, first + (uint32_t)__builtin_ctzll(gpus)), tasks);
  return sum;
}

/* Returns the maximum number t of tasks that fit, if each task needs a fraction (or all) of each of request->gpus
   distinct GPUs. A GPU can have at most one fraction of each task, so t tasks can use at most t fractions of a GPU.
   Therefore t tasks fit if and only if fractions_of(t) >= t x request->gpus. If t tasks fit, fewer tasks fit, too, so
   the maximum is found by bisection. */
static uint64_t room_on_gpus(const struct hr_gpu_inventory *inventory, const struct hr_request *request, hr_node node,
                             uint64_t gpus) {
  uint64_t fitting = hr_gpu_inventory_fitting_gpus(inventory, request, node) & gpus, low = 0;
  uint64_t high = fractions_of(inventory, request, node, fitting, UINT64_MAX) / request->gpus;
  while (low < high) {
    uint64_t middle = (low + high + 1) / 2;
    if (fractions_of(inventory, request, node, fitting, middle) >= middle * request->gpus)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* Returns the number of tasks that fit on the given GPUs of a node. */
static uint64_t room_on(const struct hr_gpu_inventory *inventory, const struct hr_request *request, hr_node node,
                        uint64_t gpus) {
  if (!hr_gpu_inventory_fits(inventory, request, node)) return 0;
  uint64_t room = request->dedicated ? 1 : UINT32_MAX;
  uint32_t cpu_milli = hr_gpu_inventory_cpu_milli(inventory, request, node);
  if (cpu_milli && inventory->cpu_milli[node.id] != HR_NONE)
    room = min_u64(room, inventory->cpu_milli[node.id] / cpu_milli);
  if (request->mem_mib && inventory->mem_mib[node.id] != UINT64_MAX)
    room = min_u64(room, inventory->mem_mib[node.id] / request->mem_mib);
  if (request->gpus == 0) return room;
  bool is_split = hr_gpu_inventory_mig(inventory, node) != NULL;
  return min_u64(room, is_split ? hr_gpu_inventory_mig_room(inventory, request, node, gpus)
                                : room_on_gpus(inventory, request, node, gpus));
}

/* ---- Groups of a tier: shapes of groups ------------------------------------------------------------- */

/* The groups of a tier in a pool: either a group consists of whole nodes, or a node consists of several groups. */
struct gang_groups_shape {
  uint32_t nodes_per_group, groups_per_node, gpus_per_group, n_groups;
};

static struct gang_groups_shape shape_of(const struct hr_pool_spec *spec, enum hr_tier tier) {
  struct gang_groups_shape shape = {.nodes_per_group = hr_topology_nodes(&spec->topology, tier, spec->nodes)};
  shape.gpus_per_group = hr_topology_gpus(&spec->topology, tier, spec->gpus_per_node);
  bool splits_nodes = shape.gpus_per_group && shape.gpus_per_group <= spec->gpus_per_node;
  shape.groups_per_node = splits_nodes ? spec->gpus_per_node / shape.gpus_per_group : 1;
  shape.n_groups = (spec->nodes + shape.nodes_per_group - 1) / shape.nodes_per_group * shape.groups_per_node;
  return shape;
}

/* Returns the bit set of the GPUs of group `part` of a node. */
static uint64_t mask_of(const struct gang_groups_shape *shape, uint32_t part) {
  uint64_t one =
      shape->gpus_per_group >= HR_MAX_INVENTORY_GPUS ? UINT64_MAX : (UINT64_C(1) << shape->gpus_per_group) - 1;
  return one << (part * shape->gpus_per_group);
}

/* ---- Groups of a tier: queries ---------------------------------------------------------------------- */

static struct room_query *make_query(struct hr__gang_groups *groups, enum hr_tier tier) {
  struct room_query *room_query = hr_arena_alloc(groups->arena, sizeof *room_query);
  if (!room_query) return NULL;
  room_query->node_room = hr_arena_alloc(groups->arena, ((size_t)groups->inventory->n_nodes + 1) * sizeof(uint64_t));
  if (!HR__ARENA_ARRAY(groups->arena, room_query->pools, groups->cluster->n_pools) || !room_query->node_room)
    return NULL;
  for (uint32_t i = 0; i < groups->cluster->n_pools; i++) {
    struct pool_groups *pool = &room_query->pools[i];
    uint32_t n_groups = shape_of(&groups->cluster->pools[i], tier).n_groups;
    pool->shape = hr__tournament_shape(n_groups);
    if (!HR__ARENA_ARRAY(groups->arena, pool->tree, pool->shape.size) ||
        !HR__ARENA_ARRAY(groups->arena, pool->room, (size_t)n_groups + 1))
      return NULL;
  }
  return room_query;
}

/* Sets the room of a group, and its value in the tournament. */
static void set_room(struct pool_groups *pool, const struct hr_request *request, uint32_t group, uint64_t room) {
  uint32_t value = room < request->tasks ? 0 : UINT32_MAX - (uint32_t)min_u64(room, UINT32_MAX - 1);
  pool->room[group] = room;
  hr__tournament_set(&pool->shape, pool->tree, 1, false, group, &value);
}

/* Updates the room of the group that contains the node or, if the tier splits nodes, of all groups on the node. */
static void update_node(struct hr__gang_groups *groups, struct room_query *room_query, const struct hr_request *request,
                        enum hr_tier tier, hr_node node) {
  uint32_t pool = groups->inventory->pool[node.id], number = node.id - groups->first_node[pool];
  struct gang_groups_shape shape = shape_of(&groups->cluster->pools[pool], tier);
  struct pool_groups *of_pool = &room_query->pools[pool];
  for (uint32_t part = 0; part < shape.groups_per_node && shape.groups_per_node > 1; part++)
    set_room(of_pool, request, number * shape.groups_per_node + part,
             room_on(groups->inventory, request, node, mask_of(&shape, part)));
  if (shape.groups_per_node > 1) return;
  uint32_t group = number / shape.nodes_per_group;
  uint64_t room = room_on(groups->inventory, request, node, UINT64_MAX);
  set_room(of_pool, request, group, of_pool->room[group] + room - room_query->node_room[node.id]);
  room_query->node_room[node.id] = room;
}

static void refresh(struct hr__gang_groups *groups, struct room_query *room_query, const struct hr_request *request,
                    enum hr_tier tier) {
  const struct hr__node_changes *changes = &groups->changes;
  for (uint32_t node = changes->before[changes->head]; node != changes->head; node = changes->before[node]) {
    if (room_query->updated_at && changes->changed[node] < room_query->updated_at) break;
    update_node(groups, room_query, request, tier, (hr_node){node});
  }
  room_query->updated_at = changes->count + 1;
}

/* Updates the groups of the request and tier: visits each node that has changed since the previous update. False: out
   of memory. */
static bool gang_groups_update(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier) {
  struct room_query **room_query = &groups->queries[(size_t)request * HR_N_TIERS + tier];
  if (!*room_query) *room_query = make_query(groups, tier);
  if (*room_query) refresh(groups, *room_query, &groups->requests[request], tier);
  return *room_query != NULL;
}

static struct pool_groups *pool_of(const struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier,
                                   hr_pool pool) {
  return &groups->queries[(size_t)request * HR_N_TIERS + tier]->pools[pool.id];
}

static struct hr__group_place place_of_group(const struct hr__gang_groups *groups, enum hr_tier tier, hr_pool pool,
                                             uint32_t group) {
  const struct hr_pool_spec *spec = &groups->cluster->pools[pool.id];
  struct gang_groups_shape shape = shape_of(spec, tier);
  uint32_t number = group / shape.groups_per_node * shape.nodes_per_group;
  return (struct hr__group_place){.first = {groups->first_node[pool.id] + number},
                                  .n_nodes = (uint32_t)min_u64(shape.nodes_per_group, spec->nodes - number),
                                  .gpus = mask_of(&shape, group % shape.groups_per_node)};
}

/* Returns the index of the tightest group of the pool in which all tasks of the request fit, and writes its place. Of
   equally tight groups, the one with the lowest index is returned. HR_NONE: no such group. The result is as of the last
   update. */
static uint32_t gang_groups_tightest(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier, hr_pool pool,
                                     struct hr__group_place *place) {
  const struct pool_groups *of_pool = pool_of(groups, request, tier, pool);
  if (hr__tournament_root(&of_pool->shape, of_pool->tree, 1, 0) == 0) return HR_NONE;
  uint32_t group = hr__tournament_best(&of_pool->shape, of_pool->tree, 1, 0);
  *place = place_of_group(groups, tier, pool, group);
  return group;
}

/* Excludes the group from searches until the next update, which restores its value in the tournament. */
static void gang_groups_exclude(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier, hr_pool pool,
                                uint32_t group) {
  struct pool_groups *of_pool = pool_of(groups, request, tier, pool);
  uint32_t none = 0;
  hr__tournament_set(&of_pool->shape, of_pool->tree, 1, false, group, &none);
  hr__node_changes_note(&groups->changes, place_of_group(groups, tier, pool, group).first);
}

/* ---- Time windows ----------------------------------------------------------------------------------- */

/* The columns of a use: those of the node, the used shares of all GPUs, the used memory of all GPUs, the numbers of
   tasks of all GPUs, and the number of tasks of each kind. ALONE is the number of tasks that need the node for
   themselves. */
enum { CPU_MILLI, MEM_MIB, TASKS, ALONE, FIRST_OF_GPUS };

static uint32_t max_gpus(const struct hr__gpu_set *set) {
  return hr_cluster_gpu_inventory(set->cluster)->max_gpus;
}

uint32_t hr__gpu_set_columns(const struct hr__gpu_set *set) {
  return FIRST_OF_GPUS + 3 * max_gpus(set) + hr_packer_kinds(max_gpus(set));
}

uint32_t hr__gpu_set_first_gpu_column(void) {
  return FIRST_OF_GPUS;
}

void hr__gpu_set_add_use(const struct hr__gpu_set *set, uint32_t request, const struct hr_slice *slice, uint64_t *use) {
  const struct hr_gpu_inventory *inventory = hr_cluster_gpu_inventory(set->cluster);
  const struct hr_request *asked = &set->asked[request];
  uint32_t n = inventory->max_gpus;
  uint64_t *gpu_milli = use + FIRST_OF_GPUS, *gpu_mem_mib = gpu_milli + n, *gpu_tasks = gpu_mem_mib + n;
  bool is_split = hr_gpu_inventory_mig(inventory, slice->node) != NULL;
  uint32_t milli = is_split ? slice->gpu_milli : hr_gpu_inventory_milli(inventory, asked, slice->node);
  use[CPU_MILLI] += hr_gpu_inventory_cpu_milli(inventory, asked, slice->node);
  use[MEM_MIB] += asked->mem_mib;
  use[TASKS]++;
  use[ALONE] += asked->dedicated;
  for (uint64_t gpus = slice->gpus; gpus; gpus &= gpus - 1) {
    uint32_t gpu = (uint32_t)__builtin_ctzll(gpus);
    gpu_milli[gpu] += milli;
    gpu_mem_mib[gpu] += asked->gpu_mem_mib;
    gpu_tasks[gpu]++;
  }
  gpu_tasks[n + hr_request_kind(asked)]++;
}

/* Returns the maximum value of a column with which `needed` is still free; UINT64_MAX if the resource is not accounted.
   If even an empty node has too little, the result is 0; the need never fits then, and hr_capacity_fits_on is false. */
static uint64_t limit_of(uint64_t total, uint64_t needed) {
  return total == 0 ? UINT64_MAX : total - (needed < total ? needed : total);
}

struct hr_use_limits hr__gpu_set_use_limits(const struct hr__gpu_set *set, uint32_t request, hr_pool pool) {
  const struct hr_request *asked = &set->asked[request];
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(set->cluster, pool);
  uint32_t slot_milli = hr_pool_slot_milli(spec), milli = slot_milli ? slot_milli : asked->gpu_milli;
  return (struct hr_use_limits){.max_first = limit_of(spec->cpu_milli_per_node, hr_pool_cpu_milli(spec, asked)),
                                .max_second = limit_of(spec->mem_mib_per_node, asked->mem_mib),
                                .max_gpu_milli = limit_of(HR_WHOLE_GPU_MILLI, milli),
                                .gpus = spec->mig ? 0 : asked->gpus,
                                .n_gpus = spec->gpus_per_node,
                                .first_gpu = FIRST_OF_GPUS};
}

/* Reports a node with a changed free capacity to the groups and to the packer `bare`. The caller reports it to the
   packer of the state. */
static void node_changed(const struct hr__gpu_state *state, hr_node node) {
  if (state->groups) hr__node_changes_note(&state->groups->changes, node);
  if (state->bare) hr_packer_changed(state->bare, node);
}

void hr__gpu_state_set_window(const struct hr__gpu_set *set, const struct hr__gpu_state *state,
                              const struct hr__gpu_state *now, hr_node node, const struct hr_window_use *use) {
  const uint64_t *columns = use->columns, *gpu_milli = columns + FIRST_OF_GPUS;
  uint32_t n = state->inventory->max_gpus;
  const struct hr_node_use of_node = {.cpu_milli = columns[CPU_MILLI],
                                      .mem_mib = columns[MEM_MIB],
                                      .tasks = columns[TASKS],
                                      .alone = columns[ALONE] > 0,
                                      .gpu_milli = gpu_milli,
                                      .gpu_mem_mib = gpu_milli + n,
                                      .gpu_tasks = gpu_milli + 2 * (size_t)n,
                                      .within = use->within,
                                      .before = use->before,
                                      .n_within = use->n_within,
                                      .n_before = use->n_before};
  hr_gpu_inventory_set_use(state->inventory, hr_cluster_spec_of(set->cluster), now->inventory, node, &of_node);
  state->inventory->closed[node.id] = 0;
  hr_packer_set_tasks(state->packer, node, (uint32_t)columns[TASKS], gpu_milli + 3 * (size_t)n);
  node_changed(state, node);
}

uint32_t hr__gpu_set_min_nodes(const struct hr__gpu_set *set, uint32_t request, hr_pool pool) {
  const struct hr_request *asked = &set->asked[request];
  const struct hr_cluster_spec *cluster = hr_cluster_spec_of(set->cluster);
  if (!hr_cluster_accepts(set->cluster, asked->accept_class, pool)) return HR_NONE;
  uint32_t on_node = hr_pool_max_tasks(cluster, pool, asked);
  if (on_node == 0) return HR_NONE;
  return cluster->pools[pool.id].mig ? 1 : (asked->tasks - 1) / on_node + 1;
}

/* Returns false if the tasks of a gang can block each other. With MIG, the layout or the position of the instance of
   one task can block another task. Without MIG, the choice of GPUs for one task can block another task if each task
   uses shares of several GPUs. */
bool hr__gpu_set_is_monotone(const struct hr__gpu_set *set, uint32_t request) {
  const struct hr_request *asked = &set->asked[request];
  const struct hr_cluster_spec *cluster = hr_cluster_spec_of(set->cluster);
  if (asked->tasks == 1) return true;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    bool shares = asked->gpu_milli < HR_WHOLE_GPU_MILLI || cluster->pools[i].replicas > 0;
    if (!hr_cluster_accepts(set->cluster, asked->accept_class, (hr_pool){i})) continue;
    if (cluster->pools[i].mig || (asked->gpus > 1 && shares)) return false;
  }
  return true;
}

/* ---- Search ----------------------------------------------------------------------------------------- */

/* Allocates or releases the GPUs of one task in a state, or reverts their allocation. */
static void change(const struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request,
                   const struct hr_slice *slice, enum hr__gpu_change change) {
  const struct hr_request *asked = &set->asked[request];
  if (change == HR__GPUS_TAKE)
    hr_gpu_inventory_take(state->inventory, asked, slice);
  else if (change == HR__GPUS_GIVE)
    hr_gpu_inventory_give(state->inventory, asked, slice);
  else
    hr_gpu_inventory_undo(state->inventory, asked, slice);
  if (change == HR__GPUS_TAKE)
    hr_packer_taken(state->packer, request, slice->node);
  else
    hr_packer_given(state->packer, request, slice->node);
  node_changed(state, slice->node);
}

/* Finds a node and GPUs for one task, within the group `place`, or anywhere if `place` is NULL. If the group is only a
   part of a node (`splits_node`), hr_gpu_inventory_pick_of selects among the GPUs of the group, and the packing rule is
   not used. False: no node has room. */
static bool find_task(const struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request,
                      const struct hr__group_place *place, bool splits_node, struct hr_slice *slice) {
  const struct hr_request *asked = &set->asked[request];
  hr_node node;
  uint64_t gpus;
  if (!place) {
    if (!hr_packer_find(state->packer, request, &node, &gpus)) return false;
  } else if (!splits_node) {
    if (!hr_packer_find_among(state->packer, request, place->first, place->n_nodes, &node, &gpus)) return false;
  } else {
    node = place->first;
    if (!hr_gpu_inventory_fits(state->inventory, asked, node)) return false;
    gpus = hr_gpu_inventory_pick_of(state->inventory, asked, node, place->gpus);
    if ((uint32_t)__builtin_popcountll(gpus) < asked->gpus) return false;
  }
  *slice = hr_gpu_inventory_slice(state->inventory, asked, node, gpus);
  return true;
}

/* Finds a placement for all tasks, within the group `place`, or anywhere if `place` is NULL. Each task is placed as if
   the tasks before it were already running. False: no placement. `splits_node`: see find_task. */
static bool find_gang(const struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request,
                      const struct hr__group_place *place, bool splits_node) {
  uint32_t tasks = set->asked[request].tasks, placed = 0;
  struct hr_slice *slices = set->slices;
  while (placed < tasks && find_task(set, state, request, place, splits_node, &slices[placed]))
    change(set, state, request, &slices[placed++], HR__GPUS_TAKE);
  for (uint32_t i = placed; i-- > 0;) change(set, state, request, &slices[i], HR__GPUS_UNDO);
  return placed == tasks;
}

/* The place of all nodes of a pool. */
static struct hr__group_place place_of_pool(const struct hr__gpu_set *set, hr_pool pool) {
  return (struct hr__group_place){.first = hr_cluster_first_node(set->cluster, pool),
                                  .n_nodes = hr_cluster_pool_spec(set->cluster, pool)->nodes,
                                  .gpus = UINT64_MAX};
}

/* Finds a placement for a request with a single task. False: no placement. */
static bool find_single(const struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request,
                        uint32_t only, struct hr_placement *placement) {
  struct hr__group_place place;
  if (only != HR_NONE) place = place_of_pool(set, (hr_pool){only});
  if (!find_task(set, state, request, only != HR_NONE ? &place : NULL, false, set->slices)) return false;
  placement->pool.id = state->inventory->pool[set->slices[0].node.id];
  return true;
}

/* Whether the request prefers the pool. With mig_fallback, a job that names a MIG profile prefers pools that have it.
 */
static bool prefers(const struct hr_request *asked, uint32_t pool) {
  return !asked->prefers_mig || asked->mig_profiles[pool] != 0;
}

/* Finds a placement for a gang in one of the pools that it prefers (`preferred`), or in one of the pools that it does
   not prefer (not `preferred`). `only`: see hr__gpu_state_find. False: no placement. */
static bool find_gang_in_pools(const struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request,
                               bool preferred, uint32_t only, struct hr_placement *placement) {
  for (uint32_t pool = 0; pool < set->n_pools; pool++) {
    uint32_t variant = set->first_variant[request] + pool;
    if ((only != HR_NONE && pool != only) || prefers(&set->asked[request], pool) != preferred) continue;
    placement->pool.id = pool;
    if (set->asked[variant].accept_class != HR_NONE && find_gang(set, state, variant, NULL, false)) return true;
  }
  return false;
}

/* Finds a placement for a request, without regard to its tier. False: no placement. See hr__gpu_state_find. */
static bool find(const struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request, uint32_t only,
                 struct hr_placement *placement) {
  const struct hr_request *asked = &set->asked[request];
  *placement = (struct hr_placement){.pool = {only == HR_NONE ? 0 : only}, .slices = set->slices};
  if (!hr_request_needs_node(asked)) return true;
  placement->n_slices = asked->tasks;
  if (asked->tasks > 1)
    return find_gang_in_pools(set, state, request, true, only, placement) ||
           find_gang_in_pools(set, state, request, false, only, placement);
  uint32_t preferred = only == HR_NONE ? set->first_variant[request] : HR_NONE;
  if (preferred != HR_NONE && find_single(set, state, preferred, only, placement)) return true;
  return find_single(set, state, request, only, placement);
}

/* HR__GPUS_UNDO reverts the tasks in reverse order of HR__GPUS_TAKE. */
void hr__gpu_state_change(const struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request,
                          const struct hr_placement *placement, enum hr__gpu_change how) {
  uint32_t n = placement->n_slices;
  for (uint32_t i = 0; i < n; i++)
    change(set, state, request, &placement->slices[how == HR__GPUS_UNDO ? n - 1 - i : i], how);
}

void hr__gpu_state_set_usable(const struct hr__gpu_set *set, const struct hr__gpu_state *state, hr_node node,
                              bool usable, bool renew) {
  if (renew) hr_cluster_copy_layouts(set->cluster, state->inventory, node);
  state->inventory->closed[node.id] = !usable;
  hr_packer_changed(state->packer, node);
  node_changed(state, node);
}

/* The layouts of MIG GPUs are those of the present state. */
void hr__gpu_state_reset(const struct hr__gpu_set *set, const struct hr__gpu_state *state) {
  const struct hr_gpu_inventory *now = hr_cluster_gpu_inventory(set->cluster);
  for (uint32_t i = 0; i < now->n_nodes; i++) {
    hr_node node = {i};
    hr_gpu_inventory_copy_layouts(state->inventory, now, node);
    hr_gpu_inventory_clear(state->inventory, hr_cluster_spec_of(set->cluster), node);
    state->inventory->closed[i] = hr_cluster_node_state(set->cluster, node) != HR_NODE_UP;
    hr_packer_cleared(state->packer, node);
    node_changed(state, node);
  }
}

/* Returns whether the slices are free. They are allocated one by one, because several slices may be on one GPU;
   afterwards, these allocations are reverted. */
bool hr__gpu_state_has(const struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request,
                       const struct hr_placement *placement) {
  const struct hr_request *asked = &set->asked[request];
  struct hr_slice *slices = set->checked;
  uint32_t n = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++) slices[i] = placement->slices[i];
  hr_gpu_inventory_rebase(state->inventory, slices, placement->n_slices);
  while (n < placement->n_slices && !hr_gpu_inventory_refuse(state->inventory, asked, &slices[n]))
    hr_gpu_inventory_take(state->inventory, asked, &slices[n++]);
  for (uint32_t i = n; i-- > 0;) hr_gpu_inventory_undo(state->inventory, asked, &slices[i]);
  return n == placement->n_slices;
}

/* ---- Search in groups ------------------------------------------------------------------------------- */

/* Tries the groups that have enough room, the tightest first, until a placement of all tasks is found in one of them. A
   group can have enough room but no placement, because the room is computed without placing the tasks one by one.
   False: no placement. */
static bool find_in_pool(const struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request,
                         enum hr_tier tier, hr_pool pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(set->cluster, pool);
  bool splits_node = hr_topology_gpus(&spec->topology, tier, spec->gpus_per_node) < spec->gpus_per_node;
  for (;;) {
    struct hr__group_place place;
    uint32_t group = gang_groups_tightest(state->groups, request, tier, pool, &place);
    if (group == HR_NONE) return false;
    if (find_gang(set, state, request, &place, splits_node)) return true;
    gang_groups_exclude(state->groups, request, tier, pool, group);
  }
}

/* Returns whether, in some pool that the request accepts, the groups of the tier are smaller than a node. */
static bool parts_nodes(const struct hr__gpu_set *set, const struct hr_request *asked, enum hr_tier tier) {
  for (uint32_t i = 0; i < set->n_pools; i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(set->cluster, (hr_pool){i});
    if (hr_topology_gpus(&spec->topology, tier, spec->gpus_per_node) == spec->gpus_per_node) continue;
    if (hr_cluster_accepts(set->cluster, asked->accept_class, (hr_pool){i})) return true;
  }
  return false;
}

/* Returns whether it is certain that every placement of the request is within one group of the tier: the request has a
   single task, and this task needs at most one GPU, or the tier splits no node that the request accepts. */
static bool is_within(const struct hr__gpu_set *set, const struct hr_request *asked, enum hr_tier tier) {
  return asked->tasks == 1 && (asked->gpus <= 1 || tier >= HR_TIER_NODE || !parts_nodes(set, asked, tier));
}

/* Finds a placement within one group of the tier. `preferred` and `only`: see find_gang_in_pools. The groups must be up
   to date. False: no placement. */
static bool find_in_groups(const struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request,
                           enum hr_tier tier, bool preferred, uint32_t only, struct hr_placement *placement) {
  const struct hr_request *asked = &set->asked[request];
  for (uint32_t pool = 0; pool < set->n_pools; pool++) {
    if ((only != HR_NONE && pool != only) || prefers(asked, pool) != preferred) continue;
    *placement = (struct hr_placement){.pool = {pool}, .n_slices = asked->tasks, .slices = set->slices};
    if (!hr_cluster_accepts(set->cluster, asked->accept_class, (hr_pool){pool})) continue;
    if (find_in_pool(set, state, request, tier, (hr_pool){pool})) return true;
  }
  return false;
}

bool hr__gpu_state_find(struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request, enum hr_tier tier,
                        uint32_t only, struct hr_placement *placement) {
  const struct hr_request *asked = &set->asked[request];
  if (tier == HR_TIER_ANY || is_within(set, asked, tier) || !hr_request_needs_node(asked))
    return find(set, state, request, only, placement);
  if (!gang_groups_update(state->groups, request, tier)) {
    set->failed = true;
    return false;
  }
  return find_in_groups(set, state, request, tier, true, only, placement) ||
         find_in_groups(set, state, request, tier, false, only, placement);
}

/* ---- Search on given nodes -------------------------------------------------------------------------- */

/* Finds places for the tasks of all shares, each task as if the tasks before it were already running. `gpus`: the GPUs
   of a node that may be used. False: not all tasks have places. */
static bool find_shares(const struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request,
                        const struct hr_node_share *shares, uint32_t n_shares, uint64_t gpus) {
  struct hr_slice *slices = set->slices;
  uint32_t placed = 0;
  bool ok = true;
  for (uint32_t i = 0; i < n_shares && ok; i++) {
    struct hr__group_place place = {.first = shares[i].first, .n_nodes = shares[i].n_nodes, .gpus = gpus};
    for (uint32_t k = 0; k < shares[i].tasks && ok; k++) {
      ok = placed < set->asked[request].tasks &&
           find_task(set, state, request, &place, gpus != UINT64_MAX, &slices[placed]);
      if (ok) change(set, state, request, &slices[placed++], HR__GPUS_TAKE);
    }
  }
  for (uint32_t i = placed; i-- > 0;) change(set, state, request, &slices[i], HR__GPUS_UNDO);
  return ok && placed == set->asked[request].tasks;
}

bool hr__gpu_state_find_on(const struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request,
                           enum hr_tier tier, hr_pool pool, const struct hr_node_share *shares, uint32_t n_shares,
                           struct hr_placement *placement) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(set->cluster, pool);
  uint32_t tasks = set->asked[request].tasks, all = spec->gpus_per_node;
  uint32_t size = tier == HR_TIER_ANY ? all : hr_topology_gpus(&spec->topology, tier, all);
  if (tasks > 1) request = set->first_variant[request] + pool.id;
  if (set->asked[request].accept_class == HR_NONE) return false;
  *placement = (struct hr_placement){.pool = pool, .n_slices = tasks, .slices = set->slices};
  if (size >= all || n_shares != 1 || shares[0].n_nodes != 1)
    return find_shares(set, state, request, shares, n_shares, UINT64_MAX);
  for (uint32_t first = 0; first < all; first += size)
    if (find_shares(set, state, request, shares, 1, ((UINT64_C(1) << size) - 1) << first)) return true;
  return false;
}

/* ---- Construction ----------------------------------------------------------------------------------- */

/* Whether the request has a variant that accepts only the pools that it prefers. */
static bool has_preference(const struct hr_request *request) {
  return request->tasks == 1 && request->prefers_mig;
}

static uint32_t count_classes(const struct hr_requests *requests) {
  uint32_t n_classes = 0;
  for (uint32_t i = 0; i < requests->count; i++)
    if (requests->request[i].accept_class >= n_classes) n_classes = requests->request[i].accept_class + 1;
  return n_classes;
}

/* Makes the acceptance classes: those of the cluster, one for each pool, and one for each request with a preference.
   False: out of memory. */
static bool make_acceptance(struct hr__gpu_set *set, struct hr_arena *arena, const struct hr_cluster *cluster) {
  uint32_t n_pools = set->n_pools, n_classes = count_classes(set->requests), n_rows = n_classes + n_pools;
  for (uint32_t i = 0; i < set->requests->count; i++) n_rows += has_preference(&set->requests->request[i]);
  uint8_t *row = hr_arena_alloc(arena, (size_t)n_rows * n_pools + 1);
  if (!row) return false;
  for (uint32_t class_ = 0; class_ < n_classes; class_++)
    for (uint32_t pool = 0; pool < n_pools; pool++)
      row[(size_t)class_ * n_pools + pool] = hr_cluster_accepts(cluster, class_, (hr_pool){pool});
  for (uint32_t pool = 0; pool < n_pools; pool++) row[(size_t)(n_classes + pool) * n_pools + pool] = 1;
  uint8_t *at = row + (size_t)(n_classes + n_pools) * n_pools;
  for (uint32_t i = 0; i < set->requests->count; i++) {
    const struct hr_request *request = &set->requests->request[i];
    if (!has_preference(request)) continue;
    for (uint32_t pool = 0; pool < n_pools; pool++)
      *at++ = row[(size_t)request->accept_class * n_pools + pool] && prefers(request, pool);
  }
  set->first_pool_class = n_classes;
  set->acceptance = (struct hr_acceptance){row, n_rows, n_pools};
  return true;
}

/* Adds the variants of the gang's request, one for each pool. If the gang does not accept the pool, the variant has no
   acceptance class, and must not be searched for. */
static void add_variants(struct hr__gpu_set *set, uint32_t request) {
  struct hr_request asked = set->asked[request];
  const uint8_t *accepted = set->acceptance.row + (size_t)asked.accept_class * set->n_pools;
  set->first_variant[request] = set->n_asked;
  for (uint32_t pool = 0; pool < set->n_pools; pool++) {
    asked.accept_class = accepted[pool] ? set->first_pool_class + pool : HR_NONE;
    set->asked[set->n_asked++] = asked;
  }
}

/* Creates the list of requests: those of the trace, followed by the variants. False: out of memory. */
static bool make_asked(struct hr__gpu_set *set, struct hr_arena *arena) {
  const struct hr_requests *requests = set->requests;
  uint32_t max_tasks = 1, n_gangs = 0, n_single = 0, class_ = set->first_pool_class + set->n_pools;
  for (uint32_t i = 0; i < requests->count; i++) {
    if (requests->request[i].tasks > max_tasks) max_tasks = requests->request[i].tasks;
    n_gangs += requests->request[i].tasks > 1;
    n_single += has_preference(&requests->request[i]);
  }
  size_t n_asked = requests->count + (size_t)n_gangs * set->n_pools + n_single + 1;
  if (!HR__ARENA_ARRAY(arena, set->asked, n_asked) || !HR__ARENA_ARRAY(arena, set->first_variant, n_asked) ||
      !HR__ARENA_ARRAY(arena, set->slices, max_tasks) || !HR__ARENA_ARRAY(arena, set->checked, max_tasks))
    return false;
  set->n_asked = requests->count;
  for (uint32_t i = 0; i < requests->count; i++) set->asked[i] = requests->request[i];
  for (uint32_t i = 0; i < requests->count; i++) {
    set->first_variant[i] = HR_NONE;
    if (requests->request[i].tasks > 1) add_variants(set, i);
    if (!has_preference(&requests->request[i])) continue;
    set->first_variant[i] = set->n_asked;
    set->asked[set->n_asked] = requests->request[i];
    set->asked[set->n_asked++].accept_class = class_++;
  }
  return true;
}

bool hr__gpu_state_init(const struct hr__gpu_set *set, struct hr__gpu_state *state, bool all_nodes) {
  const struct hr_cluster_spec *cluster = hr_cluster_spec_of(set->cluster);
  const struct hr_gpu_inventory *now = hr_cluster_gpu_inventory(set->cluster);
  state->inventory = hr_gpu_inventory_create(set->arena, cluster, set->requests);
  struct hr_packer_config config = {.rule = set->rule,
                                    .inventory = state->inventory,
                                    .cluster = cluster,
                                    .acceptance = set->acceptance,
                                    .requests = set->asked,
                                    .n_requests = set->n_asked,
                                    .typical = set->typical,
                                    .seed = set->seed,
                                    .finds = &state->finds};
  state->packer = state->inventory ? hr_packer_create(set->arena, &config) : NULL;
  if (!state->packer) return false;
  for (uint32_t node = 0; node < now->n_nodes && !all_nodes; node++)
    state->inventory->closed[node] = hr_cluster_node_state(set->cluster, (hr_node){node}) != HR_NODE_UP;
  if (!hr_cluster_any_within(set->cluster)) return true;
  state->groups = gang_groups_create(set->arena, cluster, state->inventory, set->asked, set->requests->count);
  return state->groups != NULL;
}

/* Returns whether the GPUs of some pool are divided into equal parts. */
static bool any_parts(const struct hr__gpu_set *set) {
  for (uint32_t i = 0; i < set->n_pools; i++) {
    uint32_t slot_milli = hr_pool_slot_milli(hr_cluster_pool_spec(set->cluster, (hr_pool){i}));
    if (slot_milli > 0 && slot_milli < HR_WHOLE_GPU_MILLI) return true;
  }
  return false;
}

/* Returns whether a gang may have no placement although the room for its tasks is large enough. This can occur if each
   task uses parts of several GPUs: the choice of GPUs for one task may leave too few distinct GPUs for another task. In
   a pool with equal parts, a task uses a part of each GPU even if it requests whole GPUs. */
static bool may_not_fit(const struct hr__gpu_set *set, const struct hr_request *request) {
  if (request->tasks <= 1 || request->gpus <= 1) return false;
  return request->gpu_milli < HR_WHOLE_GPU_MILLI || any_parts(set);
}

/* Initializes the empty cluster if some gang needs it. False: out of memory. */
static bool make_empty(struct hr__gpu_set *set) {
  for (uint32_t i = 0; i < set->requests->count; i++)
    if (may_not_fit(set, &set->requests->request[i])) return hr__gpu_state_init(set, &set->empty, true);
  return true;
}

enum hr_status hr__gpu_set_init(struct hr__gpu_set *set, struct hr_arena *arena, const struct hr_cluster *cluster,
                                const struct hr_packing_rule *rule, uint64_t seed) {
  *set = (struct hr__gpu_set){.arena = arena,
                              .cluster = cluster,
                              .rule = rule,
                              .seed = seed,
                              .n_pools = hr_cluster_pools(cluster),
                              .requests = hr_cluster_requests(cluster)};
  set->typical = hr_typical_pods_create(arena, set->requests);
  bool made = set->typical && make_acceptance(set, arena, cluster) && make_asked(set, arena) && make_empty(set);
  return made ? HR_OK : HR_NO_MEMORY;
}

enum hr_reason hr__gpu_set_never_fits(struct hr__gpu_set *set, const struct hr_need *need) {
  struct hr_placement unused;
  if (!set->empty.packer || !may_not_fit(set, &set->asked[need->request])) return HR_REASON_NONE;
  if (!find(set, &set->empty, need->request, HR_NONE, &unused)) return HR_REASON_TOO_LARGE;
  if (need->tier == HR_TIER_ANY || need->preferred) return HR_REASON_NONE;
  bool fits = hr__gpu_state_find(set, &set->empty, need->request, need->tier, HR_NONE, &unused);
  return fits ? HR_REASON_NONE : HR_REASON_NO_GROUP;
}

/* ---- Requests without CPU and memory ---------------------------------------------------------------- */

/* To find out whether a job waits for CPU or memory, the inventory of a state is searched with a second packer. Its
   requests have no CPU and memory. Only explanations of waits need this packer, so it is created at the first
   explanation. */

static struct hr_request *bare_requests(const struct hr__gpu_set *set) {
  struct hr_request *bare = hr_arena_alloc(set->arena, ((size_t)set->n_asked + 1) * sizeof *bare);
  for (uint32_t i = 0; bare && i < set->n_asked; i++) {
    bare[i] = set->asked[i];
    bare[i].cpu_milli = 0;
    bare[i].mem_mib = 0;
  }
  return bare;
}

/* Creates the set of requests without CPU and memory. It shares the buffer of slices with `set`. This is safe because a
   placement is not needed after the next search. */
static struct hr__gpu_set *make_bare_set(const struct hr__gpu_set *set) {
  struct hr__gpu_set *bare = hr_arena_alloc(set->arena, sizeof *bare);
  if (!bare) return NULL;
  *bare = *set;
  bare->rule = hr_packing_rule_find("first-fit", NULL);
  bare->asked = bare_requests(set);
  return bare->asked && bare->rule ? bare : NULL;
}

static struct hr_packer *make_bare_packer(const struct hr__gpu_set *bare, const struct hr__gpu_state *state) {
  struct hr_packer_config config = {.rule = bare->rule,
                                    .inventory = state->inventory,
                                    .cluster = hr_cluster_spec_of(bare->cluster),
                                    .acceptance = bare->acceptance,
                                    .requests = bare->asked,
                                    .n_requests = bare->n_asked};
  return hr_packer_create(bare->arena, &config);
}

bool hr__gpu_state_lacks_node_resources(struct hr__gpu_set *set, struct hr__gpu_state *state, uint32_t request) {
  const struct hr_request *asked = &set->asked[request];
  struct hr_placement unused;
  if (asked->cpu_milli == 0 && asked->mem_mib == 0) return false;
  if (!set->bare) set->bare = make_bare_set(set);
  if (set->bare && !state->bare) state->bare = make_bare_packer(set->bare, state);
  if (!state->bare) {
    set->failed = true;
    return false;
  }
  const struct hr__gpu_state bare = {.inventory = state->inventory, .packer = state->bare};
  return find(set->bare, &bare, request, HR_NONE, &unused);
}
