/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tolerances of a suite and its runs. The most specific tolerance for a metric applies. A metric with its class or
 * tenant is most specific, then a metric alone, then "*". Of equally specific tolerances, that of the run precedes that
 * of the suite. To metrics without a tolerance the profile applies.
 */

#include "plan/check/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ------------------------------------------------------------------------------------------ */

static const char *group_in(const char *name) {
  const char *of = strstr(name, " of ");
  return of ? of + 4 : NULL;
}

static bool is_group(const char *text, const struct hr_baseline_metric *metric) {
  static const char *const heads[HR_N_METRIC_OF] = {
      [HR_METRIC_OF_CLASS] = "class ", [HR_METRIC_OF_TENANT] = "tenant ", [HR_METRIC_OF_POOL] = "pool "};
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
  if (!is_path(name, length, metric->path)) return false;
  if (group) return is_group(group, metric);
  return broadly || metric->of == HR_METRIC_OF_RUN;
}

enum hr_status hr__tolerance_check_names(const struct hr_tolerances *tolerances, struct hr_error *error) {
  const char *names[HR__N_METRICS + 1];
  for (size_t i = 0; i < tolerances->count; i++) {
    const struct hr_placed_text *metric = &tolerances->at[i].metric;
    const char *group = group_in(metric->text);
    size_t length = group ? (size_t)(group - metric->text) - 4 : strlen(metric->text);
    if (strcmp(metric->text, "*") == 0 || hr__metric_find(metric->text, length) != HR__N_METRICS) continue;
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

bool hr__tolerance_concerns(const struct hr__allowance *allowance, const struct hr_baseline_metric *metric) {
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
