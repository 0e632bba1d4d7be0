/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every allocation of the folds, the summary and the writers fails once: each time the caller is told, and nothing
   crashes, leaks or is left behind. The linker sends the library's allocations here (--wrap); cJSON's come through its
   hooks. */

#include "files.h"
#include "harness.h"
#include "replayed.h"

#include <cjson/cJSON.h>
#include <string.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
char *__wrap_strdup(const char *text);

static long allocations_left = -1; /* -1: all succeed */

static bool refused(void) {
  if (allocations_left < 0) return false;
  if (allocations_left == 0) return true;
  allocations_left--;
  return false;
}

void *__wrap_malloc(size_t bytes) {
  return refused() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
  return refused() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes) {
  return refused() ? NULL : __real_realloc(memory, bytes);
}

char *__wrap_strdup(const char *text) {
  return refused() ? NULL : __real_strdup(text);
}

/* Calls `attempt` with no memory at all, then with one allocation more each time, until it succeeds. */
static void starve(enum hr_status (*attempt)(void), long least) {
  enum { MOST = 10000 };
  long allowed = 0;
  enum hr_status status = HR_NO_MEMORY;
  for (; allowed < MOST && status != HR_OK; allowed++) {
    allocations_left = allowed;
    status = attempt();
    allocations_left = -1;
    CU_ASSERT_TRUE(status == HR_OK || status == HR_NO_MEMORY);
    CU_ASSERT_TRUE(status == HR_OK || files_only(NULL));
  }
  CU_ASSERT_EQUAL(status, HR_OK);
  CU_ASSERT_TRUE(allowed > least);
}

static struct replayed run;
static struct replayed_policy policy;
static struct hr_summary *summary;
static struct hr_run_label label;
static const struct hr_perf perf = {1, 1, 1};

static void prepare(void) {
  static const struct replayed_job jobs[] = {{.submit_s = 0, .work_s = 20, .start_s = 0, .gpus = 4},
                                             {.submit_s = 5, .work_s = 90, .start_s = 10, .gpus = 4}};
  static const char *const tenants[] = {"a", "M\xfcller"};
  static const uint32_t tenant[] = {0, 1};
  static const uint32_t row[] = {1, 0};
  replayed_make(&run, jobs, 2, NEVER);
  run.trace.row = row;
  replayed_policy_init(&policy);
  run.trace.tenant = tenant;
  run.trace.tenants = (struct hr_names){2, tenants};
  label = (struct hr_run_label){
      .scenario = "demo", .trace = "t", .format = "csv", .cluster = &run.cluster, .policy = &policy.choice};
  CU_ASSERT_TRUE(files_only(NULL)); /* the folder is made before memory runs out */
}

static enum hr_status summarize(void) {
  struct hr_usage *usage = hr_usage_create(&run.trace);
  if (!usage) return HR_NO_MEMORY;
  struct hr_fold fold = hr_usage_fold(usage);
  struct hr_error error;
  struct hr_summary *fresh = NULL;
  replayed_tell(&run, &fold, 1, NULL);
  enum hr_status status = hr_summarize(&run.trace, &run.cluster, &run.result, usage, &fresh, &error);
  hr_usage_destroy(usage);
  hr_summary_destroy(fresh);
  return status;
}

static void summarizing(void) {
  prepare();
  starve(summarize, 10);
}

static enum hr_status write_jobs(void) {
  static const struct hr_slice slices[] = {{{0}, 2000}, {{1}, 2000}};
  static const struct hr_placement spread[] = {{{0}, 2, slices}, {{0}, 2, slices}};
  struct hr_placements *placements = hr_placements_create(&run.trace);
  if (!placements) return HR_NO_MEMORY;
  struct hr_fold fold = hr_placements_fold(placements);
  replayed_tell(&run, &fold, 1, spread);
  struct hr_error error;
  const char *path = files_path("jobs.csv");
  enum hr_status status = hr_jobs_write(path, &run.trace, &run.cluster, &run.result, placements, &error);
  hr_placements_destroy(placements);
  if (status == HR_OK) remove(path);
  return status;
}

static void writing_jobs(void) {
  prepare();
  starve(write_jobs, 4);
}

static enum hr_status write_timeline(void) {
  struct hr_timeline *timeline = NULL;
  struct hr_error error;
  const char *path = files_path("timeline.csv");
  enum hr_status status = hr_timeline_create(path, &run.trace, &timeline, &error);
  if (status != HR_OK) return status;
  struct hr_fold fold = hr_timeline_fold(timeline);
  replayed_tell(&run, &fold, 1, NULL);
  status = hr_timeline_finish(timeline, &error);
  hr_timeline_destroy(timeline);
  if (status == HR_OK) remove(path);
  return status;
}

static void writing_a_timeline(void) {
  prepare();
  starve(write_timeline, 3);
}

static enum hr_status write_json(void) {
  struct hr_error error;
  const char *path = files_path("summary.json");
  enum hr_status status = hr_summary_write_json(path, summary, &label, &perf, &error);
  if (status == HR_OK) remove(path);
  return status;
}

static void writing_json(void) {
  prepare();
  summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  cJSON_InitHooks(&(cJSON_Hooks){__wrap_malloc, free});
  starve(write_json, 300);
  cJSON_InitHooks(NULL);
  hr_summary_destroy(summary);
}

static enum hr_status print_table(void) {
  FILE *out = fopen("/dev/null", "w");
  if (!out) return HR_IO_ERROR;
  enum hr_status status = hr_summary_print(out, summary, &label, &perf, true);
  fclose(out);
  return status;
}

static void printing(void) {
  prepare();
  summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  starve(print_table, 10);
  hr_summary_destroy(summary);
}

TEST_MAIN("report: no memory", TEST(summarizing), TEST(writing_jobs), TEST(writing_a_timeline), TEST(writing_json),
          TEST(printing))
