/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Between two instants nothing changes, so what was said after a pass holds until the next one. A job that begins to
 * wait joins its group at the end of the instant, if it still waits then: most start at once. When a job leaves, the
 * clocks of its group come to the present, by what was said at the instant before.
 */

#include "report/waits_state.h"

#include "sim/grow.h"

#include <string.h>

struct hr_waits *hr_waits_create(const struct hr_waits_config *config) {
  struct hr_waits *waits = calloc(1, sizeof *waits);
  size_t n_jobs = (size_t)config->trace->n_jobs + 1;
  if (!waits) return NULL;
  *waits = (struct hr_waits){.trace = config->trace, .each = config->each, .first_free = HR_NONE};
  waits->group_of = malloc(n_jobs * sizeof *waits->group_of);
  waits->member_of = malloc(n_jobs * sizeof *waits->member_of);
  waits->has_started = calloc(n_jobs, sizeof *waits->has_started);
  waits->watched = malloc(((size_t)config->n_watched + 1) * sizeof *waits->watched);
  waits->segment_of = calloc((size_t)config->n_watched + 1, sizeof *waits->segment_of);
  if (!waits->group_of || !waits->member_of || !waits->has_started || !waits->watched || !waits->segment_of) {
    hr_waits_destroy(waits);
    return NULL;
  }
  for (size_t i = 0; i < n_jobs; i++) waits->group_of[i] = HR__NOT_WAITING;
  for (uint32_t i = 0; i < config->n_watched; i++) { /* few: put in order one by one */
    uint32_t at = waits->n_watched;
    while (at > 0 && waits->watched[at - 1].id > config->watched[i].id) at--;
    if (at > 0 && waits->watched[at - 1].id == config->watched[i].id) continue;
    memmove(waits->watched + at + 1, waits->watched + at, (waits->n_watched - at) * sizeof *waits->watched);
    waits->watched[at] = config->watched[i];
    waits->n_watched++;
  }
  return waits;
}

void hr_waits_destroy(struct hr_waits *waits) {
  if (!waits) return;
  for (uint32_t i = 0; i < waits->n_groups; i++) hr__wait_group_finish(&waits->groups[i]);
  free(waits->groups);
  free(waits->active);
  free(waits->keys.slots);
  free(waits->arrivals);
  free(waits->group_of);
  free(waits->member_of);
  free(waits->has_started);
  free(waits->watched);
  free(waits->segment_of);
  free(waits->waits);
  free(waits->parts);
  free(waits->segments);
  free(waits);
}

/* The list with room for one more; false: out of memory. */
static bool has_room(void **list, uint32_t count, uint32_t *capacity, size_t bytes) {
  if (count < *capacity) return true;
  void *grown = hr__grown(*list, capacity, bytes);
  if (grown) *list = grown;
  return grown != NULL;
}

/* ---- Leaving ---------------------------------------------------------------------------------------- */

/* The longest first. */
static bool add_part(struct hr_waits *waits, struct hr_wait *wait, struct hr_wait_part part) {
  if (!has_room((void **)&waits->parts, waits->n_parts, &waits->parts_capacity, sizeof *waits->parts)) return false;
  uint32_t at = waits->n_parts++;
  for (; at > wait->first_part && waits->parts[at - 1].us < part.us; at--) waits->parts[at] = waits->parts[at - 1];
  waits->parts[at] = part;
  wait->n_parts++;
  return true;
}

static bool add_wait(struct hr_waits *waits, const struct hr__wait_group *group, uint32_t member, int64_t end_us,
                     bool is_open) {
  const struct hr__wait_member *who = &group->members[member];
  struct hr_wait wait = {.job = who->job,
                         .first_part = waits->n_parts,
                         .begin_us = who->begin_us,
                         .end_us = end_us,
                         .is_first = !waits->has_started[who->job.id],
                         .is_open = is_open};
  if (wait.begin_us == wait.end_us) return true;
  if (!has_room((void **)&waits->waits, waits->n_waits, &waits->waits_capacity, sizeof *waits->waits)) return false;
  for (uint32_t i = 0; i < group->n_clocks; i++) {
    const struct hr__wait_clock *clock = &group->clocks[i];
    int64_t part_us = hr__wait_group_part_us(group, member, i);
    if (part_us > 0 && !add_part(waits, &wait, (struct hr_wait_part){clock->reason, clock->quota, part_us}))
      return false;
  }
  waits->waits[waits->n_waits++] = wait;
  return true;
}

static void end_segment(struct hr_waits *waits, uint32_t watched, int64_t now_us) {
  uint32_t number = watched == HR_NONE ? 0 : waits->segment_of[watched];
  if (number == 0 || !waits->segments) return;
  waits->segments[number - 1].end_us = now_us;
  waits->segment_of[watched] = 0;
}

static void leave(struct hr_waits *waits, hr_job job, int64_t now_us, bool is_open) {
  uint32_t number = waits->group_of[job.id], member = waits->member_of[job.id];
  waits->group_of[job.id] = HR__NOT_WAITING;
  if (number == HR__NOT_WAITING || number == HR__JUST_WAITING) return;
  struct hr__wait_group *group = &waits->groups[number];
  hr__wait_group_come_to(group, now_us);
  end_segment(waits, group->watched, now_us);
  if (!add_wait(waits, group, member, now_us, is_open)) waits->failed = true;
  hr__wait_group_leave(group, member);
  if (member < group->n_members) waits->member_of[group->members[member].job.id] = member;
  if (group->n_members == 0) hr__waits_group_empty(waits, number);
}

/* ---- Following the run ------------------------------------------------------------------------------ */

static void begin(struct hr_waits *waits, const struct hr_view *view) {
  uint32_t abilities = hr_view_abilities(view);
  waits->begun = true;
  waits->each = waits->each || abilities & HR_POLICY_HOLDS_BY_JOB;
  waits->by_tenant = abilities & HR_POLICY_HOLDS_BY_TENANT;
}

static void note_arrival(struct hr_waits *waits, hr_job job) {
  waits->group_of[job.id] = HR__JUST_WAITING;
  if (has_room((void **)&waits->arrivals, waits->n_arrivals, &waits->arrivals_capacity, sizeof *waits->arrivals))
    waits->arrivals[waits->n_arrivals++] = job;
  else
    waits->failed = true;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_waits *waits = self;
  if (!waits->begun) begin(waits, view);
  if (waits->failed) return;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
  case HR_EVENT_INTERRUPT:
  case HR_EVENT_PREEMPT:
    note_arrival(waits, event->job);
    return;
  case HR_EVENT_START:
    leave(waits, event->job, view->now_us, false);
    waits->has_started[event->job.id] = true;
    return;
  case HR_EVENT_REJECT:
    leave(waits, event->job, view->now_us, false);
    return;
  default:
    return;
  }
}

static bool join(struct hr_waits *waits, const struct hr_view *view, hr_job job) {
  uint32_t number = hr__waits_group_for(waits, view, job);
  struct hr__wait_group *group = number == HR_NONE ? NULL : &waits->groups[number];
  uint32_t member = group ? hr__wait_group_join(group, job, view->now_us) : HR_NONE;
  if (member == HR_NONE ||
      !has_room((void **)&waits->active, waits->n_active, &waits->active_capacity, sizeof *waits->active))
    return false;
  waits->group_of[job.id] = number;
  waits->member_of[job.id] = member;
  if (group->active_at != HR_NONE) return true;
  group->active_at = waits->n_active;
  waits->active[waits->n_active++] = number;
  return true;
}

static bool is_same(const struct hr_hold *a, const struct hr_hold *b) {
  return a->reason == b->reason && a->behind.id == b->behind.id && a->quota == b->quota;
}

/* The segment that goes on, or a new one. */
static bool log_hold(struct hr_waits *waits, uint32_t watched, const struct hr_hold *hold, int64_t now_us) {
  uint32_t number = waits->segment_of[watched];
  struct hr_wait_segment *segment = number ? &waits->segments[number - 1] : NULL;
  if (segment && is_same(&segment->hold, hold)) {
    if (hold->free_milli < segment->least_free_milli) segment->least_free_milli = hold->free_milli;
    if (hold->free_milli > segment->most_free_milli) segment->most_free_milli = hold->free_milli;
    return true;
  }
  end_segment(waits, watched, now_us);
  bool roomy =
      has_room((void **)&waits->segments, waits->n_segments, &waits->segments_capacity, sizeof *waits->segments);
  if (!roomy || !waits->segments) return false;
  waits->segments[waits->n_segments++] = (struct hr_wait_segment){.job = waits->watched[watched],
                                                                  .begin_us = now_us,
                                                                  .end_us = now_us,
                                                                  .hold = *hold,
                                                                  .least_free_milli = hold->free_milli,
                                                                  .most_free_milli = hold->free_milli};
  waits->segment_of[watched] = waits->n_segments;
  return true;
}

static bool ask(struct hr_waits *waits, const struct hr_view *view, struct hr__wait_group *group) {
  struct hr_hold hold;
  hr_view_hold(view, group->members[0].job, &hold);
  if (!hr__wait_group_run(group, hold.reason, hold.quota, view->now_us)) return false;
  return group->watched == HR_NONE || log_hold(waits, group->watched, &hold, view->now_us);
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_waits *waits = self;
  bool good = !waits->failed;
  for (uint32_t i = 0; i < waits->n_arrivals && good; i++)
    if (waits->group_of[waits->arrivals[i].id] == HR__JUST_WAITING) good = join(waits, view, waits->arrivals[i]);
  waits->n_arrivals = 0;
  for (uint32_t i = 0; i < waits->n_active && good; i++) good = ask(waits, view, &waits->groups[waits->active[i]]);
  waits->failed = !good;
}

struct hr_fold hr_waits_fold(struct hr_waits *waits) {
  return (struct hr_fold){waits, on_event, on_instant};
}

/* ---- Afterwards ------------------------------------------------------------------------------------- */

static int by_job(const void *a, const void *b) {
  const struct hr_wait *one = a, *other = b;
  if (one->job.id != other->job.id) return one->job.id < other->job.id ? -1 : 1;
  return (one->begin_us > other->begin_us) - (one->begin_us < other->begin_us);
}

static int by_watched(const void *a, const void *b) {
  const struct hr_wait_segment *one = a, *other = b;
  if (one->job.id != other->job.id) return one->job.id < other->job.id ? -1 : 1;
  return (one->begin_us > other->begin_us) - (one->begin_us < other->begin_us);
}

enum hr_status hr_waits_close(struct hr_waits *waits, const struct hr_result *result) {
  for (uint32_t job = 0; job < waits->trace->n_jobs; job++) leave(waits, (hr_job){job}, result->end_us, true);
  if (waits->n_waits > 1) qsort(waits->waits, waits->n_waits, sizeof *waits->waits, by_job);
  if (waits->n_segments > 1) qsort(waits->segments, waits->n_segments, sizeof *waits->segments, by_watched);
  return waits->failed ? HR_NO_MEMORY : HR_OK;
}

size_t hr_waits_all(const struct hr_waits *waits, const struct hr_wait **all) {
  *all = waits->waits;
  return waits->n_waits;
}

size_t hr_waits_of(const struct hr_waits *waits, hr_job job, const struct hr_wait **all) {
  size_t from = 0, to = waits->n_waits, count = 0;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (waits->waits[middle].job.id < job.id)
      from = middle + 1;
    else
      to = middle;
  }
  *all = waits->waits + from;
  while (from + count < waits->n_waits && waits->waits[from + count].job.id == job.id) count++;
  return count;
}

const struct hr_wait_part *hr_waits_parts(const struct hr_waits *waits, const struct hr_wait *wait) {
  return waits->parts + wait->first_part;
}

size_t hr_waits_segments(const struct hr_waits *waits, hr_job job, const struct hr_wait_segment **segments) {
  uint32_t from = 0, count = 0;
  while (from < waits->n_segments && waits->segments[from].job.id < job.id) from++;
  *segments = waits->segments + from;
  while (from + count < waits->n_segments && waits->segments[from + count].job.id == job.id) count++;
  return count;
}
