/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A policy's moves. A move changes the state as it is made, so that the view always tells the truth; the list of
 * moves is what rollback undoes and what the run loop tells the folds. The first refused move ends the run: its
 * text names time, job, policy and rule.
 */

#include "sim/engine.h"

#include <inttypes.h>
#include <stdlib.h>

static enum hr_status refuse(struct hr_plan *plan, hr_job job, const char *move, const char *rule) {
  const struct hr__engine *engine = plan->engine;
  if (plan->status != HR_OK) return plan->status;
  char buffer[HR_JOB_ID_BUFFER];
  const char *id = job.id < engine->trace->n_jobs ? hr_trace_job_id(engine->trace, job, buffer) : "?";
  plan->status = hr_fail(engine->error, HR_BAD_POLICY, "policy '%s' at %" PRId64 ".%06d s, %s of job %s: %s",
                         engine->config->policy->name, engine->view.now_us / HR_SECOND_US,
                         (int)(engine->view.now_us % HR_SECOND_US), move, id, rule);
  return plan->status;
}

static enum hr_status no_memory(struct hr_plan *plan) {
  if (plan->status == HR_OK) plan->status = hr_fail(plan->engine->error, HR_NO_MEMORY, "out of memory");
  return plan->status;
}

static enum hr_status add_move(struct hr_plan *plan, struct hr__move move) {
  if (plan->n_moves == plan->capacity) {
    uint32_t capacity = plan->capacity ? 2 * plan->capacity : 256;
    struct hr__move *moves = realloc(plan->moves, capacity * sizeof *moves);
    if (!moves) return no_memory(plan);
    plan->moves = moves;
    plan->capacity = capacity;
  }
  plan->moves[plan->n_moves++] = move;
  return HR_OK;
}

static bool is_waiting(const struct hr__engine *engine, hr_job job) {
  return job.id < engine->trace->n_jobs && engine->state[job.id] == HR_JOB_WAITING;
}

static void set_state(struct hr__engine *engine, hr_job job, enum hr_job_state state, enum hr_reason reason) {
  engine->view.n_waiting += (state == HR_JOB_WAITING) - (uint32_t)(engine->state[job.id] == HR_JOB_WAITING);
  engine->view.n_running += (state == HR_JOB_RUNNING) - (uint32_t)(engine->state[job.id] == HR_JOB_RUNNING);
  engine->state[job.id] = (uint8_t)state;
  engine->reason[job.id] = (uint8_t)reason;
}

enum hr_status hr_plan_start(struct hr_plan *plan, hr_job job, const struct hr_placement *placement,
                             enum hr_reason reason) {
  struct hr__engine *engine = plan->engine;
  if (!is_waiting(engine, job)) return refuse(plan, job, "start", "the job is not waiting");
  uint64_t gpu_milli = hr__job_gpu_milli(engine->trace, job);
  const char *rule =
      hr__cluster_take(&engine->cluster, placement, gpu_milli, hr_cluster_accept_class(&engine->cluster, job));
  if (rule) return refuse(plan, job, "start", rule);
  if (hr__seat_keep(engine, job, placement) != HR_OK) {
    hr__cluster_give(&engine->cluster, placement, gpu_milli);
    return no_memory(plan);
  }
  engine->start_us[job.id] = engine->view.now_us;
  engine->view.allocated_milli += gpu_milli;
  set_state(engine, job, HR_JOB_RUNNING, reason);
  return add_move(plan, (struct hr__move){.kind = HR__MOVE_START, .reason = reason, .job = job});
}

enum hr_status hr_plan_reject(struct hr_plan *plan, hr_job job, enum hr_reason reason) {
  struct hr__engine *engine = plan->engine;
  if (!is_waiting(engine, job)) return refuse(plan, job, "rejection", "the job is not waiting");
  set_state(engine, job, HR_JOB_REJECTED, reason);
  return add_move(plan, (struct hr__move){.kind = HR__MOVE_REJECT, .reason = reason, .job = job});
}

enum hr_status hr_plan_wake_at(struct hr_plan *plan, int64_t at_us) {
  if (at_us <= plan->engine->view.now_us)
    return refuse(plan, (hr_job){HR_NONE}, "wake-up", "the time to be woken at is not in the future");
  return add_move(plan, (struct hr__move){.kind = HR__MOVE_WAKE, .job = {HR_NONE}, .at_us = at_us});
}

uint32_t hr_plan_mark(const struct hr_plan *plan) {
  return plan->n_moves;
}

static void undo_start(struct hr__engine *engine, hr_job job) {
  struct hr_slice one;
  struct hr_placement placement = hr__seat_placement(engine, job, &one);
  uint64_t gpu_milli = hr__job_gpu_milli(engine->trace, job);
  hr__cluster_give(&engine->cluster, &placement, gpu_milli);
  hr__seat_drop(engine, job);
  engine->start_us[job.id] = HR_NEVER_US;
  engine->view.allocated_milli -= gpu_milli;
}

void hr_plan_rollback(struct hr_plan *plan, uint32_t mark) {
  while (plan->n_moves > mark) {
    struct hr__move move = plan->moves[--plan->n_moves];
    if (move.kind == HR__MOVE_START) undo_start(plan->engine, move.job);
    if (move.kind != HR__MOVE_WAKE) set_state(plan->engine, move.job, HR_JOB_WAITING, HR_REASON_NONE);
  }
}

void hr__plan_clear(struct hr_plan *plan) {
  plan->n_moves = 0;
}
