/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_TAS_H
#define HR_POLICIES_KUEUE_TAS_H

/*
 * Topology-aware scheduling of Kueue: finds the topology domains (for example blocks, racks and hosts) in which the
 * pods of a workload run.
 *
 * Layout: A tree has one domain for each distinct prefix of the values of the level labels. Domains are numbered level
 * by level, and within a level in the order of their values. The children of a domain are therefore consecutive, and
 * the order of numbers is the order in which Kueue breaks ties. Domains of the lowest level are leaves; leaf l is
 * domain first[n_levels - 1] + l. Amounts are [leaf][resource].
 *
 * Ownership: The caller owns trees and snapshots (in an arena). The memory of a search grows to what the largest
 * search needs; results are valid until the next call.
 *
 * Source: kubernetes-sigs/kueue, pkg/cache/scheduler/tas_flavor_snapshot.go, tas_topology_tree.go,
 * tas_balanced_placement.go and tas_elastic_workloads.go.
 */

#include "headroom/base.h"

enum { HR__TAS_MAX_LEVELS = 16, HR__TAS_MAX_SLICES = 8 };

/* A level that the caller requested but the topology does not have. */
#define HR__TAS_UNKNOWN_LEVEL (HR_NONE - 1)

/* ---- Tree ---- */

struct hr__tas_domain {
  uint32_t parent;                 /* HR_NONE: a domain of the highest level */
  uint32_t first_child, end_child; /* equal for leaves */
  uint32_t level;
  const char *value; /* of the label of its own level */
};

struct hr__tas_tree {
  uint32_t n_levels, n_domains, n_leaves;
  uint32_t first[HR__TAS_MAX_LEVELS + 1]; /* first domain of each level, and the end */
  struct hr__tas_domain *domains;
  uint32_t *node_leaf;  /* by node of the caller; HR_NONE: the node is not in the tree */
  uint32_t *host_order; /* leaves in the order of their own values, if `by_host` is set */
  bool by_host;         /* the lowest level is the host name: a leaf is one node */
};

/* Builds a tree. `values` is [node][level]; a node whose first value is NULL is left out. If `by_host` is set, nodes
   with the same host name are one leaf. Returns false if memory is exhausted. */
bool hr__tas_tree_build(struct hr__tas_tree *tree, struct hr_arena *arena, const char *const *values, uint32_t n_nodes,
                        uint32_t n_levels, bool by_host);
static inline uint32_t hr__tas_leaf_domain(const struct hr__tas_tree *tree, uint32_t leaf) {
  return tree->first[tree->n_levels - 1] + leaf;
}
/* Returns the ancestor of a domain at a level that is not below it; the domain itself at its own level. */
uint32_t hr__tas_ancestor(const struct hr__tas_tree *tree, uint32_t domain, uint32_t level);
/* Returns the leaf with these values: the host name alone if `by_host` is set, otherwise one value per level. HR_NONE:
   there is none. */
uint32_t hr__tas_leaf_find(const struct hr__tas_tree *tree, const char *const *values, uint32_t n_values);

/* ---- Capacity ---- */

struct hr__tas_snapshot {
  const struct hr__tas_tree *tree;
  uint32_t n_resources;
  uint32_t pods;  /* the resource that counts pods */
  int64_t *free;  /* allocatable amounts without the use of pods that Kueue does not place */
  int64_t *usage; /* of the pods that Kueue placed */
};

/* Allocates the amounts, all 0. Returns false if memory is exhausted. */
bool hr__tas_snapshot_init(struct hr__tas_snapshot *snapshot, struct hr_arena *arena, const struct hr__tas_tree *tree,
                           uint32_t n_resources, uint32_t pods);
/* Adds `count` pods with these requests to amounts [resource]; a negative count removes them. */
void hr__tas_add_pods(const struct hr__tas_snapshot *snapshot, int64_t *amounts, const int64_t *pod, int64_t count);
/* Returns how many pods fit into the amounts: 0 to INT32_MAX. Each pod needs one of the resource that counts pods. */
int64_t hr__tas_count(const struct hr__tas_snapshot *snapshot, const int64_t *amounts, const int64_t *pod);

/* ---- Requests ---- */

/* Pods of one leaf. */
struct hr__tas_part {
  uint32_t leaf; /* HR_NONE: a domain that is not in the tree */
  int64_t count;
};

struct hr__tas_slice {
  uint32_t level; /* HR__TAS_UNKNOWN_LEVEL: not in the topology */
  int64_t size;
};

/* Why a node cannot run a pod. */
enum hr__tas_exclusion { HR__TAS_ELIGIBLE, HR__TAS_TAINT, HR__TAS_SELECTOR, HR__TAS_AFFINITY };

struct hr__tas_request {
  const int64_t *pod; /* [resource] of one pod, without the pod itself */
  int64_t count;
  uint32_t required, preferred; /* level; HR_NONE: not set */
  bool unconstrained, implied;  /* implied: nothing is requested, but the queue places all pods by topology */
  struct hr__tas_slice slices[HR__TAS_MAX_SLICES]; /* outermost first */
  uint32_t n_slices;
  uint32_t group;                      /* pod sets with the same number are a leader and its workers; HR_NONE: none */
  const uint8_t *excluded;             /* [leaf] enum hr__tas_exclusion; NULL: all nodes are eligible */
  const int64_t *affinity;             /* [leaf] sum of the weights of preferences that match; NULL: no preferences */
  const struct hr__tas_part *previous; /* placement of the pods that already run, if workload slices are on */
  uint32_t n_previous;
  bool has_previous;
};

struct hr__tas_gates {
  bool profile_mixed;      /* TASProfileMixed */
  bool balanced;           /* TASBalancedPlacement */
  bool affinity_preferred; /* TASRespectNodeAffinityPreferred */
  bool elastic;            /* ElasticJobsViaWorkloadSlicesWithTAS */
};

enum hr__tas_failure_kind {
  HR__TAS_FITS,
  HR__TAS_INSUFFICIENT,
  HR__TAS_NO_DOMAINS,        /* no domain at the requested level */
  HR__TAS_NO_LEVEL,          /* no level is requested */
  HR__TAS_LEVEL_UNKNOWN,     /* the requested level is not in the topology */
  HR__TAS_SLICE_SIZE,        /* slices without a size */
  HR__TAS_SLICE_LEVEL,       /* the level of the slices is not in the topology */
  HR__TAS_SLICE_ABOVE,       /* the level of the slices is above the requested level */
  HR__TAS_INNER_SLICE_LEVEL, /* the level of inner slices is not in the topology */
  HR__TAS_INNER_SLICE_ABOVE, /* the level of inner slices is not below that of the outer slices */
  HR__TAS_INNER_SLICE_SIZE,  /* the size of inner slices does not divide that of the outer slices */
  HR__TAS_STALE,             /* another node of the placement is missing */
  HR__TAS_NO_REPLACEMENT     /* nothing is to be replaced */
};

/* Counts of leaves that cannot run a pod. */
struct hr__tas_exclusions {
  uint32_t leaves; /* all */
  uint32_t taint, selector, affinity;
  uint32_t domain;   /* outside the domain of a replacement */
  uint32_t resource; /* too small for one pod */
};

struct hr__tas_failure {
  enum hr__tas_failure_kind kind;
  int64_t fits, of; /* if insufficient: how many slices or pods fit, and how many are requested */
  bool slices;      /* the unit is slices, not pods */
  struct hr__tas_exclusions exclusions;
};

/* The placement of a pod set: parts first .. first + count - 1 of the search. Without failure and parts, `placed` is
   false if the pod set got no placement at all. */
struct hr__tas_result {
  struct hr__tas_failure failure;
  uint32_t first, count;
  bool placed;
};

/* ---- Search ---- */

struct hr__tas_search; /* see policies/kueue/tas_search.h */

/* Places the pod sets of a workload, in this order, beside the usage of the snapshot and `assumed` ([leaf][resource];
   NULL: none); with `empty`, as if no pod were placed. Adds the placed pods to `assumed`. After the first failure the
   remaining pod sets have no result. Returns false if memory is exhausted. */
bool hr__tas_place(struct hr__tas_search *search, const struct hr__tas_snapshot *snapshot,
                   const struct hr__tas_request *requests, uint32_t count, bool empty, int64_t *assumed,
                   struct hr__tas_result *results);
/* Replaces the pods of a failed node. `parts` is the placement of the pod set; `lost` is the part of the failed node,
   HR_NONE if there is none. `request->count` is ignored. Returns false if memory is exhausted. */
bool hr__tas_replace(struct hr__tas_search *search, const struct hr__tas_snapshot *snapshot,
                     const struct hr__tas_request *request, const struct hr__tas_part *parts, uint32_t count,
                     uint32_t lost, int64_t *assumed, struct hr__tas_result *result);

/* ---- Steps ---- */

/* Merges two placements in the order of leaves. `out` has room for both, and may be `a`. Returns the number of parts.
 */
uint32_t hr__tas_merge(const struct hr__tas_part *a, uint32_t n_a, const struct hr__tas_part *b, uint32_t n_b,
                       struct hr__tas_part *out);
/* Shortens a placement to its first `count` pods, in place. Returns the number of parts. */
uint32_t hr__tas_truncate(struct hr__tas_part *parts, uint32_t n_parts, int64_t count);
/* Returns the level at which pods are placed: HR_NONE if nothing is requested, HR__TAS_UNKNOWN_LEVEL if the topology
   does not have the level. */
uint32_t hr__tas_request_level(const struct hr__tas_request *request, uint32_t n_levels);
/* Returns whether something is requested and the topology has all requested levels. */
bool hr__tas_has_levels(const struct hr__tas_request *request, uint32_t n_levels);

#endif
