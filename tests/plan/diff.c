/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Diffs of two scenarios: waits by queue and the first difference are computed a second time from the results of both
   runs; the JSON fits its schema. */

#include "harness.h"

#include "headroom/headroom.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/replay.h"
#include "output_files.h"
#include "plan/compare/compare.h"
#include "schema_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS = 60, QUEUES = 4, WORLDS = 40 };

static unsigned draw(unsigned *state, unsigned below) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % below;
}

static void put_jobs(unsigned *state) {
  FILE *file = fopen(files_path("jobs.csv"), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs("submit_s,duration_s,gpus,tenant,queue\n", file);
  for (unsigned i = 0, at = 0; i < JOBS; i++) {
    unsigned queue = draw(state, QUEUES);
    at += draw(state, 40);
    fprintf(file, "%u,%u,%u,t,", at, 1 + draw(state, 300), 1 + draw(state, 4));
    if (queue) fprintf(file, "q%u", queue);
    fputc('\n', file);
  }
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

struct side {
  struct hr_scenario *scenario;
  struct hr_replay replay;
};

static void load(struct side *side, const char *name, unsigned nodes, const char *backfill,
                 const struct hr_trace *trace) {
  struct hr_error error = {0};
  FILE *file = fopen(files_path(name), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fprintf(
      file,
      "{\"name\":\"t\",\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"V100\",\"nodes\":%u,\"gpus_per_node\":4}]},"
      "\"policy\":{\"name\":\"queue\",\"backfill\":\"%s\"}}",
      nodes, backfill);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(files_path(name), NULL, 0, &side->scenario, &error), HR_OK);
  const struct hr_replay_config config = {.scenario = side->scenario, .trace = trace, .seed = 1};
  CU_ASSERT_EQUAL_FATAL(hr_replay_init(&side->replay, &config, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_replay_run(&side->replay, &error), HR_OK);
}

static void finish(struct side *side) {
  hr_replay_finish(&side->replay);
  hr_scenario_destroy(side->scenario);
}

static struct hr_diff *diff_of(struct side *sides, const struct hr_trace *trace, uint32_t n_threads) {
  struct hr_diff *diff = NULL;
  struct hr_error error = {0};
  const struct hr_diff_config config = {.sides = {{.label = "a", .scenario = sides[0].scenario, .trace = trace},
                                                  {.label = "b", .scenario = sides[1].scenario, .trace = trace}},
                                        .seed = 1,
                                        .n_threads = n_threads};
  if (hr_diff(&config, &diff, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(diff);
  return diff;
}

/* ---- A second computation --------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Compares a queue with the waits of its jobs, listed one by one. */
static void check_queue(const struct hr__diff_queue *queue, unsigned side, const struct hr_result *result) {
  const struct hr_trace *trace = result->trace;
  double waits[JOBS], sum = 0;
  size_t count = 0;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    const char *name = trace->queue[job] == HR_NONE ? "" : trace->queues.text[trace->queue[job]];
    if (strcmp(name, queue->name) != 0) continue;
    waits[count] = (double)(result->start_us[job] - trace->submit_us[job]) / 1e6;
    sum += waits[count++];
  }
  CU_ASSERT_EQUAL(queue->jobs[side], count);
  CU_ASSERT_EQUAL_FATAL(queue->wait_s[side].count, count);
  qsort(waits, count, sizeof *waits, by_value);
  double at = 0.5 * (double)(count - 1);
  size_t low = (size_t)at, high = low + 1 < count ? low + 1 : low;
  CU_ASSERT_DOUBLE_EQUAL(queue->wait_s[side].mean, sum / (double)count, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL(queue->wait_s[side].p50, waits[low] + (at - (double)low) * (waits[high] - waits[low]), 1e-6);
}

/* The earliest start that only one run has; HR_NEVER_US: all starts are equal. Jobs of these worlds are never stopped.
 */
static int64_t first_difference(const struct hr_result *a, const struct hr_result *b) {
  int64_t first_us = HR_NEVER_US;
  for (uint32_t job = 0; job < a->n_jobs; job++) {
    int64_t earlier_us = a->start_us[job] < b->start_us[job] ? a->start_us[job] : b->start_us[job];
    if (a->start_us[job] != b->start_us[job] && earlier_us < first_us) first_us = earlier_us;
  }
  return first_us;
}

static void check_first(const struct hr__diff_first *first, const struct hr_result *a, const struct hr_result *b) {
  const struct hr_result *results[] = {a, b};
  int64_t at_us = first_difference(a, b);
  CU_ASSERT_EQUAL_FATAL(first->found && !first->only_nodes, at_us != HR_NEVER_US);
  if (at_us == HR_NEVER_US) return;
  CU_ASSERT_EQUAL(first->at_us, at_us);
  for (unsigned side = 0; side < HR__DIFF_SIDES; side++) {
    const struct hr__diff_decisions *own = &first->sides[side];
    const struct hr__diff_event *start = hr__diff_first_start(own);
    uint64_t count = 0;
    for (uint32_t job = 0; job < a->n_jobs; job++)
      count += results[side]->start_us[job] == at_us && results[1 - side]->start_us[job] != at_us;
    CU_ASSERT_EQUAL(own->count, count);
    if (!start) continue;
    CU_ASSERT_EQUAL(results[side]->start_us[start->job], at_us);
    CU_ASSERT_EQUAL(own->other_start_us, results[1 - side]->start_us[start->job]);
    CU_ASSERT_PTR_NOT_NULL(own->wait);
  }
}

static struct hr_trace *read_jobs(void) {
  struct hr_trace *trace = NULL;
  struct hr_error error = {0};
  const struct hr_trace_options options = {.format = "csv"};
  if (hr_trace_read(files_path("jobs.csv"), &options, &trace, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  return trace;
}

static void agrees_with_results(void) {
  static const char *const backfills[] = {"strict", "skip", "easy", "conservative"};
  unsigned state = 7, n_different = 0;
  for (unsigned world = 0; world < WORLDS; world++) {
    put_jobs(&state);
    struct hr_trace *trace = read_jobs();
    struct side sides[2];
    load(&sides[0], "a.json", 2, backfills[draw(&state, 4)], trace);
    load(&sides[1], "b.json", 2 + draw(&state, 2), backfills[draw(&state, 4)], trace);
    struct hr_diff *diff = diff_of(sides, trace, 1 + world % 2);
    CU_ASSERT_TRUE(diff->by_queue);
    CU_ASSERT_EQUAL(diff->n_queues, QUEUES);
    for (size_t i = 0; i < diff->n_queues; i++)
      for (unsigned side = 0; side < 2; side++) check_queue(&diff->queues[i], side, sides[side].replay.result);
    check_first(&diff->first, sides[0].replay.result, sides[1].replay.result);
    n_different += diff->first.found && !diff->first.only_nodes;
    hr_diff_destroy(diff);
    finish(&sides[0]);
    finish(&sides[1]);
    hr_trace_destroy(trace);
  }
  CU_ASSERT_TRUE(n_different > WORLDS / 4 && n_different < WORLDS);
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static cJSON *read_json(const char *path) {
  char *text = files_read(path);
  cJSON *tree = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  free(text);
  return tree;
}

static void json_fits_schema(void) {
  unsigned state = 3;
  struct side sides[2];
  struct hr_error error = {0};
  const struct hr_perf perf = {0};
  put_jobs(&state);
  struct hr_trace *trace = read_jobs();
  load(&sides[0], "a.json", 2, "strict", trace);
  load(&sides[1], "b.json", 3, "easy", trace);
  struct hr_diff *diff = diff_of(sides, trace, 2);
  char path[300];
  snprintf(path, sizeof path, "%s", files_path("diff.json"));
  CU_ASSERT_EQUAL_FATAL(hr_diff_write_json(path, diff, &perf, &error), HR_OK);
  cJSON *schema = read_json(PROJECT_DIR "/docs/reference/schemas/diff.schema.json"), *tree = read_json(path);
  CU_ASSERT_TRUE(schema_fits(schema, tree, "written"));
  CU_ASSERT_EQUAL(cJSON_GetArraySize(schema_get(tree, "keys")), 2);
  CU_ASSERT_EQUAL(cJSON_GetArraySize(schema_get(tree, "queues")), QUEUES);
  CU_ASSERT_TRUE(cJSON_IsObject(schema_get(tree, "first_difference")));
  CU_ASSERT_PTR_NOT_NULL(cJSON_AddNumberToObject(tree, "extra", 0));
  CU_ASSERT_FALSE(schema_fits(schema, tree, "on purpose"));
  cJSON_Delete(schema);
  cJSON_Delete(tree);
  hr_diff_destroy(diff);
  finish(&sides[0]);
  finish(&sides[1]);
  hr_trace_destroy(trace);
}

TEST_MAIN("plan: diff", TEST(agrees_with_results), TEST(json_fits_schema))
