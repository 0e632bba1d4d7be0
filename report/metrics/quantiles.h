/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_QUANTILES_H
#define HR_REPORT_METRICS_QUANTILES_H

/* Distributions of values of jobs: exact quantiles of arrays, and sketches of bounded size and error for runs that do
   not store values per job. */

#include "base/text.h"
#include "headroom/report.h"

#include <string.h>

/* Returns an integer key of a slowdown. Keys have the order of their slowdowns, because the bits of non-negative
   doubles, read as integers, have the order of the doubles. */
static inline int64_t hr__slowdown_key(double slowdown) {
  int64_t key;
  memcpy(&key, &slowdown, sizeof key);
  return key;
}

/* Returns the distribution in seconds of `count` durations in microseconds with the given sum. Quantiles are
   interpolated linearly between order statistics. Reorders `us`. */
struct hr_distribution hr__distribution_of_us(int64_t *us, size_t count, hr__wide sum_us);
/* Returns the distribution of `count` slowdowns with the given sum. The slowdowns are given as keys of
   hr__slowdown_key(). Reorders `keys`. */
struct hr_distribution hr__distribution_of_slowdowns(int64_t *keys, size_t count, double sum);

/*
 * A sketch summarizes any number of durations in fixed memory. It counts the durations in buckets: one bucket per
 * microsecond below 128 us, and 128 buckets per power of two above. Above 128 us, the width of a bucket is therefore at
 * most 1/128 of its lower bound. A quantile is computed from the middles of buckets, so its relative error is at most
 * 1/256. Count, mean, minimum and maximum are exact, and quantiles are limited to the range from minimum to maximum.
 * The buckets are those of HdrHistogram (Tene). The guarantee of the relative error is as in Masson, Rim and Lee,
 * "DDSketch", VLDB 2019.
 */

enum {
  HR__SKETCH_STEP_BITS = 7,
  HR__SKETCH_STEPS = 1 << HR__SKETCH_STEP_BITS, /* buckets per power of two */
  HR__SKETCH_ERROR_PART = 256,                  /* the error of a quantile is at most 1/256 of its value */
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
/* Adds a duration; `us` >= 0. A zero-initialized sketch is empty. The function is inline because each job of a streamed
   run calls it three times. */
static inline void hr__sketch_add(struct hr__sketch *sketch, int64_t us) {
  if (us < sketch->min || !sketch->count) sketch->min = us;
  sketch->count++;
  sketch->sum += (uint64_t)us;
  if (us > sketch->max) sketch->max = us;
  sketch->in[hr__sketch_bucket((uint64_t)us)]++;
}
/* Returns the distribution in seconds. Quantiles are interpolated as in hr__distribution_of_us(). */
struct hr_distribution hr__sketch_distribution(const struct hr__sketch *sketch);

#endif
