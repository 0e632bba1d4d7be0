/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key tables of the sections that configure a model of a real scheduler: `kueue`, `kai`, `slurm`, `kubernetes` and
 * `volcano`. Names and defaults of keys are those of the objects and configuration files of the scheduler. The names
 * are in snake case; durations have the suffix `_s`. Rules that concern several keys are checked in
 * scenarios/build/systems/.
 *
 * A table precedes the tables that refer to it, so the table of a section is its last one.
 */

#include "headroom/cluster.h"
#include "headroom/unstable/systems/kueue.h"
#include "headroom/unstable/systems/slurm.h"
#include "headroom/unstable/systems/systems.h"
#include "scenarios/schema/keys.h"

/* ---- Kueue ------------------------------------------------------------------------------------------ */

/*
 * Amounts are Kubernetes quantities: texts such as "500m" and "40Gi", or numbers. scenarios/build/systems/kueue.c
 * converts them. Source: kubernetes-sigs/kueue, apis/kueue/v1beta2 and apis/config/v1beta2.
 */

#define MAX_OBJECTS 10000.0 /* maximum number of objects of one kind */
#define MAX_SLICE 1e6       /* maximum number of pods of a slice of a topology */
#define MAX_LEVELS 16.0     /* maximum number of levels of a topology */
#define MAX_PRIORITY 2147483647.0

#define WORD(name, text) text,
static const char *const kueue_strategies[] = {HR_KUEUE_STRATEGY_TABLE(WORD) NULL};
static const char *const kueue_preemptions[] = {HR_KUEUE_PREEMPTION_TABLE(WORD) NULL};
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
#define KUEUE_NAMES LIST(0, MAX_OBJECTS, EACH(NAME, .store = HR__STORE_TEXT))
#define LABEL_TEXT TEXT(0, MAX_NAME)
#define QUANTITY SCALAR, .unit = "quantity"

/* ---- Kueue: nodes ----------------------------------------------------------------------------------- */

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
    {"key", LABEL_TEXT, DEFAULT(""), AT(TEXT, TOLERATION, key),
     HELP("Key of the taint. Empty, with 'Exists': all taints.")},
    {"operator", CHOICE(operators), DEFAULT("Equal"), AT(INTEGER, TOLERATION, operation),
     HELP("Equal: the value must be equal. Exists: the value does not matter.")},
    {"value", LABEL_TEXT, DEFAULT(""), AT(TEXT, TOLERATION, value), HELP("Value of the taint.")},
    {"effect", CHOICE(effects), DEFAULT(""), AT(INTEGER, TOLERATION, effect),
     HELP("Effect of the taint. Empty: all effects.")},
    END};

#define LEVEL struct hr_kueue_level
static const struct hr__key level_keys[] = {
    {"node_label", NAME, MUST, AT(TEXT, LEVEL, node_label),
     HELP("Key of a node label. Its value is the name of the group of the node.")},
    {"tier", CHOICE(level_tiers),
     OTHERWISE("node for kubernetes.io/hostname; for the levels above it, in order, rack, zone, pool"),
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
    {"pools", KUEUE_NAMES, AS_ARRAY(FLAVOR, pools, n_pools), OTHERWISE("all pools"),
     HELP("Names of the pools that have the nodes of the flavor.")},
    {"node_labels", OBJECTS(label_keys), AS_ARRAY(FLAVOR, node_labels, n_node_labels), HELP("Labels of its nodes.")},
    {"node_taints", OBJECTS(taint_keys), AS_ARRAY(FLAVOR, node_taints, n_node_taints),
     HELP("Taints of its nodes. Jobs that do not tolerate them do not get the flavor.")},
    {"tolerations", OBJECTS(toleration_keys), AS_ARRAY(FLAVOR, tolerations, n_tolerations),
     HELP("Tolerations that the flavor adds to pods.")},
    {"topology", NAME, AT(TEXT, FLAVOR, topology), OTHERWISE("none"),
     HELP("Name of a topology, for topology-aware scheduling.")},
    END};

/* ---- Kueue: quotas ---------------------------------------------------------------------------------- */

#define QUOTA struct hr_kueue_quota
static const struct hr__key quota_keys[] = {
    {"name", NAME, MUST, AT(TEXT, QUOTA, name), HELP("Resource, such as nvidia.com/gpu, cpu or memory.")},
    {"nominal_quota", QUANTITY, MUST, HELP("Amount that is available to the queue or cohort.")},
    {"borrowing_limit", QUANTITY, OTHERWISE("no limit"),
     HELP("Maximum amount that the queue or cohort may borrow from its cohort.")},
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
    {"covered_resources", KUEUE_NAMES, AS_ARRAY(GROUP, covered_resources, n_covered_resources),
     OTHERWISE("those of the first flavor"),
     HELP("Resources of the group. Each flavor must have a quota of each of them.")},
    {"flavors", OBJECTS(flavor_quota_keys), MUST, AS_ARRAY(GROUP, flavors, n_flavors),
     HELP("Flavors, in the order in which they are tried.")},
    END};

#define BORROW struct hr_kueue_borrow_within_cohort
static const struct hr__key borrow_keys[] = {
    {"policy", CHOICE(borrow_policies), DEFAULT("Never"), AT(INTEGER, BORROW, policy),
     HELP("Whether a job that borrows may preempt jobs of other queues. Never: it may not. LowerPriority: it may "
          "preempt jobs of lower priority.")},
    {"max_priority_threshold", WHOLE(-MAX_PRIORITY - 1, MAX_PRIORITY), OTHERWISE("no threshold"),
     HELP("Jobs with a higher priority than this are not preempted.")},
    END};

#define PREEMPTION struct hr_kueue_preemption_config
static const struct hr__key preemption_keys[] = {
    {"within_cluster_queue", CHOICE(kueue_preemptions), DEFAULT("Never"), AT(INTEGER, PREEMPTION, within_cluster_queue),
     HELP("Which jobs of the same queue a job may preempt.")},
    {"reclaim_within_cohort", CHOICE(kueue_preemptions), DEFAULT("Never"),
     AT(INTEGER, PREEMPTION, reclaim_within_cohort),
     HELP("Preemption of jobs of other queues, which borrow quota, so that a job can use the quota of its own queue: "
          "which of these jobs it may preempt.")},
    {"borrow_within_cohort", OBJECT(borrow_keys), AT(PART, PREEMPTION, borrow_within_cohort),
     HELP("Preemption for jobs that must borrow quota.")},
    END};

#define FUNGIBILITY struct hr_kueue_fungibility_config
static const struct hr__key fungibility_keys[] = {
    {"when_can_borrow", CHOICE(fungibilities), DEFAULT("MayStopSearch"), AT(INTEGER, FUNGIBILITY, when_can_borrow),
     HELP("What happens if a flavor fits by borrowing. MayStopSearch: it may be used. TryNextFlavor: the next flavor "
          "is tried. Borrow is an old name of MayStopSearch.")},
    {"when_can_preempt", CHOICE(fungibilities), DEFAULT("TryNextFlavor"), AT(INTEGER, FUNGIBILITY, when_can_preempt),
     HELP("What happens if a flavor fits after preemption. MayStopSearch: it may be used. TryNextFlavor: the next "
          "flavor is tried. Preempt is an old name of MayStopSearch.")},
    {"preference", CHOICE(preferences), DEFAULT("BorrowingOverPreemption"), AT(INTEGER, FUNGIBILITY, preference),
     HELP("Which flavor is preferred if no flavor fits without borrowing or preemption.")},
    END};

#define CHECK_USE struct hr_kueue_check_use
static const struct hr__key check_use_keys[] = {
    {"name", NAME, MUST, AT(TEXT, CHECK_USE, name), HELP("Name of an admission check.")},
    {"on_flavors", KUEUE_NAMES, AS_ARRAY(CHECK_USE, on_flavors, n_on_flavors), OTHERWISE("all flavors"),
     HELP("Flavors for which the check runs.")},
    END};

#define CLUSTER_QUEUE struct hr_kueue_cluster_queue
static const struct hr__key cluster_queue_keys[] = {
    {"name", NAME, MUST, AT(TEXT, CLUSTER_QUEUE, name), HELP("Name, different from those of other ClusterQueues.")},
    {"cohort", NAME, AT(TEXT, CLUSTER_QUEUE, cohort), OTHERWISE("none"),
     HELP("Cohort of the queue. The members of a cohort lend each other unused quota. The cohort need not be listed in "
          "'cohorts'.")},
    {"queueing_strategy", CHOICE(kueue_strategies), DEFAULT("BestEffortFIFO"),
     AT(INTEGER, CLUSTER_QUEUE, queueing_strategy),
     HELP("StrictFIFO: a job that does not fit blocks newer jobs. BestEffortFIFO: it does not block them.")},
    {"resource_groups", OBJECTS(group_keys), AS_ARRAY(CLUSTER_QUEUE, resource_groups, n_resource_groups),
     HELP("Quotas.")},
    {"preemption", OBJECT(preemption_keys), AT(PART, CLUSTER_QUEUE, preemption), HELP("Which jobs may be preempted.")},
    {"flavor_fungibility", OBJECT(fungibility_keys), AT(PART, CLUSTER_QUEUE, flavor_fungibility),
     HELP("When the next flavor is tried.")},
    {"fair_weight", REAL(0, 1e9), DEFAULT("1"), AT(DOUBLE, CLUSTER_QUEUE, fair_weight),
     HELP("Weight of the queue in fair sharing.")},
    {"stop_policy", CHOICE(stops), DEFAULT("None"), AT(INTEGER, CLUSTER_QUEUE, stop_policy),
     HELP("Hold: no job is admitted. HoldAndDrain: the same, because no job runs at the beginning of a simulation.")},
    {"admission_mode", CHOICE(admission_modes), DEFAULT("NoAdmissionFairSharing"),
     AT(INTEGER, CLUSTER_QUEUE, admission_mode), HELP("Order of the jobs of different LocalQueues.")},
    {"namespaces", KUEUE_NAMES, AS_ARRAY(CLUSTER_QUEUE, namespaces, n_namespaces), OTHERWISE("all"),
     HELP("Namespaces that the selector of the queue matches. Jobs of other namespaces are not admitted.")},
    {"admission_checks", OBJECTS(check_use_keys), AS_ARRAY(CLUSTER_QUEUE, admission_checks, n_admission_checks),
     HELP("Admission checks that delay the start of its jobs.")},
    END};

#define COHORT struct hr_kueue_cohort
static const struct hr__key cohort_keys[] = {
    {"name", NAME, MUST, AT(TEXT, COHORT, name), HELP("Name, different from those of other cohorts.")},
    {"parent", NAME, AT(TEXT, COHORT, parent), OTHERWISE("none"), HELP("The cohort to which this cohort belongs.")},
    {"resource_groups", OBJECTS(group_keys), AS_ARRAY(COHORT, resource_groups, n_resource_groups),
     HELP("Own quotas of the cohort, which all its members share.")},
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
     HELP("Node selector of the pods of its jobs: labels that a flavor must have.")},
    {"tolerations", OBJECTS(toleration_keys), AS_ARRAY(LOCAL_QUEUE, tolerations, n_tolerations),
     HELP("Tolerations of the pods of its jobs.")},
    {"required_topology", NAME, AT(TEXT, LOCAL_QUEUE, required_topology),
     OTHERWISE("the topology request of the job or of its class"),
     HELP("Label of a level: all pods of a job must be in one group of this level. As podset-required-topology.")},
    {"preferred_topology", NAME, AT(TEXT, LOCAL_QUEUE, preferred_topology),
     OTHERWISE("the topology request of the job or of its class"),
     HELP("Label of a level: all pods of a job should be in one group of this level. If they do not fit, wider levels "
          "are tried. As podset-preferred-topology.")},
    {"unconstrained_topology", BOOLEAN, DEFAULT("false"), AT(INTEGER, LOCAL_QUEUE, unconstrained_topology),
     HELP("Whether the pods of jobs may be on any nodes of the topology. As podset-unconstrained-topology.")},
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

/* ---- Kueue: settings -------------------------------------------------------------------------------- */

#define FAIR_SHARING struct hr_kueue_fair_sharing
static const struct hr__key fair_sharing_keys[] = {
    {"enable", BOOLEAN, OTHERWISE("true if the object exists"), AT(INTEGER, FAIR_SHARING, enable),
     HELP("Whether fair shares determine the order of queues and the preemptions.")},
    {"preemption_strategies",
     LIST(0, 2, EACH(CHOICE(share_strategies), .store = HR__STORE_INTEGER, .bytes = sizeof(uint32_t))),
     AS_ARRAY(FAIR_SHARING, preemption_strategies, n_preemption_strategies), OTHERWISE("both"),
     HELP("Conditions for a preemption, in the order in which they are tried.")},
    END};

#define KUEUE_WEIGHT struct hr_kueue_resource_weight
static const struct hr__key kueue_weight_keys[] = {
    {"name", NAME, MUST, AT(TEXT, KUEUE_WEIGHT, name), HELP("Resource.")},
    {"weight", REAL(0, 1e9), MUST, AT(DOUBLE, KUEUE_WEIGHT, weight), HELP("Weight of its usage.")},
    END};

#define ADMISSION_FAIR_SHARING struct hr_kueue_admission_fair_sharing
static const struct hr__key admission_fair_sharing_keys[] = {
    {"enable", BOOLEAN, OTHERWISE("true if the object exists"), AT(INTEGER, ADMISSION_FAIR_SHARING, enable),
     HELP("Whether the usage of LocalQueues is measured.")},
    {"usage_half_life_s", SECONDS, DEFAULT("0"), AS_US(ADMISSION_FAIR_SHARING, usage_half_life_us),
     HELP("Time after which past usage counts half. 0: past usage does not count.")},
    {"usage_sampling_interval_s", SECONDS_FROM(1), DEFAULT("300"),
     AS_US(ADMISSION_FAIR_SHARING, usage_sampling_interval_us), HELP("Time between two samples of usage.")},
    {"resource_weights", OBJECTS(kueue_weight_keys),
     AS_ARRAY(ADMISSION_FAIR_SHARING, resource_weights, n_resource_weights), OTHERWISE("1"),
     HELP("Weights by resource.")},
    END};

#define REQUEUING struct hr_kueue_requeuing_strategy
static const struct hr__key requeuing_keys[] = {
    {"timestamp", CHOICE(timestamps), DEFAULT("Eviction"), AT(INTEGER, REQUEUING, timestamp),
     HELP("The time by which an evicted job is ordered in its queue.")},
    {"backoff_limit_count", WHOLE(0, MAX_PRIORITY), OTHERWISE("no limit"),
     HELP("Maximum number of times that a job is queued again. After that, it is deactivated, as by Kueue.")},
    {"backoff_base_s", SECONDS, DEFAULT("60"), AS_US(REQUEUING, backoff_base_us),
     HELP("First back-off of an evicted job. Each further one is twice as long.")},
    {"backoff_max_s", SECONDS, DEFAULT("3600"), AS_US(REQUEUING, backoff_max_us), HELP("Maximum back-off.")},
    END};

#define PODS_READY struct hr_kueue_wait_for_pods_ready
static const struct hr__key pods_ready_keys[] = {
    {"enable", BOOLEAN, OTHERWISE("true if the object exists"), AT(INTEGER, PODS_READY, enable),
     HELP("Whether jobs lose their quota if their pods find no nodes.")},
    {"timeout_s", SECONDS, DEFAULT("300"), AS_US(PODS_READY, timeout_us),
     HELP("Time from the admission within which all pods must run.")},
    {"recovery_timeout_s", SECONDS, OTHERWISE("no limit"),
     HELP("Time after the loss of a node within which its pods must run again.")},
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
    {"excluded_resources", KUEUE_NAMES, AS_ARRAY(CONFIG, excluded_resources, n_excluded_resources), OTHERWISE("none"),
     HELP("Prefixes of the names of resources that need no quota, such as cpu.")},
    {"default_queue", NAME, AT(TEXT, CONFIG, default_queue), OTHERWISE("such jobs are rejected"),
     HELP("LocalQueue or ClusterQueue of jobs without a listed queue or tenant.")},
    {"flavors", OBJECTS(flavor_keys), AS_ARRAY(CONFIG, flavors, n_flavors), HELP("ResourceFlavors.")},
    {"topologies", OBJECTS(topology_keys), AS_ARRAY(CONFIG, topologies, n_topologies), HELP("Topologies.")},
    {"cluster_queues", LIST(1, MAX_OBJECTS, EACH(OBJECT(cluster_queue_keys))), MUST,
     AS_ARRAY(CONFIG, cluster_queues, n_cluster_queues), HELP("ClusterQueues.")},
    {"cohorts", OBJECTS(cohort_keys), AS_ARRAY(CONFIG, cohorts, n_cohorts),
     HELP("Cohorts that have a parent, own quotas or a weight.")},
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

/* ---- KAI-Scheduler ---------------------------------------------------------------------------------- */

/*
 * Queues, priority classes and settings. Units are those of KAI. Source: KAI-Scheduler, CRDs queues.scheduling.run.ai
 * and schedulingshards.kai.scheduler, cmd/scheduler/app/options.
 */

static const char *const kai_strategies[] = {HR_KAI_STRATEGY_TABLE(WORD) NULL};
static const char *const reclaim_methods[] = {HR_KAI_RECLAIM_METHOD_TABLE(WORD) NULL};
static const char *const windows[] = {HR_KAI_WINDOW_TABLE(WORD) NULL};

#define MAX_AMOUNT 1e12
#define MAX_QUEUES 10000.0
#define KAI_PRIORITY WHOLE(INT32_MIN, INT32_MAX)

static const struct hr__key kai_resource_keys[] = {
    {"quota", REAL(-1, MAX_AMOUNT), DEFAULT("0"), AT(DOUBLE, struct hr_kai_resource, quota),
     HELP("Amount that the queue deserves. -1: unlimited.")},
    {"limit", REAL(-1, MAX_AMOUNT), DEFAULT("0"), AT(DOUBLE, struct hr_kai_resource, limit),
     HELP("Maximum amount that the queue may use. -1: no limit. 0: the queue may use nothing.")},
    {"over_quota_weight", REAL(0, MAX_AMOUNT), DEFAULT("0"), AT(DOUBLE, struct hr_kai_resource, over_quota_weight),
     HELP("Weight of the queue, relative to its siblings, for its part of the capacity above all quotas.")},
    END};

#define KAI_QUEUE struct hr_kai_queue
#define MIN_RUNTIME(name, member, words)                                                                               \
  { name, SECONDS, AT(INTEGER, KAI_QUEUE, member), .scale = 1e6, OTHERWISE("that of the parent"), HELP(words) }
static const struct hr__key kai_queue_keys[] = {
    {"name", NAME, MUST, AT(TEXT, KAI_QUEUE, name), HELP("Name, different from those of other queues.")},
    {"parent", NAME, AT(TEXT, KAI_QUEUE, parent), OTHERWISE("none; it is a top-level queue"),
     HELP("The queue above this one.")},
    {"priority", KAI_PRIORITY, DEFAULT("100"), AT(INTEGER, KAI_QUEUE, priority),
     HELP("Queues of higher priority get capacity above the quotas first.")},
    {"gpu", OBJECT(kai_resource_keys), AT(PART, KAI_QUEUE, gpu), HELP("GPUs.")},
    {"cpu", OBJECT(kai_resource_keys), AT(PART, KAI_QUEUE, cpu), HELP("CPUs, in thousandths.")},
    {"memory", OBJECT(kai_resource_keys), AT(PART, KAI_QUEUE, memory), HELP("Memory, in megabytes of 1000000 bytes.")},
    MIN_RUNTIME("preempt_min_runtime_s", preempt_min_runtime_us,
                "For this time after its start, a job is not preempted by jobs of the same queue."),
    MIN_RUNTIME("reclaim_min_runtime_s", reclaim_min_runtime_us,
                "For this time after its start, a job is not reclaimed for other queues."),
    END};

#define CLASS struct hr_kai_priority_class
static const struct hr__key kai_class_keys[] = {
    {"name", NAME, MUST, AT(TEXT, CLASS, name), HELP("Name, for people.")},
    {"value", KAI_PRIORITY, MUST, AT(INTEGER, CLASS, value), HELP("The priority of the jobs.")},
    {"preemptible", BOOLEAN, AT(INTEGER, CLASS, preemptible), OTHERWISE("true if the value is below 100"),
     HELP("Whether the jobs may be evicted for other jobs. false: they may use only quota.")},
    END};

#define USAGE struct hr_kai_usage
static const struct hr__key usage_keys[] = {
    {"window", CHOICE(windows), DEFAULT("sliding"), AT(INTEGER, USAGE, window),
     HELP("Window of past usage. sliding: it ends at the present time. tumbling: a new window begins each time a "
          "window ends.")},
    {"window_s", SECONDS_FROM(1), DEFAULT("604800"), AS_US(USAGE, window_us), HELP("Length of the window.")},
    {"half_life_s", SECONDS, DEFAULT("0"), AS_US(USAGE, half_life_us),
     HELP("Time after which usage counts half. 0: no decay.")},
    {"fetch_interval_s", SECONDS_FROM(1), DEFAULT("60"), AS_US(USAGE, fetch_interval_us),
     HELP("Time between two readings of the usage.")},
    END};

#define SCHEDULER struct hr_kai_scheduler
static const struct hr__key scheduler_keys[] = {
    {"schedule_period_s", REAL(0.001, 3600), .unit = "s", DEFAULT("1"), AS_US(SCHEDULER, period_us),
     HELP("Time between two cycles.")},
    {"k_value", REAL(0, MAX_AMOUNT), DEFAULT("1"), AT(DOUBLE, SCHEDULER, k_value),
     HELP("Weight of past usage. Only with 'usage'.")},
    {"usage", OBJECT(usage_keys), AT(PART, SCHEDULER, usage), OTHERWISE("past usage does not count"),
     HELP("Time-based fair share: past usage of a queue reduces its part of the capacity above the quotas.")},
    {"gpu_placement", CHOICE(kai_strategies), DEFAULT("binpack"), AT(INTEGER, SCHEDULER, gpu_placement),
     HELP("How pods with GPUs are placed on nodes: binpack or spread.")},
    {"cpu_placement", CHOICE(kai_strategies), DEFAULT("binpack"), AT(INTEGER, SCHEDULER, cpu_placement),
     HELP("How pods without GPUs are placed on nodes: binpack or spread.")},
    {"shared_gpu_placement", CHOICE(kai_strategies), AT(INTEGER, SCHEDULER, gpu_spread),
     OTHERWISE("that of 'gpu_placement'"), HELP("How pods with parts of GPUs are placed on GPUs: binpack or spread.")},
    {"allow_consolidating_reclaim", BOOLEAN, DEFAULT("true"), AT(INTEGER, SCHEDULER, allow_consolidating_reclaim),
     HELP("Whether a reclaim may move pods to other nodes. Pods that get another node do not count as reclaimed.")},
    {"max_consolidation_victims", WHOLE(-1, 1e9), DEFAULT("16"), AT(INTEGER, SCHEDULER, max_consolidation_victims),
     HELP("Maximum number of jobs that are considered for a move to other nodes. -1: no limit. 0: no consolidation.")},
    {"stale_gang_grace_s", REAL(-1, MAX_SECONDS), .unit = "s", DEFAULT("60"), AS_US(SCHEDULER, stale_grace_us),
     HELP("Time after which a gang with fewer running pods than its minimum is evicted. -1: never.")},
    {"preempt_min_runtime_s", SECONDS, DEFAULT("0"), AS_US(SCHEDULER, preempt_min_runtime_us),
     HELP("Minimum run time before preemption, for queues without one.")},
    {"reclaim_min_runtime_s", SECONDS, DEFAULT("0"), AS_US(SCHEDULER, reclaim_min_runtime_us),
     HELP("Minimum run time before reclaim, for queues without one.")},
    {"reclaim_min_runtime_method", CHOICE(reclaim_methods), DEFAULT("lca"), AT(INTEGER, SCHEDULER, reclaim_method),
     HELP("Which queue's minimum run time applies to reclaim. queue: that of the victim's queue. lca: that of the "
          "ancestor of the victim's queue just below the lowest common ancestor of both queues.")},
    {"saturation_multiplier", REAL(1, MAX_AMOUNT), DEFAULT("1"), AT(DOUBLE, SCHEDULER, saturation_multiplier),
     HELP("Factor by which the saturation of the reclaiming queue is multiplied before it is compared with that of a "
          "victim's queue.")},
    {"termination_grace_s", SECONDS, DEFAULT("30"), AS_US(SCHEDULER, termination_grace_us),
     HELP("Maximum time from the eviction of a job to its end. The job may write a checkpoint in this time.")},
    {"scheduling_signatures", BOOLEAN, DEFAULT("true"), AT(INTEGER, SCHEDULER, signatures),
     HELP("Whether an action skips jobs that are equal to a job that it could not start.")},
    {"allocate_depth", WHOLE(1, 1e9), AT(INTEGER, SCHEDULER, allocate_depth), OTHERWISE("all jobs"),
     HELP("Maximum number of jobs of a queue that a cycle tries to start; they are the first in order. KAI: "
          "queueDepthPerAction.")},
    {"consolidation_depth", WHOLE(1, 1e9), AT(INTEGER, SCHEDULER, consolidation_depth), OTHERWISE("all jobs"),
     HELP("Maximum number of jobs of a queue for which a cycle tries to move other jobs (consolidation).")},
    {"reclaim_depth", WHOLE(1, 1e9), AT(INTEGER, SCHEDULER, reclaim_depth), OTHERWISE("all jobs"),
     HELP("Maximum number of jobs of a queue for which a cycle tries to reclaim from other queues.")},
    {"preempt_depth", WHOLE(1, 1e9), AT(INTEGER, SCHEDULER, preempt_depth), OTHERWISE("all jobs"),
     HELP("Maximum number of jobs of a queue for which a cycle tries to preempt other jobs of the queue.")},
    END};

#define KAI struct hr_kai_config
const struct hr__key hr__kai_keys[] = {
    {"queues", LIST(0, MAX_QUEUES, EACH(OBJECT(kai_queue_keys))), AS_ARRAY(KAI, queues, n_queues),
     OTHERWISE("one queue without limits"), HELP("Queues, in any order. Jobs are in queues without child queues.")},
    {"default_queue", NAME, AT(TEXT, KAI, default_queue), OTHERWISE("such jobs are rejected"),
     HELP("Queue of jobs without a queue, or with a queue that does not exist.")},
    {"priority_classes", LIST(0, MAX_MEMBERS, EACH(OBJECT(kai_class_keys))), AS_ARRAY(KAI, classes, n_classes),
     HELP("Preemptibility of jobs by their priority. Jobs with a priority that is not listed are preemptible if it is "
          "below 100.")},
    {"default_priority", KAI_PRIORITY, DEFAULT("50"), AT(INTEGER, KAI, default_priority),
     HELP("Priority of jobs in traces without priorities.")},
    {"scheduler", OBJECT(scheduler_keys), AT(PART, KAI, scheduler), HELP("Settings of the scheduler.")},
    {"topology", NAME, AT(TEXT, KAI, topology),
     HELP("Name of the topology, for people. Its levels are the tiers of the pools.")},
    END};

/* ---- Slurm ------------------------------------------------------------------------------------------ */

/*
 * Priorities, preemption, partitions, QOS, associations and reservations. Source: doc/man/man5/slurm.conf.5,
 * doc/man/man1/{sacctmgr,scontrol}.1 of SchedMD/slurm.
 */

static const char *const priority_flags[] = {HR_SLURM_PRIORITY_FLAG_TABLE(WORD) NULL};
static const char *const usage_resets[] = {HR_SLURM_USAGE_RESET_TABLE(WORD) NULL};
static const char *const preempt_types[] = {HR_SLURM_PREEMPT_TYPE_TABLE(WORD) NULL};
static const char *const preempt_modes[] = {HR_SLURM_PREEMPT_MODE_TABLE(WORD) NULL};
static const char *const states[] = {HR_SLURM_STATE_TABLE(WORD) NULL};
static const char *const qos_flags[] = {HR_SLURM_QOS_FLAG_TABLE(WORD) NULL};
static const char *const reservation_flags[] = {HR_SLURM_RESERVATION_FLAG_TABLE(WORD) NULL};

#define MAX_ROWS 100000.0
#define MAX_WEIGHT 4294967295.0
#define COUNT WHOLE(-1, MAX_AMOUNT), DEFAULT("-1")
#define SLURM_WEIGHT REAL(0, MAX_WEIGHT), DEFAULT("0")
#define SLURM_NAMES(type, member, count, words)                                                                        \
  LIST(0, MAX_ROWS, EACH(NAME, AT(TEXT, struct hr_slurm_name, text), HELP(words))), AS_ARRAY(type, member, count)
#define RANGES(type)                                                                                                   \
  LIST(0, MAX_ROWS,                                                                                                    \
       EACH(NAME, AT(TEXT, struct hr_slurm_node_range, text),                                                          \
            HELP("A pool, or some of its nodes as POOL:FIRST-LAST, counted from 0."))),                                \
      AS_ARRAY(type, nodes, n_nodes)

/* ---- Slurm: resources and limits -------------------------------------------------------------------- */

#define TRES struct hr_slurm_tres
static const struct hr__key tres_keys[] = {
    {"gpu", COUNT, AT(INTEGER, TRES, gpu), HELP("GPUs (gres/gpu). -1: no limit.")},
    {"node", COUNT, AT(INTEGER, TRES, node), HELP("Nodes. -1: no limit.")},
    {"cpu", COUNT, AT(INTEGER, TRES, cpu), HELP("CPUs. -1: no limit.")},
    {"mem_gb", COUNT, AT(INTEGER, TRES, mem_gb), HELP("Memory in GiB. -1: no limit.")},
    END};

#define WEIGHTS struct hr_slurm_tres_weights
static const struct hr__key slurm_weight_keys[] = {
    {"gpu", SLURM_WEIGHT, AT(DOUBLE, WEIGHTS, gpu), HELP("Weight of a GPU (gres/gpu).")},
    {"node", SLURM_WEIGHT, AT(DOUBLE, WEIGHTS, node), HELP("Weight of a node.")},
    {"cpu", SLURM_WEIGHT, AT(DOUBLE, WEIGHTS, cpu), HELP("Weight of a CPU.")},
    {"mem_gb", SLURM_WEIGHT, AT(DOUBLE, WEIGHTS, mem_gb), HELP("Weight of a GiB of memory.")},
    END};

#define LIMITS struct hr_slurm_limits
#define TRES_LIMIT(name, words)                                                                                        \
  { #name, OBJECT(tres_keys), AT(PART, LIMITS, name), OTHERWISE("no limit"), HELP(words) }
#define COUNT_LIMIT(key, name, words)                                                                                  \
  { key, COUNT, AT(INTEGER, LIMITS, name), HELP(words " -1: no limit.") }
#define COMMON_LIMITS                                                                                                  \
  TRES_LIMIT(grp_tres, "GrpTRES: maximum that all running jobs use together."),                                        \
      TRES_LIMIT(max_tres_per_job, "MaxTRESPerJob: maximum request of a job."),                                        \
      COUNT_LIMIT("grp_jobs", grp_jobs, "GrpJobs: maximum number of running jobs."),                                   \
      COUNT_LIMIT("grp_submit_jobs", grp_submit_jobs, "GrpSubmitJobs: maximum number of waiting and running jobs."), { \
    "max_wall_s", SECONDS, AS_US(LIMITS, max_wall_us), OTHERWISE("no limit"),                                          \
        HELP("MaxWall: maximum time limit of a job.")                                                                  \
  }

static const struct hr__key qos_limit_keys[] = {
    COMMON_LIMITS,
    TRES_LIMIT(min_tres_per_job, "MinTRESPerJob: minimum request of a job."),
    TRES_LIMIT(max_tres_per_user, "MaxTRESPerUser: maximum that the running jobs of a user use together."),
    TRES_LIMIT(max_tres_per_account, "MaxTRESPerAccount: maximum that the running jobs of an account use together."),
    COUNT_LIMIT("max_jobs_per_user", max_jobs_per_user, "MaxJobsPerUser: maximum number of running jobs of a user."),
    COUNT_LIMIT("max_jobs_per_account", max_jobs_per_account,
                "MaxJobsPerAccount: maximum number of running jobs of an account."),
    COUNT_LIMIT("max_submit_jobs_per_user", max_submit_jobs_per_user,
                "MaxSubmitJobsPerUser: maximum number of waiting and running jobs of a user."),
    COUNT_LIMIT("max_submit_jobs_per_account", max_submit_jobs_per_account,
                "MaxSubmitJobsPerAccount: maximum number of waiting and running jobs of an account."),
    END};

static const struct hr__key assoc_limit_keys[] = {
    COMMON_LIMITS, COUNT_LIMIT("max_jobs", max_jobs_per_user, "MaxJobs: maximum number of running jobs of each user."),
    COUNT_LIMIT("max_submit_jobs", max_submit_jobs_per_user,
                "MaxSubmitJobs: maximum number of waiting and running jobs of each user."),
    END};

/* ---- Slurm: priorities ------------------------------------------------------------------------------ */

#define SLURM_PRIORITY struct hr_slurm_priority_config
#define FACTOR(name, words)                                                                                            \
  { #name, SLURM_WEIGHT, AT(DOUBLE, SLURM_PRIORITY, name), HELP(words) }
static const struct hr__key priority_keys[] = {
    FACTOR(weight_age, "PriorityWeightAge: weight of the time that a job has waited."),
    FACTOR(weight_assoc, "PriorityWeightAssoc: weight of the priority of the association."),
    FACTOR(weight_fairshare, "PriorityWeightFairshare: weight of the fair share."),
    FACTOR(weight_job_size, "PriorityWeightJobSize: weight of the size of the job."),
    FACTOR(weight_partition, "PriorityWeightPartition: weight of the partition's priority_job_factor."),
    FACTOR(weight_qos, "PriorityWeightQOS: weight of the priority of the QOS."),
    {"weight_tres", OBJECT(slurm_weight_keys), AT(PART, SLURM_PRIORITY, weight_tres),
     HELP("PriorityWeightTRES: weights of the shares of the partition's resources that a job requests.")},
    {"max_age_s", SECONDS_FROM(1), DEFAULT("604800"), AS_US(SLURM_PRIORITY, max_age_us),
     HELP("PriorityMaxAge: waiting time from which the age factor is 1.")},
    {"calc_period_s", SECONDS_FROM(1), DEFAULT("300"), AS_US(SLURM_PRIORITY, calc_period_us),
     HELP("PriorityCalcPeriod: time between two computations of usage and priorities.")},
    {"calc_start_s", SECONDS, AS_US(SLURM_PRIORITY, calc_start_us), OTHERWISE("the beginning of the trace"),
     HELP("Date of one computation, in seconds since 1970, such as the start of slurmctld. The other computations are "
          "whole periods before and after it.")},
    {"decay_half_life_s", SECONDS, DEFAULT("604800"), AS_US(SLURM_PRIORITY, decay_half_life_us),
     HELP("PriorityDecayHalfLife: time after which usage counts half. 0: no decay.")},
    {"usage_reset", CHOICE(usage_resets), DEFAULT("none"), AT(INTEGER, SLURM_PRIORITY, usage_reset),
     HELP("PriorityUsageResetPeriod: when usage is set to 0.")},
    {"favor_small", BOOLEAN, DEFAULT("false"), AT(INTEGER, SLURM_PRIORITY, favor_small),
     HELP("PriorityFavorSmall: whether small jobs have a larger size factor than large jobs.")},
    {"flags", LIST(0, MAX_MEMBERS, EACH(CHOICE(priority_flags), HELP("A flag of PriorityFlags."))),
     AT(BITS, SLURM_PRIORITY, flags), HELP("PriorityFlags.")},
    {"fairshare_dampening", REAL(MIN_SCALE, MAX_NUMBER), DEFAULT("1"), AT(DOUBLE, SLURM_PRIORITY, dampening),
     HELP("FairShareDampeningFactor. Only with the flag NO_FAIR_TREE.")},
    END};

/* ---- Slurm: partitions, QOS, associations, reservations --------------------------------------------- */

#define PARTITION struct hr_slurm_partition
static const struct hr__key partition_keys[] = {
    {"name", NAME, MUST, AT(TEXT, PARTITION, name), HELP("PartitionName, different from those of other partitions.")},
    {"nodes", RANGES(PARTITION), OTHERWISE("all nodes"), HELP("Nodes of the partition. Partitions may share nodes.")},
    {"default", BOOLEAN, DEFAULT("false"), AT(INTEGER, PARTITION, is_default),
     HELP("Default: the partition of jobs that name none.")},
    {"priority_tier", WHOLE(0, 65533), DEFAULT("1"), AT(INTEGER, PARTITION, priority_tier),
     HELP("PriorityTier: jobs in a partition of a higher tier precede other jobs, whatever their priority.")},
    {"priority_job_factor", WHOLE(0, 65533), DEFAULT("1"), AT(INTEGER, PARTITION, priority_job_factor),
     HELP("PriorityJobFactor: contribution of the partition to the priority of its jobs.")},
    {"max_time_s", SECONDS, AS_US(PARTITION, max_time_us), OTHERWISE("no limit"),
     HELP("MaxTime: maximum time limit of a job.")},
    {"default_time_s", SECONDS, AS_US(PARTITION, default_time_us), OTHERWISE("max_time_s; without it, the run time"),
     HELP("DefaultTime: the time limit of jobs without one.")},
    {"min_nodes", WHOLE(0, 1e9), DEFAULT("0"), AT(INTEGER, PARTITION, min_nodes),
     HELP("MinNodes: minimum number of nodes of a job.")},
    {"max_nodes", WHOLE(-1, 1e9), DEFAULT("-1"), AT(INTEGER, PARTITION, max_nodes),
     HELP("MaxNodes: maximum number of nodes of a job. -1: no limit.")},
    {"state", CHOICE(states), DEFAULT("up"), AT(INTEGER, PARTITION, state),
     HELP("State. up: jobs are accepted and started. down: they are accepted, but not started. drain: they are not "
          "accepted, but waiting jobs are started. inactive: neither.")},
    {"preempt_mode", CHOICE(preempt_modes), DEFAULT("default"), AT(INTEGER, PARTITION, preempt_mode),
     HELP("PreemptMode: what happens to jobs of the partition that are preempted.")},
    {"grace_time_s", SECONDS, DEFAULT("0"), AS_US(PARTITION, grace_us),
     HELP("GraceTime: time for which a preempted job may still run.")},
    {"over_time_limit_s", SECONDS, AS_US(PARTITION, over_time_limit_us), OTHERWISE("that of the cluster"),
     HELP("OverTimeLimit: time after the end of its time limit at which a job is stopped.")},
    {"qos", NAME, AT(TEXT, PARTITION, qos), HELP("QOS with limits for all jobs of the partition.")},
    {"allow_accounts", SLURM_NAMES(PARTITION, allow_accounts, n_allow_accounts, "An account."), OTHERWISE("all"),
     HELP("AllowAccounts: accounts that may use the partition.")},
    {"deny_accounts", SLURM_NAMES(PARTITION, deny_accounts, n_deny_accounts, "An account."),
     HELP("DenyAccounts: accounts that must not use the partition.")},
    {"allow_qos", SLURM_NAMES(PARTITION, allow_qos, n_allow_qos, "A QOS."), OTHERWISE("all"),
     HELP("AllowQos: QOS of jobs that may use the partition.")},
    {"deny_qos", SLURM_NAMES(PARTITION, deny_qos, n_deny_qos, "A QOS."),
     HELP("DenyQos: QOS of jobs that must not use the partition.")},
    {"tres_billing_weights", OBJECT(slurm_weight_keys), AT(PART, PARTITION, billing), OTHERWISE("1 per CPU"),
     HELP("TRESBillingWeights: weights of the allocated resources. Their weighted sum is the usage of a job per "
          "second.")},
    END};

#define QOS struct hr_slurm_qos
static const struct hr__key qos_keys[] = {
    {"name", NAME, MUST, AT(TEXT, QOS, name), HELP("Name, different from those of other QOS.")},
    {"priority", WHOLE(0, MAX_WEIGHT), DEFAULT("0"), AT(INTEGER, QOS, priority),
     HELP("Priority: contribution of the QOS to the priority of its jobs. It also determines the order in which jobs "
          "are preempted.")},
    {"preempt", SLURM_NAMES(QOS, preempt, n_preempt, "A QOS."),
     HELP("Preempt: QOS of the jobs that jobs of this QOS may preempt.")},
    {"preempt_mode", CHOICE(preempt_modes), DEFAULT("default"), AT(INTEGER, QOS, preempt_mode),
     HELP("PreemptMode: what happens to jobs of the QOS that are preempted.")},
    {"grace_time_s", SECONDS, DEFAULT("0"), AS_US(QOS, grace_us),
     HELP("GraceTime: time for which a preempted job may still run.")},
    {"preempt_exempt_time_s", SECONDS, AS_US(QOS, exempt_us), OTHERWISE("that of the cluster"),
     HELP("PreemptExemptTime: time after its start in which a job is not preempted.")},
    {"usage_factor", REAL(0, MAX_AMOUNT), DEFAULT("1"), AT(DOUBLE, QOS, usage_factor),
     HELP("UsageFactor: factor by which the usage of the jobs is multiplied.")},
    {"flags", LIST(0, MAX_MEMBERS, EACH(CHOICE(qos_flags), HELP("A flag of the QOS."))), AT(BITS, QOS, flags),
     HELP("Flags of the QOS.")},
    {"limits", OBJECT(qos_limit_keys), AT(PART, QOS, limits), OTHERWISE("no limits"), HELP("Limits of the QOS.")},
    END};

#define ASSOC struct hr_slurm_assoc
static const struct hr__key assoc_keys[] = {
    {"account", NAME, MUST, AT(TEXT, ASSOC, account), HELP("The account, which is the tenant of a job.")},
    {"user", NAME, AT(TEXT, ASSOC, user), OTHERWISE("the entry is for the account itself"),
     HELP("A user of the account.")},
    {"parent", NAME, AT(TEXT, ASSOC, parent), OTHERWISE("the root"),
     HELP("For the entry of an account: its parent account.")},
    {"fairshare", WHOLE(-1, MAX_AMOUNT), DEFAULT("1"), AT(INTEGER, ASSOC, fairshare),
     HELP("Fairshare: number of shares, relative to its siblings. -1 is Slurm's value 'parent': the shares of the "
          "parent account.")},
    {"priority", WHOLE(0, MAX_WEIGHT), DEFAULT("0"), AT(INTEGER, ASSOC, priority),
     HELP("Priority: contribution of the association to the priority of its jobs.")},
    {"default_qos", NAME, AT(TEXT, ASSOC, default_qos), OTHERWISE("that of the parent account"),
     HELP("DefaultQOS: QOS of jobs that name none.")},
    {"limits", OBJECT(assoc_limit_keys), AT(PART, ASSOC, limits), OTHERWISE("no limits"),
     HELP("Limits of the association, which apply to all associations below it, too.")},
    END};

#define RESERVATION struct hr_slurm_reservation
static const struct hr__key reservation_keys[] = {
    {"name", NAME, MUST, AT(TEXT, RESERVATION, name), HELP("Name, different from those of other reservations.")},
    {"start_s", SECONDS, MUST, AS_US(RESERVATION, start_us),
     HELP("StartTime: time from the beginning of the trace. With the flag TIME_FLOAT, the reservation always begins "
          "this time after the present time.")},
    {"duration_s", SECONDS_FROM(1), MUST, AS_US(RESERVATION, duration_us), HELP("Duration.")},
    {"repeat_s", SECONDS, DEFAULT("0"), AS_US(RESERVATION, repeat_us),
     HELP("Time from one start to the next: 3600 for the flag HOURLY, 86400 for DAILY, 604800 for WEEKLY. 0: the "
          "reservation is not repeated.")},
    {"nodes", RANGES(RESERVATION), OTHERWISE("all nodes"), HELP("Reserved nodes.")},
    {"users", SLURM_NAMES(RESERVATION, users, n_users, "A user."),
     HELP("Users with access to the nodes. If the names begin with '-': all users except these. If 'accounts' is also "
          "set, both lists must permit a job.")},
    {"accounts", SLURM_NAMES(RESERVATION, accounts, n_accounts, "An account."),
     HELP("Accounts with access to the nodes, including the accounts below them. If the names begin with '-': all "
          "accounts except these.")},
    {"flags", LIST(0, MAX_MEMBERS, EACH(CHOICE(reservation_flags), HELP("A flag of the reservation."))),
     AT(BITS, RESERVATION, flags), HELP("Flags of the reservation.")},
    END};

#define SLURM struct hr_slurm_config
const struct hr__key hr__slurm_keys[] = {
    {"priority", OBJECT(priority_keys), AT(PART, SLURM, priority),
     HELP("Settings of priority/multifactor, for the policy parameter priority=multifactor.")},
    {"preempt_type", CHOICE(preempt_types), DEFAULT("none"), AT(INTEGER, SLURM, preempt_type),
     HELP("PreemptType: which jobs may be preempted.")},
    {"preempt_mode", CHOICE(preempt_modes), DEFAULT("off"), AT(INTEGER, SLURM, preempt_mode),
     HELP("PreemptMode: what happens to jobs that are preempted. Suspended jobs release only their CPUs.")},
    {"preempt_exempt_time_s", SECONDS, AS_US(SLURM, preempt_exempt_us), OTHERWISE("none"),
     HELP("PreemptExemptTime: time after its start in which a job is not preempted.")},
    {"preempt_youngest_first", BOOLEAN, DEFAULT("false"), AT(INTEGER, SLURM, preempt_youngest_first),
     HELP("PreemptParameters=youngest_first: jobs that started last are preempted first.")},
    {"over_time_limit_s", SECONDS, AS_US(SLURM, over_time_limit_us), OTHERWISE("jobs run as long as in the trace"),
     HELP("OverTimeLimit: time after the end of its time limit at which a job is stopped. 3932100: unlimited.")},
    {"enforce_limits", BOOLEAN, DEFAULT("true"), AT(INTEGER, SLURM, enforce_limits),
     HELP("Whether AccountingStorageEnforce contains 'limits'. false: limits of QOS and associations have no effect, "
          "and the usage of a job after the last computation before its end is not counted.")},
    {"cpus_per_gpu", REAL(MIN_SCALE, 1e6), DEFAULT("1"), AT(DOUBLE, SLURM, cpus_per_gpu),
     HELP("CPUs per GPU: of the nodes, for the size factor, and of jobs that request no CPUs.")},
    {"partitions", LIST(0, MAX_ROWS, EACH(OBJECT(partition_keys))), AS_ARRAY(SLURM, partitions, n_partitions),
     OTHERWISE("one partition of all nodes"), HELP("Partitions, in any order. The queue of a job is its partition.")},
    {"qos", LIST(0, MAX_ROWS, EACH(OBJECT(qos_keys))), AS_ARRAY(SLURM, qos, n_qos),
     HELP("Qualities of service, in any order.")},
    {"associations", LIST(0, MAX_ROWS, EACH(OBJECT(assoc_keys))), AS_ARRAY(SLURM, associations, n_associations),
     OTHERWISE("one account for each tenant, with its users; all have one share"),
     HELP("Accounts, in any order, and their users.")},
    {"reservations", LIST(0, MAX_ROWS, EACH(OBJECT(reservation_keys))), AS_ARRAY(SLURM, reservations, n_reservations),
     HELP("Advance reservations.")},
    END};

/* ---- kube-scheduler --------------------------------------------------------------------------------- */

#define KUBERNETES struct hr_kubernetes_config
static const char *const scorings[] = {HR_KUBERNETES_SCORING_TABLE(WORD) NULL};
static const char *const kubernetes_preemptions[] = {HR_KUBERNETES_PREEMPTION_TABLE(WORD) NULL};
static const char *const partials[] = {HR_KUBERNETES_PARTIAL_TABLE(WORD) NULL};

static const struct hr__key kubernetes_resource_keys[] = {
    {"name", NAME, MUST, AT(TEXT, struct hr_kubernetes_resource, name),
     HELP("Name of the resource, such as cpu, memory or nvidia.com/gpu.")},
    {"weight", WHOLE(1, 100), DEFAULT("1"), AT(INTEGER, struct hr_kubernetes_resource, weight),
     HELP("Weight of the resource in the score.")},
    END};

static const struct hr__key point_keys[] = {
    {"utilization", WHOLE(0, 100), .unit = "%", MUST, AT(INTEGER, struct hr_kubernetes_point, utilization),
     HELP("Requested share of the resource on the node, including the request of the pod.")},
    {"score", WHOLE(0, 10), MUST, AT(INTEGER, struct hr_kubernetes_point, score), HELP("Score of the node.")},
    END};

static const struct hr__key scoring_keys[] = {
    {"type", CHOICE(scorings), DEFAULT("least_allocated"), AT(INTEGER, KUBERNETES, scoring),
     HELP("Which nodes are preferred. least_allocated: empty ones. most_allocated: full ones. "
          "requested_to_capacity_ratio: by 'shape'.")},
    {"resources", LIST(1, 60, EACH(OBJECT(kubernetes_resource_keys))), OTHERWISE("cpu and memory, with weight 1"),
     AS_ARRAY(KUBERNETES, resources, n_resources), HELP("The resources that count. GPUs count only if listed.")},
    {"shape", LIST(1, 100, EACH(OBJECT(point_keys))), OTHERWISE("score 0 at 0 %, 10 at 100 %"),
     AS_ARRAY(KUBERNETES, shape, n_points),
     HELP("With requested_to_capacity_ratio: points of the score as a function of utilization.")},
    END};

static const struct hr__key kubernetes_weight_keys[] = {
    {"fit", WHOLE(0, 100), DEFAULT("1"), AT(INTEGER, KUBERNETES, fit_weight),
     HELP("Weight of the plug-in NodeResourcesFit, which 'scoring' configures.")},
    {"balanced_allocation", WHOLE(0, 100), DEFAULT("1"), AT(INTEGER, KUBERNETES, balanced_weight),
     HELP("Weight of the plug-in NodeResourcesBalancedAllocation.")},
    END};

static const struct hr__key kubernetes_class_keys[] = {
    {"name", NAME, MUST, AT(TEXT, struct hr_kubernetes_class, name), HELP("Name of the PriorityClass.")},
    {"value", WHOLE(INT32_MIN, INT32_MAX), MUST, AT(INTEGER, struct hr_kubernetes_class, value),
     HELP("Priority of its pods. A job has the class with its priority as value.")},
    {"preemption_policy", CHOICE(kubernetes_preemptions), DEFAULT("PreemptLowerPriority"),
     AT(INTEGER, struct hr_kubernetes_class, preemption), HELP("Whether its pods may evict pods of lower priority.")},
    END};

const struct hr__key hr__kubernetes_keys[] = {
    {"scoring", OBJECT(scoring_keys), .store = HR__STORE_PART, HELP("How nodes are scored: scoringStrategy.")},
    {"balanced_resources", LIST(1, 60, EACH(OBJECT(kubernetes_resource_keys))), OTHERWISE("cpu and memory"),
     AS_ARRAY(KUBERNETES, balanced, n_balanced),
     HELP("The resources that NodeResourcesBalancedAllocation balances. Their weights are ignored.")},
    {"plugin_weights", OBJECT(kubernetes_weight_keys), .store = HR__STORE_PART,
     HELP("Weights of the plug-ins that score nodes.")},
    {"percentage_of_nodes_to_score", WHOLE(0, 100), .unit = "%", DEFAULT("0"),
     AT(INTEGER, KUBERNETES, percentage_of_nodes),
     HELP("Number of suitable nodes that are scored, as a percentage of the nodes of the cluster; at least 100 nodes. "
          "0: the percentage is 50 - nodes / 125, but at least 5.")},
    {"preemption", BOOLEAN, DEFAULT("true"), AT(INTEGER, KUBERNETES, preempts),
     HELP("Whether pods may evict pods of lower priority (plug-in DefaultPreemption).")},
    {"priority_classes", LIST(0, 10000, EACH(OBJECT(kubernetes_class_keys))), AS_ARRAY(KUBERNETES, classes, n_classes),
     HELP("PriorityClasses. They are needed only for a preemption policy of Never.")},
    {"pod_initial_backoff_s", SECONDS, DEFAULT("1"), AS_US(KUBERNETES, initial_backoff_us),
     HELP("Minimum time until a pod that did not fit is tried again. It doubles with each try.")},
    {"pod_max_backoff_s", SECONDS, DEFAULT("10"), AS_US(KUBERNETES, max_backoff_us), HELP("Maximum of the back-off.")},
    {"partial_jobs", CHOICE(partials), DEFAULT("together"), AT(INTEGER, KUBERNETES, partial),
     HELP("What happens if only some pods of a job fit. together: the job waits and holds nothing. hold: the pods that "
          "fit are bound and hold their GPUs until the others fit, as in Kubernetes. Jobs may then block each other "
          "forever.")},
    {"gpu_resource", NAME, OTHERWISE("nvidia.com/gpu"), AT(TEXT, KUBERNETES, gpu_resource),
     HELP("Name of the GPU resource in this section and in reasons for waiting.")},
    {"pods_per_node", WHOLE(1, 100000), DEFAULT("110"), AT(INTEGER, KUBERNETES, pods_per_node),
     HELP("Maximum number of pods of a node.")},
    {"idle_release_s", SECONDS, DEFAULT("600"), AS_US(KUBERNETES, idle_release_us),
     HELP("Idle time after which the cluster autoscaler releases a node of an elastic pool.")},
    {"seed", SEED, OTHERWISE("that of the scenario"), AT(INTEGER, KUBERNETES, seed),
     HELP("Seed of the choice between nodes with equal scores.")},
    END};

/* ---- Volcano ---------------------------------------------------------------------------------------- */

#define VOLCANO struct hr_volcano_config
#define PLUGIN struct hr_volcano_plugin_config
#define VOLCANO_QUEUE struct hr_volcano_queue
static const char *const plugins[] = {HR_VOLCANO_PLUGIN_TABLE(WORD) NULL};
static const char *const callbacks[] = {HR_VOLCANO_CALLBACK_TABLE(WORD) NULL};
static const char *const actions[] = {HR_VOLCANO_ACTION_TABLE(WORD) NULL};

#define OF(plugin) WITH(1u << HR_VOLCANO_##plugin)

static const struct hr__key resource_weight_keys[] = {
    {"resource", NAME, MUST, AT(TEXT, struct hr_volcano_weight, resource),
     HELP("Name of the resource, such as cpu, memory or nvidia.com/gpu.")},
    {"weight", WHOLE(0, 1000), MUST, AT(INTEGER, struct hr_volcano_weight, weight), HELP("Weight of the resource.")},
    END};

static const struct hr__key plugin_keys[] = {
    {"name", CHOICE(plugins), MUST, .selects = true, AT(INTEGER, PLUGIN, id), HELP("Name of the plug-in.")},
    {"disable", LIST(0, HR_VOLCANO_N_CALLBACKS, EACH(CHOICE(callbacks))), AT(BITS, PLUGIN, disabled),
     HELP("Parts of the plug-in that are off. preemptable means enablePreemptable: false.")},
    {"enable_hierarchy", BOOLEAN, OF(CAPACITY), DEFAULT("false"), AT(INTEGER, PLUGIN, is_hierarchical),
     HELP("Whether queues form a tree. The limits of a queue then also apply to its descendants together.")},
    {"overcommit_factor", REAL(0, 1000), OF(OVERCOMMIT), DEFAULT("1.2"), AT(DOUBLE, PLUGIN, overcommit_factor),
     HELP("Jobs are enqueued while the requests of all enqueued jobs are at most this multiple of the resources of the "
          "cluster. A value below 1 is replaced by 1.2.")},
    {"sla_waiting_time_s", SECONDS, OF(SLA), DEFAULT("0"), AS_US(PLUGIN, waiting_us),
     HELP("A job that has waited longer than this is enqueued even if plug-ins of later tiers would not enqueue it. 0: "
          "never.")},
    {"ancestor_reclaim_level", WHOLE(0, 100), OF(CAPACITY), DEFAULT("0"), AT(INTEGER, PLUGIN, ancestor_level),
     HELP("With 'enable_hierarchy': number of levels of ancestors that are also examined. A queue may reclaim if the "
          "queue itself, or one of these ancestors, stays within its deserved resources.")},
    {"least_requested_weight", WHOLE(0, 1000), OF(NODEORDER), DEFAULT("1"), AT(INTEGER, PLUGIN, least_requested),
     HELP("Weight of the score that prefers nodes with much free CPU and memory.")},
    {"most_requested_weight", WHOLE(0, 1000), OF(NODEORDER), DEFAULT("0"), AT(INTEGER, PLUGIN, most_requested),
     HELP("Weight of the score that prefers nodes with little free CPU and memory.")},
    {"balanced_resource_weight", WHOLE(0, 1000), OF(NODEORDER), DEFAULT("1"), AT(INTEGER, PLUGIN, balanced_resource),
     HELP("Weight of the score that prefers nodes with balanced use of CPU, memory and GPUs.")},
    {"weight", WHOLE(0, 1000), OF(BINPACK), DEFAULT("1"), AT(INTEGER, PLUGIN, weight),
     HELP("Weight of the plug-in: binpack.weight.")},
    {"resources", LIST(0, 60, EACH(OBJECT(resource_weight_keys))), OF(BINPACK),
     OTHERWISE("cpu and memory, with weight 1"), AS_ARRAY(PLUGIN, resources, n_resources),
     HELP("Weights of resources: binpack.resources. They are added to the default.")},
    END};

static const struct hr__key tier_keys[] = {{"plugins", LIST(0, 100, EACH(OBJECT(plugin_keys))), MUST,
                                            AS_ARRAY(struct hr_volcano_tier, plugins, n_plugins),
                                            HELP("The plug-ins of the tier, in order.")},
                                           END};

static const struct hr__key amount_keys[] = {
    {"resource", NAME, MUST, AT(TEXT, struct hr_volcano_amount, resource),
     HELP("Name of the resource, such as cpu, memory or nvidia.com/gpu.")},
    {"amount", REAL(0, 1e12), MUST, AT(DOUBLE, struct hr_volcano_amount, amount),
     HELP("Amount of the resource, in CPUs for cpu, in GiB for memory, and as a number for all other resources.")},
    END};

static const struct hr__key volcano_queue_keys[] = {
    {"name", NAME, MUST, AT(TEXT, VOLCANO_QUEUE, name),
     HELP("Name of the queue. Jobs name it in their field 'queue'.")},
    {"parent", NAME, OTHERWISE("root, if there is such a queue"), AT(TEXT, VOLCANO_QUEUE, parent),
     HELP("Name of the parent, for the plug-in capacity with 'enable_hierarchy'.")},
    {"weight", WHOLE(1, 65535), DEFAULT("1"), AT(INTEGER, VOLCANO_QUEUE, weight),
     HELP("Weight of the queue, for the plug-in proportion.")},
    {"priority", WHOLE(INT32_MIN, INT32_MAX), DEFAULT("0"), AT(INTEGER, VOLCANO_QUEUE, priority),
     HELP("Queues of higher priority are served first.")},
    {"reclaimable", BOOLEAN, DEFAULT("true"), AT(INTEGER, VOLCANO_QUEUE, reclaimable),
     HELP("Whether other queues may reclaim resources from this one.")},
    {"closed", BOOLEAN, DEFAULT("false"), AT(INTEGER, VOLCANO_QUEUE, is_closed),
     HELP("Whether the queue is closed. A closed queue starts no jobs.")},
    {"capability", LIST(0, 60, EACH(OBJECT(amount_keys))), OTHERWISE("not limited"),
     AS_ARRAY(VOLCANO_QUEUE, capability, n_capability), HELP("Maximum resources of the queue.")},
    {"deserved", LIST(0, 60, EACH(OBJECT(amount_keys))), OTHERWISE("none"),
     AS_ARRAY(VOLCANO_QUEUE, deserved, n_deserved),
     HELP("Resources that the queue deserves, for the plug-in capacity.")},
    {"guarantee", LIST(0, 60, EACH(OBJECT(amount_keys))), OTHERWISE("none"),
     AS_ARRAY(VOLCANO_QUEUE, guarantee, n_guarantee), HELP("Resources that are reserved for the queue.")},
    END};

const struct hr__key hr__volcano_keys[] = {
    {"actions", LIST(1, 100, EACH(CHOICE(actions), .store = HR__STORE_INTEGER, .bytes = sizeof(uint32_t))),
     OTHERWISE("enqueue, allocate, backfill"), AS_ARRAY(VOLCANO, actions, n_actions),
     HELP("The actions of a session, in order.")},
    {"tiers", LIST(1, 100, EACH(OBJECT(tier_keys))), OTHERWISE("those of the default installation of Volcano"),
     AS_ARRAY(VOLCANO, tiers, n_tiers),
     HELP("Tiers of plug-ins. The default installation has two tiers: priority, gang and conformance; and overcommit, "
          "drf, predicates, proportion, nodeorder and binpack. In it, gang and drf do not take part in preemption.")},
    {"queues", LIST(0, 10000, EACH(OBJECT(volcano_queue_keys))), OTHERWISE("one queue, without limits"),
     AS_ARRAY(VOLCANO, queues, n_queues), HELP("The queues.")},
    {"default_queue", NAME, OTHERWISE("default"), AT(TEXT, VOLCANO, default_queue),
     HELP("Queue of jobs that name no queue, or a queue that is not listed.")},
    {"schedule_period_s", REAL(0.001, 86400), .unit = "s", DEFAULT("1"), AS_US(VOLCANO, period_us),
     HELP("Time between two sessions.")},
    {"preemptable", BOOLEAN, DEFAULT("true"), .store = HR__STORE_NOT, .offset = offsetof(VOLCANO, not_preemptable),
     .bytes = sizeof(bool), HELP("Whether jobs may be evicted. Jobs that must not be interrupted are never evicted.")},
    {"restart_on_lost_pods", BOOLEAN, DEFAULT("false"), AT(INTEGER, VOLCANO, restarts_jobs),
     HELP("Whether an elastic job that loses pods with their node starts again, as with the action RestartJob for "
          "PodFailed and PodEvicted. false: it continues if it still has at least its minimum number of pods.")},
    {"gpu_resource", NAME, OTHERWISE("nvidia.com/gpu"), AT(TEXT, VOLCANO, gpu_resource),
     HELP("Name of the GPU resource in this section and in reasons for waiting.")},
    {"pods_per_node", WHOLE(1, 100000), DEFAULT("110"), AT(INTEGER, VOLCANO, pods_per_node),
     HELP("Maximum number of pods of a node.")},
    {"idle_release_s", SECONDS, DEFAULT("600"), AS_US(VOLCANO, idle_release_us),
     HELP("Idle time after which the cluster autoscaler releases a node of an elastic pool.")},
    END};
