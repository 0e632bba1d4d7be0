/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The placement `data-local`, compared with a naive scheduler in random worlds. The naive scheduler simulates the
 * caches of nodes and tries all waiting jobs at each instant. It shares no code with Headroom. Storage systems are so
 * fast that no job waits for data while it runs.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/data.h"

#include <string.h>

#define S HR_SECOND_US
#define GB INT64_C(1000000000)

enum { POOLS = 2, NODES = 4, ALL_NODES = POOLS * NODES, SETS = 3, JOBS = 40, MAX_GPUS = 2, NEVER = 1 << 28 };

struct world {
  uint32_t n_jobs, gpus[JOBS], set[JOBS];
  int submit[JOBS], work[JOBS]; /* in seconds */
  int set_gb[SETS], cache_gb, wait_s;
  bool by_gpu, is_strict, has_cache[POOLS], has_link[POOLS];
};

static uint32_t below(struct hr__stream *stream, uint32_t limit) {
  return (uint32_t)(hr__stream_uniform(stream) * limit);
}

static struct world make_world(struct hr__stream *stream) {
  struct world world = {
      .n_jobs = 10 + below(stream, JOBS - 10), .is_strict = below(stream, 2), .by_gpu = below(stream, 2)};
  world.wait_s = (int)below(stream, 3) * 40;
  for (int i = 0; i < SETS; i++) world.set_gb[i] = 1 + (int)below(stream, 6);
  world.cache_gb = 1 + (int)below(stream, 10);
  for (int i = 0; i < POOLS; i++) {
    world.has_cache[i] = below(stream, 3) > 0;
    world.has_link[i] = below(stream, 2);
  }
  int at = 0;
  for (uint32_t i = 0; i < world.n_jobs; i++) {
    at += (int)below(stream, 3) ? (int)below(stream, 12) : 0;
    world.submit[i] = at;
    world.work[i] = 1 + (int)below(stream, 90);
    world.gpus[i] = 1 + below(stream, MAX_GPUS);
    world.set[i] = below(stream, SETS + 1);
  }
  return world;
}

/* ---- The naive scheduler ---- */

struct naive {
  const struct world *world;
  int now, start[JOBS], held_until[JOBS], wake;
  int node[JOBS]; /* of a running job */
  bool waits[JOBS], runs[JOBS], over[JOBS], held[JOBS];
  uint32_t free[ALL_NODES];
  int room[ALL_NODES][SETS], valid[ALL_NODES][SETS], readers[ALL_NODES][SETS];
  /* numbers of jobs that were held, that started far from their data, and for which a node near their data was chosen
     instead of the node of best-fit */
  int n_held, n_far, n_moved;
};

static bool reads(const struct world *world, uint32_t job) {
  return world->set[job] < SETS;
}

static bool is_near(const struct naive *naive, uint32_t set, int node) {
  const struct world *world = naive->world;
  if (!world->has_cache[node / NODES]) return !world->has_link[node / NODES];
  int kept = world->set_gb[set] < world->cache_gb ? world->set_gb[set] : world->cache_gb;
  return naive->valid[node][set] >= kept;
}

/* Returns the fitting node with the fewest free GPUs; -1: none. `only_near`: only nodes near the job's data are
   considered. */
static int best_node(const struct naive *naive, uint32_t job, bool only_near) {
  int best = -1;
  for (int node = 0; node < ALL_NODES; node++) {
    if (naive->free[node] < naive->world->gpus[job]) continue;
    if (only_near && !is_near(naive, naive->world->set[job], node)) continue;
    if (best < 0 || naive->free[node] < naive->free[best]) best = node;
  }
  return best;
}

static bool any_near(const struct naive *naive, uint32_t job) {
  for (int node = 0; node < ALL_NODES; node++)
    if (is_near(naive, naive->world->set[job], node)) return true;
  return false;
}

static void take_room(struct naive *naive, int node, uint32_t set) {
  const struct world *world = naive->world;
  int missing = world->set_gb[set] - naive->room[node][set], left = world->cache_gb;
  for (int i = 0; i < SETS; i++) left -= naive->room[node][i];
  for (int i = 0; i < SETS && left < missing; i++) {
    if (i == (int)set || naive->readers[node][i]) continue;
    int given = naive->room[node][i] < missing - left ? naive->room[node][i] : missing - left;
    naive->room[node][i] -= given;
    if (naive->valid[node][i] > naive->room[node][i]) naive->valid[node][i] = naive->room[node][i];
    left += given;
  }
  if (missing > 0) naive->room[node][set] += left < missing ? left : missing;
}

static void start(struct naive *naive, uint32_t job, int node) {
  naive->waits[job] = false;
  naive->runs[job] = true;
  naive->start[job] = naive->now;
  naive->node[job] = node;
  naive->free[node] -= naive->world->gpus[job];
}

/* Started jobs use space in caches only after the pass. */
static void use_cache(struct naive *naive, uint32_t job) {
  const uint32_t set = naive->world->set[job];
  const int node = naive->node[job];
  if (!reads(naive->world, job) || !naive->world->has_cache[node / NODES]) return;
  take_room(naive, node, set);
  naive->readers[node][set]++;
}

static void end(struct naive *naive, uint32_t job) {
  const uint32_t set = naive->world->set[job];
  const int node = naive->node[job];
  naive->runs[job] = false;
  naive->over[job] = true;
  naive->free[node] += naive->world->gpus[job];
  if (!reads(naive->world, job) || !naive->world->has_cache[node / NODES]) return;
  naive->valid[node][set] = naive->room[node][set];
  naive->readers[node][set]--;
}

/* Returns held jobs to the queue: jobs that fit near their data, jobs for which no node is near anymore, and jobs after
   their maximum wait. */
static void release(struct naive *naive) {
  bool returns[JOBS] = {false};
  for (uint32_t job = 0; job < naive->world->n_jobs; job++)
    returns[job] = naive->held[job] &&
                   (naive->held_until[job] <= naive->now || best_node(naive, job, true) >= 0 || !any_near(naive, job));
  for (uint32_t job = 0; job < naive->world->n_jobs; job++) naive->held[job] = naive->held[job] && !returns[job];
}

static void pass(struct naive *naive) {
  const struct world *world = naive->world;
  release(naive);
  for (uint32_t job = 0; job < world->n_jobs; job++) {
    if (!naive->waits[job] || naive->held[job]) continue;
    int node = best_node(naive, job, false);
    if (node < 0 && world->is_strict) break;
    if (node < 0) continue;
    if (reads(world, job) && !is_near(naive, world->set[job], node)) {
      const int near = best_node(naive, job, true), until = world->submit[job] + world->wait_s;
      naive->n_moved += near >= 0;
      if (near < 0 && naive->now < until && any_near(naive, job)) {
        naive->held[job] = true;
        naive->held_until[job] = until;
        naive->n_held++;
        continue;
      }
      naive->n_far += near < 0;
      if (near >= 0) node = near;
    }
    start(naive, job, node);
  }
  for (uint32_t job = 0; job < world->n_jobs; job++)
    if (naive->runs[job] && naive->start[job] == naive->now) use_cache(naive, job);
  int until = NEVER;
  for (uint32_t job = 0; job < world->n_jobs; job++)
    if (naive->held[job] && naive->held_until[job] < until) until = naive->held_until[job];
  if (!(naive->wake > naive->now && naive->wake <= until)) naive->wake = until;
}

static void run_naively(struct naive *naive) {
  const struct world *world = naive->world;
  naive->wake = NEVER;
  for (int node = 0; node < ALL_NODES; node++) naive->free[node] = MAX_GPUS;
  for (int next = 0; next < NEVER;) {
    bool any = false;
    naive->now = next;
    for (uint32_t job = 0; job < world->n_jobs; job++)
      if (naive->runs[job] && naive->start[job] + world->work[job] == next) {
        end(naive, job);
        any = true;
      }
    for (uint32_t job = 0; job < world->n_jobs; job++)
      if (world->submit[job] == next) naive->waits[job] = any = true;
    if (any || naive->wake == next) pass(naive);
    next = naive->wake > naive->now ? naive->wake : NEVER;
    for (uint32_t job = 0; job < world->n_jobs; job++) {
      int at = naive->runs[job] ? naive->start[job] + world->work[job] : world->submit[job];
      if (at > naive->now && at < next) next = at;
    }
  }
}

/* ---- The same with Headroom ---- */

/* The input of a run; its pointers point to its own members. */
struct input {
  struct hr_pool_spec pools[POOLS];
  struct hr_data_route to_pool[POOLS], to_storage;
  struct hr_data_storage storage;
  struct hr_data_link link;
  struct hr_data_set sets[SETS];
  struct hr_data_cache cache;
  struct hr_data_read read;
  struct hr_data_spec data;
  uint32_t cache_of[POOLS], at, data_set[JOBS], gpus[JOBS];
  int64_t submit_us[JOBS], work_us[JOBS];
  struct hr_trace trace;
};

static void fill_data(const struct world *world, struct input *in) {
  static char pool_names[POOLS][2] = {"a", "b"}, set_names[SETS][2] = {"x", "y", "z"}, gpu[] = "A100", name[] = "s";
  in->storage = (struct hr_data_storage){.name = name, .location = name, .bytes_s = 1000000 * GB};
  in->link = (struct hr_data_link){.from = name, .to = name};
  in->cache = (struct hr_data_cache){.location = name, .node_bytes = world->cache_gb * GB};
  in->read = (struct hr_data_read){.set = HR_NONE, .class_ = HR_NONE, .epochs = 1};
  in->to_storage.link = HR_NONE;
  for (int i = 0; i < POOLS; i++) {
    in->pools[i] = (struct hr_pool_spec){
        .name = pool_names[i], .gpu = gpu, .nodes = NODES, .gpus_per_node = MAX_GPUS, .market = {.to_us = HR_NEVER_US}};
    in->to_pool[i] = (struct hr_data_route){true, world->has_link[i] ? 0 : HR_NONE};
    in->cache_of[i] = world->has_cache[i] ? 0 : HR_NONE;
  }
  for (int i = 0; i < SETS; i++)
    in->sets[i] =
        (struct hr_data_set){.name = set_names[i], .bytes = world->set_gb[i] * GB, .n_storage = 1, .storage = &in->at};
  in->data = (struct hr_data_spec){.storage = &in->storage,
                                   .links = &in->link,
                                   .sets = in->sets,
                                   .caches = &in->cache,
                                   .reads = &in->read,
                                   .n_storage = 1,
                                   .n_links = 1,
                                   .n_sets = SETS,
                                   .n_caches = 1,
                                   .n_reads = 1,
                                   .to_pool = in->to_pool,
                                   .to_storage = &in->to_storage,
                                   .cache_of = in->cache_of,
                                   .n_pools = POOLS};
}

static void fill_trace(const struct world *world, struct input *in) {
  static const char *const names[SETS] = {"x", "y", "z"};
  for (uint32_t i = 0; i < world->n_jobs; i++) {
    in->submit_us[i] = world->submit[i] * S;
    in->work_us[i] = world->work[i] * S;
    in->gpus[i] = world->gpus[i];
    in->data_set[i] = reads(world, i) ? world->set[i] : HR_NONE;
  }
  in->trace = (struct hr_trace){.source = "test",
                                .n_jobs = world->n_jobs,
                                .submit_us = in->submit_us,
                                .work_us = in->work_us,
                                .gpus = in->gpus,
                                .data_set = in->data_set,
                                .data_sets = {.text = names, .count = SETS}};
}

static void choose(const struct world *world, struct hr_policy_choice *choice) {
  struct hr_error error = {0};
  char wait[20];
  snprintf(wait, sizeof wait, "%d", world->wait_s);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(choice, "queue", &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(choice, "placement", "data-local", &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(choice, "data_local_wait_s", wait, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(choice, "backfill", world->is_strict ? "strict" : "skip", &error), HR_OK);
}

static struct hr_result *run(const struct world *world) {
  struct input in = {.at = 0};
  struct hr_class_spec classes[HR_N_CLASSES] = {{0}};
  struct hr_policy_choice choice = {0};
  struct hr_error error = {0};
  struct hr_result *result = NULL;
  fill_data(world, &in);
  fill_trace(world, &in);
  choose(world, &choice);
  const struct hr_cluster_spec cluster = {.pools = in.pools, .n_pools = POOLS, .by_gpu = world->by_gpu};
  const struct hr_run_config config = {.trace = &in.trace,
                                       .cluster = &cluster,
                                       .policy = choice.ops,
                                       .params = choice.params,
                                       .horizon_us = HR_NEVER_US,
                                       .check = true,
                                       .classes = classes,
                                       .data = &in.data};
  const enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) fprintf(stderr, "%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  hr_policy_choice_finish(&choice);
  return result;
}

static void starts_are_those_of_a_naive_scheduler(void) {
  enum { WORLDS = 1000 };
  int n_held = 0, n_far = 0, n_moved = 0;
  for (uint32_t number = 0; number < WORLDS; number++) {
    struct hr__stream stream;
    hr__stream_init(&stream, 11, HR__PURPOSE_SAMPLE, number, 0);
    const struct world world = make_world(&stream);
    struct naive naive = {.world = &world};
    run_naively(&naive);
    struct hr_result *result = run(&world);
    bool equal = true;
    for (uint32_t i = 0; i < world.n_jobs && equal; i++) {
      const int64_t end_us = hr_result_end_us(result, (hr_job){i});
      equal = end_us == (naive.start[i] + world.work[i]) * S;
      if (!equal)
        fprintf(stderr, "world %u: job %u ends at %.6f s, not %d s\n", number, i, (double)end_us / 1e6,
                naive.start[i] + world.work[i]);
    }
    CU_ASSERT_FATAL(equal);
    n_held += naive.n_held;
    n_far += naive.n_far;
    n_moved += naive.n_moved;
    hr_result_destroy(result);
  }
  CU_ASSERT(n_held > 1000);
  CU_ASSERT(n_far > 1000);
  CU_ASSERT(n_moved > 1000);
}

TEST_MAIN("Placement near data", TEST(starts_are_those_of_a_naive_scheduler))
