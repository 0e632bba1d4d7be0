/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The runner: candidates, environments and runs on threads.
 *
 * Candidates and environments are growing arrays. Each candidate has one entry per replication, each environment one
 * workload per replication. Scenarios are parsed and workloads are drawn before the threads start. A run writes only to
 * its own entry.
 */

#include "plan/runner/runner.h"

#include "base/array.h"
#include "base/threads.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WEEK_US (INT64_C(7) * 86400 * HR_SECOND_US)

/* ---- Life cycle ------------------------------------------------------------------------------------- */

struct hr__runner *hr__runner_create(const struct hr__runner_config *config) {
  struct hr__runner *runner = calloc(1, sizeof *runner);
  struct hr__scoped_metric *metrics = calloc(config->n_metrics + 1, sizeof *metrics);
  if (!runner || !metrics) {
    free(runner);
    free(metrics);
    return NULL;
  }
  memcpy(metrics, config->metrics, config->n_metrics * sizeof *metrics);
  runner->config = *config;
  runner->config.metrics = runner->metrics = metrics;
  hr__progress_sum_init(&runner->progress, &config->progress, 0);
  (void)hr_catalog_load(NULL, &runner->catalog, NULL); /* on failure, each scenario reads it and reports the error */
  return runner;
}

static void candidate_finish(struct hr__runner_candidate *candidate) {
  for (uint32_t i = 0; i < candidate->n_replications; i++) {
    free(candidate->replications[i].metrics);
    hr_scenario_destroy(candidate->replications[i].scenario);
  }
  free(candidate->replications);
  hr_scenario_destroy(candidate->scenario);
  for (size_t i = 0; candidate->overrides && i < candidate->n_own; i++)
    free((char *)(uintptr_t)candidate->overrides[candidate->n_overrides - 1 - i]);
  free(candidate->overrides);
}

void hr__runner_destroy(struct hr__runner *runner) {
  if (!runner) return;
  for (uint32_t i = 0; i < runner->n_candidates; i++) candidate_finish(&runner->candidates[i]);
  for (uint32_t i = 0; i < runner->n_environments; i++) {
    for (uint32_t k = 0; k < runner->environments[i].n_workloads; k++)
      hr_trace_destroy(runner->environments[i].workloads[k]);
    free(runner->environments[i].workloads);
  }
  free(runner->candidates);
  free(runner->environments);
  free(runner->metrics);
  hr_catalog_destroy(runner->catalog);
  hr__progress_sum_finish(&runner->progress);
  free(runner);
}

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the runs");
}

/* ---- Environments and candidates -------------------------------------------------------------------- */

/* Resamples weeks of the trace so that the workload covers the weeks of the forecast. */
static void use_forecast_weeks(struct hr__environment *environment) {
  environment->workload.blocks = HR_BLOCKS_WEEKS;
  environment->workload.length_us = hr_forecast_span(environment->forecast).weeks * WEEK_US;
  environment->workload.series = hr_forecast_series(environment->forecast, &environment->workload.n_series);
}

enum hr_status hr__runner_add_environment(struct hr__runner *runner, const struct hr__environment *environment,
                                          uint32_t *number, struct hr_error *error) {
  if (!HR__ARRAY_HAS_ROOM(runner->environments, runner->n_environments, runner->environment_capacity))
    return no_memory(error);
  bool redrawn = hr__workload_is_redrawn(&environment->workload);
  struct hr__runner_environment *added = &runner->environments[runner->n_environments];
  *added = (struct hr__runner_environment){.spec = *environment, .redrawn = redrawn || environment->forecast};
  if (environment->forecast) use_forecast_weeks(&added->spec);
  enum hr_status status =
      added->redrawn ? hr_trace_cut(runner->config.trace, &added->spec.workload, &added->cut, error) : HR_OK;
  if (status != HR_OK) return status;
  *number = runner->n_environments++;
  return HR_OK;
}

/* Loads a candidate's scenario in its environment. If `seed` is NULL, the scenario keeps its seed. */
static enum hr_status load(const struct hr__runner *runner, const struct hr__runner_candidate *candidate,
                           const uint64_t *seed, struct hr_scenario **scenario, struct hr_error *error) {
  const char **overrides = calloc(candidate->n_overrides + 1, sizeof *overrides);
  char text[32];
  size_t count = candidate->n_overrides;
  if (!overrides) return no_memory(error);
  memcpy(overrides, candidate->overrides, count * sizeof *overrides);
  if (seed) {
    snprintf(text, sizeof text, "seed=%" PRIu64, *seed);
    overrides[count++] = text;
  }
  enum hr_status status =
      hr_scenario_load_with(runner->catalog, runner->config.scenario->path, overrides, count, scenario, error);
  free(overrides);
  return status == HR_OK
             ? hr_scenario_stress(*scenario, &runner->environments[candidate->environment].spec.stress, error)
             : status;
}

static bool copy_overrides(const struct hr__runner *runner, const char *const *own, size_t n_own,
                           struct hr__runner_candidate *candidate) {
  const struct hr__runner_config *config = &runner->config;
  candidate->overrides = calloc(config->n_overrides + n_own + 1, sizeof *candidate->overrides);
  if (!candidate->overrides) return false;
  for (size_t i = 0; i < config->n_overrides; i++)
    candidate->overrides[candidate->n_overrides++] = config->overrides[i];
  for (size_t i = 0; i < n_own; i++) {
    const char *copy = strdup(own[i]);
    if (!copy) return false;
    candidate->overrides[candidate->n_overrides++] = copy;
    candidate->n_own++;
  }
  return true;
}

enum hr_status hr__runner_add_candidate(struct hr__runner *runner, const char *const *overrides, size_t n_overrides,
                                        uint32_t environment, uint32_t *number, struct hr_error *error) {
  struct hr__runner_candidate candidate = {.environment = environment};
  if (!HR__ARRAY_HAS_ROOM(runner->candidates, runner->n_candidates, runner->candidate_capacity))
    return no_memory(error);
  enum hr_status status = copy_overrides(runner, overrides, n_overrides, &candidate) ? HR_OK : no_memory(error);
  if (status == HR_OK) status = load(runner, &candidate, NULL, &candidate.scenario, error);
  if (status != HR_OK) {
    candidate_finish(&candidate);
    return status;
  }
  candidate.random = runner->environments[environment].redrawn || hr_scenario_is_random(candidate.scenario) ||
                     hr_policy_choice_draws(&candidate.scenario->policy) || candidate.scenario->policy.library;
  runner->candidates[runner->n_candidates] = candidate;
  *number = runner->n_candidates++;
  return HR_OK;
}

/* ---- Preparation of runs ---------------------------------------------------------------------------- */

static enum hr_status make_replication(const struct hr__runner *runner, struct hr__runner_candidate *candidate,
                                       uint32_t replication, struct hr__runner_replication **entry,
                                       struct hr_error *error) {
  if (replication >= candidate->n_replications) {
    uint32_t count = replication < 8 ? 8 : 2 * replication;
    if (!HR__ARRAY_RESIZE(candidate->replications, count)) return no_memory(error);
    while (candidate->n_replications < count)
      candidate->replications[candidate->n_replications++] = (struct hr__runner_replication){0};
  }
  *entry = &candidate->replications[replication];
  if (!(*entry)->metrics) (*entry)->metrics = malloc((runner->config.n_metrics + 1) * sizeof *(*entry)->metrics);
  return (*entry)->metrics ? HR_OK : no_memory(error);
}

static enum hr_status redraw(const struct hr__runner *runner, const struct hr__runner_environment *environment,
                             uint64_t seed, struct hr_trace **drawn, struct hr_error *error) {
  struct hr_workload_spec spec = environment->spec.workload;
  if (!environment->spec.forecast) return hr_trace_redraw(runner->config.trace, &spec, seed, drawn, error);
  uint32_t n =
      environment->cut.n_positions < HR_MAX_FORECAST_WEEKS ? environment->cut.n_positions : HR_MAX_FORECAST_WEEKS;
  double *factors = malloc(((size_t)spec.n_series * n + 1) * sizeof *factors);
  if (!factors) return no_memory(error);
  enum hr_status status = hr_forecast_factors(environment->spec.forecast, seed, false, 0, n, factors, error);
  spec.factors = factors;
  spec.n_positions = n;
  if (status == HR_OK) status = hr_trace_redraw(runner->config.trace, &spec, seed, drawn, error);
  free(factors);
  return status;
}

static enum hr_status draw_workload(struct hr__runner *runner, struct hr__runner_environment *environment,
                                    uint32_t replication, uint64_t seed, struct hr_error *error) {
  if (!environment->redrawn) return HR_OK;
  if (replication >= environment->n_workloads) {
    uint32_t count = replication < 8 ? 8 : 2 * replication;
    if (!HR__ARRAY_RESIZE(environment->workloads, count)) return no_memory(error);
    while (environment->n_workloads < count) environment->workloads[environment->n_workloads++] = NULL;
  }
  if (environment->workloads[replication]) return HR_OK;
  return redraw(runner, environment, seed, &environment->workloads[replication], error);
}

static enum hr_status prepare(struct hr__runner *runner, struct hr__trial trial, struct hr__runner_replication **entry,
                              struct hr_error *error) {
  struct hr__runner_candidate *candidate = &runner->candidates[trial.candidate];
  struct hr__runner_environment *environment = &runner->environments[candidate->environment];
  uint64_t seed = hr_replication_seed(runner->config.scenario->seed, trial.replication);
  enum hr_status status = make_replication(runner, candidate, trial.replication, entry, error);
  if (status == HR_OK) status = draw_workload(runner, environment, trial.replication, seed, error);
  if (status == HR_OK && candidate->scenario->prices_drawn && trial.replication > 0 && !(*entry)->scenario)
    status = load(runner, candidate, &seed, &(*entry)->scenario, error);
  return status;
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

static struct hr__one_run_config run_config(const struct hr__runner *runner, struct hr__trial trial) {
  const struct hr__runner_candidate *candidate = &runner->candidates[trial.candidate];
  const struct hr__runner_environment *environment = &runner->environments[candidate->environment];
  const struct hr__runner_replication *entry = &candidate->replications[trial.replication];
  const struct hr_scenario *scenario = entry->scenario ? entry->scenario : candidate->scenario;
  return (struct hr__one_run_config){.scenario = scenario,
                                     .trace = environment->redrawn ? environment->workloads[trial.replication]
                                                                   : runner->config.trace,
                                     .policy = &scenario->policy,
                                     .seed = hr_replication_seed(runner->config.scenario->seed, trial.replication)};
}

/* The trials of one call of hr__runner_run that have no result yet. */
struct batch {
  struct hr__runner *runner;
  struct hr__trial *trials;
  size_t count;
};

static enum hr_status run_one(void *self, size_t task, struct hr_error *error) {
  struct batch *batch = self;
  struct hr__runner *runner = batch->runner;
  struct hr__trial trial = batch->trials[task];
  struct hr__runner_replication *entry = &runner->candidates[trial.candidate].replications[trial.replication];
  struct hr__progress_reporter reporter = {.sum = &runner->progress};
  struct hr__one_run_config config = run_config(runner, trial);
  config.progress = hr__progress_reporter_progress(&reporter);
  struct hr__one_run run;
  enum hr_status status = hr__one_run_make(&config, &run, error);
  if (status == HR_OK)
    hr__scoped_metrics_of_run(run.summary, runner->metrics, runner->config.n_metrics, entry->metrics);
  entry->made = status == HR_OK;
  hr__one_run_finish(&run);
  return status;
}

/* Whether the batch contains the trial already. The list of a caller may contain duplicates. */
static bool is_listed(const struct batch *batch, struct hr__trial trial) {
  for (size_t i = 0; i < batch->count; i++)
    if (batch->trials[i].candidate == trial.candidate && batch->trials[i].replication == trial.replication) return true;
  return false;
}

static enum hr_status list_batch(struct batch *batch, const struct hr__trial *trials, size_t count,
                                 struct hr_error *error) {
  struct hr__runner *runner = batch->runner;
  for (size_t i = 0; i < count; i++) {
    struct hr__trial trial = {trials[i].candidate, hr__runner_replication_of(&runner->candidates[trials[i].candidate],
                                                                             trials[i].replication)};
    struct hr__runner_replication *entry;
    if (hr__runner_values(runner, trial.candidate, trial.replication) || is_listed(batch, trial)) continue;
    enum hr_status status = prepare(runner, trial, &entry, error);
    if (status != HR_OK) return status;
    batch->trials[batch->count++] = trial;
    runner->progress.total += run_config(runner, trial).trace->n_jobs;
  }
  return HR_OK;
}

enum hr_status hr__runner_run(struct hr__runner *runner, const struct hr__trial *trials, size_t count,
                              struct hr_error *error) {
  struct batch batch = {.runner = runner, .trials = calloc(count + 1, sizeof *batch.trials)};
  enum hr_status status = batch.trials ? list_batch(&batch, trials, count, error) : no_memory(error);
  struct hr__tasks tasks = {.self = &batch, .run = run_one, .count = batch.count};
  if (status == HR_OK) status = hr__pool_run(&tasks, runner->config.n_threads, error);
  if (status == HR_OK) runner->n_runs += batch.count;
  free(batch.trials);
  return status;
}

enum hr_status hr__runner_case(struct hr__runner *runner, struct hr__trial trial, struct hr__one_run_config *config,
                               struct hr_error *error) {
  struct hr__runner_replication *entry;
  trial.replication = hr__runner_replication_of(&runner->candidates[trial.candidate], trial.replication);
  enum hr_status status = prepare(runner, trial, &entry, error);
  if (status == HR_OK) *config = run_config(runner, trial);
  return status;
}
