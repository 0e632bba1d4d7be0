/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The lists of a shape's subqueues, and groups of parked subqueues: see waiting.h.
 *
 * Purpose: passes do not visit jobs that a limit blocks. Subqueues that are held back are parked in groups. A group
 * contains the subqueues of one shape that are blocked by the same limit and have the same need (see waiting.h). When
 * the limit has enough room again, only the first subqueue of the group is listed again, as the representative of the
 * other subqueues of the group. If a limit closer to the root then blocks the representative with the same need, that
 * limit would also block the other subqueues. The representative is parked at that limit, and still represents the
 * group. The representative is replaced if another subqueue of the group precedes it. As a result, when a limit gets
 * more room, at most one subqueue per group is listed.
 *
 * The need of a group is the need of its subqueues at the time when they were parked. If the need of a subqueue has
 * increased since then, this is detected when the subqueue becomes the first of its list. If the need may have
 * decreased, the caller must list the subqueue again (hr__waiting_unpark_owner).
 *
 * Preferred subqueues have their own groups, so that their representative is also preferred. Invariant: a group has a
 * representative only if it is not empty; a group is blocked only if it is not empty and has no representative.
 */

#include "policies/queue/waiting.h"

/* ---- Lists of a shape ----------------------------------------------------------------------------- */

void hr__shape_enrol(struct hr__waiting *waiting, struct hr__shape *shape, bool of_preferred, bool is_in) {
  bool counts = of_preferred == waiting->preferred_only;
  uint32_t *list = counts ? waiting->active : waiting->other, *at = &shape->active_at[of_preferred];
  uint32_t *count = counts ? &waiting->n_active : &waiting->n_other;
  if (is_in == (*at != HR_NONE)) return;
  if (is_in) {
    *at = *count;
    list[(*count)++] = shape->number;
  } else {
    uint32_t last = list[--*count];
    list[*at] = last;
    waiting->shapes[last]->active_at[of_preferred] = *at;
    *at = HR_NONE;
  }
}

void hr__shape_find_head(const struct hr__waiting *waiting, struct hr__shape *shape) {
  if (hr__has_tournament(waiting)) {
    uint32_t first = hr__kinetic_first(&shape->tournament);
    if (first == HR_NONE) return;
    const struct hr__subqueue *subqueue = hr__subqueue_of_job(waiting, (hr_job){first});
    shape->head = subqueue->head;
    shape->head.key = waiting->full_key(waiting->self, subqueue, subqueue->head);
    return;
  }
  if (!hr_job_tree_first(hr__shape_list(waiting, shape), &shape->head)) return;
  shape->head.value = hr__subqueue_of_job(waiting, shape->head.job)->head.value;
}

/* ---- Groups --------------------------------------------------------------------------------------- */

static uint32_t limit_index(const struct hr__waiting *waiting, uint32_t place, enum hr__admission_limit_kind kind) {
  return place == HR_NONE ? hr__admission_limit_number(waiting->admission.n_places, HR__LIMIT_MAXIMUM)
                          : hr__admission_limit_number(place, kind);
}

static struct hr__subqueue_group *make_group(struct hr__waiting *waiting, struct hr__pair name) {
  struct hr__subqueue_group *group = hr_arena_alloc(waiting->arena, sizeof *group);
  if (!HR__ARENA_HAS_ROOM(waiting->arena, waiting->groups, waiting->n_groups, waiting->groups_capacity) || !group ||
      !hr__pair_map_add(&waiting->group_numbers, waiting->arena, name, waiting->n_groups))
    return NULL;
  *group = (struct hr__subqueue_group){.number = waiting->n_groups, .subqueues.store = waiting->store};
  return waiting->groups[waiting->n_groups++] = group;
}

/* Returns the group of the shape for this limit and need, created if needed; NULL: out of memory. */
static struct hr__subqueue_group *group_for(struct hr__waiting *waiting, struct hr__shape *shape,
                                            const struct hr__admission_limit *limit, bool of_preferred) {
  struct hr__pair need = {(uint64_t)limit->milli, (uint64_t)limit->spare};
  uint32_t class_number = hr__pair_map_intern(&waiting->class_numbers, waiting->arena, need);
  if (class_number == HR_NONE) return NULL;
  struct hr__pair name = {(uint64_t)limit_index(waiting, limit->place, limit->kind) << 32 | shape->number,
                          (uint64_t)class_number << 1 | of_preferred};
  uint32_t number = hr__pair_map_find(&waiting->group_numbers, name);
  struct hr__subqueue_group *group = number == HR_NONE ? make_group(waiting, name) : waiting->groups[number];
  if (!group) return NULL;
  group->shape = shape;
  group->limit = *limit;
  group->of_preferred = of_preferred;
  return group;
}

static struct hr_job_tree *blocked_at(const struct hr__waiting *waiting, const struct hr__admission_limit *limit) {
  return &waiting->blocked[limit_index(waiting, limit->place, limit->kind)];
}

/* Adds the group to the tree of the groups that its limit blocks. */
static enum hr_status block_group(struct hr__waiting *waiting, struct hr__subqueue_group *group) {
  if (group->is_blocked) return HR_OK;
  struct hr_job_entry entry = {hr__admission_limit_need(&group->limit), {group->number}, 0};
  group->is_blocked = true;
  return hr_job_tree_insert(blocked_at(waiting, &group->limit), entry) ? HR_OK : HR_NO_MEMORY;
}

/* Removes the group from the tree of the groups that its limit blocks, if it is in the tree. */
static enum hr_status unblock_group(struct hr__waiting *waiting, struct hr__subqueue_group *group) {
  if (!group->is_blocked) return HR_OK;
  group->is_blocked = false;
  struct hr_job_tree *blocked = blocked_at(waiting, &group->limit);
  return hr_job_tree_remove(blocked, hr__admission_limit_need(&group->limit), (hr_job){group->number}) ? HR_OK
                                                                                                       : HR_INTERNAL;
}

/* ---- Representatives ------------------------------------------------------------------------------ */

/* Makes a subqueue the representative of a group without one. */
static void set_representative(struct hr__subqueue_group *group, struct hr__subqueue *subqueue) {
  struct hr__shape *shape = group->shape;
  group->representative = subqueue;
  group->next_represented = subqueue->represents;
  subqueue->represents = group;
  group->prev_in_shape = NULL;
  group->next_in_shape = shape->represented;
  if (shape->represented) shape->represented->prev_in_shape = group;
  shape->represented = group;
}

/* Removes the representative of a group. */
static void clear_representative(struct hr__subqueue_group *group) {
  struct hr__subqueue_group **at = &group->representative->represents;
  while (*at != group) at = &(*at)->next_represented;
  *at = group->next_represented;
  group->representative = NULL;
  if (group->next_in_shape) group->next_in_shape->prev_in_shape = group->prev_in_shape;
  if (group->prev_in_shape)
    group->prev_in_shape->next_in_shape = group->next_in_shape;
  else
    group->shape->represented = group->next_in_shape;
}

enum hr_status hr__subqueue_leave(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  struct hr__subqueue_group *group = subqueue->group;
  struct hr__subqueue *last = waiting->parked[--waiting->n_parked];
  waiting->parked[subqueue->parked_at - 1] = last;
  last->parked_at = subqueue->parked_at;
  subqueue->parked_at = 0;
  subqueue->group = NULL;
  if (!hr_job_tree_remove(&group->subqueues, subqueue->listed.key, subqueue->listed.job)) return HR_INTERNAL;
  if (group->subqueues.count > 0) return HR_OK;
  if (group->representative) clear_representative(group);
  return unblock_group(waiting, group);
}

/* For a group without a representative: if the limit of the group has enough room, the first subqueue of the group
   leaves it and becomes its representative. Otherwise the group is blocked. */
static enum hr_status find_representative(struct hr__waiting *waiting, struct hr__subqueue_group *group) {
  struct hr_job_entry first;
  if (!hr_job_tree_first(&group->subqueues, &first)) return unblock_group(waiting, group);
  if (!hr__group_has_room(waiting, group)) return block_group(waiting, group);
  struct hr__subqueue *subqueue = hr__subqueue_of_job(waiting, first.job);
  enum hr_status status = unblock_group(waiting, group);
  if (status == HR_OK) status = hr__subqueue_leave(waiting, subqueue);
  if (group->subqueues.count > 0) set_representative(group, subqueue);
  return status == HR_OK ? hr__subqueue_list(waiting, subqueue) : status;
}

/* Parks a subqueue in a group, and updates the representative of the group. */
static enum hr_status join(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                           struct hr__subqueue_group *group) {
  if (!HR__ARENA_HAS_ROOM(waiting->arena, waiting->parked, waiting->n_parked, waiting->parked_capacity) ||
      !hr_job_tree_insert(&group->subqueues, subqueue->listed))
    return HR_NO_MEMORY;
  waiting->parked[waiting->n_parked++] = subqueue;
  subqueue->parked_at = waiting->n_parked;
  subqueue->group = group;
  if (group->representative && hr__entry_before(subqueue->listed, group->representative->listed))
    clear_representative(group);
  return group->representative ? HR_OK : find_representative(waiting, group);
}

/* Returns whether the limit of the group `above`, in which the group's representative was parked, would block all
   subqueues of the group. If so, the group keeps its representative. */
static bool stays_represented(const struct hr__subqueue_group *group, const struct hr__subqueue_group *above) {
  return group != above && group->of_preferred == above->of_preferred && hr__group_is_held(group, &above->limit);
}

/* Updates the groups that a subqueue represents, before the subqueue is parked in `parked_in`. If stays_represented
   returns true for a group, the subqueue remains its representative. Any other group loses its representative and,
   except for `parked_in`, gets a new one if its limit has room. */
static enum hr_status release_represented(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                          const struct hr__subqueue_group *parked_in) {
  enum hr_status status = HR_OK;
  for (struct hr__subqueue_group *group = subqueue->represents, *next; group && status == HR_OK; group = next) {
    next = group->next_represented;
    if (stays_represented(group, parked_in)) continue;
    clear_representative(group);
    if (group != parked_in) status = find_representative(waiting, group);
  }
  return status;
}

enum hr_status hr__subqueue_check_represented(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  enum hr_status status = HR_OK;
  for (struct hr__subqueue_group *group = subqueue->represents, *next; group && status == HR_OK; group = next) {
    struct hr_job_entry first;
    next = group->next_represented;
    hr_job_tree_first(&group->subqueues, &first);
    bool is_first = subqueue->jobs.count > 0 && hr__entry_before(subqueue->listed, first);
    if (is_first && group->of_preferred == subqueue->is_preferred) continue;
    clear_representative(group);
    status = find_representative(waiting, group);
  }
  return status;
}

/* ---- Parking -------------------------------------------------------------------------------------- */

enum hr_status hr__subqueue_park(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                 const struct hr__admission_limit *limit) {
  struct hr__subqueue_group *group = group_for(waiting, subqueue->shape, limit, subqueue->is_preferred);
  if (!group) return HR_NO_MEMORY;
  enum hr_status status = hr__subqueue_unlist(subqueue);
  if (status == HR_OK) status = release_represented(waiting, subqueue, group);
  if (status == HR_OK) status = join(waiting, subqueue, group);
  hr__shape_settle(waiting, subqueue->shape);
  return status;
}

/* Returns a parked subqueue to the lists of its shape. */
static enum hr_status unpark(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  enum hr_status status = hr__subqueue_leave(waiting, subqueue);
  return status == HR_OK ? hr__subqueue_list(waiting, subqueue) : status;
}

enum hr_status hr__subqueue_relist_parked(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                          struct hr_job_entry now) {
  struct hr__subqueue_group *group = subqueue->group;
  if (!hr_job_tree_remove(&group->subqueues, subqueue->listed.key, subqueue->listed.job)) return HR_INTERNAL;
  subqueue->listed = now;
  if (!hr_job_tree_insert(&group->subqueues, now)) return HR_NO_MEMORY;
  if (!group->representative || !hr__entry_before(now, group->representative->listed)) return HR_OK;
  clear_representative(group);
  return find_representative(waiting, group);
}

/* Makes a subqueue preferred, or no longer preferred, and updates the lists and groups. */
static enum hr_status change_preferred(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  enum hr_status status = HR_OK;
  if (subqueue->parked_at) {
    struct hr__admission_limit limit = subqueue->group->limit;
    status = hr__subqueue_leave(waiting, subqueue);
    subqueue->is_preferred = !subqueue->is_preferred;
    struct hr__subqueue_group *group = group_for(waiting, subqueue->shape, &limit, subqueue->is_preferred);
    if (!group) return HR_NO_MEMORY;
    if (status == HR_OK) status = release_represented(waiting, subqueue, group);
    return status == HR_OK ? join(waiting, subqueue, group) : status;
  }
  status = hr__subqueue_unlist(subqueue);
  subqueue->is_preferred = !subqueue->is_preferred;
  if (status == HR_OK) status = hr__subqueue_list(waiting, subqueue);
  return status == HR_OK ? hr__subqueue_check_represented(waiting, subqueue) : status;
}

/* ---- Notifications -------------------------------------------------------------------------------- */

static enum hr_status unpark_group(struct hr__waiting *waiting, struct hr__subqueue_group *group) {
  struct hr_job_entry first;
  enum hr_status status = HR_OK;
  while (status == HR_OK && hr_job_tree_first(&group->subqueues, &first))
    status = unpark(waiting, hr__subqueue_of_job(waiting, first.job));
  return status;
}

enum hr_status hr__waiting_ease_limit(struct hr__waiting *waiting, uint32_t place, enum hr__admission_limit_kind kind) {
  const struct hr_job_tree *blocked = &waiting->blocked[limit_index(waiting, place, kind)];
  enum hr_status status = HR_OK;
  struct hr_job_entry first;
  if (blocked->count == 0) return HR_OK;
  int64_t room = place == HR_NONE ? INT64_MAX : waiting->admission.room(waiting->self, place, kind);
  while (status == HR_OK && hr_job_tree_first(blocked, &first) && first.key <= room) {
    struct hr__subqueue_group *group = waiting->groups[first.job.id];
    status = place == HR_NONE ? unpark_group(waiting, group) : find_representative(waiting, group);
  }
  return status;
}

enum hr_status hr__waiting_unpark_owner(struct hr__waiting *waiting, uint32_t owner) {
  enum hr_status status = HR_OK;
  for (struct hr__subqueue *subqueue = waiting->owned[owner]; subqueue && status == HR_OK;
       subqueue = subqueue->next_owned)
    if (subqueue->parked_at) status = unpark(waiting, subqueue);
  return status;
}

enum hr_status hr__waiting_update_preferred(struct hr__waiting *waiting, uint32_t owner) {
  enum hr_status status = HR_OK;
  for (struct hr__subqueue *subqueue = waiting->owned[owner]; subqueue && status == HR_OK;
       subqueue = subqueue->next_owned)
    if (subqueue->is_preferred != waiting->admission.is_preferred(waiting->self, subqueue))
      status = change_preferred(waiting, subqueue);
  return status;
}

enum hr_status hr__shape_spread(struct hr__waiting *waiting, struct hr__shape *shape) {
  enum hr_status status = HR_OK;
  for (struct hr__subqueue_group *group = shape->represented, *next; group && status == HR_OK; group = next) {
    next = group->next_in_shape;
    if (hr__group_has_room(waiting, group)) status = unpark_group(waiting, group);
  }
  return status;
}
