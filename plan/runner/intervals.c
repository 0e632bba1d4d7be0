/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of runs: metrics of groups of jobs, and statistics over independent runs. */

#include "plan/runner/runner.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Scoped metrics: parsing -------------------------------------------------------------------------- */

/* A part of the input, without the blanks around it. */
struct text_part {
  const char *at;
  size_t length;
};

static struct text_part trimmed(const char *at, size_t length) {
  while (length && *at == ' ') at++, length--;
  while (length && at[length - 1] == ' ') length--;
  return (struct text_part){at, length};
}

static bool skip_word(struct text_part *part, const char *word) {
  size_t length = strlen(word);
  if (part->length <= length || strncmp(part->at, word, length) != 0 || part->at[length] != ' ') return false;
  *part = trimmed(part->at + length, part->length - length);
  return true;
}

static bool is_text(struct text_part part, const char *text) {
  return strlen(text) == part.length && strncmp(text, part.at, part.length) == 0;
}

/* The name of the class, from the table of classes; NULL if the table lacks it. */
static const char *class_named(struct text_part part) {
  for (unsigned i = HR_CLASS_UNKNOWN + 1; i < HR_N_CLASSES; i++)
    if (is_text(part, hr_job_class_name((enum hr_job_class)i))) return hr_job_class_name((enum hr_job_class)i);
  return NULL;
}

static const char *tenant_named(struct text_part part, const struct hr_trace *trace) {
  for (uint32_t i = 0; trace->tenant && i < trace->tenants.count; i++)
    if (is_text(part, trace->tenants.text[i])) return trace->tenants.text[i];
  return NULL;
}

enum { WORD_BYTES = 100 };

/* Copies a part to `word`, which has WORD_BYTES bytes. A longer part is cut. */
static void copy_word(struct text_part part, char *word) {
  snprintf(word, WORD_BYTES, "%.*s", (int)(part.length < WORD_BYTES ? part.length : WORD_BYTES - 1), part.at);
}

/* Reports an unknown class or tenant, and suggests the nearest name. `class_only`, `tenant_only`: the text said "class"
   or "tenant", so only such names are suggested. */
static enum hr_status unknown_group(struct text_part part, bool class_only, bool tenant_only,
                                    const struct hr_trace *trace, struct hr_error *error) {
  uint32_t n_tenants = trace->tenant && !class_only ? trace->tenants.count : 0, n = 0;
  const char **known = calloc((size_t)n_tenants + HR_N_CLASSES, sizeof *known);
  const char *what = class_only ? "no class" : tenant_only ? "no tenant" : "neither a class nor a tenant";
  char word[WORD_BYTES];
  if (!known) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (unsigned i = 1; i < HR_N_CLASSES && !tenant_only; i++) known[n++] = hr_job_class_name((enum hr_job_class)i);
  for (uint32_t i = 0; i < n_tenants; i++) known[n++] = trace->tenants.text[i];
  copy_word(part, word);
  const char *nearest = hr_nearest_word(word, known);
  enum hr_status status = hr_fail(error, HR_BAD_INPUT, "'%s' is %s of %.200s%s%.100s%s", word, what, trace->source,
                                  nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
  free(known);
  return status;
}

static enum hr_status parse_group(struct text_part part, const struct hr_trace *trace, struct hr__scoped_metric *metric,
                                  struct hr_error *error) {
  bool is_class = skip_word(&part, "class"), is_tenant = !is_class && skip_word(&part, "tenant");
  const char *class_ = is_tenant ? NULL : class_named(part), *tenant = is_class ? NULL : tenant_named(part, trace);
  if (!class_ && !tenant) return unknown_group(part, is_class, is_tenant, trace, error);
  metric->of = class_ ? HR__OF_CLASS : HR__OF_TENANT;
  metric->name = class_ ? class_ : tenant;
  if (class_ && !trace->class_)
    return hr_fail(error, HR_BAD_INPUT, "the jobs of %.200s have no classes, so there are none of class '%s'",
                   trace->source, class_);
  if (hr__metric_rows[metric->id].flags & HR_METRIC_OF_GROUPS) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "'%s' is known only for all jobs together, not by class or tenant",
                 hr__metric_rows[metric->id].path);
}

static enum hr_status unknown_metric(struct text_part part, bool of_groups, struct hr_error *error) {
  const char *names[HR__N_METRICS + 1];
  char word[WORD_BYTES];
  copy_word(part, word);
  hr__metric_names(of_groups, names);
  const char *nearest = hr_nearest_word(word, names);
  if (nearest) return hr_fail(error, HR_BAD_INPUT, "unknown metric '%s'; did you mean '%s'?", word, nearest);
  return hr_fail(
      error, HR_BAD_INPUT,
      "unknown metric '%s'; examples are wait_s.p95, completed, deadline_miss and monthly_usd (see 'headroom "
      "help plan')",
      word);
}

/* Returns the name of the service with which the text begins, followed by a dot; NULL: none. */
static const char *service_named(struct text_part part, const struct hr_services *services) {
  for (uint32_t i = 0; services && i < services->count; i++) {
    const size_t length = strlen(services->at[i].name);
    if (part.length > length + 1 && part.at[length] == '.' && strncmp(part.at, services->at[i].name, length) == 0)
      return services->at[i].name;
  }
  return NULL;
}

/* Parses the part of "chat.ttft_ms.p95" after the name of the service. */
static enum hr_status parse_of_service(struct text_part part, struct hr__scoped_metric *metric,
                                       struct hr_error *error) {
  const char *names[HR__N_METRICS + 1], *nearest;
  char word[WORD_BYTES];
  size_t n = 0;
  metric->id = hr__metric_find(part.at, part.length);
  if (metric->id != HR__N_METRICS && hr__metric_rows[metric->id].flags & HR_METRIC_OF_REQUESTS) return HR_OK;
  for (size_t i = 0; i < HR__N_METRICS; i++)
    if (hr__metric_rows[i].flags & HR_METRIC_OF_REQUESTS) names[n++] = hr__metric_rows[i].path;
  names[n] = NULL;
  copy_word(part, word);
  nearest = hr_nearest_word(word, names);
  return hr_fail(error, HR_BAD_INPUT, "'%s' is no metric of the service '%.100s'; %s%s%s", word, metric->name,
                 nearest ? "did you mean '" : "", nearest ? nearest : "examples are ttft_ms.p95 and attainment",
                 nearest ? "'?" : "");
}

/* Reports a misspelt name of a service, as in "chta.ttft_ms.p95". HR_OK: the text names no metric of a service. */
static enum hr_status unknown_service(struct text_part part, const struct hr_services *services,
                                      struct hr_error *error) {
  if (!services || !services->count) return HR_OK;
  const char **known = calloc((size_t)services->count + 1, sizeof *known), *nearest = NULL;
  char word[WORD_BYTES] = "";
  bool is_metric = false;
  if (!known) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (uint32_t i = 0; i < services->count; i++) known[i] = services->at[i].name;
  for (size_t i = 1; i + 1 < part.length && i < sizeof word && !is_metric; i++) {
    if (part.at[i] != '.') continue;
    const enum hr__metric metric = hr__metric_find(part.at + i + 1, part.length - i - 1);
    is_metric = metric != HR__N_METRICS && hr__metric_rows[metric].flags & HR_METRIC_OF_REQUESTS;
    if (is_metric) snprintf(word, sizeof word, "%.*s", (int)i, part.at);
  }
  if (is_metric) nearest = hr_nearest_word(word, known);
  const char *example = nearest ? nearest : known[0];
  free(known);
  if (!is_metric) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "unknown service '%s'; %s '%.100s'%s", word,
                 nearest ? "did you mean" : "the first service is", example, nearest ? "?" : "");
}

enum hr_status hr__scoped_metric_parse(const char *text, size_t length, const struct hr_trace *trace,
                                       const struct hr_services *services, struct hr__scoped_metric *metric,
                                       struct hr_error *error) {
  struct text_part input = trimmed(text, length), name = input, group = {0};
  *metric = (struct hr__scoped_metric){.of = HR__OF_ALL, .name = service_named(input, services)};
  if (metric->name) {
    const size_t skipped = strlen(metric->name) + 1;
    metric->of = HR__OF_SERVICE;
    return parse_of_service((struct text_part){input.at + skipped, input.length - skipped}, metric, error);
  }
  for (size_t i = 0; i + 4 <= input.length; i++) {
    if (strncmp(input.at + i, " of ", 4) != 0) continue;
    name = trimmed(input.at, i);
    group = trimmed(input.at + i + 4, input.length - i - 4);
    break;
  }
  metric->id = hr__metric_find(name.at, name.length);
  if (metric->id == HR__N_METRICS && !group.at) {
    const enum hr_status status = unknown_service(name, services, error);
    if (status != HR_OK) return status;
  }
  if (metric->id == HR__N_METRICS) return unknown_metric(name, group.at != NULL, error);
  return group.at ? parse_group(group, trace, metric, error) : HR_OK;
}

/* ---- Names and values ---------------------------------------------------------------------------------- */

const char *hr__scoped_metric_name(const struct hr__scoped_metric *metric, char *buffer) {
  const char *path = hr__metric_rows[metric->id].path;
  /* If a tenant has the name of a class, its name is preceded by "tenant". */
  bool ambiguous = metric->of == HR__OF_TENANT && class_named((struct text_part){metric->name, strlen(metric->name)});
  if (metric->of == HR__OF_ALL)
    snprintf(buffer, HR__SCOPED_METRIC_BYTES, "%s", path);
  else if (metric->of == HR__OF_SERVICE)
    snprintf(buffer, HR__SCOPED_METRIC_BYTES, "%.200s.%s", metric->name, path);
  else
    snprintf(buffer, HR__SCOPED_METRIC_BYTES, "%s of %s%.200s", path, ambiguous ? "tenant " : "", metric->name);
  return buffer;
}

static void metrics_of_group(const struct hr_summary *summary, const struct hr__scoped_metric *metric,
                             double *metrics) {
  bool is_class = metric->of == HR__OF_CLASS;
  const struct hr_group *groups = is_class ? summary->by_class : summary->by_tenant;
  size_t count = is_class ? summary->n_classes : summary->n_tenants;
  const struct hr_cost_lines *lines = NULL;
  if (summary->costs) lines = is_class ? &summary->costs->by_class : &summary->costs->by_tenant;
  for (size_t i = 0; i < HR__N_METRICS; i++) metrics[i] = HR__UNKNOWN;
  for (size_t i = 0; i < count; i++)
    if (strcmp(groups[i].name, metric->name) == 0) hr__metrics_of_group(&groups[i], lines, metrics);
}

static void metrics_of_service(const struct hr_summary *summary, const char *name, double *metrics) {
  for (size_t i = 0; i < HR__N_METRICS; i++) metrics[i] = HR__UNKNOWN;
  for (size_t i = 0; i < summary->n_services; i++)
    for (unsigned k = 0; k < HR__N_METRICS && strcmp(summary->services[i].name, name) == 0; k++)
      metrics[k] = hr__metric_of_service((enum hr__metric)k, &summary->services[i]).value;
}

void hr__scoped_metrics_of_run(const struct hr_summary *summary, const struct hr__scoped_metric *metrics, size_t count,
                               double *values) {
  double all[HR__N_METRICS];
  for (size_t i = 0; i < count; i++) {
    if (i == 0 || !hr__scoped_metric_same_group(&metrics[i - 1], &metrics[i])) {
      if (metrics[i].of == HR__OF_ALL)
        hr__metrics_of_run(summary, all);
      else if (metrics[i].of == HR__OF_SERVICE)
        metrics_of_service(summary, metrics[i].name, all);
      else
        metrics_of_group(summary, &metrics[i], all);
    }
    values[i] = all[metrics[i].id];
  }
}

/* ---- Statistics ---------------------------------------------------------------------------------------- */

/*
 * Confidence intervals and significance tests over runs.
 *
 * Interval of a median. Sort the n values. The median lies between the k-th smallest and the k-th largest value with
 * probability 1 - 2 P(B < k), where B is binomial (n, 1/2). This is exact, but for a given n only a few confidences are
 * possible. For other confidences, Hettmansperger and Sheather (Statistics & Probability Letters 4, 1986) interpolate
 * the ends by a rule that is nearly exact for symmetric and skewed distributions.
 *
 * Interval of a mean. Student's interval is exact for normal values. If values are skewed to the right, such as mean
 * waits near overload, the true mean is above the upper end too often, because samples with a low mean also have a low
 * standard deviation. Hall (J. R. Stat. Soc. B 54, 1992, "On the removal of skewness by transformation") transforms
 * Student's statistic T by an increasing cubic that removes the skewness g of the values: g(T) = ((1 + a T)^3 - 1) / (3
 * a) + a / 2 with a = g / (3 sqrt(n)). The ends of Hall's interval follow from the two values of T that are mapped to
 * +- t(0.975; n - 1). The skewness of a few values is a poor estimate and often too small, so each end of the interval
 * is the outer one of Student's and Hall's. Symmetric values give Student's interval.
 *
 * Paired t interval. For n differences with mean m and standard deviation s the interval is m -+ t(0.975; n - 1) s /
 * sqrt(n). Pairs have the same random events, so common variation cancels and s is small (Law, "Simulation Modeling and
 * Analysis", on comparing two systems).
 *
 * Tests. For independent samples the variances are added, and the degrees of freedom are Satterthwaite's (Welch,
 * Biometrika 34, 1947). If many tests are made at once, the significant ones are selected such that the false discovery
 * rate is bounded (Benjamini and Hochberg, J. R. Stat. Soc. B 57, 1995).
 */

/* ---- One sample ------------------------------------------------------------------------------------- */

/* Probability that the median lies between the k-th smallest and the k-th largest value; k counts from 1. */
static double coverage_of(uint32_t k, uint32_t count) {
  return 1 - 2 * gsl_cdf_binomial_P(k - 1, 0.5, count);
}

/* Computes the interval of the median of sorted values. Sets *low and *high to NaN if there are too few values for the
   confidence. */
static void median_interval(const double *sorted, uint32_t count, double confidence, double *low, double *high) {
  *low = *high = HR__UNKNOWN;
  if (count < 2 || coverage_of(1, count) < confidence) return;
  uint32_t k = 1;
  while (k + 1 <= count / 2 && coverage_of(k + 1, count) >= confidence) k++;
  bool innermost = k + 1 > (count + 1) / 2;
  double wide = coverage_of(k, count), narrow = innermost ? wide : coverage_of(k + 1, count);
  double share = wide > narrow ? (wide - confidence) / (wide - narrow) : 0;
  double weight = (count - k) * share / (k + (count - 2.0 * k) * share);
  uint32_t inner = innermost ? k : k + 1;
  *low = (1 - weight) * sorted[k - 1] + weight * sorted[inner - 1];
  *high = (1 - weight) * sorted[count - k] + weight * sorted[count - inner];
}

/* Third central moment, divided by the cube of the standard deviation. 0 if all values are equal. */
static double skewness_of(const double *values, uint32_t count, double mean) {
  double squares = 0, cubes = 0;
  for (uint32_t i = 0; i < count; i++) {
    double deviation = values[i] - mean;
    squares += deviation * deviation;
    cubes += deviation * deviation * deviation;
  }
  return squares > 0 ? cubes / count / pow(squares / count, 1.5) : 0;
}

/* Returns the value of Student's statistic that Hall's transformation maps to `x`: (cbrt(1 + 3 a y) - 1) / a with y = x
   - a / 2. With the cube root r, this is 3 y / (r^2 + r + 1), which is also valid for a = 0. */
static double undo_transformation(double x, double a) {
  double y = x - a / 2, root = cbrt(1 + 3 * a * y);
  return 3 * y / (root * root + root + 1);
}

static void mean_interval(double skewness, double confidence, struct hr__interval *interval) {
  if (interval->count < 2) return;
  double error = interval->sd / sqrt((double)interval->count), a = skewness / (3 * sqrt((double)interval->count));
  double t = gsl_cdf_tdist_Pinv((1 + confidence) / 2, interval->count - 1);
  interval->low = interval->mean - fmax(t, undo_transformation(t, a)) * error;
  interval->high = interval->mean - fmin(-t, undo_transformation(-t, a)) * error;
}

static void fill_interval(const double *sorted, enum hr_metric_kind kind, double confidence, bool corrected,
                          struct hr__interval *interval) {
  uint32_t count = interval->count;
  interval->mean = gsl_stats_mean(sorted, 1, count);
  interval->median = gsl_stats_median_from_sorted_data(sorted, 1, count);
  interval->sd = count > 1 ? gsl_stats_sd_m(sorted, 1, count, interval->mean) : 0;
  if (kind == HR_METRIC_QUANTILE)
    median_interval(sorted, count, confidence, &interval->low, &interval->high);
  else
    mean_interval(corrected ? skewness_of(sorted, count, interval->mean) : 0, confidence, interval);
  /* If there are at least two values and all are equal, the interval has width 0, even if there are too few values for
     the confidence. */
  if (count > 1 && sorted[0] == sorted[count - 1]) interval->low = interval->high = interval->mean = sorted[0];
}

static enum hr_status make_interval(const double *values, uint32_t count, enum hr_metric_kind kind, double confidence,
                                    bool corrected, bool exact, struct hr__interval *interval) {
  *interval = (struct hr__interval){.mean = HR__UNKNOWN,
                                    .median = HR__UNKNOWN,
                                    .sd = HR__UNKNOWN,
                                    .low = HR__UNKNOWN,
                                    .high = HR__UNKNOWN,
                                    .of_median = kind == HR_METRIC_QUANTILE};
  double *sorted = malloc(((size_t)count + 1) * sizeof *sorted);
  if (!sorted) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < count; i++)
    if (!isnan(values[i])) sorted[interval->count++] = values[i];
  gsl_sort(sorted, 1, interval->count);
  if (interval->count) fill_interval(sorted, kind, confidence, corrected, interval);
  if (exact && interval->count == 1) interval->low = interval->high = sorted[0];
  free(sorted);
  return HR_OK;
}

enum hr_status hr__interval_of(const double *values, uint32_t count, enum hr_metric_kind kind, double confidence,
                               bool exact, struct hr__interval *interval) {
  return make_interval(values, count, kind, confidence, true, exact, interval);
}

enum hr_status hr__interval_uncorrected(const double *values, uint32_t count, enum hr_metric_kind kind,
                                        double confidence, bool exact, struct hr__interval *interval) {
  return make_interval(values, count, kind, confidence, false, exact, interval);
}

void hr__json_interval(struct hr__json *json, cJSON *object, const struct hr__interval *interval) {
  hr__json_finite(json, object, "mean", interval->mean);
  hr__json_finite(json, object, "low", interval->low);
  hr__json_finite(json, object, "high", interval->high);
  hr__json_finite(json, object, "median", interval->median);
  hr__json_finite(json, object, "sd", interval->sd);
  hr__json_text(json, object, "interval", interval->of_median ? "order-statistics" : "student");
}

double hr__interval_low(enum hr__metric metric, const struct hr__interval *interval) {
  const enum hr_unit unit = hr__metric_rows[metric].unit;
  bool is_positive = unit == HR_UNIT_COUNT || unit == HR_UNIT_SHARE || unit == HR_UNIT_SECONDS ||
                     unit == HR_UNIT_MILLISECONDS || unit == HR_UNIT_FACTOR || unit == HR_UNIT_RATE;
  if (metric == HR__M_COST_SAVING || !is_positive) return interval->low;
  const double least = metric == HR__M_SLOWDOWN_MEAN ? 1 : 0;
  return interval->low < least ? least : interval->low;
}

double hr__interval_high(enum hr__metric metric, const struct hr__interval *interval) {
  bool is_part = hr__metric_rows[metric].unit == HR_UNIT_SHARE || metric == HR__M_JAIN;
  return is_part && interval->high > 1 ? 1 : interval->high;
}

void hr__json_metric_interval(struct hr__json *json, cJSON *object, enum hr__metric metric,
                              const struct hr__interval *interval) {
  struct hr__interval bounded = *interval;
  bounded.low = hr__interval_low(metric, interval);
  bounded.high = hr__interval_high(metric, interval);
  hr__json_interval(json, object, &bounded);
}

void hr__json_all_notes(struct hr__json *json, cJSON *root, const struct hr_scenario *scenario,
                        const struct hr_trace *trace, const struct hr_notes *notes) {
  cJSON *array = hr__json_array(json, root, "notes");
  hr__json_notes(json, array, &scenario->notes);
  hr__json_notes(json, array, &trace->notes);
  hr__json_notes(json, array, notes);
}

cJSON *hr__json_runs_perf(struct hr__json *json, cJSON *root, const struct hr_perf *perf, uint32_t threads) {
  static const struct hr_perf nothing = {0};
  cJSON *object = hr__json_object(json, root, "perf");
  if (!perf) perf = &nothing;
  hr__json_number(json, object, "load_s", perf->load_s);
  hr__json_number(json, object, "sim_s", perf->sim_s);
  hr__json_count(json, object, "threads", threads);
  hr__json_number(json, object, "peak_rss_mib", perf->peak_rss_mib);
  return object;
}

/* ---- Pairs ------------------------------------------------------------------------------------------ */

static double mean_difference(const double *first, const double *other, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += other[i] - first[i];
  return sum / count;
}

/* Squared standard error of the mean of the paired differences. */
static double difference_variance(const double *first, const double *other, uint32_t count, double mean) {
  double squares = 0;
  for (uint32_t i = 0; i < count; i++) {
    double deviation = other[i] - first[i] - mean;
    squares += deviation * deviation;
  }
  return squares / (count - 1) / count;
}

struct hr_estimate hr__interval_paired(const double *first, const double *other, uint32_t count, bool exact) {
  double mean = mean_difference(first, other, count), half = 0;
  if (count > 1)
    half = gsl_cdf_tdist_Pinv(0.975, count - 1) * sqrt(difference_variance(first, other, count, mean));
  else if (!exact)
    half = HR__UNKNOWN;
  struct hr_estimate estimate = {
      .value = hr__mean_of(other, count), .difference = mean, .low = mean - half, .high = mean + half};
  estimate.significant = estimate.low > 0 || estimate.high < 0;
  return estimate;
}

/* Squared standard error of the mean. */
static double mean_variance(const double *values, uint32_t count, double mean) {
  double squares = 0;
  for (uint32_t i = 0; i < count; i++) squares += (values[i] - mean) * (values[i] - mean);
  return squares / (count - 1) / count;
}

struct hr__mean hr__interval_of_mean(const double *values, uint32_t count) {
  double mean = hr__mean_of(values, count);
  if (count < 2) return (struct hr__mean){mean, HR__UNKNOWN};
  return (struct hr__mean){mean, gsl_cdf_tdist_Pinv(0.975, count - 1) * sqrt(mean_variance(values, count, mean))};
}

/* ---- Significance ----------------------------------------------------------------------------------- */

/* Two-sided p-value: the probability that a mean is at least this far from zero if its expectation is zero. */
static double two_sided(double mean, double variance, double freedom) {
  if (mean == 0) return 1;
  return variance > 0 ? 2 * gsl_cdf_tdist_Q(fabs(mean) / sqrt(variance), freedom) : 0;
}

double hr__p_value_paired(const double *first, const double *other, uint32_t count) {
  if (count < 2) return HR__UNKNOWN;
  double mean = mean_difference(first, other, count);
  return two_sided(mean, difference_variance(first, other, count, mean), count - 1);
}

double hr__p_value_welch(const double *first, uint32_t n_first, const double *other, uint32_t n_other) {
  if (n_first < 2 || n_other < 2) return HR__UNKNOWN;
  double a = hr__mean_of(first, n_first), b = hr__mean_of(other, n_other);
  double u = mean_variance(first, n_first, a), v = mean_variance(other, n_other, b);
  double freedom = u + v > 0 ? (u + v) * (u + v) / (u * u / (n_first - 1) + v * v / (n_other - 1)) : 1;
  return two_sided(b - a, u + v, freedom);
}

double hr__p_value_threshold(double *p_values, size_t count, size_t n_tests, double rate) {
  gsl_sort(p_values, 1, count);
  for (size_t i = count; i-- > 0;)
    if (p_values[i] <= (double)(i + 1) / (double)n_tests * rate) return p_values[i];
  return -1;
}
