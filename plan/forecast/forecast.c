/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A forecast: settings, the fit of each series, demand by week and month from sampled paths, the back-test, notes, the
 * public getters, and output.
 *
 * Every array by series has an additional last row for the total. Paths are drawn in a fixed order and summarized one
 * series at a time. The paths of only one series are stored at a time, so memory is O(weeks x (series + paths)).
 *
 * The back-test uses a rolling origin (Hyndman and Athanasopoulos, "Forecasting: Principles and Practice", 5.10). For
 * each of the last weeks, all series are fitted as if the trace ended before that week, and that week and all later
 * weeks are forecast. Errors of all origins and horizons have equal weight. The seasonal naive forecast, which repeats
 * the last known week, is scored for comparison. The list of series is taken from the whole trace.
 *
 * A forecast is written as a table, as JSON and as CSV. The table is 80 columns wide and contains the total by month,
 * the weekly profile, each series and the back-test. The JSON follows docs/reference/schemas/forecast.schema.json. The
 * CSV has one row per series and week; the total is first.
 */

#include "base/output_file.h"
#include "base/text.h"
#include "plan/forecast/forecasting.h"
#include "plan/runner/runner.h"
#include "report/tables/tables.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MONTH_WEEKS (730.0 / HR__WEEK_HOURS) /* a twelfth of 365 days, as for costs */

/* ---- Means and intervals --------------------------------------------------------------------------- */

/* Mean GPU hours of a series, or of the total, in a week. `ahead`: 1 is the first future week; 0 returns the current
   level. */
static double model_mean(const struct hr__forecast_model *model, const double *share, uint32_t n_weeks, uint32_t series,
                         uint32_t ahead) {
  double total = hr__forecast_fit_mean(&model->fits[model->n_series], model->growth, ahead);
  return series < model->n_series ? total * share[(size_t)series * n_weeks + (ahead > 0 ? ahead - 1 : 0)] : total;
}

/* Sets the ends of the interval of a sample, but not the mean. `work` has room for `count` values. */
static void interval_of(const double *values, uint32_t count, double confidence, double *work,
                        struct hr_forecast_band *band) {
  for (uint32_t i = 0; i < count; i++) work[i] = values[i];
  gsl_sort(work, 1, count);
  band->low = gsl_stats_quantile_from_sorted_data(work, 1, count, (1 - confidence) / 2);
  band->high = gsl_stats_quantile_from_sorted_data(work, 1, count, (1 + confidence) / 2);
}

/* ---- Demand factors -------------------------------------------------------------------------------- */

static double mean_of(const struct hr_forecast *forecast, uint32_t series, uint32_t ahead) {
  return model_mean(&forecast->model, forecast->share, HR_MAX_FORECAST_WEEKS, series, ahead);
}

static const double *weeks_of(const struct hr__demand_history *demand, uint32_t series) {
  return demand->week + (size_t)series * demand->n_weeks;
}

/* Fits every series and the total as if the trace ended before the week `end`. */
static enum hr_status fit_weeks(const struct hr__demand_history *demand, uint32_t end, struct hr__forecast_fit *fits) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i <= demand->n_series && status == HR_OK; i++)
    status = hr__forecast_fit_make(weeks_of(demand, i) + demand->first_week, end - demand->first_week, &fits[i]);
  return status;
}

static double mean_week(const struct hr__demand_history *demand, uint32_t series) {
  double sum = 0;
  for (uint32_t week = 0; week < demand->n_weeks; week++) sum += weeks_of(demand, series)[week];
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
    return hr_fail(error, HR_BAD_INPUT, "weeks %" PRIu32 " to %" PRIu64 " are out of range; a forecast covers %d weeks",
                   first_week, (uint64_t)first_week + n_weeks, HR_MAX_FORECAST_WEEKS);
  double total[HR_MAX_FORECAST_WEEKS], *paths = calloc((size_t)n_series * end + 1, sizeof *paths);
  if (!paths) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  if (!expected) hr__forecast_draw_path(&forecast->model, seed, end, paths, total);
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

/* ---- Getters --------------------------------------------------------------------------------------- */

struct hr_forecast_span hr_forecast_span(const struct hr_forecast *forecast) {
  const struct hr_forecast_config *config = &forecast->config;
  double damping = config->growth > 0 ? 0 : forecast->fits[0].damping;
  return (struct hr_forecast_span){.trace_weeks = forecast->demand.n_weeks,
                                   .first_week = forecast->demand.first_week,
                                   .months = config->months,
                                   .weeks = forecast->n_weeks,
                                   .holdout_weeks = config->holdout_weeks,
                                   .profile = forecast->profiles[0].hours,
                                   .growth = config->growth > 0 ? config->growth : HR__UNKNOWN,
                                   .confidence = config->confidence,
                                   .half_life_weeks = damping > 0 ? -1 / log2(damping) : HR__UNKNOWN};
}

struct hr_forecast_item hr_forecast_item(const struct hr_forecast *forecast, uint32_t series) {
  const struct hr__demand_history *demand = &forecast->demand;
  const struct hr__forecast_shape *profile = &forecast->profiles[series];
  const struct hr__forecast_fit *fit = &forecast->fits[series];
  struct hr__forecast_estimate estimate = hr__forecast_fit_estimate(fit);
  struct hr_forecast_item item = {.tenant = "(total)",
                                  .class_ = "(total)",
                                  .week_gpu_hours = mean_week(demand, series),
                                  .now_gpus = mean_of(forecast, series, 0) / HR__WEEK_HOURS,
                                  .trend = exp(estimate.drift * HR__YEAR_WEEKS),
                                  .smoothing = estimate.alpha,
                                  .spread = estimate.sigma,
                                  .score = forecast->score[series]};
  item.now_peak = item.now_gpus * profile->at[profile->peak] * profile->ratio[(HR__RATIO_POINTS - 1) * 95 / 100];
  if (forecast->config.holdout_weeks == 0)
    item.score =
        (struct hr_forecast_score){HR__UNKNOWN, HR__UNKNOWN, HR__UNKNOWN, HR__UNKNOWN, HR__UNKNOWN, HR__UNKNOWN};
  if (series < demand->n_series) {
    item.tenant = demand->series[series].tenant;
    item.class_ = demand->series[series].class_;
    item.jobs = demand->series[series].jobs;
    return item;
  }
  for (uint32_t i = 0; i < demand->n_series; i++) item.jobs += demand->series[i].jobs;
  return item;
}

double hr_forecast_actual(const struct hr_forecast *forecast, uint32_t series, uint32_t week) {
  return weeks_of(&forecast->demand, series)[week];
}

struct hr_forecast_band hr_forecast_week(const struct hr_forecast *forecast, uint32_t series, uint32_t week) {
  return forecast->week[(size_t)series * forecast->n_weeks + week];
}

struct hr_forecast_month hr_forecast_month(const struct hr_forecast *forecast, uint32_t series, uint32_t month) {
  size_t at = (size_t)series * forecast->config.months + month;
  return (struct hr_forecast_month){forecast->month[at], forecast->peak[at]};
}

const double *hr_forecast_profile(const struct hr_forecast *forecast, uint32_t series) {
  return forecast->profiles[series].at;
}

const struct hr_notes *hr_forecast_notes(const struct hr_forecast *forecast) {
  return &forecast->notes;
}

/* ---- The back-test --------------------------------------------------------------------------------- */

struct error_sums {
  double actual, error, absolute, naive;
  uint32_t count, inside;
};

struct backtest {
  const struct hr__demand_history *demand;
  double confidence, *work;
  struct hr__forecast_fit *fits; /* [n_series + 1] */
  struct hr__forecast_model model;
  double *share;
  uint32_t origin, ahead;  /* origin: number of known weeks; ahead: number of weeks to forecast */
  struct error_sums *sums; /* [n_series + 1] */
};

static void score(void *self, uint32_t series, const double *paths) {
  struct backtest *backtest = self;
  struct error_sums *sums = &backtest->sums[series];
  const double *week = weeks_of(backtest->demand, series);
  for (uint32_t i = 0; i < backtest->ahead; i++) {
    struct hr_forecast_band band;
    interval_of(paths + (size_t)i * HR__FORECAST_PATHS, HR__FORECAST_PATHS, backtest->confidence, backtest->work,
                &band);
    double actual = week[backtest->origin + i];
    double error = model_mean(&backtest->model, backtest->share, backtest->ahead, series, i + 1) - actual;
    sums->actual += actual;
    sums->error += error;
    sums->absolute += fabs(error);
    sums->naive += fabs(week[backtest->origin - 1] - actual);
    sums->inside += actual >= band.low && actual <= band.high;
    sums->count++;
  }
}

static enum hr_status backtest_origin(struct backtest *backtest) {
  enum hr_status status = fit_weeks(backtest->demand, backtest->origin, backtest->fits);
  return status == HR_OK ? hr__forecast_draw_paths(&backtest->model, backtest->ahead, backtest->share, score, backtest)
                         : status;
}

static struct hr_forecast_score score_of(const struct hr__demand_history *demand, uint32_t series,
                                         uint32_t first_origin, const struct error_sums *sums) {
  const double *week = weeks_of(demand, series);
  double change = 0;
  for (uint32_t i = demand->first_week + 1; i < first_origin; i++) change += fabs(week[i] - week[i - 1]);
  change /= first_origin - demand->first_week - 1;
  double count = sums->count;
  return (struct hr_forecast_score){.wape = sums->actual > 0 ? sums->absolute / sums->actual : HR__UNKNOWN,
                                    .bias = sums->actual > 0 ? sums->error / sums->actual : HR__UNKNOWN,
                                    .mase = change > 0 ? sums->absolute / count / change : HR__UNKNOWN,
                                    .naive_wape = sums->actual > 0 ? sums->naive / sums->actual : HR__UNKNOWN,
                                    .naive_mase = change > 0 ? sums->naive / count / change : HR__UNKNOWN,
                                    .coverage = sums->inside / count};
}

/* Computes the scores of all series and of the total, [n_series + 1]. HR_NO_MEMORY is the only failure. */
static enum hr_status make_scores(const struct hr__demand_history *demand, uint32_t holdout_weeks, double confidence,
                                  struct hr_forecast_score *scores) {
  uint32_t first_origin = demand->n_weeks - holdout_weeks;
  struct backtest backtest = {.demand = demand, .confidence = confidence};
  backtest.fits = calloc(demand->n_series + 1, sizeof *backtest.fits);
  backtest.share = calloc((size_t)demand->n_series * holdout_weeks, sizeof *backtest.share);
  backtest.sums = calloc(demand->n_series + 1, sizeof *backtest.sums);
  backtest.work = calloc(HR__FORECAST_PATHS, sizeof *backtest.work);
  enum hr_status status = backtest.fits && backtest.share && backtest.sums && backtest.work ? HR_OK : HR_NO_MEMORY;
  backtest.model = (struct hr__forecast_model){.fits = backtest.fits, .n_series = demand->n_series};
  for (backtest.origin = first_origin; backtest.origin < demand->n_weeks && status == HR_OK; backtest.origin++) {
    backtest.ahead = demand->n_weeks - backtest.origin;
    status = backtest_origin(&backtest);
  }
  for (uint32_t i = 0; status == HR_OK && i <= demand->n_series; i++)
    scores[i] = score_of(demand, i, first_origin, &backtest.sums[i]);
  free(backtest.fits);
  free(backtest.share);
  free(backtest.sums);
  free(backtest.work);
  return status;
}

enum { DEFAULT_MONTHS = 3, DEFAULT_MAX_HOLDOUT = 8 };
static const double default_confidence = 0.95, golden = 0.6180339887498949, low_demand = 0.25, tie = 0.005;

/* ---- Settings -------------------------------------------------------------------------------------- */

static enum hr_status check_config(struct hr_forecast_config *config, struct hr_error *error) {
  if (config->months == 0) config->months = DEFAULT_MONTHS;
  if (config->confidence == 0) config->confidence = default_confidence;
  if (config->months > HR_MAX_FORECAST_MONTHS)
    return hr_fail(error, HR_BAD_INPUT, "invalid number of months %" PRIu32 "; expected 1 to %d", config->months,
                   HR_MAX_FORECAST_MONTHS);
  if (config->growth != 0 && !(config->growth >= HR_MIN_FORECAST_GROWTH && config->growth <= HR_MAX_FORECAST_GROWTH))
    return hr_fail(error, HR_BAD_INPUT,
                   "invalid growth %g per year; expected %g to %g (1.5: half as much again after a year)",
                   config->growth, HR_MIN_FORECAST_GROWTH, HR_MAX_FORECAST_GROWTH);
  if (!(config->confidence >= 0.5 && config->confidence <= 0.999))
    return hr_fail(error, HR_BAD_INPUT, "invalid confidence %g; expected 0.5 to 0.999", config->confidence);
  return HR_OK;
}

/* Determines the number of held-back weeks. At least two weeks must remain for the fit. */
static enum hr_status set_holdout(struct hr_forecast *forecast, struct hr_error *error) {
  uint32_t fitted = forecast->demand.n_weeks - forecast->demand.first_week, max = fitted - 2;
  uint32_t *weeks = &forecast->config.holdout_weeks;
  if (*weeks > max)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: cannot hold back %" PRIu32 " weeks: of %" PRIu32 " usable weeks at most %" PRIu32
                   ", since 2 must remain to fit",
                   forecast->trace->source, *weeks, fitted, max);
  if (*weeks > 0) return HR_OK;
  *weeks = fitted / 5 > DEFAULT_MAX_HOLDOUT ? DEFAULT_MAX_HOLDOUT : fitted / 5;
  if (*weeks == 0) *weeks = 1;
  if (*weeks > max) *weeks = max;
  return HR_OK;
}

/* ---- Summaries of paths ---------------------------------------------------------------------------- */

/* The share of a future week that lies in a future month. Future weeks and months are numbered from 0. */
static double week_in_month(uint32_t week, uint32_t month) {
  double begin = fmax(week, month * MONTH_WEEKS), end = fmin(week + 1.0, (month + 1) * MONTH_WEEKS);
  return fmax(end - begin, 0);
}

struct path_summary {
  struct hr_forecast *forecast;
  double *month, *work; /* month: one value per path; work: scratch space for sorting */
};

static void fill_weeks(const struct path_summary *summary, uint32_t series, const double *paths) {
  struct hr_forecast *forecast = summary->forecast;
  for (uint32_t week = 0; week < forecast->n_weeks; week++) {
    struct hr_forecast_band *band = &forecast->week[(size_t)series * forecast->n_weeks + week];
    interval_of(paths + (size_t)week * HR__FORECAST_PATHS, HR__FORECAST_PATHS, forecast->config.confidence,
                summary->work, band);
    band->mean = mean_of(forecast, series, week + 1);
  }
}

static void fill_month(const struct path_summary *summary, uint32_t series, const double *paths, uint32_t month) {
  struct hr_forecast *forecast = summary->forecast;
  struct hr_forecast_band *band = &forecast->month[(size_t)series * forecast->config.months + month];
  memset(summary->month, 0, HR__FORECAST_PATHS * sizeof *summary->month);
  band->mean = 0;
  for (uint32_t week = 0; week < forecast->n_weeks; week++) {
    double part = week_in_month(week, month) / MONTH_WEEKS / HR__WEEK_HOURS;
    if (part <= 0) continue;
    band->mean += part * mean_of(forecast, series, week + 1);
    const double *of_week = paths + (size_t)week * HR__FORECAST_PATHS;
    for (uint32_t i = 0; i < HR__FORECAST_PATHS; i++) summary->month[i] += part * of_week[i];
  }
  interval_of(summary->month, HR__FORECAST_PATHS, forecast->config.confidence, summary->work, band);
}

/* The 95 % quantile of a month's busiest hour, in GPUs. Each path contributes one value: (expected demand in the
   busiest hour of a week) x (ratio of demand to expected demand). Path i of n uses the week at the share (i + 0.5) / n
   of the month. The ratios are quantiles. Multiples of the golden ratio select them, so that they are spread evenly
   over the paths. */
static double peak_of(const struct path_summary *summary, uint32_t series, const double *paths, uint32_t month) {
  const struct hr_forecast *forecast = summary->forecast;
  const struct hr__forecast_shape *profile = &forecast->profiles[series];
  for (uint32_t i = 0; i < HR__FORECAST_PATHS; i++) {
    double part = (i + 0.5) / HR__FORECAST_PATHS, turn = (i + 0.5) * golden;
    size_t week = (size_t)((month + part) * MONTH_WEEKS);
    double gpus = paths[week * HR__FORECAST_PATHS + i] / HR__WEEK_HOURS * profile->at[profile->peak];
    summary->work[i] = gpus * profile->ratio[(size_t)((turn - floor(turn)) * HR__RATIO_POINTS)];
  }
  gsl_sort(summary->work, 1, HR__FORECAST_PATHS);
  return gsl_stats_quantile_from_sorted_data(summary->work, 1, HR__FORECAST_PATHS, 0.95);
}

static void fill_series(void *self, uint32_t series, const double *paths) {
  const struct path_summary *summary = self;
  struct hr_forecast *forecast = summary->forecast;
  fill_weeks(summary, series, paths);
  for (uint32_t month = 0; month < forecast->config.months; month++) {
    fill_month(summary, series, paths, month);
    forecast->peak[(size_t)series * forecast->config.months + month] = peak_of(summary, series, paths, month);
  }
}

/* Fills all bands and peaks. Draws HR_MAX_FORECAST_WEEKS weeks, since a caller may request the shares of any of them.
 */
static enum hr_status fill_figures(struct hr_forecast *forecast) {
  struct path_summary summary = {.forecast = forecast};
  double *memory = calloc(2 * HR__FORECAST_PATHS, sizeof *memory);
  if (!memory) return HR_NO_MEMORY;
  summary.month = memory;
  summary.work = memory + HR__FORECAST_PATHS;
  enum hr_status status =
      hr__forecast_draw_paths(&forecast->model, HR_MAX_FORECAST_WEEKS, forecast->share, fill_series, &summary);
  free(memory);
  return status;
}

/* ---- Notes ----------------------------------------------------------------------------------------- */

static enum hr_status note_weeks(struct hr_forecast *forecast) {
  const struct hr__demand_history *demand = &forecast->demand;
  const char *source = forecast->trace->source;
  int64_t rest_us = forecast->trace->submit_us[forecast->trace->n_jobs - 1] - demand->n_weeks * HR__WEEK_US;
  uint32_t fitted = demand->n_weeks - demand->first_week;
  enum hr_status status = HR_OK;
  if (rest_us > 0)
    status = hr_notes_add(&forecast->notes, "%s: the last %.1f days are not a whole week and are ignored", source,
                          (double)rest_us / (86400.0 * HR_SECOND_US));
  if (status == HR_OK && demand->first_week > 0)
    status = hr_notes_add(&forecast->notes,
                          "%s: ignored the first %" PRIu32
                          " week%s, with less than half of the demand of the following weeks",
                          source, demand->first_week, demand->first_week == 1 ? "" : "s");
  if (status == HR_OK && fitted < HR__TREND_WEEKS)
    status = hr_notes_add(&forecast->notes,
                          "%" PRIu32 " weeks are too few for a trend, which needs %d: the level is constant%s", fitted,
                          HR__TREND_WEEKS, forecast->config.growth > 0 ? ", apart from the given growth" : "");
  if (status == HR_OK && forecast->config.months * MONTH_WEEKS > fitted)
    status = hr_notes_add(&forecast->notes,
                          "the forecast of %" PRIu32 " month%s is longer than the %" PRIu32 " weeks that were fitted",
                          forecast->config.months, forecast->config.months == 1 ? "" : "s", fitted);
  return status;
}

/* Adds a note if the last weeks have very little demand. The recording may have ended before the last job. */
static enum hr_status note_end(struct hr_forecast *forecast) {
  const struct hr__demand_history *demand = &forecast->demand;
  const double *total = weeks_of(demand, demand->n_series);
  uint32_t fitted = demand->n_weeks - demand->first_week, few = 0;
  double sum = 0;
  for (uint32_t i = demand->first_week; i < demand->n_weeks; i++) sum += total[i];
  while (few < fitted && total[demand->n_weeks - 1 - few] < low_demand * sum / fitted) few++;
  if (few == 0) return HR_OK;
  return hr_notes_add(&forecast->notes,
                      "%s: the last %" PRIu32
                      " week%s less than a quarter of the mean demand; if recording was ending, "
                      "the forecast is too low",
                      forecast->trace->source, few, few == 1 ? " has" : "s have");
}

/* Whether the seasonal naive forecast is better. It must be better by a margin, since the number of paths is finite. */
static bool is_beaten(const struct hr_forecast_score *score) {
  return score->naive_wape + tie < score->wape;
}

static enum hr_status note_test(struct hr_forecast *forecast) {
  uint32_t total = forecast->demand.n_series, worse = 0;
  const struct hr_forecast_score *score = &forecast->score[total];
  if (forecast->config.holdout_weeks == 0)
    return hr_notes_add(&forecast->notes, "2 weeks are too few to hold one back, so the forecast is not tested");
  for (uint32_t i = 0; i < total; i++) worse += is_beaten(&forecast->score[i]);
  if (is_beaten(score))
    return hr_notes_add(&forecast->notes,
                        "on held-back weeks the seasonal naive forecast, which repeats the last week, beats the model: "
                        "WAPE %.1f %% against %.1f %%",
                        100 * score->naive_wape, 100 * score->wape);
  if (worse == 0) return HR_OK;
  return hr_notes_add(&forecast->notes,
                      "on held-back weeks the seasonal naive forecast beats the model for %" PRIu32 " of %" PRIu32
                      " series, but not for the total",
                      worse, total);
}

static enum hr_status note_all(struct hr_forecast *forecast) {
  enum hr_status status = note_weeks(forecast);
  if (status == HR_OK) status = note_end(forecast);
  return status == HR_OK ? note_test(forecast) : status;
}

/* ---- The whole forecast ---------------------------------------------------------------------------- */

static enum hr_status allocate(struct hr_forecast *forecast) {
  size_t rows = (size_t)forecast->demand.n_series + 1, months = forecast->config.months;
  forecast->n_weeks = (uint32_t)ceil(forecast->config.months * MONTH_WEEKS);
  forecast->fits = calloc(rows, sizeof *forecast->fits);
  forecast->share = calloc(rows * HR_MAX_FORECAST_WEEKS, sizeof *forecast->share);
  forecast->profiles = calloc(rows, sizeof *forecast->profiles);
  forecast->week = calloc(rows * forecast->n_weeks, sizeof *forecast->week);
  forecast->month = calloc(rows * months, sizeof *forecast->month);
  forecast->peak = calloc(rows * months, sizeof *forecast->peak);
  forecast->score = calloc(rows, sizeof *forecast->score);
  bool good =
      forecast->fits && forecast->share && forecast->profiles && forecast->week && forecast->month && forecast->peak;
  return good && forecast->score ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status fit_series(struct hr_forecast *forecast) {
  const struct hr__demand_history *demand = &forecast->demand;
  enum hr_status status = fit_weeks(demand, demand->n_weeks, forecast->fits);
  for (uint32_t i = 0; i <= demand->n_series && status == HR_OK; i++)
    status = hr__forecast_shape_make(demand, i, &forecast->profiles[i]);
  forecast->model = (struct hr__forecast_model){forecast->fits, demand->n_series, forecast->config.growth};
  return status;
}

static enum hr_status make(struct hr_forecast *forecast, struct hr_error *error) {
  enum hr_status status = check_config(&forecast->config, error);
  if (status == HR_OK) status = hr__forecast_history_make(forecast->trace, &forecast->demand, error);
  if (status == HR_OK) status = set_holdout(forecast, error);
  if (status != HR_OK) return status;
  status = allocate(forecast);
  if (status == HR_OK) status = fit_series(forecast);
  if (status == HR_OK) status = fill_figures(forecast);
  if (status == HR_OK && forecast->config.holdout_weeks > 0)
    status =
        make_scores(&forecast->demand, forecast->config.holdout_weeks, forecast->config.confidence, forecast->score);
  if (status == HR_OK) status = note_all(forecast);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "%s: out of memory", forecast->trace->source);
}

enum hr_status hr_forecast_make(const struct hr_trace *trace, const struct hr_forecast_config *config,
                                struct hr_forecast **forecast, struct hr_error *error) {
  *forecast = NULL;
  if (trace->n_jobs == 0) return hr_fail(error, HR_BAD_INPUT, "a forecast needs jobs, and there are none");
  struct hr_forecast *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  fresh->trace = trace;
  if (config) fresh->config = *config;
  enum hr_status status = make(fresh, error);
  if (status == HR_OK)
    *forecast = fresh;
  else
    hr_forecast_destroy(fresh);
  return status;
}

void hr_forecast_destroy(struct hr_forecast *forecast) {
  if (!forecast) return;
  hr__forecast_history_finish(&forecast->demand);
  free(forecast->fits);
  free(forecast->share);
  free(forecast->profiles);
  free(forecast->week);
  free(forecast->month);
  free(forecast->peak);
  free(forecast->score);
  hr_notes_finish(&forecast->notes);
  free(forecast);
}

/* ---- Output ----------------------------------------------------------------------------------------- */

enum { NAME_WIDTH = 16, CLASS_WIDTH = 14, CELL_WIDTH = 10, DAY_HOURS = 24, DAYS = 7, MAX_SERIES = 30 };

struct forecast_page {
  struct hr__console console;
  const struct hr_forecast *forecast;
  struct hr_forecast_span span;
  uint32_t n_series;
};

/* ---- Output: cells ---------------------------------------------------------------------------------- */

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
  hr__put_fitted(&page->console, first, width);
  if (second) hr__put_fitted(&page->console, second, CLASS_WIDTH);
  for (; *titles; titles++) put_cell(page, *titles);
  fprintf(page->console.out, "%s\n", hr__plain(&page->console));
}

/* ---- Output: the model ------------------------------------------------------------------------------ */

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

/* ---- Output: the total ------------------------------------------------------------------------------ */

/* Prints the columns of a future month and ends the line. */
static void put_month(struct forecast_page *page, uint32_t series, uint32_t month) {
  struct hr_forecast_month gpus = hr_forecast_month(page->forecast, series, month);
  put_gpus(page, gpus.mean.mean);
  put_gpus(page, gpus.mean.low);
  put_gpus(page, gpus.mean.high);
  put_gpus(page, gpus.peak);
  fputc('\n', page->console.out);
}

static void put_months(struct forecast_page *page) {
  static const char *const titles[] = {"mean", "low", "high", "peak p95", NULL};
  struct hr_forecast_item total = hr_forecast_item(page->forecast, page->n_series);
  put_titles(page, "GPUs", NAME_WIDTH, NULL, titles);
  hr__put_fitted(&page->console, "in the trace", NAME_WIDTH);
  put_gpus(page, total.week_gpu_hours / HR__WEEK_HOURS);
  fputc('\n', page->console.out);
  hr__put_fitted(&page->console, "now", NAME_WIDTH);
  put_gpus(page, total.now_gpus);
  fprintf(page->console.out, "%*s", 2 * CELL_WIDTH, "");
  put_gpus(page, total.now_peak);
  fputc('\n', page->console.out);
  for (uint32_t month = 0; month < page->span.months; month++) {
    char name[32];
    snprintf(name, sizeof name, "month %" PRIu32, month + 1);
    hr__put_fitted(&page->console, name, NAME_WIDTH);
    put_month(page, page->n_series, month);
  }
}

/* ---- Output: the weekly profile --------------------------------------------------------------------- */

/* Prints the hours of a day as bars, in eighths of the busiest hour of the week. */
static void put_day(struct forecast_page *page, const char *name, const double *hours, double max) {
  static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  hr__put_fitted(&page->console, name, NAME_WIDTH);
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
  hr__put_fitted(&page->console, "weekly profile", NAME_WIDTH);
  fprintf(page->console.out, "%-12d%-12d%-12d%d%s\n", 0, 6, 12, 18, hr__plain(&page->console));
  if (page->span.profile == DAY_HOURS) put_day(page, "every day", profile, max);
  if (page->span.profile == 2 * DAY_HOURS) {
    put_day(page, "weekdays", profile, max);
    put_day(page, "weekends", profile + (DAYS - 1) * DAY_HOURS, max);
  }
  for (unsigned i = 0; i < DAYS && page->span.profile == HR__WEEK_HOURS; i++)
    put_day(page, names[i], profile + (size_t)i * DAY_HOURS, max);
}

/* ---- Output: series --------------------------------------------------------------------------------- */

static void put_names(struct forecast_page *page, const struct hr_forecast_item *item) {
  hr__put_fitted(&page->console, item->tenant[0] ? item->tenant : "(none)", NAME_WIDTH);
  hr__put_fitted(&page->console, item->class_[0] ? item->class_ : "(none)", CLASS_WIDTH);
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
    put_names(page, &item);
    put_gpus(page, item.now_gpus);
    put_month(page, i, page->span.months - 1);
  }
  put_more(page);
}

/* ---- Output: the back-test -------------------------------------------------------------------------- */

static void put_score(struct forecast_page *page, uint32_t series) {
  struct hr_forecast_item item = hr_forecast_item(page->forecast, series);
  if (series < page->n_series)
    put_names(page, &item);
  else
    hr__put_fitted(&page->console, "total", NAME_WIDTH + CLASS_WIDTH);
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
  return hr__console_status(&page.console);
}

/* ---- Output: JSON ----------------------------------------------------------------------------------- */

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

/* ---- Output: CSV ------------------------------------------------------------------------------------ */

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
