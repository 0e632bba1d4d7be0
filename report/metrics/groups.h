/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_GROUPS_H
#define HR_REPORT_METRICS_GROUPS_H

/* Metrics of jobs by tenant, by class or by size, and functions that compute GPU time and fairness from the result of a
   run. */

#include "base/text.h"
#include "headroom/report.h"

#include <stdlib.h>

/* In slowdowns and finish-time fairness, shorter run times count as this run time, so that very short jobs do not
   dominate these metrics. */
#define HR__SHORT_RUN_US (10 * HR_SECOND_US)

/* Counts and sums over the jobs of a group. held_milli_us and useful_milli_us are allocated and useful GPU time in
   milli-GPUs x microseconds. */
struct hr__totals {
  uint64_t jobs, started, completed, outcome_failed, outcome_cancelled, deadlines, missed_deadlines;
  hr__wide wait_us, jct_us;
  hr_amount held_milli_us, useful_milli_us;
  double slowdown;
};

enum hr__grouping { HR__BY_TENANT, HR__BY_CLASS, HR__BY_SIZE };

/* Arrays with the wait of each started job, and with the completion time and the slowdown of each completed job.
   Slowdowns are stored as keys (statistics.h). The arrays are reused by consecutive groupings. */
struct hr__samples {
  int64_t *wait_us, *jct_us, *slowdown_key;
};
/* Allocates the arrays for a run. Returns HR_NO_MEMORY if out of memory; then nothing is allocated. */
enum hr_status hr__samples_init(struct hr__samples *samples, const struct hr_result *result);
static inline void hr__samples_finish(struct hr__samples *samples) {
  free(samples->wait_us);
  free(samples->jct_us);
  free(samples->slowdown_key);
  *samples = (struct hr__samples){0};
}

/* The groups with at least one job. Groups by tenant are sorted by descending GPU time. Groups by class have the order
   of the enumeration of classes, and groups by size begin with the smallest size. */
struct hr__job_groups {
  struct hr_group *group;
  size_t count;
  struct hr__totals all; /* sums over all groups */
};
/* Groups the submitted jobs. Afterwards `samples` contains the values of all jobs, from which the caller can compute
   distributions of all jobs. `groups` is empty if the trace does not contain the tenants or classes by which jobs are
   to be grouped. Returns HR_NO_MEMORY if out of memory. The caller frees groups->group with hr__groups_free(). */
enum hr_status hr__groups_make(const struct hr_result *result, enum hr__grouping grouping, struct hr__samples *samples,
                               struct hr__job_groups *groups);
static inline void hr__groups_free(struct hr_group *group, size_t count) {
  for (size_t i = 0; i < count; i++) free(group[i].name);
  free(group);
}

/* ---- GPU time ------------------------------------------------------------------------------------ */

/* Returns the microseconds from the first start of a job to its end, or to the end of the run if it has not ended.
   Returns 0 if the job never started. */
static inline int64_t hr__ran_us(const struct hr_result *result, uint32_t job) {
  if (result->start_us[job] == HR_NEVER_US) return 0;
  if (result->state[job] == HR_JOB_COMPLETED) return hr_result_end_us(result, (hr_job){job}) - result->start_us[job];
  return result->end_us - result->start_us[job];
}

/* Returns the GPU time of all attempts of a job, split by use (such as useful or lost), in milli-GPUs x microseconds.
   If the result has no accounting, jobs could not be interrupted and all GPU time was useful. */
static inline struct hr_gpu_times hr__gpu_times_of(const struct hr_result *result, uint32_t job) {
  if (result->accounting) return result->accounting[job].milli_us;
  uint64_t milli = result->gpu_milli ? result->gpu_milli[job] : (uint64_t)result->trace->gpus[job] * 1000;
  return (struct hr_gpu_times){.kept = (hr_amount)milli * hr__ran_us(result, job)};
}

/* Converts milli-GPUs x microseconds to GPU-hours. */
static inline double hr__gpu_hours(hr_amount milli_us) {
  return (double)milli_us / (3600.0 * 1000 * (double)HR_SECOND_US);
}

/* Whether at least one pool that has nodes kills jobs that run out of GPU memory. */
static inline bool hr__can_kill(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes > 0 && hr_pool_kills(&cluster->pools[i])) return true;
  return false;
}

/* ---- Fairness ------------------------------------------------------------------------------------ */

/* Computes Jain's index and finish-time fairness (fairness.c). Returns HR_NO_MEMORY if out of memory. */
enum hr_status hr__fairness_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                 struct hr_fairness *fairness);

/* ---- Rejected jobs by reason ------------------------------------------------------------------- */

enum { HR__MAX_REJECTED_IDS = 5, HR__REJECTED_ID_BYTES = 61 };

/* Zero-initialize before use. */
struct hr__rejections {
  struct hr__rejected {
    uint64_t count;
    hr_job first[HR__MAX_REJECTED_IDS];                   /* the jobs with the smallest indices, ascending */
    char id[HR__MAX_REJECTED_IDS][HR__REJECTED_ID_BYTES]; /* their ids, truncated */
  } of[HR_REASON_ONLY_MIG + 1];                           /* by reason */
};

/* Adds a rejected job. Jobs may be added in any order. */
void hr__rejections_add(struct hr__rejections *rejections, const struct hr_trace *trace, hr_job job,
                        enum hr_reason reason);
/* Adds a note for each reason for which jobs were rejected. Returns HR_NO_MEMORY if out of memory. */
enum hr_status hr__rejections_note(const struct hr__rejections *rejections, struct hr_notes *notes);

#endif
