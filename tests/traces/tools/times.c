/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parsing of durations and instants in command-line options. */
#include "harness.h"
#include "headroom/trace_files.h"

#include "headroom/unstable/trace_tools.h"
#include "trace_files.h"

#include <string.h>

static bool parses_to(const char *text, bool may_be_negative, int64_t wanted_us) {
  int64_t us = 0;
  struct hr_error error = {0};
  if (hr_span_parse("jitter", text, may_be_negative, &us, &error) == HR_OK && us == wanted_us) return true;
  fprintf(stderr, "\n    '%s' is %lld us; %s\n", text, (long long)us, error.text);
  return false;
}

static bool is_rejected(const char *text) {
  int64_t us = 0;
  struct hr_error error = {0};
  if (hr_span_parse("jitter", text, false, &us, &error) == HR_BAD_INPUT &&
      strstr(error.text, "expected a duration like 90 (seconds), 45m, 36h, 2d, 1w or 1d12h"))
    return true;
  fprintf(stderr, "\n    '%s' is %lld us; %s\n", text, (long long)us, error.text);
  return false;
}

static void durations_with_units(void) {
  CU_ASSERT(parses_to("90", false, 90 * HR_SECOND_US));
  CU_ASSERT(parses_to("0", false, 0));
  CU_ASSERT(parses_to("0.000001", false, 1));
  CU_ASSERT(parses_to("1.5h", false, 5400 * HR_SECOND_US));
  CU_ASSERT(parses_to("45m", false, 2700 * HR_SECOND_US));
  CU_ASSERT(parses_to("2d", false, 172800 * HR_SECOND_US));
  CU_ASSERT(parses_to("1w", false, 604800 * HR_SECOND_US));
  CU_ASSERT(parses_to("1d12h30m5s", false, 131405 * HR_SECOND_US));
  CU_ASSERT(parses_to("-36h", true, -129600 * HR_SECOND_US));
  CU_ASSERT(parses_to("100000000000", false, HR_MAX_INPUT_US));
}

static void invalid_durations_are_rejected(void) {
  static const char *const texts[] = {"",
                                      "1h30", /* ambiguous: 30 minutes or 30 seconds */
                                      "d",
                                      "-1",
                                      "1x",
                                      "1.h",
                                      "1..5h",
                                      " 1",
                                      "1 ",
                                      "1e3",
                                      "nan",
                                      "inf",
                                      "0x10",
                                      "1dd",
                                      "+1",
                                      "1.5.5",
                                      "@1",
                                      "1,5",
                                      "100000000001",
                                      "1d ",
                                      "--1d",
                                      "99999999999999999999",
                                      "1000000000w",
                                      "50000000000s50000000001s"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) CU_ASSERT(is_rejected(texts[i]));
}

static int64_t time_of(const struct hr_trace *trace, const char *text, struct hr_error *error) {
  int64_t us = INT64_MIN;
  *error = (struct hr_error){0};
  enum hr_status status = hr_trace_time_parse(trace, "from", text, &us, error);
  return status == HR_OK ? us : INT64_MIN;
}

static void instants_use_the_clock_of_the_trace(void) {
  struct hr_error error;
  struct hr_trace *dated = trace_of("submit_s,duration_s,gpus\n2026-01-02T12:00:00Z,1,1\n", NULL);
  struct hr_trace *local = trace_of("submit_s,duration_s,gpus\n2026-01-02T12:00:00,1,1\n", NULL);
  struct hr_trace *plain = trace_of("submit_s,duration_s,gpus\n1000,1,1\n", NULL);
  CU_ASSERT_EQUAL(time_of(dated, "2d", &error), 172800 * HR_SECOND_US);
  CU_ASSERT_EQUAL(time_of(dated, "2026-01-03", &error), 43200 * HR_SECOND_US);
  CU_ASSERT_EQUAL(time_of(dated, "2026-01-02T14:00+01:00", &error), 3600 * HR_SECOND_US);
  CU_ASSERT_EQUAL(time_of(dated, "2026-01-01", &error), -129600 * HR_SECOND_US);
  CU_ASSERT_EQUAL(time_of(local, "2026-01-03", &error), 43200 * HR_SECOND_US);
  CU_ASSERT_EQUAL(time_of(plain, "@1500.5", &error), 500500000);
  CU_ASSERT_EQUAL(time_of(plain, "7", &error), 7 * HR_SECOND_US);
  CU_ASSERT_EQUAL(time_of(plain, "2026-01-03", &error), INT64_MIN);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "are seconds without dates; expected @SECONDS on the clock"));
  CU_ASSERT_EQUAL(time_of(dated, "@5", &error), INT64_MIN);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "are dates; expected a date, like 2026-11-21T08:30"));
  CU_ASSERT_EQUAL(time_of(local, "2026-01-03T00:00Z", &error), INT64_MIN);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "have no time zone"));
  CU_ASSERT_EQUAL(time_of(dated, "2026-02-30", &error), INT64_MIN);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "not a valid date"));
  CU_ASSERT_EQUAL(time_of(plain, "@x", &error), INT64_MIN);
  CU_ASSERT_EQUAL(time_of(plain, "-5", &error), INT64_MIN);
  hr_trace_destroy(dated);
  hr_trace_destroy(local);
  hr_trace_destroy(plain);
}

TEST_MAIN("times as written", TEST(durations_with_units), TEST(invalid_durations_are_rejected),
          TEST(instants_use_the_clock_of_the_trace))
