/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_QUANTILES_H
#define HR_REPORT_QUANTILES_H

/* Exact quantiles without sorting. */

#include "headroom/report.h"
#include "report/wide.h"

/* Reorders `keys` so that keys[ranks[i]], which out[i] becomes, is as if they were sorted. Ranks ascend. */
void hr__select_ranks(int64_t *keys, size_t count, const size_t *ranks, size_t n_ranks, int64_t *out);

/* A slowdown as a key: keys are ordered as slowdowns are. */
int64_t hr__slowdown_key(double slowdown);

/* The distribution in seconds of `count` durations of which the sum is known. Reorders `us`. */
struct hr_distribution hr__distribution_of_us(int64_t *us, size_t count, hr__wide sum_us);
/* The distribution of slowdowns given as keys. Reorders them. */
struct hr_distribution hr__distribution_of_slowdowns(int64_t *keys, size_t count, double sum);

#endif
