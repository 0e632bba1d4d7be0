/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_FORECAST_H
#define HEADROOM_UNSTABLE_FORECAST_H

/*
 * Forecasts of demand, fitted to a trace: GPU hours of submitted work per week, by tenant and class.
 *
 * A series is the jobs of a tenant and class; small ones are pooled. The logarithm of a series' weekly demand is
 * smoothed exponentially, with a damped drift; the uncertainty of level, drift, smoothing and spread is in the
 * prediction intervals. Within a week demand follows an hourly profile. docs/planner/forecast.md has the model, its
 * sources and its accuracy on held-out weeks.
 *
 * Weeks of the trace are counted from its first submit; future weeks and months (of 365.25 / 12 days) from the end of
 * the trace's last whole week. A series is identified by its number; the total has the number of series.
 */

#include "headroom/base.h"
#include "headroom/trace.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HR_MAX_FORECAST_MONTHS 18
#define HR_MAX_FORECAST_WEEKS 79 /* weeks touched by 18 months */
#define HR_MAX_FORECAST_HOLDOUT 52
#define HR_MIN_FORECAST_GROWTH 0.01
#define HR_MAX_FORECAST_GROWTH 100.0

/* Members that are 0 have their default. */
struct hr_forecast_config {
  uint32_t months; /* 1 to 18; default 3 */
  /* demand after a year relative to today, instead of the fitted trend; default: the fitted trend */
  double growth;
  double confidence;      /* of the intervals, 0.5 to 0.999; default 0.95 */
  uint32_t holdout_weeks; /* default: a fifth of the fitted weeks, at least 1, at most 8 */
};

/* Fits a forecast; the caller destroys it. Borrows the trace, which must outlive it. HR_BAD_INPUT if the trace is
   too short, or no job requests GPUs. */
struct hr_forecast;
HR_API enum hr_status hr_forecast_make(const struct hr_trace *trace, const struct hr_forecast_config *config,
                                       struct hr_forecast **forecast, struct hr_error *error);
HR_API void hr_forecast_destroy(struct hr_forecast *forecast);

/* ---- Workloads drawn from a forecast ---- */

/* The series of each job, [n_jobs], including jobs that request no GPU. */
HR_API const uint32_t *hr_forecast_series(const struct hr_forecast *forecast, uint32_t *n_series);
/* Demand of each series in each of `n_weeks` future weeks from `first_week` (0: the first) on, relative to the
   series' mean weekly demand in the trace; 0 if the trace's whole weeks have none. `factors` is [n_series][n_weeks],
   row by row, never negative, as in struct hr_workload_spec for positions that are weeks. `expected`: the mean,
   independent of `seed`; otherwise one path drawn with the seed. Paths agree with the mean on average, and with the
   intervals. A week of a path does not depend on which other weeks are requested. Replications of a plan use
   hr_replication_seed. HR_BAD_INPUT for weeks beyond HR_MAX_FORECAST_WEEKS. */
HR_API enum hr_status hr_forecast_factors(const struct hr_forecast *forecast, uint64_t seed, bool expected,
                                          uint32_t first_week, uint32_t n_weeks, double *factors,
                                          struct hr_error *error);

/* ---- Results ---- */

struct hr_forecast_band {
  double mean, low, high;
};

/* Concurrent GPUs in a month. */
struct hr_forecast_month {
  struct hr_forecast_band mean; /* their mean over the month */
  /* the demand of the week's busiest hour, exceeded by 5 % of such hours, if all jobs start when they are submitted */
  double peak;
};

/* Accuracy on held-out weeks, over all origins and horizons. NAN without data. */
struct hr_forecast_score {
  double wape;       /* sum of |forecast - actual| / sum of actual */
  double bias;       /* sum of (forecast - actual) / sum of actual */
  double mase;       /* mean |forecast - actual| / mean |week-to-week change| before the first origin */
  double naive_wape; /* of the seasonal naive forecast: every hour as in the last week */
  double naive_mase;
  double coverage; /* share of the weeks within the interval */
};

struct hr_forecast_item {
  const char *tenant, *class_; /* "": unknown; "(others)": pooled; "(all)": all classes; both "(total)": the total */
  uint64_t jobs;               /* that request GPUs */
  double week_gpu_hours;       /* mean over the trace's whole weeks */
  /* now_gpus: the initial level of the forecast; now_peak: the 95th percentile of the peak hour at that level */
  double now_gpus, now_peak;
  double trend;             /* per year, as fitted: 1.2 is growth by a fifth; 1: none */
  double smoothing, spread; /* smoothing: alpha; spread: standard deviation of the logarithm of a week */
  struct hr_forecast_score score;
};

struct hr_forecast_span {
  uint32_t trace_weeks;               /* whole weeks of the trace */
  uint32_t first_week;                /* the first fitted week; earlier ones were hardly recorded */
  uint32_t months, weeks;             /* of the future */
  uint32_t holdout_weeks;             /* 0: too few weeks */
  uint32_t profile;                   /* hours distinguished by the profile: 168, 48 (weekdays and weekends) or 24 */
  double growth;                      /* as requested; NAN: as fitted */
  double confidence, half_life_weeks; /* half_life_weeks: of the damped trend; NAN without one */
};

HR_API struct hr_forecast_span hr_forecast_span(const struct hr_forecast *forecast);
HR_API struct hr_forecast_item hr_forecast_item(const struct hr_forecast *forecast, uint32_t series);
/* GPU hours of a week of the trace. */
HR_API double hr_forecast_actual(const struct hr_forecast *forecast, uint32_t series, uint32_t week);
/* GPU hours of a future week. */
HR_API struct hr_forecast_band hr_forecast_week(const struct hr_forecast *forecast, uint32_t series, uint32_t week);
/* Concurrent GPUs in a month, from 0. */
HR_API struct hr_forecast_month hr_forecast_month(const struct hr_forecast *forecast, uint32_t series, uint32_t month);
/* GPUs by hour of the week, relative to their mean, [168]. It begins with Monday's first hour if the trace has
   dates, otherwise with the first hour of the trace. */
HR_API const double *hr_forecast_profile(const struct hr_forecast *forecast, uint32_t series);
/* Notes for the user. */
HR_API const struct hr_notes *hr_forecast_notes(const struct hr_forecast *forecast);

/* Prints the tables, 80 columns wide. */
HR_API enum hr_status hr_forecast_print(FILE *out, const struct hr_forecast *forecast, bool colour);
/* Writes files; `path` "-" is standard output. JSON: docs/reference/schemas/forecast.schema.json. CSV: one row per
   series and week. */
HR_API enum hr_status hr_forecast_write_json(const char *path, const struct hr_forecast *forecast,
                                             struct hr_error *error);
HR_API enum hr_status hr_forecast_write_csv(const char *path, const struct hr_forecast *forecast,
                                            struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
