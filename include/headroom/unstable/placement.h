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
 * Placement of single tasks. A rule scores nodes and selects GPUs by the state of each GPU, CPU and memory. The rules
 * are like those of the Kubernetes scheduler and the fragmentation-aware rule of Weng et al. ("Beware of
 * Fragmentation", ATC'23). docs/researcher/fill.md defines each rule.
 *
 * All memory is from the arena; functions that create something return NULL if memory is exhausted. Each thread needs
 * its own packer; requests and typical pods can be shared, because they are immutable.
 */

/* ---- Rules ---- */

/* The kind of a task, which the rule gpu-clustering uses. HR_KIND_NO_GPU: no GPU; HR_KIND_SHARE: a share of a GPU;
   HR_KIND_WHOLE + n - 1: n whole GPUs. */
#define HR_KIND_NO_GPU 0u
#define HR_KIND_SHARE 1u
#define HR_KIND_WHOLE 2u
static inline uint32_t hr_request_kind(const struct hr_request *request) {
  if (request->gpus == 0) return HR_KIND_NO_GPU;
  return request->gpu_milli < HR_WHOLE_GPU_MILLI ? HR_KIND_SHARE : HR_KIND_WHOLE + request->gpus - 1;
}

/* The input of a rule. Everything is borrowed. */
struct hr_packing {
  const struct hr_gpu_inventory *inventory;
  const struct hr_cluster_spec *cluster;
  /* the milli-CPUs of the node with the most CPU, and the milli-GPUs of the node with the most GPUs; at least 1 */
  uint64_t max_cpu_milli, max_gpu_milli;
  uint32_t n_kinds;              /* number of kinds of tasks */
  const uint32_t *tasks;         /* [n_nodes]: number of tasks on the node */
  const uint32_t *tasks_of_kind; /* [n_nodes][n_kinds]: number of tasks of each kind */
  const struct hr_typical_pods *typical;
  struct hr_fragmentation *fragmentation; /* NULL unless the rule has `wants_fragmentation` */
  /* finds: number of searches so far, which is the index of the next random draw */
  uint64_t seed, *finds;
};

/* A rule. It selects the node with the highest score among the nodes on which the task fits; of equal nodes, the
   first. */
struct hr_packing_rule {
  const char *name, *summary;
  /* Returns the score of a node on which the request fits, from 0 to INT32_MAX - 1. The score depends only on the
     node's free resources and on the tasks on the node. NULL: the rule selects a random node, uniformly. */
  int32_t (*score)(const struct hr_packing *packing, const struct hr_request *request, hr_node node);
  /* Selects the GPUs that the task takes on the selected node, and returns them as a set. NULL: hr_gpu_inventory_pick
     is used. */
  uint64_t (*pick)(const struct hr_packing *packing, const struct hr_request *request, hr_node node);
  bool wants_fragmentation; /* the rule reads `fragmentation` */
  bool scores_nodes;        /* the score of a node is the same for all requests that fit on the node */
};
/* Returns all rules, terminated by NULL. */
HR_API const struct hr_packing_rule *const *hr_packing_rules(void);
/* Finds a rule by name. Returns NULL if no rule has the name; `error` then suggests the nearest name. */
HR_API const struct hr_packing_rule *hr_packing_rule_find(const char *name, struct hr_error *error);

/* ---- Packer ---- */

/* The configuration of a packer. Everything is borrowed. */
struct hr_packer_config {
  const struct hr_packing_rule *rule;
  /* the state of the cluster; the caller reports each change of this state to the packer */
  const struct hr_gpu_inventory *inventory;
  const struct hr_cluster_spec *cluster;
  struct hr_acceptance acceptance;
  const struct hr_request *requests; /* [n_requests] */
  uint32_t n_requests;
  const struct hr_typical_pods *typical; /* may be NULL if the rule does not use fragmentation */
  uint64_t seed;
  /* The number of searches so far, which is the index of the next random draw. Each search increments it. After a
     search that only tests whether a task fits, the caller restores the previous number, so that the search does not
     affect later draws. NULL: the packer has its own counter. */
  uint64_t *finds;
};

/*
 * A packer finds nodes by a rule. For each request that has been searched for, it stores the scores of all nodes in a
 * tournament tree. A search computes the scores of the nodes that changed since the last search for the same request,
 * and then takes O(log n) for n nodes. If the scores of a rule do not depend on the request (scores_nodes), each
 * computed score is shared by eight requests.
 */
struct hr_packer;
HR_API struct hr_packer *hr_packer_create(struct hr_arena *arena, const struct hr_packer_config *config);
/* Finds a node and its GPUs for one task of requests[request]. Returns false if the task fits on no node. */
HR_API bool hr_packer_find(struct hr_packer *packer, uint32_t request, hr_node *node, uint64_t *gpus);
/* As hr_packer_find, but limited to the nodes first .. first + n_nodes - 1. Takes additional O(n_nodes). */
HR_API bool hr_packer_find_among(struct hr_packer *packer, uint32_t request, hr_node first, uint32_t n_nodes,
                                 hr_node *node, uint64_t *gpus);
/* Report changes to the packer: call hr_packer_taken after each hr_gpu_inventory_take, and hr_packer_given after each
   hr_gpu_inventory_give. */
HR_API void hr_packer_taken(struct hr_packer *packer, uint32_t request, hr_node node);
HR_API void hr_packer_given(struct hr_packer *packer, uint32_t request, hr_node node);
/* Reports that all tasks of a node were removed at once. */
HR_API void hr_packer_cleared(struct hr_packer *packer, hr_node node);
/* Reports that the tasks of a node changed. `tasks_of_kind`: [hr_packer_kinds], number of tasks of each kind. */
HR_API void hr_packer_set_tasks(struct hr_packer *packer, hr_node node, uint32_t tasks, const uint64_t *tasks_of_kind);
/* Returns the number of kinds of tasks (hr_request_kind) in a cluster with at most `max_gpus` GPUs per node. */
static inline uint32_t hr_packer_kinds(uint32_t max_gpus) {
  return HR_KIND_WHOLE + max_gpus;
}
/* Reports any other change of the free resources of a node to the packer. */
HR_API void hr_packer_changed(struct hr_packer *packer, hr_node node);

#ifdef __cplusplus
}
#endif
#endif
