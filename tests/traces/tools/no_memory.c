/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated allocation failures: writers and transformations run out of memory after 0, 1, 2, ... allocations. Each
   failure must be reported, and nothing may leak; a leak checker detects leaks. */
#include "harness.h"
#include "headroom/trace_files.h"

#include "headroom/unstable/trace_tools.h"
#include "scarce_memory.h"
#include "trace_files.h"

#include <string.h>

static struct hr_trace *trace;
static char path[200];

typedef enum hr_status operation(struct hr_error *error);

static void expect_no_memory_at_every_allocation(operation *run, long min_allocations) {
  trace = trace_of("job_id,submit_s,duration_s,gpus,user,tenant,model\nb,5,1,1,ann,ml,m\na,0,9,2,bob,ml,n\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  for (long n_failures = 0;; n_failures++) {
    struct hr_error error = {0};
    memory_ends_after(n_failures, false);
    enum hr_status status = run(&error);
    if (!memory_is_ample()) {
      CU_ASSERT_EQUAL(status, HR_OK);
      CU_ASSERT(n_failures >= min_allocations);
      break;
    }
    if (status != HR_NO_MEMORY) fprintf(stderr, "\n    allocation %ld: %d %s\n", n_failures, status, error.text);
    CU_ASSERT_EQUAL_FATAL(status, HR_NO_MEMORY);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "out of memory"));
  }
  hr_trace_destroy(trace);
}

static enum hr_status finished(enum hr_status status, struct hr_trace *made) {
  CU_ASSERT_EQUAL(status == HR_OK, made != NULL);
  hr_trace_destroy(made);
  return status;
}

static enum hr_status write_csv(struct hr_error *error) {
  return hr_trace_write(trace, path, "csv", NULL, error);
}

static enum hr_status write_swf(struct hr_error *error) {
  return hr_trace_write(trace, path, "swf", NULL, error);
}

static enum hr_status cut(struct hr_error *error) {
  static const char *const names[] = {"ml"};
  struct hr_cut_spec spec;
  struct hr_trace *made;
  hr_cut_spec_init(&spec);
  spec.tenants = (struct hr_name_list){names, 1};
  enum hr_status status = hr_transform_cut(trace, &spec, &made, error);
  return finished(status, made);
}

static enum hr_status scale(struct hr_error *error) {
  const struct hr_scale_spec spec = {.by = HR_SCALING_DUPLICATE, .load = 40, .jitter_us = 1};
  struct hr_trace *made;
  enum hr_status status = hr_transform_scale(trace, &spec, &made, error);
  return finished(status, made);
}

static enum hr_status compress(struct hr_error *error) {
  const struct hr_scale_spec spec = {.by = HR_SCALING_COMPRESS, .load = 2};
  struct hr_trace *made;
  enum hr_status status = hr_transform_scale(trace, &spec, &made, error);
  return finished(status, made);
}

static enum hr_status merge(struct hr_error *error) {
  static const char *const labels[] = {"x", "y"};
  const struct hr_trace *const both[] = {trace, trace};
  const struct hr_merge_spec spec = {.labels = labels, .renames_tenants = true};
  struct hr_trace *made;
  enum hr_status status = hr_transform_merge(both, 2, &spec, &made, error);
  return finished(status, made);
}

static enum hr_status anonymise(struct hr_error *error) {
  struct hr_anonymise_spec spec;
  struct hr_trace *made;
  hr_anonymise_spec_init(&spec);
  spec.key = "k";
  spec.key_bytes = 1;
  enum hr_status status = hr_transform_anonymise(trace, &spec, &made, error);
  return finished(status, made);
}

static enum hr_status shuffle(struct hr_error *error) {
  struct hr_trace *made;
  enum hr_status status = hr_transform_shuffle(trace, HR_SHUFFLE_ARRIVALS, 1, &made, error);
  return finished(status, made);
}

static enum hr_status shuffle_users(struct hr_error *error) {
  struct hr_trace *made;
  enum hr_status status = hr_transform_shuffle(trace, HR_SHUFFLE_USERS, 1, &made, error);
  return finished(status, made);
}

static void writers(void) {
  snprintf(path, sizeof path, "%s", file_path("out.txt"));
  expect_no_memory_at_every_allocation(write_csv, 2);
  expect_no_memory_at_every_allocation(write_swf, 2);
  snprintf(path, sizeof path, "%s", file_path("out.txt.zst"));
  expect_no_memory_at_every_allocation(write_csv, 2);
}

static void transformations(void) {
  expect_no_memory_at_every_allocation(cut, 10);
  expect_no_memory_at_every_allocation(scale, 10);
  expect_no_memory_at_every_allocation(compress, 10);
  expect_no_memory_at_every_allocation(merge, 10);
  expect_no_memory_at_every_allocation(anonymise, 10);
  expect_no_memory_at_every_allocation(shuffle, 10);
  expect_no_memory_at_every_allocation(shuffle_users, 10);
}

TEST_MAIN("transformations without memory", TEST(writers), TEST(transformations))
