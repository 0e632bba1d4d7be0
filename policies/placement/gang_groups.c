/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups of a tier in per-GPU allocation: see gpu_capacity.h.
 *
 * For each (request, tier) that was ever queried, each pool has a tournament over its groups. The value of a group is 0
 * if its room is less than the number of tasks of the request. Otherwise the value decreases with the room, so that the
 * tournament selects the tightest group. The room of a group is the sum over its nodes. The nodes are in a list, in
 * order of their last change. An update of the tournaments visits only the nodes that have changed since the previous
 * update.
 */

#include "policies/placement/gpu_capacity.h"

#include "policies/kit/tournament.h"

/* ---- Groups of a tier ----------------------------------------------------------------------------- */

struct pool_groups {
  struct hr__tournament_shape shape;
  uint32_t *tree; /* values of the groups: a tournament with one lane */
  uint64_t *room; /* by group: number of tasks that fit in the group */
};

struct room_query {
  uint64_t updated_at; /* groups->changes + 1 at the last update; 0: never updated */
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
  /* [n_nodes + 1]: neighbours in the list in order of change; the last entry is the head of the list */
  uint32_t *before, *after;
  uint64_t *changed; /* [n_nodes]: value of `changes` at the last change */
  uint64_t changes;
};

/* Creates the groups in the arena. `inventory` and `requests` ([n_requests]) must outlive them. NULL: out of memory. */
struct hr__gang_groups *hr__gang_groups_create(struct hr_arena *arena, const struct hr_cluster_spec *cluster,
                                               const struct hr_gpu_inventory *inventory,
                                               const struct hr_request *requests, uint32_t n_requests) {
  struct hr__gang_groups *groups = hr_arena_alloc(arena, sizeof *groups);
  size_t n = (size_t)inventory->n_nodes + 1;
  if (!groups) return NULL;
  *groups = (struct hr__gang_groups){.arena = arena, .cluster = cluster, .inventory = inventory, .requests = requests};
  groups->first_node = hr_arena_alloc(arena, cluster->n_pools * sizeof *groups->first_node);
  groups->queries = hr_arena_alloc(arena, ((size_t)n_requests + 1) * HR_N_TIERS * sizeof(*groups->queries));
  groups->before = hr_arena_alloc(arena, n * sizeof *groups->before);
  groups->after = hr_arena_alloc(arena, n * sizeof *groups->after);
  groups->changed = hr_arena_alloc(arena, n * sizeof *groups->changed);
  if (!groups->first_node || !groups->queries || !groups->before || !groups->after || !groups->changed) return NULL;
  for (uint32_t i = 1; i < cluster->n_pools; i++)
    groups->first_node[i] = groups->first_node[i - 1] + cluster->pools[i - 1].nodes;
  for (uint32_t i = 0; i < n; i++) {
    groups->after[i] = i + 1 == n ? 0 : i + 1;
    groups->before[i] = i == 0 ? (uint32_t)n - 1 : i - 1;
  }
  return groups;
}

/* ---- Room ----------------------------------------------------------------------------------------- */

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
   distinct GPUs. A GPU can have at most one fraction of each task. Therefore t tasks fit if fractions_of(t) >= t x
   request->gpus. The maximum is found by bisection. */
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

/* ---- Shapes of groups ----------------------------------------------------------------------------- */

/* The groups of a tier in a pool: either a group consists of whole nodes, or a node consists of several groups. */
struct gang_groups_shape {
  uint32_t nodes_per_group, groups_per_node, gpus_per_group, n_groups;
};

/* Returns the shape of the groups of a tier in a pool. */
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

/* ---- Queries -------------------------------------------------------------------------------------- */

static struct room_query *make_query(struct hr__gang_groups *groups, enum hr_tier tier) {
  struct room_query *room_query = hr_arena_alloc(groups->arena, sizeof *room_query);
  if (!room_query) return NULL;
  room_query->node_room = hr_arena_alloc(groups->arena, ((size_t)groups->inventory->n_nodes + 1) * sizeof(uint64_t));
  room_query->pools = hr_arena_alloc(groups->arena, groups->cluster->n_pools * sizeof *room_query->pools);
  if (!room_query->node_room || !room_query->pools) return NULL;
  for (uint32_t i = 0; i < groups->cluster->n_pools; i++) {
    struct pool_groups *pool = &room_query->pools[i];
    uint32_t n_groups = shape_of(&groups->cluster->pools[i], tier).n_groups;
    pool->shape = hr__tournament_shape(n_groups);
    pool->tree = hr_arena_alloc(groups->arena, pool->shape.size * sizeof *pool->tree);
    pool->room = hr_arena_alloc(groups->arena, ((size_t)n_groups + 1) * sizeof *pool->room);
    if (!pool->tree || !pool->room) return NULL;
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
  uint32_t head = groups->inventory->n_nodes;
  for (uint32_t node = groups->before[head]; node != head; node = groups->before[node]) {
    if (room_query->updated_at && groups->changed[node] < room_query->updated_at) break;
    update_node(groups, room_query, request, tier, (hr_node){node});
  }
  room_query->updated_at = groups->changes + 1;
}

/* Updates the groups of the request and tier: visits each node that has changed since the previous update. False: out
   of memory. */
bool hr__gang_groups_update(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier) {
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
uint32_t hr__gang_groups_tightest(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier, hr_pool pool,
                                  struct hr__group_place *place) {
  const struct pool_groups *of_pool = pool_of(groups, request, tier, pool);
  if (hr__tournament_root(&of_pool->shape, of_pool->tree, 1, 0) == 0) return HR_NONE;
  uint32_t group = hr__tournament_best(&of_pool->shape, of_pool->tree, 1, 0);
  *place = place_of_group(groups, tier, pool, group);
  return group;
}

/* Marks a node for the next update. Called when the free capacity of the node has changed, or when the node has become
   usable or unusable. */
void hr__gang_groups_changed(struct hr__gang_groups *groups, hr_node node) {
  uint32_t i = node.id, head = groups->inventory->n_nodes;
  groups->after[groups->before[i]] = groups->after[i];
  groups->before[groups->after[i]] = groups->before[i];
  groups->before[i] = groups->before[head];
  groups->after[i] = head;
  groups->after[groups->before[head]] = i;
  groups->before[head] = i;
  groups->changed[i] = ++groups->changes;
}

/* Excludes the group from searches until the next update, which restores its value in the tournament. */
void hr__gang_groups_exclude(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier, hr_pool pool,
                             uint32_t group) {
  struct pool_groups *of_pool = pool_of(groups, request, tier, pool);
  uint32_t none = 0;
  hr__tournament_set(&of_pool->shape, of_pool->tree, 1, false, group, &none);
  hr__gang_groups_changed(groups, place_of_group(groups, tier, pool, group).first);
}
