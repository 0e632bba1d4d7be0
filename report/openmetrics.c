/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text format of OpenMetrics (https://prometheus.io/docs/specs/om/open_metrics_spec/), as `promtool tsdb
   create-blocks-from openmetrics` takes it: every sample with its time, those of a family together. */

#include "report/openmetrics.h"

enum { MOST_SAMPLES = 500000 };

/* Steps that a person would choose, in minutes, and then weeks. */
static int64_t chosen_step_us(int64_t end_us, uint64_t n_series) {
  static const uint16_t minutes[] = {5, 10, 15, 30, 60, 120, 180, 240, 360, 480, 720, 1440, 2880, 4320, 10080};
  const int64_t minute_us = 60 * HR_SECOND_US;
  int64_t most = (int64_t)(MOST_SAMPLES / (n_series ? n_series : 1));
  if (most < 1) most = 1;
  for (size_t i = 0; i < sizeof minutes / sizeof *minutes; i++)
    if (end_us / (minutes[i] * minute_us) <= most) return minutes[i] * minute_us;
  const int64_t week_us = 7 * 24 * 60 * minute_us;
  return (end_us / week_us / most + 1) * week_us;
}

static enum hr_status check_step(const char *path, int64_t step_us, int64_t end_us, struct hr_error *error) {
  enum { MOST_STEPS = 100000000 };
  if (end_us / step_us < MOST_STEPS) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: a sample every %.6g s would be more than %d of each series; a longer step is wanted", path,
                 (double)step_us / 1e6, MOST_STEPS);
}

static enum hr_status write_all(struct hr__metrics *metrics, const char *path, struct hr_error *error) {
  enum hr_status status = hr__out_open(&metrics->out, path, error);
  if (status != HR_OK) return status;
  status = hr__metrics_of_gpus(metrics);
  if (status == HR_OK) status = hr__metrics_of_jobs(metrics);
  if (status != HR_OK) {
    hr__out_abandon(&metrics->out);
    return hr_fail(error, status, "%s: out of memory", path);
  }
  hr__metrics_of_cluster(metrics);
  hr__out_text(&metrics->out, "# EOF\n");
  return hr__out_commit(&metrics->out, error);
}

enum hr_status hr_openmetrics_write(const char *path, const struct hr_export *run,
                                    const struct hr_openmetrics_config *config, struct hr_openmetrics_size *size,
                                    struct hr_error *error) {
  int64_t end_us = hr_history_end_us(run->history), step_us = config->step_us;
  uint64_t n_series =
      hr__metrics_gpu_series(run, config) + hr__metrics_job_series(run) + hr__metrics_cluster_series(run);
  if (step_us == 0) step_us = chosen_step_us(end_us, n_series);
  enum hr_status status = check_step(path, step_us, end_us, error);
  if (status != HR_OK) return status;
  struct hr__metrics metrics = {0};
  status = hr_counts_complete(run->counts) ? hr__metrics_init(&metrics, run, config, step_us) : HR_NO_MEMORY;
  if (status == HR_OK)
    status = write_all(&metrics, path, error);
  else
    hr_fail(error, status, "%s: out of memory", path);
  if (size) *size = (struct hr_openmetrics_size){step_us, metrics.n_samples, metrics.n_written};
  hr__metrics_finish(&metrics);
  return status;
}
