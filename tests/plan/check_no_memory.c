/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory failures: a check, the reading of its files and the writing of its files run out of memory after 0, 1, 2, ...
   allocations. Each time an error must be returned, nothing may leak, and no file may be left. */

#include "harness.h"
#include "headroom/unstable/compare.h"
#include "output_files.h"
#include "scarce_memory.h"

#include <cjson/cJSON.h>

#define SUITE(more)                                                                                                    \
  "{\"runs\":[{\"name\":\"a\",\"scenario\":\"s.json\",\"policies\":[\"queue:order=sjf\"]" more "}],"                   \
  "\"tolerances\":{\"wait_s.p95\":{\"relative\":0.1}}}"

static struct hr_suite *suite;
static struct hr_baseline *baseline;
static struct hr_check *made;

static void put_file(const char *name, const char *text) {
  FILE *file = fopen(files_path(name), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

static enum hr_status load_suite(void) {
  struct hr_suite *fresh;
  struct hr_error error;
  enum hr_status status = hr_suite_load(files_path("suite.json"), &fresh, &error);
  if (status != HR_OK) return status;
  hr_suite_destroy(suite);
  suite = fresh;
  return HR_OK;
}

static enum hr_status of_scenario(void) {
  struct hr_suite *fresh;
  struct hr_error error;
  const char *const overrides[] = {"seed=3"};
  enum hr_status status = hr_suite_of_scenario("s.json", "t.csv", overrides, 1, &fresh, &error);
  if (status == HR_OK) status = hr_suite_add_tolerance(fresh, "wait_s.mean=3%", &error);
  if (fresh) hr_suite_destroy(fresh);
  return status;
}

static enum hr_status load_baseline(void) {
  struct hr_baseline *fresh;
  struct hr_error error;
  enum hr_status status = hr_baseline_load(files_path("base.json"), &fresh, &error);
  if (status != HR_OK) return status;
  hr_baseline_destroy(baseline);
  baseline = fresh;
  return HR_OK;
}

static enum hr_status check(void) {
  struct hr_check *fresh;
  struct hr_error error;
  const struct hr_check_config config = {
      .suite = suite, .baseline = baseline, .baseline_path = "base.json", .n_threads = 1};
  enum hr_status status = hr_check(&config, &fresh, &error);
  if (status != HR_OK) return status;
  hr_check_destroy(made);
  made = fresh;
  return HR_OK;
}

static enum hr_status write_baseline(void) {
  struct hr_error error;
  return hr_check_write_baseline("/dev/null", made, &error);
}

static enum hr_status write_json(void) {
  struct hr_error error;
  return hr_check_write_json("/dev/null", made, &error);
}

static enum hr_status write_junit(void) {
  struct hr_error error;
  return hr_check_write_junit("/dev/null", made, &error);
}

static enum hr_status write_markdown(void) {
  struct hr_error error;
  return hr_check_write_markdown("/dev/null", made, &error);
}

static enum hr_status print(void) {
  FILE *out = fopen("/dev/null", "w");
  if (!out) return HR_IO_ERROR;
  enum hr_status status = hr_check_print(out, made, true);
  if (status == HR_OK) status = hr_check_annotate(out, made);
  fclose(out);
  return status;
}

static void put_inputs(void) {
  put_file("s.json",
           "{\"name\":\"t\",\"trace\":{\"file\":\"jobs.csv\"},\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":"
           "\"V100\",\"nodes\":3,\"gpus_per_node\":1,\"market\":\"owned\",\"usd_per_gpu_hour\":1}]},\"policy\":"
           "{\"name\":\"queue\"}}");
  put_file("jobs.csv", "job_id,submit_s,duration_s,gpus,tenant\n1,0,100,1,a\n2,1,90,2,b\n3,2,10,1,a\n4,3,20,1,b\n");
}

static void check_with_failing_allocations(void) {
  put_inputs();
  put_file("suite.json", SUITE(""));
  cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
  CU_ASSERT(starve(load_suite) > 10);
  CU_ASSERT(starve(of_scenario) > 5);
  CU_ASSERT_EQUAL_FATAL(check(), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_check_write_baseline(files_path("base.json"), made, NULL), HR_OK);
  CU_ASSERT(starve(load_baseline) > 50);
  put_file("suite.json", SUITE(",\"set\":{\"cluster.pools.0.nodes\":2,\"seed\":4}"));
  CU_ASSERT_EQUAL_FATAL(load_suite(), HR_OK);
  CU_ASSERT(starve(check) > 150);
  CU_ASSERT_FALSE(hr_check_passed(made));
  CU_ASSERT(starve(write_json) > 50);
  cJSON_InitHooks(NULL);
  CU_ASSERT(starve(write_baseline) > 2);
  CU_ASSERT(starve(write_junit) > 2);
  CU_ASSERT(starve(write_markdown) > 2);
  CU_ASSERT(starve(print) > 2);
  hr_check_destroy(made);
  hr_baseline_destroy(baseline);
  hr_suite_destroy(suite);
}

TEST_MAIN("plan: checks without memory", TEST(check_with_failing_allocations))
