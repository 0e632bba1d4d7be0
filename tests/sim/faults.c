/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Failures and repairs of nodes: cases that are computed by hand, closed forms, and random worlds in checked mode. Each
 * test asserts the number of injected failures, so that no test passes because there were no failures.
 */

#include "headroom/unstable/faults.h"
#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "queue_choice.h"
#include "statistics.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_gamma.h>
#include <string.h>

#define S HR_SECOND_US

enum { MAX_JOBS = 60000 };

/* The input of a run. world_init allocates the arrays, and world_finish frees them. */
struct world {
  struct hr_pool_spec pool;
  struct hr_fault_spec spec;
  struct hr_fault_process process[4];
  struct hr_class_spec class_;
  uint32_t n_jobs;
  int64_t *submit_us, *work_us;
  uint32_t *gpus;
  const char *policy;              /* NULL: `queue` with backfill `skip` */
  const struct hr_policy_ops *ops; /* used instead of `policy` unless NULL */
  int64_t horizon_us;
  uint64_t seed;
  bool check;
};

static struct hr_duration fixed(double seconds) {
  return (struct hr_duration){HR_DURATION_FIXED, seconds, 0};
}
static struct hr_duration exponential(double mean_s) {
  return (struct hr_duration){HR_DURATION_EXPONENTIAL, mean_s, 0};
}

static void world_init(struct world *world, uint32_t n_nodes, uint32_t gpus_per_node, uint32_t n_jobs) {
  static char name[] = "p", gpu[] = "A100";
  *world = (struct world){.pool = {.name = name,
                                   .gpu = gpu,
                                   .nodes = n_nodes,
                                   .gpus_per_node = gpus_per_node,
                                   .market = {.to_us = HR_NEVER_US}},
                          .spec = {.n_processes = 1},
                          .n_jobs = n_jobs,
                          .submit_us = calloc(n_jobs, sizeof *world->submit_us),
                          .work_us = calloc(n_jobs, sizeof *world->work_us),
                          .gpus = calloc(n_jobs, sizeof *world->gpus),
                          .horizon_us = HR_NEVER_US,
                          .seed = 1,
                          .check = true};
  for (uint32_t i = 0; i < 4; i++) world->process[i] = (struct hr_fault_process){.unit = HR_TIER_NODE, .bad_factor = 1};
  CU_ASSERT_FATAL(world->submit_us && world->work_us && world->gpus);
  for (uint32_t i = 0; i < n_jobs; i++) world->gpus[i] = 1;
}

static void world_finish(struct world *world) {
  free(world->submit_us);
  free(world->work_us);
  free(world->gpus);
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
  world->spec.processes = world->process;
  world->pool.faults = &world->spec;
  if (world->policy) {
    CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, world->policy, &error), HR_OK);
  } else {
    choice = queue_choice("skip", "first-fit");
  }
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = world->ops ? world->ops : choice.ops,
                                 .params = world->ops ? NULL : choice.params,
                                 .seed = world->seed,
                                 .horizon_us = world->horizon_us,
                                 .check = world->check,
                                 .classes = classes};
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) fprintf(stderr, "%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  hr_policy_choice_finish(&choice);
  return result;
}

/* ---- Cases computed by hand --------------------------------------------------------------------------- */

/* A node works for 100 s, hangs for 10 s and is repaired in 20 s. A job of 250 s keeps its work.
   100 work, 10 hang, 20 down; 100 work, 10 hang, 20 down; 50 work: it ends at 310 s. */
static void a_job_hangs_and_continues(void) {
  struct world world;
  world_init(&world, 1, 1, 1);
  world.work_us[0] = 250 * S;
  world.class_.checkpoint = HR_CHECKPOINT_CONTINUOUS;
  world.process[0].fresh = true;
  world.process[0].between = fixed(100);
  world.process[0].only = (struct hr_fault_class){.detect = fixed(10), .repair = fixed(20)};
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).end_us, 310 * S);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).kept_us, 250 * S);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).hanging_us, 20 * S);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).held_us, 270 * S);
  CU_ASSERT_EQUAL(result->pools[0].failures, 2);
  CU_ASSERT_EQUAL(result->pools[0].failed_jobs, 2);
  CU_ASSERT((int64_t)result->pools[0].down_us == 60 * S);
  hr_result_destroy(result);
  world_finish(&world);
}

/* Starts job 0 on node 0 and stops it at 110 s. */
static enum hr_status decide_to_preempt(void *self, const struct hr_view *view, struct hr_moves *moves) {
  struct hr_slice slice = {{0}, 1000, 0};
  const struct hr_placement placement = {.pool = {0}, .n_slices = 1, .slices = &slice};
  (void)self;
  if (view->state[0] == HR_JOB_WAITING && hr_cluster_node_state(view->cluster, (hr_node){0}) == HR_NODE_UP)
    return hr_moves_start(moves, (hr_job){0}, &placement, HR_REASON_IN_ORDER);
  if (view->state[0] != HR_JOB_RUNNING) return HR_OK;
  if (view->now_us == 110 * S) return hr_moves_preempt(moves, (hr_job){0}, HR_REASON_POLICY);
  return view->now_us < 110 * S ? hr_moves_wake_at(moves, 110 * S) : HR_OK;
}

static uint32_t preempts(void *self) {
  (void)self;
  return HR_POLICY_PREEMPTS;
}

static enum hr_status create_nothing(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)env, (void)error;
  *self = NULL;
  return HR_OK;
}

/* A job of 90 s works from 20 s. Its node fails at 100 s, which is detected at 150 s; the repair ends at 170 s. At 110
   s the policy stops the job, which cannot save its work on the failed node. Without checkpoints, all 80 s of work are
   lost, and the job ends at 170 + 90 s. With a checkpoint after each 30 s of work, 20 s are lost, and the job ends at
   170 + 30 s. */
static void a_job_that_hangs_is_preempted(void) {
  static const struct hr_policy_ops ops = {.abi = HR_POLICY_ABI,
                                           .size = sizeof ops,
                                           .name = "preempts",
                                           .create = create_nothing,
                                           .decide = decide_to_preempt,
                                           .abilities = preempts};
  for (int saves = 0; saves < 2; saves++) {
    struct world world;
    world_init(&world, 1, 1, 1);
    world.ops = &ops;
    world.submit_us[0] = 20 * S;
    world.work_us[0] = 90 * S;
    world.class_ = (struct hr_class_spec){.checkpoint = saves ? HR_CHECKPOINT_INTERVAL : HR_CHECKPOINT_NONE,
                                          .interval_us = 30 * S};
    world.process[0].fresh = true;
    world.process[0].between = fixed(100);
    world.process[0].only = (struct hr_fault_class){.detect = fixed(50), .repair = fixed(20)};
    struct hr_result *result = run(&world);
    const struct hr_job_accounting job = hr_result_accounting(result, (hr_job){0});
    CU_ASSERT_EQUAL(result->pools[0].failures, 1);
    CU_ASSERT_EQUAL(result->pools[0].failed_jobs, 0);
    CU_ASSERT_EQUAL(job.end_us, (saves ? 200 : 260) * S);
    CU_ASSERT_EQUAL(job.lost_us, (saves ? 20 : 80) * S);
    CU_ASSERT_EQUAL(job.hanging_us, 10 * S);
    CU_ASSERT_EQUAL(job.kept_us, 90 * S);
    hr_result_destroy(result);
    world_finish(&world);
  }
}

/* A job of 150 s writes a checkpoint for 5 s after each 30 s of work. Until the failure at 100 s, it works from 0 to
   30, 35 to 65 and 70 to 100 s. The third checkpoint is not written, so 30 s are lost. The repair ends at 130 s and the
   restart at 134 s, with 90 s of work left. The job works from 134 to 164, 169 to 199 and 204 to 230 s. Then a failure
   loses 26 s. After the repair and the restart, the job works from 264 to 294 s and ends. */
static void work_since_the_checkpoint_is_lost(void) {
  struct world world;
  world_init(&world, 1, 1, 1);
  world.work_us[0] = 150 * S;
  world.class_ = (struct hr_class_spec){
      .checkpoint = HR_CHECKPOINT_INTERVAL, .interval_us = 30 * S, .write_us = 5 * S, .restart_us = 4 * S};
  world.process[0].fresh = true;
  world.process[0].between = fixed(100);
  world.process[0].only = (struct hr_fault_class){.repair = fixed(30)};
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).end_us, 294 * S);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).lost_us, 56 * S);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).kept_us, 150 * S);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).saving_us, 20 * S);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).restarting_us, 8 * S);
  CU_ASSERT_EQUAL(result->pools[0].failures, 2);
  hr_result_destroy(result);
  world_finish(&world);
}

/* Two nodes fail at 100 s; one person repairs them in 50 s each. The job of 120 s needs both nodes, so it continues at
   200 s, when the second node is repaired, with 20 s of work left. */
static void a_crew_repairs_one_after_the_other(void) {
  struct world world;
  world_init(&world, 2, 1, 1);
  world.work_us[0] = 120 * S;
  world.gpus[0] = 2;
  world.class_.checkpoint = HR_CHECKPOINT_CONTINUOUS;
  world.process[0].fresh = true;
  world.process[0].between = fixed(100);
  world.process[0].only = (struct hr_fault_class){.repair = fixed(50)};
  world.spec.crew = 1;
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).end_us, 220 * S);
  CU_ASSERT_EQUAL(result->pools[0].failures, 2);
  CU_ASSERT_EQUAL(result->pools[0].failed_jobs, 1);
  CU_ASSERT((int64_t)result->pools[0].down_us == 150 * S);
  hr_result_destroy(result);
  world_finish(&world);
}

/* Jobs run from 0 to 60 s and from 200 s on. The clock `busy` stops while no job runs, so the failure after 100 s of
   work occurs at 240 s. It delays the second job by 10 s, the time of the repair. On the clocks `up` and `wall`, the
   failure occurs at 180 s and 190 s, when no job runs, so the second job is not delayed. */
static void clocks_differ(void) {
  static const int64_t ends_s[] = {[HR_FAULT_CLOCK_UP] = 260, [HR_FAULT_CLOCK_WALL] = 260, [HR_FAULT_CLOCK_BUSY] = 270};
  for (int clock = 0; clock < HR_N_FAULT_CLOCKS; clock++) {
    struct world world;
    world_init(&world, 1, 1, 2);
    world.work_us[0] = world.work_us[1] = 60 * S;
    world.submit_us[1] = 200 * S;
    world.class_.checkpoint = HR_CHECKPOINT_CONTINUOUS;
    world.process[0].fresh = true;
    world.process[0].clock = (enum hr_fault_clock)clock;
    world.process[0].between = fixed(clock == HR_FAULT_CLOCK_WALL ? 190 : 100);
    world.process[0].only = (struct hr_fault_class){.repair = fixed(10)};
    if (clock == HR_FAULT_CLOCK_UP)
      world.process[0].between = fixed(180); /* fails at 180 s; the next failure, at 370
                                                s, is after the end of the run */
    struct hr_result *result = run(&world);
    CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){1}).end_us, ends_s[clock] * S);
    CU_ASSERT_EQUAL(result->pools[0].failures, 1);
    hr_result_destroy(result);
    world_finish(&world);
  }
}

/* A rack fails as a whole: its four nodes stop at 100 s and are up again at 125 s. This is one failure, which stops all
   four jobs. */
static void a_group_fails_together(void) {
  struct world world;
  world_init(&world, 4, 1, 4);
  for (int i = 0; i < 4; i++) world.work_us[i] = 150 * S;
  world.class_.checkpoint = HR_CHECKPOINT_CONTINUOUS;
  world.pool.topology.nodes_per_rack = 4;
  world.process[0].unit = HR_TIER_RACK;
  world.process[0].fresh = true;
  world.process[0].between = fixed(100);
  world.process[0].only = (struct hr_fault_class){.repair = fixed(25)};
  struct hr_result *result = run(&world);
  for (uint32_t i = 0; i < 4; i++) CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){i}).end_us, 175 * S);
  CU_ASSERT_EQUAL(result->pools[0].failures, 1);
  CU_ASSERT_EQUAL(result->pools[0].failed_jobs, 4);
  CU_ASSERT((int64_t)result->pools[0].down_us == 100 * S);
  hr_result_destroy(result);
  world_finish(&world);
}

/* Five nodes in power domains of two nodes; the last domain has one node. All three domains fail at 100 s for 25 s, so
   there are three failures, and all five jobs are stopped. */
static void a_group_of_nodes_fails_together(void) {
  struct world world;
  world_init(&world, 5, 1, 5);
  for (int i = 0; i < 5; i++) world.work_us[i] = 150 * S;
  world.class_.checkpoint = HR_CHECKPOINT_CONTINUOUS;
  world.process[0].unit = HR_TIER_POOL;
  world.process[0].group_nodes = 2;
  world.process[0].fresh = true;
  world.process[0].between = fixed(100);
  world.process[0].only = (struct hr_fault_class){.repair = fixed(25)};
  struct hr_result *result = run(&world);
  for (uint32_t i = 0; i < 5; i++) CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){i}).end_us, 175 * S);
  CU_ASSERT_EQUAL(result->pools[0].failures, 3);
  CU_ASSERT_EQUAL(result->pools[0].failed_jobs, 5);
  CU_ASSERT((int64_t)result->pools[0].down_us == 125 * S);
  hr_result_destroy(result);
  world_finish(&world);
}

/* Two nodes with two islands of two GPUs each. If an island fails, its whole node goes down, so all four jobs of the
   node are stopped. All four islands fail at 100 s. */
static void an_island_takes_its_node_down(void) {
  struct world world;
  world_init(&world, 2, 4, 8);
  for (int i = 0; i < 8; i++) world.work_us[i] = 150 * S;
  world.class_.checkpoint = HR_CHECKPOINT_CONTINUOUS;
  world.pool.topology.island_gpus = 2;
  world.process[0].unit = HR_TIER_ISLAND;
  world.process[0].fresh = true;
  world.process[0].between = fixed(100);
  world.process[0].only = (struct hr_fault_class){.repair = fixed(25)};
  struct hr_result *result = run(&world);
  for (uint32_t i = 0; i < 8; i++) CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){i}).end_us, 175 * S);
  CU_ASSERT_EQUAL(result->pools[0].failures, 2); /* the failures of the other two islands have no effect, because their
                                                    nodes are down */
  CU_ASSERT_EQUAL(result->pools[0].failed_jobs, 8);
  CU_ASSERT((int64_t)result->pools[0].down_us == 50 * S);
  hr_result_destroy(result);
  world_finish(&world);
}

/* ---- Closed forms ------------------------------------------------------------------------------------- */

/* Runs the nodes of the world for `days` days, with one job that does not end in this time. */
static struct hr_result *run_fleet(struct world *world, double days) {
  world->horizon_us = (int64_t)(days * 86400) * S;
  world->work_us[0] = 10 * world->horizon_us;
  world->class_.checkpoint = HR_CHECKPOINT_CONTINUOUS;
  world->check = false;
  return run(world);
}

/* For all distributions, the availability is MTTF / (MTTF + MTTR), and in a time T a node in the stationary state fails
   T / (MTTF + MTTR) times on average. */
static void availability_depends_on_means_only(void) {
  const double up_s = 20 * 3600, down_s = 4 * 3600, days = 400;
  const struct hr_duration ups[] = {exponential(up_s),
                                    fixed(up_s),
                                    {HR_DURATION_WEIBULL, 0.6, up_s / gsl_sf_gamma(1 + 1 / 0.6)},
                                    {HR_DURATION_LOG_NORMAL, log(up_s) - 0.5, 1}};
  const struct hr_duration downs[] = {
      exponential(down_s), fixed(down_s), {HR_DURATION_LOG_NORMAL, log(down_s) - 0.5, 1}};
  for (size_t i = 0; i < sizeof ups / sizeof *ups; i++)
    for (size_t k = 0; k < sizeof downs / sizeof *downs; k++) {
      struct world world;
      world_init(&world, 500, 1, 1);
      world.process[0].between = ups[i];
      world.process[0].only.repair = downs[k];
      struct hr_result *result = run_fleet(&world, days);
      double node_us = 500.0 * (double)result->end_us, expected = up_s / (up_s + down_s);
      double failures = 500 * days * 86400 / (up_s + down_s);
      /* About 200,000 failures are expected. The standard errors below are bounds for all these distributions. */
      expect_within("availability", 1 - (double)result->pools[0].down_us / node_us, expected,
                    1.2 / sqrt(failures) * 0.3);
      expect_within("failures", (double)result->pools[0].failures, failures, 2 * sqrt(failures));
      hr_result_destroy(result);
      world_finish(&world);
    }
}

static void set_layer(struct hr_fault_process *process, enum hr_tier unit, double between_h, double repair_h) {
  process->unit = unit;
  process->between = exponential(3600 * between_h);
  process->only.repair = exponential(3600 * repair_h);
}

static double availability_of(const struct hr_result *result, const struct world *world) {
  return 1 - (double)result->pools[0].down_us / ((double)result->end_us * world->pool.nodes);
}

/* Four layers of failures. Units are single nodes or islands (half a node). No layer of a node fails while another
   layer of this node is down, so the availability is 1 / (1 + the sum of repair / between over all units of a node).
   The expected number of failures is the time in operation times the sum of 1 / between. */
static void narrow_layers_exclude_each_other(void) {
  struct world world;
  world_init(&world, 200, 8, 1);
  world.pool.topology = (struct hr_topology){.island_gpus = 4, .nodes_per_rack = 1};
  world.spec.n_processes = 4;
  set_layer(&world.process[0], HR_TIER_NODE, 100, 5);
  set_layer(&world.process[1], HR_TIER_ISLAND, 200, 4); /* two islands in a node */
  set_layer(&world.process[2], HR_TIER_RACK, 400, 10);
  set_layer(&world.process[3], HR_TIER_POOL, 500, 5);
  world.process[3].group_nodes = 1;
  struct hr_result *result = run_fleet(&world, 300);
  const double expected = 1 / (1 + 0.05 + 2 * 0.02 + 0.025 + 0.01);
  const double failures = 200 * 300 * 24 * expected * (1 / 100.0 + 2 / 200.0 + 1 / 400.0 + 1 / 500.0);
  CU_ASSERT_DOUBLE_EQUAL(availability_of(result, &world), expected, 0.004);
  CU_ASSERT_DOUBLE_EQUAL((double)result->pools[0].failures / failures, 1, 0.02);
  hr_result_destroy(result);
  world_finish(&world);
}

/* Layers with increasing numbers of nodes are almost independent: the availability of a node is the product of the
   availabilities of the layers. Nodes do not fail during outages of their groups, but the effect of this is less than
   0.0001. */
static void wide_layers_are_independent(void) {
  struct world world;
  world_init(&world, 640, 1, 1);
  world.pool.topology.nodes_per_rack = 8;
  world.spec.n_processes = 3;
  set_layer(&world.process[0], HR_TIER_NODE, 198, 2);
  set_layer(&world.process[1], HR_TIER_RACK, 297, 3);
  set_layer(&world.process[2], HR_TIER_POOL, 495, 5);
  world.process[2].group_nodes = 32;
  struct hr_result *result = run_fleet(&world, 600);
  CU_ASSERT_DOUBLE_EQUAL(availability_of(result, &world), 0.99 * 0.99 * 0.99, 0.002);
  const double failures = 600 * 24 * (640 / 200.0 + 80 / 300.0 + 20 / 500.0);
  CU_ASSERT_DOUBLE_EQUAL((double)result->pools[0].failures / failures, 1, 0.03);
  hr_result_destroy(result);
  world_finish(&world);
}

/* An outage of a rack stops the clocks of its nodes but does not reset them. So a node fails once per `node_s` seconds
   in operation on average.
 */
static void outages_of_the_group_do_not_reset_nodes(void) {
  const double node_s = 30000, rack_s = 10000, repair_s = 1000, days = 3000;
  struct world world;
  world_init(&world, 40, 1, 1);
  world.pool.topology.nodes_per_rack = 10;
  world.spec.n_processes = 2;
  world.process[0].between = (struct hr_duration){HR_DURATION_WEIBULL, 3, node_s / gsl_sf_gamma(1 + 1.0 / 3)};
  world.process[1].unit = HR_TIER_RACK;
  world.process[1].between = exponential(rack_s);
  world.process[0].only.repair = world.process[1].only.repair = fixed(repair_s);
  struct hr_result *result = run_fleet(&world, days);
  /* A node is in operation if neither it nor its rack is down; its repair continues while the rack is down. */
  double up_s = 40 * (double)result->end_us / (double)S - (double)result->pools[0].down_us / (double)S;
  double racks = 4 * (double)result->end_us / (double)S / (rack_s + repair_s);
  double nodes = (double)result->pools[0].failures - racks;
  CU_ASSERT(nodes > 100000);
  expect_within("failures of nodes", nodes, up_s / node_s, 0.005 * up_s / node_s);
  hr_result_destroy(result);
  world_finish(&world);
}

/* n machines with failure rate xi and repair rate eta, and a crew of c. The probability P_k that k machines are down is
   proportional to the product of (n - i) * xi / (eta * min(c, i + 1)) over i from 0 to k - 1. */
static void a_finite_crew_lowers_the_availability(void) {
  enum { N = 12 };
  for (uint32_t crew = 1; crew <= 3; crew++) {
    const double xi = 1.0 / 36000, eta = 1.0 / 7200, days = 20000;
    double p = 1, sum = 1, down = 0;
    for (uint32_t k = 1; k <= N; k++) {
      p *= (N - (k - 1)) * xi / (eta * (crew < k ? crew : k));
      sum += p;
      down += k * p;
    }
    struct world world;
    world_init(&world, N, 1, 1);
    world.spec.crew = crew;
    world.process[0].between = exponential(1 / xi);
    world.process[0].only.repair = exponential(1 / eta);
    struct hr_result *result = run_fleet(&world, days);
    double availability = 1 - (double)result->pools[0].down_us / (N * (double)result->end_us);
    CU_ASSERT(result->pools[0].failures > 100000);
    CU_ASSERT(fabs(availability - (1 - down / sum / N)) < 0.004);
    hr_result_destroy(result);
    world_finish(&world);
  }
}

/* The exact mean time of a job with work R, if failures have the rate lambda and restarts can fail, too: E[T] = (R / d)
   e^(lambda u) (e^(lambda (d + w)) - 1) / lambda (Daly 2006). d: work between two checkpoints; w: time to write a
   checkpoint; u: time of a restart. The node is up again immediately. */
static void ettr_agrees_with_daly(void) {
  const double mtbf_s = 7200, d = 1800, w = 60, u = 300, lambda = 1 / mtbf_s;
  struct world world;
  world_init(&world, 1, 1, 1);
  world.work_us[0] = (int64_t)(1800 * 40000.0) * S;
  world.check = false;
  world.class_ = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_INTERVAL,
                                        .interval_us = (int64_t)d * S,
                                        .write_us = (int64_t)w * S,
                                        .restart_us = (int64_t)u * S};
  world.process[0].between = exponential(mtbf_s);
  world.process[0].only.repair = fixed(0);
  struct hr_result *result = run(&world);
  const struct hr_job_accounting copy = hr_result_accounting(result, (hr_job){0}), *job = &copy;
  double expected = d * lambda / (exp(lambda * u) * (exp(lambda * (d + w)) - 1));
  double seen = (double)world.work_us[0] / (double)job->end_us;
  CU_ASSERT(result->pools[0].failures > 10000);
  if (fabs(seen - expected) > 0.004) printf("\n    ETTR %.5f, expected %.5f", seen, expected);
  CU_ASSERT(fabs(seen - expected) <= 0.004);
  CU_ASSERT(job->kept_us + job->lost_us + job->saving_us + job->restarting_us + job->hanging_us == job->held_us);
  hr_result_destroy(result);
  world_finish(&world);
}

/* M/M/1 with arrival rate lambda and service rate mu. The server fails with rate xi, also while it is idle, is repaired
   with rate eta, and then resumes its work. The mean number in the system is L = lambda [(xi + eta)^2 + mu xi] / [(xi +
   eta) (mu eta - lambda (xi + eta))]; by Little's law the mean time in the system is L / lambda. */
static void a_queue_with_breakdowns(void) {
  const double lambda = 0.5, mu = 1, xi = 0.1, eta = 0.5; /* per 1,000 s */
  const double total = (xi + eta) * (xi + eta) + mu * xi, slack = (xi + eta) * (mu * eta - lambda * (xi + eta));
  double sum_s = 0;
  struct world world;
  world_init(&world, 1, 1, MAX_JOBS);
  world.check = false;
  world.class_.checkpoint = HR_CHECKPOINT_CONTINUOUS;
  world.process[0].between = exponential(1000 / xi);
  world.process[0].only.repair = exponential(1000 / eta);
  struct hr__stream stream;
  hr__stream_init(&stream, 7, HR__PURPOSE_ARRIVAL, 0, 0);
  gsl_rng rng = hr__stream_rng(&stream);
  for (uint32_t i = 0; i < MAX_JOBS; i++) {
    int64_t gap_us = (int64_t)(gsl_ran_exponential(&rng, 1000 / lambda) * (double)S);
    world.submit_us[i] = (i ? world.submit_us[i - 1] : 0) + gap_us;
    world.work_us[i] = 1 + (int64_t)(gsl_ran_exponential(&rng, 1000 / mu) * (double)S);
  }
  struct hr_result *result = run(&world);
  for (uint32_t i = 0; i < MAX_JOBS; i++)
    sum_s += (double)(hr_result_accounting(result, (hr_job){i}).end_us - world.submit_us[i]) / (double)S;
  double seen = sum_s / MAX_JOBS / 1000, expected = total / slack;
  CU_ASSERT(result->pools[0].failures > 5000);
  if (fabs(seen - expected) > 0.08 * expected) printf("\n    time in the system %.4f, expected %.4f", seen, expected);
  CU_ASSERT(fabs(seen - expected) <= 0.08 * expected);
  hr_result_destroy(result);
  world_finish(&world);
}

/* ---- Properties --------------------------------------------------------------------------------------- */

static uint32_t below(struct hr__stream *stream, uint32_t bound) {
  return (uint32_t)(hr__stream_uniform(stream) * bound);
}

/* Random clusters, clocks, classes, groups and crews under several policies, in checked mode. */
static void random_worlds_keep_the_invariants(void) {
  static const char *const policies[] = {NULL, "easy", "conservative", "las", "slurm", "kubernetes", "volcano"};
  enum { WORLDS = 140, JOBS = 40 };
  uint64_t failures = 0, stopped = 0;
  for (uint32_t number = 0; number < WORLDS; number++) {
    struct hr__stream stream;
    hr__stream_init(&stream, 3, HR__PURPOSE_SAMPLE, number, 0);
    struct world world;
    struct hr_fault_class classes[2] = {{NULL, 0.7, fixed(0), exponential(300)},
                                        {NULL, 0.3, exponential(200), {HR_DURATION_LOG_NORMAL, 7, 1}}};
    world_init(&world, 1 + below(&stream, 6), 1 + below(&stream, 4), JOBS);
    world.seed = number;
    world.policy = policies[number % (sizeof policies / sizeof *policies)];
    world.pool.topology.nodes_per_rack = 1 + below(&stream, 3);
    world.pool.topology.island_gpus = world.pool.gpus_per_node % 2 == 0 ? world.pool.gpus_per_node / 2 : 1;
    world.spec.n_processes = 1 + below(&stream, 2);
    world.spec.crew = below(&stream, 3);
    for (uint32_t i = 0; i < 2; i++) {
      struct hr_fault_process *process = &world.process[i];
      process->unit = i ? HR_TIER_RACK : HR_TIER_NODE;
      if (i && number % 3 == 1) process->unit = HR_TIER_POOL, process->group_nodes = 1 + number % 4;
      if (i && number % 3 == 2) process->unit = HR_TIER_ISLAND;
      process->clock = (enum hr_fault_clock)below(&stream, HR_N_FAULT_CLOCKS);
      process->fresh = below(&stream, 2);
      process->between = below(&stream, 2) ? exponential(4000) : (struct hr_duration){HR_DURATION_WEIBULL, 0.6, 3000};
      process->classes = classes;
      process->n_classes = 2;
      process->bad_share = 0.2;
      process->bad_factor = 5;
    }
    world.class_ = (struct hr_class_spec){.checkpoint = below(&stream, 2) ? HR_CHECKPOINT_INTERVAL : HR_CHECKPOINT_NONE,
                                          .interval_us = 400 * S,
                                          .write_us = 20 * S,
                                          .restart_us = 30 * S};
    for (uint32_t i = 0; i < JOBS; i++) {
      world.submit_us[i] = (i ? world.submit_us[i - 1] : 0) + (int64_t)below(&stream, 400) * S;
      world.work_us[i] = (int64_t)(1 + below(&stream, 1500)) * S;
      world.gpus[i] = 1 + below(&stream, world.pool.nodes * world.pool.gpus_per_node);
    }
    struct hr_result *result = run(&world);
    CU_ASSERT(result->n_completed + result->n_rejected + result->n_waiting + result->n_running == JOBS);
    failures += result->pools[0].failures;
    stopped += result->pools[0].failed_jobs;
    hr_result_destroy(result);
    world_finish(&world);
  }
  CU_ASSERT(failures > 1000);
  CU_ASSERT(stopped > 500);
}

/* A failure process does not change a run that ends before the first failure. */
static void without_failures_nothing_changes(void) {
  uint64_t digests[2];
  for (uint32_t with = 0; with < 2; with++) {
    struct world world;
    world_init(&world, 3, 2, 50);
    for (uint32_t i = 0; i < 50; i++) {
      world.submit_us[i] = i * 60 * S;
      world.work_us[i] = (100 + 37 * i) * S;
      world.gpus[i] = 1 + i % 5;
    }
    world.spec.n_processes = with;
    world.process[0].fresh = true;
    world.process[0].between = fixed(1e9);
    world.process[0].only.repair = fixed(1);
    struct hr_result *result = run(&world);
    digests[with] = result->digest;
    CU_ASSERT_EQUAL(result->pools[0].failures, 0);
    hr_result_destroy(result);
    world_finish(&world);
  }
  CU_ASSERT_EQUAL(digests[0], digests[1]);
}

TEST_MAIN("Failures and repairs of nodes", TEST(a_job_hangs_and_continues), TEST(a_job_that_hangs_is_preempted),
          TEST(work_since_the_checkpoint_is_lost), TEST(a_crew_repairs_one_after_the_other), TEST(clocks_differ),
          TEST(a_group_fails_together), TEST(a_group_of_nodes_fails_together), TEST(an_island_takes_its_node_down),
          TEST(narrow_layers_exclude_each_other), TEST(wide_layers_are_independent),
          TEST(availability_depends_on_means_only), TEST(outages_of_the_group_do_not_reset_nodes),
          TEST(a_finite_crew_lowers_the_availability), TEST(ettr_agrees_with_daly), TEST(a_queue_with_breakdowns),
          TEST(random_worlds_keep_the_invariants), TEST(without_failures_nothing_changes))
