/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_MEASURES_H
#define HR_PLAN_RUNNER_MEASURES_H

/*
 * Every figure of a run that many runs are judged by: one table, from which comparisons, replications, sweeps and plans
 * take names, units and values.
 *
 * A figure has two names: its path in the JSON summary ("wait_s.p95"), and one for columns of files ("wait_p95_s").
 */

#include "plan/runner/one_run.h"

#include <math.h>

/* What a run does not have, or cannot be told. */
#define HR__UNKNOWN ((double)NAN)

enum hr__unit { HR__SECONDS, HR__FACTOR, HR__SHARE, HR__INDEX, HR__COUNT, HR__GPU_HOURS, HR__DOLLARS };

/* How the figure of a run comes about, and so what its interval over many runs is of: means and sums have Student's
   interval of their mean; quantiles, whose distribution over runs is anything but normal, have that of their median
   from order statistics. */
enum hr__measure_kind { HR__MEAN, HR__QUANTILE };

#define HR__DISTRIBUTION_TABLE(X, ID, path, first, last, unit, groups)                                                 \
  X(ID##_MEAN, path ".mean", first "mean" last, unit, HR__MEAN, groups)                                                \
  X(ID##_P50, path ".p50", first "p50" last, unit, HR__QUANTILE, groups)                                               \
  X(ID##_P90, path ".p90", first "p90" last, unit, HR__QUANTILE, groups)                                               \
  X(ID##_P95, path ".p95", first "p95" last, unit, HR__QUANTILE, groups)                                               \
  X(ID##_P99, path ".p99", first "p99" last, unit, HR__QUANTILE, groups)                                               \
  X(ID##_MAX, path ".max", first "max" last, unit, HR__QUANTILE, groups)

/* Id, path, column, unit, kind, and whether a class or a tenant has it, too. */
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

/* Of a run, and of a class or tenant in it; NaN for what it has not. `lines`: what the groups cost, by name; NULL:
   unknown. */
void hr__measures_of_run(const struct hr__one_run *run, double values[HR__N_MEASURES]);
void hr__measures_of_group(const struct hr_group *group, const struct hr_cost_lines *lines,
                           double values[HR__N_MEASURES]);

/* By path, column or a short name that people use ("cost_usd", "usd_per_job"); HR__N_MEASURES for none. */
enum hr__measure hr__measure_find(const char *name, size_t length);
/* Paths of all, or of those that groups have, ended by NULL: for errors that name the nearest. */
void hr__measure_names(bool of_groups, const char *names[HR__N_MEASURES + 1]);

/* A figure of a run as people name it: "wait_s.p95", "wait_s.p95 of inference", "completed of tenant retail". */

enum hr__figure_scope { HR__OF_ALL, HR__OF_CLASS, HR__OF_TENANT };

struct hr__figure {
  enum hr__measure measure;
  enum hr__figure_scope of;
  const char *name; /* of the class or tenant, from the trace or from the table of classes; NULL: of all */
};

/* Reads the `length` bytes at `text`. "of X" is a class if X is one, and else a tenant of the trace; "of class X", "of
   tenant X" say which. Errors say what is wrong in it, not where it stands. */
enum hr_status hr__figure_parse(const char *text, size_t length, const struct hr_trace *trace,
                                struct hr__figure *figure, struct hr_error *error);
bool hr__figure_same(const struct hr__figure *a, const struct hr__figure *b);

/* "wait_s.p95 of inference" into `buffer`, which it returns. */
enum { HR__FIGURE_NAME_BYTES = 300 };
const char *hr__figure_name(const struct hr__figure *figure, char *buffer);

/* Their values in a run; NaN for what it has not. Figures of one class or tenant side by side are looked up once. */
void hr__figures_of_run(const struct hr__one_run *run, const struct hr__figure *figures, size_t count, double *values);

/* The figures that comparisons show, and where in their tables. */

/* What it is; block of the table and column in it. Blocks have at most five columns. */
#define HR__METRIC_TABLE(X)                                                                                            \
  X(HR__WAIT_MEAN, HR__M_WAIT_MEAN, "wait", "mean")                                                                    \
  X(HR__WAIT_P50, HR__M_WAIT_P50, "wait", "p50")                                                                       \
  X(HR__WAIT_P95, HR__M_WAIT_P95, "wait", "p95")                                                                       \
  X(HR__WAIT_P99, HR__M_WAIT_P99, "wait", "p99")                                                                       \
  X(HR__WAIT_MAX, HR__M_WAIT_MAX, "wait", "max")                                                                       \
  X(HR__JCT_MEAN, HR__M_JCT_MEAN, "completion", "mean jct")                                                            \
  X(HR__JCT_P95, HR__M_JCT_P95, "completion", "p95 jct")                                                               \
  X(HR__SLOWDOWN_MEAN, HR__M_SLOWDOWN_MEAN, "completion", "slowdown")                                                  \
  X(HR__SLOWDOWN_P95, HR__M_SLOWDOWN_P95, "completion", "p95 slowd.")                                                  \
  X(HR__MAKESPAN, HR__M_MAKESPAN, "completion", "makespan")                                                            \
  X(HR__BUSY_SUBMITS, HR__M_UTILIZATION_SUBMIT_WINDOW, "use", "GPUs, window")                                          \
  X(HR__BUSY_MAKESPAN, HR__M_UTILIZATION_MAKESPAN, "use", "GPUs, span")                                                \
  X(HR__COMPLETED, HR__M_COMPLETED, "use", "completed")                                                                \
  X(HR__UNFINISHED, HR__M_UNFINISHED, "use", "unfinished")                                                             \
  X(HR__COST, HR__M_COST, "use", "cost")                                                                               \
  X(HR__PREEMPTIONS, HR__M_PREEMPTIONS, "stops", "preempted")                                                          \
  X(HR__RESTARTS, HR__M_RESTARTS, "stops", "restarts")                                                                 \
  X(HR__LOST, HR__M_LOST, "stops", "GPU h lost")                                                                       \
  X(HR__JAIN, HR__M_JAIN, "fairness", "Jain")                                                                          \
  X(HR__RHO_MEAN, HR__M_RHO_MEAN, "fairness", "mean rho")                                                              \
  X(HR__RHO_P95, HR__M_RHO_P95, "fairness", "p95 rho")                                                                 \
  X(HR__RHO_MAX, HR__M_RHO_MAX, "fairness", "max rho")                                                                 \
  X(HR__RHO_ABOVE_1, HR__M_RHO_ABOVE_1, "fairness", "rho > 1")                                                         \
  X(HR__FRAGMENTS_SUBMITS, HR__M_FRAGMENTS_SUBMITS, "fragments", "F, window")                                          \
  X(HR__FRAGMENTS_MAKESPAN, HR__M_FRAGMENTS_MAKESPAN, "fragments", "F, span")                                          \
  X(HR__STRANDED, HR__M_STRANDED, "fragments", "stranded")                                                             \
  X(HR__GANG_MEAN, HR__M_GANG_MEAN, "fragments", "largest gang")                                                       \
  X(HR__GANG_MIN, HR__M_GANG_MIN, "fragments", "at least")

enum hr__metric {
#define HR__METRIC_ID(id, measure, block, title) id,
  HR__METRIC_TABLE(HR__METRIC_ID)
#undef HR__METRIC_ID
      HR__N_METRICS
};

/* Likewise of a tenant or a class. */
#define HR__GROUP_METRIC_TABLE(X)                                                                                      \
  X(HR__GROUP_WAIT_MEAN, HR__M_WAIT_MEAN, "", "mean wait")                                                             \
  X(HR__GROUP_WAIT_P95, HR__M_WAIT_P95, "", "p95 wait")                                                                \
  X(HR__GROUP_JCT_MEAN, HR__M_JCT_MEAN, "", "mean jct")                                                                \
  X(HR__GROUP_SLOWDOWN_MEAN, HR__M_SLOWDOWN_MEAN, "", "slowdown")

enum hr__group_metric {
#define HR__METRIC_ID(id, measure, block, title) id,
  HR__GROUP_METRIC_TABLE(HR__METRIC_ID)
#undef HR__METRIC_ID
      HR__N_GROUP_METRICS
};

struct hr__metric_info {
  enum hr__measure measure;
  const char *block, *title;
};
extern const struct hr__metric_info hr__metric_infos[HR__N_METRICS];
extern const struct hr__metric_info hr__group_metric_infos[HR__N_GROUP_METRICS];

static inline const char *hr__metric_name(const struct hr__metric_info *info) {
  return hr__measure_infos[info->measure].column;
}

static inline enum hr__unit hr__metric_unit(const struct hr__metric_info *info) {
  return hr__measure_infos[info->measure].unit;
}

/* NaN for what a run has not. */
void hr__metrics_of_run(const struct hr__one_run *run, double values[HR__N_METRICS]);
void hr__metrics_of_group(const struct hr_group *group, double values[HR__N_GROUP_METRICS]);

#endif
