/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated allocation failures: fitting, writing, reading and drawing a model run out of memory after 0, 1, 2, ...
   allocations. */
#include "harness.h"

#include "headroom/trace_files.h"
#include "headroom/unstable/scenario_files.h"
#include "scarce_memory.h"
#include "trace_files.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static struct hr_trace *trace;
static char model_path[200], jobs_path[200];
static double load;

static enum hr_status fit_and_write(void) {
  struct hr_error error = {0};
  struct hr_workload_model *model = NULL;
  enum hr_status status = hr_workload_model_fit(trace, &model, &error);
  CU_ASSERT_EQUAL(status == HR_OK, model != NULL);
  if (status == HR_OK) status = hr_workload_model_set_people(model, 3, 2, &error);
  if (status == HR_OK) status = hr_workload_model_write(model, model_path, &error);
  hr_workload_model_destroy(model);
  return status;
}

static enum hr_status read_and_draw(void) {
  struct hr_error error = {0};
  struct hr_workload_model *model = NULL;
  struct hr_workload_model_spec spec;
  hr_workload_model_spec_init(&spec);
  spec.load = load;
  enum hr_status status = hr_workload_model_load(model_path, &model, &error);
  CU_ASSERT_EQUAL(status == HR_OK, model != NULL);
  if (status == HR_OK) status = hr_workload_model_generate(model, &spec, jobs_path, NULL, &error);
  hr_workload_model_destroy(model);
  return status;
}

static enum hr_status read_shipped(void) {
  struct hr_error error = {0};
  struct hr_workload_model *model = NULL;
  enum hr_status status = hr_workload_model_shipped("philly", &model, &error);
  hr_workload_model_destroy(model);
  return status;
}

/* Draws 100 jobs by resampling the days of the trace. */
static enum hr_status resample(void) {
  struct hr_workload_spec spec;
  struct hr_trace *drawn = NULL;
  struct hr_error error = {0};
  hr_workload_spec_init(&spec);
  spec.blocks = HR_BLOCKS_DAYS;
  enum hr_status status = hr_trace_redraw_count(trace, &spec, 1, 100, &drawn, &error);
  CU_ASSERT_EQUAL(status == HR_OK, drawn != NULL);
  if (status == HR_OK) CU_ASSERT_EQUAL(drawn->n_jobs, 100);
  hr_trace_destroy(drawn);
  return status;
}

static void resampling_without_memory_is_reported(void) {
  trace = trace_of("submit_s,duration_s,gpus\n0,10,1\n90000,20,1\n200000,30,1\n260000,10,1\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(starve(resample) > 5);
  hr_trace_destroy(trace);
}

static void models_without_memory_are_reported(void) {
  cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = scarce_malloc, .free_fn = free});
  snprintf(model_path, sizeof model_path, "%s", file_path("model.json"));
  snprintf(jobs_path, sizeof jobs_path, "%s", file_path("jobs.csv"));
  trace = trace_of("submit_s,duration_s,gpus,user,tenant,limit_s,gpu_type,status\n"
                   "0,10,1,a,x,20,T4,failed\n1,20,1,a,x,30,T4,completed\n2,10,8,b,y,40,L4,completed\n",
                   NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(starve(fit_and_write) > 20);
  CU_ASSERT(starve(read_and_draw) > 20);
  load = 0.5;
  CU_ASSERT(starve(read_and_draw) > 20);
  snprintf(jobs_path, sizeof jobs_path, "%s", file_path("jobs.hrt"));
  CU_ASSERT(starve(read_and_draw) > 20);
  CU_ASSERT(starve(read_shipped) > 20);
  hr_trace_destroy(trace);
}

TEST_MAIN("workload models, without memory", TEST(models_without_memory_are_reported),
          TEST(resampling_without_memory_is_reported))
