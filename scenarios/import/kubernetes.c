/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Imports kube-scheduler: KubeSchedulerConfiguration (also within a ConfigMap) and PriorityClasses become the section
 * `kubernetes` of a scenario. Nodes become pools.
 *
 * Only one profile is used: the profile of default-scheduler or, without such a profile, the first one. A profile
 * enables and disables plug-ins at an extension point, or at all points ("multiPoint"). The setting at an extension
 * point has precedence. The name "*" disables all plug-ins that are enabled by default.
 *
 * Source: kubernetes/kube-scheduler, config/v1; kubernetes/kubernetes, pkg/scheduler/apis/config/v1/defaults.go.
 */

#include "scenarios/import/import.h"

#include <stdio.h>

/* ---- Fields ----------------------------------------------------------------------------------------- */

static const char *const config_versions[] = {"v1", "v1beta3", "v1beta2", NULL};
static const char *const strategies[] = {"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", NULL};
static const char *const policies[] = {"PreemptLowerPriority", "Never", NULL};

static const struct hr__field plugin_fields[] = {
    {HR__USED("name", TEXT), .required = true}, {HR__USED("weight", WHOLE), .not_negative = true}, HR__END};
static const struct hr__field set_fields[] = {{HR__USED("enabled", LIST), .fields = plugin_fields},
                                              {HR__USED("disabled", LIST), .fields = plugin_fields},
                                              HR__END};
#define SET(name_)                                                                                                     \
  { HR__USED(name_, OBJECT), .fields = set_fields }
static const struct hr__field plugins_fields[] = {SET("multiPoint"),     SET("score"),
                                                  SET("filter"),         SET("postFilter"),
                                                  SET("queueSort"),      SET("preScore"),
                                                  SET("preFilter"),      SET("preEnqueue"),
                                                  SET("reserve"),        SET("permit"),
                                                  SET("preBind"),        SET("bind"),
                                                  SET("postBind"),       SET("placementGenerate"),
                                                  SET("placementScore"), HR__END};
/* Arguments of plug-ins are checked with the tables below. */
static const struct hr__field plugin_config_fields[] = {
    {HR__USED("name", TEXT), .required = true}, HR__IGNORED("args"), HR__END};
static const struct hr__field profile_fields[] = {{HR__USED("schedulerName", TEXT)},
                                                  {HR__USED("percentageOfNodesToScore", WHOLE), .not_negative = true},
                                                  {HR__USED("plugins", OBJECT), .fields = plugins_fields},
                                                  {HR__USED("pluginConfig", LIST), .fields = plugin_config_fields},
                                                  HR__END};
static const struct hr__field config_fields[] = {{HR__USED("percentageOfNodesToScore", WHOLE), .not_negative = true},
                                                 {HR__USED("podInitialBackoffSeconds", WHOLE), .not_negative = true},
                                                 {HR__USED("podMaxBackoffSeconds", WHOLE), .not_negative = true},
                                                 {HR__USED("profiles", LIST), .fields = profile_fields},
                                                 HR__UNMODELLED("extenders", "no extender filters or scores nodes"),
                                                 HR__IGNORED("parallelism"),
                                                 HR__IGNORED("leaderElection"),
                                                 HR__IGNORED("clientConnection"),
                                                 HR__IGNORED("healthzBindAddress"),
                                                 HR__IGNORED("metricsBindAddress"),
                                                 HR__IGNORED("enableProfiling"),
                                                 HR__IGNORED("enableContentionProfiling"),
                                                 HR__IGNORED("delayCacheUntilActive"),
                                                 HR__END};

static const struct hr__field resource_fields[] = {
    {HR__USED("name", TEXT), .required = true}, {HR__USED("weight", WHOLE), .not_negative = true}, HR__END};
static const struct hr__field point_fields[] = {
    {HR__USED("utilization", WHOLE), .required = true, .not_negative = true},
    {HR__USED("score", WHOLE), .required = true, .not_negative = true},
    HR__END};
static const struct hr__field ratio_fields[] = {{HR__USED("shape", LIST), .fields = point_fields}, HR__END};
static const struct hr__field strategy_fields[] = {
    {HR__USED("type", WORD), .words = strategies},
    {HR__USED("resources", LIST), .fields = resource_fields},
    {HR__USED("requestedToCapacityRatio", OBJECT), .fields = ratio_fields},
    HR__END};
#define OF_ARGS HR__IGNORED("kind"), HR__IGNORED("apiVersion")
static const struct hr__field fit_fields[] = {
    OF_ARGS,
    {HR__USED("scoringStrategy", OBJECT), .fields = strategy_fields},
    HR__UNMODELLED("ignoredResources", "pods need nodes with all resources that they request"),
    HR__UNMODELLED("ignoredResourceGroups", "pods need nodes with all resources that they request"),
    HR__END};
static const struct hr__field balanced_fields[] = {
    OF_ARGS, {HR__USED("resources", LIST), .fields = resource_fields}, HR__END};
static const struct hr__field preemption_fields[] = {
    OF_ARGS, HR__UNMODELLED("minCandidateNodesPercentage", "all nodes are candidates for preemption"),
    HR__UNMODELLED("minCandidateNodesAbsolute", "all nodes are candidates for preemption"), HR__END};

/* The plug-ins of Kubernetes. The arguments of some of them are read. The arguments of the others have no effect,
   because these plug-ins need properties of pods that a trace does not contain. */
static const struct known_plugin {
  const char *name;
  const struct hr__field *args; /* NULL: the arguments have no effect */
} known_plugins[] = {{"NodeResourcesFit", fit_fields},
                     {"NodeResourcesBalancedAllocation", balanced_fields},
                     {"DefaultPreemption", preemption_fields},
                     {"NodeAffinity", NULL},
                     {"InterPodAffinity", NULL},
                     {"PodTopologySpread", NULL},
                     {"VolumeBinding", NULL},
                     {"TaintToleration", NULL},
                     {"ImageLocality", NULL},
                     {"NodeName", NULL},
                     {"NodePorts", NULL},
                     {"NodeUnschedulable", NULL},
                     {"NodeVolumeLimits", NULL},
                     {"VolumeRestrictions", NULL},
                     {"VolumeZone", NULL},
                     {"PrioritySort", NULL},
                     {"SchedulingGates", NULL},
                     {"DefaultBinder", NULL},
                     {"DynamicResources", NULL}};

static const struct hr__field class_fields[] = {
    {HR__USED("value", WHOLE), .required = true},
    {HR__USED("preemptionPolicy", WORD), .words = policies},
    {HR__USED("globalDefault", BOOLEAN), .effect = "jobs without a priority have priority 0", .neutral = "false"},
    HR__IGNORED("description"),
    HR__END};

enum kubernetes_kind { KUBERNETES_CONFIG, KUBERNETES_CLASS, N_KUBERNETES_KINDS };
static const struct hr__object_kind kinds[N_KUBERNETES_KINDS] = {
    [KUBERNETES_CONFIG] = {"KubeSchedulerConfiguration", "kubescheduler.config.k8s.io", config_versions, config_fields,
                           true, false},
    [KUBERNETES_CLASS] = {"PriorityClass", "scheduling.k8s.io", hr__version_1, class_fields, false, false}};

/* Reads the values of ConfigMaps that contain a KubeSchedulerConfiguration. */
static enum hr_status read_config_maps(struct hr__import *import) {
  enum hr_status status = HR_OK;
  const uint32_t count = import->objects.count;
  for (uint32_t i = 0; i < count && status == HR_OK; i++) {
    if (import->objects.list[i].kind != &hr__kind_config_map) continue;
    const struct hr__yaml *data = hr__yaml_child(import->objects.list[i].root, "data");
    for (const struct hr__yaml *text = data ? data->first : NULL; text && status == HR_OK; text = text->next)
      if (strstr(text->text, "KubeSchedulerConfiguration")) status = hr__objects_read_text(&import->objects, text);
  }
  return status;
}

/* Finds the configuration, and the profile that is used. A profile without a name belongs to default-scheduler. Adds a
   note if there are several profiles. */
static enum hr_status choose_profile(struct hr__import *import) {
  enum hr_status status = hr__objects_only(&import->objects, &kinds[KUBERNETES_CONFIG], &import->config);
  if (status != HR_OK || !import->config) return status;
  const struct hr__yaml *profiles = hr__yaml_child(import->config->root, "profiles");
  import->profile = profiles ? profiles->first : NULL;
  for (const struct hr__yaml *profile = import->profile; profile; profile = profile->next) {
    const char *name = hr__yaml_text(profile, "schedulerName");
    if (name && strcmp(name, "default-scheduler") != 0) continue;
    import->profile = profile;
    break;
  }
  if (!import->profile || profiles->count < 2) return HR_OK;
  const char *name = hr__yaml_text(import->profile, "schedulerName");
  return hr__object_note(&import->objects, import->config, profiles,
                         "profiles: all jobs are scheduled with the profile '%.80s'; the others are not modelled",
                         name ? name : "default-scheduler");
}

/* ---- Plug-ins --------------------------------------------------------------------------------------- */

static const struct hr__yaml *find_plugin(const struct hr__yaml *list, const char *name) {
  for (const struct hr__yaml *entry = list ? list->first : NULL; entry; entry = entry->next)
    if (strcmp(hr__yaml_text(entry, "name"), name) == 0) return entry;
  return NULL;
}

/* Returns the setting of a plug-in at an extension point: the weight of the plug-in if it is enabled, 0 if it is
   disabled, -1 if the profile does not mention it. */
static double weight_at(const struct hr__import *import, const char *point, const char *name) {
  const struct hr__yaml *set = hr__yaml_child(hr__yaml_child(import->profile, "plugins"), point);
  const struct hr__yaml *enabled = find_plugin(hr__yaml_child(set, "enabled"), name);
  const char *weight = hr__yaml_text(enabled, "weight");
  if (enabled) return weight && strtod(weight, NULL) > 0 ? strtod(weight, NULL) : 1;
  const struct hr__yaml *disabled = hr__yaml_child(set, "disabled");
  return find_plugin(disabled, name) || find_plugin(disabled, "*") ? 0 : -1;
}

/* Returns the weight at an extension point of a plug-in that is enabled by default; 0: the plug-in is disabled. */
static double weight_of(const struct hr__import *import, const char *point, const char *name) {
  double weight = weight_at(import, point, name);
  if (weight < 0) weight = weight_at(import, "multiPoint", name);
  return weight < 0 ? 1 : weight;
}

static const struct known_plugin *known_plugin(const char *name) {
  for (size_t i = 0; i < sizeof known_plugins / sizeof *known_plugins; i++)
    if (strcmp(known_plugins[i].name, name) == 0) return &known_plugins[i];
  return NULL;
}

/* Adds notes on plug-ins that are not part of Kubernetes. Also adds a note if NodeResourcesFit is disabled as a filter,
   because this is not modelled. */
static enum hr_status note_plugins(struct hr__import *import) {
  const struct hr__yaml *plugins = hr__yaml_child(import->profile, "plugins");
  enum hr_status status = HR_OK;
  for (const struct hr__yaml *set = plugins ? plugins->first : NULL; set; set = set->next)
    for (const struct hr__yaml *entry = hr__yaml_first(set, "enabled"); entry && status == HR_OK; entry = entry->next)
      if (!known_plugin(hr__yaml_text(entry, "name")))
        status = hr__object_note(&import->objects, import->config, entry, "plug-in '%.80s' is not modelled",
                                 hr__yaml_text(entry, "name"));
  if (status == HR_OK && plugins && weight_of(import, "filter", "NodeResourcesFit") <= 0)
    status = hr__object_note(&import->objects, import->config, plugins,
                             "NodeResourcesFit is disabled as a filter; in the scenario, pods need enough resources");
  return status;
}

static enum hr_status put_weights(struct hr__import *import, cJSON *section) {
  static const char *const names[][2] = {{"NodeResourcesFit", "fit"},
                                         {"NodeResourcesBalancedAllocation", "balanced_allocation"}};
  cJSON *weights = hr__put_object(import, section, "plugin_weights");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const double weight = weight_of(import, "score", names[i][0]);
    if (weight > 100)
      return hr__object_fail(&import->objects, import->config, hr__yaml_child(import->profile, "plugins"),
                             "weight of %s: found %.10g, expected at most 100", names[i][0], weight);
    if (weight < 1 || weight > 1) hr__put_number(import, weights, names[i][1], weight);
  }
  hr__drop_empty(section, "plugin_weights");
  if (weight_of(import, "postFilter", "DefaultPreemption") <= 0) hr__put_boolean(import, section, "preemption", false);
  return HR_OK;
}

/* ---- Arguments -------------------------------------------------------------------------------------- */

static void put_resources(struct hr__import *import, cJSON *to, const char *key, const struct hr__yaml *list) {
  if (!list || !list->first) return;
  cJSON *copy = hr__put_list(import, to, key);
  for (const struct hr__yaml *entry = list->first; entry; entry = entry->next) {
    const char *weight = hr__yaml_text(entry, "weight");
    cJSON *resource = hr__put_object(import, copy, NULL);
    hr__copy_text(import, resource, "name", entry, "name");
    if (weight && strtod(weight, NULL) > 0) hr__put_number(import, resource, "weight", strtod(weight, NULL));
  }
}

static void put_scoring(struct hr__import *import, cJSON *section, const struct hr__yaml *strategy) {
  static const char *const types[] = {"least_allocated", "most_allocated", "requested_to_capacity_ratio"};
  if (!strategy) return;
  cJSON *scoring = hr__put_object(import, section, "scoring");
  const char *type = hr__yaml_text(strategy, "type");
  for (size_t i = 0; type && strategies[i]; i++)
    if (strcmp(type, strategies[i]) == 0) hr__put_text(import, scoring, "type", types[i]);
  put_resources(import, scoring, "resources", hr__yaml_child(strategy, "resources"));
  const struct hr__yaml *point = hr__yaml_first(strategy, "requestedToCapacityRatio.shape");
  if (point && type && strcmp(type, "RequestedToCapacityRatio") == 0) {
    cJSON *shape = hr__put_list(import, scoring, "shape");
    for (; point; point = point->next) {
      cJSON *object = hr__put_object(import, shape, NULL);
      hr__copy_number(import, object, "utilization", point, "utilization");
      hr__copy_number(import, object, "score", point, "score");
    }
  }
  hr__drop_empty(section, "scoring");
}

/* Checks the arguments of the plug-ins of the profile, and copies those that are modelled. */
static enum hr_status put_arguments(struct hr__import *import, cJSON *section) {
  enum hr_status status = HR_OK;
  for (struct hr__yaml *entry = hr__yaml_first(import->profile, "pluginConfig"); entry && status == HR_OK;
       entry = entry->next) {
    const char *name = hr__yaml_text(entry, "name");
    const struct known_plugin *plugin = known_plugin(name);
    struct hr__yaml *args = hr__yaml_child(entry, "args");
    if (!plugin)
      status = hr__object_note(&import->objects, import->config, entry,
                               "pluginConfig: the arguments of plug-in '%.80s' are not modelled", name);
    if (!args || !plugin || !plugin->args) continue;
    char path[120];
    snprintf(path, sizeof path, "pluginConfig(%.60s).args", name);
    status = hr__objects_check(&import->objects, import->config, args, path, plugin->args);
    if (status != HR_OK) break;
    if (plugin->args == fit_fields) put_scoring(import, section, hr__yaml_child(args, "scoringStrategy"));
    if (plugin->args == balanced_fields)
      put_resources(import, section, "balanced_resources", hr__yaml_child(args, "resources"));
  }
  return status;
}

static enum hr_status put_config(struct hr__import *import, cJSON *section) {
  enum hr_status status = choose_profile(import);
  if (status != HR_OK || !import->config) return status;
  const bool own = hr__yaml_child(import->profile, "percentageOfNodesToScore") != NULL;
  hr__copy_number(import, section, "percentage_of_nodes_to_score", own ? import->profile : import->config->root,
                  "percentageOfNodesToScore");
  hr__copy_number(import, section, "pod_initial_backoff_s", import->config->root, "podInitialBackoffSeconds");
  hr__copy_number(import, section, "pod_max_backoff_s", import->config->root, "podMaxBackoffSeconds");
  status = put_weights(import, section);
  if (status == HR_OK) status = put_arguments(import, section);
  return status == HR_OK ? note_plugins(import) : status;
}

static void put_classes(struct hr__import *import, cJSON *section) {
  cJSON *list = hr__put_list(import, section, "priority_classes");
  const struct hr__object *class_ = NULL;
  while ((class_ = hr__import_next(import, KUBERNETES_CLASS, class_))) {
    cJSON *object = hr__put_named(import, list, class_->name);
    hr__copy_number(import, object, "value", class_->root, "value");
    hr__copy_text(import, object, "preemption_policy", class_->root, "preemptionPolicy");
  }
  hr__drop_empty(section, "priority_classes");
}

/* ---- The section ------------------------------------------------------------------------------------ */

static enum hr_status write_scenario(struct hr__import *import, cJSON *root) {
  const struct hr__node_interest interest = {.respects_taints = true};
  enum hr_status status = read_config_maps(import);
  if (status == HR_OK && !hr__objects_next(&import->objects, &hr__kind_node, NULL))
    status = hr_fail(import->objects.error, HR_BAD_INPUT,
                     "%s: no Node in these files; expected the output of 'kubectl get nodes,priorityclasses -o yaml'",
                     import->file);
  if (status != HR_OK) return status;
  cJSON *section = cJSON_CreateObject();
  status = put_config(import, section);
  put_classes(import, section);
  if (status == HR_OK) status = hr__node_pools_make(&import->pools, &import->objects, &interest);
  status = hr__import_write(import, root, "kubernetes", section, status);
  return status == HR_OK ? hr__objects_report(&import->objects) : status;
}

enum hr_status hr__import_kubernetes(const char *const *files, size_t n_files, cJSON *root, struct hr_notes *notes,
                                     struct hr_error *error) {
  static const struct hr__manifests manifests = {kinds, N_KUBERNETES_KINDS, NULL, NULL, write_scenario};
  return hr__import_manifests(&manifests, files, n_files, root, notes, error);
}
