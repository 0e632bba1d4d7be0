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

#include "policies/waiting_lanes.h"

bool hr__lane_is_held(const struct hr__waiting *waiting, const struct hr__lane *lane, struct hr__bar *bar) {
  return waiting->warden.is_held && waiting->warden.is_held(waiting->self, lane, bar);
}

/* ---- Groups ----------------------------------------------------------------------------------------- */

static uint32_t bar_index(const struct hr__waiting *waiting, uint32_t place, enum hr__bar_kind kind) {
  return place == HR_NONE ? hr__bar_number(waiting->warden.n_places, HR__BAR_FULL) : hr__bar_number(place, kind);
}

static struct hr__group *make_group(struct hr__waiting *waiting, struct hr__pair name) {
  waiting->groups = hr__roomy(waiting->arena, waiting->groups, waiting->n_groups, &waiting->groups_capacity,
                              sizeof(*waiting->groups));
  struct hr__group *group = hr_arena_alloc(waiting->arena, sizeof *group);
  if (!waiting->groups || !group || !hr__pair_map_add(&waiting->group_numbers, waiting->arena, name, waiting->n_groups))
    return NULL;
  *group = (struct hr__group){.number = waiting->n_groups, .lanes.store = waiting->store};
  return waiting->groups[waiting->n_groups++] = group;
}

/* What lanes need, as a small number; HR_NONE: out of memory. */
static uint32_t class_of(struct hr__waiting *waiting, const struct hr__bar *bar) {
  struct hr__pair pair = {(uint64_t)bar->milli, (uint64_t)bar->spare};
  uint32_t number = hr__pair_map_find(&waiting->class_numbers, pair);
  if (number != HR_NONE) return number;
  number = waiting->class_numbers.count;
  return hr__pair_map_add(&waiting->class_numbers, waiting->arena, pair, number) ? number : HR_NONE;
}

/* NULL: out of memory. */
static struct hr__group *group_for(struct hr__waiting *waiting, struct hr__shape *shape, const struct hr__bar *bar,
                                   bool of_preferred) {
  uint32_t class_number = class_of(waiting, bar);
  if (class_number == HR_NONE) return NULL;
  struct hr__pair name = {(uint64_t)bar_index(waiting, bar->place, bar->kind) << 32 | shape->number,
                          (uint64_t)class_number << 1 | of_preferred};
  uint32_t number = hr__pair_map_find(&waiting->group_numbers, name);
  struct hr__group *group = number == HR_NONE ? make_group(waiting, name) : waiting->groups[number];
  if (!group) return NULL;
  group->shape = shape;
  group->bar = *bar;
  group->of_preferred = of_preferred;
  return group;
}

bool hr__group_has_room(const struct hr__waiting *waiting, const struct hr__group *group) {
  const struct hr__bar *bar = &group->bar;
  return bar->place != HR_NONE && waiting->warden.room(waiting->self, bar->place, bar->kind) >= hr__bar_need(bar);
}

static struct hr_job_tree *closed_at(const struct hr__waiting *waiting, const struct hr__bar *bar) {
  return &waiting->closed[bar_index(waiting, bar->place, bar->kind)];
}

static enum hr_status close_group(struct hr__waiting *waiting, struct hr__group *group) {
  if (group->is_closed) return HR_OK;
  struct hr_job_entry entry = {hr__bar_need(&group->bar), {group->number}, 0};
  group->is_closed = true;
  return hr_job_tree_insert(closed_at(waiting, &group->bar), entry) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status open_group(struct hr__waiting *waiting, struct hr__group *group) {
  if (!group->is_closed) return HR_OK;
  group->is_closed = false;
  struct hr_job_tree *closed = closed_at(waiting, &group->bar);
  return hr_job_tree_remove(closed, hr__bar_need(&group->bar), (hr_job){group->number}) ? HR_OK : HR_INTERNAL;
}

/* ---- Speakers --------------------------------------------------------------------------------------- */

static void let_speak(struct hr__group *group, struct hr__lane *lane) {
  struct hr__shape *shape = group->shape;
  group->speaker = lane;
  group->next_spoken = lane->speaks_for;
  lane->speaks_for = group;
  group->last_in_shape = NULL;
  group->next_in_shape = shape->spoken_for;
  if (shape->spoken_for) shape->spoken_for->last_in_shape = group;
  shape->spoken_for = group;
}

static void silence(struct hr__group *group) {
  struct hr__group **at = &group->speaker->speaks_for;
  while (*at != group) at = &(*at)->next_spoken;
  *at = group->next_spoken;
  group->speaker = NULL;
  if (group->next_in_shape) group->next_in_shape->last_in_shape = group->last_in_shape;
  if (group->last_in_shape)
    group->last_in_shape->next_in_shape = group->next_in_shape;
  else
    group->shape->spoken_for = group->next_in_shape;
}

enum hr_status hr__lane_leave(struct hr__waiting *waiting, struct hr__lane *lane) {
  struct hr__group *group = lane->group;
  struct hr__lane *last = waiting->parked[--waiting->n_parked];
  waiting->parked[lane->parked_at - 1] = last;
  last->parked_at = lane->parked_at;
  lane->parked_at = 0;
  lane->group = NULL;
  if (!hr_job_tree_remove(&group->lanes, lane->listed.key, lane->listed.job)) return HR_INTERNAL;
  if (group->lanes.count > 0) return HR_OK;
  if (group->speaker) silence(group);
  return open_group(waiting, group);
}

/* Nobody speaks for the group: the first does if it may, else the bar has closed it. */
static enum hr_status find_speaker(struct hr__waiting *waiting, struct hr__group *group) {
  struct hr_job_entry first;
  if (!hr_job_tree_first(&group->lanes, &first)) return open_group(waiting, group);
  if (!hr__group_has_room(waiting, group)) return close_group(waiting, group);
  struct hr__lane *lane = hr__lane_listed(waiting, first);
  enum hr_status status = open_group(waiting, group);
  if (status == HR_OK) status = hr__lane_leave(waiting, lane);
  if (group->lanes.count > 0) let_speak(group, lane);
  return status == HR_OK ? hr__lane_list(waiting, lane) : status;
}

static enum hr_status join(struct hr__waiting *waiting, struct hr__lane *lane, struct hr__group *group) {
  waiting->parked = hr__roomy(waiting->arena, waiting->parked, waiting->n_parked, &waiting->parked_capacity,
                              sizeof(*waiting->parked));
  if (!waiting->parked || !hr_job_tree_insert(&group->lanes, lane->listed)) return HR_NO_MEMORY;
  waiting->parked[waiting->n_parked++] = lane;
  lane->parked_at = waiting->n_parked;
  lane->group = group;
  if (group->speaker && hr__entry_before(lane->listed, group->speaker->listed)) silence(group);
  return group->speaker ? HR_OK : find_speaker(waiting, group);
}

/* Whether the bar of `above` holds back all of the group if it does its speaker. */
static bool goes_on_below(const struct hr__group *group, const struct hr__group *above) {
  return group != above && group->of_preferred == above->of_preferred && hr__group_is_held(group, &above->bar);
}

/* Stands no longer for groups that may pass where it is parked now. */
static enum hr_status step_down(struct hr__waiting *waiting, struct hr__lane *lane, const struct hr__group *parked_in) {
  enum hr_status status = HR_OK;
  for (struct hr__group *group = lane->speaks_for, *next; group && status == HR_OK; group = next) {
    next = group->next_spoken;
    if (goes_on_below(group, parked_in)) continue;
    silence(group);
    if (group != parked_in) status = find_speaker(waiting, group);
  }
  return status;
}

bool hr__group_is_held(const struct hr__group *group, const struct hr__bar *bar) {
  return bar->place != HR_NONE && bar->place <= group->bar.place && bar->milli == group->bar.milli &&
         bar->spare == group->bar.spare;
}

enum hr_status hr__lane_still_speaks(struct hr__waiting *waiting, struct hr__lane *lane) {
  enum hr_status status = HR_OK;
  for (struct hr__group *group = lane->speaks_for, *next; group && status == HR_OK; group = next) {
    struct hr_job_entry first;
    next = group->next_spoken;
    hr_job_tree_first(&group->lanes, &first);
    bool is_first = lane->jobs.count > 0 && hr__entry_before(lane->listed, first);
    if (is_first && group->of_preferred == lane->is_preferred) continue;
    silence(group);
    status = find_speaker(waiting, group);
  }
  return status;
}

/* ---- Lanes ------------------------------------------------------------------------------------------ */

enum hr_status hr__lane_park(struct hr__waiting *waiting, struct hr__lane *lane, const struct hr__bar *bar) {
  struct hr__group *group = group_for(waiting, lane->shape, bar, lane->is_preferred);
  if (!group) return HR_NO_MEMORY;
  enum hr_status status = hr__lane_unlist(lane);
  if (status == HR_OK) status = step_down(waiting, lane, group);
  if (status == HR_OK) status = join(waiting, lane, group);
  hr__shape_settle(waiting, lane->shape);
  return status;
}

/* Into its shape's lists again. */
static enum hr_status unpark(struct hr__waiting *waiting, struct hr__lane *lane) {
  enum hr_status status = hr__lane_leave(waiting, lane);
  return status == HR_OK ? hr__lane_list(waiting, lane) : status;
}

enum hr_status hr__lane_relist_parked(struct hr__waiting *waiting, struct hr__lane *lane, struct hr_job_entry now) {
  struct hr__group *group = lane->group;
  if (!hr_job_tree_remove(&group->lanes, lane->listed.key, lane->listed.job)) return HR_INTERNAL;
  lane->listed = now;
  if (!hr_job_tree_insert(&group->lanes, now)) return HR_NO_MEMORY;
  if (!group->speaker || !hr__entry_before(now, group->speaker->listed)) return HR_OK;
  silence(group);
  return find_speaker(waiting, group);
}

/* It is preferred no longer, or again. */
static enum hr_status change_side(struct hr__waiting *waiting, struct hr__lane *lane) {
  enum hr_status status = HR_OK;
  if (lane->parked_at) {
    struct hr__bar bar = lane->group->bar;
    status = hr__lane_leave(waiting, lane);
    lane->is_preferred = !lane->is_preferred;
    struct hr__group *group = group_for(waiting, lane->shape, &bar, lane->is_preferred);
    if (!group) return HR_NO_MEMORY;
    if (status == HR_OK) status = step_down(waiting, lane, group);
    return status == HR_OK ? join(waiting, lane, group) : status;
  }
  status = hr__lane_unlist(lane);
  lane->is_preferred = !lane->is_preferred;
  if (status == HR_OK) status = hr__lane_list(waiting, lane);
  return status == HR_OK ? hr__lane_still_speaks(waiting, lane) : status;
}

/* ---- What is told ----------------------------------------------------------------------------------- */

static enum hr_status let_all_go(struct hr__waiting *waiting, struct hr__group *group) {
  struct hr_job_entry first;
  enum hr_status status = HR_OK;
  while (status == HR_OK && hr_job_tree_first(&group->lanes, &first))
    status = unpark(waiting, hr__lane_listed(waiting, first));
  return status;
}

enum hr_status hr__waiting_loosen(struct hr__waiting *waiting, uint32_t place, enum hr__bar_kind kind) {
  const struct hr_job_tree *closed = &waiting->closed[bar_index(waiting, place, kind)];
  enum hr_status status = HR_OK;
  struct hr_job_entry least;
  if (closed->count == 0) return HR_OK;
  int64_t room = place == HR_NONE ? INT64_MAX : waiting->warden.room(waiting->self, place, kind);
  while (status == HR_OK && hr_job_tree_first(closed, &least) && least.key <= room) {
    struct hr__group *group = waiting->groups[least.job.id];
    status = place == HR_NONE ? let_all_go(waiting, group) : find_speaker(waiting, group);
  }
  return status;
}

enum hr_status hr__waiting_release(struct hr__waiting *waiting, uint32_t owner) {
  enum hr_status status = HR_OK;
  for (struct hr__lane *lane = waiting->owned[owner]; lane && status == HR_OK; lane = lane->next_owned)
    if (lane->parked_at) status = unpark(waiting, lane);
  return status;
}

enum hr_status hr__waiting_prefer_anew(struct hr__waiting *waiting, uint32_t owner) {
  enum hr_status status = HR_OK;
  for (struct hr__lane *lane = waiting->owned[owner]; lane && status == HR_OK; lane = lane->next_owned)
    if (lane->is_preferred != waiting->warden.is_preferred(waiting->self, lane)) status = change_side(waiting, lane);
  return status;
}

/* ---- Who is first ----------------------------------------------------------------------------------- */

/* Lists the first lane anew as long as its key has grown, and takes it out of the way as long as it is held back. */
static enum hr_status find_first(struct hr__waiting *waiting, struct hr__shape *shape) {
  enum hr_status status = HR_OK;
  struct hr_job_entry first;
  struct hr__bar bar;
  while (status == HR_OK && hr_job_tree_first(hr__shape_list(waiting, shape), &first)) {
    struct hr__lane *lane = hr__lane_listed(waiting, first);
    if (hr__lane_has_grown(waiting, lane)) {
      status = hr__lane_relist(waiting, lane, true);
      continue;
    }
    if (!hr__lane_is_held(waiting, lane, &bar)) break;
    status = hr__lane_park(waiting, lane, &bar);
  }
  return status;
}

enum hr_status hr__waiting_find_first(struct hr__waiting *waiting) {
  enum hr_status status = HR_OK;
  if (!waiting->warden.is_held && !waiting->keys_grow) return HR_OK;
  for (uint32_t i = waiting->n_active; i-- > 0 && status == HR_OK;)
    status = find_first(waiting, hr__active_shape(waiting, i));
  return status;
}

enum hr_status hr__waiting_prefer(struct hr__waiting *waiting, bool preferred_only) {
  uint32_t *active = waiting->active, n_active = waiting->n_active, capacity = waiting->active_capacity;
  waiting->active = waiting->aside;
  waiting->n_active = waiting->n_aside;
  waiting->active_capacity = waiting->aside_capacity;
  waiting->aside = active;
  waiting->n_aside = n_active;
  waiting->aside_capacity = capacity;
  waiting->preferred_only = preferred_only;
  for (uint32_t i = waiting->n_active; i-- > 0;) hr__shape_settle(waiting, hr__active_shape(waiting, i));
  return hr__waiting_find_first(waiting);
}

enum hr_status hr__shape_spread(struct hr__waiting *waiting, struct hr__shape *shape) {
  enum hr_status status = HR_OK;
  for (struct hr__group *group = shape->spoken_for, *next; group && status == HR_OK; group = next) {
    next = group->next_in_shape;
    if (hr__group_has_room(waiting, group)) status = let_all_go(waiting, group);
  }
  return status;
}
