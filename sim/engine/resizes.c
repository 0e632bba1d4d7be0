/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Elastic jobs: jobs that start with fewer or more GPUs than they request, and running jobs with a changing number of
 * GPUs. This component is active if the policy resizes jobs and the trace has elastic jobs. Other runs do not allocate
 * its columns.
 *
 * A job with n GPUs works at the rate s(n) / s(gpus), where s is its table of scaling (scenario key `scaling`); without
 * a table, n / gpus. The rate is stored as numerator and denominator, and the denominator depends only on the job. An
 * incomplete microsecond of work is therefore carried over exactly at a resize, and the work of a job is conserved.
 *
 * A resize is the end of one segment of a job and the begin of the next at the same instant. Components see it as
 * `stop` and `start`, observers as HR_EVENT_PREEMPT and HR_EVENT_START with the reason HR_REASON_RESIZED. Code that
 * accounts for placements therefore needs no special case for resizes.
 */

#include "sim/engine/engine.h"

#include <string.h>

/* ---- Rates ---- */

/* Returns how many GPUs a job has at a placement of this size. */
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

int64_t hr__job_longest_us(const struct hr__engine *engine, hr_job job, int64_t time_us) {
  if (!engine->resized || engine->trace->gpus[job.id] == 0) return time_us;
  struct hr_sizes sizes = hr_cluster_sizes(&engine->cluster, job);
  uint64_t least_milli = hr_cluster_asked_milli(&engine->cluster, job) * sizes.min / engine->trace->gpus[job.id];
  return hr__time_left_us(time_us, 0, hr__job_rate(engine, job, least_milli, HR__FULL_SPEED_PPM));
}

/* ---- Resizes ---- */

/* Ends the segment of a job at its stored placement, and then stores the placement `next`. */
static enum hr_status end_segment(struct hr__engine *engine, hr_job job, struct hr__allocation next,
                                  enum hr__stop how) {
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  enum hr_status status = HR_OK;
  HR__CALL_ACTIVE(engine, status, stop, job, &placement, how);
  if (status != HR_OK) return status;
  struct hr_event event = {engine->view.now_us, HR_EVENT_PREEMPT, HR_REASON_RESIZED, job,
                           &placement,          {HR_NONE},        {HR_NONE}};
  hr__notify_observers(engine, &event);
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
  struct hr_slice one;
  struct hr_placement placement = hr__allocation_placement(engine, job, &one);
  struct hr_event event = {engine->view.now_us, HR_EVENT_START, HR_REASON_RESIZED, job,
                           &placement,          {HR_NONE},      {HR_NONE}};
  enum hr_status status = HR_OK;
  hr__notify_observers(engine, &event);
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

/* ---- Nodes that go down ---- */

/* Writes the slices of a job on nodes that are up and have not failed. Reduces or drops the last of them, until the
   number of GPUs is a multiple of the step between two sizes of the job. Returns the number of slices; 0: fewer GPUs
   than the job's minimum remain, so it cannot shrink. */
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
  struct hr_slice one, *slices;
  struct hr_placement before = hr__allocation_placement(engine, job, &one), after = before;
  *shrinks = false;
  if (before.n_slices < 2) return HR_OK;
  if (before.n_slices > engine->shrink_capacity) {
    slices = realloc(engine->shrink_slices, 2 * (size_t)before.n_slices * sizeof *slices);
    if (!slices) return hr__out_of_memory(engine);
    engine->shrink_slices = slices;
    engine->shrink_capacity = before.n_slices;
  }
  slices = engine->shrink_slices + before.n_slices;
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
  struct hr_event event = {engine->view.now_us, HR_EVENT_RESIZE, HR_REASON_FAILED, job, &before, {HR_NONE}, {HR_NONE}};
  return status == HR_OK ? hr__notify_policy(engine, &event) : status;
}

uint32_t hr_result_resizes(const struct hr_result *result, hr_job job, hr_amount *held) {
  if (held) *held = result->resized ? result->resized[job.id].held_milli_us : 0;
  return result->resized ? result->resized[job.id].count : 0;
}

/* ---- Component ---- */

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

/* Clusters of one run share the columns. So if one of them resizes jobs, the others fill them, too. */
static bool is_needed(const struct hr__engine *engine) {
  const uint32_t abilities = engine->abilities | (engine->whole ? engine->whole->abilities : 0);
  return abilities & HR_POLICY_RESIZES && is_elastic(engine);
}

static enum hr_status begin(struct hr__engine *engine) {
  engine->resized = HR__RESULT_COLUMN(engine, resized);
  if (!engine->gpu_milli) engine->gpu_milli = HR__RESULT_COLUMN(engine, gpu_milli);
  if (!engine->resized || !engine->gpu_milli) return hr__out_of_memory(engine);
  engine->cluster.resizes = true;
  if (engine->whole) engine->whole->cluster.resizes = true;
  return HR_OK;
}

static void close(struct hr__engine *engine) {
  free(engine->shrink_slices);
}

/* Checks that each running job has a size within its bounds. */
static enum hr_status check(const struct hr__engine *engine, const struct hr__running *running) {
  for (uint32_t i = 0; i < running->count; i++) {
    hr_job job = running->jobs[i];
    struct hr_slice one;
    struct hr_placement placement = hr__allocation_placement(engine, job, &one);
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

const struct hr__component hr__component_resizes = {
    .disturbs_jobs = true, .is_needed = is_needed, .begin = begin, .close = close, .check = check};
