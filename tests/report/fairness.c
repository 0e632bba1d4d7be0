/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jain's index and finish-time fairness, compared with values computed by hand, on a cluster of 8 GPUs. */

#include "harness.h"
#include "replayed.h"

#include <math.h>

static struct replayed run;

static struct hr_fairness fairness_of(const struct replayed_job *jobs, uint32_t n_jobs, const uint32_t *tenant,
                                      double horizon_s) {
  static const char *const names[] = {"a", "b", "c"};
  replayed_make(&run, jobs, n_jobs, horizon_s);
  run.trace.tenant = tenant;
  if (tenant) run.trace.tenants = (struct hr_names){3, names};
  struct hr_summary *summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  struct hr_fairness fairness = summary->fairness;
  hr_summary_destroy(summary);
  return fairness;
}

static void expect(double value, double expected) {
  if (fabs(value - expected) > 1e-12) printf("\n  %.17g, not %.17g\n", value, expected);
  CU_ASSERT(fabs(value - expected) <= 1e-12);
}

/* Each job requests all GPUs, so the job of b waits for the job of a. Run time / completion time is 1 for a and 0.5 for
   b, which gives Jain's index. Two tenants are present while the job of a runs, then one. So the mean number is 2 for a
   and 1.5 for b, and the finish-time fairness is 100 / (2 x 100) and 200 / (1.5 x 100). */
static void two_alternating_tenants(void) {
  static const struct replayed_job jobs[] = {{.submit_s = 0, .work_s = 100, .start_s = 0, .gpus = 8},
                                             {.submit_s = 0, .work_s = 100, .start_s = 100, .gpus = 8}};
  static const uint32_t tenant[] = {0, 1};
  struct hr_fairness fairness = fairness_of(jobs, 2, tenant, NEVER);
  CU_ASSERT_STRING_EQUAL(fairness.over, "tenants");
  CU_ASSERT_EQUAL(fairness.parties, 2);
  expect(fairness.jain, 1.5 * 1.5 / (2 * 1.25));
  expect(fairness.finish_time.mean, (0.5 + 200 / 150.0) / 2);
  expect(fairness.finish_time.max, 200 / 150.0);
  expect(fairness.share_above_1, 0.5);
}

/* Jobs that fit into their share of the cluster and never wait have a finish-time fairness of exactly 1. */
static void fairness_is_1_without_waits(void) {
  static const struct replayed_job jobs[] = {{.submit_s = 0, .work_s = 100, .start_s = 0, .gpus = 2},
                                             {.submit_s = 5, .work_s = 1, .start_s = 5, .gpus = 2},
                                             {.submit_s = 7, .work_s = 50, .start_s = 7, .gpus = 2}};
  static const uint32_t tenant[] = {0, 1, 2};
  struct hr_fairness fairness = fairness_of(jobs, 3, tenant, NEVER);
  expect(fairness.jain, 1);
  expect(fairness.finish_time.max, 1);
  expect(fairness.finish_time.mean, 1);
  expect(fairness.share_above_1, 0);
}

/* A run time below 10 s counts as 10 s, and the completion time is increased by the same amount. */
static void short_run_times_are_extended(void) {
  static const struct replayed_job jobs[] = {{.submit_s = 0, .work_s = 1, .start_s = 30, .gpus = 1},
                                             {.submit_s = 0, .work_s = 0, .start_s = 0, .gpus = 1}};
  static const uint32_t tenant[] = {0, 1};
  struct hr_fairness fairness = fairness_of(jobs, 2, tenant, NEVER);
  expect(fairness.finish_time.max, 40 / 10.0);
  expect(fairness.jain, 1.25 * 1.25 / (2 * (1 + 0.0625)));
}

/* A tenant with overlapping jobs is counted once, and a tenant is not present between its jobs. While the job of b runs
   for 100 s, a is present for 20 + 30 s, so the mean number of tenants is 1.5. The jobs of a use no GPUs, so their
   finish-time fairness is 1. */
static void tenant_with_overlapping_jobs_counts_once(void) {
  static const struct replayed_job jobs[] = {{.submit_s = 0, .work_s = 100, .start_s = 0, .gpus = 8},
                                             {.submit_s = 0, .work_s = 20, .start_s = 0, .gpus = 0},
                                             {.submit_s = 10, .work_s = 5, .start_s = 10, .gpus = 0},
                                             {.submit_s = 50, .work_s = 30, .start_s = 50, .gpus = 0}};
  static const uint32_t tenant[] = {1, 0, 0, 0};
  struct hr_fairness fairness = fairness_of(jobs, 4, tenant, NEVER);
  CU_ASSERT_EQUAL(fairness.parties, 2);
  expect(fairness.finish_time.mean, (1 + 1 + 1 + 100 / 150.0) / 4);
}

/* In a trace without tenants and users each job is a party. A rejected job is never present; an unfinished job is
   present until the end of the run. */
static void parties_are_jobs_without_names(void) {
  static const struct replayed_job jobs[] = {
      {.submit_s = 0, .work_s = 100, .start_s = 0, .gpus = 8},
      {.submit_s = 0, .work_s = 100, .start_s = NEVER, .gpus = 8},
      {.submit_s = 0, .work_s = 9, .start_s = NEVER, .gpus = 99, .rejected = true}};
  struct hr_fairness fairness = fairness_of(jobs, 3, NULL, 100);
  CU_ASSERT_STRING_EQUAL(fairness.over, "jobs");
  CU_ASSERT_EQUAL(fairness.parties, 1);
  expect(fairness.finish_time.mean, 0.5);
  expect(fairness.jain, 1);
}

static void no_completed_job(void) {
  static const struct replayed_job jobs[] = {
      {.submit_s = 0, .work_s = 9, .start_s = NEVER, .gpus = 99, .rejected = true}};
  struct hr_fairness fairness = fairness_of(jobs, 1, NULL, NEVER);
  CU_ASSERT_EQUAL(fairness.parties, 0);
  CU_ASSERT_EQUAL(fairness.finish_time.count, 0);
  expect(fairness.jain, 0);
}

/* Computes the average number of parties from a count at every second, and compares the results. The run has many jobs,
   which do not end in the order of their submits. */
static void average_parties_match_count_per_second(void) {
  struct replayed_job jobs[MAX_JOBS];
  uint32_t tenant[MAX_JOBS], state = 7;
  for (int i = 0; i < MAX_JOBS; i++) {
    state = state * 1664525u + 1013904223u;
    jobs[i] = (struct replayed_job){.submit_s = 3 * i, .work_s = 10 + state % 61, .gpus = 8};
    jobs[i].start_s = jobs[i].submit_s + (state >> 8) % 40;
    tenant[i] = (state >> 16) % 3;
  }
  struct hr_fairness fairness = fairness_of(jobs, MAX_JOBS, tenant, NEVER);
  double sum = 0;
  for (int i = 0; i < MAX_JOBS; i++) {
    int end_s = (int)(jobs[i].start_s + jobs[i].work_s), present = 0;
    for (int t = (int)jobs[i].submit_s; t < end_s; t++)
      for (uint32_t party = 0; party < 3; party++) {
        bool found = false;
        for (int k = 0; k < MAX_JOBS; k++)
          found = found || (tenant[k] == party && jobs[k].submit_s <= t && t < jobs[k].start_s + jobs[k].work_s);
        present += found;
      }
    double jct_s = end_s - jobs[i].submit_s;
    sum += jct_s / (jobs[i].work_s * (present / jct_s));
  }
  expect(fairness.finish_time.mean, sum / MAX_JOBS);
}

TEST_MAIN("report: fairness", TEST(two_alternating_tenants), TEST(fairness_is_1_without_waits),
          TEST(short_run_times_are_extended), TEST(tenant_with_overlapping_jobs_counts_once),
          TEST(parties_are_jobs_without_names), TEST(no_completed_job), TEST(average_parties_match_count_per_second))
