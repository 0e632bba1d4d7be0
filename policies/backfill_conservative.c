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
 * GPUs from now on bounds the limits of those that could. This is asked ever more rarely, and after each start.
 *
 * As long as all goes as planned (jobs end at their limits, and who comes comes last), making reservations anew makes
 * the same again: each is the earliest from then on with the earlier ones taken out, and those have not changed. What
 * is new is that jobs which started ahead of their turn are taken out first. They leave all earlier reservations
 * possible, and what is the first place with room stays the first when there is less room elsewhere; but the fullest
 * and the emptiest of the nodes may be others then. So under first-fit, and where GPUs are counted, the plan is kept,
 * and the next pass goes on where the last one ended. Anything else (an end before the limit, or none at it; one who
 * comes before others; a rejection) makes the next pass begin anew.
 */

#include "policies/batches.h"
#include "policies/dispatch.h"
#include "policies/future.h"
#include "policies/reservations.h"

#include <string.h>

/* Window lengths by size, four classes for each doubling. */
enum { LENGTH_CLASSES = 4 * 64 };

/* Jobs of a plan that is kept, at most, unless many wait. */
enum { MOST_REMEMBERED = 4096 };

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

struct planner {
  struct hr__future future;
  struct hr__batches batches;
  uint32_t may_start;          /* the one of their shapes */
  struct bounds **bounds;      /* by shape */
  uint32_t n_plans, n_classes; /* of lengths that there are */
  uint32_t n_shapes, shapes_capacity;
  bool keeps;                      /* a plan can be kept: keys stay, and nothing is stopped */
  bool kept;                       /* all has gone as planned until now */
  struct hr__reservations to_come; /* of the plan, while it can be kept */
};

/* ---- Who could start now ---------------------------------------------------------------------------- */

static bool shape_may_start(struct planner *planner, uint32_t i) {
  const struct hr__shape *shape = hr__batches_shape(&planner->batches, i);
  int64_t window = shape->gpus > 0 ? hr__future_window(&planner->future, shape->gpus, shape->kind) : INT64_MAX;
  return window > 0 && hr__batches_has(&planner->batches, i, window);
}

/* The shape that could when this was asked last is asked first. */
static bool some_may_start(struct planner *planner) {
  uint32_t n_shapes = hr__batches_shapes(&planner->batches), i = planner->may_start;
  for (uint32_t asked = 0; asked < n_shapes; asked++, i++) {
    if (i >= n_shapes) i = 0;
    if (!shape_may_start(planner, i)) continue;
    planner->may_start = i;
    return true;
  }
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

/* What this plan has learnt of the shape. */
static struct bounds *bounds_of(struct planner *planner, const struct hr__shape *shape) {
  struct bounds *bounds = planner->bounds[shape->number];
  if (bounds->plan != planner->n_plans) memset(bounds->of, 0, sizeof bounds->of);
  bounds->plan = planner->n_plans;
  return bounds;
}

static uint32_t length_class(int64_t length_us) {
  unsigned bits = 63u - (unsigned)__builtin_clzll((unsigned long long)length_us);
  uint64_t next_two = bits >= 2 ? (uint64_t)length_us >> (bits - 2) & 3 : 0;
  return 4 * bits + (uint32_t)next_two;
}

static void learn(const struct planner *planner, struct bounds *bounds, int64_t length_us, int64_t start_us) {
  uint32_t class = length_class(length_us);
  struct bound bound = {length_us, start_us};
  for (uint32_t i = class; i < planner->n_classes && bounds->of[i].start_us < start_us; i++, bound.length_us = 0)
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
                                const struct hr__reservation *due, const struct hr_placement *placement) {
  const struct planner *planner = queue->backfill_state;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < due->n_jobs && status == HR_OK; i++) {
    struct hr_job_entry job = *hr__batches_jobs(&planner->batches, due->first_job + i);
    status = start(queue, view, plan, due->shape, job, placement);
  }
  return status;
}

/* Makes the earliest reservation for the first of the jobs that `made` has, and for all that have their place in common
   with it; it is then of these alone. Starts them when their time is now. */
static enum hr_status reserve_some(struct hr__queue *queue, const struct hr__demand *demand, const struct hr_view *view,
                                   struct hr_plan *plan, struct hr__reservation *made) {
  struct planner *planner = queue->backfill_state;
  struct bounds *bounds = bounds_of(planner, made->shape);
  struct hr_placement placement;
  int64_t from_us = learnt(bounds, demand->length_us);
  if (from_us < view->now_us) from_us = view->now_us;
  made->start_us = hr__future_earliest(&planner->future, demand, from_us);
  if (made->start_us == HR_NEVER_US && queue->expected_us) return HR_OK; /* all wait for nodes that may come */
  if (made->start_us == HR_NEVER_US || !hr__future_place(&planner->future, demand, made->start_us, &placement))
    return HR_INTERNAL;
  made->n_jobs = hr__future_alike(&planner->future, demand, &placement, made->n_jobs);
  if (!hr__future_take(&planner->future, demand, made->n_jobs, made->start_us, &placement)) return HR_NO_MEMORY;
  learn(planner, bounds, demand->length_us, made->start_us);
  if (made->start_us == view->now_us) return start_all(queue, view, plan, made, &placement);
  bool known = !planner->keeps || hr__reservations_add(&planner->to_come, made, &placement);
  return known ? HR_OK : HR_NO_MEMORY;
}

/* Reserves for the jobs of a batch in order. */
static enum hr_status reserve(struct hr__queue *queue, const struct hr__batch *batch, const struct hr_view *view,
                              struct hr_plan *plan, bool *started) {
  struct hr__demand demand = {batch->shape->gpus, batch->shape->kind, batch->value > 0 ? batch->value : 1};
  struct hr__reservation made = {view->now_us, batch->shape, .first_job = batch->first_job, .n_jobs = batch->n_jobs};
  *started = demand.gpus == 0 && made.n_jobs > 0;
  if (*started) return start_all(queue, view, plan, &made, &(struct hr_placement){0});
  enum hr_status status = HR_OK;
  for (uint32_t left = batch->n_jobs; left > 0 && status == HR_OK; left -= made.n_jobs) {
    made.n_jobs = left;
    status = reserve_some(queue, &demand, view, plan, &made);
    *started = *started || made.start_us == view->now_us;
    made.first_job += made.n_jobs;
  }
  return status;
}

/* Reservations go down the queue as it stands: what starts in between changes no key until all are made. */
static enum hr_status plan_on(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct planner *planner = queue->backfill_state;
  const struct hr__batch *batch;
  enum hr_status status = know_shapes(queue, planner) ? HR_OK : HR_NO_MEMORY;
  for (uint32_t made = 0, next_asked = 0; status == HR_OK; made++) {
    if (made >= next_asked) {
      if (!some_may_start(planner)) break;
      next_asked = made + 1 + made / 4;
    }
    bool started = false;
    status = hr__batches_next(&planner->batches, &batch);
    if (status != HR_OK || !batch) break;
    status = reserve(queue, batch, view, plan, &started);
    if (started) next_asked = made;
  }
  if (status == HR_OK) hr__batches_end(&planner->batches);
  return status;
}

/* Until a job does not fit nothing is reserved: what is free now is free from now on, and no plan is needed. */
static enum hr_status plan_anew(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct planner *planner = queue->backfill_state;
  struct hr__shape *blocked;
  enum hr_status status = hr__queue_start_in_order(queue, view, plan, &blocked);
  if (status != HR_OK || !blocked) return status;
  queue->head = blocked->head.job;
  hr__reservations_clear(&planner->to_come);
  planner->n_plans++;
  if (hr__future_begin(&planner->future, view->now_us) != HR_OK) return HR_NO_MEMORY;
  queue->frozen = true;
  status = hr__batches_begin(&planner->batches, view->state);
  if (status == HR_OK) status = plan_on(queue, view, plan);
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
    status = start_all(queue, view, plan, due, &placement);
  }
  return status;
}

static enum hr_status go_on(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct planner *planner = queue->backfill_state;
  enum hr_status status = start_due(queue, view, plan);
  if (status != HR_OK) return status;
  hr__batches_go_on(&planner->batches);
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

/* A plan remembers all that started by it: where it is kept for ever, as when all goes as planned for long, it would
   remember a whole trace. What is made anew is the same. */
static bool is_overgrown(const struct planner *planner, const struct hr_view *view) {
  uint32_t n_jobs = planner->batches.n_jobs;
  return n_jobs > MOST_REMEMBERED && n_jobs / 8 > view->n_waiting;
}

/* What starts outside a pass's own plan is in none. */
static enum hr_status pass(struct hr__queue *queue, const struct hr_view *view, struct hr_plan *plan) {
  struct planner *planner = queue->backfill_state;
  bool goes_on = holds(planner, view->now_us) && !is_overgrown(planner, view);
  planner->kept = false;
  return goes_on ? go_on(queue, view, plan) : plan_anew(queue, view, plan);
}

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct planner *planner = queue->backfill_state;
  if (!planner->batches.remembers) return HR_OK;
  struct hr_job_entry entry = {queue->order->key(queue, view, job), job, 0};
  if (!hr__entry_before(entry, planner->batches.at)) return HR_OK;
  planner->kept = false;
  hr__batches_forget(&planner->batches);
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

/* Orders without a memory give a job one key for all time. */
static bool keys_stay(const struct hr__queue *queue) {
  const struct hr__order *order = queue->order;
  return !order->listener && !order->running_key && !order->begin_pass && !order->refresh && !order->end_pass &&
         !queue->waiting.full_key;
}

/* Of placements see above. */
static bool may_keep(const struct hr__queue *queue) {
  bool in_first_place = queue->rule == HR_PLACE_FIRST_FIT || queue->rule == HR_PLACE_POOL;
  return in_first_place && !queue->stops && !queue->preemptor;
}

static uint32_t count_classes(const struct hr_policy_env *env) {
  const struct hr_trace *trace = env->jobs;
  int64_t longest_us = 1;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    int64_t limit_us = hr_trace_limit_us(trace, (hr_job){i});
    if (limit_us > longest_us) longest_us = limit_us;
    hr_arena_passed_job(env->arena, (hr_job){i});
  }
  return length_class(longest_us) + 1;
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
  planner->n_classes = count_classes(env);
  bool remembers = keys_stay(queue);
  planner->keeps = remembers && may_keep(queue);
  hr__batches_init(&planner->batches, env->arena, &queue->waiting, remembers);
  if (remembers) hr__queue_listen(queue, &listener);
  return HR_OK;
}

const struct hr__backfill hr__backfill_conservative = {.by_shape = true,
                                                       .needs_releases = true,
                                                       .value = hr_trace_limit_us,
                                                       .create = create,
                                                       .pass = pass,
                                                       .walks = true};
