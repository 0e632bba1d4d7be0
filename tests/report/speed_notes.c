/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Notes on jobs that use the default speed. */

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

TEST_MAIN("report_speed_notes", TEST(notes_on_jobs_with_default_speed), TEST(no_notes_if_all_speeds_are_known))
