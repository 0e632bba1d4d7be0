/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated allocation failures: a check and its output files run out of memory after 0, 1, 2, ... allocations. Each
   failure must be reported, and nothing may leak. */

#include "harness.h"
#include "headroom/scenario.h"
#include "headroom/unstable/exports.h"
#include "planted.h"
#include "scarce_memory.h"

#include <cjson/cJSON.h>

static struct hr_trace *trace;
static struct hr_scenario *scenario;
static struct hr_trace_check *made;

static enum hr_status make(void) {
  struct hr_trace_check_config config = {.trace = trace,
                                         .cluster = scenario ? &scenario->cluster : NULL,
                                         .cluster_name = scenario ? scenario->name : NULL,
                                         .classes = scenario ? scenario->classes : NULL,
                                         .speeds = scenario ? scenario->speeds : NULL};
  struct hr_trace_check *check;
  struct hr_error error;
  enum hr_status status = hr_trace_check_make(&config, &check, &error);
  if (status != HR_OK) return status;
  hr_trace_check_destroy(made);
  made = check;
  return HR_OK;
}

static enum hr_status write_json(void) {
  return hr_trace_check_write_json("/dev/null", made, NULL);
}

static enum hr_status write_table(void) {
  return hr_trace_check_write("/dev/null", made, true, NULL);
}

static enum hr_status parse_codes(void) {
  bool set[HR_N_FINDINGS];
  return hr_findings_parse("burst,gap", set, NULL);
}

static void every_allocation_fails_once(void) {
  struct planted planted;
  struct hr_error error;
  planted_grow(&planted, 3, 400);
  planted.jobs[3].types = "B200";
  planted.jobs[4].gpus = 100000;
  planted.jobs[0].submit_us += DAY_US;
  planted.jobs[0].start_us += DAY_US;
  trace = planted_trace(&planted);
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(PROJECT_DIR "/scenarios/demo.json", NULL, 0, &scenario, &error), HR_OK);
  cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
  CU_ASSERT(starve(make) > 40);
  CU_ASSERT(starve(write_json) > 100);
  cJSON_InitHooks(NULL);
  CU_ASSERT(starve(write_table) > 20);
  CU_ASSERT(starve(parse_codes) == 2);
  hr_trace_check_destroy(made);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
  planted_finish(&planted);
}

TEST_MAIN("workload: checks, no memory", TEST(every_allocation_fails_once))
