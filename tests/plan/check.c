/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole checks. A baseline that is written and read again is unchanged, every metric is compared, the first start that
   differs is the one that a naive search finds, and the output files fit their schemas. */

#include "harness.h"

#include "headroom/headroom.h"
#include "headroom/unstable/check.h"
#include "output_files.h"
#include "schema_check.h"

#include <math.h>
#include <string.h>

#define POOLS                                                                                                          \
  "{\"name\":\"o\",\"gpu\":\"V100\",\"nodes\":2,\"gpus_per_node\":4,\"market\":\"owned\",\"usd_per_gpu_hour\":1},"     \
  "{\"name\":\"s\",\"gpu\":\"V100\",\"nodes\":2,\"gpus_per_node\":4,\"market\":\"spot\",\"usd_per_gpu_hour\":0.5,"     \
  "\"boot_s\":5,\"spot\":{\"model\":\"exponential\",\"rate_per_h\":1}}"

static const char scenario_text[] =
    "{\"name\":\"t\",\"seed\":5,\"trace\":{\"file\":\"jobs.csv\"},\"cluster\":{\"pools\":[" POOLS "]},"
    "\"policy\":{\"name\":\"queue\",\"backfill\":\"easy\",\"market\":\"spot-first\"}}";

static const char suite_text[] = "{\"runs\":[{\"name\":\"a\",\"scenario\":\"s.json\",\"policies\":[\"fifo\",\"sjf\"]},"
                                 "{\"name\":\"b\",\"scenario\":\"s.json\",\"set\":{\"replications.count\":3}}]}";

static void put_file(const char *name, const char *text) {
  FILE *file = fopen(files_path(name), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

/* Writes two hundred jobs of irregular lengths, of two tenants and two classes. */
static void put_jobs(void) {
  FILE *file = fopen(files_path("jobs.csv"), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs("job_id,submit_s,duration_s,gpus,tenant,class\n", file);
  for (int i = 0; i < 200; i++)
    fprintf(file, "j%d,%d,%d,%d,%s,%s\n", i, i * 60 + i % 7, 60 + i * 7919 % 3600, 1 << i % 4, i % 3 ? "x" : "\"y, z\"",
            i % 5 ? "training" : "inference");
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

static struct hr_suite *load_suite(const char *text) {
  struct hr_suite *suite = NULL;
  struct hr_error error = {0};
  put_file("s.json", scenario_text);
  put_jobs();
  put_file("suite.json", text);
  if (hr_suite_load(files_path("suite.json"), &suite, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(suite);
  return suite;
}

static struct hr_check *check_of(const struct hr_suite *suite, const struct hr_baseline *baseline, uint32_t n_threads) {
  struct hr_check *check = NULL;
  struct hr_error error = {0};
  const struct hr_check_config config = {
      .suite = suite, .baseline = baseline, .baseline_path = "base.json", .n_threads = n_threads};
  if (hr_check(&config, &check, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(check);
  return check;
}

static struct hr_baseline *load_baseline(void) {
  struct hr_baseline *baseline = NULL;
  struct hr_error error = {0};
  if (hr_baseline_load(files_path("base.json"), &baseline, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(baseline);
  return baseline;
}

static struct hr_baseline *make_baseline(const struct hr_suite *suite) {
  struct hr_check *check = check_of(suite, NULL, 2);
  CU_ASSERT_EQUAL(hr_check_failures(check), hr_check_runs(check)); /* all runs are new */
  CU_ASSERT_EQUAL_FATAL(hr_check_write_baseline(files_path("base.json"), check, NULL), HR_OK);
  hr_check_destroy(check);
  return load_baseline();
}

static bool passes(const struct hr_suite *suite, const struct hr_baseline *baseline) {
  struct hr_check *check = check_of(suite, baseline, 1);
  bool passed = hr_check_passed(check);
  hr_check_destroy(check);
  return passed;
}

/* ---- Baselines -------------------------------------------------------------------------------------- */

static void written_baseline_passes(void) {
  struct hr_suite *suite = load_suite(suite_text);
  struct hr_baseline *baseline = make_baseline(suite);
  CU_ASSERT_EQUAL_FATAL(baseline->n_runs, 3);
  CU_ASSERT_STRING_EQUAL(baseline->runs[1].name, "a/sjf");
  CU_ASSERT_EQUAL(baseline->runs[2].replications, 3);
  CU_ASSERT_TRUE(passes(suite, baseline));
  char *first = files_read(files_path("base.json"));
  for (uint32_t n_threads = 1; n_threads <= 4; n_threads *= 2) {
    struct hr_check *check = check_of(suite, baseline, n_threads);
    CU_ASSERT_EQUAL_FATAL(hr_check_write_baseline(files_path("base.json"), check, NULL), HR_OK);
    char *again = files_read(files_path("base.json"));
    CU_ASSERT_STRING_EQUAL(first, again);
    free(again);
    hr_check_destroy(check);
  }
  free(first);
  hr_baseline_destroy(baseline);
  hr_suite_destroy(suite);
}

/* A change of any single metric must fail the check. */
static void change_of_any_metric_fails(void) {
  struct hr_suite *suite = load_suite("{\"runs\":[{\"name\":\"a\",\"scenario\":\"s.json\"}]}");
  struct hr_baseline *baseline = make_baseline(suite);
  struct hr_baseline_run *run = &baseline->runs[0];
  CU_ASSERT_TRUE(run->n_metrics > 80);
  CU_ASSERT_TRUE(passes(suite, baseline));
  for (size_t i = 0; i < run->n_metrics; i++) {
    run->metrics[i].value += 1e-6;
    CU_ASSERT_FALSE(passes(suite, baseline));
    run->metrics[i].value -= 1e-6;
    run->metrics[i].value = nearbyint(run->metrics[i].value * 1e6) / 1e6;
  }
  CU_ASSERT_TRUE(passes(suite, baseline));
  run->digest++;
  CU_ASSERT_FALSE(passes(suite, baseline));
  run->digest--;
  run->trace_digest++;
  CU_ASSERT_FALSE(passes(suite, baseline));
  run->trace_digest--;
  char *path = run->metrics[0].path;
  run->metrics[0].path = (char *)"jobs.imagined";
  CU_ASSERT_FALSE(passes(suite, baseline));
  run->metrics[0].path = path;
  CU_ASSERT_TRUE(passes(suite, baseline));
  run->seed++; /* a different seed is reported, but is no failure */
  CU_ASSERT_TRUE(passes(suite, baseline));
  hr_baseline_destroy(baseline);
  hr_suite_destroy(suite);
}

/* ---- The first start that differs ------------------------------------------------------------------- */

static cJSON *read_json(const char *path) {
  char *text = files_read(path);
  cJSON *tree = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  free(text);
  return tree;
}

static cJSON *result_of(const struct hr_suite *suite, const struct hr_baseline *baseline) {
  struct hr_check *check = check_of(suite, baseline, 1);
  CU_ASSERT_EQUAL_FATAL(hr_check_write_json(files_path("check.json"), check, NULL), HR_OK);
  hr_check_destroy(check);
  return read_json(files_path("check.json"));
}

static struct hr_result *run_under(const char *policy, const struct hr_trace *trace, struct hr_scenario **scenario) {
  char word[100];
  snprintf(word, sizeof word, "policy.order=%s", policy);
  const char *const overrides[] = {word};
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(files_path("s.json"), overrides, 1, scenario, NULL), HR_OK);
  const struct hr_run_config config = {.trace = trace,
                                       .cluster = &(*scenario)->cluster,
                                       .policy = (*scenario)->policy.ops,
                                       .params = (*scenario)->policy.params,
                                       .seed = (*scenario)->seed,
                                       .horizon_us = HR_NEVER_US,
                                       .classes = (*scenario)->classes};
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, NULL), HR_OK);
  return result;
}

/* Of the jobs whose start differs between two runs, the one with the earliest start, by exhaustive search. */
static uint32_t naive_first(const struct hr_result *a, const struct hr_result *b) {
  uint32_t first = HR_NONE;
  int64_t first_us = HR_NEVER_US;
  for (uint32_t job = 0; job < a->n_jobs; job++) {
    int64_t earlier_us = a->start_us[job] < b->start_us[job] ? a->start_us[job] : b->start_us[job];
    if (a->start_us[job] == b->start_us[job] || earlier_us >= first_us) continue;
    first = job;
    first_us = earlier_us;
  }
  return first;
}

/* If the job starts later, the result must say what the job waited for. */
static void expect_wait_reason(const cJSON *start, bool later) {
  const cJSON *held = schema_get(start, "held");
  CU_ASSERT_EQUAL(cJSON_IsString(held), later);
  if (later) CU_ASSERT_EQUAL(strncmp(held->valuestring, "It waited ", 10), 0);
}

static void first_start_equals_naive_search(void) {
  static const char *const orders[] = {"sjf", "largest", "smallest", "f1", "wfp3"};
  struct hr_suite *suite = load_suite("{\"runs\":[{\"name\":\"a\",\"scenario\":\"s.json\"}]}");
  struct hr_baseline *baseline = make_baseline(suite);
  struct hr_trace *trace = NULL;
  CU_ASSERT_EQUAL_FATAL(
      hr_trace_read(files_path("jobs.csv"), &(struct hr_trace_options){.format = "csv"}, &trace, NULL), HR_OK);
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    char text[200], id[HR_JOB_ID_BUFFER];
    struct hr_scenario *scenarios[2];
    snprintf(text, sizeof text,
             "{\"runs\":[{\"name\":\"a\",\"scenario\":\"s.json\",\"set\":{\"policy.order\":\"%s\"}}]}", orders[i]);
    struct hr_suite *other = load_suite(text);
    cJSON *tree = result_of(other, baseline);
    struct hr_result *before = run_under("fifo", trace, &scenarios[0]),
                     *now = run_under(orders[i], trace, &scenarios[1]);
    uint32_t job = naive_first(before, now);
    CU_ASSERT_NOT_EQUAL_FATAL(job, HR_NONE);
    const cJSON *start = schema_get(cJSON_GetArrayItem(schema_get(tree, "runs"), 0), "first_start");
    CU_ASSERT_STRING_EQUAL(schema_get(start, "job")->valuestring, hr_trace_job_id(trace, (hr_job){job}, id));
    CU_ASSERT_EQUAL(schema_get(start, "wait_s")->valuedouble,
                    round((double)(now->start_us[job] - trace->submit_us[job]) / 1e6));
    CU_ASSERT_EQUAL(schema_get(start, "baseline_wait_s")->valuedouble,
                    round((double)(before->start_us[job] - trace->submit_us[job]) / 1e6));
    expect_wait_reason(start, now->start_us[job] > before->start_us[job]);
    hr_result_destroy(before);
    hr_result_destroy(now);
    hr_scenario_destroy(scenarios[0]);
    hr_scenario_destroy(scenarios[1]);
    cJSON_Delete(tree);
    hr_suite_destroy(other);
  }
  hr_trace_destroy(trace);
  hr_baseline_destroy(baseline);
  hr_suite_destroy(suite);
}

/* ---- Replications ----------------------------------------------------------------------------------- */

static struct hr_suite *load_replicated(int seed, int replications, const char *more) {
  char text[400];
  snprintf(text, sizeof text,
           "{\"runs\":[{\"name\":\"a\",\"scenario\":\"s.json\",\"set\":{\"replications.count\":%d,\"seed\":%d%s}}]}",
           replications, seed, more);
  return load_suite(text);
}

static bool passes_replicated(const struct hr_baseline *baseline, int seed, int replications, const char *more) {
  struct hr_suite *suite = load_replicated(seed, replications, more);
  bool passed = passes(suite, baseline);
  hr_suite_destroy(suite);
  return passed;
}

/* With other seeds all metrics differ, but their distributions are equal: one check in twenty may fail. A real change
   must be detected among all these metrics, with equal and with different seeds. */
static void significance_of_changes(void) {
  enum { REPLICATIONS = 8, SEEDS = 60 };
  static const char more_expensive[] = ",\"cluster.pools.1.usd_per_gpu_hour\":0.500001",
                    smaller[] = ",\"cluster.pools.0.nodes\":1";
  struct hr_suite *suite = load_replicated(1, REPLICATIONS, "");
  struct hr_baseline *baseline = make_baseline(suite);
  CU_ASSERT_TRUE(passes(suite, baseline));
  int failures = 0;
  for (int seed = 2; seed < 2 + SEEDS; seed++) failures += !passes_replicated(baseline, seed, REPLICATIONS, "");
  if (failures > SEEDS / 10) printf("\n  %d of %d checks fail though nothing is other\n", failures, SEEDS);
  CU_ASSERT(failures <= SEEDS / 10);
  CU_ASSERT_FALSE(passes_replicated(baseline, 1, REPLICATIONS, more_expensive));
  CU_ASSERT_FALSE(passes_replicated(baseline, 1, REPLICATIONS, smaller));
  CU_ASSERT_FALSE(passes_replicated(baseline, 9, REPLICATIONS, smaller));
  CU_ASSERT_TRUE(passes_replicated(baseline, 1, REPLICATIONS - 2, "")); /* the same seeds, but fewer replications */
  hr_baseline_destroy(baseline);
  hr_suite_destroy(suite);
}

/* ---- Files ------------------------------------------------------------------------------------------ */

static void expect_fit(cJSON *tree, const char *schema_path) {
  cJSON *schema = read_json(schema_path);
  CU_ASSERT_TRUE(schema_fits(schema, tree, "written"));
  CU_ASSERT_PTR_NOT_NULL_FATAL(cJSON_AddNumberToObject(tree, "extra", 0));
  CU_ASSERT_FALSE(schema_fits(schema, tree, "on purpose"));
  cJSON_Delete(schema);
  cJSON_Delete(tree);
}

static void files_fit_their_schemas(void) {
  struct hr_suite *suite = load_suite(suite_text);
  struct hr_baseline *baseline = make_baseline(suite);
  expect_fit(read_json(files_path("base.json")), PROJECT_DIR "/docs/reference/schemas/baseline.schema.json");
  expect_fit(result_of(suite, baseline), PROJECT_DIR "/docs/reference/schemas/check-result.schema.json");
  hr_suite_destroy(suite);
  suite = load_suite("{\"runs\":[{\"name\":\"a\",\"scenario\":\"s.json\",\"policies\":[\"fifo\",\"las\"],\"set\":"
                     "{\"cluster.pools.0.nodes\":1}},{\"name\":\"b\",\"scenario\":\"s.json\",\"set\":"
                     "{\"replications.count\":3,\"cluster.pools.1.usd_per_gpu_hour\":1}}]}");
  cJSON *tree = result_of(suite, baseline);
  CU_ASSERT_EQUAL(schema_get(tree, "failures")->valueint, 4); /* verdicts: changed, new, gone, changed */
  expect_fit(tree, PROJECT_DIR "/docs/reference/schemas/check-result.schema.json");
  hr_suite_destroy(suite);
  hr_baseline_destroy(baseline);
}

/* In a table of 80 columns, long names must not be shortened to equal texts. */
static void long_names_remain_distinguishable(void) {
  static const char *const names[] = {"fairness.finish_time_fairness.mean", "fairness.finish_time_fairness.p95",
                                      "fairness.finish_time_fairness.share_above_1"};
  struct hr_suite *suite = load_suite("{\"runs\":[{\"name\":\"a\",\"scenario\":\"s.json\"}]}");
  struct hr_baseline *baseline = make_baseline(suite);
  for (size_t i = 0; i < baseline->runs[0].n_metrics; i++)
    if (strncmp(baseline->runs[0].metrics[i].path, "fairness", 8) == 0) baseline->runs[0].metrics[i].value += 0.5;
  struct hr_check *check = check_of(suite, baseline, 1);
  FILE *out = fopen(files_path("table.txt"), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  CU_ASSERT_EQUAL(hr_check_print(out, check, false, false), HR_OK);
  CU_ASSERT_EQUAL(fclose(out), 0);
  char *text = files_read(files_path("table.txt"));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) CU_ASSERT_PTR_NOT_NULL(strstr(text, names[i]));
  for (const char *line = text; *line; line += strcspn(line, "\n") + 1) CU_ASSERT(strcspn(line, "\n") <= 80);
  free(text);
  hr_check_destroy(check);
  hr_baseline_destroy(baseline);
  hr_suite_destroy(suite);
}

TEST_MAIN("plan: checks", TEST(written_baseline_passes), TEST(change_of_any_metric_fails),
          TEST(first_start_equals_naive_search), TEST(significance_of_changes), TEST(long_names_remain_distinguishable),
          TEST(files_fit_their_schemas))
