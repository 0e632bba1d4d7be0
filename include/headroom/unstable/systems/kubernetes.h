/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SYSTEMS_KUBERNETES_H
#define HEADROOM_UNSTABLE_SYSTEMS_KUBERNETES_H

/* The configuration of kube-scheduler: the section `kubernetes` of a scenario. The key table is
   scenarios/schema/keys_systems.c. Texts and arrays are from malloc. */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The scoring strategies of the plug-in NodeResourcesFit. The columns: enumerator, name in files. */
#define HR_KUBERNETES_SCORING_TABLE(X)                                                                                 \
  X(HR_KUBERNETES_LEAST_ALLOCATED, "least_allocated")                                                                  \
  X(HR_KUBERNETES_MOST_ALLOCATED, "most_allocated")                                                                    \
  X(HR_KUBERNETES_REQUESTED_TO_CAPACITY_RATIO, "requested_to_capacity_ratio")

/* Whether a pod of a priority class may evict pods of lower priority. */
#define HR_KUBERNETES_PREEMPTION_TABLE(X)                                                                              \
  X(HR_KUBERNETES_PREEMPT_LOWER_PRIORITY, "PreemptLowerPriority")                                                      \
  X(HR_KUBERNETES_PREEMPT_NEVER, "Never")

/* How pods that fit are treated while other pods of the same job do not fit. */
#define HR_KUBERNETES_PARTIAL_TABLE(X)                                                                                 \
  X(HR_KUBERNETES_TOGETHER, "together") /* they wait, and hold nothing */                                              \
  X(HR_KUBERNETES_HOLD, "hold")         /* they are bound, and hold their GPUs, as in Kubernetes */

#define HR_KUBERNETES_NAME(name, text) name,
enum hr_kubernetes_scoring { HR_KUBERNETES_SCORING_TABLE(HR_KUBERNETES_NAME) };
enum hr_kubernetes_preemption { HR_KUBERNETES_PREEMPTION_TABLE(HR_KUBERNETES_NAME) };
enum hr_kubernetes_partial { HR_KUBERNETES_PARTIAL_TABLE(HR_KUBERNETES_NAME) };
#undef HR_KUBERNETES_NAME

struct hr_kubernetes_resource {
  char *name; /* such as "cpu" or "nvidia.com/gpu" */
  uint32_t weight;
};

/* A point of the shape of HR_KUBERNETES_REQUESTED_TO_CAPACITY_RATIO: utilization 0 to 100, score 0 to 10. */
struct hr_kubernetes_point {
  uint32_t utilization, score;
};

struct hr_kubernetes_class {
  char *name;
  int32_t value; /* the priority of its pods */
  enum hr_kubernetes_preemption preemption;
};

struct hr_kubernetes_config {
  enum hr_kubernetes_scoring scoring;
  struct hr_kubernetes_resource *resources; /* [n_resources]; NULL: cpu and memory, with equal weights */
  uint32_t n_resources;
  struct hr_kubernetes_point *shape; /* [n_points]; NULL: 0 to 10 for a utilization of 0 to 100 */
  uint32_t n_points;
  struct hr_kubernetes_resource *balanced; /* [n_balanced]; NULL: cpu and memory; weights are unused */
  uint32_t n_balanced;
  uint32_t fit_weight, balanced_weight; /* of the plug-ins NodeResourcesFit and NodeResourcesBalancedAllocation */
  uint32_t percentage_of_nodes;         /* percentageOfNodesToScore; 0: adaptive */
  bool preempts;
  struct hr_kubernetes_class *classes; /* [n_classes]; a job has the class with its priority as the value */
  uint32_t n_classes;
  int64_t initial_backoff_us, max_backoff_us;
  enum hr_kubernetes_partial partial;
  char *gpu_resource; /* the name of GPUs; NULL: nvidia.com/gpu */
  uint32_t pods_per_node;
  int64_t idle_release_us; /* idle time after which the cluster autoscaler releases a node */
  uint64_t seed;           /* of the choice between nodes with equal scores; 0: that of the scenario */
};

#ifdef __cplusplus
}
#endif
#endif
