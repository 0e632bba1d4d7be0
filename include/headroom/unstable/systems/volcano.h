/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SYSTEMS_VOLCANO_H
#define HEADROOM_UNSTABLE_SYSTEMS_VOLCANO_H

/* The configuration of Volcano: the section `volcano` of a scenario. The key table is scenarios/schema/keys_systems.c.
   Texts and arrays are from malloc. */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The plug-ins that a run models. The columns: enumerator without its prefix, name in files. */
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

/* The functions of a plug-in, with the names of their options in Volcano: "jobOrder" is enableJobOrder. */
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

struct hr_volcano_weight {
  char *resource;
  uint32_t weight;
};

struct hr_volcano_plugin_config {
  enum hr_volcano_plugin_id id;
  uint32_t disabled;        /* set of enum hr_volcano_callback */
  bool is_hierarchical;     /* capacity: queues form a tree */
  double overcommit_factor; /* overcommit */
  int64_t waiting_us;       /* sla: maximum wait until a job is enqueued; 0: not limited */
  uint32_t ancestor_level;  /* capacity: ancestorReclaimLevel */
  uint32_t least_requested, most_requested, balanced_resource; /* nodeorder: weights */
  uint32_t weight;                                             /* binpack */
  struct hr_volcano_weight *resources;                         /* binpack: [n_resources] */
  uint32_t n_resources;
};

struct hr_volcano_tier {
  struct hr_volcano_plugin_config *plugins; /* [n_plugins] */
  uint32_t n_plugins;
};

struct hr_volcano_queue {
  char *name, *parent; /* parent: NULL: the queue has none */
  uint32_t weight;
  int32_t priority;
  bool reclaimable, is_closed;
  struct hr_volcano_amount *capability, *deserved, *guarantee; /* NULL: not set */
  uint32_t n_capability, n_deserved, n_guarantee;
};

struct hr_volcano_config {
  /* enum hr_volcano_action; NULL: enqueue, allocate, backfill */
  uint32_t *actions;
  uint32_t n_actions;
  struct hr_volcano_tier *tiers; /* NULL: the tiers of Volcano's default configuration */
  uint32_t n_tiers;
  struct hr_volcano_queue *queues;
  uint32_t n_queues;
  char *default_queue; /* for jobs that name no queue, or a queue that does not exist; NULL: "default" */
  int64_t period_us;
  bool not_preemptable; /* jobs are not preemptable */
  bool restarts_jobs;   /* a job that loses pods with a node starts again, even if it is elastic */
  char *gpu_resource;   /* the name of GPUs; NULL: nvidia.com/gpu */
  uint32_t pods_per_node;
  int64_t idle_release_us; /* idle time after which the cluster autoscaler releases a node */
};

#ifdef __cplusplus
}
#endif
#endif
