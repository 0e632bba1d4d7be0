/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated allocation failures: the statistics of a trace and their output run out of memory after 0, 1, 2, ...
   allocations. Each failure must be reported, and nothing may leak. */

#include "harness.h"
#include "headroom/headroom.h"
#include "headroom/unstable/exports.h"
#include "output_files.h"
#include "scarce_memory.h"

#include <cjson/cJSON.h>

static struct hr_trace *trace;
static struct hr_trace_stats *made;

static enum hr_status make(void) {
  struct hr_trace_stats *fresh;
  struct hr_error error;
  enum hr_status status = hr_trace_stats_make(trace, &fresh, &error);
  if (status != HR_OK) return status;
  hr_trace_stats_destroy(made);
  made = fresh;
  return HR_OK;
}

static enum hr_status write_json(void) {
  struct hr_error error;
  return hr_trace_stats_write_json(files_path("stats.json"), made, &error);
}

static enum hr_status write_table(void) {
  struct hr_error error;
  return hr_trace_stats_write(files_path("stats.txt"), made, 0, &error);
}

static enum hr_status as_text(void) {
  char *text = hr_trace_stats_json(made, 0);
  free(text);
  return text ? HR_OK : HR_NO_MEMORY;
}

static void every_allocation_fails_once(void) {
  FILE *file = fopen(files_path("t.csv"), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs("submit_s,duration_s,gpus,user,tenant,class,status,limit_s,gpu_type\n", file);
  for (int i = 0; i < 120; i++)
    fprintf(file, "%d,%d,%d,u%d,t%d,training,failed,%d,T4\n", i * 1000, 1 + i * i, 1 << i % 4, i % 5, i % 3, 20000);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(files_path("t.csv"), NULL, &trace, NULL), HR_OK);
  cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
  CU_ASSERT(starve(make) > 10);
  CU_ASSERT(starve(write_json) > 10);
  CU_ASSERT(starve(as_text) > 10);
  CU_ASSERT(starve(write_table) > 2);
  cJSON_InitHooks(NULL);
  hr_trace_stats_destroy(made);
  hr_trace_destroy(trace);
}

TEST_MAIN("workload: statistics without memory", TEST(every_allocation_fails_once))
