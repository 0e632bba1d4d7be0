/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_WAITING_LANES_H
#define HR_POLICIES_WAITING_LANES_H

/*
 * What the parts of hr__waiting share, and nobody else:
 *
 *   waiting.c        shapes and lanes; jobs that come and go
 *   waiting_ranks.c  which lane comes first in its shape
 *   waiting_park.c   lanes that are held back
 *   waiting_walk.c   searches and walks beyond the first jobs
 */

#include "policies/waiting.h"

/* Before all entries that there are. */
#define HR__BEFORE_ALL INT64_MIN

static inline bool hr__has_lanes(const struct hr__waiting *waiting) {
  return waiting->full_key != NULL;
}

static inline bool hr__is_race(const struct hr__waiting *waiting) {
  return waiting->line_of != NULL;
}

static inline struct hr__lane *hr__lane_of_job(const struct hr__waiting *waiting, uint32_t job) {
  return waiting->lanes[waiting->lane_of[job]];
}

static inline struct hr__lane *hr__lane_listed(const struct hr__waiting *waiting, struct hr_job_entry listed) {
  return waiting->lanes[waiting->lane_of[listed.job.id]];
}

/* The list itself while it has room for one more, else a larger copy; NULL: out of memory. */
static inline void *hr__roomy(struct hr_arena *arena, void *list, uint32_t count, uint32_t *capacity, size_t bytes) {
  return count < *capacity ? list : hr_arena_grown(arena, list, capacity, bytes);
}

/* The key by which it compares with jobs of all lanes. */
static inline void hr__make_full(const struct hr__waiting *waiting, const struct hr__lane *lane,
                                 struct hr_job_entry *entry) {
  if (hr__has_lanes(waiting)) entry->key = waiting->full_key(waiting->self, lane, *entry);
}

/* ---- Who is first (waiting_ranks.c) ----------------------------------------------------------------- */

/* Among those with waiting jobs, or no longer. */
void hr__shape_activate(struct hr__waiting *waiting, struct hr__shape *shape);
void hr__shape_deactivate(struct hr__waiting *waiting, struct hr__shape *shape);
/* The lane as it should be listed now. */
struct hr_job_entry hr__lane_listing(const struct hr__waiting *waiting, const struct hr__lane *lane);
/* Lists the lane anew, or not at all once it is empty. `was`: whether it has been in use. */
enum hr_status hr__lane_relist(struct hr__waiting *waiting, struct hr__lane *lane, bool was);
/* Where keys grow by themselves the first lane is listed anew as long as that makes another one the first. */
enum hr_status hr__shape_look_again(struct hr__waiting *waiting, struct hr__shape *shape);
/* The shape's list has changed, or the keys of what is in it. */
enum hr_status hr__shape_settle(struct hr__waiting *waiting, struct hr__shape *shape);

/* ---- Held back (waiting_park.c) --------------------------------------------------------------------- */

bool hr__lane_is_held(const struct hr__waiting *waiting, const struct hr__lane *lane);
/* Puts it back, unless it has become empty. */
enum hr_status hr__lane_unpark(struct hr__waiting *waiting, struct hr__lane *lane);

#endif
