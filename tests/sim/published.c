/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Failures and repairs compared with published values and closed forms: rows of validation_expected.csv, each simulated
 * with its parameters; cases of OpenDC; the rate of failures of a large job. The file validation_expected.csv is not
 * part of the repository. Without it, the rows are skipped. In rows of queues, restarts and repair crews, a unit of
 * time is simulated as 1,000 s.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/faults.h"

#include <gsl/gsl_randist.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define S HR_SECOND_US
#define UNIT_S 1000.0

enum { MAX_JOBS = 150000 };

/* One row of the file: the numbers in its input and its expected values, in their order. */
struct row {
  char id[64];
  double inputs[8], expected[4];
  uint32_t n_inputs, n_expected;
};

/* Reads at most `max` numbers from the text `at` into `numbers`. Returns how many were read. */
static uint32_t read_numbers(const char *at, double *numbers, uint32_t max) {
  uint32_t n = 0;
  while (*at && n < max) {
    char *end;
    double value = strtod(at, &end);
    bool is_number = end != at && (strchr("0123456789.", *at) || (*at == '-' && strchr("0123456789.", at[1])));
    if (is_number) numbers[n++] = value;
    at = is_number ? end : at + 1;
  }
  return n;
}

/* Copies field `number` of a CSV line, without its quotes. */
static void copy_field(const char *line, unsigned number, char text[400]) {
  bool quoted = false;
  size_t n = 0;
  for (; *line && *line != '\n'; line++) {
    if (*line == '"')
      quoted = !quoted;
    else if (*line == ',' && !quoted)
      number--;
    else if (number == 0 && n < 399)
      text[n++] = *line;
    if (number == UINT_MAX) break;
  }
  text[n] = '\0';
}

static bool parse(const char *line, struct row *row) {
  char text[400], *from;
  copy_field(line, 0, text);
  snprintf(row->id, sizeof row->id, "%.60s", text);
  copy_field(line, 1, text);
  from = strchr(text, '(');
  row->n_inputs = read_numbers(from ? from : text, row->inputs, 8);
  copy_field(line, 3, text);
  row->n_expected = read_numbers(text, row->expected, 4);
  return row->n_inputs > 0 && row->n_expected > 0;
}

/* ---- Runs ------------------------------------------------------------------------------------------------- */

struct world {
  struct hr_pool_spec pool;
  struct hr_fault_process process;
  struct hr_fault_spec faults;
  struct hr_class_spec class_;
  uint32_t n_jobs, *gpus;
  int64_t *submit_us, *work_us;
};

static void world_init(struct world *world, uint32_t n_nodes, uint32_t n_jobs) {
  static char name[] = "p", gpu[] = "A100";
  *world = (struct world){
      .pool = {.name = name, .gpu = gpu, .nodes = n_nodes, .gpus_per_node = 1, .market = {.to_us = HR_NEVER_US}},
      .process = {.unit = HR_TIER_NODE, .bad_factor = 1},
      .faults = {.n_processes = 1},
      .n_jobs = n_jobs,
      .submit_us = calloc(n_jobs, sizeof(int64_t)),
      .work_us = calloc(n_jobs, sizeof(int64_t)),
      .gpus = calloc(n_jobs, sizeof(uint32_t))};
  CU_ASSERT_FATAL(world->submit_us && world->work_us && world->gpus);
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
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "fifo", &error), HR_OK);
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = 1,
                                 .horizon_us = HR_NEVER_US,
                                 .classes = classes};
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  hr_policy_choice_finish(&choice);
  return result;
}

static void world_finish(struct world *world, struct hr_result *result) {
  hr_result_destroy(result);
  free(world->submit_us);
  free(world->work_us);
  free(world->gpus);
}

static struct hr_duration exponential(double mean_s) {
  return (struct hr_duration){HR_DURATION_EXPONENTIAL, mean_s, 0};
}

static void expect(const struct row *row, const char *what, double seen, double expected, double share) {
  bool within = fabs(seen - expected) <= share * expected;
  if (!within)
    printf("\n    %s, first input %g: %s %.5f, expected %.5f", row->id, row->inputs[0], what, seen, expected);
  CU_ASSERT(within);
}

/* ---- Rows ------------------------------------------------------------------------------------------------- */

/* Servers that fail at any time, and then resume the work. Inputs: number of servers, arrival rate lambda, service rate
   mu, failure rate xi, repair rate eta, size of the crew. Expected: mean number in the system L, mean time in the
   system W, mean number of servers that are up E[up]. */
static void check_queue(const struct row *row, const double *in, double time_in_system, double mean_up) {
  struct world world;
  world_init(&world, (uint32_t)in[0], MAX_JOBS);
  world.class_.checkpoint = HR_CHECKPOINT_CONTINUOUS;
  world.faults.crew = (uint32_t)in[5];
  world.process.between = exponential(UNIT_S / in[3]);
  world.process.only.repair = exponential(UNIT_S / in[4]);
  struct hr__stream stream;
  hr__stream_init(&stream, 7, HR__PURPOSE_ARRIVAL, 0, 0);
  gsl_rng rng = hr__stream_rng(&stream);
  double at_s = 0, sum_s = 0;
  for (uint32_t i = 0; i < MAX_JOBS; i++) {
    at_s += gsl_ran_exponential(&rng, UNIT_S / in[1]);
    world.submit_us[i] = (int64_t)(at_s * (double)S);
    world.work_us[i] = 1 + (int64_t)(gsl_ran_exponential(&rng, UNIT_S / in[2]) * (double)S);
  }
  struct hr_result *result = run(&world);
  for (uint32_t i = 0; i < MAX_JOBS; i++)
    sum_s += (double)(hr_result_accounting(result, (hr_job){i}).end_us - world.submit_us[i]) / (double)S;
  double up = in[0] - (double)result->pools[0].down_us / (double)result->end_us;
  CU_ASSERT(result->pools[0].failures > 500);
  expect(row, "time in the system", sum_s / MAX_JOBS / UNIT_S, time_in_system, 0.06);
  if (mean_up > 0) expect(row, "servers up", up, mean_up, 0.02);
  world_finish(&world, result);
}

/* Inputs: number of machines, failure rate xi, repair rate eta, size of the crew. Expected: availability. */
static void check_repairmen(const struct row *row) {
  struct world world;
  world_init(&world, (uint32_t)row->inputs[0], 1);
  world.work_us[0] = 1;
  world.submit_us[0] = (int64_t)(20000 * UNIT_S / row->inputs[0] / row->inputs[1] * (double)S);
  world.faults.crew = (uint32_t)row->inputs[3];
  world.process.between = exponential(UNIT_S / row->inputs[1]);
  world.process.only.repair = exponential(UNIT_S / row->inputs[2]);
  struct hr_result *result = run(&world);
  CU_ASSERT(result->pools[0].failures > 10000);
  double down = (double)result->pools[0].down_us / (double)result->end_us / row->inputs[0];
  expect(row, "availability", 1 - down, row->expected[0], 0.01);
  world_finish(&world, result);
}

/* Inputs: number of nodes N, failures per node-day; in minutes: time of a restart, work between checkpoints, time to
   write a checkpoint. Expected: ETTR. A failed node is up again immediately, so one node with N times the failure rate
   is equivalent. */
static void check_ettr(const struct row *row, double expected) {
  const double *in = row->inputs;
  double mtbf_s = 86400 / (in[0] * in[1]);
  struct world world;
  world_init(&world, 1, 1);
  world.work_us[0] = (int64_t)(mtbf_s * 40000) * S;
  world.class_ = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_INTERVAL,
                                        .restart_us = (int64_t)(in[2] * 60) * S,
                                        .interval_us = (int64_t)(in[3] * 60) * S,
                                        .write_us = (int64_t)(in[4] * 60) * S};
  world.process.between = exponential(mtbf_s);
  struct hr_result *result = run(&world);
  CU_ASSERT(result->pools[0].failures > 20000);
  expect(row, "ETTR", (double)world.work_us[0] / (double)hr_result_accounting(result, (hr_job){0}).end_us, expected,
         0.006);
  world_finish(&world, result);
}

/* Inputs: run time T, MTBF, repair time R. A run starts from the beginning after a failure. There are no failures
   during repairs. Expected: the mean time until a run is complete. */
static void check_restart(const struct row *row) {
  enum { RUNS = 40000 };
  struct world world;
  world_init(&world, 1, RUNS);
  for (uint32_t i = 0; i < RUNS; i++) world.work_us[i] = (int64_t)(row->inputs[0] * UNIT_S) * S;
  world.process.between = exponential(row->inputs[1] * UNIT_S);
  world.process.only.repair = (struct hr_duration){HR_DURATION_FIXED, row->inputs[2] * UNIT_S, 0};
  struct hr_result *result = run(&world);
  CU_ASSERT(result->pools[0].failures > RUNS);
  expect(row, "time", (double)result->end_us / (double)S / UNIT_S / RUNS, 76.59716, 0.02);
  world_finish(&world, result);
}

static bool check(const struct row *row) {
  const double *in = row->inputs;
  double queue[6] = {1, in[0], in[1], in[2], in[3], 1};
  if (strcmp(row->id, "mmcbd") == 0 && row->n_inputs == 6)
    check_queue(row, in, row->expected[1], row->expected[2]);
  else if (strcmp(row->id, "mm1bd") == 0 && row->n_inputs == 4)
    check_queue(row, queue, row->expected[0] / in[0], 0);
  else if (strcmp(row->id, "repairman") == 0)
    check_repairmen(row);
  else if (strcmp(row->id, "ettr.exact") == 0)
    check_ettr(row, row->expected[0]);
  else if (strcmp(row->id, "restart") == 0)
    check_restart(row);
  else
    return false;
  return true;
}

static void rows_of_the_shared_folder(void) {
  char line[2000];
  uint32_t checked = 0;
  FILE *file = fopen(PROJECT_DIR "/../shared/reliability/csv/validation_expected.csv", "r");
  if (!file) {
    printf("skipped: ../shared/reliability is missing ");
    return;
  }
  while (fgets(line, sizeof line, file)) {
    struct row row;
    if (!strstr(line, ",disputed,") && parse(line, &row)) checked += check(&row);
  }
  fclose(file);
  CU_ASSERT_EQUAL(checked, 3 + 4 + 3 + 5 + 1);
}

/* ---- OpenDC's cases, by hand in its tests ----------------------------------------------------------------- */

/* A task of 600 s. In each case the host fails from 300 s to 600 s.
   - Without checkpoints, the task starts again at 600 s and ends at 1,200 s.
   - With a second failure from 1,020 s to 1,620 s, it ends at 2,220 s.
   - With a checkpoint of 1 s after each 60 s of work, 240 s of work are saved at 300 s. The other 360 s of work and 5
     checkpoints end at 965 s. */
static void cases_of_opendc(void) {
  static const struct {
    struct hr_fault_replay replays[2];
    uint32_t n_replays;
    bool saves;
    int64_t end_s;
  } cases[] = {{{{0, 300 * S, 300 * S}, {0, 0, 0}}, 1, false, 20 * 60},
               {{{0, 300 * S, 300 * S}, {0, 1020 * S, 600 * S}}, 2, false, 37 * 60},
               {{{0, 300 * S, 300 * S}, {0, 0, 0}}, 1, true, 965}};
  for (uint32_t i = 0; i < 3; i++) {
    struct hr_fault_replay replays[2] = {cases[i].replays[0], cases[i].replays[1]};
    struct world world;
    world_init(&world, 1, 1);
    world.work_us[0] = 600 * S;
    world.process.clock = HR_FAULT_CLOCK_WALL;
    world.process.replays = replays;
    world.process.n_replays = cases[i].n_replays;
    if (cases[i].saves)
      world.class_ =
          (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_INTERVAL, .interval_us = 60 * S, .write_us = 1 * S};
    struct hr_result *result = run(&world);
    CU_ASSERT_EQUAL(result->pools[0].failures, cases[i].n_replays);
    CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){0}).end_us, cases[i].end_s * S);
    world_finish(&world, result);
  }
}

/* 16,384 GPUs on 2,048 nodes with 6.5 failures per 1,000 node-days: a failure every 1.803 hours (Meta). */
static void failures_of_a_large_job(void) {
  struct world world;
  world_init(&world, 2048, 1);
  world.gpus[0] = 2048;
  world.work_us[0] = 1;
  world.submit_us[0] = (int64_t)86400 * 730 * S;
  world.process.between = exponential(86400 / 6.5e-3);
  struct hr_result *result = run(&world);
  double hours = 24 * 730.0 / (double)result->pools[0].failures;
  CU_ASSERT(result->pools[0].failures > 9000);
  CU_ASSERT(fabs(hours - 1.803) < 0.04);
  world_finish(&world, result);
}

TEST_MAIN("Published figures of failures", TEST(rows_of_the_shared_folder), TEST(cases_of_opendc),
          TEST(failures_of_a_large_job))
