/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The expected ends of what runs. A job that was never stopped ends a limit after its start; where jobs may be stopped,
   the end that was expected is kept, since what it follows from has changed when it is asked for again. */

#include "policies/expectations.h"
#include "policies/dispatch.h"

int64_t hr__expected_end_us(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  int64_t left_us = hr_trace_limit_us(queue->trace, job);
  if (!view->kept_us) return view->attempt_us[job.id] + left_us;
  left_us -= view->kept_us[job.id];
  return view->attempt_us[job.id] + (left_us > 0 ? left_us : 0);
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  int64_t end_us = hr__expected_end_us(queue, view, job);
  if (queue->expected_us) queue->expected_us[job.id] = end_us;
  return hr_releases_add(queue->releases, job, hr__gpus(queue, job), placement, end_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_leaves(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  int64_t end_us = queue->expected_us ? queue->expected_us[job.id] : hr__expected_end_us(queue, view, job);
  return hr_releases_remove(queue->releases, job, hr__gpus(queue, job), placement, end_us) ? HR_OK : HR_INTERNAL;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  return job_leaves(queue, view, event->job, event->placement);
}

static enum hr_status job_moves(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                const struct hr_placement *from, const struct hr_placement *to) {
  enum hr_status status = job_leaves(queue, view, job, from);
  return status == HR_OK ? job_starts(queue, view, job, to) : status;
}

static enum hr_status node_changes(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  if (event->kind != HR_EVENT_OFFER)
    hr_releases_set_usable(queue->releases, event->pool, event->node, event->kind == HR_EVENT_NODE_UP);
  return HR_OK;
}

static const struct hr__listener listener = {
    .job_starts = job_starts, .job_stops = job_stops, .job_moves = job_moves, .node_changes = node_changes};

bool hr__expectations_create(struct hr__queue *queue) {
  uint32_t n_jobs = queue->trace->n_jobs;
  queue->releases = hr_releases_create(queue->arena, queue->cluster, queue->rule, n_jobs);
  if (!queue->releases) return false;
  if (queue->stops) queue->expected_us = hr_arena_alloc_by_job(queue->arena, n_jobs, sizeof *queue->expected_us);
  if (queue->stops && !queue->expected_us) return false;
  hr__queue_listen(queue, &listener);
  return true;
}
