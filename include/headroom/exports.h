/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_EXPORTS_H
#define HEADROOM_EXPORTS_H

/*
 * A run in the formats of other tools: a timeline for Perfetto, metrics for Prometheus and Grafana, a page of Markdown.
 * docs/reference/exports.md says what stands for what.
 */

#include "headroom/history.h"
#include "headroom/ledger.h"
#include "headroom/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What holds from an instant on. */
struct hr_count_change {
  int64_t at_us;
  uint32_t waiting, running;
  uint64_t allocated_milli, total_milli; /* of GPUs; in total: of nodes that are up */
};

struct hr_rejection {
  int64_t at_us;
  hr_job job;
  uint8_t reason; /* enum hr_reason */
};

/* A fold that keeps every change of the counts, 40 bytes each, and every rejection. For one run; NULL when out of
   memory. */
struct hr_counts;
HR_API struct hr_counts *hr_counts_create(void);
HR_API void hr_counts_destroy(struct hr_counts *counts);
HR_API struct hr_fold hr_counts_fold(struct hr_counts *counts);
/* After the run, both owned by `counts`: times rise, no two are the same. False: it was out of memory on the way. */
HR_API bool hr_counts_complete(const struct hr_counts *counts);
HR_API size_t hr_counts_changes(const struct hr_counts *counts, const struct hr_count_change **changes);
HR_API size_t hr_counts_rejections(const struct hr_counts *counts, const struct hr_rejection **rejections);

/* A run that is over; all borrowed. */
struct hr_export {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_result *result;
  const struct hr_history *history; /* closed */
  const struct hr_counts *counts;
  const struct hr_ledger *ledger; /* closed, with each job's cost; NULL: that is not told */
  const struct hr_run_label *label;
};

/* Trace events in JSON (the "JSON Object Format" of Chrome's Trace Event Format): a process for each pool, a thread for
   each node and as many more for it as jobs are on it at once, a slice for each stay of a job there; counters of jobs
   and GPUs; instants for what happened to nodes, and for rejections. Times in microseconds. `path` "-" is standard
   output. */
HR_API enum hr_status hr_perfetto_write(const char *path, const struct hr_export *run, struct hr_error *error);

/* ---- Metrics ---------------------------------------------------------------------------------------- */

/* What a series of GPU metrics is of. */
enum hr_metrics_place { HR_METRICS_BY_NODE, HR_METRICS_BY_GPU, HR_METRICS_BY_POOL };

/* What one GPU draws idle and at its limit; less than 0: not known. */
struct hr_gpu_watts {
  double idle_w, tdp_w;
};

struct hr_openmetrics_config {
  int64_t step_us; /* between samples; 0: 5 minutes, or as much more as keeps them below about 500,000 in all */
  enum hr_metrics_place place;
  const struct hr_gpu_watts *watts; /* [pools]; NULL: of none it is known */
};

struct hr_openmetrics_size {
  int64_t step_us;
  uint64_t steps, samples; /* points in time; lines of samples */
};

/* Metrics with simulated time stamps as OpenMetrics text, under the names of dcgm-exporter, Kueue and a Slurm exporter.
   `path` "-" is standard output; `size` (may be NULL) tells what was written. */
HR_API enum hr_status hr_openmetrics_write(const char *path, const struct hr_export *run,
                                           const struct hr_openmetrics_config *config, struct hr_openmetrics_size *size,
                                           struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
