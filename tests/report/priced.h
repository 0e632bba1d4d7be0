/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_PRICED_H
#define HR_TESTS_REPORT_PRICED_H

/*
 * A run of two hours made by hand, in which everything has a price.
 *
 *   pool    nodes x GPUs  market     $ per GPU hour (on demand)
 *   base    1 x 4 A100    reserved   2 (4)
 *   burst   2 x 4 A100    on-demand  4 (4)
 *   spot    1 x 8 H100    spot       1 (3)
 *
 *   job  tenant  class      GPUs  where and when
 *   0    a       training   4     base, 0:00-1:00
 *   1    b       inference  4     burst, 0:30-1:30, its deadline at 1:00; the node is there 0:00-1:30
 *   2    -       -          8     spot, 0:00-1:00, when the node is reclaimed, and 1:00-2:00: of its two hours 1:00
 *                                 was of use, 0:30 lost, 0:15 to save and 0:15 to restart
 */

#include "headroom/report.h"

enum { PRICED_JOBS = 3, PRICED_POOLS = 3 };

#define PRICED_HOUR_US (INT64_C(3600) * HR_SECOND_US)

struct priced {
  int64_t submit_us[PRICED_JOBS], work_us[PRICED_JOBS], start_us[PRICED_JOBS], deadline_us[PRICED_JOBS];
  int64_t attempt_us[PRICED_JOBS];
  uint32_t gpus[PRICED_JOBS], tenant[PRICED_JOBS];
  uint8_t class_[PRICED_JOBS], state[PRICED_JOBS], reason[PRICED_JOBS];
  struct hr_job_accounting accounting[PRICED_JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pool[PRICED_POOLS];
  struct hr_pool_accounting pool_accounting[PRICED_POOLS];
  struct hr_cluster_spec cluster;
  struct hr_result result;
  struct hr_ledger *ledger; /* of the last summary */
};

/* Allocated on the heap, since members point to each other. Free it with priced_destroy(). */
struct priced *priced_create(void);
void priced_destroy(struct priced *run);

/* Notifies the observers and computes the summary; `spec` and `classes` may be NULL. Returns NULL on failure. */
struct hr_summary *priced_summary(struct priced *run, const struct hr_cost_spec *spec,
                                  const struct hr_class_spec *classes);
/* Likewise, for failures. */
enum hr_status priced_summarize(struct priced *run, const struct hr_cost_spec *spec,
                                const struct hr_class_spec *classes, struct hr_summary **summary);

#endif
