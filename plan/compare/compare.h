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

/* ---- Columns of tables ------------------------------------------------------------------------------ */

/* A column of the tables. JSON and CSV files contain all metrics of the catalogue. */
struct hr__compare_column {
  enum hr__metric metric;
  const char *block; /* block of the table for a terminal; a block has at most five columns. NULL: end of the list */
  const char *title;
};
extern const struct hr__compare_column hr__compare_columns[];

/* The metrics of a tenant or class, in files and tables. */
enum { HR__N_COMPARE_GROUP_METRICS = 4 };
extern const struct hr__compare_column hr__compare_group_columns[HR__N_COMPARE_GROUP_METRICS];

/* ---- Results ---------------------------------------------------------------------------------------- */

/* The metrics of all tenants, or of all classes. */
struct hr__group_table {
  const char *title;  /* "tenant" or "class" */
  const char **names; /* sorted; the strings are borrowed */
  size_t count;       /* 0 if the trace has no such column */
  double *values;     /* [contender][group][hr__compare_group_columns][replication]; NaN if a run has no such group */
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
                                         enum hr__metric metric) {
  return comparison->values + ((size_t)contender * HR__N_METRICS + metric) * comparison->n_replications;
}

static inline double *hr__compare_group_values(const struct hr_comparison *comparison,
                                               const struct hr__group_table *table, uint32_t contender, size_t group,
                                               unsigned metric) {
  size_t row = ((size_t)contender * table->count + group) * HR__N_COMPARE_GROUP_METRICS + metric;
  return table->values + row * comparison->n_replications;
}

/* The mean of a metric, and its difference from contender 0 with a 95 % interval. */
static inline struct hr_estimate hr__compare_estimate(const struct hr_comparison *comparison, uint32_t contender,
                                                      enum hr__metric metric) {
  return hr__interval_paired(hr__compare_values(comparison, 0, metric),
                             hr__compare_values(comparison, contender, metric), comparison->n_replications,
                             comparison->exact);
}

/* The mean of a metric of one group of `table`, and its difference from contender 0 with a 95 % interval. */
static inline struct hr_estimate hr__compare_group_estimate(const struct hr_comparison *comparison,
                                                            const struct hr__group_table *table, uint32_t contender,
                                                            size_t group, unsigned metric) {
  return hr__interval_paired(hr__compare_group_values(comparison, table, 0, group, metric),
                             hr__compare_group_values(comparison, table, contender, group, metric),
                             comparison->n_replications, comparison->exact);
}

/* Whether the metric is known in any run. */
static inline bool hr__compare_has_metric(const struct hr_comparison *comparison, enum hr__metric metric) {
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
