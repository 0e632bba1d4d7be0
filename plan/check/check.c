/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the cases of a suite on a pool of threads and compares each case with the baseline.
 *
 * All scenarios are loaded and all traces are read before the first run, so that errors in the input are reported
 * early. A case is compared right after its run, while the results of single jobs are in memory. A case writes only to
 * its own entry, so the results do not depend on the order in which runs end. If the first job with a different start
 * starts later than in the baseline, the run is repeated with an observer to find what the job waited for.
 *
 * The metrics of a baseline are all metrics of the run, a few metrics of each class, tenant and service, and the cost
 * of each pool. Their order comes from the metric table, the trace and the scenario, so it does not depend on the
 * results. The differences are listed in this order: metrics, the first job start that differs, the first decision that
 * differs. Metrics are then sorted: failures first, then by importance.
 */

#include "plan/check/check.h"

#include "base/containers.h"
#include "base/text.h"
#include "base/threads.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/replay.h"
#include "plan/runner/runner.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The results of a case: one run, or replications. All members are borrowed. */
struct check_results {
  const struct hr_trace *trace;
  const struct hr_replicates *replicates; /* NULL: the case is one run, and the members below are set */
  const struct hr__one_run *run;
  const struct hr_result *result;
  const struct hr__decisions *decisions;
};

/* ---- Metrics of a run ------------------------------------------------------------------------------- */

static const enum hr__metric group_metrics[] = {HR__M_COMPLETED, HR__M_WAIT_MEAN, HR__M_WAIT_P95,     HR__M_JCT_MEAN,
                                                HR__M_GPU_HOURS, HR__M_COST,      HR__M_DEADLINE_MISS};
enum { N_GROUP_METRICS = sizeof group_metrics / sizeof *group_metrics };

static const enum hr__metric service_metrics[] = {HR__M_SERVED,   HR__M_ATTAINMENT, HR__M_TTFT_P95,
                                                  HR__M_TPOT_P95, HR__M_E2E_P95,    HR__M_SERVING_COST};
enum { N_SERVICE_METRICS = sizeof service_metrics / sizeof *service_metrics };

static void put_group(struct hr__scoped_metric **at, enum hr__metric_scope of, const char *name) {
  for (size_t i = 0; i < N_GROUP_METRICS; i++) *(*at)++ = (struct hr__scoped_metric){group_metrics[i], of, name};
}

/* Lists the metrics. The caller frees the list. NULL when out of memory. */
static struct hr__scoped_metric *list_metrics(const struct hr_trace *trace, const struct hr_services *services,
                                              size_t *count) {
  const uint32_t n_services = services ? services->count : 0;
  const size_t n_groups = (trace->class_ ? HR_N_CLASSES - 1 : 0) + (trace->tenant ? trace->tenants.count : 0);
  *count = HR__N_METRICS + n_groups * N_GROUP_METRICS + (size_t)n_services * N_SERVICE_METRICS;
  struct hr__scoped_metric *metrics = calloc(*count, sizeof *metrics), *at = metrics;
  if (!metrics) return NULL;
  for (unsigned i = 0; i < HR__N_METRICS; i++) *at++ = (struct hr__scoped_metric){.id = (enum hr__metric)i};
  for (unsigned i = 1; trace->class_ && i < HR_N_CLASSES; i++)
    put_group(&at, HR__OF_CLASS, hr_job_class_name((enum hr_job_class)i));
  for (uint32_t i = 0; trace->tenant && i < trace->tenants.count; i++)
    put_group(&at, HR__OF_TENANT, trace->tenants.text[i]);
  for (uint32_t i = 0; i < n_services; i++)
    for (size_t k = 0; k < N_SERVICE_METRICS; k++)
      *at++ = (struct hr__scoped_metric){service_metrics[k], HR__OF_SERVICE, services->at[i].name};
  return metrics;
}

/* The value, rounded to the digits that a baseline stores. */
static double rounded(double value) {
  char buffer[HR__NUMBER_BYTES];
  return strtod(hr__decimal_text(value, buffer), NULL);
}

/* Adds a metric unless its value is unknown. Returns false when out of memory. */
static bool add_metric(struct hr_baseline_run *now, enum hr__metric id, enum hr_metric_of of, const char *group,
                       double value) {
  if (!isfinite(value)) return true;
  struct hr_baseline_metric *metric = &now->metrics[now->n_metrics++];
  *metric = (struct hr_baseline_metric){.path = strdup(hr__metric_rows[id].path),
                                        .of = of,
                                        .value = rounded(value),
                                        .low = (double)NAN,
                                        .high = (double)NAN};
  if (of == HR_METRIC_OF_RUN) return metric->path != NULL;
  metric->group = hr__utf8_copy(group);
  return metric->path && metric->group;
}

static enum hr_metric_of part_of(const struct hr__scoped_metric *metric) {
  static const enum hr_metric_of parts[] = {[HR__OF_ALL] = HR_METRIC_OF_RUN,
                                            [HR__OF_CLASS] = HR_METRIC_OF_CLASS,
                                            [HR__OF_TENANT] = HR_METRIC_OF_TENANT,
                                            [HR__OF_SERVICE] = HR_METRIC_OF_ONE_SERVICE};
  return parts[metric->of];
}

static bool add_all(const struct hr__scoped_metric *metrics, const double *values, size_t count,
                    struct hr_baseline_run *now) {
  for (size_t i = 0; i < count; i++)
    if (!add_metric(now, metrics[i].id, part_of(&metrics[i]), metrics[i].name, values[i])) return false;
  return true;
}

static bool add_pools(const struct hr_cost_summary *costs, struct hr_baseline_run *now) {
  for (size_t i = 0; costs && i < costs->by_pool.count; i++)
    if (!add_metric(now, HR__M_COST, HR_METRIC_OF_POOL, costs->by_pool.line[i].name,
                    (double)costs->by_pool.line[i].uusd / 1e6))
      return false;
  return true;
}

static enum hr_status metrics_of_run(const struct hr__one_run *run, const struct hr_trace *trace,
                                     const struct hr_services *services, struct hr_baseline_run *now) {
  size_t count, n_pools = run->summary->costs ? run->summary->costs->by_pool.count : 0;
  struct hr__scoped_metric *metrics = list_metrics(trace, services, &count);
  double *values = metrics ? calloc(count, sizeof *values) : NULL;
  now->metrics = values ? calloc(count + n_pools, sizeof *now->metrics) : NULL;
  bool complete = now->metrics != NULL;
  if (complete) hr__scoped_metrics_of_run(run->summary, metrics, count, values);
  complete = complete && add_all(metrics, values, count, now) && add_pools(run->summary->costs, now);
  free(values);
  free(metrics);
  return complete ? HR_OK : HR_NO_MEMORY;
}

/* ---- Metrics of replications ------------------------------------------------------------------------ */

static size_t index_of(const struct hr_replicates *replicates, const struct hr__scoped_metric *metric) {
  size_t i = 0;
  while (!hr__scoped_metric_same(&replicates->metrics[i], metric)) i++;
  return i;
}

/* Stores the rounded value of each replication. Stores nothing if the metric is unknown in any replication. Returns
   false when out of memory. */
static bool add_samples(const struct hr_replicates *replicates, size_t index, struct hr_baseline_metric *metric) {
  metric->samples = calloc((size_t)replicates->count + 1, sizeof *metric->samples);
  if (!metric->samples) return false;
  for (uint32_t r = 0; r < replicates->count; r++) {
    double value = hr__runner_values(replicates->runner, replicates->candidate, r)[index];
    if (isfinite(value)) metric->samples[metric->n_samples++] = rounded(value);
  }
  if (metric->n_samples == replicates->count) return true;
  free(metric->samples);
  metric->samples = NULL;
  metric->n_samples = 0;
  return true;
}

static enum hr_status add_replicated(const struct hr_replicates *replicates, const struct hr__scoped_metric *metric,
                                     struct hr_baseline_run *now) {
  struct hr__interval interval;
  size_t index = index_of(replicates, metric);
  if (hr__replicates_interval(replicates, index, &interval) != HR_OK) return HR_NO_MEMORY;
  if (interval.count == 0) return HR_OK;
  struct hr_baseline_metric *added = &now->metrics[now->n_metrics];
  if (!add_metric(now, metric->id, part_of(metric), metric->name, hr__interval_centre(&interval))) return HR_NO_MEMORY;
  added->low = interval.low;
  added->high = interval.high;
  return add_samples(replicates, index, added) ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status metrics_of_replicates(const struct hr_replicates *replicates, const struct hr_trace *trace,
                                            const struct hr_services *services, struct hr_baseline_run *now) {
  size_t count;
  struct hr__scoped_metric *metrics = list_metrics(trace, services, &count);
  now->metrics = metrics ? calloc(count, sizeof *now->metrics) : NULL;
  enum hr_status status = now->metrics ? HR_OK : HR_NO_MEMORY;
  for (size_t i = 0; i < count && status == HR_OK; i++) status = add_replicated(replicates, &metrics[i], now);
  free(metrics);
  return status;
}

/* ---- Differences of metrics ------------------------------------------------------------------------- */

#define FALSE_DISCOVERY_RATE 0.05

static bool same_metric(const struct hr_baseline_metric *a, const struct hr_baseline_metric *b) {
  return a->of == b->of && strcmp(a->path, b->path) == 0 &&
         (a->of == HR_METRIC_OF_RUN || strcmp(a->group, b->group) == 0);
}

/* Finds the same metric in another run; NULL: not found. Both lists have nearly the same order, so the search starts
   behind the metric that the previous call found, at *from. */
static const struct hr_baseline_metric *find_metric(const struct hr_baseline_run *run,
                                                    const struct hr_baseline_metric *metric, size_t *from) {
  for (size_t i = 0; i < run->n_metrics; i++) {
    size_t at = (*from + i) % run->n_metrics;
    if (!same_metric(&run->metrics[at], metric)) continue;
    *from = at + 1;
    return &run->metrics[at];
  }
  return NULL;
}

/* Added to the rank of changes that are not failures. */
#define AFTER_FAILURES (1u << 30)

/* The rank of a change in the list. Important metrics precede the others. Within both groups, the order is: all jobs,
   classes, pools, tenants, services. */
static unsigned rank_of_metric(const struct hr_baseline_metric *metric) {
  static const unsigned scopes[HR_N_METRIC_OF] = {[HR_METRIC_OF_RUN] = 0,
                                                  [HR_METRIC_OF_CLASS] = 1,
                                                  [HR_METRIC_OF_POOL] = 2,
                                                  [HR_METRIC_OF_TENANT] = 3,
                                                  [HR_METRIC_OF_ONE_SERVICE] = 4};
  enum { IMPORTANT = 12, SCOPES = 5 };
  enum hr__metric id = hr__metric_find(metric->path, strlen(metric->path));
  unsigned importance = id == HR__N_METRICS ? 2 * HR__N_METRICS : hr__metric_importance(id);
  unsigned part = scopes[metric->of] + (importance < IMPORTANT ? 0 : SCOPES);
  return part * 4 * HR__N_METRICS + importance;
}

static bool add_change(struct hr__check_case *item, const struct hr_baseline_metric *before,
                       const struct hr_baseline_metric *now, enum hr__tolerance_verdict verdict, double p_value) {
  const struct hr_baseline_metric *either = now ? now : before;
  char label[HR__LABEL_BYTES];
  enum hr__metric metric = hr__metric_find(either->path, strlen(either->path));
  struct hr__check_change *change = &item->changes[item->n_changes++];
  *change = (struct hr__check_change){.label = strdup(hr__baseline_label(either, label)),
                                      .rank = rank_of_metric(either),
                                      .unit = metric == HR__N_METRICS ? HR_UNIT_FACTOR : hr__metric_rows[metric].unit,
                                      .before = before ? before->value : HR__UNKNOWN,
                                      .now = now ? now->value : HR__UNKNOWN,
                                      .low = now ? now->low : HR__UNKNOWN,
                                      .high = now ? now->high : HR__UNKNOWN,
                                      .p_value = p_value,
                                      .verdict = verdict};
  return change->label != NULL;
}

/* Marks differences that are not significant as HR__CHANCE. With hundreds of metrics a few differ significantly by
   chance. All metrics are therefore tested together at a false discovery rate of FALSE_DISCOVERY_RATE. If nothing has
   changed, this is also the maximum probability of a false alarm. */
static bool drop_insignificant(struct hr__check_case *item) {
  double *p_values = malloc((item->n_changes + 1) * sizeof *p_values);
  size_t count = 0;
  if (!p_values) return false;
  for (size_t i = 0; i < item->n_changes; i++)
    if (isfinite(item->changes[i].p_value)) p_values[count++] = item->changes[i].p_value;
  double threshold = hr__p_value_threshold(p_values, count, item->n_changes, FALSE_DISCOVERY_RATE);
  for (size_t i = 0; i < item->n_changes; i++)
    if (item->changes[i].p_value > threshold) item->changes[i].verdict = HR__CHANCE;
  free(p_values);
  return true;
}

/* Sorts the changes by rank. Insertion keeps the order of equal ranks; the lists are short. */
static void sort_changes(struct hr__check_case *item) {
  for (size_t i = 1; i < item->n_changes; i++) {
    struct hr__check_change change = item->changes[i];
    size_t at = i;
    for (; at > 0 && item->changes[at - 1].rank > change.rank; at--) item->changes[at] = item->changes[at - 1];
    item->changes[at] = change;
  }
}

/* The verdict on a metric that only one of the two runs has. Other versions of the program may have other metrics. */
static enum hr__tolerance_verdict unmatched(const struct hr__allowance *allowance, bool same_program,
                                            const struct hr_baseline_metric *metric) {
  return same_program && hr__tolerance_concerns(allowance, metric) ? HR__WORSE : HR__ALLOWED;
}

static bool compare_metrics(struct hr__check_case *item, const struct hr__allowance *allowance, bool same_program) {
  const struct hr_baseline_run *before = item->before, *now = &item->now;
  item->changes = calloc(before->n_metrics + now->n_metrics + 1, sizeof *item->changes);
  bool complete = item->changes != NULL;
  size_t from = 0;
  for (size_t i = 0; i < now->n_metrics && complete; i++) {
    const struct hr_baseline_metric *metric = find_metric(before, &now->metrics[i], &from);
    double p_value = HR__UNKNOWN;
    enum hr__tolerance_verdict verdict = metric ? hr__tolerance_evaluate(allowance, metric, &now->metrics[i], &p_value)
                                                : unmatched(allowance, same_program, &now->metrics[i]);
    if (verdict != HR__SAME) complete = add_change(item, metric, &now->metrics[i], verdict, p_value);
    if (verdict != HR__SAME) item->has_unrated |= hr__tolerance_is_unrated(allowance, &now->metrics[i]);
  }
  from = 0;
  for (size_t i = 0; i < before->n_metrics && complete; i++)
    if (!find_metric(now, &before->metrics[i], &from))
      complete = add_change(item, &before->metrics[i], NULL, unmatched(allowance, same_program, &before->metrics[i]),
                            HR__UNKNOWN);
  complete = complete && drop_insignificant(item);
  for (size_t i = 0; complete && i < item->n_changes; i++)
    if (item->changes[i].verdict != HR__WORSE) item->changes[i].rank += AFTER_FAILURES;
  if (complete) sort_changes(item);
  return complete;
}

/* ---- Differences of starts -------------------------------------------------------------------------- */

/* The earlier of two starts of a job, in seconds of simulated time; HR_NEVER_US if both are HR_NEVER_US. */
static int64_t earlier_s(int64_t submit_us, const struct hr__job_start *a, const struct hr__job_start *b) {
  int64_t wait_s = a->wait_s < b->wait_s ? a->wait_s : b->wait_s;
  return wait_s == HR_NEVER_US ? HR_NEVER_US : submit_us / HR_SECOND_US + wait_s;
}

/* Of the jobs with a start that differs from the baseline, the one with the earliest start. HR_NONE if all starts are
   equal. */
static uint32_t first_changed_start(const struct hr_result *result, const struct hr__job_start *before,
                                    uint32_t count) {
  uint32_t first = HR_NONE;
  int64_t first_s = HR_NEVER_US;
  for (uint32_t job = 0; job < count; job++) {
    const struct hr__job_start now = hr__job_start_of(result, job);
    if (now.wait_s == before[job].wait_s) continue;
    int64_t at_s = earlier_s(result->trace->submit_us[job], &now, &before[job]);
    if (first != HR_NONE && at_s >= first_s) continue;
    first = job;
    first_s = at_s;
  }
  return first;
}

static bool fill_start(struct hr__check_start *start, const struct hr_result *result, uint32_t job,
                       const struct hr__job_start *before) {
  char id[HR_JOB_ID_BUFFER];
  const struct hr_trace *trace = result->trace;
  uint32_t tenant = trace->tenant ? trace->tenant[job] : HR_NONE;
  *start = (struct hr__check_start){.found = true,
                                    .id = {job},
                                    .job = strdup(hr_trace_job_id(trace, (hr_job){job}, id)),
                                    .tenant = tenant != HR_NONE ? strdup(trace->tenants.text[tenant]) : NULL,
                                    .gpus = trace->gpus[job],
                                    .submit_s = trace->submit_us[job] / HR_SECOND_US,
                                    .before_s = before->wait_s,
                                    .now_s = hr__job_start_of(result, job).wait_s,
                                    .was_backfilled = before->backfilled,
                                    .reason = (enum hr_reason)result->reason[job]};
  return start->job && (tenant == HR_NONE || start->tenant);
}

static enum hr_status compare_starts(struct hr__check_case *item, const struct hr_result *result) {
  struct hr__job_start *before;
  uint32_t count;
  if (!item->before->starts || item->before->n_jobs != result->n_jobs) return HR_OK;
  enum hr_status status = hr__job_starts_decode(item->before->starts, result->n_jobs, &before, &count);
  if (status == HR_BAD_INPUT)
    return hr_notes_add(&item->causes, "the baseline's 'starts' are damaged: the first job that differs is unknown");
  if (status != HR_OK) return status;
  item->start.same = count == result->n_jobs;
  uint32_t job = first_changed_start(result, before, count);
  if (job != HR_NONE && !fill_start(&item->start, result, job, &before[job])) status = HR_NO_MEMORY;
  free(before);
  return status;
}

/* ---- Differences of decisions ----------------------------------------------------------------------- */

/* Returns a description such as "start of job 17 at 3 h 2 min". The caller frees it. NULL when out of memory. */
static char *block_text(const struct hr__decision_block *block, const struct hr_trace *trace) {
  char id[HR_JOB_ID_BUFFER], when[HR__NUMBER_BYTES], *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  fputs(hr_event_name((enum hr_event_kind)block->kind), out);
  if (block->job.id != HR_NONE) fprintf(out, " of job %.100s", hr_trace_job_id(trace, block->job, id));
  fprintf(out, " at %s", hr__duration_text((double)block->at_us / 1e6, when));
  return hr__stream_text(out, &text);
}

static enum hr_status compare_decisions(struct hr__check_case *item, const struct hr_trace *trace,
                                        const struct hr__decisions *decisions) {
  uint64_t from, spacing = item->before->spacing;
  if (!hr__decisions_first(decisions, item->before->chain, spacing, &from)) return HR_OK;
  if (spacing < decisions->spacing) spacing = decisions->spacing;
  const struct hr__decision_block *block = hr__decisions_block(decisions, from);
  uint64_t last = from + spacing < decisions->count ? from + spacing : decisions->count;
  item->decisions = (struct hr__check_decisions){.found = true,
                                                 .first = from + 1,
                                                 .last = last > from ? last : from + 1,
                                                 .count = decisions->count,
                                                 .begins = block ? block_text(block, trace) : NULL};
  return block && !item->decisions.begins ? HR_NO_MEMORY : HR_OK;
}

/* ---- Verdict ---------------------------------------------------------------------------------------- */

static void set_verdict(struct hr__check_case *item) {
  bool by_digest = item->wants_digest && (item->other_digest || item->other_trace);
  bool same = !item->n_changes && !item->other_digest && !item->other_trace && !item->causes.count;
  for (size_t i = 0; i < item->n_changes; i++) item->n_worse += item->changes[i].verdict == HR__WORSE;
  if (by_digest || item->n_worse || item->n_missed)
    item->verdict = HR__CASE_FAILED;
  else
    item->verdict = same ? HR__CASE_SAME : HR__CASE_CHANGED;
}

/* Compares item->now with item->before and sets the verdict. */
static enum hr_status compare(const struct hr_check_config *config, struct hr__check_case *item,
                              const struct check_results *results) {
  for (size_t i = 0; i < item->goals.n_goals; i++) item->n_missed += hr__check_misses(item, i);
  if (!item->before) {
    item->verdict = HR__CASE_NEW;
    return HR_OK;
  }
  const struct hr__allowance allowance = {
      &item->run->tolerances, &config->suite->tolerances, item->now.replications && item->before->replications,
      item->now.seed == item->before->seed,
      item->scenario->services && results->trace->n_jobs == results->trace->n_added};
  bool same_program = strcmp(config->baseline->version, hr_version()) == 0;
  bool both_single = results->run && !item->before->replications;
  item->wants_digest = hr__tolerance_wants_digest(&allowance);
  item->other_digest = item->before->digest != item->now.digest;
  item->other_trace = item->before->trace_digest != item->now.trace_digest;
  enum hr_status status = compare_metrics(item, &allowance, same_program) ? HR_OK : HR_NO_MEMORY;
  if (status == HR_OK && both_single && !item->other_trace) status = compare_starts(item, results->result);
  if (status == HR_OK && both_single && item->other_digest)
    status = compare_decisions(item, results->trace, results->decisions);
  if (status == HR_OK) status = hr__check_causes(item, config->baseline->version);
  set_verdict(item);
  return status;
}

/* ---- Goals ------------------------------------------------------------------------------------------ */

/* Sets the values of the metrics of the goals: of the run, or the estimates over replications. */
static enum hr_status value_goals(struct hr__check_case *item, const struct check_results *results) {
  const struct hr__goals *goals = &item->goals;
  item->goal_values = calloc(goals->n_metrics + 1, sizeof *item->goal_values);
  if (!item->goal_values) return HR_NO_MEMORY;
  if (!results->replicates) {
    hr__scoped_metrics_of_run(results->run->summary, goals->metrics, goals->n_metrics, item->goal_values);
    return HR_OK;
  }
  for (size_t i = 0; i < goals->n_metrics; i++) {
    struct hr__interval interval;
    size_t index = index_of(results->replicates, &goals->metrics[i]);
    if (hr__replicates_interval(results->replicates, index, &interval) != HR_OK) return HR_NO_MEMORY;
    item->goal_values[i] = interval.count ? hr__interval_centre(&interval) : HR__UNKNOWN;
  }
  return HR_OK;
}

/* Fills the metrics of item->now, compares them with item->before and sets the verdict. HR_NO_MEMORY is the only
   failure. */
static enum hr_status check_compare(const struct hr_check_config *config, struct hr__check_case *item,
                                    const struct check_results *results) {
  const struct hr_services *services = item->scenario->services;
  enum hr_status status = results->replicates
                              ? metrics_of_replicates(results->replicates, results->trace, services, &item->now)
                              : metrics_of_run(results->run, results->trace, services, &item->now);
  if (status == HR_OK) status = value_goals(item, results);
  return status == HR_OK ? compare(config, item, results) : status;
}

/* ---- Cases ------------------------------------------------------------------------------------------ */

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the check");
}

static bool same_text(const char *a, const char *b) {
  return a && b && strcmp(a, b) == 0;
}

static size_t count_cases(const struct hr_check_config *config) {
  size_t count = config->baseline ? config->baseline->n_runs : 0;
  for (size_t i = 0; i < config->suite->n_runs; i++) {
    size_t n_policies = config->suite->runs[i].n_policies;
    count += n_policies ? n_policies : 1;
  }
  return count;
}

/* Returns the name of a case, such as "steady/sjf". The caller frees it. NULL when out of memory. */
static char *case_name(const struct hr_suite_run *run, const char *policy) {
  if (!policy) return strdup(run->name);
  size_t bytes = strlen(run->name) + strlen(policy) + 2;
  char *name = malloc(bytes);
  if (name) snprintf(name, bytes, "%s/%s", run->name, policy);
  return name;
}

static const struct hr_baseline_run *find_before(const struct hr_check *check, const char *name) {
  const struct hr_baseline *baseline = check->config.baseline;
  for (size_t i = 0; baseline && i < baseline->n_runs; i++)
    if (strcmp(baseline->runs[i].name, name) == 0) return &baseline->runs[i];
  return NULL;
}

static const struct hr__check_case *find_case(const struct hr_check *check, const char *name, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (same_text(check->cases[i].name, name)) return &check->cases[i];
  return NULL;
}

static enum hr_status add_case(struct hr_check *check, const struct hr_suite_run *run, const char *policy,
                               struct hr_error *error) {
  struct hr__check_case *item = &check->cases[check->n_cases++];
  *item = (struct hr__check_case){.run = run, .name = case_name(run, policy)};
  if (policy) item->policy = strdup(policy);
  if (!item->name || (policy && !item->policy)) return no_memory(error);
  if (find_case(check, item->name, check->n_cases - 1))
    return hr_fail(error, HR_BAD_INPUT, "%s: two runs have the name '%.200s'; names must be unique",
                   check->config.suite->path, item->name);
  item->before = find_before(check, item->name);
  return HR_OK;
}

/* Adds a case for each run that only the baseline contains. */
static enum hr_status add_gone(struct hr_check *check, struct hr_error *error) {
  const struct hr_baseline *baseline = check->config.baseline;
  size_t n_suite = check->n_cases;
  for (size_t i = 0; baseline && i < baseline->n_runs; i++) {
    if (find_case(check, baseline->runs[i].name, n_suite)) continue;
    struct hr__check_case *item = &check->cases[check->n_cases++];
    *item = (struct hr__check_case){
        .before = &baseline->runs[i], .name = strdup(baseline->runs[i].name), .verdict = HR__CASE_GONE};
    if (!item->name) return no_memory(error);
  }
  return HR_OK;
}

static enum hr_status list_cases(struct hr_check *check, struct hr_error *error) {
  const struct hr_suite *suite = check->config.suite;
  check->cases = calloc(count_cases(&check->config) + 1, sizeof *check->cases);
  check->traces = calloc(count_cases(&check->config) + 1, sizeof *check->traces);
  enum hr_status status = check->cases && check->traces ? HR_OK : no_memory(error);
  for (size_t i = 0; i < suite->n_runs && status == HR_OK; i++) {
    const struct hr_suite_run *run = &suite->runs[i];
    if (run->n_policies == 0) status = add_case(check, run, NULL, error);
    for (size_t k = 0; k < run->n_policies && status == HR_OK; k++)
      status = add_case(check, run, run->policies[k], error);
  }
  return status == HR_OK ? add_gone(check, error) : status;
}

/* ---- Scenarios and traces --------------------------------------------------------------------------- */

static enum hr_status make_overrides(struct hr__check_case *item, struct hr_error *error) {
  const struct hr_suite_run *run = item->run;
  enum hr_status status = HR_OK;
  if (item->policy)
    status = hr_policy_overrides(item->policy, &item->policy_overrides, &item->n_policy_overrides, error);
  if (status != HR_OK) return status;
  item->overrides = calloc(run->n_set + item->n_policy_overrides + 1, sizeof(*item->overrides));
  if (!item->overrides) return no_memory(error);
  for (size_t i = 0; i < run->n_set; i++) item->overrides[item->n_overrides++] = run->set[i];
  for (size_t i = 0; i < item->n_policy_overrides; i++)
    item->overrides[item->n_overrides++] = item->policy_overrides[i];
  return HR_OK;
}

static enum hr_status share_trace(struct hr_check *check, struct hr__check_case *item, const char *file,
                                  struct hr_error *error) {
  char *key = hr__input_trace_key(item->scenario, file);
  if (!key) return no_memory(error);
  for (item->trace = 0; item->trace < check->n_traces; item->trace++)
    if (strcmp(check->traces[item->trace].key, key) == 0) {
      free(key);
      return HR_OK;
    }
  struct hr__check_trace *fresh = &check->traces[check->n_traces++];
  *fresh = (struct hr__check_trace){.key = key, .path = strdup(file)};
  enum hr_status status =
      fresh->path ? hr__input_trace_read(item->scenario, file, &fresh->trace, error) : no_memory(error);
  return status == HR_OK && file[0] ? hr__input_digest_file(file, &fresh->digest, error) : status;
}

/* Adds the name and digest of an input file. Several files with the same name share one digest. */
static enum hr_status add_input(struct hr_baseline_run *now, const char *path, struct hr_error *error) {
  uint64_t digest;
  enum hr_status status = hr__input_digest_file(path, &digest, error);
  if (status != HR_OK) return status;
  for (size_t i = 0; i < now->n_inputs; i++)
    if (same_text(now->inputs[i].name, hr__check_base_name(path))) {
      now->inputs[i].digest = hr__digest_add(now->inputs[i].digest, digest);
      return HR_OK;
    }
  struct hr_baseline_input *input = &now->inputs[now->n_inputs++];
  *input = (struct hr_baseline_input){strdup(hr__check_base_name(path)), digest};
  return input->name ? HR_OK : no_memory(error);
}

static enum hr_status list_inputs(struct hr__check_case *item, struct hr_error *error) {
  const struct hr_scenario *scenario = item->scenario;
  item->now.inputs = calloc(scenario->files.count + 1, sizeof *item->now.inputs);
  enum hr_status status = item->now.inputs ? add_input(&item->now, scenario->path, error) : no_memory(error);
  for (size_t i = 0; i < scenario->files.count && status == HR_OK; i++) {
    const char *path = scenario->files.text[i];
    if (!scenario->trace_file || strcmp(path, scenario->trace_file) != 0) status = add_input(&item->now, path, error);
  }
  return status;
}

/* Stores the scenario after overrides, so that a later check can list the keys that changed. A scenario of more than
   HR_MAX_BASELINE_SCENARIO_BYTES is not stored. */
static enum hr_status store_scenario(struct hr__check_case *item, struct hr_error *error) {
  enum hr_status status =
      hr_scenario_part(item->run->scenario, item->overrides, item->n_overrides, "", &item->now.scenario, error);
  if (status != HR_OK || !item->now.scenario || strlen(item->now.scenario) <= HR_MAX_BASELINE_SCENARIO_BYTES)
    return status;
  free(item->now.scenario);
  item->now.scenario = NULL;
  return HR_OK;
}

/* Parses the goals of the suite and of the run. */
static enum hr_status parse_goals(struct hr_check *check, struct hr__check_case *item, struct hr_error *error) {
  const struct hr_suite *suite = check->config.suite;
  const struct hr_suite_run *run = item->run;
  size_t count = suite->n_goals + run->n_goals;
  struct hr_placed_text *texts = calloc(count + 1, sizeof *texts); /* the members are borrowed */
  if (!texts) return no_memory(error);
  for (size_t i = 0; i < count; i++) texts[i] = i < suite->n_goals ? suite->goals[i] : run->goals[i - suite->n_goals];
  enum hr_status status = hr__goals_of_texts(texts, (uint32_t)count, check->traces[item->trace].trace,
                                             item->scenario->services, &item->goals, error);
  free(texts);
  return status;
}

static enum hr_status load(struct hr_check *check, struct hr__check_case *item, struct hr_error *error) {
  const struct hr_suite_run *run = item->run;
  enum hr_status status = make_overrides(item, error);
  if (status == HR_OK)
    status = hr_scenario_load(run->scenario, item->overrides, item->n_overrides, &item->scenario, error);
  if (status != HR_OK) return status;
  const char *file = run->trace ? run->trace : hr__input_trace_file(item->scenario);
  if (!file)
    return hr_fail(error, HR_BAD_INPUT, "%s: names no trace; add 'trace' to its run in the suite", run->scenario);
  status = share_trace(check, item, file, error);
  if (status == HR_OK) status = store_scenario(item, error);
  if (status == HR_OK) status = parse_goals(check, item, error);
  return status == HR_OK ? list_inputs(item, error) : status;
}

/* Lists the cases, loads their scenarios and reads their traces. */
static enum hr_status prepare(struct hr_check *check, struct hr_error *error) {
  const struct hr_suite *suite = check->config.suite;
  enum hr_status status = hr__tolerance_check_names(&suite->tolerances, error);
  for (size_t i = 0; i < suite->n_runs && status == HR_OK; i++)
    status = hr__tolerance_check_names(&suite->runs[i].tolerances, error);
  if (status == HR_OK) status = list_cases(check, error);
  for (size_t i = 0; i < check->n_cases && status == HR_OK; i++) {
    struct hr_error inner = {0};
    if (!check->cases[i].run) continue;
    status = load(check, &check->cases[i], &inner);
    if (status != HR_OK) hr_fail(error, status, "run '%.200s': %s", check->cases[i].name, inner.text);
  }
  return status;
}

static void case_finish(struct hr__check_case *item) {
  for (size_t i = 0; i < item->n_policy_overrides; i++) free(item->policy_overrides[i]);
  free(item->policy_overrides);
  free(item->overrides);
  hr_scenario_destroy(item->scenario);
  hr_baseline_run_finish(&item->now);
  for (size_t i = 0; i < item->n_changes; i++) free(item->changes[i].label);
  free(item->changes);
  free(item->start.job);
  free(item->start.tenant);
  free(item->start.wait);
  free(item->decisions.begins);
  hr_notes_finish(&item->causes);
  hr__goals_finish(&item->goals);
  free(item->goal_values);
  free(item->name);
  free(item->policy);
}

/* ---- What a job waited for -------------------------------------------------------------------------- */

/* Repeats the run to find what the job of item->start waited for. */
static enum hr_status find_wait(const struct hr_check *check, struct hr__check_case *item, struct hr_error *error) {
  const struct hr_trace *trace = check->traces[item->trace].trace;
  const struct hr_replay_config config = {.scenario = item->scenario, .trace = trace, .seed = item->scenario->seed};
  return hr__wait_explain(&config, item->start.id, trace->submit_us[item->start.id.id], "the check", &item->start.wait,
                          error);
}

/* ---- One run ---------------------------------------------------------------------------------------- */

static bool describe(const struct hr_check *check, struct hr__check_case *item) {
  const struct hr__check_trace *trace = &check->traces[item->trace];
  struct hr_baseline_run *now = &item->now;
  now->name = strdup(item->name);
  now->policy = hr__policy_words(&item->scenario->policy);
  now->trace = strdup(hr__check_base_name(trace->path));
  now->seed = item->scenario->seed;
  now->trace_digest = trace->digest;
  now->n_jobs = trace->trace->n_jobs;
  return now->name && now->policy && now->trace;
}

/* Stores the part of a run that a baseline contains, and compares it with the baseline. HR_NO_MEMORY is the only
   failure. */
static enum hr_status store(const struct hr_check *check, const struct hr_replay *replay,
                            const struct hr__decisions *decisions, struct hr__check_case *item) {
  const struct hr__one_run run = {.summary = replay->summary};
  const struct check_results results = {
      .trace = replay->config.trace, .run = &run, .result = replay->result, .decisions = decisions};
  struct hr_baseline_run *now = &item->now;
  now->digest = replay->summary->digest;
  now->decisions = decisions->count;
  now->spacing = decisions->spacing;
  now->chain = hr__decisions_chain(decisions);
  now->starts = hr__job_starts_encode(replay->result);
  if (!now->chain || !now->starts) return HR_NO_MEMORY;
  return check_compare(&check->config, item, &results);
}

static enum hr_status run_once(const struct hr_check *check, struct hr__check_case *item, struct hr_progress progress,
                               struct hr_error *error) {
  const struct hr_replay_config config = {.scenario = item->scenario,
                                          .trace = check->traces[item->trace].trace,
                                          .seed = item->scenario->seed,
                                          .progress = progress};
  struct hr__decisions decisions;
  struct hr_observer observer;
  struct hr_replay replay;
  enum hr_status status = hr_replay_init(&replay, &config, error);
  bool allocated = hr__decisions_init(&decisions, &observer);
  if (status == HR_OK && !allocated) status = no_memory(error);
  if (status == HR_OK) status = hr_replay_add(&replay, observer, error);
  if (status == HR_OK) status = hr_replay_run(&replay, error);
  if (status == HR_OK && store(check, &replay, &decisions, item) != HR_OK) status = no_memory(error);
  hr__decisions_finish(&decisions);
  hr_replay_finish(&replay);
  bool later = item->start.found && item->start.now_s > item->start.before_s;
  return status == HR_OK && later ? find_wait(check, item, error) : status;
}

/* ---- Replications ----------------------------------------------------------------------------------- */

static enum hr_status run_replicated(const struct hr_check *check, struct hr__check_case *item,
                                     struct hr_error *error) {
  const struct hr_replicate_config config = {.scenario = item->scenario,
                                             .overrides = item->overrides,
                                             .n_overrides = item->n_overrides,
                                             .trace = check->traces[item->trace].trace,
                                             .spec = &item->scenario->replications,
                                             .n_threads = check->n_cases == 1 ? check->config.n_threads : 1};
  struct hr_replicates *replicates = NULL;
  enum hr_status status = hr_replicate(&config, &replicates, error);
  if (status != HR_OK) return status;
  item->now.replications = replicates->count;
  item->now.digest = replicates->first.summary->digest;
  item->now.spacing = 1;
  item->now.chain = strdup("");
  const struct check_results results = {.trace = config.trace, .replicates = replicates};
  if (!item->now.chain || check_compare(&check->config, item, &results) != HR_OK) status = no_memory(error);
  hr_replicates_destroy(replicates);
  return status;
}

/* Runs a case, fills item->now and compares it with the baseline. */
static enum hr_status run_case(const struct hr_check *check, struct hr__check_case *item, struct hr_progress progress,
                               struct hr_error *error) {
  const struct hr_replication_spec *spec = &item->scenario->replications;
  if (!describe(check, item)) return no_memory(error);
  return spec->count > 1 || spec->metric.text ? run_replicated(check, item, error)
                                              : run_once(check, item, progress, error);
}

/* ---- All runs --------------------------------------------------------------------------------------- */

struct task_list {
  struct hr_check *check;
  struct hr__progress_sum sum;
};

static enum hr_status run_task(void *self, size_t task, struct hr_error *error) {
  struct task_list *list = self;
  struct hr__check_case *item = &list->check->cases[task];
  struct hr__progress_reporter reporter = {.sum = &list->sum};
  struct hr_error inner = {0};
  if (!item->run) return HR_OK;
  enum hr_status status = run_case(list->check, item, hr__progress_reporter_progress(&reporter), &inner);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "run '%.200s': %s", item->name, inner.text);
}

static enum hr_status run_all(struct hr_check *check, struct hr_error *error) {
  struct task_list list = {.check = check};
  const struct hr__tasks tasks = {.self = &list, .run = run_task, .count = check->n_cases};
  uint64_t jobs = 0;
  for (size_t i = 0; i < check->n_cases; i++)
    if (check->cases[i].run) jobs += check->traces[check->cases[i].trace].trace->n_jobs;
  hr__progress_sum_init(&list.sum, &check->config.progress, jobs);
  enum hr_status status = hr__pool_run(&tasks, check->config.n_threads, error);
  hr__progress_sum_finish(&list.sum);
  return status;
}

/* ---- Unused tolerances ------------------------------------------------------------------------------ */

/* Whether a tolerance applies to any metric of a run. An unused tolerance for a class or tenant is probably a mistake.
 */
static bool is_used(const struct hr_check *check, const struct hr_suite_run *run,
                    const struct hr_tolerance *tolerance) {
  for (size_t i = 0; i < check->n_cases; i++) {
    const struct hr__check_case *item = &check->cases[i];
    if (!item->run || (run && item->run != run)) continue;
    for (size_t k = 0; k < item->now.n_metrics; k++)
      if (hr__tolerance_names(tolerance, &item->now.metrics[k], true)) return true;
    for (size_t k = 0; item->before && k < item->before->n_metrics; k++)
      if (hr__tolerance_names(tolerance, &item->before->metrics[k], true)) return true;
  }
  return false;
}

static enum hr_status check_tolerances(const struct hr_check *check, const struct hr_suite_run *run,
                                       const struct hr_tolerances *tolerances, struct hr_error *error) {
  for (size_t i = 0; i < tolerances->count; i++)
    if (!is_used(check, run, &tolerances->at[i]))
      return hr_fail(error, HR_BAD_INPUT, "%s'%.200s' matches no figure of its runs", tolerances->at[i].metric.place,
                     tolerances->at[i].metric.text);
  return HR_OK;
}

static enum hr_status check_all_tolerances(const struct hr_check *check, struct hr_error *error) {
  const struct hr_suite *suite = check->config.suite;
  enum hr_status status = check_tolerances(check, NULL, &suite->tolerances, error);
  for (size_t i = 0; i < suite->n_runs && status == HR_OK; i++)
    status = check_tolerances(check, &suite->runs[i], &suite->runs[i].tolerances, error);
  return status;
}

/* ---- Check ------------------------------------------------------------------------------------------ */

static enum hr_status note(struct hr_check *check, struct hr_error *error) {
  const struct hr_baseline *baseline = check->config.baseline;
  enum hr_status status = HR_OK;
  if (baseline && strcmp(baseline->version, hr_version()) != 0)
    status = hr_notes_add(&check->notes, "the baseline was written by headroom %.100s; this is %s", baseline->version,
                          hr_version());
  for (size_t i = 0; i < check->n_traces && status == HR_OK; i++) {
    const struct hr_trace *trace = check->traces[i].trace;
    if (trace->n_skipped)
      status = hr_notes_add(&check->notes, "%s: %" PRIu64 " row%s skipped", trace->source, trace->n_skipped,
                            trace->n_skipped == 1 ? "" : "s");
  }
  for (size_t i = 0; i < check->n_cases && status == HR_OK; i++)
    if (check->cases[i].has_unrated)
      status = hr_notes_add(&check->notes,
                            "run '%.200s' has no jobs: its waits, completion times and slowdowns are those of "
                            "replicas, and are not rated",
                            check->cases[i].name);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

const struct hr_notes *hr_check_notes(const struct hr_check *check) {
  return &check->notes;
}

enum hr_status hr_check(const struct hr_check_config *config, struct hr_check **check, struct hr_error *error) {
  *check = NULL;
  struct hr_check *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return hr_fail(error, HR_NO_MEMORY, "out of memory for the check");
  fresh->config = *config;
  enum hr_status status = prepare(fresh, error);
  if (status == HR_OK) status = run_all(fresh, error);
  if (status == HR_OK) status = check_all_tolerances(fresh, error);
  if (status == HR_OK) status = note(fresh, error);
  if (status == HR_OK)
    *check = fresh;
  else
    hr_check_destroy(fresh);
  return status;
}

void hr_check_destroy(struct hr_check *check) {
  if (!check) return;
  for (size_t i = 0; i < check->n_cases; i++) case_finish(&check->cases[i]);
  for (size_t i = 0; i < check->n_traces; i++) {
    hr_trace_destroy(check->traces[i].trace);
    free(check->traces[i].key);
    free(check->traces[i].path);
  }
  free(check->cases);
  free(check->traces);
  hr_notes_finish(&check->notes);
  free(check);
}

size_t hr_check_failures(const struct hr_check *check) {
  size_t failures = 0;
  for (size_t i = 0; i < check->n_cases; i++) failures += hr__check_case_failed(&check->cases[i]);
  return failures;
}

size_t hr_check_runs(const struct hr_check *check) {
  return check->n_cases;
}

size_t hr_check_missed_goals(const struct hr_check *check) {
  size_t missed = 0;
  for (size_t i = 0; i < check->n_cases; i++) missed += check->cases[i].n_missed;
  return missed;
}
