/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KIT_PLACE_H
#define HR_POLICIES_KIT_PLACE_H

/* Places: placements that a policy keeps for later, with memory of their own. */

#include "headroom/unstable/capacity.h"

#include <string.h>

/* A current or future placement of a job. */
struct hr__place {
  struct hr_placement placement; /* its slices are in `slices` */
  struct hr_slice *slices;
  uint32_t capacity; /* number of slices for which `slices` has room */
};

/* Copies a placement to the place. False: out of memory. */
static inline bool hr__place_set(struct hr__place *place, struct hr_arena *arena,
                                 const struct hr_placement *placement) {
  uint32_t n = placement->n_slices;
  if (n > place->capacity) {
    struct hr_slice *slices = hr_arena_alloc(arena, n * sizeof *slices);
    if (!slices) return false;
    place->slices = slices;
    place->capacity = n;
  }
  if (n) memmove(place->slices, placement->slices, n * sizeof *place->slices);
  place->placement = (struct hr_placement){placement->pool, n, place->slices};
  return true;
}

/* Returns whether the place uses the node. */
static inline bool hr__place_has(const struct hr__place *place, hr_node node) {
  for (uint32_t i = 0; i < place->placement.n_slices; i++)
    if (place->slices[i].node.id == node.id) return true;
  return false;
}

/* Returns the placement with which the job can be started now. A place may have been found in a planned state, in which
   MIG GPUs had other layouts than now. */
static inline struct hr_placement hr__place_to_start(const struct hr__place *place, const struct hr_cluster *cluster) {
  const struct hr_gpu_inventory *now = hr_cluster_gpu_inventory(cluster);
  if (now) hr_gpu_inventory_rebase(now, place->slices, place->placement.n_slices);
  return place->placement;
}

#endif
