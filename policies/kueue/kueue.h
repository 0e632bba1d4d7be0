/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_KUEUE_H
#define HR_POLICIES_KUEUE_KUEUE_H

/*
 * The objects of Kueue as its scheduler sees them: resources, flavors, the tree of quotas, workloads with their pod
 * sets, and the result of an assignment. All objects are rows of arrays and refer to each other by index; HR_NONE means
 * none.
 *
 * Layout: Names of resources and flavors are sorted, so that the order of indices is the order of names. A pair is one
 * flavor and one resource; its index is flavor * n_resources + resource. Nodes of the tree of quotas are the
 * ClusterQueues (0 .. n_queues - 1) followed by the cohorts. Amounts are in Kueue's units: cpu in thousandths, other
 * resources in their base unit. HR__KUEUE_UNLIMITED is the largest amount; sums that exceed it stay at it.
 *
 * Ownership: Whoever fills the world owns the memory. The functions of the core change only the usage of the tree, the
 * lists of admitted workloads, and the results that the caller passes.
 *
 * Source: kubernetes-sigs/kueue, apis/kueue/v1beta2 and pkg/cache/scheduler.
 */

#include "headroom/base.h"
#include "policies/kueue/gates.h"

#define HR__KUEUE_UNLIMITED INT64_MAX
#define HR__KUEUE_NO_TIME INT64_MIN /* a time that is not set; earlier than all others */

/* ---- Amounts ---- */

struct hr__kueue_amount {
  uint32_t resource;
  int64_t amount;
};

/* Amounts of some resources in ascending order of resources. A resource with the amount 0 differs from one that is
   missing. */
struct hr__kueue_amounts {
  const struct hr__kueue_amount *items;
  uint32_t count;
};

/* An amount of a resource of a flavor. */
struct hr__kueue_usage {
  uint32_t pair;
  int64_t amount;
};

/* ---- Labels of nodes, and what pods ask of them ---- */

struct hr__kueue_label {
  const char *key, *value;
};

struct hr__kueue_labels {
  const struct hr__kueue_label *items;
  uint32_t count;
};

enum hr__kueue_effect {
  HR__KUEUE_ANY_EFFECT,
  HR__KUEUE_NO_SCHEDULE,
  HR__KUEUE_PREFER_NO_SCHEDULE,
  HR__KUEUE_NO_EXECUTE
};

struct hr__kueue_taint {
  const char *key, *value;
  enum hr__kueue_effect effect;
};

struct hr__kueue_taints {
  const struct hr__kueue_taint *items;
  uint32_t count;
};

struct hr__kueue_toleration {
  const char *key, *value; /* an empty key with `exists` tolerates all keys */
  bool exists;             /* the value does not matter */
  enum hr__kueue_effect effect;
};

struct hr__kueue_tolerations {
  const struct hr__kueue_toleration *items;
  uint32_t count;
};

enum hr__kueue_operator {
  HR__KUEUE_IN,
  HR__KUEUE_NOT_IN,
  HR__KUEUE_EXISTS,
  HR__KUEUE_DOES_NOT_EXIST,
  HR__KUEUE_GREATER,
  HR__KUEUE_LESS
};

struct hr__kueue_expression {
  const char *key;
  enum hr__kueue_operator operation;
  const char *const *values;
  uint32_t n_values;
};

/* A term matches if all its expressions match. `weight` is used in preferences only. */
struct hr__kueue_term {
  const struct hr__kueue_expression *expressions;
  uint32_t n_expressions;
  int32_t weight;
};

/* What pods ask of nodes. `required` matches if one of its terms matches, or if there is none. */
struct hr__kueue_selector {
  struct hr__kueue_labels labels;
  struct hr__kueue_tolerations tolerations;
  const struct hr__kueue_term *required, *preferred;
  uint32_t n_required, n_preferred;
};

/* ---- Topology ---- */

enum hr__kueue_topology_mode {
  HR__KUEUE_NO_TOPOLOGY,
  HR__KUEUE_REQUIRED,
  HR__KUEUE_PREFERRED,
  HR__KUEUE_UNCONSTRAINED,
  HR__KUEUE_SLICES_ONLY /* asks for slices, but not for a level of the whole pod set */
};

struct hr__kueue_slice {
  const char *level;
  int64_t size;
};

struct hr__kueue_topology_request {
  enum hr__kueue_topology_mode mode;
  const char *level;                    /* label key; NULL unless required or preferred */
  const struct hr__kueue_slice *slices; /* outermost first */
  uint32_t n_slices;
};

struct hr__kueue_domain {
  const char *const *values; /* one per level of the assignment */
  int64_t count;             /* pods */
};

struct hr__kueue_placement {
  const char *const *levels;
  uint32_t n_levels, n_domains;
  const struct hr__kueue_domain *domains;
};

/* ---- Flavors and quotas ---- */

struct hr__kueue_flavor {
  const char *name;
  bool exists; /* false: a ClusterQueue names it, but no ResourceFlavor has this name */
  struct hr__kueue_labels labels;
  struct hr__kueue_taints taints;
  struct hr__kueue_tolerations tolerations;
  const char *topology; /* name; NULL: none */
};

/* The flavors that are tried, in this order, for all resources of the group. */
struct hr__kueue_group {
  const uint32_t *flavors, *resources;
  uint32_t n_flavors, n_resources;
};

enum hr__kueue_policy {
  HR__KUEUE_POLICY_NEVER,
  HR__KUEUE_POLICY_UNSET, /* no candidates, but not the same as never (RULES 1.6) */
  HR__KUEUE_POLICY_LOWER,
  HR__KUEUE_POLICY_LOWER_OR_NEWER,
  HR__KUEUE_POLICY_ANY
};

struct hr__kueue_preemption {
  enum hr__kueue_policy within_queue, reclaim;
  bool borrow;        /* borrowWithinCohort has a policy other than Never */
  bool has_threshold; /* maxPriorityThreshold is set */
  int64_t threshold;
};

struct hr__kueue_fungibility {
  bool borrow_next;      /* whenCanBorrow is TryNextFlavor */
  bool preempt_next;     /* whenCanPreempt is TryNextFlavor */
  bool preemption_first; /* preference is PreemptionOverBorrowing */
};

struct hr__kueue_queue {
  const char *name;
  const struct hr__kueue_group *groups;
  uint32_t n_groups;
  struct hr__kueue_preemption preemption;
  struct hr__kueue_fungibility fungibility;
  bool strict;             /* StrictFIFO */
  bool inactive;           /* a flavor or an admission check is missing, or it is stopped */
  bool usage_based;        /* admission fair sharing orders the workloads */
  uint32_t first_admitted; /* list of workloads that use quota, linked by next_admitted */
  const bool *delays;      /* by flavor: nodes are provisioned after the quota is reserved, so that pods are placed in a
                              second pass; NULL: no flavor */
  int64_t generation;      /* counts how often its allocatable quota rose */
};

/* The tree of quotas. Columns by node and pair are indexed node * n_pairs + pair. */
struct hr__kueue_tree {
  uint32_t n_queues, n_nodes, n_pairs;
  uint32_t *parent;
  uint32_t *child_start; /* n_nodes + 1 entries; the children of a node are children[child_start[node] ..] */
  uint32_t *children;
  uint32_t *height;   /* of cohorts */
  double *weight;     /* fair weight */
  bool *has_quota;    /* by node and pair: the node or a node below it names the pair */
  int64_t *nominal;   /* 0 where the node names no quota */
  int64_t *borrowing; /* borrowing limit; HR__KUEUE_UNLIMITED: none */
  int64_t *lending;   /* lending limit; HR__KUEUE_UNLIMITED: none */
  int64_t *subtree;   /* quota of the node and what its children lend */
  int64_t *usage;
};

/* ---- Workloads ---- */

/* Why a workload cannot be considered for admission at all. */
enum hr__kueue_obstacle {
  HR__KUEUE_NO_OBSTACLE,
  HR__KUEUE_FAILED_CHECKS,      /* an admission check asked for a retry or rejected it */
  HR__KUEUE_NAMESPACE_MISMATCH, /* the queue does not select its namespace */
  HR__KUEUE_INVALID             /* for example, a container requests more than its limit */
};

struct hr__kueue_assigned {
  uint32_t resource, flavor;
  int64_t amount; /* of the whole pod set */
};

struct hr__kueue_pod_set {
  const char *name;
  int64_t count;                     /* pods that the pod set asks for */
  int64_t min_count;                 /* fewest pods of a partial admission; -1: all are needed */
  int64_t reclaimable;               /* pods that have finished and need no quota */
  struct hr__kueue_amounts requests; /* per pod */
  struct hr__kueue_selector selector;
  struct hr__kueue_topology_request topology;
  uint32_t group; /* pod sets of one workload with the same number get the same flavors; HR_NONE: none */
  /* The admission, if quota is reserved: */
  int64_t admitted_count;
  const struct hr__kueue_assigned *assigned; /* in ascending order of resources */
  uint32_t n_assigned;
  const struct hr__kueue_placement *placement; /* NULL: none */
  bool placement_pending;                      /* the placement is chosen in a second pass */
};

struct hr__kueue_workload {
  const char *name;     /* with its namespace, "namespace/name" */
  uint32_t queue;       /* ClusterQueue; HR_NONE: none */
  uint32_t local_queue; /* HR_NONE: none */
  int64_t priority;     /* effective priority */
  int64_t created_us;
  int64_t queue_us;    /* time by which the queue is ordered (RULES 1.9) */
  int64_t reserved_us; /* time of the quota reservation; HR__KUEUE_NO_TIME: none */
  uint32_t uid_rank;   /* rank of the UID among all workloads; equal UIDs have equal ranks */
  bool reserved;       /* has quota */
  bool admitted;
  bool evicted;    /* is being evicted */
  bool preemptor;  /* waits for preempted workloads (gate PrioritizePreemptorWorkloads) */
  bool gated;      /* has a closed preemption gate */
  bool is_one_pod; /* is a single Pod, which cannot move to another node */
  enum hr__kueue_obstacle obstacle;
  uint32_t
      variant_of; /* workloads with the same number are variants of one (gate ConcurrentAdmission); HR_NONE: none */
  bool listed;    /* is in the list of its queue and counts in the tree */
  struct hr__kueue_pod_set *pod_sets;
  uint32_t n_pod_sets;
  const char *const *unhealthy_nodes;
  uint32_t n_unhealthy_nodes;
  struct hr__kueue_usage *usage; /* of the admission, summed over pod sets */
  uint32_t n_usage;
  uint32_t previous_admitted, next_admitted;
  const uint32_t *allowed; /* flavors that a variant of the workload may use; NULL: all */
  uint32_t n_allowed;
  const struct hr__kueue_workload *replaced; /* slice of the same job with quota that this one replaces; NULL: none */
  const int32_t *tried; /* bookmarks of the last attempt by pod set and resource (n_resources per pod set); -1: start
                           with the first flavor. NULL: no last attempt */
};

/* ---- Assignment ---- */

enum hr__kueue_mode { HR__KUEUE_NO_FIT, HR__KUEUE_PREEMPT, HR__KUEUE_DEFERRED_FIT, HR__KUEUE_FIT };

/* Why a workload does not get quota, from the mildest to the most severe. */
enum hr__kueue_reason {
  HR__KUEUE_NO_REASON,
  HR__KUEUE_TOPOLOGY_FAILED,
  HR__KUEUE_WAITING_FOR_QUOTA,
  HR__KUEUE_EXCEEDS_MAX_QUOTA,
  HR__KUEUE_NO_MATCHING_FLAVOR,
  HR__KUEUE_WAITING_FOR_PREEMPTED,
  HR__KUEUE_PENDING_EVALUATION,
  HR__KUEUE_MISCONFIGURED,
  HR__KUEUE_SUSPENDED,
  HR__KUEUE_GATED,
  HR__KUEUE_WAITING_FOR_PODS_READY
};

struct hr__kueue_choice {
  uint32_t resource, flavor;
  enum hr__kueue_mode mode;
  int32_t tried; /* bookmark (RULES 1.4) */
  int32_t borrow;
};

struct hr__kueue_attempt {
  uint32_t flavor;
  enum hr__kueue_mode mode;
  int32_t borrow;
  enum hr__kueue_reason reason;
};

struct hr__kueue_pod_set_assignment {
  uint32_t pod_set; /* of the workload */
  int64_t count;
  struct hr__kueue_amount *requests; /* of the whole pod set, with `pods` if the queue counts them */
  struct hr__kueue_choice *choices;  /* in ascending order of resources */
  struct hr__kueue_attempt *attempts;
  uint32_t n_requests, n_choices, n_attempts;
  bool imperfect;               /* some flavor does not simply fit */
  bool failed;                  /* no flavor was found for some resource, or the flavors contradict each other */
  enum hr__kueue_reason reason; /* of a failure without attempts */
  const struct hr__kueue_placement *placement;
  bool placement_pending, placement_ready; /* delayed topology request */
};

struct hr__kueue_assignment {
  struct hr__kueue_pod_set_assignment *pod_sets; /* in the order of processing, up to the first that failed */
  uint32_t n_pod_sets;
  enum hr__kueue_mode mode;
  int32_t borrowing; /* borrow level (RULES 1.2) */
  struct hr__kueue_usage *usage;
  uint32_t n_usage;
  enum hr__kueue_reason reason; /* if the mode is HR__KUEUE_NO_FIT */
};

/* ---- World ---- */

struct hr__kueue_world;

/* The placements that were found for the pod sets of an assignment. */
struct hr__kueue_placements {
  const struct hr__kueue_placement **found; /* by pod set; NULL: none */
  bool *tried;                              /* by pod set; false: it asks for no topology */
  uint32_t failed;                          /* first pod set without placement; HR_NONE: all fit */
  uint32_t failed_flavor;
};

/* Topology-aware scheduling, which the core calls. `self` is passed to each function. All members are NULL if no flavor
   has a topology. The implementation keeps the usage of nodes itself. */
struct hr__kueue_topology_calls {
  void *self;
  /* Returns whether a pod set of a workload in a queue may use a flavor, as far as topology is concerned. */
  bool (*matches)(void *self, const struct hr__kueue_world *world, uint32_t queue,
                  const struct hr__kueue_pod_set *pod_set, uint32_t flavor);
  /* Looks for placements with the flavors of `assignment`; if `empty`, as if no workload used a node. Does not change
     the usage of nodes. Pod sets of a workload without quota whose placement is pending are left out. `workload` need
     not have quota; if it has, its own usage does not count against it, and pod
     sets with a placement on failed nodes keep the rest of it. */
  void (*find)(void *self, const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
               const struct hr__kueue_assignment *assignment, bool empty, struct hr__kueue_placements *result);
  /* Returns whether the placements of an assignment fit beside the usage of nodes. Pods that the current admission of
     the workload has in the same domain count once. */
  bool (*fits)(void *self, const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
               const struct hr__kueue_assignment *assignment);
  /* Adds the placements of an assignment to the usage of nodes, counted as above (sign 1), or removes them (-1). */
  void (*reserve)(void *self, const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
                  const struct hr__kueue_assignment *assignment, int sign);
  /* Adds the placements of a workload with quota to the usage of nodes (sign 1), or removes them (-1). */
  void (*change)(void *self, const struct hr__kueue_world *world, const struct hr__kueue_workload *workload, int sign);
  /* Returns whether the workload has a placement on a failed node. */
  bool (*has_failed_node)(void *self, const struct hr__kueue_workload *workload);
  /* Returns whether all flavors of the queue have a topology. */
  bool (*only)(void *self, const struct hr__kueue_world *world, uint32_t queue);
};

struct hr__kueue_local_queue {
  const char *name; /* "namespace/name" */
  uint32_t queue;
  double weight;
  double usage; /* of admission fair sharing (RULES 1.10) */
};

enum hr__kueue_fair_strategy { HR__KUEUE_FINAL_SHARE, HR__KUEUE_INITIAL_SHARE };

struct hr__kueue_world {
  hr__kueue_gates gates;
  bool fair_sharing;
  enum hr__kueue_fair_strategy strategies[2];
  uint32_t n_strategies;
  bool admission_fair_sharing;
  bool ignore_undeclared; /* resources that no group covers need no quota (gate QuotaCheckStrategy) */
  uint32_t n_resources, n_flavors, n_pairs;
  const char *const *resources; /* names */
  uint32_t pods;                /* the resource `pods`; HR_NONE: no quota names it */
  struct hr__kueue_flavor *flavors;
  struct hr__kueue_queue *queues;
  const char *const *cohorts; /* names of nodes from n_queues */
  struct hr__kueue_tree tree;
  struct hr__kueue_local_queue *local_queues;
  uint32_t n_local_queues;
  struct hr__kueue_workload *workloads;
  uint32_t n_workloads;
  uint32_t max_pod_sets; /* of one workload */
  int64_t now_us;
  struct hr__kueue_topology_calls topology;
};

static inline uint32_t hr__kueue_pair(const struct hr__kueue_world *world, uint32_t flavor, uint32_t resource) {
  return flavor * world->n_resources + resource;
}

static inline bool hr__kueue_has_gate(const struct hr__kueue_world *world, enum hr__kueue_gate_bit gate) {
  return hr__kueue_gate_is_on(world->gates, gate);
}

#endif
