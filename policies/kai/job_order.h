/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_JOB_ORDER_H
#define HR_POLICIES_KAI_JOB_ORDER_H

/*
 * The order in which jobs, or victims, are taken from the tree of queues.
 *
 * A leaf queue has a heap of jobs, an inner queue has a heap of its children. A job is taken from the first queue at
 * each level. Afterwards only the queues on the path are marked; a marked queue is put to its new position when it is
 * at the top of its heap. So the order is that of KAI, also where queues changed while they were not at the top.
 */

#include "policies/kai/session.h"

struct hr__kai_job_order {
  struct hr__kai_session *session;
  bool victims;                   /* the reversed order, for victims */
  const uint8_t *taken;           /* [n_pods] pods that do not belong to their victim any more */
  uint32_t *heaps;                /* the heaps of the queues: jobs of leaf queues, children of the others */
  uint32_t *first;                /* [n_queues] start of a queue's heap in `heaps` */
  uint32_t *length;               /* [n_queues] */
  bool *is_linked, *is_marked;    /* [n_queues] in the heap of its parent; to be moved to its position */
  struct hr__kai_amounts *popped; /* [n_queues] what the popped victims of a leaf queue hold */
  struct hr__kai_amounts *size;   /* [n_jobs] what a victim in a heap holds */
  int8_t *elastic;                /* [n_jobs] its elastic state */
  uint32_t *top;                  /* [n_queues] the heap of the top queues */
  uint32_t n_top;
  uint32_t *pods, *sets; /* scratch memory for the pods and pod sets of a job */
};

/* Allocates an empty order. Returns whether memory sufficed. */
bool hr__kai_order_create(struct hr__kai_job_order *order, struct hr__kai_session *session, uint32_t *pods,
                          uint32_t *sets);
void hr__kai_order_clear(struct hr__kai_job_order *order, bool victims, const uint8_t *taken);
/* Adds a job. Jobs whose queue or its parent does not exist, or that are not in a leaf queue, are left out. */
void hr__kai_order_push(struct hr__kai_job_order *order, uint32_t job);
bool hr__kai_order_is_empty(const struct hr__kai_job_order *order);
/* Removes the first job and returns its id; HR__KAI_NONE: none. */
uint32_t hr__kai_order_pop(struct hr__kai_job_order *order);

#endif
