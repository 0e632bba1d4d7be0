/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lanes that are held back, and preferred ones: see policies/waiting.h. Who is held back stands aside in groups, so
 * that nobody goes through those that cannot start. Lanes of one shape that the same bar holds back, and that need as
 * much room there, are a group. Once the bar leaves them room the first of them, which then speaks for all, is listed
 * again. If a bar nearer to the root holds that one back, all of them would be, and so it is parked there and goes on
 * to speak for them. Another one speaks when it comes first. So what a bar that moves may let go is, in each group, one
 * lane.
 *
 * A group is about what its lanes needed when they were parked. One that needs more by now is found to be held back
 * when it comes first; one that may need less is to be listed again (hr__waiting_release).
 *
 * Groups of preferred lanes are apart from others, so that a preferred one speaks for them. A group has a speaker only
 * while there are lanes in it, and stands among those that its bar has closed only while it has lanes and no speaker.
 */

#include "policies/queue/subqueues.h"

/* ---- Lists of a shape ---- */

/* Whether the shape is among those with lanes, or with preferred ones (`of_preferred`). */
void hr__shape_enrol(struct hr__waiting *waiting, struct hr__shape *shape, bool of_preferred, bool is_in) {
  bool counts = of_preferred == waiting->preferred_only;
  uint32_t *list = counts ? waiting->active : waiting->aside, *at = &shape->active_at[of_preferred];
  uint32_t *count = counts ? &waiting->n_active : &waiting->n_aside;
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
  if (hr__is_race(waiting)) {
    uint32_t first = hr__kinetic_first(&shape->race);
    if (first == HR_NONE) return;
    const struct hr__subqueue *subqueue = hr__subqueue_of_job(waiting, first);
    shape->head = subqueue->head;
    shape->head.key = waiting->full_key(waiting->self, subqueue, subqueue->head);
    return;
  }
  if (!hr_job_tree_first(hr__shape_list(waiting, shape), &shape->head)) return;
  shape->head.value = waiting->subqueues[waiting->subqueue_of[shape->head.job.id]]->head.value;
}

/* The shape's lists have changed. */
void hr__shape_settle(struct hr__waiting *waiting, struct hr__shape *shape) {
  hr__shape_enrol(waiting, shape, false, (hr__is_race(waiting) ? shape->race.count : shape->subqueues.count) > 0);
  if (waiting->warden.is_preferred) hr__shape_enrol(waiting, shape, true, shape->preferred.count > 0);
  hr__shape_find_head(waiting, shape);
}

enum hr_status hr__subqueue_list(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  struct hr__shape *shape = subqueue->shape;
  if (!hr_job_tree_insert(&shape->subqueues, subqueue->listed)) return HR_NO_MEMORY;
  if (subqueue->is_preferred && !hr_job_tree_insert(&shape->preferred, subqueue->listed)) return HR_NO_MEMORY;
  hr__shape_settle(waiting, shape);
  return HR_OK;
}

enum hr_status hr__subqueue_unlist(struct hr__subqueue *subqueue) {
  struct hr__shape *shape = subqueue->shape;
  if (!hr_job_tree_remove(&shape->subqueues, subqueue->listed.key, subqueue->listed.job)) return HR_INTERNAL;
  if (!subqueue->is_preferred) return HR_OK;
  return hr_job_tree_remove(&shape->preferred, subqueue->listed.key, subqueue->listed.job) ? HR_OK : HR_INTERNAL;
}

/* ---- Groups ----------------------------------------------------------------------------------------- */

static uint32_t bar_index(const struct hr__waiting *waiting, uint32_t place, enum hr__admission_limit_kind kind) {
  return place == HR_NONE ? hr__admission_limit_number(waiting->warden.n_places, HR__BAR_FULL)
                          : hr__admission_limit_number(place, kind);
}

static struct hr__subqueue_group *make_group(struct hr__waiting *waiting, struct hr__pair name) {
  waiting->groups = hr__roomy(waiting->arena, waiting->groups, waiting->n_groups, &waiting->groups_capacity,
                              sizeof(*waiting->groups));
  struct hr__subqueue_group *group = hr_arena_alloc(waiting->arena, sizeof *group);
  if (!waiting->groups || !group || !hr__pair_map_add(&waiting->group_numbers, waiting->arena, name, waiting->n_groups))
    return NULL;
  *group = (struct hr__subqueue_group){.number = waiting->n_groups, .subqueues.store = waiting->store};
  return waiting->groups[waiting->n_groups++] = group;
}

/* What lanes need, as a small number; HR_NONE: out of memory. */
static uint32_t class_of(struct hr__waiting *waiting, const struct hr__admission_limit *bar) {
  struct hr__pair pair = {(uint64_t)bar->milli, (uint64_t)bar->spare};
  uint32_t number = hr__pair_map_find(&waiting->class_numbers, pair);
  if (number != HR_NONE) return number;
  number = waiting->class_numbers.count;
  return hr__pair_map_add(&waiting->class_numbers, waiting->arena, pair, number) ? number : HR_NONE;
}

/* NULL: out of memory. */
static struct hr__subqueue_group *group_for(struct hr__waiting *waiting, struct hr__shape *shape,
                                            const struct hr__admission_limit *bar, bool of_preferred) {
  uint32_t class_number = class_of(waiting, bar);
  if (class_number == HR_NONE) return NULL;
  struct hr__pair name = {(uint64_t)bar_index(waiting, bar->place, bar->kind) << 32 | shape->number,
                          (uint64_t)class_number << 1 | of_preferred};
  uint32_t number = hr__pair_map_find(&waiting->group_numbers, name);
  struct hr__subqueue_group *group = number == HR_NONE ? make_group(waiting, name) : waiting->groups[number];
  if (!group) return NULL;
  group->shape = shape;
  group->bar = *bar;
  group->of_preferred = of_preferred;
  return group;
}

static struct hr_job_tree *closed_at(const struct hr__waiting *waiting, const struct hr__admission_limit *bar) {
  return &waiting->closed[bar_index(waiting, bar->place, bar->kind)];
}

static enum hr_status close_group(struct hr__waiting *waiting, struct hr__subqueue_group *group) {
  if (group->is_closed) return HR_OK;
  struct hr_job_entry entry = {hr__admission_limit_need(&group->bar), {group->number}, 0};
  group->is_closed = true;
  return hr_job_tree_insert(closed_at(waiting, &group->bar), entry) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status open_group(struct hr__waiting *waiting, struct hr__subqueue_group *group) {
  if (!group->is_closed) return HR_OK;
  group->is_closed = false;
  struct hr_job_tree *closed = closed_at(waiting, &group->bar);
  return hr_job_tree_remove(closed, hr__admission_limit_need(&group->bar), (hr_job){group->number}) ? HR_OK
                                                                                                    : HR_INTERNAL;
}

/* ---- Speakers --------------------------------------------------------------------------------------- */

static void let_speak(struct hr__subqueue_group *group, struct hr__subqueue *subqueue) {
  struct hr__shape *shape = group->shape;
  group->speaker = subqueue;
  group->next_spoken = subqueue->speaks_for;
  subqueue->speaks_for = group;
  group->last_in_shape = NULL;
  group->next_in_shape = shape->spoken_for;
  if (shape->spoken_for) shape->spoken_for->last_in_shape = group;
  shape->spoken_for = group;
}

static void silence(struct hr__subqueue_group *group) {
  struct hr__subqueue_group **at = &group->speaker->speaks_for;
  while (*at != group) at = &(*at)->next_spoken;
  *at = group->next_spoken;
  group->speaker = NULL;
  if (group->next_in_shape) group->next_in_shape->last_in_shape = group->last_in_shape;
  if (group->last_in_shape)
    group->last_in_shape->next_in_shape = group->next_in_shape;
  else
    group->shape->spoken_for = group->next_in_shape;
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
  if (group->speaker) silence(group);
  return open_group(waiting, group);
}

/* Nobody speaks for the group: the first does if it may, else the bar has closed it. */
static enum hr_status find_speaker(struct hr__waiting *waiting, struct hr__subqueue_group *group) {
  struct hr_job_entry first;
  if (!hr_job_tree_first(&group->subqueues, &first)) return open_group(waiting, group);
  if (!hr__group_has_room(waiting, group)) return close_group(waiting, group);
  struct hr__subqueue *subqueue = hr__subqueue_listed(waiting, first);
  enum hr_status status = open_group(waiting, group);
  if (status == HR_OK) status = hr__subqueue_leave(waiting, subqueue);
  if (group->subqueues.count > 0) let_speak(group, subqueue);
  return status == HR_OK ? hr__subqueue_list(waiting, subqueue) : status;
}

static enum hr_status join(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                           struct hr__subqueue_group *group) {
  waiting->parked = hr__roomy(waiting->arena, waiting->parked, waiting->n_parked, &waiting->parked_capacity,
                              sizeof(*waiting->parked));
  if (!waiting->parked || !hr_job_tree_insert(&group->subqueues, subqueue->listed)) return HR_NO_MEMORY;
  waiting->parked[waiting->n_parked++] = subqueue;
  subqueue->parked_at = waiting->n_parked;
  subqueue->group = group;
  if (group->speaker && hr__entry_before(subqueue->listed, group->speaker->listed)) silence(group);
  return group->speaker ? HR_OK : find_speaker(waiting, group);
}

/* Whether the bar of `above` holds back all of the group if it does its speaker. */
static bool goes_on_below(const struct hr__subqueue_group *group, const struct hr__subqueue_group *above) {
  return group != above && group->of_preferred == above->of_preferred && hr__group_is_held(group, &above->bar);
}

/* Stands no longer for groups that may pass where it is parked now. */
static enum hr_status step_down(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                const struct hr__subqueue_group *parked_in) {
  enum hr_status status = HR_OK;
  for (struct hr__subqueue_group *group = subqueue->speaks_for, *next; group && status == HR_OK; group = next) {
    next = group->next_spoken;
    if (goes_on_below(group, parked_in)) continue;
    silence(group);
    if (group != parked_in) status = find_speaker(waiting, group);
  }
  return status;
}

enum hr_status hr__subqueue_still_speaks(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  enum hr_status status = HR_OK;
  for (struct hr__subqueue_group *group = subqueue->speaks_for, *next; group && status == HR_OK; group = next) {
    struct hr_job_entry first;
    next = group->next_spoken;
    hr_job_tree_first(&group->subqueues, &first);
    bool is_first = subqueue->jobs.count > 0 && hr__entry_before(subqueue->listed, first);
    if (is_first && group->of_preferred == subqueue->is_preferred) continue;
    silence(group);
    status = find_speaker(waiting, group);
  }
  return status;
}

/* ---- Lanes ------------------------------------------------------------------------------------------ */

enum hr_status hr__subqueue_park(struct hr__waiting *waiting, struct hr__subqueue *subqueue,
                                        const struct hr__admission_limit *bar) {
  struct hr__subqueue_group *group = group_for(waiting, subqueue->shape, bar, subqueue->is_preferred);
  if (!group) return HR_NO_MEMORY;
  enum hr_status status = hr__subqueue_unlist(subqueue);
  if (status == HR_OK) status = step_down(waiting, subqueue, group);
  if (status == HR_OK) status = join(waiting, subqueue, group);
  hr__shape_settle(waiting, subqueue->shape);
  return status;
}

/* Into its shape's lists again. */
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
  if (!group->speaker || !hr__entry_before(now, group->speaker->listed)) return HR_OK;
  silence(group);
  return find_speaker(waiting, group);
}

/* It is preferred no longer, or again. */
static enum hr_status change_side(struct hr__waiting *waiting, struct hr__subqueue *subqueue) {
  enum hr_status status = HR_OK;
  if (subqueue->parked_at) {
    struct hr__admission_limit bar = subqueue->group->bar;
    status = hr__subqueue_leave(waiting, subqueue);
    subqueue->is_preferred = !subqueue->is_preferred;
    struct hr__subqueue_group *group = group_for(waiting, subqueue->shape, &bar, subqueue->is_preferred);
    if (!group) return HR_NO_MEMORY;
    if (status == HR_OK) status = step_down(waiting, subqueue, group);
    return status == HR_OK ? join(waiting, subqueue, group) : status;
  }
  status = hr__subqueue_unlist(subqueue);
  subqueue->is_preferred = !subqueue->is_preferred;
  if (status == HR_OK) status = hr__subqueue_list(waiting, subqueue);
  return status == HR_OK ? hr__subqueue_still_speaks(waiting, subqueue) : status;
}

/* ---- What is told ----------------------------------------------------------------------------------- */

static enum hr_status let_all_go(struct hr__waiting *waiting, struct hr__subqueue_group *group) {
  struct hr_job_entry first;
  enum hr_status status = HR_OK;
  while (status == HR_OK && hr_job_tree_first(&group->subqueues, &first))
    status = unpark(waiting, hr__subqueue_listed(waiting, first));
  return status;
}

enum hr_status hr__waiting_loosen(struct hr__waiting *waiting, uint32_t place, enum hr__admission_limit_kind kind) {
  const struct hr_job_tree *closed = &waiting->closed[bar_index(waiting, place, kind)];
  enum hr_status status = HR_OK;
  struct hr_job_entry least;
  if (closed->count == 0) return HR_OK;
  int64_t room = place == HR_NONE ? INT64_MAX : waiting->warden.room(waiting->self, place, kind);
  while (status == HR_OK && hr_job_tree_first(closed, &least) && least.key <= room) {
    struct hr__subqueue_group *group = waiting->groups[least.job.id];
    status = place == HR_NONE ? let_all_go(waiting, group) : find_speaker(waiting, group);
  }
  return status;
}

enum hr_status hr__waiting_release(struct hr__waiting *waiting, uint32_t owner) {
  enum hr_status status = HR_OK;
  for (struct hr__subqueue *subqueue = waiting->owned[owner]; subqueue && status == HR_OK;
       subqueue = subqueue->next_owned)
    if (subqueue->parked_at) status = unpark(waiting, subqueue);
  return status;
}

enum hr_status hr__waiting_prefer_anew(struct hr__waiting *waiting, uint32_t owner) {
  enum hr_status status = HR_OK;
  for (struct hr__subqueue *subqueue = waiting->owned[owner]; subqueue && status == HR_OK;
       subqueue = subqueue->next_owned)
    if (subqueue->is_preferred != waiting->warden.is_preferred(waiting->self, subqueue))
      status = change_side(waiting, subqueue);
  return status;
}

/* All lanes of groups that another one stands for are listed. */
enum hr_status hr__shape_spread(struct hr__waiting *waiting, struct hr__shape *shape) {
  enum hr_status status = HR_OK;
  for (struct hr__subqueue_group *group = shape->spoken_for, *next; group && status == HR_OK; group = next) {
    next = group->next_in_shape;
    if (hr__group_has_room(waiting, group)) status = let_all_go(waiting, group);
  }
  return status;
}
