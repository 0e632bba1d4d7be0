/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The statistics of a trace as JSON: docs/reference/schemas/trace-stats.schema.json. */

#include "report/json_tree.h"
#include "report/text.h"
#include "workload/stats.h"

#include <math.h>
#include <stdlib.h>

static void put_known(struct hr__json *json, cJSON *object, const char *key, double value) {
  hr__json_number_if(json, object, key, isfinite(value), value);
}

static void put_spread(struct hr__json *json, cJSON *parent, const char *key, const struct hr__spread *spread) {
  if (spread->count == 0) {
    hr__json_null(json, parent, key);
    return;
  }
  cJSON *object = hr__json_object(json, parent, key);
  hr__json_count(json, object, "count", spread->count);
  const struct {
    const char *key;
    double value;
  } figures[] = {{"mean", spread->mean}, {"sd", spread->sd},   {"min", spread->min}, {"p10", spread->p10},
                 {"p25", spread->p25},   {"p50", spread->p50}, {"p75", spread->p75}, {"p90", spread->p90},
                 {"p95", spread->p95},   {"p99", spread->p99}, {"max", spread->max}};
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    hr__json_number(json, object, figures[i].key, figures[i].value);
}

/* ---- Fits ------------------------------------------------------------------------------------------- */

/* What the two parameters of each family are called; NULL: it has no such. */
static const char *const parameters[HR__N_FAMILIES][2] = {[HR__EXPONENTIAL] = {NULL, "mean"},
                                                          [HR__LOG_NORMAL] = {"mu", "sigma"},
                                                          [HR__WEIBULL] = {"shape", "scale"},
                                                          [HR__PARETO_TAIL] = {"alpha", "from"}};

static void put_fits(struct hr__json *json, cJSON *parent, const char *key, const struct hr__fit *fits) {
  cJSON *array = hr__json_array(json, parent, key);
  enum hr__family best = hr__best_family(fits);
  for (unsigned i = 0; i < HR__N_FAMILIES; i++) {
    if (!fits[i].known) continue;
    cJSON *object = hr__json_append(json, array, cJSON_CreateObject());
    hr__json_text(json, object, "family", hr__family_name((enum hr__family)i));
    hr__json_count(json, object, "count", fits[i].count);
    if (parameters[i][0]) hr__json_number(json, object, parameters[i][0], fits[i].a);
    hr__json_number(json, object, parameters[i][1], fits[i].b);
    hr__json_number(json, object, "log_likelihood", fits[i].log_likelihood);
    hr__json_number(json, object, "aic", fits[i].aic);
    hr__json_number(json, object, "ks", fits[i].ks);
    hr__json_bool(json, object, "best", i == best);
  }
}

static void put_curve(struct hr__json *json, cJSON *parent, const double *curve_s) {
  cJSON *array = hr__json_array(json, parent, "run_quantiles_s");
  for (int i = 0; i < HR__CURVE_POINTS; i++) {
    char number[HR__NUMBER_BYTES];
    hr__json_append(json, array, cJSON_CreateRaw(hr__decimal_text(curve_s[i], number)));
  }
}

/* ---- Groups ----------------------------------------------------------------------------------------- */

static void put_row(struct hr__json *json, cJSON *array, const struct hr_trace_stats *stats, enum hr__stats_by by,
                    const struct hr__stats_row *row) {
  bool told = stats->trace->outcome != NULL;
  cJSON *object = hr__json_append(json, array, cJSON_CreateObject());
  hr__json_text(json, object, "name", row->name);
  hr__json_count(json, object, "jobs", row->jobs);
  hr__json_number(json, object, "jobs_share", (double)row->jobs / stats->trace->n_jobs);
  hr__json_number(json, object, "gpu_hours", row->gpu_hours);
  hr__json_number_if(json, object, "gpu_hours_share", stats->gpu_hours > 0, row->gpu_hours / stats->gpu_hours);
  hr__json_number_if(json, object, "failed", told, (double)row->failed);
  hr__json_number_if(json, object, "cancelled", told, (double)row->cancelled);
  put_spread(json, object, "run_s", &row->run_s);
  if (by != HR__STATS_BY_SIZE) return;
  put_fits(json, object, "run_fits", row->fits);
  put_curve(json, object, row->curve_s);
}

static void put_groups(struct hr__json *json, cJSON *root, const struct hr_trace_stats *stats) {
  cJSON *by = hr__json_object(json, root, "by");
  for (unsigned i = 0; i < HR__N_STATS_BY; i++) {
    cJSON *array = hr__json_array(json, by, hr__stats_by_name((enum hr__stats_by)i));
    for (size_t k = 0; k < stats->by[i].count; k++)
      put_row(json, array, stats, (enum hr__stats_by)i, &stats->by[i].at[k]);
  }
}

/* ---- Arrivals --------------------------------------------------------------------------------------- */

static void put_counts(struct hr__json *json, cJSON *object, const char *key, const uint64_t *counts, size_t n) {
  cJSON *array = hr__json_array(json, object, key);
  for (size_t i = 0; i < n; i++) hr__json_append(json, array, cJSON_CreateNumber((double)counts[i]));
}

static void put_arrivals(struct hr__json *json, cJSON *root, const struct hr_trace_stats *stats) {
  const struct hr__arrivals *arrivals = &stats->arrivals;
  cJSON *object = hr__json_object(json, root, "arrivals");
  hr__json_bool(json, object, "dated", arrivals->has_weekdays);
  put_counts(json, object, "by_hour", arrivals->by_hour, 24);
  put_counts(json, object, "by_weekday", arrivals->by_weekday, 7);
  hr__json_count(json, object, "hours", arrivals->hours);
  put_known(json, object, "per_hour", arrivals->hours ? arrivals->per_hour : (double)NAN);
  hr__json_number_if(json, object, "busiest_hour", arrivals->hours > 0, arrivals->busiest);
  put_known(json, object, "dispersion_by_hour", arrivals->dispersion);
  put_known(json, object, "dispersion_by_day", arrivals->dispersion_by_day);
  put_known(json, object, "autocorrelation_day", arrivals->after_a_day);
  put_known(json, object, "autocorrelation_week", arrivals->after_a_week);
  put_known(json, object, "burstiness", arrivals->burstiness);
  hr__json_count(json, object, "together", arrivals->together);
  put_spread(json, object, "gap_s", &arrivals->gap_s);
  put_fits(json, object, "gap_fits", stats->gap_fits);
}

static void put_concentration(struct hr__json *json, cJSON *root, const struct hr_trace_stats *stats) {
  cJSON *all = hr__json_object(json, root, "concentration");
  for (unsigned i = 0; i < HR__N_CONCENTRATED; i++) {
    const struct hr__concentration *of = &stats->concentration[i];
    const char *key = hr__concentrated_name((enum hr__concentrated)i);
    if (of->parties == 0) {
      hr__json_null(json, all, key);
      continue;
    }
    cJSON *object = hr__json_object(json, all, key);
    hr__json_count(json, object, "parties", of->parties);
    hr__json_number(json, object, "gini", of->gini);
    hr__json_number(json, object, "first_share", of->first);
    hr__json_number(json, object, "first_tenth_share", of->tenth);
    hr__json_number(json, object, "parties_for_half", of->for_half);
  }
}

/* ---- The whole -------------------------------------------------------------------------------------- */

static cJSON *make_tree(struct hr__json *json, const struct hr_trace_stats *stats) {
  const struct hr_trace *trace = stats->trace;
  cJSON *root = cJSON_CreateObject();
  hr__json_text(json, root, "headroom", hr_version());
  cJSON *object = hr__json_object(json, root, "trace");
  hr__json_text(json, object, "file", trace->source);
  hr__json_text(json, object, "format", trace->format);
  hr__json_count(json, object, "jobs", trace->n_jobs);
  hr__json_count(json, object, "left_out", trace->n_skipped);
  hr__json_number(json, object, "span_s", stats->span_s);
  hr__json_number(json, object, "gpu_hours", stats->gpu_hours);
  hr__json_number_if(json, object, "gpus_asked_for", stats->span_s > 0, stats->gpu_hours * 3600 / stats->span_s);
  put_spread(json, root, "run_s", &stats->run_s);
  put_fits(json, root, "run_fits", stats->run_fits);
  put_curve(json, root, stats->curve_s);
  put_spread(json, root, "gpus", &stats->gpus);
  put_spread(json, root, "recorded_wait_s", &stats->wait_s);
  put_spread(json, root, "limit_ratio", &stats->limit_ratio);
  put_groups(json, root, stats);
  put_arrivals(json, root, stats);
  put_concentration(json, root, stats);
  cJSON *correlation = hr__json_object(json, root, "correlation");
  put_known(json, correlation, "gpus_and_run_time", stats->size_and_run_time);
  put_known(json, correlation, "run_time_explained_by_user", stats->user_in_run_time);
  return root;
}

enum hr_status hr_trace_stats_write_json(const char *path, const struct hr_trace_stats *stats, struct hr_error *error) {
  struct hr__json json = {false};
  return hr__json_write(&json, make_tree(&json, stats), path, error);
}

char *hr_trace_stats_json(const struct hr_trace_stats *stats) {
  struct hr__json json = {false};
  return hr__json_print(&json, make_tree(&json, stats));
}
