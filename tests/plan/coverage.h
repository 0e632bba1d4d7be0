/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_PLAN_COVERAGE_H
#define HR_TESTS_PLAN_COVERAGE_H

#include <stdint.h>

/* Generates `n_series` series of at most 104 weeks. Holds back a fifth of the weeks of each, at most 8. Expects that 90
   to 99 % of the held-back weeks are inside their 95 % intervals. drift, sigma, hold: see demand_draw. */
void expect_coverage(uint32_t n_series, uint32_t n_weeks, double drift, double sigma, double hold);

#endif
