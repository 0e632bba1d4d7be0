/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_FORECAST_FORECASTING_H
#define HR_PLAN_FORECAST_FORECASTING_H

/*
 * The parts of a forecast: the history of demand by series, the fit of one series, and paths that are drawn from fits.
 *
 * A series contains the jobs of one tenant and class, or the jobs of several small groups (pairs of tenant and class)
 * that are merged. Rows of arrays are series. The row after the last series is the total.
 */

#include "headroom/unstable/planning.h"

#include <math.h>
#include <stdlib.h>

enum { HR__WEEK_HOURS = 168, HR__FORECAST_PATHS = 2000, HR__TREND_WEEKS = 6, HR__RATIO_POINTS = 201 };
#define HR__WEEK_US (HR__WEEK_HOURS * INT64_C(3600) * HR_SECOND_US)
#define HR__YEAR_WEEKS (365.25 / 7)

/* ---- History (forecast_model.c) -------------------------------------------------------------------- */

struct hr__forecast_series {
  const char *tenant, *class_; /* borrowed from the trace, or constants */
  uint64_t jobs;
};

struct hr__demand_history {
  uint32_t n_weeks, first_week, n_series, n_hours; /* first_week: the first week that is fitted */
  uint32_t *series_of;                             /* [n_jobs] index of the series of each job */
  struct hr__forecast_series *series;              /* [n_series] */
  double *week;                                    /* GPU hours submitted in each week, [n_series + 1][n_weeks] */
  double *hour;        /* mean GPUs in use in each hour if every job starts when submitted, [n_series + 1][n_hours] */
  uint32_t first_hour; /* hour of the week of the first hour in `hour` */
  bool dated;          /* the trace has calendar dates */
};
/* Computes the history. Returns HR_BAD_INPUT if the trace is too short or too long, or has no GPU time. The caller must
   call hr__forecast_history_finish, even after an error. */
enum hr_status hr__forecast_history_make(const struct hr_trace *trace, struct hr__demand_history *demand,
                                         struct hr_error *error);
static inline void hr__forecast_history_finish(struct hr__demand_history *demand) {
  free(demand->series_of);
  free(demand->series);
  free(demand->week);
  free(demand->hour);
}

/* The weekly profile of a series: how its demand is distributed over the hours of a week. */
struct hr__forecast_shape {
  uint32_t hours;            /* number of distinct hours: 168, 48 (weekdays and weekends) or 24 */
  double at[HR__WEEK_HOURS]; /* demand by hour of the week; 1 on average */
  /* quantiles, at even steps, of the ratio (demand of an hour) / (demand that level and profile predict) */
  double ratio[HR__RATIO_POINTS];
  uint32_t peak; /* hour of the week with the maximum */
};
/* Computes the profile of a series or of the total. HR_NO_MEMORY is the only failure. */
enum hr_status hr__forecast_shape_make(const struct hr__demand_history *demand, uint32_t series,
                                       struct hr__forecast_shape *profile);

/* ---- The fit of one series (forecast_model.c) ------------------------------------------------------- */

enum { HR__ALPHAS = 21 }; /* alpha, the smoothing parameter of the level, is 0, 0.05, ..., or 1 */

/* The posterior of the last level and of the drift, given one alpha. */
struct hr__forecast_posterior {
  double weight;                           /* posterior probability of this alpha; the weights of all alphas sum to 1 */
  double level, drift;                     /* posterior means */
  double var_level, covariance, var_drift; /* posterior variances and covariance, divided by sigma^2 */
  double squares;                          /* sigma^2 is distributed as squares / chi^2; see hr__forecast_fit.freedom */
  double smear;                            /* mean of exp(residual); exp(level) times this factor is a mean */
};

struct hr__forecast_fit {
  double scale;   /* mean weekly demand in GPU hours; the weeks were divided by it */
  double freedom; /* degrees of freedom of sigma^2 */
  double damping; /* factor by which the drift changes from one future week to the next; 0: the fit has no drift */
  uint32_t n_weeks;
  uint32_t best; /* index of the alpha with the largest weight */
  struct hr__forecast_posterior at[HR__ALPHAS];
};

/* Posterior means of the parameters of a fit. */
struct hr__forecast_estimate {
  double alpha;
  double drift; /* drift of the logarithm of demand, per week */
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

/* Fits the GPU hours of `n_weeks` weeks (at least 2). With fewer than HR__TREND_WEEKS weeks the fit has no drift.
   HR_NO_MEMORY is the only failure. */
enum hr_status hr__forecast_fit_make(const double *week, uint32_t n_weeks, struct hr__forecast_fit *fit);
/* Mean GPU hours of a week. `ahead`: 1 is the first future week; 0 returns the current level. `growth`, per year,
   replaces the drift of the fit; 0: the drift of the fit applies. */
double hr__forecast_fit_mean(const struct hr__forecast_fit *fit, double growth, uint32_t ahead);

/* ---- Paths (forecast_model.c) ----------------------------------------------------------------------- */

struct hr__forecast_model {
  const struct hr__forecast_fit *fits; /* [n_series + 1], the last one is of the total; borrowed */
  uint32_t n_series;
  double growth; /* growth of the total per year; 0: the drift of the fit applies */
};
/* Draws one path. `series`, [n_series][n_weeks], receives the GPU hours of each series. `total`, [n_weeks], receives
   their sum. */
void hr__forecast_draw_path(const struct hr__forecast_model *model, uint64_t seed, uint32_t n_weeks, double *series,
                            double *total);

/* Receives all paths of one series, [n_weeks][HR__FORECAST_PATHS]. The array is valid only during the call. */
typedef void hr__forecast_paths_receiver(void *self, uint32_t series, const double *paths);
/* Draws HR__FORECAST_PATHS paths and passes them to `receive`: first those of the total, then those of each series.
   `share`, [n_series][n_weeks], receives the mean share of each series in the total. The row of a series is filled
   before `receive` is called for it. HR_NO_MEMORY is the only failure. */
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
