/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A streamed run is the run in memory: the same jobs start at the same times in the same places, under each policy that
   can be streamed, over random traces of several blocks of jobs; figures are equal, but for quantiles, which are near.
 */

#include "harness.h"
#include "headroom/headroom.h"
#include "queue_choice.h"
#include "schema_check.h"
#include "sim/philox.h"
#include "traces/files.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

enum { JOBS = 9500 }; /* more than two blocks, none of them full at the end */

static const char *const orders[] = {"fifo", "sjf", "smallest", "largest", "priority", "edf", "f1"};
static const char *const backfills[] = {"strict", "skip"};
static const char *const placements[] = {"first-fit", "best-fit", "worst-fit", "pool"};

/* ---- Traces ----------------------------------------------------------------------------------------- */

/* Near the cluster's capacity, with crowds at one instant, jobs that fit nowhere, jobs that take no time, and a few
   that run through all of it. */
static struct hr_job_record random_job(struct hr__stream *draws, uint32_t job, int64_t submit_us) {
  static const char *const users[] = {"ann", "bob", "eve"};
  struct hr_job_record record;
  hr_job_record_init(&record);
  uint64_t draw = hr__stream_next(draws);
  record.submit_us = submit_us;
  record.work_us = draw % 40 ? (int64_t)(draw % 97 * 1000) : 0;
  if (job % 3001 == 17) record.work_us = INT64_C(400000000);
  record.gpus = (uint32_t)(1 + draw / 97 % 9);
  if (draw / 1000 % 211 == 0) record.gpus = 999;
  record.priority = (int32_t)(draw / 7 % 4);
  record.limit_us = record.work_us + (int64_t)(draw / 31 % 5000);
  if (draw % 5) record.deadline_us = submit_us + record.work_us + (int64_t)(draw / 11 % 100000);
  record.outcome = (uint8_t)(draw / 13 % HR_N_OUTCOMES);
  record.user = (struct hr_text){users[draw / 17 % 3], 3};
  return record;
}

static struct hr_trace *random_trace(uint64_t seed) {
  struct hr_trace_builder *builder = hr_trace_builder_create("random", "memory");
  struct hr__stream draws;
  struct hr_trace *trace = NULL;
  int64_t submit_us = 0;
  hr__stream_init(&draws, seed, HR__PURPOSE_ARRIVAL, 0, 0);
  for (uint32_t job = 0; job < JOBS; job++) {
    uint64_t draw = hr__stream_next(&draws);
    if (draw % 4) submit_us += (int64_t)(draw % 15500);
    struct hr_job_record record = random_job(&draws, job, submit_us);
    CU_ASSERT_EQUAL_FATAL(hr_trace_builder_add(builder, &record, job + 1, NULL), HR_OK);
  }
  CU_ASSERT_EQUAL_FATAL(hr_trace_builder_finish(builder, false, false, &trace, NULL), HR_OK);
  hr_trace_builder_destroy(builder);
  return trace;
}

/* The same as a file that is streamed. */
static struct hr_trace *streamed_trace(const struct hr_trace *trace) {
  char path[200];
  struct hr_error error;
  snprintf(path, sizeof path, "%s", file_path("random.hrt"));
  CU_ASSERT_EQUAL_FATAL(hr_trace_pack(trace, path, NULL, &error), HR_OK);
  struct hr_trace *streamed = trace_at(path, &(struct hr_trace_options){.streamed = true});
  CU_ASSERT_PTR_NOT_NULL_FATAL(streamed);
  CU_ASSERT_TRUE(streamed->mapped);
  return streamed;
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

/* When and where each job started, in the test's own columns. */
struct starts {
  int64_t at_us[JOBS];
  uint32_t node[JOBS]; /* of its first GPUs; its pool where nodes do not matter */
  uint32_t count;
};

static void note_start(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct starts *starts = self;
  (void)view;
  if (event->kind != HR_EVENT_START) return;
  starts->at_us[event->job.id] = event->at_us;
  starts->node[event->job.id] =
      event->placement->n_slices ? event->placement->slices[0].node.id : event->placement->pool.id;
  starts->count++;
}

static struct starts in_memory, streamed;

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

static struct hr_summary *run_in_memory(const struct hr_run_config *base) {
  struct hr_run_config config = *base;
  struct hr_usage *usage = hr_usage_create(config.trace);
  struct hr_result *result;
  struct hr_summary *summary;
  struct hr_error error;
  memset(&in_memory, 0, sizeof in_memory);
  const struct hr_fold folds[] = {hr_usage_fold(usage), {.self = &in_memory, .on_event = note_start}};
  config.folds = folds;
  config.n_folds = 2;
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_summarize(config.trace, config.cluster, result, usage, NULL, &summary, &error), HR_OK);
  hr_result_destroy(result);
  hr_usage_destroy(usage);
  return summary;
}

static struct hr_streamed_figures run_streamed(const struct hr_run_config *base) {
  struct hr_run_config config = *base;
  struct hr_streamed *figures = hr_streamed_create(config.trace);
  struct hr_result *result;
  struct hr_error error;
  memset(&streamed, 0, sizeof streamed);
  const struct hr_fold folds[] = {hr_streamed_fold(figures), {.self = &streamed, .on_event = note_start}};
  config.folds = folds;
  config.n_folds = 2;
  config.stream = true;
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  CU_ASSERT_PTR_NULL(result->state);
  CU_ASSERT_PTR_NULL(result->start_us);
  CU_ASSERT_EQUAL(result->n_jobs, 0);
  struct hr_streamed_figures found = hr_streamed_close(figures, config.cluster, result);
  hr_result_destroy(result);
  hr_streamed_destroy(figures);
  return found;
}

/* ---- What must be the same -------------------------------------------------------------------------- */

static bool is_near(double found, double exact) {
  return fabs(found - exact) <= exact / 256 * 1.000001 + 1e-6;
}

/* Means and the maximum are exact, of slowdowns to a millionth. */
static void assert_like(const struct hr_distribution *found, const struct hr_distribution *exact, double off) {
  CU_ASSERT_EQUAL(found->count, exact->count);
  CU_ASSERT_DOUBLE_EQUAL(found->mean, exact->mean, off + 1e-12 * exact->mean);
  CU_ASSERT_DOUBLE_EQUAL(found->max, exact->max, off);
  CU_ASSERT_TRUE(is_near(found->p50, exact->p50) && is_near(found->p90, exact->p90));
  CU_ASSERT_TRUE(is_near(found->p95, exact->p95) && is_near(found->p99, exact->p99));
}

static void assert_figures(const struct hr_streamed_figures *found, const struct hr_summary *exact) {
  CU_ASSERT_EQUAL(found->digest, exact->digest);
  CU_ASSERT_EQUAL(found->jobs_submitted, exact->jobs_submitted);
  CU_ASSERT_EQUAL(found->jobs_completed, exact->jobs_completed);
  CU_ASSERT_EQUAL(found->jobs_rejected, exact->jobs_rejected);
  CU_ASSERT_EQUAL(found->jobs_unfinished, exact->jobs_unfinished);
  CU_ASSERT_EQUAL(found->jobs_backfilled, exact->jobs_backfilled);
  CU_ASSERT_EQUAL(found->outcome_failed, exact->outcome_failed);
  CU_ASSERT_EQUAL(found->outcome_cancelled, exact->outcome_cancelled);
  assert_like(&found->wait_s, &exact->wait_s, 0);
  assert_like(&found->jct_s, &exact->jct_s, 0);
  assert_like(&found->slowdown, &exact->slowdown, 1e-6);
  CU_ASSERT_EQUAL(found->makespan_s, exact->makespan_s);
  CU_ASSERT_EQUAL(found->submit_window_s, exact->submit_window_s);
  CU_ASSERT_EQUAL(found->utilization_makespan, exact->utilization_makespan);
  CU_ASSERT_EQUAL(found->utilization_submit_window, exact->utilization_submit_window);
  CU_ASSERT_DOUBLE_EQUAL(found->gpu_hours, exact->gpu_hours, 1e-9 * exact->gpu_hours);
  CU_ASSERT_EQUAL(found->queue_mean, exact->queue_mean);
  CU_ASSERT_EQUAL(found->queue_max, exact->queue_max);
  CU_ASSERT_EQUAL(found->n_events, exact->n_events);
  CU_ASSERT_EQUAL(found->n_passes, exact->n_passes);
}

static void assert_same_run(const struct hr_trace *trace, const struct hr_trace *mapped,
                            const struct hr_policy_choice *policy, int64_t horizon_us) {
  struct hr_cluster_spec cluster = two_pools();
  struct hr_run_config config = config_of(trace, &cluster, policy, horizon_us);
  struct hr_summary *summary = run_in_memory(&config);
  config.trace = mapped;
  struct hr_streamed_figures figures = run_streamed(&config);
  assert_figures(&figures, summary);
  CU_ASSERT_TRUE(in_memory.count > JOBS / 10);
  CU_ASSERT_EQUAL(in_memory.count, streamed.count);
  CU_ASSERT_EQUAL(memcmp(in_memory.at_us, streamed.at_us, sizeof streamed.at_us), 0);
  CU_ASSERT_EQUAL(memcmp(in_memory.node, streamed.node, sizeof streamed.node), 0);
  hr_summary_destroy(summary);
}

static void each_policy(void) {
  struct hr_trace *trace = random_trace(11), *mapped = streamed_trace(trace);
  for (size_t o = 0; o < sizeof orders / sizeof *orders; o++)
    for (size_t b = 0; b < sizeof backfills / sizeof *backfills; b++) {
      const size_t n_placements = sizeof placements / sizeof *placements;
      struct hr_policy_choice policy = queue_choice(backfills[b], placements[(2 * o + b) % n_placements]);
      queue_set(&policy, "order", orders[o]);
      queue_set_number(&policy, "aging_s", 7.0 * (double)b); /* of priorities */
      assert_same_run(trace, mapped, &policy, HR_NEVER_US);
      hr_policy_choice_finish(&policy);
    }
  hr_trace_destroy(trace);
  hr_trace_destroy(mapped);
}

static void each_placement(void) {
  struct hr_trace *trace = random_trace(12), *mapped = streamed_trace(trace);
  for (size_t p = 0; p < sizeof placements / sizeof *placements; p++) {
    struct hr_policy_choice policy = queue_choice("strict", placements[p]);
    assert_same_run(trace, mapped, &policy, HR_NEVER_US);
    hr_policy_choice_finish(&policy);
  }
  hr_trace_destroy(trace);
  hr_trace_destroy(mapped);
}

static void horizons(void) {
  struct hr_trace *trace = random_trace(13), *mapped = streamed_trace(trace);
  const int64_t horizons_us[] = {trace->submit_us[JOBS / 2], trace->submit_us[JOBS - 1] + 1, INT64_C(300000000)};
  for (size_t i = 0; i < sizeof horizons_us / sizeof *horizons_us; i++) {
    struct hr_policy_choice policy = queue_choice("skip", "best-fit");
    assert_same_run(trace, mapped, &policy, horizons_us[i]);
    hr_policy_choice_finish(&policy);
  }
  hr_trace_destroy(trace);
  hr_trace_destroy(mapped);
}

/* ---- As JSON ---------------------------------------------------------------------------------------- */

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

static void fits_its_schema(const struct hr_trace *trace, const struct hr_streamed_figures *figures) {
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
  cJSON *tree = json_at(path), *schema = json_at(PROJECT_DIR "/docs/streamed.schema.json");
  const cJSON *key;
  CU_ASSERT_TRUE(schema_fits(schema, tree, "streamed"));
  cJSON_ArrayForEach(key, schema_get(schema, "properties")) {
    CU_ASSERT_TRUE(schema_lists(schema_get(schema, "required"), key->string));
  }
  cJSON_AddNumberToObject(tree, "extra", 0);
  CU_ASSERT_FALSE(schema_fits(schema, tree, "on purpose"));
  cJSON_Delete(tree);
  cJSON_Delete(schema);
  hr_policy_choice_finish(&policy);
}

/* Also where nothing happened at all. */
static void json(void) {
  struct hr_trace *trace = random_trace(14), *mapped = streamed_trace(trace);
  struct hr_cluster_spec cluster = two_pools();
  struct hr_policy_choice policy = queue_choice("strict", "pool");
  struct hr_run_config config = config_of(mapped, &cluster, &policy, HR_NEVER_US);
  struct hr_streamed_figures figures = run_streamed(&config), nothing = {0};
  fits_its_schema(mapped, &figures);
  fits_its_schema(mapped, &nothing);
  hr_policy_choice_finish(&policy);
  hr_trace_destroy(trace);
  hr_trace_destroy(mapped);
}

TEST_MAIN("streamed", TEST(each_policy), TEST(each_placement), TEST(horizons), TEST(json))
