/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key table of the section `kueue` of a scenario. Keys are those of Kueue's objects and of its configuration, in
 * snake case; durations have the suffix `_s`. Amounts are quantities of Kubernetes as texts ("500m", "40Gi") or
 * numbers; scenarios/build/systems/kueue.c converts them. Source: kubernetes-sigs/kueue, apis/kueue/v1beta2 and
 * apis/config/v1beta2.
 *
 * A table precedes the tables that refer to it, so the last one is that of the section.
 */

#include "headroom/cluster.h"

#include "headroom/unstable/systems/kueue.h"
#include "scenarios/schema/keys.h"

#define MAX_OBJECTS 10000.0 /* maximum number of objects of one kind */
#define MAX_SLICE 1e6       /* maximum number of pods of a slice of a topology */
#define MAX_LEVELS 16.0     /* maximum number of levels of a topology */
#define MAX_PRIORITY 2147483647.0

#define WORD(name, text) text,
static const char *const strategies[] = {HR_KUEUE_STRATEGY_TABLE(WORD) NULL};
static const char *const preemptions[] = {HR_KUEUE_PREEMPTION_TABLE(WORD) NULL};
static const char *const borrow_policies[] = {"Never", "LowerPriority", NULL};
static const char *const stops[] = {HR_KUEUE_STOP_TABLE(WORD) NULL};
static const char *const fungibilities[] = {HR_KUEUE_FUNGIBILITY_TABLE(WORD) NULL};
static const char *const preferences[] = {HR_KUEUE_PREFERENCE_TABLE(WORD) NULL};
static const char *const admission_modes[] = {HR_KUEUE_ADMISSION_MODE_TABLE(WORD) NULL};
static const char *const share_strategies[] = {HR_KUEUE_SHARE_STRATEGY_TABLE(WORD) NULL};
static const char *const timestamps[] = {HR_KUEUE_TIMESTAMP_TABLE(WORD) NULL};
static const char *const effects[] = {HR_KUEUE_EFFECT_TABLE(WORD) NULL};
static const char *const operators[] = {HR_KUEUE_OPERATOR_TABLE(WORD) NULL};
static const char *const level_tiers[] = {"node", "rack", "zone", "pool", NULL};

#define OBJECTS(table) LIST(0, MAX_OBJECTS, EACH(OBJECT(table)))
#define NAMES LIST(0, MAX_OBJECTS, EACH(NAME, .store = HR__STORE_TEXT))
#define LABEL_TEXT TEXT(0, MAX_NAME)
#define QUANTITY SCALAR, .unit = "quantity"

/* ---- Nodes ------------------------------------------------------------------------------------------ */

#define LABEL struct hr_kueue_node_label
static const struct hr__key label_keys[] = {
    {"key", NAME, MUST, AT(TEXT, LABEL, key), HELP("Key of the label.")},
    {"value", LABEL_TEXT, DEFAULT(""), AT(TEXT, LABEL, value), HELP("Value of the label.")},
    END};

#define TAINT struct hr_kueue_node_taint
static const struct hr__key taint_keys[] = {
    {"key", NAME, MUST, AT(TEXT, TAINT, key), HELP("Key of the taint.")},
    {"value", LABEL_TEXT, DEFAULT(""), AT(TEXT, TAINT, value), HELP("Value of the taint.")},
    {"effect", CHOICE_AFTER_FIRST(effects), MUST, AT(INTEGER, TAINT, effect), HELP("What the taint does to pods.")},
    END};

#define TOLERATION struct hr_kueue_pod_toleration
static const struct hr__key toleration_keys[] = {
    {"key", LABEL_TEXT, DEFAULT(""), AT(TEXT, TOLERATION, key), HELP("Key of the taint. Empty: all, with 'Exists'.")},
    {"operator", CHOICE(operators), DEFAULT("Equal"), AT(INTEGER, TOLERATION, operation),
     HELP("Exists: the value does not matter.")},
    {"value", LABEL_TEXT, DEFAULT(""), AT(TEXT, TOLERATION, value), HELP("Value of the taint.")},
    {"effect", CHOICE(effects), DEFAULT(""), AT(INTEGER, TOLERATION, effect), HELP("Effect. Empty: all effects.")},
    END};

#define LEVEL struct hr_kueue_level
static const struct hr__key level_keys[] = {
    {"node_label", NAME, MUST, AT(TEXT, LEVEL, node_label), HELP("Key of the label that names a node's group.")},
    {"tier", CHOICE(level_tiers), OTHERWISE("node for kubernetes.io/hostname; above it rack, zone, pool"),
     HELP("The tier of the groups with this label.")},
    END};

#define TOPOLOGY struct hr_kueue_topology
static const struct hr__key topology_keys[] = {
    {"name", NAME, MUST, AT(TEXT, TOPOLOGY, name), HELP("Name, different from those of other topologies.")},
    {"levels", LIST(1, MAX_LEVELS, EACH(OBJECT(level_keys))), MUST, AS_ARRAY(TOPOLOGY, levels, n_levels),
     HELP("Levels, the widest first.")},
    END};

#define FLAVOR struct hr_kueue_flavor_config
static const struct hr__key flavor_keys[] = {
    {"name", NAME, MUST, AT(TEXT, FLAVOR, name), HELP("Name, different from those of other flavors.")},
    {"pools", NAMES, AS_ARRAY(FLAVOR, pools, n_pools), OTHERWISE("all pools"),
     HELP("Names of the pools that have the nodes of the flavor.")},
    {"node_labels", OBJECTS(label_keys), AS_ARRAY(FLAVOR, node_labels, n_node_labels), HELP("Labels of its nodes.")},
    {"node_taints", OBJECTS(taint_keys), AS_ARRAY(FLAVOR, node_taints, n_node_taints),
     HELP("Taints of its nodes. Jobs that do not tolerate them do not get the flavor.")},
    {"tolerations", OBJECTS(toleration_keys), AS_ARRAY(FLAVOR, tolerations, n_tolerations),
     HELP("Tolerations that the flavor adds to pods.")},
    {"topology", NAME, AT(TEXT, FLAVOR, topology), OTHERWISE("none"),
     HELP("Name of a topology, for topology-aware scheduling.")},
    END};

/* ---- Quotas ----------------------------------------------------------------------------------------- */

#define QUOTA struct hr_kueue_quota
static const struct hr__key quota_keys[] = {
    {"name", NAME, MUST, AT(TEXT, QUOTA, name), HELP("Resource, such as nvidia.com/gpu, cpu or memory.")},
    {"nominal_quota", QUANTITY, MUST, HELP("Amount that is available to the queue or cohort.")},
    {"borrowing_limit", QUANTITY, OTHERWISE("no limit"), HELP("Maximum amount that it borrows from its cohort.")},
    {"lending_limit", QUANTITY, OTHERWISE("no limit"), HELP("Maximum unused amount that others may borrow.")},
    END};

#define FLAVOR_QUOTAS struct hr_kueue_flavor_quotas
static const struct hr__key flavor_quota_keys[] = {
    {"name", NAME, MUST, AT(TEXT, FLAVOR_QUOTAS, name), HELP("Name of a flavor.")},
    {"resources", OBJECTS(quota_keys), MUST, AS_ARRAY(FLAVOR_QUOTAS, resources, n_resources),
     HELP("Quotas by resource.")},
    END};

#define GROUP struct hr_kueue_resource_group
static const struct hr__key group_keys[] = {
    {"covered_resources", NAMES, AS_ARRAY(GROUP, covered_resources, n_covered_resources),
     OTHERWISE("those of the first flavor"), HELP("Resources of the group. Each flavor has quotas of all of them.")},
    {"flavors", OBJECTS(flavor_quota_keys), MUST, AS_ARRAY(GROUP, flavors, n_flavors),
     HELP("Flavors, in the order in which they are tried.")},
    END};

#define BORROW struct hr_kueue_borrow_within_cohort
static const struct hr__key borrow_keys[] = {
    {"policy", CHOICE(borrow_policies), DEFAULT("Never"), AT(INTEGER, BORROW, policy),
     HELP("Whether a job that borrows may preempt jobs of other queues. LowerPriority: those of lower priority.")},
    {"max_priority_threshold", WHOLE(-MAX_PRIORITY - 1, MAX_PRIORITY), OTHERWISE("no threshold"),
     HELP("Only jobs up to this priority are preempted.")},
    END};

#define PREEMPTION struct hr_kueue_preemption_config
static const struct hr__key preemption_keys[] = {
    {"within_cluster_queue", CHOICE(preemptions), DEFAULT("Never"), AT(INTEGER, PREEMPTION, within_cluster_queue),
     HELP("Which jobs of the same queue a job may preempt.")},
    {"reclaim_within_cohort", CHOICE(preemptions), DEFAULT("Never"), AT(INTEGER, PREEMPTION, reclaim_within_cohort),
     HELP("Which jobs of queues that borrow a job may preempt to use its queue's own quota.")},
    {"borrow_within_cohort", OBJECT(borrow_keys), AT(PART, PREEMPTION, borrow_within_cohort),
     HELP("Preemption by jobs that borrow.")},
    END};

#define FUNGIBILITY struct hr_kueue_fungibility_config
static const struct hr__key fungibility_keys[] = {
    {"when_can_borrow", CHOICE(fungibilities), DEFAULT("MayStopSearch"), AT(INTEGER, FUNGIBILITY, when_can_borrow),
     HELP("What to do if a flavor fits by borrowing. Borrow is an old name of MayStopSearch.")},
    {"when_can_preempt", CHOICE(fungibilities), DEFAULT("TryNextFlavor"), AT(INTEGER, FUNGIBILITY, when_can_preempt),
     HELP("What to do if a flavor fits after preemption. Preempt is an old name of MayStopSearch.")},
    {"preference", CHOICE(preferences), DEFAULT("BorrowingOverPreemption"), AT(INTEGER, FUNGIBILITY, preference),
     HELP("Which flavor is better if no flavor simply fits.")},
    END};

#define CHECK_USE struct hr_kueue_check_use
static const struct hr__key check_use_keys[] = {
    {"name", NAME, MUST, AT(TEXT, CHECK_USE, name), HELP("Name of an admission check.")},
    {"on_flavors", NAMES, AS_ARRAY(CHECK_USE, on_flavors, n_on_flavors), OTHERWISE("all flavors"),
     HELP("Flavors for which the check runs.")},
    END};

#define CLUSTER_QUEUE struct hr_kueue_cluster_queue
static const struct hr__key cluster_queue_keys[] = {
    {"name", NAME, MUST, AT(TEXT, CLUSTER_QUEUE, name), HELP("Name, different from those of other ClusterQueues.")},
    {"cohort", NAME, AT(TEXT, CLUSTER_QUEUE, cohort), OTHERWISE("none"),
     HELP("The cohort: its members lend each other unused quota. It need not be listed in 'cohorts'.")},
    {"queueing_strategy", CHOICE(strategies), DEFAULT("BestEffortFIFO"), AT(INTEGER, CLUSTER_QUEUE, queueing_strategy),
     HELP("StrictFIFO: a job that does not fit blocks newer ones. BestEffortFIFO: it does not.")},
    {"resource_groups", OBJECTS(group_keys), AS_ARRAY(CLUSTER_QUEUE, resource_groups, n_resource_groups),
     HELP("Quotas.")},
    {"preemption", OBJECT(preemption_keys), AT(PART, CLUSTER_QUEUE, preemption), HELP("Which jobs may be preempted.")},
    {"flavor_fungibility", OBJECT(fungibility_keys), AT(PART, CLUSTER_QUEUE, flavor_fungibility),
     HELP("When the next flavor is tried.")},
    {"fair_weight", REAL(0, 1e9), DEFAULT("1"), AT(DOUBLE, CLUSTER_QUEUE, fair_weight),
     HELP("Weight of the queue in fair sharing.")},
    {"stop_policy", CHOICE(stops), DEFAULT("None"), AT(INTEGER, CLUSTER_QUEUE, stop_policy),
     HELP("Hold: no job is admitted. HoldAndDrain: the same, as no job runs at the start.")},
    {"admission_mode", CHOICE(admission_modes), DEFAULT("NoAdmissionFairSharing"),
     AT(INTEGER, CLUSTER_QUEUE, admission_mode), HELP("Order of the jobs of different LocalQueues.")},
    {"namespaces", NAMES, AS_ARRAY(CLUSTER_QUEUE, namespaces, n_namespaces), OTHERWISE("all"),
     HELP("Namespaces that its selector matches. Jobs of other namespaces are not admitted.")},
    {"admission_checks", OBJECTS(check_use_keys), AS_ARRAY(CLUSTER_QUEUE, admission_checks, n_admission_checks),
     HELP("Admission checks that delay the start of its jobs.")},
    END};

#define COHORT struct hr_kueue_cohort
static const struct hr__key cohort_keys[] = {
    {"name", NAME, MUST, AT(TEXT, COHORT, name), HELP("Name, different from those of other cohorts.")},
    {"parent", NAME, AT(TEXT, COHORT, parent), OTHERWISE("none"), HELP("The cohort to which it belongs.")},
    {"resource_groups", OBJECTS(group_keys), AS_ARRAY(COHORT, resource_groups, n_resource_groups),
     HELP("Quotas of its own, which all members share.")},
    {"fair_weight", REAL(0, 1e9), DEFAULT("1"), AT(DOUBLE, COHORT, fair_weight),
     HELP("Weight of the cohort in fair sharing.")},
    END};

#define LOCAL_QUEUE struct hr_kueue_local_queue_config
static const struct hr__key local_queue_keys[] = {
    {"name", NAME, MUST, AT(TEXT, LOCAL_QUEUE, name), HELP("Name, unique within its namespace.")},
    {"namespace", NAME, DEFAULT("default"), AT(TEXT, LOCAL_QUEUE, name_space), HELP("Namespace.")},
    {"cluster_queue", NAME, MUST, AT(TEXT, LOCAL_QUEUE, cluster_queue), HELP("Name of a ClusterQueue.")},
    {"fair_weight", REAL(0, 1e9), DEFAULT("1"), AT(DOUBLE, LOCAL_QUEUE, fair_weight),
     HELP("Weight of the queue in admission fair sharing.")},
    {"stop_policy", CHOICE(stops), DEFAULT("None"), AT(INTEGER, LOCAL_QUEUE, stop_policy),
     HELP("Hold or HoldAndDrain: no job of the queue is admitted.")},
    {"node_selector", OBJECTS(label_keys), AS_ARRAY(LOCAL_QUEUE, node_selector, n_node_selector),
     HELP("Labels that the pods of its jobs ask for. They limit the flavors.")},
    {"tolerations", OBJECTS(toleration_keys), AS_ARRAY(LOCAL_QUEUE, tolerations, n_tolerations),
     HELP("Tolerations of the pods of its jobs.")},
    {"required_topology", NAME, AT(TEXT, LOCAL_QUEUE, required_topology), OTHERWISE("by 'within' of the job"),
     HELP("Label of a level: all pods of a job must be in one group of this level. As podset-required-topology.")},
    {"preferred_topology", NAME, AT(TEXT, LOCAL_QUEUE, preferred_topology), OTHERWISE("by 'within' of the job"),
     HELP("The same, but wider levels are tried, too. As podset-preferred-topology.")},
    {"unconstrained_topology", BOOLEAN, DEFAULT("false"), AT(INTEGER, LOCAL_QUEUE, unconstrained_topology),
     HELP("Pods of jobs may be on any nodes of the topology. As podset-unconstrained-topology.")},
    {"slice_required_topology", NAME, AT(TEXT, LOCAL_QUEUE, slice_required_topology), OTHERWISE("no slices"),
     HELP("Label of a level: each slice of pods must be in one group of this level. As "
          "podset-slice-required-topology.")},
    {"slice_size", WHOLE(1, MAX_SLICE), DEFAULT("1"), AT(INTEGER, LOCAL_QUEUE, slice_size),
     HELP("Number of pods of a slice. As podset-slice-size.")},
    END};

#define CHECK struct hr_kueue_admission_check
static const struct hr__key check_keys[] = {
    {"name", NAME, MUST, AT(TEXT, CHECK, name), HELP("Name, different from those of other checks.")},
    {"delay_s", SECONDS, DEFAULT("0"), AS_US(CHECK, delay_us),
     HELP("Time from the quota reservation until the check is ready. It always succeeds.")},
    END};

#define PRIORITY_CLASS struct hr_kueue_priority_class
static const struct hr__key priority_class_keys[] = {
    {"name", NAME, MUST, AT(TEXT, PRIORITY_CLASS, name), HELP("Name, as in the column 'qos' of the trace.")},
    {"value", WHOLE(-MAX_PRIORITY - 1, MAX_PRIORITY), MUST, HELP("Priority of its jobs.")},
    END};

/* ---- Settings --------------------------------------------------------------------------------------- */

#define FAIR_SHARING struct hr_kueue_fair_sharing
static const struct hr__key fair_sharing_keys[] = {
    {"enable", BOOLEAN, OTHERWISE("true if the object exists"), AT(INTEGER, FAIR_SHARING, enable),
     HELP("Whether shares decide about the order of queues and about preemption.")},
    {"preemption_strategies",
     LIST(0, 2, EACH(CHOICE(share_strategies), .store = HR__STORE_INTEGER, .bytes = sizeof(uint32_t))),
     AS_ARRAY(FAIR_SHARING, preemption_strategies, n_preemption_strategies), OTHERWISE("both"),
     HELP("Conditions for a preemption, in the order in which they are tried.")},
    END};

#define WEIGHT struct hr_kueue_resource_weight
static const struct hr__key weight_keys[] = {
    {"name", NAME, MUST, AT(TEXT, WEIGHT, name), HELP("Resource.")},
    {"weight", REAL(0, 1e9), MUST, AT(DOUBLE, WEIGHT, weight), HELP("Weight of its usage.")},
    END};

#define ADMISSION_FAIR_SHARING struct hr_kueue_admission_fair_sharing
static const struct hr__key admission_fair_sharing_keys[] = {
    {"enable", BOOLEAN, OTHERWISE("true if the object exists"), AT(INTEGER, ADMISSION_FAIR_SHARING, enable),
     HELP("Whether the usage of LocalQueues is measured.")},
    {"usage_half_life_s", SECONDS, DEFAULT("0"), AS_US(ADMISSION_FAIR_SHARING, usage_half_life_us),
     HELP("Time after which past usage counts half. 0: past usage does not count.")},
    {"usage_sampling_interval_s", SECONDS_FROM(1), DEFAULT("300"),
     AS_US(ADMISSION_FAIR_SHARING, usage_sampling_interval_us), HELP("Time between two samples of usage.")},
    {"resource_weights", OBJECTS(weight_keys), AS_ARRAY(ADMISSION_FAIR_SHARING, resource_weights, n_resource_weights),
     OTHERWISE("1"), HELP("Weights by resource.")},
    END};

#define REQUEUING struct hr_kueue_requeuing_strategy
static const struct hr__key requeuing_keys[] = {
    {"timestamp", CHOICE(timestamps), DEFAULT("Eviction"), AT(INTEGER, REQUEUING, timestamp),
     HELP("The time by which an evicted job is ordered in its queue.")},
    {"backoff_limit_count", WHOLE(0, MAX_PRIORITY), OTHERWISE("no limit"),
     HELP("How often a job is queued again before it is given up.")},
    {"backoff_base_s", SECONDS, DEFAULT("60"), AS_US(REQUEUING, backoff_base_us),
     HELP("First back-off. Each further one is twice as long.")},
    {"backoff_max_s", SECONDS, DEFAULT("3600"), AS_US(REQUEUING, backoff_max_us), HELP("Maximum back-off.")},
    END};

#define PODS_READY struct hr_kueue_wait_for_pods_ready
static const struct hr__key pods_ready_keys[] = {
    {"enable", BOOLEAN, OTHERWISE("true if the object exists"), AT(INTEGER, PODS_READY, enable),
     HELP("Whether jobs lose their quota if their pods find no nodes.")},
    {"timeout_s", SECONDS, DEFAULT("300"), AS_US(PODS_READY, timeout_us),
     HELP("Time from the admission in which all pods must run.")},
    {"recovery_timeout_s", SECONDS, OTHERWISE("no limit"),
     HELP("Time in which a pod must run again after its node was lost.")},
    {"block_admission", BOOLEAN, DEFAULT("false"), AT(INTEGER, PODS_READY, block_admission),
     HELP("Whether no job is admitted while the pods of an admitted job are not ready.")},
    {"requeuing_strategy", OBJECT(requeuing_keys), AT(PART, PODS_READY, requeuing_strategy),
     HELP("How evicted jobs are queued again.")},
    END};

#define CONFIG struct hr_kueue_config
const struct hr__key hr__kueue_keys[] = {
    {"version", NAME, AT(TEXT, CONFIG, version), OTHERWISE("the newest that the model knows"),
     HELP("Version of Kueue, such as 0.16. It selects the feature gates that are on.")},
    {"feature_gates", OBJECT(EACH(BOOLEAN, HELP("Whether this feature gate is on."))),
     HELP("Feature gates by name, if they differ from those of the version.")},
    {"gpu_resource", NAME, DEFAULT("nvidia.com/gpu"), AT(TEXT, CONFIG, gpu_resource),
     HELP("Resource that counts GPUs. MIG instances are nvidia.com/mig-PROFILE.")},
    {"excluded_resources", NAMES, AS_ARRAY(CONFIG, excluded_resources, n_excluded_resources), OTHERWISE("none"),
     HELP("Prefixes of the names of resources that need no quota, such as cpu.")},
    {"default_queue", NAME, AT(TEXT, CONFIG, default_queue), OTHERWISE("such jobs are rejected"),
     HELP("LocalQueue or ClusterQueue of jobs without a listed queue or tenant.")},
    {"flavors", OBJECTS(flavor_keys), AS_ARRAY(CONFIG, flavors, n_flavors), HELP("ResourceFlavors.")},
    {"topologies", OBJECTS(topology_keys), AS_ARRAY(CONFIG, topologies, n_topologies), HELP("Topologies.")},
    {"cluster_queues", LIST(1, MAX_OBJECTS, EACH(OBJECT(cluster_queue_keys))), MUST,
     AS_ARRAY(CONFIG, cluster_queues, n_cluster_queues), HELP("ClusterQueues.")},
    {"cohorts", OBJECTS(cohort_keys), AS_ARRAY(CONFIG, cohorts, n_cohorts),
     HELP("Cohorts with parents, quotas or weights of their own.")},
    {"local_queues", OBJECTS(local_queue_keys), AS_ARRAY(CONFIG, local_queues, n_local_queues),
     OTHERWISE("jobs name ClusterQueues"), HELP("LocalQueues. Jobs name them as NAMESPACE/NAME or NAME.")},
    {"admission_checks", OBJECTS(check_keys), AS_ARRAY(CONFIG, admission_checks, n_admission_checks),
     HELP("Admission checks.")},
    {"priority_classes", OBJECTS(priority_class_keys), AS_ARRAY(CONFIG, priority_classes, n_priority_classes),
     HELP("WorkloadPriorityClasses, for jobs that name one as 'qos'. Other jobs have the priority of the trace.")},
    {"fair_sharing", OBJECT(fair_sharing_keys), AT(PART, CONFIG, fair_sharing), HELP("Fair sharing.")},
    {"admission_fair_sharing", OBJECT(admission_fair_sharing_keys), AT(PART, CONFIG, admission_fair_sharing),
     HELP("Admission fair sharing.")},
    {"wait_for_pods_ready", OBJECT(pods_ready_keys), AT(PART, CONFIG, wait_for_pods_ready),
     HELP("Jobs are evicted if their pods do not become ready.")},
    END};
