/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLACEMENT_GPU_CAPACITY_H
#define HR_POLICIES_PLACEMENT_GPU_CAPACITY_H

/* Capacities in per-GPU allocation (headroom/unstable/capacity.h). Jobs are placed by a packing rule, task by task; all
   tasks of a job are placed in one pool. */

#include "headroom/unstable/capacity.h"
#include "headroom/unstable/placement.h"
#include "policies/placement/gang_groups.h"

/* A state of the cluster, with the data structures for searches in it. */
struct hr__gpu_state {
  struct hr_gpu_inventory *inventory;
  struct hr_packer *packer;
  uint64_t finds;                 /* number of searches by the packer: the index into the stream of the rule `random` */
  struct hr__gang_groups *groups; /* NULL without topology constraints */
  struct hr_packer *bare;         /* packer for requests without CPU and memory; NULL until needed */
};

/* What the states of a set share. */
struct hr__gpu_set {
  struct hr_arena *arena;
  const struct hr_cluster *cluster;
  const struct hr_packing_rule *rule;
  uint64_t seed;
  const struct hr_requests *requests;
  /* requests of the packers: the requests of the trace, then the variants of gangs for each pool */
  struct hr_request *asked;
  /* by request: index in `asked` of its variant for pool 0, which those for the next pools follow; HR_NONE: no
     variants, because the request has a single task */
  uint32_t *first_variant;
  uint32_t n_asked, n_pools;
  const struct hr_typical_pods *typical;
  struct hr_acceptance acceptance;   /* the acceptance classes of the cluster, then one class for each pool */
  struct hr_slice *slices, *checked; /* buffers, [number of tasks of the largest gang] */
  /* the cluster with all nodes and without jobs, to find gangs that can never fit; its packer is NULL if no gang needs
     this check */
  struct hr__gpu_state empty;
  struct hr__gpu_set *bare; /* the same requests without CPU and memory; NULL until needed */
  bool failed;              /* memory ran out during a search */
};

/* Initializes the shared part. Returns HR_NO_MEMORY if memory is exhausted. */
enum hr_status hr__gpu_set_init(struct hr__gpu_set *set, struct hr_arena *arena, const struct hr_cluster *cluster,
                                const struct hr_packing_rule *rule, uint64_t seed);
/* Initializes a state without jobs. Nodes that are not up now are closed, unless `all_nodes` is set. False: out of
   memory. */
bool hr__gpu_state_init(const struct hr__gpu_set *set, struct hr__gpu_state *state, bool all_nodes);

/* Finds a placement for a request within one group of the tier (HR_TIER_ANY: anywhere), in the pool `only` (HR_NONE: in
   any pool that the job accepts). The slices are valid until the next search of the set. False: no placement. */
bool hr__gpu_state_find(struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request, enum hr_tier tier,
                        uint32_t only, struct hr_placement *placement);

enum hr__gpu_change {
  HR__GPUS_TAKE,
  HR__GPUS_GIVE,
  HR__GPUS_UNDO /* reverts the last HR__GPUS_TAKE */
};
/* Allocates or releases the GPUs of a placement of a job with this request, or reverts their allocation. GPUs to be
   allocated must be free. */
void hr__gpu_state_change(const struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request,
                          const struct hr_placement *placement, enum hr__gpu_change how);
/* See hr_capacity_reset and hr_capacity_has. */
void hr__gpu_state_reset(const struct hr__gpu_set *set, const struct hr__gpu_state *state);
bool hr__gpu_state_has(const struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request,
                       const struct hr_placement *placement);
/* See hr_capacity_set_usable. */
void hr__gpu_state_set_usable(const struct hr__gpu_state *state, hr_node node, bool usable, bool renew);
/* See hr_capacity_never_fits and hr_capacity_lacks_node_resources. */
enum hr_reason hr__gpu_set_never_fits(struct hr__gpu_set *set, const struct hr_need *need);
bool hr__gpu_state_lacks_node_resources(struct hr__gpu_set *set, struct hr__gpu_state *state, uint32_t request);

/* See hr_capacity_columns, hr_capacity_add_use, hr_capacity_use_limits, hr_capacity_min_nodes and
   hr_capacity_is_monotone. */
struct hr_use_limits hr__gpu_set_use_limits(const struct hr__gpu_set *set, uint32_t request, hr_pool pool);
uint32_t hr__gpu_set_columns(const struct hr__gpu_set *set);
uint32_t hr__gpu_set_first_gpu_column(void);
void hr__gpu_set_add_use(const struct hr__gpu_set *set, uint32_t request, const struct hr_slice *slice, uint64_t *use);
uint32_t hr__gpu_set_min_nodes(const struct hr__gpu_set *set, uint32_t request, hr_pool pool);
bool hr__gpu_set_is_monotone(const struct hr__gpu_set *set, uint32_t request);
/* See hr_capacity_set_window. `now`: the present state. */
void hr__gpu_state_set_window(const struct hr__gpu_set *set, const struct hr__gpu_state *state,
                              const struct hr__gpu_state *now, hr_node node, const struct hr_window_use *use);
/* Reports that the free capacity of a node changed, for the next searches in the state. */
void hr__gpu_state_node_changed(const struct hr__gpu_state *state, hr_node node);

#endif
