/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The paired interval against one computed by hand, cases without an interval, and p-values. */

#include "plan/runner/intervals.h"

#include "harness.h"

#include <math.h>

static void expect(double value, double expected) {
  if (fabs(value - expected) > 1e-9) printf("\n  %.17g, not %.17g\n", value, expected);
  CU_ASSERT(fabs(value - expected) <= 1e-9);
}

/* Differences 1, 2, 3, 4, 5: mean 3, variance 2.5; t(0.975; 4) = 2.7764451051977987 from tables. */
static void interval_by_hand(void) {
  static const double first[] = {10, 20, 30, 40, 50}, other[] = {11, 22, 33, 44, 55};
  struct hr_estimate estimate = hr__interval_paired(first, other, 5, false);
  double half = 2.7764451051977987 * sqrt(2.5 / 5);
  expect(estimate.value, 33);
  expect(estimate.difference, 3);
  expect(estimate.low, 3 - half);
  expect(estimate.high, 3 + half);
  CU_ASSERT_TRUE(estimate.significant);
}

/* Pairs detect a difference that is much smaller than the variation of each sample. */
static void pairs_cancel_what_is_common(void) {
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

static void one_run_tells_all_or_nothing(void) {
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

static void what_a_run_lacks_is_not_told(void) {
  const double first[] = {1, 2}, other[] = {3, (double)NAN};
  struct hr_estimate estimate = hr__interval_paired(first, other, 2, false);
  CU_ASSERT(isnan(estimate.value) && isnan(estimate.difference) && isnan(estimate.low));
  CU_ASSERT_FALSE(estimate.significant);
}

/* Of 1,000 pairs of samples with equal distributions, about 5 % are significant. */
static void five_in_a_hundred_by_chance(void) {
  uint64_t state = 1;
  int significant = 0;
  for (int i = 0; i < 1000; i++) {
    double first[8] = {0}, other[8];
    for (int k = 0; k < 8; k++) {
      double sum = -6; /* of 12 uniforms: nearly normal */
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

/* Differences of mean 3, variance 2.5: t = 4.2426 with 4 degrees of freedom, p = 0.0132356 from tables. */
static void chance_of_pairs(void) {
  static const double first[] = {10, 20, 30, 40, 50}, other[] = {11, 22, 33, 44, 55}, up[] = {11, 21, 31, 41, 51};
  CU_ASSERT_DOUBLE_EQUAL(hr__p_value_paired(first, other, 5), 0.0132356, 1e-7);
  CU_ASSERT_DOUBLE_EQUAL(hr__p_value_paired(other, first, 5), 0.0132356, 1e-7);
  CU_ASSERT_EQUAL(hr__p_value_paired(first, up, 5), 0);
  CU_ASSERT_EQUAL(hr__p_value_paired(first, first, 5), 1);
  CU_ASSERT(isnan(hr__p_value_paired(first, other, 1)));
}

/* Two samples of variance 2.5 and a standard error of 1: t = 2 with 8 degrees of freedom, 0.0805162 from tables. The
   second as 30, 50 and 70: their mean's variance is 400 / 3, t = 47 / sqrt(400 / 3 + 0.5), 2.015 degrees of freedom. */
static void chance_of_samples(void) {
  const double first[] = {1, 2, 3, 4, 5}, other[] = {7, 3, 5, 4, 6}, far[] = {30, 50, 70}, still[] = {4, 4, 4};
  CU_ASSERT_DOUBLE_EQUAL(hr__p_value_welch(first, 5, other, 5), 0.0805162, 1e-7);
  double t = 47 / sqrt(400 / 3.0 + 0.5);
  double two = 1 - t / sqrt(2 + t * t); /* with 2 degrees of freedom, in closed form */
  CU_ASSERT_DOUBLE_EQUAL(hr__p_value_welch(first, 5, far, 3), two, 0.001);
  CU_ASSERT(hr__p_value_welch(first, 5, far, 3) < two);
  CU_ASSERT(isnan(hr__p_value_welch(first, 5, other, 1)));
  CU_ASSERT_EQUAL(hr__p_value_welch(still, 3, still, 3), 1);
  CU_ASSERT_EQUAL(hr__p_value_welch(still, 3, (const double[]){5, 5}, 2), 0);
}

/* The example of Benjamini and Hochberg's paper: 15 tests, of which the four smallest are significant at 0.05. */
static void what_many_tests_are_believed(void) {
  double chances[] = {0.0278, 0.0095, 0.0001, 0.0298, 0.0019, 0.0004, 0.0201, 0.0344,
                      0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  CU_ASSERT_EQUAL(hr__p_value_threshold(chances, 15, 15, 0.05), 0.0095);
  CU_ASSERT_EQUAL(chances[14], 1);
  double few[] = {0.02, 0.01};
  CU_ASSERT_EQUAL(hr__p_value_threshold(few, 2, 2, 0.05), 0.02);
  CU_ASSERT_EQUAL(hr__p_value_threshold(few, 2, 20, 0.05), -1);
  CU_ASSERT_EQUAL(hr__p_value_threshold(NULL, 0, 5, 0.05), -1);
}

TEST_MAIN("plan: statistics", TEST(interval_by_hand), TEST(pairs_cancel_what_is_common),
          TEST(an_interval_around_zero_is_not_significant), TEST(one_run_tells_all_or_nothing),
          TEST(what_a_run_lacks_is_not_told), TEST(five_in_a_hundred_by_chance), TEST(chance_of_pairs),
          TEST(chance_of_samples), TEST(what_many_tests_are_believed))
