/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_PRICED_H
#define HR_TESTS_REPORT_PRICED_H

/*
 * A run of two hours with fixed starts and ends, in which all pools have prices.
 *
 *   pool    nodes x GPUs  market     $ per GPU hour (on demand)
 *   base    1 x 4 A100    reserved   2 (4)
 *   burst   2 x 4 A100    on-demand  4 (4)
 *   spot    1 x 8 H100    spot       1 (3)
 *
 *   job  tenant  class      GPUs  pool and time
 *   0    a       training   4     base, 0:00-1:00
 *   1    b       inference  4     burst, 0:30-1:30; its deadline is 1:00; the node is acquired from 0:00 to 1:30
 *   2    -       -          8     spot, 0:00-1:00, when the node is reclaimed, and 1:00-2:00
 *
 * The two hours of job 2 are 1:00 of useful work, 0:30 of lost work, 0:15 of saving checkpoints, and 0:15 of restarts.
 */

#include "headroom/report.h"

enum { PRICED_JOBS = 3, PRICED_POOLS = 3 };

#define PRICED_HOUR_US (INT64_C(3600) * HR_SECOND_US)

struct priced {
  int64_t submit_us[PRICED_JOBS], work_us[PRICED_JOBS], start_us[PRICED_JOBS], deadline_us[PRICED_JOBS];
  int64_t attempt_us[PRICED_JOBS];
  uint32_t gpus[PRICED_JOBS], tenant[PRICED_JOBS];
  uint8_t class_[PRICED_JOBS], state[PRICED_JOBS], reason[PRICED_JOBS];
  struct hr_job_accounting accounting[PRICED_JOBS + 1];
  uint32_t account[PRICED_JOBS];
  int64_t ended_us[PRICED_JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pool[PRICED_POOLS];
  struct hr_pool_accounting pool_accounting[PRICED_POOLS];
  struct hr_cluster_spec cluster;
  struct hr_result result;
  struct hr_ledger *ledger; /* of the latest call of priced_summary() */
};

/* Creates the run. Members point to each other, so it must not be copied. Free it with priced_destroy(). */
struct priced *priced_create(void);
void priced_destroy(struct priced *run);

/* Notifies the observers of the events and returns the summary; NULL on failure. `spec` and `classes` may be NULL. */
struct hr_summary *priced_summary(struct priced *run, const struct hr_cost_spec *spec,
                                  const struct hr_class_spec *classes);
/* Notifies the observers of the events and computes the summary; returns the error of hr_summarize() on failure. */
enum hr_status priced_summarize(struct priced *run, const struct hr_cost_spec *spec,
                                const struct hr_class_spec *classes, struct hr_summary **summary);

#endif
