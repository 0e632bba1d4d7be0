/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_ACCOUNTS_H
#define HR_SIM_ENGINE_ACCOUNTS_H

/* Slots and accounts of attempts (checkpoints.c), for attempts.c. Only in runs where jobs can be stopped. */

#include "sim/data/data.h"
#include "sim/engine/engine.h"

static inline hr_pool hr__attempt_pool(const struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  return hr__allocation_placement(engine, job, &one).pool;
}

/* Returns the account of a running job. The job gets one if it has none. */
struct hr_job_accounting *hr__account_open(struct hr__engine *engine, hr_job job);

/* Returns whether the speed of a job depends on its data. */
static inline bool hr__attempt_reads(const struct hr__engine *engine, hr_job job) {
  return engine->data && hr__data_reads(engine, job);
}

/* ---- Slots of attempts ---- */

/* Creates slot 0. Returns false if memory is exhausted, like the other functions that return bool. */
bool hr__attempts_make(struct hr__engine *engine);
/* Gives a slot to a job that starts, unless it has one because it was resized. */
bool hr__attempt_take(struct hr__engine *engine, hr_job job);
void hr__attempt_free(struct hr__engine *engine, hr_job job);
/* Returns the work completed so far. `*part` is set to the completed fraction of the next microsecond of work. */
int64_t hr__attempt_progress_us(const struct hr__engine *engine, hr_job job, uint64_t *part);

/* ---- Accounts ---- */

/* Creates the accounts of the run, with account 0. */
bool hr__accounts_make(struct hr__engine *engine);
/* Begins an attempt. A job without an account gets none yet, but room for its account is reserved. */
bool hr__account_begin(struct hr__engine *engine, hr_job job);
/* Completes a job that was not disturbed. Returns false, and changes nothing, if the job needs an account. */
bool hr__account_end_undisturbed(struct hr__engine *engine, hr_job job);
/* Completes the account of a job that ends. */
void hr__account_close(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* Marks all completed work of the job as kept. */
void hr__account_keep(struct hr__engine *engine, hr_job job);
/* Ends the present phase of the job: adds the time since the beginning of the phase to the job's account.
   hr__account_passed does this; hr__account_phase calls it only if time has passed or the job reads data. */
void hr__account_passed(struct hr__engine *engine, hr_job job);
static inline void hr__account_phase(struct hr__engine *engine, hr_job job) {
  const bool passed = engine->view.now_us != hr__attempt(engine, job)->phase_us;
  if (passed || hr__attempt_reads(engine, job)) hr__account_passed(engine, job);
}
/* Ends an attempt: its work is kept or lost. */
void hr__account_end(struct hr__engine *engine, hr_job job, bool all_kept);
/* Ends a segment of a job that continues at another placement at this instant. */
void hr__account_segment(struct hr__engine *engine, hr_job job, bool saves);
/* hr__account_corrupt stores the kept work of a running job as its last work that is not corrupted; with `found`, it
   records instead that the job will return to the stored work. hr__account_roll_back removes corrupted work from the
   kept work of a job that was stopped. */
enum hr_status hr__account_corrupt(struct hr__engine *engine, hr_job job, bool found);
void hr__account_roll_back(struct hr__engine *engine, hr_job job);
/* Checks that the time for which a job held its GPUs is the sum of its parts. */
enum hr_status hr__account_check(const struct hr__engine *engine, uint32_t job);

/* ---- Series of checkpoints (checkpoints.c) ---- */

/* Begins a series if the job, which has just begun to work after a checkpoint or at the start of an attempt, has very
   many checkpoints left. `*until_us`: the time until the next entry; it is increased by the length of the series. */
enum hr_status hr__series_begin(struct hr__engine *engine, hr_job job, int64_t left_us, int64_t *until_us);
/* hr__series_end ends the series of a job. The series must be up to date (hr__series_catch_up). The end of the present
   phase is then entered into the event heap. hr__series_drop removes the series without such an entry. Both functions
   have no effect if the job has no series. */
enum hr_status hr__series_end(struct hr__engine *engine, hr_job job);
void hr__series_drop(struct hr__engine *engine, hr_job job);
/* Brings all jobs with a series to the state that they have at `now_us`. */
void hr__series_catch_up(struct hr__engine *engine, int64_t now_us);

#endif
