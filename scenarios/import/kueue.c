/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Imports Kueue: ClusterQueues, Cohorts, LocalQueues, ResourceFlavors, Topologies, AdmissionChecks, priority classes
 * and the Configuration, which may be within a ConfigMap, become the section `kueue` of a scenario. Nodes become pools.
 * A flavor has all pools of nodes with its labels. Without Nodes, each flavor with a quota of GPUs gets a pool with
 * this number of GPUs.
 *
 * Tables contain the fields of the objects in all versions of the API. This file also checks rules that Kueue checks
 * when an object is created, and rules that make a ClusterQueue inactive: references, cycles of cohorts, limits without
 * a cohort, and resources or flavors that are listed twice. Errors state the place in the manifest.
 *
 * Source: kubernetes-sigs/kueue, apis/kueue/v1beta1 and v1beta2, apis/config/v1beta1 and v1beta2, pkg/webhooks.
 */

#include "policies/kueue/kueue.h"
#include "scenarios/import/import.h"

#include <stdio.h>

enum kueue_kind {
  HR__KUEUE_CLUSTER_QUEUE,
  HR__KUEUE_COHORT,
  HR__KUEUE_LOCAL_QUEUE,
  HR__KUEUE_FLAVOR,
  HR__KUEUE_TOPOLOGY,
  HR__KUEUE_CHECK,
  HR__KUEUE_WORKLOAD_CLASS,
  HR__KUEUE_CONFIGURATION,
  HR__KUEUE_CLASS,
  HR__KUEUE_NAMESPACE,
  HR__N_KUEUE_KINDS
};

/* ---- Fields ----------------------------------------------------------------------------------------- */

static const char *const api_versions[] = {"v1beta1", "v1beta2", "v1", NULL};
static const char *const tree_versions[] = {"v1alpha1", "v1beta1", "v1beta2", "v1", NULL};
static const char *const config_versions[] = {"v1beta1", "v1beta2", NULL};

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

/* ---- Fields: parts of several objects --------------------------------------------------------------- */

static const struct hr__field requirement_fields[] = {
    {HR__USED("key", TEXT), .required = true},
    {HR__USED("operator", WORD), .words = selector_operators, .required = true},
    {HR__USED("values", TEXTS)},
    HR__END};
static const struct hr__field selector_fields[] = {
    {HR__USED("matchLabels", LABELS)}, {HR__USED("matchExpressions", LIST), .fields = requirement_fields}, HR__END};
static const struct hr__field fair_sharing_fields[] = {{HR__USED("weight", QUANTITY), .not_negative = true}, HR__END};

static const struct hr__field resource_fields[] = {
    {HR__USED("name", TEXT), .required = true},
    {HR__USED("nominalQuota", QUANTITY), .required = true, .not_negative = true},
    {HR__USED("borrowingLimit", QUANTITY), .not_negative = true},
    {HR__USED("lendingLimit", QUANTITY), .not_negative = true},
    HR__END};
static const struct hr__field flavor_quota_fields[] = {
    {HR__USED("name", TEXT), .required = true},
    {HR__USED("resources", LIST), .fields = resource_fields, .required = true},
    HR__END};
static const struct hr__field group_fields[] = {
    {HR__USED("coveredResources", TEXTS), .required = true},
    {HR__USED("flavors", LIST), .fields = flavor_quota_fields, .required = true},
    HR__END};

/* ---- Fields: ClusterQueue --------------------------------------------------------------------------- */

static const struct hr__field fungibility_fields[] = {{HR__USED("whenCanBorrow", WORD), .words = borrow_words},
                                                      {HR__USED("whenCanPreempt", WORD), .words = preempt_words},
                                                      {HR__USED("preference", WORD), .words = preferences},
                                                      HR__END};
static const struct hr__field borrow_fields[] = {
    {HR__USED("policy", WORD), .words = borrow_policies}, {HR__USED("maxPriorityThreshold", WHOLE)}, HR__END};
static const struct hr__field preemption_fields[] = {{HR__USED("withinClusterQueue", WORD), .words = within_words},
                                                     {HR__USED("reclaimWithinCohort", WORD), .words = reclaim_words},
                                                     {HR__USED("borrowWithinCohort", OBJECT), .fields = borrow_fields},
                                                     HR__END};
static const struct hr__field check_rule_fields[] = {
    {HR__USED("name", TEXT), .required = true}, {HR__USED("onFlavors", TEXTS)}, HR__END};
static const struct hr__field check_strategy_fields[] = {
    {HR__USED("admissionChecks", LIST), .fields = check_rule_fields}, HR__END};
static const struct hr__field scope_fields[] = {
    {HR__USED("admissionMode", WORD), .words = admission_modes, .required = true}, HR__END};
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
    HR__END};
static const struct hr__field cluster_queue_fields[] = {
    {HR__USED("spec", OBJECT), .fields = cluster_queue_spec}, HR__IGNORED("status"), HR__END};

/* ---- Fields: other objects -------------------------------------------------------------------------- */

static const struct hr__field cohort_spec[] = {{HR__USED("parent", TEXT)},
                                               {HR__USED("parentName", TEXT)},
                                               {HR__USED("resourceGroups", LIST), .fields = group_fields},
                                               {HR__USED("fairSharing", OBJECT), .fields = fair_sharing_fields},
                                               HR__END};
static const struct hr__field cohort_fields[] = {
    {HR__USED("spec", OBJECT), .fields = cohort_spec}, HR__IGNORED("status"), HR__END};

static const struct hr__field local_queue_spec[] = {
    {HR__USED("clusterQueue", TEXT), .required = true},
    {HR__USED("stopPolicy", WORD), .words = stops},
    {HR__USED("fairSharing", OBJECT), .fields = fair_sharing_fields},
    HR__UNMODELLED("wallTimePolicy", "the queue is not stopped when its wall time is used up"),
    HR__END};
static const struct hr__field local_queue_fields[] = {
    {HR__USED("spec", OBJECT), .fields = local_queue_spec, .required = true}, HR__IGNORED("status"), HR__END};

static const struct hr__field taint_fields[] = {{HR__USED("key", TEXT), .required = true},
                                                {HR__USED("value", TEXT)},
                                                {HR__USED("effect", WORD), .words = effects, .required = true},
                                                HR__IGNORED("timeAdded"),
                                                HR__END};
static const struct hr__field toleration_fields[] = {
    {HR__USED("key", TEXT)},          {HR__USED("operator", WORD), .words = operators},
    {HR__USED("value", TEXT)},        {HR__USED("effect", WORD), .words = effects},
    HR__IGNORED("tolerationSeconds"), HR__END};
static const struct hr__field flavor_spec[] = {
    {HR__USED("nodeLabels", LABELS)},
    {HR__USED("nodeTaints", LIST), .fields = taint_fields},
    {HR__USED("tolerations", LIST), .fields = toleration_fields},
    {HR__USED("topologyName", TEXT)},
    HR__UNMODELLED("resourceWeights", "all resources count alike in the dominant share of fair sharing"),
    HR__END};
static const struct hr__field flavor_fields[] = {
    {HR__USED("spec", OBJECT), .fields = flavor_spec}, HR__IGNORED("status"), HR__END};

static const struct hr__field check_spec[] = {
    HR__UNMODELLED("controllerName", "the check always succeeds, after the time 'delay_s' of the scenario, here 0"),
    HR__IGNORED("retryDelayMinutes"), HR__IGNORED("parameters"), HR__END};
static const struct hr__field check_fields[] = {
    {HR__USED("spec", OBJECT), .fields = check_spec}, HR__IGNORED("status"), HR__END};

static const struct hr__field workload_class_fields[] = {
    {HR__USED("value", WHOLE), .required = true}, HR__IGNORED("description"), HR__END};
static const struct hr__field class_fields[] = {{HR__USED("value", WHOLE), .required = true},
                                                {HR__USED("globalDefault", BOOLEAN),
                                                 .effect = "jobs without a priority in the trace have priority 0",
                                                 .neutral = "false"},
                                                HR__IGNORED("description"),
                                                HR__IGNORED("preemptionPolicy"),
                                                HR__END};

static const struct hr__field namespace_fields[] = {HR__IGNORED("spec"), HR__IGNORED("status"), HR__END};

/* ---- Fields: configuration -------------------------------------------------------------------------- */

static const struct hr__field requeuing_fields[] = {{HR__USED("timestamp", WORD), .words = timestamps},
                                                    {HR__USED("backoffLimitCount", WHOLE), .not_negative = true},
                                                    {HR__USED("backoffBaseSeconds", WHOLE), .not_negative = true},
                                                    {HR__USED("backoffMaxSeconds", WHOLE), .not_negative = true},
                                                    HR__END};
static const struct hr__field pods_ready_fields[] = {
    {HR__USED("enable", BOOLEAN), .version = "v1beta1"},
    {HR__USED("timeout", DURATION)},
    {HR__USED("blockAdmission", BOOLEAN)},
    {HR__USED("recoveryTimeout", DURATION)},
    {HR__USED("requeuingStrategy", OBJECT), .fields = requeuing_fields},
    HR__END};
static const struct hr__field share_fields[] = {{HR__USED("enable", BOOLEAN), .version = "v1beta1"},
                                                {HR__USED("preemptionStrategies", WORDS), .words = shares},
                                                HR__END};
static const struct hr__field usage_fields[] = {{HR__USED("usageHalfLifeTime", DURATION)},
                                                {HR__USED("usageSamplingInterval", DURATION)},
                                                {HR__USED("resourceWeights", NUMBERS), .not_negative = true},
                                                HR__END};
static const struct hr__field resources_fields[] = {
    {HR__USED("excludeResourcePrefixes", TEXTS)},
    HR__UNMODELLED("transformations", "requests of jobs count against quotas as they are in the trace"),
    HR__UNMODELLED("deviceClassMappings", "devices of dynamic resource allocation have no quota"),
    HR__END};
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
    HR__END};

/* ---- Kinds of objects ------------------------------------------------------------------------------- */

#define KUEUE_GROUP "kueue.x-k8s.io"
static const struct hr__object_kind kueue_kinds[HR__N_KUEUE_KINDS] = {
    [HR__KUEUE_CLUSTER_QUEUE] = {"ClusterQueue", KUEUE_GROUP, api_versions, cluster_queue_fields, false, false},
    [HR__KUEUE_COHORT] = {"Cohort", KUEUE_GROUP, tree_versions, cohort_fields, false, false},
    [HR__KUEUE_LOCAL_QUEUE] = {"LocalQueue", KUEUE_GROUP, api_versions, local_queue_fields, false, true},
    [HR__KUEUE_FLAVOR] = {"ResourceFlavor", KUEUE_GROUP, api_versions, flavor_fields, false, false},
    [HR__KUEUE_TOPOLOGY] = {"Topology", KUEUE_GROUP, tree_versions, hr__topology_fields, false, false},
    [HR__KUEUE_CHECK] = {"AdmissionCheck", KUEUE_GROUP, api_versions, check_fields, false, false},
    [HR__KUEUE_WORKLOAD_CLASS] = {"WorkloadPriorityClass", KUEUE_GROUP, api_versions, workload_class_fields, false,
                                  false},
    [HR__KUEUE_CONFIGURATION] = {"Configuration", "config.kueue.x-k8s.io", config_versions, configuration_fields, true,
                                 false},
    [HR__KUEUE_CLASS] = {"PriorityClass", "scheduling.k8s.io", hr__version_1, class_fields, false, false},
    [HR__KUEUE_NAMESPACE] = {"Namespace", "", hr__version_1, namespace_fields, false, false}};

/* ---- References ------------------------------------------------------------------------------------- */

static const struct hr__object *find(const struct hr__import *import, enum kueue_kind kind, const char *name) {
  return hr__objects_find(&import->objects, &kueue_kinds[kind], NULL, name);
}

/* Checks that `name` is the name of an object of a kind. If `name` is NULL, checks nothing. */
static enum hr_status kueue_check_reference(const struct hr__import *import, const struct hr__object *object,
                                            const struct hr__yaml *name, enum kueue_kind kind) {
  const char *known[200], *nearest;
  size_t count = 0;
  if (!name || find(import, kind, name->text)) return HR_OK;
  const struct hr__object *other = NULL;
  while (count + 1 < sizeof known / sizeof *known && (other = hr__import_next(import, kind, other)))
    known[count++] = other->name;
  known[count] = NULL;
  nearest = hr_nearest_word(name->text, known);
  return hr__object_fail(
      &import->objects, object, name, "found '%.80s', expected the name of a %s in these files%s%.80s%s", name->text,
      kueue_kinds[kind].name, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

/* Returns the name of the parent of a cohort; NULL: none. */
static const struct hr__yaml *kueue_parent(const struct hr__object *cohort) {
  const struct hr__yaml *parent = hr__yaml_at(cohort->root, "spec.parentName");
  if (!parent) parent = hr__yaml_at(cohort->root, "spec.parent");
  return parent && parent->text[0] ? parent : NULL;
}

/* Returns the name of the cohort of a ClusterQueue; NULL: none. */
static const struct hr__yaml *kueue_cohort(const struct hr__object *queue) {
  const struct hr__yaml *cohort = hr__yaml_at(queue->root, "spec.cohortName");
  if (!cohort && strcmp(queue->version, "v1beta1") == 0) cohort = hr__yaml_at(queue->root, "spec.cohort");
  return cohort && cohort->text[0] ? cohort : NULL;
}

/* Checks that a cohort is not its own ancestor. A parent need not exist. */
static enum hr_status kueue_check_acyclic(const struct hr__import *import, const struct hr__object *cohort) {
  const struct hr__object *at = cohort;
  for (uint32_t steps = 0; steps <= import->objects.count; steps++) {
    const struct hr__yaml *parent = kueue_parent(at);
    if (!parent) return HR_OK;
    if (strcmp(parent->text, cohort->name) == 0)
      return hr__object_fail(&import->objects, cohort, kueue_parent(cohort), "its parents form a cycle: %s%.80s",
                             at == cohort ? "it is its own parent, " : "one of them is ",
                             at == cohort ? cohort->name : at->name);
    at = find(import, HR__KUEUE_COHORT, parent->text);
    if (!at) return HR_OK;
  }
  return HR_OK; /* a cycle of other cohorts, which is reported for them */
}

/* ---- Quotas ----------------------------------------------------------------------------------------- */

/* Returns the first entry of a list that has the same text as an earlier entry; NULL: none. Entries are objects with
   the text in their member `key` or, if `key` is NULL, texts. */
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

static enum hr_status check_resource(const struct hr__import *import, const struct hr__object *owner,
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

/* Returns whether a list of objects has an object with a name. */
static bool has_name(const struct hr__yaml *first, const char *name) {
  for (; first; first = first->next)
    if (strcmp(hr__yaml_text(first, "name"), name) == 0) return true;
  return false;
}

static enum hr_status check_flavor_quotas(const struct hr__import *import, const struct hr__object *owner,
                                          const struct hr__yaml *group, const struct hr__yaml *flavor, bool in_tree) {
  const struct hr__yaml *resources = hr__yaml_first(flavor, "resources"),
                        *covered = hr__yaml_first(group, "coveredResources");
  enum hr_status status = kueue_check_reference(import, owner, hr__yaml_child(flavor, "name"), HR__KUEUE_FLAVOR);
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

/* Checks that no flavor and no resource of a group is also in an earlier group. */
static enum hr_status check_repeated(const struct hr__import *import, const struct hr__object *owner,
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

/* Checks the resource groups of a ClusterQueue or cohort. `in_tree`: the owner has a cohort or a parent, so it can
   borrow and lend. */
static enum hr_status kueue_check_groups(const struct hr__import *import, const struct hr__object *owner,
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

/* Copies a quantity. A whole number of at most 14 digits becomes a number; other quantities become texts. */
static void copy_quantity(struct hr__import *import, cJSON *to, const char *key, const struct hr__yaml *from,
                          const char *path) {
  const char *text = hr__yaml_text(from, path);
  if (!text) return;
  if (strspn(text, "0123456789") == strlen(text) && strlen(text) < 15)
    hr__put_number(import, to, key, strtod(text, NULL));
  else
    hr__put_text(import, to, key, text);
}

static void put_quotas(struct hr__import *import, cJSON *to, const struct hr__yaml *resources) {
  cJSON *list = hr__put_list(import, to, "resources");
  for (const struct hr__yaml *entry = resources; entry; entry = entry->next) {
    cJSON *quota = hr__put_object(import, list, NULL);
    hr__copy_text(import, quota, "name", entry, "name");
    copy_quantity(import, quota, "nominal_quota", entry, "nominalQuota");
    copy_quantity(import, quota, "borrowing_limit", entry, "borrowingLimit");
    copy_quantity(import, quota, "lending_limit", entry, "lendingLimit");
  }
}

/* Writes the resource groups of a ClusterQueue or cohort. */
static void kueue_put_groups(struct hr__import *import, cJSON *to, const struct hr__object *owner) {
  cJSON *list = hr__put_list(import, to, "resource_groups");
  for (const struct hr__yaml *group = hr__yaml_first(owner->root, "spec.resourceGroups"); group; group = group->next) {
    cJSON *object = hr__put_object(import, list, NULL);
    hr__copy_texts(import, object, "covered_resources", group, "coveredResources");
    cJSON *flavors = hr__put_list(import, object, "flavors");
    for (const struct hr__yaml *flavor = hr__yaml_first(group, "flavors"); flavor; flavor = flavor->next) {
      cJSON *entry = hr__put_object(import, flavors, NULL);
      hr__copy_text(import, entry, "name", flavor, "name");
      put_quotas(import, entry, hr__yaml_first(flavor, "resources"));
    }
  }
  hr__drop_empty(to, "resource_groups");
}

/* Returns the sum of all nominal GPU quotas of a flavor, in thousandths of a GPU. */
static int64_t kueue_gpus_of(const struct hr__import *import, const char *name) {
  static const enum kueue_kind owners[] = {HR__KUEUE_CLUSTER_QUEUE, HR__KUEUE_COHORT};
  int64_t milli = 0;
  for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
    for (const struct hr__object *owner = hr__import_next(import, owners[i], NULL); owner;
         owner = hr__import_next(import, owners[i], owner))
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

/* ---- Namespaces ------------------------------------------------------------------------------------- */

#define NAMESPACE_LABEL "kubernetes.io/metadata.name"

/* Returns whether the labels of a namespace fulfil a requirement of a selector. The label kubernetes.io/metadata.name
   of a namespace is its name. */
static bool fulfils(const struct hr__object *space, const struct hr__yaml *requirement) {
  const char *key = hr__yaml_text(requirement, "key"), *operation = hr__yaml_text(requirement, "operator");
  const struct hr__yaml *label = hr__yaml_child(hr__yaml_at(space->root, "metadata.labels"), key);
  const char *value = label ? label->text : strcmp(key, NAMESPACE_LABEL) == 0 ? space->name : NULL;
  bool is_in = false;
  for (const struct hr__yaml *entry = hr__yaml_first(requirement, "values"); entry && value; entry = entry->next)
    is_in = is_in || strcmp(entry->text, value) == 0;
  if (strcmp(operation, "In") == 0) return is_in;
  if (strcmp(operation, "NotIn") == 0) return !is_in;
  return strcmp(operation, "Exists") == 0 ? value != NULL : value == NULL;
}

static bool selects(const struct hr__yaml *selector, const struct hr__object *space) {
  const struct hr__yaml *labels = hr__yaml_at(space->root, "metadata.labels");
  for (const struct hr__yaml *entry = hr__yaml_first(selector, "matchLabels"); entry; entry = entry->next) {
    const struct hr__yaml *label = hr__yaml_child(labels, entry->key);
    const char *value = label ? label->text : strcmp(entry->key, NAMESPACE_LABEL) == 0 ? space->name : NULL;
    if (!value || strcmp(value, entry->text) != 0) return false;
  }
  for (const struct hr__yaml *entry = hr__yaml_first(selector, "matchExpressions"); entry; entry = entry->next)
    if (!fulfils(space, entry)) return false;
  return true;
}

/* If the only condition of a selector is a list of namespaces by name, returns the first entry of this list. Otherwise
   returns NULL. */
static const struct hr__yaml *named_spaces(const struct hr__yaml *selector) {
  const struct hr__yaml *labels = hr__yaml_first(selector, "matchLabels");
  const struct hr__yaml *expressions = hr__yaml_first(selector, "matchExpressions");
  if (labels && !labels->next && !expressions && strcmp(labels->key, NAMESPACE_LABEL) == 0) return labels;
  if (labels || !expressions || expressions->next) return NULL;
  if (strcmp(hr__yaml_text(expressions, "key"), NAMESPACE_LABEL) != 0) return NULL;
  return strcmp(hr__yaml_text(expressions, "operator"), "In") == 0 ? hr__yaml_first(expressions, "values") : NULL;
}

static enum hr_status put_namespaces(struct hr__import *import, cJSON *to, const struct hr__object *queue) {
  const struct hr__yaml *selector = hr__yaml_at(queue->root, "spec.namespaceSelector");
  if (!selector)
    return hr__object_note(&import->objects, queue, queue->root,
                           "spec.namespaceSelector is missing, so Kueue would admit no job; the scenario accepts all "
                           "namespaces. '{}' selects all");
  if (!hr__yaml_first(selector, "matchLabels") && !hr__yaml_first(selector, "matchExpressions")) return HR_OK;
  cJSON *list = hr__put_list(import, to, "namespaces");
  const struct hr__yaml *named = named_spaces(selector);
  for (const struct hr__yaml *entry = named; entry; entry = entry->next) hr__put_text(import, list, NULL, entry->text);
  const struct hr__object *space = NULL;
  while (!named && (space = hr__import_next(import, HR__KUEUE_NAMESPACE, space)))
    if (selects(selector, space)) hr__put_text(import, list, NULL, space->name);
  bool none = !list || !list->child;
  hr__drop_empty(to, "namespaces");
  if (!none) return HR_OK;
  return hr__object_note(
      &import->objects, queue, selector,
      "spec.namespaceSelector selects none of the Namespaces in these files; the scenario accepts all "
      "namespaces. Add the output of 'kubectl get namespaces -o yaml'");
}

/* ---- Queues ----------------------------------------------------------------------------------------- */

static void put_preemption(struct hr__import *import, cJSON *to, const struct hr__object *queue) {
  const struct hr__yaml *rules = hr__yaml_at(queue->root, "spec.preemption");
  const struct hr__yaml *borrow = hr__yaml_child(rules, "borrowWithinCohort");
  const char *policy = hr__yaml_text(borrow, "policy");
  cJSON *object = hr__put_object(import, to, "preemption");
  hr__copy_text(import, object, "within_cluster_queue", rules, "withinClusterQueue");
  hr__copy_text(import, object, "reclaim_within_cohort", rules, "reclaimWithinCohort");
  if (policy && strcmp(policy, "Never") != 0) {
    cJSON *part = hr__put_object(import, object, "borrow_within_cohort");
    hr__put_text(import, part, "policy", policy);
    hr__copy_number(import, part, "max_priority_threshold", borrow, "maxPriorityThreshold");
  }
  hr__drop_empty(to, "preemption");
}

static enum hr_status check_preemption(const struct hr__import *import, const struct hr__object *queue) {
  const struct hr__yaml *policy = hr__yaml_at(queue->root, "spec.preemption.borrowWithinCohort.policy");
  const char *reclaim = hr__yaml_text(queue->root, "spec.preemption.reclaimWithinCohort");
  bool never = !reclaim || strcmp(reclaim, "Never") == 0;
  if (!policy || strcmp(policy->text, "Never") == 0 || !never) return HR_OK;
  return hr__object_fail(&import->objects, queue, policy,
                         "borrowWithinCohort.policy: found %s, expected Never, as reclaimWithinCohort is Never",
                         policy->text);
}

static void put_fungibility(struct hr__import *import, cJSON *to, const struct hr__object *queue) {
  const struct hr__yaml *rules = hr__yaml_at(queue->root, "spec.flavorFungibility");
  cJSON *object = hr__put_object(import, to, "flavor_fungibility");
  hr__copy_text(import, object, "when_can_borrow", rules, "whenCanBorrow");
  hr__copy_text(import, object, "when_can_preempt", rules, "whenCanPreempt");
  hr__copy_text(import, object, "preference", rules, "preference");
  hr__drop_empty(to, "flavor_fungibility");
}

/* Adds the admission checks of a queue. Checks in "admissionChecksStrategy" may be restricted to some flavors. */
static enum hr_status put_checks(struct hr__import *import, cJSON *to, const struct hr__object *queue) {
  enum hr_status status = HR_OK;
  cJSON *list = hr__put_list(import, to, "admission_checks");
  const struct hr__yaml *names = hr__yaml_first(queue->root, "spec.admissionChecks");
  for (const struct hr__yaml *entry = names; entry && status == HR_OK; entry = entry->next) {
    hr__put_text(import, hr__put_object(import, list, NULL), "name", entry->text);
    status = kueue_check_reference(import, queue, entry, HR__KUEUE_CHECK);
  }
  const struct hr__yaml *rules = hr__yaml_first(queue->root, "spec.admissionChecksStrategy.admissionChecks");
  for (const struct hr__yaml *entry = rules; entry && status == HR_OK; entry = entry->next) {
    cJSON *object = hr__put_object(import, list, NULL);
    hr__copy_text(import, object, "name", entry, "name");
    hr__copy_texts(import, object, "on_flavors", entry, "onFlavors");
    status = kueue_check_reference(import, queue, hr__yaml_child(entry, "name"), HR__KUEUE_CHECK);
    for (const struct hr__yaml *flavor = hr__yaml_first(entry, "onFlavors"); flavor && status == HR_OK;
         flavor = flavor->next)
      status = kueue_check_reference(import, queue, flavor, HR__KUEUE_FLAVOR);
  }
  hr__drop_empty(to, "admission_checks");
  return status;
}

/* Copies a quantity as a number, rounded to thousandths, such as 0.5 for "500m". */
static void copy_amount(struct hr__import *import, cJSON *to, const char *key, const struct hr__yaml *from,
                        const char *path) {
  int64_t milli;
  const char *text = hr__yaml_text(from, path);
  if (text && hr__quantity_milli(text, &milli)) hr__put_number(import, to, key, (double)milli / 1000);
}

static enum hr_status put_cluster_queue(struct hr__import *import, cJSON *list, const struct hr__object *queue) {
  const struct hr__yaml *cohort = kueue_cohort(queue);
  enum hr_status status = kueue_check_groups(import, queue, cohort != NULL);
  if (status == HR_OK) status = check_preemption(import, queue);
  if (status != HR_OK) return status;
  cJSON *object = hr__put_named(import, list, queue->name);
  if (cohort) hr__put_text(import, object, "cohort", cohort->text);
  hr__copy_text(import, object, "queueing_strategy", queue->root, "spec.queueingStrategy");
  kueue_put_groups(import, object, queue);
  put_preemption(import, object, queue);
  put_fungibility(import, object, queue);
  copy_amount(import, object, "fair_weight", queue->root, "spec.fairSharing.weight");
  hr__copy_text(import, object, "stop_policy", queue->root, "spec.stopPolicy");
  hr__copy_text(import, object, "admission_mode", queue->root, "spec.admissionScope.admissionMode");
  status = put_checks(import, object, queue);
  return status == HR_OK ? put_namespaces(import, object, queue) : status;
}

static enum hr_status put_cohort(struct hr__import *import, cJSON *list, const struct hr__object *cohort) {
  const struct hr__yaml *parent = kueue_parent(cohort);
  enum hr_status status = kueue_check_acyclic(import, cohort);
  if (status == HR_OK) status = kueue_check_groups(import, cohort, parent != NULL);
  cJSON *object = hr__put_named(import, list, cohort->name);
  if (parent) hr__put_text(import, object, "parent", parent->text);
  kueue_put_groups(import, object, cohort);
  copy_amount(import, object, "fair_weight", cohort->root, "spec.fairSharing.weight");
  return status;
}

static enum hr_status put_local_queue(struct hr__import *import, cJSON *list, const struct hr__object *queue) {
  cJSON *object = hr__put_named(import, list, queue->name);
  hr__put_text(import, object, "namespace", queue->name_space);
  hr__copy_text(import, object, "cluster_queue", queue->root, "spec.clusterQueue");
  copy_amount(import, object, "fair_weight", queue->root, "spec.fairSharing.weight");
  hr__copy_text(import, object, "stop_policy", queue->root, "spec.stopPolicy");
  return kueue_check_reference(import, queue, hr__yaml_at(queue->root, "spec.clusterQueue"), HR__KUEUE_CLUSTER_QUEUE);
}

/* ---- Flavors ---------------------------------------------------------------------------------------- */

static void put_labels(struct hr__import *import, cJSON *to, const struct hr__yaml *labels) {
  cJSON *list = labels && labels->first ? hr__put_list(import, to, "node_labels") : NULL;
  for (const struct hr__yaml *label = labels ? labels->first : NULL; label; label = label->next) {
    cJSON *object = hr__put_object(import, list, NULL);
    hr__put_text(import, object, "key", label->key);
    hr__put_text(import, object, "value", label->text);
  }
}

static void put_taints(struct hr__import *import, cJSON *to, const char *key, const struct hr__yaml *first) {
  cJSON *list = first ? hr__put_list(import, to, key) : NULL;
  for (const struct hr__yaml *entry = first; entry; entry = entry->next) {
    cJSON *object = hr__put_object(import, list, NULL);
    hr__copy_text(import, object, "key", entry, "key");
    hr__copy_text(import, object, "operator", entry, "operator");
    hr__copy_text(import, object, "value", entry, "value");
    hr__copy_text(import, object, "effect", entry, "effect");
  }
}

/* Adds an assumed pool for a flavor with a quota of GPUs. Used if the files contain no Nodes. */
static enum hr_status assume_pool(struct hr__import *import, const struct hr__object *flavor) {
  int64_t gpus = kueue_gpus_of(import, flavor->name) / 1000;
  const struct hr__yaml *label = hr__gpu_label(hr__yaml_at(flavor->root, "spec.nodeLabels"));
  if (gpus <= 0) return HR_OK;
  return hr__node_pools_assume(&import->pools, &import->objects, flavor->name, label ? label->text : flavor->name,
                               gpus);
}

/* Adds a pool without nodes for a flavor, with a note. Used if no Node has the labels of the flavor. */
static enum hr_status add_empty_pool(struct hr__import *import, const struct hr__object *flavor) {
  const struct hr__yaml *labels = hr__yaml_at(flavor->root, "spec.nodeLabels"), *label = hr__gpu_label(labels);
  enum hr_status status =
      hr__object_note(&import->objects, flavor, labels,
                      "no Node has the labels of the flavor, so it has an empty pool; jobs that get "
                      "this flavor do not start");
  if (status == HR_OK)
    status =
        hr__node_pools_assume(&import->pools, &import->objects, flavor->name, label ? label->text : flavor->name, 0);
  return status;
}

/* Writes the pools of a flavor. A flavor without labels may use all pools, which is the default of the scenario. */
static enum hr_status put_pools(struct hr__import *import, cJSON *to, const struct hr__object *flavor) {
  const struct hr__yaml *labels = hr__yaml_at(flavor->root, "spec.nodeLabels");
  uint32_t before = import->pools.count;
  enum hr_status status = HR_OK;
  bool any = false;
  if (import->has_nodes && (!labels || !labels->count)) return HR_OK;
  if (!import->has_nodes) status = assume_pool(import, flavor);
  for (uint32_t i = 0; i < before && import->has_nodes; i++)
    any = any || hr__node_pool_has_labels(&import->pools.list[i], labels);
  if (import->has_nodes && !any) status = add_empty_pool(import, flavor);
  if (status != HR_OK) return status;
  cJSON *list = hr__put_list(import, to, "pools");
  for (uint32_t i = 0; i < import->pools.count; i++)
    if (i >= before || (any && hr__node_pool_has_labels(&import->pools.list[i], labels)))
      hr__put_text(import, list, NULL, import->pools.list[i].name);
  hr__drop_empty(to, "pools");
  return HR_OK;
}

static enum hr_status put_flavor(struct hr__import *import, cJSON *list, const struct hr__object *flavor) {
  cJSON *object = hr__put_named(import, list, flavor->name);
  enum hr_status status = put_pools(import, object, flavor);
  put_labels(import, object, hr__yaml_at(flavor->root, "spec.nodeLabels"));
  put_taints(import, object, "node_taints", hr__yaml_first(flavor->root, "spec.nodeTaints"));
  put_taints(import, object, "tolerations", hr__yaml_first(flavor->root, "spec.tolerations"));
  hr__copy_text(import, object, "topology", flavor->root, "spec.topologyName");
  if (status != HR_OK) return status;
  return kueue_check_reference(import, flavor, hr__yaml_at(flavor->root, "spec.topologyName"), HR__KUEUE_TOPOLOGY);
}

static enum hr_status put_topology(struct hr__import *import, cJSON *list, const struct hr__object *topology) {
  cJSON *object = hr__put_named(import, list, topology->name);
  cJSON *levels = hr__put_list(import, object, "levels");
  for (const struct hr__yaml *level = hr__yaml_first(topology->root, "spec.levels"); level; level = level->next)
    hr__copy_text(import, hr__put_object(import, levels, NULL), "node_label", level, "nodeLabel");
  return HR_OK;
}

static enum hr_status put_check(struct hr__import *import, cJSON *list, const struct hr__object *check) {
  hr__put_text(import, hr__put_object(import, list, NULL), "name", check->name);
  return HR_OK;
}

static enum hr_status put_class(struct hr__import *import, cJSON *list, const struct hr__object *class_) {
  for (const cJSON *other = list ? list->child : NULL; other; other = other->next)
    if (strcmp(other->child->valuestring, class_->name) == 0)
      return hr__object_note(&import->objects, class_, class_->root,
                             "is left out, since a WorkloadPriorityClass has the same name");
  cJSON *object = hr__put_named(import, list, class_->name);
  hr__copy_number(import, object, "value", class_->root, "value");
  return HR_OK;
}

/* ---- Configuration ---------------------------------------------------------------------------------- */

static void put_pods_ready(struct hr__import *import, cJSON *to, const struct hr__object *config) {
  const struct hr__yaml *rules = hr__yaml_at(config->root, "waitForPodsReady");
  bool old = strcmp(config->version, "v1beta1") == 0, enabled = !old || hr__is_true(hr__yaml_child(rules, "enable"));
  if (!rules || !enabled) return;
  cJSON *object = hr__put_object(import, to, "wait_for_pods_ready");
  hr__copy_seconds(import, object, "timeout_s", rules, "timeout");
  if (hr__yaml_child(rules, "blockAdmission"))
    hr__copy_boolean(import, object, "block_admission", rules, "blockAdmission");
  else if (old)
    hr__put_boolean(import, object, "block_admission", true); /* the default of v1beta1 */
  int64_t recovery_us = 0;
  const char *recovery = hr__yaml_text(rules, "recoveryTimeout");
  if (!recovery && !old) recovery = hr__yaml_text(rules, "timeout");
  if (recovery && hr__duration(recovery, &recovery_us) && recovery_us)
    hr__put_number(import, object, "recovery_timeout_s", (double)recovery_us / 1e6);
  const struct hr__yaml *requeuing = hr__yaml_child(rules, "requeuingStrategy");
  cJSON *part = hr__put_object(import, object, "requeuing_strategy");
  hr__copy_text(import, part, "timestamp", requeuing, "timestamp");
  hr__copy_number(import, part, "backoff_limit_count", requeuing, "backoffLimitCount");
  hr__copy_number(import, part, "backoff_base_s", requeuing, "backoffBaseSeconds");
  hr__copy_number(import, part, "backoff_max_s", requeuing, "backoffMaxSeconds");
  hr__drop_empty(object, "requeuing_strategy");
}

static void put_fair_sharing(struct hr__import *import, cJSON *to, const struct hr__object *config) {
  const struct hr__yaml *rules = hr__yaml_at(config->root, "fairSharing");
  bool old = strcmp(config->version, "v1beta1") == 0, enabled = !old || hr__is_true(hr__yaml_child(rules, "enable"));
  if (!rules || !enabled) return;
  cJSON *object = hr__put_object(import, to, "fair_sharing");
  hr__put_boolean(import, object, "enable", true);
  hr__copy_texts(import, object, "preemption_strategies", rules, "preemptionStrategies");
}

static void put_usage(struct hr__import *import, cJSON *to, const struct hr__object *config) {
  const struct hr__yaml *rules = hr__yaml_at(config->root, "admissionFairSharing");
  if (!rules) return;
  cJSON *object = hr__put_object(import, to, "admission_fair_sharing");
  hr__copy_seconds(import, object, "usage_half_life_s", rules, "usageHalfLifeTime");
  hr__copy_seconds(import, object, "usage_sampling_interval_s", rules, "usageSamplingInterval");
  cJSON *weights = hr__put_list(import, object, "resource_weights");
  for (const struct hr__yaml *weight = hr__yaml_first(rules, "resourceWeights"); weight; weight = weight->next) {
    cJSON *entry = hr__put_object(import, weights, NULL);
    hr__put_text(import, entry, "name", weight->key);
    hr__put_number(import, entry, "weight", strtod(weight->text, NULL));
  }
  hr__drop_empty(object, "resource_weights");
}

/* Adds the feature gates that the model knows, and notes on all others. */
static enum hr_status put_gates(struct hr__import *import, cJSON *to, const struct hr__object *config) {
  enum hr_status status = HR_OK;
  cJSON *object = hr__put_object(import, to, "feature_gates");
  for (const struct hr__yaml *gate = hr__yaml_first(config->root, "featureGates"); gate && status == HR_OK;
       gate = gate->next) {
    hr__kueue_gates gates = 0;
    if (hr__kueue_gates_set(&gates, gate->key, true))
      hr__put_boolean(import, object, gate->key, hr__is_true(gate));
    else
      status = hr__object_note(&import->objects, config, gate, "the feature gate %.80s is not modelled", gate->key);
  }
  hr__drop_empty(to, "feature_gates");
  return status;
}

static enum hr_status put_configuration(struct hr__import *import, cJSON *to) {
  const struct hr__object *config;
  enum hr_status status = hr__objects_only(&import->objects, &kueue_kinds[HR__KUEUE_CONFIGURATION], &config);
  if (status != HR_OK || !config) return status;
  put_fair_sharing(import, to, config);
  put_usage(import, to, config);
  put_pods_ready(import, to, config);
  hr__copy_texts(import, to, "excluded_resources", config->root, "resources.excludeResourcePrefixes");
  return put_gates(import, to, config);
}

/* ---- Nodes ------------------------------------------------------------------------------------------ */

/* Finds the GPU resource: the first resource in the quotas with a name that ends with "gpu". */
static void find_gpu_resource(struct hr__import *import) {
  import->gpu_resource = "nvidia.com/gpu";
  const struct hr__object *queue = NULL;
  while ((queue = hr__import_next(import, HR__KUEUE_CLUSTER_QUEUE, queue)))
    for (const struct hr__yaml *group = hr__yaml_first(queue->root, "spec.resourceGroups"); group; group = group->next)
      for (const struct hr__yaml *name = hr__yaml_first(group, "coveredResources"); name; name = name->next) {
        if (!hr__ends_with(name->text, "gpu")) continue;
        import->gpu_resource = name->text;
        return;
      }
}

/* Makes the pools of Nodes. Nodes with different values of the labels that flavors use are in different pools. Racks
   and zones are the levels of the first topology. */
static enum hr_status make_pools(struct hr__import *import) {
  struct hr__node_interest interest = {.n_labels = 0};
  const struct hr__object *flavor = NULL, *topology = hr__import_next(import, HR__KUEUE_TOPOLOGY, NULL);
  while ((flavor = hr__import_next(import, HR__KUEUE_FLAVOR, flavor)))
    for (const struct hr__yaml *label = hr__yaml_first(flavor->root, "spec.nodeLabels"); label; label = label->next)
      hr__node_interest_add(&interest, label->key);
  hr__node_interest_levels(&interest, topology ? hr__yaml_at(topology->root, "spec.levels") : NULL);
  enum hr_status status = hr__node_pools_make(&import->pools, &import->objects, &interest);
  const struct hr__object *second = topology ? hr__import_next(import, HR__KUEUE_TOPOLOGY, topology) : NULL;
  import->has_nodes = import->pools.count > 0;
  if (status == HR_OK && second && import->has_nodes)
    status = hr__object_note(&import->objects, second, second->root,
                             "racks and zones of the pools are those of the topology '%.80s'", topology->name);
  return status;
}

/* If the files contain no Nodes, adds a warning that the pools are assumed. Fails if no pool could be assumed. */
static enum hr_status check_pools(struct hr__import *import) {
  if (import->has_nodes) return HR_OK;
  if (import->pools.count == 0)
    return hr_fail(import->objects.error, HR_BAD_INPUT,
                   "%s: no Nodes and no quotas of %s; add the output of 'kubectl get nodes -o yaml'", import->file,
                   import->gpu_resource);
  return hr__objects_note(
      &import->objects,
      "warning: no Nodes in these files: each flavor is assumed to have one pool, with as many GPUs as its "
      "quotas; add the output of 'kubectl get nodes -o yaml' for the real nodes");
}

/* ---- The section ------------------------------------------------------------------------------------ */

/* The lists of the section `kueue`, in the order in which they are written. */
static const struct section_list {
  const char *key;
  enum kueue_kind kind;
  enum hr_status (*put)(struct hr__import *import, cJSON *list, const struct hr__object *object);
} lists[] = {{"flavors", HR__KUEUE_FLAVOR, put_flavor},
             {"topologies", HR__KUEUE_TOPOLOGY, put_topology},
             {"cohorts", HR__KUEUE_COHORT, put_cohort},
             {"cluster_queues", HR__KUEUE_CLUSTER_QUEUE, put_cluster_queue},
             {"local_queues", HR__KUEUE_LOCAL_QUEUE, put_local_queue},
             {"admission_checks", HR__KUEUE_CHECK, put_check},
             {"priority_classes", HR__KUEUE_WORKLOAD_CLASS, put_class},
             {"priority_classes", HR__KUEUE_CLASS, put_class}};

static enum hr_status put_list(struct hr__import *import, cJSON *section, const struct section_list *list) {
  enum hr_status status = HR_OK;
  const struct hr__object *object = hr__import_next(import, list->kind, NULL);
  cJSON *to = object ? hr__list_at(import, section, list->key) : NULL;
  for (; object && status == HR_OK; object = hr__import_next(import, list->kind, object))
    status = list->put(import, to, object);
  return status;
}

static enum hr_status put_section(struct hr__import *import, cJSON *root) {
  cJSON *section = cJSON_CreateObject();
  enum hr_status status = HR_OK;
  if (strcmp(import->gpu_resource, "nvidia.com/gpu") != 0)
    hr__put_text(import, section, "gpu_resource", import->gpu_resource);
  for (size_t i = 0; i < sizeof lists / sizeof *lists && status == HR_OK; i++)
    status = put_list(import, section, &lists[i]);
  if (status == HR_OK) status = put_configuration(import, section);
  if (status == HR_OK) status = check_pools(import);
  return hr__import_write(import, root, "kueue", section, status);
}

static enum hr_status write_scenario(struct hr__import *import, cJSON *root) {
  enum hr_status status = hr__objects_report(&import->objects);
  if (status == HR_OK && !hr__import_next(import, HR__KUEUE_CLUSTER_QUEUE, NULL))
    status = hr_fail(import->objects.error, HR_BAD_INPUT,
                     "%s: no ClusterQueue in these files; expected the output of 'kubectl get "
                     "clusterqueues,localqueues,resourceflavors,cohorts,topologies,nodes -A -o yaml'",
                     import->file);
  find_gpu_resource(import);
  if (status == HR_OK) status = make_pools(import);
  return status == HR_OK ? put_section(import, root) : status;
}

enum hr_status hr__import_kueue(const char *const *files, size_t n_files, cJSON *root, struct hr_notes *notes,
                                struct hr_error *error) {
  static const char *const configs[] = {"controller_manager_config.yaml", "controller_manager_config.yml",
                                        "config.yaml", NULL};
  static const struct hr__manifests manifests = {kueue_kinds, HR__N_KUEUE_KINDS, NULL, configs, write_scenario};
  return hr__import_manifests(&manifests, files, n_files, root, notes, error);
}
