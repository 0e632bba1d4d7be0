/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conservative backfilling (Mu'alem and Feitelson, TPDS 2001): every waiting job gets a reservation, in order, and one
 * whose reservation is now starts. Reservations are those that one would make anew at each pass, from what runs and the
 * limits, so they move forward when a job ends early.
 *
 * A reservation is the earliest time t at which the placement rule can place the job on the least free GPUs of each
 * bin (node, or pool under `pool`) over [t, t + limit), with all earlier reservations taken out.
 *
 * Reservations only matter as far as they decide who starts now. The plan only fills up, so a pass is over when no job
 * further down could start now even if the rest of the plan were empty: per shape, the longest window of enough free
 * GPUs from now on bounds the limits of those that could. This is asked after 1, 2, 4, ... reservations.
 *
 * As long as all goes as planned (jobs end at their limits, and who comes comes last), making reservations anew makes
 * the same again: each is the earliest from then on with the earlier ones taken out, and those have not changed. What
 * is new is that jobs which started ahead of their turn are taken out first. They leave all earlier reservations
 * possible, and what is the first place with room stays the first when there is less room elsewhere; but the fullest
 * and the emptiest of the nodes may be others then. So under first-fit, and where GPUs are counted, the plan is kept,
 * and the next pass goes on where the last one ended. Anything else (an end before the limit, or none at it; one who
 * comes before others; a rejection) makes the next pass begin anew.
 */

#include "policies/dispatch.h"
#include "policies/profile.h"
#include "policies/reservations.h"

#include <string.h>

/* Window lengths by size, four classes for each doubling. */
enum { LENGTH_CLASSES = 4 * 64 };

/*
 * How far down its shape's queue the plan has come, and what it has learnt: since the plan only fills up, a job whose
 * window is longer than that of an earlier one of its shape starts no earlier than that one. `not_before_us` holds
 * such bounds by length class; they never decrease with length.
 */
struct bounds {
  uint32_t plan; /* that they are of */
  int64_t not_before_us[LENGTH_CLASSES];
};

struct walker {
  struct hr__walk walk;
  int64_t *not_before_us;
};

struct planner {
  struct hr__profile *profiles; /* by bin */
  uint32_t n_bins, n_pools;
  struct hr_free_index **index; /* by pool: the state that the placement rule is asked on */
  uint64_t *free_gpus;          /* likewise, for placement by count */
  struct hr_capacity capacity;
  int64_t *starts;        /* room for the bins of a pool */
  struct walker *walkers; /* of shapes with jobs not yet planned, in no order */
  uint32_t n_walkers, walkers_capacity;
  struct bounds **bounds; /* by shape */
  uint32_t n_plans;
  uint32_t n_shapes, shapes_capacity;
  bool keeps;                      /* a plan can be kept: keys stay, and nothing is stopped */
  bool kept;                       /* all has gone as planned until now */
  struct hr_job_entry last;        /* the last job that the plan has */
  struct hr__reservations to_come; /* of the plan, while it can be kept */
};

/* ---- The future from what runs ---------------------------------------------------------------------- */

struct filling {
  struct hr__profile *profile;
  struct hr_arena *arena;
  int64_t now_us;
};

static bool add_end(void *self, struct hr_job_entry entry) {
  struct filling *filling = self;
  int64_t end_us = entry.key > filling->now_us ? entry.key : filling->now_us + 1;
  return hr__profile_release(filling->profile, filling->arena, end_us, (uint32_t)entry.value);
}

static bool begin_bin(const struct hr__queue *queue, struct planner *planner, uint32_t bin, int64_t now_us) {
  struct filling filling = {&planner->profiles[bin], queue->arena, now_us};
  uint32_t free = hr_releases_bin_free(queue->releases, bin);
  return hr__profile_begin(filling.profile, queue->arena, now_us, free) &&
         hr_job_tree_each(hr_releases_bin_ends(queue->releases, bin), add_end, &filling);
}

static enum hr_status begin_plan(const struct hr__queue *queue, struct planner *planner, int64_t now_us) {
  for (uint32_t bin = 0; bin < planner->n_bins; bin++)
    if (!begin_bin(queue, planner, bin, now_us)) return HR_NO_MEMORY;
  return HR_OK;
}

/* ---- One reservation -------------------------------------------------------------------------------- */

struct request {
  uint32_t gpus, accept_class;
  int64_t length_us;
};

/* The k-th smallest, k from 1; the array is reordered (Hoare's selection). */
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

static uint32_t pool_bins(const struct hr__queue *queue, hr_pool pool) {
  return queue->rule == HR_PLACE_POOL ? 1 : hr_cluster_pool_spec(queue->cluster, pool)->nodes;
}

/* The time by which k bins of the pool, each on its own, could begin a window with `gpus` GPUs. */
static int64_t bins_start(const struct hr__queue *queue, struct planner *planner, hr_pool pool, uint32_t gpus,
                          uint32_t k, int64_t from_us, int64_t length_us) {
  uint32_t first = hr_releases_first_bin(queue->releases, pool), n_bins = pool_bins(queue, pool);
  if (k > n_bins) return HR_NEVER_US;
  for (uint32_t i = 0; i < n_bins; i++)
    planner->starts[i] = hr__profile_earliest(&planner->profiles[first + i], from_us, length_us, gpus);
  return select_kth(planner->starts, n_bins, k);
}

/* A gang over nodes needs `whole` wholly free ones and whole + 1 with the remainder in the same window: step to the
   time by which each count could be there, until both are at one time. */
static int64_t gang_start(const struct hr__queue *queue, struct planner *planner, hr_pool pool,
                          const struct request *request, int64_t from_us) {
  uint32_t size = hr_cluster_pool_spec(queue->cluster, pool)->gpus_per_node;
  uint32_t whole = request->gpus / size, rest = request->gpus % size;
  int64_t start_us = from_us, step_us;
  for (;; start_us = step_us) {
    step_us = bins_start(queue, planner, pool, size, whole, start_us, request->length_us);
    if (step_us == HR_NEVER_US) return HR_NEVER_US;
    if (rest > 0) {
      int64_t rest_us = bins_start(queue, planner, pool, rest, whole + 1, start_us, request->length_us);
      if (rest_us == HR_NEVER_US) return HR_NEVER_US;
      if (rest_us > step_us) step_us = rest_us;
    }
    if (step_us == start_us) return start_us;
  }
}

static int64_t earliest_start(const struct hr__queue *queue, struct planner *planner, const struct request *request,
                              int64_t from_us) {
  bool single = hr_placer_is_single(queue->placer, request->gpus, request->accept_class);
  int64_t earliest_us = HR_NEVER_US;
  for (uint32_t i = 0; i < planner->n_pools; i++) {
    hr_pool pool = {i};
    if (!hr_cluster_accepts(queue->cluster, request->accept_class, pool)) continue;
    int64_t start_us = single ? bins_start(queue, planner, pool, request->gpus, 1, from_us, request->length_us)
                              : gang_start(queue, planner, pool, request, from_us);
    if (start_us < earliest_us) earliest_us = start_us;
  }
  return earliest_us;
}

/* The least that a node must have free to be of use to the request. */
static uint32_t least_use(const struct hr__queue *queue, const struct request *request, hr_pool pool) {
  if (hr_placer_is_single(queue->placer, request->gpus, request->accept_class)) return request->gpus;
  uint32_t size = hr_cluster_pool_spec(queue->cluster, pool)->gpus_per_node;
  return request->gpus % size ? request->gpus % size : size;
}

/* Asks the placement rule on the least free GPUs of each bin over the window; bins of no use count as full. */
static bool place_at(const struct hr__queue *queue, struct planner *planner, const struct request *request,
                     int64_t start_us, struct hr_placement *placement) {
  for (uint32_t i = 0; i < planner->n_pools; i++) {
    hr_pool pool = {i};
    const struct hr__profile *profiles = planner->profiles + hr_releases_first_bin(queue->releases, pool);
    uint32_t use = least_use(queue, request, pool);
    if (queue->rule == HR_PLACE_POOL) {
      planner->free_gpus[i] = hr__profile_least(profiles, start_us, request->length_us, use);
      continue;
    }
    uint32_t n_nodes = hr_free_index_nodes(planner->index[i]);
    for (uint32_t node = 0; node < n_nodes; node++)
      hr_free_index_set(planner->index[i], node, hr__profile_least(&profiles[node], start_us, request->length_us, use));
  }
  return hr_placer_find_in(queue->placer, &planner->capacity, request->gpus, request->accept_class, placement);
}

static bool take_window(const struct hr__queue *queue, struct planner *planner, const struct request *request,
                        int64_t start_us, const struct hr_placement *placement) {
  struct hr__profile *profiles = planner->profiles + hr_releases_first_bin(queue->releases, placement->pool);
  uint32_t first_node = hr_cluster_first_node(queue->cluster, placement->pool).id;
  int64_t end_us = start_us + request->length_us;
  if (placement->n_slices == 0) return hr__profile_take(profiles, queue->arena, start_us, end_us, request->gpus);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct hr_slice slice = placement->slices[i];
    if (!hr__profile_take(&profiles[slice.node.id - first_node], queue->arena, start_us, end_us,
                          slice.gpu_milli / 1000))
      return false;
  }
  return true;
}

/* ---- Who could start now ---------------------------------------------------------------------------- */

/* How long from now on a bin has `gpus` GPUs free. */
static int64_t window_us(const struct hr__profile *profile, uint32_t gpus) {
  uint32_t step = 0;
  while (step < profile->count && profile->free[step] >= gpus) step++;
  return step == profile->count ? HR_NEVER_US : profile->at_us[step] - profile->at_us[0];
}

/* The window that k bins of the pool have, each on its own; 0 when fewer have any. */
static int64_t bins_window(const struct hr__queue *queue, struct planner *planner, hr_pool pool, uint32_t gpus,
                           uint32_t k) {
  uint32_t first = hr_releases_first_bin(queue->releases, pool), n_bins = pool_bins(queue, pool);
  if (k > n_bins) return 0;
  for (uint32_t i = 0; i < n_bins; i++) planner->starts[i] = -window_us(&planner->profiles[first + i], gpus);
  return -select_kth(planner->starts, n_bins, k);
}

/* No job of the shape with a longer limit could start now. */
static int64_t longest_window(const struct hr__queue *queue, struct planner *planner, const struct hr__shape *shape) {
  bool single = hr_placer_is_single(queue->placer, shape->gpus, shape->accept_class);
  int64_t longest_us = 0;
  for (uint32_t i = 0; i < planner->n_pools; i++) {
    hr_pool pool = {i};
    if (!hr_cluster_accepts(queue->cluster, shape->accept_class, pool)) continue;
    uint32_t size = hr_cluster_pool_spec(queue->cluster, pool)->gpus_per_node;
    int64_t window = single ? bins_window(queue, planner, pool, shape->gpus, 1)
                            : bins_window(queue, planner, pool, size, shape->gpus / size);
    if (window > longest_us) longest_us = window;
  }
  return longest_us;
}

static bool walker_may_start(const struct hr__queue *queue, struct planner *planner, const struct walker *walker) {
  if (walker->walk.shape->gpus == 0) return true;
  int64_t window = longest_window(queue, planner, walker->walk.shape);
  return window > 0 && hr__walk_has(&walker->walk, window);
}

static bool some_may_start(const struct hr__queue *queue, struct planner *planner) {
  for (uint32_t i = 0; i < planner->n_walkers; i++)
    if (walker_may_start(queue, planner, &planner->walkers[i])) return true;
  return false;
}

/* ---- The pass --------------------------------------------------------------------------------------- */

/* What has been learnt of each shape, with room for all that there are. */
static bool know_shapes(struct hr__queue *queue, struct planner *planner) {
  while (planner->n_shapes < queue->waiting.n_shapes) {
    if (planner->n_shapes == planner->shapes_capacity) {
      planner->bounds =
          hr_arena_grown(queue->arena, planner->bounds, &planner->shapes_capacity, sizeof(*planner->bounds));
      if (!planner->bounds) return false;
    }
    struct bounds *bounds = hr_arena_alloc(queue->arena, sizeof *bounds);
    if (!bounds) return false;
    planner->bounds[planner->n_shapes++] = bounds;
  }
  return true;
}

static bool make_room(struct hr__queue *queue, struct planner *planner) {
  planner->n_walkers = 0;
  if (!know_shapes(queue, planner)) return false;
  if (queue->waiting.n_active <= planner->walkers_capacity) return true;
  planner->walkers_capacity = 2 * queue->waiting.n_active;
  planner->walkers = hr_arena_alloc(queue->arena, planner->walkers_capacity * sizeof *planner->walkers);
  return planner->walkers != NULL;
}

/* What this plan has learnt of the shape. */
static int64_t *bounds_of(struct planner *planner, const struct hr__shape *shape) {
  struct bounds *bounds = planner->bounds[shape->number];
  if (bounds->plan != planner->n_plans) memset(bounds->not_before_us, 0, sizeof bounds->not_before_us);
  bounds->plan = planner->n_plans;
  return bounds->not_before_us;
}

/* From the first jobs on. */
static bool begin_walk(struct hr__queue *queue, struct planner *planner) {
  if (!make_room(queue, planner)) return false;
  for (uint32_t i = 0; i < queue->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&queue->waiting, i);
    struct walker *walker = &planner->walkers[planner->n_walkers++];
    walker->not_before_us = bounds_of(planner, shape);
    if (!hr__walk_begin(&queue->waiting, shape, &walker->walk)) return false;
  }
  return true;
}

/* From behind the last job that is planned. */
static bool go_on_walking(struct hr__queue *queue, struct planner *planner) {
  if (!make_room(queue, planner)) return false;
  for (uint32_t i = 0; i < queue->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&queue->waiting, i);
    struct walker *walker = &planner->walkers[planner->n_walkers];
    walker->not_before_us = bounds_of(planner, shape);
    planner->n_walkers += hr__walk_begin_after(&queue->waiting, shape, planner->last, &walker->walk);
    if (!walker->walk.shape) return false;
  }
  return true;
}

/* The walker whose next job is the first in order of all that are not yet planned. */
static struct walker *first_walker(struct planner *planner) {
  struct walker *first = &planner->walkers[0];
  for (uint32_t i = 1; i < planner->n_walkers; i++)
    if (hr__entry_before(planner->walkers[i].walk.entry, first->walk.entry)) first = &planner->walkers[i];
  return first;
}

static enum hr_status advance(struct hr__queue *queue, struct planner *planner, struct walker *walker) {
  if (hr__walk_on(&queue->waiting, &walker->walk)) return HR_OK;
  if (!walker->walk.shape) return HR_NO_MEMORY;
  *walker = planner->walkers[--planner->n_walkers];
  return HR_OK;
}

static uint32_t length_class(int64_t length_us) {
  unsigned bits = 63u - (unsigned)__builtin_clzll((unsigned long long)length_us);
  uint64_t next_two = bits >= 2 ? (uint64_t)length_us >> (bits - 2) & 3 : 0;
  return 4 * bits + (uint32_t)next_two;
}

static void learn(struct walker *walker, int64_t length_us, int64_t start_us) {
  for (uint32_t i = length_class(length_us) + 1; i < LENGTH_CLASSES && walker->not_before_us[i] < start_us; i++)
    walker->not_before_us[i] = start_us;
}

static enum hr_status start(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                            struct hr__shape *shape, struct hr_job_entry job, const struct hr_placement *placement) {
  const struct hr__shape *first = hr__waiting_first(&queue->waiting);
  bool in_order = first && first->head.job.id == job.job.id;
  return hr__queue_start(queue, view, plan, shape, job, placement, in_order ? HR_REASON_IN_ORDER : HR_REASON_BACKFILL);
}

/* Reserves for a walker's next job, and starts it when its time is now. */
static enum hr_status reserve(struct hr__queue *queue, struct walker *walker, const struct hr_view *view,
                              struct hr_plan *plan, bool *started) {
  struct planner *planner = queue->backfill_state;
  struct hr_job_entry job = walker->walk.entry;
  struct hr__shape *shape = walker->walk.shape;
  struct request request = {shape->gpus, shape->accept_class, job.value > 0 ? job.value : 1};
  struct hr_placement placement = {0};
  *started = false;
  if (hr__walk_is_held(&queue->waiting, &walker->walk)) return HR_OK;
  planner->last = job;
  *started = true;
  if (request.gpus > 0) {
    int64_t from_us = walker->not_before_us[length_class(request.length_us)];
    if (from_us < view->now_us) from_us = view->now_us;
    int64_t start_us = earliest_start(queue, planner, &request, from_us);
    *started = false;
    if (start_us == HR_NEVER_US && queue->expected_us) return HR_OK; /* it waits for a node that may come */
    if (start_us == HR_NEVER_US || !place_at(queue, planner, &request, start_us, &placement)) return HR_INTERNAL;
    if (!take_window(queue, planner, &request, start_us, &placement)) return HR_NO_MEMORY;
    learn(walker, request.length_us, start_us);
    *started = start_us == view->now_us;
    if (!*started && planner->keeps && !hr__reservations_add(&planner->to_come, start_us, shape, job, &placement))
      return HR_NO_MEMORY;
  }
  return *started ? start(queue, view, plan, shape, job, &placement) : HR_OK;
}

/* Reservations go down the queue as it stands: what starts in between changes no key until all are made. */
static enum hr_status plan_on(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct planner *planner = queue->backfill_state;
  enum hr_status status = HR_OK;
  for (uint32_t wait = 0, until_asked = 0; status == HR_OK && planner->n_walkers > 0; until_asked--) {
    if (until_asked == 0) {
      if (!some_may_start(queue, planner)) break;
      wait = wait ? 2 * wait : 1;
      until_asked = wait;
    }
    struct walker *walker = first_walker(planner);
    bool started;
    status = reserve(queue, walker, view, plan, &started);
    if (status == HR_OK) status = advance(queue, planner, walker);
    if (started) wait = 0, until_asked = 1;
  }
  return status;
}

/* Until a job does not fit nothing is reserved: what is free now is free from now on, and no plan is needed. */
static enum hr_status plan_anew(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct planner *planner = queue->backfill_state;
  struct hr__shape *blocked;
  enum hr_status status = hr__queue_start_in_order(queue, view, plan, &blocked);
  if (status != HR_OK || !blocked) return status;
  hr__reservations_clear(&planner->to_come);
  planner->n_plans++;
  planner->last = (struct hr_job_entry){INT64_MIN, {0}, 0};
  if (!begin_walk(queue, planner) || begin_plan(queue, planner, view->now_us) != HR_OK) return HR_NO_MEMORY;
  queue->frozen = true;
  status = plan_on(queue, view, plan);
  queue->frozen = false;
  planner->kept = planner->keeps;
  return status == HR_OK ? hr__queue_refresh(queue, view) : status;
}

/* ---- A plan that is kept ---------------------------------------------------------------------------- */

static enum hr_status start_due(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct planner *planner = queue->backfill_state;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < planner->to_come.n_due && status == HR_OK; i++) {
    struct hr_placement placement;
    const struct hr__reservation *due = hr__reservations_due(&planner->to_come, i, &placement);
    status = start(queue, view, plan, due->shape, due->job, &placement);
  }
  return status;
}

static enum hr_status go_on(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct planner *planner = queue->backfill_state;
  enum hr_status status = start_due(queue, view, plan);
  if (status != HR_OK) return status;
  if (!go_on_walking(queue, planner)) return HR_NO_MEMORY;
  status = plan_on(queue, view, plan);
  planner->kept = true;
  return status;
}

/* GPUs that the plan has jobs start on now, by bin. */
static void count_due(const struct hr__queue *queue, const struct planner *planner, int64_t *due_gpus) {
  memset(due_gpus, 0, planner->n_bins * sizeof *due_gpus);
  for (uint32_t i = 0; i < planner->to_come.n_due; i++) {
    struct hr_placement placement;
    const struct hr__reservation *due = hr__reservations_due(&planner->to_come, i, &placement);
    int64_t *bins = due_gpus + hr_releases_first_bin(queue->releases, placement.pool);
    uint32_t first_node = hr_cluster_first_node(queue->cluster, placement.pool).id;
    if (placement.n_slices == 0) bins[0] += due->shape->gpus;
    for (uint32_t k = 0; k < placement.n_slices; k++)
      bins[placement.slices[k].node.id - first_node] += placement.slices[k].gpu_milli / 1000;
  }
}

/* Whether what is free is what the plan has free now, and nobody should have started before. */
static bool holds(struct hr__queue *queue, struct planner *planner, int64_t now_us) {
  if (!planner->kept || !hr__reservations_come_to(&planner->to_come, now_us)) return false;
  count_due(queue, planner, planner->starts);
  for (uint32_t bin = 0; bin < planner->n_bins; bin++) {
    struct hr__profile *profile = &planner->profiles[bin];
    hr__profile_come_to(profile, now_us);
    if (profile->free[0] + planner->starts[bin] != hr_releases_bin_free(queue->releases, bin)) return false;
  }
  return true;
}

/* What starts outside a pass's own plan is in none. */
static enum hr_status pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct planner *planner = queue->backfill_state;
  bool goes_on = holds(queue, planner, view->now_us);
  planner->kept = false;
  return goes_on ? go_on(queue, view, plan) : plan_anew(queue, view, plan);
}

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct planner *planner = queue->backfill_state;
  if (!planner->kept) return HR_OK;
  struct hr_job_entry entry = {queue->order->key(queue, view, job), job, 0};
  if (hr__entry_before(entry, planner->last)) planner->kept = false;
  return HR_OK;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  struct planner *planner = queue->backfill_state;
  int64_t limit_us = hr_trace_limit_us(queue->trace, event->job);
  int64_t planned_us = view->attempt_us[event->job.id] + (limit_us > 0 ? limit_us : 1);
  if (event->kind != HR_EVENT_END || view->now_us != planned_us) planner->kept = false;
  return HR_OK;
}

static enum hr_status job_rejected(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  (void)job;
  struct planner *planner = queue->backfill_state;
  planner->kept = false;
  return HR_OK;
}

static const struct hr__listener listener = {
    .job_waits = job_waits, .job_stops = job_stops, .job_rejected = job_rejected};

/* Orders without a memory give a job one key for all time. Of placements see above. */
static bool may_keep(const struct hr__queue *queue) {
  const struct hr__order *order = queue->order;
  bool stays = !order->listener && !order->running_key && !order->begin_pass && !order->refresh && !order->end_pass;
  bool in_first_place = queue->rule == HR_PLACE_FIRST_FIT || queue->rule == HR_PLACE_POOL;
  return stays && in_first_place && !queue->stops && !queue->waiting.full_key && !queue->preemptor;
}

static enum hr_status create(struct hr__queue *queue, const struct hr_policy_env *env) {
  struct planner *planner = hr_arena_alloc(env->arena, sizeof *planner);
  if (!planner) return HR_NO_MEMORY;
  planner->n_bins = hr_releases_bins(queue->releases);
  planner->n_pools = hr_cluster_pools(queue->cluster);
  planner->profiles = hr_arena_alloc(env->arena, planner->n_bins * sizeof *planner->profiles);
  planner->starts = hr_arena_alloc(env->arena, planner->n_bins * sizeof *planner->starts);
  planner->index = hr_arena_alloc(env->arena, planner->n_pools * sizeof(*planner->index));
  planner->free_gpus = hr_arena_alloc(env->arena, planner->n_pools * sizeof *planner->free_gpus);
  if (!planner->profiles || !planner->starts || !planner->index || !planner->free_gpus) return HR_NO_MEMORY;
  for (uint32_t i = 0; queue->rule != HR_PLACE_POOL && i < planner->n_pools; i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(queue->cluster, (hr_pool){i});
    planner->index[i] = hr_free_index_create(env->arena, spec->nodes, spec->gpus_per_node);
    if (!planner->index[i]) return HR_NO_MEMORY;
  }
  planner->capacity =
      (struct hr_capacity){planner->n_pools, (const struct hr_free_index *const *)planner->index, planner->free_gpus};
  queue->backfill_state = planner;
  planner->to_come.arena = env->arena;
  planner->keeps = may_keep(queue);
  if (planner->keeps) hr__queue_listen(queue, &listener);
  return HR_OK;
}

const struct hr__backfill hr__backfill_conservative = {.by_shape = true,
                                                       .needs_releases = true,
                                                       .value = hr_trace_limit_us,
                                                       .create = create,
                                                       .pass = pass,
                                                       .walks = true};
