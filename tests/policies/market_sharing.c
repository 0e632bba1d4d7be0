/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Acquisition and release of nodes by the queue policy with per-GPU allocation or topology constraints: small cases
   computed by hand, to the second; the same runs in counted and per-GPU allocation; and random worlds in checked mode.
   In the runs of the last two kinds, the result must state the up time that follows from the events of nodes. */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "holds.h"
#include "mig_brute.h"
#include "queue_choice.h"

#include <stdlib.h>
#include <string.h>

#define S HR_SECOND_US

enum { JOBS = 60, NODES = 6, MAX_LOGGED = 40000, ON_DEMAND = 0, SPOT = 1, POOLS = 2 };

struct logged {
  int64_t at_us;
  enum hr_event_kind kind;
  uint32_t pool, node, job;
};

/* An on-demand pool at 3 $/h and a spot pool at 1 $/h. */
static struct {
  int64_t submit_us[JOBS], work_us[JOBS], limit_us[JOBS], wait_us[JOBS];
  uint32_t gpus[JOBS], tasks[JOBS], cpu_milli[JOBS];
  uint16_t gpu_milli[JOBS];
  uint8_t within[JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pools[POOLS];
  struct hr_level_step levels[8];
  struct hr_cluster_spec cluster;
  struct hr_policy_choice choice;
  struct logged log[MAX_LOGGED];
  uint32_t n_logged;
  struct hr_result *result;
} world;

/* ---- Runs ------------------------------------------------------------------------------------------- */

static void log_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  (void)self;
  (void)view;
  uint32_t pool = event->placement ? event->placement->pool.id : event->pool.id;
  bool is_placed = event->placement && event->placement->n_slices > 0;
  uint32_t node = is_placed ? event->placement->slices[0].node.id : event->node.id;
  if (event->kind != HR_EVENT_TIMER && world.n_logged < MAX_LOGGED)
    world.log[world.n_logged++] = (struct logged){event->at_us, event->kind, pool, node, event->job.id};
}

/* Begins a world without jobs. Nodes have `n_gpus` GPUs and boot in 60 s. */
static void begin(const char *rule, uint32_t n_gpus, enum hr_sharing sharing) {
  static char names[POOLS][8] = {"demand", "spot"}, gpu[] = "A100-80";
  memset(&world, 0, sizeof world);
  for (uint32_t i = 0; i < POOLS; i++) {
    world.pools[i] = (struct hr_pool_spec){
        .name = names[i], .gpu = gpu, .nodes = NODES, .gpus_per_node = n_gpus, .sharing = sharing};
    world.pools[i].market = (struct hr_market_spec){.market = i == SPOT ? HR_MARKET_SPOT : HR_MARKET_ON_DEMAND,
                                                    .price_uusd_h = 1000000 * (i == SPOT ? 1 : 3),
                                                    .boot = {HR_DURATION_FIXED, 60, 0}};
  }
  world.cluster = (struct hr_cluster_spec){.pools = world.pools, .n_pools = POOLS, .mig_fallback = true};
  world.choice = queue_choice("skip", "best-fit");
  queue_set(&world.choice, "market", rule);
  queue_set(&world.choice, "idle_release_s", "30");
  world.trace = (struct hr_trace){.source = "test",
                                  .submit_us = world.submit_us,
                                  .work_us = world.work_us,
                                  .limit_us = world.limit_us,
                                  .gpus = world.gpus,
                                  .tasks = world.tasks,
                                  .cpu_milli = world.cpu_milli,
                                  .gpu_milli = world.gpu_milli};
}

static uint32_t add_job(int64_t submit_s, int64_t work_s, uint32_t gpus, uint16_t gpu_milli) {
  uint32_t i = world.trace.n_jobs++;
  world.submit_us[i] = submit_s * S;
  world.work_us[i] = world.limit_us[i] = work_s * S;
  world.gpus[i] = gpus;
  world.tasks[i] = 1;
  world.gpu_milli[i] = gpu_milli;
  world.wait_us[i] = HR_UNKNOWN_US;
  return i;
}

static void set_within(uint32_t job, enum hr_tier tier) {
  world.trace.within = world.within;
  world.trace.within_wait_us = world.wait_us;
  world.within[job] = (uint8_t)tier;
}

/* Runs the world with `n` more observers. */
static void run_with(const struct hr_observer *more, uint32_t n) {
  struct hr_observer observers[1 + HOLDS_FOLDS] = {{NULL, log_event, NULL}};
  for (uint32_t i = 0; i < n; i++) observers[1 + i] = more[i];
  struct hr_class_spec classes[HR_N_CLASSES] = {{0}};
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) classes[i].checkpoint = HR_CHECKPOINT_CONTINUOUS;
  struct hr_run_config config = {.trace = &world.trace,
                                 .cluster = &world.cluster,
                                 .policy = world.choice.ops,
                                 .params = world.choice.params,
                                 .horizon_us = 1000000 * S,
                                 .check = true,
                                 .classes = classes,
                                 .observers = observers,
                                 .n_observers = 1 + n};
  struct hr_error error = {0};
  world.n_logged = 0;
  enum hr_status status = hr_sim_run(&config, &world.result, &error);
  if (status != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  CU_ASSERT_TRUE(world.n_logged < MAX_LOGGED);
  CU_ASSERT_EQUAL(world.result->n_completed + world.result->n_rejected, world.trace.n_jobs);
}

static void run(void) {
  run_with(NULL, 0);
}

static void finish(void) {
  hr_result_destroy(world.result);
  hr_policy_choice_finish(&world.choice);
  for (uint32_t i = 0; i < POOLS; i++) hr_pool_sharing_finish(&world.pools[i]);
}

/* Returns the time of the n-th event of a kind in a pool, in seconds; -1: no such event. */
static int64_t time_s(enum hr_event_kind kind, uint32_t pool, uint32_t n) {
  for (uint32_t i = 0; i < world.n_logged; i++)
    if (world.log[i].kind == kind && world.log[i].pool == pool && n-- == 0) return world.log[i].at_us / S;
  return -1;
}

static uint32_t count(enum hr_event_kind kind, uint32_t pool) {
  uint32_t n = 0;
  while (time_s(kind, pool, n) >= 0) n++;
  return n;
}

static int64_t start_s(uint32_t job) {
  return world.result->start_us[job] / S;
}

/* ---- Cases by hand ---------------------------------------------------------------------------------- */

/* Two of three jobs with 0.4 GPUs share a node. Both nodes are released at 190 s, so the fourth job needs a new
   node. */
static void fractions_share_requested_nodes(void) {
  begin("on-demand-only", 1, HR_SHARING_FRACTION);
  for (int i = 0; i < 3; i++) add_job(0, 100, 1, 400);
  add_job(200, 100, 1, 400);
  run();
  CU_ASSERT_EQUAL(count(HR_EVENT_ACQUIRE, ON_DEMAND), 3);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_ACQUIRE, ON_DEMAND, 1), 0);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_ACQUIRE, ON_DEMAND, 2), 200);
  for (uint32_t i = 0; i < 3; i++) CU_ASSERT_EQUAL(start_s(i), 60);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_RELEASE, ON_DEMAND, 0), 190);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_RELEASE, ON_DEMAND, 1), 190);
  finish();
}

/* The tasks of a gang need two nodes, because two tasks of 0.6 GPUs do not fit on one GPU. A job with 0.3 GPUs that is
   submitted during the boot fits beside a task. A job with 0.5 GPUs needs a third node. */
static void gang_needs_a_node_for_each_task(void) {
  begin("on-demand-only", 1, HR_SHARING_FRACTION);
  world.tasks[add_job(0, 100, 2, 600)] = 2;
  add_job(30, 10, 1, 300);
  add_job(40, 10, 1, 500);
  run();
  CU_ASSERT_EQUAL(count(HR_EVENT_ACQUIRE, ON_DEMAND), 3);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_ACQUIRE, ON_DEMAND, 1), 0);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_ACQUIRE, ON_DEMAND, 2), 40);
  CU_ASSERT_EQUAL(start_s(0), 60);
  CU_ASSERT_EQUAL(start_s(1), 60);
  CU_ASSERT_EQUAL(start_s(2), 100);
  finish();
}

/* A node is requested for a task without GPUs, and is not idle while the task runs. */
static void task_without_gpus_keeps_its_node(void) {
  begin("on-demand-only", 1, HR_SHARING_FRACTION);
  world.pools[ON_DEMAND].cpu_milli_per_node = 8000;
  world.pools[SPOT].cpu_milli_per_node = 8000;
  world.cpu_milli[add_job(0, 500, 0, 1000)] = 6000;
  world.cpu_milli[add_job(0, 100, 1, 1000)] = 2000;
  world.cpu_milli[add_job(0, 100, 1, 1000)] = 4000;
  add_job(600, 100, 1, 1000);
  run();
  CU_ASSERT_EQUAL(count(HR_EVENT_ACQUIRE, ON_DEMAND), 3);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_ACQUIRE, ON_DEMAND, 1), 0);
  CU_ASSERT_EQUAL(start_s(0), 60);
  CU_ASSERT_EQUAL(start_s(2), 60);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_RELEASE, ON_DEMAND, 0), 190);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_RELEASE, ON_DEMAND, 1), 590);
  finish();
}

/* Both jobs of a shared on-demand node move to one spot node. */
static void shared_jobs_return_to_one_spot_node(void) {
  begin("spot-first", 1, HR_SHARING_FRACTION);
  world.levels[0] = (struct hr_level_step){0, 0};
  world.levels[1] = (struct hr_level_step){1000 * S, NODES};
  world.pools[SPOT].market.spot =
      (struct hr_spot_spec){.model = HR_SPOT_TRACE, .levels = world.levels, .n_levels = 2, .period_us = 1000000 * S};
  queue_set(&world.choice, "spot_wait_s", "100");
  queue_set(&world.choice, "spot_hold_s", "300");
  add_job(0, 5000, 1, 500);
  add_job(0, 6000, 1, 500);
  run();
  CU_ASSERT_EQUAL(time_s(HR_EVENT_ACQUIRE, ON_DEMAND, 0), 100);
  CU_ASSERT_EQUAL(count(HR_EVENT_ACQUIRE, ON_DEMAND), 1);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_ACQUIRE, SPOT, 0), 1300);
  CU_ASSERT_EQUAL(count(HR_EVENT_ACQUIRE, SPOT), 1);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_START, SPOT, 1), 1360);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_RELEASE, ON_DEMAND, 0), 1390);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_END, SPOT, 0), 5160);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_END, SPOT, 1), 6160);
  finish();
}

/* Sets MIG in both pools. Unless instances are created on demand, GPUs begin with seven instances of 1g. With
   `dynamic`, an empty GPU can get one instance of 4g and one of 3g instead. */
static void split(enum hr_mig_mode mode) {
  const struct brute_type *type = &brute_types[2];
  static const char *const layouts[] = {"7x1g.10gb", "4g.40gb,3g.40gb"};
  struct hr_mig_profile profiles[BRUTE_PROFILES];
  struct hr_mig_type made;
  struct hr_error error;
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
  hr_mig_type_init(&made, type->gpu, profiles, (uint32_t)type->n_profiles);
  for (uint32_t i = 0; i < POOLS; i++) {
    struct hr_mig_spec *spec = world.pools[i].mig = hr_mig_spec_create(&made, mode);
    struct hr_mig_gpu gpu;
    uint32_t number;
    for (uint32_t at = 0; at < 2 && mode != HR_MIG_ON_DEMAND; at++)
      if (hr_mig_layout(&spec->type, layouts[at], &gpu, &error) != HR_OK ||
          hr_mig_spec_add(spec, layouts[at], &gpu, &number) != HR_OK)
        abort();
    if (mode != HR_MIG_ON_DEMAND) spec->layout_of_gpu = calloc(world.pools[i].gpus_per_node, 1);
  }
}

/* A GPU has seven instances of 1g. With `dynamic`, an empty GPU can get the layout with a 3g, so a job of 0.4 GPUs
   needs a third node; with `static` it could never run. */
static void instances_of_requested_nodes_are_counted(void) {
  begin("on-demand-only", 1, HR_SHARING_MIG);
  split(HR_MIG_DYNAMIC);
  for (int i = 0; i < 8; i++) add_job(0, 100, 1, 100);
  add_job(0, 100, 1, 400);
  run();
  CU_ASSERT_EQUAL(count(HR_EVENT_ACQUIRE, ON_DEMAND), 3);
  for (uint32_t i = 0; i < 9; i++) CU_ASSERT_EQUAL(start_s(i), 60);
  finish();
  begin("on-demand-only", 1, HR_SHARING_MIG);
  split(HR_MIG_STATIC);
  for (int i = 0; i < 8; i++) add_job(0, 100, 1, 100);
  add_job(0, 100, 1, 400);
  run();
  CU_ASSERT_EQUAL(count(HR_EVENT_ACQUIRE, ON_DEMAND), 2);
  CU_ASSERT_EQUAL(world.result->n_rejected, 1);
  finish();
}

/* Two GPUs of the node are free, but in different islands. */
static void job_within_an_island_needs_a_new_node(void) {
  begin("on-demand-only", 4, HR_SHARING_FRACTION);
  for (uint32_t i = 0; i < POOLS; i++) world.pools[i].topology.island_gpus = 2;
  add_job(0, 10, 1, 1000);
  add_job(0, 500, 1, 1000);
  add_job(0, 500, 1, 1000);
  uint32_t job = add_job(100, 10, 2, 1000), other = add_job(110, 10, 2, 1000);
  set_within(job, HR_TIER_ISLAND);
  run();
  CU_ASSERT_EQUAL(count(HR_EVENT_ACQUIRE, ON_DEMAND), 2);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_ACQUIRE, ON_DEMAND, 1), 100);
  CU_ASSERT_EQUAL(start_s(job), 160);
  CU_ASSERT_EQUAL(start_s(other), 110);
  finish();
}

/* Counted allocation: node 0 is in use, so a gang within one rack needs nodes 2 and 3. Nodes are requested in the order
   of their numbers, so node 1 is requested as well. */
static void gang_within_a_rack_needs_a_complete_rack(void) {
  begin("on-demand-only", 1, HR_SHARING_WHOLE);
  world.trace.gpu_milli = NULL;
  world.trace.tasks = NULL;
  for (uint32_t i = 0; i < POOLS; i++) world.pools[i].topology.nodes_per_rack = 2;
  add_job(0, 1000, 1, 1000);
  uint32_t gang = add_job(100, 200, 2, 1000);
  set_within(gang, HR_TIER_RACK);
  run();
  CU_ASSERT_EQUAL(count(HR_EVENT_ACQUIRE, ON_DEMAND), 4);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_ACQUIRE, ON_DEMAND, 3), 100);
  CU_ASSERT_EQUAL(start_s(gang), 160);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_RELEASE, ON_DEMAND, 0), 190); /* node 1 */
  CU_ASSERT_EQUAL(time_s(HR_EVENT_RELEASE, ON_DEMAND, 1), 390);
  finish();
}

/* The constraint expires at 150 s. Until then no node is requested, because only two nodes of different racks are left.
 */
static void expired_constraint_changes_the_demand(void) {
  begin("on-demand-only", 1, HR_SHARING_WHOLE);
  world.trace.gpu_milli = NULL;
  world.trace.tasks = NULL;
  for (uint32_t i = 0; i < POOLS; i++) world.pools[i].topology.nodes_per_rack = 2;
  world.pools[ON_DEMAND].nodes = world.pools[SPOT].nodes = 4;
  for (int i = 0; i < 4; i++) add_job(0, i % 2 ? 20 : 1000, 1, 1000);
  queue_set(&world.choice, "idle_release_s", "10");
  uint32_t gang = add_job(100, 200, 2, 1000);
  set_within(gang, HR_TIER_RACK);
  world.wait_us[gang] = 50 * S;
  run();
  CU_ASSERT_EQUAL(count(HR_EVENT_ACQUIRE, ON_DEMAND), 6);
  CU_ASSERT_EQUAL(time_s(HR_EVENT_ACQUIRE, ON_DEMAND, 4), 150);
  CU_ASSERT_EQUAL(start_s(gang), 210);
  finish();
}

/* ---- Random worlds ---------------------------------------------------------------------------------- */

static struct hr__stream draws;

static uint32_t draw(uint32_t below) {
  return hr__stream_next(&draws) % below;
}

static void draw_spot(void) {
  int64_t at_us = 0;
  for (uint32_t i = 0; i < 8; i++) {
    world.levels[i] = (struct hr_level_step){at_us, i % 2 ? draw(3) : NODES};
    at_us += (int64_t)(100 + draw(2000)) * S;
  }
  world.pools[SPOT].market.spot = (struct hr_spot_spec){.model = HR_SPOT_TRACE,
                                                        .levels = world.levels,
                                                        .n_levels = 8,
                                                        .period_us = at_us,
                                                        .notice_us = draw(2) ? 60 * S : 0};
}

static const char *const rules[] = {"on-demand-only", "spot-first", "price-capacity"};

static void draw_policy(uint32_t n_placements) {
  queue_set(&world.choice, "backfill", (const char *[]){"strict", "skip", "easy"}[draw(3)]);
  queue_set(&world.choice, "placement", (const char *[]){"best-fit", "first-fit", "random"}[draw(n_placements)]);
  queue_set_number(&world.choice, "idle_release_s", 1 + draw(300));
  queue_set_number(&world.choice, "min_on_demand", draw(3));
  queue_set_number(&world.choice, "spot_wait_s", 1 + draw(400));
  queue_set_number(&world.choice, "spot_hold_s", 1 + draw(200));
}

/* Checks that the up time of a pool in the result equals the sum of the times from the acquisition of each node to its
   release or failure, or to the end of the run. */
static void check_node_time(uint32_t pool) {
  int64_t since_us[POOLS * NODES], sum_us = 0;
  for (uint32_t i = 0; i < POOLS * NODES; i++) since_us[i] = -1;
  for (uint32_t i = 0; i < world.n_logged; i++) {
    const struct logged *event = &world.log[i];
    if (event->pool != pool || event->job != HR_NONE || event->node == HR_NONE) continue;
    if (event->kind == HR_EVENT_ACQUIRE) since_us[event->node] = event->at_us;
    if ((event->kind != HR_EVENT_RELEASE && event->kind != HR_EVENT_NODE_DOWN) || since_us[event->node] < 0) continue;
    sum_us += event->at_us - since_us[event->node];
    since_us[event->node] = -1;
  }
  for (uint32_t i = 0; i < POOLS * NODES; i++)
    if (since_us[i] >= 0) sum_us += world.result->end_us - since_us[i];
  CU_ASSERT_TRUE((hr_amount)sum_us == world.result->pools[pool].up_us);
}

/* Jobs that use whole nodes. For smaller jobs, counted allocation may request more nodes than per-GPU allocation,
   because it does not know which GPUs of a node remain after a job was packed on it. */
static void draw_jobs_of_nodes(uint32_t n_gpus) {
  int64_t at_s = 0;
  for (uint32_t i = 0; i < JOBS; i++) {
    at_s += draw(4) ? draw(60) : draw(1500);
    add_job(at_s, 1 + draw(1500), n_gpus * (draw(3) ? 1 : 1 + draw(3)), 1000);
  }
}

/* In counted and in per-GPU allocation, the same nodes are requested and released, and the same jobs start. */
static void both_allocations_request_the_same_nodes(void) {
  static struct logged log[MAX_LOGGED];
  for (uint32_t seed = 0; seed < 120; seed++) {
    uint32_t n_logged = 0, n_gpus = 0;
    for (int by_gpu = 0; by_gpu < 2; by_gpu++) {
      hr__stream_init(&draws, seed, 0, 0, 0);
      n_gpus = draw(2) ? 1 : 4;
      begin(rules[seed % 3], n_gpus, HR_SHARING_WHOLE);
      world.trace.gpu_milli = NULL;
      world.trace.tasks = NULL;
      draw_spot();
      draw_policy(2);
      /* with max_spot_share, spot-first differs: counted allocation requests all nodes of a demand together, even if
         the first ones permit a spot node */
      if (seed % 3 != 1 && draw(3) == 0) queue_set(&world.choice, "max_spot_share", "0.5");
      draw_jobs_of_nodes(n_gpus);
      world.cluster.by_gpu = by_gpu;
      run();
      check_node_time(ON_DEMAND);
      check_node_time(SPOT);
      if (by_gpu) {
        CU_ASSERT_EQUAL(world.n_logged, n_logged);
        uint32_t same = 0;
        while (same < n_logged && memcmp(&log[same], &world.log[same], sizeof *log) == 0) same++;
        if (same < n_logged)
          printf("\n  seed %u, %s, %u GPUs: event %u at %d s\n", seed, rules[seed % 3], n_gpus, same,
                 (int)(log[same].at_us / S));
        CU_ASSERT_EQUAL(same, n_logged);
      }
      memcpy(log, world.log, sizeof log);
      n_logged = world.n_logged;
      finish();
    }
  }
}

enum kind { FRACTION, MPS, TIME_SLICE, MIG_STATIC, MIG_DYNAMIC, MIG_ON_DEMAND, ISLANDS, RACKS, N_KINDS };

static void draw_shared_job(enum kind kind, int64_t at_s) {
  /* with time-slicing, a job that requests a whole GPU gets a part, so the test of wait reasons would be wrong */
  bool shares = kind < ISLANDS && (kind == TIME_SLICE || draw(4));
  uint16_t milli = shares ? (uint16_t)(100 + draw(kind == FRACTION || kind == MPS ? 900
                                                  : kind == TIME_SLICE            ? 200
                                                                                  : 300))
                          : 1000;
  if (kind == MIG_STATIC) milli = (uint16_t)(50 + draw(90));
  uint32_t tasks = draw(3) ? 1 : 1 + draw(3), gpus = kind >= ISLANDS ? tasks * (1 + draw(2)) : tasks;
  if (draw(8) == 0 && kind != RACKS) gpus = 0;
  uint32_t job = add_job(at_s, 1 + draw(1500), gpus, milli);
  world.limit_us[job] *= 1 + draw(3);
  world.tasks[job] = gpus ? tasks : 1;
  world.cpu_milli[job] = kind == RACKS ? 0 : draw(2) || !gpus ? 1000 + draw(4000) : 0;
  if (kind < ISLANDS || draw(2)) return;
  set_within(job, kind == RACKS ? HR_TIER_RACK : draw(2) ? HR_TIER_ISLAND : HR_TIER_NODE);
  if (draw(2)) world.wait_us[job] = (int64_t)draw(500) * S;
}

static void draw_shared_world(enum kind kind) {
  static const enum hr_sharing sharings[] = {HR_SHARING_FRACTION, HR_SHARING_MPS,  HR_SHARING_TIME_SLICE,
                                             HR_SHARING_MIG,      HR_SHARING_MIG,  HR_SHARING_MIG,
                                             HR_SHARING_WHOLE,    HR_SHARING_WHOLE};
  begin(rules[draw(3)], draw(2) ? 2 : 4, sharings[kind]);
  draw_spot();
  draw_policy(kind == RACKS ? 2 : 3);
  if (draw(3) == 0) queue_set(&world.choice, "max_spot_share", "0.5");
  if (kind == RACKS) world.trace.gpu_milli = NULL;
  if (kind == RACKS) world.trace.tasks = NULL;
  if (kind == RACKS) world.trace.cpu_milli = NULL;
  if (kind >= MIG_STATIC && kind <= MIG_ON_DEMAND)
    split((enum hr_mig_mode[]){HR_MIG_STATIC, HR_MIG_DYNAMIC, HR_MIG_ON_DEMAND}[kind - MIG_STATIC]);
  for (uint32_t i = 0; i < POOLS; i++) {
    if (kind == TIME_SLICE) world.pools[i].replicas = 3;
    if (kind != RACKS) world.pools[i].cpu_milli_per_node = 10000;
    if (kind == ISLANDS) world.pools[i].topology.island_gpus = 2;
    if (kind == RACKS) world.pools[i].topology.nodes_per_rack = 2;
  }
  world.cluster.by_gpu = kind != RACKS;
  int64_t at_s = 0;
  for (uint32_t i = 0; i < JOBS; i++) draw_shared_job(kind, at_s += draw(4) ? draw(60) : draw(1500));
}

/* Runs the world again, and queries the wait reasons of jobs at each instant. This does not change the run. */
static void explain_again(void) {
  struct hr_observer observers[HOLDS_FOLDS];
  struct holds holds;
  uint64_t digest = world.result->digest;
  hr_result_destroy(world.result);
  if (!holds_init(&holds, &world.trace)) abort();
  holds_observers(&holds, observers);
  run_with(observers, HOLDS_FOLDS);
  holds_check_end(&holds, world.result);
  if (holds.fault[0]) printf("\n  %s\n", holds.fault);
  CU_ASSERT_EQUAL(holds.fault[0], 0);
  CU_ASSERT_EQUAL(world.result->digest, digest);
  holds_finish(&holds);
}

/* Every job ends, and the up times of the pools are correct (check_node_time). Checked mode verifies the invariants of
   the engine. */
static void random_worlds(void) {
  for (uint32_t seed = 0; seed < 320; seed++) {
    hr__stream_init(&draws, seed, 1, 0, 0);
    draw_shared_world((enum kind)(seed % N_KINDS));
    run();
    check_node_time(ON_DEMAND);
    check_node_time(SPOT);
    explain_again();
    finish();
  }
}

TEST_MAIN("market_sharing", TEST(fractions_share_requested_nodes), TEST(gang_needs_a_node_for_each_task),
          TEST(task_without_gpus_keeps_its_node), TEST(shared_jobs_return_to_one_spot_node),
          TEST(instances_of_requested_nodes_are_counted), TEST(job_within_an_island_needs_a_new_node),
          TEST(gang_within_a_rack_needs_a_complete_rack), TEST(expired_constraint_changes_the_demand),
          TEST(both_allocations_request_the_same_nodes), TEST(random_worlds))
