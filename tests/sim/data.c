/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that read data. Flows are compared with a naive simulation that shares bandwidth by progressive filling. Runs
 * are compared with results computed by hand and with published figures. In random worlds, the bytes must add up.
 */

#include "headroom/unstable/data.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/clusters.h"
#include "sim/data/data.h"

#include <math.h>
#include <string.h>

#define S HR_SECOND_US
#define GB INT64_C(1000000000)

/* Returns a pseudo-random number from 0 to `below` - 1, and advances `*state`. */
static uint32_t draw(uint32_t *state, uint32_t below) {
  *state = *state * 1664525U + 1013904223U;
  return (uint32_t)(((uint64_t)*state * below) >> 32);
}

/* ---- Flows against a naive simulation --------------------------------------------------------------------- */

enum { N_FLOWS = 24, N_PATHS = 4, N_RESOURCES = 4 };

struct flow_world {
  double capacity[N_RESOURCES];
  bool crosses[N_PATHS][N_RESOURCES];
  uint32_t path[N_FLOWS];
  double demand[N_FLOWS], cap[N_FLOWS]; /* bytes a second */
  int64_t begin_us[N_FLOWS], length_us[N_FLOWS];
};

static struct flow_world draw_flows(uint32_t *state) {
  struct flow_world world = {.capacity = {0}};
  for (int r = 0; r < N_RESOURCES; r++) world.capacity[r] = 1e6 * (1 + draw(state, 200));
  for (int p = 0; p < N_PATHS; p++) {
    world.crosses[p][draw(state, N_RESOURCES)] = true;
    world.crosses[p][draw(state, N_RESOURCES)] = true;
  }
  for (int i = 0; i < N_FLOWS; i++) {
    world.path[i] = draw(state, N_PATHS);
    world.demand[i] = 1e6 * (1 + draw(state, 60));
    world.cap[i] = draw(state, 2) ? world.demand[i] : fmin(world.demand[i], 1e6 * (1 + draw(state, 30)));
    world.begin_us[i] = draw(state, 20) * S + draw(state, 1000000);
    world.length_us[i] = 1 + draw(state, 30000000);
  }
  return world;
}

/* Computes the rates of the active flows. All rates increase equally; the rate of a flow stops at its cap, or when a
   resource of its path is full. */
static void fill_naively(const struct flow_world *world, const bool *active, double *rates) {
  bool rises[N_FLOWS];
  for (int i = 0; i < N_FLOWS; i++) {
    rises[i] = active[i];
    rates[i] = 0;
  }
  for (;;) {
    double step = (double)INFINITY;
    for (int r = 0; r < N_RESOURCES; r++) {
      double used = 0;
      int n = 0;
      for (int i = 0; i < N_FLOWS; i++)
        if (world->crosses[world->path[i]][r]) {
          used += rates[i];
          n += rises[i];
        }
      if (n) step = fmin(step, (world->capacity[r] - used) / n);
    }
    for (int i = 0; i < N_FLOWS; i++)
      if (rises[i]) step = fmin(step, world->cap[i] - rates[i]);
    if (isinf(step)) return;
    for (int i = 0; i < N_FLOWS; i++)
      if (rises[i]) rates[i] += step;
    for (int r = 0; r < N_RESOURCES; r++) {
      double used = 0;
      for (int i = 0; i < N_FLOWS; i++)
        if (world->crosses[world->path[i]][r]) used += rates[i];
      for (int i = 0; i < N_FLOWS; i++)
        if (used >= world->capacity[r] * (1 - 1e-12) && world->crosses[world->path[i]][r]) rises[i] = false;
    }
    for (int i = 0; i < N_FLOWS; i++)
      if (rates[i] >= world->cap[i] * (1 - 1e-12)) rises[i] = false;
  }
}

/* Computes the ends of all flows, in microseconds. At each event, all rates are computed again. */
static void run_naively(const struct flow_world *world, double *end_us) {
  double left[N_FLOWS], rates[N_FLOWS], now = 0;
  bool active[N_FLOWS] = {false}, done[N_FLOWS] = {false};
  for (int i = 0; i < N_FLOWS; i++) left[i] = (double)world->length_us[i] * world->demand[i];
  for (int n_done = 0; n_done < N_FLOWS;) {
    fill_naively(world, active, rates);
    double next = (double)INFINITY;
    for (int i = 0; i < N_FLOWS; i++) {
      if (active[i]) next = fmin(next, now + left[i] / rates[i]);
      if (!active[i] && !done[i]) next = fmin(next, (double)world->begin_us[i]);
    }
    for (int i = 0; i < N_FLOWS; i++)
      if (active[i]) left[i] -= rates[i] * (next - now);
    now = next;
    for (int i = 0; i < N_FLOWS; i++) {
      if (active[i] && left[i] <= 1e-3 * rates[i]) {
        active[i] = false;
        done[i] = true;
        end_us[i] = now;
        n_done++;
      } else if (!active[i] && !done[i] && (double)world->begin_us[i] <= now)
        active[i] = true;
    }
  }
}

static void open_flows(struct hr__flows *flows, const struct flow_world *world) {
  *flows = (struct hr__flows){.n_flows = N_FLOWS, .shares = {.n_paths = N_PATHS, .n_resources = N_RESOURCES}};
  flows->flows = calloc(N_FLOWS, sizeof *flows->flows);
  flows->paths = calloc(N_PATHS, sizeof *flows->paths);
  flows->shares.paths = calloc(N_PATHS, sizeof *flows->shares.paths);
  flows->shares.capacity = calloc(N_RESOURCES, sizeof *flows->shares.capacity);
  flows->shares.left = calloc(N_RESOURCES, sizeof *flows->shares.left);
  flows->shares.level = calloc(N_RESOURCES, sizeof *flows->shares.level);
  for (uint32_t r = 0; r < N_RESOURCES; r++)
    flows->shares.capacity[r] = (hr__wide)(uint64_t)world->capacity[r] * HR__RATE_UNITS;
  for (int p = 0; p < N_PATHS; p++)
    for (uint32_t r = 0; r < N_RESOURCES; r++)
      if (world->crosses[p][r]) flows->shares.paths[p].resources[flows->shares.paths[p].n_resources++] = r;
  hr__flows_open(flows);
}

static void close_flows(struct hr__flows *flows) {
  hr__flows_close(flows);
  free(flows->flows);
  free(flows->paths);
  free(flows->shares.paths);
  free(flows->shares.capacity);
  free(flows->shares.left);
  free(flows->shares.level);
}

static void run_flows(const struct flow_world *world, int64_t *end_us) {
  struct hr__flows flows;
  bool begun[N_FLOWS] = {false};
  open_flows(&flows, world);
  for (int n_done = 0; n_done < N_FLOWS;) {
    int64_t at_us;
    const uint32_t first = hr__flows_first(&flows, &at_us);
    uint32_t next = HR_NONE;
    for (uint32_t i = 0; i < N_FLOWS; i++)
      if (!begun[i] && (next == HR_NONE || world->begin_us[i] < world->begin_us[next])) next = i;
    if (first != HR_NONE && (next == HR_NONE || at_us <= world->begin_us[next])) {
      hr__flows_end(&flows, first, at_us);
      end_us[first] = at_us;
      n_done++;
    } else {
      begun[next] = true;
      CU_ASSERT_EQUAL_FATAL(hr__flows_begin(&flows, next, world->path[next],
                                            (hr__wide)(uint64_t)world->demand[next] * HR__RATE_UNITS,
                                            (hr__wide)(uint64_t)world->cap[next] * HR__RATE_UNITS,
                                            world->length_us[next], 0, world->begin_us[next]),
                            HR_OK);
    }
  }
  close_flows(&flows);
}

static void flows_are_shared_fairly(void) {
  uint32_t state = 7, n_wrong = 0, n_delayed = 0;
  for (int round = 0; round < 1000; round++) {
    const struct flow_world world = draw_flows(&state);
    double naive_us[N_FLOWS];
    int64_t end_us[N_FLOWS];
    run_naively(&world, naive_us);
    run_flows(&world, end_us);
    for (int i = 0; i < N_FLOWS; i++) {
      /* ends are rounded up to a microsecond, and rates down to 2^-10 bytes a second */
      const double tolerance = 50 + 3e-8 * (naive_us[i] - (double)world.begin_us[i]);
      n_wrong += fabs((double)end_us[i] - naive_us[i]) > tolerance;
      n_delayed += end_us[i] > world.begin_us[i] + 2 * world.length_us[i];
    }
  }
  CU_ASSERT_EQUAL(n_wrong, 0);
  CU_ASSERT_TRUE(n_delayed > 5000); /* checks that sharing has an effect */
}

/* ---- Runs ------------------------------------------------------------------------------------------------- */

enum { MAX_JOBS = 40, MAX_POOLS = 2 };

struct world {
  struct hr_pool_spec pools[MAX_POOLS];
  uint32_t n_pools, n_jobs;
  uint32_t gpus[MAX_JOBS];
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS];
  struct hr_class_spec class_;
  struct hr_data_storage storage[2];
  struct hr_data_link links[2];
  struct hr_data_set set;
  struct hr_data_cache cache;
  struct hr_data_read read;
  uint32_t data_set[MAX_JOBS]; /* index in data_sets; part of the trace if data_sets is not empty */
  struct hr_names data_sets;
  struct hr_data_route to_pool[4], to_storage[4];
  uint32_t cache_of[MAX_POOLS], at[1], copies[1];
  struct hr_data_spec data;
  bool no_data, has_clusters;
};

/* One job of one GPU and 50 s; one pool of 16 nodes with one GPU each; one storage system with 1 GB/s; one data set of
   100 GB that each job reads once. */
static void world_init(struct world *world) {
  static char name[] = "p", other[] = "q", gpu[] = "A100", text[] = "s";
  *world = (struct world){.n_pools = 1, .n_jobs = 1};
  for (int i = 0; i < MAX_POOLS; i++)
    world->pools[i] = (struct hr_pool_spec){
        .name = i ? other : name, .gpu = gpu, .nodes = 16, .gpus_per_node = 1, .market = {.to_us = HR_NEVER_US}};
  for (int i = 0; i < 2; i++)
    world->storage[i] = (struct hr_data_storage){.name = text, .location = text, .bytes_s = GB, .checkpoints = true};
  world->set = (struct hr_data_set){.name = text, .bytes = 100 * GB, .n_storage = 1};
  world->read = (struct hr_data_read){.class_ = HR_NONE, .epochs = 1};
  for (int i = 0; i < 2; i++) world->cache_of[i] = HR_NONE;
  world->to_pool[0] = (struct hr_data_route){true, HR_NONE};
  world->data.n_storage = world->data.n_sets = world->data.n_reads = 1;
  for (int i = 0; i < MAX_JOBS; i++) {
    world->gpus[i] = 1;
    world->work_us[i] = 50 * S;
  }
}

static enum hr_status try_run(struct world *world, struct hr_result **result, struct hr_error *error) {
  struct hr_class_spec classes[HR_N_CLASSES];
  struct hr_trace trace = {.source = "test",
                           .n_jobs = world->n_jobs,
                           .submit_us = world->submit_us,
                           .work_us = world->work_us,
                           .gpus = world->gpus,
                           .data_set = world->data_sets.count ? world->data_set : NULL,
                           .data_sets = world->data_sets};
  struct hr_cluster_spec cluster = {.pools = world->pools, .n_pools = world->n_pools},
                         parts[2] = {{.pools = world->pools, .n_pools = 1}, {.pools = world->pools + 1, .n_pools = 1}};
  static char name[] = "a", other[] = "b";
  struct hr_cluster_part cluster_parts[2] = {{.name = name, .cluster = &parts[0], .classes = classes},
                                             {.name = other, .cluster = &parts[1], .classes = classes}};
  const struct hr_clusters clusters = {
      cluster_parts, 2, {.kind = HR_JOB_ROUTER_LEAST_LOADED, .max_wait_us = HR_NEVER_US, .budget_uusd = HR_NEVER_US}};
  struct hr_policy_choice choice = {0};
  world->data.storage = world->storage;
  world->data.links = world->links;
  if (!world->data.sets) world->data.sets = &world->set;
  world->data.caches = &world->cache;
  if (!world->data.reads) world->data.reads = &world->read;
  world->data.to_pool = world->to_pool;
  world->data.to_storage = world->to_storage;
  world->data.cache_of = world->cache_of;
  world->data.n_pools = world->n_pools;
  world->set.storage = world->at;
  world->set.copies = world->copies;
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) classes[i] = world->class_;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "fifo", error), HR_OK);
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true,
                                 .classes = classes,
                                 .clusters = world->has_clusters ? &clusters : NULL,
                                 .data = world->no_data ? NULL : &world->data};
  const enum hr_status status = hr_sim_run(&config, result, error);
  hr_policy_choice_finish(&choice);
  return status;
}

static struct hr_result *run(struct world *world) {
  struct hr_result *result = NULL;
  struct hr_error error = {0};
  const enum hr_status status = try_run(world, &result, &error);
  if (status != HR_OK) fprintf(stderr, "%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  return result;
}

static int64_t end_of(const struct hr_result *result, uint32_t job) {
  return hr_result_end_us(result, (hr_job){job});
}

/* 100 GB in 50 s need 2 GB/s. With 1 GB/s the job takes 100 s, and waits for data half of the time. */
static void one_job(void) {
  struct world world;
  world_init(&world);
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(end_of(result, 0), 100 * S);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).data_us, 50 * S);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).kept_us, 50 * S);
  CU_ASSERT(hr_result_accounting(result, (hr_job){0}).milli_us.data == (hr_amount)50000 * S);
  CU_ASSERT(result->data->read_bytes == 100 * GB && result->data->storage[0].read_bytes == 100 * GB);
  CU_ASSERT(result->data->storage[0].stored_byte_us == (hr_amount)100 * GB * 100 * S);
  hr_result_destroy(result);
}

/* The demands are 0.25, 1 and 2 GB/s, and the storage has 1 GB/s: the jobs get 0.25, 0.375 and 0.375. So the second
   and the third job read their 50 GB in 133.3 s. */
static void three_jobs_share(void) {
  struct world world;
  world_init(&world);
  world.n_jobs = 3;
  world.set.bytes = 50 * GB;
  world.work_us[0] = 200 * S;
  world.work_us[1] = 50 * S;
  world.work_us[2] = 25 * S;
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(end_of(result, 0), 200 * S); /* never waits for data, so the end is exact */
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).data_us, 0);
  CU_ASSERT_TRUE(llabs(end_of(result, 1) - INT64_C(133333334)) <= 1);
  CU_ASSERT_TRUE(llabs(end_of(result, 2) - INT64_C(133333334)) <= 1);
  CU_ASSERT(result->data->read_bytes == 150 * GB);
  hr_result_destroy(result);
}

/* With enough bandwidth, every job ends in the same microsecond as without data. */
static void enough_bandwidth_changes_nothing(void) {
  struct world world;
  uint32_t state = 5;
  world_init(&world);
  world.n_jobs = MAX_JOBS;
  world.storage[0].bytes_s = 1000000 * GB;
  for (uint32_t i = 0; i < MAX_JOBS; i++) {
    world.submit_us[i] = (i ? world.submit_us[i - 1] : 0) + draw(&state, 5000000);
    world.work_us[i] = 1 + draw(&state, 90000000);
    world.gpus[i] = 1 + draw(&state, 6);
  }
  struct hr_result *with = run(&world);
  world.no_data = true;
  struct hr_result *without = run(&world);
  for (uint32_t i = 0; i < MAX_JOBS; i++) {
    CU_ASSERT_EQUAL(with->start_us[i], without->start_us[i]);
    CU_ASSERT_EQUAL(end_of(with, i), end_of(without, i));
    CU_ASSERT_EQUAL(hr_result_accounting(with, (hr_job){i}).data_us, 0);
  }
  CU_ASSERT(with->data->read_bytes == (hr_amount)MAX_JOBS * 100 * GB);
  hr_result_destroy(with);
  hr_result_destroy(without);
}

/* A client (a node) can read 0.5 GB/s. So the first job, on one node, reads its 100 GB in 200 s; the second, on two
   nodes, in 100 s. */
static void clients_have_a_limit(void) {
  struct world world;
  world_init(&world);
  world.n_jobs = 2;
  world.storage[0].bytes_s = 100 * GB;
  world.storage[0].client_bytes_s = GB / 2;
  world.gpus[1] = 2;
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(end_of(result, 0), 200 * S);
  CU_ASSERT_EQUAL(end_of(result, 1), 100 * S);
  hr_result_destroy(result);
}

/* Job 0 names the data set t (1,000 GB), jobs 1 and 2 name s (100 GB), and job 3 names none. The first rule is for t,
   so it applies to jobs 0 and 3: both read t once. The second rule applies to all other jobs: jobs 1 and 2 read s three
   times. Without the second rule, jobs 1 and 2 read nothing. */
static void jobs_name_data_sets(void) {
  static const char *const names[] = {"t", "s"};
  static char t[] = "t";
  struct world world;
  world_init(&world);
  struct hr_data_set sets[2] = {world.set, world.set};
  struct hr_data_read reads[2] = {world.read, world.read};
  world.n_jobs = 4;
  world.data_sets = (struct hr_names){.text = names, .count = 2};
  world.data_set[1] = world.data_set[2] = 1;
  world.data_set[3] = HR_NONE;
  world.storage[0].bytes_s = 1000 * GB;
  sets[1].name = t;
  sets[1].bytes = 1000 * GB;
  sets[0].storage = sets[1].storage = world.at;
  reads[0].set = 1;
  reads[1].set = HR_NONE;
  reads[1].epochs = 3;
  world.data.sets = sets;
  world.data.reads = reads;
  world.data.n_sets = world.data.n_reads = 2;
  struct hr_result *result = run(&world);
  CU_ASSERT(result->data->read_bytes == (hr_amount)(1000 + 3 * 100 + 3 * 100 + 1000) * GB);
  hr_result_destroy(result);
  world.data.n_reads = 1;
  result = run(&world);
  CU_ASSERT(result->data->read_bytes == (hr_amount)(1000 + 1000) * GB);
  hr_result_destroy(result);
}

static void unknown_data_sets_are_errors(void) {
  static const char *const names[] = {"s", "v"};
  struct world world;
  struct hr_result *result = NULL;
  struct hr_error error = {0};
  world_init(&world);
  world.data_sets = (struct hr_names){.text = names, .count = 2};
  CU_ASSERT_EQUAL(try_run(&world, &result, &error), HR_BAD_INPUT);
  CU_ASSERT_STRING_EQUAL(error.text, "the trace names the data set 'v', which is not in 'data.sets'");
  world.no_data = true;
  hr_result_destroy(run(&world));
}

/* ---- Caches ----------------------------------------------------------------------------------------------- */

/* Ten epochs of 100 GB that would take 10 s each, on a storage system of 1 GB/s. The cache has 50 GB. Without prefetch,
   the first epoch takes 100 s, and each later epoch 100 * (1 - h) s with the hit rate h. With prefetch, the cache is
   filled first, which takes 50 s; then all epochs have hits. */
static void check_cache(enum hr_data_caching caching, bool prefetch, double hits, double expected_s) {
  struct world world;
  world_init(&world);
  world.read.epochs = 10;
  world.work_us[0] = 100 * S;
  world.cache_of[0] = 0;
  world.data.n_caches = 1;
  world.cache = (struct hr_data_cache){.node_bytes = 50 * GB, .caching = caching, .prefetch = prefetch};
  struct hr_result *result = run(&world);
  CU_ASSERT_DOUBLE_EQUAL((double)end_of(result, 0) / 1e6, expected_s, 1e-3);
  const double n_hit = prefetch ? 10 : 9;
  CU_ASSERT_DOUBLE_EQUAL((double)result->data->cached_bytes / (double)GB, n_hit * 100 * hits, 1e-3);
  CU_ASSERT(result->data->read_bytes == 1000 * GB);
  hr_result_destroy(result);
}

static void caches_hit(void) {
  const double lru = 0.5 + 0.5 * log(0.5);
  check_cache(HR_DATA_CACHE_UNIFORM, false, 0.5, 100 + 9 * 50);
  check_cache(HR_DATA_CACHE_LRU, false, lru, 100 + 9 * 100 * (1 - lru));
  check_cache(HR_DATA_CACHE_UNIFORM, true, 0.5, 50 + 10 * 50);
}

/* Three jobs run one after another on the same two nodes. Each node caches 50 GB, half of the data set. So the second
   and the third job read the whole data set from the caches and never wait. */
static void caches_remain(void) {
  struct world world;
  world_init(&world);
  world.n_jobs = 3;
  world.pools[0].nodes = 2;
  world.submit_us[1] = 1 * S;
  world.submit_us[2] = 2 * S;
  for (int i = 0; i < 3; i++) world.gpus[i] = 2;
  world.cache_of[0] = 0;
  world.data.n_caches = 1;
  world.cache = (struct hr_data_cache){.node_bytes = 50 * GB};
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(end_of(result, 0), 100 * S);
  CU_ASSERT_EQUAL(end_of(result, 1), 150 * S);
  CU_ASSERT_EQUAL(end_of(result, 2), 200 * S);
  CU_ASSERT(result->data->cached_bytes == 200 * GB);
  hr_result_destroy(result);
}

/* Hoard: the job can read 2.625 GB/s, and the storage has 1.25 GB/s. The cache holds the whole data set of 150 GB. The
   published speed-up is 2.625 / 1.25 = 2.1, the limit for many epochs. With E epochs the speed-up is E / (1 + (E - 1) /
   2.1). */
static void hoard(void) {
  static const double epochs[] = {2, 10, 60}, speedup[] = {1.35, 1.89, 2.06};
  for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
    int64_t end_us[2];
    for (uint32_t cached = 0; cached < 2; cached++) {
      struct world world;
      world_init(&world);
      world.set.bytes = 150 * GB;
      world.storage[0].bytes_s = 1250000000;
      world.read.epochs = epochs[i];
      world.work_us[0] = (int64_t)llround(epochs[i] * 150e9 / 2.625e9 * 1e6);
      world.cache_of[0] = cached ? 0 : HR_NONE;
      world.data.n_caches = 1;
      world.cache = (struct hr_data_cache){.node_bytes = 150 * GB};
      struct hr_result *result = run(&world);
      end_us[cached] = end_of(result, 0);
      hr_result_destroy(result);
    }
    CU_ASSERT_DOUBLE_EQUAL((double)end_us[0] / (double)end_us[1], speedup[i], 0.005);
  }
}

/* ---- Links, copies, checkpoints ----------------------------------------------------------------------------- */

/* Two clusters with a job each; the data are at the first cluster. The job of the second cluster reads 100 GB over a
   link of 0.25 GB/s, in 400 s, at 0.02 dollars per GB. */
static void two_clusters(void) {
  struct world world;
  world_init(&world);
  world.n_pools = 2;
  world.n_jobs = 2;
  world.has_clusters = true;
  world.storage[0].bytes_s = 10 * GB;
  world.to_pool[1] = (struct hr_data_route){true, 0};
  world.links[0] = (struct hr_data_link){.bytes_s = GB / 4, .uusd_per_gb = 20000};
  world.data.n_links = 1;
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(result->cluster_of[0], 0);
  CU_ASSERT_EQUAL(result->cluster_of[1], 1);
  CU_ASSERT_EQUAL(end_of(result, 0), 50 * S);
  CU_ASSERT_EQUAL(end_of(result, 1), 400 * S);
  CU_ASSERT(result->data->links[0].bytes == 100 * GB && result->data->storage[0].read_bytes == 200 * GB);
  CU_ASSERT_EQUAL(hr_data_egress_uusd(result->data, 0), 2000000);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){1}).data_us, 350 * S);
  hr_result_destroy(result);
}

/* The job reads the data set twice (200 GB). The copy of 100 GB and the job share the link of 0.5 GB/s. The copy is
   complete after 400 s, when the job has also read 100 GB. Then the job reads the rest from the copy, at 1 GB/s. */
static void copy_on_demand(void) {
  struct world world;
  world_init(&world);
  world.data.n_storage = 2;
  world.read.epochs = 2;
  world.work_us[0] = 200 * S;
  world.to_pool[0] = (struct hr_data_route){true, 0};
  world.to_pool[1] = (struct hr_data_route){true, HR_NONE};
  world.to_storage[1] = (struct hr_data_route){true, 0};
  world.links[0] = (struct hr_data_link){.bytes_s = GB / 2};
  world.data.n_links = 1;
  world.copies[0] = 1;
  world.set.n_copies = 1;
  world.set.when = HR_DATA_COPY_ON_DEMAND;
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(end_of(result, 0), 500 * S);
  CU_ASSERT_EQUAL(result->data->n_copies, 1);
  CU_ASSERT(result->data->links[0].bytes == 200 * GB && result->data->copied_bytes == 100 * GB);
  CU_ASSERT(result->data->storage[1].read_bytes == 100 * GB && result->data->storage[1].written_bytes == 100 * GB);
  CU_ASSERT(result->data->storage[1].stored_byte_us == (hr_amount)100 * GB * 100 * S);
  hr_result_destroy(result);
}

/* After every 25 s of work, a checkpoint of 8 GiB is written to the storage of 1 GB/s. If no other job reads or writes,
   this takes 8.6 s. In the second run, two jobs share the bandwidth; the test checks only the amounts. */
static void checkpoints_share(void) {
  struct world world;
  world_init(&world);
  world.set.bytes = 50 * GB;
  world.class_ = (struct hr_class_spec){
      .checkpoint = HR_CHECKPOINT_INTERVAL, .interval_us = 25 * S, .checkpoint_mib = UINT64_C(8) << 10};
  struct hr_result *result = run(&world);
  const int64_t write_us = ((INT64_C(8) << 30) + 999) / 1000;
  CU_ASSERT_EQUAL(end_of(result, 0), 50 * S + write_us);
  CU_ASSERT(result->data->saved_bytes == INT64_C(8) << 30);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).saving_us, write_us);
  hr_result_destroy(result);
  world.n_jobs = 2;
  world.submit_us[1] = 25 * S;
  world.work_us[0] = world.work_us[1] = 25 * S + 1; /* one checkpoint each */
  result = run(&world);
  CU_ASSERT(result->data->saved_bytes == INT64_C(16) << 30);
  CU_ASSERT(result->data->read_bytes == 100 * GB);
  hr_result_destroy(result);
}

/* ---- Published figures (docs/validation/data.md) ------------------------------------------------------------- */

/* Returns the run time, in seconds, of a job that reads a data set once and would take `work_s` seconds if it did not
   wait for data. */
static double read_once_s(int64_t bytes, double work_s, int64_t bytes_s) {
  struct world world;
  world_init(&world);
  world.set.bytes = bytes;
  world.work_us[0] = (int64_t)llround(work_s * 1e6);
  world.storage[0].bytes_s = bytes_s;
  struct hr_result *result = run(&world);
  const double seconds = (double)end_of(result, 0) / 1e6;
  hr_result_destroy(result);
  return seconds;
}

/* MLPerf Storage v1.0, unet3d on one storage system of 104.2 GB/s: 36 H100 (780.2 samples a second at full speed)
   reached 0.908 of their full speed, 72 A100 (792.5 samples a second) 0.900. In a third run, with 43.3 samples a second
   at full speed and 5,549 MiB/s, an epoch of 28,000 samples took 702.6 to 706.8 s. */
static void mlperf_storage(void) {
  const double sample = 146600628;
  const int64_t bytes = (int64_t)(1e6 * sample);
  const double h100_s = 1e6 / 780.2, a100_s = 1e6 / 792.5;
  CU_ASSERT_DOUBLE_EQUAL(h100_s / read_once_s(bytes, h100_s, 104200000000) / 0.908, 1, 0.004);
  CU_ASSERT_DOUBLE_EQUAL(a100_s / read_once_s(bytes, a100_s, 104200000000) / 0.900, 1, 0.004);
  const double epoch_s = read_once_s((int64_t)(28000 * sample), 28000 / 43.3, INT64_C(5549) << 20);
  CU_ASSERT_TRUE(epoch_s > 702.6 && epoch_s < 706.8);
}

/* 1 TB at 5.00 Gbit/s within AWS: 1,600 s and 20 $; at 5.08 Gbit/s to Azure: 1,575 s and 90 $. */
static void links_and_bills(void) {
  static const struct {
    int64_t bytes_s, uusd_per_gb;
    double seconds, usd;
  } cases[] = {{625000000, 20000, 1600, 20}, {635000000, 90000, 1575, 90}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct world world;
    world_init(&world);
    world.set.bytes = 1000 * GB;
    world.work_us[0] = S;
    world.to_pool[0] = (struct hr_data_route){true, 0};
    world.storage[0].bytes_s = 100 * GB;
    world.links[0] = (struct hr_data_link){.client_bytes_s = cases[i].bytes_s, .uusd_per_gb = cases[i].uusd_per_gb};
    world.data.n_links = 1;
    struct hr_result *result = run(&world);
    CU_ASSERT_DOUBLE_EQUAL((double)end_of(result, 0) / 1e6, cases[i].seconds, 0.5);
    CU_ASSERT_DOUBLE_EQUAL((double)hr_data_egress_uusd(result->data, 0) / 1e6, cases[i].usd, 0);
    hr_result_destroy(result);
  }
}

/* Data out of AWS: in each month, the first 10 TB cost 0.09 $/GB, the next 40 TB 0.085 $/GB, the next 100 TB 0.07 $/GB.
   60 TB in one month cost 900 $ + 3,400 $ + 700 $. 30 TB in each of two months cost twice 900 $ + 1,700 $. */
static void tiers_of_prices(void) {
  struct hr_data_tier tiers[] = {{10000 * GB, 85000}, {50000 * GB, 70000}, {150000 * GB, 50000}};
  for (int months = 1; months <= 2; months++) {
    struct world world;
    world_init(&world);
    world.n_jobs = 2;
    world.submit_us[1] = (months - 1) * HR_MONTH_US;
    world.set.bytes = 30000 * GB;
    world.to_pool[0] = (struct hr_data_route){true, 0};
    world.storage[0].bytes_s = 100 * GB;
    world.links[0] = (struct hr_data_link){.bytes_s = 10 * GB, .uusd_per_gb = 90000, .tiers = tiers, .n_tiers = 3};
    world.data.n_links = 1;
    struct hr_result *result = run(&world);
    CU_ASSERT_EQUAL(hr_data_egress_uusd(result->data, 0), (months == 1 ? 5000 : 5200) * INT64_C(1000000));
    hr_result_destroy(result);
  }
}

/* ---- Random worlds ------------------------------------------------------------------------------------------ */

/* Random worlds with copies, caches, links and checkpoints, in checked mode. The bytes that jobs read add up. The
   engine checks that their GPU time adds up, too. */
static void bytes_are_conserved(void) {
  uint32_t state = 11;
  for (int round = 0; round < 60; round++) {
    struct world world;
    world_init(&world);
    world.n_pools = 2;
    world.has_clusters = round % 2;
    world.n_jobs = MAX_JOBS;
    world.data.n_storage = 2;
    world.data.n_links = 1;
    world.links[0] = (struct hr_data_link){.bytes_s = GB * (1 + draw(&state, 3)), .uusd_per_gb = 20000};
    world.to_pool[0] = world.to_pool[3] = (struct hr_data_route){true, HR_NONE};
    world.to_pool[1] = (struct hr_data_route){true, 0};
    world.to_storage[1] = (struct hr_data_route){true, 0};
    world.set.n_copies = draw(&state, 2);
    world.set.when = HR_DATA_COPY_ON_DEMAND;
    world.copies[0] = 1;
    world.cache_of[draw(&state, 2)] = 0;
    world.data.n_caches = 1;
    world.cache = (struct hr_data_cache){.node_bytes = draw(&state, 120) * GB,
                                         .caching = draw(&state, 2) ? HR_DATA_CACHE_LRU : HR_DATA_CACHE_UNIFORM,
                                         .prefetch = draw(&state, 2)};
    world.storage[1].client_bytes_s = draw(&state, 2) * GB / 3;
    world.read.epochs = 0.3 + draw(&state, 4);
    world.class_ = (struct hr_class_spec){
        .checkpoint = HR_CHECKPOINT_INTERVAL, .interval_us = 20 * S, .checkpoint_mib = 1000 * draw(&state, 2)};
    for (uint32_t i = 0; i < MAX_JOBS; i++) {
      world.submit_us[i] = (i ? world.submit_us[i - 1] : 0) + draw(&state, 40000000);
      world.work_us[i] = 1 + draw(&state, 90000000);
      world.gpus[i] = 1 + draw(&state, 4);
    }
    struct hr_result *result = run(&world);
    const struct hr_data_result *data = result->data;
    const hr_amount each = (hr_amount)llround(world.read.epochs * 100e9);
    CU_ASSERT_EQUAL(result->n_completed, MAX_JOBS);
    CU_ASSERT(data->read_bytes == each * MAX_JOBS);
    CU_ASSERT(data->storage[0].read_bytes + data->storage[1].read_bytes ==
              data->read_bytes - data->cached_bytes + data->copied_bytes);
    hr_amount months = 0;
    for (uint32_t i = 0; i < data->n_months; i++) months += data->month_bytes[i];
    CU_ASSERT(months == data->links[0].bytes);
    for (uint32_t i = 0; i < MAX_JOBS; i++)
      CU_ASSERT_TRUE(hr_result_accounting(result, (hr_job){i}).held_us >= world.work_us[i] &&
                     hr_result_accounting(result, (hr_job){i}).data_us >= 0);
    hr_result_destroy(result);
  }
}

TEST_MAIN("data", TEST(flows_are_shared_fairly), TEST(one_job), TEST(three_jobs_share),
          TEST(enough_bandwidth_changes_nothing), TEST(clients_have_a_limit), TEST(jobs_name_data_sets),
          TEST(unknown_data_sets_are_errors), TEST(caches_hit), TEST(caches_remain), TEST(hoard), TEST(mlperf_storage),
          TEST(links_and_bills), TEST(tiers_of_prices), TEST(two_clusters), TEST(copy_on_demand),
          TEST(checkpoints_share), TEST(bytes_are_conserved))
