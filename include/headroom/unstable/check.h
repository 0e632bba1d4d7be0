/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_CHECK_H
#define HEADROOM_UNSTABLE_CHECK_H

/*
 * Regression checks: the runs of a suite are compared with a baseline.
 *
 * For each run, a baseline has the metrics, the digest of the events, and data with which the first different
 * scheduling decision can be found. Runs are deterministic. Therefore, unless a tolerance is set, the printed metrics
 * must be equal and the digests must be equal. Replicated runs are compared by confidence intervals. docs/ci/check.md
 * has the details.
 */

#include "headroom/unstable/experiments.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Checks ---- */

/* The input. Everything is borrowed and must outlive the check. */
struct hr_check_config {
  const struct hr_suite *suite;
  const struct hr_baseline *baseline; /* NULL: no baseline exists, so all runs are new */
  const char *baseline_path;          /* path as the user wrote it, for output */
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
static inline bool hr_check_passed(const struct hr_check *check) {
  return hr_check_failures(check) == 0;
}
/* Returns notes for the user. */
HR_API const struct hr_notes *hr_check_notes(const struct hr_check *check);

/* Writes the runs as a baseline (docs/reference/schemas/baseline.schema.json). */
HR_API enum hr_status hr_check_write_baseline(const char *path, const struct hr_check *check, struct hr_error *error);

/* Prints the differences, 80 columns wide. `updating`: the text states that the baseline was updated. */
HR_API enum hr_status hr_check_print(FILE *out, const struct hr_check *check, bool updating, bool colour);
/* Prints an annotation for each failed run, in the form of GitHub workflow commands. */
HR_API enum hr_status hr_check_annotate(FILE *out, const struct hr_check *check);
/* Write the result to a file; `path` "-" is standard output. JSON: see docs/reference/schemas/check-result.schema.json.
   JUnit: one test case per run. */
HR_API enum hr_status hr_check_write_json(const char *path, const struct hr_check *check, struct hr_error *error);
HR_API enum hr_status hr_check_write_junit(const char *path, const struct hr_check *check, struct hr_error *error);
HR_API enum hr_status hr_check_write_markdown(const char *path, const struct hr_check *check, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
