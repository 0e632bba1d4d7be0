/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_OPENMETRICS_H
#define HR_REPORT_OPENMETRICS_H

/* The parts of the metrics of a run: what GPUs do, what becomes of jobs, the cluster as a whole. */

#include "report/metrics.h"

/* HR_NO_MEMORY or HR_OK. */
enum hr_status hr__metrics_of_gpus(struct hr__metrics *metrics);
enum hr_status hr__metrics_of_jobs(struct hr__metrics *metrics);
void hr__metrics_of_cluster(struct hr__metrics *metrics);
/* How many series they are at most. */
uint64_t hr__metrics_gpu_series(const struct hr_export *run, const struct hr_openmetrics_config *config);
uint64_t hr__metrics_job_series(const struct hr_export *run);
uint64_t hr__metrics_cluster_series(const struct hr_export *run);

#endif
