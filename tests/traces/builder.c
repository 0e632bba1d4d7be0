/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The trace builder of the public interface: job ids, duplicate ids, the order of jobs, errors. */
#include "harness.h"
#include "headroom/trace_files.h"

#include "base/containers.h"
#include "trace_files.h"

#include <string.h>

static struct hr_trace_builder *builder;
static struct hr_error error;

static void begin(void) {
  builder = hr_trace_builder_create("memory", "memory");
  CU_ASSERT_PTR_NOT_NULL_FATAL(builder);
}

static enum hr_status add(const char *id, int64_t submit_us, uint64_t line) {
  struct hr_job_record record;
  hr_job_record_init(&record);
  record.id = (struct hr_text){id, id ? strlen(id) : 0};
  record.submit_us = submit_us;
  record.work_us = 1;
  record.gpus = 1;
  return hr_trace_builder_add(builder, &record, line, &error);
}

static struct hr_trace *finish(bool lenient) {
  struct hr_trace *trace;
  hr_trace_builder_finish(builder, false, lenient, &trace, &error);
  hr_trace_builder_destroy(builder);
  return trace;
}

static bool ids_are(const struct hr_trace *trace, const char *const *wanted, uint32_t n_wanted) {
  char buffer[HR_JOB_ID_BUFFER];
  if (trace->n_jobs != n_wanted) return false;
  for (uint32_t i = 0; i < n_wanted; i++)
    if (strcmp(hr_trace_job_id(trace, (hr_job){i}, buffer), wanted[i]) != 0) return false;
  return true;
}

static void numeric_ids_become_texts_after_a_text(void) {
  begin();
  CU_ASSERT_EQUAL(add("5", 0, 2), HR_OK);
  CU_ASSERT_EQUAL(add("-17", 1, 3), HR_OK);
  CU_ASSERT_EQUAL(add("9223372036854775807", 2, 4), HR_OK);
  struct hr_trace *trace = finish(false);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(trace->id_number && !trace->id_text);
  CU_ASSERT(ids_are(trace, (const char *const[]){"5", "-17", "9223372036854775807"}, 3));
  hr_trace_destroy(trace);
  begin();
  CU_ASSERT_EQUAL(add("5", 0, 2), HR_OK);
  CU_ASSERT_EQUAL(add("-17", 1, 3), HR_OK);
  CU_ASSERT_EQUAL(add("05", 2, 4), HR_OK);
  CU_ASSERT_EQUAL(add("6", 3, 5), HR_OK);
  trace = finish(false);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(!trace->id_number && trace->id_text);
  CU_ASSERT(ids_are(trace, (const char *const[]){"5", "-17", "05", "6"}, 4));
  hr_trace_destroy(trace);
}

static void ids_equal_to_row_numbers_are_not_stored(void) {
  begin();
  CU_ASSERT_EQUAL(add("1", 0, 2), HR_OK);
  CU_ASSERT_EQUAL(add("2", 1, 3), HR_OK);
  struct hr_trace *trace = finish(false);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(!trace->id_number && !trace->id_text);
  CU_ASSERT(ids_are(trace, (const char *const[]){"1", "2"}, 2));
  hr_trace_destroy(trace);
  static const char *const differing[][3] = {{"1", "2", "9"}, {"1", "2", "b"}, {"1", "2", "02"}};
  for (size_t i = 0; i < sizeof differing / sizeof *differing; i++) {
    begin();
    for (uint64_t row = 0; row < 3; row++) CU_ASSERT_EQUAL(add(differing[i][row], (int64_t)row, row + 2), HR_OK);
    trace = finish(false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
    CU_ASSERT(ids_are(trace, differing[i], 3));
    hr_trace_destroy(trace);
  }
  begin();
  CU_ASSERT_EQUAL(add("1", 0, 2), HR_OK);
  CU_ASSERT_EQUAL(add("2", 1, 3), HR_OK);
  CU_ASSERT_EQUAL(add("1", 2, 4), HR_OK);
  CU_ASSERT_PTR_NULL(finish(false));
  CU_ASSERT_STRING_EQUAL(error.text, "memory:4: job id '1' is already used on line 2; ids must be distinct");
}

static void the_error_for_a_duplicate_id_names_both_lines(void) {
  begin();
  static const char *const ids[] = {"9", "3", "7", "3", "9", "7"};
  for (uint64_t i = 0; i < 6; i++) CU_ASSERT_EQUAL(add(ids[i], (int64_t)(10 - i), i < 3 ? i + 2 : i + 12), HR_OK);
  CU_ASSERT_PTR_NULL(finish(false));
  CU_ASSERT_STRING_EQUAL(error.text, "memory:15: job id '3' is already used on line 3; ids must be distinct");
  begin();
  static const char *const texts[] = {"a", "b", "c", "a"};
  for (uint64_t i = 0; i < 4; i++) CU_ASSERT_EQUAL(add(texts[i], 0, i + 2), HR_OK);
  CU_ASSERT_PTR_NULL(finish(false));
  CU_ASSERT_STRING_EQUAL(error.text, "memory:5: job id 'a' is already used on line 2; ids must be distinct");
}

static void lenient_duplicates_are_dropped_before_sorting(void) {
  begin();
  static const char *const ids[] = {"c", "a", "c", "b", "a", "c"};
  for (uint64_t i = 0; i < 6; i++) CU_ASSERT_EQUAL(add(ids[i], (int64_t)(10 - i), i + 2), HR_OK);
  struct hr_trace *trace = finish(true);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT(ids_are(trace, (const char *const[]){"b", "a", "c"}, 3));
  CU_ASSERT_EQUAL(trace->row[0], 2);
  CU_ASSERT_EQUAL(trace->origin_us, 7);
  CU_ASSERT_EQUAL(trace->n_skipped, 3);
  CU_ASSERT_EQUAL(trace->skipped[0].count, 3);
  CU_ASSERT_EQUAL(trace->skipped[0].first_line, 4);
  hr_trace_destroy(trace);
}

static void ids_are_required_for_all_jobs_or_none(void) {
  begin();
  CU_ASSERT_EQUAL(add("1", 0, 2), HR_OK);
  CU_ASSERT_EQUAL(add(NULL, 0, 3), HR_BAD_INPUT);
  CU_ASSERT_STRING_EQUAL(error.text, "memory:3: some jobs have an id and others do not");
  struct hr_trace *trace = finish(false);
  CU_ASSERT_PTR_NOT_NULL(trace);
  hr_trace_destroy(trace);
}

static void an_empty_trace_is_refused(void) {
  begin();
  CU_ASSERT_PTR_NULL(finish(false));
  CU_ASSERT_STRING_EQUAL(error.text, "memory: contains no jobs");
  hr_trace_destroy(NULL);
  hr_trace_builder_destroy(NULL);
}

static void times_out_of_range_are_refused(void) {
  begin();
  CU_ASSERT_EQUAL(add("1", HR_MAX_INPUT_US + 1, 2), HR_BAD_INPUT);
  CU_ASSERT_EQUAL(add("2", -HR_MAX_INPUT_US, 3), HR_OK);
  CU_ASSERT_EQUAL(add("3", HR_MAX_INPUT_US, 4), HR_OK);
  struct hr_trace *trace = finish(false);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  CU_ASSERT_EQUAL(trace->submit_us[1], 2 * HR_MAX_INPUT_US);
  hr_trace_destroy(trace);
}

/* If a late row creates a column, all earlier rows have the value "unknown" in this column. There are more rows than
   the builder's initial capacity. */
static void late_columns_are_filled_in(void) {
  begin();
  struct hr_job_record record;
  hr_job_record_init(&record);
  record.work_us = 1;
  enum { N = 5000 };
  for (uint32_t i = 0; i < N; i++) {
    record.gpus = i;
    if (i == N - 1) {
      record.priority = 7;
      record.max_gpus = N;
      record.tenant = (struct hr_text){"t", 1};
    }
    CU_ASSERT_EQUAL_FATAL(hr_trace_builder_add(builder, &record, i + 2, &error), HR_OK);
  }
  struct hr_trace *trace = finish(false);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  for (uint32_t i = 0; i < N - 1; i++) {
    CU_ASSERT_FATAL(trace->priority[i] == 0 && trace->tenant[i] == HR_NONE && trace->max_gpus[i] == i);
    CU_ASSERT_FATAL(trace->gpus[i] == i);
  }
  CU_ASSERT_EQUAL(trace->priority[N - 1], 7);
  CU_ASSERT_EQUAL(trace->max_gpus[N - 1], N);
  CU_ASSERT_PTR_NULL(trace->min_gpus);
  CU_ASSERT(trace->column_bytes >= N * (8 + 8 + 4 + 4 + 4 + 4));
  CU_ASSERT(trace->column_bytes < N * (8 + 8 + 4 + 4 + 4 + 4) + 100);
  hr_trace_destroy(trace);
}

static void sorting_is_stable(void) {
  enum { N = 20000 };
  struct hr__keyed_row *rows = malloc(N * sizeof *rows);
  CU_ASSERT_PTR_NOT_NULL_FATAL(rows);
  uint64_t state = 1;
  for (uint32_t i = 0; i < N; i++) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407U;
    rows[i] = (struct hr__keyed_row){(state >> 40) % 300 << (i % 2 ? 40 : 0), i};
  }
  CU_ASSERT(hr__sort_keyed_rows(rows, N));
  for (uint32_t i = 1; i < N; i++)
    CU_ASSERT_FATAL(rows[i - 1].key < rows[i].key || (rows[i - 1].key == rows[i].key && rows[i - 1].row < rows[i].row));
  free(rows);
}

TEST_MAIN("builder", TEST(numeric_ids_become_texts_after_a_text), TEST(ids_equal_to_row_numbers_are_not_stored),
          TEST(the_error_for_a_duplicate_id_names_both_lines), TEST(lenient_duplicates_are_dropped_before_sorting),
          TEST(ids_are_required_for_all_jobs_or_none), TEST(an_empty_trace_is_refused),
          TEST(times_out_of_range_are_refused), TEST(late_columns_are_filled_in), TEST(sorting_is_stable))
