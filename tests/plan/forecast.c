/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole forecasts of known traces: demand, series, profiles, factors, the back-test, output files, and errors. */

#include "demand.h"
#include "harness.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/planning.h"
#include "output_files.h"
#include "schema_check.h"

#include <math.h>
#include <string.h>

enum { WEEKS = 12, HOURS = 168 };

static void expect_near(double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance)) printf("\n  %.12g, not %.12g\n", value, expected);
  CU_ASSERT(fabs(value - expected) <= tolerance);
}

static struct hr_forecast *forecast_of(const struct hr_trace *trace, struct hr_forecast_config config) {
  struct hr_forecast *forecast = NULL;
  struct hr_error error = {0};
  if (hr_forecast_make(trace, &config, &forecast, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(forecast);
  return forecast;
}

/* A trace of one series with random weeks and one job per hour. */
static struct hr_trace *noisy_trace(uint32_t n_weeks) {
  double week[WEEKS];
  struct demand_maker maker = demand_begin();
  demand_draw(7, 0.02, 0.2, 0.5, WEEKS, week);
  for (uint32_t i = 0; i < n_weeks; i++) demand_week(&maker, i, 50 * week[i], NULL, "a", HR_CLASS_TRAINING);
  return demand_end(&maker);
}

/* A trace of two large series and several small ones. */
static struct hr_trace *mixed_trace(void) {
  double first[WEEKS], second[WEEKS];
  struct demand_maker maker = demand_begin();
  demand_draw(1, 0.01, 0.2, 0.3, WEEKS, first);
  demand_draw(2, 0, 0.4, 0, WEEKS, second);
  for (uint32_t i = 0; i < WEEKS; i++) {
    demand_week(&maker, i, 60 * first[i], NULL, "a", HR_CLASS_TRAINING);
    demand_week(&maker, i, 30 * second[i], NULL, "b", HR_CLASS_INFERENCE);
    for (uint32_t k = 0; k < 3; k++) {
      char tenant[] = {(char)('p' + k), '\0'};
      for (uint32_t n = 0; n < 2; n++) demand_job(&maker, i * 604800.0 + 90000 * k, 7200, 1, tenant, HR_CLASS_TRAINING);
    }
  }
  demand_job(&maker, 1000, 3600, 1, "z", HR_CLASS_DATA_PREP);
  demand_job(&maker, 2000, 3600, 0, "y", HR_CLASS_INFERENCE);
  return demand_end(&maker);
}

/* ---- Demand and series ----------------------------------------------------------------------------- */

static void demand_is_conserved(void) {
  struct hr_trace *trace = mixed_trace();
  struct hr_forecast *forecast = forecast_of(trace, (struct hr_forecast_config){.months = 1, .holdout_weeks = 1});
  uint32_t n_series;
  const uint32_t *series = hr_forecast_series(forecast, &n_series);
  double by_hand[8][WEEKS] = {{0}};
  CU_ASSERT_EQUAL_FATAL(n_series, 4);
  for (uint32_t i = 0; i < trace->n_jobs; i++)
    by_hand[series[i]][trace->submit_us[i] / (HOURS * 3600 * HR_SECOND_US)] +=
        trace->gpus[i] * (double)trace->work_us[i] / 3.6e9;
  for (uint32_t week = 0; week < WEEKS; week++) {
    double sum = 0;
    for (uint32_t i = 0; i < n_series; i++) {
      expect_near(hr_forecast_actual(forecast, i, week), by_hand[i][week], 1e-9);
      sum += by_hand[i][week];
    }
    expect_near(hr_forecast_actual(forecast, n_series, week), sum, 1e-9);
  }
  hr_forecast_destroy(forecast);
  hr_trace_destroy(trace);
}

static void expect_series(const struct hr_forecast *forecast, uint32_t series, const char *tenant, const char *class_,
                          uint64_t jobs) {
  struct hr_forecast_item item = hr_forecast_item(forecast, series);
  CU_ASSERT_STRING_EQUAL(item.tenant, tenant);
  CU_ASSERT_STRING_EQUAL(item.class_, class_);
  CU_ASSERT_EQUAL(item.jobs, jobs);
}

/* Tenants p, q and r have 24 jobs and 4 % of the demand each. A series needs at least 50 jobs, so they share one with
   72 jobs. */
static void small_groups_are_pooled(void) {
  struct hr_trace *trace = mixed_trace();
  struct hr_forecast *forecast = forecast_of(trace, (struct hr_forecast_config){.months = 1, .holdout_weeks = 1});
  expect_series(forecast, 0, "a", "training", WEEKS * HOURS);
  expect_series(forecast, 1, "b", "inference", WEEKS * HOURS);
  expect_series(forecast, 2, "(others)", "training", 72);
  expect_series(forecast, 3, "(others)", "(all)", 1);
  expect_series(forecast, 4, "(total)", "(total)", 2 * WEEKS * HOURS + 73);
  hr_forecast_destroy(forecast);
  hr_trace_destroy(trace);
}

/* The first week has one GPU hour, less than half of the following weeks, so no model is fitted to it. The last week is
   not complete, so it does not count. */
static void partial_weeks_are_omitted(void) {
  struct demand_maker maker = demand_begin();
  demand_job(&maker, 0, 3600, 1, "a", HR_CLASS_TRAINING);
  for (uint32_t week = 1; week < 5; week++) demand_week(&maker, week, 100, NULL, "a", HR_CLASS_TRAINING);
  demand_job(&maker, 5 * 604800.0, 3600, 1, "a", HR_CLASS_TRAINING);
  struct hr_trace *trace = demand_end(&maker);
  struct hr_forecast *forecast = forecast_of(trace, (struct hr_forecast_config){0});
  struct hr_forecast_span span = hr_forecast_span(forecast);
  CU_ASSERT_EQUAL(span.trace_weeks, 5);
  CU_ASSERT_EQUAL(span.first_week, 1);
  CU_ASSERT_EQUAL(span.holdout_weeks, 1);
  CU_ASSERT_EQUAL(span.profile, 24);
  CU_ASSERT(isnan(span.half_life_weeks) && isnan(span.growth));
  expect_near(hr_forecast_month(forecast, 1, 2).mean.mean, 100.0 / HOURS, 0.01);
  expect_near(hr_forecast_item(forecast, 0).week_gpu_hours, 401.0 / 5, 1e-6);
  hr_forecast_destroy(forecast);
  hr_trace_destroy(trace);
}

/* ---- The weekly profile ---------------------------------------------------------------------------- */

static void expect_profile(uint32_t n_weeks, bool dated, const double *shape) {
  struct demand_maker maker = demand_begin();
  maker.dated = dated; /* the trace starts at 1970-01-01, a Thursday */
  for (uint32_t week = 0; week < n_weeks; week++) demand_week(&maker, week, 80, shape, "a", HR_CLASS_TRAINING);
  struct hr_trace *trace = demand_end(&maker);
  struct hr_forecast *forecast = forecast_of(trace, (struct hr_forecast_config){.months = 1});
  const double *profile = hr_forecast_profile(forecast, 0);
  struct hr_forecast_item item = hr_forecast_item(forecast, 1);
  double most = 0;
  for (uint32_t i = 0; i < HOURS; i++) {
    expect_near(profile[(i + (dated ? 72 : 0)) % HOURS], shape[i], 1e-5);
    most = fmax(most, shape[i]);
  }
  expect_near(item.now_peak, item.now_gpus * most, 1e-4);
  hr_forecast_destroy(forecast);
  hr_trace_destroy(trace);
}

static void weekly_profile_is_found(void) {
  double every_hour[HOURS], days[HOURS], weekend[HOURS], sum = 0;
  for (uint32_t i = 0; i < HOURS; i++) {
    every_hour[i] = 1 + 0.5 * sin(i * 6.283185307179586 * 3 / HOURS);
    days[i] = i % 24 < 12 ? 1.5 : 0.5;
    uint32_t day = (i / 24 + 3) % 7; /* 0 is Monday */
    weekend[i] = day >= 5 ? 0.4 : i % 24 < 8 ? 0.7 : 1.3;
    sum += weekend[i];
  }
  for (uint32_t i = 0; i < HOURS; i++) weekend[i] *= HOURS / sum;
  expect_profile(6, false, every_hour);
  expect_profile(7, true, every_hour);
  expect_profile(3, false, days);
  expect_profile(5, true, weekend);
}

/* Two GPUs are in use all the time. */
static void long_jobs_are_spread_over_hours(void) {
  struct demand_maker maker = demand_begin();
  for (uint32_t day = 0; day < 28; day++) demand_job(&maker, day * 86400.0, 86400, 2, "a", HR_CLASS_INFERENCE);
  struct hr_trace *trace = demand_end(&maker);
  struct hr_forecast *forecast = forecast_of(trace, (struct hr_forecast_config){.months = 1});
  const double *profile = hr_forecast_profile(forecast, 0);
  for (uint32_t i = 0; i < HOURS; i++) expect_near(profile[i], 1, 1e-9);
  struct hr_forecast_item item = hr_forecast_item(forecast, 1);
  expect_near(item.week_gpu_hours, 2 * HOURS, 1e-9);
  expect_near(item.now_gpus, 2, 1e-9);
  expect_near(item.now_peak, 2, 1e-9);
  hr_forecast_destroy(forecast);
  hr_trace_destroy(trace);
}

/* ---- Factors --------------------------------------------------------------------------------------- */

enum { PATHS = 4000, AHEAD = 13 };

static void paths_agree_with_mean_and_interval(void) {
  struct hr_trace *trace = mixed_trace();
  struct hr_forecast *forecast = forecast_of(trace, (struct hr_forecast_config){.months = 3, .holdout_weeks = 1});
  double mean[4][AHEAD], path[4][AHEAD], sum[5] = {0}, squares[5] = {0}, inside = 0;
  CU_ASSERT_EQUAL_FATAL(hr_forecast_factors(forecast, 0, true, 0, AHEAD, mean[0], NULL), HR_OK);
  for (uint32_t r = 0; r < PATHS; r++) {
    double total = 0;
    uint64_t seed = hr_replication_seed(5, r);
    CU_ASSERT_EQUAL_FATAL(hr_forecast_factors(forecast, seed, false, 0, AHEAD, path[0], NULL), HR_OK);
    for (uint32_t i = 0; i < 4; i++) {
      double gpu_hours = path[i][AHEAD - 1] * hr_forecast_item(forecast, i).week_gpu_hours;
      CU_ASSERT(gpu_hours >= 0);
      total += gpu_hours;
      sum[i] += gpu_hours / PATHS;
      squares[i] += gpu_hours * gpu_hours / PATHS;
    }
    sum[4] += total / PATHS;
    squares[4] += total * total / PATHS;
    struct hr_forecast_band band = hr_forecast_week(forecast, 4, AHEAD - 1);
    inside += total >= band.low && total <= band.high;
  }
  expect_near(inside / PATHS, 0.95, 0.015);
  for (uint32_t i = 0; i < 5; i++) {
    struct hr_forecast_band band = hr_forecast_week(forecast, i, AHEAD - 1);
    expect_near(sum[i], band.mean, 5 * sqrt((squares[i] - sum[i] * sum[i]) / PATHS) + 0.02 * band.mean);
    if (i < 4) expect_near(mean[i][AHEAD - 1] * hr_forecast_item(forecast, i).week_gpu_hours, band.mean, 1e-9);
  }
  hr_forecast_destroy(forecast);
  hr_trace_destroy(trace);
}

static void series_sum_to_the_total(void) {
  struct hr_trace *trace = mixed_trace();
  struct hr_forecast *forecast = forecast_of(trace, (struct hr_forecast_config){.months = 18, .holdout_weeks = 1});
  for (uint32_t week = 0; week < hr_forecast_span(forecast).weeks; week++) {
    double sum = 0;
    for (uint32_t i = 0; i < 4; i++) sum += hr_forecast_week(forecast, i, week).mean;
    expect_near(sum, hr_forecast_week(forecast, 4, week).mean, 1e-9);
  }
  CU_ASSERT_EQUAL(hr_forecast_span(forecast).weeks, HR_MAX_FORECAST_WEEKS);
  hr_forecast_destroy(forecast);
  hr_trace_destroy(trace);
}

/* The factors of a week are bit-identical for any range of weeks that is requested with it. */
static void week_does_not_depend_on_requested_range(void) {
  struct hr_trace *trace = mixed_trace();
  struct hr_forecast *forecast = forecast_of(trace, (struct hr_forecast_config){.months = 1, .holdout_weeks = 1});
  double all[4][HR_MAX_FORECAST_WEEKS], some[4][3], other[4][3];
  for (int expected = 0; expected < 2; expected++) {
    CU_ASSERT_EQUAL(hr_forecast_factors(forecast, 3, expected, 0, HR_MAX_FORECAST_WEEKS, all[0], NULL), HR_OK);
    CU_ASSERT_EQUAL(hr_forecast_factors(forecast, 3, expected, 20, 3, some[0], NULL), HR_OK);
    CU_ASSERT_EQUAL(hr_forecast_factors(forecast, 4, expected, 20, 3, other[0], NULL), HR_OK);
    for (uint32_t i = 0; i < 4; i++)
      for (uint32_t week = 0; week < 3; week++) {
        CU_ASSERT(some[i][week] == all[i][20 + week]);
        CU_ASSERT((some[i][week] == other[i][week]) == expected || some[i][week] == 0);
      }
  }
  hr_forecast_destroy(forecast);
  hr_trace_destroy(trace);
}

static void growth_is_exact(void) {
  struct hr_trace *trace = mixed_trace();
  double none[4][60], some[4][60];
  struct hr_forecast *flat = forecast_of(trace, (struct hr_forecast_config){.growth = 1, .holdout_weeks = 1});
  struct hr_forecast *grown = forecast_of(trace, (struct hr_forecast_config){.growth = 1.5, .holdout_weeks = 1});
  for (int expected = 0; expected < 2; expected++) {
    CU_ASSERT_EQUAL(hr_forecast_factors(flat, 3, expected, 0, 60, none[0], NULL), HR_OK);
    CU_ASSERT_EQUAL(hr_forecast_factors(grown, 3, expected, 0, 60, some[0], NULL), HR_OK);
    for (uint32_t i = 0; i < 4; i++)
      for (uint32_t week = 0; week < 60; week++)
        expect_near(some[i][week], none[i][week] * pow(1.5, (week + 1) * 7 / 365.25), 1e-12 * some[i][week]);
  }
  expect_near(hr_forecast_item(flat, 4).now_gpus, hr_forecast_week(flat, 4, 12).mean / HOURS, 1e-9);
  hr_forecast_destroy(flat);
  hr_forecast_destroy(grown);
  hr_trace_destroy(trace);
}

/* One series grows and the other shrinks. A growth that the user sets applies to both equally. */
static void growth_does_not_change_shares(void) {
  struct demand_maker maker = demand_begin();
  for (uint32_t i = 0; i < WEEKS; i++) {
    demand_week(&maker, i, 50 * exp(0.05 * i), NULL, "up", HR_CLASS_TRAINING);
    demand_week(&maker, i, 100 * exp(-0.05 * i), NULL, "down", HR_CLASS_TRAINING);
  }
  struct hr_trace *trace = demand_end(&maker);
  struct hr_forecast *fitted = forecast_of(trace, (struct hr_forecast_config){.holdout_weeks = 1});
  struct hr_forecast *flat = forecast_of(trace, (struct hr_forecast_config){.growth = 1, .holdout_weeks = 1});
  double by_fit = hr_forecast_week(fitted, 0, 13).mean / hr_forecast_week(fitted, 1, 13).mean;
  double by_growth = hr_forecast_week(flat, 0, 13).mean / hr_forecast_week(flat, 1, 13).mean;
  double now = hr_forecast_week(flat, 0, 0).mean / hr_forecast_week(flat, 1, 0).mean;
  CU_ASSERT(by_fit > 1.3 * now);
  expect_near(by_growth, now, 0.05 * now);
  hr_forecast_destroy(fitted);
  hr_forecast_destroy(flat);
  hr_trace_destroy(trace);
}

/* Weeks of the trace are drawn and scaled by the factors. They must have the forecast demand. */
static void resampled_workload_has_forecast_demand(void) {
  enum { DRAWS = 60 };
  struct hr_trace *trace = mixed_trace();
  struct hr_forecast *forecast = forecast_of(trace, (struct hr_forecast_config){.growth = 1.5, .holdout_weeks = 1});
  double factors[4 * AHEAD], wanted = 0, sum = 0, squares = 0;
  CU_ASSERT_EQUAL_FATAL(hr_forecast_factors(forecast, 0, true, 0, AHEAD, factors, NULL), HR_OK);
  for (uint32_t week = 0; week < AHEAD; week++) wanted += hr_forecast_week(forecast, 4, week).mean;
  struct hr_workload_spec spec;
  hr_workload_spec_init(&spec);
  spec.blocks = HR_BLOCKS_WEEKS;
  spec.length_us = AHEAD * HOURS * 3600 * HR_SECOND_US;
  spec.series = hr_forecast_series(forecast, &spec.n_series);
  spec.factors = factors;
  spec.n_positions = AHEAD;
  for (uint64_t seed = 0; seed < DRAWS; seed++) {
    struct hr_trace *drawn = NULL;
    double demand = 0;
    CU_ASSERT_EQUAL_FATAL(hr_trace_redraw(trace, &spec, seed, &drawn, NULL), HR_OK);
    for (uint32_t i = 0; i < drawn->n_jobs; i++) demand += drawn->gpus[i] * (double)drawn->work_us[i] / 3.6e9;
    sum += demand / DRAWS;
    squares += demand * demand / DRAWS;
    hr_trace_destroy(drawn);
  }
  double error = sqrt((squares - sum * sum) / (DRAWS - 1));
  CU_ASSERT(error < 0.03 * wanted);
  expect_near(sum, wanted, 3 * error);
  hr_forecast_destroy(forecast);
  hr_trace_destroy(trace);
}

static void intervals_widen_with_horizon(void) {
  struct hr_trace *trace = noisy_trace(WEEKS);
  struct hr_forecast *forecast = forecast_of(trace, (struct hr_forecast_config){.months = 18, .holdout_weeks = 1});
  struct hr_forecast *narrow = forecast_of(trace, (struct hr_forecast_config){.confidence = 0.5, .holdout_weeks = 1});
  double before = 0;
  for (uint32_t month = 0; month < 18; month += 3) {
    struct hr_forecast_month gpus = hr_forecast_month(forecast, 1, month);
    struct hr_forecast_band band = gpus.mean;
    double width = (band.high - band.low) / band.mean;
    CU_ASSERT(band.low >= 0 && band.low < band.mean && band.mean < band.high);
    CU_ASSERT(width > before || band.low < 0.01 * band.mean);
    CU_ASSERT(gpus.peak > band.mean);
    before = width;
  }
  CU_ASSERT(hr_forecast_month(narrow, 1, 0).mean.low > hr_forecast_month(forecast, 1, 0).mean.low);
  CU_ASSERT(hr_forecast_month(narrow, 1, 0).mean.high < hr_forecast_month(forecast, 1, 0).mean.high);
  hr_forecast_destroy(forecast);
  hr_forecast_destroy(narrow);
  hr_trace_destroy(trace);
}

/* ---- The back-test --------------------------------------------------------------------------------- */

/* The back-test makes a forecast before each of the last three weeks. Its scores must equal those of ordinary forecasts
   of traces that end before these weeks. */
static void scores_equal_forecasts_of_shorter_traces(void) {
  enum { HELD = 3 };
  struct hr_trace *trace = noisy_trace(WEEKS);
  struct hr_forecast *forecast = forecast_of(trace, (struct hr_forecast_config){.holdout_weeks = HELD});
  double error = 0, sign = 0, naive = 0, demand = 0, change = 0, inside = 0;
  for (uint32_t known = WEEKS - HELD; known < WEEKS; known++) {
    struct hr_trace *shorter = noisy_trace(known);
    struct hr_forecast *before = forecast_of(shorter, (struct hr_forecast_config){.holdout_weeks = 1});
    for (uint32_t week = known; week < WEEKS; week++) {
      struct hr_forecast_band band = hr_forecast_week(before, 1, week - known);
      double actual = hr_forecast_actual(forecast, 1, week);
      error += fabs(band.mean - actual);
      sign += band.mean - actual;
      naive += fabs(hr_forecast_actual(forecast, 1, known - 1) - actual);
      demand += actual;
      inside += actual >= band.low && actual <= band.high;
    }
    hr_forecast_destroy(before);
    hr_trace_destroy(shorter);
  }
  for (uint32_t week = 1; week < WEEKS - HELD; week++)
    change += fabs(hr_forecast_actual(forecast, 1, week) - hr_forecast_actual(forecast, 1, week - 1));
  change /= WEEKS - HELD - 1;
  struct hr_forecast_score score = hr_forecast_item(forecast, 1).score;
  expect_near(score.wape, error / demand, 1e-9);
  expect_near(score.bias, sign / demand, 1e-9);
  expect_near(score.naive_wape, naive / demand, 1e-9);
  expect_near(score.mase, error / 6 / change, 1e-9);
  expect_near(score.naive_mase, naive / 6 / change, 1e-9);
  expect_near(score.coverage, inside / 6, 1e-9);
  hr_forecast_destroy(forecast);
  hr_trace_destroy(trace);
}

static bool has_note(const struct hr_forecast *forecast, const char *text) {
  const struct hr_notes *notes = hr_forecast_notes(forecast);
  for (size_t i = 0; i < notes->count; i++)
    if (strstr(notes->text[i], text)) return true;
  return false;
}

/* Demand jumps just before the held-back weeks. The naive forecast, which repeats the last week, is then better than
   the model, which averages over several weeks. A note must report this. */
static void note_if_naive_forecast_is_better(void) {
  struct demand_maker maker = demand_begin();
  for (uint32_t week = 0; week < 10; week++)
    demand_week(&maker, week, week < 8 ? 40 + 20 * (week % 2) : 120, NULL, "a", HR_CLASS_TRAINING);
  struct hr_trace *trace = demand_end(&maker);
  struct hr_forecast *forecast = forecast_of(trace, (struct hr_forecast_config){.holdout_weeks = 1});
  CU_ASSERT_TRUE(has_note(forecast, "beats the model"));
  hr_forecast_destroy(forecast);
  hr_trace_destroy(trace);
  trace = noisy_trace(2);
  forecast = forecast_of(trace, (struct hr_forecast_config){0});
  CU_ASSERT_TRUE(has_note(forecast, "2 weeks are too few to hold one back"));
  CU_ASSERT_TRUE(has_note(forecast, "too few for a trend"));
  CU_ASSERT(isnan(hr_forecast_item(forecast, 1).score.wape));
  hr_forecast_destroy(forecast);
  hr_trace_destroy(trace);
}

/* ---- Files and errors ------------------------------------------------------------------------------ */

static char *json_of(const struct hr_forecast *forecast) {
  CU_ASSERT_EQUAL_FATAL(hr_forecast_write_json(files_path("f.json"), forecast, NULL), HR_OK);
  return files_read(files_path("f.json"));
}

static void equal_traces_give_equal_bytes(void) {
  char *texts[2];
  for (int i = 0; i < 2; i++) {
    struct hr_trace *trace = mixed_trace();
    struct hr_forecast *forecast = forecast_of(trace, (struct hr_forecast_config){.months = 2});
    texts[i] = json_of(forecast);
    hr_forecast_destroy(forecast);
    hr_trace_destroy(trace);
  }
  CU_ASSERT_STRING_EQUAL(texts[0], texts[1]);
  free(texts[0]);
  free(texts[1]);
}

static void every_key_is_in_the_schema(void) {
  char *text = files_read(PROJECT_DIR "/docs/reference/schemas/forecast.schema.json");
  cJSON *schema = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
  free(text);
  for (uint32_t n_weeks = 2; n_weeks <= WEEKS; n_weeks += 10) {
    struct hr_trace *trace = noisy_trace(n_weeks);
    struct hr_forecast *forecast = forecast_of(trace, (struct hr_forecast_config){.growth = n_weeks == 2 ? 2 : 0});
    text = json_of(forecast);
    cJSON *tree = cJSON_Parse(text);
    CU_ASSERT_TRUE(schema_fits(schema, tree, "forecast"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(cJSON_AddNumberToObject(tree, "extra", 0));
    CU_ASSERT_FALSE(schema_fits(schema, tree, "on purpose"));
    cJSON_Delete(tree);
    free(text);
    hr_forecast_destroy(forecast);
    hr_trace_destroy(trace);
  }
  cJSON_Delete(schema);
}

static void refuses(const struct hr_trace *trace, struct hr_forecast_config config, const char *text) {
  struct hr_error error = {0};
  struct hr_forecast *forecast;
  CU_ASSERT_EQUAL(hr_forecast_make(trace, &config, &forecast, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NULL(forecast);
  if (!strstr(error.text, text)) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, text));
}

static void bad_input_is_reported(void) {
  struct hr_trace *trace = noisy_trace(5), *brief = noisy_trace(1);
  refuses(brief, (struct hr_forecast_config){0}, "at least 2 whole weeks");
  refuses(trace, (struct hr_forecast_config){.months = 19}, "expected 1 to 18");
  refuses(trace, (struct hr_forecast_config){.growth = -1}, "growth -1");
  refuses(trace, (struct hr_forecast_config){.growth = 101}, "growth 101");
  refuses(trace, (struct hr_forecast_config){.confidence = 1}, "confidence 1");
  refuses(trace, (struct hr_forecast_config){.holdout_weeks = 4}, "at most 3");
  struct hr_forecast *forecast = forecast_of(trace, (struct hr_forecast_config){.holdout_weeks = 3});
  double factors[HR_MAX_FORECAST_WEEKS];
  CU_ASSERT_EQUAL(hr_forecast_factors(forecast, 0, true, 79, 1, factors, NULL), HR_BAD_INPUT);
  CU_ASSERT_EQUAL(hr_forecast_factors(forecast, 0, true, 2, UINT32_MAX, factors, NULL), HR_BAD_INPUT);
  CU_ASSERT_EQUAL(hr_forecast_factors(forecast, 0, false, 79, 0, factors, NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_forecast_write_json("/dev/full", forecast, NULL), HR_IO_ERROR);
  CU_ASSERT_EQUAL(hr_forecast_write_csv("/dev/full", forecast, NULL), HR_IO_ERROR);
  hr_forecast_destroy(forecast);
  hr_trace_destroy(brief);
  hr_trace_destroy(trace);
  struct demand_maker maker = demand_begin();
  for (uint32_t day = 0; day < 28; day++) demand_job(&maker, day * 86400.0, 3600, 0, "a", HR_CLASS_TRAINING);
  trace = demand_end(&maker);
  refuses(trace, (struct hr_forecast_config){0}, "no job requests GPU time");
  hr_trace_destroy(trace);
}

TEST_MAIN("plan: forecast", TEST(demand_is_conserved), TEST(small_groups_are_pooled), TEST(partial_weeks_are_omitted),
          TEST(weekly_profile_is_found), TEST(long_jobs_are_spread_over_hours),
          TEST(paths_agree_with_mean_and_interval), TEST(series_sum_to_the_total),
          TEST(week_does_not_depend_on_requested_range), TEST(growth_is_exact), TEST(growth_does_not_change_shares),
          TEST(resampled_workload_has_forecast_demand), TEST(intervals_widen_with_horizon),
          TEST(scores_equal_forecasts_of_shorter_traces), TEST(note_if_naive_forecast_is_better),
          TEST(equal_traces_give_equal_bytes), TEST(every_key_is_in_the_schema), TEST(bad_input_is_reported))
