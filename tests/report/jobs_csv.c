/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CSV file of jobs: order, clock, quoting, and write errors. */

#include "harness.h"
#include "output_files.h"
#include "replayed.h"

#include <string.h>
#include <unistd.h>

#define HEADER                                                                                                         \
  "job_id,submit_s,start_s,end_s,wait_s,gpus,nodes,state,reason,tenant,user,class,outcome,pool,placement,limit_s,"     \
  "duration_s\n"

static const struct replayed_job jobs[] = {
    {.submit_s = 0, .work_s = 20.5, .start_s = 0, .gpus = 3},
    {.submit_s = 5.25, .work_s = 90, .start_s = 30, .gpus = 8},
    {.submit_s = 5.25, .work_s = 1, .start_s = NEVER, .gpus = 99, .rejected = true},
};

static const struct hr_slice on_node_1[] = {{{1}, 3000, 0}};
static const struct hr_slice on_three_nodes[] = {{{3}, 4000, 0}, {{4}, 3500, 0}, {{12}, 500, 0}};
static const struct hr_placement placements[] = {{{0}, 1, on_node_1}, {{1}, 3, on_three_nodes}, {{0}, 0, NULL}};

/* Notifies the observer of the events of the run and writes the file. Returns the text of the file, which the caller
   frees. */
static char *written(struct replayed *run, const struct hr_placement *placed) {
  struct hr_placements *kept = hr_placements_create(&run->trace);
  CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
  struct hr_observer observer = hr_placements_observer(kept);
  replayed_notify(run, &observer, 1, placed);
  run->cluster.n_pools = 2;
  CU_ASSERT_EQUAL_FATAL(
      hr_jobs_write(files_path("jobs.csv"), &run->trace, &run->cluster, &run->result, kept, NULL, NULL), HR_OK);
  hr_placements_destroy(kept);
  return files_read(files_path("jobs.csv"));
}

static void expect_file(struct replayed *run, const struct hr_placement *placed, const char *wanted) {
  char *text = written(run, placed);
  if (strcmp(text, wanted) != 0) printf("\n%s\nwanted\n%s\n", text, wanted);
  CU_ASSERT_STRING_EQUAL(text, wanted);
  free(text);
}

static void row_of_a_job(void) {
  struct replayed run;
  replayed_make(&run, jobs, 3, NEVER);
  expect_file(&run, placements,
              HEADER "1,0,0,20.5,0,3,1,completed,in-order,,,,,main,1:3,,20.5\n"
                     "2,5.25,30,120,24.75,8,3,completed,in-order,,,,,spare,3:4|4:3.5|12:0.5,,90\n"
                     "3,5.25,,,,99,,rejected,too-large,,,,,,,,1\n");
}

static void no_nodes_without_slices(void) {
  struct replayed run;
  replayed_make(&run, jobs, 1, NEVER);
  expect_file(&run, NULL, HEADER "1,0,0,20.5,0,3,0,completed,in-order,,,,,main,,,20.5\n");
}

static void rows_have_the_order_of_the_input(void) {
  static const uint32_t row[] = {2, 0, 1};
  struct replayed run;
  replayed_make(&run, jobs, 3, NEVER);
  run.trace.row = row;
  run.trace.origin_us = -2500000;
  expect_file(&run, NULL,
              HEADER "1,2.75,27.5,117.5,24.75,8,0,completed,in-order,,,,,main,,,90\n"
                     "2,2.75,,,,99,,rejected,too-large,,,,,,,,1\n"
                     "3,-2.5,-2.5,18,0,3,0,completed,in-order,,,,,main,,,20.5\n");
}

static void times_of_dated_traces_start_at_zero(void) {
  struct replayed run;
  replayed_make(&run, jobs, 1, NEVER);
  run.trace.origin_us = INT64_C(1500000000) * HR_SECOND_US;
  expect_file(&run, NULL, HEADER "1,1500000000,1500000000,1500000020.5,0,3,0,completed,in-order,,,,,main,,,20.5\n");
  run.trace.dated = true;
  expect_file(&run, NULL, HEADER "1,0,0,20.5,0,3,0,completed,in-order,,,,,main,,,20.5\n");
}

static void special_characters_are_quoted(void) {
  static const char *const ids[] = {"a,b", "line\nbreak", "plain"};
  static const char *const tenants[] = {"say \"hi\"", "M\xc3\xbcller; Sons"}, *const users[] = {"\r"};
  static const uint32_t tenant[] = {0, 1, HR_NONE}, user[] = {HR_NONE, HR_NONE, 0};
  static const uint8_t class_[] = {HR_CLASS_UNKNOWN, HR_CLASS_FINE_TUNE, HR_CLASS_UNKNOWN};
  static const uint8_t outcome[] = {HR_OUTCOME_FAILED, HR_OUTCOME_UNKNOWN, HR_OUTCOME_CANCELLED};
  static const int64_t limit_us[] = {HR_UNKNOWN_US, 100000000, 0};
  struct replayed run;
  replayed_make(&run, jobs, 3, NEVER);
  run.trace.id_text = ids;
  run.trace.tenant = tenant;
  run.trace.user = user;
  run.trace.tenants = (struct hr_names){2, tenants};
  run.trace.users = (struct hr_names){1, users};
  run.trace.class_ = class_;
  run.trace.outcome = outcome;
  run.trace.limit_us = limit_us;
  run.pool[0].name = (char *)"main, old";
  expect_file(&run, NULL,
              HEADER "\"a,b\",0,0,20.5,0,3,0,completed,in-order,\"say \"\"hi\"\"\",,,failed,\"main, old\",,,20.5\n"
                     "\"line\nbreak\",5.25,30,120,24.75,8,0,completed,in-order,M\xc3\xbcller; Sons,,fine-tune,,"
                     "\"main, old\",,100,90\n"
                     "plain,5.25,,,,99,,rejected,too-large,,\"\r\",,cancelled,,,0,1\n");
}

static void unknown_times_are_empty_at_horizon(void) {
  static const int64_t ids[] = {-7, 0, INT64_MAX};
  struct replayed run;
  replayed_make(&run, jobs, 3, 40);
  run.trace.id_number = ids;
  expect_file(&run, NULL,
              HEADER "-7,0,0,20.5,0,3,0,completed,in-order,,,,,main,,,20.5\n"
                     "0,5.25,30,,24.75,8,0,unfinished,in-order,,,,,main,,,90\n"
                     "9223372036854775807,5.25,,,,99,,rejected,too-large,,,,,,,,1\n");
  replayed_make(&run, jobs, 3, 2);
  expect_file(&run, NULL,
              HEADER "1,0,0,,0,3,0,unfinished,in-order,,,,,main,,,20.5\n"
                     "2,5.25,,,,8,,unsubmitted,,,,,,,,,90\n"
                     "3,5.25,,,,99,,unsubmitted,,,,,,,,,1\n");
}

/* The slices do not fit into the initial allocation and the output buffer, and the id is longer than the buffer. */
static void long_fields_are_complete(void) {
  enum { SLICES = 60000, NAME = 600000 };
  struct hr_slice *slices = calloc(SLICES, sizeof *slices);
  char *name = malloc(NAME + 1);
  CU_ASSERT_FATAL(slices && name);
  for (uint32_t i = 0; i < SLICES; i++) slices[i] = (struct hr_slice){{i}, 1000, 0};
  memset(name, 'x', NAME);
  name[NAME] = '\0';
  const struct hr_placement wide = {{0}, SLICES, slices};
  struct replayed run;
  replayed_make(&run, jobs, 1, NEVER);
  run.trace.id_text = (const char *const[]){name};
  char *text = written(&run, &wide);
  CU_ASSERT_EQUAL(strncmp(text + strlen(HEADER), name, NAME), 0);
  const char *at = strstr(text, "main,") + strlen("main,");
  for (uint32_t i = 0; i < SLICES; i++) {
    char wanted[32];
    int length = snprintf(wanted, sizeof wanted, "%s%u:1", i ? "|" : "", (unsigned)i);
    CU_ASSERT_EQUAL_FATAL(strncmp(at, wanted, (size_t)length), 0);
    at += length;
  }
  CU_ASSERT_STRING_EQUAL(at, ",,20.5\n");
  free(text);
  free(slices);
  free(name);
}

static void failed_write_leaves_no_file(void) {
  struct replayed run;
  replayed_make(&run, jobs, 3, NEVER);
  struct hr_placements *kept = hr_placements_create(&run.trace);
  CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
  unlink(files_path("jobs.csv"));
  struct hr_error error = {0};
  const char *path = files_path("no-such-folder/jobs.csv");
  CU_ASSERT_NOT_EQUAL(hr_jobs_write(path, &run.trace, &run.cluster, &run.result, kept, NULL, &error), HR_OK);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "no-such-folder/jobs.csv"));
  CU_ASSERT_TRUE(files_only(NULL));
  CU_ASSERT_EQUAL(hr_jobs_write("/dev/full", &run.trace, &run.cluster, &run.result, kept, NULL, &error), HR_IO_ERROR);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "No space left"));
  hr_placements_destroy(kept);
}

TEST_MAIN("report: jobs", TEST(row_of_a_job), TEST(no_nodes_without_slices), TEST(rows_have_the_order_of_the_input),
          TEST(times_of_dated_traces_start_at_zero), TEST(special_characters_are_quoted),
          TEST(unknown_times_are_empty_at_horizon), TEST(long_fields_are_complete), TEST(failed_write_leaves_no_file))
