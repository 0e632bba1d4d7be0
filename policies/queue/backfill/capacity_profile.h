/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_BACKFILL_CAPACITY_PROFILE_H
#define HR_POLICIES_QUEUE_BACKFILL_CAPACITY_PROFILE_H

/* Free GPUs of one bin from now on, as steps: step i holds from at_us[i] until at_us[i + 1], the last one for ever. */

#include "headroom/policy.h"

struct hr__profile {
  int64_t *at_us;
  uint32_t *free;
  uint32_t count, capacity;
  uint32_t skipped; /* steps of the past, before these: room that comes back */
};

/* Begins anew with one step. Functions that add steps return false when out of memory. */
bool hr__profile_init(struct hr__profile *profile, struct hr_arena *arena, int64_t now_us, uint32_t free);
/* GPUs that come free at `at_us`, not before the last step. */
bool hr__profile_release(struct hr__profile *profile, struct hr_arena *arena, int64_t at_us, uint32_t gpus);
/* Takes GPUs, which must be free, over [from_us, to_us). */
bool hr__profile_take(struct hr__profile *profile, struct hr_arena *arena, int64_t from_us, int64_t to_us,
                      uint32_t gpus);
/* The earliest start >= from_us of a window of `length_us` in which `gpus` GPUs are free throughout. */
int64_t hr__profile_earliest(const struct hr__profile *profile, int64_t from_us, int64_t length_us, uint32_t gpus);
/* The least number of free GPUs over a window, or 0 when it is below `needed`. */
uint32_t hr__profile_min(const struct hr__profile *profile, int64_t from_us, int64_t length_us, uint32_t needed);

/*
 * The free GPUs of all bins (nodes, or pools where they are counted) from now on: those that come free as what runs
 * reaches its limits, less those that have been taken for jobs to come.
 */

struct hr__cluster_profile {
  struct hr_arena *arena;
  const struct hr_cluster *cluster;
  struct hr_placer *placer;
  struct hr_release_calendar *calendar;
  enum hr_placement_rule rule;
  struct hr__profile *profiles; /* by bin */
  uint32_t n_bins, n_pools;
  struct hr_free_index **index; /* by pool: the state that the placement rule is asked on */
  uint64_t *free_gpus;          /* likewise, for placement by count */
  struct hr_capacity capacity;
  int64_t *per_bin; /* room for a number of each bin */
};

/* GPUs for some time; not none of them. */
struct hr__profile_demand {
  uint32_t gpus, accept_class;
  int64_t length_us;
};

/* The members up to `rule` are to be set. */
enum hr_status hr__cluster_profile_init(struct hr__cluster_profile *cluster_profile);
/* What is free from now on when nobody else starts. */
enum hr_status hr__cluster_profile_begin(struct hr__cluster_profile *cluster_profile, int64_t now_us);
/* The earliest time from `from_us` on at which the demand can be met throughout; HR_NEVER_US: none. */
int64_t hr__cluster_profile_earliest(struct hr__cluster_profile *cluster_profile,
                                     const struct hr__profile_demand *demand, int64_t from_us);
/* Where the placement rule would have it, on the least free GPUs of each bin over the demand's time from `start_us` on.
   False: nowhere. */
bool hr__cluster_profile_place(struct hr__cluster_profile *cluster_profile, const struct hr__profile_demand *demand,
                               int64_t start_us, struct hr_placement *placement);
/* Of `most` equal demands, how many have their time and place in common with the one just placed; 1 where that is not
   known without asking. */
uint32_t hr__cluster_profile_count_equal(const struct hr__cluster_profile *cluster_profile,
                                         const struct hr__profile_demand *demand, const struct hr_placement *placement,
                                         uint32_t most);
/* Takes what `n` equal demands at this place ask for. False: out of memory. */
bool hr__cluster_profile_take(struct hr__cluster_profile *cluster_profile, const struct hr__profile_demand *demand,
                              uint32_t n, int64_t start_us, const struct hr_placement *placement);
/* The longest time from now on for which so many GPUs can be had at all: no longer demand can be met now. */
int64_t hr__cluster_profile_window(struct hr__cluster_profile *cluster_profile, uint32_t gpus, uint32_t accept_class);

/* Adds what `n` jobs of so many GPUs at one placement have to a number of each bin. */
void hr__cluster_profile_count_gpus(const struct hr__cluster_profile *cluster_profile,
                                    const struct hr_placement *placement, uint32_t gpus, uint32_t n, int64_t *per_bin);
/* Comes to `now_us`, and says whether each bin has as many GPUs free as was foreseen, and `started` more. */
bool hr__cluster_profile_matches(struct hr__cluster_profile *cluster_profile, int64_t now_us, const int64_t *started);

#endif
