/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_METRICS_H
#define HR_REPORT_METRICS_METRICS_H

/*
 * Functions and types for the computation of the metrics, costs and alerts of a run: time series and distributions;
 * groups of jobs; GPU time and energy; rejected jobs; the usage of the cluster over time; cost items; groups of alert
 * rules.
 */

#include "base/containers.h"
#include "base/text.h"
#include "headroom/base.h"
#include "headroom/market.h"
#include "headroom/policy.h"
#include "headroom/report.h"
#include "headroom/sim.h"
#include "headroom/unstable/metrics.h"

#include <stdlib.h>
#include <string.h>

/* ---- Time series ----------------------------------------------------------------------------------- */

/*
 * Time series of a run in bounded memory.
 *
 * A value that changes in steps is recorded in a bounded number of buckets of equal width. The integral over each
 * bucket is exact. The minimum and maximum of a bucket include values that lasted for no time because they were
 * overwritten at the same instant. The length of the run need not be known in advance: if time advances beyond the
 * capacity, buckets are merged in pairs and the width doubles. The width depends only on the last time and the
 * capacity. Series with equal capacity that are closed at the same time therefore have equal buckets.
 */

struct hr__bucket {
  hr__wide sum;      /* value x microseconds */
  uint64_t min, max; /* over all values, also those that lasted for no time */
};

struct hr__buckets {
  struct hr__bucket *bucket; /* [n]; capacity: `room` */
  uint32_t n, room;
  int64_t width_us; /* a power of 2; bucket i begins at i x width_us */
  int64_t until_us; /* time up to which buckets are filled; after hr__buckets_close(): the end */
  uint64_t value;   /* value since `until_us`; 0 before the first call of hr__buckets_set() */
};

/* Initializes a series with at most `room` buckets, `room` >= 2. The first width is 1 us, so at least half of the
   buckets are used, except in runs shorter than `room` microseconds. Returns HR_NO_MEMORY if out of memory; call
   hr__buckets_finish() even on failure. */
enum hr_status hr__buckets_init(struct hr__buckets *buckets, uint32_t room);
static inline void hr__buckets_finish(struct hr__buckets *buckets) {
  free(buckets->bucket);
  *buckets = (struct hr__buckets){0};
}
/* Sets the value that the series has from `at_us` on. Times are >= 0 and must not decrease from call to call. */
void hr__buckets_set(struct hr__buckets *buckets, int64_t at_us, uint64_t value);
/* Ends the series at `end_us`. Do not call hr__buckets_set() afterwards. */
void hr__buckets_close(struct hr__buckets *buckets, int64_t end_us);
/* Returns the duration of bucket `i` in microseconds. The last bucket of a closed series may be shorter than the width.
   It has duration 0 only if it is the only bucket. */
static inline int64_t hr__buckets_span_us(const struct hr__buckets *buckets, uint32_t i) {
  int64_t left_us = buckets->until_us - i * buckets->width_us;
  return left_us < buckets->width_us ? left_us : buckets->width_us;
}

/* Allocated GPUs, present GPUs and waiting jobs over time, for the charts of the summary. */

struct hr_timeline_summary {
  struct hr__buckets allocated_milli, total_milli, waiting;
};

/* ---- Distributions --------------------------------------------------------------------------------- */

/* Distributions of values of jobs: exact quantiles of arrays, and sketches of bounded size and error for runs that
   do not store values per job. */

/* Returns an integer key of a slowdown. Keys have the order of their slowdowns, because the bits of non-negative
   doubles, read as integers, have the order of the doubles. */
static inline int64_t hr__slowdown_key(double slowdown) {
  int64_t key;
  memcpy(&key, &slowdown, sizeof key);
  return key;
}

/* Returns the distribution in seconds of `count` durations in microseconds with the given sum. Quantiles are
   interpolated linearly between order statistics. Reorders `us`. */
struct hr_distribution hr__distribution_of_us(int64_t *us, size_t count, hr__wide sum_us);
/* Returns the distribution of `count` slowdowns with the given sum. The slowdowns are given as keys of
   hr__slowdown_key(). Reorders `keys`. */
struct hr_distribution hr__distribution_of_slowdowns(int64_t *keys, size_t count, double sum);

/*
 * A sketch summarizes any number of durations in fixed memory. It counts the durations in buckets: one bucket per
 * microsecond below 128 us, and 128 buckets per power of two above. Above 128 us, the width of a bucket is therefore at
 * most 1/128 of its lower bound. A quantile is computed from the middles of buckets, so its relative error is at most
 * 1/256. Count, mean, minimum and maximum are exact, and quantiles are limited to the range from minimum to maximum.
 * The buckets are those of HdrHistogram (Tene). The guarantee of the relative error is as in Masson, Rim and Lee,
 * "DDSketch", VLDB 2019.
 */

enum {
  HR__SKETCH_STEP_BITS = 7,
  HR__SKETCH_STEPS = 1 << HR__SKETCH_STEP_BITS, /* buckets per power of two */
  HR__SKETCH_ERROR_PART = 256,                  /* the error of a quantile is at most 1/256 of its value */
  HR__SKETCH_BUCKETS = HR__SKETCH_STEPS * 57
};

struct hr__sketch {
  uint64_t count;
  int64_t min, max; /* 0 in an empty sketch */
  hr__wide sum;
  uint64_t in[HR__SKETCH_BUCKETS];
};

static inline uint32_t hr__sketch_bucket(uint64_t us) {
  if (us < HR__SKETCH_STEPS) return (uint32_t)us;
  uint32_t shift = 63u - (uint32_t)__builtin_clzll(us) - HR__SKETCH_STEP_BITS;
  return (shift + 1) * HR__SKETCH_STEPS + (uint32_t)(us >> shift) - HR__SKETCH_STEPS;
}
/* Adds a duration; `us` >= 0. A zero-initialized sketch is empty. The function is inline because each job of a streamed
   run calls it three times. */
static inline void hr__sketch_add(struct hr__sketch *sketch, int64_t us) {
  if (us < sketch->min || !sketch->count) sketch->min = us;
  sketch->count++;
  sketch->sum += (uint64_t)us;
  if (us > sketch->max) sketch->max = us;
  sketch->in[hr__sketch_bucket((uint64_t)us)]++;
}
/* Returns the distribution in seconds. Quantiles are interpolated as in hr__distribution_of_us(). */
struct hr_distribution hr__sketch_distribution(const struct hr__sketch *sketch);

struct hr__parcel;

/* Frees an array of structures whose first member is a name, such as `char *name`, and the names. `bytes`: the size of
 * a structure. */
static inline void hr__lines_free(void *lines, size_t count, size_t bytes) {
  for (size_t i = 0; i < count; i++) {
    void *line = (char *)lines + i * bytes;
    free(*(char **)line);
  }
  free(lines);
}

/* ---- Groups of jobs -------------------------------------------------------------------------------- */

/* Metrics of jobs by tenant, class, size or cluster, and functions that compute GPU time and fairness from the result
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
   Slowdowns are stored as keys (hr__slowdown_key). The arrays are reused by consecutive groupings. */
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
   of the enumeration of classes, groups by size begin with the smallest size, and groups by cluster have the order of
   the scenario. */
struct hr__job_groups {
  struct hr_group *group;
  size_t count;
  struct hr__totals all; /* sums over all groups */
};
/* Groups the submitted jobs. Afterwards `samples` contains the values of all jobs, from which the caller can compute
   distributions of all jobs. `groups` is empty if the trace does not contain the tenants or classes by which jobs are
   to be grouped. Returns HR_NO_MEMORY if out of memory. The caller frees groups->group with hr__lines_free(). */
enum hr_status hr__groups_make(const struct hr_result *result, enum hr__grouping grouping, struct hr__samples *samples,
                               struct hr__job_groups *groups);
/* ---- GPU time -------------------------------------------------------------------------------------- */

/* Returns the time in microseconds from the first start of a job to its end, or to the end of the run if the job was
   not completed. Returns 0 if the job never started. */
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

/* Returns the sum over all uses. */
static inline hr_amount hr__gpu_times_sum(const struct hr_gpu_times *times) {
  return times->kept + times->lost + times->saving + times->restarting + times->hanging + times->data;
}

/* Returns the time for which a job held GPUs. If the result has no accounting, it is known only for completed jobs; 0
   for all others. */
static inline int64_t hr__held_us(const struct hr_result *result, uint32_t job) {
  if (result->account && result->account[job]) return result->accounts[result->account[job]].held_us;
  return result->state[job] == HR_JOB_COMPLETED ? hr__ran_us(result, job) : 0;
}

/* Returns the GPU time that a job held, plus its waits after interruptions multiplied by the GPUs that it requests, in
   milli-GPUs x microseconds. `times`: the GPU time of the job. */
static inline hr_amount hr__training_milli_us(const struct hr_result *result, uint32_t job,
                                              const struct hr_gpu_times *times) {
  hr_amount held = hr__gpu_times_sum(times);
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

/* Returns whether at least one pool that has nodes kills jobs that run out of GPU memory. */
static inline bool hr__can_kill(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes > 0 && hr_pool_kills(&cluster->pools[i])) return true;
  return false;
}

/* These functions compute how GPU time was used (totals.c).
   - hr__goodput_totals sets the metrics of goodput, failures, maintenance, autoscaling and spot capacity. Its `times`
     are the sums over all jobs. All members of summary->oom except back_off_gpu_hours must be set before the call.
   - hr__goodput_make also computes `times`, and sets the metrics of out-of-memory kills and of data, and all lists. It
     returns HR_NO_MEMORY if out of memory.
   - hr__goodput_finish frees the lists; call it even on failure. */
void hr__goodput_totals(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                        const struct hr_gpu_times *times, struct hr_summary *summary);
enum hr_status hr__goodput_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                struct hr_gpu_times *times, struct hr_summary *summary);
void hr__goodput_finish(struct hr_summary *summary);

/* ---- Energy, batteries, carbon --------------------------------------------------------------------- */

/* Compute energy, batteries and carbon (totals.c). summary->gpu_hours must be set before the call. hr__energy_totals
   sets the totals. hr__energy_make also sets the lists by pool and tenant, and returns HR_NO_MEMORY if out of memory.
   hr__energy_finish frees the lists; call it even on failure. */
void hr__energy_totals(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                       struct hr_summary *summary);
enum hr_status hr__energy_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                               struct hr_summary *summary);
void hr__energy_finish(struct hr_summary *summary);
/* Adds a note if the power budget of the cluster never permits some jobs to run. The run must not have other
   clusters. */
enum hr_status hr__power_budget_note(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                     struct hr_notes *notes);

/* ---- Results as bytes ------------------------------------------------------------------------------ */

/* Copies a summary into the parcel or, if the parcel is read, allocates a summary and copies it out of the parcel. Runs
   in other processes return their summaries in this way. `*summary` may be NULL after a failure; if it is not NULL, the
   caller must still free it. */
void hr__parcel_summary(struct hr__parcel *parcel, struct hr_summary **summary);

/* ---- Fairness -------------------------------------------------------------------------------------- */

/* Computes Jain's index and finish-time fairness (groups.c). Returns HR_NO_MEMORY if out of memory. */
enum hr_status hr__fairness_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                 struct hr_fairness *fairness);

/* ---- Rejected jobs by reason ----------------------------------------------------------------------- */

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

/* ---- Usage: fragmentation -------------------------------------------------------------------------- */

/* The usage of the cluster over time: integrals of waiting jobs, allocated GPUs and present GPUs, for the whole cluster
   and by pool; and fragmentation, in clusters with per-GPU allocation. docs/reference/metrics.md defines the
   fragmentation counts. */

struct hr__fragment_counts {
  hr__wide fragment;       /* F of all nodes, summed over the typical pods: milli-GPUs x fragment_pods */
  uint64_t stranded_milli; /* idle GPUs on nodes with too little free CPU or memory for every typical task */
  uint64_t largest_gang;   /* maximum number of one-GPU tasks that fit into one pool at the same time */
};

struct hr__fragments;

/* ---- Usage: by pool -------------------------------------------------------------------------------- */

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

/* Returns whether a job releases its GPUs at an event of this kind. */
static inline bool hr__releases(enum hr_event_kind kind) {
  return kind == HR_EVENT_END || kind == HR_EVENT_INTERRUPT || kind == HR_EVENT_PREEMPT;
}

/* Returns the number of acquired nodes of a pool. */
static inline uint32_t hr__acquired_nodes(const struct hr_cluster *cluster, hr_pool pool) {
  return hr_cluster_nodes_in(cluster, pool, HR_NODE_UP) + hr_cluster_nodes_in(cluster, pool, HR_NODE_BOOTING) +
         hr_cluster_nodes_in(cluster, pool, HR_NODE_CLOSING);
}

/* Returns the integrals of a pool up to `until_us`, which must be at or after pool->until_us. */
static inline struct hr__pool_time hr__pool_time_at(const struct hr__usage_pool *pool, int64_t until_us) {
  uint64_t passed_us = (uint64_t)(until_us - pool->until_us);
  return (struct hr__pool_time){pool->now.allocated_milli + (hr__wide)pool->allocated_milli * passed_us,
                                pool->now.total_milli + (hr__wide)pool->total_milli * passed_us};
}

/* ---- Usage: the whole cluster ---------------------------------------------------------------------- */

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

/* ---- Costs ----------------------------------------------------------------------------------------- */

/* Costs of a run: amounts, the meter, cost items and cost tables. */

/* ---- Costs: amounts -------------------------------------------------------------------------------- */

/* Rounds and splits integer amounts so that the parts sum to the whole. */

/* Returns part / whole, rounded to the nearest integer; halves are rounded up. `whole` must be > 0. */
static inline hr_amount hr__divided(hr_amount part, hr_amount whole) {
  hr_amount twice = 2 * part + whole, quotient = twice / (2 * whole);
  return twice % (2 * whole) < 0 ? quotient - 1 : quotient;
}

/* Converts each of `amounts` (>= 0) to a whole number of `unit`s. Amounts are rounded down or up so that the parts sum
   to the rounded sum of the amounts. The amounts that are rounded up are those with the largest remainders; if
   remainders are equal, the amount with the smaller index is rounded up first. Returns HR_BAD_INPUT if the sum is
   HR__MAX_UUSD units or more, HR_NO_MEMORY if out of memory. */
enum hr_status hr__apportion(const hr_amount *amounts, size_t count, hr_amount unit, int64_t *parts);

/* Splits an amount (>= 0) in proportion to weights (>= 0). The parts sum to the amount. If all weights are 0, the first
   part is the whole amount. */
void hr__spread(hr_amount amount, const hr_amount *weights, size_t count, hr_amount *parts);

/* All sums of money in micro-dollars must be below this bound, which is about 4.6 trillion dollars. */
#define HR__MAX_UUSD (INT64_C(1) << 62)

/*
 * Costs of a run. The ledger (headroom/market.h) records charges for GPUs during the run. The meter integrates the
 * rates that the ledger does not record, cost_items.c lists the cost items, and costs.c sums the items into the tables
 * of the summary. Every dollar is in exactly one item, so every table sums to the total.
 *
 * Unless stated otherwise, amounts of type hr_amount are in units of the ledger; a micro-dollar has
 * HR_LEDGER_UNITS_PER_UUSD of them. Months have the constant length HR_MONTH_US and are counted from 0 at the begin of
 * the run.
 */

/* ---- Costs: meter ---------------------------------------------------------------------------------- */

/* Integrals over one month of the run. */
struct hr__meter_month {
  hr_amount covered;        /* list price of the on-demand usage that savings plans cover, in units of the ledger */
  hr_amount withheld_milli; /* spot GPUs that waiting jobs could use but the market did not offer: milli-GPUs x
                               microseconds */
};

/* The integrals of a closed meter. The meter owns the arrays. */
struct hr__meter_sums {
  const struct hr__meter_month *months; /* [n_months] */
  const hr_amount *node_us;             /* [n_months][n_pools]: paid node time of elastic pools; 0 for other pools */
  uint32_t n_months;                    /* number of months for which there are integrals */
};

/* ---- Costs: cost items ----------------------------------------------------------------------------- */

enum hr__cost_kind {
  HR__COST_USE, /* GPUs used by jobs */
  HR__COST_IDLE,
  HR__COST_STORAGE,
  HR__COST_EGRESS,
  HR__COST_OPERATIONS,
  HR__COST_DOWNTIME,
  HR__COST_SAVINGS_PLAN, /* fees minus the list price of the usage that the plans cover */
  HR__COST_KINDS
};

struct hr__cost_item {
  enum hr__cost_kind kind;
  uint32_t tenant; /* HR_NONE: idle capacity or a shared cost */
  uint32_t month;
  uint32_t pool;    /* HR_NONE unless the kind is HR__COST_USE or HR__COST_IDLE */
  uint32_t service; /* only HR__COST_USE: index of the inference service; HR_NONE: a job of the trace */
  uint8_t class_;
  int64_t uusd;
  hr_amount amount;   /* only HR__COST_USE and HR__COST_IDLE: the cost before rounding, in units of the ledger */
  hr_amount gpu_time; /* only HR__COST_USE and HR__COST_IDLE: milli-GPUs x microseconds */
};

struct hr__costing {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_result *result;
  const struct hr_cost_basis *basis;
  /* Names of tenants. First the tenants of the trace; then, at index `no_tenant`, the name "" for jobs without a
     tenant; then tenants that occur only in the scenario. */
  const char **tenants;
  uint32_t n_tenants, no_tenant;
  uint32_t n_months;      /* number of months with charges */
  uint32_t *first_of_gpu; /* by pool: index of the first pool with the same GPU type */
  struct hr__meter_sums meter;
  struct hr__cost_item *items;
  uint32_t n_items, capacity;
};

/* Lists all items of a run and closes the meter of `basis`. All arguments must outlive `costing`. Returns HR_BAD_INPUT
   if an amount is too large, HR_NO_MEMORY if out of memory. Call hr__costing_finish() even on failure. */
enum hr_status hr__costing_init(struct hr__costing *costing, const struct hr_trace *trace,
                                const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                const struct hr_cost_basis *basis);
static inline void hr__costing_finish(struct hr__costing *costing) {
  free(costing->tenants);
  free(costing->first_of_gpu);
  free(costing->items);
}
/* Returns the index of a tenant; HR_NONE if the name occurs in neither the trace nor the scenario. */
static inline uint32_t hr__costing_tenant(const struct hr__costing *costing, const char *name) {
  for (uint32_t i = 0; i < costing->n_tenants; i++)
    if (i != costing->no_tenant && strcmp(costing->tenants[i], name) == 0) return i;
  return HR_NONE;
}

static inline const char *hr__name_or_empty(const char *name) {
  return name ? name : "";
}

/* Returns whether the job was submitted and has a deadline. */
static inline bool hr__has_deadline(const struct hr_result *result, uint32_t job) {
  return result->trace->deadline_us && result->trace->deadline_us[job] >= 0 && result->state[job] != HR_JOB_FUTURE;
}

/* Returns whether the job missed its deadline. A rejected job missed it; any other job missed it if the deadline is
   before the end of the run and the job was not complete at the deadline. */
static inline bool hr__missed_deadline(const struct hr_result *result, uint32_t job) {
  if (!hr__has_deadline(result, job)) return false;
  if (result->state[job] == HR_JOB_REJECTED) return true;
  int64_t deadline_us = result->trace->deadline_us[job];
  return deadline_us < result->end_us && hr_result_end_us(result, (hr_job){job}) > deadline_us;
}

/* ---- Costs: summary -------------------------------------------------------------------------------- */

/* Names of lines that belong to no tenant, pool or class. */
extern const char hr__idle_name[], hr__shared_name[], hr__services_name[];

/* Computes the costs of a run and closes the meter of `basis`. `useful_milli_us` is the useful GPU time of the run in
   milli-GPUs x microseconds. The caller frees *costs with hr__costs_destroy(), even on failure. Returns HR_BAD_INPUT if
   a sum is too large, HR_NO_MEMORY if out of memory. */
enum hr_status hr__costs_make(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                              const struct hr_result *result, const struct hr_cost_basis *basis,
                              hr_amount useful_milli_us, struct hr_cost_summary **costs);
void hr__costs_destroy(struct hr_cost_summary *costs);

/* ---- Alerts ---------------------------------------------------------------------------------------- */

/* The interface of a group of alert rules, the list of alerts to which the rules append, and the groups. */

struct hr__alert_log {
  struct hr_alert *list;
  uint32_t count, capacity;
  bool failed; /* memory ran out, so the list of alerts is incomplete */
};

/* Appends an alert; sets log->failed if out of memory. */
static inline void hr__alert_log_add(struct hr__alert_log *log, struct hr_alert alert) {
  if (HR__ARRAY_HAS_ROOM(log->list, log->count, log->capacity))
    log->list[log->count++] = alert;
  else
    log->failed = true;
}

/* A group of rules that observe a run and append alerts to a log. `self` is the object that `create` returned. */
struct hr__alert_watcher {
  /* Returns NULL if out of memory. The log and all objects to which `config` points must outlive the result. A rule
     that the scenario disables appends no alerts. */
  void *(*create)(const struct hr_alerts_config *config, struct hr__alert_log *log);
  void (*destroy)(void *self); /* `self` may be NULL */
  /* Updates the state of the rules. Called for every event in time order. */
  void (*note)(void *self, const struct hr_event *event);
  /* Called after each pass of the policy; may be NULL. */
  void (*instant)(void *self, const struct hr_view *view);
  /* Appends the alerts that last until the end of the run at `end_us`, and the alerts that are derived from `costs`.
     `costs` is NULL for runs without prices. */
  void (*close)(void *self, const struct hr_cost_summary *costs, int64_t end_us);
};

extern const struct hr__alert_watcher hr__alert_budgets; /* `over-budget` */
extern const struct hr__alert_watcher hr__alert_heat;    /* `gpus-hot` */
/* Appends the alerts of inference services after their run. `origin_us`: time 0 of the run in the clock of the
   requests. The log borrows the names of the services. */
void hr__alert_services(const struct hr_alert_rules *rules, const struct hr_served *served, uint32_t count,
                        int64_t origin_us, struct hr__alert_log *log);

/* Copies the closed alerts of a run into the parcel of another process, or out of it, as hr__parcel_summary does. */
void hr__parcel_alerts(struct hr__parcel *parcel, struct hr_alerts **alerts);

#endif
