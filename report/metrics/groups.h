/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_GROUPS_H
#define HR_REPORT_METRICS_GROUPS_H

/* Metrics of jobs, grouped by tenant, by class or by size, and helpers on the result of a job. */

#include "base/text.h"
#include "headroom/report.h"
#include "headroom/unstable/streamed.h"

#include <stdlib.h>

/* Shorter run times count as this one in slowdowns and finish-time fairness. */
#define HR__SHORT_RUN_US (10 * HR_SECOND_US)

/* Counts and sums over the jobs of a group. */
struct hr__totals {
  uint64_t jobs, started, completed, outcome_failed, outcome_cancelled, deadlines, missed_deadlines;
  hr__wide wait_us, jct_us;
  hr_amount held_milli_us, useful_milli_us;
  double slowdown;
};

enum hr__grouping { HR__BY_TENANT, HR__BY_CLASS, HR__BY_SIZE };

/* Space for the wait, completion time and slowdown of every job. It is reused from one grouping to the next. */
struct hr__samples {
  int64_t *wait_us, *jct_us, *slowdown_key;
};
/* Returns HR_NO_MEMORY on failure, after freeing everything. */
enum hr_status hr__samples_init(struct hr__samples *samples, const struct hr_result *result);
static inline void hr__samples_finish(struct hr__samples *samples) {
  free(samples->wait_us);
  free(samples->jct_us);
  free(samples->slowdown_key);
  *samples = (struct hr__samples){0};
}

/* Groups with at least one job, tenants by GPU time (largest first), the others in their natural order. */
struct hr__job_groups {
  struct hr_group *group;
  size_t count;
  struct hr__totals all; /* sum over all groups */
};
/* Groups the submitted jobs. Afterwards the samples hold the values of each group in one range, and quantiles of all
   jobs can be selected from the whole arrays. Returns HR_NO_MEMORY on failure. Freed by hr__groups_free(). */
enum hr_status hr__groups_make(const struct hr_result *result, enum hr__grouping grouping, struct hr__samples *samples,
                               struct hr__job_groups *groups);
static inline void hr__groups_free(struct hr_group *group, size_t count) {
  for (size_t i = 0; i < count; i++) free(group[i].name);
  free(group);
}

/* ---- GPU time ------------------------------------------------------------------------------------ */

/* Returns the time from the first start to the end of the job or of the run. */
static inline int64_t hr__ran_us(const struct hr_result *result, uint32_t job) {
  if (result->start_us[job] == HR_NEVER_US) return 0;
  if (result->state[job] == HR_JOB_COMPLETED) return hr_result_end_us(result, (hr_job){job}) - result->start_us[job];
  return result->end_us - result->start_us[job];
}

/* Returns the GPU time of all attempts of a job, by use. Without accounting no job was interrupted, and all of it was
 * useful. */
static inline struct hr_gpu_times hr__gpu_times_of(const struct hr_result *result, uint32_t job) {
  if (result->accounting) return result->accounting[job].milli_us;
  uint64_t milli = result->gpu_milli ? result->gpu_milli[job] : (uint64_t)result->trace->gpus[job] * 1000;
  return (struct hr_gpu_times){.kept = (hr_amount)milli * hr__ran_us(result, job)};
}

/* Converts milli-GPUs x microseconds to GPU-hours. */
static inline double hr__gpu_hours(hr_amount milli_us) {
  return (double)milli_us / (3600.0 * 1000 * (double)HR_SECOND_US);
}

/* Whether a pool with nodes kills jobs that run out of GPU memory. */
static inline bool hr__can_kill(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes > 0 && hr_pool_kills(&cluster->pools[i])) return true;
  return false;
}

/* ---- Fairness ------------------------------------------------------------------------------------ */

/* Computes Jain's index and finish-time fairness. Returns HR_NO_MEMORY on failure. */
enum hr_status hr__fairness_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                 struct hr_fairness *fairness);

/* ---- Streamed runs ------------------------------------------------------------------------------- */

struct hr_streamed_figures;
/* Returns the metrics of a streamed run as a summary; those that are not known are 0. The summary refers to the costs
   of `figures` and must not be destroyed. */
struct hr_summary hr__streamed_summary(const struct hr_streamed_figures *figures,
                                       const struct hr_cluster_spec *cluster);

#endif
