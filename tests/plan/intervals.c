/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intervals over runs. Student's interval is compared with tables. The interval of the median is compared with one
   computed by hand and with an enumeration of all outcomes. The coverage of both is measured. */

#include "plan/runner/runner.h"

#include "base/random.h"
#include "harness.h"
#include "report/tables/tables.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void expect(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-9 * fmax(1, fabs(expected)))) printf("\n  %.17g, not %.17g\n", value, expected);
  CU_ASSERT(fabs(value - expected) <= 1e-9 * fmax(1, fabs(expected)));
}

static struct hr__interval interval_of(const double *values, uint32_t count, enum hr_metric_kind kind,
                                       double confidence, bool exact) {
  struct hr__interval interval;
  CU_ASSERT_EQUAL_FATAL(hr__interval_of(values, count, kind, confidence, exact, &interval), HR_OK);
  return interval;
}

/* ---- Student ---------------------------------------------------------------------------------------- */

/* From tables: t(0.975; 4) = 2.7764451051977987, t(0.95; 9) = 1.8331129326536335, t(0.995; 1) = 63.65674116287399. */
static void student_interval_equals_tables(void) {
  static const double five[] = {3, 1, 5, 2, 4}, ten[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, two[] = {1, 3};
  struct hr__interval interval = interval_of(five, 5, HR_METRIC_MEAN, 0.95, false);
  expect(interval.mean, 3);
  expect(interval.sd, sqrt(2.5));
  expect(interval.high - 3, 2.7764451051977987 * sqrt(2.5 / 5));
  expect(3 - interval.low, 2.7764451051977987 * sqrt(2.5 / 5));
  CU_ASSERT_FALSE(interval.of_median);
  expect(hr__interval_relative(&interval), 2.7764451051977987 * sqrt(0.5) / 3);
  interval = interval_of(ten, 10, HR_METRIC_MEAN, 0.9, false);
  expect(interval.high, 5.5 + 1.8331129326536335 * sqrt(55.0 / 6 / 10));
  interval = interval_of(two, 2, HR_METRIC_MEAN, 0.99, false);
  expect(interval.high, 2 + 63.65674116287399 * sqrt(2) / sqrt(2));
}

/* At the end of the interval to which the values are skewed, Hall's transformation of the statistic must equal -t. The
   other end equals that of Student's interval. Four values: mean 2, standard deviation 2, skewness 2 / sqrt(3),
   t(0.975; 3) = 3.1824463052837078. */
static void mean_interval_is_corrected_for_skewness(void) {
  static const double right[] = {1, 1, 1, 5}, left[] = {-1, -1, -1, -5};
  struct hr__interval interval = interval_of(right, 4, HR_METRIC_MEAN, 0.95, false), mirrored, student;
  double a = 2 / sqrt(3) / (3 * 2), end = 2 - interval.high;
  expect((pow(1 + a * end, 3) - 1) / (3 * a) + a / 2, -3.1824463052837078);
  mirrored = interval_of(left, 4, HR_METRIC_MEAN, 0.95, false);
  expect(mirrored.low, -interval.high);
  expect(mirrored.high, -interval.low);
  CU_ASSERT_EQUAL_FATAL(hr__interval_uncorrected(right, 4, HR_METRIC_MEAN, 0.95, false, &student), HR_OK);
  expect(student.low, 2 - 3.1824463052837078);
  expect(student.high, 2 + 3.1824463052837078);
  expect(interval.low, student.low);
  CU_ASSERT(interval.high > student.high);
}

/* Student's interval of 1, 1, 1, 5 is 2 - 3.182446 to 2 + 3.182446. In JSON, its ends are limited to bounds of the
   metric: counts, times and shares are not negative, and shares and Jain's index are at most 1. Savings and amounts of
   money may be negative. */
static void ends_within_the_metric(void) {
  static const struct {
    enum hr__metric metric;
    double low, high;
  } cases[] = {{HR__M_SUBMITTED, 0, 5.182446},
               {HR__M_WAIT_MEAN, 0, 5.182446},
               {HR__M_SLOWDOWN_MEAN, 1, 5.182446},
               {HR__M_DEADLINE_MISS, 0, 1},
               {HR__M_JAIN, -1.182446, 1},
               {HR__M_COST_SAVING, -1.182446, 1},
               {HR__M_COST_SHARED, -1.182446, 5.182446}};
  static const double values[] = {1, 1, 1, 5};
  struct hr__interval interval;
  CU_ASSERT_EQUAL_FATAL(hr__interval_uncorrected(values, 4, HR_METRIC_MEAN, 0.95, false, &interval), HR_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct hr__json json = {0};
    cJSON *object = cJSON_CreateObject();
    hr__json_metric_interval(&json, object, cases[i].metric, &interval);
    char *text = cJSON_PrintUnformatted(object);
    const char *low = text ? strstr(text, "\"low\":") : NULL, *high = text ? strstr(text, "\"high\":") : NULL;
    CU_ASSERT_FATAL(!json.failed && low && high);
    expect(strtod(low + strlen("\"low\":"), NULL), cases[i].low);
    expect(strtod(high + strlen("\"high\":"), NULL), cases[i].high);
    cJSON_free(text);
    cJSON_Delete(object);
  }
}

static void unknown_values_are_omitted(void) {
  const double values[] = {3, (double)NAN, 1, 5, 2, (double)NAN, 4}, none[] = {(double)NAN, (double)NAN};
  struct hr__interval interval = interval_of(values, 7, HR_METRIC_MEAN, 0.95, false);
  CU_ASSERT_EQUAL(interval.count, 5);
  expect(interval.high - 3, 2.7764451051977987 * sqrt(0.5));
  interval = interval_of(none, 2, HR_METRIC_MEAN, 0.95, false);
  CU_ASSERT(interval.count == 0 && isnan(interval.mean) && isnan(interval.low) && isnan(interval.median));
  CU_ASSERT(isinf(hr__interval_relative(&interval)));
}

static void intervals_of_few_values(void) {
  static const double one[] = {7}, same[] = {7, 7, 7};
  struct hr__interval interval = interval_of(one, 1, HR_METRIC_MEAN, 0.95, false);
  CU_ASSERT(interval.mean == 7 && isnan(interval.low) && isnan(interval.high));
  interval = interval_of(one, 1, HR_METRIC_QUANTILE, 0.95, true);
  CU_ASSERT(interval.low == 7 && interval.high == 7);
  expect(hr__interval_relative(&interval), 0);
  interval = interval_of(same, 3, HR_METRIC_QUANTILE, 0.95, false);
  CU_ASSERT(interval.low == 7 && interval.high == 7);
}

/* ---- The median ------------------------------------------------------------------------------------- */

/* Of ten values, the 2nd and the 9th enclose the median with probability 1 - 2 x 11/1024, the 3rd and the 8th with 1 -
   2 x 56/1024. The ends are interpolated by Hettmansperger and Sheather. Of n values, let the k-th and the k-th from
   the end enclose the median with probability P(k) >= 0.95, and the next pair with P(k + 1) < 0.95. With s = (P(k) -
   0.95) / (P(k) - P(k + 1)), the weight of the next pair is (n - k) s / (k + (n - 2 k) s). */
static void median_interval_computed_by_hand(void) {
  static const double ten[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, six[] = {1, 2, 3, 4, 5, 6};
  double wide = 1 - 22.0 / 1024, narrow = 1 - 112.0 / 1024, share = (wide - 0.95) / (wide - narrow);
  double weight = 8 * share / (2 + 6 * share);
  struct hr__interval interval = interval_of(ten, 10, HR_METRIC_QUANTILE, 0.95, false);
  expect(interval.median, 5.5);
  expect(interval.low, 2 + weight);
  expect(interval.high, 9 - weight);
  CU_ASSERT(fabs(weight - 0.6577) < 1e-4);
  CU_ASSERT_TRUE(interval.of_median);
  interval =
      interval_of(six, 6, HR_METRIC_QUANTILE, 0.95, false); /* coverages 31/32 and 25/32: interpolated by a tenth */
  expect(interval.low, 1 + 0.5 / 1.4);
  expect(interval.high, 6 - 0.5 / 1.4);
}

static void too_few_values_for_a_median_interval(void) {
  static const double five[] = {1, 2, 3, 4, 5};
  struct hr__interval interval = interval_of(five, 5, HR_METRIC_QUANTILE, 0.95, false);
  CU_ASSERT(isnan(interval.low) && isnan(interval.high) && interval.median == 3);
  /* the two outermost values enclose the median with probability 0.9375 */
  interval = interval_of(five, 5, HR_METRIC_QUANTILE, 0.93749, false);
  CU_ASSERT(interval.low >= 1 && interval.low < 1.001 && interval.high <= 5 && interval.high > 4.999);
}

/* Probability that the k-th smallest and the k-th largest of `count` values enclose the median, by enumeration of all
   outcomes. */
static double counted_cover(uint32_t k, uint32_t count) {
  uint32_t covered = 0;
  for (uint32_t outcome = 0; outcome < 1u << count; outcome++) {
    uint32_t below = 0;
    for (uint32_t i = 0; i < count; i++) below += outcome >> i & 1;
    covered += below >= k && count - below >= k;
  }
  return (double)covered / (double)(1u << count);
}

static void median_interval_equals_enumeration(void) {
  static const double confidences[] = {0.5, 0.8, 0.9, 0.95, 0.99};
  for (uint32_t count = 3; count <= 14; count++)
    for (size_t c = 0; c < sizeof confidences / sizeof *confidences; c++) {
      double sorted[14];
      struct hr__interval interval;
      uint32_t k = 0;
      for (uint32_t i = 0; i < count; i++) sorted[i] = i + 1;
      while (k + 1 <= count / 2 && counted_cover(k + 1, count) >= confidences[c]) k++;
      CU_ASSERT_EQUAL_FATAL(hr__interval_of(sorted, count, HR_METRIC_QUANTILE, confidences[c], false, &interval),
                            HR_OK);
      double low = interval.low, high = interval.high;
      if (k == 0) {
        CU_ASSERT(isnan(low) && isnan(high));
        continue;
      }
      /* The lower end is between the k-th value and the next. If the next value is beyond the middle, the lower end is
         the k-th value itself. */
      CU_ASSERT(low >= k && low <= (k + 1 <= (count + 1) / 2 ? k + 1 : k));
      expect(low + high, count + 1);
    }
}

/* ---- How often they cover --------------------------------------------------------------------------- */

static double share_covered(uint32_t count, enum hr_metric_kind kind, bool skewed, double truth) {
  enum { SAMPLES = 6000 };
  struct hr__stream stream;
  hr__stream_init(&stream, 11, HR__PURPOSE_SAMPLE, count, (uint32_t)kind);
  gsl_rng rng = hr__stream_rng(&stream);
  int covered = 0;
  for (int i = 0; i < SAMPLES; i++) {
    double values[20];
    for (uint32_t k = 0; k < count; k++)
      values[k] = skewed ? gsl_ran_exponential(&rng, 1) : gsl_ran_gaussian_ziggurat(&rng, 1);
    struct hr__interval interval = interval_of(values, count, kind, 0.95, false);
    covered += interval.low <= truth && truth <= interval.high;
  }
  return (double)covered / SAMPLES;
}

/* With six thousand samples, three standard errors of the coverage are 0.85 percentage points. The interval of a mean
   must cover 93 to 97 % for all distributions that occur. The normal distribution has no skewness, but a small sample
   can be skewed by chance. The corrected interval is then wider than Student's, never narrower, so its coverage is
   above 95 %, but at most 97 %. Student's interval itself must cover 95 %. */
static void coverage_of_both_intervals(void) {
  static const uint32_t counts[] = {5, 10, 20};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    uint32_t count = counts[i];
    double normal = share_covered(count, HR_METRIC_MEAN, false, 0);
    CU_ASSERT(normal > 0.9415 && normal < 0.97);
    if (count < 10) continue; /* too few values for an interval of the median */
    double skewed = share_covered(count, HR_METRIC_MEAN, true, 1);
    CU_ASSERT(skewed > 0.93 && skewed < 0.97); /* uncorrected: 0.90 for 10 values, 0.92 for 20 */
    double median = share_covered(count, HR_METRIC_QUANTILE, true, log(2));
    CU_ASSERT(median > 0.9415 && median < 0.9585);
    /* the interval must not cover a value that is not the median */
    CU_ASSERT(share_covered(count, HR_METRIC_QUANTILE, true, 1.3 * log(2)) < 0.94);
  }
}

TEST_MAIN("plan: intervals", TEST(student_interval_equals_tables), TEST(mean_interval_is_corrected_for_skewness),
          TEST(ends_within_the_metric), TEST(unknown_values_are_omitted), TEST(intervals_of_few_values),
          TEST(median_interval_computed_by_hand), TEST(too_few_values_for_a_median_interval),
          TEST(median_interval_equals_enumeration), TEST(coverage_of_both_intervals))
