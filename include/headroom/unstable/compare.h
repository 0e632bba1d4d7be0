/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_COMPARE_H
#define HEADROOM_UNSTABLE_COMPARE_H

/* Functions that execute several runs and compare their results: comparisons of policies, differences of two scenarios,
   checks against a baseline, and sweeps. */

#include "headroom/base.h"
#include "headroom/report.h"
#include "headroom/scenario.h"
#include "headroom/sim.h"
#include "headroom/unstable/experiments.h"

#include <stdio.h>

struct hr_ranks;

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Comparisons --------------------------------------------------------------------------------------- */

/*
 * Comparison of policies on the same trace with the same random events.
 *
 * Replication r runs each policy with the seed hr_replication_seed(seed, r), where `seed` is the seed of the scenario.
 * Random draws do not depend on the decisions of policies, so all policies have the same interruptions, boot times and
 * prices (common random numbers). Differences of metrics are computed within each replication. The mean difference has
 * a 95 % confidence interval from Student's t over replications. Replication 0 is identical to the run of `headroom
 * run`. docs/researcher/compare.md has the details.
 */

/* Returns the seed of a replication. For replication 0, this is `seed`. For all other replications, it consists of 53
   random bits that are drawn with `seed`. */
HR_API uint64_t hr_replication_seed(uint64_t seed, uint32_t replication);

/* A policy to compare. */
struct hr_contender {
  const char *name;  /* name as the user wrote it */
  const char *label; /* name with parameters, or a label that the user chose; labels are distinct */
  const struct hr_policy_choice *policy;
  bool labelled; /* the user chose the label, so the output never shortens it */
};

/* The input of a comparison. Everything is borrowed and must outlive the comparison. */
struct hr_compare_config {
  const struct hr_scenario *scenario; /* the scenario's policy is ignored */
  /* overrides with which the scenario was loaded; if prices are random, the scenario is loaded again for each seed */
  const char *const *overrides;
  size_t n_overrides;
  const struct hr_trace *trace;
  const struct hr_contender *contenders; /* [n_contenders]; differences are relative to the first policy */
  uint32_t n_contenders;                 /* at least 1 */
  /* Number of replications. 0: the number is determined by the first of these rules that applies:
     1. If nothing is random, it is 1. Nothing is random if three conditions are true: the scenario uses no random
        numbers (hr_scenario_is_random); no policy is known to use them (hr_policy_choice_draws); and workloads are not
        redrawn.
     2. If the scenario specifies `replications.count`, it is this count.
     3. In all other cases, it is HR_DEFAULT_MIN_REPLICATIONS.
     A number above 1 is an error if nothing is random and no policy is from a shared object. */
  uint32_t n_replications;
  /* [n_contenders]: for each policy, the path of a CSV file of the jobs in replication 0; NULL: no such files. The
     files appear at these paths when hr_comparison_commit_jobs is called */
  const char *const *jobs;
  uint32_t n_threads;          /* at least 1 */
  struct hr_ranks *ranks;      /* ranks of an MPI job that share the runs (headroom/unstable/replay.h); NULL: none */
  struct hr_progress progress; /* counts jobs of all runs; called from any thread, but not concurrently */
};

/* Executes all policies and replications on `n_threads` threads. Results do not depend on the number of threads. If the
   scenario redraws its workload (`replications.workload`), replication r of every policy has the workload that
   `headroom run --replications` draws for replication r. If a run fails, the comparison fails and `error` names the
   policy. Returns HR_BAD_INPUT for an invalid number of policies, threads or replications, and if every cluster of the
   scenario has its own policy. The caller frees `*comparison` with hr_comparison_destroy. If ranks share the runs, all
   ranks make the same call, and only the comparison of rank 0 has results. */
struct hr_comparison;
HR_API enum hr_status hr_compare(const struct hr_compare_config *config, struct hr_comparison **comparison,
                                 struct hr_error *error);
HR_API void hr_comparison_destroy(struct hr_comparison *comparison);

/* A metric of one policy, compared with the first policy. NAN: unknown. */
struct hr_estimate {
  double value; /* mean over replications */
  /* difference: mean of (value - value of the first policy). low, high: confidence interval of this mean. If nothing is
     random, low and high are equal to the difference. If something is random, but only one replication was made or all
     replications of both policies are identical, low and high are NAN */
  double difference, low, high;
  bool significant; /* the confidence interval excludes 0; false if no interval exists */
};

/* Returns the estimate of a metric for a policy. `contender` is the index of the policy in the configuration. `metric`:
   the name of a CSV column, such as "wait_mean_s". All values are NAN if the name is unknown or if no run has the
   metric. */
HR_API struct hr_estimate hr_comparison_estimate(const struct hr_comparison *comparison, uint32_t contender,
                                                 const char *metric);
/* Returns the summary of replication 0 of a policy. `contender` is the index of the policy in the configuration. The
   summary belongs to the comparison. */
HR_API const struct hr_summary *hr_comparison_summary(const struct hr_comparison *comparison, uint32_t contender);
/* Returns the trace of replication 0. If workloads are redrawn, this is a trace that belongs to the comparison. If they
   are not redrawn, it is the trace of the configuration. */
HR_API const struct hr_trace *hr_comparison_trace(const struct hr_comparison *comparison);
/* Renames the files of jobs to their final names (`jobs` of the configuration). If this function is not called, no file
   of jobs appears. */
HR_API enum hr_status hr_comparison_commit_jobs(struct hr_comparison *comparison, struct hr_error *error);
/* Returns notes for the user on the runs and on the comparison. They belong to the comparison. */
HR_API const struct hr_notes *hr_comparison_notes(const struct hr_comparison *comparison);

/* Prints the comparison as a table, 80 columns wide. `perf`: time and memory of the program; its sim_s is the sum over
   all runs. NULL: not printed. `colour`: use colours of the terminal. */
HR_API enum hr_status hr_comparison_print(FILE *out, const struct hr_comparison *comparison, const struct hr_perf *perf,
                                          bool colour);
/* The three functions hr_comparison_write_* write the comparison to a file; `path` "-" is standard output. JSON: see
   docs/reference/schemas/compare.schema.json. CSV: one row per policy, group and metric. */
HR_API enum hr_status hr_comparison_write_json(const char *path, const struct hr_comparison *comparison,
                                               const struct hr_perf *perf, struct hr_error *error);
/* Returns the comparison as JSON text, which the caller frees with free(); NULL if memory is exhausted. */
HR_API char *hr_comparison_json(const struct hr_comparison *comparison, const struct hr_perf *perf);
HR_API enum hr_status hr_comparison_write_csv(const char *path, const struct hr_comparison *comparison,
                                              struct hr_error *error);
HR_API enum hr_status hr_comparison_write_markdown(const char *path, const struct hr_comparison *comparison,
                                                   struct hr_error *error);

/* ---- Differences of two scenarios ------------------------------------------------------------------------ */

/*
 * The effect of a change: two scenarios, A and B, are run on the same trace with the same seed. The result has the keys
 * in which the scenarios differ, waits by queue, metrics, and the first scheduling decision that differs.
 * docs/reference/diff.md has the details.
 */

/* One of the two scenarios. Everything is borrowed and must outlive the result. */
struct hr_diff_side {
  const char *label; /* for output: the path as the user wrote it */
  const struct hr_scenario *scenario;
  const char *const *overrides; /* overrides with which the scenario was loaded */
  size_t n_overrides;
  /* the jobs. Both sides must have the same number of jobs with equal submit times. Other fields, such as classes, may
     differ if the scenarios read the trace in different ways */
  const struct hr_trace *trace;
};

/* The input of a diff. */
struct hr_diff_config {
  struct hr_diff_side sides[2]; /* A and B */
  uint64_t seed;                /* of both runs */
  uint32_t n_threads;
  struct hr_progress progress; /* counts jobs of both runs; called from any thread, but not concurrently */
};

/* Runs both scenarios and compares the results. The result does not depend on the number of threads. If a run fails,
   `error` names its scenario. Returns HR_BAD_INPUT if the traces do not match. The caller frees `*diff` with
   hr_diff_destroy. */
struct hr_diff;
HR_API enum hr_status hr_diff(const struct hr_diff_config *config, struct hr_diff **diff, struct hr_error *error);
HR_API void hr_diff_destroy(struct hr_diff *diff);
/* Returns notes for the user on the runs. */
HR_API const struct hr_notes *hr_diff_notes(const struct hr_diff *diff);
/* Returns the rejected jobs of a side: 0 (A) or 1 (B). */
HR_API const struct hr_rejections *hr_diff_rejections(const struct hr_diff *diff, unsigned side);
/* Prints the differences, 80 columns wide. `colour`: use colours of the terminal. */
HR_API enum hr_status hr_diff_print(FILE *out, const struct hr_diff *diff, bool colour);
/* Writes the differences as JSON (docs/reference/schemas/diff.schema.json); `path` "-" is standard output. `perf`: time
   and memory of the program; may be NULL. */
HR_API enum hr_status hr_diff_write_json(const char *path, const struct hr_diff *diff, const struct hr_perf *perf,
                                         struct hr_error *error);

/* ---- Checks -------------------------------------------------------------------------------------------- */

/*
 * Regression checks: the runs of a suite are compared with a baseline.
 *
 * For each run, a baseline has the metrics, the digest of the events, and data with which the first different
 * scheduling decision can be found. The tolerances of the suite and of the run determine which differences are failures
 * (struct hr_tolerances). Replicated runs are compared by confidence intervals. A run also fails if it misses a goal.
 * docs/ci/check.md has the details.
 */

/* ---- Checks ---- */

/* The input of a check. Everything is borrowed and must outlive the check. */
struct hr_check_config {
  const struct hr_suite *suite;
  const struct hr_baseline *baseline; /* NULL: no baseline exists, so all runs are new */
  const char *baseline_path;          /* path as the user wrote it, for output */
  bool updating;                      /* the caller will write a new baseline; the output then mentions it */
  uint32_t n_threads;
  struct hr_progress progress; /* counts jobs of all runs; called from any thread, but not concurrently */
};

/* Executes all runs on `n_threads` threads and compares them with the baseline. Results do not depend on the number of
   threads. The caller frees `*check` with hr_check_destroy. */
struct hr_check;
HR_API enum hr_status hr_check(const struct hr_check_config *config, struct hr_check **check, struct hr_error *error);
HR_API void hr_check_destroy(struct hr_check *check);

/* hr_check_failures returns the number of failed runs. hr_check_runs returns the number of all runs, including runs
   that only the baseline has. hr_check_passed returns true if no run failed. */
HR_API size_t hr_check_failures(const struct hr_check *check);
HR_API size_t hr_check_runs(const struct hr_check *check);
/* Returns the sum over all runs of the number of goals that the run misses. */
HR_API size_t hr_check_missed_goals(const struct hr_check *check);
/* Writes the number of metrics outside their tolerance and the number of missed goals, over all runs, to `text` of
   `size` bytes: "4 figures outside tolerance, 1 goal missed". Counts of 0 are omitted. */
HR_API void hr_check_failure_text(const struct hr_check *check, char *text, size_t size);
static inline bool hr_check_passed(const struct hr_check *check) {
  return hr_check_failures(check) == 0;
}
/* Returns notes for the user. */
HR_API const struct hr_notes *hr_check_notes(const struct hr_check *check);

/* Writes the runs of the suite as a baseline (docs/reference/schemas/baseline.schema.json). Returns HR_BAD_INPUT if the
   file would exceed HR_MAX_BASELINE_BYTES. */
HR_API enum hr_status hr_check_write_baseline(const char *path, const struct hr_check *check, struct hr_error *error);

/* Prints the differences, 80 columns wide. `colour`: use colours of the terminal. */
HR_API enum hr_status hr_check_print(FILE *out, const struct hr_check *check, bool colour);
/* Prints an annotation for each failed run, in the format of GitHub workflow commands. */
HR_API enum hr_status hr_check_annotate(FILE *out, const struct hr_check *check);
/* The three functions below write the result to a file; `path` "-" is standard output. JSON: see
   docs/reference/schemas/check-result.schema.json. JUnit: one test case per run. */
HR_API enum hr_status hr_check_write_json(const char *path, const struct hr_check *check, struct hr_error *error);
HR_API enum hr_status hr_check_write_junit(const char *path, const struct hr_check *check, struct hr_error *error);
HR_API enum hr_status hr_check_write_markdown(const char *path, const struct hr_check *check, struct hr_error *error);

/* ---- Sweeps -------------------------------------------------------------------------------------------- */

/*
 * Sweeps: runs of a scenario with many settings. The results are stored in a SQLite file.
 *
 * A grid has axes. A point has one level of each axis. The design determines the points: all combinations, or a sample.
 * A point without randomness is run once. Other points are run as many times as `replications` of the grid specifies.
 * Replication r has the seed hr_replication_seed(seed, r), where `seed` is the seed of the point's scenario. Runs are
 * numbered from 0: first all runs of the first point, then all runs of the second point, and so on.
 *
 * A sweep executes the runs that the file does not have, and stores each run when it ends. Therefore a sweep can be
 * interrupted at any time and resumed. When all runs are stored, the bytes of the file depend only on the grid, on the
 * files that the grid reads, and on the version of Headroom. docs/researcher/sweep.md has the details.
 */

/* ---- Sweeps ---- */

/* The maximum of n_shards on the command line. */
#define HR_MAX_SHARDS 100000

/* The input of a sweep. Everything is borrowed. */
struct hr_sweep_config {
  const char *grid;  /* path of the grid file */
  const char *file;  /* path of the SQLite file, which is created if it does not exist */
  uint64_t max_runs; /* maximum number of runs of the grid; 0: as specified in the grid */
  /* execute only the runs i with i % n_shards == shard - 1; both 0: all runs */
  uint32_t shard, n_shards;
  uint32_t n_threads;          /* number of threads of this process, at least 1 */
  struct hr_ranks *ranks;      /* ranks of an MPI job that share the runs; NULL: none */
  struct hr_progress progress; /* counts the executed runs; called from one thread at a time */
};

/* The numbers of runs of a sweep. */
struct hr_sweep_counts {
  uint64_t points, runs;  /* of the whole grid */
  uint64_t before, now;   /* before: number of runs that the file already had; now: number of runs that were added */
  uint64_t missing;       /* number of runs that the file still does not have */
  uint64_t first_missing; /* number of the first missing run; 0 if no run is missing */
  struct hr_notes notes;  /* notes for the user; free them with hr_notes_finish */
};

/*
 * Executes the runs of the shard that the file does not have. All scenarios and traces are read before the first run.
 * If a run fails, the sweep fails and `error` names the run; completed runs remain in the file. If the file is not a
 * sweep file, or is the file of a different sweep, returns HR_BAD_INPUT and does not change the file.
 *
 * If ranks share the runs (headroom/unstable/replay.h), all of them make the same call. Only rank 0 writes the file and
 * sets `*counts` and `error`.
 */
HR_API enum hr_status hr_sweep(const struct hr_sweep_config *config, struct hr_sweep_counts *counts,
                               struct hr_error *error);

/* Copies the runs of the files `shards` into `file`. All shards must be of the same sweep, and `file` must not be one
   of them. Runs that `file` already has remain in the file. Sets `before` of `*counts` to 0, and `now` to the number
   of runs that `file` has afterwards. Returns HR_BAD_INPUT if the files are of different sweeps or have different
   results for a run. */
HR_API enum hr_status hr_sweep_merge(const char *file, const char *const *shards, size_t n_shards,
                                     struct hr_sweep_counts *counts, struct hr_error *error);

/* Prints a summary of the sweep, 80 columns wide. The summary has the points that cannot be simulated and, for a few
   metrics, the best and the worst points. `colour`: use colours of the terminal. */
HR_API enum hr_status hr_sweep_print(FILE *out, const char *file, const struct hr_sweep_counts *counts, bool colour,
                                     struct hr_error *error);
/* Writes the runs of the file as CSV. `path` "-" is standard output. */
HR_API enum hr_status hr_sweep_write_csv(const char *path, const char *file, struct hr_error *error);
/* Sets `*text` to the settings and metrics of the runs as JSON for an HTML report (docs/reference/report-data.md). If
   the file has more than 3,000 runs, `*text` has the settings and mean metrics of points instead. If the file also has
   more than 3,000 points, `*text` has only a selection of the points. The caller frees `*text` with free(). */
HR_API enum hr_status hr_sweep_json(const char *file, char **text, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
