/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key tables of the sections `kubernetes` and `volcano`: the configuration of kube-scheduler, and queues and the
   configuration of Volcano, with the names of their configuration files in snake case. A table precedes the tables that
   refer to it. */

#include "headroom/unstable/systems/kubernetes.h"
#include "headroom/unstable/systems/volcano.h"
#include "scenarios/schema/keys.h"

/* ---- kubernetes ------------------------------------------------------------------------------------------ */

#define KUBERNETES struct hr_kubernetes_config
#define WORD(name, text) text,
static const char *const scorings[] = {HR_KUBERNETES_SCORING_TABLE(WORD) NULL};
static const char *const preemptions[] = {HR_KUBERNETES_PREEMPTION_TABLE(WORD) NULL};
static const char *const partials[] = {HR_KUBERNETES_PARTIAL_TABLE(WORD) NULL};

static const struct hr__key resource_keys[] = {{"name", NAME, MUST, AT(TEXT, struct hr_kubernetes_resource, name),
                                                HELP("Name of the resource, such as cpu, memory or nvidia.com/gpu.")},
                                               {"weight", WHOLE(1, 100), DEFAULT("1"),
                                                AT(INTEGER, struct hr_kubernetes_resource, weight),
                                                HELP("Weight of the resource in the score.")},
                                               END};

static const struct hr__key point_keys[] = {
    {"utilization", WHOLE(0, 100), .unit = "%", MUST, AT(INTEGER, struct hr_kubernetes_point, utilization),
     HELP("Part of the resource that is requested, with the pod.")},
    {"score", WHOLE(0, 10), MUST, AT(INTEGER, struct hr_kubernetes_point, score), HELP("Score of the node.")},
    END};

static const struct hr__key scoring_keys[] = {
    {"type", CHOICE(scorings), DEFAULT("least_allocated"), AT(INTEGER, KUBERNETES, scoring),
     HELP("Which nodes are preferred. least_allocated: empty ones. most_allocated: full ones. "
          "requested_to_capacity_ratio: by 'shape'.")},
    {"resources", LIST(1, 60, EACH(OBJECT(resource_keys))), OTHERWISE("cpu and memory, with weight 1"),
     AS_ARRAY(KUBERNETES, resources, n_resources), HELP("The resources that count. GPUs count only if listed.")},
    {"shape", LIST(1, 100, EACH(OBJECT(point_keys))), OTHERWISE("score 0 at 0 %, 10 at 100 %"),
     AS_ARRAY(KUBERNETES, shape, n_points), HELP("With requested_to_capacity_ratio: points of the score.")},
    END};

static const struct hr__key weight_keys[] = {
    {"fit", WHOLE(0, 100), DEFAULT("1"), AT(INTEGER, KUBERNETES, fit_weight),
     HELP("Weight of the plug-in NodeResourcesFit, which 'scoring' configures.")},
    {"balanced_allocation", WHOLE(0, 100), DEFAULT("1"), AT(INTEGER, KUBERNETES, balanced_weight),
     HELP("Weight of the plug-in NodeResourcesBalancedAllocation.")},
    END};

static const struct hr__key class_keys[] = {
    {"name", NAME, MUST, AT(TEXT, struct hr_kubernetes_class, name), HELP("Name of the PriorityClass.")},
    {"value", WHOLE(INT32_MIN, INT32_MAX), MUST, AT(INTEGER, struct hr_kubernetes_class, value),
     HELP("Priority of its pods. A job has the class with its priority as value.")},
    {"preemption_policy", CHOICE(preemptions), DEFAULT("PreemptLowerPriority"),
     AT(INTEGER, struct hr_kubernetes_class, preemption), HELP("Whether its pods may evict pods of lower priority.")},
    END};

const struct hr__key hr__kubernetes_keys[] = {
    {"scoring", OBJECT(scoring_keys), .store = HR__STORE_PART, HELP("How nodes are scored: scoringStrategy.")},
    {"balanced_resources", LIST(1, 60, EACH(OBJECT(resource_keys))), OTHERWISE("cpu and memory"),
     AS_ARRAY(KUBERNETES, balanced, n_balanced),
     HELP("The resources that NodeResourcesBalancedAllocation balances. Their weights are ignored.")},
    {"plugin_weights", OBJECT(weight_keys), .store = HR__STORE_PART, HELP("Weights of the plug-ins that score nodes.")},
    {"percentage_of_nodes_to_score", WHOLE(0, 100), .unit = "%", DEFAULT("0"),
     AT(INTEGER, KUBERNETES, percentage_of_nodes),
     HELP(
         "How many suitable nodes are scored, of the nodes of the cluster, at least 100. 0: 50 % less one for each 125 "
         "nodes, at least 5 %.")},
    {"preemption", BOOLEAN, DEFAULT("true"), AT(INTEGER, KUBERNETES, preempts),
     HELP("Pods evict pods of lower priority: the plug-in DefaultPreemption.")},
    {"priority_classes", LIST(0, 10000, EACH(OBJECT(class_keys))), AS_ARRAY(KUBERNETES, classes, n_classes),
     HELP("PriorityClasses. They are needed only for a preemption policy of Never.")},
    {"pod_initial_backoff_s", SECONDS, DEFAULT("1"), AS_US(KUBERNETES, initial_backoff_us),
     HELP("Time until a pod that did not fit is tried again. It doubles with each try.")},
    {"pod_max_backoff_s", SECONDS, DEFAULT("10"), AS_US(KUBERNETES, max_backoff_us), HELP("Maximum of this time.")},
    {"partial_jobs", CHOICE(partials), DEFAULT("together"), AT(INTEGER, KUBERNETES, partial),
     HELP(
         "What happens if only some pods of a job fit. together: the job waits and holds nothing. hold: these pods are "
         "bound and hold their GPUs until the others fit, as in Kubernetes; jobs may block each other for ever.")},
    {"gpu_resource", NAME, OTHERWISE("nvidia.com/gpu"), AT(TEXT, KUBERNETES, gpu_resource),
     HELP("Name of the resource of GPUs in this section and in reasons for waiting.")},
    {"pods_per_node", WHOLE(1, 100000), DEFAULT("110"), AT(INTEGER, KUBERNETES, pods_per_node),
     HELP("Maximum number of pods of a node.")},
    {"idle_release_s", SECONDS, DEFAULT("600"), AS_US(KUBERNETES, idle_release_us),
     HELP("Idle time after which the cluster autoscaler releases a node of an elastic pool.")},
    {"seed", SEED, OTHERWISE("that of the scenario"), AT(INTEGER, KUBERNETES, seed),
     HELP("Seed of the choice between nodes with equal scores.")},
    END};

/* ---- volcano --------------------------------------------------------------------------------------------- */

#define VOLCANO struct hr_volcano_config
#define PLUGIN struct hr_volcano_plugin_config
#define QUEUE struct hr_volcano_queue
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
     HELP("Queues form a tree; their limits include those of their descendants.")},
    {"overcommit_factor", REAL(0, 1000), OF(OVERCOMMIT), DEFAULT("1.2"), AT(DOUBLE, PLUGIN, overcommit_factor),
     HELP(
         "Jobs are enqueued while their requests are at most this multiple of the cluster. Below 1 it counts as 1.2.")},
    {"sla_waiting_time_s", SECONDS, OF(SLA), DEFAULT("0"), AS_US(PLUGIN, waiting_us),
     HELP("A job that waits longer is enqueued in spite of limits of later tiers. 0: never.")},
    {"ancestor_reclaim_level", WHOLE(0, 100), OF(CAPACITY), DEFAULT("0"), AT(INTEGER, PLUGIN, ancestor_level),
     HELP("Number of ancestors of a queue that allow it to reclaim by their deserved resources.")},
    {"least_requested_weight", WHOLE(0, 1000), OF(NODEORDER), DEFAULT("1"), AT(INTEGER, PLUGIN, least_requested),
     HELP("Weight of the score by free CPU and memory.")},
    {"most_requested_weight", WHOLE(0, 1000), OF(NODEORDER), DEFAULT("0"), AT(INTEGER, PLUGIN, most_requested),
     HELP("Weight of the score by used CPU and memory.")},
    {"balanced_resource_weight", WHOLE(0, 1000), OF(NODEORDER), DEFAULT("1"), AT(INTEGER, PLUGIN, balanced_resource),
     HELP("Weight of the score by equal use of CPU, memory and GPUs.")},
    {"weight", WHOLE(0, 1000), OF(BINPACK), DEFAULT("1"), AT(INTEGER, PLUGIN, weight),
     HELP("Weight of the plug-in: binpack.weight.")},
    {"resources", LIST(0, 60, EACH(OBJECT(resource_weight_keys))), OF(BINPACK),
     OTHERWISE("cpu and memory, with weight 1"), AS_ARRAY(PLUGIN, resources, n_resources),
     HELP("Weights of resources: binpack.resources. Added to the default.")},
    END};

static const struct hr__key tier_keys[] = {{"plugins", LIST(0, 100, EACH(OBJECT(plugin_keys))), MUST,
                                            AS_ARRAY(struct hr_volcano_tier, plugins, n_plugins),
                                            HELP("The plug-ins of the tier, in order.")},
                                           END};

static const struct hr__key amount_keys[] = {{"resource", NAME, MUST, AT(TEXT, struct hr_volcano_amount, resource),
                                              HELP("Name of the resource, such as cpu, memory or nvidia.com/gpu.")},
                                             {"amount", REAL(0, 1e12), MUST,
                                              AT(DOUBLE, struct hr_volcano_amount, amount),
                                              HELP("Amount. CPUs for cpu, GiB for memory, items for all others.")},
                                             END};

static const struct hr__key queue_keys[] = {
    {"name", NAME, MUST, AT(TEXT, QUEUE, name), HELP("Name of the queue. Jobs name it in their field 'queue'.")},
    {"parent", NAME, OTHERWISE("root, if there is such a queue"), AT(TEXT, QUEUE, parent),
     HELP("Name of the parent, for the plug-in capacity with 'enable_hierarchy'.")},
    {"weight", WHOLE(1, 65535), DEFAULT("1"), AT(INTEGER, QUEUE, weight),
     HELP("Weight of the queue, for the plug-in proportion.")},
    {"priority", WHOLE(INT32_MIN, INT32_MAX), DEFAULT("0"), AT(INTEGER, QUEUE, priority),
     HELP("Queues of higher priority go first.")},
    {"reclaimable", BOOLEAN, DEFAULT("true"), AT(INTEGER, QUEUE, reclaimable),
     HELP("Other queues may reclaim resources from this one.")},
    {"closed", BOOLEAN, DEFAULT("false"), AT(INTEGER, QUEUE, is_closed), HELP("The queue starts no jobs.")},
    {"capability", LIST(0, 60, EACH(OBJECT(amount_keys))), OTHERWISE("not limited"),
     AS_ARRAY(QUEUE, capability, n_capability), HELP("Maximum resources of the queue.")},
    {"deserved", LIST(0, 60, EACH(OBJECT(amount_keys))), OTHERWISE("none"), AS_ARRAY(QUEUE, deserved, n_deserved),
     HELP("Resources that the queue deserves, for the plug-in capacity.")},
    {"guarantee", LIST(0, 60, EACH(OBJECT(amount_keys))), OTHERWISE("none"), AS_ARRAY(QUEUE, guarantee, n_guarantee),
     HELP("Resources that are reserved for the queue.")},
    END};

const struct hr__key hr__volcano_keys[] = {
    {"actions", LIST(1, 100, EACH(CHOICE(actions), .store = HR__STORE_INTEGER, .bytes = sizeof(uint32_t))),
     OTHERWISE("enqueue, allocate, backfill"), AS_ARRAY(VOLCANO, actions, n_actions),
     HELP("The actions of a session, in order.")},
    {"tiers", LIST(1, 100, EACH(OBJECT(tier_keys))), OTHERWISE("those of Volcano as installed"),
     AS_ARRAY(VOLCANO, tiers, n_tiers),
     HELP("Tiers of plug-ins. As installed: priority, gang and conformance; then overcommit, drf, predicates, "
          "proportion, nodeorder and binpack; gang and drf do not take part in preemption.")},
    {"queues", LIST(0, 10000, EACH(OBJECT(queue_keys))), OTHERWISE("one queue, without limits"),
     AS_ARRAY(VOLCANO, queues, n_queues), HELP("The queues.")},
    {"default_queue", NAME, OTHERWISE("default"), AT(TEXT, VOLCANO, default_queue),
     HELP("Queue of jobs that name none, or one that is not listed.")},
    {"schedule_period_s", REAL(0.001, 86400), .unit = "s", DEFAULT("1"), AS_US(VOLCANO, period_us),
     HELP("Time between two sessions.")},
    {"preemptable", BOOLEAN, DEFAULT("true"), .store = HR__STORE_NOT, .offset = offsetof(VOLCANO, not_preemptable),
     .bytes = sizeof(bool), HELP("Jobs may be evicted, except those that must not be interrupted.")},
    {"restart_on_lost_pods", BOOLEAN, DEFAULT("false"), AT(INTEGER, VOLCANO, restarts_jobs),
     HELP(
         "An elastic job that loses pods with their node starts again, as with the action RestartJob for PodFailed and "
         "PodEvicted. Otherwise it continues while it has at least its minimum of pods.")},
    {"gpu_resource", NAME, OTHERWISE("nvidia.com/gpu"), AT(TEXT, VOLCANO, gpu_resource),
     HELP("Name of the resource of GPUs in this section and in reasons for waiting.")},
    {"pods_per_node", WHOLE(1, 100000), DEFAULT("110"), AT(INTEGER, VOLCANO, pods_per_node),
     HELP("Maximum number of pods of a node.")},
    {"idle_release_s", SECONDS, DEFAULT("600"), AS_US(VOLCANO, idle_release_us),
     HELP("Idle time after which the cluster autoscaler releases a node of an elastic pool.")},
    END};
