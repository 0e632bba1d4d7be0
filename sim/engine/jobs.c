/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events, and the life of jobs. */

#include "base/containers.h"
#include "headroom/unstable/faults.h"
#include "sim/engine/engine.h"
#include "sim/power/job_energy.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Events -------------------------------------------------------------------------------------------- */

/*
 * The pending events of a run, and the notification of observers and policy. When an event occurs, it is added to the
 * digest. Then the observers are notified, and last the policy.
 *
 * Pending events are in a binary heap (base/containers.h). If `place` is not NULL, the heap records the index of each
 * job's entry, so that the entry can be removed early. Floyd's variant of removal, in which the hole of the removed
 * entry first sinks to a leaf, would halve the number of comparisons. It is not used, because runs of 1,000,000 jobs on
 * 1,024 and on 100,000 GPUs were not measurably faster with it.
 */

/* ---- Heap of pending events ---- */

static inline bool precedes(const void *self, struct hr__pending a, struct hr__pending b) {
  (void)self;
  return hr__pending_before(a, b);
}

static inline void put(const void *self, struct hr__pending *entries, uint32_t at, struct hr__pending pending) {
  const struct hr__event_heap *heap = self;
  entries[at] = pending;
  if (heap->place && hr__pending_kind(pending) <= HR__PENDING_PHASE) heap->place[hr__pending_entity(pending)] = at + 1;
}

HR__HEAP_PLACED(pending_heap, struct hr__pending, precedes, put)

enum hr_status hr__event_heap_push(struct hr__event_heap *heap, struct hr__pending pending) {
  if (!HR__ARRAY_HAS_ROOM(heap->entries, heap->count, heap->capacity)) return HR_NO_MEMORY;
  pending_heap_rise(heap->entries, heap->count++, pending, heap);
  return HR_OK;
}

static void remove_at(struct hr__event_heap *heap, uint32_t at) {
  struct hr__pending removed = heap->entries[at], last = heap->entries[--heap->count];
  if (heap->place && hr__pending_kind(removed) <= HR__PENDING_PHASE) heap->place[hr__pending_entity(removed)] = 0;
  if (at < heap->count) pending_heap_refill(heap->entries, heap->count, at, last, heap);
}

struct hr__pending hr__event_heap_pop(struct hr__event_heap *heap) {
  struct hr__pending top = heap->entries[0];
  remove_at(heap, 0);
  return top;
}

void hr__event_heap_remove_job(struct hr__event_heap *heap, uint32_t job) {
  if (heap->place[job]) remove_at(heap, heap->place[job] - 1);
}

/* ---- Notification ---- */

enum { PROGRESS_EVENTS = 1 << 16 };

static uint32_t event_code(enum hr_event_kind kind) {
  static const uint8_t codes[] = {
#define EVENT_CODE(name, text, code) code,
      HR_EVENT_TABLE(EVENT_CODE)
#undef EVENT_CODE
  };
  return codes[kind];
}

static void digest_placement(struct hr__engine *engine, const struct hr_placement *placement) {
  engine->digest = hr__digest_add(engine->digest, placement->pool.id);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint64_t slice = (uint64_t)placement->slices[i].node.id << 32 | placement->slices[i].gpu_milli;
    engine->digest = hr__digest_add(engine->digest, slice);
    if (placement->slices[i].gpus) engine->digest = hr__digest_add(engine->digest, placement->slices[i].gpus);
  }
}

static uint64_t digest_node(const struct hr_event *event) {
  return (uint64_t)event->pool.id << 32 | event->node.id;
}

void hr__notify_observers(struct hr__engine *engine, const struct hr_event *event) {
  const struct hr_run_config *config = engine->config;
  const bool has_number = engine->job_number && event->job.id != HR_NONE;
  const uint32_t number = has_number ? engine->job_number[event->job.id] : event->job.id;
  engine->digest = hr__digest_add(engine->digest, (uint64_t)event->at_us);
  engine->digest = hr__digest_add(engine->digest, (uint64_t)event_code(event->kind) << 32 | number);
  if (event->kind == HR_EVENT_START) digest_placement(engine, event->placement);
  if (event->pool.id != HR_NONE) engine->digest = hr__digest_add(engine->digest, digest_node(event));
  for (uint32_t i = 0; i < config->n_observers; i++)
    if (config->observers[i].on_event) config->observers[i].on_event(config->observers[i].self, &engine->view, event);
  if (++engine->n_events % PROGRESS_EVENTS == 0 && config->progress.report)
    config->progress.report(config->progress.self, engine->n_completed + engine->n_rejected,
                            engine->n_input + engine->n_added, engine->view.now_us);
}

enum hr_status hr__notify_policy(struct hr__engine *engine, const struct hr_event *event) {
  const struct hr_policy_ops *ops = &engine->ops;
  if (!ops->observe) return HR_OK;
  hr__policy_enter(engine->call, "observe");
  enum hr_status status = ops->observe(engine->policy, &engine->view, event);
  hr__policy_leave(engine->call);
  if (status == HR_NO_MEMORY) return hr__out_of_memory(engine);
  if (status == HR_BAD_INPUT && engine->error && engine->error->status == status)
    return status; /* if the policy failed, it has written the error */
  return status == HR_OK ? HR_OK
                         : hr_fail(engine->error, HR_BAD_POLICY, "policy '%s' failed at %s of job %" PRIu32, ops->name,
                                   hr_event_name(event->kind), event->job.id);
}

/* ---- Checked mode ---- */

enum hr_status hr__broken(const struct hr__engine *engine, const char *format, ...) {
  char text[200];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return hr_fail(engine->error, HR_INTERNAL, "invariant broken at %" PRId64 " us: %s", engine->view.now_us, text);
}

/* ---- The life of a job --------------------------------------------------------------------------------- */

/*
 * The life of a job. A job is submitted, and is then waiting or rejected. A start makes it a running job. It then ends,
 * or it is interrupted or preempted and waits again. Each function below makes one of these transitions. It changes the
 * state of the job and of the cluster, calls the hooks of components, and emits the event. Starts, preemptions and
 * rejections are moves of the policy; their state was already changed when the policy made the move (moves.c).
 *
 * The second part is the component for runs in which no job can be stopped or change its speed. A job then has a single
 * pending event, its end.
 */

/* The upper limit of simulated time. Because of the limit, the sum of a time and a duration from the input cannot
   overflow. */
#define LAST_US (INT64_MAX / 2)

static void forget(struct hr__engine *engine, hr_job job) {
  if (engine->config->stream && engine->account) hr__account_free(engine, job);
  if (engine->config->stream && engine->energy) hr__job_energy_free_row(engine->energy, job);
  HR__EACH_ACTIVE(engine, forget, at)(*at)->forget(engine, job);
}

static enum hr_status leave(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            enum hr__stop stop) {
  enum hr_status status = HR_OK;
  HR__CALL_ACTIVE(engine, status, stop, job, placement, stop);
  return status;
}

static int64_t run_time_us(const struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  return hr__time_for_us(engine->trace->work_us[job.id], hr__speed_at_ppm(engine, job, placement));
}

/* Initializes the columns of a job in a streamed run. In other runs the columns of all jobs are initialized at the
   start of the run. */
static void init_columns(struct hr__engine *engine, hr_job job) {
  engine->start_us[job.id] = HR_NEVER_US;
  hr__speeds_find_row(&engine->speeds, engine->trace, job);
  if (engine->cluster.requests) hr__requests_submit(engine->cluster.requests, job);
}

enum hr_status hr__job_submit(struct hr__engine *engine, hr_job job) {
  struct hr_event event = {engine->view.now_us, HR_EVENT_SUBMIT, HR_REASON_NONE, job, NULL, {HR_NONE}, {HR_NONE}};
  engine->n_submitted++;
  engine->last_progress_us = engine->view.now_us;
  if (engine->config->stream || job.id >= engine->n_input) init_columns(engine, job);
  HR__EACH_ACTIVE(engine, submit, at)(*at)->submit(engine, job);
  hr__notify_observers(engine, &event);
  const bool fits = engine->whole && engine->whole->fitting.id == job.id;
  enum hr_reason reason = fits ? HR_REASON_NONE : hr__cluster_never_fits(&engine->cluster, job);
  if (engine->whole && engine->whole->barred.id == job.id) reason = HR_REASON_NO_QUEUE;
  if (reason == HR_REASON_NONE) {
    engine->state[job.id] = HR_JOB_WAITING;
    engine->view.n_waiting++;
    return hr__notify_policy(engine, &event);
  }
  engine->state[job.id] = HR_JOB_REJECTED;
  engine->reason[job.id] = (uint8_t)reason;
  hr__job_reject(engine, job, reason);
  return HR_OK;
}

/* Returns whether a job that a failure has stopped must not run again. */
static bool gives_up(const struct hr__engine *engine, hr_job job) {
  const struct hr_class_spec *class_ = hr__class_spec(engine, job);
  uint32_t attempts = engine->account ? hr__account(engine, job)->attempts : 0;
  return class_->no_requeue || (class_->max_requeues > 0 && attempts > class_->max_requeues);
}

void hr__job_reject(struct hr__engine *engine, hr_job job, enum hr_reason reason) {
  /* only copies of jobs and replicas of services are withdrawn */
  if (reason == HR_REASON_WITHDRAWN && job.id < engine->n_input && engine->start_us[job.id] != HR_NEVER_US &&
      gives_up(engine, job))
    engine->reason[job.id] = (uint8_t)(reason = HR_REASON_REQUEUES);
  struct hr_event event = {engine->view.now_us, HR_EVENT_REJECT, reason, job, NULL, {HR_NONE}, {HR_NONE}};
  engine->n_rejected++;
  if (engine->account && engine->account[job.id]) hr__account(engine, job)->rejected_us = engine->view.now_us;
  hr__notify_observers(engine, &event);
  forget(engine, job);
}

enum hr_status hr__job_start(struct hr__engine *engine, const struct hr__move *move) {
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, move->job, &one);
  int64_t now_us = engine->view.now_us, run_us = run_time_us(engine, move->job, &placement);
  if (now_us > LAST_US - run_us)
    return hr_fail(engine->error, HR_BAD_INPUT, "%s: simulated time exceeds 146,000 years: the run times are too long",
                   engine->trace->source);
  engine->n_backfilled += move->reason == HR_REASON_BACKFILL;
  hr__restarts_job_starts(engine, move->job, &placement);
  struct hr_event event = {now_us, HR_EVENT_START, move->reason, move->job, &placement, {HR_NONE}, {HR_NONE}};
  hr__notify_observers(engine, &event);
  enum hr_status status = HR_OK;
  HR__CALL_ACTIVE(engine, status, start, move->job, &placement, run_us);
  return status;
}

enum hr_status hr__job_end(struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  uint64_t gpu_milli = hr_placement_milli(&placement, engine->trace, job);
  hr__cluster_release(&engine->cluster, &placement, job);
  engine->view.allocated_milli -= gpu_milli;
  engine->view.n_running--;
  engine->state[job.id] = HR_JOB_COMPLETED;
  engine->n_completed++;
  engine->last_progress_us = engine->view.now_us;
  enum hr_status status = leave(engine, job, &placement, HR__STOP_END);
  if (status != HR_OK) return status;
  struct hr_event event = {engine->view.now_us, HR_EVENT_END, HR_REASON_NONE, job, &placement, {HR_NONE}, {HR_NONE}};
  status = hr__emit(engine, &event);
  hr__allocation_free(engine, job);
  forget(engine, job);
  return status;
}

enum hr_status hr__job_interrupt(struct hr__engine *engine, hr_job job, enum hr_reason reason, bool keeps) {
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  uint64_t gpu_milli = hr_placement_milli(&placement, engine->trace, job);
  hr__cluster_release(&engine->cluster, &placement, job);
  enum hr_status status = leave(engine, job, &placement, keeps ? HR__STOP_KEEP_ALL : HR__STOP_KEEP_SAVED);
  if (status != HR_OK) return status;
  engine->view.allocated_milli -= gpu_milli;
  engine->view.n_running--;
  engine->view.n_waiting++;
  engine->state[job.id] = HR_JOB_WAITING;
  engine->pool_accounting[placement.pool.id].failed_jobs += reason == HR_REASON_FAILED;
  if (engine->outage) engine->outage->jobs_stopped += reason == HR_REASON_FAILED;
  engine->pool_accounting[placement.pool.id].maintained_jobs += reason == HR_REASON_MAINTENANCE;
  if (reason != HR_REASON_PREEMPTED) engine->pool_accounting[placement.pool.id].interruptions++;
  hr__restarts_job_stops(engine, job, &placement, reason);
  struct hr_event event = {engine->view.now_us, HR_EVENT_INTERRUPT, reason, job, &placement, {HR_NONE}, {HR_NONE}};
  status = hr__emit(engine, &event);
  hr__allocation_free(engine, job);
  if (status != HR_OK || reason != HR_REASON_FAILED || !gives_up(engine, job)) return status;
  event = (struct hr_event){engine->view.now_us, HR_EVENT_WITHDRAW, HR_REASON_NONE, job, NULL, {HR_NONE}, {HR_NONE}};
  return hr__notify_policy(engine, &event);
}

enum hr_status hr__job_notice(struct hr__engine *engine, hr_job job, struct hr__job_notice notice) {
  enum hr_status status = HR_OK;
  HR__CALL_ACTIVE(engine, status, notice, job, notice);
  return status;
}

/* Closes the accounts of a preempted job. The policy may already have started the job again in the same pass, so the
   job's old placement is restored for the time of the call. */
enum hr_status hr__job_preempt(struct hr__engine *engine, const struct hr__move *move) {
  struct hr__allocation now = hr__allocation_get(engine, move->job);
  int64_t attempt_us = engine->attempt_us[move->job.id];
  struct hr_slice one;
  hr__allocation_set(engine, move->job, move->allocation);
  engine->attempt_us[move->job.id] = move->attempt_us;
  struct hr_placement placement = hr__allocation_placement(engine, move->job, &one);
  enum hr_status status = leave(engine, move->job, &placement, move->keeps ? HR__STOP_KEEP_ALL : HR__STOP_KEEP_SAVED);
  hr__restarts_job_stops(engine, move->job, &placement, move->reason);
  struct hr_event event = {engine->view.now_us, HR_EVENT_PREEMPT, move->reason, move->job,
                           &placement,          {HR_NONE},        {HR_NONE}};
  if (engine->kept_us[move->job.id] > move->kept_us) engine->last_progress_us = engine->view.now_us;
  if (engine->futile_since_us != engine->last_progress_us) engine->n_futile = 0;
  engine->futile_since_us = engine->last_progress_us;
  engine->n_futile++;
  hr__notify_observers(engine, &event);
  hr__allocation_free(engine, move->job);
  hr__allocation_set(engine, move->job, now);
  engine->attempt_us[move->job.id] = attempt_us;
  return status;
}

/* ---- Component: jobs that run to their end ---- */

static bool is_needed(const struct hr__engine *engine) {
  return !engine->attempt_slot;
}

/* The times of completion are stored only if they do not follow from the start and the work of a job. */
static enum hr_status begin(struct hr__engine *engine) {
  if (!hr__speeds_vary(&engine->speeds) && !engine->network.table && !engine->whole) return HR_OK;
  const bool is_first = !engine->whole || !engine->whole->ended_us;
  uint32_t n_jobs = engine->config->stream || !is_first ? 0 : engine->trace->n_jobs;
  engine->ended_us = HR__RESULT_COLUMN(engine, ended_us);
  if (!engine->ended_us) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < n_jobs; i++) engine->ended_us[i] = HR_NEVER_US;
  return HR_OK;
}

static void submit(struct hr__engine *engine, hr_job job) {
  if (engine->ended_us) engine->ended_us[job.id] = HR_NEVER_US;
}

static enum hr_status start(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                            int64_t run_us) {
  (void)placement;
  if (engine->whole && engine->whole->attempt_us) engine->whole->attempt_us[job.id] = engine->view.now_us;
  return hr__schedule(engine, engine->view.now_us + run_us, HR__PENDING_END, job.id);
}

static enum hr_status stop(struct hr__engine *engine, hr_job job, const struct hr_placement *placement,
                           enum hr__stop how) {
  (void)placement, (void)how; /* the job has completed */
  if (engine->ended_us) engine->ended_us[job.id] = engine->view.now_us;
  return HR_OK;
}

/* Checks that each pending end is the time at which the work of the job completes. */
static enum hr_status check(const struct hr__engine *engine, const struct hr__running *running) {
  for (uint32_t i = 0; i < engine->heap.count; i++) {
    struct hr__pending pending = engine->heap.entries[i];
    hr_job job = {hr__pending_entity(pending)};
    if (hr__pending_kind(pending) != HR__PENDING_END) continue;
    struct hr_slice one;
    struct hr_placement placement = hr__allocation_placement(engine, job, &one);
    if (engine->trace->gpus[job.id] > 0 && hr__speed_at_ppm(engine, job, &placement) == 0)
      return hr__broken(engine, "job %" PRIu32 " runs in a pool where its speed is 0", job.id);
    if (engine->start_us[job.id] + run_time_us(engine, job, &placement) != pending.at_us)
      return hr__broken(engine, "job %" PRIu32 " does not end when its work completes", job.id);
  }
  const bool every_job = running->every_job && !engine->whole; /* the columns have the jobs of all clusters */
  for (uint32_t i = 0; every_job && i < engine->trace->n_jobs; i++)
    if ((engine->state[i] == HR_JOB_RUNNING || engine->state[i] == HR_JOB_COMPLETED) !=
        (engine->start_us[i] != HR_NEVER_US))
      return hr__broken(engine, "job %" PRIu32 ": state and start differ", i);
  return HR_OK;
}

const struct hr__component hr__component_run_to_end = {
    .is_needed = is_needed, .begin = begin, .submit = submit, .start = start, .stop = stop, .check = check};
