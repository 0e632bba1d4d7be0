/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_FRAGMENTATION_H
#define HEADROOM_UNSTABLE_FRAGMENTATION_H

/*
 * Fragmentation: the part of the idle GPUs of a node that typical tasks cannot use, as defined by Weng et al. ("Beware
 * of Fragmentation", ATC'23). All memory is from the arena; functions that create something return NULL if memory is
 * exhausted.
 */

#include "headroom/base.h"
#include "headroom/gpu_inventory.h"
#include "headroom/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Typical pods ---- */

/* For each accept class, the set of pools that it accepts. */
struct hr_acceptance {
  const uint8_t *row; /* [n_classes][n_pools]: 0 or 1 */
  uint32_t n_classes, n_pools;
};

/* The pods that represent a trace. A pod is a task of a job; tasks without GPUs are included. Pods are grouped by CPU,
   GPUs, share of each GPU, suitable MIG profiles and accept class. The typical pods are the most frequent groups that
   together have at least 95 % of all pods. Each group is represented by one request. */
struct hr_typical_pods {
  uint32_t count;
  struct hr_request *request; /* [count], the most frequent first; `mem_mib` and `gpu_mem_mib` are 0 */
  uint64_t *pods;             /* [count]: number of pods of the group */
  uint64_t total;             /* sum of `pods` */
};
/* Finds the typical pods of a trace; `requests` are all requests of its jobs. */
HR_API struct hr_typical_pods *hr_typical_pods_create(struct hr_arena *arena, const struct hr_requests *requests);

/* ---- Fragmentation ---- */

/*
 * The fragment of a node for a typical pod is the idle GPU capacity of the node that the pod cannot use. It is the idle
 * capacity of all GPUs of the node if the pod requests no GPU, does not accept the pool, or does not fit because of its
 * CPU or its number of GPUs. In all other cases, it is the idle capacity of the GPUs that are too full for the pod. A
 * GPU without MIG is too full if its idle capacity is less than the share that the pod requests. A GPU with MIG is too
 * full if it has no room for a suitable instance.
 *
 * F(node) is the mean fragment over the typical pods, in milli-GPUs.
 */
struct hr_fragmentation;
/* Creates the state for an inventory. The arguments must outlive the result. */
HR_API struct hr_fragmentation *hr_fragmentation_create(struct hr_arena *arena, const struct hr_typical_pods *typical,
                                                        const struct hr_acceptance *acceptance,
                                                        const struct hr_gpu_inventory *inventory);
/* Returns F(node) x typical->total, because this product is an integer. */
HR_API uint64_t hr_fragmentation_of(struct hr_fragmentation *fragmentation, hr_node node);
/* Returns the value that hr_fragmentation_of would return after the GPUs `gpus` of the node were allocated to one task
   of the request. */
HR_API uint64_t hr_fragmentation_after(struct hr_fragmentation *fragmentation, const struct hr_request *request,
                                       hr_node node, uint64_t gpus);

#ifdef __cplusplus
}
#endif
#endif
