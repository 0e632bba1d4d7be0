/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a forecast tells to who asks: factors of demand, and its figures one by one. */

#include "plan/forecasting.h"
#include "plan/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- Factors ---------------------------------------------------------------------------------------- */

static double mean_of(const struct hr_forecast *forecast, uint32_t series, uint32_t ahead) {
  return hr__model_mean(&forecast->model, forecast->share, HR_MAX_FORECAST_WEEKS, series, ahead);
}

static double mean_week(const struct hr__history *demand, uint32_t series) {
  double sum = 0;
  for (uint32_t week = 0; week < demand->n_weeks; week++) sum += demand->week[(size_t)series * demand->n_weeks + week];
  return sum / demand->n_weeks;
}

const uint32_t *hr_forecast_series(const struct hr_forecast *forecast, uint32_t *n_series) {
  *n_series = forecast->demand.n_series;
  return forecast->demand.series_of;
}

enum hr_status hr_forecast_factors(const struct hr_forecast *forecast, uint64_t seed, bool expected,
                                   uint32_t first_week, uint32_t n_weeks, double *factors, struct hr_error *error) {
  uint32_t n_series = forecast->demand.n_series, end = first_week + n_weeks;
  if (first_week > HR_MAX_FORECAST_WEEKS || n_weeks > HR_MAX_FORECAST_WEEKS - first_week)
    return hr_fail(error, HR_BAD_INPUT, "factors of weeks %" PRIu32 " to %" PRIu64 ": a forecast goes over %d weeks",
                   first_week, (uint64_t)first_week + n_weeks, HR_MAX_FORECAST_WEEKS);
  double total[HR_MAX_FORECAST_WEEKS], *paths = calloc((size_t)n_series * end + 1, sizeof *paths);
  if (!paths) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  if (!expected) hr__draw_path(&forecast->model, seed, end, paths, total);
  for (uint32_t i = 0; i < n_series; i++) {
    double mean = mean_week(&forecast->demand, i);
    for (uint32_t week = first_week; week < end; week++) {
      double demand = expected ? mean_of(forecast, i, week + 1) : paths[(size_t)i * end + week];
      factors[(size_t)i * n_weeks + week - first_week] = mean > 0 ? demand / mean : 0;
    }
  }
  free(paths);
  return HR_OK;
}

/* ---- Figures ---------------------------------------------------------------------------------------- */

struct hr_forecast_span hr_forecast_span(const struct hr_forecast *forecast) {
  const struct hr_forecast_config *config = &forecast->config;
  double fade = config->growth > 0 ? 0 : forecast->fits[0].fade;
  return (struct hr_forecast_span){.trace_weeks = forecast->demand.n_weeks,
                                   .first_week = forecast->demand.first_week,
                                   .months = config->months,
                                   .weeks = forecast->n_weeks,
                                   .holdout_weeks = config->holdout_weeks,
                                   .profile = forecast->profiles[0].hours,
                                   .growth = config->growth > 0 ? config->growth : HR__UNKNOWN,
                                   .confidence = config->confidence,
                                   .half_life_weeks = fade > 0 ? -1 / log2(fade) : HR__UNKNOWN};
}

struct hr_forecast_item hr_forecast_item(const struct hr_forecast *forecast, uint32_t series) {
  const struct hr__history *demand = &forecast->demand;
  const struct hr__shape *profile = &forecast->profiles[series];
  const struct hr__fit *fit = &forecast->fits[series];
  struct hr_forecast_item item = {.tenant = "(total)",
                                  .class_ = "(total)",
                                  .week_gpu_hours = mean_week(demand, series),
                                  .now_gpus = mean_of(forecast, series, 0) / HR__WEEK_HOURS,
                                  .trend = exp(hr__fit_drift(fit) * HR__YEAR_WEEKS),
                                  .smoothing = hr__fit_alpha(fit),
                                  .spread = hr__fit_sigma(fit),
                                  .score = forecast->score[series]};
  item.now_peak = item.now_gpus * profile->at[profile->peak] * profile->ratio[(HR__RATIO_POINTS - 1) * 95 / 100];
  if (forecast->config.holdout_weeks == 0)
    item.score =
        (struct hr_forecast_score){HR__UNKNOWN, HR__UNKNOWN, HR__UNKNOWN, HR__UNKNOWN, HR__UNKNOWN, HR__UNKNOWN};
  for (uint32_t i = 0; i < demand->n_series && series == demand->n_series; i++) item.jobs += demand->series[i].jobs;
  if (series == demand->n_series) return item;
  item.tenant = demand->series[series].tenant;
  item.class_ = demand->series[series].class_;
  item.jobs = demand->series[series].jobs;
  return item;
}

double hr_forecast_actual(const struct hr_forecast *forecast, uint32_t series, uint32_t week) {
  return forecast->demand.week[(size_t)series * forecast->demand.n_weeks + week];
}

struct hr_forecast_band hr_forecast_week(const struct hr_forecast *forecast, uint32_t series, uint32_t week) {
  return forecast->week[(size_t)series * forecast->n_weeks + week];
}

struct hr_forecast_band hr_forecast_month(const struct hr_forecast *forecast, uint32_t series, uint32_t month) {
  return forecast->month[(size_t)series * forecast->config.months + month];
}

double hr_forecast_peak(const struct hr_forecast *forecast, uint32_t series, uint32_t month) {
  return forecast->peak[(size_t)series * forecast->config.months + month];
}

const double *hr_forecast_profile(const struct hr_forecast *forecast, uint32_t series) {
  return forecast->profiles[series].at;
}

const struct hr_notes *hr_forecast_notes(const struct hr_forecast *forecast) {
  return &forecast->notes;
}
