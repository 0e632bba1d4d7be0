/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_PLACEMENT_H
#define HEADROOM_UNSTABLE_PLACEMENT_H

#include "headroom/base.h"
#include "headroom/gpu_inventory.h"
#include "headroom/policy.h"
#include "headroom/unstable/fragmentation.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Placement of single tasks: rules that score nodes and select GPUs by the state of each GPU, CPU and memory, like
 * those of the Kubernetes scheduler and the fragmentation-aware one of Weng et al. ("Beware of Fragmentation", ATC'23).
 * docs/researcher/fill.md defines each rule.
 *
 * All memory comes from the arena; functions that create something return NULL if memory is exhausted. Threads must not
 * share packers; requests and typical pods are immutable.
 */

/* ---- Rules ---- */

/* Kinds of tasks as in the gpu-clustering rule: no GPU, a share of a GPU, 1 GPU, 2 GPUs, ... */
#define HR_KIND_NO_GPU 0u
#define HR_KIND_SHARE 1u
#define HR_KIND_WHOLE 2u
static inline uint32_t hr_request_kind(const struct hr_request *request) {
  if (request->gpus == 0) return HR_KIND_NO_GPU;
  return request->gpu_milli < HR_WHOLE_GPU_MILLI ? HR_KIND_SHARE : HR_KIND_WHOLE + request->gpus - 1;
}

/* What a rule may use. */
struct hr_packing {
  const struct hr_gpu_inventory *inventory;
  const struct hr_cluster_spec *cluster;
  uint64_t max_cpu_milli, max_gpu_milli; /* maximum over nodes, at least 1 */
  uint32_t n_kinds;
  const uint32_t *tasks;         /* [n_nodes]: number of tasks */
  const uint32_t *tasks_of_kind; /* [n_nodes][n_kinds]: number of tasks */
  const struct hr_typical_pods *typical;
  struct hr_fragmentation *fragmentation; /* NULL unless the rule uses it */
  uint64_t seed, *finds;                  /* finds: number of searches so far */
};

/* A rule selects the node with the highest score among those on which the task fits, the first of equal ones. */
struct hr_packing_rule {
  const char *name, *summary;
  /* The score of a node on which the request fits, 0 .. INT32_MAX - 1: a function of the node's free resources and
     its tasks. NULL: a random node, uniformly. */
  int32_t (*score)(const struct hr_packing *packing, const struct hr_request *request, hr_node node);
  /* The GPUs to take of the selected node; NULL: hr_gpu_inventory_pick. */
  uint64_t (*pick)(const struct hr_packing *packing, const struct hr_request *request, hr_node node);
  bool wants_fragmentation;
  bool scores_nodes; /* the score of a node is the same for all requests that fit on it */
};
/* All rules, terminated by NULL. */
HR_API const struct hr_packing_rule *const *hr_packing_rules(void);
/* Finds a rule; NULL if none has that name, and `error` suggests the nearest name. */
HR_API const struct hr_packing_rule *hr_packing_rule_find(const char *name, struct hr_error *error);

/* ---- Packer ---- */

/* Borrowed. */
struct hr_packer_config {
  const struct hr_packing_rule *rule;
  const struct hr_gpu_inventory *inventory; /* the present state; report each change of it to the packer */
  const struct hr_cluster_spec *cluster;
  struct hr_acceptance acceptance;
  const struct hr_request *requests;
  uint32_t n_requests;
  const struct hr_typical_pods *typical; /* may be NULL unless the rule uses fragmentation */
  uint64_t seed;
  /* The number of searches so far, by which random draws are indexed. The packer counts each search; reset it after
     searches that only ask whether a task fits. NULL: the packer counts by itself. */
  uint64_t *finds;
};

/*
 * A packer stores, for each request that was ever searched for, the scores of all nodes in a tournament tree. A search
 * costs one score per node that changed since the previous search for that request, plus the logarithm of the number of
 * nodes. If scores do not depend on the request, it costs that for eight requests together.
 */
struct hr_packer;
HR_API struct hr_packer *hr_packer_create(struct hr_arena *arena, const struct hr_packer_config *config);
/* Finds a node and GPUs for one task of the request. False if it fits nowhere. */
HR_API bool hr_packer_find(struct hr_packer *packer, uint32_t request, hr_node *node, uint64_t *gpus);
/* As hr_packer_find, limited to consecutive nodes; also looks at each of them. */
HR_API bool hr_packer_find_among(struct hr_packer *packer, uint32_t request, hr_node first, uint32_t n_nodes,
                                 hr_node *node, uint64_t *gpus);
/* Call these after hr_gpu_inventory_take and hr_gpu_inventory_give. */
HR_API void hr_packer_taken(struct hr_packer *packer, uint32_t request, hr_node node);
HR_API void hr_packer_given(struct hr_packer *packer, uint32_t request, hr_node node);
/* Call this after any other change of a node's free resources. */
HR_API void hr_packer_changed(struct hr_packer *packer, hr_node node);

#ifdef __cplusplus
}
#endif
#endif
