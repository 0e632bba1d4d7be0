/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_UNITS_H
#define HR_WORKLOAD_UNITS_H

/* Time in the units that people count it in. */

#include "headroom/base.h"

#define HR__MINUTE_US (60 * HR_SECOND_US)
#define HR__HOUR_US (3600 * HR_SECOND_US)
#define HR__DAY_US (24 * HR__HOUR_US)

static inline double hr__seconds(int64_t us) {
  return (double)us / (double)HR_SECOND_US;
}

/* "s" unless there is one. */
static inline const char *hr__plural(uint64_t count) {
  return count == 1 ? "" : "s";
}

#endif
