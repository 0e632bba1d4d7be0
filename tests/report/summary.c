/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of the summary, compared with values computed by hand. */

#include "harness.h"
#include "replayed.h"

#include <math.h>
#include <string.h>

static void expect(double got, double wanted) {
  if (fabs(got - wanted) > 1e-12 * fabs(wanted)) printf("\n  %.17g, wanted %.17g\n", got, wanted);
  CU_ASSERT_TRUE(fabs(got - wanted) <= 1e-12 * fabs(wanted));
}

/* The cluster has 8 GPUs. Times are in seconds. Allocated GPUs: 4 in [0, 10), 8 in [10, 20), 6 in [20, 70), 4 in [70,
   100). Waiting jobs: 2 in [5, 10), 1 in [10, 20). Job 1 waits from 5 to 10, job 2 from 5 to 20. */
static const struct replayed_job three_jobs[] = {
    {.submit_s = 0, .work_s = 20, .start_s = 0, .gpus = 4},
    {.submit_s = 5, .work_s = 90, .start_s = 10, .gpus = 4},
    {.submit_s = 5, .work_s = 50, .start_s = 20, .gpus = 2},
};

static void metrics_of_a_run(void) {
  struct replayed run;
  replayed_make(&run, three_jobs, 3, NEVER);
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  CU_ASSERT_EQUAL(summary->jobs_submitted, 3);
  CU_ASSERT_EQUAL(summary->jobs_completed, 3);
  CU_ASSERT_EQUAL(summary->jobs_rejected + summary->jobs_unfinished, 0);
  CU_ASSERT_EQUAL(summary->jobs_backfilled, 1);
  CU_ASSERT_EQUAL(summary->gpus, 8);
  CU_ASSERT_EQUAL(summary->nodes, 2);
  CU_ASSERT_EQUAL(summary->digest, 0x0123456789abcdef);
  CU_ASSERT_EQUAL(summary->n_events, 42);
  CU_ASSERT_EQUAL(summary->n_passes, 17);
  expect(summary->makespan_s, 100);
  expect(summary->submit_window_s, 5);
  expect(summary->utilization_submit_window, 4.0 / 8);
  expect(summary->utilization_makespan, (20 * 4 + 90 * 4 + 50 * 2) / (8 * 100.0));
  expect(summary->gpu_hours, (20 * 4 + 90 * 4 + 50 * 2) / 3600.0);
  expect(summary->queue_mean, (2 * 5 + 1 * 10) / 100.0);
  CU_ASSERT_EQUAL(summary->queue_max, 2);
  hr_summary_destroy(summary);
}

static void waits_completion_times_and_slowdowns(void) {
  struct replayed run;
  replayed_make(&run, three_jobs, 3, NEVER);
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  CU_ASSERT_EQUAL(summary->wait_s.count, 3); /* waits of 0, 5 and 15 s */
  expect(summary->wait_s.mean, 20 / 3.0);
  expect(summary->wait_s.p50, 5);
  expect(summary->wait_s.p90, 5 + 0.8 * 10);
  expect(summary->wait_s.p95, 5 + 0.9 * 10);
  expect(summary->wait_s.p99, 5 + 0.98 * 10);
  expect(summary->wait_s.max, 15);
  expect(summary->jct_s.mean, (20 + 95 + 65) / 3.0);
  expect(summary->jct_s.p50, 65);
  expect(summary->jct_s.max, 95);
  expect(summary->slowdown.mean, (1 + 95 / 90.0 + 65 / 50.0) / 3);
  expect(summary->slowdown.p50, 95 / 90.0);
  expect(summary->slowdown.max, 65 / 50.0);
  hr_summary_destroy(summary);
}

static void slowdown_is_at_least_1(void) {
  static const struct replayed_job jobs[] = {
      {.submit_s = 0, .work_s = 1, .start_s = 3, .gpus = 1},  /* 4 s / 10 s, but at least 1 */
      {.submit_s = 0, .work_s = 1, .start_s = 39, .gpus = 1}, /* 40 s / 10 s, not 40 s / 1 s */
      {.submit_s = 0, .work_s = 0, .start_s = 25, .gpus = 1}, /* 25 s / 10 s, not infinite */
      {.submit_s = 0, .work_s = 20, .start_s = 30, .gpus = 1},
  };
  struct replayed run;
  replayed_make(&run, jobs, 4, NEVER);
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  expect(summary->slowdown.mean, (1 + 4 + 2.5 + 2.5) / 4);
  expect(summary->slowdown.max, 4);
  hr_summary_destroy(summary);
}

static const struct hr_group *group_called(const struct hr_group *groups, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(groups[i].name, name) == 0) return &groups[i];
  return NULL;
}

static void bounds_of_size_groups(void) {
  static const struct {
    uint32_t gpus;
    const char *size;
  } cases[] = {{0, "0"},       {1, "1"},        {2, "2-4"},    {4, "2-4"},       {5, "5-8"},    {8, "5-8"},
               {9, "9-16"},    {16, "9-16"},    {17, "17-32"}, {32, "17-32"},    {33, "33-64"}, {64, "33-64"},
               {65, "65-128"}, {128, "65-128"}, {129, "129+"}, {4000000, "129+"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct replayed_job job = {.submit_s = 0, .work_s = 3600, .start_s = 0, .gpus = cases[i].gpus};
    struct replayed run;
    replayed_make(&run, &job, 1, NEVER);
    struct hr_summary *summary = replayed_summary(&run);
    CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
    CU_ASSERT_EQUAL(summary->n_sizes, 1);
    CU_ASSERT_STRING_EQUAL(summary->by_size[0].name, cases[i].size);
    expect(summary->by_size[0].gpu_hours, cases[i].gpus);
    hr_summary_destroy(summary);
  }
}

static void metrics_by_size(void) {
  struct replayed run;
  replayed_make(&run, three_jobs, 3, NEVER);
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  CU_ASSERT_EQUAL(summary->n_tenants, 0);
  CU_ASSERT_EQUAL_FATAL(summary->n_sizes, 1); /* 2 and 4 GPUs are in the same size group */
  CU_ASSERT_EQUAL(summary->by_size[0].jobs, 3);
  run.gpus[2] = 1;
  struct hr_summary *grouped = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(grouped);
  CU_ASSERT_EQUAL_FATAL(grouped->n_sizes, 2);
  CU_ASSERT_STRING_EQUAL(grouped->by_size[0].name, "1");
  expect(grouped->by_size[0].wait_s.mean, 15);
  expect(grouped->by_size[0].jct_s.p99, 65);
  expect(grouped->by_size[1].wait_s.mean, 2.5);
  expect(grouped->by_size[1].jct_s.p50, (20 + 95) / 2.0);
  expect(grouped->by_size[1].slowdown.max, 95 / 90.0);
  expect(grouped->wait_s.p50,
         5); /* the median of all jobs, although quantiles of the groups by size were selected before */
  hr_summary_destroy(summary);
  hr_summary_destroy(grouped);
}

static void tenants_are_sorted_by_gpu_hours(void) {
  static const char *const names[] = {"small", "large", "idle"};
  static const uint32_t tenant[] = {0, 1, HR_NONE};
  struct replayed run;
  replayed_make(&run, three_jobs, 3, NEVER);
  run.trace.tenant = tenant;
  run.trace.tenants = (struct hr_names){3, names};
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  CU_ASSERT_EQUAL_FATAL(summary->n_tenants, 3); /* "idle" has no job; one job has no tenant */
  CU_ASSERT_STRING_EQUAL(summary->by_tenant[0].name, "large");
  CU_ASSERT_STRING_EQUAL(summary->by_tenant[1].name, "");
  CU_ASSERT_STRING_EQUAL(summary->by_tenant[2].name, "small");
  expect(summary->by_tenant[0].gpu_hours, 90 * 4 / 3600.0);
  const struct hr_group *no_tenant = group_called(summary->by_tenant, summary->n_tenants, "");
  CU_ASSERT_EQUAL(no_tenant->jobs, 1);
  CU_ASSERT_EQUAL(no_tenant->completed, 1);
  expect(no_tenant->wait_s.max, 15);
  hr_summary_destroy(summary);
}

static void metrics_by_class(void) {
  static const uint8_t class_of_job[] = {HR_CLASS_INFERENCE, HR_CLASS_UNKNOWN, HR_CLASS_TRAINING};
  struct replayed run;
  replayed_make(&run, three_jobs, 3, NEVER);
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  CU_ASSERT_EQUAL(summary->n_classes, 0);
  hr_summary_destroy(summary);
  run.trace.class_ = class_of_job;
  summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  CU_ASSERT_EQUAL_FATAL(summary->n_classes, 3);
  double gpu_hours = 0;
  for (size_t i = 0; i < 3; i++) gpu_hours += summary->by_class[i].useful_gpu_hours;
  expect(gpu_hours, summary->goodput.useful_gpu_hours);
  const struct hr_group *inference = group_called(summary->by_class, summary->n_classes, "inference");
  CU_ASSERT_EQUAL(inference->jobs, 1);
  expect(inference->useful_gpu_hours, inference->gpu_hours);
  hr_summary_destroy(summary);
}

static void counts_of_outcomes(void) {
  static const uint8_t outcome[] = {HR_OUTCOME_FAILED, HR_OUTCOME_CANCELLED, HR_OUTCOME_FAILED};
  struct replayed run;
  replayed_make(&run, three_jobs, 3, 80); /* the second job still runs */
  run.trace.outcome = outcome;
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  CU_ASSERT_EQUAL(summary->outcome_failed, 2);
  CU_ASSERT_EQUAL(summary->outcome_cancelled, 0);
  hr_summary_destroy(summary);
}

static void run_with_horizon(void) {
  struct replayed run;
  replayed_make(&run, three_jobs, 3, 15); /* two jobs run and one waits; the last instant is at 10 */
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  CU_ASSERT_EQUAL(summary->jobs_submitted, 3);
  CU_ASSERT_EQUAL(summary->jobs_unfinished, 3);
  CU_ASSERT_EQUAL(summary->wait_s.count, 2);
  CU_ASSERT_EQUAL(summary->jct_s.count, 0);
  expect(summary->makespan_s, 10);
  expect(summary->utilization_makespan, 0.5);
  expect(summary->gpu_hours, 4 * 10 / 3600.0);
  expect(summary->queue_mean, 2 * 5 / 10.0);
  hr_summary_destroy(summary);
}

static void jobs_after_the_horizon_are_ignored(void) {
  struct replayed run;
  replayed_make(&run, three_jobs, 3, 2);
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  CU_ASSERT_EQUAL(summary->jobs_submitted, 1);
  CU_ASSERT_EQUAL(summary->jobs_unfinished, 1);
  CU_ASSERT_EQUAL(summary->by_size[0].jobs, 1);
  expect(summary->submit_window_s, 0);
  expect(summary->utilization_submit_window, 0);
  hr_summary_destroy(summary);
}

static void all_jobs_rejected(void) {
  static const struct replayed_job jobs[] = {
      {.submit_s = 0, .work_s = 5, .start_s = NEVER, .gpus = 99, .rejected = true},
      {.submit_s = 3, .work_s = 5, .start_s = NEVER, .gpus = 99, .rejected = true}};
  struct replayed run;
  replayed_make(&run, jobs, 2, NEVER);
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  CU_ASSERT_EQUAL(summary->jobs_rejected, 2);
  CU_ASSERT_EQUAL(summary->wait_s.count + summary->jct_s.count + summary->slowdown.count, 0);
  expect(summary->makespan_s, 0);
  expect(summary->submit_window_s, 3);
  expect(summary->gpu_hours, 0);
  CU_ASSERT_EQUAL(summary->by_size[0].jobs, 2);
  CU_ASSERT_EQUAL(summary->by_size[0].completed, 0);
  hr_summary_destroy(summary);
}

/* A job that is rejected after the last end does not extend the makespan. */
static void makespan_ends_with_the_last_end(void) {
  static const struct replayed_job jobs[] = {
      {.submit_s = 0, .work_s = 50, .start_s = 0, .gpus = 8},
      {.submit_s = 80, .work_s = 5, .start_s = NEVER, .gpus = 99, .rejected = true}};
  struct replayed run;
  replayed_make(&run, jobs, 2, NEVER);
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  expect(summary->makespan_s, 50);
  expect(summary->utilization_makespan, 1);
  expect(summary->submit_window_s, 80);
  expect(summary->utilization_submit_window, 50.0 / 80);
  hr_summary_destroy(summary);
}

static void single_job(void) {
  static const struct replayed_job job = {.submit_s = 0, .work_s = 0, .start_s = 0, .gpus = 1};
  struct replayed run;
  replayed_make(&run, &job, 1, NEVER);
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  CU_ASSERT_EQUAL(summary->jobs_completed, 1);
  CU_ASSERT_EQUAL(summary->queue_max, 0);
  expect(summary->makespan_s, 0);
  expect(summary->utilization_makespan, 0);
  expect(summary->wait_s.p99, 0);
  expect(summary->slowdown.p50, 1);
  hr_summary_destroy(summary);
}

TEST_MAIN("report: summary", TEST(metrics_of_a_run), TEST(waits_completion_times_and_slowdowns),
          TEST(slowdown_is_at_least_1), TEST(bounds_of_size_groups), TEST(metrics_by_size),
          TEST(tenants_are_sorted_by_gpu_hours), TEST(metrics_by_class), TEST(counts_of_outcomes),
          TEST(run_with_horizon), TEST(jobs_after_the_horizon_are_ignored), TEST(all_jobs_rejected),
          TEST(makespan_ends_with_the_last_end), TEST(single_job))
