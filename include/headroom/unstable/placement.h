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
 * On which node one task goes, and on which of its GPUs: rules that look at each GPU, at CPU and at memory, as those of
 * Kubernetes' scheduler and of the fragmentation-aware one of Weng et al. ("Beware of Fragmentation", ATC'23) do.
 * docs/researcher/fill.md says each rule. All memory comes from the arena; functions that make something return NULL
 * when it has run out. Nothing here is shared between threads but requests and typical pods, which do not change.
 */

/* ---- Rules ------------------------------------------------------------------------------------------ */

/* Kinds of tasks as gpu-clustering tells them apart: none of its GPUs, a share of some, 1 GPU, 2 GPUs, ... */
#define HR_KIND_NO_GPU 0u
#define HR_KIND_SHARE 1u
#define HR_KIND_WHOLE 2u
static inline uint32_t hr_request_kind(const struct hr_request *request) {
  if (request->gpus == 0) return HR_KIND_NO_GPU;
  return request->gpu_milli < HR_WHOLE_GPU_MILLI ? HR_KIND_SHARE : HR_KIND_WHOLE + request->gpus - 1;
}

/* What a rule looks at. */
struct hr_packing {
  const struct hr_gpu_inventory *inventory;
  const struct hr_cluster_spec *cluster;
  uint64_t max_cpu_milli, max_gpu_milli; /* of any node, at least 1 */
  uint32_t n_kinds;
  const uint32_t *tasks;         /* [n_nodes], that are there */
  const uint32_t *tasks_of_kind; /* [n_nodes][n_kinds] */
  const struct hr_typical_pods *typical;
  struct hr_fragmentation *fragmentation; /* NULL unless the rule wants it */
  uint64_t seed, finds;                   /* finds: made so far */
};

/* The node with the highest score, of those that the task fits, the first among equals. */
struct hr_packing_rule {
  const char *name, *summary;
  /* Of a node that the request fits, 0 .. INT32_MAX - 1: a function of what the node has free and of the tasks that are
     there. NULL: one of the nodes, each as likely. */
  int32_t (*score)(const struct hr_packing *packing, const struct hr_request *request, hr_node node);
  /* The GPUs of the node that was chosen; NULL: hr_gpu_inventory_pick. */
  uint64_t (*pick)(const struct hr_packing *packing, const struct hr_request *request, hr_node node);
  bool wants_fragmentation;
  bool scores_nodes; /* the score is the same for all requests that fit the node */
};
/* All of them, ended by NULL. */
HR_API const struct hr_packing_rule *const *hr_packing_rules(void);
/* By name; NULL with `error` naming the nearest one. */
HR_API const struct hr_packing_rule *hr_packing_rule_find(const char *name, struct hr_error *error);

/* ---- The packer ------------------------------------------------------------------------------------- */

/* All of it is borrowed. */
struct hr_packer_config {
  const struct hr_packing_rule *rule;
  const struct hr_gpu_inventory *inventory; /* as it is now; whoever changes it tells the packer */
  const struct hr_cluster_spec *cluster;
  struct hr_acceptance acceptance;
  const struct hr_request *requests;
  uint32_t n_requests;
  const struct hr_typical_pods *typical; /* may be NULL unless the rule wants fragmentation */
  uint64_t seed;
};

/*
 * Each request that was ever asked for keeps the scores of all nodes in a tournament. To find costs one score for each
 * node that changed since the request was last asked for, and the logarithm of the number of nodes. Where scores are of
 * nodes alone, it costs that for eight requests together.
 */
struct hr_packer;
HR_API struct hr_packer *hr_packer_create(struct hr_arena *arena, const struct hr_packer_config *config);
/* Where one task of the request would go; false when it fits nowhere. */
HR_API bool hr_packer_find(struct hr_packer *packer, uint32_t request, hr_node *node, uint64_t *gpus);
/* Likewise on some neighbouring nodes alone; costs a look at each of them besides. */
HR_API bool hr_packer_find_among(struct hr_packer *packer, uint32_t request, hr_node first, uint32_t n_nodes,
                                 hr_node *node, uint64_t *gpus);
/* How many finds were made, which draws go by; and that those since then were only to know whether a task fits. */
HR_API uint64_t hr_packer_finds(const struct hr_packer *packer);
HR_API void hr_packer_rewind(struct hr_packer *packer, uint64_t finds);
/* To be told after hr_gpu_inventory_take and hr_gpu_inventory_give. */
HR_API void hr_packer_taken(struct hr_packer *packer, uint32_t request, hr_node node);
HR_API void hr_packer_given(struct hr_packer *packer, uint32_t request, hr_node node);
/* Likewise of any other change to what a node has free. */
HR_API void hr_packer_changed(struct hr_packer *packer, hr_node node);

#ifdef __cplusplus
}
#endif
#endif
