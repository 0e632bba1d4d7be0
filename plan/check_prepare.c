/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a check is to run. All scenarios are loaded and all traces read before the first run, so that what is wrong with
   any is told before anything takes long. */

#include "plan/checking.h"
#include "plan/file_digest.h"
#include "plan/trace_key.h"
#include "sim/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the check");
}

const char *hr__base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
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

/* "steady/sjf" */
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
    return hr_fail(error, HR_BAD_INPUT, "%s: two runs are called '%.200s'; other names are wanted",
                   check->config.suite->path, item->name);
  item->before = find_before(check, item->name);
  return HR_OK;
}

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
  char *key = hr__trace_key(item->scenario, file);
  if (!key) return no_memory(error);
  for (item->trace = 0; item->trace < check->n_traces; item->trace++)
    if (strcmp(check->traces[item->trace].key, key) == 0) {
      free(key);
      return HR_OK;
    }
  struct hr__check_trace *fresh = &check->traces[check->n_traces++];
  *fresh = (struct hr__check_trace){.key = key, .path = strdup(file)};
  enum hr_status status = fresh->path ? hr__trace_read(item->scenario, file, &fresh->trace, error) : no_memory(error);
  return status == HR_OK ? hr__digest_file(file, &fresh->digest, error) : status;
}

/* Files of one name count as one. */
static enum hr_status add_input(struct hr_baseline_run *now, const char *path, struct hr_error *error) {
  uint64_t digest;
  enum hr_status status = hr__digest_file(path, &digest, error);
  if (status != HR_OK) return status;
  for (size_t i = 0; i < now->n_inputs; i++)
    if (same_text(now->inputs[i].name, hr__base_name(path))) {
      now->inputs[i].digest = hr__digest_add(now->inputs[i].digest, digest);
      return HR_OK;
    }
  struct hr_baseline_input *input = &now->inputs[now->n_inputs++];
  *input = (struct hr_baseline_input){strdup(hr__base_name(path)), digest};
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

static enum hr_status load(struct hr_check *check, struct hr__check_case *item, struct hr_error *error) {
  const struct hr_suite_run *run = item->run;
  enum hr_status status = make_overrides(item, error);
  if (status == HR_OK)
    status = hr_scenario_load(run->scenario, item->overrides, item->n_overrides, &item->scenario, error);
  if (status != HR_OK) return status;
  const char *file = run->trace ? run->trace : item->scenario->trace_file;
  if (!file) return hr_fail(error, HR_BAD_INPUT, "%s: names no trace; a run of it wants a 'trace'", run->scenario);
  status = share_trace(check, item, file, error);
  return status == HR_OK ? list_inputs(item, error) : status;
}

enum hr_status hr__check_prepare(struct hr_check *check, struct hr_error *error) {
  const struct hr_suite *suite = check->config.suite;
  enum hr_status status = hr__tolerances_check(&suite->tolerances, error);
  for (size_t i = 0; i < suite->n_runs && status == HR_OK; i++)
    status = hr__tolerances_check(&suite->runs[i].tolerances, error);
  if (status == HR_OK) status = list_cases(check, error);
  for (size_t i = 0; i < check->n_cases && status == HR_OK; i++) {
    struct hr_error inner = {0};
    if (!check->cases[i].run) continue;
    status = load(check, &check->cases[i], &inner);
    if (status != HR_OK) hr_fail(error, status, "run '%.200s': %s", check->cases[i].name, inner.text);
  }
  return status;
}

void hr__check_case_finish(struct hr__check_case *item) {
  for (size_t i = 0; i < item->n_policy_overrides; i++) free(item->policy_overrides[i]);
  free(item->policy_overrides);
  free(item->overrides);
  hr_scenario_destroy(item->scenario);
  hr_baseline_run_finish(&item->now);
  for (size_t i = 0; i < item->n_moved; i++) free(item->moved[i].label);
  free(item->moved);
  free(item->start.job);
  free(item->start.tenant);
  free(item->start.held);
  free(item->decisions.begins);
  hr_notes_finish(&item->told);
  free(item->name);
  free(item->policy);
}
