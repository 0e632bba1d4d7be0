/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_INTERVALS_H
#define HR_PLAN_RUNNER_INTERVALS_H

/*
 * Statistics of independent runs: confidence intervals of a metric, paired differences, and significance tests.
 *
 * A metric that is a mean or a sum has the mean over runs and Student's interval. A metric that is a quantile has a
 * skewed distribution over runs, so it has the median over runs and a distribution-free interval from order statistics.
 */

#include "headroom/unstable/compare.h"
#include "plan/runner/measures.h"
#include "report/tables/json_tree.h"

/* ---- Intervals of one sample ------------------------------------------------------------------------ */

struct hr__interval {
  uint32_t count; /* runs in which the metric is known */
  double mean, median, sd;
  double low, high; /* NaN if there are too few runs for the confidence */
  bool of_median;   /* the interval is of the median, not of the mean */
};

/* `values`: one per run, NaN if unknown; not changed. `confidence`: between 0 and 1. `exact`: the runs are
   deterministic, so a single one gives an interval of width 0. HR_NO_MEMORY is the only failure. */
enum hr_status hr__interval_of(const double *values, uint32_t count, enum hr__measure_kind kind, double confidence,
                               bool exact, struct hr__interval *interval);

/* The estimate inside the interval: median or mean. */
static inline double hr__interval_centre(const struct hr__interval *interval) {
  return interval->of_median ? interval->median : interval->mean;
}

/* Half the width as a share of the estimate: infinite without an interval, 0 if its width is 0. */
static inline double hr__interval_relative(const struct hr__interval *interval) {
  if (isnan(interval->low)) return (double)INFINITY;
  double half = (interval->high - interval->low) / 2, centre = fabs(hr__interval_centre(interval));
  return half == 0 ? 0 : half / centre;
}

/* Adds mean, low, high, median, sd and interval to `object`; unknown values are null. */
void hr__json_interval(struct hr__json *json, cJSON *object, const struct hr__interval *interval);

/* The mean of `count` values, and half the width of its 95 % Student interval; the margin of a single value is NaN. */
struct hr__mean {
  double value, margin;
};
struct hr__mean hr__interval_of_mean(const double *values, uint32_t count);

/* ---- Two samples ------------------------------------------------------------------------------------ */

/* Mean of `other` and its paired difference from `first`, with the 95 % interval; both have one value per replication.
   `exact`: the runs are deterministic, so a single pair has an interval of width 0; otherwise a single pair has no
   interval (NaN). */
struct hr_estimate hr__interval_paired(const double *first, const double *other, uint32_t count, bool exact);

/* Two-sided p-values of a difference of means: of pairs that share their random events (Student) and of independent
   samples (Welch). NaN if a sample has fewer than two values. */
double hr__p_value_paired(const double *first, const double *other, uint32_t count);
double hr__p_value_welch(const double *first, uint32_t n_first, const double *other, uint32_t n_other);

/* The largest p-value that is significant at the false discovery rate `rate` (Benjamini and Hochberg), or -1 if none
   is. `p_values` are the `count` smallest of `n_tests`; they are sorted in place. */
double hr__p_value_threshold(double *p_values, size_t count, size_t n_tests, double rate);

#endif
