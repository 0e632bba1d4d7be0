/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of the policy `volcano` with results that follow by hand. Without priorities, and with one queue, jobs are
   served by their age; overcommit admits jobs of up to 1.2 times the cluster. */

#include "small_run.h"

/* Job 1 is admitted (8 of 9.6 GPUs less the 8 in use are not enough: it is not), so job 2 of one GPU goes first. */
static void enqueue_admits_what_overcommit_allows(void) {
  const struct small_run run = {.n_jobs = 3,
                                .submit_s = {0, 1, 2},
                                .work_s = {100, 50, 10},
                                .gpus = {7, 8, 1},
                                .n_pools = 1,
                                .nodes = {1},
                                .gpus_per_node = {8},
                                .policy = "volcano"};
  struct hr_result *result = small_run(run);
  CU_ASSERT_EQUAL(result->start_us[0], 1 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->start_us[2], 3 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->start_us[1], 102 * HR_SECOND_US); /* job 0 ends at 101 s */
  hr_result_destroy(result);
}

/* A gang gets all its nodes or none. */
static void a_gang_starts_complete(void) {
  const struct small_run run = {.n_jobs = 3,
                                .submit_s = {0, 1, 2},
                                .work_s = {20, 50, 30},
                                .gpus = {8, 16, 8},
                                .n_pools = 1,
                                .nodes = {2},
                                .gpus_per_node = {8},
                                .policy = "volcano"};
  struct hr_result *result = small_run(run);
  CU_ASSERT_EQUAL(result->start_us[0], 1 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->start_us[2], 3 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->start_us[1], 34 * HR_SECOND_US); /* job 2 ends at 33 s */
  hr_result_destroy(result);
}

/* Sessions are at whole seconds: a job that is submitted between two of them is admitted in the next one. Job 0 runs
   from 1 s to 3.25 s. Job 1 is admitted at 2 s and bound at 3 s; job 2 is admitted at 4 s, when the queue has room
   again. */
static void sessions_are_periodic(void) {
  struct hr_policy_choice choice;
  struct hr_error error;
  const int64_t submit_us[] = {0, 1500000, 1500000}, work_us[] = {2250000, 1000000, 1000000};
  const uint32_t gpus[] = {4, 4, 4};
  char name[] = "pool", gpu[] = "GPU";
  const struct hr_trace trace = {
      .source = "test", .n_jobs = 3, .submit_us = submit_us, .work_us = work_us, .gpus = gpus};
  struct hr_pool_spec pool = {
      .name = name, .gpu = gpu, .nodes = 1, .gpus_per_node = 8, .market = {.to_us = HR_NEVER_US}};
  const struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "volcano", &error), HR_OK);
  const struct hr_run_config config = {.trace = &trace,
                                       .cluster = &cluster,
                                       .policy = choice.ops,
                                       .params = choice.params,
                                       .seed = 1,
                                       .horizon_us = HR_NEVER_US,
                                       .check = true};
  struct hr_result *result;
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  CU_ASSERT_EQUAL(result->start_us[1], 3000000);
  CU_ASSERT_EQUAL(result->start_us[2], 5000000);
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
}

TEST_MAIN("runs of Volcano", TEST(enqueue_admits_what_overcommit_allows), TEST(a_gang_starts_complete),
          TEST(sessions_are_periodic))
