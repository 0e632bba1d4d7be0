/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups jobs with a counting sort. The first pass over the jobs counts the jobs of each group. The second pass stores
 * the wait, completion time and slowdown of each job in arrays in which each group has a contiguous range, so that
 * quantiles of a group are selected in place. Memory: three arrays with one element per job, two with one element per
 * group.
 */

#include "report/metrics/summary.h"

#include "base/text.h"
#include "report/costs/costs.h"
#include "report/metrics/statistics.h"

#include <stdlib.h>
#include <string.h>

/* The next free positions of a group in the arrays of samples. */
struct groups_cursor {
  size_t wait, completed;
};

struct grouper {
  const struct hr_result *result;
  const struct hr_trace *trace;
  enum hr__grouping grouping;
  uint32_t n_groups;
  struct hr__totals *totals;    /* by group */
  struct groups_cursor *cursor; /* by group */
};

/* Returns the group of a job. Jobs without a tenant form an additional group after those of the tenants. */
static inline uint32_t group_of(const struct grouper *grouper, uint32_t job) {
  if (grouper->grouping == HR__BY_SIZE) return hr__size_of(grouper->trace->gpus[job]);
  if (grouper->grouping == HR__BY_CLASS) return grouper->trace->class_[job];
  uint32_t tenant = grouper->trace->tenant[job];
  return tenant == HR_NONE ? grouper->n_groups - 1 : tenant;
}

static const char *name_of(const struct grouper *grouper, uint32_t group) {
  if (grouper->grouping == HR__BY_SIZE) return hr__size_name(group);
  if (grouper->grouping == HR__BY_CLASS) return hr_job_class_name((enum hr_job_class)group);
  return group < grouper->trace->tenants.count ? grouper->trace->tenants.text[group] : "";
}

/* ---- Counting sort ------------------------------------------------------------------------------- */

static void count_outcome(struct hr__totals *totals, const struct hr_trace *trace, uint32_t job) {
  if (!trace->outcome) return;
  totals->outcome_failed += trace->outcome[job] == HR_OUTCOME_FAILED;
  totals->outcome_cancelled += trace->outcome[job] == HR_OUTCOME_CANCELLED;
}

static void count_jobs(const struct grouper *grouper) {
  const struct hr_result *result = grouper->result;
  const struct hr_trace *trace = grouper->trace;
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    if (result->state[job] == HR_JOB_FUTURE) continue;
    struct hr__totals *totals = &grouper->totals[group_of(grouper, job)];
    totals->jobs++;
    totals->deadlines += hr__has_deadline(result, job);
    totals->missed_deadlines += hr__missed_deadline(result, job);
    if (result->start_us[job] == HR_NEVER_US) continue;
    totals->started++;
    if (result->state[job] == HR_JOB_COMPLETED) {
      totals->completed++;
      count_outcome(totals, trace, job);
    }
    struct hr_gpu_times times = hr__gpu_times_of(result, job);
    totals->held_milli_us += times.kept + times.lost + times.saving + times.restarting;
    totals->useful_milli_us += times.kept;
  }
}

static void begin_cursors(const struct grouper *grouper) {
  struct groups_cursor at = {0};
  for (uint32_t group = 0; group < grouper->n_groups; group++) {
    grouper->cursor[group] = at;
    at.wait += grouper->totals[group].started;
    at.completed += grouper->totals[group].completed;
  }
}

static double slowdown_of_job(int64_t jct_us, int64_t work_us) {
  double slowdown = (double)jct_us / (double)(work_us > HR__SHORT_RUN_US ? work_us : HR__SHORT_RUN_US);
  return slowdown > 1 ? slowdown : 1;
}

static void place_samples(const struct grouper *grouper, struct hr__samples *samples) {
  const struct hr_result *result = grouper->result;
  const struct hr_trace *trace = grouper->trace;
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    if (result->start_us[job] == HR_NEVER_US) continue;
    uint32_t group = group_of(grouper, job);
    struct hr__totals *totals = &grouper->totals[group];
    struct groups_cursor *cursor = &grouper->cursor[group];
    int64_t wait_us = result->start_us[job] - trace->submit_us[job];
    samples->wait_us[cursor->wait++] = wait_us;
    totals->wait_us += (uint64_t)wait_us;
    if (result->state[job] != HR_JOB_COMPLETED) continue;
    int64_t jct_us = hr_result_end_us(result, (hr_job){job}) - trace->submit_us[job];
    double slowdown = slowdown_of_job(jct_us, trace->work_us[job]);
    samples->jct_us[cursor->completed] = jct_us;
    samples->slowdown_key[cursor->completed++] = hr__slowdown_key(slowdown);
    totals->jct_us += (uint64_t)jct_us;
    totals->slowdown += slowdown;
  }
}

/* ---- Groups -------------------------------------------------------------------------------------- */

/* A group with at least one job, and its sort key. */
struct shown {
  hr_amount held_milli_us;
  uint32_t group;
};

static int by_gpu_time(const void *a, const void *b) {
  const struct shown *x = a, *y = b;
  if (x->held_milli_us != y->held_milli_us) return x->held_milli_us > y->held_milli_us ? -1 : 1;
  return (x->group > y->group) - (x->group < y->group);
}

static size_t list_shown(const struct grouper *grouper, struct shown *shown) {
  size_t count = 0;
  for (uint32_t group = 0; group < grouper->n_groups; group++)
    if (grouper->totals[group].jobs) shown[count++] = (struct shown){grouper->totals[group].held_milli_us, group};
  if (grouper->grouping == HR__BY_TENANT) qsort(shown, count, sizeof *shown, by_gpu_time);
  return count;
}

/* Computes the metrics of a group. Must be called after place_samples(), when the cursor of a group is at the end of
   its range. */
static enum hr_status make_group(const struct grouper *grouper, const struct hr__samples *samples, uint32_t group,
                                 struct hr_group *out) {
  const struct hr__totals *totals = &grouper->totals[group];
  size_t wait = grouper->cursor[group].wait - totals->started;
  size_t completed = grouper->cursor[group].completed - totals->completed;
  *out =
      (struct hr_group){.name = strdup(name_of(grouper, group)),
                        .jobs = totals->jobs,
                        .completed = totals->completed,
                        .deadlines = totals->deadlines,
                        .missed_deadlines = totals->missed_deadlines,
                        .gpu_hours = hr__gpu_hours(totals->held_milli_us),
                        .useful_gpu_hours = hr__gpu_hours(totals->useful_milli_us),
                        .wait_s = hr__distribution_of_us(samples->wait_us + wait, totals->started, totals->wait_us),
                        .jct_s = hr__distribution_of_us(samples->jct_us + completed, totals->completed, totals->jct_us),
                        .slowdown = hr__distribution_of_slowdowns(samples->slowdown_key + completed, totals->completed,
                                                                  totals->slowdown)};
  return out->name ? HR_OK : HR_NO_MEMORY;
}

static void add_totals(struct hr__totals *sum, const struct hr__totals *part) {
  sum->jobs += part->jobs;
  sum->started += part->started;
  sum->completed += part->completed;
  sum->deadlines += part->deadlines;
  sum->missed_deadlines += part->missed_deadlines;
  sum->outcome_failed += part->outcome_failed;
  sum->outcome_cancelled += part->outcome_cancelled;
  sum->wait_us += part->wait_us;
  sum->jct_us += part->jct_us;
  sum->held_milli_us += part->held_milli_us;
  sum->useful_milli_us += part->useful_milli_us;
  sum->slowdown += part->slowdown;
}

static enum hr_status make_all(const struct grouper *grouper, struct hr__samples *samples, struct shown *shown,
                               struct hr__job_groups *groups) {
  count_jobs(grouper);
  begin_cursors(grouper);
  place_samples(grouper, samples);
  for (uint32_t group = 0; group < grouper->n_groups; group++) add_totals(&groups->all, &grouper->totals[group]);
  size_t n_shown = list_shown(grouper, shown);
  groups->group = calloc(n_shown + 1, sizeof *groups->group);
  if (!groups->group) return HR_NO_MEMORY;
  enum hr_status status = HR_OK;
  for (; groups->count < n_shown && status == HR_OK; groups->count++)
    status = make_group(grouper, samples, shown[groups->count].group, &groups->group[groups->count]);
  return status;
}

static uint32_t count_groups(const struct hr_trace *trace, enum hr__grouping grouping) {
  if (grouping == HR__BY_SIZE) return HR__SIZES;
  if (grouping == HR__BY_CLASS) return trace->class_ ? HR_N_CLASSES : 0;
  return trace->tenant ? trace->tenants.count + 1 : 0;
}

enum hr_status hr__groups_make(const struct hr_result *result, enum hr__grouping grouping, struct hr__samples *samples,
                               struct hr__job_groups *groups) {
  *groups = (struct hr__job_groups){0};
  const struct hr_trace *trace = result->trace;
  struct grouper grouper = {
      .result = result, .trace = trace, .grouping = grouping, .n_groups = count_groups(trace, grouping)};
  if (grouper.n_groups == 0) return HR_OK;
  grouper.totals = calloc(grouper.n_groups, sizeof *grouper.totals);
  grouper.cursor = calloc(grouper.n_groups, sizeof *grouper.cursor);
  struct shown *shown = calloc(grouper.n_groups, sizeof *shown);
  bool ready = grouper.totals && grouper.cursor && shown;
  enum hr_status status = ready ? make_all(&grouper, samples, shown, groups) : HR_NO_MEMORY;
  free(grouper.totals);
  free(grouper.cursor);
  free(shown);
  if (status == HR_OK) return HR_OK;
  hr__groups_free(groups->group, groups->count);
  *groups = (struct hr__job_groups){0};
  return status;
}

/* ---- Samples ------------------------------------------------------------------------------------- */

/* Returns the number of jobs that started at least once. The numbers of completed and running jobs are sufficient for
   this only if jobs cannot be interrupted. Otherwise a waiting job may have started before, so the start times of all
   jobs are examined. */
static size_t count_started(const struct hr_result *result) {
  size_t count = (size_t)(result->n_completed + result->n_running);
  if (!result->accounting) return count;
  count = 0;
  for (uint32_t job = 0; job < result->n_jobs; job++) count += result->start_us[job] != HR_NEVER_US;
  return count;
}

enum hr_status hr__samples_init(struct hr__samples *samples, const struct hr_result *result) {
  size_t n_started = count_started(result), n_completed = (size_t)result->n_completed;
  *samples = (struct hr__samples){.wait_us = malloc((n_started + 1) * sizeof *samples->wait_us),
                                  .jct_us = malloc((n_completed + 1) * sizeof *samples->jct_us),
                                  .slowdown_key = malloc((n_completed + 1) * sizeof *samples->slowdown_key)};
  if (samples->wait_us && samples->jct_us && samples->slowdown_key) return HR_OK;
  hr__samples_finish(samples);
  return HR_NO_MEMORY;
}
