/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_EXPORTS_JOBS_CSV_H
#define HR_REPORT_EXPORTS_JOBS_CSV_H

/* The CSV file of jobs, for callers that write several files and commit them together. */

#include "base/writers.h"
#include "headroom/report.h"

/* Opens the file and writes the rows that hr_jobs_write writes. After HR_OK, the caller commits or abandons `csv`. */
enum hr_status hr__jobs_open(const char *path, const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                             const struct hr_result *result, const struct hr_placements *placements,
                             const struct hr_ledger *ledger, struct hr__csv_out *csv, struct hr_error *error);

#endif
