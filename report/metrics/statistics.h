/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_STATISTICS_H
#define HR_REPORT_METRICS_STATISTICS_H

/* Statistics of a run: time series in bounded memory, and distributions of values of jobs. */

#include "base/text.h"
#include "headroom/base.h"
#include "headroom/report.h"
#include "headroom/sim.h"

#include <stdlib.h>
#include <string.h>

/* ---- Time series --------------------------------------------------------------------------------------- */

/*
 * Time series of a run in bounded memory.
 *
 * A value that changes in steps is recorded in a bounded number of buckets of equal width. The integral over each
 * bucket is exact. The minimum and maximum of a bucket include values that lasted for no time because they were
 * overwritten at the same instant. The length of the run need not be known in advance: if time advances beyond the
 * capacity, buckets are merged in pairs and the width doubles. The width depends only on the last time and the
 * capacity. Series with equal capacity that are closed at the same time therefore have equal buckets.
 */

struct hr__bucket {
  hr__wide sum;      /* value x microseconds */
  uint64_t min, max; /* over all values, also those that lasted for no time */
};

struct hr__buckets {
  struct hr__bucket *bucket; /* [n]; capacity: `room` */
  uint32_t n, room;
  int64_t width_us; /* a power of 2; bucket i begins at i x width_us */
  int64_t until_us; /* time up to which buckets are filled; after hr__buckets_close(): the end */
  uint64_t value;   /* value since `until_us`; 0 before the first call of hr__buckets_set() */
};

/* Initializes a series with at most `room` buckets, `room` >= 2. The first width is 1 us, so at least half of the
   buckets are used, except in runs shorter than `room` microseconds. Returns HR_NO_MEMORY if out of memory; call
   hr__buckets_finish() even on failure. */
enum hr_status hr__buckets_init(struct hr__buckets *buckets, uint32_t room);
static inline void hr__buckets_finish(struct hr__buckets *buckets) {
  free(buckets->bucket);
  *buckets = (struct hr__buckets){0};
}
/* Sets the value that the series has from `at_us` on. Times are >= 0 and must not decrease from call to call. */
void hr__buckets_set(struct hr__buckets *buckets, int64_t at_us, uint64_t value);
/* Ends the series at `end_us`. Do not call hr__buckets_set() afterwards. */
void hr__buckets_close(struct hr__buckets *buckets, int64_t end_us);
/* Returns the duration of bucket `i` in microseconds. The last bucket of a closed series may be shorter than the width.
   It has duration 0 only if it is the only bucket. */
static inline int64_t hr__buckets_span_us(const struct hr__buckets *buckets, uint32_t i) {
  int64_t left_us = buckets->until_us - i * buckets->width_us;
  return left_us < buckets->width_us ? left_us : buckets->width_us;
}

/* Allocated GPUs, present GPUs and waiting jobs over time, for the charts of the summary. */

struct hr_timeline_summary {
  struct hr__buckets allocated_milli, total_milli, waiting;
};

/* ---- Distributions ------------------------------------------------------------------------------------- */

/* Distributions of values of jobs: exact quantiles of arrays, and sketches of bounded size and error for runs that
   do not store values per job. */

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
