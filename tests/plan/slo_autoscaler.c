/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The autoscaler `slo` with replicas that run few requests at the same time. It meets the goal with at most three
   replicas more than the smallest fixed number that meets it, even if replicas do not share a queue. */

#include "harness.h"
#include "headroom/headroom.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/replay.h"
#include "trace_files.h"

#include <stdio.h>

enum { TEXT = 2000 };

struct outcome {
  double attained; /* share of the requests within the goals */
  double replicas; /* mean number of replicas that have GPUs */
};

/* 3 requests/s for 3,000 s; 90 % should have the first token within a second. `law`: the distribution of outputs. */
static struct outcome outcome_with(const char *replica, const char *router, const char *law, const char *scale) {
  char text[TEXT];
  struct hr_error error = {0};
  struct hr_scenario *scenario = NULL;
  struct hr_trace *trace = NULL;
  struct hr_replay replay = {0};
  snprintf(text, sizeof text,
           "{\"name\":\"t\",\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"L4\",\"nodes\":16,\"gpus_per_node\":1}]},"
           "\"services\":[{\"name\":\"s\",\"requests\":{\"rate_per_s\":3,\"duration_s\":3000,\"prompt_tokens\":{"
           "\"mean\":300},\"output_tokens\":{\"mean\":60,\"distribution\":\"%s\"}},\"router\":\"%s\",\"cold_start\":{"
           "\"engine_s\":10},\"slo\":{\"ttft_ms\":1000,"
           "\"attainment\":0.9},\"replica\":{\"engine\":{%s},\"cost\":{\"fixed_us\":20000,\"per_prompt_token_us\":100,"
           "\"per_sequence_us\":300}},\"autoscale\":{%s}}]}",
           law, router, replica, scale);
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(file_write_text("slo.json", text), NULL, 0, &scenario, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_trace_empty("t", &trace, &error), HR_OK);
  const struct hr_replay_config config = {.scenario = scenario, .trace = trace, .seed = scenario->seed};
  CU_ASSERT_EQUAL_FATAL(hr_replay_init(&replay, &config, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_replay_run(&replay, &error), HR_OK);
  const struct hr_service_summary *summary = &replay.summary->services[0];
  const struct outcome outcome = {(double)summary->attained / (double)summary->offered,
                                  summary->gpu_hours * 3600 / 3000};
  hr_replay_finish(&replay);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
  return outcome;
}

static struct outcome outcome_of(const char *replica, const char *scale) {
  return outcome_with(replica, "round-robin", "fixed", scale);
}

/* Replicas that run few requests at once, because of the maximum number of sequences, of little memory, of the size of
   a batch, or of the number of servers. `fixed` is the smallest number of replicas that meets the goal; one replica
   fewer misses it. The autoscaler may use two more on average. */
static void few_requests_at_once(void) {
  static const struct {
    const char *engine;
    uint32_t fixed;
  } rows[] = {
      {"\"name\":\"vllm-v1\",\"kv_tokens\":50000,\"max_sequences\":2", 3},
      {"\"name\":\"vllm-v1\",\"kv_tokens\":800", 3},
      {"\"name\":\"orca\",\"kv_tokens\":4000,\"max_batch_tokens\":2000", 3},
      {"\"name\":\"static\",\"kv_tokens\":2000,\"max_sequences\":4", 4},
      {"\"name\":\"single\"", 5},
      {"\"name\":\"single\",\"servers\":2", 3},
  };
  for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
    char scale[100];
    for (uint32_t less = 0; less < 2; less++) {
      snprintf(scale, sizeof scale, "\"policy\":\"fixed\",\"replicas\":%u", (unsigned)(rows[row].fixed - less));
      CU_ASSERT_EQUAL(outcome_of(rows[row].engine, scale).attained >= 0.9, less == 0);
    }
    const struct outcome scaled = outcome_of(rows[row].engine, "\"policy\":\"slo\",\"min\":1,\"max\":8");
    CU_ASSERT_TRUE(scaled.attained >= 0.9);
    CU_ASSERT_TRUE(scaled.replicas <= rows[row].fixed + 2);
  }
}

/* Outputs of exponentially distributed lengths. With the router `least-outstanding`, replicas nearly share a queue;
   with the other routers, each has its own. The autoscaler may use three more replicas than the smallest fixed number.
   */
static void separate_queues(void) {
  static const char single[] = "\"name\":\"single\"";
  static const char batch[] = "\"name\":\"static\",\"kv_tokens\":2000,\"max_sequences\":4";
  static const char few[] = "\"name\":\"vllm-v1\",\"kv_tokens\":800";
  static const char shares[] = "\"name\":\"single\",\"discipline\":\"ps\"";
  static const struct {
    const char *engine, *router;
    uint32_t fixed; /* the smallest number that meets the goal */
  } rows[] = {{single, "round-robin", 9},      {single, "power-of-two", 9}, {single, "least-outstanding", 6},
              {batch, "round-robin", 8},       {batch, "power-of-two", 9},  {batch, "least-outstanding", 6},
              {few, "round-robin", 5},         {few, "random", 6},          {few, "power-of-two", 4},
              {few, "least-outstanding", 4},   {shares, "round-robin", 5},  {shares, "random", 5},
              {shares, "least-outstanding", 4}};
  for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
    const struct outcome scaled =
        outcome_with(rows[row].engine, rows[row].router, "exponential", "\"policy\":\"slo\",\"min\":1,\"max\":16");
    if (scaled.attained < 0.9 || scaled.replicas > rows[row].fixed + 3)
      printf("\n  row %zu: %.1f %% within the goal, %.2f replicas\n", row, 100 * scaled.attained, scaled.replicas);
    CU_ASSERT_TRUE(scaled.attained >= 0.9);
    CU_ASSERT_TRUE(scaled.replicas <= rows[row].fixed + 3);
  }
}

/* With memory for many requests, one replica is sufficient. */
static void ample_memory_does_not_count(void) {
  static const char scale[] = "\"policy\":\"slo\",\"min\":1,\"max\":8";
  const struct outcome outcome = outcome_of("\"name\":\"vllm-v1\",\"kv_tokens\":50000", scale);
  CU_ASSERT_DOUBLE_EQUAL(outcome.replicas, 1, 0.01);
  CU_ASSERT_TRUE(outcome.attained >= 0.9);
}

TEST_MAIN("autoscaler slo", TEST(few_requests_at_once), TEST(separate_queues), TEST(ample_memory_does_not_count))
