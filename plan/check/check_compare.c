/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The metrics of a baseline, and the differences between a run and its baseline.
 *
 * The metrics are all metrics of the run, a few metrics of each class and tenant, and the cost of each pool. Their
 * order comes from the metric table and the trace, so it does not depend on the results. The differences are listed in
 * this order: metrics, the first job start that differs, the first decision that differs. Metrics are then sorted:
 * failures first, then by importance.
 */

#include "plan/check/check.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Tolerances ---------------------------------------------------------------------------------------- */

/* Tolerances of a suite and its runs. The most specific tolerance for a metric applies. A metric with its class or
   tenant is most specific, then a metric alone, then "*". Of equally specific tolerances, the tolerance of the run
   precedes that of the suite. For metrics without a tolerance, the profile applies. */

/* ---- Names ------------------------------------------------------------------------------------------ */

static const char *group_in(const char *name) {
  const char *of = strstr(name, " of ");
  return of ? of + 4 : NULL;
}

static bool is_group(const char *text, const struct hr_baseline_metric *metric) {
  static const char *const heads[HR_N_METRIC_OF] = {[HR_METRIC_OF_CLASS] = "class ",
                                                    [HR_METRIC_OF_TENANT] = "tenant ",
                                                    [HR_METRIC_OF_POOL] = "pool ",
                                                    [HR_METRIC_OF_ONE_SERVICE] = "service "};
  if (metric->of == HR_METRIC_OF_RUN) return false;
  size_t length = strlen(heads[metric->of]);
  return strcmp(text, metric->group) == 0 ||
         (strncmp(text, heads[metric->of], length) == 0 && strcmp(text + length, metric->group) == 0);
}

/* Whether a name of `length` bytes is the path, the column or an alias of the metric with the path `path`. */
static bool is_path(const char *name, size_t length, const char *path) {
  enum hr__metric metric = hr__metric_find(name, length);
  if (metric != HR__N_METRICS) return strcmp(hr__metric_rows[metric].path, path) == 0;
  return strlen(path) == length && strncmp(name, path, length) == 0;
}

bool hr__tolerance_names(const struct hr_tolerance *tolerance, const struct hr_baseline_metric *metric, bool broadly) {
  const char *name = tolerance->metric.text, *group = group_in(name);
  size_t length = group ? (size_t)(group - name) - 4 : strlen(name);
  if (strcmp(name, "*") == 0) return broadly;
  if (metric->of == HR_METRIC_OF_ONE_SERVICE) { /* also as in goals: chat.ttft_ms.p95 */
    const size_t head = strlen(metric->group);
    if (strncmp(name, metric->group, head) == 0 && name[head] == '.' &&
        is_path(name + head + 1, strlen(name + head + 1), metric->path))
      return true;
  }
  if (!is_path(name, length, metric->path)) return false;
  if (group) return is_group(group, metric);
  return broadly || metric->of == HR_METRIC_OF_RUN;
}

/* Whether a name is that of a service, a point and the name of a metric. */
static bool is_of_service(const char *name) {
  for (const char *point = strchr(name, '.'); point; point = strchr(point + 1, '.'))
    if (point > name && hr__metric_find(point + 1, strlen(point + 1)) != HR__N_METRICS) return true;
  return false;
}

enum hr_status hr__tolerance_check_names(const struct hr_tolerances *tolerances, struct hr_error *error) {
  const char *names[HR__N_METRICS + 1];
  for (size_t i = 0; i < tolerances->count; i++) {
    const struct hr_placed_text *metric = &tolerances->at[i].metric;
    const char *group = group_in(metric->text);
    size_t length = group ? (size_t)(group - metric->text) - 4 : strlen(metric->text);
    if (strcmp(metric->text, "*") == 0 || hr__metric_find(metric->text, length) != HR__N_METRICS) continue;
    if (!group && is_of_service(metric->text)) continue;
    hr__metric_names(group != NULL, names);
    char word[100];
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), metric->text);
    const char *nearest = hr_nearest_word(word, names);
    return hr_fail(error, HR_BAD_INPUT, "%sunknown metric '%s'; %s%s%s", metric->place, word,
                   nearest ? "did you mean '"
                           : "examples are wait_s.p95, utilization.makespan, monthly_usd and * (all)",
                   nearest ? nearest : "", nearest ? "'?" : "");
  }
  return HR_OK;
}

/* ---- Evaluation ------------------------------------------------------------------------------------- */

/* How specific the tolerance is for the metric: 3 (metric and group), 2 (metric), 1 ("*"); 0: it does not apply. */
static unsigned rank_of(const struct hr_tolerance *tolerance, const struct hr_baseline_metric *metric) {
  if (hr__tolerance_names(tolerance, metric, false)) return 3;
  if (!hr__tolerance_names(tolerance, metric, true)) return 0;
  return strcmp(tolerance->metric.text, "*") == 0 ? 1 : 2;
}

static const struct hr_tolerance *find(const struct hr__allowance *allowance, const struct hr_baseline_metric *metric) {
  const struct hr_tolerances *const lists[] = {allowance->own, allowance->common};
  const struct hr_tolerance *best = NULL;
  unsigned best_rank = 0;
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
    for (size_t i = 0; i < lists[k]->count; i++) {
      unsigned rank = rank_of(&lists[k]->at[i], metric);
      if (rank <= best_rank) continue;
      best = &lists[k]->at[i];
      best_rank = rank;
    }
  return best;
}

/* ---- The profile slo -------------------------------------------------------------------------------- */

/* The metrics that fail in the profile slo if they get worse by more than a tolerance. `groups`: also those of
   classes. docs/ci/check.md has this table. */
static const struct slo_tolerance {
  enum hr__metric metric;
  bool groups;
  double relative, absolute;
} slo_tolerances[] = {{HR__M_MONTHLY, false, 0.02, 0},         {HR__M_COST, false, 0.02, 0},
                      {HR__M_WAIT_MEAN, true, 0.1, 60},        {HR__M_WAIT_P95, true, 0.1, 60},
                      {HR__M_JCT_MEAN, false, 0.1, 60},        {HR__M_JCT_P95, false, 0.1, 60},
                      {HR__M_COMPLETED_SHARE, true, 0, 0.001}, {HR__M_DEADLINE_MISS, true, 0, 0.005}};

static const struct slo_tolerance *find_slo(const struct hr_baseline_metric *metric) {
  enum hr__metric id = hr__metric_find(metric->path, strlen(metric->path));
  bool is_class = metric->of == HR_METRIC_OF_CLASS;
  for (size_t i = 0; i < sizeof slo_tolerances / sizeof *slo_tolerances; i++)
    if (slo_tolerances[i].metric == id && (metric->of == HR_METRIC_OF_RUN || (slo_tolerances[i].groups && is_class)))
      return &slo_tolerances[i];
  return NULL;
}

/* Whether a metric is one of the times of jobs, which replicas have, too. */
static bool is_of_jobs(const struct hr_baseline_metric *metric) {
  static const char *const heads[] = {"wait_s.", "jct_s.", "slowdown."};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    if (strncmp(metric->path, heads[i], strlen(heads[i])) == 0) return true;
  return false;
}

/* If the run has no jobs, changes of the times of replicas do not fail the check, except in the profile exact or if a
   tolerance names these metrics. */
static bool is_unrated(const struct hr__allowance *allowance, const struct hr_baseline_metric *metric) {
  if (!allowance->without_jobs || hr__tolerance_profile(allowance) == HR_PROFILE_EXACT || !is_of_jobs(metric))
    return false;
  const struct hr_tolerance *tolerance = find(allowance, metric);
  return !tolerance || strcmp(tolerance->metric.text, "*") == 0;
}

bool hr__tolerance_concerns(const struct hr__allowance *allowance, const struct hr_baseline_metric *metric) {
  if (is_unrated(allowance, metric)) return false;
  return hr__tolerance_profile(allowance) == HR_PROFILE_EXACT || find(allowance, metric) || find_slo(metric);
}

static enum hr_worse direction(const struct hr__allowance *allowance, const struct hr_tolerance *tolerance,
                               const struct hr_baseline_metric *metric) {
  if (tolerance && tolerance->worse != HR_WORSE_UNSPECIFIED) return tolerance->worse;
  if (!hr__tolerance_only_worse(allowance)) return HR_WORSE_EITHER;
  static const enum hr_worse worse[] = {[HR_NEITHER_IS_BETTER] = HR_WORSE_EITHER,
                                        [HR_LOWER_IS_BETTER] = HR_WORSE_HIGHER,
                                        [HR_HIGHER_IS_BETTER] = HR_WORSE_LOWER};
  enum hr__metric id = hr__metric_find(metric->path, strlen(metric->path));
  return id == HR__N_METRICS ? HR_WORSE_EITHER : worse[hr__metric_rows[id].direction];
}

/* Removes the pairs in which a value is unknown. Returns the number of remaining pairs. */
static uint32_t known_pairs(double *first, double *other, uint32_t count) {
  uint32_t known = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!isfinite(first[i]) || !isfinite(other[i])) continue;
    first[known] = first[i];
    other[known++] = other[i];
  }
  return known;
}

static uint32_t known_values(double *values, uint32_t count) {
  uint32_t known = 0;
  for (uint32_t i = 0; i < count; i++)
    if (isfinite(values[i])) values[known++] = values[i];
  return known;
}

static void copy_samples(double *to, const struct hr_baseline_metric *from) {
  for (uint32_t i = 0; i < from->n_samples; i++) to[i] = from->samples[i];
}

/* The p-value of a difference. `paired`: the replications have the same seeds and therefore the same random events. A
   paired test then detects smaller differences. */
static double p_value_of(bool paired, const struct hr_baseline_metric *before, const struct hr_baseline_metric *now) {
  uint32_t n_before = before->n_samples, n_now = now->n_samples, both = n_before < n_now ? n_before : n_now;
  double *first = malloc(((size_t)n_before + n_now + 1) * sizeof *first), *other = first + n_before,
         p_value = HR__UNKNOWN;
  if (!first) return p_value;
  copy_samples(first, before);
  copy_samples(other, now);
  if (paired) {
    both = known_pairs(first, other, both);
    p_value = hr__p_value_paired(first, other, both);
  } else {
    n_before = known_values(first, n_before);
    p_value = hr__p_value_welch(first, n_before, other, known_values(other, n_now));
  }
  free(first);
  return p_value;
}

enum hr__tolerance_verdict hr__tolerance_evaluate(const struct hr__allowance *allowance,
                                                  const struct hr_baseline_metric *before,
                                                  const struct hr_baseline_metric *now, double *p_value) {
  *p_value = HR__UNKNOWN;
  if (before->value == now->value) return HR__SAME;
  if (is_unrated(allowance, now)) return HR__ALLOWED;
  const struct hr_tolerance *tolerance = find(allowance, now);
  enum hr_worse worse = direction(allowance, tolerance, now);
  double difference = now->value - before->value, size = fabs(before->value);
  bool is_slo = !tolerance && hr__tolerance_profile(allowance) == HR_PROFILE_SLO;
  const struct slo_tolerance *slo = is_slo ? find_slo(now) : NULL;
  if (is_slo && !slo) return HR__ALLOWED;
  if (worse == HR_WORSE_HIGHER && difference < 0) return HR__BETTER;
  if (worse == HR_WORSE_LOWER && difference > 0) return HR__BETTER;
  /* The last term absorbs rounding of decimal sums. */
  double relative = tolerance ? tolerance->relative : slo ? slo->relative : 0;
  double absolute = tolerance ? tolerance->absolute : slo ? slo->absolute : 0;
  double allowed = tolerance || slo ? fmax(absolute, relative * size) + 1e-12 * size : 0;
  if ((tolerance || slo) && fabs(difference) <= allowed) return HR__ALLOWED;
  if (allowance->replicated) *p_value = p_value_of(allowance->paired, before, now);
  return HR__WORSE;
}

/* ---- Differences --------------------------------------------------------------------------------------- */

static const enum hr__metric group_metrics[] = {HR__M_COMPLETED, HR__M_WAIT_MEAN, HR__M_WAIT_P95,     HR__M_JCT_MEAN,
                                                HR__M_GPU_HOURS, HR__M_COST,      HR__M_DEADLINE_MISS};
enum { N_GROUP_METRICS = sizeof group_metrics / sizeof *group_metrics };

static const enum hr__metric service_metrics[] = {HR__M_SERVED,   HR__M_ATTAINMENT, HR__M_TTFT_P95,
                                                  HR__M_TPOT_P95, HR__M_E2E_P95,    HR__M_SERVING_COST};
enum { N_SERVICE_METRICS = sizeof service_metrics / sizeof *service_metrics };

static size_t count_groups(const struct hr_trace *trace) {
  return (trace->class_ ? HR_N_CLASSES - 1 : 0) + (trace->tenant ? trace->tenants.count : 0);
}

static void put_group(struct hr__scoped_metric **at, enum hr__metric_scope of, const char *name) {
  for (size_t i = 0; i < N_GROUP_METRICS; i++) *(*at)++ = (struct hr__scoped_metric){group_metrics[i], of, name};
}

/* Lists the metrics. The caller frees the list. NULL when out of memory. */
static struct hr__scoped_metric *list_metrics(const struct hr_trace *trace, const struct hr_services *services,
                                              size_t *count) {
  const uint32_t n_services = services ? services->count : 0;
  *count = HR__N_METRICS + count_groups(trace) * N_GROUP_METRICS + (size_t)n_services * N_SERVICE_METRICS;
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
  bool complete = true;
  for (size_t i = 0; i < count && complete; i++)
    complete = add_metric(now, metrics[i].id, part_of(&metrics[i]), metrics[i].name, values[i]);
  return complete;
}

static bool add_pools(const struct hr_cost_summary *costs, struct hr_baseline_run *now) {
  bool complete = true;
  for (size_t i = 0; costs && i < costs->by_pool.count && complete; i++)
    complete = add_metric(now, HR__M_COST, HR_METRIC_OF_POOL, costs->by_pool.line[i].name,
                          (double)costs->by_pool.line[i].uusd / 1e6);
  return complete;
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

/* Stores the rounded value of each replication. Stores nothing if the metric is unknown in any replication. */
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

/* Finds the same metric in another run. Both lists have nearly the same order, so the search starts behind the metric
   that the previous call found, at *from. */
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

/* The place of a change in the list: metrics of all jobs, of classes, of pools, of tenants and of services that
   are important; then the others. */
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
   changed, this is also the probability of a false alarm. */
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
    if (verdict != HR__SAME) item->has_unrated |= is_unrated(allowance, &now->metrics[i]);
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

static bool same_start(const struct hr__job_start *a, const struct hr__job_start *b) {
  return a->wait_s == b->wait_s;
}

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
    if (same_start(&now, &before[job])) continue;
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
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
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

static size_t count_worse(const struct hr__check_case *item) {
  size_t worse = 0;
  for (size_t i = 0; i < item->n_changes; i++) worse += item->changes[i].verdict == HR__WORSE;
  return worse;
}

static void set_verdict(struct hr__check_case *item) {
  bool by_digest = item->wants_digest && (item->other_digest || item->other_trace);
  bool same = !item->n_changes && !item->other_digest && !item->other_trace && !item->causes.count;
  item->n_worse = count_worse(item);
  if (by_digest || item->n_worse || item->n_missed)
    item->verdict = HR__CASE_FAILED;
  else
    item->verdict = same ? HR__CASE_SAME : HR__CASE_CHANGED;
}

/* Compares item->now with item->before and sets the verdict. */
static enum hr_status compare(const struct hr_check_config *config, struct hr__check_case *item,
                              const struct hr__check_results *results) {
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
static enum hr_status value_goals(struct hr__check_case *item, const struct hr__check_results *results) {
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

enum hr_status hr__check_compare(const struct hr_check_config *config, struct hr__check_case *item,
                                 const struct hr__check_results *results) {
  const struct hr_services *services = item->scenario->services;
  enum hr_status status = results->replicates
                              ? metrics_of_replicates(results->replicates, results->trace, services, &item->now)
                              : metrics_of_run(results->run, results->trace, services, &item->now);
  if (status == HR_OK) status = value_goals(item, results);
  return status == HR_OK ? compare(config, item, results) : status;
}
