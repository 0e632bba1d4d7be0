/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of the Standard Workload Format (SWF). */
#include "harness.h"
#include "headroom/trace_files.h"

#include "trace_files.h"

#include <string.h>

#define REST " -1 -1 -1 -1 -1\n"

static void all_fields_are_read(void) {
  struct hr_trace *trace =
      trace_of("; a comment\n\n"
               "  1  100  5  60  4  -1 -1  8  300 -1 1  7  3" REST "  ; another\n"
               "2\t110 -1 0 -1 -1 -1 16 -1 -1 0 -1 -1" REST "3 120 0 400.5 2 -1 -1 2 300 -1 5 7 0" REST,
               NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_STRING_EQUAL(trace->format, "swf");
  CU_ASSERT_EQUAL(trace->n_jobs, 3);
  CU_ASSERT_EQUAL(trace->origin_us, 100 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->work_us[2], 400500000);
  static const uint32_t gpus[] = {4, 16, 2};
  static const int64_t limits_us[] = {300 * HR_SECOND_US, HR_UNKNOWN_US, 300 * HR_SECOND_US};
  static const uint8_t outcomes[] = {HR_OUTCOME_COMPLETED, HR_OUTCOME_FAILED, HR_OUTCOME_CANCELLED};
  for (uint32_t i = 0; i < 3; i++) {
    CU_ASSERT_EQUAL(trace->gpus[i], gpus[i]);
    CU_ASSERT_EQUAL(trace->limit_us[i], limits_us[i]);
    CU_ASSERT_EQUAL(trace->outcome[i], outcomes[i]);
    char id[HR_JOB_ID_BUFFER], row[] = {(char)('1' + i), '\0'};
    CU_ASSERT_STRING_EQUAL(hr_trace_job_id(trace, (hr_job){i}, id), row);
  }
  CU_ASSERT_EQUAL(trace->recorded_start_us[0], 5 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->recorded_start_us[1], HR_UNKNOWN_US);
  CU_ASSERT_EQUAL(trace->recorded_start_us[2], 20 * HR_SECOND_US);
  CU_ASSERT_STRING_EQUAL(trace->users.text[trace->user[2]], "7");
  CU_ASSERT_STRING_EQUAL(trace->tenants.text[trace->tenant[0]], "3");
  CU_ASSERT_STRING_EQUAL(trace->tenants.text[trace->tenant[2]], "0");
  CU_ASSERT_EQUAL(trace->user[1], HR_NONE);
  CU_ASSERT(has_note(&trace->notes, "1 job ran longer than its requested time"));
  CU_ASSERT(
      has_note(&trace->notes, "1 job has a different number of processors than requested (field 8), which is ignored"));
  hr_trace_destroy(trace);
}

/* Returns the submit time of the first job of a log with this header, in seconds since 1970 if the log is dated, else
   on the clock of the log. Returns -1 if the trace's `dated` differs from `dated`. */
static int64_t origin_s(const char *header, bool dated) {
  char text[300];
  snprintf(text, sizeof text, "%s1 10 5 60 4 -1 -1 8 -1 -1 1 7 3%s", header, REST);
  struct hr_trace *trace = trace_of(text, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  int64_t second = trace->dated == dated ? trace->origin_us / HR_SECOND_US : -1;
  CU_ASSERT_EQUAL(trace->recorded_start_us[0], 5 * HR_SECOND_US);
  hr_trace_destroy(trace);
  return second;
}

static void logs_with_utc_start_times_are_dated(void) {
  CU_ASSERT_EQUAL(origin_s("; UnixStartTime: 1000\n; TimeZoneString: UTC\n", true), 1010);
  CU_ASSERT_EQUAL(origin_s(";TimeZoneString:UTC \r\n;   UnixStartTime: -1000\r\n", true), -990);
  CU_ASSERT_EQUAL(origin_s("; UnixStartTime: 1000\n; TimeZoneString: Asia/Tokyo\n", false), 10);
  CU_ASSERT_EQUAL(origin_s("; UnixStartTime: 1000\n", false), 10);
  CU_ASSERT_EQUAL(origin_s("; TimeZoneString: UTC\n; UnixStartTime: never\n", false), 10);
  CU_ASSERT_EQUAL(origin_s("; TimeZoneString: UTC\n; UnixStartTime: 9000000000000000000\n", false), 10);
  struct hr_trace *without_start =
      trace_of("; TimeZoneString: UTC\n; UnixStartTime: 1e9\n1 10 5 60 4 -1 -1 8 -1 -1 1 7 3" REST, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(without_start);
  CU_ASSERT(has_note(&without_start->notes, "the header's UnixStartTime is not a whole number"));
  hr_trace_destroy(without_start);
  struct hr_trace *trace = trace_of("1 10 5 60 4 -1 -1 8 -1 -1 1 7 3" REST "; TimeZoneString: UTC\n; UnixStartTime: 7\n"
                                    "2 10 5 60 4 -1 -1 8 -1 -1 1 7 3" REST,
                                    NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(!trace->dated && trace->submit_us[1] == 0);
  hr_trace_destroy(trace);
}

static void the_number_of_fields(void) {
  struct hr_trace *trace = trace_of("1 0 0 9 1 -1 -1 1 -1 -1 1 1 1 1 1 1 1 1 extra 7\n", NULL);
  CU_ASSERT_PTR_NOT_NULL(trace);
  hr_trace_destroy(trace);
  CU_ASSERT(refused(";\n1 0 0 9 1 -1 -1 1 -1 -1 1 1 1 1 1 1 1\n", NULL, "jobs.csv:2: too few fields",
                    "found 17 numbers, expected 18"));
}

static void jobs_that_cannot_be_replayed_are_errors(void) {
  CU_ASSERT(
      refused(";\n1 0 0 -1 1 -1 -1 1 -1 -1 1 1 1" REST, NULL, "jobs.csv:2: column '4 (run time)': '-1'", "unknown"));
  CU_ASSERT(refused(";\n1 0 0 9 -1 -1 -1 0 -1 -1 1 1 1" REST, NULL, "jobs.csv:2: column '5 (allocated processors)'",
                    "requested processors"));
  CU_ASSERT(refused(";\n1 -1 0 9 1 -1 -1 0 -1 -1 1 1 1" REST, NULL, "jobs.csv:2: column '2 (submit time)'", "unknown"));
  CU_ASSERT(refused(";\n1 0 0 abc 1 -1 -1 0 -1 -1 1 1 1" REST, NULL, "jobs.csv:2: column '4 (run time)': 'abc'",
                    "not a number of seconds"));
  CU_ASSERT(refused(";\n1 0 soon 9 1 -1 -1 1 -1 -1 1 1 1" REST, NULL, "jobs.csv:2: column '3 (wait time)': 'soon'",
                    "not a number of seconds"));
  CU_ASSERT(refused(";\n1 0 0 9 5000000 -1 -1 0 -1 -1 1 1 1" REST, NULL, "jobs.csv:2: ", "too large"));
}

static void lenient_reading_skips_bad_rows(void) {
  struct hr_trace *trace = trace_of(";\n1 0 0 -1 1 -1 -1 1 -1 -1 1 1 1" REST "2 0 0 9 1 -1 -1 1 -1 -1 1 1 1" REST,
                                    &(struct hr_trace_options){.lenient = true});
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->n_jobs, 1);
  CU_ASSERT_EQUAL(trace->n_skipped, 1);
  CU_ASSERT_STRING_EQUAL(trace->skipped[0].reason, "column '4 (run time)': unknown: the job cannot be replayed");
  hr_trace_destroy(trace);
}

static void files_of_comments_are_rejected(void) {
  CU_ASSERT(refused("; nothing\n;\n", NULL, "jobs.csv: ", "no job"));
}

TEST_MAIN("swf", TEST(all_fields_are_read), TEST(logs_with_utc_start_times_are_dated), TEST(the_number_of_fields),
          TEST(jobs_that_cannot_be_replayed_are_errors), TEST(lenient_reading_skips_bad_rows),
          TEST(files_of_comments_are_rejected))
