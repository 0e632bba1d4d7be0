/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_FRAGMENTATION_H
#define HEADROOM_UNSTABLE_FRAGMENTATION_H

/*
 * Fragmentation: how much of the idle GPUs of a node is useless to typical tasks, as defined by Weng et al. ("Beware of
 * Fragmentation", ATC'23). All memory comes from the arena; functions that create something return NULL if memory is
 * exhausted.
 */

#include "headroom/base.h"
#include "headroom/gpu_inventory.h"
#include "headroom/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Typical pods ---- */

/* The pools that each accept class accepts. */
struct hr_acceptance {
  const uint8_t *row; /* [n_classes][n_pools]: 0 or 1 */
  uint32_t n_classes, n_pools;
};

/* Pods (tasks of jobs, including those without GPUs) that represent a trace: grouped by CPU, GPUs, share of each
   GPU, suitable MIG profiles and accept class, the most frequent first, until they cover 95 % of all. */
struct hr_typical_pods {
  uint32_t count;
  struct hr_request *request; /* [count]; memory is 0 */
  uint64_t *pods;             /* [count]: number of pods with this request */
  uint64_t total;             /* of all typical pods */
};
HR_API struct hr_typical_pods *hr_typical_pods_create(struct hr_arena *arena, const struct hr_requests *requests);

/* ---- Fragmentation ---- */

/*
 * The fragment of a node for a typical pod is what the pod cannot use of the node's idle GPUs: all of it if the pod
 * requests no GPU, does not accept the pool, or does not fit by its CPU or its number of GPUs; otherwise the remainders
 * of GPUs that are smaller than it requests or, with MIG, that cannot provide an instance. F(node) is the mean over
 * typical pods, in milli-GPUs.
 */
struct hr_fragmentation;
HR_API struct hr_fragmentation *hr_fragmentation_create(struct hr_arena *arena, const struct hr_typical_pods *typical,
                                                        const struct hr_acceptance *acceptance,
                                                        const struct hr_gpu_inventory *inventory);
/* F(node) x typical->total, an integer. */
HR_API uint64_t hr_fragmentation_of(struct hr_fragmentation *fragmentation, hr_node node);
/* As hr_fragmentation_of, if the request were allocated on these GPUs of the node. */
HR_API uint64_t hr_fragmentation_after(struct hr_fragmentation *fragmentation, const struct hr_request *request,
                                       hr_node node, uint64_t gpus);

#ifdef __cplusplus
}
#endif
#endif
