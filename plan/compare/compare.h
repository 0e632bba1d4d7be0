/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_COMPARE_COMPARE_H
#define HR_PLAN_COMPARE_COMPARE_H

/*
 * Comparisons: the results of policies on one scenario, and the differences of two scenarios on one trace.
 *
 * The results of a comparison of policies are the metrics of every run, and the whole summary of each policy's first
 * run. A "contender" is one of the compared policies with its parameters. Contender 0 is the baseline of all
 * differences.
 */

#include "base/output_file.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/replay.h"
#include "plan/runner/runner.h"
#include "report/tables/tables.h"

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

/* The tables of groups, in the order of output. */
enum hr__group_kind { HR__CLASSES, HR__TENANTS, HR__SERVICES, HR__N_GROUP_TABLES };

/* The metrics of all tenants, of all classes, or of all inference services. */
struct hr__group_table {
  enum hr__group_kind of;
  const char *title;                        /* "tenant", "class" or "service" */
  const struct hr__compare_column *columns; /* [HR__N_COMPARE_GROUP_METRICS] */
  const char **names;                       /* sorted; the strings are borrowed */
  size_t count;                             /* 0 if the trace or the scenario has no such groups */
  double *values; /* [contender][group][column][replication]; NaN if a run has no such group */
};

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
  /* each replication has its own workload, the same for all policies; false: all runs have the trace of the config */
  bool redrawn;
  struct hr__workloads workloads; /* [n_replications] if redrawn */
  struct hr__drawing drawing;
  bool *fixed;     /* [n_contenders] nothing is random for this policy: its replications are copies of replication 0 */
  bool *identical; /* [n_contenders] there are several replications, and their events and metrics are equal */
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

/* The values of a metric for one contender, [n_replications]. */
static inline double *hr__compare_values(const struct hr_comparison *comparison, uint32_t contender,
                                         enum hr__metric metric) {
  return comparison->values + ((size_t)contender * HR__N_METRICS + metric) * comparison->n_replications;
}

/* The same for a metric of one group of `table`. */
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

/* The mean of `other`, and its difference from `first` with a 95 % interval. The interval is unknown if the runs do not
   show any variation. */
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

/* Returns the number of groups in a summary. */
size_t hr__compare_group_count(const struct hr__group_table *table, const struct hr_summary *summary);
/* Returns the name of a group of a summary. The groups are in the order of output. */
const char *hr__compare_group_name(const struct hr__group_table *table, const struct hr_summary *summary, size_t group);

/* The index of the group in `table`; SIZE_MAX if `table` lacks it. O(log groups). */
static inline size_t hr__compare_find_group(const struct hr__group_table *table, const char *name) {
  const char **found = bsearch(&name, table->names, table->count, sizeof *table->names, hr__by_text);
  return found ? (size_t)(found - table->names) : SIZE_MAX;
}

/* ---- Titles (compare_report.c) ---------------------------------------------------------------------- */

/* Makes the titles of all contenders. Returns NULL when out of memory. The caller frees the list and its texts. */
char **hr__compare_titles(const struct hr_contender *contenders, uint32_t count);
/* Returns the first `head` columns of a text, of which the last three are "...", and its last `tail` columns. The
   caller frees the text; NULL: out of memory, which the console remembers (compare_report.c). */
char *hr__cut_middle(struct hr__console *console, const char *text, size_t head, size_t tail);

static inline void hr__compare_titles_free(char **titles, uint32_t count) {
  for (uint32_t i = 0; titles && i < count; i++) free(titles[i]);
  free(titles);
}

/* Titles for the rows of a table. */
struct hr__short_titles {
  char **cells;  /* distinct, and not wider than requested */
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

/* ---- Keys of two scenarios (diff.c) ----------------------------------------------------------------- */

/*
 * The keys in which two scenarios differ. Both scenarios are JSON trees after overrides and are compared key by key.
 * Entries of lists that have names, such as pools, are matched by name, so that an inserted entry is one difference. If
 * other lists have different lengths, each list as a whole is one difference.
 */

enum { HR__KEY_VALUE_BYTES = 80 };

/* A difference. The texts are valid only during the call. */
struct hr__key_difference {
  const char *path;          /* in the notation of --set: "cluster.pools.0.nodes" */
  const char *shown;         /* the same with the names of entries: "cluster.pools[a100].nodes" */
  const cJSON *before, *now; /* NULL: the scenario lacks the key */
};

typedef void hr__key_visit(void *self, const struct hr__key_difference *difference);

/* Calls `visit` for each difference, in the order of `now`; keys that only `before` has come after the other keys of
   the same object. The keys "$schema" and "description" of the scenario are ignored, since they have no effect on
   runs. */
void hr__keys_compare(const cJSON *before, const cJSON *now, hr__key_visit *visit, void *self);

/* Writes a value: a text without quotes, other values as JSON. Long values are cut. Returns `buffer`, which has
   HR__KEY_VALUE_BYTES bytes. */
const char *hr__key_value_text(const cJSON *value, char *buffer);

/* ---- Results of a diff ------------------------------------------------------------------------------ */

/* The results of a diff: the keys, queues and decisions in which two runs differ. Each structure owns its texts unless
   its comment says otherwise; hr_diff_destroy frees them. */

enum { HR__DIFF_SIDES = 2, HR__DIFF_SHOWN_DECISIONS = 4 };

/* A key in which the scenarios differ. */
struct hr__diff_key {
  char *path, *shown;            /* as in struct hr__key_difference */
  cJSON *values[HR__DIFF_SIDES]; /* NULL: the scenario lacks the key */
};

/* The waits of the jobs of a queue. The queue of a job is its field `queue`; if no job has one, its tenant. */
struct hr__diff_queue {
  char *name;                                    /* "": jobs without a queue */
  uint64_t jobs[HR__DIFF_SIDES];                 /* submitted before the end of the run */
  struct hr_distribution wait_s[HR__DIFF_SIDES]; /* of jobs that started */
};

/* A decision: a start, a rejection, or a stop of a job. */
struct hr__diff_event {
  int64_t at_us;
  uint32_t job;
  uint32_t place; /* hash of the nodes of a start */
  uint8_t kind;   /* enum hr_event_kind */
  uint8_t reason; /* enum hr_reason */
};

/* The decisions of a run, in order. */
struct hr__diff_log {
  struct hr__diff_event *events;
  uint32_t count, capacity;
  uint32_t n_jobs; /* jobs of the trace; replicas of services, which follow, are left out */
  bool out_of_memory;
};

/* The decisions of one side at the first instant at which decisions differ. */
struct hr__diff_decisions {
  struct hr__diff_event shown[HR__DIFF_SHOWN_DECISIONS]; /* the decisions that only this side makes at this time */
  uint64_t count; /* number of these decisions; may be larger than the number that is shown */
  /* If this side starts a job: the time at which the other side starts this job; HR_NEVER_US: never. Otherwise 0. */
  int64_t other_start_us;
  bool other_rejects; /* the other side rejects this job */
  char *wait; /* what the job waits for on the other side: a sentence; NULL: unknown, or it does not wait longer */
};

/* The first start of the list; NULL: not found. */
static inline const struct hr__diff_event *hr__diff_first_start(const struct hr__diff_decisions *decisions) {
  for (uint64_t i = 0; i < decisions->count && i < HR__DIFF_SHOWN_DECISIONS; i++)
    if (decisions->shown[i].kind == HR_EVENT_START) return &decisions->shown[i];
  return NULL;
}

/* The first difference of decisions. Jobs and kinds of decisions are compared first. If they never differ, the nodes of
   starts are compared. */
struct hr__diff_first {
  bool found;
  bool only_nodes; /* all decisions are the same, but a job starts on other nodes */
  int64_t at_us;
  struct hr__diff_decisions sides[HR__DIFF_SIDES]; /* with only_nodes: the start of the job */
};

/* One run. */
struct hr__diff_run {
  struct hr__one_run run;
  struct hr__diff_log log;
  struct hr_rejections rejections;
  struct hr__diff_queue *queues; /* [n_queues]: queues of this run; only `jobs` and `wait_s` of this side are set */
  size_t n_queues;
};

struct hr_diff {
  struct hr_diff_config config;
  struct hr__diff_key *keys;
  size_t n_keys;
  bool out_of_memory; /* a key could not be stored */
  struct hr__diff_run runs[HR__DIFF_SIDES];
  struct hr__diff_queue *queues; /* sorted by the change of the sum of waits, the largest first */
  size_t n_queues;
  bool by_queue; /* the trace has the field `queue`; otherwise queues are tenants */
  struct hr__diff_first first;
  struct hr_notes notes;
};

/* The queue of each job of a trace, and the names of the queues: the field `queue` of jobs or, if no job has it, the
   tenant. */
static inline const uint32_t *hr__diff_queue_column(const struct hr_trace *trace) {
  return trace->queue ? trace->queue : trace->tenant;
}
static inline const struct hr_names *hr__diff_queue_names(const struct hr_trace *trace) {
  return trace->queue ? &trace->queues : &trace->tenants;
}

#endif
