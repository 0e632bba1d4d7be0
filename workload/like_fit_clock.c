/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When campaigns begin: by hour and weekday, week after week, and how much days differ beyond chance. Weeks begin at
 * midnight of a Monday where the trace is dated, else at whole weeks of its own clock. The first and last weeks of a
 * trace are not kept where jobs come at less than a tenth of the usual rate: recording began or ended there.
 */

#include "workload/like_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t hour_us = 3600 * HR_SECOND_US, day_us = 86400 * HR_SECOND_US;
enum { DAYS_OF_WEEK = 7, MONDAY_OF_EPOCH = 3 /* 1970-01-01 was a Thursday */ };

static int64_t week_us(void) {
  return DAYS_OF_WEEK * day_us;
}

static int64_t last_us(const struct hr__like_fit *fit) {
  return fit->trace->submit_us[fit->trace->n_jobs - 1];
}

/* Before the first submit, on the trace's clock. */
static int64_t first_week_start(const struct hr__like_fit *fit) {
  int64_t phase_us = fit->trace->origin_us % week_us() + (fit->trace->dated ? MONDAY_OF_EPOCH * day_us : 0);
  phase_us = (phase_us % week_us() + week_us()) % week_us();
  return -phase_us;
}

uint32_t hr__like_fit_week(const struct hr__like_fit *fit, int64_t at_us) {
  if (at_us < fit->start_us) return HR_NONE;
  int64_t week = (at_us - fit->start_us) / week_us();
  return week < fit->n_weeks ? (uint32_t)week : HR_NONE;
}

/* How much of [from, from + length) lies between the first submit and the last. */
static double covered(const struct hr__like_fit *fit, int64_t from_us, int64_t length_us) {
  int64_t end_us = from_us + length_us < last_us(fit) ? from_us + length_us : last_us(fit);
  from_us = from_us > 0 ? from_us : 0;
  return end_us > from_us ? (double)(end_us - from_us) : 0;
}

/* ---- Which weeks are kept --------------------------------------------------------------------------- */

static enum hr_status keep_weeks(struct hr__like_fit *fit) {
  const int64_t *submit_us = fit->trace->submit_us;
  fit->start_us = first_week_start(fit);
  int64_t n = (last_us(fit) - fit->start_us) / week_us() + 1;
  fit->n_weeks = n > HR_LIKE_MOST_WEEKS ? HR_LIKE_MOST_WEEKS : (uint32_t)n;
  uint64_t *jobs = calloc(fit->n_weeks, sizeof *jobs);
  if (!jobs) return HR_NO_MEMORY;
  double usual = (double)fit->trace->n_jobs * (double)week_us() / ((double)last_us(fit) + 1);
  for (uint32_t i = 0; i < fit->trace->n_jobs; i++) {
    uint32_t week = hr__like_fit_week(fit, submit_us[i]);
    if (week != HR_NONE) jobs[week]++;
  }
  uint32_t first = 0, end = fit->n_weeks;
  while (end - first > 1 && (double)jobs[first] < usual / 10) first++;
  while (end - first > 1 && (double)jobs[end - 1] < usual / 10) end--;
  free(jobs);
  fit->start_us += first * week_us();
  fit->n_weeks = end - first;
  return HR_OK;
}

/* A trace of less than two weeks has no course over the weeks. */
static enum hr_status weigh_weeks(struct hr__like_fit *fit) {
  fit->week_days = calloc(fit->n_weeks, sizeof *fit->week_days);
  if (!fit->week_days) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < fit->n_weeks; i++)
    fit->week_days[i] = covered(fit, fit->start_us + i * week_us(), week_us()) / (double)day_us;
  fit->model->n_weeks = last_us(fit) < 2 * week_us() ? 1 : fit->n_weeks;
  return HR_OK;
}

/* ---- Hours and weekdays ----------------------------------------------------------------------------- */

/* Counts over how often each was there; their mean is 1. All 1 where one was never there. */
static void factors_of(const double *counts, const double *times, uint32_t n, double *factors) {
  double sum = 0;
  bool all = true;
  for (uint32_t i = 0; i < n; i++) {
    all = all && times[i] >= 0.5;
    factors[i] = times[i] > 0 ? counts[i] / times[i] : 0;
    sum += factors[i];
  }
  for (uint32_t i = 0; i < n; i++) factors[i] = all && sum > 0 ? factors[i] * n / sum : 1;
}

void hr__like_fit_profile(const struct hr__like_fit *fit, bool of_jobs, double hours[24], double weekdays[7]) {
  double by_hour[24] = {0}, by_day[DAYS_OF_WEEK] = {0}, had_hours[24] = {0}, had_days[DAYS_OF_WEEK] = {0};
  uint32_t n = of_jobs ? fit->trace->n_jobs : fit->n_campaigns;
  for (uint32_t i = 0; i < n; i++) {
    int64_t submit_us = of_jobs ? fit->trace->submit_us[i] : fit->campaigns[i].start_us;
    int64_t at_us = submit_us - fit->start_us;
    if (hr__like_fit_week(fit, submit_us) == HR_NONE) continue;
    by_hour[at_us / hour_us % 24]++;
    by_day[at_us / day_us % DAYS_OF_WEEK]++;
  }
  for (int64_t hour = 0; hour < (int64_t)fit->n_weeks * DAYS_OF_WEEK * 24; hour++) {
    double part = covered(fit, fit->start_us + hour * hour_us, hour_us) / (double)hour_us;
    had_hours[hour % 24] += part;
    had_days[hour / 24 % DAYS_OF_WEEK] += part / 24;
  }
  factors_of(by_hour, had_hours, 24, hours);
  factors_of(by_day, had_days, DAYS_OF_WEEK, weekdays);
}

/* ---- Days beyond chance ----------------------------------------------------------------------------- */

struct days {
  double *counts, *expected; /* [n]; expected: 0 where too few are */
  uint32_t n;
};

static void expect_days(const struct hr__like_fit *fit, const double *weeks, struct days *days) {
  for (uint32_t i = 0; i < days->n; i++) {
    double whole = covered(fit, fit->start_us + i * day_us, day_us) / (double)day_us;
    double usual = weeks[i / DAYS_OF_WEEK] / fmax(1e-9, fit->week_days[i / DAYS_OF_WEEK]);
    double expected = usual * fit->model->weekdays[i % DAYS_OF_WEEK];
    bool told = whole > 0.99 && expected >= 3 && weeks[i / DAYS_OF_WEEK] >= 20;
    days->expected[i] = told ? expected : 0;
  }
}

/* Variance beyond that of Poisson counts, weighted by how much each day tells, and the covariance with the next. */
static void fit_excess(const struct days *days, struct hr_like_band *band) {
  double variance = 0, weights = 0, product = 0, n_products = 0, last = 0;
  bool linked = false;
  for (uint32_t i = 0; i < days->n; i++) {
    double expected = days->expected[i], excess = days->counts[i] / fmax(expected, 1e-9) - 1;
    if (expected > 0) {
      variance += expected * excess * excess - 1;
      weights += expected;
      product += linked ? excess * last : 0;
      n_products += linked;
      last = excess;
    }
    linked = expected > 0;
  }
  band->day_variance = weights > 0 ? fmin(4, fmax(0, variance / weights)) : 0;
  bool told = band->day_variance > 0.001 && n_products > 10;
  band->day_correlation = told ? fmin(0.9, fmax(0, product / n_products / band->day_variance)) : 0;
}

/* `room`: two numbers for each day, one for each week. */
static void fit_days(const struct hr__like_fit *fit, uint32_t band, double *room) {
  uint32_t n = fit->n_weeks * DAYS_OF_WEEK;
  struct days days = {.counts = room, .expected = room + n, .n = n};
  double *weeks = room + 2 * (size_t)n;
  memset(room, 0, (2 * (size_t)n + fit->n_weeks) * sizeof *room);
  for (uint32_t i = 0; i < fit->n_campaigns; i++) {
    const struct hr__like_fit_campaign *campaign = &fit->campaigns[i];
    uint32_t week = hr__like_fit_week(fit, campaign->start_us);
    if (week == HR_NONE || hr__like_fit_band(fit, campaign) != band) continue;
    days.counts[(campaign->start_us - fit->start_us) / day_us]++;
    weeks[week]++;
  }
  expect_days(fit, weeks, &days);
  fit_excess(&days, &fit->model->bands[band]);
}

enum hr_status hr__like_fit_clock(struct hr__like_fit *fit) {
  enum hr_status status = keep_weeks(fit);
  if (status == HR_OK) status = weigh_weeks(fit);
  if (status != HR_OK) return status;
  hr__like_fit_profile(fit, false, fit->model->hours, fit->model->weekdays);
  double *room = malloc((2 * DAYS_OF_WEEK + 1) * (size_t)fit->n_weeks * sizeof *room);
  if (!room) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < fit->model->n_bands; i++) fit_days(fit, i, room);
  free(room);
  return HR_OK;
}
