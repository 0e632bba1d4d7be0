/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The paired interval, compared with one computed by hand; cases without an interval; p-values. */

#include "plan/runner/runner.h"

#include "harness.h"

#include <math.h>

static void expect(double value, double expected) {
  if (fabs(value - expected) > 1e-9) printf("\n  %.17g, not %.17g\n", value, expected);
  CU_ASSERT(fabs(value - expected) <= 1e-9);
}

/* The differences are 1, 2, 3, 4, 5: mean 3, variance 2.5. From tables: t(0.975; 4) = 2.7764451051977987. */
static void interval_computed_by_hand(void) {
  static const double first[] = {10, 20, 30, 40, 50}, other[] = {11, 22, 33, 44, 55};
  struct hr_estimate estimate = hr__interval_paired(first, other, 5, false);
  double half = 2.7764451051977987 * sqrt(2.5 / 5);
  expect(estimate.value, 33);
  expect(estimate.difference, 3);
  expect(estimate.low, 3 - half);
  expect(estimate.high, 3 + half);
  CU_ASSERT_TRUE(estimate.significant);
}

/* Pairs show a difference that is much smaller than the variation within each sample. */
static void pairs_cancel_common_variation(void) {
  static const double first[] = {100, 900, 500, 300}, other[] = {101, 901, 501, 301};
  struct hr_estimate estimate = hr__interval_paired(first, other, 4, false);
  expect(estimate.low, 1);
  expect(estimate.high, 1);
  CU_ASSERT_TRUE(estimate.significant);
}

static void an_interval_around_zero_is_not_significant(void) {
  static const double first[] = {1, 2, 3}, other[] = {2, 2, 2};
  struct hr_estimate estimate = hr__interval_paired(first, other, 3, false);
  expect(estimate.difference, 0);
  CU_ASSERT(estimate.low < 0 && estimate.high > 0);
  CU_ASSERT_FALSE(estimate.significant);
  struct hr_estimate itself = hr__interval_paired(first, first, 3, false);
  CU_ASSERT(itself.difference == 0 && itself.low == 0 && itself.high == 0);
  CU_ASSERT_FALSE(itself.significant);
}

static void interval_of_one_run(void) {
  static const double first[] = {5}, other[] = {3};
  struct hr_estimate exact = hr__interval_paired(first, other, 1, true);
  expect(exact.difference, -2);
  expect(exact.low, -2);
  expect(exact.high, -2);
  CU_ASSERT_TRUE(exact.significant);
  CU_ASSERT_FALSE(hr__interval_paired(first, first, 1, true).significant);
  struct hr_estimate random = hr__interval_paired(first, other, 1, false);
  expect(random.difference, -2);
  CU_ASSERT(isnan(random.low) && isnan(random.high));
  CU_ASSERT_FALSE(random.significant);
}

static void unknown_values_give_no_interval(void) {
  const double first[] = {1, 2}, other[] = {3, (double)NAN};
  struct hr_estimate estimate = hr__interval_paired(first, other, 2, false);
  CU_ASSERT(isnan(estimate.value) && isnan(estimate.difference) && isnan(estimate.low));
  CU_ASSERT_FALSE(estimate.significant);
}

/* 1,000 pairs of samples with equal distributions: about 5 % of them must be significant. */
static void five_percent_significant_by_chance(void) {
  uint64_t state = 1;
  int significant = 0;
  for (int i = 0; i < 1000; i++) {
    double first[8] = {0}, other[8];
    for (int k = 0; k < 8; k++) {
      double sum = -6; /* the sum of 12 uniform numbers is nearly normal */
      for (int n = 0; n < 12; n++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(state >> 11) * 0x1p-53;
      }
      other[k] = sum;
    }
    significant += hr__interval_paired(first, other, 8, false).significant;
  }
  CU_ASSERT(significant > 30 && significant < 70);
}

/* The differences have mean 3 and variance 2.5: t = 4.2426 with 4 degrees of freedom; from tables, p = 0.0132356. */
static void p_value_of_pairs(void) {
  static const double first[] = {10, 20, 30, 40, 50}, other[] = {11, 22, 33, 44, 55}, up[] = {11, 21, 31, 41, 51};
  CU_ASSERT_DOUBLE_EQUAL(hr__p_value_paired(first, other, 5), 0.0132356, 1e-7);
  CU_ASSERT_DOUBLE_EQUAL(hr__p_value_paired(other, first, 5), 0.0132356, 1e-7);
  CU_ASSERT_EQUAL(hr__p_value_paired(first, up, 5), 0);
  CU_ASSERT_EQUAL(hr__p_value_paired(first, first, 5), 1);
  CU_ASSERT(isnan(hr__p_value_paired(first, other, 1)));
}

/* Two samples of variance 2.5, whose difference has a standard error of 1: t = 2 with 8 degrees of freedom, p =
   0.0805162 from tables. Then the second sample is 30, 50 and 70: the variance of its mean is 400 / 3, t = 47 /
   sqrt(400 / 3 + 0.5), with 2.015 degrees of freedom. */
static void p_value_of_samples(void) {
  const double first[] = {1, 2, 3, 4, 5}, other[] = {7, 3, 5, 4, 6}, far[] = {30, 50, 70}, still[] = {4, 4, 4};
  CU_ASSERT_DOUBLE_EQUAL(hr__p_value_welch(first, 5, other, 5), 0.0805162, 1e-7);
  double t = 47 / sqrt(400 / 3.0 + 0.5);
  double two = 1 - t / sqrt(2 + t * t); /* the p-value with 2 degrees of freedom, in closed form */
  CU_ASSERT_DOUBLE_EQUAL(hr__p_value_welch(first, 5, far, 3), two, 0.001);
  CU_ASSERT(hr__p_value_welch(first, 5, far, 3) < two);
  CU_ASSERT(isnan(hr__p_value_welch(first, 5, other, 1)));
  CU_ASSERT_EQUAL(hr__p_value_welch(still, 3, still, 3), 1);
  CU_ASSERT_EQUAL(hr__p_value_welch(still, 3, (const double[]){5, 5}, 2), 0);
}

/* The example of Benjamini and Hochberg's paper: of 15 tests, the four smallest p-values are significant at 0.05. */
static void false_discovery_rate(void) {
  double chances[] = {0.0278, 0.0095, 0.0001, 0.0298, 0.0019, 0.0004, 0.0201, 0.0344,
                      0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  CU_ASSERT_EQUAL(hr__p_value_threshold(chances, 15, 15, 0.05), 0.0095);
  CU_ASSERT_EQUAL(chances[14], 1);
  double few[] = {0.02, 0.01};
  CU_ASSERT_EQUAL(hr__p_value_threshold(few, 2, 2, 0.05), 0.02);
  CU_ASSERT_EQUAL(hr__p_value_threshold(few, 2, 20, 0.05), -1);
  CU_ASSERT_EQUAL(hr__p_value_threshold(NULL, 0, 5, 0.05), -1);
}

TEST_MAIN("plan: statistics", TEST(interval_computed_by_hand), TEST(pairs_cancel_common_variation),
          TEST(an_interval_around_zero_is_not_significant), TEST(interval_of_one_run),
          TEST(unknown_values_give_no_interval), TEST(five_percent_significant_by_chance), TEST(p_value_of_pairs),
          TEST(p_value_of_samples), TEST(false_discovery_rate))
