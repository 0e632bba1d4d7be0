/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A streamed run releases the memory of a block of 4,096 jobs when all its jobs have ended. Policies may still have
 * queue entries and timers that refer to such jobs; they remove them later. These tests check that the result is the
 * same as in memory. Each test has a trace and a policy for which such entries exist longer than the block of their
 * job. Jobs arrive at a constant rate, so the time at which all jobs of a block have ended is known.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/headroom.h"
#include "report/streamed_runs.h"
#include "report/streamed_scenarios.h"
#include "trace_files.h"

#include <string.h>

enum { JOBS = 9500, BLOCK = 4096 };

/* Changes the record of a job. `draw` is a random number that belongs to the job. */
typedef void job_editor(struct hr_job_record *record, uint32_t job, uint64_t draw);

static struct hr_text text_of(const char *text) {
  return (struct hr_text){text, (uint32_t)strlen(text)};
}

/* Returns a trace with one job every `gap_s` seconds. Jobs have one GPU and run times of at most `longest_s` seconds,
   unless `edit` changes them. */
static struct hr_trace *even_trace(uint32_t gap_s, uint32_t longest_s, job_editor *edit) {
  struct hr_trace_builder *builder = hr_trace_builder_create("even", "memory");
  struct hr__stream draws;
  struct hr_trace *trace = NULL;
  hr__stream_init(&draws, 31, HR__PURPOSE_ARRIVAL, 0, 0);
  for (uint32_t job = 0; job < JOBS; job++) {
    uint64_t draw = hr__stream_next(&draws);
    struct hr_job_record record;
    hr_job_record_init(&record);
    record.submit_us = (int64_t)job * gap_s * HR_SECOND_US;
    record.work_us = (int64_t)(1 + draw % longest_s) * HR_SECOND_US;
    record.gpus = record.tasks = 1;
    record.priority = (int32_t)(draw / 7919 % 3);
    record.class_ = HR_CLASS_TRAINING;
    record.user = text_of(draw / 104729 % 2 ? "ann" : "bob");
    edit(&record, job, draw / 1299709);
    CU_ASSERT_EQUAL_FATAL(hr_trace_builder_add(builder, &record, job + 1, NULL), HR_OK);
  }
  CU_ASSERT_EQUAL_FATAL(hr_trace_builder_finish(builder, false, false, &trace, NULL), HR_OK);
  hr_trace_builder_destroy(builder);
  return trace;
}

/* Asserts that the run in memory equals the streamed run; returns the number of starts. Frees the trace. */
static uint32_t assert_same(struct hr_trace *trace, const char *scenario, const char *policy) {
  char path[200];
  struct hr_trace *mapped = streamed_trace(trace);
  snprintf(path, sizeof path, "%s", file_write("scenario.json", scenario, strlen(scenario)));
  uint32_t n_starts = assert_same_under(path, policy, trace, mapped);
  hr_trace_destroy(trace);
  hr_trace_destroy(mapped);
  return n_starts;
}

#define SCENARIO(pools, rest)                                                                                          \
  "{ \"cluster\": { \"pools\": [ " pools " ] }" rest ", \"policy\": { \"name\": \"queue\" } }"
#define WHOLE "{ \"name\": \"w\", \"gpu\": \"A100-80\", \"nodes\": 2, \"gpus_per_node\": 4 }"

/* ---- Jobs that may not be preempted yet, or that have a grace time ---------------------------------- */

/* Some jobs of the second block have long run times and a low priority, so that they are preempted. */
static void long_jobs_in_second_block(struct hr_job_record *record, uint32_t job, uint64_t draw) {
  (void)draw;
  if (job <= BLOCK || job > BLOCK + 3) return;
  record->work_us = 60000 * HR_SECOND_US;
  record->priority = 0;
}

/* The last job of the first block is submitted at 32,760 s, and all jobs of this block end soon after. A job may be
   preempted only 30,000 s after its start, so the policy then still has timers for ended jobs. */
static void minimum_run_time_before_preemption(void) {
  uint32_t n_starts = assert_same(even_trace(8, 110, long_jobs_in_second_block), SCENARIO(WHOLE, ""),
                                  "queue:order=priority,backfill=skip,preemption=priority,min_run_s=30000");
  CU_ASSERT_TRUE(n_starts > JOBS);
}

/* Preempted jobs end long before their grace time is over. */
static void grace_time_after_preemption(void) {
  uint32_t n_starts =
      assert_same(even_trace(8, 110, long_jobs_in_second_block), SCENARIO(WHOLE, ""),
                  "queue:order=priority,backfill=skip,preemption=priority,preempted=requeue,grace_s=30000");
  CU_ASSERT_TRUE(n_starts > JOBS);
}

/* ---- Jobs that wait for a locality or for spot capacity --------------------------------------------- */

static void no_edit(struct hr_job_record *record, uint32_t job, uint64_t draw) {
  (void)record;
  (void)job;
  (void)draw;
}

static void jobs_that_wait_for_spot(void) {
  (void)assert_same(
      even_trace(8, 300, no_edit),
      SCENARIO(
          "{ \"name\": \"d\", \"gpu\": \"A100-80\", \"nodes\": 3, \"gpus_per_node\": 4, \"market\": \"on-demand\", "
          "\"usd_per_gpu_hour\": 4 }, { \"name\": \"s\", \"gpu\": \"A100-80\", \"nodes\": 4, \"gpus_per_node\": 4, "
          "\"market\": \"spot\", \"usd_per_gpu_hour\": 1.5, \"on_demand_usd_per_gpu_hour\": 4, \"spot\": { "
          "\"model\": \"exponential\", \"rate_per_h\": 0.5 } }",
          ""),
      "queue:backfill=skip,market=spot-first,spot_wait_s=30000");
}

/* The eleventh job needs a whole free node. Each of the first four jobs runs on another node until 60,000 s, so the
   eleventh job is the first in the queue for 45,000 s, the maximum wait for a locality. Jobs of the second block are
   queued behind it; all of them have ended by 41,100 s. */
static void no_free_node(struct hr_job_record *record, uint32_t job, uint64_t draw) {
  (void)draw;
  record->gpus = job < 4 ? 3 : job == 10 ? 5 : 2;
  if (job < 4) record->work_us = 60000 * HR_SECOND_US;
}

static void jobs_with_locality(void) {
  (void)assert_same(even_trace(5, 25, no_free_node),
                    SCENARIO("{ \"name\": \"w\", \"gpu\": \"A100-80\", \"nodes\": 4, \"gpus_per_node\": 5 }",
                             ", \"classes\": { \"training\": { \"within\": \"node\", \"within_wait_s\": 45000 } }"),
                    "queue:backfill=skip");
}

/* ---- Jobs in a reservation plan or in a release calendar -------------------------------------------- */

/* First all jobs fit. Later the queue grows slowly, because jobs that request two GPUs leave single GPUs idle. All jobs
   end at their limits, so the reservation plan remains valid, and it still contains ended jobs of the first block. */
static void ends_at_limits(struct hr_job_record *record, uint32_t job, uint64_t draw) {
  (void)draw;
  record->gpus = job % 2 ? 1 : 2;
  record->work_us = (job < 1000 ? 15 : 26) * HR_SECOND_US;
  record->limit_us = record->work_us;
}

static void reservation_plan(void) {
  (void)assert_same(even_trace(5, 1, ends_at_limits), SCENARIO(WHOLE, ""),
                    "queue:backfill=conservative,placement=first-fit");
}

/* Nearly all jobs end long before their limits, so the release calendar still contains entries of ended jobs. */
static void ends_before_limits(struct hr_job_record *record, uint32_t job, uint64_t draw) {
  static const uint32_t milli[] = {250, 500, HR_WHOLE_GPU_MILLI};
  (void)job;
  record->gpu_milli = milli[draw % 3];
  record->limit_us = record->work_us + (int64_t)(draw / 3 % 1000) * 1000 * HR_SECOND_US;
}

static void release_calendar(void) {
  (void)assert_same(even_trace(8, 105, ends_before_limits),
                    SCENARIO("{ \"name\": \"f\", \"gpu\": \"T4\", \"nodes\": 2, \"gpus_per_node\": 2, "
                             "\"sharing\": \"fraction\" }",
                             ""),
                    "queue:backfill=easy,placement=best-fit");
}

TEST_MAIN("streamed_stale", TEST(minimum_run_time_before_preemption), TEST(grace_time_after_preemption),
          TEST(jobs_that_wait_for_spot), TEST(jobs_with_locality), TEST(reservation_plan), TEST(release_calendar))
