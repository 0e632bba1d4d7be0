/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_ACCOUNTS_H
#define HR_SIM_ENGINE_ACCOUNTS_H

/* Slots and accounts of attempts, and series of checkpoints. Implemented in checkpoints.c and used in attempts.c, only
   in runs where jobs can be stopped. Functions that return bool return false if memory is exhausted, unless their
   comment says something else. */

#include "sim/data/data.h"
#include "sim/engine/engine.h"

/* Returns the pool of a running job. */
static inline hr_pool hr__attempt_pool(const struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  return hr__allocation_placement(engine, job, &one).pool;
}

/* Returns the account of a running job. If the job has no account yet, an account is added first. */
struct hr_job_accounting *hr__account_open(struct hr__engine *engine, hr_job job);

/* Returns whether the speed of a job depends on its data. */
static inline bool hr__attempt_reads(const struct hr__engine *engine, hr_job job) {
  return engine->data && hr__data_reads(engine, job);
}

/* ---- Slots of attempts ---- */

/* Creates slot 0. */
bool hr__attempts_make(struct hr__engine *engine);
/* Assigns an unused slot to a job that starts. Has no effect if the job already has a slot, because it was resized. */
bool hr__attempt_take(struct hr__engine *engine, hr_job job);
/* Frees the slot of a job that was stopped or has completed. */
void hr__attempt_free(struct hr__engine *engine, hr_job job);
/* Returns the work completed so far. `*part` is set to the completed fraction of the next microsecond of work. */
int64_t hr__attempt_progress_us(const struct hr__engine *engine, hr_job job, uint64_t *part);

/* ---- Accounts ---- */

/* Creates the accounts of the run, with account 0. */
bool hr__accounts_make(struct hr__engine *engine);
/* Must be called when an attempt begins. If the job has no account, room for an account is reserved. */
bool hr__account_begin(struct hr__engine *engine, hr_job job);
/* Completes a job that was not disturbed, and returns true. If the job needs an account, changes nothing and returns
   false. */
bool hr__account_end_undisturbed(struct hr__engine *engine, hr_job job);
/* Completes the account of a job that ends. */
void hr__account_close(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* Marks all completed work of the job as kept. */
void hr__account_keep(struct hr__engine *engine, hr_job job);
/* Both functions end the present phase of the job: they add the time since the beginning of the phase to the job's
   account. hr__account_phase does this only if time has passed or the job reads data. */
void hr__account_passed(struct hr__engine *engine, hr_job job);
static inline void hr__account_phase(struct hr__engine *engine, hr_job job) {
  const bool passed = engine->view.now_us != hr__attempt(engine, job)->phase_us;
  if (passed || hr__attempt_reads(engine, job)) hr__account_passed(engine, job);
}
/* Ends the attempt of a job. `all_kept`: all its completed work is kept. Without `all_kept`, its work since the last
   checkpoint is lost. */
void hr__account_end(struct hr__engine *engine, hr_job job, bool all_kept);
/* Ends a segment of a job that continues at another placement at this instant. `saves`: the completed work of the job
   is kept. */
void hr__account_segment(struct hr__engine *engine, hr_job job, bool saves);
/* hr__account_corrupt without `found` is called when results of a running job begin to be corrupted. It stores the
   present kept work, which is the last work that is not corrupted. hr__account_corrupt with `found` is called when the
   corruption is detected. It records that the job will return to the stored work. hr__account_roll_back is called when
   the job was stopped. If the corruption was detected, it replaces the kept work by the stored work. */
enum hr_status hr__account_corrupt(struct hr__engine *engine, hr_job job, bool found);
void hr__account_roll_back(struct hr__engine *engine, hr_job job);
/* Checks that the time for which a job held its GPUs is the sum of the times in its account. For checked mode. */
enum hr_status hr__account_check(const struct hr__engine *engine, uint32_t job);

/* ---- Series of checkpoints (checkpoints.c) ---- */

/* Called when a job begins to work after a checkpoint or at the start of an attempt. Begins a series if the job has
   very many checkpoints left, reads no data, and its checkpoints are synchronous and always take the same time.
   `left_us`: the work that is left, in microseconds at the reference speed. `*until_us`: the time until the next
   pending event of the job; the function adds the length of the series to it. */
enum hr_status hr__series_begin(struct hr__engine *engine, hr_job job, int64_t left_us, int64_t *until_us);
/* hr__series_end ends the series of a job, and schedules the end of the job's present phase. The series must be up to
   date (hr__series_catch_up). hr__series_drop removes the series and schedules nothing. Both functions have no effect
   if the job has no series. */
enum hr_status hr__series_end(struct hr__engine *engine, hr_job job);
void hr__series_drop(struct hr__engine *engine, hr_job job);
/* Updates the accounts and phases of all jobs with a series to `now_us`. */
void hr__series_catch_up(struct hr__engine *engine, int64_t now_us);

#endif
