/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Notes on jobs that use the default speed, and on runs that were stopped. */

#include "harness.h"
#include "headroom/report.h"

#include <string.h>

static void notes_on_jobs_with_default_speed(void) {
  static const char *const models[] = {"known", "a", "b", "c", "d", "e", "f"};
  static const uint32_t model[] = {0, 1, 1, 2, 3, 4, 5, 6, HR_NONE};
  char known[] = "known";
  struct hr_speed_row rows[] = {{known, 1}, {known, 4}};
  const struct hr_speeds speeds = {.rows = rows, .n_rows = 2};
  struct hr_trace trace = {.n_jobs = 9, .model = model, .models = {7, models}};
  struct hr_notes notes = {0};
  CU_ASSERT_EQUAL(hr_speed_notes(&trace, &speeds, &notes, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(notes.count, 2);
  CU_ASSERT_PTR_NOT_NULL(strstr(notes.text[0], "models: 7 jobs"));
  CU_ASSERT_PTR_NOT_NULL(strstr(notes.text[0], ": a, b, c, d, e, ..."));
  CU_ASSERT_PTR_NOT_NULL(strstr(notes.text[1], "models: 1 job "));
  hr_notes_finish(&notes);
}

static void no_notes_if_all_speeds_are_known(void) {
  static const char *const models[] = {"known"};
  static const uint32_t model[] = {0, 0};
  char known[] = "known";
  struct hr_speed_row rows[] = {{known, 1}};
  const struct hr_speeds speeds = {.rows = rows, .n_rows = 1};
  struct hr_trace trace = {.n_jobs = 2, .model = model, .models = {1, models}};
  struct hr_notes notes = {0};
  CU_ASSERT_EQUAL(hr_speed_notes(&trace, &speeds, &notes, NULL), HR_OK);
  trace.model = NULL;
  CU_ASSERT_EQUAL(hr_speed_notes(&trace, NULL, &notes, NULL), HR_OK);
  CU_ASSERT_EQUAL(notes.count, 0);
  hr_notes_finish(&notes);
}

/* A policy of a plug-in may start a gang that runs out of memory at every start. */
static void notes_on_stalled_runs(void) {
  uint8_t state[] = {HR_JOB_RUNNING, HR_JOB_RUNNING, HR_JOB_WAITING};
  struct hr_job_accounting accounts[4] = {{0}, {.oom_kills = 5}, {0}, {.oom_kills = 1}};
  uint32_t account[] = {1, 2, 3};
  struct hr_trace trace = {.n_jobs = 3};
  struct hr_cost_spec costs = {0};
  struct hr_result result = {.trace = &trace,
                             .n_jobs = 3,
                             .state = state,
                             .accounts = accounts,
                             .account = account,
                             .n_waiting = 1,
                             .n_running = 2,
                             .end_us = INT64_C(365) * 86400 * HR_SECOND_US,
                             .stalled = true};
  struct hr_notes notes = {0};
  CU_ASSERT_EQUAL(hr_run_notes(&trace, &costs, NULL, &result, &notes, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(notes.count, 2);
  CU_ASSERT_PTR_NOT_NULL(strstr(notes.text[0], "was stopped after 365 days with 3 unfinished jobs"));
  CU_ASSERT_PTR_NOT_NULL(strstr(notes.text[1], "1 job ran out of GPU memory"));
  hr_notes_finish(&notes);
  accounts[2].attempts = 7001;
  accounts[1].attempts = 3000;
  accounts[1].oom_kills = 0;
  result.n_futile = 12345;
  CU_ASSERT_EQUAL(hr_run_notes(&trace, &costs, NULL, &result, &notes, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(notes.count, 1);
  CU_ASSERT_PTR_NOT_NULL(
      strstr(notes.text[0], "jobs only preempted each other, and the run was stopped: 12345 preempt"));
  CU_ASSERT_PTR_NOT_NULL(strstr(notes.text[0], "for example of job '2', which was started 7001 times"));
  hr_notes_finish(&notes);
}

TEST_MAIN("report_speed_notes", TEST(notes_on_jobs_with_default_speed), TEST(no_notes_if_all_speeds_are_known),
          TEST(notes_on_stalled_runs))
