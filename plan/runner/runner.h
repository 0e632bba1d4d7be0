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
struct hr__world {
  struct hr_stress stress;
  struct hr_workload_spec workload;
  const struct hr_forecast *forecast; /* NULL: none; else the workload is of its weeks, a path of it for each
                                         replication, times the growth; borrowed */
};

struct hr__lab_config {
  const struct hr_scenario *scenario; /* the path of its file, its seed */
  const char *const *overrides;       /* that it was loaded with; those of a mix come after them */
  size_t n_overrides;
  const struct hr_trace *trace;
  const struct hr__figure *figures; /* kept of every run; copied */
  size_t n_figures;
  uint32_t n_threads;
  struct hr_progress progress; /* jobs of the runs that are under way, and of all that were asked for so far */
};

struct hr__lab;
struct hr__lab *hr__lab_create(const struct hr__lab_config *config); /* NULL when out of memory */
void hr__lab_destroy(struct hr__lab *lab);

/* Numbers from 0, in the order of adding. The world's workload is drawn again unless it is the trace as it is. */
enum hr_status hr__lab_add_world(struct hr__lab *lab, const struct hr__world *world, uint32_t *number,
                                 struct hr_error *error);
/* Loads the scenario under the overrides (copied) in that world; errors are those of hr_scenario_load. */
enum hr_status hr__lab_add_mix(struct hr__lab *lab, const char *const *overrides, size_t n_overrides, uint32_t world,
                               uint32_t *number, struct hr_error *error);

/* The mix as it was loaded, for replication 0. */
const struct hr_scenario *hr__lab_scenario(const struct hr__lab *lab, uint32_t mix);
/* Whether its replications differ. */
bool hr__lab_is_random(const struct hr__lab *lab, uint32_t mix);

struct hr__trial {
  uint32_t mix, replication;
};
/* Makes those that were not made yet, on threads. The first of them by number that fails ends it, and is told. */
enum hr_status hr__lab_run(struct hr__lab *lab, const struct hr__trial *trials, size_t count, struct hr_error *error);

/* The figures of a run that was made, in the config's order; NULL of one that was not. */
const double *hr__lab_values(const struct hr__lab *lab, uint32_t mix, uint32_t replication);
/* Runs that were made in all. */
uint64_t hr__lab_runs(const struct hr__lab *lab);

/* What a trial is a run of, for who runs it otherwise; it belongs to the lab. */
enum hr_status hr__lab_case(struct hr__lab *lab, struct hr__trial trial, struct hr__one_run_config *config,
                            struct hr_error *error);
/* One whole run, for who wants more of it than figures: of replication 0 as a rule. */
enum hr_status hr__lab_run_one(struct hr__lab *lab, struct hr__trial trial, struct hr__one_run *run,
                               const struct hr_trace **trace, struct hr_error *error);

#endif
