/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_BACKFILL_CAPACITY_PROFILE_H
#define HR_POLICIES_QUEUE_BACKFILL_CAPACITY_PROFILE_H

/* Future capacity: for each bin, the number of free GPUs as a step function of time. A bin is a node, or a pool if GPUs
   are only counted. All memory is allocated in the arena. */

#include "headroom/policy.h"
#include "policies/queue/waiting.h"

struct hr__profile;

/* The free GPUs of all bins from now on: those that are free now, plus those that running jobs release when they reach
   their limits, minus those that are reserved. */
struct hr__cluster_profile {
  struct hr_arena *arena;
  const struct hr_cluster *cluster;
  struct hr_placer *placer;
  struct hr_release_calendar *calendar;
  enum hr_placement_rule rule;
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
/* Resets the profile to the capacity that would be free from now on if no further job started. */
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

/* Adds the GPUs of a job to the counts `per_bin`. */
static inline void hr__profile_count_gpus(const struct hr_placement *placement, uint32_t gpus, int64_t *per_bin) {
  if (placement->n_slices == 0) per_bin[hr__profile_bin(placement, 0)] += gpus;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    per_bin[hr__profile_bin(placement, i)] += placement->slices[i].gpu_milli / 1000;
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
  uint32_t *heap; /* heap of indices of reservations, by (start, order of the jobs) */
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

/* Removes all reservations. */
static inline void hr__reservations_clear(struct hr__reservations *all) {
  all->n_reservations = all->n_heap = all->n_due = all->n_slices = 0;
}

/* Returns the i-th due reservation, and its placement. */
static inline const struct hr__reservation *hr__reservations_due(const struct hr__reservations *all, uint32_t i,
                                                                 struct hr_placement *placement) {
  const struct hr__reservation *due = &all->reservation[all->due[i]];
  *placement = (struct hr_placement){due->pool, due->n_slices, due->n_slices ? all->slices + due->first_slice : NULL};
  return due;
}

#endif
