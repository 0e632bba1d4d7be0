/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_RUNNER_H
#define HR_PLAN_RUNNER_RUNNER_H

/*
 * Runs many variants of one scenario, and stores the metrics of every run.
 *
 * A candidate is the scenario with some overrides, in an environment (spot behaviour, prices, workload). A candidate
 * has as many replications as a caller requests. No run is made twice.
 *
 * Replication r of every candidate has the seed hr_replication_seed(seed, r). If an environment resamples the workload,
 * it has one workload per r, which all its candidates share. The candidates then see the same random events (common
 * random numbers). A deterministic candidate is run once: all its replications have the results of replication 0. The
 * result of a run depends only on candidate, environment and replication, not on threads or on earlier runs.
 */

#include "headroom/unstable/forecast.h"
#include "headroom/unstable/replications.h"
#include "headroom/unstable/stress.h"
#include "plan/runner/intervals.h"
#include "plan/runner/one_run.h"
#include "plan/runner/scoped_metrics.h"

/* ---- Runner ----------------------------------------------------------------------------------------- */

/* The conditions in which candidates are run. */
struct hr__environment {
  struct hr_stress stress;
  struct hr_workload_spec workload;
  /* If not NULL, each replication draws a path of this forecast. The workload of the replication then covers the weeks
     of the forecast, and is multiplied by the growth. Borrowed. */
  const struct hr_forecast *forecast;
};

struct hr__runner_config {
  /* the file of this scenario is loaded again for each candidate; the seed of this scenario is the origin of all seeds
   */
  const struct hr_scenario *scenario;
  const char *const *overrides; /* `scenario` was loaded with these; those of a candidate are appended */
  size_t n_overrides;
  const struct hr_trace *trace;
  const struct hr__scoped_metric *metrics; /* metrics to store for every run; copied */
  size_t n_metrics;
  uint32_t n_threads;
  struct hr_progress progress; /* counts the jobs of all runs that were requested so far */
};

/* The data of a runner. Other files access it only through the functions below. */

/* One run of a candidate. */
struct hr__runner_replication {
  double *metrics; /* [config.n_metrics]; NULL: not run */
  bool made;
  /* scenario of this replication if prices are random; NULL: the scenario of the candidate */
  struct hr_scenario *scenario;
};

struct hr__runner_candidate {
  const char **overrides; /* overrides of the config (borrowed), then those of the candidate (copied) */
  size_t n_overrides, n_own;
  uint32_t environment;
  struct hr_scenario *scenario;
  bool random;
  struct hr__runner_replication *replications;
  uint32_t n_replications;
};

struct hr__runner_environment {
  struct hr__environment spec;
  bool redrawn;                /* the workload is resampled */
  struct hr_workload_cut cut;  /* set only if redrawn */
  struct hr_trace **workloads; /* [n_workloads], by replication; NULL: not drawn */
  uint32_t n_workloads;
};

struct hr__runner {
  struct hr__runner_config config;
  struct hr__scoped_metric *metrics;
  struct hr__runner_candidate *candidates;
  struct hr__runner_environment *environments;
  uint32_t n_candidates, candidate_capacity, n_environments, environment_capacity;
  uint64_t n_runs;
  struct hr__progress_sum progress;
};

struct hr__runner *hr__runner_create(const struct hr__runner_config *config); /* NULL when out of memory */
void hr__runner_destroy(struct hr__runner *runner);                           /* accepts NULL */

/* Adds an environment (copied) and sets *number to its index in the runner. */
enum hr_status hr__runner_add_environment(struct hr__runner *runner, const struct hr__environment *environment,
                                          uint32_t *number, struct hr_error *error);
/* Loads the scenario with the overrides (copied) in an environment, and sets the candidate's index in the runner.
   Errors are those of hr_scenario_load. */
enum hr_status hr__runner_add_candidate(struct hr__runner *runner, const char *const *overrides, size_t n_overrides,
                                        uint32_t environment, uint32_t *number, struct hr_error *error);

/* The candidate's scenario for replication 0; owned by the runner. */
static inline const struct hr_scenario *hr__runner_scenario(const struct hr__runner *runner, uint32_t candidate) {
  return runner->candidates[candidate].scenario;
}

/* Whether the replications of the candidate are random. If not, all its replications are equal. */
static inline bool hr__runner_is_random(const struct hr__runner *runner, uint32_t candidate) {
  return runner->candidates[candidate].random;
}

/* The index of the entry of a replication. It is 0 if all replications are equal. */
static inline uint32_t hr__runner_replication_of(const struct hr__runner_candidate *candidate, uint32_t replication) {
  return candidate->random ? replication : 0;
}

/* A trial is one run: a replication of a candidate. */
struct hr__trial {
  uint32_t candidate, replication;
};
/* Makes the missing runs on threads. If several runs fail, the error is that of the first one in the list. */
enum hr_status hr__runner_run(struct hr__runner *runner, const struct hr__trial *trials, size_t count,
                              struct hr_error *error);

/* The metrics of a run, in the order of the config; NULL if the run was not made. The runner owns them. */
static inline const double *hr__runner_values(const struct hr__runner *runner, uint32_t candidate,
                                              uint32_t replication) {
  const struct hr__runner_candidate *self = &runner->candidates[candidate];
  uint32_t r = hr__runner_replication_of(self, replication);
  return r < self->n_replications && self->replications[r].made ? self->replications[r].metrics : NULL;
}

/* Number of runs that were made so far. */
static inline uint64_t hr__runner_runs(const struct hr__runner *runner) {
  return runner->n_runs;
}

/* Fills `config` for callers that make the run themselves. The runner owns everything that `config` points to. */
enum hr_status hr__runner_case(struct hr__runner *runner, struct hr__trial trial, struct hr__one_run_config *config,
                               struct hr_error *error);

/* ---- Replications of one scenario ------------------------------------------------------------------- */

struct hr_replicates {
  struct hr_replicate_config config;
  struct hr__scoped_metric *metrics; /* first of all jobs, then of each class, then of each tenant */
  size_t n_metrics;
  struct hr__runner *runner;
  uint32_t candidate, count;
  bool exact;                         /* the scenario is deterministic */
  size_t metric;                      /* index of the metric for which a precision is requested */
  double relative;                    /* precision that was reached: half the width of the interval / estimate */
  struct hr__one_run first;           /* replication 0 */
  const struct hr_trace *first_trace; /* workload of replication 0; owned by the runner */
  struct hr_notes notes;
};

/* Computes the interval of the metric with index `metric` over all replications. HR_NO_MEMORY is the only failure. */
enum hr_status hr__replicates_interval(const struct hr_replicates *replicates, size_t metric,
                                       struct hr__interval *interval);

#endif
