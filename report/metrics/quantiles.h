/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_QUANTILES_H
#define HR_REPORT_METRICS_QUANTILES_H

/* Exact quantiles without sorting. */

#include "base/text.h"
#include "headroom/report.h"

/* Reorders `keys` so that keys[ranks[i]], which out[i] becomes, is as if they were sorted. Ranks ascend. */
void hr__select_ranks(int64_t *keys, size_t count, const size_t *ranks, size_t n_ranks, int64_t *out);

/* A slowdown as a key: keys are ordered as slowdowns are. */
int64_t hr__slowdown_key(double slowdown);

/* The distribution in seconds of `count` durations of which the sum is known. Reorders `us`. */
struct hr_distribution hr__distribution_of_us(int64_t *us, size_t count, hr__wide sum_us);
/* The distribution of slowdowns given as keys. Reorders them. */
struct hr_distribution hr__distribution_of_slowdowns(int64_t *keys, size_t count, double sum);

/*
 * The distribution of any number of durations in a fixed amount of memory. A duration is counted in a bucket that is at
 * most 1/128 of its beginning wide: 128 of them to a power of two, below 128 us one to a microsecond. The middle of a
 * bucket is thus off by 1/256 of the duration at most, and so is a quantile; counts, mean, minimum and maximum are
 * exact, and no quantile lies beyond these. Sketches add up: merged in any order they are the sketch of everything. The
 * buckets are those of Tene's HdrHistogram, whole numbers alone; the use of a relative error is as in Masson, Rim and
 * Lee, "DDSketch", VLDB 2019.
 */

enum {
  HR__SKETCH_STEPS = 128,      /* buckets to a power of two */
  HR__SKETCH_ERROR_PART = 256, /* a quantile is off by at most one of so many parts of itself */
  HR__SKETCH_BUCKETS = HR__SKETCH_STEPS * 57
};

struct hr__sketch {
  uint64_t count;
  int64_t min, max; /* 0 while nothing is counted */
  hr__wide sum;
  uint64_t in[HR__SKETCH_BUCKETS];
};

/* `us` is not negative. All zero is the empty sketch. */
void hr__sketch_add(struct hr__sketch *sketch, int64_t us);
void hr__sketch_merge(struct hr__sketch *sketch, const struct hr__sketch *other);
/* In seconds; quantiles as hr__distribution_of_us defines them. */
struct hr_distribution hr__sketch_distribution(const struct hr__sketch *sketch);

#endif
