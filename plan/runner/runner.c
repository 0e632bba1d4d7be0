/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The runner: candidates, environments and runs on threads and ranks.
 *
 * Candidates and environments are growing arrays. Each candidate has one entry per replication, each environment one
 * workload per replication. Scenarios are parsed before the threads start. A run writes only to its own entry. Of runs
 * that another rank of an MPI job makes, only the metrics are received.
 */

#include "plan/runner/runner.h"

#include "base/containers.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WEEK_US (INT64_C(7) * 86400 * HR_SECOND_US)

/* ---- Life cycle ------------------------------------------------------------------------------------- */

static bool is_of_fairness(enum hr__metric metric) {
  return strncmp(hr__metric_rows[metric].path, "fairness.", strlen("fairness.")) == 0;
}

struct hr__runner *hr__runner_create(const struct hr__runner_config *config) {
  struct hr__runner *runner = calloc(1, sizeof *runner);
  struct hr__scoped_metric *metrics = calloc(config->n_metrics + 1, sizeof *metrics);
  if (!runner || !metrics) {
    free(runner);
    free(metrics);
    return NULL;
  }
  if (config->n_metrics) memcpy(metrics, config->metrics, config->n_metrics * sizeof *metrics);
  runner->config = *config;
  runner->config.metrics = runner->metrics = metrics;
  for (size_t i = 0; i < config->n_metrics; i++) runner->reads_fairness |= is_of_fairness(metrics[i].id);
  runner->look_ahead = HR__NO_LOOK_AHEAD;
  hr__progress_sum_init(&runner->progress, &config->progress, 0);
  (void)hr_catalog_load(NULL, &runner->catalog, NULL); /* on failure, each scenario reads it and reports the error */
  hr__drawing_init(&runner->drawing);
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
  for (uint32_t i = 0; i < runner->n_environments; i++) hr__workloads_finish(&runner->environments[i].workloads);
  free(runner->candidates);
  free(runner->environments);
  free(runner->metrics);
  free(runner->ahead.list);
  hr_catalog_destroy(runner->catalog);
  hr__progress_sum_finish(&runner->progress);
  hr__drawing_finish(&runner->drawing);
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
  /* without jobs, only the requests of services are redrawn */
  const bool has_jobs = runner->config.trace->n_jobs > 0;
  *added =
      (struct hr__runner_environment){.spec = *environment, .redrawn = has_jobs && (redrawn || environment->forecast)};
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
  enum hr_status status = (runner->config.accepts_unfit ? hr_scenario_load_candidate : hr_scenario_load_with)(
      runner->catalog, runner->config.scenario->path, overrides, count, scenario, error);
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

const char *const *hr__runner_settings(const struct hr__runner *runner, uint32_t candidate, size_t *count) {
  const struct hr__runner_candidate *self = &runner->candidates[candidate];
  *count = self->n_own;
  return self->overrides + self->n_overrides - self->n_own;
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

enum hr_status hr__runner_note_unfit(struct hr_notes *notes, const char *noun, const char **reasons, size_t count) {
  enum hr_status status = HR_OK;
  if (count) qsort(reasons, count, sizeof *reasons, hr__by_text);
  for (size_t i = 0, next; i < count && status == HR_OK; i = next) {
    for (next = i + 1; next < count && strcmp(reasons[next], reasons[i]) == 0;) next++;
    status =
        hr_notes_add(notes, "%zu %s%s infeasible: %s", next - i, noun, next - i == 1 ? " is" : "s are", reasons[i]);
  }
  return status;
}

/* ---- Workloads -------------------------------------------------------------------------------------- */

bool hr__workloads_reserve(struct hr__workloads *workloads, uint32_t count) {
  if (count <= workloads->count) return true;
  if (count < 2 * workloads->count) count = 2 * workloads->count;
  if (!HR__ARRAY_RESIZE(workloads->list, count)) return false;
  while (workloads->count < count) workloads->list[workloads->count++] = (struct hr__workload){0};
  return true;
}

enum hr_status hr__workloads_get(struct hr__workload *workload, struct hr__drawing *drawing, const void *self,
                                 enum hr_status (*draw)(const void *self, uint64_t seed, struct hr_trace **drawn,
                                                        struct hr_error *error),
                                 uint64_t seed, const struct hr_trace **trace, struct hr_error *error) {
  enum hr_status status = HR_OK;
  pthread_mutex_lock(&drawing->lock);
  while (workload->in_work) pthread_cond_wait(&drawing->ended, &drawing->lock);
  if (!workload->trace) {
    struct hr_trace *drawn = NULL;
    workload->in_work = true;
    pthread_mutex_unlock(&drawing->lock);
    status = draw(self, seed, &drawn, error);
    pthread_mutex_lock(&drawing->lock);
    workload->trace = drawn;
    workload->in_work = false;
    pthread_cond_broadcast(&drawing->ended);
  }
  *trace = workload->trace;
  pthread_mutex_unlock(&drawing->lock);
  return status;
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

static enum hr_status prepare(struct hr__runner *runner, struct hr__trial trial, struct hr__runner_replication **entry,
                              struct hr_error *error) {
  struct hr__runner_candidate *candidate = &runner->candidates[trial.candidate];
  struct hr__runner_environment *environment = &runner->environments[candidate->environment];
  uint64_t seed = hr_replication_seed(runner->config.scenario->seed, trial.replication);
  enum hr_status status = make_replication(runner, candidate, trial.replication, entry, error);
  if (status == HR_OK && environment->redrawn &&
      !hr__workloads_reserve(&environment->workloads, trial.replication < 8 ? 8 : trial.replication + 1))
    status = no_memory(error);
  if (status == HR_OK && candidate->scenario->prices_drawn && trial.replication > 0 && !(*entry)->scenario)
    status = load(runner, candidate, &seed, &(*entry)->scenario, error);
  return status;
}

/* What a workload is drawn from. */
struct draw_source {
  const struct hr__runner *runner;
  const struct hr__runner_environment *environment;
};

static enum hr_status redraw(const void *self, uint64_t seed, struct hr_trace **drawn, struct hr_error *error) {
  const struct draw_source *source = self;
  const struct hr__runner_environment *environment = source->environment;
  const struct hr_trace *trace = source->runner->config.trace;
  struct hr_workload_spec spec = environment->spec.workload;
  if (!environment->spec.forecast) return hr_trace_redraw(trace, &spec, seed, drawn, error);
  uint32_t n =
      environment->cut.n_positions < HR_MAX_FORECAST_WEEKS ? environment->cut.n_positions : HR_MAX_FORECAST_WEEKS;
  double *factors = malloc(((size_t)spec.n_series * n + 1) * sizeof *factors);
  if (!factors) return no_memory(error);
  enum hr_status status = hr_forecast_factors(environment->spec.forecast, seed, false, 0, n, factors, error);
  spec.factors = factors;
  spec.n_positions = n;
  if (status == HR_OK) status = hr_trace_redraw(trace, &spec, seed, drawn, error);
  free(factors);
  return status;
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

/* Fills the configuration of a run that was prepared. Draws its workload. */
static enum hr_status run_config(struct hr__runner *runner, struct hr__trial trial, struct hr__one_run_config *config,
                                 struct hr_error *error) {
  const struct hr__runner_candidate *candidate = &runner->candidates[trial.candidate];
  struct hr__runner_environment *environment = &runner->environments[candidate->environment];
  const struct hr__runner_replication *entry = &candidate->replications[trial.replication];
  const struct hr_scenario *scenario = entry->scenario ? entry->scenario : candidate->scenario;
  *config = (struct hr__one_run_config){.scenario = scenario,
                                        .trace = runner->config.trace,
                                        .policy = &scenario->policy,
                                        .growth = environment->spec.workload.growth,
                                        .seed = hr_replication_seed(runner->config.scenario->seed, trial.replication)};
  if (!environment->redrawn) return HR_OK;
  const struct draw_source source = {runner, environment};
  return hr__workloads_get(&environment->workloads.list[trial.replication], &runner->drawing, &source, redraw,
                           config->seed, &config->trace, error);
}

/* The trials of one batch. They have no result yet. */
struct trials {
  struct hr__runner *runner;
  struct hr__trial *list;
  size_t count;
};

static struct hr__runner_replication *entry_of(const struct trials *trials, size_t item) {
  struct hr__trial trial = trials->list[item];
  return &trials->runner->candidates[trial.candidate].replications[trial.replication];
}

static enum hr_status run_one(void *self, size_t item, struct hr_error *error) {
  struct trials *trials = self;
  struct hr__runner *runner = trials->runner;
  struct hr__trial trial = trials->list[item];
  struct hr__runner_replication *entry = entry_of(trials, item);
  struct hr__progress_reporter reporter = {.sum = &runner->progress};
  struct hr__one_run_config config;
  enum hr_status status = run_config(runner, trial, &config, error);
  if (status != HR_OK) return status;
  hr__progress_sum_correct(&runner->progress, config.trace->n_jobs, runner->config.trace->n_jobs);
  config.progress = hr__progress_reporter_progress(&reporter);
  const bool is_first = runner->config.first && trial.candidate == 0 && trial.replication == 0;
  config.skip_fairness = !runner->reads_fairness && !is_first;
  struct hr__one_run run;
  status = hr__one_run_make(&config, &run, error);
  if (status == HR_OK)
    hr__scoped_metrics_of_run(run.summary, runner->metrics, runner->config.n_metrics, entry->metrics);
  entry->made = status == HR_OK;
  if (entry->made && is_first)
    *runner->config.first = run;
  else
    hr__one_run_finish(&run);
  return status;
}

/* Copies the metrics of a run. */
static void exchange(void *self, size_t item, struct hr__parcel *parcel) {
  struct trials *trials = self;
  struct hr__runner *runner = trials->runner;
  struct hr__runner_replication *entry = entry_of(trials, item);
  bool received = parcel->reading && !entry->made;
  hr__parcel_bytes(parcel, entry->metrics, runner->config.n_metrics * sizeof *entry->metrics);
  entry->made = entry->made || !parcel->failed;
  if (received) hr__progress_sum_add(&runner->progress, runner->config.trace->n_jobs);
}

/* The trial with the same result as `trial`: all replications of a deterministic candidate are equal. */
static struct hr__trial resolve(const struct hr__runner *runner, struct hr__trial trial) {
  trial.replication = hr__runner_replication_of(&runner->candidates[trial.candidate], trial.replication);
  return trial;
}

/* Prepares and lists the trials that have no result. Sets *missing if there are any, whether or not they were listed
   before. */
static enum hr_status list_trials(struct hr__runner *runner, const struct hr__trial *trials, size_t count,
                                  struct hr__trial_list *to_run, bool *missing, struct hr_error *error) {
  *missing = false;
  for (size_t i = 0; i < count; i++) {
    struct hr__trial trial = resolve(runner, trials[i]);
    struct hr__runner_replication *entry = NULL;
    enum hr_status status = prepare(runner, trial, &entry, error);
    if (status != HR_OK) return status;
    *missing = *missing || !entry->made;
    if (entry->made || entry->listed) continue;
    if (!HR__ARRAY_HAS_ROOM(to_run->list, to_run->count, to_run->capacity)) return no_memory(error);
    to_run->list[to_run->count++] = trial;
    entry->listed = true;
  }
  return HR_OK;
}

/* Makes the listed runs, and empties the list. */
static enum hr_status make_runs(struct hr__runner *runner, struct hr__trial_list *to_run, struct hr_error *error) {
  struct trials trials = {runner, to_run->list, to_run->count};
  const struct hr__run_batch batch = {.self = &trials,
                                      .count = trials.count,
                                      .run = run_one,
                                      .exchange = exchange,
                                      .n_own = runner->config.first && trials.count ? 1 : 0,
                                      .shared = true};
  to_run->count = 0;
  if (batch.count == 0) return HR_OK;
  /* corrected when the workloads are drawn */
  runner->progress.total += batch.count * (uint64_t)runner->config.trace->n_jobs;
  return hr__batch_run(&batch, runner->config.ranks, runner->config.n_threads, error);
}

/* Counts requested runs that were made. In a look-ahead they are counted for this look-ahead only. */
static void count_runs(struct hr__runner *runner, const struct hr__trial *trials, size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct hr__trial trial = resolve(runner, trials[i]);
    uint32_t *counted = &runner->candidates[trial.candidate].replications[trial.replication].counted;
    if (*counted == runner->look_ahead || *counted == HR__NO_LOOK_AHEAD) continue;
    *counted = runner->look_ahead;
    runner->n_runs++;
  }
}

enum hr_status hr__runner_run(struct hr__runner *runner, const struct hr__trial *trials, size_t count,
                              struct hr_error *error) {
  struct hr__trial_list own = {0};
  bool ahead = hr__runner_looks_ahead(runner), missing;
  enum hr_status status = list_trials(runner, trials, count, ahead ? &runner->ahead : &own, &missing, error);
  if (status == HR_OK && ahead && missing) return HR_CHECK_FAILED;
  if (status == HR_OK) status = make_runs(runner, &own, error);
  if (status == HR_OK) count_runs(runner, trials, count);
  free(own.list);
  return status;
}

/* ---- Look-ahead ------------------------------------------------------------------------------------- */

void hr__runner_look_ahead(struct hr__runner *runner) {
  runner->look_ahead = ++runner->n_look_aheads;
  runner->n_runs_before = runner->n_runs;
}

static void empty(struct hr__runner *runner, struct hr__trial_list *list) {
  for (uint32_t i = 0; i < list->count; i++)
    runner->candidates[list->list[i].candidate].replications[list->list[i].replication].listed = false;
  list->count = 0;
}

enum hr_status hr__runner_catch_up(struct hr__runner *runner, uint64_t max_runs, size_t *made, struct hr_error *error) {
  if (runner->n_runs + runner->ahead.count > max_runs) empty(runner, &runner->ahead);
  runner->look_ahead = HR__NO_LOOK_AHEAD;
  runner->n_runs = runner->n_runs_before;
  *made = runner->ahead.count;
  return make_runs(runner, &runner->ahead, error);
}

enum hr_status hr__runner_case(struct hr__runner *runner, struct hr__trial trial, struct hr__one_run_config *config,
                               struct hr_error *error) {
  struct hr__runner_replication *entry = NULL;
  trial.replication = hr__runner_replication_of(&runner->candidates[trial.candidate], trial.replication);
  enum hr_status status = prepare(runner, trial, &entry, error);
  return status == HR_OK ? run_config(runner, trial, config, error) : status;
}
