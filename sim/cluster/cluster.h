/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_CLUSTER_CLUSTER_H
#define HR_SIM_CLUSTER_CLUSTER_H

/* The cluster's state: what is free where, and which job may go to which pool. */

#include "base/bitset.h"
#include "headroom/policy.h"
#include "sim/cluster/accepts.h"

enum { HR__NODE_STATES = HR_NODE_CLOSING + 1 };

/* A node that comes and goes. */
struct hr__node {
  int64_t since_us; /* when it was asked for */
  int64_t down_us;  /* when it will be gone, as far as is known; HR_NEVER_US */
  int64_t dies_us;  /* when it will be so old that it is reclaimed; HR_NEVER_US */
  uint32_t launches;
  uint8_t state; /* enum hr_node_state */
};

struct hr__pool {
  const struct hr_pool_spec *spec;
  hr_node first_node;
  uint64_t size_milli;              /* with all its nodes */
  uint64_t total_milli, free_milli; /* of nodes that are there; of nodes that jobs may start on */
  struct hr_free_index *index;      /* whole GPUs free, by node; none on a node that jobs may not start on */
  /* Where nodes come and go. */
  bool comes_and_goes;
  double reclaims_per_h;          /* of a node that is up */
  uint32_t n_in[HR__NODE_STATES]; /* nodes by state */
  uint32_t obtainable;            /* nodes 0 .. obtainable-1 can be had */
  uint32_t n_offered;             /* of those, the ones that are off */
  struct hr__bitset_shape shape;
  uint64_t *off; /* the set of nodes that are off */
};

struct hr_cluster {
  const struct hr_cluster_spec *spec;
  struct hr__pool *pools;
  uint32_t n_pools, n_nodes;
  hr_pool first_pool; /* that has nodes; 0 where none has: there is where jobs are that sit on no node */
  uint64_t total_milli, free_milli;
  uint32_t *node_free_milli; /* [n_nodes]; 0 for nodes that are not there */
  struct hr__node *nodes;    /* [n_nodes]; NULL where no node comes and goes */
  const struct hr_trace *trace;
  const struct hr_class_spec *classes; /* may be NULL */
  bool has_spot;
  struct hr__accepts accepts;
  struct hr_gpu_inventory *inventory; /* NULL where GPUs are not told apart */
  struct hr_requests *requests;       /* likewise */
  uint32_t tiers_within;              /* bits 1 << enum hr_tier: that some job is to be within */
};

/* Of a node: those that a job may have to itself. */
static inline uint32_t hr__cluster_whole_gpus(const struct hr_cluster *cluster, hr_node node) {
  return cluster->inventory ? hr_gpu_inventory_idle_gpus(cluster->inventory, node)
                            : cluster->node_free_milli[node.id] / 1000;
}

/* In the arena; the spec, the trace, the classes (which may be NULL) and the speeds must outlive it. Nodes that come
 * and go are off. */
enum hr_status hr__cluster_init(struct hr_cluster *cluster, struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                const struct hr_trace *trace, const struct hr_class_spec *classes,
                                const struct hr__speed_table *speeds);

/* In a streamed run, before a job is looked at: as is done for all at the beginning of others. */
void hr__cluster_meet(const struct hr_cluster *cluster, hr_job job);

/* Takes a placement for a job, or takes nothing and returns the rule that it breaks. */
const char *hr__cluster_take(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);
/* within.c: which tiers jobs are to be within; groups of nodes for them. */
void hr__locality_look(struct hr_cluster *cluster, struct hr_arena *arena);
enum hr_status hr__locality_group(struct hr_cluster *cluster, struct hr_arena *arena);
/* Whether a job that must be within a group fits none of the empty pool, which has room for it. */
bool hr__locality_never_fits(const struct hr_cluster *cluster, hr_pool pool, hr_job job,
                             const struct hr_request *request);

/* Gives back what was taken; takes the taking back, in the same instant. */
void hr__cluster_give(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);
void hr__cluster_undo(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);

/* Takes again what was given in the same instant: a preempted job's place, even on a node that has notice. */
void hr__cluster_retake(struct hr_cluster *cluster, const struct hr_placement *placement, hr_job job);

/* Moves a node that comes and goes into another state. A node that goes off has no jobs. */
void hr__cluster_set_state(struct hr_cluster *cluster, hr_node node, enum hr_node_state state);
/* Nodes 0 .. `obtainable`-1 of the pool can be had from now on. */
void hr__cluster_set_obtainable(struct hr_cluster *cluster, hr_pool pool, uint32_t obtainable);

/* Whether the job could run on the empty cluster; HR_REASON_NONE when it could. */
enum hr_reason hr__cluster_never_fits(const struct hr_cluster *cluster, hr_job job);

/* The pool that a node belongs to. */
hr_pool hr__cluster_pool_of(const struct hr_cluster *cluster, hr_node node);

#endif
