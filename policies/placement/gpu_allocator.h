/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLACEMENT_GPU_ALLOCATOR_H
#define HR_POLICIES_PLACEMENT_GPU_ALLOCATOR_H

/* Per-GPU allocation for the queue policy: places jobs by a packing rule, task by task, all tasks of a job in one pool.
   The allocator has an inventory of its own, which follows the events, so that a gang can be tried before it is
   started. */

#include "headroom/unstable/placement.h"

struct hr__queue;
struct hr__gang_groups;

/* A state of the cluster, and the means to search it. */
struct hr__cluster_snapshot {
  struct hr_gpu_inventory *inventory;
  struct hr_packer *packer;
  uint64_t finds;                 /* the number of searches by the packer */
  struct hr__gang_groups *groups; /* NULL without topology constraints */
  struct hr_packer *bare;         /* for hr__gpu_allocator_lacks_node_resources; NULL until needed */
};

struct hr__gpu_allocator {
  struct hr__cluster_snapshot now;   /* follows the events */
  struct hr__cluster_snapshot empty; /* all nodes, no job; NULL unless some gang may never fit */
  const struct hr_requests *requests;
  struct hr_request *asked; /* requests of the packer: those of the trace, and variants of gangs for each pool */
  uint32_t *first_variant;  /* by request: its variant for pool 0; HR_NONE: it has one task, or none */
  uint32_t n_asked, n_pools;
  const struct hr_typical_pods *typical;
  struct hr_acceptance acceptance; /* of the cluster's classes, and of each pool alone */
  struct hr_slice *slices;         /* room for the largest gang */
  const struct hr_cluster *cluster;
  struct hr__gpu_allocator *bare; /* for hr__gpu_allocator_lacks_node_resources; NULL until needed */
  bool failed;                    /* memory ran out during a search */
};

/* Creates the allocator in the arena; it listens to the queue. NULL: out of memory. */
struct hr__gpu_allocator *hr__gpu_allocator_create(struct hr__queue *queue, const struct hr_policy_env *env,
                                                   const struct hr_packing_rule *rule);
/* Returns whether a job that does not fit would fit if it requested no CPU and memory of nodes. */
bool hr__gpu_allocator_lacks_node_resources(struct hr__queue *queue, hr_job job);

/* ---- Other states --------------------------------------------------------------------------------- */

/* Creates a state in the arena: the cluster as it is now, before any job runs. NULL: out of memory. */
struct hr__cluster_snapshot *hr__cluster_snapshot_create(const struct hr__gpu_allocator *allocator,
                                                         const struct hr_policy_env *env,
                                                         const struct hr_packing_rule *rule);
/* A node came up, received notice, or went down. */
void hr__cluster_snapshot_node_changes(const struct hr__cluster_snapshot *snapshot, const struct hr_view *view,
                                       const struct hr_event *event);

/* Finds a placement for a request in a state of the cluster, within one group of the tier (HR_TIER_ANY: anywhere). The
   placement is valid until the next search of this allocator. Returns false if no placement exists. */
bool hr__cluster_snapshot_find(struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                               uint32_t request, enum hr_tier tier, struct hr_placement *placement);

enum hr__gpu_change {
  HR__GPUS_TAKE,
  HR__GPUS_GIVE,
  HR__GPUS_UNDO /* reverts the last take */
};

/* Takes the GPUs of a placement for a job of the request, which must be free, or returns them. */
void hr__cluster_snapshot_change(const struct hr__gpu_allocator *allocator, const struct hr__cluster_snapshot *snapshot,
                                 uint32_t request, const struct hr_placement *placement, enum hr__gpu_change how);

/* Finds a placement for a request now: see hr__cluster_snapshot_find. */
static inline bool hr__gpu_allocator_find(struct hr__gpu_allocator *allocator, uint32_t request, enum hr_tier tier,
                                          struct hr_placement *placement) {
  return hr__cluster_snapshot_find(allocator, &allocator->now, request, tier, placement);
}

/* The random stream is indexed by the number of searches; rewind undoes the count for feasibility-only searches. */
static inline uint64_t hr__gpu_allocator_finds(const struct hr__gpu_allocator *allocator) {
  return allocator->now.finds;
}

static inline void hr__gpu_allocator_rewind(struct hr__gpu_allocator *allocator, uint64_t finds) {
  allocator->now.finds = finds;
}

/* Returns whether memory ran out during a search. */
static inline bool hr__gpu_allocator_failed(const struct hr__gpu_allocator *allocator) {
  return allocator->failed;
}

#endif
