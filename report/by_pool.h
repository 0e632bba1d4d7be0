/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_BY_POOL_H
#define HR_REPORT_BY_POOL_H

/* Pool by pool: GPUs that were allocated and GPUs that were there, over time; and where each job ran last. */

#include "headroom/policy.h"
#include "report/wide.h"

/* From time zero on, thousandths of GPUs x microseconds. */
struct hr__pool_time {
  hr__wide allocated_milli, total_milli;
};

/* For one run, whose cluster it asks until the run ends. */
struct hr__by_pool;
/* NULL when out of memory. */
struct hr__by_pool *hr__by_pool_create(const struct hr_cluster *cluster, uint32_t n_jobs);
void hr__by_pool_destroy(struct hr__by_pool *by_pool);
/* Takes an event down; from the first on. */
void hr__by_pool_note(struct hr__by_pool *by_pool, const struct hr_trace *trace, const struct hr_event *event);
/* Up to the last end of a job or any time that is not before the last event. */
struct hr__pool_time hr__by_pool_until(const struct hr__by_pool *by_pool, hr_pool pool, int64_t until_us);
/* The number of the pool where a job ran last, HR_NONE if it never ran. */
uint32_t hr__by_pool_of(const struct hr__by_pool *by_pool, hr_job job);

#endif
