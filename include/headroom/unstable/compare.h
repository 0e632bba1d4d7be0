/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_COMPARE_H
#define HEADROOM_UNSTABLE_COMPARE_H

/* Runs that are compared with each other: comparisons of policies, differences of two scenarios, checks against a
   baseline, and sweeps. */

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
 * Replication r runs each policy with the seed hr_replication_seed(seed, r). Random draws do not depend on the
 * decisions of policies, so all policies have the same interruptions, boot times and prices (common random numbers).
 * Differences of metrics are computed within each replication. The mean difference has a 95 % confidence interval from
 * Student's t over replications. Replication 0 is identical to the run of `headroom run`. docs/researcher/compare.md
 * has the details.
 */

/* Returns the seed of a replication: `seed` itself for replication 0, otherwise 53 random bits drawn with `seed`. */
HR_API uint64_t hr_replication_seed(uint64_t seed, uint32_t replication);

/* A policy to compare. */
struct hr_contender {
  const char *name;  /* name as the user wrote it */
  const char *label; /* name with parameters, or a label of the user; labels are distinct */
  const struct hr_policy_choice *policy;
  bool labelled; /* the user chose the label, so parts of it that all policies have are not removed */
};

/* The input. Everything is borrowed and must outlive the comparison. */
struct hr_compare_config {
  const struct hr_scenario *scenario; /* the scenario's policy is ignored */
  /* overrides with which the scenario was loaded; if prices are random, the scenario is loaded again for each seed */
  const char *const *overrides;
  size_t n_overrides;
  const struct hr_trace *trace;
  const struct hr_contender *contenders; /* [n_contenders]; differences are relative to the first one */
  uint32_t n_contenders;
  /* 0: the number of the scenario (`replications.count`), otherwise HR_DEFAULT_MIN_REPLICATIONS; one if nothing is
     random. More than one is an error if neither the scenario nor any policy uses random numbers and workloads are not
     redrawn. */
  uint32_t n_replications;
  /* [n_contenders]: paths of the CSV files of the jobs of each policy in replication 0, written by
     hr_comparison_commit_jobs; NULL: none */
  const char *const *jobs;
  uint32_t n_threads;
  struct hr_ranks *ranks;      /* ranks of an MPI job that share the runs; NULL: none. All ranks make the same call */
  struct hr_progress progress; /* counts jobs of all runs; called from any thread, but not concurrently */
};

/* If the scenario redraws its workload (`replications.workload`), replication r of every policy has the workload that
   `headroom run --replications` draws for replication r. Executes all policies and replications on `n_threads` threads.
   Results do not depend on the number of threads. If a run fails, the comparison fails and `error` names the policy.
   The caller frees `*comparison` with hr_comparison_destroy. */
struct hr_comparison;
HR_API enum hr_status hr_compare(const struct hr_compare_config *config, struct hr_comparison **comparison,
                                 struct hr_error *error);
HR_API void hr_comparison_destroy(struct hr_comparison *comparison);

/* A metric of one policy, compared with the first policy. NAN: unknown. */
struct hr_estimate {
  double value; /* mean over replications */
  /* difference: mean of (value - value of the first policy); low, high: confidence interval of this mean. If nothing is
     random, the interval has width 0. If all replications of both policies are identical, no interval exists */
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
/* Returns the trace of replication 0, which differs from that of the configuration if workloads are redrawn. It belongs
   to the comparison or to the caller. */
HR_API const struct hr_trace *hr_comparison_trace(const struct hr_comparison *comparison);
/* Renames the files of jobs to their final names, if the configuration has any. */
HR_API enum hr_status hr_comparison_commit_jobs(struct hr_comparison *comparison, struct hr_error *error);
/* Returns notes on the runs and on the comparison. */
HR_API const struct hr_notes *hr_comparison_notes(const struct hr_comparison *comparison);

/* Prints the comparison as a table, 80 columns wide. `perf` may be NULL; its sim_s is the sum over all runs. */
HR_API enum hr_status hr_comparison_print(FILE *out, const struct hr_comparison *comparison, const struct hr_perf *perf,
                                          bool colour);
/* Write the comparison to a file; `path` "-" is standard output. JSON: see docs/reference/schemas/compare.schema.json.
   CSV: one row per policy, group and metric. */
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
 * The effect of a change: two scenarios, A and B, on the same trace with the same seed. Shows the keys in which the
 * scenarios differ, waits by queue, metrics, and the first scheduling decision that differs. docs/reference/diff.md has
 * the details.
 */

/* A scenario of the comparison. Everything is borrowed and must outlive the result. */
struct hr_diff_side {
  const char *label; /* for output: the path as the user wrote it */
  const struct hr_scenario *scenario;
  const char *const *overrides; /* overrides with which the scenario was loaded */
  size_t n_overrides;
  /* the jobs. Both sides must have jobs with equal submit times; other fields, such as classes, may differ if the
     scenarios read the trace in different ways */
  const struct hr_trace *trace;
};

struct hr_diff_config {
  struct hr_diff_side sides[2]; /* A and B */
  uint64_t seed;                /* of both runs */
  uint32_t n_threads;
  struct hr_progress progress; /* counts jobs of both runs; called from any thread, but not concurrently */
};

/* Runs both scenarios and compares the results. The result does not depend on the number of threads. If a run fails,
   `error` names its side. The caller frees `*diff` with hr_diff_destroy. */
struct hr_diff;
HR_API enum hr_status hr_diff(const struct hr_diff_config *config, struct hr_diff **diff, struct hr_error *error);
HR_API void hr_diff_destroy(struct hr_diff *diff);
/* Returns notes on the runs. */
HR_API const struct hr_notes *hr_diff_notes(const struct hr_diff *diff);
/* Returns the rejected jobs of a side: 0 (A) or 1 (B). */
HR_API const struct hr_rejections *hr_diff_rejections(const struct hr_diff *diff, unsigned side);
/* Prints the differences, 80 columns wide. */
HR_API enum hr_status hr_diff_print(FILE *out, const struct hr_diff *diff, bool colour);
/* Writes the differences as JSON (docs/reference/schemas/diff.schema.json); `path` "-" is standard output. */
HR_API enum hr_status hr_diff_write_json(const char *path, const struct hr_diff *diff, const struct hr_perf *perf,
                                         struct hr_error *error);

/* ---- Checks -------------------------------------------------------------------------------------------- */

/*
 * Regression checks: the runs of a suite are compared with a baseline.
 *
 * For each run, a baseline has the metrics, the digest of the events, and data with which the first different
 * scheduling decision can be found. Runs are deterministic. Therefore, unless a tolerance is set, the printed metrics
 * must be equal and the digests must be equal. Replicated runs are compared by confidence intervals. docs/ci/check.md
 * has the details.
 */

/* ---- Checks ---- */

/* The input. Everything is borrowed and must outlive the check. */
struct hr_check_config {
  const struct hr_suite *suite;
  const struct hr_baseline *baseline; /* NULL: no baseline exists, so all runs are new */
  const char *baseline_path;          /* path as the user wrote it, for output */
  bool updating;                      /* the caller writes the baseline: all output says so */
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
/* Returns how many goals are missed, by all runs together. */
HR_API size_t hr_check_missed_goals(const struct hr_check *check);
/* Writes how many figures of all runs are outside tolerance and how many goals are missed to `text` of `size` bytes:
   "4 figures outside tolerance, 1 goal missed". Counts of 0 are left out. */
HR_API void hr_check_failure_text(const struct hr_check *check, char *text, size_t size);
static inline bool hr_check_passed(const struct hr_check *check) {
  return hr_check_failures(check) == 0;
}
/* Returns notes for the user. */
HR_API const struct hr_notes *hr_check_notes(const struct hr_check *check);

/* Writes the runs as a baseline (docs/reference/schemas/baseline.schema.json). */
HR_API enum hr_status hr_check_write_baseline(const char *path, const struct hr_check *check, struct hr_error *error);

/* Prints the differences, 80 columns wide. */
HR_API enum hr_status hr_check_print(FILE *out, const struct hr_check *check, bool colour);
/* Prints an annotation for each failed run, in the form of GitHub workflow commands. */
HR_API enum hr_status hr_check_annotate(FILE *out, const struct hr_check *check);
/* Write the result to a file; `path` "-" is standard output. JSON: see docs/reference/schemas/check-result.schema.json.
   JUnit: one test case per run. */
HR_API enum hr_status hr_check_write_json(const char *path, const struct hr_check *check, struct hr_error *error);
HR_API enum hr_status hr_check_write_junit(const char *path, const struct hr_check *check, struct hr_error *error);
HR_API enum hr_status hr_check_write_markdown(const char *path, const struct hr_check *check, struct hr_error *error);

/* ---- Sweeps -------------------------------------------------------------------------------------------- */

/*
 * Sweeps: runs of a scenario with many settings. The results are stored in a SQLite file.
 *
 * A grid has axes. A point has one level of each axis. The design determines the points: all combinations, or a sample.
 * A point without randomness is run once. A random point has `replications` runs, as many as the grid specifies.
 * Replication r has the seed hr_replication_seed(seed, r), where `seed` is the seed of the point's scenario. Runs are
 * numbered from 0: first all runs of the first point, then all runs of the second point, and so on.
 *
 * At any time, the file contains the runs that have been stored so far. A sweep executes the missing runs and stores
 * each run when it ends. Therefore a sweep can be interrupted at any time and resumed. When all runs are stored, the
 * bytes of the file depend only on the grid, on the files that the grid reads, and on the version of Headroom.
 * docs/researcher/sweep.md has the details.
 */

/* ---- Sweeps ---- */

#define HR_MAX_SHARDS 100000

/* The input. Everything is borrowed. */
struct hr_sweep_config {
  const char *grid;            /* path of the grid file */
  const char *file;            /* path of the SQLite file, which is created if it does not exist */
  uint64_t max_runs;           /* replaces the limit of the grid; 0: the limit of the grid */
  uint32_t shard, n_shards;    /* execute the runs i with i modulo n_shards = shard - 1; both 0: all runs */
  uint32_t n_threads;          /* number of threads of this process */
  struct hr_ranks *ranks;      /* ranks of an MPI job that share the runs; NULL: none */
  struct hr_progress progress; /* counts the executed runs; called from one thread at a time */
};

/* The numbers of runs of a sweep. */
struct hr_sweep_counts {
  uint64_t points, runs;  /* of the whole grid */
  uint64_t before, now;   /* before: number of runs that the file already had; now: number of runs that were added */
  uint64_t missing;       /* number of runs that the file still does not have */
  uint64_t first_missing; /* index of the first missing run */
  struct hr_notes notes;  /* notes for the user; free them with hr_notes_finish */
};

/*
 * Executes the runs of the shard that the file does not have. All scenarios and traces are read before the first run.
 * If a run fails, the sweep fails and `error` names the run; completed runs stay in the file. If the file is not a
 * sweep file, or is the file of a different sweep, returns HR_BAD_INPUT and does not change the file.
 *
 * If ranks share the runs (headroom/unstable/replay.h), all of them make the same call. Only rank 0 writes the file and
 * sets `*counts` and `error`.
 */
HR_API enum hr_status hr_sweep(const struct hr_sweep_config *config, struct hr_sweep_counts *counts,
                               struct hr_error *error);

/* Copies the runs of the files `shards`, which must be of one sweep, into `file`, which must not be among them. If
   `file` already has runs, they stay in the file. Sets `before` of `*counts` to 0 and `now` to the number of runs
   found. Returns HR_BAD_INPUT if the files are of different sweeps or have different results for a run. */
HR_API enum hr_status hr_sweep_merge(const char *file, const char *const *shards, size_t n_shards,
                                     struct hr_sweep_counts *counts, struct hr_error *error);

/* Prints a summary of the sweep, 80 columns wide. For a few metrics, it also prints the best and the worst points. */
HR_API enum hr_status hr_sweep_print(FILE *out, const char *file, const struct hr_sweep_counts *counts, bool colour,
                                     struct hr_error *error);
/* Writes the runs of the file as CSV. `path` "-" is standard output. */
HR_API enum hr_status hr_sweep_write_csv(const char *path, const char *file, struct hr_error *error);
/* Sets `*text` to the runs of the file as JSON for an HTML report (docs/reference/report-data.md): settings and
   metrics. If there are very many points, only a selection is included. The caller frees `*text` with free(). */
HR_API enum hr_status hr_sweep_json(const char *file, char **text, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
