/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a comparison keeps of the single jobs of each policy's first run: the cumulative distributions of waits and
 * completion times, and the CSV files of jobs.
 *
 * A distribution is stored as its quantiles at HR__CURVE_POINTS equidistant shares, so its size does not depend on the
 * number of jobs. Quantiles interpolate linearly between order statistics, as those of a summary do. A file of jobs is
 * written in the thread of its run, while the results are in memory. It stays open, without a name, until all runs have
 * succeeded; hr_comparison_commit_jobs then gives all files their names.
 */

#include "headroom/unstable/replay.h"
#include "plan/compare/compare.h"
#include "report/exports/jobs_csv.h"

#include <math.h>
#include <stdlib.h>

/* ---- Distributions ---------------------------------------------------------------------------------- */

/* Writes the quantiles of sorted durations in seconds; NaN if there are none. */
static void put_quantiles(const int64_t *sorted, size_t count, double *seconds) {
  for (size_t i = 0; i < HR__CURVE_POINTS; i++) {
    double at = (double)i / (HR__CURVE_POINTS - 1) * (double)(count ? count - 1 : 0);
    size_t low = (size_t)at, high = low + 1 < count ? low + 1 : low;
    double weight = at - (double)low;
    seconds[i] = HR__UNKNOWN;
    if (count)
      seconds[i] = ((double)sorted[low] + weight * ((double)sorted[high] - (double)sorted[low])) / (double)HR_SECOND_US;
  }
}

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static bool make_curves(const struct hr_result *result, struct hr__compare_curves *curves) {
  const struct hr_trace *trace = result->trace;
  int64_t *us = malloc(((size_t)result->n_jobs + 1) * sizeof *us);
  size_t started = 0, completed = 0;
  if (!us) return false;
  for (uint32_t i = 0; i < result->n_jobs; i++)
    if (result->start_us[i] != HR_NEVER_US) us[started++] = result->start_us[i] - trace->submit_us[i];
  qsort(us, started, sizeof *us, by_value);
  put_quantiles(us, started, curves->wait_s);
  for (uint32_t i = 0; i < result->n_jobs; i++)
    if (result->state[i] == HR_JOB_COMPLETED)
      us[completed++] = hr_result_end_us(result, (hr_job){i}) - trace->submit_us[i];
  qsort(us, completed, sizeof *us, by_value);
  put_quantiles(us, completed, curves->jct_s);
  free(us);
  return true;
}

/* ---- Callbacks of a run ----------------------------------------------------------------------------- */

enum hr_status hr__compare_details_prepare(void *self, struct hr_replay *replay, struct hr_error *error) {
  struct hr__compare_details *details = self;
  if (!details->comparison->config.jobs) return HR_OK;
  details->placements = hr_placements_create(replay->config.trace);
  if (!details->placements) return hr_fail(error, HR_NO_MEMORY, "out of memory for the placements");
  return hr_replay_add(replay, hr_placements_observer(details->placements), error);
}

enum hr_status hr__compare_details_collect(void *self, const struct hr_replay *replay, struct hr_error *error) {
  struct hr__compare_details *details = self;
  struct hr_comparison *comparison = details->comparison;
  if (!make_curves(replay->result, &comparison->curves[details->contender]))
    return hr_fail(error, HR_NO_MEMORY, "out of memory for the distributions");
  if (!comparison->config.jobs) return HR_OK;
  struct hr__csv_out *csv = &comparison->job_files[details->contender].csv;
  enum hr_status status =
      hr__jobs_open(comparison->config.jobs[details->contender], replay->config.trace,
                    &replay->config.scenario->cluster, replay->result, details->placements, replay->ledger, csv, error);
  comparison->job_files[details->contender].open = status == HR_OK;
  return status;
}

/* ---- Files of jobs ---------------------------------------------------------------------------------- */

enum hr_status hr_comparison_commit_jobs(struct hr_comparison *comparison, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; comparison->job_files && i < comparison->config.n_contenders; i++) {
    struct hr__compare_job_file *file = &comparison->job_files[i];
    if (!file->open) continue;
    file->open = false;
    if (status == HR_OK)
      status = hr__csv_commit(&file->csv, error);
    else
      hr__csv_abandon(&file->csv);
  }
  return status;
}

void hr__compare_job_files_finish(struct hr_comparison *comparison) {
  for (uint32_t i = 0; comparison->job_files && i < comparison->config.n_contenders; i++)
    if (comparison->job_files[i].open) hr__csv_abandon(&comparison->job_files[i].csv);
  free(comparison->job_files);
}
