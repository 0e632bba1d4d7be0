/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_COMPARE_COMPARE_H
#define HR_PLAN_COMPARE_COMPARE_H

/*
 * The results of a comparison: the metrics of every run, and the whole summary of each policy's first run. A
 * "contender" is one of the compared policies with its parameters. Contender 0 is the baseline of all differences.
 */

#include "headroom/unstable/compare.h"
#include "plan/runner/intervals.h"
#include "plan/runner/one_run.h"
#include "plan/runner/scoped_metrics.h"

/* ---- Metrics that comparisons show ------------------------------------------------------------------ */

/* Columns: id, metric, block of the table for a terminal, title of the column. A block has at most five columns. */
#define HR__COMPARE_METRIC_TABLE(X)                                                                                    \
  X(HR__COMPARE_WAIT_MEAN, HR__M_WAIT_MEAN, "wait", "mean")                                                            \
  X(HR__COMPARE_WAIT_P50, HR__M_WAIT_P50, "wait", "p50")                                                               \
  X(HR__COMPARE_WAIT_P95, HR__M_WAIT_P95, "wait", "p95")                                                               \
  X(HR__COMPARE_WAIT_P99, HR__M_WAIT_P99, "wait", "p99")                                                               \
  X(HR__COMPARE_WAIT_MAX, HR__M_WAIT_MAX, "wait", "max")                                                               \
  X(HR__COMPARE_JCT_MEAN, HR__M_JCT_MEAN, "completion", "mean jct")                                                    \
  X(HR__COMPARE_JCT_P95, HR__M_JCT_P95, "completion", "p95 jct")                                                       \
  X(HR__COMPARE_SLOWDOWN_MEAN, HR__M_SLOWDOWN_MEAN, "completion", "slowdown")                                          \
  X(HR__COMPARE_SLOWDOWN_P95, HR__M_SLOWDOWN_P95, "completion", "p95 slowdown")                                        \
  X(HR__COMPARE_MAKESPAN, HR__M_MAKESPAN, "completion", "makespan")                                                    \
  X(HR__COMPARE_UTILIZATION_SUBMIT_WINDOW, HR__M_UTILIZATION_SUBMIT_WINDOW, "usage", "util. submit")                   \
  X(HR__COMPARE_UTILIZATION_MAKESPAN, HR__M_UTILIZATION_MAKESPAN, "usage", "util. total")                              \
  X(HR__COMPARE_COMPLETED, HR__M_COMPLETED, "usage", "completed")                                                      \
  X(HR__COMPARE_UNFINISHED, HR__M_UNFINISHED, "usage", "unfinished")                                                   \
  X(HR__COMPARE_COST, HR__M_COST, "usage", "cost")                                                                     \
  X(HR__COMPARE_PREEMPTIONS, HR__M_PREEMPTIONS, "interrupted", "preempted")                                            \
  X(HR__COMPARE_RESTARTS, HR__M_RESTARTS, "interrupted", "restarts")                                                   \
  X(HR__COMPARE_LOST, HR__M_LOST, "interrupted", "GPU h lost")                                                         \
  X(HR__COMPARE_JAIN, HR__M_JAIN, "fairness", "Jain")                                                                  \
  X(HR__COMPARE_RHO_MEAN, HR__M_RHO_MEAN, "fairness", "mean rho")                                                      \
  X(HR__COMPARE_RHO_P95, HR__M_RHO_P95, "fairness", "p95 rho")                                                         \
  X(HR__COMPARE_RHO_MAX, HR__M_RHO_MAX, "fairness", "max rho")                                                         \
  X(HR__COMPARE_RHO_ABOVE_1, HR__M_RHO_ABOVE_1, "fairness", "rho > 1")                                                 \
  X(HR__COMPARE_FRAGMENTS_SUBMITS, HR__M_FRAGMENTS_SUBMITS, "fragmented", "F, submit")                                 \
  X(HR__COMPARE_FRAGMENTS_MAKESPAN, HR__M_FRAGMENTS_MAKESPAN, "fragmented", "F, total")                                \
  X(HR__COMPARE_STRANDED, HR__M_STRANDED, "fragmented", "stranded")                                                    \
  X(HR__COMPARE_GANG_MEAN, HR__M_GANG_MEAN, "fragmented", "largest gang")                                              \
  X(HR__COMPARE_GANG_MIN, HR__M_GANG_MIN, "fragmented", "minimum")

enum hr__compare_metric {
#define HR__COMPARE_METRIC_ID(id, metric, block, title) id,
  HR__COMPARE_METRIC_TABLE(HR__COMPARE_METRIC_ID)
#undef HR__COMPARE_METRIC_ID
      HR__N_COMPARE_METRICS
};

/* The metrics of a tenant or class. Columns: id, metric, block of the table for a terminal, title of the column. */
#define HR__COMPARE_GROUP_METRIC_TABLE(X)                                                                              \
  X(HR__COMPARE_GROUP_WAIT_MEAN, HR__M_WAIT_MEAN, "", "mean wait")                                                     \
  X(HR__COMPARE_GROUP_WAIT_P95, HR__M_WAIT_P95, "", "p95 wait")                                                        \
  X(HR__COMPARE_GROUP_JCT_MEAN, HR__M_JCT_MEAN, "", "mean jct")                                                        \
  X(HR__COMPARE_GROUP_SLOWDOWN_MEAN, HR__M_SLOWDOWN_MEAN, "", "slowdown")

enum hr__compare_group_metric {
#define HR__COMPARE_METRIC_ID(id, metric, block, title) id,
  HR__COMPARE_GROUP_METRIC_TABLE(HR__COMPARE_METRIC_ID)
#undef HR__COMPARE_METRIC_ID
      HR__N_COMPARE_GROUP_METRICS
};

struct hr__compare_metric_info {
  enum hr__metric metric;
  const char *block, *title;
};
extern const struct hr__compare_metric_info hr__compare_metrics[HR__N_COMPARE_METRICS];
extern const struct hr__compare_metric_info hr__compare_group_metrics[HR__N_COMPARE_GROUP_METRICS];

static inline const char *hr__compare_metric_name(const struct hr__compare_metric_info *info) {
  return hr__metric_rows[info->metric].column;
}

static inline enum hr_unit hr__compare_metric_unit(const struct hr__compare_metric_info *info) {
  return hr__metric_rows[info->metric].unit;
}

/* ---- Results ---------------------------------------------------------------------------------------- */

/* The metrics of all tenants, or of all classes. */
struct hr__group_table {
  const char *title;  /* "tenant" or "class" */
  const char **names; /* sorted; the strings are borrowed */
  size_t count;       /* 0 if the trace has no such column */
  double *values;     /* [contender][group][metric][replication]; NaN if a run has no such group */
  const struct hr_group *(*of)(const struct hr_summary *summary, size_t *count);
};

enum { HR__TENANTS, HR__CLASSES, HR__N_GROUP_TABLES };

struct hr_comparison {
  struct hr_compare_config config;
  uint32_t n_replications; /* number of replications that were run */
  bool exact;              /* everything is deterministic, so each policy was run once */
  uint64_t *seeds;         /* [n_replications] */
  /* [n_replications] if prices are random; NULL: the scenario of the config applies to all */
  struct hr_scenario **scenarios;
  struct hr__one_run *first_runs; /* [n_contenders], of replication 0 */
  double *seconds;                /* [n_contenders], wall clock time of all runs, in seconds */
  double *values;                 /* [contender][metric][replication] */
  struct hr__group_table groups[HR__N_GROUP_TABLES];
  struct hr_notes notes;
};

static inline double *hr__compare_values(const struct hr_comparison *comparison, uint32_t contender,
                                         enum hr__compare_metric metric) {
  return comparison->values + ((size_t)contender * HR__N_COMPARE_METRICS + metric) * comparison->n_replications;
}

static inline double *hr__compare_group_values(const struct hr_comparison *comparison,
                                               const struct hr__group_table *table, uint32_t contender, size_t group,
                                               enum hr__compare_group_metric metric) {
  size_t row = ((size_t)contender * table->count + group) * HR__N_COMPARE_GROUP_METRICS + metric;
  return table->values + row * comparison->n_replications;
}

/* The mean of a metric, and its difference from contender 0 with a 95 % interval. */
static inline struct hr_estimate hr__compare_estimate(const struct hr_comparison *comparison, uint32_t contender,
                                                      enum hr__compare_metric metric) {
  return hr__interval_paired(hr__compare_values(comparison, 0, metric),
                             hr__compare_values(comparison, contender, metric), comparison->n_replications,
                             comparison->exact);
}

/* The mean of a metric of one group of `table`, and its difference from contender 0 with a 95 % interval. */
static inline struct hr_estimate hr__compare_group_estimate(const struct hr_comparison *comparison,
                                                            const struct hr__group_table *table, uint32_t contender,
                                                            size_t group, enum hr__compare_group_metric metric) {
  return hr__interval_paired(hr__compare_group_values(comparison, table, 0, group, metric),
                             hr__compare_group_values(comparison, table, contender, group, metric),
                             comparison->n_replications, comparison->exact);
}

/* Whether the metric is known in any run. */
static inline bool hr__compare_has_metric(const struct hr_comparison *comparison, enum hr__compare_metric metric) {
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++) {
    const double *values = hr__compare_values(comparison, i, metric);
    for (uint32_t k = 0; k < comparison->n_replications; k++)
      if (!isnan(values[k])) return true;
  }
  return false;
}

/* The index of the group in `table`; SIZE_MAX if `table` lacks it. O(log groups). */
static inline size_t hr__compare_find_group(const struct hr__group_table *table, const char *name) {
  size_t low = 0, high = table->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(name, table->names[middle]);
    if (order == 0) return middle;
    *(order < 0 ? &high : &low) = middle + (order > 0);
  }
  return SIZE_MAX;
}

#endif
