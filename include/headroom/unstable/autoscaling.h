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

/* A quota of the provider: the most GPUs of a type in a region. */
struct hr_scaling_quota {
  char *gpu, *region; /* NULL: any */
  uint32_t max_gpus;
  bool *of_pool; /* [n_pools], from malloc: the elastic pools to which it applies */
};

/* Kubernetes' cluster autoscaler. Times are in microseconds; their defaults are in the table of keys. */
struct hr_autoscaler_spec {
  int64_t scan_us; /* it looks at the cluster at multiples of this time */
  /* [n_expanders], a chain, from malloc; the last draw is random. NULL: least-waste */
  struct hr_expander *expanders;
  uint32_t n_expanders;
  bool balances;      /* nodes are shared among similar pools */
  uint32_t max_nodes; /* of the cluster; 0: no limit */
  /* no scale-up while all jobs that need nodes are younger than new_job_us, or those with GPUs than new_gpu_job_us */
  int64_t new_job_us, new_gpu_job_us;
  int64_t provision_us; /* a node that has not booted by then is given up, and its pool backs off */
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
