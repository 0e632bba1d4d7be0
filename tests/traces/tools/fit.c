/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits of distributions, compared with values computed by hand, with the known parameters of samples, and with the
   likelihood at nearby parameters. */

#include "traces/tools/stats.h"

#include "harness.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>

enum { N = 2000 };

static void expect(double value, double expected, double within) {
  if (!(fabs(value - expected) <= within)) printf("\n  %.12g, not %.12g\n", value, expected);
  CU_ASSERT(fabs(value - expected) <= within);
}

/* ---- By hand ---------------------------------------------------------------------------------------- */

static void fits_computed_by_hand(void) {
  struct hr__distribution_fit fits[HR__N_FAMILIES];
  const double few[] = {1, 2, 3};
  CU_ASSERT_TRUE_FATAL(hr__fit_all(few, 3, fits));
  expect(fits[HR__EXPONENTIAL].b, 2, 1e-12);
  expect(fits[HR__EXPONENTIAL].log_likelihood, -3 * (log(2) + 1), 1e-12);
  expect(fits[HR__EXPONENTIAL].aic, 2 + 6 * (log(2) + 1), 1e-12);
  expect(fits[HR__EXPONENTIAL].ks, 1 - exp(-0.5), 1e-12); /* the distance is maximal just below the first value */
  CU_ASSERT_FALSE(fits[HR__PARETO_TAIL].known);
  const double powers[] = {0, 0, 1, exp(1), exp(2)}; /* zeros are ignored */
  CU_ASSERT_TRUE_FATAL(hr__fit_all(powers, 5, fits));
  CU_ASSERT_EQUAL(fits[HR__LOG_NORMAL].count, 3);
  expect(fits[HR__LOG_NORMAL].a, 1, 1e-12);
  expect(fits[HR__LOG_NORMAL].b, sqrt(2.0 / 3), 1e-12);
}

static void samples_that_cannot_be_fitted(void) {
  struct hr__distribution_fit fits[HR__N_FAMILIES];
  const double alike[] = {0, 7, 7, 7}, alone[] = {5};
  CU_ASSERT_TRUE(hr__fit_all(alike, 4, fits));
  for (unsigned i = 0; i < HR__N_FAMILIES; i++) CU_ASSERT_FALSE(fits[i].known);
  CU_ASSERT_TRUE(hr__fit_all(alone, 1, fits));
  CU_ASSERT_TRUE(hr__fit_all(alone, 0, fits));
  CU_ASSERT_FALSE(fits[HR__WEIBULL].known);
}

/* ---- Samples that are quantiles of a distribution --------------------------------------------------- */

static double quantile_order(size_t i) {
  return ((double)i + 0.5) / N;
}

static void parameters_of_known_distributions(void) {
  double values[N];
  struct hr__distribution_fit fits[HR__N_FAMILIES];
  for (size_t i = 0; i < N; i++) values[i] = gsl_cdf_lognormal_Pinv(quantile_order(i), 6, 2);
  CU_ASSERT_TRUE_FATAL(hr__fit_all(values, N, fits));
  expect(fits[HR__LOG_NORMAL].a, 6, 1e-9);
  expect(fits[HR__LOG_NORMAL].b, 2, 0.005);
  CU_ASSERT(fits[HR__LOG_NORMAL].ks < 0.002 && fits[HR__LOG_NORMAL].aic < fits[HR__WEIBULL].aic);
  for (size_t i = 0; i < N; i++) values[i] = gsl_cdf_weibull_Pinv(quantile_order(i), 1200, 0.4);
  CU_ASSERT_TRUE_FATAL(hr__fit_all(values, N, fits));
  expect(fits[HR__WEIBULL].a, 0.4, 0.002);
  expect(fits[HR__WEIBULL].b, 1200, 12);
  CU_ASSERT(fits[HR__WEIBULL].ks < 0.002 && fits[HR__WEIBULL].aic < fits[HR__LOG_NORMAL].aic);
  for (size_t i = 0; i < N; i++) values[i] = gsl_cdf_exponential_Pinv(quantile_order(i), 90);
  CU_ASSERT_TRUE_FATAL(hr__fit_all(values, N, fits));
  expect(fits[HR__EXPONENTIAL].b, 90, 0.2);
  expect(fits[HR__WEIBULL].a, 1, 0.01); /* an exponential distribution is a Weibull distribution of shape 1 */
}

/* Nine tenths of the sample are evenly spaced up to 100. The rest is a Pareto tail from 100. */
static void a_pareto_tail_is_found(void) {
  double values[N];
  struct hr__distribution_fit fits[HR__N_FAMILIES];
  enum { BODY = N * 9 / 10, TAIL = N - BODY };
  for (size_t i = 0; i < BODY; i++) values[i] = 100 * ((double)i + 0.5) / BODY;
  for (size_t i = 0; i < TAIL; i++) values[BODY + i] = gsl_cdf_pareto_Pinv(((double)i + 0.5) / TAIL, 1.5, 100);
  CU_ASSERT_TRUE_FATAL(hr__fit_all(values, N, fits));
  CU_ASSERT_TRUE(fits[HR__PARETO_TAIL].known);
  expect(fits[HR__PARETO_TAIL].a, 1.5, 0.05);
  CU_ASSERT(fits[HR__PARETO_TAIL].b > 90 && fits[HR__PARETO_TAIL].count <= TAIL + 5);
  CU_ASSERT(fits[HR__PARETO_TAIL].ks < 0.01);
}

/* ---- Likelihood ------------------------------------------------------------------------------------- */

static double naive_likelihood(enum hr__family family, double a, double b, const double *values, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += log(family == HR__WEIBULL      ? gsl_ran_weibull_pdf(values[i], b, a)
               : family == HR__LOG_NORMAL ? gsl_ran_lognormal_pdf(values[i], a, b)
                                          : gsl_ran_exponential_pdf(values[i], b));
  return sum;
}

static double naive_cdf(enum hr__family family, double a, double b, double value) {
  return family == HR__WEIBULL      ? gsl_cdf_weibull_P(value, b, a)
         : family == HR__LOG_NORMAL ? gsl_cdf_lognormal_P(value, a, b)
                                    : gsl_cdf_exponential_P(value, b);
}

/* The sample consists of whole numbers with many equal values. */
static void the_likelihood_is_maximal(void) {
  enum { COUNT = 300 };
  double values[COUNT];
  struct hr__distribution_fit fits[HR__N_FAMILIES];
  for (size_t i = 0; i < COUNT; i++) values[i] = floor(1 + 5000 * pow((double)i / COUNT, 4));
  CU_ASSERT_TRUE_FATAL(hr__fit_all(values, COUNT, fits));
  for (unsigned i = 0; i < HR__PARETO_TAIL; i++) {
    enum hr__family family = (enum hr__family)i;
    const struct hr__distribution_fit *fit = &fits[i];
    double best = naive_likelihood(family, fit->a, fit->b, values, COUNT);
    expect(fit->log_likelihood, best, 1e-6 * fabs(best));
    CU_ASSERT(naive_likelihood(family, fit->a * 1.01, fit->b, values, COUNT) <= best);
    CU_ASSERT(naive_likelihood(family, fit->a * 0.99, fit->b, values, COUNT) <= best);
    CU_ASSERT(naive_likelihood(family, fit->a, fit->b * 1.01, values, COUNT) < best);
    CU_ASSERT(naive_likelihood(family, fit->a, fit->b * 0.99, values, COUNT) < best);
    double max = 0; /* maximum distance from the empirical distribution, at each value and just below it */
    for (size_t k = 0; k < COUNT; k++) {
      double at = 0, below = 0, value = naive_cdf(family, fit->a, fit->b, values[k]);
      for (size_t j = 0; j < COUNT; j++) {
        at += values[j] <= values[k];
        below += values[j] < values[k];
      }
      max = fmax(max, fmax(fabs(at / COUNT - value), fabs(below / COUNT - value)));
    }
    expect(fit->ks, max, 1e-12);
  }
}

TEST_MAIN("workload: fits", TEST(fits_computed_by_hand), TEST(samples_that_cannot_be_fitted),
          TEST(parameters_of_known_distributions), TEST(a_pareto_tail_is_found), TEST(the_likelihood_is_maximal))
