/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "coverage.h"

#include "demand.h"
#include "headroom/unstable/planning.h"

#include <CUnit/CUnit.h>
#include <stdio.h>

/* Makes a trace of one series. The scale keeps the demand of every week below 168 GPU hours. */
static struct hr_trace *trace_of(const double *week, uint32_t n_weeks) {
  struct demand_maker maker = demand_begin();
  for (uint32_t i = 0; i < n_weeks; i++) demand_week(&maker, i, 20 * week[i], NULL, "a", HR_CLASS_TRAINING);
  return demand_end(&maker);
}

static double coverage_of(uint32_t n_series, uint32_t n_weeks, double drift, double sigma, double hold) {
  const struct hr_forecast_config config = {.months = 1, .holdout_weeks = n_weeks / 5 > 8 ? 8 : n_weeks / 5};
  double week[104], inside = 0;
  for (uint32_t i = 0; i < n_series; i++) {
    struct hr_forecast *forecast;
    demand_draw(1000 + i, drift, sigma, hold, n_weeks, week);
    struct hr_trace *trace = trace_of(week, n_weeks);
    CU_ASSERT_EQUAL_FATAL(hr_forecast_make(trace, &config, &forecast, NULL), HR_OK);
    struct hr_forecast_score score = hr_forecast_item(forecast, 0).score, total = hr_forecast_item(forecast, 1).score;
    CU_ASSERT_EQUAL(score.wape, total.wape);
    inside += total.coverage / n_series;
    hr_forecast_destroy(forecast);
    hr_trace_destroy(trace);
  }
  return inside;
}

void expect_coverage(uint32_t n_series, uint32_t n_weeks, double drift, double sigma, double hold) {
  double inside = coverage_of(n_series, n_weeks, drift, sigma, hold);
  printf("\n  %u series of %u weeks, drift %g, sigma %g, AR %g: %.1f %% inside", n_series, n_weeks, drift, sigma, hold,
         100 * inside);
  CU_ASSERT(inside >= 0.90 && inside <= 0.99);
}
