/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which lane of a shape comes first, and what changes that: see policies/waiting.h. A lane is listed in its shape under
 * its first job; where lanes race, they are contestants there.
 */

#include "policies/waiting_lanes.h"

/* Whether the shape is among those with lanes, or with preferred ones (`of_preferred`). */
static void enrol(struct hr__waiting *waiting, struct hr__shape *shape, bool of_preferred, bool is_in) {
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

void hr__shape_activate(struct hr__waiting *waiting, struct hr__shape *shape) {
  enrol(waiting, shape, false, true);
}

void hr__shape_deactivate(struct hr__waiting *waiting, struct hr__shape *shape) {
  enrol(waiting, shape, false, false);
}

static void activate_lane(struct hr__waiting *waiting, struct hr__lane *lane) {
  lane->active_at = waiting->n_active_lanes;
  waiting->active_lanes[waiting->n_active_lanes++] = lane;
  if (!waiting->owned) return;
  struct hr__lane **first = &waiting->owned[lane->owner];
  lane->last_owned = NULL;
  lane->next_owned = *first;
  if (*first) (*first)->last_owned = lane;
  *first = lane;
}

static void deactivate_lane(struct hr__waiting *waiting, struct hr__lane *lane) {
  struct hr__lane *last = waiting->active_lanes[--waiting->n_active_lanes];
  waiting->active_lanes[lane->active_at] = last;
  last->active_at = lane->active_at;
  if (!waiting->owned) return;
  if (lane->next_owned) lane->next_owned->last_owned = lane->last_owned;
  if (lane->last_owned)
    lane->last_owned->next_owned = lane->next_owned;
  else
    waiting->owned[lane->owner] = lane->next_owned;
}

/* The lane as it should be listed now. */
static struct hr_job_entry listing(const struct hr__waiting *waiting, const struct hr__lane *lane) {
  int64_t least = hr_job_tree_least(&lane->jobs);
  return (struct hr_job_entry){waiting->full_key(waiting->self, lane, lane->head), lane->head.job, least};
}

bool hr__lane_has_grown(const struct hr__waiting *waiting, const struct hr__lane *lane) {
  return waiting->keys_grow && waiting->full_key(waiting->self, lane, lane->head) != lane->listed.key;
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
  if (!hr_job_tree_first(hr__shape_list(waiting, shape), &shape->head)) return;
  shape->head.value = waiting->lanes[waiting->lane_of[shape->head.job.id]]->head.value;
}

/* The shape's lists have changed. */
void hr__shape_settle(struct hr__waiting *waiting, struct hr__shape *shape) {
  enrol(waiting, shape, false, (hr__is_race(waiting) ? shape->race.count : shape->lanes.count) > 0);
  if (waiting->warden.is_preferred) enrol(waiting, shape, true, shape->preferred.count > 0);
  find_head(waiting, shape);
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
  hr__shape_settle(waiting, shape);
  return HR_OK;
}

enum hr_status hr__lane_list(struct hr__waiting *waiting, struct hr__lane *lane) {
  struct hr__shape *shape = lane->shape;
  if (!hr_job_tree_insert(&shape->lanes, lane->listed)) return HR_NO_MEMORY;
  if (lane->is_preferred && !hr_job_tree_insert(&shape->preferred, lane->listed)) return HR_NO_MEMORY;
  hr__shape_settle(waiting, shape);
  return HR_OK;
}

enum hr_status hr__lane_unlist(struct hr__lane *lane) {
  struct hr__shape *shape = lane->shape;
  if (!hr_job_tree_remove(&shape->lanes, lane->listed.key, lane->listed.job)) return HR_INTERNAL;
  if (!lane->is_preferred) return HR_OK;
  return hr_job_tree_remove(&shape->preferred, lane->listed.key, lane->listed.job) ? HR_OK : HR_INTERNAL;
}

/* With another first job than before. */
static enum hr_status list_anew(struct hr__waiting *waiting, struct hr__lane *lane, struct hr_job_entry now) {
  lane->listed = now;
  lane->is_preferred = waiting->warden.is_preferred && waiting->warden.is_preferred(waiting->self, lane);
  return hr__lane_list(waiting, lane);
}

/* A lane that is in use, or was. */
static enum hr_status relist_in_use(struct hr__waiting *waiting, struct hr__lane *lane, struct hr_job_entry now) {
  enum hr_status status;
  if (lane->parked_at && lane->jobs.count && now.job.id == lane->listed.job.id)
    return hr__lane_relist_parked(waiting, lane, now);
  status = lane->parked_at ? hr__lane_leave(waiting, lane) : hr__lane_unlist(lane);
  if (status != HR_OK) return status;
  if (lane->jobs.count) return list_anew(waiting, lane, now);
  deactivate_lane(waiting, lane);
  hr__shape_settle(waiting, lane->shape);
  return HR_OK;
}

enum hr_status hr__lane_relist(struct hr__waiting *waiting, struct hr__lane *lane, bool was) {
  if (hr__is_race(waiting)) return race_on(waiting, lane, was);
  struct hr_job_entry now = lane->jobs.count ? listing(waiting, lane) : (struct hr_job_entry){0};
  bool same = was && lane->jobs.count && now.key == lane->listed.key && now.job.id == lane->listed.job.id &&
              now.value == lane->listed.value;
  if (same) return HR_OK;
  if (!was) {
    activate_lane(waiting, lane);
    return list_anew(waiting, lane, now);
  }
  enum hr_status status = relist_in_use(waiting, lane, now);
  return status == HR_OK && lane->speaks_for ? hr__lane_still_speaks(waiting, lane) : status;
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

void hr__waiting_come_to(struct hr__waiting *waiting, int64_t now_us) {
  waiting->now_us = now_us;
  for (uint32_t i = 0; i < waiting->n_active && hr__is_race(waiting); i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    hr__kinetic_come_to(&shape->race, now_us);
    find_head(waiting, shape);
  }
}
