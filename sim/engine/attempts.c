/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attempts of jobs, in runs where a job can be stopped before its end. An attempt consists of phases: restarting
 * (except in the first attempt of the job), working and, from time to time, writing a checkpoint. After a notice, a job
 * may write a checkpoint and then leave its nodes. If the GPUs of a job have too little free memory, the job is killed
 * before it restarts or works, and retries later.
 *
 * The event heap has one entry per running job: the end of its phase or of its work. Jobs that write to the shared
 * storage of their pool are an exception. They have no entries; the storage has one entry, for the first write that
 * will complete. Work is measured on the job's own clock, which stops during restarts and checkpoints. When a job is
 * stopped, the work before its last checkpoint is kept and later work is lost.
 */

#include "base/array.h"
#include "sim/engine/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Wait times between retries, as in Kubernetes' CrashLoopBackOff: 10 s, 20 s, 40 s, ..., at most 5 minutes
   (kubernetes.io, "Pod Lifecycle", "How Pods handle problems with containers"). */
#define FIRST_BACK_OFF_US (10 * HR_SECOND_US)
#define MAX_BACK_OFF_US (300 * HR_SECOND_US)

/*
 * ---- Storage ----
 *
 * The shared storage of a pool. Checkpoints that are written at the same time share its bandwidth equally, so all
 * writers receive the same amount of service in the same time. The storage therefore needs only one clock. It advances
 * by the service that each of the present writers receives. The mark of a writer is the value of the clock when the
 * writer began plus the size of its checkpoint. The writer is done when the clock reaches this mark. Service is an
 * integer. Its unit is 2^-10 MiB x microseconds per second, which is so small that the division by the number of
 * writers causes almost no rounding error. Integers are used because their results are the same on all machines.
 */

#define SERVICE_PER_MIB (UINT64_C(1000000) << 10)

static enum hr_status init_storage(struct hr__engine *engine) {
  engine->storage = hr_arena_alloc(&engine->arena, engine->cluster.n_pools * sizeof *engine->storage);
  if (!engine->storage) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    engine->storage[i].mib_s = engine->cluster.pools[i].spec->storage_mib_s;
  return HR_OK;
}

static void read_clock(struct hr__storage *storage, int64_t now_us) {
  if (storage->count)
    storage->clock += ((hr__service)storage->mib_s << 10) * (uint64_t)(now_us - storage->clock_us) / storage->count;
  storage->clock_us = now_us;
}

/* Returns the time until the clock has advanced by `service` while there are `count` writers. */
static int64_t time_for(const struct hr__storage *storage, hr__service service, uint32_t count) {
  hr__service rate = (hr__service)storage->mib_s << 10;
  hr__service us = (service * count + rate - 1) / rate;
  return us > (hr__service)HR_MAX_INPUT_US ? HR_MAX_INPUT_US : (int64_t)us;
}

static enum hr_status schedule_first(struct hr__engine *engine, hr_pool pool) {
  struct hr__storage *storage = &engine->storage[pool.id];
  storage->next_us = HR_NEVER_US;
  if (!storage->count) return HR_OK;
  hr__service mark = storage->writers[0].mark;
  hr__service service = mark > storage->clock ? mark - storage->clock : 0;
  storage->next_us = engine->view.now_us + time_for(storage, service, storage->count);
  return hr__schedule(engine, storage->next_us, HR__PENDING_STORAGE, pool.id);
}

static int64_t forecast_write_us(const struct hr__engine *engine, hr_pool pool, uint64_t mib) {
  const struct hr__storage *storage = &engine->storage[pool.id];
  return time_for(storage, (hr__service)mib * SERVICE_PER_MIB, storage->count + 1);
}

static enum hr_status begin_write(struct hr__engine *engine, hr_pool pool, hr_job job, uint64_t mib) {
  struct hr__storage *storage = &engine->storage[pool.id];
  read_clock(storage, engine->view.now_us);
  if (!HR__ARRAY_HAS_ROOM(storage->writers, storage->count, storage->capacity)) return hr__out_of_memory(engine);
  struct hr__storage_writer writer = {storage->clock + (hr__service)mib * SERVICE_PER_MIB, job};
  uint32_t at = storage->count++;
  for (; at > 0 && writer.mark < storage->writers[at - 1].mark; at--) storage->writers[at] = storage->writers[at - 1];
  storage->writers[at] = writer;
  return schedule_first(engine, pool);
}

static void take_out(struct hr__storage *storage, uint32_t at) {
  storage->count--;
  memmove(&storage->writers[at], &storage->writers[at + 1], (storage->count - at) * sizeof *storage->writers);
}

static enum hr_status cancel_write(struct hr__engine *engine, hr_pool pool, hr_job job) {
  struct hr__storage *storage = &engine->storage[pool.id];
  uint32_t at = 0;
  read_clock(storage, engine->view.now_us);
  while (storage->writers[at].job.id != job.id) at++;
  take_out(storage, at);
  return schedule_first(engine, pool);
}

/* ---- Checkpoints: settings of the job's class, and the job's values in the trace ---- */

/* Returns the settings of the job's class. All members are 0 if the run has no classes. */
static const struct hr_class_spec *class_spec_of(const struct hr__engine *engine, hr_job job) {
  static const struct hr_class_spec nothing = {0};
  const struct hr_class_spec *classes = engine->config->classes;
  const uint8_t *class_ = engine->trace->class_;
  return classes ? &classes[class_ ? class_[job.id] : HR_CLASS_UNKNOWN] : &nothing;
}

/* Returns the size of a checkpoint of the job, or 0 if it is unknown. */
static uint64_t checkpoint_mib(const struct hr__engine *engine, hr_job job) {
  uint64_t own = engine->trace->checkpoint_mib ? engine->trace->checkpoint_mib[job.id] : 0;
  return own ? own : class_spec_of(engine, job)->checkpoint_mib;
}

/* Returns whether checkpoints of the job are written to the pool's storage. This requires that the bandwidth of the
   storage and the size of the checkpoints are known. Otherwise a checkpoint takes the write time of the job's class. */
static bool writes_to_storage(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  return engine->cluster.pools[pool.id].spec->storage_mib_s > 0 && checkpoint_mib(engine, job) > 0;
}

static int64_t alone_write_us(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  if (!writes_to_storage(engine, job, pool)) return class_spec_of(engine, job)->write_us;
  double seconds = (double)checkpoint_mib(engine, job) / (double)engine->cluster.pools[pool.id].spec->storage_mib_s;
  return (int64_t)llround(seconds * (double)HR_SECOND_US);
}

/* Returns how many times as often a job on `n_nodes` nodes is interrupted as a job on one node. A job is interrupted if
   any of its nodes is reclaimed. */
static double nodes_lost_apart(const struct hr_spot_spec *spot, uint32_t pool_nodes, uint32_t n_nodes) {
  switch (spot->model) {
  case HR_SPOT_ON_OFF:
  case HR_SPOT_TRACE:
    return 1;
  case HR_SPOT_EXPONENTIAL:
  case HR_SPOT_ADVISOR:
    return hr__interruption_share(spot, pool_nodes, n_nodes);
  case HR_SPOT_NONE:
  case HR_SPOT_BATHTUB:
  case HR_N_SPOT_MODELS:
    break;
  }
  return n_nodes;
}

/* Returns the first-order checkpoint interval of Daly ("A higher order estimate of the optimum checkpoint interval for
   restart dumps", 2006). Let d be the time to write a checkpoint and M the mean time between interruptions. The
   interval is sqrt(2 d M) - d, or M if d >= 2 M. */
static int64_t young_daly_us(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  const struct hr_pool_spec *spec = engine->cluster.pools[pool.id].spec;
  if (spec->market.market != HR_MARKET_SPOT) return HR_NEVER_US;
  double life_s = 3600 / hr_cluster_reclaims_per_h(&engine->cluster, pool);
  uint32_t n_nodes = engine->allocation[job.id].n_slices;
  if (n_nodes > 1) life_s /= nodes_lost_apart(&spec->market.spot, spec->nodes, n_nodes);
  if (!isfinite(life_s)) return HR_NEVER_US;
  double write_s = (double)alone_write_us(engine, job, pool) / (double)HR_SECOND_US;
  double interval_s = write_s < 2 * life_s ? sqrt(2 * write_s * life_s) - write_s : life_s;
  if (interval_s * (double)HR_SECOND_US >= (double)HR_MAX_INPUT_US) return HR_NEVER_US;
  int64_t interval_us = (int64_t)llround(interval_s * (double)HR_SECOND_US);
  return interval_us > 0 ? interval_us : HR_SECOND_US;
}

/* Returns how much work a job does between two checkpoints at its present placement in `pool`. Returns HR_NEVER_US if
   the job writes no periodic checkpoints. */
static int64_t checkpoint_interval_us(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  int64_t own = engine->trace->checkpoint_interval_us ? engine->trace->checkpoint_interval_us[job.id] : HR_UNKNOWN_US;
  const struct hr_class_spec *class_ = class_spec_of(engine, job);
  bool periodic = class_->checkpoint != HR_CHECKPOINT_ON_NOTICE && class_->checkpoint != HR_CHECKPOINT_CONTINUOUS;
  if (own > 0 && periodic) return own;
  switch (class_->checkpoint) {
  case HR_CHECKPOINT_INTERVAL:
    return class_->interval_us > 0 ? class_->interval_us : HR_NEVER_US;
  case HR_CHECKPOINT_YOUNG_DALY:
    return young_daly_us(engine, job, pool);
  case HR_CHECKPOINT_NONE:
  case HR_CHECKPOINT_ON_NOTICE:
  case HR_CHECKPOINT_CONTINUOUS:
  case HR_N_CHECKPOINTS:
    break;
  }
  return HR_NEVER_US;
}

static hr_pool pool_of(const struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  return hr__allocation_placement(engine, job, &one).pool;
}

bool hr__attempt_keeps_all(const struct hr__engine *engine, hr_job job) {
  return class_spec_of(engine, job)->checkpoint == HR_CHECKPOINT_CONTINUOUS;
}

static bool can_save(const struct hr__engine *engine, hr_job job) {
  if (hr__attempt_keeps_all(engine, job)) return false; /* all work is kept at all times, so no checkpoint is needed */
  return class_spec_of(engine, job)->checkpoint != HR_CHECKPOINT_NONE ||
         engine->attempt[job.id].interval_us != HR_NEVER_US;
}

/* ---- Phases ---- */

static hr_amount gpu_time(const struct hr__engine_attempt *attempt, int64_t time_us) {
  return (hr_amount)attempt->gpu_milli * time_us;
}

/* Marks all completed work of the job as kept. */
static void keep(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = &engine->attempt[job.id];
  if (engine->kept_us[job.id] < attempt->progress_us) engine->last_progress_us = engine->view.now_us;
  engine->kept_us[job.id] = attempt->progress_us;
  engine->accounting[job.id].kept_us += attempt->unkept_us;
  engine->accounting[job.id].milli_us.kept += gpu_time(attempt, attempt->unkept_us);
  attempt->unkept_us = 0;
}

/* Returns the work completed so far. `*part` is set to the completed fraction of the next microsecond of work, in
   millionths. The end of a phase is rounded up to a whole microsecond. Because of this rounding, a fast job could seem
   to have done more work than it has, so the result is limited to the job's total work. */
static int64_t progress_us(const struct hr__engine *engine, hr_job job, uint32_t *part) {
  const struct hr__engine_attempt *attempt = &engine->attempt[job.id];
  *part = attempt->part;
  if (attempt->phase != HR__PHASE_WORKING) return attempt->progress_us;
  int64_t left_us = engine->trace->work_us[job.id] - attempt->progress_us;
  int64_t done_us = hr__work_done_us(engine->view.now_us - attempt->phase_us, attempt->speed_ppm, part);
  if (done_us < left_us) return attempt->progress_us + done_us;
  *part = 0;
  return attempt->progress_us + left_us;
}

static void note_saved(struct hr__engine *engine, hr_job job) {
  int64_t *saved_us = &engine->accounting[job.id].saved_us;
  if (*saved_us == HR_NEVER_US) *saved_us = engine->view.now_us;
}

/* Ends the present phase of the job: adds the time since the beginning of the phase to the job's accounts. */
static void close_phase(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = &engine->attempt[job.id];
  struct hr_job_accounting *accounting = &engine->accounting[job.id];
  int64_t passed_us = engine->view.now_us - attempt->phase_us;
  attempt->progress_us = progress_us(engine, job, &attempt->part);
  if (attempt->phase == HR__PHASE_WORKING) {
    attempt->unkept_us += passed_us;
  } else if (attempt->phase == HR__PHASE_RESTARTING || attempt->phase == HR__PHASE_BACKING_OFF) {
    accounting->restarting_us += passed_us;
    accounting->milli_us.restarting += gpu_time(attempt, passed_us);
    if (attempt->phase == HR__PHASE_BACKING_OFF)
      engine->pool_accounting[pool_of(engine, job).id].back_off_milli_us += gpu_time(attempt, passed_us);
  } else {
    accounting->saving_us += passed_us;
    accounting->milli_us.saving += gpu_time(attempt, passed_us);
  }
  attempt->phase_us = engine->view.now_us;
}

static void enter(struct hr__engine *engine, hr_job job, enum hr__phase phase) {
  close_phase(engine, job);
  engine->attempt[job.id].phase = phase;
}

/* Schedules the next checkpoint or the end of the work, whichever is earlier. */
static enum hr_status work_on(struct hr__engine *engine, hr_job job) {
  const struct hr__engine_attempt *attempt = &engine->attempt[job.id];
  int64_t left_us = engine->trace->work_us[job.id] - attempt->progress_us, now_us = engine->view.now_us;
  int64_t done_us = attempt->progress_us - engine->kept_us[job.id]; /* work since the last checkpoint */
  if (attempt->interval_us != HR_NEVER_US && attempt->interval_us - done_us < left_us) {
    int64_t until_us = attempt->interval_us > done_us ? attempt->interval_us - done_us : 0;
    return hr__schedule(engine, now_us + hr__time_left_us(until_us, attempt->part, attempt->speed_ppm),
                        HR__PENDING_PHASE, job.id);
  }
  return hr__schedule(engine, now_us + hr__time_left_us(left_us, attempt->part, attempt->speed_ppm), HR__PENDING_END,
                      job.id);
}

/* Changes the speed of a running job from now on. No completed work is lost, not even a fraction of a microsecond. */
static enum hr_status set_speed(struct hr__engine *engine, hr_job job, uint32_t speed_ppm) {
  struct hr__engine_attempt *attempt = &engine->attempt[job.id];
  if (attempt->speed_ppm == speed_ppm) return HR_OK;
  if (attempt->phase == HR__PHASE_WORKING) {
    hr__event_heap_remove_job(&engine->heap, job.id);
    enter(engine, job, HR__PHASE_WORKING);
  }
  attempt->speed_ppm = speed_ppm;
  return attempt->phase == HR__PHASE_WORKING ? work_on(engine, job) : HR_OK;
}

static enum hr_status save(struct hr__engine *engine, hr_job job, enum hr__phase phase) {
  hr_pool pool = pool_of(engine, job);
  enter(engine, job, phase);
  if (writes_to_storage(engine, job, pool)) return begin_write(engine, pool, job, checkpoint_mib(engine, job));
  return hr__schedule(engine, engine->view.now_us + class_spec_of(engine, job)->write_us, HR__PENDING_PHASE, job.id);
}

/* Returns whether the job would complete by `down_us` if it wrote no further checkpoint. If the job backs off, the
   function assumes that its next try succeeds. */
static bool ends_by(const struct hr__engine *engine, hr_job job, int64_t down_us) {
  const struct hr__engine_attempt *attempt = &engine->attempt[job.id];
  int64_t left_us = engine->trace->work_us[job.id] - attempt->progress_us, from_us = attempt->phase_us;
  if (attempt->phase == HR__PHASE_BACKING_OFF) from_us = attempt->retry_us + attempt->restart_us;
  if (attempt->phase == HR__PHASE_RESTARTING) from_us += attempt->restart_us;
  return hr__time_left_us(left_us, attempt->part, attempt->speed_ppm) <= down_us - from_us;
}

/* Completes a checkpoint. If the job was to leave its nodes after this checkpoint, it leaves now, unless it can
   complete before its node goes down. */
static enum hr_status finish_save(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = &engine->attempt[job.id];
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  bool leaves = attempt->phase == HR__PHASE_LEAVING;
  enter(engine, job, HR__PHASE_WORKING);
  keep(engine, job);
  note_saved(engine, job);
  struct hr_event event = {engine->view.now_us, HR_EVENT_SAVED, HR_REASON_NONE, job, &placement, {HR_NONE}, {HR_NONE}};
  enum hr_status status = hr__emit(engine, &event);
  if (status != HR_OK) return status;
  if (leaves && !ends_by(engine, job, attempt->down_us)) return hr__attempt_interrupt(engine, job, HR_REASON_SAVED);
  if (leaves) attempt->interval_us = HR_NEVER_US;
  return work_on(engine, job);
}

static enum hr_status pace_node(struct hr__engine *engine, struct hr_slice slice) {
  const struct hr__residents *residents = &engine->residents;
  enum hr_status status = HR_OK;
  for (uint32_t link = residents->first[slice.node.id]; link && status == HR_OK;
       link = residents->links[link - 1].next) {
    hr_job job = residents->links[link - 1].job;
    struct hr_slice one;
    struct hr_placement placement = hr__allocation_placement(engine, job, &one);
    if (!hr__placement_has_gpu(&placement, slice.node, slice.gpus)) continue;
    status = set_speed(engine, job, hr__speed_now_ppm(engine, job, &placement));
  }
  return status;
}

/* Updates the speeds of the jobs that share GPUs with a placement. Must be called after a job was placed there or has
   left. */
static enum hr_status neighbours_change(struct hr__engine *engine, const struct hr_placement *placement) {
  enum hr_status status = HR_OK;
  if (!engine->interferes || !hr__pool_interferes(engine->cluster.pools[placement->pool.id].spec)) return HR_OK;
  for (uint32_t i = 0; i < placement->n_slices && status == HR_OK; i++)
    if (placement->slices[i].gpus) status = pace_node(engine, placement->slices[i]);
  return status;
}

/* Counts the kill of a job for lack of GPU memory and schedules its next try. */
static enum hr_status back_off(struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  struct hr__engine_attempt *attempt = &engine->attempt[job.id];
  int64_t back_off_us = FIRST_BACK_OFF_US;
  for (uint32_t i = 0; i < attempt->kills && back_off_us < MAX_BACK_OFF_US; i++) back_off_us *= 2;
  if (back_off_us > MAX_BACK_OFF_US) back_off_us = MAX_BACK_OFF_US;
  attempt->kills++;
  attempt->retry_us = engine->view.now_us + back_off_us;
  engine->claims.killed_us = engine->view.now_us;
  engine->accounting[job.id].oom_kills++;
  engine->pool_accounting[hr__allocation_placement(engine, job, &one).pool.id].oom_kills++;
  return hr__schedule(engine, attempt->retry_us, HR__PENDING_PHASE, job.id);
}

/* Begins the restart or the work of a job that has its GPUs and their memory. */
static enum hr_status begin_execution(struct hr__engine *engine, hr_job job) {
  int64_t restart_us = engine->attempt[job.id].restart_us;
  enter(engine, job, restart_us ? HR__PHASE_RESTARTING : HR__PHASE_WORKING);
  if (restart_us) return hr__schedule(engine, engine->view.now_us + restart_us, HR__PENDING_PHASE, job.id);
  return work_on(engine, job);
}

static enum hr_status try_again(struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  if (!hr__claims_take(engine, job, &placement)) return back_off(engine, job);
  engine->attempt[job.id].speed_ppm = hr__speed_now_ppm(engine, job, &placement);
  enum hr_status status = begin_execution(engine, job);
  return status == HR_OK ? neighbours_change(engine, &placement) : status;
}

/* Ends the current phase of a running job and begins the next. */
static enum hr_status advance_phase(struct hr__engine *engine, hr_job job) {
  switch (engine->attempt[job.id].phase) {
  case HR__PHASE_RESTARTING:
    enter(engine, job, HR__PHASE_WORKING);
    return work_on(engine, job);
  case HR__PHASE_WORKING:
    return save(engine, job, HR__PHASE_SAVING);
  case HR__PHASE_BACKING_OFF:
    return try_again(engine, job);
  case HR__PHASE_SAVING:
  case HR__PHASE_LEAVING:
    break;
  }
  return finish_save(engine, job);
}

/* Completes the first write to the storage of a pool. A pending entry is outdated if the time of this completion has
   changed since; it is then ignored. */
static enum hr_status advance_storage(struct hr__engine *engine, hr_pool pool) {
  struct hr__storage *storage = &engine->storage[pool.id];
  if (!storage->count || storage->next_us != engine->view.now_us) return HR_OK;
  read_clock(storage, engine->view.now_us);
  hr_job done = storage->writers[0].job;
  take_out(storage, 0);
  enum hr_status status = schedule_first(engine, pool);
  return status == HR_OK ? advance_phase(engine, done) : status;
}

/* ---- Start and end ---- */

enum hr_status hr__attempts_init(struct hr__engine *engine) {
  uint32_t n_jobs = engine->trace->n_jobs;
  engine->attempt_us = hr_arena_alloc_by_job(&engine->arena, n_jobs, sizeof *engine->attempt_us);
  engine->kept_us = hr_arena_alloc_by_job(&engine->arena, n_jobs, sizeof *engine->kept_us);
  engine->attempt = hr_arena_alloc_by_job(&engine->arena, n_jobs, sizeof *engine->attempt);
  engine->heap.place = hr_arena_alloc_by_job(&engine->arena, n_jobs, sizeof *engine->heap.place);
  engine->accounting = hr__result_column(engine, sizeof *engine->accounting);
  if (!engine->attempt_us || !engine->kept_us || !engine->attempt || !engine->heap.place || !engine->accounting)
    return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < n_jobs && !engine->config->stream; i++) hr__attempt_submit(engine, (hr_job){i});
  return init_storage(engine);
}

enum hr_status hr__attempt_begin(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = &engine->attempt[job.id];
  int64_t restart_us = engine->accounting[job.id].attempts++ ? class_spec_of(engine, job)->restart_us : 0;
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  if (engine->residents.first && hr__residents_add(engine, job, &placement) != HR_OK) return HR_NO_MEMORY;
  restart_us += hr__reconfiguration_us(engine, &placement);
  bool claimed = hr__claims_take(engine, job, &placement);
  *attempt = (struct hr__engine_attempt){.begun_us = engine->view.now_us,
                                         .phase_us = engine->view.now_us,
                                         .progress_us = engine->kept_us[job.id],
                                         .restart_us = restart_us,
                                         .interval_us = checkpoint_interval_us(engine, job, placement.pool),
                                         .speed_ppm = hr__speed_now_ppm(engine, job, &placement),
                                         .gpu_milli = (uint32_t)hr_placement_milli(&placement, engine->trace, job),
                                         .phase = claimed ? HR__PHASE_WORKING : HR__PHASE_BACKING_OFF};
  if (hr__attempt_keeps_all(engine, job)) note_saved(engine, job);
  enum hr_status status = claimed ? begin_execution(engine, job) : back_off(engine, job);
  return status == HR_OK ? neighbours_change(engine, &placement) : status;
}

static enum hr_status leave_storage(struct hr__engine *engine, hr_job job) {
  enum hr__phase phase = engine->attempt[job.id].phase;
  if (phase != HR__PHASE_SAVING && phase != HR__PHASE_LEAVING) return HR_OK;
  hr_pool pool = pool_of(engine, job);
  return writes_to_storage(engine, job, pool) ? cancel_write(engine, pool, job) : HR_OK;
}

static void close_books(struct hr__engine *engine, hr_job job, bool all_kept) {
  struct hr__engine_attempt *attempt = &engine->attempt[job.id];
  struct hr_job_accounting *accounting = &engine->accounting[job.id];
  close_phase(engine, job);
  if (all_kept) keep(engine, job);
  accounting->lost_us += attempt->unkept_us;
  accounting->milli_us.lost += gpu_time(attempt, attempt->unkept_us);
  attempt->unkept_us = 0;
  accounting->held_us += engine->view.now_us - engine->attempt_us[job.id];
}

/* Removes the job from the lists of its nodes and updates the speeds of the jobs that stay. */
static enum hr_status leave_nodes(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  if (engine->residents.first) hr__residents_remove(engine, job, placement);
  return neighbours_change(engine, placement);
}

enum hr_status hr__attempt_stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                                bool keep) {
  enum hr_status status = leave_storage(engine, job);
  hr__claims_release(engine, job, placement);
  close_books(engine, job, keep);
  hr__event_heap_remove_job(&engine->heap, job.id);
  return status == HR_OK ? leave_nodes(engine, job, placement) : status;
}

enum hr_status hr__attempt_end(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  hr__claims_release(engine, job, placement);
  close_books(engine, job, true);
  engine->accounting[job.id].end_us = engine->view.now_us;
  return leave_nodes(engine, job, placement);
}

void hr__attempts_settle(struct hr__engine *engine) {
  const struct hr__column_reclaim *reclaim = &engine->reclaim;
  for (uint32_t i = hr__column_reclaim_skip(reclaim, 0); i < engine->cursor;
       i = hr__column_reclaim_skip(reclaim, i + 1))
    if (engine->state[i] == HR_JOB_RUNNING) close_books(engine, (hr_job){i}, true);
}

/* ---- Interruption ---- */

static enum hr_status interrupt(struct hr__engine *engine, hr_job job, enum hr_reason reason, bool keep) {
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  uint64_t gpu_milli = hr_placement_milli(&placement, engine->trace, job);
  hr__cluster_release(&engine->cluster, &placement, job);
  enum hr_status status = hr__attempt_stop(engine, job, &placement, keep);
  if (status != HR_OK) return status;
  engine->view.allocated_milli -= gpu_milli;
  engine->view.n_running--;
  engine->view.n_waiting++;
  engine->state[job.id] = HR_JOB_WAITING;
  if (reason != HR_REASON_PREEMPTED) engine->pool_accounting[placement.pool.id].interruptions++;
  struct hr_event event = {engine->view.now_us, HR_EVENT_INTERRUPT, reason, job, &placement, {HR_NONE}, {HR_NONE}};
  status = hr__emit(engine, &event);
  hr__allocation_free(engine, job);
  return status;
}

enum hr_status hr__attempt_interrupt(struct hr__engine *engine, hr_job job, enum hr_reason reason) {
  return interrupt(engine, job, reason, hr__attempt_keeps_all(engine, job));
}

static bool save_fits(const struct hr__engine *engine, hr_job job, int64_t down_us) {
  hr_pool pool = pool_of(engine, job);
  int64_t write_us = writes_to_storage(engine, job, pool) ? forecast_write_us(engine, pool, checkpoint_mib(engine, job))
                                                          : class_spec_of(engine, job)->write_us;
  return write_us <= down_us - engine->view.now_us;
}

/* Records that a job leaves after the checkpoint that it is writing now. */
static enum hr_status leave_when_saved(struct hr__engine *engine, hr_job job, int64_t down_us) {
  struct hr__engine_attempt *attempt = &engine->attempt[job.id];
  if (attempt->phase == HR__PHASE_SAVING || down_us < attempt->down_us) attempt->down_us = down_us;
  if (attempt->phase == HR__PHASE_SAVING) enter(engine, job, HR__PHASE_LEAVING);
  return HR_OK;
}

/* Handles a notice. A job that will complete by `down_us` continues to work. Of the other jobs, one that restarts or
   backs off has no new work to save and is interrupted at once. A working job writes a checkpoint and then leaves, if
   the remaining time is sufficient for the checkpoint. Otherwise the job continues to work until it is stopped. */
enum hr_status hr__attempt_notice(struct hr__engine *engine, hr_job job, int64_t down_us) {
  struct hr__engine_attempt *attempt = &engine->attempt[job.id];
  if (!can_save(engine, job)) return HR_OK;
  if (attempt->phase == HR__PHASE_SAVING || attempt->phase == HR__PHASE_LEAVING)
    return leave_when_saved(engine, job, down_us);
  bool done_in_time = ends_by(engine, job, down_us);
  if (done_in_time) attempt->interval_us = HR_NEVER_US;
  if (attempt->phase == HR__PHASE_RESTARTING || attempt->phase == HR__PHASE_BACKING_OFF)
    return done_in_time ? HR_OK : hr__attempt_interrupt(engine, job, HR_REASON_RECLAIMED);
  if (!done_in_time && !save_fits(engine, job, down_us)) return HR_OK;
  hr__event_heap_remove_job(&engine->heap, job.id);
  if (!done_in_time) {
    attempt->down_us = down_us;
    return save(engine, job, HR__PHASE_LEAVING);
  }
  enter(engine, job, HR__PHASE_WORKING);
  return work_on(engine, job);
}

enum hr_status hr__attempt_schedule_eviction(struct hr__engine *engine, hr_job job, int64_t evict_us, bool keeps) {
  engine->attempt[job.id].evict_us = evict_us;
  engine->attempt[job.id].evict_keeps = keeps;
  enum hr_status status = hr__schedule(engine, evict_us, HR__PENDING_EVICT, job.id);
  return status == HR_OK && !keeps ? hr__attempt_notice(engine, job, evict_us) : status;
}

/* Ends the notice of a preempted job. The call has no effect if the job no longer runs or if a later notice replaced
   this one. If the job has finished and its memory was reclaimed, the state that is read here is not HR_JOB_RUNNING. */
static enum hr_status evict(struct hr__engine *engine, hr_job job) {
  const struct hr__engine_attempt *attempt = &engine->attempt[job.id];
  if (engine->state[job.id] != HR_JOB_RUNNING || attempt->evict_us != engine->view.now_us) return HR_OK;
  return interrupt(engine, job, HR_REASON_PREEMPTED, attempt->evict_keeps || hr__attempt_keeps_all(engine, job));
}

enum hr_status hr__attempts_advance(struct hr__engine *engine, struct hr__pending pending) {
  uint32_t entity = hr__pending_entity(pending);
  if (hr__pending_kind(pending) == HR__PENDING_STORAGE) return advance_storage(engine, (hr_pool){entity});
  if (hr__pending_kind(pending) == HR__PENDING_EVICT) return evict(engine, (hr_job){entity});
  return advance_phase(engine, (hr_job){entity});
}

/* ---- Queries of policies ---- */

/* Returns the work completed by a running job in a run where jobs cannot be stopped. */
static int64_t done_unstopped_us(const struct hr__engine *engine, hr_job job) {
  int64_t passed_us = engine->view.now_us - engine->start_us[job.id], work_us = engine->trace->work_us[job.id];
  if (!engine->speeds.table && !engine->network.table) return passed_us;
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  int64_t done_us = hr__work_in_us(passed_us, hr__speed_at_ppm(engine, job, &placement));
  return done_us < work_us ? done_us : work_us;
}

int64_t hr_view_done_us(const struct hr_view *view, hr_job job) {
  if (view->state[job.id] == HR_JOB_COMPLETED) return view->jobs->work_us[job.id];
  const struct hr__engine *engine = hr__engine_of(view);
  if (view->state[job.id] != HR_JOB_RUNNING) return engine->attempt ? engine->kept_us[job.id] : 0;
  if (!engine->attempt) return done_unstopped_us(engine, job);
  const struct hr__engine_attempt *attempt = &engine->attempt[job.id];
  if (attempt->begun_us != engine->attempt_us[job.id]) return engine->kept_us[job.id];
  uint32_t part;
  return progress_us(engine, job, &part);
}
