/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of Headroom's CSV format: the order of columns, column maps, line numbers in errors, lenient reading. */
#include "harness.h"
#include "headroom/trace_files.h"

#include "trace_files.h"

#include <string.h>

static struct hr_trace *mapped(const char *text, const char *map_text) {
  struct hr_column_map map = {0};
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_column_map_parse(&map, map_text, &error), HR_OK);
  struct hr_trace *trace = trace_of(text, &(struct hr_trace_options){.map = &map});
  hr_column_map_finish(&map);
  if (!trace) fprintf(stderr, "\n    %s\n", trace_error());
  return trace;
}

/* A value of nearly 1 MiB is in a column that is mapped to three fields. Each field has its own copy of the text. */
static void one_column_can_be_mapped_to_several_fields(void) {
  enum { LENGTH = 1000000 };
  char *text = malloc(LENGTH + 100);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  size_t used = (size_t)sprintf(text, "x,submit_s,duration_s,gpus\n");
  memset(text + used, 'a', LENGTH);
  sprintf(text + used + LENGTH, ",0,1,1\n");
  struct hr_trace *trace = mapped(text, "user=x,tenant=x,model=x");
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(strlen(trace->users.text[0]), LENGTH);
  CU_ASSERT_STRING_EQUAL(trace->users.text[0], trace->models.text[0]);
  CU_ASSERT_STRING_EQUAL(trace->users.text[0], trace->tenants.text[0]);
  hr_trace_destroy(trace);
  free(text);
}

static void units_follow_from_the_names_of_mapped_columns(void) {
  struct hr_trace *trace =
      mapped("a_min,b_h,c_days,n\n1,2,3,1\n2,2,3,1\n", "submit=a_min,duration=b_h,limit=c_days,gpus=n");
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->submit_us[1], 60 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->work_us[0], 7200 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->limit_us[0], 3 * 86400 * HR_SECOND_US);
  hr_trace_destroy(trace);
}

static bool mapped_refused(const char *text, const char *map_text, const char *start, const char *part) {
  struct hr_column_map map = {0};
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_column_map_parse(&map, map_text, &error), HR_OK);
  bool right = refused(text, &(struct hr_trace_options){.map = &map}, start, part);
  hr_column_map_finish(&map);
  return right;
}

static void columns_can_be_in_any_order(void) {
  struct hr_trace *trace = trace_of("gpus,duration_s,submit_s\n2,10,100\n4,20.5,101.25\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->n_jobs, 2);
  CU_ASSERT_EQUAL(trace->origin_us, 100 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->submit_us[0], 0);
  CU_ASSERT_EQUAL(trace->submit_us[1], 1250000);
  CU_ASSERT_EQUAL(trace->work_us[1], 20500000);
  CU_ASSERT_EQUAL(trace->gpus[1], 4);
  CU_ASSERT_FALSE(trace->dated);
  CU_ASSERT_PTR_NULL(trace->row);
  CU_ASSERT_PTR_NULL(trace->tenant);
  CU_ASSERT_PTR_NULL(trace->limit_us);
  CU_ASSERT_STRING_EQUAL(trace->format, "csv");
  char buffer[HR_JOB_ID_BUFFER];
  CU_ASSERT_STRING_EQUAL(hr_trace_job_id(trace, (hr_job){1}, buffer), "2");
  hr_trace_destroy(trace);
}

static void expect_all_fields(struct hr_trace *trace) {
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  char buffer[HR_JOB_ID_BUFFER];
  CU_ASSERT_STRING_EQUAL(hr_trace_job_id(trace, (hr_job){0}, buffer), "j-1");
  CU_ASSERT_STRING_EQUAL(trace->users.text[trace->user[0]], "ann");
  CU_ASSERT_STRING_EQUAL(trace->tenants.text[trace->tenant[0]], "vision");
  CU_ASSERT_EQUAL(trace->class_[0], HR_CLASS_FINE_TUNE);
  CU_ASSERT_EQUAL(trace->priority[0], -5);
  CU_ASSERT_EQUAL(trace->limit_us[0], 20 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->estimate_us[0], 15 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->deadline_us[0], 90 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->tasks[0], 4);
  CU_ASSERT_EQUAL(trace->cpu_milli[0], 7500);
  CU_ASSERT_EQUAL(trace->mem_mib[0], 65536);
  CU_ASSERT_EQUAL(trace->gpu_mem_mib[0], 40960);
  CU_ASSERT_EQUAL(trace->gpu_milli[0], 500);
  CU_ASSERT_STRING_EQUAL(trace->gpu_type_lists.text[trace->gpu_types[0]], "A100-80|H100");
  CU_ASSERT_EQUAL(trace->outcome[0], HR_OUTCOME_FAILED);
  CU_ASSERT_STRING_EQUAL(trace->models.text[trace->model[0]], "llama, 8B");
  CU_ASSERT_STRING_EQUAL(trace->region_lists.text[trace->regions[0]], "eu|us-east-1");
  CU_ASSERT_STRING_EQUAL(trace->mig_profiles.text[trace->mig_profile[0]], "1g.10gb");
  CU_ASSERT_EQUAL(trace->flags[0], HR_JOB_DEDICATED | HR_JOB_NOT_INTERRUPTIBLE);
  CU_ASSERT_EQUAL(trace->checkpoint_interval_us[0], 600 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->checkpoint_mib[0], 2560);
  CU_ASSERT_EQUAL(trace->fail_at_ppm[0], 250000);
  CU_ASSERT_EQUAL(trace->min_gpus[0], 4);
  CU_ASSERT_EQUAL(trace->max_gpus[0], 16);
  CU_ASSERT_EQUAL(trace->within[0], HR_TIER_RACK);
  CU_ASSERT_EQUAL(trace->within_wait_us[0], 30500000);
}

/* The second job has only the required fields, so all other fields have their default. */
static void expect_defaults(const struct hr_trace *trace) {
  CU_ASSERT_EQUAL(trace->user[1], HR_NONE);
  CU_ASSERT_EQUAL(trace->class_[1], HR_CLASS_UNKNOWN);
  CU_ASSERT_EQUAL(trace->limit_us[1], HR_UNKNOWN_US);
  CU_ASSERT_EQUAL(trace->deadline_us[1], HR_UNKNOWN_US);
  CU_ASSERT_EQUAL(trace->tasks[1], 1);
  CU_ASSERT_EQUAL(trace->gpu_milli[1], 1000);
  CU_ASSERT_EQUAL(trace->gpu_types[1], HR_NONE);
  CU_ASSERT_EQUAL(trace->flags[1], 0);
  CU_ASSERT_EQUAL(trace->fail_at_ppm[1], HR_NONE);
  CU_ASSERT_EQUAL(trace->min_gpus[1], 3);
  CU_ASSERT_EQUAL(trace->max_gpus[1], 3);
  CU_ASSERT_EQUAL(trace->within[1], HR_TIER_ANY);
  CU_ASSERT_EQUAL(trace->within_wait_us[1], HR_UNKNOWN_US);
}

static void every_field_is_read(void) {
  struct hr_trace *trace = trace_of(
      "job_id,submit_s,duration_s,gpus,user,tenant,class,priority,limit_s,estimate_s,deadline_s,tasks,cpu,mem_gb,"
      "gpu_mem_gb,gpu_milli,gpu_type,status,model,regions,mig_profile,dedicated,interruptible,checkpoint_interval_s,"
      "checkpoint_gb,fail_at,min_gpus,max_gpus,within,within_wait_s\n"
      "j-1,10,10,8,ann,vision,fine-tune,-5,20,15,100,4,7.5,64,40,500, A100-80 | H100 ,failed,\"llama, 8B\","
      "eu|us-east-1,1g.10gb,yes,no,600,2.5,0.25,4,16,Rack,30.5\n"
      "j-2,10,10,3,,,,,,,,,,,,,,,,,,,,,,,,,,\n",
      NULL);
  expect_all_fields(trace);
  expect_defaults(trace);
  CU_ASSERT(has_note(&trace->notes, "1 job requests a fraction of a GPU"));
  hr_trace_destroy(trace);
}

static void rows_are_sorted_by_submit_and_file_order(void) {
  struct hr_trace *trace = trace_of("job_id,submit_s,duration_s,gpus,limit_s,deadline_s\n"
                                    "a,7,1,1,5,8\nb,3,2,2,,\nc,7,3,3,6,9\nd,0.5,4,4,7,1\ne,3,5,5,8,\n",
                                    NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  static const uint32_t wanted[] = {3, 1, 4, 0, 2};
  for (uint32_t i = 0; i < 5; i++) {
    CU_ASSERT_EQUAL(trace->row[i], wanted[i]);
    CU_ASSERT_EQUAL(trace->gpus[i], wanted[i] + 1);
    CU_ASSERT_EQUAL(trace->id_text[i][0], (char)('a' + wanted[i]));
  }
  CU_ASSERT_EQUAL(trace->origin_us, 500000);
  CU_ASSERT_EQUAL(trace->submit_us[3], 6500000);
  CU_ASSERT_EQUAL(trace->limit_us[0], 7 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->deadline_us[0], 500000);
  CU_ASSERT_EQUAL(trace->deadline_us[1], HR_UNKNOWN_US);
  hr_trace_destroy(trace);
}

static void traces_with_dates(void) {
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus,deadline_s\n"
                                    "2026-11-21T10:00:00+01:00,60,1,2026-11-21T09:30:00Z\n"
                                    "2026-11-21T09:00:01Z,60,1,\n",
                                    NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(trace->dated);
  CU_ASSERT_EQUAL(trace->submit_us[1], HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->deadline_us[0], 1800 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->notes.count, 0);
  hr_trace_destroy(trace);
  trace = trace_of("submit_s,duration_s,gpus\n2026-11-21 10:00,60,1\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(trace->dated && has_note(&trace->notes, "no time zone"));
  hr_trace_destroy(trace);
}

static void a_map_renames_columns(void) {
  const char *text = "id,arrival_s,service_sec,gpu_count,extra\n7,1,2,3,x\n";
  struct hr_trace *trace = mapped(text, "job_id=id,submit=arrival_s,duration=service_sec,gpus=gpu_count");
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->work_us[0], 2 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->id_number[0], 7);
  CU_ASSERT(has_note(&trace->notes, "unknown column 'extra' is ignored"));
  hr_trace_destroy(trace);
}

static void a_map_can_be_partial_and_reuse_a_column(void) {
  struct hr_trace *trace = mapped("submit_s,run,gpus\n1,2,3\n", "duration=run,estimate=run");
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->work_us[0], 2 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->estimate_us[0], 2 * HR_SECOND_US);
  hr_trace_destroy(trace);
}

static void units_can_be_stated_in_maps(void) {
  struct hr_trace *trace = mapped("at_us,run_ms,limit_h,guess,gpus\n0,1500,2.5,9000,1\n5,1,1,1,1\n",
                                  "submit=at_us,duration=run_ms,limit=limit_h,estimate=guess(ms)");
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->submit_us[1], 5);
  CU_ASSERT_EQUAL(trace->work_us[0], 1500000);
  CU_ASSERT_EQUAL(trace->limit_us[0], 9000 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->estimate_us[0], 9 * HR_SECOND_US);
  hr_trace_destroy(trace);
  trace = mapped("when(us),duration_s,gpus\n0,1,1\n7,1,1\n", "submit=when(us)");
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->submit_us[1], 7);
  hr_trace_destroy(trace);
}

static void invalid_maps_are_rejected(void) {
  CU_ASSERT(mapped_refused("arrival_s,duration_s,gpus\n1,2,3\n", "submit=arival_s",
                           "jobs.csv:1: missing column 'arival_s' (did you mean 'arrival_s'?)", "arrival_s"));
  CU_ASSERT(mapped_refused("submit_s,duration_s,gpus\n1,2,3\n", "user=owner", "jobs.csv:1: missing column 'owner'",
                           "--map user=COLUMN"));
  struct hr_column_map map = {0};
  struct hr_error error;
  CU_ASSERT_EQUAL(hr_column_map_parse(&map, "submit=a,durations=b", &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "'durations' is not a job field; did you mean 'duration'?"));
  CU_ASSERT_EQUAL(hr_column_map_parse(&map, "submit", &error), HR_BAD_INPUT);
  CU_ASSERT_EQUAL(hr_column_map_parse(&map, "submit=", &error), HR_BAD_INPUT);
  CU_ASSERT_EQUAL(hr_column_map_parse(&map, "submit=a,gpus=g,submit=b", &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "'submit' is set twice: to 'a' and to 'b'"));
  hr_column_map_finish(&map);
  CU_ASSERT_EQUAL(hr_column_map_parse(&map, "", &error), HR_BAD_INPUT);
  CU_ASSERT_EQUAL(hr_column_map_add(&map, "submit", "b", &error), HR_OK);
  CU_ASSERT_EQUAL(map.count, 1);
  CU_ASSERT_STRING_EQUAL(map.entry[0].column, "b");
  hr_column_map_finish(&map);
}

static void line_numbers_in_errors(void) {
  CU_ASSERT(refused("\n# comment, \"unbalanced\n\nsubmit_s,duration_s,gpus\n\n1,2,3\n \t\n1,2,x\n", NULL,
                    "jobs.csv:8: column 'gpus'", "'x'"));
  CU_ASSERT(refused("submit_s,duration_s,gpus\r\n1,2,3\r\n\r\n1,2,x\r\n", NULL, "jobs.csv:4: ", "'x'"));
  CU_ASSERT(refused("submit_s,duration_s,gpus,user\n1,2,3,\"a\nb\n\nc\"\n1,2,x,d\n", NULL, "jobs.csv:6: ", "'x'"));
  CU_ASSERT(refused("submit_s,duration_s,gpus,user\n1,2,x,\"a\nb\"\n", NULL, "jobs.csv:2: ", "'x'"));
  CU_ASSERT(refused("submit_s,duration_s,gpus\r1,2,3\r1,2,x\r", NULL, "jobs.csv:3: ", "'x'"));
}

static void byte_order_marks_blanks_and_quotes(void) {
  struct hr_trace *trace =
      trace_of("\xEF\xBB\xBF\"submit_s\", duration_s ,gpus,user\r\n1, 2 ,\"3\",\"a \"\"b\"\"\"\r\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->gpus[0], 3);
  CU_ASSERT_STRING_EQUAL(trace->users.text[0], "a \"b\"");
  CU_ASSERT_EQUAL(trace->notes.count, 0);
  hr_trace_destroy(trace);
}

static void the_last_line_may_lack_a_line_end(void) {
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus\n1,2,3\n4,5,6", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->n_jobs, 2);
  hr_trace_destroy(trace);
}

static bool skipped(const struct hr_trace *trace, const char *reason, uint64_t count, uint64_t first_line) {
  for (uint32_t i = 0; i < trace->n_skipped_reasons; i++) {
    const struct hr_skipped_rows *rows = &trace->skipped[i];
    if (strcmp(rows->reason, reason) == 0) return rows->count == count && rows->first_line == first_line;
  }
  return false;
}

static void lenient_reading_counts_bad_rows_by_reason(void) {
  struct hr_trace *trace = trace_of("job_id,submit_s,duration_s,gpus,tasks\n"
                                    "1,0,5,1,1\n2,0,5,-1,1\n3,0,5,-2,1\n4,0,,1,1\n5,0,5\n6,0,5,7,2\n1,0,5,1,1\n"
                                    "8,0,5,1,1,9\n9,0,5,8,2\n10,0",
                                    &(struct hr_trace_options){.lenient = true});
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->n_jobs, 2);
  CU_ASSERT_EQUAL(trace->id_number[1], 9);
  CU_ASSERT_EQUAL(trace->tasks[1], 2);
  CU_ASSERT_EQUAL(trace->n_skipped, 8);
  CU_ASSERT(skipped(trace, "column 'gpus': not a whole number of at least 0", 2, 3));
  CU_ASSERT(skipped(trace, "column 'duration_s': empty", 1, 5));
  CU_ASSERT(skipped(trace, "too few fields", 1, 6));
  CU_ASSERT(skipped(trace, "'gpus', which counts all tasks together, is not a multiple of 'tasks'", 1, 7));
  CU_ASSERT(skipped(trace, "the job id is already used", 1, 8));
  CU_ASSERT(skipped(trace, "too many fields", 1, 9));
  CU_ASSERT(skipped(trace, "the last line is cut off", 1, 11));
  hr_trace_destroy(trace);
}

static void lenient_reading_needs_one_valid_row(void) {
  CU_ASSERT(refused("submit_s,duration_s,gpus\n1,2,x\n1,2,y\n", &(struct hr_trace_options){.lenient = true},
                    "jobs.csv: no valid job: all 2 rows are bad", "line 2: column 'gpus'"));
  CU_ASSERT(refused("submit_s,duration_s,gpus\n0,1,x\n", &(struct hr_trace_options){.lenient = true},
                    "jobs.csv: no valid job: its only row is bad, on line 2: column 'gpus'", ""));
}

static void names_of_columns_ignore_case(void) {
  struct hr_trace *trace = trace_of("SUBMIT_S,Duration_s,GPUs,User,user\n1,2,3,no,ann\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->work_us[0], 2 * HR_SECOND_US);
  CU_ASSERT_EQUAL(trace->gpus[0], 3);
  CU_ASSERT_STRING_EQUAL(trace->users.text[0], "ann"); /* the exact name has precedence */
  CU_ASSERT(has_note(&trace->notes, "unknown column 'User'"));
  hr_trace_destroy(trace);
  trace = mapped("Arrival_MS,RUN,gpus\n5,2,3\n6,2,3\n", "submit=arrival_ms,duration=run(H)");
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->submit_us[1], 1000);
  CU_ASSERT_EQUAL(trace->work_us[0], 7200 * HR_SECOND_US);
  hr_trace_destroy(trace);
  CU_ASSERT(refused("submit_s,duration_s,GPUS,Gpus\n1,2,3,4\n", NULL,
                    "jobs.csv:1: ", "columns 'GPUS' and 'Gpus' both match 'gpus'; choose one with --map gpus=COLUMN"));
  CU_ASSERT(refused("submit_s,duration_s,GPUS_\n1,2,3\n", NULL, "jobs.csv:1: ", "did you mean 'GPUS_'?"));
}

/* Spreadsheet programs write semicolons as separators if the comma is the decimal separator. They can also write
   tabs. */
static void the_header_determines_the_separator(void) {
  static const char *const texts[] = {
      "user,submit_s,duration_s,gpus\n\"a,b\",1,2,3\n,2,2,3\n",
      "user;submit_s;duration_s;gpus\n\"a,b\";1;2;3\n;2;2;3\n",
      "\"user\";\"submit_s\";\"duration_s\";\"gpus\"\r\n\"a,b\";\"1\";\"2\";3\r\n;2;2;3\r\n",
      "# a comment, and another\nuser;submit_s;duration_s;gpus;\"x,y,z,,,,\"\na,b;1;2;3;\n;2;2;3;\n",
      "user\tsubmit_s\tduration_s\tgpus\na,b\t1\t2\t3\n\t2\t2\t3\n"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct hr_trace *trace = trace_of(texts[i], NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    CU_ASSERT_EQUAL(trace->n_jobs, 2);
    CU_ASSERT_EQUAL(trace->gpus[1], 3);
    CU_ASSERT_EQUAL(trace->users.count, 1);
    CU_ASSERT_STRING_EQUAL(trace->users.text[0], "a,b");
    CU_ASSERT_EQUAL(trace->user[1], HR_NONE);
    hr_trace_destroy(trace);
  }
  CU_ASSERT(refused("submit_s;duration_s;gpus\n0;1,5;1\n", NULL, "jobs.csv:2: column 'duration_s': '1,5' is not",
                    "decimal point"));
  CU_ASSERT(refused("", NULL, "jobs.csv: the file is empty", ""));
}

static void misspelt_columns_are_noted(void) {
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus,priorty\n1,2,3,4\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(has_note(&trace->notes, "unknown column 'priorty' is ignored; did you mean 'priority'?"));
  hr_trace_destroy(trace);
}

/* ---- Files of many blocks --------------------------------------------------------------------------- */

enum { N_MANY = 60000 };

/* Returns a CSV file of N_MANY rows; the caller frees it. Every seventh row has a line end inside quotes. A blank line
   precedes every eleventh row. The duration of a row is its number, counted from 1. The row `bad` has no duration, and
   `*line_of_bad` is set to its line. If `bad` is 0, all rows have a duration. */
static char *many_rows(uint32_t bad, uint64_t *line_of_bad) {
  char *text = malloc((size_t)N_MANY * 60 + 100);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  size_t used = (size_t)sprintf(text, "submit_s,duration_s,gpus,user,model\n");
  uint64_t line = 2;
  for (uint32_t row = 1; row <= N_MANY; row++) {
    if (row % 11 == 0) used += (size_t)sprintf(text + used, "\n");
    line += row % 11 == 0;
    if (row == bad) *line_of_bad = line;
    used += (size_t)sprintf(text + used, "0,%.0u,1,%s\n", row == bad ? 0 : row, row % 7 == 0 ? "\"a\nb\",c" : "ab,c");
    line += row % 7 == 0 ? 2 : 1;
  }
  return text;
}

static void files_of_many_blocks_are_read_completely(void) {
  char *text = many_rows(0, NULL);
  struct hr_trace *trace = trace_of(text, NULL);
  free(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->n_jobs, N_MANY);
  uint32_t n_right = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++)
    n_right += trace->work_us[i] == (int64_t)(i + 1) * HR_SECOND_US &&
               strcmp(trace->users.text[trace->user[i]], (i + 1) % 7 == 0 ? "a\nb" : "ab") == 0;
  CU_ASSERT_EQUAL(n_right, N_MANY);
  hr_trace_destroy(trace);
}

/* Bad rows near the beginning, while the reader still fills its first blocks, and near the end. Some of them have one
   line, some have two. */
static void errors_in_large_files_name_the_line(void) {
  static const uint32_t bad_rows[] = {1, 14, 30001, 30002, N_MANY - 4, N_MANY};
  for (size_t i = 0; i < sizeof bad_rows / sizeof *bad_rows; i++) {
    uint64_t line = 0;
    char *text = many_rows(bad_rows[i], &line), start[80];
    sprintf(start, "jobs.csv:%u: column 'duration_s' is empty", (unsigned)line);
    CU_ASSERT(refused(text, NULL, start, ""));
    free(text);
  }
}

TEST_MAIN("csv", TEST(files_of_many_blocks_are_read_completely), TEST(errors_in_large_files_name_the_line),
          TEST(names_of_columns_ignore_case), TEST(the_header_determines_the_separator),
          TEST(one_column_can_be_mapped_to_several_fields), TEST(units_follow_from_the_names_of_mapped_columns),
          TEST(columns_can_be_in_any_order), TEST(every_field_is_read), TEST(rows_are_sorted_by_submit_and_file_order),
          TEST(traces_with_dates), TEST(a_map_renames_columns), TEST(a_map_can_be_partial_and_reuse_a_column),
          TEST(units_can_be_stated_in_maps), TEST(invalid_maps_are_rejected), TEST(line_numbers_in_errors),
          TEST(byte_order_marks_blanks_and_quotes), TEST(the_last_line_may_lack_a_line_end),
          TEST(lenient_reading_counts_bad_rows_by_reason), TEST(lenient_reading_needs_one_valid_row),
          TEST(misspelt_columns_are_noted))
