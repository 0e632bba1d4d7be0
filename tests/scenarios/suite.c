/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Suites of runs and baselines: values, errors, and a comparison of their schemas with the key tables. */

#include "harness.h"
#include "messages.h"

#include "headroom/unstable/compare.h"
#include "key_schema.h"
#include "scenarios/schema/keys.h"

#include <string.h>
#include <unistd.h>

static const char path[] = "suite_test.json";

static void write_file(const char *text) {
  FILE *file = fopen(path, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

/* ---- Suites ----------------------------------------------------------------------------------------- */

static struct hr_suite *expect_good(const char *text) {
  struct hr_suite *suite = NULL;
  struct hr_error error = {0};
  write_file(text);
  if (hr_suite_load(path, &suite, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(suite);
  unlink(path);
  return suite;
}

static void expect_bad(const char *text, const char *words) {
  struct hr_suite *suite = NULL;
  struct hr_error error = {0};
  write_file(text);
  CU_ASSERT_EQUAL(hr_suite_load(path, &suite, &error), HR_BAD_INPUT);
  if (!message_has(error.text, words)) printf("\n  '%s' does not say '%s'\n", error.text, words);
  CU_ASSERT_TRUE(message_has(error.text, words));
  CU_ASSERT_PTR_NULL(suite);
  unlink(path);
}

static void runs(void) {
  struct hr_suite *suite = expect_good(
      "{\"runs\": [{\"name\": \"a\", \"scenario\": \"s.json\", \"trace\": \"../t.csv\", \"policies\": [\"sjf\", "
      "\"queue:order=f1\"], \"set\": {\"cluster.pools.0.nodes\": 4, \"policy.placement\": \"worst-fit\", "
      "\"trace.lenient\": true}}, {\"name\": \"b\", \"scenario\": \"/x/s.json\"}]}");
  CU_ASSERT_EQUAL_FATAL(suite->n_runs, 2);
  const struct hr_suite_run *run = &suite->runs[0];
  CU_ASSERT_STRING_EQUAL(run->scenario, "s.json");
  CU_ASSERT_STRING_EQUAL(run->trace, "../t.csv");
  CU_ASSERT_EQUAL_FATAL(run->n_policies, 2);
  CU_ASSERT_STRING_EQUAL(run->policies[1], "queue:order=f1");
  CU_ASSERT_EQUAL_FATAL(run->n_set, 3);
  CU_ASSERT_STRING_EQUAL(run->set[0], "cluster.pools.0.nodes=4");
  CU_ASSERT_STRING_EQUAL(run->set[1], "policy.placement=worst-fit");
  CU_ASSERT_STRING_EQUAL(run->set[2], "trace.lenient=true");
  CU_ASSERT_STRING_EQUAL(suite->runs[1].scenario, "/x/s.json");
  CU_ASSERT_PTR_NULL(suite->runs[1].trace);
  hr_suite_destroy(suite);
}

static void tolerances(void) {
  struct hr_suite *suite = expect_good(
      "{\"runs\": [{\"name\": \"a\", \"scenario\": \"s.json\", \"tolerances\": {\"digest\": \"exact\"}}],\n"
      " \"tolerances\": {\"only_worse\": true,\n  \"wait_s.p95\": {\"relative\": 0.02, \"worse\": \"higher\"}, \"*\": "
      "{\"absolute\": 3}}}");
  const struct hr_tolerances *common = &suite->tolerances, *own = &suite->runs[0].tolerances;
  CU_ASSERT_TRUE(common->only_worse && common->only_worse_is_set);
  CU_ASSERT_FALSE(common->exact_digest || common->loose_digest);
  CU_ASSERT_TRUE(own->exact_digest);
  CU_ASSERT_FALSE(own->only_worse_is_set);
  CU_ASSERT_EQUAL_FATAL(common->count, 2);
  CU_ASSERT_STRING_EQUAL(common->at[0].metric.text, "wait_s.p95");
  CU_ASSERT_STRING_EQUAL(common->at[0].metric.place, "suite_test.json:3:17: ");
  CU_ASSERT_EQUAL(common->at[0].relative, 0.02);
  CU_ASSERT_EQUAL(common->at[0].worse, HR_WORSE_HIGHER);
  CU_ASSERT_EQUAL(common->at[1].absolute, 3);
  CU_ASSERT_EQUAL(common->at[1].worse, HR_WORSE_UNSPECIFIED);
  CU_ASSERT_EQUAL(hr_suite_add_tolerance(suite, "jct_s.mean=2.5%", NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_suite_add_tolerance(suite, "monthly_usd=100", NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(common->count, 4);
  CU_ASSERT_EQUAL(common->at[2].relative, 0.025);
  CU_ASSERT_EQUAL(common->at[3].absolute, 100);
  static const char *const wrong[] = {"jct_s.mean", "jct_s.mean=", "=3", "jct_s.mean=-1", "x=1%%", "x=nan", "x=1 %"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    CU_ASSERT_EQUAL(hr_suite_add_tolerance(suite, wrong[i], NULL), HR_BAD_INPUT);
  hr_suite_destroy(suite);
}

#define RUN "{\"name\": \"a\", \"scenario\": \"s.json\""

static void invalid_suites(void) {
  expect_bad("{\"runs\": []}", "suite_test.json:1:10: 'runs' is an empty list");
  expect_bad("{\"run\": [" RUN "}]}", "did you mean 'runs'?");
  expect_bad("{\"runs\": [{\"name\": \"a\"}]}", "scenario");
  expect_bad("{\"runs\": [" RUN ", \"sets\": {}}]}", "did you mean 'runs.0.set'?");
  expect_bad("{\"runs\": [" RUN ", \"set\": {\"cluster\": {}}}]}", "'runs.0.set.cluster' is an object");
  expect_bad("{\"runs\": [" RUN ", \"policies\": [\"sjf\", \"sjf\"]}]}", "'sjf' is there twice");
  expect_bad("{\"runs\": [" RUN "}, " RUN "}]}", "suite_test.json:1:57: a run is called 'a' already");
  expect_bad("{\"runs\": [" RUN "}], \"tolerances\": {\"wait_s.p95\": 3}}", "'tolerances.wait_s.p95' is the number 3");
  expect_bad("{\"runs\": [" RUN "}], \"tolerances\": {\"*\": {\"relativ\": 3}}}", "relative'?");
  expect_bad("{\"runs\": [" RUN "}], \"tolerances\": {\"*\": {\"worse\": \"up\"}}}", "one of either, higher, lower");
  expect_bad("[]", "suite");
  expect_bad("{", "suite_test.json:1:");
}

static void suites_are_detected(void) {
  bool is_suite = true;
  write_file("{\"name\": \"x\", \"cluster\": {}, \"policy\": {}}");
  CU_ASSERT_EQUAL(hr_suite_recognise(path, &is_suite, NULL), HR_OK);
  CU_ASSERT_FALSE(is_suite);
  write_file("{\"runs\": 3}");
  CU_ASSERT_EQUAL(hr_suite_recognise(path, &is_suite, NULL), HR_OK);
  CU_ASSERT_TRUE(is_suite);
  unlink(path);
  CU_ASSERT_EQUAL(hr_suite_recognise(path, &is_suite, NULL), HR_BAD_INPUT);
}

/* ---- Baselines -------------------------------------------------------------------------------------- */

#define BASELINE                                                                                                       \
  "{\"format\": 1, \"version\": \"0.0.9\", \"runs\": [{\"name\": \"a\", \"policy\": \"queue\", \"seed\": "             \
  "\"18446744073709551615\", \"trace\": \"t.csv\", \"trace_digest\": \"00000000000000ff\", \"inputs\": {\"s.json\": "  \
  "\"0123456789abcdef\"}, \"digest\": \"fedcba9876543210\", \"metrics\": {\"wait_s.mean\": 1.5, \"preemptions\": 2}, " \
  "\"by_tenant\": {\"x\": {\"wait_s.mean\": 2}}, \"by_pool\": {\"p\": {\"cost.total_usd\": -3}}, \"jobs\": 7, "        \
  "\"decisions\": 9, \"spacing\": 4, \"chain\": [\"abcd\", \"ef\"], \"starts\": [\"AG\"]"

static void baselines(void) {
  struct hr_baseline *baseline = NULL;
  struct hr_error error = {0};
  write_file(BASELINE "}]}");
  if (hr_baseline_load(path, &baseline, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(baseline);
  CU_ASSERT_STRING_EQUAL(baseline->version, "0.0.9");
  CU_ASSERT_EQUAL_FATAL(baseline->n_runs, 1);
  const struct hr_baseline_run *run = &baseline->runs[0];
  CU_ASSERT_EQUAL(run->seed, UINT64_MAX);
  CU_ASSERT_EQUAL(run->trace_digest, 255);
  CU_ASSERT_EQUAL(run->digest, UINT64_C(0xfedcba9876543210));
  CU_ASSERT_EQUAL(run->inputs[0].digest, UINT64_C(0x0123456789abcdef));
  CU_ASSERT_EQUAL(run->replications, 0);
  CU_ASSERT_EQUAL_FATAL(run->n_metrics, 4);
  CU_ASSERT_STRING_EQUAL(run->metrics[1].path, "preemptions");
  CU_ASSERT_EQUAL(run->metrics[1].of, HR_METRIC_OF_RUN);
  CU_ASSERT_STRING_EQUAL(run->metrics[2].group, "x");
  CU_ASSERT_EQUAL(run->metrics[2].of, HR_METRIC_OF_TENANT);
  CU_ASSERT_EQUAL(run->metrics[3].value, -3);
  CU_ASSERT_STRING_EQUAL(run->chain, "abcdef");
  CU_ASSERT_STRING_EQUAL(run->starts, "AG");
  CU_ASSERT_EQUAL(run->n_jobs, 7);
  CU_ASSERT_EQUAL(run->spacing, 4);
  hr_baseline_destroy(baseline);
  CU_ASSERT_TRUE(hr_baseline_recognise(path));
  unlink(path);
}

static void expect_bad_baseline(const char *text, const char *words) {
  struct hr_baseline *baseline = NULL;
  struct hr_error error = {0};
  write_file(text);
  CU_ASSERT_EQUAL(hr_baseline_load(path, &baseline, &error), HR_BAD_INPUT);
  if (!message_has(error.text, words)) printf("\n  '%s' does not say '%s'\n", error.text, words);
  CU_ASSERT_TRUE(message_has(error.text, words));
  unlink(path);
}

static void invalid_baselines(void) {
  expect_bad_baseline("{\"name\": \"x\"}", "is not a baseline, which has a 'format'");
  expect_bad_baseline("[]", "is not a baseline");
  expect_bad_baseline("{\"format\": 2}", "is a baseline of format 2, and this version of headroom");
  expect_bad_baseline("{\"format\": 1, \"version\": \"1\", \"runs\": 3}", "'runs' is the number 3");
  expect_bad_baseline(BASELINE ", \"digst\": 1}]}", "did you mean 'runs.0.digest'?");
  expect_bad_baseline(
      "{\"format\": 1, \"version\": \"1\", \"runs\": [{\"name\": \"a\", \"policy\": \"q\", \"seed\": 1, "
      "\"trace\": \"t\", \"trace_digest\": \"12\", \"inputs\": {}, \"digest\": \"0\", \"metrics\": {}}]}",
      "'12' is not a digest");
}

/* ---- Schemas ---------------------------------------------------------------------------------------- */

static void schemas_match_the_key_tables(void) {
  struct hr__json_file schema;
  key_schema_read(PROJECT_DIR "/docs/reference/schemas/check.schema.json", &schema);
  key_schema_expect_table(&schema, &hr__suite_keys);
  hr__json_file_finish(&schema);
  key_schema_read(PROJECT_DIR "/docs/reference/schemas/baseline.schema.json", &schema);
  key_schema_expect_table(&schema, &hr__baseline_keys);
  hr__json_file_finish(&schema);
}

TEST_MAIN("scenarios: suites and baselines", TEST(runs), TEST(tolerances), TEST(invalid_suites),
          TEST(suites_are_detected), TEST(baselines), TEST(invalid_baselines), TEST(schemas_match_the_key_tables))
