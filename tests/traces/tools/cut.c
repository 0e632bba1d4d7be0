/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Windows of random traces, compared with a decision for each job. */
#include "harness.h"
#include "headroom/trace_files.h"

#include "headroom/unstable/trace_tools.h"
#include "same_trace.h"
#include "trace_files.h"

#include <string.h>

static const char *name_of(const struct hr_names *names, const uint32_t *column, uint32_t job) {
  return column && column[job] != HR_NONE ? names->text[column[job]] : NULL;
}

static bool naive_accepts_type(const char *list, const char *type) {
  char items[100], wanted[100];
  if (!list) return true;
  snprintf(items, sizeof items, "|%s|", list);
  snprintf(wanted, sizeof wanted, "|%s|", type);
  return strstr(items, wanted) != NULL;
}

static bool naive_keeps(const struct hr_trace *trace, const struct hr_cut_spec *spec, uint32_t job) {
  const char *tenant = name_of(&trace->tenants, trace->tenant, job), *user = name_of(&trace->users, trace->user, job);
  bool in = trace->submit_us[job] >= spec->from_us && trace->submit_us[job] < spec->to_us;
  if (spec->tenants.count) in = in && tenant && strcmp(tenant, spec->tenants.text[0]) == 0;
  if (spec->users.count) in = in && user && strcmp(user, spec->users.text[0]) == 0;
  if (spec->gpu_types.count)
    in = in && naive_accepts_type(name_of(&trace->gpu_type_lists, trace->gpu_types, job), spec->gpu_types.text[0]);
  return in;
}

static bool same_id(const struct hr_trace *a, uint32_t i, const struct hr_trace *b, uint32_t j) {
  char id_a[HR_JOB_ID_BUFFER], id_b[HR_JOB_ID_BUFFER];
  return strcmp(hr_trace_job_id(a, (hr_job){i}, id_a), hr_trace_job_id(b, (hr_job){j}, id_b)) == 0;
}

/* Asserts that `made` consists of exactly the expected jobs. Returns the expected number of jobs. */
static uint32_t expect_cut(const struct hr_trace *trace, const struct hr_cut_spec *spec, const struct hr_trace *made) {
  uint32_t n = 0;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    if (!naive_keeps(trace, spec, job) || (spec->max_jobs && n == spec->max_jobs)) continue;
    bool same = made && n < made->n_jobs && same_job(trace, job, made, n, 0) && same_id(trace, job, made, n);
    CU_ASSERT(same);
    n++;
  }
  return n;
}

static void windows_contain_the_jobs_submitted_in_them(void) {
  static const char *const tenants[] = {"ann"}, *const users[] = {"bob,jr"}, *const types[] = {"A100"};
  uint32_t n_made = 0, n_none = 0, n_unknown = 0;
  for (uint64_t seed = 0; seed < 500; seed++) {
    random_start(seed);
    struct hr_trace *trace = random_trace(&(struct random_spec){.max_jobs = 30});
    struct hr_cut_spec spec;
    hr_cut_spec_init(&spec);
    if (random_below(2)) spec.from_us = (int64_t)random_below(40) * HR_SECOND_US;
    if (random_below(2)) spec.to_us = (int64_t)random_below(40) * HR_SECOND_US + (spec.from_us > 0 ? spec.from_us : 1);
    if (random_below(4) == 0) spec.tenants = (struct hr_name_list){tenants, 1};
    if (random_below(4) == 0) spec.users = (struct hr_name_list){users, 1};
    if (random_below(4) == 0) spec.gpu_types = (struct hr_name_list){types, 1};
    if (random_below(2)) spec.max_jobs = 1 + random_below(10);
    struct hr_trace *made;
    struct hr_error error = {0};
    enum hr_status status = hr_transform_cut(trace, &spec, &made, &error);
    bool unknown = status != HR_OK && strstr(error.text, "no job has the");
    uint32_t n = unknown ? 0 : expect_cut(trace, &spec, made);
    CU_ASSERT_EQUAL(status, n ? HR_OK : HR_BAD_INPUT);
    CU_ASSERT(!made || (made->n_jobs == n && !made->row));
    n_made += made != NULL;
    n_unknown += unknown;
    n_none += !made && !unknown;
    hr_trace_destroy(made);
    hr_trace_destroy(trace);
  }
  CU_ASSERT(n_made > 200 && n_none > 20 && n_unknown > 20);
}

static void a_window_without_bounds_keeps_the_trace(void) {
  for (uint64_t seed = 0; seed < 100; seed++) {
    random_start(seed);
    struct hr_trace *trace = random_trace(&(struct random_spec){.max_jobs = 30, .plain = true}), *made;
    struct hr_cut_spec spec;
    hr_cut_spec_init(&spec);
    CU_ASSERT_EQUAL(hr_transform_cut(trace, &spec, &made, NULL), HR_OK);
    CU_ASSERT(same_trace(trace, made));
    hr_trace_destroy(made);
    hr_trace_destroy(trace);
  }
}

static void running_jobs_keep_their_remaining_run_time(void) {
  struct hr_trace *trace =
      trace_of("job_id,submit_s,duration_s,gpus,start_s,limit_s,estimate_s,deadline_s,status,fail_at\n"
               "over,1000,50,1,1000,60,,,,\n"  /* ended before the window */
               "ends,1000,90,1,1010,100,,,,\n" /* ends when the window begins */
               "runs,1000,200,2,1050,180,40,1090,failed,0.1\n"
               "starts,1010,20,1,1100,,,1105,,\n" /* starts when the window begins, so it was not running before */
               "waits,1020,20,1,1200,,,,,\n"
               "unknown,1030,500,1,,,,,,\n"
               "new,1100,5,4,1100,7,,1200,failed,0.5\n",
               NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  struct hr_cut_spec spec;
  struct hr_trace *made;
  hr_cut_spec_init(&spec);
  spec.from_us = 100 * HR_SECOND_US;
  spec.keep_running = true;
  CU_ASSERT_EQUAL_FATAL(hr_transform_cut(trace, &spec, &made, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(made->n_jobs, 2);
  char id[HR_JOB_ID_BUFFER];
  CU_ASSERT_STRING_EQUAL(hr_trace_job_id(made, (hr_job){0}, id), "runs");
  CU_ASSERT_EQUAL(made->origin_us, 1100 * HR_SECOND_US);
  CU_ASSERT_EQUAL(made->submit_us[0], 0);
  CU_ASSERT_EQUAL(made->recorded_start_us[0], 0);
  CU_ASSERT_EQUAL(made->work_us[0], 150 * HR_SECOND_US);
  CU_ASSERT_EQUAL(made->limit_us[0], 130 * HR_SECOND_US);
  CU_ASSERT_EQUAL(made->estimate_us[0], 0);
  CU_ASSERT_EQUAL(made->deadline_us[0], HR_UNKNOWN_US);
  CU_ASSERT_EQUAL(made->fail_at_ppm[0], HR_NONE);
  CU_ASSERT_EQUAL(made->outcome[0], HR_OUTCOME_FAILED);
  CU_ASSERT(same_job(trace, 6, made, 1, 0));
  hr_trace_destroy(made);
  hr_trace_destroy(trace);
}

static bool is_rejected(const struct hr_trace *trace, const struct hr_cut_spec *spec, const char *part) {
  struct hr_error error = {0};
  struct hr_trace *made;
  enum hr_status status = hr_transform_cut(trace, spec, &made, &error);
  if (status == HR_BAD_INPUT && !made && strstr(error.text, part)) return true;
  fprintf(stderr, "\n    %d: %s\n", status, error.text);
  return false;
}

static void invalid_windows_are_rejected(void) {
  static const char *const with_unknown[] = {"ann", "nobody"};
  struct hr_trace *trace = trace_of("submit_s,duration_s,gpus,tenant\n0,1,1,ann\n9,1,1,ann\n", NULL);
  struct hr_cut_spec spec;
  hr_cut_spec_init(&spec);
  spec.keep_running = true;
  CU_ASSERT(is_rejected(trace, &spec, "has no start times (column start_s)"));
  hr_cut_spec_init(&spec);
  spec.from_us = spec.to_us = HR_SECOND_US;
  CU_ASSERT(is_rejected(trace, &spec, "empty window: it ends at 1 s and begins at 1 s"));
  spec.to_us = 9 * HR_SECOND_US;
  CU_ASSERT(
      is_rejected(trace, &spec, "no job is left: the last one is submitted 9 s after the first, and none matches"));
  hr_cut_spec_init(&spec);
  spec.tenants = (struct hr_name_list){with_unknown, 2};
  CU_ASSERT(is_rejected(trace, &spec, "no job has the tenant 'nobody'"));
  hr_trace_destroy(trace);
}

TEST_MAIN("windows of traces", TEST(windows_contain_the_jobs_submitted_in_them),
          TEST(a_window_without_bounds_keeps_the_trace), TEST(running_jobs_keep_their_remaining_run_time),
          TEST(invalid_windows_are_rejected))
