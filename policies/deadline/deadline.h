/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_DEADLINE_DEADLINE_H
#define HR_POLICIES_DEADLINE_DEADLINE_H

/* The state of the policy `deadline` (deadline.c), and the itineraries of its rule `omniscient` (omniscient.c). */

#include "headroom/policy_kit.h"

/* The rules, and their names in scenarios. */
#define HR__DEADLINE_RULES(X)                                                                                          \
  X("deadline-greedy", HR__DEADLINE_GREEDY)                                                                            \
  X("uniform-progress", HR__DEADLINE_UNIFORM_PROGRESS)                                                                 \
  X("omniscient", HR__DEADLINE_OMNISCIENT)

enum hr__deadline_rule {
#define HR__RULE_VALUE(text, value) value,
  HR__DEADLINE_RULES(HR__RULE_VALUE)
#undef HR__RULE_VALUE
};

/* The state of the policy. All memory is allocated in the arena of the run. */
struct hr__deadline {
  struct hr_arena *arena;
  const struct hr_trace *trace;
  const struct hr_cluster *cluster;
  struct hr_placer *placer; /* places jobs in owned and reserved pools */
  enum hr__deadline_rule rule;
  int64_t changeover_us;
  bool is_fixed;                 /* the nodes of the cluster do not come and go */
  struct hr__deadline_job *jobs; /* jobs that have not ended, sorted by id */
  uint32_t count, capacity;
  bool *owned; /* by node: the node belongs to a job */
  struct hr_error *error;
  int64_t wake_us;
};

static inline const struct hr_pool_spec *hr__deadline_spec(const struct hr__deadline *self, uint32_t pool) {
  return hr_cluster_pool_spec(self->cluster, (hr_pool){pool});
}

/* Returns the number of nodes that the job needs in the pool. */
static inline uint32_t hr__deadline_nodes(const struct hr__deadline *self, hr_job job, uint32_t pool) {
  uint32_t gpus = self->trace->gpus[job.id], size = hr__deadline_spec(self, pool)->gpus_per_node;
  return gpus / size + (gpus % size != 0);
}

/* One step of the itinerary of a job under `omniscient`. */
struct hr__itinerary_step {
  int64_t at_us;
  uint32_t pool; /* the pool to use from `at_us` on; HR_NONE: none */
};
struct hr__itinerary {
  struct hr__itinerary_step *steps;
  uint32_t n_steps;
};

/* Computes the cheapest itinerary that begins at `from_us` and meets the job's deadline. The steps are allocated in the
   arena; n_steps is 0 if the deadline cannot be met. HR_BAD_INPUT if the spot capacity of a pool is not recorded, or if
   the search would be too large, because the greatest common divisor of all times is too small. */
enum hr_status hr__itinerary_make(const struct hr__deadline *self, hr_job job, int64_t from_us,
                                  struct hr__itinerary *itinerary);

#endif
