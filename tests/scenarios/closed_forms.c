/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares inference services with closed forms of queueing theory: M/M/c, M/D/c, M/G/1 (FIFO and processor sharing),
 * continuous batching of decodes, and dynamic batching. The file closed_forms.json with the expected values is not part
 * of the repository. Without it, the tests are skipped.
 *
 * Argument 1: the number of requests of a run. With a million (--full) the mean time in the system must agree within 1
 * %, or within 2 % above 90 % utilization. With fewer requests, the bound increases with the sampling error.
 *
 * The sampling error of the mean of a queue is about sqrt(2 / requests) / (1 - utilization). At 99 % utilization, the
 * queue behind a full batch therefore needs more requests: LONG_RUNS runs with LONG million requests each, for an error
 * of 0.7 %. This queue is only checked with --full.
 */

#include "harness.h"
#include "headroom/unstable/services.h"
#include "trace_files.h"
#include "traces/core/reader.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMS REAL_TRACES_DIR "/../serving/closed_forms.json"

/* A uniform number above 0 and below 1. */
static double uniform(uint64_t *state) {
  *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
  uint64_t x = *state;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return ((double)(x >> 11) + 0.5) * 0x1p-53;
}

static double number(const cJSON *form, const char *name) {
  const cJSON *value = cJSON_GetObjectItem(form, name);
  return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

/* Distributions of the size of a request. Their mean is 1. */
enum sizes { ALWAYS, EXPONENTIAL, MIXED, ERLANG };
static double size_of(uint64_t *state, enum sizes sizes, double scv) {
  if (sizes == ALWAYS) return 1;
  if (sizes == EXPONENTIAL) return -log(uniform(state));
  if (sizes == ERLANG) { /* the sum of 1 / scv exponential parts */
    double sum = 0;
    for (int i = 0; i < lround(1 / scv); i++) sum -= log(uniform(state)) * scv;
    return sum;
  }
  /* two exponential sizes with balanced means */
  const double p = (1 + sqrt((scv - 1) / (scv + 1))) / 2;
  return -log(uniform(state)) / (uniform(state) < p ? 2 * p : 2 * (1 - p));
}

/* A run: arrivals per second, and the size of requests in prompt or output tokens. */
struct run {
  struct hr_service service;
  double arrivals_per_s, mean_tokens, scv;
  enum sizes sizes;
  bool are_outputs;
};

/* The mean time in the system in seconds. */
static double mean_s(const struct run *run, uint32_t count, uint64_t seed) {
  struct hr_service_requests requests = {count, malloc(count * sizeof(int64_t)), malloc(count * sizeof(uint32_t)),
                                         malloc(count * sizeof(uint32_t))};
  struct hr_service_result result;
  struct hr_error error;
  uint64_t state = seed;
  double at_s = 0, sum_us = 0;
  for (uint32_t i = 0; i < count; i++) {
    at_s -= log(uniform(&state)) / run->arrivals_per_s;
    const double tokens = run->mean_tokens * size_of(&state, run->sizes, run->scv);
    const uint32_t size = tokens < 1 ? 1 : (uint32_t)lround(ceil(tokens));
    requests.arrival_us[i] = llround(at_s * 1e6);
    requests.prompt_tokens[i] = run->are_outputs ? 1 : size;
    requests.output_tokens[i] = run->are_outputs ? size : 1;
  }
  CU_ASSERT_EQUAL_FATAL(hr_service_run(&run->service, &requests, 1, false, &result, &error), HR_OK);
  for (uint32_t i = 0; i < count; i++) sum_us += (double)(result.end_us[i] - requests.arrival_us[i]);
  hr_service_result_finish(&result);
  free(requests.arrival_us);
  free(requests.prompt_tokens);
  free(requests.output_tokens);
  return sum_us / count / 1e6;
}

static struct hr_service service_with(enum hr_service_engine engine) {
  static char name[] = "s";
  return (struct hr_service){.name = name,
                             .replicas = 1,
                             .gpus = 1,
                             .engine = engine,
                             .limits = {.max_sequences = 8192,
                                        .max_batch_tokens = 1 << 20,
                                        .block_tokens = 16,
                                        .kv_blocks = UINT64_C(1) << 30},
                             .single = {.servers = 1}};
}

/* A queue of requests whose size is the number of prompt tokens. A token takes 1 us, and the mean is 1e6 tokens, so
   times are in units of the mean service time, 1 s. */
static struct run queue(const cJSON *form, const char *model, double *expected_s) {
  struct run run = {.service = service_with(HR_SERVICE_SINGLE), .mean_tokens = 1e6, .scv = number(form, "scv")};
  const double c = number(form, "c") > 0 ? number(form, "c") : 1;
  run.service.single = (struct hr_service_single_rules){(uint32_t)c, strcmp(model, "M/G/1 PS") == 0};
  run.service.cost.per_prompt_token_us = run.service.cost.per_sequence_us = 1;
  run.arrivals_per_s = number(form, "rho") * c;
  run.sizes = strcmp(model, "M/D/c") == 0 ? ALWAYS : EXPONENTIAL;
  if (strcmp(model, "M/G/1 FCFS") == 0)
    run.sizes = run.scv <= 0 ? ALWAYS : run.scv < 1 ? ERLANG : run.scv > 1 ? MIXED : EXPONENTIAL;
  *expected_s = run.service.single.shares ? number(form, "mean_response") : number(form, "mean_wait") + 1;
  return run;
}

/* The number of output tokens is exponential and rounded up, so it is geometric with the mean of the closed form. A
   request also waits for the end of an iteration, half of one on average. */
static struct run continuous(const cJSON *form, double *expected_s) {
  const double mean = number(form, "mean_output_tokens"), a = number(form, "iteration_a_s"),
               c = number(form, "iteration_per_seq_s"), cap = number(form, "batch_cap");
  struct run run = {.service = service_with(HR_SERVICE_VLLM_V1),
                    .arrivals_per_s = number(form, "arrivals_per_s"),
                    .mean_tokens = -1 / log(1 - 1 / mean),
                    .sizes = EXPONENTIAL,
                    .are_outputs = true};
  if (cap > 0) run.service.limits.max_sequences = (uint32_t)cap;
  run.service.cost =
      (struct hr_service_cost){.fixed_us = a * 1e6, .per_prompt_token_us = c * 1e6, .per_sequence_us = c * 1e6};
  *expected_s = number(form, "mean_response_s") + (a + c * number(form, "mean_batch")) / 2;
  return run;
}

static struct run dynamic(const cJSON *form, double *expected_s) {
  struct run run = {.service = service_with(HR_SERVICE_DYNAMIC_BATCH),
                    .arrivals_per_s = number(form, "arrivals_per_s"),
                    .mean_tokens = 1};
  if (number(form, "batch_cap") > 0) run.service.limits.max_sequences = (uint32_t)number(form, "batch_cap");
  run.service.cost = (struct hr_service_cost){.fixed_us = number(form, "tau0_s") * 1e6,
                                              .per_sequence_us = number(form, "alpha_s") * 1e6};
  *expected_s = number(form, "mean_latency_s");
  return run;
}

/* Returns the utilization of the capacity. */
static double utilization(const cJSON *form) {
  if (number(form, "rho") > 0) return number(form, "rho");
  const double cap = number(form, "batch_cap");
  if (cap > 0 && number(form, "tau0_s") > 0)
    return number(form, "arrivals_per_s") * (number(form, "tau0_s") / cap + number(form, "alpha_s"));
  if (number(form, "tau0_s") > 0) return number(form, "arrivals_per_s") * number(form, "alpha_s");
  const double work = number(form, "arrivals_per_s") * number(form, "mean_output_tokens");
  return work * (number(form, "iteration_per_seq_s") + (cap > 0 ? number(form, "iteration_a_s") / cap : 0));
}

static void check_form(const cJSON *form, uint32_t count) {
  enum { RUNS = 4, LONG = 16, LONG_RUNS = 25 };
  const char *model = cJSON_GetObjectItem(form, "model")->valuestring;
  double expected_s = 0, sum_s = 0;
  struct run run;
  if (strncmp(model, "M/", 2) == 0)
    run = queue(form, model, &expected_s);
  else if (strncmp(model, "continuous", 10) == 0)
    run = continuous(form, &expected_s);
  else if (strncmp(model, "dynamic", 7) == 0)
    run = dynamic(form, &expected_s);
  else
    return;
  const double rho = utilization(form), bound = rho > 0.9 ? 0.02 : 0.01;
  const bool has_queue = number(form, "batch_cap") > 0 && strncmp(model, "continuous", 10) == 0 && rho > 0.95;
  if (has_queue && count < 1000000) return;
  const uint64_t n_runs = has_queue ? LONG_RUNS : RUNS;
  for (uint64_t seed = 1; seed <= n_runs; seed++) sum_s += mean_s(&run, has_queue ? LONG * count : count, 1000 * seed);
  const double mean = sum_s / (double)n_runs, error = mean / expected_s - 1;
  const double allowed = count < 1000000 ? bound * sqrt(1e6 / count) : bound;
  if (fabs(error) > allowed)
    printf("  %s, utilization %.2f: %.6f s, expected %.6f s (%+.2f %%)\n", model, rho, mean, expected_s, 100 * error);
  CU_ASSERT_TRUE(fabs(error) <= allowed);
}

static void closed_forms(void) {
  const uint32_t count = test_argument(1, 20000);
  char *text;
  size_t size;
  struct hr_error error;
  if (real_trace_missing(FORMS)) return;
  CU_ASSERT_EQUAL_FATAL(hr__decoded_file(FORMS, 1 << 20, &text, &size, &error), HR_OK);
  cJSON *forms = cJSON_ParseWithLength(text, size);
  const cJSON *form;
  CU_ASSERT_PTR_NOT_NULL_FATAL(forms);
  cJSON_ArrayForEach(form, forms) check_form(form, count);
  cJSON_Delete(forms);
  free(text);
}

TEST_MAIN("closed forms of services", TEST(closed_forms))
