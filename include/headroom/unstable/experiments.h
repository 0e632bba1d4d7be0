/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_EXPERIMENTS_H
#define HEADROOM_UNSTABLE_EXPERIMENTS_H

/* Specifications of experiments, as scenarios, grids and suites contain them: axes, plans, tolerances, suites,
   baselines and stress tests. The functions of this header read and validate these specifications. The functions of
   planning.h and compare.h execute them. */

#include "headroom/scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Grids ---- */

/* A level: one of the values of an axis. It is applied to the scenario by overrides. */
struct hr_grid_level {
  char *text;    /* the value as text, or the label of the setting */
  double number; /* the value; NAN if it is not a number */
  char **set;    /* [n_set]: overrides "path=value" for hr_scenario_load */
  size_t n_set;
};

/* An axis: an input that is varied. */
struct hr_grid_axis {
  /* name of the column in results; distinct, ignoring case */
  char *name;
  char *path; /* the key that the axis sets; NULL: its levels set several keys */
  /* [n_levels]; NULL: the axis is a range of numbers from `from` to `to` */
  struct hr_grid_level *levels;
  uint32_t n_levels;
  double from, to;
  /* for ranges. true: values are drawn uniformly on a logarithmic scale; false: uniformly on a linear scale */
  bool logarithmic;
};

/* The designs of a grid. `full` has one point for each combination of levels. `sobol` and `latin-hypercube` draw
   `n_points` points. The columns: enumerator, name in files. */
#define HR_DESIGN_TABLE(X)                                                                                             \
  X(HR_DESIGN_FULL, "full")                                                                                            \
  X(HR_DESIGN_SOBOL, "sobol")                                                                                          \
  X(HR_DESIGN_LATIN_HYPERCUBE, "latin-hypercube")

enum hr_design {
#define HR_DESIGN_NAME(name, text) name,
  HR_DESIGN_TABLE(HR_DESIGN_NAME)
#undef HR_DESIGN_NAME
      HR_N_DESIGNS
};

/* A grid: a scenario with axes. */
struct hr_grid {
  char *path;          /* path of the file, as the user wrote it */
  char *text;          /* contents of the file */
  char *scenario;      /* path of the scenario, as written in the grid */
  char *scenario_path; /* path of the scenario, resolved relative to the folder of the grid */
  char **set;          /* [n_set]: overrides for all points, applied before the overrides of the axes */
  size_t n_set;
  struct hr_grid_axis *axes;
  uint32_t n_axes;
  enum hr_design design;
  uint32_t n_points;     /* number of points of a sample; used by designs other than HR_DESIGN_FULL */
  uint32_t replications; /* maximum number of replications of each point */
  uint64_t seed;         /* seed of the design; runs use the seed of the scenario */
  uint64_t max_runs;     /* limit on the number of runs; a grid with more runs is refused */
};

/* Reads and validates a grid, but not its scenario. The caller frees `*grid` with hr_grid_destroy. On HR_BAD_INPUT,
   `error` names file, line and column. */
HR_API enum hr_status hr_grid_load(const char *path, struct hr_grid **grid, struct hr_error *error);
HR_API void hr_grid_destroy(struct hr_grid *grid);

/* ---- Plans ---- */

/* Does the same as hr_scenario_load_with, for a candidate of a plan or a point of a sweep. The only difference: if a
   replica of a service does not fit into any pool, this is not an error. Such replicas are rejected when a run submits
   them, and `(*scenario)->services->unfit` has the reason. */
HR_API enum hr_status hr_scenario_load_candidate(const struct hr_catalog *built_in, const char *path,
                                                 const char *const *overrides, size_t n_overrides,
                                                 struct hr_scenario **scenario, struct hr_error *error);

/* Checks the keys of a scenario and the types of their values, after overrides. Rules that concern several keys are not
   checked. Returns HR_BAD_INPUT if a check fails. */
HR_API enum hr_status hr_scenario_check_keys(const char *path, const char *const *overrides, size_t n_overrides,
                                             struct hr_error *error);

/* A variable of a plan. A candidate has one value of each variable. */
struct hr_plan_variable {
  struct hr_grid_axis axis; /* the possible values */
  /* [n_pools]: ids of pools, ascending; the variable is the number of GPUs of these pools. NULL: the variable is not a
     capacity */
  uint32_t *pools;
  uint32_t n_pools;
};

/* A term of the objective: weight x metric. */
struct hr_plan_term {
  struct hr_placed_text metric; /* name of a metric */
  double weight;
};

enum { HR_MAX_PLAN_VARIABLES = 12 };

/* The object `plan` of a scenario: variables, goals and objective. */
struct hr_plan_spec {
  struct hr_plan_variable *variables;
  uint32_t n_variables;
  /* [n_constraints]: goals such as "wait_s.p95 of inference <= 60" */
  struct hr_placed_text *constraints;
  uint32_t n_constraints;
  struct hr_plan_term *objective; /* [n_terms]: the terms of the objective, a sum that is minimized */
  uint32_t n_terms;
  /* [n_variables]: today's mix, as one level of each variable. A level has no overrides (n_set is 0) if the plan does
     not state today's value of the variable. NULL: today's mix is not specified */
  struct hr_grid_level *baseline;
  /* the objective of the chosen candidate may exceed the minimum by this share of the minimum */
  double indifference;
  uint32_t max_replications;         /* maximum number of replications of a finalist */
  uint64_t max_candidates, max_runs; /* limits; a plan with more candidates or runs is refused */
  struct hr_placed_text self; /* `place`: position of the plan in the file, for errors that concern the whole plan */
};
HR_API void hr_plan_spec_destroy(struct hr_plan_spec *spec);

/* ---- Tolerances ---- */

/* The direction in which a metric gets worse. The columns: enumerator, name in files. */
#define HR_WORSE_TABLE(X)                                                                                              \
  X(HR_WORSE_EITHER, "either")                                                                                         \
  X(HR_WORSE_HIGHER, "higher")                                                                                         \
  X(HR_WORSE_LOWER, "lower")

enum hr_worse {
#define HR_WORSE_NAME(name, text) name,
  HR_WORSE_TABLE(HR_WORSE_NAME)
#undef HR_WORSE_NAME
  /* not specified. With only_worse (struct hr_tolerances), this means the direction in which the metric gets worse.
     Without only_worse, it means HR_WORSE_EITHER */
  HR_WORSE_UNSPECIFIED
};

/* How much a metric may differ from the baseline without a failure. The allowed difference is the maximum of `absolute`
   and `relative` times the value in the baseline. Only differences in the direction `worse` can be failures. */
struct hr_tolerance {
  /* name of a metric, such as "wait_s.p95 of inference"; "*": all metrics without a specific tolerance */
  struct hr_placed_text metric;
  double relative, absolute;
  enum hr_worse worse;
};

/* The rule for metrics without a specific tolerance. The columns: enumerator, name in files.
   slo: a metric of service quality or cost fails if it is worse by more than a default tolerance; other metrics never
   fail. docs/ci/check.md has the tolerances.
   exact: every metric must be equal. */
#define HR_TOLERANCE_PROFILE_TABLE(X)                                                                                  \
  X(HR_PROFILE_SLO, "slo")                                                                                             \
  X(HR_PROFILE_EXACT, "exact")

enum hr_tolerance_profile {
  HR_PROFILE_UNSPECIFIED, /* not specified. For a run: the profile of its suite. For a suite: slo */
#define HR_PROFILE_NAME(name, text) name,
  HR_TOLERANCE_PROFILE_TABLE(HR_PROFILE_NAME)
#undef HR_PROFILE_NAME
};

/* The tolerances of a suite or of a run. */
struct hr_tolerances {
  struct hr_tolerance *at; /* [count] */
  size_t count;
  enum hr_tolerance_profile profile;
  bool only_worse; /* a metric that improved is never a failure */
  /* only_worse is specified. If a run does not specify it, the value of its suite applies; if the suite does not
     specify it either, it is true in the profile slo and false in the profile exact */
  bool only_worse_is_set;
  /* exact_digest: digests must be equal. loose_digest: digests may differ. If a run sets neither, the members of its
     suite apply. If the suite sets neither, digests must be equal only if all of these conditions are met: the profile
     is exact; neither the run nor the suite has a tolerance; only_worse is false; the run or its baseline has no
     replications */
  bool exact_digest, loose_digest;
};

/* ---- Suites ---- */

/* A run of a suite. */
struct hr_suite_run {
  char *name;     /* distinct */
  char *scenario; /* path, resolved relative to the suite's folder */
  char *trace;    /* path, resolved relative to the folder of the suite; NULL: the trace of the scenario */
  /* [n_policies]: the scenario is run with each of these policies, as a run named "NAME/POLICY"; n_policies 0: one run
     with the policy of the scenario */
  char **policies;
  size_t n_policies;
  char **set; /* [n_set]: overrides for hr_scenario_load */
  size_t n_set;
  struct hr_tolerances tolerances; /* override the tolerances of the suite */
  struct hr_placed_text *goals; /* [n_goals]: goals in addition to the suite's goals, such as "wait_s.p95 <= 10 min" */
  size_t n_goals;
};

/* A suite: runs to compare with a baseline. */
struct hr_suite {
  char *path; /* path of the file, as the user wrote it */
  struct hr_suite_run *runs;
  size_t n_runs;
  struct hr_tolerances tolerances; /* apply to all runs */
  struct hr_placed_text *goals;    /* [n_goals]: every run must meet them */
  size_t n_goals;
};

/* Sets `*is_suite` to true if a JSON file has the key `runs`, so that it is a suite and not a scenario. */
HR_API enum hr_status hr_suite_recognise(const char *path, bool *is_suite, struct hr_error *error);
/* Reads and validates a suite, but not its scenarios. The caller frees `*suite` with hr_suite_destroy. On HR_BAD_INPUT,
   `error` names file, line and column. */
HR_API enum hr_status hr_suite_load(const char *path, struct hr_suite **suite, struct hr_error *error);
/* Creates a suite with one run: the scenario `path` with overrides. The run is named after the file without its
   extension. `trace` may be NULL. The caller frees `*suite` with hr_suite_destroy. */
HR_API enum hr_status hr_suite_of_scenario(const char *path, const char *trace, const char *const *overrides,
                                           size_t n_overrides, struct hr_suite **suite, struct hr_error *error);
/* Adds a tolerance for all runs. `text` is METRIC=SHARE, such as "wait_s.p95=2%", METRIC=NUMBER in the unit of the
   metric, such as "monthly_usd=100", or the name of a profile, which becomes the profile of the suite. Returns
   HR_BAD_INPUT for other texts; the error begins with "--tolerance TEXT: ". */
HR_API enum hr_status hr_suite_add_tolerance(struct hr_suite *suite, const char *text, struct hr_error *error);
/* Adds a goal for all runs, such as "wait_s.p95 of interactive <= 10 min". The text is parsed by hr_check, not here. */
HR_API enum hr_status hr_suite_add_goal(struct hr_suite *suite, const char *text, struct hr_error *error);
/* Specifies for all runs that improvements are never failures. */
static inline void hr_suite_set_only_worse(struct hr_suite *suite) {
  suite->tolerances.only_worse = true;
  suite->tolerances.only_worse_is_set = true;
}
HR_API void hr_suite_destroy(struct hr_suite *suite);

/* ---- Baselines ---- */

/* HR_BASELINE_FORMAT: the version of the format of baseline files. HR_MAX_BASELINE_BYTES: the maximum size of such a
   file. HR_MAX_BASELINE_SCENARIO_BYTES: larger scenarios are not stored in a baseline. */
enum { HR_BASELINE_FORMAT = 1, HR_MAX_BASELINE_BYTES = 1 << 24, HR_MAX_BASELINE_SCENARIO_BYTES = 1 << 16 };

/* What a metric describes: a whole run, or one class, tenant, pool or inference service of a run. The columns:
   enumerator, key in files. */
#define HR_METRIC_OF_TABLE(X)                                                                                          \
  X(HR_METRIC_OF_RUN, "metrics")                                                                                       \
  X(HR_METRIC_OF_CLASS, "by_class")                                                                                    \
  X(HR_METRIC_OF_TENANT, "by_tenant")                                                                                  \
  X(HR_METRIC_OF_POOL, "by_pool")                                                                                      \
  X(HR_METRIC_OF_ONE_SERVICE, "by_service")

enum hr_metric_of {
#define HR_METRIC_OF_NAME(name, text) name,
  HR_METRIC_OF_TABLE(HR_METRIC_OF_NAME)
#undef HR_METRIC_OF_NAME
      HR_N_METRIC_OF
};

/* A metric in a baseline. */
struct hr_baseline_metric {
  char *path;  /* name of the metric, such as "wait_s.p95" */
  char *group; /* name of a class, tenant, pool or service; NULL: the metric is of the whole run */
  enum hr_metric_of of;
  double value; /* the value, rounded as printed */
  /* confidence interval of a replicated run that was executed for this check; NAN for other runs */
  double low, high;
  /* [n_samples]: the value in each replication of a replicated run; NULL if the value is unknown in at least one
     replication */
  double *samples;
  uint32_t n_samples;
};

/* A file that a run read: its name without folders, and a hash of its contents. */
struct hr_baseline_input {
  char *name;
  uint64_t digest;
};

/* A run in a baseline. */
struct hr_baseline_run {
  char *name, *policy;                 /* policy: name of the policy with its parameters */
  char *trace;                         /* name of the trace file without folders */
  uint64_t seed, trace_digest, digest; /* digest: of the events of the run */
  struct hr_baseline_input *inputs;    /* [n_inputs]: input files other than the trace */
  size_t n_inputs;
  char *scenario;        /* the scenario after overrides, as JSON; NULL: not stored */
  uint32_t replications; /* 0: not a replicated run */
  struct hr_baseline_metric *metrics;
  size_t n_metrics;
  /* For runs without replications: data with which the first different decision is found. `decisions` is their number.
     `chain` has two characters for each block of `spacing` decisions: a hash of all events up to the end of the block.
     If these characters are equal in two runs, all these events are equal, except with probability 1/4096. */
  uint64_t decisions, spacing;
  char *chain;
  char *starts; /* encoded starts of the first jobs; NULL for replicated runs */
  uint32_t n_jobs;
};

/* A baseline. */
struct hr_baseline {
  char *path, *version; /* version: of the program that wrote the file */
  struct hr_baseline_run *runs;
  size_t n_runs;
};

/* Reads and validates a baseline. The caller frees `*baseline` with hr_baseline_destroy. On HR_BAD_INPUT, `error` names
   file, line and column. */
HR_API enum hr_status hr_baseline_load(const char *path, struct hr_baseline **baseline, struct hr_error *error);
/* Returns whether a file looks like a baseline, that is a JSON object with the keys `format` and `runs`. For error
   messages about invalid files. */
HR_API bool hr_baseline_recognise(const char *path);
/* hr_baseline_destroy frees a baseline; NULL is accepted. hr_baseline_run_finish frees the members of a run. */
HR_API void hr_baseline_destroy(struct hr_baseline *baseline);
HR_API void hr_baseline_run_finish(struct hr_baseline_run *run);

/* ---- Stress -------------------------------------------------------------------------------------------- */

/* Stress tests of a scenario: more spot interruptions, other prices, an unavailable GPU type. A stress modifies a
   loaded scenario in place before its run. docs/planner/spot.md describes the effect on each model of interruptions. */

/* A stress. A factor of 1 means no change. The members from `without_gpu` on have no effect if they are 0 or NULL. */
struct hr_stress {
  double spot_reclaims; /* factor on the rate of spot reclaims, 0.001 to 1000 */
  double spot_price;    /* factor on spot prices, 0 to 1000, rounded to millionths; applies to each price step */
  /* factor on the prices of on-demand pools, and on on_demand_uusd_h of all pools */
  double on_demand_price;
  /* name of a GPU type, ignoring case; pools of this type get no nodes. NULL: no such type */
  const char *without_gpu;
  /* [number of pools], borrowed: true for pools that still get nodes although their type is `without_gpu`, such as
     pools that are owned already. NULL: no such pools */
  const bool *keeps_nodes;
  /* borrowed: replaces the spot model, notice and batches of all spot pools. It must not have recorded levels. NULL: no
     change */
  const struct hr_spot_spec *spot_as;
  /* minimum share of time in which no spot capacity is available, 0 to 1. Pools in which capacity is unavailable for a
     larger share of time do not change. At 1, spot pools get no nodes */
  double spot_outage;
};

/* Sets all members so that the stress changes nothing: all factors are 1, the other members are 0 or NULL. */
HR_API void hr_stress_init(struct hr_stress *stress);

/*
 * Applies a stress to a scenario. If a stress was applied before, the factors multiply. Prices are rounded half up to
 * micro-dollars. If pools lose all nodes, the order of the nodes of the other pools, the quotas and the kind of
 * allocation (counted or per GPU) do not change. `spot_as` is applied first, then `spot_outage`, then `spot_reclaims`.
 *
 * Returns HR_BAD_INPUT if a factor, a resulting price or a resulting rate is out of range, or if no pool has the GPU
 * type; `error` suggests the nearest type. In this case the scenario is unchanged.
 */
HR_API enum hr_status hr_scenario_stress(struct hr_scenario *scenario, const struct hr_stress *stress,
                                         struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
