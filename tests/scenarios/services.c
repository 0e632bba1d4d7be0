/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inference services: iterations computed by hand, memory and restarts, routers, refused requests, bad request traces,
   and comparisons with other simulators, request by request. */

#include "headroom/unstable/services.h"
#include "harness.h"
#include "headroom/scenario.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/trace_tools.h"
#include "trace_files.h"
#include "traces/core/reader.h"

#include <math.h>
#include <string.h>

#define SERVING REAL_TRACES_DIR "/../serving/"

static struct hr_service service_of(enum hr_service_engine engine) {
  static char name[] = "s";
  return (struct hr_service){
      .name = name,
      .replicas = 1,
      .gpus = 1,
      .engine = engine,
      .limits = {.max_sequences = 4, .max_batch_tokens = 100, .chunk_tokens = 8, .block_tokens = 4, .kv_blocks = 50},
      .cost = {100, 10, 5, 0, true}};
}

static struct hr_service_result serve(const struct hr_service *service, int64_t *arrival_us, uint32_t *prompts,
                                      uint32_t *outputs, uint32_t count) {
  const struct hr_service_requests requests = {count, arrival_us, prompts, outputs};
  struct hr_service_result result;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_service_run(service, &requests, 1, false, &result, &error), HR_OK);
  return result;
}

/* One request alone: its prompt takes 100 + 10 x 10 us, each later token 105 us. */
static void one_request(void) {
  for (int engine = 0; engine <= HR_SERVICE_STATIC; engine++) {
    if (engine == HR_SERVICE_DISAGGREGATED || engine == HR_SERVICE_COLOCATED) continue;
    struct hr_service service = service_of((enum hr_service_engine)engine);
    service.limits.chunk_tokens = 100;
    struct hr_service_result result = serve(&service, (int64_t[]){7}, (uint32_t[]){10}, (uint32_t[]){3}, 1);
    CU_ASSERT_EQUAL(result.scheduled_us[0], 7);
    CU_ASSERT_EQUAL(result.first_token_us[0], 207);
    CU_ASSERT_EQUAL(result.end_us[0], 417);
    CU_ASSERT_EQUAL(result.busy_us[0], 410);
    CU_ASSERT_EQUAL(result.iterations, 3);
    hr_service_result_finish(&result);
  }
}

/* A second request arrives during the first decode. If prompts come first, the decode of the first request stalls. With
   mixed batches, both share the iteration. */
static void two_requests(void) {
  static const struct {
    enum hr_service_engine engine;
    int64_t first_us[2], end_us[2];
  } rows[] = {/* 200: prompt; 305: decode; prompt of the second until 505; decode of both until 615 */
              {HR_SERVICE_VLLM_V0, {200, 505}, {615, 615}},
              /* 305: decode; prompt and decode together until 510; decode of the second until 615 */
              {HR_SERVICE_VLLM_V1, {200, 510}, {510, 615}},
              {HR_SERVICE_ORCA_SPLITWISE, {200, 510}, {510, 615}},
              /* chunks of 8: 180, then the last 2 until 300; decode until 405; decode and 7 tokens until 580; 3 tokens
                 until 710 */
              {HR_SERVICE_SARATHI, {300, 710}, {580, 815}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hr_service service = service_of(rows[i].engine);
    const int64_t arrival_us = rows[i].engine == HR_SERVICE_SARATHI ? 350 : 250;
    struct hr_service_result result =
        serve(&service, (int64_t[]){0, arrival_us}, (uint32_t[]){10, 10}, (uint32_t[]){3, 2}, 2);
    for (size_t k = 0; k < 2; k++) {
      CU_ASSERT_EQUAL(result.first_token_us[k], rows[i].first_us[k]);
      CU_ASSERT_EQUAL(result.end_us[k], rows[i].end_us[k]);
    }
    hr_service_result_finish(&result);
  }
}

/* Engine `static`: the first two requests form a batch and end at the same time. The third request waits until this
   batch has ended. */
static void static_batch(void) {
  struct hr_service service = service_of(HR_SERVICE_STATIC);
  struct hr_service_result result =
      serve(&service, (int64_t[]){0, 0, 1}, (uint32_t[]){10, 20, 10}, (uint32_t[]){1, 3, 1}, 3);
  /* 100 + 10 x 30 for the prompts; twice 100 + 5 x 2 */
  CU_ASSERT_EQUAL(result.first_token_us[0], 400);
  CU_ASSERT_EQUAL(result.end_us[0], 620);
  CU_ASSERT_EQUAL(result.end_us[1], 620);
  CU_ASSERT_EQUAL(result.scheduled_us[2], 620);
  CU_ASSERT_EQUAL(result.end_us[2], 820);
  hr_service_result_finish(&result);
}

/* dynamic-batch: four requests are a preferred size and start immediately; the next two start when the first of them
   has waited 500 us, and the last two when the replica is free again. */
static void dynamic_batch(void) {
  struct hr_service service = service_of(HR_SERVICE_DYNAMIC_BATCH);
  service.limits.max_sequences = 8;
  service.dynamic = (struct hr_service_dynamic_rules){(uint32_t[]){2, 4}, 2, 500};
  service.dynamic.preferred[0] = 4;
  service.cost = (struct hr_service_cost){.fixed_us = 1000, .per_sequence_us = 10, .integer = true};
  struct hr_service_result result =
      serve(&service, (int64_t[]){0, 10, 20, 30, 2000, 2100, 2600, 2700}, (uint32_t[]){1, 1, 1, 1, 1, 1, 1, 1},
            (uint32_t[]){1, 1, 1, 1, 1, 1, 1, 1}, 8);
  static const int64_t scheduled_us[] = {30, 30, 30, 30, 2500, 2500, 3520, 3520};
  for (size_t i = 0; i < 8; i++) {
    CU_ASSERT_EQUAL(result.scheduled_us[i], scheduled_us[i]);
    CU_ASSERT_EQUAL(result.end_us[i], scheduled_us[i] + 1000 + 10 * (i < 4 ? 4 : 2));
  }
  CU_ASSERT_EQUAL(result.busy_us[0], 1040 + 1020 + 1020);
  hr_service_result_finish(&result);
}

/* single: two servers, or two requests that share one. A request takes 100 + 10 x prompt, and 105 for each later
   token. */
static void single_servers(void) {
  struct hr_service service = service_of(HR_SERVICE_SINGLE);
  service.single = (struct hr_service_single_rules){2, false};
  struct hr_service_result result =
      serve(&service, (int64_t[]){0, 0, 10}, (uint32_t[]){10, 20, 10}, (uint32_t[]){2, 1, 1}, 3);
  CU_ASSERT_EQUAL(result.first_token_us[0], 200);
  CU_ASSERT_EQUAL(result.end_us[0], 305);
  CU_ASSERT_EQUAL(result.end_us[1], 300);
  CU_ASSERT_EQUAL(result.scheduled_us[2], 300);
  CU_ASSERT_EQUAL(result.end_us[2], 500);
  CU_ASSERT_EQUAL(result.busy_us[0], 500);
  hr_service_result_finish(&result);
  /* alone until 100; then both at half speed: the second ends at 100 + 2 x 200, the first 100 later */
  service.single = (struct hr_service_single_rules){1, true};
  result = serve(&service, (int64_t[]){0, 100}, (uint32_t[]){30, 10}, (uint32_t[]){1, 1}, 2);
  CU_ASSERT_EQUAL(result.end_us[1], 500);
  CU_ASSERT_EQUAL(result.end_us[0], 600);
  CU_ASSERT_EQUAL(result.busy_us[0], 600);
  hr_service_result_finish(&result);
}

/* Two sequences exceed the memory: the later one is computed again, and its first token is not repeated. */
static void restarts(void) {
  static const enum hr_service_engine engines[] = {HR_SERVICE_VLLM_V0, HR_SERVICE_VLLM_V1, HR_SERVICE_SARATHI};
  for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
    struct hr_service service = service_of(engines[i]);
    service.limits.kv_blocks = 8; /* 32 tokens; each request has 24 at its end */
    service.limits.chunk_tokens = 100;
    struct hr_service_result result = serve(&service, (int64_t[]){0, 0}, (uint32_t[]){8, 8}, (uint32_t[]){16, 16}, 2);
    CU_ASSERT_EQUAL(result.restarts[0], 0);
    CU_ASSERT_TRUE(result.restarts[1] > 0);
    CU_ASSERT_TRUE(result.recomputed_tokens > 0);
    CU_ASSERT_TRUE(result.first_token_us[1] < result.end_us[0]);
    CU_ASSERT_TRUE(result.end_us[1] > result.end_us[0]);
    CU_ASSERT_EQUAL(result.state[1], HR_REQUEST_COMPLETED);
    hr_service_result_finish(&result);
  }
}

/* Of 10 tokens 4.5 need no computation, rounded down. The prompt takes 100 + 10 x 6 us, and 1 us for each token that is
   in memory before (not with the engine dynamic-batch). All later iterations are unchanged. */
static void prefix_hits(void) {
  CU_ASSERT_EQUAL(hr_request_cached_tokens(10, 450000), 4);
  CU_ASSERT_EQUAL(hr_request_cached_tokens(100, 290000), 29);
  CU_ASSERT_EQUAL(hr_request_cached_tokens(10, 1000000), 9);
  CU_ASSERT_EQUAL(hr_request_cached_tokens(1, 999999), 0);
  for (int engine = 0; engine <= HR_SERVICE_SINGLE; engine++) {
    if (engine == HR_SERVICE_DISAGGREGATED || engine == HR_SERVICE_COLOCATED) continue;
    struct hr_service service = service_of((enum hr_service_engine)engine);
    service.limits.chunk_tokens = 100;
    service.single.servers = 1;
    service.cost.per_context_ktoken_us = 1000;
    const struct hr_service_requests none = {1, (int64_t[]){7}, (uint32_t[]){10}, (uint32_t[]){3}, NULL};
    const struct hr_service_requests hits = {1, (int64_t[]){7}, (uint32_t[]){10}, (uint32_t[]){3}, (uint32_t[]){4}};
    struct hr_service_result without, with;
    CU_ASSERT_EQUAL_FATAL(hr_service_run(&service, &none, 1, false, &without, NULL), HR_OK);
    CU_ASSERT_EQUAL_FATAL(hr_service_run(&service, &hits, 1, false, &with, NULL), HR_OK);
    const int64_t less_us = engine == HR_SERVICE_DYNAMIC_BATCH ? 40 : 36;
    CU_ASSERT_EQUAL(with.first_token_us[0], without.first_token_us[0] - less_us);
    CU_ASSERT_EQUAL(with.end_us[0], without.end_us[0] - less_us);
    hr_service_result_finish(&without);
    hr_service_result_finish(&with);
  }
}

/* Each prompt has 8 tokens, of which one is computed. The memory is sufficient for one prompt, so the second request
   begins when the first one ends. With chunks of 3 tokens, 4 of 10 tokens in the cache leave two chunks. */
static void prefix_hits_take_memory(void) {
  static const enum hr_service_engine engines[] = {HR_SERVICE_VLLM_V0, HR_SERVICE_VLLM_V1, HR_SERVICE_SARATHI};
  for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
    struct hr_service service = service_of(engines[i]);
    service.limits.kv_blocks = 3;
    const struct hr_service_requests requests = {2, (int64_t[]){0, 0}, (uint32_t[]){8, 8}, (uint32_t[]){2, 2},
                                                 (uint32_t[]){7, 7}};
    struct hr_service_result result;
    CU_ASSERT_EQUAL_FATAL(hr_service_run(&service, &requests, 1, false, &result, NULL), HR_OK);
    CU_ASSERT_EQUAL(result.first_token_us[0], 110);
    CU_ASSERT_EQUAL(result.end_us[0], 215);
    CU_ASSERT_EQUAL(result.scheduled_us[1], 215);
    hr_service_result_finish(&result);
    service = service_of(engines[i]);
    service.limits.chunk_tokens = service.limits.max_batch_tokens = 3;
    const struct hr_service_requests one = {1, (int64_t[]){0}, (uint32_t[]){10}, (uint32_t[]){1}, (uint32_t[]){4}};
    if (engines[i] == HR_SERVICE_VLLM_V0) continue;
    CU_ASSERT_EQUAL_FATAL(hr_service_run(&service, &one, 1, false, &result, NULL), HR_OK);
    CU_ASSERT_EQUAL(result.iterations, 2);
    CU_ASSERT_EQUAL(result.end_us[0], 2 * 130);
    hr_service_result_finish(&result);
  }
}

/* Requests that can never be served are refused; all others are served. */
static void refused_requests(void) {
  struct hr_service service = service_of(HR_SERVICE_VLLM_V0);
  CU_ASSERT_PTR_NOT_NULL(hr_service_refusal(&service, 101, 1));
  CU_ASSERT_PTR_NULL(hr_service_refusal(&service, 100, 100));
  CU_ASSERT_PTR_NOT_NULL(hr_service_refusal(&service, 100, 101));
  service.engine = HR_SERVICE_ORCA;
  CU_ASSERT_PTR_NOT_NULL(hr_service_refusal(&service, 60, 41));
  service.engine = HR_SERVICE_VLLM_V1;
  CU_ASSERT_PTR_NULL(hr_service_refusal(&service, 150, 50));
  struct hr_service_result result = serve(&service, (int64_t[]){0, 1}, (uint32_t[]){300, 10}, (uint32_t[]){1, 1}, 2);
  CU_ASSERT_EQUAL(result.state[0], HR_REQUEST_REFUSED);
  CU_ASSERT_EQUAL(result.replica[0], HR_NONE);
  CU_ASSERT_EQUAL(result.state[1], HR_REQUEST_COMPLETED);
  hr_service_result_finish(&result);
}

/* Four simultaneous requests and a later one on two replicas; the first and the third are long. Then random routers
   distribute 2,000 requests evenly over four replicas. */
static void routers(void) {
  static const struct {
    enum hr_service_router router;
    uint32_t replica[5];
  } rows[] = {{HR_SERVICE_ROUND_ROBIN, {0, 1, 0, 1, 0}},
              {HR_SERVICE_LEAST_OUTSTANDING, {0, 1, 0, 1, 1}},
              {HR_SERVICE_LEAST_WAITING, {0, 1, 0, 1, 0}},
              {HR_SERVICE_TOKEN_JSQ, {0, 1, 1, 1, 0}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hr_service service = service_of(HR_SERVICE_VLLM_V1);
    service.replicas = 2;
    service.router = rows[i].router;
    struct hr_service_result result =
        serve(&service, (int64_t[]){0, 0, 0, 0, 1000}, (uint32_t[]){40, 5, 5, 5, 5}, (uint32_t[]){90, 2, 90, 2, 2}, 5);
    for (size_t k = 0; k < 5; k++) CU_ASSERT_EQUAL(result.replica[k], rows[i].replica[k]);
    hr_service_result_finish(&result);
  }
  for (int router = HR_SERVICE_RANDOM; router <= HR_SERVICE_POWER_OF_TWO;
       router += HR_SERVICE_POWER_OF_TWO - HR_SERVICE_RANDOM) {
    enum { N = 2000 };
    static int64_t arrival_us[N];
    static uint32_t prompts[N], outputs[N];
    for (uint32_t k = 0; k < N; k++) arrival_us[k] = 10000 * (int64_t)k, prompts[k] = outputs[k] = 1;
    struct hr_service service = service_of(HR_SERVICE_VLLM_V1);
    service.replicas = 4;
    service.router = (enum hr_service_router)router;
    struct hr_service_result result = serve(&service, arrival_us, prompts, outputs, N);
    uint32_t counts[4] = {0};
    for (uint32_t k = 0; k < N; k++) counts[result.replica[k]]++;
    for (size_t k = 0; k < 4; k++) CU_ASSERT_TRUE(counts[k] > 400 && counts[k] < 600);
    hr_service_result_finish(&result);
  }
}

/* ---- Random worlds ---- */

static uint32_t below(uint64_t *state, uint32_t n) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((*state >> 33) % n);
}

enum { MOST_REQUESTS = 30 };
struct world {
  struct hr_service service;
  int64_t arrival_us[MOST_REQUESTS];
  uint32_t prompts[MOST_REQUESTS], outputs[MOST_REQUESTS], cached[MOST_REQUESTS], count;
  bool has_cached;
};

static void draw_world(uint64_t *state, struct world *world) {
  struct hr_service *service = &world->service;
  static const enum hr_service_engine engines[] = {
      HR_SERVICE_VLLM_V1,        HR_SERVICE_VLLM_V0, HR_SERVICE_SARATHI,       HR_SERVICE_ORCA,
      HR_SERVICE_ORCA_SPLITWISE, HR_SERVICE_STATIC,  HR_SERVICE_DYNAMIC_BATCH, HR_SERVICE_SINGLE};
  static uint32_t preferred[] = {3};
  *service = service_of(engines[below(state, sizeof engines / sizeof *engines)]);
  service->dynamic = (struct hr_service_dynamic_rules){preferred, below(state, 2), below(state, 300)};
  service->single = (struct hr_service_single_rules){1 + below(state, 3), (uint8_t)below(state, 2)};
  service->router = (enum hr_service_router)below(state, HR_N_SERVICE_ROUTERS);
  service->replicas = 1 + below(state, below(state, 4) ? 3 : 12);
  service->limits.max_sequences = 1 + below(state, 8);
  service->limits.kv_blocks = 12 + below(state, 30);
  service->limits.watermark = 0.05 * below(state, 3);
  service->limits.chunk_tokens = 1 + below(state, 40);
  if (service->engine == HR_SERVICE_VLLM_V1) service->limits.max_batch_tokens = 1 + below(state, 100);
  if (service->engine == HR_SERVICE_ORCA) service->limits.kv_blocks = 25 * (1 + below(state, 4));
  if (service->engine != HR_SERVICE_ORCA) service->limits.block_tokens = 1 + below(state, 9);
  service->cost = (struct hr_service_cost){below(state, 50), below(state, 10), 1 + below(state, 5),
                                           below(state, 2) * 333.3, below(state, 2)};
  world->count = 1 + below(state, MOST_REQUESTS);
  int64_t at_us = 0;
  for (uint32_t i = 0; i < world->count; i++) {
    world->arrival_us[i] = at_us += below(state, 2) * below(state, 600);
    world->prompts[i] = 1 + below(state, 60);
    world->outputs[i] = 1 + below(state, 50);
  }
  world->has_cached = below(state, 3) == 0;
  for (uint32_t i = 0; i < world->count; i++) world->cached[i] = below(state, world->prompts[i]);
}

static bool same_results(const struct hr_service_result *a, const struct hr_service_result *b) {
  const size_t n = a->count;
  return a->iterations == b->iterations && a->recomputed_tokens == b->recomputed_tokens &&
         memcmp(a->replica, b->replica, n * sizeof *a->replica) == 0 &&
         memcmp(a->scheduled_us, b->scheduled_us, n * sizeof *a->scheduled_us) == 0 &&
         memcmp(a->first_token_us, b->first_token_us, n * sizeof *a->first_token_us) == 0 &&
         memcmp(a->end_us, b->end_us, n * sizeof *a->end_us) == 0 &&
         memcmp(a->preempted_us, b->preempted_us, n * sizeof *a->preempted_us) == 0 &&
         memcmp(a->restarts, b->restarts, n * sizeof *a->restarts) == 0 && memcmp(a->state, b->state, n) == 0;
}

/* Returns the number of completed requests whose parts of time do not add up or contradict their restarts. */
static uint32_t count_bad_parts(const struct world *world, const struct hr_service_requests *requests,
                                const struct hr_service_result *result) {
  const struct hr_served served = {&world->service, requests, result, 0};
  uint32_t n_bad = 0;
  for (uint32_t i = 0; i < result->count; i++) {
    if (result->state[i] != HR_REQUEST_COMPLETED) continue;
    const struct hr_request_parts parts = hr_request_parts_of(&served, i);
    const int64_t sum_us = parts.queue_us + parts.prompt_us + parts.batch_us + parts.preemption_us;
    const bool is_good = parts.queue_us >= 0 && parts.prompt_us >= 0 && parts.batch_us >= 0 &&
                         parts.preemption_us >= 0 && sum_us == result->end_us[i] - requests->arrival_us[i] &&
                         (parts.preemption_us == 0 || result->restarts[i] > 0);
    n_bad += !is_good;
  }
  return n_bad;
}

/* Iterations that are computed together give the same result as single iterations, and every request ends. (With
   orca-splitwise, sequences can wait for each other forever.) */
static void skipping_equals_stepping(void) {
  uint64_t state = 1;
  uint32_t n_different = 0, n_unfinished = 0, n_bad = 0, n_preempted = 0, n_over = 0,
           n_worlds = test_argument(1, 10000);
  for (uint32_t w = 0; w < n_worlds; w++) {
    struct world world;
    struct hr_service_result skipped, stepped;
    struct hr_error error;
    draw_world(&state, &world);
    const struct hr_service_requests requests = {world.count, world.arrival_us, world.prompts, world.outputs,
                                                 world.has_cached ? world.cached : NULL};
    CU_ASSERT_EQUAL_FATAL(hr_service_run(&world.service, &requests, 7, false, &skipped, &error), HR_OK);
    CU_ASSERT_EQUAL_FATAL(hr_service_run(&world.service, &requests, 7, true, &stepped, &error), HR_OK);
    n_different += !same_results(&skipped, &stepped) || skipped.memory_sum != stepped.memory_sum ||
                   skipped.memory_peak != stepped.memory_peak;
    n_over += skipped.memory_peak > skipped.memory_capacity;
    n_bad += count_bad_parts(&world, &requests, &skipped);
    for (uint32_t i = 0; i < world.count; i++) n_preempted += skipped.preempted_us[i] > 0;
    for (uint32_t i = 0; i < world.count; i++)
      n_unfinished += skipped.state[i] == HR_REQUEST_UNFINISHED && world.service.engine != HR_SERVICE_ORCA_SPLITWISE;
    hr_service_result_finish(&skipped);
    hr_service_result_finish(&stepped);
  }
  CU_ASSERT_EQUAL(n_different, 0);
  CU_ASSERT_EQUAL(n_unfinished, 0);
  CU_ASSERT_EQUAL(n_bad, 0);
  CU_ASSERT_EQUAL(n_over, 0);
  CU_ASSERT_TRUE(n_preempted > n_worlds / 10);
}

/* ---- Request traces ---- */

static void bad_requests(void) {
  static const struct {
    const char *text, *message;
  } rows[] = {{"arrival_timestamp,prompt_size\n1,2\n", "token_size"},
              {"arrival_timestamp,prompt_size,token_size\n1,2,3\n0.5,2,3\n", ":3: column 'arrival_timestamp'"},
              {"arrival_timestamp,prompt_size,token_size\n1,2,0\n", ":2: column 'token_size': expected at least 1"},
              {"arrival_timestamp,prompt_size,token_size\n1,2.5,3\n", ":2: column 'prompt_size'"},
              {"arrival_timestamp,prompt_size,token_size\n1,2\n", ":2: column 'token_size'"},
              {"arrival_timestamp,prompt_size,token_size\n1,2,3\n1,2,3,4\n",
               ":3: expected the 3 fields of the header, found one more: '4'"},
              {"x,arrival_timestamp,prompt_size,token_size\n0,1,2,3,\n",
               ":2: expected the 4 fields of the header, found one more: ''"},
              {"arrival_timestamp,prompt_size,token_size,prefix_hit\n1,2,3,1.5\n",
               ":2: column 'prefix_hit': expected a number from 0 to 1, found '1.5'"},
              {"arrival_timestamp,prompt_size,token_size,prefix_hit\n1,2,3,-0.1\n", ":2: column 'prefix_hit'"},
              {"arrival_timestamp,prompt_size,token_size,prefix_hit\n1,2,3\n", ":2: column 'prefix_hit'"},
              {"arrival_timestamp,prompt_size,token_size\n", "no requests"},
              /* quoted: two lines are one row, commas and line ends in quotes do not separate */
              {"note,arrival_timestamp,prompt_size,token_size\n\"a,\nb\",1,2,3\n\"c\",1,x,3\n",
               ":4: column 'prompt_size': expected a whole number, found 'x'"},
              {"note,arrival_timestamp,prompt_size,token_size\n\"a,b\",1,2,\"0\"\n",
               ":2: column 'token_size': expected at least 1, found '0'"},
              {"arrival_timestamp,prompt_size,token_size\n1,2,3\n\"2\",2,3\n1,2,3\n",
               ":4: column 'arrival_timestamp': expected a time that is not before"},
              {"arrival_timestamp,prompt_size,token_size\n\"1\",2,3,\"4,5\"\n",
               ":2: expected the 3 fields of the header, found one more: '4,5'"},
              {"arrival_timestamp,prompt_size,token_size\n1,2,3\n\"1\",2\n", ":3: column 'token_size'"},
              {"arrival_timestamp,prompt_size,token_size\n1,2,3\n1,2\"x,3\n", ":3: unexpected quote"},
              {"arrival_timestamp,prompt_size,token_size\n1,2,3\n1,2,\"3\n", ":3: a quote (\") that opens"},
              {"\"arrival_timestamp\",prompt_size\n1,2\n", ":1: expected the columns"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *path = file_write_text("requests.csv", rows[i].text);
    struct hr_service_requests requests;
    struct hr_error error;
    CU_ASSERT_EQUAL(hr_requests_read(path, &requests, &error), HR_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, rows[i].message));
    hr_requests_finish(&requests);
  }
}

/* The requests are the same with and without quotes, even if the file has many blocks. */
static void quoted_requests(void) {
  enum { N = 20000 };
  char *plain = malloc(N * 32 + 100), *quoted = malloc(N * 48 + 100);
  CU_ASSERT_FATAL(plain && quoted);
  char *at = plain + sprintf(plain, "note,arrival_timestamp,prompt_size,token_size,prefix_hit\n");
  char *to = quoted + sprintf(quoted, "note,arrival_timestamp,prompt_size,token_size,prefix_hit\n");
  for (int i = 0; i < N; i++) {
    const bool is_quoted = i >= 100 && i % 3 == 0;
    at += sprintf(at, "x,%d.5,%d,%d,0.5\n", i, 1 + i % 97, 1 + i % 31);
    to += sprintf(to, is_quoted ? "\"x,\"\"\n,1\",%d.5,\"%d\",%d,0.5\n" : "#,%d.5,%d,%d,0.5\n", i, 1 + i % 97,
                  1 + i % 31);
  }
  struct hr_service_requests one, other;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_requests_read(file_write_text("plain.csv", plain), &one, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_requests_read(file_write_text("quoted.csv", quoted), &other, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(one.count, N);
  CU_ASSERT_EQUAL_FATAL(other.count, N);
  CU_ASSERT_EQUAL(memcmp(one.arrival_us, other.arrival_us, N * sizeof *one.arrival_us), 0);
  CU_ASSERT_EQUAL(memcmp(one.prompt_tokens, other.prompt_tokens, N * sizeof *one.prompt_tokens), 0);
  CU_ASSERT_EQUAL(memcmp(one.output_tokens, other.output_tokens, N * sizeof *one.output_tokens), 0);
  CU_ASSERT_EQUAL(memcmp(one.cached_tokens, other.cached_tokens, N * sizeof *one.cached_tokens), 0);
  hr_requests_finish(&one);
  hr_requests_finish(&other);
  free(plain);
  free(quoted);
}

/* ---- Other simulators ---- */

/* A run of another simulator: result of each request in whole microseconds. `columns`: replica, start, first token, end
   by position in the file. */
struct reference {
  const char *file, *trace;
  unsigned columns[4];
  enum hr_service_engine engine;
  uint32_t replicas;
  struct hr_service_limits limits;
  struct hr_service_cost cost;
};

static int64_t field(const char *line, unsigned position) {
  for (; position > 0; position--) line = strchr(line, ',') + 1;
  return strtoll(line, NULL, 10);
}

static double value(const char *line, unsigned position) {
  for (; position > 0; position--) line = strchr(line, ',') + 1;
  return strtod(line, NULL);
}

/* Returns the number of requests that differ. */
static uint32_t differing(const struct reference *reference, const struct hr_service_result *result, const char *text,
                          size_t size) {
  uint32_t count = 0, rows = 0;
  const char *end = text + size, *line = memchr(text, '\n', size);
  for (; line && line + 1 < end; line = memchr(line + 1, '\n', (size_t)(end - line - 1)), rows++) {
    const int64_t actual[4] = {result->replica[rows], result->scheduled_us[rows], result->first_token_us[rows],
                               result->end_us[rows]};
    bool same = true;
    for (size_t i = 0; i < 4; i++) same = same && field(line + 1, reference->columns[i]) == actual[i];
    count += !same;
  }
  CU_ASSERT_EQUAL(rows, result->count);
  return count;
}

static void check(const struct reference *reference) {
  char trace[300], file[300];
  snprintf(trace, sizeof trace, SERVING "traces/%s.csv.gz", reference->trace);
  snprintf(file, sizeof file, SERVING "reference/%s.csv.gz", reference->file);
  if (real_trace_missing(trace) || real_trace_missing(file)) return;
  static char name[] = "reference";
  const struct hr_service service = {.name = name,
                                     .replicas = reference->replicas,
                                     .gpus = 1,
                                     .engine = reference->engine,
                                     .limits = reference->limits,
                                     .cost = reference->cost};
  struct hr_service_requests requests;
  struct hr_service_result result;
  struct hr_error error;
  char *text;
  size_t size;
  CU_ASSERT_EQUAL_FATAL(hr_requests_read(trace, &requests, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_service_run(&service, &requests, 1, false, &result, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr__decoded_file(file, 1 << 26, &text, &size, &error), HR_OK);
  CU_ASSERT_EQUAL(differing(reference, &result, text, size), 0);
  free(text);
  hr_requests_finish(&requests);
  hr_service_result_finish(&result);
}

#define VIDUR                                                                                                          \
  { 4, 5, 6, 7 }
#define LIMITS(blocks)                                                                                                 \
  { 128, 16384, 512, 16, blocks, 0, 0.01 }

static void vidur(void) {
  static const struct reference references[] = {
      {"vidur/vllm_conv2k", "azure_conv_2000", VIDUR, HR_SERVICE_VLLM_V0, 1, LIMITS(4096), {5000, 60, 20, 0, true}},
      {"vidur/vllm_conv2k_ctx",
       "azure_conv_2000",
       VIDUR,
       HR_SERVICE_VLLM_V0,
       1,
       LIMITS(4096),
       {5000, 60, 20, 150, true}},
      {"vidur/vllm_conv2k_smallmem",
       "azure_conv_2000",
       VIDUR,
       HR_SERVICE_VLLM_V0,
       1,
       LIMITS(1100),
       {9000, 60, 20, 150, true}},
      {"vidur/vllm_code_2rep_rr", "azure_code", VIDUR, HR_SERVICE_VLLM_V0, 2, LIMITS(4096), {9000, 60, 20, 150, true}},
      {"vidur/sarathi_conv2k",
       "azure_conv_2000",
       VIDUR,
       HR_SERVICE_SARATHI,
       1,
       LIMITS(4096),
       {5000, 60, 20, 150, true}},
      {"vidur/orca_conv2k",
       "azure_conv_2000",
       VIDUR,
       HR_SERVICE_ORCA,
       1,
       {32, 16384, 512, 16, 32768, 0, 0.01},
       {9000, 60, 20, 150, true}}};
  for (size_t i = 0; i < sizeof references / sizeof *references; i++) check(&references[i]);
}

static void splitwise(void) {
  static const struct reference reference = {
      "splitwise/int_orca_round_robin_1",     "azure_conv_2000",       {4, 6, 7, 9}, HR_SERVICE_ORCA_SPLITWISE, 1,
      {512, 16384, 512, 16, 0, 89234.586, 0}, {20000, 60, 20, 0, true}};
  check(&reference);
}

/* The table of splitwise-sim for a model, a GPU type and a tensor parallelism of 8: columns tokens, prompt, token. */
static uint32_t read_knots(const char *file, const char *model, struct hr_service_knot *knots, uint32_t most) {
  char *text;
  size_t size, length = strlen(model);
  struct hr_error error;
  uint32_t count = 0;
  CU_ASSERT_EQUAL_FATAL(hr__decoded_file(file, 1 << 20, &text, &size, &error), HR_OK);
  const char *end = text + size;
  for (const char *line = text; line < end && count < most; line++) {
    const char *next = memchr(line, '\n', (size_t)(end - line));
    if (strncmp(line, model, length) == 0)
      knots[count++] = (struct hr_service_knot){value(line, 3), value(line, 4) * 1e6, value(line, 5) * 1e6};
    line = next ? next : end;
  }
  free(text);
  return count;
}

/* Floating-point times of splitwise-sim with its table of Llama-2-70B on H100: within a microsecond. */
static void splitwise_table(void) {
  enum { MOST = 100 };
  struct hr_service_knot knots[MOST];
  const char *trace = SERVING "traces/azure_code.csv.gz", *table = SERVING "reference/splitwise/perf_knots.csv.gz",
             *file = SERVING "reference/splitwise/code_orca_h1.csv.gz";
  if (real_trace_missing(trace) || real_trace_missing(table) || real_trace_missing(file)) return;
  struct hr_service service = service_of(HR_SERVICE_ORCA_SPLITWISE);
  service.limits = (struct hr_service_limits){512, 16384, 512, 16, 0, 210645, 0};
  service.cost = (struct hr_service_cost){
      .knots = knots, .n_knots = read_knots(table, "llama2-70b,h100-80gb,8,", knots, MOST), .mixed_factor = 1.1};
  struct hr_service_requests requests;
  struct hr_service_result result;
  struct hr_error error;
  char *text;
  size_t size, rows = 0;
  uint32_t n_different = 0;
  CU_ASSERT_TRUE_FATAL(service.cost.n_knots > 2);
  CU_ASSERT_EQUAL_FATAL(hr_requests_read(trace, &requests, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_service_run(&service, &requests, 1, false, &result, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr__decoded_file(file, 1 << 26, &text, &size, &error), HR_OK);
  const char *end = text + size, *line = memchr(text, '\n', size);
  for (; line && line + 1 < end; line = memchr(line + 1, '\n', (size_t)(end - line - 1)), rows++) {
    const int64_t *times_us[] = {result.scheduled_us, result.first_token_us, result.end_us};
    static const unsigned columns[] = {6, 7, 9};
    for (int i = 0; i < 3; i++) n_different += fabs(value(line + 1, columns[i]) * 1e6 - (double)times_us[i][rows]) > 1;
  }
  CU_ASSERT_EQUAL(rows, result.count);
  CU_ASSERT_EQUAL(n_different, 0);
  free(text);
  hr_requests_finish(&requests);
  hr_service_result_finish(&result);
}

/* ---- DistServe ---- */

#define TERMS(...) ((double[]){__VA_ARGS__})

/* Milliseconds of a result. */
static double result_ms(const struct hr_service_result *result, const int64_t *us, size_t row, int which) {
  return (double)us[row] / 1000 + (double)result->rest_ps[row][which] * 1e-9;
}

/* Serves the first 2,000 requests of a conversation trace, whose arrivals are `scale` times as far apart, and compares
   them with a run of DistServe's simulator. */
static void check_distserve(const char *file_name, const struct hr_service *service, int64_t scale) {
  char file[300], *text;
  const char *trace = SERVING "traces/azure_conv_2000.csv.gz";
  snprintf(file, sizeof file, SERVING "reference/distserve/%s.csv.gz", file_name);
  if (real_trace_missing(trace) || real_trace_missing(file)) return;
  struct hr_service_requests requests;
  struct hr_service_result result;
  struct hr_error error;
  size_t size, rows = 0;
  CU_ASSERT_EQUAL_FATAL(hr_requests_read(trace, &requests, &error), HR_OK);
  for (uint32_t i = 0; i < requests.count; i++) requests.arrival_us[i] *= scale;
  CU_ASSERT_EQUAL_FATAL(hr_service_run(service, &requests, 1, false, &result, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr__decoded_file(file, 1 << 26, &text, &size, &error), HR_OK);
  uint32_t n_different = 0;
  double most_ms = 0;
  const char *end = text + size, *line = memchr(text, '\n', size);
  for (; line && line + 1 < end; line = memchr(line + 1, '\n', (size_t)(end - line - 1)), rows++) {
    const int64_t *times_us[] = {result.scheduled_us, result.first_token_us, result.end_us};
    n_different += field(line + 1, 4) != result.replica[rows] || field(line + 1, 5) != result.decode_replica[rows];
    for (int i = 0; i < 3; i++)
      most_ms = fmax(most_ms, fabs(value(line + 1, 6 + (unsigned)i) - result_ms(&result, times_us[i], rows, i)));
  }
  CU_ASSERT_EQUAL(rows, result.count);
  CU_ASSERT_EQUAL(n_different, 0);
  CU_ASSERT_TRUE(most_ms < 1e-6);
  free(text);
  hr_requests_finish(&requests);
  hr_service_result_finish(&result);
}

static struct hr_service phases_of(enum hr_service_engine engine, double *prefill, double *decode, double *large) {
  struct hr_service service = service_of(engine);
  service.replicas = engine == HR_SERVICE_DISAGGREGATED ? 2 : 1;
  service.limits.max_sequences = service.limits.max_batch_tokens = 10000000;
  service.phases = (struct hr_service_phase_rules){.prefill_replicas = 1,
                                                   .decode_replicas = 1,
                                                   .max_decode_sequences = 10000000,
                                                   .decode_context_tokens = 50000,
                                                   .max_decode_tokens = 1e7,
                                                   .decode_pressure = 0.9};
  service.cost = (struct hr_service_cost){.phases = {.prefill_ms = prefill,
                                                     .decode_ms = decode,
                                                     .large_ms = large,
                                                     .large_batch = 95,
                                                     .stages = 1,
                                                     .stage_ms = 1,
                                                     .overhead_ms = 2,
                                                     .overhead_token_ms = 0.0001}};
  return service;
}

static void distserve(void) {
  const struct hr_service apart =
      phases_of(HR_SERVICE_DISAGGREGATED, TERMS(18.10254647486372, 0.1019122572698738, 7.122264314252114e-06),
                TERMS(19.934702624895458, 0.0006269356524350583, 0.03850697740828398),
                TERMS(7.1661889468253595, 0.0005798000403396046, 0.15831096191764046));
  check_distserve("disagg_13b_1p1d_conv2k", &apart, 2);
  const struct hr_service together =
      phases_of(HR_SERVICE_COLOCATED, TERMS(22.052204789310185, 0.14050923870128956, 8.076584822611088e-06),
                TERMS(23.475041008414784, 0.000592934466077393, 0.060726861260369455),
                TERMS(20.206356173691958, 0.0004907727036234946, 0.1200031385587413));
  check_distserve("vllm_13b_1_conv2k", &together, 3);
}

/* ---- Defaults by model ---- */

#define BY_MODEL(model, replica)                                                                                       \
  "{\"name\":\"m\",\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"A100-80\",\"nodes\":1,\"gpus_per_node\":8}]},"    \
  "\"services\":[{\"name\":\"s\",\"model\":\"" model "\",\"requests\":{\"rate_per_s\":1,\"count\":5,"                  \
  "\"prompt_tokens\":{\"mean\":9},\"output_tokens\":{\"mean\":9}},\"replica\":{" replica "}}]}"

static struct hr_scenario *load(const char *text, struct hr_error *error) {
  struct hr_scenario *scenario = NULL;
  const char *path = file_write_text("by_model.json", text);
  return hr_scenario_load(path, NULL, 0, &scenario, error) == HR_OK ? scenario : NULL;
}

/* A measured cost, a roofline estimate, the memory, and a model that does not fit. */
static void defaults_by_model(void) {
  struct hr_error error;
  struct hr_scenario *scenario = load(BY_MODEL("facebook/opt-13b", "\"engine\":{\"name\":\"disaggregated\"}"), &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  CU_ASSERT_DOUBLE_EQUAL(scenario->services->at[0].cost.phases.prefill_ms[0], 18.10254647486372, 0);
  hr_scenario_destroy(scenario);
  scenario = load(BY_MODEL("Llama-3.1-8B", "\"engine\":{}"), &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  const struct hr_service *service = &scenario->services->at[0];
  CU_ASSERT_TRUE(service->cost.fixed_us > 8000 && service->cost.fixed_us < 12000);          /* 16 GB at 1.6 TB/s */
  CU_ASSERT_TRUE(service->limits.kv_tokens > 380000 && service->limits.kv_tokens < 440000); /* 52 to 57 GB */
  hr_scenario_destroy(scenario);
  CU_ASSERT_PTR_NULL(load(BY_MODEL("Llama-3.1-70B", "\"engine\":{}"), &error));
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "does not fit"));
  CU_ASSERT_PTR_NULL(load(BY_MODEL("Lama", "\"engine\":{\"kv_blocks\":9}"), &error));
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "no data of the model 'Lama'"));
}

#define TWO_TYPES(type)                                                                                                \
  "{\"name\":\"s\",\"cluster\":{\"pools\":[{\"name\":\"a\",\"gpu\":\"A100-80\",\"nodes\":1,\"gpus_per_node\":1},"      \
  "{\"name\":\"b\",\"gpu\":\"L4\",\"nodes\":1,\"gpus_per_node\":1}]},\"services\":[{\"name\":\"s\",\"model\":\"Llama-" \
  "2-7B\","                                                                                                            \
  "\"requests\":{\"rate_per_s\":1,\"duration_s\":9,\"prompt_tokens\":{\"mean\":9},\"output_tokens\":{\"mean\":9}},"    \
  "\"autoscale\":{\"policy\":\"fixed\",\"replicas\":1},\"replica\":{\"engine\":{}" type "}}]}"

static bool notes_other_gpus(const struct hr_scenario *scenario) {
  bool any = false;
  for (uint32_t i = 0; i < scenario->notes.count; i++)
    any = any || strstr(scenario->notes.text[i], "as fast on L4 as on A100-80");
  return any;
}

/* The defaults are those of the GPUs on which the replicas run, even if the first pool has others. */
static void defaults_by_gpu_type(void) {
  struct hr_error error;
  struct hr_scenario *scenario = load(TWO_TYPES(",\"gpu_type\":\"L4\""), &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  const struct hr_service *service = &scenario->services->at[0];
  CU_ASSERT_TRUE(service->limits.kv_tokens < 10000); /* 90 % of 24 GB, less 13.5 and 4 GB */
  CU_ASSERT_TRUE(service->cost.fixed_us > 50000 && service->cost.fixed_us < 60000); /* 13.5 GB at 0.24 TB/s */
  CU_ASSERT_FALSE(notes_other_gpus(scenario));
  hr_scenario_destroy(scenario);
  scenario = load(TWO_TYPES(""), &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  CU_ASSERT_TRUE(scenario->services->at[0].limits.kv_tokens > 90000);
  CU_ASSERT_TRUE(notes_other_gpus(scenario));
  hr_scenario_destroy(scenario);
}

TEST_MAIN("inference services", TEST(one_request), TEST(two_requests), TEST(static_batch), TEST(dynamic_batch),
          TEST(single_servers), TEST(restarts), TEST(prefix_hits), TEST(prefix_hits_take_memory),
          TEST(refused_requests), TEST(routers), TEST(skipping_equals_stepping), TEST(bad_requests),
          TEST(quoted_requests), TEST(vidur), TEST(splitwise), TEST(splitwise_table), TEST(distserve),
          TEST(defaults_by_model), TEST(defaults_by_gpu_type))
