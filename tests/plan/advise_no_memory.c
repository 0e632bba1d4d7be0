/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory failures: advice and its output run out of memory after different numbers of allocations. Each time an error
   must be returned, and nothing may leak. */

#include "harness.h"
#include "headroom/headroom.h"
#include "headroom/unstable/planning.h"
#include "output_files.h"
#include "scarce_memory.h"

#include <cjson/cJSON.h>

static struct hr_scenario *scenario;
static struct hr_trace *trace;
static struct hr_advice *made;

static enum hr_status compute_advice(void) {
  struct hr_advise_config config = {.scenario = scenario, .trace = trace, .n_replications = 2, .n_threads = 1};
  struct hr_advice *advice;
  struct hr_error error;
  enum hr_status status = hr_advise(&config, &advice, &error);
  if (status != HR_OK) return status;
  hr_advice_destroy(made);
  made = advice;
  return HR_OK;
}

static enum hr_status write_json(void) {
  struct hr_error error;
  return hr_advice_write_json("/dev/null", made, NULL, &error);
}

static enum hr_status print_table(void) {
  FILE *out = fopen("/dev/null", "w");
  if (!out) return HR_IO_ERROR;
  enum hr_status status = hr_advice_print(out, made, NULL, true);
  fclose(out);
  return status;
}

static const char json[] =
    "{\"name\":\"t\",\"cluster\":{\"pools\":[{\"name\":\"r\",\"gpu\":\"V100\",\"nodes\":2,\"gpus_per_node\":1,\"gpu_"
    "mem_gb\":16,"
    "\"market\":\"reserved\",\"usd_per_gpu_hour\":1,\"on_demand_usd_per_gpu_hour\":3,\"classes\":[\"inference\"]},"
    "{\"name\":\"s\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":1,\"gpu_mem_gb\":16,\"market\":\"spot\",\"usd_per_"
    "gpu_hour\":1,"
    "\"spot\":{\"model\":\"exponential\",\"rate_per_h\":1,\"notice_s\":0}},"
    "{\"name\":\"o\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":1,\"gpu_mem_gb\":16,\"market\":\"on-demand\",\"usd_"
    "per_gpu_hour\":3}]},"
    "\"policy\":{\"name\":\"queue\",\"market\":\"spot-first\"}}";

static const char jobs[] = "job_id,submit_s,gpus,duration_s,tenant,class,gpu_mem_gb\n"
                           "1,0,1,3000,a,training,4\n2,10,1,3000,b,training,4\n3,20,1,3000,b,inference,4\n";

static void write_file(const char *name, const char *text) {
  FILE *file = fopen(files_path(name), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  fclose(file);
}

/* Like starve(), but the number of successful allocations grows by 7 from call to call, because there are thousands of
   allocations. Most of them are made while the catalogue is loaded; catalog_no_memory.c tests this. */
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

static void all_kinds_of_advice(void) {
  write_file("s.json", json);
  write_file("jobs.csv", jobs);
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(files_path("s.json"), NULL, 0, &scenario, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(files_path("jobs.csv"), NULL, &trace, NULL), HR_OK);
  cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
  CU_ASSERT(starve_by_sevens(compute_advice) > 1000);
  CU_ASSERT_TRUE(hr_advice_item(made, 1, &(struct hr_advice_item){0}));
  CU_ASSERT(starve(write_json) > 50);
  cJSON_InitHooks(NULL);
  CU_ASSERT(starve(print_table) > 5);
  hr_advice_destroy(made);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

TEST_MAIN("advise: no memory", TEST(all_kinds_of_advice))
