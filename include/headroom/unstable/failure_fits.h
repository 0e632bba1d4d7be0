/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_FAILURE_FITS_H
#define HEADROOM_UNSTABLE_FAILURE_FITS_H

/* Distributions of the intervals of a log of failures, fitted by maximum likelihood. */

#include "headroom/report.h"
#include "headroom/unstable/failures.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fits distributions to the intervals of a log, and prints a table, or writes JSON to `path` ("-": standard output).
   `system`: the name of the only group to fit, or "all" for the intervals of all groups together; NULL: each group, and
   if there are several, also all together. */
HR_API enum hr_status hr_failure_fits_print(FILE *out, const char *source, const struct hr_failure_log *log,
                                            const char *system, struct hr_error *error);
HR_API enum hr_status hr_failure_fits_write_json(const char *path, const char *source, const struct hr_failure_log *log,
                                                 const char *system, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
