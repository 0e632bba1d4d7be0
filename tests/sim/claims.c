/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests of pools that do not reserve the GPU memory of jobs, so that jobs are killed if too little memory is free. Each
   case is small enough to compute its results by hand: the killed jobs, the times of their next attempts, and the
   effect on other jobs. All runs are in checked mode. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "queue_choice.h"

#include <string.h>

#define S HR_SECOND_US
#define GIB 1024u

enum { MAX_JOBS = 3 };

/* A test case: jobs that are submitted at the same time, on nodes with one T4 each. Members that are 0 have no
   effect. */
struct memory_case {
  uint32_t n_jobs;
  int64_t work_s[MAX_JOBS];
  uint32_t tasks[MAX_JOBS]; /* number of tasks of each job; 0 means one task */
  uint64_t gib[MAX_JOBS];
  uint32_t model[MAX_JOBS];
  uint32_t replicas, mem_gib;
  bool reserved, fractions; /* fractions: each job gets half of the GPU, without interference; otherwise jobs share the
                               GPU by time-slicing */
  struct hr_pair_speed pairs[2];
  struct hr_level_step levels[3]; /* the number of available nodes of a spot pool over time; at_us is in seconds here */
  uint32_t n_levels;
  int64_t notice_s, restart_s;
  enum hr_checkpoint checkpoint;
  int64_t horizon_s;
};

static const char *const models[] = {"x", "y", "z"};

static struct hr_market_spec market_of(struct memory_case *memory) {
  for (uint32_t i = 0; i < memory->n_levels; i++) memory->levels[i].at_us *= S;
  if (memory->n_levels == 0) return (struct hr_market_spec){0};
  return (struct hr_market_spec){.market = HR_MARKET_SPOT,
                                 .to_us = HR_NEVER_US,
                                 .boot = {HR_DURATION_FIXED, 0, 0},
                                 .spot = {.model = HR_SPOT_TRACE,
                                          .notice_us = memory->notice_s * S,
                                          .levels = memory->levels,
                                          .n_levels = memory->n_levels,
                                          .period_us = 100000 * S}};
}

static struct hr_result *run_on(const struct hr_trace *trace, const struct hr_pool_spec *pool,
                                const struct memory_case *memory) {
  struct hr_pool_spec pools[] = {*pool};
  const struct hr_cluster_spec cluster = {pools, 1};
  struct hr_class_spec classes[HR_N_CLASSES];
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    classes[i] = (struct hr_class_spec){
        .checkpoint = memory->checkpoint, .interval_us = 10000 * S, .write_us = S, .restart_us = memory->restart_s * S};
  struct hr_policy_choice choice = queue_choice("skip", "best-fit");
  struct hr_run_config config = {.trace = trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = 1,
                                 .horizon_us = memory->horizon_s ? memory->horizon_s * S : HR_NEVER_US,
                                 .check = true,
                                 .classes = classes};
  struct hr_result *result;
  struct hr_error error = {0};
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) printf("%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  hr_policy_choice_finish(&choice);
  return result;
}

/* Runs a case. The returned result still has a pointer to the trace, which no longer exists. Tests must not use this
   pointer. */
static struct hr_result *run_case(struct memory_case memory) {
  static char name[] = "p", gpu[] = "T4";
  int64_t submit_us[MAX_JOBS] = {0}, work_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], tasks[MAX_JOBS];
  uint64_t gpu_mem_mib[MAX_JOBS];
  static const uint16_t gpu_milli[MAX_JOBS] = {500, 500, 500};
  for (uint32_t i = 0; i < memory.n_jobs; i++) {
    work_us[i] = memory.work_s[i] * S;
    tasks[i] = gpus[i] = memory.tasks[i] ? memory.tasks[i] : 1;
    gpu_mem_mib[i] = memory.gib[i] * GIB;
  }
  const struct hr_trace trace = {.source = "test",
                                 .n_jobs = memory.n_jobs,
                                 .submit_us = submit_us,
                                 .work_us = work_us,
                                 .gpus = gpus,
                                 .gpu_milli = gpu_milli,
                                 .tasks = tasks,
                                 .model = memory.model,
                                 .models = {3, models},
                                 .gpu_mem_mib = gpu_mem_mib};
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = 1,
                              .gpus_per_node = 1,
                              .gpu_mem_mib = memory.mem_gib * GIB,
                              .sharing = memory.fractions ? HR_SHARING_FRACTION : HR_SHARING_TIME_SLICE,
                              .memory = memory.reserved ? HR_GPU_MEMORY_RESERVED : HR_GPU_MEMORY_FIRST_COME,
                              .replicas = memory.replicas,
                              .pairs = memory.pairs,
                              .n_pairs = memory.pairs[0].model ? 2 : 0,
                              .market = market_of(&memory)};
  return run_on(&trace, &pool, &memory);
}

/* Returns whether the kills and the accounts of a job are as expected. `expected` has the number of attempts, then in
   seconds: the end, the kept, lost, restarting and held time. */
static bool accounts_equal(const struct hr_result *result, uint32_t job, uint32_t kills, const int64_t *expected) {
  const struct hr_job_accounting copy = hr_result_accounting(result, (hr_job){job}), *accounting = &copy;
  const int64_t found[] = {accounting->attempts,    accounting->end_us / S,        accounting->kept_us / S,
                           accounting->lost_us / S, accounting->restarting_us / S, accounting->held_us / S};
  bool same = accounting->oom_kills == kills && memcmp(found, expected, sizeof found) == 0;
  if (!same) fprintf(stderr, "job %u: %u/%u kills;", job, accounting->oom_kills, kills);
  for (uint32_t i = 0; !same && i < 6; i++) fprintf(stderr, " %lld/%lld", (long long)found[i], (long long)expected[i]);
  return same;
}
#define ASSERT_ACCOUNTS(result, job, kills, ...)                                                                       \
  do {                                                                                                                 \
    CU_ASSERT(accounts_equal(result, job, kills, (const int64_t[]){__VA_ARGS__}));                                     \
  } while (0)

#define TWO_OF_9_GIB .gib = {9, 9}, .replicas = 2, .mem_gib = 16

/* ---- Kills and retries ---- */

/* Two jobs of 9 GiB on a GPU of 16 GiB. The second job is killed at 0, 10, 30 and 70 s, because its back-off time
   doubles: 10, 20, 40 and 80 s. At 150 s the first job has ended, so the second job runs until 200 s. The first job
   runs as fast as without the second. */
static void second_job_is_killed_until_first_job_ends(void) {
  struct hr_result *result = run_case((struct memory_case){.n_jobs = 2, .work_s = {100, 50}, TWO_OF_9_GIB});
  ASSERT_ACCOUNTS(result, 0, 0, 1, 100, 100, 0, 0, 100);
  ASSERT_ACCOUNTS(result, 1, 4, 1, 200, 50, 0, 150, 200);
  CU_ASSERT_EQUAL(result->pools[0].oom_kills, 4);
  CU_ASSERT(result->pools[0].back_off_milli_us == (hr_amount)500 * 150 * S);
  CU_ASSERT_FALSE(result->stalled);
  hr_result_destroy(result);
}

/* The same case if each job gets half of the GPU instead of time slices. */
static void second_job_is_killed_with_fractions(void) {
  struct hr_result *result =
      run_case((struct memory_case){.n_jobs = 2, .work_s = {100, 50}, .fractions = true, TWO_OF_9_GIB});
  ASSERT_ACCOUNTS(result, 0, 0, 1, 100, 100, 0, 0, 100);
  ASSERT_ACCOUNTS(result, 1, 4, 1, 200, 50, 0, 150, 200);
  hr_result_destroy(result);
}

/* The first job ends at 70 s, at the instant of a retry. Its memory is released before the retry. */
static void memory_is_released_before_retry_at_same_instant(void) {
  struct hr_result *result = run_case((struct memory_case){.n_jobs = 2, .work_s = {70, 50}, TWO_OF_9_GIB});
  ASSERT_ACCOUNTS(result, 1, 3, 1, 120, 50, 0, 70, 120);
  hr_result_destroy(result);
}

/* The back-off time doubles from 10 s to at most 300 s. The second job is killed at 0, 10, 30, 70, 150, 310, 610, 910,
   1210, 1510 and 1810 s. The first job ends at 2000 s, so the second job runs from 2110 s. */
static void back_off_is_at_most_five_minutes(void) {
  struct hr_result *result = run_case((struct memory_case){.n_jobs = 2, .work_s = {2000, 50}, TWO_OF_9_GIB});
  ASSERT_ACCOUNTS(result, 0, 0, 1, 2000, 2000, 0, 0, 2000);
  ASSERT_ACCOUNTS(result, 1, 11, 1, 2160, 50, 0, 2110, 2160);
  hr_result_destroy(result);
}

/* Three jobs are placed on the GPU. The second job is killed and gets no share of the time. The first and the third job
   each get half of the time until the third job ends at 40 s. */
static void killed_job_gets_no_time_slice(void) {
  struct hr_result *result = run_case(
      (struct memory_case){.n_jobs = 3, .work_s = {100, 50, 20}, .gib = {9, 9, 0}, .replicas = 3, .mem_gib = 16});
  ASSERT_ACCOUNTS(result, 0, 0, 1, 120, 120, 0, 0, 120);
  ASSERT_ACCOUNTS(result, 1, 4, 1, 200, 50, 0, 150, 200);
  ASSERT_ACCOUNTS(result, 2, 0, 1, 40, 40, 0, 0, 40);
  hr_result_destroy(result);
}

/* The speed of a pair of jobs depends only on jobs that run, not on a killed job. The first job (model x) runs beside
   the third (model y): 100 s of work at speed 0.8 and 50 s at speed 0.4 both take 125 s. */
static void killed_job_does_not_affect_pair_speed(void) {
  char x[] = "x", y[] = "y";
  struct hr_result *result = run_case((struct memory_case){.n_jobs = 3,
                                                           .work_s = {100, 50, 50},
                                                           .gib = {9, 9, 0},
                                                           .model = {0, 2, 1},
                                                           .replicas = 3,
                                                           .mem_gib = 16,
                                                           .pairs = {{x, y, 800000}, {y, x, 400000}}});
  ASSERT_ACCOUNTS(result, 0, 0, 1, 125, 125, 0, 0, 125);
  ASSERT_ACCOUNTS(result, 2, 0, 1, 125, 125, 0, 0, 125);
  ASSERT_ACCOUNTS(result, 1, 4, 1, 200, 50, 0, 150, 200);
  hr_result_destroy(result);
}

/* The second job is killed at 0, 10 and 30 s, and still backs off at the horizon. The time in which it backs off counts
   as held time. */
static void run_ends_while_job_backs_off(void) {
  struct hr_result *result =
      run_case((struct memory_case){.n_jobs = 2, .work_s = {100, 50}, .horizon_s = 60, TWO_OF_9_GIB});
  CU_ASSERT_EQUAL(result->n_running, 2);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){1}).oom_kills, 3);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){1}).restarting_us, 60 * S);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){1}).held_us, 60 * S);
  hr_result_destroy(result);
}

/* Two tasks of 9 GiB never fit on the only GPU, which has 16 GiB. */
static void gang_that_never_fits_is_rejected(void) {
  struct hr_result *result = run_case(
      (struct memory_case){.n_jobs = 1, .work_s = {50}, .tasks = {2}, .gib = {9}, .replicas = 2, .mem_gib = 16});
  CU_ASSERT_FALSE(result->stalled);
  CU_ASSERT_EQUAL(result->state[0], HR_JOB_REJECTED);
  CU_ASSERT_EQUAL(result->reason[0], HR_REASON_GPU_MEMORY);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).oom_kills, 0);
  hr_result_destroy(result);
}

/* ---- Jobs that are not killed ---- */

static void no_kill_with_sufficient_memory(void) {
  struct memory_case cases[] = {{.gib = {9, 7}, .mem_gib = 16}, {.gib = {16, 0}, .mem_gib = 16}, {.gib = {9, 9}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cases[i].n_jobs = cases[i].replicas = 2;
    cases[i].work_s[0] = cases[i].work_s[1] = 100;
    struct hr_result *result = run_case(cases[i]);
    ASSERT_ACCOUNTS(result, 0, 0, 1, 200, 200, 0, 0, 200);
    ASSERT_ACCOUNTS(result, 1, 0, 1, 200, 200, 0, 0, 200);
    hr_result_destroy(result);
  }
}

static void job_waits_for_reserved_memory(void) {
  struct hr_result *result =
      run_case((struct memory_case){.n_jobs = 2, .work_s = {100, 50}, .reserved = true, TWO_OF_9_GIB});
  ASSERT_ACCOUNTS(result, 1, 0, 1, 150, 50, 0, 0, 50);
  CU_ASSERT_EQUAL(result->start_us[1], 100 * S);
  hr_result_destroy(result);
}

static void request_above_gpu_memory_is_rejected(void) {
  struct hr_result *result =
      run_case((struct memory_case){.n_jobs = 1, .work_s = {100}, .gib = {17}, .replicas = 2, .mem_gib = 16});
  CU_ASSERT_EQUAL(result->state[0], HR_JOB_REJECTED);
  CU_ASSERT_EQUAL(result->reason[0], HR_REASON_GPU_MEMORY);
  hr_result_destroy(result);
}

/* ---- Nodes that are reclaimed ---- */

/* The second job is killed at 0, 10, 30 and 70 s. Then its node is reclaimed. In a new attempt from 200 s on, it is
   killed at 200, 210, 230, 270 and 350 s. At 510 s it begins a restart of 5 s, and then it runs. */
static void killed_job_survives_node_reclaim(void) {
  struct hr_result *result = run_case((struct memory_case){.n_jobs = 2,
                                                           .work_s = {150, 50},
                                                           .levels = {{0, 1}, {100, 0}, {200, 1}},
                                                           .n_levels = 3,
                                                           .notice_s = 30,
                                                           .restart_s = 5,
                                                           TWO_OF_9_GIB});
  ASSERT_ACCOUNTS(result, 0, 0, 2, 355, 150, 100, 5, 255);
  ASSERT_ACCOUNTS(result, 1, 9, 2, 565, 50, 0, 415, 465);
  hr_result_destroy(result);
}

/* Jobs with checkpoints get notice at 70 s. The first job writes a checkpoint for 1 s and stops. The second job has
   just been killed again; it stops immediately. From 200 s, the first job restarts for 5 s and has 80 s of work left.
   The second job is killed at 200, 210, 230 and 270 s and restarts at 350 s. */
static void killed_job_leaves_on_notice(void) {
  struct hr_result *result = run_case((struct memory_case){.n_jobs = 2,
                                                           .work_s = {150, 50},
                                                           .levels = {{0, 1}, {100, 0}, {200, 1}},
                                                           .n_levels = 3,
                                                           .notice_s = 30,
                                                           .restart_s = 5,
                                                           .checkpoint = HR_CHECKPOINT_INTERVAL,
                                                           TWO_OF_9_GIB});
  ASSERT_ACCOUNTS(result, 0, 0, 2, 285, 150, 0, 5, 156);
  ASSERT_ACCOUNTS(result, 1, 8, 2, 405, 50, 0, 225, 275);
  hr_result_destroy(result);
}

/* Jobs get notice at 100 s, when the first job ends, and the node goes down at 200 s. The second job was killed at 70 s
   and will try again at 150 s. If it needs 50 s, it can complete in time, so it remains on its node. If it needs 51 s,
   it stops at the notice and restarts on the next node, which is available from 300 s. */
static void killed_job_stays_if_it_can_complete(void) {
  for (int64_t extra_s = 0; extra_s < 2; extra_s++) {
    struct hr_result *result = run_case((struct memory_case){.n_jobs = 2,
                                                             .work_s = {100, 50 + extra_s},
                                                             .levels = {{0, 1}, {200, 0}, {300, 1}},
                                                             .n_levels = 3,
                                                             .notice_s = 100,
                                                             .restart_s = 5,
                                                             .checkpoint = HR_CHECKPOINT_INTERVAL,
                                                             TWO_OF_9_GIB});
    if (extra_s == 0) ASSERT_ACCOUNTS(result, 1, 4, 1, 200, 50, 0, 150, 200);
    if (extra_s == 1) ASSERT_ACCOUNTS(result, 1, 4, 2, 356, 51, 0, 105, 156);
    hr_result_destroy(result);
  }
}

TEST_MAIN("claims", TEST(second_job_is_killed_until_first_job_ends), TEST(second_job_is_killed_with_fractions),
          TEST(memory_is_released_before_retry_at_same_instant), TEST(back_off_is_at_most_five_minutes),
          TEST(killed_job_gets_no_time_slice), TEST(killed_job_does_not_affect_pair_speed),
          TEST(run_ends_while_job_backs_off), TEST(gang_that_never_fits_is_rejected),
          TEST(no_kill_with_sufficient_memory), TEST(job_waits_for_reserved_memory),
          TEST(request_above_gpu_memory_is_rejected), TEST(killed_job_survives_node_reclaim),
          TEST(killed_job_leaves_on_notice), TEST(killed_job_stays_if_it_can_complete))
