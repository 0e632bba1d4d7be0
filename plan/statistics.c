/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The paired t interval: with n differences of mean m and standard deviation s, m -+ t(0.975; n - 1) s / sqrt(n). Pairs
 * share their random events, so what is common to both cancels and s is small (Law, "Simulation Modeling and Analysis",
 * on comparing two systems).
 */

#include "plan/statistics.h"
#include "plan/metrics.h"

#include <gsl/gsl_cdf.h>
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

static double half_width(const double *first, const double *other, uint32_t count, double mean) {
  double squares = 0;
  for (uint32_t i = 0; i < count; i++) {
    double deviation = other[i] - first[i] - mean;
    squares += deviation * deviation;
  }
  return gsl_cdf_tdist_Pinv(0.975, count - 1) * sqrt(squares / (count - 1) / count);
}

struct hr_estimate hr__estimate_paired(const double *first, const double *other, uint32_t count, bool exact) {
  double mean = mean_difference(first, other, count), half = 0;
  if (count > 1)
    half = half_width(first, other, count, mean);
  else if (!exact)
    half = HR__UNKNOWN;
  struct hr_estimate estimate = {
      .value = mean_of(other, count), .difference = mean, .low = mean - half, .high = mean + half};
  estimate.significant = estimate.low > 0 || estimate.high < 0;
  return estimate;
}

struct hr__mean hr__mean_of(const double *values, uint32_t count) {
  double mean = mean_of(values, count), squares = 0;
  if (count < 2) return (struct hr__mean){mean, HR__UNKNOWN};
  for (uint32_t i = 0; i < count; i++) squares += (values[i] - mean) * (values[i] - mean);
  return (struct hr__mean){mean, gsl_cdf_tdist_Pinv(0.975, count - 1) * sqrt(squares / (count - 1) / count)};
}
