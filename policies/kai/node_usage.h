/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_NODE_USAGE_H
#define HR_POLICIES_KAI_NODE_USAGE_H

/* What pods use on a node: whole GPUs, MIG instances, and parts of shared GPUs. */

#include "policies/kai/session.h"

/* Sets a cell of the state, so that the change can be undone. */
void hr__kai_set(struct hr__kai_session *session, int64_t *cell, int64_t value);

/* Which of the entries of a pod is for the node; -1: none. */
static inline int hr__kai_entry_on(const struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  for (int i = 0; i < HR__KAI_ENTRIES; i++)
    if (session->pods[pod].on_node[i] == (int64_t)node) return i;
  return -1;
}

/* The shared GPUs of a pod: of its last placement (list 0), or of a node entry (list 1 + entry). */
static inline int64_t *hr__kai_gpus_of(const struct hr__kai_session *session, uint32_t pod, int list) {
  return session->gpus + session->first_gpu[pod] + (uint32_t)list * session->cluster->pods[pod].n_devices;
}

/* Copies a list of shared GPUs to another one. */
void hr__kai_copy_gpus(struct hr__kai_session *session, uint32_t pod, int to, int from);
/* Adds a shared GPU that no pod uses to those that can be opened again. Their list is sorted by id, so that ids do not
   depend on what happened before. */
void hr__kai_free_gpu(struct hr__kai_session *session, int64_t gpu);
/* Opens a new shared GPU on a node. Returns its id; -1: memory is exhausted. */
int64_t hr__kai_open_gpu(struct hr__kai_session *session, uint32_t node, bool reserved);

/* Counts a pod on a node with its status, in a free entry of the pod; in the last one if none is free. What that one
   counted before stays counted. */
void hr__kai_count_on(struct hr__kai_session *session, uint32_t pod, uint32_t node);
/* The pod moves to other shared GPUs of the node: what it releases there stays counted. */
void hr__kai_count_moved(struct hr__kai_session *session, uint32_t pod, uint32_t node);
/* Stops counting a pod on a node. */
void hr__kai_uncount_on(struct hr__kai_session *session, uint32_t pod, uint32_t node);

/* ---- Fit ---- */

/* The memory of each GPU that the pod takes on a node. */
static inline int64_t hr__kai_mib_on(const struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  const struct hr__kai_pod *described = &session->cluster->pods[pod];
  if (described->gpu_mib > 0) return described->gpu_mib;
  return (int64_t)(described->portion * (double)session->cluster->nodes[node].gpu_mib);
}

/* Whether the pod fits on the idle capacity; with `releasing`, also on capacity that is being released. */
bool hr__kai_fits(const struct hr__kai_session *session, uint32_t pod, uint32_t node, bool releasing);
/* Whether the pod fits on the idle capacity. A pod that requests next to nothing always does. */
bool hr__kai_fits_now(const struct hr__kai_session *session, uint32_t pod, uint32_t node);

/* Whether `mib` fit on a shared GPU that is not released as a whole. */
static inline bool hr__kai_fits_shared(const struct hr__kai_session *session, int64_t mib, uint32_t node, int64_t gpu) {
  const struct hr__kai_shared_gpu *shared = &session->shared[gpu];
  const int64_t free = session->cluster->nodes[node].gpu_mib - shared->allocated + shared->releasing;
  return shared->used != 0 && free >= mib && shared->allocated != shared->releasing;
}

/* Whether the memory of a shared GPU is idle. */
static inline bool hr__kai_idle_on_shared(const struct hr__kai_session *session, int64_t mib, uint32_t node,
                                          int64_t gpu) {
  const struct hr__kai_shared_gpu *shared = &session->shared[gpu];
  return shared->has_allocated && session->cluster->nodes[node].gpu_mib - shared->allocated >= mib;
}

/* The number of shared GPUs of a node on which `mib` fit. */
static inline int64_t hr__kai_count_fitting(const struct hr__kai_session *session, int64_t mib, uint32_t node) {
  int64_t n = 0;
  for (int64_t gpu = session->first_shared[node]; gpu >= 0; gpu = session->shared[gpu].next)
    n += hr__kai_fits_shared(session, mib, node, gpu);
  return n;
}

/* GPUs of a node that are idle (0) and being released (1), and MiB of GPU memory of both, with parts of shared GPUs. */
void hr__kai_free_gpus(const struct hr__kai_session *session, uint32_t node, double gpus[2], int64_t *mib);

/* ---- Invariants (session.c) ------------------------------------------------------------------------------ */

/* Invariants of a session, for checked mode. */

/* Computes all sums again from the pods. Returns NULL, or the invariant that is broken. No statement may be open. */
const char *hr__kai_check(const struct hr__kai_session *session);

#endif
