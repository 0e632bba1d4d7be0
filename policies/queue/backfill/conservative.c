/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conservative backfilling (Mu'alem and Feitelson, TPDS 2001). Every waiting job gets a reservation, in order, and a
 * job starts if its reservation begins now. The result is the same as if each pass made all reservations again, from
 * the running jobs and the limits. Therefore, when a job ends before its limit, later reservations may move to earlier
 * times.
 *
 * The reservation of a job is at the earliest time t for which the placement rule finds a placement. The rule is
 * evaluated with the capacity that is free during all of [t, t + limit), after all earlier reservations have been
 * subtracted. See backfill.h.
 *
 * Two kinds of plans find the jobs that start now. If the queue has no subqueues and the future is regular
 * (hr__future_is_regular), a partial plan makes only the reservations on which this depends (partial_plan.c), and is
 * kept between passes if possible. Otherwise a full plan is made in each pass, in this file.
 *
 * End of a full plan: it ends when no remaining job could start now, even if no further reservations were made before
 * it. A job of a shape can start now only if its limit does not exceed the longest window from now on in which enough
 * GPUs are free. Whether a remaining job satisfies this condition is checked after each start, and at increasing
 * intervals of reservations.
 */

#include "policies/queue/backfill/backfill.h"
#include "policies/queue/waiting.h"

/* The waiting jobs in order, in batches of consecutive jobs with the same request and limit. */

struct hr__batch {
  struct hr__shape *shape;
  int64_t value; /* limit of each job, in microseconds */
  uint32_t n_jobs;
};

struct hr__batches {
  struct hr_arena *arena;
  struct hr__waiting *waiting;
  struct hr__walk *walks;    /* one walk for each shape with jobs that were not returned yet, in no order */
  struct hr__batch batch;    /* the last batch that was returned */
  struct hr_job_entry *jobs; /* its jobs */
  uint32_t n_walks, jobs_capacity, walks_capacity;
};

static bool add_job(struct hr__batches *batches, struct hr_job_entry job) {
  batches->jobs =
      hr__ensure_room(batches->arena, batches->jobs, batches->batch.n_jobs, &batches->jobs_capacity, sizeof job);
  if (!batches->jobs) return false;
  batches->jobs[batches->batch.n_jobs++] = job;
  return true;
}

static bool batches_make_room(struct hr__batches *batches) {
  if (batches->waiting->n_active <= batches->walks_capacity) return true;
  batches->walks_capacity = 2 * batches->waiting->n_active;
  batches->walks = hr_arena_alloc(batches->arena, batches->walks_capacity * sizeof *batches->walks);
  return batches->walks != NULL;
}

/* Begins at the first job in order. */
static enum hr_status batches_begin(struct hr__batches *batches) {
  struct hr__waiting *waiting = batches->waiting;
  batches->n_walks = 0;
  if (!batches_make_room(batches)) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < waiting->n_active; i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    struct hr__walk *walk = &batches->walks[batches->n_walks];
    batches->n_walks += hr__walk_begin(waiting, shape, NULL, walk);
    if (!walk->shape) return HR_NO_MEMORY;
  }
  return HR_OK;
}

/* Compares the current jobs of all walks, and returns the walk of the job that is first in order. `*next`: the first in
   order of the current jobs of all other walks. */
static struct hr__walk *first_walk(struct hr__batches *batches, struct hr_job_entry *next) {
  struct hr__walk *first = &batches->walks[0];
  *next = (struct hr_job_entry){INT64_MAX, {HR_NONE}, 0};
  for (uint32_t i = 1; i < batches->n_walks; i++) {
    struct hr__walk *walk = &batches->walks[i];
    struct hr_job_entry later = walk->entry;
    if (hr__entry_before(later, first->entry)) {
      later = first->entry;
      first = walk;
    }
    if (hr__entry_before(later, *next)) *next = later;
  }
  return first;
}

/* Advances a walk. `*ended`: set if the walk has no further job; the last walk of the list has then taken its place. */
static enum hr_status walk_on(struct hr__batches *batches, struct hr__walk *walk, bool *ended) {
  *ended = !hr__walk_next(batches->waiting, walk);
  if (!*ended) return HR_OK;
  if (!walk->shape) return HR_NO_MEMORY;
  *walk = batches->walks[--batches->n_walks];
  return HR_OK;
}

/* Creates a batch of the next job in order, and of the jobs directly after it with the same request and limit. If a
   quota holds back the next job, the batch is empty. With quotas, a batch has at most one job, because its start may
   cause the next job to be held back. */
static enum hr_status walk_batch(struct hr__batches *batches) {
  struct hr_job_entry next;
  struct hr__walk *walk = first_walk(batches, &next);
  bool one_by_one = batches->waiting->admission.is_held != NULL, held = hr__walk_is_held(batches->waiting, walk), ended;
  int64_t value = walk->entry.value;
  enum hr_status status;
  batches->batch = (struct hr__batch){walk->shape, value, 0};
  do {
    if (!held && !add_job(batches, walk->entry)) return HR_NO_MEMORY;
    status = walk_on(batches, walk, &ended);
  } while (status == HR_OK && !ended && !one_by_one && walk->entry.value == value &&
           hr__entry_before(walk->entry, next));
  return status;
}

/* Writes the next batch, which is valid until the next call; an empty batch represents a job that is held back; NULL at
   the end. */
static enum hr_status batches_next(struct hr__batches *batches, const struct hr__batch **batch) {
  *batch = NULL;
  if (batches->n_walks == 0) return HR_OK;
  enum hr_status status = walk_batch(batches);
  if (status == HR_OK) *batch = &batches->batch;
  return status;
}

/* ---- The planner ---------------------------------------------------------------------------------- */

struct planner {
  struct hr__future future;         /* first member: listeners of the future find it by queue->backfill_state */
  struct hr__partial_plan *partial; /* NULL: plans are full */
  struct hr__batches batches;
  uint32_t may_start; /* index of the walk for which some_may_start last returned true */
};

/* ---- Shapes that could start a job now ------------------------------------------------------------ */

static bool shape_may_start(struct planner *planner, uint32_t i) {
  const struct hr__queue *queue = planner->future.queue;
  const struct hr__walk *walk = &planner->batches.walks[i];
  const struct hr__shape *shape = walk->shape;
  struct hr_need need = hr__need(queue, shape->gpus, shape->kind);
  bool is_empty = hr_need_is_empty(queue->cluster, &need);
  int64_t window = is_empty ? INT64_MAX : hr__future_longest(&planner->future, &need);
  return window > 0 && hr__walk_has(walk, window);
}

/* Returns whether some shape could start a job now. The search begins with the shape that was found last time, which is
   often found again. */
static bool some_may_start(struct planner *planner) {
  uint32_t n_shapes = planner->batches.n_walks, i = planner->may_start;
  for (uint32_t asked = 0; asked < n_shapes; asked++, i++) {
    if (i >= n_shapes) i = 0;
    if (!shape_may_start(planner, i)) continue;
    planner->may_start = i;
    return true;
  }
  return false;
}

/* ---- Full plans ----------------------------------------------------------------------------------- */

/* Equal jobs: those of a batch from index `first` on. */
struct equal_jobs {
  struct hr__shape *shape;
  uint32_t first, count;
};

/* Starts equal jobs at a placement. */
static enum hr_status start_all(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                const struct equal_jobs *equal, const struct hr_placement *placement) {
  const struct planner *planner = queue->backfill_state;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < equal->count && status == HR_OK; i++) {
    struct hr_job_entry job = planner->batches.jobs[equal->first + i];
    status = hr__start_planned(queue, view, moves, equal->shape, job, placement);
  }
  return status;
}

/* Makes the earliest possible reservation for the first of some equal jobs, and for those others that get the same time
   and placement. Reduces `equal` to these jobs. If the time is now, starts them. A job that cannot be placed at any
   time gets no reservation: it waits for nodes that may come up. */
static enum hr_status reserve_some(struct hr__queue *queue, const struct hr__future_demand *demand,
                                   const struct hr_view *view, struct hr_moves *moves, struct equal_jobs *equal,
                                   int64_t *start_us) {
  struct planner *planner = queue->backfill_state;
  struct hr__future *future = &planner->future;
  struct hr_placement placement;
  enum hr_status status = hr__future_earliest(future, demand, start_us, &placement);
  if (status != HR_OK || *start_us == HR_NEVER_US) return status;
  equal->count = hr__future_count_equal(future, demand, &placement, equal->count);
  if (!hr__future_reserve(future, demand, equal->count, *start_us, &placement)) return HR_NO_MEMORY;
  return *start_us == view->now_us ? start_all(queue, view, moves, equal, &placement) : HR_OK;
}

/* Makes reservations for the jobs of a batch, in order. `*started`: set if some of these jobs were started. */
static enum hr_status reserve(struct hr__queue *queue, const struct hr__batch *batch, const struct hr_view *view,
                              struct hr_moves *moves, bool *started) {
  struct hr__future_demand demand = {.shape = batch->shape,
                                     .need = hr__need(queue, batch->shape->gpus, batch->shape->kind),
                                     .length_us = batch->value > 0 ? batch->value : 1};
  struct equal_jobs equal = {batch->shape, 0, batch->n_jobs};
  *started = hr_need_is_empty(queue->cluster, &demand.need) && batch->n_jobs > 0;
  if (*started) return start_all(queue, view, moves, &equal, &(struct hr_placement){0});
  enum hr_status status = HR_OK;
  for (uint32_t left = batch->n_jobs; left > 0 && status == HR_OK; left -= equal.count) {
    int64_t start_us;
    equal.count = left;
    status = reserve_some(queue, &demand, view, moves, &equal, &start_us);
    *started = *started || start_us == view->now_us;
    equal.first += equal.count;
  }
  return status;
}

/* Makes reservations in order until no remaining job could start now. */
static enum hr_status make_full_plan(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct planner *planner = queue->backfill_state;
  const struct hr__batch *batch;
  enum hr_status status = batches_begin(&planner->batches);
  for (uint32_t reservation = 0, next_asked = 0; status == HR_OK; reservation++) {
    if (reservation >= next_asked) {
      if (!some_may_start(planner)) break;
      next_asked = reservation + 1 + reservation / 4;
    }
    bool started = false;
    status = batches_next(&planner->batches, &batch);
    if (status != HR_OK || !batch) break;
    status = reserve(queue, batch, view, moves, &started);
    if (started) next_asked = reservation;
  }
  return status;
}

/* ---- Pass ----------------------------------------------------------------------------------------- */

/* Makes a new plan. First starts, without reservations, the jobs before the first job that does not fit. Keys are
   frozen while the plan is made, so starts do not change the order before it is complete. */
static enum hr_status make_plan(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct planner *planner = queue->backfill_state;
  struct hr__shape *blocked;
  enum hr_status status = hr__queue_start_in_order(queue, view, moves, &blocked);
  if (status != HR_OK || !blocked) return status;
  queue->head = blocked->head.job;
  if (hr__future_begin(&planner->future, view->now_us) != HR_OK) return HR_NO_MEMORY;
  queue->frozen = true;
  if (planner->partial) {
    hr__partial_plan_begin(planner->partial);
    status = hr__partial_plan_start_jobs(planner->partial, view, moves);
  } else {
    status = make_full_plan(queue, view, moves);
  }
  queue->frozen = false;
  hr__future_end(&planner->future);
  return status == HR_OK ? hr__queue_refresh(queue, view) : status;
}

static enum hr_status pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  const struct planner *planner = queue->backfill_state;
  if (planner->partial && hr__partial_plan_continues(planner->partial, view))
    return hr__partial_plan_start_jobs(planner->partial, view, moves);
  return make_plan(queue, view, moves);
}

/* ---- Events that end a kept plan ------------------------------------------------------------------ */

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  const struct planner *planner = queue->backfill_state;
  hr__partial_plan_job_waits(planner->partial, (struct hr_job_entry){queue->order->key(queue, view, job), job, 0});
  return HR_OK;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  const struct planner *planner = queue->backfill_state;
  hr__partial_plan_job_stops(planner->partial, view, event);
  return HR_OK;
}

static enum hr_status job_rejected(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  (void)job;
  const struct planner *planner = queue->backfill_state;
  hr__partial_plan_drop(planner->partial);
  return HR_OK;
}

static const struct hr__listener listener = {
    .job_waits = job_waits, .job_stops = job_stops, .job_rejected = job_rejected};

/* Returns whether the keys of the order never change. This is the case if the order has none of the functions that
   update its state. */
static bool keys_stay(const struct hr__queue *queue) {
  const struct hr__order *order = queue->order;
  return !order->listener && !order->running_key && !order->begin_pass && !order->refresh && !order->end_pass &&
         !queue->waiting.full_key;
}

/* Returns whether plans can be kept. For the condition on placement rules see partial_plan.c. If the topology
   constraint of a job expires, the job gets another shape, which a kept plan would not notice. */
static bool may_keep(const struct hr__queue *queue) {
  bool in_first_place = queue->rule == HR_PLACE_FIRST_FIT || queue->rule == HR_PLACE_POOL;
  return in_first_place && keys_stay(queue) && !queue->stops && !queue->preemptor && !queue->by_gpu && !queue->locality;
}

static enum hr_status create(struct hr__queue *queue, const struct hr_policy_env *env) {
  struct planner *planner = hr_arena_alloc(env->arena, sizeof *planner);
  if (!planner) return HR_NO_MEMORY;
  queue->backfill_state = planner;
  if (hr__future_init(&planner->future, queue, env) != HR_OK) return HR_NO_MEMORY;
  planner->batches = (struct hr__batches){.arena = env->arena, .waiting = &queue->waiting};
  if (queue->waiting.full_key || !hr__future_is_regular(&planner->future, env)) return HR_OK;
  planner->partial = hr__partial_plan_create(queue, &planner->future, env, may_keep(queue));
  if (!planner->partial) return HR_NO_MEMORY;
  if (may_keep(queue)) hr__queue_add_listener(queue, &listener);
  return HR_OK;
}

const struct hr__backfill hr__backfill_conservative = {
    .by_shape = true, .value = hr_trace_limit_us, .create = create, .pass = pass, .walks = true};
