/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The observers, the summary and the writers run out of memory after 0, 1, 2, ... allocations. In each case an error is
   returned, no memory leaks, and no file remains. Allocations in cJSON fail, too: its hooks are set to the failing
   allocator of the test. */

#include "harness.h"
#include "output_files.h"
#include "priced.h"
#include "queue_choice.h"
#include "replayed.h"
#include "scarce_memory.h"

#include <cjson/cJSON.h>
#include <string.h>

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
  CU_ASSERT_TRUE(files_only(NULL)); /* create the folder before allocations fail */
}

/* Returns `status`. Asserts that no file remains if it is a failure. */
static enum hr_status expect_no_file(enum hr_status status) {
  CU_ASSERT(status == HR_OK || files_only(NULL));
  return status;
}

static enum hr_status summarize(void) {
  struct hr_usage *usage = hr_usage_create(&run.trace);
  if (!usage) return HR_NO_MEMORY;
  struct hr_observer observer = hr_usage_observer(usage);
  struct hr_error error;
  struct hr_summary *fresh = NULL;
  replayed_notify(&run, &observer, 1, NULL);
  enum hr_status status = hr_summarize(&run.trace, &run.cluster, &run.result, usage, NULL, &fresh, &error);
  hr_usage_destroy(usage);
  hr_summary_destroy(fresh);
  return status;
}

static void summary_without_memory(void) {
  prepare();
  CU_ASSERT(starve(summarize) > 10);
}

static struct hr_policy_choice choice;

/* Notifies the usage observer of a run with several pools and per-GPU allocation. In such a run, the usage observer
   allocates memory during the run. */
static enum hr_status follow_fragments(void) {
  struct hr_pool_spec pools[] = {run.pool[0], run.pool[1]};
  pools[0].sharing = HR_SHARING_FRACTION;
  const struct hr_cluster_spec cluster = {pools, 2};
  struct hr_usage *usage = hr_usage_create(&run.trace);
  if (!usage) return HR_NO_MEMORY;
  const struct hr_observer observer = hr_usage_observer(usage);
  const struct hr_run_config config = {.trace = &run.trace,
                                       .cluster = &cluster,
                                       .policy = choice.ops,
                                       .params = choice.params,
                                       .horizon_us = HR_NEVER_US,
                                       .observers = &observer,
                                       .n_observers = 1};
  struct hr_result *result;
  struct hr_error error;
  struct hr_summary *fresh = NULL;
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status == HR_OK) {
    status = hr_summarize(&run.trace, &cluster, result, usage, NULL, &fresh, &error);
    hr_result_destroy(result);
  }
  CU_ASSERT(status != HR_OK || (fresh->fragmentation.known && fresh->n_pools == 2));
  hr_summary_destroy(fresh);
  hr_usage_destroy(usage);
  return status;
}

static void fragments_without_memory(void) {
  prepare();
  choice = queue_choice("skip", "best-fit");
  CU_ASSERT(starve(follow_fragments) > 30);
  hr_policy_choice_finish(&choice);
}

static struct priced *priced;
static struct hr_summary *with_costs;

static enum hr_status sum_costs(void) {
  static struct hr_budget budget = {(char *)"b", 15000000};
  static struct hr_dataset dataset = {(char *)"archive", 1000};
  static struct hr_savings_plan plan = {1000000, 500000, NULL, NULL, 0, 0};
  const struct hr_cost_spec spec = {.storage = {1000000, &dataset, 1, 0},
                                    .operations = {.uusd_per_month = 730000000},
                                    .downtime = {.uusd_per_missed_deadline = 1},
                                    .idle_split = HR_IDLE_SPLIT_EVEN,
                                    .budgets = &budget,
                                    .n_budgets = 1,
                                    .plans = &plan,
                                    .n_plans = 1};
  static const struct hr_class_spec classes[HR_N_CLASSES];
  hr_summary_destroy(with_costs);
  with_costs = NULL;
  return priced_summarize(priced, &spec, classes, &with_costs);
}

static enum hr_status write_costs_cleanly(void) {
  struct hr_error error;
  const char *path = files_path("costs.csv");
  enum hr_status status = hr_costs_write(path, with_costs->costs, &error);
  if (status == HR_OK) remove(path);
  return expect_no_file(status);
}

static enum hr_status write_jobs(void) {
  static const struct hr_slice slices[] = {{{0}, 2000, 0}, {{1}, 2000, 0}};
  static const struct hr_placement spread[] = {{{0}, 2, slices}, {{0}, 2, slices}};
  struct hr_placements *placements = hr_placements_create(&run.trace);
  if (!placements) return HR_NO_MEMORY;
  struct hr_observer observer = hr_placements_observer(placements);
  replayed_notify(&run, &observer, 1, spread);
  struct hr_error error;
  const char *path = files_path("jobs.csv");
  enum hr_status status = hr_jobs_write(path, &run.trace, &run.cluster, &run.result, placements, NULL, &error);
  hr_placements_destroy(placements);
  if (status == HR_OK) remove(path);
  return status;
}

static enum hr_status write_jobs_cleanly(void) {
  return expect_no_file(write_jobs());
}

static void jobs_csv_without_memory(void) {
  prepare();
  CU_ASSERT(starve(write_jobs_cleanly) > 4);
}

static enum hr_status write_timeline(void) {
  struct hr_timeline *timeline = NULL;
  struct hr_error error;
  const char *path = files_path("timeline.csv");
  enum hr_status status = hr_timeline_create(path, &run.trace, NULL, false, false, &timeline, &error);
  if (status != HR_OK) return status;
  struct hr_observer observer = hr_timeline_observer(timeline);
  replayed_notify(&run, &observer, 1, NULL);
  status = hr_timeline_finish(timeline, &error);
  hr_timeline_destroy(timeline);
  if (status == HR_OK) remove(path);
  return status;
}

static enum hr_status write_timeline_cleanly(void) {
  return expect_no_file(write_timeline());
}

static void timeline_without_memory(void) {
  prepare();
  CU_ASSERT(starve(write_timeline_cleanly) > 3);
}

static enum hr_status write_json(void) {
  struct hr_error error;
  const char *path = files_path("summary.json");
  enum hr_status status = hr_summary_write_json(path, summary, &label, &perf, &error);
  if (status == HR_OK) remove(path);
  return status;
}

static enum hr_status write_json_cleanly(void) {
  return expect_no_file(write_json());
}

static void json_without_memory(void) {
  prepare();
  summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
  CU_ASSERT(starve(write_json_cleanly) > 300);
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

static void costs_without_memory(void) {
  prepare();
  priced = priced_create();
  CU_ASSERT(starve(sum_costs) > 40);
  CU_ASSERT_PTR_NOT_NULL_FATAL(with_costs);
  CU_ASSERT(starve(write_costs_cleanly) > 1);
  summary = with_costs;
  label.cluster = &priced->cluster;
  cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
  CU_ASSERT(starve(write_json_cleanly) > 500);
  cJSON_InitHooks(NULL);
  CU_ASSERT(starve(print_table) > 20);
  hr_summary_destroy(with_costs);
  priced_destroy(priced);
}

static void table_without_memory(void) {
  prepare();
  summary = replayed_summary(&run);
  CU_ASSERT_PTR_NOT_NULL_FATAL(summary);
  CU_ASSERT(starve(print_table) > 10);
  hr_summary_destroy(summary);
}

TEST_MAIN("report: no memory", TEST(summary_without_memory), TEST(fragments_without_memory),
          TEST(jobs_csv_without_memory), TEST(timeline_without_memory), TEST(json_without_memory),
          TEST(table_without_memory), TEST(costs_without_memory))
