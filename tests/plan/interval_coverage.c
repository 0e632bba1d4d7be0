/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measures how often the intervals of replications cover the long-run value. An experiment has 5, 10 or 20 runs of
 * a small system with changing spot capacity. The long-run value is that of very many replications of the same system.
 * Only the random events differ between replications; the jobs are fixed. With six spot nodes the load is moderate.
 * With four it is near overload, and the mean wait is so skewed that Student's interval without correction covers the
 * long-run value in only 91 to 93 % of the experiments.
 *
 *   test_plan interval_coverage [EXPERIMENTS]      the target coverage_of_intervals runs 2000 experiments
 */

#include "harness.h"
#include "plan/runner/runner.h"
#include "planned.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

enum { N_FIGURES = 3, MAX_REPLICATIONS = 20, JOBS = 300 };
static uint32_t n_experiments = 60;

static const struct hr__scoped_metric metrics[N_FIGURES] = {
    {.id = HR__M_WAIT_MEAN}, {.id = HR__M_WAIT_P95}, {.id = HR__M_MONTHLY}};

/* The number of spot nodes is inserted. */
static const char format[] =
    "{\"seed\":17,\"cluster\":{\"pools\":["
    "{\"name\":\"own\",\"gpu\":\"A\",\"nodes\":2,\"gpus_per_node\":1,\"market\":\"owned\",\"usd_per_gpu_hour\":1},"
    "{\"name\":\"spot\",\"gpu\":\"A\",\"nodes\":%d,\"gpus_per_node\":1,\"market\":\"spot\",\"usd_per_gpu_hour\":0.5,"
    "\"on_demand_usd_per_gpu_hour\":2,\"boot_s\":100,\"spot\":{\"model\":\"exponential\",\"rate_per_h\":1}}]},"
    "\"policy\":{\"name\":\"queue\",\"market\":\"spot-first\"}}";

/* Runs all replications, a thousand at a time. */
static void run_all(struct hr__runner *runner, uint32_t candidate, uint32_t count) {
  enum { AT_A_TIME = 1000 };
  struct hr__trial trials[AT_A_TIME];
  for (uint32_t from = 0; from < count; from += AT_A_TIME) {
    uint32_t n = count - from < AT_A_TIME ? count - from : AT_A_TIME;
    for (uint32_t i = 0; i < n; i++) trials[i] = (struct hr__trial){candidate, from + i};
    CU_ASSERT_EQUAL_FATAL(hr__runner_run(runner, trials, n, NULL), HR_OK);
  }
}

static void values_of(const struct hr__runner *runner, uint32_t candidate, uint32_t from, uint32_t count, size_t metric,
                      double *values) {
  for (uint32_t r = 0; r < count; r++) values[r] = hr__runner_values(runner, candidate, from + r)[metric];
}

static double truth_of(const struct hr__runner *runner, uint32_t candidate, uint32_t count, size_t metric) {
  double *values = malloc(count * sizeof *values);
  CU_ASSERT_PTR_NOT_NULL_FATAL(values);
  values_of(runner, candidate, 0, count, metric, values);
  gsl_sort(values, 1, count);
  bool quantile = hr__metric_rows[metrics[metric].id].kind == HR_METRIC_QUANTILE;
  double truth = quantile ? gsl_stats_median_from_sorted_data(values, 1, count) : gsl_stats_mean(values, 1, count);
  CU_ASSERT(values[0] < values[count - 1]); /* otherwise the metric does not vary, and the test has no meaning */
  free(values);
  return truth;
}

static double share_covered(const struct hr__runner *runner, uint32_t candidate, uint32_t from, uint32_t replications,
                            size_t metric, double truth) {
  uint32_t covered = 0;
  for (uint32_t i = 0; i < n_experiments; i++) {
    double values[MAX_REPLICATIONS];
    struct hr__interval interval;
    values_of(runner, candidate, from + i * MAX_REPLICATIONS, replications, metric, values);
    CU_ASSERT_EQUAL_FATAL(
        hr__interval_of(values, replications, hr__metric_rows[metrics[metric].id].kind, 0.95, false, &interval), HR_OK);
    covered += interval.low <= truth && truth <= interval.high;
  }
  return (double)covered / n_experiments;
}

/* With 500 or more experiments, the coverage must be 93 to 97 %. With fewer, it must be within three standard errors of
   95 %. Near overload and with fewer than 2,000 experiments, it may instead be two standard errors below 93 % or above
   97 %. The standard error of 2,000 experiments is half a percentage point. */
static void expect_coverage(double share, bool near_overload) {
  double error = sqrt(0.95 * 0.05 / n_experiments), margin = n_experiments >= 500 ? 0.02 : 3 * error;
  if (near_overload && n_experiments < 2000) margin = 0.02 + 2 * error;
  CU_ASSERT(share >= 0.95 - margin && share <= 0.95 + margin);
}

static void expect_coverage_of(const struct hr__runner *runner, uint32_t candidate, uint32_t long_run,
                               bool near_overload) {
  static const uint32_t sizes[] = {5, 10, MAX_REPLICATIONS};
  for (size_t i = 0; i < N_FIGURES; i++) {
    double truth = truth_of(runner, candidate, long_run, i);
    bool quantile = hr__metric_rows[metrics[i].id].kind == HR_METRIC_QUANTILE; /* 5 runs give no interval */
    for (size_t k = quantile ? 1 : 0; k < sizeof sizes / sizeof *sizes; k++) {
      uint32_t replications = sizes[k];
      double share = share_covered(runner, candidate, long_run, replications, i, truth);
      printf("\n  %-12s of %2u replications: %.1f %% of %u intervals cover %.6g", hr__metric_rows[metrics[i].id].path,
             replications, 100 * share, n_experiments, truth);
      expect_coverage(share, near_overload);
      if (replications >= 10) CU_ASSERT(share_covered(runner, candidate, long_run, replications, i, 1.5 * truth) < 0.9);
    }
  }
}

static void coverage_with(int n_spot_nodes) {
  n_experiments = test_argument(1, n_experiments);
  uint32_t long_run = 40 * n_experiments, environment, candidate;
  char text[sizeof format + 12];
  snprintf(text, sizeof text, format, n_spot_nodes);
  struct hr_scenario *scenario = planned_scenario(text);
  struct hr_trace *trace = planned_queue(5, JOBS, 4, 1000);
  struct hr__runner_config config = {
      .scenario = scenario, .trace = trace, .metrics = metrics, .n_metrics = N_FIGURES, .n_threads = 2};
  struct hr__environment spec = {.workload = scenario->replications.workload};
  hr_stress_init(&spec.stress);
  struct hr__runner *runner = hr__runner_create(&config);
  CU_ASSERT_PTR_NOT_NULL_FATAL(runner);
  CU_ASSERT_EQUAL_FATAL(hr__runner_add_environment(runner, &spec, &environment, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr__runner_add_candidate(runner, NULL, 0, environment, &candidate, NULL), HR_OK);
  run_all(runner, candidate, long_run + n_experiments * MAX_REPLICATIONS);
  expect_coverage_of(runner, candidate, long_run, n_spot_nodes < 6);
  hr__runner_destroy(runner);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

static void coverage_at_moderate_load(void) {
  coverage_with(6);
}

static void coverage_near_overload(void) {
  coverage_with(4);
}

TEST_MAIN("plan: coverage of intervals", TEST(coverage_at_moderate_load), TEST(coverage_near_overload))
