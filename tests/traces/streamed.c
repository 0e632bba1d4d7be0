/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streamed text traces. The columns equal those of a trace that is read into memory. Rows that are not sorted are
   errors. */
#include "harness.h"

#include "samples.h"
#include "trace_files.h"
#include "traces/core/builder.h"

#include <string.h>

#define ALL_COLUMNS                                                                                                    \
  "job_id,submit_s,duration_s,gpus,user,tenant,model,class,priority,limit_s,estimate_s,deadline_s,tasks,cpu,mem_gb,"   \
  "gpu_mem_gb,gpu_milli,gpu_type,regions,mig_profile,status,fail_at,dedicated,interruptible,checkpoint_interval_s,"    \
  "checkpoint_gb,within,within_wait_s,min_gpus,max_gpus,start_s,queue,qos,gpu_power_fraction,data_set\n"
#define ALL_ROWS                                                                                                       \
  "7,10,5,1,bob,speech,,inference,2,,,,,,,,250,,,1g.10gb,completed,,,,,,,,,,,,,,\n"                                    \
  "x-1,20,0,0,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n"                                                                        \
  "9,30,60.5,8,ann,vision,bert,training,-3,100,90,500,4,2.5,16,40,1000,H100|A100-80,eu|us,,failed,0.25,true,false,"    \
  "600,2,rack,60,4,16,31,batch,high,0.75,images\n"

static const struct hr_trace_options streamed = {.streamed = true};

static bool same_bytes(const void *a, const void *b, size_t bytes) {
  return a && b ? memcmp(a, b, bytes) == 0 : a == b;
}

static void assert_same_columns(const struct hr_trace *a, const struct hr_trace *b) {
  CU_ASSERT_EQUAL_FATAL(a->n_jobs, b->n_jobs);
  CU_ASSERT_EQUAL(a->origin_us, b->origin_us);
  CU_ASSERT_EQUAL(a->dated, b->dated);
  CU_ASSERT_EQUAL(a->n_skipped, b->n_skipped);
  CU_ASSERT_PTR_NULL(a->row);
  for (enum hr__column_id id = 0; id < HR__COLUMN_ID; id++)
    CU_ASSERT(same_bytes(hr__trace_column(a, id), hr__trace_column(b, id), (size_t)a->n_jobs * hr__columns[id].width));
  for (enum hr__names_id id = 0; id < HR__N_NAMES; id++) {
    const struct hr_names *names_a = hr__trace_names(a, id), *names_b = hr__trace_names(b, id);
    CU_ASSERT_EQUAL_FATAL(names_a->count, names_b->count);
    for (uint32_t i = 0; i < names_a->count; i++) CU_ASSERT_STRING_EQUAL(names_a->text[i], names_b->text[i]);
  }
}

static void expect_same_when_streamed(const char *path, bool lenient) {
  struct hr_trace *in_memory = trace_at(path, &(struct hr_trace_options){.lenient = lenient});
  struct hr_trace *streamed_trace = trace_at(path, &(struct hr_trace_options){.lenient = lenient, .streamed = true});
  CU_ASSERT_PTR_NOT_NULL_FATAL(in_memory);
  CU_ASSERT_PTR_NOT_NULL_FATAL(streamed_trace);
  CU_ASSERT_FALSE(in_memory->mapped);
  CU_ASSERT_TRUE(streamed_trace->mapped);
  assert_same_columns(streamed_trace, in_memory);
  CU_ASSERT_PTR_NULL(streamed_trace->id_text);
  CU_ASSERT_PTR_NULL(streamed_trace->id_number);
  hr_trace_destroy(in_memory);
  hr_trace_destroy(streamed_trace);
}

static void every_column(void) {
  expect_same_when_streamed(file_write_text("jobs.csv", ALL_COLUMNS ALL_ROWS), false);
}

static void other_formats(void) {
  size_t length;
  expect_same_when_streamed(file_write_text("jobs.swf", "; a comment\n1 5 3 9 1 -1 -1 1 5 -1 1 1 1 1 1 1 1 1\n\n"
                                                        "2 7 0 9 2 -1 -1 1 5 -1 1 1 1 1 1 1 1 1\n"),
                            false);
  void *bytes = gzip_bytes(ALL_COLUMNS ALL_ROWS, &length);
  expect_same_when_streamed(file_write("jobs.csv.gz", bytes, length), false);
  free(bytes);
  expect_same_when_streamed(file_write_text("azure.csv", AZURE_SAMPLE), false);
}

static void lenient(void) {
  expect_same_when_streamed(file_write_text("jobs.csv", "submit_s,duration_s,gpus\n1,2,3\n1,-2,3\n1,2,x\n2,2,1\n"),
                            true);
}

/* More rows than the initial capacity, and one column that has values only from row 400,001 on. */
static void many_rows(void) {
  enum { ROWS = 600000 };
  char *text = malloc((size_t)ROWS * 24), *at = text;
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  at += sprintf(at, "submit_s,duration_s,gpus,limit_s\n");
  for (int row = 0; row < ROWS; row++) {
    at += sprintf(at, "%d,%d,%d,", 1000 + row / 3, row % 977, row % 5);
    at += row < 400001 ? sprintf(at, "\n") : sprintf(at, "%d\n", row % 31);
  }
  expect_same_when_streamed(file_write("jobs.csv", text, (size_t)(at - text)), false);
  free(text);
}

static void unsorted_rows_are_rejected(void) {
  static const char text[] = "job_id,submit_s,duration_s,gpus\na,5,2,3\nb,5,1,1\nc,4.999999,5,6\n";
  CU_ASSERT(refused(text, &streamed, "jobs.csv:4: ", "submitted before the previous row"));
  CU_ASSERT(refused(text, &(struct hr_trace_options){.streamed = true, .lenient = true},
                    "jobs.csv:4: ", "run without --stream"));
}

static void missing_temporary_folder(void) {
  const char *before = getenv("TMPDIR");
  char in_memory[4096] = "";
  if (before) snprintf(in_memory, sizeof in_memory, "%s", before);
  setenv("TMPDIR", "/absent/folder", 1);
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus\n1,2,3\n", &streamed);
  CU_ASSERT_PTR_NULL(trace);
  CU_ASSERT_EQUAL(trace_status(), HR_IO_ERROR);
  CU_ASSERT_PTR_NOT_NULL(strstr(trace_error(), "cannot create a file for its columns in '/absent/folder'"));
  if (before)
    setenv("TMPDIR", in_memory, 1);
  else
    unsetenv("TMPDIR");
}

static void traces_without_jobs_are_rejected(void) {
  CU_ASSERT(refused("submit_s,duration_s,gpus\n", &streamed, "jobs.csv: ", "the file has a header but no rows"));
}

TEST_MAIN("streamed", TEST(every_column), TEST(other_formats), TEST(lenient), TEST(many_rows),
          TEST(unsorted_rows_are_rejected), TEST(missing_temporary_folder), TEST(traces_without_jobs_are_rejected))
