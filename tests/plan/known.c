/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plans with a known optimum. Each plan is computed for ten random traces, and must find the optimum for all of them.
 *
 * Ordered hunting. A job takes one of r reserved GPUs if one is free, otherwise an on-demand GPU. With offered load a,
 * the cost per hour is c_r r + c_o a B(r, a), where B is Erlang's loss formula (Cooper, "Introduction to Queueing
 * Theory", 2nd ed., section 5.2).
 *
 * Erlang's delay formula. The plan must find the minimum number of GPUs at which the mean wait of M/M/c is short
 * enough.
 */

#include "harness.h"
#include "planned.h"

#include <math.h>
#include <string.h>

enum { SEEDS = 10, JOBS = 20000 };
static const double mean_s = 1000, hours_of_month = 730;

static double choice_of(const struct hr_plan *plan, uint32_t variable) {
  struct hr__point point = hr__space_point(&plan->space, plan->choice.candidate);
  return plan->space.spec->variables[variable].axis.levels[point.level[variable]].number;
}

static double centre_of(const struct hr_plan *plan, enum hr__metric measure) {
  size_t at = hr__goals_find(&plan->goals, &(struct hr__scoped_metric){.id = measure});
  return hr__interval_centre(&plan->choice.metrics[at]);
}

/* ---- How much to reserve --------------------------------------------------------------------------- */

static const char hunting[] =
    "{\"cluster\":{\"pools\":["
    "{\"name\":\"reserved\",\"gpu\":\"A\",\"nodes\":9,\"gpus_per_node\":1,\"market\":\"reserved\","
    "\"usd_per_gpu_hour\":%g,\"on_demand_usd_per_gpu_hour\":2},"
    "{\"name\":\"od\",\"gpu\":\"A\",\"nodes\":200,\"gpus_per_node\":1,\"market\":\"on-demand\","
    "\"usd_per_gpu_hour\":2,\"boot_s\":0}]},"
    "\"policy\":{\"name\":\"queue\",\"market\":\"on-demand-only\",\"idle_release_s\":1e-6},"
    "\"plan\":{\"variables\":[{\"pool\":\"reserved\",\"from\":0,\"to\":40,\"step\":4}],"
    "\"constraints\":[\"wait_s.p95 <= 1\"],\"objective\":\"monthly_usd\"}}";

static double cost_of_hunting(double reserved_usd, unsigned reserved, double offered) {
  return hours_of_month * (reserved_usd * reserved + 2 * offered * planned_erlang_b(reserved, offered));
}

/* The best number of reserved GPUs by the formula. Both neighbours must cost more by at least the share `margin`, so
   that the optimum is clear. */
static unsigned best_of_hunting(double reserved_usd, double offered, double margin) {
  unsigned best = 0;
  for (unsigned r = 4; r <= 40; r += 4)
    if (cost_of_hunting(reserved_usd, r, offered) < cost_of_hunting(reserved_usd, best, offered)) best = r;
  double least = cost_of_hunting(reserved_usd, best, offered);
  CU_ASSERT_FATAL(best >= 4 && best <= 36);
  CU_ASSERT(cost_of_hunting(reserved_usd, best - 4, offered) >= (1 + margin) * least);
  CU_ASSERT(cost_of_hunting(reserved_usd, best + 4, offered) >= (1 + margin) * least);
  return best;
}

/* The mean cost over the traces must be within three standard errors of the formula. It must not be within three
   standard errors of 1.03 x the formula: this shows that the test can detect a difference of 3 %. */
static void expect_mean(const double *costs, double formula) {
  double mean = 0, squares = 0;
  for (int i = 0; i < SEEDS; i++) mean += costs[i] / SEEDS;
  for (int i = 0; i < SEEDS; i++) squares += (costs[i] - mean) * (costs[i] - mean);
  double error = sqrt(squares / (SEEDS - 1) / SEEDS);
  if (fabs(mean - formula) > 3 * error) printf("\n  %g +- %g a month, by the formula %g\n", mean, error, formula);
  CU_ASSERT(fabs(mean - formula) <= 3 * error);
  CU_ASSERT(fabs(mean - 1.03 * formula) > 3 * error);
}

static void hunt(double reserved_usd, double offered, double margin) {
  char text[1200];
  double costs[SEEDS];
  unsigned best = best_of_hunting(reserved_usd, offered, margin);
  snprintf(text, sizeof text, hunting, reserved_usd);
  struct hr_scenario *scenario = planned_scenario(text);
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    struct hr_trace *trace = planned_queue(seed + 1, JOBS, offered, mean_s);
    struct hr_plan *plan = planned_brief(scenario, trace, HR_PLAN_SEARCH_FAST);
    CU_ASSERT_TRUE(hr_plan_feasible(plan));
    CU_ASSERT_EQUAL(choice_of(plan, 0), best);
    CU_ASSERT_EQUAL(centre_of(plan, HR__M_WAIT_MEAN), 0);
    CU_ASSERT(plan->search.counts.run < plan->space.n_candidates);
    costs[seed] = centre_of(plan, HR__M_MONTHLY);
    hr_plan_destroy(plan);
    hr_trace_destroy(trace);
  }
  expect_mean(costs, cost_of_hunting(reserved_usd, best, offered));
  hr_scenario_destroy(scenario);
}

static void reserved_against_on_demand(void) {
  hunt(0.7, 20, 0.045);
}

static void cheap_reserved(void) {
  hunt(0.3, 20, 0.06);
}

static void expensive_reserved(void) {
  hunt(1.15, 20, 0.024);
}

/* ---- The minimum that meets a goal ----------------------------------------------------------------- */

static double wait_of(unsigned servers, double offered) {
  return planned_erlang_c(servers, offered) * mean_s / (servers - offered);
}

static void delay(double offered, unsigned servers) {
  char text[1000];
  struct hr_scenario *scenario;
  double goal = sqrt(wait_of(servers, offered) * wait_of(servers - 1, offered));
  snprintf(text, sizeof text,
           "{\"cluster\":{\"pools\":[{\"name\":\"own\",\"gpu\":\"A\",\"nodes\":9,\"gpus_per_node\":1,\"market\":"
           "\"owned\",\"usd_per_gpu_hour\":1}]},\"policy\":{\"name\":\"queue\"},"
           "\"plan\":{\"variables\":[{\"name\":\"gpus\",\"pool\":\"own\",\"from\":%u,\"to\":%u,\"step\":1}],"
           "\"constraints\":[\"wait_s.mean <= %g\"]}}",
           (unsigned)offered + 1, 3 * (unsigned)offered, goal);
  scenario = planned_scenario(text);
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    struct hr_trace *trace = planned_queue(seed, JOBS, offered, mean_s);
    struct hr_plan *plan = planned_brief(scenario, trace, HR_PLAN_SEARCH_FAST);
    if (choice_of(plan, 0) != servers) printf("\n  seed %d: %g, not %u\n", (int)seed, choice_of(plan, 0), servers);
    CU_ASSERT_TRUE(hr_plan_feasible(plan));
    CU_ASSERT_EQUAL(choice_of(plan, 0), servers);
    CU_ASSERT(fabs(centre_of(plan, HR__M_MONTHLY) / (hours_of_month * servers) - 1) < 1e-6);
    CU_ASSERT(centre_of(plan, HR__M_WAIT_MEAN) <= goal);
    hr_plan_destroy(plan);
    hr_trace_destroy(trace);
  }
  hr_scenario_destroy(scenario);
}

static void minimum_gpus_for_a_mean_wait(void) {
  delay(8, 11);
}

static void minimum_gpus_of_a_small_cluster(void) {
  delay(2, 4);
}

TEST_MAIN("plan: known answers", TEST(reserved_against_on_demand), TEST(cheap_reserved), TEST(expensive_reserved),
          TEST(minimum_gpus_for_a_mean_wait), TEST(minimum_gpus_of_a_small_cluster))
