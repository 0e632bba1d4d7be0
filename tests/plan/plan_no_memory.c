/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory failures: a plan, replications and their output run out of memory after different numbers of allocations. Each
   time an error must be returned, and nothing may leak. Most allocations of a plan load its scenario, once per
   candidate; loading has its own test. */

#include "harness.h"
#include "planned.h"
#include "scarce_memory.h"

#include <cjson/cJSON.h>

static const char text[] =
    "{\"cluster\":{\"pools\":["
    "{\"name\":\"o\",\"gpu\":\"A\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"on-demand\",\"usd_per_gpu_hour\":2},"
    "{\"name\":\"s\",\"gpu\":\"B\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"spot\",\"usd_per_gpu_hour\":1,"
    "\"on_demand_usd_per_gpu_hour\":2,\"spot\":{\"model\":\"exponential\",\"rate_per_h\":1}}]},"
    "\"policy\":{\"name\":\"queue\",\"market\":\"spot-first\"},"
    "\"plan\":{\"variables\":[{\"pool\":\"o\",\"values\":[1,2]},{\"pool\":\"s\",\"values\":[0,1]}],"
    "\"constraints\":[\"wait_s.p95 <= 1 h\"],\"baseline\":{\"s\":1},\"max_replications\":2},"
    "\"replications\":{\"metric\":\"wait_s.mean\",\"relative\":0.9,\"min\":2,\"max\":3}}";

static struct hr_scenario *scenario;
static struct hr_trace *trace;
static struct hr_plan *plan;
static struct hr_replicates *replicates;

static enum hr_status make_plan(void) {
  struct hr_plan_config config = {.scenario = scenario, .trace = trace, .no_sensitivity = true, .n_threads = 1};
  struct hr_plan *made;
  struct hr_error error;
  enum hr_status status = hr_plan(&config, &made, &error);
  if (status != HR_OK) return status;
  hr_plan_destroy(plan);
  plan = made;
  return HR_OK;
}

static enum hr_status write_plan(void) {
  struct hr_error error;
  return hr_plan_write_json("/dev/null", plan, NULL, &error);
}

static enum hr_status make_replicates(void) {
  struct hr_replicate_config config = {
      .scenario = scenario, .trace = trace, .spec = &scenario->replications, .n_threads = 1};
  struct hr_replicates *made;
  struct hr_error error;
  enum hr_status status = hr_replicate(&config, &made, &error);
  if (status != HR_OK) return status;
  hr_replicates_destroy(replicates);
  replicates = made;
  return HR_OK;
}

static enum hr_status write_replicates(void) {
  struct hr_error error;
  return hr_replicates_write_json("/dev/null", replicates, NULL, &error);
}

static enum hr_status to_nowhere(enum hr_status (*print)(FILE *out)) {
  FILE *out = fopen("/dev/null", "w");
  if (!out) return HR_IO_ERROR;
  enum hr_status status = print(out);
  fclose(out);
  return status;
}

static enum hr_status plan_table(FILE *out) {
  return hr_plan_print(out, plan, NULL, true);
}

static enum hr_status replicates_table(FILE *out) {
  return hr_replicates_print(out, replicates, NULL, true);
}

static enum hr_status print_plan(void) {
  return to_nowhere(plan_table);
}

static enum hr_status print_replicates(void) {
  return to_nowhere(replicates_table);
}

/* Like starve(), but after the first 50 the number of successful allocations grows by 23 from call to call. */
static long starve_some(enum hr_status (*attempt)(void)) {
  enum { ALL = 50, STEP = 23, MAX = 100000 };
  for (long allowed = 0; allowed < MAX; allowed += allowed < ALL ? 1 : STEP) {
    memory_ends_after(allowed, true);
    enum hr_status status = attempt();
    if (!memory_is_ample()) {
      CU_ASSERT_EQUAL(status, HR_OK);
      return allowed;
    }
    CU_ASSERT_EQUAL(status, HR_NO_MEMORY);
  }
  CU_FAIL("it never had enough memory");
  return MAX;
}

static void plans_and_replications(void) {
  scenario = planned_scenario(text);
  trace = planned_queue(1, 6, 1, 1000);
  cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
  CU_ASSERT(starve_some(make_plan) > 1000);
  CU_ASSERT(starve(write_plan) > 100);
  CU_ASSERT(starve_some(make_replicates) > 40);
  CU_ASSERT(starve(write_replicates) > 100);
  cJSON_InitHooks(NULL);
  CU_ASSERT(starve(print_plan) >= 0);
  CU_ASSERT(starve(print_replicates) >= 0);
  hr_plan_destroy(plan);
  hr_replicates_destroy(replicates);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

TEST_MAIN("plan: plans without memory", TEST(plans_and_replications))
