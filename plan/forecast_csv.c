/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A forecast as CSV: a row for each series and week, the total first. */

#include "plan/forecasting.h"
#include "report/csv_out.h"

static void put_number(struct hr__csv_out *out, double value) {
  char buffer[HR__NUMBER_BYTES];
  hr__csv_text(out, hr__decimal_text(value, buffer));
}

static void put_series(struct hr__csv_out *out, const struct hr_forecast *forecast, uint32_t series) {
  struct hr_forecast_item item = hr_forecast_item(forecast, series);
  for (uint32_t week = 0; week < forecast->n_weeks; week++) {
    struct hr_forecast_band band = hr_forecast_week(forecast, series, week);
    hr__csv_text(out, item.tenant);
    hr__csv_text(out, item.class_);
    hr__csv_u64(out, week + 1);
    put_number(out, band.low);
    put_number(out, band.mean);
    put_number(out, band.high);
    hr__csv_end_row(out);
  }
}

enum hr_status hr_forecast_write_csv(const char *path, const struct hr_forecast *forecast, struct hr_error *error) {
  struct hr__csv_out out;
  enum hr_status status =
      hr__csv_open(&out, path, "tenant,class,week,low_gpu_hours,mean_gpu_hours,high_gpu_hours", error);
  if (status != HR_OK) return status;
  put_series(&out, forecast, forecast->demand.n_series);
  for (uint32_t i = 0; i < forecast->demand.n_series; i++) put_series(&out, forecast, i);
  return hr__csv_commit(&out, error);
}
