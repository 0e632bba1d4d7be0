/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_PLAN_COVERAGE_H
#define HR_TESTS_PLAN_COVERAGE_H

#include <stdint.h>

/* Generates `n_series` series of `n_weeks` weeks each (at most 104). Holds back a fifth of the weeks of each series, at
   most 8 weeks. Expects that 90 to 99 % of the held-back weeks are inside their 95 % intervals. drift, sigma, hold: see
   demand_draw. */
void expect_coverage(uint32_t n_series, uint32_t n_weeks, double drift, double sigma, double hold);

#endif
