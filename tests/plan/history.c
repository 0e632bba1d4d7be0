/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attempts and node changes in the history, compared with the accounting of the engine for the same run. */

#include "harness.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/replay.h"

#include "headroom/headroom.h"

#include <stdlib.h>
#include <string.h>

struct kept {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_history *history;
  struct hr_replay replay;
};

static void run(struct kept *kept, const char *name, const char *const *overrides, size_t n_overrides) {
  char path[512];
  struct hr_error error = {0};
  snprintf(path, sizeof path, PROJECT_DIR "/scenarios/%s.json", name);
  *kept = (struct kept){0};
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(path, overrides, n_overrides, &kept->scenario, &error), HR_OK);
  const struct hr_trace_options options = {.format = kept->scenario->trace_format, .map = &kept->scenario->columns};
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(kept->scenario->trace_file, &options, &kept->trace, &error), HR_OK);
  kept->history = hr_history_create(kept->trace);
  CU_ASSERT_PTR_NOT_NULL_FATAL(kept->history);
  const struct hr_replay_config config = {
      .scenario = kept->scenario, .trace = kept->trace, .seed = kept->scenario->seed, .check = true};
  CU_ASSERT_EQUAL_FATAL(hr_replay_init(&kept->replay, &config, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_replay_add(&kept->replay, hr_history_observer(kept->history), &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_replay_run(&kept->replay, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_history_close(kept->history, kept->replay.result), HR_OK);
}

static void finish(struct kept *kept) {
  hr_replay_finish(&kept->replay);
  hr_history_destroy(kept->history);
  hr_trace_destroy(kept->trace);
  hr_scenario_destroy(kept->scenario);
}

/* ---- Attempts --------------------------------------------------------------------------------------- */

struct accounts {
  int64_t kept_us, lost_us, saving_us, restarting_us;
  hr_amount milli_us;
  uint32_t attempts;
};

/* With per-GPU allocation an attempt has one slice per task. The slices must sum to the GPUs of the job. */
static void check_slices(const struct hr_history *history, const struct hr_attempt *attempt) {
  const struct hr_slice *slices = hr_history_slices(history, attempt);
  uint64_t sum_milli = 0;
  for (uint32_t i = 0; i < attempt->n_slices; i++) sum_milli += slices[i].gpu_milli;
  CU_ASSERT(attempt->n_slices == 0 || sum_milli == attempt->gpu_milli);
}

/* The attempts of a job must be in order of time and linked by `previous`, and the last one must end like the job. */
static void check_attempts_of_job(const struct kept *kept, uint32_t job) {
  const struct hr_attempt *attempts;
  hr_history_attempts(kept->history, &attempts);
  uint32_t at = hr_history_last(kept->history, (hr_job){job});
  const struct hr_result *result = kept->replay.result;
  CU_ASSERT_EQUAL(at == HR_NONE, result->start_us[job] == HR_NEVER_US);
  if (at == HR_NONE) return;
  CU_ASSERT_EQUAL(attempts[at].end == HR_ATTEMPT_COMPLETED, result->state[job] == HR_JOB_COMPLETED);
  CU_ASSERT_EQUAL(attempts[at].end == HR_ATTEMPT_RUNNING, result->state[job] == HR_JOB_RUNNING);
  if (result->state[job] == HR_JOB_COMPLETED)
    CU_ASSERT_EQUAL(attempts[at].end_us, hr_result_end_us(result, (hr_job){job}));
  for (; attempts[at].previous != HR_NONE; at = attempts[at].previous) {
    const struct hr_attempt *before = &attempts[attempts[at].previous];
    CU_ASSERT(before->end_us <= attempts[at].begin_us && before->job.id == job);
    CU_ASSERT(before->end == HR_ATTEMPT_INTERRUPTED || before->end == HR_ATTEMPT_PREEMPTED);
    CU_ASSERT_EQUAL(before->number + 1, attempts[at].number);
  }
  CU_ASSERT_EQUAL(attempts[at].number, 0);
  CU_ASSERT_EQUAL(attempts[at].begin_us, result->start_us[job]);
}

static void books_agree(const struct kept *kept, const struct accounts *accounts) {
  const struct hr_result *result = kept->replay.result;
  double gpu_hours = 0;
  for (uint32_t i = 0; i < result->n_jobs; i++) {
    gpu_hours += (double)accounts[i].milli_us / 3.6e12;
    check_attempts_of_job(kept, i);
    if (!result->account) continue;
    const struct hr_job_accounting copy = hr_result_accounting(result, (hr_job){i}), *accounting = &copy;
    CU_ASSERT_EQUAL(accounts[i].attempts, accounting->attempts);
    CU_ASSERT_EQUAL(accounts[i].kept_us, accounting->kept_us);
    CU_ASSERT_EQUAL(accounts[i].lost_us, accounting->lost_us);
    CU_ASSERT_EQUAL(accounts[i].saving_us, accounting->saving_us);
    CU_ASSERT_EQUAL(accounts[i].restarting_us, accounting->restarting_us);
  }
  CU_ASSERT_DOUBLE_EQUAL(gpu_hours, kept->replay.summary->gpu_hours, 1e-9 * (1 + gpu_hours));
}

static void attempts_agree(const struct kept *kept) {
  const struct hr_attempt *attempts;
  size_t count = hr_history_attempts(kept->history, &attempts);
  struct accounts *accounts = calloc((size_t)kept->trace->n_jobs + 1, sizeof *accounts);
  CU_ASSERT_PTR_NOT_NULL_FATAL(accounts);
  for (size_t i = 0; i < count; i++) {
    const struct hr_attempt *attempt = &attempts[i];
    struct accounts *of = &accounts[attempt->job.id];
    int64_t held_us = attempt->end_us - attempt->begin_us;
    CU_ASSERT(i == 0 || attempts[i - 1].begin_us <= attempt->begin_us);
    CU_ASSERT_EQUAL(attempt->kept_us + attempt->lost_us + attempt->saving_us + attempt->restarting_us, held_us);
    check_slices(kept->history, attempt);
    of->attempts++;
    of->kept_us += attempt->kept_us;
    of->lost_us += attempt->lost_us;
    of->saving_us += attempt->saving_us;
    of->restarting_us += attempt->restarting_us;
    of->milli_us += (hr_amount)attempt->gpu_milli * held_us;
  }
  books_agree(kept, accounts);
  free(accounts);
}

/* ---- Nodes ------------------------------------------------------------------------------------------ */

/* The numbers of requested nodes, notices and reclaimed nodes must equal the counters of the pools. */
static void check_node_changes(const struct kept *kept) {
  const struct hr_node_change *changes;
  size_t count = hr_history_changes(kept->history, &changes);
  const struct hr_result *result = kept->replay.result;
  uint64_t launches = 0, notices = 0, reclaims = 0, notified_launches = 0, notified_notices = 0, notified_reclaims = 0;
  for (size_t i = 0; i < count; i++) {
    const struct hr_node_change *change = &changes[i];
    CU_ASSERT_EQUAL(change->kind == HR_EVENT_OFFER, change->node.id == HR_NONE);
    if (change->kind == HR_EVENT_OFFER)
      CU_ASSERT(change->offer <= (uint32_t)kept->scenario->cluster.pools[change->pool.id].nodes);
    launches += change->kind == HR_EVENT_ACQUIRE;
    notices += change->kind == HR_EVENT_NOTICE;
    reclaims += change->kind == HR_EVENT_NODE_DOWN && change->reason == HR_REASON_RECLAIMED;
  }
  for (uint32_t i = 0; i < result->n_pools; i++) {
    notified_launches += result->pools[i].launches;
    notified_notices += result->pools[i].notices;
    notified_reclaims += result->pools[i].reclaims;
  }
  CU_ASSERT_EQUAL(launches, notified_launches);
  CU_ASSERT_EQUAL(notices, notified_notices);
  CU_ASSERT_EQUAL(reclaims, notified_reclaims);
}

static void agrees(const char *name, const char *const *overrides, size_t n_overrides) {
  struct kept kept;
  run(&kept, name, overrides, n_overrides);
  attempts_agree(&kept);
  check_node_changes(&kept);
  finish(&kept);
}

static void history_of_shipped_scenarios(void) {
  agrees("demo", NULL, 0);
  agrees("agency", NULL, 0);
  agrees("reserved-spot-mix", NULL, 0);
  agrees("shared-inference", NULL, 0);
}

/* A scenario whose spot capacity is a recorded series. */
static void history_with_recorded_spot_capacity(void) {
  if (real_trace_missing(REAL_TRACES_DIR "/spot-skypilot/availability/1-node/aws-02-15-2023/us-east-1a_v100_1.json"))
    return;
  agrees("spot-v100", NULL, 0);
}

static void history_with_preemption_and_horizon(void) {
  const char *const las[] = {"policy={\"name\":\"las\"}"};
  const char *const horizon[] = {"horizon_s=200000"};
  agrees("demo", las, 1);
  agrees("demo", horizon, 1);
  agrees("reserved-spot-mix", horizon, 1);
}

TEST_MAIN("plan: history", TEST(history_of_shipped_scenarios), TEST(history_with_recorded_spot_capacity),
          TEST(history_with_preemption_and_horizon))
