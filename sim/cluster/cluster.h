/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_CLUSTER_H
#define HR_SIM_CLUSTER_CLUSTER_H

/* The state of a cluster: free capacity, node states, and which jobs may use which pools. */

#include "base/bitset.h"
#include "headroom/policy.h"
#include "sim/cluster/accepts.h"

enum { HR__NODE_STATES = HR_NODE_CLOSING + 1 };

/* The state of a node, in clusters with nodes that come and go. */
struct hr__node {
  int64_t since_us; /* when it was requested */
  int64_t down_us;  /* when it will go down, if known; else HR_NEVER_US */
  int64_t dies_us;  /* when it will be reclaimed because of its age; HR_NEVER_US: never */
  uint32_t launches;
  uint8_t state; /* enum hr_node_state */
};

struct hr__pool {
  const struct hr_pool_spec *spec;
  hr_node first_node;
  uint64_t size_milli;              /* of all its nodes, whatever their state */
  uint64_t total_milli, free_milli; /* of nodes that are present; of nodes on which jobs may start */
  struct hr_free_index *index;      /* free whole GPUs by node; 0 for nodes on which no job may start */
  /* If nodes come and go: */
  bool comes_and_goes;
  double reclaims_per_h;          /* mean rate for a node that is up */
  uint32_t n_in[HR__NODE_STATES]; /* number of nodes, by state */
  uint32_t obtainable;            /* nodes 0 .. obtainable - 1 are available or in use */
  uint32_t n_offered;             /* of those, the number of nodes that are off */
  struct hr__bitset_shape shape;
  uint64_t *off; /* the set of nodes that are off */
};

struct hr_cluster {
  const struct hr_cluster_spec *spec;
  struct hr__pool *pools;
  uint32_t n_pools, n_nodes;
  hr_pool first_pool; /* the first pool that has nodes, 0 if none has: where jobs are recorded that need no node */
  uint64_t total_milli, free_milli;
  uint32_t *node_free_milli; /* [n_nodes]; 0 for nodes that are not present */
  struct hr__node *nodes;    /* [n_nodes]; NULL if no node comes and goes */
  const struct hr_trace *trace;
  const struct hr_class_spec *classes; /* may be NULL */
  struct hr__accepts accepts;
  struct hr_gpu_inventory *inventory; /* NULL in counted allocation */
  struct hr_requests *requests;       /* NULL in counted allocation */
  uint32_t tiers_within;              /* bits 1 << enum hr_tier: tiers in which some job must be */
};

/* The GPUs of a node that a job could have exclusively. */
static inline uint32_t hr__cluster_whole_gpus(const struct hr_cluster *cluster, hr_node node) {
  return cluster->inventory ? hr_gpu_inventory_idle_gpus(cluster->inventory, node)
                            : cluster->node_free_milli[node.id] / 1000;
}

/* Initializes the cluster in the arena. `spec`, `trace`, `classes` (may be NULL) and `speeds` must outlive it. Nodes
   that come and go are off. HR_NO_MEMORY. */
enum hr_status hr__cluster_init(struct hr_cluster *cluster, struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                const struct hr_trace *trace, const struct hr_class_spec *classes,
                                const struct hr__speed_table *speeds);

/* Allocates a placement to a job. Returns NULL, or the rule that the placement breaks; then nothing is allocated. */
const char *hr__cluster_allocate(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);
/* Finds the tiers that jobs must be in, and makes the groups of nodes for them (locality.c). HR_NO_MEMORY. */
enum hr_status hr__locality_init(struct hr_cluster *cluster, struct hr_arena *arena);
/* Whether no group of the empty pool has room for a job that must be in one, although the pool has. */
bool hr__locality_never_fits(const struct hr_cluster *cluster, hr_pool pool, hr_job job,
                             const struct hr_request *request);

/* Releases a placement; or undoes an allocation of the same instant, MIG layouts included. */
void hr__cluster_release(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);
void hr__cluster_undo_allocate(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);

/* Undoes a release of the same instant, even on nodes that have notice. */
void hr__cluster_undo_release(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);

/* Changes the state of a node that comes and goes. A node that goes off must have no jobs. */
void hr__cluster_set_state(struct hr_cluster *cluster, hr_node node, enum hr_node_state state);
/* Nodes 0 .. obtainable - 1 of the pool are available from now on. */
void hr__cluster_set_obtainable(struct hr_cluster *cluster, hr_pool pool, uint32_t obtainable);

/* Whether a job could run on the empty cluster: HR_REASON_NONE, or why not. */
enum hr_reason hr__cluster_never_fits(const struct hr_cluster *cluster, hr_job job);

/* The pool of a node. */
hr_pool hr__cluster_pool_of(const struct hr_cluster *cluster, hr_node node);

/* ---- requests.c ---- */

/* As hr_requests_create, for the jobs of the accept classes, which must outlive the result. In a streamed run jobs are
   counted here, but the request of each job is recorded at its submission. */
struct hr_requests *hr__requests_create(struct hr_arena *arena, const struct hr__accepts *accepts,
                                        const uint32_t *max_gpus, const struct hr_cluster_spec *cluster);
/* Records the request of a job that is submitted, in a streamed run. */
void hr__requests_submit(const struct hr_requests *requests, hr_job job);

/* ---- gpu_inventory.c ---- */

/* The set of profiles of which the slice's GPU could provide another instance after the slice was allocated. */
uint32_t hr__gpu_inventory_mig_profiles_after(const struct hr_gpu_inventory *inventory, const struct hr_slice *slice);

/* ---- free_index.c ---- */

struct hr_free_index {
  uint32_t n_nodes, gpus_per_node;
  struct hr__bitset_shape node_shape, level_shape;
  uint64_t *nodes_at;            /* [gpus_per_node + 1] sets of nodes, by free GPUs */
  uint64_t *levels;              /* the free GPU counts that some node has */
  uint32_t *count_at;            /* [gpus_per_node + 1] number of nodes, by free GPUs */
  uint32_t *free;                /* [n_nodes] free GPUs */
  struct hr_group_index *groups; /* the group indices that are updated with this index, as a list; NULL: none */
};

/* Adds an index of groups of `nodes_per_group` consecutive nodes, unless it exists. In the arena; NULL if memory is
   exhausted. */
struct hr_group_index *hr__free_index_add_groups(struct hr_arena *arena, struct hr_free_index *index,
                                                 uint32_t nodes_per_group);
/* Whether the group indices are consistent with the nodes. For checks. */
bool hr__group_index_is_consistent(const struct hr_free_index *index);

#endif
