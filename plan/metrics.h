/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_METRICS_H
#define HR_PLAN_METRICS_H

/* The figures that comparisons show, and where in their tables. */

#include "plan/measures.h"

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
  X(HR__BUSY_SUBMITS, HR__M_BUSY_SUBMITS, "use", "GPUs, window")                                                       \
  X(HR__BUSY_MAKESPAN, HR__M_BUSY_MAKESPAN, "use", "GPUs, span")                                                       \
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
