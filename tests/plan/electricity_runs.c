/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole runs of scenarios with carbon, power and time: figures that two runs, or two outputs of a run, must agree on.
 */

#include "harness.h"

#include "base/random.h"
#include "headroom/headroom.h"
#include "headroom/unstable/replay.h"
#include "output_files.h"

#include <stdarg.h>
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

struct run {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_replay replay;
};

/* Runs s.json with jobs.csv. `timeline_path` may be NULL. */
static void start(struct run *run, const char *timeline_path) {
  struct hr_error error = {0};
  struct hr_timeline *timeline = NULL;
  *run = (struct run){0};
  if (hr_scenario_load(files_path("s.json"), NULL, 0, &run->scenario, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run->scenario);
  const struct hr_trace_options options = {.format = "csv"};
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(files_path("jobs.csv"), &options, &run->trace, &error), HR_OK);
  const struct hr_replay_config config = {.scenario = run->scenario, .trace = run->trace, .seed = 1, .check = true};
  CU_ASSERT_EQUAL_FATAL(hr_replay_init(&run->replay, &config, &error), HR_OK);
  if (timeline_path) {
    const struct hr_timeline_columns columns = {.power = true};
    CU_ASSERT_EQUAL_FATAL(hr_timeline_create_with(timeline_path, run->trace, NULL, &columns, &timeline, &error), HR_OK);
    CU_ASSERT_EQUAL_FATAL(hr_replay_add(&run->replay, hr_timeline_observer(timeline), &error), HR_OK);
  }
  if (hr_replay_run(&run->replay, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(run->replay.summary);
  if (timeline) CU_ASSERT_EQUAL(hr_timeline_finish(timeline, &error), HR_OK);
  hr_timeline_destroy(timeline);
}

static void finish(struct run *run) {
  hr_replay_finish(&run->replay);
  hr_trace_destroy(run->trace);
  hr_scenario_destroy(run->scenario);
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

/* Sets the carbon of jobs, and the same relative to no wait as the run reports it. */
static void run_rule(const char *rule, double *kg, double *of_no_wait) {
  struct run run;
  FILE *file = file_named("s.json");
  fprintf(file,
          "{\"cluster\":{\"carbon\":{\"file\":\"g.csv\"},\"power\":{\"gpu_max_w\":400},\"pools\":[{\"name\":\"p\","
          "\"gpu\":\"X\",\"nodes\":12,\"gpus_per_node\":8}]},\"classes\":{\"training\":{\"restart_s\":300,"
          "\"checkpoint\":{\"policy\":\"interval\",\"interval_s\":900,\"write_s\":30}}},\"policy\":{\"name\":\"queue\","
          "\"backfill\":\"skip\",\"carbon_wait_s\":30000,\"carbon_short_wait_s\":30000,\"carbon\":\"%s\"}}",
          rule);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
  start(&run, NULL);
  *kg = run.replay.summary->carbon.jobs.operational_kg;
  *of_no_wait = run.replay.summary->carbon.of_no_wait;
  finish(&run);
}

/* If no job waits for GPUs, the reported ratio is that of two runs, although jobs restart after interruptions. */
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

TEST_MAIN("electricity of whole runs", TEST(carbon_relative_to_no_wait))
