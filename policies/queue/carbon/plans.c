/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that determine when a job should run, given a series of intensities: the rules of GAIA (Hanafy et al.,
 * "Going Green for Less Green: Optimizing the Cost of Reducing Cloud Carbon Emissions", ASPLOS 2024), of Let's Wait
 * Awhile (Wiesner et al., Middleware 2021), and the threshold of Ecovisor (Souza et al., ASPLOS 2023).
 *
 * The carbon of a window is a piecewise linear function of its start. Its slope changes only at starts for which the
 * begin or the end of the window is at a time stamp of the series. So if any start is allowed, the best start is now,
 * the latest start, or one of the starts at which the slope changes. If a step is set, as in GAIA, the delay of a start
 * is a multiple of the step.
 *
 * A window must end before the end of a series that is not repeated; starting now is always possible.
 *
 * A job with interruptions runs in the steps with the lowest intensity (Let's Wait Awhile). In the paper, interruptions
 * take no time. Here, each interruption may add the time of a restart. Then steps are chosen for longer and longer
 * runs, until a simulation of the run, with its restarts, completes in time. In the simulation, and in the run itself,
 * a job pauses only if this saves carbon. A run without interruptions is preferred if it causes the same or less
 * carbon.
 */

#include "base/random.h"
#include "policies/queue/carbon/carbon.h"

#include <math.h>
#include <stdlib.h>

#define FULL_SPEED_PPM 1000000

/* ---- Starts ------------------------------------------------------------------------------------------- */

/* Returns the next delay after `delay_us` that may be the best one; HR_NEVER_US: none. `length_us`: the length of the
   window; 0: only the intensity at the start matters. */
static int64_t next_delay(const struct hr__carbon_job *job, int64_t length_us, int64_t delay_us) {
  int64_t next_us = HR_NEVER_US;
  if (job->step_us && length_us)
    next_us = delay_us + job->step_us;
  else {
    int64_t begin_us = hr_series_next_us(job->series, job->from_us + delay_us);
    int64_t end_us = hr_series_next_us(job->series, job->from_us + delay_us + length_us);
    if (begin_us != HR_NEVER_US) next_us = begin_us - job->from_us;
    if (length_us && end_us != HR_NEVER_US && end_us - length_us - job->from_us < next_us)
      next_us = end_us - length_us - job->from_us;
    if (length_us && next_us > job->slack_us && delay_us < job->slack_us) next_us = job->slack_us;
  }
  return next_us > job->slack_us ? HR_NEVER_US : next_us;
}

/* Reduces the slack so that windows of `length_us` end before the end of the series. */
static struct hr__carbon_job within_series(const struct hr__carbon_job *job, int64_t length_us) {
  struct hr__carbon_job within = *job;
  int64_t end_us = hr_series_repeats(job->series) ? HR_NEVER_US : hr_series_end_us(job->series);
  if (end_us != HR_NEVER_US && end_us - job->from_us - length_us < within.slack_us)
    within.slack_us = end_us - job->from_us - length_us;
  if (within.slack_us < 0) within.slack_us = 0;
  return within;
}

int64_t hr__carbon_lowest_slot(const struct hr__carbon_job *given) {
  const struct hr__carbon_job within = within_series(given, 0), *job = &within;
  int64_t best_us = 0, best = hr_series_at(job->series, job->from_us);
  for (int64_t at_us = next_delay(job, 0, 0); at_us != HR_NEVER_US; at_us = next_delay(job, 0, at_us)) {
    int64_t value = hr_series_at(job->series, job->from_us + at_us);
    if (value >= best) continue;
    best = value;
    best_us = at_us;
  }
  return best_us;
}

static hr_amount carbon_of(const struct hr__carbon_job *job, int64_t delay_us) {
  int64_t begin_us = job->from_us + delay_us;
  return hr_series_between(job->series, begin_us, begin_us + job->length_us);
}

int64_t hr__carbon_lowest_window(const struct hr__carbon_job *given) {
  const struct hr__carbon_job within = within_series(given, given->length_us), *job = &within;
  int64_t best_us = 0;
  hr_amount best = carbon_of(job, 0);
  if (job->length_us == 0) return hr__carbon_lowest_slot(job);
  for (int64_t at_us = next_delay(job, job->length_us, 0); at_us != HR_NEVER_US;
       at_us = next_delay(job, job->length_us, at_us)) {
    hr_amount carbon = carbon_of(job, at_us);
    if (carbon >= best) continue;
    best = carbon;
    best_us = at_us;
  }
  return best_us;
}

/* The rate of a start is (carbon now - carbon of the window) / (delay + length). Rates are compared by products of 128
   bits. They do not overflow: for intensities below 2^30 micro-units and times below 2^47 us (4.4 years), they are
   below 2^125. */
int64_t hr__carbon_best_rate(const struct hr__carbon_job *given) {
  const struct hr__carbon_job within = within_series(given, given->length_us), *job = &within;
  int64_t best_us = 0;
  hr_amount now = carbon_of(job, 0), best = 0;
  if (job->length_us == 0) return hr__carbon_lowest_slot(job);
  for (int64_t at_us = next_delay(job, job->length_us, 0); at_us != HR_NEVER_US;
       at_us = next_delay(job, job->length_us, at_us)) {
    hr_amount saved = now - carbon_of(job, at_us);
    if (saved * (best_us + job->length_us) <= best * (at_us + job->length_us)) continue;
    best = saved;
    best_us = at_us;
  }
  return best_us;
}

/* ---- Parts of a series ------------------------------------------------------------------------------ */

static bool add_part(struct hr__carbon_parts *parts, struct hr__carbon_part part) {
  if (!HR__ARENA_HAS_ROOM(parts->arena, parts->at, parts->count, parts->capacity)) return false;
  parts->at[parts->count++] = part;
  return true;
}

static int by_value(const void *a, const void *b) {
  const struct hr__carbon_part *x = a, *y = b;
  if (x->value != y->value) return x->value < y->value ? -1 : 1;
  return (x->from_us > y->from_us) - (x->from_us < y->from_us);
}

/* Lists the parts of the series between two times, the lowest first. False: out of memory. */
static bool list_parts(const struct hr_series *series, int64_t from_us, int64_t to_us, struct hr__carbon_parts *parts) {
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

/* ---- Quantiles ---------------------------------------------------------------------------------------- */

bool hr__carbon_quantile(const struct hr_series *series, int64_t from_us, int64_t to_us, double share,
                         struct hr__carbon_parts *parts, int64_t *value) {
  int64_t end_us = hr_series_end_us(series);
  if (!hr_series_repeats(series) && to_us > end_us) to_us = end_us > from_us ? end_us : from_us + 1;
  if (!list_parts(series, from_us, to_us, parts)) return false;
  double wanted_us = share * (double)(to_us - from_us);
  int64_t passed_us = 0;
  for (uint32_t i = 0; i < parts->count; i++) {
    passed_us += parts->at[i].length_us;
    *value = parts->at[i].value;
    if ((double)passed_us >= wanted_us) break;
  }
  return true;
}

/* ---- The calendar ------------------------------------------------------------------------------------- */

#define HOUR_US (INT64_C(3600) * HR_SECOND_US)
#define DAY_US (24 * HOUR_US)

/* Monday is day 0; 1970-01-01 was a Thursday. */
static int64_t weekday_of(int64_t at_us) {
  int64_t day = at_us / DAY_US - (at_us % DAY_US < 0);
  return ((day + 3) % 7 + 7) % 7;
}

/* Let's Wait Awhile: a result is needed only in working hours. */
int64_t hr__carbon_calendar_slack(enum hr__carbon_deadline rule, int64_t end_us) {
  int64_t weekday = weekday_of(end_us), time_us = (end_us % DAY_US + DAY_US) % DAY_US, days;
  int64_t to_nine_us = 9 * HOUR_US - time_us;
  bool by_nine = time_us <= 9 * HOUR_US;
  switch (rule) {
  case HR__CARBON_NEXT_WORKDAY:
    if (weekday == 5) return to_nine_us + 2 * DAY_US;
    if (weekday == 6) return to_nine_us + DAY_US;
    /* also on Friday, as in the published code: the job must end on Saturday */
    if (time_us > 17 * HOUR_US) return to_nine_us + DAY_US;
    return time_us < 9 * HOUR_US ? to_nine_us : 0;
  case HR__CARBON_NEXT_MONDAY:
    return weekday == 0 && by_nine ? to_nine_us : to_nine_us + (7 - weekday) * DAY_US;
  case HR__CARBON_SEMI_WEEKLY:
    days = (7 - weekday) % 7;
    if ((weekday == 0 && !by_nine) || weekday == 1 || weekday == 2 || (weekday == 3 && by_nine)) days = 3 - weekday;
    return to_nine_us + days * DAY_US;
  default:
    return 0;
  }
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

/* Simulates a run. Returns whether the job completes by `to_us`, and writes the carbon of the run to `*carbon`. */
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

/* Selects the parts with the lowest intensity, with a total length of `length_us`. `parts` is sorted by intensity. */
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
  if (!list_parts(job->series, job->from_us, to_us, parts)) return false;
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

/* ---- Forecasts of the carbon intensity with errors, as in Let's Wait Awhile ------------------------- */

/* Returns a draw from the standard normal distribution (Box and Muller). */
static double normal(struct hr__stream *stream) {
  double radius = sqrt(-2 * log(hr__stream_uniform(stream)));
  double angle = hr__stream_uniform(stream);
  return radius * cos(6.283185307179586 * angle);
}

struct hr_series *hr__carbon_add_noise(const struct hr_series *series, double error, struct hr__stream *stream) {
  int64_t first_us = hr_series_first_us(series), end_us = hr_series_end_us(series);
  uint32_t count = 0, i = 0;
  double mean = (double)hr_series_between(series, first_us, end_us) / (double)(end_us - first_us);
  for (int64_t at_us = first_us; at_us < end_us; at_us = hr_series_next_us(series, at_us)) count++;
  int64_t *at = malloc((count + 1) * sizeof *at), *micros = malloc((count + 1) * sizeof *micros);
  struct hr_series *noisy = NULL;
  for (int64_t at_us = first_us; at && micros && i < count; at_us = hr_series_next_us(series, at_us), i++) {
    at[i] = at_us;
    micros[i] = hr_series_at(series, at_us) + (int64_t)llround(error * mean * normal(stream));
  }
  if (at && micros) noisy = hr_series_create(at, micros, count, hr_series_repeats(series));
  free(at);
  free(micros);
  return noisy;
}
