/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs every policy with every seed on threads and ranks.
 *
 * Replication r has the same seed and, if workloads are redrawn, the same workload for all policies. So all policies
 * see the same random events and their differences are paired. A policy for which nothing is random is run once, and
 * its results are copied to all replications. Each run writes its metrics to its own place in the arrays, so the
 * results do not depend on the order in which runs end. The whole summary is kept only for the first run of each
 * policy. Scenarios with other seeds are parsed before the threads start. In an MPI job, rank 0 receives the results of
 * the other ranks.
 *
 * From the jobs of each policy's first run, a comparison keeps the cumulative distributions of waits and completion
 * times, and the CSV files of jobs. A distribution is stored as its quantiles at HR__CURVE_POINTS equidistant shares,
 * so its size does not depend on the number of jobs. Quantiles interpolate linearly between order statistics, as those
 * of a summary do. A file of jobs is written in the thread of its run, while the results are in memory. It stays open,
 * without a name, until all runs have succeeded; hr_comparison_commit_jobs then gives all files their names.
 */

#include "plan/compare/compare.h"

#include "base/output_file.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/replay.h"
#include "headroom/unstable/scenario_files.h"
#include "report/exports/exports.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct hr__compare_column hr__compare_columns[] = {{HR__M_WAIT_MEAN, "wait", "mean"},
                                                         {HR__M_WAIT_P50, "wait", "p50"},
                                                         {HR__M_WAIT_P95, "wait", "p95"},
                                                         {HR__M_WAIT_P99, "wait", "p99"},
                                                         {HR__M_WAIT_MAX, "wait", "max"},
                                                         {HR__M_JCT_MEAN, "completion", "mean jct"},
                                                         {HR__M_JCT_P95, "completion", "p95 jct"},
                                                         {HR__M_SLOWDOWN_MEAN, "completion", "slowdown"},
                                                         {HR__M_SLOWDOWN_P95, "completion", "p95 slowdown"},
                                                         {HR__M_MAKESPAN, "completion", "makespan"},
                                                         {HR__M_UTILIZATION_SUBMIT_WINDOW, "usage", "util. submit"},
                                                         {HR__M_UTILIZATION_MAKESPAN, "usage", "util. total"},
                                                         {HR__M_COMPLETED, "usage", "completed"},
                                                         {HR__M_UNFINISHED, "usage", "unfinished"},
                                                         {HR__M_COST, "usage", "cost"},
                                                         {HR__M_PREEMPTIONS, "interrupted", "preempted"},
                                                         {HR__M_RESTARTS, "interrupted", "restarts"},
                                                         {HR__M_LOST, "interrupted", "GPU h lost"},
                                                         {HR__M_JAIN, "fairness", "Jain"},
                                                         {HR__M_RHO_MEAN, "fairness", "mean rho"},
                                                         {HR__M_RHO_P95, "fairness", "p95 rho"},
                                                         {HR__M_RHO_MAX, "fairness", "max rho"},
                                                         {HR__M_RHO_ABOVE_1, "fairness", "rho > 1"},
                                                         {HR__M_FRAGMENTS_SUBMITS, "fragmented", "F, submit"},
                                                         {HR__M_FRAGMENTS_MAKESPAN, "fragmented", "F, total"},
                                                         {HR__M_STRANDED, "fragmented", "stranded"},
                                                         {HR__M_GANG_MEAN, "fragmented", "largest gang"},
                                                         {HR__M_GANG_MIN, "fragmented", "minimum"},
                                                         {HR__M_ATTAINMENT, "requests", "in goals"},
                                                         {HR__M_TTFT_P95, "requests", "p95 TTFT"},
                                                         {HR__M_TPOT_P95, "requests", "p95 TPOT"},
                                                         {HR__M_E2E_P95, "requests", "p95 E2E"},
                                                         {HR__M_SERVING_COST, "requests", "cost"},
                                                         {0}};

static const struct hr__compare_column columns_of_jobs[HR__N_COMPARE_GROUP_METRICS] = {
    {HR__M_WAIT_MEAN, "", "mean wait"},
    {HR__M_WAIT_P95, "", "p95 wait"},
    {HR__M_JCT_MEAN, "", "mean jct"},
    {HR__M_SLOWDOWN_MEAN, "", "slowdown"}};
static const struct hr__compare_column columns_of_services[HR__N_COMPARE_GROUP_METRICS] = {
    {HR__M_ATTAINMENT, "", "in goals"},
    {HR__M_TTFT_P95, "", "p95 TTFT"},
    {HR__M_TPOT_P95, "", "p95 TPOT"},
    {HR__M_SERVING_COST, "", "cost"}};

/* ---- Details of first runs: distributions ----------------------------------------------------------- */

/* Writes the quantiles of sorted durations in seconds; NaN if there are none. */
static void put_quantiles(const int64_t *sorted, size_t count, double *seconds) {
  for (size_t i = 0; i < HR__CURVE_POINTS; i++) {
    double at = (double)i / (HR__CURVE_POINTS - 1) * (double)(count ? count - 1 : 0);
    size_t low = (size_t)at, high = low + 1 < count ? low + 1 : low;
    double weight = at - (double)low;
    seconds[i] = HR__UNKNOWN;
    if (count)
      seconds[i] = ((double)sorted[low] + weight * ((double)sorted[high] - (double)sorted[low])) / (double)HR_SECOND_US;
  }
}

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static bool make_curves(const struct hr_result *result, struct hr__compare_curves *curves) {
  const struct hr_trace *trace = result->trace;
  int64_t *us = malloc(((size_t)result->n_jobs + 1) * sizeof *us);
  size_t started = 0, completed = 0;
  if (!us) return false;
  for (uint32_t i = 0; i < result->n_jobs; i++)
    if (result->start_us[i] != HR_NEVER_US) us[started++] = result->start_us[i] - trace->submit_us[i];
  qsort(us, started, sizeof *us, by_value);
  put_quantiles(us, started, curves->wait_s);
  for (uint32_t i = 0; i < result->n_jobs; i++)
    if (result->state[i] == HR_JOB_COMPLETED)
      us[completed++] = hr_result_end_us(result, (hr_job){i}) - trace->submit_us[i];
  qsort(us, completed, sizeof *us, by_value);
  put_quantiles(us, completed, curves->jct_s);
  free(us);
  return true;
}

/* ---- Details of first runs: callbacks of a run ------------------------------------------------------ */

/* The first run of one policy, for the callbacks of struct hr__one_run_details. */
struct first_run {
  struct hr_comparison *comparison;
  uint32_t contender;
  struct hr_placements *placements; /* NULL: no file of jobs */
};

static enum hr_status compare_details_prepare(void *self, struct hr_replay *replay, struct hr_error *error) {
  struct first_run *details = self;
  if (!details->comparison->config.jobs) return HR_OK;
  details->placements = hr_placements_create(replay->config.trace);
  if (!details->placements) return hr_fail(error, HR_NO_MEMORY, "out of memory for the placements");
  return hr_replay_add(replay, hr_placements_observer(details->placements), error);
}

static enum hr_status compare_details_collect(void *self, const struct hr_replay *replay, struct hr_error *error) {
  struct first_run *details = self;
  struct hr_comparison *comparison = details->comparison;
  if (!make_curves(replay->result, &comparison->curves[details->contender]))
    return hr_fail(error, HR_NO_MEMORY, "out of memory for the distributions");
  if (!comparison->config.jobs) return HR_OK;
  struct hr__csv_out *csv = &comparison->job_files[details->contender].csv;
  enum hr_status status =
      hr__jobs_open(comparison->config.jobs[details->contender], replay->config.trace,
                    &replay->config.scenario->cluster, replay->result, details->placements, replay->ledger, csv, error);
  comparison->job_files[details->contender].open = status == HR_OK;
  return status;
}

/* ---- Details of first runs: files of jobs ----------------------------------------------------------- */

enum hr_status hr_comparison_commit_jobs(struct hr_comparison *comparison, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; comparison->job_files && i < comparison->config.n_contenders; i++) {
    struct hr__compare_job_file *file = &comparison->job_files[i];
    if (!file->open) continue;
    file->open = false;
    if (status == HR_OK)
      status = hr__csv_commit(&file->csv, error);
    else
      hr__csv_abandon(&file->csv);
  }
  return status;
}

/* Discards the files of jobs that were not committed. */
static void compare_job_files_finish(struct hr_comparison *comparison) {
  for (uint32_t i = 0; comparison->job_files && i < comparison->config.n_contenders; i++)
    if (comparison->job_files[i].open) hr__csv_abandon(&comparison->job_files[i].csv);
  free(comparison->job_files);
}

/* ---- Queries ---------------------------------------------------------------------------------------- */

static const struct hr_estimate unknown = {HR__UNKNOWN, HR__UNKNOWN, HR__UNKNOWN, HR__UNKNOWN, false};

struct hr_estimate hr_comparison_estimate(const struct hr_comparison *comparison, uint32_t contender,
                                          const char *metric) {
  enum hr__metric known = hr__metric_find(metric, strlen(metric));
  return known == HR__N_METRICS ? unknown : hr__compare_estimate(comparison, contender, known);
}

const struct hr_summary *hr_comparison_summary(const struct hr_comparison *comparison, uint32_t contender) {
  return comparison->first_runs[contender].summary;
}

const struct hr_trace *hr_comparison_trace(const struct hr_comparison *comparison) {
  return comparison->redrawn ? comparison->workloads.list[0].trace : comparison->config.trace;
}

const struct hr_notes *hr_comparison_notes(const struct hr_comparison *comparison) {
  return &comparison->notes;
}

/* ---- Allocation ------------------------------------------------------------------------------------- */

static double *nans(size_t count) {
  double *values = malloc((count + 1) * sizeof *values);
  for (size_t i = 0; values && i < count; i++) values[i] = HR__UNKNOWN;
  return values;
}

static const struct hr_group *groups_of_jobs(const struct hr__group_table *table, const struct hr_summary *summary) {
  return table->of == HR__TENANTS ? summary->by_tenant : summary->by_class;
}

size_t hr__compare_group_count(const struct hr__group_table *table, const struct hr_summary *summary) {
  if (table->of == HR__SERVICES) return summary->n_services;
  return table->of == HR__TENANTS ? summary->n_tenants : summary->n_classes;
}

const char *hr__compare_group_name(const struct hr__group_table *table, const struct hr_summary *summary,
                                   size_t group) {
  return table->of == HR__SERVICES ? summary->services[group].name : groups_of_jobs(table, summary)[group].name;
}

static double group_value(const struct hr__group_table *table, const struct hr_summary *summary, size_t group,
                          enum hr__metric metric) {
  if (table->of == HR__SERVICES) return hr__metric_of_service(metric, &summary->services[group]).value;
  return hr__metric_of_group(metric, &groups_of_jobs(table, summary)[group], NULL).value;
}

static const struct hr__group_table empty_tables[HR__N_GROUP_TABLES] = {
    [HR__CLASSES] = {HR__CLASSES, "class", columns_of_jobs, NULL, 0, NULL},
    [HR__TENANTS] = {HR__TENANTS, "tenant", columns_of_jobs, NULL, 0, NULL},
    [HR__SERVICES] = {HR__SERVICES, "service", columns_of_services, NULL, 0, NULL}};

static bool allocate_table(const struct hr_comparison *comparison, struct hr__group_table *table, size_t max_groups) {
  table->names = calloc(max_groups + 1, sizeof *table->names);
  size_t rows = (size_t)comparison->config.n_contenders * max_groups * HR__N_COMPARE_GROUP_METRICS;
  table->values = nans(rows * comparison->n_replications);
  return table->names && table->values;
}

/* Allocates the tables of tenants, classes and services. Jobs without a tenant belong to the group with the empty name.
   Returns false when out of memory. */
static bool make_tables(struct hr_comparison *comparison) {
  const struct hr_trace *trace = comparison->config.trace;
  const struct hr_services *of_scenario = comparison->config.scenario->services;
  const uint32_t n_services = of_scenario ? of_scenario->count : 0;
  struct hr__group_table *tenants = &comparison->groups[HR__TENANTS], *classes = &comparison->groups[HR__CLASSES],
                         *services = &comparison->groups[HR__SERVICES];
  for (size_t i = 0; i < HR__N_GROUP_TABLES; i++) comparison->groups[i] = empty_tables[i];
  if (!allocate_table(comparison, tenants, trace->tenant ? (size_t)trace->tenants.count + 1 : 0) ||
      !allocate_table(comparison, classes, trace->class_ ? HR_N_CLASSES : 0) ||
      !allocate_table(comparison, services, n_services))
    return false;
  for (uint32_t i = 0; i < n_services; i++) services->names[services->count++] = of_scenario->at[i].name;
  if (trace->tenant) {
    for (uint32_t i = 0; i < trace->tenants.count; i++) tenants->names[tenants->count++] = trace->tenants.text[i];
    tenants->names[tenants->count++] = "";
  }
  for (unsigned i = 0; trace->class_ && i < HR_N_CLASSES; i++)
    classes->names[classes->count++] = hr_job_class_name((enum hr_job_class)i);
  for (size_t i = 0; i < HR__N_GROUP_TABLES; i++)
    qsort(comparison->groups[i].names, comparison->groups[i].count, sizeof *comparison->groups[i].names, hr__by_text);
  return true;
}

static bool allocate(struct hr_comparison *comparison) {
  size_t n = comparison->config.n_contenders;
  comparison->seeds = calloc(comparison->n_replications, sizeof *comparison->seeds);
  comparison->first_runs = calloc(n, sizeof *comparison->first_runs);
  comparison->seconds = calloc(n, sizeof *comparison->seconds);
  comparison->run_seconds = calloc(n * comparison->n_replications, sizeof *comparison->run_seconds);
  comparison->values = nans(n * HR__N_METRICS * comparison->n_replications);
  comparison->fixed = calloc(n, sizeof *comparison->fixed);
  comparison->identical = calloc(n, sizeof *comparison->identical);
  comparison->digests = calloc(n * comparison->n_replications, sizeof *comparison->digests);
  comparison->curves = calloc(n, sizeof *comparison->curves);
  comparison->job_files = comparison->config.jobs ? calloc(n, sizeof *comparison->job_files) : NULL;
  comparison->titles = hr__compare_titles(comparison->config.contenders, comparison->config.n_contenders);
  return comparison->seeds && comparison->first_runs && comparison->seconds && comparison->run_seconds &&
         comparison->values && comparison->fixed && comparison->identical && comparison->digests &&
         comparison->curves && (comparison->job_files || !comparison->config.jobs) && comparison->titles &&
         make_tables(comparison);
}

/* ---- Seeds, scenarios and workloads ----------------------------------------------------------------- */

/* If prices are random, loads a scenario for each replication, since random prices depend on the scenario's seed.
   Nothing else in a scenario depends on it. Replication 0 uses the scenario of the config. */
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
  struct hr_catalog *catalog = NULL;
  (void)hr_catalog_load(NULL, &catalog, NULL); /* on failure, each scenario reads it and reports the error */
  for (uint32_t i = 1; status == HR_OK && i < count; i++) {
    char seed[32];
    snprintf(seed, sizeof seed, "seed=%" PRIu64, comparison->seeds[i]);
    overrides[config->n_overrides] = seed;
    status = hr_scenario_load_with(catalog, config->scenario->path, overrides, config->n_overrides + 1,
                                   &comparison->scenarios[i], error);
  }
  hr_catalog_destroy(catalog);
  free(overrides);
  return status;
}

/* Prepares the workloads of the replications. Runs draw them when they need them. */
static enum hr_status prepare_workloads(struct hr_comparison *comparison, struct hr_error *error) {
  const struct hr_compare_config *config = &comparison->config;
  const struct hr_workload_spec *workload = &config->scenario->replications.workload;
  struct hr_workload_cut cut;
  comparison->redrawn = hr__workload_is_redrawn(workload);
  if (!comparison->redrawn) return HR_OK;
  if (!hr__workloads_reserve(&comparison->workloads, comparison->n_replications))
    return hr_fail(error, HR_NO_MEMORY, "out of memory for the replications");
  return hr_trace_cut(config->trace, workload, &cut, error);
}

static enum hr_status redraw(const void *self, uint64_t seed, struct hr_trace **drawn, struct hr_error *error) {
  const struct hr_compare_config *config = self;
  return hr_trace_redraw(config->trace, &config->scenario->replications.workload, seed, drawn, error);
}

/* Finds the workload of a replication, as hr_replicate does. */
static enum hr_status find_trace(struct hr_comparison *comparison, uint32_t replication, const struct hr_trace **trace,
                                 struct hr_error *error) {
  *trace = comparison->config.trace;
  if (!comparison->redrawn) return HR_OK;
  return hr__workloads_get(&comparison->workloads.list[replication], &comparison->drawing, &comparison->config, redraw,
                           comparison->seeds[replication], trace, error);
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

struct compare_work {
  struct hr_comparison *comparison;
  struct hr__progress_sum sum;
};

static void store_group_metrics(struct hr_comparison *comparison, uint32_t contender, uint32_t replication,
                                const struct hr_summary *summary) {
  for (size_t i = 0; i < HR__N_GROUP_TABLES; i++) {
    struct hr__group_table *table = &comparison->groups[i];
    const size_t count = hr__compare_group_count(table, summary);
    for (size_t k = 0; k < count; k++) {
      size_t index = hr__compare_find_group(table, hr__compare_group_name(table, summary, k));
      if (index == SIZE_MAX) continue;
      for (unsigned m = 0; m < HR__N_COMPARE_GROUP_METRICS; m++)
        hr__compare_group_values(comparison, table, contender, index, m)[replication] =
            group_value(table, summary, k, table->columns[m].metric);
    }
  }
}

static void store_metrics(struct hr_comparison *comparison, uint32_t contender, uint32_t replication,
                          const struct hr__one_run *run) {
  double values[HR__N_METRICS];
  hr__metrics_of_run(run->summary, values);
  for (unsigned i = 0; i < HR__N_METRICS; i++)
    hr__compare_values(comparison, contender, (enum hr__metric)i)[replication] = values[i];
  store_group_metrics(comparison, contender, replication, run->summary);
  comparison->digests[(size_t)contender * comparison->n_replications + replication] = run->summary->digest;
}

/* Whether a run is not made, since it would equal replication 0. */
static bool is_skipped(const struct hr_comparison *comparison, uint32_t contender, uint32_t replication) {
  return replication > 0 && comparison->fixed[contender];
}

/* Makes a run and keeps its results. */
static enum hr_status make_run(struct compare_work *work, uint32_t contender, uint32_t replication,
                               struct hr_error *error) {
  struct hr_comparison *comparison = work->comparison;
  const struct hr_compare_config *config = &comparison->config;
  struct hr__progress_reporter reporter = {.sum = &work->sum};
  struct first_run first = {.comparison = comparison, .contender = contender};
  const struct hr__one_run_details details = {.self = &first,
                                              .costs_by_job = config->jobs != NULL,
                                              .prepare = compare_details_prepare,
                                              .collect = compare_details_collect};
  struct hr__one_run_config one = {.scenario = comparison->scenarios && replication ? comparison->scenarios[replication]
                                                                                    : config->scenario,
                                   .policy = config->contenders[contender].policy,
                                   .seed = comparison->seeds[replication],
                                   .alerts = replication == 0, /* alerts are reported for first runs only */
                                   .details = replication == 0 ? &details : NULL,
                                   .progress = hr__progress_reporter_progress(&reporter)};
  struct hr__one_run run = {0};
  enum hr_status status = find_trace(comparison, replication, &one.trace, error);
  if (status != HR_OK) return status;
  hr__progress_sum_correct(&work->sum, one.trace->n_jobs, config->trace->n_jobs);
  status = hr__one_run_make(&one, &run, error);
  hr_placements_destroy(first.placements);
  if (status == HR_OK) store_metrics(comparison, contender, replication, &run);
  comparison->run_seconds[(size_t)contender * comparison->n_replications + replication] = run.seconds;
  if (status == HR_OK && replication == 0)
    comparison->first_runs[contender] = run;
  else
    hr__one_run_finish(&run);
  return status;
}

/* Items are numbered by replication, then by policy. */
static uint32_t contender_of(const struct hr_comparison *comparison, size_t item) {
  return (uint32_t)(item % comparison->config.n_contenders);
}

static uint32_t replication_of(const struct hr_comparison *comparison, size_t item) {
  return (uint32_t)(item / comparison->config.n_contenders);
}

static enum hr_status run_item(void *self, size_t item, struct hr_error *error) {
  struct compare_work *work = self;
  const struct hr_comparison *comparison = work->comparison;
  uint32_t contender = contender_of(comparison, item), replication = replication_of(comparison, item);
  struct hr_error inner = {0};
  if (is_skipped(comparison, contender, replication)) return HR_OK;
  enum hr_status status = make_run(work, contender, replication, &inner);
  if (status == HR_OK) return HR_OK;
  return hr_fail(error, status, "policy %.200s: %s", comparison->config.contenders[contender].label, inner.text);
}

/* Copies the results of a run. */
static void exchange_item(void *self, size_t item, struct hr__parcel *parcel) {
  struct compare_work *work = self;
  struct hr_comparison *comparison = work->comparison;
  uint32_t contender = contender_of(comparison, item), replication = replication_of(comparison, item);
  size_t index = (size_t)contender * comparison->n_replications + replication;
  if (is_skipped(comparison, contender, replication)) return;
  for (unsigned m = 0; m < HR__N_METRICS; m++)
    hr__parcel_bytes(parcel, &hr__compare_values(comparison, contender, (enum hr__metric)m)[replication],
                     sizeof(double));
  for (size_t i = 0; i < HR__N_GROUP_TABLES; i++) {
    const struct hr__group_table *table = &comparison->groups[i];
    double *values = hr__compare_group_values(comparison, table, contender, 0, 0);
    for (size_t k = 0; k < table->count * HR__N_COMPARE_GROUP_METRICS; k++)
      hr__parcel_bytes(parcel, &values[k * comparison->n_replications + replication], sizeof *values);
  }
  hr__parcel_bytes(parcel, &comparison->digests[index], sizeof *comparison->digests);
  hr__parcel_bytes(parcel, &comparison->run_seconds[index], sizeof *comparison->run_seconds);
  if (replication == 0) {
    hr__parcel_bytes(parcel, &comparison->curves[contender], sizeof *comparison->curves);
    hr__parcel_one_run(parcel, &comparison->first_runs[contender]);
  }
  if (parcel->reading) hr__progress_sum_add(&work->sum, comparison->config.trace->n_jobs);
}

static enum hr_status run_all(struct hr_comparison *comparison, struct hr_error *error) {
  const struct hr_compare_config *config = &comparison->config;
  struct compare_work work = {.comparison = comparison};
  const struct hr__run_batch batch = {.self = &work,
                                      .count = (size_t)config->n_contenders * comparison->n_replications,
                                      .run = run_item,
                                      .exchange = exchange_item,
                                      .group = comparison->redrawn ? config->n_contenders : 0,
                                      .n_own = config->jobs ? config->n_contenders : 0}; /* their files are on rank 0 */
  uint64_t jobs = 0;
  for (size_t item = 0; item < batch.count; item++)
    if (!is_skipped(comparison, contender_of(comparison, item), replication_of(comparison, item)))
      jobs += config->trace->n_jobs;
  hr__progress_sum_init(&work.sum, &config->progress, jobs);
  enum hr_status status = hr__batch_run(&batch, config->ranks, config->n_threads, error);
  hr__progress_sum_finish(&work.sum);
  for (uint32_t i = 0; i < config->n_contenders; i++)
    for (uint32_t r = 0; r < comparison->n_replications; r++)
      comparison->seconds[i] += comparison->run_seconds[(size_t)i * comparison->n_replications + r];
  return status;
}

/* ---- Results ---------------------------------------------------------------------------------------- */

/* Sets the metrics of interruptions to unknown if no policy and no market can interrupt a job. Otherwise they would be
   reported as 0. */
static void drop_interruptions(struct hr_comparison *comparison) {
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++)
    if (comparison->first_runs[i].summary->stoppable) return;
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++)
    for (unsigned m = 0; m < HR__N_METRICS; m++) {
      bool dropped = hr__metric_section((enum hr__metric)m) == HR__SECTION_GOODPUT || m == HR__M_PREEMPTIONS ||
                     m == HR__M_RESTARTS;
      for (uint32_t r = 0; dropped && r < comparison->n_replications; r++)
        hr__compare_values(comparison, i, (enum hr__metric)m)[r] = HR__UNKNOWN;
    }
}

/* Copies the results of replication 0 to the replications that were not run. */
static void copy_fixed(struct hr_comparison *comparison, uint32_t contender) {
  uint32_t count = comparison->n_replications;
  for (uint32_t r = 1; r < count; r++) {
    for (unsigned m = 0; m < HR__N_METRICS; m++) {
      double *values = hr__compare_values(comparison, contender, (enum hr__metric)m);
      values[r] = values[0];
    }
    for (size_t i = 0; i < HR__N_GROUP_TABLES; i++) {
      const struct hr__group_table *table = &comparison->groups[i];
      double *values = hr__compare_group_values(comparison, table, contender, 0, 0);
      for (size_t k = 0; k < table->count * HR__N_COMPARE_GROUP_METRICS; k++) values[k * count + r] = values[k * count];
    }
    comparison->digests[(size_t)contender * count + r] = comparison->digests[(size_t)contender * count];
  }
}

/* Whether all replications of a policy are identical: at least two, with equal events and metrics. Equal events alone
   do not suffice, since prices may differ. */
static bool is_identical(const struct hr_comparison *comparison, uint32_t contender) {
  uint32_t count = comparison->n_replications;
  const uint64_t *digests = &comparison->digests[(size_t)contender * count];
  for (uint32_t r = 1; r < count; r++) {
    if (digests[r] != digests[0]) return false;
    for (unsigned m = 0; m < HR__N_METRICS; m++) {
      const double *values = hr__compare_values(comparison, contender, (enum hr__metric)m);
      if (values[r] != values[0] && !(isnan(values[r]) && isnan(values[0]))) return false;
    }
  }
  return count > 1;
}

static void find_identical(struct hr_comparison *comparison) {
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++) {
    if (comparison->fixed[i]) copy_fixed(comparison, i);
    comparison->identical[i] = is_identical(comparison, i);
  }
}

static bool same_policy(const struct hr_policy_choice *a, const struct hr_policy_choice *b) {
  if (a->ops != b->ops) return false;
  for (size_t i = 0; i < a->n_params; i++)
    if (a->params[i].integer != b->params[i].integer || a->params[i].real != b->params[i].real) return false;
  return true;
}

static enum hr_status note_duplicates(struct hr_comparison *comparison) {
  const struct hr_contender *contenders = comparison->config.contenders;
  enum hr_status status = HR_OK;
  if (comparison->config.n_contenders == 1)
    status = hr_notes_add(&comparison->notes, "%s is the only policy: nothing is compared", contenders[0].label);
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++)
    for (uint32_t k = 0; k < i && status == HR_OK; k++)
      if (same_policy(contenders[i].policy, contenders[k].policy))
        status = hr_notes_add(&comparison->notes, "%s and %s are the same policy with the same parameters",
                              contenders[k].label, contenders[i].label);
  return status;
}

/* Adds a note on one policy. If the note begins with "warning:", this word remains at the beginning. */
static enum hr_status note_run(struct hr_comparison *comparison, uint32_t contender, const char *text) {
  static const char warning[] = "warning: ";
  size_t begin = strncmp(text, warning, sizeof warning - 1) == 0 ? sizeof warning - 1 : 0;
  return hr_notes_add(&comparison->notes, "%s%s: %s", begin ? warning : "",
                      comparison->config.contenders[contender].label, text + begin);
}

/* Whether the runs of all policies have the same note. */
static bool all_have(const struct hr_comparison *comparison, const char *text) {
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++) {
    const struct hr_notes *notes = &comparison->first_runs[i].notes;
    size_t k = 0;
    while (k < notes->count && strcmp(notes->text[k], text) != 0) k++;
    if (k == notes->count) return false;
  }
  return true;
}

/* Adds the notes on the runs. A note on all policies is added once, without a label. */
static enum hr_status note_runs(struct hr_comparison *comparison) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++) {
    const struct hr_notes *notes = &comparison->first_runs[i].notes;
    for (size_t k = 0; k < notes->count && status == HR_OK; k++)
      if (!all_have(comparison, notes->text[k]))
        status = note_run(comparison, i, notes->text[k]);
      else if (i == 0)
        status = hr_notes_add(&comparison->notes, "%s", notes->text[k]);
  }
  return status;
}

static enum hr_status note_completed(struct hr_comparison *comparison) {
  for (uint32_t i = 1; i < comparison->config.n_contenders; i++)
    if (hr__compare_estimate(comparison, i, HR__M_COMPLETED).difference != 0)
      return hr_notes_add(&comparison->notes, "not all policies completed the same number of jobs: means and "
                                              "quantiles are each over the jobs that started or completed there");
  return HR_OK;
}

/* The remedy for replications that do not differ. */
#define VARY "to vary the workload, use --set 'replications.workload={\"resample\":\"days\"}'"

static enum hr_status note_identical(struct hr_comparison *comparison) {
  const struct hr_compare_config *config = &comparison->config;
  uint32_t count = comparison->n_replications, identical = 0;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < config->n_contenders; i++) identical += comparison->identical[i];
  if (identical == config->n_contenders)
    return hr_notes_add(&comparison->notes,
                        "all %" PRIu32 " replications of each policy are identical, so differences are those of one "
                        "run and have no interval; " VARY,
                        count);
  for (uint32_t i = 0; i < config->n_contenders && status == HR_OK; i++) {
    if (comparison->fixed[i])
      status = hr_notes_add(&comparison->notes, "%s is deterministic: it was run once, for all replications",
                            config->contenders[i].label);
    else if (comparison->identical[i])
      status = hr_notes_add(&comparison->notes, "all %" PRIu32 " replications of %s are identical", count,
                            config->contenders[i].label);
  }
  return status;
}

static enum hr_status note_replications(struct hr_comparison *comparison) {
  if (comparison->exact && comparison->config.scenario->replications.count > 1)
    return hr_notes_add(&comparison->notes, "the scenario is deterministic: one run of each policy suffices, and "
                                            "the replications of 'replications.count' were skipped; " VARY);
  if (!comparison->exact && comparison->n_replications == 1)
    return hr_notes_add(&comparison->notes, "the scenario is random: with one replication the significance of "
                                            "differences is unknown; use --replications 2 or more");
  return comparison->n_replications > 1 ? note_identical(comparison) : HR_OK;
}

static enum hr_status note_all(struct hr_comparison *comparison, struct hr_error *error) {
  enum hr_status status = note_replications(comparison);
  if (status == HR_OK) status = note_duplicates(comparison);
  if (status == HR_OK) status = note_completed(comparison);
  if (status == HR_OK) status = note_runs(comparison);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

/* ---- Comparison ------------------------------------------------------------------------------------- */

/* Whether the runs of all policies are random, because the scenario, its prices or its workload is random. */
static bool is_random(const struct hr_compare_config *config) {
  return hr_scenario_is_random(config->scenario) || hr__workload_is_redrawn(&config->scenario->replications.workload);
}

/* Determines the number of replications. A policy from a shared object may use random numbers without declaring it, so
   replications of such a policy are run if they are requested. If nothing is random, a configuration with several
   replications is an error, because users request replications to get intervals. The number of replications that the
   scenario states is then ignored. */
static enum hr_status choose_replications(struct hr_comparison *comparison, struct hr_error *error) {
  struct hr_compare_config *config = &comparison->config;
  bool random = is_random(config), plugin = false;
  uint32_t requested = config->n_replications, of_scenario = config->scenario->replications.count;
  for (uint32_t i = 0; i < config->n_contenders; i++) {
    plugin = plugin || config->contenders[i].policy->library;
    random = random || hr_policy_choice_draws(config->contenders[i].policy);
  }
  if (requested > 1 && !random && !plugin)
    return hr_fail(error, HR_BAD_INPUT,
                   "%" PRIu32 " replications would be identical: nothing is random in %s with these policies. Omit the "
                   "replications; differences are then exact. Or draw a workload for each replication: --set "
                   "'replications.workload={\"resample\":\"days\"}'",
                   requested, config->scenario->path);
  comparison->n_replications = requested     ? requested
                               : !random     ? 1
                               : of_scenario ? of_scenario
                                             : HR_DEFAULT_MIN_REPLICATIONS;
  comparison->exact = !random && comparison->n_replications == 1;
  return HR_OK;
}

/* Marks the policies for which nothing is random. */
static void find_fixed(struct hr_comparison *comparison) {
  const struct hr_compare_config *config = &comparison->config;
  for (uint32_t i = 0; i < config->n_contenders; i++) {
    const struct hr_policy_choice *policy = config->contenders[i].policy;
    comparison->fixed[i] = !is_random(config) && !policy->library && !hr_policy_choice_draws(policy);
  }
}

/* Computes the results that depend on all runs. */
static enum hr_status complete(struct hr_comparison *comparison, struct hr_error *error) {
  const struct hr_trace *trace;
  enum hr_status status = find_trace(comparison, 0, &trace, error);
  if (status != HR_OK) return status;
  find_identical(comparison);
  drop_interruptions(comparison);
  return note_all(comparison, error);
}

/* Returns whether some cluster has the policy of the scenario. `clusters` may be NULL: there is one cluster. */
static bool any_follows(const struct hr_scenario_clusters *clusters) {
  bool any = !clusters;
  for (uint32_t i = 0; clusters && i < clusters->count; i++) any = any || !clusters->at[i].own_policy;
  return any;
}

enum hr_status hr_compare(const struct hr_compare_config *config, struct hr_comparison **comparison,
                          struct hr_error *error) {
  *comparison = NULL;
  if (config->n_contenders == 0 || config->n_threads == 0)
    return hr_fail(error, HR_BAD_INPUT, "a comparison needs at least one policy and one thread");
  if (!any_follows(config->scenario->clusters))
    return hr_fail(error, HR_BAD_INPUT, "%s: every cluster has its own policy, so no other policy would have an effect",
                   config->scenario->path);
  struct hr_comparison *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  fresh->config = *config;
  hr__drawing_init(&fresh->drawing);
  enum hr_status status = choose_replications(fresh, error);
  if (status == HR_OK && !allocate(fresh)) status = hr_fail(error, HR_NO_MEMORY, "out of memory for the replications");
  if (status == HR_OK) find_fixed(fresh);
  if (status == HR_OK) status = load_scenarios(fresh, error);
  if (status == HR_OK) status = prepare_workloads(fresh, error);
  if (status == HR_OK) status = hr__input_same(config->ranks, config->scenario, config->trace, error);
  if (status == HR_OK) status = run_all(fresh, error);
  if (status == HR_OK && hr__ranks_first(config->ranks)) status = complete(fresh, error);
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
  hr__workloads_finish(&comparison->workloads);
  hr__drawing_finish(&comparison->drawing);
  compare_job_files_finish(comparison);
  hr__compare_titles_free(comparison->titles, comparison->config.n_contenders);
  for (size_t i = 0; i < HR__N_GROUP_TABLES; i++) {
    free(comparison->groups[i].names);
    free(comparison->groups[i].values);
  }
  free(comparison->seeds);
  free(comparison->scenarios);
  free(comparison->fixed);
  free(comparison->identical);
  free(comparison->digests);
  free(comparison->curves);
  free(comparison->first_runs);
  free(comparison->seconds);
  free(comparison->run_seconds);
  free(comparison->values);
  hr_notes_finish(&comparison->notes);
  free(comparison);
}
