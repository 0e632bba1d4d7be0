/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs out of memory after each possible number of allocations. This is repeated with different backfills, placements
   and market rules, with locality, with GPU memory that is not reserved, and with data. The caller must get the error.
   The run must not crash or leak memory. */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/data.h"
#include "scarce_memory.h"

#include <string.h>

enum { JOBS = 3000 };

static struct {
  int64_t submit_us[JOBS], work_us[JOBS];
  uint32_t gpus[JOBS];
  uint64_t gpu_mem_mib[JOBS];
  int64_t deadline_us[JOBS];
  const char *backfill, *placement, *market; /* market: the market rule; NULL if there are only fixed nodes */
  uint32_t n_jobs;
  bool has_locality; /* some jobs must be within a rack or an island */
  bool by_gpu;
  uint8_t within[JOBS];
  int64_t within_wait_us[JOBS];
  bool reads_data;
  bool first_come; /* GPU memory is not reserved: jobs share GPUs and are killed if too little memory is free */
} load;

/* The jobs need more capacity than the cluster has, so the queue and the structures for planning grow. */
static void make_load(void) {
  struct hr__stream draws;
  hr__stream_init(&draws, 7, HR__PURPOSE_ARRIVAL, 0, 0);
  for (uint32_t i = 0; i < JOBS; i++) {
    load.submit_us[i] = (int64_t)i * 10;
    load.work_us[i] = 1 + hr__stream_next(&draws) % 2000;
    load.gpus[i] = 1 + hr__stream_next(&draws) % 12;
    load.deadline_us[i] = load.submit_us[i] + 10000;
    load.gpu_mem_mib[i] = i % 3 * 5000;
    load.within[i] = i % 3 ? HR_TIER_RACK : load.by_gpu ? HR_TIER_ISLAND : HR_TIER_ANY;
    load.within_wait_us[i] = load.within[i] ? i % 5 * 200 : HR_UNKNOWN_US;
  }
}

static enum hr_status choose_policy(struct hr_policy_choice *choice, struct hr_error *error) {
  enum hr_status status = hr_policy_choice_init(choice, "queue", error);
  if (status == HR_OK) status = hr_policy_choice_set(choice, "order", "sjf", error);
  if (status == HR_OK) status = hr_policy_choice_set(choice, "backfill", load.backfill, error);
  if (status == HR_OK) status = hr_policy_choice_set(choice, "placement", load.placement, error);
  if (status == HR_OK && load.market) status = hr_policy_choice_set(choice, "market", load.market, error);
  return status;
}

static void describe_pools(struct hr_pool_spec pools[3], const struct hr_pool_spec *base,
                           struct hr_level_step *levels) {
  for (uint32_t i = 0; i < 3; i++) pools[i] = *base;
  if (load.first_come) {
    pools[0].sharing = HR_SHARING_TIME_SLICE;
    pools[0].replicas = 2;
    pools[0].gpu_mem_mib = 16384;
    pools[0].memory = HR_GPU_MEMORY_FIRST_COME;
  }
  if (load.has_locality) pools[0].topology = (struct hr_topology){.nodes_per_rack = 4, .racks_per_zone = 2};
  if (load.by_gpu) pools[0].topology.island_gpus = 4;
  pools[1].market.market = HR_MARKET_ON_DEMAND;
  pools[2].market.market = HR_MARKET_SPOT;
  pools[2].market.spot = (struct hr_spot_spec){
      .model = HR_SPOT_TRACE, .levels = levels, .n_levels = 5, .period_us = 7000, .notice_us = 500};
}

/* Runs the jobs on fixed nodes and, with a market rule, also on spot and on-demand nodes. */
static enum hr_status run_once(void) {
  struct hr_trace trace = {.source = "test",
                           .n_jobs = load.n_jobs,
                           .submit_us = load.submit_us,
                           .work_us = load.work_us,
                           .gpus = load.gpus,
                           .gpu_mem_mib = load.first_come ? load.gpu_mem_mib : NULL,
                           .within = load.has_locality ? load.within : NULL,
                           .within_wait_us = load.has_locality ? load.within_wait_us : NULL,
                           .deadline_us = load.deadline_us};
  char name[] = "main", gpu[] = "T4";
  struct hr_level_step levels[] = {{0, 8}, {1000, 2}, {3000, 8}, {4000, 0}, {6000, 8}};
  struct hr_pool_spec pools[3];
  const struct hr_pool_spec base = {.name = name, .gpu = gpu, .nodes = 16, .gpus_per_node = 8, .storage_mib_s = 100};
  describe_pools(pools, &base, levels);
  struct hr_cluster_spec cluster = {pools, load.market ? 3 : 1};
  struct hr_class_spec classes[HR_N_CLASSES];
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    classes[i] = (struct hr_class_spec){
        .checkpoint = HR_CHECKPOINT_INTERVAL, .interval_us = 300, .checkpoint_mib = 1, .restart_us = 20};
  /* the jobs read over a link while the data set is copied */
  uint32_t at[] = {0}, copies[] = {1}, caches[] = {0};
  struct hr_data_storage storage[] = {{.name = name, .location = name, .bytes_s = 1000000000},
                                      {.name = name, .location = name, .bytes_s = 1000000000}};
  struct hr_data_link link = {.bytes_s = 500000000};
  struct hr_data_set set = {
      .name = name, .bytes = 200000, .storage = at, .copies = copies, .n_storage = 1, .n_copies = 1};
  struct hr_data_cache cache = {.location = name, .node_bytes = 100000};
  struct hr_data_read read = {.class_ = HR_NONE, .epochs = 3};
  struct hr_data_route to_pool[] = {{true, 0}, {true, HR_NONE}},
                       to_storage[] = {{true, 0}, {true, 0}, {true, 0}, {true, 0}};
  const struct hr_data_spec data = {.storage = storage,
                                    .links = &link,
                                    .sets = &set,
                                    .caches = &cache,
                                    .reads = &read,
                                    .n_storage = 2,
                                    .n_links = 1,
                                    .n_sets = 1,
                                    .n_caches = 1,
                                    .n_reads = 1,
                                    .to_pool = to_pool,
                                    .to_storage = to_storage,
                                    .cache_of = caches,
                                    .n_pools = 1};
  struct hr_policy_choice choice = {0};
  struct hr_error error;
  struct hr_result *result = NULL;
  enum hr_status status = choose_policy(&choice, &error);
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .horizon_us = load.market ? 40000 : HR_NEVER_US,
                                 .classes = load.market ? classes : NULL,
                                 .data = load.reads_data ? &data : NULL};
  if (status == HR_OK) status = hr_sim_run(&config, &result, &error);
  hr_policy_choice_finish(&choice);
  hr_result_destroy(result);
  return status;
}

static void failures_are_reported(void) {
  static const char *const backfills[] = {"strict", "skip", "easy", "conservative"};
  static const char *const placements[] = {"pool", "best-fit"};
  make_load();
  load.n_jobs = JOBS;
  for (size_t i = 0; i < sizeof backfills / sizeof *backfills; i++)
    for (size_t j = 0; j < sizeof placements / sizeof *placements; j++) {
      load.backfill = backfills[i];
      load.placement = placements[j];
      CU_ASSERT(starve(run_once) > 5);
    }
}

static void failures_are_reported_with_locality(void) {
  static const char *const backfills[] = {"skip", "easy"};
  load.placement = "best-fit";
  load.has_locality = true;
  for (int i = 0; i < 4; i++) {
    load.by_gpu = i % 2;
    load.n_jobs = load.by_gpu ? JOBS / 10 : JOBS;
    load.backfill = backfills[i / 2];
    make_load();
    CU_ASSERT(starve(run_once) > 5);
  }
  load.has_locality = load.by_gpu = false;
}

static void failures_are_reported_with_markets(void) {
  static const char *const markets[] = {"static",          "spot-first",       "price-capacity",
                                        "deadline-greedy", "uniform-progress", "omniscient"};
  static const char *const backfills[] = {"strict", "easy"};
  make_load();
  load.placement = "best-fit";
  for (size_t i = 0; i < sizeof markets / sizeof *markets; i++) {
    bool by_deadline = i > 2;
    load.n_jobs = by_deadline ? 10 : 300;
    /* all times are multiples of a coarse unit, so that an exhaustive search is possible */
    for (uint32_t job = 0; by_deadline && job < load.n_jobs; job++) {
      load.submit_us[job] = 0;
      load.work_us[job] = 1000 * (1 + job % 3);
      load.deadline_us[job] = 10000;
    }
    for (size_t j = 0; j < (by_deadline ? 1 : 2); j++) {
      load.market = markets[i];
      load.backfill = backfills[j];
      CU_ASSERT(starve(run_once) > 5);
    }
  }
  load.market = NULL;
}

static void failures_are_reported_with_first_come_memory(void) {
  make_load();
  load.n_jobs = 100;
  load.backfill = "skip";
  load.placement = "best-fit";
  load.first_come = true;
  CU_ASSERT(starve(run_once) > 5);
  load.first_come = false;
}

static void failures_are_reported_with_data(void) {
  make_load();
  load.n_jobs = 300;
  load.backfill = "skip";
  load.placement = "best-fit";
  load.reads_data = true;
  CU_ASSERT(starve(run_once) > 10);
  load.reads_data = false;
}

TEST_MAIN("sim no memory", TEST(failures_are_reported_with_data), TEST(failures_are_reported),
          TEST(failures_are_reported_with_locality), TEST(failures_are_reported_with_first_come_memory),
          TEST(failures_are_reported_with_markets))
