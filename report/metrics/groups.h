/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_GROUPS_H
#define HR_REPORT_METRICS_GROUPS_H

/* The figures of jobs taken together by tenant, by class, by size, or all at once. */

#include "base/text.h"
#include "headroom/report.h"

/* What is counted and summed over a group's jobs. */
struct hr__totals {
  uint64_t jobs, started, completed, outcome_failed, outcome_cancelled, deadlines, missed_deadlines;
  hr__wide wait_us, jct_us;
  hr_amount held_milli_us, useful_milli_us;
  double slowdown;
};

enum hr__grouping { HR__BY_TENANT, HR__BY_CLASS, HR__BY_SIZE };

/* Room for every job's wait, completion time and slowdown; the same room serves one grouping after the other. */
struct hr__samples {
  int64_t *wait_us, *jct_us, *slowdown_key;
};
enum hr_status hr__samples_init(struct hr__samples *samples, const struct hr_result *result);
void hr__samples_finish(struct hr__samples *samples);

/* All groups that have a job. Afterwards the samples hold each group's values one group after the other, and may be
   selected from as a whole. HR_NO_MEMORY is the only failure. */
struct hr__job_groups {
  struct hr_group *group;
  size_t count;
  struct hr__totals all; /* over every group */
};
enum hr_status hr__groups_make(const struct hr_result *result, enum hr__grouping grouping, struct hr__samples *samples,
                               struct hr__job_groups *groups);
void hr__groups_free(struct hr_group *group, size_t count);

#endif
