/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "planned.h"

#include "base/random.h"
#include "output_files.h"

#include <CUnit/CUnit.h>
#include <gsl/gsl_randist.h>
#include <string.h>

static enum hr_status load(const char *text, struct hr_scenario **scenario, struct hr_error *error) {
  FILE *file = fopen(files_path("s.json"), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  fclose(file);
  *scenario = NULL;
  return hr_scenario_load(files_path("s.json"), NULL, 0, scenario, error);
}

struct hr_scenario *planned_scenario(const char *text) {
  struct hr_error error = {0};
  struct hr_scenario *scenario;
  if (load(text, &scenario, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  return scenario;
}

const char *planned_error(const char *text) {
  static struct hr_error error;
  struct hr_scenario *scenario;
  enum hr_status status = load(text, &scenario, &error);
  hr_scenario_destroy(scenario);
  return status == HR_OK ? NULL : error.text;
}

struct hr_trace *planned_queue(uint64_t seed, uint32_t jobs, double offered, double mean_s) {
  struct hr__stream arrival, run_time;
  hr__stream_init(&arrival, seed, HR__PURPOSE_ARRIVAL, 0, 0);
  hr__stream_init(&run_time, seed, HR__PURPOSE_RUN_TIME, 0, 0);
  gsl_rng arrivals = hr__stream_rng(&arrival), run_times = hr__stream_rng(&run_time);
  struct hr_trace_builder *builder = hr_trace_builder_create("queue", "memory");
  struct hr_trace *trace = NULL;
  struct hr_job_record record;
  hr_job_record_init(&record);
  record.gpus = 1;
  enum hr_status status = builder ? HR_OK : HR_NO_MEMORY;
  for (uint32_t i = 0; i < jobs && status == HR_OK; i++) {
    record.submit_us += (int64_t)(gsl_ran_exponential(&arrivals, mean_s / offered) * (double)HR_SECOND_US);
    record.work_us = 1 + (int64_t)(gsl_ran_exponential(&run_times, mean_s) * (double)HR_SECOND_US);
    status = hr_trace_builder_add(builder, &record, i + 1, NULL);
  }
  if (status == HR_OK) status = hr_trace_builder_finish(builder, false, false, &trace, NULL);
  hr_trace_builder_destroy(builder);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  return trace;
}

struct hr_plan *planned_brief(const struct hr_scenario *scenario, const struct hr_trace *trace,
                              enum hr_plan_search search) {
  struct hr_plan_config config = {
      .scenario = scenario, .trace = trace, .search = search, .no_sensitivity = true, .n_threads = 1};
  struct hr_error error = {0};
  struct hr_plan *plan = NULL;
  if (hr_plan(&config, &plan, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
  return plan;
}

double planned_erlang_b(unsigned servers, double offered) {
  double lost = 1;
  for (unsigned c = 1; c <= servers; c++) lost = offered * lost / (c + offered * lost);
  return lost;
}

double planned_erlang_c(unsigned servers, double offered) {
  double lost = planned_erlang_b(servers, offered), load = offered / servers;
  return lost / (1 - load + load * lost);
}
