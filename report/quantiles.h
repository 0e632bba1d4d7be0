/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_QUANTILES_H
#define HR_REPORT_QUANTILES_H

/* Exact quantiles without sorting. */

#include "headroom/report.h"
#include "report/wide.h"

/* Moves `keys` (none negative) about so that out[i] is what keys[ranks[i]] would be if they were sorted. Ranks ascend.
   At most HR__MAX_RANKS of them. */
enum { HR__MAX_RANKS = 16 };
void hr__select_ranks(int64_t *keys, size_t count, const size_t *ranks, size_t n_ranks, int64_t *out);

/* A slowdown (at least 1) as a key: keys are ordered as slowdowns are, 1 is 0. */
int64_t hr__slowdown_key(double slowdown);

/* The distribution in seconds of `count` durations of which the sum is known. Reorders `us`. */
struct hr_distribution hr__distribution_of_us(int64_t *us, size_t count, hr__wide sum_us);
/* The distribution of slowdowns given as keys. Reorders them. */
struct hr_distribution hr__distribution_of_slowdowns(int64_t *keys, size_t count, double sum);

#endif
