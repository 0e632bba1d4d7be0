/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_COSTS_APPORTION_H
#define HR_REPORT_COSTS_APPORTION_H

/* Rounding that keeps sums. */

#include "headroom/market.h"

/* The nearest whole number to part / whole, halves up; whole > 0. */
static inline hr_amount hr__divided(hr_amount part, hr_amount whole) {
  hr_amount twice = 2 * part + whole, quotient = twice / (2 * whole);
  return twice % (2 * whole) < 0 ? quotient - 1 : quotient;
}

/* Each of `amounts` (none negative) in `unit`s, rounded down or up so that the parts sum to the rounded sum: who has
   the largest remainder is rounded up first, the first of equals. HR_BAD_INPUT when the sum passes what dollars may
   come to, HR_NO_MEMORY. */
enum hr_status hr__apportion(const hr_amount *amounts, size_t count, hr_amount unit, int64_t *parts);

/* Splits an amount (not negative) by weights (none negative) without losing a unit; all goes to the first one where
   there is no weight. */
void hr__spread(hr_amount amount, const hr_amount *weights, size_t count, hr_amount *parts);

/* Sums of dollars stay below this, about 4.6 trillion, in micro-dollars. */
#define HR__MOST_UUSD (INT64_C(1) << 62)

#endif
