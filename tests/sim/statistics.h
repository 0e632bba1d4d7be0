/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_SIM_STATISTICS_H
#define HR_TESTS_SIM_STATISTICS_H

/*
 * Statistical tests of samples. Seeds are fixed, so a test that passes once always passes. With another seed, a correct
 * implementation could fail. The probability of this follows from the bounds: 7 in a million for the bound of 4.5
 * standard errors, and 1 in 100,000 for the bound of 2.47 / sqrt(n) on the Kolmogorov-Smirnov distance.
 */

#include "harness.h"

#include <math.h>

/* Asserts that `seen` differs from `expected` by at most 4.5 standard errors. */
static inline void expect_within(const char *what, double seen, double expected, double standard_error) {
  bool fine = fabs(seen - expected) <= 4.5 * standard_error;
  if (!fine) printf("\n    %s: %.6g, expected %.6g +- %.3g", what, seen, expected, standard_error);
  CU_ASSERT(fine);
}

static inline int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Compares a sample with the continuous distribution function `cdf`. Sorts the sample. */
static inline void expect_distributed(const char *what, double *sample, size_t n,
                                      double (*cdf)(const void *self, double x), const void *self) {
  qsort(sample, n, sizeof *sample, by_value);
  double furthest = 0;
  for (size_t i = 0; i < n; i++) {
    double below = cdf(self, sample[i]);
    furthest = fmax(furthest, fmax(below - (double)i / (double)n, (double)(i + 1) / (double)n - below));
  }
  bool fine = furthest <= 2.47 / sqrt((double)n);
  if (!fine) printf("\n    %s: distance %.5f, at most %.5f expected", what, furthest, 2.47 / sqrt((double)n));
  CU_ASSERT(fine);
}

#endif
