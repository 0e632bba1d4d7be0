/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_PLAN_DEMAND_H
#define HR_TESTS_PLAN_DEMAND_H

/* Generated traces and series of weekly demand with known properties. */

#include "headroom/headroom.h"

/* A trace under construction. */
struct demand_maker {
  struct hr_trace_builder *builder;
  bool dated;
};
struct demand_maker demand_begin(void);
/* Adds a job: seconds, whole GPUs. */
void demand_job(struct demand_maker *maker, double submit_s, double work_s, uint32_t gpus, const char *tenant,
                enum hr_job_class class_);
/* Adds jobs of one GPU and at most one hour, one in each hour of the week, that sum to `gpu_hours` (at most 168).
 * `shape`: [168], 1 on average; may be NULL. */
void demand_week(struct demand_maker *maker, uint32_t week, double gpu_hours, const double *shape, const char *tenant,
                 enum hr_job_class class_);
struct hr_trace *demand_end(struct demand_maker *maker);

/* Weeks with a mean of 1 that grows by `drift` a week in logarithms, with AR(1) errors of standard deviation `sigma`
 * and coefficient `hold`. The same number gives the same weeks. */
void demand_draw(uint32_t number, double drift, double sigma, double hold, uint32_t n_weeks, double *week);

#endif
