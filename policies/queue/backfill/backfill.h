/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_BACKFILL_BACKFILL_H
#define HR_POLICIES_QUEUE_BACKFILL_BACKFILL_H

/* Conservative backfill: future capacity, and the reservations that decide which jobs start now. */

#include "headroom/policy.h"
#include "policies/queue/dispatch.h"
#include "policies/queue/waiting.h"

/* ---- Capacity profiles (capacity_profile.c) ------------------------------------------------------------ */

/* Future capacity: for each bin, the number of free GPUs as a step function of time. A bin is a node, or a pool if
   GPUs are only counted. All memory is allocated in the arena. */

struct hr__profile;

/* The free GPUs of all bins from now on: those that are free now, plus those that running jobs release when they reach
   their limits, minus those that are reserved. */
struct hr__cluster_profile {
  struct hr_arena *arena;
  const struct hr_cluster *cluster;
  struct hr_placer *placer;
  struct hr_release_calendar *calendar;
  enum hr_placement_rule rule;
  int64_t longest_us;           /* the longest limit of a job; HR__NO_LIMIT_US: that of replicas of services */
  struct hr__profile *profiles; /* by bin */
  uint32_t n_bins, n_pools;
  struct hr_free_index **index; /* by pool: the free GPUs with which the placement rule is evaluated */
  uint64_t *free_gpus;          /* by pool: the same if GPUs are only counted */
  struct hr_free_gpus capacity;
  int64_t *per_bin; /* [n_bins]: buffer */
};

/* A request for at least one GPU during a time window. */
struct hr__profile_demand {
  uint32_t gpus, accept_class;
  int64_t length_us;
};

/* Initializes a profile. The caller has set the members up to `rule`. */
enum hr_status hr__cluster_profile_init(struct hr__cluster_profile *cluster_profile);
/* Resets the profile to the capacity that would be free from now on if no further job started. Nodes have no capacity
   during their planned maintenance. */
enum hr_status hr__cluster_profile_begin(struct hr__cluster_profile *cluster_profile, int64_t now_us);
/* Returns the earliest time, not before `from_us`, from which the demand can be met for its whole length; HR_NEVER_US:
   no such time. */
int64_t hr__cluster_profile_earliest(struct hr__cluster_profile *cluster_profile,
                                     const struct hr__profile_demand *demand, int64_t from_us);
/* Finds a placement for the demand, which starts at `start_us`. The placement rule is evaluated with the minimum of
   each bin's free GPUs during the window of the demand. False: no placement exists. */
bool hr__cluster_profile_place(struct hr__cluster_profile *cluster_profile, const struct hr__profile_demand *demand,
                               int64_t start_us, struct hr_placement *placement);
/* Returns how many equal demands, up to `maximum`, have the same earliest time and the same placement as the demand
   that was just placed. That demand is counted, too. If the number is not known without a search, the result is 1. */
uint32_t hr__cluster_profile_count_equal(const struct hr__cluster_profile *cluster_profile,
                                         const struct hr__profile_demand *demand, const struct hr_placement *placement,
                                         uint32_t maximum);
/* Subtracts capacity for `n` equal demands at a placement. False: out of memory. */
bool hr__cluster_profile_take(struct hr__cluster_profile *cluster_profile, const struct hr__profile_demand *demand,
                              uint32_t n, int64_t start_us, const struct hr_placement *placement);
/* Returns for how long from now on a job with `gpus` GPUs could run if it started now. A demand with a longer window
   cannot start now. */
int64_t hr__cluster_profile_window(struct hr__cluster_profile *cluster_profile, uint32_t gpus, uint32_t accept_class);

/* Returns the bin of a slice; for a placement without slices, the bin of the pool. */
static inline uint32_t hr__profile_bin(const struct hr_placement *placement, uint32_t slice) {
  return placement->n_slices ? placement->slices[slice].node.id : placement->pool.id;
}

/* Advances the profile to `now_us`. Returns whether the number of free GPUs of each bin is as expected by the profile.
   `started`: by bin, the GPUs of planned jobs that this pass is about to start; the profile has subtracted them, but
   they are still free in the cluster. */
bool hr__cluster_profile_matches(struct hr__cluster_profile *cluster_profile, int64_t now_us, const int64_t *started);

/* ---- Reservations of a kept plan ------------------------------------------------------------------ */

/* A reservation of a job. */
struct hr__reservation {
  int64_t start_us;
  struct hr__shape *shape;
  struct hr_job_entry job;
  hr_pool pool;
  uint32_t first_slice, n_slices;
};

/* The reservations of a plan, in the arena. */
struct hr__reservations {
  struct hr_arena *arena;
  struct hr__reservation *reservation;
  uint32_t *heap; /* heap of indices of reservations, sorted by (start, order of the jobs) */
  /* indices of the reservations that start now, which were removed from the heap; in the order of their jobs */
  uint32_t *due;
  struct hr_slice *slices;
  uint32_t n_reservations, made_capacity, n_heap, heap_capacity, n_due, due_capacity;
  uint32_t n_slices, slices_capacity;
};

/* Adds a reservation with a placement. False: out of memory. */
bool hr__reservations_add(struct hr__reservations *all, const struct hr__reservation *reservation,
                          const struct hr_placement *placement);
/* Replaces the list of due reservations by those that start at `now_us`. False: the start of some reservation has
   passed without a start of its jobs. */
bool hr__reservations_advance(struct hr__reservations *all, int64_t now_us);

/* ---- Future capacity (capacity_profile.c) ------------------------------------------------------------------------ */

/* Future capacity for conservative backfill: the earliest windows in which jobs can run, and reservations. There are
   two implementations: capacity profiles for counted allocation without topology constraints, and window plans
   (policies/placement/gpu_capacity.h) for all other cases. */

struct hr__window_plan;
struct hr__start_bounds;

struct hr__future {
  struct hr__queue *queue;
  struct hr__cluster_profile profile; /* not used if `windows` is set */
  struct hr__window_plan *windows;
  int64_t now_us;
  /* lower bounds for the starts of jobs in the current plan, by number of the shape */
  struct hr__start_bounds **bounds;
  /* n_plans: number of plans so far; n_classes: number of classes up to that of the longest limit in the trace */
  uint32_t n_plans, n_classes, bounds_capacity;
};

/* A request of a job of one shape during a window of `length_us`, at least 1 us. The job needs a node. */
struct hr__future_demand {
  const struct hr__shape *shape;
  struct hr_need need;
  int64_t length_us;
};

/* Creates the future for the queue, and adds the listeners that report running jobs. */
enum hr_status hr__future_init(struct hr__future *future, struct hr__queue *queue, const struct hr_policy_env *env);
/* Begins a plan without reservations. Jobs that start until hr__future_end have reservations. */
enum hr_status hr__future_begin(struct hr__future *future, int64_t now_us);
void hr__future_end(struct hr__future *future);
/* Continues the plan at a later time `now_us`, at which everything is as planned. Not with window plans. */
static inline void hr__future_advance(struct hr__future *future, int64_t now_us) {
  future->now_us = now_us;
}
/* Writes the earliest time, from now on, at which the demand can be placed, and its placement, which is valid until the
   next call. HR_NEVER_US: no such time. */
enum hr_status hr__future_earliest(struct hr__future *future, const struct hr__future_demand *demand, int64_t *start_us,
                                   struct hr_placement *placement);
/* Returns a length such that no job of the shape that is at least that long can start before `until_us`, as far as
   previous calls of hr__future_earliest have shown; INT64_MAX: none is known. `*bound_us`: before that time no such job
   can start; it is at least `until_us`, and HR_NEVER_US if no such length is known. */
int64_t hr__future_too_long(const struct hr__future *future, const struct hr__shape *shape, int64_t until_us,
                            int64_t *bound_us);
/* Returns how many equal demands, up to `maximum`, have the same earliest time and the same placement as the demand
   that was just placed. That demand is counted, too. If the number is not known without a search, the result is 1. */
uint32_t hr__future_count_equal(const struct hr__future *future, const struct hr__future_demand *demand,
                                const struct hr_placement *placement, uint32_t maximum);
/* Adds reservations for `n` equal demands at a placement. False: out of memory. */
bool hr__future_reserve(struct hr__future *future, const struct hr__future_demand *demand, uint32_t n, int64_t start_us,
                        const struct hr_placement *placement);
/* Returns an upper bound for the length of a window from now on in which the need can be met. */
int64_t hr__future_longest(struct hr__future *future, const struct hr_need *need);
/* Whether the earliest start of each job, and its placement at a given start, depend only on the capacity that is free
   during its window, so that further reservations cannot make the start earlier. */
bool hr__future_is_regular(const struct hr__future *future, const struct hr_policy_env *env);

/* ---- Reservation of `easy` with maintenance ------------------------------------------------------------- */

/* Returns whether a job with the expected end `end_us` may start at the placement. Without a reservation, all jobs
   may start. */
bool hr__easy_plan_permits(const struct hr__queue *queue, int64_t end_us, const struct hr_placement *placement);

/* Partial plans for conservative backfill: of all reservations, only those that decide which jobs start now. The queue
   must have no subqueues, and the future must be regular (hr__future_is_regular). All memory is allocated in the arena
   of the run. */

#endif
