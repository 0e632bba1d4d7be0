/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When a job with interruptions runs (Wiesner et al., "Let's Wait Awhile", Middleware 2021): in the steps with the
 * lowest intensity. In the paper, interruptions take no time. Here, each interruption may add the time of a restart.
 * Then steps are chosen for longer and longer runs, until a simulation of the run, with its restarts, completes in
 * time. In the simulation, and in the run itself, a job pauses only if this saves carbon. If a run without
 * interruptions has at most as much carbon, it is preferred.
 */

#include "policies/queue/carbon/carbon.h"

#include <stdlib.h>

#define FULL_SPEED_PPM 1000000

/* ---- Parts -------------------------------------------------------------------------------------------- */

static bool add_part(struct hr__carbon_parts *parts, struct hr__carbon_part part) {
  if (parts->count == parts->capacity) {
    struct hr__carbon_part *grown = hr_arena_grown(parts->arena, parts->at, &parts->capacity, sizeof *grown);
    if (!grown) return false;
    parts->at = grown;
  }
  parts->at[parts->count++] = part;
  return true;
}

static int by_value(const void *a, const void *b) {
  const struct hr__carbon_part *x = a, *y = b;
  if (x->value != y->value) return x->value < y->value ? -1 : 1;
  return (x->from_us > y->from_us) - (x->from_us < y->from_us);
}

/* Lists the parts of the series between two times, the lowest first. */
bool hr__carbon_list_parts(const struct hr_series *series, int64_t from_us, int64_t to_us,
                           struct hr__carbon_parts *parts) {
  parts->count = 0;
  while (from_us < to_us) {
    int64_t next_us = hr_series_next_us(series, from_us);
    if (next_us > to_us) next_us = to_us;
    if (!add_part(parts, (struct hr__carbon_part){hr_series_at(series, from_us), from_us, next_us - from_us}))
      return false;
    from_us = next_us;
  }
  if (parts->count) qsort(parts->at, parts->count, sizeof *parts->at, by_value);
  return true;
}

/* ---- Time that a job needs --------------------------------------------------------------------------- */

/* A job that is stopped keeps its work, and the interval until its next checkpoint begins again. So a pause adds no
   checkpoints, and the bound holds for each restart. */
int64_t hr__carbon_time_us(const struct hr__carbon_needs *needs, int64_t work_us, bool again) {
  const struct hr_job_overhead *overhead = &needs->overhead;
  hr_amount time_us = work_us > 0 ? work_us : 0, n_writes = 0;
  if (work_us > 0 && overhead->interval_us != HR_NEVER_US)
    n_writes = overhead->interval_us > 0 ? (work_us - 1) / overhead->interval_us : 0;
  if (needs->speed_ppm > 0 && needs->speed_ppm != FULL_SPEED_PPM) /* each part of the work may be rounded up */
    time_us = (time_us * FULL_SPEED_PPM + needs->speed_ppm - 1) / needs->speed_ppm + n_writes + 1;
  time_us += n_writes * overhead->write_us + (again ? overhead->restart_us : 0);
  return time_us < HR_MAX_INPUT_US ? (int64_t)time_us : HR_MAX_INPUT_US;
}

struct hr__carbon_needs hr__carbon_needs_of(const struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  uint32_t class_ = hr_cluster_accept_class(queue->cluster, job);
  struct hr__carbon_needs needs = {{0, HR_NEVER_US, 0}, 0};
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++) {
    if (!hr_cluster_accepts(queue->cluster, class_, (hr_pool){i})) continue;
    uint32_t speed_ppm = hr_view_speed_ppm(view, job, (hr_pool){i});
    if (speed_ppm == 0) continue;
    if (needs.speed_ppm == 0 || speed_ppm < needs.speed_ppm) needs.speed_ppm = speed_ppm;
    const struct hr_job_overhead of_pool = hr_view_overhead(view, job, (hr_pool){i});
    if (of_pool.restart_us > needs.overhead.restart_us) needs.overhead.restart_us = of_pool.restart_us;
    if (of_pool.interval_us < needs.overhead.interval_us) needs.overhead.interval_us = of_pool.interval_us;
    if (of_pool.write_us > needs.overhead.write_us) needs.overhead.write_us = of_pool.write_us;
  }
  return needs;
}

/* ---- Runs -------------------------------------------------------------------------------------------- */

int64_t hr__carbon_next(const struct hr_series *series, const struct hr__carbon_slots *slots, bool runs, int64_t at_us,
                        int64_t until_us) {
  while (at_us < until_us && hr__carbon_runs_at(series, slots, at_us) != runs) {
    int64_t next_us = hr_series_next_us(series, at_us);
    if (slots->from_us > at_us && slots->from_us < next_us) next_us = slots->from_us;
    if (slots->tie_until_us > at_us && slots->tie_until_us < next_us) next_us = slots->tie_until_us;
    at_us = next_us;
  }
  return at_us < until_us ? at_us : until_us;
}

bool hr__carbon_pause_saves(const struct hr_series *series, const struct hr__carbon_slots *slots, int64_t restart_us,
                            int64_t from_us, int64_t to_us) {
  if (restart_us == 0) return true;
  hr_amount of_restart = (hr_amount)restart_us * hr_series_at(series, to_us);
  return hr_series_between(series, from_us, to_us) > of_restart + (hr_amount)slots->below * (to_us - from_us);
}

/* Simulates a run. Returns whether the job completes by `to_us`, and sets its carbon. */
static bool try_slots(const struct hr__carbon_job *job, const struct hr__carbon_slots *slots, int64_t to_us,
                      hr_amount *carbon) {
  int64_t left_us = job->length_us, at_us = hr__carbon_next(job->series, slots, true, job->from_us, to_us);
  for (*carbon = 0; at_us < to_us;) {
    int64_t pause_us = hr__carbon_next(job->series, slots, false, at_us, to_us);
    int64_t next_us = hr__carbon_next(job->series, slots, true, pause_us, to_us);
    bool pauses = next_us < to_us && hr__carbon_pause_saves(job->series, slots, job->restart_us, pause_us, next_us);
    int64_t until_us = pauses ? pause_us : next_us;
    if (until_us - at_us >= left_us) until_us = at_us + left_us;
    *carbon += hr_series_between(job->series, at_us, until_us);
    left_us -= until_us - at_us;
    if (left_us == 0) return true;
    left_us += pauses ? job->restart_us : 0;
    at_us = next_us;
  }
  return false;
}

/* Selects the lowest of the parts, of `length_us` together. */
static struct hr__carbon_slots select_slots(const struct hr__carbon_parts *parts, int64_t length_us) {
  struct hr__carbon_slots slots = {INT64_MIN, 0, INT64_MIN};
  for (uint32_t i = 0; i < parts->count && length_us > 0; i++) {
    const struct hr__carbon_part *part = &parts->at[i];
    int64_t used_us = part->length_us < length_us ? part->length_us : length_us;
    slots = (struct hr__carbon_slots){part->value, part->from_us + used_us, INT64_MIN};
    length_us -= used_us;
  }
  return slots;
}

bool hr__carbon_best_slots(const struct hr__carbon_job *job, struct hr__carbon_parts *parts,
                           struct hr__carbon_slots *slots) {
  enum { MAX_TRIES = 64 };
  int64_t to_us = job->from_us + job->length_us + job->slack_us;
  hr_amount carbon;
  if (!hr__carbon_list_parts(job->series, job->from_us, to_us, parts)) return false;
  *slots = select_slots(parts, job->length_us);
  if (job->restart_us == 0) return true;
  bool completes = try_slots(job, slots, to_us, &carbon);
  for (int64_t i = 1; i < MAX_TRIES && !completes && i * job->restart_us <= job->slack_us; i++) {
    *slots = select_slots(parts, job->length_us + i * job->restart_us);
    completes = try_slots(job, slots, to_us, &carbon);
  }
  struct hr__carbon_job whole = *job;
  whole.step_us = 0;
  int64_t from_us = job->from_us + hr__carbon_lowest_window(&whole);
  if (!completes || hr_series_between(job->series, from_us, from_us + job->length_us) <= carbon)
    *slots = (struct hr__carbon_slots){INT64_MAX, 0, from_us};
  return true;
}
