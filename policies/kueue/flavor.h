/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_FLAVOR_H
#define HR_POLICIES_KUEUE_FLAVOR_H

/* Flavor assignment: chooses a flavor for each resource of a workload (RULES 1.4), and smaller counts of pods if the
   full ones do not fit (RULES 1.5). */

#include "policies/kueue/kueue.h"

/* How a flavor can provide a resource, from the worst to the best. */
enum hr__kueue_fit {
  HR__KUEUE_FIT_NONE,
  HR__KUEUE_FIT_NO_CANDIDATES, /* preemption is allowed, but finds no targets */
  HR__KUEUE_FIT_PREEMPT,       /* preempts workloads of the same queue */
  HR__KUEUE_FIT_RECLAIM,       /* preempts workloads of other queues only */
  HR__KUEUE_FIT_FREE
};

struct hr__kueue_outcome {
  enum hr__kueue_fit fit;
  int32_t level; /* borrow level */
};

/* Whether outcome `a` is better than `b`. */
bool hr__kueue_is_preferred(struct hr__kueue_outcome a, struct hr__kueue_outcome b, bool preemption_first);

/* Simulates the preemption for an amount of one pair. Returns NO_CANDIDATES, PREEMPT or RECLAIM, and sets the borrow
   level after the preemption. */
typedef enum hr__kueue_fit hr__kueue_simulate(void *self, struct hr__kueue_world *world,
                                              const struct hr__kueue_workload *workload, uint32_t pair, int64_t amount,
                                              int32_t *level);

/* An assigner with its scratch memory. It can be used for any workload of the world. */
struct hr__kueue_assigner {
  struct hr__kueue_world *world;
  hr__kueue_simulate *simulate;
  void *simulation; /* first argument of `simulate` */
  /* Flavors of an earlier assignment of the same workload to stay with; NULL: any. */
  const struct hr__kueue_assignment *pinned;
  /* Scratch by resource: requests of a group of pod sets, and the flavors chosen so far, of one flavor, and of the best
     flavor. The flavor HR_NONE means that none is chosen. */
  int64_t *sums;
  bool *wanted;
  struct hr__kueue_choice *chosen, *trial, *best;
  struct hr__kueue_attempt *attempts; /* by flavor, of the group of pod sets; flavor HR_NONE: not tried */
  struct hr__kueue_attempt *considered;
  uint32_t *members; /* pod sets of the group */
  uint32_t n_members, n_considered;
  struct hr__kueue_placements placements;
};

/* Allocates the scratch memory. Returns false if memory is exhausted. */
bool hr__kueue_assigner_begin(struct hr__kueue_assigner *self, struct hr_arena *arena, struct hr__kueue_world *world);
/* Allocates an assignment for any workload of the world. Returns false if memory is exhausted. */
bool hr__kueue_assignment_begin(struct hr__kueue_assignment *assignment, struct hr_arena *arena,
                                const struct hr__kueue_world *world);
/* Assigns flavors to `workload` in its queue. `counts` are the numbers of pods by pod set; NULL: all. */
void hr__kueue_assign(struct hr__kueue_assigner *self, const struct hr__kueue_workload *workload, const int64_t *counts,
                      struct hr__kueue_assignment *out);
/* Computes the mode and the reason again after the modes of choices have changed. */
void hr__kueue_assignment_settle(const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
                                 struct hr__kueue_assignment *assignment);
/* Takes over placements that were found. */
void hr__kueue_assignment_place(struct hr__kueue_assignment *assignment, const struct hr__kueue_placements *placements);

/* Whether the labels and taints of a flavor match a pod set. */
bool hr__kueue_flavor_matches(const struct hr__kueue_world *world, uint32_t queue,
                              const struct hr__kueue_pod_set *pod_set, uint32_t flavor);
/* The resource group of a queue that covers a resource; NULL: none. */
const struct hr__kueue_group *hr__kueue_group_of(const struct hr__kueue_queue *queue, uint32_t resource);

/* ---- Partial admission ---- */

/* Tries counts of pods; returns whether they fit. */
typedef bool hr__kueue_try_counts(void *self, const int64_t *counts);
/* Looks for the largest counts between the minimum and the full counts for which `fits` holds. `counts` is scratch for
   n entries, and has the counts that were found. A minimum of -1 means the full count. Returns whether some fit. */
bool hr__kueue_reduce(const int64_t *full, const int64_t *minimum, uint32_t n, int64_t *counts,
                      hr__kueue_try_counts *fits, void *self);

#endif
