/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_RELEASES_PARTS_H
#define HR_POLICIES_RELEASES_PARTS_H

/* What releases.c and releases_within.c share, and nobody else. */

#include "headroom/policy.h"

/* The time of a bin that has the GPUs free now. */
#define HR__NOW INT64_MIN

struct hr__release_bin {
  uint32_t size, free; /* GPUs */
  bool away;           /* a node that jobs may not start on: nothing that it has comes free */
  struct hr_job_tree ends;
};

struct hr__release_tournament {
  uint32_t gpus;
  int64_t *time; /* [2 * leaves]; the root is 1, bin i's leaf is leaves + i */
  struct hr__release_tournament *next;
};

struct hr__release_group { /* the bins of a pool */
  uint32_t first_bin, n_bins, bin_size;
  uint32_t leaves; /* a power of two */
  struct hr__release_tournament *tournaments;
  struct hr__release_race *races;
};

/* A subtree of a tournament that may hold the next smallest time. */
struct hr__release_contender {
  int64_t time;
  uint32_t at;
};

/* A part of a start that is not in its bin's tree yet. */
struct hr__release_note {
  int64_t end_us;
  hr_job job;
  uint32_t bin, gpus; /* no GPUs: crossed out */
};

struct hr_releases {
  struct hr_arena *arena;
  const struct hr_cluster *cluster;
  struct hr__release_note *notes;
  uint32_t n_notes, n_crossed, notes_capacity;
  uint32_t *noted_at; /* by job: the place of its first note + 1, 0 for none; its parts follow each other */
  bool by_node;
  uint32_t n_groups, n_bins;
  struct hr__release_group *groups;
  struct hr__release_bin *bins;
  struct hr__release_contender *contenders; /* room for the bins of the largest pool */
  bool out_of_memory;
};

/* Bins of a pool: from `from` to before `end`, numbered within it. */
struct hr__bin_range {
  uint32_t from, end;
};

static inline int64_t hr__earlier(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* A leaf has another time: so have those above it, as far as it matters. */
static inline void hr__times_replay(int64_t *times, uint32_t leaf, int64_t time) {
  times[leaf] = time;
  for (uint32_t at = leaf / 2; at > 0; at /= 2) {
    int64_t winner = hr__earlier(times[2 * at], times[2 * at + 1]);
    if (times[at] == winner) return;
    times[at] = winner;
  }
}

/* ---- releases.c ------------------------------------------------------------------------------------- */

/* Brings the trees up to date. */
void hr__releases_settle(struct hr_releases *releases);
/* Whether a job sits on one node. */
bool hr__releases_single(const struct hr_releases *releases, uint32_t gpus, uint32_t accept_class);
/* The times at which the group's bins have `gpus` GPUs free, NULL when out of memory. */
const struct hr__release_tournament *hr__releases_tournament(struct hr_releases *releases,
                                                             struct hr__release_group *group, uint32_t gpus);
/* The k-th smallest time of a range of bins, k from 1. */
int64_t hr__releases_kth_time(struct hr_releases *releases, const struct hr__release_group *group,
                              const struct hr__release_tournament *tournament, struct hr__bin_range range, uint32_t k);
/* GPUs that stay taken are missing from the bin's free ones from now on: the same as removing them. */
void hr__releases_shrink(struct hr_releases *releases, const struct hr_placement *placement, uint32_t gpus, bool back);

/* ---- releases_within.c ------------------------------------------------------------------------------ */

/* A bin has changed. */
void hr__races_mark(struct hr__release_race *races, uint32_t number);

#endif
