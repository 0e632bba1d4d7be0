/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every cost metric, computed by hand for the run of priced.h. */

#include "harness.h"
#include "output_files.h"
#include "priced.h"
#include "report/metrics/metrics.h"

#include <math.h>
#include <string.h>

#define USD INT64_C(1000000)

static void expect_uusd(int64_t got, int64_t wanted) {
  if (got != wanted) printf("\n  %lld, wanted %lld\n", (long long)got, (long long)wanted);
  CU_ASSERT_EQUAL(got, wanted);
}

static void expect(double got, double wanted) {
  if (!(fabs(got - wanted) <= 1e-12)) printf("\n  %.17g, wanted %.17g\n", got, wanted);
  CU_ASSERT_TRUE(fabs(got - wanted) <= 1e-12);
}

/* Asserts that the lines are those of `wanted`, in the same order. The last element of `wanted` has a NULL name. */
static void expect_lines(const struct hr_cost_lines *lines, const struct hr_cost_line *wanted) {
  size_t count = 0;
  for (; wanted[count].name; count++) {
    CU_ASSERT_TRUE_FATAL(count < lines->count);
    CU_ASSERT_STRING_EQUAL(lines->line[count].name, wanted[count].name);
    expect_uusd(lines->line[count].uusd, wanted[count].uusd);
  }
  CU_ASSERT_EQUAL(lines->count, count);
}

#define LINES(...) ((const struct hr_cost_line[]){__VA_ARGS__, {NULL, 0}})
#define LINE(name, uusd)                                                                                               \
  { (char *)(name), uusd }

static int64_t sum_of_lines(const struct hr_cost_lines *lines) {
  int64_t sum = 0;
  for (size_t i = 0; i < lines->count; i++) sum += lines->line[i].uusd;
  return sum;
}

static void expect_sums(const struct hr_cost_summary *costs) {
  int64_t rows = 0;
  for (size_t i = 0; i < costs->n_rows; i++) rows += costs->rows[i].uusd;
  expect_uusd(sum_of_lines(&costs->by_market), costs->total_uusd);
  expect_uusd(sum_of_lines(&costs->by_pool), costs->total_uusd);
  expect_uusd(sum_of_lines(&costs->by_tenant), costs->total_uusd);
  expect_uusd(sum_of_lines(&costs->by_class), costs->total_uusd);
  expect_uusd(sum_of_lines(&costs->by_gpu), costs->total_uusd);
  expect_uusd(rows, costs->total_uusd);
}

/* Returns the summary of the run with the given costs and classes; ends the test on failure. */
static struct hr_summary *summary_under(struct priced *run, const struct hr_cost_spec *spec,
                                        const struct hr_class_spec *classes) {
  struct hr_summary *summary = priced_summary(run, spec, classes);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary->costs);
  expect_sums(summary->costs);
  return summary;
}

static const struct hr_statement *statement_of(const struct hr_cost_summary *costs, const char *tenant) {
  for (size_t i = 0; i < costs->n_statements; i++)
    if (strcmp(costs->statements[i].tenant, tenant) == 0) return &costs->statements[i];
  return NULL;
}

/* ---- Capacity --------------------------------------------------------------------------------------- */

static void cost_of_capacity(void) {
  struct priced *run = priced_create();
  struct hr_summary *summary = summary_under(run, NULL, NULL);
  const struct hr_cost_summary *costs = summary->costs;
  expect_uusd(costs->total_uusd, 56 * USD);
  expect_uusd(costs->capacity_uusd, 56 * USD);
  expect_uusd(costs->idle_uusd, 16 * USD);
  expect_uusd(costs->shared_uusd, 0);
  expect_uusd(costs->all_on_demand_uusd, 80 * USD);
  expect(costs->saving_vs_on_demand, 0.3);
  expect_uusd(costs->per_completed_job_uusd, 18666667);
  expect_uusd(costs->per_goodput_gpu_hour_uusd, 3500000);
  expect_uusd(costs->monthly_uusd, 20440 * USD);
  expect_lines(&costs->by_market,
               LINES(LINE("reserved", 16 * USD), LINE("on-demand", 24 * USD), LINE("spot", 16 * USD)));
  expect_lines(&costs->by_pool, LINES(LINE("base", 16 * USD), LINE("burst", 24 * USD), LINE("spot", 16 * USD)));
  expect_lines(&costs->by_gpu, LINES(LINE("A100-80", 40 * USD), LINE("H100", 16 * USD)));
  expect_lines(&costs->by_class, LINES(LINE("", 16 * USD), LINE("training", 8 * USD), LINE("inference", 16 * USD),
                                       LINE("(idle)", 16 * USD)));
  expect_lines(&costs->by_tenant,
               LINES(LINE("b", 16 * USD), LINE("", 16 * USD), LINE("a", 8 * USD), LINE("(idle)", 16 * USD)));
  hr_summary_destroy(summary);
  priced_destroy(run);
}

static void goodput_and_spot_metrics(void) {
  struct priced *run = priced_create();
  struct hr_summary *summary = summary_under(run, NULL, NULL);
  const struct hr_goodput *goodput = &summary->goodput;
  CU_ASSERT_TRUE(summary->stoppable);
  expect(goodput->useful_gpu_hours, 16);
  expect(goodput->lost_gpu_hours, 4);
  expect(goodput->checkpoint_gpu_hours, 2);
  expect(goodput->restart_gpu_hours, 2);
  expect(goodput->fraction, 16 / 24.0);
  double useful = 0;
  for (size_t i = 0; i < summary->n_sizes; i++) useful += summary->by_size[i].useful_gpu_hours;
  expect(useful, 16);
  expect(summary->gpu_hours, 24); /* the sum of the four kinds of GPU time */
  CU_ASSERT_EQUAL(summary->spot.reclaims, 1);
  CU_ASSERT_EQUAL(summary->spot.jobs_interrupted, 1);
  expect(summary->spot.gpu_hours, 16);
  expect(summary->spot.reclaims_per_node_hour, 0.5);
  expect(summary->spot.availability, 1);
  /* The interrupted job started at its submit, so it had no wait. It ended two hours after its submit. */
  expect(summary->jct_s.max, 7200);
  expect(summary->wait_s.max, 1800);
  expect(summary->slowdown.max, 2);
  /* Utilization is relative to the present GPUs: 16 for an hour and a half, then 12 for half an hour. */
  expect(summary->utilization_makespan, 24 / (16 * 1.5 + 12 * 0.5));
  hr_summary_destroy(summary);
  priced_destroy(run);
}

static void saving_is_unknown_without_on_demand_prices(void) {
  struct priced *run = priced_create();
  run->pool[2].market.on_demand_uusd_h = HR_UNKNOWN_UUSD_H;
  struct hr_summary *summary = summary_under(run, NULL, NULL);
  CU_ASSERT_EQUAL(summary->costs->all_on_demand_uusd, HR_UNKNOWN_UUSD);
  CU_ASSERT_TRUE(isnan(summary->costs->saving_vs_on_demand));
  hr_summary_destroy(summary);
  priced_destroy(run);
}

/* The run lasts a month and a half, and GPUs are used in the first two hours only. */
static void months_are_separate_accounts(void) {
  struct priced *run = priced_create();
  struct hr_cost_spec spec = {.idle_split = HR_IDLE_SPLIT_EVEN};
  run->pool[0].market.price_uusd_h = USD / 8;
  run->result.end_us = HR_MONTH_US + HR_MONTH_US / 2;
  struct hr_summary *summary = summary_under(run, &spec, NULL);
  const struct hr_cost_summary *costs = summary->costs;
  /* Pool "base": 4 GPUs x 1,095 h at 1/8 dollar per GPU-hour. Reserved nodes are paid for even if no job uses them. The
     spot node is also paid for until the end of the run. */
  int64_t base = 4 * 1095 * USD / 8;
  expect_uusd(costs->by_pool.line[0].uusd, base);
  expect_uusd(costs->by_pool.line[2].uusd, 8 * 1095 * USD);
  int64_t idle = 0, unsplit = 0;
  for (size_t i = 0; i < costs->n_statements; i++) idle += costs->statements[i].idle_uusd;
  for (size_t i = 0; i < costs->by_tenant.count; i++)
    if (strcmp(costs->by_tenant.line[i].name, "(idle)") == 0) unsplit = costs->by_tenant.line[i].uusd;
  expect_uusd(idle + unsplit, costs->idle_uusd);
  /* No tenant used GPUs in the second month, so the cost of its 365 h, for 4 GPUs of "base" and 8 spot GPUs, is not
     split. */
  expect_uusd(unsplit, 4 * 365 * USD / 8 + 8 * 365 * USD);
  hr_summary_destroy(summary);
  priced_destroy(run);
}

/* Idle costs are split evenly among the tenants; the rounded totals of the tenants sum to the total. */
static void rounded_thirds_sum_to_total(void) {
  struct priced *run = priced_create();
  struct hr_cost_spec spec = {.idle_split = HR_IDLE_SPLIT_EVEN};
  for (int i = 0; i < PRICED_POOLS; i++) run->pool[i].market.price_uusd_h = 333333 + 7 * i;
  run->gpus[1] = 3;
  run->start_us[1] = run->start_us[1] - 1;
  struct hr_summary *summary = summary_under(run, &spec, NULL);
  const struct hr_cost_summary *costs = summary->costs;
  int64_t shown = 0;
  for (size_t i = 0; i < costs->n_statements; i++) shown += costs->statements[i].total_uusd;
  expect_uusd(shown, costs->total_uusd);
  hr_summary_destroy(summary);
  priced_destroy(run);
}

/* ---- Services and savings plans -------------------------------------------------------------------------------- */

static void cost_of_storage(void) {
  struct priced *run = priced_create();
  struct hr_dataset datasets[] = {{(char *)"a", 1000000}, {NULL, 500000}, {(char *)"archive", 250000}};
  struct hr_cost_spec spec = {.storage = {730000, datasets, 3, 0}};
  struct hr_class_spec classes[HR_N_CLASSES] = {
      [HR_CLASS_TRAINING] = {.checkpoint = HR_CHECKPOINT_ON_NOTICE, .checkpoint_mib = 2000000},
      [HR_CLASS_UNKNOWN] = {.checkpoint = HR_CHECKPOINT_INTERVAL, .checkpoint_mib = 1000000}};
  struct hr_summary *summary = summary_under(run, &spec, classes);
  /* 1 TB for two hours at 73 cents per GB-month costs 2 dollars. A checkpoint of 2,097.152 GB for one hour costs
     2.097152 dollars. */
  expect_uusd(statement_of(summary->costs, "a")->storage_uusd, 2000000 + 2097152);
  expect_uusd(statement_of(summary->costs, "archive")->storage_uusd, 500000);
  expect_uusd(summary->costs->shared_uusd, 1000000 + 2097152);
  hr_summary_destroy(summary);
  spec.storage.checkpoint_retention_us = PRICED_HOUR_US / 2;
  summary = summary_under(run, &spec, classes);
  expect_uusd(statement_of(summary->costs, "a")->storage_uusd, 2000000 + 3145728);
  spec.storage.checkpoint_retention_us = HR_MONTH_US; /* longer than the run; costs end with the run */
  hr_summary_destroy(summary);
  summary = summary_under(run, &spec, classes);
  expect_uusd(statement_of(summary->costs, "a")->storage_uusd, 2000000 + 2 * 2097152);
  hr_summary_destroy(summary);
  priced_destroy(run);
}

static void cost_of_egress(void) {
  struct priced *run = priced_create();
  struct hr_cost_spec spec = {.egress = {.uusd_per_gb = USD / 10,
                                         .mb_per_gpu_hour = {[HR_CLASS_TRAINING] = 10000, [HR_CLASS_UNKNOWN] = 1},
                                         .mb_per_job = {[HR_CLASS_INFERENCE] = 5000}}};
  struct hr_summary *summary = summary_under(run, &spec, NULL);
  expect_uusd(statement_of(summary->costs, "a")->egress_uusd, 4 * USD);
  expect_uusd(statement_of(summary->costs, "b")->egress_uusd, USD / 2);
  expect_uusd(summary->costs->shared_uusd, 1600); /* egress of 16 MB of the job without a tenant */
  expect_uusd(summary->costs->all_on_demand_uusd, 80 * USD + 4 * USD + USD / 2 + 1600);
  hr_summary_destroy(summary);
  priced_destroy(run);
}

static void cost_of_operations_and_missed_deadlines(void) {
  struct priced *run = priced_create();
  struct hr_cost_spec spec = {.operations = {730 * USD, 73 * USD}, .downtime = {0, 7 * USD}};
  struct hr_summary *summary = summary_under(run, &spec, NULL);
  expect_uusd(summary->costs->shared_uusd, 2 * USD + 550000); /* fixed cost of 2 h; cost of 5.5 node hours */
  expect_uusd(statement_of(summary->costs, "b")->downtime_uusd, 7 * USD);
  expect_uusd(statement_of(summary->costs, "a")->downtime_uusd, 0);
  hr_summary_destroy(summary);
  priced_destroy(run);
}

/* On-demand usage costs $16 an hour for an hour and a half. The plan with the larger discount covers $6 an hour of it,
   the other plan covers the rest. */
static void plans_cover_largest_discount_first(void) {
  struct priced *run = priced_create();
  char *pools[] = {(char *)"BURST"}, *gpus[] = {(char *)"A100-80"}, *others[] = {(char *)"H100"};
  struct hr_savings_plan plans[] = {
      {12 * USD, 250000, pools, NULL, 1, 0}, {3 * USD, 500000, NULL, gpus, 0, 1}, {USD, 100000, NULL, others, 0, 1}};
  struct hr_cost_spec spec = {.plans = plans, .n_plans = 2};
  struct hr_summary *summary = summary_under(run, &spec, NULL);
  expect_uusd(summary->costs->shared_uusd, 2 * 15 * USD - 24 * USD);
  expect_uusd(summary->costs->all_on_demand_uusd, 80 * USD);
  hr_summary_destroy(summary);
  plans[0].uusd_per_h = 6 * USD; /* covers $8 an hour of the remaining $10 */
  summary = summary_under(run, &spec, NULL);
  expect_uusd(summary->costs->shared_uusd, 2 * 9 * USD - 21 * USD);
  expect_uusd(summary->costs->total_uusd, 53 * USD);
  hr_summary_destroy(summary);
  spec.n_plans = 3; /* no on-demand pool has an H100: the fee covers nothing */
  summary = summary_under(run, &spec, NULL);
  expect_uusd(summary->costs->total_uusd, 55 * USD);
  hr_summary_destroy(summary);
  priced_destroy(run);
}

/* After an hour, the on-demand price falls from $4 to $2 per GPU-hour, so the usage costs $8 instead of $16 an hour. A
   plan that covers up to $12 an hour covers $12 in the first hour and $8 an hour afterwards. */
static void plans_follow_prices(void) {
  struct priced *run = priced_create();
  struct hr_price_step steps[] = {{0, 4 * USD}, {PRICED_HOUR_US, 2 * USD}};
  struct hr_savings_plan plan = {6 * USD, 500000, NULL, NULL, 0, 0};
  struct hr_cost_spec spec = {.plans = &plan, .n_plans = 1};
  run->pool[1].market.prices = steps;
  run->pool[1].market.n_prices = 2;
  struct hr_summary *summary = summary_under(run, &spec, NULL);
  expect_uusd(summary->costs->shared_uusd, 12 * USD - 16 * USD);
  hr_summary_destroy(summary);
  priced_destroy(run);
}

/* ---- Statements of tenants -------------------------------------------------------------------------- */

static void idle_cost_is_split_by_rule(void) {
  struct priced *run = priced_create();
  struct hr_cost_spec spec = {.operations = {730 * USD, 0}, .idle_split = HR_IDLE_SPLIT_PROPORTIONAL};
  struct hr_summary *summary = summary_under(run, &spec, NULL);
  expect_uusd(statement_of(summary->costs, "a")->idle_uusd, 3200000);
  expect_uusd(statement_of(summary->costs, "b")->idle_uusd, 6400000);
  expect_uusd(statement_of(summary->costs, "b")->shared_uusd, 800000);
  expect_uusd(statement_of(summary->costs, "b")->total_uusd, 23200000);
  expect_lines(&summary->costs->by_tenant, LINES(LINE("b", 23200000), LINE("", 23200000), LINE("a", 11600000)));
  expect_uusd(summary->costs->idle_uusd, 16 * USD);
  hr_summary_destroy(summary);
  spec.idle_split = HR_IDLE_SPLIT_EVEN;
  summary = summary_under(run, &spec, NULL);
  expect_uusd(statement_of(summary->costs, "a")->idle_uusd, 5333334);
  expect_uusd(statement_of(summary->costs, "b")->idle_uusd, 5333333);
  expect_uusd(statement_of(summary->costs, "")->idle_uusd, 5333333);
  hr_summary_destroy(summary);
  priced_destroy(run);
}

static void savings_are_split_like_costs(void) {
  struct priced *run = priced_create();
  /* The plan costs $8 an hour, $16 in the two hours of the run. It replaces the on-demand charges: $16 an hour for an
     hour and a half, $24. So its net cost is -$8. */
  struct hr_savings_plan plan = {8 * USD, 500000, NULL, NULL, 0, 0};
  struct hr_cost_spec spec = {.plans = &plan, .n_plans = 1, .idle_split = HR_IDLE_SPLIT_PROPORTIONAL};
  struct hr_summary *summary = summary_under(run, &spec, NULL);
  expect_uusd(summary->costs->shared_uusd, -8 * USD);
  expect_uusd(statement_of(summary->costs, "a")->shared_uusd, -1600000);
  expect_uusd(statement_of(summary->costs, "b")->shared_uusd, -3200000);
  hr_summary_destroy(summary);
  priced_destroy(run);
}

static void budgets_are_compared_with_statements(void) {
  struct priced *run = priced_create();
  struct hr_budget budgets[] = {{(char *)"a", 8 * USD}, {(char *)"b", 16 * USD - 1}, {(char *)"nobody", 0}};
  struct hr_cost_spec spec = {.budgets = budgets, .n_budgets = 3};
  struct hr_summary *summary = summary_under(run, &spec, NULL);
  const struct hr_cost_summary *costs = summary->costs;
  CU_ASSERT_EQUAL_FATAL(costs->n_budgets, 3);
  CU_ASSERT_FALSE(costs->budgets[0].over);
  CU_ASSERT_TRUE(costs->budgets[1].over);
  expect_uusd(costs->budgets[1].spent_uusd, 16 * USD);
  CU_ASSERT_FALSE(costs->budgets[2].over);
  hr_summary_destroy(summary);
  priced_destroy(run);
}

/* ---- Rounding --------------------------------------------------------------------------------------- */

static void largest_remainders_are_rounded_up(void) {
  const hr_amount amounts[] = {5, 26, 17, 22, 0}; /* in tenths of a unit: 0.5, 2.6, 1.7, 2.2 and 0, in total 7 units */
  int64_t parts[5];
  CU_ASSERT_EQUAL_FATAL(hr__apportion(amounts, 5, 10, parts), HR_OK);
  CU_ASSERT_TRUE(parts[0] == 0 && parts[1] == 3 && parts[2] == 2 && parts[3] == 2 && parts[4] == 0);
  const hr_amount equal[] = {1, 1, 1};
  CU_ASSERT_EQUAL_FATAL(hr__apportion(equal, 3, 3, parts), HR_OK);
  CU_ASSERT_TRUE(parts[0] == 1 && parts[1] == 0 && parts[2] == 0);
  const hr_amount beyond = (hr_amount)1 << 100;
  CU_ASSERT_EQUAL(hr__apportion(&beyond, 1, 10, parts), HR_BAD_INPUT);
}

static void quotients_round_halves_up(void) {
  CU_ASSERT_TRUE(hr__divided(5, 10) == 1 && hr__divided(4, 10) == 0 && hr__divided(14, 10) == 1);
  CU_ASSERT_TRUE(hr__divided(-5, 10) == 0 && hr__divided(-6, 10) == -1 && hr__divided(-15, 10) == -1);
  CU_ASSERT_TRUE(hr__divided(-10, 10) == -1 && hr__divided(-11, 10) == -1 && hr__divided(-16, 10) == -2);
}

static void spread_parts_sum_to_amount(void) {
  hr_amount parts[3];
  const hr_amount weights[] = {(hr_amount)1 << 90, 0, (hr_amount)3 << 90}, none[] = {0, 0, 0};
  const hr_amount large = ((hr_amount)1 << 120) + 7;
  hr__spread(large, weights, 3, parts);
  CU_ASSERT_TRUE(parts[0] == ((hr_amount)1 << 118) + 1 && parts[0] + parts[1] + parts[2] == large);
  hr__spread(10, none, 3, parts);
  CU_ASSERT_TRUE(parts[0] == 10 && parts[1] == 0 && parts[2] == 0);
}

static void too_large_costs_are_an_error(void) {
  struct priced *run = priced_create();
  struct hr_summary *summary = NULL;
  run->pool[0].market.price_uusd_h = INT64_C(1) << 61;
  CU_ASSERT_EQUAL(priced_summarize(run, NULL, NULL, &summary), HR_BAD_INPUT);
  priced_destroy(run);
}

/* ---- Files ------------------------------------------------------------------------------------------ */

static void csv_rows_of_costs(void) {
  static const char wanted[] = "tenant,market,gpu,gpu_hours,cost_usd\n"
                               "a,reserved,A100-80,4,8.000000\n"
                               "b,on-demand,A100-80,4,16.000000\n"
                               ",spot,H100,16,16.000000\n"
                               "a,(egress),,0,4.000000\n"
                               "(idle),reserved,A100-80,4,8.000000\n"
                               "(idle),on-demand,A100-80,2,8.000000\n"
                               "(shared),(operations),,0,2.000000\n";
  struct priced *run = priced_create();
  struct hr_cost_spec spec = {.operations = {730 * USD, 0}, .idle_split = HR_IDLE_SPLIT_EVEN};
  spec.egress = (struct hr_egress_cost){.uusd_per_gb = USD, .mb_per_job = {[HR_CLASS_TRAINING] = 4000}};
  struct hr_summary *summary = summary_under(run, &spec, NULL);
  CU_ASSERT_EQUAL(hr_costs_write(files_path("costs.csv"), summary->costs, NULL), HR_OK);
  char *text = files_read(files_path("costs.csv"));
  if (strcmp(text, wanted) != 0) printf("\n%s", text);
  CU_ASSERT_STRING_EQUAL(text, wanted);
  free(text);
  CU_ASSERT_EQUAL(hr_costs_write("/dev/full", summary->costs, NULL), HR_IO_ERROR);
  hr_summary_destroy(summary);
  priced_destroy(run);
}

static void csv_columns_of_attempts(void) {
  struct priced *run = priced_create();
  struct hr_summary *summary = summary_under(run, NULL, NULL);
  struct hr_placements *placements = hr_placements_create(&run->trace);
  CU_ASSERT_PTR_NOT_NULL_FATAL(placements);
  const char *path = files_path("jobs.csv");
  CU_ASSERT_EQUAL(hr_jobs_write(path, &run->trace, &run->cluster, &run->result, placements, run->ledger, NULL), HR_OK);
  char *text = files_read(path);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, ",duration_s,attempts,lost_s,checkpoint_s,restart_s,requeue_wait_s,cost_usd\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, ",,3600,1,0,0,0,0,8.000000\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n3,0,0,7200,0,8,"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, ",,3600,2,1800,900,900,0,16.000000\n"));
  free(text);
  run->accounting[3].held_us -= PRICED_HOUR_US / 4; /* the job waited for a quarter of an hour between its attempts */
  CU_ASSERT_EQUAL(hr_jobs_write(path, &run->trace, &run->cluster, &run->result, placements, NULL, NULL), HR_OK);
  text = files_read(path);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, ",,3600,2,1800,900,900,900,\n"));
  free(text);
  hr_placements_destroy(placements);
  hr_summary_destroy(summary);
  priced_destroy(run);
}

TEST_MAIN("report: costs", TEST(cost_of_capacity), TEST(goodput_and_spot_metrics),
          TEST(saving_is_unknown_without_on_demand_prices), TEST(months_are_separate_accounts),
          TEST(rounded_thirds_sum_to_total), TEST(cost_of_storage), TEST(cost_of_egress),
          TEST(cost_of_operations_and_missed_deadlines), TEST(plans_cover_largest_discount_first),
          TEST(plans_follow_prices), TEST(idle_cost_is_split_by_rule), TEST(savings_are_split_like_costs),
          TEST(budgets_are_compared_with_statements), TEST(largest_remainders_are_rounded_up),
          TEST(quotients_round_halves_up), TEST(spread_parts_sum_to_amount), TEST(too_large_costs_are_an_error),
          TEST(csv_rows_of_costs), TEST(csv_columns_of_attempts))
