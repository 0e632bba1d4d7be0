/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SYSTEMS_SYSTEMS_H
#define HEADROOM_UNSTABLE_SYSTEMS_SYSTEMS_H

/*
 * The configuration of real schedulers, for the policies that model them. A scenario has one optional section for each
 * system, with the name of the system. The members of a struct are the keys of the section;
 * scenarios/schema/keys_systems.c explains each key. The structs of Kueue and Slurm are in kueue.h and slurm.h.
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr_kai_config;
struct hr_kubernetes_config;
struct hr_kueue_config;
struct hr_slurm_config;
struct hr_volcano_config;

/* The sections of a scenario. NULL: the scenario does not have the section. */
struct hr_systems {
  struct hr_kai_config *kai;
  struct hr_kubernetes_config *kubernetes;
  struct hr_kueue_config *kueue;
  struct hr_slurm_config *slurm;
  struct hr_volcano_config *volcano;
};

/* ---- KAI-Scheduler ---------------------------------------------------------------------------------- */

/*
 * The configuration of KAI-Scheduler: the section `kai` of a scenario, for the policy `kai`.
 *
 * Amounts are in the units of KAI's Queue objects: GPUs, thousandths of a CPU, and megabytes. The struct, its arrays
 * and its strings are from malloc. The scenario owns them.
 */

/* The quota, limit and weight of a queue for one resource. */
struct hr_kai_resource {
  double quota;             /* -1: unlimited */
  double limit;             /* -1: no limit */
  double over_quota_weight; /* weight in the division of the capacity beyond all quotas */
};

/* A queue. */
struct hr_kai_queue {
  char *name;
  char *parent;     /* NULL: the queue has no parent */
  uint32_t above;   /* index of the parent; HR_NONE: no parent. Set when the section is checked */
  uint32_t n_below; /* number of queues with this queue as their parent; set when the section is checked */
  int32_t priority;
  struct hr_kai_resource gpu, cpu, memory;
  int64_t preempt_min_runtime_us, reclaim_min_runtime_us; /* HR_UNKNOWN_US: as in the parent */
};

/* A priority class: whether jobs with the priority `value` are preemptible. */
struct hr_kai_priority_class {
  char *name;
  int32_t value;
  bool preemptible;
};

/* Words of settings. The columns: enumerator, word in the configuration. */
#define HR_KAI_STRATEGY_TABLE(X)                                                                                       \
  X(HR_KAI_BINPACK, "binpack") /* nodes with little free capacity first */                                             \
  X(HR_KAI_SPREAD, "spread")   /* nodes with much free capacity first */
/* The queue that determines the minimum run time (reclaim_min_runtime_us) if a queue reclaims from another queue. */
#define HR_KAI_RECLAIM_METHOD_TABLE(X)                                                                                 \
  /* the ancestor of the victim's queue directly below the lowest common ancestor of both queues */                    \
  X(HR_KAI_RECLAIM_LCA, "lca")                                                                                         \
  X(HR_KAI_RECLAIM_QUEUE, "queue") /* the victim's queue */
/* The window of past usage. */
#define HR_KAI_WINDOW_TABLE(X)                                                                                         \
  X(HR_KAI_SLIDING, "sliding")   /* the window ends now */                                                             \
  X(HR_KAI_TUMBLING, "tumbling") /* time is divided into windows of equal length; the window is the present one */

#define HR_KAI_NAME(name, word) name,
enum hr_kai_strategy { HR_KAI_STRATEGY_TABLE(HR_KAI_NAME) };
enum hr_kai_reclaim_method { HR_KAI_RECLAIM_METHOD_TABLE(HR_KAI_NAME) };
enum hr_kai_window { HR_KAI_WINDOW_TABLE(HR_KAI_NAME) };
#undef HR_KAI_NAME

/* Time-based fair share: past usage of a queue reduces its share of the capacity beyond the quotas. */
struct hr_kai_usage {
  bool enabled;
  enum hr_kai_window window;
  int64_t half_life_us; /* 0: no decay */
  int64_t window_us, fetch_interval_us;
};

/* The settings of the scheduler. */
struct hr_kai_scheduler {
  int64_t period_us; /* time between two cycles */
  double k_value, saturation_multiplier;
  enum hr_kai_strategy gpu_placement, cpu_placement;
  bool gpu_spread; /* placement of shares on GPUs. true: spread; false: binpack */
  bool allow_consolidating_reclaim;
  int64_t max_consolidation_victims;                      /* -1: no limit; 0: no consolidation */
  int64_t stale_grace_us;                                 /* below 0: gangs below their minimum are never evicted */
  int64_t preempt_min_runtime_us, reclaim_min_runtime_us; /* for queues that do not specify them */
  enum hr_kai_reclaim_method reclaim_method;
  int64_t termination_grace_us; /* maximum time from the eviction of a pod to its end */
  bool signatures;              /* if a job does not fit, jobs with equal requests are skipped in the same action */
  /* maximum number of jobs of a queue that an action tries; 0: no limit */
  int64_t allocate_depth, consolidation_depth, reclaim_depth, preempt_depth;
  struct hr_kai_usage usage;
};

/* The section `kai`. */
struct hr_kai_config {
  struct hr_kai_queue *queues;
  uint32_t n_queues;
  struct hr_kai_priority_class *classes;
  uint32_t n_classes;
  struct hr_kai_scheduler scheduler;
  char *default_queue;      /* queue of jobs without a queue or with an unknown queue; NULL: they are rejected */
  int32_t default_priority; /* priority of jobs without a priority */
  char *topology;           /* name of the topology, for messages; NULL: no name */
};

/* ---- Kubernetes ------------------------------------------------------------------------------------- */

/* The configuration of kube-scheduler: the section `kubernetes` of a scenario. Texts and arrays are from malloc. */

/* The scoring strategies of the plug-in NodeResourcesFit. The columns: enumerator, name in files. */
#define HR_KUBERNETES_SCORING_TABLE(X)                                                                                 \
  X(HR_KUBERNETES_LEAST_ALLOCATED, "least_allocated")                                                                  \
  X(HR_KUBERNETES_MOST_ALLOCATED, "most_allocated")                                                                    \
  X(HR_KUBERNETES_REQUESTED_TO_CAPACITY_RATIO, "requested_to_capacity_ratio")

/* Whether a pod of a priority class may evict pods of lower priority. */
#define HR_KUBERNETES_PREEMPTION_TABLE(X)                                                                              \
  X(HR_KUBERNETES_PREEMPT_LOWER_PRIORITY, "PreemptLowerPriority")                                                      \
  X(HR_KUBERNETES_PREEMPT_NEVER, "Never")

/* The treatment of pods that fit while other pods of the same job do not fit. */
#define HR_KUBERNETES_PARTIAL_TABLE(X)                                                                                 \
  X(HR_KUBERNETES_TOGETHER, "together") /* they wait and use no resources */                                           \
  X(HR_KUBERNETES_HOLD, "hold")         /* they are bound, so their GPUs are allocated, as in Kubernetes */

#define HR_KUBERNETES_NAME(name, text) name,
enum hr_kubernetes_scoring { HR_KUBERNETES_SCORING_TABLE(HR_KUBERNETES_NAME) };
enum hr_kubernetes_preemption { HR_KUBERNETES_PREEMPTION_TABLE(HR_KUBERNETES_NAME) };
enum hr_kubernetes_partial { HR_KUBERNETES_PARTIAL_TABLE(HR_KUBERNETES_NAME) };
#undef HR_KUBERNETES_NAME

/* A resource with its weight in scores. */
struct hr_kubernetes_resource {
  char *name; /* such as "cpu" or "nvidia.com/gpu" */
  uint32_t weight;
};

/* A point of the shape of HR_KUBERNETES_REQUESTED_TO_CAPACITY_RATIO: utilization 0 to 100, score 0 to 10. */
struct hr_kubernetes_point {
  uint32_t utilization, score;
};

/* A PriorityClass. */
struct hr_kubernetes_class {
  char *name;
  int32_t value; /* the priority of its pods */
  enum hr_kubernetes_preemption preemption;
};

/* The section `kubernetes`. */
struct hr_kubernetes_config {
  enum hr_kubernetes_scoring scoring;
  struct hr_kubernetes_resource *resources; /* [n_resources]; NULL: cpu and memory, with equal weights */
  uint32_t n_resources;
  struct hr_kubernetes_point *shape; /* [n_points]; NULL: linear from score 0 at utilization 0 to 10 at 100 */
  uint32_t n_points;
  struct hr_kubernetes_resource *balanced; /* [n_balanced]; NULL: cpu and memory; weights are unused */
  uint32_t n_balanced;
  uint32_t fit_weight, balanced_weight; /* of the plug-ins NodeResourcesFit and NodeResourcesBalancedAllocation */
  uint32_t percentage_of_nodes;         /* percentageOfNodesToScore; 0: adaptive */
  bool preempts;
  struct hr_kubernetes_class *classes; /* [n_classes]; the class of a job is the class with `value` = its priority */
  uint32_t n_classes;
  int64_t initial_backoff_us, max_backoff_us;
  enum hr_kubernetes_partial partial;
  char *gpu_resource; /* name of the resource that counts GPUs; NULL: nvidia.com/gpu */
  uint32_t pods_per_node;
  int64_t idle_release_us; /* idle time after which the cluster autoscaler releases a node */
  uint64_t seed;           /* for the choice between nodes with equal scores; 0: the seed of the scenario */
};

/* ---- Volcano ---------------------------------------------------------------------------------------- */

/* The configuration of Volcano: the section `volcano` of a scenario. Texts and arrays are from malloc. */

/* The plug-ins that runs support. The columns: enumerator without its prefix, name in files. */
#define HR_VOLCANO_PLUGIN_TABLE(X)                                                                                     \
  X(GANG, "gang")                                                                                                      \
  X(PRIORITY, "priority")                                                                                              \
  X(CONFORMANCE, "conformance")                                                                                        \
  X(PROPORTION, "proportion")                                                                                          \
  X(CAPACITY, "capacity")                                                                                              \
  X(DRF, "drf")                                                                                                        \
  X(PREDICATES, "predicates")                                                                                          \
  X(NODEORDER, "nodeorder")                                                                                            \
  X(BINPACK, "binpack")                                                                                                \
  X(OVERCOMMIT, "overcommit")                                                                                          \
  X(SLA, "sla")

/* The functions of a plug-in. The columns: enumerator without its prefix, name. The option of Volcano that enables the
   function "jobOrder" is enableJobOrder. */
#define HR_VOLCANO_CALLBACK_TABLE(X)                                                                                   \
  X(JOB_ORDER, "jobOrder")                                                                                             \
  X(QUEUE_ORDER, "queueOrder")                                                                                         \
  X(TASK_ORDER, "taskOrder")                                                                                           \
  X(JOB_READY, "jobReady")                                                                                             \
  X(JOB_PIPELINED, "jobPipelined")                                                                                     \
  X(JOB_STARVING, "jobStarving")                                                                                       \
  X(JOB_ENQUEUED, "jobEnqueued")                                                                                       \
  X(PREEMPTABLE, "preemptable")                                                                                        \
  X(RECLAIMABLE, "reclaimable")                                                                                        \
  X(OVERUSED, "overused")                                                                                              \
  X(PREEMPTIVE, "preemptive")                                                                                          \
  X(ALLOCATABLE, "allocatable")                                                                                        \
  X(PREDICATE, "predicate")                                                                                            \
  X(NODE_ORDER, "nodeOrder")

/* Actions. The columns: enumerator without its prefix, name in files. */
#define HR_VOLCANO_ACTION_TABLE(X)                                                                                     \
  X(ENQUEUE, "enqueue")                                                                                                \
  X(ALLOCATE, "allocate")                                                                                              \
  X(BACKFILL, "backfill")                                                                                              \
  X(PREEMPT, "preempt")                                                                                                \
  X(RECLAIM, "reclaim")

#define HR_VOLCANO_NAME(name, text) HR_VOLCANO_##name,
enum hr_volcano_plugin_id { HR_VOLCANO_PLUGIN_TABLE(HR_VOLCANO_NAME) HR_VOLCANO_N_PLUGINS };
enum hr_volcano_callback { HR_VOLCANO_CALLBACK_TABLE(HR_VOLCANO_NAME) HR_VOLCANO_N_CALLBACKS };
enum hr_volcano_action { HR_VOLCANO_ACTION_TABLE(HR_VOLCANO_NAME) HR_VOLCANO_N_ACTIONS };
#undef HR_VOLCANO_NAME

/* An amount of a resource: CPUs for "cpu", GiB for "memory", items for all others. */
struct hr_volcano_amount {
  char *resource;
  double amount;
};

/* The weight of a resource. */
struct hr_volcano_weight {
  char *resource;
  uint32_t weight;
};

/* The arguments of a plug-in. Comments name the plug-in that uses a member. */
struct hr_volcano_plugin_config {
  enum hr_volcano_plugin_id id;
  uint32_t disabled;        /* functions that are not used: bits 1 << enum hr_volcano_callback */
  bool is_hierarchical;     /* capacity: queues form a tree */
  double overcommit_factor; /* overcommit */
  int64_t waiting_us;       /* sla: maximum wait until a job is enqueued; 0: no maximum */
  uint32_t ancestor_level;  /* capacity: ancestorReclaimLevel */
  uint32_t least_requested, most_requested, balanced_resource; /* nodeorder: weights */
  uint32_t weight;                                             /* binpack */
  struct hr_volcano_weight *resources;                         /* binpack: [n_resources] */
  uint32_t n_resources;
};

/* A tier of plug-ins, as in Volcano's configuration. */
struct hr_volcano_tier {
  struct hr_volcano_plugin_config *plugins; /* [n_plugins] */
  uint32_t n_plugins;
};

/* A queue. */
struct hr_volcano_queue {
  char *name, *parent; /* parent NULL: the queue has no parent */
  uint32_t weight;
  int32_t priority;
  bool reclaimable, is_closed;
  struct hr_volcano_amount *capability, *deserved, *guarantee; /* NULL: not set */
  uint32_t n_capability, n_deserved, n_guarantee;
};

/* The section `volcano`. */
struct hr_volcano_config {
  /* [n_actions]: enum hr_volcano_action; NULL: enqueue, allocate, backfill */
  uint32_t *actions;
  uint32_t n_actions;
  struct hr_volcano_tier *tiers; /* NULL: the tiers of Volcano's default configuration */
  uint32_t n_tiers;
  struct hr_volcano_queue *queues;
  uint32_t n_queues;
  char *default_queue;  /* queue of jobs that name no queue, or a queue that does not exist; NULL: "default" */
  int64_t period_us;    /* time between two cycles */
  bool not_preemptable; /* jobs are not preemptable */
  bool restarts_jobs;   /* a job that loses pods with a node starts again, even if it is elastic */
  char *gpu_resource;   /* name of the resource that counts GPUs; NULL: nvidia.com/gpu */
  uint32_t pods_per_node;
  int64_t idle_release_us; /* idle time after which the cluster autoscaler releases a node */
};

#ifdef __cplusplus
}
#endif

#endif
