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
 * (hr__future_is_regular), a partial plan is made (first part of this file). It contains only the reservations that
 * determine which jobs start now, and is kept between passes if possible. Otherwise a full plan is made in each pass.
 *
 * A full plan is complete when none of the remaining jobs could start now, even without the reservations of other
 * remaining jobs. A job of a shape can start now only if its limit does not exceed the longest window from now on in
 * which enough GPUs are free. Whether a remaining job satisfies this condition is checked after each start, and
 * otherwise after increasing numbers of batches of equal jobs.
 */

#include "policies/queue/backfill/backfill.h"
#include "policies/queue/waiting.h"

#include <string.h>

/* Returns whether an admission limit blocks the subqueue of the walk's current job now. */
static inline bool walk_is_held(const struct hr__waiting *waiting, const struct hr__walk *walk) {
  struct hr__admission_limit limit;
  return waiting->admission.is_held &&
         waiting->admission.is_held(waiting->self, walk->shape->cursors[0].subqueue, &limit);
}

/* Adds the GPUs of a job to the counts `per_bin`. */
static inline void profile_count_gpus(const struct hr_placement *placement, uint32_t gpus, int64_t *per_bin) {
  if (placement->n_slices == 0) per_bin[hr__profile_bin(placement, 0)] += gpus;
  for (uint32_t i = 0; i < placement->n_slices; i++)
    per_bin[hr__profile_bin(placement, i)] += placement->slices[i].gpu_milli / 1000;
}

/* Returns the i-th due reservation, and its placement. */
static inline const struct hr__reservation *reservations_due(const struct hr__reservations *all, uint32_t i,
                                                             struct hr_placement *placement) {
  const struct hr__reservation *due = &all->reservation[all->due[i]];
  *placement = (struct hr_placement){due->pool, due->n_slices, due->n_slices ? all->slices + due->first_slice : NULL};
  return due;
}

/* Starts a job of a plan: the reason depends on whether it is the first waiting job. */
static inline enum hr_status start_planned(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                           struct hr__shape *shape, struct hr_job_entry job,
                                           const struct hr_placement *placement) {
  const struct hr__shape *first = hr__waiting_first(&queue->waiting);
  bool in_order = first && first->head.job.id == job.job.id;
  return hr__queue_start(queue, view, moves, shape, job, placement, in_order ? HR_REASON_IN_ORDER : HR_REASON_BACKFILL);
}

/* ---- Partial plans ---------------------------------------------------------------------------------- */

/*
 * A full plan makes reservations for all waiting jobs, in order, each at the earliest time at which the job fits beside
 * the previous reservations. A pass only has to find the reservations that begin now. Most other reservations do not
 * affect these: a long job far back in the queue cannot start within the next hours, and a short job that could start
 * now does not depend on what happens after its limit. So a partial plan makes a reservation only if another
 * reservation depends on it.
 *
 * Terms: an open job is a waiting job without a reservation. A level states what is known about open jobs: no open job
 * that precedes the job `before` in order starts before `until_us`.
 *
 * Invariant: the reservation of a job from s to e is made only if it is final, that is, if all open jobs that precede
 * the job start at e or later. These open jobs then do not affect the reservation. Conversely, the reservation does not
 * affect them, because it ends before they start. So each open job finally gets the same reservation as in a full plan.
 *
 * Search: the candidate is the first job in order that fits from now until its limit. A goal is a level that is not
 * known yet, but must be achieved. The goal for the candidate is that no open job that precedes it starts before the
 * candidate would end. To achieve this goal, the open jobs that precede the candidate are examined in order, and those
 * that would start earlier get reservations. If the reservation of such a job would end after the time of the goal, it
 * is not known whether it is final. In this case a new goal is pushed on a stack and achieved first: no open job that
 * precedes the job of this reservation starts before the end of the reservation. When the goal for the candidate is
 * achieved, the candidate starts if it still fits now. Then the next candidate is searched.
 *
 * Jobs that are too long to start before a goal are not visited. Searches for other jobs of their shape have found
 * lower bounds for their starts (hr__future_too_long), so the queue is searched only for jobs with shorter limits.
 *
 * Kept plans: as long as all jobs end at their limits and new jobs are last in order, a new plan would make the same
 * reservations again. Each of them is still the earliest possible after the reservations before it. There is one
 * difference. A job that started before a job that precedes it in order is now a running job, so a new plan subtracts
 * its capacity first. This does not delay the reservation of the preceding job. It also does not change the first node
 * with room for the preceding job, but it may change which node is the fullest or the emptiest. Plans are therefore
 * kept only under the placements `first-fit` and `pool`. If the plan is kept, the next pass continues where the
 * previous pass ended. A new plan is made after any other event: a job ends before its limit or runs beyond it, a new
 * job precedes the job `before` of a level, or a job is rejected.
 */

/* A level: no open job that precedes the job `before` starts before `until_us`. If the level is a goal, this must still
   be achieved. */
struct plan_level {
  struct hr_job_entry before;
  int64_t until_us;
};

/* The next job of a shape in a search. */
struct plan_cursor {
  struct hr_job_entry job;
  int64_t longest_us; /* limit up to which jobs are visited */
  bool found;
};

/* Maximum number of reservations in a kept plan. More are allowed if many jobs wait (remembers_too_many). */
enum { MAX_KEPT = 4096 };

struct hr__partial_plan {
  struct hr__queue *queue;
  struct hr__future *future;
  uint32_t number;           /* number of the current plan */
  uint32_t *reserved_in;     /* by job: number of the last plan in which the job got a reservation */
  struct plan_level *levels; /* in order of `before`, with decreasing until_us */
  struct plan_level *goals;  /* a stack */
  /* by number of the shape: the next job of the walk for the top goal, and the next candidate */
  struct plan_cursor *walks, *candidates;
  /* no open job that precedes the next job of the walk starts before this time */
  int64_t walked_until_us;
  uint32_t n_levels, n_goals, levels_capacity, goals_capacity, walks_capacity, candidates_capacity;
  bool can_keep;
  bool kept;                       /* all events were as planned since the plan was made */
  struct hr__reservations pending; /* reservations of a plan that can be kept */
};

/* Creates a plan. `can_keep`: the plan may be kept between passes (see may_keep). NULL: out of memory. */
static struct hr__partial_plan *partial_plan_create(struct hr__queue *queue, struct hr__future *future,
                                                    const struct hr_policy_env *env, bool can_keep) {
  struct hr__partial_plan *plan = hr_arena_alloc(env->arena, sizeof *plan);
  if (!plan) return NULL;
  *plan =
      (struct hr__partial_plan){.queue = queue, .future = future, .can_keep = can_keep, .pending.arena = env->arena};
  return HR__ARENA_ARRAY_BY_JOB(env->arena, plan->reserved_in, env->jobs->n_jobs) ? plan : NULL;
}

static const struct hr_job_entry before_all = {INT64_MIN, {0}, 0};

/* Returns an entry directly before the entry of a job, so that a search after it finds the job. */
static struct hr_job_entry just_before(struct hr_job_entry job) {
  if (job.job.id > 0) return (struct hr_job_entry){job.key, {job.job.id - 1}, 0};
  return job.key > INT64_MIN ? (struct hr_job_entry){job.key - 1, {UINT32_MAX}, 0} : before_all;
}

static struct hr__future_demand demand_of(const struct hr__queue *queue, const struct hr__shape *shape, int64_t value) {
  return (struct hr__future_demand){
      .shape = shape, .need = hr__need(queue, shape->gpus, shape->kind), .length_us = value > 0 ? value : 1};
}

/* ---- Partial plans: levels -------------------------------------------------------------------------- */

/* Returns the number of levels with a time of at least `until_us`. These are the first levels. */
static uint32_t levels_up_to(const struct hr__partial_plan *plan, int64_t until_us) {
  uint32_t low = 0, high = plan->n_levels;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (plan->levels[middle].until_us >= until_us)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Returns whether a level implies that no open job that precedes `job` starts before `until_us`. */
static bool is_known(const struct hr__partial_plan *plan, struct hr_job_entry job, int64_t until_us) {
  uint32_t n = levels_up_to(plan, until_us);
  return n > 0 && !hr__entry_before(plan->levels[n - 1].before, job);
}

/* Adds a level, and removes the levels that it implies. False: out of memory. */
static bool add_level(struct hr__partial_plan *plan, const struct plan_level *level) {
  if (is_known(plan, level->before, level->until_us)) return true;
  uint32_t first = levels_up_to(plan, level->until_us + 1), end = first;
  while (end < plan->n_levels && !hr__entry_before(level->before, plan->levels[end].before)) end++;
  if (end == first) {
    if (!HR__ARENA_HAS_ROOM(plan->queue->arena, plan->levels, plan->n_levels, plan->levels_capacity)) return false;
  }
  memmove(plan->levels + first + 1, plan->levels + end, (plan->n_levels - end) * sizeof *plan->levels);
  plan->levels[first] = *level;
  plan->n_levels = plan->n_levels - (end - first) + 1;
  return true;
}

static bool push_goal(struct hr__partial_plan *plan, struct hr_job_entry before, int64_t until_us) {
  if (!HR__ARENA_HAS_ROOM(plan->queue->arena, plan->goals, plan->n_goals, plan->goals_capacity)) return false;
  plan->goals[plan->n_goals++] = (struct plan_level){before, until_us};
  return true;
}

/* ---- Partial plans: searches in the queue ----------------------------------------------------------- */

/* Finds the first open job of the shape after `after` with a limit of at most cursor->longest_us. */
static void find_next(struct hr__partial_plan *plan, struct hr__shape *shape, struct hr_job_entry after,
                      struct plan_cursor *cursor) {
  struct hr__waiting *waiting = &plan->queue->waiting;
  cursor->job = after;
  do cursor->found = hr__waiting_next(waiting, shape, cursor->job, cursor->longest_us, &cursor->job);
  while (cursor->found && plan->reserved_in[cursor->job.job.id] == plan->number);
}

/* Returns the shape with the first job in order of all cursors; NULL: none. */
static struct hr__shape *first_of(const struct hr__partial_plan *plan, const struct plan_cursor *cursors) {
  const struct hr__waiting *waiting = &plan->queue->waiting;
  struct hr__shape *first = NULL;
  for (uint32_t i = 0; i < waiting->n_active; i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    if (!cursors[shape->number].found) continue;
    if (!first || hr__entry_before(cursors[shape->number].job, cursors[first->number].job)) first = shape;
  }
  return first;
}

/* ---- Partial plans: goals --------------------------------------------------------------------------- */

/* Begins a walk over the jobs that must be examined for a goal: the open jobs that are not too long to start before the
   goal. Jobs that precede the job `before` of a level with at least the time of the goal are omitted. */
static void begin_walk(struct hr__partial_plan *plan, const struct plan_level *goal) {
  const struct hr__waiting *waiting = &plan->queue->waiting;
  uint32_t n = levels_up_to(plan, goal->until_us);
  struct hr_job_entry after = n > 0 ? just_before(plan->levels[n - 1].before) : before_all;
  plan->walked_until_us = n > 0 ? plan->levels[n - 1].until_us : HR_NEVER_US;
  for (uint32_t i = 0; i < waiting->n_active; i++) {
    struct hr__shape *shape = hr__active_shape(waiting, i);
    int64_t bound_us;
    int64_t too_long_us = hr__future_too_long(plan->future, shape, goal->until_us, &bound_us);
    if (bound_us < plan->walked_until_us) plan->walked_until_us = bound_us;
    plan->walks[shape->number].longest_us = too_long_us == INT64_MAX ? INT64_MAX : too_long_us - 1;
    find_next(plan, shape, after, &plan->walks[shape->number]);
  }
}

/* Makes a reservation for a job. If it begins now, starts the job. */
static enum hr_status reserve(struct hr__partial_plan *plan, const struct hr__future_demand *demand,
                              const struct hr__reservation *reservation, const struct hr_placement *placement,
                              const struct hr_view *view, struct hr_moves *moves) {
  if (!hr__future_reserve(plan->future, demand, 1, reservation->start_us, placement)) return HR_NO_MEMORY;
  if (reservation->start_us == view->now_us)
    return start_planned(plan->queue, view, moves, reservation->shape, reservation->job, placement);
  plan->reserved_in[reservation->job.job.id] = plan->number;
  return !plan->can_keep || hr__reservations_add(&plan->pending, reservation, placement) ? HR_OK : HR_NO_MEMORY;
}

/* Examines the next job of the walk for a goal. If the job would start before the time of the goal, and its reservation
   is final, makes the reservation. If the reservation is not final, pushes the goal that must be achieved first, and
   sets `*achieved` to false. */
static enum hr_status examine(struct hr__partial_plan *plan, const struct plan_level *goal, struct hr__shape *shape,
                              const struct hr_view *view, struct hr_moves *moves, bool *achieved) {
  struct plan_cursor *cursor = &plan->walks[shape->number];
  struct hr__reservation reservation = {.shape = shape, .job = cursor->job};
  struct hr__future_demand demand = demand_of(plan->queue, shape, cursor->job.value);
  struct hr_placement placement;
  enum hr_status status = hr__future_earliest(plan->future, &demand, &reservation.start_us, &placement);
  if (status != HR_OK) return status;
  if (reservation.start_us >= goal->until_us) {
    cursor->longest_us = cursor->job.value - 1;
    if (reservation.start_us < plan->walked_until_us) plan->walked_until_us = reservation.start_us;
  } else {
    int64_t end_us = reservation.start_us + demand.length_us;
    *achieved = end_us <= goal->until_us || end_us <= plan->walked_until_us || is_known(plan, cursor->job, end_us);
    if (!*achieved) return push_goal(plan, cursor->job, end_us) ? HR_OK : HR_NO_MEMORY;
    status = reserve(plan, &demand, &reservation, &placement, view, moves);
  }
  if (status == HR_OK) find_next(plan, shape, cursor->job, cursor);
  return status;
}

/* Achieves the goal that no open job that precedes the job `before` starts before `until_us`. */
static enum hr_status achieve(struct hr__partial_plan *plan, struct hr_job_entry before, int64_t until_us,
                              const struct hr_view *view, struct hr_moves *moves) {
  enum hr_status status = push_goal(plan, before, until_us) ? HR_OK : HR_NO_MEMORY;
  while (plan->n_goals > 0 && status == HR_OK) {
    struct plan_level goal = plan->goals[plan->n_goals - 1];
    struct hr__shape *shape;
    bool achieved = true;
    begin_walk(plan, &goal);
    while (status == HR_OK && achieved && (shape = first_of(plan, plan->walks)) &&
           hr__entry_before(plan->walks[shape->number].job, goal.before))
      status = examine(plan, &goal, shape, view, moves, &achieved);
    if (status != HR_OK || !achieved) continue;
    plan->n_goals--;
    if (!add_level(plan, &goal)) status = HR_NO_MEMORY;
  }
  return status;
}

/* ---- Partial plans: candidates ---------------------------------------------------------------------- */

/* Returns an upper bound for the limit of a job of the shape that can start now. */
static int64_t longest_now(struct hr__future *future, const struct hr__shape *shape) {
  struct hr_need need = hr__need(future->queue, shape->gpus, shape->kind);
  return hr_need_is_empty(future->queue->cluster, &need) ? INT64_MAX : hr__future_longest(future, &need);
}

/* Finds the first job of the shape after `after` that may start now. */
static void find_candidate(struct hr__partial_plan *plan, struct hr__shape *shape, struct hr_job_entry after) {
  struct plan_cursor *candidate = &plan->candidates[shape->number];
  candidate->longest_us = longest_now(plan->future, shape);
  candidate->found = false;
  if (candidate->longest_us > 0) find_next(plan, shape, after, candidate);
}

/* Returns the shape with the first candidate in order that may still start now; NULL: none. Reservations that were made
   after a candidate was found may prevent it from starting now; such a candidate is replaced. */
static struct hr__shape *first_candidate(struct hr__partial_plan *plan) {
  struct hr__shape *shape;
  while ((shape = first_of(plan, plan->candidates))) {
    const struct plan_cursor *candidate = &plan->candidates[shape->number];
    bool waits = plan->reserved_in[candidate->job.job.id] != plan->number;
    if (waits && candidate->job.value <= longest_now(plan->future, shape)) return shape;
    find_candidate(plan, shape, candidate->job);
  }
  return NULL;
}

/* Starts the candidate of a shape if its reservation begins now, and finds the next candidate of the shape. */
static enum hr_status try_candidate(struct hr__partial_plan *plan, struct hr__shape *shape, const struct hr_view *view,
                                    struct hr_moves *moves) {
  struct hr__queue *queue = plan->queue;
  struct hr__reservation reservation = {.shape = shape, .job = plan->candidates[shape->number].job};
  struct hr__future_demand demand = demand_of(queue, shape, reservation.job.value);
  struct hr_placement placement = {0};
  enum hr_status status;
  if (hr_need_is_empty(queue->cluster, &demand.need)) {
    status = start_planned(queue, view, moves, shape, reservation.job, &placement);
  } else {
    status = achieve(plan, reservation.job, view->now_us + demand.length_us, view, moves);
    if (status == HR_OK) status = hr__future_earliest(plan->future, &demand, &reservation.start_us, &placement);
    if (status == HR_OK && reservation.start_us == view->now_us)
      status = reserve(plan, &demand, &reservation, &placement, view, moves);
  }
  if (status == HR_OK) find_candidate(plan, shape, reservation.job);
  return status;
}

/* Starts, in order, all jobs with reservations that begin now. */
static enum hr_status partial_plan_start_jobs(struct hr__partial_plan *plan, const struct hr_view *view,
                                              struct hr_moves *moves) {
  struct hr__queue *queue = plan->queue;
  uint32_t n_shapes = queue->waiting.n_shapes;
  enum hr_status status = HR_OK;
  if (!HR__ARENA_HAS_ROOM_FOR(queue->arena, plan->walks, n_shapes, plan->walks_capacity) ||
      !HR__ARENA_HAS_ROOM_FOR(queue->arena, plan->candidates, n_shapes, plan->candidates_capacity))
    return HR_NO_MEMORY;
  for (uint32_t i = 0; i < queue->waiting.n_active; i++)
    find_candidate(plan, hr__active_shape(&queue->waiting, i), before_all);
  for (uint32_t n_started = 0; status == HR_OK;) {
    struct hr__shape *shape = first_candidate(plan);
    struct hr_placement placement;
    const struct hr__reservation *due =
        n_started < plan->pending.n_due ? reservations_due(&plan->pending, n_started, &placement) : NULL;
    if (due && (!shape || hr__entry_before(due->job, plan->candidates[shape->number].job))) {
      status = start_planned(queue, view, moves, due->shape, due->job, &placement);
      n_started++;
    } else if (shape) {
      status = try_candidate(plan, shape, view, moves);
    } else {
      break;
    }
  }
  plan->pending.n_due = 0;
  plan->kept = plan->can_keep;
  return status;
}

/* ---- Partial plans: plans --------------------------------------------------------------------------- */

/* Begins a new plan. The caller has begun the plan of the future, and calls partial_plan_start_jobs next. */
static void partial_plan_begin(struct hr__partial_plan *plan) {
  plan->pending.n_reservations = plan->pending.n_heap = plan->pending.n_due = plan->pending.n_slices = 0;
  plan->n_levels = plan->n_goals = 0;
  plan->number++;
}

/* Returns whether free capacity is as planned, and no reservation is overdue. */
static bool is_as_planned(struct hr__partial_plan *plan, int64_t now_us) {
  struct hr__cluster_profile *profile = &plan->future->profile;
  if (!plan->kept || !hr__reservations_advance(&plan->pending, now_us)) return false;
  memset(profile->per_bin, 0, profile->n_bins * sizeof *profile->per_bin);
  for (uint32_t i = 0; i < plan->pending.n_due; i++) {
    struct hr_placement placement;
    const struct hr__reservation *due = reservations_due(&plan->pending, i, &placement);
    profile_count_gpus(&placement, due->shape->gpus, profile->per_bin);
  }
  return hr__cluster_profile_matches(profile, now_us, profile->per_bin);
}

/* Returns whether the plan should be replaced because it contains too many jobs that were already started. The new plan
   has the same reservations, but contains waiting jobs only. Without this limit, if all jobs end as planned, the plan
   would finally contain all jobs of the trace. */
static bool remembers_too_many(const struct hr__partial_plan *plan, const struct hr_view *view) {
  uint32_t n = plan->pending.n_reservations;
  return n > MAX_KEPT && n / 8 > view->n_waiting;
}

/* Returns whether the plan can be continued, because everything has been as planned since it was begun. If so, advances
   it to now. Resets plan->kept, which partial_plan_start_jobs sets again. */
static bool partial_plan_continues(struct hr__partial_plan *plan, const struct hr_view *view) {
  bool continues = is_as_planned(plan, view->now_us) && !remembers_too_many(plan, view);
  if (continues) plan->future->now_us = view->now_us;
  plan->kept = false;
  return continues;
}

/* ---- Conservative backfilling ----------------------------------------------------------------------- */

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
  if (!HR__ARENA_HAS_ROOM(batches->arena, batches->jobs, batches->batch.n_jobs, batches->jobs_capacity)) return false;
  batches->jobs[batches->batch.n_jobs++] = job;
  return true;
}

/* Begins at the first job in order. */
static enum hr_status batches_begin(struct hr__batches *batches) {
  struct hr__waiting *waiting = batches->waiting;
  batches->n_walks = 0;
  if (!HR__ARENA_HAS_ROOM_FOR(batches->arena, batches->walks, waiting->n_active, batches->walks_capacity))
    return HR_NO_MEMORY;
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
  bool one_by_one = batches->waiting->admission.is_held != NULL, held = walk_is_held(batches->waiting, walk), ended;
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

/* Writes the next batch to `*batch`; NULL if no batch is left. The batch is valid until the next call. An empty batch
   represents a job that is held back. */
static enum hr_status batches_next(struct hr__batches *batches, const struct hr__batch **batch) {
  *batch = NULL;
  if (batches->n_walks == 0) return HR_OK;
  enum hr_status status = walk_batch(batches);
  if (status == HR_OK) *batch = &batches->batch;
  return status;
}

/* ---- The planner ------------------------------------------------------------------------------------ */

struct planner {
  /* first member, because listeners of the future use queue->backfill_state as a pointer to it */
  struct hr__future future;
  struct hr__partial_plan *partial; /* NULL: plans are full */
  struct hr__batches batches;
  uint32_t may_start; /* index of the walk for which some_may_start last returned true */
};

/* ---- Shapes that could start a job now -------------------------------------------------------------- */

static bool shape_may_start(struct planner *planner, uint32_t i) {
  const struct hr__walk *walk = &planner->batches.walks[i];
  int64_t window = longest_now(&planner->future, walk->shape);
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

/* ---- Full plans ------------------------------------------------------------------------------------- */

/* Equal jobs: `count` jobs of the current batch, from index `first` on. */
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
    status = start_planned(queue, view, moves, equal->shape, job, placement);
  }
  return status;
}

/* Makes the earliest possible reservation for the first of some equal jobs, and for as many of the following jobs as
   get the same time and placement. Reduces equal->count to the number of these jobs. If the time is now, starts them. A
   job that cannot be placed at any time gets no reservation: it waits for nodes that may come up. */
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
static enum hr_status reserve_batch(struct hr__queue *queue, const struct hr__batch *batch, const struct hr_view *view,
                                    struct hr_moves *moves, bool *started) {
  struct hr__future_demand demand = demand_of(queue, batch->shape, batch->value);
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
    status = reserve_batch(queue, batch, view, moves, &started);
    if (started) next_asked = reservation;
  }
  return status;
}

/* ---- Pass ------------------------------------------------------------------------------------------- */

/* Makes a new plan. First starts, without reservations, the jobs before the first job that does not fit. Keys are not
   updated while the plan is made, so starts do not change the order before the plan is complete. */
static enum hr_status make_plan(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct planner *planner = queue->backfill_state;
  struct hr__shape *blocked;
  enum hr_status status = hr__queue_start_in_order(queue, view, moves, &blocked);
  if (status != HR_OK || !blocked) return status;
  queue->head = blocked->head.job;
  if (hr__future_begin(&planner->future, view->now_us) != HR_OK) return HR_NO_MEMORY;
  queue->frozen = true;
  if (planner->partial) {
    partial_plan_begin(planner->partial);
    status = partial_plan_start_jobs(planner->partial, view, moves);
  } else {
    status = make_full_plan(queue, view, moves);
  }
  queue->frozen = false;
  hr__future_end(&planner->future);
  return status == HR_OK ? hr__queue_refresh(queue, view) : status;
}

static enum hr_status pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  const struct planner *planner = queue->backfill_state;
  if (planner->partial && partial_plan_continues(planner->partial, view))
    return partial_plan_start_jobs(planner->partial, view, moves);
  return make_plan(queue, view, moves);
}

/* ---- Events that end a kept plan -------------------------------------------------------------------- */

static struct hr__partial_plan *partial_plan_of(const struct hr__queue *queue) {
  const struct planner *planner = queue->backfill_state;
  return planner->partial;
}

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr__partial_plan *plan = partial_plan_of(queue);
  struct hr_job_entry entry = {queue->order->key(queue, view, job), job, 0};
  if (plan->n_levels > 0 && hr__entry_before(entry, plan->levels[plan->n_levels - 1].before)) plan->kept = false;
  return HR_OK;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  int64_t limit_us = hr_trace_limit_us(queue->trace, event->job);
  int64_t planned_us = view->attempt_us[event->job.id] + (limit_us > 0 ? limit_us : 1);
  if (event->kind != HR_EVENT_END || view->now_us != planned_us) partial_plan_of(queue)->kept = false;
  return HR_OK;
}

static enum hr_status job_rejected(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)view;
  (void)job;
  partial_plan_of(queue)->kept = false;
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

/* Returns whether plans can be kept. The condition on placement rules is explained above (kept plans). If the topology
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
  planner->partial = partial_plan_create(queue, &planner->future, env, may_keep(queue));
  if (!planner->partial) return HR_NO_MEMORY;
  if (may_keep(queue)) hr__queue_add_listener(queue, &listener);
  return HR_OK;
}

const struct hr__backfill hr__backfill_conservative = {
    .by_shape = true, .value = hr_trace_limit_us, .create = create, .pass = pass, .walks = true};
