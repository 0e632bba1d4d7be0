/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "demand.h"

#include "base/random.h"

#include <CUnit/CUnit.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

enum { HOURS = 168 };

struct demand_maker demand_begin(void) {
  struct demand_maker maker = {.builder = hr_trace_builder_create("made", "memory")};
  CU_ASSERT_PTR_NOT_NULL_FATAL(maker.builder);
  return maker;
}

void demand_job(struct demand_maker *maker, double submit_s, double work_s, uint32_t gpus, const char *tenant,
                enum hr_job_class class_) {
  struct hr_job_record record;
  hr_job_record_init(&record);
  record.submit_us = llround(submit_s * 1e6);
  record.work_us = llround(work_s * 1e6);
  record.gpus = gpus;
  record.tenant = (struct hr_text){tenant, strlen(tenant)};
  record.class_ = (uint8_t)class_;
  CU_ASSERT_EQUAL_FATAL(hr_trace_builder_add(maker->builder, &record, 1, NULL), HR_OK);
}

void demand_week(struct demand_maker *maker, uint32_t week, double gpu_hours, const double *shape, const char *tenant,
                 enum hr_job_class class_) {
  for (uint32_t hour = 0; hour < HOURS; hour++) {
    double part = (shape ? shape[hour] : 1) / HOURS;
    demand_job(maker, 3600.0 * (week * HOURS + hour), 3600 * gpu_hours * part, 1, tenant, class_);
  }
}

struct hr_trace *demand_end(struct demand_maker *maker) {
  struct hr_trace *trace = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_trace_builder_finish(maker->builder, maker->dated, false, &trace, NULL), HR_OK);
  hr_trace_builder_destroy(maker->builder);
  return trace;
}

void demand_draw(uint32_t number, double drift, double sigma, double hold, uint32_t n_weeks, double *week) {
  struct hr__stream stream;
  hr__stream_init(&stream, 99, HR__PURPOSE_SAMPLE, number, 0);
  gsl_rng rng = hr__stream_rng(&stream);
  double error = gsl_ran_gaussian(&rng, sigma), fresh = sqrt(1 - hold * hold);
  for (uint32_t i = 0; i < n_weeks; i++) {
    week[i] = exp(drift * i + error - sigma * sigma / 2);
    error = hold * error + fresh * gsl_ran_gaussian(&rng, sigma);
  }
}
