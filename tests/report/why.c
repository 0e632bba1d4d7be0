/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output of `headroom why`: JSON that conforms to its schema, tables of 80 columns, sums, migrations, failed
   allocations, and write errors. */

#include "harness.h"
#include "headroom/headroom.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/replay.h"
#include "output_files.h"
#include "scarce_memory.h"
#include "schema_check.h"

#include <cjson/cJSON.h>
#include <string.h>

/* The tests use the first jobs of scenarios/demo.json. */
enum { JOBS = 300, WATCHED = 250 };

static struct hr_scenario *scenario;
static struct hr_trace *trace;
static struct hr_result *result;
static struct hr_waits *waits;
static struct hr_history *history;
static struct hr_why why;

static enum hr_status follow(void) {
  struct hr_error error;
  hr_job watched = {WATCHED};
  struct hr_waits_config config = {.trace = trace, .watched = &watched, .n_watched = 1};
  waits = hr_waits_create(&config);
  history = hr_history_create(trace);
  if (!waits || !history) return HR_NO_MEMORY;
  struct hr_observer observers[] = {hr_waits_observer(waits), hr_history_observer(history)};
  struct hr_run_config run = {.trace = trace,
                              .cluster = &scenario->cluster,
                              .policy = scenario->policy.ops,
                              .params = scenario->policy.params,
                              .horizon_us = HR_NEVER_US,
                              .observers = observers,
                              .n_observers = 2};
  enum hr_status status = hr_sim_run(&run, &result, &error);
  if (status == HR_OK) status = hr_waits_close(waits, result);
  return status == HR_OK ? hr_history_close(history, result) : status;
}

static void free_run(void) {
  hr_waits_destroy(waits);
  hr_history_destroy(history);
  hr_result_destroy(result);
  waits = NULL;
  history = NULL;
  result = NULL;
}

static void prepare(void) {
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(PROJECT_DIR "/scenarios/demo.json", NULL, 0, &scenario, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(scenario->trace_file, NULL, &trace, &error), HR_OK);
  trace->n_jobs = JOBS;
  CU_ASSERT_EQUAL_FATAL(follow(), HR_OK);
  CU_ASSERT_TRUE(files_only(NULL)); /* create the folder before allocations fail */
  why = (struct hr_why){.scenario = scenario->name,
                        .trace = trace,
                        .cluster = &scenario->cluster,
                        .policy = &scenario->policy,
                        .result = result,
                        .waits = waits,
                        .history = history};
}

static void finish(void) {
  free_run();
  trace->n_jobs = 2000;
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

static const struct hr_why_question of_job = {.job = {WATCHED}}, of_all = {.job = {HR_NONE}, .slowest = 3},
                                    of_one = {.job = {HR_NONE}, .of_tenant = true, .tenant = 1, .slowest = 2},
                                    of_none = {.job = {HR_NONE}, .of_tenant = true, .tenant = HR_NONE};
static const struct hr_why_question *const questions[] = {&of_job, &of_all, &of_one, &of_none};
enum { N_QUESTIONS = sizeof questions / sizeof *questions };

/* ---- JSON ------------------------------------------------------------------------------------------- */

static cJSON *read_json(const char *path) {
  char *text = files_read(path);
  cJSON *json = cJSON_Parse(text);
  free(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(json);
  return json;
}

static void json_conforms_to_schema(void) {
  struct hr_error error;
  prepare();
  cJSON *schema = read_json(PROJECT_DIR "/docs/reference/schemas/why.schema.json");
  for (size_t i = 0; i < N_QUESTIONS; i++) {
    CU_ASSERT_EQUAL(hr_why_write_json(files_path("why.json"), &why, questions[i], &error), HR_OK);
    cJSON *json = read_json(files_path("why.json"));
    CU_ASSERT_TRUE(schema_fits(schema, json, "why"));
    cJSON_Delete(json);
  }
  remove(files_path("why.json"));
  cJSON_Delete(schema);
  finish();
}

/* Returns the sum of the values of `key` in all rows of a list. */
static double sum_of(const cJSON *list, const char *key) {
  double sum = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) sum += cJSON_GetObjectItem(item, key)->valuedouble;
  return sum;
}

static void rows_sum_to_total(void) {
  struct hr_error error;
  const struct hr_wait *all;
  prepare();
  double wait_s = 0;
  size_t count = hr_waits_all(waits, &all);
  for (size_t i = 0; i < count; i++) wait_s += (double)(all[i].end_us - all[i].begin_us) / 1e6;
  CU_ASSERT(count > 10);
  CU_ASSERT_EQUAL(hr_why_write_json(files_path("why.json"), &why, &of_all, &error), HR_OK);
  cJSON *json = read_json(files_path("why.json"));
  const cJSON *waited = cJSON_GetObjectItem(json, "waited");
  const cJSON *lists[] = {cJSON_GetObjectItem(waited, "reasons"), cJSON_GetObjectItem(json, "by_tenant"),
                          cJSON_GetObjectItem(json, "by_size")};
  double gpu_hours = cJSON_GetObjectItem(waited, "gpu_hours")->valuedouble;
  CU_ASSERT_DOUBLE_EQUAL(cJSON_GetObjectItem(waited, "wait_s")->valuedouble, wait_s, 1e-3);
  for (size_t i = 0; i < 3; i++) {
    CU_ASSERT_DOUBLE_EQUAL(sum_of(lists[i], "wait_s"), wait_s, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(sum_of(lists[i], "gpu_hours"), gpu_hours, 1e-3);
  }
  cJSON_Delete(json);
  remove(files_path("why.json"));
  finish();
}

static void write_error_is_returned(void) {
  struct hr_error error;
  prepare();
  CU_ASSERT_EQUAL(hr_why_write_json("/dev/full", &why, &of_all, &error), HR_IO_ERROR);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/dev/full"));
  FILE *full = fopen("/dev/full", "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(full);
  setvbuf(full, NULL, _IONBF, 0);
  CU_ASSERT_EQUAL(hr_why_print(full, &why, &of_all, false), HR_IO_ERROR);
  CU_ASSERT_EQUAL(hr_why_print(full, &why, &of_job, false), HR_IO_ERROR);
  fclose(full);
  finish();
}

/* ---- Migrations ------------------------------------------------------------------------------------- */

/* Whether the output for a job contains `words`. */
static bool contains(const struct hr_why *answers, hr_job job, const char *words) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  CU_ASSERT_EQUAL(hr_why_print(out, answers, &(struct hr_why_question){.job = job}, false), HR_OK);
  fclose(out);
  bool found = strstr(text, words);
  free(text);
  return found;
}

/* Returns the first job of scenarios/agency.json that migrates back to spot nodes. */
static hr_job first_migrated(void) {
  const struct hr_attempt *attempts;
  size_t count = hr_history_attempts(history, &attempts);
  for (size_t i = 0; i < count; i++)
    if (attempts[i].end == HR_ATTEMPT_PREEMPTED && attempts[i].end_reason == HR_REASON_POLICY) return attempts[i].job;
  return (hr_job){HR_NONE};
}

static void migrations_to_cheaper_nodes_are_described(void) {
  struct hr_error error;
  struct hr_replay replay;
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(PROJECT_DIR "/scenarios/agency.json", NULL, 0, &scenario, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(scenario->trace_file, NULL, &trace, &error), HR_OK);
  const struct hr_replay_config config = {.scenario = scenario, .trace = trace, .seed = scenario->seed};
  CU_ASSERT_EQUAL_FATAL(hr_replay_init(&replay, &config, &error), HR_OK);
  waits = hr_waits_create(&(struct hr_waits_config){.trace = trace});
  history = hr_history_create(trace);
  CU_ASSERT_EQUAL_FATAL(hr_replay_add(&replay, hr_waits_observer(waits), &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_replay_add(&replay, hr_history_observer(history), &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_replay_run(&replay, &error), HR_OK);
  CU_ASSERT_EQUAL(hr_waits_close(waits, replay.result), HR_OK);
  CU_ASSERT_EQUAL(hr_history_close(history, replay.result), HR_OK);
  const struct hr_why answers = {.trace = trace,
                                 .cluster = &scenario->cluster,
                                 .policy = &scenario->policy,
                                 .result = replay.result,
                                 .waits = waits,
                                 .history = history};
  hr_job job = first_migrated();
  CU_ASSERT_TRUE(contains(&answers, job, "migrated by the policy") && contains(&answers, job, "cheaper spot"));
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) scenario->cluster.pools[i].market.price_uusd_h = 1;
  CU_ASSERT_TRUE(contains(&answers, job, "migrated by the policy") && !contains(&answers, job, "cheaper spot"));
  hr_replay_finish(&replay);
  free_run();
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

/* ---- Failed allocations ----------------------------------------------------------------------------- */

static enum hr_status follow_and_free(void) {
  enum hr_status status = follow();
  free_run();
  return status;
}

static const struct hr_why_question *asked;

static enum hr_status print(void) {
  FILE *out = fopen("/dev/null", "w");
  if (!out) return HR_NO_MEMORY;
  enum hr_status status = hr_why_print(out, &why, asked, true);
  fclose(out);
  return status;
}

static enum hr_status write_json(void) {
  struct hr_error error;
  enum hr_status status = hr_why_write_json(files_path("why.json"), &why, asked, &error);
  CU_ASSERT(status == HR_OK || files_only(NULL));
  if (status == HR_OK) remove(files_path("why.json"));
  return status;
}

static void output_without_memory(void) {
  prepare();
  cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
  for (size_t i = 0; i < N_QUESTIONS; i++) {
    asked = questions[i];
    CU_ASSERT(starve(print) > 2);
    CU_ASSERT(starve(write_json) > 10);
  }
  cJSON_InitHooks(NULL);
  free_run();
  CU_ASSERT(starve(follow_and_free) > 10);
  CU_ASSERT_EQUAL(follow(), HR_OK);
  finish();
}

TEST_MAIN("report: why", TEST(json_conforms_to_schema), TEST(rows_sum_to_total), TEST(write_error_is_returned),
          TEST(migrations_to_cheaper_nodes_are_described), TEST(output_without_memory))
