/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Maintenance of nodes: cases computed by hand, the rule for limits under several policies, overlaps compared with an
 * enumeration of all times, and random worlds with failures in checked mode.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/faults.h"

#include <string.h>

#define S HR_SECOND_US

enum { MAX_JOBS = 40 };

struct world {
  struct hr_pool_spec pool;
  struct hr_maintenance window[2];
  struct hr_fault_process process;
  struct hr_fault_spec faults;
  struct hr_class_spec class_;
  uint32_t n_jobs, gpus[MAX_JOBS];
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS], limit_us[MAX_JOBS];
  const char *policy;
  uint64_t seed;
  int64_t horizon_us;
};

static struct hr_duration fixed(double seconds) {
  return (struct hr_duration){HR_DURATION_FIXED, seconds, 0};
}

/* One window: from 1,000 s, for 600 s. Policies start no job whose limit reaches into a window, so all jobs have a
   limit of 10 s. Jobs are not stopped at their limit. */
static void world_init(struct world *world, uint32_t n_nodes, uint32_t n_jobs) {
  static char name[] = "p", gpu[] = "A100";
  *world = (struct world){.pool = {.name = name,
                                   .gpu = gpu,
                                   .nodes = n_nodes,
                                   .gpus_per_node = 1,
                                   .market = {.to_us = HR_NEVER_US},
                                   .n_maintenance = 1},
                          .n_jobs = n_jobs,
                          .policy = "queue backfill=skip placement=first-fit",
                          .horizon_us = HR_NEVER_US};
  for (uint32_t i = 0; i < 2; i++)
    world->window[i] = (struct hr_maintenance){
        .start_us = 1000 * S, .duration_us = 600 * S, .group_nodes = n_nodes, .max_unavailable = HR_NONE};
  for (uint32_t i = 0; i < n_jobs; i++) {
    world->gpus[i] = 1;
    world->limit_us[i] = 10 * S;
  }
}

/* Sets a policy and its parameters from a text such as "queue backfill=skip placement=first-fit". */
static void choose(const char *words, struct hr_policy_choice *choice) {
  char text[200], *rest = NULL;
  struct hr_error error = {0};
  snprintf(text, sizeof text, "%s", words);
  enum hr_status status = hr_policy_choice_init(choice, strtok_r(text, " ", &rest), &error);
  if (status != HR_OK) fprintf(stderr, "%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  for (char *word; (word = strtok_r(NULL, " ", &rest));) {
    char *value = strchr(word, '=');
    CU_ASSERT_FATAL(value != NULL);
    *value++ = '\0';
    CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(choice, word, value, &error), HR_OK);
  }
}

static struct hr_result *run(struct world *world) {
  struct hr_class_spec classes[HR_N_CLASSES];
  struct hr_trace trace = {.source = "test",
                           .n_jobs = world->n_jobs,
                           .submit_us = world->submit_us,
                           .work_us = world->work_us,
                           .limit_us = world->limit_us,
                           .gpus = world->gpus};
  struct hr_cluster_spec cluster = {&world->pool, 1};
  struct hr_policy_choice choice = {0};
  struct hr_result *result = NULL;
  struct hr_error error = {0};
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) classes[i] = world->class_;
  world->pool.maintenance = world->window;
  if (world->faults.n_processes) {
    world->faults.processes = &world->process;
    world->pool.faults = &world->faults;
  }
  choose(world->policy, &choice);
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = world->seed,
                                 .horizon_us = world->horizon_us,
                                 .check = true,
                                 .classes = classes};
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) fprintf(stderr, "%s: %s\n", world->policy, error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  hr_policy_choice_finish(&choice);
  return result;
}

/* ---- Drains --------------------------------------------------------------------------------------------- */

struct drain_case {
  enum hr_drain drain;
  int64_t lead_us, end_us, kept_us, lost_us;
  uint64_t stopped;
};

/* A job of 4,000 s on the only node. After the maintenance, which ends at 1,600 s, it needs a restart of 7 s.
   - wait: it ends at 4,000 s, and the maintenance follows.
   - deadline-kill: it is stopped at 1,000 s, loses 1,000 s of work, and has 4,000 s left.
   - checkpoint-kill: from 900 s it writes a checkpoint for 50 s and then leaves by itself, so it does not count as
     stopped. It has 3,100 s of work left.
   - migrate: it is stopped at 900 s, keeps its work, and has 3,100 s left. */
static void drains_are_as_by_hand(void) {
  static const struct drain_case cases[] = {{HR_DRAIN_WAIT, 0, 4000, 4000, 0, 0},
                                            {HR_DRAIN_DEADLINE_KILL, 0, 1607 + 4000, 4000, 1000, 1},
                                            {HR_DRAIN_CHECKPOINT_KILL, 100, 1607 + 3100, 4000, 0, 0},
                                            {HR_DRAIN_MIGRATE, 100, 1607 + 3100, 4000, 0, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct world world;
    world_init(&world, 1, 1);
    world.work_us[0] = 4000 * S;
    world.window[0].drain = cases[i].drain;
    world.window[0].lead_us = cases[i].lead_us * S;
    world.class_ =
        (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_ON_NOTICE, .write_us = 50 * S, .restart_us = 7 * S};
    struct hr_result *result = run(&world);
    const struct hr_job_accounting copy = hr_result_accounting(result, (hr_job){0}), *job = &copy;
    CU_ASSERT_EQUAL(job->end_us, cases[i].end_us * S);
    CU_ASSERT(job->kept_us == cases[i].kept_us * S && job->lost_us == cases[i].lost_us * S);
    CU_ASSERT_EQUAL(result->pools[0].maintained_jobs, cases[i].stopped);
    bool served = cases[i].drain != HR_DRAIN_WAIT; /* otherwise the run ends when the maintenance begins */
    CU_ASSERT_EQUAL(result->pools[0].maintenances, 1);
    CU_ASSERT((int64_t)result->pools[0].planned_us == (served ? 600 : 0) * S);
    CU_ASSERT((int64_t)result->pools[0].draining_us == (served ? cases[i].lead_us : 3000) * S);
    CU_ASSERT_EQUAL(result->pools[0].down_us, 0);
    hr_result_destroy(result);
  }
}

/* A rolling update of five nodes, two at a time: the three groups take 700 s each, from 900 s on (100 s of lead and 600
   s of maintenance). The second job needs all nodes, so it waits until the maintenance of the last group has ended. */
static void groups_follow_each_other(void) {
  struct world world;
  world_init(&world, 5, 2);
  world.window[0].group_nodes = 2;
  world.window[0].lead_us = 100 * S;
  world.work_us[0] = 10 * S;
  world.submit_us[1] = 2350 * S; /* the fifth node is in maintenance from 2,400 s */
  world.gpus[1] = 5;
  world.work_us[1] = 10 * S;
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(result->start_us[1], (900 + 3 * 700) * S);
  CU_ASSERT_EQUAL(result->pools[0].maintenances, 3);
  CU_ASSERT((int64_t)result->pools[0].planned_us == 5 * 600 * S);
  CU_ASSERT((int64_t)result->pools[0].draining_us == 5 * 100 * S);
  CU_ASSERT_EQUAL(hr_maintenance_span_us(&world.window[0], 5), 2100 * S);
  hr_result_destroy(result);
}

/* Both nodes fail at 700 s and are repaired at 1,200 s. The run ends at 1,650 s. Failed nodes use the budget of one
   unavailable node, so the maintenance of the first node begins only at 1,200 s: 450 s. Without a budget it begins at
   1,000 s, but the time until 1,200 s counts as unplanned: 400 s, and 50 s of the second node, whose maintenance begins
   at 1,600 s. */
static void a_failure_uses_the_budget(void) {
  for (uint32_t budget = 0; budget < 2; budget++) {
    struct world world;
    world_init(&world, 2, 1);
    world.submit_us[0] = 0;
    world.work_us[0] = 5000 * S;
    world.class_.checkpoint = HR_CHECKPOINT_CONTINUOUS;
    world.window[0].group_nodes = 1;
    world.window[0].drain = HR_DRAIN_DEADLINE_KILL;
    world.window[0].max_unavailable = budget ? 1 : HR_NONE;
    world.faults.n_processes = 1;
    world.process = (struct hr_fault_process){
        .unit = HR_TIER_NODE, .fresh = true, .bad_factor = 1, .between = fixed(700), .only = {.repair = fixed(500)}};
    world.horizon_us = 1650 * S;
    struct hr_result *result = run(&world);
    CU_ASSERT_EQUAL(result->pools[0].failures, 2);
    CU_ASSERT_EQUAL(result->pools[0].maintenances, budget ? 1 : 2);
    CU_ASSERT((int64_t)result->pools[0].down_us == 1000 * S);
    CU_ASSERT((int64_t)result->pools[0].planned_us == (budget ? 450 : 400 + 50) * S);
    hr_result_destroy(result);
  }
}

/* ---- Limits ----------------------------------------------------------------------------------------------- */

/* The maintenance of node 0 is from 1,000 s to 1,600 s, that of node 1 from 1,600 s to 2,200 s. Job 0 of 1,200 s would
   still run at the maintenance of node 0, so it runs on node 1. Job 1 of 1,500 s needs both nodes and waits until both
   maintenances have ended. Job 2 of 900 s ends before the maintenance of node 0, so it starts immediately. */
static void limits_keep_clear(void) {
  static const char *const policies[] = {"queue backfill=strict", "queue backfill=skip", "queue backfill=easy",
                                         "queue backfill=conservative placement=first-fit", "slurm"};
  for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
    struct world world;
    world_init(&world, 2, 3);
    world.policy = policies[i];
    world.window[0].group_nodes = 1;
    world.work_us[0] = world.limit_us[0] = 1200 * S;
    world.work_us[1] = world.limit_us[1] = 1500 * S;
    world.gpus[1] = 2;
    world.submit_us[1] = 1 * S;
    world.work_us[2] = world.limit_us[2] = 900 * S;
    world.submit_us[2] = 2 * S;
    struct hr_result *result = run(&world);
    bool in_order = i == 0; /* strict: job 2 waits behind job 1 */
    CU_ASSERT_EQUAL(result->start_us[0], 0);
    CU_ASSERT_EQUAL(result->pools[0].maintained_jobs, 0);
    CU_ASSERT(result->start_us[1] >= 2200 * S);
    CU_ASSERT(in_order || result->start_us[2] < 60 * S);
    CU_ASSERT_EQUAL(result->n_completed, 3);
    hr_result_destroy(result);
  }
}

/* EASY with a window on both nodes from 120 s to 170 s. Job 1 needs both nodes for 50 s, so its reservation is not at
   100 s, when job 0 ends, but at 170 s, when the window ends. Jobs 2 and 3 run on node 1 and end before the window. */
static void easy_fills_the_time_before_a_window(void) {
  struct world world;
  world_init(&world, 2, 4);
  world.policy = "queue backfill=easy placement=first-fit";
  world.window[0].start_us = 120 * S;
  world.window[0].duration_us = 50 * S;
  static const int64_t submits_s[] = {0, 1, 2, 90}, works_s[] = {100, 50, 60, 15}, starts_s[] = {0, 170, 2, 90};
  for (int i = 0; i < 4; i++) {
    world.submit_us[i] = submits_s[i] * S;
    world.work_us[i] = world.limit_us[i] = works_s[i] * S;
  }
  world.gpus[1] = 2;
  struct hr_result *result = run(&world);
  for (int i = 0; i < 4; i++) CU_ASSERT_EQUAL(result->start_us[i], starts_s[i] * S);
  CU_ASSERT_EQUAL(result->pools[0].maintenances, 1);
  CU_ASSERT_EQUAL(result->pools[0].maintained_jobs, 0);
  hr_result_destroy(result);
}

/* The maintenance of node 0 is from 1,000 s to 1,600 s, that of node 1 from 1,600 s to 2,200 s. Job 0 has both nodes
   until 600 s.

   In the first run, job 1 needs both nodes for 1,000 s. It waits because of the maintenance, and its reservation is at
   2,200 s. Jobs 2 and 3 (on nodes 1 and 0) end before the maintenance of their nodes, so they start immediately. Job 4
   fits on node 0 at 1,601 s, but would delay job 1, so it starts after job 1, at 3,200 s.

   In the second run, job 1 takes 300 s. It ends before the maintenance, so it starts at 600 s. At 900 s, job 2 starts
   on node 1, where it ends at 1,550 s. Job 3 would still run at the maintenance of node 0, so its reservation is at
   1,600 s on node 0. Job 4 follows at 1,900 s. */
static void easy_reserves_for_a_held_job(void) {
  static const int64_t head_s[] = {1000, 300}, starts_s[][5] = {{0, 2200, 601, 602, 3200}, {0, 600, 900, 1600, 1900}};
  for (int k = 0; k < 2; k++) {
    struct world world;
    world_init(&world, 2, 5);
    world.policy = "queue backfill=easy placement=first-fit";
    world.window[0].group_nodes = 1;
    const int64_t submits_s[] = {0, 1, 601, 602, 1601}, works_s[] = {600, head_s[k], 650, 300, 700};
    for (int i = 0; i < 5; i++) {
      world.submit_us[i] = submits_s[i] * S;
      world.work_us[i] = world.limit_us[i] = works_s[i] * S;
    }
    world.gpus[0] = world.gpus[1] = 2;
    struct hr_result *result = run(&world);
    for (int i = 0; i < 5; i++) CU_ASSERT_EQUAL(result->start_us[i], starts_s[k][i] * S);
    CU_ASSERT_EQUAL(result->pools[0].maintained_jobs, 0);
    hr_result_destroy(result);
  }
}

/* The time between two maintenance windows is 1,400 s. A job of 1,500 s can never end between them, so it starts
   immediately. */
static void endless_jobs_are_not_held(void) {
  struct world world;
  world_init(&world, 1, 1);
  world.window[0].repeat_us = 2000 * S;
  world.work_us[0] = world.limit_us[0] = 1500 * S;
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(result->start_us[0], 0);
  CU_ASSERT_EQUAL(result->n_completed, 1);
  hr_result_destroy(result);
}

/* ---- Overlaps --------------------------------------------------------------------------------------------- */

static uint32_t below(struct hr__stream *stream, uint32_t bound) {
  return (uint32_t)(hr__stream_uniform(stream) * bound);
}

/* Returns whether two maintenances overlap, by comparing the first 400 repetitions of each. `same`: `a` and `b` are the
   same maintenance, and different repetitions of it are compared. */
static bool meet(const struct hr_maintenance *a, const struct hr_maintenance *b, uint32_t nodes, bool same) {
  int64_t a_us = hr_maintenance_span_us(a, nodes), b_us = hr_maintenance_span_us(b, nodes);
  for (int64_t i = 0; i < (a->repeat_us ? 400 : 1); i++)
    for (int64_t k = same ? i + 1 : 0; k < (b->repeat_us ? 400 : 1); k++) {
      int64_t a_at = a->start_us - a->lead_us + i * a->repeat_us, b_at = b->start_us - b->lead_us + k * b->repeat_us;
      if (a_at < b_at + b_us && b_at < a_at + a_us) return true;
    }
  return false;
}

static void overlaps_are_those_of_an_enumeration(void) {
  uint32_t found = 0;
  struct hr__stream stream;
  hr__stream_init(&stream, 11, HR__PURPOSE_SAMPLE, 0, 0);
  for (uint32_t number = 0; number < 300; number++) {
    struct world world;
    world_init(&world, 1 + below(&stream, 3), 0);
    world.pool.maintenance = world.window;
    world.pool.n_maintenance = 2;
    for (uint32_t i = 0; i < 2; i++) {
      world.window[i].start_us = 5 + below(&stream, 40);
      world.window[i].repeat_us = below(&stream, 3) ? 1 + below(&stream, 30) : 0;
      world.window[i].duration_us = 1 + below(&stream, 4);
      world.window[i].lead_us = below(&stream, 3);
      world.window[i].group_nodes = 1 + below(&stream, 2);
    }
    uint32_t other = 0, first = hr_maintenance_overlap(&world.pool, &other), nodes = world.pool.nodes;
    bool expected = meet(&world.window[0], &world.window[0], nodes, true) ||
                    meet(&world.window[1], &world.window[1], nodes, true) ||
                    meet(&world.window[0], &world.window[1], nodes, false);
    CU_ASSERT_EQUAL(first != HR_NONE, expected);
    found += expected;
  }
  CU_ASSERT(found > 50 && found < 250);
}

/* ---- Properties ------------------------------------------------------------------------------------------- */

static void random_worlds_keep_the_invariants(void) {
  static const char *const policies[] = {"queue backfill=skip",
                                         "easy",
                                         "conservative",
                                         "las",
                                         "slurm",
                                         "kubernetes",
                                         "volcano",
                                         "queue backfill=strict",
                                         "queue order=priority preemption=priority"};
  enum { WORLDS = 180 };
  uint64_t failures = 0, served = 0, stopped = 0;
  for (uint32_t number = 0; number < WORLDS; number++) {
    struct hr__stream stream;
    struct world world;
    hr__stream_init(&stream, 5, HR__PURPOSE_SAMPLE, number, 0);
    world_init(&world, 1 + below(&stream, 6), MAX_JOBS);
    world.pool.gpus_per_node = 1 + below(&stream, 4);
    world.seed = number;
    world.policy = policies[number % (sizeof policies / sizeof *policies)];
    world.pool.n_maintenance = 1 + below(&stream, 2);
    for (uint32_t i = 0; i < 2; i++) {
      struct hr_maintenance *window = &world.window[i];
      window->start_us = (int64_t)below(&stream, 8000) * S;
      window->repeat_us = (int64_t)(below(&stream, 2) ? 6000 + below(&stream, 9000) : 0) * S;
      window->duration_us = (int64_t)(1 + below(&stream, 900)) * S;
      window->lead_us = (int64_t)below(&stream, 500) * S;
      window->group_nodes = 1 + below(&stream, world.pool.nodes);
      window->drain = (enum hr_drain)below(&stream, HR_N_DRAINS);
      if (below(&stream, 2)) window->max_unavailable = window->group_nodes + below(&stream, 2);
    }
    world.faults = (struct hr_fault_spec){.n_processes = below(&stream, 3) > 0, .crew = below(&stream, 2)};
    world.process = (struct hr_fault_process){.unit = HR_TIER_NODE,
                                              .clock = (enum hr_fault_clock)below(&stream, HR_N_FAULT_CLOCKS),
                                              .bad_factor = 1,
                                              .between = {HR_DURATION_EXPONENTIAL, 5000, 0},
                                              .only = {NULL, 1, fixed(50), {HR_DURATION_EXPONENTIAL, 700, 0}}};
    world.class_ = (struct hr_class_spec){.checkpoint = below(&stream, 2) ? HR_CHECKPOINT_INTERVAL : HR_CHECKPOINT_NONE,
                                          .interval_us = 400 * S,
                                          .write_us = 20 * S,
                                          .restart_us = 30 * S};
    for (uint32_t i = 0; i < MAX_JOBS; i++) {
      world.submit_us[i] = (i ? world.submit_us[i - 1] : 0) + (int64_t)below(&stream, 400) * S;
      world.work_us[i] = (int64_t)(1 + below(&stream, 1500)) * S;
      world.limit_us[i] = below(&stream, 3) ? world.work_us[i] : (int64_t)(1 + below(&stream, 2000)) * S;
      world.gpus[i] = 1 + below(&stream, world.pool.nodes * world.pool.gpus_per_node);
    }
    struct hr_result *result = run(&world);
    CU_ASSERT_EQUAL(result->n_completed + result->n_rejected + result->n_waiting + result->n_running, MAX_JOBS);
    failures += result->pools[0].failures;
    served += result->pools[0].maintenances;
    stopped += result->pools[0].maintained_jobs;
    hr_result_destroy(result);
  }
  CU_ASSERT(failures > 300);
  CU_ASSERT(served > 500);
  CU_ASSERT(stopped > 100);
}

/* Node 0 is in maintenance from 1,000 s to 1,600 s, node 1 from 1,600 s to 2,200 s. Job 0 has node 0 until 600 s. Job 1
   needs both nodes for 800 s. If it started at 600 s, it would still run at the maintenance of node 0, so its
   reservation in a conservative plan is at 2,200 s. Job 2, of 1,400 s, can therefore start on node 1 immediately. */
static void plans_avoid_works(void) {
  static const char *const policies[] = {"queue backfill=conservative placement=first-fit",
                                         "queue backfill=conservative placement=best-fit"};
  for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
    struct world world;
    world_init(&world, 2, 3);
    world.policy = policies[i];
    world.window[0].group_nodes = 1;
    const int64_t works_s[] = {600, 800, 1400};
    for (uint32_t k = 0; k < 3; k++) world.work_us[k] = world.limit_us[k] = works_s[k] * S;
    world.gpus[1] = 2;
    struct hr_result *result = run(&world);
    CU_ASSERT_EQUAL(result->start_us[0], 0);
    CU_ASSERT_EQUAL(result->start_us[1], 2200 * S);
    CU_ASSERT_EQUAL(result->start_us[2], 0);
    CU_ASSERT_EQUAL(result->pools[0].maintenances, 2);
    CU_ASSERT_EQUAL(result->pools[0].maintained_jobs, 0);
    hr_result_destroy(result);
  }
}

/* Nodes 0 and 1 are in maintenance from 1,000 s to 1,600 s, nodes 2 and 3 from 1,600 s to 2,200 s. The jobs are
   submitted from 1,100 s on. Job 0 needs all nodes and is planned at 2,200 s. Job 1, of 600 s, would not end before
   1,600 s on node 2 or 3, so it is planned at 1,600 s on node 0 or 1. Job 2, of 400 s, starts immediately on node 2 or
   3. */
static void plans_know_the_end_of_a_work(void) {
  struct world world;
  world_init(&world, 4, 3);
  world.policy = "queue backfill=conservative placement=first-fit";
  world.window[0].group_nodes = 2;
  const int64_t works_s[] = {300, 600, 400};
  for (uint32_t k = 0; k < 3; k++) {
    world.submit_us[k] = (1100 + k) * S;
    world.work_us[k] = world.limit_us[k] = works_s[k] * S;
  }
  world.window[0].repeat_us = 0;
  world.pool.n_maintenance = 2;
  world.window[1].start_us = 100000 * S;
  world.gpus[0] = 4;
  world.horizon_us = 90000 * S;
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(result->start_us[0], 2200 * S);
  CU_ASSERT_EQUAL(result->start_us[1], 1600 * S);
  CU_ASSERT_EQUAL(result->start_us[2], 1102 * S);
  hr_result_destroy(result);
}

/* Nodes 0 and 1 are drained from 700 s and are in maintenance from 1,000 s to 1,600 s. Nodes 2 and 3 are drained from
   1,600 s and are in maintenance from 1,900 s to 2,500 s. At 800 s, the plan does not know the second drain yet. So job
   0, on three nodes, has a reservation at 1,600 s. Job 1, on two nodes, does not start on nodes 2 and 3, because it
   would run until 1,701 s. At 1,600 s the second drain begins, and the reservation of job 0 moves to 2,500 s. Job 1
   then starts on nodes 0 and 1 and ends at 2,500 s. */
static void plans_know_the_end_of_a_drain(void) {
  static const char *const policies[] = {"queue backfill=conservative placement=first-fit",
                                         "queue backfill=easy placement=first-fit"};
  for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
    struct world world;
    world_init(&world, 4, 2);
    world.policy = policies[i];
    world.window[0].group_nodes = 2;
    world.window[0].lead_us = 300 * S;
    const int64_t works_s[] = {300, 900};
    for (uint32_t k = 0; k < 2; k++) {
      world.submit_us[k] = (800 + k) * S;
      world.work_us[k] = world.limit_us[k] = works_s[k] * S;
      world.gpus[k] = 3 - k;
    }
    struct hr_result *result = run(&world);
    CU_ASSERT_EQUAL(result->start_us[0], 2500 * S);
    CU_ASSERT_EQUAL(result->start_us[1], 1600 * S);
    hr_result_destroy(result);
  }
}

TEST_MAIN("Maintenance of nodes", TEST(drains_are_as_by_hand), TEST(groups_follow_each_other),
          TEST(a_failure_uses_the_budget), TEST(limits_keep_clear), TEST(easy_fills_the_time_before_a_window),
          TEST(easy_reserves_for_a_held_job), TEST(plans_avoid_works), TEST(plans_know_the_end_of_a_work),
          TEST(plans_know_the_end_of_a_drain), TEST(endless_jobs_are_not_held),
          TEST(overlaps_are_those_of_an_enumeration), TEST(random_worlds_keep_the_invariants))
