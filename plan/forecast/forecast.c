/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A forecast: settings, the fit of each series, demand by week and month from sampled paths, the back-test, notes, and
 * the public getters.
 *
 * Every array by series has an additional last row for the total. Paths are drawn in a fixed order and summarized one
 * series at a time. They are not stored, so memory is O(series x weeks).
 *
 * The back-test uses a rolling origin (Hyndman and Athanasopoulos, "Forecasting: Principles and Practice", 5.10). For
 * each of the last weeks, all series are fitted as if the trace ended before that week, and the following weeks are
 * forecast. Errors of all origins and horizons have equal weight. The seasonal naive forecast, which repeats the last
 * known week, is scored for comparison. The list of series is taken from the whole trace.
 */

#include "plan/forecast/forecasting.h"
#include "plan/runner/runner.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Means and intervals --------------------------------------------------------------------------- */

/* Mean GPU hours of a series, or of the total, in a week. `ahead`: 1 is the first future week; 0 returns the current
   level. */
static double model_mean(const struct hr__forecast_model *model, const double *share, uint32_t n_weeks, uint32_t series,
                         uint32_t ahead) {
  double total = hr__forecast_fit_mean(&model->fits[model->n_series], model->growth, ahead);
  return series < model->n_series ? total * share[(size_t)series * n_weeks + (ahead > 0 ? ahead - 1 : 0)] : total;
}

/* Computes the mean and the interval of a sample. `work` has room for `count` values. */
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

static double mean_week(const struct hr__demand_history *demand, uint32_t series) {
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

static const double *weeks_of(const struct hr__demand_history *demand, uint32_t series) {
  return demand->week + (size_t)series * demand->n_weeks;
}

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
  const struct hr__demand_history *demand = backtest->demand;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i <= demand->n_series && status == HR_OK; i++)
    status = hr__forecast_fit_make(weeks_of(demand, i) + demand->first_week, backtest->origin - demand->first_week,
                                   &backtest->fits[i]);
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
  double begin = fmax(week, month * HR__MONTH_WEEKS), end = fmin(week + 1.0, (month + 1) * HR__MONTH_WEEKS);
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
    double part = week_in_month(week, month) / HR__MONTH_WEEKS / HR__WEEK_HOURS;
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
    size_t week = (size_t)((month + part) * HR__MONTH_WEEKS);
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
  if (status == HR_OK && forecast->config.months * HR__MONTH_WEEKS > fitted)
    status = hr_notes_add(&forecast->notes,
                          "the forecast of %" PRIu32 " month%s is longer than the %" PRIu32 " weeks that were fitted",
                          forecast->config.months, forecast->config.months == 1 ? "" : "s", fitted);
  return status;
}

/* Adds a note if the last weeks have very little demand. The recording may have ended before the last job. */
static enum hr_status note_end(struct hr_forecast *forecast) {
  const struct hr__demand_history *demand = &forecast->demand;
  const double *total = demand->week + (size_t)demand->n_series * demand->n_weeks;
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
  forecast->n_weeks = (uint32_t)ceil(forecast->config.months * HR__MONTH_WEEKS);
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
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i <= demand->n_series && status == HR_OK; i++)
    status = hr__forecast_fit_make(demand->week + (size_t)i * demand->n_weeks + demand->first_week,
                                   demand->n_weeks - demand->first_week, &forecast->fits[i]);
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
