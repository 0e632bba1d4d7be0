/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Combinations of settings and kinds of capacity: order x backfill x placement x preemption x market x topology x
 * {whole, per-GPU, fraction, MPS, time-slice, MIG static, dynamic, on-demand}. There are quotas if the preemption is
 * `reclaim`, and in a third of the other combinations. The settings are those of the queue policy; gang-slice, rounds
 * and kai run with a few values of one parameter. Each combination runs on small random worlds in checked mode. Every
 * run must end, every job must end or be rejected (with spot capacity the run may stall instead), and a second run must
 * have the same digest. A combination must be refused if and only if `impossible` returns true.
 *
 *   test_combinations [STEP]    runs every STEP-th combination; default: 1, or $HEADROOM_CONFORMANCE_STEP
 */

#include "mig_brute.h"

#include "headroom/policies.h"
#include "headroom/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS = 40, POOLS = 2, N_LEVELS = 6, N_SEEDS = 2 };

/* ---- Kinds of capacity ------------------------------------------------------------------------------ */

enum sharing { WHOLE, BY_GPU, FRACTION, MPS, TIME_SLICE, MIG_STATIC, MIG_DYNAMIC, MIG_ON_DEMAND, N_SHARINGS };
static const char *const sharing_names[] = {"whole",      "whole by GPU", "fraction",    "mps",
                                            "time-slice", "MIG static",   "MIG dynamic", "MIG on-demand"};
enum topology { NO_TOPOLOGY, REQUIRED, PREFERRED, REQUIRED_FOR_A_TIME, N_TOPOLOGIES };
static const char *const topology_names[] = {"anywhere", "required tier", "preferred tier", "tier for a time"};

static struct {
  enum sharing sharing;
  enum topology topology;
  bool is_elastic, has_quotas; /* is_elastic: the second pool is spot capacity, the first one on-demand */
  int64_t submit_us[JOBS], work_us[JOBS], limit_us[JOBS], within_wait_us[JOBS];
  uint32_t gpus[JOBS], tasks[JOBS], tenant[JOBS], cpu_milli[JOBS];
  int32_t priority[JOBS];
  uint16_t gpu_milli[JOBS];
  uint8_t within[JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pools[POOLS];
  struct hr_cluster_spec cluster;
  struct hr_level_step levels[N_LEVELS];
  struct hr_class_spec classes[HR_N_CLASSES];
} world;

static uint64_t random_state;

/* Returns a random number from 0 to `below` - 1. */
static uint32_t draw(uint32_t below) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((random_state >> 33) % below);
}

static bool is_mig(void) {
  return world.sharing >= MIG_STATIC;
}

/* Returns the MIG specification for GPUs of the type A100-80 of mig_brute.h. Unless instances are created on demand,
   GPU i begins with layout i % 3: seven 1g; three 2g and one 1g; or one 4g and one 3g. */
static struct hr_mig_spec *make_mig(uint32_t n_gpus) {
  const struct brute_type *type = &brute_types[2];
  struct hr_mig_profile profiles[BRUTE_PROFILES];
  for (int i = 0; i < type->n_profiles; i++) {
    const struct brute_profile *brute = &type->profiles[i];
    profiles[i] = (struct hr_mig_profile){.name = brute->name,
                                          .mem_mib = (uint32_t)brute->memory * 1000,
                                          .compute_slices = (uint8_t)brute->compute,
                                          .memory_slices = (uint8_t)brute->memory,
                                          .max_instances = (uint8_t)brute->most,
                                          .media = strstr(brute->name, "+me") != NULL};
    for (const int *start = brute->starts; *start >= 0; start++)
      profiles[i].starts = (uint8_t)(profiles[i].starts | 1 << *start);
  }
  struct hr_mig_type made;
  struct hr_error error;
  hr_mig_type_init(&made, type->gpu, profiles, (uint32_t)type->n_profiles);
  static const enum hr_mig_mode modes[] = {HR_MIG_STATIC, HR_MIG_DYNAMIC, HR_MIG_ON_DEMAND};
  struct hr_mig_spec *spec = hr_mig_spec_create(&made, modes[world.sharing - MIG_STATIC]);
  static const char *const layouts[] = {"7x1g.10gb", "3x2g.20gb,1g.10gb", "4g.40gb,3g.40gb"};
  if (!spec) abort();
  if (world.sharing == MIG_ON_DEMAND) return spec;
  spec->layout_of_gpu = calloc(n_gpus, 1);
  for (uint32_t i = 0; i < 3; i++) {
    struct hr_mig_gpu gpu;
    uint32_t number;
    if (hr_mig_layout(&spec->type, layouts[i], &gpu, &error) != HR_OK ||
        hr_mig_spec_add(spec, layouts[i], &gpu, &number) != HR_OK || !spec->layout_of_gpu)
      abort();
  }
  for (uint32_t i = 0; i < n_gpus; i++) spec->layout_of_gpu[i] = (uint8_t)(i % 3);
  return spec;
}

static void draw_pools(void) {
  static char names[POOLS][8] = {"first", "second"}, gpu[] = "A100-80";
  static const enum hr_sharing sharings[] = {HR_SHARING_WHOLE, HR_SHARING_WHOLE,      HR_SHARING_FRACTION,
                                             HR_SHARING_MPS,   HR_SHARING_TIME_SLICE, HR_SHARING_MIG,
                                             HR_SHARING_MIG,   HR_SHARING_MIG};
  for (uint32_t i = 0; i < POOLS; i++) {
    struct hr_pool_spec *pool = &world.pools[i];
    *pool = (struct hr_pool_spec){.name = names[i],
                                  .gpu = gpu,
                                  .nodes = 4,
                                  .gpus_per_node = 4,
                                  .cpu_milli_per_node = 32000,
                                  .sharing = sharings[world.sharing],
                                  .replicas = world.sharing == TIME_SLICE ? 3 : 0};
    pool->market.to_us = HR_NEVER_US;
    pool->market.on_demand_uusd_h = pool->market.price_uusd_h = 1000000 * (2 - i);
    if (is_mig()) pool->mig = make_mig(4);
    if (world.topology == NO_TOPOLOGY) continue;
    pool->topology.nodes_per_rack = 2;
    if (world.sharing != WHOLE) pool->topology.island_gpus = 2;
  }
  world.cluster = (struct hr_cluster_spec){
      .pools = world.pools, .n_pools = POOLS, .by_gpu = world.sharing == BY_GPU, .mig_fallback = true};
}

static void free_pools(void) {
  for (uint32_t i = 0; i < POOLS; i++) hr_pool_sharing_finish(&world.pools[i]);
}

static void make_elastic(void) {
  int64_t at_us = 0;
  for (uint32_t i = 0; i < N_LEVELS; i++) {
    world.levels[i] = (struct hr_level_step){at_us, i % 2 ? draw(2) : world.pools[1].nodes};
    at_us += 60 * HR_SECOND_US * (20 + draw(40));
  }
  world.pools[0].market.market = HR_MARKET_ON_DEMAND;
  world.pools[1].market.market = HR_MARKET_SPOT;
  world.pools[1].market.spot = (struct hr_spot_spec){.model = HR_SPOT_TRACE,
                                                     .levels = world.levels,
                                                     .n_levels = N_LEVELS,
                                                     .period_us = at_us,
                                                     .notice_us = draw(2) ? 120 * HR_SECOND_US : 0};
}

/* A third of the jobs are gangs of two or three tasks. In pools with shared GPUs, three quarters of the jobs (all jobs
   with MIG) have tasks that request a share of one GPU. */
static void draw_job(uint32_t i, int64_t *at_us) {
  static const enum hr_tier tiers[] = {HR_TIER_ISLAND, HR_TIER_NODE, HR_TIER_RACK};
  *at_us += 60 * HR_SECOND_US * draw(3);
  world.submit_us[i] = *at_us;
  world.work_us[i] = 60 * HR_SECOND_US * (draw(15) ? 1 + draw(20) : 0);
  world.limit_us[i] = world.work_us[i] * (1 + draw(2));
  world.tasks[i] = draw(3) ? 1 : 2 + draw(2);
  bool shares = world.sharing >= FRACTION && (is_mig() || draw(4));
  world.gpus[i] = world.tasks[i] * (shares ? 1 : draw(8) ? 1 + draw(3) : draw(2) * 4);
  world.gpu_milli[i] = (uint16_t)(shares ? 100 + draw(is_mig() ? 500 : 900) : 1000);
  world.cpu_milli[i] = draw(2) * 4000;
  world.tenant[i] = draw(5) ? draw(3) : HR_NONE;
  world.priority[i] = (int32_t)draw(3);
  world.within[i] = (uint8_t)(draw(2) && world.topology != NO_TOPOLOGY ? tiers[draw(3)] : HR_TIER_ANY);
  static const int64_t waits_us[] = {0, HR_UNKNOWN_US, 0, 600 * HR_SECOND_US};
  world.within_wait_us[i] = waits_us[world.topology];
}

static void draw_world(uint64_t seed) {
  static const char *const tenants[] = {"a", "b", "c"};
  int64_t at_us = 0;
  random_state = seed;
  draw_pools();
  if (world.is_elastic) make_elastic();
  for (uint32_t i = 0; i < JOBS; i++) draw_job(i, &at_us);
  world.submit_us[0] = 0;
  world.tasks[0] = world.gpus[0] = 2; /* so that an impossible combination is refused in every world */
  if (world.topology != NO_TOPOLOGY) world.within[0] = HR_TIER_RACK;
  bool within = world.topology != NO_TOPOLOGY;
  world.trace = (struct hr_trace){.source = "random",
                                  .n_jobs = JOBS,
                                  .submit_us = world.submit_us,
                                  .work_us = world.work_us,
                                  .limit_us = world.limit_us,
                                  .gpus = world.gpus,
                                  .tasks = world.tasks,
                                  .gpu_milli = world.gpu_milli,
                                  .cpu_milli = world.cpu_milli,
                                  .tenant = world.tenant,
                                  .priority = world.priority,
                                  .within = within ? world.within : NULL,
                                  .within_wait_us = within ? world.within_wait_us : NULL,
                                  .tenants = {3, tenants}};
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    world.classes[i] = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_CONTINUOUS};
}

/* ---- What is impossible ----------------------------------------------------------------------------- */

static bool has(const struct hr_policy_choice *choice, const char *key, const char *value) {
  char buffer[32];
  for (size_t i = 0; i < choice->n_params; i++)
    if (strcmp(choice->ops->params[i].key, key) == 0)
      return strcmp(hr_policy_choice_text(choice, i, buffer), value) == 0;
  return false;
}

/* Returns whether a combination must be refused. The placement `pool` only counts GPUs, so it supports neither per-GPU
   allocation nor topology constraints. Of the other policies here, only `kai` supports topology constraints. It shares
   GPUs only as fractions or as static MIG instances. */
static bool impossible(const struct hr_policy_choice *choice) {
  bool by_gpu = world.sharing != WHOLE, within = world.topology != NO_TOPOLOGY;
  bool is_queue = strcmp(choice->ops->name, "queue") == 0;
  bool is_kai = strcmp(choice->ops->name, "kai") == 0;
  if (is_kai) return world.sharing > FRACTION && world.sharing != MIG_STATIC;
  return (has(choice, "placement", "pool") && (by_gpu || within)) || (within && !is_queue);
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

/* Tenants a and b are in a cohort and borrow from each other; c is alone. Amounts are in milli-GPUs. */
static char quota_names[][8] = {"cohort", "a", "b", "c"};
#define NO HR_NO_LIMIT
static struct hr_quota_node quota_nodes[] = {{quota_names[0], HR_NONE, false, 0, 6000, NO, NO, 1},
                                             {quota_names[1], 0, true, 8000, NO, NO, NO, 1},
                                             {quota_names[2], 0, true, 6000, NO, NO, 16000, 2},
                                             {quota_names[3], HR_NONE, true, 6000, NO, NO, NO, 1}};
static const struct hr_quota_spec quotas = {quota_nodes, 4, {NULL, HR_NONE, true, 0, NO, NO, NO, 1}};

static unsigned n_runs, n_failed, n_refused;

static void fail(const struct hr_policy_choice *choice, uint64_t seed, const char *text) {
  char buffer[32];
  printf("FAILED: %s", choice->ops->name);
  for (size_t i = 0; i < choice->n_params; i++)
    if (strcmp(hr_policy_choice_text(choice, i, buffer), choice->ops->params[i].fallback) != 0)
      printf(" %s=%s", choice->ops->params[i].key, hr_policy_choice_text(choice, i, buffer));
  printf(" | %s, %s%s%s, seed %u: %s\n", sharing_names[world.sharing], topology_names[world.topology],
         world.is_elastic ? ", spot" : "", world.has_quotas ? ", quotas" : "", (unsigned)seed, text);
  n_failed++;
}

static enum hr_status run(const struct hr_policy_choice *choice, bool check, struct hr_result **result,
                          struct hr_error *error) {
  struct hr_run_config config = {.trace = &world.trace,
                                 .cluster = &world.cluster,
                                 .policy = choice->ops,
                                 .params = choice->params,
                                 .seed = 1,
                                 .horizon_us = HR_NEVER_US,
                                 .check = check,
                                 .classes = world.classes,
                                 .quotas = world.has_quotas ? &quotas : NULL};
  *result = NULL;
  n_runs++;
  return hr_sim_run(&config, result, error);
}

static void check_world(const struct hr_policy_choice *choice, uint64_t seed) {
  struct hr_result *result, *again = NULL;
  struct hr_error error = {0};
  draw_world(seed);
  enum hr_status status = run(choice, true, &result, &error);
  n_refused += status == HR_BAD_INPUT;
  if (impossible(choice) != (status == HR_BAD_INPUT))
    fail(choice, seed, status == HR_BAD_INPUT ? error.text : "an impossible combination is not refused");
  else if (status != HR_OK && status != HR_BAD_INPUT)
    fail(choice, seed, error.text);
  if (status == HR_OK) {
    uint64_t left = result->n_waiting + result->n_running;
    if (left > 0 && !(result->stalled && world.is_elastic)) fail(choice, seed, "not all jobs ended");
    if (result->n_completed == 0) fail(choice, seed, "no job was completed");
    if (run(choice, false, &again, &error) != HR_OK || again->digest != result->digest)
      fail(choice, seed, "a second run differs");
  }
  hr_result_destroy(result);
  hr_result_destroy(again);
  free_pools();
}

/* ---- Combinations ----------------------------------------------------------------------------------- */

static void set(struct hr_policy_choice *choice, const char *key, const char *value) {
  struct hr_error error;
  if (hr_policy_choice_set(choice, key, value, &error) == HR_OK) return;
  fprintf(stderr, "%s\n", error.text);
  abort();
}

static unsigned step = 1, n_combinations;

/* Runs a policy on all kinds of capacity. */
static void check_capacities(const struct hr_policy_choice *choice) {
  for (unsigned i = 0; i < N_SHARINGS * N_TOPOLOGIES; i++) {
    if (n_combinations++ % step) continue;
    world.sharing = (enum sharing)(i % N_SHARINGS);
    world.topology = (enum topology)(i / N_SHARINGS);
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) check_world(choice, seed + 1000 * n_combinations);
  }
}

static void check_queue(void) {
  static const char *const orders[] = {"fifo", "priority"}, *const placements[] = {"best-fit", "worst-fit", "pool"};
  static const char *const backfills[] = {"strict", "skip", "easy", "conservative"};
  static const char *const preemptions[] = {"none", "order", "priority", "reclaim"};
  static const char *const markets[] = {"static", "on-demand-only", "spot-first", "price-capacity"};
  struct hr_policy_choice choice;
  struct hr_error error;
  if (hr_policy_choice_init(&choice, "queue", &error) != HR_OK) abort();
  for (unsigned i = 0; i < 4 * 4 * 4 * 3 * 2; i++) {
    unsigned preemption = i / 4 % 4, market = i / 16 % 4;
    set(&choice, "backfill", backfills[i % 4]);
    set(&choice, "preemption", preemptions[preemption]);
    set(&choice, "market", markets[market]);
    set(&choice, "placement", placements[i / 64 % 3]);
    set(&choice, "order", orders[i / 192]);
    world.is_elastic = market > 0;
    world.has_quotas = preemption == 3 || i % 3 == 0;
    if (world.is_elastic && i / 64 % 3 == 2) continue; /* the placement `pool` does not support elastic nodes */
    check_capacities(&choice);
  }
  hr_policy_choice_finish(&choice);
}

static void check_other(const char *policy, const char *key, const char *const *values) {
  struct hr_policy_choice choice;
  struct hr_error error;
  if (hr_policy_choice_init(&choice, policy, &error) != HR_OK) abort();
  world.has_quotas = false;
  for (; *values; values++)
    for (int elastic = 0; elastic < 2; elastic++) {
      world.is_elastic = elastic;
      set(&choice, key, *values);
      check_capacities(&choice);
    }
  hr_policy_choice_finish(&choice);
}

int main(int argc, char **argv) {
  static const char *const objectives[] = {"fair", "max-min", "makespan", "cost-slo", NULL};
  static const char *const checks[] = {"true", NULL};
  static const char *const slices[] = {"30", "300", NULL};
  const char *text = argc > 1 ? argv[1] : getenv("HEADROOM_CONFORMANCE_STEP");
  if (text) step = (unsigned)strtoul(text, NULL, 10);
  hr_init();
  check_other("gang-slice", "slice_s", slices);
  check_other("rounds", "objective", objectives);
  check_other("kai", "check", checks);
  check_queue();
  printf("%u combinations, %u runs, %u refused, %u failed\n", n_combinations, n_runs, n_refused, n_failed);
  return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
