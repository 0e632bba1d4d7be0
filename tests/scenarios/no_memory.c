/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated allocation failures: the scenario loader and the list of scenarios run out of memory after different
   numbers of allocations, including those of cJSON. Each failure must return HR_NO_MEMORY, and nothing may leak. */

#include "harness.h"

#include "headroom/scenario.h"
#include "scarce_memory.h"

#include <cjson/cJSON.h>
#include <string.h>
#include <unistd.h>

static const char *scenario_path;

static enum hr_status load(void) {
  static const char *const overrides[] = {"policy.order=sjf", "trace.columns.gpus=n", "seed=18446744073709551615"};
  struct hr_scenario *scenario;
  struct hr_error error;
  enum hr_status status = hr_scenario_load(scenario_path, overrides, 3, &scenario, &error);
  hr_scenario_destroy(scenario);
  return status;
}

/* Creates and opens a temporary file. `path` is a template that ends in XXXXXX; it is replaced by the path of the
   file. */
static FILE *open_new(char *path) {
  int descriptor = mkstemp(path);
  CU_ASSERT_TRUE_FATAL(descriptor >= 0);
  FILE *file = fdopen(descriptor, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  return file;
}

#define POOL(name, gpu, market) "{\"name\":\"" name "\",\"gpu\":\"" gpu "\",\"nodes\":2,\"gpus_per_node\":4" market "}"
#define OWNED ",\"market\":\"owned\",\"owned\":{\"capex_usd_per_node\":1,\"lifetime_years\":1,\"usd_per_kwh\":0.1}"
#define ON_DEMAND ",\"market\":\"on-demand\",\"usd_per_gpu_hour\":1,\"boot\":{\"distribution\":\"fixed\",\"mean_s\":1}"
#define SPOT(members)                                                                                                  \
  ",\"market\":\"spot\",\"provider\":\"aws\",\"region\":\"r\",\"zone\":\"z\",\"instance\":\"i\","                      \
  "\"usd_per_gpu_hour\":2,\"on_demand_usd_per_gpu_hour\":3,\"spot\":{" members "}"
#define WALK "\"price\":{\"model\":\"ou\",\"volatility\":1,\"reversion_h\":1}"

static void write_scenario(FILE *file, const char *levels, const char *speeds) {
  fputs(
      "{\"trace\":{\"file\":\"t.csv\",\"columns\":{\"submit\":\"s\"}},\"horizon_s\":9999,"
      "\"policy\":{\"name\":\"queue\",\"backfill\":\"easy\"},"
      "\"classes\":{\"training\":{\"checkpoint\":{\"policy\":\"young-daly\"}}},"
      "\"costs\":{\"storage\":{\"datasets\":[{\"tenant\":\"a\",\"gb\":1}]},\"budgets\":[{\"tenant\":\"a\","
      "\"usd_per_month\":1}],\"savings_plans\":[{\"usd_per_hour\":1,\"discount\":0.1,\"gpus\":[\"A10G\"]}]},"
      "\"quotas\":{\"cohorts\":[{\"name\":\"c\",\"guaranteed_gpus\":9999}],\"tenants\":[{\"tenant\":\"a\",\"cohort\":"
      "\"c\"}]},"
      "\"scaling\":[{\"model\":\"m\",\"gpus\":2,\"speed\":1.5},{\"gpus\":1,\"speed\":1}],"
      "\"network_speeds\":[{\"network\":\"pcie\",\"speed\":1}],\"cluster\":{\"pools\":[" POOL(
          "a", "T4",
          ",\"topology\":{\"network\":{\"pool\":\"pcie\"}}") "," POOL("b", "L4",
                                                                      OWNED) "," POOL("c", "A10G",
                                                                                      ON_DEMAND) "," POOL("d", "T4",
                                                                                                          SPOT(
                                                                                                              "\"model"
                                                                                                              "\":"
                                                                                                              "\"expone"
                                                                                                              "ntial\","
                                                                                                              "\"rate_"
                                                                                                              "per_h\":"
                                                                                                              "1"
                                                                                                              "," WALK)),
      file);
  fprintf(file, "," POOL("e", "T4", SPOT("\"model\":\"trace\",\"file\":\"%s\"")) "]},", levels);
  fprintf(file, "\"models\":{\"reference\":\"L4\",\"file\":\"%s\",\"speeds\":{\"a\":{\"T4\":1}}}}", speeds);
}

static void loading(void) {
  char path[] = "/tmp/headroom-no-memory-XXXXXX", levels_path[] = "/tmp/headroom-no-memory-XXXXXX";
  char speeds_path[] = "/tmp/headroom-no-memory-XXXXXX";
  FILE *levels = open_new(levels_path);
  fputs("{\"metadata\":{\"gap_seconds\":600},\"data\":[1,0]}", levels);
  fclose(levels);
  FILE *speeds = open_new(speeds_path);
  fputs("model,gpu,speed\nb,T4,2\n", speeds);
  fclose(speeds);
  FILE *file = open_new(path);
  write_scenario(file, levels_path, speeds_path);
  fclose(file);
  cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
  scenario_path = path;
  CU_ASSERT(starve(load) > 5);
  cJSON_InitHooks(NULL);
  remove(path);
  remove(levels_path);
  remove(speeds_path);
}

static enum hr_status list_scenarios(void) {
  struct hr_scenario_entry *entries;
  size_t count;
  struct hr_error error;
  enum hr_status status = hr_scenario_list(&entries, &count, &error);
  hr_scenario_list_free(entries, count);
  return status;
}

static void listing(void) {
  CU_ASSERT_EQUAL_FATAL(setenv("HEADROOM_DATA", PROJECT_DIR, 1), 0);
  CU_ASSERT(starve(list_scenarios) > 5);
}

TEST_MAIN("scenarios_no_memory", TEST(loading), TEST(listing))
