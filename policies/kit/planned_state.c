/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Planned capacity: see planned_state.h. The state consists of one free index (struct hr_free_index) per pool or, if
   GPUs are only counted, of the number of free GPUs per pool. A search in one pool passes empty indexes for all other
   pools. Whether a node is up is read from the cluster. A node that is not up, such as a node that is about to go down,
   has no free GPUs, and jobs on it change nothing. */

#include "policies/kit/planned_state.h"

#include <string.h>

/* ---- Places --------------------------------------------------------------------------------------- */

bool hr__place_set(struct hr__planned_place *place, struct hr_arena *arena, const struct hr_placement *placement,
                   uint32_t gpus) {
  if (placement->n_slices > place->slices_capacity) {
    struct hr_slice *slices = hr_arena_alloc(arena, placement->n_slices * sizeof *slices);
    if (!slices) return false;
    place->slices = slices;
    place->slices_capacity = placement->n_slices;
  }
  place->pool = placement->pool;
  place->gpus = gpus;
  place->n_slices = placement->n_slices;
  if (placement->n_slices) memcpy(place->slices, placement->slices, placement->n_slices * sizeof *place->slices);
  return true;
}

/* ---- Capacity ------------------------------------------------------------------------------------- */

static bool is_up(const struct hr__planned_capacity *capacity, hr_node node) {
  return hr_cluster_node_state(capacity->cluster, node) == HR_NODE_UP;
}

static void reset_pool(struct hr__planned_capacity *capacity, hr_pool pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(capacity->cluster, pool);
  uint32_t first = hr_cluster_first_node(capacity->cluster, pool).id, n_up = 0;
  for (uint32_t node = 0; node < spec->nodes; node++) {
    bool up = is_up(capacity, (hr_node){first + node});
    n_up += up;
    if (!capacity->by_count) hr_free_index_set(capacity->index[pool.id], node, up ? spec->gpus_per_node : 0);
  }
  capacity->free_gpus[pool.id] = (uint64_t)n_up * spec->gpus_per_node;
}

void hr__capacity_reset(struct hr__planned_capacity *capacity) {
  for (uint32_t i = 0; i < capacity->n_pools; i++) reset_pool(capacity, (hr_pool){i});
}

enum hr_status hr__capacity_init(struct hr__planned_capacity *capacity, struct hr_arena *arena,
                                 const struct hr_cluster *cluster, enum hr_placement_rule rule) {
  uint32_t n_pools = hr_cluster_pools(cluster);
  *capacity = (struct hr__planned_capacity){.cluster = cluster, .n_pools = n_pools, .by_count = rule == HR_PLACE_POOL};
  capacity->index = hr_arena_alloc(arena, n_pools * sizeof(*capacity->index));
  capacity->only = hr_arena_alloc(arena, n_pools * sizeof(*capacity->only));
  capacity->free_gpus = hr_arena_alloc(arena, n_pools * sizeof *capacity->free_gpus);
  capacity->only_gpus = hr_arena_alloc(arena, n_pools * sizeof *capacity->only_gpus);
  struct hr_free_index *none = hr_free_index_create(arena, 1, 1);
  if (!capacity->index || !capacity->only || !capacity->free_gpus || !capacity->only_gpus || !none) return HR_NO_MEMORY;
  hr_free_index_set(none, 0, 0);
  capacity->none = none;
  for (uint32_t i = 0; i < n_pools; i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(cluster, (hr_pool){i});
    capacity->only[i] = capacity->none;
    if (capacity->by_count) continue;
    capacity->index[i] = hr_free_index_create(arena, spec->nodes, spec->gpus_per_node);
    if (!capacity->index[i]) return HR_NO_MEMORY;
  }
  hr__capacity_reset(capacity);
  return HR_OK;
}

/* Adds the GPUs of a place (`returns`) or subtracts them. */
void hr__capacity_change(struct hr__planned_capacity *capacity, const struct hr__planned_place *place, bool returns) {
  uint32_t pool = place->pool.id;
  if (place->n_slices == 0)
    capacity->free_gpus[pool] =
        returns ? capacity->free_gpus[pool] + place->gpus : capacity->free_gpus[pool] - place->gpus;
  for (uint32_t i = 0; i < place->n_slices; i++) {
    if (!is_up(capacity, place->slices[i].node)) continue;
    uint32_t node = hr__capacity_node_number(capacity, place->pool, place->slices[i].node),
             gpus = place->slices[i].gpu_milli / 1000;
    uint32_t free = hr_free_index_get(capacity->index[pool], node);
    hr_free_index_set(capacity->index[pool], node, returns ? free + gpus : free - gpus);
    capacity->free_gpus[pool] = returns ? capacity->free_gpus[pool] + gpus : capacity->free_gpus[pool] - gpus;
  }
}

/* ---- Search --------------------------------------------------------------------------------------- */

bool hr__capacity_find_in(struct hr__planned_capacity *capacity, struct hr_placer *placer, hr_pool pool, uint32_t gpus,
                          uint32_t accept_class, struct hr_placement *placement) {
  const struct hr_free_gpus one = {capacity->n_pools, capacity->only, capacity->only_gpus};
  if (capacity->free_gpus[pool.id] < gpus) return false;
  capacity->only[pool.id] = capacity->by_count ? capacity->none : capacity->index[pool.id];
  capacity->only_gpus[pool.id] = capacity->free_gpus[pool.id];
  bool found = hr_placer_find_in(placer, &one, HR_TIER_ANY, gpus, accept_class, placement);
  capacity->only[pool.id] = capacity->none;
  capacity->only_gpus[pool.id] = 0;
  return found;
}
