/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_FORECAST_H
#define HEADROOM_UNSTABLE_FORECAST_H

/*
 * Forecasts of demand, fitted to a trace: GPU hours of submitted work per week, by tenant and class.
 *
 * A series is the set of jobs of a tenant and a class. Small series are pooled. The forecast of a series is computed by
 * exponential smoothing of the logarithm of its weekly demand, with a damped drift. Prediction intervals include the
 * uncertainty of level, drift, smoothing and spread. Within a week, demand follows an hourly profile.
 * docs/planner/forecast.md defines the model, its sources and its accuracy on held-out weeks.
 *
 * Weeks of the trace are counted from its first submit. Future weeks, and months of 365.25 / 12 days, are counted from
 * the end of the last whole week of the trace. Series are numbered from 0. Where a function takes the number of a
 * series, n_series means the total of all series.
 */

#include "headroom/base.h"
#include "headroom/trace.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HR_MAX_FORECAST_MONTHS 18
#define HR_MAX_FORECAST_WEEKS 79 /* number of weeks that 18 months can touch */
#define HR_MAX_FORECAST_HOLDOUT 52
#define HR_MIN_FORECAST_GROWTH 0.01
#define HR_MAX_FORECAST_GROWTH 100.0

/* The options of a forecast. 0 means the default. */
struct hr_forecast_config {
  uint32_t months; /* 1 to 18; default 3 */
  /* demand after a year / demand today; replaces the fitted trend. Default: the fitted trend */
  double growth;
  double confidence; /* of the prediction intervals, 0.5 to 0.999; default 0.95 */
  /* number of weeks at the end of the trace with which the accuracy is measured; default: a fifth of the fitted weeks,
     at least 1 and at most 8 */
  uint32_t holdout_weeks;
};

/* Fits a forecast. The caller frees `*forecast` with hr_forecast_destroy. The trace must outlive the forecast. Returns
   HR_BAD_INPUT if the trace is too short, or if no job requests GPUs. */
struct hr_forecast;
HR_API enum hr_status hr_forecast_make(const struct hr_trace *trace, const struct hr_forecast_config *config,
                                       struct hr_forecast **forecast, struct hr_error *error);
HR_API void hr_forecast_destroy(struct hr_forecast *forecast);

/* ---- Workloads drawn from a forecast ---- */

/* Returns the series of each job, [n_jobs], including jobs that request no GPU. Sets `*n_series`. The array belongs to
   the forecast. */
HR_API const uint32_t *hr_forecast_series(const struct hr_forecast *forecast, uint32_t *n_series);
/*
 * Computes a factor for each series and each of `n_weeks` future weeks, beginning with `first_week` (0: the first
 * future week). The factor is the demand of the series in that week / its mean weekly demand in the trace. If the
 * series has no demand in the whole weeks of the trace, its factors are 0. `factors` is [n_series][n_weeks], row by
 * row. The values are never negative. They can be used as `factors` of struct hr_workload_spec if positions are weeks.
 *
 * With `expected`, the factors are those of the mean demand, and `seed` is ignored. Otherwise they are those of one
 * random path of demand, drawn with `seed`. The mean over all paths is the mean demand; the quantiles over all paths
 * are the limits of the prediction intervals. A week of a path does not depend on which other weeks are requested.
 * Plans draw the path of a replication with hr_replication_seed. Returns HR_BAD_INPUT for weeks beyond
 * HR_MAX_FORECAST_WEEKS.
 */
HR_API enum hr_status hr_forecast_factors(const struct hr_forecast *forecast, uint64_t seed, bool expected,
                                          uint32_t first_week, uint32_t n_weeks, double *factors,
                                          struct hr_error *error);

/* ---- Results ---- */

/* A mean and its prediction interval. */
struct hr_forecast_band {
  double mean, low, high;
};

/* The number of GPUs in use at the same time in a month, if all jobs start at submission. */
struct hr_forecast_month {
  struct hr_forecast_band mean; /* mean over the month */
  double peak;                  /* 95th percentile of the busiest hour of a week */
};

/* The accuracy on held-out weeks, over all origins and horizons. NAN: unknown. */
struct hr_forecast_score {
  double wape; /* sum of |forecast - actual| / sum of actual */
  double bias; /* sum of (forecast - actual) / sum of actual */
  double mase; /* (mean of |forecast - actual|) / (mean of |change from week to week| before the first origin) */
  /* the same for the seasonal naive forecast, in which each hour equals the same hour of the last week */
  double naive_wape;
  double naive_mase;
  double coverage; /* share of the weeks with a demand within the prediction interval */
};

/* A series and its forecast. */
struct hr_forecast_item {
  /* names. "": unknown; "(others)": pooled series; "(all)": all classes. For the total, both are "(total)" */
  const char *tenant, *class_;
  uint64_t jobs;         /* number of jobs that request GPUs */
  double week_gpu_hours; /* mean over the whole weeks of the trace */
  /* now_gpus: mean number of GPUs in use at the initial level of the forecast; now_peak: 95th percentile of the busiest
     hour of a week at that level */
  double now_gpus, now_peak;
  double trend; /* fitted growth factor per year: 1.2 is growth by a fifth; 1: no growth */
  /* smoothing: parameter alpha; spread: standard deviation of the logarithm of a week's demand */
  double smoothing, spread;
  struct hr_forecast_score score;
};

/* The extent and the options of a forecast. */
struct hr_forecast_span {
  uint32_t trace_weeks; /* number of whole weeks of the trace */
  /* index of the first fitted week; earlier weeks are omitted because they were incompletely recorded */
  uint32_t first_week;
  uint32_t months, weeks; /* number of future months and weeks */
  uint32_t holdout_weeks; /* 0: the trace has too few weeks */
  /* number of different hours in the profile: 168; 48 (24 for weekdays, 24 for weekends); or 24 */
  uint32_t profile;
  double growth;                      /* as requested; NAN: the fitted trend */
  double confidence, half_life_weeks; /* half_life_weeks: of the damped trend; NAN: no trend */
};

/* hr_forecast_span returns the extent of a forecast. hr_forecast_item returns a series; if `series` is n_series, it
   returns the total. Strings belong to the forecast. */
HR_API struct hr_forecast_span hr_forecast_span(const struct hr_forecast *forecast);
HR_API struct hr_forecast_item hr_forecast_item(const struct hr_forecast *forecast, uint32_t series);
/* Returns the GPU hours of a week of the trace. */
HR_API double hr_forecast_actual(const struct hr_forecast *forecast, uint32_t series, uint32_t week);
/* Returns the GPU hours of a future week. */
HR_API struct hr_forecast_band hr_forecast_week(const struct hr_forecast *forecast, uint32_t series, uint32_t week);
/* Returns the forecast for a future month; `month` counts from 0. */
HR_API struct hr_forecast_month hr_forecast_month(const struct hr_forecast *forecast, uint32_t series, uint32_t month);
/* Returns the hourly profile of a series, [168]: for each hour of the week, the GPUs in that hour / the mean over the
   week. The first hour is Monday's first hour if the trace has dates, otherwise the first hour of the trace. The array
   belongs to the forecast. */
HR_API const double *hr_forecast_profile(const struct hr_forecast *forecast, uint32_t series);
/* Returns notes for the user. */
HR_API const struct hr_notes *hr_forecast_notes(const struct hr_forecast *forecast);

/* Prints the tables, 80 columns wide. */
HR_API enum hr_status hr_forecast_print(FILE *out, const struct hr_forecast *forecast, bool colour);
/* Write the forecast to a file; `path` "-" is standard output. JSON: see docs/reference/schemas/forecast.schema.json.
   CSV: one row per series and week. */
HR_API enum hr_status hr_forecast_write_json(const char *path, const struct hr_forecast *forecast,
                                             struct hr_error *error);
HR_API enum hr_status hr_forecast_write_csv(const char *path, const struct hr_forecast *forecast,
                                            struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
