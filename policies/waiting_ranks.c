/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which lane of a shape comes first, and what changes that: see policies/waiting.h. A lane is listed in its shape under
 * its first job; where lanes race, they are contestants there.
 */

#include "policies/waiting_lanes.h"

void hr__shape_activate(struct hr__waiting *waiting, struct hr__shape *shape) {
  if (shape->active_at != HR_NONE) return;
  shape->active_at = waiting->n_active;
  waiting->active[waiting->n_active++] = shape->number;
}

void hr__shape_deactivate(struct hr__waiting *waiting, struct hr__shape *shape) {
  uint32_t last = waiting->active[--waiting->n_active];
  waiting->active[shape->active_at] = last;
  waiting->shapes[last]->active_at = shape->active_at;
  shape->active_at = HR_NONE;
}

static void activate_lane(struct hr__waiting *waiting, struct hr__lane *lane) {
  lane->active_at = waiting->n_active_lanes;
  waiting->active_lanes[waiting->n_active_lanes++] = lane;
}

static void deactivate_lane(struct hr__waiting *waiting, struct hr__lane *lane) {
  struct hr__lane *last = waiting->active_lanes[--waiting->n_active_lanes];
  waiting->active_lanes[lane->active_at] = last;
  last->active_at = lane->active_at;
}

/* The lane as it should be listed now. */
struct hr_job_entry hr__lane_listing(const struct hr__waiting *waiting, const struct hr__lane *lane) {
  int64_t least = hr_job_tree_least(&lane->jobs);
  return (struct hr_job_entry){waiting->full_key(waiting->self, lane, lane->head), lane->head.job, least};
}

static void find_head(const struct hr__waiting *waiting, struct hr__shape *shape) {
  if (hr__is_race(waiting)) {
    uint32_t first = hr__kinetic_first(&shape->race);
    if (first == HR_NONE) return;
    const struct hr__lane *lane = hr__lane_of_job(waiting, first);
    shape->head = lane->head;
    shape->head.key = waiting->full_key(waiting->self, lane, lane->head);
    return;
  }
  if (!hr_job_tree_first(&shape->lanes, &shape->head)) return;
  shape->head.value = waiting->lanes[waiting->lane_of[shape->head.job.id]]->head.value;
}

/* Where keys grow by themselves the first lane is listed anew as long as that makes another one the first. */
enum hr_status hr__shape_look_again(struct hr__waiting *waiting, struct hr__shape *shape) {
  struct hr_job_entry first;
  while (waiting->keys_grow && hr_job_tree_first(&shape->lanes, &first)) {
    struct hr__lane *lane = hr__lane_listed(waiting, first);
    struct hr_job_entry now = hr__lane_listing(waiting, lane);
    if (now.key == first.key) break;
    if (!hr_job_tree_remove(&shape->lanes, first.key, first.job)) return HR_INTERNAL;
    lane->listed = now;
    if (!hr_job_tree_insert(&shape->lanes, now)) return HR_NO_MEMORY;
  }
  return HR_OK;
}

/* The shape's list has changed, or the keys of what is in it. */
enum hr_status hr__shape_settle(struct hr__waiting *waiting, struct hr__shape *shape) {
  if (hr__is_race(waiting) ? shape->race.count : shape->lanes.count)
    hr__shape_activate(waiting, shape);
  else if (shape->active_at != HR_NONE)
    hr__shape_deactivate(waiting, shape);
  enum hr_status status = hr__shape_look_again(waiting, shape);
  find_head(waiting, shape);
  return status;
}

static struct hr__contestant contestant_of(const struct hr__waiting *waiting, const struct hr__lane *lane) {
  return (struct hr__contestant){.line = waiting->line_of(waiting->self, lane, lane->head),
                                 .value = hr_job_tree_least(&lane->jobs),
                                 .name = lane->head.job.id};
}

/* The lane races with its first job, or not at all once it is empty. */
static enum hr_status race_on(struct hr__waiting *waiting, struct hr__lane *lane, bool was) {
  struct hr__shape *shape = lane->shape;
  shape->race.now_us = waiting->now_us;
  if (!was) {
    activate_lane(waiting, lane);
    lane->place = hr__kinetic_add(&shape->race);
    if (lane->place == HR_NONE) return HR_NO_MEMORY;
  }
  if (lane->jobs.count) {
    hr__kinetic_set(&shape->race, lane->place, contestant_of(waiting, lane));
  } else {
    deactivate_lane(waiting, lane);
    hr__kinetic_remove(&shape->race, lane->place);
  }
  return hr__shape_settle(waiting, shape);
}

/* Lists the lane anew, or not at all once it is empty. `was`: whether it has been in use. */
enum hr_status hr__lane_relist(struct hr__waiting *waiting, struct hr__lane *lane, bool was) {
  if (hr__is_race(waiting)) return race_on(waiting, lane, was);
  struct hr__shape *shape = lane->shape;
  struct hr_job_entry now = lane->jobs.count ? hr__lane_listing(waiting, lane) : (struct hr_job_entry){0};
  bool same = was && lane->jobs.count && now.key == lane->listed.key && now.job.id == lane->listed.job.id &&
              now.value == lane->listed.value;
  if (same) return HR_OK;
  if (was && !lane->parked_at && !hr_job_tree_remove(&shape->lanes, lane->listed.key, lane->listed.job))
    return HR_INTERNAL;
  lane->listed = now;
  if (!was) activate_lane(waiting, lane);
  if (!lane->jobs.count) deactivate_lane(waiting, lane);
  if (lane->parked_at) return HR_OK;
  if (lane->jobs.count && !hr_job_tree_insert(&shape->lanes, now)) return HR_NO_MEMORY;
  return hr__shape_settle(waiting, shape);
}

enum hr_status hr__waiting_rerank(struct hr__waiting *waiting, uint64_t name) {
  uint32_t first = hr__pair_map_find(&waiting->first_of_name, (struct hr__pair){name, 0});
  enum hr_status status = HR_OK;
  for (struct hr__lane *lane = first == HR_NONE ? NULL : waiting->lanes[first]; lane && status == HR_OK;
       lane = lane->namesake)
    if (lane->jobs.count) status = hr__lane_relist(waiting, lane, true);
  return status;
}

static void race_anew(struct hr__waiting *waiting) {
  for (uint32_t i = 0; i < waiting->n_active_lanes; i++) {
    const struct hr__lane *lane = waiting->active_lanes[i];
    lane->shape->race.places[lane->place].line = waiting->line_of(waiting->self, lane, lane->head);
  }
  for (uint32_t i = 0; i < waiting->n_active; i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    hr__kinetic_play_all(&shape->race);
    find_head(waiting, shape);
  }
}

enum hr_status hr__waiting_rerank_all(struct hr__waiting *waiting) {
  enum hr_status status = HR_OK;
  if (hr__is_race(waiting)) {
    race_anew(waiting);
    return HR_OK;
  }
  for (uint32_t i = 0; i < waiting->n_active_lanes && status == HR_OK; i++)
    status = hr__lane_relist(waiting, waiting->active_lanes[i], true);
  return status;
}

enum hr_status hr__waiting_look_again(struct hr__waiting *waiting) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < waiting->n_active && status == HR_OK; i++)
    status = hr__shape_settle(waiting, hr__active_shape(waiting, i));
  return status == HR_OK ? hr__waiting_park(waiting) : status;
}

void hr__waiting_come_to(struct hr__waiting *waiting, int64_t now_us) {
  waiting->now_us = now_us;
  for (uint32_t i = 0; i < waiting->n_active && hr__is_race(waiting); i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    hr__kinetic_come_to(&shape->race, now_us);
    find_head(waiting, shape);
  }
}
