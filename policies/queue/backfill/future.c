/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Future capacity: see future.h. */

#include "policies/queue/backfill/future.h"

#include "policies/placement/window_plan.h"

/* ---- Running jobs of a window plan ---------------------------------------------------------------- */

static struct hr__window_plan *windows_of(const struct hr__queue *queue) {
  struct hr__future *future = queue->backfill_state;
  return future->windows;
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  struct hr_need need = hr__need_of(queue, job);
  int64_t end_us = hr__expected_end_us(queue, view, job);
  return hr__window_plan_add_job(windows_of(queue), job, &need, placement, end_us) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  (void)view;
  hr__window_plan_remove_job(windows_of(queue), event->job, event->placement);
  return HR_OK;
}

static enum hr_status job_moves(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                const struct hr_placement *from, const struct hr_placement *to) {
  hr__window_plan_remove_job(windows_of(queue), job, from);
  return job_starts(queue, view, job, to);
}

static const struct hr__listener listener = {.job_starts = job_starts, .job_stops = job_stops, .job_moves = job_moves};

/* ---- Construction --------------------------------------------------------------------------------- */

static enum hr_status init_windows(struct hr__future *future) {
  struct hr__queue *queue = future->queue;
  future->windows = hr__window_plan_create(queue->arena, queue->cluster, queue->capacities);
  if (!future->windows) return HR_NO_MEMORY;
  hr__queue_add_listener(queue, &listener);
  return HR_OK;
}

enum hr_status hr__future_init(struct hr__future *future, struct hr__queue *queue, const struct hr_policy_env *env) {
  *future = (struct hr__future){.queue = queue};
  if (queue->by_gpu || queue->locality) return init_windows(future);
  if (!hr__locality_create_calendar(queue, env)) return HR_NO_MEMORY;
  future->profile.arena = env->arena;
  future->profile.cluster = queue->cluster;
  future->profile.placer = queue->placer;
  future->profile.calendar = queue->calendar;
  future->profile.rule = queue->rule;
  return hr__cluster_profile_init(&future->profile);
}

/* ---- Plans ---------------------------------------------------------------------------------------- */

static struct hr__profile_demand profile_demand(const struct hr__future_demand *demand) {
  return (struct hr__profile_demand){demand->need.gpus, demand->need.accept_class, demand->length_us};
}

static struct hr__window_demand window_demand(const struct hr__future_demand *demand) {
  return (struct hr__window_demand){demand->need, demand->length_us, demand->shape->number};
}

enum hr_status hr__future_begin(struct hr__future *future, int64_t now_us) {
  if (!future->windows) return hr__cluster_profile_begin(&future->profile, now_us);
  hr__window_plan_begin(future->windows, now_us);
  return HR_OK;
}

void hr__future_end(struct hr__future *future) {
  if (future->windows) hr__window_plan_end(future->windows);
}

enum hr_status hr__future_earliest(struct hr__future *future, const struct hr__future_demand *demand, int64_t from_us,
                                   int64_t *start_us, struct hr_placement *placement) {
  if (future->windows) {
    const struct hr__window_demand of_windows = window_demand(demand);
    *start_us = hr__window_plan_earliest(future->windows, &of_windows, from_us, placement);
    return hr__window_plan_failed(future->windows) ? HR_NO_MEMORY : HR_OK;
  }
  const struct hr__profile_demand of_profile = profile_demand(demand);
  *start_us = hr__cluster_profile_earliest(&future->profile, &of_profile, from_us);
  if (*start_us == HR_NEVER_US) return HR_OK;
  return hr__cluster_profile_place(&future->profile, &of_profile, *start_us, placement) ? HR_OK : HR_INTERNAL;
}

uint32_t hr__future_count_equal(const struct hr__future *future, const struct hr__future_demand *demand,
                                const struct hr_placement *placement, uint32_t maximum) {
  const struct hr__profile_demand of_profile = profile_demand(demand);
  return future->windows ? 1 : hr__cluster_profile_count_equal(&future->profile, &of_profile, placement, maximum);
}

bool hr__future_reserve(struct hr__future *future, const struct hr__future_demand *demand, uint32_t n, int64_t start_us,
                        const struct hr_placement *placement) {
  const struct hr__profile_demand of_profile = profile_demand(demand);
  const struct hr__window_demand of_windows = window_demand(demand);
  if (!future->windows) return hr__cluster_profile_take(&future->profile, &of_profile, n, start_us, placement);
  for (uint32_t i = 0; i < n; i++)
    if (!hr__window_plan_reserve(future->windows, &of_windows, start_us, placement)) return false;
  return true;
}

int64_t hr__future_longest(struct hr__future *future, const struct hr_need *need) {
  return future->windows ? hr__window_plan_longest(future->windows, need)
                         : hr__cluster_profile_window(&future->profile, need->gpus, need->accept_class);
}

bool hr__future_is_monotone(const struct hr__future *future, const struct hr_need *need) {
  return !future->windows || hr_capacity_is_monotone(future->queue->capacities, need);
}
