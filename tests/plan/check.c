/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole checks. A baseline that is written and read again is unchanged. Every metric is compared. The first start that
   differs equals the result of a naive search. The output files conform to their schemas. */

#include "harness.h"

#include "headroom/headroom.h"
#include "headroom/unstable/compare.h"
#include "output_files.h"
#include "plan/check/check.h"
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
  /* Unless a test names a profile, it expects that every difference fails. */
  if (suite->tolerances.profile == HR_PROFILE_UNSPECIFIED) suite->tolerances.profile = HR_PROFILE_EXACT;
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
  run->seed++; /* a different seed is reported, but does not count as a failure */
  CU_ASSERT_TRUE(passes(suite, baseline));
  hr_baseline_destroy(baseline);
  hr_suite_destroy(suite);
}

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

/* ---- Causes, importance, profiles and goals --------------------------------------------------------- */

static void put_scenario(const char *from, const char *to) {
  char text[2000];
  const char *at = strstr(scenario_text, from);
  CU_ASSERT_PTR_NOT_NULL_FATAL(at);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - scenario_text), scenario_text, to, at + strlen(from));
  put_file("s.json", text);
}

static char *table_of(const struct hr_check *check) {
  FILE *out = fopen(files_path("table.txt"), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  CU_ASSERT_EQUAL(hr_check_print(out, check, false), HR_OK);
  CU_ASSERT_EQUAL(fclose(out), 0);
  return files_read(files_path("table.txt"));
}

/* The lines after the name of the run must begin with these texts. */
static void expect_lines(const struct hr_check *check, const char *const *lines) {
  char *text = table_of(check), *at = strchr(text, '\n');
  for (; *lines && at; lines++, at = strchr(at + 1, '\n')) {
    if (strncmp(at + 1, *lines, strlen(*lines)) != 0) printf("\n  %.60s, not %s\n", at + 1, *lines);
    CU_ASSERT(strncmp(at + 1, *lines, strlen(*lines)) == 0);
  }
  CU_ASSERT_PTR_NULL(*lines);
  free(text);
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The changed keys come before the metrics, and the most important metrics before the others. */
static void causes_come_first(void) {
  struct hr_suite *suite = load_suite("{\"runs\":[{\"name\":\"a\",\"scenario\":\"s.json\"}]}");
  struct hr_baseline *baseline = make_baseline(suite);
  put_scenario("\"nodes\":2", "\"nodes\":1");
  struct hr_check *check = check_of(suite, baseline, 1);
  expect_lines(check, LINES("  Changed: s.json: cluster.pools.0.nodes 2 -> 1.", "  figure ", "  monthly_usd ",
                            "  cost.total_usd ", "  wait_s.p95 ", "  wait_s.mean "));
  hr_check_destroy(check);
  put_scenario(",{\"name\":\"s\"",
               ",{\"name\":\"n\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":4},{\"name\":\"s\"");
  check = check_of(suite, baseline, 1);
  expect_lines(check, LINES("  Changed: s.json: cluster.pools.1 added:", "    {\"name\":\"n\""));
  hr_check_destroy(check);
  put_scenario("\"backfill\":\"easy\",", "");
  check = check_of(suite, baseline, 1);
  expect_lines(check, LINES("  Changed: s.json: policy.backfill removed: easy.", "  figure "));
  hr_check_destroy(check);
  put_scenario("\"seed\":5,", "\"seed\":5,\"description\":\"text\",");
  check = check_of(suite, baseline, 1);
  CU_ASSERT_TRUE(hr_check_passed(check));
  expect_lines(check,
               LINES("  Changed: s.json was changed since the baseline, but all its values are the", "    same."));
  hr_check_destroy(check);
  put_file("s.json", scenario_text);
  baseline->runs[0].digest++;
  check = check_of(suite, baseline, 1);
  expect_lines(check, LINES("  Changed: no input changed since the baseline, so the program or a policy did."));
  hr_check_destroy(check);
  hr_baseline_destroy(baseline);
  hr_suite_destroy(suite);
}

/* A baseline of an older program has no scenario. */
static void baselines_without_scenario_are_read(void) {
  struct hr_suite *suite = load_suite("{\"runs\":[{\"name\":\"a\",\"scenario\":\"s.json\"}]}");
  struct hr_baseline *baseline = make_baseline(suite);
  free(baseline->runs[0].scenario);
  baseline->runs[0].scenario = NULL;
  put_scenario("\"nodes\":2", "\"nodes\":1");
  struct hr_check *check = check_of(suite, baseline, 1);
  expect_lines(check, LINES("  Changed: s.json was changed since the baseline.", "  figure "));
  hr_check_destroy(check);
  hr_baseline_destroy(baseline);
  hr_suite_destroy(suite);
}

static struct hr_baseline_metric *metric_of(struct hr_baseline *baseline, const char *path) {
  for (size_t i = 0; i < baseline->runs[0].n_metrics; i++)
    if (strcmp(baseline->runs[0].metrics[i].path, path) == 0) return &baseline->runs[0].metrics[i];
  CU_FAIL_FATAL("no such metric");
  return NULL;
}

/* In the profile slo, which is the default, regressions of service and cost fail beyond a tolerance. Nothing else
   does. A tolerance for one metric does not change that. */
static void default_profile_is_slo(void) {
  static const struct {
    const char *path;
    double factor;
    bool passes;
  } changes[] = {{"fairness.jain", 0.5, true},     {"jobs.backfilled", 3, true},       {"monthly_usd", 1 / 1.01, true},
                 {"monthly_usd", 1 / 1.03, false}, {"monthly_usd", 2, true},           {"wait_s.p95", 1 / 1.05, true},
                 {"wait_s.p95", 1 / 1.5, false},   {"utilization.makespan", 0.1, true}};
  struct hr_suite *suite = load_suite("{\"runs\":[{\"name\":\"a\",\"scenario\":\"s.json\"}]}");
  struct hr_baseline *baseline = make_baseline(suite);
  for (unsigned profile = HR_PROFILE_UNSPECIFIED; profile <= HR_PROFILE_EXACT; profile++) {
    suite->tolerances.profile = profile;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
      struct hr_baseline_metric *metric = metric_of(baseline, changes[i].path);
      double value = metric->value;
      metric->value *= changes[i].factor;
      CU_ASSERT_EQUAL(passes(suite, baseline), changes[i].passes && profile != HR_PROFILE_EXACT);
      metric->value = value;
    }
  }
  suite->tolerances.profile = HR_PROFILE_UNSPECIFIED;
  CU_ASSERT_EQUAL(hr_suite_add_tolerance(suite, "monthly_usd=10%", NULL), HR_OK);
  metric_of(baseline, "monthly_usd")->value /= 1.05;
  metric_of(baseline, "fairness.jain")->value *= 0.9;
  CU_ASSERT_TRUE(passes(suite, baseline));
  metric_of(baseline, "monthly_usd")->value /= 1.06;
  CU_ASSERT_FALSE(passes(suite, baseline));
  CU_ASSERT_EQUAL(hr_suite_add_tolerance(suite, "exact", NULL), HR_OK);
  CU_ASSERT_EQUAL(suite->tolerances.profile, HR_PROFILE_EXACT);
  hr_baseline_destroy(baseline);
  hr_suite_destroy(suite);
}

/* A run that misses a goal fails, independently of the baseline. */
static void goals_are_absolute(void) {
  struct hr_suite *suite =
      load_suite("{\"runs\":[{\"name\":\"a\",\"scenario\":\"s.json\",\"goals\":[\"wait_s.max of training <= 100 d\"]},"
                 "{\"name\":\"b\",\"scenario\":\"s.json\",\"set\":{\"replications.count\":3}}],"
                 "\"goals\":[\"completed >= 99 %\"]}");
  struct hr_baseline *baseline = make_baseline(suite);
  CU_ASSERT_TRUE(passes(suite, baseline));
  CU_ASSERT_EQUAL(hr_suite_add_goal(suite, "wait_s.p95 <= 1 s", NULL), HR_OK);
  cJSON *tree = result_of(suite, baseline), *run;
  CU_ASSERT_EQUAL(schema_get(tree, "failures")->valueint, 2);
  cJSON_ArrayForEach(run, schema_get(tree, "runs")) {
    const cJSON *goals = schema_get(run, "goals"), *last = cJSON_GetArrayItem(goals, 1);
    CU_ASSERT_TRUE(cJSON_IsTrue(schema_get(cJSON_GetArrayItem(goals, 0), "met")));
    CU_ASSERT_STRING_EQUAL(schema_get(last, "goal")->valuestring, "wait_s.p95 <= 1 s");
    CU_ASSERT_TRUE(cJSON_IsFalse(schema_get(last, "met")));
    CU_ASSERT(schema_get(last, "value")->valuedouble > 1);
  }
  cJSON_Delete(tree);
  struct hr_check *check = check_of(suite, baseline, 1);
  expect_lines(check, LINES("  Goal missed: wait_s.p95 <= 1 s: it is "));
  hr_check_destroy(check);
  CU_ASSERT_EQUAL(hr_suite_add_goal(suite, "wait_s.p95 <= soon", NULL), HR_OK);
  struct hr_error error = {0};
  const struct hr_check_config config = {
      .suite = suite, .baseline = baseline, .baseline_path = "base.json", .n_threads = 1};
  CU_ASSERT_EQUAL(hr_check(&config, &check, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "--goal wait_s.p95 <= soon: "));
  hr_baseline_destroy(baseline);
  hr_suite_destroy(suite);
}

/* Values that differ are printed with enough digits to differ as text, in the unit of the metric. */
static void printed_values_differ(void) {
  static const struct {
    const char *path;
    double before, by;
    const char *texts[2];
  } values[] = {{"jct_s.p95", 28803, 14, {"8 h 0 min 3 s", "8 h 0 min 17 s"}},
                {"jct_s.p99", 97498.51, 0.25, {"1 d 3 h 4 min 58.5 s", "1 d 3 h 4 min 58.8 s"}},
                {"gpu_hours", 65398.1, 0.2, {"65,398.10", "65,398.30"}},
                {"utilization.makespan", 0.5, 0.0001, {"50.00 %", "50.01 %"}},
                {"monthly_usd", 112127.001, 0.1, {"$112,127.00", "$112,127.10"}}};
  struct hr_suite *suite = load_suite("{\"runs\":[{\"name\":\"a\",\"scenario\":\"s.json\"}]}");
  struct hr_baseline *baseline = make_baseline(suite);
  struct hr_check *check = check_of(suite, baseline, 1);
  struct hr__check_case *item = &check->cases[0];
  char number[40];
  free(item->changes); /* an empty list: the check found no change */
  item->changes = calloc(sizeof values / sizeof *values, sizeof *item->changes);
  CU_ASSERT_PTR_NOT_NULL_FATAL(item->changes);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    enum hr__metric metric = hr__metric_find(values[i].path, strlen(values[i].path));
    item->changes[item->n_changes++] = (struct hr__check_change){.label = strdup(values[i].path),
                                                                 .unit = hr__metric_rows[metric].unit,
                                                                 .before = values[i].before,
                                                                 .now = values[i].before + values[i].by,
                                                                 .verdict = HR__WORSE};
  }
  item->verdict = HR__CASE_FAILED;
  char *text = table_of(check);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    for (size_t k = 0; k < 2; k++) {
      snprintf(number, sizeof number, " %s ", values[i].texts[k]);
      if (!strstr(text, number)) printf("\n  no%s in %s\n", number, text);
      CU_ASSERT_PTR_NOT_NULL(strstr(text, number));
    }
  free(text);
  hr_check_destroy(check);
  hr_baseline_destroy(baseline);
  hr_suite_destroy(suite);
}

/* ---- The first start that differs ------------------------------------------------------------------- */

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

/* If the job starts later, the result must state the reason of its wait. */
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

/* With other seeds all metrics differ, but their distributions are equal. One check in twenty is expected to fail, so
   at most one in ten may. A real change must be detected with equal and with different seeds. */
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
  CU_ASSERT_EQUAL(hr_check_print(out, check, false), HR_OK);
  CU_ASSERT_EQUAL(fclose(out), 0);
  char *text = files_read(files_path("table.txt"));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) CU_ASSERT_PTR_NOT_NULL(strstr(text, names[i]));
  for (const char *line = text; *line; line += strcspn(line, "\n") + 1) CU_ASSERT(strcspn(line, "\n") <= 80);
  free(text);
  hr_check_destroy(check);
  hr_baseline_destroy(baseline);
  hr_suite_destroy(suite);
}

TEST_MAIN("plan: checks", TEST(written_baseline_passes), TEST(change_of_any_metric_fails), TEST(causes_come_first),
          TEST(baselines_without_scenario_are_read), TEST(default_profile_is_slo), TEST(goals_are_absolute),
          TEST(printed_values_differ), TEST(first_start_equals_naive_search), TEST(significance_of_changes),
          TEST(long_names_remain_distinguishable), TEST(files_fit_their_schemas))
