/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The paired t interval: with n differences of mean m and standard deviation s, m -+ t(0.975; n - 1) s / sqrt(n). Pairs
 * share their random events, so what is common to both cancels and s is small (Law, "Simulation Modeling and Analysis",
 * on comparing two systems). Of samples without anything in common the variances add, and the degrees of freedom are
 * Satterthwaite's (Welch, Biometrika 34, 1947). Of many tests at once, those are believed that keep the share of false
 * ones among them (Benjamini and Hochberg, J. R. Stat. Soc. B 57, 1995).
 */

#include "plan/runner/statistics.h"

#include "plan/runner/measures.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <math.h>

static double mean_of(const double *values, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += values[i];
  return sum / count;
}

static double mean_difference(const double *first, const double *other, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += other[i] - first[i];
  return sum / count;
}

/* The square of the standard error of the differences' mean. */
static double difference_variance(const double *first, const double *other, uint32_t count, double mean) {
  double squares = 0;
  for (uint32_t i = 0; i < count; i++) {
    double deviation = other[i] - first[i] - mean;
    squares += deviation * deviation;
  }
  return squares / (count - 1) / count;
}

struct hr_estimate hr__estimate_paired(const double *first, const double *other, uint32_t count, bool exact) {
  double mean = mean_difference(first, other, count), half = 0;
  if (count > 1)
    half = gsl_cdf_tdist_Pinv(0.975, count - 1) * sqrt(difference_variance(first, other, count, mean));
  else if (!exact)
    half = HR__UNKNOWN;
  struct hr_estimate estimate = {
      .value = mean_of(other, count), .difference = mean, .low = mean - half, .high = mean + half};
  estimate.significant = estimate.low > 0 || estimate.high < 0;
  return estimate;
}

/* The square of the mean's standard error. */
static double mean_variance(const double *values, uint32_t count, double mean) {
  double squares = 0;
  for (uint32_t i = 0; i < count; i++) squares += (values[i] - mean) * (values[i] - mean);
  return squares / (count - 1) / count;
}

struct hr__mean hr__mean_of(const double *values, uint32_t count) {
  double mean = mean_of(values, count);
  if (count < 2) return (struct hr__mean){mean, HR__UNKNOWN};
  return (struct hr__mean){mean, gsl_cdf_tdist_Pinv(0.975, count - 1) * sqrt(mean_variance(values, count, mean))};
}

/* ---- Chance ----------------------------------------------------------------------------------------- */

/* Of a mean this far from zero or further, on either side. */
static double both_tails(double mean, double variance, double freedom) {
  if (mean == 0) return 1;
  return variance > 0 ? 2 * gsl_cdf_tdist_Q(fabs(mean) / sqrt(variance), freedom) : 0;
}

double hr__chance_of_pairs(const double *first, const double *other, uint32_t count) {
  if (count < 2) return HR__UNKNOWN;
  double mean = mean_difference(first, other, count);
  return both_tails(mean, difference_variance(first, other, count, mean), count - 1);
}

double hr__chance_of_samples(const double *first, uint32_t n_first, const double *other, uint32_t n_other) {
  if (n_first < 2 || n_other < 2) return HR__UNKNOWN;
  double a = mean_of(first, n_first), b = mean_of(other, n_other);
  double u = mean_variance(first, n_first, a), v = mean_variance(other, n_other, b);
  double freedom = u + v > 0 ? (u + v) * (u + v) / (u * u / (n_first - 1) + v * v / (n_other - 1)) : 1;
  return both_tails(b - a, u + v, freedom);
}

double hr__believed_up_to(double *chances, size_t count, size_t n_tests, double false_share) {
  gsl_sort(chances, 1, count);
  for (size_t i = count; i-- > 0;)
    if (chances[i] <= (double)(i + 1) / (double)n_tests * false_share) return chances[i];
  return -1;
}
