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

/* Jobs of at least this length start no earlier. */
struct bound {
  int64_t length_us, start_us;
};

/*
 * What the plan has learnt of a shape: since it only fills up, a job whose window is at least as long as that of an
 * earlier one starts no earlier than that one. By class of length; starts never decrease with it.
 */
struct bounds {
  uint32_t plan; /* that they are of */
  struct bound of[LENGTH_CLASSES];
};

/* How far down its shape's queue the plan has come. */
struct walker {
  struct hr__walk walk;
  struct bounds *bounds;
};

/* Jobs that follow one another in order and ask for the same. */
struct batch {
  struct hr__shape *shape;
  struct bounds *bounds;
  int64_t length_us;
  uint32_t n_jobs;
};

struct planner {
  struct hr__future future;
  struct walker *walkers; /* of shapes with jobs not yet planned, in no order */
  uint32_t n_walkers, walkers_capacity;
  struct hr_job_entry *jobs; /* of a batch */
  uint32_t jobs_capacity;
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
static struct bounds *bounds_of(struct planner *planner, const struct hr__shape *shape) {
  struct bounds *bounds = planner->bounds[shape->number];
  if (bounds->plan != planner->n_plans) memset(bounds->of, 0, sizeof bounds->of);
  bounds->plan = planner->n_plans;
  return bounds;
}

/* From the first jobs on. */
static bool begin_walk(struct hr__queue *queue, struct planner *planner) {
  if (!make_room(queue, planner)) return false;
  for (uint32_t i = 0; i < queue->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&queue->waiting, i);
    struct walker *walker = &planner->walkers[planner->n_walkers++];
    walker->bounds = bounds_of(planner, shape);
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
    walker->bounds = bounds_of(planner, shape);
    planner->n_walkers += hr__walk_begin_after(&queue->waiting, shape, planner->last, &walker->walk);
    if (!walker->walk.shape) return false;
  }
  return true;
}

/* The walker whose next job is the first in order of all that are not yet planned, and the next job of the others. */
static struct walker *first_walker(struct planner *planner, struct hr_job_entry *next) {
  struct walker *first = &planner->walkers[0];
  *next = (struct hr_job_entry){INT64_MAX, {HR_NONE}, 0};
  for (uint32_t i = 1; i < planner->n_walkers; i++) {
    struct walker *walker = &planner->walkers[i];
    struct hr_job_entry later = walker->walk.entry;
    if (hr__entry_before(later, first->walk.entry)) {
      later = first->walk.entry;
      first = walker;
    }
    if (hr__entry_before(later, *next)) *next = later;
  }
  return first;
}

static bool add_job(struct hr__queue *queue, struct planner *planner, struct batch *batch, struct hr_job_entry job) {
  if (batch->n_jobs == planner->jobs_capacity)
    planner->jobs = hr_arena_grown(queue->arena, planner->jobs, &planner->jobs_capacity, sizeof *planner->jobs);
  if (!planner->jobs) return false;
  planner->jobs[batch->n_jobs++] = job;
  planner->last = job;
  return true;
}

static enum hr_status walk_on(struct hr__queue *queue, struct planner *planner, struct walker *walker) {
  if (hr__walk_on(&queue->waiting, &walker->walk)) return HR_OK;
  if (!walker->walk.shape) return HR_NO_MEMORY;
  *walker = planner->walkers[--planner->n_walkers];
  return HR_OK;
}

/* Takes the next job in order from its walker, and all that follow it and are like it, but none that is held back. As
   any start may hold back others, jobs are then taken one by one. */
static enum hr_status take_alike(struct hr__queue *queue, struct planner *planner, struct batch *batch) {
  struct hr_job_entry next;
  struct walker *walker = first_walker(planner, &next);
  bool one_by_one = queue->waiting.is_held != NULL, held = hr__walk_is_held(&queue->waiting, &walker->walk);
  uint32_t n_walkers = planner->n_walkers;
  int64_t value = walker->walk.entry.value;
  *batch = (struct batch){walker->walk.shape, walker->bounds, value > 0 ? value : 1, 0};
  enum hr_status status = HR_OK;
  do {
    if (!held && !add_job(queue, planner, batch, walker->walk.entry)) return HR_NO_MEMORY;
    status = walk_on(queue, planner, walker);
  } while (status == HR_OK && !one_by_one && planner->n_walkers == n_walkers && walker->walk.entry.value == value &&
           hr__entry_before(walker->walk.entry, next));
  return status;
}

static uint32_t length_class(int64_t length_us) {
  unsigned bits = 63u - (unsigned)__builtin_clzll((unsigned long long)length_us);
  uint64_t next_two = bits >= 2 ? (uint64_t)length_us >> (bits - 2) & 3 : 0;
  return 4 * bits + (uint32_t)next_two;
}

static void learn(struct bounds *bounds, int64_t length_us, int64_t start_us) {
  uint32_t class = length_class(length_us);
  struct bound bound = {length_us, start_us};
  for (uint32_t i = class; i < LENGTH_CLASSES && bounds->of[i].start_us < start_us; i++, bound.length_us = 0)
    bounds->of[i] = bound;
}

/* Before which a job of this length cannot start. */
static int64_t learnt(const struct bounds *bounds, int64_t length_us) {
  uint32_t class = length_class(length_us);
  if (length_us >= bounds->of[class].length_us) return bounds->of[class].start_us;
  return class > 0 ? bounds->of[class - 1].start_us : 0;
}

static enum hr_status start(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                            struct hr__shape *shape, struct hr_job_entry job, const struct hr_placement *placement) {
  const struct hr__shape *first = hr__waiting_first(&queue->waiting);
  bool in_order = first && first->head.job.id == job.job.id;
  return hr__queue_start(queue, view, plan, shape, job, placement, in_order ? HR_REASON_IN_ORDER : HR_REASON_BACKFILL);
}

static enum hr_status start_all(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan,
                                struct hr__shape *shape, const struct hr_job_entry *jobs, uint32_t n_jobs,
                                const struct hr_placement *placement) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < n_jobs && status == HR_OK; i++) status = start(queue, view, plan, shape, jobs[i], placement);
  return status;
}

/* Reserves for the first jobs of a batch those that have a place in common, and starts them when their time is now. How
   many these are goes to `n_jobs`: all, when they wait for nodes that may come. */
static enum hr_status reserve_some(struct hr__queue *queue, const struct batch *batch, const struct hr_view *view,
                                   struct hr_plan *plan, const struct hr_job_entry *jobs, uint32_t *n_jobs,
                                   bool *started) {
  struct planner *planner = queue->backfill_state;
  struct hr__demand demand = {batch->shape->gpus, batch->shape->accept_class, batch->length_us};
  struct hr_placement placement;
  int64_t from_us = learnt(batch->bounds, demand.length_us);
  if (from_us < view->now_us) from_us = view->now_us;
  int64_t start_us = hr__future_earliest(&planner->future, &demand, from_us);
  if (start_us == HR_NEVER_US && queue->expected_us) return HR_OK;
  if (start_us == HR_NEVER_US || !hr__future_place(&planner->future, &demand, start_us, &placement)) return HR_INTERNAL;
  *n_jobs = hr__future_alike(&planner->future, &demand, start_us, &placement, *n_jobs);
  if (!hr__future_take(&planner->future, &demand, *n_jobs, start_us, &placement)) return HR_NO_MEMORY;
  learn(batch->bounds, demand.length_us, start_us);
  if (start_us == view->now_us) {
    *started = true;
    return start_all(queue, view, plan, batch->shape, jobs, *n_jobs, &placement);
  }
  return !planner->keeps || hr__reservations_add(&planner->to_come, start_us, batch->shape, jobs, *n_jobs, &placement)
             ? HR_OK
             : HR_NO_MEMORY;
}

static enum hr_status reserve(struct hr__queue *queue, const struct batch *batch, const struct hr_view *view,
                              struct hr_plan *plan, bool *started) {
  const struct hr_job_entry *jobs = ((struct planner *)queue->backfill_state)->jobs;
  *started = batch->shape->gpus == 0 && batch->n_jobs > 0;
  if (*started) return start_all(queue, view, plan, batch->shape, jobs, batch->n_jobs, &(struct hr_placement){0});
  enum hr_status status = HR_OK;
  for (uint32_t done = 0, some; done < batch->n_jobs && status == HR_OK; done += some) {
    some = batch->n_jobs - done;
    status = reserve_some(queue, batch, view, plan, jobs + done, &some, started);
  }
  return status;
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
    struct batch batch;
    bool started = false;
    status = take_alike(queue, planner, &batch);
    if (status == HR_OK) status = reserve(queue, &batch, view, plan, &started);
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
    const struct hr_job_entry *jobs = planner->to_come.jobs + due->first_job;
    status = start_all(queue, view, plan, due->shape, jobs, due->n_jobs, &placement);
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
    hr__future_count(&planner->future, &placement, due->shape->gpus, due->n_jobs, due_gpus);
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
