/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gang-slice policy: cases computed by hand. */

#include "small_run.h"

#define ONE_NODE .n_pools = 1, .nodes = {1}, .gpus_per_node = {8}, .policy = "gang-slice"

static void two_jobs_alternate(void) {
  struct hr_result *result = small_run((struct small_run){ONE_NODE, .n_jobs = 2, .work_s = {60, 60}, .gpus = {8, 8}});
  CU_ASSERT(ended(result, 0, 90, 2));
  CU_ASSERT(ended(result, 1, 120, 2));
  CU_ASSERT_EQUAL(result->start_us[1], 30 * HR_SECOND_US);
  hr_result_destroy(result);
}

static void no_slices_while_all_jobs_run(void) {
  struct hr_result *result =
      small_run((struct small_run){ONE_NODE, .n_jobs = 2, .work_s = {1000, 1000}, .gpus = {4, 4}});
  CU_ASSERT(ended(result, 0, 1000, 1));
  CU_ASSERT(ended(result, 1, 1000, 1));
  CU_ASSERT_EQUAL(result->n_passes, 2); /* no wake-up was requested */
  hr_result_destroy(result);
}

/* The slice of the running job begins when a second job arrives. */
static void slice_begins_when_a_job_waits(void) {
  struct hr_result *result =
      small_run((struct small_run){ONE_NODE, .n_jobs = 2, .submit_s = {0, 100}, .work_s = {200, 20}, .gpus = {8, 8}});
  CU_ASSERT_EQUAL(result->start_us[1], 130 * HR_SECOND_US);
  CU_ASSERT(ended(result, 1, 150, 1));
  CU_ASSERT(ended(result, 0, 220, 2));
  hr_result_destroy(result);
}

/* The first row has the first job; the second row has the second and the third job. Slices last 10 s. */
static void jobs_of_a_row_run_together(void) {
  struct hr_result *result = small_run((struct small_run){ONE_NODE, .n_jobs = 3, .work_s = {30, 20, 40},
                                                          .gpus = {8, 3, 5}, .params = {{"slice_s", "10"}}});
  CU_ASSERT_EQUAL(result->start_us[1], 10 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->start_us[2], 10 * HR_SECOND_US);
  CU_ASSERT(ended(result, 1, 40, 2));
  CU_ASSERT(ended(result, 0, 50, 3));
  CU_ASSERT(ended(result, 2, 70, 3));
  hr_result_destroy(result);
}

/* Two nodes with two GPUs. The first and the last job share the first node. The jobs on the second node are never
   stopped. */
static void idle_gpus_are_used_by_other_rows(void) {
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

/* There are at most two rows, and one job fits into each. The third job waits until a row is empty. */
static void number_of_rows_is_limited(void) {
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

/* The restart overhead is 40 s and slices last 30 s, so a restarted job makes no progress in its slice. Its slice is
   extended to 60 s, with 20 s of work. Job 0 works from 0 s to 30 s, 100 s to 120 s and 220 s to 230 s. Job 1 works
   from 30 s to 60 s, 160 s to 180 s and 270 s to 280 s. */
static void slice_without_progress_is_extended(void) {
  struct hr_result *result =
      small_run((struct small_run){ONE_NODE, .n_jobs = 2, .work_s = {60, 60}, .gpus = {8, 8}, .restart_s = 40});
  CU_ASSERT(ended(result, 0, 230, 3));
  CU_ASSERT(ended(result, 1, 280, 3));
  hr_result_destroy(result);
}

/* GPUs are only counted (placement `pool`). At half the speed, 60 s of work take 120 s. */
static void counted_allocation(void) {
  struct hr_result *result =
      small_run((struct small_run){ONE_NODE, .n_jobs = 2, .work_s = {60, 60}, .gpus = {8, 8}, .n_models = 1,
                                   .ppm = {500000}, .params = {{"placement", "pool"}, {"slice_s", "60"}}});
  CU_ASSERT(ended(result, 0, 180, 2));
  CU_ASSERT(ended(result, 1, 240, 2));
  hr_result_destroy(result);
}

TEST_MAIN("gang slice", TEST(two_jobs_alternate), TEST(no_slices_while_all_jobs_run),
          TEST(slice_begins_when_a_job_waits), TEST(jobs_of_a_row_run_together), TEST(idle_gpus_are_used_by_other_rows),
          TEST(number_of_rows_is_limited), TEST(slice_without_progress_is_extended), TEST(counted_allocation))
