/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_INTERVALS_H
#define HR_PLAN_RUNNER_INTERVALS_H

/*
 * What independent runs tell of a figure. Means and sums: the mean over runs and Student's interval of it. Quantiles,
 * whose distribution over runs is skewed: the median over runs and its interval from order statistics, which holds
 * whatever the distribution is.
 */

#include "plan/runner/measures.h"
#include "report/tables/json_tree.h"

struct hr__interval {
  uint32_t count; /* runs in which the figure is known */
  double mean, median, sd;
  double low, high; /* NaN: so few runs tell nothing at that confidence */
  bool of_median;   /* what the interval is of */
};

/* `values`: by run, NaN where unknown; not changed. `exact`: nothing is random, and one run tells all. HR_NO_MEMORY is
   the only failure. */
enum hr_status hr__interval_of(const double *values, uint32_t count, enum hr__measure_kind kind, double confidence,
                               bool exact, struct hr__interval *interval);

/* The estimate that the interval is of. */
static inline double hr__interval_centre(const struct hr__interval *interval) {
  return interval->of_median ? interval->median : interval->mean;
}

/* Half its width, as a share of the estimate; infinite where there is no interval yet, 0 where it has no width. */
double hr__interval_relative(const struct hr__interval *interval);

/* The interval of the median of sorted values by Hettmansperger and Sheather (1986); NaN where so few have none. */
void hr__median_interval(const double *sorted, uint32_t count, double confidence, double *low, double *high);

/* mean, low, high, median, sd, interval. */
void hr__json_interval(struct hr__json *json, cJSON *object, const struct hr__interval *interval);

#endif
