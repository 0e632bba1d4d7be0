/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_COSTS_APPORTION_H
#define HR_REPORT_COSTS_APPORTION_H

/* Rounds and splits integer amounts so that the parts sum to the whole. */

#include "headroom/market.h"

/* Returns part / whole, rounded to the nearest integer; halves are rounded up. `whole` must be > 0. */
static inline hr_amount hr__divided(hr_amount part, hr_amount whole) {
  hr_amount twice = 2 * part + whole, quotient = twice / (2 * whole);
  return twice % (2 * whole) < 0 ? quotient - 1 : quotient;
}

/* Converts each of `amounts` (>= 0) to a whole number of `unit`s. Amounts are rounded down or up so that the parts sum
   to the rounded sum of the amounts. The amounts that are rounded up are those with the largest remainders; if
   remainders are equal, the amount with the smaller index is rounded up first. Returns HR_BAD_INPUT if the sum is
   HR__MAX_UUSD units or more, HR_NO_MEMORY if out of memory. */
enum hr_status hr__apportion(const hr_amount *amounts, size_t count, hr_amount unit, int64_t *parts);

/* Splits an amount (>= 0) in proportion to weights (>= 0). The parts sum to the amount. If all weights are 0, the first
   part is the whole amount. */
void hr__spread(hr_amount amount, const hr_amount *weights, size_t count, hr_amount *parts);

/* All sums of money in micro-dollars must be below this bound, which is about 4.6 trillion dollars. */
#define HR__MAX_UUSD (INT64_C(1) << 62)

#endif
