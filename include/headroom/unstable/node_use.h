/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_NODE_USE_H
#define HEADROOM_UNSTABLE_NODE_USE_H

#include "headroom/base.h"
#include "headroom/gpu_inventory.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What tasks use of a node during a time window. With it, the state of a node in a planned inventory is set to what is
 * free during all of the window: a task that fits in this state can run from the begin to the end of the window.
 *
 * All arrays are borrowed.
 */
struct hr_node_use {
  /* maximum over the window of what tasks use of the node; `alone`: a dedicated task has the node at some time */
  uint64_t cpu_milli, mem_mib, tasks;
  bool alone;
  /* [GPUs of the node]: maximum over the window of what tasks use of each GPU */
  const uint64_t *gpu_milli, *gpu_mem_mib, *gpu_tasks;
  /*
   * With MIG: the slices of the tasks that are on the node at some time of the window, and those of the tasks that
   * begin and end before the window; each in order of (begin, order of creation). Jobs that run now may be omitted from
   * `before`. The instances of a GPU are the union of the instances of `within`. A GPU for which the union is
   * impossible is full: instances overlap and are not equal, belong to different layouts, or exceed what a GPU has. A
   * GPU without instances has the layout of its last slice in `before`; without such a slice, its layout in the
   * inventory `now`.
   */
  const struct hr_slice *within, *before;
  uint32_t n_within, n_before;
};
/* Sets the state of a node. Whether the node is closed does not change. `spec`: the cluster of both inventories. */
HR_API void hr_gpu_inventory_set_use(struct hr_gpu_inventory *inventory, const struct hr_cluster_spec *spec,
                                     const struct hr_gpu_inventory *now, hr_node node, const struct hr_node_use *use);

/* Changes a placement that was found in a planned state, so that it can be allocated in the inventory `now`. A GPU with
   MIG that is idle now may have another layout than in the planned state; `slices` then state that the layout
   changes. */
HR_API void hr_gpu_inventory_adopt_layouts(const struct hr_gpu_inventory *now, struct hr_slice *slices,
                                           uint32_t n_slices);

#ifdef __cplusplus
}
#endif
#endif
