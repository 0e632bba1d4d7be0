/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Detection of formats, and the readers of 'philly' and 'openb', which are CSV files with other columns than
   Headroom's. */
#include "harness.h"

#include "expected.h"
#include "trace_files.h"

#include <string.h>

static void the_content_determines_the_format(void) {
  CU_ASSERT(is_detected_as("; comment\n", "swf"));
  CU_ASSERT(is_detected_as("\n \n\t; comment\n", "swf"));
  CU_ASSERT(is_detected_as("1 0 0 9 1 -1 -1 1 -1 -1 1 1 1 1 1 1 1 1\n", "swf"));
  CU_ASSERT(is_detected_as("  1 0 0 9 1 -1 -1 1 -1 -1 1 1 1 1 1 1 1 1 99 5", "swf"));
  CU_ASSERT(is_detected_as("1 0 0 9 1 -1 -1 1 -1 -1 1 1 1 1 1 1 1\n", "csv"));
  CU_ASSERT(is_detected_as("timestamp,duration,num_gpus,gpu_time,cluster\n", "philly"));
  CU_ASSERT(is_detected_as("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n", "openb"));
  CU_ASSERT(is_detected_as("# made by hand\nsubmit_s,duration_s,gpus\n", "csv"));
  CU_ASSERT(is_detected_as("", "csv"));
}

static void formats_are_listed(void) {
  const struct hr_trace_format *format = hr_trace_formats();
  CU_ASSERT_STRING_EQUAL(format->name, "auto");
  int n = 0;
  for (; format->name; format++, n++) CU_ASSERT_PTR_NOT_NULL(format->summary);
  CU_ASSERT_EQUAL(n, 18);
  CU_ASSERT(
      refused("x\n", &(struct hr_trace_options){.format = "sfw"}, "unknown trace format 'sfw'", "did you mean 'swf'?"));
}

static void a_column_map_selects_csv(void) {
  struct hr_column_map map = {0};
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_column_map_parse(&map, "submit=timestamp,gpus=num_gpus,duration=duration", &error), HR_OK);
  struct hr_trace *trace = trace_of("timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,a\n",
                                    &(struct hr_trace_options){.map = &map});
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_STRING_EQUAL(trace->format, "csv");
  hr_trace_destroy(trace);
  CU_ASSERT(refused(";\n", &(struct hr_trace_options){.map = &map, .format = "swf"},
                    "jobs.csv: column maps and patterns need named columns", "which format 'swf' does not have"));
  hr_column_map_finish(&map);
}

static void philly_is_sorted_and_numbered_by_row(void) {
  struct hr_trace *trace = trace_of("timestamp,duration,num_gpus,gpu_time,cluster\n"
                                    "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
                                    "2017-10-09 06:13:03,2951.0,8,23608.0,6214e9\n",
                                    NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_STRING_EQUAL(trace->format, "philly");
  CU_ASSERT(trace->dated);
  CU_ASSERT_EQUAL(trace->gpus[0], 8);
  CU_ASSERT_EQUAL(trace->submit_us[1], 2932 * HR_SECOND_US);
  CU_ASSERT_STRING_EQUAL(trace->tenants.text[trace->tenant[0]], "6214e9");
  char buffer[HR_JOB_ID_BUFFER];
  CU_ASSERT_STRING_EQUAL(hr_trace_job_id(trace, (hr_job){0}, buffer), "2");
  CU_ASSERT_EQUAL(trace->notes.count, 1);
  CU_ASSERT(has_note(&trace->notes, "no time zone"));
  hr_trace_destroy(trace);
}

#define PODS                                                                                                           \
  "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"                    \
  "scheduled_time\n"

static void openb_pods_become_jobs(void) {
  struct hr_trace *trace = trace_of(PODS "p0,12000,16384,1,460,T4|P100,LS,Running,10,100,30\n"
                                         "p1,8000,30517,0,0,,BE,Pending,20,50,\n"
                                         "p2,4000,1024,8,1000,,Guaranteed,Failed,30,90,40\n",
                                    NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_STRING_EQUAL(trace->format, "openb");
  static const int64_t work_s[] = {70, 30, 50};
  static const uint32_t gpus[] = {1, 0, 8};
  static const uint16_t shares[] = {460, 1000, 1000};
  static const uint8_t outcomes[] = {HR_OUTCOME_UNKNOWN, HR_OUTCOME_UNKNOWN, HR_OUTCOME_FAILED};
  for (uint32_t i = 0; i < 3; i++) {
    CU_ASSERT_EQUAL(trace->work_us[i], work_s[i] * HR_SECOND_US);
    CU_ASSERT_EQUAL(trace->gpus[i], gpus[i]);
    CU_ASSERT_EQUAL(trace->gpu_milli[i], shares[i]);
    CU_ASSERT_EQUAL(trace->outcome[i], outcomes[i]);
  }
  CU_ASSERT_STRING_EQUAL(trace->gpu_type_lists.text[trace->gpu_types[0]], "T4|P100");
  CU_ASSERT_EQUAL(trace->recorded_start_us[0], 20 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->recorded_start_us[1], HR_UNKNOWN_US);
  CU_ASSERT_EQUAL(trace->recorded_start_us[2], 30 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->cpu_milli[0], 12000);
  CU_ASSERT_EQUAL(trace->mem_mib[1], 30517);
  CU_ASSERT(
      has_note(&trace->notes,
               "1 job requests a fraction of a GPU: pools that share GPUs allocate the fraction, others a whole GPU"));
  CU_ASSERT(has_note(&trace->notes, "1 pod was never scheduled"));
  hr_trace_destroy(trace);
}

static void openb_lists_without_times_are_rejected(void) {
  CU_ASSERT(refused("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,1,1,1,1000\n", NULL,
                    "jobs.csv:1: missing columns 'creation_time'", "cannot be replayed"));
  CU_ASSERT(refused(PODS "p0,1,1,1,1000,,LS,Failed,10,20,30\n", NULL, "jobs.csv:2: ", "deleted before"));
}

TEST_MAIN("formats", TEST(the_content_determines_the_format), TEST(formats_are_listed), TEST(a_column_map_selects_csv),
          TEST(philly_is_sorted_and_numbered_by_row), TEST(openb_pods_become_jobs),
          TEST(openb_lists_without_times_are_rejected))
