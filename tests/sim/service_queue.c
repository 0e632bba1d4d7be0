/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The queue of a service: its limit, timeouts, routers by pools, and spill-over to other services. Results are compared
   with values computed by hand and with closed forms; there are also random worlds.

   In all cases computed by hand, an iteration takes 100 us, plus 10 us for each prompt token, plus 5 us for each
   sequence that decodes. The engine `single` takes 110 us for a request with one prompt token. */

#include "harness.h"
#include "headroom/cluster.h"
#include "sim/services/service.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct hr_service service_of(enum hr_service_engine engine) {
  static char name[] = "s";
  return (struct hr_service){
      .name = name,
      .replicas = 1,
      .gpus = 1,
      .engine = engine,
      .limits = {.max_sequences = 4, .max_batch_tokens = 100, .chunk_tokens = 100, .block_tokens = 4, .kv_blocks = 50},
      .single = {.servers = 1},
      .cost = {100, 10, 5, 0, true}};
}

static struct hr_service_result serve(const struct hr_service *service, const struct hr_service_requests *requests) {
  struct hr_service_result result;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_service_run(service, requests, 1, false, &result, &error), HR_OK);
  return result;
}

/* Counts the requests in a state. */
static uint32_t count_in(const struct hr_service_result *result, enum hr_request_state state) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < result->count; i++) count += result->state[i] == state;
  return count;
}

/* ---- Limit and timeout ---- */

/* A request takes 110 us. The first request starts immediately, two wait, and the next two are refused. The last
   request arrives when only one request waits. */
static void limit(void) {
  struct hr_service service = service_of(HR_SERVICE_SINGLE);
  service.queue.limit = 2;
  const struct hr_service_requests requests = {6, (int64_t[]){0, 10, 20, 30, 110, 120}, (uint32_t[]){1, 1, 1, 1, 1, 1},
                                               (uint32_t[]){1, 1, 1, 1, 1, 1}};
  struct hr_service_result result = serve(&service, &requests);
  static const enum hr_request_state states[] = {HR_REQUEST_COMPLETED, HR_REQUEST_COMPLETED, HR_REQUEST_COMPLETED,
                                                 HR_REQUEST_REFUSED,   HR_REQUEST_REFUSED,   HR_REQUEST_COMPLETED};
  for (size_t i = 0; i < 6; i++) CU_ASSERT_EQUAL(result.state[i], states[i]);
  CU_ASSERT_EQUAL(result.replica[3], HR_NONE);
  CU_ASSERT_EQUAL(result.end_us[3], 30);
  CU_ASSERT_EQUAL(result.end_us[5], 440);
  hr_service_result_finish(&result);
}

/* A request takes 110 us, and its deadline is 150 us after its arrival. The third request would start at 220 us, after
   its deadline at 170 us, so it times out. The fourth request then starts at 220 us, exactly at its deadline, and is
   served. */
static void timeout(void) {
  struct hr_service service = service_of(HR_SERVICE_SINGLE);
  service.queue.timeout_us = 150;
  const struct hr_service_requests requests = {4, (int64_t[]){0, 10, 20, 70}, (uint32_t[]){1, 1, 1, 1},
                                               (uint32_t[]){1, 1, 1, 1}};
  struct hr_service_result result = serve(&service, &requests);
  CU_ASSERT_EQUAL(result.state[2], HR_REQUEST_TIMED_OUT);
  CU_ASSERT_EQUAL(result.end_us[2], 170);
  CU_ASSERT_EQUAL(result.scheduled_us[2], HR_NEVER_US);
  CU_ASSERT_EQUAL(result.replica[2], HR_NONE);
  CU_ASSERT_EQUAL(result.scheduled_us[3], 220);
  CU_ASSERT_EQUAL(result.state[3], HR_REQUEST_COMPLETED);
  hr_service_result_finish(&result);
}

/* The first request decodes, 105 us for each token. The second request does not fit into the memory, and the third
   waits behind it. The second times out at 650 us. The third is then part of the next iteration, which begins at 200 +
   5 x 105 = 725 us. */
static void blocked(void) {
  struct hr_service service = service_of(HR_SERVICE_VLLM_V1);
  service.limits.kv_blocks = 12;
  service.queue.timeout_us = 400;
  const struct hr_service_requests requests = {3, (int64_t[]){0, 250, 400}, (uint32_t[]){10, 40, 4},
                                               (uint32_t[]){20, 1, 2}};
  struct hr_service_result result = serve(&service, &requests);
  CU_ASSERT_EQUAL(result.state[1], HR_REQUEST_TIMED_OUT);
  CU_ASSERT_EQUAL(result.end_us[1], 650);
  CU_ASSERT_EQUAL(result.scheduled_us[2], 725);
  CU_ASSERT_EQUAL(result.first_token_us[2], 725 + 100 + 40 + 5);
  CU_ASSERT_EQUAL(result.state[0], HR_REQUEST_COMPLETED);
  hr_service_result_finish(&result);
}

/* Without a replica, the first three requests time out in the queue of the router, and the fourth is refused. The fifth
   is served by a replica that is added at 1,600 us. */
static void router_queue(void) {
  struct hr_service service = service_of(HR_SERVICE_SINGLE);
  service.queue = (struct hr_service_queue){.limit = 3, .timeout_us = 1000};
  const struct hr_service_requests requests = {5, (int64_t[]){0, 10, 20, 30, 1500}, (uint32_t[]){1, 1, 1, 1, 1},
                                               (uint32_t[]){1, 1, 1, 1, 1}};
  const struct hr__service_config config = {.spec = &service, .requests = &requests, .n_replicas = 1, .seed = 1};
  struct hr_service_result result;
  struct hr__service_run run;
  CU_ASSERT_EQUAL_FATAL(hr__service_open(&run, &config, &result, NULL), HR_OK);
  hr__service_advance(&run, 40);
  CU_ASSERT_EQUAL(run.n_outstanding, 3);
  CU_ASSERT_EQUAL(hr__service_timeout_us(&run), 1000);
  hr__service_advance(&run, 1600);
  CU_ASSERT_EQUAL(run.n_outstanding, 1);
  CU_ASSERT_EQUAL(hr__service_next_us(&run), 2500);
  hr__service_add(&run, 0);
  hr__service_advance(&run, HR_NEVER_US);
  CU_ASSERT_EQUAL(count_in(&result, HR_REQUEST_TIMED_OUT), 3);
  CU_ASSERT_EQUAL(result.state[3], HR_REQUEST_REFUSED);
  CU_ASSERT_EQUAL(result.end_us[1], 1010);
  CU_ASSERT_EQUAL(result.end_us[4], 1710);
  CU_ASSERT_EQUAL(hr__service_close(&run, NULL), HR_OK);
  hr_service_result_finish(&result);
}

/* ---- Closed forms ---- */

static double uniform(uint64_t *state) {
  *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
  uint64_t x = *state;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return ((double)(x >> 11) + 0.5) * 0x1p-53;
}

/* Returns `count` requests with Poisson arrivals at the rate `rho` per second and exponential service times with a mean
   of 1 s. */
static struct hr_service_requests markov(double rho, uint32_t count) {
  struct hr_service_requests requests = {count, malloc(count * sizeof(int64_t)), malloc(count * sizeof(uint32_t)),
                                         malloc(count * sizeof(uint32_t))};
  uint64_t state = 7;
  double at_s = 0;
  for (uint32_t i = 0; i < count; i++) {
    at_s -= log(uniform(&state)) / rho;
    requests.arrival_us[i] = llround(at_s * 1e6);
    requests.prompt_tokens[i] = 1 + (uint32_t)(-log(uniform(&state)) * 1e6);
    requests.output_tokens[i] = 1;
  }
  return requests;
}

static struct hr_service markov_server(void) {
  struct hr_service service = service_of(HR_SERVICE_SINGLE);
  service.cost = (struct hr_service_cost){.per_prompt_token_us = 1, .per_sequence_us = 1};
  return service;
}

/* M/M/1/K with K = limit + 1: the share of refused requests is (1 - rho) rho^K / (1 - rho^(K + 1)). M/M/1 with patience
   D: the share of requests that time out is rho (1 - rho) e / (1 - rho^2 e) with e = exp(-(1 - rho) D), by level
   crossing. */
static void closed_forms(void) {
  enum { COUNT = 400000 };
  const double rho = 0.8, patience = 3;
  const struct hr_service_requests requests = markov(rho, COUNT);
  struct hr_service service = markov_server();
  service.queue.limit = 4;
  struct hr_service_result result = serve(&service, &requests);
  const double lost = (1 - rho) * pow(rho, 5) / (1 - pow(rho, 6));
  CU_ASSERT_DOUBLE_EQUAL(count_in(&result, HR_REQUEST_REFUSED) / (double)COUNT, lost, 0.02 * lost);
  hr_service_result_finish(&result);
  /* twice the prompts, of which half is in the cache: M/M/1 as before, with a mean time in the system of 1 / (1 - rho).
     The limit of the queue is never reached. */
  service.queue.limit = COUNT;
  uint32_t *cached = malloc(COUNT * sizeof *cached);
  for (uint32_t i = 0; i < COUNT; i++) {
    cached[i] = requests.prompt_tokens[i];
    requests.prompt_tokens[i] *= 2;
  }
  const struct hr_service_requests hits = {COUNT, requests.arrival_us, requests.prompt_tokens, requests.output_tokens,
                                           cached};
  result = serve(&service, &hits);
  double sum_s = 0;
  for (uint32_t i = 0; i < COUNT; i++) sum_s += (double)(result.end_us[i] - requests.arrival_us[i]) / 1e6;
  CU_ASSERT_DOUBLE_EQUAL(sum_s / COUNT, 1 / (1 - rho), 0.03 / (1 - rho));
  for (uint32_t i = 0; i < COUNT; i++) requests.prompt_tokens[i] = cached[i];
  free(cached);
  hr_service_result_finish(&result);
  service.queue = (struct hr_service_queue){.timeout_us = llround(patience * 1e6)};
  result = serve(&service, &requests);
  const double e = exp(-(1 - rho) * patience), left = rho * (1 - rho) * e / (1 - rho * rho * e);
  CU_ASSERT_DOUBLE_EQUAL(count_in(&result, HR_REQUEST_TIMED_OUT) / (double)COUNT, left, 0.02 * left);
  hr_service_result_finish(&result);
  free(requests.arrival_us);
  free(requests.prompt_tokens);
  free(requests.output_tokens);
}

/* ---- Routers by pools ---- */

enum { N_POOLS = 2 };
static const struct hr_pool_spec pools[N_POOLS] = {
    {.name = (char *)(uintptr_t) "cloud", .gpu = (char *)(uintptr_t) "L4", .market = {.market = HR_MARKET_ON_DEMAND}},
    {.name = (char *)(uintptr_t) "home", .gpu = (char *)(uintptr_t) "A100", .market = {.market = HR_MARKET_OWNED}}};

/* Runs requests on replicas; replica i is in pool i modulo 2. */
static struct hr_service_result run_in_pools(const struct hr_service *service, uint32_t n_replicas,
                                             const struct hr_service_requests *requests) {
  const struct hr__service_config config = {.spec = service, .requests = requests, .n_replicas = n_replicas, .seed = 1};
  struct hr_service_result result;
  struct hr__service_run run;
  CU_ASSERT_EQUAL_FATAL(hr__service_open(&run, &config, &result, NULL), HR_OK);
  for (uint32_t i = 0; i < n_replicas; i++) {
    hr__service_place(&run, i, &pools[i % N_POOLS]);
    hr__service_add(&run, i);
  }
  hr__service_advance(&run, HR_NEVER_US);
  CU_ASSERT_EQUAL(hr__service_close(&run, NULL), HR_OK);
  return result;
}

/* Nine requests arrive at the same time. The two replicas at home (1 and 3) get two requests each, then the two
   replicas in the cloud (0 and 2) get two each. The ninth goes to the first replica at home, because all replicas have
   equally many requests. So does the last request, which arrives when all replicas are idle. */
static void first_available(void) {
  struct hr_service service = service_of(HR_SERVICE_VLLM_V1);
  char *order[] = {(char *)(uintptr_t) "home", (char *)(uintptr_t) "L4"};
  service.router = HR_SERVICE_FIRST_AVAILABLE;
  service.routing = (struct hr_service_routing){.order = order, .n_order = 2, .room = 2};
  const struct hr_service_requests requests = {10, (int64_t[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 5000},
                                               (uint32_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                                               (uint32_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
  struct hr_service_result result = run_in_pools(&service, 4, &requests);
  static const uint32_t replicas[] = {1, 1, 3, 3, 0, 0, 2, 2, 1, 1};
  for (size_t i = 0; i < 10; i++) CU_ASSERT_EQUAL(result.replica[i], replicas[i]);
  hr_service_result_finish(&result);
}

/* The replica at home gets three requests for each request of the replica in the cloud. With weight 0, the replica in
   the cloud gets none. */
static void weighted(void) {
  enum { COUNT = 400 };
  static int64_t arrival_us[COUNT];
  static uint32_t ones[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) arrival_us[i] = 1000 * (int64_t)i, ones[i] = 1;
  struct hr_router_weight weights[] = {{.pool = (char *)(uintptr_t) "home", .weight = 3},
                                       {.gpu_type = (char *)(uintptr_t) "L4", .weight = 1}};
  struct hr_service service = service_of(HR_SERVICE_VLLM_V1);
  service.router = HR_SERVICE_WEIGHTED;
  service.routing = (struct hr_service_routing){.weights = weights, .n_weights = 2};
  const struct hr_service_requests requests = {COUNT, arrival_us, ones, ones};
  struct hr_service_result result = run_in_pools(&service, 2, &requests);
  uint32_t counts[2] = {0};
  for (uint32_t i = 0; i < COUNT; i++) {
    counts[result.replica[i]]++;
    CU_ASSERT_TRUE(abs((int)counts[1] - 3 * (int)counts[0]) <= 3); /* the difference is never more than one round */
  }
  CU_ASSERT_EQUAL(counts[0], 100);
  hr_service_result_finish(&result);
  weights[1].weight = 0;
  result = run_in_pools(&service, 2, &requests);
  for (uint32_t i = 0; i < COUNT; i++) CU_ASSERT_EQUAL(result.replica[i], 1);
  hr_service_result_finish(&result);
}

/* Replicas in on-demand pools get requests only while the predicted wait is above 150 us. A request takes 110 us.
   Before the first request ends, this time is unknown. The predicted wait is 110 us times the number of waiting
   requests, divided by the number of requests in service: 110 us at 220 us (one waits), 220 us at 230 us (two wait),
   and 110 us at 240 us (two wait, two are in service). */
static void spill_to_market(void) {
  struct hr_service service = service_of(HR_SERVICE_SINGLE);
  service.router = HR_SERVICE_LEAST_OUTSTANDING;
  service.routing.spill =
      (struct hr_service_spill){.to = (char *)(uintptr_t) "on-demand", .predicted_wait_us = 150, .service = HR_NONE};
  const struct hr_service_requests requests = {6, (int64_t[]){0, 200, 210, 220, 230, 240},
                                               (uint32_t[]){1, 1, 1, 1, 1, 1}, (uint32_t[]){1, 1, 1, 1, 1, 1}};
  struct hr_service_result result = run_in_pools(&service, 2, &requests);
  static const uint32_t replicas[] = {1, 1, 1, 1, 0, 1};
  for (size_t i = 0; i < 6; i++) CU_ASSERT_EQUAL(result.replica[i], replicas[i]);
  CU_ASSERT_EQUAL(result.overflowed, 1);
  hr_service_result_finish(&result);
}

/* ---- Spill-over to other services ---- */

enum { MOST_REQUESTS = 30, N_REPLICAS = 2, MOST_SERVICES = 3 };

/* Services whose requests spill over to the next service. */
struct chain {
  uint32_t count;
  struct hr_service spec[MOST_SERVICES];
  struct hr_service_requests requests[MOST_SERVICES], received[MOST_SERVICES];
  struct hr__feed feeds[MOST_SERVICES];
  struct hr_service_result result[MOST_SERVICES];
  struct hr__service_run run[MOST_SERVICES], *upstream[MOST_SERVICES];
};

static void open_chain(struct chain *chain, uint32_t n_replicas, bool steps) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < chain->count; i++) {
    most += chain->requests[i].count;
    if (i > 0) chain->feeds[i] = (struct hr__feed){.from = &chain->run[i - 1]};
    chain->received[i] = (struct hr_service_requests){0};
    chain->upstream[i] = &chain->run[i];
    const struct hr__service_config config = {
        .spec = &chain->spec[i],
        .requests = &chain->requests[i],
        .n_replicas = n_replicas,
        .seed = 1 + i,
        .steps = steps,
        .feeds = &chain->feeds[i],
        .n_feeds = i > 0,
        .most = most,
        .received = &chain->received[i],
        .links = {.n_hops = chain->count - 1 - i, .upstream = chain->upstream, .n_upstream = i}};
    CU_ASSERT_EQUAL_FATAL(hr__service_open(&chain->run[i], &config, &chain->result[i], NULL), HR_OK);
  }
}

static void close_chain(struct chain *chain) {
  for (uint32_t i = 0; i < chain->count; i++) CU_ASSERT_EQUAL(hr__service_close(&chain->run[i], NULL), HR_OK);
}

static void finish_chain(struct chain *chain) {
  for (uint32_t i = 0; i < chain->count; i++) {
    hr_service_result_finish(&chain->result[i]);
    free(chain->received[i].arrival_us);
    free(chain->received[i].prompt_tokens);
    free(chain->received[i].output_tokens);
    free(chain->received[i].cached_tokens);
  }
}

/* As in spill_to_market, but the fifth request, with two prompt tokens (120 us), spills over to another service at 230
   us. That service has requests of its own, of 110 us each, since 225 us and 230 us. */
static void spill_to_service(void) {
  static char next[] = "next";
  struct chain chain = {.count = 2};
  chain.spec[0] = chain.spec[1] = service_of(HR_SERVICE_SINGLE);
  chain.spec[0].routing.spill = (struct hr_service_spill){.to = next, .predicted_wait_us = 150, .service = 1};
  chain.requests[0] = (struct hr_service_requests){6, (int64_t[]){0, 200, 210, 220, 230, 335},
                                                   (uint32_t[]){1, 1, 1, 1, 2, 1}, (uint32_t[]){1, 1, 1, 1, 1, 1}};
  chain.requests[1] = (struct hr_service_requests){2, (int64_t[]){225, 230}, (uint32_t[]){1, 1}, (uint32_t[]){1, 1}};
  open_chain(&chain, 1, false);
  for (uint32_t i = 0; i < 2; i++) hr__service_add(&chain.run[i], 0);
  CU_ASSERT_EQUAL(hr__service_next_us(&chain.run[1]), 335);
  hr__service_advance(&chain.run[1], HR_NEVER_US); /* this also advances the first service */
  CU_ASSERT_FALSE(hr__service_expects(&chain.run[1]));
  close_chain(&chain);
  CU_ASSERT_EQUAL(chain.result[0].state[4], HR_REQUEST_SPILLED);
  CU_ASSERT_EQUAL(chain.result[0].end_us[4], 230);
  CU_ASSERT_EQUAL(count_in(&chain.result[0], HR_REQUEST_SPILLED), 1);
  CU_ASSERT_EQUAL_FATAL(chain.result[1].count, 3);
  CU_ASSERT_EQUAL(chain.received[1].count, 3);
  CU_ASSERT_EQUAL(chain.result[1].received, 1);
  /* at the same instant, its own requests precede received requests */
  CU_ASSERT_EQUAL(chain.received[1].prompt_tokens[1], 1);
  CU_ASSERT_EQUAL(chain.received[1].prompt_tokens[2], 2);
  CU_ASSERT_EQUAL(chain.received[1].arrival_us[2], 230);
  CU_ASSERT_EQUAL(chain.result[1].end_us[0], 335);
  CU_ASSERT_EQUAL(chain.result[1].end_us[2], 335 + 110 + 120);
  finish_chain(&chain);
}

/* Without a ready replica, the predicted wait includes the cold start of 200 us, so the first request spills over. The
   second request arrives at 10 us, when a replica is ready, and stays. */
static void spill_of_cold_service(void) {
  static char next[] = "next";
  struct chain chain = {.count = 2};
  chain.spec[0] = chain.spec[1] = service_of(HR_SERVICE_SINGLE);
  chain.spec[0].cold_start.weights_us = 200;
  chain.spec[0].routing.spill = (struct hr_service_spill){.to = next, .predicted_wait_us = 199, .service = 1};
  chain.requests[0] = (struct hr_service_requests){2, (int64_t[]){0, 10}, (uint32_t[]){1, 1}, (uint32_t[]){1, 1}};
  chain.requests[1] = (struct hr_service_requests){1, (int64_t[]){5}, (uint32_t[]){1}, (uint32_t[]){1}};
  open_chain(&chain, 1, false);
  hr__service_advance(&chain.run[1], 6);
  CU_ASSERT_TRUE(chain.run[0].wants_replica);
  hr__service_add(&chain.run[0], 0);
  hr__service_add(&chain.run[1], 0);
  hr__service_advance(&chain.run[1], HR_NEVER_US);
  close_chain(&chain);
  CU_ASSERT_EQUAL(chain.result[0].state[0], HR_REQUEST_SPILLED);
  CU_ASSERT_EQUAL(chain.result[0].state[1], HR_REQUEST_COMPLETED);
  CU_ASSERT_EQUAL(chain.result[1].count, 2);
  finish_chain(&chain);
}

/* ---- Random worlds ---- */

static uint32_t below(uint64_t *state, uint32_t n) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((*state >> 33) % n);
}

struct world {
  struct chain chain;
  int64_t arrival_us[MOST_SERVICES][MOST_REQUESTS];
  uint32_t prompts[MOST_SERVICES][MOST_REQUESTS], outputs[MOST_SERVICES][MOST_REQUESTS];
  int64_t change_us[8];
  uint32_t what[8];
};

static void draw_service(uint64_t *state, struct world *world, uint32_t at) {
  static const enum hr_service_engine engines[] = {HR_SERVICE_VLLM_V1, HR_SERVICE_VLLM_V0,       HR_SERVICE_SARATHI,
                                                   HR_SERVICE_STATIC,  HR_SERVICE_DYNAMIC_BATCH, HR_SERVICE_SINGLE};
  static char next[] = "next";
  struct hr_service *spec = &world->chain.spec[at];
  *spec = service_of(engines[below(state, sizeof engines / sizeof *engines)]);
  spec->router = (enum hr_service_router)below(state, HR_N_SERVICE_ROUTERS);
  spec->dynamic.max_queue_delay_us = below(state, 300);
  spec->single = (struct hr_service_single_rules){1 + below(state, 3), (uint8_t)below(state, 2)};
  spec->limits.kv_blocks = 30 + below(state, 20);
  spec->limits.max_sequences = 1 + below(state, 6);
  spec->cost = (struct hr_service_cost){below(state, 50), below(state, 10), 1 + below(state, 5),
                                        below(state, 2) * 333.3, below(state, 2)};
  spec->queue.limit = below(state, 3) ? 0 : 1 + below(state, 5);
  spec->queue.timeout_us = below(state, 2) ? 0 : 1 + below(state, 2500);
  spec->queue.when_full = at + 1 < world->chain.count && below(state, 2);
  if (at + 1 < world->chain.count)
    spec->routing.spill = (struct hr_service_spill){
        .to = next, .predicted_wait_us = below(state, 3) ? below(state, 2000) : HR_NEVER_US, .service = at + 1};
  int64_t at_us = 0;
  const uint32_t count = 1 + below(state, MOST_REQUESTS);
  for (uint32_t i = 0; i < count; i++) {
    world->arrival_us[at][i] = at_us += below(state, 2) * below(state, 600);
    world->prompts[at][i] = 1 + below(state, 50);
    world->outputs[at][i] = 1 + below(state, 50);
  }
  world->chain.requests[at] =
      (struct hr_service_requests){count, world->arrival_us[at], world->prompts[at], world->outputs[at]};
}

static void draw_world(uint64_t *state, struct world *world) {
  world->chain.count = 1 + below(state, MOST_SERVICES);
  for (uint32_t i = 0; i < world->chain.count; i++) draw_service(state, world, i);
  int64_t at_us = 0;
  for (uint32_t i = 0; i < 8; i++) {
    world->change_us[i] = at_us += below(state, 1500);
    world->what[i] = below(state, 4 * MOST_SERVICES);
  }
}

/* Adds a replica that is idle and not ready. Otherwise drains the replica if it is ready and `what` is odd, or kills
   it. */
static void change(struct chain *chain, uint32_t what) {
  struct hr__service_run *run = &chain->run[what / 4 % chain->count];
  const uint32_t number = what % 4 / 2;
  bool is_ready = false;
  for (uint32_t i = 0; i < run->n_ready; i++) is_ready |= run->ready[i] == number;
  if (!is_ready && hr__service_is_idle(run, number))
    hr__service_add(run, number);
  else if (what % 2 && is_ready)
    hr__service_drain(run, number);
  else
    hr__service_kill(run, number);
}

static void run_world(struct chain *chain, const struct world *world, bool steps, bool in_parts) {
  int64_t at_us = 0;
  *chain = world->chain;
  struct hr__service_run *last = &chain->run[chain->count - 1];
  open_chain(chain, N_REPLICAS, steps);
  for (uint32_t i = 0; i < chain->count; i++) hr__service_add(&chain->run[i], 0);
  for (uint32_t i = 0; i < 8; i++) {
    for (; in_parts && at_us < world->change_us[i]; at_us += 37)
      hr__service_advance(&chain->run[(uint64_t)at_us / 37 % chain->count], at_us);
    hr__service_advance(last, world->change_us[i]);
    change(chain, world->what[i]);
  }
  for (uint32_t i = 0; i < chain->count; i++) {
    if (chain->run[i].n_ready) continue;
    if (!hr__service_is_idle(&chain->run[i], 0)) hr__service_kill(&chain->run[i], 0);
    hr__service_add(&chain->run[i], 0);
  }
  hr__service_advance(last, HR_NEVER_US);
  for (uint32_t i = 0; i < chain->count; i++) {
    CU_ASSERT_EQUAL(chain->run[i].n_outstanding, 0);
    CU_ASSERT_EQUAL(chain->run[i].n_waiting, 0);
    for (uint32_t k = 0; k < N_REPLICAS; k++) {
      CU_ASSERT_EQUAL(chain->run[i].tokens[k], 0);
      CU_ASSERT_EQUAL(chain->run[i].replicas[k].used, 0);
    }
  }
  close_chain(chain);
}

static bool same_results(const struct hr_service_result *a, const struct hr_service_result *b) {
  const size_t n = a->count;
  return n == b->count && a->iterations == b->iterations && a->received == b->received &&
         memcmp(a->busy_us, b->busy_us, N_REPLICAS * sizeof *a->busy_us) == 0 &&
         memcmp(a->replica, b->replica, n * sizeof *a->replica) == 0 &&
         memcmp(a->scheduled_us, b->scheduled_us, n * sizeof *a->scheduled_us) == 0 &&
         memcmp(a->first_token_us, b->first_token_us, n * sizeof *a->first_token_us) == 0 &&
         memcmp(a->end_us, b->end_us, n * sizeof *a->end_us) == 0 &&
         memcmp(a->restarts, b->restarts, n * sizeof *a->restarts) == 0 && memcmp(a->state, b->state, n) == 0;
}

/* Returns the number of requests that are lost, wait too long, or arrive in the wrong order. */
static uint32_t count_bad(const struct chain *chain) {
  uint32_t n_bad = 0, n_spilled = 0;
  for (uint32_t i = 0; i < chain->count; i++) {
    const struct hr_service_result *result = &chain->result[i];
    const struct hr_service_requests *requests = i ? &chain->received[i] : &chain->requests[i];
    const int64_t timeout_us = chain->spec[i].queue.timeout_us;
    n_bad += result->count != chain->requests[i].count + n_spilled;
    n_spilled = count_in(result, HR_REQUEST_SPILLED);
    n_bad += result->count != count_in(result, HR_REQUEST_COMPLETED) + count_in(result, HR_REQUEST_REFUSED) +
                                  count_in(result, HR_REQUEST_TIMED_OUT) + n_spilled;
    for (uint32_t k = 0; k < result->count; k++) {
      const int64_t wait_us = result->scheduled_us[k] - requests->arrival_us[k];
      n_bad += timeout_us && result->state[k] == HR_REQUEST_COMPLETED && wait_us > timeout_us;
      n_bad += result->state[k] == HR_REQUEST_TIMED_OUT && result->end_us[k] != requests->arrival_us[k] + timeout_us;
      n_bad += k > 0 && requests->arrival_us[k] < requests->arrival_us[k - 1];
    }
  }
  return n_bad;
}

/* Random services with limits, timeouts, spill-over, and replicas that are added and removed. The results are the same
   if the services simulate each iteration singly (`steps`), and if they are advanced in many small parts. Every request
   has exactly one end. */
static void random_worlds(void) {
  uint64_t state = 1;
  uint32_t n_different = 0, n_bad = 0, n_of[HR_REQUEST_SPILLED + 1] = {0};
  const uint32_t n_worlds = test_argument(1, 10000);
  for (uint32_t w = 0; w < n_worlds; w++) {
    static struct world world;
    static struct chain skipped, stepped, parts;
    draw_world(&state, &world);
    run_world(&skipped, &world, false, false);
    run_world(&stepped, &world, true, false);
    run_world(&parts, &world, false, true);
    for (uint32_t i = 0; i < skipped.count; i++) {
      n_different += !same_results(&skipped.result[i], &stepped.result[i]);
      n_different += !same_results(&skipped.result[i], &parts.result[i]);
      for (uint32_t k = 0; k < skipped.result[i].count; k++) n_of[skipped.result[i].state[k]]++;
    }
    n_bad += count_bad(&skipped);
    finish_chain(&skipped);
    finish_chain(&stepped);
    finish_chain(&parts);
  }
  CU_ASSERT_EQUAL(n_different, 0);
  CU_ASSERT_EQUAL(n_bad, 0);
  CU_ASSERT_TRUE(n_of[HR_REQUEST_REFUSED] > n_worlds && n_of[HR_REQUEST_TIMED_OUT] > n_worlds &&
                 n_of[HR_REQUEST_SPILLED] > n_worlds && n_of[HR_REQUEST_COMPLETED] > n_worlds);
}

TEST_MAIN("queues of services", TEST(limit), TEST(timeout), TEST(blocked), TEST(router_queue), TEST(closed_forms),
          TEST(first_available), TEST(weighted), TEST(spill_to_market), TEST(spill_to_service),
          TEST(spill_of_cold_service), TEST(random_worlds))
