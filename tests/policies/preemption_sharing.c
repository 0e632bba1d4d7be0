/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preemption with per-GPU allocation and with topology constraints, and topology constraints on MIG GPUs. All runs are
   in checked mode. The tests are:
   - examples with known victims;
   - random worlds under all combinations of preemption, backfill and sharing;
   - runs that must have the same result in counted and in per-GPU allocation. */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "mig_brute.h"
#include "queue_choice.h"

#include <string.h>

#define S HR_SECOND_US

enum { MAX_JOBS = 60, POOLS = 2, MAX_EVENTS = 4000, MAX_PARAMS = 12, NAMES = 3 };

static const char *const profile_names[NAMES] = {"1g.6gb", "2g.12gb", "4g.24gb"};
enum { ONE_G, TWO_G, FOUR_G };

struct event {
  int64_t at_us;
  uint32_t kind, job;
};

/* A scenario and the result of its run. `profile`: 0: no MIG profile; else the index in profile_names + 1. */
struct world {
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS], limit_us[MAX_JOBS], wait_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], tasks[MAX_JOBS], cpu_milli[MAX_JOBS], tenant[MAX_JOBS], profile[MAX_JOBS];
  int32_t priority[MAX_JOBS];
  uint16_t gpu_milli[MAX_JOBS];
  uint8_t within[MAX_JOBS], flags[MAX_JOBS];
  uint32_t n_jobs, n_pools;
  struct hr_pool_spec pools[POOLS];
  struct hr_quota_node quotas[3];
  uint32_t n_quotas;
  bool by_gpu, has_within;
  const char *params[MAX_PARAMS][2];
  struct event events[MAX_EVENTS];
  uint32_t n_events, n_victims;
  uint64_t gpus_of[MAX_JOBS];  /* GPUs of the first slice of the last placement of a job */
  uint32_t node_of[MAX_JOBS];  /* node of this slice */
  uint32_t n_starts[MAX_JOBS]; /* number of starts */
  int64_t start_us[MAX_JOBS];  /* last start */
  uint8_t state[MAX_JOBS];     /* state at the end */
  struct hr_error error;
};

static struct world world, counted;

/* ---- Runs ------------------------------------------------------------------------------------------- */

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct world *w = self;
  (void)view;
  if (event->job.id == HR_NONE) return;
  CU_ASSERT_TRUE_FATAL(w->n_events < MAX_EVENTS);
  w->events[w->n_events++] = (struct event){event->at_us, event->kind, event->job.id};
  w->n_victims += event->kind == HR_EVENT_PREEMPT;
  if (event->kind != HR_EVENT_START) return;
  w->n_starts[event->job.id]++;
  w->start_us[event->job.id] = event->at_us;
  if (event->placement->n_slices == 0) return;
  w->gpus_of[event->job.id] = event->placement->slices[0].gpus;
  w->node_of[event->job.id] = event->placement->slices[0].node.id;
}

static struct hr_trace trace_of(const struct world *w, uint32_t *profile) {
  static const char *const tenants[] = {"a", "b"};
  for (uint32_t i = 0; i < w->n_jobs; i++) profile[i] = w->profile[i] ? w->profile[i] - 1 : HR_NONE;
  return (struct hr_trace){.source = "test",
                           .n_jobs = w->n_jobs,
                           .submit_us = w->submit_us,
                           .work_us = w->work_us,
                           .limit_us = w->limit_us,
                           .gpus = w->gpus,
                           .tasks = w->tasks,
                           .gpu_milli = w->gpu_milli,
                           .cpu_milli = w->cpu_milli,
                           .priority = w->priority,
                           .flags = w->flags,
                           .tenant = w->tenant,
                           .tenants = {2, tenants},
                           .within = w->has_within ? w->within : NULL,
                           .within_wait_us = w->has_within ? w->wait_us : NULL,
                           .mig_profile = profile,
                           .mig_profiles = {.text = profile_names, .count = NAMES}};
}

/* Returns the status of the run. */
static enum hr_status run(struct world *w) {
  uint32_t profile[MAX_JOBS];
  struct hr_trace trace = trace_of(w, profile);
  struct hr_cluster_spec cluster = {
      .pools = w->pools, .n_pools = w->n_pools, .by_gpu = w->by_gpu, .mig_fallback = true};
  struct hr_quota_spec quotas = {
      w->quotas, w->n_quotas, {NULL, HR_NONE, true, 0, HR_NO_LIMIT, HR_NO_LIMIT, HR_NO_LIMIT, 1}};
  struct hr_policy_choice choice;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "queue", NULL), HR_OK);
  for (int i = 0; i < MAX_PARAMS && w->params[i][0]; i++) queue_set(&choice, w->params[i][0], w->params[i][1]);
  struct hr_observer observer = {.self = w, .on_event = on_event};
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = 7,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true,
                                 .quotas = w->n_quotas ? &quotas : NULL,
                                 .observers = &observer,
                                 .n_observers = 1};
  struct hr_result *result = NULL;
  w->n_events = w->n_victims = 0;
  memset(w->n_starts, 0, sizeof w->n_starts);
  enum hr_status status = hr_sim_run(&config, &result, &w->error);
  if (status == HR_OK)
    for (uint32_t i = 0; i < w->n_jobs; i++) w->state[i] = result->state[i];
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
  return status;
}

/* ---- Scenarios -------------------------------------------------------------------------------------- */

static void set_param(struct world *w, const char *key, const char *value) {
  int i = 0;
  while (w->params[i][0] && strcmp(w->params[i][0], key) != 0) i++;
  w->params[i][0] = key;
  w->params[i][1] = value;
}

/* Starts a scenario with one pool. */
static void begin(uint32_t nodes, uint32_t gpus_per_node, enum hr_sharing sharing) {
  static char names[POOLS][2] = {"p", "q"}, gpu[] = "A30";
  memset(&world, 0, sizeof world);
  for (uint32_t i = 0; i < POOLS; i++) {
    world.pools[i] = (struct hr_pool_spec){
        .name = names[i], .gpu = gpu, .nodes = nodes, .gpus_per_node = gpus_per_node, .sharing = sharing};
    world.pools[i].market.to_us = HR_NEVER_US;
  }
  world.n_pools = 1;
  world.by_gpu = true;
  set_param(&world, "order", "fifo");
  set_param(&world, "backfill", "skip");
  set_param(&world, "placement", "first-fit");
  set_param(&world, "preemption", "priority");
}

/* Adds a job of one task with one GPU that is submitted `at_s` seconds after the start. Returns its index. */
static uint32_t add_job(int64_t at_s, int32_t priority, uint16_t gpu_milli) {
  uint32_t job = world.n_jobs++;
  world.submit_us[job] = at_s * S;
  world.work_us[job] = world.limit_us[job] = 100 * S;
  world.gpus[job] = world.tasks[job] = 1;
  world.gpu_milli[job] = gpu_milli;
  world.priority[job] = priority;
  world.tenant[job] = HR_NONE;
  world.wait_us[job] = HR_UNKNOWN_US;
  return job;
}

static struct hr_mig_spec *make_mig(enum hr_mig_mode mode) {
  const struct brute_type *type = &brute_types[0];
  struct hr_mig_profile profiles[BRUTE_PROFILES];
  CU_ASSERT_STRING_EQUAL_FATAL(type->gpu, "A30");
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
  hr_mig_type_init(&made, type->gpu, profiles, (uint32_t)type->n_profiles);
  return hr_mig_spec_create(&made, mode);
}

/* Splits the GPUs of all pools. The layouts are 0: 4 x 1g, 1: 4g, 2: 2 x 2g, 3: 2g and 2 x 1g. `layout_of_gpu`: the
   initial layouts, which are copied. */
static void split(enum hr_mig_mode mode, const uint8_t layout_of_gpu[8]) {
  static const char *const layouts[] = {"all-1g.6gb", "all-4g.24gb", "all-2g.12gb", "2g.12gb,2x1g.6gb"};
  for (uint32_t i = 0; i < POOLS; i++) {
    struct hr_mig_spec *spec = make_mig(mode);
    for (uint32_t k = 0; mode != HR_MIG_ON_DEMAND && k < 4; k++) {
      struct hr_mig_gpu gpu;
      uint32_t number;
      CU_ASSERT_EQUAL_FATAL(hr_mig_layout(&spec->type, layouts[k], &gpu, NULL), HR_OK);
      CU_ASSERT_EQUAL_FATAL(hr_mig_spec_add(spec, layouts[k], &gpu, &number), HR_OK);
      CU_ASSERT_EQUAL_FATAL(number, k);
    }
    spec->lead_us = mode == HR_MIG_STATIC ? 0 : 5;
    if (mode != HR_MIG_ON_DEMAND) spec->layout_of_gpu = memcpy(calloc(8, 1), layout_of_gpu, 8);
    world.pools[i].sharing = HR_SHARING_MIG;
    world.pools[i].mig = spec;
  }
}

static void unsplit(void) {
  for (uint32_t i = 0; i < POOLS; i++) {
    hr_pool_sharing_finish(&(struct hr_pool_spec){.mig = world.pools[i].mig});
    world.pools[i].mig = NULL;
  }
}

/* Runs the scenario. The jobs in `victims` (a set: bit i is job i) are the only ones that are stopped, each once. */
static void check_victims(uint64_t victims) {
  CU_ASSERT_EQUAL_FATAL(run(&world), HR_OK);
  for (uint32_t i = 0; i < world.n_jobs; i++) {
    if (world.n_starts[i] != 1 + (victims >> i & 1))
      printf("\n  job %u: %u starts", (unsigned)i, (unsigned)world.n_starts[i]);
    CU_ASSERT_EQUAL(world.n_starts[i], 1 + (victims >> i & 1));
  }
}

#define JOB(i) (UINT64_C(1) << (i))

/* ---- Examples --------------------------------------------------------------------------------------- */

/* Jobs 0 and 1 are on GPU 0, jobs 2 and 3 on GPU 1. */
static void begin_fractions(void) {
  begin(1, 2, HR_SHARING_FRACTION);
  set_param(&world, "placement", "best-fit");
  for (uint32_t i = 0; i < 2; i++) add_job(i, 0, 500);
  add_job(2, 0, 600);
  add_job(3, 0, 300);
}

static void youngest_jobs_on_one_gpu_are_stopped(void) {
  begin_fractions();
  add_job(10, 1, 1000);
  set_param(&world, "victims", "youngest");
  check_victims(JOB(3) | JOB(2));
  CU_ASSERT_EQUAL(world.gpus_of[4], 2);
  CU_ASSERT_EQUAL(world.start_us[4], 10 * S);
}

/* Jobs 0 and 3 are on GPU 0, jobs 1 and 2 on GPU 1. The order of victims is 3, 2, 1. Job 3 is restored. */
static void job_on_another_gpu_is_restored(void) {
  begin(1, 2, HR_SHARING_FRACTION);
  set_param(&world, "placement", "best-fit");
  add_job(0, 0, 500);
  add_job(1, 0, 600);
  add_job(2, 0, 300);
  add_job(3, 0, 500);
  add_job(10, 1, 1000);
  set_param(&world, "victims", "youngest");
  check_victims(JOB(1) | JOB(2));
  CU_ASSERT_EQUAL(world.gpus_of[4], 2);
}

/* Job 4 needs 0.65 of a GPU. The share of job 2 (0.6), which has the lowest priority, and the free 0.1 of its GPU
   suffice. */
static void share_of_one_victim_suffices(void) {
  begin_fractions();
  world.priority[2] = -2;
  add_job(10, 1, 650);
  check_victims(JOB(2));
}

/* Job 0 would lose 0.4 x 20 GPU-seconds, job 1 would lose 0.9 x 10. */
static void least_lost_counts_shares(void) {
  begin(1, 2, HR_SHARING_FRACTION);
  add_job(0, 0, 400);
  add_job(10, 0, 900);
  add_job(20, 1, 1000);
  set_param(&world, "victims", "least-lost");
  set_param(&world, "preempted", "requeue");
  check_victims(JOB(0));
}

/* Job 0 needs no GPUs, but its CPUs are needed. */
static void job_without_gpus_is_stopped_for_its_cpus(void) {
  begin(1, 2, HR_SHARING_WHOLE);
  world.pools[0].cpu_milli_per_node = 8000;
  add_job(0, 0, 0);
  world.gpus[0] = 0;
  world.cpu_milli[0] = 5000;
  add_job(1, 1, 1000);
  world.cpu_milli[1] = 4000;
  check_victims(JOB(0));
  CU_ASSERT_EQUAL(world.start_us[1], 1 * S);
}

static void replica_is_reclaimed_by_quota(void) {
  static char a[] = "a", b[] = "b";
  begin(1, 1, HR_SHARING_TIME_SLICE);
  world.pools[0].replicas = 2;
  add_job(0, 0, 500);
  add_job(1, 0, 500);
  add_job(10, 0, 500);
  world.tenant[0] = world.tenant[1] = 1;
  world.tenant[2] = 0;
  world.n_quotas = 2;
  world.quotas[0] = (struct hr_quota_node){a, HR_NONE, true, 500, HR_NO_LIMIT, HR_NO_LIMIT, HR_NO_LIMIT, 1};
  world.quotas[1] = (struct hr_quota_node){b, HR_NONE, true, 500, HR_NO_LIMIT, HR_NO_LIMIT, HR_NO_LIMIT, 1};
  set_param(&world, "preemption", "reclaim");
  check_victims(JOB(1));
  CU_ASSERT_EQUAL(world.start_us[2], 10 * S);
}

static void victims_leave_after_grace(void) {
  begin_fractions();
  add_job(10, 1, 1000);
  set_param(&world, "victims", "youngest");
  set_param(&world, "grace_s", "7");
  check_victims(JOB(3) | JOB(2));
  CU_ASSERT_EQUAL(world.start_us[4], 17 * S);
}

static void jobs_are_protected_for_minimum_run_time(void) {
  begin_fractions();
  add_job(10, 1, 1000);
  set_param(&world, "min_run_s", "20");
  check_victims(JOB(0) | JOB(1));
  CU_ASSERT_EQUAL(world.start_us[4], 21 * S);
}

/* Both GPUs had the layout 4g. Job 0 needs another layout of GPU 0, jobs 1 and 2 one of GPU 1. Job 2 may not be
   stopped. The order of victims is 1, 0. Job 1 is restored with its instance, although its GPU had another layout when
   it started.
 */
static void restored_victim_has_its_instance(void) {
  begin(1, 2, HR_SHARING_MIG);
  split(HR_MIG_DYNAMIC, (const uint8_t[8]){1, 1});
  world.profile[add_job(0, 0, 0)] = TWO_G + 1;
  world.profile[add_job(1, 0, 0)] = ONE_G + 1;
  world.profile[add_job(2, 0, 0)] = ONE_G + 1;
  world.profile[add_job(10, 1, 0)] = FOUR_G + 1;
  world.flags[2] = HR_JOB_NOT_INTERRUPTIBLE;
  set_param(&world, "victims", "youngest");
  check_victims(JOB(0));
  CU_ASSERT_EQUAL(world.gpus_of[1], 2);
  CU_ASSERT_EQUAL(world.gpus_of[3], 1);
  CU_ASSERT_EQUAL(world.start_us[3], 10 * S);
  unsplit();
}

/* All instances of a GPU are needed for its new layout. */
static void all_instances_leave_for_another_layout(void) {
  begin(1, 1, HR_SHARING_MIG);
  split(HR_MIG_DYNAMIC, (const uint8_t[8]){1});
  for (uint32_t i = 0; i < 3; i++) world.profile[add_job(i, 0, 0)] = ONE_G + 1;
  world.profile[add_job(10, 1, 0)] = FOUR_G + 1;
  check_victims(JOB(0) | JOB(1) | JOB(2));
  unsplit();
}

/* Adds jobs 0 to 4, so that job 4 has the place of job 1. The places of jobs 0 and 4 are one pair, and those of jobs 2
   and 3 are another. If job 5 needs a pair, the order of victims is 4, 3, 2, and job 4 is restored. */
static void fill_two_pairs(uint32_t gpus, uint32_t profile) {
  for (uint32_t i = 0; i < 5; i++) {
    uint32_t job = add_job(i, 0, 1000);
    world.gpus[job] = gpus;
    world.profile[job] = profile;
    if (profile) world.gpu_milli[job] = 0;
  }
  world.work_us[1] = world.limit_us[1] = 2 * S + 1;
  set_param(&world, "victims", "youngest");
}

/* Instances are created on demand. Job 5 needs two neighbouring slices. */
static void neighbouring_instances_leave(void) {
  begin(1, 1, HR_SHARING_MIG);
  split(HR_MIG_ON_DEMAND, NULL);
  fill_two_pairs(1, ONE_G + 1);
  world.profile[add_job(10, 1, 0)] = TWO_G + 1;
  check_victims(JOB(2) | JOB(3));
  unsplit();
}

/* Four nodes or GPUs in groups of two. */
static void check_group(enum hr_tier tier, uint32_t gpus) {
  fill_two_pairs(gpus, 0);
  add_job(10, 1, 1000);
  world.gpus[5] = 2 * gpus;
  world.within[5] = (uint8_t)tier;
  world.has_within = true;
  check_victims(JOB(2) | JOB(3));
}

static void both_nodes_of_a_rack_are_freed(void) {
  for (int i = 0; i < 2; i++) {
    begin(4, 2, HR_SHARING_WHOLE);
    world.pools[0].topology.nodes_per_rack = 2;
    world.by_gpu = i;
    check_group(HR_TIER_RACK, 2);
  }
}

static void both_gpus_of_an_island_are_freed(void) {
  begin(1, 4, HR_SHARING_WHOLE);
  world.pools[0].topology.island_gpus = 2;
  check_group(HR_TIER_ISLAND, 1);
}

/* ---- Topology constraints on MIG GPUs --------------------------------------------------------------- */

static uint32_t add_gang(int64_t at_s, uint32_t tasks, uint32_t profile, enum hr_tier tier) {
  uint32_t job = add_job(at_s, 0, 0);
  world.gpus[job] = world.tasks[job] = tasks;
  world.profile[job] = profile + 1;
  world.within[job] = (uint8_t)tier;
  world.has_within = true;
  return job;
}

/* Island 0 has GPU 0 with 4 x 1g, and GPU 1 with 2g and 2 x 1g. Island 1 has GPU 2 with 4 x 1g, and GPU 3 with 4g. So
   the islands have 6 and 4 instances of 1g. */
static void room_of_islands_is_counted_in_instances(void) {
  begin(1, 4, HR_SHARING_MIG);
  split(HR_MIG_STATIC, (const uint8_t[8]){0, 3, 0, 1});
  world.pools[0].topology.island_gpus = 2;
  uint32_t too_large = add_gang(0, 7, ONE_G, HR_TIER_ISLAND), large = add_gang(1, 6, ONE_G, HR_TIER_ISLAND);
  uint32_t small = add_gang(2, 3, ONE_G, HR_TIER_ISLAND), later = add_gang(3, 2, ONE_G, HR_TIER_ISLAND);
  CU_ASSERT_EQUAL_FATAL(run(&world), HR_OK);
  CU_ASSERT_EQUAL(world.state[too_large], HR_JOB_REJECTED);
  CU_ASSERT_EQUAL(world.start_us[large], 1 * S);
  CU_ASSERT_EQUAL(world.gpus_of[large] & ~UINT64_C(3), 0);
  CU_ASSERT_EQUAL(world.start_us[small], 2 * S);
  CU_ASSERT_EQUAL(world.gpus_of[small], 4);
  CU_ASSERT_EQUAL(world.start_us[later], 101 * S); /* island 1 has one idle instance, island 0 has none */
  unsplit();
}

/* The island with the least sufficient capacity is chosen. Each island has capacity for 8 instances of 1g, of which the
   first gang leaves 3 in island 0. So the second gang gets island 0, and the third gang, which needs two whole GPUs,
   gets island 1. */
static void tightest_island_is_chosen_on_demand(void) {
  begin(1, 4, HR_SHARING_MIG);
  split(HR_MIG_ON_DEMAND, NULL);
  world.pools[0].topology.island_gpus = 2;
  uint32_t first = add_gang(0, 5, ONE_G, HR_TIER_ISLAND), second = add_gang(1, 3, ONE_G, HR_TIER_ISLAND);
  uint32_t third = add_gang(2, 2, FOUR_G, HR_TIER_ISLAND);
  CU_ASSERT_EQUAL_FATAL(run(&world), HR_OK);
  CU_ASSERT_EQUAL(world.gpus_of[first] & ~UINT64_C(3), 0);
  CU_ASSERT_EQUAL(world.gpus_of[second] & ~UINT64_C(3), 0);
  CU_ASSERT_EQUAL(world.start_us[third], 2 * S);
  unsplit();
}

/* A dynamic GPU without jobs has the capacity of its best layout, here four instances of 1g. But a node has CPUs for
   only three tasks, so a rack of two nodes has room for six. */
static void cpus_limit_the_room_of_a_rack(void) {
  begin(4, 1, HR_SHARING_MIG);
  split(HR_MIG_DYNAMIC, (const uint8_t[8]){1});
  world.pools[0].topology.nodes_per_rack = 2;
  world.pools[0].cpu_milli_per_node = 3000;
  uint32_t job = add_gang(0, 6, ONE_G, HR_TIER_RACK), too_large = add_gang(0, 7, ONE_G, HR_TIER_RACK);
  world.cpu_milli[job] = world.cpu_milli[too_large] = 1000;
  CU_ASSERT_EQUAL_FATAL(run(&world), HR_OK);
  CU_ASSERT_EQUAL(world.start_us[job], 0);
  CU_ASSERT_EQUAL(world.state[too_large], HR_JOB_REJECTED);
  unsplit();
}

/* ---- Random worlds ---------------------------------------------------------------------------------- */

static uint64_t dice;

static uint32_t draw(uint32_t below) {
  dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((dice >> 33) % below);
}

static const char *draw_word(const char *const *words, uint32_t count) {
  return words[draw(count)];
}
#define DRAW_WORD(words) draw_word(words, sizeof(words) / sizeof *(words))

static void draw_preemption(const char *preemption) {
  static const char *const rules[] = {"last", "least-lost", "youngest", "lowest-priority"};
  static const char *const modes[] = {"auto", "requeue", "checkpoint", "kill"};
  static const char *const orders[] = {"fifo", "priority", "smallest"}, *const preemptive[] = {"srtf", "las",
                                                                                               "gittins"};
  static const char *const times[] = {"0", "0", "3"};
  set_param(&world, "order", strcmp(preemption, "order") == 0 ? DRAW_WORD(preemptive) : DRAW_WORD(orders));
  set_param(&world, "preemption", preemption);
  set_param(&world, "victims", DRAW_WORD(rules));
  set_param(&world, "preempted", DRAW_WORD(modes));
  set_param(&world, "grace_s", DRAW_WORD(times));
  set_param(&world, "min_run_s", DRAW_WORD(times));
  set_param(&world, "las_threshold_1_s", "40");
  set_param(&world, "las_threshold_2_s", "120");
  static char a[] = "a", b[] = "b";
  bool by_quota = strcmp(preemption, "reclaim") == 0 || draw(4) == 0;
  world.n_quotas = by_quota ? 2 : 0;
  world.quotas[0] = (struct hr_quota_node){a, HR_NONE, true, 1000 * draw(9), HR_NO_LIMIT, HR_NO_LIMIT, HR_NO_LIMIT, 1};
  world.quotas[1] = (struct hr_quota_node){b, HR_NONE, true, 500 * draw(9), HR_NO_LIMIT, HR_NO_LIMIT, HR_NO_LIMIT, 1};
}

enum kind { WHOLE, FRACTION, MPS, TIME_SLICE, MIG_STATIC, MIG_DYNAMIC, MIG_ON_DEMAND, N_KINDS };

static void draw_pools(enum kind kind, bool topology) {
  static const enum hr_sharing sharings[] = {[WHOLE] = HR_SHARING_WHOLE,
                                             [FRACTION] = HR_SHARING_FRACTION,
                                             [MPS] = HR_SHARING_MPS,
                                             [TIME_SLICE] = HR_SHARING_TIME_SLICE};
  begin(1, 4, kind < MIG_STATIC ? sharings[kind] : HR_SHARING_WHOLE);
  world.n_pools = 1 + draw(2);
  for (uint32_t i = 0; i < POOLS; i++) {
    struct hr_pool_spec *pool = &world.pools[i];
    pool->nodes = 1 + draw(4);
    pool->cpu_milli_per_node = draw(2) ? 8000 : 0;
    if (kind == TIME_SLICE) pool->replicas = 2 + draw(3);
    if (topology) pool->topology = (struct hr_topology){.island_gpus = draw(2) * 2, .nodes_per_rack = 1 + draw(2)};
  }
  const uint8_t layouts[8] = {(uint8_t)draw(4), (uint8_t)draw(4), (uint8_t)draw(4), (uint8_t)draw(4)};
  if (kind >= MIG_STATIC) split((enum hr_mig_mode)(HR_MIG_STATIC + (kind - MIG_STATIC)), layouts);
}

static void draw_jobs(enum kind kind, bool topology) {
  for (uint32_t i = 0, at = 0; i < MAX_JOBS; i++) {
    uint32_t job = add_job(at += draw(6), (int32_t)draw(3), 1000);
    world.work_us[job] = draw(20) ? 1 + draw(60) * S : 0;
    world.limit_us[job] = world.work_us[job] * (1 + draw(2));
    world.tasks[job] = draw(3) ? 1 : 1 + draw(4);
    world.gpus[job] = world.tasks[job] * (kind >= MIG_STATIC || draw(3) ? 1 : 1 + draw(4));
    if (draw(15) == 0) world.gpus[job] = 0;
    if (world.gpus[job] <= world.tasks[job] && draw(4)) world.gpu_milli[job] = (uint16_t)(50 * (1 + draw(20)));
    world.cpu_milli[job] = draw(2) * draw(4000);
    world.flags[job] = (uint8_t)((draw(8) ? 0 : HR_JOB_NOT_INTERRUPTIBLE) | (draw(15) ? 0 : HR_JOB_DEDICATED));
    world.tenant[job] = draw(8) ? draw(2) : HR_NONE;
    if (kind >= MIG_STATIC && draw(2)) world.profile[job] = draw(NAMES + 1);
    if (topology && draw(2)) world.within[job] = (uint8_t)(1 + draw(HR_TIER_RACK));
    if (topology && world.within[job] && draw(2)) world.wait_us[job] = draw(2) * draw(40) * S;
  }
  world.has_within = topology;
}

static uint64_t check_worlds(enum kind kind, const char *preemption, const char *backfill) {
  static const char *const rules[] = {"first-fit", "best-fit", "worst-fit", "fgd", "random"};
  uint64_t n_victims = 0;
  for (uint32_t i = 0; i < 6; i++) {
    bool topology = i % 2;
    draw_pools(kind, topology);
    draw_jobs(kind, topology);
    draw_preemption(preemption);
    set_param(&world, "backfill", backfill);
    set_param(&world, "placement", DRAW_WORD(rules));
    enum hr_status status = run(&world);
    if (status != HR_OK) printf("\n  %s, %s, %d: %s", preemption, backfill, (int)kind, world.error.text);
    CU_ASSERT_EQUAL(status, HR_OK);
    for (uint32_t k = 0; k < world.n_jobs; k++)
      CU_ASSERT(world.state[k] == HR_JOB_COMPLETED || world.state[k] == HR_JOB_REJECTED);
    n_victims += world.n_victims;
    unsplit();
  }
  return n_victims;
}

static void random_worlds_are_consistent(void) {
  static const char *const preemptions[] = {"priority", "order", "reclaim"};
  static const char *const backfills[] = {"strict", "skip", "easy"};
  dice = 1;
  for (enum kind kind = WHOLE; kind < N_KINDS; kind++)
    for (int p = 0; p < 3; p++) {
      uint64_t n_victims = 0;
      for (int b = 0; b < 3; b++) n_victims += check_worlds(kind, preemptions[p], backfills[b]);
      CU_ASSERT(n_victims > 10);
    }
}

/* ---- Counted and per-GPU allocation ----------------------------------------------------------------- */

/* Creates a world in which both allocations have the same rules: pools with nodes of equal size, whole GPUs, first-fit,
   and gangs that are multiples of a node. Worlds with topology constraints have no quotas: in counted allocation, a job
   that waits for a group may request one more pass, after which other tenants are served in another order. */
static void draw_plain_world(const char *preemption, bool topology) {
  begin(1, 1 + draw(4), HR_SHARING_WHOLE);
  uint32_t size = world.pools[0].gpus_per_node;
  world.n_pools = 1 + draw(2);
  for (uint32_t i = 0; i < POOLS; i++) {
    world.pools[i].nodes = 1 + draw(6);
    if (topology) world.pools[i].topology = (struct hr_topology){.nodes_per_rack = 1 + draw(3)};
  }
  for (uint32_t i = 0, at = 0; i < MAX_JOBS; i++) {
    uint32_t job = add_job(at += draw(6), (int32_t)draw(3), 1000);
    world.work_us[job] = draw(20) ? 1 + draw(60) * S : 0;
    world.limit_us[job] = world.work_us[job] * (1 + draw(2));
    world.gpus[job] = topology || draw(4) == 0 ? size * (1 + draw(3)) : 1 + draw(size);
    world.flags[job] = draw(8) ? 0 : HR_JOB_NOT_INTERRUPTIBLE;
    world.tenant[job] = draw(8) ? draw(2) : HR_NONE;
    if (topology && draw(2)) world.within[job] = HR_TIER_RACK;
    if (topology && world.within[job] && draw(2)) world.wait_us[job] = draw(2) * draw(40) * S;
  }
  world.has_within = topology;
  draw_preemption(preemption);
  if (topology) world.n_quotas = 0;
}

/* Task counts are used in per-GPU allocation only. A gang of several nodes has one task on each. */
static void set_tasks(void) {
  uint32_t size = world.pools[0].gpus_per_node;
  for (uint32_t i = 0; i < world.n_jobs; i++) world.tasks[i] = world.gpus[i] > size ? world.gpus[i] / size : 1;
}

static void report_difference(uint32_t i) {
  printf("\n  event %u of %u and %u: %lld us, kind %u, job %u; %lld us, kind %u, job %u", (unsigned)i,
         (unsigned)counted.n_events, (unsigned)world.n_events, (long long)counted.events[i].at_us,
         (unsigned)counted.events[i].kind, (unsigned)counted.events[i].job, (long long)world.events[i].at_us,
         (unsigned)world.events[i].kind, (unsigned)world.events[i].job);
}

static void allocation_of_whole_gpus_one_by_one_changes_nothing(void) {
  static const char *const preemptions[] = {"priority", "order", "reclaim"};
  static const char *const backfills[] = {"strict", "skip", "easy"};
  uint32_t n_victims = 0;
  dice = 2;
  for (uint32_t number = 0; number < 540; number++) {
    draw_plain_world(preemptions[number % 3], number / 3 % 4 == 3);
    set_param(&world, "backfill", backfills[number / 12 % 3]);
    set_tasks();
    CU_ASSERT_EQUAL_FATAL(run(&world), HR_OK);
    counted = world;
    counted.by_gpu = false;
    CU_ASSERT_EQUAL_FATAL(run(&counted), HR_OK);
    uint32_t i = 0, n = counted.n_events < world.n_events ? counted.n_events : world.n_events;
    while (i < n && memcmp(&counted.events[i], &world.events[i], sizeof(struct event)) == 0) i++;
    if (i < counted.n_events || i < world.n_events) report_difference(i < n ? i : n - 1);
    CU_ASSERT_TRUE(i == counted.n_events && i == world.n_events);
    n_victims += world.n_victims;
  }
  CU_ASSERT(n_victims > 1000);
}

TEST_MAIN("preemption sharing", TEST(youngest_jobs_on_one_gpu_are_stopped), TEST(job_on_another_gpu_is_restored),
          TEST(share_of_one_victim_suffices), TEST(least_lost_counts_shares),
          TEST(job_without_gpus_is_stopped_for_its_cpus), TEST(replica_is_reclaimed_by_quota),
          TEST(victims_leave_after_grace), TEST(jobs_are_protected_for_minimum_run_time),
          TEST(restored_victim_has_its_instance), TEST(all_instances_leave_for_another_layout),
          TEST(neighbouring_instances_leave), TEST(both_nodes_of_a_rack_are_freed),
          TEST(both_gpus_of_an_island_are_freed), TEST(room_of_islands_is_counted_in_instances),
          TEST(tightest_island_is_chosen_on_demand), TEST(cpus_limit_the_room_of_a_rack),
          TEST(random_worlds_are_consistent), TEST(allocation_of_whole_gpus_one_by_one_changes_nothing))
