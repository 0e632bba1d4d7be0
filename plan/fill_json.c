/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fill as JSON (docs/researcher/fill.md). */

#include "plan/filling.h"
#include "report/json_tree.h"

#include <math.h>

static void put_mean(struct hr__json *json, cJSON *object, const char *key, double value, double margin) {
  cJSON *inner = hr__json_object(json, object, key);
  hr__json_number(json, inner, "mean", value);
  hr__json_number_if(json, inner, "margin", !isnan(margin), margin);
}

static void put_policy(struct hr__json *json, cJSON *policies, const struct hr_fill *fill, uint32_t rule) {
  cJSON *policy = hr__json_append(json, policies, cJSON_CreateObject());
  hr__json_text(json, policy, "name", fill->config.rules[rule]->name);
  cJSON *rows = hr__json_array(json, policy, "arrived");
  for (uint32_t pct = 1; pct <= fill->input.last; pct++) {
    struct hr_fill_mean mean = hr_fill_mean_at(fill, rule, pct);
    cJSON *row = hr__json_append(json, rows, cJSON_CreateObject());
    hr__json_count(json, row, "pct", pct);
    put_mean(json, row, "alloc_pct", mean.alloc_pct, mean.alloc_margin);
    put_mean(json, row, "frag_pct", mean.frag_pct, mean.frag_margin);
    put_mean(json, row, "failed", mean.failed, mean.failed_margin);
  }
}

static void put_head(struct hr__json *json, cJSON *root, const struct hr_fill *fill) {
  const struct hr_fill_config *config = &fill->config;
  hr__json_text(json, root, "headroom", hr_version());
  hr__json_text(json, root, "scenario", config->scenario->name);
  cJSON *trace = hr__json_object(json, root, "trace");
  hr__json_text(json, trace, "file", config->trace->source);
  hr__json_text(json, trace, "format", config->trace->format);
  hr__json_number(json, root, "gpus", (double)fill->input.capacity_milli / HR_WHOLE_GPU_MILLI);
  hr__json_number(json, root, "to", config->to);
  hr__json_number(json, root, "confidence", 0.95);
  cJSON *seeds = hr__json_array(json, root, "seeds");
  for (uint32_t i = 0; i < config->n_seeds; i++) hr__json_append_seed(json, seeds, hr_fill_seed(fill, i));
}

static void put_perf(struct hr__json *json, cJSON *root, const struct hr_fill *fill, const struct hr_perf *perf) {
  cJSON *inner = hr__json_object(json, root, "perf");
  hr__json_number(json, inner, "load_s", perf->load_s);
  hr__json_number(json, inner, "sim_s", perf->sim_s);
  hr__json_count(json, inner, "threads", fill->config.n_threads);
  hr__json_number(json, inner, "peak_rss_mib", perf->peak_rss_mib);
  cJSON *seconds = hr__json_object(json, inner, "seconds");
  for (uint32_t i = 0; i < fill->config.n_rules; i++)
    hr__json_number(json, seconds, fill->config.rules[i]->name, fill->seconds[i]);
}

enum hr_status hr_fill_write_json(const char *path, const struct hr_fill *fill, const struct hr_perf *perf,
                                  struct hr_error *error) {
  static const struct hr_perf nothing = {0};
  struct hr__json json = {false};
  cJSON *root = cJSON_CreateObject();
  put_head(&json, root, fill);
  cJSON *policies = hr__json_array(&json, root, "policies");
  for (uint32_t i = 0; i < fill->config.n_rules; i++) put_policy(&json, policies, fill, i);
  put_perf(&json, root, fill, perf ? perf : &nothing);
  return hr__json_write(&json, root, path, error);
}
