/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_FRAGMENTATION_H
#define HEADROOM_UNSTABLE_FRAGMENTATION_H

/*
 * How much of what is idle on nodes is of no use to the tasks that come, as Weng et al. define it ("Beware of
 * Fragmentation", ATC'23). All memory comes from the arena; functions that make something return NULL when it has run
 * out.
 */

#include "headroom/base.h"
#include "headroom/gpu_inventory.h"
#include "headroom/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What is asked for ------------------------------------------------------------------------------ */

/* The pools that each accept class accepts. */
struct hr_acceptance {
  const uint8_t *row; /* [n_classes][n_pools], 0 or 1 */
  uint32_t n_classes, n_pools;
};

/* Pods (tasks of jobs, those without GPUs, too) that stand for all of a trace: grouped by CPU, GPUs, share of each,
   profiles of MIG that will do and accept class, most frequent first, until 95 % of all are there. */
struct hr_typical_pods {
  uint32_t count;
  struct hr_request *request; /* [count]; memory is 0 */
  uint64_t *pods;             /* [count], that ask for it */
  uint64_t total;             /* of all of them */
};
HR_API struct hr_typical_pods *hr_typical_pods_create(struct hr_arena *arena, const struct hr_requests *requests);

/* ---- Fragments -------------------------------------------------------------------------------------- */

/*
 * A node's fragment for a typical pod is what the pod cannot use of the node's idle GPUs: all of it where the pod asks
 * for no GPU, does not accept the pool, or does not fit by its CPU or its GPUs; else what is left of GPUs with less
 * left than it asks for of each, or, where MIG splits them, without an instance for it. F(node) is the mean over
 * typical pods, in thousandths of a GPU.
 */
struct hr_fragmentation;
HR_API struct hr_fragmentation *hr_fragmentation_create(struct hr_arena *arena, const struct hr_typical_pods *typical,
                                                        const struct hr_acceptance *acceptance,
                                                        const struct hr_gpu_inventory *inventory);
/* F(node) x typical->total, which is whole. */
HR_API uint64_t hr_fragmentation_of(struct hr_fragmentation *fragmentation, hr_node node);
/* Likewise once a request were taken on these of the node's GPUs. */
HR_API uint64_t hr_fragmentation_after(struct hr_fragmentation *fragmentation, const struct hr_request *request,
                                       hr_node node, uint64_t gpus);

#ifdef __cplusplus
}
#endif
#endif
