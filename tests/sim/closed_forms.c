/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole runs compared with closed formulas: Daly's formula for the completion time under interruptions, and the
   newsvendor solution for the amount of reserved capacity. */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "queue_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define S HR_SECOND_US

static struct hr_result *run(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                             const struct hr_class_spec *classes, int64_t market_rule, struct hr_observer *observer) {
  struct hr_policy_choice choice = queue_choice("skip", "first-fit");
  queue_set_place(&choice, "market", market_rule);
  queue_set(&choice, "spot_wait_s", "0");
  queue_set(&choice, "spot_hold_s", "0");
  queue_set(&choice, "idle_release_s", "0.000001");
  queue_set(&choice, "reclaim_hours", "0");
  queue_set(&choice, "return_to_spot", "false");
  struct hr_run_config config = {.trace = trace,
                                 .cluster = cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = 11,
                                 .horizon_us = HR_NEVER_US,
                                 .classes = classes,
                                 .observers = observer,
                                 .n_observers = observer ? 1 : 0};
  struct hr_result *result = NULL;
  struct hr_error error;
  enum hr_status status = hr_sim_run(&config, &result, &error);
  hr_policy_choice_finish(&choice);
  if (status != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  return result;
}

/* ---- Completion time under interruptions ---- */

/*
 * J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps" (2006). Let M be the mean
 * time between interruptions and R the restart time. A segment of length x between two checkpoints takes M e^(R/M)
 * (e^(x/M) - 1) on average. A job of n checkpoint intervals has n - 1 segments that consist of an interval and the
 * write of a checkpoint, and a last segment without a write.
 */
static double daly_s(double mean_s, double restart_s, double interval_s, double write_s, uint32_t n) {
  double with_write = exp((interval_s + write_s) / mean_s) - 1, last = exp(interval_s / mean_s) - 1;
  return mean_s * exp(restart_s / mean_s) * ((n - 1) * with_write + last);
}

/* Runs many equal jobs, one after another, on one spot node. Returns the mean time from the start to the end of a job,
   and stores the standard error of this mean in `*error`. */
static double mean_completion_s(double mean_s, double restart_s, double interval_s, double write_s, uint32_t n,
                                double *error) {
  enum { N_JOBS = 4000 };
  int64_t *submit_us = calloc(N_JOBS, sizeof *submit_us), *work_us = malloc(N_JOBS * sizeof *work_us);
  uint32_t *gpus = malloc(N_JOBS * sizeof *gpus);
  CU_ASSERT_FATAL(submit_us && work_us && gpus);
  for (uint32_t i = 0; i < N_JOBS; i++) {
    work_us[i] = (int64_t)(n * interval_s) * S;
    gpus[i] = 1;
  }
  struct hr_trace trace = {
      .source = "test", .n_jobs = N_JOBS, .submit_us = submit_us, .work_us = work_us, .gpus = gpus};
  char name[] = "spot", gpu[] = "V100";
  struct hr_pool_spec pool = {.name = name, .gpu = gpu, .nodes = 1, .gpus_per_node = 1};
  pool.market = (struct hr_market_spec){.market = HR_MARKET_SPOT};
  pool.market.spot = (struct hr_spot_spec){.model = HR_SPOT_EXPONENTIAL, .rate_per_h = 3600 / mean_s, .batch_mean = 1};
  struct hr_class_spec classes[HR_N_CLASSES];
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    classes[i] = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_INTERVAL,
                                        .interval_us = (int64_t)interval_s * S,
                                        .write_us = (int64_t)write_s * S,
                                        .restart_us = (int64_t)restart_s * S};
  struct hr_cluster_spec cluster = {&pool, 1};
  struct hr_result *result = run(&trace, &cluster, classes, 0, NULL);
  double sum = 0, squares = 0;
  for (uint32_t i = 0; i < N_JOBS; i++) {
    double s = (double)(hr_result_accounting(result, (hr_job){i}).end_us - result->start_us[i]) / (double)S;
    sum += s;
    squares += s * s;
  }
  CU_ASSERT_EQUAL(result->n_completed, N_JOBS);
  hr_result_destroy(result);
  free(submit_us);
  free(work_us);
  free(gpus);
  *error = sqrt((squares / N_JOBS - sum / N_JOBS * sum / N_JOBS) / N_JOBS);
  return sum / N_JOBS;
}

static void completion_time_equals_dalys_formula(void) {
  static const struct {
    double mean_s, restart_s, interval_s, write_s;
    uint32_t n;
  } cases[] = {{3600, 0, 600, 0, 10}, {3600, 120, 1200, 60, 6}, {1800, 300, 600, 30, 12}, {7200, 60, 7200, 0, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double error, mean = mean_completion_s(cases[i].mean_s, cases[i].restart_s, cases[i].interval_s, cases[i].write_s,
                                           cases[i].n, &error);
    double expected = daly_s(cases[i].mean_s, cases[i].restart_s, cases[i].interval_s, cases[i].write_s, cases[i].n);
    CU_ASSERT(fabs(mean - expected) < 3.5 * error);
    CU_ASSERT(error < 0.02 * expected); /* the mean is precise enough to detect an error of 10 % in the formula */
  }
}

/* ---- How much to reserve ---- */

enum { HOURS = 200, MAX_DEMAND = 20 };

/* At the beginning of each hour, by_hour[hour] jobs start. Each of them has one GPU and runs for one hour. */
struct demand {
  uint32_t by_hour[HOURS], n_jobs;
  int64_t *submit_us, *work_us;
  uint32_t *gpus;
};

static void draw_demand(struct demand *demand, uint32_t seed) {
  struct hr__stream stream;
  hr__stream_init(&stream, seed, HR__PURPOSE_ARRIVAL, 0, 0);
  demand->n_jobs = 0;
  for (uint32_t hour = 0; hour < HOURS; hour++) {
    double daily = 0.5 + 0.5 * sin(hour / 24.0 * 6.283185307);
    demand->by_hour[hour] = (uint32_t)(hr__stream_uniform(&stream) * daily * MAX_DEMAND);
    demand->n_jobs += demand->by_hour[hour];
  }
  demand->submit_us = malloc(demand->n_jobs * sizeof *demand->submit_us);
  demand->work_us = malloc(demand->n_jobs * sizeof *demand->work_us);
  demand->gpus = malloc(demand->n_jobs * sizeof *demand->gpus);
  CU_ASSERT_FATAL(demand->submit_us && demand->work_us && demand->gpus);
  for (uint32_t hour = 0, job = 0; hour < HOURS; hour++)
    for (uint32_t i = 0; i < demand->by_hour[hour]; i++, job++) {
      demand->submit_us[job] = hour * INT64_C(3600) * S;
      demand->work_us[job] = INT64_C(3600) * S;
      demand->gpus[job] = 1;
    }
}

/* Returns the cost in micro-dollars if `reserved` GPUs are reserved and all further GPUs are on-demand. */
static int64_t cost_with(const struct demand *demand, uint32_t reserved, int64_t reserved_uusd_h,
                         int64_t on_demand_uusd_h) {
  struct hr_trace trace = {.source = "test",
                           .n_jobs = demand->n_jobs,
                           .submit_us = demand->submit_us,
                           .work_us = demand->work_us,
                           .gpus = demand->gpus};
  char name[] = "pool", gpu[] = "A100";
  struct hr_pool_spec pools[2] = {{.name = name, .gpu = gpu, .nodes = reserved, .gpus_per_node = 1},
                                  {.name = name, .gpu = gpu, .nodes = MAX_DEMAND, .gpus_per_node = 1}};
  pools[0].market =
      (struct hr_market_spec){.market = HR_MARKET_RESERVED, .price_uusd_h = reserved_uusd_h, .to_us = HR_NEVER_US};
  pools[1].market = (struct hr_market_spec){.market = HR_MARKET_ON_DEMAND, .price_uusd_h = on_demand_uusd_h};
  struct hr_cluster_spec cluster = {pools, 2};
  struct hr_ledger *ledger = hr_ledger_create(&trace, &cluster, false);
  CU_ASSERT_PTR_NOT_NULL_FATAL(ledger);
  struct hr_observer observer = hr_ledger_observer(ledger);
  struct hr_result *result = run(&trace, &cluster, NULL, 1, &observer);
  CU_ASSERT_EQUAL_FATAL(hr_ledger_close(ledger, result), HR_OK);
  hr_amount sum = hr_ledger_pool(ledger, (hr_pool){0})->cost + hr_ledger_pool(ledger, (hr_pool){1})->cost;
  hr_result_destroy(result);
  hr_ledger_destroy(ledger);
  return (int64_t)(sum / HR_LEDGER_UNITS_PER_UUSD);
}

/* Returns the newsvendor solution: the smallest number Q of reserved GPUs, at least 1, for which the share of hours
   with a demand above Q is at most c_reserved / c_on_demand. */
static uint32_t newsvendor(const struct demand *demand, uint32_t n_hours, int64_t reserved_uusd_h,
                           int64_t on_demand_uusd_h) {
  for (uint32_t q = 1;; q++) {
    uint32_t above = 0;
    for (uint32_t hour = 0; hour < n_hours; hour++) above += demand->by_hour[hour] > q;
    if ((int64_t)above * on_demand_uusd_h <= (int64_t)n_hours * reserved_uusd_h) return q;
  }
}

static void cheapest_reservation_equals_newsvendor(void) {
  static const int64_t prices[][2] = {{600000, 1000000}, {400000, 1000000}, {900000, 1000000}, {350000, 3060000}};
  for (uint32_t i = 0; i < sizeof prices / sizeof *prices; i++) {
    struct demand demand;
    draw_demand(&demand, i);
    uint32_t n_hours = HOURS; /* the run ends with its last job */
    while (demand.by_hour[n_hours - 1] == 0) n_hours--;
    uint32_t best = 1, expected = newsvendor(&demand, n_hours, prices[i][0], prices[i][1]);
    int64_t min_cost = INT64_MAX, cost_at_expected = 0;
    for (uint32_t q = 1; q <= MAX_DEMAND; q++) {
      int64_t cost = cost_with(&demand, q, prices[i][0], prices[i][1]);
      if (cost < min_cost) min_cost = cost, best = q;
      if (q == expected) cost_at_expected = cost;
    }
    /* Two amounts of reserved GPUs can be equally good. Their costs then differ slightly, because an idle on-demand
       node is billed for a microsecond before it is released. */
    CU_ASSERT(best == expected || cost_at_expected - min_cost < 1000);
    free(demand.submit_us);
    free(demand.work_us);
    free(demand.gpus);
  }
}

TEST_MAIN("closed forms", TEST(completion_time_equals_dalys_formula), TEST(cheapest_reservation_equals_newsvendor))
