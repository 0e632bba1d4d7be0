/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The known faults of public traces are found. */

#include "harness.h"
#include "planted.h"
#include "trace_files.h"

#include <string.h>

#define HELIOS REAL_TRACES_DIR "/helios-venus/helios_trace.csv.gz"
#define SEPTEMBER REAL_TRACES_DIR "/helios-venus/helios_venus_2vc_sept.csv"
#define PHILLY REAL_TRACES_DIR "/philly/philly.csv.gz"
#define PAI REAL_TRACES_DIR "/alibaba-pai2020/alibaba_trace_sub.csv.gz"
#define RICC REAL_TRACES_DIR "/swf/RICC-2010-2.swf.gz"

static struct hr_trace_check *check_file(const char *path, const char *columns, struct hr_trace **trace) {
  struct hr_column_map map = {0};
  struct hr_error error = {0};
  if (columns && hr_column_map_parse(&map, columns, &error) != HR_OK) printf("\n    %s\n", error.text);
  *trace = trace_at(path, &(struct hr_trace_options){.map = &map, .lenient = true});
  hr_column_map_finish(&map);
  CU_ASSERT_PTR_NOT_NULL_FATAL(*trace);
  return check_of(*trace, NULL);
}

static void expect(const struct hr_trace_check *check, enum hr_finding_code code, uint64_t count, const char *part) {
  const struct hr_finding *finding = finding_of(check, code);
  CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
  if (count) CU_ASSERT_EQUAL(finding->count, count);
  if (!strstr(finding->text, part)) printf("\n    %s\n", finding->text);
  CU_ASSERT_PTR_NOT_NULL(strstr(finding->text, part));
}

static void helios_run_times_are_clamped_at_two_days(void) {
  struct hr_trace *trace;
  if (real_trace_missing(HELIOS)) return;
  struct hr_trace_check *check = check_file(HELIOS, "submit=arrival_s,duration=service_sec,gpus=gpu_count", &trace);
  expect(check, HR_FINDING_CLAMPED_RUN_TIMES, 2379, "ran for exactly 2 d, and none ran longer");
  expect(check, HR_FINDING_GAP, 0, "no job for 7 d 13 h, from 0 s");
  CU_ASSERT_EQUAL(hr_trace_check_count(check, HR_SEVERITY_ERROR), 0);
  hr_trace_check_destroy(check);
  hr_trace_destroy(trace);
}

static void limits_of_helios_september_are_run_times(void) {
  struct hr_trace *trace;
  if (real_trace_missing(SEPTEMBER)) return;
  struct hr_trace_check *check =
      check_file(SEPTEMBER, "submit=submit_time(us),gpus=num_chips,limit=walltime_limit_s,status=final_status", &trace);
  expect(check, HR_FINDING_LIMITS_ARE_RUN_TIMES, 0, "is the run time itself");
  hr_trace_check_destroy(check);
  hr_trace_destroy(trace);
}

static void philly_is_not_sorted(void) {
  struct hr_trace *trace;
  if (real_trace_missing(PHILLY)) return;
  struct hr_trace_check *check = check_file(PHILLY, NULL, &trace);
  expect(check, HR_FINDING_UNSORTED, 0, "directly after one that was submitted later");
  expect(check, HR_FINDING_ALL_SINGLE_GPU, 76627, "93 %");
  expect(check, HR_FINDING_READER, 0, "dates have no time zone");
  CU_ASSERT_EQUAL(hr_trace_check_count(check, HR_SEVERITY_ERROR), 0);
  hr_trace_check_destroy(check);
  hr_trace_destroy(trace);
}

static void pai_requests_were_rounded_up_to_gpus(void) {
  struct hr_trace *trace;
  if (real_trace_missing(PAI)) return;
  struct hr_trace_check *check = check_file(PAI, "submit=arrival_s,duration=service_sec,gpus=gpu_count", &trace);
  expect(check, HR_FINDING_ALL_SINGLE_GPU, 0, "one whole GPU");
  expect(check, HR_FINDING_ODD_SIZES, 9065, "66 %");
  hr_trace_check_destroy(check);
  hr_trace_destroy(trace);
}

/* Ten jobs have run time 0. Eight of them were cancelled. */
static void ricc_has_jobs_with_run_time_0(void) {
  struct hr_trace *trace;
  if (real_trace_missing(RICC)) return;
  struct hr_trace_check *check = check_file(RICC, NULL, &trace);
  expect(check, HR_FINDING_ZERO_RUN_TIMES, 2, "have run time 0");
  expect(check, HR_FINDING_CANCELLED_UNRUN, 8, "before running");
  hr_trace_check_destroy(check);
  hr_trace_destroy(trace);
}

TEST_MAIN("workload: checks of real traces", TEST(helios_run_times_are_clamped_at_two_days),
          TEST(limits_of_helios_september_are_run_times), TEST(philly_is_not_sorted),
          TEST(pai_requests_were_rounded_up_to_gpus), TEST(ricc_has_jobs_with_run_time_0))
