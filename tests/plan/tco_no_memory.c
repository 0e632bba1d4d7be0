/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory failures: the computation of the cost of ownership and its output run out of memory after different numbers of
   allocations. Each time an error must be returned, and nothing may leak. */

#include "harness.h"
#include "headroom/headroom.h"
#include "headroom/unstable/planning.h"
#include "output_files.h"
#include "scarce_memory.h"

#include <cjson/cJSON.h>

static struct hr_scenario *scenario;
static struct hr_trace *trace;
static struct hr_tco *made;

static enum hr_status compute(void) {
  const struct hr_tco_config config = {.scenario = scenario, .trace = trace, .n_replications = 2, .n_threads = 1};
  struct hr_tco *tco;
  struct hr_error error;
  enum hr_status status = hr_tco(&config, &tco, &error);
  if (status != HR_OK) return status;
  hr_tco_destroy(made);
  made = tco;
  return HR_OK;
}

static enum hr_status write_json(void) {
  struct hr_error error;
  return hr_tco_write_json("/dev/null", made, &error);
}

static enum hr_status print_table(void) {
  FILE *out = fopen("/dev/null", "w");
  if (!out) return HR_IO_ERROR;
  enum hr_status status = hr_tco_print(out, made, true);
  fclose(out);
  return status;
}

static const char json[] =
    "{\"name\":\"t\",\"cluster\":{\"pools\":[{\"name\":\"own\",\"gpu\":\"V100\",\"nodes\":2,\"gpus_per_node\":1,"
    "\"market\":\"owned\",\"faults\":{\"mtbf_h\":50,\"repair_s\":600},\"owned\":{\"capex_usd_per_node\":1000,"
    "\"lifetime_years\":3,\"power_kw_per_node\":1,\"capital\":[{\"name\":\"network\",\"usd_per_gpu\":10}]}},"
    "{\"name\":\"od\",\"gpu\":\"V100\",\"nodes\":2,\"gpus_per_node\":1,\"market\":\"on-demand\","
    "\"usd_per_gpu_hour\":3}]},\"policy\":{\"name\":\"queue\",\"market\":\"on-demand-only\"},"
    "\"tco\":{\"options\":[{\"name\":\"own\",\"pools\":[\"own\"]},{\"name\":\"both\",\"pools\":[\"own\",\"od\"]},"
    "{\"name\":\"od\",\"pools\":[\"od\"]}]}}";

static const char jobs[] = "job_id,submit_s,gpus,duration_s\n1,0,1,3000\n2,10,1,3000\n3,20,1,3000\n";

static void write_file(const char *name, const char *text) {
  FILE *file = fopen(files_path(name), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  fclose(file);
}

/* Like starve(), but the number of successful allocations grows by 7 from call to call. Most allocations load the
   scenario; loading has its own test. */
static long starve_by_sevens(enum hr_status (*attempt)(void)) {
  for (long allowed = 0;; allowed += 7) {
    memory_ends_after(allowed, true);
    enum hr_status status = attempt();
    if (!memory_is_ample()) {
      CU_ASSERT_EQUAL(status, HR_OK);
      return allowed;
    }
    CU_ASSERT_EQUAL_FATAL(status, HR_NO_MEMORY);
  }
}

static void every_step(void) {
  write_file("s.json", json);
  write_file("jobs.csv", jobs);
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(files_path("s.json"), NULL, 0, &scenario, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(files_path("jobs.csv"), NULL, &trace, NULL), HR_OK);
  cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
  CU_ASSERT(starve_by_sevens(compute) > 100);
  CU_ASSERT(starve(write_json) > 50);
  cJSON_InitHooks(NULL);
  CU_ASSERT(starve(print_table) > 3);
  hr_tco_destroy(made);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

TEST_MAIN("cost of ownership: no memory", TEST(every_step))
