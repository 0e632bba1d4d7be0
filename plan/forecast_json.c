/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A forecast as JSON (docs/reference/schemas/forecast.schema.json). */

#include "plan/forecasting.h"
#include "report/json_tree.h"
#include "report/text.h"

#include <math.h>

static void put_figure(struct hr__json *json, cJSON *object, const char *key, double value) {
  hr__json_number_if(json, object, key, !isnan(value), value);
}

static void put_band(struct hr__json *json, cJSON *object, const struct hr_forecast_band *band) {
  hr__json_number(json, object, "mean", band->mean);
  hr__json_number(json, object, "low", band->low);
  hr__json_number(json, object, "high", band->high);
}

static void put_future(struct hr__json *json, cJSON *object, const struct hr_forecast *forecast, uint32_t series) {
  cJSON *months = hr__json_array(json, object, "months");
  for (uint32_t i = 0; i < forecast->config.months; i++) {
    cJSON *month = hr__json_append(json, months, cJSON_CreateObject());
    struct hr_forecast_band gpus = hr_forecast_month(forecast, series, i);
    hr__json_count(json, month, "month", i + 1);
    put_band(json, hr__json_object(json, month, "gpus"), &gpus);
    hr__json_number(json, month, "peak_gpus", hr_forecast_peak(forecast, series, i));
  }
  cJSON *weeks = hr__json_array(json, object, "weeks");
  for (uint32_t i = 0; i < forecast->n_weeks; i++) {
    cJSON *week = hr__json_append(json, weeks, cJSON_CreateObject());
    struct hr_forecast_band gpu_hours = hr_forecast_week(forecast, series, i);
    hr__json_count(json, week, "week", i + 1);
    put_band(json, hr__json_object(json, week, "gpu_hours"), &gpu_hours);
  }
}

static void append_number(struct hr__json *json, cJSON *array, double value) {
  char buffer[HR__NUMBER_BYTES];
  hr__json_append(json, array, cJSON_CreateRaw(hr__decimal_text(value, buffer)));
}

static void put_past(struct hr__json *json, cJSON *object, const struct hr_forecast *forecast, uint32_t series) {
  cJSON *weeks = hr__json_array(json, object, "trace_gpu_hours");
  for (uint32_t i = 0; i < forecast->demand.n_weeks; i++)
    append_number(json, weeks, hr_forecast_actual(forecast, series, i));
  const double *profile = hr_forecast_profile(forecast, series);
  cJSON *hours = hr__json_array(json, object, "profile");
  for (uint32_t i = 0; i < HR__WEEK_HOURS; i++) append_number(json, hours, profile[i]);
}

static void put_score(struct hr__json *json, cJSON *object, const struct hr_forecast_score *score) {
  cJSON *inner = hr__json_object(json, object, "test");
  put_figure(json, inner, "wape", score->wape);
  put_figure(json, inner, "bias", score->bias);
  put_figure(json, inner, "mase", score->mase);
  put_figure(json, inner, "naive_wape", score->naive_wape);
  put_figure(json, inner, "naive_mase", score->naive_mase);
  put_figure(json, inner, "coverage", score->coverage);
}

static void put_item(struct hr__json *json, cJSON *object, const struct hr_forecast *forecast, uint32_t series) {
  struct hr_forecast_item item = hr_forecast_item(forecast, series);
  if (series < forecast->demand.n_series) {
    hr__json_text(json, object, "tenant", item.tenant);
    hr__json_text(json, object, "class", item.class_);
  }
  hr__json_count(json, object, "jobs", item.jobs);
  hr__json_number(json, object, "week_gpu_hours", item.week_gpu_hours);
  hr__json_number(json, object, "now_gpus", item.now_gpus);
  hr__json_number(json, object, "now_peak_gpus", item.now_peak);
  hr__json_number(json, object, "trend_per_year", item.trend);
  hr__json_number(json, object, "smoothing", item.smoothing);
  hr__json_number(json, object, "spread", item.spread);
  put_score(json, object, &item.score);
  put_future(json, object, forecast, series);
  put_past(json, object, forecast, series);
}

static void put_head(struct hr__json *json, cJSON *root, const struct hr_forecast *forecast) {
  struct hr_forecast_span span = hr_forecast_span(forecast);
  hr__json_text(json, root, "headroom", hr_version());
  cJSON *trace = hr__json_object(json, root, "trace");
  hr__json_text(json, trace, "file", forecast->trace->source);
  hr__json_text(json, trace, "format", forecast->trace->format);
  hr__json_count(json, trace, "weeks", span.trace_weeks);
  hr__json_count(json, trace, "first_fitted_week", span.first_week + 1);
  hr__json_bool(json, trace, "dated", forecast->trace->dated);
  hr__json_count(json, root, "months", span.months);
  hr__json_number(json, root, "confidence", span.confidence);
  put_figure(json, root, "growth_per_year", span.growth);
  put_figure(json, root, "trend_half_life_weeks", span.half_life_weeks);
  hr__json_count(json, root, "profile_hours", span.profile);
  hr__json_count(json, root, "holdout_weeks", span.holdout_weeks);
}

enum hr_status hr_forecast_write_json(const char *path, const struct hr_forecast *forecast, struct hr_error *error) {
  struct hr__json json = {false};
  cJSON *root = cJSON_CreateObject();
  uint32_t n_series = forecast->demand.n_series;
  put_head(&json, root, forecast);
  put_item(&json, hr__json_object(&json, root, "total"), forecast, n_series);
  cJSON *series = hr__json_array(&json, root, "series");
  for (uint32_t i = 0; i < n_series; i++)
    put_item(&json, hr__json_append(&json, series, cJSON_CreateObject()), forecast, i);
  hr__json_notes(&json, hr__json_array(&json, root, "notes"), &forecast->notes);
  return hr__json_write(&json, root, path, error);
}
