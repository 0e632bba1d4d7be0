/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_QUANTILES_H
#define HR_REPORT_METRICS_QUANTILES_H

/* Distributions: exact quantiles by selection, and a sketch of bounded size and error. */

#include "base/text.h"
#include "headroom/report.h"

#include <string.h>

/* Reorders `keys` so that keys[ranks[i]] is the value it has in sorted order, and copies it to out[i]. Ranks are
   ascending. */
void hr__select_ranks(int64_t *keys, size_t count, const size_t *ranks, size_t n_ranks, int64_t *out);

/* Returns a key that is ordered like the slowdown: non-negative doubles have the order of their bits. */
static inline int64_t hr__slowdown_key(double slowdown) {
  int64_t key;
  memcpy(&key, &slowdown, sizeof key);
  return key;
}

/* Returns the distribution, in seconds, of `count` durations with the given sum. Quantiles are interpolated between
   order statistics. Reorders `us`. */
struct hr_distribution hr__distribution_of_us(int64_t *us, size_t count, hr__wide sum_us);
/* Returns the distribution of slowdowns, given as keys from hr__slowdown_key(). Reorders them. */
struct hr_distribution hr__distribution_of_slowdowns(int64_t *keys, size_t count, double sum);

/*
 * A sketch of any number of durations in fixed memory. A duration is counted in a bucket with a width of at most 1/128
 * of its lower bound: 128 buckets per power of two, and one per microsecond below 128 us. The middle of a bucket, and
 * hence a quantile, is off by at most 1/256 of the duration; count, mean, minimum and maximum are exact, and quantiles
 * stay between the last two. The buckets are those of HdrHistogram (Tene), in integers only; the relative error
 * guarantee is as in Masson, Rim and Lee, "DDSketch", VLDB 2019.
 */

enum {
  HR__SKETCH_STEPS = 128,      /* buckets per power of two */
  HR__SKETCH_ERROR_PART = 256, /* a quantile is off by at most 1/256 of its value */
  HR__SKETCH_BUCKETS = HR__SKETCH_STEPS * 57
};

struct hr__sketch {
  uint64_t count;
  int64_t min, max; /* 0 in an empty sketch */
  hr__wide sum;
  uint64_t in[HR__SKETCH_BUCKETS];
};

/* Adds a duration; `us` >= 0. A zero-initialized sketch is empty. */
void hr__sketch_add(struct hr__sketch *sketch, int64_t us);
/* Returns the distribution in seconds, with quantiles defined as in hr__distribution_of_us(). */
struct hr_distribution hr__sketch_distribution(const struct hr__sketch *sketch);

#endif
