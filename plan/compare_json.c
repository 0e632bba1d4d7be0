/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A comparison as JSON (docs/reference/schemas/compare.schema.json). */

#include "plan/comparison.h"
#include "report/json_tree.h"

#include <math.h>

static void put_figure(struct hr__json *json, cJSON *object, const char *key, double value) {
  hr__json_number_if(json, object, key, !isnan(value), value);
}

/* Under `means` the figure, under `differences` how far it is from the first policy's. */
static void put_estimate(struct hr__json *json, cJSON *means, cJSON *differences, const char *key,
                         const struct hr_estimate *estimate) {
  put_figure(json, means, key, estimate->value);
  cJSON *inner = hr__json_object(json, differences, key);
  put_figure(json, inner, "mean", estimate->difference);
  put_figure(json, inner, "low", estimate->low);
  put_figure(json, inner, "high", estimate->high);
  if (isnan(estimate->low))
    hr__json_null(json, inner, "significant");
  else
    hr__json_bool(json, inner, "significant", estimate->significant);
}

static void put_metrics(struct hr__json *json, cJSON *policy, const struct hr_comparison *comparison,
                        uint32_t contender) {
  cJSON *means = hr__json_object(json, policy, "mean");
  cJSON *differences = hr__json_object(json, policy, "difference");
  for (unsigned i = 0; i < HR__N_METRICS; i++) {
    struct hr_estimate estimate = hr__estimate(comparison, contender, (enum hr__metric)i);
    put_estimate(json, means, differences, hr__metric_name(&hr__metric_infos[i]), &estimate);
  }
}

/* In the order of the first policy's run. */
static void put_groups(struct hr__json *json, cJSON *policy, const char *key, const struct hr_comparison *comparison,
                       const struct hr__group_table *table, uint32_t contender) {
  size_t count;
  const struct hr_group *groups = table->of(comparison->first_runs[0].summary, &count);
  cJSON *all = hr__json_object(json, policy, key);
  for (size_t i = 0; i < count; i++) {
    size_t place = hr__group_find(table, groups[i].name);
    if (place == SIZE_MAX) continue;
    cJSON *inner = hr__json_object(json, all, groups[i].name);
    cJSON *means = hr__json_object(json, inner, "mean");
    cJSON *differences = hr__json_object(json, inner, "difference");
    for (unsigned m = 0; m < HR__N_GROUP_METRICS; m++) {
      struct hr_estimate estimate = hr__group_estimate(comparison, table, contender, place, (enum hr__group_metric)m);
      put_estimate(json, means, differences, hr__metric_name(&hr__group_metric_infos[m]), &estimate);
    }
  }
}

static void put_policy(struct hr__json *json, cJSON *policies, const struct hr_comparison *comparison,
                       uint32_t contender) {
  const struct hr_contender *self = &comparison->config.contenders[contender];
  cJSON *policy = hr__json_append(json, policies, cJSON_CreateObject());
  hr__json_text(json, policy, "name", self->name);
  hr__json_text(json, policy, "label", self->label);
  hr__json_text(json, policy, "policy", self->policy->ops->name);
  hr__json_params(json, hr__json_object(json, policy, "params"), self->policy);
  put_metrics(json, policy, comparison, contender);
  put_groups(json, policy, "by_class", comparison, &comparison->groups[HR__CLASSES], contender);
  put_groups(json, policy, "by_tenant", comparison, &comparison->groups[HR__TENANTS], contender);
  const struct hr_notes *notes[3];
  struct hr_run_label label = hr__run_label(comparison, contender, notes);
  hr__json_summary(json, hr__json_object(json, policy, "summary"), comparison->first_runs[contender].summary, &label);
}

static void put_head(struct hr__json *json, cJSON *root, const struct hr_comparison *comparison) {
  const struct hr_compare_config *config = &comparison->config;
  hr__json_text(json, root, "headroom", hr_version());
  hr__json_text(json, root, "scenario", config->scenario->name);
  cJSON *trace = hr__json_object(json, root, "trace");
  hr__json_text(json, trace, "file", config->trace->source);
  hr__json_text(json, trace, "format", config->trace->format);
  hr__json_bool(json, root, "random", !comparison->exact);
  hr__json_count(json, root, "replications", comparison->n_replications);
  hr__json_number(json, root, "confidence", 0.95);
  cJSON *seeds = hr__json_array(json, root, "seeds");
  for (uint32_t i = 0; i < comparison->n_replications; i++) hr__json_append_seed(json, seeds, comparison->seeds[i]);
}

static void put_perf(struct hr__json *json, cJSON *root, const struct hr_comparison *comparison,
                     const struct hr_perf *perf) {
  cJSON *inner = hr__json_object(json, root, "perf");
  hr__json_number(json, inner, "load_s", perf->load_s);
  hr__json_number(json, inner, "sim_s", perf->sim_s);
  hr__json_count(json, inner, "threads", comparison->config.n_threads);
  hr__json_number(json, inner, "peak_rss_mib", perf->peak_rss_mib);
  cJSON *seconds = hr__json_object(json, inner, "seconds");
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++)
    hr__json_number(json, seconds, comparison->config.contenders[i].label, comparison->seconds[i]);
}

static cJSON *make_tree(struct hr__json *json, const struct hr_comparison *comparison, const struct hr_perf *perf) {
  static const struct hr_perf nothing = {0};
  cJSON *root = cJSON_CreateObject();
  put_head(json, root, comparison);
  cJSON *policies = hr__json_array(json, root, "policies");
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++) put_policy(json, policies, comparison, i);
  hr__json_notes(json, hr__json_array(json, root, "notes"), &comparison->notes);
  put_perf(json, root, comparison, perf ? perf : &nothing);
  return root;
}

char *hr_comparison_json(const struct hr_comparison *comparison, const struct hr_perf *perf) {
  struct hr__json json = {false};
  cJSON *root = make_tree(&json, comparison, perf);
  return hr__json_print(&json, root);
}

enum hr_status hr_comparison_write_json(const char *path, const struct hr_comparison *comparison,
                                        const struct hr_perf *perf, struct hr_error *error) {
  struct hr__json json = {false};
  cJSON *root = make_tree(&json, comparison, perf);
  return hr__json_write(&json, root, path, error);
}
