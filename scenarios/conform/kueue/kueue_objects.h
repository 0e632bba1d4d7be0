/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CONFORM_KUEUE_OBJECTS_H
#define HR_SCENARIOS_CONFORM_KUEUE_OBJECTS_H

/* Reads the objects of a Kueue case into a world of policies/kueue,
   and writes objects back to JSON. All memory belongs to the arena of the case. After a failed allocation
   `verdict->no_memory` is set and the functions return NULL, false or empty objects. */

#include "policies/kueue/cycle.h"
#include "policies/kueue/kueue.h"
#include "policies/kueue/tas.h"
#include "scenarios/conform/conform.h"

#include <math.h>
#include <string.h>

/* Sorted unique names. */
struct hr__kueue_names {
  const char **items;
  uint32_t count, capacity;
};

/* The data that the reader needs besides the world. */
struct hr__kueue_case {
  struct hr__verdict *verdict;
  const cJSON *input;
  struct hr__kueue_world world;
  struct hr__kueue_names resources, flavors, queues, cohorts, uids;
  const cJSON **queue_json; /* the ClusterQueues in the order of the case */
  uint32_t n_queue_json;
  const cJSON **workload_json; /* by workload */
  const char *requeuing;       /* waitForPodsReady's requeuingStrategy.timestamp: "Eviction" or "Creation" */
};

/* Runs the case of a kind of topology-aware scheduling: kinds that begin with "tas.". Returns false if the kind is
   unknown. */
bool hr__conform_kueue_tas(const cJSON *whole, const char *kind, struct hr__verdict *verdict);
/* Fills `world->topology` from the members "nodes", "pods" and "topologies" of a case, after its workloads were read
   and before they are listed. Does nothing if no flavor has a topology. Returns false if memory is exhausted. */
bool hr__kueue_case_topology(struct hr__kueue_case *self);

/* ---- Reading ---- */

/* Reads the names, flavors, queues, cohorts, local queues, gates and fair sharing of the case. `input` may have any of
   "clusterQueues" (or one "cq"), "cohorts", "resourceFlavors", "localQueues", "featureGates", "fairSharing". */
bool hr__kueue_case_begin(struct hr__kueue_case *self, const cJSON *whole, struct hr__verdict *verdict);
/* Reads lists of workloads (NULL lists are skipped) into `world.workloads`, in this order, and the topology. Workloads
   with quota are listed in their queue; their usage counts in the tree and on the nodes. */
bool hr__kueue_case_workloads(struct hr__kueue_case *self, const cJSON *const *lists, uint32_t n_lists);
/* Reads one workload into `out`. */
bool hr__kueue_case_workload(struct hr__kueue_case *self, const cJSON *json, struct hr__kueue_workload *out);
/* Whether the only owner of a workload is a Pod. A group of Pods has several owners, or an annotation. */
bool hr__kueue_case_is_one_pod(const cJSON *workload);
/* Reads a list of pod sets. */
struct hr__kueue_pod_set *hr__kueue_case_pod_sets(struct hr__kueue_case *self, const cJSON *list, uint32_t *count);
/* Reads {resource: amount}. */
struct hr__kueue_amounts hr__kueue_case_amounts(struct hr__kueue_case *self, const cJSON *object);
/* Reads {"flavor/resource": amount}. */
struct hr__kueue_usage *hr__kueue_case_usage(struct hr__kueue_case *self, const cJSON *object, uint32_t *count);
/* Reads a topology assignment {levels, domains}; NULL if it is missing. */
const struct hr__kueue_placement *hr__kueue_case_placement(struct hr__kueue_case *self, const cJSON *json);
struct hr__kueue_labels hr__kueue_case_labels(struct hr__kueue_case *self, const cJSON *object);
struct hr__kueue_taints hr__kueue_case_taints(struct hr__kueue_case *self, const cJSON *list);
/* Reads the requirements of a pod on its nodes from the members of a pod set. */
struct hr__kueue_selector hr__kueue_case_selector(struct hr__kueue_case *self, const cJSON *pod_set);
struct hr__kueue_topology_request hr__kueue_case_topology_request(struct hr__kueue_case *self, const cJSON *json);

/* A member in seconds as microseconds; `fallback` if it is missing. */
static inline int64_t hr__kueue_case_time(const cJSON *object, const char *name, int64_t fallback) {
  double seconds = hr__case_real(object, name, (double)NAN);
  return isnan(seconds) ? fallback : (int64_t)llround(seconds * 1e6);
}

/* The condition of a type in the list "conditions" of a workload with the status "True"; NULL if it is missing. */
const cJSON *hr__kueue_case_condition(const cJSON *workload, const char *type);

/* Reads the flavors that a workload or a variant may use; without a list, it may use all. Names that no flavor of the
   case has are left out. Returns false if memory is exhausted. */
bool hr__kueue_read_allowed(struct hr__kueue_case *self, const cJSON *list, struct hr__kueue_workload *workload);

/* ---- Names ---- */

/* The index of a name; HR_NONE if it is unknown. `name` may be NULL. */
uint32_t hr__kueue_name_find(const struct hr__kueue_names *names, const char *name);
/* The pair of "flavor/resource"; HR_NONE if one of them is unknown. */
uint32_t hr__kueue_case_pair(const struct hr__kueue_case *self, const char *text);

/* The workload "namespace/name"; HR_NONE if it is unknown. */
static inline uint32_t hr__kueue_case_find_workload(const struct hr__kueue_case *self, const char *key) {
  for (uint32_t i = 0; i < self->world.n_workloads; i++)
    if (strcmp(self->world.workloads[i].name, key) == 0) return i;
  return HR_NONE;
}

/* "flavor/resource" of a pair, in the memory of the case. */
const char *hr__kueue_case_pair_name(const struct hr__kueue_case *self, uint32_t pair);
/* "namespace/name" of an object, in the memory of the case. */
const char *hr__kueue_case_key(const struct hr__kueue_case *self, const cJSON *object);

/* ---- Writing ---- */

/* {"levels": [..], "domains": [{"values": [..], "count": n}]} */
cJSON *hr__kueue_placement_json(const struct hr__kueue_placement *placement);
/* The text of a mode or a reason in the vectors. */
const char *hr__kueue_mode_name(enum hr__kueue_mode mode);
const char *hr__kueue_reason_name(enum hr__kueue_reason reason);

/* ---- Cycles (kueue_cycle.c) ---------------------------------------------------------------------------- */

/* Scheduling cycles over the workloads of a Kueue case, for cases of one and of several cycles. */

struct hr__kueue_cycle_run {
  struct hr__kueue_case self;
  struct hr__kueue_cycle cycle;
  struct hr__kueue_pending pending;
  uint32_t *heads;
  cJSON *actual; /* the result of the last cycle; owned by the caller of hr__kueue_cycle_start */
  cJSON *reasons, *events, *preempted, *skipped, *recomputed, *reserved, *admitted;
  cJSON *refused_events; /* as `events`, if the API refuses the evictions; NULL: no eviction */
};

/* Reads a case and queues its waiting workloads. Returns false if memory is exhausted or the case is malformed. */
bool hr__kueue_cycle_start(struct hr__kueue_cycle_run *run, const cJSON *whole, struct hr__verdict *verdict);
/* Runs a cycle with the heads of all active queues. Returns false if memory is exhausted. */
bool hr__kueue_cycle_step(struct hr__kueue_cycle_run *run);
/* Reserves the quota of the workloads that the last cycle admitted. Returns false if memory is exhausted. */
bool hr__kueue_cycle_take_effect(struct hr__kueue_cycle_run *run);

/* ---- Kinds of cases ------------------------------------------------------------------------------------ */

/* A kind of case, and the function that runs it. */
struct hr__kueue_case_kind {
  const char *kind;
  hr__conform_run_case *run;
};
/* The kinds of each file; the last row has no kind. */
extern const struct hr__kueue_case_kind hr__kueue_flavor_kinds[], hr__kueue_life_kinds[], hr__kueue_cycle_kinds[],
    hr__kueue_queue_kinds[];

#endif
