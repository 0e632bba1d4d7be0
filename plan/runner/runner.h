/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_RUNNER_H
#define HR_PLAN_RUNNER_RUNNER_H

/*
 * Runs many variants of one scenario, and remembers the figures of every run.
 *
 * A candidate is the scenario with some overrides, in an environment (spot behaviour, prices, workload). Each candidate
 * is replicated as often as asked; no run is made twice.
 *
 * Replication r of every candidate has the seed hr_replication_seed(seed, r). If an environment resamples the workload,
 * it has one workload per r, which all its candidates share: they see the same random events (common random numbers).
 * A deterministic candidate is run once: all its replications have the results of replication 0. The result of a run
 * depends only on its candidate, environment and replication, not on threads or on earlier runs.
 */

#include "headroom/unstable/forecast.h"
#include "headroom/unstable/replications.h"
#include "headroom/unstable/stress.h"
#include "plan/runner/intervals.h"
#include "plan/runner/measures.h"

/* ---- Runner ----------------------------------------------------------------------------------------- */

/* What surrounds a candidate. */
struct hr__environment {
  struct hr_stress stress;
  struct hr_workload_spec workload;
  const struct hr_forecast *forecast; /* NULL, or: each replication draws a path of the forecast, and the workload
                                         covers its weeks, times the growth; borrowed */
};

struct hr__runner_config {
  const struct hr_scenario *scenario; /* its file is loaded again for each candidate; its seed is the origin */
  const char *const *overrides;       /* it was loaded with these; a candidate's own come after them */
  size_t n_overrides;
  const struct hr_trace *trace;
  const struct hr__figure *figures; /* stored for every run; copied */
  size_t n_figures;
  uint32_t n_threads;
  struct hr_progress progress; /* in jobs of all runs that were asked for so far */
};

/* The data of a runner. Other files read it only through the functions below. */

/* One run. */
struct hr__runner_replication {
  double *figures; /* [config.n_figures]; NULL until requested */
  bool made;
  struct hr_scenario *scenario; /* of this replication if prices are random; NULL: the candidate's */
};

struct hr__runner_candidate {
  const char **overrides; /* the config's, then its own, which are copies */
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
  struct hr_workload_cut cut;  /* only if redrawn */
  struct hr_trace **workloads; /* [n_workloads], by replication; NULL until drawn */
  uint32_t n_workloads;
};

struct hr__runner {
  struct hr__runner_config config;
  struct hr__figure *figures;
  struct hr__runner_candidate *candidates;
  struct hr__runner_environment *environments;
  uint32_t n_candidates, candidate_capacity, n_environments, environment_capacity;
  uint64_t n_runs;
  struct hr__progress_sum progress;
};

struct hr__runner *hr__runner_create(const struct hr__runner_config *config); /* NULL when out of memory */
void hr__runner_destroy(struct hr__runner *runner);                           /* accepts NULL */

/* Adds an environment (copied) and returns its number; numbers count from 0. */
enum hr_status hr__runner_add_environment(struct hr__runner *runner, const struct hr__environment *environment,
                                          uint32_t *number, struct hr_error *error);
/* Loads the scenario with the overrides (copied) in an environment, and returns the candidate's number, from 0. Errors
   are those of hr_scenario_load. */
enum hr_status hr__runner_add_candidate(struct hr__runner *runner, const char *const *overrides, size_t n_overrides,
                                        uint32_t environment, uint32_t *number, struct hr_error *error);

/* The candidate's scenario for replication 0; owned by the runner. */
static inline const struct hr_scenario *hr__runner_scenario(const struct hr__runner *runner, uint32_t candidate) {
  return runner->candidates[candidate].scenario;
}

/* Whether the candidate's replications differ. */
static inline bool hr__runner_is_random(const struct hr__runner *runner, uint32_t candidate) {
  return runner->candidates[candidate].random;
}

/* The entry of a replication: 0 for all if they do not differ. */
static inline uint32_t hr__runner_replication_of(const struct hr__runner_candidate *candidate, uint32_t replication) {
  return candidate->random ? replication : 0;
}

struct hr__trial {
  uint32_t candidate, replication;
};
/* Makes the runs that are missing, on threads. If several fail, the error is that of the first in the list. */
enum hr_status hr__runner_run(struct hr__runner *runner, const struct hr__trial *trials, size_t count,
                              struct hr_error *error);

/* The figures of a run, in the order of the config; NULL if it was not made. Owned by the runner. */
static inline const double *hr__runner_values(const struct hr__runner *runner, uint32_t candidate,
                                              uint32_t replication) {
  const struct hr__runner_candidate *self = &runner->candidates[candidate];
  uint32_t r = hr__runner_replication_of(self, replication);
  return r < self->n_replications && self->replications[r].made ? self->replications[r].figures : NULL;
}

/* Number of runs made. */
static inline uint64_t hr__runner_runs(const struct hr__runner *runner) {
  return runner->n_runs;
}

/* The configuration of a trial, for callers that run it themselves. The runner owns what it points to. */
enum hr_status hr__runner_case(struct hr__runner *runner, struct hr__trial trial, struct hr__one_run_config *config,
                               struct hr_error *error);

/* ---- Replications of one scenario ------------------------------------------------------------------- */

struct hr_replicates {
  struct hr_replicate_config config;
  struct hr__figure *figures; /* of all jobs, then by class, then by tenant */
  size_t n_figures;
  struct hr__runner *runner;
  uint32_t candidate, count;
  bool exact;                         /* deterministic */
  size_t metric;                      /* the figure with the requested precision */
  double relative;                    /* the precision reached: half the interval's width, relative to the estimate */
  struct hr__one_run first;           /* replication 0 */
  const struct hr_trace *first_trace; /* its workload; owned by the runner */
  struct hr_notes notes;
};

/* The interval of figure number `figure` over all replications. HR_NO_MEMORY is the only failure. */
enum hr_status hr__replicates_interval(const struct hr_replicates *replicates, size_t figure,
                                       struct hr__interval *interval);

#endif
