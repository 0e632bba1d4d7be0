/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Imports Volcano: Queues and the configuration of the scheduler (volcano-scheduler.conf, also within a ConfigMap)
 * become the section `volcano` of a scenario. Nodes become pools. Amounts become CPUs, GiB of memory, and numbers of
 * other resources. Plug-ins and actions that are not modelled are left out, with notes. Without Nodes, one pool with
 * the GPUs of the top queues is assumed.
 *
 * Source: volcano-sh/volcano, staging/src/volcano.sh/apis/pkg/apis/scheduling/v1beta1, pkg/scheduler/conf.
 */

#include "headroom/unstable/systems/systems.h"
#include "scenarios/import/import.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- Fields ----------------------------------------------------------------------------------------- */

static const char *const queue_versions[] = {"v1beta1", NULL};

static const struct hr__field guarantee_fields[] = {{HR__USED("resource", AMOUNTS), .not_negative = true}, HR__END};
static const struct hr__field queue_spec[] = {{HR__USED("weight", WHOLE), .not_negative = true},
                                              {HR__USED("priority", WHOLE)},
                                              {HR__USED("reclaimable", BOOLEAN)},
                                              {HR__USED("parent", TEXT)},
                                              {HR__USED("capability", AMOUNTS), .not_negative = true},
                                              {HR__USED("deserved", AMOUNTS), .not_negative = true},
                                              {HR__USED("guarantee", OBJECT), .fields = guarantee_fields},
                                              HR__UNMODELLED("affinity", "the jobs of the queue use all nodes"),
                                              HR__UNMODELLED("extendClusters", "jobs are not sent to other clusters"),
                                              {HR__USED("dequeueStrategy", TEXT),
                                               .effect = "a job that does not fit does not stop its queue",
                                               .neutral = "traverse"},
                                              HR__IGNORED("type"),
                                              HR__END};
static const struct hr__field queue_status[] = {{HR__USED("state", TEXT)},  HR__IGNORED("unknown"),
                                                HR__IGNORED("pending"),     HR__IGNORED("running"),
                                                HR__IGNORED("inqueue"),     HR__IGNORED("completed"),
                                                HR__IGNORED("reservation"), HR__IGNORED("allocated"),
                                                HR__IGNORED("conditions"),  HR__END};
static const struct hr__field queue_fields[] = {
    {HR__USED("spec", OBJECT), .fields = queue_spec}, {HR__USED("status", OBJECT), .fields = queue_status}, HR__END};

/* The configuration of the scheduler. Options of plug-ins are checked with the table below. */
static const struct hr__field tier_fields[] = {HR__IGNORED("plugins"), HR__END};
static const struct hr__field config_fields[] = {
    {HR__USED("actions", TEXT)},
    {HR__USED("tiers", LIST), .fields = tier_fields},
    HR__UNMODELLED("configurations", "actions have their default arguments"),
    HR__IGNORED("metrics"),
    HR__END};

enum volcano_kind { VOLCANO_QUEUE, VOLCANO_CONFIG, N_VOLCANO_KINDS };
static const struct hr__object_kind kinds[N_VOLCANO_KINDS] = {
    [VOLCANO_QUEUE] = {"Queue", "scheduling.volcano.sh", queue_versions, queue_fields, false, false},
    [VOLCANO_CONFIG] = {"configuration of the scheduler", "", hr__version_1, config_fields, true, false}};

/* ---- Queues ----------------------------------------------------------------------------------------- */

/* Returns an amount in the unit of the scenario: CPUs, GiB of memory, or the number of another resource. */
static double amount_of(const struct hr__yaml *amount) {
  int64_t value = 0;
  if (strcmp(amount->key, "memory") == 0)
    return hr__quantity(amount->text, &value) ? (double)value / (double)(1 << 30) : 0;
  return hr__quantity_milli(amount->text, &value) ? (double)value / 1000 : 0;
}

/* Adds the amount or the weight of a resource to a list. */
static void put_pair(struct hr__import *import, cJSON *list, const char *resource, const char *key, double number) {
  cJSON *object = hr__put_object(import, list, NULL);
  hr__put_text(import, object, "resource", resource);
  hr__put_number(import, object, key, number);
}

/* Copies amounts of resources to the list `key`. Fails if an amount is above the capability of the queue. `capability`
   NULL: the queue has no limits. */
static enum hr_status put_amounts(struct hr__import *import, cJSON *to, const char *key, const struct hr__object *queue,
                                  const struct hr__yaml *amounts, const struct hr__yaml *capability) {
  if (!amounts || !amounts->first) return HR_OK;
  cJSON *list = hr__put_list(import, to, key);
  for (const struct hr__yaml *amount = amounts->first; amount; amount = amount->next) {
    const struct hr__yaml *limit = hr__yaml_child(capability, amount->key);
    if (limit && amount_of(amount) > amount_of(limit))
      return hr__object_fail(&import->objects, queue, amount,
                             "%s of %.80s: found %.40s, expected at most the capability, %.40s", key, amount->key,
                             amount->text, limit->text);
    put_pair(import, list, amount->key, "amount", amount_of(amount));
  }
  return HR_OK;
}

static enum hr_status put_queue(struct hr__import *import, cJSON *list, const struct hr__object *queue) {
  const struct hr__yaml *capability = hr__yaml_at(queue->root, "spec.capability");
  const char *state = hr__yaml_text(queue->root, "status.state"), *weight = hr__yaml_text(queue->root, "spec.weight");
  cJSON *object = hr__put_named(import, list, queue->name);
  hr__copy_text(import, object, "parent", queue->root, "spec.parent");
  if (weight && strtod(weight, NULL) >= 1) hr__copy_number(import, object, "weight", queue->root, "spec.weight");
  hr__copy_number(import, object, "priority", queue->root, "spec.priority");
  hr__copy_boolean(import, object, "reclaimable", queue->root, "spec.reclaimable");
  if (state && (strcmp(state, "Closed") == 0 || strcmp(state, "Closing") == 0))
    hr__put_boolean(import, object, "closed", true);
  enum hr_status status = hr__objects_check_parents(&import->objects, queue, "spec.parent", "root");
  if (status == HR_OK) status = put_amounts(import, object, "capability", queue, capability, NULL);
  if (status == HR_OK)
    status = put_amounts(import, object, "deserved", queue, hr__yaml_at(queue->root, "spec.deserved"), capability);
  if (status != HR_OK) return status;
  return put_amounts(import, object, "guarantee", queue, hr__yaml_at(queue->root, "spec.guarantee.resource"),
                     capability);
}

/* ---- Arguments of plug-ins -------------------------------------------------------------------------- */

/* Arguments of plug-ins that become keys of the scenario. */
static const struct argument {
  const char *plugin, *name, *key;
  bool is_duration;
} arguments[] = {{"overcommit", "overcommit-factor", "overcommit_factor", false},
                 {"sla", "sla-waiting-time", "sla_waiting_time_s", true},
                 {"capacity", "ancestorReclaimLevel", "ancestor_reclaim_level", false},
                 {"nodeorder", "leastrequested.weight", "least_requested_weight", false},
                 {"nodeorder", "mostrequested.weight", "most_requested_weight", false},
                 {"nodeorder", "balancedresource.weight", "balanced_resource_weight", false},
                 {"binpack", "binpack.weight", "weight", false}};

/* Weights of scores that depend on properties of pods. A trace does not contain these properties, so the scores are
   equal for all nodes. */
static const char *const neutral_arguments[] = {"nodeaffinity.weight",      "podaffinity.weight",
                                                "tainttoleration.weight",   "imagelocality.weight",
                                                "podtopologyspread.weight", NULL};

static const struct argument *find_argument(const char *plugin, const char *name) {
  for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
    if (strcmp(arguments[i].plugin, plugin) == 0 && strcmp(arguments[i].name, name) == 0) return &arguments[i];
  return NULL;
}

static bool is_in(const char *word, const char *const *list) {
  while (*list && strcmp(*list, word) != 0) list++;
  return *list != NULL;
}

static bool begins_with(const char *text, const char *head) {
  return strncmp(text, head, strlen(head)) == 0;
}

/* Reads an argument that is a number of at least 0 or, if `is_duration` is set, a duration in seconds. Fails if it is
   not valid. */
static enum hr_status read_number(const struct hr__import *import, const struct hr__object *config,
                                  const struct hr__yaml *value, bool is_duration, double *number) {
  char *end = NULL;
  int64_t us = 0;
  bool right = value->kind == HR__YAML_SCALAR;
  if (right && is_duration) right = hr__duration(value->text, &us);
  *number = right && !is_duration ? strtod(value->text, &end) : (double)us / 1e6;
  if (right && !is_duration) right = end != value->text && !*end && *number >= 0;
  if (right) return HR_OK;
  return hr__object_fail(&import->objects, config, value, "%.80s: found '%.60s', expected %s", value->key, value->text,
                         is_duration ? "a duration, such as 1h2m" : "a number of at least 0");
}

/* Adds the weight of a resource for the plug-in binpack, from its argument "binpack.cpu", "binpack.memory" or
   "binpack.resources.NAME". */
static enum hr_status put_weight(struct hr__import *import, cJSON *plugin, const struct hr__object *config,
                                 const struct hr__yaml *value, const char *resource) {
  double weight;
  enum hr_status status = read_number(import, config, value, false, &weight);
  if (status != HR_OK) return status;
  put_pair(import, hr__list_at(import, plugin, "resources"), resource, "weight", weight);
  return HR_OK;
}

/* Adds the resources in the list "binpack.resources" that have no argument with their weight. Their weight is 1. */
static void put_listed(struct hr__import *import, cJSON *plugin, const struct hr__yaml *all, const char *names) {
  while (*names) {
    char name[200], key[240];
    names += strspn(names, " ,");
    size_t length = strcspn(names, " ,");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), names);
    names += length;
    snprintf(key, sizeof key, "binpack.resources.%s", name);
    if (!name[0] || hr__yaml_child(all, key)) continue;
    put_pair(import, hr__list_at(import, plugin, "resources"), name, "weight", 1);
  }
}

static enum hr_status put_argument(struct hr__import *import, cJSON *plugin, const char *name,
                                   const struct hr__object *config, const struct hr__yaml *value) {
  static const char prefix[] = "binpack.resources.";
  const struct argument *argument = find_argument(name, value->key);
  double number;
  if (argument) {
    enum hr_status status = read_number(import, config, value, argument->is_duration, &number);
    if (status == HR_OK) hr__put_number(import, plugin, argument->key, number);
    return status;
  }
  if (strcmp(name, "binpack") == 0 && begins_with(value->key, prefix))
    return put_weight(import, plugin, config, value, value->key + sizeof prefix - 1);
  if (strcmp(name, "binpack") == 0 && strcmp(value->key, "binpack.resources") == 0) return HR_OK;
  if (strcmp(name, "binpack") == 0 && is_in(value->key, (const char *const[]){"binpack.cpu", "binpack.memory", NULL}))
    return put_weight(import, plugin, config, value, value->key + strlen("binpack."));
  if (is_in(value->key, neutral_arguments)) return HR_OK;
  return hr__object_note(&import->objects, config, value, "the argument '%.80s' of plug-in %.60s is not modelled",
                         value->key, name);
}

static enum hr_status put_arguments(struct hr__import *import, cJSON *plugin, const char *name,
                                    const struct hr__object *config, const struct hr__yaml *all) {
  enum hr_status status = HR_OK;
  if (all && all->kind != HR__YAML_MAP)
    return hr__object_fail(&import->objects, config, all, "arguments of plug-in %.60s: expected an object", name);
  for (const struct hr__yaml *value = all ? all->first : NULL; value && status == HR_OK; value = value->next)
    status = put_argument(import, plugin, name, config, value);
  const struct hr__yaml *names = strcmp(name, "binpack") == 0 ? hr__yaml_child(all, "binpack.resources") : NULL;
  if (status == HR_OK && names && names->kind == HR__YAML_SCALAR) put_listed(import, plugin, all, names->text);
  return status;
}

/* ---- Plug-ins and actions --------------------------------------------------------------------------- */

#define WORD(name, text) text,
static const char *const plugin_names[] = {HR_VOLCANO_PLUGIN_TABLE(WORD) NULL};
static const char *const callback_names[] = {HR_VOLCANO_CALLBACK_TABLE(WORD) NULL};
static const char *const action_names[] = {HR_VOLCANO_ACTION_TABLE(WORD) NULL};
#undef WORD

/* Finds the callback that an option such as enableJobOrder or enabledOverused turns on or off. Writes the name of the
   callback in the scenario, such as "jobOrder", to `name`. Returns false if no known callback belongs to the option. */
static bool callback_of(const char *option, char name[60]) {
  const char *head = begins_with(option, "enabled")  ? option + strlen("enabled")
                     : begins_with(option, "enable") ? option + strlen("enable")
                                                     : option;
  if (head == option || !*head) return false;
  snprintf(name, 60, "%s", head);
  if (name[0] >= 'A' && name[0] <= 'Z') name[0] = (char)(name[0] - 'A' + 'a');
  return is_in(name, callback_names);
}

/* Reads an option of a plug-in: any member except "name" and "arguments". */
static enum hr_status put_option(struct hr__import *import, cJSON *plugin, const char *name,
                                 const struct hr__object *config, const struct hr__yaml *value) {
  char callback[60];
  bool known = callback_of(value->key, callback), hierarchy = strcmp(value->key, "enableHierarchy") == 0;
  if (!known && !hierarchy && !begins_with(value->key, "enable"))
    return hr__objects_note(&import->objects,
                            "warning: %.200s:%" PRIu32 ":%" PRIu32 ": plug-in %.60s: unknown field '%.60s' is ignored",
                            value->path, value->key_line, value->key_column, name, value->key);
  if (value->kind != HR__YAML_SCALAR || hr__yaml_type_of(value) != HR__YAML_BOOLEAN)
    return hr__object_fail(&import->objects, config, value,
                           "%.60s of plug-in %.60s: found '%.60s', expected true or false", value->key, name,
                           value->text);
  bool on = hr__is_true(value);
  if (hierarchy && strcmp(name, "capacity") == 0) {
    hr__put_boolean(import, plugin, "enable_hierarchy", on);
    return HR_OK;
  }
  if (known && !on) hr__put_text(import, hr__list_at(import, plugin, "disable"), NULL, callback);
  if (known || (!on && hierarchy)) return HR_OK;
  return hr__object_note(&import->objects, config, value, "%.60s of plug-in %.60s is not modelled", value->key, name);
}

static enum hr_status put_plugin(struct hr__import *import, cJSON *list, const struct hr__object *config,
                                 const struct hr__yaml *entry) {
  const struct hr__yaml *name = hr__yaml_child(entry, "name");
  if (!name || name->kind != HR__YAML_SCALAR)
    return hr__object_fail(&import->objects, config, entry, "a plug-in without 'name'");
  if (!is_in(name->text, plugin_names))
    return hr__object_note(&import->objects, config, name,
                           "plug-in '%.60s' is not modelled: it is left out, so it takes part in no decision",
                           name->text);
  cJSON *plugin = hr__put_object(import, list, NULL);
  hr__put_text(import, plugin, "name", name->text);
  enum hr_status status = HR_OK;
  for (const struct hr__yaml *value = entry->first; value && status == HR_OK; value = value->next)
    if (value != name && strcmp(value->key, "arguments") != 0)
      status = put_option(import, plugin, name->text, config, value);
  if (status != HR_OK) return status;
  return put_arguments(import, plugin, name->text, config, hr__yaml_child(entry, "arguments"));
}

/* Fails if a plug-in is listed twice. */
static enum hr_status check_twice(const struct hr__import *import, const struct hr__object *config) {
  uint32_t seen = 0;
  for (const struct hr__yaml *tier = hr__yaml_first(config->root, "tiers"); tier; tier = tier->next)
    for (const struct hr__yaml *entry = hr__yaml_first(tier, "plugins"); entry; entry = entry->next) {
      const struct hr__yaml *name = hr__yaml_child(entry, "name");
      for (uint32_t i = 0; name && plugin_names[i]; i++) {
        if (strcmp(plugin_names[i], name->text) != 0) continue;
        if (seen >> i & 1)
          return hr__object_fail(&import->objects, config, name, "plug-in '%.60s' is listed twice", name->text);
        seen |= UINT32_C(1) << i;
      }
    }
  return HR_OK;
}

static enum hr_status put_tiers(struct hr__import *import, cJSON *section, const struct hr__object *config) {
  enum hr_status status = check_twice(import, config);
  cJSON *tiers = hr__put_list(import, section, "tiers");
  for (const struct hr__yaml *tier = hr__yaml_first(config->root, "tiers"); tier && status == HR_OK;
       tier = tier->next) {
    const struct hr__yaml *plugins = hr__yaml_child(tier, "plugins");
    if (!plugins || plugins->kind != HR__YAML_LIST)
      return hr__object_fail(&import->objects, config, tier, "a tier without 'plugins'; expected a list of plug-ins");
    cJSON *list = hr__put_list(import, hr__put_object(import, tiers, NULL), "plugins");
    for (const struct hr__yaml *entry = plugins->first; entry && status == HR_OK; entry = entry->next)
      status = put_plugin(import, list, config, entry);
  }
  hr__drop_empty(section, "tiers");
  return status;
}

/* Copies the actions, which are a text such as "enqueue, allocate, backfill". */
static enum hr_status put_actions(struct hr__import *import, cJSON *section, const struct hr__object *config) {
  const struct hr__yaml *actions = hr__yaml_child(config->root, "actions");
  enum hr_status status = HR_OK;
  cJSON *list = actions ? hr__put_list(import, section, "actions") : NULL;
  for (const char *at = actions ? actions->text : ""; *at && status == HR_OK;) {
    char name[60];
    at += strspn(at, " ,");
    size_t length = strcspn(at, " ,");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), at);
    at += length;
    if (!name[0]) break;
    if (is_in(name, action_names))
      hr__put_text(import, list, NULL, name);
    else
      status = hr__object_note(&import->objects, config, actions, "the action '%.60s' is not modelled: it is left out",
                               name);
  }
  hr__drop_empty(section, "actions");
  return status;
}

static enum hr_status put_config(struct hr__import *import, cJSON *section) {
  const struct hr__object *config;
  enum hr_status status = hr__objects_only(&import->objects, &kinds[VOLCANO_CONFIG], &config);
  if (status != HR_OK || !config) return status;
  status = put_actions(import, section, config);
  return status == HR_OK ? put_tiers(import, section, config) : status;
}

/* ---- Nodes ------------------------------------------------------------------------------------------ */

/* Finds the GPU resource: the first resource in the amounts of queues with a name that ends with "gpu". */
static void find_gpu_resource(struct hr__import *import) {
  static const char *const lists[] = {"spec.capability", "spec.deserved", "spec.guarantee.resource"};
  const struct hr__object *queue = NULL;
  import->gpu_resource = "nvidia.com/gpu";
  while ((queue = hr__import_next(import, VOLCANO_QUEUE, queue)))
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
      for (const struct hr__yaml *amount = hr__yaml_first(queue->root, lists[i]); amount; amount = amount->next) {
        if (!hr__ends_with(amount->key, "gpu")) continue;
        import->gpu_resource = amount->key;
        return;
      }
}

/* Returns the number of GPUs of all top queues: the first of three sums that is at least 1. The sums are those of their
   deserved GPUs, of their capabilities, and of their guarantees. 0: all sums are below 1. */
static double gpus_of_queues(const struct hr__import *import) {
  static const char *const lists[] = {"spec.deserved", "spec.capability", "spec.guarantee.resource"};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    const struct hr__object *queue = NULL;
    double gpus = 0;
    while ((queue = hr__import_next(import, VOLCANO_QUEUE, queue))) {
      const struct hr__yaml *gpu = hr__yaml_child(hr__yaml_at(queue->root, lists[i]), import->gpu_resource);
      if (gpu && !hr__object_parent(queue, "spec.parent", "root") && strcmp(queue->name, "root") != 0)
        gpus += amount_of(gpu);
    }
    if (gpus >= 1) return gpus;
  }
  return 0;
}

static enum hr_status make_pools(struct hr__import *import) {
  const struct hr__node_interest interest = {.respects_taints = true};
  enum hr_status status = hr__node_pools_make(&import->pools, &import->objects, &interest);
  if (status != HR_OK || import->pools.count) return status;
  double gpus = gpus_of_queues(import);
  if (gpus < 1 || gpus > 1e6)
    return hr_fail(
        import->objects.error, HR_BAD_INPUT,
        "%s: no Nodes, and the Queues name no amount of %.80s; add the output of 'kubectl get nodes -o yaml'",
        import->file, import->gpu_resource);
  if (hr__objects_note(
          &import->objects,
          "warning: no Nodes in these files: one pool is assumed, with as many GPUs as the top queues deserve; "
          "add the output of 'kubectl get nodes -o yaml' for the real nodes") != HR_OK)
    return HR_NO_MEMORY;
  return hr__node_pools_assume(&import->pools, &import->objects, "gpu", "gpu", (int64_t)gpus);
}

/* ---- The section ------------------------------------------------------------------------------------ */

static enum hr_status put_section(struct hr__import *import, cJSON *root) {
  cJSON *section = cJSON_CreateObject(), *list = hr__put_list(import, section, "queues");
  const struct hr__object *queue = NULL;
  enum hr_status status = HR_OK;
  find_gpu_resource(import);
  if (strcmp(import->gpu_resource, "nvidia.com/gpu") != 0)
    hr__put_text(import, section, "gpu_resource", import->gpu_resource);
  while (status == HR_OK && (queue = hr__import_next(import, VOLCANO_QUEUE, queue)))
    status = put_queue(import, list, queue);
  hr__drop_empty(section, "queues");
  if (status == HR_OK) status = put_config(import, section);
  if (status == HR_OK) status = make_pools(import);
  return hr__import_write(import, root, "volcano", section, status);
}

static enum hr_status write_scenario(struct hr__import *import, cJSON *root) {
  if (!hr__import_next(import, VOLCANO_QUEUE, NULL) && !hr__import_next(import, VOLCANO_CONFIG, NULL))
    return hr_fail(import->objects.error, HR_BAD_INPUT,
                   "%s: no Queue of scheduling.volcano.sh and no configuration in these files; expected the output of "
                   "'kubectl get queues.scheduling.volcano.sh,nodes -o yaml'",
                   import->file);
  enum hr_status status = put_section(import, root);
  return status == HR_OK ? hr__objects_report(&import->objects) : status;
}

enum hr_status hr__import_volcano(const char *const *files, size_t n_files, cJSON *root, struct hr_notes *notes,
                                  struct hr_error *error) {
  static const char *const configs[] = {"volcano-scheduler.conf", "volcano-scheduler-ci.conf", NULL};
  static const struct hr__manifests manifests = {kinds, N_VOLCANO_KINDS, &kinds[VOLCANO_CONFIG], configs,
                                                 write_scenario};
  return hr__import_manifests(&manifests, files, n_files, root, notes, error);
}
