/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The conditions under which a plan is tested. Most workloads are so simple that the results are known: every hour some
 * jobs of the same length are submitted.
 */

#include "harness.h"
#include "planned.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

/* Submits `count` jobs with one GPU and a run time of `work_s` seconds, at the start of each of `hours` hours. */
static struct hr_trace *hourly(uint32_t hours, uint32_t count, int64_t work_s) {
  struct hr_trace_builder *builder = hr_trace_builder_create("hourly", "memory");
  struct hr_trace *trace = NULL;
  struct hr_job_record record;
  hr_job_record_init(&record);
  record.gpus = 1;
  record.work_us = work_s * HR_SECOND_US;
  CU_ASSERT_PTR_NOT_NULL_FATAL(builder);
  for (uint32_t i = 0; i < hours * count; i++) {
    record.submit_us = (int64_t)(i / count) * 3600 * HR_SECOND_US;
    CU_ASSERT_EQUAL_FATAL(hr_trace_builder_add(builder, &record, i + 1, NULL), HR_OK);
  }
  CU_ASSERT_EQUAL_FATAL(hr_trace_builder_finish(builder, false, false, &trace, NULL), HR_OK);
  hr_trace_builder_destroy(builder);
  return trace;
}

static struct hr_plan *tested(const struct hr_scenario *scenario, const struct hr_trace *trace) {
  struct hr_plan_config config = {.scenario = scenario, .trace = trace, .n_threads = 2};
  struct hr_error error = {0};
  struct hr_plan *plan = NULL;
  if (hr_plan(&config, &plan, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
  CU_ASSERT_TRUE_FATAL(hr_plan_feasible(plan));
  return plan;
}

/* The index of the condition with this name; exits if none has it. */
static uint32_t condition(const struct hr_plan *plan, const char *name) {
  for (uint32_t i = 0; i < plan->robustness.n_conditions; i++)
    if (strcmp(plan->robustness.conditions[i].name, name) == 0) return i;
  printf("\n  no condition '%s'\n", name);
  CU_FAIL_FATAL("a condition is missing");
  return 0;
}

static bool has_condition(const struct hr_plan *plan, const char *name) {
  for (uint32_t i = 0; i < plan->robustness.n_conditions; i++)
    if (strcmp(plan->robustness.conditions[i].name, name) == 0) return true;
  return false;
}

/* The printed plan; the caller frees it. */
static char *planned_text(const struct hr_plan *plan) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  CU_ASSERT_EQUAL(hr_plan_print(out, plan, NULL, false), HR_OK);
  fclose(out);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  return text;
}

static const struct hr__held *held(const struct hr_plan *plan, uint32_t mix, const char *name) {
  return &plan->robustness.mixes[mix].held[condition(plan, name)];
}

static double level_of(const struct hr_plan *plan, uint32_t mix, uint32_t axis) {
  struct hr__point point = hr__space_point(&plan->space, plan->robustness.mixes[mix].candidate);
  return plan->space.spec->variables[axis].axis.levels[point.level[axis]].number;
}

static void expect(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-6 * fmax(1, fabs(expected)))) printf("\n  %.12g, expected %.12g", value, expected);
  CU_ASSERT(fabs(value - expected) <= 1e-6 * fmax(1, fabs(expected)));
}

/* ---- Spot capacity that never runs out -------------------------------------------------------------- */

/* A spot GPU costs 1 dollar an hour and an on-demand GPU 4. */
static const char spot_or_on_demand[] =
    "{\"seed\":1,\"cluster\":{\"pools\":["
    "{\"name\":\"s\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"spot\",\"provider\":\"aws\","
    "\"usd_per_gpu_hour\":1,\"on_demand_usd_per_gpu_hour\":4,\"boot_s\":0,\"spot\":{\"model\":\"none\"}},"
    "{\"name\":\"o\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"on-demand\","
    "\"usd_per_gpu_hour\":4,\"boot_s\":0}]},"
    "\"policy\":{\"name\":\"queue\",\"market\":\"spot-first\"},"
    "\"plan\":{\"variables\":[{\"pool\":\"s\",\"values\":[0,1,2]},{\"pool\":\"o\",\"values\":[0,1,2]}],"
    "\"constraints\":[\"wait_s.p95 <= 10 min\"]}}";

/* The choice uses spot capacity only, so jobs wait while no spot capacity is available. With a mix that also has
   on-demand capacity, jobs do not wait, but a month without spot capacity costs four times as much. */
static void plan_that_needs_spot(void) {
  struct hr_trace *trace = hourly(500, 1, 1800);
  struct hr_scenario *scenario = planned_scenario(spot_or_on_demand);
  struct hr_plan *plan = tested(scenario, trace);
  const struct hr__robustness *robustness = &plan->robustness;
  uint32_t shown[HR__MAX_PRINTED_MIXES], count = hr__robustness_shown(robustness, plan->selection.zone, shown);
  CU_ASSERT(level_of(plan, 0, 0) == 1 && level_of(plan, 0, 1) == 0);
  CU_ASSERT(held(plan, 0, "no spot capacity")->violation > 0);
  CU_ASSERT(held(plan, 0, "spot 50 % of the time")->violation > 0);
  CU_ASSERT(held(plan, 0, "spot 80 % of the time")->violation > 0);
  CU_ASSERT(held(plan, 0, "spot as aws-v100x8")->violation > 0);
  CU_ASSERT(held(plan, 0, "demand - 25 %")->violation == 0);
  expect(held(plan, 0, "cloud prices - 30 %")->cost, 0.7 * robustness->mixes[0].planned.cost);
  CU_ASSERT_FATAL(count >= 2);
  uint32_t safe = shown[count - 1];
  CU_ASSERT(level_of(plan, safe, 1) >= 1);
  CU_ASSERT(held(plan, safe, "no spot capacity")->violation == 0);
  CU_ASSERT(held(plan, safe, "spot 50 % of the time")->violation == 0);
  expect(held(plan, safe, "no spot capacity")->cost, 4 * robustness->mixes[0].planned.cost);
  for (uint32_t i = 1; i < count; i++)
    CU_ASSERT(robustness->mixes[shown[i]].n_met > robustness->mixes[shown[i - 1]].n_met);
  hr_plan_destroy(plan);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

/* A mix with on-demand capacity serves all jobs in time even if there is no spot capacity, but then a month costs more
   than the goal of 600 dollars. Such a condition does not count as one under which all goals are met. */
static void dollars_count_as_goals(void) {
  char text[2000], expected[100];
  snprintf(text, sizeof text, "%.*s,\"monthly_usd <= 600\"]}}", (int)(strlen(spot_or_on_demand) - strlen("]}}")),
           spot_or_on_demand);
  struct hr_trace *trace = hourly(500, 1, 1800);
  struct hr_scenario *scenario = planned_scenario(text);
  struct hr_plan *plan = tested(scenario, trace);
  const struct hr__robustness *robustness = &plan->robustness;
  uint32_t shown[HR__MAX_PRINTED_MIXES], count = hr__robustness_shown(robustness, plan->selection.zone, shown);
  CU_ASSERT_FATAL(count >= 2);
  const struct hr__tested_mix *safe = &robustness->mixes[shown[count - 1]];
  uint32_t met = 0, over = 0;
  for (uint32_t k = 0; k < robustness->n_conditions; k++) {
    if (!safe->held[k].serves || safe->held[k].missed > 0) continue;
    met += safe->held[k].cost <= 600;
    over += safe->held[k].cost > 600;
  }
  CU_ASSERT(met > 0 && over > 0);
  CU_ASSERT(safe->n_met == met && safe->n_over_dollars == over);
  char *words = planned_text(plan);
  for (char *at = words; *at; at++)
    if (*at == '\n') *at = ' ';
  CU_ASSERT_PTR_NULL(strstr(words, "serves under"));
  snprintf(expected, sizeof expected, "all goals under %u of %u ", met, robustness->n_conditions);
  CU_ASSERT_PTR_NOT_NULL(strstr(words, expected));
  free(words);
  hr_plan_destroy(plan);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

/* Three mixes are printed: the choice, the cheapest mix that meets all goals under more conditions than the choice, and
   the mix that meets all goals under the most conditions. The second argument of hr__robustness_shown is the width of
   the indifference zone: a mix counts as equally expensive as the choice if its objective is at most this much
   higher. */
static void printed_mixes(void) {
  struct hr__robustness tested_mixes = {.n_conditions = 9, .n_mixes = 5};
  struct hr__tested_mix *mixes = tested_mixes.mixes;
  static const double objectives[] = {100, 100.5, 101, 110, 120};
  static const uint32_t met[] = {3, 4, 6, 5, 8};
  uint32_t shown[HR__MAX_PRINTED_MIXES];
  for (uint32_t i = 0; i < 5; i++)
    mixes[i] = (struct hr__tested_mix){.planned = {.objective = objectives[i]}, .n_met = met[i]};
  CU_ASSERT_EQUAL_FATAL(hr__robustness_shown(&tested_mixes, 0, shown), 3);
  CU_ASSERT(shown[0] == 0 && shown[1] == 1 && shown[2] == 4);
  /* The choice is mix 0. With an indifference zone of 1, mixes 1 and 2 count as equally expensive as the choice. Of
     these two, mix 2 is printed, because it meets all goals under more conditions. */
  CU_ASSERT_EQUAL_FATAL(hr__robustness_shown(&tested_mixes, 1, shown), 3);
  CU_ASSERT(shown[0] == 0 && shown[1] == 2 && shown[2] == 4);
  /* If no mix meets all goals under more conditions than the choice, the mix that meets all goals except those in
     dollars under the most conditions is printed instead. */
  mixes[4].n_met = 2;
  mixes[4].n_over_dollars = 6;
  CU_ASSERT_EQUAL_FATAL(hr__robustness_shown(&tested_mixes, 1, shown), 2);
  CU_ASSERT_EQUAL(shown[1], 2);
  for (uint32_t i = 1; i < 4; i++) mixes[i].n_met = 3;
  CU_ASSERT_EQUAL_FATAL(hr__robustness_shown(&tested_mixes, 1, shown), 2);
  CU_ASSERT_EQUAL(shown[1], 4);
}

/* A cell is the result of a mix under a condition. It counts as met only if no run misses a goal. */
static void split_cells_are_not_met(void) {
  struct hr__held held_here = {.runs = 4, .serves = true};
  CU_ASSERT_TRUE(hr__held_meets(&held_here));
  held_here.missed = 1;
  CU_ASSERT_FALSE(hr__held_meets(&held_here) || hr__held_is_over_dollars(&held_here));
  held_here.missed = 0;
  held_here.violation = 0.1;
  CU_ASSERT_TRUE(!hr__held_meets(&held_here) && hr__held_is_over_dollars(&held_here));
}

/* Some conditions replace the spot market of a pool by a preset. For a pool of V100s on AWS, these presets are used:
   the records of V100s of all providers, and the band of AWS's advisor with the most interruptions. A record of one
   region is not used if the provider has a record for all regions. */
static void plausible_presets(void) {
  struct hr_trace *trace = hourly(100, 1, 1800);
  struct hr_scenario *scenario = planned_scenario(spot_or_on_demand);
  struct hr_plan *plan = tested(scenario, trace);
  static const char *const plausible[] = {"aws-v100", "aws-v100x8", "aws-p3", "gcp-v100", "advisor-over-20"};
  static const char *const others[] = {"aws-v100-us-east-1", "aws-g4dn", "gcp-a100", "gcp-preemptible", "advisor-5-10"};
  char name[100];
  for (size_t i = 0; i < sizeof plausible / sizeof *plausible; i++) {
    snprintf(name, sizeof name, "spot as %s", plausible[i]);
    CU_ASSERT_TRUE(has_condition(plan, name));
    snprintf(name, sizeof name, "spot as %s", others[i]);
    CU_ASSERT_FALSE(has_condition(plan, name));
  }
  hr_plan_destroy(plan);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

/* ---- Commitments ------------------------------------------------------------------------------------ */

/* Four GPUs are in use all the time. Reserved at 1 dollar an hour they are cheaper than on demand at 1.20. If cloud
   prices fall by 30 %, they cost 0.84 on demand, so each reserved GPU costs 0.16 dollars an hour too much. */
static void commitments_at_risk(void) {
  struct hr_trace *trace = hourly(400, 4, 3600);
  struct hr_scenario *scenario =
      planned_scenario("{\"cluster\":{\"pools\":["
                       "{\"name\":\"r\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"reserved\","
                       "\"usd_per_gpu_hour\":1,\"on_demand_usd_per_gpu_hour\":1.2},"
                       "{\"name\":\"o\",\"gpu\":\"V100\",\"nodes\":8,\"gpus_per_node\":1,\"market\":\"on-demand\","
                       "\"usd_per_gpu_hour\":1.2,\"boot_s\":0}]},"
                       "\"policy\":{\"name\":\"queue\",\"market\":\"on-demand-only\"},"
                       "\"plan\":{\"variables\":[{\"pool\":\"r\",\"from\":0,\"to\":8,\"step\":1}],"
                       "\"constraints\":[\"wait_s.max <= 30 min\",\"completed >= 100 %\"]}}");
  struct hr_plan *plan = tested(scenario, trace);
  const struct hr__robustness *robustness = &plan->robustness;
  CU_ASSERT_EQUAL(level_of(plan, 0, 0), 4);
  CU_ASSERT_EQUAL_FATAL(robustness->n_commitments, 1);
  const struct hr__commitment *commitment = &robustness->commitments[0];
  CU_ASSERT_EQUAL(commitment->gpus, 4);
  expect(commitment->monthly_usd, 4 * 730);
  CU_ASSERT_EQUAL(commitment->months, 0);
  CU_ASSERT_FALSE(has_condition(plan, "no spot capacity"));
  CU_ASSERT_TRUE(commitment->prices_fall.known);
  CU_ASSERT(fabs(commitment->prices_fall.usd - 0.16 * 4 * 730) < 0.02 * 4 * 730);
  CU_ASSERT_EQUAL(commitment->prices_fall.gpus, 0);
  hr_plan_destroy(plan);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

/* If a variable has no smaller value than the commitment, the amount at risk is unknown. */
static void smallest_commitment_is_not_tested(void) {
  struct hr_trace *trace = hourly(100, 4, 3600);
  struct hr_scenario *scenario =
      planned_scenario("{\"cluster\":{\"pools\":["
                       "{\"name\":\"r\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"reserved\","
                       "\"usd_per_gpu_hour\":1,\"on_demand_usd_per_gpu_hour\":1.2}]},"
                       "\"policy\":{\"name\":\"queue\"},"
                       "\"plan\":{\"variables\":[{\"pool\":\"r\",\"from\":4,\"to\":8,\"step\":1}],"
                       "\"constraints\":[\"wait_s.max <= 30 min\",\"completed >= 100 %\"]}}");
  struct hr_plan *plan = tested(scenario, trace);
  char *text = planned_text(plan);
  CU_ASSERT_EQUAL(level_of(plan, 0, 0), 4);
  CU_ASSERT_EQUAL_FATAL(plan->robustness.n_commitments, 1);
  CU_ASSERT_FALSE(plan->robustness.commitments[0].demand_falls.known);
  CU_ASSERT_PTR_NULL(strstr(text, "nothing of"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "not tested"));
  free(text);
  hr_plan_destroy(plan);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

/* The choice has no random events, but other finalists have. It is run once, and one run supports no probability. */
static void one_run_has_no_probability(void) {
  struct hr_trace *trace = hourly(200, 2, 3600);
  struct hr_scenario *scenario = planned_scenario(
      "{\"seed\":1,\"cluster\":{\"pools\":["
      "{\"name\":\"r\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"reserved\","
      "\"usd_per_gpu_hour\":1,\"on_demand_usd_per_gpu_hour\":3},"
      "{\"name\":\"s\",\"gpu\":\"V100\",\"nodes\":2,\"gpus_per_node\":1,\"market\":\"spot\","
      "\"provider\":\"aws\",\"usd_per_gpu_hour\":1.05,\"on_demand_usd_per_gpu_hour\":3,\"boot_s\":0,"
      "\"spot\":{\"model\":\"exponential\",\"rate_per_h\":0.05}}]},"
      "\"policy\":{\"name\":\"queue\",\"market\":\"spot-first\"},"
      "\"plan\":{\"variables\":[{\"pool\":\"r\",\"values\":[0,1,2]},{\"pool\":\"s\",\"values\":[0,1,2]}],"
      "\"constraints\":[\"wait_s.max <= 90 min\"]}}");
  struct hr_plan *plan = tested(scenario, trace);
  char *text = planned_text(plan);
  CU_ASSERT_TRUE(plan->evaluator.random);
  CU_ASSERT_EQUAL(plan->choice.replications, 1);
  CU_ASSERT_PTR_NULL(strstr(text, "with probability"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "a single run has no"));
  free(text);
  hr_plan_destroy(plan);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

/* ---- GPUs that cannot be bought --------------------------------------------------------------------- */

/* Two GPUs are owned, two more of the same type are bought. If no GPUs can be bought, the two owned GPUs remain, and
   two of four jobs wait for an hour. */
static void owned_gpus_stay(void) {
  struct hr_trace *trace = hourly(1, 4, 3600);
  struct hr_scenario *scenario = planned_scenario(
      "{\"cluster\":{\"pools\":["
      "{\"name\":\"own\",\"gpu\":\"V100\",\"nodes\":2,\"gpus_per_node\":1,\"market\":\"owned\",\"usd_per_gpu_hour\":1},"
      "{\"name\":\"r\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"reserved\","
      "\"usd_per_gpu_hour\":1,\"on_demand_usd_per_gpu_hour\":3}]},"
      "\"policy\":{\"name\":\"queue\"},\"plan\":{\"variables\":[{\"pool\":\"r\",\"values\":[0,1,2,3,4]}],"
      "\"constraints\":[\"wait_s.max <= 30 min\",\"completed >= 100 %\"]}}");
  struct hr_plan *plan = tested(scenario, trace);
  CU_ASSERT_EQUAL(level_of(plan, 0, 0), 2);
  uint32_t at = condition(plan, "no more V100");
  struct hr__evaluator *within = plan->robustness.conditions[at].within;
  const struct hr_cluster_spec *cluster =
      &hr__runner_scenario(plan->runner, within->runner_ids[plan->choice.candidate])->cluster;
  CU_ASSERT(cluster->pools[0].nodes == 2 && cluster->pools[1].nodes == 0);
  CU_ASSERT(held(plan, 0, "no more V100")->violation > 0);
  const struct hr__scoped_metric wait = {.id = HR__M_WAIT_MEAN}, completed = {.id = HR__M_COMPLETED_SHARE};
  expect(hr__evaluator_centre(within, plan->choice.candidate, 1, hr__goals_find(&plan->goals, &wait)), 1800);
  expect(hr__evaluator_centre(within, plan->choice.candidate, 1, hr__goals_find(&plan->goals, &completed)), 1);
  hr_plan_destroy(plan);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

/* The owned GPUs have no price. If no other GPUs can be bought, the cost is unknown, not zero. */
static void unpriced_cost_is_unknown(void) {
  struct hr_trace *trace = hourly(2, 1, 600);
  struct hr_scenario *scenario = planned_scenario(
      "{\"cluster\":{\"pools\":["
      "{\"name\":\"own\",\"gpu\":\"V100\",\"nodes\":2,\"gpus_per_node\":1},"
      "{\"name\":\"o\",\"gpu\":\"V100\",\"nodes\":2,\"gpus_per_node\":1,\"market\":\"on-demand\","
      "\"usd_per_gpu_hour\":3,\"boot_s\":0}]},\"policy\":{\"name\":\"queue\"},"
      "\"plan\":{\"variables\":[{\"name\":\"order\",\"path\":\"policy.order\",\"values\":[\"fifo\",\"sjf\"]}],"
      "\"constraints\":[\"wait_s.max <= 30 min\",\"completed >= 100 %\"]}}");
  struct hr_plan *plan = tested(scenario, trace);
  char *json = hr_plan_json(plan, NULL), *text = planned_text(plan);
  cJSON *tree = cJSON_Parse(json);
  CU_ASSERT_TRUE(plan->robustness.mixes[0].planned.priced);
  CU_ASSERT_FALSE(held(plan, 0, "no more V100")->priced);
  const cJSON *mix = cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetObjectItem(tree, "holds_under"), "mixes"), 0);
  const cJSON *results = cJSON_GetObjectItem(mix, "results"), *result,
              *cases = cJSON_GetObjectItem(tree, "sensitivity");
  CU_ASSERT_TRUE(cJSON_IsNumber(cJSON_GetObjectItem(mix, "objective")));
  cJSON_ArrayForEach(result, results) {
    bool unpriced = strcmp(cJSON_GetObjectItem(result, "condition")->valuestring, "no more V100") == 0;
    CU_ASSERT_EQUAL(cJSON_IsNull(cJSON_GetObjectItem(result, "objective")), unpriced);
  }
  cJSON_ArrayForEach(result, cases) {
    bool unpriced = strcmp(cJSON_GetObjectItem(result, "change")->valuestring, "no more V100") == 0;
    const cJSON *same = cJSON_GetObjectItem(result, "same_choice");
    CU_ASSERT_EQUAL(cJSON_IsNull(cJSON_GetObjectItem(same, "objective")), unpriced);
  }
  const char *row = strstr(text, "no more V100");
  CU_ASSERT_PTR_NOT_NULL_FATAL(row);
  CU_ASSERT_EQUAL(strncmp(row + strcspn(row, "\n") - strlen("no price"), "no price", strlen("no price")), 0);
  /* no variable is a capacity, so nothing could be bought on demand instead */
  CU_ASSERT_PTR_NULL(strstr(text, "all on demand"));
  CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(tree, "all_on_demand")));
  free(text);
  cJSON_Delete(tree);
  free(json);
  hr_plan_destroy(plan);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

/* ---- Random runs ------------------------------------------------------------------------------------ */

/* A queue of random jobs, reserved capacity as the only variable, and on-demand capacity at twice the price. Under the
   conditions that change the demand, the plan draws the workload at random from the trace. */
static struct hr_plan *drawn_with(double usd_per_gpu_hour, uint32_t on_demand, uint32_t step,
                                  struct hr_scenario **scenario, struct hr_trace **trace) {
  char text[1500];
  snprintf(text, sizeof text,
           "{\"cluster\":{\"pools\":["
           "{\"name\":\"r\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"reserved\","
           "\"usd_per_gpu_hour\":%.0f,\"on_demand_usd_per_gpu_hour\":%.0f},"
           "{\"name\":\"o\",\"gpu\":\"V100\",\"nodes\":%u,\"gpus_per_node\":1,\"market\":\"on-demand\","
           "\"usd_per_gpu_hour\":%.0f,\"boot_s\":0}]},"
           "\"policy\":{\"name\":\"queue\",\"market\":\"on-demand-only\"},"
           "\"plan\":{\"variables\":[{\"pool\":\"r\",\"from\":0,\"to\":%u,\"step\":%u}],"
           "\"constraints\":[\"wait_s.p95 <= 40 min\",\"completed >= 100 %%\"]}}",
           usd_per_gpu_hour, 2 * usd_per_gpu_hour, on_demand, 2 * usd_per_gpu_hour, 12 * step, step);
  *trace = planned_queue(5, 200, 6, 3600);
  *scenario = planned_scenario(text);
  return tested(*scenario, *trace);
}

static struct hr_plan *drawn_at(double usd_per_gpu_hour, struct hr_scenario **scenario, struct hr_trace **trace) {
  return drawn_with(usd_per_gpu_hour, 6, 1, scenario, trace);
}

static struct hr_plan *drawn(struct hr_scenario **scenario, struct hr_trace **trace) {
  return drawn_at(1, scenario, trace);
}

/* The number of times that `word` is in a text. */
static uint32_t count_of(const char *text, const char *word) {
  uint32_t count = 0;
  for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) count++;
  return count;
}

/* A cell contains the number of its runs that miss a goal, unless none or all of them miss it. The line below the table
   has the number of runs. */
static void split_runs_are_stated(void) {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_plan *plan = drawn(&scenario, &trace);
  const struct hr__robustness *robustness = &plan->robustness;
  char *text = planned_text(plan), expected[60];
  uint32_t n_split = 0, min = UINT32_MAX, max = 0;
  CU_ASSERT_EQUAL(robustness->mixes[0].planned.runs, 1);
  for (uint32_t k = 0; k < robustness->n_conditions; k++) {
    const struct hr__held *cell = &robustness->mixes[0].held[k];
    CU_ASSERT(cell->missed <= cell->runs && cell->low <= cell->objective && cell->objective <= cell->high);
    if (cell->missed == 0) CU_ASSERT_TRUE(cell->serves);
    if (cell->missed == cell->runs) CU_ASSERT_FALSE(cell->serves);
    if (cell->runs > 1 && cell->runs < min) min = cell->runs;
    if (cell->runs > max) max = cell->runs;
    if (cell->missed == 0 || cell->missed == cell->runs) continue;
    n_split++;
    snprintf(expected, sizeof expected, " %u/%u", cell->missed, cell->runs);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, expected));
  }
  CU_ASSERT(n_split > 0);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "  k/n "));
  snprintf(expected, sizeof expected, "%u to %u for each random cell", min, max);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, expected));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "for each random row"));
  /* Intervals may be asymmetric, so they are printed from low to high. */
  CU_ASSERT_PTR_NULL(strstr(text, "\u00b1"));
  free(text);
  hr_plan_destroy(plan);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

/* Columns are as wide as their widest cell, and the rows as wide as the title. */
static void wide_cells_are_aligned(void) {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_plan *plan = drawn_at(5e4, &scenario, &trace);
  char *text = planned_text(plan);
  const char *row = strstr(text, "Holds under");
  CU_ASSERT_PTR_NOT_NULL_FATAL(row);
  size_t width = strcspn(row, "\n");
  CU_ASSERT(width <= 80);
  for (uint32_t k = 0; k <= plan->robustness.n_conditions; k++) {
    row += strcspn(row, "\n") + 1;
    CU_ASSERT_EQUAL(strcspn(row, "\n"), width);
  }
  CU_ASSERT_PTR_NOT_NULL(strstr(text, " 1/8 "));
  free(text);
  hr_plan_destroy(plan);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

/* The tables 'What if' and 'Holds under' have the same value for a mix under a condition that both contain. */
static void tables_agree(void) {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_plan *plan = drawn(&scenario, &trace);
  uint32_t compared = 0;
  for (size_t i = 0; i < plan->n_cases; i++) {
    const struct hr__sensitivity_case *row = &plan->cases[i];
    if (!has_condition(plan, row->name)) continue;
    for (uint32_t k = 0; k < plan->robustness.n_mixes; k++) {
      const struct hr__held *cell = held(plan, k, row->name);
      for (int best = 0; best < 2; best++) {
        const struct hr__option *option = best ? &row->best : &row->same;
        if (option->candidate != plan->robustness.mixes[k].candidate) continue;
        compared++;
        CU_ASSERT_EQUAL(cell->objective, option->objective);
        CU_ASSERT_EQUAL(cell->violation, option->violation);
        CU_ASSERT_EQUAL(cell->runs, option->replications);
      }
    }
  }
  CU_ASSERT(compared >= 3);
  hr_plan_destroy(plan);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

static bool is_tested(const struct hr_plan *plan, uint32_t candidate) {
  for (uint32_t i = 0; i < plan->robustness.n_mixes; i++)
    if (plan->robustness.mixes[i].candidate == candidate) return true;
  return false;
}

/* The mixes that 'What if' recommends are tested under all conditions, and so is the next candidate after the choice,
   in which the reserved capacity is one level higher. */
static void recommended_mixes_are_tested(void) {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_plan *plan = drawn_with(1, 1, 4, &scenario, &trace);
  uint32_t n_best = 0;
  for (size_t i = 0; i < plan->n_cases; i++) {
    uint32_t candidate = plan->cases[i].best.candidate;
    if (!plan->cases[i].best_meets || candidate == plan->choice.candidate) continue;
    n_best++;
    CU_ASSERT_TRUE(is_tested(plan, candidate));
  }
  CU_ASSERT(n_best > 0);
  CU_ASSERT_TRUE(is_tested(plan, plan->choice.candidate + 1)); /* the only variable is one level higher */
  hr_plan_destroy(plan);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

/* Returns whether all runs of a candidate were made: `plan->depth` replications, or one run if the candidate is
   deterministic. Then its metrics are final. */
static bool is_final(const struct hr_plan *plan, uint32_t candidate) {
  uint32_t id = plan->evaluator.runner_ids[candidate];
  uint32_t last = id == HR_NONE || !hr__runner_is_random(plan->runner, id) ? 0 : plan->depth - 1;
  return id != HR_NONE && hr__runner_values(plan->runner, id, last);
}

/* No candidate with final metrics meets a tightened goal at a lower cost than the table of tighter goals states. */
static void tighter_goals_use_all_mixes(void) {
  uint32_t compared = 0;
  for (uint64_t seed = 1; seed <= 6; seed++) {
    char text[2000];
    snprintf(text, sizeof text,
             "{\"seed\":%u,\"cluster\":{\"pools\":["
             "{\"name\":\"r\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":1,\"market\":\"reserved\","
             "\"usd_per_gpu_hour\":1,\"on_demand_usd_per_gpu_hour\":3},"
             "{\"name\":\"s\",\"gpu\":\"V100\",\"nodes\":2,\"gpus_per_node\":1,\"market\":\"spot\","
             "\"provider\":\"aws\",\"usd_per_gpu_hour\":1,\"on_demand_usd_per_gpu_hour\":3,\"boot_s\":60,"
             "\"spot\":{\"model\":\"exponential\",\"rate_per_h\":0.1}},"
             "{\"name\":\"o\",\"gpu\":\"V100\",\"nodes\":6,\"gpus_per_node\":1,\"market\":\"on-demand\","
             "\"usd_per_gpu_hour\":3,\"boot_s\":60}]},\"policy\":{\"name\":\"queue\",\"market\":\"spot-first\"},"
             "\"plan\":{\"max_replications\":8,\"variables\":[{\"pool\":\"r\",\"from\":0,\"to\":10,\"step\":2},"
             "{\"pool\":\"s\",\"from\":0,\"to\":8,\"step\":2},{\"pool\":\"o\",\"from\":0,\"to\":8,\"step\":2}],"
             "\"constraints\":[\"wait_s.p95 <= 60 min\",\"wait_s.mean <= 20 min\"]}}",
             (unsigned)seed);
    struct hr_trace *trace = planned_queue(seed, 120, 6, 3600);
    struct hr_scenario *scenario = planned_scenario(text);
    struct hr_plan *plan = tested(scenario, trace);
    for (size_t i = 0; i < plan->n_tightenings; i++) {
      const struct hr__tightening *tightening = &plan->tightenings[i];
      struct hr__goal *goal = &plan->goals.goals[tightening->goal];
      double bound = goal->bound;
      goal->bound = tightening->bound;
      for (uint32_t candidate = 0; candidate < plan->space.n_candidates; candidate++) {
        if (!is_final(plan, candidate)) continue;
        struct hr__evaluation evaluation = hr__evaluator_evaluate(&plan->evaluator, candidate, plan->depth);
        if (evaluation.violation > 0) continue;
        compared++;
        CU_ASSERT(tightening->candidate != HR_NONE && tightening->objective <= evaluation.objective);
      }
      goal->bound = bound;
    }
    hr_plan_destroy(plan);
    hr_scenario_destroy(scenario);
    hr_trace_destroy(trace);
  }
  CU_ASSERT(compared > 0);
}

/* 'What if' names another mix as better only if the choice misses a goal, or if the other mix costs significantly less:
   Student's interval of the paired differences is below zero. */
static void best_mix_is_beyond_noise(void) {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_plan *plan = drawn(&scenario, &trace);
  char *text = planned_text(plan);
  uint32_t n_better = 0, n_tied = 0;
  for (size_t i = 0; i < plan->n_cases; i++) {
    const struct hr__sensitivity_case *row = &plan->cases[i];
    uint32_t count = row->same.replications;
    double sum = 0, squares = 0;
    CU_ASSERT_FATAL(row->best_meets && count > 1 && row->best.replications == count);
    for (uint32_t r = 0; r < count; r++) {
      double difference = hr__goals_objective(&plan->goals, hr__runner_values(plan->runner, row->best.runner_id, r)) -
                          hr__goals_objective(&plan->goals, hr__runner_values(plan->runner, row->same.runner_id, r));
      sum += difference;
      squares += difference * difference;
    }
    double error = sqrt(fmax(0, squares - sum * sum / count) / (count - 1) / count),
           t = gsl_cdf_tdist_Pinv(1 - (1 - plan->config.scenario->replications.confidence) / 2, count - 1);
    bool lower = sum / count + t * error<0, better = row->same.violation> 0 || lower;
    CU_ASSERT_EQUAL(row->best_is_better, better);
    n_better += better;
    n_tied += !better && row->best.candidate != row->same.candidate;
  }
  CU_ASSERT(n_better > 0 && n_tied > 0);
  CU_ASSERT_EQUAL(count_of(text, "best then"), n_better);
  CU_ASSERT_EQUAL(count_of(text, "still the best within noise"), n_tied);
  free(text);
  hr_plan_destroy(plan);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

/* ---- Goals that bind -------------------------------------------------------------------------------- */

/* With two GPUs no job waits, with one GPU the last of two jobs waits for 50 min. So a goal of 40 min excludes the
   cheaper mix, although the choice is far from its bound. */
static void only_goals_at_their_bound_bind(void) {
  struct hr_trace *trace = hourly(50, 2, 3000);
  struct hr_scenario *scenario =
      planned_scenario("{\"cluster\":{\"pools\":[{\"name\":\"r\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":1,"
                       "\"market\":\"reserved\","
                       "\"usd_per_gpu_hour\":1,\"on_demand_usd_per_gpu_hour\":3}]},\"policy\":{\"name\":\"queue\"},"
                       "\"plan\":{\"variables\":[{\"pool\":\"r\",\"values\":[1,2,3]}],"
                       "\"constraints\":[\"wait_s.max <= 40 min\",\"completed >= 100 %\"]}}");
  struct hr_plan *plan = planned_brief(scenario, trace, HR_PLAN_SEARCH_AUTO);
  char *json = hr_plan_json(plan, NULL);
  cJSON *tree = cJSON_Parse(json);
  const cJSON *goal = cJSON_GetArrayItem(cJSON_GetObjectItem(tree, "goals"), 0);
  CU_ASSERT_TRUE(cJSON_IsTrue(cJSON_GetObjectItem(goal, "excluded_better")));
  CU_ASSERT_TRUE(cJSON_IsFalse(cJSON_GetObjectItem(goal, "binding")));
  CU_ASSERT_EQUAL(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "binding")), 0);
  CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(tree, "holds_under"))); /* a brief plan tests no conditions */
  CU_ASSERT_EQUAL(plan->robustness.n_conditions, 0);
  cJSON_Delete(tree);
  free(json);
  hr_plan_destroy(plan);
  hr_scenario_destroy(scenario);
  hr_trace_destroy(trace);
}

TEST_MAIN("plan: robustness", TEST(plan_that_needs_spot), TEST(dollars_count_as_goals), TEST(printed_mixes),
          TEST(split_cells_are_not_met), TEST(plausible_presets), TEST(commitments_at_risk),
          TEST(smallest_commitment_is_not_tested), TEST(one_run_has_no_probability), TEST(owned_gpus_stay),
          TEST(unpriced_cost_is_unknown), TEST(split_runs_are_stated), TEST(wide_cells_are_aligned), TEST(tables_agree),
          TEST(recommended_mixes_are_tested), TEST(tighter_goals_use_all_mixes), TEST(best_mix_is_beyond_noise),
          TEST(only_goals_at_their_bound_bind))
