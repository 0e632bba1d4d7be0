/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_FORECAST_FORECASTING_H
#define HR_PLAN_FORECAST_FORECASTING_H

/*
 * The parts of a forecast: the history of demand by series, the fit of one series, and paths drawn from fits.
 *
 * A series is the jobs of one tenant and class, or of a group that is pooled. Rows of arrays are series; the row after
 * the last series is the total.
 */

#include "headroom/unstable/forecast.h"

#include <math.h>
#include <stdlib.h>

enum { HR__WEEK_HOURS = 168, HR__FORECAST_PATHS = 2000, HR__TREND_WEEKS = 6, HR__RATIO_POINTS = 201 };
#define HR__WEEK_US (HR__WEEK_HOURS * INT64_C(3600) * HR_SECOND_US)
#define HR__YEAR_WEEKS (365.25 / 7)
#define HR__MONTH_WEEKS (HR__YEAR_WEEKS / 12)

/* ---- History (forecast_demand.c) -------------------------------------------------------------------- */

struct hr__forecast_series {
  const char *tenant, *class_; /* belong to the trace, or are constants */
  uint64_t jobs;
};

struct hr__demand_history {
  uint32_t n_weeks, first_week, n_series, n_hours; /* first_week: the first one that is fitted */
  uint32_t *series_of;                             /* [n_jobs] */
  struct hr__forecast_series *series;              /* [n_series] */
  double *week;                                    /* GPU hours submitted, [n_series + 1][n_weeks] */
  double *hour;        /* GPUs in use by hour if every job starts when submitted, [n_series + 1][n_hours] */
  uint32_t first_hour; /* hour of the week of the first column of `hour` */
  bool dated;          /* the trace has calendar dates */
};
/* HR_BAD_INPUT if the trace is too short, too long or without GPU time. Call hr__forecast_history_finish in any case.
 */
enum hr_status hr__forecast_history_make(const struct hr_trace *trace, struct hr__demand_history *demand,
                                         struct hr_error *error);

static inline void hr__forecast_history_finish(struct hr__demand_history *demand) {
  free(demand->series_of);
  free(demand->series);
  free(demand->week);
  free(demand->hour);
}

/* The weekly profile of a series. */
struct hr__forecast_shape {
  uint32_t hours;                 /* distinct hours: 168, 48 (weekdays and weekends) or 24 */
  double at[HR__WEEK_HOURS];      /* demand by hour of the week; 1 on average */
  double ratio[HR__RATIO_POINTS]; /* quantiles, at even steps, of demand in an hour / demand by level and profile */
  uint32_t peak;                  /* hour of the maximum */
};
/* The profile of a row of `hour`. HR_NO_MEMORY is the only failure. */
enum hr_status hr__forecast_shape_make(const struct hr__demand_history *demand, uint32_t series,
                                       struct hr__forecast_shape *profile);

/* ---- The fit of one series (forecast_model.c) ------------------------------------------------------- */

enum { HR__ALPHAS = 21 }; /* 0, 0.05, ..., 1 */

/* The posterior of the last level and of the drift under one alpha. */
struct hr__forecast_posterior {
  double weight;                           /* posterior probability of the alpha; all sum to 1 */
  double level, drift;                     /* means */
  double var_level, covariance, var_drift; /* for a unit variance of the errors */
  double squares;                          /* sigma^2 is distributed as squares / chi^2 with the fit's freedom */
  double smear;                            /* mean of exp(residual); turns exp(level) into a mean */
};

struct hr__forecast_fit {
  double scale;   /* mean weekly demand, by which the weeks were divided */
  double freedom; /* degrees of freedom of sigma^2 */
  double damping; /* factor of the drift from one future week to the next; 0: without drift */
  uint32_t n_weeks;
  uint32_t best; /* the alpha with the largest weight */
  struct hr__forecast_posterior at[HR__ALPHAS];
};

/* Posterior means. */
struct hr__forecast_estimate {
  double alpha;
  double drift; /* of the logarithm, per week */
  double sigma;
};

static inline double hr__forecast_alpha(uint32_t place) {
  return (double)place / (HR__ALPHAS - 1);
}

static inline struct hr__forecast_estimate hr__forecast_fit_estimate(const struct hr__forecast_fit *fit) {
  struct hr__forecast_estimate mean = {0};
  for (uint32_t i = 0; i < HR__ALPHAS; i++) {
    const struct hr__forecast_posterior *at = &fit->at[i];
    mean.alpha += at->weight * hr__forecast_alpha(i);
    mean.drift += at->weight * at->drift;
    mean.sigma += at->weight * sqrt(at->squares / fit->freedom);
  }
  return mean;
}

/* Fits `n_weeks` (at least 2) of GPU hours. With fewer than HR__TREND_WEEKS the fit has no drift. HR_NO_MEMORY is the
   only failure. */
enum hr_status hr__forecast_fit_make(const double *week, uint32_t n_weeks, struct hr__forecast_fit *fit);
/* Mean GPU hours of week `ahead`: 1 is the first future week, 0 the level at which the forecast starts. `growth`: per
   year, replaces the drift; 0: the drift as fitted. */
double hr__forecast_fit_mean(const struct hr__forecast_fit *fit, double growth, uint32_t ahead);

/* ---- Paths (forecast_model.c) ----------------------------------------------------------------------- */

struct hr__forecast_model {
  const struct hr__forecast_fit *fits; /* [n_series + 1], the last of the total; borrowed */
  uint32_t n_series;
  double growth; /* per year; 0: as fitted */
};
/* GPU hours on one path of all series, [n_series][n_weeks], and of the total, [n_weeks], which is their sum. */
void hr__forecast_draw_path(const struct hr__forecast_model *model, uint64_t seed, uint32_t n_weeks, double *series,
                            double *total);

/* Receives the paths of one series, [n_weeks][HR__FORECAST_PATHS]; valid during the call only. */
typedef void hr__forecast_paths_receiver(void *self, uint32_t series, const double *paths);
/* Draws HR__FORECAST_PATHS paths and passes them to `receive`: the total first, then each series. `share`,
   [n_series][n_weeks], gets the mean share of the total, for a series before it is received. HR_NO_MEMORY is the only
   failure. */
enum hr_status hr__forecast_draw_paths(const struct hr__forecast_model *model, uint32_t n_weeks, double *share,
                                       hr__forecast_paths_receiver *receive, void *self);

/* ---- The forecast ----------------------------------------------------------------------------------- */

struct hr_forecast {
  struct hr_forecast_config config; /* with defaults filled in, except for the growth */
  const struct hr_trace *trace;     /* borrowed */
  struct hr__demand_history demand;
  struct hr__forecast_fit *fits;       /* [n_series + 1] */
  struct hr__forecast_shape *profiles; /* [n_series + 1] */
  double *share;                       /* [n_series][HR_MAX_FORECAST_WEEKS] */
  struct hr__forecast_model model;
  uint32_t n_weeks;
  struct hr_forecast_band *week;   /* GPU hours, [n_series + 1][n_weeks] */
  struct hr_forecast_band *month;  /* GPUs, [n_series + 1][months] */
  double *peak;                    /* GPUs, [n_series + 1][months] */
  struct hr_forecast_score *score; /* [n_series + 1] */
  struct hr_notes notes;
};

#endif
