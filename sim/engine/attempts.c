/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attempts of jobs, in runs where a job can be stopped before its end. An attempt consists of phases: restarting
 * (except in the first attempt of the job), working and, from time to time, writing a checkpoint. After a notice, a job
 * may write a checkpoint and then leave its nodes. If the GPUs of a job have too little free memory, the job is killed
 * before it restarts or works, and retries later.
 *
 * The event heap has one entry per running job: the end of its phase or of its work. Jobs that write to the shared
 * storage of their pool are an exception. They have no entries; the storage has one entry, for the first write that
 * will complete. Jobs with very many checkpoints are another exception: of each series of checkpoints, only the last
 * one has entries and emits an event. The others are computed, at each instant, for all jobs with a series. Work is
 * measured on the job's own clock, which stops during restarts and checkpoints. When a job is stopped, the work before
 * its last checkpoint is kept and later work is lost.
 */

#include "base/array.h"
#include "sim/data/data.h"
#include "sim/engine/engine.h"

#include <inttypes.h>

/* Wait times between retries, as in Kubernetes' CrashLoopBackOff: 10 s, 20 s, 40 s, ..., at most 5 minutes
   (kubernetes.io, "Pod Lifecycle", "How Pods handle problems with containers"). */
#define FIRST_BACK_OFF_US (10 * HR_SECOND_US)
#define MAX_BACK_OFF_US (300 * HR_SECOND_US)

static hr_pool pool_of(const struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  return hr__allocation_placement(engine, job, &one).pool;
}

static bool can_save(const struct hr__engine *engine, hr_job job) {
  enum hr_checkpoint checkpoint = hr__class_spec(engine, job)->checkpoint;
  if (checkpoint == HR_CHECKPOINT_CONTINUOUS) return false; /* all work is always kept, so no checkpoint is needed */
  return checkpoint != HR_CHECKPOINT_NONE || hr__attempt(engine, job)->interval_us != HR_NEVER_US;
}

/* ---- Phases ---- */

static hr_amount gpu_time(const struct hr__engine_attempt *attempt, int64_t time_us) {
  return (hr_amount)attempt->gpu_milli * time_us;
}

/* Marks all completed work of the job as kept. */
static void keep(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (engine->kept_us[job.id] < attempt->progress_us) engine->last_progress_us = engine->view.now_us;
  engine->kept_us[job.id] = attempt->progress_us;
  hr__account(engine, job)->kept_us += attempt->unkept_us;
  hr__account(engine, job)->milli_us.kept += attempt->unkept_milli_us;
  attempt->unkept_us = 0;
  attempt->unkept_milli_us = 0;
}

/* Returns whether the speed of a job depends on its data. */
static bool reads(const struct hr__engine *engine, hr_job job) {
  return engine->data && hr__data_reads(engine, job);
}

/* Returns the time that a job has worked in its present phase, without the time in which it waited for data. */
static int64_t worked_us(const struct hr__engine *engine, hr_job job) {
  if (reads(engine, job)) return hr__data_worked_us(engine, job);
  return engine->view.now_us - hr__attempt(engine, job)->phase_us;
}

/* Returns the work completed so far. `*part` is set to the completed fraction of the next microsecond of work. The end
   of a phase is rounded up to a whole microsecond. Because of this rounding, a fast job could seem to have done more
   work than it has, so the result is limited to the job's total work. */
static int64_t progress_us(const struct hr__engine *engine, hr_job job, uint64_t *part) {
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  *part = attempt->part;
  if (attempt->phase != HR__PHASE_WORKING) return attempt->progress_us;
  int64_t left_us = engine->trace->work_us[job.id] - attempt->progress_us;
  int64_t done_us = hr__work_done_us(worked_us(engine, job), attempt->rate, part);
  if (done_us < left_us) return attempt->progress_us + done_us;
  *part = 0;
  return attempt->progress_us + left_us;
}

/* Returns the asynchronous checkpoint that is being written; NULL: none is. */
static struct hr__async_save *async_save(const struct hr__engine *engine, hr_job job) {
  return engine->async_saves && engine->async_saves[job.id].durable_us ? &engine->async_saves[job.id] : NULL;
}

static void note_saved(struct hr__engine *engine, hr_job job) {
  int64_t *saved_us = &hr__account(engine, job)->saved_us;
  if (*saved_us == HR_NEVER_US) *saved_us = engine->view.now_us;
}

/* Ends the work of a job that reads data. Returns the time in which it waited for data, which is not working time. */
static int64_t pause(struct hr__engine *engine, hr_job job, int64_t from_us) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  struct hr_job_accounting *accounting = hr__account(engine, job);
  const int64_t waited_us = engine->view.now_us - attempt->phase_us - hr__data_worked_us(engine, job);
  accounting->data_us += waited_us;
  accounting->milli_us.data += gpu_time(attempt, waited_us);
  hr__data_pause(engine, job, from_us, attempt->progress_us);
  return waited_us;
}

/* Counts the GPU time that the job lost in a time of work because of a slow node. */
static void count_slow(struct hr__engine *engine, hr_job job, const struct hr__engine_attempt *attempt,
                       int64_t time_us) {
  if (attempt->slow_ppm == 0 || attempt->slow_ppm == HR__FULL_SPEED_PPM) return;
  hr_amount lost = gpu_time(attempt, time_us) * (HR__FULL_SPEED_PPM - attempt->slow_ppm);
  engine->pool_accounting[pool_of(engine, job).id].slow_lost += lost;
}

/* Stores the speed of the slowest node of the job. */
static void note_slow(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  if (engine->node_speed_ppm) hr__attempt(engine, job)->slow_ppm = hr__slowest_node_ppm(engine, placement);
}

/* Ends the present phase of the job: adds the time since the beginning of the phase to the job's accounts. */
static void close_phase(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  struct hr_job_accounting *accounting = hr__account(engine, job);
  int64_t passed_us = engine->view.now_us - attempt->phase_us, from_us = attempt->progress_us;
  attempt->progress_us = progress_us(engine, job, &attempt->part);
  if (attempt->phase == HR__PHASE_WORKING) {
    if (reads(engine, job)) passed_us -= pause(engine, job, from_us);
    attempt->unkept_us += passed_us;
    attempt->unkept_milli_us += gpu_time(attempt, passed_us);
    count_slow(engine, job, attempt, passed_us);
  } else if (attempt->phase == HR__PHASE_RESTARTING || attempt->phase == HR__PHASE_BACKING_OFF) {
    accounting->restarting_us += passed_us;
    accounting->milli_us.restarting += gpu_time(attempt, passed_us);
    if (attempt->phase == HR__PHASE_BACKING_OFF)
      engine->pool_accounting[pool_of(engine, job).id].back_off_milli_us += gpu_time(attempt, passed_us);
  } else if (attempt->phase == HR__PHASE_HANGING) {
    accounting->hanging_us += passed_us;
    accounting->milli_us.hanging += gpu_time(attempt, passed_us);
  } else {
    accounting->saving_us += passed_us;
    accounting->milli_us.saving += gpu_time(attempt, passed_us);
  }
  attempt->phase_us = engine->view.now_us;
}

static void enter(struct hr__engine *engine, hr_job job, enum hr__phase phase) {
  close_phase(engine, job);
  hr__attempt(engine, job)->phase = phase;
}

/* ---- Series of checkpoints ---- */

/* If an attempt has more checkpoints left, every n-th emits an event, where n is their number divided by
   MAX_SAVED_EVENTS. Observers learn of the progress of a job from events, so a series is not longer than SERIES_US,
   unless the attempt would then have more than MAX_SERIES series. */
enum { MAX_SAVED_EVENTS = 10000, MAX_SERIES = 1000000 };
#define SERIES_US (3600 * HR_SECOND_US)

static int64_t min_i64(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static void drop_series(struct hr__engine *engine, hr_job job) {
  uint32_t at = hr__attempt(engine, job)->series;
  if (at == 0) return;
  engine->series[at - 1] = engine->series[--engine->n_series];
  hr__attempt(engine, engine->series[at - 1].job)->series = at;
  hr__attempt(engine, job)->series = 0;
}

/* Adds a time of work to the attempt, at a constant speed. */
static void add_work(struct hr__engine *engine, hr_job job, int64_t time_us) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  count_slow(engine, job, attempt, time_us);
  attempt->progress_us += hr__work_done_us(time_us, attempt->rate, &attempt->part);
  attempt->unkept_us += time_us;
  attempt->unkept_milli_us += gpu_time(attempt, time_us);
}

/* Completes `count` checkpoints of a job, after its work was added. The last of them is complete at `now_us`. */
static void complete_saves(struct hr__engine *engine, const struct hr__checkpoint_series *series, int64_t count,
                           int64_t now_us) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, series->job);
  struct hr_job_accounting *accounting = hr__account(engine, series->job);
  int64_t period_us = series->work_us + series->write_us;
  accounting->saving_us += count * series->write_us;
  accounting->milli_us.saving += gpu_time(attempt, count * series->write_us);
  if (accounting->saved_us == HR_NEVER_US) accounting->saved_us = now_us - (count - 1) * period_us;
  int64_t progress_at_us = engine->last_progress_us > now_us ? engine->last_progress_us : now_us;
  keep(engine, series->job);
  engine->last_progress_us = progress_at_us;
  attempt->phase = HR__PHASE_WORKING;
  attempt->phase_us = now_us;
}

/* Brings a job with a series to the state that it has at `now_us`. Returns whether the series continues. */
static bool continue_series(struct hr__engine *engine, struct hr__checkpoint_series *series, int64_t now_us) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, series->job);
  int64_t period_us = series->work_us + series->write_us;
  if (attempt->phase == HR__PHASE_SAVING) {
    if (now_us - attempt->phase_us < series->write_us) return true;
    complete_saves(engine, series, 1, attempt->phase_us + series->write_us);
    series->left--;
  }
  int64_t periods = (now_us - attempt->phase_us) / period_us;
  if (periods > series->left) periods = series->left;
  if (periods > 0) {
    add_work(engine, series->job, periods * series->work_us);
    complete_saves(engine, series, periods, attempt->phase_us + periods * period_us);
    series->left -= periods;
  }
  if (series->left > 0 && now_us - attempt->phase_us >= series->work_us) {
    add_work(engine, series->job, series->work_us);
    attempt->phase = HR__PHASE_SAVING;
    attempt->phase_us += series->work_us;
  }
  return series->left > 0;
}

static void catch_up(struct hr__engine *engine, int64_t now_us) {
  for (uint32_t i = 0; i < engine->n_series;) {
    hr_job job = engine->series[i].job;
    if (continue_series(engine, &engine->series[i], now_us))
      i++;
    else
      drop_series(engine, job);
  }
}

/* Ends the series of a job, which must be up to date. The present phase becomes one with an entry in the heap. */
static enum hr_status end_series(struct hr__engine *engine, hr_job job) {
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (attempt->series == 0) return HR_OK;
  struct hr__checkpoint_series series = engine->series[attempt->series - 1];
  int64_t length_us = attempt->phase == HR__PHASE_SAVING ? series.write_us : series.work_us;
  drop_series(engine, job);
  hr__event_heap_remove_job(&engine->heap, job.id);
  return hr__schedule(engine, attempt->phase_us + length_us, HR__PENDING_PHASE, job.id);
}

/* Begins a series if the job, which has just begun to work after a checkpoint or at the start of an attempt, has very
   many checkpoints left. `*until_us`: the time until the next entry; it is increased by the length of the series. */
static enum hr_status begin_series(struct hr__engine *engine, hr_job job, int64_t left_us, int64_t *until_us) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  int64_t saves = left_us / attempt->interval_us, write_us;
  if (saves <= MAX_SAVED_EVENTS || reads(engine, job)) return HR_OK;
  write_us = hr__checkpoint_write_us(engine, job, pool_of(engine, job));
  if (write_us == HR_UNKNOWN_US || hr__class_spec(engine, job)->async) return HR_OK;
  uint64_t part = attempt->part;
  int64_t max_work_us = hr__work_done_us(*until_us, attempt->rate, &part) + 1; /* of a period */
  int64_t periods = min_i64(saves / MAX_SAVED_EVENTS, (left_us - 1) / max_work_us - 1);
  int64_t period_us = *until_us + write_us;
  periods = min_i64(periods, SERIES_US / period_us + saves / MAX_SERIES);
  periods = min_i64(periods, HR_MAX_INPUT_US / period_us);
  if (periods <= 0) return HR_OK;
  if (!HR__ARRAY_HAS_ROOM(engine->series, engine->n_series, engine->series_capacity)) return hr__out_of_memory(engine);
  engine->series[engine->n_series++] = (struct hr__checkpoint_series){job, *until_us, write_us, periods};
  attempt->series = engine->n_series;
  *until_us += periods * period_us;
  return HR_OK;
}

/* Schedules the next event of a job that works, until this time at the speed of its GPUs. */
static enum hr_status schedule_work(struct hr__engine *engine, hr_job job, int64_t until_us,
                                    enum hr__pending_kind kind) {
  if (reads(engine, job)) return hr__data_work(engine, job, until_us, kind);
  return hr__schedule(engine, engine->view.now_us + until_us, kind, job.id);
}

/* The job works while its last checkpoint is written: until that is complete, or its work is done. */
static enum hr_status work_while_writing(struct hr__engine *engine, hr_job job, int64_t durable_us) {
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  int64_t left_us = engine->trace->work_us[job.id] - attempt->progress_us, now_us = engine->view.now_us;
  int64_t time_us = hr__time_left_us(left_us, attempt->part, attempt->rate), end_us = now_us + time_us;
  if (reads(engine, job)) {
    const enum hr_status status = hr__data_work(engine, job, time_us, HR__PENDING_END);
    if (status != HR_OK) return status;
    hr__event_heap_remove_job(&engine->heap, job.id);
    if (hr__data_flows(engine, job)) end_us = INT64_MAX; /* the end comes with the flow */
  }
  if (end_us <= durable_us) return hr__schedule(engine, end_us, HR__PENDING_END, job.id);
  return hr__schedule(engine, durable_us > now_us ? durable_us : now_us, HR__PENDING_PHASE, job.id);
}

/* Schedules the next checkpoint or the end of the work, whichever is earlier. */
static enum hr_status work_on(struct hr__engine *engine, hr_job job) {
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (async_save(engine, job)) return work_while_writing(engine, job, async_save(engine, job)->durable_us);
  int64_t left_us = engine->trace->work_us[job.id] - attempt->progress_us;
  int64_t done_us = attempt->progress_us - engine->kept_us[job.id]; /* work since the last checkpoint */
  if (attempt->interval_us != HR_NEVER_US && attempt->interval_us - done_us < left_us) {
    int64_t until_us = attempt->interval_us > done_us ? attempt->interval_us - done_us : 0;
    until_us = hr__time_left_us(until_us, attempt->part, attempt->rate);
    enum hr_status status = done_us == 0 ? begin_series(engine, job, left_us, &until_us) : HR_OK;
    return status == HR_OK ? schedule_work(engine, job, until_us, HR__PENDING_PHASE) : status;
  }
  return schedule_work(engine, job, hr__time_left_us(left_us, attempt->part, attempt->rate), HR__PENDING_END);
}

enum hr_status hr__attempt_resume(struct hr__engine *engine, hr_job job) {
  hr__event_heap_remove_job(&engine->heap, job.id);
  enter(engine, job, HR__PHASE_WORKING);
  return work_on(engine, job);
}

/* Changes the speed of a running job from now on. No completed work is lost, not even a fraction of a microsecond. */
static enum hr_status set_speed(struct hr__engine *engine, hr_job job, uint32_t speed_ppm) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (attempt->rate.ppm == speed_ppm) return HR_OK;
  enum hr_status status = end_series(engine, job);
  if (status != HR_OK) return status;
  if (attempt->phase == HR__PHASE_WORKING) {
    hr__event_heap_remove_job(&engine->heap, job.id);
    enter(engine, job, HR__PHASE_WORKING);
  }
  attempt->rate.ppm = speed_ppm;
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  note_slow(engine, job, &placement);
  return attempt->phase == HR__PHASE_WORKING ? work_on(engine, job) : HR_OK;
}

/* Begins an asynchronous checkpoint of the work so far: the job stops for a short time, then it works on. */
static enum hr_status save_async(struct hr__engine *engine, hr_job job) {
  const struct hr_class_spec *class_ = hr__class_spec(engine, job);
  enter(engine, job, HR__PHASE_SAVING);
  int64_t now_us = engine->view.now_us, stall_us = class_->stall_us < class_->write_us ? class_->stall_us : 0;
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  engine->async_saves[job.id] = (struct hr__async_save){now_us + class_->write_us, attempt->progress_us,
                                                        attempt->unkept_us, attempt->unkept_milli_us};
  return hr__schedule(engine, now_us + stall_us, HR__PENDING_PHASE, job.id);
}

/* Completes an asynchronous checkpoint: the work at its begin is kept, and the job works on. */
static enum hr_status finish_async(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  struct hr__async_save *saved = &engine->async_saves[job.id];
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  enter(engine, job, HR__PHASE_WORKING);
  if (engine->kept_us[job.id] < saved->progress_us) engine->last_progress_us = engine->view.now_us;
  engine->kept_us[job.id] = saved->progress_us;
  hr__account(engine, job)->kept_us += saved->unkept_us;
  hr__account(engine, job)->milli_us.kept += saved->unkept_milli_us;
  attempt->unkept_us -= saved->unkept_us;
  attempt->unkept_milli_us -= saved->unkept_milli_us;
  saved->durable_us = 0;
  note_saved(engine, job);
  struct hr_event event = {engine->view.now_us, HR_EVENT_SAVED, HR_REASON_NONE, job, &placement, {HR_NONE}, {HR_NONE}};
  enum hr_status status = hr__emit(engine, &event);
  return status == HR_OK ? work_on(engine, job) : status;
}

/* Cancels an asynchronous checkpoint, and its stall. */
static void drop_async(struct hr__engine *engine, hr_job job) {
  struct hr__async_save *saved = async_save(engine, job);
  if (!saved) return;
  saved->durable_us = 0;
  if (hr__attempt(engine, job)->phase == HR__PHASE_SAVING) enter(engine, job, HR__PHASE_WORKING);
}

static enum hr_status save(struct hr__engine *engine, hr_job job, enum hr__phase phase) {
  if (phase == HR__PHASE_SAVING && engine->async_saves && hr__class_spec(engine, job)->async)
    return save_async(engine, job);
  enter(engine, job, phase);
  return hr__checkpoint_write(engine, job, pool_of(engine, job));
}

/* Returns whether the job would complete by `down_us` if it wrote no further checkpoint. If the job backs off, the
   function assumes that its next try succeeds. */
static bool ends_by(const struct hr__engine *engine, hr_job job, int64_t down_us) {
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  int64_t left_us = engine->trace->work_us[job.id] - attempt->progress_us, from_us = attempt->phase_us;
  if (attempt->phase == HR__PHASE_BACKING_OFF) from_us = attempt->retry_us + attempt->restart_us;
  if (attempt->phase == HR__PHASE_RESTARTING) from_us += attempt->restart_us;
  return hr__time_left_us(left_us, attempt->part, attempt->rate) <= down_us - from_us;
}

/* Completes a checkpoint. If the job was to leave its nodes after this checkpoint, it leaves now, unless it can
   complete before its node goes down. */
static enum hr_status finish_save(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  bool leaves = attempt->phase == HR__PHASE_LEAVING;
  enter(engine, job, HR__PHASE_WORKING);
  keep(engine, job);
  note_saved(engine, job);
  struct hr_event event = {engine->view.now_us, HR_EVENT_SAVED, HR_REASON_NONE, job, &placement, {HR_NONE}, {HR_NONE}};
  enum hr_status status = hr__emit(engine, &event);
  if (status != HR_OK) return status;
  if (leaves && !ends_by(engine, job, attempt->down_us)) return hr__job_interrupt(engine, job, HR_REASON_SAVED, false);
  if (leaves) attempt->interval_us = HR_NEVER_US;
  return work_on(engine, job);
}

/* Counts the kill of a job for lack of GPU memory and schedules its next try. */
static enum hr_status back_off(struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  int64_t back_off_us = FIRST_BACK_OFF_US;
  for (uint32_t i = 0; i < attempt->kills && back_off_us < MAX_BACK_OFF_US; i++) back_off_us *= 2;
  if (back_off_us > MAX_BACK_OFF_US) back_off_us = MAX_BACK_OFF_US;
  attempt->kills++;
  attempt->retry_us = engine->view.now_us + back_off_us;
  engine->last_kill_us = engine->view.now_us;
  hr__account(engine, job)->oom_kills++;
  engine->pool_accounting[hr__allocation_placement(engine, job, &one).pool.id].oom_kills++;
  return hr__schedule(engine, attempt->retry_us, HR__PENDING_PHASE, job.id);
}

/* Begins the restart or the work of a job that has its GPUs and their memory. */
static enum hr_status begin_execution(struct hr__engine *engine, hr_job job) {
  int64_t restart_us = hr__attempt(engine, job)->restart_us;
  enter(engine, job, restart_us ? HR__PHASE_RESTARTING : HR__PHASE_WORKING);
  if (restart_us) return hr__schedule(engine, engine->view.now_us + restart_us, HR__PENDING_PHASE, job.id);
  return work_on(engine, job);
}

static enum hr_status try_again(struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  if (!hr__claims_take(engine, job, &placement)) return back_off(engine, job);
  hr__attempt(engine, job)->rate.ppm = hr__speed_now_ppm(engine, job, &placement);
  note_slow(engine, job, &placement);
  enum hr_status status = begin_execution(engine, job);
  return status == HR_OK ? hr__sharing_update_speeds(engine, &placement) : status;
}

/* Ends the current phase of a running job and begins the next. */
static enum hr_status advance_phase(struct hr__engine *engine, hr_job job) {
  switch (hr__attempt(engine, job)->phase) {
  case HR__PHASE_RESTARTING:
    enter(engine, job, HR__PHASE_WORKING);
    return work_on(engine, job);
  case HR__PHASE_WORKING:
    return async_save(engine, job) ? finish_async(engine, job) : save(engine, job, HR__PHASE_SAVING);
  case HR__PHASE_BACKING_OFF:
    return try_again(engine, job);
  case HR__PHASE_HANGING:
    return HR_OK;
  case HR__PHASE_SAVING:
  case HR__PHASE_LEAVING:
    break;
  }
  if (!async_save(engine, job)) return finish_save(engine, job);
  enter(engine, job, HR__PHASE_WORKING);
  return work_on(engine, job);
}

/* ---- Slots of attempts ---- */

/* Creates slot 0. */
static bool make_slots(struct hr__engine *engine) {
  if (!HR__ARRAY_HAS_ROOM(engine->attempts, engine->n_attempts, engine->attempts_capacity)) return false;
  engine->attempts[engine->n_attempts++] = (struct hr__engine_attempt){.begun_us = HR_NEVER_US};
  return true;
}

/* Gives a slot to a job that starts, unless it has one because it was resized. */
static bool take_slot(struct hr__engine *engine, hr_job job) {
  if (engine->attempt_slot[job.id]) return true;
  uint32_t slot = engine->unused_attempt;
  if (slot == 0 && !HR__ARRAY_HAS_ROOM(engine->attempts, engine->n_attempts, engine->attempts_capacity)) return false;
  if (slot == 0)
    slot = engine->n_attempts++;
  else
    engine->unused_attempt = engine->attempts[slot].next_free;
  engine->attempts[slot] = (struct hr__engine_attempt){0};
  engine->attempt_slot[job.id] = slot;
  return true;
}

static void free_slot(struct hr__engine *engine, hr_job job) {
  uint32_t slot = engine->attempt_slot[job.id];
  engine->attempts[slot] = (struct hr__engine_attempt){.begun_us = HR_NEVER_US, .next_free = engine->unused_attempt};
  engine->unused_attempt = slot;
  engine->attempt_slot[job.id] = 0;
}

/* ---- Accounts ---- */

/* Creates the accounts of the run, with account 0. */
static bool make_accounts(struct hr__engine *engine) {
  struct hr__engine *owner = engine->whole ? engine->whole : engine;
  if (!owner->accounts) owner->accounts = hr_arena_alloc(&owner->arena, sizeof *owner->accounts);
  struct hr__accounts *accounts = engine->accounts = owner->accounts;
  if (!accounts || accounts->count > 0) return accounts;
  if (!HR__ARRAY_HAS_ROOM(accounts->rows, accounts->count, accounts->capacity)) return false;
  accounts->rows[accounts->count++] = (struct hr_job_accounting){.end_us = HR_NEVER_US, .saved_us = HR_NEVER_US};
  return true;
}

/* Gives an account to a job that starts, unless it has one because it was stopped before. */
static bool take_account(struct hr__engine *engine, hr_job job) {
  struct hr__accounts *accounts = engine->accounts;
  if (engine->account[job.id]) return true;
  uint32_t at = accounts->unused;
  if (at == 0 && !HR__ARRAY_HAS_ROOM(accounts->rows, accounts->count, accounts->capacity)) return false;
  if (at == 0)
    at = accounts->count++;
  else
    accounts->unused = accounts->rows[at].attempts;
  accounts->rows[at] = (struct hr_job_accounting){.end_us = HR_NEVER_US, .saved_us = HR_NEVER_US};
  engine->account[job.id] = at;
  return true;
}

void hr__account_free(struct hr__engine *engine, hr_job job) {
  uint32_t at = engine->account[job.id];
  if (at == 0) return;
  engine->accounts->rows[at].attempts = engine->accounts->unused;
  engine->accounts->unused = at;
  engine->account[job.id] = 0;
}

/* Completes the account of a job that ends. The account is freed if it follows from the start and the end. */
static void close_account(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
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
  return plain_account(end_us != HR_NEVER_US, engine->start_us[job.id], end_us, milli);
}

struct hr_job_accounting hr_result_accounting(const struct hr_result *result, hr_job job) {
  if (result->account[job.id]) return result->accounts[result->account[job.id]];
  int64_t end_us = result->ended_us[job.id], start_us = result->start_us[job.id];
  return plain_account(start_us != HR_NEVER_US, start_us, end_us, 0);
}

/* ---- Start and end of an attempt ---- */

/* After a resize, a job continues with the work of the segment before. If it was restarting, it still needs at least
   the time that was left. */
static void carry_over(struct hr__engine_attempt *attempt, const struct hr__engine_attempt *before) {
  attempt->progress_us = before->progress_us;
  attempt->part = before->part;
  attempt->unkept_us = before->unkept_us;
  attempt->unkept_milli_us = before->unkept_milli_us;
  attempt->evict_us = before->evict_us;
  attempt->evict_keeps = before->evict_keeps;
  if (attempt->restart_us < before->restart_us) attempt->restart_us = before->restart_us;
}

static enum hr_status start(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            int64_t run_us) {
  (void)run_us;
  if (!take_slot(engine, job) || !take_account(engine, job)) return hr__out_of_memory(engine);
  struct hr__engine_attempt *attempt = hr__attempt(engine, job), before = *attempt;
  bool is_again = before.resizes || hr__account(engine, job)->attempts++ > 0;
  int64_t restart_us = is_again ? hr__class_spec(engine, job)->restart_us : 0;
  restart_us += hr__reconfiguration_us(engine, placement);
  bool claimed = hr__claims_take(engine, job, placement);
  uint64_t gpu_milli = hr_placement_milli(placement, engine->trace, job);
  *attempt = (struct hr__engine_attempt){
      .begun_us = engine->view.now_us,
      .phase_us = engine->view.now_us,
      .progress_us = engine->kept_us[job.id],
      .restart_us = restart_us,
      .interval_us = hr__checkpoint_interval_us(engine, job, placement->pool),
      .rate = hr__job_rate(engine, job, gpu_milli, hr__speed_now_ppm(engine, job, placement)),
      .gpu_milli = (uint32_t)gpu_milli,
      .phase = claimed ? HR__PHASE_WORKING : HR__PHASE_BACKING_OFF};
  if (before.resizes) carry_over(attempt, &before);
  note_slow(engine, job, placement);
  if (hr__checkpoint_is_continuous(engine, job)) note_saved(engine, job);
  enum hr_status status = claimed ? begin_execution(engine, job) : back_off(engine, job);
  return status == HR_OK ? hr__sharing_update_speeds(engine, placement) : status;
}

/* Adds the time of the present segment of a job to the time for which it held GPUs. */
static void add_held(struct hr__engine *engine, hr_job job) {
  int64_t held_us = engine->view.now_us - engine->attempt_us[job.id];
  hr__account(engine, job)->held_us += held_us;
  if (engine->resized) engine->resized[job.id].held_milli_us += gpu_time(hr__attempt(engine, job), held_us);
}

static void close_books(struct hr__engine *engine, hr_job job, bool all_kept) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  struct hr_job_accounting *accounting = hr__account(engine, job);
  close_phase(engine, job);
  if (all_kept) keep(engine, job);
  accounting->lost_us += attempt->unkept_us;
  accounting->milli_us.lost += attempt->unkept_milli_us;
  attempt->unkept_us = 0;
  attempt->unkept_milli_us = 0;
  add_held(engine, job);
}

/* Ends a segment of a job that continues at another placement at this instant. */
static void close_segment(struct hr__engine *engine, hr_job job, bool saves) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  int64_t passed_us = engine->view.now_us - attempt->phase_us;
  attempt->restart_us = attempt->phase == HR__PHASE_RESTARTING ? attempt->restart_us - passed_us : 0;
  close_phase(engine, job);
  if (saves) keep(engine, job);
  add_held(engine, job);
  attempt->resizes = true;
}

/* Marks the kept work of a running job as the last that is not corrupted, or as that to which it will return. */
static enum hr_status corrupt(struct hr__engine *engine, hr_job job, bool found) {
  struct hr__clean_work *clean = &engine->clean[job.id];
  const struct hr_job_accounting *accounting = hr__account(engine, job);
  if (found) clean->is_found = clean->is_set;
  if (found || clean->is_set) return HR_OK;
  *clean =
      (struct hr__clean_work){engine->kept_us[job.id], accounting->kept_us, accounting->milli_us.kept, true, false};
  return HR_OK;
}

/* Takes the corrupted work from a job that was stopped. */
static void roll_back(struct hr__engine *engine, hr_job job) {
  struct hr__clean_work *clean = &engine->clean[job.id];
  struct hr_job_accounting *accounting = hr__account(engine, job);
  if (clean->is_found) {
    engine->kept_us[job.id] = clean->kept_us;
    accounting->lost_us += accounting->kept_us - clean->kept_time_us;
    accounting->milli_us.lost += accounting->milli_us.kept - clean->kept_milli_us;
    accounting->kept_us = clean->kept_time_us;
    accounting->milli_us.kept = clean->kept_milli_us;
  }
  *clean = (struct hr__clean_work){0};
}

/* A job that is resized returns to its kept work. */
static void begin_again(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  attempt->progress_us = engine->kept_us[job.id];
  attempt->part = 0;
  attempt->restart_us = 0;
  attempt->resizes = true;
}

static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  drop_async(engine, job);
  enum hr__phase phase = hr__attempt(engine, job)->phase;
  bool saves = phase == HR__PHASE_SAVING || phase == HR__PHASE_LEAVING;
  drop_series(engine, job);
  enum hr_status status = saves ? hr__checkpoint_cancel(engine, job, placement->pool) : HR_OK;
  bool keeps_all = how != HR__STOP_KEEP_SAVED && phase != HR__PHASE_HANGING;
  bool resizes = how == HR__STOP_RESIZE || how == HR__STOP_SHRINK;
  bool returns = engine->clean && engine->clean[job.id].is_found; /* to work that is not corrupted */
  if (resizes && !returns)
    close_segment(engine, job, how == HR__STOP_RESIZE);
  else
    close_books(engine, job, keeps_all || hr__checkpoint_is_continuous(engine, job));
  if (engine->clean && (returns || !resizes)) roll_back(engine, job);
  if (resizes && returns) begin_again(engine, job);
  if (how == HR__STOP_END) close_account(engine, job, placement);
  hr__event_heap_remove_job(&engine->heap, job.id);
  if (!resizes) free_slot(engine, job);
  return status;
}

static void settle(struct hr__engine *engine) {
  catch_up(engine, engine->view.now_us);
  const struct hr__column_reclaim *reclaim = &engine->reclaim;
  for (uint32_t i = hr__column_reclaim_skip(reclaim, 0); i < engine->cursor;
       i = hr__column_reclaim_skip(reclaim, i + 1))
    if (engine->state[i] == HR_JOB_RUNNING) close_books(engine, (hr_job){i}, true);
  for (uint32_t i = engine->n_input; i < engine->n_input + engine->n_added; i++)
    if (engine->state[i] == HR_JOB_RUNNING) close_books(engine, (hr_job){i}, true);
}

/* ---- Notices ---- */

/* Records that a job leaves after the checkpoint that it is writing now. */
static enum hr_status leave_when_saved(struct hr__engine *engine, hr_job job, int64_t down_us) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (attempt->phase == HR__PHASE_SAVING || down_us < attempt->down_us) attempt->down_us = down_us;
  if (attempt->phase == HR__PHASE_SAVING) enter(engine, job, HR__PHASE_LEAVING);
  return HR_OK;
}

/* Handles a notice. A job that will complete by `down_us` continues to work. Of the other jobs, one that restarts or
   backs off has no new work to save and is interrupted at once. A working job writes a checkpoint and then leaves, if
   the remaining time is sufficient for the checkpoint. Otherwise the job continues to work until it is stopped. */
static enum hr_status warn(struct hr__engine *engine, hr_job job, int64_t down_us) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (!can_save(engine, job) || attempt->phase == HR__PHASE_HANGING) return HR_OK;
  enum hr_status status = end_series(engine, job);
  if (status != HR_OK) return status;
  if (async_save(engine, job)) {
    /* a complete checkpoint is better than the one that is being written */
    hr__event_heap_remove_job(&engine->heap, job.id);
    drop_async(engine, job);
    enter(engine, job, HR__PHASE_WORKING);
    status = work_on(engine, job);
    if (status != HR_OK) return status;
  }
  if (attempt->phase == HR__PHASE_SAVING || attempt->phase == HR__PHASE_LEAVING)
    return leave_when_saved(engine, job, down_us);
  bool done_in_time = ends_by(engine, job, down_us);
  if (done_in_time) attempt->interval_us = HR_NEVER_US;
  if (attempt->phase == HR__PHASE_RESTARTING || attempt->phase == HR__PHASE_BACKING_OFF)
    return done_in_time ? HR_OK : hr__job_interrupt(engine, job, HR_REASON_RECLAIMED, false);
  if (!done_in_time && !hr__checkpoint_fits(engine, job, pool_of(engine, job), down_us)) return HR_OK;
  hr__event_heap_remove_job(&engine->heap, job.id);
  if (!done_in_time) {
    attempt->down_us = down_us;
    return save(engine, job, HR__PHASE_LEAVING);
  }
  enter(engine, job, HR__PHASE_WORKING);
  return work_on(engine, job);
}

/* A node of the job has failed: the job makes no progress until it is stopped. Every running job has an entry in the
   heap; the one of a hanging job has no time. */
static enum hr_status hang(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (attempt->phase == HR__PHASE_HANGING) return HR_OK;
  enum hr_status status = end_series(engine, job);
  drop_async(engine, job);
  if (status == HR_OK && (attempt->phase == HR__PHASE_SAVING || attempt->phase == HR__PHASE_LEAVING))
    status = hr__checkpoint_cancel(engine, job, pool_of(engine, job));
  hr__event_heap_remove_job(&engine->heap, job.id);
  enter(engine, job, HR__PHASE_HANGING);
  return status == HR_OK ? hr__schedule(engine, HR_NEVER_US, HR__PENDING_PHASE, job.id) : status;
}

static enum hr_status notice(struct hr__engine *engine, hr_job job, struct hr__job_notice notice) {
  if (!notice.evicts) return warn(engine, job, notice.at_us);
  hr__attempt(engine, job)->evict_us = notice.at_us;
  hr__attempt(engine, job)->evict_keeps = notice.keeps;
  enum hr_status status = hr__schedule(engine, notice.at_us, HR__PENDING_EVICT, job.id);
  return status == HR_OK && !notice.keeps ? warn(engine, job, notice.at_us) : status;
}

/* Ends the notice of a preempted job. The call has no effect if the job no longer runs or if a later notice replaced
   this one. If the job has finished and its memory was reclaimed, the state that is read here is not HR_JOB_RUNNING. */
static enum hr_status evict(struct hr__engine *engine, hr_job job) {
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (engine->state[job.id] != HR_JOB_RUNNING || attempt->evict_us != engine->view.now_us) return HR_OK;
  return hr__job_interrupt(engine, job, HR_REASON_PREEMPTED, attempt->evict_keeps);
}

static enum hr_status advance(struct hr__engine *engine, struct hr__pending pending) {
  hr_job job = {hr__pending_entity(pending)};
  enum hr_status status = HR_OK;
  if (hr__pending_kind(pending) == HR__PENDING_EVICT) return evict(engine, job);
  if (hr__pending_kind(pending) == HR__PENDING_STORAGE)
    status = hr__storage_advance(engine, (hr_pool){hr__pending_entity(pending)}, &job);
  return status == HR_OK && job.id != HR_NONE ? advance_phase(engine, job) : status;
}

/* ---- Queries of policies ---- */

/* Returns the work completed by a running job in a run where jobs cannot be stopped. */
static int64_t done_unstopped_us(const struct hr__engine *engine, hr_job job) {
  int64_t passed_us = engine->view.now_us - engine->start_us[job.id], work_us = engine->trace->work_us[job.id];
  if (!hr__speeds_vary(&engine->speeds) && !engine->network.table) return passed_us;
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  int64_t done_us = hr__work_in_us(passed_us, hr__speed_at_ppm(engine, job, &placement));
  return done_us < work_us ? done_us : work_us;
}

int64_t hr_view_done_us(const struct hr_view *view, hr_job job) {
  if (view->state[job.id] == HR_JOB_COMPLETED) return view->jobs->work_us[job.id];
  const struct hr__engine *engine = hr__engine_of(view);
  if (engine->clusters && hr__clusters_view(engine, job)) return hr_view_done_us(hr__clusters_view(engine, job), job);
  if (view->state[job.id] != HR_JOB_RUNNING) return engine->attempt_slot ? engine->kept_us[job.id] : 0;
  if (!engine->attempt_slot) return done_unstopped_us(engine, job);
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (attempt->begun_us != engine->attempt_us[job.id]) return engine->kept_us[job.id];
  uint64_t part;
  return progress_us(engine, job, &part);
}

/* ---- Start of a run ---- */

static bool is_needed(const struct hr__engine *engine) {
  return engine->disturbs_jobs || engine->abilities & HR_POLICY_PREEMPTS;
}

static int64_t max_run_us(const struct hr__engine *engine, int64_t work_us) {
  int64_t time_us = hr__time_for_us(hr__time_for_us(work_us, engine->speeds.min_ppm), engine->network.min_ppm);
  if (engine->node_speed_ppm) time_us = hr__time_for_us(time_us, hr__slowest_ppm(engine));
  return hr__time_for_us(time_us, engine->interference_ppm);
}

static void init_columns(struct hr__engine *engine, hr_job job) {
  engine->attempt_us[job.id] = engine->ended_us[job.id] = HR_NEVER_US;
}

static enum hr_status begin(struct hr__engine *engine) {
  uint32_t n_jobs = engine->trace->n_jobs;
  int64_t max_work_us = 0;
  const bool is_first = !engine->whole || !engine->whole->account; /* the columns are not initialized yet */
  engine->attempt_us = HR__JOB_COLUMN(engine, attempt_us);
  engine->kept_us = HR__JOB_COLUMN(engine, kept_us);
  engine->attempt_slot = HR__JOB_COLUMN(engine, attempt_slot);
  engine->heap.place = HR__JOB_COLUMN(engine, heap.place);
  engine->account = HR__RESULT_COLUMN(engine, account);
  engine->ended_us = HR__RESULT_COLUMN(engine, ended_us);
  if (!engine->attempt_us || !engine->kept_us || !engine->attempt_slot || !engine->heap.place || !engine->account ||
      !engine->ended_us || !make_accounts(engine) || !make_slots(engine))
    return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < n_jobs && !engine->config->stream; i++) {
    if (is_first) init_columns(engine, (hr_job){i});
    int64_t work_us = i < engine->n_input ? hr__job_longest_us(engine, (hr_job){i}, engine->trace->work_us[i]) : 0;
    if (work_us > max_work_us) max_work_us = work_us;
  }
  engine->longest_us = max_run_us(engine, max_work_us) + engine->longest_lead_us;
  bool any_async = false;
  for (uint32_t i = 0; engine->config->classes && i < HR_N_CLASSES; i++)
    any_async = any_async || engine->config->classes[i].async;
  if (any_async) engine->async_saves = hr_arena_alloc_by_job(&engine->arena, n_jobs, sizeof *engine->async_saves);
  if (any_async && !engine->async_saves) return hr__out_of_memory(engine);
  if (engine->corrupts) engine->clean = hr_arena_alloc_by_job(&engine->arena, n_jobs, sizeof *engine->clean);
  if (engine->corrupts && !engine->clean) return hr__out_of_memory(engine);
  engine->view.attempt_us = engine->attempt_us;
  engine->view.kept_us = engine->kept_us;
  engine->view.accounts = engine->accounts;
  return hr__storage_init(engine);
}

static void submit(struct hr__engine *engine, hr_job job) {
  if (!engine->config->stream) return;
  init_columns(engine, job);
  int64_t longest_us = max_run_us(engine, hr__job_longest_us(engine, job, engine->trace->work_us[job.id]));
  if (longest_us > engine->longest_us) engine->longest_us = longest_us;
}

static void close(struct hr__engine *engine) {
  hr__storage_close(engine);
  free(engine->series);
  free(engine->attempts);
}

/* ---- Checked mode ---- */

/* Checks the pending entry of a running job. If the entry is the end of the job, it must be at the exact microsecond at
   which the remaining work completes. */
static enum hr_status check_pending(const struct hr__engine *engine, uint32_t at) {
  struct hr__pending pending = engine->heap.entries[at];
  uint32_t job = hr__pending_entity(pending);
  const struct hr__engine_attempt *attempt = hr__attempt(engine, (hr_job){job});
  if (engine->heap.place[job] != at + 1) return hr__broken(engine, "job %" PRIu32 " is pending twice", job);
  if (hr__pending_kind(pending) != HR__PENDING_END) return HR_OK;
  int64_t left_us = engine->trace->work_us[job] - attempt->progress_us;
  if (attempt->phase_us + hr__time_left_us(left_us, attempt->part, attempt->rate) != pending.at_us)
    return hr__broken(engine, "job %" PRIu32 " does not end when its remaining work completes", job);
  return HR_OK;
}

/* Checks that the time for which a job held its GPUs is the sum of its work, checkpoints and restarts. This is true
   while the job has no attempt, and at the end of the run. */
static enum hr_status check_accounting(const struct hr__engine *engine, uint32_t job) {
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

/* Checks that the stored speed of a running job is the speed that follows from its placement, and that it is greater
   than 0. */
static enum hr_status check_speed(const struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  if (engine->trace->gpus[job.id] == 0) return HR_OK;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  uint32_t speed_ppm = hr__speed_now_ppm(engine, job, &placement);
  if (speed_ppm == 0) return hr__broken(engine, "job %" PRIu32 " runs in a pool where its speed is 0", job.id);
  struct hr__rate rate = hr__attempt(engine, job)->rate,
                  due = hr__job_rate(engine, job, hr_placement_milli(&placement, engine->trace, job), speed_ppm);
  if (rate.ppm != due.ppm || rate.num != due.num || rate.den != due.den)
    return hr__broken(engine, "job %" PRIu32 " does not work at the speed of its placement and neighbours", job.id);
  return HR_OK;
}

static enum hr_status check(const struct hr__engine *engine, const struct hr__running *running) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < engine->heap.count && status == HR_OK; i++)
    if (hr__pending_kind(engine->heap.entries[i]) <= HR__PENDING_PHASE) status = check_pending(engine, i);
  for (uint32_t i = 0; running->every_job && i < running->count && status == HR_OK; i++)
    status = check_speed(engine, running->jobs[i]);
  const bool all_jobs =
      running->every_job && !engine->whole; /* the columns of the whole run have other clusters' jobs */
  for (uint32_t i = 0; all_jobs && i < engine->trace->n_jobs && status == HR_OK; i++)
    status = check_accounting(engine, i);
  return status;
}

const struct hr__component hr__component_attempts = {
    .is_needed = is_needed,
    .begin = begin,
    .submit = submit,
    .start = start,
    .stop = stop,
    .notice = notice,
    .hang = hang,
    .corrupt = corrupt,
    .set_speed = set_speed,
    .kinds = 1u << HR__PENDING_PHASE | 1u << HR__PENDING_STORAGE | 1u << HR__PENDING_EVICT,
    .advance = advance,
    .catch_up = catch_up,
    .settle = settle,
    .close = close,
    .check = check,
};
