/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_EXPORTS_OPENMETRICS_H
#define HR_REPORT_EXPORTS_OPENMETRICS_H

#include "base/writers.h"
#include "headroom/unstable/exports.h"

/*
 * OpenMetrics text in the making: a family of metrics, then its series one after the other, each with its samples in
 * order of time. Sample k is at k steps from the run's begin; the last one is at its end or less than a step after it.
 */

enum { HR__METRICS_LABEL_BYTES = 1 << 12 };

struct hr__metrics {
  struct hr__out out;
  const struct hr_export *run;
  const struct hr_openmetrics_config *config;
  int64_t step_us, end_us;
  uint32_t n_samples; /* of a series: steps + 1 */
  char *stamps;       /* [n_samples][HR__NUMBER_BYTES]: times as text */
  uint64_t n_written;
  const char *family, *suffix; /* of the samples to come */
  char labels[HR__METRICS_LABEL_BYTES];
  size_t labels_used;
};

/* `type`: "gauge", "counter", "histogram"; `unit`: what the name ends on, NULL for none. */
void hr__metrics_family(struct hr__metrics *metrics, const char *name, const char *type, const char *unit,
                        const char *help);
/* The labels of the series to come, one by one; a long value loses its end. */
static inline void hr__metrics_no_labels(struct hr__metrics *metrics) {
  metrics->labels_used = 0;
}
void hr__metrics_label(struct hr__metrics *metrics, const char *name, const char *value);
/* Sample k of the series; the value in millionths. */
void hr__metrics_sample(struct hr__metrics *metrics, uint32_t k, int64_t millionths);

/* The parts of the metrics of a run: what GPUs do, what becomes of jobs, the cluster as a whole. */

/* HR_NO_MEMORY or HR_OK. */
enum hr_status hr__metrics_of_gpus(struct hr__metrics *metrics);
/* How many series they are at most. */
uint64_t hr__metrics_gpu_series(const struct hr_export *run, const struct hr_openmetrics_config *config);
/* From when to when each node was up. */

struct hr__up_time {
  int64_t from_us, to_us;
};

struct hr__node_times {
  uint32_t *first; /* [nodes + 1] */
  struct hr__up_time *times;
};

/* HR_NO_MEMORY on failure; to be finished whatever is returned. */
enum hr_status hr__node_times_init(struct hr__node_times *times, const struct hr_export *run);
void hr__node_times_finish(struct hr__node_times *times);

#endif
