/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recovery from failures: asynchronous checkpoints, jobs with a limit of restarts, corrupted results, places of stopped
 * jobs in the queue, excluded nodes, bugs of other systems, spare nodes, slow nodes, recorded failures. Each test of a
 * run asserts the number of failures or slow periods that occurred.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/faults.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define S HR_SECOND_US

enum { MAX_JOBS = 60 };

struct world {
  struct hr_pool_spec pool;
  struct hr_fault_process process;
  struct hr_fault_spec faults;
  struct hr_class_spec class_;
  uint32_t n_jobs, gpus[MAX_JOBS];
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS];
  const char *policy, *requeue;          /* requeue: of the policy queue; NULL: the default */
  const char *exclude_nodes, *exclude_s; /* of the policy queue; NULL: the default */
  struct hr_observer *observer;          /* may be NULL */
  uint64_t seed;
  int64_t horizon_us;
  bool unchecked;
};

static struct hr_duration fixed(double seconds) {
  return (struct hr_duration){HR_DURATION_FIXED, seconds, 0};
}
static struct hr_duration exponential(double mean_s) {
  return (struct hr_duration){HR_DURATION_EXPONENTIAL, mean_s, 0};
}

static void world_init(struct world *world, uint32_t n_nodes, uint32_t n_jobs) {
  static char name[] = "p", gpu[] = "A100";
  *world = (struct world){
      .pool = {.name = name, .gpu = gpu, .nodes = n_nodes, .gpus_per_node = 1, .market = {.to_us = HR_NEVER_US}},
      .process = {.unit = HR_TIER_NODE, .bad_factor = 1, .fresh = true},
      .faults = {.n_processes = 1},
      .n_jobs = n_jobs,
      .policy = "easy",
      .horizon_us = HR_NEVER_US};
  for (uint32_t i = 0; i < n_jobs; i++) world->gpus[i] = 1;
}

static struct hr_result *run(struct world *world) {
  struct hr_class_spec classes[HR_N_CLASSES];
  struct hr_trace trace = {.source = "test",
                           .n_jobs = world->n_jobs,
                           .submit_us = world->submit_us,
                           .work_us = world->work_us,
                           .gpus = world->gpus};
  struct hr_cluster_spec cluster = {&world->pool, 1};
  struct hr_policy_choice choice = {0};
  struct hr_result *result = NULL;
  struct hr_error error = {0};
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) classes[i] = world->class_;
  world->faults.processes = &world->process;
  world->pool.faults = &world->faults;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, world->policy, &error), HR_OK);
  if (world->requeue) CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, "requeue", world->requeue, &error), HR_OK);
  if (world->exclude_nodes)
    CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, "exclude_nodes", world->exclude_nodes, &error), HR_OK);
  if (world->exclude_s)
    CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, "exclude_s", world->exclude_s, &error), HR_OK);
  struct hr_run_config config = {.trace = &trace,
                                 .observers = world->observer,
                                 .n_observers = world->observer != NULL,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = world->seed,
                                 .horizon_us = world->horizon_us,
                                 .check = !world->unchecked,
                                 .classes = classes};
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) fprintf(stderr, "%s: %s\n", world->policy, error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  hr_policy_choice_finish(&choice);
  return result;
}

/* ---- Asynchronous checkpoints ----------------------------------------------------------------------------- */

/* After each 30 s of work a checkpoint begins: the job stalls for 2 s, and the checkpoint is complete 20 s after its
   begin. The first checkpoint begins at 30 s and is complete at 50 s. The work since the stall counts for the next
   interval. So the second checkpoint begins at 62 s, with 60 s of work, and is complete at 82 s. The third begins at
   94 s. At the failure at 100 s, 94 s of work are done and 60 s are kept, so 34 s are lost. After the repair at 110 s
   and a restart of 5 s, 40 s of work and one stall of 2 s are left: the job ends at 157 s. */
static void the_last_unfinished_checkpoint_is_lost(void) {
  struct world world;
  world_init(&world, 1, 1);
  world.work_us[0] = 100 * S;
  world.class_ = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_INTERVAL,
                                        .interval_us = 30 * S,
                                        .write_us = 20 * S,
                                        .async = true,
                                        .stall_us = 2 * S,
                                        .restart_us = 5 * S};
  world.process.between = fixed(100);
  world.process.only.repair = fixed(10);
  struct hr_result *result = run(&world);
  const struct hr_job_accounting copy = hr_result_accounting(result, (hr_job){0}), *job = &copy;
  CU_ASSERT_EQUAL(result->pools[0].failures, 1);
  CU_ASSERT_EQUAL(job->lost_us, 34 * S);
  CU_ASSERT_EQUAL(job->saving_us, 4 * 2 * S);
  CU_ASSERT_EQUAL(job->saved_us, 50 * S);
  CU_ASSERT_EQUAL(job->end_us, 157 * S);
  hr_result_destroy(result);
}

/* ---- Jobs that give up ------------------------------------------------------------------------------------ */

/* A node fails after each 100 s in operation, so a job of 250 s without checkpoints never completes. It may be
   restarted twice (3 attempts) or never (1 attempt), and is then rejected. A second job of 5 s completes.
 */
static void jobs_give_up(void) {
  static const char *const policies[] = {"easy", "conservative", "slurm", "kubernetes", "volcano", "kai", "rounds"};
  for (uint32_t i = 0; i < sizeof policies / sizeof *policies; i++)
    for (uint32_t limit = 0; limit < 2; limit++) {
      struct world world;
      world_init(&world, 1, 2);
      world.policy = policies[i];
      world.work_us[0] = 250 * S;
      world.submit_us[1] = 40 * S;
      world.work_us[1] = 5 * S;
      world.class_ = (struct hr_class_spec){.max_requeues = limit ? 2 : 0, .no_requeue = !limit};
      world.process.between = fixed(100);
      world.process.only.repair = fixed(10);
      struct hr_result *result = run(&world);
      CU_ASSERT_EQUAL(result->state[0], HR_JOB_REJECTED);
      CU_ASSERT_EQUAL(result->reason[0], HR_REASON_REQUEUES);
      CU_ASSERT_EQUAL(result->pools[0].failed_jobs, limit ? 3 : 1);
      CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).attempts, limit ? 3 : 1);
      CU_ASSERT_EQUAL(result->state[1], HR_JOB_COMPLETED);
      hr_result_destroy(result);
    }
}

/* ---- Corruption ------------------------------------------------------------------------------------------- */

/* A job of 200 s writes checkpoints after each 30 s, at no cost. The node corrupts results from 100 s on, when 90 s are
   kept. This is found at 150 s: the job returns to 90 s, although 150 s were saved, and loses 60 s. After the repair at
   160 s, 110 s are left: it ends at 270 s. The second failure, at 260 s, would be found at 310 s. */
static void corrupted_checkpoints_are_lost(void) {
  struct world world;
  struct hr_fault_class class_ = {.share = 1, .corrupts = true, .detect = fixed(50), .repair = fixed(10)};
  world_init(&world, 1, 1);
  world.work_us[0] = 200 * S;
  world.class_ = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_INTERVAL, .interval_us = 30 * S};
  world.process.between = fixed(100);
  world.process.classes = &class_;
  world.process.n_classes = 1;
  struct hr_result *result = run(&world);
  const struct hr_job_accounting copy = hr_result_accounting(result, (hr_job){0}), *job = &copy;
  CU_ASSERT_EQUAL(result->pools[0].failures, 2);
  CU_ASSERT_EQUAL(result->pools[0].failed_jobs, 1);
  CU_ASSERT_EQUAL(job->lost_us, 60 * S);
  CU_ASSERT_EQUAL(job->kept_us, 200 * S);
  CU_ASSERT_EQUAL(job->end_us, 270 * S);
  CU_ASSERT((int64_t)result->pools[0].down_us == 10 * S);
  hr_result_destroy(result);
}

/* ---- Places in the queue ---------------------------------------------------------------------------------- */

/* Job 0 is stopped at 100 s, with 50 s of work left. Jobs 1 and 2 of 30 s have waited since 10 s, and job 3 is
   submitted at 120 s. After the repair at 110 s, order and head continue with job 0. With tail the jobs run in the
   order 1, 2, 0, 3. */
static void stopped_jobs_wait_at_their_place(void) {
  static const char *const places[] = {"order", "head", "tail"};
  static const int64_t ends_s[][4] = {{160, 190, 220, 250}, {160, 190, 220, 250}, {220, 140, 170, 250}};
  for (uint32_t i = 0; i < 3; i++) {
    struct world world;
    struct hr_fault_replay replay = {0, 100 * S, 10 * S};
    world_init(&world, 1, 4);
    world.requeue = places[i];
    world.class_.checkpoint = HR_CHECKPOINT_CONTINUOUS;
    world.process.clock = HR_FAULT_CLOCK_WALL;
    world.process.replays = &replay;
    world.process.n_replays = 1;
    world.work_us[0] = 150 * S;
    for (uint32_t k = 1; k < 4; k++) {
      world.submit_us[k] = (k < 3 ? 10 : 120) * S;
      world.work_us[k] = 30 * S;
    }
    struct hr_result *result = run(&world);
    CU_ASSERT_EQUAL(result->pools[0].failures, 1);
    for (uint32_t k = 0; k < 4; k++)
      CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){k}).end_us, ends_s[i][k] * S);
    hr_result_destroy(result);
  }
}

/* ---- Excluded nodes --------------------------------------------------------------------------------------- */

/* Job 0 of 300 s is stopped on node 0 at 100 s and loses its work; the node is repaired at 110 s, and job 1 has the
   other node until 200 s. Without exclusion, job 0 returns to node 0 immediately. If node 0 is excluded for 1,000 s,
   job 0 waits for the other node. If node 0 is excluded for 50 s, job 0 waits until 150 s. */
static void a_job_does_not_return_to_a_node(void) {
  static const char *const nodes[] = {"0", "1", "1"}, *const seconds[] = {NULL, "1000", "50"};
  static const int64_t ends_s[] = {110 + 300, 200 + 300, 150 + 300};
  static const int64_t excluded_s[] = {0, 400, 50}; /* until job 0 ends, or until the exclusion ends */
  for (uint32_t i = 0; i < 3; i++) {
    struct world world;
    struct hr_fault_replay replay = {0, 100 * S, 10 * S};
    world_init(&world, 2, 2);
    world.exclude_nodes = nodes[i];
    world.exclude_s = seconds[i];
    world.process.clock = HR_FAULT_CLOCK_WALL;
    world.process.replays = &replay;
    world.process.n_replays = 1;
    world.work_us[0] = 300 * S;
    world.work_us[1] = 200 * S;
    struct hr_result *result = run(&world);
    CU_ASSERT_EQUAL(result->pools[0].failures, 1);
    CU_ASSERT_EQUAL(result->pools[0].failed_jobs, 1);
    CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).end_us, ends_s[i] * S);
    CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){1}).end_us, 200 * S);
    CU_ASSERT_EQUAL(result->pools[0].exclusions, i > 0);
    CU_ASSERT((int64_t)result->pools[0].excluded_us == excluded_s[i] * S);
    hr_result_destroy(result);
  }
}

/* Plans do not know when a repair ends. Node 0 is failed from 10 s to 200 s. Job 0 needs both nodes and has no
   reservation, so job 1, of 1,000 s, starts on the other node, and job 0 starts after it. A plan that knew the end of
   the repair would have reserved both nodes at 200 s. */
static void plans_do_not_know_repairs(void) {
  static const char *const policies[] = {"easy", "conservative", "slurm"};
  for (uint32_t i = 0; i < sizeof policies / sizeof *policies; i++) {
    struct world world;
    struct hr_fault_replay replay = {0, 10 * S, 190 * S};
    world_init(&world, 2, 2);
    world.policy = policies[i];
    world.process.clock = HR_FAULT_CLOCK_WALL;
    world.process.replays = &replay;
    world.process.n_replays = 1;
    world.gpus[0] = 2;
    world.submit_us[0] = 20 * S;
    world.work_us[0] = 50 * S;
    world.submit_us[1] = 21 * S;
    world.work_us[1] = 1000 * S;
    struct hr_result *result = run(&world);
    CU_ASSERT_EQUAL(result->pools[0].failures, 1);
    CU_ASSERT(result->start_us[1] < 200 * S);
    CU_ASSERT(result->start_us[0] >= result->start_us[1] + 1000 * S);
    hr_result_destroy(result);
  }
}

enum { EXCLUDED_NODES = 2, EXCLUDED_S = 400 };

/* By job: the last nodes that failed while the job ran on them, and the ends of their exclusions. */
struct seen_failures {
  uint32_t node[MAX_JOBS][EXCLUDED_NODES];
  int64_t until_us[MAX_JOBS][EXCLUDED_NODES];
  uint32_t n_failures, n_returns;
};

static void note_failures(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct seen_failures *seen = self;
  bool fails = event->kind == HR_EVENT_INTERRUPT && event->reason == HR_REASON_FAILED;
  if (!fails && event->kind != HR_EVENT_START) return;
  uint32_t job = event->job.id;
  for (uint32_t i = 0; i < event->placement->n_slices; i++) {
    hr_node node = event->placement->slices[i].node;
    for (uint32_t k = 0; !fails && k < EXCLUDED_NODES; k++)
      seen->n_returns += seen->node[job][k] == node.id && seen->until_us[job][k] > event->at_us;
    if (!fails || !hr_view_node_failed(view, node)) continue;
    seen->n_failures++;
    seen->node[job][1] = seen->node[job][0];
    seen->until_us[job][1] = seen->until_us[job][0];
    seen->node[job][0] = node.id;
    seen->until_us[job][0] = event->at_us + EXCLUDED_S * S;
  }
}

/* In random worlds with `exclude_nodes` 2, no job starts on a node that is excluded for it. With `exclude_nodes` 0,
   jobs start on such nodes. */
static void excluded_nodes_are_avoided(void) {
  uint32_t n_failures[2] = {0}, n_returns[2] = {0};
  for (uint32_t seed = 0; seed < 40; seed++) {
    static struct seen_failures seen;
    struct hr_observer observer = {.self = &seen, .on_event = note_failures};
    struct world world;
    memset(&seen, 0, sizeof seen);
    world_init(&world, 5, MAX_JOBS);
    world.observer = &observer;
    world.seed = seed;
    world.exclude_nodes = seed % 2 ? "2" : "0";
    world.exclude_s = "400";
    world.process.between = exponential(500);
    world.process.only.repair = fixed(20);
    world.process.only.detect = fixed(seed % 3 * 10);
    world.class_ = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_INTERVAL, .interval_us = 50 * S};
    for (uint32_t i = 0; i < MAX_JOBS; i++) {
      world.submit_us[i] = i * 40 * S;
      world.work_us[i] = (20 + (i * 37 + seed * 11) % 200) * S;
      world.gpus[i] = 1 + (i + seed) % 3;
    }
    struct hr_result *result = run(&world);
    CU_ASSERT_EQUAL(result->n_completed, MAX_JOBS);
    n_failures[seed % 2] += seen.n_failures;
    n_returns[seed % 2] += seen.n_returns;
    hr_result_destroy(result);
  }
  CU_ASSERT(n_failures[0] > 200 && n_failures[1] > 200);
  CU_ASSERT(n_returns[0] > 20);
  CU_ASSERT_EQUAL(n_returns[1], 0);
}

/* ---- Bugs of other systems -------------------------------------------------------------------------------- */

/* OpenDC: no failures occur after the first, and failures do not overlap. Here three nodes fail at overlapping times,
   again and again. */
static void failures_go_on_and_overlap(void) {
  struct world world;
  world_init(&world, 3, 1);
  world.work_us[0] = 1000 * S;
  world.gpus[0] = 3;
  world.class_.checkpoint = HR_CHECKPOINT_CONTINUOUS;
  world.process.clock = HR_FAULT_CLOCK_WALL;
  struct hr_fault_replay replays[60];
  for (uint32_t i = 0; i < 60; i++)
    replays[i] = (struct hr_fault_replay){i % 3, (i / 3 * 100 + i % 3 * 10) * S, 30 * S};
  world.process.replays = replays;
  world.process.n_replays = 60;
  hr_fault_replays_sort(&world.process, 3);
  struct hr_result *result = run(&world);
  /* in each 100 s, the job works for the 50 s in which no node is down. The 20th outage lasts from 1,900 s to 1,950 s,
   and the job ends 50 s later */
  CU_ASSERT_EQUAL(result->pools[0].failures, 60);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).end_us, 2000 * S);
  CU_ASSERT((int64_t)result->pools[0].down_us == 60 * 30 * S);
  hr_result_destroy(result);
}

/* Kueue: several nodes of one job fail at the same time. The job of 300 s, on nodes 0 to 2, is stopped once, at 100 s.
   It starts again from the beginning on nodes 1, 3 and 4. */
static void several_nodes_of_a_job_fail(void) {
  struct world world;
  struct hr_fault_replay replays[] = {{0, 100 * S, 5000 * S}, {2, 100 * S, 5000 * S}};
  world_init(&world, 5, 1);
  world.work_us[0] = 300 * S;
  world.gpus[0] = 3;
  world.process.clock = HR_FAULT_CLOCK_WALL;
  world.process.replays = replays;
  world.process.n_replays = 2;
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(result->pools[0].failures, 2);
  CU_ASSERT_EQUAL(result->pools[0].failed_jobs, 1);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).end_us, 400 * S);
  hr_result_destroy(result);
}

/* AKS: an upgrade that a disruption budget blocks forever. Node 1 is failed during the whole run and uses the budget of
   one node, so no maintenance begins. The job on node 0 is not affected, and the run ends. */
static void a_blocked_maintenance_waits(void) {
  struct world world;
  struct hr_fault_replay replay = {1, 0, (int64_t)1000000 * S};
  struct hr_maintenance window = {.start_us = 100 * S,
                                  .duration_us = 50 * S,
                                  .group_nodes = 1,
                                  .max_unavailable = 1,
                                  .drain = HR_DRAIN_DEADLINE_KILL};
  world_init(&world, 2, 1);
  world.pool.maintenance = &window;
  world.pool.n_maintenance = 1;
  world.process.clock = HR_FAULT_CLOCK_WALL;
  world.process.replays = &replay;
  world.process.n_replays = 1;
  world.work_us[0] = 90000 * S;
  world.policy = "kubernetes";
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(result->pools[0].failures, 1);
  CU_ASSERT_EQUAL(result->pools[0].maintenances, 0);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).end_us, 90000 * S);
  hr_result_destroy(result);
}

/* ---- Spares ----------------------------------------------------------------------------------------------- */

/* Three nodes, one of them a spare that needs 7 s to come up. A job on two nodes is stopped at 100 s, when node 0 and
   node 1 fail at the same time. The spare is up at 107 s, and job 1 runs on it for 20 s. At 150 s both nodes are
   repaired: node 0 is up, so job 0 starts again on it and on the former spare; node 1 becomes the spare. The spare time
   is 100 s until the failure, and the time from 150 s to the end of the run at 270 s. */
static void a_spare_replaces_a_node(void) {
  struct world world;
  struct hr_fault_replay replays[] = {{0, 100 * S, 50 * S}, {1, 100 * S, 50 * S}};
  world_init(&world, 3, 2);
  world.faults.spares = 1;
  world.faults.activation_us = 7 * S;
  world.process.clock = HR_FAULT_CLOCK_WALL;
  world.process.replays = replays;
  world.process.n_replays = 2;
  world.gpus[0] = 2;
  world.work_us[0] = 120 * S;
  world.submit_us[1] = 101 * S;
  world.work_us[1] = 20 * S;
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(result->pools[0].failures, 2);
  CU_ASSERT_EQUAL(result->pools[0].spare_activations, 1);
  CU_ASSERT_EQUAL(result->start_us[1], 107 * S);
  CU_ASSERT((int64_t)result->pools[0].spare_us == (100 + 270 - 150) * S);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).end_us, 270 * S);
  hr_result_destroy(result);
}

/* Returns the mean number of nodes that are up, of n nodes and s spares. Spares do not fail while they wait. This is a
   birth-and-death process in the number k of failed nodes, with the failure rate min(n, n + s - k) * xi and the repair
   rate min(k, crew) * eta. */
static double mean_up(uint32_t n, uint32_t s, double xi, double eta, uint32_t crew) {
  double p = 1, sum = 0, up = 0;
  for (uint32_t k = 0; k <= n + s; k++) {
    uint32_t working = n + s - k < n ? n + s - k : n;
    sum += p;
    up += p * working;
    p *= working * xi / ((k + 1 < crew ? k + 1 : crew) * eta);
  }
  return up / sum;
}

static void spares_raise_the_availability(void) {
  static const uint32_t spares[] = {0, 1, 3};
  for (uint32_t i = 0; i < 3; i++) {
    struct world world;
    world_init(&world, 10 + spares[i], 1);
    world.unchecked = true;
    world.work_us[0] = 1;
    world.submit_us[0] = (int64_t)20000000 * S;
    world.faults.spares = spares[i];
    world.faults.crew = 3;
    world.process.between = exponential(10000);
    world.process.only.repair = exponential(2000);
    world.process.fresh = true;
    struct hr_result *result = run(&world);
    double seen = (double)result->pools[0].up_us / (double)result->end_us;
    double expected = mean_up(10, spares[i], 1e-4, 5e-4, 3);
    CU_ASSERT(result->pools[0].failures > 10000);
    CU_ASSERT((result->pools[0].spare_activations > 1000) == (spares[i] > 0));
    if (fabs(seen - expected) > 0.01 * expected) printf("\n    %.4f nodes up, expected %.4f", seen, expected);
    CU_ASSERT(fabs(seen - expected) <= 0.01 * expected);
    hr_result_destroy(result);
  }
}

/* The number of spares that is sufficient with probability 0.99 for 1,024 nodes, each of which is down with probability
   0.001: 4, as reported for ByteRobust. */
static void the_binomial_rule_for_spares(void) {
  double below = 0;
  uint32_t s = 0;
  for (;; s++) {
    below += gsl_ran_binomial_pdf(s, 0.001, 1024);
    if (below >= 0.99) break;
  }
  CU_ASSERT_EQUAL(s, 4);
}

/* ---- Slow nodes ------------------------------------------------------------------------------------------- */

/* Nodes are slow for half of the time, at half the speed. A gang of two nodes works at full speed only while both are
   fast: with probability 1/4. Its mean speed is 1/4 + 3/4 x 1/2 = 5/8; that of a single node 3/4. */
static void a_gang_is_as_slow_as_its_slowest_node(void) {
  for (uint32_t gang = 1; gang <= 2; gang++) {
    struct world world;
    world_init(&world, gang, 1);
    world.faults.n_processes = 0;
    world.faults.slow = (struct hr_slow_spec){exponential(1000), exponential(1000), 500000};
    world.gpus[0] = gang;
    world.work_us[0] = (int64_t)4000000 * S;
    struct hr_result *result = run(&world);
    double speed = (double)world.work_us[0] / (double)hr_result_accounting(result, (hr_job){0}).end_us;
    double expected = gang == 1 ? 0.75 : 0.625;
    CU_ASSERT(result->pools[0].slow_episodes > 1000);
    CU_ASSERT_EQUAL(result->pools[0].failures, 0);
    if (fabs(speed - expected) > 0.02) printf("\n    speed %.4f, expected %.4f", speed, expected);
    CU_ASSERT(fabs(speed - expected) <= 0.02);
    /* the lost GPU time is the additional time of the job; each change may round by a microsecond */
    int64_t lost_us = (int64_t)(result->pools[0].slow_lost / 1000000 / 1000);
    int64_t longer_us = gang * (hr_result_accounting(result, (hr_job){0}).end_us - world.work_us[0]);
    CU_ASSERT(llabs(lost_us - longer_us) <= 4 * (int64_t)result->pools[0].slow_episodes);
    hr_result_destroy(result);
  }
}

/* ---- Recorded failures ------------------------------------------------------------------------------------ */

/* Overlapping records of a node are joined, records of nodes that do not exist (node 7) are ignored, and the order of
   records has no effect. The job runs on node 0 with all of its work kept: it is stopped at 10 s for 25 s and at 60 s
   for 5 s, and ends at 130 s. Node 1 is down from 0 s until the end of the run. */
static void records_are_replayed_exactly(void) {
  struct world world;
  struct hr_fault_replay replays[] = {
      {0, 60 * S, 5 * S}, {7, 1 * S, 9 * S}, {0, 10 * S, 20 * S}, {0, 20 * S, 15 * S}, {1, 0, 1000 * S}};
  world_init(&world, 2, 1);
  world.process.clock = HR_FAULT_CLOCK_WALL;
  world.process.replays = replays;
  world.process.n_replays = 5;
  hr_fault_replays_sort(&world.process, 2);
  CU_ASSERT_EQUAL(world.process.n_replays, 3);
  world.work_us[0] = 100 * S;
  world.class_.checkpoint = HR_CHECKPOINT_CONTINUOUS;
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(result->pools[0].failures, 3);
  CU_ASSERT_EQUAL(result->pools[0].failed_jobs, 2);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).end_us, 130 * S);
  CU_ASSERT((int64_t)result->pools[0].down_us == (25 + 5 + 130) * S);
  hr_result_destroy(result);
}

/* Intervals that are drawn from lists with the means 1 h (up) and 0.25 h (down): the availability is 1 / 1.25 = 0.8,
   both if all nodes are fresh at the start and if the run begins in the stationary state. */
static void recorded_intervals_have_their_means(void) {
  struct hr_hours up[] = {{0.1}, {0.2}, {0.3}, {3.4}}, down[] = {{0}, {0.5}};
  for (uint32_t fresh = 0; fresh < 2; fresh++) {
    struct world world;
    world_init(&world, 20, 1);
    world.unchecked = true;
    world.work_us[0] = 1;
    world.submit_us[0] = (int64_t)4000000 * S;
    world.process.fresh = fresh;
    world.process.between = exponential(3600);
    world.process.recorded_between = (struct hr_recorded){up, 4, 3600};
    world.process.recorded_repair = (struct hr_recorded){down, 2, 900};
    struct hr_result *result = run(&world);
    double seen = 1 - (double)result->pools[0].down_us / (20 * (double)result->end_us);
    CU_ASSERT(result->pools[0].failures > 10000);
    if (fabs(seen - 0.8) > 0.01) printf("\n    availability %.4f, expected 0.8", seen);
    CU_ASSERT(fabs(seen - 0.8) <= 0.01);
    hr_result_destroy(result);
  }
}

/* ---- Properties ------------------------------------------------------------------------------------------- */

static uint32_t below(struct hr__stream *stream, uint32_t bound) {
  return (uint32_t)(hr__stream_uniform(stream) * bound);
}

static void random_worlds_keep_the_invariants(void) {
  static const char *const policies[] = {"easy", "conservative", "las", "slurm", "kubernetes", "volcano"};
  enum { WORLDS = 120 };
  uint64_t failures = 0, activations = 0, episodes = 0, rejected = 0;
  for (uint32_t number = 0; number < WORLDS; number++) {
    struct hr__stream stream;
    struct world world;
    struct hr_maintenance window = {.start_us = 3000 * S,
                                    .repeat_us = 9000 * S,
                                    .duration_us = 500 * S,
                                    .group_nodes = 1,
                                    .max_unavailable = HR_NONE,
                                    .drain = (enum hr_drain)(number % HR_N_DRAINS)};
    hr__stream_init(&stream, 9, HR__PURPOSE_SAMPLE, number, 0);
    world_init(&world, 2 + below(&stream, 5), MAX_JOBS);
    world.pool.gpus_per_node = 1 + below(&stream, 4);
    world.seed = number;
    world.policy = policies[number % (sizeof policies / sizeof *policies)];
    world.faults.spares = below(&stream, world.pool.nodes);
    world.faults.activation_us = (int64_t)below(&stream, 300) * S;
    world.faults.crew = below(&stream, 3);
    if (below(&stream, 2)) world.faults.slow = (struct hr_slow_spec){exponential(3000), exponential(900), 300000};
    if (below(&stream, 2)) {
      world.pool.maintenance = &window;
      world.pool.n_maintenance = 1;
    }
    world.process.clock = (enum hr_fault_clock)below(&stream, HR_N_FAULT_CLOCKS);
    world.process.fresh = below(&stream, 2);
    world.process.between = exponential(4000);
    struct hr_fault_class classes[] = {
        {.share = 2, .detect = fixed(40), .repair = exponential(600)},
        {.share = 1, .corrupts = true, .detect = fixed(900), .repair = exponential(300)}};
    world.process.classes = classes;
    world.process.n_classes = 2;
    world.class_ = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_INTERVAL,
                                          .interval_us = 200 * S,
                                          .write_us = 60 * S,
                                          .async = below(&stream, 2),
                                          .stall_us = 5 * S,
                                          .max_requeues = below(&stream, 4),
                                          .restart_us = 30 * S};
    for (uint32_t i = 0; i < MAX_JOBS; i++) {
      world.submit_us[i] = (i ? world.submit_us[i - 1] : 0) + (int64_t)below(&stream, 300) * S;
      world.work_us[i] = (int64_t)(1 + below(&stream, 1500)) * S;
      world.gpus[i] = 1 + below(&stream, (world.pool.nodes - world.faults.spares) * world.pool.gpus_per_node);
    }
    struct hr_result *result = run(&world);
    CU_ASSERT_EQUAL(result->n_completed + result->n_rejected + result->n_waiting + result->n_running, MAX_JOBS);
    failures += result->pools[0].failures;
    activations += result->pools[0].spare_activations;
    episodes += result->pools[0].slow_episodes;
    rejected += result->n_rejected;
    hr_result_destroy(result);
  }
  CU_ASSERT(failures > 500);
  CU_ASSERT(activations > 300);
  CU_ASSERT(episodes > 300);
  CU_ASSERT(rejected > 20);
}

TEST_MAIN("Recovery from failures", TEST(the_last_unfinished_checkpoint_is_lost), TEST(jobs_give_up),
          TEST(corrupted_checkpoints_are_lost), TEST(stopped_jobs_wait_at_their_place),
          TEST(a_job_does_not_return_to_a_node), TEST(plans_do_not_know_repairs), TEST(excluded_nodes_are_avoided),
          TEST(failures_go_on_and_overlap), TEST(several_nodes_of_a_job_fail), TEST(a_blocked_maintenance_waits),
          TEST(a_spare_replaces_a_node), TEST(spares_raise_the_availability), TEST(the_binomial_rule_for_spares),
          TEST(a_gang_is_as_slow_as_its_slowest_node), TEST(records_are_replayed_exactly),
          TEST(recorded_intervals_have_their_means), TEST(random_worlds_keep_the_invariants))
