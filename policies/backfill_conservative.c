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
#include "policies/future.h"
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
  struct hr__future future;
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

/* ---- Who could start now ---------------------------------------------------------------------------- */

static bool walker_may_start(struct planner *planner, const struct walker *walker) {
  const struct hr__shape *shape = walker->walk.shape;
  if (shape->gpus == 0) return true;
  int64_t window = hr__future_window(&planner->future, shape->gpus, shape->accept_class);
  return window > 0 && hr__walk_has(&walker->walk, window);
}

static bool some_may_start(struct planner *planner) {
  for (uint32_t i = 0; i < planner->n_walkers; i++)
    if (walker_may_start(planner, &planner->walkers[i])) return true;
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
  struct hr__demand demand = {shape->gpus, shape->accept_class, job.value > 0 ? job.value : 1};
  struct hr_placement placement = {0};
  *started = false;
  if (hr__walk_is_held(&queue->waiting, &walker->walk)) return HR_OK;
  planner->last = job;
  *started = true;
  if (demand.gpus > 0) {
    int64_t from_us = walker->not_before_us[length_class(demand.length_us)];
    if (from_us < view->now_us) from_us = view->now_us;
    int64_t start_us = hr__future_earliest(&planner->future, &demand, from_us);
    *started = false;
    if (start_us == HR_NEVER_US && queue->expected_us) return HR_OK; /* it waits for a node that may come */
    if (start_us == HR_NEVER_US || !hr__future_place(&planner->future, &demand, start_us, &placement))
      return HR_INTERNAL;
    if (!hr__future_take(&planner->future, &demand, 1, start_us, &placement)) return HR_NO_MEMORY;
    learn(walker, demand.length_us, start_us);
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
      if (!some_may_start(planner)) break;
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
  if (!begin_walk(queue, planner) || hr__future_begin(&planner->future, view->now_us) != HR_OK) return HR_NO_MEMORY;
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
static void count_due(const struct planner *planner, int64_t *due_gpus) {
  memset(due_gpus, 0, planner->future.n_bins * sizeof *due_gpus);
  for (uint32_t i = 0; i < planner->to_come.n_due; i++) {
    struct hr_placement placement;
    const struct hr__reservation *due = hr__reservations_due(&planner->to_come, i, &placement);
    hr__future_count(&planner->future, &placement, due->shape->gpus, due_gpus);
  }
}

/* Whether what is free is what the plan has free now, and nobody should have started before. */
static bool holds(struct planner *planner, int64_t now_us) {
  if (!planner->kept || !hr__reservations_come_to(&planner->to_come, now_us)) return false;
  count_due(planner, planner->future.of_bins);
  return hr__future_holds(&planner->future, now_us, planner->future.of_bins);
}

/* What starts outside a pass's own plan is in none. */
static enum hr_status pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct planner *planner = queue->backfill_state;
  bool goes_on = holds(planner, view->now_us);
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
  planner->future.arena = env->arena;
  planner->future.cluster = queue->cluster;
  planner->future.placer = queue->placer;
  planner->future.releases = queue->releases;
  planner->future.rule = queue->rule;
  if (hr__future_init(&planner->future) != HR_OK) return HR_NO_MEMORY;
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
