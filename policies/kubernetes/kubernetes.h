/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUBERNETES_KUBERNETES_H
#define HR_POLICIES_KUBERNETES_KUBERNETES_H

/*
 * The decisions of kube-scheduler for one pod: on which nodes it fits, the scores of these nodes, and which pods it
 * preempts. The functions work on a snapshot of nodes and pods, and allocate nothing.
 *
 * Resources are numbered. The first three are CPU (millicores), memory and ephemeral storage (bytes); all others count
 * items. An amount is an int64_t, and a list of amounts has one entry per resource.
 *
 * Source: pkg/scheduler/framework/plugins/{noderesources,defaultpreemption} and pkg/scheduler/framework/preemption of
 * kubernetes/kubernetes.
 */

#include <stdbool.h>
#include <stdint.h>

enum { HR__KUBE_CPU, HR__KUBE_MEMORY, HR__KUBE_STORAGE, HR__KUBE_N_NATIVE };
/* The amount of a resource that a container does not request. */
#define HR__KUBE_UNNAMED INT64_C(-1)
/* The highest score of a node, and the highest weight of a resource. */
enum { HR__KUBE_MAX_SCORE = 100 };

/* ---- The snapshot ---- */

/* The request of a pod. */
struct hr__kube_request {
  int64_t *amounts; /* [n_resources] as requested; used for fitting and for the balanced score */
  /* CPU and memory for the other scores, with defaults for containers that do not request them */
  int64_t scored[2];
};

struct hr__kube_pod_state {
  struct hr__kube_request request;
  int64_t start; /* of the pod, in any unit; only the order matters */
  int32_t priority;
  uint32_t node;     /* on which it runs, or for which it is nominated */
  uint32_t budgets;  /* bit mask of the disruption budgets that select the pod */
  uint32_t exempted; /* bit mask of those `budgets` that have already counted its disruption */
  bool is_terminating;
  bool never_preempts; /* its preemption policy is Never */
  bool is_nominated;   /* `node` was nominated by an earlier preemption */
};

struct hr__kube_node {
  const int64_t *allocatable; /* [n_resources] */
  int64_t *used;              /* [n_resources] sum over its pods */
  int64_t used_scored[2];
  int64_t allowed_pods, n_pods;
};

/* Adds (sign 1) or removes (sign -1) the request of a pod to or from a node. */
static inline void hr__kube_node_add(struct hr__kube_node *node, const struct hr__kube_request *request,
                                     uint32_t n_resources, int sign) {
  for (uint32_t r = 0; r < n_resources; r++) node->used[r] += sign * request->amounts[r];
  for (unsigned r = 0; r < 2; r++) node->used_scored[r] += sign * request->scored[r];
  node->n_pods += sign;
}

/* Computes the request of a pod: the sum over its containers, at least the amount of each init container, plus the
   overhead. `containers`, `init_containers` and `overhead` (NULL: none) are lists of amounts; entries may be
   HR__KUBE_UNNAMED. The caller has allocated `request->amounts`. */
void hr__kube_request_sum(struct hr__kube_request *request, uint32_t n_resources, const int64_t *const *containers,
                          uint32_t n_containers, const int64_t *const *init_containers, uint32_t n_init_containers,
                          const int64_t *overhead);

/* ---- Fit: kubernetes.c ---- */

/* A resource of which a node has too little. */
struct hr__kube_shortage {
  uint32_t resource; /* n_resources: the number of pods */
  int64_t requested, used, capacity;
};

/* Returns the number of shortages of a node for a pod; 0: the pod fits. Writes them to `shortages` [n_resources + 1],
   unless it is NULL. `ignored` [n_resources] marks resources that are not checked; NULL: none. */
uint32_t hr__kube_fit(const struct hr__kube_node *node, const struct hr__kube_request *request, uint32_t n_resources,
                      const bool *ignored, struct hr__kube_shortage *shortages);

/* ---- Scores: kubernetes.c ---- */

enum hr__kube_strategy {
  HR__KUBE_LEAST_ALLOCATED,
  HR__KUBE_MOST_ALLOCATED,
  HR__KUBE_REQUESTED_TO_CAPACITY_RATIO,
  HR__KUBE_BALANCED_ALLOCATION
};

/* A point of the shape function of HR__KUBE_REQUESTED_TO_CAPACITY_RATIO. */
struct hr__kube_point {
  int64_t utilization, score;
};

struct hr__kube_scoring {
  enum hr__kube_strategy strategy;
  const uint32_t *resources; /* [n_scored] */
  const int64_t *weights;    /* [n_scored] 1 to 100; unused by the balanced score */
  uint32_t n_scored;
  const struct hr__kube_point *points; /* [n_points] by increasing utilization; scores of 0 to 10 */
  uint32_t n_points;
};

/* Returns whether the weight of a resource is allowed. */
static inline bool hr__kube_weight_is_valid(int64_t weight) {
  return weight >= 1 && weight <= HR__KUBE_MAX_SCORE;
}

/* The value of a shape function, which is linear between its points (with integer division) and constant outside.
   Scores are multiplied by `scale`. */
int64_t hr__kube_shape(const struct hr__kube_point *points, uint32_t n_points, int64_t scale, int64_t utilization);

/* The score of a node for a pod, 0 to 100. */
int64_t hr__kube_score(const struct hr__kube_scoring *scoring, const struct hr__kube_node *node,
                       const struct hr__kube_request *request);

/* ---- Preemption: kubernetes.c ---- */

/* A node on which a pod would fit after its victims are evicted. */
struct hr__kube_candidate {
  uint32_t node;
  uint32_t n_victims, n_violations; /* victims, and those whose eviction violates a disruption budget */
  /* [n_victims] indices of pods: first the pods that a violated budget protects, then the remaining ones; in both
     cases, the most important pod is first */
  uint32_t *victims;
};

/* The input of preemption: the pods of the snapshot, and the disruption budgets. */
struct hr__kube_preemption {
  const struct hr__kube_pod_state *pods;
  uint32_t n_resources;
  const bool *ignored;      /* [n_resources] as for hr__kube_fit */
  const int64_t *allowance; /* [n_budgets] disruptions that each budget still allows; at most 32 budgets */
  uint32_t n_budgets;
};

/* Returns whether a pod may preempt others. It must not preempt in two cases:
   - Its preemption policy is Never.
   - A node was nominated for it, this node is still suitable, and a pod of lower priority is terminating there.
   `on_node` lists the pods of the nominated node. */
bool hr__kube_may_preempt(const struct hr__kube_pod_state *pod, const struct hr__kube_pod_state *pods,
                          const uint32_t *on_node, uint32_t n_on_node, bool node_is_unsuitable);

/* Finds the victims of a pod on one node. `on_node` lists the pods of the node; it is reordered. `node` is modified
   during the call, but unchanged afterwards. `candidate->victims` has room for n_on_node entries; `candidate->node` is
   not set. Returns false if the pod does not fit even without all pods of lower priority. Returns false, too, if the
   node has no pods of lower priority, or more than 4096. */
bool hr__kube_find_victims(const struct hr__kube_preemption *preemption, const struct hr__kube_pod_state *pod,
                           struct hr__kube_node *node, uint32_t *on_node, uint32_t n_on_node,
                           struct hr__kube_candidate *candidate);

/* The number of candidates after which the search stops: a percentage of the nodes, at least `absolute`, at most all
   nodes. */
static inline uint32_t hr__kube_candidates_wanted(uint32_t n_nodes, uint32_t percentage, uint32_t absolute) {
  uint64_t wanted = (uint64_t)n_nodes * percentage / 100;
  if (wanted < absolute) wanted = absolute;
  return wanted < n_nodes ? (uint32_t)wanted : n_nodes;
}

/* The number of candidates that the search has found so far, with and without violations of budgets. The search visits
   nodes from a random offset on. It stops when it has found at least `wanted` candidates and one of them violates no
   budget. Of each sort, the first `wanted` candidates are stored. */
struct hr__kube_search {
  uint32_t wanted, n_violating, n_clean;
};

/* Counts a candidate, and returns whether the caller must store it. */
static inline bool hr__kube_search_keeps(struct hr__kube_search *search, const struct hr__kube_candidate *candidate) {
  uint32_t *count = candidate->n_violations ? &search->n_violating : &search->n_clean;
  return ++*count <= search->wanted;
}

static inline bool hr__kube_search_is_done(const struct hr__kube_search *search) {
  return search->n_clean > 0 && search->n_clean + search->n_violating >= search->wanted;
}

/* Returns the index of the best candidate; `n_candidates` is at least 1. The best candidate has the fewest violations
   of budgets. Of equal candidates, the better one has, in this order: the lower priority of its most important victim,
   the smaller sum of priorities, fewer victims, the later start, the lower index. The start of a candidate is the
   earliest start of its victims with the highest priority. */
uint32_t hr__kube_best_candidate(const struct hr__kube_candidate *candidates, uint32_t n_candidates,
                                 const struct hr__kube_pod_state *pods);

#endif
