/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_BATCHES_H
#define HR_POLICIES_BATCHES_H

/*
 * The waiting jobs in order, handed out in batches: jobs that follow one another and ask for the same, for the same
 * time. Where keys stay as they are, what was handed out is remembered, and handed out again without a walk; else
 * each pass walks down the queue.
 */

#include "policies/waiting.h"

struct hr__batch {
  struct hr__shape *shape;
  int64_t value; /* of each of its jobs */
  uint32_t first_job, n_jobs;
};

struct hr__batches {
  struct hr_arena *arena;
  struct hr__waiting *waiting;
  bool remembers;
  bool walking;            /* what is remembered has been handed out */
  struct hr__walk *walks;  /* of shapes with jobs not yet handed out, in no order */
  struct hr__batch *known; /* in order */
  struct hr_job_entry *jobs;
  struct hr_job_entry at; /* the last job handed out */
  uint32_t n_known, n_next, n_jobs, n_walks, known_capacity, jobs_capacity, walks_capacity;
};

/* `remembers`: the queue has no lanes, and jobs keep their keys. */
void hr__batches_init(struct hr__batches *batches, struct hr_arena *arena, struct hr__waiting *waiting, bool remembers);
/* From the first job on. `state`: of all jobs, enum hr_job_state. */
enum hr_status hr__batches_begin(struct hr__batches *batches, const uint8_t *state);
/* On from behind the last job that was handed out; to be asked only of batches that remember. */
void hr__batches_go_on(struct hr__batches *batches);
/* The next batch, of no job when its only one is held back; NULL at the end. It stands until the next one, or with
   batches that remember, until all begins again. */
enum hr_status hr__batches_next(struct hr__batches *batches, const struct hr__batch **batch);
/* The pass is over: what was not handed out is forgotten. */
void hr__batches_end(struct hr__batches *batches);
/* A job comes to wait that stands before the last one handed out. */
void hr__batches_forget(struct hr__batches *batches);

static inline const struct hr_job_entry *hr__batches_jobs(const struct hr__batches *batches, uint32_t first_job) {
  return batches->jobs + first_job;
}

/* The shapes that may have jobs not yet handed out, and whether one of these has a value of at most `bound`. */
uint32_t hr__batches_shapes(const struct hr__batches *batches);
const struct hr__shape *hr__batches_shape(const struct hr__batches *batches, uint32_t i);
bool hr__batches_has(const struct hr__batches *batches, uint32_t i, int64_t bound);

#endif
