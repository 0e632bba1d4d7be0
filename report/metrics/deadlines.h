/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_DEADLINES_H
#define HR_REPORT_METRICS_DEADLINES_H

#include "headroom/sim.h"

/* Whether a job that was submitted has a deadline. */
static inline bool hr__has_deadline(const struct hr_result *result, uint32_t job) {
  return result->trace->deadline_us && result->trace->deadline_us[job] >= 0 && result->state[job] != HR_JOB_FUTURE;
}

/* Whether it was missed: the job was refused, or not at its end when the deadline came within the run. */
static inline bool hr__missed_deadline(const struct hr_result *result, uint32_t job) {
  if (!hr__has_deadline(result, job)) return false;
  if (result->state[job] == HR_JOB_REJECTED) return true;
  int64_t deadline_us = result->trace->deadline_us[job];
  return deadline_us < result->end_us && hr_result_end_us(result, (hr_job){job}) > deadline_us;
}

#endif
