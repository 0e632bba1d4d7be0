/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_SUBQUEUES_H
#define HR_POLICIES_QUEUE_SUBQUEUES_H

/*
 * What the parts of hr__waiting share, and nobody else:
 *
 *   waiting.c        shapes and lanes; jobs that come and go
 *   waiting_ranks.c  which lane comes first in its shape
 *   waiting_park.c   lanes that are held back, and preferred ones
 *   waiting_walk.c   searches and walks beyond the first jobs
 */

#include "policies/queue/waiting.h"

/* Before all entries that there are. */
#define HR__BEFORE_ALL INT64_MIN

static inline bool hr__has_subqueues(const struct hr__waiting *waiting) {
  return waiting->full_key != NULL;
}

static inline bool hr__has_tournament(const struct hr__waiting *waiting) {
  return waiting->line_of != NULL;
}

static inline struct hr__subqueue *hr__subqueue_of_job(const struct hr__waiting *waiting, uint32_t job) {
  return waiting->subqueues[waiting->subqueue_of[job]];
}

static inline struct hr__subqueue *hr__subqueue_listed(const struct hr__waiting *waiting, struct hr_job_entry listed) {
  return waiting->subqueues[waiting->subqueue_of[listed.job.id]];
}

/* The list that counts now. */
static inline const struct hr_job_tree *hr__shape_list(const struct hr__waiting *waiting,
                                                       const struct hr__shape *shape) {
  return waiting->preferred_only ? &shape->preferred : &shape->subqueues;
}

/* The list itself while it has room for one more, else a larger copy; NULL: out of memory. */
static inline void *hr__roomy(struct hr_arena *arena, void *list, uint32_t count, uint32_t *capacity, size_t bytes) {
  return count < *capacity ? list : hr_arena_grown(arena, list, capacity, bytes);
}

/* The key by which it compares with jobs of all lanes. */
static inline void hr__make_full(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue,
                                 struct hr_job_entry *entry) {
  if (hr__has_subqueues(waiting)) entry->key = waiting->full_key(waiting->self, subqueue, *entry);
}

/* Lanes that the same bar holds back in the same way; see waiting_park.c. */
struct hr__subqueue_group {
  struct hr__shape *shape;
  struct hr__admission_limit limit;
  uint32_t number;
  bool of_preferred, is_blocked;
  struct hr_job_tree subqueues;                             /* as listed */
  struct hr__subqueue *representative;                      /* NULL: none; or while it is empty */
  struct hr__subqueue_group *next_represented;              /* others that the speaker stands for */
  struct hr__subqueue_group *next_in_shape, *prev_in_shape; /* likewise in shape->spoken_for */
};

/* ---- Who is first (waiting_ranks.c) ----------------------------------------------------------------- */

/* ---- Held back (waiting_park.c) --------------------------------------------------------------------- */

/* Out of its group. */
enum hr_status hr__subqueue_leave(struct hr__waiting *waiting, struct hr__subqueue *subqueue);
/* A parked lane with the same jobs is to be listed otherwise. */
enum hr_status hr__subqueue_relist_parked(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                          struct hr_job_entry now);
/* A lane that stands for others is listed anew. */
enum hr_status hr__subqueue_check_represented(struct hr__waiting *waiting, struct hr__subqueue *subqueue);

static inline bool hr__subqueue_is_held(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue,
                                        struct hr__admission_limit *limit) {
  return waiting->admission.is_held && waiting->admission.is_held(waiting->self, subqueue, limit);
}

/* Whether a bar leaves the group room now. */
static inline bool hr__group_has_room(const struct hr__waiting *waiting, const struct hr__subqueue_group *group) {
  const struct hr__admission_limit *limit = &group->limit;
  return limit->place != HR_NONE &&
         waiting->admission.room(waiting->self, limit->place, limit->kind) >= hr__admission_limit_need(limit);
}

/* Whether the bar, which holds back one lane of the group, does so with all of them: as far as they need as much room.
 */
static inline bool hr__group_is_held(const struct hr__subqueue_group *group, const struct hr__admission_limit *limit) {
  return limit->place != HR_NONE && limit->place <= group->limit.place && limit->milli == group->limit.milli &&
         limit->spare == group->limit.spare;
}

/* Adds the shape to the list of shapes with subqueues, or with preferred ones (`of_preferred`), or removes it. */
void hr__shape_enrol(struct hr__waiting *waiting, struct hr__shape *shape, bool of_preferred, bool is_in);
/* Finds the shape's first job again. */
void hr__shape_find_head(const struct hr__waiting *waiting, struct hr__shape *shape);
/* Parks a listed subqueue that is held back by the limit. */
enum hr_status hr__subqueue_park(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                 const struct hr__admission_limit *limit);
/* Lists all subqueues of groups of the shape that another one represents. */
enum hr_status hr__shape_spread(struct hr__waiting *waiting, struct hr__shape *shape);

/* The shape's lists have changed. */
static inline void hr__shape_settle(struct hr__waiting *waiting, struct hr__shape *shape) {
  hr__shape_enrol(waiting, shape, false,
                  (hr__has_tournament(waiting) ? shape->tournament.count : shape->subqueues.count) > 0);
  if (waiting->admission.is_preferred) hr__shape_enrol(waiting, shape, true, shape->preferred.count > 0);
  hr__shape_find_head(waiting, shape);
}

static inline enum hr_status hr__subqueue_unlist(struct hr__subqueue *subqueue) {
  struct hr__shape *shape = subqueue->shape;
  if (!hr_job_tree_remove(&shape->subqueues, subqueue->listed.key, subqueue->listed.job)) return HR_INTERNAL;
  if (!subqueue->is_preferred) return HR_OK;
  return hr_job_tree_remove(&shape->preferred, subqueue->listed.key, subqueue->listed.job) ? HR_OK : HR_INTERNAL;
}

/* Into its shape's lists, and out of them. */
static inline enum hr_status hr__subqueue_list(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  struct hr__shape *shape = subqueue->shape;
  if (!hr_job_tree_insert(&shape->subqueues, subqueue->listed)) return HR_NO_MEMORY;
  if (subqueue->is_preferred && !hr_job_tree_insert(&shape->preferred, subqueue->listed)) return HR_NO_MEMORY;
  hr__shape_settle(waiting, shape);
  return HR_OK;
}

#endif
