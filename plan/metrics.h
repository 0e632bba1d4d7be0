/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_METRICS_H
#define HR_PLAN_METRICS_H

/* The figures that are compared. */

#include "plan/one_run.h"

#include <math.h>

/* What a run does not have, or cannot be told. */
#define HR__UNKNOWN ((double)NAN)

enum hr__unit { HR__SECONDS, HR__FACTOR, HR__SHARE, HR__INDEX, HR__COUNT, HR__GPU_HOURS, HR__DOLLARS };

/* Name in files; block of the table and column in it; unit. Blocks have at most five columns. */
#define HR__METRIC_TABLE(X)                                                                                            \
  X(HR__WAIT_MEAN, "wait_mean_s", "wait", "mean", HR__SECONDS)                                                         \
  X(HR__WAIT_P50, "wait_p50_s", "wait", "p50", HR__SECONDS)                                                            \
  X(HR__WAIT_P95, "wait_p95_s", "wait", "p95", HR__SECONDS)                                                            \
  X(HR__WAIT_P99, "wait_p99_s", "wait", "p99", HR__SECONDS)                                                            \
  X(HR__WAIT_MAX, "wait_max_s", "wait", "max", HR__SECONDS)                                                            \
  X(HR__JCT_MEAN, "jct_mean_s", "completion", "mean jct", HR__SECONDS)                                                 \
  X(HR__JCT_P95, "jct_p95_s", "completion", "p95 jct", HR__SECONDS)                                                    \
  X(HR__SLOWDOWN_MEAN, "slowdown_mean", "completion", "slowdown", HR__FACTOR)                                          \
  X(HR__SLOWDOWN_P95, "slowdown_p95", "completion", "p95 slowd.", HR__FACTOR)                                          \
  X(HR__MAKESPAN, "makespan_s", "completion", "makespan", HR__SECONDS)                                                 \
  X(HR__BUSY_SUBMITS, "utilization_submit_window", "use", "GPUs, window", HR__SHARE)                                   \
  X(HR__BUSY_MAKESPAN, "utilization_makespan", "use", "GPUs, span", HR__SHARE)                                         \
  X(HR__COMPLETED, "jobs_completed", "use", "completed", HR__COUNT)                                                    \
  X(HR__UNFINISHED, "jobs_unfinished", "use", "unfinished", HR__COUNT)                                                 \
  X(HR__COST, "cost_total_usd", "use", "cost", HR__DOLLARS)                                                            \
  X(HR__PREEMPTIONS, "preemptions", "stops", "preempted", HR__COUNT)                                                   \
  X(HR__RESTARTS, "restarts", "stops", "restarts", HR__COUNT)                                                          \
  X(HR__LOST, "lost_gpu_hours", "stops", "GPU h lost", HR__GPU_HOURS)                                                  \
  X(HR__JAIN, "jain", "fairness", "Jain", HR__INDEX)                                                                   \
  X(HR__RHO_MEAN, "finish_time_fairness_mean", "fairness", "mean rho", HR__FACTOR)                                     \
  X(HR__RHO_P95, "finish_time_fairness_p95", "fairness", "p95 rho", HR__FACTOR)                                        \
  X(HR__RHO_MAX, "finish_time_fairness_max", "fairness", "max rho", HR__FACTOR)                                        \
  X(HR__RHO_ABOVE_1, "finish_time_fairness_share_above_1", "fairness", "rho > 1", HR__SHARE)                           \
  X(HR__FRAGMENTS_SUBMITS, "fragmentation_submit_window", "fragments", "F, window", HR__SHARE)                         \
  X(HR__FRAGMENTS_MAKESPAN, "fragmentation_makespan", "fragments", "F, span", HR__SHARE)                               \
  X(HR__STRANDED, "stranded", "fragments", "stranded", HR__SHARE)                                                      \
  X(HR__GANG_MEAN, "largest_gang_mean", "fragments", "largest gang", HR__COUNT)                                        \
  X(HR__GANG_MIN, "largest_gang_min", "fragments", "at least", HR__COUNT)

enum hr__metric {
#define HR__METRIC_ID(id, name, block, title, unit) id,
  HR__METRIC_TABLE(HR__METRIC_ID)
#undef HR__METRIC_ID
      HR__N_METRICS
};

/* Likewise of a tenant or a class. */
#define HR__GROUP_METRIC_TABLE(X)                                                                                      \
  X(HR__GROUP_WAIT_MEAN, "wait_mean_s", "", "mean wait", HR__SECONDS)                                                  \
  X(HR__GROUP_WAIT_P95, "wait_p95_s", "", "p95 wait", HR__SECONDS)                                                     \
  X(HR__GROUP_JCT_MEAN, "jct_mean_s", "", "mean jct", HR__SECONDS)                                                     \
  X(HR__GROUP_SLOWDOWN_MEAN, "slowdown_mean", "", "slowdown", HR__FACTOR)

enum hr__group_metric {
#define HR__METRIC_ID(id, name, block, title, unit) id,
  HR__GROUP_METRIC_TABLE(HR__METRIC_ID)
#undef HR__METRIC_ID
      HR__N_GROUP_METRICS
};

struct hr__metric_info {
  const char *name, *block, *title;
  enum hr__unit unit;
};
extern const struct hr__metric_info hr__metric_infos[HR__N_METRICS];
extern const struct hr__metric_info hr__group_metric_infos[HR__N_GROUP_METRICS];

/* NaN for what a run has not. */
void hr__metrics_of_run(const struct hr__one_run *run, double values[HR__N_METRICS]);
void hr__metrics_of_group(const struct hr_group *group, double values[HR__N_GROUP_METRICS]);

#endif
