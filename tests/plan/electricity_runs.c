/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole runs of scenarios with carbon and power: values that must be equal in two runs or in two outputs of a run,
   notes about series, and unknown or negative figures. */

#include "harness.h"

#include "base/random.h"
#include "metered.h"
#include "output_files.h"
#include "report/metrics/catalog.h"
#include "schema_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static FILE *file_named(const char *name) {
  FILE *file = fopen(files_path(name), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  return file;
}

static uint32_t below(struct hr__stream *random, uint32_t n) {
  return (uint32_t)(hr__stream_next(random) % n);
}

/* ---- Carbon without a wait ------------------------------------------------------------------------------ */

static void put_hours(struct hr__stream *random) {
  FILE *file = file_named("g.csv");
  fputs("time_utc,g\n", file);
  for (unsigned hour = 0; hour < 72; hour++)
    fprintf(file, "2024-01-0%uT%02u:00Z,%u\n", 1 + hour / 24, hour % 24, 50 + below(random, 400));
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

static void put_jobs(struct hr__stream *random) {
  FILE *file = file_named("jobs.csv");
  fputs("job_id,submit_s,gpus,duration_s,class\n", file);
  for (unsigned job = 0; job < 12; job++)
    fprintf(file, "%u,%u,%u,%u,training\n", job, job * 1000 + below(random, 1000), 1 + below(random, 8),
            60 + below(random, 20000));
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

/* Sets `*kg` to the carbon of all jobs, and `*of_no_wait` to the ratio that the run reports: this carbon divided by the
   carbon without waits. */
static void run_rule(const char *rule, double *kg, double *of_no_wait) {
  struct metered run;
  FILE *file = file_named("s.json");
  fprintf(file,
          "{\"cluster\":{\"carbon\":{\"file\":\"g.csv\"},\"power\":{\"gpu_max_w\":400},\"pools\":[{\"name\":\"p\","
          "\"gpu\":\"X\",\"nodes\":12,\"gpus_per_node\":8}]},\"classes\":{\"training\":{\"restart_s\":300,"
          "\"checkpoint\":{\"policy\":\"interval\",\"interval_s\":900,\"write_s\":30}}},\"policy\":{\"name\":\"queue\","
          "\"backfill\":\"skip\",\"carbon_wait_s\":30000,\"carbon_short_wait_s\":30000,\"carbon\":\"%s\"}}",
          rule);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
  metered_start(&run, NULL, NULL);
  *kg = run.replay.summary->carbon.jobs.operational_kg;
  *of_no_wait = run.replay.summary->carbon.of_no_wait;
  metered_finish(&run);
}

/* If no job waits for GPUs, the reported ratio equals the ratio of the carbon of two runs, although jobs restart after
   interruptions. */
static void carbon_relative_to_no_wait(void) {
  static const char *const rules[] = {"lowest-window", "wait-awhile", "ecovisor", "carbon-time"};
  struct hr__stream random;
  hr__stream_init(&random, 2, HR__PURPOSE_SAMPLE, 0, 0);
  unsigned n_above = 0;
  for (unsigned world = 0; world < 6; world++) {
    double base_kg, kg, of_no_wait;
    put_hours(&random);
    put_jobs(&random);
    run_rule("no-wait", &base_kg, &of_no_wait);
    CU_ASSERT_DOUBLE_EQUAL(of_no_wait, 1, 1e-9);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
      run_rule(rules[i], &kg, &of_no_wait);
      CU_ASSERT_DOUBLE_EQUAL(of_no_wait, kg / base_kg, 1e-6);
      n_above += kg != base_kg;
    }
  }
  CU_ASSERT(n_above > 15);
}

/* ---- The timeline --------------------------------------------------------------------------------------- */

/* Returns the integral of a column of the timeline until the end of a run, in kWh. */
static double integral_kwh(const char *path, double end_s, unsigned column) {
  char line[1000];
  double sum = 0, since_s = 0, kw = 0;
  FILE *file = fopen(path, "r");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  for (bool is_header = true; fgets(line, sizeof line, file); is_header = false) {
    if (is_header) continue;
    const char *cell = line;
    const double at_s = strtod(line, NULL);
    sum += kw * (at_s - since_s) / 3600;
    since_s = at_s;
    for (unsigned i = 0; i < column; i++) cell = strchr(cell, ',') + 1;
    kw = strtod(cell, NULL);
  }
  fclose(file);
  return sum + kw * (end_s - since_s) / 3600;
}

/* A world with some of: nodes that sleep, a power budget that closes nodes or limits GPUs, failures, maintenance, and
   rules that interrupt jobs. */
static void put_world(struct hr__stream *random) {
  static const char *const budgets[] = {"", "\"power_budget_w\":9000,",
                                        "\"power_budget_w\":9000,\"power_budget_mode\":\"cap\","};
  static const char *const works[] = {"", ",\"maintenance\":[{\"name\":\"fw\",\"start_s\":9000,\"duration_s\":1000,"
                                          "\"lead_s\":500,\"nodes_per_group\":1,\"drain\":\"wait\"}]"};
  static const char *const rules[] = {"no-wait", "lowest-window", "wait-awhile", "ecovisor"};
  static const char *const backfills[] = {"skip", "easy", "conservative"};
  char sleep[200] = "";
  if (below(random, 3))
    snprintf(sleep, sizeof sleep, ",\"sleep\":{\"idle_s\":%u,\"suspend_s\":%u,\"sleep_w\":10,\"boot_s\":%u}",
             1 + below(random, 900), below(random, 2) * below(random, 90), 1 + below(random, 300));
  FILE *file = file_named("s.json");
  fprintf(file,
          "{\"cluster\":{\"carbon\":{\"file\":\"g.csv\"},\"power\":{\"gpu_idle_w\":40,\"gpu_max_w\":250,\"pue\":1.3%s},"
          "%s%s\"pools\":[{\"name\":\"p\",\"gpu\":\"V100\",\"nodes\":5,\"gpus_per_node\":8%s}]},",
          sleep, budgets[below(random, 3)],
          below(random, 2) ? "\"faults\":{\"mtbf_h\":9,\"repair_s\":900,\"detect_s\":50}," : "",
          works[below(random, 2)]);
  fprintf(file, "\"policy\":{\"name\":\"queue\",\"carbon\":\"%s\",\"backfill\":\"%s\",\"carbon_wait_s\":20000}}",
          rules[below(random, 4)], backfills[below(random, 3)]);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

/* Returns whether each row of the timeline differs from the one before in more than its time. */
static bool rows_differ(const char *path) {
  char line[500], last[500] = "";
  FILE *file = fopen(path, "r");
  bool differ = true;
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  while (fgets(line, sizeof line, file)) {
    const char *columns = strchr(line, ',');
    CU_ASSERT_PTR_NOT_NULL_FATAL(columns);
    differ = differ && strcmp(columns, last) != 0;
    snprintf(last, sizeof last, "%s", columns);
  }
  fclose(file);
  return differ;
}

/* The integral of the power in the timeline is the energy that the meter has counted. Each row differs from the
   previous row in more than its time. A change of the carbon intensity alone adds no row, because this timeline has no
   column for it. */
static void timeline_is_the_meter(void) {
  enum { WORLDS = 40, IT_COLUMN = 8 };
  struct hr__stream random;
  hr__stream_init(&random, 5, HR__PURPOSE_SAMPLE, 0, 0);
  for (unsigned world = 0; world < WORLDS; world++) {
    struct metered run;
    char path[500];
    put_hours(&random);
    put_jobs(&random);
    put_world(&random);
    snprintf(path, sizeof path, "%s", files_path("timeline.csv"));
    metered_start(&run, path, &(struct hr_timeline_columns){.power = true});
    const double end_s = (double)(run.replay.result->end_us + hr_trace_clock_us(run.trace)) / 1e6;
    const double rounding_kwh = 0.5e-6 * end_s / 3600 + 1e-9; /* the file has kilowatts, rounded to milliwatts */
    const double it_kwh = integral_kwh(path, end_s, IT_COLUMN), site_kwh = integral_kwh(path, end_s, IT_COLUMN + 1);
    if (fabs(it_kwh - run.replay.summary->energy.it_kwh) > rounding_kwh)
      printf("\n  world %u: the timeline has %.9f kWh, the meter %.9f", world, it_kwh,
             run.replay.summary->energy.it_kwh);
    CU_ASSERT(rows_differ(path));
    CU_ASSERT_DOUBLE_EQUAL(it_kwh, run.replay.summary->energy.it_kwh, rounding_kwh);
    CU_ASSERT_DOUBLE_EQUAL(site_kwh, run.replay.summary->energy.site_kwh, rounding_kwh);
    metered_finish(&run);
  }
}

/* ---- Notes ---------------------------------------------------------------------------------------------- */

/* Runs a job of two hours with two pools, and returns the number of notes on series. One of them must contain `words`,
   unless it is NULL. */
static unsigned notes_on_series(const char *first, const char *second, const char *words) {
  struct metered run;
  FILE *file = file_named("s.json");
  fprintf(file,
          "{\"cluster\":{\"pools\":[{\"name\":\"a\",\"gpu\":\"X\",\"nodes\":1,\"gpus_per_node\":8,\"carbon\":{\"file\":"
          "\"g.csv\"%s}},{\"name\":\"b\",\"gpu\":\"X\",\"nodes\":1,\"gpus_per_node\":8,\"carbon\":{\"file\":\"%s}}]},"
          "\"policy\":{\"name\":\"queue\"}}",
          first, second);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
  metered_start(&run, NULL, NULL);
  unsigned count = 0;
  bool found = !words;
  for (size_t i = 0; i < run.replay.notes.count; i++) {
    const char *note = run.replay.notes.text[i];
    if (!strstr(note, "in the series of") && !strstr(note, "outside the series")) continue;
    found = found || strstr(note, words);
    count++;
  }
  CU_ASSERT(found);
  metered_finish(&run);
  return count;
}

/* Series g.csv has three days from 2024-01-01, h.csv the three hours until 2022-10-19T03:00. A run of two hours from
   01:30 is outside of h.csv for its last half hour: 25 %. */
static void runs_outside_series_are_noted(void) {
  struct hr__stream random;
  hr__stream_init(&random, 6, HR__PURPOSE_SAMPLE, 0, 0);
  put_hours(&random);
  FILE *file = file_named("h.csv");
  fputs("time_utc,g\n2022-10-19T00:00Z,1\n2022-10-19T01:00Z,2\n2022-10-19T02:00Z,3\n", file);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
  file = file_named("jobs.csv");
  fputs("job_id,submit_s,gpus,duration_s\n1,0,1,7200\n", file);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
  CU_ASSERT_EQUAL(notes_on_series("", "g.csv\"", NULL), 0);
  CU_ASSERT_EQUAL(notes_on_series("", "h.csv\"", "2024-01-01T00:00:00Z in the series"), 1);
  CU_ASSERT_EQUAL(notes_on_series(",\"start\":\"2024-01-01T01:00Z\"", "h.csv\",\"start\":\"2022-10-19T01:30Z\"",
                                  "25 % of the run is outside"),
                  1);
  CU_ASSERT_EQUAL(notes_on_series(",\"start\":\"2030-01-01T00:00Z\"", "g.csv\",\"start\":\"2024-01-01T01:00Z\"",
                                  "100 % of the run is outside"),
                  1);
  CU_ASSERT_EQUAL(notes_on_series(",\"start\":\"2030-01-01T00:00Z\",\"after\":\"repeat\"",
                                  "g.csv\",\"start\":\"2023-12-31T23:00Z\",\"after\":\"repeat\"", "its first value"),
                  1);
}

/* ---- Unknown and negative figures ----------------------------------------------------------------------- */

static void check_json(const cJSON *carbon) {
  const cJSON *first = cJSON_GetArrayItem(schema_get(carbon, "by_pool"), 0),
              *second = cJSON_GetArrayItem(schema_get(carbon, "by_pool"), 1);
  CU_ASSERT_DOUBLE_EQUAL(schema_get(carbon, "usd_per_kwh")->valuedouble, -0.1, 1e-9);
  CU_ASSERT(cJSON_IsNull(schema_get(carbon, "water_l")) && cJSON_IsNull(schema_get(first, "water_l")));
  CU_ASSERT(cJSON_IsNull(schema_get(carbon, "operational_kg")) && cJSON_IsNull(schema_get(first, "operational_kg")));
  CU_ASSERT(cJSON_IsNumber(schema_get(carbon, "embodied_kg")) && cJSON_IsNumber(schema_get(second, "embodied_kg")));
  CU_ASSERT(cJSON_IsNull(schema_get(first, "embodied_kg")) && cJSON_IsNumber(schema_get(first, "energy_usd")));
}

/* Prices can be negative. A metric of a pool is null if it is unknown, like that of the whole run. */
static void unknown_figures_are_null(void) {
  struct metered run;
  struct hr_error error;
  FILE *file = file_named("s.json");
  fputs("{\"cluster\":{\"power\":{\"gpu_max_w\":300},\"energy_price\":{\"usd_per_kwh\":-0.1},\"pools\":[{\"name\":"
        "\"a\",\"gpu\":\"X\",\"nodes\":1,\"gpus_per_node\":8},{\"name\":\"b\",\"gpu\":\"X\",\"nodes\":1,"
        "\"gpus_per_node\":8,\"carbon\":{\"embodied_kg_per_gpu\":150}}]},\"policy\":{\"name\":\"queue\"}}",
        file);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
  file = file_named("jobs.csv");
  fputs("job_id,submit_s,gpus,duration_s\n1,0,1,7200\n", file);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
  metered_start(&run, NULL, NULL);
  const struct hr_run_label label = {
      .cluster = &run.scenario->cluster, .policy = &run.scenario->policy, .trace = "t", .format = "csv"};
  const struct hr_perf perf = {.sim_s = 1};
  CU_ASSERT_EQUAL_FATAL(hr_summary_write_json(files_path("summary.json"), run.replay.summary, &label, &perf, &error),
                        HR_OK);
  char *text = files_read(files_path("summary.json"));
  char *rules = files_read(PROJECT_DIR "/docs/reference/schemas/summary.schema.json");
  cJSON *tree = cJSON_Parse(text), *schema = cJSON_Parse(rules);
  CU_ASSERT_FATAL(tree && schema);
  CU_ASSERT_TRUE(schema_fits(schema, tree, "written"));
  check_json(schema_get(tree, "carbon"));
  cJSON_Delete(tree);
  cJSON_Delete(schema);
  free(text);
  free(rules);
  metered_finish(&run);
}

static void no_dollars_have_no_sign(void) {
  char text[HR__METRIC_BYTES];
  CU_ASSERT_STRING_EQUAL(hr__difference_text(HR_UNIT_DOLLARS, -0.004, text), "$0.00");
  CU_ASSERT_STRING_EQUAL(hr__difference_text(HR_UNIT_DOLLARS, 0.0001, text), "$0.00");
  CU_ASSERT_STRING_EQUAL(hr__difference_text(HR_UNIT_DOLLARS, -0.005, text), "-$0.01");
}

TEST_MAIN("electricity of whole runs", TEST(carbon_relative_to_no_wait), TEST(timeline_is_the_meter),
          TEST(runs_outside_series_are_noted), TEST(unknown_figures_are_null), TEST(no_dollars_have_no_sign))
