/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_COSTS_APPORTION_H
#define HR_REPORT_COSTS_APPORTION_H

/* Rounding and splitting of integer amounts without losing units. */

#include "headroom/market.h"

/* Returns part / whole rounded to the nearest integer, halves up; whole > 0. */
static inline hr_amount hr__divided(hr_amount part, hr_amount whole) {
  hr_amount twice = 2 * part + whole, quotient = twice / (2 * whole);
  return twice % (2 * whole) < 0 ? quotient - 1 : quotient;
}

/* Converts each of `amounts` (none negative) to whole `unit`s, rounded down or up so that the parts sum to the rounded
   sum. The amounts with the largest remainders are rounded up; on a tie, the first ones. Returns HR_BAD_INPUT if the
   sum is not below HR__MAX_UUSD units, HR_NO_MEMORY if out of memory. */
enum hr_status hr__apportion(const hr_amount *amounts, size_t count, hr_amount unit, int64_t *parts);

/* Splits an amount (not negative) in proportion to weights (none negative) without losing a unit. If all weights are 0,
   the first part takes everything. */
void hr__spread(hr_amount amount, const hr_amount *weights, size_t count, hr_amount *parts);

/* Upper bound of sums of money, about 4.6 trillion dollars, in micro-dollars. */
#define HR__MAX_UUSD (INT64_C(1) << 62)

#endif
