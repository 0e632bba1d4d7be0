/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CONFORM_KUEUE_OBJECTS_H
#define HR_SCENARIOS_CONFORM_KUEUE_OBJECTS_H

/* Reads the objects of a Kueue case into a world of policies/kueue (queues, quotas, flavors, workloads and topologies),
   and writes objects back to JSON. Also declares the cycles of Kueue cases, and the kinds of cases of each file. All
   memory belongs to the arena of the case, except JSON results. If memory is exhausted, the functions set
   `verdict->no_memory` and return NULL, false or empty objects. */

#include "policies/kueue/cycle.h"
#include "policies/kueue/kueue.h"
#include "policies/kueue/tas.h"
#include "scenarios/conform/conform.h"

#include <math.h>
#include <string.h>

/* Unique names, sorted. */
struct hr__kueue_names {
  const char **items;
  uint32_t count, capacity;
};

/* The data that the reader needs besides the world. */
struct hr__kueue_case {
  struct hr__verdict *verdict;
  const cJSON *input, *expect;
  struct hr__kueue_world world;
  struct hr__kueue_names resources, flavors, queues, cohorts, uids;
  const cJSON **queue_json; /* [n_queue_json] the ClusterQueues in the order of the case */
  uint32_t n_queue_json;
  const cJSON **workload_json; /* by workload: its object in the case */
  const char *requeuing;       /* waitForPodsReady's requeuingStrategy.timestamp: "Eviction" or "Creation" */
};

/* Sets `world->topology` from the members "nodes", "pods" and "topologies" of a case. Does nothing if no flavor has a
   topology. Must be called after the workloads were read, and before they are listed in their queues. Returns false if
   memory is exhausted. */
bool hr__kueue_case_topology(struct hr__kueue_case *self);

/* ---- Reading ---- */

/* Reads the names, flavors, queues, cohorts, local queues and settings of a case. All members of its input are
   optional: "clusterQueues" (or one "cq" or "clusterQueue"), "siblingCQs", "cohorts", "resourceFlavors", "localQueues",
   "admissionChecks", "version", "featureGates", "fairSharing", "now", "quotaCheckStrategy", "requeuingTimestamp".
   Returns false if memory is exhausted. */
bool hr__kueue_case_begin(struct hr__kueue_case *self, const cJSON *input, struct hr__verdict *verdict);
/* Reads lists of workloads into `world.workloads`, one list after the other, and then the topology. A list may be NULL.
   Workloads with quota are listed in their queues, and their usage is added to the tree of quotas and to the nodes. */
bool hr__kueue_case_workloads(struct hr__kueue_case *self, const cJSON *const *lists, uint32_t n_lists);
/* Reads one workload into `out`. */
bool hr__kueue_case_workload(struct hr__kueue_case *self, const cJSON *json, struct hr__kueue_workload *out);
/* Returns whether a workload is a single Pod: a Pod is its only owner, and it does not have the annotation of a group
   of Pods. */
bool hr__kueue_case_is_one_pod(const cJSON *workload);
/* Reads a list of pod sets, and sets `*count` to their number. Without pod sets, the result is an empty array. */
struct hr__kueue_pod_set *hr__kueue_case_pod_sets(struct hr__kueue_case *self, const cJSON *list, uint32_t *count);
/* Reads {resource: amount}, sorted by resource. Unknown resources are left out. */
struct hr__kueue_amounts hr__kueue_case_amounts(struct hr__kueue_case *self, const cJSON *object);
/* Reads {"flavor/resource": amount}, and sets `*count` to the number of pairs. Unknown pairs are left out. */
struct hr__kueue_usage *hr__kueue_case_usage(struct hr__kueue_case *self, const cJSON *object, uint32_t *count);
/* Adds {"flavor/resource": amount} to the usage of a queue or cohort. Does nothing if `node` is HR_NONE. */
void hr__kueue_case_add_usage(struct hr__kueue_case *self, uint32_t node, const cJSON *object);
/* Reads a topology assignment {levels, domains}. Returns NULL if `json` is not an object, if memory is exhausted, or if
   a domain does not have one value for each level. In the last case, marks the case as malformed. */
const struct hr__kueue_placement *hr__kueue_case_placement(struct hr__kueue_case *self, const cJSON *json);
/* Reads a list {name, count} of the pods of pod sets that are no longer needed, if the feature gate for it is on. */
void hr__kueue_case_reclaimable(const struct hr__kueue_case *self, const cJSON *list,
                                struct hr__kueue_workload *workload);
/* Reads {label: value}. */
struct hr__kueue_labels hr__kueue_case_labels(struct hr__kueue_case *self, const cJSON *object);
/* Reads a list of taints {key, value, effect}. */
struct hr__kueue_taints hr__kueue_case_taints(struct hr__kueue_case *self, const cJSON *list);
/* Reads the requirements of a pod on its nodes from the members of a pod set. */
struct hr__kueue_selector hr__kueue_case_selector(struct hr__kueue_case *self, const cJSON *pod_set);
/* Reads a topology request: a required or preferred level, or unconstrained, and the slices. If `json` is not an
   object, the request is empty. */
struct hr__kueue_topology_request hr__kueue_case_topology_request(struct hr__kueue_case *self, const cJSON *json);

/* Returns a member that states seconds, in microseconds; `fallback` (microseconds) if it is missing. */
static inline int64_t hr__kueue_case_time(const cJSON *object, const char *name, int64_t fallback) {
  double seconds = hr__case_real(object, name, (double)NAN);
  return isnan(seconds) ? fallback : (int64_t)llround(seconds * 1e6);
}

/* Returns the condition of a type that has the status "True", from the list "conditions" of a workload; NULL: none. */
const cJSON *hr__kueue_case_condition(const cJSON *workload, const char *type);

/* Reads the list of flavors that a workload may use. If `list` is NULL, the workload may use all flavors. Unknown
   flavors are left out. Returns false if memory is exhausted. */
bool hr__kueue_read_allowed(struct hr__kueue_case *self, const cJSON *list, struct hr__kueue_workload *workload);

/* ---- Names ---- */

/* Returns the index of a name; HR_NONE if it is unknown or NULL. O(log n). */
uint32_t hr__kueue_name_find(const struct hr__kueue_names *names, const char *name);
/* Returns the pair of "flavor/resource"; HR_NONE if the flavor or the resource is unknown. `text` may be NULL. */
uint32_t hr__kueue_case_pair(const struct hr__kueue_case *self, const char *text);

/* Returns the index of the workload "namespace/name"; HR_NONE if it is unknown. */
static inline uint32_t hr__kueue_case_find_workload(const struct hr__kueue_case *self, const char *key) {
  for (uint32_t i = 0; i < self->world.n_workloads; i++)
    if (strcmp(self->world.workloads[i].name, key) == 0) return i;
  return HR_NONE;
}

/* Returns the text "flavor/resource" of a pair; "" if memory is exhausted. */
const char *hr__kueue_case_pair_name(const struct hr__kueue_case *self, uint32_t pair);
/* Returns the text "namespace/name" of an object; "" if memory is exhausted. */
const char *hr__kueue_case_key(const struct hr__kueue_case *self, const cJSON *object);

/* ---- Writing ---- */

/* Adds a condition to a list. */
void hr__kueue_add_condition(cJSON *list, const char *type, bool status, const char *reason);
/* Adds an amount to a member of an object. A missing member counts as 0. */
void hr__kueue_case_add_to(cJSON *object, const char *name, int64_t amount);
/* Returns {"levels": [..], "domains": [{"values": [..], "count": n}]}, owned by the caller. */
cJSON *hr__kueue_placement_json(const struct hr__kueue_placement *placement);
/* Returns the policy of preemption with a name; HR__KUEUE_POLICY_UNSET if it is unknown. */
enum hr__kueue_policy hr__kueue_policy_named(const char *name);
/* Return the text of a mode or a reason in the cases. */
const char *hr__kueue_mode_name(enum hr__kueue_mode mode);
const char *hr__kueue_reason_name(enum hr__kueue_reason reason);

/* Compares a list or object with the member `name` of the expected result, and frees it. An empty list or object equals
   a missing member. */
static inline void hr__kueue_compare_list(struct hr__kueue_case *self, const char *name, cJSON *actual,
                                          unsigned flags) {
  const cJSON *want = hr__case_get(self->expect, name);
  hr__verdict_compare(self->verdict, name, want, want || cJSON_GetArraySize(actual) ? actual : NULL, flags, 0);
  cJSON_Delete(actual);
}

/* ---- Cycles (kueue_cycle.c) ---------------------------------------------------------------------------- */

/* The scheduling cycles of a case. The JSON values are members of `actual`. */
struct hr__kueue_cycle_run {
  struct hr__kueue_case *self;
  struct hr__kueue_cycle cycle;
  struct hr__kueue_pending pending;
  uint32_t *heads; /* workloads of a cycle: heads of queues, and workloads in their second pass */
  cJSON *actual;   /* the result of the last cycle; the caller of hr__kueue_cycle_start must free it */
  cJSON *reasons, *events, *preempted, *skipped, *recomputed, *reserved, *admitted;
  cJSON *refused_events; /* events that replace the evictions if the API refuses them; NULL: no eviction */
};

/* Reads the workloads of a case and queues those that wait. Returns false if memory is exhausted. */
bool hr__kueue_cycle_start(struct hr__kueue_cycle_run *run, struct hr__kueue_case *self);
/* Runs a cycle with the heads of all active queues and the workloads that wait for a second pass. Replaces `actual`.
   Returns false if memory is exhausted. */
bool hr__kueue_cycle_step(struct hr__kueue_cycle_run *run);
/* Gives quota to the workloads that the last cycle admitted: adds their usage to the tree of quotas. Returns false if
   memory is exhausted. */
bool hr__kueue_cycle_take_effect(struct hr__kueue_cycle_run *run);

/* ---- Kinds of cases ------------------------------------------------------------------------------------ */

/* A kind of cases, and the function that runs a case of this kind. `prepare` adds objects to a copy of the input before
   it is read; NULL: nothing is added. */
struct hr__kueue_case_kind {
  const char *kind;
  void (*run)(struct hr__kueue_case *self);
  void (*prepare)(cJSON *input);
};
/* The kinds of each file; the last row has NULL as its kind. */
extern const struct hr__kueue_case_kind hr__kueue_flavor_kinds[], hr__kueue_life_kinds[], hr__kueue_cycle_kinds[],
    hr__kueue_queue_kinds[], hr__kueue_tas_kinds[];

#endif
