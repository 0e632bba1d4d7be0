/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conservative backfilling (Mu'alem and Feitelson, TPDS 2001). Every waiting job gets a reservation, in order, and a
 * job starts if its reservation begins now. The result is the same as if each pass made all reservations again, from
 * the running jobs and the limits. Therefore, when a job ends before its limit, later reservations may move to earlier
 * times.
 *
 * The reservation of a job is at the earliest time t for which the placement rule finds a placement. The rule is
 * evaluated with what is free during all of [t, t + limit), after all earlier reservations have been subtracted. See
 * future.h.
 *
 * End of a pass: a pass only has to find the jobs that start now. It therefore ends when no remaining job could start
 * now, even if no further reservations were made before it. A job of a shape can start now only if its limit does not
 * exceed the longest window from now on in which enough GPUs are free. Whether a remaining job satisfies this condition
 * is checked after each start, and at increasing intervals of reservations.
 *
 * Kept plans: while all jobs end at their limits and new jobs are last in order, a new plan would make the same
 * reservations again, because each of them is still the earliest one, given the reservations before it. There is one
 * difference: a new plan first subtracts the capacity of jobs that were started ahead of earlier jobs. This does not
 * delay the reservation of any earlier job. It also does not change which node is the first one with room for that job,
 * but it may change which node is the fullest or the emptiest. Plans are therefore kept only under the placements
 * first-fit and `pool`. The next pass then continues where the previous one ended. The next pass makes a new plan after
 * any other event: a job that ends before its limit or runs beyond it, a new job that precedes a job with a
 * reservation, or a rejection.
 */

#include "policies/queue/backfill/future.h"
#include "policies/queue/waiting.h"

#include <string.h>

/* The waiting jobs in order, in batches of consecutive jobs with the same request and limit. If the keys of waiting
   jobs do not change, batches are remembered (`remembers`): later passes read them instead of walking over the queue
   again. */

struct hr__batch {
  struct hr__shape *shape;
  int64_t value; /* limit of each job, in microseconds */
  uint32_t first_job, n_jobs;
};

struct hr__batches {
  struct hr_arena *arena;
  struct hr__waiting *waiting;
  bool remembers;
  bool walking; /* all remembered batches have been returned, so further batches are made by walks over the queue */
  struct hr__walk *walks;  /* one walk for each shape with jobs that were not returned yet, in no order */
  struct hr__batch *known; /* remembered batches, in order */
  struct hr_job_entry *jobs;
  struct hr_job_entry at; /* the last job that was returned */
  uint32_t n_known, n_next, n_jobs, n_walks, known_capacity, jobs_capacity, walks_capacity;
};

static inline const struct hr_job_entry *batches_jobs(const struct hr__batches *batches, uint32_t first_job) {
  return batches->jobs + first_job;
}

static const struct hr_job_entry before_all = {INT64_MIN, {0}, 0};

/* `remembers` requires that the queue has no subqueues, and that the keys of jobs do not change. */
static void batches_init(struct hr__batches *batches, struct hr_arena *arena, struct hr__waiting *waiting,
                         bool remembers) {
  *batches = (struct hr__batches){.arena = arena, .waiting = waiting, .remembers = remembers, .at = before_all};
}

/* Forgets all batches. Called when a new job precedes the last job that was returned. */
static void batches_forget(struct hr__batches *batches) {
  batches->n_known = batches->n_next = batches->n_jobs = 0;
  batches->at = before_all;
}

/* ---- Remembered batches --------------------------------------------------------------------------- */

static bool add_job(struct hr__batches *batches, struct hr_job_entry job) {
  if (batches->n_jobs == batches->jobs_capacity)
    batches->jobs = hr_arena_grown(batches->arena, batches->jobs, &batches->jobs_capacity, sizeof *batches->jobs);
  if (!batches->jobs) return false;
  batches->jobs[batches->n_jobs++] = job;
  batches->known[batches->n_known - 1].n_jobs++;
  return true;
}

/* Adds an empty batch. False: out of memory. */
static bool add_batch(struct hr__batches *batches, struct hr__shape *shape, int64_t value) {
  if (batches->n_known == batches->known_capacity)
    batches->known = hr_arena_grown(batches->arena, batches->known, &batches->known_capacity, sizeof *batches->known);
  if (!batches->known) return false;
  batches->known[batches->n_known++] = (struct hr__batch){shape, value, batches->n_jobs, 0};
  return true;
}

/* Removes jobs that no longer wait from the remembered batches. This includes jobs that have ended; their state may
   have been discarded and then reads as 0. The lists do not grow, so no memory is needed. */
static void retain_waiting(struct hr__batches *batches, const uint8_t *state) {
  uint32_t n_known = batches->n_known;
  batches->n_known = batches->n_jobs = 0;
  for (uint32_t i = 0; i < n_known; i++) {
    struct hr__batch batch = batches->known[i], *last = &batches->known[batches->n_known - (batches->n_known > 0)];
    bool joins = batches->n_known > 0 && last->shape == batch.shape && last->value == batch.value;
    uint32_t first_job = batches->n_jobs;
    for (uint32_t k = 0; k < batch.n_jobs; k++) {
      struct hr_job_entry job = batches->jobs[batch.first_job + k];
      if (state[job.job.id] == HR_JOB_WAITING) batches->jobs[batches->n_jobs++] = job;
    }
    uint32_t n_jobs = batches->n_jobs - first_job;
    if (joins)
      last->n_jobs += n_jobs;
    else if (n_jobs > 0)
      batches->known[batches->n_known++] = (struct hr__batch){batch.shape, batch.value, first_job, n_jobs};
  }
}

/* ---- Walks ---------------------------------------------------------------------------------------- */

static bool batches_make_room(struct hr__batches *batches) {
  if (batches->waiting->n_active <= batches->walks_capacity) return true;
  batches->walks_capacity = 2 * batches->waiting->n_active;
  batches->walks = hr_arena_alloc(batches->arena, batches->walks_capacity * sizeof *batches->walks);
  return batches->walks != NULL;
}

/* Begins the walks after the last job that was returned, or at the first job if no batch is remembered. */
static enum hr_status begin_walks(struct hr__batches *batches) {
  struct hr__waiting *waiting = batches->waiting;
  batches->walking = true;
  batches->n_walks = 0;
  if (!batches_make_room(batches)) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < waiting->n_active; i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    struct hr__walk *walk = &batches->walks[batches->n_walks];
    batches->n_walks += hr__walk_begin(waiting, shape, batches->remembers ? &batches->at : NULL, walk);
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
  if (!batches->remembers) batches->n_known = batches->n_jobs = 0;
  if (!add_batch(batches, walk->shape, value)) return HR_NO_MEMORY;
  do {
    if (!held && !add_job(batches, walk->entry)) return HR_NO_MEMORY;
    status = walk_on(batches, walk, &ended);
  } while (status == HR_OK && !ended && !one_by_one && walk->entry.value == value &&
           hr__entry_before(walk->entry, next));
  return status;
}

/* ---- Returning batches ---------------------------------------------------------------------------- */

/* Begins a pass at the first job. `state`: enum hr_job_state, by job. */
static enum hr_status batches_begin(struct hr__batches *batches, const uint8_t *state) {
  batches->n_next = 0;
  batches->at = before_all;
  batches->walking = false;
  if (!batches->remembers) return begin_walks(batches);
  retain_waiting(batches, state);
  return HR_OK;
}

/* Begins a pass after the last job that was returned. Called only if batches are remembered. */
static void batches_continue(struct hr__batches *batches) {
  batches->walking = false;
}

/* Writes the next batch; an empty batch represents a job that is held back; NULL at the end. If batches are remembered,
   the batch is valid until the next batches_begin, else until the next call. */
static enum hr_status batches_next(struct hr__batches *batches, const struct hr__batch **batch) {
  enum hr_status status = HR_OK;
  *batch = NULL;
  if (!batches->remembers || batches->n_next == batches->n_known) {
    if (!batches->walking) status = begin_walks(batches);
    if (status == HR_OK && batches->n_walks == 0) return HR_OK;
    if (status == HR_OK) status = walk_batch(batches);
    if (status != HR_OK) return status;
    batches->n_next = batches->n_known - 1;
  }
  *batch = &batches->known[batches->n_next++];
  if ((*batch)->n_jobs > 0) batches->at = batches->jobs[(*batch)->first_job + (*batch)->n_jobs - 1];
  return HR_OK;
}

/* Ends a pass. Remembered batches that were not returned are removed. */
static void batches_end(struct hr__batches *batches) {
  batches->n_known = batches->n_next;
  batches->n_jobs = 0;
  if (batches->n_known == 0) return;
  const struct hr__batch *last = &batches->known[batches->n_known - 1];
  batches->n_jobs = last->first_job + last->n_jobs;
}

/* Three functions for the shapes that may have jobs that were not returned yet. batches_shapes returns the number of
   these shapes, and batches_shape returns the i-th one. batches_has returns whether the i-th shape has such a job whose
   limit is at most `bound`. */
static uint32_t batches_shapes(const struct hr__batches *batches) {
  return batches->remembers ? batches->waiting->n_active : batches->n_walks;
}

static const struct hr__shape *batches_shape(const struct hr__batches *batches, uint32_t i) {
  return batches->remembers ? hr__active_shape(batches->waiting, i) : batches->walks[i].shape;
}

static bool batches_has(const struct hr__batches *batches, uint32_t i, int64_t bound) {
  struct hr_job_entry entry;
  if (!batches->remembers) return hr__walk_has(&batches->walks[i], bound);
  return hr__waiting_next(batches->waiting, hr__active_shape(batches->waiting, i), batches->at, bound, &entry);
}

/* ---- The planner ---------------------------------------------------------------------------------- */

/* Number of classes of limits: four for each power of 2. */
enum { LENGTH_CLASSES = 4 * 64 };

/* Maximum number of jobs in a kept plan. More jobs are allowed if many jobs wait (remembers_too_many). */
enum { MAX_REMEMBERED = 4096 };

/* Jobs with a limit of at least length_us cannot start before start_us. */
struct bound {
  int64_t length_us, start_us;
};

/* Lower bounds for the start times of a shape's jobs in the current plan, by class of limit. Reservations only reduce
   free capacity. A job therefore cannot start before a job of the same shape that precedes it in order, and whose limit
   is not longer. The start times in `of` do not decrease from one class to the next longer class. */
struct bounds {
  uint32_t number; /* number of the plan for which the bounds are valid */
  struct bound of[LENGTH_CLASSES];
};

struct planner {
  struct hr__future future; /* first member: listeners of the future find it by queue->backfill_state */
  struct hr__batches batches;
  uint32_t may_start;     /* index of the shape for which some_may_start last returned true */
  struct bounds **bounds; /* by index of the shape */
  /* n_plans: number of plans so far; n_classes: number of classes up to that of the longest limit in the trace */
  uint32_t n_plans, n_classes;
  uint32_t n_shapes, shapes_capacity;
  /* plans can be kept: keys do not change, the policy does not stop running jobs, and the placement rule allows it (see
     the beginning of this file) */
  bool can_keep;
  bool kept;                       /* all events were as planned since the plan was made */
  struct hr__reservations pending; /* reservations of a plan that can be kept */
};

/* ---- Shapes that could start a job now ------------------------------------------------------------ */

static bool shape_may_start(struct planner *planner, uint32_t i) {
  const struct hr__queue *queue = planner->future.queue;
  const struct hr__shape *shape = batches_shape(&planner->batches, i);
  struct hr_need need = hr__need(queue, shape->gpus, shape->kind);
  bool is_empty = hr_need_is_empty(queue->cluster, &need);
  int64_t window = is_empty ? INT64_MAX : hr__future_longest(&planner->future, &need);
  return window > 0 && batches_has(&planner->batches, i, window);
}

/* Returns whether some shape could start a job now. The search begins with the shape that was found last time, which is
   often found again. */
static bool some_may_start(struct planner *planner) {
  uint32_t n_shapes = batches_shapes(&planner->batches), i = planner->may_start;
  for (uint32_t asked = 0; asked < n_shapes; asked++, i++) {
    if (i >= n_shapes) i = 0;
    if (!shape_may_start(planner, i)) continue;
    planner->may_start = i;
    return true;
  }
  return false;
}

/* ---- Pass ----------------------------------------------------------------------------------------- */

/* Allocates bounds for all shapes. False: out of memory. */
static bool grow_bounds(struct hr__queue *queue, struct planner *planner) {
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

/* Returns the bounds of a shape. Bounds of a previous plan are reset. */
static struct bounds *bounds_of(struct planner *planner, const struct hr__shape *shape) {
  struct bounds *bounds = planner->bounds[shape->number];
  if (bounds->number != planner->n_plans) memset(bounds->of, 0, sizeof bounds->of);
  bounds->number = planner->n_plans;
  return bounds;
}

static uint32_t length_class(int64_t length_us) {
  unsigned bits = 63u - (unsigned)__builtin_clzll((unsigned long long)length_us);
  uint64_t next_two = bits >= 2 ? (uint64_t)length_us >> (bits - 2) & 3 : 0;
  return 4 * bits + (uint32_t)next_two;
}

/* Stores that jobs of the shape with a limit of at least `length_us` cannot start before `start_us`. */
static void learn_bound(const struct planner *planner, struct bounds *bounds, int64_t length_us, int64_t start_us) {
  uint32_t class = length_class(length_us);
  struct bound bound = {length_us, start_us};
  for (uint32_t i = class; i < planner->n_classes && bounds->of[i].start_us < start_us; i++, bound.length_us = 0)
    bounds->of[i] = bound;
}

/* Returns a time before which a job with the limit `length_us` cannot start in the current plan. */
static int64_t known_bound(const struct bounds *bounds, int64_t length_us) {
  uint32_t class = length_class(length_us);
  if (length_us >= bounds->of[class].length_us) return bounds->of[class].start_us;
  return class > 0 ? bounds->of[class - 1].start_us : 0;
}

static enum hr_status start(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                            struct hr__shape *shape, struct hr_job_entry job, const struct hr_placement *placement) {
  const struct hr__shape *first = hr__waiting_first(&queue->waiting);
  bool in_order = first && first->head.job.id == job.job.id;
  return hr__queue_start(queue, view, moves, shape, job, placement, in_order ? HR_REASON_IN_ORDER : HR_REASON_BACKFILL);
}

/* Starts all jobs of a reservation at its placement. */
static enum hr_status start_all(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                const struct hr__reservation *due, const struct hr_placement *placement) {
  const struct planner *planner = queue->backfill_state;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < due->n_jobs && status == HR_OK; i++) {
    struct hr_job_entry job = *batches_jobs(&planner->batches, due->first_job + i);
    status = start(queue, view, moves, due->shape, job, placement);
  }
  return status;
}

/* Returns a time before which a demand cannot be placed in the current plan. */
static int64_t bound_of(const struct planner *planner, const struct bounds *bounds,
                        const struct hr__future_demand *demand, int64_t now_us) {
  if (!hr__future_is_monotone(&planner->future, &demand->need)) return now_us;
  int64_t from_us = known_bound(bounds, demand->length_us);
  return from_us < now_us ? now_us : from_us;
}

/* Makes the earliest possible reservation for the first job of `reservation`, and for those of its other jobs that get
   the same time and placement. Reduces `reservation` to these jobs. If the time is now, starts them. A job that cannot
   be placed at any time gets no reservation: it waits for nodes that may come up. */
static enum hr_status reserve_some(struct hr__queue *queue, const struct hr__future_demand *demand,
                                   const struct hr_view *view, struct hr_moves *moves,
                                   struct hr__reservation *reservation) {
  struct planner *planner = queue->backfill_state;
  struct hr__future *future = &planner->future;
  struct bounds *bounds = bounds_of(planner, reservation->shape);
  struct hr_placement placement;
  int64_t from_us = bound_of(planner, bounds, demand, view->now_us);
  enum hr_status status = hr__future_earliest(future, demand, from_us, &reservation->start_us, &placement);
  if (status != HR_OK || reservation->start_us == HR_NEVER_US) return status;
  reservation->n_jobs = hr__future_count_equal(future, demand, &placement, reservation->n_jobs);
  if (!hr__future_reserve(future, demand, reservation->n_jobs, reservation->start_us, &placement)) return HR_NO_MEMORY;
  learn_bound(planner, bounds, demand->length_us, reservation->start_us);
  if (reservation->start_us == view->now_us) return start_all(queue, view, moves, reservation, &placement);
  bool known = !planner->can_keep || hr__reservations_add(&planner->pending, reservation, &placement);
  return known ? HR_OK : HR_NO_MEMORY;
}

/* Makes reservations for the jobs of a batch, in order. `*started`: set if some of these jobs were started. */
static enum hr_status reserve(struct hr__queue *queue, const struct hr__batch *batch, const struct hr_view *view,
                              struct hr_moves *moves, bool *started) {
  struct hr__future_demand demand = {.shape = batch->shape,
                                     .need = hr__need(queue, batch->shape->gpus, batch->shape->kind),
                                     .length_us = batch->value > 0 ? batch->value : 1};
  struct hr__reservation reservation = {view->now_us, batch->shape, .first_job = batch->first_job,
                                        .n_jobs = batch->n_jobs};
  *started = hr_need_is_empty(queue->cluster, &demand.need) && reservation.n_jobs > 0;
  if (*started) return start_all(queue, view, moves, &reservation, &(struct hr_placement){0});
  enum hr_status status = HR_OK;
  for (uint32_t left = batch->n_jobs; left > 0 && status == HR_OK; left -= reservation.n_jobs) {
    reservation.n_jobs = left;
    status = reserve_some(queue, &demand, view, moves, &reservation);
    *started = *started || reservation.start_us == view->now_us;
    reservation.first_job += reservation.n_jobs;
  }
  return status;
}

/* Makes reservations for the jobs after those that already have one, until no remaining job could start now. Keys are
   frozen meanwhile, so starts do not change the order before the plan is complete. */
static enum hr_status extend_plan(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct planner *planner = queue->backfill_state;
  const struct hr__batch *batch;
  enum hr_status status = grow_bounds(queue, planner) ? HR_OK : HR_NO_MEMORY;
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
  if (status == HR_OK) batches_end(&planner->batches);
  return status;
}

/* Makes a new plan. First starts, without reservations, the jobs before the first job that does not fit. */
static enum hr_status make_plan(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct planner *planner = queue->backfill_state;
  struct hr__shape *blocked;
  enum hr_status status = hr__queue_start_in_order(queue, view, moves, &blocked);
  if (status != HR_OK || !blocked) return status;
  queue->head = blocked->head.job;
  hr__reservations_clear(&planner->pending);
  planner->n_plans++;
  if (hr__future_begin(&planner->future, view->now_us) != HR_OK) return HR_NO_MEMORY;
  queue->frozen = true;
  status = batches_begin(&planner->batches, view->state);
  if (status == HR_OK) status = extend_plan(queue, view, moves);
  queue->frozen = false;
  hr__future_end(&planner->future);
  planner->kept = planner->can_keep;
  return status == HR_OK ? hr__queue_refresh(queue, view) : status;
}

/* ---- Kept plans ----------------------------------------------------------------------------------- */

static enum hr_status start_due(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct planner *planner = queue->backfill_state;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < planner->pending.n_due && status == HR_OK; i++) {
    struct hr_placement placement;
    const struct hr__reservation *due = hr__reservations_due(&planner->pending, i, &placement);
    status = start_all(queue, view, moves, due, &placement);
  }
  return status;
}

static enum hr_status continue_plan(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct planner *planner = queue->backfill_state;
  enum hr_status status = start_due(queue, view, moves);
  if (status != HR_OK) return status;
  batches_continue(&planner->batches);
  status = extend_plan(queue, view, moves);
  planner->kept = true;
  return status;
}

/* Computes the GPUs of the reservations that start now, by bin. */
static void count_due(const struct planner *planner, int64_t *due_gpus) {
  memset(due_gpus, 0, planner->future.profile.n_bins * sizeof *due_gpus);
  for (uint32_t i = 0; i < planner->pending.n_due; i++) {
    struct hr_placement placement;
    const struct hr__reservation *due = hr__reservations_due(&planner->pending, i, &placement);
    hr__profile_count_gpus(&placement, due->shape->gpus, due->n_jobs, due_gpus);
  }
}

/* Returns whether the plan can be continued: free capacity is as planned, and no reservation is overdue. */
static bool is_as_planned(struct planner *planner, int64_t now_us) {
  if (!planner->kept || !hr__reservations_advance(&planner->pending, now_us)) return false;
  count_due(planner, planner->future.profile.per_bin);
  return hr__cluster_profile_matches(&planner->future.profile, now_us, planner->future.profile.per_bin);
}

/* Returns whether the plan should be replaced because it contains too many jobs that were already started. The new plan
   has the same reservations, but contains waiting jobs only. Without this limit, if all jobs end as planned, the plan
   would finally contain all jobs of the trace. */
static bool remembers_too_many(const struct planner *planner, const struct hr_view *view) {
  uint32_t n_jobs = planner->batches.n_jobs;
  return n_jobs > MAX_REMEMBERED && n_jobs / 8 > view->n_waiting;
}

/* `kept` is set to true again by continue_plan, and by make_plan if it makes a complete plan. If make_plan starts all
   waiting jobs, no reservations exist, and no plan needs to be kept. */
static enum hr_status pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct planner *planner = queue->backfill_state;
  bool continues = is_as_planned(planner, view->now_us) && !remembers_too_many(planner, view);
  planner->kept = false;
  return continues ? continue_plan(queue, view, moves) : make_plan(queue, view, moves);
}

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct planner *planner = queue->backfill_state;
  if (!planner->batches.remembers) return HR_OK;
  struct hr_job_entry entry = {queue->order->key(queue, view, job), job, 0};
  if (!hr__entry_before(entry, planner->batches.at)) return HR_OK;
  planner->kept = false;
  batches_forget(&planner->batches);
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

/* Returns whether the keys of the order never change. This is the case if the order has none of the functions that
   update its state. */
static bool keys_stay(const struct hr__queue *queue) {
  const struct hr__order *order = queue->order;
  return !order->listener && !order->running_key && !order->begin_pass && !order->refresh && !order->end_pass &&
         !queue->waiting.full_key;
}

/* Returns whether plans can be kept. For the condition on placement rules see the beginning of this file. */
static bool may_keep(const struct hr__queue *queue) {
  bool in_first_place = queue->rule == HR_PLACE_FIRST_FIT || queue->rule == HR_PLACE_POOL;
  return in_first_place && !queue->stops && !queue->preemptor && !queue->by_gpu && !queue->locality;
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
  queue->backfill_state = planner;
  if (hr__future_init(&planner->future, queue, env) != HR_OK) return HR_NO_MEMORY;
  planner->pending.arena = env->arena;
  planner->n_classes = count_classes(env);
  /* a job whose topology constraint expires gets another shape, which remembered batches do not notice */
  bool remembers = keys_stay(queue) && !queue->locality_expires;
  planner->can_keep = remembers && may_keep(queue);
  batches_init(&planner->batches, env->arena, &queue->waiting, remembers);
  if (remembers) hr__queue_add_listener(queue, &listener);
  return HR_OK;
}

const struct hr__backfill hr__backfill_conservative = {
    .by_shape = true, .value = hr_trace_limit_us, .create = create, .pass = pass, .walks = true};
