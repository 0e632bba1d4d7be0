/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_PREEMPT_H
#define HR_POLICIES_KUEUE_PREEMPT_H

/* Preemption: which workloads with quota are evicted so that another one fits, in the classical way (RULES 1.6) or by
   fair sharing (RULES 1.7). */

#include "policies/kueue/flavor.h"
#include "policies/kueue/kueue.h"
#include "policies/kueue/share.h"

enum hr__kueue_cause {
  HR__KUEUE_IN_QUEUE,               /* InClusterQueue */
  HR__KUEUE_RECLAIM,                /* InCohortReclamation */
  HR__KUEUE_FAIR_SHARE,             /* InCohortFairSharing */
  HR__KUEUE_RECLAIM_WHILE_BORROWING /* InCohortReclaimWhileBorrowing */
};

struct hr__kueue_target {
  uint32_t workload;
  enum hr__kueue_cause cause;
};

struct hr__kueue_candidate {
  uint32_t workload;
  uint32_t ancestor; /* cohort at which it was collected; HR_NONE: the queue of the preemptor */
  enum hr__kueue_cause cause;
  bool only_without_borrowing;
  bool hierarchy; /* the preemptor is closer to the quota */
  uint32_t next;  /* in the list of its queue (fair sharing) */
};

/* What is preempted for. */
struct hr__kueue_demand {
  const struct hr__kueue_workload *workload;
  const struct hr__kueue_usage *usage; /* amounts that must fit */
  uint32_t n_usage;
  const struct hr__kueue_assignment *assignment; /* whose placements must fit, too; NULL: only quota matters */
  const uint32_t *pairs;                         /* pairs that need preemption */
  uint32_t n_pairs;
};

/* The scratch memory of preemptions in a world. */
struct hr__kueue_preemptor {
  struct hr__kueue_world *world;
  struct hr__kueue_demand demand; /* of the preemption in progress */
  struct hr__kueue_candidate *candidates, *spare;
  uint32_t n_candidates;
  struct hr__kueue_target *targets; /* the result; room for all workloads */
  uint32_t n_targets;
  uint32_t *pairs, n_pairs;
  struct hr__kueue_usage *rest; /* requests that remain above the nodes that were visited */
  uint32_t *heads;              /* first candidate of each queue (fair sharing) */
  bool *pruned;                 /* by node */
  uint32_t *retry, n_retry;     /* candidates for the second strategy */
  struct hr__kueue_placements placements;
};

/* Allocates the scratch memory. Returns false if memory is exhausted. */
bool hr__kueue_preemptor_begin(struct hr__kueue_preemptor *self, struct hr_arena *arena, struct hr__kueue_world *world);
/* Finds the targets for an assignment with the mode HR__KUEUE_PREEMPT. They are in `targets`. Returns their number; 0
   if the workload cannot fit. The world is unchanged. */
uint32_t hr__kueue_preempt(struct hr__kueue_preemptor *self, const struct hr__kueue_workload *workload,
                           const struct hr__kueue_assignment *assignment);
/* The same for any demand. */
uint32_t hr__kueue_preempt_for(struct hr__kueue_preemptor *self, const struct hr__kueue_demand *demand);
/* A hr__kueue_simulate function; `self` is a hr__kueue_preemptor. */
hr__kueue_simulate hr__kueue_preempt_simulate;

/* Whether a candidate may be preempted under a policy. */
bool hr__kueue_policy_allows(enum hr__kueue_policy policy, const struct hr__kueue_workload *preemptor,
                             const struct hr__kueue_workload *candidate);
/* Compares candidates of a preemption for `queue`: negative if `a` is preempted before `b`. Equal workloads are in the
   order of their indices. */
int hr__kueue_candidate_order(const struct hr__kueue_world *world, uint32_t a, uint32_t b, uint32_t queue);
/* Whether the queue can always reclaim its nominal quota. */
bool hr__kueue_can_always_reclaim(const struct hr__kueue_queue *queue);
/* The name of a cause in Kueue. */
const char *hr__kueue_cause_name(enum hr__kueue_cause cause);

/* ---- Steps, for preempt*.c ---- */

bool hr__kueue_demand_uses(const struct hr__kueue_preemptor *self, const struct hr__kueue_workload *candidate);
/* Whether the node uses at most its quota of all pairs of the demand. */
bool hr__kueue_within_nominal(const struct hr__kueue_preemptor *self, uint32_t node);
/* Whether the demand fits now. */
bool hr__kueue_demand_fits(struct hr__kueue_preemptor *self, bool borrow);
void hr__kueue_candidates_sort(struct hr__kueue_preemptor *self);
/* Adds a target and removes its usage. */
void hr__kueue_target_take(struct hr__kueue_preemptor *self, uint32_t workload, enum hr__kueue_cause cause);
/* Puts targets back that are not needed, and restores the usage of all. */
void hr__kueue_targets_settle(struct hr__kueue_preemptor *self, bool fits, bool borrow);
void hr__kueue_preempt_classical(struct hr__kueue_preemptor *self);
void hr__kueue_preempt_fair(struct hr__kueue_preemptor *self);

/* The order of queues under fair sharing: starts with the candidates that `candidates` has, in order. */
void hr__kueue_fair_begin(struct hr__kueue_preemptor *self);
/* The next queue to preempt from; HR_NONE: there is none. The caller then pops a candidate or drops the queue. */
uint32_t hr__kueue_fair_next(struct hr__kueue_preemptor *self);
uint32_t hr__kueue_fair_pop(struct hr__kueue_preemptor *self, uint32_t queue);
void hr__kueue_fair_drop(struct hr__kueue_preemptor *self, uint32_t queue);

#endif
