/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A gang whose tasks block each other is rejected, by each policy that shares GPUs. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "queue_choice.h"

/* Runs two jobs on the pool; the trace has `gpu_mem_mib` if it is not NULL. `policy` NULL: `queue`, strict. The caller
   destroys the result. */
static struct hr_result *run_two(const char *policy, struct hr_pool_spec *pool, const uint32_t gpus[2],
                                 const uint32_t tasks[2], const uint64_t *gpu_mem_mib) {
  const int64_t submit_us[] = {0, 0}, work_us[] = {HR_SECOND_US, HR_SECOND_US};
  struct hr_trace trace = {.source = "test",
                           .n_jobs = 2,
                           .submit_us = submit_us,
                           .work_us = work_us,
                           .gpus = gpus,
                           .tasks = tasks,
                           .gpu_mem_mib = gpu_mem_mib};
  struct hr_cluster_spec cluster = {.pools = pool, .n_pools = 1};
  struct hr_policy_choice choice;
  struct hr_error error;
  if (!policy) choice = queue_choice("strict", "best-fit");
  enum hr_status chosen = policy ? hr_policy_choice_init(&choice, policy, &error) : HR_OK;
  CU_ASSERT_EQUAL_FATAL(chosen, HR_OK);
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true};
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  hr_policy_choice_finish(&choice);
  return result;
}

/* One node has three GPUs with two equal parts each, in total six parts. Each of three tasks needs one part on each of
   two different GPUs. The rule fills GPUs one after the other: the first two tasks use both parts of GPUs 0 and 1, so
   the third task finds free parts only on GPU 2. */
static void blocked_gang_is_rejected(void) {
  static char name[] = "pool", gpu[] = "GPU";
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = 1,
                              .gpus_per_node = 3,
                              .sharing = HR_SHARING_MPS,
                              .replicas = 2,
                              .market = {.to_us = HR_NEVER_US}};
  struct hr_result *result = run_two(NULL, &pool, (const uint32_t[]){6, 1}, (const uint32_t[]){3, 1}, NULL);
  CU_ASSERT_EQUAL(result->state[0], HR_JOB_REJECTED);
  CU_ASSERT_EQUAL(result->reason[0], HR_REASON_TOO_LARGE);
  CU_ASSERT_EQUAL(result->state[1], HR_JOB_COMPLETED);
  hr_result_destroy(result);
}

/* GPU memory is not reserved. So the two tasks of job 0, of 9 GiB each, would be placed on one GPU of 16 GiB and would
   run out of memory in each attempt. Therefore the job is rejected. The two tasks of job 1, of 8 GiB each, fit. */
static void gang_without_memory_is_rejected(void) {
  static char name[] = "pool", gpu[] = "GPU";
  static const char *const policies[] = {NULL, "gang-slice", "rounds"};
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = 1,
                              .gpus_per_node = 2,
                              .gpu_mem_mib = 16 * 1024,
                              .sharing = HR_SHARING_TIME_SLICE,
                              .memory = HR_GPU_MEMORY_FIRST_COME,
                              .replicas = 2,
                              .market = {.to_us = HR_NEVER_US}};
  const uint32_t two[] = {2, 2};
  for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
    struct hr_result *result = run_two(policies[i], &pool, two, two, (const uint64_t[]){9 * 1024, 8 * 1024});
    CU_ASSERT_EQUAL(result->state[0], HR_JOB_REJECTED);
    CU_ASSERT_EQUAL(result->reason[0], HR_REASON_GPU_MEMORY);
    CU_ASSERT_EQUAL(result->state[1], HR_JOB_COMPLETED);
    CU_ASSERT_EQUAL(result->pools[0].oom_kills, 0);
    hr_result_destroy(result);
  }
}

TEST_MAIN("blocked gang", TEST(blocked_gang_is_rejected), TEST(gang_without_memory_is_rejected))
