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
/* Adds a job. Times are in seconds, `gpus` is a whole number. */
void demand_job(struct demand_maker *maker, double submit_s, double work_s, uint32_t gpus, const char *tenant,
                enum hr_job_class class_);
/* Adds one job of one GPU and at most one hour in each hour of a week. The jobs sum to `gpu_hours`, at most 168.
   `shape`, [168], is the demand by hour, 1 on average; NULL: flat. */
void demand_week(struct demand_maker *maker, uint32_t week, double gpu_hours, const double *shape, const char *tenant,
                 enum hr_job_class class_);
struct hr_trace *demand_end(struct demand_maker *maker);

/* Draws weekly demand with a mean of 1. Its logarithm grows by `drift` a week. The errors are AR(1) with standard
   deviation `sigma` and coefficient `hold`. Equal values of `number` give equal weeks. */
void demand_draw(uint32_t number, double drift, double sigma, double hold, uint32_t n_weeks, double *week);

#endif
