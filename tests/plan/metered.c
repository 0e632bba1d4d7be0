/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "metered.h"
#include "harness.h"
#include "output_files.h"

#include <stdio.h>

void metered_start(struct metered *run, const char *timeline_path, const struct hr_timeline_columns *columns) {
  struct hr_error error = {0};
  struct hr_timeline *timeline = NULL;
  *run = (struct metered){0};
  if (hr_scenario_load(files_path("s.json"), NULL, 0, &run->scenario, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run->scenario);
  const struct hr_trace_options options = {.format = "csv"};
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(files_path("jobs.csv"), &options, &run->trace, &error), HR_OK);
  const struct hr_replay_config config = {.scenario = run->scenario, .trace = run->trace, .seed = 1, .check = true};
  CU_ASSERT_EQUAL_FATAL(hr_replay_init(&run->replay, &config, &error), HR_OK);
  if (timeline_path) {
    CU_ASSERT_EQUAL_FATAL(hr_timeline_create_with(timeline_path, run->trace, NULL, columns, &timeline, &error), HR_OK);
    CU_ASSERT_EQUAL_FATAL(hr_replay_add(&run->replay, hr_timeline_observer(timeline), &error), HR_OK);
  }
  if (hr_replay_run(&run->replay, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run->replay.summary);
  if (timeline) CU_ASSERT_EQUAL(hr_timeline_finish(timeline, &error), HR_OK);
  hr_timeline_destroy(timeline);
}

void metered_finish(struct metered *run) {
  hr_replay_finish(&run->replay);
  hr_trace_destroy(run->trace);
  hr_scenario_destroy(run->scenario);
}
