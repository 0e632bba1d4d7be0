/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streamed runs equal runs in memory, with shared or MIG GPUs, preemption, models with speeds, quotas, and elastic
   nodes with prices. Traces are random and have several blocks of jobs. One job is very long, so its block remains in
   memory long after the previous block was released. */

#include "base/random.h"
#include "harness.h"
#include "headroom/headroom.h"
#include "report/streamed_runs.h"
#include "report/streamed_scenarios.h"
#include "trace_files.h"

#include <string.h>

enum { JOBS = 9500, LONG_JOB = 5017 };

/* ---- Traces ----------------------------------------------------------------------------------------- */

static struct hr_text text_of(const char *text) {
  return (struct hr_text){text, (uint32_t)strlen(text)};
}

/* Draws the requests of a job, with a mixture of all features. */
static void draw_request(struct hr_job_record *record, uint64_t draw) {
  static const uint32_t gpus[] = {0, 1, 1, 1, 1, 2, 2, 3}, milli[] = {100, 250, 500, HR_WHOLE_GPU_MILLI};
  static const char *const models[] = {"BERT", "ResNet", "GPT", ""}, *const profiles[] = {"1g.10gb", "2g.20gb", ""};
  record->gpus = draw % 499 == 7 ? 99 : gpus[draw / 5 % 8];
  record->tasks = record->gpus == 2 && draw / 41 % 2 ? 2 : 1;
  record->gpu_milli = milli[draw / 7 % 4];
  record->gpu_mem_mib = draw / 11 % 3 * 9000;
  record->model = text_of(models[draw / 13 % 4]);
  record->mig_profile = text_of(record->gpus == 1 ? profiles[draw / 17 % 3] : "");
  record->gpu_types = text_of(draw / 19 % 6 ? "" : "A100-80|T4");
  record->checkpoint_interval_us = draw / 23 % 9 ? record->checkpoint_interval_us : 60 * HR_SECOND_US;
}

static struct hr_job_record random_job(struct hr__stream *draws, uint32_t job, int64_t submit_us) {
  static const char *const users[] = {"ann", "bob", "eve", "kim"}, *const tenants[] = {"red", "blue", ""};
  struct hr_job_record record;
  hr_job_record_init(&record);
  uint64_t draw = hr__stream_next(draws);
  record.submit_us = submit_us;
  record.work_us = draw % 40 ? (int64_t)(draw % 991) * 1000003 : 0;
  draw_request(&record, hr__stream_next(draws));
  if (job == LONG_JOB) {
    record.work_us = INT64_C(3000000000000);
    record.gpus = record.tasks = 1;
  }
  record.priority = (int32_t)(draw / 7 % 4);
  record.limit_us = record.work_us + (int64_t)(draw / 31 % 5000) * 100000;
  if (draw % 5) record.deadline_us = submit_us + record.work_us + (int64_t)(draw / 11 % 100000) * 10000;
  record.user = text_of(users[draw / 17 % 4]);
  record.tenant = text_of(tenants[draw / 71 % 3]);
  record.class_ = (uint8_t)(draw / 29 % 3 ? HR_CLASS_TRAINING : HR_CLASS_INFERENCE);
  record.flags |= draw / 37 % 12 ? 0 : HR_JOB_NOT_INTERRUPTIBLE;
  return record;
}

/* Jobs are submitted over about six days, so that markets change during the run. */
static struct hr_trace *random_trace(uint64_t seed) {
  struct hr_trace_builder *builder = hr_trace_builder_create("random", "memory");
  struct hr__stream draws;
  struct hr_trace *trace = NULL;
  int64_t submit_us = 0;
  hr__stream_init(&draws, seed, HR__PURPOSE_ARRIVAL, 0, 0);
  for (uint32_t job = 0; job < JOBS; job++) {
    uint64_t draw = hr__stream_next(&draws);
    if (draw % 4) submit_us += (int64_t)(draw % 150) * HR_SECOND_US;
    struct hr_job_record record = random_job(&draws, job, submit_us);
    CU_ASSERT_EQUAL_FATAL(hr_trace_builder_add(builder, &record, job + 1, NULL), HR_OK);
  }
  CU_ASSERT_EQUAL_FATAL(hr_trace_builder_finish(builder, false, false, &trace, NULL), HR_OK);
  hr_trace_builder_destroy(builder);
  return trace;
}

/* ---- Scenarios -------------------------------------------------------------------------------------- */

/* Compares both runs of a scenario under each of `policies`, which ends with NULL. Returns the maximum number of starts
   under one policy. */
static uint32_t assert_same_scenario(uint64_t seed, const char *scenario, const char *const *policies) {
  char path[200];
  struct hr_trace *trace = random_trace(seed), *mapped = streamed_trace(trace);
  uint32_t max_starts = 0;
  snprintf(path, sizeof path, "%s", file_write("scenario.json", scenario, strlen(scenario)));
  for (; *policies; policies++) {
    uint32_t n_starts = assert_same_under(path, *policies, trace, mapped);
    if (n_starts > max_starts) max_starts = n_starts;
  }
  hr_trace_destroy(trace);
  hr_trace_destroy(mapped);
  return max_starts;
}

#define POLICIES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SCENARIO(pools, rest)                                                                                          \
  "{ \"cluster\": { \"mig_fallback\": true, \"pools\": [ " pools " ] }" rest ", \"policy\": { \"name\": \"queue\" } }"
#define WHOLE "{ \"name\": \"w\", \"gpu\": \"A100-80\", \"nodes\": 3, \"gpus_per_node\": 4 }"
#define SPLIT                                                                                                          \
  "{ \"name\": \"m\", \"gpu\": \"A100-80\", \"nodes\": 1, \"gpus_per_node\": 4, \"sharing\": \"mig\", "                \
  "\"mig\": { \"layout\": \"all-1g.10gb\" } }"

static void shared_gpus(void) {
  (void)assert_same_scenario(21,
                             SCENARIO(WHOLE ", { \"name\": \"f\", \"gpu\": \"T4\", \"nodes\": 4, \"gpus_per_node\": 2, "
                                            "\"cpu_per_node\": 16, \"sharing\": \"fraction\" }, " SPLIT,
                                      ""),
                             POLICIES("queue:backfill=easy,placement=best-fit", "queue:backfill=skip,placement=fgd",
                                      "queue:order=fair-share,backfill=easy,placement=first-fit",
                                      "queue:order=drf,placement=spread"));
}

/* With interference the speed of jobs changes while they run. If GPU memory is not reserved, some jobs are killed. */
static void shared_speeds(void) {
  (void)assert_same_scenario(
      22,
      SCENARIO(
          "{ \"name\": \"s\", \"gpu\": \"A100-80\", \"nodes\": 3, \"gpus_per_node\": 4, \"sharing\": \"mps\", "
          "\"replicas\": 4, \"interference\": [ { \"up_to\": 0.5, \"speed\": 0.9 }, { \"up_to\": 1, \"speed\": 0.7 "
          "} ] }, { \"name\": \"t\", \"gpu\": \"T4\", \"nodes\": 4, \"gpus_per_node\": 2, \"sharing\": "
          "\"time-slice\", \"replicas\": 4 }",
          ""),
      POLICIES("queue:backfill=skip,placement=best-fit", "queue:order=sjf,backfill=easy,placement=best-fit"));
}

static void quotas(void) {
  uint32_t n_starts = assert_same_scenario(
      23,
      SCENARIO(WHOLE,
               ", \"quotas\": { \"tenants\": [ { \"tenant\": \"red\", \"guaranteed_gpus\": 5, \"max_gpus\": 9 }, { "
               "\"tenant\": \"blue\", \"guaranteed_gpus\": 2 } ] }, \"classes\": { \"training\": { \"checkpoint\": { "
               "\"policy\": \"interval\", \"interval_s\": 100, \"write_s\": 5 }, \"restart_s\": 10 } }"),
      POLICIES("queue:backfill=easy", "queue:order=multifactor,backfill=conservative",
               "queue:order=fair-share,backfill=skip,preemption=reclaim,grace_s=30",
               "queue:order=priority,backfill=skip,preemption=priority,min_run_s=100,preempted=requeue"));
  CU_ASSERT_TRUE(n_starts > JOBS);
}

static void preemption(void) {
  uint32_t n_starts =
      assert_same_scenario(24, SCENARIO(WHOLE, ", \"horizon_s\": 450000"),
                           POLICIES("queue:order=las,las_promote=2,backfill=skip", "queue:order=gittins,backfill=easy",
                                    "queue:backfill=skip,preemption=priority,preempted=kill,grace_s=20"));
  CU_ASSERT_TRUE(n_starts > JOBS);
}

static void speeds_and_tiers(void) {
  (void)assert_same_scenario(
      25,
      SCENARIO(
          "{ \"name\": \"v\", \"gpu\": \"V100\", \"nodes\": 6, \"gpus_per_node\": 2, \"topology\": { "
          "\"nodes_per_rack\": 2 } }, { \"name\": \"t\", \"gpu\": \"T4\", \"nodes\": 3, \"gpus_per_node\": 2 }",
          ", \"models\": { \"reference\": \"V100\", \"speeds\": { \"BERT\": { \"V100\": 1, \"T4\": 0.4 }, \"GPT\": { "
          "\"V100\": 1, \"T4\": 0 } } }, \"classes\": { \"training\": { \"within\": \"node\", \"within_wait_s\": 300 "
          "} }"),
      POLICIES("queue:backfill=easy", "queue:order=sjf,backfill=skip,placement=best-fit", "queue:backfill=strict"));
}

/* Early reclaims are not billed, and the scenario has costs of operations. */
static void markets(void) {
  uint32_t n_starts = assert_same_scenario(
      26,
      SCENARIO(
          "{ \"name\": \"o\", \"gpu\": \"A100-80\", \"nodes\": 1, \"gpus_per_node\": 4, \"market\": \"owned\", "
          "\"usd_per_gpu_hour\": 1 }, { \"name\": \"d\", \"gpu\": \"A100-80\", \"nodes\": 3, \"gpus_per_node\": 4, "
          "\"market\": \"on-demand\", \"usd_per_gpu_hour\": 4, \"boot_s\": 60 }, { \"name\": \"s\", \"gpu\": "
          "\"A100-80\", \"nodes\": 4, \"gpus_per_node\": 2, \"market\": \"spot\", \"usd_per_gpu_hour\": 1.5, "
          "\"on_demand_usd_per_gpu_hour\": 4, \"billing\": { \"free_if_reclaimed_s\": 3600 }, \"spot\": { \"model\": "
          "\"exponential\", \"rate_per_h\": 1, \"notice_s\": 30, \"price\": { \"model\": \"ou\", \"volatility\": "
          "0.2, \"reversion_h\": 5 } } }",
          ", \"classes\": { \"training\": { \"checkpoint\": { \"policy\": \"on-notice\", \"write_s\": 10 }, "
          "\"restart_s\": 30 }, \"inference\": { \"spot\": false } }, \"costs\": { \"operations\": { "
          "\"usd_per_month\": 100, \"usd_per_node_month\": 7 } }, \"horizon_s\": 600000"),
      POLICIES("queue:backfill=skip,market=spot-first,spot_wait_s=300", "queue:backfill=easy,market=static",
               "queue:order=fair-share,backfill=skip,market=price-capacity",
               "queue:order=sjf,backfill=conservative,market=on-demand-only"));
  CU_ASSERT_TRUE(n_starts > JOBS / 2);
}

TEST_MAIN("streamed_worlds", TEST(shared_gpus), TEST(shared_speeds), TEST(quotas), TEST(preemption),
          TEST(speeds_and_tiers), TEST(markets))
