/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_MEASURES_H
#define HR_PLAN_RUNNER_MEASURES_H

/*
 * The metrics of a run that comparisons, replications, checks, sweeps and plans use: a table of names, units and kinds.
 *
 * A metric has two names: its path in the JSON summary ("wait_s.p95") and its column in CSV and SQLite files
 * ("wait_p95_s"). A figure is a metric of all jobs, of one class or of one tenant ("wait_s.p95 of inference").
 */

#include "plan/runner/one_run.h"

#include <math.h>
#include <string.h>

/* The value of an unknown metric. */
#define HR__UNKNOWN ((double)NAN)

enum hr__unit { HR__SECONDS, HR__FACTOR, HR__SHARE, HR__INDEX, HR__COUNT, HR__GPU_HOURS, HR__DOLLARS };

/* Selects the interval of a metric over several runs. Means and sums have Student's interval of the mean. Quantiles
   have the interval of the median from order statistics (plan/runner/intervals.h), since their distribution over runs
   is far from normal. */
enum hr__measure_kind { HR__MEAN, HR__QUANTILE };

#define HR__DISTRIBUTION_TABLE(X, ID, path, first, last, unit, groups)                                                 \
  X(ID##_MEAN, path ".mean", first "mean" last, unit, HR__MEAN, groups)                                                \
  X(ID##_P50, path ".p50", first "p50" last, unit, HR__QUANTILE, groups)                                               \
  X(ID##_P90, path ".p90", first "p90" last, unit, HR__QUANTILE, groups)                                               \
  X(ID##_P95, path ".p95", first "p95" last, unit, HR__QUANTILE, groups)                                               \
  X(ID##_P99, path ".p99", first "p99" last, unit, HR__QUANTILE, groups)                                               \
  X(ID##_MAX, path ".max", first "max" last, unit, HR__QUANTILE, groups)

/* Columns: id, path, column, unit, kind, whether classes and tenants have the metric. */
#define HR__MEASURE_TABLE(X)                                                                                           \
  X(HR__M_SUBMITTED, "jobs.submitted", "jobs_submitted", HR__COUNT, HR__MEAN, true)                                    \
  X(HR__M_COMPLETED, "jobs.completed", "jobs_completed", HR__COUNT, HR__MEAN, true)                                    \
  X(HR__M_REJECTED, "jobs.rejected", "jobs_rejected", HR__COUNT, HR__MEAN, false)                                      \
  X(HR__M_UNFINISHED, "jobs.unfinished", "jobs_unfinished", HR__COUNT, HR__MEAN, false)                                \
  X(HR__M_BACKFILLED, "jobs.backfilled", "jobs_backfilled", HR__COUNT, HR__MEAN, false)                                \
  X(HR__M_COMPLETED_SHARE, "completed", "completed_share", HR__SHARE, HR__MEAN, true)                                  \
  X(HR__M_DEADLINE_MISS, "deadline_miss", "deadline_miss_share", HR__SHARE, HR__MEAN, true)                            \
  HR__DISTRIBUTION_TABLE(X, HR__M_WAIT, "wait_s", "wait_", "_s", HR__SECONDS, true)                                    \
  HR__DISTRIBUTION_TABLE(X, HR__M_JCT, "jct_s", "jct_", "_s", HR__SECONDS, true)                                       \
  HR__DISTRIBUTION_TABLE(X, HR__M_SLOWDOWN, "slowdown", "slowdown_", "", HR__FACTOR, true)                             \
  X(HR__M_MAKESPAN, "makespan_s", "makespan_s", HR__SECONDS, HR__MEAN, false)                                          \
  X(HR__M_SUBMIT_WINDOW, "submit_window_s", "submit_window_s", HR__SECONDS, HR__MEAN, false)                           \
  X(HR__M_UTILIZATION_SUBMIT_WINDOW, "utilization.submit_window", "utilization_submit_window", HR__SHARE, HR__MEAN,    \
    false)                                                                                                             \
  X(HR__M_UTILIZATION_MAKESPAN, "utilization.makespan", "utilization_makespan", HR__SHARE, HR__MEAN, false)            \
  X(HR__M_QUEUE_MEAN, "queue.mean", "queue_mean", HR__COUNT, HR__MEAN, false)                                          \
  X(HR__M_QUEUE_MAX, "queue.max", "queue_max", HR__COUNT, HR__QUANTILE, false)                                         \
  X(HR__M_GPU_HOURS, "gpu_hours", "gpu_hours", HR__GPU_HOURS, HR__MEAN, true)                                          \
  X(HR__M_USEFUL, "goodput.useful_gpu_hours", "useful_gpu_hours", HR__GPU_HOURS, HR__MEAN, true)                       \
  X(HR__M_LOST, "goodput.lost_gpu_hours", "lost_gpu_hours", HR__GPU_HOURS, HR__MEAN, false)                            \
  X(HR__M_SAVING, "goodput.checkpoint_gpu_hours", "checkpoint_gpu_hours", HR__GPU_HOURS, HR__MEAN, false)              \
  X(HR__M_RESTARTING, "goodput.restart_gpu_hours", "restart_gpu_hours", HR__GPU_HOURS, HR__MEAN, false)                \
  X(HR__M_GOODPUT, "goodput.fraction", "goodput_fraction", HR__SHARE, HR__MEAN, false)                                 \
  X(HR__M_PREEMPTIONS, "preemptions", "preemptions", HR__COUNT, HR__MEAN, false)                                       \
  X(HR__M_RESTARTS, "restarts", "restarts", HR__COUNT, HR__MEAN, false)                                                \
  X(HR__M_RECLAIMS, "spot.reclaims", "spot_reclaims", HR__COUNT, HR__MEAN, false)                                      \
  X(HR__M_RECLAIM_RATE, "spot.reclaims_per_node_hour", "spot_reclaims_per_node_hour", HR__FACTOR, HR__MEAN, false)     \
  X(HR__M_INTERRUPTED, "spot.jobs_interrupted", "spot_jobs_interrupted", HR__COUNT, HR__MEAN, false)                   \
  X(HR__M_SPOT_HOURS, "spot.gpu_hours", "spot_gpu_hours", HR__GPU_HOURS, HR__MEAN, false)                              \
  X(HR__M_SPOT_AVAILABILITY, "spot.availability", "spot_availability", HR__SHARE, HR__MEAN, false)                     \
  X(HR__M_OOM_KILLS, "oom_kills.count", "oom_kills", HR__COUNT, HR__MEAN, false)                                       \
  X(HR__M_JAIN, "fairness.jain", "jain", HR__INDEX, HR__MEAN, false)                                                   \
  X(HR__M_RHO_MEAN, "fairness.finish_time_fairness.mean", "finish_time_fairness_mean", HR__FACTOR, HR__MEAN, false)    \
  X(HR__M_RHO_P95, "fairness.finish_time_fairness.p95", "finish_time_fairness_p95", HR__FACTOR, HR__QUANTILE, false)   \
  X(HR__M_RHO_MAX, "fairness.finish_time_fairness.max", "finish_time_fairness_max", HR__FACTOR, HR__QUANTILE, false)   \
  X(HR__M_RHO_ABOVE_1, "fairness.finish_time_fairness.share_above_1", "finish_time_fairness_share_above_1", HR__SHARE, \
    HR__MEAN, false)                                                                                                   \
  X(HR__M_FRAGMENTS_SUBMITS, "fragmentation.submit_window", "fragmentation_submit_window", HR__SHARE, HR__MEAN, false) \
  X(HR__M_FRAGMENTS_MAKESPAN, "fragmentation.makespan", "fragmentation_makespan", HR__SHARE, HR__MEAN, false)          \
  X(HR__M_STRANDED, "fragmentation.stranded", "stranded", HR__SHARE, HR__MEAN, false)                                  \
  X(HR__M_GANG_MEAN, "fragmentation.largest_gang.mean", "largest_gang_mean", HR__COUNT, HR__MEAN, false)               \
  X(HR__M_GANG_MIN, "fragmentation.largest_gang.min", "largest_gang_min", HR__COUNT, HR__QUANTILE, false)              \
  X(HR__M_COST, "cost.total_usd", "cost_total_usd", HR__DOLLARS, HR__MEAN, true)                                       \
  X(HR__M_COST_CAPACITY, "cost.capacity_usd", "cost_capacity_usd", HR__DOLLARS, HR__MEAN, false)                       \
  X(HR__M_COST_IDLE, "cost.idle_usd", "cost_idle_usd", HR__DOLLARS, HR__MEAN, false)                                   \
  X(HR__M_ALL_ON_DEMAND, "cost.all_on_demand_usd", "cost_all_on_demand_usd", HR__DOLLARS, HR__MEAN, false)             \
  X(HR__M_PER_JOB, "cost.usd_per_completed_job", "usd_per_completed_job", HR__DOLLARS, HR__MEAN, false)                \
  X(HR__M_PER_GOODPUT, "cost.usd_per_goodput_gpu_hour", "usd_per_goodput_gpu_hour", HR__DOLLARS, HR__MEAN, false)      \
  X(HR__M_PER_MONTH, "cost.usd_per_month", "usd_per_month", HR__DOLLARS, HR__MEAN, false)                              \
  X(HR__M_MONTHLY, "monthly_usd", "monthly_usd", HR__DOLLARS, HR__MEAN, false)

enum hr__measure {
#define HR__MEASURE_ID(id, path, column, unit, kind, groups) id,
  HR__MEASURE_TABLE(HR__MEASURE_ID)
#undef HR__MEASURE_ID
      HR__N_MEASURES
};

struct hr__measure_info {
  const char *path, *column;
  enum hr__unit unit;
  enum hr__measure_kind kind;
  bool of_groups;
};
extern const struct hr__measure_info hr__measure_infos[HR__N_MEASURES];

/* Writes the metrics of a run, or of one class or tenant of a run, to `values`; NaN if unknown. `lines`: the costs of
   the groups by name; NULL if unknown. */
void hr__measures_of_run(const struct hr__one_run *run, double values[HR__N_MEASURES]);
void hr__measures_of_group(const struct hr_group *group, const struct hr_cost_lines *lines,
                           double values[HR__N_MEASURES]);

/* Finds a metric by its path, its column or an alias, such as "usd_per_job". Returns HR__N_MEASURES if no metric has
   the name. */
enum hr__measure hr__measure_find(const char *name, size_t length);
/* Writes the NULL-terminated paths of all metrics, or of the metrics that groups have (`of_groups`), for
   hr_nearest_word. */
static inline void hr__measure_names(bool of_groups, const char *names[HR__N_MEASURES + 1]) {
  size_t count = 0;
  for (size_t i = 0; i < HR__N_MEASURES; i++)
    if (hr__measure_infos[i].of_groups || !of_groups) names[count++] = hr__measure_infos[i].path;
  names[count] = NULL;
}

/* ---- Figures: a metric of all jobs or of a group ---------------------------------------------------- */

enum hr__figure_scope { HR__OF_ALL, HR__OF_CLASS, HR__OF_TENANT };

struct hr__figure {
  enum hr__measure measure;
  enum hr__figure_scope of;
  const char *name; /* of the class or tenant, borrowed from the trace or the table of classes; NULL: all jobs */
};

/* Parses `length` bytes such as "wait_s.p95", "wait_s.p95 of inference" or "completed of tenant retail". "of X" means
   the class X if such a class exists, otherwise the tenant X of `trace`. "of class X" and "of tenant X" are explicit.
   An HR_BAD_INPUT error has no location; the caller adds it. */
enum hr_status hr__figure_parse(const char *text, size_t length, const struct hr_trace *trace,
                                struct hr__figure *figure, struct hr_error *error);

/* Whether both figures are of the same group: of all jobs, or of the same class or tenant. */
static inline bool hr__figure_same_group(const struct hr__figure *a, const struct hr__figure *b) {
  return a->of == b->of && (a->of == HR__OF_ALL || strcmp(a->name, b->name) == 0);
}

static inline bool hr__figure_same(const struct hr__figure *a, const struct hr__figure *b) {
  return a->measure == b->measure && hr__figure_same_group(a, b);
}

enum { HR__FIGURE_NAME_BYTES = 300 };
/* Writes "wait_s.p95 of inference" to `buffer`, which has HR__FIGURE_NAME_BYTES bytes, and returns the buffer. */
const char *hr__figure_name(const struct hr__figure *figure, char *buffer);

/* Writes the values of `count` figures of a run to an array; NaN if unknown. Consecutive figures of one group need only
   one search for the group. */
void hr__figures_of_run(const struct hr__one_run *run, const struct hr__figure *figures, size_t count, double *values);

/* ---- Text -------------------------------------------------------------------------------------------- */

enum { HR__FIGURE_BYTES = 64 };

/* The functions below write to `buffer`, which has HR__FIGURE_BYTES bytes, and return it. hr__figure_text writes a
   value with its unit, or "-" if the value is unknown. */
const char *hr__figure_text(enum hr__unit unit, double value, char *buffer);
/* Writes a difference with its sign, "=" if it is zero, "-" if it is unknown. */
const char *hr__difference_text(enum hr__unit unit, double difference, char *buffer);
/* Writes half the width of the interval low..high after a plus-minus sign, or "-" if the interval is unknown. */
const char *hr__margin_text(enum hr__unit unit, double low, double high, char *buffer);

#endif
