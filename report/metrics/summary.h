/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_SUMMARY_H
#define HR_REPORT_METRICS_SUMMARY_H

/* What the summary of a run is computed from: metrics of groups of jobs, and the usage of the cluster over time. */

#include "base/text.h"
#include "headroom/policy.h"
#include "headroom/report.h"

#include <stdlib.h>

struct hr__parcel;

/* ---- Groups of jobs (groups.c) ------------------------------------------------------------------------- */

/* Metrics of jobs by tenant, by class or by size, and functions that compute GPU time and fairness from the result
   of a run. */

/* In slowdowns and finish-time fairness, shorter run times count as this run time, so that very short jobs do not
   dominate these metrics. */
#define HR__SHORT_RUN_US (10 * HR_SECOND_US)

/* Counts and sums over the jobs of a group. held_milli_us and useful_milli_us are allocated and useful GPU time in
   milli-GPUs x microseconds. */
struct hr__totals {
  uint64_t jobs, started, completed, outcome_failed, outcome_cancelled, deadlines, missed_deadlines;
  hr__wide wait_us, jct_us;
  hr_amount held_milli_us, useful_milli_us;
  hr_amount training_milli_us; /* the denominator of ETTR: see hr__training_milli_us */
  double slowdown;
};

/* Returns the effective training time ratio of jobs; -1 if they held no GPU. */
static inline double hr__ettr_of(const struct hr__totals *totals) {
  return totals->training_milli_us ? (double)totals->useful_milli_us / (double)totals->training_milli_us : -1;
}

enum hr__grouping { HR__BY_TENANT, HR__BY_CLASS, HR__BY_SIZE, HR__BY_CLUSTER };

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
  if (result->account && result->account[job]) return result->accounts[result->account[job]].milli_us;
  uint64_t milli = result->gpu_milli ? result->gpu_milli[job] : (uint64_t)result->trace->gpus[job] * 1000;
  return (struct hr_gpu_times){.kept = (hr_amount)milli * hr__ran_us(result, job)};
}

static inline void hr__gpu_times_add(struct hr_gpu_times *sum, const struct hr_gpu_times *part) {
  sum->kept += part->kept;
  sum->lost += part->lost;
  sum->saving += part->saving;
  sum->restarting += part->restarting;
  sum->hanging += part->hanging;
  sum->data += part->data;
}

/* Returns the time for which a job held GPUs. */
static inline int64_t hr__held_us(const struct hr_result *result, uint32_t job) {
  if (result->account && result->account[job]) return result->accounts[result->account[job]].held_us;
  return result->state[job] == HR_JOB_COMPLETED ? hr__ran_us(result, job) : 0;
}

/* Returns the GPU time that a job held, plus its waits after interruptions multiplied by the GPUs that it requests, in
   milli-GPUs x microseconds. `times`: those of the job. */
static inline hr_amount hr__training_milli_us(const struct hr_result *result, uint32_t job,
                                              const struct hr_gpu_times *times) {
  hr_amount held = times->kept + times->lost + times->saving + times->restarting + times->hanging + times->data;
  if (!result->account || !result->account[job]) return held;
  const struct hr_job_accounting *account = &result->accounts[result->account[job]];
  int64_t ran_us = account->rejected_us ? account->rejected_us - result->start_us[job] : hr__ran_us(result, job);
  int64_t waited_us = ran_us - account->held_us;
  return held + (waited_us > 0 ? (hr_amount)hr_trace_gpus_milli(result->trace, (hr_job){job}) * waited_us : 0);
}

/* Converts milli-GPUs x microseconds to GPU-hours. */
static inline double hr__gpu_hours(hr_amount milli_us) {
  return (double)milli_us / (3600.0 * 1000 * (double)HR_SECOND_US);
}

/* Returns part / whole; 0 if the whole is 0. */
static inline double hr__ratio(hr__wide part, hr__wide whole) {
  return whole ? (double)part / (double)whole : 0;
}

/* Whether at least one pool that has nodes kills jobs that run out of GPU memory. */
static inline bool hr__can_kill(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes > 0 && hr_pool_kills(&cluster->pools[i])) return true;
  return false;
}

/* Where the GPU time went (goodput.c). hr__goodput_totals sets the figures of goodput, failures, maintenance,
   autoscaling and spot capacity; `times`: of all jobs; summary->oom must be set except back_off_gpu_hours.
   hr__goodput_make also sets `times`, the kills for lack of memory, data and the lists, which hr__goodput_finish frees,
   also after an error. Returns HR_NO_MEMORY if out of memory. */
void hr__goodput_totals(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                        const struct hr_gpu_times *times, struct hr_summary *summary);
enum hr_status hr__goodput_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                struct hr_gpu_times *times, struct hr_summary *summary);
void hr__goodput_finish(struct hr_summary *summary);

/* ---- Energy, batteries, carbon (energy.c) --------------------------------------------------------- */

/* The same for energy; summary->gpu_hours must be set. hr__energy_make adds the lists by pool and tenant. */
void hr__energy_totals(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                       struct hr_summary *summary);
enum hr_status hr__energy_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                               struct hr_summary *summary);
void hr__energy_finish(struct hr_summary *summary);
/* Adds a note if the power budget of the cluster, which is the only one of the run, never permits some jobs to run. */
enum hr_status hr__power_budget_note(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                     struct hr_notes *notes);

/* ---- Results as bytes (parcels.c) -------------------------------------------------------------------- */

/* Copies a summary into the parcel, for runs that are made by another process, or allocates it and copies it out of the
   parcel. If that fails, the summary must still be freed; it may be NULL. */
void hr__parcel_summary(struct hr__parcel *parcel, struct hr_summary **summary);

/* ---- Fairness ------------------------------------------------------------------------------------ */

/* Computes Jain's index and finish-time fairness (groups.c). Returns HR_NO_MEMORY if out of memory. */
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
  } of[HR_REASON_REQUEUES + 1];                           /* by reason */
};

/* Adds a rejected job. Jobs may be added in any order. */
void hr__rejections_add(struct hr__rejections *rejections, const struct hr_trace *trace, hr_job job,
                        enum hr_reason reason);
/* Adds a note for each reason for which jobs were rejected. Returns HR_NO_MEMORY if out of memory. */
enum hr_status hr__rejections_note(const struct hr__rejections *rejections, struct hr_notes *notes);

/* ---- Usage (usage.c) ----------------------------------------------------------------------------------- */

/* ---- Fragmentation ------------------------------------------------------------------------------- */

/* This header declares the usage of the cluster over time: integrals of waiting jobs, allocated GPUs and present GPUs,
   for the whole cluster and by pool; and fragmentation, in clusters with per-GPU allocation. docs/reference/metrics.md
   defines the fragmentation counts. */

struct hr__fragment_counts {
  hr__wide fragment;       /* F of all nodes, summed over the typical pods: milli-GPUs x fragment_pods */
  uint64_t stranded_milli; /* idle GPUs on nodes with too little free CPU or memory for every typical task */
  uint64_t largest_gang;   /* maximum number of one-GPU tasks that fit into one pool at the same time */
};

struct hr__fragments;
/* ---- Usage by pool ------------------------------------------------------------------------------- */

/* Integrals from time zero: milli-GPUs x microseconds. */
struct hr__pool_time {
  hr__wide allocated_milli, total_milli;
};

struct hr__usage_pool {
  int64_t until_us;
  uint64_t allocated_milli, total_milli; /* values since `until_us` */
  struct hr__pool_time now, at_last_end; /* at_last_end: valid only if until_us > last_end_us */
};

struct hr__by_pool {
  const struct hr_cluster *cluster;
  int64_t last_end_us;
  struct hr__usage_pool *pools; /* [n_pools] */
  uint32_t *last;               /* [n_jobs]: pool of the last attempt; HR_NONE: the job never ran */
};

/* Returns the integrals of a pool up to `until_us`, which must be at or after pool->until_us. */
static inline struct hr__pool_time hr__pool_time_at(const struct hr__usage_pool *pool, int64_t until_us) {
  uint64_t passed_us = (uint64_t)(until_us - pool->until_us);
  return (struct hr__pool_time){pool->now.allocated_milli + (hr__wide)pool->allocated_milli * passed_us,
                                pool->now.total_milli + (hr__wide)pool->total_milli * passed_us};
}

/* ---- Usage of the cluster ------------------------------------------------------------------------ */

/* Integrals from time zero to `until_us`. */
struct hr__integrals {
  int64_t until_us;
  hr__wide waiting;         /* jobs x microseconds */
  hr__wide allocated_milli; /* milli-GPUs x microseconds */
  hr__wide total_milli;     /* present GPUs: milli-GPUs x microseconds */
  /* Integrals of the members of struct hr__fragment_counts; 0 in clusters with counted allocation. */
  hr__wide fragment, stranded_milli, largest_gang;
};

struct hr__fragment_share {
  hr__wide fragment;
  uint64_t total_milli; /* present GPUs; 0: no value yet */
};

struct hr_usage {
  int64_t last_submit_us;
  uint64_t waiting, allocated_milli, total_milli; /* values since now.until_us */
  uint64_t max_waiting, preemptions;
  uint64_t grows, shrinks;
  struct hr__integrals now; /* up to the last instant */
  struct hr__integrals at_last_submit, at_last_end;
  bool submits_over, ended; /* submits_over: the last job was submitted, so at_last_submit does not change any more;
                               ended: a job ended at the current instant */
  /* The members below are created at the first event, because the cluster of the run is unknown before. */
  bool begun, out_of_memory;
  uint64_t *resized_milli;             /* [n_jobs] GPUs of a job before its last resize; NULL if no job is elastic */
  struct hr__by_pool *by_pool;         /* NULL if the cluster has one pool */
  uint64_t fragment_pods;              /* number of typical pods over which F is averaged; 0 if `fragments` is NULL */
  struct hr__fragments *fragments;     /* NULL in clusters with counted allocation */
  struct hr__fragment_counts counts;   /* values since now.until_us */
  struct hr__fragment_share max_share; /* maximum over all passes of fragment / total_milli */
  uint64_t min_gang;                   /* minimum of largest_gang over all passes; UINT64_MAX before the first pass */
};

#endif
