/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When jobs come: by the hour of the clock and the day of the week, and how far from evenly. */

#include "workload/stats.h"
#include "workload/units.h"

#include <math.h>
#include <stdlib.h>

#define UNKNOWN ((double)NAN)

enum { HOURS_A_DAY = 24, HOURS_A_WEEK = 168, MOST_HOURS = 1 << 24 };

/* Rounded down, below zero as well. */
static int64_t quotient(int64_t value, int64_t unit) {
  int64_t whole = value / unit;
  return value % unit < 0 ? whole - 1 : whole;
}

/* The first of January 1970 was a Thursday. */
static void count_by_clock(const struct hr_trace *trace, struct hr__arrivals *arrivals) {
  const int64_t thursday = 3;
  arrivals->has_weekdays = trace->dated;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    int64_t at_us = trace->origin_us + trace->submit_us[job], day = quotient(at_us, HR__DAY_US);
    int64_t weekday = (day + (trace->dated ? thursday : 0)) % 7;
    arrivals->by_hour[(at_us - day * HR__DAY_US) / HR__HOUR_US]++;
    arrivals->by_weekday[weekday < 0 ? weekday + 7 : weekday]++;
  }
}

/* ---- Gaps ------------------------------------------------------------------------------------------- */

static bool fill_gaps(struct hr_trace_stats *stats) {
  const struct hr_trace *trace = stats->trace;
  struct hr__arrivals *arrivals = &stats->arrivals;
  double *gaps = malloc(((size_t)trace->n_jobs + 1) * sizeof *gaps);
  if (!gaps) return false;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    bool as_before = job > 0 && trace->submit_us[job] == trace->submit_us[job - 1];
    bool as_after = job + 1 < trace->n_jobs && trace->submit_us[job] == trace->submit_us[job + 1];
    arrivals->together += as_before || as_after;
    if (job > 0) gaps[job - 1] = hr__seconds(trace->submit_us[job] - trace->submit_us[job - 1]);
  }
  size_t count = trace->n_jobs ? trace->n_jobs - 1 : 0;
  arrivals->gap_s = hr__spread_of(gaps, count);
  double sum = arrivals->gap_s.sd + arrivals->gap_s.mean;
  arrivals->burstiness = sum > 0 ? (arrivals->gap_s.sd - arrivals->gap_s.mean) / sum : UNKNOWN;
  bool done = hr__fit_all(gaps, count, stats->gap_fits);
  free(gaps);
  return done;
}

/* ---- Counts by hour --------------------------------------------------------------------------------- */

static double mean_of(const double *counts, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += counts[i];
  return sum / (double)n;
}

/* Variance / mean. */
static double dispersion_of(const double *counts, size_t n) {
  double mean = n ? mean_of(counts, n) : 0, squares = 0;
  if (n < 2 || mean <= 0) return UNKNOWN;
  for (size_t i = 0; i < n; i++) squares += (counts[i] - mean) * (counts[i] - mean);
  return squares / (double)(n - 1) / mean;
}

/* How counts go with those `lag` later; of at least two such spans. */
static double autocorrelation(const double *counts, size_t n, size_t lag) {
  if (n < 2 * lag) return UNKNOWN;
  double mean = mean_of(counts, n), squares = 0, products = 0;
  for (size_t i = 0; i < n; i++) squares += (counts[i] - mean) * (counts[i] - mean);
  for (size_t i = 0; i + lag < n; i++) products += (counts[i] - mean) * (counts[i + lag] - mean);
  return squares > 0 ? products / squares : UNKNOWN;
}

static void fill_by_hour(struct hr__arrivals *arrivals, double *counts) {
  size_t hours = arrivals->hours, days = hours / HOURS_A_DAY;
  arrivals->dispersion = dispersion_of(counts, hours);
  arrivals->after_a_day = autocorrelation(counts, hours, HOURS_A_DAY);
  arrivals->after_a_week = autocorrelation(counts, hours, HOURS_A_WEEK);
  arrivals->per_hour = hours ? mean_of(counts, hours) : UNKNOWN;
  for (size_t i = 0; i < hours; i++) arrivals->busiest = fmax(arrivals->busiest, counts[i]);
  for (size_t day = 0; day < days; day++) {
    double sum = 0;
    for (size_t i = 0; i < HOURS_A_DAY; i++) sum += counts[day * HOURS_A_DAY + i];
    counts[day] = sum;
  }
  arrivals->dispersion_by_day = dispersion_of(counts, days);
}

/* Whole hours from the first submit on; what comes after the last of them is left out. */
static bool count_by_hour(struct hr_trace_stats *stats) {
  const struct hr_trace *trace = stats->trace;
  struct hr__arrivals *arrivals = &stats->arrivals;
  int64_t first_us = trace->n_jobs ? trace->submit_us[0] : 0;
  int64_t hours = trace->n_jobs ? (trace->submit_us[trace->n_jobs - 1] - first_us) / HR__HOUR_US : 0;
  arrivals->hours = (uint64_t)(hours < MOST_HOURS ? hours : MOST_HOURS);
  double *counts = calloc(arrivals->hours + 1, sizeof *counts);
  if (!counts) return false;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    uint64_t hour = (uint64_t)((trace->submit_us[job] - first_us) / HR__HOUR_US);
    if (hour < arrivals->hours) counts[hour]++;
  }
  fill_by_hour(arrivals, counts);
  free(counts);
  return true;
}

bool hr__stats_arrivals(struct hr_trace_stats *stats) {
  count_by_clock(stats->trace, &stats->arrivals);
  return fill_gaps(stats) && count_by_hour(stats);
}
