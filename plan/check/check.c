/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the cases of a suite on a pool of threads and compares each case with the baseline.
 *
 * All scenarios are loaded and all traces are read before the first run, so that errors in the input are reported
 * early. A case is compared right after its run, while the results of single jobs are in memory. A case writes only to
 * its own entry, so the results do not depend on the order in which runs end. If a job starts later than in the
 * baseline, its run is repeated with an observer to find what the job waited for.
 */

#include "plan/check/check.h"
#include "base/containers.h"
#include "base/text.h"
#include "base/threads.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/replay.h"
#include "plan/runner/runner.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the check");
}

static bool same_text(const char *a, const char *b) {
  return a && b && strcmp(a, b) == 0;
}

/* ---- Cases ------------------------------------------------------------------------------------------ */

static size_t count_cases(const struct hr_check_config *config) {
  size_t count = config->baseline ? config->baseline->n_runs : 0;
  for (size_t i = 0; i < config->suite->n_runs; i++) {
    size_t n_policies = config->suite->runs[i].n_policies;
    count += n_policies ? n_policies : 1;
  }
  return count;
}

/* Returns the name of a case, such as "steady/sjf". The caller frees it. NULL when out of memory. */
static char *case_name(const struct hr_suite_run *run, const char *policy) {
  if (!policy) return strdup(run->name);
  size_t bytes = strlen(run->name) + strlen(policy) + 2;
  char *name = malloc(bytes);
  if (name) snprintf(name, bytes, "%s/%s", run->name, policy);
  return name;
}

static const struct hr_baseline_run *find_before(const struct hr_check *check, const char *name) {
  const struct hr_baseline *baseline = check->config.baseline;
  for (size_t i = 0; baseline && i < baseline->n_runs; i++)
    if (strcmp(baseline->runs[i].name, name) == 0) return &baseline->runs[i];
  return NULL;
}

static const struct hr__check_case *find_case(const struct hr_check *check, const char *name, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (same_text(check->cases[i].name, name)) return &check->cases[i];
  return NULL;
}

static enum hr_status add_case(struct hr_check *check, const struct hr_suite_run *run, const char *policy,
                               struct hr_error *error) {
  struct hr__check_case *item = &check->cases[check->n_cases++];
  *item = (struct hr__check_case){.run = run, .name = case_name(run, policy)};
  if (policy) item->policy = strdup(policy);
  if (!item->name || (policy && !item->policy)) return no_memory(error);
  if (find_case(check, item->name, check->n_cases - 1))
    return hr_fail(error, HR_BAD_INPUT, "%s: two runs have the name '%.200s'; names must be unique",
                   check->config.suite->path, item->name);
  item->before = find_before(check, item->name);
  return HR_OK;
}

/* Adds a case for each run that only the baseline contains. */
static enum hr_status add_gone(struct hr_check *check, struct hr_error *error) {
  const struct hr_baseline *baseline = check->config.baseline;
  size_t n_suite = check->n_cases;
  for (size_t i = 0; baseline && i < baseline->n_runs; i++) {
    if (find_case(check, baseline->runs[i].name, n_suite)) continue;
    struct hr__check_case *item = &check->cases[check->n_cases++];
    *item = (struct hr__check_case){
        .before = &baseline->runs[i], .name = strdup(baseline->runs[i].name), .verdict = HR__CASE_GONE};
    if (!item->name) return no_memory(error);
  }
  return HR_OK;
}

static enum hr_status list_cases(struct hr_check *check, struct hr_error *error) {
  const struct hr_suite *suite = check->config.suite;
  check->cases = calloc(count_cases(&check->config) + 1, sizeof *check->cases);
  check->traces = calloc(count_cases(&check->config) + 1, sizeof *check->traces);
  enum hr_status status = check->cases && check->traces ? HR_OK : no_memory(error);
  for (size_t i = 0; i < suite->n_runs && status == HR_OK; i++) {
    const struct hr_suite_run *run = &suite->runs[i];
    if (run->n_policies == 0) status = add_case(check, run, NULL, error);
    for (size_t k = 0; k < run->n_policies && status == HR_OK; k++)
      status = add_case(check, run, run->policies[k], error);
  }
  return status == HR_OK ? add_gone(check, error) : status;
}

/* ---- Scenarios and traces --------------------------------------------------------------------------- */

static enum hr_status make_overrides(struct hr__check_case *item, struct hr_error *error) {
  const struct hr_suite_run *run = item->run;
  enum hr_status status = HR_OK;
  if (item->policy)
    status = hr_policy_overrides(item->policy, &item->policy_overrides, &item->n_policy_overrides, error);
  if (status != HR_OK) return status;
  item->overrides = calloc(run->n_set + item->n_policy_overrides + 1, sizeof(*item->overrides));
  if (!item->overrides) return no_memory(error);
  for (size_t i = 0; i < run->n_set; i++) item->overrides[item->n_overrides++] = run->set[i];
  for (size_t i = 0; i < item->n_policy_overrides; i++)
    item->overrides[item->n_overrides++] = item->policy_overrides[i];
  return HR_OK;
}

static enum hr_status share_trace(struct hr_check *check, struct hr__check_case *item, const char *file,
                                  struct hr_error *error) {
  char *key = hr__input_trace_key(item->scenario, file);
  if (!key) return no_memory(error);
  for (item->trace = 0; item->trace < check->n_traces; item->trace++)
    if (strcmp(check->traces[item->trace].key, key) == 0) {
      free(key);
      return HR_OK;
    }
  struct hr__check_trace *fresh = &check->traces[check->n_traces++];
  *fresh = (struct hr__check_trace){.key = key, .path = strdup(file)};
  enum hr_status status =
      fresh->path ? hr__input_trace_read(item->scenario, file, &fresh->trace, error) : no_memory(error);
  return status == HR_OK && file[0] ? hr__input_digest_file(file, &fresh->digest, error) : status;
}

/* Adds the name and digest of an input file. Several files with the same name share one digest. */
static enum hr_status add_input(struct hr_baseline_run *now, const char *path, struct hr_error *error) {
  uint64_t digest;
  enum hr_status status = hr__input_digest_file(path, &digest, error);
  if (status != HR_OK) return status;
  for (size_t i = 0; i < now->n_inputs; i++)
    if (same_text(now->inputs[i].name, hr__check_base_name(path))) {
      now->inputs[i].digest = hr__digest_add(now->inputs[i].digest, digest);
      return HR_OK;
    }
  struct hr_baseline_input *input = &now->inputs[now->n_inputs++];
  *input = (struct hr_baseline_input){strdup(hr__check_base_name(path)), digest};
  return input->name ? HR_OK : no_memory(error);
}

static enum hr_status list_inputs(struct hr__check_case *item, struct hr_error *error) {
  const struct hr_scenario *scenario = item->scenario;
  item->now.inputs = calloc(scenario->files.count + 1, sizeof *item->now.inputs);
  enum hr_status status = item->now.inputs ? add_input(&item->now, scenario->path, error) : no_memory(error);
  for (size_t i = 0; i < scenario->files.count && status == HR_OK; i++) {
    const char *path = scenario->files.text[i];
    if (!scenario->trace_file || strcmp(path, scenario->trace_file) != 0) status = add_input(&item->now, path, error);
  }
  return status;
}

/* Stores the scenario after overrides, from which a later check names the keys that changed. */
static enum hr_status store_scenario(struct hr__check_case *item, struct hr_error *error) {
  enum hr_status status =
      hr_scenario_part(item->run->scenario, item->overrides, item->n_overrides, "", &item->now.scenario, error);
  if (status != HR_OK || !item->now.scenario || strlen(item->now.scenario) <= HR_MAX_BASELINE_SCENARIO_BYTES)
    return status;
  free(item->now.scenario);
  item->now.scenario = NULL;
  return HR_OK;
}

/* Parses the goals of the suite and of the run. */
static enum hr_status parse_goals(struct hr_check *check, struct hr__check_case *item, struct hr_error *error) {
  const struct hr_suite *suite = check->config.suite;
  const struct hr_suite_run *run = item->run;
  size_t count = suite->n_goals + run->n_goals;
  struct hr_placed_text *texts = calloc(count + 1, sizeof *texts); /* the members are borrowed */
  if (!texts) return no_memory(error);
  for (size_t i = 0; i < count; i++) texts[i] = i < suite->n_goals ? suite->goals[i] : run->goals[i - suite->n_goals];
  enum hr_status status = hr__goals_of_texts(texts, (uint32_t)count, check->traces[item->trace].trace,
                                             item->scenario->services, &item->goals, error);
  free(texts);
  return status;
}

static enum hr_status load(struct hr_check *check, struct hr__check_case *item, struct hr_error *error) {
  const struct hr_suite_run *run = item->run;
  enum hr_status status = make_overrides(item, error);
  if (status == HR_OK)
    status = hr_scenario_load(run->scenario, item->overrides, item->n_overrides, &item->scenario, error);
  if (status != HR_OK) return status;
  const char *file = run->trace ? run->trace : hr__input_trace_file(item->scenario);
  if (!file)
    return hr_fail(error, HR_BAD_INPUT, "%s: names no trace; add 'trace' to its run in the suite", run->scenario);
  status = share_trace(check, item, file, error);
  if (status == HR_OK) status = store_scenario(item, error);
  if (status == HR_OK) status = parse_goals(check, item, error);
  return status == HR_OK ? list_inputs(item, error) : status;
}

/* Lists the cases, loads their scenarios and reads their traces. */
static enum hr_status prepare(struct hr_check *check, struct hr_error *error) {
  const struct hr_suite *suite = check->config.suite;
  enum hr_status status = hr__tolerance_check_names(&suite->tolerances, error);
  for (size_t i = 0; i < suite->n_runs && status == HR_OK; i++)
    status = hr__tolerance_check_names(&suite->runs[i].tolerances, error);
  if (status == HR_OK) status = list_cases(check, error);
  for (size_t i = 0; i < check->n_cases && status == HR_OK; i++) {
    struct hr_error inner = {0};
    if (!check->cases[i].run) continue;
    status = load(check, &check->cases[i], &inner);
    if (status != HR_OK) hr_fail(error, status, "run '%.200s': %s", check->cases[i].name, inner.text);
  }
  return status;
}

static void case_finish(struct hr__check_case *item) {
  for (size_t i = 0; i < item->n_policy_overrides; i++) free(item->policy_overrides[i]);
  free(item->policy_overrides);
  free(item->overrides);
  hr_scenario_destroy(item->scenario);
  hr_baseline_run_finish(&item->now);
  for (size_t i = 0; i < item->n_changes; i++) free(item->changes[i].label);
  free(item->changes);
  free(item->start.job);
  free(item->start.tenant);
  free(item->start.wait);
  free(item->decisions.begins);
  hr_notes_finish(&item->causes);
  hr__goals_finish(&item->goals);
  free(item->goal_values);
  free(item->name);
  free(item->policy);
}

/* ---- What a job waited for -------------------------------------------------------------------------- */

static enum hr_status observe_wait(struct hr_replay *replay, struct hr_waits *waits, hr_job job, char **text,
                                   struct hr_error *error) {
  enum hr_status status = hr_replay_add(replay, hr_waits_observer(waits), error);
  if (status == HR_OK) status = hr_replay_run(replay, error);
  if (status != HR_OK) return status;
  status = hr_waits_close(waits, replay->result);
  int64_t submit_us = replay->config.trace->submit_us[job.id];
  if (status == HR_OK && !hr__wait_sentence(waits, job, submit_us, text)) status = HR_NO_MEMORY;
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory for the check");
}

/* Finds the first job that starts later than in the baseline. Repeats the run to find what this job waited for. */
static enum hr_status find_wait(const struct hr_check *check, struct hr__check_case *item, struct hr_error *error) {
  const struct hr_trace *trace = check->traces[item->trace].trace;
  const struct hr_replay_config config = {.scenario = item->scenario, .trace = trace, .seed = item->scenario->seed};
  const struct hr_waits_config watched = {.trace = trace, .watched = &item->start.id, .n_watched = 1};
  struct hr_replay replay;
  enum hr_status status = hr_replay_init(&replay, &config, error);
  struct hr_waits *waits = status == HR_OK ? hr_waits_create(&watched) : NULL;
  if (status == HR_OK && !waits) status = hr_fail(error, HR_NO_MEMORY, "out of memory for the check");
  if (status == HR_OK) status = observe_wait(&replay, waits, item->start.id, &item->start.wait, error);
  hr_waits_destroy(waits);
  hr_replay_finish(&replay);
  return status;
}

/* ---- One run ---------------------------------------------------------------------------------------- */

static bool describe(const struct hr_check *check, struct hr__check_case *item) {
  const struct hr__check_trace *trace = &check->traces[item->trace];
  struct hr_baseline_run *now = &item->now;
  now->name = strdup(item->name);
  now->policy = hr__policy_words(&item->scenario->policy);
  now->trace = strdup(hr__check_base_name(trace->path));
  now->seed = item->scenario->seed;
  now->trace_digest = trace->digest;
  now->n_jobs = trace->trace->n_jobs;
  return now->name && now->policy && now->trace;
}

/* Stores the part of a run that a baseline contains, and compares it with the baseline. HR_NO_MEMORY is the only
   failure. */
static enum hr_status store(const struct hr_check *check, const struct hr_replay *replay,
                            const struct hr__decisions *decisions, struct hr__check_case *item) {
  const struct hr__one_run run = {.summary = replay->summary};
  const struct hr__check_results results = {
      .trace = replay->config.trace, .run = &run, .result = replay->result, .decisions = decisions};
  struct hr_baseline_run *now = &item->now;
  now->digest = replay->summary->digest;
  now->decisions = decisions->count;
  now->spacing = decisions->spacing;
  now->chain = hr__decisions_chain(decisions);
  now->starts = hr__job_starts_encode(replay->result);
  if (!now->chain || !now->starts) return HR_NO_MEMORY;
  return hr__check_compare(&check->config, item, &results);
}

static enum hr_status run_once(const struct hr_check *check, struct hr__check_case *item, struct hr_progress progress,
                               struct hr_error *error) {
  const struct hr_replay_config config = {.scenario = item->scenario,
                                          .trace = check->traces[item->trace].trace,
                                          .seed = item->scenario->seed,
                                          .progress = progress};
  struct hr__decisions decisions;
  struct hr_observer observer;
  struct hr_replay replay;
  enum hr_status status = hr_replay_init(&replay, &config, error);
  bool allocated = hr__decisions_init(&decisions, &observer);
  if (status == HR_OK && !allocated) status = no_memory(error);
  if (status == HR_OK) status = hr_replay_add(&replay, observer, error);
  if (status == HR_OK) status = hr_replay_run(&replay, error);
  if (status == HR_OK && store(check, &replay, &decisions, item) != HR_OK) status = no_memory(error);
  hr__decisions_finish(&decisions);
  hr_replay_finish(&replay);
  bool later = item->start.found && item->start.now_s > item->start.before_s;
  return status == HR_OK && later ? find_wait(check, item, error) : status;
}

/* ---- Replications ----------------------------------------------------------------------------------- */

static enum hr_status run_replicated(const struct hr_check *check, struct hr__check_case *item,
                                     struct hr_error *error) {
  const struct hr_replicate_config config = {.scenario = item->scenario,
                                             .overrides = item->overrides,
                                             .n_overrides = item->n_overrides,
                                             .trace = check->traces[item->trace].trace,
                                             .spec = &item->scenario->replications,
                                             .n_threads = check->n_cases == 1 ? check->config.n_threads : 1};
  struct hr_replicates *replicates = NULL;
  enum hr_status status = hr_replicate(&config, &replicates, error);
  if (status != HR_OK) return status;
  item->now.replications = replicates->count;
  item->now.digest = replicates->first.summary->digest;
  item->now.spacing = 1;
  item->now.chain = strdup("");
  const struct hr__check_results results = {.trace = config.trace, .replicates = replicates};
  if (!item->now.chain || hr__check_compare(&check->config, item, &results) != HR_OK) status = no_memory(error);
  hr_replicates_destroy(replicates);
  return status;
}

/* Runs a case, fills item->now and compares it with the baseline. */
static enum hr_status run_case(const struct hr_check *check, struct hr__check_case *item, struct hr_progress progress,
                               struct hr_error *error) {
  const struct hr_replication_spec *spec = &item->scenario->replications;
  if (!describe(check, item)) return no_memory(error);
  return spec->count > 1 || spec->metric.text ? run_replicated(check, item, error)
                                              : run_once(check, item, progress, error);
}

/* ---- All runs --------------------------------------------------------------------------------------- */

struct task_list {
  struct hr_check *check;
  struct hr__progress_sum sum;
};

static enum hr_status run_task(void *self, size_t task, struct hr_error *error) {
  struct task_list *list = self;
  struct hr__check_case *item = &list->check->cases[task];
  struct hr__progress_reporter reporter = {.sum = &list->sum};
  struct hr_error inner = {0};
  if (!item->run) return HR_OK;
  enum hr_status status = run_case(list->check, item, hr__progress_reporter_progress(&reporter), &inner);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "run '%.200s': %s", item->name, inner.text);
}

static enum hr_status run_all(struct hr_check *check, struct hr_error *error) {
  struct task_list list = {.check = check};
  const struct hr__tasks tasks = {.self = &list, .run = run_task, .count = check->n_cases};
  uint64_t jobs = 0;
  for (size_t i = 0; i < check->n_cases; i++)
    if (check->cases[i].run) jobs += check->traces[check->cases[i].trace].trace->n_jobs;
  hr__progress_sum_init(&list.sum, &check->config.progress, jobs);
  enum hr_status status = hr__pool_run(&tasks, check->config.n_threads, error);
  hr__progress_sum_finish(&list.sum);
  return status;
}

/* ---- Unused tolerances ------------------------------------------------------------------------------ */

/* Whether a tolerance applies to any metric of a run. An unused tolerance for a class or tenant is probably a mistake.
 */
static bool is_used(const struct hr_check *check, const struct hr_suite_run *run,
                    const struct hr_tolerance *tolerance) {
  for (size_t i = 0; i < check->n_cases; i++) {
    const struct hr__check_case *item = &check->cases[i];
    if (!item->run || (run && item->run != run)) continue;
    for (size_t k = 0; k < item->now.n_metrics; k++)
      if (hr__tolerance_names(tolerance, &item->now.metrics[k], true)) return true;
    for (size_t k = 0; item->before && k < item->before->n_metrics; k++)
      if (hr__tolerance_names(tolerance, &item->before->metrics[k], true)) return true;
  }
  return false;
}

static enum hr_status check_tolerances(const struct hr_check *check, const struct hr_suite_run *run,
                                       const struct hr_tolerances *tolerances, struct hr_error *error) {
  for (size_t i = 0; i < tolerances->count; i++)
    if (!is_used(check, run, &tolerances->at[i]))
      return hr_fail(error, HR_BAD_INPUT, "%s'%.200s' matches no figure of its runs", tolerances->at[i].metric.place,
                     tolerances->at[i].metric.text);
  return HR_OK;
}

static enum hr_status check_all_tolerances(const struct hr_check *check, struct hr_error *error) {
  const struct hr_suite *suite = check->config.suite;
  enum hr_status status = check_tolerances(check, NULL, &suite->tolerances, error);
  for (size_t i = 0; i < suite->n_runs && status == HR_OK; i++)
    status = check_tolerances(check, &suite->runs[i], &suite->runs[i].tolerances, error);
  return status;
}

/* ---- Check ------------------------------------------------------------------------------------------ */

static enum hr_status note(struct hr_check *check, struct hr_error *error) {
  const struct hr_baseline *baseline = check->config.baseline;
  enum hr_status status = HR_OK;
  if (baseline && strcmp(baseline->version, hr_version()) != 0)
    status = hr_notes_add(&check->notes, "the baseline was written by headroom %.100s; this is %s", baseline->version,
                          hr_version());
  for (size_t i = 0; i < check->n_traces && status == HR_OK; i++) {
    const struct hr_trace *trace = check->traces[i].trace;
    if (trace->n_skipped)
      status = hr_notes_add(&check->notes, "%s: %" PRIu64 " row%s skipped", trace->source, trace->n_skipped,
                            trace->n_skipped == 1 ? "" : "s");
  }
  for (size_t i = 0; i < check->n_cases && status == HR_OK; i++)
    if (check->cases[i].has_unrated)
      status = hr_notes_add(&check->notes,
                            "run '%.200s' has no jobs: its waits, completion times and slowdowns are those of "
                            "replicas, and are not rated",
                            check->cases[i].name);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

const struct hr_notes *hr_check_notes(const struct hr_check *check) {
  return &check->notes;
}

enum hr_status hr_check(const struct hr_check_config *config, struct hr_check **check, struct hr_error *error) {
  *check = NULL;
  struct hr_check *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return hr_fail(error, HR_NO_MEMORY, "out of memory for the check");
  fresh->config = *config;
  enum hr_status status = prepare(fresh, error);
  if (status == HR_OK) status = run_all(fresh, error);
  if (status == HR_OK) status = check_all_tolerances(fresh, error);
  if (status == HR_OK) status = note(fresh, error);
  if (status == HR_OK)
    *check = fresh;
  else
    hr_check_destroy(fresh);
  return status;
}

void hr_check_destroy(struct hr_check *check) {
  if (!check) return;
  for (size_t i = 0; i < check->n_cases; i++) case_finish(&check->cases[i]);
  for (size_t i = 0; i < check->n_traces; i++) {
    hr_trace_destroy(check->traces[i].trace);
    free(check->traces[i].key);
    free(check->traces[i].path);
  }
  free(check->cases);
  free(check->traces);
  hr_notes_finish(&check->notes);
  free(check);
}

size_t hr_check_failures(const struct hr_check *check) {
  size_t failures = 0;
  for (size_t i = 0; i < check->n_cases; i++) failures += hr__check_case_failed(&check->cases[i]);
  return failures;
}

size_t hr_check_runs(const struct hr_check *check) {
  return check->n_cases;
}

size_t hr_check_missed_goals(const struct hr_check *check) {
  size_t missed = 0;
  for (size_t i = 0; i < check->n_cases; i++) missed += check->cases[i].n_missed;
  return missed;
}
