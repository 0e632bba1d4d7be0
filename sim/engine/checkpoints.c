/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The accounts of jobs that can be stopped, and the checkpoints of these jobs: when a job writes a checkpoint, how long
 * the write takes, and to which storage. Settings come from the job's class, or from the trace if the trace has a value
 * for the job.
 *
 * Each pool can have one shared storage. Checkpoints that are written at the same time share the bandwidth equally.
 * Service is the amount of data that a writer has written. All writers receive the same service in the same time, so
 * one clock per storage is sufficient. The clock increases by the service that each of the present writers receives.
 * The mark of a writer is the value of the clock when the writer began, plus the size of its checkpoint. The writer is
 * done when the clock reaches the mark. Service is an integer, because integers have the same results on all machines.
 * One MiB is 1000000 * 2^10 units. A unit is so small that the division by the number of writers causes almost no
 * rounding error.
 *
 * A job with very many checkpoints writes them in series, if all of them take the same time. The checkpoints of a
 * series emit no events and have no entries in the event heap. At each instant, the engine computes the state of all
 * jobs with a series. The first checkpoint after a series has an entry and emits an event.
 */

#include "base/containers.h"
#include "base/text.h"
#include "headroom/unstable/faults.h"
#include "sim/data/data.h"
#include "sim/engine/accounts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the GPU time of an attempt in this time, in milli-GPUs * microseconds. */
static inline hr_amount attempt_gpu_time(const struct hr__engine_attempt *attempt, int64_t time_us) {
  return (hr_amount)attempt->gpu_milli * time_us;
}

/* ---- Slots and accounts ----------------------------------------------------------------------------- */

/*
 * A slot contains the present attempt of a running job. An account contains the times of all attempts of a job. Only
 * disturbed jobs have an account (struct hr__accounts). Slots and accounts are elements of two arrays. Each array has a
 * linked list of unused elements, which are used again.
 *
 * The sum of the times in an account is the time for which the job held its GPUs. The same is true for GPU times. At
 * the end of each phase, the time of the phase is added to one member. hr__account_check checks the sums.
 */

/* ---- Slots and accounts: work and phases ------------------------------------------------------------ */

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

/* Returns how long a job has worked in its present phase, without the time for which it waited for data. */
static int64_t worked_us(const struct hr__engine *engine, hr_job job) {
  if (hr__attempt_reads(engine, job)) return hr__data_worked_us(engine, job);
  return engine->view.now_us - hr__attempt(engine, job)->phase_us;
}

/* Returns the work completed so far. `*part` is set to the completed fraction of the next microsecond of work. The end
   of a phase is rounded up to a whole microsecond. In the added fraction of a microsecond, a fast job could seem to do
   more work than it has. The result is therefore limited to the job's total work. */
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

/* Ends the work phase of a job that reads data. `from_us`: the completed work at the start of the phase. Returns
   the time for which the job waited for data. This time does not count as work. */
static int64_t pause(struct hr__engine *engine, hr_job job, int64_t from_us) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  struct hr_job_accounting *accounting = hr__account_open(engine, job);
  const int64_t waited_us = engine->view.now_us - attempt->phase_us - hr__data_worked_us(engine, job);
  accounting->data_us += waited_us;
  accounting->milli_us.data += attempt_gpu_time(attempt, waited_us);
  hr__data_pause(engine, job, from_us, attempt->progress_us);
  return waited_us;
}

/* Adds the GPU time that a job lost because of a slow node to the account of the pool. `time_us`: how long the job has
   worked. */
static void account_slow(struct hr__engine *engine, hr_job job, const struct hr__engine_attempt *attempt,
                         int64_t time_us) {
  if (attempt->slow_ppm == 0 || attempt->slow_ppm == HR__FULL_SPEED_PPM) return;
  hr_amount lost = attempt_gpu_time(attempt, time_us) * (HR__FULL_SPEED_PPM - attempt->slow_ppm);
  engine->pool_accounting[hr__attempt_pool(engine, job).id].slow_lost += lost;
}

/* Adds the time of a phase in which the job does not work to its account. */
static void add_other_phase(struct hr__engine *engine, hr_job job, const struct hr__engine_attempt *attempt,
                            int64_t passed_us) {
  struct hr_job_accounting *accounting = hr__account_open(engine, job);
  if (attempt->phase == HR__PHASE_RESTARTING || attempt->phase == HR__PHASE_BACKING_OFF) {
    accounting->restarting_us += passed_us;
    if (accounting->resumes && attempt->phase == HR__PHASE_RESTARTING) accounting->resuming_us += passed_us;
    accounting->milli_us.restarting += attempt_gpu_time(attempt, passed_us);
    if (attempt->phase == HR__PHASE_BACKING_OFF)
      engine->pool_accounting[hr__attempt_pool(engine, job).id].back_off_milli_us +=
          attempt_gpu_time(attempt, passed_us);
  } else if (attempt->phase == HR__PHASE_HANGING) {
    accounting->hanging_us += passed_us;
    accounting->milli_us.hanging += attempt_gpu_time(attempt, passed_us);
  } else {
    accounting->saving_us += passed_us;
    accounting->milli_us.saving += attempt_gpu_time(attempt, passed_us);
  }
}

void hr__account_passed(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  int64_t passed_us = engine->view.now_us - attempt->phase_us, from_us = attempt->progress_us;
  attempt->progress_us = hr__attempt_progress_us(engine, job, &attempt->part);
  if (attempt->phase == HR__PHASE_WORKING) {
    if (hr__attempt_reads(engine, job)) passed_us -= pause(engine, job, from_us);
    attempt->unkept_us += passed_us;
    attempt->unkept_milli_us += attempt_gpu_time(attempt, passed_us);
    account_slow(engine, job, attempt, passed_us);
  } else {
    add_other_phase(engine, job, attempt, passed_us);
  }
  attempt->phase_us = engine->view.now_us;
}

/* ---- Slots and accounts: slots of attempts ---------------------------------------------------------- */

/* Creates slot 0. */
bool hr__attempts_make(struct hr__engine *engine) {
  if (!HR__ARRAY_HAS_ROOM(engine->attempts, engine->n_attempts, engine->attempts_capacity)) return false;
  engine->attempts[engine->n_attempts++] = (struct hr__engine_attempt){.begun_us = HR_NEVER_US};
  return true;
}

/* Assigns an unused slot to a job that starts. Has no effect if the job already has a slot, because it was resized. */
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

/* ---- Slots and accounts: accounts ------------------------------------------------------------------- */

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

/* Must be called when an attempt begins. If the job has no account, room for an account is reserved. */
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

/* Returns the account of a running job. If the job has no account, the job is in its first attempt, and an account is
   added. */
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

/* Completes the account of a job that ends. If all values of the account follow from the start and the end of the job,
   the account is freed. */
void hr__account_close(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  struct hr_job_accounting *account = hr__account(engine, job);
  int64_t held_us = engine->view.now_us - engine->start_us[job.id];
  account->end_us = engine->ended_us[job.id] = engine->view.now_us;
  uint64_t milli = hr__job_milli(engine, job);
  bool is_plain = account->attempts == 1 && account->oom_kills == 0 && account->saved_us == HR_NEVER_US &&
                  account->kept_us == held_us && account->held_us == held_us &&
                  milli == hr_placement_milli(placement, engine->trace, job) &&
                  account->milli_us.kept == (hr_amount)milli * held_us;
  if (is_plain) hr__account_free(engine, job);
}

/* Completes a job that was not disturbed, and returns true. Such a job ran once and only worked. If the job needs an
   account, changes nothing and returns false. */
bool hr__account_end_undisturbed(struct hr__engine *engine, hr_job job) {
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (engine->account[job.id] || attempt->phase != HR__PHASE_WORKING || engine->resized || engine->clean) return false;
  uint64_t part, milli = hr__job_milli(engine, job);
  if (milli != attempt->gpu_milli || hr__attempt_reads(engine, job)) return false;
  account_slow(engine, job, attempt, engine->view.now_us - attempt->phase_us);
  engine->kept_us[job.id] = hr__attempt_progress_us(engine, job, &part);
  engine->ended_us[job.id] = engine->view.now_us;
  engine->accounts->reserved--;
  return true;
}

/* Returns the values of the account of a job without an account. Such a job was never disturbed, or has not started.
   `end_us`: HR_NEVER_US if the job has not ended. `milli`: the milli-GPUs of the job. */
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
  uint64_t milli = hr__job_milli(engine, job);
  const bool is_started = end_us != HR_NEVER_US || hr__has_attempts(engine, job);
  return plain_account(is_started, engine->start_us[job.id], end_us, milli);
}

struct hr_job_accounting hr_result_accounting(const struct hr_result *result, hr_job job) {
  if (result->account[job.id]) return result->accounts[result->account[job.id]];
  int64_t end_us = result->ended_us[job.id], start_us = result->start_us[job.id];
  return plain_account(start_us != HR_NEVER_US, start_us, end_us, 0);
}

/* ---- Slots and accounts: end of an attempt ---------------------------------------------------------- */

/* Adds the time of the present segment of a job to the time for which the job held its GPUs. */
static void add_held(struct hr__engine *engine, hr_job job) {
  int64_t held_us = engine->view.now_us - engine->attempt_us[job.id];
  hr__account_open(engine, job)->held_us += held_us;
  if (engine->resized) engine->resized[job.id].held_milli_us += attempt_gpu_time(hr__attempt(engine, job), held_us);
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

/* Without `found`: stores the present kept work, which is the last work that is not corrupted. With `found`: records
   that the job will return to the stored work. */
enum hr_status hr__account_corrupt(struct hr__engine *engine, hr_job job, bool found) {
  struct hr__clean_work *clean = &engine->clean[job.id];
  const struct hr_job_accounting *accounting = hr__account(engine, job);
  if (found) clean->is_found = clean->is_set;
  if (found || clean->is_set) return HR_OK;
  *clean =
      (struct hr__clean_work){engine->kept_us[job.id], accounting->kept_us, accounting->milli_us.kept, true, false};
  return HR_OK;
}

/* If the corruption was detected, the kept work of a stopped job becomes the stored work. The difference is lost. */
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

/* ---- Slots and accounts: checked mode --------------------------------------------------------------- */

/* Checks that the time for which a job held its GPUs is the sum of the times in its account. This must be true while
   the job does not run. Also checks the kept work of the job. */
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

/* ---- Checkpoints ------------------------------------------------------------------------------------ */

#define SERVICE_PER_MIB (UINT64_C(1000000) << 10)

/* ---- Checkpoints: storage --------------------------------------------------------------------------- */

enum hr_status hr__storage_init(struct hr__engine *engine) {
  if (!HR__ARENA_ARRAY(&engine->arena, engine->storage, engine->cluster.n_pools)) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    engine->storage[i].mib_s = engine->cluster.pools[i].spec->storage_mib_s;
  return HR_OK;
}

void hr__storage_close(struct hr__engine *engine) {
  for (uint32_t i = 0; engine->storage && i < engine->cluster.n_pools; i++) free(engine->storage[i].writers);
}

/* Updates the clock of a storage to the present time. */
static void read_clock(struct hr__storage *storage, int64_t now_us) {
  if (storage->count)
    storage->clock += ((hr__service)storage->mib_s << 10) * (uint64_t)(now_us - storage->clock_us) / storage->count;
  storage->clock_us = now_us;
}

/* Returns how long the clock takes to increase by `service` with `count` writers. */
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

/* ---- Checkpoints: settings of the job's class, and the job's values in the trace -------------------- */

const struct hr_class_spec *hr__class_spec(const struct hr__engine *engine, hr_job job) {
  static const struct hr_class_spec nothing = {0}, replica = {.checkpoint = HR_CHECKPOINT_CONTINUOUS};
  if (job.id >= engine->n_input) return &replica; /* the work of a replica is never lost */
  const struct hr_class_spec *classes = engine->config->classes;
  const uint8_t *class_ = engine->trace->class_;
  return classes ? &classes[class_ ? class_[job.id] : HR_CLASS_UNKNOWN] : &nothing;
}

/* Returns the size of a checkpoint of the job, or 0 if it is unknown. */
static uint64_t checkpoint_mib(const struct hr__engine *engine, hr_job job) {
  uint64_t own = engine->trace->checkpoint_mib ? engine->trace->checkpoint_mib[job.id] : 0;
  return own ? own : hr__class_spec(engine, job)->checkpoint_mib;
}

/* Returns whether checkpoints of the job are written to the storage system for data at the location of the pool. Jobs
   may also read from this storage system. */
static bool writes_to_data(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  if (!engine->data || hr__class_spec(engine, job)->async || checkpoint_mib(engine, job) == 0) return false;
  return engine->cluster.pools[pool.id].spec->storage_mib_s == 0 && hr__data_storage_of(engine, pool) != HR_NONE;
}

/* Returns whether checkpoints of the job are written to the storage of the pool. This is the case if the checkpoints
   are synchronous, and the bandwidth of the storage and the size of the checkpoints are known. */
static bool writes_to_storage(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  if (hr__class_spec(engine, job)->async) return false;
  return engine->cluster.pools[pool.id].spec->storage_mib_s > 0 && checkpoint_mib(engine, job) > 0;
}

/* Returns how long a checkpoint of the job takes if no other job uses the storage. */
static int64_t alone_write_us(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  if (writes_to_data(engine, job, pool)) return hr__data_write_us(engine, job, pool, checkpoint_mib(engine, job), true);
  if (!writes_to_storage(engine, job, pool)) return hr__class_spec(engine, job)->write_us;
  double seconds = (double)checkpoint_mib(engine, job) / (double)engine->cluster.pools[pool.id].spec->storage_mib_s;
  return (int64_t)llround(seconds * (double)HR_SECOND_US);
}

/* Returns the ratio r(n_nodes) / r(1), where r(n) is the rate of interruptions of a job on n nodes. A job is
   interrupted if any of its nodes is reclaimed. */
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

/* Returns how often failures interrupt a job on `n_nodes` nodes, in interruptions per second. The function assumes that
   each group of nodes that fail together contains at most one node of the job. */
static double failures_per_s(const struct hr_pool_spec *spec, uint32_t n_nodes) {
  double per_s = 0;
  for (uint32_t i = 0; spec->faults && i < spec->faults->n_processes; i++) {
    const struct hr_fault_process *process = &spec->faults->processes[i];
    const struct hr_fault_units units = hr_fault_units_of(process, spec);
    const uint32_t n_units = n_nodes < units.count / units.per_node ? n_nodes * units.per_node : units.count;
    double factor = 1 + process->bad_share * (process->bad_factor - 1);
    per_s += factor * n_units / hr__duration_mean_s(&process->between);
  }
  return per_s;
}

/* Returns the first-order checkpoint interval of Daly ("A higher order estimate of the optimum checkpoint interval for
   restart dumps", 2006). Let d be the time for which a checkpoint stops the job. This is the time of the write or, for
   asynchronous checkpoints, the stall. Let M be the mean time between interruptions. If d < 2 M, the interval is
   sqrt(2 d M) - d. If d >= 2 M, the interval is M. If the job is never interrupted, returns HR_NEVER_US. */
static int64_t young_daly_us(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  const struct hr_pool_spec *spec = engine->cluster.pools[pool.id].spec;
  uint32_t n_nodes = engine->allocation[job.id].n_slices;
  double life_s = (double)INFINITY, failures = failures_per_s(spec, n_nodes ? n_nodes : 1);
  if (spec->market.market == HR_MARKET_SPOT) life_s = 3600 / hr_cluster_reclaims_per_h(&engine->cluster, pool);
  if (n_nodes > 1) life_s /= nodes_lost_apart(&spec->market.spot, spec->nodes, n_nodes);
  if (failures > 0) life_s = 1 / (1 / life_s + failures);
  if (!isfinite(life_s)) return HR_NEVER_US;
  const struct hr_class_spec *class_ = hr__class_spec(engine, job);
  int64_t cost_us = class_->async ? class_->stall_us : alone_write_us(engine, job, pool);
  double write_s = (double)cost_us / (double)HR_SECOND_US;
  double interval_s = write_s < 2 * life_s ? sqrt(2 * write_s * life_s) - write_s : life_s;
  if (interval_s * (double)HR_SECOND_US >= (double)HR_MAX_INPUT_US) return HR_NEVER_US;
  int64_t interval_us = (int64_t)llround(interval_s * (double)HR_SECOND_US);
  return interval_us > 0 ? interval_us : HR_SECOND_US;
}

static int64_t requested_interval_us(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  int64_t own = engine->trace->checkpoint_interval_us ? engine->trace->checkpoint_interval_us[job.id] : HR_UNKNOWN_US;
  const struct hr_class_spec *class_ = hr__class_spec(engine, job);
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

int64_t hr__checkpoint_interval_us(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  enum { MAX_WRITES = 1000000 }; /* the maximum number of writes of a job to shared storage */
  if (!engine->disturbs_jobs && engine->abilities & HR_POLICY_KEEPS_WORK) return HR_NEVER_US; /* no work can be lost */
  int64_t interval_us = requested_interval_us(engine, job, pool), work_us = engine->trace->work_us[job.id];
  if (interval_us >= work_us / MAX_WRITES) return interval_us;
  const bool is_shared = writes_to_storage(engine, job, pool) || writes_to_data(engine, job, pool);
  return is_shared ? work_us / MAX_WRITES : interval_us;
}

/* Returns how long a checkpoint of the job takes. Returns HR_UNKNOWN_US if it is written to shared storage, because the
   time then depends on other jobs. */
static int64_t write_time_us(const struct hr__engine *engine, hr_job job, hr_pool pool) {
  const bool is_shared = writes_to_storage(engine, job, pool) || writes_to_data(engine, job, pool);
  return is_shared ? HR_UNKNOWN_US : hr__class_spec(engine, job)->write_us;
}

struct hr_job_overhead hr_view_overhead(const struct hr_view *view, hr_job job, hr_pool pool) {
  const struct hr__engine *engine = hr__engine_of(view);
  if (!engine->attempt_slot) return (struct hr_job_overhead){.interval_us = HR_NEVER_US}; /* no job is ever stopped */
  const struct hr_class_spec *class_ = hr__class_spec(engine, job);
  struct hr_job_overhead overhead = {.restart_us = class_->restart_us,
                                     .interval_us = hr__checkpoint_interval_us(engine, job, pool),
                                     .write_us = alone_write_us(engine, job, pool)};
  if (class_->async && class_->stall_us < overhead.write_us) overhead.write_us = class_->stall_us;
  return overhead;
}

bool hr__checkpoint_is_continuous(const struct hr__engine *engine, hr_job job) {
  return hr__class_spec(engine, job)->checkpoint == HR_CHECKPOINT_CONTINUOUS;
}

/* ---- Checkpoints: writes ---------------------------------------------------------------------------- */

enum hr_status hr__checkpoint_write(struct hr__engine *engine, hr_job job, hr_pool pool) {
  if (writes_to_data(engine, job, pool)) return hr__data_write(engine, job, pool, checkpoint_mib(engine, job));
  if (writes_to_storage(engine, job, pool)) return begin_write(engine, pool, job, checkpoint_mib(engine, job));
  return hr__schedule(engine, engine->view.now_us + hr__class_spec(engine, job)->write_us, HR__PENDING_PHASE, job.id);
}

enum hr_status hr__checkpoint_cancel(struct hr__engine *engine, hr_job job, hr_pool pool) {
  if (writes_to_data(engine, job, pool)) return hr__data_cancel_write(engine, job);
  return writes_to_storage(engine, job, pool) ? cancel_write(engine, pool, job) : HR_OK;
}

bool hr__checkpoint_fits(const struct hr__engine *engine, hr_job job, hr_pool pool, int64_t down_us) {
  if (writes_to_data(engine, job, pool))
    return hr__data_write_us(engine, job, pool, checkpoint_mib(engine, job), false) <= down_us - engine->view.now_us;
  int64_t write_us = writes_to_storage(engine, job, pool) ? forecast_write_us(engine, pool, checkpoint_mib(engine, job))
                                                          : hr__class_spec(engine, job)->write_us;
  return write_us <= down_us - engine->view.now_us;
}

enum hr_status hr__storage_advance(struct hr__engine *engine, hr_pool pool, hr_job *done) {
  struct hr__storage *storage = &engine->storage[pool.id];
  *done = (hr_job){HR_NONE};
  if (!storage->count || storage->next_us != engine->view.now_us) return HR_OK;
  read_clock(storage, engine->view.now_us);
  *done = storage->writers[0].job;
  take_out(storage, 0);
  return schedule_first(engine, pool);
}

/* ---- Checkpoints: series ---------------------------------------------------------------------------- */

/* Let S be the number of checkpoints that an attempt has left, and p the length of a period. An attempt has series if
   S > MAX_SAVED_EVENTS. A series has at most S / MAX_SAVED_EVENTS checkpoints, so about MAX_SAVED_EVENTS checkpoints
   emit events. Observers know the progress of a job only from events. A series therefore also has at most
   SERIES_US / p + S / MAX_SERIES checkpoints. The second term limits the number of series to about MAX_SERIES. */
enum { MAX_SAVED_EVENTS = 10000, MAX_SERIES = 1000000 };
#define SERIES_US (3600 * HR_SECOND_US)

void hr__series_drop(struct hr__engine *engine, hr_job job) {
  uint32_t at = hr__attempt(engine, job)->series;
  if (at == 0) return;
  engine->series[at - 1] = engine->series[--engine->n_series];
  hr__attempt(engine, engine->series[at - 1].job)->series = at;
  hr__attempt(engine, job)->series = 0;
}

/* Adds a time of work at the present speed to the attempt of a job. */
static void add_work(struct hr__engine *engine, hr_job job, int64_t time_us) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  account_slow(engine, job, attempt, time_us);
  attempt->progress_us += hr__work_done_us(time_us, attempt->rate, &attempt->part);
  attempt->unkept_us += time_us;
  attempt->unkept_milli_us += attempt_gpu_time(attempt, time_us);
}

/* Completes `count` checkpoints of a job. The caller has added the work before these checkpoints. The last of them is
   complete at `now_us`. */
static void complete_saves(struct hr__engine *engine, const struct hr__checkpoint_series *series, int64_t count,
                           int64_t now_us) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, series->job);
  struct hr_job_accounting *accounting = hr__account_open(engine, series->job);
  int64_t period_us = series->work_us + series->write_us;
  accounting->saving_us += count * series->write_us;
  accounting->milli_us.saving += attempt_gpu_time(attempt, count * series->write_us);
  if (accounting->saved_us == HR_NEVER_US) accounting->saved_us = now_us - (count - 1) * period_us;
  int64_t progress_at_us = engine->last_progress_us > now_us ? engine->last_progress_us : now_us;
  hr__account_keep(engine, series->job);
  engine->last_progress_us = progress_at_us;
  attempt->phase = HR__PHASE_WORKING;
  attempt->phase_us = now_us;
}

/* Updates a job with a series to `now_us`. Returns whether the series continues. */
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

void hr__series_catch_up(struct hr__engine *engine, int64_t now_us) {
  for (uint32_t i = 0; i < engine->n_series;) {
    hr_job job = engine->series[i].job;
    if (continue_series(engine, &engine->series[i], now_us))
      i++;
    else
      hr__series_drop(engine, job);
  }
}

/* Ends the series of a job, and schedules the end of the job's present phase. The series must be up to date. */
enum hr_status hr__series_end(struct hr__engine *engine, hr_job job) {
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (attempt->series == 0) return HR_OK;
  struct hr__checkpoint_series series = engine->series[attempt->series - 1];
  int64_t length_us = attempt->phase == HR__PHASE_SAVING ? series.write_us : series.work_us;
  hr__series_drop(engine, job);
  hr__event_heap_remove_job(&engine->heap, job.id);
  return hr__schedule(engine, attempt->phase_us + length_us, HR__PENDING_PHASE, job.id);
}

/* Called when a job begins to work after a checkpoint or at the start of an attempt. Begins a series if the job has
   very many checkpoints left, reads no data, and its checkpoints are synchronous and always take the same time.
   `left_us`: the work that is left, in microseconds at the reference speed. `*until_us`: the time until the next
   pending event of the job; the function adds the length of the series to it. */
enum hr_status hr__series_begin(struct hr__engine *engine, hr_job job, int64_t left_us, int64_t *until_us) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  int64_t saves = left_us / attempt->interval_us, write_us;
  if (saves <= MAX_SAVED_EVENTS || hr__attempt_reads(engine, job)) return HR_OK;
  write_us = write_time_us(engine, job, hr__attempt_pool(engine, job));
  if (write_us == HR_UNKNOWN_US || hr__class_spec(engine, job)->async) return HR_OK;
  uint64_t part = attempt->part;
  int64_t max_work_us = hr__work_done_us(*until_us, attempt->rate, &part) + 1; /* the maximum work of a period */
  int64_t periods = hr__smaller(saves / MAX_SAVED_EVENTS, (left_us - 1) / max_work_us - 1);
  int64_t period_us = *until_us + write_us;
  if (period_us <= 0) return HR_OK;
  periods = hr__smaller(periods, SERIES_US / period_us + saves / MAX_SERIES);
  periods = hr__smaller(periods, HR_MAX_INPUT_US / period_us);
  if (periods <= 0) return HR_OK;
  if (!HR__ARRAY_HAS_ROOM(engine->series, engine->n_series, engine->series_capacity)) return hr__out_of_memory(engine);
  engine->series[engine->n_series++] = (struct hr__checkpoint_series){job, *until_us, write_us, periods};
  attempt->series = engine->n_series;
  *until_us += periods * period_us;
  return HR_OK;
}

/* ---- Checkpoints: names ----------------------------------------------------------------------------- */

HR__NAME_FUNCTION(hr_checkpoint_name, enum hr_checkpoint, HR_CHECKPOINT_TABLE)
