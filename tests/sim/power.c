/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Energy: cases that are computed by hand, defects of other simulators, published values, and random worlds in checked
 * mode, in which the uses of energy must add up exactly to the meter.
 *
 * Sources: SimGrid issues 171, 246, 343; Batsim issues 38, 51; CloudSim Plus issues 127, 327, 346; OpenDC, unit tests
 * of failures; ExaDigiT/RAPS, configuration of Frontier; ml-energy/zeus, profiles of the power limit optimizer.
 */

#include "headroom/power.h"
#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/faults.h"
#include "queue_choice.h"

#include <math.h>
#include <string.h>

#define S HR_SECOND_US

/* Femtojoules in a joule. */
#define JOULE 1e15

enum { MAX_JOBS = 64 };

/* The input of a run: one pool with known power. */
struct world {
  struct hr_pool_spec pool;
  struct hr_power_spec power;
  struct hr_fault_spec faults;
  struct hr_fault_process process;
  struct hr_class_spec class_;
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], power_ppm[MAX_JOBS], n_jobs;
  const char *policy; /* NULL: `queue` with backfill `skip` */
  int64_t horizon_us;
  uint64_t seed;
  bool unmetered; /* the power of the pool is unknown */
  /* the result of a run has pointers to these */
  struct hr_trace trace;
  struct hr_cluster_spec cluster;
  struct hr_class_spec classes[HR_N_CLASSES];
  struct hr_observer observer; /* on_event NULL: none */
};

static struct hr_duration fixed(double seconds) {
  return (struct hr_duration){HR_DURATION_FIXED, seconds, 0};
}

/* Returns a world of nodes with one GPU each. All power of a node is that of its GPU. */
static struct world hosts(uint32_t n_nodes, double idle_w, double max_w) {
  static char name[] = "p", gpu[] = "A100";
  struct world world = {
      .pool = {.name = name, .gpu = gpu, .nodes = n_nodes, .gpus_per_node = 1, .market = {.to_us = HR_NEVER_US}},
      .power = {.gpu_idle_w = idle_w, .gpu_max_w = max_w, .utilization = 1, .pue = 1},
      .horizon_us = HR_NEVER_US,
      .seed = 1};
  world.process = (struct hr_fault_process){.unit = HR_TIER_NODE, .bad_factor = 1, .fresh = true};
  for (uint32_t i = 0; i < MAX_JOBS; i++) world.power_ppm[i] = HR_NONE;
  return world;
}

static void add_job(struct world *world, double submit_s, double work_s, uint32_t gpus) {
  world->submit_us[world->n_jobs] = (int64_t)llround(submit_s * 1e6);
  world->work_us[world->n_jobs] = (int64_t)llround(work_s * 1e6);
  world->gpus[world->n_jobs++] = gpus;
}

/* All nodes fail together for `down_s` after each `up_s` in operation. */
static void let_fail(struct world *world, double up_s, double down_s) {
  world->process.unit = HR_TIER_POOL;
  world->process.between = fixed(up_s);
  world->process.only.repair = fixed(down_s);
  world->faults.n_processes = 1;
}

/* Returns the total of the uses of energy. */
static struct hr_energy sum_of(const struct hr_pool_energy *energy) {
  struct hr_energy sum = {0};
  for (unsigned use = 0; use < HR_N_ENERGY_USES; use++) {
    sum.it += energy->use[use].it;
    sum.loss += energy->use[use].loss;
    sum.facility += energy->use[use].facility;
  }
  return sum;
}

/* Checks that the result conserves energy: by use, by job, and in the meter. */
static void check_sums(const struct hr_result *result) {
  const struct hr_pool_energy *energy = &result->pools[0].energy;
  struct hr_energy sum = sum_of(energy), jobs = {0};
  for (uint32_t i = 0; i < result->n_jobs; i++) {
    jobs.it += hr_result_energy(result, (hr_job){i}).it;
    jobs.loss += hr_result_energy(result, (hr_job){i}).loss;
    jobs.facility += hr_result_energy(result, (hr_job){i}).facility;
  }
  const struct hr_energy *used = &energy->use[HR_ENERGY_JOBS], *meter = &energy->meter;
  CU_ASSERT(sum.it == meter->it && sum.loss == meter->loss && sum.facility == meter->facility);
  CU_ASSERT(jobs.it == used->it && jobs.loss == used->loss && jobs.facility == used->facility);
  CU_ASSERT(energy->use[HR_ENERGY_IDLE].it >= 0 && used->it >= 0);
}

static struct hr_result *run(struct world *world) {
  world->trace = (struct hr_trace){.source = "test",
                                   .n_jobs = world->n_jobs,
                                   .submit_us = world->submit_us,
                                   .work_us = world->work_us,
                                   .gpus = world->gpus,
                                   .gpu_power_ppm = world->power_ppm};
  world->cluster = (struct hr_cluster_spec){&world->pool, 1};
  struct hr_policy_choice choice = {0};
  struct hr_result *result = NULL;
  struct hr_error error = {0};
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) world->classes[i] = world->class_;
  world->faults.processes = &world->process;
  world->pool.faults = &world->faults;
  world->pool.power = world->unmetered ? NULL : &world->power;
  if (world->policy) {
    CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, world->policy, &error), HR_OK);
  } else {
    choice = queue_choice("skip", "first-fit");
  }
  struct hr_run_config config = {.trace = &world->trace,
                                 .cluster = &world->cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = world->seed,
                                 .horizon_us = world->horizon_us,
                                 .check = true,
                                 .classes = world->classes,
                                 .observers = &world->observer,
                                 .n_observers = world->observer.on_event ? 1 : 0};
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) fprintf(stderr, "%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  hr_policy_choice_finish(&choice);
  CU_ASSERT(!result->energy == world->unmetered);
  if (result->energy) check_sums(result);
  return result;
}

/* Returns the number of failures that the world injects until a time. */
static uint64_t failures_until(const struct world *world, int64_t end_us) {
  const int64_t up_us = (int64_t)(world->process.between.a * 1e6);
  const int64_t period_us = up_us + (int64_t)(world->process.only.repair.a * 1e6);
  if (world->faults.n_processes == 0 || end_us < up_us) return 0;
  return (uint64_t)((end_us - up_us) / period_us) + 1;
}

/* Runs the world and checks the number of failures, and the energy by use, in joules. */
static void expect_joules(struct world *world, double jobs_j, double idle_j, double down_j) {
  struct hr_result *result = run(world);
  CU_ASSERT_EQUAL(result->pools[0].failures, failures_until(world, result->end_us));
  const struct hr_energy *use = result->pools[0].energy.use;
  CU_ASSERT((double)use[HR_ENERGY_JOBS].it == jobs_j * JOULE);
  CU_ASSERT((double)use[HR_ENERGY_IDLE].it == idle_j * JOULE);
  CU_ASSERT((double)use[HR_ENERGY_DOWN].it == down_j * JOULE);
  hr_result_destroy(result);
}

/* ---- Energy of jobs ---------------------------------------------------------------------------------------- */

static void note_energy(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_energy *noted = self;
  if (event->kind == HR_EVENT_START || event->kind == HR_EVENT_END)
    noted[event->job.id] = hr_view_energy(view, event->job);
  if (event->kind == HR_EVENT_START && event->job.id != 1) CU_ASSERT(noted[event->job.id].it == 0);
}

/* Three jobs of 100 s on a host of 200 W that fails after 150 s. The first job runs from 0 to 100 s. The second job is
   stopped after 50 s and runs again from 200 s to 300 s. The third job still runs at the end of the run, at 340 s.
   During the run, observers can read the energy of past attempts. */
static void energy_of_jobs_that_run_once_or_twice(void) {
  struct hr_energy noted[3] = {{0}};
  struct world world = hosts(1, 200, 200);
  world.observer = (struct hr_observer){.self = noted, .on_event = note_energy};
  let_fail(&world, 150, 50);
  for (uint32_t i = 0; i < 3; i++) add_job(&world, 0, 100, 1);
  world.horizon_us = 340 * S;
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(result->pools[0].failures, failures_until(&world, result->end_us));
  CU_ASSERT_EQUAL(result->pools[0].failed_jobs, 1);
  CU_ASSERT((double)noted[0].it == 200 * 100 * JOULE && (double)noted[1].it == 200 * 150 * JOULE && noted[2].it == 0);
  CU_ASSERT(hr_result_energy(result, (hr_job){0}).it == noted[0].it);
  CU_ASSERT(hr_result_energy(result, (hr_job){1}).it == noted[1].it);
  CU_ASSERT((double)hr_result_energy(result, (hr_job){2}).it == 200 * 40 * JOULE);
  hr_result_destroy(result);
}

/* ---- Defects of other simulators --------------------------------------------------------------------------- */

/* SimGrid 171: a host of 200 W, 8 W when off, is idle for 10 s and is then switched off. The idle time uses 2,000 J;
   SimGrid counted only 80 J, at 8 W. */
static void energy_is_settled_before_a_change(void) {
  struct world world = hosts(1, 200, 200);
  world.power.down_w = 8;
  let_fail(&world, 10, 1000);
  add_job(&world, 30, 1, 1);
  world.horizon_us = 20 * S;
  expect_joules(&world, 0, 2000, 80);
}

/* Batsim 51: two hosts of 203 W run a job of 4 s that is stopped after 3 s: 2 x 203 W x 3 s = 1,218 J, not 1,059 J as
   in Batsim. One host uses 609 J. A job on two hosts that is not stopped uses 1,624 J. Stopped jobs use as much energy
   per time as jobs that complete. */
static void stopped_jobs_are_billed_on_all_hosts(void) {
  for (uint32_t n = 1; n <= 2; n++) {
    struct world world = hosts(n, 95, 203);
    let_fail(&world, 3, 100);
    add_job(&world, 0, 4, n);
    world.horizon_us = 50 * S;
    expect_joules(&world, 609 * n, 0, 0);
  }
  struct world world = hosts(2, 95, 203);
  add_job(&world, 0, 4, 2);
  expect_joules(&world, 1624, 0, 0);
}

/* SimGrid 343: of four hosts (1 W idle, 50 W busy), three run a job. The run ends at 0.99 s: 49.5 J for each busy host,
   and 0.99 J for the idle host.
 */
static void a_cut_is_billed_to_all_hosts(void) {
  struct world world = hosts(4, 1, 50);
  add_job(&world, 0, 100, 3);
  world.horizon_us = 990000;
  expect_joules(&world, 3 * 49.5, 0.99, 0);
}

/* SimGrid 246, CloudSim Plus 127 and 327: a host that is off is not idle, an idle host is not off, and each of several
   outages counts. 10 s idle and 5 s off, four times. */
static void each_outage_counts(void) {
  struct world world = hosts(2, 30, 90);
  world.power.down_w = 4;
  let_fail(&world, 10, 5);
  add_job(&world, 100, 1, 1);
  world.horizon_us = 60 * S;
  expect_joules(&world, 0, 2.0 * 30 * 40, 2.0 * 4 * 20);
}

/* Batsim 38: a working host uses the power of a busy host, even after an outage. In its second outage it uses the power
   of a host that is off. Outages at 10 s and 25 s of 5 s each; the job works from 15 s to 23 s. */
static void a_host_that_works_is_busy(void) {
  struct world world = hosts(1, 95, 203);
  world.power.down_w = 10;
  let_fail(&world, 10, 5);
  add_job(&world, 12, 8, 1);
  add_job(&world, 100, 1, 1);
  world.horizon_us = 30 * S;
  expect_joules(&world, 8 * 203, 12 * 95, 10 * 10);
}

/* CloudSim Plus 346: the energy of a boot. An elastic node boots for 151.52 s at 125.174 W (Batsim's example), and then
   works for 100 s at 190.738 W. Before its launch it uses no energy. */
static void boots_use_energy(void) {
  struct world world = hosts(1, 95, 190.738);
  world.pool.market.market = HR_MARKET_ON_DEMAND;
  world.pool.market.boot = fixed(151.52);
  world.power.boot_w = 125.174;
  world.power.down_w = 9.75;
  add_job(&world, 0, 100, 1);
  struct hr_result *result = run(&world);
  const struct hr_energy *use = result->pools[0].energy.use;
  CU_ASSERT_EQUAL(result->pools[0].launches, 1);
  CU_ASSERT_DOUBLE_EQUAL((double)use[HR_ENERGY_BOOT].it / JOULE, 151.52 * 125.174, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL((double)use[HR_ENERGY_JOBS].it / JOULE, 19073.8, 1e-6);
  CU_ASSERT(use[HR_ENERGY_DOWN].it == 0);
  hr_result_destroy(result);
}

/* ---- Published figures ------------------------------------------------------------------------------------------ */

/* OpenDC: a task of 50 minutes keeps its work; its host of 150 W, and 100 W when failed, fails every 5 minutes for 5
   minutes: 95 minutes, 10 x 300 s x 150 W + 9 x 300 s x 100 W = 720,000 J. */
static void repeated_failures(void) {
  struct world world = hosts(1, 100, 150);
  world.power.down_w = 100;
  world.class_.checkpoint = HR_CHECKPOINT_CONTINUOUS;
  let_fail(&world, 300, 300);
  add_job(&world, 0, 3000, 1);
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).end_us, 95 * 60 * S);
  CU_ASSERT_EQUAL(result->pools[0].failed_jobs, 9); /* a tenth failure is at the end of the task */
  CU_ASSERT((double)result->pools[0].energy.meter.it == 720000 * JOULE);
  CU_ASSERT((double)hr_result_energy(result, (hr_job){0}).it == 450000 * JOULE);
  hr_result_destroy(result);
}

/* Frontier has 9,472 nodes. A converter of a node with the load P draws (P + 13 W) / 0.98. A rectifier of 4 nodes with
   the load P draws (P + 17 W) / 0.96. `other_w`: 75 x 32 switches and 27 pumps. RAPS states 7.307 MW if idle, and
   28.228 MW at most. */
static void losses_of_frontier(void) {
  for (uint32_t busy = 0; busy < 2; busy++) {
    struct hr_power_loss losses[2] = {{13, 0.98, 1}, {17, 0.96, 4}};
    struct world world = hosts(9472, 88, 560);
    world.pool.gpus_per_node = 4;
    world.power.host_idle_w = 626.26 - 4 * 88;
    world.power.host_max_w = 2704.26 - 4 * 560;
    world.power.losses = losses;
    world.power.n_losses = 2;
    world.power.other_w = 75 * 32 * 250 + 27 * 8473.47;
    add_job(&world, busy ? 0 : 7200, 3600, 9472 * 4);
    world.horizon_us = 3600 * S;
    struct hr_result *result = run(&world);
    const struct hr_energy *meter = &result->pools[0].energy.meter;
    double mw = (double)meter->it / JOULE / 3600e6, node_w = busy ? 2704.26 : 626.26;
    CU_ASSERT_DOUBLE_EQUAL(mw, busy ? 28.228 : 7.307, 0.0005);
    CU_ASSERT_DOUBLE_EQUAL((double)(meter->it - meter->loss) / JOULE / 3600, 9472 * node_w + world.power.other_w, 0.1);
    CU_ASSERT_DOUBLE_EQUAL((double)result->peaks.it_nw * 1e-15, mw, 1e-9);
    hr_result_destroy(result);
  }
}

/* Zeus, V100, resnet50: measured time and energy of a profiling window at power limits of 250, 150 and 100 W. */
static void limits_as_measured(void) {
  static const double limits[3] = {250, 150, 100}, seconds[3] = {26.6745, 32.4129, 53.8665},
                      joules[3] = {6065.03, 4830.30, 5327.10};
  struct hr_power_cap caps[3];
  double full_w = joules[0] / seconds[0];
  for (unsigned i = 0; i < 3; i++)
    caps[i] = (struct hr_power_cap){limits[i], seconds[i] / seconds[0], joules[i] / seconds[i] / full_w};
  for (unsigned i = 0; i < 3; i++) {
    struct world world = hosts(1, 40, full_w);
    world.power.caps = caps;
    world.power.n_caps = 3;
    world.power.gpu_cap_w = limits[i];
    add_job(&world, 0, seconds[0], 1);
    struct hr_result *result = run(&world);
    double time_s = (double)hr_result_end_us(result, (hr_job){0}) / (double)S;
    CU_ASSERT_DOUBLE_EQUAL(time_s, seconds[i], 5e-5);
    CU_ASSERT_DOUBLE_EQUAL((double)hr_result_energy(result, (hr_job){0}).it / JOULE, joules[i], 0.01);
    hr_result_destroy(result);
  }
}

/* ---- Rules --------------------------------------------------------------------------------------------- */

/* Between two limits the effect is linear. Jobs below the limit are not affected. The limit is never exceeded. */
static void limits_between_points(void) {
  struct hr_power_cap caps[2] = {{200, 1, 1}, {100, 2, 0.6}};
  struct world world = hosts(2, 10, 200);
  world.power.caps = caps;
  world.power.n_caps = 2;
  world.power.gpu_cap_w = 150;
  add_job(&world, 0, 100, 1); /* 200 W: 1.5 times as long, 0.8 x 200 W, limited to 150 W */
  add_job(&world, 0, 100, 1); /* 140 W */
  world.power_ppm[1] = 700000;
  struct hr_result *result = run(&world);
  CU_ASSERT_DOUBLE_EQUAL((double)hr_result_end_us(result, (hr_job){0}) / (double)S, 150, 1e-4);
  CU_ASSERT_DOUBLE_EQUAL((double)hr_result_end_us(result, (hr_job){1}) / (double)S, 100, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL((double)hr_result_energy(result, (hr_job){0}).it / JOULE, 150 * 150, 0.1);
  CU_ASSERT_DOUBLE_EQUAL((double)hr_result_energy(result, (hr_job){1}).it / JOULE, 140 * 100, 1e-9);
  hr_result_destroy(result);
}

/* Each curve at a utilization of 0.25. The GPU has 100 to 300 W and the host 10 to 20 W, so a job uses 110 W + 210 W *
   share. */
static void curves(void) {
  static const struct {
    enum hr_power_model model;
    double share;
  } cases[] = {{HR_POWER_LINEAR, 0.25},
               {HR_POWER_SQRT, 0.5},
               {HR_POWER_SQUARE, 0.0625},
               {HR_POWER_CUBIC, 0.015625},
               {HR_POWER_ASYMPTOTIC, 0.5 * (1.25 - 0.36787944117144233)}}; /* a = 0.25 */
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct world world = hosts(1, 100, 300);
    world.power.model = cases[i].model;
    world.power.utilization = 0.25;
    world.power.asymptote = 0.25;
    world.power.host_idle_w = 10;
    world.power.host_max_w = 20;
    add_job(&world, 0, 1, 1);
    struct hr_result *result = run(&world);
    CU_ASSERT_DOUBLE_EQUAL((double)hr_result_energy(result, (hr_job){0}).it / JOULE, 110 + 210 * cases[i].share, 1e-6);
    hr_result_destroy(result);
  }
}

/* A table: 60 W at 0, 100 W at 0.5, 400 W at 1. */
static void tables_are_linear_between_points(void) {
  static const double at[] = {0, 0.25, 0.5, 0.75, 1}, watts[] = {60, 80, 100, 250, 400};
  struct hr_power_point points[3] = {{0, 60}, {0.5, 100}, {1, 400}};
  for (unsigned i = 0; i < 5; i++) {
    struct world world = hosts(1, 60, 400);
    world.power.model = HR_POWER_TABLE;
    world.power.table = points;
    world.power.n_table = 3;
    world.power.utilization = at[i];
    add_job(&world, 0, 10, 1);
    expect_joules(&world, 10 * watts[i], 0, 0);
  }
}

/* The IT power is 300 W (busy) + 100 W (idle) + 20 W (other) = 420 W. With PUE 1.25 and 40 W of constant cooling, the
   facility uses another quarter of it (105 W) and 40 W. */
static void the_facility(void) {
  struct world world = hosts(2, 100, 300);
  world.power.pue = 1.25;
  world.power.cooling_w = 40;
  world.power.other_w = 20;
  add_job(&world, 0, 10, 1);
  struct hr_result *result = run(&world);
  const struct hr_pool_energy *energy = &result->pools[0].energy;
  CU_ASSERT((double)energy->meter.it == 4200 * JOULE);
  CU_ASSERT((double)energy->meter.facility == (1050 + 400) * JOULE);
  CU_ASSERT((double)energy->use[HR_ENERGY_OTHER].it == 200 * JOULE);
  CU_ASSERT_EQUAL(result->peaks.it_nw, INT64_C(420000000000));
  CU_ASSERT_EQUAL(result->peaks.site_nw, INT64_C(565000000000));
  hr_result_destroy(result);
}

/* ---- Random worlds ------------------------------------------------------------------------------------- */

static uint32_t below(struct hr__stream *stream, uint32_t bound) {
  return (uint32_t)(hr__stream_uniform(stream) * bound);
}

static void draw_power(struct world *world, struct hr__stream *stream) {
  struct hr_power_spec *power = &world->power;
  power->model = (enum hr_power_model)below(stream, HR_POWER_TABLE);
  power->asymptote = 0.3;
  power->utilization = hr__stream_uniform(stream);
  power->gpu_idle_w = 100 * hr__stream_uniform(stream);
  power->gpu_max_w = power->gpu_idle_w + 700 * hr__stream_uniform(stream);
  power->host_idle_w = 900 * hr__stream_uniform(stream);
  power->host_max_w = power->host_idle_w * (1 + hr__stream_uniform(stream));
  power->down_w = below(stream, 2) * 20 * hr__stream_uniform(stream);
  power->boot_w = 900 * hr__stream_uniform(stream);
  power->pue = 1 + hr__stream_uniform(stream);
  power->cooling_w = below(stream, 2) * 1000 * hr__stream_uniform(stream);
  power->other_w = below(stream, 2) * 500 * hr__stream_uniform(stream);
  power->gpu_cap_w = below(stream, 2) * (power->gpu_idle_w + 200 * hr__stream_uniform(stream));
}

static void draw_world(struct world *world, struct hr__stream *stream, uint32_t number) {
  static const char *const policies[] = {NULL, "easy", "conservative", "las", "slurm", "kubernetes", "volcano", "srtf"};
  static const enum hr_market markets[] = {HR_MARKET_NONE, HR_MARKET_OWNED, HR_MARKET_ON_DEMAND, HR_MARKET_RESERVED};
  *world = hosts(1 + below(stream, 6), 50, 400);
  draw_power(world, stream);
  world->pool.gpus_per_node = 1 + below(stream, 4);
  world->seed = number;
  world->policy = policies[number % (sizeof policies / sizeof *policies)];
  world->pool.market.market = markets[below(stream, 4)];
  world->pool.market.boot = fixed(100 * below(stream, 3));
  if (world->pool.market.market == HR_MARKET_RESERVED) world->pool.market.from_us = 300 * S;
  world->faults.n_processes = below(stream, 2);
  world->process.between = (struct hr_duration){HR_DURATION_WEIBULL, 0.6, 3000};
  world->process.only.detect = fixed(30 * below(stream, 2));
  world->process.only.repair = (struct hr_duration){HR_DURATION_EXPONENTIAL, 300, 0};
  world->class_ = (struct hr_class_spec){.checkpoint = below(stream, 2) ? HR_CHECKPOINT_INTERVAL : HR_CHECKPOINT_NONE,
                                         .interval_us = 400 * S,
                                         .write_us = 20 * S,
                                         .restart_us = 30 * S,
                                         .gpu_power_ppm = below(stream, 2) * below(stream, 1000000)};
  uint32_t n_jobs = 5 + below(stream, 20);
  double at_s = 0;
  for (uint32_t i = 0; i < n_jobs; i++) {
    at_s += below(stream, 400);
    double work_s = 1500 * hr__stream_uniform(stream);
    add_job(world, at_s, work_s, below(stream, world->pool.nodes * world->pool.gpus_per_node + 1));
    if (below(stream, 2)) world->power_ppm[i] = below(stream, 1000001);
  }
  if (below(stream, 3) == 0) world->horizon_us = (int64_t)below(stream, 6000) * S;
}

static void random_worlds_conserve_energy(void) {
  struct hr_power_cap caps[2] = {{500, 1, 1}, {20, 4, 0.2}};
  uint64_t failures = 0, launches = 0;
  double idle = 0;
  for (uint32_t number = 0; number < 1000; number++) {
    struct hr__stream stream;
    struct hr_power_loss losses[2] = {{13, 0.98, 1}, {17, 0.96, 4}};
    struct world world;
    hr__stream_init(&stream, 7, HR__PURPOSE_SAMPLE, number, 0);
    draw_world(&world, &stream, number);
    world.power.losses = losses;
    world.power.n_losses = below(&stream, 3);
    world.power.caps = caps;
    world.power.n_caps = 2;
    struct hr_result *result = run(&world);
    failures += result->pools[0].failures;
    launches += result->pools[0].launches;
    idle += (double)result->pools[0].energy.use[HR_ENERGY_IDLE].it;
    CU_ASSERT(result->peaks.site_nw >= result->peaks.it_nw);
    hr_result_destroy(result);
  }
  CU_ASSERT(failures > 1000);
  CU_ASSERT(launches > 500);
  CU_ASSERT(idle > 0);
}

/* Power without limits changes no start. */
static void power_changes_no_decision(void) {
  uint64_t digests[2];
  for (uint32_t with = 0; with < 2; with++) {
    struct world world = hosts(3, 50, 400);
    world.unmetered = !with;
    for (uint32_t i = 0; i < 40; i++) add_job(&world, 60.0 * i, 100 + 37.0 * i, 1 + i % 3);
    struct hr_result *result = run(&world);
    digests[with] = result->digest;
    hr_result_destroy(result);
  }
  CU_ASSERT_EQUAL(digests[0], digests[1]);
}

TEST_MAIN("Power and energy", TEST(energy_of_jobs_that_run_once_or_twice), TEST(energy_is_settled_before_a_change),
          TEST(stopped_jobs_are_billed_on_all_hosts), TEST(a_cut_is_billed_to_all_hosts), TEST(each_outage_counts),
          TEST(a_host_that_works_is_busy), TEST(boots_use_energy), TEST(repeated_failures), TEST(losses_of_frontier),
          TEST(limits_as_measured), TEST(limits_between_points), TEST(curves), TEST(tables_are_linear_between_points),
          TEST(the_facility), TEST(random_worlds_conserve_energy), TEST(power_changes_no_decision))
