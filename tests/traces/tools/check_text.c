/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts of findings: faults of rows together with faults of columns, notes of readers, small traces, allowed codes, and
   a comparison of the JSON file with its schema. */

#include "harness.h"
#include "headroom/scenario.h"
#include "headroom/unstable/exports.h"
#include "output_files.h"
#include "planted.h"
#include "samples.h"
#include "schema_check.h"
#include "trace_files.h"

#include <string.h>

static const struct hr_trace_options lenient = {.lenient = true};

static struct hr_trace *read_text(const char *text) {
  struct hr_trace *trace = trace_of(text, &lenient);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  return trace;
}

/* Returns whether some finding has this code, this count and this line, and a text that contains `part`. */
static bool has_finding(const struct hr_trace_check *check, enum hr_finding_code code, const char *part, uint64_t count,
                        uint64_t line) {
  const struct hr_finding *findings = check->findings;
  for (size_t i = 0; i < check->n_findings; i++)
    if (findings[i].code == code && strstr(findings[i].text, part) && findings[i].count == count &&
        findings[i].line == line)
      return true;
  return false;
}

/* ---- Rows ------------------------------------------------------------------------------------------- */

static void bad_rows_do_not_hide_other_findings(void) {
  struct hr_trace *trace = read_text("job_id,submit_s,duration_s,gpus,limit_s\n"
                                     "a,100,0,1,50\n"
                                     "b,90,-5,1,50\n"
                                     "c,95,nan,1,50\n"
                                     "d,96,400,1,50\n"
                                     "e,97,5,x,50\n"
                                     "a,98,5,1,50\n"
                                     "f,1700000000000,5,1,50\n"
                                     "g,99,5,1\n");
  struct hr_trace_check *check = check_of(trace, NULL);
  CU_ASSERT_EQUAL(trace->n_jobs, 2);
  CU_ASSERT(has_finding(check, HR_FINDING_BAD_ROWS, "'duration_s': not a number of seconds of at least 0", 2, 3));
  CU_ASSERT(has_finding(check, HR_FINDING_BAD_ROWS, "'gpus'", 1, 6));
  CU_ASSERT(has_finding(check, HR_FINDING_BAD_ROWS, "for a column in ms", 1, 8));
  CU_ASSERT(has_finding(check, HR_FINDING_BAD_ROWS, "too few fields", 1, 9));
  CU_ASSERT(has_finding(check, HR_FINDING_DUPLICATE_IDS, "already used", 1, 7));
  CU_ASSERT(has_finding(check, HR_FINDING_ZERO_RUN_TIMES, "1 job (50 %)", 1, 0));
  CU_ASSERT(has_finding(check, HR_FINDING_BEYOND_LIMIT, "1 job (50 %", 1, 0));
  CU_ASSERT(has_finding(check, HR_FINDING_UNSORTED, "1 row (50 %)", 1, 0));
  CU_ASSERT_EQUAL(hr_trace_check_count(check, HR_SEVERITY_ERROR), 5);
  hr_trace_check_destroy(check);
  hr_trace_destroy(trace);
}

static void skipped_rows_are_not_errors(void) {
  struct hr_trace *trace = read_text(HELIOS_SAMPLE);
  struct hr_trace_check *check = check_of(trace, NULL);
  CU_ASSERT(has_finding(check, HR_FINDING_LEFT_OUT, "the job was never started", 1, 5));
  CU_ASSERT(has_finding(check, HR_FINDING_LEFT_OUT, "the job had not ended", 1, 6));
  CU_ASSERT(has_finding(check, HR_FINDING_READER, "dates have no time zone", 0, 0));
  CU_ASSERT_EQUAL(hr_trace_check_count(check, HR_SEVERITY_ERROR), 0);
  CU_ASSERT_PTR_NULL(finding_of(check, HR_FINDING_BAD_ROWS));
  hr_trace_check_destroy(check);
  hr_trace_destroy(trace);
}

/* ---- Small traces ----------------------------------------------------------------------------------- */

static void small_traces_have_no_warnings(void) {
  static const char *const texts[] = {
      "submit_s,duration_s,gpus\n5,10,1\n", "submit_s,duration_s,gpus\n5,10,1\n5,10,1\n",
      "submit_s,duration_s,gpus\n0,1e10,1\n1e10,1,4000000\n", "submit_s,duration_s,gpus,status\n7,0,0,cancelled\n"};
  static const size_t n_warnings[] = {0, 0, 1, 1};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct hr_trace *trace = read_text(texts[i]);
    struct hr_trace_check *check = check_of(trace, NULL);
    CU_ASSERT_PTR_NOT_NULL(finding_of(check, HR_FINDING_SHORT_TRACE));
    if (i == 2) CU_ASSERT_PTR_NOT_NULL(finding_of(check, HR_FINDING_LONG_RUN_TIMES));
    if (i < 2) CU_ASSERT_EQUAL(hr_trace_check_count(check, HR_SEVERITY_WARNING), n_warnings[i]);
    hr_trace_check_destroy(check);
    hr_trace_destroy(trace);
  }
}

/* ---- Codes ------------------------------------------------------------------------------------------ */

static void allowed_codes_are_not_reported(void) {
  struct hr_trace *trace = read_text("submit_s,duration_s,gpus\n5,0,1\n");
  struct hr_trace_check_config config = {.trace = trace};
  struct hr_trace_check *check;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr_findings_parse("zero-run-times,short-trace", config.allowed, &error), HR_OK);
  CU_ASSERT_EQUAL(hr_trace_check_make(&config, &check, &error), HR_OK);
  CU_ASSERT_PTR_NULL(finding_of(check, HR_FINDING_ZERO_RUN_TIMES));
  CU_ASSERT_PTR_NULL(finding_of(check, HR_FINDING_SHORT_TRACE));
  CU_ASSERT_PTR_NOT_NULL(finding_of(check, HR_FINDING_NO_USERS));
  CU_ASSERT_EQUAL(hr_findings_parse("burst,gaps", config.allowed, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "did you mean 'gap'"));
  CU_ASSERT_EQUAL(hr_findings_parse("burst,", config.allowed, &error), HR_BAD_INPUT);
  hr_trace_check_destroy(check);
  hr_trace_destroy(trace);
}

/* All findings except notes of readers have an explanation. All findings have a row in the documentation. */
static void every_finding_is_documented(void) {
  char *page = files_read(PROJECT_DIR "/docs/reference/trace-check.md");
  for (unsigned code = 0; code < HR_N_FINDINGS; code++) {
    char row[64];
    snprintf(row, sizeof row, "\n| `%s` |", hr_finding_name((enum hr_finding_code)code));
    CU_ASSERT(code == HR_FINDING_READER || hr_finding_meaning((enum hr_finding_code)code));
    if (!strstr(page, row))
      printf("\n    docs/reference/trace-check.md has no row of %s", hr_finding_name((enum hr_finding_code)code));
    CU_ASSERT_PTR_NOT_NULL(strstr(page, row));
  }
  free(page);
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static void expect_schema(const cJSON *schema, const struct hr_trace_check *check) {
  struct hr_error error = {0};
  char path[300];
  snprintf(path, sizeof path, "%s", files_path("check.json"));
  CU_ASSERT_EQUAL_FATAL(hr_trace_check_write_json(path, check, &error), HR_OK);
  char *text = files_read(path);
  cJSON *tree = cJSON_Parse(text);
  CU_ASSERT_TRUE(schema_fits(schema, tree, "check"));
  CU_ASSERT_PTR_NOT_NULL_FATAL(cJSON_AddNumberToObject(tree, "extra", 0));
  CU_ASSERT_FALSE(schema_fits(schema, tree, "on purpose"));
  cJSON_Delete(tree);
  free(text);
}

static void every_key_is_in_the_schema(void) {
  struct hr_scenario *scenario = NULL;
  struct hr_error error = {0};
  char *text = files_read(PROJECT_DIR "/docs/reference/schemas/trace-check.schema.json");
  cJSON *schema = cJSON_Parse(text);
  free(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(PROJECT_DIR "/scenarios/demo.json", NULL, 0, &scenario, &error), HR_OK);
  struct planted planted;
  planted_grow(&planted, 9, 1500);
  planted.jobs[3].types = "B200";
  planted.jobs[4].gpus = 100000;
  struct hr_trace *trace = planted_trace(&planted), *rows = read_text(HELIOS_SAMPLE);
  struct hr_trace_check *check = check_of(trace, scenario), *small = check_of(rows, NULL);
  CU_ASSERT(hr_trace_check_count(check, HR_SEVERITY_ERROR) >= 2);
  expect_schema(schema, check);
  expect_schema(schema, small);
  hr_trace_check_destroy(small);
  hr_trace_check_destroy(check);
  hr_trace_destroy(rows);
  hr_trace_destroy(trace);
  planted_finish(&planted);
  hr_scenario_destroy(scenario);
  cJSON_Delete(schema);
}

TEST_MAIN("workload: checks of text", TEST(bad_rows_do_not_hide_other_findings), TEST(skipped_rows_are_not_errors),
          TEST(small_traces_have_no_warnings), TEST(allowed_codes_are_not_reported), TEST(every_finding_is_documented),
          TEST(every_key_is_in_the_schema))
