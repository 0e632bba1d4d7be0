/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fields of Kueue's objects and of its configuration, in all versions of the API. Source: kubernetes-sigs/kueue,
 * apis/kueue/v1beta1 and v1beta2, apis/config/v1beta1 and v1beta2.
 */

#include "scenarios/import/kueue.h"

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
