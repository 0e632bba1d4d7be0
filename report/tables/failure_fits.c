/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fits distributions to the intervals of a log of failures, and writes them as a table of 80 columns and as JSON
 * (docs/reference/failures.md).
 *
 * Intervals of length 0, which are failures at one instant, count for the mean of the intervals between failures, but
 * no distribution is fitted to them.
 */

#include "headroom/unstable/failure_fits.h"

#include "base/output_file.h"
#include "base/text.h"
#include "report/tables/json_tree.h"
#include "traces/tools/stats.h"

#include <math.h>
#include <string.h>

static const char *const keys[] = {
#define FAILURE_INTERVAL_KEY(name, key, words) key,
    HR_FAILURE_INTERVAL_TABLE(FAILURE_INTERVAL_KEY)
#undef FAILURE_INTERVAL_KEY
};
static const char *const labels[] = {
#define FAILURE_INTERVAL_WORDS(name, key, words) words,
    HR_FAILURE_INTERVAL_TABLE(FAILURE_INTERVAL_WORDS)
#undef FAILURE_INTERVAL_WORDS
};

/* The distributions. A parameter without a key is not printed. */
enum { EXPONENTIAL, WEIBULL, LOG_NORMAL, GAMMA, N_FITTED };
static const struct {
  const char *name, *key, *a, *b;
} fitted[N_FITTED] = {{"exponential", "exponential", NULL, "mean"},
                      {"Weibull", "weibull", "shape", "scale"},
                      {"log-normal", "log_normal", "mu", "sigma"},
                      {"gamma", "gamma", "shape", "scale"}};

struct interval_fits {
  struct hr__distribution_fit fits[N_FITTED];
  unsigned best; /* lowest Akaike information criterion; N_FITTED: none is known */
  double mean, median;
};

static bool fit(const struct hr_failure_sample *sample, struct interval_fits *fits) {
  struct hr__distribution_fit all[HR__N_FAMILIES];
  double sum = 0;
  uint32_t n = sample->count;
  *fits = (struct interval_fits){.best = N_FITTED, .mean = (double)NAN, .median = (double)NAN};
  if (n == 0) return true;
  if (!hr__fit_all(sample->hours, n, all)) return false;
  fits->fits[EXPONENTIAL] = all[HR__EXPONENTIAL];
  fits->fits[WEIBULL] = all[HR__WEIBULL];
  fits->fits[LOG_NORMAL] = all[HR__LOG_NORMAL];
  hr__fit_gamma(sample->hours, n, &fits->fits[GAMMA]);
  for (unsigned i = 0; i < N_FITTED; i++)
    if (fits->fits[i].known && (fits->best == N_FITTED || fits->fits[i].aic < fits->fits[fits->best].aic))
      fits->best = i;
  for (uint32_t i = 0; i < n; i++) sum += sample->hours[i];
  fits->mean = sum / ((double)n + sample->zeros);
  fits->median = (sample->hours[(n - 1) / 2] + sample->hours[n / 2]) / 2;
  return true;
}

static enum hr_status no_memory(const char *source, struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", source);
}

/* Checks that the log has the system. */
static enum hr_status check_system(const char *source, const struct hr_failure_log *log, const char *system,
                                   struct hr_error *error) {
  char known[600] = "";
  for (uint32_t i = 0; i < log->n_groups; i++) {
    if (!system || strcmp(system, log->groups[i].name) == 0 || strcmp(system, log->all.name) == 0) return HR_OK;
    size_t length = strlen(known);
    snprintf(known + length, sizeof known - length, "%s%.40s", i ? ", " : "", log->groups[i].name);
  }
  bool none = log->n_groups == 1 && log->groups[0].name[0] == '\0';
  return hr_fail(error, HR_BAD_INPUT, "%s: no system '%.100s'; %s%s", source, system,
                 none ? "the log has no column 'system'" : "known: ", none ? "" : known);
}

static bool is_selected(const struct hr_failure_group *group, const char *system) {
  return !system || strcmp(system, group->name) == 0;
}

static double per_1000_node_days(const struct hr_failure_group *group) {
  double node_days = group->nodes * group->span_days;
  return node_days > 0 ? 1000 * group->failures / node_days : (double)NAN;
}

/* ---- The table -------------------------------------------------------------------------------------- */

static const char *number_text(double value, char *text) {
  double size = fabs(value);
  return isnan(value) ? "-" : hr__fixed_text(value, size < 10 ? 4 : size < 1000 ? 2 : 0, text);
}

static void put_fit(FILE *out, unsigned family, const struct hr__distribution_fit *at, bool best) {
  char text[HR__NUMBER_BYTES];
  fprintf(out, "    %-12s", fitted[family].name);
  fprintf(out, "%6s%10s", fitted[family].a ? fitted[family].a : "", fitted[family].a ? number_text(at->a, text) : "");
  fprintf(out, "%8s%12s", fitted[family].b, number_text(at->b, text));
  fprintf(out, "   distance %s%s\n", hr__fixed_text(at->ks, 3, text), best ? "  best" : "");
}

static enum hr_status put_sample(FILE *out, const char *source, const struct hr_failure_sample *sample,
                                 const char *label, struct hr_error *error) {
  struct interval_fits fits;
  char text[4][HR__NUMBER_BYTES];
  if (sample->count + sample->zeros == 0) return HR_OK;
  if (!fit(sample, &fits)) return no_memory(source, error);
  fprintf(out, "  hours %s: %s", label, hr__count_text(sample->count, text[0]));
  if (sample->zeros) fprintf(out, ", and %s of length 0", hr__count_text(sample->zeros, text[1]));
  fprintf(out, "; mean %s, median %s\n", number_text(fits.mean, text[2]), number_text(fits.median, text[3]));
  for (unsigned i = 0; i < N_FITTED; i++)
    if (fits.fits[i].known) put_fit(out, i, &fits.fits[i], i == fits.best);
  return HR_OK;
}

static void put_group_head(FILE *out, const struct hr_failure_group *group, bool is_all) {
  char text[4][HR__NUMBER_BYTES];
  double rate = per_1000_node_days(group);
  fputc('\n', out);
  if (group->name[0]) fprintf(out, "%s%.60s: ", is_all ? "" : "system ", is_all ? "all systems" : group->name);
  if (group->nodes) fprintf(out, "%s node%s, ", hr__count_text(group->nodes, text[0]), group->nodes == 1 ? "" : "s");
  if (group->failures == 0) {
    fputs("intervals\n", out);
    return;
  }
  fprintf(out, "%s failure%s", hr__count_text(group->failures, text[1]), group->failures == 1 ? "" : "s");
  if (group->span_days > 0) fprintf(out, " in %s days", hr__fixed_text(group->span_days, 0, text[2]));
  if (!isnan(rate)) fprintf(out, ", %s per 1,000 node-days", hr__fixed_text(rate, 3, text[3]));
  fputc('\n', out);
  if (!isnan(group->top_share))
    fprintf(out, "  %s %% of the failures are on 5 %% of the nodes\n",
            hr__fixed_text(100 * group->top_share, 1, text[0]));
  if (group->dropped)
    fprintf(out, "  repairs left out, as they end at their start or before: %s\n",
            hr__count_text(group->dropped, text[0]));
  if (group->duplicates)
    fprintf(out, "  failures that repeat another one (node, start and end): %s\n",
            hr__count_text(group->duplicates, text[0]));
}

static enum hr_status put_group(FILE *out, const char *source, const struct hr_failure_group *group, bool is_all,
                                struct hr_error *error) {
  enum hr_status status = HR_OK;
  put_group_head(out, group, is_all);
  for (unsigned kind = 0; kind < HR_N_FAILURE_INTERVALS && status == HR_OK; kind++)
    status = put_sample(out, source, &group->samples[kind], labels[kind], error);
  return status;
}

enum hr_status hr_failure_fits_print(FILE *out, const char *source, const struct hr_failure_log *log,
                                     const char *system, struct hr_error *error) {
  enum hr_status status = check_system(source, log, system, error);
  if (status != HR_OK) return status;
  char text[HR__NUMBER_BYTES];
  fprintf(out, "Failures of %s (%s)\n", source, log->format);
  if (log->n_negative)
    fprintf(out, "  rows left out, as they have a negative interval: %s\n", hr__count_text(log->n_negative, text));
  for (uint32_t i = 0; i < log->n_groups && status == HR_OK; i++)
    if (is_selected(&log->groups[i], system)) status = put_group(out, source, &log->groups[i], false, error);
  if (status == HR_OK && log->n_groups > 1 && is_selected(&log->all, system))
    status = put_group(out, source, &log->all, true, error);
  return status;
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static void add_fits(struct hr__json *json, cJSON *object, const struct interval_fits *fits) {
  for (unsigned i = 0; i < N_FITTED; i++) {
    const struct hr__distribution_fit *at = &fits->fits[i];
    cJSON *child = hr__json_object(json, object, fitted[i].key);
    if (fitted[i].a) hr__json_number_if(json, child, fitted[i].a, at->known, at->a);
    hr__json_number_if(json, child, fitted[i].b, at->known, at->b);
    hr__json_number_if(json, child, "log_likelihood", at->known, at->log_likelihood);
    hr__json_number_if(json, child, "aic", at->known, at->aic);
    hr__json_number_if(json, child, "ks", at->known, at->ks);
  }
  hr__json_text(json, object, "best", fits->best < N_FITTED ? fitted[fits->best].key : NULL);
}

static bool add_group(struct hr__json *json, cJSON *list, const struct hr_failure_group *group) {
  cJSON *object = hr__json_append(json, list, cJSON_CreateObject());
  double rate = per_1000_node_days(group);
  hr__json_text(json, object, "system", group->name);
  hr__json_count(json, object, "nodes", group->nodes);
  hr__json_count(json, object, "failures", group->failures);
  hr__json_number(json, object, "span_days", group->span_days);
  hr__json_number_if(json, object, "per_1000_node_days", !isnan(rate), rate);
  hr__json_number_if(json, object, "top_5_percent_share", !isnan(group->top_share), group->top_share);
  hr__json_count(json, object, "dropped_repairs", group->dropped);
  hr__json_count(json, object, "duplicates", group->duplicates);
  for (unsigned kind = 0; kind < HR_N_FAILURE_INTERVALS; kind++) {
    const struct hr_failure_sample *sample = &group->samples[kind];
    struct interval_fits fits;
    if (!fit(sample, &fits)) return false;
    cJSON *child = hr__json_object(json, object, keys[kind]);
    double all = (double)sample->count + sample->zeros;
    hr__json_count(json, child, "count", sample->count);
    hr__json_count(json, child, "zeros", sample->zeros);
    hr__json_number_if(json, child, "zero_share", all > 0, sample->zeros / (all > 0 ? all : 1));
    hr__json_number_if(json, child, "mean", !isnan(fits.mean), fits.mean);
    hr__json_number_if(json, child, "median", !isnan(fits.median), fits.median);
    add_fits(json, child, &fits);
  }
  return true;
}

enum hr_status hr_failure_fits_write_json(const char *path, const char *source, const struct hr_failure_log *log,
                                          const char *system, struct hr_error *error) {
  enum hr_status status = check_system(source, log, system, error);
  if (status != HR_OK) return status;
  struct hr__json json = {0};
  cJSON *root = cJSON_CreateObject();
  hr__json_text(&json, root, "log", source);
  hr__json_text(&json, root, "format", log->format);
  hr__json_count(&json, root, "negative_rows", log->n_negative);
  cJSON *list = hr__json_array(&json, root, "systems");
  bool added = true;
  for (uint32_t i = 0; i < log->n_groups && added; i++)
    if (is_selected(&log->groups[i], system)) added = add_group(&json, list, &log->groups[i]);
  if (added && log->n_groups > 1 && is_selected(&log->all, system)) added = add_group(&json, list, &log->all);
  json.failed = json.failed || !added;
  return hr__json_write(&json, root, path, error);
}
