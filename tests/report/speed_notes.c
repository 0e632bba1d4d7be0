/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs that go by the default speeds are told, in words. */

#include "harness.h"
#include "headroom/report.h"

#include <string.h>

static void who_goes_by_the_default_is_told(void) {
  static const char *const models[] = {"known", "a", "b", "c", "d", "e", "f"};
  static const uint32_t model[] = {0, 1, 1, 2, 3, 4, 5, 6, HR_NONE};
  char known[] = "known";
  struct hr_speed_row rows[] = {{known, 1}, {known, 4}};
  const struct hr_speeds speeds = {.rows = rows, .n_rows = 2};
  struct hr_trace trace = {.n_jobs = 9, .model = model, .models = {7, models}};
  struct hr_notes notes = {0};
  CU_ASSERT_EQUAL(hr_speed_notes(&trace, &speeds, &notes, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(notes.count, 2);
  CU_ASSERT_STRING_EQUAL(notes.text[0],
                         "models: 7 jobs go by the default for want of speeds of their models: a, b, c, d, e, ...");
  CU_ASSERT_STRING_EQUAL(notes.text[1], "models: 1 job goes by the default for want of a model");
  hr_notes_finish(&notes);
}

static void nothing_is_told_where_there_is_nothing_to_tell(void) {
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

TEST_MAIN("report_speed_notes", TEST(who_goes_by_the_default_is_told),
          TEST(nothing_is_told_where_there_is_nothing_to_tell))
