/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the fast search with the exhaustive one in small random scenarios: pools of three markets at random prices,
 * spot interruptions, gangs on up to two nodes, a choice of policies. The objective of the fast search's choice is
 * taken from the exhaustive plan, so both have the same random events. Prints by how much the fast search misses the
 * optimum, and the ratio of its number of runs to that of the exhaustive search.
 *
 *   test_plan search [SCENARIOS [FIRST]]      the target search_against_all uses 1000 scenarios
 */

#include "base/random.h"
#include "harness.h"
#include "planned.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

enum { JOBS = 120, REPLICATIONS = 4 };

/* ---- A random scenario ----------------------------------------------------------------------------- */

struct dice {
  struct hr__stream stream;
  gsl_rng rng;
};

static double between(struct dice *dice, double low, double high) {
  return low + (high - low) * hr__stream_uniform(&dice->stream);
}

static int one_of(struct dice *dice, int low, int high) {
  return low + (int)(hr__stream_next(&dice->stream) % (uint32_t)(high - low + 1));
}

static struct hr_trace *draw_trace(struct dice *dice) {
  struct hr_trace_builder *builder = hr_trace_builder_create("random", "memory");
  struct hr_trace *trace = NULL;
  struct hr_job_record record;
  double gap_s = between(dice, 100, 400);
  int largest = one_of(dice, 2, 3); /* with nodes of four GPUs, the largest jobs may need two nodes */
  hr_job_record_init(&record);
  CU_ASSERT_PTR_NOT_NULL_FATAL(builder);
  for (uint32_t i = 0; i < JOBS; i++) {
    record.submit_us += (int64_t)(gsl_ran_exponential(&dice->rng, gap_s) * (double)HR_SECOND_US);
    record.work_us = 1 + (int64_t)(gsl_ran_lognormal(&dice->rng, 7, 1) * (double)HR_SECOND_US);
    record.gpus = 1u << one_of(dice, 0, largest);
    CU_ASSERT_EQUAL_FATAL(hr_trace_builder_add(builder, &record, i + 1, NULL), HR_OK);
  }
  CU_ASSERT_EQUAL_FATAL(hr_trace_builder_finish(builder, false, false, &trace, NULL), HR_OK);
  hr_trace_builder_destroy(builder);
  return trace;
}

/* Draws a scenario with two or three capacity variables and one policy variable: 60 to 420 candidates. */
static struct hr_scenario *draw_scenario(struct dice *dice) {
  static const char *const goals[] = {"\"wait_s.p95 <= %.0f\"", "\"wait_s.mean <= %.0f\""};
  char text[3000], goal[100];
  int used = 0, levels = one_of(dice, 5, 7), spot_levels = one_of(dice, 3, 5);
  bool fixed_od = levels * spot_levels >= 30 && one_of(dice, 0, 1) == 0;
  double on_demand_usd = between(dice, 1.5, 4), reserved_usd = on_demand_usd * between(dice, 0.2, 0.8);
  /* one draw per statement, because C does not define the order in which arguments are evaluated */
  double limit_s = between(dice, 30, 4000);
  snprintf(goal, sizeof goal, goals[one_of(dice, 0, 1)], limit_s);
  int boot_s = one_of(dice, 0, 200);
  double rate_per_h = between(dice, 0.01, 1);
  int spot_boot_s = one_of(dice, 0, 200);
  double spot_share = between(dice, 0.2, 0.9);
  int seed = one_of(dice, 1, 10000);
  used += snprintf(text + used, sizeof text - (size_t)used,
                   "{\"seed\":%d,\"cluster\":{\"pools\":["
                   "{\"name\":\"r\",\"gpu\":\"A\",\"nodes\":4,\"gpus_per_node\":4,\"market\":\"reserved\","
                   "\"usd_per_gpu_hour\":%.3f,\"on_demand_usd_per_gpu_hour\":%.3f},"
                   "{\"name\":\"s\",\"gpu\":\"A\",\"nodes\":4,\"gpus_per_node\":4,\"market\":\"spot\","
                   "\"usd_per_gpu_hour\":%.3f,\"on_demand_usd_per_gpu_hour\":%.3f,\"boot_s\":%d,"
                   "\"spot\":{\"model\":\"exponential\",\"rate_per_h\":%.3f}},"
                   "{\"name\":\"o\",\"gpu\":\"A\",\"nodes\":8,\"gpus_per_node\":4,\"market\":\"on-demand\","
                   "\"usd_per_gpu_hour\":%.3f,\"boot_s\":%d}]},",
                   seed, reserved_usd, on_demand_usd, on_demand_usd * spot_share, on_demand_usd, spot_boot_s,
                   rate_per_h, on_demand_usd, boot_s);
  const char *backfill = one_of(dice, 0, 2) ? "skip" : "easy";
  int restart_s = one_of(dice, 0, 300), interval_s = one_of(dice, 100, 2000);
  used += snprintf(text + used, sizeof text - (size_t)used,
                   "\"classes\":{\"default\":{\"checkpoint\":{\"policy\":\"interval\",\"interval_s\":%d,\"write_s\":5},"
                   "\"restart_s\":%d}},\"policy\":{\"name\":\"queue\",\"backfill\":\"%s\"},\"plan\":{\"variables\":["
                   "{\"pool\":\"r\",\"from\":0,\"to\":%d,\"step\":4},{\"pool\":\"s\",\"from\":0,\"to\":%d,\"step\":8},",
                   interval_s, restart_s, backfill, 4 * (levels - 1), 8 * (spot_levels - 1));
  if (!fixed_od)
    used += snprintf(text + used, sizeof text - (size_t)used, "{\"pool\":\"o\",\"from\":0,\"to\":%d,\"step\":8},",
                     8 * one_of(dice, 2, 3));
  snprintf(text + used, sizeof text - (size_t)used,
           "{\"name\":\"policy\",\"settings\":[{\"label\":\"asks\",\"set\":[\"policy.market=spot-first\"]},"
           "{\"label\":\"takes\",\"set\":[\"policy.market=price-capacity\"]}%s]}],"
           "\"constraints\":[%s],\"max_replications\":%d}}",
           one_of(dice, 0, 1) ? ",{\"label\":\"sjf\",\"set\":[\"policy.order=sjf\"]}" : "", goal, REPLICATIONS);
  return planned_scenario(text);
}

/* ---- The comparison -------------------------------------------------------------------------------- */

struct tally {
  int scenarios, infeasible, same, within_1, within_5, disagree, unsaid, above, n_proven;
  double worst, runs, all_runs, proven;
};

/* Expects that no candidate that meets the goals costs less than its proven bound, apart from rounding to
   micro-dollars. Expects that the best candidate does not cost less than the bound that the fast search prints. Counts
   the candidates that violate the bound of the search. Sums the ratio of the proven bound to the cost, for mixes with
   one reserved node and without spot nodes. */
static void expect_bounds(struct tally *tally, const struct hr_plan *fast, const struct hr_plan *all) {
  double least = (double)INFINITY;
  for (uint32_t i = 0; i < all->space.n_candidates; i++) {
    struct hr__evaluation evaluation = hr__evaluator_evaluate(&all->evaluator, i, all->screening);
    if (evaluation.violation > 0) continue;
    double most = evaluation.objective * (1 + 1e-6), proven = hr__bounds_proven(&all->bounds, i);
    struct hr__point point = hr__space_point(&all->space, i);
    CU_ASSERT(proven <= most);
    tally->above += hr__bounds_min_objective(&all->bounds, i) > most;
    least = fmin(least, most);
    if (point.level[0] != 1 || point.level[1] != 0) continue; /* one reserved node, no spot capacity */
    tally->n_proven++;
    tally->proven += proven / evaluation.objective;
  }
  CU_ASSERT(fast->search.min_all <= least);
  CU_ASSERT(all->search.min_all <= least);
}

static void compare(struct tally *tally, const struct hr_plan *fast, const struct hr_plan *all, int number) {
  tally->scenarios++;
  tally->runs += (double)(fast->search_runs + fast->selection_runs);
  tally->all_runs += (double)(all->search_runs + all->selection_runs);
  CU_ASSERT_FATAL(all->space.n_candidates >= 60 && all->space.n_candidates <= 420);
  CU_ASSERT_EQUAL(all->search.counts.run, all->space.n_candidates);
  if (hr_plan_feasible(fast) != hr_plan_feasible(all)) {
    tally->disagree++;
    return;
  }
  tally->infeasible += !hr_plan_feasible(all);
  if (!hr_plan_feasible(all)) return;
  uint32_t replications = all->screening;
  struct hr__evaluation found = hr__evaluator_evaluate(&all->evaluator, fast->choice.candidate, replications),
                        best = hr__evaluator_evaluate(&all->evaluator, all->choice.candidate, replications);
  double miss = found.violation > 0 ? 1 : found.objective / best.objective - 1;
  tally->same += fast->choice.candidate == all->choice.candidate;
  tally->within_1 += miss <= 0.01;
  tally->within_5 += miss <= 0.05;
  tally->worst = fmax(tally->worst, miss);
  tally->unsaid += miss > 0.05 && hr__plan_improvable(fast) == 0; /* NaN: the plan states that no bound is known */
  if (miss > 0.01)
    printf("\n  scenario %d, %u candidates: %u, which is %.1f %% above %u", number, all->space.n_candidates,
           fast->choice.candidate, 100 * miss, all->choice.candidate);
}

static void fast_search_equals_exhaustive_search(void) {
  uint32_t n_scenarios = test_argument(1, 6), first_scenario = test_argument(2, 1);
  struct tally tally = {0};
  for (uint32_t i = 0; i < n_scenarios; i++) {
    struct dice dice;
    hr__stream_init(&dice.stream, 4242, HR__PURPOSE_SAMPLE, first_scenario + i, 0);
    dice.rng = hr__stream_rng(&dice.stream);
    struct hr_trace *trace = draw_trace(&dice);
    struct hr_scenario *scenario = draw_scenario(&dice);
    struct hr_plan *fast = planned_brief(scenario, trace, HR_PLAN_SEARCH_FAST),
                   *all = planned_brief(scenario, trace, HR_PLAN_SEARCH_EXHAUSTIVE);
    expect_bounds(&tally, fast, all);
    compare(&tally, fast, all, (int)(first_scenario + i));
    hr_plan_destroy(fast);
    hr_plan_destroy(all);
    hr_trace_destroy(trace);
    hr_scenario_destroy(scenario);
  }
  int feasible = tally.scenarios - tally.infeasible - tally.disagree;
  printf("\n  %d scenarios, %d without a candidate that meets the goal; of the others %d with the same choice, %d "
         "within 1 %%, %d "
         "within 5 %%, worst %.2f %%; %.1f %% of the exhaustive runs",
         tally.scenarios, tally.infeasible, tally.same, tally.within_1, tally.within_5, 100 * tally.worst,
         100 * tally.runs / tally.all_runs);
  printf("\n  the bound of the search exceeds the cost of %d candidates; the proven bound is %.0f %% of the cost of %d",
         tally.above, 100 * tally.proven / fmax(1, tally.n_proven), tally.n_proven);
  CU_ASSERT_EQUAL(tally.disagree, 0);
  CU_ASSERT(feasible >= tally.scenarios / 2);
  CU_ASSERT(feasible - tally.within_1 <= fmax(0.005 * feasible, n_scenarios < 200));
  CU_ASSERT_EQUAL(tally.unsaid, 0); /* if the miss is above 5 %, the plan must state that a better choice may exist */
  CU_ASSERT(tally.runs < tally.all_runs / 2);
}

/* ---- Races ----------------------------------------------------------------------------------------- */

/* Returns whether the first replication shows that a candidate is clearly worse than the best one. */
static bool is_clearly_worse(const struct hr__evaluator *evaluator, uint32_t candidate, uint32_t best) {
  struct hr__evaluation own = hr__evaluator_evaluate(evaluator, candidate, 1),
                        first = hr__evaluator_evaluate(evaluator, best, 1),
                        whole = hr__evaluator_evaluate(evaluator, best, 3);
  double violation = fmax(first.violation, whole.violation);
  if (own.violation > violation + 0.5) return true;
  return violation == 0 && own.objective > first.objective * (own.violation > 0 ? 1 : 1.1);
}

/* A race ends with all replications of the best candidate, and of all others that are not clearly worse. Returns
   whether the best candidate of the race is nearly as good as the choice of the exhaustive search: at most 5 % more
   expensive, with a violation that is at most 0.1 larger. Adds the runs of the ranked candidates to `*n_runs`, and the
   runs of all their replications to `*n_most`. */
static bool race(const struct hr_plan *plan, const struct hr_plan *all, uint32_t *n_runs, uint32_t *n_most) {
  struct hr__evaluator fresh;
  CU_ASSERT_EQUAL_FATAL(
      hr__evaluator_make(&fresh, plan->runner, &plan->space, &plan->goals, plan->evaluator.environment, NULL), HR_OK);
  const struct hr__search_config config = {.evaluator = &fresh,
                                           .bounds = &plan->bounds,
                                           .replications = 3,
                                           .max_runs = UINT64_MAX,
                                           .thorough = true,
                                           .races = true,
                                           .begin = HR_NONE};
  struct hr__search_result result;
  CU_ASSERT_EQUAL_FATAL(hr__search(&config, &result, NULL), HR_OK);
  uint32_t best = result.ranking[0];
  for (uint32_t i = 0; i < result.n_ranked; i++) {
    uint32_t made = hr__evaluator_made(&fresh, result.ranking[i], 3);
    CU_ASSERT(made == 3 || is_clearly_worse(&fresh, result.ranking[i], best));
    *n_runs += made;
  }
  *n_most += 3 * result.n_ranked;
  CU_ASSERT_EQUAL(hr__evaluator_made(&fresh, best, 3), 3);
  struct hr__evaluation found = hr__evaluator_evaluate(&all->evaluator, best, all->screening),
                        least = hr__evaluator_evaluate(&all->evaluator, all->choice.candidate, all->screening);
  bool near = found.violation <= least.violation + 0.1 && found.objective <= 1.05 * least.objective;
  hr__search_finish(&result);
  hr__evaluator_finish(&fresh);
  return near;
}

static void races_leave_nothing_undecided(void) {
  enum { WORLDS = 10 };
  int n_near = 0;
  uint32_t n_runs = 0, n_most = 0;
  for (uint32_t i = 0; i < WORLDS; i++) {
    struct dice dice;
    hr__stream_init(&dice.stream, 777, HR__PURPOSE_SAMPLE, i, 0);
    dice.rng = hr__stream_rng(&dice.stream);
    struct hr_trace *trace = draw_trace(&dice);
    struct hr_scenario *scenario = draw_scenario(&dice);
    struct hr_plan *fast = planned_brief(scenario, trace, HR_PLAN_SEARCH_FAST),
                   *all = planned_brief(scenario, trace, HR_PLAN_SEARCH_EXHAUSTIVE);
    n_near += race(fast, all, &n_runs, &n_most);
    hr_plan_destroy(fast);
    hr_plan_destroy(all);
    hr_trace_destroy(trace);
    hr_scenario_destroy(scenario);
  }
  CU_ASSERT(n_near >= WORLDS - 1);
  CU_ASSERT(4 * n_runs < 3 * n_most);
}

TEST_MAIN("plan: search", TEST(fast_search_equals_exhaustive_search), TEST(races_leave_nothing_undecided))
