/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Advice as JSON (docs/reference/schemas/advise.schema.json). */

#include "plan/advising.h"

#include <stdio.h>

struct writer {
  struct hr__json json;
  const struct hr_advice *advice;
};

/* ---- Figures ---------------------------------------------------------------------------------------- */

static void put_known(struct writer *writer, cJSON *object, const char *key, double value) {
  hr__json_number_if(&writer->json, object, key, isfinite(value), value);
}

static void put_pair(struct writer *writer, cJSON *object, uint32_t mix, size_t figure) {
  const struct hr_advice *advice = writer->advice;
  struct hr_advice_figure pair = hr__advice_figure(advice, mix, figure, advice->n_replications);
  cJSON *inner = hr__json_object(&writer->json, object, hr__measure_infos[advice->figures[figure].measure].path);
  put_known(writer, inner, "before", pair.before);
  put_known(writer, inner, "after", pair.after);
}

static void put_group(struct writer *writer, cJSON *object, uint32_t mix, size_t first) {
  for (size_t i = 0; i < HR__A_GROUP_FIGURES; i++) put_pair(writer, object, mix, first + i);
}

/* Those that use what would be changed, and what becomes of all that they do. */
static void put_tenants(struct writer *writer, cJSON *object, const struct hr__proposal *proposal) {
  const struct hr_advice *advice = writer->advice;
  cJSON *list = hr__json_array(&writer->json, object, "tenants");
  for (uint32_t i = 0; i < advice->look.n_tenants; i++) {
    double gpu_hours = hr__look_tenant_hours(&advice->look, i, proposal->class_, proposal->pool);
    if (gpu_hours <= 0) continue;
    cJSON *inner = hr__json_append(&writer->json, list, cJSON_CreateObject());
    hr__json_text(&writer->json, inner, "tenant", advice->config.trace->tenants.text[i]);
    hr__json_number(&writer->json, inner, "gpu_hours", gpu_hours);
    put_group(writer, inner, proposal->mix, advice->tenant_at[i]);
  }
}

/* ---- Items ------------------------------------------------------------------------------------------ */

static void put_item(struct writer *writer, cJSON *list, size_t place) {
  struct hr__json *json = &writer->json;
  const struct hr_advice *advice = writer->advice;
  const struct hr__proposal *proposal = &advice->proposals[place];
  struct hr_advice_item item;
  hr_advice_item(advice, place, &item);
  cJSON *inner = hr__json_append(json, list, cJSON_CreateObject());
  hr__json_text(json, inner, "kind", hr_advice_kind_name(item.kind));
  hr__json_text(json, inner, "tenant", item.tenant);
  hr__json_text(json, inner, "class", item.class_);
  hr__json_text(json, inner, "pool", item.pool);
  char change[sizeof proposal->from + sizeof proposal->to + 4];
  snprintf(change, sizeof change, "%s -> %s", item.from, item.to);
  hr__json_text(json, inner, "change", change);
  cJSON *set = hr__json_array(json, inner, "set");
  for (size_t i = 0; i < item.n_set; i++) hr__json_append(json, set, cJSON_CreateString(item.set[i]));
  cJSON *usd = hr__json_object(json, inner, "monthly_usd");
  put_known(writer, usd, "mean", item.monthly_usd.mean);
  put_known(writer, usd, "low", item.monthly_usd.low);
  put_known(writer, usd, "high", item.monthly_usd.high);
  cJSON *metrics = hr__json_object(json, inner, "metrics");
  put_group(writer, metrics, proposal->mix, hr__group_figure(advice, proposal->class_, 0));
  put_pair(writer, metrics, proposal->mix, HR__A_LOST);
  put_tenants(writer, inner, proposal);
  hr__json_notes(json, hr__json_array(json, inner, "assumed"), item.assumed);
  if (item.reason) hr__json_text(json, inner, "reason", item.reason);
}

static void put_items(struct writer *writer, cJSON *root, const char *key, bool advised) {
  cJSON *list = hr__json_array(&writer->json, root, key);
  for (size_t i = 0; i < writer->advice->n_proposals; i++)
    if (writer->advice->proposals[i].advised == advised) put_item(writer, list, i);
}

/* ---- The whole -------------------------------------------------------------------------------------- */

static void put_base(struct writer *writer, cJSON *root) {
  const struct hr_advice *advice = writer->advice;
  cJSON *base = hr__json_object(&writer->json, root, "base");
  for (size_t i = 0; i < HR__A_GROUPS + HR__A_GROUP_FIGURES; i++) {
    const struct hr__measure_info *info = &hr__measure_infos[advice->figures[i].measure];
    if (i == HR__A_GROUPS + HR__A_GROUP_COST) continue;
    put_known(writer, base, info->path, hr__advice_figure(advice, advice->base, i, advice->n_replications).before);
  }
}

static void put_uses(struct writer *writer, cJSON *root) {
  const struct hr_advice *advice = writer->advice;
  struct hr__json *json = &writer->json;
  cJSON *list = hr__json_array(json, root, "uses");
  for (uint32_t pool = 0; pool < advice->look.n_pools; pool++) {
    for (uint32_t class_ = 0; class_ < HR_N_CLASSES; class_++) {
      double gpu_hours = hr__look_gpu_hours(&advice->look, class_, pool);
      if (gpu_hours <= 0) continue;
      cJSON *inner = hr__json_append(json, list, cJSON_CreateObject());
      hr__json_text(json, inner, "pool", hr__advice_pool(advice, pool)->name);
      hr__json_text(json, inner, "class", class_ ? hr_job_class_name((enum hr_job_class)class_) : NULL);
      hr__json_number(json, inner, "gpu_hours", gpu_hours);
      hr__json_number(json, inner, "pool_utilization", hr__look_utilization(&advice->look, pool));
    }
  }
}

static void put_head(struct writer *writer, cJSON *root) {
  struct hr__json *json = &writer->json;
  const struct hr_advise_config *config = &writer->advice->config;
  hr__json_text(json, root, "headroom", hr_version());
  hr__json_text(json, root, "scenario", config->scenario->name);
  cJSON *trace = hr__json_object(json, root, "trace");
  hr__json_text(json, trace, "file", config->trace->source);
  hr__json_text(json, trace, "format", config->trace->format);
  hr__json_seed(json, root, "seed", config->scenario->seed);
  hr__json_number(json, root, "confidence", config->scenario->replications.confidence);
  hr__json_count(json, root, "replications", writer->advice->n_replications);
}

enum hr_status hr_advice_write_json(const char *path, const struct hr_advice *advice, const struct hr_perf *perf,
                                    struct hr_error *error) {
  static const struct hr_perf nothing = {0};
  struct writer writer = {.advice = advice};
  struct hr__json *json = &writer.json;
  cJSON *root = cJSON_CreateObject();
  if (!perf) perf = &nothing;
  put_head(&writer, root);
  put_base(&writer, root);
  put_uses(&writer, root);
  put_items(&writer, root, "advice", true);
  put_items(&writer, root, "rejected", false);
  hr__json_count(json, root, "runs", hr__lab_runs(advice->lab));
  cJSON *notes = hr__json_array(json, root, "notes");
  hr__json_notes(json, notes, &advice->config.scenario->notes);
  hr__json_notes(json, notes, &advice->config.trace->notes);
  hr__json_notes(json, notes, &advice->notes);
  cJSON *inner = hr__json_object(json, root, "perf");
  hr__json_number(json, inner, "load_s", perf->load_s);
  hr__json_number(json, inner, "sim_s", perf->sim_s);
  hr__json_count(json, inner, "threads", advice->config.n_threads);
  hr__json_number(json, inner, "peak_rss_mib", perf->peak_rss_mib);
  return hr__json_write(json, root, path, error);
}
