/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key table of the section `kubernetes`: the configuration of kube-scheduler, with the names of
   KubeSchedulerConfiguration in snake case. A table precedes the tables that refer to it. */

#include "headroom/unstable/systems/kubernetes.h"
#include "scenarios/schema/keys.h"

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
