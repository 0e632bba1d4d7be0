/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SYSTEMS_KAI_H
#define HEADROOM_UNSTABLE_SYSTEMS_KAI_H

/*
 * The configuration of KAI-Scheduler: the section `kai` of a scenario, for the policy `kai`.
 *
 * Amounts are in the units of KAI's Queue objects: GPUs, thousandths of a CPU, and megabytes. The struct, its arrays
 * and its strings are from malloc; the owner is the scenario.
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The quota, limit and weight of a queue for one resource. */
struct hr_kai_resource {
  double quota; /* -1: unlimited */
  double limit; /* -1: none */
  double over_quota_weight;
};

struct hr_kai_queue {
  char *name;
  char *parent;     /* NULL: a top queue */
  uint32_t above;   /* index of the parent; HR_NONE: a top queue. Set by the checks of the section */
  uint32_t n_below; /* number of queues of which this one is the parent; also set by the checks */
  int32_t priority;
  struct hr_kai_resource gpu, cpu, memory;
  int64_t preempt_min_runtime_us, reclaim_min_runtime_us; /* HR_UNKNOWN_US: not set */
};

/* The preemptibility of jobs by their priority. */
struct hr_kai_priority_class {
  char *name;
  int32_t value;
  bool preemptible;
};

/* The columns: name, word in the configuration. */
#define HR_KAI_STRATEGY_TABLE(X)                                                                                       \
  X(HR_KAI_BINPACK, "binpack") /* nodes with little free capacity first */                                             \
  X(HR_KAI_SPREAD, "spread")   /* nodes with much free capacity first */
#define HR_KAI_RECLAIM_METHOD_TABLE(X)                                                                                 \
  X(HR_KAI_RECLAIM_LCA, "lca")     /* the minimum run time is that below the lowest common ancestor */                 \
  X(HR_KAI_RECLAIM_QUEUE, "queue") /* the minimum run time is that of the victim's queue */
#define HR_KAI_WINDOW_TABLE(X)                                                                                         \
  X(HR_KAI_SLIDING, "sliding")   /* the window ends now */                                                             \
  X(HR_KAI_TUMBLING, "tumbling") /* the window begins again after each window size */

#define HR_KAI_NAME(name, word) name,
enum hr_kai_strategy { HR_KAI_STRATEGY_TABLE(HR_KAI_NAME) };
enum hr_kai_reclaim_method { HR_KAI_RECLAIM_METHOD_TABLE(HR_KAI_NAME) };
enum hr_kai_window { HR_KAI_WINDOW_TABLE(HR_KAI_NAME) };
#undef HR_KAI_NAME

/* Time-based fair share: past usage reduces the share of what exceeds the quotas. */
struct hr_kai_usage {
  bool enabled;
  enum hr_kai_window window;
  int64_t half_life_us; /* 0: no decay */
  int64_t window_us, fetch_interval_us;
};

struct hr_kai_scheduler {
  int64_t period_us;
  double k_value, saturation_multiplier;
  enum hr_kai_strategy gpu_placement, cpu_placement;
  bool gpu_spread; /* shared GPUs: spread, not pack */
  bool allow_consolidating_reclaim;
  int64_t max_consolidation_victims; /* -1: no limit; 0: no consolidation */
  int64_t stale_grace_us;            /* below 0: stale gangs are never evicted */
  int64_t preempt_min_runtime_us, reclaim_min_runtime_us;
  enum hr_kai_reclaim_method reclaim_method;
  int64_t termination_grace_us; /* from the eviction of a pod to its end */
  bool signatures;              /* after a job has failed, jobs like it are skipped in the same action */
  /* how many jobs of a queue an action tries; 0: all */
  int64_t allocate_depth, consolidation_depth, reclaim_depth, preempt_depth;
  struct hr_kai_usage usage;
};

struct hr_kai_config {
  struct hr_kai_queue *queues;
  uint32_t n_queues;
  struct hr_kai_priority_class *classes;
  uint32_t n_classes;
  struct hr_kai_scheduler scheduler;
  char *default_queue;      /* of jobs without a queue, or with an unknown queue; NULL: none */
  int32_t default_priority; /* of jobs without a priority */
  char *topology;           /* name of the topology, for people; NULL: none */
};

#ifdef __cplusplus
}
#endif
#endif
