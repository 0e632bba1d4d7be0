/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Least attained service, discretised (Gu et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning",
 * NSDI'19): a job's service is the time that it has held its GPUs, times their number. Jobs stand in queues by it,
 * parted by thresholds; a lower queue comes first, in a queue what runs before what waits, then who came into the queue
 * first. A running job changes its queue at the microsecond at which its service reaches the threshold.
 *
 * With `las_promote` above 0, a job that has waited for that many times as long as it had run goes back to the first
 * queue, and its service is counted anew.
 */

#include "policies/preemption.h"
#include "policies/queue_params.h"

enum { N_THRESHOLDS = 2 };

/* A key is the queue and the moment of coming into it. */
enum { MOMENT_BITS = 59 };
#define LAST_MOMENT ((INT64_C(1) << MOMENT_BITS) - 1)

struct standing {
  int64_t entered_us; /* when it came into its queue */
  int64_t held_us;    /* time that it has held its GPUs, the present attempt not included */
  int64_t due_us;     /* running: when it reaches the next queue; waiting: when it is promoted; HR_NEVER_US */
  uint32_t queue;
};

struct las {
  int64_t threshold_us[N_THRESHOLDS]; /* GPUs x microseconds */
  double promote;
  struct standing *jobs;
  struct hr_job_tree crossings, promotions; /* by time */
};

static int64_t pack(uint32_t queue, int64_t moment_us) {
  return (int64_t)queue << MOMENT_BITS | (moment_us < LAST_MOMENT ? moment_us : LAST_MOMENT);
}

static struct las *las_of(const struct hr__queue *queue) {
  return queue->order_state;
}

static int64_t key_of(const struct hr__queue *queue, hr_job job) {
  const struct standing *standing = &las_of(queue)->jobs[job.id];
  return pack(standing->queue, standing->entered_us);
}

static enum hr_status create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  struct las *las = hr_arena_alloc(env->arena, sizeof *las);
  if (!las) return HR_NO_MEMORY;
  las->threshold_us[0] = hr__queue_param_us(env, "las_threshold_1_s");
  las->threshold_us[1] = hr__queue_param_us(env, "las_threshold_2_s");
  if (las->threshold_us[1] < las->threshold_us[0])
    return hr_fail(error, HR_BAD_INPUT, "las_threshold_2_s is less than las_threshold_1_s: thresholds go up");
  las->promote = hr__queue_param(env, "las_promote")->real;
  las->jobs = hr_arena_alloc(env->arena, ((size_t)env->jobs->n_jobs + 1) * sizeof *las->jobs);
  las->crossings.store = las->promotions.store = queue->waiting.store;
  queue->order_state = las;
  return las->jobs ? HR_OK : HR_NO_MEMORY;
}

/* ---- Running ---------------------------------------------------------------------------------------- */

/* When a job that runs since `from_us` reaches the next queue. */
static int64_t crossing_us(const struct las *las, const struct standing *standing, uint32_t gpus, int64_t from_us) {
  if (standing->queue == N_THRESHOLDS || gpus == 0) return HR_NEVER_US;
  int64_t threshold_us = las->threshold_us[standing->queue];
  int64_t whole_us = threshold_us / gpus + (threshold_us % gpus != 0);
  return from_us + (whole_us > standing->held_us ? whole_us - standing->held_us : 0);
}

static bool plan_crossing(const struct hr__queue *queue, hr_job job, int64_t from_us) {
  struct las *las = las_of(queue);
  struct standing *standing = &las->jobs[job.id];
  standing->due_us = crossing_us(las, standing, hr__gpus(queue, job), from_us);
  if (standing->due_us == HR_NEVER_US) return true;
  return hr_job_tree_insert(&las->crossings, (struct hr_job_entry){standing->due_us, job, 0});
}

/* The job reaches the next queue at the time that was planned, and perhaps the one after it at the same time. */
static bool cross(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct las *las = las_of(queue);
  struct standing *standing = &las->jobs[job.id];
  hr_job_tree_remove(&las->crossings, standing->due_us, job);
  standing->entered_us = standing->due_us;
  standing->queue++;
  return plan_crossing(queue, job, view->attempt_us[job.id]);
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  (void)placement;
  struct las *las = las_of(queue);
  struct standing *standing = &las->jobs[job.id];
  if (standing->due_us != HR_NEVER_US) hr_job_tree_remove(&las->promotions, standing->due_us, job);
  return plan_crossing(queue, job, view->now_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  struct las *las = las_of(queue);
  struct standing *standing = &las->jobs[event->job.id];
  while (standing->due_us <= view->now_us)
    if (!cross(queue, view, event->job)) return HR_NO_MEMORY;
  if (standing->due_us != HR_NEVER_US) hr_job_tree_remove(&las->crossings, standing->due_us, event->job);
  standing->held_us += view->now_us - view->attempt_us[event->job.id];
  standing->due_us = HR_NEVER_US;
  return HR_OK;
}

/* ---- Waiting ---------------------------------------------------------------------------------------- */

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct las *las = las_of(queue);
  struct standing *standing = &las->jobs[job.id];
  bool is_new = view->attempt_us[job.id] == HR_NEVER_US;
  if (is_new) *standing = (struct standing){.entered_us = view->now_us};
  standing->due_us = HR_NEVER_US;
  double patience_us = las->promote * (double)standing->held_us;
  if (is_new || las->promote <= 0 || standing->held_us == 0 || patience_us > (double)LAST_MOMENT) return HR_OK;
  standing->due_us = view->now_us + (int64_t)patience_us + 1;
  return hr_job_tree_insert(&las->promotions, (struct hr_job_entry){standing->due_us, job, 0}) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status promote(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct las *las = las_of(queue);
  struct standing *standing = &las->jobs[job.id];
  int64_t old_key = key_of(queue, job);
  hr_job_tree_remove(&las->promotions, standing->due_us, job);
  *standing = (struct standing){.entered_us = view->now_us, .due_us = HR_NEVER_US};
  return hr__queue_rekey(queue, view, job, old_key);
}

/* ---- The pass --------------------------------------------------------------------------------------- */

static enum hr_status begin_pass(struct hr__queue *queue, const struct hr_view *view) {
  struct las *las = las_of(queue);
  struct hr_job_entry due;
  enum hr_status status = HR_OK;
  while (status == HR_OK && hr_job_tree_first(&las->crossings, &due) && due.key <= view->now_us) {
    if (!cross(queue, view, due.job)) return HR_NO_MEMORY;
    status = hr__preemption_rekey(queue, view, due.job, key_of(queue, due.job));
  }
  while (status == HR_OK && hr_job_tree_first(&las->promotions, &due) && due.key <= view->now_us)
    status = promote(queue, view, due.job);
  return status;
}

/* Nobody is stopped while nobody waits: crossings are made up for later, at the times at which they were. */
static enum hr_status end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  const struct las *las = las_of(queue);
  struct hr_job_entry due;
  int64_t next_us = HR_NEVER_US;
  if (!queue->waiting.n_active) return HR_OK;
  if (queue->preemptor && hr_job_tree_first(&las->crossings, &due)) next_us = due.key;
  if (hr_job_tree_first(&las->promotions, &due) && due.key < next_us) next_us = due.key;
  return hr__queue_wake(queue, view, plan, next_us);
}

static int64_t key(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  return key_of(queue, job);
}

static int64_t running_bound(struct hr__queue *queue, const struct hr_view *view, struct hr_job_entry waiting) {
  (void)view;
  return pack(las_of(queue)->jobs[waiting.job.id].queue, LAST_MOMENT);
}

static const struct hr__listener listener = {.job_waits = job_waits, .job_starts = job_starts, .job_stops = job_stops};

const struct hr__order hr__order_las = {.key = key,
                                        .running_key = key,
                                        .running_bound = running_bound,
                                        .create = create,
                                        .listener = &listener,
                                        .begin_pass = begin_pass,
                                        .end_pass = end_pass};
