/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs by what they have in common. A counting sort puts each group's run times one group after the other, so that the
   spread of each is taken in place. */

#include "report/groups.h"
#include "workload/stats.h"
#include "workload/units.h"

#include <stdlib.h>
#include <string.h>

/* A grouping: which group each job is of, and what the groups are called. */
struct grouping {
  const struct hr_trace *trace;
  enum hr__stats_by by;
  uint32_t n_groups;
};

const char *hr__stats_by_name(enum hr__stats_by by) {
  static const char *const names[HR__N_STATS_BY] = {"size", "class", "tenant", "user", "gpu_type", "outcome"};
  return names[by];
}

/* ---- Groups ----------------------------------------------------------------------------------------- */

static const uint32_t *names_column(const struct hr_trace *trace, enum hr__stats_by by) {
  return by == HR__STATS_BY_TENANT ? trace->tenant : by == HR__STATS_BY_USER ? trace->user : trace->gpu_types;
}

static const struct hr_names *names_of(const struct hr_trace *trace, enum hr__stats_by by) {
  return by == HR__STATS_BY_TENANT ? &trace->tenants : by == HR__STATS_BY_USER ? &trace->users : &trace->gpu_type_lists;
}

/* 0: the trace does not tell. Jobs without a name are one more group after those that have one. */
static uint32_t count_groups(const struct hr_trace *trace, enum hr__stats_by by) {
  switch (by) {
  case HR__STATS_BY_SIZE:
    return HR__SIZES;
  case HR__STATS_BY_CLASS:
    return trace->class_ ? HR_N_CLASSES : 0;
  case HR__STATS_BY_OUTCOME:
    return trace->outcome ? HR_N_OUTCOMES : 0;
  default:
    return names_column(trace, by) ? names_of(trace, by)->count + 1 : 0;
  }
}

static uint32_t group_of(const struct grouping *grouping, uint32_t job) {
  const struct hr_trace *trace = grouping->trace;
  switch (grouping->by) {
  case HR__STATS_BY_SIZE:
    return hr__size_of(trace->gpus[job]);
  case HR__STATS_BY_CLASS:
    return trace->class_[job];
  case HR__STATS_BY_OUTCOME:
    return trace->outcome[job];
  default: {
    uint32_t name = names_column(trace, grouping->by)[job];
    return name == HR_NONE ? grouping->n_groups - 1 : name;
  }
  }
}

static const char *group_name(const struct grouping *grouping, uint32_t group) {
  switch (grouping->by) {
  case HR__STATS_BY_SIZE:
    return hr__size_name(group);
  case HR__STATS_BY_CLASS:
    return hr_job_class_name((enum hr_job_class)group);
  case HR__STATS_BY_OUTCOME:
    return hr_outcome_name((enum hr_outcome)group);
  default:
    return group < grouping->n_groups - 1 ? names_of(grouping->trace, grouping->by)->text[group] : "";
  }
}

/* ---- Two walks -------------------------------------------------------------------------------------- */

struct tally {
  uint64_t jobs, failed, cancelled;
  hr_amount gpu_time;
  size_t next; /* where its next run time goes */
};

static void count_jobs(const struct grouping *grouping, struct tally *tallies) {
  const struct hr_trace *trace = grouping->trace;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    struct tally *tally = &tallies[group_of(grouping, job)];
    tally->jobs++;
    tally->gpu_time += hr__gpu_time_of(trace, job);
    if (!trace->outcome) continue;
    tally->failed += trace->outcome[job] == HR_OUTCOME_FAILED;
    tally->cancelled += trace->outcome[job] == HR_OUTCOME_CANCELLED;
  }
  size_t next = 0;
  for (uint32_t group = 0; group < grouping->n_groups; group++) {
    tallies[group].next = next;
    next += tallies[group].jobs;
  }
}

static void place_run_times(const struct grouping *grouping, struct tally *tallies, double *run_s) {
  const struct hr_trace *trace = grouping->trace;
  for (uint32_t job = 0; job < trace->n_jobs; job++)
    run_s[tallies[group_of(grouping, job)].next++] = hr__seconds(trace->work_us[job]);
}

/* ---- Rows ------------------------------------------------------------------------------------------- */

static bool fill_row(struct hr__stats_row *row, const struct grouping *grouping, uint32_t group,
                     const struct tally *tally, double *run_s) {
  *row = (struct hr__stats_row){.name = strdup(group_name(grouping, group)),
                                .jobs = tally->jobs,
                                .failed = tally->failed,
                                .cancelled = tally->cancelled,
                                .gpu_hours = hr__gpu_hours_of(tally->gpu_time)};
  row->run_s = hr__spread_of(run_s, tally->jobs);
  if (!row->name) return false;
  if (grouping->by != HR__STATS_BY_SIZE) return true;
  row->curve_s = malloc(HR__CURVE_POINTS * sizeof *row->curve_s);
  if (!row->curve_s) return false;
  hr__curve_of(run_s, tally->jobs, row->curve_s);
  return hr__fit_all(run_s, tally->jobs, row->fits);
}

/* By GPU hours, then by jobs, then by name. */
static int compare_rows(const void *a, const void *b) {
  const struct hr__stats_row *first = a, *other = b;
  if (first->gpu_hours > other->gpu_hours) return -1;
  if (first->gpu_hours < other->gpu_hours) return 1;
  if (first->jobs != other->jobs) return first->jobs > other->jobs ? -1 : 1;
  return strcmp(first->name, other->name);
}

static bool fill_rows(const struct grouping *grouping, struct tally *tallies, double *run_s,
                      struct hr__stats_rows *rows) {
  rows->at = calloc((size_t)grouping->n_groups + 1, sizeof *rows->at);
  if (!rows->at) return false;
  count_jobs(grouping, tallies);
  place_run_times(grouping, tallies, run_s);
  for (uint32_t group = 0; group < grouping->n_groups; group++) {
    const struct tally *tally = &tallies[group];
    if (tally->jobs && !fill_row(&rows->at[rows->count++], grouping, group, tally, run_s + tally->next - tally->jobs))
      return false;
  }
  bool in_order = grouping->by == HR__STATS_BY_SIZE || grouping->by == HR__STATS_BY_CLASS;
  if (!in_order) qsort(rows->at, rows->count, sizeof *rows->at, compare_rows);
  return true;
}

bool hr__stats_group(struct hr_trace_stats *stats) {
  double *run_s = malloc(((size_t)stats->trace->n_jobs + 1) * sizeof *run_s);
  bool done = run_s != NULL;
  for (unsigned by = 0; by < HR__N_STATS_BY && done; by++) {
    struct grouping grouping = {stats->trace, (enum hr__stats_by)by, count_groups(stats->trace, (enum hr__stats_by)by)};
    if (grouping.n_groups == 0) continue;
    struct tally *tallies = calloc(grouping.n_groups, sizeof *tallies);
    done = tallies && fill_rows(&grouping, tallies, run_s, &stats->by[by]);
    free(tallies);
  }
  free(run_s);
  return done;
}
