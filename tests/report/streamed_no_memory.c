/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A streamed run, from reading the trace to writing the metrics, runs out of memory after 0, 1, 2, ... allocations. The
   trace is a packed trace or a text file. */

#include "harness.h"
#include "headroom/headroom.h"
#include "headroom/unstable/metrics.h"
#include "scarce_memory.h"
#include "trace_files.h"

#include <cjson/cJSON.h>
#include <string.h>
#include <unistd.h>

enum { JOBS = 300 };

static struct {
  char trace[200];
  const char *order, *backfill;
} files;

static void make_trace(void) {
  char text_trace[JOBS * 40],
      *at = text_trace + sprintf(text_trace, "job_id,submit_s,duration_s,gpus,user,priority,colour\n");
  for (int job = 0; job < JOBS; job++)
    at += sprintf(at, "j%d,%d,%d,%d,user-%d,%d,\n", job, job, 7 + job * 37 % 100, 1 + job % 11, job % 40, job % 3);
  strcpy(files.trace, file_write_text("jobs.csv", text_trace));
}

static void pack_trace(void) {
  char path[200];
  struct hr_trace *trace = trace_at(files.trace, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  strcpy(path, file_path("jobs.hrt"));
  CU_ASSERT_EQUAL_FATAL(hr_trace_pack(trace, path, NULL, NULL), HR_OK);
  hr_trace_destroy(trace);
  strcpy(files.trace, path);
}

static enum hr_status choose(struct hr_policy_choice *policy, struct hr_error *error) {
  enum hr_status status = hr_policy_choice_init(policy, "queue", error);
  if (status == HR_OK) status = hr_policy_choice_set(policy, "order", files.order, error);
  return status == HR_OK ? hr_policy_choice_set(policy, "backfill", files.backfill, error) : status;
}

static enum hr_status tell(const struct hr_summary *figures, const struct hr_run_config *config,
                           const struct hr_policy_choice *policy, struct hr_error *error) {
  const struct hr_notes *notes[] = {&config->trace->notes};
  const struct hr_run_label label = {.scenario = "s",
                                     .trace = config->trace->source,
                                     .format = config->trace->format,
                                     .cluster = config->cluster,
                                     .policy = policy,
                                     .notes = notes,
                                     .n_notes = 1};
  const struct hr_perf perf = {.load_s = 1, .sim_s = 1};
  enum hr_status status = hr_streamed_write_json("/dev/null", figures, &label, &perf, error);
  if (status != HR_OK) return status;
  FILE *out = fopen("/dev/null", "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  status = hr_streamed_print(out, figures, &label, &perf, HR_STYLE_UNICODE);
  fclose(out);
  return status;
}

static enum hr_status run(const struct hr_trace *trace, const struct hr_policy_choice *policy,
                          struct hr_streamed *streamed, struct hr_error *error) {
  char name[] = "main", gpu[] = "T4";
  struct hr_pool_spec pool = {.name = name, .gpu = gpu, .nodes = 2, .gpus_per_node = 8};
  struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  const struct hr_observer observer = hr_streamed_observer(streamed);
  struct hr_run_config config = {.trace = trace,
                                 .cluster = &cluster,
                                 .policy = policy->ops,
                                 .params = policy->params,
                                 .horizon_us = HR_NEVER_US,
                                 .observers = &observer,
                                 .n_observers = 1,
                                 .stream = true};
  struct hr_result *result = NULL;
  enum hr_status status = hr_sim_run(&config, &result, error);
  if (status != HR_OK) return status;
  const struct hr_summary figures = hr_streamed_close(streamed, &cluster, result);
  CU_ASSERT_EQUAL(figures.jobs_completed + figures.jobs_rejected, JOBS);
  hr_result_destroy(result);
  return tell(&figures, &config, policy, error);
}

static enum hr_status from_end_to_end(void) {
  const struct hr_trace_options options = {.streamed = true};
  struct hr_policy_choice policy = {0};
  struct hr_trace *trace = NULL;
  struct hr_streamed *streamed = NULL;
  struct hr_error error = {0};
  enum hr_status status = choose(&policy, &error);
  if (status == HR_OK) status = hr_trace_read(files.trace, &options, &trace, &error);
  if (status == HR_OK && !(streamed = hr_streamed_create(trace))) status = HR_NO_MEMORY;
  if (status == HR_OK) status = run(trace, &policy, streamed, &error);
  hr_streamed_destroy(streamed);
  hr_trace_destroy(trace);
  hr_policy_choice_finish(&policy);
  return status;
}

static void survives(const char *order, const char *backfill) {
  files.order = order;
  files.backfill = backfill;
  cJSON_InitHooks(&(cJSON_Hooks){scarce_malloc, free});
  CU_ASSERT_TRUE(starve(from_end_to_end) > 20);
  cJSON_InitHooks(NULL);
}

static void packed_trace(void) {
  make_trace();
  pack_trace();
  survives("fifo", "strict");
  survives("sjf", "skip");
  survives("edf", "strict");
  survives("fifo", "easy");
  survives("fair-share", "conservative");
}

static void text_trace(void) {
  make_trace();
  if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 1); /* the test writes many small files */
  survives("largest", "skip");
}

TEST_MAIN("streamed_no_memory", TEST(packed_trace), TEST(text_trace))
