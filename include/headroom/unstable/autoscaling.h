/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_AUTOSCALING_H
#define HEADROOM_UNSTABLE_AUTOSCALING_H

/*
 * Autoscalers of nodes: how the nodes of elastic pools are requested and released during a run. An autoscaler belongs
 * to a cluster (hr_cluster_spec.autoscaler) and manages all its elastic pools. Each of them is a node group. The
 * maximum of a group is the number of nodes of the pool.
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the cluster autoscaler chooses the pool that grows. The columns: enumerator, name in scenarios. */
#define HR_EXPANDER_TABLE(X)                                                                                           \
  X(HR_EXPANDER_RANDOM, "random")                                                                                      \
  X(HR_EXPANDER_MOST_PODS, "most-pods")                                                                                \
  X(HR_EXPANDER_LEAST_NODES, "least-nodes")                                                                            \
  X(HR_EXPANDER_LEAST_WASTE, "least-waste")                                                                            \
  X(HR_EXPANDER_PRICE, "price")                                                                                        \
  X(HR_EXPANDER_PRIORITY, "priority")

enum hr_expander_kind {
#define HR_EXPANDER_NAME(name, text) name,
  HR_EXPANDER_TABLE(HR_EXPANDER_NAME)
#undef HR_EXPANDER_NAME
      HR_N_EXPANDERS
};

struct hr_expander {
  enum hr_expander_kind kind;
};

/* A quota of the provider: the maximum number of GPUs of a type in a region. */
struct hr_scaling_quota {
  char *gpu, *region; /* NULL: any */
  uint32_t max_gpus;
  bool *of_pool; /* [n_pools], from malloc: the elastic pools to which it applies */
};

/* Kinds of autoscalers. The columns: enumerator, name in scenarios. */
#define HR_NODE_AUTOSCALER_TABLE(X)                                                                                    \
  X(HR_NODE_AUTOSCALER_CLUSTER, "cluster-autoscaler")                                                                  \
  X(HR_NODE_AUTOSCALER_KARPENTER, "karpenter")

enum hr_node_autoscaler {
#define HR_NODE_AUTOSCALER_NAME(name, text) name,
  HR_NODE_AUTOSCALER_TABLE(HR_NODE_AUTOSCALER_NAME)
#undef HR_NODE_AUTOSCALER_NAME
      HR_N_NODE_AUTOSCALERS
};

/* Which nodes Karpenter removes. The columns: enumerator, name in scenarios. */
#define HR_CONSOLIDATION_TABLE(X)                                                                                      \
  X(HR_CONSOLIDATION_UNDERUTILIZED, "when-empty-or-underutilized")                                                     \
  X(HR_CONSOLIDATION_EMPTY, "when-empty")                                                                              \
  X(HR_CONSOLIDATION_NEVER, "never")

enum hr_consolidation {
#define HR_CONSOLIDATION_NAME(name, text) name,
  HR_CONSOLIDATION_TABLE(HR_CONSOLIDATION_NAME)
#undef HR_CONSOLIDATION_NAME
      HR_N_CONSOLIDATIONS
};

/* Reasons to remove a node, for budgets. */
enum hr_disruption { HR_DISRUPTION_EMPTY, HR_DISRUPTION_UNDERUTILIZED, HR_DISRUPTION_DRIFTED };

/* How many nodes of a node pool may be removed at once: a number, or a percentage of its nodes. */
struct hr_disruption_budget {
  /* `percent`: share of the nodes that have booted, rounded up; UINT32_MAX: the number is `nodes` */
  uint32_t nodes, percent;
  uint32_t reasons; /* bits 1 << enum hr_disruption; 0: all */
  /* the budget applies for duration_us, at least a second, from each instant of a cron schedule in UTC; NULL: always */
  char *schedule;
  int64_t duration_us;
};
/* Returns whether a text is a schedule: five fields of cron, or @hourly, @daily, @weekly, @monthly or @yearly. */
HR_API bool hr_disruption_schedule_is_valid(const char *schedule);

/* A node pool of Karpenter: several elastic pools with common rules. */
struct hr_named_pool {
  char *name;
};
struct hr_node_pool {
  char *name;
  struct hr_named_pool *pools; /* [n_pools], from malloc */
  uint32_t n_pools;
  bool *of_pool; /* by pool, from malloc */
  uint32_t weight;
  /* limits of its nodes; UINT32_MAX, or INT64_MAX: none */
  uint32_t max_nodes, max_gpus;
  int64_t max_cpu_milli, max_mem_mib;
  enum hr_consolidation consolidation;
  int64_t consolidate_after_us;         /* since a job has last started or ended on the node, or the node has booted */
  int64_t expire_us;                    /* since the request for the node; HR_NEVER_US: never */
  struct hr_disruption_budget *budgets; /* [n_budgets], from malloc */
  uint32_t n_budgets;
  /* [n_drifts], from malloc: times at which the template changes, so that nodes requested before are replaced */
  int64_t *drifts_us;
  uint32_t n_drifts;
};

/* An autoscaler. The members up to failure_share are those of Kubernetes' cluster autoscaler; Karpenter uses
   provision_us, quotas and failure_share, too. Times are in microseconds; their defaults are in the table of keys. */
struct hr_autoscaler_spec {
  int64_t scan_us; /* the autoscaler scans the cluster at multiples of this time */
  /* [n_expanders], a chain, from malloc; the last draw is random. NULL: least-waste */
  struct hr_expander *expanders;
  uint32_t n_expanders;
  bool balances;      /* new nodes are divided among similar pools */
  uint32_t max_nodes; /* of the cluster; 0: no limit */
  /* no scale-up while all jobs that need nodes are younger than new_job_us, or those with GPUs than new_gpu_job_us */
  int64_t new_job_us, new_gpu_job_us;
  int64_t provision_us; /* a node that has not booted within provision_us is given up, and its pool backs off */
  int64_t backoff_us, max_backoff_us, backoff_reset_us;
  /* a node is removed if it was unneeded for longer than unneeded_us: without jobs or, with `drains`, used at most to
     utilization_threshold with jobs that fit on other nodes */
  int64_t unneeded_us;
  double utilization_threshold;
  bool drains;
  /* no removals for this time after a scale-up, after a removal, and after a failed scale-up */
  int64_t after_add_us, after_delete_us, after_failure_us;
  uint32_t max_deletions, max_drains; /* in one scan */
  struct hr_scaling_quota *quotas;    /* [n_quotas], from malloc */
  uint32_t n_quotas;
  /* [n_pools], from malloc: the probability that the provider has no capacity when a node is requested; NULL: 0 */
  double *failure_share;
  enum hr_node_autoscaler kind;
  /* ---- Karpenter ---- */
  struct hr_node_pool *node_pools; /* [n_node_pools], from malloc */
  uint32_t n_node_pools;
  /* nodes are requested when no job has begun to wait for batch_idle_us, at the latest after batch_max_us */
  int64_t batch_idle_us, batch_max_us;
  int64_t unavailable_us; /* a pool without capacity is not tried again for this time */
  bool spot_to_spot;      /* spot nodes may be replaced by cheaper spot nodes */
};

/* Frees what a specification owns, and the specification. NULL is accepted. */
HR_API void hr_autoscaler_spec_destroy(struct hr_autoscaler_spec *spec);

struct hr_cluster;
/* Returns whether an autoscaler requests the nodes of elastic pools, so that the policy must not. */
HR_API bool hr_cluster_is_autoscaled(const struct hr_cluster *cluster);

#ifdef __cplusplus
}
#endif
#endif
