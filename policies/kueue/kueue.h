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
 * resources in their base unit. (The policy also counts GPUs in thousandths, see engine_world.c.) HR__KUEUE_UNLIMITED
 * is the largest amount; finite sums stay below it.
 *
 * Ownership: The caller that fills the world owns its memory. The functions of the core change only the usage of the
 * tree, the lists of admitted workloads, and the results that the caller passes.
 *
 * Source: kubernetes-sigs/kueue, apis/kueue/v1beta2 and pkg/cache/scheduler.
 */

#include "headroom/base.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- Feature gates (kueue.c) --------------------------------------------------------------------------- */

/* The feature gates of Kueue that change decisions, as bits of one number. A version of Kueue is written as its
   minor number: 16 is version 0.16. Source: pkg/features/kube_features.go of kubernetes-sigs/kueue. */

/* The columns: name in code, name in Kueue's configuration, first minor version in which the gate is on by default
   (HR__KUEUE_NEVER_ON: none). */
#define HR__KUEUE_NEVER_ON 99
#define HR__KUEUE_GATES(X)                                                                                             \
  X(PARTIAL_ADMISSION, "PartialAdmission", 5)                                                                          \
  X(FLAVOR_FUNGIBILITY, "FlavorFungibility", 5)                                                                        \
  X(PRESERVE_SCAN_PROGRESS, "FlavorFungibilityPreserveScanProgress", 19)                                               \
  X(PRIORITY_SORTING, "PrioritySortingWithinCohort", 6)                                                                \
  X(FAIR_WITHIN_NOMINAL, "FairSharingPreemptWithinNominal", 18)                                                        \
  X(FAIR_NON_BORROWING_FIRST, "FairSharingPrioritizeNonBorrowing", 18)                                                 \
  X(RECOMPUTE_ON_OVERLAP, "RecomputeAssignmentUponPreemptionTargetsOverlap", 19)                                       \
  X(EQUIVALENCE_HASHING, "SchedulingEquivalenceHashing", 18)                                                           \
  X(RECLAIMABLE_PODS, "ReclaimablePods", 15)                                                                           \
  X(TOPOLOGY, "TopologyAwareScheduling", 14)                                                                           \
  X(TOPOLOGY_PROFILE_MIXED, "TASProfileMixed", 15)                                                                     \
  X(TOPOLOGY_NODE_REPLACEMENT, "TASFailedNodeReplacement", 14)                                                         \
  X(TOPOLOGY_REPLACEMENT_FAIL_FAST, "TASFailedNodeReplacementFailFast", 14)                                            \
  X(TOPOLOGY_MULTI_LAYER, "TASMultiLayerTopology", 18)                                                                 \
  X(TOPOLOGY_OVERLAPPING_FLAVORS, "TASHandleOverlappingFlavors", 18)                                                   \
  X(TOPOLOGY_RECOMPUTE, "TASRecomputeAssignmentWithinSchedulingCycle", 18)                                             \
  X(TOPOLOGY_BALANCED, "TASBalancedPlacement", HR__KUEUE_NEVER_ON)                                                     \
  X(TOPOLOGY_NODE_AFFINITY, "TASRespectNodeAffinityPreferred", HR__KUEUE_NEVER_ON)                                     \
  X(ADMISSION_FAIR_SHARING, "AdmissionFairSharing", 15)                                                                \
  X(CONCURRENT_ADMISSION, "ConcurrentAdmission", HR__KUEUE_NEVER_ON)                                                   \
  X(ORCHESTRATED_PREEMPTION, "MultiKueueOrchestratedPreemption", HR__KUEUE_NEVER_ON)                                   \
  X(PRIORITIZE_PREEMPTORS, "PrioritizePreemptorWorkloads", HR__KUEUE_NEVER_ON)                                         \
  X(PRIORITY_BOOST, "PriorityBoost", HR__KUEUE_NEVER_ON)                                                               \
  X(SCHEDULER_LIBRARY, "SchedulerLibraryIntegration", HR__KUEUE_NEVER_ON)                                              \
  X(QUOTA_CHECK_STRATEGY, "QuotaCheckStrategy", HR__KUEUE_NEVER_ON)                                                    \
  X(WORKLOAD_SLICES, "ElasticJobsViaWorkloadSlices", HR__KUEUE_NEVER_ON)                                               \
  X(TOPOLOGY_SLICES, "ElasticJobsViaWorkloadSlicesWithTAS", HR__KUEUE_NEVER_ON)                                        \
  X(TOPOLOGY_KEEP_POD_OWNED, "SkipReassignmentForPodOwnedWorkloads", 19)

enum hr__kueue_gate_bit {
#define HR__KUEUE_GATE_BIT(code, name, since) HR__KUEUE_BIT_##code,
  HR__KUEUE_GATES(HR__KUEUE_GATE_BIT)
#undef HR__KUEUE_GATE_BIT
      HR__KUEUE_GATE_COUNT
};

typedef uint64_t hr__kueue_gates;

/* The oldest version of the model, and the newest, which is the default. */
#define HR__KUEUE_OLDEST_VERSION 8
#define HR__KUEUE_NEWEST_VERSION 20

/* Returns the gates that are on by default in a version. */
hr__kueue_gates hr__kueue_gates_of_version(int minor);
/* Switches a gate on or off. `name`: its name in Kueue's configuration. Returns false if the model does not know the
   gate. */
bool hr__kueue_gates_set(hr__kueue_gates *gates, const char *name, bool on);

static inline bool hr__kueue_gate_is_on(hr__kueue_gates gates, enum hr__kueue_gate_bit gate) {
  return (gates >> gate & 1) != 0;
}

/* ---- Objects ------------------------------------------------------------------------------------------- */

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

/* ---- Labels of nodes, and what pods require of them ---- */

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

/* The requirements of pods on nodes. `required` matches if one of its terms matches, or if it has no terms. */
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
  HR__KUEUE_SLICES_ONLY /* requests slices, but no level for the whole pod set */
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
  HR__KUEUE_POLICY_UNSET, /* has no candidates, like Never; `reclaim` differs, see may_preempt_while_borrowing in
                             flavor.c */
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
  bool strict;             /* queueing strategy StrictFIFO */
  bool inactive;           /* a flavor or an admission check is missing, or the queue is stopped */
  bool usage_based;        /* admission fair sharing orders the workloads */
  uint32_t first_admitted; /* list of workloads that use quota, linked by next_admitted */
  const bool *delays; /* by flavor: its nodes are provisioned after the quota is reserved, so that pods are placed in a
                         second pass; NULL: this is the case for no flavor */
  uint32_t least_preferred; /* variants of a workload migrate to this flavor or to earlier ones; HR_NONE: to any
                               flavor */
  int64_t generation;       /* counts how often its allocatable quota rose */
};

/* The tree of quotas. Columns by node and pair are indexed node * n_pairs + pair. */
struct hr__kueue_tree {
  uint32_t n_queues, n_nodes, n_pairs;
  uint32_t *parent;
  uint32_t *child_start; /* n_nodes + 1 entries; the children of a node are children[child_start[node] ..] */
  uint32_t *children;
  uint32_t *height;   /* of cohorts */
  double *weight;     /* fair weight */
  bool *has_quota;    /* by node and pair: the node or a node below it has a quota for the pair */
  int64_t *nominal;   /* 0 if the node names no quota */
  int64_t *borrowing; /* borrowing limit; HR__KUEUE_UNLIMITED: none */
  int64_t *lending;   /* lending limit; HR__KUEUE_UNLIMITED: none */
  int64_t *subtree;   /* quota of the node plus the quota that its children lend */
  int64_t *usage;
  uint64_t *version; /* by node: set to a new number when its usage changes; entry n_nodes: the last number used. NULL:
                        no versions */
};

/* ---- Workloads ---- */

/* The reason for which a workload cannot be considered for admission at all. */
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
  int64_t queue_us;    /* time by which the queue is ordered */
  int64_t reserved_us; /* time of the quota reservation; HR__KUEUE_NO_TIME: none */
  uint32_t uid_rank;   /* rank of the UID among all workloads; equal UIDs have equal ranks */
  bool reserved;       /* has quota */
  bool admitted;
  bool evicted;     /* is being evicted */
  bool preemptor;   /* waits for preempted workloads (gate PrioritizePreemptorWorkloads) */
  bool gated;       /* has a closed preemption gate */
  bool is_one_pod;  /* is a single Pod, which cannot move to another node */
  bool keeps_quota; /* must not be preempted */
  enum hr__kueue_obstacle obstacle;
  uint32_t variant_of; /* variants of one workload have equal numbers (gate ConcurrentAdmission); HR_NONE: none */
  bool listed;         /* is in the list of its queue and counts in the tree */
  struct hr__kueue_pod_set *pod_sets;
  uint32_t n_pod_sets;
  const char *const *unhealthy_nodes;
  uint32_t n_unhealthy_nodes;
  struct hr__kueue_usage *usage; /* of the admission, summed over pod sets */
  uint32_t n_usage;
  uint32_t previous_admitted, next_admitted;
  const uint32_t *allowed; /* flavors that a variant of the workload may use; NULL: all */
  uint32_t n_allowed;
  const bool *suits;      /* by flavor: its nodes can run the pods; NULL: all */
  const bool *suits_part; /* by part of the nodes (hr__tas_nodes): they can run the pods; NULL: all */
  const struct hr__kueue_workload *replaced; /* slice of the same job with quota that it replaces; NULL: none */
  /* bookmarks of the last attempt, [pod set][resource]: index, in the resource group, of the last flavor that was
     tried; the next attempt starts with the flavor after it; -1: it starts with the first flavor. NULL: no last
     attempt */
  const int32_t *tried;
};

/* ---- Assignment ---- */

/* DEFERRED_FIT: fits after workloads that are already being preempted have left. */
enum hr__kueue_mode { HR__KUEUE_NO_FIT, HR__KUEUE_PREEMPT, HR__KUEUE_DEFERRED_FIT, HR__KUEUE_FIT };

/* The reasons for which a workload does not get quota, from the mildest to the most severe. */
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
  int32_t tried;  /* bookmark, see `tried` of hr__kueue_workload */
  int32_t borrow; /* borrow level (hr__kueue_borrow_level) */
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
  bool imperfect;               /* some flavor fits only with preemption, or not at all */
  bool failed;                  /* no flavor was found for some resource, or the flavors contradict each other */
  enum hr__kueue_reason reason; /* of a failure without attempts */
  const struct hr__kueue_placement *placement;
  bool placement_pending, placement_ready; /* the placement is chosen in a second pass; it was chosen in this pass */
};

struct hr__kueue_assignment {
  struct hr__kueue_pod_set_assignment *pod_sets; /* in the order of processing, up to the first that failed */
  uint32_t n_pod_sets;
  enum hr__kueue_mode mode;
  int32_t borrowing; /* the maximum borrow level of its choices */
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
   has a topology. The implementation stores the usage of nodes. */
struct hr__kueue_topology_calls {
  void *self;
  /* Returns whether a pod set of a workload in a queue may use a flavor, as far as topology is concerned. */
  bool (*matches)(void *self, const struct hr__kueue_world *world, uint32_t queue,
                  const struct hr__kueue_pod_set *pod_set, uint32_t flavor);
  /* Searches for placements for the flavors of `assignment`. If `empty`, the usage of nodes by workloads is ignored.
     Does not change the usage of nodes. If `workload` has no quota, pod sets whose placement is pending are skipped. If
     it has quota, its own usage is ignored, and a pod set with failed nodes keeps the rest of its placement. */
  void (*find)(void *self, const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
               const struct hr__kueue_assignment *assignment, bool empty, struct hr__kueue_placements *result);
  /* Returns whether the placements of an assignment fit in addition to the usage of nodes. If the workload is already
     admitted with pods in the same domain, these pods are not counted twice. */
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
  double usage; /* of admission fair sharing */
};

struct hr__kueue_share {
  double weight;
  double ratio;      /* borrowed part of the lendable amount, in thousandths; of the dominant resource */
  uint32_t resource; /* dominant resource; HR_NONE: none */
  bool borrowing;    /* some usage exceeds the node's quota */
};

/* The share of a node at a version of its usage. */
struct hr__kueue_known_share {
  uint64_t version;
  struct hr__kueue_share share;
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
  /* Values that do not change between calls, to save time; NULL: they are computed each time. */
  const int64_t *lendable; /* by node and resource: hr__kueue_lendable, which depends on quotas only */
  struct hr__kueue_known_share *known_shares; /* by node; needs `tree.version` */
  int64_t now_us;
  struct hr__kueue_topology_calls topology;
};

static inline uint32_t hr__kueue_pair(const struct hr__kueue_world *world, uint32_t flavor, uint32_t resource) {
  return flavor * world->n_resources + resource;
}

static inline bool hr__kueue_has_gate(const struct hr__kueue_world *world, enum hr__kueue_gate_bit gate) {
  return hr__kueue_gate_is_on(world->gates, gate);
}

/* ---- Amounts (flavor.c) -------------------------------------------------------------------------------- */

/* Quantities as Kubernetes writes them, how often a request fits, and the usage of local queues. */

/* Reads a quantity ("500m", "1.5Gi", "1e3") in thousandths (for cpu) or in whole units. Fractions are rounded away from
   0; values out of range become INT64_MAX or INT64_MIN. Returns false if the text is not a quantity. */
bool hr__kueue_quantity(const char *text, bool thousandths, int64_t *value);

/* How often requests fit into a capacity, at most INT32_MAX; 0 if nothing is requested. A resource that the capacity
   does not name has the amount 0. `*limiting` is set to the resource that limits the result (of several, the first in
   order of names); HR_NONE: nothing is requested. `limiting` may be NULL. */
int64_t hr__kueue_count_in(const struct hr__kueue_amounts *requests, const struct hr__kueue_amounts *capacity,
                           uint32_t *limiting);

/* ---- Admission fair sharing ---- */

/* The usage of a local queue: the weighted sum of what it consumed and of its entry penalties, in standard units (cpu
   in cores), divided by its weight. Infinite if the weight is not positive. `weights` are by resource; `cpu` is the
   resource in thousandths (HR_NONE: none). */
double hr__kueue_local_usage(const struct hr__kueue_amounts *consumed, const struct hr__kueue_amounts *penalty,
                             const double *weights, double queue_weight, uint32_t cpu);

/* The weight of a new value in a decayed average, `elapsed_us` after the old value; 0 if the half life is 0. */
static inline double hr__kueue_decay_part(int64_t elapsed_us, int64_t half_life_us) {
  if (half_life_us <= 0) return 0;
  return 1 - pow(0.5, (double)elapsed_us / (double)half_life_us);
}

/* ---- Labels (kueue.c) ---------------------------------------------------------------------------------- */

/* Labels and taints of nodes, and whether they match the requirements of pods. The rules are those of Kubernetes. */

/* Returns the value of a label; NULL if the label is missing. */
static inline const char *hr__kueue_label_get(const struct hr__kueue_labels *labels, const char *key) {
  for (uint32_t i = 0; i < labels->count; i++)
    if (!strcmp(labels->items[i].key, key)) return labels->items[i].value;
  return NULL;
}

/* Returns whether `labels` has all of `wanted`. `may_lack`: a label that is missing is not required. */
bool hr__kueue_labels_include(const struct hr__kueue_labels *labels, const struct hr__kueue_labels *wanted,
                              bool may_lack);
/* Returns whether all expressions of a term match. A term without expressions matches nothing. */
bool hr__kueue_term_matches(const struct hr__kueue_term *term, const struct hr__kueue_labels *labels);
/* Returns the first taint with the effect NoSchedule or NoExecute that neither list tolerates; NULL if not found. */
const struct hr__kueue_taint *hr__kueue_untolerated(const struct hr__kueue_taints *taints,
                                                    const struct hr__kueue_tolerations *pods,
                                                    const struct hr__kueue_tolerations *flavor);

/* ---- Quotas (kueue.c) ---------------------------------------------------------------------------------- */

/* The tree of quotas: the quota available to a ClusterQueue, and how usage spreads to its cohorts. */

/* Sums and differences of amounts. Unlimited plus anything is unlimited, and unlimited minus anything finite, too.
   Unlimited minus unlimited is 0. A finite amount minus unlimited is INT64_MIN. The sum of two finite amounts is less
   than unlimited, even if it overflows. */
int64_t hr__kueue_plus(int64_t a, int64_t b);
int64_t hr__kueue_minus(int64_t a, int64_t b);
/* Returns a * b. A product outside the range of int64_t becomes INT64_MIN or INT64_MAX. */
int64_t hr__kueue_times(int64_t a, int64_t b);

static inline size_t hr__kueue_cell(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair) {
  return (size_t)node * tree->n_pairs + pair;
}

/* Computes the children, heights, subtree quotas and `has_quota` of the cohorts from the parents and the quotas of the
   nodes. Computes the usage of the cohorts from the usage of the queues. The parents must not form a cycle. */
void hr__kueue_tree_prepare(struct hr__kueue_tree *tree);

/* Adds usage of a queue, or removes it. Usage beyond the quota that a node never lends is also usage of its parent. */
void hr__kueue_add_usage(struct hr__kueue_tree *tree, uint32_t node, uint32_t pair, int64_t amount);
void hr__kueue_remove_usage(struct hr__kueue_tree *tree, uint32_t node, uint32_t pair, int64_t amount);
/* Adds several amounts to the usage of a queue (`add`), or removes them. */
void hr__kueue_change_amounts(struct hr__kueue_tree *tree, uint32_t queue, const struct hr__kueue_usage *usage,
                              uint32_t n_usage, bool add);

/* The unused part of the quota that the node never lends. */
int64_t hr__kueue_local_available(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair);
/* The amount that the node can still use, with what its ancestors lend; at least 0. */
int64_t hr__kueue_available(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair);
/* The amount that the node could use if nothing were used. */
int64_t hr__kueue_potential(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair);

/* Whether the node uses more than its own quota with an additional amount. */
static inline bool hr__kueue_borrows_with(const struct hr__kueue_tree *tree, uint32_t node, uint32_t pair,
                                          int64_t amount) {
  size_t at = hr__kueue_cell(tree, node, pair);
  int64_t quota = node < tree->n_queues ? tree->nominal[at] : tree->subtree[at];
  return quota != HR__KUEUE_UNLIMITED && hr__kueue_plus(tree->usage[at], amount) > quota;
}

/* The height of the lowest cohort above the queue whose quota suffices for an additional amount. Returns 0 if the quota
   of the queue suffices or the queue has no cohort, and the height of the root if no quota suffices. `*may_reclaim` is
   set to true if the quota of a node below the root suffices; NULL is accepted. */
uint32_t hr__kueue_borrow_level(const struct hr__kueue_tree *tree, uint32_t queue, uint32_t pair, int64_t amount,
                                bool *may_reclaim);

/* The root of a node's tree. */
static inline uint32_t hr__kueue_root(const struct hr__kueue_tree *tree, uint32_t node) {
  while (tree->parent[node] != HR_NONE) node = tree->parent[node];
  return node;
}

/* ---- Shares (kueue.c) ---------------------------------------------------------------------------------- */

/* Fair sharing: the dominant resource share of a ClusterQueue or cohort. */

/* Computes the share of a node with an additional usage. The share of a node without parent is 0. */
struct hr__kueue_share hr__kueue_share_of(const struct hr__kueue_world *world, uint32_t node,
                                          const struct hr__kueue_usage *extra, uint32_t n_extra);
/* Whether the node has a parent, and its usage of a pair exceeds its quota. Only pairs with a positive amount in
   `requested` are considered. */
bool hr__kueue_borrows_on(const struct hr__kueue_world *world, uint32_t node, const struct hr__kueue_usage *requested,
                          uint32_t n_requested);
/* The amount of a resource that `node` could use if nothing were used, summed over flavors. Shares of the children of
   `node` are fractions of this amount. */
int64_t hr__kueue_lendable(const struct hr__kueue_world *world, uint32_t node, uint32_t resource);

/* The ratio divided by the weight; infinite if the node borrows with weight 0. */
double hr__kueue_share_value(const struct hr__kueue_share *share);

/* The value rounded up, INT64_MAX if it is infinite. */
static inline int64_t hr__kueue_share_rounded(const struct hr__kueue_share *share) {
  double value = ceil(hr__kueue_share_value(share));
  return value >= 9223372036854775807.0 ? INT64_MAX : (int64_t)value;
}

/* Returns a negative number if `a` is smaller, 0 if they are equal, a positive number if `a` is larger. */
int hr__kueue_share_compare(const struct hr__kueue_share *a, const struct hr__kueue_share *b);

/* A share below all others. */
static inline struct hr__kueue_share hr__kueue_share_lowest(void) {
  return (struct hr__kueue_share){.weight = 1, .ratio = -1, .resource = HR_NONE};
}

/* ---- Workloads (kueue.c) ------------------------------------------------------------------------------- */

/* The events of a workload that change its place in the queue. */
struct hr__kueue_history {
  int64_t created_us;
  int64_t evicted_us, preempted_us; /* HR__KUEUE_NO_TIME: did not happen */
  bool evicted_by_timeout;          /* its pods were not ready in time */
  bool evicted_by_check;            /* an admission check asked for a retry */
  bool reclaimed_while_borrowing;   /* reason of the preemption */
};

/* The time by which a workload is ordered in its queue. `by_creation`: a workload whose pods were not ready keeps its
   place. `priority_sorting`: the gate PrioritySortingWithinCohort is on. */
int64_t hr__kueue_queue_time(const struct hr__kueue_history *history, bool by_creation, bool priority_sorting);

/* Reads the boost of an annotation. Returns false if the text is not a whole number of 32 bits. */
bool hr__kueue_boost_of(const char *annotation, int64_t *boost);

/* The priority with the boost of an annotation; a text that is not a whole number, or NULL, boosts by 0. */
static inline int64_t hr__kueue_boosted_priority(int64_t priority, const char *annotation) {
  int64_t boost;
  return annotation && hr__kueue_boost_of(annotation, &boost) ? priority + boost : priority;
}

/* The number of pods of a pod set that need quota. */
static inline int64_t hr__kueue_pods_needed(const struct hr__kueue_pod_set *pod_set) {
  return pod_set->reclaimable < pod_set->count ? pod_set->count - pod_set->reclaimable : 0;
}

/* The amount of a resource that an admission uses: `assigned` reduced to the pods that still run. */
static inline int64_t hr__kueue_assigned_amount(const struct hr__kueue_pod_set *pod_set,
                                                const struct hr__kueue_assigned *assigned) {
  int64_t count = pod_set->admitted_count, needed = hr__kueue_pods_needed(pod_set);
  if (needed >= count || count <= 0) return assigned->amount;
  return hr__kueue_times(assigned->amount / count, needed);
}

/* Fills `workload->usage`, which has room for n_pod_sets * n_resources entries, from the admission. */
void hr__kueue_workload_sum_usage(const struct hr__kueue_world *world, struct hr__kueue_workload *workload);
/* Adds an amount of a pair to a list of `count` entries without repeated pairs. The list has room for one more. */
void hr__kueue_usage_add(struct hr__kueue_usage *list, uint32_t *count, uint32_t pair, int64_t amount);

/* Puts a workload with quota into the list of its queue, and counts its usage in the tree and on the nodes. */
void hr__kueue_list(struct hr__kueue_world *world, uint32_t id);
/* Sets the quota and the placements of a workload from an assignment, and lists it. `room` has n_pod_sets * n_resources
   entries; the workload keeps a pointer to it. */
void hr__kueue_give_quota(struct hr__kueue_world *world, uint32_t id, const struct hr__kueue_assignment *assignment,
                          struct hr__kueue_assigned *room);
/* Removes a workload from the list of its queue, and its usage from the tree and the nodes. */
void hr__kueue_unlist(struct hr__kueue_world *world, uint32_t id);
/* Counts the usage of a workload in the tree and on the nodes (sign 1), or removes it (-1). The list does not change,
   so that a preemption can be tried. */
void hr__kueue_change_usage(struct hr__kueue_world *world, uint32_t id, int sign);

#endif
