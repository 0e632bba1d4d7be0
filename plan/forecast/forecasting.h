/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_FORECAST_FORECASTING_H
#define HR_PLAN_FORECAST_FORECASTING_H

/* The parts of a forecast: demand by series, the fit of one series, paths drawn from fits, the back-test. */

#include "headroom/unstable/forecast.h"

enum { HR__WEEK_HOURS = 168, HR__FORECAST_PATHS = 2000, HR__TREND_WEEKS = 6, HR__RATIO_POINTS = 201 };
#define HR__WEEK_US (HR__WEEK_HOURS * INT64_C(3600) * HR_SECOND_US)
#define HR__YEAR_WEEKS (365.25 / 7)
#define HR__MONTH_WEEKS (HR__YEAR_WEEKS / 12)

/* ---- Demand (forecast_series.c, forecast_demand.c) -------------------------------------------------- */

struct hr__series {
  const char *tenant, *class_;
  uint64_t jobs;
};

struct hr__demand_history {
  uint32_t n_weeks, first_week, n_series, n_hours;
  uint32_t *series_of; /* [n_jobs] */
  struct hr__series *series;
  double *week;        /* GPU hours submitted, [n_series + 1][n_weeks]; the last row is the total */
  double *hour;        /* GPUs in use by the hour if all start as they come, [n_series + 1][n_hours] */
  uint32_t first_hour; /* of the week, at the first column of `hour` */
  bool dated;
};
enum hr_status hr__history_make(const struct hr_trace *trace, struct hr__demand_history *demand,
                                struct hr_error *error);
void hr__history_finish(struct hr__demand_history *demand);

/* The shape of a week: by the hour, 1 on average; and how hours of single weeks differ from it, as quantiles of the
   ratio at even steps. */
struct hr__forecast_shape {
  uint32_t hours; /* told apart */
  double at[HR__WEEK_HOURS], ratio[HR__RATIO_POINTS];
  uint32_t peak;
};
/* Of a row of `hour`. HR_NO_MEMORY. */
enum hr_status hr__shape_make(const struct hr__demand_history *demand, uint32_t series,
                              struct hr__forecast_shape *profile);

/* ---- One series (forecast_fit.c) -------------------------------------------------------------------- */

enum { HR__ALPHAS = 21 }; /* 0, 0.05, ..., 1 */

/* What is known under one alpha of the last level and of the drift: means, and covariances for a unit variance. */
struct hr__fit_at {
  double weight; /* posterior; all sum to 1 */
  double level, drift;
  double var_level, covariance, var_drift;
  double squares; /* sigma^2 is distributed as this / chi^2 of the fit's freedom */
  double smear;   /* mean of exp(residual): what turns exp(level) into a mean */
};

struct hr__forecast_fit {
  double scale;   /* mean weekly demand, by which all was divided */
  double freedom; /* of sigma^2 */
  double fade;    /* of the drift from one week of the future to the next; 0: there is none */
  uint32_t n_weeks;
  uint32_t best; /* the alpha of the greatest weight */
  struct hr__fit_at at[HR__ALPHAS];
};

/* Of `n_weeks` (at least 2) GPU hours. A drift is fitted from HR__TREND_WEEKS on. HR_NO_MEMORY. */
enum hr_status hr__fit_make(const double *week, uint32_t n_weeks, struct hr__forecast_fit *fit);
double hr__alpha(uint32_t place);
/* Posterior means. The drift is of the logarithm, per week. */
double hr__fit_alpha(const struct hr__forecast_fit *fit);
double hr__fit_drift(const struct hr__forecast_fit *fit);
double hr__fit_sigma(const struct hr__forecast_fit *fit);
/* Mean GPU hours of week `ahead`, 1 for the first of the future, 0 for the level that it starts from. `growth` per
   year in place of the drift, or 0. */
double hr__fit_mean(const struct hr__forecast_fit *fit, double growth, uint32_t ahead);

/* ---- Paths (forecast_paths.c) ----------------------------------------------------------------------- */

struct hr__model {
  const struct hr__forecast_fit *fits; /* [n_series + 1], the last of the total */
  uint32_t n_series;
  double growth; /* 0: as fitted */
};
/* GPU hours of one path of all series, [n_series][n_weeks], and of the total, [n_weeks], which is their sum. */
void hr__draw_path(const struct hr__model *model, uint64_t seed, uint32_t n_weeks, double *series, double *total);

/* Many paths. `tell` hears of every series, and of the total first: `paths` is [n_weeks][HR__FORECAST_PATHS], and stays
   until it returns. `share`, [n_series][n_weeks], gets the mean part of the total that each series is, before `tell`
   hears of that series. */
typedef void hr__paths_receiver(void *self, uint32_t series, const double *paths);
enum hr_status hr__draw_all(const struct hr__model *model, uint32_t n_weeks, double *share, hr__paths_receiver *tell,
                            void *self);
/* Mean GPU hours of a series or of the total; week `ahead` counts from 1, and 0 is the level that it starts from. */
double hr__model_mean(const struct hr__model *model, const double *share, uint32_t n_weeks, uint32_t series,
                      uint32_t ahead);
/* Low and high of a list; `work` has room for it. */
void hr__band_of(const double *values, uint32_t count, double confidence, double *work, struct hr_forecast_band *band);

/* ---- The back-test (forecast_test.c) ---------------------------------------------------------------- */

/* Scores of all series and of the total, [n_series + 1]. */
enum hr_status hr__forecast_test(const struct hr__demand_history *demand, uint32_t holdout_weeks, double confidence,
                                 struct hr_forecast_score *scores);

/* ---- All of it -------------------------------------------------------------------------------------- */

struct hr_forecast {
  struct hr_forecast_config config; /* defaults filled in but for the growth */
  const struct hr_trace *trace;
  struct hr__demand_history demand;
  struct hr__forecast_fit *fits;       /* [n_series + 1] */
  struct hr__forecast_shape *profiles; /* likewise */
  double *share;                       /* [n_series][HR_MAX_FORECAST_WEEKS] */
  struct hr__model model;
  uint32_t n_weeks;
  struct hr_forecast_band *week;  /* [n_series + 1][n_weeks] */
  struct hr_forecast_band *month; /* [n_series + 1][months] */
  double *peak;                   /* likewise */
  struct hr_forecast_score *score;
  struct hr_notes notes;
};

#endif
