/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * With n values in order, the median lies between the k-th from below and the k-th from above with probability
 * 1 - 2 P(B < k), B binomial (n, 1/2): exact, but only for the few confidences that n offers. Between the two nearest,
 * Hettmansperger and Sheather (Statistics & Probability Letters 4, 1986) interpolate the ends by a rule that is all but
 * exact for symmetric and skewed distributions alike.
 */

#include "plan/runner/intervals.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <stdlib.h>

/* That the median lies between the k-th values from both ends, k from 1. */
static double cover_of(uint32_t k, uint32_t count) {
  return 1 - 2 * gsl_cdf_binomial_P(k - 1, 0.5, count);
}

void hr__median_interval(const double *sorted, uint32_t count, double confidence, double *low, double *high) {
  *low = *high = HR__UNKNOWN;
  if (count < 2 || cover_of(1, count) < confidence) return;
  uint32_t k = 1;
  while (k + 1 <= count / 2 && cover_of(k + 1, count) >= confidence) k++;
  bool innermost = k + 1 > (count + 1) / 2;
  double wide = cover_of(k, count), narrow = innermost ? wide : cover_of(k + 1, count);
  double share = wide > narrow ? (wide - confidence) / (wide - narrow) : 0;
  double weight = (count - k) * share / (k + (count - 2.0 * k) * share);
  uint32_t inner = innermost ? k : k + 1;
  *low = (1 - weight) * sorted[k - 1] + weight * sorted[inner - 1];
  *high = (1 - weight) * sorted[count - k] + weight * sorted[count - inner];
}

static void student_interval(struct hr__interval *interval, double confidence) {
  if (interval->count < 2) return;
  double half =
      gsl_cdf_tdist_Pinv((1 + confidence) / 2, interval->count - 1) * interval->sd / sqrt((double)interval->count);
  interval->low = interval->mean - half;
  interval->high = interval->mean + half;
}

static void fill(const double *sorted, enum hr__measure_kind kind, double confidence, struct hr__interval *interval) {
  uint32_t count = interval->count;
  interval->mean = gsl_stats_mean(sorted, 1, count);
  interval->median = gsl_stats_median_from_sorted_data(sorted, 1, count);
  interval->sd = count > 1 ? gsl_stats_sd_m(sorted, 1, count, interval->mean) : 0;
  if (kind == HR__QUANTILE)
    hr__median_interval(sorted, count, confidence, &interval->low, &interval->high);
  else
    student_interval(interval, confidence);
  /* Values that are all the same have an interval, were they ever so few but more than one. */
  if (count > 1 && sorted[0] == sorted[count - 1]) interval->low = interval->high = interval->mean = sorted[0];
}

enum hr_status hr__interval_of(const double *values, uint32_t count, enum hr__measure_kind kind, double confidence,
                               bool exact, struct hr__interval *interval) {
  *interval = (struct hr__interval){.mean = HR__UNKNOWN,
                                    .median = HR__UNKNOWN,
                                    .sd = HR__UNKNOWN,
                                    .low = HR__UNKNOWN,
                                    .high = HR__UNKNOWN,
                                    .of_median = kind == HR__QUANTILE};
  double *sorted = malloc(((size_t)count + 1) * sizeof *sorted);
  if (!sorted) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < count; i++)
    if (!isnan(values[i])) sorted[interval->count++] = values[i];
  gsl_sort(sorted, 1, interval->count);
  if (interval->count) fill(sorted, kind, confidence, interval);
  if (exact && interval->count == 1) interval->low = interval->high = sorted[0];
  free(sorted);
  return HR_OK;
}

double hr__interval_relative(const struct hr__interval *interval) {
  if (isnan(interval->low)) return (double)INFINITY;
  double half = (interval->high - interval->low) / 2, centre = fabs(hr__interval_centre(interval));
  return half == 0 ? 0 : half / centre;
}

static void put_known(struct hr__json *json, cJSON *object, const char *key, double value) {
  hr__json_number_if(json, object, key, isfinite(value), value);
}

void hr__json_interval(struct hr__json *json, cJSON *object, const struct hr__interval *interval) {
  put_known(json, object, "mean", interval->mean);
  put_known(json, object, "low", interval->low);
  put_known(json, object, "high", interval->high);
  put_known(json, object, "median", interval->median);
  put_known(json, object, "sd", interval->sd);
  hr__json_text(json, object, "interval", interval->of_median ? "order-statistics" : "student");
}
