/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a validated tree to a scenario: what the table of keys cannot say (names that must be known, sums, keys that
   exclude each other) is checked here, where the value is used. */

#include "headroom/scenario.h"

#include "scenarios/source.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct builder {
  struct hr__source source;
  struct hr_scenario *scenario;
  struct hr_error *error;
  struct hr__place place; /* of the value at hand */
};

static enum hr_status no_memory(const struct builder *builder) {
  return hr_fail(builder->error, HR_NO_MEMORY, "%s: out of memory", builder->source.path);
}

static enum hr_status fail_here(const struct builder *builder, bool at_key, const char *text) {
  return hr__source_fail(&builder->source, &builder->place, at_key, builder->error, "%s", text);
}

/* The member `name`, with the builder's place moved to it; NULL, and the place unmoved, if there is none. */
static const cJSON *enter(struct builder *builder, const cJSON *object, const char *name) {
  uint32_t ordinal = 0;
  for (const cJSON *member = object ? object->child : NULL; member; member = member->next, ordinal++) {
    if (strcmp(member->string, name) != 0) continue;
    hr__place_enter(&builder->place, ordinal, member->string);
    return member;
  }
  return NULL;
}

static const char *text_of(const cJSON *object, const char *name, const char *fallback) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
  return member ? member->valuestring : fallback;
}

static double number_of(const cJSON *object, const char *name, double fallback) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
  return member ? member->valuedouble : fallback;
}

/* The length of `folder`, which ends in '/', without its last component; the whole length when that one is "..", or a
   symbolic link, whose parent is elsewhere. */
static size_t parent_length(const char *path, size_t folder) {
  char copy[4096];
  struct stat info;
  if (folder < 2 || folder > sizeof copy) return folder;
  memcpy(copy, path, folder);
  copy[folder - 1] = '\0';
  const char *slash = strrchr(copy, '/'), *last = slash ? slash + 1 : copy;
  bool plain = last[0] && strcmp(last, ".") != 0 && strcmp(last, "..") != 0;
  if (!plain || lstat(copy, &info) != 0 || !S_ISDIR(info.st_mode)) return folder;
  return (size_t)(last - copy);
}

/* `file` as named in the scenario file at `path`: relative to its folder. "a/../b" becomes "b" for a person's eyes. */
static char *resolve(const char *path, const char *file) {
  const char *slash = file[0] == '/' ? NULL : strrchr(path, '/');
  size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
  while (strncmp(file, "../", 3) == 0) {
    size_t parent = parent_length(path, folder);
    if (parent == folder) break;
    folder = parent;
    file += 3;
  }
  char *resolved = malloc(folder + strlen(file) + 1);
  if (!resolved) return NULL;
  memcpy(resolved, path, folder);
  strcpy(resolved + folder, file);
  return resolved;
}

/* ---- Trace ------------------------------------------------------------------------------------------ */

static enum hr_status build_format(struct builder *builder, const cJSON *trace) {
  enum { MOST_FORMATS = 32 };
  const char *names[MOST_FORMATS + 1], *wanted = text_of(trace, "format", "auto");
  const struct hr_trace_format *formats = hr_trace_formats();
  size_t count = 0;
  for (; formats[count].name && count < MOST_FORMATS; count++) names[count] = formats[count].name;
  names[count] = NULL;
  for (size_t i = 0; i < count; i++)
    if (strcmp(names[i], wanted) == 0)
      return (builder->scenario->trace_format = strdup(wanted)) ? HR_OK : no_memory(builder);
  char text[500];
  const char *nearest = hr_nearest_word(wanted, names);
  int used = snprintf(text, sizeof text, "unknown trace format '%.60s'; ", wanted);
  if (nearest) used += snprintf(text + used, sizeof text - (size_t)used, "did you mean '%s'? ", nearest);
  used += snprintf(text + used, sizeof text - (size_t)used, "(known:");
  for (size_t i = 0; i < count; i++)
    used += snprintf(text + used, sizeof text - (size_t)used, "%s %.20s", i ? "," : "", names[i]);
  snprintf(text + used, sizeof text - (size_t)used, ")");
  (void)enter(builder, trace, "format");
  return fail_here(builder, false, text);
}

static enum hr_status build_columns(struct builder *builder, const cJSON *trace) {
  const cJSON *columns = enter(builder, trace, "columns");
  if (!columns) return HR_OK;
  uint32_t ordinal = 0;
  for (const cJSON *member = columns->child; member; member = member->next) {
    struct hr_error inner;
    hr__place_enter(&builder->place, ordinal++, member->string);
    enum hr_status status = hr_column_map_add(&builder->scenario->columns, member->string, member->valuestring, &inner);
    if (status == HR_BAD_INPUT) return fail_here(builder, true, inner.text);
    if (status != HR_OK) return no_memory(builder);
    hr__place_leave(&builder->place);
  }
  hr__place_leave(&builder->place);
  return HR_OK;
}

static enum hr_status build_trace(struct builder *builder) {
  const cJSON *trace = enter(builder, builder->source.file.tree, "trace");
  const char *file = text_of(trace, "file", NULL);
  builder->scenario->lenient = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(trace, "lenient"));
  if (file) {
    builder->scenario->trace_file = resolve(builder->source.path, file);
    if (!builder->scenario->trace_file) return no_memory(builder);
  }
  enum hr_status status = build_format(builder, trace);
  if (status == HR_OK) status = build_columns(builder, trace);
  if (trace) hr__place_leave(&builder->place);
  return status;
}

/* ---- Cluster ---------------------------------------------------------------------------------------- */

static enum hr_status add_pool(struct builder *builder, const cJSON *entry) {
  struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  char *name = cJSON_GetObjectItemCaseSensitive(entry, "name")->valuestring;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    if (strcmp(cluster->pools[i].name, name) != 0) continue;
    (void)enter(builder, entry, "name");
    return hr__source_fail(&builder->source, &builder->place, false, builder->error,
                           "there already is a pool '%.60s'; each pool has its own name", name);
  }
  struct hr_pool_spec pool = {
      .name = name,
      .gpu = cJSON_GetObjectItemCaseSensitive(entry, "gpu")->valuestring,
      .nodes = (uint32_t)number_of(entry, "nodes", 0),
      .gpus_per_node = (uint32_t)number_of(entry, "gpus_per_node", 0),
      .cpu_milli_per_node = (uint32_t)lround(number_of(entry, "cpu_per_node", 0) * 1000),
      .mem_mib_per_node = (uint64_t)llround(number_of(entry, "mem_gb_per_node", 0) * 1024),
  };
  return hr_cluster_spec_add(cluster, &pool, builder->error);
}

static enum hr_status build_pools(struct builder *builder, const cJSON *pools) {
  uint32_t ordinal = 0;
  for (const cJSON *entry = pools->child; entry; entry = entry->next) {
    hr__place_enter(&builder->place, ordinal++, NULL);
    enum hr_status status = add_pool(builder, entry);
    if (status != HR_OK) return status;
    hr__place_leave(&builder->place);
  }
  return HR_OK;
}

/* Sums stay within the engine's bounds too. */
static enum hr_status check_totals(struct builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  uint64_t nodes = 0, gpus = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    nodes += cluster->pools[i].nodes;
    gpus += (uint64_t)cluster->pools[i].nodes * cluster->pools[i].gpus_per_node;
  }
  if (nodes <= HR_MAX_NODES && gpus <= HR_MAX_GPUS) return HR_OK;
  return hr__source_fail(&builder->source, &builder->place, false, builder->error,
                         "a cluster of %" PRIu64 " nodes and %" PRIu64 " GPUs is too large; at most %" PRIu32
                         " nodes and %" PRIu32 " GPUs",
                         nodes, gpus, HR_MAX_NODES, HR_MAX_GPUS);
}

static enum hr_status read_nodes(struct builder *builder, const char *file) {
  char *path = resolve(builder->source.path, file);
  if (!path) return no_memory(builder);
  enum hr_status status = hr_nodes_read(path, &builder->scenario->cluster, &builder->scenario->notes, builder->error);
  free(path);
  return status;
}

static enum hr_status build_cluster(struct builder *builder) {
  const cJSON *cluster = enter(builder, builder->source.file.tree, "cluster");
  const char *nodes_file = text_of(cluster, "nodes_file", NULL);
  bool has_pools = cJSON_GetObjectItemCaseSensitive(cluster, "pools") != NULL;
  if (has_pools == (nodes_file != NULL))
    return fail_here(builder, false,
                     has_pools ? "'cluster' has both 'pools' and 'nodes_file'; one of them is wanted"
                               : "'cluster' lacks 'pools' (or 'nodes_file', a file that lists the nodes)");
  enum hr_status status;
  if (has_pools)
    status = build_pools(builder, enter(builder, cluster, "pools"));
  else
    status = read_nodes(builder, enter(builder, cluster, "nodes_file")->valuestring);
  if (status == HR_OK) status = check_totals(builder);
  builder->place.depth = 0;
  return status;
}

/* ---- Policy ----------------------------------------------------------------------------------------- */

/* A number as the shortest text that reads back as the same number. */
static const char *scalar_text(const cJSON *value, char buffer[32]) {
  if (cJSON_IsString(value)) return value->valuestring;
  if (cJSON_IsBool(value)) return cJSON_IsTrue(value) ? "true" : "false";
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(buffer, 32, "%.*g", digits, value->valuedouble);
    if (strtod(buffer, NULL) == value->valuedouble) break; /* the very same double is meant */
  }
  return buffer;
}

static enum hr_status unknown_param(struct builder *builder, const char *key) {
  const struct hr_policy_choice *choice = &builder->scenario->policy;
  const char **known = calloc(choice->n_params + 2, sizeof(*known));
  if (!known) return no_memory(builder);
  known[0] = "name";
  for (size_t i = 0; i < choice->n_params; i++) known[i + 1] = choice->ops->params[i].key;
  char text[700];
  hr__key_unknown("policy", key, known, text, sizeof text);
  free(known);
  return fail_here(builder, true, text);
}

static enum hr_status set_param(struct builder *builder, const cJSON *member) {
  struct hr_policy_choice *choice = &builder->scenario->policy;
  struct hr_error inner;
  char buffer[32];
  bool known = false;
  for (size_t i = 0; i < choice->n_params; i++)
    known = known || strcmp(choice->ops->params[i].key, member->string) == 0;
  if (!known) return unknown_param(builder, member->string);
  enum hr_status status = hr_policy_choice_set(choice, member->string, scalar_text(member, buffer), &inner);
  if (status == HR_BAD_INPUT) return fail_here(builder, false, inner.text);
  return status == HR_OK ? HR_OK : no_memory(builder);
}

static enum hr_status build_policy(struct builder *builder) {
  const cJSON *policy = enter(builder, builder->source.file.tree, "policy");
  const cJSON *name = enter(builder, policy, "name");
  struct hr_error inner;
  enum hr_status status = hr_policy_choice_init(&builder->scenario->policy, name->valuestring, &inner);
  if (status == HR_BAD_INPUT) return fail_here(builder, false, inner.text);
  if (status != HR_OK) return no_memory(builder);
  hr__place_leave(&builder->place);
  uint32_t ordinal = 0;
  for (const cJSON *member = policy->child; member && status == HR_OK; member = member->next) {
    hr__place_enter(&builder->place, ordinal++, member->string);
    if (member != name) status = set_param(builder, member);
    if (status == HR_OK) hr__place_leave(&builder->place);
  }
  if (status == HR_OK) hr__place_leave(&builder->place);
  return status;
}

/* ---- The rest --------------------------------------------------------------------------------------- */

/* "demo" for "scenarios/demo.json". */
static char *stem(const char *path) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  const char *dot = strrchr(base, '.');
  return dot && dot != base ? strndup(base, (size_t)(dot - base)) : strdup(base);
}

static enum hr_status build_head(struct builder *builder) {
  const cJSON *tree = builder->source.file.tree;
  struct hr_scenario *scenario = builder->scenario;
  const char *name = text_of(tree, "name", NULL);
  scenario->path = strdup(builder->source.path);
  scenario->name = name ? strdup(name) : stem(builder->source.path);
  scenario->description = strdup(text_of(tree, "description", ""));
  if (!scenario->path || !scenario->name || !scenario->description) return no_memory(builder);
  const cJSON *seed = cJSON_GetObjectItemCaseSensitive(tree, "seed");
  scenario->seed = 1;
  if (seed)
    scenario->seed = cJSON_IsString(seed) ? strtoumax(seed->valuestring, NULL, 10) : (uint64_t)seed->valuedouble;
  double horizon_s = number_of(tree, "horizon_s", 0);
  scenario->horizon_us = horizon_s > 0 ? (int64_t)llround(horizon_s * (double)HR_SECOND_US) : HR_NEVER_US;
  return HR_OK;
}

static enum hr_status build(struct builder *builder) {
  enum hr_status status = hr__source_override(&builder->source, builder->error);
  if (status == HR_OK) status = hr__source_validate(&builder->source, builder->error);
  if (status == HR_OK) status = build_head(builder);
  if (status == HR_OK) status = build_trace(builder);
  if (status == HR_OK) status = build_policy(builder);
  if (status == HR_OK) status = build_cluster(builder);
  return status;
}

enum hr_status hr_scenario_load(const char *path, const char *const *overrides, size_t n_overrides,
                                struct hr_scenario **scenario, struct hr_error *error) {
  struct builder builder = {.source = {.path = path, .overrides = overrides, .n_overrides = n_overrides},
                            .error = error};
  *scenario = NULL;
  enum hr_status status = hr__json_file_read(path, &builder.source.file, error);
  if (status != HR_OK) return status;
  builder.scenario = calloc(1, sizeof *builder.scenario);
  status = builder.scenario ? build(&builder) : no_memory(&builder);
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
  hr_cluster_spec_finish(&scenario->cluster);
  hr_policy_choice_finish(&scenario->policy);
  hr_notes_finish(&scenario->notes);
  free(scenario);
}
