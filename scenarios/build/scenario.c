/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loads a scenario: reads the file, applies overrides, checks the keys and builds the sections in a fixed order. The
 * sections `trace`, `policy`, `replications` and `alerts` are built here. Larger sections are built in files of their
 * own. A section may use sections that are built before it; for example, `classes` and `costs` use the pools of
 * `cluster`.
 *
 * Other functions of this file read one value or the catalogue of a scenario file without loading the scenario, or
 * return properties of a loaded scenario.
 */

#include "headroom/scenario.h"
#include "base/process.h"
#include "headroom/power.h"
#include "headroom/unstable/experiments.h"
#include "headroom/unstable/faults.h"
#include "headroom/unstable/ownership.h"
#include "headroom/unstable/scenario_files.h"
#include "headroom/unstable/services.h"
#include "headroom/unstable/systems/systems.h"
#include "headroom/unstable/trace_tools.h"
#include "scenarios/build/builder.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true if the file is probably a trace:
   - its name has the suffix of a trace format;
   - or its first line has at least two commas (CSV) or two bars (output of sacct), but no '{', '[' or '"'. */
static bool looks_like_trace(const char *path) {
  static const char *const endings[] = {".csv", ".csv.gz", ".csv.zst", ".swf", ".swf.gz", ".hrt"};
  size_t length = strlen(path);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (length > strlen(endings[i]) && strcmp(path + length - strlen(endings[i]), endings[i]) == 0) return true;
  char line[200] = "";
  struct stat info;
  const char *at = hr__input_path(path);
  FILE *file = at && stat(at, &info) == 0 && S_ISREG(info.st_mode) ? fopen(at, "rb") : NULL;
  if (!file) return false;
  bool has_line = fgets(line, sizeof line, file) != NULL;
  fclose(file);
  const char *separator = strpbrk(line, ",|");
  return has_line && !strpbrk(line, "{[\"") && separator && strchr(separator + 1, *separator);
}

static bool has_key(const cJSON *tree, const char *name) {
  return cJSON_IsObject(tree) && hr__has(tree, name);
}

static enum hr_status trace_instead(const char *path, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: looks like a trace: give a scenario, and this file with --trace; 'headroom init --from' drafts a "
                 "scenario from it",
                 path);
}

/* Reads the file. If it is not a scenario but a trace, a grid or a suite, the error states this. */
static enum hr_status read_source(struct hr__source *source, struct hr_error *error) {
  const char *path = source->path;
  const char *file = hr__input_path(path);
  if ((!file || access(file, F_OK) != 0) && errno == ENOENT)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: cannot be read: No such file or directory; 'headroom list scenarios' shows those that ship",
                   path);
  enum hr_status status = hr__json_file_read(path, &source->file, error);
  if (status == HR_BAD_INPUT && looks_like_trace(path)) return trace_instead(path, error);
  if (status != HR_OK || has_key(source->file.tree, "cluster") || has_key(source->file.tree, "clusters")) return status;
  if (has_key(source->file.tree, "items") || has_key(source->file.tree, "attempts") ||
      has_key(source->file.tree, "profiles"))
    return trace_instead(path, error);
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
  if (cJSON_IsObject(value)) return hr__get(value, name);
  bool is_number = name[0] && strspn(name, "0123456789") == strlen(name) && strlen(name) < 9;
  return cJSON_IsArray(value) && is_number ? cJSON_GetArrayItem(value, (int)strtol(name, NULL, 10)) : NULL;
}

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory");
}

/* Sets `*json` to the value at the path `key`, as JSON text. If no such value exists, `*json` is not changed. The
   caller frees `*json`. */
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

enum hr_status hr_scenario_check_keys(const char *path, const char *const *overrides, size_t n_overrides,
                                      struct hr_error *error) {
  struct hr__builder builder = {.source = {.path = path, .overrides = overrides, .n_overrides = n_overrides},
                                .error = error};
  enum hr_status status = open_source(&builder, error);
  if (status == HR_OK) status = hr__source_validate(&builder.source, &hr__scenario_keys, "the scenario", error);
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
    *catalog = builder.own_catalog;
  else
    hr_catalog_destroy(builder.own_catalog);
  return status;
}

/* ---- Replications ----------------------------------------------------------------------------------- */

/* The name of the metric is stored with its place, and checked when the replications are run (plan/runner). */

static enum hr_status check_precision(struct hr__builder *builder, const cJSON *json,
                                      struct hr_replication_spec *spec) {
  if (hr__has(json, "count"))
    return hr__build_fail_at(builder, json, "count", "'replications' has both 'count' and 'metric'; keep one");
  if (!hr__has(json, "relative"))
    return hr__build_fail(builder, json,
                          "'metric' needs 'relative', the half width of its confidence interval as a share of it");
  spec->max = (uint32_t)hr__number_of(json, "max", HR_DEFAULT_MAX_REPLICATIONS);
  spec->min = (uint32_t)hr__number_of(json, "min", HR_DEFAULT_MIN_REPLICATIONS);
  if (!hr__has(json, "min") && spec->min > spec->max) spec->min = spec->max;
  if (spec->min > spec->max)
    return hr__build_fail_at(builder, json, "min", "'min' (%u) is larger than 'max' (%u)", spec->min, spec->max);
  return HR_OK;
}

static enum hr_status build_replications(struct hr__builder *builder) {
  struct hr_replication_spec *spec = &builder->scenario->replications;
  const cJSON *json = hr__get(builder->source.file.tree, "replications");
  hr_workload_spec_init(&spec->workload);
  enum hr_status status = hr__read_at(builder, json, "replications", spec);
  if (status == HR_OK && spec->metric.text) return check_precision(builder, json, spec);
  if (status == HR_OK && hr__has(json, "relative"))
    status = hr__build_fail_at(builder, json, "relative", "'relative' needs 'metric', the metric to which it applies");
  return status;
}

/* ---- Alerts ---- */

/* `queue_time.above_s` is the limit of all classes. `queue_time.classes` replaces it for single classes. */
static enum hr_status build_alerts(struct hr__builder *builder) {
  struct hr_alert_rules *rules = &builder->scenario->alerts;
  const cJSON *alerts = hr__get(builder->source.file.tree, "alerts");
  hr_alert_rules_init(rules);
  for (unsigned i = 0; i < HR_N_CLASSES; i++)
    rules->waiting_us[i] = hr__span_of(hr__get(alerts, "queue_time"), "above_s", rules->waiting_us[i]);
  return alerts ? hr__read_at(builder, alerts, "alerts", rules) : HR_OK;
}

/* ---- Trace ------------------------------------------------------------------------------------------ */

static enum hr_status check_format(struct hr__builder *builder, const cJSON *trace) {
  enum { MAX_FORMATS = 32 };
  const char *names[MAX_FORMATS + 1], *wanted = builder->scenario->trace_format;
  const struct hr_trace_format *formats = hr_trace_formats();
  size_t count = 0;
  for (; formats[count].name && count < MAX_FORMATS; count++) names[count] = formats[count].name;
  names[count] = NULL;
  if (hr_trace_format_find(wanted)) return HR_OK;
  char text[500];
  const char *nearest = hr_nearest_word(wanted, names);
  int used = snprintf(text, sizeof text, "unknown trace format '%.60s'; ", wanted);
  if (nearest) used += snprintf(text + used, sizeof text - (size_t)used, "did you mean '%s'? ", nearest);
  used += snprintf(text + used, sizeof text - (size_t)used, "(known:");
  for (size_t i = 0; i < count; i++)
    used += snprintf(text + used, sizeof text - (size_t)used, "%s %.20s", i ? "," : "", names[i]);
  snprintf(text + used, sizeof text - (size_t)used, ")");
  return hr__build_fail_at(builder, trace, "format", "%s", text);
}

/* Adds the patterns of `key` ("classes" or "tenants") to the column map. They set `field` ("class" or "tenant"). */
static enum hr_status build_rules(struct hr__builder *builder, const cJSON *trace, const char *key, const char *field) {
  const cJSON *rule;
  cJSON_ArrayForEach(rule, hr__get(trace, key)) {
    char text[700];
    struct hr_error inner;
    if ((size_t)snprintf(text, sizeof text, "%s=%s", rule->string, rule->valuestring) >= sizeof text)
      return hr__build_fail(builder, rule, "the pattern is too long");
    enum hr_status status = hr_column_map_add_rule(&builder->scenario->columns, field, text, &inner);
    if (status == HR_BAD_INPUT) return hr__build_fail_key(builder, rule, "%s", inner.text);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

static enum hr_status build_trace(struct hr__builder *builder) {
  const cJSON *trace = hr__get(builder->source.file.tree, "trace"), *column;
  struct hr_error inner;
  enum hr_status status = hr__read_at(builder, trace, "trace", builder->scenario);
  if (status == HR_OK) status = check_format(builder, trace);
  cJSON_ArrayForEach(column, hr__get(trace, "columns")) {
    if (status != HR_OK) return status;
    status = hr_column_map_add(&builder->scenario->columns, column->string, column->valuestring, &inner);
    if (status == HR_BAD_INPUT) return hr__build_fail_key(builder, column, "%s", inner.text);
  }
  if (status == HR_OK) status = build_rules(builder, trace, "classes", "class");
  if (status == HR_OK) status = build_rules(builder, trace, "tenants", "tenant");
  return status == HR_NO_MEMORY ? hr__build_no_memory(builder) : status;
}

/* ---- Policy ----------------------------------------------------------------------------------------- */

static enum hr_status unknown_param(struct hr__builder *builder, const cJSON *member) {
  const struct hr_policy_choice *choice = &builder->scenario->policy;
  const char **known = calloc(choice->n_params + 2, sizeof(*known));
  if (!known) return hr__build_no_memory(builder);
  known[0] = "name";
  for (size_t i = 0; i < choice->n_params; i++) known[i + 1] = choice->ops->params[i].key;
  char text[700];
  hr__key_unknown("policy", member->string, known, text, sizeof text);
  free(known);
  return hr__build_fail_key(builder, member, "%s", text);
}

/* Adds a note that a value of `member` selects another policy than the one that the scenario names. */
static enum hr_status note_other_policy(struct hr__builder *builder, const cJSON *member) {
  struct hr_error place;
  hr__source_fail(&builder->source, member, false, &place, "%s", "");
  return hr__build_note(builder, "%sthis value of '%s' belongs to the policy '%s' now; the old name still works",
                        place.text, member->string, builder->scenario->policy.ops->name);
}

static enum hr_status set_param(struct hr__builder *builder, const cJSON *member) {
  struct hr_policy_choice *choice = &builder->scenario->policy;
  const struct hr_policy_ops *ops = choice->ops;
  struct hr_error inner;
  char buffer[32];
  if (!hr_policy_choice_has(choice, member->string)) return unknown_param(builder, member);
  enum hr_status status = hr_policy_choice_set(choice, member->string, hr__scalar_text(member, buffer), &inner);
  if (status != HR_OK) return hr__build_wrap(builder, member, status, &inner);
  return choice->ops == ops ? HR_OK : note_other_policy(builder, member);
}

/* Sets the policy 'fifo' if the key `policy` is optional: in a scenario with services or with `clusters`, and in the
   clusters of a scenario with services. In other scenarios, reports that the key is missing. */
static enum hr_status build_default_policy(struct hr__builder *builder) {
  const cJSON *tree = builder->source.file.tree;
  char expected[200];
  struct hr_error inner;
  if (hr__get(tree, "services") || hr__get(tree, "clusters") || hr__get(builder->source.places, "services"))
    return hr__build_wrap(builder, tree, hr_policy_choice_init(&builder->scenario->policy, "fifo", &inner), &inner);
  hr__key_expected(hr__key_member(&hr__scenario_keys, "policy"), expected, sizeof expected);
  return hr__build_fail(builder, tree, "the scenario lacks the key 'policy'; %s is expected", expected);
}

static enum hr_status build_policy(struct hr__builder *builder) {
  const cJSON *policy = hr__get(builder->source.file.tree, "policy");
  const cJSON *name = hr__get(policy, "name");
  struct hr_error inner;
  if (!policy) return build_default_policy(builder);
  char *path = strchr(name->valuestring, '/') ? hr__resolve(builder, name->valuestring) : strdup(name->valuestring);
  if (!path) return hr__build_no_memory(builder);
  enum hr_status status = hr_policy_choice_init(&builder->scenario->policy, path, &inner);
  free(path);
  if (status != HR_OK) return hr__build_wrap(builder, name, status, &inner);
  for (const cJSON *member = policy->child; member && status == HR_OK; member = member->next)
    if (member != name) status = set_param(builder, member);
  return status;
}

/* Returns the key that makes nodes of the pool unavailable at times to save power: "sleep" or "power_budget_w"; NULL:
   the pool has no such key. */
static const char *power_that_closes(const struct hr_pool_spec *pool) {
  if (!pool->power) return NULL;
  return pool->power->sleep.idle_us > 0 ? "sleep" : pool->power->budget_w > 0 ? "power_budget_w" : NULL;
}

/* Checks that the placement 'data-local' is used only with `data`, and 'data_local_wait_s' only with this placement. */
static enum hr_status check_data_local(struct hr__builder *builder) {
  const cJSON *tree = builder->source.file.tree, *policy = hr__get(tree, "policy");
  const cJSON *placement = hr__get(policy, "placement");
  if (builder->scenario->policy.library) return HR_OK;
  bool is_local = cJSON_IsString(placement) && strcmp(placement->valuestring, "data-local") == 0;
  if (is_local && !hr__has(tree, "data") && !hr__has(builder->source.places, "data"))
    return hr__build_fail_at(builder, policy, "placement", "the placement 'data-local' has no effect without 'data'");
  if (!is_local && hr__has(policy, "data_local_wait_s"))
    return hr__build_fail_at(builder, policy, "data_local_wait_s",
                             "'data_local_wait_s' has no effect without the placement 'data-local'");
  return HR_OK;
}

/* Returns whether the pool has nodes that can fail or be slow at times, or spare nodes. */
static bool pool_fails(const struct hr_pool_spec *pool) {
  const struct hr_fault_spec *faults = pool->nodes > 0 ? pool->faults : NULL;
  return faults && (faults->n_processes > 0 || faults->spares > 0 || faults->slow.speed_ppm > 0);
}

/* Checks that the placement 'pool' is used only with nodes that are always available. This placement counts the free
   GPUs of a pool, not those of each node, so the nodes of a job are unknown. They must be known if nodes can become
   unavailable: in elastic and time-bounded pools, by failures or maintenance, by a power budget, or by sleep. */
static enum hr_status check_placement(struct hr__builder *builder) {
  const cJSON *policy = hr__get(builder->source.file.tree, "policy");
  const cJSON *placement = hr__get(policy, "placement");
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  bool is_built_in = !builder->scenario->policy.library;
  bool by_count = is_built_in && cJSON_IsString(placement) && strcmp(placement->valuestring, "pool") == 0;
  for (uint32_t i = 0; by_count && i < cluster->n_pools; i++) {
    const struct hr_market_spec *market = &cluster->pools[i].market;
    bool is_bounded = market->from_us > 0 || market->to_us != HR_NEVER_US, fails = pool_fails(&cluster->pools[i]);
    bool is_served = cluster->pools[i].n_maintenance > 0;
    const char *power = power_that_closes(&cluster->pools[i]);
    bool is_elastic = hr_market_is_elastic(market->market);
    if (cluster->pools[i].nodes == 0 || (!is_elastic && !is_bounded && !fails && !is_served && !power)) continue;
    return hr__build_fail_at(builder, policy, "placement",
                             "the placement 'pool' counts GPUs, but nodes of pool '%.60s' (%s) may be unavailable; use "
                             "first-fit, best-fit or worst-fit",
                             cluster->pools[i].name,
                             fails       ? "faults"
                             : is_served ? "maintenance"
                             : power     ? power
                                         : hr_market_name(market->market));
  }
  return HR_OK;
}

/* Checks that the section `slurm` exists if the policy `slurm` has priority=multifactor. This section has the weights
   of the factors. */
static enum hr_status check_weights(struct hr__builder *builder) {
  const cJSON *policy = hr__get(builder->source.file.tree, "policy"), *priority = hr__get(policy, "priority");
  const struct hr_scenario *scenario = builder->scenario;
  if (scenario->policy.library || strcmp(scenario->policy.ops->name, "slurm") != 0) return HR_OK;
  if (!cJSON_IsString(priority) || strcmp(priority->valuestring, "multifactor") != 0) return HR_OK;
  if (scenario->systems && scenario->systems->slurm) return HR_OK;
  return hr__build_fail(builder, priority, "priority=multifactor needs the section 'slurm' with the weights");
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
    return hr__build_note(builder, "warning: preemption 'reclaim' has no effect: no 'quotas' guarantee GPUs");
  }
  return HR_OK;
}

/* Adds a note if the policy pays for all elastic nodes all the time. Users do not expect to pay for on-demand nodes
   that no job uses. Policies with the parameter `market` get no note: they pay for all elastic nodes only if the user
   has set the parameter to "static". */
static enum hr_status note_kept_nodes(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  const struct hr_policy_choice *policy = &builder->scenario->policy;
  bool any = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    any |= cluster->pools[i].nodes > 0 && hr_market_is_elastic(cluster->pools[i].market.market);
  if (!any || hr_policy_choice_has(policy, "market") || hr_policy_choice_elastic_use(policy) != HR_ELASTIC_ALWAYS)
    return HR_OK;
  return hr__build_note(builder,
                        "policy '%s' keeps all on-demand and spot nodes, used or not, so they are paid "
                        "for all the time; the policy 'queue' releases idle nodes",
                        policy->ops->name);
}

/* ---- Loading ---------------------------------------------------------------------------------------- */

/* Stores the values of the outermost keys that are neither objects nor lists, and the default name and description. */
static enum hr_status build_head(struct hr__builder *builder) {
  const cJSON *tree = builder->source.file.tree;
  struct hr_scenario *scenario = builder->scenario;
  scenario->horizon_us = HR_NEVER_US;
  enum hr_status status = hr__read_values(builder, tree, hr__scenario_keys.keys, scenario);
  if (status != HR_OK) return status;
  scenario->path = strdup(builder->source.path);
  if (!scenario->name) scenario->name = hr__stem(builder->source.path);
  if (!scenario->description) scenario->description = strdup("");
  return scenario->path && scenario->name && scenario->description ? HR_OK : hr__build_no_memory(builder);
}

typedef enum hr_status build_section(struct hr__builder *builder);

/* The sections in the order in which they are built. NULL ends each list. */
static build_section *const head[] = {build_head,   build_trace,        hr__check_cluster_sections,
                                      build_policy, hr__build_clusters, NULL};
static build_section *const pools[] = {hr__build_cluster, check_placement, check_data_local, NULL};
static build_section *const jobs[] = {hr__build_classes, hr__build_models, hr__build_network_speeds, hr__build_scaling,
                                      NULL};
static build_section *const queues[] = {hr__build_quotas, hr__build_systems, check_weights, NULL};
static build_section *const rest[] = {hr__build_services, hr__build_data, build_alerts, build_replications,
                                      hr__build_plan,     hr__build_tco,  NULL};
static build_section *const policy_notes[] = {note_kept_nodes, warn_reclaim, NULL};

/* Builds the sections of a list unless `status`, that of the sections before them, is an error. Returns the status. */
static enum hr_status build_list(struct hr__builder *builder, build_section *const *sections, enum hr_status status) {
  for (; *sections && status == HR_OK; sections++) status = (*sections)(builder);
  return status;
}

static enum hr_status build(struct hr__builder *builder) {
  enum hr_status status = hr__source_override(&builder->source, builder->error);
  if (status == HR_OK)
    status = hr__source_validate(&builder->source, &hr__scenario_keys, "the scenario", builder->error);
  status = build_list(builder, head, status);
  const bool is_one = !builder->scenario->clusters;
  if (is_one) status = build_list(builder, pools, status);
  status = build_list(builder, jobs, status);
  if (status == HR_OK) status = hr__build_costs(builder);
  status = build_list(builder, queues, status);
  status = build_list(builder, rest, status);
  return is_one ? build_list(builder, policy_notes, status) : status;
}

enum hr_status hr__build_part(struct hr__builder *builder) {
  enum hr_status status = build_list(builder, pools, build_policy(builder));
  status = build_list(builder, jobs, status);
  status = build_list(builder, queues, status);
  return build_list(builder, policy_notes, status);
}

enum hr_status hr_scenario_load(const char *path, const char *const *overrides, size_t n_overrides,
                                struct hr_scenario **scenario, struct hr_error *error) {
  return hr_scenario_load_with(NULL, path, overrides, n_overrides, scenario, error);
}

static enum hr_status load(struct hr__builder *builder, struct hr_scenario **scenario) {
  *scenario = NULL;
  enum hr_status status = read_source(&builder->source, builder->error);
  if (status != HR_OK) {
    hr__json_file_finish(&builder->source.file);
    return status;
  }
  builder->scenario = calloc(1, sizeof *builder->scenario);
  status = builder->scenario ? build(builder) : hr__build_no_memory(builder);
  hr_catalog_destroy(builder->own_catalog);
  hr__json_file_finish(&builder->source.file);
  if (status == HR_OK)
    *scenario = builder->scenario;
  else
    hr_scenario_destroy(builder->scenario);
  return status;
}

enum hr_status hr_scenario_load_with(const struct hr_catalog *built_in, const char *path, const char *const *overrides,
                                     size_t n_overrides, struct hr_scenario **scenario, struct hr_error *error) {
  struct hr__builder builder = {.source = {.path = path, .overrides = overrides, .n_overrides = n_overrides},
                                .shared_catalog = built_in,
                                .error = error};
  return load(&builder, scenario);
}

enum hr_status hr_scenario_load_candidate(const struct hr_catalog *built_in, const char *path,
                                          const char *const *overrides, size_t n_overrides,
                                          struct hr_scenario **scenario, struct hr_error *error) {
  struct hr_error own;
  struct hr__builder builder = {.source = {.path = path, .overrides = overrides, .n_overrides = n_overrides},
                                .shared_catalog = built_in,
                                .error = error ? error : &own,
                                .is_candidate = true};
  return load(&builder, scenario);
}

enum hr_status hr__scenario_check(const char *path, const char *text, const char *const *overrides, size_t n_overrides,
                                  struct hr_error *error) {
  struct hr__builder builder = {.source = {.path = path, .overrides = overrides, .n_overrides = n_overrides},
                                .error = error};
  enum hr_status status =
      hr__json_file_copy(path, (const unsigned char *)text, strlen(text), &builder.source.file, error);
  builder.scenario = status == HR_OK ? calloc(1, sizeof *builder.scenario) : NULL;
  if (status == HR_OK) status = builder.scenario ? build(&builder) : hr__build_no_memory(&builder);
  hr_catalog_destroy(builder.own_catalog);
  hr__json_file_finish(&builder.source.file);
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
  hr__data_destroy(scenario->data);
  hr__clusters_destroy(scenario);
  for (uint32_t i = 0; scenario->pool_sources && i < scenario->cluster.n_pools; i++)
    hr__pool_source_finish(&scenario->pool_sources[i]);
  free(scenario->pool_sources);
  hr_cluster_spec_finish(&scenario->cluster);
  hr_speeds_destroy(scenario->speeds);
  hr_network_speeds_destroy(scenario->network_speeds);
  hr_scaling_destroy(scenario->scaling);
  hr_cost_spec_finish(&scenario->costs);
  hr_quota_spec_destroy(scenario->quotas);
  hr__systems_destroy(scenario->systems);
  hr__electricity_destroy(scenario->electricity);
  hr__services_destroy(scenario->services);
  hr_policy_choice_finish(&scenario->policy);
  hr__placed_finish(&scenario->replications.metric);
  hr_plan_spec_destroy(scenario->plan);
  hr_tco_spec_destroy(scenario->tco);
  hr_notes_finish(&scenario->notes);
  hr_notes_finish(&scenario->files);
  free(scenario);
}

/* ---- Properties of a loaded scenario: whether it has prices, and whether its runs depend on random numbers --- */

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

static bool service_draws(const struct hr_service *service) {
  return hr_requests_are_random(service) || service->router == HR_SERVICE_RANDOM ||
         service->router == HR_SERVICE_POWER_OF_TWO;
}

/* Returns whether the autoscaler selects pools at random. Other expanders draw a pool, too, if several pools are
   equally good; this is not considered. */
static bool expands_at_random(const struct hr_autoscaler_spec *autoscaler) {
  for (uint32_t i = 0; i < autoscaler->n_expanders; i++)
    if (autoscaler->expanders[i].kind == HR_EXPANDER_RANDOM) return true;
  return false;
}

bool hr_scenario_is_random(const struct hr_scenario *scenario) {
  const struct hr_autoscaler_spec *autoscaler = scenario->cluster.autoscaler;
  if (autoscaler && expands_at_random(autoscaler)) return true;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    if (autoscaler && autoscaler->failure_share && autoscaler->failure_share[i] > 0) return true;
    const struct hr_market_spec *market = &pool->market;
    if (pool_fails(pool)) return true;
    if (pool->nodes > 0 && pool->power && pool->power->sleep.boot.kind != HR_DURATION_FIXED) return true;
    if (pool->nodes == 0 || !hr_market_is_elastic(market->market)) continue;
    if (market->boot.kind != HR_DURATION_FIXED || market->queue.kind != HR_DURATION_FIXED) return true;
    if (market->market == HR_MARKET_SPOT && has_draws(&market->spot)) return true;
  }
  for (uint32_t i = 0; scenario->services && i < scenario->services->count; i++)
    if (service_draws(&scenario->services->at[i])) return true;
  return scenario->prices_drawn;
}
