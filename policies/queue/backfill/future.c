/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Future capacity: see backfill.h. */

#include "policies/queue/backfill/backfill.h"

#include "policies/placement/gpu_capacity.h"
#include "policies/queue/params.h"

#include <string.h>

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

/* ---- Bounds --------------------------------------------------------------------------------------- */

/* Jobs with a limit of at least length_us cannot start before start_us. */
struct start_bound {
  int64_t length_us, start_us;
};

/* Number of classes of limits: four for each power of 2. */
enum { LENGTH_CLASSES = 4 * 64 };

/* Lower bounds for the start times of a shape's jobs in the current plan, by class of limit. Reservations only reduce
   free capacity. A job therefore cannot start before a job of the same shape that was planned before it, and whose
   limit is not longer. The start times in `of` do not decrease from one class to the next longer class. */
struct hr__start_bounds {
  uint32_t number; /* number of the plan for which the bounds are valid */
  struct start_bound of[LENGTH_CLASSES];
};

static uint32_t length_class(int64_t length_us) {
  unsigned bits = 63u - (unsigned)__builtin_clzll((unsigned long long)length_us);
  uint64_t next_two = bits >= 2 ? (uint64_t)length_us >> (bits - 2) & 3 : 0;
  return 4 * bits + (uint32_t)next_two;
}

/* Returns the shortest length of a class. */
static int64_t class_begin(uint32_t class) {
  uint32_t bits = class / 4;
  return bits >= 2 ? (int64_t)(4 + class % 4) << (bits - 2) : INT64_C(1) << bits;
}

/* Returns the bounds of a shape. Bounds of a previous plan are reset. NULL: out of memory. */
static struct hr__start_bounds *bounds_of(struct hr__future *future, const struct hr__shape *shape) {
  struct hr_arena *arena = future->queue->arena;
  while (shape->number >= future->bounds_capacity) {
    future->bounds = hr_arena_grown(arena, future->bounds, &future->bounds_capacity, sizeof(*future->bounds));
    if (!future->bounds) return NULL;
  }
  struct hr__start_bounds *bounds = future->bounds[shape->number];
  if (!bounds) bounds = future->bounds[shape->number] = hr_arena_alloc(arena, sizeof *bounds);
  if (!bounds) return NULL;
  if (bounds->number != future->n_plans) memset(bounds->of, 0, sizeof bounds->of);
  bounds->number = future->n_plans;
  return bounds;
}

/* Stores that jobs of the shape with a limit of at least `length_us` cannot start before `start_us`. */
static void learn_bound(const struct hr__future *future, struct hr__start_bounds *bounds, int64_t length_us,
                        int64_t start_us) {
  uint32_t class = length_class(length_us);
  struct start_bound bound = {length_us, start_us};
  for (uint32_t i = class; i < future->n_classes && bounds->of[i].start_us < start_us; i++, bound.length_us = 0)
    bounds->of[i] = bound;
}

/* Returns a time before which a job with the limit `length_us` cannot start in the current plan. */
static int64_t known_bound(const struct hr__start_bounds *bounds, int64_t length_us) {
  uint32_t class = length_class(length_us);
  if (length_us >= bounds->of[class].length_us) return bounds->of[class].start_us;
  return class > 0 ? bounds->of[class - 1].start_us : 0;
}

int64_t hr__future_too_long(const struct hr__future *future, const struct hr__shape *shape, int64_t until_us,
                            int64_t *bound_us) {
  *bound_us = HR_NEVER_US;
  const struct hr__start_bounds *bounds =
      shape->number < future->bounds_capacity ? future->bounds[shape->number] : NULL;
  if (!bounds || bounds->number != future->n_plans) return INT64_MAX;
  uint32_t low = 0, high = future->n_classes;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (bounds->of[middle].start_us >= until_us)
      high = middle;
    else
      low = middle + 1;
  }
  if (low == future->n_classes) return INT64_MAX;
  *bound_us = bounds->of[low].start_us;
  return bounds->of[low].length_us > 0 ? bounds->of[low].length_us : class_begin(low);
}

/* ---- Construction --------------------------------------------------------------------------------- */

static enum hr_status init_windows(struct hr__future *future) {
  struct hr__queue *queue = future->queue;
  future->windows = hr__window_plan_create(queue->arena, queue->cluster, queue->capacities);
  if (!future->windows) return HR_NO_MEMORY;
  hr__queue_add_listener(queue, &listener);
  return HR_OK;
}

static int64_t longest_limit_us(const struct hr_policy_env *env) {
  const struct hr_trace *trace = env->jobs;
  int64_t longest_us = 1;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    int64_t limit_us = hr_trace_limit_us(trace, (hr_job){i});
    if (limit_us > longest_us) longest_us = limit_us;
    hr_arena_passed_job(env->arena, (hr_job){i});
  }
  return longest_us;
}

enum hr_status hr__future_init(struct hr__future *future, struct hr__queue *queue, const struct hr_policy_env *env) {
  int64_t longest_us = longest_limit_us(env);
  *future = (struct hr__future){.queue = queue, .n_classes = length_class(longest_us) + 1};
  if (queue->by_gpu || queue->locality) return init_windows(future);
  if (!hr__locality_create_calendar(queue, env)) return HR_NO_MEMORY;
  future->profile.arena = env->arena;
  future->profile.cluster = queue->cluster;
  future->profile.placer = queue->placer;
  future->profile.calendar = queue->calendar;
  future->profile.rule = queue->rule;
  future->profile.longest_us = env->jobs->n_added ? HR__NO_LIMIT_US : longest_us;
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
  future->n_plans++;
  future->now_us = now_us;
  if (!future->windows) return hr__cluster_profile_begin(&future->profile, now_us);
  hr__window_plan_begin(future->windows, now_us);
  return HR_OK;
}

void hr__future_end(struct hr__future *future) {
  if (future->windows) hr__window_plan_end(future->windows);
}

void hr__future_advance(struct hr__future *future, int64_t now_us) {
  future->now_us = now_us;
}

static enum hr_status find_earliest(struct hr__future *future, const struct hr__future_demand *demand, int64_t from_us,
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

/* Returns whether a job cannot start before an earlier job in order that has an equal need and is not longer. */
static bool is_monotone(const struct hr__future *future, const struct hr_need *need) {
  return !future->windows || hr_capacity_is_monotone(future->queue->capacities, need);
}

enum hr_status hr__future_earliest(struct hr__future *future, const struct hr__future_demand *demand, int64_t *start_us,
                                   struct hr_placement *placement) {
  struct hr__start_bounds *bounds = bounds_of(future, demand->shape);
  if (!bounds) return HR_NO_MEMORY;
  if (!is_monotone(future, &demand->need)) return find_earliest(future, demand, future->now_us, start_us, placement);
  int64_t from_us = known_bound(bounds, demand->length_us);
  if (from_us < future->now_us) from_us = future->now_us;
  *start_us = from_us;
  if (from_us == HR_NEVER_US) return HR_OK;
  enum hr_status status = find_earliest(future, demand, from_us, start_us, placement);
  if (status == HR_OK) learn_bound(future, bounds, demand->length_us, *start_us);
  return status;
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

/* The future is not regular in two cases. With MIG, the layout of a GPU depends on the reservations before a window.
   The rule `random` depends on the number of searches. */
bool hr__future_is_regular(const struct hr__future *future, const struct hr_policy_env *env) {
  const struct hr_cluster_spec *cluster = hr_cluster_spec_of(env->cluster);
  const struct hr_requests *requests = hr_cluster_requests(env->cluster);
  if (!future->queue->by_gpu) return true;
  if (!strcmp(hr__placement_names[hr__queue_param(env, "placement")->integer], "random")) return false;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].mig) return false;
  for (uint32_t i = 0; i < requests->count; i++) {
    const struct hr_need need = {.request = i};
    if (!hr_capacity_is_monotone(future->queue->capacities, &need)) return false;
  }
  return true;
}
