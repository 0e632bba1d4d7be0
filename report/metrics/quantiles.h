/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_QUANTILES_H
#define HR_REPORT_METRICS_QUANTILES_H

/* Distributions: exact quantiles by selection, and a sketch of bounded size and error. */

#include "base/text.h"
#include "headroom/report.h"

#include <string.h>

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
  HR__SKETCH_STEP_BITS = 7,
  HR__SKETCH_STEPS = 1 << HR__SKETCH_STEP_BITS, /* buckets per power of two */
  HR__SKETCH_ERROR_PART = 256,                  /* a quantile is off by at most 1/256 of its value */
  HR__SKETCH_BUCKETS = HR__SKETCH_STEPS * 57
};

struct hr__sketch {
  uint64_t count;
  int64_t min, max; /* 0 in an empty sketch */
  hr__wide sum;
  uint64_t in[HR__SKETCH_BUCKETS];
};

static inline uint32_t hr__sketch_bucket(uint64_t us) {
  if (us < HR__SKETCH_STEPS) return (uint32_t)us;
  uint32_t shift = 63u - (uint32_t)__builtin_clzll(us) - HR__SKETCH_STEP_BITS;
  return (shift + 1) * HR__SKETCH_STEPS + (uint32_t)(us >> shift) - HR__SKETCH_STEPS;
}
/* Adds a duration; `us` >= 0. A zero-initialized sketch is empty. Inline because every job of a streamed run adds
   three. */
static inline void hr__sketch_add(struct hr__sketch *sketch, int64_t us) {
  if (us < sketch->min || !sketch->count) sketch->min = us;
  sketch->count++;
  sketch->sum += (uint64_t)us;
  if (us > sketch->max) sketch->max = us;
  sketch->in[hr__sketch_bucket((uint64_t)us)]++;
}
/* Returns the distribution in seconds, with quantiles defined as in hr__distribution_of_us(). */
struct hr_distribution hr__sketch_distribution(const struct hr__sketch *sketch);

#endif
