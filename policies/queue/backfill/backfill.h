/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_BACKFILL_BACKFILL_H
#define HR_POLICIES_QUEUE_BACKFILL_BACKFILL_H

/* Backfills with reservations: future capacity and reservations for the backfill `conservative`, and the reservation of
   the backfill `easy` in clusters with planned maintenance. */

#include "headroom/policy.h"
#include "policies/queue/dispatch.h"
#include "policies/queue/waiting.h"

/* ---- Capacity profiles (capacity_profile.c) ------------------------------------------------------------ */

/* Future capacity: for each bin, the number of free GPUs as a step function of time. A bin is a node or, with the
   placement rule `pool`, a pool. All memory is allocated in the arena. */

struct hr__profile;

/* The free GPUs of all bins from now on: those that are free now, plus those that running jobs release when they reach
   their limits, minus those that are reserved. */
struct hr__cluster_profile {
  struct hr_arena *arena;
  const struct hr_cluster *cluster;
  struct hr_placer *placer;
  struct hr_release_calendar *calendar;
  enum hr_placement_rule rule;
  /* the longest limit of the planned jobs, which determines the maintenance that plans avoid (is_avoidable);
     HR__NO_LIMIT_US: replicas of services are planned */
  int64_t longest_us;
  struct hr__profile *profiles; /* by bin */
  uint32_t n_bins, n_pools;
  struct hr_free_index **index; /* by pool: the free GPUs of its nodes with which the placement rule is evaluated */
  uint64_t *free_gpus;          /* by pool: its free GPUs, with the placement rule `pool` */
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
/* Resets the profile to the capacity that would be free from now on if no further job started. During planned
   maintenance that plans avoid, nodes have no capacity. */
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
/* Returns an upper bound for the time for which a job with `gpus` GPUs could run if it started now: a demand with a
   longer window cannot start now. 0: no such job can start now. HR_NEVER_US: the time is not limited. */
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

/* A reservation of a job: at `start_us`, at a placement in `pool` with `n_slices` slices of hr__reservations.slices,
   from index `first_slice` on. */
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
/* Moves the reservations that start at `now_us` from the heap to the list `due`, which is cleared first. False: some
   reservation in the heap starts before `now_us`, so it is overdue. */
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
  int64_t now_us; /* without window plans, a plan can be continued at a later time at which everything is as planned */
  /* lower bounds for the starts of jobs in the current plan, by number of the shape */
  struct hr__start_bounds **bounds;
  /* n_plans: number of plans so far; n_classes: number of classes of limits (see length_class), up to the class of the
     longest limit in the trace */
  uint32_t n_plans, n_classes, bounds_capacity;
};

/* A request of a job of one shape during a window of `length_us`, at least 1 us. The job needs a node. */
struct hr__future_demand {
  const struct hr__shape *shape;
  struct hr_need need;
  int64_t length_us;
};

/* Initializes the future for the queue. Adds the listener that reports running jobs. */
enum hr_status hr__future_init(struct hr__future *future, struct hr__queue *queue, const struct hr_policy_env *env);
/* Begins a plan without reservations. A job that starts before hr__future_end must have a reservation of this plan.
   hr__future_end ends the plan. */
enum hr_status hr__future_begin(struct hr__future *future, int64_t now_us);
void hr__future_end(struct hr__future *future);
/* Writes the earliest time, from now on, at which the demand can be placed, to `*start_us`; HR_NEVER_US: no such time.
   Also writes the placement, which is valid until the next call. */
enum hr_status hr__future_earliest(struct hr__future *future, const struct hr__future_demand *demand, int64_t *start_us,
                                   struct hr_placement *placement);
/* Returns a limit such that no job of the shape with this limit or a longer one can start before `until_us`. The limit
   follows from previous calls of hr__future_earliest in the same plan; INT64_MAX: no such limit is known. `*bound_us`:
   a time, at least `until_us`, before which no such job can start; HR_NEVER_US if no such limit is known. */
int64_t hr__future_too_long(const struct hr__future *future, const struct hr__shape *shape, int64_t until_us,
                            int64_t *bound_us);
/* Returns how many equal demands, up to `maximum`, have the same earliest time and the same placement as the demand
   that was just placed. That demand is counted, too. If the number is not known without a search, the result is 1. */
uint32_t hr__future_count_equal(const struct hr__future *future, const struct hr__future_demand *demand,
                                const struct hr_placement *placement, uint32_t maximum);
/* Adds reservations for `n` equal demands at a placement. False: out of memory. */
bool hr__future_reserve(struct hr__future *future, const struct hr__future_demand *demand, uint32_t n, int64_t start_us,
                        const struct hr_placement *placement);
/* Returns an upper bound for the length of a window from now on in which the need can be met; 0: it cannot be met
   now. */
int64_t hr__future_longest(struct hr__future *future, const struct hr_need *need);
/* Returns whether the future is regular: the earliest start of each job, and its placement at a given start, depend
   only on the capacity that is free during its window. In a regular future, further reservations never make a start
   earlier. */
bool hr__future_is_regular(const struct hr__future *future, const struct hr_policy_env *env);

/* ---- Reservation of `easy` with maintenance ------------------------------------------------------------- */

/* Returns whether a job with the expected end `end_us` may start at the placement without delaying the job that has the
   reservation. Without a reservation, all jobs may start. */
bool hr__easy_plan_permits(const struct hr__queue *queue, int64_t end_us, const struct hr_placement *placement);

#endif
