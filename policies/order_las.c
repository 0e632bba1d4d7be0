/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Least attained service, discretised (Tiresias, NSDI'19): jobs stand in three queues by their service; a lower queue
 * comes first, in a queue what runs before what waits, then who came into it first.
 *
 * With `las_promote` above 0, a job that has waited for that many times as long as it had run goes back to the first
 * queue, and its service counts anew.
 */

#include "policies/preemption.h"
#include "policies/queue_params.h"
#include "policies/service.h"

enum { N_THRESHOLDS = 2 };

/* Waits that are longer than a job could have. */
#define NEVER_WAITED 4e18

struct las {
  struct hr__service service;
  int64_t threshold_us[N_THRESHOLDS];
  double promote;
  int64_t *promotion_us;         /* by job: when it is promoted if it still waits; NULL: nobody is */
  struct hr_job_tree promotions; /* by that */
};

static enum hr_status create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  struct las *las = hr_arena_alloc(env->arena, sizeof *las);
  if (!las) return HR_NO_MEMORY;
  queue->order_state = las;
  las->threshold_us[0] = hr__queue_param_us(env, "las_threshold_1_s");
  las->threshold_us[1] = hr__queue_param_us(env, "las_threshold_2_s");
  if (las->threshold_us[1] < las->threshold_us[0])
    return hr_fail(error, HR_BAD_INPUT,
                   "parameter 'las_threshold_2_s': it is less than las_threshold_1_s; thresholds go up");
  las->promote = hr__queue_param(env, "las_promote")->real;
  las->promotions.store = queue->waiting.store;
  if (!hr__service_init(&las->service, queue, las->threshold_us, N_THRESHOLDS)) return HR_NO_MEMORY;
  if (las->promote <= 0) return HR_OK;
  las->promotion_us = hr_arena_alloc_by_job(env->arena, env->jobs->n_jobs, sizeof *las->promotion_us);
  return las->promotion_us ? HR_OK : HR_NO_MEMORY;
}

static int64_t key_of(const struct las *las, hr_job job) {
  const struct hr__standing *standing = &las->service.jobs[job.id];
  return hr__service_key(standing->queue, standing->entered_us);
}

/* ---- Promotion -------------------------------------------------------------------------------------- */

static bool plan_promotion(struct las *las, const struct hr_view *view, hr_job job) {
  double patience_us = las->promote * (double)las->service.jobs[job.id].held_us;
  las->promotion_us[job.id] = HR_NEVER_US;
  if (patience_us <= 0 || patience_us + (double)view->now_us > NEVER_WAITED) return true;
  las->promotion_us[job.id] = view->now_us + (int64_t)patience_us + 1;
  return hr_job_tree_insert(&las->promotions, (struct hr_job_entry){las->promotion_us[job.id], job, 0});
}

static void forget_promotion(struct las *las, hr_job job) {
  if (las->promotion_us && las->promotion_us[job.id] != HR_NEVER_US)
    hr_job_tree_remove(&las->promotions, las->promotion_us[job.id], job);
}

static enum hr_status promote(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct las *las = queue->order_state;
  int64_t old_key = key_of(las, job);
  forget_promotion(las, job);
  las->promotion_us[job.id] = HR_NEVER_US;
  hr__service_begin(&las->service, job, view->now_us);
  return hr__queue_rekey(queue, view, job, old_key);
}

/* ---- What happens ----------------------------------------------------------------------------------- */

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct las *las = queue->order_state;
  bool is_new = view->attempt_us[job.id] == HR_NEVER_US;
  if (is_new) hr__service_begin(&las->service, job, view->now_us);
  return !las->promotion_us || plan_promotion(las, view, job) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  (void)placement;
  struct las *las = queue->order_state;
  forget_promotion(las, job);
  return hr__service_start(&las->service, queue, job, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_rejected(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  forget_promotion(queue->order_state, job);
  return HR_OK;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  struct las *las = queue->order_state;
  return hr__service_stop(&las->service, queue, view, event->job) ? HR_OK : HR_NO_MEMORY;
}

/* ---- The pass --------------------------------------------------------------------------------------- */

static enum hr_status begin_pass(struct hr__queue *queue, const struct hr_view *view) {
  struct las *las = queue->order_state;
  struct hr_job_entry due;
  enum hr_status status = HR_OK;
  hr_job job;
  for (;;) {
    if (!hr__service_cross(&las->service, queue, view, &job)) return HR_NO_MEMORY;
    if (job.id == HR_NONE) break;
    status = hr__preemption_rekey(queue, view, job, key_of(las, job));
    if (status != HR_OK) return status;
  }
  while (status == HR_OK && hr_job_tree_first(&las->promotions, &due) && due.key <= view->now_us)
    status = promote(queue, view, due.job);
  return status;
}

static enum hr_status end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  const struct las *las = queue->order_state;
  struct hr_job_entry due;
  int64_t next_us = queue->preemptor ? hr__service_next_us(&las->service) : HR_NEVER_US;
  if (hr_job_tree_first(&las->promotions, &due) && due.key < next_us) next_us = due.key;
  return hr__waiting_any(&queue->waiting) ? hr__queue_wake(queue, view, plan, next_us) : HR_OK;
}

static int64_t key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  return key_of(queue->order_state, job);
}

static int64_t running_bound(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry waiting) {
  (void)view;
  const struct las *las = queue->order_state;
  return hr__service_end_of(las->service.jobs[waiting.job.id].queue);
}

static const struct hr__listener listener = {
    .job_waits = job_waits, .job_starts = job_starts, .job_rejected = job_rejected, .job_stops = job_stops};

const struct hr__order hr__order_las = {.key = key,
                                        .running_key = key,
                                        .running_bound = running_bound,
                                        .create = create,
                                        .listener = &listener,
                                        .begin_pass = begin_pass,
                                        .end_pass = end_pass};
