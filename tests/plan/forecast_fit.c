/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fit of a series, compared with an independent computation and with the parameters of generated series; and the
   coverage of the intervals. */

#include "coverage.h"
#include "demand.h"
#include "harness.h"
#include "headroom/unstable/compare.h"
#include "plan/forecast/forecasting.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_linalg.h>
#include <math.h>

enum { N = 26 };

static void expect_near(double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance)) printf("\n  %.12g, not %.12g\n", value, expected);
  CU_ASSERT(fabs(value - expected) <= tolerance);
}

/* ---- An independent computation -------------------------------------------------------------------- */

/* Computes the errors week by week, as the model is defined. Returns the level after the last week. */
static double errors_of(const double *z, double alpha, double level, double drift, double *error) {
  for (int i = 0; i < N; i++) {
    error[i] = z[i] - level - drift;
    level += drift + alpha * error[i];
  }
  return level;
}

/* Compares a fit with a least-squares solution by QR, for the value of alpha with the index `place`. The errors are
   linear in the initial level and the drift, so the columns of the matrix are differences of errors. The prior of the
   drift is an additional row. */
static void expect_fit(const double *week, uint32_t place) {
  double alpha = hr__forecast_alpha(place), z[N], none[N], level[N], drift[N], scale = 0, squares = 0;
  struct hr__forecast_fit fit;
  CU_ASSERT_EQUAL_FATAL(hr__forecast_fit_make(week, N, &fit), HR_OK);
  for (int i = 0; i < N; i++) scale += week[i] / N;
  for (int i = 0; i < N; i++) z[i] = log(week[i] / scale + 0.1);
  for (int i = 1; i < N; i++) squares += pow(z[i] - z[i - 1], 2) / (N - 1);
  double end_none = errors_of(z, alpha, 0, 0, none), end_level = errors_of(z, alpha, 1, 0, level);
  double end_drift = errors_of(z, alpha, 0, 1, drift);
  gsl_matrix *x = gsl_matrix_calloc(N + 1, 2), *inverse = gsl_matrix_alloc(2, 2);
  gsl_vector *y = gsl_vector_calloc(N + 1), *tau = gsl_vector_alloc(2), *found = gsl_vector_alloc(2);
  gsl_vector *rest = gsl_vector_alloc(N + 1);
  for (size_t i = 0; i < N; i++) {
    gsl_matrix_set(x, i, 0, none[i] - level[i]);
    gsl_matrix_set(x, i, 1, none[i] - drift[i]);
    gsl_vector_set(y, i, none[i]);
  }
  gsl_matrix_set(x, N, 1, sqrt(squares) / 0.02);
  gsl_blas_dgemm(CblasTrans, CblasNoTrans, 1, x, x, 0, inverse);
  gsl_linalg_QR_decomp(x, tau);
  gsl_linalg_QR_lssolve(x, tau, y, found, rest);
  gsl_linalg_cholesky_decomp(inverse);
  gsl_linalg_cholesky_invert(inverse);
  double a = end_level - end_none, b = end_drift - end_none;
  double c = gsl_matrix_get(inverse, 0, 0), d = gsl_matrix_get(inverse, 0, 1), e = gsl_matrix_get(inverse, 1, 1);
  const struct hr__forecast_posterior *at = &fit.at[place];
  expect_near(at->level, end_none + a * gsl_vector_get(found, 0) + b * gsl_vector_get(found, 1), 1e-9);
  expect_near(at->drift, gsl_vector_get(found, 1), 1e-9);
  expect_near(at->var_level, a * a * c + 2 * a * b * d + b * b * e, 1e-9);
  expect_near(at->covariance, a * d + b * e, 1e-9);
  expect_near(at->var_drift, e, 1e-9);
  expect_near(at->squares, pow(gsl_blas_dnrm2(rest), 2) + 0.01, 1e-9);
  gsl_matrix_free(x);
  gsl_matrix_free(inverse);
  gsl_vector_free(y);
  gsl_vector_free(tau);
  gsl_vector_free(found);
  gsl_vector_free(rest);
}

static void fit_equals_independent_computation(void) {
  double week[N];
  for (uint32_t number = 0; number < 5; number++) {
    demand_draw(number, 0.01, 0.3, 0.5, N, week);
    week[7] = number == 3 ? 0 : week[7];
    for (uint32_t place = 0; place < HR__ALPHAS; place++) expect_fit(week, place);
  }
}

/* ---- Generated series ------------------------------------------------------------------------------ */

struct means {
  double trend, sigma, alpha, level;
};

static struct means fit_many(double drift, double sigma, double hold, uint32_t n_weeks) {
  enum { SERIES = 40 };
  struct means means = {0};
  double week[200];
  for (uint32_t i = 0; i < SERIES; i++) {
    struct hr__forecast_fit fit;
    demand_draw(i, drift, sigma, hold, n_weeks, week);
    for (uint32_t k = 0; k < n_weeks; k++) week[k] *= 1000;
    CU_ASSERT_EQUAL_FATAL(hr__forecast_fit_make(week, n_weeks, &fit), HR_OK);
    means.trend += hr__forecast_fit_estimate(&fit).drift / SERIES;
    means.sigma += hr__forecast_fit_estimate(&fit).sigma / SERIES;
    means.alpha += hr__forecast_fit_estimate(&fit).alpha / SERIES;
    means.level += hr__forecast_fit_mean(&fit, 0, 0) / (1000 * exp(drift * (n_weeks - 1))) / SERIES;
  }
  return means;
}

/* The drift of the series in `calm` is 1 % per week. The model adds 0.1 before it takes logarithms, which reduces
   drifts and errors by about a tenth. */
static void parameters_of_generated_series(void) {
  struct means calm = fit_many(0.01, 0.1, 0, 52), held = fit_many(0, 0.1, 0.9, 52);
  struct means flat = fit_many(0, 0.2, 0, 26), wild = fit_many(0, 0.6, 0, 104);
  expect_near(calm.trend, 0.01 / 1.1, 0.001);
  expect_near(calm.sigma, 0.1 / 1.1, 0.01);
  expect_near(calm.level, 1, 0.03);
  expect_near(flat.trend, 0, 0.002);
  expect_near(flat.level, 1, 0.03);
  /* the level is the mean, within 3 standard errors, and not the median, which is 0.84 */
  expect_near(wild.level, 1, 0.09);
  CU_ASSERT(calm.alpha < 0.15);
  CU_ASSERT(held.alpha > 0.6);
}

static void trend_is_damped(void) {
  double week[N];
  struct hr__forecast_fit fit;
  for (uint32_t i = 0; i < N; i++) week[i] = exp(0.02 * i);
  CU_ASSERT_EQUAL_FATAL(hr__forecast_fit_make(week, N, &fit), HR_OK);
  expect_near(pow(fit.damping, N / 2.0), 0.5, 1e-12);
  double now = hr__forecast_fit_mean(&fit, 0, 0), soon = hr__forecast_fit_mean(&fit, 0, 1),
         late = hr__forecast_fit_mean(&fit, 0, 79);
  expect_near(log(soon / now), 0.02, 0.002);
  CU_ASSERT(late / now < exp(0.02 * N / 2 / log(2) * 1.1));
  CU_ASSERT(late / now > 1.2);
  CU_ASSERT_EQUAL_FATAL(hr__forecast_fit_make(week, HR__TREND_WEEKS - 1, &fit), HR_OK);
  expect_near(hr__forecast_fit_mean(&fit, 0, 79), hr__forecast_fit_mean(&fit, 0, 0), 0);
  CU_ASSERT_EQUAL(hr__forecast_fit_estimate(&fit).drift, 0);
}

/* The level is a random walk, so the paths spread widely. Their mean must remain that of the fit. */
static void mean_of_paths_equals_fit(void) {
  enum { PATHS = 10000, AHEAD = 40 };
  double week[N], series[AHEAD], total[AHEAD], sum = 0, squares = 0;
  struct hr__forecast_fit fits[2];
  demand_draw(3, 0, 0.4, 0.95, N, week);
  for (int i = 0; i < 2; i++) CU_ASSERT_EQUAL_FATAL(hr__forecast_fit_make(week, N, &fits[i]), HR_OK);
  struct hr__forecast_model model = {.fits = fits, .n_series = 1};
  for (uint32_t i = 0; i < PATHS; i++) {
    hr__forecast_draw_path(&model, hr_replication_seed(1, i), AHEAD, series, total);
    CU_ASSERT_EQUAL_FATAL(series[AHEAD - 1], total[AHEAD - 1]);
    sum += total[AHEAD - 1] / PATHS;
    squares += total[AHEAD - 1] * total[AHEAD - 1] / PATHS;
  }
  CU_ASSERT(hr__forecast_fit_estimate(&fits[0]).alpha > 0.6);
  expect_near(sum, hr__forecast_fit_mean(&fits[0], 0, AHEAD), 3 * sqrt((squares - sum * sum) / PATHS));
}

/* ---- Coverage -------------------------------------------------------------------------------------- */

static void coverage_of_intervals_of_a_series(void) {
  expect_coverage(30, 26, 0.005, 0.2, 0.5);
  expect_coverage(30, 20, 0, 0.3, 0);
}

TEST_MAIN("plan: forecast fit", TEST(fit_equals_independent_computation), TEST(parameters_of_generated_series),
          TEST(trend_is_damped), TEST(mean_of_paths_equals_fit), TEST(coverage_of_intervals_of_a_series))
