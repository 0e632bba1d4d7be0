/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the configuration of a case of Volcano (actions, tiers of plug-ins and their arguments), its nodes, the node
   groups of its queues, and which nodes its pods accept and prefer. */

#include "scenarios/conform/conform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WEIGHT 1e6

/* ---- Values ---- */

/* Returns an argument as a number. The argument may be a number or a text. */
static double number_of(const cJSON *arguments, const char *name, double fallback) {
  const cJSON *value = hr__case_get(arguments, name);
  if (cJSON_IsNumber(value)) return value->valuedouble;
  if (!cJSON_IsString(value)) return fallback;
  char *end;
  double number = strtod(value->valuestring, &end);
  return end == value->valuestring ? fallback : number;
}

/* Returns an argument as a whole number, limited to the range from -1,000,000 to 1,000,000. Sums of such weights fit in
   32 bits. */
static int32_t whole_of(const cJSON *arguments, const char *name, int32_t fallback) {
  double number = fmax(-MOST_WEIGHT, fmin(number_of(arguments, name, fallback), MOST_WEIGHT));
  return (int32_t)number;
}

static bool flag_of(const cJSON *arguments, const char *name, bool fallback) {
  const char *text = hr__case_text(arguments, name, NULL);
  return text ? strcmp(text, "true") == 0 : hr__case_bool(arguments, name, fallback);
}

/* Returns the next known resource in a list of names such as "nvidia.com/gpu, example.com/foo"; HR__VOLCANO_NONE at the
   end of the list. Unknown names are skipped. Copies the name of the resource to `name`, and advances `*list` past it.
   `*list` may be NULL. */
static uint32_t next_dimension(const struct hr__volcano_case *world, const char **list, char name[256]) {
  while (*list && **list) {
    size_t skipped = strspn(*list, " ,"), length = strcspn(*list + skipped, " ,");
    const char *start = *list + skipped;
    *list = start + length;
    if (!length || length > 255) continue;
    memcpy(name, start, length);
    name[length] = '\0';
    uint32_t k = hr__case_find(world->dimensions.items, world->dimensions.n_items, name);
    if (k != HR__VOLCANO_NONE) return k;
  }
  return HR__VOLCANO_NONE;
}

/* Returns the member with the name `prefix` + `name` + `suffix`. */
static const cJSON *get_joined(const cJSON *object, const char *prefix, const char *name, const char *suffix) {
  char joined[600];
  snprintf(joined, sizeof joined, "%s%s%s", prefix, name, suffix);
  return hr__case_get(object, joined);
}

/* ---- Arguments of plug-ins ---- */

/* Returns a weight, or the default of 1 if it is negative. */
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

/* Returns the strategy of a resource; NULL: none. `resources` has strategies by name of a resource and by pattern
   "PREFIX*". The name has precedence, and then the longest pattern that matches. */
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
      if (hr__case_text_is(found, "type", "MostAllocated")) strategy->most_allocated |= (uint32_t)1 << k;
    }
  }
  read_scarce(world, hr__case_get(arguments, "sra"), strategy);
  read_proportional(world, hr__case_get(arguments, "proportional"), strategy);
}

/* Returns a time of the day such as "9:30" in minutes since midnight; -1 if it is malformed. Minutes must have two
   digits. */
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
  weights->topology_spread = whole_of(arguments, "podtopologyspread.weight", weights->topology_spread);
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
  const cJSON *list = hr__case_get(run, "registered_plugins");
  return !list || hr__case_list_has(list, name);
}

static uint32_t read_enabled(const cJSON *json) {
  uint32_t enabled = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(json, "enabled")) {
    uint32_t at = hr__case_find(hr__volcano_callback_names, HR__VOLCANO_N_CALLBACKS, item->valuestring);
    if (at != HR__VOLCANO_NONE) enabled |= (uint32_t)1 << at;
  }
  return enabled;
}

static void read_plugin(struct hr__volcano_case *world, const cJSON *json, uint32_t tier,
                        struct hr__volcano_plugin *plugins) {
  const char *name = hr__case_text(json, "name", "");
  if (!is_registered(hr__case_get(world->verdict->whole, "run"), name)) return;
  uint32_t id = hr__case_find(hr__volcano_plugin_names, HR__VOLCANO_N_PLUGINS, name);
  if (id == HR__VOLCANO_NONE) {
    /* Without hypernodes the plug-in for network topology has no effect. */
    bool is_topology = strcmp(name, "network-topology-aware") == 0;
    if (is_topology && !hr__case_count(hr__case_get(world->verdict->whole, "cluster"), "hypernodes")) return;
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
    uint32_t at = hr__case_find(hr__volcano_action_names, HR__VOLCANO_N_ACTIONS, item->valuestring);
    if (at == HR__VOLCANO_NONE)
      world->verdict->malformed = "an unknown action";
    else
      actions[world->config.n_actions++] = (enum hr__volcano_action)at;
  }
  world->config.actions = actions;
  cJSON_ArrayForEach(item, hr__case_get(run, "action_config")) {
    const cJSON *arguments = hr__case_get(item, "arguments");
    if (!hr__case_text_is(item, "name", "preempt")) continue;
    world->config.topology_aware_preemption = flag_of(arguments, "enableTopologyAwarePreemption", false);
    world->config.candidate_percent = whole_of(arguments, "minCandidateNodesPercentage", 10);
    world->config.min_candidates = whole_of(arguments, "minCandidateNodesAbsolute", 1);
    world->config.max_candidates = whole_of(arguments, "maxCandidateNodesAbsolute", 100);
  }
}

void hr__volcano_read_config(struct hr__volcano_case *world) {
  const cJSON *run = hr__case_get(world->verdict->whole, "run"), *tier, *item;
  world->config = hr__volcano_default_config();
  world->config.minute_of_day = 12 * 60; /* noon; the windows of the cases begin at midnight */
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

/* ---- Nodes --------------------------------------------------------------------------------------------- */

/*
 * A pod accepts a node if its node selector, its required node affinity, its tolerations and its volumes allow the
 * node. The model gets the accepted nodes as a bit set. It gets preferred node affinity and the taints with the effect
 * PreferNoSchedule as scores of nodes.
 */

#define METRICS_ARE_FRESH_MIN 5

/* ---- Nodes ---- */

/* Returns the node group of a node; NULL: none. The cases may have the name of Volcano's constant instead of the name
   of the label. */
static const char *group_of(const cJSON *labels) {
  return hr__case_text(labels, "NodeGroupNameKey", hr__case_text(labels, "volcano.sh/nodegroup-name", NULL));
}

/* Returns whether a measurement is at most 5 minutes old. Its time is a Go expression such as "time.Now()" or
   "*(-6, time.Minute)". */
static bool is_fresh(const cJSON *time) {
  if (!cJSON_IsString(time)) return false;
  if (strcmp(time->valuestring, "time.Now()") == 0) return true;
  const char *number = strchr(time->valuestring, '(');
  return number && -strtol(number + 1, NULL, 10) <= METRICS_ARE_FRESH_MIN;
}

/* Returns the first value of an object; NULL if the object is empty or NULL. */
static const cJSON *first_value(const cJSON *object) {
  return object ? object->child : NULL;
}

static void read_node_usage(const cJSON *usage, struct hr__volcano_node *node) {
  const cJSON *cpu = first_value(hr__case_get(usage, "CPUUsageAvg"));
  const cJSON *memory = first_value(hr__case_get(usage, "MEMUsageAvg"));
  node->usage_is_fresh = is_fresh(hr__case_get(usage, "MetricsTime"));
  node->has_cpu_usage = cJSON_IsNumber(cpu);
  node->has_memory_usage = cJSON_IsNumber(memory);
  if (node->has_cpu_usage) node->cpu_usage = cpu->valuedouble;
  if (node->has_memory_usage) node->memory_usage = memory->valuedouble;
}

void hr__volcano_read_nodes(struct hr__volcano_case *world) {
  const cJSON *cluster = hr__case_get(world->verdict->whole, "cluster"), *list = hr__case_get(cluster, "nodes"), *item;
  const cJSON *usage =
      hr__case_get(hr__case_get(hr__case_get(world->verdict->whole, "expect"), "custom"), "nodesUsageMap");
  uint32_t n = hr__case_count(cluster, "nodes"), at = 0;
  struct hr__volcano_node *nodes = hr__verdict_alloc(world->verdict, n, sizeof *nodes);
  world->node_names = hr__verdict_alloc(world->verdict, n, sizeof *world->node_names);
  world->node_json = hr__verdict_alloc(world->verdict, n, sizeof *world->node_json);
  if (world->verdict->no_memory) return;
  cJSON_ArrayForEach(item, list) {
    const cJSON *labels = hr__case_get(item, "labels");
    const char *name = hr__case_text(item, "name", ""), *group = group_of(labels);
    const char *zone = hr__case_text(labels, "volcano.sh/revocable-zone", NULL);
    nodes[at].allocatable = hr__volcano_read_vector(world, hr__case_get(item, "allocatable"));
    nodes[at].group = group ? hr__volcano_intern(world, &world->groups, group) : HR__VOLCANO_NONE;
    nodes[at].zone = zone && zone[0] ? hr__volcano_intern(world, &world->zones, zone) : HR__VOLCANO_NONE;
    read_node_usage(hr__case_get(usage, name), &nodes[at]);
    world->node_names[at] = name;
    world->node_json[at++] = item;
  }
  world->snapshot.nodes = nodes;
  world->snapshot.n_nodes = n;
}

/* ---- Node groups of queues ---- */

static struct hr__volcano_id_list read_group_list(struct hr__volcano_case *world, const cJSON *list) {
  struct hr__volcano_id_list result = {0};
  uint32_t n = list ? (uint32_t)cJSON_GetArraySize(list) : 0;
  uint32_t *ids = hr__verdict_alloc(world->verdict, n, sizeof *ids);
  const cJSON *item;
  if (ids)
    cJSON_ArrayForEach(item, list) if (cJSON_IsString(item)) ids[result.n_ids++] =
        hr__volcano_intern(world, &world->groups, item->valuestring);
  result.ids = ids;
  return result;
}

/* Reads the limits of a queue in its node groups. They are a JSON text in an annotation, such as
   {"group1": {"cpu": "3", "memory": "8Gi"}}. The parsed text is freed at the end, because the names of groups and
   resources become indices. Unknown resources are ignored. */
static void read_limits(struct hr__volcano_case *world, const char *text, struct hr__volcano_queue *queue) {
  cJSON *tree = cJSON_Parse(text);
  const cJSON *item, *resource;
  uint32_t n = tree ? (uint32_t)cJSON_GetArraySize(tree) : 0;
  struct hr__volcano_group_limit *limits = hr__verdict_alloc(world->verdict, n, sizeof *limits);
  queue->group_limits_are_invalid = !cJSON_IsObject(tree);
  if (limits) cJSON_ArrayForEach(item, tree) {
      struct hr__volcano_group_limit *limit = &limits[queue->n_group_limits++];
      limit->group = hr__case_find(world->groups.items, world->groups.n_items, item->string);
      hr__volcano_clear(&limit->limit);
      cJSON_ArrayForEach(resource, item) {
        uint32_t k = hr__case_find(world->dimensions.items, world->dimensions.n_items, resource->string);
        if (k == HR__VOLCANO_NONE) continue;
        double amount = cJSON_IsString(resource) ? hr__volcano_quantity(resource->valuestring) : resource->valuedouble;
        hr__volcano_set(&limit->limit, k, amount * (k == HR__VOLCANO_MEMORY || k == HR__VOLCANO_PODS ? 1 : 1000));
        if (k == HR__VOLCANO_CPU) limit->limits_cpu = true;
        if (k == HR__VOLCANO_MEMORY) limit->limits_memory = true;
      }
    }
  queue->group_limits = limits;
  cJSON_Delete(tree);
}

void hr__volcano_read_groups(struct hr__volcano_case *world, const cJSON *json, struct hr__volcano_queue *queue) {
  static const char required[] = "RequiredDuringSchedulingIgnoredDuringExecution";
  static const char preferred[] = "PreferredDuringSchedulingIgnoredDuringExecution";
  const cJSON *annotations = hr__case_get(json, "annotations"), *affinity = hr__case_get(json, "affinity");
  const char *limits = hr__case_text(annotations, "NodeGroupResourceLimitsAnnotationKey",
                                     hr__case_text(annotations, "volcano.sh/nodegroup-resource-limits", NULL));
  if (limits && limits[0]) read_limits(world, limits, queue);
  if (!affinity) return;
  const cJSON *with = hr__case_get(affinity, "NodeGroupAffinity"),
              *without = hr__case_get(affinity, "NodeGroupAntiAffinity");
  struct hr__volcano_node_groups *groups = hr__verdict_alloc(world->verdict, 1, sizeof *groups);
  if (!groups) return;
  groups->required = read_group_list(world, hr__case_get(with, required));
  groups->preferred = read_group_list(world, hr__case_get(with, preferred));
  groups->anti_required = read_group_list(world, hr__case_get(without, required));
  groups->anti_preferred = read_group_list(world, hr__case_get(without, preferred));
  queue->groups = groups;
}

/* ---- Selectors ---- */

/* Returns a member of an object of Kubernetes; NULL if it is missing or null. The case of letters is ignored, because
   keys are spelled as in Go (Key) or as in JSON (key). */
static const cJSON *field(const cJSON *object, const char *name) {
  const cJSON *value = cJSON_IsObject(object) ? cJSON_GetObjectItem(object, name) : NULL;
  return cJSON_IsNull(value) ? NULL : value;
}

static const char *field_text(const cJSON *object, const char *name) {
  const cJSON *value = field(object, name);
  return cJSON_IsString(value) ? value->valuestring : "";
}

/* Returns whether labels match an expression {Key, Operator, Values}. The operator may have the prefix of the Go
   constants, such as NodeSelectorOpIn. */
static bool matches_expression(const cJSON *expression, const cJSON *labels) {
  const char *operator_name = field_text(expression, "Operator");
  const char *value = hr__case_text(labels, field_text(expression, "Key"), NULL);
  const cJSON *values = field(expression, "Values");
  static const char prefix[] = "NodeSelectorOp";
  if (strncmp(operator_name, prefix, sizeof prefix - 1) == 0) operator_name += sizeof prefix - 1;
  if (strcmp(operator_name, "In") == 0) return value && hr__case_list_has(values, value);
  if (strcmp(operator_name, "NotIn") == 0) return !value || !hr__case_list_has(values, value);
  if (strcmp(operator_name, "Exists") == 0) return value;
  if (strcmp(operator_name, "DoesNotExist") == 0) return !value;
  const cJSON *limit = cJSON_GetArrayItem(values, 0);
  if (!value || !cJSON_IsString(limit)) return false;
  long long own = strtoll(value, NULL, 10), bound = strtoll(limit->valuestring, NULL, 10);
  return strcmp(operator_name, "Gt") == 0 ? own > bound : own < bound;
}

/* Returns whether a node matches a term of node affinity. A term without expressions matches no node. The only field of
   a node that "MatchFields" may contain is metadata.name. */
static bool matches_term(const cJSON *term, const cJSON *node) {
  const cJSON *expressions = field(term, "MatchExpressions"), *fields = field(term, "MatchFields"), *item;
  if (!cJSON_GetArraySize(expressions) && !cJSON_GetArraySize(fields)) return false;
  cJSON_ArrayForEach(item, expressions) if (!matches_expression(item, hr__case_get(node, "labels"))) return false;
  cJSON_ArrayForEach(item, fields) {
    bool is_named = hr__case_list_has(field(item, "Values"), hr__case_text(node, "name", ""));
    bool excludes = strstr(field_text(item, "Operator"), "NotIn");
    if (strcmp(field_text(item, "Key"), "metadata.name") != 0 || is_named == excludes) return false;
  }
  return true;
}

static bool matches_selector(const cJSON *pod, const cJSON *node) {
  const cJSON *item;
  if (!hr__case_has_labels(hr__case_get(node, "labels"), hr__case_get(pod, "node_selector"))) return false;
  const cJSON *affinity = field(hr__case_get(pod, "affinity"), "NodeAffinity");
  const cJSON *required = field(affinity, "RequiredDuringSchedulingIgnoredDuringExecution");
  if (!required) return true;
  cJSON_ArrayForEach(item, field(required, "NodeSelectorTerms")) if (matches_term(item, node)) return true;
  return false;
}

/* ---- Taints ---- */

/* Returns a member that is a text, without the prefix of the Go constants. */
static const char *short_text(const cJSON *object, const char *key, const char *prefix) {
  const char *text = field_text(object, key);
  return strncmp(text, prefix, strlen(prefix)) == 0 ? text + strlen(prefix) : text;
}

/* Returns whether the pod has a toleration {Key, Operator, Value, Effect} for the taint {Key, Value, Effect}. */
static bool tolerates(const cJSON *pod, const cJSON *taint) {
  const char *key = field_text(taint, "Key"), *effect = short_text(taint, "Effect", "TaintEffect");
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(pod, "tolerations")) {
    const char *own_key = field_text(item, "Key"), *own_effect = short_text(item, "Effect", "TaintEffect");
    bool exists = strcmp(short_text(item, "Operator", "TolerationOp"), "Exists") == 0;
    if (own_effect[0] && strcmp(own_effect, effect) != 0) continue;
    if (own_key[0] ? strcmp(own_key, key) != 0 : !exists) continue;
    if (exists || strcmp(field_text(item, "Value"), field_text(taint, "Value")) == 0) return true;
  }
  return false;
}

/* Returns the number of taints of the node that the pod does not tolerate. If `preferences` is set, counts the taints
   with the effect PreferNoSchedule; otherwise counts all others. */
static int64_t count_taints(const cJSON *pod, const cJSON *node, bool preferences) {
  const cJSON *item;
  int64_t n = 0;
  cJSON_ArrayForEach(item, hr__case_get(node, "taints")) {
    bool is_preference = strcmp(short_text(item, "Effect", "TaintEffect"), "PreferNoSchedule") == 0;
    n += is_preference == preferences && !tolerates(pod, item);
  }
  return n;
}

/* Sets the avoidance of each node by the pod: the number of PreferNoSchedule taints that the pod does not tolerate,
   scaled so that the highest value is 100. Without such taints, `task->avoidance` remains NULL. */
static void read_avoidance(struct hr__volcano_case *world, const cJSON *pod, struct hr__volcano_task *task) {
  int64_t most = 0;
  for (uint32_t i = 0; i < world->snapshot.n_nodes; i++) {
    int64_t n = count_taints(pod, world->node_json[i], true);
    if (n > most) most = n;
  }
  if (!most) return;
  int64_t *avoidance = hr__verdict_alloc(world->verdict, world->snapshot.n_nodes, sizeof *avoidance);
  if (!avoidance) return;
  for (uint32_t i = 0; i < world->snapshot.n_nodes; i++)
    avoidance[i] = count_taints(pod, world->node_json[i], true) * 100 / most;
  task->avoidance = avoidance;
}

/* ---- Volumes ---- */

/* Returns the object with a name and a namespace; NULL: not found. If `name_space` is NULL, any namespace matches. */
static const cJSON *find_object(const cJSON *list, const char *name_space, const char *name) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    const cJSON *meta = hr__case_get(item, "ObjectMeta");
    if (strcmp(hr__case_text(meta, "Name", ""), name) != 0) continue;
    if (!name_space || strcmp(hr__case_text(meta, "Namespace", ""), name_space) == 0) return item;
  }
  return NULL;
}

/* Returns whether there is a volume with the storage class of the claim and at least its size, or a volume will be
   provisioned. Does not check whether the volume is bound to another claim. */
static bool can_bind(const cJSON *cluster, const cJSON *claim, const cJSON *storage_class) {
  const char *class_name = hr__case_text(hr__case_get(claim, "Spec"), "StorageClassName", "");
  double wanted = hr__case_real(hr__case_get(hr__case_get(hr__case_get(claim, "Spec"), "Resources"), "Requests"),
                                "ResourceStorage", 0);
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(cluster, "PVs")) {
    const cJSON *spec = hr__case_get(item, "Spec");
    if (strcmp(hr__case_text(spec, "StorageClassName", ""), class_name) == 0 &&
        hr__case_real(hr__case_get(spec, "Capacity"), "ResourceStorage", 0) >= wanted)
      return true;
  }
  const char *provisioner = hr__case_text(storage_class, "Provisioner", "");
  return provisioner[0] && strcmp(provisioner, "kubernetes.io/no-provisioner") != 0;
}

/* Returns whether each claim of the pod is bound, or can be bound when its first pod is scheduled. In the second case,
   the pod is bound only after its volume, so task_waits_for_volume is set. */
static bool volumes_allow(struct hr__volcano_case *world, const cJSON *pod, uint32_t task) {
  const cJSON *cluster = hr__case_get(world->verdict->whole, "cluster"), *volume;
  const char *name = hr__case_text(pod, "name", ""), *slash = strchr(name, '/');
  char name_space[256] = "";
  if (slash && (size_t)(slash - name) < sizeof name_space) memcpy(name_space, name, (size_t)(slash - name));
  cJSON_ArrayForEach(volume, hr__case_get(pod, "volumes")) {
    const cJSON *source = hr__case_get(hr__case_get(volume, "VolumeSource"), "PersistentVolumeClaim");
    if (!source) continue;
    const cJSON *claim = find_object(hr__case_get(cluster, "PVCs"), name_space, hr__case_text(source, "ClaimName", ""));
    if (!claim) return false;
    if (hr__case_text(hr__case_get(claim, "Spec"), "VolumeName", "")[0]) continue;
    const cJSON *storage_class = find_object(hr__case_get(cluster, "SCs"), NULL,
                                             hr__case_text(hr__case_get(claim, "Spec"), "StorageClassName", ""));
    if (!strstr(hr__case_text(storage_class, "VolumeBindingMode", ""), "WaitForFirstConsumer")) return false;
    if (!can_bind(cluster, claim, storage_class)) return false;
    world->task_waits_for_volume[task] = true;
  }
  return true;
}

/* ---- Pods ---- */

static void read_preference(struct hr__volcano_case *world, const cJSON *pod, struct hr__volcano_task *task) {
  const cJSON *affinity = field(hr__case_get(pod, "affinity"), "NodeAffinity");
  const cJSON *preferred = field(affinity, "PreferredDuringSchedulingIgnoredDuringExecution"), *item;
  if (!preferred) return;
  int64_t *scores = hr__verdict_alloc(world->verdict, world->snapshot.n_nodes, sizeof *scores);
  if (!scores) return;
  for (uint32_t i = 0; i < world->snapshot.n_nodes; i++)
    cJSON_ArrayForEach(item, preferred) if (matches_term(field(item, "Preference"), world->node_json[i])) scores[i] +=
        hr__case_value_whole(field(item, "Weight"), 0);
  task->preference = scores;
}

/* ---- Topology spread constraints ---- */

/* Returns whether a selector {MatchLabels, MatchExpressions} matches labels. NULL matches nothing. */
static bool selects(const cJSON *selector, const cJSON *labels) {
  const cJSON *item;
  if (!selector || !hr__case_has_labels(labels, field(selector, "MatchLabels"))) return false;
  cJSON_ArrayForEach(item, field(selector, "MatchExpressions")) if (!matches_expression(item, labels)) return false;
  return true;
}

static const cJSON *spread_list(const cJSON *pod) {
  const cJSON *list = field(pod, "topology_spread_constraints");
  if (!list) list = field(pod, "TopologySpreadConstraints");
  return list ? list : field(pod, "topology_spread");
}

/* Numbers the distinct values of the label `key` of the nodes, and sets the number for each node; HR__VOLCANO_NONE: the
   node does not have the label. Returns the number of distinct values. */
static uint32_t number_domains(const struct hr__volcano_case *world, const char *key, uint32_t *domains) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < world->snapshot.n_nodes; i++) {
    const char *value = hr__case_text(hr__case_get(world->node_json[i], "labels"), key, NULL);
    domains[i] = value ? n : HR__VOLCANO_NONE;
    for (uint32_t k = 0; value && k < i; k++)
      if (domains[k] != HR__VOLCANO_NONE &&
          strcmp(hr__case_text(hr__case_get(world->node_json[k], "labels"), key, ""), value) == 0)
        domains[i] = domains[k];
    n += domains[i] == n;
  }
  return n;
}

static void read_spread(struct hr__volcano_case *world, const cJSON *json, uint32_t task,
                        struct hr__volcano_spread *spread) {
  const char *key = field_text(json, "TopologyKey");
  uint32_t *domains = hr__verdict_alloc(world->verdict, world->snapshot.n_nodes, sizeof *domains);
  uint64_t *matches = hr__verdict_alloc(world->verdict, world->snapshot.n_tasks / 64 + 1, sizeof *matches);
  if (!domains || !matches) return;
  for (uint32_t i = 0; i < world->snapshot.n_tasks; i++) {
    size_t length = strcspn(world->task_names[i], "/");
    bool is_near = strncmp(world->task_names[i], world->task_names[task], length + 1) == 0;
    if (is_near && selects(field(json, "LabelSelector"), hr__case_get(world->task_json[i], "labels")))
      matches[i / 64] |= UINT64_C(1) << i % 64;
  }
  *spread = (struct hr__volcano_spread){.domain = domains,
                                        .matches = matches,
                                        .n_domains = number_domains(world, key, domains),
                                        .max_skew = (int32_t)hr__case_value_whole(field(json, "MaxSkew"), 1),
                                        .min_domains = (int32_t)hr__case_value_whole(field(json, "MinDomains"), 1),
                                        .is_required =
                                            strstr(field_text(json, "WhenUnsatisfiable"), "ScheduleAnyway") == NULL,
                                        .matches_itself = matches[task / 64] >> task % 64 & 1,
                                        .is_by_node = strcmp(key, "kubernetes.io/hostname") == 0};
}

void hr__volcano_read_spread(struct hr__volcano_case *world, uint32_t task_index, struct hr__volcano_task *task) {
  const cJSON *list = spread_list(world->task_json[task_index]), *item;
  uint32_t n = list ? (uint32_t)cJSON_GetArraySize(list) : 0, at = 0;
  struct hr__volcano_spread *spread = hr__verdict_alloc(world->verdict, n, sizeof *spread);
  if (!n || !spread) return;
  cJSON_ArrayForEach(item, list) read_spread(world, item, task_index, &spread[at++]);
  if (world->verdict->no_memory) return;
  task->spread = spread;
  task->n_spread = n;
}

void hr__volcano_read_selectors(struct hr__volcano_case *world, const cJSON *json, uint32_t task_index,
                                struct hr__volcano_task *task) {
  uint32_t n = world->snapshot.n_nodes;
  read_preference(world, json, task);
  read_avoidance(world, json, task);
  bool has_volumes = volumes_allow(world, json, task_index), has_taints = false;
  for (uint32_t i = 0; i < n; i++) has_taints |= count_taints(json, world->node_json[i], false) > 0;
  if (has_volumes && !has_taints && !hr__case_count(json, "node_selector") && !hr__case_get(json, "affinity")) return;
  uint64_t *accepted = hr__verdict_alloc(world->verdict, n / 64 + 1, sizeof *accepted);
  if (!accepted) return;
  for (uint32_t i = 0; i < n; i++)
    if (has_volumes && !count_taints(json, world->node_json[i], false) && matches_selector(json, world->node_json[i]))
      accepted[i / 64] |= UINT64_C(1) << i % 64;
  task->nodes = accepted;
}
