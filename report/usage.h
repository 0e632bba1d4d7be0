/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_USAGE_H
#define HR_REPORT_USAGE_H

/* What the usage fold has gathered; read by the summary. */

#include "headroom/report.h"
#include "report/by_pool.h"
#include "report/fragments.h"
#include "report/wide.h"

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
  uint64_t least_gang;               /* likewise; not known where there was no pass */
};

#endif
