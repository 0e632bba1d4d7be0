/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_INTERVALS_H
#define HR_PLAN_RUNNER_INTERVALS_H

/*
 * Statistics of independent runs: confidence intervals of a metric, paired differences, and significance tests.
 *
 * For a metric that is a mean or a sum, the estimate is the mean over runs, with Student's interval corrected for the
 * skewness of the values. A metric that is a quantile has a skewed distribution over runs. For it, the estimate is the
 * median over runs, with a distribution-free interval from order statistics.
 */

#include "headroom/unstable/compare.h"
#include "plan/runner/scoped_metrics.h"
#include "report/tables/json_tree.h"

/* ---- Intervals of one sample ------------------------------------------------------------------------ */

struct hr__interval {
  uint32_t count; /* number of runs in which the metric is known */
  double mean, median, sd;
  double low, high; /* NaN if there are too few runs for the confidence */
  bool of_median;   /* low and high are of the median; if false, of the mean */
};

/* Computes the interval of a metric. `values` has one value per run, NaN if unknown, and is not changed. `confidence`
   is between 0 and 1. `exact`: the runs are deterministic, so a single run gives an interval of width 0. HR_NO_MEMORY
   is the only failure. */
enum hr_status hr__interval_of(const double *values, uint32_t count, enum hr_metric_kind kind, double confidence,
                               bool exact, struct hr__interval *interval);

/* As hr__interval_of, but the interval of a mean is Student's, without the correction for skewness. For paired
   differences, in which skewness mostly cancels, and for tests with this statistic. */
enum hr_status hr__interval_uncorrected(const double *values, uint32_t count, enum hr_metric_kind kind,
                                        double confidence, bool exact, struct hr__interval *interval);

/* The estimate to which the interval belongs: median or mean. */
static inline double hr__interval_centre(const struct hr__interval *interval) {
  return interval->of_median ? interval->median : interval->mean;
}

/* Half the width of the interval, relative to the estimate. Infinite if no interval exists, 0 if its width is 0. */
static inline double hr__interval_relative(const struct hr__interval *interval) {
  if (isnan(interval->low)) return (double)INFINITY;
  double half = (interval->high - interval->low) / 2, centre = fabs(hr__interval_centre(interval));
  return half == 0 ? 0 : half / centre;
}

/* Adds mean, low, high, median, sd and interval to `object`; unknown values are null. */
void hr__json_interval(struct hr__json *json, cJSON *object, const struct hr__interval *interval);

/* A mean, and half the width of its 95 % Student interval. The half width is NaN if there is a single value. */
struct hr__mean {
  double value, margin;
};
struct hr__mean hr__interval_of_mean(const double *values, uint32_t count);

/* ---- Two samples ------------------------------------------------------------------------------------ */

/* Computes the mean of `other` and its paired difference from `first`, with the 95 % interval. Both have one value per
   replication. A single pair has no interval (NaN) unless `exact` is true: the runs are then deterministic, and the
   interval has width 0. */
struct hr_estimate hr__interval_paired(const double *first, const double *other, uint32_t count, bool exact);

/* Two-sided p-values of a difference of means. The first function is for pairs with the same random events (Student),
   the second for independent samples (Welch). NaN if a sample has fewer than two values. */
double hr__p_value_paired(const double *first, const double *other, uint32_t count);
double hr__p_value_welch(const double *first, uint32_t n_first, const double *other, uint32_t n_other);

/* Returns the largest p-value that is significant at the false discovery rate `rate` (Benjamini and Hochberg), or -1 if
   no p-value is significant. `p_values` contains the `count` smallest p-values of `n_tests` tests, and is sorted in
   place. */
double hr__p_value_threshold(double *p_values, size_t count, size_t n_tests, double rate);

#endif
