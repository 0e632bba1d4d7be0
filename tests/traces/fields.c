/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests each row of the table of job fields. Each field is set in a builder, and must have the same value after each
   conversion: record, CSV, packed, streamed, cut, merged and redrawn. A new row of the table is tested without a change
   here, unless its kind is new. */
#include "harness.h"
#include "headroom/unstable/trace_tools.h"

#include "same_trace.h"
#include "trace_files.h"
#include "traces/formats/formats.h"

#include <string.h>

/* Returns a valid text of a kind, which differs from the default. */
static const char *sample_of(enum hr__kind kind) {
  switch (kind) {
  case HR__INSTANT:
    return "150.25";
  case HR__PRIORITY:
    return "-3";
  case HR__LIST:
    return "b|a";
  case HR__CLASS:
    return "inference";
  case HR__STATUS:
    return "failed";
  case HR__TIER:
    return "rack";
  case HR__DEDICATED:
    return "true";
  case HR__INTERRUPTIBLE:
    return "false";
  case HR__FRACTION:
    return "0.25";
  case HR__CPUS:
    return "2.5";
  default:
    return "8"; /* numbers and names */
  }
}

/* Sets a field of the record to the sample of its kind. The texts of the record belong to `texts`. */
static void set_field(struct hr_job_record *record, size_t field, char *texts) {
  const char *sample = sample_of(hr__fields[field].kind);
  struct hr__value_reader reader = {.texts = {texts, 0}};
  const char *fault =
      hr__value_read(&reader, hr__fields[field].kind, hr__fields[field].unit_us,
                     (struct hr_text){sample, strlen(sample)}, (char *)record + hr__fields[field].offset);
  CU_ASSERT_PTR_NULL(fault);
}

static size_t field_of(const char *key) {
  size_t field = 0;
  while (strcmp(hr__fields[field].field, key) != 0) field++;
  return field;
}

/* Returns a trace of two jobs. The first job has only an id, a submit time, a run time and GPUs. The second job also
   has the field. Sets `*record` to the record of the second job. */
static struct hr_trace *trace_with(size_t field, struct hr_job_record *record) {
  static char texts[100], tier[10];
  struct hr_trace_builder *builder = hr_trace_builder_create("jobs.csv", "memory");
  struct hr_trace *trace = NULL;
  struct hr_error error = {0};
  hr_job_record_init(record);
  record->submit_us = 100 * HR_SECOND_US;
  record->work_us = 60 * HR_SECOND_US;
  record->gpus = 8;
  record->id = (struct hr_text){"7", 1};
  CU_ASSERT_EQUAL(hr_trace_builder_add(builder, record, 2, &error), HR_OK);
  record->id = (struct hr_text){"9", 1};
  set_field(record, field, texts);
  if (record->within_wait_us != HR_UNKNOWN_US) set_field(record, field_of("within"), tier);
  CU_ASSERT_EQUAL(hr_trace_builder_add(builder, record, 3, &error), HR_OK);
  CU_ASSERT_EQUAL(hr_trace_builder_finish(builder, false, false, &trace, &error), HR_OK);
  hr_trace_builder_destroy(builder);
  return trace;
}

static bool same_value(const struct hr_job_record *a, const struct hr_job_record *b, size_t field) {
  const size_t at = hr__fields[field].offset;
  const char *member_a = (const char *)a + at, *member_b = (const char *)b + at;
  struct hr_text text_a, text_b;
  if (hr__fields[field].kind != HR__TEXT && hr__fields[field].kind != HR__LIST)
    return memcmp(member_a, member_b, hr__field_bytes[field]) == 0;
  memcpy(&text_a, member_a, sizeof text_a);
  memcpy(&text_b, member_b, sizeof text_b);
  return text_a.length == text_b.length && memcmp(text_a.at, text_b.at, text_a.length) == 0;
}

/* Checks that job `job` of a trace has the value of `record`. */
static void expect_value(const char *what, const struct hr_trace *trace, uint32_t job,
                         const struct hr_job_record *record, size_t field) {
  struct hr_job_record found, blank;
  char id[HR_JOB_ID_BUFFER];
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  hr_trace_job_record(trace, (hr_job){job}, &found, id);
  hr_job_record_init(&blank);
  bool same = same_value(&found, record, field) && hr__field_is_known(&found, &blank, field);
  if (!same) fprintf(stderr, "\n    '%s' differs: %s\n", hr__fields[field].field, what);
  CU_ASSERT(same);
}

static void write_to(const struct hr_trace *trace, const char *path) {
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr_trace_write(trace, path, NULL, NULL, &error), HR_OK);
}

/* Writes the trace to a file, reads it, in memory and streamed, and compares. */
static void expect_same_in_file(const char *name, const struct hr_trace *trace, const struct hr_job_record *record,
                                size_t field) {
  char path[200];
  snprintf(path, sizeof path, "%s", file_path(name));
  write_to(trace, path);
  struct hr_trace *in_memory = trace_at(path, NULL);
  struct hr_trace *streamed = trace_at(path, &(struct hr_trace_options){.streamed = true});
  expect_value(name, in_memory, 1, record, field);
  CU_ASSERT(same_trace(trace, in_memory));
  if (field > 0) expect_value("streamed", streamed, 1, record, field); /* a streamed trace does not store ids */
  hr_trace_destroy(in_memory);
  hr_trace_destroy(streamed);
}

static void expect_same_after_tools(const struct hr_trace *trace, const struct hr_job_record *record, size_t field) {
  struct hr_error error = {0};
  struct hr_trace *made = NULL;
  struct hr_cut_spec cut;
  hr_cut_spec_init(&cut);
  CU_ASSERT_EQUAL(hr_transform_cut(trace, &cut, &made, &error), HR_OK);
  CU_ASSERT(same_trace(trace, made));
  expect_value("cut", made, 1, record, field);
  hr_trace_destroy(made);
  CU_ASSERT_EQUAL(hr_transform_merge(&trace, 1, &(struct hr_merge_spec){0}, &made, &error), HR_OK);
  CU_ASSERT(same_trace(trace, made));
  expect_value("merged", made, 1, record, field);
  hr_trace_destroy(made);
  struct hr_workload_spec spec;
  hr_workload_spec_init(&spec);
  CU_ASSERT_EQUAL(hr_trace_redraw(trace, &spec, 1, &made, &error), HR_OK);
  if (field > 0) expect_value("redrawn", made, 1, record, field); /* redrawn jobs have new ids */
  hr_trace_destroy(made);
}

static void every_field_survives_every_conversion(void) {
  for (size_t field = 0; field < HR__N_FIELDS; field++) {
    struct hr_job_record record;
    struct hr_trace *trace = trace_with(field, &record);
    expect_value("builder", trace, 1, &record, field);
    expect_same_in_file("one.csv", trace, &record, field);
    expect_same_in_file("one.hrt", trace, &record, field);
    expect_same_after_tools(trace, &record, field);
    hr_trace_destroy(trace);
  }
}

static void every_field_can_be_forgotten(void) {
  for (size_t field = 0; field < HR__N_FIELDS; field++) {
    struct hr_job_record record, blank;
    hr_trace_destroy(trace_with(field, &record));
    hr_job_record_init(&blank);
    if (hr__fields[field].must_exist) continue;
    CU_ASSERT(hr__field_is_known(&record, &blank, field));
    hr_job_record_forget(&record, UINT64_C(1) << field);
    CU_ASSERT_FALSE(hr__field_is_known(&record, &blank, field));
  }
}

/* ---- Order ------------------------------------------------------------------------------------------ */

/* The sections of packed files are in the order of `sections`, and their tables of names are in the order of `sets`.
   The columns of CSV files are in the order of `columns`. New fields are added at the end. */
static const char *const sections[] = {"submit_us",
                                       "work_us",
                                       "gpus",
                                       "tenant",
                                       "user",
                                       "tasks",
                                       "limit_us",
                                       "estimate_us",
                                       "deadline_us",
                                       "priority",
                                       "cpu_milli",
                                       "mem_mib",
                                       "gpu_mem_mib",
                                       "gpu_milli",
                                       "model",
                                       "gpu_types",
                                       "regions",
                                       "mig_profile",
                                       "class_",
                                       "outcome",
                                       "flags",
                                       "fail_at_ppm",
                                       "checkpoint_interval_us",
                                       "checkpoint_mib",
                                       "min_gpus",
                                       "max_gpus",
                                       "within",
                                       "within_wait_us",
                                       "recorded_start_us"};
static const char *const sets[] = {"tenants", "users", "models", "mig_profiles", "gpu_type_lists", "region_lists"};
static const char *const columns[] = {
    "job_id",        "submit_s", "duration_s",  "gpus",       "user",          "tenant",
    "class",         "priority", "limit_s",     "estimate_s", "deadline_s",    "tasks",
    "cpu",           "mem_gb",   "gpu_mem_gb",  "gpu_milli",  "gpu_type",      "status",
    "model",         "regions",  "mig_profile", "dedicated",  "interruptible", "checkpoint_interval_s",
    "checkpoint_gb", "fail_at",  "min_gpus",    "max_gpus",   "within",        "within_wait_s",
    "start_s"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static void positions_never_change(void) {
  CU_ASSERT_FATAL(HR__COLUMN_ID >= COUNT(sections) && HR__N_NAMES >= COUNT(sets) && HR__N_FIELDS >= COUNT(columns));
  for (size_t i = 0; i < COUNT(sections); i++) CU_ASSERT_STRING_EQUAL(hr__columns[i].name, sections[i]);
  for (size_t i = 0; i < COUNT(sets); i++) CU_ASSERT_STRING_EQUAL(hr__name_sets[i].name, sets[i]);
  for (size_t i = 0; i < COUNT(columns); i++) CU_ASSERT_STRING_EQUAL(hr__fields[i].name, columns[i]);
}

TEST_MAIN("job fields", TEST(every_field_survives_every_conversion), TEST(every_field_can_be_forgotten),
          TEST(positions_never_change))
