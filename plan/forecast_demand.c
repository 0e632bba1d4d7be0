/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Demand by week, where it is submitted, and by hour, where it would run if nobody waited; and the shape of a week.
 *
 * A job that runs over whole hours is an entry and an exit in a list of differences, so that long jobs cost no more
 * than short ones. These are whole thousandths of GPUs and exact; the hours that a job shares in part are added as they
 * are.
 */

#include "plan/forecasting.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <stdlib.h>
#include <string.h>

enum { DAY_HOURS = 24, WORKDAYS = 5, PROFILE_WEEKS = 6 };
static const int64_t hour_us = 3600 * HR_SECOND_US;

/* ---- Hours ------------------------------------------------------------------------------------------ */

struct hours {
  double *part;   /* GPUs, of jobs that begin or end within the hour */
  int64_t *steps; /* milli-GPUs, of jobs that take all of it: differences between hours */
};

static void add_part(const struct hr__history *demand, const struct hours *hours, int64_t hour, double gpus) {
  if (hour < demand->n_hours) hours->part[hour] += gpus;
}

static void add_step(const struct hr__history *demand, const struct hours *hours, int64_t hour, int64_t milli) {
  if (hour < demand->n_hours) hours->steps[hour] += milli;
}

static void add_job(const struct hr__history *demand, const struct hours *hours, int64_t begin_us, int64_t end_us,
                    uint64_t milli) {
  int64_t first = begin_us / hour_us, last = end_us / hour_us;
  double gpus = (double)milli / 1000;
  if (first == last) {
    add_part(demand, hours, first, gpus * (double)(end_us - begin_us) / (double)hour_us);
    return;
  }
  add_part(demand, hours, first, gpus * (double)((first + 1) * hour_us - begin_us) / (double)hour_us);
  add_part(demand, hours, last, gpus * (double)(end_us - last * hour_us) / (double)hour_us);
  add_step(demand, hours, first + 1, (int64_t)milli);
  add_step(demand, hours, last, -(int64_t)milli);
}

/* Where the input's clock is dates, hours are its own, and the week begins on Monday: 1970-01-01 was a Thursday. */
static int64_t clock_offset_us(const struct hr_trace *trace) {
  const int64_t day_us = DAY_HOURS * hour_us;
  int64_t offset_us = trace->dated ? (trace->origin_us + 3 * day_us) % HR__WEEK_US : 0;
  return offset_us < 0 ? offset_us + HR__WEEK_US : offset_us;
}

static void sum_steps(struct hr__history *demand, const int64_t *steps, uint32_t series) {
  double *row = demand->hour + (size_t)series * demand->n_hours;
  double *total = demand->hour + (size_t)demand->n_series * demand->n_hours;
  int64_t milli = 0;
  for (uint32_t i = 0; i < demand->n_hours; i++) {
    milli += steps[i];
    row[i] += (double)milli / 1000;
    total[i] += row[i];
  }
}

static void add_jobs(const struct hr_trace *trace, struct hr__history *demand, int64_t *steps) {
  int64_t offset_us = clock_offset_us(trace) % hour_us;
  demand->first_hour = (uint32_t)(clock_offset_us(trace) / hour_us);
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    size_t row = (size_t)demand->series_of[i] * demand->n_hours;
    struct hours hours = {demand->hour + row, steps + row};
    int64_t begin_us = trace->submit_us[i] + offset_us;
    add_job(demand, &hours, begin_us, begin_us + trace->work_us[i], hr_trace_gpus_milli(trace, (hr_job){i}));
  }
  for (uint32_t i = 0; i < demand->n_series; i++) sum_steps(demand, steps + (size_t)i * demand->n_hours, i);
}

/* ---- Weeks ------------------------------------------------------------------------------------------ */

static void add_weeks(const struct hr_trace *trace, struct hr__history *demand) {
  double *total = demand->week + (size_t)demand->n_series * demand->n_weeks;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    int64_t week = trace->submit_us[i] / HR__WEEK_US;
    if (week < demand->n_weeks)
      demand->week[(size_t)demand->series_of[i] * demand->n_weeks + (size_t)week] += hr__job_gpu_hours(trace, i);
  }
  for (uint32_t i = 0; i < demand->n_series; i++)
    for (uint32_t week = 0; week < demand->n_weeks; week++)
      total[week] += demand->week[(size_t)i * demand->n_weeks + week];
}

enum hr_status hr__history_make(const struct hr_trace *trace, struct hr__history *demand, struct hr_error *error) {
  *demand = (struct hr__history){.dated = trace->dated};
  enum hr_status status = hr__history_assign(trace, demand, error);
  if (status != HR_OK) return status;
  demand->n_hours = demand->n_weeks * HR__WEEK_HOURS;
  size_t rows = (size_t)demand->n_series + 1;
  demand->week = calloc(rows * demand->n_weeks, sizeof *demand->week);
  demand->hour = calloc(rows * demand->n_hours, sizeof *demand->hour);
  int64_t *steps = calloc(rows * demand->n_hours, sizeof *steps);
  if (demand->week && demand->hour && steps) {
    add_weeks(trace, demand);
    add_jobs(trace, demand, steps);
  } else {
    status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  free(steps);
  return status;
}

void hr__history_finish(struct hr__history *demand) {
  free(demand->series_of);
  free(demand->series);
  free(demand->week);
  free(demand->hour);
}

/* ---- The week's shape ------------------------------------------------------------------------------- */

/* Hours that share a figure share a place. */
static uint32_t place_of(uint32_t hours, uint32_t hour) {
  if (hours == HR__WEEK_HOURS) return hour;
  bool weekend = hours == 2 * DAY_HOURS && hour / DAY_HOURS >= WORKDAYS;
  return hour % DAY_HOURS + (weekend ? DAY_HOURS : 0);
}

static uint32_t count_places(const struct hr__history *demand) {
  if (demand->n_weeks - demand->first_week >= PROFILE_WEEKS) return HR__WEEK_HOURS;
  return demand->dated ? 2 * DAY_HOURS : DAY_HOURS;
}

/* Every week has the same say: an hour counts as a share of its week's mean. Of a series without demand, flat. */
static void average(const struct hr__history *demand, const double *hour, struct hr__shape *profile) {
  double sum[HR__WEEK_HOURS] = {0}, all = 0;
  uint32_t count[HR__WEEK_HOURS] = {0};
  for (uint32_t week = demand->first_week; week < demand->n_weeks; week++) {
    const double *row = hour + (size_t)week * HR__WEEK_HOURS;
    double mean = gsl_stats_mean(row, 1, HR__WEEK_HOURS);
    for (uint32_t i = 0; i < HR__WEEK_HOURS && mean > 0; i++) {
      uint32_t place = place_of(profile->hours, (demand->first_hour + i) % HR__WEEK_HOURS);
      sum[place] += row[i] / mean;
      count[place]++;
    }
  }
  for (uint32_t i = 0; i < HR__WEEK_HOURS; i++) {
    uint32_t place = place_of(profile->hours, i);
    profile->at[i] = count[place] ? sum[place] / count[place] : 1;
    all += profile->at[i];
  }
  for (uint32_t i = 0; i < HR__WEEK_HOURS; i++) {
    profile->at[i] *= HR__WEEK_HOURS / all;
    if (profile->at[i] > profile->at[profile->peak]) profile->peak = i;
  }
}

/* An hour of a week by what its week's mean and the profile make of it. */
static size_t take_ratios(const struct hr__history *demand, const double *hour, const struct hr__shape *profile,
                          double *ratios) {
  size_t count = 0;
  for (uint32_t week = demand->first_week; week < demand->n_weeks; week++) {
    const double *row = hour + (size_t)week * HR__WEEK_HOURS;
    double mean = gsl_stats_mean(row, 1, HR__WEEK_HOURS);
    for (uint32_t i = 0; i < HR__WEEK_HOURS && mean > 0; i++) {
      double expected = mean * profile->at[(demand->first_hour + i) % HR__WEEK_HOURS];
      if (expected > 0) ratios[count++] = row[i] / expected;
    }
  }
  return count;
}

enum hr_status hr__shape_make(const struct hr__history *demand, uint32_t series, struct hr__shape *profile) {
  const double *hour = demand->hour + (size_t)series * demand->n_hours;
  *profile = (struct hr__shape){.hours = count_places(demand)};
  average(demand, hour, profile);
  double *ratios = malloc(demand->n_hours * sizeof *ratios);
  if (!ratios) return HR_NO_MEMORY;
  size_t count = take_ratios(demand, hour, profile, ratios);
  gsl_sort(ratios, 1, count);
  for (uint32_t i = 0; i < HR__RATIO_POINTS; i++)
    profile->ratio[i] = count ? gsl_stats_quantile_from_sorted_data(ratios, 1, count, i / (HR__RATIO_POINTS - 1.0)) : 1;
  free(ratios);
  return HR_OK;
}
