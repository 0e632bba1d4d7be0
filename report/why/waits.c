/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waiting jobs that are held back alike, with one set of clocks: how long they were held back for each reason. A job
 * notes the clocks when it joins; what they show more when it leaves are the parts of its wait.
 */

#include "base/array.h"
#include "base/hash.h"
#include "headroom/unstable/why.h"

#include <stdlib.h>
#include <string.h>

/* What runs the same clock. */
struct hr__wait_clock {
  uint32_t reason, quota;
  int64_t us; /* as of the group's `since_us` */
};

struct hr__wait_member {
  hr_job job;
  int64_t begin_us;
};

struct hr__wait_group {
  struct hr__wait_clock *clocks;
  struct hr__wait_member *members;
  int64_t *noted; /* [members_capacity][clocks_capacity]: what clocks showed when the member joined */
  uint32_t n_clocks, clocks_capacity, n_members, members_capacity;
  uint32_t running;   /* the clock; HR_NONE */
  uint32_t active_at; /* for whoever lists groups */
  uint32_t next_free; /* likewise */
  uint32_t watched;   /* its one member is watched: which; HR_NONE */
  bool is_lone;       /* for one job at a time */
  int64_t since_us;
};

static void hr__wait_group_finish(struct hr__wait_group *group);
/* Nobody is in it and no clock has run: as it was when it was made, but for its memory. */
static void hr__wait_group_reset(struct hr__wait_group *group);
/* The member's place; HR_NONE: out of memory. */
static uint32_t hr__wait_group_join(struct hr__wait_group *group, hr_job job, int64_t now_us);
/* This clock runs from now on. False: out of memory. */
static bool hr__wait_group_run(struct hr__wait_group *group, uint32_t reason, uint32_t quota, int64_t now_us);
/* Up to now, by the clock that runs; none runs when nobody is left. */
static void hr__wait_group_come_to(struct hr__wait_group *group, int64_t now_us);
/* What a clock has shown more since the member joined. */
static inline int64_t hr__wait_group_part_us(const struct hr__wait_group *group, uint32_t member, uint32_t clock) {
  return group->clocks[clock].us - group->noted[(size_t)member * group->clocks_capacity + clock];
}
/* The last member takes the place of the one that leaves. */
static void hr__wait_group_leave(struct hr__wait_group *group, uint32_t member);

/* What the files of the waits share. */

/* In the place of the group of a job that does not wait, or of one that has just begun to. */
#define HR__NOT_WAITING HR_NONE
#define HR__JUST_WAITING (HR_NONE - 1)

/* Groups by what their jobs ask for. */
struct hr__wait_keys {
  struct hr__wait_key {
    uint64_t asks, of; /* GPUs and what tells requests apart; tenant and tier */
    uint32_t group;    /* + 1; 0: empty */
  } * slots;
  uint32_t n_slots, count;
};

struct hr_waits {
  const struct hr_trace *trace;
  bool each, failed, begun, by_tenant;
  /* By job. */
  uint32_t *group_of, *member_of;
  uint8_t *has_started;
  hr_job *watched;      /* in order of their ids */
  uint32_t *segment_of; /* by watched job: the one that goes on + 1, 0: none */
  uint32_t n_watched;
  hr_job *arrivals; /* that began to wait since the last instant */
  uint32_t n_arrivals, arrivals_capacity;
  struct hr__wait_group *groups;
  uint32_t *active; /* groups with members */
  uint32_t n_groups, n_active, groups_capacity, active_capacity, first_free;
  struct hr__wait_keys keys;
  /* What came of it. */
  struct hr_wait *waits;
  struct hr_wait_part *parts;
  struct hr_wait_segment *segments;
  uint32_t n_waits, waits_capacity, n_parts, parts_capacity, n_segments, segments_capacity;
};

/* waits_groups.c: the number of the group that a job that begins to wait is to join; HR_NONE: out of memory. */
static uint32_t hr__waits_group_for(struct hr_waits *waits, const struct hr_view *view, hr_job job);
/* The group has no members any more. */
static void hr__waits_group_empty(struct hr_waits *waits, uint32_t number);
/* The place of the job in the list of those that are watched; HR_NONE: it is not. */
static uint32_t hr__waits_watched(const struct hr_waits *waits, hr_job job);

/* Clocks are few: reasons, and quotas on the way from a tenant to the root. They are looked for one by one. */

enum { FIRST_MEMBERS = 4, FIRST_CLOCKS = 4 };

static void hr__wait_group_finish(struct hr__wait_group *group) {
  free(group->clocks);
  free(group->members);
  free(group->noted);
}

static void hr__wait_group_reset(struct hr__wait_group *group) {
  group->n_clocks = group->n_members = 0;
  group->running = HR_NONE;
}

/* Notes for so many members and clocks, as they stand. */
static bool make_room(struct hr__wait_group *group, uint32_t members, uint32_t clocks) {
  struct hr__wait_member *all = realloc(group->members, members * sizeof *all);
  if (all) group->members = all;
  struct hr__wait_clock *more = realloc(group->clocks, clocks * sizeof *more);
  if (more) group->clocks = more;
  int64_t *noted = calloc((size_t)members * clocks, sizeof *noted);
  if (!all || !more || !noted) {
    free(noted);
    return false;
  }
  for (uint32_t i = 0; i < group->n_members; i++)
    memcpy(noted + (size_t)i * clocks, group->noted + (size_t)i * group->clocks_capacity,
           group->n_clocks * sizeof *noted);
  free(group->noted);
  group->noted = noted;
  group->members_capacity = members;
  group->clocks_capacity = clocks;
  return true;
}

static void hr__wait_group_come_to(struct hr__wait_group *group, int64_t now_us) {
  if (group->clocks && group->running != HR_NONE) group->clocks[group->running].us += now_us - group->since_us;
  group->since_us = now_us;
}

static uint32_t hr__wait_group_join(struct hr__wait_group *group, hr_job job, int64_t now_us) {
  bool full = group->n_members == group->members_capacity;
  uint32_t clocks = group->clocks_capacity ? group->clocks_capacity : FIRST_CLOCKS;
  if (full && !make_room(group, group->n_members ? 2 * group->n_members : FIRST_MEMBERS, clocks)) return HR_NONE;
  hr__wait_group_come_to(group, now_us);
  uint32_t member = group->n_members++;
  int64_t *noted = group->noted + (size_t)member * group->clocks_capacity;
  group->members[member] = (struct hr__wait_member){job, now_us};
  for (uint32_t i = 0; i < group->clocks_capacity; i++) noted[i] = i < group->n_clocks ? group->clocks[i].us : 0;
  return member;
}

static uint32_t find_clock(const struct hr__wait_group *group, uint32_t reason, uint32_t quota) {
  for (uint32_t i = 0; group->clocks && i < group->n_clocks; i++)
    if (group->clocks[i].reason == reason && group->clocks[i].quota == quota) return i;
  return HR_NONE;
}

static bool hr__wait_group_run(struct hr__wait_group *group, uint32_t reason, uint32_t quota, int64_t now_us) {
  uint32_t found = find_clock(group, reason, quota);
  if (found != HR_NONE && found == group->running) return true;
  hr__wait_group_come_to(group, now_us);
  group->running = found;
  if (found != HR_NONE) return true;
  bool full = !group->clocks || group->n_clocks == group->clocks_capacity;
  uint32_t clocks = group->clocks_capacity ? 2 * group->clocks_capacity : FIRST_CLOCKS;
  if (full && !make_room(group, group->members_capacity, clocks)) return false;
  group->running = group->n_clocks;
  group->clocks[group->n_clocks++] = (struct hr__wait_clock){reason, quota, 0};
  return true;
}

static void hr__wait_group_leave(struct hr__wait_group *group, uint32_t member) {
  uint32_t last = --group->n_members;
  if (member != last) {
    group->members[member] = group->members[last];
    memcpy(group->noted + (size_t)member * group->clocks_capacity, group->noted + (size_t)last * group->clocks_capacity,
           group->clocks_capacity * sizeof *group->noted);
  }
  if (last == 0) group->running = HR_NONE;
}

/*
 * Which jobs are held back alike: by what they ask for, and by their tenants where the policy says so; or none but
 * itself, where it says that, and where a job is watched. Groups of one job are used again when it has left.
 */

static uint32_t hr__waits_watched(const struct hr_waits *waits, hr_job job) {
  uint32_t from = 0, to = waits->n_watched;
  while (from < to) {
    uint32_t middle = from + (to - from) / 2;
    if (waits->watched[middle].id < job.id)
      from = middle + 1;
    else
      to = middle;
  }
  return from < waits->n_watched && waits->watched[from].id == job.id ? from : HR_NONE;
}

/* ---- Groups ----------------------------------------------------------------------------------------- */

static uint32_t make_group(struct hr_waits *waits) {
  if (waits->n_groups == waits->groups_capacity) {
    struct hr__wait_group *grown = hr__grown(waits->groups, &waits->groups_capacity, sizeof *grown);
    if (!grown) return HR_NONE;
    waits->groups = grown;
  }
  waits->groups[waits->n_groups] = (struct hr__wait_group){.running = HR_NONE, .active_at = HR_NONE};
  return waits->n_groups++;
}

static uint32_t lone_group(struct hr_waits *waits, uint32_t watched) {
  uint32_t number = waits->first_free;
  if (number == HR_NONE)
    number = make_group(waits);
  else
    waits->first_free = waits->groups[number].next_free;
  if (number == HR_NONE) return HR_NONE;
  hr__wait_group_reset(&waits->groups[number]);
  waits->groups[number].watched = watched;
  waits->groups[number].is_lone = true;
  return number;
}

/* ---- By what they ask for --------------------------------------------------------------------------- */

static struct hr__wait_key key_of(const struct hr_waits *waits, const struct hr_view *view, hr_job job) {
  const struct hr_requests *requests = hr_cluster_requests(view->cluster);
  uint32_t request = requests ? requests->of_job[job.id] : hr_cluster_accept_class(view->cluster, job);
  uint32_t tenant = waits->by_tenant && waits->trace->tenant ? waits->trace->tenant[job.id] : 0;
  uint32_t tier = hr_cluster_any_within(view->cluster) ? (uint32_t)hr_cluster_locality(view->cluster, job).tier : 0;
  return (struct hr__wait_key){(uint64_t)waits->trace->gpus[job.id] << 32 | request, (uint64_t)tenant << 32 | tier, 0};
}

static struct hr__wait_key *slot_of(const struct hr__wait_keys *keys, const struct hr__wait_key *key) {
  uint32_t mask = keys->n_slots - 1;
  uint32_t at = (uint32_t)hr__digest_add(hr__digest_add(HR__DIGEST_SEED, key->asks), key->of) & mask;
  while (keys->slots[at].group && (keys->slots[at].asks != key->asks || keys->slots[at].of != key->of))
    at = (at + 1) & mask;
  return &keys->slots[at];
}

/* At most half full. */
static bool make_slots(struct hr__wait_keys *keys) {
  if (2 * keys->count < keys->n_slots) return true;
  struct hr__wait_keys grown = {.n_slots = keys->n_slots ? 2 * keys->n_slots : 64, .count = keys->count};
  grown.slots = calloc(grown.n_slots, sizeof *grown.slots);
  if (!grown.slots) return false;
  for (uint32_t i = 0; i < keys->n_slots; i++)
    if (keys->slots[i].group) *slot_of(&grown, &keys->slots[i]) = keys->slots[i];
  free(keys->slots);
  *keys = grown;
  return true;
}

static uint32_t shared_group(struct hr_waits *waits, const struct hr_view *view, hr_job job) {
  struct hr__wait_key key = key_of(waits, view, job);
  if (!make_slots(&waits->keys)) return HR_NONE;
  struct hr__wait_key *slot = slot_of(&waits->keys, &key);
  if (slot->group) return slot->group - 1;
  uint32_t number = make_group(waits);
  if (number == HR_NONE) return HR_NONE;
  waits->groups[number].watched = HR_NONE;
  *slot = key;
  slot->group = number + 1;
  waits->keys.count++;
  return number;
}

static uint32_t hr__waits_group_for(struct hr_waits *waits, const struct hr_view *view, hr_job job) {
  uint32_t watched = hr__waits_watched(waits, job);
  return waits->each || watched != HR_NONE ? lone_group(waits, watched) : shared_group(waits, view, job);
}

static void hr__waits_group_empty(struct hr_waits *waits, uint32_t number) {
  struct hr__wait_group *group = &waits->groups[number];
  uint32_t last = waits->active[--waits->n_active];
  waits->active[group->active_at] = last;
  waits->groups[last].active_at = group->active_at;
  group->active_at = HR_NONE;
  if (!group->is_lone) return;
  group->next_free = waits->first_free;
  waits->first_free = number;
}

/*
 * Between two instants nothing changes, so what was said after a pass holds until the next one. A job that begins to
 * wait joins its group at the end of the instant, if it still waits then: most start at once. When a job leaves, the
 * clocks of its group come to the present, by what was said at the instant before.
 */

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

static bool is_same(const struct hr_wait_reason *a, const struct hr_wait_reason *b) {
  return a->reason == b->reason && a->behind.id == b->behind.id && a->quota == b->quota;
}

/* The segment that goes on, or a new one. */
static bool log_hold(struct hr_waits *waits, uint32_t watched, const struct hr_wait_reason *hold, int64_t now_us) {
  uint32_t number = waits->segment_of[watched];
  struct hr_wait_segment *segment = number ? &waits->segments[number - 1] : NULL;
  if (segment && is_same(&segment->hold, hold)) {
    if (hold->free_milli < segment->min_free_milli) segment->min_free_milli = hold->free_milli;
    if (hold->free_milli > segment->max_free_milli) segment->max_free_milli = hold->free_milli;
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
                                                                  .min_free_milli = hold->free_milli,
                                                                  .max_free_milli = hold->free_milli};
  waits->segment_of[watched] = waits->n_segments;
  return true;
}

static bool ask(struct hr_waits *waits, const struct hr_view *view, struct hr__wait_group *group) {
  struct hr_wait_reason hold;
  hr_view_wait_reason(view, group->members[0].job, &hold);
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

struct hr_observer hr_waits_observer(struct hr_waits *waits) {
  return (struct hr_observer){waits, on_event, on_instant};
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
