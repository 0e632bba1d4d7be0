/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Future capacity (see backfill.h), the capacity profiles that represent it in counted allocation, and the list of
 * reservations of a plan. With the placement `pool`, each pool is a bin; otherwise each node is a bin. Each bin has a
 * profile. A profile has two arrays, sorted by time: the times at which steps begin, and the free GPUs of the steps.
 */

#include "policies/queue/backfill/backfill.h"

#include "base/containers.h"
#include "headroom/unstable/faults.h"
#include "policies/placement/gpu_capacity.h"
#include "policies/queue/dispatch.h"

#include <string.h>

/* ---- Future capacity -------------------------------------------------------------------------------- */

/* ---- Future capacity: running jobs of a window plan ------------------------------------------------- */

static struct hr__window_plan *windows_of(const struct hr__queue *queue) {
  struct hr__future *future = queue->backfill_state;
  return future->windows;
}

static enum hr_status job_uses(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                               const struct hr_placement *placement, bool uses) {
  if (!uses) {
    hr__window_plan_remove_job(windows_of(queue), job, placement);
    return HR_OK;
  }
  struct hr_need need = hr__need_of(queue, job);
  int64_t end_us = hr__expected_end_us(queue, view, job);
  return hr__window_plan_add_job(windows_of(queue), job, &need, placement, end_us) ? HR_OK : HR_NO_MEMORY;
}

static const struct hr__listener listener = {.job_uses = job_uses};

/* ---- Future capacity: bounds ------------------------------------------------------------------------ */

/* A bound for the jobs of one class of limits (see LENGTH_CLASSES). Jobs of the class with a limit of at least
   length_us cannot start before start_us. length_us 0: the bound is valid for all jobs of the class. */
struct start_bound {
  int64_t length_us, start_us;
};

/* Number of classes of limits: four for each power of 2. */
enum { LENGTH_CLASSES = 4 * 64 };

/* Lower bounds for the start times of a shape's jobs in the current plan, by class of limit. Reservations only reduce
   free capacity. A job therefore cannot start before any job of the same shape that was planned before it and has the
   same or a shorter limit. The start times in `of` do not decrease from one class to the next longer class. */
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
  if (!HR__ARENA_HAS_ROOM(arena, future->bounds, shape->number, future->bounds_capacity)) return NULL;
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

/* ---- Future capacity: construction ------------------------------------------------------------------ */

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

/* ---- Future capacity: plans ------------------------------------------------------------------------- */

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

/* Returns whether the bounds apply to jobs with this need: a job cannot start before a job that was planned before it,
   has an equal need, and has the same or a shorter limit. */
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

/* The future is regular if the start and the placement of each job depend only on the capacity that is free during its
   window. It is not regular in three cases, all with per-GPU allocation. With MIG, the layout of a GPU depends on the
   reservations before a window. The rule `random` depends on the number of searches. Some gangs that are placed task by
   task may fit with less free capacity, although they do not fit with more (hr_capacity_is_monotone). */
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

/* ---- Capacity profiles ------------------------------------------------------------------------------ */

/* The free GPUs of one bin. Step i lasts from at_us[i] to at_us[i + 1]; the last step has no end. */
struct hr__profile {
  int64_t *at_us;
  uint32_t *free;
  uint32_t count, capacity;
  /* number of past steps in memory before the first step; move_down makes this memory usable again */
  uint32_t skipped;
};

/* Moves the steps to the start of the buffer, over the memory of past steps. */
static void move_down(struct hr__profile *profile) {
  uint32_t skipped = profile->skipped;
  if (skipped == 0) return;
  memmove(profile->at_us - skipped, profile->at_us, profile->count * sizeof *profile->at_us);
  memmove(profile->free - skipped, profile->free, profile->count * sizeof *profile->free);
  profile->at_us -= skipped;
  profile->free -= skipped;
  profile->capacity += skipped;
  profile->skipped = 0;
}

static bool reserve(struct hr__profile *profile, struct hr_arena *arena, uint32_t count) {
  if (count > profile->capacity && profile->skipped > profile->count) move_down(profile);
  if (count <= profile->capacity) return true;
  uint32_t capacity = 2 * profile->capacity > count ? 2 * profile->capacity : count + 6;
  int64_t *at_us = hr_arena_alloc(arena, capacity * sizeof *at_us);
  uint32_t *free = hr_arena_alloc(arena, capacity * sizeof *free);
  if (!at_us || !free) return false;
  if (profile->count) {
    memcpy(at_us, profile->at_us, profile->count * sizeof *at_us);
    memcpy(free, profile->free, profile->count * sizeof *free);
  }
  profile->at_us = at_us;
  profile->free = free;
  profile->capacity = capacity;
  profile->skipped = 0;
  return true;
}

/* Resets the profile to one step. False: out of memory. Other functions that add steps return false for the same
   reason. */
static bool profile_init(struct hr__profile *profile, struct hr_arena *arena, int64_t now_us, uint32_t free) {
  profile->count = 0;
  move_down(profile);
  if (!reserve(profile, arena, 1)) return false;
  profile->at_us[0] = now_us;
  profile->free[0] = free;
  profile->count = 1;
  return true;
}

/* Adds GPUs that become free at `at_us`. The time must not be before the begin of the last step. */
static bool profile_release(struct hr__profile *profile, struct hr_arena *arena, int64_t at_us, uint32_t gpus) {
  uint32_t last = profile->count - 1;
  if (profile->at_us[last] == at_us) {
    profile->free[last] += gpus;
    return true;
  }
  if (!reserve(profile, arena, profile->count + 1)) return false;
  profile->at_us[profile->count] = at_us;
  profile->free[profile->count++] = profile->free[last] + gpus;
  return true;
}

/* Returns the index of the step that contains a time. The time must not be before the begin of the first step. The
   binary search has no branches, because the processor could not predict them. */
static uint32_t step_at(const struct hr__profile *profile, int64_t at_us) {
  const int64_t *from_us = profile->at_us;
  for (uint32_t count = profile->count, half; count > 1; count -= half) {
    half = count / 2;
    from_us += from_us[half] <= at_us ? half : 0;
  }
  return (uint32_t)(from_us - profile->at_us);
}

/* Returns the index of the step that begins at `at_us`. Splits a step if none begins there; the buffer must have room
   for one more step. */
static uint32_t split_at(struct hr__profile *profile, int64_t at_us) {
  uint32_t step = step_at(profile, at_us);
  if (profile->at_us[step] == at_us) return step;
  uint32_t tail = profile->count - step - 1;
  memmove(profile->at_us + step + 2, profile->at_us + step + 1, tail * sizeof *profile->at_us);
  memmove(profile->free + step + 2, profile->free + step + 1, tail * sizeof *profile->free);
  profile->at_us[step + 1] = at_us;
  profile->free[step + 1] = profile->free[step];
  profile->count++;
  return step + 1;
}

/* Removes the steps that end by `now_us`, and sets the begin of the step that contains `now_us` to `now_us`. */
static void profile_advance(struct hr__profile *profile, int64_t now_us) {
  uint32_t step = step_at(profile, now_us);
  profile->at_us += step;
  profile->free += step;
  profile->count -= step;
  profile->capacity -= step;
  profile->skipped += step;
  profile->at_us[0] = now_us;
}

/* Subtracts GPUs from the steps in [from_us, to_us). The GPUs must be free in all of that time. False: out of
   memory. */
static bool profile_take(struct hr__profile *profile, struct hr_arena *arena, int64_t from_us, int64_t to_us,
                         uint32_t gpus) {
  if (!reserve(profile, arena, profile->count + 2)) return false;
  uint32_t first = split_at(profile, from_us), end = split_at(profile, to_us);
  for (uint32_t step = first; step < end; step++) profile->free[step] -= gpus;
  return true;
}

/* Sets the steps in [from_us, to_us) to 0 free GPUs. False: out of memory. */
static bool profile_close(struct hr__profile *profile, struct hr_arena *arena, int64_t from_us, int64_t to_us) {
  if (!reserve(profile, arena, profile->count + 2)) return false;
  uint32_t first = split_at(profile, from_us), end = split_at(profile, to_us);
  for (uint32_t step = first; step < end; step++) profile->free[step] = 0;
  return true;
}

/* Number of steps that one iteration of a search examines. Compilers translate such an iteration into a few vector
   instructions. */
enum { AT_A_TIME = 16 };

/* Returns the first step in [step, end) with less than `gpus` free GPUs; `end` if none exists. */
static uint32_t first_below(const uint32_t *free, uint32_t step, uint32_t end, uint32_t gpus) {
  for (; end - step >= AT_A_TIME; step += AT_A_TIME) {
    uint32_t below = 0;
    for (uint32_t i = 0; i < AT_A_TIME; i++) below |= free[step + i] < gpus;
    if (below) break;
  }
  while (step < end && free[step] >= gpus) step++;
  return step;
}

/* Returns the first step in [step, end) with at least `gpus` free GPUs; `end` if none exists. */
static uint32_t first_with(const uint32_t *free, uint32_t step, uint32_t end, uint32_t gpus) {
  for (; end - step >= AT_A_TIME; step += AT_A_TIME) {
    uint32_t with = 0;
    for (uint32_t i = 0; i < AT_A_TIME; i++) with |= free[step + i] >= gpus;
    if (with) break;
  }
  while (step < end && free[step] < gpus) step++;
  return step;
}

/* Returns the index of the first step that begins at `at_us` or later; `count` if none exists. */
static uint32_t steps_before(const struct hr__profile *profile, int64_t at_us) {
  uint32_t step = step_at(profile, at_us);
  return step + (profile->at_us[step] < at_us);
}

/* Returns the earliest time, not before `from_us`, at which a window of `length_us` can start such that `gpus` GPUs are
   free in all of it; HR_NEVER_US: none. */
static int64_t profile_earliest(const struct hr__profile *profile, int64_t from_us, int64_t length_us, uint32_t gpus) {
  uint32_t step = step_at(profile, from_us), count = profile->count;
  int64_t start_us = from_us;
  for (;;) {
    step = first_with(profile->free, step, count, gpus);
    if (step == count) return HR_NEVER_US;
    if (profile->at_us[step] > start_us) start_us = profile->at_us[step];
    uint32_t end = steps_before(profile, start_us + length_us);
    step = first_below(profile->free, step, end, gpus);
    if (step == end) return start_us;
  }
}

/* Returns the minimum number of free GPUs over a window; 0 if the minimum is below `needed`. */
static uint32_t profile_min(const struct hr__profile *profile, int64_t from_us, int64_t length_us, uint32_t needed) {
  uint32_t step = step_at(profile, from_us), end = steps_before(profile, from_us + length_us);
  uint32_t min = profile->free[step];
  while (step < end && min >= needed) {
    uint32_t stop = end - step < AT_A_TIME ? end : step + AT_A_TIME;
    for (; step < stop; step++) min = profile->free[step] < min ? profile->free[step] : min;
  }
  return min >= needed ? min : 0;
}

/* ---- Profiles of all bins --------------------------------------------------------------------------- */

/* Returns the first bin of a pool. With the placement rule `pool`, each pool is a bin; otherwise each node is a bin
   (headroom/policy_kit.h). */
static uint32_t first_bin(const struct hr__cluster_profile *cluster_profile, hr_pool pool) {
  return cluster_profile->rule == HR_PLACE_POOL ? pool.id : hr_cluster_first_node(cluster_profile->cluster, pool).id;
}

/* Returns the number of bins of a pool. */
static uint32_t pool_bins(const struct hr__cluster_profile *cluster_profile, hr_pool pool) {
  return cluster_profile->rule == HR_PLACE_POOL ? 1 : hr_cluster_pool_spec(cluster_profile->cluster, pool)->nodes;
}

enum hr_status hr__cluster_profile_init(struct hr__cluster_profile *cluster_profile) {
  struct hr_arena *arena = cluster_profile->arena;
  cluster_profile->n_pools = hr_cluster_pools(cluster_profile->cluster);
  hr_pool last = {cluster_profile->n_pools - 1};
  cluster_profile->n_bins = first_bin(cluster_profile, last) + pool_bins(cluster_profile, last);
  if (!HR__ARENA_ARRAY(arena, cluster_profile->profiles, cluster_profile->n_bins) ||
      !HR__ARENA_ARRAY(arena, cluster_profile->per_bin, cluster_profile->n_bins) ||
      !HR__ARENA_ARRAY(arena, cluster_profile->index, cluster_profile->n_pools) ||
      !HR__ARENA_ARRAY(arena, cluster_profile->free_gpus, cluster_profile->n_pools))
    return HR_NO_MEMORY;
  for (uint32_t i = 0; cluster_profile->rule != HR_PLACE_POOL && i < cluster_profile->n_pools; i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(cluster_profile->cluster, (hr_pool){i});
    cluster_profile->index[i] = hr_free_index_create(arena, spec->nodes, spec->gpus_per_node);
    if (!cluster_profile->index[i]) return HR_NO_MEMORY;
  }
  cluster_profile->capacity =
      (struct hr_free_gpus){cluster_profile->n_pools, (const struct hr_free_index *const *)cluster_profile->index,
                            cluster_profile->free_gpus};
  return HR_OK;
}

struct filling {
  struct hr__profile *profile;
  struct hr_arena *arena;
  int64_t now_us;
};

/* Adds the GPUs of a job at its expected end. An overdue job is expected to end one microsecond from now. */
static bool add_end(void *self, struct hr_job_entry entry) {
  struct filling *filling = self;
  int64_t end_us = entry.key > filling->now_us ? entry.key : filling->now_us + 1;
  return profile_release(filling->profile, filling->arena, end_us, (uint32_t)entry.value);
}

/* Sets the profile of a bin to its free GPUs and the expected ends of its running jobs. False: out of memory. */
static bool begin_bin(struct hr__cluster_profile *cluster_profile, uint32_t bin, int64_t now_us) {
  struct filling filling = {&cluster_profile->profiles[bin], cluster_profile->arena, now_us};
  uint32_t free = hr_release_calendar_bin_free(cluster_profile->calendar, bin);
  return profile_init(filling.profile, cluster_profile->arena, now_us, free) &&
         hr_job_tree_each(hr_release_calendar_bin_ends(cluster_profile->calendar, bin), NULL, add_end, &filling);
}

/* Maximum number of maintenance periods of a node, from the current or next one on, that a plan considers. The check at
   the start of a job (holds.c) considers all. */
enum { MAX_WORKS = 16 };

/* Returns whether plans avoid a maintenance. With the backfill `conservative`, they avoid it only if no job of the
   trace ignores it; with `easy`, only if the head does not ignore it. Jobs that are longer than the time between two
   maintenance periods of a node, and replicas of services, ignore the maintenance (holds.c). A plan that avoided it
   could never start these jobs. */
static bool is_avoidable(const struct hr__cluster_profile *cluster_profile, const struct hr_maintenance *window) {
  if (cluster_profile->longest_us == HR__NO_LIMIT_US) return false;
  return !window->repeat_us || cluster_profile->longest_us <= window->repeat_us - window->duration_us;
}

/* Returns whether a node is off for a maintenance, or is being drained in the lead time before it. */
static bool is_at_work(const struct hr_maintenance *window, const struct hr_maintenance_time *work,
                       enum hr_node_state state, int64_t now_us) {
  return (state == HR_NODE_OFF && work->begin_us <= now_us) ||
         (state == HR_NODE_CLOSING && work->begin_us - window->lead_us <= now_us);
}

/* Subtracts the times of planned maintenance from the profile of a node of a pool. A node that is off for maintenance,
   or is being drained for it, has all its GPUs again at the end of the maintenance. False: out of memory. */
static bool close_works(struct hr__cluster_profile *cluster_profile, hr_pool pool, uint32_t node, int64_t now_us) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(cluster_profile->cluster, pool);
  hr_node id = {hr_cluster_first_node(cluster_profile->cluster, pool).id + node};
  struct hr__profile *profile = &cluster_profile->profiles[first_bin(cluster_profile, pool) + node];
  enum hr_node_state state = hr_cluster_node_state(cluster_profile->cluster, id);
  int64_t after_us = now_us;
  for (uint32_t i = 0; i < MAX_WORKS; i++) {
    struct hr_maintenance_time work = hr_maintenance_next(spec, node, after_us);
    if (work.begin_us == HR_NEVER_US) return true;
    after_us = work.end_us;
    if (i == 0 && is_at_work(&spec->maintenance[work.window], &work, state, now_us) &&
        !profile_release(profile, cluster_profile->arena, work.end_us, spec->gpus_per_node))
      return false;
    if (!is_avoidable(cluster_profile, &spec->maintenance[work.window])) continue;
    int64_t from_us = work.begin_us > now_us ? work.begin_us : now_us;
    if (!profile_close(profile, cluster_profile->arena, from_us, work.end_us)) return false;
  }
  return true;
}

enum hr_status hr__cluster_profile_begin(struct hr__cluster_profile *cluster_profile, int64_t now_us) {
  for (uint32_t bin = 0; bin < cluster_profile->n_bins; bin++)
    if (!begin_bin(cluster_profile, bin, now_us)) return HR_NO_MEMORY;
  for (uint32_t i = 0; cluster_profile->rule != HR_PLACE_POOL && i < cluster_profile->n_pools; i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(cluster_profile->cluster, (hr_pool){i});
    for (uint32_t node = 0; spec->n_maintenance > 0 && node < spec->nodes; node++)
      if (!close_works(cluster_profile, (hr_pool){i}, node, now_us)) return HR_NO_MEMORY;
  }
  return HR_OK;
}

/* ---- Earliest windows ------------------------------------------------------------------------------- */

/* Returns the k-th smallest value (k >= 1). Reorders the array (Hoare's selection). */
static int64_t select_kth(int64_t *values, uint32_t count, uint32_t k) {
  uint32_t low = 0, high = count - 1, target = k - 1;
  while (low < high) {
    int64_t pivot = values[low + (high - low) / 2];
    uint32_t i = low, j = high;
    for (;;) {
      while (values[i] < pivot) i++;
      while (values[j] > pivot) j--;
      if (i >= j) break;
      int64_t swapped = values[i];
      values[i++] = values[j];
      values[j--] = swapped;
    }
    if (target <= j)
      high = j;
    else
      low = j + 1;
  }
  return values[target];
}

/* For each bin of the pool, computes the earliest start of a window in which `gpus` GPUs are free. Returns the k-th
   smallest of these starts. */
static int64_t bins_start(struct hr__cluster_profile *cluster_profile, hr_pool pool, uint32_t gpus, uint32_t k,
                          int64_t from_us, int64_t length_us) {
  uint32_t first = first_bin(cluster_profile, pool), n_bins = pool_bins(cluster_profile, pool);
  if (k > n_bins) return HR_NEVER_US;
  for (uint32_t i = 0; i < n_bins; i++)
    cluster_profile->per_bin[i] = profile_earliest(&cluster_profile->profiles[first + i], from_us, length_us, gpus);
  return select_kth(cluster_profile->per_bin, n_bins, k);
}

/* Returns the earliest start of a gang of several nodes. In its window, `whole` nodes must be wholly free. If GPUs
   remain, one more node must have enough free GPUs for the remainder. Each iteration computes the earliest start of
   each condition alone, and advances the start of the gang to the later of the two, until it no longer changes. */
static int64_t gang_start(struct hr__cluster_profile *cluster_profile, hr_pool pool,
                          const struct hr__profile_demand *demand, int64_t from_us) {
  uint32_t size = hr_cluster_pool_spec(cluster_profile->cluster, pool)->gpus_per_node;
  uint32_t whole = demand->gpus / size, rest = demand->gpus % size;
  int64_t start_us = from_us, step_us;
  for (;; start_us = step_us) {
    step_us = bins_start(cluster_profile, pool, size, whole, start_us, demand->length_us);
    if (step_us == HR_NEVER_US) return HR_NEVER_US;
    if (rest > 0) {
      int64_t rest_us = bins_start(cluster_profile, pool, rest, whole + 1, start_us, demand->length_us);
      if (rest_us == HR_NEVER_US) return HR_NEVER_US;
      if (rest_us > step_us) step_us = rest_us;
    }
    if (step_us == start_us) return start_us;
  }
}

int64_t hr__cluster_profile_earliest(struct hr__cluster_profile *cluster_profile,
                                     const struct hr__profile_demand *demand, int64_t from_us) {
  bool single = hr_placer_is_single(cluster_profile->placer, demand->gpus, demand->accept_class);
  int64_t earliest_us = HR_NEVER_US;
  for (uint32_t i = 0; i < cluster_profile->n_pools; i++) {
    hr_pool pool = {i};
    if (!hr_cluster_accepts(cluster_profile->cluster, demand->accept_class, pool)) continue;
    int64_t start_us = single ? bins_start(cluster_profile, pool, demand->gpus, 1, from_us, demand->length_us)
                              : gang_start(cluster_profile, pool, demand, from_us);
    if (start_us < earliest_us) earliest_us = start_us;
  }
  return earliest_us;
}

/* Returns the minimum number of free GPUs that a node needs so that the demand can use it. */
static uint32_t min_use(const struct hr__cluster_profile *cluster_profile, const struct hr__profile_demand *demand,
                        hr_pool pool) {
  if (hr_placer_is_single(cluster_profile->placer, demand->gpus, demand->accept_class)) return demand->gpus;
  uint32_t size = hr_cluster_pool_spec(cluster_profile->cluster, pool)->gpus_per_node;
  return demand->gpus % size ? demand->gpus % size : size;
}

bool hr__cluster_profile_place(struct hr__cluster_profile *cluster_profile, const struct hr__profile_demand *demand,
                               int64_t start_us, struct hr_placement *placement) {
  for (uint32_t i = 0; i < cluster_profile->n_pools; i++) {
    hr_pool pool = {i};
    const struct hr__profile *profiles = cluster_profile->profiles + first_bin(cluster_profile, pool);
    uint32_t use = min_use(cluster_profile, demand, pool); /* bins with fewer free GPUs are treated as full */
    if (cluster_profile->rule == HR_PLACE_POOL) {
      cluster_profile->free_gpus[i] = profile_min(profiles, start_us, demand->length_us, use);
      continue;
    }
    uint32_t n_nodes = hr_free_index_nodes(cluster_profile->index[i]);
    for (uint32_t node = 0; node < n_nodes; node++)
      hr_free_index_set(cluster_profile->index[i], node,
                        profile_min(&profiles[node], start_us, demand->length_us, use));
  }
  return hr_placer_find_in(cluster_profile->placer, &cluster_profile->capacity, HR_TIER_ANY, demand->gpus,
                           demand->accept_class, placement);
}

/* ---- Taking capacity -------------------------------------------------------------------------------- */

/* A rule that selects the first or the fullest bin selects the same bin for further equal demands while they fit there.
   Their number is then known without a search: the free GPUs of the bin in the window, divided by the GPUs of the
   demand. For other rules, and for placements with several slices, the result is 1. */
uint32_t hr__cluster_profile_count_equal(const struct hr__cluster_profile *cluster_profile,
                                         const struct hr__profile_demand *demand, const struct hr_placement *placement,
                                         uint32_t maximum) {
  if (cluster_profile->rule == HR_PLACE_WORST_FIT || placement->n_slices > 1) return 1;
  uint64_t free = cluster_profile->free_gpus[placement->pool.id];
  if (placement->n_slices == 1) {
    uint32_t node = placement->slices[0].node.id - hr_cluster_first_node(cluster_profile->cluster, placement->pool).id;
    free = hr_free_index_get(cluster_profile->index[placement->pool.id], node);
  }
  uint64_t room = free / demand->gpus;
  return room < maximum ? (uint32_t)room : maximum;
}

bool hr__cluster_profile_take(struct hr__cluster_profile *cluster_profile, const struct hr__profile_demand *demand,
                              uint32_t n, int64_t start_us, const struct hr_placement *placement) {
  int64_t end_us = start_us + demand->length_us;
  uint32_t n_bins = placement->n_slices ? placement->n_slices : 1;
  for (uint32_t i = 0; i < n_bins; i++) {
    uint32_t gpus = placement->n_slices ? placement->slices[i].gpu_milli / 1000 : demand->gpus;
    if (!profile_take(&cluster_profile->profiles[hr__profile_bin(placement, i)], cluster_profile->arena, start_us,
                      end_us, n * gpus))
      return false;
  }
  return true;
}

bool hr__cluster_profile_matches(struct hr__cluster_profile *cluster_profile, int64_t now_us, const int64_t *started) {
  for (uint32_t bin = 0; bin < cluster_profile->n_bins; bin++) {
    struct hr__profile *profile = &cluster_profile->profiles[bin];
    profile_advance(profile, now_us);
    if (profile->free[0] + started[bin] != hr_release_calendar_bin_free(cluster_profile->calendar, bin)) return false;
  }
  return true;
}

/* ---- Windows from now on ---------------------------------------------------------------------------- */

/* Returns for how long from now on the bin has `gpus` free GPUs; HR_NEVER_US: without end. */
static int64_t window_us(const struct hr__profile *profile, uint32_t gpus) {
  uint32_t step = 0;
  while (step < profile->count && profile->free[step] >= gpus) step++;
  return step == profile->count ? HR_NEVER_US : profile->at_us[step] - profile->at_us[0];
}

/* Returns for how long from now on at least k bins of the pool have `gpus` free GPUs each; 0 if fewer than k bins have
   them now. */
static int64_t bins_window(struct hr__cluster_profile *cluster_profile, hr_pool pool, uint32_t gpus, uint32_t k) {
  uint32_t first = first_bin(cluster_profile, pool), n_bins = pool_bins(cluster_profile, pool);
  if (k > n_bins) return 0;
  for (uint32_t i = 0; i < n_bins; i++)
    cluster_profile->per_bin[i] = -window_us(&cluster_profile->profiles[first + i], gpus);
  return -select_kth(cluster_profile->per_bin, n_bins, k);
}

int64_t hr__cluster_profile_window(struct hr__cluster_profile *cluster_profile, uint32_t gpus, uint32_t accept_class) {
  bool single = hr_placer_is_single(cluster_profile->placer, gpus, accept_class);
  int64_t longest_us = 0;
  for (uint32_t i = 0; i < cluster_profile->n_pools; i++) {
    hr_pool pool = {i};
    if (!hr_cluster_accepts(cluster_profile->cluster, accept_class, pool)) continue;
    uint32_t size = hr_cluster_pool_spec(cluster_profile->cluster, pool)->gpus_per_node;
    int64_t window =
        single ? bins_window(cluster_profile, pool, gpus, 1) : bins_window(cluster_profile, pool, size, gpus / size);
    if (window > longest_us) longest_us = window;
  }
  return longest_us;
}

/* ---- Reservations ----------------------------------------------------------------------------------- */

static bool grow_reservations(struct hr__reservations *all) {
  return HR__ARENA_HAS_ROOM(all->arena, all->reservation, all->n_reservations, all->made_capacity) &&
         HR__ARENA_HAS_ROOM(all->arena, all->heap, all->n_reservations, all->heap_capacity) &&
         HR__ARENA_HAS_ROOM(all->arena, all->due, all->n_reservations, all->due_capacity);
}

static bool is_earlier(const void *self, uint32_t a, uint32_t b) {
  const struct hr__reservations *all = self;
  const struct hr__reservation *first = &all->reservation[a], *second = &all->reservation[b];
  if (first->start_us != second->start_us) return first->start_us < second->start_us;
  return hr__entry_before(first->job, second->job);
}

HR__HEAP(numbers, uint32_t, is_earlier)

static uint32_t pop_reservation(struct hr__reservations *all) {
  uint32_t top = all->heap[0], last = all->heap[--all->n_heap];
  numbers_sink(all->heap, all->n_heap, last, all);
  return top;
}

bool hr__reservations_add(struct hr__reservations *all, const struct hr__reservation *reservation,
                          const struct hr_placement *placement) {
  if (!grow_reservations(all)) return false;
  struct hr__reservation *added = &all->reservation[all->n_reservations];
  *added = *reservation;
  added->pool = placement->pool;
  added->first_slice = all->n_slices;
  added->n_slices = placement->n_slices;
  if (!HR__ARENA_HAS_ROOM_FOR(all->arena, all->slices, all->n_slices + placement->n_slices, all->slices_capacity))
    return false;
  for (uint32_t i = 0; i < placement->n_slices; i++) all->slices[all->n_slices++] = placement->slices[i];
  numbers_rise(all->heap, all->n_heap++, all->n_reservations++, all);
  return true;
}

bool hr__reservations_advance(struct hr__reservations *all, int64_t now_us) {
  all->n_due = 0;
  while (all->n_heap > 0 && all->reservation[all->heap[0]].start_us == now_us)
    all->due[all->n_due++] = pop_reservation(all);
  return all->n_heap == 0 || all->reservation[all->heap[0]].start_us > now_us;
}
