/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policies/batches.h"

static const struct hr_job_entry before_all = {INT64_MIN, {0}, 0};

void hr__batches_init(struct hr__batches *batches, struct hr_arena *arena, struct hr__waiting *waiting,
                      bool remembers) {
  *batches = (struct hr__batches){.arena = arena, .waiting = waiting, .remembers = remembers, .at = before_all};
}

void hr__batches_forget(struct hr__batches *batches) {
  batches->n_known = batches->n_next = batches->n_jobs = 0;
  batches->at = before_all;
}

/* ---- What is remembered ----------------------------------------------------------------------------- */

static bool add_job(struct hr__batches *batches, struct hr_job_entry job) {
  if (batches->n_jobs == batches->jobs_capacity)
    batches->jobs = hr_arena_grown(batches->arena, batches->jobs, &batches->jobs_capacity, sizeof *batches->jobs);
  if (!batches->jobs) return false;
  batches->jobs[batches->n_jobs++] = job;
  batches->known[batches->n_known - 1].n_jobs++;
  return true;
}

/* An empty batch behind the others. */
static bool add_batch(struct hr__batches *batches, struct hr__shape *shape, int64_t value) {
  if (batches->n_known == batches->known_capacity)
    batches->known = hr_arena_grown(batches->arena, batches->known, &batches->known_capacity, sizeof *batches->known);
  if (!batches->known) return false;
  batches->known[batches->n_known++] = (struct hr__batch){shape, value, batches->n_jobs, 0};
  return true;
}

/* Leaves out who waits no more, those too whose state has been forgotten, and is zero, as they are over. Neither list
   grows. */
static void retain_waiting(struct hr__batches *batches, const uint8_t *state) {
  uint32_t n_known = batches->n_known;
  batches->n_known = batches->n_jobs = 0;
  for (uint32_t i = 0; i < n_known; i++) {
    struct hr__batch batch = batches->known[i], *last = &batches->known[batches->n_known - (batches->n_known > 0)];
    bool joins = batches->n_known > 0 && last->shape == batch.shape && last->value == batch.value;
    uint32_t first_job = batches->n_jobs;
    for (uint32_t k = 0; k < batch.n_jobs; k++) {
      struct hr_job_entry job = batches->jobs[batch.first_job + k];
      if (state[job.job.id] == HR_JOB_WAITING) batches->jobs[batches->n_jobs++] = job;
    }
    uint32_t n_jobs = batches->n_jobs - first_job;
    if (joins)
      last->n_jobs += n_jobs;
    else if (n_jobs > 0)
      batches->known[batches->n_known++] = (struct hr__batch){batch.shape, batch.value, first_job, n_jobs};
  }
}

/* ---- Walking ---------------------------------------------------------------------------------------- */

static bool make_room(struct hr__batches *batches) {
  if (batches->waiting->n_active <= batches->walks_capacity) return true;
  batches->walks_capacity = 2 * batches->waiting->n_active;
  batches->walks = hr_arena_alloc(batches->arena, batches->walks_capacity * sizeof *batches->walks);
  return batches->walks != NULL;
}

/* From behind the last job that was handed out, or, where nothing is remembered, from the first on. */
static enum hr_status begin_walks(struct hr__batches *batches) {
  struct hr__waiting *waiting = batches->waiting;
  batches->walking = true;
  batches->n_walks = 0;
  if (!make_room(batches)) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < waiting->n_active; i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    struct hr__walk *walk = &batches->walks[batches->n_walks];
    batches->n_walks += batches->remembers ? hr__walk_begin_after(waiting, shape, batches->at, walk)
                                           : hr__walk_begin(waiting, shape, walk);
    if (!walk->shape) return HR_NO_MEMORY;
  }
  return HR_OK;
}

/* The walk whose next job is the first in order of all, and the next job of the others. */
static struct hr__walk *first_walk(struct hr__batches *batches, struct hr_job_entry *next) {
  struct hr__walk *first = &batches->walks[0];
  *next = (struct hr_job_entry){INT64_MAX, {HR_NONE}, 0};
  for (uint32_t i = 1; i < batches->n_walks; i++) {
    struct hr__walk *walk = &batches->walks[i];
    struct hr_job_entry later = walk->entry;
    if (hr__entry_before(later, first->entry)) {
      later = first->entry;
      first = walk;
    }
    if (hr__entry_before(later, *next)) *next = later;
  }
  return first;
}

/* `*ended`: there is no further job; another walk is in its place. */
static enum hr_status walk_on(struct hr__batches *batches, struct hr__walk *walk, bool *ended) {
  *ended = !hr__walk_on(batches->waiting, walk);
  if (!*ended) return HR_OK;
  if (!walk->shape) return HR_NO_MEMORY;
  *walk = batches->walks[--batches->n_walks];
  return HR_OK;
}

/* The next job in order, unless it is held back, and all that follow it and are like it; as any start may hold back
   others, where jobs can be held back it is one at a time. */
static enum hr_status walk_batch(struct hr__batches *batches) {
  struct hr_job_entry next;
  struct hr__walk *walk = first_walk(batches, &next);
  bool one_by_one = batches->waiting->warden.is_held != NULL, held = hr__walk_is_held(batches->waiting, walk), ended;
  int64_t value = walk->entry.value;
  enum hr_status status;
  if (!batches->remembers) batches->n_known = batches->n_jobs = 0;
  if (!add_batch(batches, walk->shape, value)) return HR_NO_MEMORY;
  do {
    if (!held && !add_job(batches, walk->entry)) return HR_NO_MEMORY;
    status = walk_on(batches, walk, &ended);
  } while (status == HR_OK && !ended && !one_by_one && walk->entry.value == value &&
           hr__entry_before(walk->entry, next));
  return status;
}

/* ---- Handing out ------------------------------------------------------------------------------------ */

enum hr_status hr__batches_begin(struct hr__batches *batches, const uint8_t *state) {
  batches->n_next = 0;
  batches->at = before_all;
  batches->walking = false;
  if (!batches->remembers) return begin_walks(batches);
  retain_waiting(batches, state);
  return HR_OK;
}

void hr__batches_go_on(struct hr__batches *batches) {
  batches->walking = false;
}

enum hr_status hr__batches_next(struct hr__batches *batches, const struct hr__batch **batch) {
  enum hr_status status = HR_OK;
  *batch = NULL;
  if (!batches->remembers || batches->n_next == batches->n_known) {
    if (!batches->walking) status = begin_walks(batches);
    if (status == HR_OK && batches->n_walks == 0) return HR_OK;
    if (status == HR_OK) status = walk_batch(batches);
    if (status != HR_OK) return status;
    batches->n_next = batches->n_known - 1;
  }
  *batch = &batches->known[batches->n_next++];
  if ((*batch)->n_jobs > 0) batches->at = batches->jobs[(*batch)->first_job + (*batch)->n_jobs - 1];
  return HR_OK;
}

void hr__batches_end(struct hr__batches *batches) {
  batches->n_known = batches->n_next;
  const struct hr__batch *last = &batches->known[batches->n_known - (batches->n_known > 0)];
  batches->n_jobs = batches->n_known > 0 ? last->first_job + last->n_jobs : 0;
}

uint32_t hr__batches_shapes(const struct hr__batches *batches) {
  return batches->remembers ? batches->waiting->n_active : batches->n_walks;
}

const struct hr__shape *hr__batches_shape(const struct hr__batches *batches, uint32_t i) {
  return batches->remembers ? hr__active_shape(batches->waiting, i) : batches->walks[i].shape;
}

bool hr__batches_has(const struct hr__batches *batches, uint32_t i, int64_t bound) {
  struct hr_job_entry entry;
  if (!batches->remembers) return hr__walk_has(&batches->walks[i], bound);
  return hr__waiting_next(batches->waiting, hr__active_shape(batches->waiting, i), batches->at, bound, &entry);
}
