/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of plans and replications: the runner, the evaluator, the selection of the best finalist, and replications until
   a precision is reached. */

#include "harness.h"
#include "headroom/unstable/compare.h"
#include "output_files.h"
#include "plan/runner/runner.h"
#include "planned.h"

#include <math.h>
#include <string.h>

/* A scenario with owned and spot nodes. `%s` is replaced by further keys. */
static const char scenario_text[] =
    "{\"seed\":3,\"cluster\":{\"pools\":["
    "{\"name\":\"own\",\"gpu\":\"A\",\"nodes\":2,\"gpus_per_node\":1,\"market\":\"owned\",\"usd_per_gpu_hour\":1},"
    "{\"name\":\"spot\",\"gpu\":\"A\",\"nodes\":4,\"gpus_per_node\":1,\"market\":\"spot\",\"usd_per_gpu_hour\":0.5,"
    "\"on_demand_usd_per_gpu_hour\":2,\"spot\":{\"model\":\"exponential\",\"rate_per_h\":1}}]},"
    "\"policy\":{\"name\":\"queue\",\"market\":\"spot-first\"},"
    "\"plan\":{\"variables\":[{\"pool\":\"own\",\"from\":0,\"to\":12,\"step\":1},"
    "{\"pool\":\"spot\",\"from\":0,\"to\":12,\"step\":4}],\"constraints\":[\"wait_s.mean <= 500\"]}%s}";

static struct hr_scenario *scenario_with(const char *more_demand) {
  char text[2000];
  snprintf(text, sizeof text, scenario_text, more_demand);
  return planned_scenario(text);
}

/* ---- The runner ---------------------------------------------------------------------------------------- */

struct runner_setup {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr__scoped_metric metrics[3];
  struct hr__runner *runner;
  uint32_t environment;
};

static void set_up(struct runner_setup *runner_setup, uint32_t threads) {
  *runner_setup =
      (struct runner_setup){.scenario = scenario_with(""),
                            .trace = planned_queue(9, 300, 4, 1000),
                            .metrics = {{.id = HR__M_WAIT_MEAN}, {.id = HR__M_MONTHLY}, {.id = HR__M_LOST}}};
  struct hr__runner_config config = {.scenario = runner_setup->scenario,
                                     .trace = runner_setup->trace,
                                     .metrics = runner_setup->metrics,
                                     .n_metrics = 3,
                                     .n_threads = threads};
  struct hr__environment environment = {.workload = runner_setup->scenario->replications.workload};
  hr_stress_init(&environment.stress);
  runner_setup->runner = hr__runner_create(&config);
  CU_ASSERT_PTR_NOT_NULL_FATAL(runner_setup->runner);
  CU_ASSERT_EQUAL_FATAL(
      hr__runner_add_environment(runner_setup->runner, &environment, &runner_setup->environment, NULL), HR_OK);
}

static void tear_down(struct runner_setup *runner_setup) {
  hr__runner_destroy(runner_setup->runner);
  hr_trace_destroy(runner_setup->trace);
  hr_scenario_destroy(runner_setup->scenario);
}

static uint32_t add_candidate(struct runner_setup *runner_setup, const char *override, uint32_t environment) {
  uint32_t candidate;
  CU_ASSERT_EQUAL_FATAL(hr__runner_add_candidate(runner_setup->runner, &override, 1, environment, &candidate, NULL),
                        HR_OK);
  return candidate;
}

static void runs_are_not_repeated(void) {
  struct runner_setup runner_setup;
  set_up(&runner_setup, 2);
  uint32_t drawn = add_candidate(&runner_setup, "cluster.pools.0.nodes=5", runner_setup.environment),
           exact = add_candidate(&runner_setup, "cluster.pools.1.nodes=0", runner_setup.environment);
  const struct hr__trial trials[] = {{drawn, 0}, {drawn, 1}, {drawn, 0}, {exact, 0},
                                     {exact, 1}, {exact, 7}, {drawn, 9}};
  CU_ASSERT(hr__runner_is_random(runner_setup.runner, drawn) && !hr__runner_is_random(runner_setup.runner, exact));
  CU_ASSERT_PTR_NULL(hr__runner_values(runner_setup.runner, drawn, 0));
  CU_ASSERT_EQUAL_FATAL(hr__runner_run(runner_setup.runner, trials, 7, NULL), HR_OK);
  CU_ASSERT_EQUAL(hr__runner_runs(runner_setup.runner), 4);
  CU_ASSERT_EQUAL_FATAL(hr__runner_run(runner_setup.runner, trials, 7, NULL), HR_OK);
  CU_ASSERT_EQUAL(hr__runner_runs(runner_setup.runner), 4);
  CU_ASSERT_PTR_NULL(hr__runner_values(runner_setup.runner, drawn, 2));
  CU_ASSERT_PTR_EQUAL(hr__runner_values(runner_setup.runner, exact, 5),
                      hr__runner_values(runner_setup.runner, exact, 0));
  tear_down(&runner_setup);
}

/* Two computations need two runs each, and each requests its second run only when its first run is available. One run
   is common to both. With look-ahead, two batches are made: two runs, then one run. */
static void look_ahead_makes_independent_runs_together(void) {
  struct runner_setup setup;
  set_up(&setup, 2);
  struct hr__runner *runner = setup.runner;
  uint32_t a = add_candidate(&setup, "cluster.pools.0.nodes=5", setup.environment),
           b = add_candidate(&setup, "cluster.pools.0.nodes=6", setup.environment);
  const struct hr__trial firsts[] = {{a, 0}, {b, 0}}, seconds[] = {{b, 0}, {b, 1}};
  size_t made[4] = {0};
  for (int round = 0; round < 3; round++) {
    hr__runner_look_ahead(runner);
    for (int part = 0; part < 2; part++) {
      enum hr_status status = hr__runner_run(runner, &firsts[part], 1, NULL);
      CU_ASSERT_EQUAL(status, round == 0 ? HR_CHECK_FAILED : HR_OK);
      if (status != HR_OK) continue;
      CU_ASSERT_PTR_NULL(hr__runner_values(runner, b, 1));
      CU_ASSERT_EQUAL(hr__runner_run(runner, &seconds[part], 1, NULL), round == 1 && part ? HR_CHECK_FAILED : HR_OK);
    }
    CU_ASSERT_EQUAL(hr__runner_runs(runner), (uint64_t)(round == 2 ? 3 : 2 * round));
    CU_ASSERT_EQUAL(hr__runner_catch_up(runner, UINT64_MAX, &made[round], NULL), HR_OK);
    CU_ASSERT(hr__runner_runs(runner) == 0 && !hr__runner_values(runner, a, 0));
  }
  CU_ASSERT(made[0] == 2 && made[1] == 1 && made[2] == 0);
  CU_ASSERT_EQUAL(hr__runner_run(runner, firsts, 2, NULL), HR_OK);
  CU_ASSERT_EQUAL(hr__runner_runs(runner), 2);
  CU_ASSERT(hr__runner_values(runner, a, 0) && !hr__runner_values(runner, b, 1));
  hr__runner_look_ahead(runner);
  CU_ASSERT_EQUAL(hr__runner_run(runner, &(struct hr__trial){a, 1}, 1, NULL), HR_CHECK_FAILED);
  CU_ASSERT_EQUAL(hr__runner_catch_up(runner, 2, made, NULL), HR_OK); /* two runs are permitted and were made */
  CU_ASSERT_EQUAL(made[0], 0);
  CU_ASSERT_EQUAL(hr__runner_run(runner, &(struct hr__trial){a, 1}, 1, NULL), HR_OK);
  CU_ASSERT(hr__runner_values(runner, a, 1) && hr__runner_runs(runner) == 3);
  tear_down(&setup);
}

static void values_equal_a_single_run(void) {
  struct runner_setup runner_setup;
  set_up(&runner_setup, 2);
  uint32_t candidate = add_candidate(&runner_setup, "cluster.pools.0.nodes=3", runner_setup.environment);
  const struct hr__trial trials[] = {{candidate, 0}, {candidate, 1}, {candidate, 2}};
  CU_ASSERT_EQUAL_FATAL(hr__runner_run(runner_setup.runner, trials, 3, NULL), HR_OK);
  for (uint32_t r = 0; r < 3; r++) {
    const struct hr_scenario *scenario = hr__runner_scenario(runner_setup.runner, candidate);
    struct hr__one_run_config config = {.scenario = scenario,
                                        .trace = runner_setup.trace,
                                        .policy = &scenario->policy,
                                        .seed = hr_replication_seed(runner_setup.scenario->seed, r)};
    struct hr__one_run run;
    double values[HR__N_METRICS];
    CU_ASSERT_EQUAL_FATAL(hr__one_run_make(&config, &run, NULL), HR_OK);
    hr__metrics_of_run(run.summary, values);
    for (size_t i = 0; i < 3; i++)
      CU_ASSERT_EQUAL(hr__runner_values(runner_setup.runner, candidate, r)[i], values[runner_setup.metrics[i].id]);
    hr__one_run_finish(&run);
  }
  CU_ASSERT(hr__runner_values(runner_setup.runner, candidate, 0)[0] !=
            hr__runner_values(runner_setup.runner, candidate, 1)[0]);
  tear_down(&runner_setup);
}

/* Three environments: unchanged, spot prices multiplied by two, demand multiplied by 1.5. */
static void environments_change_price_and_demand(void) {
  struct runner_setup runner_setup;
  set_up(&runner_setup, 1);
  struct hr__environment double_price = {.workload = runner_setup.scenario->replications.workload},
                         more_demand = double_price;
  uint32_t double_price_environment, more_demand_environment;
  hr_stress_init(&double_price.stress);
  hr_stress_init(&more_demand.stress);
  double_price.stress.spot_price = 2;
  more_demand.workload.growth = 1.5;
  CU_ASSERT_EQUAL_FATAL(hr__runner_add_environment(runner_setup.runner, &double_price, &double_price_environment, NULL),
                        HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr__runner_add_environment(runner_setup.runner, &more_demand, &more_demand_environment, NULL),
                        HR_OK);
  const char *none = "cluster.pools.0.nodes=0";
  const struct hr__trial trials[] = {{add_candidate(&runner_setup, none, runner_setup.environment), 0},
                                     {add_candidate(&runner_setup, none, double_price_environment), 0},
                                     {add_candidate(&runner_setup, none, more_demand_environment), 0}};
  CU_ASSERT_EQUAL_FATAL(hr__runner_run(runner_setup.runner, trials, 3, NULL), HR_OK);
  const double *plain = hr__runner_values(runner_setup.runner, trials[0].candidate, 0),
               *at_twice = hr__runner_values(runner_setup.runner, trials[1].candidate, 0);
  CU_ASSERT_EQUAL(plain[0], at_twice[0]);
  CU_ASSERT(fabs(at_twice[1] / plain[1] - 2) < 1e-6);
  CU_ASSERT(hr__runner_values(runner_setup.runner, trials[2].candidate, 0)[0] > plain[0]);
  tear_down(&runner_setup);
}

/* ---- The evaluator and the selection ---------------------------------------------------------------- */

struct selection_setup {
  struct runner_setup runner_setup;
  struct hr__goals goals;
  struct hr__space space;
  struct hr__evaluator evaluator;
};

static void selection_setup_make(struct selection_setup *setup) {
  *setup = (struct selection_setup){
      .runner_setup = {.scenario = scenario_with(""), .trace = planned_queue(9, 300, 4, 1000)}};
  struct runner_setup *runner_setup = &setup->runner_setup;
  CU_ASSERT_EQUAL_FATAL(
      hr__goals_make(runner_setup->scenario->plan, runner_setup->trace, NULL, true, &setup->goals, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr__space_make(runner_setup->scenario->plan, NULL, &setup->space, NULL), HR_OK);
  struct hr__runner_config config = {.scenario = runner_setup->scenario,
                                     .trace = runner_setup->trace,
                                     .metrics = setup->goals.metrics,
                                     .n_metrics = setup->goals.n_metrics,
                                     .n_threads = 1};
  struct hr__environment environment = {.workload = runner_setup->scenario->replications.workload};
  hr_stress_init(&environment.stress);
  runner_setup->runner = hr__runner_create(&config);
  CU_ASSERT_PTR_NOT_NULL_FATAL(runner_setup->runner);
  CU_ASSERT_EQUAL_FATAL(
      hr__runner_add_environment(runner_setup->runner, &environment, &runner_setup->environment, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr__evaluator_make(&setup->evaluator, runner_setup->runner, &setup->space, &setup->goals,
                                           runner_setup->environment, NULL),
                        HR_OK);
}

static void selection_setup_finish(struct selection_setup *setup) {
  hr__evaluator_finish(&setup->evaluator);
  hr__goals_finish(&setup->goals);
  tear_down(&setup->runner_setup);
}

/* The index of the candidate with `own` owned GPUs and level `spot` of the spot axis. */
static uint32_t candidate(uint32_t own, uint32_t spot) {
  return 4 * own + spot;
}

/* The number of consecutive replications of a candidate, from the first one, that were run. UINT32_MAX for a
   deterministic candidate that was run. */
static uint32_t count_runs(const struct hr__evaluator *evaluator, uint32_t candidate) {
  uint32_t id = evaluator->runner_ids[candidate], count = 0;
  if (id == HR_NONE) return 0;
  if (!hr__runner_is_random(evaluator->runner, id)) return hr__runner_values(evaluator->runner, id, 0) ? UINT32_MAX : 0;
  while (hr__runner_values(evaluator->runner, id, count)) count++;
  return count;
}

static void evaluation_computed_by_hand(void) {
  struct selection_setup setup;
  selection_setup_make(&setup);
  uint32_t few = candidate(3, 1), none = candidate(0, 0), both[] = {few, none};
  CU_ASSERT_EQUAL(count_runs(&setup.evaluator, few), 0);
  CU_ASSERT_EQUAL_FATAL(hr__evaluator_run(&setup.evaluator, both, 2, 4, NULL), HR_OK);
  CU_ASSERT_EQUAL(count_runs(&setup.evaluator, few), 4);
  CU_ASSERT_EQUAL(count_runs(&setup.evaluator, none), UINT32_MAX);
  double monthly = 0, wait = 0;
  size_t cost_at = hr__goals_find(&setup.goals, &(struct hr__scoped_metric){.id = HR__M_MONTHLY}),
         wait_at = hr__goals_find(&setup.goals, &(struct hr__scoped_metric){.id = HR__M_WAIT_MEAN});
  for (uint32_t r = 0; r < 4; r++) {
    const double *values = hr__runner_values(setup.runner_setup.runner, setup.evaluator.runner_ids[few], r);
    monthly += values[cost_at] / 4;
    wait += values[wait_at] / 4;
  }
  struct hr__evaluation evaluation = hr__evaluator_evaluate(&setup.evaluator, few, 4),
                        of_none = hr__evaluator_evaluate(&setup.evaluator, none, 4);
  CU_ASSERT(fabs(evaluation.objective / monthly - 1) < 1e-12);
  CU_ASSERT(fabs(evaluation.violation - fmax(0, wait / 500 - 1)) < 1e-9);
  CU_ASSERT(of_none.violation >= 1 - 1e-9); /* no job completes, but the goal is 99 % */
  CU_ASSERT_TRUE(hr__evaluator_is_short(&setup.evaluator, none, 4));
  CU_ASSERT_TRUE(hr__evaluation_is_better(&setup.space, few, &evaluation, none, &of_none));
  CU_ASSERT_TRUE(
      hr__evaluation_is_better(&setup.space, few, &evaluation, candidate(4, 1), &evaluation)); /* `few`: fewer GPUs */
  selection_setup_finish(&setup);
}

static struct hr__selection run_selection(struct selection_setup *setup, const uint32_t *finalists, uint32_t count,
                                          uint32_t most, double indifference) {
  struct hr__selection_config config = {.evaluator = &setup->evaluator,
                                        .first = 5,
                                        .max_replications = most,
                                        .confidence = 0.95,
                                        .indifference = indifference,
                                        .max_runs = 100000,
                                        .seed = 1};
  struct hr__selection selection;
  CU_ASSERT_EQUAL_FATAL(hr__select(&config, finalists, count, &selection, NULL), HR_OK);
  return selection;
}

/* Six or seven more owned GPUs are much more expensive. The expensive finalists are dropped after the first stage, and
   the choice is certain. */
static void selection_of_a_clear_winner(void) {
  struct selection_setup setup;
  selection_setup_make(&setup);
  const uint32_t finalists[] = {candidate(12, 1), candidate(5, 1), candidate(11, 1)};
  struct hr__selection selection = run_selection(&setup, finalists, 3, 40, 0.01);
  CU_ASSERT_EQUAL(selection.choice, finalists[1]);
  CU_ASSERT_EQUAL(selection.nearest, finalists[1]);
  CU_ASSERT_EQUAL(selection.probability, 1);
  CU_ASSERT_EQUAL(selection.replications, 5);
  CU_ASSERT_EQUAL(count_runs(&setup.evaluator, finalists[0]), 5);
  CU_ASSERT_EQUAL(hr__runner_runs(setup.runner_setup.runner), 15);
  selection_setup_finish(&setup);
}

/* More spot nodes than are ever used change nothing, so both finalists are equal within the indifference zone. */
static void selection_within_the_indifference_zone(void) {
  struct selection_setup setup;
  selection_setup_make(&setup);
  const uint32_t finalists[] = {candidate(7, 3), candidate(7, 2)};
  struct hr__selection selection = run_selection(&setup, finalists, 2, 12, 0.5);
  CU_ASSERT(selection.choice == finalists[0] || selection.choice == finalists[1]);
  CU_ASSERT(selection.probability > 0.99);
  CU_ASSERT(selection.zone > 0);
  selection_setup_finish(&setup);
}

static void selection_when_a_goal_is_missed(void) {
  struct selection_setup setup;
  selection_setup_make(&setup);
  const uint32_t finalists[] = {candidate(4, 0), candidate(12, 1)}, hopeless[] = {candidate(2, 0), candidate(4, 0)};
  struct hr__selection selection =
      run_selection(&setup, finalists, 2, 12, 0.01); /* the cheaper finalist has long waits */
  CU_ASSERT(hr__evaluator_evaluate(&setup.evaluator, finalists[0], 1).objective <
            hr__evaluator_evaluate(&setup.evaluator, finalists[1], 1).objective);
  CU_ASSERT_EQUAL(selection.choice, finalists[1]);
  selection = run_selection(&setup, hopeless, 2, 12, 0.01);
  CU_ASSERT_EQUAL(selection.choice, HR_NONE);
  CU_ASSERT_EQUAL(selection.nearest, hopeless[1]);
  CU_ASSERT_EQUAL(selection.probability, 0);
  selection_setup_finish(&setup);
}

/* ---- Replications ----------------------------------------------------------------------------------- */

static struct hr_replicates *replicated(const struct hr_scenario *scenario, const struct hr_trace *trace,
                                        uint32_t threads) {
  struct hr_replicate_config config = {
      .scenario = scenario, .trace = trace, .spec = &scenario->replications, .n_threads = threads};
  struct hr_replicates *replicates = NULL;
  struct hr_error error = {0};
  if (hr_replicate(&config, &replicates, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(replicates);
  return replicates;
}

static double half_width(const struct hr_replicates *replicates, const char *name) {
  struct hr_replicated metric;
  CU_ASSERT_EQUAL_FATAL(hr_replicates_metric(replicates, name, &metric, NULL), HR_OK);
  return (metric.high - metric.low) / 2 / (metric.of_median ? metric.median : metric.mean);
}

static void replications_until_a_precision(void) {
  struct hr_scenario *scenario =
      scenario_with(",\"replications\":{\"metric\":\"wait_s.mean\",\"relative\":0.2,\"min\":5,\"max\":200}");
  struct hr_trace *trace = planned_queue(9, 300, 4, 1000);
  struct hr_replicates *replicates = replicated(scenario, trace, 1);
  uint32_t count = replicates->count;
  CU_ASSERT(count > 5 && count < 200);
  CU_ASSERT(half_width(replicates, "wait_s.mean") <= 0.2);
  CU_ASSERT_EQUAL(hr_replicates_notes(replicates)->count, 0);
  hr_replicates_destroy(replicates);
  hr_scenario_destroy(scenario);
  scenario = scenario_with(",\"replications\":{\"metric\":\"wait_s.mean\",\"relative\":0.001,\"max\":12}");
  replicates = replicated(scenario, trace, 1);
  CU_ASSERT_EQUAL(replicates->count, 12);
  CU_ASSERT(half_width(replicates, "wait_s.mean") > 0.001);
  CU_ASSERT_EQUAL_FATAL(hr_replicates_notes(replicates)->count, 1);
  CU_ASSERT_PTR_NOT_NULL(strstr(hr_replicates_notes(replicates)->text[0], "after 12 replications"));
  hr_replicates_destroy(replicates);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

static void one_run_if_deterministic(void) {
  struct hr_scenario *scenario = planned_scenario(
      "{\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"A\",\"nodes\":5,\"gpus_per_node\":1}]},\"policy\":{\"name\":"
      "\"queue\"},\"replications\":{\"count\":20}}");
  struct hr_trace *trace = planned_queue(9, 300, 4, 1000);
  struct hr_replicates *replicates = replicated(scenario, trace, 2);
  struct hr_replicated metric;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(replicates->count, 1);
  CU_ASSERT_EQUAL_FATAL(hr_replicates_metric(replicates, "wait_s.mean", &metric, NULL), HR_OK);
  CU_ASSERT(metric.low == metric.mean && metric.high == metric.mean && metric.mean > 0);
  CU_ASSERT_EQUAL(hr_replicates_metric(replicates, "wait_s.maen", &metric, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "wait_s.mean"));
  hr_replicates_destroy(replicates);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

static char *json_of(const struct hr_replicates *replicates) {
  CU_ASSERT_EQUAL_FATAL(hr_replicates_write_json(files_path("r.json"), replicates, NULL, NULL), HR_OK);
  return files_read(files_path("r.json"));
}

static void same_results_on_any_number_of_threads(void) {
  struct hr_scenario *scenario =
      scenario_with(",\"replications\":{\"metric\":\"wait_s.p95\",\"relative\":0.1,\"max\":30}");
  struct hr_trace *trace = planned_queue(9, 300, 4, 1000);
  char *first = NULL;
  for (uint32_t threads = 1; threads <= 4; threads *= 2) {
    struct hr_replicates *replicates = replicated(scenario, trace, threads);
    char *text = json_of(replicates);
    if (first) CU_ASSERT_STRING_EQUAL(text, first);
    if (first) free(text);
    if (!first) first = text;
    hr_replicates_destroy(replicates);
  }
  CU_ASSERT_PTR_NOT_NULL(strstr(first, "\"seeds\""));
  free(first);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

TEST_MAIN("plan: runs", TEST(runs_are_not_repeated), TEST(look_ahead_makes_independent_runs_together),
          TEST(values_equal_a_single_run), TEST(environments_change_price_and_demand),
          TEST(evaluation_computed_by_hand), TEST(selection_of_a_clear_winner),
          TEST(selection_within_the_indifference_zone), TEST(selection_when_a_goal_is_missed),
          TEST(replications_until_a_precision), TEST(one_run_if_deterministic),
          TEST(same_results_on_any_number_of_threads))
