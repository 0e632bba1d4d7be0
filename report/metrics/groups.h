/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_GROUPS_H
#define HR_REPORT_METRICS_GROUPS_H

/* The figures of jobs taken together by tenant, by class, by size, or all at once. */

#include "base/int128.h"
#include "headroom/report.h"

#include <stdlib.h>

/* What is counted and summed over a group's jobs. */
#define HR__SHORT_RUN_US (10 * HR_SECOND_US)

struct hr__totals {
  uint64_t jobs, started, completed, outcome_failed, outcome_cancelled, deadlines, missed_deadlines;
  hr__wide wait_us, jct_us;
  hr_amount held_milli_us, useful_milli_us;
  double slowdown;
};

enum hr__grouping { HR__BY_TENANT, HR__BY_CLASS, HR__BY_SIZE };

/* Room for every job's wait, completion time and slowdown; the same room serves one grouping after the other. */
struct hr__samples {
  int64_t *wait_us, *jct_us, *slowdown_key;
};
enum hr_status hr__samples_init(struct hr__samples *samples, const struct hr_result *result);
static inline void hr__samples_finish(struct hr__samples *samples) {
  free(samples->wait_us);
  free(samples->jct_us);
  free(samples->slowdown_key);
  *samples = (struct hr__samples){0};
}

/* All groups that have a job. Afterwards the samples hold each group's values one group after the other, and may be
   selected from as a whole. HR_NO_MEMORY is the only failure. */
struct hr__job_groups {
  struct hr_group *group;
  size_t count;
  struct hr__totals all; /* over every group */
};
enum hr_status hr__groups_make(const struct hr_result *result, enum hr__grouping grouping, struct hr__samples *samples,
                               struct hr__job_groups *groups);
void hr__groups_free(struct hr_group *group, size_t count);

/* Sizes of requests, from small to large: the group of jobs of so many GPUs, and its name ("2-4"; NULL: there are not
   so many groups). */
enum { HR__SIZES = 9 };
static inline uint32_t hr__size_of(uint32_t gpus) {
  if (gpus <= 1) return gpus;
  if (gpus <= 4) return 2;
  uint32_t doublings = 32u - (uint32_t)__builtin_clz(gpus - 1);
  return doublings < HR__SIZES - 1 ? doublings : HR__SIZES - 1;
}
const char *hr__size_name(uint32_t size);

/* Whether a job that was submitted has a deadline. */
static inline bool hr__has_deadline(const struct hr_result *result, uint32_t job) {
  return result->trace->deadline_us && result->trace->deadline_us[job] >= 0 && result->state[job] != HR_JOB_FUTURE;
}

/* Whether it was missed: the job was refused, or not at its end when the deadline came within the run. */
static inline bool hr__missed_deadline(const struct hr_result *result, uint32_t job) {
  if (!hr__has_deadline(result, job)) return false;
  if (result->state[job] == HR_JOB_REJECTED) return true;
  int64_t deadline_us = result->trace->deadline_us[job];
  return deadline_us < result->end_us && hr_result_end_us(result, (hr_job){job}) > deadline_us;
}

/* ---- GPU time ---- */

static inline int64_t hr__ran_us(const struct hr_result *result, uint32_t job) {
  if (result->start_us[job] == HR_NEVER_US) return 0;
  if (result->state[job] == HR_JOB_COMPLETED) return hr_result_end_us(result, (hr_job){job}) - result->start_us[job];
  return result->end_us - result->start_us[job];
}

static inline struct hr_gpu_times hr__gpu_times_of(const struct hr_result *result, uint32_t job) {
  if (result->accounting) return result->accounting[job].milli_us;
  uint64_t milli = result->gpu_milli ? result->gpu_milli[job] : (uint64_t)result->trace->gpus[job] * 1000;
  return (struct hr_gpu_times){.kept = (hr_amount)milli * hr__ran_us(result, job)};
}

static inline double hr__gpu_hours(hr_amount milli_us) {
  return (double)milli_us / (3600.0 * 1000 * (double)HR_SECOND_US);
}

static inline bool hr__can_kill(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes > 0 && hr_pool_kills(&cluster->pools[i])) return true;
  return false;
}

/* ---- Fairness ---- */

enum hr_status hr__fairness_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                 struct hr_fairness *fairness);

/* ---- Streamed runs ---- */

struct hr_streamed_figures;
struct hr_summary hr__streamed_summary(const struct hr_streamed_figures *figures,
                                       const struct hr_cluster_spec *cluster);

#endif
