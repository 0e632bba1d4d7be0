/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_CLUSTER_H
#define HR_SIM_CLUSTER_CLUSTER_H

/* The state of a cluster: free capacity, states of nodes, and the pools that jobs may use. */

#include "base/bitset.h"
#include "headroom/policy.h"
#include "sim/cluster/accepts.h"

enum { HR__NODE_STATES = HR_NODE_CLOSING + 1 };

/* The state of a node, in clusters with nodes that come and go. */
struct hr__node {
  int64_t since_us; /* when the node was requested */
  int64_t down_us;  /* when the node will go down; HR_NEVER_US if unknown */
  int64_t dies_us;  /* when the node will be reclaimed because of its age; HR_NEVER_US if never */
  uint32_t launches;
  uint8_t state; /* enum hr_node_state */
};

struct hr__pool {
  const struct hr_pool_spec *spec;
  hr_node first_node;
  uint64_t size_milli; /* of all nodes of the pool, in any state */
  /* total: of the nodes that are present; free: of the nodes on which jobs may start */
  uint64_t total_milli, free_milli;
  struct hr_free_index *index; /* free whole GPUs by node; 0 for nodes on which no job may start */
  /* The following members are 0 unless nodes of the pool come and go. */
  bool comes_and_goes;            /* the pool is elastic, or reserved for a limited time */
  double reclaims_per_h;          /* mean number of reclaims per hour of a node that is up */
  uint32_t n_in[HR__NODE_STATES]; /* number of nodes, by state */
  uint32_t obtainable;            /* nodes 0 .. obtainable - 1 are available or in use */
  uint32_t n_offered;             /* number of nodes in 0 .. obtainable - 1 that are off */
  struct hr__bitset_shape shape;
  uint64_t *off; /* the set of nodes that are off */
};

struct hr_cluster {
  const struct hr_cluster_spec *spec;
  struct hr__pool *pools;
  uint32_t n_pools, n_nodes;
  /* the first pool with nodes, or 0 if no pool has nodes; jobs that need no node are recorded there */
  hr_pool first_pool;
  uint64_t total_milli, free_milli;
  uint32_t *node_free_milli; /* [n_nodes]; 0 for nodes that are not present */
  struct hr__node *nodes;    /* [n_nodes]; NULL if no node comes and goes */
  const struct hr_trace *trace;
  const struct hr_class_spec *classes; /* may be NULL */
  struct hr__accepts accepts;
  struct hr_gpu_inventory *inventory; /* NULL in counted allocation */
  struct hr_requests *requests;       /* NULL in counted allocation */
  uint32_t tiers_within;              /* a set of bits 1 << enum hr_tier: the tiers that jobs require */
};

/* Returns the number of GPUs of a node that are free as whole GPUs. */
static inline uint32_t hr__cluster_whole_gpus(const struct hr_cluster *cluster, hr_node node) {
  return cluster->inventory ? hr_gpu_inventory_idle_gpus(cluster->inventory, node)
                            : cluster->node_free_milli[node.id] / 1000;
}

/* Initializes the cluster, with memory from the arena. `spec`, `trace`, `classes` (may be NULL) and `speeds` must
   outlive it. Nodes that come and go are off. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__cluster_init(struct hr_cluster *cluster, struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                const struct hr_trace *trace, const struct hr_class_spec *classes,
                                const struct hr__speed_table *speeds);

/* Allocates a placement to a job. Returns NULL on success. If the placement breaks a rule, the function allocates
   nothing and returns the rule. */
const char *hr__cluster_allocate(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);
/* Finds the tiers that jobs require and makes the indices of node groups for them (locality.c). Returns HR_OK or
   HR_NO_MEMORY. */
enum hr_status hr__locality_init(struct hr_cluster *cluster, struct hr_arena *arena);
/* Returns whether the job requires a tier and no group of this tier has room for the job, even if the pool is empty.
   The whole pool must have room. */
bool hr__locality_never_fits(const struct hr_cluster *cluster, hr_pool pool, hr_job job,
                             const struct hr_request *request);

/* hr__cluster_release releases a placement. hr__cluster_undo_allocate undoes an allocation of the same instant,
   including changes of MIG layouts. */
void hr__cluster_release(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);
void hr__cluster_undo_allocate(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);

/* Undoes a release of the same instant. The nodes of the placement may have notice. */
void hr__cluster_undo_release(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);

/* Changes the state of a node that comes and goes. A node that goes off must have no jobs. */
void hr__cluster_set_state(struct hr_cluster *cluster, hr_node node, enum hr_node_state state);
/* Makes nodes 0 .. obtainable - 1 of the pool available from now on. */
void hr__cluster_set_obtainable(struct hr_cluster *cluster, hr_pool pool, uint32_t obtainable);

/* Returns the reason why a job could not even run on the empty cluster, or HR_REASON_NONE if it could. */
enum hr_reason hr__cluster_never_fits(const struct hr_cluster *cluster, hr_job job);

/* Returns the pool of a node. */
hr_pool hr__cluster_pool_of(const struct hr_cluster *cluster, hr_node node);

/* ---- requests.c ---- */

/* Creates the table of requests as hr_requests_create does, for the jobs of the accept classes. `accepts` must outlive
   the result. In a streamed run this function only counts the jobs of each request; hr__requests_submit records the
   request of each job later. */
struct hr_requests *hr__requests_create(struct hr_arena *arena, const struct hr__accepts *accepts,
                                        const uint32_t *max_gpus, const struct hr_cluster_spec *cluster);
/* Records the request of a job at its submission, in a streamed run. */
void hr__requests_submit(const struct hr_requests *requests, hr_job job);

/* ---- gpu_inventory.c ---- */

/* Returns the set of profiles of which the slice's GPU could provide an instance after the slice is allocated. */
uint32_t hr__gpu_inventory_mig_profiles_after(const struct hr_gpu_inventory *inventory, const struct hr_slice *slice);

/* ---- free_index.c ---- */

struct hr_free_index {
  uint32_t n_nodes, gpus_per_node;
  struct hr__bitset_shape node_shape, level_shape;
  uint64_t *nodes_at;            /* [gpus_per_node + 1]: by number of free GPUs, the set of nodes */
  uint64_t *levels;              /* the set of free GPU counts that occur */
  uint32_t *count_at;            /* [gpus_per_node + 1]: by number of free GPUs, the number of nodes */
  uint32_t *free;                /* [n_nodes]: number of free GPUs */
  struct hr_group_index *groups; /* linked list of the group indices that are updated with this index */
};

/* Returns the index of groups of `nodes_per_group` consecutive nodes. Creates the index in the arena unless it exists.
   Returns NULL if memory is exhausted. */
struct hr_group_index *hr__free_index_add_groups(struct hr_arena *arena, struct hr_free_index *index,
                                                 uint32_t nodes_per_group);
/* Returns whether the group indices are consistent with the nodes. For checks. */
bool hr__group_index_is_consistent(const struct hr_free_index *index);

#endif
