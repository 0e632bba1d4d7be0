/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attempts of jobs, in runs where a job can be stopped before its end. An attempt consists of phases. A job first
 * restarts, except in its first attempt. It may also wait for a MIG reconfiguration, which counts as part of the
 * restart. Then it works and, from time to time, writes a checkpoint. While it writes a synchronous checkpoint, it does
 * not work. An asynchronous checkpoint stalls it only for a short time. After a notice, a job may write a checkpoint
 * and then leave its nodes. If the GPUs of a job have too little free memory, the job is killed before it restarts or
 * works, and tries again later.
 *
 * The event heap has one entry for each running job: the end of its phase or of its work. There are three exceptions:
 * - Jobs that write to the shared storage of a pool have no entry. The write that completes first has one.
 * - Jobs with a flow of data (sim/data/data.h) have no entry. The flow that ends first has one.
 * - Jobs with a series of checkpoints (checkpoints.c) have an entry only for the end of the work after the series.
 *
 * When a job is stopped, the work before its last checkpoint is kept. Later work is lost, unless the class has
 * continuous checkpoints or the move of the policy keeps all work. If a detected failure has corrupted the results of
 * the job, the work since the last checkpoint before the corruption is lost. At the end of each phase, the time of the
 * phase is added to the account of the job (checkpoints.c).
 *
 * Elastic jobs can also be resized: they continue at once with another number of GPUs.
 */

#include "base/containers.h"
#include "sim/data/data.h"
#include "sim/engine/accounts.h"
#include "sim/engine/engine.h"

#include <inttypes.h>
#include <string.h>

/* Claims GPU memory if the run has claims. Returns false if the GPUs have too little free memory. */
static inline bool claims_take(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  return !engine->claims.of_gpu || hr__claims_take_memory(engine, job, placement);
}

/* ---- Elastic jobs ----------------------------------------------------------------------------------- */

/*
 * An elastic job can start with fewer or more GPUs than it requests, and its number of GPUs can change while it runs.
 * This component is active if the policy resizes jobs and the trace has elastic jobs. Other runs do not allocate its
 * columns.
 *
 * Let g be the number of GPUs that a job requests. With n GPUs, the job works at the rate s(n) / s(g), where s is the
 * scaling table of its model (scenario key `scaling`). Without a table, the rate is n / g. The rate is stored as
 * numerator and denominator. The denominator depends only on the job. An incomplete microsecond of work therefore
 * remains exact at a resize, and the job does neither more nor less work than without the resize.
 *
 * A resize ends one segment of a job and begins the next segment at the same instant. It calls the hooks `stop` and
 * `start` of the components. It notifies the observers of HR_EVENT_PREEMPT and HR_EVENT_START with the reason
 * HR_REASON_RESIZED. Code that accounts for placements therefore needs no special case for resizes.
 */

/* ---- Elastic jobs: rates ---------------------------------------------------------------------------- */

/* Returns how many of its GPUs a job has at a placement with `gpu_milli` milli-GPUs. */
static uint32_t gpus_at(const struct hr__engine *engine, hr_job job, uint64_t gpu_milli) {
  uint64_t asked_milli = hr_cluster_asked_milli(&engine->cluster, job), gpus = engine->trace->gpus[job.id];
  return asked_milli ? (uint32_t)(gpu_milli * gpus / asked_milli) : (uint32_t)gpus;
}

struct hr__rate hr__job_rate(const struct hr__engine *engine, hr_job job, uint64_t gpu_milli, uint32_t ppm) {
  struct hr__rate rate = {ppm, 1, 1};
  if (!engine->resized) return rate;
  struct hr_sizes sizes = hr_cluster_sizes(&engine->cluster, job);
  if (sizes.min == sizes.max) return rate;
  uint32_t model = engine->trace->model ? engine->trace->model[job.id] : HR_NONE;
  const char *name = model == HR_NONE ? NULL : engine->trace->models.text[model];
  const struct hr_scaling_table *table = engine->config->scaling;
  rate.num = hr_scaling_speed(table, name, gpus_at(engine, job, gpu_milli));
  rate.den = hr_scaling_speed(table, name, engine->trace->gpus[job.id]);
  return rate;
}

/* Returns how long work takes with the minimum number of GPUs of a job. `time_us`: how long the work takes with the
   requested number. */
static int64_t job_longest_us(const struct hr__engine *engine, hr_job job, int64_t time_us) {
  if (!engine->resized || engine->trace->gpus[job.id] == 0) return time_us;
  struct hr_sizes sizes = hr_cluster_sizes(&engine->cluster, job);
  uint64_t least_milli = hr_cluster_asked_milli(&engine->cluster, job) * sizes.min / engine->trace->gpus[job.id];
  return hr__time_left_us(time_us, 0, hr__job_rate(engine, job, least_milli, HR__FULL_SPEED_PPM));
}

/* ---- Elastic jobs: resizes -------------------------------------------------------------------------- */

/* Ends the segment of a job at its stored placement, and then stores the placement `next`. `how`: HR__STOP_RESIZE or
   HR__STOP_SHRINK. */
static enum hr_status end_segment(struct hr__engine *engine, hr_job job, struct hr__allocation next,
                                  enum hr__stop how) {
  struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
  enum hr_status status = HR_OK;
  HR__CALL_ACTIVE(engine, status, stop, job, &placement, how);
  if (status != HR_OK) return status;
  hr__notify_observers(engine, HR__JOB_EVENT(engine, HR_EVENT_PREEMPT, HR_REASON_RESIZED, job, &placement));
  hr__allocation_free(engine, job);
  hr__allocation_set(engine, job, next);
  engine->attempt_us[job.id] = engine->view.now_us;
  engine->resized[job.id].count++;
  return HR_OK;
}

static bool has_failed_node(const struct hr__engine *engine, const struct hr_placement *placement) {
  for (uint32_t i = 0; i < placement->n_slices; i++)
    if (!hr__faults_repaired(engine, placement->slices[i].node)) return true;
  return false;
}

/* Begins a segment of a job at its placement. */
static enum hr_status begin_segment(struct hr__engine *engine, hr_job job) {
  struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
  enum hr_status status = HR_OK;
  hr__notify_observers(engine, HR__JOB_EVENT(engine, HR_EVENT_START, HR_REASON_RESIZED, job, &placement));
  HR__CALL_ACTIVE(engine, status, start, job, &placement, 0);
  if (!engine->faults || !has_failed_node(engine, &placement)) return status;
  HR__CALL_ACTIVE(engine, status, hang, job);
  return status;
}

enum hr_status hr__job_resize(struct hr__engine *engine, const struct hr__move *move) {
  struct hr__allocation now = hr__allocation_get(engine, move->job);
  enum hr_status status = HR_OK;
  hr__allocation_set(engine, move->job, move->allocation);
  if (move->amends) {
    hr__allocation_free(engine, move->job);
    hr__allocation_set(engine, move->job, now);
  } else {
    engine->attempt_us[move->job.id] = move->attempt_us;
    if (engine->kept_us[move->job.id] > move->kept_us) engine->last_progress_us = engine->view.now_us;
    bool hangs = hr__attempt(engine, move->job)->phase == HR__PHASE_HANGING;
    status = end_segment(engine, move->job, now, hangs ? HR__STOP_SHRINK : HR__STOP_RESIZE);
  }
  if (status != HR_OK || move->is_amended) return status;
  return move->reason == HR_REASON_RESIZED ? begin_segment(engine, move->job) : hr__job_start(engine, move);
}

/* ---- Elastic jobs: nodes that go down --------------------------------------------------------------- */

/* Writes those slices of a job to `slices` that are on nodes which are up and have not failed. Then removes GPUs from
   the last of these slices until the number of GPUs is a multiple of the step between two sizes of the job. Returns the
   number of slices. Returns 0 if fewer GPUs than the job's minimum remain; the job then cannot shrink. */
static uint32_t remaining(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                          struct hr_slice *slices) {
  struct hr_sizes sizes = hr_cluster_sizes(&engine->cluster, job);
  uint64_t step_milli = hr_cluster_asked_milli(&engine->cluster, job) * sizes.step / engine->trace->gpus[job.id];
  uint64_t sum_milli = 0;
  uint32_t count = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    hr_node node = placement->slices[i].node;
    bool is_up = hr_cluster_node_state(&engine->cluster, node) == HR_NODE_UP;
    if (!is_up || (engine->faults && !hr__faults_repaired(engine, node))) continue;
    slices[count++] = placement->slices[i];
    sum_milli += placement->slices[i].gpu_milli;
  }
  uint64_t excess_milli = sum_milli % step_milli;
  while (excess_milli > 0 && count > 0) {
    struct hr_slice *last = &slices[count - 1];
    uint32_t less_milli = excess_milli < last->gpu_milli ? (uint32_t)excess_milli : last->gpu_milli;
    last->gpu_milli -= less_milli;
    excess_milli -= less_milli;
    sum_milli -= less_milli;
    count -= last->gpu_milli == 0;
  }
  return sum_milli / step_milli * sizes.step >= sizes.min ? count : 0;
}

bool hr__job_may_shrink(const struct hr__engine *engine, hr_job job) {
  if (!engine->resized || !(engine->abilities & HR_POLICY_SHRINKS)) return false;
  struct hr_sizes sizes = hr_cluster_sizes(&engine->cluster, job);
  enum hr__phase phase = hr__attempt(engine, job)->phase;
  return sizes.min < sizes.max && phase != HR__PHASE_BACKING_OFF && phase != HR__PHASE_LEAVING;
}

enum hr_status hr__job_shrink(struct hr__engine *engine, hr_job job, bool *shrinks) {
  struct hr_placement before = HR__PLACEMENT_OF(engine, job), after = before;
  *shrinks = false;
  if (before.n_slices < 2) return HR_OK;
  if (before.n_slices > engine->shrink_capacity) {
    if (!HR__ARRAY_RESIZE(engine->shrink_slices, 2 * (size_t)before.n_slices)) return hr__out_of_memory(engine);
    engine->shrink_capacity = before.n_slices;
  }
  struct hr_slice *slices = engine->shrink_slices + before.n_slices;
  memcpy(engine->shrink_slices, before.slices, before.n_slices * sizeof *slices);
  before.slices = engine->shrink_slices; /* storing the new placement may move the stored slices */
  after.n_slices = remaining(engine, job, &before, slices);
  after.slices = slices;
  if (after.n_slices == 0) return HR_OK;
  *shrinks = true;
  uint64_t before_milli = hr_placement_milli(&before, engine->trace, job);
  struct hr__allocation old = hr__allocation_get(engine, job);
  hr__cluster_release(&engine->cluster, &before, job);
  const char *rule = hr__cluster_allocate(&engine->cluster, &after, job);
  if (rule) return hr_fail(engine->error, HR_INTERNAL, "job %" PRIu32 " cannot shrink: %s", job.id, rule);
  if (hr__allocation_store(engine, job, &after) != HR_OK) return hr__out_of_memory(engine);
  struct hr__allocation new = hr__allocation_get(engine, job);
  engine->view.allocated_milli -= before_milli - hr_placement_milli(&after, engine->trace, job);
  hr__allocation_set(engine, job, old);
  enum hr_status status = end_segment(engine, job, new, HR__STOP_SHRINK);
  if (status == HR_OK) status = begin_segment(engine, job);
  return status == HR_OK
             ? hr__notify_policy(engine, HR__JOB_EVENT(engine, HR_EVENT_RESIZE, HR_REASON_FAILED, job, &before))
             : status;
}

uint32_t hr_result_resizes(const struct hr_result *result, hr_job job, hr_amount *held) {
  if (held) *held = result->resized ? result->resized[job.id].held_milli_us : 0;
  return result->resized ? result->resized[job.id].count : 0;
}

/* ---- Elastic jobs: component ------------------------------------------------------------------------ */

static bool is_elastic(const struct hr__engine *engine) {
  const struct hr_trace *trace = engine->trace;
  if (!trace->min_gpus && !trace->max_gpus) return false;
  if (engine->config->stream) return true;
  for (uint32_t i = 0; i < engine->n_input; i++)
    if ((trace->min_gpus && trace->min_gpus[i] < trace->gpus[i]) ||
        (trace->max_gpus && trace->max_gpus[i] != HR_NONE && trace->max_gpus[i] > trace->gpus[i]))
      return true;
  return false;
}

/* The clusters of a run share the columns. If one cluster resizes jobs, all other clusters must therefore fill the
   columns, too. */
static bool resizes_are_needed(const struct hr__engine *engine) {
  const uint32_t abilities = engine->abilities | (engine->whole ? engine->whole->abilities : 0);
  return abilities & HR_POLICY_RESIZES && is_elastic(engine);
}

static enum hr_status begin_resizes(struct hr__engine *engine) {
  engine->resized = HR__RESULT_COLUMN(engine, resized);
  if (!engine->gpu_milli) engine->gpu_milli = HR__RESULT_COLUMN(engine, gpu_milli);
  if (!engine->resized || !engine->gpu_milli) return hr__out_of_memory(engine);
  engine->cluster.resizes = true;
  if (engine->whole) engine->whole->cluster.resizes = true;
  return HR_OK;
}

static void close_resizes(struct hr__engine *engine) {
  free(engine->shrink_slices);
}

/* Checks that each running job has one of its sizes, and that its stored number of GPUs is correct. */
static enum hr_status check_resizes(const struct hr__engine *engine, const struct hr__running *running) {
  for (uint32_t i = 0; i < running->count; i++) {
    hr_job job = running->jobs[i];
    struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
    struct hr_sizes sizes = hr_cluster_sizes(&engine->cluster, job);
    uint64_t gpu_milli = hr_placement_milli(&placement, engine->trace, job);
    uint32_t gpus = gpus_at(engine, job, gpu_milli);
    if (engine->gpu_milli[job.id] != gpu_milli)
      return hr__broken(engine, "job %" PRIu32 ": its GPUs differ from its placement", job.id);
    if (sizes.min < sizes.max && (gpus < sizes.min || gpus > sizes.max || gpus % sizes.step))
      return hr__broken(engine, "job %" PRIu32 " has %" PRIu32 " GPUs, which is not one of its sizes", job.id, gpus);
  }
  return HR_OK;
}

const struct hr__component hr__component_resizes = {.disturbs_jobs = true,
                                                    .is_needed = resizes_are_needed,
                                                    .begin = begin_resizes,
                                                    .close = close_resizes,
                                                    .check = check_resizes};

/* ---- Attempts --------------------------------------------------------------------------------------- */

/* The wait times before the retries are 10 s, 20 s, 40 s and so on, but at most 5 minutes. Kubernetes uses the same
   times in CrashLoopBackOff (kubernetes.io, "Pod Lifecycle", "How Pods handle problems with containers"). */
#define FIRST_BACK_OFF_US (10 * HR_SECOND_US)
#define MAX_BACK_OFF_US (300 * HR_SECOND_US)

/* Returns whether a job can write checkpoints. */
static bool can_save(const struct hr__engine *engine, hr_job job) {
  enum hr_checkpoint checkpoint = hr__class_spec(engine, job)->checkpoint;
  if (checkpoint == HR_CHECKPOINT_CONTINUOUS) return false; /* all work is always kept, so no checkpoint is needed */
  return checkpoint != HR_CHECKPOINT_NONE || hr__attempt(engine, job)->interval_us != HR_NEVER_US;
}

/* ---- Phases ----------------------------------------------------------------------------------------- */

/* Returns the asynchronous checkpoint that the job is writing; NULL: it is writing none. */
static struct hr__async_save *async_save(const struct hr__engine *engine, hr_job job) {
  return engine->async_saves && engine->async_saves[job.id].durable_us ? &engine->async_saves[job.id] : NULL;
}

/* Stores the speed of the slowest node of the job. */
static void note_slow(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  if (engine->node_speed_ppm) hr__attempt(engine, job)->slow_ppm = hr__slowest_node_ppm(engine, placement);
}

/* Schedules the next event of a working job. `until_us`: how long the job works until this event, without the time for
   which it waits for data. */
static enum hr_status schedule_work(struct hr__engine *engine, hr_job job, int64_t until_us,
                                    enum hr__pending_kind kind) {
  if (hr__attempt_reads(engine, job)) return hr__data_work(engine, job, until_us, kind);
  return hr__schedule(engine, engine->view.now_us + until_us, kind, job.id);
}

/* Schedules the next event of a job that works while an asynchronous checkpoint is being written. The event is the end
   of the checkpoint or the end of the work, whichever is earlier. */
static enum hr_status work_while_writing(struct hr__engine *engine, hr_job job, int64_t durable_us) {
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  int64_t left_us = engine->trace->work_us[job.id] - attempt->progress_us, now_us = engine->view.now_us;
  int64_t time_us = hr__time_left_us(left_us, attempt->part, attempt->rate), end_us = now_us + time_us;
  if (hr__attempt_reads(engine, job)) {
    const enum hr_status status = hr__data_work(engine, job, time_us, HR__PENDING_END);
    if (status != HR_OK) return status;
    hr__event_heap_remove_job(&engine->heap, job.id);
    if (hr__data_flows(engine, job)) end_us = INT64_MAX; /* the end of the job's flow has its own pending event */
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
    enum hr_status status = done_us == 0 ? hr__series_begin(engine, job, left_us, &until_us) : HR_OK;
    return status == HR_OK ? schedule_work(engine, job, until_us, HR__PENDING_PHASE) : status;
  }
  return schedule_work(engine, job, hr__time_left_us(left_us, attempt->part, attempt->rate), HR__PENDING_END);
}

/* Ends the present phase of a job and begins another phase. */
static void enter(struct hr__engine *engine, hr_job job, enum hr__phase phase) {
  hr__account_phase(engine, job);
  hr__attempt(engine, job)->phase = phase;
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
  enum hr_status status = hr__series_end(engine, job);
  if (status != HR_OK) return status;
  if (attempt->phase == HR__PHASE_WORKING) {
    hr__event_heap_remove_job(&engine->heap, job.id);
    enter(engine, job, HR__PHASE_WORKING);
  }
  attempt->rate.ppm = speed_ppm;
  struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
  note_slow(engine, job, &placement);
  return attempt->phase == HR__PHASE_WORKING ? work_on(engine, job) : HR_OK;
}

/* Begins an asynchronous checkpoint of the work so far. The job stops for a short time, the stall, and then continues
   to work. */
static enum hr_status save_async(struct hr__engine *engine, hr_job job) {
  const struct hr_class_spec *class_ = hr__class_spec(engine, job);
  enter(engine, job, HR__PHASE_SAVING);
  int64_t now_us = engine->view.now_us, stall_us = class_->stall_us < class_->write_us ? class_->stall_us : 0;
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  engine->async_saves[job.id] = (struct hr__async_save){now_us + class_->write_us, attempt->progress_us,
                                                        attempt->unkept_us, attempt->unkept_milli_us};
  return hr__schedule(engine, now_us + stall_us, HR__PENDING_PHASE, job.id);
}

/* If this is the first checkpoint of a job, stores the time in its account. */
static void account_saved(struct hr__engine *engine, hr_job job) {
  int64_t *saved_us = &hr__account_open(engine, job)->saved_us;
  if (*saved_us == HR_NEVER_US) *saved_us = engine->view.now_us;
}

static enum hr_status emit_saved(struct hr__engine *engine, hr_job job) {
  struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
  account_saved(engine, job);
  return hr__emit(engine, HR__JOB_EVENT(engine, HR_EVENT_SAVED, HR_REASON_NONE, job, &placement));
}

/* Completes an asynchronous checkpoint. The work that was complete when the checkpoint began is kept. The job continues
   to work. */
static enum hr_status finish_async(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  struct hr__async_save *saved = &engine->async_saves[job.id];
  enter(engine, job, HR__PHASE_WORKING);
  if (engine->kept_us[job.id] < saved->progress_us) engine->last_progress_us = engine->view.now_us;
  engine->kept_us[job.id] = saved->progress_us;
  hr__account_open(engine, job)->kept_us += saved->unkept_us;
  hr__account(engine, job)->milli_us.kept += saved->unkept_milli_us;
  attempt->unkept_us -= saved->unkept_us;
  attempt->unkept_milli_us -= saved->unkept_milli_us;
  saved->durable_us = 0;
  enum hr_status status = emit_saved(engine, job);
  return status == HR_OK ? work_on(engine, job) : status;
}

/* If the job is writing an asynchronous checkpoint, cancels the checkpoint and its stall. */
static void drop_async(struct hr__engine *engine, hr_job job) {
  struct hr__async_save *saved = async_save(engine, job);
  if (!saved) return;
  saved->durable_us = 0;
  if (hr__attempt(engine, job)->phase == HR__PHASE_SAVING) enter(engine, job, HR__PHASE_WORKING);
}

/* Begins a checkpoint. `phase`: HR__PHASE_SAVING or HR__PHASE_LEAVING. */
static enum hr_status save(struct hr__engine *engine, hr_job job, enum hr__phase phase) {
  if (phase == HR__PHASE_SAVING && engine->async_saves && hr__class_spec(engine, job)->async)
    return save_async(engine, job);
  enter(engine, job, phase);
  return hr__checkpoint_write(engine, job, hr__attempt_pool(engine, job));
}

/* Returns whether the job would complete by `down_us` if it wrote no further checkpoint. In HR__PHASE_BACKING_OFF, the
   function assumes that the next try succeeds. */
static bool ends_by(const struct hr__engine *engine, hr_job job, int64_t down_us) {
  const struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  int64_t left_us = engine->trace->work_us[job.id] - attempt->progress_us, from_us = attempt->phase_us;
  if (attempt->phase == HR__PHASE_BACKING_OFF) from_us = attempt->retry_us + attempt->restart_us;
  if (attempt->phase == HR__PHASE_RESTARTING) from_us += attempt->restart_us;
  return hr__time_left_us(left_us, attempt->part, attempt->rate) <= down_us - from_us;
}

/* Completes a checkpoint. In HR__PHASE_LEAVING, the job then leaves its nodes, unless it can complete before its node
   goes down. */
static enum hr_status finish_save(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  bool leaves = attempt->phase == HR__PHASE_LEAVING;
  enter(engine, job, HR__PHASE_WORKING);
  hr__account_keep(engine, job);
  enum hr_status status = emit_saved(engine, job);
  if (status != HR_OK) return status;
  if (leaves && !ends_by(engine, job, attempt->down_us)) return hr__job_interrupt(engine, job, HR_REASON_SAVED, false);
  if (leaves) attempt->interval_us = HR_NEVER_US;
  return work_on(engine, job);
}

/* Counts the kill of a job for lack of GPU memory and schedules its next try. */
static enum hr_status back_off(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  int64_t back_off_us = FIRST_BACK_OFF_US;
  for (uint32_t i = 0; i < attempt->kills && back_off_us < MAX_BACK_OFF_US; i++) back_off_us *= 2;
  if (back_off_us > MAX_BACK_OFF_US) back_off_us = MAX_BACK_OFF_US;
  attempt->kills++;
  attempt->retry_us = engine->view.now_us + back_off_us;
  engine->last_kill_us = engine->view.now_us;
  hr__account_open(engine, job)->oom_kills++;
  engine->pool_accounting[HR__PLACEMENT_OF(engine, job).pool.id].oom_kills++;
  return hr__schedule(engine, attempt->retry_us, HR__PENDING_PHASE, job.id);
}

/* Begins the restart or the work of a job that has its GPUs and their memory. */
static enum hr_status begin_execution(struct hr__engine *engine, hr_job job) {
  int64_t restart_us = hr__attempt(engine, job)->restart_us;
  enter(engine, job, restart_us ? HR__PHASE_RESTARTING : HR__PHASE_WORKING);
  if (restart_us) return hr__schedule(engine, engine->view.now_us + restart_us, HR__PENDING_PHASE, job.id);
  return work_on(engine, job);
}

/* Tries again to get GPU memory for a job that was killed for lack of it. */
static enum hr_status try_again(struct hr__engine *engine, hr_job job) {
  struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
  if (!claims_take(engine, job, &placement)) return back_off(engine, job);
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

/* ---- Start and end of an attempt -------------------------------------------------------------------- */

/* Copies the work of the segment before a resize to the segment after the resize. If the job was restarting, the new
   segment needs at least the restart time that was left. */
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
  if (!hr__attempt_take(engine, job)) return hr__out_of_memory(engine);
  struct hr__engine_attempt *attempt = hr__attempt(engine, job), before;
  const bool continues = attempt->resizes, is_again = engine->account[job.id] != 0;
  if (continues)
    before = *attempt;
  else if (!hr__account_begin(engine, job))
    return hr__out_of_memory(engine);
  int64_t restart_us = is_again ? hr__class_spec(engine, job)->restart_us : 0;
  restart_us += hr__reconfiguration_us(engine, placement);
  bool claimed = claims_take(engine, job, placement);
  uint64_t gpu_milli = hr_placement_milli(placement, engine->trace, job);
  *attempt = (struct hr__engine_attempt){.begun_us = engine->view.now_us,
                                         .phase_us = engine->view.now_us,
                                         .progress_us = engine->kept_us[job.id],
                                         .restart_us = restart_us,
                                         .interval_us = hr__checkpoint_interval_us(engine, job, placement->pool),
                                         .rate = {hr__speed_now_ppm(engine, job, placement), 1, 1},
                                         .gpu_milli = (uint32_t)gpu_milli,
                                         .phase = claimed ? HR__PHASE_WORKING : HR__PHASE_BACKING_OFF};
  if (engine->resized) attempt->rate = hr__job_rate(engine, job, gpu_milli, attempt->rate.ppm);
  if (continues) carry_over(attempt, &before);
  note_slow(engine, job, placement);
  if (hr__checkpoint_is_continuous(engine, job)) account_saved(engine, job);
  enum hr_status status = claimed ? begin_execution(engine, job) : back_off(engine, job);
  return status == HR_OK ? hr__sharing_update_speeds(engine, placement) : status;
}

/* Makes a job that is being resized begin its next segment with its kept work. */
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
  hr__series_drop(engine, job);
  if (how == HR__STOP_END && hr__account_end_undisturbed(engine, job)) {
    hr__event_heap_remove_job(&engine->heap, job.id);
    hr__attempt_free(engine, job);
    return HR_OK;
  }
  enum hr_status status = saves ? hr__checkpoint_cancel(engine, job, placement->pool) : HR_OK;
  bool keeps_all = how != HR__STOP_KEEP_SAVED && phase != HR__PHASE_HANGING;
  bool resizes = how == HR__STOP_RESIZE || how == HR__STOP_SHRINK;
  bool returns = engine->clean && engine->clean[job.id].is_found; /* the job returns to its last uncorrupted work */
  if (resizes && !returns)
    hr__account_segment(engine, job, how == HR__STOP_RESIZE);
  else
    hr__account_end(engine, job, keeps_all || hr__checkpoint_is_continuous(engine, job));
  if (engine->clean && (returns || !resizes)) hr__account_roll_back(engine, job);
  if (resizes && returns) begin_again(engine, job);
  if (how != HR__STOP_END) hr__account_open(engine, job)->resumes = how == HR__STOP_KEEP_ALL;
  if (how == HR__STOP_END) hr__account_close(engine, job, placement);
  hr__event_heap_remove_job(&engine->heap, job.id);
  if (!resizes) hr__attempt_free(engine, job);
  return status;
}

static void settle(struct hr__engine *engine) {
  hr__series_catch_up(engine, engine->view.now_us);
  const struct hr__column_reclaim *reclaim = &engine->reclaim;
  const uint32_t end = engine->whole ? engine->whole->cursor : engine->cursor;
  for (uint32_t i = hr__column_reclaim_skip(reclaim, 0); i < end; i = hr__column_reclaim_skip(reclaim, i + 1))
    if (engine->state[i] == HR_JOB_RUNNING && hr__engine_has(engine, (hr_job){i}))
      hr__account_end(engine, (hr_job){i}, true);
  for (uint32_t i = engine->n_input; i < engine->n_input + engine->n_added; i++)
    if (engine->state[i] == HR_JOB_RUNNING && hr__engine_has(engine, (hr_job){i}))
      hr__account_end(engine, (hr_job){i}, true);
}

/* ---- Notices ---------------------------------------------------------------------------------------- */

/* Records that a job must leave its nodes after the checkpoint that it is writing now. */
static enum hr_status leave_when_saved(struct hr__engine *engine, hr_job job, int64_t down_us) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (attempt->phase == HR__PHASE_SAVING || down_us < attempt->down_us) attempt->down_us = down_us;
  if (attempt->phase == HR__PHASE_SAVING) enter(engine, job, HR__PHASE_LEAVING);
  return HR_OK;
}

/* Handles a notice. The first of these rules that is true applies:
   - A job that cannot write checkpoints, or hangs, ignores the notice.
   - A job that is writing a synchronous checkpoint leaves its nodes after this checkpoint.
   - A job that will complete by `down_us` continues, and writes no further checkpoint.
   - A job that restarts or backs off has no new work. It is interrupted at once.
   - A job that can write a checkpoint by `down_us` writes it now, and then leaves its nodes.
   - All other jobs continue to work until they are stopped. */
static enum hr_status warn(struct hr__engine *engine, hr_job job, int64_t down_us) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (!can_save(engine, job) || attempt->phase == HR__PHASE_HANGING) return HR_OK;
  enum hr_status status = hr__series_end(engine, job);
  if (status != HR_OK) return status;
  if (async_save(engine, job)) {
    /* the checkpoint that is being written is cancelled, because a later one contains more work */
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
  if (!done_in_time && !hr__checkpoint_fits(engine, job, hr__attempt_pool(engine, job), down_us)) return HR_OK;
  hr__event_heap_remove_job(&engine->heap, job.id);
  if (!done_in_time) {
    attempt->down_us = down_us;
    return save(engine, job, HR__PHASE_LEAVING);
  }
  enter(engine, job, HR__PHASE_WORKING);
  return work_on(engine, job);
}

/* Called when a node of the job has failed. The job makes no progress until it is stopped. Its entry in the event heap
   has the time HR_NEVER_US. */
static enum hr_status hang(struct hr__engine *engine, hr_job job) {
  struct hr__engine_attempt *attempt = hr__attempt(engine, job);
  if (attempt->phase == HR__PHASE_HANGING) return HR_OK;
  enum hr_status status = hr__series_end(engine, job);
  drop_async(engine, job);
  if (status == HR_OK && (attempt->phase == HR__PHASE_SAVING || attempt->phase == HR__PHASE_LEAVING))
    status = hr__checkpoint_cancel(engine, job, hr__attempt_pool(engine, job));
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

/* Stops a job when the policy's notice to the job ends. Has no effect if the job no longer runs, or if a later notice
   has replaced this notice. The memory of a finished job may have been reclaimed; the state that is read here is then
   not HR_JOB_RUNNING. */
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

/* ---- Queries of policies ---------------------------------------------------------------------------- */

/* Returns the completed work of a running job in a run where jobs cannot be stopped. */
static int64_t done_unstopped_us(const struct hr__engine *engine, hr_job job) {
  int64_t passed_us = engine->view.now_us - engine->start_us[job.id], work_us = engine->trace->work_us[job.id];
  if (!hr__speeds_vary(&engine->speeds) && !engine->network.table) return passed_us;
  struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
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
  return hr__attempt_progress_us(engine, job, &part);
}

/* ---- Start of a run --------------------------------------------------------------------------------- */

static bool is_needed(const struct hr__engine *engine) {
  return engine->disturbs_jobs || engine->abilities & HR_POLICY_PREEMPTS;
}

/* Returns how long `work_us` of work takes at the minimum speed. */
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
      !engine->ended_us || !hr__accounts_make(engine) || !hr__attempts_make(engine))
    return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < n_jobs && !engine->config->stream; i++) {
    if (is_first) init_columns(engine, (hr_job){i});
    int64_t work_us = i < engine->n_input ? job_longest_us(engine, (hr_job){i}, engine->trace->work_us[i]) : 0;
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
  int64_t longest_us = max_run_us(engine, job_longest_us(engine, job, engine->trace->work_us[job.id]));
  if (longest_us > engine->longest_us) engine->longest_us = longest_us;
}

static void close(struct hr__engine *engine) {
  hr__storage_close(engine);
  free(engine->series);
  free(engine->attempts);
}

/* ---- Checked mode ----------------------------------------------------------------------------------- */

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

/* Checks that the stored speed of a running job is equal to the speed computed from its placement, and that this speed
   is greater than 0. */
static enum hr_status check_speed(const struct hr__engine *engine, hr_job job) {
  if (engine->trace->gpus[job.id] == 0) return HR_OK;
  struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
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
  uint32_t n_plain = 0;
  for (uint32_t i = 0; i < running->count; i++) n_plain += engine->account[running->jobs[i].id] == 0;
  if (status == HR_OK && !engine->whole && n_plain != engine->accounts->reserved)
    return hr__broken(engine, "%" PRIu32 " running jobs have no account, room is reserved for %" PRIu32, n_plain,
                      engine->accounts->reserved);
  const bool all_jobs =
      running->every_job && !engine->whole; /* the columns of the whole run have other clusters' jobs */
  for (uint32_t i = 0; all_jobs && i < engine->trace->n_jobs && status == HR_OK; i++)
    status = hr__account_check(engine, i);
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
    .corrupt = hr__account_corrupt,
    .set_speed = set_speed,
    .kinds = 1u << HR__PENDING_PHASE | 1u << HR__PENDING_STORAGE | 1u << HR__PENDING_EVICT,
    .advance = advance,
    .catch_up = hr__series_catch_up,
    .settle = settle,
    .close = close,
    .check = check,
};
