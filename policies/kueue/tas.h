/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_TAS_H
#define HR_POLICIES_KUEUE_TAS_H

/*
 * Topology-aware scheduling of Kueue: finds the topology domains (for example blocks, racks and hosts) in which the
 * pods of a workload run.
 *
 * Layout: A tree has one domain for each distinct prefix of the values of the level labels. Domains are numbered level
 * by level, and within a level in the order of their values. The children of a domain are therefore consecutive, and
 * Kueue orders equal domains by these numbers. Domains of the lowest level are leaves. Leaf l is domain
 * first[n_levels - 1] + l. Amounts are [leaf][resource].
 *
 * Ownership: The caller owns trees and snapshots (in an arena). The memory of a search grows to the need of the largest
 * search; results are valid until the next call.
 *
 * Source: kubernetes-sigs/kueue, pkg/cache/scheduler/tas_flavor_snapshot.go, tas_topology_tree.go,
 * tas_balanced_placement.go and tas_elastic_workloads.go.
 */

#include "headroom/base.h"
#include "policies/kueue/kueue.h"

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
  bool by_host;         /* the lowest level is the host name: a leaf is a host (nodes with the same host name) */
};

/* Builds a tree. `values` is [node][level]; a node with NULL as first value is left out. If `by_host` is set, nodes
   with the same host name are one leaf. Returns false if memory is exhausted. */
bool hr__tas_tree_build(struct hr__tas_tree *tree, struct hr_arena *arena, const char *const *values, uint32_t n_nodes,
                        uint32_t n_levels, bool by_host);
static inline uint32_t hr__tas_leaf_domain(const struct hr__tas_tree *tree, uint32_t leaf) {
  return tree->first[tree->n_levels - 1] + leaf;
}

/* Returns the ancestor of a domain at a level that is not below it; the domain itself at its own level. */
static inline uint32_t hr__tas_ancestor(const struct hr__tas_tree *tree, uint32_t domain, uint32_t level) {
  while (tree->domains[domain].level > level) domain = tree->domains[domain].parent;
  return domain;
}

/* Returns the leaf with these values: the host name alone if `by_host` is set, otherwise one value per level. HR_NONE:
   not found. */
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
static inline void hr__tas_add_pods(const struct hr__tas_snapshot *snapshot, int64_t *amounts, const int64_t *pod,
                                    int64_t count) {
  for (uint32_t r = 0; r < snapshot->n_resources; r++) amounts[r] += pod[r] * count;
  amounts[snapshot->pods] += count;
}

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

/* The reason for which a node cannot run a pod. */
enum hr__tas_exclusion { HR__TAS_ELIGIBLE, HR__TAS_TAINT, HR__TAS_SELECTOR, HR__TAS_AFFINITY };

struct hr__tas_request {
  const int64_t *pod; /* [resource] request of one pod; the resource that counts pods is not included */
  int64_t count;
  uint32_t required, preferred; /* level; HR_NONE: not set */
  bool unconstrained, implied;  /* implied: no topology is requested, but the queue places all pods by topology */
  struct hr__tas_slice slices[HR__TAS_MAX_SLICES]; /* outermost first */
  uint32_t n_slices;
  uint32_t group;          /* two pod sets with the same number are a leader and its workers; HR_NONE: none */
  const uint8_t *excluded; /* [leaf] enum hr__tas_exclusion; NULL: all nodes are eligible */
  const int64_t *affinity; /* [leaf] sum of the weights of preferences that match; NULL: no preferences */
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
  HR__TAS_STALE,             /* a remaining leaf of the placement was removed from the topology */
  HR__TAS_NO_REPLACEMENT     /* no pods were lost, so none are replaced */
};

/* How many leaves were examined, and how many of them cannot run a pod, by reason. */
struct hr__tas_exclusions {
  uint32_t leaves; /* all that were examined */
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

/* The placement of a pod set: search->parts[first] .. search->parts[first + count - 1]. `placed`: the pod set has a
   placement, which may have no pods. */
struct hr__tas_result {
  struct hr__tas_failure failure;
  uint32_t first, count;
  bool placed;
};

/* ---- Search ---- */

struct hr__tas_search; /* defined below */

/* Places the pod sets of a workload, in this order. Nodes have the usage of the snapshot plus `assumed`
   ([leaf][resource]; NULL: none); if `empty`, the usage of the snapshot is ignored. Adds the placed pods to `assumed`.
   After the first failure, the search ends: the results of the remaining pod sets are 0, so they have no failure and
   are not placed. Returns false if memory is exhausted. */
bool hr__tas_place(struct hr__tas_search *search, const struct hr__tas_snapshot *snapshot,
                   const struct hr__tas_request *requests, uint32_t count, bool empty, int64_t *assumed,
                   struct hr__tas_result *results);
/* Replaces the pods of a failed node. `parts` is the placement of the pod set; parts[lost] is on the failed node
   (`lost` HR_NONE: none is). `request->count` is ignored. The result is the whole new placement. Returns false if
   memory is exhausted. */
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
/* Returns whether a level, slices or `unconstrained` is requested, and the topology has all requested levels. */
bool hr__tas_has_levels(const struct hr__tas_request *request, uint32_t n_levels);

/* ---- Flavors as topologies (tas_search.c) ----------------------------------------------------------- */

/* The nodes of a flavor as a topology, and requests in terms of its levels and leaves. */

struct hr__tas_node {
  const char *name;
  struct hr__kueue_labels labels;
  struct hr__kueue_taints taints;
  int64_t *free; /* [resource] allocatable amounts without the use of pods that Kueue does not place */
  bool usable;   /* ready and schedulable */
};

struct hr__tas_nodes {
  struct hr__tas_node *items;
  uint32_t count;
  uint32_t n_resources;
  uint32_t pods; /* the resource that counts pods */
  /* [flavor][node] whether the node belongs to the flavor. If set, nodes have the labels of their flavors in addition
     to their own. NULL: the labels of a flavor select its nodes, and nodes have only their own labels. */
  const bool *const *of_flavor;
  /* by node: the part of the nodes to which it belongs. All pods of a pod set must be on nodes of one part. A
     struct hr__tas_part is something else: a part of a placement. NULL: all nodes are one part */
  const uint32_t *part;
  uint32_t n_parts;
};

struct hr__tas_flavor {
  const char *const *levels; /* label keys */
  uint32_t n_levels;
  struct hr__kueue_tolerations tolerations;
  bool has_other_labels; /* nodes have the labels of the flavor in addition to their own */
  struct hr__tas_tree tree;
  struct hr__tas_snapshot snapshot;
  const struct hr__tas_node **leaf_nodes; /* by leaf, if the tree is by host */
  uint32_t *leaf_part;                    /* by leaf: part of its nodes; NULL: all nodes are one part */
};

/* Builds the topology of the usable nodes of a flavor that have all levels. The levels must outlive the topology.
   `number` is the index of the flavor in `nodes->of_flavor`. Returns false if memory is exhausted. */
bool hr__tas_flavor_build(struct hr__tas_flavor *flavor, struct hr_arena *arena, const struct hr__tas_nodes *nodes,
                          const char *const *levels, uint32_t n_levels, const struct hr__kueue_flavor *from,
                          uint32_t number);
/* Sets the levels, the slices and `unconstrained` of a request. The caller sets `implied`. */
void hr__tas_flavor_request(const struct hr__tas_flavor *flavor, const struct hr__kueue_topology_request *topology,
                            struct hr__tas_request *request);
/* Sets which leaves can run the pods, and the sum of the weights of the preferences that each leaf matches. `excluded`
   and `affinity` have one entry per leaf. If leaves are not hosts, all are eligible and `affinity` is unchanged. */
void hr__tas_flavor_match(const struct hr__tas_flavor *flavor, const struct hr__kueue_selector *selector,
                          uint8_t *excluded, int64_t *affinity);
/* Returns the leaf of entry `domain` of a placement; HR_NONE if not found. */
uint32_t hr__tas_flavor_leaf(const struct hr__tas_flavor *flavor, const struct hr__kueue_placement *placement,
                             uint32_t domain);
/* Converts parts to a placement, in memory of the arena; NULL if memory is exhausted. */
const struct hr__kueue_placement *hr__tas_flavor_placement(const struct hr__tas_flavor *flavor, struct hr_arena *arena,
                                                           const struct hr__tas_part *parts, uint32_t count);

/* ---- All flavors of a world ---- */

struct hr__tas_world; /* see tas_world.c */

/* Creates the topologies of a world and sets `world->topology`. `levels` and `n_levels` are by flavor; no levels: the
   flavor has no topology. `nodes` and the levels must outlive the world. Returns NULL if memory is exhausted. */
struct hr__tas_world *hr__tas_world_create(struct hr_arena *arena, struct hr__kueue_world *world,
                                           const struct hr__tas_nodes *nodes, const char *const *const *levels,
                                           const uint32_t *n_levels);
/* Frees the working memory. Returns false if memory was exhausted in some call; its results are then not valid. NULL is
   accepted. */
bool hr__tas_world_finish(struct hr__tas_world *self);

/* For worlds that change, such as that of a run: */

/* Makes room for the workloads of the world after their number has increased. No preemption may be under trial. Returns
   false if memory is exhausted. */
bool hr__tas_world_grow(struct hr__tas_world *self, struct hr_arena *arena, const struct hr__kueue_world *world);
/* Frees the placements that were found so far. */
void hr__tas_world_forget(struct hr__tas_world *self);
/* Adds `amounts` ([resource]), multiplied by `sign`, to the free amounts of a node. */
void hr__tas_world_add(struct hr__tas_world *self, uint32_t node, const int64_t *amounts, int64_t sign);
/* Whether memory was exhausted in some call. */
bool hr__tas_world_failed(const struct hr__tas_world *self);
/* The topology of a flavor; NULL: it has none. */
const struct hr__tas_flavor *hr__tas_world_flavor(const struct hr__tas_world *self, uint32_t flavor);
/* Returns the reason for which the last search found no placement. */
struct hr__tas_failure hr__tas_world_failure(const struct hr__tas_world *self);

/* The gates of topology-aware scheduling among all gates. */
static inline struct hr__tas_gates hr__tas_gates_of(hr__kueue_gates gates) {
  return (struct hr__tas_gates){.profile_mixed = hr__kueue_gate_is_on(gates, HR__KUEUE_BIT_TOPOLOGY_PROFILE_MIXED),
                                .balanced = hr__kueue_gate_is_on(gates, HR__KUEUE_BIT_TOPOLOGY_BALANCED),
                                .affinity_preferred = hr__kueue_gate_is_on(gates, HR__KUEUE_BIT_TOPOLOGY_NODE_AFFINITY),
                                .elastic = hr__kueue_gate_is_on(gates, HR__KUEUE_BIT_TOPOLOGY_SLICES)};
}

/* Returns the resource that counts pods, and sets `*n_resources` to the number of resources including it. If no quota
   names this resource, it follows the others. */
static inline uint32_t hr__tas_pods_resource(const struct hr__kueue_world *world, uint32_t *n_resources) {
  bool is_named = world->pods != HR_NONE;
  *n_resources = world->n_resources + !is_named;
  return is_named ? world->pods : world->n_resources;
}

/* ---- The state of a search ----------------------------------------------------------------------------- */

/* The state of a search for topology domains, shared by tas_select.c and tas_search.c. A search first counts the pods
   that fit into each domain and selects domains at the requested level (tas_select.c), and then distributes the pods
   downwards (tas_search.c). During the distribution, the counts of the selected domains are the numbers of pods that
   they get. */

/* The counts of a domain: pods that fit, and later pods that are placed. */
struct hr__tas_state {
  int64_t pods, slices;
  int64_t pods_with_leader, slices_with_leader; /* that fit beside a leader, if the domain can have one */
  int64_t leaders;
  int64_t affinity; /* sum over the nodes of the domain */
};

/* The slices or pods of a domain; `with_leader`: those that fit beside a leader. */
static inline int64_t hr__tas_units(const struct hr__tas_state *state, bool slices, bool with_leader) {
  if (slices) return with_leader ? state->slices_with_leader : state->slices;
  return with_leader ? state->pods_with_leader : state->pods;
}

/* The request of a search for one pod set, or for a leader and its workers. */
struct hr__tas_goal {
  int64_t count;      /* pods */
  int64_t slice_size; /* of the outermost slices; 1 without slices */
  int64_t leaders;    /* 0 or 1 */
  uint32_t level;     /* requested level */
  uint32_t slice_level;
  int64_t inner[HR__TAS_MAX_LEVELS]; /* sizes of inner slices by level; 0: none */
  bool required, unconstrained;
  bool layered; /* has inner slices */
};

/* A set of domains that balanced placement considers. */
struct hr__tas_selection {
  int64_t leaders, pods; /* still to be placed */
  uint32_t domain;       /* the last domain of the set */
  uint32_t before;       /* the set without `domain`, as an index; HR_NONE: this set is empty */
};

struct hr__tas_list {
  uint32_t *items;
  uint32_t count, capacity;
};

struct hr__tas_search {
  struct hr__tas_gates gates;
  /* The current call: */
  const struct hr__tas_snapshot *snapshot;
  const struct hr__tas_tree *tree;
  struct hr__tas_goal goal;
  struct hr__tas_exclusions exclusions;
  struct hr__tas_state *state; /* by domain */
  /* Results: */
  struct hr__tas_part *parts;
  uint32_t n_parts, parts_capacity;
  /* Working memory: */
  struct hr__tas_state *saved, *best; /* by domain, for balanced placement */
  uint32_t state_capacity;
  uint32_t saved_capacity, best_capacity;
  struct hr__tas_list fit, next, sorted, spare; /* of domains */
  double *entropy;
  uint32_t entropy_capacity;
  int64_t *room; /* by resource */
  uint32_t room_capacity;
  struct hr__tas_selection *selections;
  uint32_t n_selections, selections_capacity;
  struct hr__tas_list *by_size; /* by number of domains: selections, sorted by (leaders, pods) */
  uint32_t by_size_capacity;
  bool no_memory;
};

/* A search with all members 0 except the gates is ready for use. */
void hr__tas_search_finish(struct hr__tas_search *search);

/* Empties a list and makes room for `capacity` items. On exhausted memory sets `no_memory` and returns false. */
bool hr__tas_list_clear(struct hr__tas_search *search, struct hr__tas_list *list, uint32_t capacity);

/* ---- Counting (tas_select.c) ---- */

/* The requirements of the pods of a search on a leaf. */
struct hr__tas_demand {
  const int64_t *pod, *leader; /* [resource]; leader NULL: none */
  const int64_t *assumed;      /* NULL: none */
  const uint8_t *excluded;     /* NULL: none */
  const int64_t *affinity;     /* NULL: none */
  uint32_t within;             /* domain of a replacement; HR_NONE: any */
  bool empty;                  /* ignore the usage of placed pods */
};

/* Counts what fits into each domain for the goal of the search. */
void hr__tas_fill_counts(struct hr__tas_search *search, const struct hr__tas_demand *demand);

/* ---- Orders (tas_select.c) ---- */

/* Whether the least free domains are used first. `unconstrained`: the request has no constraint. */
static inline bool hr__tas_least_free(const struct hr__tas_search *search, bool unconstrained) {
  return unconstrained && search->gates.profile_mixed;
}
/* Sorts domains by their slices: the fewest first if hr__tas_least_free, otherwise the most first. Domains with equally
   many slices are sorted by pods, the fewest first, and then by number. With the gate affinity_preferred, domains with
   the highest affinity precede all others. `with_leader`: the counts beside a leader are compared, and domains that can
   have a leader precede all others. */
void hr__tas_sort(const struct hr__tas_search *search, uint32_t *domains, uint32_t count, bool unconstrained,
                  bool with_leader);
/* Sorts domains by leaders, slices beside a leader, and entropy of the counts of their children, largest first. */
void hr__tas_sort_by_entropy(struct hr__tas_search *search, uint32_t *domains, uint32_t count);
/* Returns the position of the domain with the smallest count of slices (or pods) that is at least `needed`; 0 if not
   found. With leaders, only domains that can have them are considered, and their counts beside a leader. If preferences
   for nodes are on, only the domains at the beginning of the list that have the affinity of the first domain are
   considered. */
uint32_t hr__tas_best_fit(const struct hr__tas_search *search, const uint32_t *domains, uint32_t count, int64_t needed,
                          int64_t leaders, bool slices);
/* Moves a domain to the front of the list: the first domain that can have the leader such that `pods` pods still fit
   into all domains of the list together. Does nothing without leaders. `slices`: capacity is counted in slices,
   otherwise in pods. */
void hr__tas_leader_first(const struct hr__tas_search *search, uint32_t *domains, uint32_t count, int64_t pods,
                          int64_t leaders, int64_t slice_size, bool slices);

/* ---- Selection ---- */

/* Selects domains at the requested level or above it into `fit`, and sets *level to their level. The kind of the result
   is HR__TAS_FITS, or the reason of a failure. */
struct hr__tas_failure hr__tas_select_level(struct hr__tas_search *search, uint32_t *level);
/* Selects domains by balanced placement into `fit`. Returns false if that is not possible; the counts are then as
   before. */
bool hr__tas_select_balanced(struct hr__tas_search *search, uint32_t *level);

/* The steps of balanced placement. hr__tas_select_optimal and hr__tas_distribute return false if no solution exists or
   if memory is exhausted (`no_memory`). */

/* Returns the balance threshold: the number of slices that each used domain gets at least; 0 if balanced placement is
   not possible. It is the maximum over all parents, see tas_select.c. Selects the domains of the best parent into
   `fit`, with their counts after pruning. */
int64_t hr__tas_balance_threshold(struct hr__tas_search *search);
/* Replaces the list by a set of its domains that can have the slices and leaders. The set has as few domains as a
   greedy selection needs; of these sets, it is one in which the fewest pods more than needed fit. `by_entropy`: domains
   are considered in the order of hr__tas_sort_by_entropy, otherwise by number. */
bool hr__tas_select_optimal(struct hr__tas_search *search, struct hr__tas_list *domains, int64_t slices,
                            int64_t leaders, int64_t slice_size, bool by_entropy);
/* Distributes slices over an optimal set of the domains so that each gets at least `threshold`. */
bool hr__tas_distribute(struct hr__tas_search *search, struct hr__tas_list *domains, int64_t slices, int64_t leaders,
                        int64_t slice_size, int64_t threshold);

#endif
