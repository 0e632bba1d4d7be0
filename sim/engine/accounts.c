/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slots and accounts of attempts (accounts.h). A slot holds the present attempt of a running job. An account holds the
 * times of a job in all its attempts; it exists only if the job was stopped, or was also in another phase than working.
 * Both are elements of arrays that grow with the number of running jobs, and both are reused through a linked list of
 * unused elements.
 *
 * The times of an account add up to the time for which the job held its GPUs, in time and in GPU time. The end of each
 * phase adds the time of that phase to one member; hr__account_check verifies the sum.
 */

#include "sim/engine/accounts.h"

#include "base/containers.h"
#include "headroom/unstable/faults.h"
#include "sim/data/data.h"

/* ---- Work and phases ---- */

/* Marks all completed work of the job as kept. */
void hr__account_keep(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (engine->kept_us[job.id] < attempt->progress_us) engine->last_progress_us = engine->view.now_us;
  engine->kept_us[job.id] = attempt->progress_us;
  hr__account_open(engine, job)->kept_us += attempt->unkept_us;
  hr__account(engine, job)->milli_us.kept += attempt->unkept_milli_us;
  attempt->unkept_us = 0;
  attempt->unkept_milli_us = 0;
}

/* Returns the time that a job has worked in its present phase, without the time in which it waited for data. */
static int64_t worked_us(const struct hr__engine *engine, hr_job job) {
  if (hr__attempt_reads(engine, job)) return hr__data_worked_us(engine, job);
  return engine->view.now_us - hr__attempt(engine, job)->phase_us;
}

/* Returns the work completed so far. `*part` is set to the completed fraction of the next microsecond of work. The end
   of a phase is rounded up to a whole microsecond. Because of this rounding, a fast job could seem to have done more
   work than it has, so the result is limited to the job's total work. */
int64_t hr__attempt_progress_us(const struct hr__engine *engine, hr_job job, uint64_t *part) {
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  *part = attempt->part;
  if (attempt->phase != HR__PHASE_WORKING) return attempt->progress_us;
  int64_t left_us = engine->trace->work_us[job.id] - attempt->progress_us;
  int64_t done_us = hr__work_done_us(worked_us(engine, job), attempt->rate, part);
  if (done_us < left_us) return attempt->progress_us + done_us;
  *part = 0;
  return attempt->progress_us + left_us;
}

/* Ends the work of a job that reads data. Returns the time in which it waited for data, which is not working time. */
static int64_t pause(struct hr__engine *engine, hr_job job, int64_t from_us) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  struct hr_job_accounting *accounting = hr__account_open(engine, job);
  const int64_t waited_us = engine->view.now_us - attempt->phase_us - hr__data_worked_us(engine, job);
  accounting->data_us += waited_us;
  accounting->milli_us.data += hr__attempt_gpu_time(attempt, waited_us);
  hr__data_pause(engine, job, from_us, attempt->progress_us);
  return waited_us;
}

/* Counts the GPU time that the job lost in a time of work because of a slow node. */
void hr__account_slow(struct hr__engine *engine, hr_job job, const struct hr__engine_attempt *attempt,
                      int64_t time_us) {
  if (attempt->slow_ppm == 0 || attempt->slow_ppm == HR__FULL_SPEED_PPM) return;
  hr_amount lost = hr__attempt_gpu_time(attempt, time_us) * (HR__FULL_SPEED_PPM - attempt->slow_ppm);
  engine->pool_accounting[hr__attempt_pool(engine, job).id].slow_lost += lost;
}

/* Adds the time of a phase in which the job does not work to its account. */
static void add_other_phase(struct hr__engine *engine, hr_job job, const struct hr__engine_attempt *attempt,
                            int64_t passed_us) {
  struct hr_job_accounting *accounting = hr__account_open(engine, job);
  if (attempt->phase == HR__PHASE_RESTARTING || attempt->phase == HR__PHASE_BACKING_OFF) {
    accounting->restarting_us += passed_us;
    if (accounting->resumes && attempt->phase == HR__PHASE_RESTARTING) accounting->resuming_us += passed_us;
    accounting->milli_us.restarting += hr__attempt_gpu_time(attempt, passed_us);
    if (attempt->phase == HR__PHASE_BACKING_OFF)
      engine->pool_accounting[hr__attempt_pool(engine, job).id].back_off_milli_us +=
          hr__attempt_gpu_time(attempt, passed_us);
  } else if (attempt->phase == HR__PHASE_HANGING) {
    accounting->hanging_us += passed_us;
    accounting->milli_us.hanging += hr__attempt_gpu_time(attempt, passed_us);
  } else {
    accounting->saving_us += passed_us;
    accounting->milli_us.saving += hr__attempt_gpu_time(attempt, passed_us);
  }
}

void hr__account_passed(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  int64_t passed_us = engine->view.now_us - attempt->phase_us, from_us = attempt->progress_us;
  attempt->progress_us = hr__attempt_progress_us(engine, job, &attempt->part);
  if (attempt->phase == HR__PHASE_WORKING) {
    if (hr__attempt_reads(engine, job)) passed_us -= pause(engine, job, from_us);
    attempt->unkept_us += passed_us;
    attempt->unkept_milli_us += hr__attempt_gpu_time(attempt, passed_us);
    hr__account_slow(engine, job, attempt, passed_us);
  } else {
    add_other_phase(engine, job, attempt, passed_us);
  }
  attempt->phase_us = engine->view.now_us;
}

/* ---- Slots of attempts ---- */

/* Creates slot 0. */
bool hr__attempts_make(struct hr__engine *engine) {
  if (!HR__ARRAY_HAS_ROOM(engine->attempts, engine->n_attempts, engine->attempts_capacity)) return false;
  engine->attempts[engine->n_attempts++] = (struct hr__engine_attempt){.begun_us = HR_NEVER_US};
  return true;
}

/* Gives a slot to a job that starts, unless it has one because it was resized. */
bool hr__attempt_take(struct hr__engine *engine, hr_job job) {
  if (engine->attempt_slot[job.id]) return true;
  uint32_t slot = engine->unused_attempt;
  if (slot == 0 && !HR__ARRAY_HAS_ROOM(engine->attempts, engine->n_attempts, engine->attempts_capacity)) return false;
  if (slot == 0)
    slot = engine->n_attempts++;
  else
    engine->unused_attempt = engine->attempts[slot].next_free;
  engine->attempts[slot].resizes = false; /* the caller sets the other members */
  engine->attempt_slot[job.id] = slot;
  return true;
}

void hr__attempt_free(struct hr__engine *engine, hr_job job) {
  uint32_t slot = engine->attempt_slot[job.id];
  engine->attempts[slot].next_free = engine->unused_attempt;
  engine->unused_attempt = slot;
  engine->attempt_slot[job.id] = 0;
}

/* ---- Accounts ---- */

/* Creates the accounts of the run, with account 0. */
bool hr__accounts_make(struct hr__engine *engine) {
  struct hr__engine *owner = engine->whole ? engine->whole : engine;
  if (!owner->accounts) owner->accounts = hr_arena_alloc(&owner->arena, sizeof *owner->accounts);
  struct hr__accounts *accounts = engine->accounts = owner->accounts;
  if (!accounts || accounts->count > 0) return accounts;
  if (!HR__ARRAY_HAS_ROOM(accounts->rows, accounts->count, accounts->capacity)) return false;
  accounts->rows[accounts->count++] = (struct hr_job_accounting){.end_us = HR_NEVER_US, .saved_us = HR_NEVER_US};
  return true;
}

/* Begins an attempt. A job without an account gets none yet, but room for its account is reserved. */
bool hr__account_begin(struct hr__engine *engine, hr_job job) {
  struct hr__accounts *accounts = engine->accounts;
  if (engine->account[job.id]) {
    hr__account(engine, job)->attempts++;
    return true;
  }
  const size_t needed = (size_t)accounts->count - accounts->n_unused + accounts->reserved + 1;
  if (!HR__ARRAY_HAS_ROOM_FOR(accounts->rows, needed, accounts->capacity)) return false;
  accounts->reserved++;
  return true;
}

/* Returns the account of a running job. A job without an account is in its first attempt; an account is created for
   it. */
struct hr_job_accounting *hr__account_open(struct hr__engine *engine, hr_job job) {
  struct hr__accounts *accounts = engine->accounts;
  if (engine->account[job.id]) return hr__account(engine, job);
  uint32_t at = accounts->unused;
  if (at == 0) {
    at = accounts->count++;
  } else {
    accounts->unused = accounts->rows[at].attempts;
    accounts->n_unused--;
  }
  accounts->reserved--;
  accounts->rows[at] = (struct hr_job_accounting){.attempts = 1, .end_us = HR_NEVER_US, .saved_us = HR_NEVER_US};
  engine->account[job.id] = at;
  return &accounts->rows[at];
}

void hr__account_free(struct hr__engine *engine, hr_job job) {
  uint32_t at = engine->account[job.id];
  if (at == 0) return;
  engine->accounts->rows[at].attempts = engine->accounts->unused;
  engine->accounts->unused = at;
  engine->accounts->n_unused++;
  engine->account[job.id] = 0;
}

/* Completes the account of a job that ends. The account is freed if it can be computed from the start and the end. */
void hr__account_close(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  struct hr_job_accounting *account = hr__account(engine, job);
  int64_t held_us = engine->view.now_us - engine->start_us[job.id];
  account->end_us = engine->ended_us[job.id] = engine->view.now_us;
  uint64_t milli = engine->gpu_milli ? engine->gpu_milli[job.id] : hr__job_gpu_milli(engine->trace, job);
  bool is_plain = account->attempts == 1 && account->oom_kills == 0 && account->saved_us == HR_NEVER_US &&
                  account->kept_us == held_us && account->held_us == held_us &&
                  milli == hr_placement_milli(placement, engine->trace, job) &&
                  account->milli_us.kept == (hr_amount)milli * held_us;
  if (is_plain) hr__account_free(engine, job);
}

/* Completes a job that was not disturbed: it ran once, and only worked. Returns false, and changes nothing, if the job
   needs an account. */
bool hr__account_end_undisturbed(struct hr__engine *engine, hr_job job) {
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (engine->account[job.id] || attempt->phase != HR__PHASE_WORKING || engine->resized || engine->clean) return false;
  uint64_t part, milli = engine->gpu_milli ? engine->gpu_milli[job.id] : hr__job_gpu_milli(engine->trace, job);
  if (milli != attempt->gpu_milli || hr__attempt_reads(engine, job)) return false;
  hr__account_slow(engine, job, attempt, engine->view.now_us - attempt->phase_us);
  engine->kept_us[job.id] = hr__attempt_progress_us(engine, job, &part);
  engine->ended_us[job.id] = engine->view.now_us;
  engine->accounts->reserved--;
  return true;
}

/* Returns the account of a job that has none of its own: it ran from its start to its end, or it has not started.
   `milli`: its milli-GPUs. */
static struct hr_job_accounting plain_account(uint32_t attempts, int64_t start_us, int64_t end_us, uint64_t milli) {
  int64_t held_us = end_us == HR_NEVER_US ? 0 : end_us - start_us;
  return (struct hr_job_accounting){.attempts = attempts,
                                    .end_us = end_us,
                                    .kept_us = held_us,
                                    .saved_us = HR_NEVER_US,
                                    .held_us = held_us,
                                    .milli_us = {.kept = (hr_amount)milli * held_us}};
}

struct hr_job_accounting hr_view_accounting(const struct hr_view *view, hr_job job) {
  const struct hr__engine *engine = hr__engine_of(view);
  if (engine->account[job.id]) return *hr__account(engine, job);
  int64_t end_us = engine->ended_us[job.id];
  uint64_t milli = engine->gpu_milli ? engine->gpu_milli[job.id] : hr__job_gpu_milli(engine->trace, job);
  const bool is_started = end_us != HR_NEVER_US || hr__has_attempts(engine, job);
  return plain_account(is_started, engine->start_us[job.id], end_us, milli);
}

struct hr_job_accounting hr_result_accounting(const struct hr_result *result, hr_job job) {
  if (result->account[job.id]) return result->accounts[result->account[job.id]];
  int64_t end_us = result->ended_us[job.id], start_us = result->start_us[job.id];
  return plain_account(start_us != HR_NEVER_US, start_us, end_us, 0);
}

/* ---- End of an attempt ---- */

/* Adds the time of the present segment of a job to the time for which it held GPUs. */
static void add_held(struct hr__engine *engine, hr_job job) {
  int64_t held_us = engine->view.now_us - engine->attempt_us[job.id];
  hr__account_open(engine, job)->held_us += held_us;
  if (engine->resized) engine->resized[job.id].held_milli_us += hr__attempt_gpu_time(hr__attempt(engine, job), held_us);
}

void hr__account_end(struct hr__engine *engine, hr_job job, bool all_kept) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  struct hr_job_accounting *accounting = hr__account_open(engine, job);
  hr__account_phase(engine, job);
  if (all_kept) hr__account_keep(engine, job);
  accounting->lost_us += attempt->unkept_us;
  accounting->milli_us.lost += attempt->unkept_milli_us;
  if (engine->outage) engine->outage->lost_milli_us += attempt->unkept_milli_us;
  attempt->unkept_us = 0;
  attempt->unkept_milli_us = 0;
  add_held(engine, job);
}

/* Ends a segment of a job that continues at another placement at this instant. */
void hr__account_segment(struct hr__engine *engine, hr_job job, bool saves) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  int64_t passed_us = engine->view.now_us - attempt->phase_us;
  attempt->restart_us = attempt->phase == HR__PHASE_RESTARTING ? attempt->restart_us - passed_us : 0;
  hr__account_phase(engine, job);
  if (saves) hr__account_keep(engine, job);
  add_held(engine, job);
  attempt->resizes = true;
}

/* Stores the kept work of a running job as its last work that is not corrupted. With `found`, records instead that the
   job will return to the stored work. */
enum hr_status hr__account_corrupt(struct hr__engine *engine, hr_job job, bool found) {
  struct hr__clean_work *clean = &engine->clean[job.id];
  const struct hr_job_accounting *accounting = hr__account(engine, job);
  if (found) clean->is_found = clean->is_set;
  if (found || clean->is_set) return HR_OK;
  *clean =
      (struct hr__clean_work){engine->kept_us[job.id], accounting->kept_us, accounting->milli_us.kept, true, false};
  return HR_OK;
}

/* Removes corrupted work from the kept work of a job that was stopped. */
void hr__account_roll_back(struct hr__engine *engine, hr_job job) {
  struct hr__clean_work *clean = &engine->clean[job.id];
  struct hr_job_accounting *accounting = hr__account(engine, job);
  if (clean->is_found) {
    engine->kept_us[job.id] = clean->kept_us;
    accounting->lost_us += accounting->kept_us - clean->kept_time_us;
    accounting->milli_us.lost += accounting->milli_us.kept - clean->kept_milli_us;
    if (engine->outage) engine->outage->lost_milli_us += accounting->milli_us.kept - clean->kept_milli_us;
    accounting->kept_us = clean->kept_time_us;
    accounting->milli_us.kept = clean->kept_milli_us;
  }
  *clean = (struct hr__clean_work){0};
}

/* ---- Checked mode ---- */

/* Checks that the time for which a job held its GPUs is the sum of its work, checkpoints and restarts. This is true
   while the job has no attempt, and at the end of the run. */
enum hr_status hr__account_check(const struct hr__engine *engine, uint32_t job) {
  const struct hr_job_accounting value = hr_view_accounting(&engine->view, (hr_job){job}), *accounting = &value;
  if ((accounting->attempts > 0) != (engine->start_us[job] != HR_NEVER_US))
    return hr__broken(engine, "job %" PRIu32 ": state and start differ", job);
  if (engine->kept_us[job] > engine->trace->work_us[job])
    return hr__broken(engine, "job %" PRIu32 " kept too much", job);
  if (engine->state[job] == HR_JOB_RUNNING) return HR_OK;
  if (accounting->held_us != accounting->kept_us + accounting->lost_us + accounting->saving_us +
                                 accounting->restarting_us + accounting->hanging_us + accounting->data_us)
    return hr__broken(engine, "job %" PRIu32 ": the times of its attempts do not add up", job);
  const struct hr_gpu_times *times = &accounting->milli_us;
  hr_amount held = (hr_amount)engine->trace->gpus[job] * 1000 * accounting->held_us;
  if (engine->resized) held = engine->resized[job].held_milli_us;
  bool is_known = !engine->cluster.inventory || engine->resized;
  if (is_known && times->kept + times->lost + times->saving + times->restarting + times->hanging + times->data != held)
    return hr__broken(engine, "job %" PRIu32 ": the GPU times of its attempts do not add up", job);
  if (engine->state[job] == HR_JOB_COMPLETED && engine->kept_us[job] != engine->trace->work_us[job])
    return hr__broken(engine, "job %" PRIu32 " completed without its work", job);
  if (!hr__speeds_vary(&engine->speeds) && !engine->network.table && !engine->interferes && !engine->node_speed_ppm &&
      !engine->resized && accounting->kept_us != engine->kept_us[job])
    return hr__broken(engine, "job %" PRIu32 ": at full speed, the time of its work differs from its work", job);
  return HR_OK;
}
