/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CSV file of counts over time. */

#include "harness.h"
#include "output_files.h"
#include "replayed.h"

#include <string.h>

#define HEADER "time_s,waiting,running,gpus_allocated,gpus_total,fragmented_gpus,stranded_gpus,largest_gang\n"

static struct hr_timeline *told(struct replayed *run, const char *path) {
  struct hr_timeline *timeline = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_timeline_create(path, &run->trace, NULL, false, false, &timeline, NULL), HR_OK);
  struct hr_observer observer = hr_timeline_observer(timeline);
  replayed_notify(run, &observer, 1, NULL);
  return timeline;
}

static void expect_file(struct replayed *run, const char *wanted) {
  struct hr_timeline *timeline = told(run, files_path("timeline.csv"));
  CU_ASSERT_EQUAL(hr_timeline_finish(timeline, NULL), HR_OK);
  hr_timeline_destroy(timeline);
  char *text = files_read(files_path("timeline.csv"));
  if (strcmp(text, wanted) != 0) printf("\n%s\nwanted\n%s\n", text, wanted);
  CU_ASSERT_STRING_EQUAL(text, wanted);
  free(text);
}

static void one_row_per_change(void) {
  static const struct replayed_job jobs[] = {
      {.submit_s = 0, .work_s = 20, .start_s = 0, .gpus = 4},
      {.submit_s = 5, .work_s = 90, .start_s = 10.5, .gpus = 4},
      {.submit_s = 7, .work_s = 1, .start_s = NEVER, .gpus = 99, .rejected = true}, /* changes no count */
  };
  struct replayed run;
  replayed_make(&run, jobs, 3, NEVER);
  expect_file(&run, HEADER "0,0,1,4,8,,,\n5,1,1,4,8,,,\n10.5,0,2,8,8,,,\n20,0,1,4,8,,,\n100.5,0,0,0,8,,,\n");
  run.trace.origin_us = 1000000;
  expect_file(&run, HEADER "1,0,1,4,8,,,\n6,1,1,4,8,,,\n11.5,0,2,8,8,,,\n21,0,1,4,8,,,\n101.5,0,0,0,8,,,\n");
  run.trace.dated = true;
  expect_file(&run, HEADER "0,0,1,4,8,,,\n5,1,1,4,8,,,\n10.5,0,2,8,8,,,\n20,0,1,4,8,,,\n100.5,0,0,0,8,,,\n");
}

/* A job with a run time of 0 starts and ends at 3. This instant has two passes, but one row. */
static void one_row_per_instant(void) {
  static const struct replayed_job jobs[] = {{.submit_s = 0, .work_s = 20, .start_s = 0, .gpus = 4},
                                             {.submit_s = 3, .work_s = 0, .start_s = 3, .gpus = 1},
                                             {.submit_s = 6, .work_s = 0, .start_s = 8, .gpus = 1}};
  struct replayed run;
  replayed_make(&run, jobs, 3, NEVER);
  expect_file(&run, HEADER "0,0,1,4,8,,,\n6,1,1,4,8,,,\n8,0,1,4,8,,,\n20,0,0,0,8,,,\n");
}

static void file_exists_after_finish_only(void) {
  static const struct replayed_job job = {.submit_s = 0, .work_s = 20, .start_s = 0, .gpus = 4};
  struct replayed run;
  replayed_make(&run, &job, 1, NEVER);
  char *before = files_read(files_path("timeline.csv"));
  hr_timeline_destroy(told(&run, files_path("timeline.csv")));
  CU_ASSERT_TRUE(files_only("timeline.csv"));
  char *after = files_read(files_path("timeline.csv"));
  CU_ASSERT_STRING_EQUAL(before, after);
  free(before);
  free(after);
  hr_timeline_destroy(NULL);
}

static void write_error_is_returned(void) {
  static const struct replayed_job job = {.submit_s = 0, .work_s = 20, .start_s = 0, .gpus = 4};
  struct replayed run;
  struct hr_error error = {0};
  struct hr_timeline *timeline = NULL;
  replayed_make(&run, &job, 1, NEVER);
  CU_ASSERT_NOT_EQUAL(
      hr_timeline_create(files_path("no-such-folder/t.csv"), &run.trace, NULL, false, false, &timeline, &error), HR_OK);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "no-such-folder/t.csv"));
  timeline = told(&run, "/dev/full");
  CU_ASSERT_EQUAL(hr_timeline_finish(timeline, &error), HR_IO_ERROR);
  hr_timeline_destroy(timeline);
}

TEST_MAIN("report: timeline", TEST(one_row_per_change), TEST(one_row_per_instant), TEST(file_exists_after_finish_only),
          TEST(write_error_is_returned))
