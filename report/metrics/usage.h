/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_USAGE_H
#define HR_REPORT_METRICS_USAGE_H

/* Pool by pool: GPUs that were allocated and GPUs that were there, over time; and where each job ran last. */

#include "base/text.h"
#include "headroom/policy.h"
#include "headroom/report.h"
#include "report/metrics/fragments.h"

/* From time zero on, thousandths of GPUs x microseconds. */
struct hr__pool_time {
  hr__wide allocated_milli, total_milli;
};

/* For one run, whose cluster it asks until the run ends. */
struct hr__by_pool;
/* Up to the last end of a job or any time that is not before the last event. */
struct hr__pool_time hr__by_pool_until(const struct hr__by_pool *by_pool, hr_pool pool, int64_t until_us);
/* The number of the pool where a job ran last, HR_NONE if it never ran. */
uint32_t hr__by_pool_of(const struct hr__by_pool *by_pool, hr_job job);

/* What the usage fold has gathered; read by the summary. */

/* Integrals from time zero to `until_us`. */
struct hr__integrals {
  int64_t until_us;
  hr__wide waiting;         /* jobs x microseconds */
  hr__wide allocated_milli; /* milli-GPUs x microseconds */
  hr__wide total_milli;     /* likewise, of GPUs that were there */
  /* Where GPUs are told apart: each of struct hr__fragment_counts x microseconds. */
  hr__wide fragment, stranded_milli, largest_gang;
};

struct hr__fragment_share {
  hr__wide fragment;
  uint64_t total_milli; /* 0: none yet */
};

struct hr_usage {
  int64_t last_submit_us;
  uint64_t waiting, allocated_milli, total_milli; /* what holds since now.until_us */
  uint64_t max_waiting;
  struct hr__integrals now; /* to the last instant */
  struct hr__integrals at_last_submit, at_last_end;
  bool submits_over, ended; /* at_last_submit is known; a job ended at the instant under way */
  /* Made at the first event: the run's cluster is not known before. */
  bool begun, out_of_memory;
  struct hr__by_pool *by_pool;       /* NULL where there is one pool */
  struct hr__fragments *fragments;   /* NULL where GPUs are not told apart */
  struct hr__fragment_counts counts; /* what holds since now.until_us */
  struct hr__fragment_share most;    /* of the GPUs that were there, after any pass */
  uint64_t min_gang;                 /* likewise; not known where there was no pass */
};

#endif
