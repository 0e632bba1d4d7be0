/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forecasts of real traces. If a trace continues as before, its forecast must be better than the seasonal naive
   forecast. */

#include "harness.h"
#include "headroom/headroom.h"
#include "headroom/unstable/planning.h"

#define HELIOS REAL_TRACES_DIR "/helios-venus/helios_trace.csv.gz"
#define PHILLY REAL_TRACES_DIR "/philly/philly.csv.gz"

static struct hr_forecast_score forecast(const char *path, const char *columns, uint32_t n_series) {
  struct hr_error error = {0};
  struct hr_column_map map = {0};
  struct hr_trace *trace = NULL;
  struct hr_forecast *made = NULL;
  if (columns) CU_ASSERT_EQUAL_FATAL(hr_column_map_parse(&map, columns, &error), HR_OK);
  struct hr_trace_options options = {.map = &map};
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(path, &options, &trace, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_forecast_make(trace, NULL, &made, &error), HR_OK);
  uint32_t count;
  hr_forecast_series(made, &count);
  CU_ASSERT_EQUAL(count, n_series);
  struct hr_forecast_score score = hr_forecast_item(made, count).score;
  printf("\n  WAPE %.1f %%, naive %.1f %%, bias %.1f %%, MASE %.2f, naive %.2f, inside %.0f %%", 100 * score.wape,
         100 * score.naive_wape, 100 * score.bias, score.mase, score.naive_mase, 100 * score.coverage);
  hr_forecast_destroy(made);
  hr_trace_destroy(trace);
  hr_column_map_finish(&map);
  return score;
}

static void forecast_of_helios_venus(void) {
  if (real_trace_missing(HELIOS)) return;
  struct hr_forecast_score score =
      forecast(HELIOS, "submit=arrival_s,duration=service_sec,gpus=gpu_count,job_id=job_id", 1);
  CU_ASSERT(score.wape < 0.10 && score.naive_wape > 0.13);
  CU_ASSERT(score.coverage >= 0.9);
}

/* The last weeks of the Philly trace have hardly any work. No forecast can predict that, and the score must show it. */
static void forecast_of_philly(void) {
  if (real_trace_missing(PHILLY)) return;
  struct hr_forecast_score score = forecast(PHILLY, NULL, 11);
  CU_ASSERT(score.wape > 1 && score.wape < score.naive_wape);
}

TEST_MAIN("plan: forecasts of real traces", TEST(forecast_of_helios_venus), TEST(forecast_of_philly))
