/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Observer of waits. It records for each wait of a job how long the job waited for each reason.
 *
 * Asking the policy for the reason of each waiting job after each pass would be too slow, so jobs are grouped. In most
 * policies, all waiting jobs with the same request and the same required tier of the topology wait for the same reason;
 * in policies with the ability HR_POLICY_REASONS_BY_TENANT, the tenant must also be the same. Such jobs form a group. A
 * group has one clock per reason and quota, and at most one of its clocks runs at a time: the clock of the current
 * reason. The values of all clocks are stored when a job joins the group. When the job leaves, the differences from the
 * stored values are the parts of its wait.
 *
 * A job is watched if the caller of hr_waits_create() asked for its segments, which are the intervals of its waits with
 * their reasons. A watched job has a group of its own. If the policy has the ability HR_POLICY_REASONS_BY_JOB, all jobs
 * have groups of their own. Such groups are reused by later jobs.
 *
 * The state is constant between two instants, so the reason after a pass is valid until the next pass. A job that
 * begins to wait joins its group at the end of the instant, if it is still waiting then. Most jobs start in the instant
 * of their submit and never join. When a job leaves, the running clock of its group is advanced first, so that the time
 * since the previous instant is included.
 *
 * The clocks of a group are searched linearly, because their number is small: one per reason, and one per quota on the
 * path from the quota of the tenant to the root of the hierarchy of quotas.
 */

#include "base/containers.h"
#include "headroom/unstable/exports.h"

#include <stdlib.h>
#include <string.h>

/* The total time for which a group waited for one reason and quota. */
struct wait_clock {
  uint32_t reason, quota;
  int64_t us; /* value at `since_us` of the group */
};

struct wait_member {
  hr_job job;
  int64_t begin_us;
};

/* Attributes that all jobs of a shared group have in common. `asks`: number of GPUs, and index of the request. `of`:
   tenant, and tier within which the job must run. */
struct wait_key {
  uint64_t asks, of;
};

struct wait_group {
  struct wait_key key; /* shared groups only */
  struct wait_clock *clocks;
  struct wait_member *members;
  int64_t *noted; /* [members_capacity][clocks_capacity]: values of the clocks when each member joined */
  uint32_t n_clocks, clocks_capacity, n_members, members_capacity;
  uint32_t running;   /* index of the running clock; HR_NONE: none */
  uint32_t active_at; /* index in hr_waits.active; HR_NONE: the group has no members */
  uint32_t next_free; /* index of the next group in the list of unused groups; HR_NONE: none */
  uint32_t watched;   /* index in hr_waits.watched of the member; HR_NONE: not watched */
  bool is_single;     /* the group is reserved for a single job */
  int64_t since_us;
};

/* Returns how many microseconds a clock has advanced since a member joined. */
static inline int64_t wait_group_part_us(const struct wait_group *group, uint32_t member, uint32_t clock) {
  return group->clocks[clock].us - group->noted[(size_t)member * group->clocks_capacity + clock];
}

/* Special values of `group_of`. NOT_WAITING: the job does not wait. JUST_WAITING: it began to wait at the current
   instant and has no group yet. */
#define NOT_WAITING HR_NONE
#define JUST_WAITING (HR_NONE - 1)

struct hr_waits {
  const struct hr_trace *trace;
  bool each, failed, begun, by_tenant;
  /* [n_jobs]: group_of: group of each job; member_of: index of the job among the members of its group */
  uint32_t *group_of, *member_of;
  uint8_t *has_started;
  hr_job *watched;      /* [n_watched]: the watched jobs, in ascending order */
  uint32_t *segment_of; /* [n_watched]: index + 1 of the open segment; 0: none */
  uint32_t n_watched;
  hr_job *arrivals; /* jobs that began to wait since the last instant */
  uint32_t n_arrivals, arrivals_capacity;
  struct wait_group *groups;
  uint32_t *active; /* indices of the groups that have members */
  uint32_t n_groups, n_active, groups_capacity, active_capacity, first_free;
  struct hr__hash by_key; /* shared groups by key */
  /* Results. */
  struct hr_wait *waits;
  struct hr_wait_part *parts;
  struct hr_wait_segment *segments;
  uint32_t n_waits, waits_capacity, n_parts, parts_capacity, n_segments, segments_capacity;
};

enum { FIRST_MEMBERS = 4, FIRST_CLOCKS = 4 };

static void wait_group_finish(struct wait_group *group) {
  free(group->clocks);
  free(group->members);
  free(group->noted);
}

/* Removes all clocks and members of a group without freeing memory. */
static void wait_group_reset(struct wait_group *group) {
  group->n_clocks = group->n_members = 0;
  group->running = HR_NONE;
}

/* Enlarges the arrays of a group to the given capacities. Returns false if out of memory. */
static bool make_room(struct wait_group *group, uint32_t members, uint32_t clocks) {
  if (!HR__ARRAY_RESIZE(group->members, members) || !HR__ARRAY_RESIZE(group->clocks, clocks)) return false;
  int64_t *noted = calloc((size_t)members * clocks, sizeof *noted);
  if (!noted) return false;
  for (uint32_t i = 0; i < group->n_members; i++)
    memcpy(noted + (size_t)i * clocks, group->noted + (size_t)i * group->clocks_capacity,
           group->n_clocks * sizeof *noted);
  free(group->noted);
  group->noted = noted;
  group->members_capacity = members;
  group->clocks_capacity = clocks;
  return true;
}

/* Advances the running clock, if any, to `now_us`. */
static void wait_group_advance(struct wait_group *group, int64_t now_us) {
  if (group->clocks && group->running != HR_NONE) group->clocks[group->running].us += now_us - group->since_us;
  group->since_us = now_us;
}

/* Adds a member. Returns its index in the group; HR_NONE if out of memory. */
static uint32_t wait_group_join(struct wait_group *group, hr_job job, int64_t now_us) {
  bool full = group->n_members == group->members_capacity;
  uint32_t clocks = group->clocks_capacity ? group->clocks_capacity : FIRST_CLOCKS;
  if (full && !make_room(group, group->n_members ? 2 * group->n_members : FIRST_MEMBERS, clocks)) return HR_NONE;
  wait_group_advance(group, now_us);
  uint32_t member = group->n_members++;
  int64_t *noted = group->noted + (size_t)member * group->clocks_capacity;
  group->members[member] = (struct wait_member){job, now_us};
  for (uint32_t i = 0; i < group->clocks_capacity; i++) noted[i] = i < group->n_clocks ? group->clocks[i].us : 0;
  return member;
}

static uint32_t find_clock(const struct wait_group *group, uint32_t reason, uint32_t quota) {
  for (uint32_t i = 0; group->clocks && i < group->n_clocks; i++)
    if (group->clocks[i].reason == reason && group->clocks[i].quota == quota) return i;
  return HR_NONE;
}

/* Stops the running clock and runs the clock of a reason and quota. Adds the clock if it does not exist. Returns false
   if out of memory. */
static bool wait_group_run(struct wait_group *group, uint32_t reason, uint32_t quota, int64_t now_us) {
  uint32_t found = find_clock(group, reason, quota);
  if (found != HR_NONE && found == group->running) return true;
  wait_group_advance(group, now_us);
  group->running = found;
  if (found != HR_NONE) return true;
  bool full = !group->clocks || group->n_clocks == group->clocks_capacity;
  uint32_t clocks = group->clocks_capacity ? 2 * group->clocks_capacity : FIRST_CLOCKS;
  if (full && !make_room(group, group->members_capacity, clocks)) return false;
  group->running = group->n_clocks;
  group->clocks[group->n_clocks++] = (struct wait_clock){reason, quota, 0};
  return true;
}

/* Removes a member and moves the last member to its index. */
static void wait_group_leave(struct wait_group *group, uint32_t member) {
  uint32_t last = --group->n_members;
  if (member != last) {
    group->members[member] = group->members[last];
    memcpy(group->noted + (size_t)member * group->clocks_capacity, group->noted + (size_t)last * group->clocks_capacity,
           group->clocks_capacity * sizeof *group->noted);
  }
  if (last == 0) group->running = HR_NONE;
}

/* ---- Watched jobs ---------------------------------------------------------------------------------- */

/* Returns the index of a job in `watched`; HR_NONE if it is not watched. */
static uint32_t waits_watched(const struct hr_waits *waits, hr_job job) {
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

/* ---- Groups ---------------------------------------------------------------------------------------- */

static uint32_t make_group(struct hr_waits *waits) {
  if (!HR__ARRAY_HAS_ROOM(waits->groups, waits->n_groups, waits->groups_capacity)) return HR_NONE;
  waits->groups[waits->n_groups] = (struct wait_group){.running = HR_NONE, .active_at = HR_NONE};
  return waits->n_groups++;
}

static uint32_t single_group(struct hr_waits *waits, uint32_t watched) {
  uint32_t number = waits->first_free;
  if (number == HR_NONE)
    number = make_group(waits);
  else
    waits->first_free = waits->groups[number].next_free;
  if (number == HR_NONE) return HR_NONE;
  wait_group_reset(&waits->groups[number]);
  waits->groups[number].watched = watched;
  waits->groups[number].is_single = true;
  return number;
}

/* ---- Groups by request ----------------------------------------------------------------------------- */

static struct wait_key key_of(const struct hr_waits *waits, const struct hr_view *view, hr_job job) {
  const struct hr_requests *requests = hr_cluster_requests(view->cluster);
  uint32_t request = requests ? requests->of_job[job.id] : hr_cluster_accept_class(view->cluster, job);
  uint32_t tenant = waits->by_tenant && waits->trace->tenant ? waits->trace->tenant[job.id] : 0;
  uint32_t tier = hr_cluster_any_within(view->cluster) ? (uint32_t)hr_cluster_locality(view->cluster, job).tier : 0;
  return (struct wait_key){(uint64_t)waits->trace->gpus[job.id] << 32 | request, (uint64_t)tenant << 32 | tier};
}

static uint32_t shared_group(struct hr_waits *waits, const struct hr_view *view, hr_job job) {
  struct wait_key key = key_of(waits, view, job);
  uint32_t hash = (uint32_t)hr__digest_add(hr__digest_add(HR__DIGEST_SEED, key.asks), key.of);
  struct hr__hash_cursor at;
  for (uint32_t i = hr__hash_first(&waits->by_key, hash, &at); i != HR_NONE; i = hr__hash_next(&waits->by_key, &at))
    if (waits->groups[i].key.asks == key.asks && waits->groups[i].key.of == key.of) return i;
  uint32_t number = make_group(waits);
  if (number == HR_NONE || !hr__hash_add(&waits->by_key, NULL, hash, number)) return HR_NONE;
  waits->groups[number].key = key;
  waits->groups[number].watched = HR_NONE;
  return number;
}

/* Returns the index of the group for a job; HR_NONE if out of memory. */
static uint32_t waits_group_for(struct hr_waits *waits, const struct hr_view *view, hr_job job) {
  uint32_t watched = waits_watched(waits, job);
  return waits->each || watched != HR_NONE ? single_group(waits, watched) : shared_group(waits, view, job);
}

/* Removes a group from `active` when its last member has left. If it is reserved for a single job, adds it to the list
   of unused groups. */
static void waits_group_empty(struct hr_waits *waits, uint32_t number) {
  struct wait_group *group = &waits->groups[number];
  uint32_t last = waits->active[--waits->n_active];
  waits->active[group->active_at] = last;
  waits->groups[last].active_at = group->active_at;
  group->active_at = HR_NONE;
  if (!group->is_single) return;
  group->next_free = waits->first_free;
  waits->first_free = number;
}

/* ---- Life cycle ------------------------------------------------------------------------------------ */

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
  for (size_t i = 0; i < n_jobs; i++) waits->group_of[i] = NOT_WAITING;
  for (uint32_t i = 0; i < config->n_watched; i++) { /* insertion sort, since watched jobs are few */
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
  for (uint32_t i = 0; i < waits->n_groups; i++) wait_group_finish(&waits->groups[i]);
  free(waits->groups);
  free(waits->active);
  hr__hash_finish(&waits->by_key);
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

/* ---- End of waits ---------------------------------------------------------------------------------- */

/* Adds a part to a wait; parts are sorted by descending duration. Returns false if out of memory. */
static bool add_part(struct hr_waits *waits, struct hr_wait *wait, struct hr_wait_part part) {
  if (!HR__ARRAY_HAS_ROOM(waits->parts, waits->n_parts, waits->parts_capacity)) return false;
  uint32_t at = waits->n_parts++;
  for (; at > wait->first_part && waits->parts[at - 1].us < part.us; at--) waits->parts[at] = waits->parts[at - 1];
  waits->parts[at] = part;
  wait->n_parts++;
  return true;
}

static bool add_wait(struct hr_waits *waits, const struct wait_group *group, uint32_t member, int64_t end_us,
                     bool is_open) {
  const struct wait_member *waiting_member = &group->members[member];
  struct hr_wait wait = {.job = waiting_member->job,
                         .first_part = waits->n_parts,
                         .begin_us = waiting_member->begin_us,
                         .end_us = end_us,
                         .is_first = !waits->has_started[waiting_member->job.id],
                         .is_open = is_open};
  const bool is_empty = wait.begin_us == wait.end_us; /* the job was submitted in the last instant of the run */
  if (is_empty && !is_open) return true;
  if (!HR__ARRAY_HAS_ROOM(waits->waits, waits->n_waits, waits->waits_capacity)) return false;
  for (uint32_t i = 0; i < group->n_clocks; i++) {
    const struct wait_clock *clock = &group->clocks[i];
    int64_t part_us = wait_group_part_us(group, member, i);
    bool counts = part_us > 0 || (is_empty && i == group->running);
    if (counts && !add_part(waits, &wait, (struct hr_wait_part){clock->reason, clock->quota, part_us})) return false;
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
  waits->group_of[job.id] = NOT_WAITING;
  if (number == NOT_WAITING || number == JUST_WAITING) return;
  struct wait_group *group = &waits->groups[number];
  wait_group_advance(group, now_us);
  end_segment(waits, group->watched, now_us);
  if (!add_wait(waits, group, member, now_us, is_open)) waits->failed = true;
  wait_group_leave(group, member);
  if (member < group->n_members) waits->member_of[group->members[member].job.id] = member;
  if (group->n_members == 0) waits_group_empty(waits, number);
}

/* ---- Observer -------------------------------------------------------------------------------------- */

static void begin(struct hr_waits *waits, const struct hr_view *view) {
  uint32_t abilities = hr_view_abilities(view);
  waits->begun = true;
  waits->each = waits->each || abilities & HR_POLICY_REASONS_BY_JOB;
  waits->by_tenant = abilities & HR_POLICY_REASONS_BY_TENANT;
}

static void note_arrival(struct hr_waits *waits, hr_job job) {
  waits->group_of[job.id] = JUST_WAITING;
  if (HR__ARRAY_HAS_ROOM(waits->arrivals, waits->n_arrivals, waits->arrivals_capacity))
    waits->arrivals[waits->n_arrivals++] = job;
  else
    waits->failed = true;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_waits *waits = self;
  if (!waits->begun) begin(waits, view);
  if (waits->failed || event->job.id >= waits->trace->n_jobs) return; /* replicas of services are not in the trace */
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
  uint32_t number = waits_group_for(waits, view, job);
  struct wait_group *group = number == HR_NONE ? NULL : &waits->groups[number];
  uint32_t member = group ? wait_group_join(group, job, view->now_us) : HR_NONE;
  if (member == HR_NONE || !HR__ARRAY_HAS_ROOM(waits->active, waits->n_active, waits->active_capacity)) return false;
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

/* Records the current reason of a watched job: extends its open segment if the reason is unchanged, otherwise begins a
   new segment. Returns false if out of memory. */
static bool log_reason(struct hr_waits *waits, const struct hr_view *view, uint32_t watched,
                       const struct hr_wait_reason *hold) {
  int64_t now_us = view->now_us;
  uint32_t number = waits->segment_of[watched];
  struct hr_wait_segment *segment = number ? &waits->segments[number - 1] : NULL;
  if (segment && is_same(&segment->hold, hold)) {
    if (hold->free_milli < segment->min_free_milli) segment->min_free_milli = hold->free_milli;
    if (hold->free_milli > segment->max_free_milli) segment->max_free_milli = hold->free_milli;
    return true;
  }
  end_segment(waits, watched, now_us);
  bool roomy = HR__ARRAY_HAS_ROOM(waits->segments, waits->n_segments, waits->segments_capacity);
  if (!roomy || !waits->segments) return false;
  waits->segments[waits->n_segments++] = (struct hr_wait_segment){.job = waits->watched[watched],
                                                                  .begin_us = now_us,
                                                                  .end_us = now_us,
                                                                  .hold = *hold,
                                                                  .min_free_milli = hold->free_milli,
                                                                  .max_free_milli = hold->free_milli};
  hr_view_wait_description(view, waits->watched[watched], waits->segments[waits->n_segments - 1].description);
  waits->segment_of[watched] = waits->n_segments;
  return true;
}

static bool update_group(struct hr_waits *waits, const struct hr_view *view, struct wait_group *group) {
  struct hr_wait_reason hold;
  hr_view_wait_reason(view, group->members[0].job, &hold);
  if (hold.behind.id >= waits->trace->n_jobs) hold.behind = (hr_job){HR_NONE}; /* none, or a replica: it has no name */
  if (!wait_group_run(group, hold.reason, hold.quota, view->now_us)) return false;
  return group->watched == HR_NONE || log_reason(waits, view, group->watched, &hold);
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_waits *waits = self;
  bool good = !waits->failed;
  for (uint32_t i = 0; i < waits->n_arrivals && good; i++)
    if (waits->group_of[waits->arrivals[i].id] == JUST_WAITING) good = join(waits, view, waits->arrivals[i]);
  waits->n_arrivals = 0;
  for (uint32_t i = 0; i < waits->n_active && good; i++)
    good = update_group(waits, view, &waits->groups[waits->active[i]]);
  waits->failed = !good;
}

struct hr_observer hr_waits_observer(struct hr_waits *waits) {
  return (struct hr_observer){waits, on_event, on_instant};
}

/* ---- Results --------------------------------------------------------------------------------------- */

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
  *all = waits->waits ? waits->waits + from : NULL;
  while (from + count < waits->n_waits && waits->waits[from + count].job.id == job.id) count++;
  return count;
}

const struct hr_wait_part *hr_waits_parts(const struct hr_waits *waits, const struct hr_wait *wait) {
  return waits->parts + wait->first_part;
}

size_t hr_waits_segments(const struct hr_waits *waits, hr_job job, const struct hr_wait_segment **segments) {
  uint32_t from = 0, count = 0;
  while (from < waits->n_segments && waits->segments[from].job.id < job.id) from++;
  *segments = waits->segments ? waits->segments + from : NULL;
  while (from + count < waits->n_segments && waits->segments[from + count].job.id == job.id) count++;
  return count;
}
