/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_COMPARE_COMPARE_H
#define HR_PLAN_COMPARE_COMPARE_H

/*
 * The results of a comparison: the metrics of every run, and the whole summary of each policy's first run. A
 * "contender" is one of the compared policies with its parameters. Contender 0 is the baseline of all differences.
 */

#include "base/output_file.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/replay.h"
#include "plan/runner/runner.h"

#include <stdlib.h>

/* ---- Columns of tables ------------------------------------------------------------------------------ */

/* A column of the tables. JSON and CSV files contain all metrics of the catalogue. */
struct hr__compare_column {
  enum hr__metric metric;
  const char *block; /* block of the table for a terminal; a block has at most five columns. NULL: end of the list */
  const char *title;
};
extern const struct hr__compare_column hr__compare_columns[];

/* The number of metrics of a tenant, class or service, in files and tables. */
enum { HR__N_COMPARE_GROUP_METRICS = 4 };

/* ---- Results ---------------------------------------------------------------------------------------- */

/* The metrics of all tenants, of all classes, or of all inference services. */
struct hr__group_table {
  const char *title;                        /* "tenant", "class" or "service" */
  const struct hr__compare_column *columns; /* [HR__N_COMPARE_GROUP_METRICS] */
  const char **names;                       /* sorted; the strings are borrowed */
  size_t count;                             /* 0 if the trace has no such column */
  double *values; /* [contender][group][column][replication]; NaN if a run has no such group */
  /* The groups of a summary, in the order of output. */
  size_t (*count_of)(const struct hr_summary *summary);
  const char *(*name_of)(const struct hr_summary *summary, size_t group);
  double (*value_of)(const struct hr_summary *summary, size_t group, enum hr__metric metric);
};

enum { HR__TENANTS, HR__CLASSES, HR__SERVICES, HR__N_GROUP_TABLES };

enum { HR__CURVE_POINTS = 201 };
/* The distributions of a policy's first run: the quantiles at the shares i / (HR__CURVE_POINTS - 1). NaN: no job. */
struct hr__compare_curves {
  double wait_s[HR__CURVE_POINTS], jct_s[HR__CURVE_POINTS];
};

/* The CSV file of the jobs of a policy's first run. The file has no name until it is closed. */
struct hr__compare_job_file {
  struct hr__csv_out csv;
  bool open;
};

struct hr_comparison {
  struct hr_compare_config config;
  uint32_t n_replications; /* number of replications */
  bool exact;              /* the runs of all policies are deterministic, so each policy was run once */
  uint64_t *seeds;         /* [n_replications] */
  /* whether each replication has a workload of its own, for all policies; otherwise all runs have the trace of the
   * config
   */
  bool redrawn;
  struct hr__workloads workloads; /* [n_replications] if redrawn */
  struct hr__drawing drawing;
  bool *fixed;     /* [n_contenders] nothing is random for this policy: its replications are copies of replication 0 */
  bool *identical; /* [n_contenders] all of at least two replications have equal events and metrics */
  uint64_t *digests;                 /* [contender][replication] */
  char **titles;                     /* [n_contenders] labels for tables: what distinguishes the policies; distinct */
  struct hr__compare_curves *curves; /* [n_contenders] */
  struct hr__compare_job_file *job_files; /* [n_contenders]; NULL: no files of jobs are written */
  /* [n_replications] if prices are random; NULL: the scenario of the config applies to all */
  struct hr_scenario **scenarios;
  struct hr__one_run *first_runs; /* [n_contenders], of replication 0 */
  double *run_seconds;            /* [contender][replication], wall clock time of each run, in seconds */
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

/* Whether a policy and the first one have only identical replications. The runs then do not show any variation, so
   their difference has no interval. */
static inline bool hr__compare_lacks_interval(const struct hr_comparison *comparison, uint32_t contender) {
  return comparison->identical[0] && comparison->identical[contender];
}

static inline struct hr_estimate hr__compare_pair(const struct hr_comparison *comparison, uint32_t contender,
                                                  const double *first, const double *other) {
  struct hr_estimate estimate = hr__interval_paired(first, other, comparison->n_replications, comparison->exact);
  if (!hr__compare_lacks_interval(comparison, contender)) return estimate;
  estimate.low = estimate.high = HR__UNKNOWN;
  estimate.significant = false;
  return estimate;
}

/* The mean of a metric, and its difference from contender 0 with a 95 % interval. */
static inline struct hr_estimate hr__compare_estimate(const struct hr_comparison *comparison, uint32_t contender,
                                                      enum hr__metric metric) {
  return hr__compare_pair(comparison, contender, hr__compare_values(comparison, 0, metric),
                          hr__compare_values(comparison, contender, metric));
}

/* The mean of a metric of one group of `table`, and its difference from contender 0 with a 95 % interval. */
static inline struct hr_estimate hr__compare_group_estimate(const struct hr_comparison *comparison,
                                                            const struct hr__group_table *table, uint32_t contender,
                                                            size_t group, unsigned metric) {
  return hr__compare_pair(comparison, contender, hr__compare_group_values(comparison, table, 0, group, metric),
                          hr__compare_group_values(comparison, table, contender, group, metric));
}

/* Whether any difference has an interval of replications. */
static inline bool hr__compare_has_intervals(const struct hr_comparison *comparison) {
  for (uint32_t i = 1; comparison->n_replications > 1 && i < comparison->config.n_contenders; i++)
    if (!hr__compare_lacks_interval(comparison, i)) return true;
  return false;
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

/* ---- Distributions and jobs (compare_files.c) ------------------------------------------------------- */

/* The first run of one policy, for the callbacks of struct hr__one_run_details. */
struct hr__compare_details {
  struct hr_comparison *comparison;
  uint32_t contender;
  struct hr_placements *placements; /* NULL: no file of jobs */
};
enum hr_status hr__compare_details_prepare(void *self, struct hr_replay *replay, struct hr_error *error);
enum hr_status hr__compare_details_collect(void *self, const struct hr_replay *replay, struct hr_error *error);
/* Discards the files of jobs that were not committed. */
void hr__compare_job_files_finish(struct hr_comparison *comparison);

/* ---- Titles (compare_table.c) ----------------------------------------------------------------------- */

/* Makes the titles of all contenders. Returns NULL when out of memory. The caller frees the list and its texts. */
char **hr__compare_titles(const struct hr_contender *contenders, uint32_t count);
static inline void hr__compare_titles_free(char **titles, uint32_t count) {
  for (uint32_t i = 0; titles && i < count; i++) free(titles[i]);
  free(titles);
}

/* Titles for the rows of a table. */
struct hr__short_titles {
  char **cells;  /* distinct, and not wider than asked */
  char **heads;  /* the texts of `cells` before they are shortened, for the heading */
  bool numbered; /* each cell begins with the number of the policy, because the shortened titles were not distinct */
};
/* Shortens the titles `whole` of hr__compare_titles to `width` columns. False: out of memory. In any case the caller
   calls hr__compare_short_titles_finish. */
bool hr__compare_short_titles(const struct hr_contender *contenders, char *const *whole, uint32_t count, size_t width,
                              struct hr__short_titles *short_titles);
static inline void hr__compare_short_titles_finish(struct hr__short_titles *short_titles, uint32_t count) {
  hr__compare_titles_free(short_titles->cells, count);
  hr__compare_titles_free(short_titles->heads, count);
}

#endif
