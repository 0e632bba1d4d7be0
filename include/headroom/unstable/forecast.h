/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_FORECAST_H
#define HEADROOM_UNSTABLE_FORECAST_H

/*
 * Demand to come, fitted to a trace: GPU hours of work that is submitted, week by week, by tenant and class.
 *
 * A series is a tenant's jobs of a class; small ones are pooled. The logarithm of a series' weekly demand is smoothed
 * exponentially with a drift that fades out; all that is uncertain (level, drift, smoothing, spread) is in the
 * intervals. Within a week demand follows a profile by the hour. docs/planner/forecast.md has the model, its sources,
 * and how it does on held-back weeks.
 *
 * Weeks of the trace count from its first submit, those of the future from the end of the trace's last whole week; so
 * do months, each of 365.25 / 12 days. A series is named by its number, and the total by the number of series.
 */

#include "headroom/base.h"
#include "headroom/trace.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HR_MAX_FORECAST_MONTHS 18
#define HR_MAX_FORECAST_WEEKS 79 /* what 18 months touch */
#define HR_MAX_FORECAST_HOLDOUT 52
#define HR_MIN_FORECAST_GROWTH 0.01
#define HR_MAX_FORECAST_GROWTH 100.0

/* A field that is 0 stands for its default. */
struct hr_forecast_config {
  uint32_t months;        /* 1 to 18; default 3 */
  double growth;          /* demand per year for that of today, in place of the fitted trend; default: as fitted */
  double confidence;      /* of the intervals, 0.5 to 0.999; default 0.95 */
  uint32_t holdout_weeks; /* default: a fifth of the fitted weeks, at least 1, at most 8 */
};

/* Borrows the trace, which must outlive the forecast. HR_BAD_INPUT where the trace is too short, or nothing in it asks
   for GPUs. */
struct hr_forecast;
HR_API enum hr_status hr_forecast_make(const struct hr_trace *trace, const struct hr_forecast_config *config,
                                       struct hr_forecast **forecast, struct hr_error *error);
HR_API void hr_forecast_destroy(struct hr_forecast *forecast);

/* ---- For who draws a workload from it --------------------------------------------------------------- */

/* The series of each job, [n_jobs]; jobs that ask for no GPU have one, too. */
HR_API const uint32_t *hr_forecast_series(const struct hr_forecast *forecast, uint32_t *n_series);
/* Demand of each series in each of `n_weeks` weeks of the future from `first_week` (0: the first) on, divided by the
   series' mean weekly demand in the trace, or 0 where the trace's whole weeks have none of it: `factors` is
   [n_series][n_weeks], row by row, never negative, as `struct hr_workload_spec` has them for positions that are weeks.
   `expected`: the mean, and `seed` does not matter; otherwise one path drawn under that seed, such that paths agree
   with the mean on average and with the intervals. A week of a path does not depend on which others are asked for.
   Replications of a plan take hr_replication_seed. HR_BAD_INPUT for weeks beyond HR_MAX_FORECAST_WEEKS. */
HR_API enum hr_status hr_forecast_factors(const struct hr_forecast *forecast, uint64_t seed, bool expected,
                                          uint32_t first_week, uint32_t n_weeks, double *factors,
                                          struct hr_error *error);

/* ---- What it says ----------------------------------------------------------------------------------- */

struct hr_forecast_band {
  double mean, low, high;
};

/* How forecasts of held-back weeks did, all origins and horizons together. NaN where there is nothing to tell by. */
struct hr_forecast_score {
  double wape;       /* sum of |forecast - actual| / sum of actual */
  double bias;       /* sum of (forecast - actual) / sum of actual */
  double mase;       /* mean |forecast - actual| / mean |change from week to week| before the first origin */
  double naive_wape; /* of the seasonal naive forecast: every hour as it was in the last week */
  double naive_mase;
  double coverage; /* part of the weeks that were within the interval */
};

struct hr_forecast_item {
  const char *tenant, *class_; /* "" unknown, "(others)" pooled, "(all)" of all classes; both "(total)" for the total */
  uint64_t jobs;               /* that ask for GPUs */
  double week_gpu_hours;       /* mean of the trace's whole weeks */
  double now_gpus, now_peak;   /* the level that the forecast starts from; the peak hour's 95th percentile there */
  double trend;                /* per year, as fitted: 1.2 for a fifth more, 1 where none is */
  double smoothing, spread;    /* alpha, and the standard deviation of a week's logarithm */
  struct hr_forecast_score score;
};

struct hr_forecast_span {
  uint32_t trace_weeks;               /* whole weeks of the trace */
  uint32_t first_week;                /* the first that is fitted: those before were hardly recorded */
  uint32_t months, weeks;             /* of the future */
  uint32_t holdout_weeks;             /* 0: too few weeks to hold one back */
  uint32_t profile;                   /* hours that the profile tells apart: 168, 48 (weekdays and weekends) or 24 */
  double growth;                      /* as asked for; NaN: as fitted */
  double confidence, half_life_weeks; /* the latter of the trend; NaN where there is none */
};

HR_API struct hr_forecast_span hr_forecast_span(const struct hr_forecast *forecast);
HR_API struct hr_forecast_item hr_forecast_item(const struct hr_forecast *forecast, uint32_t series);
/* GPU hours of a week of the trace. */
HR_API double hr_forecast_actual(const struct hr_forecast *forecast, uint32_t series, uint32_t week);
/* GPU hours of a week of the future. */
HR_API struct hr_forecast_band hr_forecast_week(const struct hr_forecast *forecast, uint32_t series, uint32_t week);
/* Concurrent GPUs of a month: its mean; and what the week's busiest hour needs, which 5 % of such hours exceed, if all
   jobs start as they come. */
HR_API struct hr_forecast_band hr_forecast_month(const struct hr_forecast *forecast, uint32_t series, uint32_t month);
HR_API double hr_forecast_peak(const struct hr_forecast *forecast, uint32_t series, uint32_t month);
/* GPUs by the hour of the week for 1 on average, [168]; the first is Monday's first of a trace that tells dates, the
   trace's own first hour otherwise. */
HR_API const double *hr_forecast_profile(const struct hr_forecast *forecast, uint32_t series);
/* What a person should know of it. */
HR_API const struct hr_notes *hr_forecast_notes(const struct hr_forecast *forecast);

/* The tables for a person, 80 columns wide. */
HR_API enum hr_status hr_forecast_print(FILE *out, const struct hr_forecast *forecast, bool colour);
/* Files; `path` "-" is standard output. JSON: docs/reference/schemas/forecast.schema.json. CSV: a row for each series
 * and week. */
HR_API enum hr_status hr_forecast_write_json(const char *path, const struct hr_forecast *forecast,
                                             struct hr_error *error);
HR_API enum hr_status hr_forecast_write_csv(const char *path, const struct hr_forecast *forecast,
                                            struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
