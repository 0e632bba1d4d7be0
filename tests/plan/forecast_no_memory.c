/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory failures: a forecast and its files run out of memory after 0, 1, 2, ... allocations. Each time an error must
   be returned, and nothing may leak. */

#include "demand.h"
#include "harness.h"
#include "headroom/unstable/planning.h"
#include "output_files.h"
#include "scarce_memory.h"

#include <cjson/cJSON.h>

static struct hr_trace *trace;
static struct hr_forecast *made;

static enum hr_status make(void) {
  struct hr_forecast *forecast;
  struct hr_forecast_config config = {.months = 1, .holdout_weeks = 1};
  struct hr_error error;
  enum hr_status status = hr_forecast_make(trace, &config, &forecast, &error);
  if (status != HR_OK) return status;
  hr_forecast_destroy(made);
  made = forecast;
  return HR_OK;
}

static enum hr_status take_factors(void) {
  double factors[2];
  return hr_forecast_factors(made, 1, false, 0, 1, factors, NULL);
}

static enum hr_status write_csv(void) {
  return hr_forecast_write_csv("/dev/null", made, NULL);
}

static enum hr_status write_json(void) {
  return hr_forecast_write_json("/dev/null", made, NULL);
}

static enum hr_status print_table(void) {
  FILE *out = fopen("/dev/null", "w");
  if (!out) return HR_IO_ERROR;
  enum hr_status status = hr_forecast_print(out, made, true);
  fclose(out);
  return status;
}

static void forecast_and_its_files(void) {
  struct demand_maker maker = demand_begin();
  for (uint32_t week = 0; week < 4; week++) {
    demand_week(&maker, week, 100, NULL, "a", HR_CLASS_TRAINING);
    demand_week(&maker, week, 50, NULL, "b", HR_CLASS_INFERENCE);
  }
  trace = demand_end(&maker);
  cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
  CU_ASSERT(starve(make) > 20);
  CU_ASSERT(starve(write_json) > 500);
  cJSON_InitHooks(NULL);
  CU_ASSERT(starve(take_factors) == 1);
  CU_ASSERT(starve(write_csv) > 1);
  CU_ASSERT(starve(print_table) > 5);
  hr_forecast_destroy(made);
  hr_trace_destroy(trace);
}

TEST_MAIN("plan: forecast, no memory", TEST(forecast_and_its_files))
