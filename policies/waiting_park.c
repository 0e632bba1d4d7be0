/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lanes that are held back stand beside their shapes' lists, by whose stops may let them go: see policies/waiting.h. */

#include "policies/waiting_lanes.h"

bool hr__lane_is_held(const struct hr__waiting *waiting, const struct hr__lane *lane) {
  uint32_t until;
  return waiting->is_held && waiting->is_held(waiting->self, lane, &until);
}

static struct hr__lane **list_for(const struct hr__waiting *waiting, uint32_t stopper) {
  return &waiting->parked_for[stopper == HR_NONE ? waiting->n_stoppers : stopper];
}

/* Takes it out of its shape's list. */
static enum hr_status park(struct hr__waiting *waiting, struct hr__lane *lane, uint32_t until) {
  waiting->parked = hr__roomy(waiting->arena, waiting->parked, waiting->n_parked, &waiting->parked_capacity,
                              sizeof(*waiting->parked));
  if (!waiting->parked) return HR_NO_MEMORY;
  if (!hr_job_tree_remove(&lane->shape->lanes, lane->listed.key, lane->listed.job)) return HR_INTERNAL;
  struct hr__lane **first = list_for(waiting, until);
  waiting->parked[waiting->n_parked++] = lane;
  lane->parked_at = waiting->n_parked;
  lane->parked_for = until;
  lane->last_parked = NULL;
  lane->next_parked = *first;
  if (*first) (*first)->last_parked = lane;
  *first = lane;
  return HR_OK;
}

/* Puts it back, unless it has become empty. */
enum hr_status hr__lane_unpark(struct hr__waiting *waiting, struct hr__lane *lane) {
  struct hr__lane *last = waiting->parked[--waiting->n_parked];
  waiting->parked[lane->parked_at - 1] = last;
  last->parked_at = lane->parked_at;
  lane->parked_at = 0;
  if (lane->next_parked) lane->next_parked->last_parked = lane->last_parked;
  if (lane->last_parked)
    lane->last_parked->next_parked = lane->next_parked;
  else
    *list_for(waiting, lane->parked_for) = lane->next_parked;
  if (lane->jobs.count == 0) return HR_OK;
  if (!hr_job_tree_insert(&lane->shape->lanes, lane->listed)) return HR_NO_MEMORY;
  return hr__shape_settle(waiting, lane->shape);
}

enum hr_status hr__waiting_park(struct hr__waiting *waiting) {
  enum hr_status status = HR_OK;
  for (uint32_t i = waiting->n_active; waiting->is_held && i-- > 0;) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    struct hr_job_entry first;
    uint32_t until;
    while (status == HR_OK && hr_job_tree_first(&shape->lanes, &first) &&
           waiting->is_held(waiting->self, hr__lane_listed(waiting, first), &until)) {
      status = park(waiting, hr__lane_listed(waiting, first), until);
      if (status == HR_OK) status = hr__shape_look_again(waiting, shape);
    }
    if (status == HR_OK) status = hr__shape_settle(waiting, shape);
  }
  return status;
}

enum hr_status hr__waiting_unpark(struct hr__waiting *waiting) {
  enum hr_status status = HR_OK;
  while (waiting->n_parked > 0 && status == HR_OK)
    status = hr__lane_unpark(waiting, waiting->parked[waiting->n_parked - 1]);
  return status;
}

enum hr_status hr__waiting_unpark_for(struct hr__waiting *waiting, uint32_t stopper) {
  enum hr_status status = HR_OK;
  struct hr__lane *const *anybody = list_for(waiting, HR_NONE), *const *own = list_for(waiting, stopper);
  while (*anybody && status == HR_OK) status = hr__lane_unpark(waiting, *anybody);
  while (*own && status == HR_OK) status = hr__lane_unpark(waiting, *own);
  return status;
}
