/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SYSTEMS_KUEUE_H
#define HEADROOM_UNSTABLE_SYSTEMS_KUEUE_H

/*
 * The configuration of Kueue: the section `kueue` of a scenario, for the policy `kueue`. It has Kueue's objects
 * (flavors, ClusterQueues, cohorts, LocalQueues, topologies, admission checks, priority classes) and its settings.
 * Objects refer to each other by name. The scenario owns the texts and arrays. scenarios/schema/keys_systems.c explains
 * each key.
 *
 * Amounts are in Kueue's units: cpu in thousandths, other resources in their base unit (GPUs, bytes).
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_KUEUE_NO_LIMIT INT64_MAX /* a limit that is not set */

/* Words of settings, as in the objects of Kueue. The columns: enumerator, word in the configuration. */
#define HR_KUEUE_STRATEGY_TABLE(X)                                                                                     \
  X(HR_KUEUE_BEST_EFFORT_FIFO, "BestEffortFIFO")                                                                       \
  X(HR_KUEUE_STRICT_FIFO, "StrictFIFO")
#define HR_KUEUE_PREEMPTION_TABLE(X)                                                                                   \
  X(HR_KUEUE_NEVER, "Never")                                                                                           \
  X(HR_KUEUE_LOWER_PRIORITY, "LowerPriority")                                                                          \
  X(HR_KUEUE_LOWER_OR_NEWER, "LowerOrNewerEqualPriority")                                                              \
  X(HR_KUEUE_ANY, "Any")
#define HR_KUEUE_STOP_TABLE(X)                                                                                         \
  X(HR_KUEUE_STOP_NONE, "None")                                                                                        \
  X(HR_KUEUE_STOP_HOLD, "Hold")                                                                                        \
  X(HR_KUEUE_STOP_DRAIN, "HoldAndDrain")
/* MayStopSearch is the present name of Borrow and Preempt. */
#define HR_KUEUE_FUNGIBILITY_TABLE(X)                                                                                  \
  X(HR_KUEUE_MAY_STOP_SEARCH, "MayStopSearch")                                                                         \
  X(HR_KUEUE_TRY_NEXT_FLAVOR, "TryNextFlavor")                                                                         \
  X(HR_KUEUE_BORROW, "Borrow")                                                                                         \
  X(HR_KUEUE_PREEMPT, "Preempt")
#define HR_KUEUE_PREFERENCE_TABLE(X)                                                                                   \
  X(HR_KUEUE_BORROWING_FIRST, "BorrowingOverPreemption")                                                               \
  X(HR_KUEUE_PREEMPTION_FIRST, "PreemptionOverBorrowing")
#define HR_KUEUE_ADMISSION_MODE_TABLE(X)                                                                               \
  X(HR_KUEUE_NO_ADMISSION_FAIR_SHARING, "NoAdmissionFairSharing")                                                      \
  X(HR_KUEUE_USAGE_BASED, "UsageBasedAdmissionFairSharing")
#define HR_KUEUE_SHARE_STRATEGY_TABLE(X)                                                                               \
  X(HR_KUEUE_FINAL_SHARE, "LessThanOrEqualToFinalShare")                                                               \
  X(HR_KUEUE_INITIAL_SHARE, "LessThanInitialShare")
#define HR_KUEUE_TIMESTAMP_TABLE(X)                                                                                    \
  X(HR_KUEUE_BY_EVICTION, "Eviction")                                                                                  \
  X(HR_KUEUE_BY_CREATION, "Creation")
#define HR_KUEUE_EFFECT_TABLE(X)                                                                                       \
  X(HR_KUEUE_EFFECT_ANY, "")                                                                                           \
  X(HR_KUEUE_EFFECT_NO_SCHEDULE, "NoSchedule")                                                                         \
  X(HR_KUEUE_EFFECT_PREFER_NO_SCHEDULE, "PreferNoSchedule")                                                            \
  X(HR_KUEUE_EFFECT_NO_EXECUTE, "NoExecute")
#define HR_KUEUE_OPERATOR_TABLE(X)                                                                                     \
  X(HR_KUEUE_EQUAL, "Equal")                                                                                           \
  X(HR_KUEUE_EXISTS, "Exists")

#define HR_KUEUE_WORD_NAME(name, text) name,
enum hr_kueue_strategy { HR_KUEUE_STRATEGY_TABLE(HR_KUEUE_WORD_NAME) HR_N_KUEUE_STRATEGIES };
enum hr_kueue_preemption_policy { HR_KUEUE_PREEMPTION_TABLE(HR_KUEUE_WORD_NAME) HR_N_KUEUE_PREEMPTION_POLICIES };
enum hr_kueue_stop_policy { HR_KUEUE_STOP_TABLE(HR_KUEUE_WORD_NAME) HR_N_KUEUE_STOP_POLICIES };
enum hr_kueue_fungibility_word { HR_KUEUE_FUNGIBILITY_TABLE(HR_KUEUE_WORD_NAME) HR_N_KUEUE_FUNGIBILITY_WORDS };
enum hr_kueue_preference { HR_KUEUE_PREFERENCE_TABLE(HR_KUEUE_WORD_NAME) HR_N_KUEUE_PREFERENCES };
enum hr_kueue_admission_mode { HR_KUEUE_ADMISSION_MODE_TABLE(HR_KUEUE_WORD_NAME) HR_N_KUEUE_ADMISSION_MODES };
enum hr_kueue_share_strategy { HR_KUEUE_SHARE_STRATEGY_TABLE(HR_KUEUE_WORD_NAME) HR_N_KUEUE_SHARE_STRATEGIES };
enum hr_kueue_timestamp { HR_KUEUE_TIMESTAMP_TABLE(HR_KUEUE_WORD_NAME) HR_N_KUEUE_TIMESTAMPS };
enum hr_kueue_taint_effect { HR_KUEUE_EFFECT_TABLE(HR_KUEUE_WORD_NAME) HR_N_KUEUE_EFFECTS };
enum hr_kueue_toleration_operator { HR_KUEUE_OPERATOR_TABLE(HR_KUEUE_WORD_NAME) HR_N_KUEUE_OPERATORS };
#undef HR_KUEUE_WORD_NAME

/* ---- Nodes ---- */

/* A label of nodes. */
struct hr_kueue_node_label {
  char *key, *value;
};

/* A taint of nodes. */
struct hr_kueue_node_taint {
  char *key, *value;
  enum hr_kueue_taint_effect effect;
};

/* A toleration of pods. */
struct hr_kueue_pod_toleration {
  char *key, *value; /* an empty key with HR_KUEUE_EXISTS tolerates all taints */
  enum hr_kueue_toleration_operator operation;
  enum hr_kueue_taint_effect effect;
};

/* A level of a topology: the groups of a tier of the pools. */
struct hr_kueue_level {
  char *node_label; /* key of the node label with the name of the group */
  /* enum hr_tier. If the key is absent: for the narrowest level, node if its label is kubernetes.io/hostname and rack
     if not; for any other level, the tier above that of the next narrower level */
  uint8_t tier;
};

/* A Topology. */
struct hr_kueue_topology {
  char *name;
  struct hr_kueue_level *levels; /* the widest level first */
  uint32_t n_levels;
};

/* A ResourceFlavor. */
struct hr_kueue_flavor_config {
  char *name;
  char **pools; /* [n_pools]: names of the pools that have its nodes; n_pools 0: all pools */
  uint32_t n_pools;
  struct hr_kueue_node_label *node_labels;
  struct hr_kueue_node_taint *node_taints;
  struct hr_kueue_pod_toleration *tolerations;
  uint32_t n_node_labels, n_node_taints, n_tolerations;
  char *topology; /* name of its topology; NULL: none */
};

/* ---- Quotas ---- */

/* The quota of a resource. */
struct hr_kueue_quota {
  char *name; /* name of the resource */
  int64_t nominal;
  int64_t borrowing_limit, lending_limit; /* HR_KUEUE_NO_LIMIT: no limit */
};

/* The quotas of a flavor. */
struct hr_kueue_flavor_quotas {
  char *name; /* name of the flavor */
  struct hr_kueue_quota *resources;
  uint32_t n_resources;
};

/* Flavors that are tried in this order. All flavors of a group have quotas of the same resources. */
struct hr_kueue_resource_group {
  char **covered_resources; /* n_covered_resources 0: the resources of the first flavor */
  struct hr_kueue_flavor_quotas *flavors;
  uint32_t n_covered_resources, n_flavors;
};

/* An admission check of a ClusterQueue. */
struct hr_kueue_check_use {
  char *name;        /* name of the admission check */
  char **on_flavors; /* flavors to which the check applies; n_on_flavors 0: all flavors */
  uint32_t n_on_flavors;
};

/* Preemption by jobs that borrow. */
struct hr_kueue_borrow_within_cohort {
  enum hr_kueue_preemption_policy policy; /* HR_KUEUE_NEVER or HR_KUEUE_LOWER_PRIORITY */
  int64_t max_priority_threshold;         /* maximum priority of victims; HR_KUEUE_NO_LIMIT: no maximum */
};

/* Which jobs may be preempted. */
struct hr_kueue_preemption_config {
  enum hr_kueue_preemption_policy within_cluster_queue, reclaim_within_cohort;
  struct hr_kueue_borrow_within_cohort borrow_within_cohort;
};

/* When the next flavor is tried. */
struct hr_kueue_fungibility_config {
  enum hr_kueue_fungibility_word when_can_borrow, when_can_preempt;
  enum hr_kueue_preference preference;
};

/* A ClusterQueue. */
struct hr_kueue_cluster_queue {
  char *name, *cohort; /* cohort NULL: none */
  enum hr_kueue_strategy queueing_strategy;
  struct hr_kueue_resource_group *resource_groups;
  uint32_t n_resource_groups;
  struct hr_kueue_preemption_config preemption;
  struct hr_kueue_fungibility_config flavor_fungibility;
  double fair_weight;
  enum hr_kueue_stop_policy stop_policy;
  enum hr_kueue_admission_mode admission_mode;
  char **namespaces; /* namespaces with LocalQueues that it serves; n_namespaces 0: all namespaces */
  struct hr_kueue_check_use *admission_checks;
  uint32_t n_namespaces, n_admission_checks;
};

/* A Cohort. */
struct hr_kueue_cohort {
  char *name, *parent;                             /* parent NULL: none */
  struct hr_kueue_resource_group *resource_groups; /* quotas that all members share */
  uint32_t n_resource_groups;
  double fair_weight;
};

/* A LocalQueue. */
struct hr_kueue_local_queue_config {
  char *name, *name_space, *cluster_queue;
  double fair_weight;
  enum hr_kueue_stop_policy stop_policy;
  /* node selector and tolerations of the pods of its jobs */
  struct hr_kueue_node_label *node_selector;
  struct hr_kueue_pod_toleration *tolerations;
  uint32_t n_node_selector, n_tolerations;
  /* requirements of its jobs on topologies: the node_label of a level; NULL: no such requirement */
  char *required_topology, *preferred_topology, *slice_required_topology;
  bool unconstrained_topology;
  int64_t slice_size; /* number of pods of a slice */
};

/* An AdmissionCheck. It succeeds `delay_us` after the reservation of the quota. */
struct hr_kueue_admission_check {
  char *name;
  int64_t delay_us;
};

/* A WorkloadPriorityClass. */
struct hr_kueue_priority_class {
  char *name;
  int64_t value;
};

/* ---- Settings ---- */

/* Fair sharing between ClusterQueues. */
struct hr_kueue_fair_sharing {
  bool enable;
  /* n_preemption_strategies 0: both, in the order of HR_KUEUE_SHARE_STRATEGY_TABLE */
  enum hr_kueue_share_strategy *preemption_strategies;
  uint32_t n_preemption_strategies;
};

/* The weight of the usage of a resource. */
struct hr_kueue_resource_weight {
  char *name;
  double weight;
};

/* Fair sharing between the LocalQueues of a ClusterQueue. */
struct hr_kueue_admission_fair_sharing {
  bool enable;
  int64_t usage_half_life_us, usage_sampling_interval_us;
  struct hr_kueue_resource_weight *resource_weights; /* resources that are not listed have the weight 1 */
  uint32_t n_resource_weights;
};

/* How evicted jobs are queued again. */
struct hr_kueue_requeuing_strategy {
  enum hr_kueue_timestamp timestamp;
  int64_t backoff_limit_count; /* HR_KUEUE_NO_LIMIT: no limit */
  int64_t backoff_base_us, backoff_max_us;
};

/* waitForPodsReady: eviction of jobs with pods that do not run in time. */
struct hr_kueue_wait_for_pods_ready {
  bool enable, block_admission;
  int64_t timeout_us, recovery_timeout_us; /* recovery_timeout_us HR_KUEUE_NO_LIMIT: no limit */
  struct hr_kueue_requeuing_strategy requeuing_strategy;
};

/* The section `kueue`. */
struct hr_kueue_config {
  char *version;             /* such as "0.16"; NULL: the newest version that the model supports */
  uint64_t gates;            /* bits of policies/kueue/kueue.h: feature gates of the version and of `feature_gates` */
  char *gpu_resource;        /* name of the resource that counts GPUs */
  char **excluded_resources; /* prefixes of resources that need no quota */
  char *default_queue;       /* LocalQueue or ClusterQueue of jobs that name no queue; NULL: they are rejected */
  struct hr_kueue_flavor_config *flavors;
  struct hr_kueue_topology *topologies;
  struct hr_kueue_cluster_queue *cluster_queues;
  struct hr_kueue_cohort *cohorts;
  struct hr_kueue_local_queue_config *local_queues;
  struct hr_kueue_admission_check *admission_checks;
  struct hr_kueue_priority_class *priority_classes;
  uint32_t n_excluded_resources, n_flavors, n_topologies, n_cluster_queues, n_cohorts, n_local_queues,
      n_admission_checks, n_priority_classes;
  struct hr_kueue_fair_sharing fair_sharing;
  struct hr_kueue_admission_fair_sharing admission_fair_sharing;
  struct hr_kueue_wait_for_pods_ready wait_for_pods_ready;
};

#ifdef __cplusplus
}
#endif
#endif
