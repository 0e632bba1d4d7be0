/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The paired interval against one computed by hand, and where there is none. */

#include "plan/statistics.h"

#include "harness.h"

#include <math.h>

static void expect(double value, double expected) {
  if (fabs(value - expected) > 1e-9) printf("\n  %.17g, not %.17g\n", value, expected);
  CU_ASSERT(fabs(value - expected) <= 1e-9);
}

/* Differences 1, 2, 3, 4, 5: mean 3, variance 2.5; t(0.975; 4) = 2.7764451051977987 by the tables. */
static void interval_by_hand(void) {
  static const double first[] = {10, 20, 30, 40, 50}, other[] = {11, 22, 33, 44, 55};
  struct hr_estimate estimate = hr__estimate_paired(first, other, 5, false);
  double half = 2.7764451051977987 * sqrt(2.5 / 5);
  expect(estimate.value, 33);
  expect(estimate.difference, 3);
  expect(estimate.low, 3 - half);
  expect(estimate.high, 3 + half);
  CU_ASSERT_TRUE(estimate.significant);
}

/* Pairs tell what means apart cannot: both vary by far more than they differ. */
static void pairs_cancel_what_is_common(void) {
  static const double first[] = {100, 900, 500, 300}, other[] = {101, 901, 501, 301};
  struct hr_estimate estimate = hr__estimate_paired(first, other, 4, false);
  expect(estimate.low, 1);
  expect(estimate.high, 1);
  CU_ASSERT_TRUE(estimate.significant);
}

static void an_interval_around_zero_is_not_significant(void) {
  static const double first[] = {1, 2, 3}, other[] = {2, 2, 2};
  struct hr_estimate estimate = hr__estimate_paired(first, other, 3, false);
  expect(estimate.difference, 0);
  CU_ASSERT(estimate.low < 0 && estimate.high > 0);
  CU_ASSERT_FALSE(estimate.significant);
  struct hr_estimate itself = hr__estimate_paired(first, first, 3, false);
  CU_ASSERT(itself.difference == 0 && itself.low == 0 && itself.high == 0);
  CU_ASSERT_FALSE(itself.significant);
}

static void one_run_tells_all_or_nothing(void) {
  static const double first[] = {5}, other[] = {3};
  struct hr_estimate exact = hr__estimate_paired(first, other, 1, true);
  expect(exact.difference, -2);
  expect(exact.low, -2);
  expect(exact.high, -2);
  CU_ASSERT_TRUE(exact.significant);
  CU_ASSERT_FALSE(hr__estimate_paired(first, first, 1, true).significant);
  struct hr_estimate random = hr__estimate_paired(first, other, 1, false);
  expect(random.difference, -2);
  CU_ASSERT(isnan(random.low) && isnan(random.high));
  CU_ASSERT_FALSE(random.significant);
}

static void what_a_run_lacks_is_not_told(void) {
  const double first[] = {1, 2}, other[] = {3, (double)NAN};
  struct hr_estimate estimate = hr__estimate_paired(first, other, 2, false);
  CU_ASSERT(isnan(estimate.value) && isnan(estimate.difference) && isnan(estimate.low));
  CU_ASSERT_FALSE(estimate.significant);
}

/* Of 1,000 pairs of samples that differ in nothing, about 5 % look significant. */
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
    significant += hr__estimate_paired(first, other, 8, false).significant;
  }
  CU_ASSERT(significant > 30 && significant < 70);
}

TEST_MAIN("plan: statistics", TEST(interval_by_hand), TEST(pairs_cancel_what_is_common),
          TEST(an_interval_around_zero_is_not_significant), TEST(one_run_tells_all_or_nothing),
          TEST(what_a_run_lacks_is_not_told), TEST(five_in_a_hundred_by_chance))
