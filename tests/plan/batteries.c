/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole runs of scenarios with batteries. Tested are the summary, the timeline, and the rows opendc.batt1 to
 * opendc.batt4 of validation_expected.csv, a file that is not part of the repository. To measure the mean power from
 * the grid between two times, two runs end at these times: the mean is the difference of their energies, divided by the
 * difference of the times.
 */

#include "harness.h"

#include "metered.h"
#include "output_files.h"
#include "schema_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHARED "/../shared/reliability/csv/validation_expected.csv"
#define KWH_J 3.6e6

/* A node of 150 W and a task that is as long as the run. */
struct world {
  double first_g, then_g; /* carbon intensity: in the first 600 s, and later */
  double threshold_g, capacity_kwh, charge_w;
  unsigned task_s;
  const char *more; /* further keys of the battery */
};

static void put_file(const char *name, const char *text) {
  FILE *file = fopen(files_path(name), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

static void start(struct metered *run, const struct world *world, const char *timeline_path) {
  char text[2000];
  snprintf(text, sizeof text,
           "time_utc,g\n2022-01-01T00:00:00Z,%.10g\n2022-01-01T00:10:00Z,%.10g\n2022-01-01T00:20:00Z,%.10g\n",
           world->first_g, world->then_g, world->then_g);
  put_file("g.csv", text);
  snprintf(text, sizeof text, "job_id,submit_s,gpus,duration_s\n1,0,1,%u\n", world->task_s);
  put_file("jobs.csv", text);
  snprintf(text, sizeof text,
           "{\"cluster\":{\"carbon\":{\"file\":\"g.csv\"},\"energy_price\":{\"usd_per_kwh\":0.5},\"pools\":[{\"name\":"
           "\"p\",\"gpu\":\"X\",\"nodes\":1,\"gpus_per_node\":1,\"power\":{\"gpu_idle_w\":150,\"gpu_max_w\":150,"
           "\"host_idle_w\":0,\"host_max_w\":0,\"battery\":{\"capacity_kwh\":%.10g,\"charge_w\":%.10g,"
           "\"threshold_g_per_kwh\":%.10g%s}}}]},\"policy\":{\"name\":\"queue\"}}",
           world->capacity_kwh, world->charge_w, world->threshold_g, world->more ? world->more : "");
  put_file("s.json", text);
  const struct hr_timeline_columns columns = {.power = true, .carbon = true, .battery = true};
  metered_start(run, timeline_path, &columns);
}

/* Returns the energy that is taken from the grid in the first `until_s` seconds, in joules. */
static double grid_j(const struct world *world, unsigned until_s) {
  struct metered run;
  struct world cut = *world;
  cut.task_s = until_s;
  start(&run, &cut, NULL);
  const double joules = run.replay.summary->battery.grid_kwh * KWH_J;
  CU_ASSERT_EQUAL(run.replay.result->end_us, until_s * HR_SECOND_US);
  metered_finish(&run);
  return joules;
}

static double mean_w(const struct world *world, unsigned from_s, unsigned to_s) {
  return (grid_j(world, to_s) - grid_j(world, from_s)) / (to_s - from_s);
}

/* ---- OpenDC ----------------------------------------------------------------------------------------------------- */

/* Returns the next number in the text, and sets `*at` to the position after it. */
static double next_number(const char **at) {
  *at += strcspn(*at, "0123456789");
  char *end;
  const double value = strtod(*at, &end);
  CU_ASSERT_FATAL(end != *at);
  *at = end;
  return value;
}

static const char *after(const char *text, const char *words) {
  const char *found = strstr(text, words);
  CU_ASSERT_PTR_NOT_NULL_FATAL(found);
  return found + strlen(words);
}

/* Compares the power that the row states, if any. `stated` is the rest of the row after the energy. */
static void check_power(const struct world *world, const char *stated) {
  if (strstr(stated, " then ")) { /* 1150 W then 150 W after 360 s */
    const double first_w = next_number(&stated), then_w = next_number(&stated), at_s = next_number(&stated);
    CU_ASSERT_DOUBLE_EQUAL(mean_w(world, (unsigned)at_s - 60, (unsigned)at_s), first_w, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(mean_w(world, (unsigned)at_s, (unsigned)at_s + 60), then_w, 1e-6);
  } else if (strstr(stated, " W from ")) { /* 0 W from 600 s to 1080 s */
    const double watts = next_number(&stated), from_s = next_number(&stated), to_s = next_number(&stated);
    CU_ASSERT_DOUBLE_EQUAL(mean_w(world, (unsigned)from_s, (unsigned)to_s), watts, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(mean_w(world, (unsigned)to_s, (unsigned)to_s + 60), 150, 1e-6);
  }
}

/* Runs the world of a row `opendc.batt*` and compares the results. Unless the row states other values, the battery
   charges with 1,000 W and stores 0.1 kWh, and the task takes 10 minutes. A row with the word "same" has the world of
   the previous row with another length of the task. */
static void check_row(const char *line, struct world *world) {
  const char *inputs = strchr(line, ',') + 1;
  if (!strstr(inputs, "same ")) {
    *world = (struct world){.capacity_kwh = 0.1, .charge_w = 1000, .task_s = 600};
    const char *at = after(inputs, "CI ");
    world->first_g = world->then_g = next_number(&at);
    if (strstr(at, " for 10 min then ")) {
      at = after(at, " for 10 min then ");
      world->then_g = world->threshold_g = next_number(&at);
      world->capacity_kwh = next_number(&at);
    } else {
      world->threshold_g = next_number(&at);
    }
  }
  if (strstr(inputs, "-min task")) {
    const char *at = strstr(inputs, "-min task");
    while (at > inputs && at[-1] >= '0' && at[-1] <= '9') at--;
    world->task_s = 60 * (unsigned)next_number(&at);
  }
  const char *expected = after(line, "runtime/energy,");
  const double joules = next_number(&expected), found = grid_j(world, world->task_s);
  if (fabs(found - joules) > 1e-6) printf("\n  %.12s: %.10g J, published %.10g J", line, found, joules);
  CU_ASSERT_DOUBLE_EQUAL(found, joules, 1e-6);
  check_power(world, expected);
}

static void rows_of_opendc(void) {
  char line[2000];
  unsigned checked = 0;
  struct world world = {0};
  FILE *file = fopen(PROJECT_DIR SHARED, "r");
  if (!file) {
    printf("skipped: ../shared/reliability is missing ");
    return;
  }
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "opendc.batt", 11) != 0 || strstr(line, ",disputed,")) continue;
    check_row(line, &world);
    checked++;
  }
  fclose(file);
  CU_ASSERT_EQUAL(checked, 4);
}

/* ---- Results ---------------------------------------------------------------------------------------------------- */

/* The intensity is 80 g/kWh for 600 s, below the threshold of 100, and 120 g/kWh for the remaining 1,200 s. First the
   battery takes 0.05 kWh from the grid, and stores 80 % of it, its capacity of 0.04 kWh. Then it supplies the load of
   150 W for 960 s. */
static const struct world lossy = {.first_g = 80,
                                   .then_g = 120,
                                   .threshold_g = 100,
                                   .capacity_kwh = 0.04,
                                   .charge_w = 1000,
                                   .task_s = 1800,
                                   .more = ",\"efficiency\":0.8"};

static void summary_of_a_battery(void) {
  struct metered run;
  char path[300];
  struct hr_error error = {0};
  start(&run, &lossy, NULL);
  const struct hr_battery_metrics *battery = &run.replay.summary->battery;
  const struct hr_carbon_metrics *carbon = &run.replay.summary->carbon;
  CU_ASSERT_DOUBLE_EQUAL(battery->charged_kwh, 0.05, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(battery->loss_kwh, 0.01, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(battery->discharged_kwh, 0.04, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(battery->stored_kwh, 0, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(battery->grid_kwh, 0.075 + 0.05 - 0.04, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(battery->carbon_kg, (0.05 * 80 - 0.04 * 120) / 1000, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(battery->energy_usd, 0.01 * 0.5, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(run.replay.summary->energy.site_kwh, 0.075, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(run.replay.summary->energy.peak_kw, 0.15, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(carbon->all.operational_kg, (0.025 * 80 + 0.05 * 120) / 1000 + battery->carbon_kg, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(carbon->all.energy_usd, 0.085 * 0.5, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(carbon->g_per_kwh, carbon->all.operational_kg * 1000 / 0.085, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(carbon->usd_per_kwh, 0.5, 1e-9);
  CU_ASSERT_FATAL(carbon->n_pools == 1);
  CU_ASSERT_DOUBLE_EQUAL(carbon->by_pool[0].operational_kg, carbon->all.operational_kg, 1e-12);
  snprintf(path, sizeof path, "%s", files_path("summary.json"));
  const struct hr_run_label label = {
      .cluster = &run.scenario->cluster, .policy = &run.scenario->policy, .trace = "t", .format = "csv"};
  const struct hr_perf perf = {.sim_s = 1};
  CU_ASSERT_EQUAL_FATAL(hr_summary_write_json(path, run.replay.summary, &label, &perf, &error), HR_OK);
  char *text = files_read(path), *rules = files_read(PROJECT_DIR "/docs/reference/schemas/summary.schema.json");
  cJSON *tree = cJSON_Parse(text), *schema = cJSON_Parse(rules);
  CU_ASSERT_FATAL(tree && schema);
  CU_ASSERT_TRUE(schema_fits(schema, tree, "written"));
  CU_ASSERT_DOUBLE_EQUAL(schema_get(schema_get(tree, "battery"), "carbon_kg")->valuedouble, -0.0008, 1e-9);
  cJSON_Delete(tree);
  cJSON_Delete(schema);
  free(text);
  free(rules);
  metered_finish(&run);
}

/* The battery begins with 0.02 kWh, which supply 50 of the 150 W for 1,440 s. It discharges only above 110 g/kWh and
   charges only below 100 g/kWh. */
static void initial_energy_and_limits(void) {
  struct world world = lossy;
  world.first_g = world.then_g = 120;
  world.more = ",\"discharge_w\":50,\"initial_kwh\":0.02,\"discharge_g_per_kwh\":110";
  CU_ASSERT_DOUBLE_EQUAL(mean_w(&world, 600, 1440), 100, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL(mean_w(&world, 1440, 1800), 150, 1e-6);
  world.first_g = world.then_g = 105; /* between the thresholds */
  CU_ASSERT_DOUBLE_EQUAL(grid_j(&world, 1800), 150 * 1800, 1e-6);
}

static void timeline_of_a_battery(void) {
  struct metered run;
  char path[300];
  snprintf(path, sizeof path, "%s", files_path("timeline.csv"));
  start(&run, &lossy, path);
  char *text = files_read(path);
  CU_ASSERT_STRING_EQUAL(text,
                         "time_s,waiting,running,gpus_allocated,gpus_total,fragmented_gpus,stranded_gpus,largest_gang,"
                         "power_kw,site_kw,carbon_kg_h,grid_kw,stored_kwh\n"
                         "0,0,1,1,1,,,,0.150000,0.150000,0.092000,1.150000,0.000000\n"
                         "1800,0,0,0,1,,,,0.150000,0.150000,0.018000,0.150000,0.000000\n");
  free(text);
  metered_finish(&run);
}

TEST_MAIN("batteries of scenarios", TEST(rows_of_opendc), TEST(summary_of_a_battery), TEST(initial_energy_and_limits),
          TEST(timeline_of_a_battery))
