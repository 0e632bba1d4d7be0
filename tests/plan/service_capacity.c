/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replicas that never start: the number in the note is compared with the replicas that start in a run, for all ways to
   share a GPU. */

#include "harness.h"
#include "headroom/headroom.h"
#include "headroom/unstable/experiments.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/planning.h"
#include "headroom/unstable/replay.h"
#include "headroom/unstable/services.h"
#include "planned.h"
#include "sim/services/fleet.h"
#include "trace_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SERVICES(replicas, keys)                                                                                       \
  "\"services\":[{\"name\":\"s\",\"requests\":{\"rate_per_s\":1,\"count\":30,\"prompt_tokens\":{\"mean\":9},"          \
  "\"output_tokens\":{\"mean\":9}},\"autoscale\":{\"policy\":\"fixed\",\"replicas\":" #replicas "},"                   \
  "\"replica\":{" keys "\"engine\":{\"name\":\"single\"},\"cost\":{\"fixed_us\":5000}}}]"
#define POOL(keys) "{\"name\":\"p\",\"gpu\":\"A100-80\"," keys "}"

/* Returns the maximum number of replicas that have GPUs at the same time. */
static uint32_t started(const struct hr_scenario *scenario) {
  struct hr_trace *trace;
  struct hr_replay replay;
  struct hr_error error = {0};
  uint32_t most = 0;
  CU_ASSERT_EQUAL_FATAL(hr_trace_empty("none", &trace, &error), HR_OK);
  const struct hr_replay_config config = {.scenario = scenario, .trace = trace, .seed = 1, .check = true};
  enum hr_status status = hr_replay_init(&replay, &config, &error);
  if (status == HR_OK) status = hr_replay_run(&replay, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  const struct hr_service_result *result = replay.served[0].result;
  for (uint32_t i = 0; i < result->n_levels; i++)
    if (result->levels[i].ready + result->levels[i].starting > most)
      most = result->levels[i].ready + result->levels[i].starting;
  if (replay.fleet) CU_ASSERT_TRUE(replay.fleet->config.steps); /* as in checked mode without the engine of jobs */
  if (!replay.fleet) most = scenario->services->at[0].replicas;
  hr_replay_finish(&replay);
  hr_trace_destroy(trace);
  return most;
}

static struct hr_scenario *load(const char *pools, const char *services) {
  char text[3000];
  struct hr_scenario *scenario = NULL;
  struct hr_error error = {0};
  snprintf(text, sizeof text, "{\"policy\":{\"name\":\"queue\"},%s,%s}", pools, services);
  if (hr_scenario_load(file_write_text("capacity.json", text), NULL, 0, &scenario, &error) != HR_OK)
    printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  return scenario;
}

static const char *note_of(const struct hr_scenario *scenario, const char *words) {
  for (size_t i = 0; i < scenario->notes.count; i++)
    if (strstr(scenario->notes.text[i], words)) return scenario->notes.text[i];
  return NULL;
}

/* A service with 20 replicas: the run starts the number of replicas that the note states. */
static void notes_are_those_of_the_run(void) {
  static const struct {
    const char *pools, *replica;
    uint32_t held; /* 0: all, without a note */
  } rows[] = {
      {POOL("\"nodes\":2,\"gpus_per_node\":4"), "", 8},
      {POOL("\"nodes\":3,\"gpus_per_node\":8"), "", 0},
      {POOL("\"nodes\":1,\"gpus_per_node\":2,\"sharing\":\"time-slice\",\"replicas\":4"), "", 8},
      {POOL("\"nodes\":1,\"gpus_per_node\":5,\"sharing\":\"time-slice\",\"replicas\":4"), "", 0},
      {POOL("\"nodes\":1,\"gpus_per_node\":2,\"sharing\":\"mps\",\"replicas\":7"), "", 14},
      {POOL("\"nodes\":2,\"gpus_per_node\":2,\"sharing\":\"mps\",\"clients\":3"), "\"gpu_milli\":140,", 12},
      {POOL("\"nodes\":1,\"gpus_per_node\":3,\"sharing\":\"fraction\""), "\"gpu_milli\":300,", 9},
      {POOL("\"nodes\":1,\"gpus_per_node\":3"), "\"gpu_milli\":300,", 3},
      {POOL("\"nodes\":2,\"gpus_per_node\":4,\"sharing\":\"fraction\""), "\"gpus\":2,\"gpu_milli\":400,", 8},
      {POOL("\"nodes\":1,\"gpus_per_node\":2,\"sharing\":\"mig\",\"mig\":{\"layout\":\"all-1g.10gb\"}"),
       "\"mig\":\"1g.10gb\",", 14},
      {POOL("\"nodes\":1,\"gpus_per_node\":4,\"sharing\":\"mig\",\"mig\":{\"mode\":\"on-demand\"}"),
       "\"mig\":\"3g.40gb\",", 8},
      {POOL("\"nodes\":1,\"gpus_per_node\":4,\"cpu_per_node\":10") ",{\"name\":\"l\",\"gpu\":\"L4\",\"nodes\":2,"
                                                                   "\"gpus_per_node\":2,\"sharing\":\"mps\","
                                                                   "\"replicas\":2}",
       "\"cpu\":3,", 11},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char pools[1000], services[1000], words[100];
    snprintf(pools, sizeof pools, "\"cluster\":{\"pools\":[%s]}", rows[i].pools);
    snprintf(services, sizeof services, SERVICES(20, "%s"), rows[i].replica);
    struct hr_scenario *scenario = load(pools, services);
    const char *note = note_of(scenario, "never start");
    const uint32_t held = rows[i].held ? rows[i].held : 20;
    snprintf(words, sizeof words, "'s': %" PRIu32 " of 20 replicas never start", 20 - held);
    if (!note != !rows[i].held || (note && !strstr(note, words)) || started(scenario) != held)
      printf("\n  row %zu: %u started, note: %s\n", i, (unsigned)started(scenario), note ? note : "none");
    CU_ASSERT_EQUAL(!note, !rows[i].held);
    if (note) CU_ASSERT_PTR_NOT_NULL(strstr(note, words));
    CU_ASSERT_EQUAL(started(scenario), held);
    hr_scenario_destroy(scenario);
  }
}

/* The note names the cluster. */
static void notes_name_the_cluster(void) {
  struct hr_scenario *scenario =
      load("\"clusters\":[{\"name\":\"us\",\"pools\":[" POOL(
               "\"nodes\":1,\"gpus_per_node\":2") "]},{\"name\":\"eu\","
                                                  "\"pools\":[" POOL("\"nodes\":1,\"gpus_per_node\":4") "]}]",
           "\"services\":[{\"name\":\"s\",\"requests\":{\"rate_per_s\":1,\"count\":9,\"prompt_tokens\":{\"mean\":9},"
           "\"output_tokens\":{\"mean\":9}},\"clusters\":[{\"name\":\"us\",\"replicas\":3},{\"name\":\"eu\"}],"
           "\"autoscale\":{\"policy\":\"fixed\",\"replicas\":4},"
           "\"replica\":{\"engine\":{\"name\":\"single\"},\"cost\":{\"fixed_us\":5000}}}]");
  CU_ASSERT_PTR_NOT_NULL(
      note_of(scenario, "'us/s': 1 of 3 replicas never start: the pool 'p' of the cluster 'us' holds at most 2"));
  CU_ASSERT_PTR_NULL(note_of(scenario, "'eu/s'"));
  hr_scenario_destroy(scenario);
}

/* Two services of 5 and 6 replicas fit alone on 8 GPUs, but not together, which a note says. On 16 GPUs there is no
   note. A cluster without nodes is an error. */
static void several_services_wait(void) {
#define TWO "\"services\":[" ONE("s", "5") "," ONE("t", "6") "]"
#define ONE(name, replicas)                                                                                            \
  "{\"name\":\"" name "\",\"requests\":{\"rate_per_s\":1,\"count\":9,\"prompt_tokens\":{\"mean\":9},"                  \
  "\"output_tokens\":{\"mean\":9}},\"autoscale\":{\"policy\":\"fixed\",\"replicas\":" replicas "},"                    \
  "\"replica\":{\"engine\":{\"name\":\"single\"},\"cost\":{\"fixed_us\":5000}}}"
  struct hr_scenario *scenario = load("\"cluster\":{\"pools\":[" POOL("\"nodes\":2,\"gpus_per_node\":4") "]}", TWO);
  CU_ASSERT_PTR_NOT_NULL(note_of(scenario, "all services need 11 GPUs at once, but the cluster has 8"));
  CU_ASSERT_PTR_NULL(note_of(scenario, "never start"));
  CU_ASSERT_EQUAL(started(scenario), 5);
  hr_scenario_destroy(scenario);
  scenario = load("\"cluster\":{\"pools\":[" POOL("\"nodes\":2,\"gpus_per_node\":8") "]}", TWO);
  CU_ASSERT_PTR_NULL(note_of(scenario, "at once"));
  hr_scenario_destroy(scenario);
  const char *two =
      file_write_text("none.json", "{\"cluster\":{\"pools\":[" POOL("\"nodes\":0,\"gpus_per_node\":8") "]},\n" TWO "}");
  struct hr_error error;
  CU_ASSERT_EQUAL(hr_scenario_load(two, NULL, 0, &scenario, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "none.json:2:12: the replicas need GPUs, but the cluster has none"));
}

/* The candidates with the GPU type L4 cannot run, because no pool has it. They are infeasible, although they would be
   the cheapest, and the other candidates are evaluated. */
static void unfit_candidates(void) {
  struct hr_scenario *scenario = load(
      "\"cluster\":{\"pools\":[" POOL(
          "\"nodes\":1,\"gpus_per_node\":4,\"market\":\"owned\",\"usd_per_gpu_hour\":1") "]}",
      SERVICES(1, "") ",\"plan\":{\"variables\":[{\"name\":\"g\",\"path\":\"services.0.replica.gpu_type\","
                      "\"values\":[\"L4\",\"A100-80\"]},{\"name\":\"n\",\"path\":\"services.0.autoscale.replicas\","
                      "\"values\":[1,2]}],\"constraints\":[\"wait_s.p95 <= 999 h\"],\"objective\":\"s.serving_usd\"}");
  struct hr_trace *trace;
  struct hr_plan_case choice;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr_trace_empty("none", &trace, &error), HR_OK);
  struct hr_plan *plan = planned_brief(scenario, trace, HR_PLAN_SEARCH_EXHAUSTIVE);
  CU_ASSERT_TRUE(hr_plan_feasible(plan));
  CU_ASSERT_EQUAL_FATAL(hr_plan_choice_case(plan, &choice, &error), HR_OK);
  CU_ASSERT_STRING_EQUAL(choice.scenario->services->at[0].gpu_types, "A100-80");
  CU_ASSERT_TRUE(has_note(hr_plan_notes(plan), "2 candidates are infeasible: --set services.0.replica.gpu_type=L4: no "
                                               "pool has GPUs of the type 'L4'"));
  hr_plan_destroy(plan);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

/* Each reason why a replica cannot run makes a candidate infeasible, and is an error in scenarios without a plan. */
static void reasons_of_candidates(void) {
  static const char *const rows[][2] = {{"\"gpus\":9,", "9 GPUs"},
                                        {"\"mig\":\"1g.10gb\",", "1g.10gb"},
                                        {"\"region\":\"eu\",", "'eu'"},
                                        {"\"gpu_mem_gb\":99,", "99 GiB"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hr_scenario *scenario;
    struct hr_error error = {0};
    char text[2000];
    snprintf(text, sizeof text, "{\"cluster\":{\"pools\":[%s]}," SERVICES(1, "%s") "}",
             POOL("\"nodes\":1,\"gpus_per_node\":4"), rows[i][0]);
    const char *path = file_write_text("unfit.json", text);
    CU_ASSERT_EQUAL(hr_scenario_load(path, NULL, 0, &scenario, &error), HR_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, rows[i][1]));
    CU_ASSERT_EQUAL_FATAL(hr_scenario_load_candidate(NULL, path, NULL, 0, &scenario, &error), HR_OK);
    CU_ASSERT_STRING_EQUAL(scenario->services->unfit, error.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(scenario->services->unfit, rows[i][1]));
    CU_ASSERT_EQUAL(started(scenario), 0);
    hr_scenario_destroy(scenario);
  }
  struct hr_scenario *scenario;
  const char *path = file_write_text(
      "unfit.json",
      "{\"cluster\":{\"pools\":[" POOL(
          "\"nodes\":1,\"gpus_per_node\":4") "]},\"services\":[{\"name\":\"s\","
                                             "\"model\":\"Llama-3.1-70B\",\"requests\":{\"rate_per_s\":1,\"count\":9,"
                                             "\"prompt_tokens\":{\"mean\":9"
                                             "},\"output_tokens\":{\"mean\":9}},\"replica\":{\"engine\":{}}}]}");
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load_candidate(NULL, path, NULL, 0, &scenario, NULL), HR_OK);
  CU_ASSERT_PTR_NOT_NULL(strstr(scenario->services->unfit, "does not fit"));
  hr_scenario_destroy(scenario);
}

/* The schedule of the second service changes its replicas every half second. A run cannot record so many changes. */
static void too_many_changes(void) {
#define LONG(name, autoscale)                                                                                          \
  "{\"name\":\"" name "\",\"requests\":{\"rate_per_s\":0.1,\"duration_s\":600,\"prompt_tokens\":{\"mean\":9},"         \
  "\"output_tokens\":{\"mean\":9}}," autoscale "\"replica\":{\"engine\":{\"name\":\"single\"},"                        \
  "\"cost\":{\"fixed_us\":5000}}}"
  struct hr_scenario *scenario = load(
      "\"cluster\":{\"pools\":[" POOL("\"nodes\":1,\"gpus_per_node\":4") "]}",
      "\"services\":[" LONG("calm", "") ",\n" LONG("s", "\"autoscale\":{\"policy\":\"schedule\",\"min\":0,\"max\":2,"
                                                        "\"period_s\":1,\"interval_s\":0.25,\"steps\":[{\"at_s\":0,"
                                                        "\"replicas\":0},{\"at_s\":0.5,\"replicas\":2}]},") "]");
  struct hr_trace *trace;
  struct hr_replay replay;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr_trace_empty("none", &trace, &error), HR_OK);
  const struct hr_replay_config config = {.scenario = scenario, .trace = trace, .seed = 1};
  enum hr_status status = hr_replay_init(&replay, &config, &error);
  if (status == HR_OK) status = hr_replay_run(&replay, &error);
  CU_ASSERT_EQUAL(status, HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "capacity.json:2:"));
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "service 's' starts"));
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "'period_s'"));
  hr_replay_finish(&replay);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

TEST_MAIN("replicas that never start", TEST(notes_are_those_of_the_run), TEST(notes_name_the_cluster),
          TEST(several_services_wait), TEST(unfit_candidates), TEST(reasons_of_candidates), TEST(too_many_changes))
