/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs with different speeds in different pools: ends, stops and checkpoints. Results are computed by hand, to the
   microsecond. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "sim/cluster/cluster.h"

#include <string.h>

enum { N_POOLS = 2, MAX_JOBS = 4 };

/* ---- Arithmetic ---- */

static void work_and_time_are_exact(void) {
  CU_ASSERT_EQUAL(hr__time_for_us(10, 1000000), 10);
  CU_ASSERT_EQUAL(hr__time_for_us(10, 333333), 31);
  CU_ASSERT_EQUAL(hr__time_for_us(10, 3000000), 4);
  CU_ASSERT_EQUAL(hr__time_for_us(0, 1), 0);
  CU_ASSERT_EQUAL(hr__work_in_us(31, 333333), 10);
  CU_ASSERT_EQUAL(hr__work_in_us(30, 333333), 9);
  CU_ASSERT_EQUAL(hr__time_for_us(HR_MAX_INPUT_US, 1), INT64_MAX / 2);
  CU_ASSERT_EQUAL(hr__time_for_us(HR_MAX_INPUT_US, 999999), 100000100000100001);
  CU_ASSERT_EQUAL(hr__work_in_us(INT64_MAX / 2, UINT32_MAX), INT64_MAX / 2);
}

/* Checks that the time for an amount of work is the minimum time in which the work completes. */
static void time_for_work_is_minimal(void) {
  uint64_t state = 1;
  for (int i = 0; i < 100000; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    int64_t work_us = (int64_t)(state >> 33) >> (i % 30);
    uint32_t speed_ppm = 1 + (uint32_t)((state >> 20) & 0x3fffff) % 4000000;
    int64_t time_us = hr__time_for_us(work_us, speed_ppm);
    CU_ASSERT_FATAL(hr__work_in_us(time_us, speed_ppm) >= work_us);
    CU_ASSERT_FATAL(time_us == 0 || hr__work_in_us(time_us - 1, speed_ppm) < work_us);
  }
}

/* ---- Runs ---- */

/* Jobs on two pools, each with one node of 8 GPUs. Model 0 is "a", model 1 is "b". */
struct speed_case {
  uint32_t n_jobs;
  int64_t work_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], model[MAX_JOBS];
  struct hr_speeds speeds;
  const struct hr_policy_ops *policy;
  struct hr_class_spec class_;
  struct hr_market_spec market; /* market of the first pool */
};

static struct hr_result *run_case(const struct speed_case *test) {
  static const char *const models[] = {"a", "b"};
  static const int64_t submit_us[MAX_JOBS];
  char name[] = "p", gpu[] = "T4";
  struct hr_trace trace = {.source = "test",
                           .n_jobs = test->n_jobs,
                           .submit_us = submit_us,
                           .work_us = test->work_us,
                           .gpus = test->gpus,
                           .model = test->model,
                           .models = {2, models}};
  struct hr_pool_spec pools[N_POOLS] = {{.name = name, .gpu = gpu, .nodes = 1, .gpus_per_node = 8},
                                        {.name = name, .gpu = gpu, .nodes = 1, .gpus_per_node = 8}};
  pools[0].market = test->market;
  struct hr_cluster_spec cluster = {pools, test->speeds.n_pools};
  struct hr_class_spec classes[HR_N_CLASSES];
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) classes[i] = test->class_;
  struct hr_policy_choice queue;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&queue, "queue", NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&queue, "backfill", "skip", NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&queue, "placement", "first-fit", NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&queue, "market", "static", NULL), HR_OK);
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = test->policy ? test->policy : queue.ops,
                                 .params = queue.params,
                                 .seed = 1,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true,
                                 .classes = classes,
                                 .speeds = test->speeds.ppm ? &test->speeds : NULL};
  struct hr_result *result = NULL;
  struct hr_error error;
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  hr_policy_choice_finish(&queue);
  return result;
}

static char model_a[] = "a", model_b[] = "b";

static int64_t end_of(const struct hr_result *result, uint32_t job) {
  return hr_result_end_us(result, (hr_job){job});
}

static void job_runs_at_speed_of_pool(void) {
  uint32_t ppm[] = {1000000, 333333};
  struct speed_case test = {.n_jobs = 3, .work_us = {10, 10, 10}, .gpus = {8, 8, 8}};
  test.speeds = (struct hr_speeds){.n_pools = 2, .ppm = ppm};
  struct hr_result *result = run_case(&test);
  CU_ASSERT_PTR_NULL(result->account);
  CU_ASSERT_EQUAL(end_of(result, 0), 10);
  CU_ASSERT_EQUAL(end_of(result, 1), 31);
  CU_ASSERT_EQUAL(result->start_us[2], 10);
  CU_ASSERT_EQUAL(end_of(result, 2), 20);
  hr_result_destroy(result);
}

/* A job uses the row of its model with the most GPUs that does not exceed its own number of GPUs. If all rows of the
   model have more GPUs (job 0), it uses the first of them. A job without a row for its model has the last speed of the
   table. */
static void rows_are_found_by_model_and_gpus(void) {
  struct hr_speed_row rows[] = {{model_a, 2}, {model_a, 4}};
  uint32_t ppm[] = {2000000, 5000000, 500000};
  struct speed_case test = {.n_jobs = 4, .work_us = {100, 100, 100, 100}, .gpus = {1, 3, 4, 0}, .model = {0, 0, 0, 0}};
  test.speeds = (struct hr_speeds){.rows = rows, .n_rows = 2, .n_pools = 1, .ppm = ppm};
  struct hr_result *result = run_case(&test);
  CU_ASSERT_EQUAL(end_of(result, 0), 50);
  CU_ASSERT_EQUAL(end_of(result, 1), 50);
  CU_ASSERT_EQUAL(end_of(result, 2), 20);
  CU_ASSERT_EQUAL(end_of(result, 3), 100); /* the speed does not apply to jobs without GPUs */
  hr_result_destroy(result);
  test.model[1] = 1;
  test.model[2] = HR_NONE;
  result = run_case(&test);
  CU_ASSERT_EQUAL(end_of(result, 1), 200);
  CU_ASSERT_EQUAL(end_of(result, 2), 200);
  hr_result_destroy(result);
}

static void model_uses_pools_with_positive_speed(void) {
  struct hr_speed_row rows[] = {{model_a, 1}, {model_b, 1}};
  uint32_t ppm[] = {0, 1000000, 0, 0, 1000000, 1000000};
  struct speed_case test = {
      .n_jobs = 4, .work_us = {10, 10, 10, 10}, .gpus = {8, 8, 8, 8}, .model = {0, 0, 1, HR_NONE}};
  test.speeds = (struct hr_speeds){.rows = rows, .n_rows = 2, .n_pools = 2, .ppm = ppm};
  struct hr_result *result = run_case(&test);
  CU_ASSERT_EQUAL(end_of(result, 0), 10);
  /* job 1 waits for job 0, because its speed is 0 in the other pool */
  CU_ASSERT_EQUAL(end_of(result, 1), 20);
  CU_ASSERT_EQUAL(result->state[2], HR_JOB_REJECTED);
  CU_ASSERT_EQUAL(result->reason[2], HR_REASON_NO_GPU_TYPE);
  CU_ASSERT_EQUAL(end_of(result, 3), 10);
  hr_result_destroy(result);
}

/* ---- Stops ---- */

/* A policy that runs job 0 in pool 0 until 7 us and then in pool 1. */
static uint32_t stops(void *self) {
  (void)self;
  return HR_POLICY_PREEMPTS;
}

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)env;
  (void)self;
  (void)error;
  return HR_OK;
}

static int64_t seen_done_us;

static enum hr_status start_in(struct hr_moves *plan, uint32_t pool) {
  struct hr_slice slice = {{pool}, 8000, 0};
  struct hr_placement placement = {{pool}, 1, &slice};
  return hr_moves_start(plan, (hr_job){0}, &placement, HR_REASON_IN_ORDER);
}

static enum hr_status move_at_7(void *self, const struct hr_view *view, struct hr_moves *plan) {
  hr_job job = {0};
  (void)self;
  if (view->now_us == 0 && view->state[0] == HR_JOB_WAITING) {
    enum hr_status status = hr_moves_wake_at(plan, 7);
    return status == HR_OK ? start_in(plan, 0) : status;
  }
  if (view->now_us != 7) return HR_OK;
  seen_done_us = hr_view_done_us(view, job);
  uint32_t mark = hr_moves_mark(plan);
  enum hr_status status = hr_moves_preempt(plan, job, HR_REASON_POLICY);
  if (status == HR_OK) status = start_in(plan, 1);
  hr_moves_rollback(plan, mark); /* the rollback must not affect the job */
  CU_ASSERT_EQUAL(hr_view_done_us(view, job), seen_done_us);
  if (status == HR_OK) status = hr_moves_preempt(plan, job, HR_REASON_POLICY);
  return status == HR_OK ? start_in(plan, 1) : status;
}

static const struct hr_policy_ops mover = {HR_POLICY_HEAD,   .name = "mover",     .summary = "",
                                           .create = create, .decide = move_at_7, .abilities = stops};

static void expect_move(uint32_t from_ppm, uint32_t to_ppm, int64_t restart_us, int64_t done_us, int64_t end_us) {
  uint32_t ppm[] = {from_ppm, to_ppm};
  struct speed_case test = {.n_jobs = 1, .work_us = {100}, .gpus = {8}, .policy = &mover};
  test.class_.restart_us = restart_us;
  test.speeds = (struct hr_speeds){.n_pools = 2, .ppm = ppm};
  struct hr_result *result = run_case(&test);
  CU_ASSERT_EQUAL(seen_done_us, done_us);
  CU_ASSERT_EQUAL(end_of(result, 0), end_us);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).held_us, end_us);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).kept_us, end_us - restart_us);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).restarting_us, restart_us);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).lost_us, 0);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).attempts, 2);
  hr_result_destroy(result);
}

static void moved_job_continues_at_new_speed(void) {
  expect_move(1000000, 300000, 0, 7, 317); /* remaining work 93 at speed 0.3 */
  expect_move(1000000, 300000, 5, 7, 322); /* the same, and a restart of 5 */
  /* completed work 2.1, of which 2 is kept; the remaining 98 at speed 2.5 take 39.2 */
  expect_move(300000, 2500000, 0, 2, 47);
  expect_move(14000000, 1000000, 0, 98, 9); /* remaining work 2 */
}

/* The node is not available from 100 s to 200 s. At speed 0.5, the 30 s of work between two checkpoints take 60 s. */
static void checkpoint_interval_is_in_work(void) {
  enum { S = HR_SECOND_US };
  struct hr_level_step levels[] = {{0, 1}, {100 * S, 0}, {200 * S, 1}};
  uint32_t ppm[] = {500000};
  struct speed_case test = {.n_jobs = 1, .work_us = {150 * S}, .gpus = {8}};
  test.speeds = (struct hr_speeds){.n_pools = 1, .ppm = ppm};
  test.class_ = (struct hr_class_spec){
      .checkpoint = HR_CHECKPOINT_INTERVAL, .interval_us = 30 * S, .write_us = 5 * S, .restart_us = 7 * S};
  test.market = (struct hr_market_spec){
      .market = HR_MARKET_SPOT,
      .to_us = HR_NEVER_US,
      .boot = {HR_DURATION_FIXED, 0, 0},
      .spot = {.model = HR_SPOT_TRACE, .levels = levels, .n_levels = 3, .period_us = INT64_C(100000) * S}};
  struct hr_result *result = run_case(&test);
  const struct hr_job_accounting copy = hr_result_accounting(result, (hr_job){0}), *accounting = &copy;
  CU_ASSERT_EQUAL(accounting->end_us, 462 * S); /* 200 + 7 + 4 x 60 + 3 x 5 */
  CU_ASSERT_EQUAL(accounting->kept_us, 300 * S);
  CU_ASSERT_EQUAL(accounting->lost_us, 35 * S);
  CU_ASSERT_EQUAL(accounting->saving_us, 20 * S);
  CU_ASSERT_EQUAL(accounting->restarting_us, 7 * S);
  CU_ASSERT_EQUAL(accounting->held_us, 362 * S);
  hr_result_destroy(result);
}

/* ---- Speed 1 has no effect ---- */

static void speed_1_has_no_effect(void) {
  uint32_t ppm[] = {1000000, 1000000}, slow[] = {1000000, 999999};
  struct speed_case test = {.n_jobs = 3, .work_us = {100000, 200000, 50}, .gpus = {8, 8, 8}};
  uint32_t *const tables[] = {NULL, ppm, slow};
  uint64_t digest[3];
  for (int i = 0; i < 3; i++) {
    test.speeds = (struct hr_speeds){.n_pools = 2, .ppm = tables[i]};
    struct hr_result *result = run_case(&test);
    digest[i] = result->digest;
    hr_result_destroy(result);
  }
  CU_ASSERT_EQUAL(digest[0], digest[1]);
  CU_ASSERT_NOT_EQUAL(digest[0], digest[2]);
}

static void table_with_wrong_number_of_pools_is_refused(void) {
  uint32_t ppm[] = {1000000, 1000000};
  char name[] = "p", gpu[] = "T4";
  const int64_t zero[1] = {0};
  const uint32_t gpus[1] = {1};
  struct hr_trace trace = {.source = "test", .n_jobs = 1, .submit_us = zero, .work_us = zero, .gpus = gpus};
  struct hr_pool_spec pool = {.name = name, .gpu = gpu, .nodes = 1, .gpus_per_node = 8};
  struct hr_cluster_spec cluster = {&pool, 1};
  struct hr_speeds speeds = {.n_pools = 2, .ppm = ppm};
  struct hr_run_config config = {
      .trace = &trace, .cluster = &cluster, .policy = &mover, .horizon_us = HR_NEVER_US, .speeds = &speeds};
  struct hr_result *result = NULL;
  struct hr_error error;
  CU_ASSERT_EQUAL(hr_sim_run(&config, &result, &error), HR_BAD_INPUT);
  CU_ASSERT_STRING_EQUAL(error.text, "the table of speeds is for 2 pools; the cluster has 1");
}

TEST_MAIN("sim speeds", TEST(work_and_time_are_exact), TEST(time_for_work_is_minimal), TEST(job_runs_at_speed_of_pool),
          TEST(rows_are_found_by_model_and_gpus), TEST(model_uses_pools_with_positive_speed),
          TEST(moved_job_continues_at_new_speed), TEST(checkpoint_interval_is_in_work), TEST(speed_1_has_no_effect),
          TEST(table_with_wrong_number_of_pools_is_refused))
