/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes of the replicas of a running service: replicas that are added, drained and killed, in cases computed by hand
   and in random worlds. Two parts are compared with simpler code: the tournament tree, which finds the entry with the
   least key (base/tournament.h), and the "prices" of iterations, which are their durations.

   In all cases computed by hand, an iteration takes 100 us, plus 10 us for each prompt token, plus 5 us for each
   sequence that decodes. */

#include "harness.h"
#include "sim/services/service.h"

#include <string.h>

static struct hr_service service_of(enum hr_service_engine engine) {
  static char name[] = "s";
  return (struct hr_service){
      .name = name,
      .gpus = 1,
      .engine = engine,
      .limits = {.max_sequences = 4, .max_batch_tokens = 100, .chunk_tokens = 100, .block_tokens = 4, .kv_blocks = 50},
      .cost = {100, 10, 5, 0, true}};
}

static struct hr__service_run open_service(const struct hr_service *spec, const struct hr_service_requests *requests,
                                           uint32_t n_replicas, bool steps, struct hr_service_result *result) {
  const struct hr__service_config config = {
      .spec = spec, .requests = requests, .n_replicas = n_replicas, .seed = 1, .steps = steps};
  struct hr__service_run service;
  CU_ASSERT_EQUAL_FATAL(hr__service_open(&service, &config, result, NULL), HR_OK);
  return service;
}

static void close_service(struct hr__service_run *service, struct hr_service_result *result) {
  CU_ASSERT_EQUAL(hr__service_close(service, NULL), HR_OK);
  hr_service_result_finish(result);
}

/* Requests that arrive before a replica is ready wait for it. */
static void wait_for_replica(void) {
  const struct hr_service spec = service_of(HR_SERVICE_VLLM_V1);
  const struct hr_service_requests requests = {2, (int64_t[]){7, 8}, (uint32_t[]){10, 10}, (uint32_t[]){1, 1}};
  struct hr_service_result result;
  struct hr__service_run service = open_service(&spec, &requests, 1, false, &result);
  hr__service_advance(&service, 1000);
  CU_ASSERT_EQUAL(result.replica[0], HR_NONE);
  CU_ASSERT_EQUAL(hr__service_next_us(&service), HR_NEVER_US);
  hr__service_add(&service, 0);
  CU_ASSERT_EQUAL(hr__service_wake_us(&service, 0), 1300);
  hr__service_advance(&service, HR_NEVER_US);
  /* both prompts in one iteration: 100 + 20 x 10 */
  CU_ASSERT_EQUAL(result.scheduled_us[1], 1000);
  CU_ASSERT_EQUAL(result.end_us[0], 1300);
  CU_ASSERT_EQUAL(result.end_us[1], 1300);
  /* the requests are outstanding from 7 us and from 8 us to 1,300 us */
  CU_ASSERT_TRUE(service.outstanding_ticks == (hr_amount)(1293 + 1292) << HR__TICK_BITS);
  close_service(&service, &result);
}

/* The drained replica completes its request, at 200 + 2 x 105 us. The later requests, at 60 us, go to the other
   replica, which computes both prompts in one iteration of 300 us. */
static void drained(void) {
  const struct hr_service spec = service_of(HR_SERVICE_VLLM_V1);
  const struct hr_service_requests requests = {3, (int64_t[]){0, 60, 60}, (uint32_t[]){10, 10, 10},
                                               (uint32_t[]){3, 1, 1}};
  struct hr_service_result result;
  struct hr__service_run service = open_service(&spec, &requests, 2, false, &result);
  hr__service_add(&service, 1);
  hr__service_add(&service, 0);
  hr__service_advance(&service, 50);
  hr__service_drain(&service, 0);
  CU_ASSERT_FALSE(hr__service_is_idle(&service, 0));
  hr__service_advance(&service, 411);
  CU_ASSERT_TRUE(hr__service_is_idle(&service, 0));
  hr__service_advance(&service, HR_NEVER_US);
  CU_ASSERT_EQUAL(result.replica[0], 0);
  CU_ASSERT_EQUAL(result.end_us[0], 410);
  CU_ASSERT_EQUAL(result.replica[1], 1);
  CU_ASSERT_EQUAL(result.end_us[2], 360);
  close_service(&service, &result);
}

/* The first token is complete at 200 us. The replica is lost at 250 us. The other replica computes 10 + 1 tokens
   again, which produces the second token at 250 + 100 + 110 us. The third token follows 105 us later. */
static void killed(void) {
  for (int engine = 0; engine <= HR_SERVICE_ORCA_SPLITWISE; engine++) {
    const struct hr_service spec = service_of((enum hr_service_engine)engine);
    const struct hr_service_requests requests = {1, (int64_t[]){0}, (uint32_t[]){10}, (uint32_t[]){3}};
    struct hr_service_result result;
    struct hr__service_run service = open_service(&spec, &requests, 2, false, &result);
    hr__service_add(&service, 0);
    hr__service_add(&service, 1);
    hr__service_advance(&service, 250);
    hr__service_kill(&service, 0);
    CU_ASSERT_EQUAL(service.outstanding[0], 0);
    CU_ASSERT_EQUAL(service.tokens[0], 0);
    hr__service_advance(&service, HR_NEVER_US);
    CU_ASSERT_EQUAL(result.replica[0], 1);
    CU_ASSERT_EQUAL(result.first_token_us[0], 200);
    CU_ASSERT_EQUAL(result.end_us[0], 565);
    CU_ASSERT_EQUAL(result.restarts[0], 1);
    CU_ASSERT_EQUAL(service.tokens[1], 0);
    CU_ASSERT_EQUAL(hr__service_close(&service, NULL), HR_OK);
    CU_ASSERT_EQUAL(result.recomputed_tokens, 11);
    CU_ASSERT_EQUAL(result.busy_us[0], 250);
    CU_ASSERT_EQUAL(result.busy_us[1], 315);
    hr_service_result_finish(&result);
  }
}

/* ---- Random worlds ---- */

static uint32_t below(uint64_t *state, uint32_t n) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((*state >> 33) % n);
}

enum { MOST_REQUESTS = 30, N_REPLICAS = 3, N_CHANGES = 12 };

struct world {
  struct hr_service spec;
  int64_t arrival_us[MOST_REQUESTS];
  uint32_t prompts[MOST_REQUESTS], outputs[MOST_REQUESTS], count;
  int64_t change_us[N_CHANGES];
  uint32_t what[N_CHANGES]; /* 2 * replica + (0: kill, 1: drain); see `change` */
};

static void draw_world(uint64_t *state, struct world *world) {
  /* only engines in which sequences cannot block each other */
  world->spec = service_of((enum hr_service_engine)below(state, HR_SERVICE_ORCA));
  world->spec.router = (enum hr_service_router)below(state, HR_N_SERVICE_ROUTERS);
  world->spec.limits.kv_blocks = 30 + below(state, 20);
  world->spec.limits.max_sequences = 1 + below(state, 6);
  world->spec.cost = (struct hr_service_cost){below(state, 50), below(state, 10), 1 + below(state, 5),
                                              below(state, 2) * 333.3, below(state, 2)};
  world->count = 1 + below(state, MOST_REQUESTS);
  int64_t at_us = 0;
  for (uint32_t i = 0; i < world->count; i++) {
    world->arrival_us[i] = at_us += below(state, 2) * below(state, 600);
    world->prompts[i] = 1 + below(state, 50);
    world->outputs[i] = 1 + below(state, 50);
  }
  at_us = 0;
  for (uint32_t i = 0; i < N_CHANGES; i++) {
    world->change_us[i] = at_us += below(state, 1500);
    world->what[i] = 2 * below(state, N_REPLICAS) + below(state, 2);
  }
}

/* Changes the replica with the number what / 2:
   - If the replica is idle and not ready, adds it.
   - If it is ready and `what` is odd, drains it.
   - In all other cases, kills it. */
static void change(struct hr__service_run *service, uint32_t what) {
  const uint32_t number = what / 2;
  bool is_ready = false;
  for (uint32_t i = 0; i < service->n_ready; i++) is_ready |= service->ready[i] == number;
  if (!is_ready && hr__service_is_idle(service, number))
    hr__service_add(service, number);
  else if (what % 2 && is_ready)
    hr__service_drain(service, number);
  else
    hr__service_kill(service, number);
}

static struct hr_service_result run_world(const struct world *world, bool steps, bool in_parts) {
  const struct hr_service_requests requests = {world->count, (int64_t *)(uintptr_t)world->arrival_us,
                                               (uint32_t *)(uintptr_t)world->prompts,
                                               (uint32_t *)(uintptr_t)world->outputs};
  struct hr_service_result result;
  struct hr__service_run service = open_service(&world->spec, &requests, N_REPLICAS, steps, &result);
  int64_t at_us = 0;
  for (uint32_t i = 0; i < N_CHANGES; i++) {
    for (; in_parts && at_us < world->change_us[i]; at_us += 37) hr__service_advance(&service, at_us);
    hr__service_advance(&service, world->change_us[i]);
    change(&service, world->what[i]);
  }
  if (!service.n_ready) {
    if (!hr__service_is_idle(&service, 0)) hr__service_kill(&service, 0);
    hr__service_add(&service, 0);
  }
  hr__service_advance(&service, HR_NEVER_US);
  CU_ASSERT_EQUAL(service.n_outstanding, 0);
  for (uint32_t i = 0; i < N_REPLICAS; i++) {
    CU_ASSERT_EQUAL(service.outstanding[i], 0);
    CU_ASSERT_EQUAL(service.tokens[i], 0);
    CU_ASSERT_EQUAL(service.replicas[i].used, 0);
  }
  CU_ASSERT_EQUAL(hr__service_close(&service, NULL), HR_OK);
  return result;
}

static bool same_results(const struct hr_service_result *a, const struct hr_service_result *b) {
  const size_t n = a->count;
  return a->iterations == b->iterations && a->recomputed_tokens == b->recomputed_tokens &&
         memcmp(a->busy_us, b->busy_us, N_REPLICAS * sizeof *a->busy_us) == 0 &&
         memcmp(a->replica, b->replica, n * sizeof *a->replica) == 0 &&
         memcmp(a->scheduled_us, b->scheduled_us, n * sizeof *a->scheduled_us) == 0 &&
         memcmp(a->first_token_us, b->first_token_us, n * sizeof *a->first_token_us) == 0 &&
         memcmp(a->end_us, b->end_us, n * sizeof *a->end_us) == 0 &&
         memcmp(a->restarts, b->restarts, n * sizeof *a->restarts) == 0 && memcmp(a->state, b->state, n) == 0;
}

/* All requests are completed although replicas are added and removed. The results are the same if the service simulates
   each iteration singly (`steps`), and if it is advanced in many small parts. */
static void random_changes(void) {
  uint64_t state = 1;
  uint32_t n_different = 0, n_restarts = 0, n_incomplete = 0;
  for (uint32_t w = 0; w < test_argument(1, 10000); w++) {
    struct world world;
    draw_world(&state, &world);
    struct hr_service_result skipped = run_world(&world, false, false), stepped = run_world(&world, true, false);
    struct hr_service_result parts = run_world(&world, false, true);
    n_different += !same_results(&skipped, &stepped) || !same_results(&skipped, &parts);
    for (uint32_t i = 0; i < world.count; i++) {
      n_restarts += skipped.restarts[i];
      n_incomplete += skipped.state[i] == HR_REQUEST_UNFINISHED;
    }
    hr_service_result_finish(&skipped);
    hr_service_result_finish(&stepped);
    hr_service_result_finish(&parts);
  }
  CU_ASSERT_EQUAL(n_different, 0);
  CU_ASSERT_EQUAL(n_incomplete, 0);
  CU_ASSERT_TRUE(n_restarts > 1000);
}

/* ---- Tournaments ---- */

/* After each change of a key, hr__tournament_first returns the lowest number among the entries with the minimum key. */
static void tournaments(void) {
  uint64_t state = 5;
  uint32_t n_different = 0;
  for (uint32_t n = 1; n <= 70; n++) {
    struct hr__tournament all;
    int64_t key[70];
    for (uint32_t i = 0; i < n; i++) key[i] = HR__NO_KEY;
    CU_ASSERT_TRUE_FATAL(hr__tournament_open(&all, n));
    for (uint32_t k = 0; k < 1000; k++) {
      const uint32_t number = below(&state, n), what = below(&state, 10);
      key[number] = what ? below(&state, 1 + n / 2) + (what == 1 ? INT64_C(1) << 40 : 0) : HR__NO_KEY;
      hr__tournament_set(&all, number, key[number]);
      uint32_t best = 0;
      for (uint32_t i = 1; i < n; i++)
        if (key[i] < key[best]) best = i;
      n_different += hr__tournament_first(&all) != best || hr__tournament_least(&all) != key[best];
    }
    hr__tournament_close(&all);
  }
  CU_ASSERT_EQUAL(n_different, 0);
}

/* ---- Prices ---- */

/* Adds up the durations of iterations one by one. The first iteration is always added, if `most` is not 0. More
   iterations are added until the sum has reached `until_ticks` or `most` iterations were added. */
static struct hr__price_run sum_slowly(const struct hr__price *price, uint32_t most, int64_t until_ticks) {
  struct hr__price_run run = {0};
  for (; run.count < most && (run.count == 0 || run.sum_ticks < until_ticks); run.count++) {
    const uint64_t first = price->first_quotient * price->divisor + price->first_rest;
    const uint64_t step = price->step_quotient * price->divisor + price->step_rest;
    run.last_ticks = price->base_ticks + price->unit_ticks * (int64_t)((first + run.count * step) / price->divisor);
    run.sum_ticks += run.last_ticks;
  }
  return run;
}

static struct hr_service_cost draw_cost(uint64_t *state) {
  const double parts = below(state, 2) ? 1 : 7;
  return (struct hr_service_cost){below(state, 9000) / parts, below(state, 100) / parts, below(state, 100) / parts,
                                  below(state, 3) * below(state, 1000) / parts, below(state, 2)};
}

/* hr__price_sum, which uses a formula for many iterations, returns the same sum as single iterations, also if the sum
   is bounded. Costs that are whole numbers give the same times in integer and in floating-point arithmetic. */
static void sums_of_prices(void) {
  uint64_t state = 3;
  uint32_t n_different = 0, n_whole = 0;
  for (uint32_t k = 0; k < 20000; k++) {
    const struct hr_service_cost cost = draw_cost(&state);
    const struct hr__batch_load load = {.prompts = below(&state, 2) * below(&state, 9000),
                                        .decodes = below(&state, 300),
                                        .context = below(&state, 1 << 20)};
    struct hr__pricing pricing = hr__pricing_of(&cost);
    struct hr__price price, rounded;
    hr__price_set(&price, &pricing, &load, load.decodes);
    n_whole += pricing.is_whole;
    pricing.is_whole = false;
    hr__price_set(&rounded, &pricing, &load, load.decodes);
    n_different += memcmp(&price, &rounded, sizeof price) != 0;
    const uint32_t most = 1 + below(&state, below(&state, 4) ? 100 : 2000);
    const struct hr__price_run all = sum_slowly(&price, most, INT64_MAX);
    const int64_t until_ticks =
        below(&state, 3) ? (int64_t)((double)all.sum_ticks * below(&state, 1100) / 1000) : INT64_MAX;
    const struct hr__price_run slow = sum_slowly(&price, most, until_ticks);
    const struct hr__price_run fast = hr__price_sum(&price, most, until_ticks);
    n_different += slow.count != fast.count || slow.sum_ticks != fast.sum_ticks || slow.last_ticks != fast.last_ticks;
  }
  CU_ASSERT_EQUAL(n_different, 0);
  CU_ASSERT_TRUE(n_whole > 5000 && n_whole < 15000);
}

TEST_MAIN("changes of replicas", TEST(tournaments), TEST(sums_of_prices), TEST(wait_for_replica), TEST(drained),
          TEST(killed), TEST(random_changes))
