/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The model of Slurm and a slow model must plan the same starts on the same nodes in small random worlds. The worlds
 * have nodes of different sizes, running jobs, some of which exceed their limits, waiting jobs that may use only some
 * nodes, and licences. A second test checks the order of the queue of waiting jobs.
 */

#include "base/containers.h"
#include "harness.h"
#include "naive_slurm.h"
#include "policies/slurm/slurm.h"

#include <string.h>

enum {
  WORLDS = 10000,
  SEED = 20261126,
  MAX_NODES = 130,
  MAX_JOBS = 40,
  MAX_SLOTS = 2 * MAX_JOBS + 2,
  WORDS = 3,
  SCOPES = 4
};

/* A random world, and both models of it. */
struct slurm_world {
  uint32_t number;
  uint64_t draw;
  struct hr_arena arena;
  uint32_t n_nodes, gpus[MAX_NODES], used[MAX_NODES], future[MAX_NODES], chosen[MAX_NODES];
  struct hr__slurm_shape shapes[2 * MAX_JOBS]; /* of the waiting jobs, then of the running ones */
  int64_t cpu_milli[MAX_NODES], mem_mib[MAX_NODES];
  bool is_limited; /* whether CPUs and memory of nodes are limited */
  uint32_t n_running, n_queued, licenses[2];
  uint64_t usable[MAX_JOBS][WORDS];
  uint32_t memory[2][2 * MAX_JOBS][MAX_NODES];
  struct hr__slurm_running running[2 * MAX_JOBS];
  struct hr__slurm_nodes nodes;
  struct naive_nodes naive;
  struct hr__slurm_queued queue[MAX_JOBS];
  struct hr__slurm_planned planned[2][MAX_JOBS];
  uint64_t started[2][MAX_JOBS][WORDS]; /* the nodes of jobs that were started, by model */
  struct hr__slurm_backfill_limits limits;
  int64_t now_us;
};

static uint32_t below(struct slurm_world *world, uint32_t bound) {
  return hr_random_below(SEED, world->number, world->draw++, bound);
}

/* ---- The world -------------------------------------------------------------------------------------- */

static struct hr__slurm_shape draw_shape(struct slurm_world *world) {
  uint32_t gpus = 1 + below(world, 4), nodes = below(world, 2) ? 1 : 1 + below(world, 1 + world->n_nodes / 2);
  uint32_t last = nodes > 1 && below(world, 3) == 0 ? 1 + below(world, gpus) : gpus;
  if (!world->is_limited || below(world, 4) == 0) return (struct hr__slurm_shape){nodes, gpus, last, 0, 0, 0};
  return (struct hr__slurm_shape){nodes, gpus, last, below(world, 5) * 1000, below(world, 5) * 1024, 0};
}

/* Starts the same jobs on the same random nodes in both models. */
static void draw_running(struct slurm_world *world) {
  uint32_t n_tries = below(world, MAX_JOBS);
  for (uint32_t i = 0; i < n_tries; i++) {
    const struct hr__slurm_shape shape = draw_shape(world);
    uint64_t set[WORDS];
    for (uint32_t w = 0; w < WORDS; w++) set[w] = UINT64_MAX << below(world, 40);
    if (!naive_select_now(&world->naive, &shape, set)) continue;
    memcpy(world->nodes.chosen, world->chosen, shape.nodes * sizeof *world->chosen);
    int64_t end_us = ((int64_t)below(world, below(world, 2) ? 300 : 30000) - 20) * HR_SECOND_US;
    uint32_t job = MAX_JOBS + world->n_running++;
    naive_nodes_add(&world->naive, job, &shape, end_us, world->memory[0][job]);
    hr__slurm_nodes_add(&world->nodes, job, &shape, end_us, world->memory[1][job]);
  }
}

static void draw_queue(struct slurm_world *world) {
  bool is_restricted = below(world, 3) == 0, is_licensed = below(world, 3) == 0;
  world->n_queued = below(world, MAX_JOBS + 1);
  for (uint32_t i = 0; i < world->n_queued; i++) {
    world->shapes[i] = draw_shape(world);
    for (uint32_t w = 0; w < WORDS; w++)
      world->usable[i][w] = (uint64_t)below(world, UINT32_MAX) << 32 | below(world, UINT32_MAX);
    if (world->n_nodes % 64) world->usable[i][world->n_nodes / 64] &= (UINT64_C(1) << world->n_nodes % 64) - 1;
    for (uint32_t w = (world->n_nodes + 63) / 64; w < WORDS; w++) world->usable[i][w] = 0;
    world->queue[i] = (struct hr__slurm_queued){
        .job = i,
        .priority = below(world, 3),
        .limit_us = (int64_t)below(world, 4000) * HR_SECOND_US,
        .submit_us = -(int64_t)below(world, 100) * HR_SECOND_US,
        .scopes = {below(world, SCOPES), below(world, SCOPES), below(world, SCOPES), below(world, 3) ? HR_NONE : 0},
        .min_nodes = world->shapes[i].nodes,
        .usable = is_restricted && below(world, 2) ? world->usable[i] : NULL,
        .license = below(world, 2),
        .n_licenses = is_licensed ? below(world, 3) : 0};
  }
}

static void limit(struct slurm_world *world) {
  CU_ASSERT_FATAL(hr__slurm_nodes_limit(&world->nodes, &world->arena, 2 * MAX_JOBS));
  for (uint32_t n = 0; n < world->n_nodes; n++) {
    world->nodes.cpu_milli[n] = world->cpu_milli[n] = (int64_t)below(world, 12) * 1000;
    world->nodes.mem_mib[n] = world->mem_mib[n] = (int64_t)below(world, 12) * 1024;
  }
  world->naive.cpu_milli = world->cpu_milli;
  world->naive.mem_mib = world->mem_mib;
}

static void make_world(struct slurm_world *world) {
  static const uint32_t sizes[] = {4, 8, 20, MAX_NODES};
  world->n_nodes = 1 + below(world, sizes[below(world, 4)]);
  for (uint32_t n = 0; n < world->n_nodes; n++) world->gpus[n] = below(world, 5) ? 4 : below(world, 9);
  world->now_us = below(world, 3) ? 0 : (int64_t)below(world, 100000) * 1000;
  int64_t origin_us = (int64_t)below(world, 60) * HR_SECOND_US;
  CU_ASSERT_FATAL(hr__slurm_nodes_create(&world->nodes, &world->arena, world->gpus, world->n_nodes, origin_us));
  world->naive = (struct naive_nodes){.n_nodes = world->n_nodes,
                                      .n_words = (world->n_nodes + 63) / 64,
                                      .gpus = world->gpus,
                                      .used = world->used,
                                      .future = world->future,
                                      .chosen = world->chosen,
                                      .running = world->running,
                                      .origin_us = origin_us};
  world->is_limited = below(world, 3) == 0;
  if (world->is_limited) limit(world);
  draw_running(world);
  draw_queue(world);
  for (unsigned i = 0; i < 2; i++) world->licenses[i] = below(world, 4);
  world->limits = (struct hr__slurm_backfill_limits){
      .origin_us = origin_us,
      .resolution_us = (1 + below(world, 2) * 59) * HR_SECOND_US,
      .window_us = (int64_t)(below(world, 2) ? 86400 : 1 + below(world, 5000)) * HR_SECOND_US,
      .max_job_test = below(world, 3) ? MAX_JOBS : 1 + below(world, MAX_JOBS),
      .max_job_start = below(world, 3) ? 0 : 1 + below(world, 5),
      .min_age_reserve_us = below(world, 3) ? 0 : 50 * HR_SECOND_US,
      .min_prio_reserve = below(world, 3) ? 0 : 2,
      .job_part_count_reserve = below(world, 3) ? 0 : 1 + below(world, 3)};
  for (unsigned s = 0; s < HR__SLURM_N_SCOPES; s++)
    world->limits.max_tests[s] = below(world, 4) ? 0 : 1 + below(world, 8);
}

/* ---- The two models --------------------------------------------------------------------------------- */

static bool find_start(void *self, uint32_t job, int64_t now_us, uint64_t *nodes, int64_t *start_us) {
  struct slurm_world *world = self;
  return hr__slurm_select(&world->nodes, &world->shapes[job], now_us, nodes, start_us);
}

static int64_t earliest(void *self, uint32_t job, const uint64_t *nodes) {
  struct slurm_world *world = self;
  uint64_t all[WORDS];
  memset(all, 0xff, sizeof all);
  if (world->n_nodes % 64) all[world->n_nodes / 64] = (UINT64_C(1) << world->n_nodes % 64) - 1;
  const uint64_t *usable = nodes ? nodes : world->queue[job].usable;
  return hr__slurm_earliest(&world->nodes, &world->shapes[job], usable ? usable : all);
}

static bool start_job(void *self, uint32_t job, const uint64_t *nodes) {
  struct slurm_world *world = self;
  uint64_t set[WORDS] = {0};
  memcpy(set, nodes, world->nodes.n_words * sizeof *set);
  if (!hr__slurm_select_now(&world->nodes, &world->shapes[job], set)) return false;
  memcpy(world->started[0][job], set, sizeof set);
  hr__slurm_nodes_add(&world->nodes, job, &world->shapes[job], world->now_us + world->queue[job].limit_us,
                      world->memory[1][job]);
  return true;
}

static bool naive_find_start(void *self, uint32_t job, int64_t now_us, uint64_t *nodes, int64_t *start_us) {
  struct slurm_world *world = self;
  return naive_select(&world->naive, &world->shapes[job], now_us, nodes, start_us);
}

static bool naive_start_job(void *self, uint32_t job, const uint64_t *nodes) {
  struct slurm_world *world = self;
  uint64_t set[WORDS] = {0};
  memcpy(set, nodes, world->naive.n_words * sizeof *set);
  if (!naive_select_now(&world->naive, &world->shapes[job], set)) return false;
  memcpy(world->started[1][job], set, sizeof set);
  naive_nodes_add(&world->naive, job, &world->shapes[job], world->now_us + world->queue[job].limit_us,
                  world->memory[0][job]);
  return true;
}

static void run_models(struct slurm_world *world) {
  static struct hr__slurm_slot slots[MAX_SLOTS];
  static struct naive_slot naive_slots[MAX_SLOTS];
  static uint64_t nodes[MAX_SLOTS * WORDS], set[WORDS];
  static uint32_t licenses[MAX_SLOTS * 2];
  static uint32_t tests[HR__SLURM_N_SCOPES][SCOPES], part_reserves[SCOPES];
  uint32_t n_words = world->nodes.n_words;
  struct hr__slurm_timeline line = {.slots = slots,
                                    .nodes = nodes,
                                    .licenses = licenses,
                                    .set = set,
                                    .max_slots = MAX_SLOTS,
                                    .n_nodes = world->n_nodes,
                                    .n_words = n_words,
                                    .n_license_kinds = 2,
                                    .tests = {tests[0], tests[1], tests[2], tests[3]},
                                    .part_reserves = part_reserves,
                                    .n_scopes = {SCOPES, SCOPES, SCOPES, SCOPES}};
  const struct hr__slurm_selector selector = {
      .find = find_start, .start = start_job, .earliest = earliest, .self = world};
  hr__slurm_backfill(&line, &world->limits, world->queue, world->n_queued, world->licenses, &selector, world->now_us,
                     world->planned[0]);
  struct naive_timeline naive = {.slots = naive_slots,
                                 .nodes = nodes,
                                 .licenses = licenses,
                                 .set = set,
                                 .max_slots = MAX_SLOTS,
                                 .n_nodes = world->n_nodes,
                                 .n_words = n_words,
                                 .n_license_kinds = 2};
  const struct hr__slurm_selector naive_selector = {.find = naive_find_start, .start = naive_start_job, .self = world};
  naive_backfill(&naive, &world->limits, world->queue, world->n_queued, world->licenses, &naive_selector, world->now_us,
                 world->planned[1]);
}

/* ---- Comparison ------------------------------------------------------------------------------------- */

static void equal_plans_in_random_worlds(void) {
  static struct slurm_world world;
  uint32_t n_different = 0, n_started = 0, n_later = 0, n_never = 0;
  for (uint32_t number = 0; number < WORLDS; number++) {
    world = (struct slurm_world){.number = number};
    make_world(&world);
    run_models(&world);
    bool same = memcmp(world.started[0], world.started[1], sizeof world.started[0]) == 0 &&
                memcmp(world.nodes.used, world.used, world.n_nodes * sizeof *world.used) == 0;
    for (uint32_t i = 0; i < world.n_queued; i++) {
      const struct hr__slurm_planned *planned = &world.planned[0][i], *naive = &world.planned[1][i];
      same = same && planned->start_us == naive->start_us && planned->was_tested == naive->was_tested;
      n_never += planned->start_us == HR_NEVER_US;
      n_started += planned->start_us == world.now_us;
      n_later += planned->start_us > world.now_us && planned->start_us != HR_NEVER_US;
    }
    n_different += !same;
    hr__arena_finish(&world.arena);
  }
  printf("%u jobs started, %u planned, %u never\n", n_started, n_later, n_never);
  CU_ASSERT_EQUAL(n_different, 0);
  CU_ASSERT(n_started > WORLDS && n_later > WORLDS && n_never > WORLDS);
}

/* ---- The queue ---------------------------------------------------------------------------------------- */

enum { QUEUED = 6000, GONE = 1, WAITS = 0 };

/* Returns whether job `a` precedes job `b`: by key, time, and number. */
static bool goes_first(const struct hr__slurm_entry *a, const struct hr__slurm_entry *b) {
  if (a->key != b->key) return a->key > b->key;
  return a->submit_s != b->submit_s ? a->submit_s < b->submit_s : a->job < b->job;
}

/* Reads some entries from the front. Each must precede the next one, and no waiting job may precede the last one. */
static void read_front(struct hr__slurm_waiting *waiting, uint32_t n) {
  for (uint32_t i = 0; i < n && i < waiting->count; i++) {
    hr__slurm_waiting_order(waiting, i + 1);
    if (i) CU_ASSERT_FATAL(goes_first(hr__slurm_waiting_at(waiting, i - 1), hr__slurm_waiting_at(waiting, i)));
  }
  CU_ASSERT_FATAL(waiting->count == 0 || waiting->n_sorted > 0);
  for (uint32_t i = waiting->n_sorted; i < waiting->count; i++)
    CU_ASSERT_FATAL(goes_first(hr__slurm_waiting_at(waiting, waiting->n_sorted - 1), hr__slurm_waiting_at(waiting, i)));
}

/* Adds jobs, changes all keys, reads the front and removes jobs from it, in a random order. */
static void front_of_a_long_queue_is_in_order(void) {
  static uint8_t state[QUEUED];
  static struct slurm_world world;
  struct hr__slurm_waiting waiting = {.arena = &world.arena};
  uint32_t n_jobs = 0, n_waiting = 0;
  while (n_jobs < QUEUED) {
    for (uint32_t n = below(&world, 300); n > 0 && n_jobs < QUEUED; n--, n_jobs++, n_waiting++) {
      const struct hr__slurm_entry entry = {below(&world, 40), (int64_t)below(&world, 50), n_jobs, HR_NONE};
      CU_ASSERT_TRUE_FATAL(hr__slurm_waiting_add(&waiting, &entry));
    }
    if (below(&world, 3) == 0) {
      for (uint32_t i = 0; i < waiting.count; i++) hr__slurm_waiting_at(&waiting, i)->key = below(&world, 40);
      hr__slurm_waiting_sort(&waiting, NULL);
    }
    uint32_t n = below(&world, 5) ? below(&world, 200) : below(&world, 3000);
    read_front(&waiting, n);
    for (uint32_t i = 0; i < n && i < waiting.count; i++) {
      if (below(&world, 4)) continue;
      state[hr__slurm_waiting_at(&waiting, i)->job] = GONE;
      n_waiting--;
    }
    hr__slurm_waiting_sweep(&waiting, n, state, WAITS);
    CU_ASSERT_EQUAL_FATAL(waiting.count, n_waiting);
  }
  CU_ASSERT(n_waiting > 2048);
  read_front(&waiting, n_waiting);
  for (uint32_t i = 0; i < n_waiting; i++) CU_ASSERT_EQUAL_FATAL(state[hr__slurm_waiting_at(&waiting, i)->job], WAITS);
  hr__arena_finish(&world.arena);
}

TEST_MAIN("passes of the model of Slurm", TEST(equal_plans_in_random_worlds), TEST(front_of_a_long_queue_is_in_order))
