/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_NAIVE_PREEMPTIVE_H
#define HR_TESTS_ORACLE_NAIVE_PREEMPTIVE_H

/* The preemptive orders of the queue policy in their plain form (one pool, backfill `skip`, restarts without cost), as
   simply as possible: at each instant with an event all jobs are sorted, and each that fits in what is left runs.
   Shares no code with the product; if the two differ, one of them is wrong. */

#include <stdbool.h>
#include <stdint.h>

enum naive_preemptive_order { NAIVE_SRTF, NAIVE_LAS, NAIVE_INDEX, NAIVE_PREEMPTIVE_ORDERS }; /* INDEX: gittins */
enum { NAIVE_THRESHOLDS = 2 };

/* Jobs sorted by submit; times in any whole unit, but microseconds for INDEX; thresholds in GPUs x that unit, rising.
 */
struct naive_preemptive_input {
  uint32_t n_jobs, capacity; /* capacity: GPUs */
  const int64_t *submit, *work;
  const uint32_t *gpus;
  enum naive_preemptive_order order;
  bool preempts; /* else what runs stays, and goes before what waits */
  int64_t thresholds[NAIVE_THRESHOLDS];
};

/* -1 and no start: rejected. */
struct naive_fate {
  int64_t start, end; /* of the first attempt; of the last */
  uint32_t starts, preemptions;
};

/* Runs to the end; the caller frees what comes back, a fate for each job. Aborts when out of memory. */
struct naive_fate *naive_preemptive_run(const struct naive_preemptive_input *input);

#endif
