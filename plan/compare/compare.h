/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_COMPARE_COMPARE_H
#define HR_PLAN_COMPARE_COMPARE_H

/* What is kept of all runs: figures of each, and the whole of each policy's first. */

#include "headroom/unstable/compare.h"
#include "plan/runner/measures.h"

/* Tenants or classes: figures by policy, group, metric and replication, the last running fastest. */
struct hr__group_table {
  const char *title;  /* "tenant" */
  const char **names; /* sorted, borrowed */
  size_t count;       /* 0: the trace has none */
  double *values;     /* NaN where a run has no such group */
  const struct hr_group *(*of)(const struct hr_summary *summary, size_t *count);
};

enum { HR__TENANTS, HR__CLASSES, HR__N_GROUP_TABLES };

struct hr_comparison {
  struct hr_compare_config config;
  uint32_t n_replications;        /* that were run */
  bool exact;                     /* nothing is random: one run of each policy tells all */
  uint64_t *seeds;                /* by replication */
  struct hr_scenario **scenarios; /* likewise, where prices are drawn; NULL: all have the one of the config */
  struct hr__one_run *first_runs; /* of each policy, replication 0 */
  double *seconds;                /* by policy, all its runs */
  double *values;                 /* by policy, metric, replication */
  struct hr__group_table groups[HR__N_GROUP_TABLES];
  struct hr_notes notes;
};

static inline double *hr__values_of(const struct hr_comparison *comparison, uint32_t contender,
                                    enum hr__metric metric) {
  return comparison->values + ((size_t)contender * HR__N_METRICS + metric) * comparison->n_replications;
}

static inline double *hr__group_values_of(const struct hr_comparison *comparison, const struct hr__group_table *table,
                                          uint32_t contender, size_t group, enum hr__group_metric metric) {
  size_t row = ((size_t)contender * table->count + group) * HR__N_GROUP_METRICS + metric;
  return table->values + row * comparison->n_replications;
}

struct hr_estimate hr__estimate(const struct hr_comparison *comparison, uint32_t contender, enum hr__metric metric);
struct hr_estimate hr__group_estimate(const struct hr_comparison *comparison, const struct hr__group_table *table,
                                      uint32_t contender, size_t group, enum hr__group_metric metric);
/* Whether any run has the figure. */
bool hr__has_metric(const struct hr_comparison *comparison, enum hr__metric metric);
/* Its place in the table; SIZE_MAX where it is not there. */
size_t hr__group_find(const struct hr__group_table *table, const char *name);

/* What the head of a summary says of a policy's first run. `notes` has room for three lists. */
struct hr_run_label hr__run_label(const struct hr_comparison *comparison, uint32_t contender,
                                  const struct hr_notes **notes);

#endif
