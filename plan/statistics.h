/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_STATISTICS_H
#define HR_PLAN_STATISTICS_H

#include "headroom/compare.h"

/* Figures of one policy and of the first, by replication. Not `exact`: something is random, and one replication tells
   nothing of how much. */
struct hr_estimate hr__estimate_paired(const double *first, const double *other, uint32_t count, bool exact);

/* Their mean, and half the width of its 95 % interval by Student's t; NaN of one value, which tells nothing of it. */
struct hr__mean {
  double value, margin;
};
struct hr__mean hr__mean_of(const double *values, uint32_t count);

#endif
