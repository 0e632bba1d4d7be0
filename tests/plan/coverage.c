/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "coverage.h"

#include "demand.h"
#include "plan/forecast/forecasting.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

static double coverage_of(uint32_t n_series, uint32_t n_weeks, double drift, double sigma, double hold) {
  double week[2 * 104], inside = 0;
  for (uint32_t i = 0; i < n_series; i++) {
    struct hr_forecast_score scores[2];
    struct hr__demand_history demand = {.n_weeks = n_weeks, .n_series = 1, .week = week};
    demand_draw(1000 + i, drift, sigma, hold, n_weeks, week);
    memcpy(week + n_weeks, week, n_weeks * sizeof *week);
    CU_ASSERT_EQUAL_FATAL(hr__forecast_backtest(&demand, n_weeks / 5 > 8 ? 8 : n_weeks / 5, 0.95, scores), HR_OK);
    CU_ASSERT_EQUAL(scores[0].wape, scores[1].wape);
    inside += scores[1].coverage / n_series;
  }
  return inside;
}

void expect_coverage(uint32_t n_series, uint32_t n_weeks, double drift, double sigma, double hold) {
  double inside = coverage_of(n_series, n_weeks, drift, sigma, hold);
  printf("\n  %u series of %u weeks, drift %g, sigma %g, AR %g: %.1f %% inside", n_series, n_weeks, drift, sigma, hold,
         100 * inside);
  CU_ASSERT(inside >= 0.90 && inside <= 0.99);
}
