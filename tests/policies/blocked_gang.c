/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A gang whose tasks block each other is rejected, not left waiting. One node has three GPUs in two equal parts each,
   so there are six parts; each of three tasks needs a part of two different GPUs. The rule fills GPUs one after the
   other: the first two tasks take both parts of GPUs 0 and 1, and the third task finds only GPU 2. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "queue_choice.h"

static void blocked_gang_is_rejected(void) {
  static char name[] = "pool", gpu[] = "GPU";
  const int64_t submit_us[] = {0, 0}, work_us[] = {HR_SECOND_US, HR_SECOND_US};
  const uint32_t gpus[] = {6, 1}, tasks[] = {3, 1};
  struct hr_trace trace = {
      .source = "test", .n_jobs = 2, .submit_us = submit_us, .work_us = work_us, .gpus = gpus, .tasks = tasks};
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = 1,
                              .gpus_per_node = 3,
                              .sharing = HR_SHARING_MPS,
                              .replicas = 2,
                              .market = {.to_us = HR_NEVER_US}};
  struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  struct hr_policy_choice choice = queue_choice("strict", "best-fit");
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true};
  struct hr_result *result = NULL;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  CU_ASSERT_EQUAL(result->state[0], HR_JOB_REJECTED);
  CU_ASSERT_EQUAL(result->reason[0], HR_REASON_TOO_LARGE);
  CU_ASSERT_EQUAL(result->state[1], HR_JOB_COMPLETED);
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
}

TEST_MAIN("blocked gang", TEST(blocked_gang_is_rejected))
