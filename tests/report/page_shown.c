/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The selection of jobs for the HTML report if the run has too many. */

#include "report/page/page.h"

#include "harness.h"

#include <string.h>

enum { JOBS = 1000, MOST = 300 };

static struct {
  int64_t submit_us[JOBS], work_us[JOBS], start_us[JOBS];
  uint32_t gpus[JOBS];
  uint8_t state[JOBS];
  struct hr_trace trace;
  struct hr_result result;
} world;

static void make_world(uint32_t n_jobs) {
  memset(&world, 0, sizeof world);
  for (uint32_t i = 0; i < JOBS; i++) {
    world.submit_us[i] = i * HR_SECOND_US;
    world.start_us[i] = world.submit_us[i] + (i * 7919 % 1009) * HR_SECOND_US;
    world.work_us[i] = (i * 104729 % 1013) * HR_SECOND_US;
    world.gpus[i] = 1 + i % 3;
    world.state[i] = HR_JOB_COMPLETED;
  }
  world.trace =
      (struct hr_trace){.n_jobs = n_jobs, .submit_us = world.submit_us, .work_us = world.work_us, .gpus = world.gpus};
  world.result = (struct hr_result){.trace = &world.trace,
                                    .n_jobs = n_jobs,
                                    .state = world.state,
                                    .start_us = world.start_us,
                                    .end_us = 5000 * HR_SECOND_US};
}

static bool *shown_of(uint32_t most, uint32_t *n) {
  uint32_t *jobs = hr__page_shown(&world.result, most, n);
  bool *shown = calloc(JOBS, sizeof *shown);
  CU_ASSERT_TRUE_FATAL(jobs && shown);
  for (uint32_t i = 0; i < *n; i++) {
    CU_ASSERT_TRUE(i == 0 || jobs[i] > jobs[i - 1]);
    shown[jobs[i]] = true;
  }
  free(jobs);
  return shown;
}

static void all_are_shown_where_they_may_be(void) {
  uint32_t n;
  make_world(MOST);
  bool *shown = shown_of(MOST, &n);
  CU_ASSERT_EQUAL(n, MOST);
  free(shown);
}

/* A third of the selected jobs are those with the longest waits, and a third are the largest of the others. */
static void the_longest_waits_and_the_largest_are_shown(void) {
  uint32_t n;
  make_world(JOBS);
  world.start_us[5] = HR_NEVER_US; /* the job waits until the end of the run */
  world.state[5] = HR_JOB_WAITING;
  bool *shown = shown_of(MOST, &n);
  CU_ASSERT_EQUAL(n, MOST);
  CU_ASSERT_TRUE(shown[5]);
  for (uint32_t i = 0; i < JOBS; i++) {
    uint32_t longer = 0, larger = 0;
    int64_t wait_us = i == 5 ? HR_NEVER_US : world.start_us[i] - world.submit_us[i];
    for (uint32_t k = 0; k < JOBS; k++) {
      longer += k == 5 || world.start_us[k] - world.submit_us[k] > wait_us;
      larger +=
          world.gpus[k] * (world.work_us[k] / HR_SECOND_US + 1) > world.gpus[i] * (world.work_us[i] / HR_SECOND_US + 1);
    }
    if (longer < MOST / 3 || larger < MOST / 3) CU_ASSERT_TRUE(shown[i]);
  }
  free(shown);
}

/* The sample is spread evenly over the trace, even if all jobs have equal waits and sizes. */
static void the_sample_is_spread(void) {
  uint32_t n, late = 0;
  make_world(JOBS);
  for (uint32_t i = 0; i < JOBS; i++) {
    world.start_us[i] = world.submit_us[i];
    world.work_us[i] = 0;
    world.gpus[i] = 1;
  }
  bool *shown = shown_of(MOST, &n);
  CU_ASSERT_EQUAL(n, MOST);
  for (uint32_t i = JOBS / 2; i < JOBS; i++) late += shown[i];
  CU_ASSERT_TRUE(late > MOST / 5 && late < MOST / 3);
  free(shown);
}

TEST_MAIN("report: page shown", TEST(all_are_shown_where_they_may_be),
          TEST(the_longest_waits_and_the_largest_are_shown), TEST(the_sample_is_spread))
