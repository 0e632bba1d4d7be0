/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_BUCKETS_H
#define HR_REPORT_BUCKETS_H

/*
 * A count that holds until it changes, over the time of a run, in so many buckets of equal width: what it comes to in
 * each is exact, and no peak is lost, however short. How long the run will be need not be known: when it passes the
 * last bucket, buckets are joined by twos. Widths depend on the last time alone, so those of several counts that are
 * closed at the same time, and have room for as many buckets, agree.
 */

#include "headroom/base.h"
#include "report/wide.h"

struct hr__bucket {
  hr__wide sum;         /* of the count x microseconds */
  uint64_t least, most; /* of all that it was, even for no time */
};

struct hr__buckets {
  struct hr__bucket *bucket; /* [n]; room for `room` */
  uint32_t n, room;
  int64_t width_us; /* a power of 2; bucket i begins at i x width_us */
  int64_t until_us; /* up to where the buckets are filled: the end, once closed */
  uint64_t value;   /* what holds from then on; 0 until it is set */
};

/* Room for at least 2 buckets; more than half of it is used by a run of at least as many microseconds. HR_NO_MEMORY on
   failure; may be finished then, too. */
enum hr_status hr__buckets_init(struct hr__buckets *buckets, uint32_t room);
void hr__buckets_finish(struct hr__buckets *buckets);
/* The count is `value` from `at_us` on, which is at least 0 and never before that of the last call. */
void hr__buckets_set(struct hr__buckets *buckets, int64_t at_us, uint64_t value);
/* Nothing is set any more: the count holds up to `end_us`. */
void hr__buckets_close(struct hr__buckets *buckets, int64_t end_us);
/* The time that a bucket covers; of a closed series the last one may cover less than its width, and one alone none. */
int64_t hr__buckets_span_us(const struct hr__buckets *buckets, uint32_t i);

#endif
