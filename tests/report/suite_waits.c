/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the reference traces and two other scenarios under all named policy settings and three other policies. The
   recorded waits must be the times between the attempts of the history, and the parts of a wait must sum to the
   wait. */

#include "harness.h"
#include "headroom/headroom.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/replay.h"

#include <inttypes.h>
#include <string.h>

static const char *const scenarios[] = {"traces/reference/steady.json",       "traces/reference/bursty.json",
                                        "traces/reference/heavy-tailed.json", "traces/reference/gang-heavy.json",
                                        "traces/reference/multi-tenant.json", "traces/reference/spot-heavy.json",
                                        "tests/cli/golden/why.json",          "scenarios/agency.json"};
static const char *const others[] = {"queue", "gang-slice", "rounds"};
enum { N_SCENARIOS = sizeof scenarios / sizeof *scenarios, N_OTHERS = sizeof others / sizeof *others };

struct run {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_policy_choice policy;
  struct hr_replay replay;
  struct hr_waits *waits;
  struct hr_history *history;
};

static unsigned n_runs, n_waits;

/* ---- Checks of waits -------------------------------------------------------------------------------- */

static bool parts_sum_to_wait(const struct run *run, const struct hr_wait *wait) {
  const struct hr_wait_part *parts = hr_waits_parts(run->waits, wait);
  int64_t sum_us = 0;
  if (wait->begin_us == wait->end_us) return wait->is_open && wait->n_parts == 1 && parts[0].us == 0;
  for (uint32_t i = 0; i < wait->n_parts; i++) {
    if (parts[i].us <= 0 || (i > 0 && parts[i].us > parts[i - 1].us)) return false;
    sum_us += parts[i].us;
  }
  return sum_us == wait->end_us - wait->begin_us;
}

/* Whether `waits`, which has `left` elements, is equal to the waits that follow from the attempts of a job. Before each
   attempt, the job waited from the end of its previous attempt; before the first attempt, from its submit. Attempts and
   waits are visited from the last to the first. */
static bool are_between(const struct run *run, hr_job job, const struct hr_wait *waits, size_t left) {
  const struct hr_attempt *attempts;
  const struct hr_result *result = run->replay.result;
  hr_history_attempts(run->history, &attempts);
  uint32_t at = hr_history_last(run->history, job);
  bool is_open = result->state[job.id] == HR_JOB_WAITING, is_rejected = result->state[job.id] == HR_JOB_REJECTED;
  if (is_open || (is_rejected && left > 0)) { /* the last wait was ended by the end of the run or by a rejection */
    int64_t from_us = at == HR_NONE ? run->trace->submit_us[job.id] : attempts[at].end_us;
    bool found = left > 0 && waits[left - 1].begin_us == from_us && waits[left - 1].is_open == is_open;
    if (found && is_open) found = waits[left - 1].end_us == result->end_us;
    if (is_open && !found) return false;
    left -= found;
  }
  for (; at != HR_NONE; at = attempts[at].previous) {
    uint32_t previous = attempts[at].previous;
    int64_t from_us = previous == HR_NONE ? run->trace->submit_us[job.id] : attempts[previous].end_us;
    if (from_us == attempts[at].begin_us) continue; /* waits of duration 0 are not recorded */
    if (left == 0 || waits[left - 1].begin_us != from_us || waits[left - 1].end_us != attempts[at].begin_us)
      return false;
    if (waits[left - 1].is_first != (previous == HR_NONE)) return false;
    left--;
  }
  return left == 0;
}

static void check_waits(const struct run *run, const char *name, const char *policy) {
  unsigned n_bad = 0;
  for (uint32_t job = 0; job < run->trace->n_jobs; job++) {
    const struct hr_wait *waits;
    size_t count = hr_waits_of(run->waits, (hr_job){job}, &waits);
    bool good = are_between(run, (hr_job){job}, waits, count);
    for (size_t i = 0; i < count; i++) good = good && parts_sum_to_wait(run, &waits[i]);
    n_waits += (unsigned)count;
    n_bad += !good;
    if (!good && n_bad == 1) printf("\n  %s, %s: job %" PRIu32 "\n", name, policy, job);
  }
  CU_ASSERT_EQUAL(n_bad, 0);
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

static void follow(struct run *run, const char *name, const char *policy) {
  struct hr_error error;
  struct hr_waits_config waits = {.trace = run->trace};
  struct hr_replay_config config = {.scenario = run->scenario, .trace = run->trace, .policy = &run->policy, .seed = 1};
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&run->policy, policy, &error), HR_OK);
  run->waits = hr_waits_create(&waits);
  run->history = hr_history_create(run->trace);
  CU_ASSERT_EQUAL_FATAL(hr_replay_init(&run->replay, &config, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_replay_add(&run->replay, hr_waits_observer(run->waits), &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_replay_add(&run->replay, hr_history_observer(run->history), &error), HR_OK);
  enum hr_status status = hr_replay_run(&run->replay, &error);
  if (status != HR_OK) printf("\n  %s, %s: %s\n", name, policy, error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_waits_close(run->waits, run->replay.result), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_history_close(run->history, run->replay.result), HR_OK);
  check_waits(run, name, policy);
  n_runs++;
  hr_waits_destroy(run->waits);
  hr_history_destroy(run->history);
  hr_replay_finish(&run->replay);
  hr_policy_choice_finish(&run->policy);
}

static bool is_there(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file) fclose(file);
  return file != NULL;
}

static void check_scenario(const char *name) {
  char path[400];
  struct hr_error error;
  struct run run = {0};
  snprintf(path, sizeof path, PROJECT_DIR "/%s", name);
  if (!is_there(path)) return;
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(path, NULL, 0, &run.scenario, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(run.scenario->trace_file, NULL, &run.trace, &error), HR_OK);
  for (size_t i = 0; i < N_OTHERS; i++) follow(&run, name, others[i]);
  for (const struct hr_policy_setting *setting = hr_policy_settings(); setting->name; setting++)
    follow(&run, name, setting->name);
  hr_trace_destroy(run.trace);
  hr_scenario_destroy(run.scenario);
}

static void waits_are_between_attempts(void) {
  for (size_t i = 0; i < N_SCENARIOS; i++) check_scenario(scenarios[i]);
  printf("%u runs, %u waits ", n_runs, n_waits);
  CU_ASSERT(n_runs >= 40 && n_waits > 1000);
}

TEST_MAIN("report: waits of the reference suite", TEST(waits_are_between_attempts))
