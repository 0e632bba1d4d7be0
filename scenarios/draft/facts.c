/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Facts about a trace for a drafted scenario: demand over time, groups of jobs, recorded waits.
 *
 * Demand is the number of GPUs that would be in use if no job waited. Each job adds its GPUs at its submit and removes
 * them at its submit plus its run time. The changes, sorted by time, give the time at each level between the first and
 * the last submit; the times, sorted by level, give percentiles over time.
 */

#include "scenarios/draft/draft.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Demand ----------------------------------------------------------------------------------------- */

struct change {
  int64_t at_us;
  int64_t milli;
};

struct level {
  int64_t milli, us;
};

static int by_time(const void *left, const void *right) {
  const struct change *a = left, *b = right;
  return a->at_us < b->at_us ? -1 : a->at_us > b->at_us;
}

static int by_level(const void *left, const void *right) {
  const struct level *a = left, *b = right;
  return a->milli < b->milli ? -1 : a->milli > b->milli;
}

/* Returns the lowest level that is not exceeded for the share `share` of the time, in GPUs. */
static double percentile(const struct level *levels, size_t count, int64_t all_us, double share) {
  double seen_us = 0;
  for (size_t i = 0; i < count; i++) {
    seen_us += (double)levels[i].us;
    if (seen_us >= share * (double)all_us) return (double)levels[i].milli / 1000;
  }
  return count ? (double)levels[count - 1].milli / 1000 : 0;
}

/* Turns sorted changes into the levels between them, until `end_us`. Returns their number. */
static size_t list_levels(const struct change *changes, size_t count, int64_t end_us, struct level *levels) {
  int64_t milli = 0;
  size_t n = 0;
  for (size_t i = 0; i < count && changes[i].at_us < end_us; i++) {
    milli += changes[i].milli;
    int64_t next_us = i + 1 < count && changes[i + 1].at_us < end_us ? changes[i + 1].at_us : end_us;
    if (next_us > changes[i].at_us) levels[n++] = (struct level){milli, next_us - changes[i].at_us};
  }
  return n;
}

/* Returns the list of GPU types that a job requests; the number of lists if it requests no type. */
static uint32_t list_of(const struct hr_trace *trace, uint32_t job) {
  bool is_typed = trace->gpu_types && trace->gpu_types[job] != HR_NONE;
  return is_typed ? trace->gpu_types[job] : trace->gpu_type_lists.count;
}

enum hr_status hr__draft_demand(const struct hr_trace *trace, const uint32_t *pool_of, uint32_t pool,
                                struct hr__draft_facts *facts) {
  size_t count = 0, most = 2 * (size_t)trace->n_jobs;
  struct change *changes = malloc((most + 1) * sizeof *changes);
  struct level *levels = malloc((most + 1) * sizeof *levels);
  int64_t end_us = trace->submit_us[trace->n_jobs - 1];
  for (uint32_t i = 0; changes && levels && i < trace->n_jobs; i++) {
    int64_t milli = (int64_t)hr_trace_gpus_milli(trace, (hr_job){i});
    if (pool_of && pool_of[list_of(trace, i)] != pool) continue;
    changes[count++] = (struct change){trace->submit_us[i], milli};
    changes[count++] = (struct change){trace->submit_us[i] + trace->work_us[i], -milli};
    facts->gpu_hours += (double)milli / 1000 * (double)trace->work_us[i] / (double)HR__HOUR_US;
    if (trace->gpus[i] > facts->largest_gpus) facts->largest_gpus = trace->gpus[i];
  }
  if (count) {
    qsort(changes, count, sizeof *changes, by_time);
    /* if all jobs are submitted at once, until the last one could be done */
    if (end_us <= changes[0].at_us) end_us = changes[count - 1].at_us;
    size_t n = list_levels(changes, count, end_us, levels);
    qsort(levels, n, sizeof *levels, by_level);
    int64_t all_us = end_us - changes[0].at_us;
    for (size_t i = 0; i < n; i++)
      facts->mean_gpus += (double)levels[i].milli / 1000 * (double)levels[i].us / (double)all_us;
    facts->p95_gpus = percentile(levels, n, all_us, 0.95);
    facts->p99_gpus = percentile(levels, n, all_us, 0.99);
  }
  enum hr_status status = changes && levels ? HR_OK : HR_NO_MEMORY;
  free(changes);
  free(levels);
  return status;
}

static void find_largest(const struct hr_trace *trace, struct hr__draft_facts *facts) {
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    uint32_t tasks = trace->tasks ? trace->tasks[i] : 1, gpus = trace->gpus[i];
    uint32_t of_task = tasks ? (gpus + tasks - 1) / tasks : gpus;
    if (of_task > facts->largest_node_gpus) facts->largest_node_gpus = of_task;
    if (trace->gpu_milli && trace->gpu_milli[i] < 1000) facts->n_shares++;
    if (trace->mig_profile && trace->mig_profile[i] != HR_NONE) facts->n_mig++;
  }
}

/* ---- Groups ----------------------------------------------------------------------------------------- */

static int by_gpu_hours(const void *left, const void *right) {
  const struct hr__draft_group *a = left, *b = right;
  if (a->gpu_hours > b->gpu_hours || a->gpu_hours < b->gpu_hours) return a->gpu_hours > b->gpu_hours ? -1 : 1;
  return strcmp(a->name, b->name);
}

/* Removes groups without jobs and sorts the others. Returns their number. */
static uint32_t tidy(struct hr__draft_group *groups, uint32_t count) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++)
    if (groups[i].jobs) groups[kept++] = groups[i];
  qsort(groups, kept, sizeof *groups, by_gpu_hours);
  return kept;
}

static void add(struct hr__draft_group *group, const struct hr_trace *trace, uint32_t job) {
  group->jobs++;
  group->gpu_hours +=
      (double)hr_trace_gpus_milli(trace, (hr_job){job}) / 1000 * (double)trace->work_us[job] / (double)HR__HOUR_US;
}

/* Groups jobs by a column of names. The last group is that of jobs without a name. */
static enum hr_status group_by_name(const struct hr_trace *trace, const struct hr_names *names, const uint32_t *column,
                                    struct hr__draft_group **groups, uint32_t *count) {
  uint32_t n = column ? names->count : 0;
  *groups = calloc((size_t)n + 1, sizeof **groups);
  if (!*groups) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < n; i++)
    (*groups)[i] = (struct hr__draft_group){.name = names->text[i], .wait_p95_s = (double)NAN};
  (*groups)[n] = (struct hr__draft_group){.name = "", .wait_p95_s = (double)NAN};
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    uint32_t name = column ? column[i] : HR_NONE;
    if (trace->gpus[i]) add(&(*groups)[name == HR_NONE ? n : name], trace, i);
  }
  *count = tidy(*groups, n + 1);
  return HR_OK;
}

/* ---- Recorded waits --------------------------------------------------------------------------------- */

static int by_number(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return a < b ? -1 : a > b;
}

/* Writes the recorded waits of a class to `waits`; -1: of all jobs. Returns their number. */
static size_t list_waits(const struct hr_trace *trace, int class_, int64_t *waits) {
  size_t count = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    if (class_ >= 0 && trace->class_[i] != class_) continue;
    if (trace->recorded_start_us[i] >= trace->submit_us[i])
      waits[count++] = trace->recorded_start_us[i] - trace->submit_us[i];
  }
  qsort(waits, count, sizeof *waits, by_number);
  return count;
}

/* Returns the 95th percentile by nearest rank, in seconds. */
static double p95_s(const int64_t *waits, size_t count) {
  return count ? hr__seconds(waits[(count * 95 + 99) / 100 - 1]) : (double)NAN;
}

static enum hr_status find_classes(const struct hr_trace *trace, struct hr__draft_facts *facts) {
  facts->classes = calloc(HR_N_CLASSES, sizeof *facts->classes);
  int64_t *waits = trace->recorded_start_us ? malloc(trace->n_jobs * sizeof *waits) : NULL;
  if (!facts->classes || (trace->recorded_start_us && !waits)) {
    free(waits);
    return HR_NO_MEMORY;
  }
  size_t n_waits = waits ? list_waits(trace, -1, waits) : 0;
  facts->wait_p95_s = p95_s(waits, n_waits);
  for (size_t i = 0; i < n_waits; i++) facts->wait_mean_s += hr__seconds(waits[i]) / (double)n_waits;
  for (int i = 0; i < HR_N_CLASSES; i++) {
    struct hr__draft_group *group = &facts->classes[i];
    *group = (struct hr__draft_group){.name = hr_job_class_name((enum hr_job_class)i), .wait_p95_s = (double)NAN};
    for (uint32_t job = 0; job < trace->n_jobs; job++)
      if ((trace->class_ ? trace->class_[job] : HR_CLASS_UNKNOWN) == i) add(group, trace, job);
    if (waits && trace->class_ && group->jobs) group->wait_p95_s = p95_s(waits, list_waits(trace, i, waits));
  }
  free(waits);
  facts->n_classes = tidy(facts->classes, HR_N_CLASSES);
  return HR_OK;
}

/* ---- All of them ------------------------------------------------------------------------------------ */

enum hr_status hr__draft_facts_make(const struct hr_trace *trace, struct hr__draft_facts *facts) {
  *facts = (struct hr__draft_facts){0};
  find_largest(trace, facts);
  enum hr_status status = hr__draft_demand(trace, NULL, 0, facts);
  if (status == HR_OK) status = find_classes(trace, facts);
  if (status == HR_OK)
    status = group_by_name(trace, &trace->tenants, trace->tenant, &facts->tenants, &facts->n_tenants);
  if (status == HR_OK)
    status = group_by_name(trace, &trace->gpu_type_lists, trace->gpu_types, &facts->types, &facts->n_types);
  return status;
}

void hr__draft_facts_finish(struct hr__draft_facts *facts) {
  free(facts->classes);
  free(facts->tenants);
  free(facts->types);
  *facts = (struct hr__draft_facts){0};
}
