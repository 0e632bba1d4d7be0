/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When a job should run, as a function of a series: the rules of GAIA (Hanafy et al., "Going Green for Less Green:
 * Optimizing the Cost of Reducing Cloud Carbon Emissions", ASPLOS 2024), of Let's Wait Awhile (Wiesner et al.,
 * Middleware 2021), and the threshold of Ecovisor (Souza et al., ASPLOS 2023).
 *
 * The carbon of a window is a piecewise linear function of its start. Its slope changes only at starts for which the
 * begin or the end of the window is at a time stamp of the series. So if any start is allowed, the best start is now,
 * the latest start, or one of these. With GAIA's step, starts are multiples of it.
 *
 * A window must end before the end of a series that is not repeated; starting now is always possible.
 */

#include "policies/queue/carbon/carbon.h"

/* ---- Starts ------------------------------------------------------------------------------------------- */

/* Returns the next candidate after a delay; HR_NEVER_US: none. `length_us`: the length of the window; 0: a slot. */
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

/* The rate of a start is (carbon now - carbon of the window) / (delay + length). Rates are compared by products, which
   fit: savings are below 2^74 for 2^40 micro-units and 2^34 microseconds, times below 2^50. */
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

/* ---- Quantiles ---------------------------------------------------------------------------------------- */

bool hr__carbon_quantile(const struct hr_series *series, int64_t from_us, int64_t to_us, double share,
                         struct hr__carbon_parts *parts, int64_t *value) {
  int64_t end_us = hr_series_end_us(series);
  if (!hr_series_repeats(series) && to_us > end_us) to_us = end_us > from_us ? end_us : from_us + 1;
  if (!hr__carbon_list_parts(series, from_us, to_us, parts)) return false;
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
