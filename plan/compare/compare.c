/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a comparison knows, asked by name or by place. */

#include "plan/compare/compare.h"

#include "base/random.h"
#include "base/threads.h"
#include "plan/runner/progress_reporter.h"
#include "plan/runner/statistics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct hr_estimate unknown = {HR__UNKNOWN, HR__UNKNOWN, HR__UNKNOWN, HR__UNKNOWN, false};

struct hr_estimate hr__estimate(const struct hr_comparison *comparison, uint32_t contender, enum hr__metric metric) {
  return hr__estimate_paired(hr__values_of(comparison, 0, metric), hr__values_of(comparison, contender, metric),
                             comparison->n_replications, comparison->exact);
}

struct hr_estimate hr__group_estimate(const struct hr_comparison *comparison, const struct hr__group_table *table,
                                      uint32_t contender, size_t group, enum hr__group_metric metric) {
  return hr__estimate_paired(hr__group_values_of(comparison, table, 0, group, metric),
                             hr__group_values_of(comparison, table, contender, group, metric),
                             comparison->n_replications, comparison->exact);
}

bool hr__has_metric(const struct hr_comparison *comparison, enum hr__metric metric) {
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++) {
    const double *values = hr__values_of(comparison, i, metric);
    for (uint32_t k = 0; k < comparison->n_replications; k++)
      if (!isnan(values[k])) return true;
  }
  return false;
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t hr__group_find(const struct hr__group_table *table, const char *name) {
  if (table->count == 0) return SIZE_MAX;
  const char **found = bsearch(&name, table->names, table->count, sizeof *table->names, by_text);
  return found ? (size_t)(found - table->names) : SIZE_MAX;
}

struct hr_run_label hr__run_label(const struct hr_comparison *comparison, uint32_t contender,
                                  const struct hr_notes **notes) {
  const struct hr_compare_config *config = &comparison->config;
  const struct hr_trace *trace = config->trace;
  notes[0] = &config->scenario->notes;
  notes[1] = &trace->notes;
  notes[2] = &comparison->first_runs[contender].notes;
  return (struct hr_run_label){.scenario = config->scenario->name,
                               .trace = trace->source,
                               .format = trace->format,
                               .cluster = &config->scenario->cluster,
                               .policy = config->contenders[contender].policy,
                               .seed = config->scenario->seed,
                               .notes = notes,
                               .n_notes = 3,
                               .skipped = trace->skipped,
                               .n_skipped_reasons = trace->n_skipped_reasons,
                               .alerts = comparison->first_runs[contender].alerts,
                               .clock_us = trace->dated ? 0 : trace->origin_us};
}

const char *hr_comparison_metric(uint32_t number) {
  return number < HR__N_METRICS ? hr__metric_name(&hr__metric_infos[number]) : NULL;
}

struct hr_estimate hr_comparison_estimate(const struct hr_comparison *comparison, uint32_t contender,
                                          const char *metric) {
  for (uint32_t i = 0; i < HR__N_METRICS; i++)
    if (strcmp(hr_comparison_metric(i), metric) == 0) return hr__estimate(comparison, contender, (enum hr__metric)i);
  return unknown;
}

uint32_t hr_comparison_replications(const struct hr_comparison *comparison) {
  return comparison->n_replications;
}

const struct hr_summary *hr_comparison_summary(const struct hr_comparison *comparison, uint32_t contender) {
  return comparison->first_runs[contender].summary;
}

const struct hr_notes *hr_comparison_notes(const struct hr_comparison *comparison) {
  return &comparison->notes;
}

/*
 * The runs of a comparison: every policy under every seed, each run a task of a pool of threads. A run leaves its
 * figures at a place of its own, so that nothing depends on which ends first; all but the first of each policy are
 * freed at once. What is parsed (scenarios under other seeds) is parsed before threads begin.
 */

uint64_t hr_replication_seed(uint64_t seed, uint32_t replication) {
  if (replication == 0) return seed;
  struct hr__stream stream;
  hr__stream_init(&stream, seed, HR__PURPOSE_REPLICATION, replication, 0);
  uint64_t high = hr__stream_next(&stream) >> 5, low = hr__stream_next(&stream) >> 6;
  return high << 26 | low; /* a number that every reader of JSON keeps */
}

/* ---- Making room ------------------------------------------------------------------------------------ */

static double *nans(size_t count) {
  double *values = malloc((count + 1) * sizeof *values);
  for (size_t i = 0; values && i < count; i++) values[i] = HR__UNKNOWN;
  return values;
}

static const struct hr_group *tenants_of(const struct hr_summary *summary, size_t *count) {
  *count = summary->n_tenants;
  return summary->by_tenant;
}

static const struct hr_group *classes_of(const struct hr_summary *summary, size_t *count) {
  *count = summary->n_classes;
  return summary->by_class;
}

static int compare_by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool table_make(const struct hr_comparison *comparison, struct hr__group_table *table, size_t most) {
  table->names = calloc(most + 1, sizeof *table->names);
  size_t rows = (size_t)comparison->config.n_contenders * most * HR__N_GROUP_METRICS;
  table->values = nans(rows * comparison->n_replications);
  return table->names && table->values;
}

/* Jobs without a tenant are under the empty name. */
static bool tables_make(struct hr_comparison *comparison) {
  const struct hr_trace *trace = comparison->config.trace;
  struct hr__group_table *tenants = &comparison->groups[HR__TENANTS], *classes = &comparison->groups[HR__CLASSES];
  *tenants = (struct hr__group_table){.title = "tenant", .of = tenants_of};
  *classes = (struct hr__group_table){.title = "class", .of = classes_of};
  if (!table_make(comparison, tenants, trace->tenant ? (size_t)trace->tenants.count + 1 : 0) ||
      !table_make(comparison, classes, trace->class_ ? HR_N_CLASSES : 0))
    return false;
  if (trace->tenant) {
    for (uint32_t i = 0; i < trace->tenants.count; i++) tenants->names[tenants->count++] = trace->tenants.text[i];
    tenants->names[tenants->count++] = "";
  }
  for (unsigned i = 0; trace->class_ && i < HR_N_CLASSES; i++)
    classes->names[classes->count++] = hr_job_class_name((enum hr_job_class)i);
  for (size_t i = 0; i < HR__N_GROUP_TABLES; i++)
    qsort(comparison->groups[i].names, comparison->groups[i].count, sizeof *comparison->groups[i].names,
          compare_by_text);
  return true;
}

static bool make_room(struct hr_comparison *comparison) {
  size_t n = comparison->config.n_contenders;
  comparison->seeds = calloc(comparison->n_replications, sizeof *comparison->seeds);
  comparison->first_runs = calloc(n, sizeof *comparison->first_runs);
  comparison->seconds = calloc(n, sizeof *comparison->seconds);
  comparison->values = nans(n * HR__N_METRICS * comparison->n_replications);
  return comparison->seeds && comparison->first_runs && comparison->seconds && comparison->values &&
         tables_make(comparison);
}

/* ---- Seeds and scenarios ---------------------------------------------------------------------------- */

static enum hr_status load_under_seed(struct hr_comparison *comparison, const char **overrides, uint32_t replication,
                                      struct hr_error *error) {
  const struct hr_compare_config *config = &comparison->config;
  char seed[32];
  snprintf(seed, sizeof seed, "seed=%" PRIu64, comparison->seeds[replication]);
  overrides[config->n_overrides] = seed;
  return hr_scenario_load(config->scenario->path, overrides, config->n_overrides + 1,
                          &comparison->scenarios[replication], error);
}

/* Replication 0 stays with the scenario that was handed in. */
static enum hr_status load_scenarios(struct hr_comparison *comparison, struct hr_error *error) {
  const struct hr_compare_config *config = &comparison->config;
  uint32_t count = comparison->n_replications;
  for (uint32_t i = 0; i < count; i++) comparison->seeds[i] = hr_replication_seed(config->scenario->seed, i);
  if (!config->scenario->prices_drawn || count == 1) return HR_OK;
  comparison->scenarios = calloc((size_t)count + 1, sizeof(*comparison->scenarios));
  const char **overrides = calloc(config->n_overrides + 1, sizeof(*overrides));
  enum hr_status status =
      comparison->scenarios && overrides ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory for the replications");
  for (size_t i = 0; status == HR_OK && i < config->n_overrides; i++) overrides[i] = config->overrides[i];
  for (uint32_t i = 1; status == HR_OK && i < count; i++) status = load_under_seed(comparison, overrides, i, error);
  free(overrides);
  return status;
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

struct compare_work {
  struct hr_comparison *comparison;
  struct hr__progress_sum sum;
};

static void keep_groups(struct hr_comparison *comparison, uint32_t contender, uint32_t replication,
                        const struct hr_summary *summary) {
  for (size_t i = 0; i < HR__N_GROUP_TABLES; i++) {
    struct hr__group_table *table = &comparison->groups[i];
    size_t count;
    const struct hr_group *groups = table->of(summary, &count);
    for (size_t k = 0; k < count; k++) {
      double values[HR__N_GROUP_METRICS];
      size_t place = hr__group_find(table, groups[k].name);
      if (place == SIZE_MAX) continue;
      hr__metrics_of_group(&groups[k], values);
      for (unsigned m = 0; m < HR__N_GROUP_METRICS; m++)
        hr__group_values_of(comparison, table, contender, place, (enum hr__group_metric)m)[replication] = values[m];
    }
  }
}

static void keep(struct hr_comparison *comparison, uint32_t contender, uint32_t replication,
                 const struct hr__one_run *run) {
  double values[HR__N_METRICS];
  hr__metrics_of_run(run, values);
  for (unsigned i = 0; i < HR__N_METRICS; i++)
    hr__values_of(comparison, contender, (enum hr__metric)i)[replication] = values[i];
  keep_groups(comparison, contender, replication, run->summary);
}

/* Policy by policy within a replication. */
static enum hr_status run_one(void *self, size_t task, struct hr_error *error) {
  struct compare_work *work = self;
  struct hr_comparison *comparison = work->comparison;
  const struct hr_compare_config *config = &comparison->config;
  uint32_t contender = (uint32_t)(task % config->n_contenders), replication = (uint32_t)(task / config->n_contenders);
  struct hr__progress_reporter reporter = {.sum = &work->sum};
  struct hr__one_run_config one = {.scenario = comparison->scenarios && replication ? comparison->scenarios[replication]
                                                                                    : config->scenario,
                                   .trace = config->trace,
                                   .policy = config->contenders[contender].policy,
                                   .seed = comparison->seeds[replication],
                                   .alerts = replication == 0, /* told of the first runs alone */
                                   .progress = hr__progress_reporter_progress(&reporter)};
  struct hr__one_run run;
  struct hr_error inner = {0};
  enum hr_status status = hr__one_run_make(&one, &run, &inner);
  if (status == HR_OK) keep(comparison, contender, replication, &run);
  pthread_mutex_lock(&work->sum.lock);
  comparison->seconds[contender] += run.seconds;
  pthread_mutex_unlock(&work->sum.lock);
  if (status == HR_OK && replication == 0)
    comparison->first_runs[contender] = run;
  else
    hr__one_run_finish(&run);
  return status == HR_OK ? HR_OK
                         : hr_fail(error, status, "policy %.200s: %s", config->contenders[contender].label, inner.text);
}

static enum hr_status run_all(struct hr_comparison *comparison, struct hr_error *error) {
  const struct hr_compare_config *config = &comparison->config;
  size_t count = (size_t)config->n_contenders * comparison->n_replications;
  struct compare_work work = {.comparison = comparison};
  struct hr__tasks tasks = {.self = &work, .run = run_one, .count = count};
  hr__progress_sum_init(&work.sum, &config->progress, (uint64_t)count * config->trace->n_jobs);
  enum hr_status status = hr__pool_run(&tasks, config->n_threads, error);
  hr__progress_sum_finish(&work.sum);
  return status;
}

/* ---- What came of it -------------------------------------------------------------------------------- */

/* Where no policy could stop a job, that none was stopped says nothing. */
static void drop_stops(struct hr_comparison *comparison) {
  static const enum hr__metric stops[] = {HR__PREEMPTIONS, HR__RESTARTS, HR__LOST};
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++)
    if (comparison->first_runs[i].summary->stoppable) return;
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++)
    for (size_t k = 0; k < sizeof stops / sizeof *stops; k++)
      for (uint32_t r = 0; r < comparison->n_replications; r++) hr__values_of(comparison, i, stops[k])[r] = HR__UNKNOWN;
}

static bool same_policy(const struct hr_policy_choice *a, const struct hr_policy_choice *b) {
  if (a->ops != b->ops) return false;
  for (size_t i = 0; i < a->n_params; i++)
    if (a->params[i].integer != b->params[i].integer || a->params[i].real != b->params[i].real) return false;
  return true;
}

static enum hr_status note_twins(struct hr_comparison *comparison) {
  const struct hr_contender *contenders = comparison->config.contenders;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++)
    for (uint32_t k = 0; k < i && status == HR_OK; k++)
      if (same_policy(contenders[i].policy, contenders[k].policy))
        status = hr_notes_add(&comparison->notes, "%s and %s are the same policy with the same parameters",
                              contenders[k].label, contenders[i].label);
  return status;
}

static enum hr_status note_runs(struct hr_comparison *comparison) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++) {
    const struct hr_notes *notes = &comparison->first_runs[i].notes;
    for (size_t k = 0; k < notes->count && status == HR_OK; k++)
      status = hr_notes_add(&comparison->notes, "%s: %s", comparison->config.contenders[i].label, notes->text[k]);
  }
  return status;
}

static enum hr_status note_completed(struct hr_comparison *comparison) {
  for (uint32_t i = 1; i < comparison->config.n_contenders; i++)
    if (hr__estimate(comparison, i, HR__COMPLETED).difference != 0)
      return hr_notes_add(&comparison->notes, "not all policies completed the same number of jobs: means and "
                                              "quantiles are each over the jobs that started or completed there");
  return HR_OK;
}

static enum hr_status note_replications(struct hr_comparison *comparison) {
  if (comparison->exact && comparison->config.n_replications > 1)
    return hr_notes_add(&comparison->notes, "nothing is random: one run of each policy tells all, and "
                                            "the other replications were not run");
  if (!comparison->exact && comparison->n_replications == 1)
    return hr_notes_add(&comparison->notes, "the scenario is random, and of one replication it cannot be told which "
                                            "differences are significant: --replications 2 or more are needed");
  return HR_OK;
}

static enum hr_status note_all(struct hr_comparison *comparison, struct hr_error *error) {
  enum hr_status status = note_replications(comparison);
  if (status == HR_OK) status = note_twins(comparison);
  if (status == HR_OK) status = note_completed(comparison);
  if (status == HR_OK) status = note_runs(comparison);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

/* ---- The whole -------------------------------------------------------------------------------------- */

bool hr_compare_is_random(const struct hr_compare_config *config) {
  bool random = hr_scenario_is_random(config->scenario);
  for (uint32_t i = 0; i < config->n_contenders; i++)
    random = random || hr_policy_choice_draws(config->contenders[i].policy);
  return random;
}

/* A policy of a shared object may draw by itself, which its runs then show. */
static void plan_replications(struct hr_comparison *comparison) {
  const struct hr_compare_config *config = &comparison->config;
  bool random = hr_compare_is_random(config), foreign = false;
  for (uint32_t i = 0; i < config->n_contenders; i++) foreign = foreign || config->contenders[i].policy->library;
  bool more = config->n_replications > 1 && (random || foreign);
  comparison->exact = !random && !more;
  comparison->n_replications = more ? config->n_replications : 1;
}

enum hr_status hr_compare(const struct hr_compare_config *config, struct hr_comparison **comparison,
                          struct hr_error *error) {
  *comparison = NULL;
  if (config->n_contenders == 0 || config->n_replications == 0 || config->n_threads == 0)
    return hr_fail(error, HR_BAD_INPUT, "a comparison wants at least one policy, one replication and one thread");
  struct hr_comparison *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  fresh->config = *config;
  plan_replications(fresh);
  enum hr_status status = make_room(fresh) ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory for the replications");
  if (status == HR_OK) status = load_scenarios(fresh, error);
  if (status == HR_OK) status = run_all(fresh, error);
  if (status == HR_OK) {
    drop_stops(fresh);
    status = note_all(fresh, error);
  }
  if (status == HR_OK)
    *comparison = fresh;
  else
    hr_comparison_destroy(fresh);
  return status;
}

void hr_comparison_destroy(struct hr_comparison *comparison) {
  if (!comparison) return;
  for (uint32_t i = 0; comparison->first_runs && i < comparison->config.n_contenders; i++)
    hr__one_run_finish(&comparison->first_runs[i]);
  for (uint32_t i = 0; comparison->scenarios && i < comparison->n_replications; i++)
    hr_scenario_destroy(comparison->scenarios[i]);
  for (size_t i = 0; i < HR__N_GROUP_TABLES; i++) {
    free(comparison->groups[i].names);
    free(comparison->groups[i].values);
  }
  free(comparison->seeds);
  free(comparison->scenarios);
  free(comparison->first_runs);
  free(comparison->seconds);
  free(comparison->values);
  hr_notes_finish(&comparison->notes);
  free(comparison);
}
