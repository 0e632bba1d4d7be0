/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The back-test: from each of the last weeks but the first two on, as if the trace ended there, all series are fitted
 * anew and the weeks that follow are forecast (a rolling origin: Hyndman and Athanasopoulos, "Forecasting: Principles
 * and Practice", 5.10). Errors of all origins and horizons count alike. The seasonal naive forecast takes every hour as
 * it was in the last week: its weeks are the last one. Which series there are is known from the whole trace.
 */

#include "plan/forecasting.h"
#include "plan/metrics.h"

#include <math.h>
#include <stdlib.h>

struct sums {
  double actual, error, absolute, naive;
  uint32_t count, inside;
};

struct test {
  const struct hr__history *demand;
  double confidence, *work;
  struct hr__fit *fits; /* [n_series + 1] */
  struct hr__model model;
  double *share;
  uint32_t origin, ahead; /* weeks that are known; weeks to forecast */
  struct sums *sums;      /* [n_series + 1] */
};

static const double *weeks_of(const struct hr__history *demand, uint32_t series) {
  return demand->week + (size_t)series * demand->n_weeks;
}

static void score(void *self, uint32_t series, const double *paths) {
  struct test *test = self;
  struct sums *sums = &test->sums[series];
  const double *week = weeks_of(test->demand, series);
  for (uint32_t i = 0; i < test->ahead; i++) {
    struct hr_forecast_band band;
    hr__band_of(paths + (size_t)i * HR__FORECAST_PATHS, HR__FORECAST_PATHS, test->confidence, test->work, &band);
    double actual = week[test->origin + i];
    double error = hr__model_mean(&test->model, test->share, test->ahead, series, i + 1) - actual;
    sums->actual += actual;
    sums->error += error;
    sums->absolute += fabs(error);
    sums->naive += fabs(week[test->origin - 1] - actual);
    sums->inside += actual >= band.low && actual <= band.high;
    sums->count++;
  }
}

static enum hr_status test_origin(struct test *test) {
  const struct hr__history *demand = test->demand;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i <= demand->n_series && status == HR_OK; i++)
    status = hr__fit_make(weeks_of(demand, i) + demand->first_week, test->origin - demand->first_week, &test->fits[i]);
  return status == HR_OK ? hr__draw_all(&test->model, test->ahead, test->share, score, test) : status;
}

static struct hr_forecast_score score_of(const struct hr__history *demand, uint32_t series, uint32_t first_origin,
                                         const struct sums *sums) {
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

enum hr_status hr__forecast_test(const struct hr__history *demand, uint32_t holdout_weeks, double confidence,
                                 struct hr_forecast_score *scores) {
  uint32_t first_origin = demand->n_weeks - holdout_weeks;
  struct test test = {.demand = demand, .confidence = confidence};
  test.fits = calloc(demand->n_series + 1, sizeof *test.fits);
  test.share = calloc((size_t)demand->n_series * holdout_weeks, sizeof *test.share);
  test.sums = calloc(demand->n_series + 1, sizeof *test.sums);
  test.work = calloc(HR__FORECAST_PATHS, sizeof *test.work);
  enum hr_status status = test.fits && test.share && test.sums && test.work ? HR_OK : HR_NO_MEMORY;
  test.model = (struct hr__model){.fits = test.fits, .n_series = demand->n_series};
  for (test.origin = first_origin; test.origin < demand->n_weeks && status == HR_OK; test.origin++) {
    test.ahead = demand->n_weeks - test.origin;
    status = test_origin(&test);
  }
  for (uint32_t i = 0; status == HR_OK && i <= demand->n_series; i++)
    scores[i] = score_of(demand, i, first_origin, &test.sums[i]);
  free(test.fits);
  free(test.share);
  free(test.sums);
  free(test.work);
  return status;
}
