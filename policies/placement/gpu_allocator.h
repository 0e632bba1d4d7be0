/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLACEMENT_GPU_ALLOCATOR_H
#define HR_POLICIES_PLACEMENT_GPU_ALLOCATOR_H

/* Per-GPU allocation for the queue policy. Jobs are placed by a packing rule, task by task; all tasks of a job are
   placed in one pool. The allocator has its own inventory, which it updates at each event, so that it can place the
   tasks of a gang one by one before the gang starts. */

#include "headroom/unstable/placement.h"

struct hr__queue;
struct hr__gang_groups;

/* A state of the cluster (current, empty or planned), with the data structures for searches in it. */
struct hr__cluster_snapshot {
  struct hr_gpu_inventory *inventory;
  struct hr_packer *packer;
  uint64_t finds;                 /* number of searches by the packer */
  struct hr__gang_groups *groups; /* NULL without topology constraints */
  /* packer for requests without CPU and memory (hr__gpu_allocator_lacks_node_resources); NULL until needed */
  struct hr_packer *bare;
};

struct hr__gpu_allocator {
  struct hr__cluster_snapshot now; /* current state, updated at each event */
  /* the cluster with all nodes and without jobs, to reject gangs that can never fit; its packer is NULL if no gang
     needs this check */
  struct hr__cluster_snapshot empty;
  const struct hr_requests *requests;
  /* requests of the packer: the requests of the trace, then the variants of gangs for each pool */
  struct hr_request *asked;
  /* by request: index in `asked` of its variant for pool 0, which those for the next pools follow; HR_NONE: no
     variants, because the request has a single task */
  uint32_t *first_variant;
  uint32_t n_asked, n_pools;
  const struct hr_typical_pods *typical;
  struct hr_acceptance acceptance; /* the acceptance classes of the cluster, then one class for each pool */
  struct hr_slice *slices;         /* [number of tasks of the largest gang] */
  const struct hr_cluster *cluster;
  /* allocator for the same requests without CPU and memory (hr__gpu_allocator_lacks_node_resources); NULL until
     needed */
  struct hr__gpu_allocator *bare;
  bool failed; /* memory ran out during a search */
};

/* Creates the allocator in the arena, and adds it to the listeners of the queue. NULL: out of memory. */
struct hr__gpu_allocator *hr__gpu_allocator_create(struct hr__queue *queue, const struct hr_policy_env *env,
                                                   const struct hr_packing_rule *rule);
/* For a job that does not fit: returns whether it would fit if it requested no CPU and memory. */
bool hr__gpu_allocator_lacks_node_resources(struct hr__queue *queue, hr_job job);

/* ---- Snapshots ------------------------------------------------------------------------------------ */

/* Creates a snapshot in the arena. It contains the nodes in their current states, but no jobs. NULL: out of memory. */
struct hr__cluster_snapshot *hr__cluster_snapshot_create(const struct hr__gpu_allocator *allocator,
                                                         const struct hr_policy_env *env,
                                                         const struct hr_packing_rule *rule);
/* Updates a snapshot after a node came up, received notice, or went down. */
void hr__cluster_snapshot_node_changes(const struct hr__cluster_snapshot *snapshot, const struct hr_view *view,
                                       const struct hr_event *event);

/* Finds a placement for a request in a snapshot, within one group of the tier (HR_TIER_ANY: anywhere). The placement is
   valid until the next search of this allocator. False: no placement exists. */
bool hr__cluster_snapshot_find(struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                               uint32_t request, enum hr_tier tier, struct hr_placement *placement);

enum hr__gpu_change {
  HR__GPUS_TAKE,
  HR__GPUS_GIVE,
  HR__GPUS_UNDO /* reverts the last HR__GPUS_TAKE */
};

/* Allocates or releases the GPUs of a placement of a job with this request, or reverts their allocation. GPUs to be
   allocated must be free. */
void hr__cluster_snapshot_change(const struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                                 uint32_t request, const struct hr_placement *placement, enum hr__gpu_change how);

/* Finds a placement for a request in the current state: see hr__cluster_snapshot_find. */
static inline bool hr__gpu_allocator_find(struct hr__gpu_allocator *allocator, uint32_t request, enum hr_tier tier,
                                          struct hr_placement *placement) {
  return hr__cluster_snapshot_find(allocator, &allocator->now, request, tier, placement);
}

/* Returns the number of searches so far. It is also the index into the random stream of the rule `random`. After a
   search that only checks whether a job fits, the caller must therefore restore the number with
   hr__gpu_allocator_rewind, so that later placements do not change. */
static inline uint64_t hr__gpu_allocator_finds(const struct hr__gpu_allocator *allocator) {
  return allocator->now.finds;
}

/* Sets the number of searches back to `finds`, a value that hr__gpu_allocator_finds returned earlier. */
static inline void hr__gpu_allocator_rewind(struct hr__gpu_allocator *allocator, uint64_t finds) {
  allocator->now.finds = finds;
}

/* Returns whether memory ran out during a search. */
static inline bool hr__gpu_allocator_failed(const struct hr__gpu_allocator *allocator) {
  return allocator->failed;
}

#endif
