/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a scenario for who changes it: what it says somewhere, and the catalogue that it goes by. */

#include "headroom/scenario.h"
#include "headroom/unstable/experiments.h"
#include "scenarios/build/builder.h"
#include "scenarios/build/pools.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum hr_status open_source(struct hr__builder *builder, struct hr_error *error) {
  enum hr_status status = hr__json_file_read(builder->source.path, &builder->source.file, error);
  return status == HR_OK ? hr__source_override(&builder->source, error) : status;
}

static const cJSON *step(const cJSON *value, const char *name) {
  if (cJSON_IsObject(value)) return cJSON_GetObjectItemCaseSensitive(value, name);
  bool is_number = name[0] && strspn(name, "0123456789") == strlen(name) && strlen(name) < 9;
  return cJSON_IsArray(value) && is_number ? cJSON_GetArrayItem(value, (int)strtol(name, NULL, 10)) : NULL;
}

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory");
}

/* The value at the path, as text. */
static enum hr_status print_part(const cJSON *tree, const char *key, char **json, struct hr_error *error) {
  const cJSON *value = tree;
  char *path = strdup(key), *rest;
  if (!path) return no_memory(error);
  for (char *name = strtok_r(path, ".", &rest); name && value; name = strtok_r(NULL, ".", &rest))
    value = step(value, name);
  free(path);
  if (!value) return HR_OK;
  *json = cJSON_PrintUnformatted(value);
  return *json ? HR_OK : no_memory(error);
}

enum hr_status hr_scenario_part(const char *path, const char *const *overrides, size_t n_overrides, const char *key,
                                char **json, struct hr_error *error) {
  struct hr__builder builder = {.source = {.path = path, .overrides = overrides, .n_overrides = n_overrides},
                                .error = error};
  *json = NULL;
  enum hr_status status = open_source(&builder, error);
  if (status == HR_OK) status = print_part(builder.source.file.tree, key, json, error);
  hr__json_file_finish(&builder.source.file);
  return status;
}

enum hr_status hr_scenario_catalog(const char *path, const char *const *overrides, size_t n_overrides,
                                   struct hr_catalog **catalog, struct hr_error *error) {
  struct hr_scenario scenario = {0}; /* takes the files down */
  struct hr__builder builder = {.source = {.path = path, .overrides = overrides, .n_overrides = n_overrides},
                                .scenario = &scenario,
                                .error = error};
  *catalog = NULL;
  enum hr_status status = open_source(&builder, error);
  if (status == HR_OK) status = hr__open_catalog(&builder);
  hr__json_file_finish(&builder.source.file);
  hr_notes_finish(&scenario.files);
  if (status == HR_OK)
    *catalog = builder.catalog;
  else
    hr_catalog_destroy(builder.catalog);
  return status;
}

/* A scenario's `replications`. Which figures there are is known above; their names are kept with their places. */

void hr_replication_spec_init(struct hr_replication_spec *spec) {
  *spec = (struct hr_replication_spec){.confidence = 0.95};
  hr_workload_spec_init(&spec->workload);
}

void hr_replication_spec_finish(struct hr_replication_spec *spec) {
  free(spec->metric.text);
  free(spec->metric.place);
}

static enum hr_status build_precision(struct hr__builder *builder, const cJSON *json,
                                      struct hr_replication_spec *spec) {
  const cJSON *metric = hr__build_enter(builder, json, "metric");
  enum hr_status status = hr__build_placed(builder, metric->valuestring, &spec->metric);
  hr__build_leave(builder);
  if (status != HR_OK) return status;
  if (hr__has(json, "count"))
    return hr__build_fail_at(builder, json, "count",
                             "replications have a 'count', or a 'metric' that is to be known so well, not both");
  if (!hr__has(json, "relative"))
    return hr__build_fail(builder, false, "'metric' wants 'relative', half the width of its interval as a share of it");
  spec->relative = hr__number_of(json, "relative", 0);
  spec->most = (uint32_t)hr__number_of(json, "max", HR_MOST_REPLICATIONS);
  spec->least = (uint32_t)hr__number_of(json, "min", HR_LEAST_REPLICATIONS);
  if (!hr__has(json, "min") && spec->least > spec->most) spec->least = spec->most;
  if (spec->least > spec->most)
    return hr__build_fail_at(builder, json, "min", "'min' is %u, more than 'max', which is %u", spec->least,
                             spec->most);
  return HR_OK;
}

static enum hr_status hr__build_replications(struct hr__builder *builder) {
  static const char *const words[] = {"none", "days", "weeks", NULL};
  struct hr_replication_spec *spec = &builder->scenario->replications;
  hr_replication_spec_init(spec);
  const cJSON *json = hr__build_enter(builder, builder->source.file.tree, "replications");
  if (!json) return HR_OK;
  spec->count = (uint32_t)hr__number_of(json, "count", 0);
  spec->confidence = hr__number_of(json, "confidence", spec->confidence);
  const cJSON *workload = cJSON_GetObjectItemCaseSensitive(json, "workload");
  spec->workload.blocks = (enum hr_blocks)hr__choice_of(workload, "resample", words, HR_BLOCKS_NONE);
  spec->workload.growth = hr__number_of(workload, "growth", 1);
  enum hr_status status = hr__has(json, "metric") ? build_precision(builder, json, spec) : HR_OK;
  if (status == HR_OK && !spec->metric.text && hr__has(json, "relative"))
    status = hr__build_fail_at(builder, json, "relative", "'relative' wants a 'metric', the figure that is meant");
  hr__build_leave(builder);
  return status;
}

/* What a scenario has, told from what was built. */

bool hr_scenario_has_prices(const struct hr_scenario *scenario) {
  const struct hr_cost_spec *costs = &scenario->costs;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++)
    if (scenario->cluster.pools[i].market.market != HR_MARKET_NONE) return true;
  return costs->storage.uusd_per_gb_month || costs->egress.uusd_per_gb || costs->operations.uusd_per_month ||
         costs->operations.uusd_per_node_month || costs->downtime.uusd_per_gpu_hour ||
         costs->downtime.uusd_per_missed_deadline || costs->n_plans;
}

static bool has_draws(const struct hr_spot_spec *spot) {
  switch (spot->model) {
  case HR_SPOT_ON_OFF:
  case HR_SPOT_BATHTUB:
    return true;
  case HR_SPOT_EXPONENTIAL:
  case HR_SPOT_ADVISOR:
    return spot->rate_per_h > 0;
  case HR_SPOT_NONE:
  case HR_SPOT_TRACE:
  case HR_N_SPOT_MODELS:
    return false;
  }
  return false;
}

bool hr_scenario_is_random(const struct hr_scenario *scenario) {
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    const struct hr_market_spec *market = &pool->market;
    if (pool->nodes == 0 || !hr_market_is_elastic(market->market)) continue;
    if (market->boot.kind != HR_DURATION_FIXED) return true;
    if (market->market == HR_MARKET_SPOT && has_draws(&market->spot)) return true;
  }
  return scenario->prices_drawn;
}

/* A scenario from its file: its head, trace and policy; the other parts have files of their own. */

/* ---- Trace ------------------------------------------------------------------------------------------ */

static enum hr_status build_format(struct hr__builder *builder, const cJSON *trace) {
  enum { MOST_FORMATS = 32 };
  const char *names[MOST_FORMATS + 1], *wanted = hr__text_of(trace, "format", "auto");
  const struct hr_trace_format *formats = hr_trace_formats();
  size_t count = 0;
  for (; formats[count].name && count < MOST_FORMATS; count++) names[count] = formats[count].name;
  names[count] = NULL;
  if (hr_trace_format_find(wanted))
    return (builder->scenario->trace_format = strdup(wanted)) ? HR_OK : hr__build_no_memory(builder);
  char text[500];
  const char *nearest = hr_nearest_word(wanted, names);
  int used = snprintf(text, sizeof text, "unknown trace format '%.60s'; ", wanted);
  if (nearest) used += snprintf(text + used, sizeof text - (size_t)used, "did you mean '%s'? ", nearest);
  used += snprintf(text + used, sizeof text - (size_t)used, "(known:");
  for (size_t i = 0; i < count; i++)
    used += snprintf(text + used, sizeof text - (size_t)used, "%s %.20s", i ? "," : "", names[i]);
  snprintf(text + used, sizeof text - (size_t)used, ")");
  (void)hr__build_enter(builder, trace, "format");
  return hr__build_fail(builder, false, "%s", text);
}

static enum hr_status build_columns(struct hr__builder *builder, const cJSON *trace) {
  const cJSON *columns = hr__build_enter(builder, trace, "columns");
  if (!columns) return HR_OK;
  uint32_t ordinal = 0;
  for (const cJSON *member = columns->child; member; member = member->next) {
    struct hr_error inner;
    hr__place_enter(&builder->place, ordinal++, member->string);
    enum hr_status status = hr_column_map_add(&builder->scenario->columns, member->string, member->valuestring, &inner);
    if (status == HR_BAD_INPUT) return hr__build_fail(builder, true, "%s", inner.text);
    if (status != HR_OK) return hr__build_no_memory(builder);
    hr__build_leave(builder);
  }
  hr__build_leave(builder);
  return HR_OK;
}

static enum hr_status build_trace(struct hr__builder *builder) {
  const cJSON *trace = hr__build_enter(builder, builder->source.file.tree, "trace");
  const char *file = hr__text_of(trace, "file", NULL);
  builder->scenario->lenient = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(trace, "lenient"));
  if (file) {
    builder->scenario->trace_file = hr__resolve(builder, file);
    if (!builder->scenario->trace_file) return hr__build_no_memory(builder);
  }
  enum hr_status status = build_format(builder, trace);
  if (status == HR_OK) status = build_columns(builder, trace);
  if (trace) hr__build_leave(builder);
  return status;
}

/* ---- Policy ----------------------------------------------------------------------------------------- */

static enum hr_status unknown_param(struct hr__builder *builder, const char *key) {
  const struct hr_policy_choice *choice = &builder->scenario->policy;
  const char **known = calloc(choice->n_params + 2, sizeof(*known));
  if (!known) return hr__build_no_memory(builder);
  known[0] = "name";
  for (size_t i = 0; i < choice->n_params; i++) known[i + 1] = choice->ops->params[i].key;
  char text[700];
  hr__key_unknown("policy", key, known, text, sizeof text);
  free(known);
  return hr__build_fail(builder, true, "%s", text);
}

static enum hr_status set_param(struct hr__builder *builder, const cJSON *member) {
  struct hr_policy_choice *choice = &builder->scenario->policy;
  struct hr_error inner;
  char buffer[32];
  bool known = false;
  for (size_t i = 0; i < choice->n_params; i++)
    known = known || strcmp(choice->ops->params[i].key, member->string) == 0;
  if (!known) return unknown_param(builder, member->string);
  enum hr_status status = hr_policy_choice_set(choice, member->string, hr__scalar_text(member, buffer), &inner);
  if (status == HR_BAD_INPUT) return hr__build_fail(builder, false, "%s", inner.text);
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

static enum hr_status build_policy(struct hr__builder *builder) {
  const cJSON *policy = hr__build_enter(builder, builder->source.file.tree, "policy");
  const cJSON *name = hr__build_enter(builder, policy, "name");
  struct hr_error inner;
  char *path = strchr(name->valuestring, '/') ? hr__resolve(builder, name->valuestring) : strdup(name->valuestring);
  if (!path) return hr__build_no_memory(builder);
  enum hr_status status = hr_policy_choice_init(&builder->scenario->policy, path, &inner);
  free(path);
  if (status == HR_BAD_INPUT) return hr__build_fail(builder, false, "%s", inner.text);
  if (status != HR_OK) return hr__build_no_memory(builder);
  hr__build_leave(builder);
  uint32_t ordinal = 0;
  for (const cJSON *member = policy->child; member && status == HR_OK; member = member->next) {
    hr__place_enter(&builder->place, ordinal++, member->string);
    if (member != name) status = set_param(builder, member);
    if (status == HR_OK) hr__build_leave(builder);
  }
  if (status == HR_OK) hr__build_leave(builder);
  return status;
}

/* Jobs on nodes that come and go must be on known nodes; a count of a pool's GPUs knows none. */
static enum hr_status check_placement(struct hr__builder *builder) {
  const cJSON *policy = hr__build_enter(builder, builder->source.file.tree, "policy");
  const cJSON *placement = cJSON_GetObjectItemCaseSensitive(policy, "placement");
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  bool is_built_in = !builder->scenario->policy.library;
  bool by_count = is_built_in && cJSON_IsString(placement) && strcmp(placement->valuestring, "pool") == 0;
  for (uint32_t i = 0; by_count && i < cluster->n_pools; i++) {
    const struct hr_market_spec *market = &cluster->pools[i].market;
    bool is_bounded = market->from_us > 0 || market->to_us != HR_NEVER_US;
    if (cluster->pools[i].nodes == 0 || (!hr_market_is_elastic(market->market) && !is_bounded)) continue;
    return hr__build_fail_at(builder, policy, "placement",
                             "the placement 'pool' counts GPUs, but the nodes of pool '%.60s' (%s) come and go; "
                             "first-fit, best-fit or worst-fit is wanted",
                             cluster->pools[i].name, hr_market_name(market->market));
  }
  hr__build_leave(builder);
  return HR_OK;
}

/* What is guaranteed is for quotas to say. */
static enum hr_status doubt_reclaim(struct hr__builder *builder) {
  struct hr_scenario *scenario = builder->scenario;
  const struct hr_policy_choice *policy = &scenario->policy;
  char buffer[32];
  for (size_t i = 0; i < policy->n_params && !policy->library && !scenario->quotas; i++) {
    if (strcmp(policy->ops->params[i].key, "preemption") != 0) continue;
    if (strcmp(hr_policy_choice_text(policy, i, buffer), "reclaim") != 0) continue;
    if (hr_notes_add(&scenario->notes, "warning: the preemption 'reclaim' stops nobody without 'quotas' that guarantee "
                                       "something") != HR_OK)
      return hr__build_no_memory(builder);
  }
  return HR_OK;
}

/* ---- The rest --------------------------------------------------------------------------------------- */

/* "demo" for "scenarios/demo.json". */
static char *stem(const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  const char *dot = strrchr(base, '.');
  return dot && dot != base ? strndup(base, (size_t)(dot - base)) : strdup(base);
}

static enum hr_status build_head(struct hr__builder *builder) {
  const cJSON *tree = builder->source.file.tree;
  struct hr_scenario *scenario = builder->scenario;
  const char *name = hr__text_of(tree, "name", NULL);
  scenario->path = strdup(builder->source.path);
  scenario->name = name ? strdup(name) : stem(builder->source.path);
  scenario->description = strdup(hr__text_of(tree, "description", ""));
  if (!scenario->path || !scenario->name || !scenario->description) return hr__build_no_memory(builder);
  const cJSON *seed = cJSON_GetObjectItemCaseSensitive(tree, "seed");
  scenario->seed = 1;
  if (seed)
    scenario->seed = cJSON_IsString(seed) ? strtoumax(seed->valuestring, NULL, 10) : (uint64_t)seed->valuedouble;
  double horizon_s = hr__number_of(tree, "horizon_s", 0);
  scenario->horizon_us = horizon_s > 0 ? (int64_t)llround(horizon_s * (double)HR_SECOND_US) : HR_NEVER_US;
  return HR_OK;
}

static enum hr_status build(struct hr__builder *builder) {
  enum hr_status status = hr__source_override(&builder->source, builder->error);
  if (status == HR_OK)
    status = hr__source_validate(&builder->source, hr__scenario_keys(), "the scenario", builder->error);
  if (status == HR_OK) status = build_head(builder);
  if (status == HR_OK) status = build_trace(builder);
  if (status == HR_OK) status = build_policy(builder);
  if (status == HR_OK) status = hr__build_cluster(builder);
  if (status == HR_OK) status = check_placement(builder);
  if (status == HR_OK) status = hr__build_classes(builder);
  if (status == HR_OK) status = hr__build_models(builder);
  if (status == HR_OK) status = hr__build_network_speeds(builder);
  if (status == HR_OK) status = hr__build_costs(builder);
  if (status == HR_OK) status = hr__build_quotas(builder);
  if (status == HR_OK) status = hr__build_alerts(builder);
  if (status == HR_OK) status = hr__build_replications(builder);
  if (status == HR_OK) status = hr__build_plan(builder);
  return status == HR_OK ? doubt_reclaim(builder) : status;
}

enum hr_status hr_scenario_load(const char *path, const char *const *overrides, size_t n_overrides,
                                struct hr_scenario **scenario, struct hr_error *error) {
  struct hr__builder builder = {.source = {.path = path, .overrides = overrides, .n_overrides = n_overrides},
                                .error = error};
  *scenario = NULL;
  enum hr_status status = hr__json_file_read(path, &builder.source.file, error);
  if (status != HR_OK) return status;
  builder.scenario = calloc(1, sizeof *builder.scenario);
  status = builder.scenario ? build(&builder) : hr__build_no_memory(&builder);
  hr_catalog_destroy(builder.catalog);
  hr__json_file_finish(&builder.source.file);
  if (status == HR_OK)
    *scenario = builder.scenario;
  else
    hr_scenario_destroy(builder.scenario);
  return status;
}

void hr_scenario_destroy(struct hr_scenario *scenario) {
  if (!scenario) return;
  free(scenario->path);
  free(scenario->name);
  free(scenario->description);
  free(scenario->trace_file);
  free(scenario->trace_format);
  hr_column_map_finish(&scenario->columns);
  for (uint32_t i = 0; scenario->pool_sources && i < scenario->cluster.n_pools; i++)
    hr__pool_source_finish(&scenario->pool_sources[i]);
  free(scenario->pool_sources);
  hr_cluster_spec_finish(&scenario->cluster);
  hr_speeds_destroy(scenario->speeds);
  hr_network_speeds_destroy(scenario->network_speeds);
  hr_cost_spec_finish(&scenario->costs);
  hr_quota_spec_destroy(scenario->quotas);
  hr_policy_choice_finish(&scenario->policy);
  hr_replication_spec_finish(&scenario->replications);
  hr_plan_spec_destroy(scenario->plan);
  hr_notes_finish(&scenario->notes);
  hr_notes_finish(&scenario->files);
  free(scenario);
}
