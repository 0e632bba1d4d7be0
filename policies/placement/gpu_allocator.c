/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Per-GPU allocation: see gpu_allocator.h.
 *
 * A gang may be placed in any pool that it accepts, but all its tasks must be in the same pool. The packer therefore
 * has one variant of the gang's request for each pool. A variant accepts only its pool. Pools are tried in the order of
 * the cluster.
 *
 * The room of a group of a tier is the number of tasks that fit in the group. It is needed for topology constraints.
 * For each (request, tier) that was ever queried, each pool has a tournament over its groups. The value of a group is 0
 * if its room is less than the number of tasks of the request. Otherwise the value decreases with the room, so that the
 * tournament selects the tightest group. The room of a group is the sum over its nodes. The nodes are in a list, in
 * order of their last change. An update of the tournaments visits only the nodes that have changed since the previous
 * update.
 */

#include "policies/placement/gpu_allocator.h"

#include "policies/kit/tournament.h"
#include "policies/queue/dispatch.h"

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

/* The part of a pool that forms one group. */
struct group_place {
  hr_node first;    /* first node of the group */
  uint32_t n_nodes; /* 1 if the group is a set of GPUs of one node */
  uint64_t gpus;    /* bit set of the GPUs of the group on each of its nodes */
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
static struct hr__gang_groups *create_groups(struct hr_arena *arena, const struct hr_cluster_spec *cluster,
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
  return request->gpus ? min_u64(room, room_on_gpus(inventory, request, node, gpus)) : room;
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
static bool update_groups(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier) {
  struct room_query **room_query = &groups->queries[(size_t)request * HR_N_TIERS + tier];
  if (!*room_query) *room_query = make_query(groups, tier);
  if (*room_query) refresh(groups, *room_query, &groups->requests[request], tier);
  return *room_query != NULL;
}

static struct pool_groups *pool_of(const struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier,
                                   hr_pool pool) {
  return &groups->queries[(size_t)request * HR_N_TIERS + tier]->pools[pool.id];
}

static struct group_place place_of_group(const struct hr__gang_groups *groups, enum hr_tier tier, hr_pool pool,
                                         uint32_t group) {
  const struct hr_pool_spec *spec = &groups->cluster->pools[pool.id];
  struct gang_groups_shape shape = shape_of(spec, tier);
  uint32_t number = group / shape.groups_per_node * shape.nodes_per_group;
  return (struct group_place){.first = {groups->first_node[pool.id] + number},
                              .n_nodes = (uint32_t)min_u64(shape.nodes_per_group, spec->nodes - number),
                              .gpus = mask_of(&shape, group % shape.groups_per_node)};
}

/* Returns the index of the tightest group of the pool in which all tasks of the request fit, and writes its place. Of
   equally tight groups, the one with the lowest index is returned. HR_NONE: no such group. The result is as of the last
   update. */
static uint32_t find_tightest_group(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier, hr_pool pool,
                                    struct group_place *place) {
  const struct pool_groups *of_pool = pool_of(groups, request, tier, pool);
  if (hr__tournament_root(&of_pool->shape, of_pool->tree, 1, 0) == 0) return HR_NONE;
  uint32_t group = hr__tournament_best(&of_pool->shape, of_pool->tree, 1, 0);
  *place = place_of_group(groups, tier, pool, group);
  return group;
}

/* Marks a node for the next update. Called when the free capacity of the node has changed, or when the node has become
   usable or unusable. */
static void group_changed(struct hr__gang_groups *groups, hr_node node) {
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
static void exclude_group(struct hr__gang_groups *groups, uint32_t request, enum hr_tier tier, hr_pool pool,
                          uint32_t group) {
  struct pool_groups *of_pool = pool_of(groups, request, tier, pool);
  uint32_t none = 0;
  hr__tournament_set(&of_pool->shape, of_pool->tree, 1, false, group, &none);
  group_changed(groups, place_of_group(groups, tier, pool, group).first);
}

/* ---- Search --------------------------------------------------------------------------------------- */

static void change_node(const struct hr__cluster_snapshot *snapshot, hr_node node) {
  if (snapshot->groups) group_changed(snapshot->groups, node);
  if (snapshot->bare) hr_packer_changed(snapshot->bare, node);
}

/* Allocates or releases the GPUs of one task in a snapshot, or reverts their allocation. */
static void change(const struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                   uint32_t request, const struct hr_slice *slice, enum hr__gpu_change change) {
  const struct hr_request *asked = &allocator->asked[request];
  if (change == HR__GPUS_TAKE)
    hr_gpu_inventory_take(snapshot->inventory, asked, slice);
  else if (change == HR__GPUS_GIVE)
    hr_gpu_inventory_give(snapshot->inventory, asked, slice);
  else
    hr_gpu_inventory_undo(snapshot->inventory, asked, slice);
  if (change == HR__GPUS_TAKE)
    hr_packer_taken(snapshot->packer, request, slice->node);
  else
    hr_packer_given(snapshot->packer, request, slice->node);
  change_node(snapshot, slice->node);
}

/* Finds a node and GPUs for one task, within the group `place`, or anywhere if `place` is NULL. If the group is only a
   part of a node (`splits_node`), hr_gpu_inventory_pick_of selects among the GPUs of the group, and the packing rule is
   not used. */
static bool find_task(const struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                      uint32_t request, const struct group_place *place, bool splits_node, struct hr_slice *slice) {
  const struct hr_request *asked = &allocator->asked[request];
  hr_node node;
  uint64_t gpus;
  if (!place) {
    if (!hr_packer_find(snapshot->packer, request, &node, &gpus)) return false;
  } else if (!splits_node) {
    if (!hr_packer_find_among(snapshot->packer, request, place->first, place->n_nodes, &node, &gpus)) return false;
  } else {
    node = place->first;
    if (!hr_gpu_inventory_fits(snapshot->inventory, asked, node)) return false;
    gpus = hr_gpu_inventory_pick_of(snapshot->inventory, asked, node, place->gpus);
    if ((uint32_t)__builtin_popcountll(gpus) < asked->gpus) return false;
  }
  *slice = hr_gpu_inventory_slice(snapshot->inventory, asked, node, gpus);
  return true;
}

/* Finds a placement for all tasks, within the group `place`, or anywhere if `place` is NULL. Each task is placed as if
   the tasks before it were already running. */
static bool find_gang(const struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                      uint32_t request, const struct group_place *place, bool splits_node) {
  uint32_t tasks = allocator->asked[request].tasks, placed = 0;
  struct hr_slice *slices = allocator->slices;
  while (placed < tasks && find_task(allocator, snapshot, request, place, splits_node, &slices[placed]))
    change(allocator, snapshot, request, &slices[placed++], HR__GPUS_TAKE);
  for (uint32_t i = placed; i-- > 0;) change(allocator, snapshot, request, &slices[i], HR__GPUS_UNDO);
  return placed == tasks;
}

/* Finds a placement for a request anywhere in a snapshot. False: none exists. */
static bool find(const struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                 uint32_t request, struct hr_placement *placement) {
  const struct hr_request *asked = &allocator->asked[request];
  *placement = (struct hr_placement){.slices = allocator->slices};
  if (!hr_request_needs_node(asked)) return true;
  placement->n_slices = asked->tasks;
  if (allocator->first_variant[request] == HR_NONE) {
    if (!find_task(allocator, snapshot, request, NULL, false, allocator->slices)) return false;
    placement->pool.id = snapshot->inventory->pool[allocator->slices[0].node.id];
    return true;
  }
  for (uint32_t pool = 0; pool < allocator->n_pools; pool++) {
    uint32_t variant = allocator->first_variant[request] + pool;
    placement->pool.id = pool;
    if (allocator->asked[variant].accept_class != HR_NONE && find_gang(allocator, snapshot, variant, NULL, false))
      return true;
  }
  return false;
}

/* HR__GPUS_UNDO reverts the tasks in reverse order of HR__GPUS_TAKE. */
void hr__cluster_snapshot_change(const struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                                 uint32_t request, const struct hr_placement *placement, enum hr__gpu_change how) {
  uint32_t n = placement->n_slices;
  for (uint32_t i = 0; i < n; i++)
    change(allocator, snapshot, request, &placement->slices[how == HR__GPUS_UNDO ? n - 1 - i : i], how);
}

void hr__cluster_snapshot_node_changes(const struct hr__cluster_snapshot *snapshot, const struct hr_view *view,
                                       const struct hr_event *event) {
  if (event->node.id == HR_NONE) return;
  if (event->kind == HR_EVENT_NODE_UP) hr_gpu_inventory_renew(snapshot->inventory, event->node);
  snapshot->inventory->closed[event->node.id] = hr_cluster_node_state(view->cluster, event->node) != HR_NODE_UP;
  hr_packer_changed(snapshot->packer, event->node);
  change_node(snapshot, event->node);
}

/* ---- Search in groups ----------------------------------------------------------------------------- */

/* Tries the groups that have enough room, the tightest first, until a placement of all tasks is found in one of them. A
   group can have enough room but no placement, because the room is computed without placing the tasks one by one. */
static bool find_in_pool(const struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                         uint32_t request, enum hr_tier tier, hr_pool pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(allocator->cluster, pool);
  bool splits_node = hr_topology_gpus(&spec->topology, tier, spec->gpus_per_node) < spec->gpus_per_node;
  for (;;) {
    struct group_place place;
    uint32_t group = find_tightest_group(snapshot->groups, request, tier, pool, &place);
    if (group == HR_NONE) return false;
    if (find_gang(allocator, snapshot, request, &place, splits_node)) return true;
    exclude_group(snapshot->groups, request, tier, pool, group);
  }
}

/* Returns whether, in some pool that the request accepts, the groups of the tier are smaller than a node. */
static bool parts_nodes(const struct hr__gpu_allocator *allocator, const struct hr_request *asked, enum hr_tier tier) {
  for (uint32_t i = 0; i < allocator->n_pools; i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(allocator->cluster, (hr_pool){i});
    if (hr_topology_gpus(&spec->topology, tier, spec->gpus_per_node) == spec->gpus_per_node) continue;
    if (hr_cluster_accepts(allocator->cluster, asked->accept_class, (hr_pool){i})) return true;
  }
  return false;
}

/* Returns whether every placement of the request is within one group of the tier. This is true for a request with a
   single task, unless the task needs several GPUs and the tier splits nodes. */
static bool is_within(const struct hr__gpu_allocator *allocator, const struct hr_request *asked, enum hr_tier tier) {
  return asked->tasks == 1 && (asked->gpus <= 1 || tier >= HR_TIER_NODE || !parts_nodes(allocator, asked, tier));
}

bool hr__cluster_snapshot_find(struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                               uint32_t request, enum hr_tier tier, struct hr_placement *placement) {
  const struct hr_request *asked = &allocator->asked[request];
  if (tier == HR_TIER_ANY || is_within(allocator, asked, tier) || !hr_request_needs_node(asked))
    return find(allocator, snapshot, request, placement);
  if (!update_groups(snapshot->groups, request, tier)) {
    allocator->failed = true;
    return false;
  }
  for (uint32_t pool = 0; pool < allocator->n_pools; pool++) {
    *placement = (struct hr_placement){.pool = {pool}, .n_slices = asked->tasks, .slices = allocator->slices};
    if (!hr_cluster_accepts(allocator->cluster, asked->accept_class, (hr_pool){pool})) continue;
    if (find_in_pool(allocator, snapshot, request, tier, (hr_pool){pool})) return true;
  }
  return false;
}

/* ---- Events --------------------------------------------------------------------------------------- */

/* Returns whether a gang may have no placement although the room for its tasks is large enough. This can occur if each
   task uses fractions of several GPUs: the choice of GPUs for one task may leave too few distinct GPUs for another
   task. */
static bool may_not_fit(const struct hr_request *request) {
  return request->tasks > 1 && request->gpus > 1 && request->gpu_milli < HR_WHOLE_GPU_MILLI;
}

/* Rejects a job that would not fit even if the cluster were empty. */
static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  struct hr__gpu_allocator *allocator = queue->allocator;
  uint32_t request = allocator->requests->of_job[job.id];
  struct hr_locality locality = hr_cluster_locality(queue->cluster, job);
  bool must = locality.tier != HR_TIER_ANY && locality.until_us == HR_NEVER_US;
  struct hr_placement unused;
  if (!allocator->empty.packer || !may_not_fit(&allocator->asked[request])) return HR_OK;
  if (!find(allocator, &allocator->empty, request, &unused))
    return hr__queue_reject_later(queue, job, HR_REASON_TOO_LARGE) ? HR_OK : HR_NO_MEMORY;
  if (!must || hr__cluster_snapshot_find(allocator, &allocator->empty, request, locality.tier, &unused)) return HR_OK;
  return hr__queue_reject_later(queue, job, HR_REASON_NO_GROUP) ? HR_OK : HR_NO_MEMORY;
}

static uint32_t request_of(const struct hr__queue *queue, hr_job job) {
  return queue->allocator->requests->of_job[job.id];
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  (void)view;
  hr__cluster_snapshot_change(queue->allocator, &queue->allocator->now, request_of(queue, job), placement,
                              HR__GPUS_TAKE);
  return HR_OK;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  hr__cluster_snapshot_change(queue->allocator, &queue->allocator->now, request_of(queue, event->job), event->placement,
                              HR__GPUS_GIVE);
  return HR_OK;
}

/* Updates the inventory after a node change. If a node goes down, the jobs on it have been interrupted before this
   event. */
static enum hr_status node_changes(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  hr__cluster_snapshot_node_changes(&queue->allocator->now, view, event);
  return HR_OK;
}

static const struct hr__listener listener = {
    .job_waits = job_waits, .job_starts = job_starts, .job_stops = job_stops, .node_changes = node_changes};

/* ---- Construction --------------------------------------------------------------------------------- */

static bool make_acceptance(struct hr__gpu_allocator *allocator, struct hr_arena *arena,
                            const struct hr_cluster *cluster) {
  uint32_t n_classes = 0;
  for (uint32_t i = 0; i < allocator->requests->count; i++)
    if (allocator->requests->request[i].accept_class >= n_classes)
      n_classes = allocator->requests->request[i].accept_class + 1;
  uint32_t n_rows = n_classes + allocator->n_pools;
  uint8_t *row = hr_arena_alloc(arena, (size_t)n_rows * allocator->n_pools + 1);
  if (!row) return false;
  for (uint32_t class_ = 0; class_ < n_classes; class_++)
    for (uint32_t pool = 0; pool < allocator->n_pools; pool++)
      row[(size_t)class_ * allocator->n_pools + pool] = hr_cluster_accepts(cluster, class_, (hr_pool){pool});
  for (uint32_t pool = 0; pool < allocator->n_pools; pool++)
    row[(size_t)(n_classes + pool) * allocator->n_pools + pool] = 1;
  allocator->acceptance = (struct hr_acceptance){row, n_rows, allocator->n_pools};
  return true;
}

/* Adds the variants of the gang's request, one for each pool. If the gang does not accept the pool, the variant accepts
   no pool. */
static void add_variants(struct hr__gpu_allocator *allocator, uint32_t request) {
  struct hr_request asked = allocator->asked[request];
  const uint8_t *accepted = allocator->acceptance.row + (size_t)asked.accept_class * allocator->n_pools;
  allocator->first_variant[request] = allocator->n_asked;
  for (uint32_t pool = 0; pool < allocator->n_pools; pool++) {
    asked.accept_class = accepted[pool] ? allocator->acceptance.n_classes - allocator->n_pools + pool : HR_NONE;
    allocator->asked[allocator->n_asked++] = asked;
  }
}

/* Creates the list of requests: those of the trace, followed by the variants of gangs. */
static bool make_asked(struct hr__gpu_allocator *allocator, struct hr_arena *arena) {
  const struct hr_requests *requests = allocator->requests;
  uint32_t max_tasks = 1, n_gangs = 0;
  for (uint32_t i = 0; i < requests->count; i++) {
    if (requests->request[i].tasks > max_tasks) max_tasks = requests->request[i].tasks;
    n_gangs += requests->request[i].tasks > 1;
  }
  size_t n_asked = requests->count + (size_t)n_gangs * allocator->n_pools + 1;
  allocator->asked = hr_arena_alloc(arena, n_asked * sizeof *allocator->asked);
  allocator->first_variant = hr_arena_alloc(arena, n_asked * sizeof *allocator->first_variant);
  allocator->slices = hr_arena_alloc(arena, max_tasks * sizeof *allocator->slices);
  if (!allocator->asked || !allocator->first_variant || !allocator->slices) return false;
  allocator->n_asked = requests->count;
  for (uint32_t i = 0; i < requests->count; i++) allocator->asked[i] = requests->request[i];
  for (uint32_t i = 0; i < requests->count; i++) {
    allocator->first_variant[i] = HR_NONE;
    if (requests->request[i].tasks > 1) add_variants(allocator, i);
  }
  return true;
}

static bool make_snapshot(const struct hr__gpu_allocator *allocator, const struct hr_policy_env *env,
                          const struct hr_packing_rule *rule, struct hr__cluster_snapshot *snapshot) {
  const struct hr_cluster_spec *cluster = hr_cluster_spec_of(env->cluster);
  snapshot->inventory = hr_gpu_inventory_create(env->arena, cluster, allocator->requests);
  struct hr_packer_config config = {.rule = rule,
                                    .inventory = snapshot->inventory,
                                    .cluster = cluster,
                                    .acceptance = allocator->acceptance,
                                    .requests = allocator->asked,
                                    .n_requests = allocator->n_asked,
                                    .typical = allocator->typical,
                                    .seed = env->seed,
                                    .finds = &snapshot->finds};
  snapshot->packer = snapshot->inventory ? hr_packer_create(env->arena, &config) : NULL;
  if (!snapshot->packer || !hr_cluster_any_within(env->cluster)) return snapshot->packer != NULL;
  snapshot->groups =
      create_groups(env->arena, cluster, snapshot->inventory, allocator->asked, allocator->requests->count);
  return snapshot->groups != NULL;
}

/* Creates the snapshot `now`, which is updated at each event. Its initial state is that before the first event. */
static bool make_present(const struct hr__gpu_allocator *allocator, const struct hr_policy_env *env,
                         const struct hr_packing_rule *rule, struct hr__cluster_snapshot *snapshot) {
  const struct hr_gpu_inventory *now = hr_cluster_gpu_inventory(env->cluster);
  if (!make_snapshot(allocator, env, rule, snapshot)) return false;
  for (uint32_t node = 0; node < now->n_nodes; node++) snapshot->inventory->closed[node] = now->closed[node];
  return true;
}

struct hr__cluster_snapshot *hr__cluster_snapshot_create(const struct hr__gpu_allocator *allocator,
                                                         const struct hr_policy_env *env,
                                                         const struct hr_packing_rule *rule) {
  struct hr__cluster_snapshot *snapshot = hr_arena_alloc(env->arena, sizeof *snapshot);
  return snapshot && make_present(allocator, env, rule, snapshot) ? snapshot : NULL;
}

static bool make_empty(struct hr__gpu_allocator *allocator, const struct hr_policy_env *env,
                       const struct hr_packing_rule *rule) {
  for (uint32_t i = 0; i < allocator->requests->count; i++)
    if (may_not_fit(&allocator->requests->request[i])) return make_snapshot(allocator, env, rule, &allocator->empty);
  return true;
}

struct hr__gpu_allocator *hr__gpu_allocator_create(struct hr__queue *queue, const struct hr_policy_env *env,
                                                   const struct hr_packing_rule *rule) {
  struct hr__gpu_allocator *allocator = hr_arena_alloc(env->arena, sizeof *allocator);
  if (!allocator) return NULL;
  allocator->cluster = env->cluster;
  allocator->n_pools = hr_cluster_pools(env->cluster);
  allocator->requests = hr_cluster_requests(env->cluster);
  allocator->typical = hr_typical_pods_create(env->arena, allocator->requests);
  if (!allocator->typical || !make_acceptance(allocator, env->arena, env->cluster) ||
      !make_asked(allocator, env->arena) || !make_present(allocator, env, rule, &allocator->now) ||
      !make_empty(allocator, env, rule))
    return NULL;
  hr__queue_add_listener(queue, &listener);
  return allocator;
}

/* To find out whether a job waits for CPU or memory, the allocator searches the current inventory with a second packer,
   whose requests have no CPU and memory. Only explanations of waits need this packer, so it is created at the first
   explanation. */

static struct hr_request *bare_requests(struct hr_arena *arena, const struct hr__gpu_allocator *allocator) {
  struct hr_request *bare = hr_arena_alloc(arena, ((size_t)allocator->n_asked + 1) * sizeof *bare);
  for (uint32_t i = 0; bare && i < allocator->n_asked; i++) {
    bare[i] = allocator->asked[i];
    bare[i].cpu_milli = 0;
    bare[i].mem_mib = 0;
  }
  return bare;
}

/* Creates the allocator for requests without CPU and memory. It shares the buffer of slices with `allocator`. This is
   safe because a placement is not needed after the next search. */
static struct hr__gpu_allocator *make_bare(struct hr_arena *arena, struct hr__gpu_allocator *allocator) {
  struct hr__gpu_allocator *bare = hr_arena_alloc(arena, sizeof *bare);
  const struct hr_packing_rule *rule = hr_packing_rule_find("first-fit", NULL);
  if (!bare || !rule) return NULL;
  *bare = *allocator;
  bare->asked = bare_requests(arena, allocator);
  struct hr_packer_config config = {.rule = rule,
                                    .inventory = allocator->now.inventory,
                                    .cluster = hr_cluster_spec_of(allocator->cluster),
                                    .acceptance = allocator->acceptance,
                                    .requests = bare->asked,
                                    .n_requests = allocator->n_asked};
  struct hr_packer *packer = bare->asked ? hr_packer_create(arena, &config) : NULL;
  if (!packer) return NULL;
  bare->now = (struct hr__cluster_snapshot){.inventory = allocator->now.inventory, .packer = packer};
  allocator->now.bare = packer;
  return bare;
}

bool hr__gpu_allocator_lacks_node_resources(struct hr__queue *queue, hr_job job) {
  struct hr__gpu_allocator *allocator = queue->allocator;
  uint32_t request = allocator->requests->of_job[job.id];
  const struct hr_request *asked = &allocator->asked[request];
  struct hr_placement unused;
  if (asked->cpu_milli == 0 && asked->mem_mib == 0) return false;
  if (!allocator->bare) allocator->bare = make_bare(queue->arena, allocator);
  if (!allocator->bare) allocator->failed = true;
  return allocator->bare && find(allocator->bare, &allocator->bare->now, request, &unused);
}
