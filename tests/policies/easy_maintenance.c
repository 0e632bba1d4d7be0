/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The backfill `easy` with planned maintenance, compared with a naive scheduler in random worlds. The naive scheduler
 * has a list of running jobs, and examines each node in each second at which capacity can change. It shares no code
 * with Headroom.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/faults.h"

#include <string.h>

#define S HR_SECOND_US

enum { POOLS = 2, NODES = 4, JOBS = 24, WINDOWS = 2, HORIZON_S = 3000, NO_TIME_S = 10 * HORIZON_S };

struct world {
  struct hr_pool_spec pools[POOLS];
  struct hr_maintenance windows[POOLS][WINDOWS];
  uint32_t n_pools, n_jobs, gpus[JOBS];
  int64_t submit_us[JOBS], work_us[JOBS], limit_us[JOBS];
};

/* ---- The naive scheduler; times are in seconds ---- */

struct placing {
  int pool; /* -1: none */
  int gpus[NODES];
};

struct naive {
  const struct world *world;
  int64_t now, start[JOBS], limit[JOBS], work[JOBS], end[JOBS];
  bool waits[JOBS], runs[JOBS], over[JOBS];
  struct placing at[JOBS];
  int head;
  int64_t reserved;
  /* number of times that the rules of windows and reservations had an effect */
  uint64_t moved_heads, other_nodes, delayed;
};

static int nodes_of(const struct naive *naive, int pool) {
  return (int)naive->world->pools[pool].nodes;
}

static int size_of(const struct naive *naive, int pool) {
  return (int)naive->world->pools[pool].gpus_per_node;
}

/* Returns the number of the window of a node that contains the second `at`, and sets `*end` to the end of this window.
   Returns -1 if no window contains it. `lead`: the lead time is part of the window. */
static int window_at(const struct naive *naive, int pool, int node, int64_t at, bool lead, int64_t *end) {
  const struct hr_pool_spec *spec = &naive->world->pools[pool];
  for (uint32_t w = 0; w < spec->n_maintenance; w++) {
    const struct hr_maintenance *window = &naive->world->windows[pool][w];
    int64_t step = (window->lead_us + window->duration_us) / S;
    int64_t begin = window->start_us / S + node / (int)window->group_nodes * step;
    for (; begin - window->lead_us / S <= at; begin += window->repeat_us / S) {
      *end = begin + window->duration_us / S;
      if (at >= begin - (lead ? window->lead_us / S : 0) && at < *end) return (int)w;
      if (!window->repeat_us) break;
    }
  }
  return -1;
}

/* Returns whether a job with this limit must avoid a window. If the limit exceeds the time between two repetitions, it
   cannot. */
static bool avoids(const struct naive *naive, int pool, int w, int64_t limit) {
  const struct hr_maintenance *window = &naive->world->windows[pool][w];
  return !window->repeat_us || limit <= (window->repeat_us - window->duration_us) / S;
}

/* Returns the GPUs of a node that a job with this limit can use in all of [from, from + limit), as expected now.
   Without windows, capacity only grows. Nodes that are out of service now return at the end of the maintenance. */
static int free_from(const struct naive *naive, int pool, int node, int64_t from, int64_t limit) {
  int64_t end, back;
  for (int64_t at = from; at < from + limit; at++) {
    int w = window_at(naive, pool, node, at, false, &end);
    if (w >= 0 && avoids(naive, pool, w, limit)) return 0;
  }
  bool gone = window_at(naive, pool, node, naive->now, true, &back) >= 0;
  if (gone) return from < back ? 0 : size_of(naive, pool);
  int free = size_of(naive, pool);
  for (int job = 0; job < JOBS; job++)
    if (naive->runs[job] && naive->at[job].pool == pool && naive->start[job] + naive->limit[job] > from)
      free -= naive->at[job].gpus[node];
  return free;
}

/* The placement rule first-fit. */
static struct placing place(const struct naive *naive, int free[POOLS][NODES], int gpus) {
  struct placing placing = {-1, {0}};
  bool single = false;
  for (int pool = 0; pool < (int)naive->world->n_pools; pool++) single = single || size_of(naive, pool) >= gpus;
  for (int pool = 0; pool < (int)naive->world->n_pools && placing.pool < 0; pool++) {
    int size = size_of(naive, pool), whole = single ? 0 : gpus / size, rest = single ? gpus : gpus % size;
    if (single && size < gpus) continue;
    memset(placing.gpus, 0, sizeof placing.gpus);
    for (int node = 0; node < nodes_of(naive, pool); node++)
      if (whole > 0 && free[pool][node] == size) {
        placing.gpus[node] = size;
        whole--;
      }
    for (int node = 0; node < nodes_of(naive, pool) && rest > 0; node++)
      if (!placing.gpus[node] && free[pool][node] >= rest) {
        placing.gpus[node] = rest;
        rest = 0;
      }
    if (whole == 0 && rest == 0) placing.pool = pool;
  }
  return placing;
}

/* Finds a placement for a job in the capacity that is free in all of [from, from + length). */
static struct placing place_at(const struct naive *naive, int job, int64_t from, int64_t length) {
  int free[POOLS][NODES] = {{0}};
  for (int pool = 0; pool < (int)naive->world->n_pools; pool++)
    for (int node = 0; node < nodes_of(naive, pool); node++)
      free[pool][node] = free_from(naive, pool, node, from, length);
  return place(naive, free, (int)naive->world->gpus[job]);
}

/* Returns the earliest second at which `job` fits, or NO_TIME_S. Capacity increases only when a job or a window
   ends. */
static int64_t earliest(const struct naive *naive, int job) {
  for (int64_t at = naive->now; at < HORIZON_S; at++) {
    bool may_grow = at == naive->now;
    int64_t end;
    for (int other = 0; other < JOBS; other++)
      may_grow = may_grow || (naive->runs[other] && naive->start[other] + naive->limit[other] == at);
    for (int pool = 0; pool < (int)naive->world->n_pools; pool++)
      for (int node = 0; node < nodes_of(naive, pool); node++)
        may_grow = may_grow || (window_at(naive, pool, node, at - 1, false, &end) >= 0 && end == at);
    if (may_grow && place_at(naive, job, at, naive->limit[job]).pool >= 0) return at;
  }
  return NO_TIME_S;
}

static void begin(struct naive *naive, int job, struct placing placing) {
  naive->waits[job] = false;
  naive->runs[job] = true;
  naive->start[job] = naive->now;
  naive->at[job] = placing;
}

/* Returns whether a job may run at a placement without a delay of the head, the first waiting job, which has a
   reservation. */
static bool leaves_head(struct naive *naive, int job, struct placing placing) {
  if (naive->head < 0 || naive->now + naive->limit[job] <= naive->reserved) return true;
  int64_t start = naive->start[job];
  begin(naive, job, placing);
  bool fits = place_at(naive, naive->head, naive->reserved, naive->limit[naive->head]).pool >= 0;
  naive->runs[job] = false;
  naive->waits[job] = true;
  naive->start[job] = start;
  return fits;
}

static void naive_pass(struct naive *naive) {
  naive->head = -1;
  for (int job = 0; job < (int)naive->world->n_jobs; job++) {
    if (!naive->waits[job]) continue;
    struct placing first = place_at(naive, job, naive->now, 0),
                   clear = place_at(naive, job, naive->now, naive->limit[job]);
    bool is_same = memcmp(&first, &clear, sizeof first) == 0;
    bool may = first.pool >= 0 && clear.pool >= 0;
    if (may && leaves_head(naive, job, first) && leaves_head(naive, job, clear)) {
      /* windows can force the rule to use other nodes */
      naive->other_nodes += !is_same;
      begin(naive, job, clear);
    } else if (naive->head < 0) {
      naive->reserved = earliest(naive, job);
      naive->head = naive->reserved > naive->now ? job : -1;
      naive->moved_heads += first.pool >= 0;
    } else {
      naive->delayed += may;
    }
  }
}

static void naive_run(struct naive *naive) {
  const struct world *world = naive->world;
  for (int64_t t = 0; t < HORIZON_S; t++) {
    bool any = false;
    naive->now = t;
    for (int job = 0; job < (int)world->n_jobs; job++)
      if (naive->runs[job] && naive->start[job] + naive->work[job] == t) {
        naive->runs[job] = false;
        naive->over[job] = any = true;
        naive->end[job] = t;
      }
    for (int job = 0; job < (int)world->n_jobs; job++) {
      int64_t end;
      bool stops = false;
      for (int node = 0; naive->runs[job] && node < nodes_of(naive, naive->at[job].pool); node++)
        stops =
            stops || (naive->at[job].gpus[node] && window_at(naive, naive->at[job].pool, node, t, false, &end) >= 0);
      if (!stops) continue;
      naive->runs[job] = false;
      naive->waits[job] = any = true;
    }
    for (int pool = 0; pool < (int)world->n_pools; pool++)
      for (int node = 0; node < nodes_of(naive, pool); node++) {
        int64_t end;
        any = any || (window_at(naive, pool, node, t - 1, true, &end) < 0) !=
                         (window_at(naive, pool, node, t, true, &end) < 0);
      }
    for (int job = 0; job < (int)world->n_jobs; job++)
      if (world->submit_us[job] == t * S) naive->waits[job] = any = true;
    if (any) naive_pass(naive);
    bool all = true;
    for (int job = 0; job < (int)world->n_jobs; job++) all = all && naive->over[job];
    if (all) return;
  }
}

/* ---- Worlds ---- */

static uint32_t below(struct hr__stream *stream, uint32_t bound) {
  return (uint32_t)(hr__stream_uniform(stream) * bound);
}

static void make_pool(struct world *world, uint32_t number, struct hr__stream *stream) {
  static char name[] = "p", gpu[] = "A100";
  struct hr_pool_spec *pool = &world->pools[number];
  *pool = (struct hr_pool_spec){.name = name,
                                .gpu = gpu,
                                .nodes = 1 + below(stream, NODES),
                                .gpus_per_node = 1 + below(stream, 4),
                                .market = {.to_us = HR_NEVER_US},
                                .maintenance = world->windows[number]};
  uint32_t other;
  do {
    pool->n_maintenance = number == 0 ? 1 + below(stream, WINDOWS) : below(stream, WINDOWS + 1);
    for (uint32_t w = 0; w < WINDOWS; w++) {
      struct hr_maintenance *window = &world->windows[number][w];
      window->lead_us = (int64_t)(below(stream, 2) * below(stream, 12)) * S;
      window->start_us = window->lead_us + (int64_t)(1 + below(stream, 300)) * S;
      window->repeat_us = w == 0 && below(stream, 2) ? (int64_t)(100 + below(stream, 150)) * S : 0;
      window->duration_us = (int64_t)(1 + below(stream, 25)) * S;
      window->group_nodes = 1 + below(stream, pool->nodes);
      window->max_unavailable = HR_NONE;
      window->drain = HR_DRAIN_DEADLINE_KILL;
    }
  } while (hr_maintenance_overlap(pool, &other) != HR_NONE);
}

static void make_world(struct world *world, struct hr__stream *stream) {
  *world = (struct world){.n_pools = 1 + below(stream, POOLS), .n_jobs = JOBS};
  uint32_t most = 0;
  for (uint32_t i = 0; i < world->n_pools; i++) {
    make_pool(world, i, stream);
    uint32_t gpus = world->pools[i].nodes * world->pools[i].gpus_per_node;
    if (world->pools[i].gpus_per_node > most) most = world->pools[i].gpus_per_node;
    if (i == 0 && gpus > most) most = gpus;
  }
  uint32_t gap = 1 + below(stream, 30), longest = 20 + below(stream, 100);
  for (uint32_t i = 0; i < JOBS; i++) {
    world->submit_us[i] = (i ? world->submit_us[i - 1] : 0) + (int64_t)below(stream, gap) * S;
    world->work_us[i] = (int64_t)(1 + below(stream, 60)) * S;
    world->limit_us[i] = world->work_us[i] + (int64_t)(below(stream, 2) * below(stream, longest)) * S;
    world->gpus[i] = 1 + below(stream, below(stream, 2) && most > 2 ? most : most > 1 ? 2 : 1);
  }
}

static struct hr_result *run(const struct world *world) {
  struct hr_trace trace = {.source = "test",
                           .n_jobs = world->n_jobs,
                           .submit_us = world->submit_us,
                           .work_us = world->work_us,
                           .limit_us = world->limit_us,
                           .gpus = world->gpus};
  struct hr_cluster_spec cluster = {.pools = (struct hr_pool_spec *)world->pools, .n_pools = world->n_pools};
  struct hr_policy_choice choice = {0};
  struct hr_result *result = NULL;
  struct hr_error error = {0};
  struct hr_class_spec classes[HR_N_CLASSES] = {{0}};
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "easy", &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, "placement", "first-fit", &error), HR_OK);
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .horizon_us = (int64_t)HORIZON_S * S,
                                 .check = true,
                                 .classes = classes};
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) fprintf(stderr, "%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  hr_policy_choice_finish(&choice);
  return result;
}

static void starts_are_those_of_a_naive_scheduler(void) {
  enum { WORLDS = 320 };
  uint64_t moved_heads = 0, other_nodes = 0, delayed = 0, stopped = 0;
  for (uint32_t number = 0; number < WORLDS; number++) {
    struct hr__stream stream;
    struct world world;
    hr__stream_init(&stream, 7, HR__PURPOSE_SAMPLE, number, 0);
    make_world(&world, &stream);
    static struct naive naive;
    naive = (struct naive){.world = &world};
    for (uint32_t i = 0; i < world.n_jobs; i++) {
      naive.work[i] = world.work_us[i] / S;
      naive.limit[i] = world.limit_us[i] / S;
    }
    naive_run(&naive);
    struct hr_result *result = run(&world);
    bool equal = true;
    for (uint32_t i = 0; i < world.n_jobs && equal; i++) {
      const struct hr_job_accounting job = hr_result_accounting(result, (hr_job){i});
      equal = naive.over[i] ? job.end_us == naive.end[i] * S : job.end_us == HR_NEVER_US;
      if (!equal) fprintf(stderr, "world %u: job %u ends at %.0f s\n", number, i, (double)job.end_us / 1e6);
    }
    CU_ASSERT_FATAL(equal);
    moved_heads += naive.moved_heads;
    other_nodes += naive.other_nodes;
    delayed += naive.delayed;
    for (uint32_t i = 0; i < world.n_pools; i++) stopped += result->pools[i].maintained_jobs;
    hr_result_destroy(result);
  }
  CU_ASSERT(moved_heads > 1000); /* number of jobs that fit, but wait at the head of the queue because of maintenance */
  CU_ASSERT(other_nodes > 200);
  CU_ASSERT(delayed > 2000);
  CU_ASSERT(stopped > 20);
}

TEST_MAIN("Reservations of easy with maintenance", TEST(starts_are_those_of_a_naive_scheduler))
