/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For any number of threads, every task is run once. If tasks fail, the error of the first of them is returned, and the
   last tasks are not started. */

#include "base/threads.h"

#include "harness.h"

#include <stdatomic.h>
#include <string.h>

enum { N_TASKS = 500 };

static atomic_int runs[N_TASKS];
static size_t fails_from;

static enum hr_status run(void *self, size_t task, struct hr_error *error) {
  (void)self;
  atomic_fetch_add(&runs[task], 1);
  return task >= fails_from ? hr_fail(error, HR_BAD_POLICY, "task %zu", task) : HR_OK;
}

static enum hr_status run_all(size_t count, uint32_t threads, struct hr_error *error) {
  struct hr__tasks tasks = {.run = run, .count = count};
  for (size_t i = 0; i < N_TASKS; i++) atomic_store(&runs[i], 0);
  return hr__pool_run(&tasks, threads, error);
}

static void every_task_runs_once(void) {
  static const uint32_t threads[] = {1, 2, 4, 64, 1024};
  fails_from = SIZE_MAX;
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
    CU_ASSERT_EQUAL(run_all(N_TASKS, threads[i], NULL), HR_OK);
    for (size_t k = 0; k < N_TASKS; k++) CU_ASSERT_EQUAL(atomic_load(&runs[k]), 1);
  }
  CU_ASSERT_EQUAL(run_all(0, 4, NULL), HR_OK);
}

static void first_failure_is_reported(void) {
  for (uint32_t threads = 1; threads <= 16; threads *= 2) {
    struct hr_error error = {0};
    fails_from = 123;
    CU_ASSERT_EQUAL(run_all(N_TASKS, threads, &error), HR_BAD_POLICY);
    CU_ASSERT_STRING_EQUAL(error.text, "task 123");
    CU_ASSERT(atomic_load(&runs[N_TASKS - 1]) == 0);
  }
}

TEST_MAIN("plan: threads", TEST(every_task_runs_once), TEST(first_failure_is_reported))
