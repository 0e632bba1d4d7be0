/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_SUBQUEUES_H
#define HR_POLICIES_QUEUE_SUBQUEUES_H

/* The subqueues of a shape. A subqueue is either listed, in the lists of its shape, or parked in a group while an
   admission limit blocks it. subqueues.c explains groups and their representatives. This header is used by waiting.c
   and subqueues.c only. */

#include "headroom/policy_kit.h"
#include "policies/queue/waiting.h"

/* A key that precedes the keys of all entries. */
#define HR__BEFORE_ALL INT64_MIN

/* Returns whether the order, quotas or preemption need subqueues. */
static inline bool hr__has_subqueues(const struct hr__waiting *waiting) {
  return waiting->full_key != NULL;
}

/* Returns whether the subqueues of each shape are in a tournament instead of a list. */
static inline bool hr__has_tournament(const struct hr__waiting *waiting) {
  return waiting->line_of != NULL;
}

static inline struct hr__subqueue *hr__subqueue_of_job(const struct hr__waiting *waiting, uint32_t job) {
  return waiting->subqueues[waiting->subqueue_of[job]];
}

/* Returns the subqueue of an entry of a list. */
static inline struct hr__subqueue *hr__subqueue_listed(const struct hr__waiting *waiting, struct hr_job_entry listed) {
  return waiting->subqueues[waiting->subqueue_of[listed.job.id]];
}

/* Returns the list of the shape that is in use: that of all subqueues, or that of preferred subqueues only. */
static inline const struct hr_job_tree *hr__shape_list(const struct hr__waiting *waiting,
                                                       const struct hr__shape *shape) {
  return waiting->preferred_only ? &shape->preferred : &shape->subqueues;
}

/* Replaces the key of an entry by its full key; see hr__full_key. */
static inline void hr__make_full(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue,
                                 struct hr_job_entry *entry) {
  if (hr__has_subqueues(waiting)) entry->key = waiting->full_key(waiting->self, subqueue, *entry);
}

/* A group: parked subqueues of one shape that are blocked by the same limit and have the same need. */
struct hr__subqueue_group {
  struct hr__shape *shape;
  struct hr__admission_limit limit;
  uint32_t number;
  bool of_preferred, is_blocked;
  struct hr_job_tree subqueues;                /* parked subqueues, sorted by their entries */
  struct hr__subqueue *representative;         /* subqueue that is considered for the whole group; NULL: none */
  struct hr__subqueue_group *next_represented; /* next group with the same representative */
  struct hr__subqueue_group *next_in_shape, *prev_in_shape; /* neighbours in shape->represented */
};

/* ---- Parking -------------------------------------------------------------------------------------- */

/* Removes a parked subqueue from its group. */
enum hr_status hr__subqueue_leave(struct hr__waiting *waiting, struct hr__subqueue *subqueue);
/* Changes the entry of a parked subqueue. Its first job must be the same as before. */
enum hr_status hr__subqueue_relist_parked(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                          struct hr_job_entry now);
/* Updates the groups that a subqueue represents, after its entry has changed. */
enum hr_status hr__subqueue_check_represented(struct hr__waiting *waiting, struct hr__subqueue *subqueue);

/* Returns whether a subqueue is held back, and writes the limit that blocks it. */
static inline bool hr__subqueue_is_held(const struct hr__waiting *waiting, const struct hr__subqueue *subqueue,
                                        struct hr__admission_limit *limit) {
  return waiting->admission.is_held && waiting->admission.is_held(waiting->self, subqueue, limit);
}

/* Returns whether the limit leaves enough room for the need of the group. */
static inline bool hr__group_has_room(const struct hr__waiting *waiting, const struct hr__subqueue_group *group) {
  const struct hr__admission_limit *limit = &group->limit;
  return limit->place != HR_NONE &&
         waiting->admission.room(waiting->self, limit->place, limit->kind) >= hr__admission_limit_need(limit);
}

/* Returns whether a limit that blocks one subqueue of the group also blocks the others. `limit` may be another limit
   than that of the group. It blocks all subqueues of the group if they have the same need at that limit. */
static inline bool hr__group_is_held(const struct hr__subqueue_group *group, const struct hr__admission_limit *limit) {
  return limit->place != HR_NONE && limit->place <= group->limit.place && limit->milli == group->limit.milli &&
         limit->spare == group->limit.spare;
}

/* If `is_in`, adds the shape to the list of shapes with listed subqueues, else removes it from the list. With
   `of_preferred`, the list is that of shapes with preferred subqueues. */
void hr__shape_enrol(struct hr__waiting *waiting, struct hr__shape *shape, bool of_preferred, bool is_in);
/* Determines the first job of the shape. */
void hr__shape_find_head(const struct hr__waiting *waiting, struct hr__shape *shape);
/* Parks a listed subqueue that the limit blocks. */
enum hr_status hr__subqueue_park(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                 const struct hr__admission_limit *limit);
/* For each group of the shape that has a representative and a limit with enough room: moves all its subqueues to the
   lists of the shape, so that a search finds them. */
enum hr_status hr__shape_spread(struct hr__waiting *waiting, struct hr__shape *shape);

/* Updates the shape after its lists have changed. */
static inline void hr__shape_settle(struct hr__waiting *waiting, struct hr__shape *shape) {
  hr__shape_enrol(waiting, shape, false,
                  (hr__has_tournament(waiting) ? shape->tournament.count : shape->subqueues.count) > 0);
  if (waiting->admission.is_preferred) hr__shape_enrol(waiting, shape, true, shape->preferred.count > 0);
  hr__shape_find_head(waiting, shape);
}

/* Removes a subqueue from the lists of its shape. */
static inline enum hr_status hr__subqueue_unlist(struct hr__subqueue *subqueue) {
  struct hr__shape *shape = subqueue->shape;
  if (!hr_job_tree_remove(&shape->subqueues, subqueue->listed.key, subqueue->listed.job)) return HR_INTERNAL;
  if (!subqueue->is_preferred) return HR_OK;
  return hr_job_tree_remove(&shape->preferred, subqueue->listed.key, subqueue->listed.job) ? HR_OK : HR_INTERNAL;
}

/* Inserts a subqueue into the lists of its shape. */
static inline enum hr_status hr__subqueue_list(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  struct hr__shape *shape = subqueue->shape;
  if (!hr_job_tree_insert(&shape->subqueues, subqueue->listed)) return HR_NO_MEMORY;
  if (subqueue->is_preferred && !hr_job_tree_insert(&shape->preferred, subqueue->listed)) return HR_NO_MEMORY;
  hr__shape_settle(waiting, shape);
  return HR_OK;
}

#endif
