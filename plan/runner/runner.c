/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The runner: candidates, environments and runs on threads and ranks. Replications of one scenario, and their output.
 *
 * Candidates and environments are growing arrays. Each candidate has one entry per replication, each environment one
 * workload per replication. Scenarios are parsed before the threads start. A run writes only to its own entry. Of runs
 * that another rank of an MPI job makes, only the metrics are received.
 *
 * Replications. If their number is fixed, all are run in one batch. If a precision is requested, they are run in
 * rounds. The current width of the interval predicts how many replications are needed, but a round at most doubles
 * their number or, if that is more, adds two. The rounds depend only on the metrics, not on threads. Output: JSON and a
 * table for a terminal, 80 columns wide. The JSON contains the summary of the first replication and the intervals over
 * all replications (docs/reference/schemas/summary.schema.json).
 */

#include "plan/runner/runner.h"

#include "base/containers.h"
#include "base/text.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/compare.h"

#include <inttypes.h>
#include <math.h>
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
  if (config->n_metrics) memcpy(metrics, config->metrics, config->n_metrics * sizeof *metrics);
  runner->config = *config;
  runner->config.metrics = runner->metrics = metrics;
  for (size_t i = 0; i < config->n_metrics; i++)
    runner->reads_fairness |= strncmp(hr__metric_rows[metrics[i].id].path, "fairness.", strlen("fairness.")) == 0;
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

/* ---- Replications: metrics -------------------------------------------------------------------------- */

static uint32_t count_services(const struct hr_replicates *replicates) {
  const struct hr_services *services = replicates->config.scenario->services;
  return services ? services->count : 0;
}

static void list_services(struct hr_replicates *replicates) {
  for (uint32_t k = 0; k < count_services(replicates); k++)
    for (unsigned i = 0; i < HR__N_METRICS; i++)
      if (hr__metric_rows[i].flags & HR_METRIC_OF_REQUESTS)
        replicates->metrics[replicates->n_metrics++] = (struct hr__scoped_metric){
            (enum hr__metric)i, HR__OF_SERVICE, replicates->config.scenario->services->at[k].name};
}

/* Lists all metrics of the run, then those of each class, each tenant and each service. Returns false when out of
   memory. */
static bool list_metrics(struct hr_replicates *replicates) {
  const struct hr_trace *trace = replicates->config.trace;
  size_t n_tenants = trace->tenant ? trace->tenants.count : 0, n_classes = trace->class_ ? HR_N_CLASSES - 1 : 0;
  replicates->metrics =
      calloc((1 + n_tenants + n_classes + count_services(replicates)) * HR__N_METRICS, sizeof *replicates->metrics);
  if (!replicates->metrics) return false;
  for (size_t group = 0; group < 1 + n_classes + n_tenants; group++)
    for (unsigned i = 0; i < HR__N_METRICS; i++) {
      struct hr__scoped_metric metric = {.id = (enum hr__metric)i};
      if (group > 0 && !(hr__metric_rows[i].flags & HR_METRIC_OF_GROUPS)) continue;
      if (group > 0) metric.of = group <= n_classes ? HR__OF_CLASS : HR__OF_TENANT;
      if (metric.of == HR__OF_CLASS) metric.name = hr_job_class_name((enum hr_job_class)group);
      if (metric.of == HR__OF_TENANT) metric.name = trace->tenants.text[group - n_classes - 1];
      replicates->metrics[replicates->n_metrics++] = metric;
    }
  list_services(replicates);
  return true;
}

static size_t find(const struct hr_replicates *replicates, const struct hr__scoped_metric *metric) {
  for (size_t i = 0; i < replicates->n_metrics; i++)
    if (hr__scoped_metric_same(&replicates->metrics[i], metric)) return i;
  return SIZE_MAX;
}

enum hr_status hr__replicates_interval(const struct hr_replicates *replicates, size_t metric,
                                       struct hr__interval *interval) {
  double *values = malloc(((size_t)replicates->count + 1) * sizeof *values);
  if (!values) return HR_NO_MEMORY;
  for (uint32_t r = 0; r < replicates->count; r++)
    values[r] = hr__runner_values(replicates->runner, replicates->candidate, r)[metric];
  enum hr_status status =
      hr__interval_of(values, replicates->count, hr__metric_rows[replicates->metrics[metric].id].kind,
                      replicates->config.spec->confidence, replicates->exact, interval);
  free(values);
  return status;
}

/* ---- Replications: running -------------------------------------------------------------------------- */

static enum hr_status no_memory_for_replications(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the replications");
}

static enum hr_status run_to(struct hr_replicates *replicates, uint32_t count, struct hr_error *error) {
  struct hr__trial *trials = calloc((size_t)count + 1, sizeof *trials);
  if (!trials) return no_memory_for_replications(error);
  for (uint32_t r = 0; r < count; r++) trials[r] = (struct hr__trial){replicates->candidate, r};
  enum hr_status status = hr__runner_run(replicates->runner, trials, count, error);
  free(trials);
  replicates->count = count;
  return status;
}

/* The number of replications after the next round. The width of an interval is proportional to 1 / sqrt(count). */
static uint32_t next_count(uint32_t count, double reached, double target, uint32_t max_count) {
  double needed = count * (reached / target) * (reached / target);
  uint32_t next = needed < 2.0 * count ? (uint32_t)ceil(needed) : 2 * count;
  if (next < count + 2) next = count + 2;
  return next < max_count ? next : max_count;
}

static enum hr_status run_until(struct hr_replicates *replicates, struct hr_error *error) {
  const struct hr_replication_spec *spec = replicates->config.spec;
  struct hr_error inner = {0};
  struct hr__scoped_metric metric;
  enum hr_status status =
      hr__scoped_metric_parse(spec->metric.text, strlen(spec->metric.text), replicates->config.trace,
                              replicates->config.scenario->services, &metric, &inner);
  if (status != HR_OK) return hr_fail(error, status, "%s%s", spec->metric.place, inner.text);
  replicates->metric = find(replicates, &metric);
  uint32_t next = spec->min;
  for (;;) {
    struct hr__interval interval;
    status = run_to(replicates, next, error);
    if (status != HR_OK) return status;
    if (hr__replicates_interval(replicates, replicates->metric, &interval) != HR_OK)
      return no_memory_for_replications(error);
    if (interval.count == 0)
      return hr_fail(error, HR_BAD_INPUT, "%s'%s' is unknown in every replication", spec->metric.place,
                     spec->metric.text);
    replicates->relative = hr__interval_relative(&interval);
    if (replicates->relative <= spec->relative || next == spec->max) return HR_OK;
    next = next_count(next, replicates->relative, spec->relative, spec->max);
  }
}

static bool has_note(const struct hr_notes *notes, const char *text) {
  for (size_t i = 0; i < notes->count; i++)
    if (strcmp(notes->text[i], text) == 0) return true;
  return false;
}

/* Adds the notes of the first run. Notes that do not only depend on the input are marked. */
static enum hr_status add_notes_of_first(struct hr_replicates *replicates, struct hr_error *error) {
  const struct hr_scenario *scenario = replicates->config.scenario;
  const struct hr_notes *first = &replicates->first.notes;
  struct hr_notes of_input = {0};
  enum hr_status status =
      hr_replay_input_notes(scenario, &scenario->policy, replicates->config.trace, &of_input, error);
  for (size_t i = 0; i < first->count && status == HR_OK; i++) {
    status = hr_notes_add(&replicates->notes, "%s%s",
                          has_note(&of_input, first->text[i]) ? "" : "replication 1: ", first->text[i]);
    if (status != HR_OK) status = no_memory_for_replications(error);
  }
  hr_notes_finish(&of_input);
  return status;
}

/* Adds the notes of the first run, and those about the number of runs. */
static enum hr_status note(struct hr_replicates *replicates, bool many, struct hr_error *error) {
  const struct hr_replication_spec *spec = replicates->config.spec;
  enum hr_status status = add_notes_of_first(replicates, error);
  if (status != HR_OK) return status;
  if (replicates->exact && many)
    status = hr_notes_add(&replicates->notes,
                          "the scenario is deterministic: one run suffices, and the other replications were skipped");
  else if (spec->metric.text && replicates->relative > spec->relative)
    status =
        hr_notes_add(&replicates->notes,
                     "after %" PRIu32 " replications, the maximum, the relative precision of %s is %.3g instead of "
                     "%.3g",
                     replicates->count, spec->metric.text, replicates->relative, spec->relative);
  return status == HR_OK ? HR_OK : no_memory_for_replications(error);
}

static enum hr_status run_all(struct hr_replicates *replicates, struct hr_error *error) {
  const struct hr_replicate_config *config = &replicates->config;
  struct hr__runner_config runner = {.scenario = config->scenario,
                                     .overrides = config->overrides,
                                     .n_overrides = config->n_overrides,
                                     .trace = config->trace,
                                     .metrics = replicates->metrics,
                                     .n_metrics = replicates->n_metrics,
                                     .n_threads = config->n_threads,
                                     .ranks = config->ranks,
                                     .first = &replicates->first,
                                     .progress = config->progress};
  struct hr__environment environment = {.workload = config->spec->workload};
  uint32_t number;
  hr_stress_init(&environment.stress);
  replicates->runner = hr__runner_create(&runner);
  if (!replicates->runner) return no_memory_for_replications(error);
  enum hr_status status = hr__runner_add_environment(replicates->runner, &environment, &number, error);
  if (status == HR_OK)
    status = hr__runner_add_candidate(replicates->runner, NULL, 0, number, &replicates->candidate, error);
  if (status != HR_OK) return status;
  replicates->exact = !hr__runner_is_random(replicates->runner, replicates->candidate);
  uint32_t count = config->spec->count ? config->spec->count : HR_DEFAULT_MIN_REPLICATIONS;
  bool many = config->spec->metric.text || count > 1;
  if (replicates->exact || !config->spec->metric.text)
    status = run_to(replicates, replicates->exact ? 1 : count, error);
  else
    status = run_until(replicates, error);
  return status == HR_OK ? note(replicates, many, error) : status;
}

enum hr_status hr_replicate(const struct hr_replicate_config *config, struct hr_replicates **replicates,
                            struct hr_error *error) {
  *replicates = NULL;
  struct hr_replicates *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return no_memory_for_replications(error);
  fresh->config = *config;
  enum hr_status status = list_metrics(fresh) ? HR_OK : no_memory_for_replications(error);
  if (status == HR_OK) status = hr__input_same(config->ranks, config->scenario, config->trace, error);
  if (status == HR_OK) status = run_all(fresh, error);
  if (status == HR_OK)
    *replicates = fresh;
  else
    hr_replicates_destroy(fresh);
  return status;
}

void hr_replicates_destroy(struct hr_replicates *replicates) {
  if (!replicates) return;
  hr__one_run_finish(&replicates->first);
  hr__runner_destroy(replicates->runner);
  free(replicates->metrics);
  hr_notes_finish(&replicates->notes);
  free(replicates);
}

/* ---- Replications: results -------------------------------------------------------------------------- */

const struct hr_notes *hr_replicates_notes(const struct hr_replicates *replicates) {
  return &replicates->notes;
}

enum hr_status hr_replicates_metric(const struct hr_replicates *replicates, const char *name,
                                    struct hr_replicated *metric, struct hr_error *error) {
  struct hr__scoped_metric target;
  struct hr__interval interval;
  enum hr_status status = hr__scoped_metric_parse(name, strlen(name), replicates->config.trace,
                                                  replicates->config.scenario->services, &target, error);
  if (status != HR_OK) return status;
  status = hr__replicates_interval(replicates, find(replicates, &target), &interval);
  if (status != HR_OK) return no_memory_for_replications(error);
  *metric = (struct hr_replicated){.count = interval.count,
                                   .mean = interval.mean,
                                   .median = interval.median,
                                   .sd = interval.sd,
                                   .low = interval.low,
                                   .high = interval.high,
                                   .of_median = interval.of_median};
  return HR_OK;
}

/* ---- Replications: JSON ----------------------------------------------------------------------------- */

/* Writes the metrics of one group, which start at index `from`. Omits metrics that are unknown in all replications.
   Returns the index at which the next group starts. */
static size_t put_group(struct hr__json *json, cJSON *object, const struct hr_replicates *replicates, size_t from) {
  const struct hr__scoped_metric *first = &replicates->metrics[from];
  size_t i = from;
  for (; i < replicates->n_metrics; i++) {
    const struct hr__scoped_metric *metric = &replicates->metrics[i];
    struct hr__interval interval;
    if (metric->of != first->of || metric->name != first->name) break;
    if (hr__replicates_interval(replicates, i, &interval) != HR_OK)
      json->failed = true;
    else if (interval.count)
      hr__json_metric_interval(json, hr__json_object(json, object, hr__metric_rows[metric->id].path), metric->id,
                               &interval);
  }
  return i;
}

/* Writes the metrics of classes, tenants and services. A group without a known metric is omitted. */
static void put_groups(struct hr__json *json, cJSON *root, const struct hr_replicates *replicates) {
  cJSON *metrics = hr__json_object(json, root, "metrics");
  size_t at = put_group(json, metrics, replicates, 0);
  cJSON *classes = hr__json_object(json, root, "by_class");
  cJSON *tenants = hr__json_object(json, root, "by_tenant");
  cJSON *services = count_services(replicates) ? hr__json_object(json, root, "by_service") : NULL;
  while (at < replicates->n_metrics) {
    const struct hr__scoped_metric *metric = &replicates->metrics[at];
    cJSON *group = cJSON_CreateObject();
    at = put_group(json, group, replicates, at);
    if (!group || !group->child)
      cJSON_Delete(group);
    else if (!cJSON_AddItemToObject(metric->of == HR__OF_CLASS     ? classes
                                    : metric->of == HR__OF_SERVICE ? services
                                                                   : tenants,
                                    metric->name, group))
      json->failed = true;
  }
}

static void put_replications(struct hr__json *json, cJSON *root, const struct hr_replicates *replicates) {
  const struct hr_replication_spec *spec = replicates->config.spec;
  cJSON *inner = hr__json_object(json, root, "replications");
  hr__json_count(json, inner, "count", replicates->count);
  hr__json_bool(json, inner, "random", !replicates->exact);
  hr__json_number(json, inner, "confidence", spec->confidence);
  hr__json_text(json, inner, "resample", hr_blocks_name(spec->workload.blocks));
  hr__json_number(json, inner, "growth", spec->workload.growth);
  hr__json_text(json, inner, "metric", spec->metric.text);
  bool reached = spec->metric.text && !replicates->exact && isfinite(replicates->relative);
  hr__json_number_if(json, inner, "relative", reached, replicates->relative);
  cJSON *seeds = hr__json_array(json, inner, "seeds");
  for (uint32_t r = 0; r < replicates->count; r++)
    hr__json_append_seed(json, seeds, hr_replication_seed(replicates->config.scenario->seed, r));
  put_groups(json, inner, replicates);
}

enum hr_status hr_replicates_write_json(const char *path, const struct hr_replicates *replicates,
                                        const struct hr_perf *perf, struct hr_error *error) {
  const struct hr_scenario *scenario = hr__runner_scenario(replicates->runner, replicates->candidate);
  const struct hr_trace *trace = replicates->config.trace;
  const struct hr_notes *notes[] = {&scenario->notes, &trace->notes, &replicates->notes};
  const struct hr_run_label label = {.scenario = scenario->name,
                                     .trace = trace->source,
                                     .format = trace->format,
                                     .cluster = &scenario->cluster,
                                     .policy = &scenario->policy,
                                     .seed = scenario->seed,
                                     .notes = notes,
                                     .n_notes = sizeof notes / sizeof *notes,
                                     .skipped = trace->skipped,
                                     .n_skipped_reasons = trace->n_skipped_reasons};
  struct hr__json json = {0};
  cJSON *root = cJSON_CreateObject();
  hr__json_summary(&json, root, replicates->first.summary, &label);
  put_replications(&json, root, replicates);
  if (perf) hr__json_perf(&json, root, replicates->first.summary, perf);
  return hr__json_write(&json, root, path, error);
}

/* ---- Replications: terminal ------------------------------------------------------------------------- */

enum { NAME_WIDTH = 30, CELL_WIDTH = 15 };

static const enum hr__metric shown[] = {HR__M_WAIT_MEAN,   HR__M_WAIT_P95,      HR__M_WAIT_P99,
                                        HR__M_JCT_MEAN,    HR__M_SLOWDOWN_MEAN, HR__M_UTILIZATION_SUBMIT_WINDOW,
                                        HR__M_COMPLETED,   HR__M_DEADLINE_MISS, HR__M_RECLAIMS,
                                        HR__M_FAILED_JOBS, HR__M_ETTR,          HR__M_LOST,
                                        HR__M_COST,        HR__M_MONTHLY,       HR__M_PER_JOB};

/* Metrics of services in the table. */
static const enum hr__metric shown_of_services[] = {HR__M_OFFERED, HR__M_ATTAINMENT,   HR__M_TTFT_P95, HR__M_TPOT_P95,
                                                    HR__M_E2E_P95, HR__M_SERVING_COST, HR__M_PER_MTOK};

static bool is_shown(const struct hr__scoped_metric *metric) {
  if (metric->of == HR__OF_CLASS) return metric->id == HR__M_WAIT_P95;
  for (size_t i = 0; metric->of == HR__OF_SERVICE && i < sizeof shown_of_services / sizeof *shown_of_services; i++)
    if (shown_of_services[i] == metric->id) return true;
  return false;
}

struct replicates_terminal {
  struct hr__console console;
  const struct hr_replicates *replicates;
  bool has_gaps; /* a metric has no interval */
};

static void put_row(struct replicates_terminal *page, size_t metric) {
  const struct hr__scoped_metric *self = &page->replicates->metrics[metric];
  struct hr__interval interval;
  char name[HR__SCOPED_METRIC_BYTES], text[4][HR__METRIC_BYTES];
  if (hr__replicates_interval(page->replicates, metric, &interval) != HR_OK) {
    page->console.out_of_memory = true;
    return;
  }
  if (interval.count == 0) return;
  enum hr_unit unit = hr__metric_rows[self->id].unit;
  char *fitted = hr__fitted(&page->console, hr__scoped_metric_name(self, name), NAME_WIDTH, false);
  if (!fitted) return;
  /* No interval is printed if all values are equal. Rounding can make their standard deviation slightly positive. */
  bool varies = !isnan(interval.low) && interval.sd > 1e-12 * fabs(interval.mean);
  double low = varies ? hr__interval_low(self->id, &interval) : (double)NAN;
  double high = varies ? hr__interval_high(self->id, &interval) : (double)NAN;
  page->has_gaps = page->has_gaps || !varies;
  fprintf(page->console.out, "  %-*s%*s%*s%*s\n", NAME_WIDTH, fitted, CELL_WIDTH,
          hr__metric_text(unit, hr__interval_centre(&interval), text[0]), CELL_WIDTH,
          hr__metric_text(unit, low, text[1]), CELL_WIDTH, hr__metric_text(unit, high, text[2]));
  free(fitted);
}

static void put_head(struct replicates_terminal *page) {
  const struct hr_replicates *replicates = page->replicates;
  const struct hr_replication_spec *spec = replicates->config.spec;
  struct hr__console *console = &page->console;
  hr__put_page_title(console, "", replicates->config.scenario->name, HR__LINE_WIDTH - 20);
  hr__put_field(console, "trace", "%s (%s)", replicates->config.trace->source, replicates->config.trace->format);
  hr__put_field(console, "runs", "%" PRIu32 " replication%s, starting at seed %" PRIu64, replicates->count,
                replicates->count == 1 ? "" : "s", replicates->config.scenario->seed);
  if (spec->workload.blocks != HR_BLOCKS_NONE || spec->workload.growth != 1)
    hr__put_field(console, "workload", "resampled from %s of the trace, %.6g times the demand",
                  spec->workload.blocks == HR_BLOCKS_NONE ? "the whole" : hr_blocks_name(spec->workload.blocks),
                  spec->workload.growth);
  fprintf(console->out, "\n%s  %-*s%*s%*s%*s%s\n", hr__bold(console), NAME_WIDTH, "", CELL_WIDTH, "estimate",
          CELL_WIDTH, "from", CELL_WIDTH, "to", hr__plain(console));
}

enum hr_status hr_replicates_print(FILE *out, const struct hr_replicates *replicates, const struct hr_perf *perf,
                                   bool colour) {
  struct replicates_terminal page = {.console = {.out = out, .colour = colour}, .replicates = replicates};
  put_head(&page);
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) put_row(&page, shown[i]);
  for (size_t i = HR__N_METRICS; i < replicates->n_metrics; i++)
    if (is_shown(&replicates->metrics[i])) put_row(&page, i);
  fputc('\n', out);
  hr__put_field(&page.console, "note",
                "means have Student's intervals, corrected for skewness; quantiles are medians over replications with "
                "intervals from order statistics; confidence %.6g",
                replicates->config.spec->confidence);
  if (page.has_gaps) hr__put_field(&page.console, "-", "no interval: all runs have the same value, or too few runs");
  if (perf) hr__put_speed(&page.console, replicates->count, replicates->config.n_threads, perf->sim_s, 0);
  return hr__console_status(&page.console);
}
