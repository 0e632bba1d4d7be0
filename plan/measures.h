/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_MEASURES_H
#define HR_PLAN_MEASURES_H

/*
 * Every figure of a run that many runs are judged by: one table, from which comparisons, replications, sweeps and plans
 * take names, units and values.
 *
 * A figure has two names: its path in the JSON summary ("wait_s.p95"), and one for columns of files ("wait_p95_s").
 */

#include "plan/one_run.h"

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
  X(HR__M_BUSY_SUBMITS, "utilization.submit_window", "utilization_submit_window", HR__SHARE, HR__MEAN, false)          \
  X(HR__M_BUSY_MAKESPAN, "utilization.makespan", "utilization_makespan", HR__SHARE, HR__MEAN, false)                   \
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
  X(HR__M_SPOT_THERE, "spot.availability", "spot_availability", HR__SHARE, HR__MEAN, false)                            \
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

#endif
