/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_STATEMENT_H
#define HR_POLICIES_KAI_STATEMENT_H

/* Changes of a session that are either committed or undone: pods get a place, wait for one, or are evicted. */

#include "policies/kai/session.h"

/* A point to which a statement can be undone. */
struct hr__kai_mark {
  size_t n_changes;
};

struct hr__kai_mark hr__kai_mark(const struct hr__kai_session *session);
/* Undoes all changes since the mark. */
void hr__kai_undo(struct hr__kai_session *session, struct hr__kai_mark mark);
/* Carries out what was done since the last commit. */
void hr__kai_commit(struct hr__kai_session *session);

/* Evicts a pod. It stays on its node until it is released. */
void hr__kai_evict(struct hr__kai_session *session, uint32_t pod);
/* Places a pod on idle resources of a node. */
void hr__kai_bind(struct hr__kai_session *session, uint32_t pod, uint32_t node);
/* Lets a pod wait for resources of a node. If the node still counts the pod, because it was evicted there, and it would
   get the same shared GPUs, the eviction is undone instead. */
void hr__kai_pipeline(struct hr__kai_session *session, uint32_t pod, uint32_t node);
/* Turns the places that the job got since the last commit into places to wait for. */
void hr__kai_pipeline_all(struct hr__kai_session *session, uint32_t job);
/* Evicts a pod at once, outside a statement. */
void hr__kai_evict_now(struct hr__kai_session *session, uint32_t pod);

#endif
