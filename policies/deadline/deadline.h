/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_DEADLINE_DEADLINE_H
#define HR_POLICIES_DEADLINE_DEADLINE_H

/* The state of the policy `deadline` (deadline.c), and the itineraries of its rule `omniscient` (omniscient.c). */

#include "headroom/policy_kit.h"
#include "policies/kit/jobs.h"

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

/* One step of the itinerary of a job under `omniscient`. */
struct hr__itinerary_step {
  int64_t at_us;
  uint32_t pool; /* the pool to use from `at_us` on; HR_NONE: none */
};
struct hr__itinerary {
  struct hr__itinerary_step *steps;
  uint32_t n_steps;
};

/* A job that has not ended. While a job uses an owned or reserved pool, its list `nodes` is empty. */
struct hr__deadline_job {
  hr_job job;
  int64_t from_us, deadline_us; /* deadline_us: HR_NEVER_US for a job without a deadline */
  /* rule uniform-progress: the even pace begins at `pace_us`, when the work `pace_done_us` was done */
  int64_t pace_us, pace_done_us;
  bool is_loose;       /* rule uniform-progress: the job still waits for spot capacity, because its deadline is loose */
  bool committed;      /* the job uses on-demand capacity until its end */
  bool has_on_demand;  /* the job would fit in some on-demand pool if all nodes of the pool were available */
  uint32_t pool;       /* the pool that the job uses; HR_NONE: none */
  int64_t acquired_us; /* when it acquired its present nodes */
  uint32_t n_nodes;
  hr_node *nodes;          /* [maximum number of nodes of the job in any pool] */
  struct hr_slice *slices; /* [maximum number of nodes of the job in any pool] */
  struct hr__itinerary itinerary;
  uint32_t next_step;
};

/* The state of the policy. All memory is allocated in the arena of the run. */
struct hr__deadline {
  struct hr_arena *arena;
  const struct hr_trace *trace;
  const struct hr_cluster *cluster;
  struct hr_placer *placer; /* places jobs in owned and reserved pools */
  enum hr__deadline_rule rule;
  int64_t changeover_us;
  int64_t tick_us; /* decisions are made at multiples of this time; 0: at any time */
  int64_t lead_us; /* how far a job must be ahead of the even pace before it leaves on-demand capacity */
  /* The deadline of a job is loose if its work is less than `loose_ppm` millionths of the time to the deadline. It is
     no longer loose when the remaining work is at least `tight_ppm` millionths of the remaining time. */
  uint32_t loose_ppm, tight_ppm;
  bool is_fixed;                 /* no node of the cluster is ever added or removed */
  struct hr__deadline_job *jobs; /* jobs that have not ended, in the order of submission */
  uint32_t count, capacity;
  bool is_unsorted; /* the order is not that of the ids: replicas of services were submitted between the jobs */
  bool *owned;      /* by node: the node belongs to a job */
  bool has_spare;   /* nodes without an owner are kept until the next tick */
  struct hr_error *error;
  int64_t wake_us;
  struct hr__job_list withdrawn;
};

static inline const struct hr_pool_spec *hr__deadline_spec(const struct hr__deadline *self, uint32_t pool) {
  return hr_cluster_pool_spec(self->cluster, (hr_pool){pool});
}

/* Returns the number of nodes that the job needs in the pool. */
static inline uint32_t hr__deadline_nodes(const struct hr__deadline *self, hr_job job, uint32_t pool) {
  uint32_t gpus = self->trace->gpus[job.id], size = hr__deadline_spec(self, pool)->gpus_per_node;
  return gpus / size + (gpus % size != 0);
}

/* Returns the time of the first tick at or after `at_us`. */
static inline int64_t hr__deadline_tick_us(const struct hr__deadline *self, int64_t at_us) {
  return self->tick_us > 0 ? (at_us + self->tick_us - 1) / self->tick_us * self->tick_us : at_us;
}

/* Computes the cheapest itinerary that begins at `from_us` and meets the job's deadline. The steps are allocated in the
   arena; n_steps is 0 if the deadline cannot be met. HR_BAD_INPUT if the spot capacity of a pool is not recorded.
   Also HR_BAD_INPUT if the search would be too large, because the greatest common divisor of all times is too small. */
enum hr_status hr__itinerary_make(const struct hr__deadline *self, hr_job job, int64_t from_us,
                                  struct hr__itinerary *itinerary);

#endif
