/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Carbon, prices of energy, and batteries:
 * - cases that are computed by hand;
 * - OpenDC's tests of carbon and of batteries, with OpenDC's expected values;
 * - random batteries, compared with a naive battery;
 * - random worlds, in which all amounts must add up exactly. The carbon of jobs with a single attempt is compared with
 *   a sum over their seconds.
 *
 * All runs are in checked mode.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/faults.h"
#include "headroom/unstable/series.h"
#include "queue_choice.h"

#include <string.h>

#define S HR_SECOND_US

enum { MAX_JOBS = 30, MAX_STEPS = 30, WORLDS = 150 };

struct world {
  struct hr_pool_spec pool;
  struct hr_power_spec power;
  struct hr_fault_spec faults;
  struct hr_fault_process process;
  struct hr_electricity electricity;
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS], at_us[MAX_STEPS], intensity[MAX_STEPS], price[MAX_STEPS];
  uint32_t gpus[MAX_JOBS], n_jobs, n_steps;
  const char *carbon; /* the rule for jobs that wait */
  bool once;          /* the series do not repeat */
  /* the result of a run has pointers to these */
  struct hr_trace trace;
  struct hr_cluster_spec cluster;
  struct hr_series *carbon_series, *price_series;
};

static int64_t below(struct hr__stream *random, uint32_t n) {
  return hr__stream_next(random) % n;
}

static struct world empty_world(void) {
  static char name[] = "p", gpu[] = "A100";
  return (struct world){.pool = {.name = name, .gpu = gpu, .nodes = 1, .gpus_per_node = 1, .market.to_us = HR_NEVER_US},
                        .power = {.utilization = 1, .pue = 1},
                        .electricity = {.carbon_start_us = HR_NEVER_US, .price_start_us = HR_NEVER_US},
                        .carbon = "no-wait"};
}

/* Runs a world in checked mode. The caller passes the result to `finish`. */
static struct hr_result *run(struct world *world) {
  world->trace = (struct hr_trace){.source = "test",
                                   .n_jobs = world->n_jobs,
                                   .submit_us = world->submit_us,
                                   .work_us = world->work_us,
                                   .gpus = world->gpus};
  world->cluster = (struct hr_cluster_spec){&world->pool, 1};
  struct hr_policy_choice choice = queue_choice("skip", "first-fit");
  struct hr_series *carbon = hr_series_create(world->at_us, world->intensity, world->n_steps, !world->once);
  struct hr_series *price = hr_series_create(world->at_us, world->price, world->n_steps, !world->once);
  struct hr_result *result = NULL;
  struct hr_error error = {0};
  CU_ASSERT_FATAL(carbon && price);
  queue_set(&choice, "carbon", world->carbon);
  queue_set(&choice, "carbon_wait_s", "200");
  queue_set(&choice, "carbon_short_s", "0");
  world->electricity.carbon = world->carbon_series = carbon;
  world->electricity.price = world->price_series = price;
  world->faults.processes = &world->process;
  world->pool.electricity = &world->electricity;
  world->pool.power = &world->power;
  world->pool.faults = world->faults.n_processes ? &world->faults : NULL;
  struct hr_run_config config = {.trace = &world->trace,
                                 .cluster = &world->cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = 1,
                                 .horizon_us = 9000 * S,
                                 .check = true};
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) fprintf(stderr, "%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  hr_policy_choice_finish(&choice);
  return result;
}

static void finish(struct world *world, struct hr_result *result) {
  hr_result_destroy(result);
  hr_series_destroy(world->carbon_series);
  hr_series_destroy(world->price_series);
}

/* ---- By hand ---- */

/* OpenDC's CarbonTest1: 150 W for two hours, with the carbon intensity of Belgium: 29.001128 g/kWh in the first hour
   and 28.864619 g/kWh in the second. The sum is 0.15 x (29.001128 + 28.864619) = 8.6799 g. */
static void carbon_as_in_opendc(void) {
  struct world world = empty_world();
  world.power.gpu_idle_w = world.power.gpu_max_w = 150;
  world.work_us[0] = 7200 * S;
  world.gpus[0] = world.n_jobs = 1;
  world.n_steps = 3;
  for (uint32_t i = 0; i < 3; i++) {
    static const int64_t belgium[] = {29001128, 28864619, 28384569};
    world.at_us[i] = i * 3600 * S;
    world.intensity[i] = belgium[i];
    world.price[i] = 100000 * (i + 1);
  }
  struct hr_result *result = run(&world);
  CU_ASSERT_DOUBLE_EQUAL((double)hr_result_energy(result, (hr_job){0}).carbon / HR_CARBON_UNITS_PER_KG, 0.0086799,
                         2e-7);
  CU_ASSERT_DOUBLE_EQUAL((double)hr_result_energy(result, (hr_job){0}).price / HR_KWH_UNITS,
                         0.15 * 100000 + 0.15 * 200000, 1e-6);
  finish(&world, result);
}

/* Vessim issue 145: a run begins before the first stamp of a series and ends after the last one. The series has the
   stamps 1,000 s and 2,000 s, and the run begins at 500 s of the series. So the intensity is 1 g/kWh until 1,500 s of
   the run, and 3 g/kWh from then on. The node fails at 1,500 s and is repaired at 2,000 s. Its power is 900 W, and 0
   while it is failed. The job of 1,400 s starts at 1,000 s, loses the 500 s until the failure, and ends at 3,400 s. */
static void a_run_outlasts_its_series(void) {
  struct world world = empty_world();
  world.power.gpu_idle_w = world.power.gpu_max_w = 900;
  world.once = true;
  world.n_steps = 2;
  world.at_us[0] = 1000 * S;
  world.at_us[1] = 2000 * S;
  world.intensity[0] = 1000000;
  world.intensity[1] = 3000000;
  world.electricity.carbon_start_us = 500 * S;
  world.process = (struct hr_fault_process){.unit = HR_TIER_NODE, .bad_factor = 1, .fresh = true};
  world.process.between = (struct hr_duration){HR_DURATION_FIXED, 1500, 0};
  world.process.only.repair = (struct hr_duration){HR_DURATION_FIXED, 500, 0};
  world.faults.n_processes = 1;
  world.submit_us[0] = 1000 * S;
  world.work_us[0] = 1400 * S;
  world.gpus[0] = world.n_jobs = 1;
  struct hr_result *result = run(&world);
  CU_ASSERT_EQUAL(result->pools[0].failures, 1);
  CU_ASSERT_EQUAL(result->pools[0].failed_jobs, 1);
  CU_ASSERT_EQUAL(hr_result_end_us(result, (hr_job){0}), 2400 * S + 1000 * S);
  CU_ASSERT_DOUBLE_EQUAL((double)result->pools[0].energy.meter.carbon / HR_CARBON_UNITS_PER_KG,
                         0.9 * (1500 * 1 + 1400 * 3) / 3600 / 1000, 1e-12);
  finish(&world, result);
}

/* Two nodes of two GPUs for 1,000 s; the first job uses one GPU for 400 s. The production of a GPU causes 36 mg over a
   life of 3,600 s, that is, 10 micrograms a second. The electricity of the facility (PUE 1.5) also causes emissions. */
static void embodied_and_facility(void) {
  struct world world = empty_world();
  world.pool.nodes = world.pool.gpus_per_node = 2;
  world.power.gpu_idle_w = world.power.gpu_max_w = 900;
  world.power.pue = 1.5;
  world.electricity.embodied_ug = 36000;
  world.electricity.life_us = 3600 * S;
  world.work_us[0] = 400 * S;
  world.work_us[1] = 600 * S;
  world.submit_us[1] = 400 * S;
  world.gpus[0] = 1;
  world.gpus[1] = 4;
  world.n_jobs = 2;
  world.n_steps = 1;
  world.intensity[0] = 1000000; /* 1 g/kWh */
  struct hr_result *result = run(&world);
  const struct hr_pool_energy *energy = &result->pools[0].energy;
  CU_ASSERT(hr_result_energy(result, (hr_job){0}).embodied == (hr_amount)4000 * 1000000000000);
  CU_ASSERT(energy->meter.embodied == (hr_amount)40000 * 1000000000000);
  /* 4 x 900 W x 1.5 x 1,000 s = 1.5 kWh */
  CU_ASSERT_DOUBLE_EQUAL((double)energy->meter.carbon / HR_CARBON_UNITS_PER_KG, 0.0015, 1e-12);
  finish(&world, result);
}

/* ---- Batteries ---- */

/* OpenDC's BatteryTest 1 to 4 (rows opendc.batt1 to opendc.batt4 of validation_expected.csv): a task of 150 W, and a
   battery that is empty at first and charges with 1,000 W. The intensity changes at 600 s. Each task runs three times:
   for at most 600 s, for at most 1,080 s, and to its end. */
static void batteries_as_in_opendc(void) {
  static const struct {
    double capacity_kwh, threshold;
    int64_t first_g, then_g, task_s, grid_j, charged_j, discharged_j, until_600_j, until_1080_j;
  } cases[] = {{0.1, 90, 100, 100, 600, 90000, 0, 0, 90000, 90000},
               {0.1, 120, 100, 100, 600, 450000, 360000, 0, 450000, 450000},
               {0.02, 100, 80, 120, 1200, 180000, 72000, 72000, 162000, 162000},
               {0.02, 100, 80, 120, 1800, 270000, 72000, 72000, 162000, 162000}};
  const hr_amount joule = (hr_amount)1000000000000000;
  static const int64_t cuts_s[] = {600, 1080, INT64_MAX};
  for (uint32_t i = 0; i < 4; i++) {
    for (size_t k = 0; k < sizeof cuts_s / sizeof *cuts_s; k++) {
      struct world world = empty_world();
      const int64_t task_s = cuts_s[k] < cases[i].task_s ? cuts_s[k] : cases[i].task_s;
      world.power.gpu_idle_w = world.power.gpu_max_w = 150;
      world.power.battery = (struct hr_power_battery){.capacity_kwh = cases[i].capacity_kwh,
                                                      .charge_w = 1000,
                                                      .efficiency = 1,
                                                      .lower_g_per_kwh = cases[i].threshold,
                                                      .upper_g_per_kwh = cases[i].threshold};
      world.work_us[0] = task_s * S;
      world.gpus[0] = world.n_jobs = 1;
      world.once = true;
      world.n_steps = 2;
      world.at_us[1] = 600 * S;
      world.intensity[0] = cases[i].first_g * 1000000;
      world.intensity[1] = cases[i].then_g * 1000000;
      struct hr_result *result = run(&world);
      const struct hr_pool_energy *energy = &result->pools[0].energy;
      const struct hr_battery_energy *battery = &energy->battery;
      const hr_amount grid = energy->meter.it + energy->meter.facility + battery->charged - battery->discharged;
      const int64_t grid_j = task_s == cases[i].task_s ? cases[i].grid_j
                             : task_s == 600           ? cases[i].until_600_j
                                                       : cases[i].until_1080_j;
      CU_ASSERT(grid == grid_j * joule);
      CU_ASSERT(battery->stored == battery->charged - battery->discharged);
      if (task_s == cases[i].task_s)
        CU_ASSERT(battery->charged == cases[i].charged_j * joule &&
                  battery->discharged == cases[i].discharged_j * joule);
      finish(&world, result);
    }
  }
}

/* Returns the number of GPUs that are allocated in the microsecond that begins at `at_us`. */
static int64_t busy_at(const struct world *world, const struct hr_result *result, int64_t at_us) {
  int64_t busy = 0;
  for (uint32_t job = 0; job < world->n_jobs; job++)
    if (result->start_us[job] <= at_us && at_us < hr_result_end_us(result, (hr_job){job})) busy += world->gpus[job];
  return busy;
}

/* Compares the battery of a run with a naive battery, which is computed microsecond by microsecond. */
static void check_battery(const struct world *world, const struct hr_result *result) {
  const struct hr_power_battery *spec = &world->power.battery;
  const struct hr_battery_energy *found = &result->pools[0].energy.battery;
  const hr_amount capacity = (hr_amount)(spec->capacity_kwh * 1e9 + 0.5) * 3600000000000,
                  charge = (hr_amount)(spec->charge_w * 1e9 + 0.5),
                  store = (hr_amount)(spec->charge_w * spec->efficiency * 1e9 + 0.5);
  hr_amount stored = 0, charged = 0, served = 0, carbon = 0, price = 0;
  for (int64_t t = 0; t < result->end_us; t++) {
    uint32_t step = 0;
    while (step + 1 < world->n_steps && world->at_us[step + 1] <= t) step++;
    const int64_t gpus = world->pool.nodes * world->pool.gpus_per_node, busy = busy_at(world, result, t);
    const hr_amount load =
        1000000000 * ((hr_amount)world->power.gpu_idle_w * (gpus - busy) + (hr_amount)world->power.gpu_max_w * busy);
    hr_amount in = 0, out = 0;
    if ((double)world->intensity[step] < spec->lower_g_per_kwh * 1e6) {
      const hr_amount added = capacity - stored < store ? capacity - stored : store;
      in = added == store ? charge : added + added * (charge - store) / store;
      stored += added;
    } else if ((double)world->intensity[step] >= spec->upper_g_per_kwh * 1e6) {
      out = load < stored ? load : stored;
      if (spec->discharge_w > 0 && out > (hr_amount)(spec->discharge_w * 1e9))
        out = (hr_amount)(spec->discharge_w * 1e9);
      stored -= out;
    }
    charged += in;
    served += out;
    carbon += (in - out) * (world->intensity[step] / 1000);
    price += (in - out) * world->price[step];
  }
  CU_ASSERT(found->charged == charged && found->discharged == served && found->stored == stored);
  CU_ASSERT(found->loss == charged - served - stored && found->carbon == carbon && found->price == price);
}

/* The runs take only some hundred microseconds, because the naive battery computes each microsecond. */
static void random_batteries(void) {
  static struct world world;
  struct hr__stream random;
  uint32_t n_charged = 0, n_served = 0;
  hr__stream_init(&random, 11, HR__PURPOSE_SAMPLE, 0, 0);
  for (int i = 0; i < WORLDS; i++) {
    world = empty_world();
    world.pool.nodes = 1 + (uint32_t)below(&random, 4);
    world.power.gpu_idle_w = (double)below(&random, 100);
    world.power.gpu_max_w = world.power.gpu_idle_w + (double)below(&random, 600);
    world.power.battery = (struct hr_power_battery){.capacity_kwh = (double)(1 + below(&random, 40)) * 1e-9,
                                                    .charge_w = (double)(1 + below(&random, 1500)),
                                                    .discharge_w = (double)(below(&random, 2) * below(&random, 900)),
                                                    .efficiency = (double)(50 + below(&random, 51)) / 100,
                                                    .lower_g_per_kwh = (double)below(&random, 600)};
    world.power.battery.upper_g_per_kwh = world.power.battery.lower_g_per_kwh + (double)(below(&random, 2) * 200);
    world.once = true;
    world.n_steps = 2 + (uint32_t)below(&random, MAX_STEPS - 1);
    for (uint32_t k = 0; k < world.n_steps; k++) {
      world.at_us[k] = k ? world.at_us[k - 1] + 1 + below(&random, 60) : 0;
      world.intensity[k] = below(&random, 1000) * 1000000;
      world.price[k] = below(&random, 1000) - 100;
    }
    for (world.n_jobs = 0; world.n_jobs < 12; world.n_jobs++) {
      uint32_t k = world.n_jobs;
      world.submit_us[k] = k ? world.submit_us[k - 1] + below(&random, 40) : 0;
      world.work_us[k] = 1 + below(&random, 100);
      world.gpus[k] = 1 + (uint32_t)below(&random, world.pool.nodes);
    }
    struct hr_result *result = run(&world);
    check_battery(&world, result);
    n_charged += result->pools[0].energy.battery.charged > 0;
    n_served += result->pools[0].energy.battery.discharged > 0;
    finish(&world, result);
  }
  CU_ASSERT(n_charged > WORLDS / 2 && n_served > WORLDS / 3);
}

/* ---- Random worlds ---- */

static void draw(struct hr__stream *random, struct world *world) {
  static const char *const rules[] = {"no-wait", "lowest-window", "wait-awhile", "ecovisor"};
  *world = empty_world();
  world->pool.nodes = 1 + (uint32_t)below(random, 6);
  world->pool.gpus_per_node = 1 + (uint32_t)below(random, 4);
  world->power.gpu_idle_w = (double)below(random, 100);
  world->power.gpu_max_w = world->power.gpu_idle_w + (double)below(random, 600);
  world->power.host_idle_w = world->power.host_max_w = (double)below(random, 300);
  world->power.down_w = (double)below(random, 50);
  world->power.other_w = (double)below(random, 50);
  world->power.pue = 1 + (double)below(random, 10) / 10;
  world->electricity.embodied_ug = below(random, 1000000);
  world->electricity.life_us = 1000 * S;
  world->n_steps = 2 + (uint32_t)below(random, MAX_STEPS - 1);
  for (uint32_t i = 0; i < world->n_steps; i++) {
    world->at_us[i] = i ? world->at_us[i - 1] + (1 + below(random, 90)) * S : 0;
    world->intensity[i] = below(random, 1000) * 1000;
    world->price[i] = below(random, 1000) - 100;
  }
  for (world->n_jobs = 0; world->n_jobs < MAX_JOBS; world->n_jobs++) {
    uint32_t i = world->n_jobs;
    world->submit_us[i] = i ? world->submit_us[i - 1] + below(random, 60) * S : 0;
    world->work_us[i] = (1 + below(random, 200)) * S;
    world->gpus[i] = 1 + (uint32_t)below(random, world->pool.nodes * world->pool.gpus_per_node);
  }
  world->carbon = rules[below(random, 4)];
  if (below(random, 2)) return;
  world->process = (struct hr_fault_process){.unit = HR_TIER_NODE, .bad_factor = 1, .fresh = true};
  world->process.between = (struct hr_duration){HR_DURATION_EXPONENTIAL, 400, 0};
  world->process.only.repair = (struct hr_duration){HR_DURATION_FIXED, 77, 0};
  world->faults.n_processes = 1;
}

static void add(struct hr_energy *sum, const struct hr_energy *part) {
  sum->carbon += part->carbon;
  sum->price += part->price;
  sum->embodied += part->embodied;
}

static bool is_same(const struct hr_energy *a, const struct hr_energy *b) {
  return a->carbon == b->carbon && a->price == b->price && a->embodied == b->embodied;
}

/* Returns the step that applies at a time, by a search from the first step. The series is repeated. */
static uint32_t step_at(const struct world *world, int64_t at_us) {
  uint32_t last = world->n_steps - 1, i = 0;
  int64_t end_us = 2 * world->at_us[last] - world->at_us[last - 1];
  while (at_us >= end_us) at_us -= end_us;
  while (i < last && world->at_us[i + 1] <= at_us) i++;
  return i;
}

/* Checks the carbon and the price of a job with a single attempt by a sum over its seconds. */
static void check_job(const struct world *world, const struct hr_result *result, uint32_t job) {
  int64_t from_us = result->start_us[job], to_us = hr_result_end_us(result, (hr_job){job});
  const struct hr_energy of_job = hr_result_energy(result, (hr_job){job}), *energy = &of_job;
  hr_amount carbon = 0, price = 0, nw = (energy->it + energy->facility) / (to_us - from_us);
  for (int64_t t = from_us; t < to_us; t += S) {
    uint32_t step = step_at(world, t);
    carbon += nw * (world->intensity[step] / 1000) * S;
    price += nw * world->price[step] * S;
  }
  CU_ASSERT(carbon == energy->carbon && price == energy->price);
}

static void random_worlds_conserve_carbon(void) {
  static struct world world;
  struct hr__stream random;
  uint32_t n_checked = 0;
  uint64_t failures = 0;
  hr__stream_init(&random, 9, HR__PURPOSE_SAMPLE, 0, 0);
  for (int i = 0; i < WORLDS; i++) {
    draw(&random, &world);
    struct hr_result *result = run(&world);
    const struct hr_pool_energy *pool = &result->pools[0].energy;
    struct hr_energy uses = {0}, jobs = {0};
    for (unsigned use = 0; use < HR_N_ENERGY_USES; use++) add(&uses, &pool->use[use]);
    for (uint32_t job = 0; job < result->n_jobs; job++) {
      const struct hr_energy part = hr_result_energy(result, (hr_job){job});
      add(&jobs, &part);
    }
    CU_ASSERT(is_same(&uses, &pool->meter) && is_same(&jobs, &pool->use[HR_ENERGY_JOBS]));
    failures += result->pools[0].failures;
    bool once = !result->account;
    for (uint32_t job = 0; job < result->n_jobs; job++) {
      if (result->state[job] != HR_JOB_COMPLETED || result->start_us[job] % S != 0 ||
          (!once && hr_result_accounting(result, (hr_job){job}).attempts != 1))
        continue;
      check_job(&world, result, job);
      n_checked++;
    }
    finish(&world, result);
  }
  CU_ASSERT(n_checked > 1000 && failures > 100);
}

TEST_MAIN("carbon and prices of energy", TEST(carbon_as_in_opendc), TEST(a_run_outlasts_its_series),
          TEST(embodied_and_facility), TEST(batteries_as_in_opendc), TEST(random_batteries),
          TEST(random_worlds_conserve_carbon))
