/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Costs of simulated runs: invariants of random runs, and the cost of GPUs withheld by the spot market, computed by
   hand. */

#include "harness.h"
#include "headroom/policies.h"

#include "headroom/report.h"

#include <math.h>
#include <string.h>

#define USD INT64_C(1000000)
#define HOUR_US (INT64_C(3600) * HR_SECOND_US)

enum { N_JOBS = 40, N_POOLS = 5, N_RUNS = 300 };

struct random_run {
  uint64_t state;
  int64_t submit_us[N_JOBS], work_us[N_JOBS], deadline_us[N_JOBS];
  uint32_t gpus[N_JOBS], tenant[N_JOBS];
  uint8_t class_[N_JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pool[N_POOLS];
  struct hr_cluster_spec cluster;
  struct hr_class_spec classes[HR_N_CLASSES];
  struct hr_cost_spec costs;
  struct hr_policy_choice policy;
  int64_t horizon_us;
};

/* Returns a random number below `below`. The generator is a 64-bit linear congruential generator with the constants of
   Knuth. Only the high bits are used, because the low bits have short periods. */
static uint64_t draw(struct random_run *run, uint64_t below) {
  run->state = run->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (run->state >> 33) % below;
}

/* ---- A run ------------------------------------------------------------------------------------------ */

static void draw_trace(struct random_run *run) {
  static const char *const tenants[] = {"a", "b", "c"};
  int64_t at_us = 0;
  for (uint32_t i = 0; i < N_JOBS; i++) {
    run->submit_us[i] = at_us;
    at_us += (int64_t)draw(run, (uint64_t)HOUR_US);
    run->work_us[i] = (int64_t)draw(run, 6 * (uint64_t)HOUR_US);
    run->deadline_us[i] = draw(run, 2) ? at_us + (int64_t)draw(run, 9 * (uint64_t)HOUR_US) : HR_UNKNOWN_US;
    run->gpus[i] = 1 + (uint32_t)draw(run, 8);
    run->tenant[i] = draw(run, 8) ? (uint32_t)draw(run, 3) : HR_NONE;
    run->class_[i] = (uint8_t)draw(run, HR_N_CLASSES);
  }
  run->trace = (struct hr_trace){.source = "random",
                                 .n_jobs = N_JOBS,
                                 .submit_us = run->submit_us,
                                 .work_us = run->work_us,
                                 .gpus = run->gpus,
                                 .deadline_us = run->deadline_us,
                                 .tenant = run->tenant,
                                 .class_ = run->class_,
                                 .tenants = {3, tenants}};
}

static void draw_pools(struct random_run *run) {
  for (uint32_t i = 0; i < N_POOLS; i++) {
    enum hr_market market = (enum hr_market)(1 + draw(run, HR_N_MARKETS - 1));
    struct hr_market_spec *spec = &run->pool[i].market;
    run->pool[i] = (struct hr_pool_spec){.name = (char *)"pool",
                                         .gpu = draw(run, 2) ? (char *)"A100-80" : (char *)"H100",
                                         .nodes = 1 + (uint32_t)draw(run, 3),
                                         .gpus_per_node = i ? 4 : 8};
    *spec = (struct hr_market_spec){.market = market,
                                    .price_uusd_h = (int64_t)draw(run, 5000000),
                                    .on_demand_uusd_h = (int64_t)draw(run, 9000000),
                                    .to_us = HR_NEVER_US};
    if (market == HR_MARKET_RESERVED && i && draw(run, 2)) spec->to_us = 1 + (int64_t)draw(run, 1000) * HOUR_US;
    spec->boot = (struct hr_duration){HR_DURATION_FIXED, (double)draw(run, 300), 0};
    if (draw(run, 2)) spec->billing = (struct hr_billing){HR_SECOND_US, 60 * HR_SECOND_US, HOUR_US / 2};
    if (market == HR_MARKET_SPOT)
      spec->spot = (struct hr_spot_spec){.model = HR_SPOT_EXPONENTIAL,
                                         .notice_us = 120 * HR_SECOND_US,
                                         .rate_per_h = 0.05 * (double)draw(run, 60),
                                         .batch_mean = 1};
  }
  run->cluster = (struct hr_cluster_spec){run->pool, N_POOLS};
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    run->classes[i] = (struct hr_class_spec){.checkpoint = (enum hr_checkpoint)draw(run, HR_N_CHECKPOINTS),
                                             .interval_us = HOUR_US,
                                             .checkpoint_mib = 1000 * draw(run, 3),
                                             .write_us = (int64_t)draw(run, 200) * HR_SECOND_US,
                                             .restart_us = (int64_t)draw(run, 600) * HR_SECOND_US};
}

static void draw_costs(struct random_run *run) {
  static struct hr_dataset datasets[] = {{(char *)"a", 12345678}, {NULL, 7654321}};
  static struct hr_savings_plan plans[] = {{1234567, 270000, NULL, NULL, 0, 0}, {2345678, 410000, NULL, NULL, 0, 0}};
  run->costs = (struct hr_cost_spec){.storage = {draw(run, 2) ? 23000 : 0, datasets, 2, HOUR_US},
                                     .egress = {.uusd_per_gb = draw(run, 2) ? 90000 : 0},
                                     .operations = {(int64_t)draw(run, 2) * 800 * USD, (int64_t)draw(run, 2) * USD},
                                     .downtime = {(int64_t)draw(run, 2) * USD, (int64_t)draw(run, 2) * USD},
                                     .idle_split = (enum hr_idle_split)draw(run, HR_N_IDLE_SPLITS),
                                     .plans = plans,
                                     .n_plans = draw(run, 3)};
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) {
    run->costs.egress.mb_per_gpu_hour[i] = draw(run, 10000);
    run->costs.egress.mb_per_job[i] = draw(run, 1000);
  }
}

static void draw_run(struct random_run *run, uint64_t seed) {
  *run = (struct random_run){.state = seed};
  draw_trace(run);
  draw_pools(run);
  draw_costs(run);
  run->horizon_us = draw(run, 4) ? HR_NEVER_US : (int64_t)draw(run, 30) * HOUR_US;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&run->policy, "queue", NULL), HR_OK);
}

struct outcome {
  struct hr_usage *usage;
  struct hr_ledger *ledger;
  struct hr_meter *meter;
  struct hr_result *result;
  struct hr_summary *summary;
};

static struct outcome replay(struct random_run *run) {
  struct outcome outcome = {hr_usage_create(&run->trace), hr_ledger_create(&run->trace, &run->cluster, true),
                            hr_meter_create(&run->trace, &run->cluster, &run->costs), NULL, NULL};
  const struct hr_observer observers[] = {hr_usage_observer(outcome.usage), hr_ledger_observer(outcome.ledger),
                                          hr_meter_observer(outcome.meter)};
  const struct hr_run_config config = {.trace = &run->trace,
                                       .cluster = &run->cluster,
                                       .policy = run->policy.ops,
                                       .params = run->policy.params,
                                       .seed = 1,
                                       .horizon_us = run->horizon_us,
                                       .classes = run->classes,
                                       .observers = observers,
                                       .n_observers = 3};
  struct hr_error error = {0};
  enum hr_status status = hr_sim_run(&config, &outcome.result, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_ledger_close(outcome.ledger, outcome.result), HR_OK);
  const struct hr_cost_basis basis = {outcome.ledger, outcome.meter, &run->costs, run->classes};
  status = hr_summarize(&run->trace, &run->cluster, outcome.result, outcome.usage, &basis, &outcome.summary, &error);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  return outcome;
}

static void forget(struct random_run *run, struct outcome *outcome) {
  hr_summary_destroy(outcome->summary);
  hr_result_destroy(outcome->result);
  hr_meter_destroy(outcome->meter);
  hr_ledger_destroy(outcome->ledger);
  hr_usage_destroy(outcome->usage);
  hr_policy_choice_finish(&run->policy);
}

/* ---- Invariants ------------------------------------------------------------------------------------- */

static int64_t sum_of(const struct hr_cost_lines *lines) {
  int64_t sum = 0;
  for (size_t i = 0; i < lines->count; i++) sum += lines->line[i].uusd;
  return sum;
}

/* Returns the sum of the lines of the breakdown by tenant that belong to no tenant. */
static int64_t unsplit(const struct hr_cost_lines *by_tenant) {
  int64_t sum = 0;
  for (size_t i = 0; i < by_tenant->count; i++)
    if (by_tenant->line[i].name[0] == '(') sum += by_tenant->line[i].uusd;
  return sum;
}

static void expect_partitions(const struct hr_cost_summary *costs) {
  int64_t rows = 0, statements = 0;
  for (size_t i = 0; i < costs->n_rows; i++) rows += costs->rows[i].uusd;
  for (size_t i = 0; i < costs->n_statements; i++) statements += costs->statements[i].total_uusd;
  CU_ASSERT_EQUAL(rows, costs->total_uusd);
  CU_ASSERT_EQUAL(sum_of(&costs->by_market), costs->total_uusd);
  CU_ASSERT_EQUAL(sum_of(&costs->by_pool), costs->total_uusd);
  CU_ASSERT_EQUAL(sum_of(&costs->by_tenant), costs->total_uusd);
  CU_ASSERT_EQUAL(sum_of(&costs->by_class), costs->total_uusd);
  CU_ASSERT_EQUAL(sum_of(&costs->by_gpu), costs->total_uusd);
  CU_ASSERT_EQUAL(statements + unsplit(&costs->by_tenant), costs->total_uusd);
}

static void expect_capacity(const struct random_run *run, const struct outcome *outcome) {
  hr_amount cost = 0, used = 0, by_job = 0, gpu_time = 0;
  for (uint32_t i = 0; i < N_POOLS; i++) {
    cost += hr_ledger_pool(outcome->ledger, (hr_pool){i})->cost;
    used += hr_ledger_pool(outcome->ledger, (hr_pool){i})->used;
    gpu_time += hr_ledger_pool(outcome->ledger, (hr_pool){i})->gpu_time;
  }
  for (uint32_t i = 0; i < run->trace.n_jobs; i++) by_job += hr_ledger_job(outcome->ledger, (hr_job){i});
  for (size_t i = 0; i < outcome->summary->costs->n_rows; i++) gpu_time -= outcome->summary->costs->rows[i].gpu_time;
  CU_ASSERT_TRUE(by_job == used);
  CU_ASSERT_TRUE(gpu_time == 0);
  int64_t rounded = (int64_t)((cost + HR_LEDGER_UNITS_PER_UUSD / 2) / HR_LEDGER_UNITS_PER_UUSD);
  CU_ASSERT_EQUAL(outcome->summary->costs->capacity_uusd, rounded);
}

static void expect_goodput(const struct outcome *outcome) {
  const struct hr_goodput *goodput = &outcome->summary->goodput;
  for (uint32_t i = 0; outcome->result->account && i < outcome->result->n_jobs; i++) {
    const struct hr_job_accounting copy = hr_result_accounting(outcome->result, (hr_job){i}), *accounting = &copy;
    CU_ASSERT_EQUAL(accounting->held_us,
                    accounting->kept_us + accounting->lost_us + accounting->saving_us + accounting->restarting_us);
  }
  double held =
      goodput->useful_gpu_hours + goodput->lost_gpu_hours + goodput->checkpoint_gpu_hours + goodput->restart_gpu_hours;
  CU_ASSERT_TRUE(fabs(held - outcome->summary->gpu_hours) < 1e-9 * (1 + held));
  CU_ASSERT_TRUE(outcome->summary->utilization_makespan <= 1);
  CU_ASSERT_TRUE(outcome->summary->spot.availability <= 1);
}

/* Asserts properties that the metrics by pool have in every run. */
static void expect_pools(const struct hr_summary *summary) {
  double hours = 0;
  uint64_t completed = 0;
  int64_t uusd = 0;
  CU_ASSERT_EQUAL_FATAL(summary->n_pools, N_POOLS);
  for (size_t i = 0; i < N_POOLS; i++) {
    hours += summary->by_pool[i].gpu_hours;
    completed += summary->by_pool[i].completed;
    uusd += summary->by_pool[i].cost_uusd;
  }
  CU_ASSERT_TRUE(fabs(hours - summary->gpu_hours) < 1e-9 * (1 + hours));
  CU_ASSERT_EQUAL(completed, summary->jobs_completed);
  CU_ASSERT_EQUAL(uusd, summary->costs->capacity_uusd);
}

static void breakdowns_sum_to_total(void) {
  struct random_run *run = calloc(1, sizeof *run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  uint64_t interrupted = 0;
  for (uint64_t seed = 1; seed <= N_RUNS; seed++) {
    draw_run(run, seed);
    struct outcome outcome = replay(run);
    expect_partitions(outcome.summary->costs);
    expect_capacity(run, &outcome);
    expect_goodput(&outcome);
    expect_pools(outcome.summary);
    interrupted += outcome.summary->spot.jobs_interrupted;
    forget(run, &outcome);
  }
  CU_ASSERT_TRUE(interrupted > N_RUNS);
  free(run);
}

/* ---- Withheld GPUs ---------------------------------------------------------------------------------- */

/* The market offers a node of 8 GPUs in the first hour and after the second hour. Job 0 requests 3 GPUs for two hours.
   It runs in the first hour and waits in the second hour, so 3 GPUs are withheld for an hour. Job 1 requests 2 GPUs at
   1:30 but does not accept spot capacity, so its GPUs do not count as withheld. */
static void cost_of_withheld_gpus(void) {
  static struct hr_level_step levels[] = {{0, 1}, {HOUR_US, 0}, {2 * HOUR_US, 1}};
  struct random_run *run = calloc(1, sizeof *run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run);
  draw_run(run, 1);
  run->trace.n_jobs = 2;
  run->work_us[0] = run->work_us[1] = 2 * HOUR_US;
  run->submit_us[1] = 3 * HOUR_US / 2;
  run->gpus[0] = 3;
  run->gpus[1] = 2;
  run->class_[0] = HR_CLASS_TRAINING;
  run->class_[1] = HR_CLASS_INFERENCE;
  run->classes[HR_CLASS_INFERENCE].no_spot = true;
  run->classes[HR_CLASS_TRAINING] = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_ON_NOTICE};
  run->pool[0] = run->pool[1] =
      (struct hr_pool_spec){.name = (char *)"p", .gpu = (char *)"T4", .nodes = 1, .gpus_per_node = 8};
  run->pool[0].market.market = HR_MARKET_SPOT;
  run->pool[0].market.spot =
      (struct hr_spot_spec){.model = HR_SPOT_TRACE, .levels = levels, .n_levels = 3, .period_us = 100 * HOUR_US};
  run->pool[1].gpus_per_node = 2;
  run->pool[1].market = (struct hr_market_spec){HR_MARKET_RESERVED, .from_us = 4 * HOUR_US, .to_us = HR_NEVER_US};
  run->cluster.n_pools = 2;
  run->horizon_us = HR_NEVER_US;
  run->costs = (struct hr_cost_spec){.downtime = {.uusd_per_gpu_hour = USD}};
  struct outcome outcome = replay(run);
  CU_ASSERT_EQUAL(outcome.summary->jobs_completed, 2);
  CU_ASSERT_EQUAL(outcome.summary->spot.jobs_interrupted, 1);
  CU_ASSERT_EQUAL(outcome.summary->costs->shared_uusd, 3 * USD);
  CU_ASSERT_EQUAL(outcome.summary->costs->total_uusd, 3 * USD);
  forget(run, &outcome);
  free(run);
}

TEST_MAIN("report: costs of runs", TEST(breakdowns_sum_to_total), TEST(cost_of_withheld_gpus))
