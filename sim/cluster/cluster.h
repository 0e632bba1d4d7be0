/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_CLUSTER_H
#define HR_SIM_CLUSTER_CLUSTER_H

/* The state of a cluster: free capacity, states of nodes, and the pools that jobs may use. */

#include "base/bitset.h"
#include "headroom/policy.h"
#include "sim/cluster/accepts.h"

enum { HR__NODE_STATES = HR_NODE_CLOSING + 1 };

/* The state of a node, in clusters in which nodes come and go (are requested, boot, and go down again). */
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
  uint64_t size_milli; /* the capacity of all nodes of the pool, in whatever state they are */
  /* total_milli: the capacity of the nodes that are present; free_milli: the free capacity of the nodes on which jobs
     may start */
  uint64_t total_milli, free_milli;
  struct hr_free_index *index; /* how many whole GPUs are free on each node; 0 for nodes on which no job may start */
  /* The following members are 0 unless nodes of the pool come and go. */
  bool comes_and_goes;            /* the pool is elastic, or reserved for a limited time */
  double reclaims_per_h;          /* mean number of reclaims per hour of a node that is up */
  uint32_t n_in[HR__NODE_STATES]; /* for each state, how many nodes are in it */
  uint32_t obtainable;            /* nodes 0 .. obtainable - 1 are available or in use */
  uint32_t n_offered;             /* how many of the nodes 0 .. obtainable - 1 are off and so can be requested */
  struct hr__bitset_shape shape;
  uint64_t *off; /* the set of nodes that are off */
};

struct hr_cluster {
  const struct hr_cluster_spec *spec;
  struct hr__pool *pools;
  uint32_t n_pools, n_nodes;
  /* the first pool that has nodes, or pool 0 if no pool has nodes; jobs that need no node are recorded in this pool */
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

/* Returns how many whole GPUs of a node are free. */
static inline uint32_t hr__cluster_whole_gpus(const struct hr_cluster *cluster, hr_node node) {
  return cluster->inventory ? hr_gpu_inventory_idle_gpus(cluster->inventory, node)
                            : cluster->node_free_milli[node.id] / 1000;
}

/* Initializes the cluster, with memory from the arena. `classes` may be NULL. `spec`, `trace`, `classes` and `speeds`
   must exist as long as the cluster is used. Nodes that come and go are initially off. Returns HR_OK or
   HR_NO_MEMORY. */
enum hr_status hr__cluster_init(struct hr_cluster *cluster, struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                const struct hr_trace *trace, const struct hr_class_spec *classes,
                                const struct hr__speed_table *speeds);

/* Allocates a placement to a job. Returns NULL on success. If the placement breaks a rule, the function allocates
   nothing and returns a description of the rule. */
const char *hr__cluster_allocate(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);
/* Finds the tiers that jobs require and, for each of these tiers, makes an index of its node groups (locality.c).
   Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__locality_init(struct hr_cluster *cluster, struct hr_arena *arena);
/* Returns true if the job requires a tier and no group of this tier in the pool has room for the job, even if the pool
   is empty. The caller has checked that the whole empty pool has room for the job. */
bool hr__locality_never_fits(const struct hr_cluster *cluster, hr_pool pool, hr_job job,
                             const struct hr_request *request);

/* hr__cluster_release releases a placement. hr__cluster_undo_allocate undoes an allocation that was made at the present
   instant, including changes of MIG layouts. */
void hr__cluster_release(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);
void hr__cluster_undo_allocate(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);

/* Undoes a release that was made at the present instant. It works even if the nodes of the placement have got notice,
   so that no new job may start on them. */
void hr__cluster_undo_release(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);

/* Changes the state of a node that comes and goes. A node that goes off must have no jobs. */
void hr__cluster_set_state(struct hr_cluster *cluster, hr_node node, enum hr_node_state state);
/* Makes nodes 0 .. obtainable - 1 of the pool available from now on, and no others. */
void hr__cluster_set_obtainable(struct hr_cluster *cluster, hr_pool pool, uint32_t obtainable);

/* Returns the reason why a job could not run even if the cluster were empty, or HR_REASON_NONE if it could. */
enum hr_reason hr__cluster_never_fits(const struct hr_cluster *cluster, hr_job job);

/* Returns the pool of a node. */
hr_pool hr__cluster_pool_of(const struct hr_cluster *cluster, hr_node node);

/* ---- requests.c ---- */

/* Creates the table of requests as hr_requests_create does, for the jobs of accepts->trace. `accepts` must exist as
   long as the table is used. In a streamed run this function only counts the jobs of each request. The request of each
   job is recorded later by hr__requests_submit. */
struct hr_requests *hr__requests_create(struct hr_arena *arena, const struct hr__accepts *accepts,
                                        const uint32_t *max_gpus, const struct hr_cluster_spec *cluster);
/* Records the request of a job. This function is called when the job is submitted, and only in streamed runs. */
void hr__requests_submit(const struct hr_requests *requests, hr_job job);

/* ---- gpu_inventory.c ---- */

/* Returns a set of MIG profiles: those of which the GPU of the slice could still provide an instance after the slice
   was allocated. */
uint32_t hr__gpu_inventory_mig_profiles_after(const struct hr_gpu_inventory *inventory, const struct hr_slice *slice);
/* Sets the instances of a GPU in a planned inventory. `instances`: HR_MIG_ON_DEMAND only; `layout` and `taken` (a set
   of starts): all other modes. */
void hr__gpu_inventory_set_instances(struct hr_gpu_inventory *inventory, hr_node node, uint32_t gpu,
                                     const struct hr_mig_gpu *instances, uint32_t layout, uint32_t taken);
/* Returns for how many tasks the GPUs `first` to `first` + `n_gpus` - 1 of an empty node have instances. The pool must
   use MIG. See hr_gpu_inventory_mig_room. */
uint64_t hr__gpu_inventory_mig_empty_room(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                          hr_pool pool, uint32_t first, uint32_t n_gpus);

/* ---- free_index.c ---- */

struct hr_free_index {
  uint32_t n_nodes, gpus_per_node;
  struct hr__bitset_shape node_shape, level_shape;
  uint64_t *nodes_at; /* [gpus_per_node + 1]: for each number of free GPUs, the set of nodes with this number */
  uint64_t *levels;   /* the set of those numbers of free GPUs that at least one node has */
  uint32_t *count_at; /* [gpus_per_node + 1]: for each number of free GPUs, how many nodes have it */
  uint32_t *free;     /* [n_nodes]: how many GPUs of each node are free */
  struct hr_group_index *groups; /* linked list of the group indices that are updated with this index */
};

/* Returns whether the group indices agree with the free GPUs of the nodes. Used in checked mode. */
bool hr__group_index_is_consistent(const struct hr_free_index *index);

#endif
