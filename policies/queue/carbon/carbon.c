/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that wait for electricity with less carbon or, under the rule all-wait, for reserved capacity. Replicas of
 * services are never held, because they have no end of their own and serve requests at all times. A job that begins to
 * wait is held until its planned start; only then is it added to the queue, where the order and the backfill treat it
 * like any other job. If `early` is set, a held job starts before its planned start if it fits on free capacity that is
 * paid for anyway. Under the rules wait-awhile and ecovisor, running jobs are stopped when the intensity rises, keep
 * their work, and are held again.
 *
 * Layout: columns by job; a heap of (time, job) for the next change of each held or running job; a list of held jobs in
 * the order in which they were held. An entry of the heap is valid if its time is that of the column `due_us`.
 *
 * Invariant: a job is at most at one of these places: in the list of held jobs, in the queue, or among the running
 * jobs.
 *
 * Times of runs count from the first submit; plans are made in UTC (`begin_us`). If the forecast has errors, plans use
 * a copy of the series with noise, as in Let's Wait Awhile. The emissions are always computed from the series itself.
 */

#include "policies/queue/carbon/carbon.h"

#include "base/random.h"
#include "policies/queue/dispatch.h"
#include "policies/queue/quota/quota.h"

struct due {
  int64_t at_us;
  uint32_t job;
};

struct freed {
  int64_t at_us;
  hr_pool pool;
  uint64_t gpus;
};

struct hr__carbon {
  enum hr__carbon_rule rule;
  enum hr__carbon_deadline deadline;
  /* by_average: the expected run time of a job is average_us, not its estimate. early: held jobs start when they fit on
     free capacity that is paid for anyway */
  bool by_average, early;
  int64_t wait_us, short_wait_us, short_us, step_us, lookahead_us;
  double quantile;
  const struct hr_series **series; /* by pool: the carbon intensity with which plans are made; NULL: unknown */
  /* by pool: a series with noise that this module owns, at the first pool with the original series; else NULL */
  struct hr_series **noisy;
  uint32_t n_pools;
  int64_t *begin_us;         /* by pool: the UTC time in the series at which the run begins */
  int64_t average_us[2];     /* mean run times: [0] of long jobs, [1] of short jobs */
  int64_t *due_us;           /* by job: when it is released or paused; HR_NEVER_US: never */
  uint32_t *next, *previous; /* by job: the list of held jobs; HR_NONE at its ends */
  bool *held;                /* by job */
  uint32_t first, last, n_held;
  /* by job, for rules that interrupt jobs; NULL otherwise. forced_us: time by which the job must end; with Ecovisor,
     the time for which the job may still pause. since_us: time at which the job was last held */
  struct hr__carbon_slots *slots;
  int64_t *forced_us, *since_us;
  uint32_t *pool; /* by job: the pool with its series; HR_NONE: it does not wait for carbon */
  struct hr__carbon_parts parts;
  struct due *heap;
  uint32_t n_heap, heap_capacity;
  int64_t wake_us;
  /* capacity in pools that are paid for anyway, which became free within the last `lag_us`; not usable by held jobs */
  struct freed *freed;
  uint32_t first_freed, n_freed, freed_capacity;
  int64_t lag_us;
};

static bool rule_interrupts(enum hr__carbon_rule rule) {
  return rule == HR__CARBON_INTERRUPTIBLE || rule == HR__CARBON_ECOVISOR;
}

static bool interrupts(const struct hr__carbon *carbon) {
  return rule_interrupts(carbon->rule);
}

bool hr__carbon_stops(const struct hr__queue *queue) {
  return queue->carbon && interrupts(queue->carbon);
}

bool hr__carbon_stops_jobs(const struct hr_policy_env *env) {
  return rule_interrupts((enum hr__carbon_rule)hr__queue_param(env, "carbon")->integer);
}

/* ---- The heap ----------------------------------------------------------------------------------------- */

static bool is_before(const void *self, struct due a, struct due b) {
  (void)self;
  return a.at_us != b.at_us ? a.at_us < b.at_us : a.job < b.job;
}

HR__HEAP(dues, struct due, is_before)

static bool push(struct hr__queue *queue, hr_job job, int64_t at_us) {
  struct hr__carbon *carbon = queue->carbon;
  carbon->due_us[job.id] = at_us;
  if (at_us == HR_NEVER_US) return true;
  if (!HR__ARENA_HAS_ROOM(queue->arena, carbon->heap, carbon->n_heap, carbon->heap_capacity)) return false;
  dues_rise(carbon->heap, carbon->n_heap++, (struct due){at_us, job.id}, NULL);
  return true;
}

static void pop(struct hr__carbon *carbon) {
  struct due last = carbon->heap[--carbon->n_heap];
  dues_sink(carbon->heap, carbon->n_heap, last, NULL);
}

/* Returns the first valid entry; NULL: none. */
static const struct due *first_due(struct hr__carbon *carbon) {
  while (carbon->n_heap && carbon->due_us[carbon->heap[0].job] != carbon->heap[0].at_us) pop(carbon);
  return carbon->n_heap ? &carbon->heap[0] : NULL;
}

/* ---- The list of held jobs ---------------------------------------------------------------------------- */

static void hold(struct hr__carbon *carbon, hr_job job) {
  carbon->held[job.id] = true;
  carbon->previous[job.id] = carbon->last;
  carbon->next[job.id] = HR_NONE;
  if (carbon->last == HR_NONE)
    carbon->first = job.id;
  else
    carbon->next[carbon->last] = job.id;
  carbon->last = job.id;
  carbon->n_held++;
}

static void unhold(struct hr__carbon *carbon, hr_job job) {
  uint32_t next = carbon->next[job.id], previous = carbon->previous[job.id];
  carbon->held[job.id] = false;
  if (previous == HR_NONE)
    carbon->first = next;
  else
    carbon->next[previous] = next;
  if (next == HR_NONE)
    carbon->last = previous;
  else
    carbon->previous[next] = previous;
  carbon->n_held--;
}

/* ---- Plans -------------------------------------------------------------------------------------------- */

/* Returns the first pool that the job accepts and that has a series; HR_NONE: none. */
static uint32_t pool_for(const struct hr__queue *queue, hr_job job) {
  uint32_t class_ = hr_cluster_accept_class(queue->cluster, job);
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++)
    if (queue->carbon->series[i] && hr_cluster_accepts(queue->cluster, class_, (hr_pool){i})) return i;
  return HR_NONE;
}

static bool is_short(const struct hr__queue *queue, hr_job job) {
  return hr_trace_estimate_us(queue->trace, job) < queue->carbon->short_us;
}

static int64_t length_of(const struct hr__queue *queue, hr_job job) {
  const struct hr__carbon *carbon = queue->carbon;
  return carbon->by_average ? carbon->average_us[is_short(queue, job)] : hr_trace_estimate_us(queue->trace, job);
}

static bool has_started(const struct hr_view *view, hr_job job) {
  return view->start_us[job.id] != HR_NEVER_US;
}

/* Returns how much later a job may start. `length_us`: its expected run time. */
static int64_t slack_of(const struct hr__queue *queue, hr_job job, int64_t now_us, int64_t utc_us, int64_t length_us) {
  const struct hr__carbon *carbon = queue->carbon;
  int64_t slack_us;
  if (carbon->deadline == HR__CARBON_BY_WAIT) return is_short(queue, job) ? carbon->short_wait_us : carbon->wait_us;
  if (carbon->deadline != HR__CARBON_BY_JOB) return hr__carbon_calendar_slack(carbon->deadline, utc_us + length_us);
  int64_t deadline_us = queue->trace->deadline_us ? queue->trace->deadline_us[job.id] : HR_UNKNOWN_US;
  if (deadline_us == HR_UNKNOWN_US) return 0;
  slack_us = deadline_us - now_us - length_us;
  return slack_us > 0 ? slack_us : 0;
}

/* Returns how long a job is held under the rules that do not interrupt jobs. */
static int64_t delay_of(const struct hr__carbon *carbon, const struct hr__carbon_job *plan) {
  switch (carbon->rule) {
  case HR__CARBON_LOWEST_SLOT:
    return hr__carbon_lowest_slot(plan);
  case HR__CARBON_LOWEST_WINDOW:
  case HR__CARBON_CONTIGUOUS:
    return hr__carbon_lowest_window(plan);
  case HR__CARBON_TIME:
  case HR__CARBON_RESERVED_FIRST:
    return hr__carbon_best_rate(plan);
  case HR__CARBON_ALL_WAIT:
    return plan->slack_us;
  default:
    return 0;
  }
}

static int64_t utc_of(const struct hr__carbon *carbon, hr_job job, int64_t at_us) {
  return carbon->begin_us[carbon->pool[job.id]] + at_us;
}

static const struct hr_series *series_of(const struct hr__carbon *carbon, hr_job job) {
  return carbon->series[carbon->pool[job.id]];
}

/* Plans the steps in which an interruptible job runs. */
static bool plan_slots(struct hr__queue *queue, hr_job job, const struct hr__carbon_job *plan, int64_t now_us) {
  struct hr__carbon *carbon = queue->carbon;
  struct hr__carbon_slots *slots = &carbon->slots[job.id];
  if (carbon->rule == HR__CARBON_INTERRUPTIBLE) {
    carbon->forced_us[job.id] = now_us + plan->length_us + plan->slack_us;
    return hr__carbon_best_slots(plan, &carbon->parts, slots);
  }
  carbon->forced_us[job.id] = plan->slack_us;
  *slots = (struct hr__carbon_slots){INT64_MIN, 0, INT64_MIN};
  return hr__carbon_quantile(plan->series, plan->from_us, plan->from_us + carbon->lookahead_us, carbon->quantile,
                             &carbon->parts, &slots->below);
}

/* Returns the time from which on a job that waits, or would wait if it paused now, runs at any intensity. */
static int64_t forced_from(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  const struct hr__carbon *carbon = queue->carbon;
  const struct hr__carbon_needs needs = hr__carbon_needs_of(queue, view, job);
  bool again = has_started(view, job);
  if (carbon->rule == HR__CARBON_ECOVISOR)
    return view->now_us + carbon->forced_us[job.id] -
           (view->state[job.id] == HR_JOB_RUNNING ? needs.overhead.restart_us : 0);
  int64_t left_us = length_of(queue, job) - (view->kept_us ? hr_view_done_us(view, job) : 0);
  return carbon->forced_us[job.id] - hr__carbon_time_us(&needs, left_us, again);
}

/* Returns when a job that waits now, or would wait if it paused now, will run next. */
static int64_t next_run(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  const struct hr__carbon *carbon = queue->carbon;
  int64_t utc_us = utc_of(carbon, job, view->now_us), forced_us = forced_from(queue, view, job);
  if (forced_us <= view->now_us) return view->now_us;
  return view->now_us +
         hr__carbon_next(series_of(carbon, job), &carbon->slots[job.id], true, utc_us,
                         utc_us + (forced_us - view->now_us)) -
         utc_us;
}

/* Returns when a job that runs at `from_us` will pause; HR_NEVER_US: never. `from_us` is now or later. */
static int64_t next_pause(const struct hr__queue *queue, const struct hr_view *view, hr_job job, int64_t from_us) {
  const struct hr__carbon *carbon = queue->carbon;
  int64_t utc_us = utc_of(carbon, job, from_us);
  /* the search covers two periods of a repeated series: if the job does not pause in that time, it never does. For
     other series the search ends at the end of the series */
  const struct hr_series *series = series_of(carbon, job);
  const struct hr__carbon_slots *slots = &carbon->slots[job.id];
  int64_t tie_us = slots->tie_until_us > slots->from_us ? slots->tie_until_us : slots->from_us, end_us = INT64_MAX;
  if (hr_series_repeats(series))
    end_us = (tie_us > utc_us ? tie_us : utc_us) + 2 * (hr_series_end_us(series) - hr_series_first_us(series));
  if (forced_from(queue, view, job) <= view->now_us) return HR_NEVER_US;
  /* a job may have started outside the planned steps, because capacity was free too late. It then runs until the next
     pause after a planned step */
  int64_t next_us = hr__carbon_next(series, slots, true, utc_us, end_us);
  next_us = hr__carbon_next(series, slots, false, next_us, end_us);
  return next_us >= end_us ? HR_NEVER_US : from_us + next_us - utc_us;
}

/* ---- Held jobs ---------------------------------------------------------------------------------------- */

static enum hr_status hold_until(struct hr__queue *queue, const struct hr_view *view, hr_job job, int64_t until_us) {
  struct hr__carbon *carbon = queue->carbon;
  if (until_us <= view->now_us && !carbon->early) return hr__queue_job_waits(queue, view, job);
  hold(carbon, job);
  if (carbon->since_us) carbon->since_us[job.id] = view->now_us;
  return push(queue, job, until_us) ? HR_OK : HR_NO_MEMORY;
}

/* Plans a job when it begins to wait for the first time. `*until_us`: time until which it is held. */
static enum hr_status plan(struct hr__queue *queue, const struct hr_view *view, hr_job job, int64_t *until_us) {
  struct hr__carbon *carbon = queue->carbon;
  uint32_t pool = carbon->pool[job.id] = pool_for(queue, job);
  const struct hr__carbon_needs needs = hr__carbon_needs_of(queue, view, job);
  int64_t utc_us = pool == HR_NONE ? 0 : utc_of(carbon, job, view->now_us);
  int64_t length_us = hr__carbon_time_us(&needs, length_of(queue, job), false);
  *until_us = view->now_us;
  if (hr__gpus(queue, job) == 0 || (pool == HR_NONE && carbon->rule != HR__CARBON_ALL_WAIT)) return HR_OK;
  struct hr__carbon_job plan = {.series = pool == HR_NONE ? NULL : carbon->series[pool],
                                .from_us = utc_us,
                                .length_us = length_us,
                                .slack_us = slack_of(queue, job, view->now_us, utc_us, length_us),
                                .step_us = carbon->step_us,
                                .restart_us = needs.overhead.restart_us};
  if (!interrupts(carbon)) {
    *until_us = view->now_us + delay_of(carbon, &plan);
    return HR_OK;
  }
  if (!plan_slots(queue, job, &plan, view->now_us)) return HR_NO_MEMORY;
  *until_us = next_run(queue, view, job);
  return HR_OK;
}

enum hr_status hr__carbon_job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct hr__carbon *carbon = queue->carbon;
  if (!carbon || hr__is_replica(queue->trace, job)) return hr__queue_job_waits(queue, view, job);
  int64_t until_us = view->now_us;
  bool is_new = !has_started(view, job);
  enum hr_status status = is_new ? plan(queue, view, job, &until_us) : HR_OK;
  bool pauses = !is_new && interrupts(carbon) && carbon->pool[job.id] != HR_NONE && hr__gpus(queue, job) > 0;
  if (pauses) until_us = next_run(queue, view, job);
  carbon->due_us[job.id] = HR_NEVER_US;
  return status == HR_OK ? hold_until(queue, view, job, until_us) : status;
}

/* Ends the hold of a job. With Ecovisor, the time of the hold is subtracted from the time for which the job may still
   pause. */
static void end_hold(struct hr__carbon *carbon, const struct hr_view *view, hr_job job) {
  unhold(carbon, job);
  carbon->due_us[job.id] = HR_NEVER_US;
  if (carbon->rule == HR__CARBON_ECOVISOR) carbon->forced_us[job.id] -= view->now_us - carbon->since_us[job.id];
}

enum hr_status hr__carbon_release(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  if (!queue->carbon || !queue->carbon->held[job.id]) return HR_OK;
  end_hold(queue->carbon, view, job);
  return hr__queue_job_waits(queue, view, job);
}

static enum hr_status stop(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves, hr_job job) {
  struct hr_slice one;
  struct hr_placement placement = hr_view_placement(view, job, &one);
  struct hr_event event = {view->now_us, HR_EVENT_PREEMPT, HR_REASON_POLICY, job, &placement, {HR_NONE}, {HR_NONE}};
  enum hr_status status = hr_moves_preempt(moves, job, HR_REASON_POLICY);
  if (status == HR_OK) status = hr__queue_job_stops(queue, view, &event);
  return status == HR_OK ? hr__carbon_job_waits(queue, view, job) : status;
}

/* Stops a job at the end of its planned steps if it can still end in time and, under the rule wait-awhile, the pause
   saves carbon despite the restart. With Ecovisor, the restart is subtracted from the time for which the job may still
   pause. */
static enum hr_status pause(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves, hr_job job) {
  struct hr__carbon *carbon = queue->carbon;
  int64_t next_us = next_run(queue, view, job), shift_us = utc_of(carbon, job, 0);
  const struct hr__carbon_needs needs = hr__carbon_needs_of(queue, view, job);
  bool is_forced = forced_from(queue, view, job) <= view->now_us;
  bool is_planned = carbon->rule == HR__CARBON_INTERRUPTIBLE;
  if (is_forced || next_us <= view->now_us) return HR_OK;
  if (is_planned && !hr__carbon_pause_saves(series_of(carbon, job), &carbon->slots[job.id], needs.overhead.restart_us,
                                            view->now_us + shift_us, next_us + shift_us))
    return push(queue, job, next_pause(queue, view, job, next_us)) ? HR_OK : HR_NO_MEMORY;
  if (!is_planned) carbon->forced_us[job.id] -= needs.overhead.restart_us;
  return stop(queue, view, moves, job);
}

/* ---- Capacity that is paid for anyway ------------------------------------------------------------------ */

static bool is_paid(const struct hr__queue *queue, hr_pool pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(queue->cluster, pool);
  return spec->nodes > 0 && !hr_market_is_elastic(spec->market.market);
}

/* Returns how many free GPUs of a pool a held job can use now: those that did not become free within the last
   `lag_us`. */
static uint64_t seen_gpus(const struct hr__queue *queue, hr_pool pool) {
  const struct hr__carbon *carbon = queue->carbon;
  uint64_t free = hr_cluster_free_milli(queue->cluster, pool) / HR_WHOLE_GPU_MILLI, unseen = 0;
  for (uint32_t i = carbon->first_freed; i < carbon->n_freed; i++)
    if (carbon->freed[i].pool.id == pool.id) unseen += carbon->freed[i].gpus;
  return free > unseen ? free - unseen : 0;
}

/* Finds a placement in a pool that is paid for whether it is used or not. `sees_all`: capacity that became free within
   the last `lag_us` may be used, too. */
static bool find_paid(struct hr__queue *queue, hr_job job, bool sees_all, struct hr_placement *placement) {
  uint32_t class_ = hr_cluster_accept_class(queue->cluster, job), gpus = hr__gpus(queue, job);
  bool by_place = queue->by_gpu || queue->locality || queue->rule == HR_PLACE_POOL;
  if (by_place) return hr__fits(queue, gpus, hr__kind(queue, job), placement) && is_paid(queue, placement->pool);
  for (uint32_t i = 0; i < queue->carbon->n_pools; i++) {
    hr_pool pool = {i};
    if (!is_paid(queue, pool) || !hr_cluster_accepts(queue->cluster, class_, pool)) continue;
    if (!sees_all && seen_gpus(queue, pool) < gpus) continue;
    if (hr_placer_find_on(queue->placer, pool, gpus, placement)) return true;
  }
  return false;
}

static bool any_paid_is_free(const struct hr__queue *queue) {
  for (uint32_t i = 0; i < queue->carbon->n_pools; i++)
    if (is_paid(queue, (hr_pool){i}) && hr_cluster_free_milli(queue->cluster, (hr_pool){i}) > 0) return true;
  return false;
}

/* Visits the held jobs in the order in which they were held. Adds the jobs that are due to the queue. If `early`, also
   starts each held job, due or not, that fits on capacity that is paid for anyway. */
static enum hr_status walk(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves, bool early) {
  struct hr__carbon *carbon = queue->carbon;
  enum hr_status status = HR_OK;
  for (uint32_t id = carbon->first, next; id != HR_NONE && status == HR_OK; id = next) {
    struct hr_placement placement;
    hr_job job = {id};
    bool is_ready = carbon->due_us[id] <= view->now_us, fits = false;
    next = carbon->next[id];
    if (!is_ready && !early) continue;
    if (early && hr__quota_allows(queue, job)) fits = find_paid(queue, job, is_ready, &placement);
    if (is_ready || fits) status = hr__carbon_release(queue, view, job);
    if (fits && status == HR_OK) status = hr__queue_start_job(queue, view, moves, job, &placement, HR_REASON_POLICY);
  }
  return status;
}

/* Removes entries of capacity that became free at least `lag_us` ago, so that held jobs can use this capacity. */
static void forget_freed(struct hr__carbon *carbon, int64_t now_us) {
  while (carbon->first_freed < carbon->n_freed && carbon->freed[carbon->first_freed].at_us + carbon->lag_us <= now_us)
    carbon->first_freed++;
  if (carbon->first_freed == carbon->n_freed) carbon->first_freed = carbon->n_freed = 0;
}

static enum hr_status note_freed(struct hr__queue *queue, const struct hr_view *view,
                                 const struct hr_placement *placement, uint64_t gpus) {
  struct hr__carbon *carbon = queue->carbon;
  if (!carbon->early || carbon->lag_us == 0 || !is_paid(queue, placement->pool)) return HR_OK;
  if (!HR__ARENA_HAS_ROOM(queue->arena, carbon->freed, carbon->n_freed, carbon->freed_capacity)) return HR_NO_MEMORY;
  carbon->freed[carbon->n_freed++] = (struct freed){view->now_us, placement->pool, gpus};
  return HR_OK;
}

enum hr_status hr__carbon_begin_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__carbon *carbon = queue->carbon;
  const struct due *due;
  enum hr_status status = HR_OK;
  bool any_ready = false;
  forget_freed(carbon, view->now_us);
  while (status == HR_OK && (due = first_due(carbon)) && due->at_us <= view->now_us) {
    hr_job job = {due->job};
    pop(carbon);
    if (carbon->held[job.id] && carbon->early)
      any_ready = true;
    else if (carbon->held[job.id])
      status = hr__carbon_release(queue, view, job);
    else if (view->state[job.id] == HR_JOB_RUNNING)
      status = pause(queue, view, moves, job);
  }
  bool others_wait = view->n_waiting > carbon->n_held, early = carbon->early && !others_wait && any_paid_is_free(queue);
  return status == HR_OK && (any_ready || early) ? walk(queue, view, moves, early) : status;
}

enum hr_status hr__carbon_start_early(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  if (!queue->carbon->early || !queue->carbon->n_held || !any_paid_is_free(queue)) return HR_OK;
  return walk(queue, view, moves, true);
}

/* ---- Events ------------------------------------------------------------------------------------------- */

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  struct hr__carbon *carbon = queue->carbon;
  (void)placement;
  if (!interrupts(carbon) || hr__is_replica(queue->trace, job)) return HR_OK;
  if (carbon->pool[job.id] == HR_NONE || hr__gpus(queue, job) == 0) return HR_OK;
  return push(queue, job, next_pause(queue, view, job, view->now_us)) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  queue->carbon->due_us[event->job.id] = HR_NEVER_US;
  return note_freed(queue, view, event->placement, hr__gpus(queue, event->job));
}

static const struct hr__listener listener = {.job_starts = job_starts, .job_stops = job_stops};

enum hr_status hr__carbon_end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__carbon *carbon = queue->carbon;
  const struct due *due = first_due(carbon);
  int64_t next_us = due ? due->at_us : HR_NEVER_US;
  if (carbon->n_held && carbon->first_freed < carbon->n_freed) {
    int64_t seen_us = carbon->freed[carbon->first_freed].at_us + carbon->lag_us;
    if (seen_us < next_us) next_us = seen_us;
  }
  return hr__wake(&carbon->wake_us, view, moves, next_us);
}

bool hr__carbon_explains(const struct hr__queue *queue, hr_job job, struct hr_wait_reason *wait) {
  const struct hr__carbon *carbon = queue->carbon;
  if (!carbon || !carbon->held[job.id]) return false;
  wait->reason = HR_WAIT_REASON_CARBON;
  wait->until_us = carbon->due_us[job.id];
  return true;
}

/* ---- Construction ------------------------------------------------------------------------------------- */

/* Sets the series of each pool for plans. False: out of memory. */
static bool set_series(struct hr__carbon *carbon, const struct hr_policy_env *env) {
  double error = hr__queue_param(env, "carbon_forecast_error")->real;
  struct hr__stream stream;
  hr__stream_init(&stream, env->seed, HR__PURPOSE_FORECAST, 0, 1);
  for (uint32_t i = 0; i < carbon->n_pools; i++) {
    const struct hr_electricity *known = hr_cluster_pool_spec(env->cluster, (hr_pool){i})->electricity;
    if (!known || !known->carbon) continue;
    carbon->begin_us[i] = hr_series_begin_us(known->carbon, known->carbon_start_us, env->jobs);
    carbon->series[i] = known->carbon;
    if (error <= 0 || hr_series_end_us(known->carbon) == HR_NEVER_US) continue;
    for (uint32_t k = 0; k < i && carbon->series[i] == known->carbon; k++) {
      const struct hr_electricity *other = hr_cluster_pool_spec(env->cluster, (hr_pool){k})->electricity;
      if (other && other->carbon == known->carbon) carbon->series[i] = carbon->series[k];
    }
    if (carbon->series[i] != known->carbon) continue;
    carbon->series[i] = carbon->noisy[i] = hr__carbon_add_noise(known->carbon, error, &stream);
    if (!carbon->noisy[i]) return false;
  }
  return true;
}

/* Computes the mean run times as GAIA does: a job with a run time of exactly short_us counts for both means. */
static void set_averages(struct hr__carbon *carbon, const struct hr_policy_env *env) {
  hr_amount sum[2] = {0};
  int64_t count[2] = {0};
  if (!carbon->by_average) return;
  for (uint32_t i = 0; i < env->jobs->n_jobs - env->jobs->n_added; i++) {
    int64_t work_us = env->jobs->work_us[i];
    for (int k = 0; k < 2; k++) {
      bool counts = k ? work_us <= carbon->short_us : work_us >= carbon->short_us;
      sum[k] += counts ? work_us : 0;
      count[k] += counts;
    }
    hr_arena_passed_job(env->arena, (hr_job){i});
  }
  for (int k = 0; k < 2; k++) carbon->average_us[k] = count[k] ? (int64_t)(sum[k] / count[k]) : 0;
}

static bool set_columns(struct hr__carbon *carbon, const struct hr_policy_env *env) {
  uint32_t n = env->jobs->n_jobs;
  if (!HR__ARENA_ARRAY_BY_JOB(env->arena, carbon->due_us, n) || !HR__ARENA_ARRAY_BY_JOB(env->arena, carbon->next, n) ||
      !HR__ARENA_ARRAY_BY_JOB(env->arena, carbon->previous, n) ||
      !HR__ARENA_ARRAY_BY_JOB(env->arena, carbon->held, n) || !HR__ARENA_ARRAY_BY_JOB(env->arena, carbon->pool, n))
    return false;
  if (!interrupts(carbon)) return true;
  return HR__ARENA_ARRAY_BY_JOB(env->arena, carbon->slots, n) &&
         HR__ARENA_ARRAY_BY_JOB(env->arena, carbon->forced_us, n) &&
         HR__ARENA_ARRAY_BY_JOB(env->arena, carbon->since_us, n);
}

static bool set_pools(struct hr__carbon *carbon, const struct hr_policy_env *env) {
  uint32_t n = carbon->n_pools = hr_cluster_pools(env->cluster);
  return HR__ARENA_ARRAY(env->arena, carbon->series, n) && HR__ARENA_ARRAY(env->arena, carbon->noisy, n) &&
         HR__ARENA_ARRAY(env->arena, carbon->begin_us, n);
}

static struct hr__carbon read_params(const struct hr_policy_env *env, enum hr__carbon_rule rule) {
  bool always_early = rule == HR__CARBON_ALL_WAIT || rule == HR__CARBON_RESERVED_FIRST;
  bool is_exact = rule == HR__CARBON_CONTIGUOUS || rule == HR__CARBON_INTERRUPTIBLE; /* need the length of each job */
  return (struct hr__carbon){.rule = rule,
                             .deadline = (enum hr__carbon_deadline)hr__queue_param(env, "carbon_deadline")->integer,
                             .by_average = !is_exact && hr__queue_param(env, "carbon_length")->integer != 0,
                             .early = always_early || hr__queue_param(env, "carbon_reserved_first")->integer != 0,
                             .wait_us = hr__queue_param_us(env, "carbon_wait_s"),
                             .short_wait_us = hr__queue_param_us(env, "carbon_short_wait_s"),
                             .short_us = hr__queue_param_us(env, "carbon_short_s"),
                             .step_us = hr__queue_param_us(env, "carbon_step_s"),
                             .lag_us = hr__queue_param_us(env, "carbon_lag_s"),
                             .lookahead_us = hr__queue_param_us(env, "carbon_lookahead_s"),
                             .quantile = hr__queue_param(env, "carbon_quantile")->real,
                             .parts = {.arena = env->arena},
                             .first = HR_NONE,
                             .last = HR_NONE};
}

static bool any_series(const struct hr__carbon *carbon) {
  for (uint32_t i = 0; i < carbon->n_pools; i++)
    if (carbon->series[i]) return true;
  return false;
}

enum hr_status hr__carbon_create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  enum hr__carbon_rule rule = (enum hr__carbon_rule)hr__queue_param(env, "carbon")->integer;
  if (rule == HR__CARBON_NO_WAIT) return HR_OK;
  struct hr__carbon *carbon = hr_arena_alloc(env->arena, sizeof *carbon);
  if (!carbon) return HR_NO_MEMORY;
  *carbon = read_params(env, rule);
  if (!set_pools(carbon, env)) return HR_NO_MEMORY;
  queue->carbon = carbon;
  if (!set_series(carbon, env) || !set_columns(carbon, env)) return HR_NO_MEMORY;
  set_averages(carbon, env);
  hr__queue_add_listener(queue, &listener);
  if (any_series(carbon) || rule == HR__CARBON_ALL_WAIT) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT,
                 "parameter 'carbon': jobs wait for electricity with less carbon, but no pool has a carbon intensity; "
                 "set 'cluster.carbon'");
}

void hr__carbon_destroy(void *self) {
  const struct hr__queue *queue = self;
  for (uint32_t i = 0; queue->carbon && i < queue->carbon->n_pools; i++) hr_series_destroy(queue->carbon->noisy[i]);
}
