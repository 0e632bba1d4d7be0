/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A new metric needs one row of the catalogue. This program is compiled with a further row (one_more_metric.h). The
 * metric must be in all lists of metrics.
 */

#include "harness.h"

#include "exported.h"
#include "generated.h"
#include "headroom/unstable/compare.h"
#include "output_files.h"
#include "plan/runner/runner.h"
#include "plan/sweep/sweep.h"

#include <stdlib.h>
#include <string.h>

static struct exported exported;
static double expected;

/* Frees `text`. */
static void expect_in(char *text, const char *part) {
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  if (!strstr(text, part)) printf("\n  missing: %s\n", part);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, part));
  free(text);
}

static const char *number_after(const char *text, const char *part) {
  const char *at = text ? strstr(text, part) : NULL;
  CU_ASSERT_PTR_NOT_NULL_FATAL(at);
  return at + strlen(part);
}

static void prepare(void) {
  if (exported.trace) return;
  exported_make(&exported, "demo", NULL, 0);
  exported.run.summary = exported.replay.summary;
  expected = (double)exported.replay.summary->n_passes / (double)exported.replay.summary->jobs_submitted;
}

static void in_the_list(void) {
  const struct hr_metric *metrics;
  size_t count = hr_metrics(&metrics);
  CU_ASSERT_STRING_EQUAL(metrics[count - 1].path, "passes_per_job");
  CU_ASSERT_STRING_EQUAL(metrics[count - 1].title, "Passes per job");
  CU_ASSERT_EQUAL(metrics[count - 1].direction, HR_LOWER_IS_BETTER);
}

static void in_the_summary(void) {
  static const struct hr_perf perf = {0};
  char *text = NULL;
  size_t size;
  prepare();
  char *json = hr_summary_json(exported.replay.summary, &exported.label, &perf);
  CU_ASSERT_DOUBLE_EQUAL(strtod(number_after(json, "\"passes_per_job\":"), NULL), expected, 1e-6);
  free(json);
  FILE *out = open_memstream(&text, &size);
  CU_ASSERT_EQUAL(hr_summary_print(out, exported.replay.summary, &exported.label, &perf, 0), HR_OK);
  fclose(out);
  expect_in(text, "Passes per job: ");
  CU_ASSERT_EQUAL(hr_summary_write_markdown(files_path("s.md"), exported.replay.summary, &exported.label, NULL), HR_OK);
  expect_in(files_read(files_path("s.md")), "| Passes per job | ");
}

static void in_openmetrics(void) {
  const struct hr_openmetrics_config config = {0};
  prepare();
  CU_ASSERT_EQUAL(hr_openmetrics_write(files_path("m.txt"), &exported.run, &config, NULL, NULL), HR_OK);
  char *text = files_read(files_path("m.txt"));
  CU_ASSERT_DOUBLE_EQUAL(strtod(number_after(text, "\nheadroom_run_passes_per_job "), NULL), expected, 1e-6);
  expect_in(text, "# HELP headroom_run_passes_per_job passes of the policy / submitted jobs\n");
}

static void in_compare(void) {
  prepare();
  const struct hr_contender contender = {.name = "p", .label = "p", .policy = &exported.scenario->policy};
  const struct hr_compare_config config = {.scenario = exported.scenario,
                                           .trace = exported.trace,
                                           .contenders = &contender,
                                           .n_contenders = 1,
                                           .n_threads = 1};
  struct hr_comparison *comparison;
  CU_ASSERT_EQUAL_FATAL(hr_compare(&config, &comparison, NULL), HR_OK);
  CU_ASSERT_DOUBLE_EQUAL(hr_comparison_estimate(comparison, 0, "passes_per_job").value, expected, 1e-6);
  CU_ASSERT_EQUAL(hr_comparison_write_csv(files_path("c.csv"), comparison, NULL), HR_OK);
  expect_in(files_read(files_path("c.csv")), "\np,all,,passes_per_job,");
  expect_in(hr_comparison_json(comparison, NULL), "\"passes_per_job\":");
  hr_comparison_destroy(comparison);
}

static void in_goals_and_sweeps(void) {
  static struct hr_grid grid;
  static const struct hr__sweep sweep = {.grid = &grid};
  struct hr__scoped_metric metric;
  prepare();
  CU_ASSERT_EQUAL(hr__scoped_metric_parse("passes_per_job", 14, exported.trace, NULL, &metric, NULL), HR_OK);
  CU_ASSERT_EQUAL(metric.id, HR__M_PASSES_PER_JOB);
  char *sql = hr__sweep_schema_sql(&sweep, HR__SWEEP_CREATE_RUNS);
  CU_ASSERT_PTR_NOT_NULL(strstr(sql, ", passes_per_job REAL"));
  sqlite3_free(sql);
}

static void in_generated_files(void) {
  expect_in(generated_schema("docs/reference/schemas/summary.schema.json", ~0U, true), "\"passes_per_job\": {");
  expect_in(generated_columns("docs/reference/schemas/compare.schema.json"), "\"passes_per_job\": {");
  exported_finish(&exported);
}

TEST_MAIN("report: one more metric", TEST(in_the_list), TEST(in_the_summary), TEST(in_openmetrics), TEST(in_compare),
          TEST(in_goals_and_sweeps), TEST(in_generated_files))
