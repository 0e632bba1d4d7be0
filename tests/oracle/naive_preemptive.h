/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_NAIVE_PREEMPTIVE_H
#define HR_TESTS_ORACLE_NAIVE_PREEMPTIVE_H

/*
 * A second implementation of the preemptive orders of the queue policy (srtf, las, gittins), specified in
 * docs/reference/rules.md. It supports one pool in counted allocation, backfill `skip`, and restarts without overhead.
 * At each instant with an event it sorts all waiting and running jobs. Then it visits the jobs in this order, and each
 * job that fits into the remaining GPUs runs. The service of a job is the time for which it has run, times its GPUs.
 * Thresholds of service divide the jobs into queues (las) or levels (gittins). This implementation shares no code with
 * Headroom. If the two differ, one of them has an error.
 */

#include <stdbool.h>
#include <stdint.h>

enum naive_preemptive_order { NAIVE_SRTF, NAIVE_LAS, NAIVE_PREEMPTIVE_GITTINS, NAIVE_PREEMPTIVE_ORDERS };
enum { NAIVE_THRESHOLDS = 2 };

/* Jobs are identified by index and sorted by submit. Times are in any whole unit, except that
   NAIVE_PREEMPTIVE_GITTINS requires microseconds. */
struct naive_preemptive_input {
  uint32_t n_jobs, capacity; /* capacity: GPUs of the pool */
  const int64_t *submit, *work;
  const uint32_t *gpus;
  enum naive_preemptive_order order;
  bool preempts; /* false: running jobs precede waiting jobs and are never stopped */
  /* for las: the service (GPUs x time) at which the second and the third queue begin, in increasing order */
  int64_t thresholds[NAIVE_THRESHOLDS];
};

/* What happened to one job. A rejected job has start and end -1 and no starts. */
struct naive_outcome {
  int64_t start, end; /* start of the first attempt, and end of the last attempt */
  uint32_t starts, preemptions;
};

/* Runs until all jobs have ended. Returns one element per job, to be freed by the caller. Aborts if out of memory. */
struct naive_outcome *naive_preemptive_run(const struct naive_preemptive_input *input);

#endif
