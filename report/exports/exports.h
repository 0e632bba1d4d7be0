/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_EXPORTS_EXPORTS_H
#define HR_REPORT_EXPORTS_EXPORTS_H

/* Common parts of the exports of a run: lanes, the file of jobs, and the writer of OpenMetrics text. */

#include "base/output_file.h"
#include "headroom/base.h"
#include "headroom/report.h"
#include "headroom/unstable/exports.h"

#include <stdlib.h>

/* ---- Lanes ----------------------------------------------------------------------------------------- */

/* Assigns intervals to lanes so that the intervals of one lane do not overlap. Each interval is assigned to the free
   lane with the smallest index. A binary tree in an array stores for each lane (leaf) the end of its last interval,
   and in each inner node the minimum of its two children. Assigning an interval therefore costs O(log n). INT64_MIN
   in a leaf means that the lane was never used. */

struct hr__lanes {
  int64_t *free_us; /* [2 x room]: the tree; the root is at 1, the leaf of lane i at room + i */
  uint32_t n, room; /* n: number of lanes used; room: capacity, which is 0 or a power of 2 */
};

static inline bool hr__lanes_grow(struct hr__lanes *lanes) {
  uint32_t room = lanes->room ? 2 * lanes->room : 1;
  int64_t *tree = malloc((size_t)2 * room * sizeof *tree);
  if (!tree) return false;
  for (uint32_t i = 0; i < room; i++) tree[room + i] = i < lanes->room ? lanes->free_us[lanes->room + i] : INT64_MIN;
  for (uint32_t i = room; i-- > 1;) tree[i] = tree[2 * i] < tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
  free(lanes->free_us);
  lanes->free_us = tree;
  lanes->room = room;
  return true;
}

/* Returns the lane of an interval, counted from 0; HR_NONE if out of memory. Calls must be in ascending order of
   `begin_us`. */
static inline uint32_t hr__lanes_take(struct hr__lanes *lanes, int64_t begin_us, int64_t end_us) {
  if ((lanes->room == 0 || lanes->free_us[1] > begin_us) && !hr__lanes_grow(lanes)) return HR_NONE;
  int64_t *tree = lanes->free_us;
  uint32_t at = 1;
  while (at < lanes->room) at = 2 * at + (tree[2 * at] > begin_us);
  uint32_t lane = at - lanes->room;
  tree[at] = end_us;
  for (at /= 2; at > 0; at /= 2) tree[at] = tree[2 * at] < tree[2 * at + 1] ? tree[2 * at] : tree[2 * at + 1];
  if (lane >= lanes->n) lanes->n = lane + 1;
  return lane;
}

static inline void hr__lanes_finish(struct hr__lanes *lanes) {
  free(lanes->free_us);
  *lanes = (struct hr__lanes){0};
}

/* ---- Attempts -------------------------------------------------------------------------------------- */

/* Returns the wait before an attempt: from the submit of the job, or from the end of its previous attempt. `attempts`:
   all attempts of the run. */
static inline int64_t hr__attempt_wait_us(const struct hr_export *run, const struct hr_attempt *attempts,
                                          const struct hr_attempt *attempt) {
  if (attempt->previous != HR_NONE) return attempt->begin_us - attempts[attempt->previous].end_us;
  return attempt->begin_us - run->trace->submit_us[attempt->job.id];
}

/* ---- The file of jobs (jobs_csv.c) ----------------------------------------------------------------- */

/* The CSV file of jobs, for callers that write several files and commit them together. */

/* Opens the file and writes the rows that hr_jobs_write writes. After HR_OK, the caller commits or abandons `csv`. */
enum hr_status hr__jobs_open(const char *path, const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                             const struct hr_result *result, const struct hr_placements *placements,
                             const struct hr_ledger *ledger, struct hr__csv_out *csv, struct hr_error *error);

/* ---- OpenMetrics (openmetrics_gpus.c) -------------------------------------------------------------- */

/*
 * Writer of OpenMetrics text. A file is a sequence of metric families. A family is a sequence of series with different
 * labels, and a series is a sequence of samples in time order. In a histogram, all samples of one time follow one
 * another instead. Sample k is k steps after the begin of the run. The last sample is at the end of the run or less
 * than one step later.
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

/* ---- GPUs ------------------------------------------------------------------------------------------ */

/* Writes the metrics of GPUs (openmetrics_gpus.c). Returns HR_NO_MEMORY if out of memory. */
enum hr_status hr__metrics_of_gpus(struct hr__metrics *metrics);
/* Returns an upper bound of the number of series that hr__metrics_of_gpus() writes. */
uint64_t hr__metrics_gpu_series(const struct hr_export *run, const struct hr_openmetrics_config *config);

#endif
