/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of the policy `volcano` with results computed by hand. Without priorities, and with one queue, jobs are served
   in the order of their age. The plug-in overcommit admits jobs until their requests exceed 1.2 times the cluster. */

#include "small_run.h"

#include "headroom/unstable/systems/systems.h"

/* Job 0 uses 7 GPUs, and overcommit admits requests of 9.6 GPUs in total. Job 1 with 8 GPUs is not admitted, and job 2
   with one GPU starts before it. */
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

/* A gang gets either all its nodes or none. */
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
   from 1 s to 3.25 s. Job 1 is admitted at 2 s and bound at 3 s; job 2 is admitted at 4 s, when the queue has capacity
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

/* Two jobs of one queue on a node of 8 GPUs: job 0 has four pods of 2 GPUs and a higher priority than job 1, which has
   two pods of 1 GPU. The plug-ins of the first tier do not permit the eviction of a pod of job 0, so the second tier
   decides. There, drf lets job 1 evict a pod of job 0, because the share of job 1 stays smaller. Then all pods of job 0
   stop, and the next session starts job 0 again, because it has the higher priority. This repeats endlessly, so the
   default configuration of Volcano has no preemption by drf. Returns the number of preemptions since the last progress.
 */
static uint64_t futile_preemptions(bool drf_preempts, bool keeps_work, int64_t horizon_us, bool *stalled) {
  static const int64_t submit_us[] = {0, 0}, work_us[] = {100 * HR_SECOND_US, 50 * HR_SECOND_US};
  static const uint32_t gpus[] = {8, 2}, tasks[] = {4, 2};
  static const int32_t priority[] = {2, 1};
  char name[] = "pool", gpu[] = "GPU";
  uint32_t actions[] = {HR_VOLCANO_ALLOCATE, HR_VOLCANO_PREEMPT};
  struct hr_volcano_plugin_config first[] = {{.id = HR_VOLCANO_PRIORITY}, {.id = HR_VOLCANO_GANG}};
  struct hr_volcano_plugin_config second[] = {
      {.id = HR_VOLCANO_DRF, .disabled = drf_preempts ? 0 : UINT32_C(1) << HR_VOLCANO_PREEMPTABLE},
      {.id = HR_VOLCANO_PREDICATES}};
  struct hr_volcano_tier tiers[] = {{first, 2}, {second, 2}};
  struct hr_volcano_config volcano = {.actions = actions,
                                      .n_actions = 2,
                                      .tiers = tiers,
                                      .n_tiers = 2,
                                      .period_us = HR_SECOND_US,
                                      .pods_per_node = 110};
  const struct hr_systems systems = {.volcano = &volcano};
  const struct hr_trace trace = {.source = "test",
                                 .n_jobs = 2,
                                 .submit_us = submit_us,
                                 .work_us = work_us,
                                 .gpus = gpus,
                                 .tasks = tasks,
                                 .priority = priority};
  struct hr_pool_spec pool = {
      .name = name, .gpu = gpu, .nodes = 1, .gpus_per_node = 8, .market = {.to_us = HR_NEVER_US}};
  const struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  struct hr_class_spec classes[HR_N_CLASSES] = {0};
  for (uint32_t i = 0; i < HR_N_CLASSES && keeps_work; i++) classes[i].checkpoint = HR_CHECKPOINT_CONTINUOUS;
  struct hr_policy_choice choice;
  struct hr_error error;
  struct hr_result *result;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "volcano", &error), HR_OK);
  const struct hr_run_config config = {.trace = &trace,
                                       .cluster = &cluster,
                                       .policy = choice.ops,
                                       .params = choice.params,
                                       .seed = 1,
                                       .horizon_us = horizon_us,
                                       .classes = classes,
                                       .systems = &systems};
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  uint64_t n_futile = result->n_futile;
  *stalled = result->stalled;
  CU_ASSERT_EQUAL(result->n_completed, n_futile ? 0 : 2);
  CU_ASSERT(result->end_us < 3 * 86400 * HR_SECOND_US || horizon_us != HR_NEVER_US);
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
  return n_futile;
}

static void a_run_of_jobs_that_evict_each_other_ends(void) {
  bool stalled;
  CU_ASSERT(futile_preemptions(true, false, HR_NEVER_US, &stalled) >= 10000);
  CU_ASSERT_TRUE(stalled);
  /* A run with a horizon continues until the horizon, and reports the same. */
  CU_ASSERT(futile_preemptions(true, false, 90000 * HR_SECOND_US, &stalled) >= 10000);
  CU_ASSERT_FALSE(stalled);
  CU_ASSERT_EQUAL(futile_preemptions(false, false, HR_NEVER_US, &stalled), 0);
  CU_ASSERT_FALSE(stalled);
  /* Work is kept, so the first job completes despite evictions. */
  CU_ASSERT_EQUAL(futile_preemptions(true, true, HR_NEVER_US, &stalled), 0);
  CU_ASSERT_FALSE(stalled);
}

TEST_MAIN("runs of Volcano", TEST(enqueue_admits_what_overcommit_allows), TEST(a_gang_starts_complete),
          TEST(sessions_are_periodic), TEST(a_run_of_jobs_that_evict_each_other_ends))
