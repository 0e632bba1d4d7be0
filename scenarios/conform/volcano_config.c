/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the configuration of a case of Volcano: actions, tiers of plug-ins, and their arguments. */

#include "scenarios/conform/volcano_case.h"

#include <stdlib.h>
#include <string.h>

/* ---- Values ---- */

/* An argument as a number. Arguments may be texts. */
static double number_of(const cJSON *arguments, const char *name, double fallback) {
  const cJSON *value = hr__case_get(arguments, name);
  if (cJSON_IsNumber(value)) return value->valuedouble;
  if (!cJSON_IsString(value)) return fallback;
  char *end;
  double number = strtod(value->valuestring, &end);
  return end == value->valuestring ? fallback : number;
}

static int32_t whole_of(const cJSON *arguments, const char *name, int32_t fallback) {
  return (int32_t)number_of(arguments, name, fallback);
}

static bool flag_of(const cJSON *arguments, const char *name, bool fallback) {
  const char *text = hr__case_text(arguments, name, NULL);
  return text ? strcmp(text, "true") == 0 : hr__case_bool(arguments, name, fallback);
}

/* Calls for each name in a list such as "nvidia.com/gpu, example.com/foo" that is a known dimension. `*list` advances.
   Returns the dimension, HR__VOLCANO_NONE at the end. `name` gets the name. */
static uint32_t next_dimension(const struct hr__volcano_case *world, const char **list, char name[256]) {
  while (*list && **list) {
    size_t skipped = strspn(*list, " ,"), length = strcspn(*list + skipped, " ,");
    const char *start = *list + skipped;
    *list = start + length;
    if (!length || length > 255) continue;
    memcpy(name, start, length);
    name[length] = '\0';
    uint32_t k = hr__volcano_find(world->dimensions.items, world->dimensions.n_items, name);
    if (k != HR__VOLCANO_NONE) return k;
  }
  return HR__VOLCANO_NONE;
}

/* The member "PREFIX" + name. */
static const cJSON *get_joined(const cJSON *object, const char *prefix, const char *name, const char *suffix) {
  char joined[600];
  snprintf(joined, sizeof joined, "%s%s%s", prefix, name, suffix);
  return hr__case_get(object, joined);
}

/* ---- Arguments of plug-ins ---- */

static int32_t weight_of(int32_t weight) {
  return weight < 0 ? 1 : weight;
}

static void read_binpack(const struct hr__volcano_case *world, const cJSON *arguments,
                         struct hr__volcano_binpack_arguments *binpack) {
  const char *list = hr__case_text(arguments, "binpack.resources", NULL);
  char name[256];
  binpack->weight = whole_of(arguments, "binpack.weight", 1);
  binpack->dimension_weight[HR__VOLCANO_CPU] = weight_of(whole_of(arguments, "binpack.cpu", 1));
  binpack->dimension_weight[HR__VOLCANO_MEMORY] = weight_of(whole_of(arguments, "binpack.memory", 1));
  for (uint32_t k; (k = next_dimension(world, &list, name)) != HR__VOLCANO_NONE;) {
    const cJSON *weight = get_joined(arguments, "binpack.resources.", name, "");
    binpack->weighted |= (uint32_t)1 << k;
    binpack->dimension_weight[k] = weight_of((int32_t)hr__case_value_whole(weight, 1));
  }
}

/* Finds the strategy of a resource: by its name, else by the longest prefix that ends with an asterisk. */
static const cJSON *find_strategy(const cJSON *resources, const char *name) {
  const cJSON *best = hr__case_get(resources, name), *item;
  size_t best_length = 0;
  if (best) return best;
  cJSON_ArrayForEach(item, resources) {
    size_t length = strcspn(item->string, "*");
    if (item->string[length] != '*' || item->string[length + 1] || length <= best_length) continue;
    if (strncmp(item->string, name, length) != 0) continue;
    best = item;
    best_length = length;
  }
  return best;
}

static void read_scarce(const struct hr__volcano_case *world, const cJSON *sra,
                        struct hr__volcano_strategy_arguments *strategy) {
  const char *list = hr__case_text(sra, "resources", NULL);
  const cJSON *weights = hr__case_get(sra, "resourceWeight");
  char name[256];
  if (!flag_of(sra, "enable", false)) return;
  strategy->scarce_weight = whole_of(sra, "weight", 0);
  for (uint32_t k; (k = next_dimension(world, &list, name)) != HR__VOLCANO_NONE;) {
    strategy->scarce |= (uint32_t)1 << k;
    strategy->scarce_dimension_weight[k] = weight_of(whole_of(weights, name, 1));
    strategy->scarce_weight_sum += strategy->scarce_dimension_weight[k];
  }
}

static void read_proportional(const struct hr__volcano_case *world, const cJSON *proportional,
                              struct hr__volcano_strategy_arguments *strategy) {
  const char *list = hr__case_text(proportional, "resources", NULL);
  const cJSON *rates = hr__case_get(proportional, "resourceProportion");
  char name[256];
  if (!flag_of(proportional, "enable", false)) return;
  strategy->is_proportional = true;
  for (uint32_t k; (k = next_dimension(world, &list, name)) != HR__VOLCANO_NONE;) {
    const cJSON *cpu = get_joined(rates, "", name, ".cpu"), *memory = get_joined(rates, "", name, ".memory");
    strategy->proportional |= (uint32_t)1 << k;
    strategy->proportional_cpu[k] = cJSON_IsNumber(cpu) && cpu->valuedouble >= 0 ? cpu->valuedouble : 1;
    strategy->proportional_memory[k] = cJSON_IsNumber(memory) && memory->valuedouble >= 0 ? memory->valuedouble : 1;
  }
}

static void read_strategy(const struct hr__volcano_case *world, const cJSON *arguments,
                          struct hr__volcano_strategy_arguments *strategy) {
  const cJSON *resources = hr__case_get(arguments, "resources");
  int32_t weight = whole_of(arguments, "resourceStrategyFitWeight", strategy->weight);
  if (weight >= 0) strategy->weight = weight;
  if (resources && resources->child) {
    strategy->weighted = 0;
    for (uint32_t k = 0; k < world->dimensions.n_items && k < HR__VOLCANO_MAX_DIMENSIONS; k++) {
      const cJSON *found = find_strategy(resources, world->dimensions.items[k]);
      if (!found) continue;
      int32_t own = whole_of(found, "weight", 1);
      strategy->weighted |= (uint32_t)1 << k;
      strategy->dimension_weight[k] = own > 0 ? own : 1;
      if (strcmp(hr__case_text(found, "type", ""), "MostAllocated") == 0) strategy->most_allocated |= (uint32_t)1 << k;
    }
  }
  read_scarce(world, hr__case_get(arguments, "sra"), strategy);
  read_proportional(world, hr__case_get(arguments, "proportional"), strategy);
}

/* Reads a time of the day such as "9:30"; -1 if it is malformed. Minutes have two digits. */
static int32_t read_minute(const char *text, size_t length) {
  size_t hour = strspn(text, "0123456789");
  if (hour < 1 || hour > 2 || text[hour] != ':' || length != hour + 3) return -1;
  if (strspn(text + hour + 1, "0123456789") < 2) return -1;
  long h = strtol(text, NULL, 10), m = strtol(text + hour + 1, NULL, 10);
  return h > 23 || m > 59 ? -1 : (int32_t)(h * 60 + m);
}

static void read_window(const char *text, struct hr__volcano_zone_window *window) {
  while (*text == ' ') text++;
  size_t first = strcspn(text, "-"), second = text[first] ? strcspn(text + first + 1, " -") : 0;
  window->start_min = read_minute(text, first);
  window->end_min = second ? read_minute(text + first + 1, second) : -1;
  window->is_invalid = window->start_min < 0 || window->end_min < 0;
}

static void read_tdm(struct hr__volcano_case *world, const cJSON *arguments, struct hr__volcano_tdm_arguments *tdm) {
  static const char prefix[] = "tdm.revocable-zone.";
  uint32_t n = arguments ? (uint32_t)cJSON_GetArraySize(arguments) : 0;
  struct hr__volcano_zone_window *windows = hr__verdict_alloc(world->verdict, n, sizeof *windows);
  const cJSON *item;
  if (windows) cJSON_ArrayForEach(item, arguments) {
      if (strncmp(item->string, prefix, sizeof prefix - 1) != 0 || !cJSON_IsString(item)) continue;
      struct hr__volcano_zone_window *window = &windows[tdm->n_windows++];
      window->zone = hr__volcano_intern(world, &world->zones, item->string + sizeof prefix - 1);
      read_window(item->valuestring, window);
    }
  tdm->windows = windows;
}

static void read_usage(const cJSON *arguments, struct hr__volcano_usage_arguments *usage) {
  const cJSON *thresholds = hr__case_get(arguments, "thresholds");
  usage->weight = whole_of(arguments, "usage.weight", usage->weight);
  usage->cpu_weight = whole_of(arguments, "cpu.weight", usage->cpu_weight);
  usage->memory_weight = whole_of(arguments, "memory.weight", usage->memory_weight);
  usage->cpu_threshold = number_of(thresholds, "cpu", usage->cpu_threshold);
  usage->memory_threshold = number_of(thresholds, "mem", usage->memory_threshold);
}

static void read_nodeorder(const cJSON *arguments, struct hr__volcano_nodeorder_arguments *weights) {
  weights->least_requested = whole_of(arguments, "leastrequested.weight", weights->least_requested);
  weights->most_requested = whole_of(arguments, "mostrequested.weight", weights->most_requested);
  weights->balanced_resource = whole_of(arguments, "balancedresource.weight", weights->balanced_resource);
  weights->node_affinity = whole_of(arguments, "nodeaffinity.weight", weights->node_affinity);
  weights->taint_toleration = whole_of(arguments, "tainttoleration.weight", weights->taint_toleration);
}

static void read_arguments(struct hr__volcano_case *world, const cJSON *arguments, struct hr__volcano_plugin *plugin) {
  switch (plugin->id) {
  case HR__VOLCANO_CAPACITY:
    plugin->arguments.ancestor_reclaim_level = whole_of(arguments, "ancestorReclaimLevel", 0);
    break;
  case HR__VOLCANO_OVERCOMMIT:
    plugin->arguments.overcommit_factor =
        number_of(arguments, "overcommit-factor", plugin->arguments.overcommit_factor);
    break;
  case HR__VOLCANO_SLA:
    plugin->arguments.waiting_us = hr__volcano_duration_us(hr__case_text(arguments, "sla-waiting-time", NULL));
    break;
  case HR__VOLCANO_NODEORDER:
    read_nodeorder(arguments, &plugin->arguments.nodeorder);
    break;
  case HR__VOLCANO_BINPACK:
    read_binpack(world, arguments, &plugin->arguments.binpack);
    break;
  case HR__VOLCANO_RESOURCE_STRATEGY_FIT:
    read_strategy(world, arguments, &plugin->arguments.strategy);
    break;
  case HR__VOLCANO_USAGE:
    read_usage(arguments, &plugin->arguments.usage);
    break;
  case HR__VOLCANO_TDM:
    read_tdm(world, arguments, &plugin->arguments.tdm);
    break;
  case HR__VOLCANO_NODEGROUP:
    plugin->arguments.nodegroup.is_strict = flag_of(arguments, "strict", true);
    plugin->arguments.nodegroup.preferred_in_order = flag_of(arguments, "enablePreferredOrder", false);
    break;
  default:
    break;
  }
}

/* ---- Plug-ins and actions ---- */

static bool is_registered(const cJSON *run, const char *name) {
  const cJSON *list = hr__case_get(run, "registered_plugins"), *item;
  if (!list) return true;
  cJSON_ArrayForEach(item, list) if (cJSON_IsString(item) && strcmp(item->valuestring, name) == 0) return true;
  return false;
}

static uint32_t read_enabled(const cJSON *json) {
  uint32_t enabled = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(json, "enabled")) {
    uint32_t at = hr__volcano_find(hr__volcano_callback_names, HR__VOLCANO_N_CALLBACKS, item->valuestring);
    if (at != HR__VOLCANO_NONE) enabled |= (uint32_t)1 << at;
  }
  return enabled;
}

static void read_plugin(struct hr__volcano_case *world, const cJSON *json, uint32_t tier,
                        struct hr__volcano_plugin *plugins) {
  const char *name = hr__case_text(json, "name", "");
  if (!is_registered(hr__case_get(world->whole, "run"), name)) return;
  uint32_t id = hr__volcano_find(hr__volcano_plugin_names, HR__VOLCANO_N_PLUGINS, name);
  if (id == HR__VOLCANO_NONE) {
    bool is_topology = strcmp(name, "network-topology-aware") == 0;
    hr__verdict_unsupported(world->verdict, is_topology ? "network topology" : "a plug-in that is not modelled");
    return;
  }
  struct hr__volcano_plugin *plugin = &plugins[world->config.n_plugins++];
  plugin->id = (enum hr__volcano_plugin_id)id;
  plugin->tier = tier;
  plugin->enabled = read_enabled(json);
  hr__volcano_default_arguments(plugin);
  read_arguments(world, hr__case_get(json, "arguments"), plugin);
}

static void read_actions(struct hr__volcano_case *world, const cJSON *run) {
  uint32_t n = hr__case_count(run, "actions");
  enum hr__volcano_action *actions = hr__verdict_alloc(world->verdict, n, sizeof *actions);
  const cJSON *item;
  if (!actions) return;
  cJSON_ArrayForEach(item, hr__case_get(run, "actions")) {
    uint32_t at = hr__volcano_find(hr__volcano_action_names, HR__VOLCANO_N_ACTIONS, item->valuestring);
    if (at == HR__VOLCANO_NONE)
      world->verdict->malformed = "an unknown action";
    else
      actions[world->config.n_actions++] = (enum hr__volcano_action)at;
  }
  world->config.actions = actions;
  cJSON_ArrayForEach(item, hr__case_get(run, "action_config")) {
    const cJSON *arguments = hr__case_get(item, "arguments");
    if (strcmp(hr__case_text(item, "name", ""), "preempt") != 0) continue;
    world->config.topology_aware_preemption = flag_of(arguments, "enableTopologyAwarePreemption", false);
    world->config.candidate_percent = whole_of(arguments, "minCandidateNodesPercentage", 10);
    world->config.min_candidates = whole_of(arguments, "minCandidateNodesAbsolute", 1);
    world->config.max_candidates = whole_of(arguments, "maxCandidateNodesAbsolute", 100);
  }
}

void hr__volcano_read_config(struct hr__volcano_case *world) {
  const cJSON *run = hr__case_get(world->whole, "run"), *tier, *item;
  world->config = hr__volcano_default_config();
  world->config.minute_of_day = 12 * 60; /* the windows of the cases begin at midnight */
  uint32_t n = 0, at = 0;
  cJSON_ArrayForEach(tier, hr__case_get(run, "tiers")) n += (uint32_t)cJSON_GetArraySize(tier);
  struct hr__volcano_plugin *plugins = hr__verdict_alloc(world->verdict, n, sizeof *plugins);
  if (!plugins) return;
  cJSON_ArrayForEach(tier, hr__case_get(run, "tiers")) {
    cJSON_ArrayForEach(item, tier) read_plugin(world, item, at, plugins);
    at++;
  }
  world->config.plugins = plugins;
  read_actions(world, run);
}
