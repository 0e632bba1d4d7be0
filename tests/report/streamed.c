/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A streamed run equals the run in memory: all jobs start at the same times and on the same nodes. This is checked for
   orders, backfills and placements of the queue, for random traces of several blocks of jobs. Metrics must be equal up
   to rounding, and quantiles must be near. */

#include "base/random.h"
#include "harness.h"
#include "headroom/headroom.h"
#include "headroom/unstable/metrics.h"
#include "queue_choice.h"
#include "report/streamed_runs.h"
#include "schema_check.h"
#include "trace_files.h"

#include <cjson/cJSON.h>
#include <string.h>

enum { JOBS = 9500 }; /* more than two blocks; the last block is not full */

static const char *const orders[] = {"fifo", "sjf",  "smallest",   "largest", "priority", "edf",     "f1",
                                     "qssf", "srtf", "fair-share", "drf",     "las",      "gittins", "multifactor"};
static const char *const backfills[] = {"strict", "skip", "easy"};
static const char *const placements[] = {"first-fit", "best-fit", "worst-fit", "pool"};

/* ---- Traces ----------------------------------------------------------------------------------------- */

/* Draws a job. The load is near the capacity of the cluster. Some jobs have the same submit time, some fit nowhere, and
   some have a run time of 0. One job runs until the end of the run, so that its block remains in memory long after the
   previous block was released. */
static struct hr_job_record random_job(struct hr__stream *draws, uint32_t job, int64_t submit_us) {
  static const char *const users[] = {"ann", "bob", "eve"};
  struct hr_job_record record;
  hr_job_record_init(&record);
  uint64_t draw = hr__stream_next(draws);
  record.submit_us = submit_us;
  record.work_us = draw % 40 ? (int64_t)(draw % 97 * 1000) : 0;
  if (job == 5017) record.work_us = INT64_C(400000000);
  record.gpus = (uint32_t)(1 + draw / 97 % 9);
  if (draw / 1000 % 211 == 0) record.gpus = 999;
  record.priority = (int32_t)(draw / 7 % 4);
  record.limit_us = record.work_us + (int64_t)(draw / 31 % 5000);
  if (draw % 5) record.deadline_us = submit_us + record.work_us + (int64_t)(draw / 11 % 100000);
  record.outcome = (uint8_t)(draw / 13 % HR_N_OUTCOMES);
  record.user = (struct hr_text){users[draw / 17 % 3], 3};
  return record;
}

/* If `slowness` is 1, the load is about the capacity of the cluster. If it is 2, the load is half of that. */
static struct hr_trace *random_trace_at(uint64_t seed, int64_t slowness) {
  struct hr_trace_builder *builder = hr_trace_builder_create("random", "memory");
  struct hr__stream draws;
  struct hr_trace *trace = NULL;
  int64_t submit_us = 0;
  hr__stream_init(&draws, seed, HR__PURPOSE_ARRIVAL, 0, 0);
  for (uint32_t job = 0; job < JOBS; job++) {
    uint64_t draw = hr__stream_next(&draws);
    if (draw % 4) submit_us += slowness * (int64_t)(draw % 15500);
    struct hr_job_record record = random_job(&draws, job, submit_us);
    CU_ASSERT_EQUAL_FATAL(hr_trace_builder_add(builder, &record, job + 1, NULL), HR_OK);
  }
  CU_ASSERT_EQUAL_FATAL(hr_trace_builder_finish(builder, false, false, &trace, NULL), HR_OK);
  hr_trace_builder_destroy(builder);
  return trace;
}

static struct hr_trace *random_trace(uint64_t seed) {
  return random_trace_at(seed, 1);
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

static struct hr_cluster_spec two_pools(void) {
  static char names[2][2] = {"a", "b"}, gpu[] = "T4";
  static struct hr_pool_spec pools[2];
  pools[0] = (struct hr_pool_spec){.name = names[0], .gpu = gpu, .nodes = 3, .gpus_per_node = 8};
  pools[1] = (struct hr_pool_spec){.name = names[1], .gpu = gpu, .nodes = 4, .gpus_per_node = 2};
  return (struct hr_cluster_spec){.pools = pools, .n_pools = 2};
}

static struct hr_run_config config_of(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                      const struct hr_policy_choice *policy, int64_t horizon_us) {
  return (struct hr_run_config){.trace = trace,
                                .cluster = cluster,
                                .policy = policy->ops,
                                .params = policy->params,
                                .seed = 1,
                                .horizon_us = horizon_us};
}

static void assert_same(const struct hr_trace *trace, const struct hr_trace *mapped,
                        const struct hr_policy_choice *policy, int64_t horizon_us) {
  struct hr_cluster_spec cluster = two_pools();
  struct hr_run_config config = config_of(trace, &cluster, policy, horizon_us);
  (void)assert_same_run(&config, mapped, NULL);
}

static void policies(void) {
  struct hr_trace *trace = random_trace(11), *mapped = streamed_trace(trace);
  for (size_t o = 0; o < sizeof orders / sizeof *orders; o++)
    for (size_t b = 0; b < sizeof backfills / sizeof *backfills; b++) {
      const size_t n_placements = sizeof placements / sizeof *placements;
      struct hr_policy_choice policy = queue_choice(backfills[b], placements[(2 * o + b) % n_placements]);
      queue_set(&policy, "order", orders[o]);
      queue_set_number(&policy, "aging_s", 7.0 * (double)b); /* aging of priorities */
      assert_same(trace, mapped, &policy, HR_NEVER_US);
      hr_policy_choice_finish(&policy);
    }
  hr_trace_destroy(trace);
  hr_trace_destroy(mapped);
}

/* With conservative backfill, long queues take long to simulate, so this test uses a trace with half the load. */
static void conservative_backfill(void) {
  static const char *const some[] = {"fifo", "sjf", "fair-share", "multifactor"};
  struct hr_trace *trace = random_trace_at(15, 2), *mapped = streamed_trace(trace);
  for (size_t o = 0; o < sizeof some / sizeof *some; o++) {
    struct hr_policy_choice policy = queue_choice("conservative", placements[o]);
    queue_set(&policy, "order", some[o]);
    assert_same(trace, mapped, &policy, HR_NEVER_US);
    hr_policy_choice_finish(&policy);
  }
  hr_trace_destroy(trace);
  hr_trace_destroy(mapped);
}

static void placement_rules(void) {
  struct hr_trace *trace = random_trace(12), *mapped = streamed_trace(trace);
  for (size_t p = 0; p < sizeof placements / sizeof *placements; p++) {
    struct hr_policy_choice policy = queue_choice("strict", placements[p]);
    assert_same(trace, mapped, &policy, HR_NEVER_US);
    hr_policy_choice_finish(&policy);
  }
  hr_trace_destroy(trace);
  hr_trace_destroy(mapped);
}

static void runs_with_horizon(void) {
  struct hr_trace *trace = random_trace(13), *mapped = streamed_trace(trace);
  const int64_t horizons_us[] = {trace->submit_us[JOBS / 2], trace->submit_us[JOBS - 1] + 1, INT64_C(300000000)};
  for (size_t i = 0; i < sizeof horizons_us / sizeof *horizons_us; i++) {
    struct hr_policy_choice policy = queue_choice("skip", "best-fit");
    assert_same(trace, mapped, &policy, horizons_us[i]);
    hr_policy_choice_finish(&policy);
  }
  hr_trace_destroy(trace);
  hr_trace_destroy(mapped);
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static cJSON *json_at(const char *path) {
  FILE *file = fopen(path, "rb");
  static char text[1 << 16];
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  cJSON *tree = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  return tree;
}

/* Returns whether a key exists only in some runs, for example in runs with prices. */
static bool is_of_some_runs(const char *key) {
  static const char *const keys[] = {"cost",   "budgets", "goodput", "spot",    "oom_kills", "faults", "maintenance",
                                     "energy", "carbon",  "data",    "elastic", "scaling",   "battery"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp(keys[i], key) == 0) return true;
  return false;
}

static void fits_its_schema(const struct hr_trace *trace, const struct hr_summary *figures) {
  struct hr_cluster_spec cluster = two_pools();
  struct hr_policy_choice policy = queue_choice("strict", "pool");
  const struct hr_notes *notes[] = {&trace->notes};
  struct hr_skipped_rows skipped = {(char *)"no gpus", 3, 17};
  const struct hr_run_label label = {.trace = trace->source,
                                     .format = trace->format,
                                     .cluster = &cluster,
                                     .policy = &policy,
                                     .seed = UINT64_MAX,
                                     .notes = notes,
                                     .n_notes = 1,
                                     .skipped = &skipped,
                                     .n_skipped_reasons = 1};
  char path[200];
  snprintf(path, sizeof path, "%s", file_path("streamed.json"));
  CU_ASSERT_EQUAL_FATAL(hr_streamed_write_json(path, figures, &label, &(struct hr_perf){1, 1, 1}, NULL), HR_OK);
  cJSON *tree = json_at(path), *schema = json_at(PROJECT_DIR "/docs/reference/schemas/streamed.schema.json");
  const cJSON *key;
  CU_ASSERT_TRUE(schema_fits(schema, tree, "streamed"));
  cJSON_ArrayForEach(key, schema_get(schema, "properties")) {
    CU_ASSERT_EQUAL(schema_lists(schema_get(schema, "required"), key->string), !is_of_some_runs(key->string));
  }
  cJSON_AddNumberToObject(tree, "extra", 0);
  CU_ASSERT_FALSE(schema_fits(schema, tree, "on purpose"));
  cJSON_Delete(tree);
  cJSON_Delete(schema);
  hr_policy_choice_finish(&policy);
}

/* The JSON of a streamed run has the keys that its schema requires, even if the run has no events. */
static void json_has_equal_keys(void) {
  struct hr_trace *trace = random_trace(14), *mapped = streamed_trace(trace);
  struct hr_cluster_spec cluster = two_pools();
  struct hr_policy_choice policy = queue_choice("strict", "pool");
  struct hr_run_config config = config_of(mapped, &cluster, &policy, HR_NEVER_US);
  struct hr_notes notes = {0};
  struct hr_summary figures = streamed_figures(&config, NULL, &notes), nothing = {0};
  hr_notes_finish(&notes);
  fits_its_schema(mapped, &figures);
  fits_its_schema(mapped, &nothing);
  struct hr_cost_summary costs = {.saving_vs_on_demand = 0.5};
  figures.costs = &costs;
  figures.stoppable = figures.oom.known = true;
  fits_its_schema(mapped, &figures);
  hr_policy_choice_finish(&policy);
  hr_trace_destroy(trace);
  hr_trace_destroy(mapped);
}

TEST_MAIN("streamed", TEST(policies), TEST(conservative_backfill), TEST(placement_rules), TEST(runs_with_horizon),
          TEST(json_has_equal_keys))
