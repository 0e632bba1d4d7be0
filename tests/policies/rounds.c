/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The policy `rounds` in cases computed by hand. A further test uses measured speeds: results must be better if the
   policy knows them. */

#include "lab.h"
#include "small_run.h"

#include "headroom/scenario.h"

#include <math.h>
#include <unistd.h>

#define ROUNDS(objective_) .policy = "rounds", .params = {{"round_s", "10"}, {"objective", objective_}}
#define ONE_GPU .n_pools = 1, .nodes = {1}, .gpus_per_node = {1}

/* Pools and times of job starts. */
struct starts {
  uint32_t count;
  struct {
    int64_t at_s;
    uint32_t job, pool;
  } at[64];
};

static void on_start(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct starts *starts = self;
  (void)view;
  if (event->kind != HR_EVENT_START || starts->count == 64) return;
  starts->at[starts->count].at_s = event->at_us / HR_SECOND_US;
  starts->at[starts->count].job = event->job.id;
  starts->at[starts->count++].pool = event->placement->pool.id;
}

static struct hr_result *run_logged(struct small_run it, struct starts *starts) {
  *starts = (struct starts){0};
  const struct hr_observer observer = {starts, on_start, NULL};
  return small_run_with(&it, &observer);
}

/* ---- Cases computed by hand ------------------------------------------------------------------------- */

static void two_jobs_share_one_gpu(void) {
  static const char *const objectives[] = {"fair", "max-min", "makespan"};
  for (int i = 0; i < 3; i++) {
    struct starts starts;
    struct small_run it = {ONE_GPU, ROUNDS(objectives[i]), .n_jobs = 2, .work_s = {40, 40}, .gpus = {1, 1}};
    struct hr_result *result = run_logged(it, &starts);
    CU_ASSERT(ended(result, 0, 70, 4));
    CU_ASSERT(ended(result, 1, 80, 4));
    CU_ASSERT_EQUAL_FATAL(starts.count, 8);
    for (uint32_t k = 0; k < 8; k++) {
      CU_ASSERT_EQUAL(starts.at[k].job, k % 2);
      CU_ASSERT_EQUAL(starts.at[k].at_s, 10 * k);
    }
    hr_result_destroy(result);
  }
}

/* With weights 3 and 1, the first job runs in three of four rounds. */
static void shares_by_weight(void) {
  struct small_run it = {ONE_GPU, ROUNDS("max-min"), .n_jobs = 2, .work_s = {300, 300}, .gpus = {1, 1}};
  it.priority[0] = 3;
  it.params[2][0] = "weight";
  it.params[2][1] = "priority";
  it.horizon_s = 200;
  struct hr_result *result = small_run(it);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).held_us, 150 * HR_SECOND_US);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){1}).held_us, 50 * HR_SECOND_US);
  hr_result_destroy(result);
}

static void job_chosen_again_is_not_stopped(void) {
  struct hr_result *result = small_run((struct small_run){.n_pools = 1,
                                                          .nodes = {2},
                                                          .gpus_per_node = {2},
                                                          ROUNDS("max-min"),
                                                          .n_jobs = 3,
                                                          .work_s = {95, 300, 200},
                                                          .gpus = {1, 2, 1}});
  CU_ASSERT(ended(result, 0, 95, 1));
  CU_ASSERT(ended(result, 1, 300, 1));
  CU_ASSERT(ended(result, 2, 200, 1));
  hr_result_destroy(result);
}

/* Capacity that becomes free within a round is used immediately, also by jobs that are submitted within the round. */
static void free_capacity_is_used_within_a_round(void) {
  struct hr_result *result = small_run(
      (struct small_run){ONE_GPU, ROUNDS("fair"), .n_jobs = 2, .submit_s = {0, 3}, .work_s = {5, 5}, .gpus = {1, 1}});
  CU_ASSERT(ended(result, 0, 5, 1));
  CU_ASSERT(ended(result, 1, 10, 1));
  hr_result_destroy(result);
}

/* The second job can run only on the first GPU type. The objective `fair` ignores speeds, so the first job uses the
   only GPU of that type in the first round, and the second job starts at 10 s. */
static void type_is_left_to_job_that_needs_it(void) {
  struct small_run it = {.n_pools = 2,
                         .nodes = {1, 1},
                         .gpus_per_node = {1, 1},
                         ROUNDS("fair"),
                         .n_jobs = 2,
                         .work_s = {100, 100},
                         .gpus = {1, 1},
                         .model = {0, 1},
                         .n_models = 2,
                         .ppm = {1000000, 1000000, 1000000, 0}};
  struct hr_result *result = small_run(it);
  CU_ASSERT_EQUAL(result->start_us[1], 10 * HR_SECOND_US);
  CU_ASSERT(ended(result, 1, 110, 1));
  CU_ASSERT(ended(result, 0, 100, 2));
  hr_result_destroy(result);
  it.params[1][1] = "max-min";
  result = small_run(it);
  CU_ASSERT(ended(result, 0, 100, 1));
  CU_ASSERT(ended(result, 1, 100, 1));
  hr_result_destroy(result);
}

/* A gang with 4 GPUs need not wait until all GPUs are idle: the other jobs are stopped after the first round. */
static void gang_evicts_leases(void) {
  struct small_run it = {.n_pools = 1,
                         .nodes = {1},
                         .gpus_per_node = {4},
                         ROUNDS("fair"),
                         .n_jobs = 4,
                         .submit_s = {0, 0, 0, 0},
                         .work_s = {30, 30, 30, 20},
                         .gpus = {1, 1, 1, 4}};
  struct hr_result *result = small_run(it);
  CU_ASSERT_EQUAL(result->start_us[3], 10 * HR_SECOND_US);
  for (uint32_t i = 0; i < 3; i++) CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){i}).attempts, 2);
  hr_result_destroy(result);
}

/* ---- Cost ------------------------------------------------------------------------------------------- */

/* A slow, cheap GPU type and a fast, expensive one. */
static struct small_run two_priced_types(int64_t deadline_s) {
  return (struct small_run){.n_pools = 2,
                            .nodes = {1, 1},
                            .gpus_per_node = {1, 1},
                            .price_uusd_h = {1000000, 10000000},
                            ROUNDS("cost-slo"),
                            .n_jobs = 1,
                            .work_s = {100},
                            .deadline_s = {deadline_s},
                            .gpus = {1},
                            .n_models = 1,
                            .ppm = {500000, 1000000}};
}

static bool starts_in(const struct starts *starts, uint32_t pool) {
  for (uint32_t i = 0; i < starts->count; i++)
    if (starts->at[i].pool == pool) return true;
  return false;
}

static void cheap_type_is_used_before_a_late_deadline(void) {
  struct starts starts;
  struct hr_result *result = run_logged(two_priced_types(1000), &starts);
  CU_ASSERT(hr_result_accounting(result, (hr_job){0}).end_us <= 1000 * HR_SECOND_US);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).held_us,
                  200 * HR_SECOND_US); /* all work was done at half the speed */
  CU_ASSERT(!starts_in(&starts, 1));
  hr_result_destroy(result);
}

static void expensive_type_is_used_before_an_early_deadline(void) {
  struct starts starts;
  struct hr_result *result = run_logged(two_priced_types(150), &starts);
  CU_ASSERT(hr_result_accounting(result, (hr_job){0}).end_us <= 150 * HR_SECOND_US);
  CU_ASSERT(starts_in(&starts, 0) && starts_in(&starts, 1));
  hr_result_destroy(result);
}

/* If the two jobs cannot both meet their deadlines, both are late by about the same time. */
static void late_jobs_are_equally_late(void) {
  struct small_run it = {ONE_GPU,       ROUNDS("cost-slo"),   .price_uusd_h = {1000000},
                         .n_jobs = 2,   .work_s = {100, 100}, .deadline_s = {120, 120},
                         .gpus = {1, 1}};
  struct hr_result *result = small_run(it);
  CU_ASSERT_EQUAL(result->n_completed, 2);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){1}).end_us, 200 * HR_SECOND_US);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).end_us, 190 * HR_SECOND_US);
  hr_result_destroy(result);
}

/* The job has two rounds of work, and a deadline at 200 s. A node is paid for only in the rounds in which the job runs.
   Reserved capacity has no additional cost, so it is used first. */
static void nodes_are_released_after_use(void) {
  struct small_run it = {.n_pools = 2,
                         .nodes = {1, 0},
                         .gpus_per_node = {1, 1},
                         .price_uusd_h = {1000000, 2000000},
                         .market = {HR_MARKET_ON_DEMAND, HR_MARKET_RESERVED},
                         ROUNDS("cost-slo"),
                         .n_jobs = 1,
                         .work_s = {20},
                         .deadline_s = {200},
                         .gpus = {1}};
  struct hr_result *result = small_run(it);
  CU_ASSERT(hr_result_accounting(result, (hr_job){0}).end_us <= 200 * HR_SECOND_US);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).held_us, 20 * HR_SECOND_US);
  CU_ASSERT(result->pools[0].up_us == 20 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->pools[0].launches, 1);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).end_us, 20 * HR_SECOND_US);
  hr_result_destroy(result);
  it.nodes[1] = 1;
  result = small_run(it);
  CU_ASSERT(hr_result_accounting(result, (hr_job){0}).end_us <= 200 * HR_SECOND_US);
  CU_ASSERT_EQUAL(result->pools[0].launches, 0);
  hr_result_destroy(result);
}

/* ---- With measured throughputs ---------------------------------------------------------------------- */

static const char *const models[] = {"ResNet-18 (batch size 16)",
                                     "ResNet-18 (batch size 128)",
                                     "ResNet-50 (batch size 32)",
                                     "ResNet-50 (batch size 128)",
                                     "Transformer (batch size 16)",
                                     "Transformer (batch size 128)",
                                     "LM (batch size 5)",
                                     "LM (batch size 80)",
                                     "Recommendation (batch size 512)",
                                     "Recommendation (batch size 8192)",
                                     "CycleGAN",
                                     "A3C"};

/* Writes a trace of 400 jobs with one GPU. Most of the time, there are more jobs than GPUs of the fast types. */
static void write_trace(const char *path) {
  FILE *file = fopen(path, "w");
  uint64_t state = 7;
  double at_s = 0;
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs("job_id,submit_s,duration_s,gpus,model\n", file);
  for (int i = 1; i <= 400; i++) {
    double u[3];
    for (int k = 0; k < 3; k++) {
      state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      u[k] = (double)(state >> 11) * 0x1p-53;
    }
    fprintf(file, "%d,%.0f,%.0f,1,%s\n", i, at_s, 1800 * exp(2.5 * u[0]), models[(int)(u[1] * 12)]);
    at_s += -300 * log(1 - u[2]);
  }
  fclose(file);
}

/* Writes a scenario with three pools. The fastest type is first, so an objective that ignores speeds uses it first. */
static void write_scenario(const char *path, const char *throughputs) {
  FILE *file = fopen(path, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fprintf(file,
          "{\"cluster\":{\"pools\":[{\"name\":\"v\",\"gpu\":\"V100\",\"nodes\":2,\"gpus_per_node\":4},"
          "{\"name\":\"p\",\"gpu\":\"P100\",\"nodes\":2,\"gpus_per_node\":4},"
          "{\"name\":\"k\",\"gpu\":\"K80\",\"nodes\":2,\"gpus_per_node\":4}]},"
          "\"models\":{\"reference\":\"V100\",\"default\":\"same\",\"file\":\"%s\"},"
          "\"policy\":{\"name\":\"rounds\"}}",
          throughputs);
  fclose(file);
}

struct figures {
  double jct_h, makespan_h;
};

static struct figures run_objective(const char *scenario_path, const struct hr_trace *trace, const char *objective) {
  char override[64];
  struct hr_scenario *scenario;
  struct hr_error error;
  struct hr_result *result = NULL;
  snprintf(override, sizeof override, "policy.objective=%s", objective);
  const char *overrides[] = {override};
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(scenario_path, overrides, 1, &scenario, &error), HR_OK);
  struct hr_run_config config = {.trace = trace,
                                 .cluster = &scenario->cluster,
                                 .policy = scenario->policy.ops,
                                 .params = scenario->policy.params,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true,
                                 .speeds = scenario->speeds};
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  CU_ASSERT_EQUAL(result->n_completed, trace->n_jobs);
  struct figures figures = {0};
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    double end_h = (double)hr_result_accounting(result, (hr_job){i}).end_us / 3.6e9;
    figures.jct_h += (end_h - (double)trace->submit_us[i] / 3.6e9) / trace->n_jobs;
    figures.makespan_h = fmax(figures.makespan_h, end_h);
  }
  printf("\n    %-8s mean jct %6.2f h, makespan %6.2f h", objective, figures.jct_h, figures.makespan_h);
  hr_result_destroy(result);
  hr_scenario_destroy(scenario);
  return figures;
}

/* One GPU in four parts serves a gang that requests four GPUs; a gang that requests five can never run. */
static void gang_takes_parts_of_a_gpu(void) {
  static const char *const objectives[] = {"fair", "max-min", "makespan", "cost-slo"};
  static struct lab lab;
  for (int i = 0; i < 4; i++) {
    lab_begin(&lab);
    hr_policy_choice_finish(&lab.policy);
    CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&lab.policy, "rounds", NULL), HR_OK);
    lab_set(&lab, "objective", objectives[i]);
    lab_add_pool(&lab, 1, 1);
    lab.pools[0].sharing = HR_SHARING_MPS;
    lab.pools[0].replicas = 4;
    lab_add_job(&lab, (struct lab_job){.work_us = HR_SECOND_US, .gpus = 4});
    lab_add_job(&lab, (struct lab_job){.work_us = HR_SECOND_US, .gpus = 5});
    CU_ASSERT_TRUE_FATAL(lab_run(&lab, NULL));
    CU_ASSERT_EQUAL(lab.result->start_us[0], 0);
    CU_ASSERT_EQUAL(lab_end_us(&lab, 1), HR_NEVER_US);
    lab_finish(&lab);
  }
}

static void known_throughputs_improve_completion_times(void) {
  static const char throughputs[] = REAL_TRACES_DIR "/throughput-gavel/simulation_throughputs.json";
  char folder[] = "/tmp/headroom-rounds-XXXXXX";
  struct hr_trace *trace;
  struct hr_error error;
  if (real_trace_missing(throughputs)) return;
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
  CU_ASSERT_EQUAL_FATAL(chdir(folder), 0);
  write_trace("t.csv");
  write_scenario("s.json", throughputs);
  CU_ASSERT_EQUAL_FATAL(hr_trace_read("t.csv", NULL, &trace, &error), HR_OK);
  struct figures fair = run_objective("s.json", trace, "fair");
  struct figures max_min = run_objective("s.json", trace, "max-min");
  struct figures makespan = run_objective("s.json", trace, "makespan");
  CU_ASSERT(max_min.jct_h < fair.jct_h);
  CU_ASSERT(makespan.makespan_h < fair.makespan_h);
  hr_trace_destroy(trace);
  CU_ASSERT(remove("t.csv") == 0 && remove("s.json") == 0 && rmdir(folder) == 0);
}

TEST_MAIN("rounds", TEST(two_jobs_share_one_gpu), TEST(shares_by_weight), TEST(job_chosen_again_is_not_stopped),
          TEST(free_capacity_is_used_within_a_round), TEST(type_is_left_to_job_that_needs_it), TEST(gang_evicts_leases),
          TEST(cheap_type_is_used_before_a_late_deadline), TEST(expensive_type_is_used_before_an_early_deadline),
          TEST(late_jobs_are_equally_late), TEST(nodes_are_released_after_use), TEST(gang_takes_parts_of_a_gpu),
          TEST(known_throughputs_improve_completion_times))
