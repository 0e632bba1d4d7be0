/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_UNITS_H
#define HR_WORKLOAD_UNITS_H

/* Time in the units that people count it in, and how many of it. */

#include "headroom/base.h"
#include "sim/plural.h"

#define HR__MINUTE_US (60 * HR_SECOND_US)
#define HR__HOUR_US (3600 * HR_SECOND_US)
#define HR__DAY_US (24 * HR__HOUR_US)

static inline double hr__seconds(int64_t us) {
  return (double)us / (double)HR_SECOND_US;
}

#endif
