/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KIT_PLANNED_STATE_H
#define HR_POLICIES_KIT_PLANNED_STATE_H

/* Planned places of jobs, and a planned state of the free capacity from which places are allocated. */

#include "headroom/policy.h"
#include "headroom/policy_kit.h"

/* A current or future placement of a job. */
struct hr__planned_place {
  hr_pool pool;
  uint32_t gpus;
  uint32_t n_slices, slices_capacity;
  struct hr_slice *slices; /* NULL if GPUs are only counted */
};

/* Returns the place as a placement, which shares the slices of the place. */
static inline struct hr_placement hr__place_placement(const struct hr__planned_place *place) {
  return (struct hr_placement){place->pool, place->n_slices, place->slices};
}
/* Copies a placement to the place. False: out of memory. */
bool hr__place_set(struct hr__planned_place *place, struct hr_arena *arena, const struct hr_placement *placement,
                   uint32_t gpus);

/* A planned state of the free capacity. The memory is in the arena. */
struct hr__planned_capacity {
  const struct hr_cluster *cluster;
  uint32_t n_pools;
  bool by_count;                /* GPUs are only counted per pool */
  struct hr_free_index **index; /* by pool; NULL if GPUs are only counted */
  uint64_t *free_gpus;          /* by pool: number of free GPUs */
  /* by pool: `none` except during a search in one pool, which sets the entry of that pool */
  const struct hr_free_index **only;
  const struct hr_free_index *none; /* index of a pool without free GPUs */
  uint64_t *only_gpus;
};

/* Initializes the capacity to the state without jobs: nodes that are up are wholly free, and other nodes have no free
   GPUs. */
enum hr_status hr__capacity_init(struct hr__planned_capacity *capacity, struct hr_arena *arena,
                                 const struct hr_cluster *cluster, enum hr_placement_rule rule);
/* Resets the capacity to the state without jobs. */
void hr__capacity_reset(struct hr__planned_capacity *capacity);

/* Returns whether the place uses the node. */
static inline bool hr__place_has(const struct hr__planned_place *place, hr_node node) {
  for (uint32_t i = 0; i < place->n_slices; i++)
    if (place->slices[i].node.id == node.id) return true;
  return false;
}

/* Adds the GPUs of a place to the free capacity (`returns` true), or subtracts them (`returns` false). Nodes that are
   not up are skipped. */
void hr__capacity_change(struct hr__planned_capacity *capacity, const struct hr__planned_place *place, bool returns);

/* Subtracts the GPUs of a place from the free capacity. */
static inline void hr__capacity_take(struct hr__planned_capacity *capacity, const struct hr__planned_place *place) {
  hr__capacity_change(capacity, place, false);
}

/* Adds the GPUs of a place to the free capacity. */
static inline void hr__capacity_return(struct hr__planned_capacity *capacity, const struct hr__planned_place *place) {
  hr__capacity_change(capacity, place, true);
}

/* Finds a placement in any pool that the acceptance class accepts, by the rule of the placer. False: none exists. */
static inline bool hr__capacity_find(const struct hr__planned_capacity *capacity, struct hr_placer *placer,
                                     uint32_t gpus, uint32_t accept_class, struct hr_placement *placement) {
  const struct hr_free_gpus all = {capacity->n_pools, (const struct hr_free_index *const *)capacity->index,
                                  capacity->free_gpus};
  return hr_placer_find_in(placer, &all, HR_TIER_ANY, gpus, accept_class, placement);
}

/* Finds a placement in one pool. False: none exists. */
bool hr__capacity_find_in(struct hr__planned_capacity *capacity, struct hr_placer *placer, hr_pool pool, uint32_t gpus,
                          uint32_t accept_class, struct hr_placement *placement);

/* Returns the index of a node within its pool. */
static inline uint32_t hr__capacity_node_number(const struct hr__planned_capacity *capacity, hr_pool pool,
                                                hr_node node) {
  return node.id - hr_cluster_first_node(capacity->cluster, pool).id;
}

/* Returns whether the free capacity includes the GPUs of the place. */
static inline bool hr__capacity_holds(const struct hr__planned_capacity *capacity,
                                      const struct hr__planned_place *place) {
  if (place->n_slices == 0) return capacity->free_gpus[place->pool.id] >= place->gpus;
  for (uint32_t i = 0; i < place->n_slices; i++) {
    uint32_t node = hr__capacity_node_number(capacity, place->pool, place->slices[i].node);
    if (hr_free_index_get(capacity->index[place->pool.id], node) < place->slices[i].gpu_milli / 1000) return false;
  }
  return true;
}

/* Marks a node as usable and wholly free, or as unusable. */
static inline void hr__capacity_set_usable(struct hr__planned_capacity *capacity, hr_pool pool, hr_node node,
                                           bool usable) {
  if (capacity->by_count) return;
  struct hr_free_index *index = capacity->index[pool.id];
  uint32_t number = hr__capacity_node_number(capacity, pool, node);
  uint32_t gpus = usable ? hr_cluster_pool_spec(capacity->cluster, pool)->gpus_per_node : 0;
  capacity->free_gpus[pool.id] += gpus;
  capacity->free_gpus[pool.id] -= hr_free_index_get(index, number);
  hr_free_index_set(index, number, gpus);
}

#endif
