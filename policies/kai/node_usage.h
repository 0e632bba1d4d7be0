/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_NODE_USAGE_H
#define HR_POLICIES_KAI_NODE_USAGE_H

/* What pods use on a node: whole GPUs, MIG instances, and parts of shared GPUs. */

#include "policies/kai/session.h"

/* Sets a cell of the state, so that the change can be undone. */
void hr__kai_set(struct hr__kai_session *session, int64_t *cell, int64_t value);

/* Which of the entries of a pod is for the node; -1: none. */
int hr__kai_entry_on(const struct hr__kai_session *session, uint32_t pod, uint32_t node);
/* The shared GPUs of a pod: of its last placement (list 0), or of a node entry (list 1 + entry). */
int64_t *hr__kai_gpus_of(const struct hr__kai_session *session, uint32_t pod, int list);
/* Copies a list of shared GPUs to another one. */
void hr__kai_copy_gpus(struct hr__kai_session *session, uint32_t pod, int to, int from);
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
int64_t hr__kai_mib_on(const struct hr__kai_session *session, uint32_t pod, uint32_t node);
/* Whether the pod fits on what is idle; with `releasing`, also on what is being released. */
bool hr__kai_fits(const struct hr__kai_session *session, uint32_t pod, uint32_t node, bool releasing);
/* Whether the pod fits on what is idle. A pod that requests next to nothing always does. */
bool hr__kai_fits_now(const struct hr__kai_session *session, uint32_t pod, uint32_t node);
/* Whether `mib` fit on a shared GPU that is not released as a whole. */
bool hr__kai_fits_shared(const struct hr__kai_session *session, int64_t mib, uint32_t node, int64_t gpu);
/* Whether the memory of a shared GPU is idle. */
bool hr__kai_idle_on_shared(const struct hr__kai_session *session, int64_t mib, uint32_t node, int64_t gpu);
/* The number of shared GPUs of a node on which `mib` fit. */
int64_t hr__kai_count_fitting(const struct hr__kai_session *session, int64_t mib, uint32_t node);

/* GPUs of a node that are idle (0) and being released (1), and MiB of GPU memory of both, with parts of shared GPUs. */
void hr__kai_free_gpus(const struct hr__kai_session *session, uint32_t node, double gpus[2], int64_t *mib);

/* ---- Invariants (check.c) ------------------------------------------------------------------------------ */

/* Invariants of a session, for checked mode. */

/* Computes all sums again from the pods. Returns NULL, or the invariant that is broken. No statement may be open. */
const char *hr__kai_check(const struct hr__kai_session *session);

#endif
