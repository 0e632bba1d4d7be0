/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merged traces, compared with a list of all jobs that is sorted directly. */
#include "harness.h"
#include "headroom/trace_files.h"

#include "headroom/unstable/trace_tools.h"
#include "same_trace.h"
#include "trace_files.h"

#include <string.h>

enum { MAX_TRACES = 4, MAX_JOBS = 30 };

struct merged_job {
  int64_t submit_us;
  uint32_t trace, job;
};

/* Orders jobs by submit time, then by number of the trace, then by position in the trace. */
static int by_submit(const void *a, const void *b) {
  const struct merged_job *x = a, *y = b;
  if (x->submit_us != y->submit_us) return x->submit_us < y->submit_us ? -1 : 1;
  if (x->trace != y->trace) return x->trace < y->trace ? -1 : 1;
  return (x->job > y->job) - (x->job < y->job);
}

static int64_t shift_us(struct hr_trace *const *traces, uint32_t number, enum hr_align align) {
  return align == HR_ALIGN_CLOCK ? 0 : traces[0]->origin_us - traces[number]->origin_us;
}

static uint32_t list_jobs(struct hr_trace *const *traces, uint32_t n_traces, enum hr_align align,
                          struct merged_job *list) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_traces; i++)
    for (uint32_t job = 0; job < traces[i]->n_jobs; job++)
      list[n++] =
          (struct merged_job){traces[i]->submit_us[job] + traces[i]->origin_us + shift_us(traces, i, align), i, job};
  qsort(list, n, sizeof *list, by_submit);
  return n;
}

static void check_ids(const struct hr_trace *trace, uint32_t job, const struct hr_trace *made, uint32_t i,
                      const char *label) {
  char own[HR_JOB_ID_BUFFER], new[HR_JOB_ID_BUFFER], wanted[200];
  snprintf(wanted, sizeof wanted, "%s/%s", label, hr_trace_job_id(trace, (hr_job){job}, own));
  CU_ASSERT_STRING_EQUAL(hr_trace_job_id(made, (hr_job){i}, new), wanted);
}

static void merged_jobs_are_on_one_clock(void) {
  static const char *const labels[] = {"a", "b", "ab", ""};
  uint32_t n_refused = 0, n_made = 0;
  for (uint64_t seed = 0; seed < 300; seed++) {
    struct hr_trace *traces[MAX_TRACES], *made;
    struct merged_job list[MAX_TRACES * MAX_JOBS];
    random_start(seed);
    uint32_t n_traces = 1 + random_below(MAX_TRACES);
    for (uint32_t i = 0; i < n_traces; i++) traces[i] = random_trace(&(struct random_spec){.max_jobs = MAX_JOBS});
    const struct hr_merge_spec spec = {.align = random_below(3) ? HR_ALIGN_START : HR_ALIGN_CLOCK, .labels = labels};
    struct hr_error error = {0};
    enum hr_status status = hr_transform_merge((const struct hr_trace *const *)traces, n_traces, &spec, &made, &error);
    n_refused += status != HR_OK;
    n_made += status == HR_OK;
    if (status == HR_OK) {
      uint32_t n = list_jobs(traces, n_traces, spec.align, list);
      CU_ASSERT_EQUAL_FATAL(made->n_jobs, n);
      CU_ASSERT_EQUAL(made->dated, traces[0]->dated);
      CU_ASSERT_EQUAL(hr_trace_has_local_dates(made), hr_trace_has_local_dates(traces[0]));
      CU_ASSERT_PTR_NULL(made->row);
      for (uint32_t i = 0; i < n; i++) {
        const struct hr_trace *trace = traces[list[i].trace];
        CU_ASSERT(same_job(trace, list[i].job, made, i, shift_us(traces, list[i].trace, spec.align)));
        check_ids(trace, list[i].job, made, i, labels[list[i].trace]);
      }
    } else {
      CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "different clocks cannot be merged"));
    }
    for (uint32_t i = 0; i < n_traces; i++) hr_trace_destroy(traces[i]);
    hr_trace_destroy(made);
  }
  CU_ASSERT(n_made > 200 && n_refused > 20);
}

static const char *tenant_of(const struct hr_trace *trace, uint32_t job) {
  return trace->tenant[job] == HR_NONE ? "" : trace->tenants.text[trace->tenant[job]];
}

static void tenants_are_labelled_or_merged(void) {
  static const char *const labels[] = {"east", "west"}, *const from[] = {"east/ml", "west/ml"},
                           *const plain[] = {"ml", "ops"};
  struct hr_trace *east = trace_of("submit_s,duration_s,gpus,tenant,user\n0,1,1,ml,ann\n1,1,1,,\n", NULL);
  struct hr_trace *west = trace_of("submit_s,duration_s,gpus,tenant,user\n2,1,1,ml,ann\n3,1,1,ops,bob\n", NULL), *made;
  const struct hr_trace *both[] = {east, west};
  struct hr_tenant_merge tenants = {{from, 2}, "research"};
  struct hr_merge_spec spec = {.labels = labels, .renames_tenants = true, .tenants = &tenants, .n_tenants = 1};
  CU_ASSERT_EQUAL_FATAL(hr_transform_merge(both, 2, &spec, &made, NULL), HR_OK);
  CU_ASSERT_STRING_EQUAL(tenant_of(made, 0), "research");
  CU_ASSERT_STRING_EQUAL(tenant_of(made, 1), "");
  CU_ASSERT_STRING_EQUAL(tenant_of(made, 2), "research");
  CU_ASSERT_STRING_EQUAL(tenant_of(made, 3), "west/ops");
  CU_ASSERT_EQUAL(made->tenants.count, 2);
  CU_ASSERT_STRING_EQUAL(made->users.text[0], "east/ann");
  CU_ASSERT_STRING_EQUAL(made->users.text[1], "west/ann");
  hr_trace_destroy(made);
  tenants.from = (struct hr_name_list){plain, 2};
  spec.renames_tenants = false;
  CU_ASSERT_EQUAL_FATAL(hr_transform_merge(both, 2, &spec, &made, NULL), HR_OK);
  CU_ASSERT_EQUAL(made->tenants.count, 1);
  CU_ASSERT_EQUAL(made->users.count, 2);
  hr_trace_destroy(made);
  hr_trace_destroy(east);
  hr_trace_destroy(west);
}

static bool is_rejected(const struct hr_trace *const *traces, const struct hr_merge_spec *spec, const char *part) {
  struct hr_error error = {0};
  struct hr_trace *made;
  enum hr_status status = hr_transform_merge(traces, 2, spec, &made, &error);
  if (status == HR_BAD_INPUT && !made && strstr(error.text, part)) return true;
  fprintf(stderr, "\n    %d: %s\n", status, error.text);
  return false;
}

static void invalid_merges_are_rejected(void) {
  static const char *const same[] = {"x", "x"}, *const within[] = {"x", "x/y"}, *const labels[] = {"x", "y"},
                           *const unknown[] = {"x/nobody"}, *const bare[] = {"ml"};
  struct hr_trace *a = trace_of("job_id,submit_s,duration_s,gpus,tenant\n7,0,1,1,ml\n", NULL);
  struct hr_trace *b = trace_of("job_id,submit_s,duration_s,gpus,tenant\n7,5,1,1,ml\n", NULL);
  const struct hr_trace *both[] = {a, b};
  struct hr_tenant_merge tenants = {{unknown, 1}, "new"};
  CU_ASSERT(is_rejected(both, &(struct hr_merge_spec){.labels = NULL},
                        "job id '7' is also in an earlier trace; use labels for ids"));
  CU_ASSERT(is_rejected(both, &(struct hr_merge_spec){.labels = same}, "labels must be unique"));
  CU_ASSERT(is_rejected(both, &(struct hr_merge_spec){.labels = within}, "label 'x/y' contains '/'"));
  struct hr_merge_spec spec = {.labels = labels, .renames_tenants = true, .tenants = &tenants, .n_tenants = 1};
  CU_ASSERT(is_rejected(both, &spec, "no job has the tenant 'x/nobody', which is to be merged"));
  tenants.from.text = bare;
  CU_ASSERT(is_rejected(both, &spec, "no job has the tenant 'ml'"));
  hr_trace_destroy(a);
  hr_trace_destroy(b);
}

TEST_MAIN("merged traces", TEST(merged_jobs_are_on_one_clock), TEST(tenants_are_labelled_or_merged),
          TEST(invalid_merges_are_rejected))
