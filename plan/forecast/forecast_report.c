/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a forecast as a table, as JSON and as CSV. The table is 80 columns wide and contains the total by month, the
 * weekly profile, each series and the back-test. The JSON follows docs/reference/schemas/forecast.schema.json. The CSV
 * has one row per series and week; the total is first.
 */

#include "base/output_file.h"
#include "base/text.h"
#include "plan/forecast/forecasting.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH = 16, CLASS_WIDTH = 14, CELL_WIDTH = 10, DAY_HOURS = 24, DAYS = 7, MAX_SERIES = 30 };

struct forecast_page {
  struct hr__console console;
  const struct hr_forecast *forecast;
  struct hr_forecast_span span;
  uint32_t n_series;
};

/* ---- Cells ----------------------------------------------------------------------------------------- */

static void put_left(struct forecast_page *page, const char *text, size_t columns) {
  char *shown = hr__fitted(&page->console, text, columns - 1, false);
  size_t width = shown ? hr__width_of(shown, strlen(shown)) : 0;
  fprintf(page->console.out, "%s%*s", shown ? shown : "", (int)(columns - width), "");
  free(shown);
}

static void put_cell(struct forecast_page *page, const char *text) {
  fprintf(page->console.out, "%*s", CELL_WIDTH, text);
}

static void put_gpus(struct forecast_page *page, double gpus) {
  char text[HR__NUMBER_BYTES];
  put_cell(page, hr__fixed_text(gpus, gpus < 999.95 ? 1 : 0, text));
}

static void put_per_cent(struct forecast_page *page, double value) {
  char text[HR__NUMBER_BYTES], cell[HR__NUMBER_BYTES + 2] = "-";
  if (fabs(value) < 0.0005) value = 0; /* avoids "-0.0" */
  if (!isnan(value)) snprintf(cell, sizeof cell, "%s %%", hr__fixed_text(100 * value, 1, text));
  put_cell(page, cell);
}

static void put_ratio(struct forecast_page *page, double value) {
  char text[HR__NUMBER_BYTES];
  put_cell(page, isnan(value) ? "-" : hr__fixed_text(value, 2, text));
}

static void put_titles(struct forecast_page *page, const char *first, size_t width, const char *second,
                       const char *const *titles) {
  fprintf(page->console.out, "\n%s", hr__bold(&page->console));
  put_left(page, first, width);
  if (second) put_left(page, second, CLASS_WIDTH);
  for (; *titles; titles++) put_cell(page, *titles);
  fprintf(page->console.out, "%s\n", hr__plain(&page->console));
}

/* ---- The model ------------------------------------------------------------------------------------- */

static void put_model(struct forecast_page *page, const struct hr_forecast_item *total) {
  struct hr__console *console = &page->console;
  char text[HR__NUMBER_BYTES], life[HR__NUMBER_BYTES], spread[HR__NUMBER_BYTES];
  hr__fixed_text(100 * total->spread, 0, spread);
  if (!isnan(page->span.growth))
    hr__put_field(console, "trend", "as given, a factor of %s per year; weekly spread %s %%",
                  hr__decimal_text(page->span.growth, text), spread);
  else if (isnan(page->span.half_life_weeks))
    hr__put_field(console, "trend", "none; weekly spread %s %%", spread);
  else
    hr__put_field(console, "trend", "growth %s %% a year, damped (half-life %s weeks); weekly spread %s %%",
                  hr__fixed_text(100 * (total->trend - 1), 0, text), hr__decimal_text(page->span.half_life_weeks, life),
                  spread);
}

static void put_head(struct forecast_page *page) {
  const struct hr_forecast *forecast = page->forecast;
  struct hr__console *console = &page->console;
  struct hr_forecast_item total = hr_forecast_item(forecast, page->n_series);
  char jobs[HR__NUMBER_BYTES], text[HR__NUMBER_BYTES];
  fprintf(console->out, "%sHeadroom %s: demand of the next %" PRIu32 " month%s%s\n\n", hr__bold(console), hr_version(),
          page->span.months, page->span.months == 1 ? "" : "s", hr__plain(console));
  hr__put_field(console, "trace", "%s (%s)", forecast->trace->source, forecast->trace->format);
  hr__put_field(console, "demand", "%s jobs that request GPUs, in %" PRIu32 " whole weeks", //
                hr__count_text(total.jobs, jobs), page->span.trace_weeks);
  put_model(page, &total);
  hr__put_field(console, "intervals", "%s %%", hr__decimal_text(100 * page->span.confidence, text));
}

/* ---- The total ------------------------------------------------------------------------------------- */

static void put_months(struct forecast_page *page) {
  static const char *const titles[] = {"mean", "low", "high", "peak p95", NULL};
  const struct hr_forecast *forecast = page->forecast;
  struct hr_forecast_item total = hr_forecast_item(forecast, page->n_series);
  put_titles(page, "GPUs", NAME_WIDTH, NULL, titles);
  put_left(page, "in the trace", NAME_WIDTH);
  put_gpus(page, total.week_gpu_hours / HR__WEEK_HOURS);
  fputc('\n', page->console.out);
  put_left(page, "now", NAME_WIDTH);
  put_gpus(page, total.now_gpus);
  fprintf(page->console.out, "%*s", 2 * CELL_WIDTH, "");
  put_gpus(page, total.now_peak);
  fputc('\n', page->console.out);
  for (uint32_t month = 0; month < page->span.months; month++) {
    struct hr_forecast_month gpus = hr_forecast_month(forecast, page->n_series, month);
    char name[32];
    snprintf(name, sizeof name, "month %" PRIu32, month + 1);
    put_left(page, name, NAME_WIDTH);
    put_gpus(page, gpus.mean.mean);
    put_gpus(page, gpus.mean.low);
    put_gpus(page, gpus.mean.high);
    put_gpus(page, gpus.peak);
    fputc('\n', page->console.out);
  }
}

/* ---- The weekly profile ---------------------------------------------------------------------------- */

/* Prints the hours of a day as bars, in eighths of the busiest hour of the week. */
static void put_day(struct forecast_page *page, const char *name, const double *hours, double max) {
  static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  put_left(page, name, NAME_WIDTH);
  for (unsigned i = 0; i < DAY_HOURS; i++) {
    const char *bar = bars[(unsigned)(hours[i] / max * 8 + 0.5)];
    fprintf(page->console.out, "%s%s", bar, bar);
  }
  fputc('\n', page->console.out);
}

static void put_week(struct forecast_page *page) {
  static const char *const dated[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
  static const char *const plain[] = {"day 1", "day 2", "day 3", "day 4", "day 5", "day 6", "day 7"};
  const double *profile = hr_forecast_profile(page->forecast, page->n_series);
  const char *const *names = page->forecast->trace->dated ? dated : plain;
  double max = profile[page->forecast->profiles[page->n_series].peak];
  fprintf(page->console.out, "\n%s", hr__bold(&page->console));
  put_left(page, "weekly profile", NAME_WIDTH);
  fprintf(page->console.out, "%-12d%-12d%-12d%d%s\n", 0, 6, 12, 18, hr__plain(&page->console));
  if (page->span.profile == DAY_HOURS) put_day(page, "every day", profile, max);
  if (page->span.profile == 2 * DAY_HOURS) {
    put_day(page, "weekdays", profile, max);
    put_day(page, "weekends", profile + (DAYS - 1) * DAY_HOURS, max);
  }
  for (unsigned i = 0; i < DAYS && page->span.profile == HR__WEEK_HOURS; i++)
    put_day(page, names[i], profile + (size_t)i * DAY_HOURS, max);
}

/* ---- Series ---------------------------------------------------------------------------------------- */

static void put_names(struct forecast_page *page, const struct hr_forecast_item *item) {
  put_left(page, item->tenant[0] ? item->tenant : "(none)", NAME_WIDTH);
  put_left(page, item->class_[0] ? item->class_ : "(none)", CLASS_WIDTH);
}

static void put_more(struct forecast_page *page) {
  char more[HR__NUMBER_BYTES];
  if (page->n_series > MAX_SERIES)
    fprintf(page->console.out, "%sand %s more%s\n", hr__dim(&page->console),
            hr__count_text(page->n_series - MAX_SERIES, more), hr__plain(&page->console));
}

static void put_series(struct forecast_page *page) {
  char title[16];
  const char *const titles[] = {"now", title, "low", "high", "peak p95", NULL};
  if (page->n_series < 2) return;
  snprintf(title, sizeof title, "month %" PRIu32, page->span.months);
  put_titles(page, "tenant", NAME_WIDTH, "class", titles);
  for (uint32_t i = 0; i < page->n_series && i < MAX_SERIES; i++) {
    struct hr_forecast_item item = hr_forecast_item(page->forecast, i);
    struct hr_forecast_month gpus = hr_forecast_month(page->forecast, i, page->span.months - 1);
    put_names(page, &item);
    put_gpus(page, item.now_gpus);
    put_gpus(page, gpus.mean.mean);
    put_gpus(page, gpus.mean.low);
    put_gpus(page, gpus.mean.high);
    put_gpus(page, gpus.peak);
    fputc('\n', page->console.out);
  }
  put_more(page);
}

/* ---- The back-test --------------------------------------------------------------------------------- */

static void put_score(struct forecast_page *page, uint32_t series) {
  struct hr_forecast_item item = hr_forecast_item(page->forecast, series);
  if (series < page->n_series)
    put_names(page, &item);
  else
    put_left(page, "total", NAME_WIDTH + CLASS_WIDTH);
  put_per_cent(page, item.score.wape);
  put_per_cent(page, item.score.naive_wape);
  put_per_cent(page, item.score.bias);
  put_ratio(page, item.score.mase);
  put_per_cent(page, item.score.coverage);
  fputc('\n', page->console.out);
}

static void put_scores(struct forecast_page *page) {
  static const char *const titles[] = {"WAPE", "naive", "bias", "MASE", "inside", NULL};
  if (page->span.holdout_weeks == 0) return;
  put_titles(page, "held back", NAME_WIDTH, "", titles);
  for (uint32_t i = 0; i < page->n_series && i < MAX_SERIES && page->n_series > 1; i++) put_score(page, i);
  if (page->n_series > 1) put_more(page);
  put_score(page, page->n_series);
}

static void put_legend(struct forecast_page *page) {
  struct hr__console *console = &page->console;
  uint32_t weeks = page->span.holdout_weeks, tests = weeks * (weeks + 1) / 2;
  fputc('\n', console->out);
  hr__put_field(console, "GPUs", "GPU hours submitted per hour");
  hr__put_field(console, "peak p95", "95 %% quantile of a week's busiest hour, if all jobs start when submitted");
  if (weeks == 0) return;
  hr__put_field(console, "held back", "the last %" PRIu32 " week%s: %" PRIu32 " forecast%s of each series%s", weeks,
                weeks == 1 ? "" : "s", tests, tests == 1 ? "" : "s",
                isnan(page->span.growth) ? "" : ", with the trend as fitted");
  hr__put_field(console, "WAPE", "absolute error / demand; naive: if the last week repeats");
  hr__put_field(console, "MASE", "absolute error / absolute change from week to week before");
  hr__put_field(console, "inside", "share of weeks within the interval");
}

enum hr_status hr_forecast_print(FILE *out, const struct hr_forecast *forecast, bool colour) {
  struct forecast_page page = {.console = {.out = out, .colour = colour},
                               .forecast = forecast,
                               .span = hr_forecast_span(forecast),
                               .n_series = forecast->demand.n_series};
  put_head(&page);
  put_months(&page);
  put_week(&page);
  put_series(&page);
  put_scores(&page);
  put_legend(&page);
  if (page.console.out_of_memory) return HR_NO_MEMORY;
  return ferror(out) ? HR_IO_ERROR : HR_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------------ */

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
    struct hr_forecast_month gpus = hr_forecast_month(forecast, series, i);
    hr__json_count(json, month, "month", i + 1);
    put_band(json, hr__json_object(json, month, "gpus"), &gpus.mean);
    hr__json_number(json, month, "peak_gpus", gpus.peak);
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

static void json_put_score(struct hr__json *json, cJSON *object, const struct hr_forecast_score *score) {
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
  json_put_score(json, object, &item.score);
  put_future(json, object, forecast, series);
  put_past(json, object, forecast, series);
}

static void json_put_head(struct hr__json *json, cJSON *root, const struct hr_forecast *forecast) {
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
  json_put_head(&json, root, forecast);
  put_item(&json, hr__json_object(&json, root, "total"), forecast, n_series);
  cJSON *series = hr__json_array(&json, root, "series");
  for (uint32_t i = 0; i < n_series; i++)
    put_item(&json, hr__json_append(&json, series, cJSON_CreateObject()), forecast, i);
  hr__json_notes(&json, hr__json_array(&json, root, "notes"), &forecast->notes);
  return hr__json_write(&json, root, path, error);
}

/* ---- CSV ------------------------------------------------------------------------------------------- */

static void put_number(struct hr__csv_out *out, double value) {
  char buffer[HR__NUMBER_BYTES];
  hr__csv_text(out, hr__decimal_text(value, buffer));
}

static void csv_put_series(struct hr__csv_out *out, const struct hr_forecast *forecast, uint32_t series) {
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
  csv_put_series(&out, forecast, forecast->demand.n_series);
  for (uint32_t i = 0; i < forecast->demand.n_series; i++) csv_put_series(&out, forecast, i);
  return hr__csv_commit(&out, error);
}
