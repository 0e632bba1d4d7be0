/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loads a scenario: reads the file, applies overrides, checks the keys and builds the sections in a fixed order. The
 * sections `trace`, `policy`, `replications` and `alerts` are built here. Larger sections are built in files of their
 * own. A section may use earlier sections; for example, `classes` and `costs` use the pools of `cluster`.
 *
 * This file also contains functions that read single values of a scenario file or its catalogue, that return
 * properties of a loaded scenario, and that convert a policy in one word ("queue:order=sjf") to overrides.
 */

#include "headroom/scenario.h"
#include "headroom/unstable/experiments.h"
#include "scenarios/build/builder.h"
#include "scenarios/build/pools.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true if the file is probably a trace: its name has the suffix of a trace, or its first line has commas
   like a CSV file. */
static bool looks_like_trace(const char *path) {
  static const char *const endings[] = {".csv", ".csv.gz", ".csv.zst", ".swf", ".swf.gz", ".hrt"};
  size_t length = strlen(path);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (length > strlen(endings[i]) && strcmp(path + length - strlen(endings[i]), endings[i]) == 0) return true;
  char line[200] = "";
  struct stat info;
  FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
  if (!file) return false;
  bool has_line = fgets(line, sizeof line, file) != NULL;
  fclose(file);
  const char *comma = strchr(line, ',');
  return has_line && !strpbrk(line, "{[\"") && comma && strchr(comma + 1, ',');
}

static bool has_key(const cJSON *tree, const char *name) {
  return cJSON_IsObject(tree) && hr__has(tree, name);
}

/* Reads the file. If it is a trace, a grid or a suite and not a scenario, the error says so. */
static enum hr_status read_source(struct hr__source *source, struct hr_error *error) {
  const char *path = source->path;
  if (access(path, F_OK) != 0 && errno == ENOENT)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: cannot be read: No such file or directory; 'headroom list scenarios' shows those that ship",
                   path);
  enum hr_status status = hr__json_file_read(path, &source->file, error);
  if (status == HR_BAD_INPUT && looks_like_trace(path))
    return hr_fail(error, HR_BAD_INPUT, "%s: looks like a trace: give a scenario, and this file with --trace", path);
  if (status != HR_OK || has_key(source->file.tree, "cluster")) return status;
  if (has_key(source->file.tree, "axes"))
    return hr_fail(error, HR_BAD_INPUT, "%s: is the grid of a sweep, not a scenario; 'headroom sweep' reads it", path);
  if (has_key(source->file.tree, "runs"))
    return hr_fail(error, HR_BAD_INPUT, "%s: is a suite of runs, not a scenario; 'headroom check' reads it", path);
  return HR_OK;
}

static enum hr_status open_source(struct hr__builder *builder, struct hr_error *error) {
  enum hr_status status = read_source(&builder->source, error);
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

/* Sets `*json` to the value at the path `key`, as JSON text. `*json` is not changed if no such value exists. The
   caller frees it. */
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
  struct hr_scenario scenario = {0}; /* temporary: the builder lists the files of the catalogue in it */
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

/* ---- Replications ----------------------------------------------------------------------------------- */

/* Only report/ knows the metrics. The name of the metric is therefore stored with its place and checked later. */

/* Sets the defaults: confidence 0.95, and each replication runs the trace as it was recorded. */
static void init_replications(struct hr_replication_spec *spec) {
  *spec = (struct hr_replication_spec){.confidence = 0.95};
  hr_workload_spec_init(&spec->workload);
}

static enum hr_status build_precision(struct hr__builder *builder, const cJSON *json,
                                      struct hr_replication_spec *spec) {
  const cJSON *metric = hr__build_enter(builder, json, "metric");
  enum hr_status status = hr__build_placed(builder, metric->valuestring, &spec->metric);
  hr__build_leave(builder);
  if (status != HR_OK) return status;
  if (hr__has(json, "count"))
    return hr__build_fail_at(builder, json, "count", "'replications' has both 'count' and 'metric'; keep one");
  if (!hr__has(json, "relative"))
    return hr__build_fail(builder, false,
                          "'metric' needs 'relative', the half width of its confidence interval as a share of it");
  spec->relative = hr__number_of(json, "relative", 0);
  spec->max = (uint32_t)hr__number_of(json, "max", HR_DEFAULT_MAX_REPLICATIONS);
  spec->min = (uint32_t)hr__number_of(json, "min", HR_DEFAULT_MIN_REPLICATIONS);
  if (!hr__has(json, "min") && spec->min > spec->max) spec->min = spec->max;
  if (spec->min > spec->max)
    return hr__build_fail_at(builder, json, "min", "'min' (%u) is larger than 'max' (%u)", spec->min, spec->max);
  return HR_OK;
}

static enum hr_status build_replications(struct hr__builder *builder) {
  static const char *const words[] = {"none", "days", "weeks", NULL};
  struct hr_replication_spec *spec = &builder->scenario->replications;
  init_replications(spec);
  const cJSON *json = hr__build_enter(builder, builder->source.file.tree, "replications");
  if (!json) return HR_OK;
  spec->count = (uint32_t)hr__number_of(json, "count", 0);
  spec->confidence = hr__number_of(json, "confidence", spec->confidence);
  const cJSON *workload = cJSON_GetObjectItemCaseSensitive(json, "workload");
  spec->workload.blocks = (enum hr_blocks)hr__choice_of(workload, "resample", words, HR_BLOCKS_NONE);
  spec->workload.growth = hr__number_of(workload, "growth", 1);
  enum hr_status status = hr__has(json, "metric") ? build_precision(builder, json, spec) : HR_OK;
  if (status == HR_OK && !spec->metric.text && hr__has(json, "relative"))
    status = hr__build_fail_at(builder, json, "relative", "'relative' needs 'metric', the metric to which it applies");
  hr__build_leave(builder);
  return status;
}

/* ---- Alerts ---- */

static const char *const alert_keys[HR_N_ALERTS] = {
#define ALERT_KEY(name, text, key) key,
    HR_ALERT_TABLE(ALERT_KEY)
#undef ALERT_KEY
};

/* Reads the wait times above which an alert is reported. `above_s` applies to all classes. In `classes`, a listed
   class has its own limit, and "default" applies to classes that are not listed. */
static enum hr_status build_waits(struct hr__builder *builder, const cJSON *rule, struct hr_alert_rules *rules) {
  const cJSON *classes = hr__build_enter(builder, rule, "classes");
  bool named[HR_N_CLASSES] = {false};
  uint32_t ordinal = 0;
  for (unsigned i = 0; i < HR_N_CLASSES; i++) rules->waiting_us[i] = hr__span_of(rule, "above_s", rules->waiting_us[i]);
  if (!classes) return HR_OK;
  for (const cJSON *member = classes->child; member; member = member->next) {
    unsigned class_ = hr__class_of(member->string);
    hr__place_enter(&builder->place, ordinal++, member->string);
    if (class_ == HR_CLASS_UNKNOWN) return hr__unknown_class(builder, member->string);
    if (class_ < HR_N_CLASSES) named[class_] = true;
    if (class_ < HR_N_CLASSES) rules->waiting_us[class_] = hr__span_of(classes, member->string, 0);
    hr__build_leave(builder);
  }
  for (unsigned i = 0; i < HR_N_CLASSES; i++)
    if (!named[i]) rules->waiting_us[i] = hr__span_of(classes, hr__default_key, rules->waiting_us[i]);
  hr__build_leave(builder);
  return HR_OK;
}

static const cJSON *rule_of(const cJSON *alerts, enum hr_alert_rule rule) {
  return cJSON_GetObjectItemCaseSensitive(alerts, alert_keys[rule]);
}

static void build_figures(const cJSON *alerts, struct hr_alert_rules *rules) {
  const cJSON *underused = rule_of(alerts, HR_ALERT_UNDERUSED), *saturated = rule_of(alerts, HR_ALERT_SATURATED);
  const cJSON *reclaims = rule_of(alerts, HR_ALERT_RECLAIMS);
  rules->underused_below = hr__number_of(underused, "below", rules->underused_below);
  rules->underused_for_us = hr__span_of(underused, "for_s", rules->underused_for_us);
  rules->saturated_above = hr__number_of(saturated, "above", rules->saturated_above);
  rules->saturated_for_us = hr__span_of(saturated, "for_s", rules->saturated_for_us);
  rules->reclaims_above = hr__number_of(reclaims, "above", rules->reclaims_above);
  rules->reclaims_within_us = hr__span_of(reclaims, "within_s", rules->reclaims_within_us);
  rules->unsaved_us = hr__span_of(rule_of(alerts, HR_ALERT_UNSAVED), "for_s", rules->unsaved_us);
  rules->budget_above = hr__number_of(rule_of(alerts, HR_ALERT_BUDGET), "above", rules->budget_above);
}

static enum hr_status build_alerts(struct hr__builder *builder) {
  struct hr_alert_rules *rules = &builder->scenario->alerts;
  hr_alert_rules_init(rules);
  const cJSON *alerts = hr__build_enter(builder, builder->source.file.tree, "alerts");
  if (!alerts) return HR_OK;
  build_figures(alerts, rules);
  for (unsigned i = 0; i < HR_N_ALERTS; i++) {
    const cJSON *on = cJSON_GetObjectItemCaseSensitive(rule_of(alerts, (enum hr_alert_rule)i), "on");
    rules->is_off[i] = on && cJSON_IsFalse(on);
  }
  const cJSON *waits = hr__build_enter(builder, alerts, alert_keys[HR_ALERT_WAITING]);
  enum hr_status status = waits ? build_waits(builder, waits, rules) : HR_OK;
  if (status == HR_OK && waits) hr__build_leave(builder);
  if (status == HR_OK) hr__build_leave(builder);
  return status;
}

/* ---- Properties ------------------------------------------------------------------------------------- */

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

/* ---- Trace ------------------------------------------------------------------------------------------ */

static enum hr_status build_format(struct hr__builder *builder, const cJSON *trace) {
  enum { MAX_FORMATS = 32 };
  const char *names[MAX_FORMATS + 1], *wanted = hr__text_of(trace, "format", "auto");
  const struct hr_trace_format *formats = hr_trace_formats();
  size_t count = 0;
  for (; formats[count].name && count < MAX_FORMATS; count++) names[count] = formats[count].name;
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

/* Adds a note that a value of `market` selected another policy than the one that the user named. */
static enum hr_status note_other_policy(struct hr__builder *builder, const char *key) {
  struct hr_placed_text old = {0};
  enum hr_status status = hr__build_placed(builder, "", &old);
  if (status == HR_OK)
    status = hr_notes_add(&builder->scenario->notes,
                          "%sthis value of '%s' belongs to the policy '%s' now; the old name still works", old.place,
                          key, builder->scenario->policy.ops->name);
  free(old.text);
  free(old.place);
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

static enum hr_status set_param(struct hr__builder *builder, const cJSON *member) {
  struct hr_policy_choice *choice = &builder->scenario->policy;
  const struct hr_policy_ops *ops = choice->ops;
  struct hr_error inner;
  char buffer[32];
  if (!hr_policy_choice_has(choice, member->string)) return unknown_param(builder, member->string);
  enum hr_status status = hr_policy_choice_set(choice, member->string, hr__scalar_text(member, buffer), &inner);
  if (status == HR_BAD_INPUT) return hr__build_fail(builder, false, "%s", inner.text);
  if (status != HR_OK) return hr__build_no_memory(builder);
  return choice->ops == ops ? HR_OK : note_other_policy(builder, member->string);
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

/* Checks that the placement 'pool' is used with fixed nodes only. This placement counts the GPUs of a pool and not
   those of its nodes. In elastic or time-bounded pools, the node of each job must be known, because nodes are added
   and removed. */
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
                             "use first-fit, best-fit or worst-fit",
                             cluster->pools[i].name, hr_market_name(market->market));
  }
  hr__build_leave(builder);
  return HR_OK;
}

/* Adds a warning if preemption 'reclaim' is used without quotas. It would have no effect, because only quotas
   guarantee GPUs. */
static enum hr_status warn_reclaim(struct hr__builder *builder) {
  struct hr_scenario *scenario = builder->scenario;
  const struct hr_policy_choice *policy = &scenario->policy;
  char buffer[32];
  for (size_t i = 0; i < policy->n_params && !policy->library && !scenario->quotas; i++) {
    if (strcmp(policy->ops->params[i].key, "preemption") != 0) continue;
    if (strcmp(hr_policy_choice_text(policy, i, buffer), "reclaim") != 0) continue;
    if (hr_notes_add(&scenario->notes, "warning: preemption 'reclaim' has no effect: no 'quotas' guarantee GPUs") !=
        HR_OK)
      return hr__build_no_memory(builder);
  }
  return HR_OK;
}

/* ---- Loading ---------------------------------------------------------------------------------------- */

/* Returns the name of a file without folder and suffix: "demo" for "scenarios/demo.json". The caller frees it. */
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
    status = hr__source_validate(&builder->source, hr__scenario_keys, "the scenario", builder->error);
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
  if (status == HR_OK) status = build_alerts(builder);
  if (status == HR_OK) status = build_replications(builder);
  if (status == HR_OK) status = hr__build_plan(builder);
  return status == HR_OK ? warn_reclaim(builder) : status;
}

enum hr_status hr_scenario_load(const char *path, const char *const *overrides, size_t n_overrides,
                                struct hr_scenario **scenario, struct hr_error *error) {
  struct hr__builder builder = {.source = {.path = path, .overrides = overrides, .n_overrides = n_overrides},
                                .error = error};
  *scenario = NULL;
  enum hr_status status = read_source(&builder.source, error);
  if (status != HR_OK) {
    hr__json_file_finish(&builder.source.file);
    return status;
  }
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
  free(scenario->replications.metric.text);
  free(scenario->replications.metric.place);
  hr_plan_spec_destroy(scenario->plan);
  hr_notes_finish(&scenario->notes);
  hr_notes_finish(&scenario->files);
  free(scenario);
}

/* ---- Policies as one word ------------------------------------------------------------------------------- */

struct override_list {
  char **at;
  size_t count;
};

static enum hr_status add(struct override_list *list, const char *key, const char *value, struct hr_error *error) {
  char **grown = realloc(list->at, (list->count + 1) * sizeof *grown);
  if (grown) list->at = grown;
  size_t bytes = sizeof "policy.=" + strlen(key) + strlen(value);
  char *text = grown ? malloc(bytes) : NULL;
  if (!text) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  snprintf(text, bytes, "policy.%s=%s", key, value);
  grown[list->count++] = text;
  return HR_OK;
}

static bool is_set(const struct override_list *list, const char *key) {
  static const char head[] = "policy.";
  size_t length = strlen(key);
  for (size_t i = 0; i < list->count; i++) {
    const char *has = list->at[i] + sizeof head - 1;
    if (strncmp(has, key, length) == 0 && has[length] == '=') return true;
  }
  return false;
}

/* Checks "key=value" against the parameters of the policy and adds it to the list of overrides. */
static enum hr_status add_param(struct override_list *list, struct hr_policy_choice *choice, char *pair,
                                struct hr_error *error) {
  char *value = strchr(pair, '=');
  if (!value) return hr_fail(error, HR_BAD_INPUT, "'%.60s': key=value expected", pair);
  *value++ = '\0';
  enum hr_status status = hr_policy_choice_set(choice, pair, value, error);
  if (status != HR_OK) return status;
  if (is_set(list, pair)) return hr_fail(error, HR_BAD_INPUT, "duplicate parameter '%s'; keep one", pair);
  return add(list, pair, value, error);
}

static enum hr_status add_parts(struct override_list *list, char *text, struct hr_error *error) {
  struct hr_policy_choice choice = {0};
  char *pairs = strchr(text, ':');
  if (pairs) *pairs++ = '\0';
  /* Paths in a scenario are relative to the scenario file, so the path of a policy must be absolute. */
  char *path = strchr(text, '/') ? realpath(text, NULL) : NULL;
  const char *name = path ? path : text;
  enum hr_status status = hr_policy_choice_init(&choice, name, error);
  if (status == HR_OK) status = add(list, "name", name, error);
  for (char *pair = pairs, *next; status == HR_OK && pair; pair = next) {
    next = strchr(pair, ',');
    if (next) *next++ = '\0';
    status = add_param(list, &choice, pair, error);
  }
  hr_policy_choice_finish(&choice);
  free(path);
  return status;
}

enum hr_status hr_policy_overrides(const char *policy, char ***overrides, size_t *count, struct hr_error *error) {
  struct override_list list = {0};
  char *text = strdup(policy);
  enum hr_status status = text ? add_parts(&list, text, error) : hr_fail(error, HR_NO_MEMORY, "out of memory");
  free(text);
  *overrides = list.at;
  *count = list.count;
  return status;
}
