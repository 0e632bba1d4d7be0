/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_EXPORTS_OPENMETRICS_H
#define HR_REPORT_EXPORTS_OPENMETRICS_H

#include "base/writers.h"
#include "headroom/unstable/exports.h"

/*
 * Writer of OpenMetrics text. A file is a sequence of metric families. A family is a sequence of series with different
 * labels, and a series is a sequence of samples in time order. Sample k is k steps after the begin of the run. The last
 * sample is at the end of the run or less than one step later.
 */

enum { HR__METRICS_LABEL_BYTES = 1 << 12 };

struct hr__metrics {
  struct hr__out out;
  const struct hr_export *run;
  const struct hr_openmetrics_config *config;
  int64_t step_us, end_us;
  uint32_t n_samples; /* samples per series: number of steps + 1 */
  char *stamps;       /* [n_samples][HR__NUMBER_BYTES]: timestamps as text */
  uint64_t n_written;
  const char *family, *suffix; /* name and suffix of the samples that follow */
  char labels[HR__METRICS_LABEL_BYTES];
  size_t labels_used;
};

/* Begins a family. `type` is "gauge", "counter" or "histogram". `unit` is the unit with which the name ends, or
   NULL. */
void hr__metrics_family(struct hr__metrics *metrics, const char *name, const char *type, const char *unit,
                        const char *help);
/* Begins a series: removes the labels of the previous one. */
static inline void hr__metrics_no_labels(struct hr__metrics *metrics) {
  metrics->labels_used = 0;
}
/* Adds a label to the current series; long values are truncated. */
void hr__metrics_label(struct hr__metrics *metrics, const char *name, const char *value);
/* Writes sample k of the current series; the value is in millionths. */
void hr__metrics_sample(struct hr__metrics *metrics, uint32_t k, int64_t millionths);

/* ---- GPUs ---------------------------------------------------------------------------------------- */

/* Writes the metrics of GPUs (openmetrics_gpus.c). Returns HR_NO_MEMORY if out of memory. */
enum hr_status hr__metrics_of_gpus(struct hr__metrics *metrics);
/* Returns an upper bound of the number of series that hr__metrics_of_gpus() writes. */
uint64_t hr__metrics_gpu_series(const struct hr_export *run, const struct hr_openmetrics_config *config);

#endif
