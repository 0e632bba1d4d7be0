/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Crossings are planned at the start, and made up for at the times at which they were: nobody need look while they
   pass, as long as nobody waits for what they decide. */

#include "policies/service.h"

enum { MOMENT_BITS = 58 };
#define LAST_MOMENT ((INT64_C(1) << MOMENT_BITS) - 1)

int64_t hr__service_key(uint32_t rank, int64_t entered_us) {
  return (int64_t)rank << MOMENT_BITS | (entered_us < LAST_MOMENT ? entered_us : LAST_MOMENT);
}

int64_t hr__service_end_of(uint32_t rank) {
  return hr__service_key(rank, LAST_MOMENT);
}

bool hr__service_init(struct hr__service *service, struct hr__queue *queue, const int64_t *threshold_us,
                      uint32_t n_thresholds) {
  *service = (struct hr__service){
      .threshold_us = threshold_us, .n_thresholds = n_thresholds, .crossings.store = queue->waiting.store};
  service->jobs = hr_arena_alloc_by_job(queue->arena, queue->trace->n_jobs, sizeof *service->jobs);
  return service->jobs != NULL;
}

void hr__service_begin(struct hr__service *service, hr_job job, int64_t now_us) {
  service->jobs[job.id] = (struct hr__standing){.entered_us = now_us, .crossing_us = HR_NEVER_US};
}

/* When a job that runs since `from_us` reaches the next queue. */
static int64_t crossing_us(const struct hr__service *service, const struct hr__standing *standing, int64_t milli,
                           int64_t from_us) {
  if (standing->queue == service->n_thresholds || milli == 0) return HR_NEVER_US;
  int64_t threshold = service->threshold_us[standing->queue] * HR_WHOLE_GPU_MILLI; /* thousandths x microseconds */
  int64_t whole_us = threshold / milli + (threshold % milli != 0);
  return from_us + (whole_us > standing->held_us ? whole_us - standing->held_us : 0);
}

bool hr__service_start(struct hr__service *service, const struct hr__queue *queue, hr_job job, int64_t now_us) {
  struct hr__standing *standing = &service->jobs[job.id];
  standing->crossing_us = crossing_us(service, standing, (int64_t)hr__counted_milli(queue, job), now_us);
  if (standing->crossing_us == HR_NEVER_US) return true;
  return hr_job_tree_insert(&service->crossings, (struct hr_job_entry){standing->crossing_us, job, 0});
}

/* Perhaps the one after it is reached at the same time. */
static bool cross(struct hr__service *service, const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr__standing *standing = &service->jobs[job.id];
  hr_job_tree_remove(&service->crossings, standing->crossing_us, job);
  standing->entered_us = standing->crossing_us;
  standing->queue++;
  return hr__service_start(service, queue, job, view->attempt_us[job.id]);
}

bool hr__service_cross(struct hr__service *service, const struct hr__queue *queue, const struct hr_view *view,
                       hr_job *job) {
  struct hr_job_entry due;
  *job = (hr_job){HR_NONE};
  if (!hr_job_tree_first(&service->crossings, &due) || due.key > view->now_us) return true;
  *job = due.job;
  return cross(service, queue, view, due.job);
}

bool hr__service_stop(struct hr__service *service, const struct hr__queue *queue, const struct hr_view *view,
                      hr_job job) {
  struct hr__standing *standing = &service->jobs[job.id];
  while (standing->crossing_us <= view->now_us)
    if (!cross(service, queue, view, job)) return false;
  if (standing->crossing_us != HR_NEVER_US) hr_job_tree_remove(&service->crossings, standing->crossing_us, job);
  standing->held_us += view->now_us - view->attempt_us[job.id];
  standing->crossing_us = HR_NEVER_US;
  return true;
}

int64_t hr__service_next_us(const struct hr__service *service) {
  struct hr_job_entry next;
  return hr_job_tree_first(&service->crossings, &next) ? next.key : HR_NEVER_US;
}
