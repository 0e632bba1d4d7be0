/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_USAGE_H
#define HR_REPORT_USAGE_H

/* What the usage fold has gathered; read by the summary. */

#include "headroom/report.h"
#include "report/wide.h"

/* Integrals from time zero to `until_us`. */
struct hr__integrals {
  int64_t until_us;
  hr__wide waiting;         /* jobs x microseconds */
  hr__wide allocated_milli; /* milli-GPUs x microseconds */
  hr__wide total_milli;     /* likewise, of GPUs that were there */
};

struct hr_usage {
  int64_t last_submit_us;
  uint64_t waiting, allocated_milli, total_milli; /* what holds since now.until_us */
  uint64_t max_waiting;
  struct hr__integrals now; /* to the last instant */
  struct hr__integrals at_last_submit, at_last_end;
  bool submits_over, ended; /* at_last_submit is known; a job ended at the instant under way */
};

#endif
