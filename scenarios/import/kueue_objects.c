/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Import of Kueue: the fields of its objects and of its configuration, in all versions of the API; references between
 * objects, and quotas. The rules are those that Kueue checks when objects are created, and those that make a
 * ClusterQueue inactive. Source: kubernetes-sigs/kueue, apis/kueue/v1beta1 and v1beta2, apis/config/v1beta1 and
 * v1beta2, pkg/webhooks.
 */

#include "scenarios/import/kueue.h"

#include <stdio.h>

#define END                                                                                                            \
  { .name = NULL }

static const char *const api_versions[] = {"v1beta1", "v1beta2", "v1", NULL};
static const char *const tree_versions[] = {"v1alpha1", "v1beta1", "v1beta2", "v1", NULL};
static const char *const config_versions[] = {"v1beta1", "v1beta2", NULL};
static const char *const one_version[] = {"v1", NULL};

static const char *const strategies[] = {"BestEffortFIFO", "StrictFIFO", NULL};
static const char *const stops[] = {"None", "Hold", "HoldAndDrain", NULL};
static const char *const borrow_words[] = {"MayStopSearch", "TryNextFlavor", "Borrow", NULL};
static const char *const preempt_words[] = {"MayStopSearch", "TryNextFlavor", "Preempt", NULL};
static const char *const preferences[] = {"BorrowingOverPreemption", "PreemptionOverBorrowing", NULL};
static const char *const within_words[] = {"Never", "LowerPriority", "LowerOrNewerEqualPriority", NULL};
static const char *const reclaim_words[] = {"Never", "LowerPriority", "Any", NULL};
static const char *const borrow_policies[] = {"Never", "LowerPriority", NULL};
static const char *const admission_modes[] = {"UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing", NULL};
static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
static const char *const operators[] = {"Equal", "Exists", NULL};
static const char *const selector_operators[] = {"In", "NotIn", "Exists", "DoesNotExist", NULL};
static const char *const shares[] = {"LessThanOrEqualToFinalShare", "LessThanInitialShare", NULL};
static const char *const timestamps[] = {"Eviction", "Creation", NULL};

/* ---- Parts of several objects ----------------------------------------------------------------------- */

static const struct hr__field requirement_fields[] = {
    {HR__USED("key", TEXT), .required = true},
    {HR__USED("operator", WORD), .words = selector_operators, .required = true},
    {HR__USED("values", TEXTS)},
    END};
static const struct hr__field selector_fields[] = {
    {HR__USED("matchLabels", LABELS)}, {HR__USED("matchExpressions", LIST), .fields = requirement_fields}, END};
static const struct hr__field fair_sharing_fields[] = {{HR__USED("weight", QUANTITY), .not_negative = true}, END};

static const struct hr__field resource_fields[] = {
    {HR__USED("name", TEXT), .required = true},
    {HR__USED("nominalQuota", QUANTITY), .required = true, .not_negative = true},
    {HR__USED("borrowingLimit", QUANTITY), .not_negative = true},
    {HR__USED("lendingLimit", QUANTITY), .not_negative = true},
    END};
static const struct hr__field flavor_quota_fields[] = {
    {HR__USED("name", TEXT), .required = true},
    {HR__USED("resources", LIST), .fields = resource_fields, .required = true},
    END};
static const struct hr__field group_fields[] = {
    {HR__USED("coveredResources", TEXTS), .required = true},
    {HR__USED("flavors", LIST), .fields = flavor_quota_fields, .required = true},
    END};

/* ---- ClusterQueue ----------------------------------------------------------------------------------- */

static const struct hr__field fungibility_fields[] = {{HR__USED("whenCanBorrow", WORD), .words = borrow_words},
                                                      {HR__USED("whenCanPreempt", WORD), .words = preempt_words},
                                                      {HR__USED("preference", WORD), .words = preferences},
                                                      END};
static const struct hr__field borrow_fields[] = {
    {HR__USED("policy", WORD), .words = borrow_policies}, {HR__USED("maxPriorityThreshold", WHOLE)}, END};
static const struct hr__field preemption_fields[] = {{HR__USED("withinClusterQueue", WORD), .words = within_words},
                                                     {HR__USED("reclaimWithinCohort", WORD), .words = reclaim_words},
                                                     {HR__USED("borrowWithinCohort", OBJECT), .fields = borrow_fields},
                                                     END};
static const struct hr__field check_rule_fields[] = {
    {HR__USED("name", TEXT), .required = true}, {HR__USED("onFlavors", TEXTS)}, END};
static const struct hr__field check_strategy_fields[] = {
    {HR__USED("admissionChecks", LIST), .fields = check_rule_fields}, END};
static const struct hr__field scope_fields[] = {
    {HR__USED("admissionMode", WORD), .words = admission_modes, .required = true}, END};
static const struct hr__field cluster_queue_spec[] = {
    {HR__USED("resourceGroups", LIST), .fields = group_fields},
    {HR__USED("cohort", TEXT), .version = "v1beta1"},
    {HR__USED("cohortName", TEXT)},
    {HR__USED("queueingStrategy", WORD), .words = strategies},
    {HR__USED("namespaceSelector", OBJECT), .fields = selector_fields},
    {HR__USED("flavorFungibility", OBJECT), .fields = fungibility_fields},
    {HR__USED("preemption", OBJECT), .fields = preemption_fields},
    {HR__USED("admissionChecks", TEXTS), .version = "v1beta1"},
    {HR__USED("admissionChecksStrategy", OBJECT), .fields = check_strategy_fields},
    {HR__USED("stopPolicy", WORD), .words = stops},
    {HR__USED("fairSharing", OBJECT), .fields = fair_sharing_fields},
    {HR__USED("admissionScope", OBJECT), .fields = scope_fields},
    HR__UNMODELLED("concurrentAdmissionPolicy", "a job tries one flavor at a time and does not move to a better one"),
    END};
static const struct hr__field cluster_queue_fields[] = {
    {HR__USED("spec", OBJECT), .fields = cluster_queue_spec}, HR__IGNORED("status"), END};

/* ---- Other objects ---------------------------------------------------------------------------------- */

static const struct hr__field cohort_spec[] = {{HR__USED("parent", TEXT)},
                                               {HR__USED("parentName", TEXT)},
                                               {HR__USED("resourceGroups", LIST), .fields = group_fields},
                                               {HR__USED("fairSharing", OBJECT), .fields = fair_sharing_fields},
                                               END};
static const struct hr__field cohort_fields[] = {
    {HR__USED("spec", OBJECT), .fields = cohort_spec}, HR__IGNORED("status"), END};

static const struct hr__field local_queue_spec[] = {
    {HR__USED("clusterQueue", TEXT), .required = true},
    {HR__USED("stopPolicy", WORD), .words = stops},
    {HR__USED("fairSharing", OBJECT), .fields = fair_sharing_fields},
    HR__UNMODELLED("wallTimePolicy", "the queue is not stopped when its wall time is used up"),
    END};
static const struct hr__field local_queue_fields[] = {
    {HR__USED("spec", OBJECT), .fields = local_queue_spec, .required = true}, HR__IGNORED("status"), END};

static const struct hr__field taint_fields[] = {{HR__USED("key", TEXT), .required = true},
                                                {HR__USED("value", TEXT)},
                                                {HR__USED("effect", WORD), .words = effects, .required = true},
                                                HR__IGNORED("timeAdded"),
                                                END};
static const struct hr__field toleration_fields[] = {
    {HR__USED("key", TEXT)},          {HR__USED("operator", WORD), .words = operators},
    {HR__USED("value", TEXT)},        {HR__USED("effect", WORD), .words = effects},
    HR__IGNORED("tolerationSeconds"), END};
static const struct hr__field flavor_spec[] = {
    {HR__USED("nodeLabels", LABELS)},
    {HR__USED("nodeTaints", LIST), .fields = taint_fields},
    {HR__USED("tolerations", LIST), .fields = toleration_fields},
    {HR__USED("topologyName", TEXT)},
    HR__UNMODELLED("resourceWeights", "all resources count alike in the dominant share of fair sharing"),
    END};
static const struct hr__field flavor_fields[] = {
    {HR__USED("spec", OBJECT), .fields = flavor_spec}, HR__IGNORED("status"), END};

static const struct hr__field level_fields[] = {{HR__USED("nodeLabel", TEXT), .required = true}, END};
static const struct hr__field topology_spec[] = {{HR__USED("levels", LIST), .fields = level_fields, .required = true},
                                                 END};
static const struct hr__field topology_fields[] = {
    {HR__USED("spec", OBJECT), .fields = topology_spec, .required = true}, HR__IGNORED("status"), END};

static const struct hr__field check_spec[] = {
    HR__UNMODELLED("controllerName", "the check always succeeds, after the time 'delay_s' of the scenario, here 0"),
    HR__IGNORED("retryDelayMinutes"), HR__IGNORED("parameters"), END};
static const struct hr__field check_fields[] = {
    {HR__USED("spec", OBJECT), .fields = check_spec}, HR__IGNORED("status"), END};

static const struct hr__field workload_class_fields[] = {
    {HR__USED("value", WHOLE), .required = true}, HR__IGNORED("description"), END};
static const struct hr__field class_fields[] = {{HR__USED("value", WHOLE), .required = true},
                                                {HR__USED("globalDefault", BOOLEAN),
                                                 .effect = "jobs without a priority in the trace have priority 0",
                                                 .neutral = "false"},
                                                HR__IGNORED("description"),
                                                HR__IGNORED("preemptionPolicy"),
                                                END};

static const struct hr__field namespace_fields[] = {HR__IGNORED("spec"), HR__IGNORED("status"), END};

/* ---- Configuration ---------------------------------------------------------------------------------- */

static const struct hr__field requeuing_fields[] = {{HR__USED("timestamp", WORD), .words = timestamps},
                                                    {HR__USED("backoffLimitCount", WHOLE), .not_negative = true},
                                                    {HR__USED("backoffBaseSeconds", WHOLE), .not_negative = true},
                                                    {HR__USED("backoffMaxSeconds", WHOLE), .not_negative = true},
                                                    END};
static const struct hr__field pods_ready_fields[] = {
    {HR__USED("enable", BOOLEAN), .version = "v1beta1"},
    {HR__USED("timeout", DURATION)},
    {HR__USED("blockAdmission", BOOLEAN)},
    {HR__USED("recoveryTimeout", DURATION)},
    {HR__USED("requeuingStrategy", OBJECT), .fields = requeuing_fields},
    END};
static const struct hr__field share_fields[] = {{HR__USED("enable", BOOLEAN), .version = "v1beta1"},
                                                {HR__USED("preemptionStrategies", WORDS), .words = shares},
                                                END};
static const struct hr__field usage_fields[] = {{HR__USED("usageHalfLifeTime", DURATION)},
                                                {HR__USED("usageSamplingInterval", DURATION)},
                                                {HR__USED("resourceWeights", NUMBERS), .not_negative = true},
                                                END};
static const struct hr__field resources_fields[] = {
    {HR__USED("excludeResourcePrefixes", TEXTS)},
    HR__UNMODELLED("transformations", "requests of jobs count against quotas as they are in the trace"),
    HR__UNMODELLED("deviceClassMappings", "devices of dynamic resource allocation have no quota"),
    END};
static const struct hr__field configuration_fields[] = {
    {HR__USED("waitForPodsReady", OBJECT), .fields = pods_ready_fields},
    {HR__USED("fairSharing", OBJECT), .fields = share_fields},
    {HR__USED("admissionFairSharing", OBJECT), .fields = usage_fields},
    {HR__USED("resources", OBJECT), .fields = resources_fields},
    {HR__USED("featureGates", SWITCHES)},
    HR__UNMODELLED("multiKueue", "jobs are not sent to other clusters"),
    HR__IGNORED("namespace"),
    HR__IGNORED("webhook"),
    HR__IGNORED("leaderElection"),
    HR__IGNORED("metrics"),
    HR__IGNORED("health"),
    HR__IGNORED("pprofBindAddress"),
    HR__IGNORED("controller"),
    HR__IGNORED("tls"),
    HR__IGNORED("manager"),
    HR__IGNORED("manageJobsWithoutQueueName"),
    HR__IGNORED("managedJobsNamespaceSelector"),
    HR__IGNORED("internalCertManagement"),
    HR__IGNORED("clientConnection"),
    HR__IGNORED("integrations"),
    HR__IGNORED("queueVisibility"),
    HR__IGNORED("objectRetentionPolicies"),
    END};

/* ---- Kinds ------------------------------------------------------------------------------------------ */

#define KUEUE_GROUP "kueue.x-k8s.io"
const struct hr__object_kind hr__kueue_kinds[HR__N_KUEUE_KINDS] = {
    [HR__KUEUE_CLUSTER_QUEUE] = {"ClusterQueue", KUEUE_GROUP, api_versions, cluster_queue_fields, false, false},
    [HR__KUEUE_COHORT] = {"Cohort", KUEUE_GROUP, tree_versions, cohort_fields, false, false},
    [HR__KUEUE_LOCAL_QUEUE] = {"LocalQueue", KUEUE_GROUP, api_versions, local_queue_fields, false, true},
    [HR__KUEUE_FLAVOR] = {"ResourceFlavor", KUEUE_GROUP, api_versions, flavor_fields, false, false},
    [HR__KUEUE_TOPOLOGY] = {"Topology", KUEUE_GROUP, tree_versions, topology_fields, false, false},
    [HR__KUEUE_CHECK] = {"AdmissionCheck", KUEUE_GROUP, api_versions, check_fields, false, false},
    [HR__KUEUE_WORKLOAD_CLASS] = {"WorkloadPriorityClass", KUEUE_GROUP, api_versions, workload_class_fields, false,
                                  false},
    [HR__KUEUE_CONFIGURATION] = {"Configuration", "config.kueue.x-k8s.io", config_versions, configuration_fields, true,
                                 false},
    [HR__KUEUE_CLASS] = {"PriorityClass", "scheduling.k8s.io", one_version, class_fields, false, false},
    [HR__KUEUE_NAMESPACE] = {"Namespace", "", one_version, namespace_fields, false, false}};

/* ---- References ------------------------------------------------------------------------------------- */

static const struct hr__object *find(const struct hr__kueue_import *import, enum hr__kueue_kind kind,
                                     const char *name) {
  return hr__objects_find(&import->objects, &hr__kueue_kinds[kind], NULL, name);
}

/* Checks that a text names an object of a kind. */
enum hr_status hr__kueue_check_reference(const struct hr__kueue_import *import, const struct hr__object *object,
                                         const struct hr__yaml *name, enum hr__kueue_kind kind) {
  const char *known[200], *nearest;
  size_t count = 0;
  if (!name || find(import, kind, name->text)) return HR_OK;
  const struct hr__object *other = NULL;
  while (count + 1 < sizeof known / sizeof *known && (other = hr__kueue_next(import, kind, other)))
    known[count++] = other->name;
  known[count] = NULL;
  nearest = hr_nearest_word(name->text, known);
  return hr__object_fail(
      &import->objects, object, name, "found '%.80s', expected the name of a %s in these files%s%.80s%s", name->text,
      hr__kueue_kinds[kind].name, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

const struct hr__yaml *hr__kueue_parent(const struct hr__object *cohort) {
  const struct hr__yaml *parent = hr__yaml_at(cohort->root, "spec.parentName");
  if (!parent) parent = hr__yaml_at(cohort->root, "spec.parent");
  return parent && parent->text[0] ? parent : NULL;
}

const struct hr__yaml *hr__kueue_cohort(const struct hr__object *queue) {
  const struct hr__yaml *cohort = hr__yaml_at(queue->root, "spec.cohortName");
  if (!cohort && strcmp(queue->version, "v1beta1") == 0) cohort = hr__yaml_at(queue->root, "spec.cohort");
  return cohort && cohort->text[0] ? cohort : NULL;
}

/* Checks that the parents of a cohort do not lead back to it. A parent need not exist. */
enum hr_status hr__kueue_check_acyclic(const struct hr__kueue_import *import, const struct hr__object *cohort) {
  const struct hr__object *at = cohort;
  for (uint32_t steps = 0; steps <= import->objects.count; steps++) {
    const struct hr__yaml *parent = hr__kueue_parent(at);
    if (!parent) return HR_OK;
    if (strcmp(parent->text, cohort->name) == 0)
      return hr__object_fail(&import->objects, cohort, hr__kueue_parent(cohort), "its parents form a cycle: %s%.80s",
                             at == cohort ? "it is its own parent, " : "one of them is ",
                             at == cohort ? cohort->name : at->name);
    at = find(import, HR__KUEUE_COHORT, parent->text);
    if (!at) return HR_OK;
  }
  return HR_OK; /* a cycle of other cohorts, which is reported for them */
}

/* ---- Quotas ----------------------------------------------------------------------------------------- */

/* A duplicate in a list: the entry whose text at `key` (NULL: its own) occurs before; NULL: none. */
static const struct hr__yaml *duplicate_in(const struct hr__yaml *first, const char *key) {
  for (const struct hr__yaml *entry = first; entry; entry = entry->next) {
    const char *text = key ? hr__yaml_text(entry, key) : entry->text;
    for (const struct hr__yaml *other = first; other != entry; other = other->next)
      if (text && strcmp(text, key ? hr__yaml_text(other, key) : other->text) == 0) return entry;
  }
  return NULL;
}

static int64_t milli_at(const struct hr__yaml *from, const char *path) {
  int64_t milli = 0;
  const char *text = hr__yaml_text(from, path);
  return text && hr__quantity_milli(text, &milli) ? milli : 0;
}

static enum hr_status check_resource(const struct hr__kueue_import *import, const struct hr__object *owner,
                                     const struct hr__yaml *resource, bool in_tree) {
  const struct hr__yaml *borrowing = hr__yaml_child(resource, "borrowingLimit");
  const struct hr__yaml *lending = hr__yaml_child(resource, "lendingLimit");
  if (!in_tree && (borrowing || lending))
    return hr__object_fail(&import->objects, owner, borrowing ? borrowing : lending,
                           "%s of %s: found a limit, expected none: it is in no cohort",
                           borrowing ? "borrowingLimit" : "lendingLimit", hr__yaml_text(resource, "name"));
  if (lending && milli_at(resource, "lendingLimit") > milli_at(resource, "nominalQuota"))
    return hr__object_fail(&import->objects, owner, lending,
                           "lendingLimit of %s: found %s, expected at most the nominal quota, %s",
                           hr__yaml_text(resource, "name"), lending->text, hr__yaml_text(resource, "nominalQuota"));
  return HR_OK;
}

/* Whether a list of objects has one with a name. */
static bool has_name(const struct hr__yaml *first, const char *name) {
  for (; first; first = first->next)
    if (strcmp(hr__yaml_text(first, "name"), name) == 0) return true;
  return false;
}

static enum hr_status check_flavor_quotas(const struct hr__kueue_import *import, const struct hr__object *owner,
                                          const struct hr__yaml *group, const struct hr__yaml *flavor, bool in_tree) {
  const struct hr__yaml *resources = hr__yaml_first(flavor, "resources"),
                        *covered = hr__yaml_first(group, "coveredResources");
  enum hr_status status = hr__kueue_check_reference(import, owner, hr__yaml_child(flavor, "name"), HR__KUEUE_FLAVOR);
  const struct hr__yaml *twice = duplicate_in(resources, "name");
  if (status == HR_OK && twice)
    return hr__object_fail(&import->objects, owner, twice, "resource '%.80s' is listed twice",
                           hr__yaml_text(twice, "name"));
  for (const struct hr__yaml *entry = covered; entry && status == HR_OK; entry = entry->next)
    if (!has_name(resources, entry->text))
      status = hr__object_fail(&import->objects, owner, flavor,
                               "flavor '%.80s' has no quota of '%.80s', which its group covers",
                               hr__yaml_text(flavor, "name"), entry->text);
  for (const struct hr__yaml *entry = resources; entry && status == HR_OK; entry = entry->next) {
    const char *name = hr__yaml_text(entry, "name");
    const struct hr__yaml *at = covered;
    while (at && strcmp(at->text, name) != 0) at = at->next;
    if (!at)
      status = hr__object_fail(&import->objects, owner, entry,
                               "resource '%.80s' is not in coveredResources of its group", name);
    else
      status = check_resource(import, owner, entry, in_tree);
  }
  return status;
}

/* Checks that a flavor or resource is in one group only. */
static enum hr_status check_repeated(const struct hr__kueue_import *import, const struct hr__object *owner,
                                     const struct hr__yaml *groups, const struct hr__yaml *group) {
  for (const struct hr__yaml *other = groups; other != group; other = other->next) {
    for (const struct hr__yaml *flavor = hr__yaml_first(group, "flavors"); flavor; flavor = flavor->next)
      if (has_name(hr__yaml_first(other, "flavors"), hr__yaml_text(flavor, "name")))
        return hr__object_fail(&import->objects, owner, flavor, "flavor '%.80s' is in two groups",
                               hr__yaml_text(flavor, "name"));
    for (const struct hr__yaml *a = hr__yaml_first(group, "coveredResources"); a; a = a->next)
      for (const struct hr__yaml *b = hr__yaml_first(other, "coveredResources"); b; b = b->next)
        if (strcmp(a->text, b->text) == 0)
          return hr__object_fail(&import->objects, owner, a, "resource '%.80s' is in two groups", a->text);
  }
  return HR_OK;
}

enum hr_status hr__kueue_check_groups(const struct hr__kueue_import *import, const struct hr__object *owner,
                                      bool in_tree) {
  const struct hr__yaml *groups = hr__yaml_first(owner->root, "spec.resourceGroups");
  enum hr_status status = HR_OK;
  for (const struct hr__yaml *group = groups; group && status == HR_OK; group = group->next) {
    const struct hr__yaml *flavors = hr__yaml_first(group, "flavors"), *twice = duplicate_in(flavors, "name");
    const struct hr__yaml *covered = duplicate_in(hr__yaml_first(group, "coveredResources"), NULL);
    if (twice)
      return hr__object_fail(&import->objects, owner, twice, "flavor '%.80s' is listed twice",
                             hr__yaml_text(twice, "name"));
    if (covered)
      return hr__object_fail(&import->objects, owner, covered, "resource '%.80s' is listed twice", covered->text);
    status = check_repeated(import, owner, groups, group);
    for (const struct hr__yaml *flavor = flavors; flavor && status == HR_OK; flavor = flavor->next)
      status = check_flavor_quotas(import, owner, group, flavor, in_tree);
  }
  return status;
}

/* A quantity: as a number if it is a small whole number, otherwise as it is written. */
static void copy_quantity(struct hr__convert *convert, cJSON *to, const char *key, const struct hr__yaml *from,
                          const char *path) {
  const char *text = hr__yaml_text(from, path);
  if (!text) return;
  if (strspn(text, "0123456789") == strlen(text) && strlen(text) < 15)
    hr__put_number(convert, to, key, strtod(text, NULL));
  else
    hr__put_text(convert, to, key, text);
}

static void put_quotas(struct hr__kueue_import *import, cJSON *to, const struct hr__yaml *resources) {
  struct hr__convert *convert = &import->convert;
  cJSON *list = hr__put_list(convert, to, "resources");
  for (const struct hr__yaml *entry = resources; entry; entry = entry->next) {
    cJSON *quota = hr__put_object(convert, list, NULL);
    hr__copy_text(convert, quota, "name", entry, "name");
    copy_quantity(convert, quota, "nominal_quota", entry, "nominalQuota");
    copy_quantity(convert, quota, "borrowing_limit", entry, "borrowingLimit");
    copy_quantity(convert, quota, "lending_limit", entry, "lendingLimit");
  }
}

void hr__kueue_put_groups(struct hr__kueue_import *import, cJSON *to, const struct hr__object *owner) {
  struct hr__convert *convert = &import->convert;
  cJSON *list = hr__put_list(convert, to, "resource_groups");
  for (const struct hr__yaml *group = hr__yaml_first(owner->root, "spec.resourceGroups"); group; group = group->next) {
    cJSON *object = hr__put_object(convert, list, NULL);
    hr__copy_texts(convert, object, "covered_resources", group, "coveredResources");
    cJSON *flavors = hr__put_list(convert, object, "flavors");
    for (const struct hr__yaml *flavor = hr__yaml_first(group, "flavors"); flavor; flavor = flavor->next) {
      cJSON *entry = hr__put_object(convert, flavors, NULL);
      hr__copy_text(convert, entry, "name", flavor, "name");
      put_quotas(import, entry, hr__yaml_first(flavor, "resources"));
    }
  }
  hr__drop_empty(to, "resource_groups");
}

int64_t hr__kueue_gpus_of(const struct hr__kueue_import *import, const char *name) {
  static const enum hr__kueue_kind owners[] = {HR__KUEUE_CLUSTER_QUEUE, HR__KUEUE_COHORT};
  int64_t milli = 0;
  for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
    for (const struct hr__object *owner = hr__kueue_next(import, owners[i], NULL); owner;
         owner = hr__kueue_next(import, owners[i], owner))
      for (const struct hr__yaml *group = hr__yaml_first(owner->root, "spec.resourceGroups"); group;
           group = group->next)
        for (const struct hr__yaml *flavor = hr__yaml_first(group, "flavors"); flavor; flavor = flavor->next) {
          if (strcmp(hr__yaml_text(flavor, "name"), name) != 0) continue;
          for (const struct hr__yaml *entry = hr__yaml_first(flavor, "resources"); entry; entry = entry->next)
            if (strcmp(hr__yaml_text(entry, "name"), import->gpu_resource) == 0)
              milli += milli_at(entry, "nominalQuota");
        }
  return milli;
}
