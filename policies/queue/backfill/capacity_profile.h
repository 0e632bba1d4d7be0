/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_BACKFILL_CAPACITY_PROFILE_H
#define HR_POLICIES_QUEUE_BACKFILL_CAPACITY_PROFILE_H

/* Future capacity as step functions: the free GPUs of each bin (a node, or a pool if GPUs are only counted) over time.
   All memory is in the arena. */

#include "headroom/policy.h"
#include "policies/queue/waiting.h"

struct hr__profile;

/* The free GPUs of all bins from now on: those that come free as running jobs reach their limits, minus
   reservations. */
struct hr__cluster_profile {
  struct hr_arena *arena;
  const struct hr_cluster *cluster;
  struct hr_placer *placer;
  struct hr_release_calendar *calendar;
  enum hr_placement_rule rule;
  struct hr__profile *profiles; /* by bin */
  uint32_t n_bins, n_pools;
  struct hr_free_index **index; /* by pool: the state on which the placement rule is evaluated */
  uint64_t *free_gpus;          /* by pool, for placement by count */
  struct hr_capacity capacity;
  int64_t *per_bin; /* buffer of one number per bin */
};

/* GPUs, at least one, for some time. */
struct hr__profile_demand {
  uint32_t gpus, accept_class;
  int64_t length_us;
};

/* Initializes a profile; its members up to `rule` must have been set. */
enum hr_status hr__cluster_profile_init(struct hr__cluster_profile *cluster_profile);
/* Resets the profile to the capacity that is free from now on if no other job starts. */
enum hr_status hr__cluster_profile_begin(struct hr__cluster_profile *cluster_profile, int64_t now_us);
/* Returns the earliest time from `from_us` on at which the demand can be met throughout; HR_NEVER_US: none. */
int64_t hr__cluster_profile_earliest(struct hr__cluster_profile *cluster_profile,
                                     const struct hr__profile_demand *demand, int64_t from_us);
/* Finds a placement by the placement rule on the minimum of free GPUs of each bin over the demand's time from
   `start_us` on. Returns false if no such time exists. */
bool hr__cluster_profile_place(struct hr__cluster_profile *cluster_profile, const struct hr__profile_demand *demand,
                               int64_t start_us, struct hr_placement *placement);
/* Returns how many of `most` equal demands have the same time and placement as the one just placed; 1 if that is not
   known without a search. */
uint32_t hr__cluster_profile_count_equal(const struct hr__cluster_profile *cluster_profile,
                                         const struct hr__profile_demand *demand, const struct hr_placement *placement,
                                         uint32_t maximum);
/* Takes capacity for `n` equal demands at a placement. False: out of memory. */
bool hr__cluster_profile_take(struct hr__cluster_profile *cluster_profile, const struct hr__profile_demand *demand,
                              uint32_t n, int64_t start_us, const struct hr_placement *placement);
/* Returns the longest time from now on for which `gpus` GPUs are free: a longer demand cannot start now. */
int64_t hr__cluster_profile_window(struct hr__cluster_profile *cluster_profile, uint32_t gpus, uint32_t accept_class);

/* Returns the bin of a slice; without slices that of the pool. */
static inline uint32_t hr__profile_bin(const struct hr_placement *placement, uint32_t slice) {
  return placement->n_slices ? placement->slices[slice].node.id : placement->pool.id;
}

/* Adds the GPUs of `n` jobs at one placement, `gpus` each, to a number per bin. */
static inline void hr__profile_count_gpus(const struct hr_placement *placement, uint32_t gpus, uint32_t n,
                                          int64_t *per_bin) {
  if (placement->n_slices == 0) per_bin[hr__profile_bin(placement, 0)] += (int64_t)n * gpus;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    per_bin[hr__profile_bin(placement, i)] += (int64_t)n * (placement->slices[i].gpu_milli / 1000);
}

/* Advances to `now_us`. Returns whether each bin has as many free GPUs as expected, plus those of jobs to be started
   now. */
bool hr__cluster_profile_matches(struct hr__cluster_profile *cluster_profile, int64_t now_us, const int64_t *started);

/* ---- Reservations of a plan that is kept ---------------------------------------------------------- */

/* For consecutive jobs of one shape, with one placement each that has room for all. */
struct hr__reservation {
  int64_t start_us;
  struct hr__shape *shape;
  hr_pool pool;
  uint32_t first_job, n_jobs; /* in the jobs of the batches */
  uint32_t first_slice, n_slices;
};

struct hr__reservations {
  struct hr_arena *arena;
  struct hr__reservation *reservation;
  uint32_t *heap; /* indices of reservations, by (start, index) */
  uint32_t *due;  /* indices of reservations taken from the heap, in the order in which they were made */
  struct hr_slice *slices;
  uint32_t n_reservations, made_capacity, n_heap, heap_capacity, n_due, due_capacity;
  uint32_t n_slices, slices_capacity;
};

/* Adds a reservation with the placement of each of its jobs. False: out of memory. */
bool hr__reservations_add(struct hr__reservations *all, const struct hr__reservation *reservation,
                          const struct hr_placement *placement);
/* Makes the reservations that start at `now_us` due, replacing those that were. False: one should have started
   before. */
bool hr__reservations_advance(struct hr__reservations *all, int64_t now_us);

static inline void hr__reservations_clear(struct hr__reservations *all) {
  all->n_reservations = all->n_heap = all->n_due = all->n_slices = 0;
}

/* Returns the i-th due reservation, and the placement of each of its jobs. */
static inline const struct hr__reservation *hr__reservations_due(const struct hr__reservations *all, uint32_t i,
                                                                 struct hr_placement *placement) {
  const struct hr__reservation *due = &all->reservation[all->due[i]];
  *placement = (struct hr_placement){due->pool, due->n_slices, due->n_slices ? all->slices + due->first_slice : NULL};
  return due;
}

#endif
