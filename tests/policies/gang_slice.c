/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gangs that take turns, worked out by hand. */

#include "small_run.h"

#define ONE_NODE .n_pools = 1, .nodes = {1}, .gpus_per_node = {8}, .policy = "gang-slice"

static void two_jobs_take_turns(void) {
  struct hr_result *result = small_run((struct small_run){ONE_NODE, .n_jobs = 2, .work_s = {60, 60}, .gpus = {8, 8}});
  CU_ASSERT(ended(result, 0, 90, 2));
  CU_ASSERT(ended(result, 1, 120, 2));
  CU_ASSERT_EQUAL(result->start_us[1], 30 * HR_SECOND_US);
  hr_result_destroy(result);
}

static void who_is_alone_is_not_stopped(void) {
  struct hr_result *result =
      small_run((struct small_run){ONE_NODE, .n_jobs = 2, .work_s = {1000, 1000}, .gpus = {4, 4}});
  CU_ASSERT(ended(result, 0, 1000, 1));
  CU_ASSERT(ended(result, 1, 1000, 1));
  CU_ASSERT_EQUAL(result->n_passes, 2); /* nobody was woken */
  hr_result_destroy(result);
}

/* The slice of who was there begins when another comes. */
static void a_slice_begins_when_somebody_waits(void) {
  struct hr_result *result =
      small_run((struct small_run){ONE_NODE, .n_jobs = 2, .submit_s = {0, 100}, .work_s = {200, 20}, .gpus = {8, 8}});
  CU_ASSERT_EQUAL(result->start_us[1], 130 * HR_SECOND_US);
  CU_ASSERT(ended(result, 1, 150, 1));
  CU_ASSERT(ended(result, 0, 220, 2));
  hr_result_destroy(result);
}

/* Rows: the first job; the second and third together; slices of 10 s. */
static void a_row_runs_as_a_whole(void) {
  struct hr_result *result = small_run((struct small_run){ONE_NODE, .n_jobs = 3, .work_s = {30, 20, 40},
                                                          .gpus = {8, 3, 5}, .params = {{"slice_s", "10"}}});
  CU_ASSERT_EQUAL(result->start_us[1], 10 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->start_us[2], 10 * HR_SECOND_US);
  CU_ASSERT(ended(result, 1, 40, 2));
  CU_ASSERT(ended(result, 0, 50, 3));
  CU_ASSERT(ended(result, 2, 70, 3));
  hr_result_destroy(result);
}

/* Two nodes of two GPUs. The first and the last job share the first node; those on the second one never stop. */
static void what_a_row_leaves_idle_is_used(void) {
  struct hr_result *result = small_run((struct small_run){.n_pools = 1,
                                                          .nodes = {2},
                                                          .gpus_per_node = {2},
                                                          .policy = "gang-slice",
                                                          .params = {{"placement", "first-fit"}},
                                                          .n_jobs = 4,
                                                          .work_s = {60, 100, 100, 60},
                                                          .gpus = {2, 1, 1, 1}});
  CU_ASSERT(ended(result, 1, 100, 1));
  CU_ASSERT(ended(result, 2, 100, 1));
  CU_ASSERT(ended(result, 0, 90, 2));
  CU_ASSERT(ended(result, 3, 120, 2));
  hr_result_destroy(result);
}

/* Two rows of one job each; the third job waits for a row. */
static void no_more_rows_than_said(void) {
  struct small_run it = {ONE_NODE, .n_jobs = 3, .work_s = {60, 60, 60}, .gpus = {8, 8, 8}, .params = {{"rows", "2"}}};
  struct hr_result *result = small_run(it);
  CU_ASSERT(ended(result, 0, 90, 2));
  CU_ASSERT(ended(result, 1, 120, 2));
  CU_ASSERT(ended(result, 2, 180, 1));
  hr_result_destroy(result);
  it.params[0][1] = "1";
  result = small_run(it);
  for (uint32_t i = 0; i < 3; i++) CU_ASSERT(ended(result, i, 60 * (i + 1), 1));
  hr_result_destroy(result);
}

/* 40 s to restart and slices of 30 s: a slice that saw no work goes on. */
static void who_restarts_longer_than_a_slice_gets_on(void) {
  struct hr_result *result =
      small_run((struct small_run){ONE_NODE, .n_jobs = 2, .work_s = {60, 60}, .gpus = {8, 8}, .restart_s = 40});
  CU_ASSERT(ended(result, 0, 230, 3));
  CU_ASSERT(ended(result, 1, 280, 3));
  hr_result_destroy(result);
}

/* By count, without nodes, and at half the speed: 60 s of work are 120 s. */
static void gpus_may_be_counted_only(void) {
  struct hr_result *result =
      small_run((struct small_run){ONE_NODE, .n_jobs = 2, .work_s = {60, 60}, .gpus = {8, 8}, .n_models = 1,
                                   .ppm = {500000}, .params = {{"placement", "pool"}, {"slice_s", "60"}}});
  CU_ASSERT(ended(result, 0, 180, 2));
  CU_ASSERT(ended(result, 1, 240, 2));
  hr_result_destroy(result);
}

TEST_MAIN("gang slice", TEST(two_jobs_take_turns), TEST(who_is_alone_is_not_stopped),
          TEST(a_slice_begins_when_somebody_waits), TEST(a_row_runs_as_a_whole), TEST(what_a_row_leaves_idle_is_used),
          TEST(no_more_rows_than_said), TEST(who_restarts_longer_than_a_slice_gets_on), TEST(gpus_may_be_counted_only))
