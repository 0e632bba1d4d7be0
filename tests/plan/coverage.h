/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_PLAN_COVERAGE_H
#define HR_TESTS_PLAN_COVERAGE_H

#include <stdint.h>

/* For each of so many generated series a fifth of the weeks is held back, at most 8. Expects that 90 to 99 % of the
 * held-back weeks are inside their 95 % intervals. At most 104 weeks. */
void expect_coverage(uint32_t n_series, uint32_t n_weeks, double drift, double sigma, double hold);

#endif
