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

#include "headroom/unstable/experiments.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

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
