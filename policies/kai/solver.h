/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_SOLVER_H
#define HR_POLICIES_KAI_SOLVER_H

/* Searches for victims whose eviction makes room for a pending job: for consolidation, reclaim and preemption. */

#include "policies/kai/job_order.h"
#include "policies/kai/placement.h"

enum hr__kai_purpose { HR__KAI_CONSOLIDATION, HR__KAI_RECLAIM, HR__KAI_PREEMPTION };

/* Pods of one victim job that are evicted together. */
struct hr__kai_victims {
  uint32_t job, first, n; /* in `pods` of their list */
  bool recorded;          /* found for a smaller part of the pending job */
};

struct hr__kai_victim_list {
  struct hr__kai_victims *groups;
  uint32_t n_groups, max_groups;
  uint32_t *pods;
  uint32_t n_pods;
};

struct hr__kai_solver {
  struct hr__kai_session *session;
  struct hr__kai_placer *placer;
  struct hr__kai_job_order victims, simulated;
  struct hr__kai_victim_list scenario, recorded;
  uint32_t *evicted, n_evicted;        /* pods that are evicted in the simulation */
  uint8_t *is_evicted;                 /* [n_pods] in that list */
  uint8_t *taken, *is_recorded;        /* [n_pods] no longer in the order of victims; found for a smaller part */
  uint8_t *is_victim;                  /* [n_jobs] in the simulation */
  uint32_t *on_node;                   /* [n_pods] the node of a pod when it was added to the scenario */
  uint8_t *free, *lost;                /* [n_nodes] with free GPUs; where recorded victims lost their place */
  uint8_t *feasible, *is_new;          /* [n_nodes] on which jobs may be placed; since the last node was tried */
  uint32_t *part, *pods, *sets;        /* the pods of the pending job; scratch memory */
  struct hr__kai_taken *losses;        /* [n_pods] */
  struct hr__kai_remaining *remaining; /* [n_queues] */
  struct hr__kai_amounts *allocated; /* [n_queues * 2] what queues held before, in all and of what is not preemptible */
};

/* Allocates a solver. Returns whether memory sufficed. */
bool hr__kai_solver_create(struct hr__kai_solver *solver, struct hr__kai_session *session,
                           struct hr__kai_placer *placer);
/* Evicts victims and lets the next pods of the job wait for what they release. Returns whether that is possible; if
   not, nothing has changed. The caller commits. */
bool hr__kai_solve(struct hr__kai_solver *solver, uint32_t job, enum hr__kai_purpose purpose);

#endif
