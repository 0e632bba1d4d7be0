/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLACEMENT_GPU_CAPACITY_H
#define HR_POLICIES_PLACEMENT_GPU_CAPACITY_H

/* Per-GPU allocation in capacities (headroom/unstable/capacity.h): groups of topology tiers, placements, and
   reservations. */

#include "base/containers.h"
#include "headroom/gpu_inventory.h"
#include "headroom/unstable/capacity.h"

/* ---- Changes of nodes ------------------------------------------------------------------------------------ */

/* The nodes in the order of their last change, and a count of all changes. An index of the nodes stores the count of
   its last update, and visits only the nodes that have changed since. */
struct hr__node_changes {
  /* [n_nodes + 1]: neighbours in the list in order of change; the last entry is the head of the list */
  uint32_t *before, *after;
  uint64_t *changed; /* [n_nodes]: value of `count` at the last change */
  uint64_t count;
  uint32_t head;
};

/* Returns false if memory is exhausted. */
static inline bool hr__node_changes_init(struct hr__node_changes *changes, struct hr_arena *arena, uint32_t n_nodes) {
  size_t n = (size_t)n_nodes + 1;
  changes->head = n_nodes;
  if (!HR__ARENA_ARRAY(arena, changes->before, n) || !HR__ARENA_ARRAY(arena, changes->after, n) ||
      !HR__ARENA_ARRAY(arena, changes->changed, n))
    return false;
  for (uint32_t i = 0; i < n; i++) {
    changes->after[i] = i == n_nodes ? 0 : i + 1;
    changes->before[i] = i == 0 ? n_nodes : i - 1;
  }
  return true;
}

/* Counts a change of a node, and moves the node to the end of the list. */
static inline void hr__node_changes_note(struct hr__node_changes *changes, hr_node node) {
  uint32_t i = node.id, head = changes->head;
  changes->after[changes->before[i]] = changes->after[i];
  changes->before[changes->after[i]] = changes->before[i];
  changes->before[i] = changes->before[head];
  changes->after[i] = head;
  changes->after[changes->before[head]] = i;
  changes->before[head] = i;
  changes->changed[i] = ++changes->count;
}

/* ---- Groups (gpu_capacity.c) ---------------------------------------------------------------------------- */

/* The groups of topology tiers in per-GPU allocation, with the number of tasks that fit in each group (its room). They
   are used to find the tightest group for a gang with a topology constraint. */

struct hr__gang_groups;

/* ---- Placements (gpu_capacity.c) ----------------------------------------------------------------------- */

/* Capacities in per-GPU allocation (headroom/unstable/capacity.h). Jobs are placed by a packing rule, task by task;
   all tasks of a job are placed in one pool. */

/* A state of the cluster, with the data structures for searches in it. */
struct hr__gpu_state {
  struct hr_gpu_inventory *inventory;
  struct hr_packer *packer;
  uint64_t finds;                 /* number of searches by the packer: the index into the stream of the rule `random` */
  struct hr__gang_groups *groups; /* NULL without topology constraints */
  struct hr_packer *bare;         /* packer for requests without CPU and memory; NULL until needed */
};

/* The data that the states of a set share. */
struct hr__gpu_set {
  struct hr_arena *arena;
  const struct hr_cluster *cluster;
  const struct hr_packing_rule *rule;
  uint64_t seed;
  const struct hr_requests *requests;
  /* requests of the packers: the requests of the trace, then the variants of gangs for each pool, and those of single
     tasks that prefer some pools */
  struct hr_request *asked;
  /* by request, an index in `asked`. Gang: its variant for pool 0; the variants for the next pools follow in `asked`.
     Single task: its variant for the pools that it prefers; HR_NONE: it has no preference */
  uint32_t *first_variant;
  uint32_t n_asked, n_pools;
  const struct hr_typical_pods *typical;
  /* the acceptance classes of the cluster, then one class for each pool, then those of the variants of single tasks */
  struct hr_acceptance acceptance;
  uint32_t first_pool_class;         /* number of acceptance classes of the cluster */
  struct hr_slice *slices, *checked; /* buffers, [number of tasks of the largest gang] */
  /* the cluster with all nodes and without jobs, to find gangs that can never fit; its packer is NULL if no gang needs
     this check */
  struct hr__gpu_state empty;
  struct hr__gpu_set *bare; /* the same requests without CPU and memory; NULL until needed */
  bool failed;              /* memory ran out during a search */
};

/* Initializes the shared data. Returns HR_NO_MEMORY if memory is exhausted. */
enum hr_status hr__gpu_set_init(struct hr__gpu_set *set, struct hr_arena *arena, const struct hr_cluster *cluster,
                                const struct hr_packing_rule *rule, uint64_t seed);
/* Initializes a state without jobs. Nodes that are not up now are closed, unless `all_nodes` is set. False: out of
   memory. */
bool hr__gpu_state_init(const struct hr__gpu_set *set, struct hr__gpu_state *state, bool all_nodes);

/* Finds a placement for a request within one group of the tier (HR_TIER_ANY: anywhere), in the pool `only` (HR_NONE: in
   any pool that the job accepts). The slices are valid until the next search of the set. False: no placement. */
bool hr__gpu_state_find(struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request, enum hr_tier tier,
                        uint32_t only, struct hr_placement *placement);
/* Finds a placement in which each share of the nodes of a pool gets its tasks. See hr_capacity_find_on. False: no
   placement. */
bool hr__gpu_state_find_on(const struct hr__gpu_set *set, const struct hr__gpu_state *state, uint32_t request,
                           enum hr_tier tier, hr_pool pool, const struct hr_node_share *shares, uint32_t n_shares,
                           struct hr_placement *placement);

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
void hr__gpu_state_set_usable(const struct hr__gpu_set *set, const struct hr__gpu_state *state, hr_node node,
                              bool usable, bool renew);
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

/* ---- Reservations (window_plan.c) ---------------------------------------------------------------------- */

/*
 * Reservations on the capacities of a set (headroom/unstable/capacity.h), counted or per GPU, with topology
 * constraints.
 *
 * Occupants of the cluster are the running jobs, from now to their expected ends, and the reservations of the current
 * plan. In the window state of [t, t + length), each node has the capacity that is free during all of the window;
 * docs/reference/rules.md ("Conservative") defines this state. A job may be placed at a time t if the rule of the set
 * finds a placement on this state.
 *
 * All memory is allocated in the arena of the set. Functions that return bool return false if no memory is available.
 */

struct hr__window_plan;

/* A request for capacity during a window of `length_us`, at least 1 us. Equal needs have the same `shape`; shapes are
   numbered from 0. */
struct hr__window_demand {
  struct hr_need need;
  int64_t length_us;
  uint32_t shape;
};

/* Creates a plan for the capacities of a set. NULL: no memory is available. */
struct hr__window_plan *hr__window_plan_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                               struct hr_capacity_set *set);

/* Report a job that starts and is expected to end at `end_us`, and a job that leaves its placement. A job that is
   reported as started between hr__window_plan_begin and hr__window_plan_end must have a reservation. */
bool hr__window_plan_add_job(struct hr__window_plan *plan, hr_job job, const struct hr_need *need,
                             const struct hr_placement *placement, int64_t end_us);
void hr__window_plan_remove_job(struct hr__window_plan *plan, hr_job job, const struct hr_placement *placement);

/* Begins a new plan at `now_us`, without reservations. */
void hr__window_plan_begin(struct hr__window_plan *plan, int64_t now_us);
/* Ends the plan: jobs that start from now on have no reservations. */
void hr__window_plan_end(struct hr__window_plan *plan);
/* Returns the earliest time, not before `from_us`, at which the demand can be placed, and its placement, which is valid
   until the next call. If the time is now, the placement can be taken in the present state. HR_NEVER_US: no such time,
   or no memory is available. */
int64_t hr__window_plan_earliest(struct hr__window_plan *plan, const struct hr__window_demand *demand, int64_t from_us,
                                 struct hr_placement *placement);
/* Adds a reservation for a demand from `start_us` on. */
bool hr__window_plan_reserve(struct hr__window_plan *plan, const struct hr__window_demand *demand, int64_t start_us,
                             const struct hr_placement *placement);
/* Returns an upper bound for the length of a window from now on in which the need can be met; 0: the need cannot be met
   now. */
int64_t hr__window_plan_longest(struct hr__window_plan *plan, const struct hr_need *need);
/* Whether memory was exhausted during a search. */
bool hr__window_plan_failed(const struct hr__window_plan *plan);

#endif
