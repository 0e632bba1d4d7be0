/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The selection of jobs for the HTML report if the run has too many. */

#include "report/page/page.h"

#include "harness.h"

#include <string.h>

enum { JOBS = 1000, MAX_SHOWN = 300 };

static struct {
  int64_t submit_us[JOBS], work_us[JOBS], start_us[JOBS];
  uint32_t gpus[JOBS];
  uint8_t state[JOBS];
  struct hr_trace trace;
  struct hr_result result;
} run;

static void make_run(uint32_t n_jobs) {
  memset(&run, 0, sizeof run);
  for (uint32_t i = 0; i < JOBS; i++) {
    run.submit_us[i] = i * HR_SECOND_US;
    run.start_us[i] = run.submit_us[i] + (i * 7919 % 1009) * HR_SECOND_US;
    run.work_us[i] = (i * 104729 % 1013) * HR_SECOND_US;
    run.gpus[i] = 1 + i % 3;
    run.state[i] = HR_JOB_COMPLETED;
  }
  run.trace = (struct hr_trace){.n_jobs = n_jobs, .submit_us = run.submit_us, .work_us = run.work_us, .gpus = run.gpus};
  run.result = (struct hr_result){.trace = &run.trace,
                                  .n_jobs = n_jobs,
                                  .state = run.state,
                                  .start_us = run.start_us,
                                  .end_us = 5000 * HR_SECOND_US};
}

static bool *shown_of(uint32_t max, uint32_t *n) {
  uint32_t *jobs = hr__page_shown(&run.result, max, n);
  bool *shown = calloc(JOBS, sizeof *shown);
  CU_ASSERT_TRUE_FATAL(jobs && shown);
  for (uint32_t i = 0; i < *n; i++) {
    CU_ASSERT_TRUE(i == 0 || jobs[i] > jobs[i - 1]);
    shown[jobs[i]] = true;
  }
  free(jobs);
  return shown;
}

static void all_jobs_are_selected_up_to_maximum(void) {
  uint32_t n;
  make_run(MAX_SHOWN);
  bool *shown = shown_of(MAX_SHOWN, &n);
  CU_ASSERT_EQUAL(n, MAX_SHOWN);
  free(shown);
}

/* A third of the selected jobs are the jobs with the longest waits. Another third are the largest of the remaining
   jobs. */
static void longest_waits_and_largest_jobs_are_selected(void) {
  uint32_t n;
  make_run(JOBS);
  run.start_us[5] = HR_NEVER_US; /* the job waits until the end of the run */
  run.state[5] = HR_JOB_WAITING;
  bool *shown = shown_of(MAX_SHOWN, &n);
  CU_ASSERT_EQUAL(n, MAX_SHOWN);
  CU_ASSERT_TRUE(shown[5]);
  for (uint32_t i = 0; i < JOBS; i++) {
    uint32_t longer = 0, larger = 0;
    int64_t wait_us = i == 5 ? HR_NEVER_US : run.start_us[i] - run.submit_us[i];
    for (uint32_t k = 0; k < JOBS; k++) {
      longer += k == 5 || run.start_us[k] - run.submit_us[k] > wait_us;
      larger += run.gpus[k] * (run.work_us[k] / HR_SECOND_US + 1) > run.gpus[i] * (run.work_us[i] / HR_SECOND_US + 1);
    }
    if (longer < MAX_SHOWN / 3 || larger < MAX_SHOWN / 3) CU_ASSERT_TRUE(shown[i]);
  }
  free(shown);
}

/* The sample is spread evenly over the trace, even if all jobs have equal waits and sizes. */
static void sample_is_spread_evenly(void) {
  uint32_t n, late = 0;
  make_run(JOBS);
  for (uint32_t i = 0; i < JOBS; i++) {
    run.start_us[i] = run.submit_us[i];
    run.work_us[i] = 0;
    run.gpus[i] = 1;
  }
  bool *shown = shown_of(MAX_SHOWN, &n);
  CU_ASSERT_EQUAL(n, MAX_SHOWN);
  for (uint32_t i = JOBS / 2; i < JOBS; i++) late += shown[i];
  CU_ASSERT_TRUE(late > MAX_SHOWN / 5 && late < MAX_SHOWN / 3);
  free(shown);
}

TEST_MAIN("report: page shown", TEST(all_jobs_are_selected_up_to_maximum),
          TEST(longest_waits_and_largest_jobs_are_selected), TEST(sample_is_spread_evenly))
