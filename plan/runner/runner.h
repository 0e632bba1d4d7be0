/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_RUNNER_H
#define HR_PLAN_RUNNER_RUNNER_H

/*
 * Where many runs are made and remembered: a scenario under some overrides (a mix), in a world (how spot behaves, what
 * is charged, how much demand there is), as often as is asked. No run is made twice.
 *
 * Replication r of every mix in every world has the seed hr_replication_seed(seed, r), and, where the workload is drawn
 * again, one workload by world and r: all mixes meet the same random events (common random numbers). Where nothing of a
 * mix is random its replication 0 stands for all. What comes of a run depends on mix, world and replication alone,
 * never on threads or on what was run before.
 */

#include "headroom/unstable/forecast.h"
#include "headroom/unstable/replications.h"
#include "headroom/unstable/stress.h"
#include "plan/runner/measures.h"

/* What stands around a mix. */
struct hr__environment {
  struct hr_stress stress;
  struct hr_workload_spec workload;
  const struct hr_forecast *forecast; /* NULL: none; else the workload is of its weeks, a path of it for each
                                         replication, times the growth; borrowed */
};

struct hr__runner_config {
  const struct hr_scenario *scenario; /* the path of its file, its seed */
  const char *const *overrides;       /* that it was loaded with; those of a mix come after them */
  size_t n_overrides;
  const struct hr_trace *trace;
  const struct hr__figure *figures; /* kept of every run; copied */
  size_t n_figures;
  uint32_t n_threads;
  struct hr_progress progress; /* jobs of the runs that are under way, and of all that were asked for so far */
};

struct hr__runner;
struct hr__runner *hr__runner_create(const struct hr__runner_config *config); /* NULL when out of memory */
void hr__runner_destroy(struct hr__runner *lab);

/* Numbers from 0, in the order of adding. The world's workload is drawn again unless it is the trace as it is. */
enum hr_status hr__runner_add_environment(struct hr__runner *lab, const struct hr__environment *world, uint32_t *number,
                                          struct hr_error *error);
/* Loads the scenario under the overrides (copied) in that world; errors are those of hr_scenario_load. */
enum hr_status hr__runner_add_candidate(struct hr__runner *lab, const char *const *overrides, size_t n_overrides,
                                        uint32_t world, uint32_t *number, struct hr_error *error);

/* The mix as it was loaded, for replication 0. */
const struct hr_scenario *hr__runner_scenario(const struct hr__runner *lab, uint32_t mix);
/* Whether its replications differ. */
bool hr__runner_is_random(const struct hr__runner *lab, uint32_t mix);

struct hr__trial {
  uint32_t mix, replication;
};
/* Makes those that were not made yet, on threads. The first of them by number that fails ends it, and is told. */
enum hr_status hr__runner_run(struct hr__runner *lab, const struct hr__trial *trials, size_t count,
                              struct hr_error *error);

/* The figures of a run that was made, in the config's order; NULL of one that was not. */
const double *hr__runner_values(const struct hr__runner *lab, uint32_t mix, uint32_t replication);
/* Runs that were made in all. */
uint64_t hr__runner_runs(const struct hr__runner *lab);

/* What a trial is a run of, for who runs it otherwise; it belongs to the lab. */
enum hr_status hr__runner_case(struct hr__runner *lab, struct hr__trial trial, struct hr__one_run_config *config,
                               struct hr_error *error);
/* One whole run, for who wants more of it than figures: of replication 0 as a rule. */
enum hr_status hr__runner_run_one(struct hr__runner *lab, struct hr__trial trial, struct hr__one_run *run,
                                  const struct hr_trace **trace, struct hr_error *error);

#endif
