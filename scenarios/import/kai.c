/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Imports KAI-Scheduler: Queues, the SchedulingShard or the ConfigMap of the scheduler, Topologies and PriorityClasses
 * become the section `kai` of a scenario. Nodes become pools. Amounts keep KAI's units: GPUs, thousandths of a CPU,
 * megabytes. Without Nodes, one pool is assumed. Its number of GPUs is the sum of the GPU quotas of the top queues.
 *
 * Source: NVIDIA/KAI-Scheduler, pkg/apis/scheduling/v2, pkg/apis/kai/v1, pkg/scheduler/conf, cmd/scheduler/app/options.
 */

#include "scenarios/import/import.h"

#include <stdio.h>

/* ---- Fields ----------------------------------------------------------------------------------------- */

static const char *const queue_versions[] = {"v2", NULL};
static const char *const kai_versions[] = {"v1", "v1alpha1", NULL};
static const char *const strategies[] = {"binpack", "spread", NULL};
static const char *const windows[] = {"sliding", "tumbling", "cron", NULL};

static const struct hr__field resource_fields[] = {{HR__USED("quota", REAL)},
                                                   {HR__USED("limit", REAL)},
                                                   {HR__USED("overQuotaWeight", REAL), .not_negative = true},
                                                   HR__UNMODELLED("lendingLimit", "all of an unused quota is lent"),
                                                   HR__END};
static const struct hr__field resources_fields[] = {{HR__USED("gpu", OBJECT), .fields = resource_fields},
                                                    {HR__USED("cpu", OBJECT), .fields = resource_fields},
                                                    {HR__USED("memory", OBJECT), .fields = resource_fields},
                                                    HR__END};
static const struct hr__field queue_spec[] = {HR__IGNORED("displayName"),
                                              {HR__USED("parentQueue", TEXT)},
                                              {HR__USED("priority", WHOLE)},
                                              {HR__USED("resources", OBJECT), .fields = resources_fields},
                                              {HR__USED("preemptMinRuntime", DURATION)},
                                              {HR__USED("reclaimMinRuntime", DURATION)},
                                              HR__END};
static const struct hr__field queue_fields[] = {
    {HR__USED("spec", OBJECT), .fields = queue_spec}, HR__IGNORED("status"), HR__END};

static const struct hr__field usage_fields[] = {
    {HR__USED("halfLifePeriod", DURATION)},
    {HR__USED("windowSize", DURATION)},
    {HR__USED("windowType", WORD), .words = windows},
    {HR__USED("fetchInterval", DURATION)},
    HR__UNMODELLED("tumblingWindowStartTime", "tumbling windows begin at the start of the run"),
    HR__UNMODELLED("cronString", "windows have a fixed length"),
    HR__IGNORED("stalenessPeriod"),
    HR__IGNORED("waitTimeout"),
    HR__IGNORED("extraParams"),
    HR__END};
static const struct hr__field usage_db_fields[] = {{HR__USED("usageParams", OBJECT), .fields = usage_fields},
                                                   HR__IGNORED("clientType"),
                                                   HR__IGNORED("connectionString"),
                                                   HR__IGNORED("connectionStringEnvVar"),
                                                   HR__END};
static const struct hr__field placement_fields[] = {
    {HR__USED("gpu", WORD), .words = strategies}, {HR__USED("cpu", WORD), .words = strategies}, HR__END};
static const struct hr__field runtime_fields[] = {
    {HR__USED("preemptMinRuntime", DURATION)}, {HR__USED("reclaimMinRuntime", DURATION)}, HR__END};
/* For each action: the maximum number of jobs of a queue that the action tries. */
static const struct hr__field depth_fields[] = {{HR__USED("allocate", WHOLE)},    {HR__USED("consolidation", WHOLE)},
                                                {HR__USED("reclaim", WHOLE)},     {HR__USED("preempt", WHOLE)},
                                                HR__IGNORED("stalegangeviction"), HR__END};
static const struct hr__field shard_spec[] = {
    {HR__USED("args", LABELS)},
    {HR__USED("placementStrategy", OBJECT), .fields = placement_fields},
    {HR__USED("minRuntime", OBJECT), .fields = runtime_fields},
    {HR__USED("kValue", REAL), .not_negative = true},
    {HR__USED("usageDBConfig", OBJECT), .fields = usage_db_fields},
    HR__UNMODELLED("partitionLabelValue", "the shard has all nodes"),
    {HR__USED("queueDepthPerAction", OBJECT), .fields = depth_fields},
    HR__UNMODELLED("plugins", "the plug-ins are those of an installation without changes"),
    HR__UNMODELLED("actions", "the actions are those of an installation without changes"),
    HR__END};
static const struct hr__field shard_fields[] = {
    {HR__USED("spec", OBJECT), .fields = shard_spec}, HR__IGNORED("status"), HR__END};

static const struct hr__field class_fields[] = {{HR__USED("value", WHOLE), .required = true},
                                                {HR__USED("globalDefault", BOOLEAN)},
                                                HR__IGNORED("description"),
                                                HR__IGNORED("preemptionPolicy"),
                                                HR__END};

/* The configuration of the scheduler, which is a text in its ConfigMap. */
static const struct hr__field plugin_fields[] = {{HR__USED("name", TEXT), .required = true},
                                                 {HR__USED("arguments", LABELS)},
                                                 HR__UNMODELLED("disableJobOrder", "the plug-in is not restricted"),
                                                 HR__UNMODELLED("disableTaskOrder", "the plug-in is not restricted"),
                                                 HR__UNMODELLED("disablePreemptable", "the plug-in is not restricted"),
                                                 HR__UNMODELLED("disableReclaimable", "the plug-in is not restricted"),
                                                 HR__UNMODELLED("disableQueueOrder", "the plug-in is not restricted"),
                                                 HR__UNMODELLED("disablePredicate", "the plug-in is not restricted"),
                                                 HR__UNMODELLED("disableNodeOrder", "the plug-in is not restricted"),
                                                 HR__END};
static const struct hr__field tier_fields[] = {{HR__USED("plugins", LIST), .fields = plugin_fields}, HR__END};
static const struct hr__field config_fields[] = {{HR__USED("actions", TEXT)},
                                                 {HR__USED("tiers", LIST), .fields = tier_fields},
                                                 {HR__USED("usageDBConfig", OBJECT), .fields = usage_db_fields},
                                                 {HR__USED("queueDepthPerAction", OBJECT), .fields = depth_fields},
                                                 HR__END};

enum kai_kind { KAI_QUEUE, KAI_SHARD, KAI_TOPOLOGY, KAI_CLASS, KAI_CONFIG, N_KAI_KINDS };
static const struct hr__object_kind kinds[N_KAI_KINDS] = {
    [KAI_QUEUE] = {"Queue", "scheduling.run.ai", queue_versions, queue_fields, false, false},
    [KAI_SHARD] = {"SchedulingShard", "kai.scheduler", kai_versions, shard_fields, false, false},
    [KAI_TOPOLOGY] = {"Topology", "kai.scheduler", kai_versions, hr__topology_fields, false, false},
    [KAI_CLASS] = {"PriorityClass", "scheduling.k8s.io", hr__version_1, class_fields, false, false},
    [KAI_CONFIG] = {"configuration of the scheduler", "", hr__version_1, config_fields, true, false}};

/* ---- Queues ----------------------------------------------------------------------------------------- */

/* Copies the quota of a resource of a queue. An amount must be at least 0, or -1 for no limit. */
static enum hr_status put_resource(struct hr__import *import, cJSON *to, const struct hr__object *queue,
                                   const char *name) {
  static const char *const amounts[] = {"quota", "limit"};
  char path[60];
  snprintf(path, sizeof path, "spec.resources.%s", name);
  const struct hr__yaml *resource = hr__yaml_at(queue->root, path);
  if (!resource) return HR_OK;
  for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
    const struct hr__yaml *amount = hr__yaml_child(resource, amounts[i]);
    double value = amount ? strtod(amount->text, NULL) : 0;
    if (amount && value < 0 && value != -1)
      return hr__object_fail(&import->objects, queue, amount,
                             "%s.%s: found '%.40s', expected -1 (no limit) or a number of at least 0", path, amounts[i],
                             amount->text);
  }
  cJSON *object = hr__put_object(import, to, name);
  hr__copy_number(import, object, "quota", resource, "quota");
  hr__copy_number(import, object, "limit", resource, "limit");
  hr__copy_number(import, object, "over_quota_weight", resource, "overQuotaWeight");
  hr__drop_empty(to, name);
  return HR_OK;
}

static enum hr_status put_queue(struct hr__import *import, cJSON *list, const struct hr__object *queue) {
  static const char *const resources[] = {"gpu", "cpu", "memory"};
  cJSON *object = hr__put_named(import, list, queue->name);
  hr__copy_text(import, object, "parent", queue->root, "spec.parentQueue");
  hr__copy_number(import, object, "priority", queue->root, "spec.priority");
  enum hr_status status = hr__objects_check_parents(&import->objects, queue, "spec.parentQueue", NULL);
  for (size_t i = 0; i < sizeof resources / sizeof *resources && status == HR_OK; i++)
    status = put_resource(import, object, queue, resources[i]);
  hr__copy_seconds(import, object, "preempt_min_runtime_s", queue->root, "spec.preemptMinRuntime");
  hr__copy_seconds(import, object, "reclaim_min_runtime_s", queue->root, "spec.reclaimMinRuntime");
  return status;
}

/* Returns whether a queue has queues below it. */
static bool is_inner(const struct hr__import *import, const char *name) {
  const struct hr__object *queue = NULL;
  while ((queue = hr__import_next(import, KAI_QUEUE, queue))) {
    const char *parent = hr__yaml_text(queue->root, "spec.parentQueue");
    if (parent && strcmp(parent, name) == 0) return true;
  }
  return false;
}

static enum hr_status put_queues(struct hr__import *import, cJSON *section) {
  static const char *const usual[] = {"default-queue", "default"};
  enum hr_status status = HR_OK;
  cJSON *list = hr__put_list(import, section, "queues");
  const struct hr__object *queue = NULL;
  while (status == HR_OK && (queue = hr__import_next(import, KAI_QUEUE, queue)))
    status = put_queue(import, list, queue);
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
    if (!hr__objects_find(&import->objects, &kinds[KAI_QUEUE], NULL, usual[i]) || is_inner(import, usual[i])) continue;
    hr__put_text(import, section, "default_queue", usual[i]);
    break;
  }
  return status;
}

static void put_classes(struct hr__import *import, cJSON *section) {
  cJSON *list = hr__put_list(import, section, "priority_classes");
  const struct hr__object *class_ = NULL;
  while ((class_ = hr__import_next(import, KAI_CLASS, class_))) {
    cJSON *object = hr__put_named(import, list, class_->name);
    hr__copy_number(import, object, "value", class_->root, "value");
    if (hr__is_true(hr__yaml_at(class_->root, "globalDefault")))
      hr__copy_number(import, section, "default_priority", class_->root, "value");
  }
  hr__drop_empty(section, "priority_classes");
}

/* ---- The scheduler ---------------------------------------------------------------------------------- */

/* Sets a key of the scheduler. Replaces an earlier value. */
static void set(struct hr__import *import, const char *key, cJSON *item) {
  cJSON_DeleteItemFromObjectCaseSensitive(import->scheduler, key);
  hr__put(import, import->scheduler, key, item);
}

static void set_text(struct hr__import *import, const char *key, const struct hr__yaml *value) {
  if (value) set(import, key, cJSON_CreateString(value->text));
}

/* The options of the scheduler, and the arguments of its plug-ins, that become keys of the scenario. */
enum setting_type { SETTING_NUMBER, SETTING_DURATION, SETTING_BOOLEAN, SETTING_WORD };
static const struct setting {
  const char *plugin; /* NULL: an option of the command line */
  const char *name, *key;
  enum setting_type type;
} settings[] = {{NULL, "schedule-period", "schedule_period_s", SETTING_DURATION},
                {NULL, "max-consolidation-preemptees", "max_consolidation_victims", SETTING_NUMBER},
                {NULL, "use-scheduling-signatures", "scheduling_signatures", SETTING_BOOLEAN},
                {NULL, "allow-consolidating-reclaim", "allow_consolidating_reclaim", SETTING_BOOLEAN},
                {NULL, "default-staleness-grace-period", "stale_gang_grace_s", SETTING_DURATION},
                {"proportion", "kValue", "k_value", SETTING_NUMBER},
                {"proportion", "relcaimerSaturationMultiplier", "saturation_multiplier", SETTING_NUMBER},
                {"proportion", "reclaimerSaturationMultiplier", "saturation_multiplier", SETTING_NUMBER},
                {"nodeplacement", "gpu", "gpu_placement", SETTING_WORD},
                {"nodeplacement", "cpu", "cpu_placement", SETTING_WORD},
                {"minruntime", "defaultPreemptMinRuntime", "preempt_min_runtime_s", SETTING_DURATION},
                {"minruntime", "defaultReclaimMinRuntime", "reclaim_min_runtime_s", SETTING_DURATION},
                {"minruntime", "reclaimResolveMethod", "reclaim_min_runtime_method", SETTING_WORD}};

/* Options of the scheduler without effect on decisions. */
static const char *const neutral_options[] = {"v",
                                              "leader-elect",
                                              "scheduler-name",
                                              "namespace",
                                              "metrics-namespace",
                                              "resource-reservation-app-label",
                                              "listen-address",
                                              "enable-profiler",
                                              "profiler-port",
                                              "pyroscope-address",
                                              "qps",
                                              "burst",
                                              "detailed-fit-errors",
                                              "num-of-status-recording-workers",
                                              "plugin-server-port",
                                              "cpu-worker-node-label-key",
                                              "gpu-worker-node-label-key",
                                              "mig-worker-node-label-key",
                                              "scheduler-conf",
                                              NULL};

/* Returns the value of a setting as JSON. Durations are in seconds; negative durations become -1. Returns NULL if the
   text is not valid, or if memory is exhausted. */
static cJSON *value_of(const struct setting *setting, const char *text) {
  char *end;
  double number = strtod(text, &end);
  int64_t us;
  bool negative = *text == '-';
  if (setting->type == SETTING_WORD) return cJSON_CreateString(text);
  if (setting->type == SETTING_BOOLEAN)
    return strcmp(text, "true") == 0 ? cJSON_CreateTrue() : strcmp(text, "false") == 0 ? cJSON_CreateFalse() : NULL;
  if (setting->type == SETTING_NUMBER) return end != text && !*end ? cJSON_CreateNumber(number) : NULL;
  if (!hr__duration(text + negative, &us)) return NULL;
  return cJSON_CreateNumber(negative ? -1 : (double)us / 1e6);
}

/* Reads an argument of the plug-in `plugin` or, if `plugin` is NULL, an option of the scheduler. */
static enum hr_status put_setting(struct hr__import *import, const struct hr__object *object, const char *plugin,
                                  const struct hr__yaml *value) {
  static const char *const expected[] = {"a number", "a duration, such as 5m", "true or false", "a word"};
  const char *owner = plugin ? plugin : "the scheduler";
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    const struct setting *setting = &settings[i];
    bool same_plugin = plugin && setting->plugin ? strcmp(plugin, setting->plugin) == 0 : plugin == setting->plugin;
    if (!same_plugin || strcmp(value->key, setting->name) != 0) continue;
    cJSON *item = value_of(setting, value->text);
    if (!item)
      return hr__object_fail(&import->objects, object, value, "%.60s of %s: found '%.60s', expected %s", value->key,
                             owner, value->text, expected[setting->type]);
    set(import, setting->key, item);
    return HR_OK;
  }
  for (size_t i = 0; !plugin && neutral_options[i]; i++)
    if (strcmp(neutral_options[i], value->key) == 0) return HR_OK;
  return hr__object_note(&import->objects, object, value, "'%.60s' of %s is not modelled", value->key, owner);
}

static enum hr_status put_settings(struct hr__import *import, const struct hr__object *object, const char *plugin,
                                   const struct hr__yaml *first) {
  enum hr_status status = HR_OK;
  for (const struct hr__yaml *value = first; value && status == HR_OK; value = value->next)
    status = put_setting(import, object, plugin, value);
  return status;
}

/* Copies the parameters of the usage database, which time-based fair share uses. `db` NULL: there are none. */
static enum hr_status put_usage(struct hr__import *import, const struct hr__object *object, const struct hr__yaml *db) {
  const struct hr__yaml *params = hr__yaml_child(db, "usageParams"), *window = hr__yaml_child(params, "windowType");
  if (!db) return HR_OK;
  cJSON *usage = cJSON_CreateObject();
  hr__copy_seconds(import, usage, "half_life_s", params, "halfLifePeriod");
  hr__copy_seconds(import, usage, "window_s", params, "windowSize");
  hr__copy_seconds(import, usage, "fetch_interval_s", params, "fetchInterval");
  bool cron = window && strcmp(window->text, "cron") == 0;
  if (window) hr__put_text(import, usage, "window", cron ? "tumbling" : window->text);
  set(import, "usage", usage);
  return cron ? hr__object_note(&import->objects, object, window,
                                "windowType cron is not modelled: windows of a fixed length follow each other")
              : HR_OK;
}

/* Copies, for each action, the maximum number of jobs of a queue that the action tries. In KAI, a negative number means
   all jobs, which is the default. */
static enum hr_status put_depths(struct hr__import *import, const struct hr__object *object,
                                 const struct hr__yaml *depths) {
  enum hr_status status = HR_OK;
  for (const struct hr__yaml *depth = depths ? depths->first : NULL; depth && status == HR_OK; depth = depth->next) {
    char key[40];
    const double number = strtod(depth->text, NULL);
    snprintf(key, sizeof key, "%.20s_depth", depth->key);
    if (strcmp(depth->key, "stalegangeviction") == 0) continue; // it does not depend on the order of jobs
    if (number >= 1)
      set(import, key, cJSON_CreateNumber(number));
    else if (number == 0)
      status =
          hr__object_note(&import->objects, object, depth,
                          "queueDepthPerAction.%.20s 0 is not modelled: all jobs of a queue are tried", depth->key);
  }
  return status;
}

static enum hr_status put_shard(struct hr__import *import, const struct hr__object *shard) {
  const struct hr__yaml *spec = hr__yaml_child(shard->root, "spec");
  enum hr_status status = put_settings(import, shard, NULL, hr__yaml_first(spec, "args"));
  set_text(import, "gpu_placement", hr__yaml_at(spec, "placementStrategy.gpu"));
  set_text(import, "cpu_placement", hr__yaml_at(spec, "placementStrategy.cpu"));
  if (hr__yaml_child(spec, "kValue")) {
    cJSON_DeleteItemFromObjectCaseSensitive(import->scheduler, "k_value");
    hr__copy_number(import, import->scheduler, "k_value", spec, "kValue");
  }
  hr__copy_seconds(import, import->scheduler, "preempt_min_runtime_s", spec, "minRuntime.preemptMinRuntime");
  hr__copy_seconds(import, import->scheduler, "reclaim_min_runtime_s", spec, "minRuntime.reclaimMinRuntime");
  if (status == HR_OK) status = put_depths(import, shard, hr__yaml_child(spec, "queueDepthPerAction"));
  return status == HR_OK ? put_usage(import, shard, hr__yaml_child(spec, "usageDBConfig")) : status;
}

/* Adds a note if the list of actions differs from the default of KAI. Only the default is modelled. */
static enum hr_status check_actions(struct hr__import *import, const struct hr__object *object,
                                    const struct hr__yaml *actions) {
  static const char usual[] = "allocate,consolidation,reclaim,preempt,stalegangeviction";
  char text[200];
  size_t used = 0;
  for (const char *at = actions ? actions->text : usual; *at && used + 1 < sizeof text; at++)
    if (*at != ' ' && *at != '"') text[used++] = *at;
  text[used] = '\0';
  if (strcmp(text, usual) == 0) return HR_OK;
  return hr__object_note(&import->objects, object, actions,
                         "actions '%.100s' are not modelled: the actions are %s, in this order", actions->text, usual);
}

static enum hr_status put_config(struct hr__import *import, const struct hr__object *config) {
  enum hr_status status = check_actions(import, config, hr__yaml_child(config->root, "actions"));
  for (const struct hr__yaml *tier = hr__yaml_first(config->root, "tiers"); tier && status == HR_OK; tier = tier->next)
    for (const struct hr__yaml *plugin = hr__yaml_first(tier, "plugins"); plugin && status == HR_OK;
         plugin = plugin->next)
      status = put_settings(import, config, hr__yaml_text(plugin, "name"), hr__yaml_first(plugin, "arguments"));
  if (status == HR_OK) status = put_depths(import, config, hr__yaml_child(config->root, "queueDepthPerAction"));
  return status == HR_OK ? put_usage(import, config, hr__yaml_child(config->root, "usageDBConfig")) : status;
}

static enum hr_status put_scheduler(struct hr__import *import, cJSON *section) {
  enum hr_status status = HR_OK;
  import->scheduler = hr__put_object(import, section, "scheduler");
  const struct hr__object *config = hr__import_next(import, KAI_CONFIG, NULL),
                          *shard = hr__import_next(import, KAI_SHARD, NULL);
  if (config) status = put_config(import, config);
  if (status == HR_OK && shard) status = put_shard(import, shard);
  const struct hr__object *second = shard ? hr__import_next(import, KAI_SHARD, shard) : NULL;
  if (status == HR_OK && second)
    status = hr__object_note(&import->objects, second, second->root,
                             "is not used: the scenario has one shard, '%.80s', with all nodes", shard->name);
  hr__drop_empty(section, "scheduler");
  return status;
}

/* ---- Nodes ------------------------------------------------------------------------------------------ */

/* Assumes one pool. Its number of GPUs is the sum of the GPU quotas of the top queues. */
static enum hr_status assume_pool(struct hr__import *import) {
  const struct hr__object *queue = NULL;
  double gpus = 0;
  while ((queue = hr__import_next(import, KAI_QUEUE, queue))) {
    const char *parent = hr__yaml_text(queue->root, "spec.parentQueue");
    const char *quota = hr__yaml_text(queue->root, "spec.resources.gpu.quota");
    if ((!parent || !parent[0]) && quota && strtod(quota, NULL) > 0) gpus += strtod(quota, NULL);
  }
  if (gpus < 1 || gpus > 1e6)
    return hr_fail(
        import->objects.error, HR_BAD_INPUT,
        "%s: no Nodes, and the top Queues have no quotas of GPUs; add the output of 'kubectl get nodes -o yaml'",
        import->file);
  if (hr__objects_note(
          &import->objects,
          "warning: no Nodes in these files: one pool is assumed, with as many GPUs as the quotas of the top "
          "queues; add the output of 'kubectl get nodes -o yaml' for the real nodes") != HR_OK)
    return HR_NO_MEMORY;
  return hr__node_pools_assume(&import->pools, &import->objects, "gpu", "gpu", (int64_t)gpus);
}

static enum hr_status make_pools(struct hr__import *import, cJSON *section) {
  struct hr__node_interest interest = {.respects_taints = true};
  const struct hr__object *topology = hr__import_next(import, KAI_TOPOLOGY, NULL);
  hr__node_interest_levels(&interest, topology ? hr__yaml_at(topology->root, "spec.levels") : NULL);
  if (topology) hr__put_text(import, section, "topology", topology->name);
  enum hr_status status = hr__node_pools_make(&import->pools, &import->objects, &interest);
  return status == HR_OK && import->pools.count == 0 ? assume_pool(import) : status;
}

/* ---- The section ------------------------------------------------------------------------------------ */

static enum hr_status put_section(struct hr__import *import, cJSON *root) {
  cJSON *section = cJSON_CreateObject();
  enum hr_status status = put_queues(import, section);
  put_classes(import, section);
  if (status == HR_OK) status = put_scheduler(import, section);
  if (status == HR_OK) status = make_pools(import, section);
  return hr__import_write(import, root, "kai", section, status);
}

static enum hr_status write_scenario(struct hr__import *import, cJSON *root) {
  if (!hr__import_next(import, KAI_QUEUE, NULL))
    return hr_fail(import->objects.error, HR_BAD_INPUT,
                   "%s: no Queue of scheduling.run.ai in these files; expected the output of 'kubectl get "
                   "queues.scheduling.run.ai,schedulingshards,nodes -o yaml'",
                   import->file);
  enum hr_status status = put_section(import, root);
  return status == HR_OK ? hr__objects_report(&import->objects) : status;
}

enum hr_status hr__import_kai(const char *const *files, size_t n_files, cJSON *root, struct hr_notes *notes,
                              struct hr_error *error) {
  static const char *const configs[] = {"config.yaml", NULL};
  static const struct hr__manifests manifests = {kinds, N_KAI_KINDS, &kinds[KAI_CONFIG], configs, write_scenario};
  return hr__import_manifests(&manifests, files, n_files, root, notes, error);
}
