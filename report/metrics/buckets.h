/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_BUCKETS_H
#define HR_REPORT_METRICS_BUCKETS_H

/*
 * A count that holds until it changes, over the time of a run, in so many buckets of equal width: what it comes to in
 * each is exact, and no peak is lost, however short. How long the run will be need not be known: when it passes the
 * last bucket, buckets are joined by twos. Widths depend on the last time alone, so those of several counts that are
 * closed at the same time, and have room for as many buckets, agree.
 */

#include "base/text.h"
#include "headroom/base.h"
#include "headroom/report.h"
#include "headroom/sim.h"

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

/* What the course fold has gathered; drawn by the table. */

struct hr_timeline_summary {
  struct hr__buckets allocated_milli, total_milli, waiting;
};

/* The most GPUs that were there at once, as whole ones. */
uint64_t hr__timeline_summary_gpus(const struct hr_timeline_summary *course);

/* Sums of weights x microseconds in equal steps of the time of a run, exact, whatever order the stretches come in. */

struct hr__steps {
  int64_t step_us, end_us;
  uint32_t n;        /* steps; the last one may be cut by the end */
  hr_amount *part;   /* [n + 1]: of stretches that cover a step in part */
  hr_amount *change; /* [n + 1]: of the weight of those that cover whole steps, against the step before */
};

/* HR_NO_MEMORY on failure; may be finished then, too. */
enum hr_status hr__steps_init(struct hr__steps *steps, int64_t step_us, int64_t end_us);
void hr__steps_finish(struct hr__steps *steps);
void hr__steps_clear(struct hr__steps *steps);
/* A weight from one time to another, cut to the run's. */
void hr__steps_add(struct hr__steps *steps, int64_t from_us, int64_t to_us, int64_t weight);
/* Turns `part` into the sums; nothing is added any more until it is cleared. */
void hr__steps_close(struct hr__steps *steps);

#endif
