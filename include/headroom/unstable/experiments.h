/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_EXPERIMENTS_H
#define HEADROOM_UNSTABLE_EXPERIMENTS_H

/* Specifications of experiments in scenarios, grids and suites: axes, plans, tolerances, suites and baselines. They
   are read and validated here, and carried out by the headers of the same names. */

#include "headroom/scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Grids ---- */

/* A level of an axis: overrides of the scenario. */
struct hr_grid_level {
  char *text;    /* the value, or the label of the setting */
  double number; /* the value; NAN if it is a text */
  char **set;    /* overrides "path=value", as for hr_scenario_load */
  size_t n_set;
};

struct hr_grid_axis {
  char *name;                   /* of its column; distinct, ignoring case */
  char *path;                   /* the key that it sets; NULL: its levels set several */
  struct hr_grid_level *levels; /* NULL: any number between `from` and `to` */
  uint32_t n_levels;
  double from, to;
  bool logarithmic; /* equal ratios, not equal differences, are equally likely */
};

/* Names in files. */
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

struct hr_grid {
  char *path;          /* as given */
  char *text;          /* of the file */
  char *scenario;      /* as named in the grid */
  char *scenario_path; /* resolved relative to the grid's folder */
  char **set;          /* overrides for all points, applied before those of the axes */
  size_t n_set;
  struct hr_grid_axis *axes;
  uint32_t n_axes;
  enum hr_design design;
  uint32_t n_points; /* size of a sample */
  uint32_t replications;
  uint64_t seed;     /* of the design; runs have the scenario's */
  uint64_t max_runs; /* a larger grid is refused as a mistake */
};

/* Reads and validates a grid, without its scenario. The caller destroys it. Errors name file, line and column. */
HR_API enum hr_status hr_grid_load(const char *path, struct hr_grid **grid, struct hr_error *error);
HR_API void hr_grid_destroy(struct hr_grid *grid);

/* ---- Plans ---- */

/* A variable of a plan. */
struct hr_plan_variable {
  struct hr_grid_axis axis; /* its levels, with their overrides */
  uint32_t *pools;          /* the pools of the GPUs that it counts, ascending; NULL: it is not capacity */
  uint32_t n_pools;
};

struct hr_plan_term {
  struct hr_placed_text figure;
  double weight;
};

enum { HR_MAX_PLAN_VARIABLES = 12 };

/* The `plan` of a scenario. */
struct hr_plan_spec {
  struct hr_plan_variable *variables;
  uint32_t n_variables;
  struct hr_placed_text *constraints; /* "wait_s.p95 of inference <= 60" */
  uint32_t n_constraints;
  struct hr_plan_term *objective; /* the objective, minimized: a weighted sum of metrics */
  uint32_t n_terms;
  struct hr_grid_level
      /* [n_variables]: today's candidate, overrides of each variable that it names; NULL: not given */
      *baseline;
  double indifference;       /* share of the objective by which the choice may miss the optimum */
  uint32_t max_replications; /* of a finalist */
  uint64_t max_candidates, max_runs;
  struct hr_placed_text self; /* its name, for errors about the whole */
};
HR_API void hr_plan_spec_destroy(struct hr_plan_spec *spec);

/* ---- Tolerances ---- */

/* The direction in which a metric is worse. */
#define HR_WORSE_TABLE(X)                                                                                              \
  X(HR_WORSE_EITHER, "either")                                                                                         \
  X(HR_WORSE_HIGHER, "higher")                                                                                         \
  X(HR_WORSE_LOWER, "lower")

enum hr_worse {
#define HR_WORSE_NAME(name, text) name,
  HR_WORSE_TABLE(HR_WORSE_NAME)
#undef HR_WORSE_NAME
      HR_WORSE_UNSAID /* either; with only_worse, the metric's own direction */
};

/* How much a metric may differ: the larger of the two. */
struct hr_tolerance {
  /* "wait_s.p95", "wait_s.p95 of inference"; "*": all metrics without a tolerance of their own */
  struct hr_placed_text figure;
  double relative, absolute;
  enum hr_worse worse;
};

struct hr_tolerances {
  struct hr_tolerance *at;
  size_t count;
  bool only_worse;                 /* improvements never fail */
  bool said_only_worse;            /* explicitly set; a run's setting overrides its suite's */
  bool exact_digest, loose_digest; /* explicitly set; neither: exact if neither tolerances nor replications are set */
};

/* ---- Suites ---- */

struct hr_suite_run {
  char *name;      /* distinct */
  char *scenario;  /* path, resolved relative to the suite's folder */
  char *trace;     /* path, resolved relative to the suite's folder; NULL: the scenario's */
  char **policies; /* each makes a run of its own, "NAME/POLICY"; none: the scenario's */
  size_t n_policies;
  char **set; /* overrides, as for hr_scenario_load */
  size_t n_set;
  struct hr_tolerances tolerances; /* take precedence over the suite's */
};

struct hr_suite {
  char *path;
  struct hr_suite_run *runs;
  size_t n_runs;
  struct hr_tolerances tolerances;
};

/* Whether a JSON file is a suite rather than a scenario: it has `runs`. */
HR_API enum hr_status hr_suite_recognise(const char *path, bool *is_suite, struct hr_error *error);
/* Reads and validates a suite, without its scenarios. The caller destroys it. Errors name file, line and column. */
HR_API enum hr_status hr_suite_load(const char *path, struct hr_suite **suite, struct hr_error *error);
/* Makes a suite of one run of a scenario with overrides, named after the file without its extension. `trace` may be
   NULL. The caller destroys it. */
HR_API enum hr_status hr_suite_of_scenario(const char *path, const char *trace, const char *const *overrides,
                                           size_t n_overrides, struct hr_suite **suite, struct hr_error *error);
/* Adds a tolerance for all runs: "wait_s.p95=2%", or "monthly_usd=100" in the metric's unit. Errors begin with "--
   tolerance TEXT: ". */
HR_API enum hr_status hr_suite_add_tolerance(struct hr_suite *suite, const char *text, struct hr_error *error);
/* Improvements never fail, in any run. */
static inline void hr_suite_set_only_worse(struct hr_suite *suite) {
  suite->tolerances.only_worse = true;
  suite->tolerances.said_only_worse = true;
}
HR_API void hr_suite_destroy(struct hr_suite *suite);

/* ---- Baselines ---- */

enum { HR_BASELINE_FORMAT = 1, HR_MAX_BASELINE_BYTES = 1 << 24 };

/* The part of a run that a metric refers to. */
#define HR_FIGURE_OF_TABLE(X)                                                                                          \
  X(HR_FIGURE_OF_RUN, "metrics")                                                                                       \
  X(HR_FIGURE_OF_CLASS, "by_class")                                                                                    \
  X(HR_FIGURE_OF_TENANT, "by_tenant")                                                                                  \
  X(HR_FIGURE_OF_POOL, "by_pool")

enum hr_figure_of {
#define HR_FIGURE_OF_NAME(name, text) name,
  HR_FIGURE_OF_TABLE(HR_FIGURE_OF_NAME)
#undef HR_FIGURE_OF_NAME
      HR_N_FIGURE_OF
};

struct hr_baseline_figure {
  char *path;  /* "wait_s.p95" */
  char *group; /* a class, tenant or pool; NULL: the run */
  enum hr_figure_of of;
  double value;     /* rounded as printed */
  double low, high; /* of replicated runs that were just made: confidence interval; NAN otherwise */
  double *samples;  /* of replicated runs: by replication; NULL if unknown in one */
  uint32_t n_samples;
};

/* A file that a run read: its name without folders, and a digest of its bytes. */
struct hr_baseline_input {
  char *name;
  uint64_t digest;
};

/* A run in a baseline. */
struct hr_baseline_run {
  char *name, *policy; /* policy: with its parameters */
  char *trace;         /* the name of the file without folders */
  uint64_t seed, trace_digest, digest;
  struct hr_baseline_input *inputs; /* all input files except the trace */
  size_t n_inputs;
  uint32_t replications; /* 0: not a replicated run */
  struct hr_baseline_figure *figures;
  size_t n_figures;
  /* Of single runs: two characters after every `spacing` decisions, which depend on everything before. */
  uint64_t decisions, spacing;
  char *chain;
  char *starts; /* of the first jobs, encoded; NULL for replicated runs */
  uint32_t n_jobs;
};

struct hr_baseline {
  char *path, *version; /* version: of the program that wrote it */
  struct hr_baseline_run *runs;
  size_t n_runs;
};

/* Reads and validates a baseline. The caller destroys it. */
HR_API enum hr_status hr_baseline_load(const char *path, struct hr_baseline **baseline, struct hr_error *error);
/* Whether a file that cannot be read as a baseline was meant to be one. */
HR_API bool hr_baseline_recognise(const char *path);
HR_API void hr_baseline_destroy(struct hr_baseline *baseline);
HR_API void hr_baseline_run_finish(struct hr_baseline_run *run);

#ifdef __cplusplus
}
#endif
#endif
