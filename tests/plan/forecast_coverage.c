/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Coverage of the intervals for many series of all kinds. This test takes minutes and is run by hand. */

#include "coverage.h"
#include "harness.h"

static void coverage_of_intervals_of_many_series(void) {
  static const double holds[] = {0, 0.3, 0.6, 0.9}, sigmas[] = {0.1, 0.3, 0.6}, drifts[] = {-0.01, 0, 0.01};
  for (size_t i = 0; i < 4; i++)
    for (size_t k = 0; k < 3; k++)
      for (size_t j = 0; j < 3; j++) expect_coverage(100, 26, drifts[j], sigmas[k], holds[i]);
}

static void coverage_for_short_and_long_traces(void) {
  expect_coverage(300, 5, 0, 0.3, 0);
  expect_coverage(300, 12, 0, 0.3, 0.5);
  expect_coverage(100, 52, 0.005, 0.3, 0.5);
  expect_coverage(100, 104, 0.005, 0.2, 0.5);
}

TEST_MAIN("plan: forecast coverage", TEST(coverage_of_intervals_of_many_series),
          TEST(coverage_for_short_and_long_traces))
