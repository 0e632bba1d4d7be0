/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_ACTIONS_H
#define HR_POLICIES_KAI_ACTIONS_H

/* The actions of a session of KAI. */

#include "policies/kai/solver.h"

/* The columns: name, word in the configuration. */
#define HR__KAI_ACTIONS(X)                                                                                             \
  X(ALLOCATE, "allocate")                                                                                              \
  X(CONSOLIDATE, "consolidation")                                                                                      \
  X(RECLAIM_ACTION, "reclaim")                                                                                         \
  X(PREEMPT, "preempt")                                                                                                \
  X(EVICT_STALE, "stalegangeviction")

#define HR__KAI_ACTION_NAME(name, word) HR__KAI_##name,
enum hr__kai_action { HR__KAI_ACTIONS(HR__KAI_ACTION_NAME) HR__KAI_N_ACTIONS };
#undef HR__KAI_ACTION_NAME

struct hr__kai_cycle {
  struct hr__kai_session *session;
  struct hr__kai_placer placer;
  struct hr__kai_solver solver;
  struct hr__kai_job_order order;
  uint32_t *pods, *sets; /* scratch memory */
  uint8_t *all_nodes;    /* [n_nodes] 1 */
};

/* Prepares the actions of a session. Returns NULL if memory is exhausted. */
struct hr__kai_cycle *hr__kai_cycle_create(struct hr__kai_session *session);
/* Runs an action. Statuses of pods, shares of queues and times of starts change. */
void hr__kai_run_action(struct hr__kai_cycle *cycle, enum hr__kai_action action);

#endif
