/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_CHECK_H
#define HEADROOM_UNSTABLE_CHECK_H

/*
 * Runs held against what they gave before: a suite of runs, a baseline that a check wrote, and what differs.
 *
 * A baseline has for each run its figures, the digest of all that happened, and what lets the first decision that
 * differs be found. Runs are deterministic, so unless a tolerance says otherwise every figure has to be the same as it
 * is printed, and so has the digest. Runs with replications are judged by the intervals of their figures.
 * docs/ci/check.md says it at length.
 */

#include "headroom/unstable/replications.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What is allowed -------------------------------------------------------------------------------- */

/* Which way of a figure is for the worse. */
#define HR_WORSE_TABLE(X)                                                                                              \
  X(HR_WORSE_EITHER, "either")                                                                                         \
  X(HR_WORSE_HIGHER, "higher")                                                                                         \
  X(HR_WORSE_LOWER, "lower")

enum hr_worse {
#define HR_WORSE_NAME(name, text) name,
  HR_WORSE_TABLE(HR_WORSE_NAME)
#undef HR_WORSE_NAME
      HR_WORSE_UNSAID /* either, or under only_worse what is known of the figure */
};

/* What a figure may differ by: the larger of the two. */
struct hr_tolerance {
  struct hr_placed_text figure; /* "wait_s.p95", "wait_s.p95 of inference"; "*": of any that no other names */
  double relative, absolute;
  enum hr_worse worse;
};

struct hr_tolerances {
  struct hr_tolerance *at;
  size_t count;
  bool only_worse;                 /* what is for the better never fails */
  bool said_only_worse;            /* which of a run goes before that of its suite */
  bool exact_digest, loose_digest; /* said; neither: exact where no tolerance is given and nothing is replicated */
};

/* ---- Suites ----------------------------------------------------------------------------------------- */

struct hr_suite_run {
  char *name;      /* no two are the same */
  char *scenario;  /* path, resolved against the suite's folder */
  char *trace;     /* likewise; NULL: the scenario's */
  char **policies; /* each makes a run of its own, "NAME/POLICY"; none: the scenario's */
  size_t n_policies;
  char **set; /* overrides, as hr_scenario_load takes them */
  size_t n_set;
  struct hr_tolerances tolerances; /* before the suite's */
};

struct hr_suite {
  char *path;
  struct hr_suite_run *runs;
  size_t n_runs;
  struct hr_tolerances tolerances;
};

/* Whether a JSON file is a suite and no scenario: it has `runs`. */
HR_API enum hr_status hr_suite_recognise(const char *path, bool *is_suite, struct hr_error *error);
/* Reads and validates a suite; its scenarios are not looked at. Errors name file, line and column. */
HR_API enum hr_status hr_suite_load(const char *path, struct hr_suite **suite, struct hr_error *error);
/* A suite of one run, of a scenario under overrides, called by the file's name without its end. `trace` may be NULL. */
HR_API enum hr_status hr_suite_of_scenario(const char *path, const char *trace, const char *const *overrides,
                                           size_t n_overrides, struct hr_suite **suite, struct hr_error *error);
/* One more tolerance for all runs: "wait_s.p95=2%", or "monthly_usd=100" in the figure's unit. Errors begin with
   "--tolerance TEXT: ". */
HR_API enum hr_status hr_suite_add_tolerance(struct hr_suite *suite, const char *text, struct hr_error *error);
HR_API void hr_suite_set_only_worse(struct hr_suite *suite);
HR_API void hr_suite_destroy(struct hr_suite *suite);

/* ---- Baselines -------------------------------------------------------------------------------------- */

enum { HR_BASELINE_FORMAT = 1, HR_MOST_BASELINE_BYTES = 1 << 24 };

/* Of what part of a run a figure is. */
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
  char *group; /* a class, tenant or pool; NULL: of the run */
  enum hr_figure_of of;
  double value;     /* rounded as it is printed */
  double low, high; /* of replicated runs that were just made: its interval; NAN otherwise */
  double *samples;  /* of replicated runs: by replication; NULL where one does not know it */
  uint32_t n_samples;
};

/* A file that a run read: its name without folders, and a digest of its bytes. */
struct hr_baseline_input {
  char *name;
  uint64_t digest;
};

/* A run as a baseline keeps it. */
struct hr_baseline_run {
  char *name, *policy; /* the policy with its parameters */
  char *trace;         /* the file's name without folders */
  uint64_t seed, trace_digest, digest;
  struct hr_baseline_input *inputs; /* all others but the trace */
  size_t n_inputs;
  uint32_t replications; /* 0: it is no replicated run */
  struct hr_baseline_figure *figures;
  size_t n_figures;
  /* Of single runs. After every `spacing` decisions two characters that depend on all that happened before. */
  uint64_t decisions, spacing;
  char *chain;
  char *starts; /* of the first jobs, coded; NULL of replicated runs */
  uint32_t n_jobs;
};

struct hr_baseline {
  char *path, *version; /* of the program that wrote it */
  struct hr_baseline_run *runs;
  size_t n_runs;
};

/* Reads and validates a baseline. */
HR_API enum hr_status hr_baseline_load(const char *path, struct hr_baseline **baseline, struct hr_error *error);
/* Whether a file that cannot be read as a baseline was meant to be one. */
HR_API bool hr_baseline_recognise(const char *path);
HR_API void hr_baseline_destroy(struct hr_baseline *baseline);
HR_API void hr_baseline_run_finish(struct hr_baseline_run *run);

/* ---- Checks ----------------------------------------------------------------------------------------- */

/* All of it is borrowed, and must live as long as the check. */
struct hr_check_config {
  const struct hr_suite *suite;
  const struct hr_baseline *baseline; /* NULL: there is none yet, and all runs are new */
  const char *baseline_path;          /* as it was given, for what is told */
  uint32_t n_threads;
  struct hr_progress progress; /* jobs of all runs; told from any thread, one at a time */
};

/* Runs all, on threads, and compares; results do not depend on how many. */
struct hr_check;
HR_API enum hr_status hr_check(const struct hr_check_config *config, struct hr_check **check, struct hr_error *error);
HR_API void hr_check_destroy(struct hr_check *check);

/* Whether nothing failed; runs that failed, and runs in all, those that only the baseline has counted in. */
HR_API bool hr_check_passed(const struct hr_check *check);
HR_API size_t hr_check_failures(const struct hr_check *check);
HR_API size_t hr_check_runs(const struct hr_check *check);
/* What a person should know of it. */
HR_API const struct hr_notes *hr_check_notes(const struct hr_check *check);

/* Writes the runs that were made as a baseline (docs/reference/schemas/baseline.schema.json). */
HR_API enum hr_status hr_check_write_baseline(const char *path, const struct hr_check *check, struct hr_error *error);

/* What moved, 80 columns wide. `updating`: it is now the baseline. */
HR_API enum hr_status hr_check_print(FILE *out, const struct hr_check *check, bool updating, bool colour);
/* An annotation for each run that failed, as GitHub's workflow commands. */
HR_API enum hr_status hr_check_annotate(FILE *out, const struct hr_check *check);
/* Files; `path` "-" is standard output. JSON: docs/reference/schemas/check-result.schema.json. JUnit: a test case for
 * each run. */
HR_API enum hr_status hr_check_write_json(const char *path, const struct hr_check *check, struct hr_error *error);
HR_API enum hr_status hr_check_write_junit(const char *path, const struct hr_check *check, struct hr_error *error);
HR_API enum hr_status hr_check_write_markdown(const char *path, const struct hr_check *check, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
