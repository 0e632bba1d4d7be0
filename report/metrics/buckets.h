/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_BUCKETS_H
#define HR_REPORT_METRICS_BUCKETS_H

/*
 * Time series of a run in bounded memory.
 *
 * A step function of time in a bounded number of buckets of equal width. The integral over each bucket is
 * exact, and its minimum and maximum include peaks of no duration. The length of the run need not be known: when time
 * passes the last bucket, buckets are merged in pairs. The width depends only on the last time and the capacity, so
 * series with equal capacity that are closed at the same time have equal buckets.
 */

#include "base/text.h"
#include "headroom/base.h"
#include "headroom/report.h"
#include "headroom/sim.h"

#include <stdlib.h>

struct hr__bucket {
  hr__wide sum;      /* value x microseconds */
  uint64_t min, max; /* over all values, even those of no duration */
};

struct hr__buckets {
  struct hr__bucket *bucket; /* [n], capacity `room` */
  uint32_t n, room;
  int64_t width_us; /* a power of 2; bucket i begins at i x width_us */
  int64_t until_us; /* time up to which buckets are filled; the end, once closed */
  uint64_t value;   /* value since `until_us`; 0 until it is set */
};

/* `room` >= 2 is the capacity; more than half of it is used if the run has at least as many microseconds. Returns
   HR_NO_MEMORY on failure; call hr__buckets_finish() in any case. */
enum hr_status hr__buckets_init(struct hr__buckets *buckets, uint32_t room);
static inline void hr__buckets_finish(struct hr__buckets *buckets) {
  free(buckets->bucket);
  *buckets = (struct hr__buckets){0};
}
/* Sets the value from `at_us` on; times are >= 0 and do not decrease. */
void hr__buckets_set(struct hr__buckets *buckets, int64_t at_us, uint64_t value);
/* Ends the series at `end_us`; no calls of hr__buckets_set() may follow. */
void hr__buckets_close(struct hr__buckets *buckets, int64_t end_us);
/* Returns the time that bucket `i` covers. The last bucket of a closed series may cover less than the width; a single
   bucket may cover none. */
static inline int64_t hr__buckets_span_us(const struct hr__buckets *buckets, uint32_t i) {
  int64_t left_us = buckets->until_us - i * buckets->width_us;
  return left_us < buckets->width_us ? left_us : buckets->width_us;
}

/* Allocated GPUs, total GPUs and waiting jobs over time, for the charts of the summary. */

struct hr_timeline_summary {
  struct hr__buckets allocated_milli, total_milli, waiting;
};

/* Returns the maximum number of GPUs present, rounded up. */
static inline uint64_t hr__timeline_summary_gpus(const struct hr_timeline_summary *timeline) {
  uint64_t max_milli = 0;
  for (uint32_t i = 0; i < timeline->total_milli.n; i++)
    if (timeline->total_milli.bucket[i].max > max_milli) max_milli = timeline->total_milli.bucket[i].max;
  return (max_milli + 999) / 1000;
}

#endif
