/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placement of jobs with bit scans over the indexes of free nodes: see headroom/policy_kit.h. */

#include "base/containers.h"
#include "headroom/policy.h"
#include "headroom/policy_kit.h"

enum { MILLI = 1000 };

struct hr_placer {
  enum hr_placement_rule rule;
  const struct hr_cluster *cluster;
  uint32_t n_pools;
  struct hr_free_gpus present;
  const struct hr_free_index **index; /* by pool: current state of the cluster */
  uint64_t *free_gpus;                /* by pool: current state of the cluster */
  struct hr_slice *slices;            /* [number of nodes of the largest pool] */
};

struct hr_placer *hr_placer_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                   enum hr_placement_rule rule) {
  struct hr_placer *placer = hr_arena_alloc(arena, sizeof *placer);
  if (!placer) return NULL;
  uint32_t max_nodes = 0, n_pools = hr_cluster_pools(cluster);
  placer->rule = rule;
  placer->cluster = cluster;
  placer->n_pools = n_pools;
  if (!HR__ARENA_ARRAY(arena, placer->index, n_pools) || !HR__ARENA_ARRAY(arena, placer->free_gpus, n_pools))
    return NULL;
  for (uint32_t i = 0; i < n_pools; i++) {
    placer->index[i] = hr_cluster_free_index(cluster, (hr_pool){i});
    uint32_t nodes = hr_free_index_nodes(placer->index[i]);
    if (nodes > max_nodes) max_nodes = nodes;
  }
  placer->present = (struct hr_free_gpus){n_pools, placer->index, placer->free_gpus};
  return HR__ARENA_ARRAY(arena, placer->slices, max_nodes) ? placer : NULL;
}

static bool accepts(const struct hr_placer *placer, uint32_t accept_class, uint32_t pool) {
  return hr_cluster_accepts(placer->cluster, accept_class, (hr_pool){pool});
}

bool hr_placer_is_single(const struct hr_placer *placer, uint32_t gpus, uint32_t accept_class) {
  if (placer->rule == HR_PLACE_POOL) return true;
  for (uint32_t i = 0; i < placer->n_pools; i++)
    if (hr_free_index_gpus_per_node(placer->index[i]) >= gpus && accepts(placer, accept_class, i)) return true;
  return false;
}

/* ---- One node ------------------------------------------------------------------------------------- */

/* The nodes of a pool that a search may use: `from` to `end` - 1. A wholly free node may be used only if it is not
   before node `whole_from`, because the gang already uses the wholly free nodes before `whole_from`. */
struct placer_range {
  uint32_t from, whole_from, end;
};
static const struct placer_range whole_pool = {0, 0, HR_NONE};

static uint32_t node_at_level(const struct hr_free_index *index, uint32_t level, struct placer_range range) {
  bool whole = level == hr_free_index_gpus_per_node(index);
  uint32_t node = hr_free_index_node(index, level, whole ? range.whole_from : range.from);
  return node < range.end ? node : HR_NONE;
}

static uint32_t first_fit(const struct hr_free_index *index, uint32_t gpus, struct placer_range range) {
  uint32_t first = HR_NONE;
  for (uint32_t level = hr_free_index_lowest(index, gpus); level != HR_NONE;
       level = hr_free_index_lowest(index, level + 1)) {
    uint32_t node = node_at_level(index, level, range);
    if (node < first) first = node;
  }
  return first;
}

static uint32_t best_fit(const struct hr_free_index *index, uint32_t gpus, struct placer_range range) {
  uint32_t node = HR_NONE;
  for (uint32_t level = hr_free_index_lowest(index, gpus); level != HR_NONE && node == HR_NONE;
       level = hr_free_index_lowest(index, level + 1))
    node = node_at_level(index, level, range);
  return node;
}

static uint32_t worst_fit(const struct hr_free_index *index, uint32_t gpus, struct placer_range range) {
  uint32_t level = hr_free_index_highest(index);
  uint32_t node = level >= gpus ? node_at_level(index, level, range) : HR_NONE;
  /* no node of this level is in the range: continue with the next level that has nodes */
  while (node == HR_NONE && level-- > gpus)
    if (hr_free_index_count(index, level)) node = node_at_level(index, level, range);
  return node;
}

/* Returns the node that the rule selects for `gpus` > 0 GPUs in one pool; HR_NONE if no node fits. */
static uint32_t pick_node(enum hr_placement_rule rule, const struct hr_free_index *index, uint32_t gpus,
                          struct placer_range range) {
  switch (rule) {
  case HR_PLACE_FIRST_FIT:
    return first_fit(index, gpus, range);
  case HR_PLACE_BEST_FIT:
    return best_fit(index, gpus, range);
  case HR_PLACE_WORST_FIT:
    return worst_fit(index, gpus, range);
  case HR_PLACE_POOL:
    break;
  }
  return HR_NONE;
}

/* Returns whether a node with `free` free GPUs is better than the best node of earlier pools, which has `best` free
   GPUs. */
static bool is_better(enum hr_placement_rule rule, uint32_t free, uint32_t best) {
  return rule == HR_PLACE_BEST_FIT ? free < best : rule == HR_PLACE_WORST_FIT && free > best;
}

/* Places a job on one node. `*single`: whether some acceptable pool has nodes that are large enough for the job. */
static bool place_on_node(struct hr_placer *placer, const struct hr_free_gpus *capacity, uint32_t gpus,
                          uint32_t accept_class, struct hr_placement *placement, bool *single) {
  uint32_t best_pool = HR_NONE, best_node = HR_NONE, best_free = 0;
  *single = false;
  for (uint32_t i = 0; i < placer->n_pools; i++) {
    const struct hr_free_index *index = capacity->index[i];
    if (gpus > hr_free_index_gpus_per_node(index) || !accepts(placer, accept_class, i)) continue;
    *single = true;
    uint32_t node = pick_node(placer->rule, index, gpus, whole_pool);
    if (node == HR_NONE) continue;
    uint32_t free = hr_free_index_get(index, node);
    if (best_pool != HR_NONE && !is_better(placer->rule, free, best_free)) continue;
    best_pool = i;
    best_node = node;
    best_free = free;
  }
  if (best_pool == HR_NONE) return false;
  hr_pool pool = {best_pool};
  placer->slices[0] = (struct hr_slice){{hr_cluster_first_node(placer->cluster, pool).id + best_node}, gpus * MILLI, 0};
  *placement = (struct hr_placement){pool, 1, placer->slices};
  return true;
}

/* ---- Several nodes -------------------------------------------------------------------------------- */

/* Places a gang in a range of nodes of one pool. The range must have enough wholly free nodes for the nodes that the
   gang uses wholly. False: no further node has enough free GPUs for the remainder of the gang. */
static bool place_in_range(struct hr_placer *placer, const struct hr_free_index *index, hr_pool pool,
                           struct placer_range range, uint32_t gpus, struct hr_placement *placement) {
  uint32_t size = hr_free_index_gpus_per_node(index), whole = gpus / size, rest = gpus % size;
  uint32_t first = hr_cluster_first_node(placer->cluster, pool).id;
  for (uint32_t i = 0; i < whole; i++) {
    uint32_t node = hr_free_index_node(index, size, range.whole_from);
    placer->slices[i] = (struct hr_slice){{first + node}, size * MILLI, 0};
    range.whole_from = node + 1;
  }
  *placement = (struct hr_placement){pool, whole, placer->slices};
  if (rest == 0) return true;
  uint32_t node = pick_node(placer->rule, index, rest, range);
  if (node == HR_NONE) return false;
  placer->slices[placement->n_slices++] = (struct hr_slice){{first + node}, rest * MILLI, 0};
  return true;
}

/* Places a gang on the nodes of one pool. False: it does not fit. */
static bool place_on_nodes(struct hr_placer *placer, const struct hr_free_gpus *capacity, hr_pool pool, uint32_t gpus,
                           struct hr_placement *placement) {
  const struct hr_free_index *index = capacity->index[pool.id];
  uint32_t size = hr_free_index_gpus_per_node(index);
  if (hr_free_index_count(index, size) < gpus / size) return false;
  return place_in_range(placer, index, pool, whole_pool, gpus, placement);
}

/* Places a job in the first acceptable pool with enough free GPUs. False: none exists. */
static bool place_by_count(const struct hr_placer *placer, const struct hr_free_gpus *capacity, uint32_t gpus,
                           uint32_t accept_class, struct hr_placement *placement) {
  for (uint32_t i = 0; i < placer->n_pools; i++) {
    if (capacity->free_gpus[i] < gpus || !accepts(placer, accept_class, i)) continue;
    *placement = (struct hr_placement){.pool = {i}};
    return true;
  }
  return false;
}

static bool find_anywhere(struct hr_placer *placer, const struct hr_free_gpus *capacity, uint32_t gpus,
                          uint32_t accept_class, struct hr_placement *placement) {
  *placement = (struct hr_placement){0};
  if (gpus == 0) return true;
  if (placer->rule == HR_PLACE_POOL) return place_by_count(placer, capacity, gpus, accept_class, placement);
  bool single, placed = place_on_node(placer, capacity, gpus, accept_class, placement, &single);
  if (single) return placed;
  for (uint32_t i = 0; i < placer->n_pools; i++)
    if (accepts(placer, accept_class, i) && place_on_nodes(placer, capacity, (hr_pool){i}, gpus, placement))
      return true;
  return false;
}

bool hr_placer_find_on(struct hr_placer *placer, hr_pool pool, uint32_t gpus, struct hr_placement *placement) {
  return placer->rule != HR_PLACE_POOL && place_on_nodes(placer, &placer->present, pool, gpus, placement);
}

bool hr_placer_find(struct hr_placer *placer, uint32_t gpus, uint32_t accept_class, struct hr_placement *placement) {
  if (placer->rule == HR_PLACE_POOL)
    for (uint32_t i = 0; i < placer->n_pools; i++)
      placer->free_gpus[i] = hr_cluster_free_milli(placer->cluster, (hr_pool){i}) / MILLI;
  return find_anywhere(placer, &placer->present, gpus, accept_class, placement);
}

/* ---- Groups --------------------------------------------------------------------------------------- */

/* Places a gang in the tightest group of the pool in which it fits. Each group has `n_nodes` nodes. False: it fits in
   no group. */
static bool place_in_group(struct hr_placer *placer, const struct hr_free_gpus *state, hr_pool pool, uint32_t n_nodes,
                           uint32_t gpus, struct hr_placement *placement) {
  const struct hr_free_index *index = state->index[pool.id];
  if (n_nodes >= hr_free_index_nodes(index)) return place_on_nodes(placer, state, pool, gpus, placement);
  uint32_t group = hr_free_index_group(index, n_nodes, gpus);
  if (group == HR_NONE) return false;
  struct placer_range range = {group * n_nodes, group * n_nodes, (group + 1) * n_nodes};
  return place_in_range(placer, index, pool, range, gpus, placement);
}

bool hr_placer_find_in(struct hr_placer *placer, const struct hr_free_gpus *state, enum hr_tier tier, uint32_t gpus,
                       uint32_t accept_class, struct hr_placement *placement) {
  if (tier == HR_TIER_ANY || gpus == 0 || hr_placer_is_single(placer, gpus, accept_class))
    return find_anywhere(placer, state, gpus, accept_class, placement);
  if (tier <= HR_TIER_NODE) return false;
  for (uint32_t i = 0; i < placer->n_pools; i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(placer->cluster, (hr_pool){i});
    uint32_t n_nodes = hr_topology_nodes(&spec->topology, tier, spec->nodes);
    if (accepts(placer, accept_class, i) && place_in_group(placer, state, (hr_pool){i}, n_nodes, gpus, placement))
      return true;
  }
  return false;
}

bool hr_placer_find_within(struct hr_placer *placer, enum hr_tier tier, uint32_t gpus, uint32_t accept_class,
                           struct hr_placement *placement) {
  return hr_placer_find_in(placer, &placer->present, tier, gpus, accept_class, placement);
}
