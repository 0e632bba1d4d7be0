/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules of kube-scheduler: fit and scores of nodes, and preemption. */

#include "policies/kubernetes/kubernetes.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- Nodes --------------------------------------------------------------------------------------------- */

/* The resource plug-ins of kube-scheduler: whether a pod fits on a node, and the score of the node. Divisions are
   integer divisions, as in the original, except in the balanced score and in the final division of
   HR__KUBE_REQUESTED_TO_CAPACITY_RATIO. Source: see kubernetes.h. */

/* The requests that most scores assume for a container that does not request CPU or memory: 100 millicores, 200 MiB. */
static const int64_t scored_defaults[2] = {100, INT64_C(200) << 20};

/* ---- Requests ---- */

static int64_t named(int64_t amount, int64_t otherwise) {
  return amount == HR__KUBE_UNNAMED ? otherwise : amount;
}

/* The request of a pod for one resource. `otherwise`: the amount for a container that does not request the resource. */
static int64_t sum_of(uint32_t resource, int64_t otherwise, const int64_t *const *containers, uint32_t n_containers,
                      const int64_t *const *init_containers, uint32_t n_init_containers, const int64_t *overhead) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < n_containers; i++) sum += named(containers[i][resource], otherwise);
  for (uint32_t i = 0; i < n_init_containers; i++) {
    int64_t amount = named(init_containers[i][resource], otherwise);
    if (sum < amount) sum = amount;
  }
  return sum + (overhead ? named(overhead[resource], 0) : 0);
}

void hr__kube_request_sum(struct hr__kube_request *request, uint32_t n_resources, const int64_t *const *containers,
                          uint32_t n_containers, const int64_t *const *init_containers, uint32_t n_init_containers,
                          const int64_t *overhead) {
  for (uint32_t r = 0; r < n_resources; r++)
    request->amounts[r] = sum_of(r, 0, containers, n_containers, init_containers, n_init_containers, overhead);
  for (uint32_t r = 0; r < 2; r++)
    request->scored[r] =
        sum_of(r, scored_defaults[r], containers, n_containers, init_containers, n_init_containers, overhead);
}

/* ---- Fit ---- */

uint32_t hr__kube_fit(const struct hr__kube_node *node, const struct hr__kube_request *request, uint32_t n_resources,
                      const bool *ignored, struct hr__kube_shortage *shortages) {
  uint32_t count = 0;
  if (node->n_pods + 1 > node->allowed_pods) {
    if (shortages) shortages[count] = (struct hr__kube_shortage){n_resources, 1, node->n_pods, node->allowed_pods};
    count++;
  }
  for (uint32_t r = 0; r < n_resources; r++) {
    int64_t requested = request->amounts[r];
    if (requested == 0 || (ignored && ignored[r]) || requested <= node->allocatable[r] - node->used[r]) continue;
    if (shortages) shortages[count] = (struct hr__kube_shortage){r, requested, node->used[r], node->allocatable[r]};
    count++;
  }
  return count;
}

/* ---- Scores ---- */

int64_t hr__kube_shape(const struct hr__kube_point *points, uint32_t n_points, int64_t scale, int64_t utilization) {
  for (uint32_t i = 0; i < n_points; i++) {
    if (utilization > points[i].utilization) continue;
    if (i == 0) return points[0].score * scale;
    int64_t rise = (points[i].score - points[i - 1].score) * scale;
    int64_t width = points[i].utilization - points[i - 1].utilization;
    return points[i - 1].score * scale + rise * (utilization - points[i - 1].utilization) / width;
  }
  return n_points ? points[n_points - 1].score * scale : 0;
}

/* The score of one resource. `used` includes the pod. */
static int64_t score_of_resource(const struct hr__kube_scoring *scoring, int64_t used, int64_t capacity) {
  switch (scoring->strategy) {
  case HR__KUBE_LEAST_ALLOCATED:
    return used > capacity ? 0 : (capacity - used) * HR__KUBE_MAX_SCORE / capacity;
  case HR__KUBE_MOST_ALLOCATED:
    return (used > capacity ? capacity : used) * HR__KUBE_MAX_SCORE / capacity;
  default:
    break;
  }
  int64_t utilization = used > capacity ? 100 : used * 100 / capacity;
  return hr__kube_shape(scoring->points, scoring->n_points, HR__KUBE_MAX_SCORE / 10, utilization);
}

/* Returns whether a resource counts for the score. It does not if the node has none of it, or if it is an extended
   resource that the pod does not request. */
static bool takes_part(const struct hr__kube_node *node, const struct hr__kube_request *request, uint32_t resource) {
  if (node->allocatable[resource] == 0) return false;
  return resource < HR__KUBE_N_NATIVE || request->amounts[resource] != 0;
}

static int64_t weighted_score(const struct hr__kube_scoring *scoring, const struct hr__kube_node *node,
                              const struct hr__kube_request *request) {
  bool is_ratio = scoring->strategy == HR__KUBE_REQUESTED_TO_CAPACITY_RATIO;
  int64_t sum = 0, weights = 0;
  for (uint32_t i = 0; i < scoring->n_scored; i++) {
    uint32_t r = scoring->resources[i];
    if (!takes_part(node, request, r)) continue;
    int64_t used =
        r <= HR__KUBE_MEMORY ? node->used_scored[r] + request->scored[r] : node->used[r] + request->amounts[r];
    int64_t score = score_of_resource(scoring, used, node->allocatable[r]);
    if (is_ratio && score <= 0) continue;
    sum += score * scoring->weights[i];
    weights += scoring->weights[i];
  }
  if (weights == 0) return 0;
  return is_ratio ? (int64_t)round((double)sum / (double)weights) : sum / weights;
}

/* The fraction of a resource that is used, including the pod; at most 1. */
static double used_share(const struct hr__kube_node *node, const struct hr__kube_request *request, uint32_t resource) {
  double share = (double)(node->used[resource] + request->amounts[resource]) / (double)node->allocatable[resource];
  return share > 1 ? 1 : share;
}

/* 100 minus the standard deviation of the used fractions, in percent. */
static int64_t balanced_score(const struct hr__kube_scoring *scoring, const struct hr__kube_node *node,
                              const struct hr__kube_request *request) {
  double sum = 0, first = 0, second = 0, deviation = 0;
  uint32_t count = 0;
  for (uint32_t i = 0; i < scoring->n_scored; i++) {
    if (!takes_part(node, request, scoring->resources[i])) continue;
    double share = used_share(node, request, scoring->resources[i]);
    if (count == 0) first = share;
    if (count == 1) second = share;
    sum += share;
    count++;
  }
  if (count == 2) deviation = fabs((first - second) / 2);
  if (count > 2) {
    double mean = sum / count, squares = 0;
    for (uint32_t i = 0; i < scoring->n_scored; i++) {
      if (!takes_part(node, request, scoring->resources[i])) continue;
      double share = used_share(node, request, scoring->resources[i]);
      squares += (share - mean) * (share - mean);
    }
    deviation = sqrt(squares / count);
  }
  return (int64_t)((1 - deviation) * HR__KUBE_MAX_SCORE);
}

int64_t hr__kube_score(const struct hr__kube_scoring *scoring, const struct hr__kube_node *node,
                       const struct hr__kube_request *request) {
  return scoring->strategy == HR__KUBE_BALANCED_ALLOCATION ? balanced_score(scoring, node, request)
                                                           : weighted_score(scoring, node, request);
}

/* ---- Preemption ---------------------------------------------------------------------------------------- */

/* The default preemption of kube-scheduler. On one node, all pods of lower priority are removed. Then each of them is
   put back if the preemptor still fits beside it: first the pods whose eviction would violate a disruption budget, then
   the remaining pods, in both cases the most important ones first. The pods that are not put back are the victims.
   Source: see kubernetes.h. */

bool hr__kube_may_preempt(const struct hr__kube_pod_state *pod, const struct hr__kube_pod_state *pods,
                          const uint32_t *on_node, uint32_t n_on_node, bool node_is_unsuitable) {
  if (pod->never_preempts) return false;
  if (!pod->is_nominated || node_is_unsuitable) return true;
  for (uint32_t i = 0; i < n_on_node; i++)
    if (pods[on_node[i]].is_terminating && pods[on_node[i]].priority < pod->priority) return false;
  return true;
}

/* ---- Victims on one node ---- */

static bool is_more_important(const struct hr__kube_pod_state *a, const struct hr__kube_pod_state *b) {
  return a->priority != b->priority ? a->priority > b->priority : a->start < b->start;
}

/* Moves the pods of lower priority to the front of the list, the most important first, and returns their number. */
static uint32_t sort_lower(const struct hr__kube_pod_state *pods, int32_t priority, uint32_t *list, uint32_t n_list) {
  uint32_t n_lower = 0;
  for (uint32_t i = 0; i < n_list; i++) {
    uint32_t pod = list[i];
    if (pods[pod].priority >= priority) continue;
    list[i] = list[n_lower]; // a pod of higher priority, or the pod itself
    uint32_t at = n_lower++;
    for (; at > 0 && is_more_important(&pods[pod], &pods[list[at - 1]]); at--) list[at] = list[at - 1];
    list[at] = pod;
  }
  return n_lower;
}

/* Counts the eviction of one more pod, and returns whether it violates a disruption budget. `spent` has one count per
   budget. */
static bool violates(const struct hr__kube_preemption *preemption, const struct hr__kube_pod_state *pod,
                     uint32_t *spent) {
  bool violated = false;
  for (uint32_t b = 0; b < preemption->n_budgets && b < 32; b++) {
    if (!(pod->budgets >> b & 1) || (pod->exempted >> b & 1)) continue;
    violated |= ++spent[b] > (preemption->allowance[b] > 0 ? preemption->allowance[b] : 0);
  }
  return violated;
}

/* Puts each pod back if the preemptor still fits beside it, else adds the pod to the victims. `violating_bits` has one
   bit per pod of the list. Only pods with a bit equal to `violating` are considered. */
static void put_back(const struct hr__kube_preemption *preemption, const struct hr__kube_pod_state *preemptor,
                     struct hr__kube_node *node, const uint32_t *list, uint32_t n_list, const uint32_t *violating_bits,
                     bool violating, struct hr__kube_candidate *candidate) {
  for (uint32_t i = 0; i < n_list; i++) {
    if ((violating_bits[i / 32] >> i % 32 & 1) != violating) continue;
    const struct hr__kube_request *request = &preemption->pods[list[i]].request;
    hr__kube_node_add(node, request, preemption->n_resources, 1);
    if (hr__kube_fit(node, &preemptor->request, preemption->n_resources, preemption->ignored, NULL) == 0) continue;
    hr__kube_node_add(node, request, preemption->n_resources, -1);
    candidate->victims[candidate->n_victims++] = list[i];
    candidate->n_violations += violating;
  }
}

bool hr__kube_find_victims(const struct hr__kube_preemption *preemption, const struct hr__kube_pod_state *pod,
                           struct hr__kube_node *node, uint32_t *on_node, uint32_t n_on_node,
                           struct hr__kube_candidate *candidate) {
  enum { MAX_PODS = 4096 };
  candidate->n_victims = candidate->n_violations = 0;
  uint32_t n_lower = sort_lower(preemption->pods, pod->priority, on_node, n_on_node);
  if (n_lower == 0 || n_lower > MAX_PODS) return false;
  uint32_t spent[32] = {0}, violating_bits[MAX_PODS / 32] = {0};
  for (uint32_t i = 0; i < n_lower; i++)
    hr__kube_node_add(node, &preemption->pods[on_node[i]].request, preemption->n_resources, -1);
  bool fits = hr__kube_fit(node, &pod->request, preemption->n_resources, preemption->ignored, NULL) == 0;
  if (fits) {
    for (uint32_t i = 0; i < n_lower; i++)
      if (violates(preemption, &preemption->pods[on_node[i]], spent)) violating_bits[i / 32] |= UINT32_C(1) << i % 32;
    put_back(preemption, pod, node, on_node, n_lower, violating_bits, true, candidate);
    put_back(preemption, pod, node, on_node, n_lower, violating_bits, false, candidate);
  }
  const uint32_t *removed = fits ? candidate->victims : on_node;
  uint32_t n_removed = fits ? candidate->n_victims : n_lower;
  for (uint32_t i = 0; i < n_removed; i++)
    hr__kube_node_add(node, &preemption->pods[removed[i]].request, preemption->n_resources, 1);
  return fits;
}

/* ---- The choice among nodes ---- */

/* The numbers by which candidates are compared, in this order. The smaller number is better. */
struct rank {
  int64_t violations, highest_priority, priority_sum, n_victims, start;
};

static struct rank rank_of(const struct hr__kube_candidate *candidate, const struct hr__kube_pod_state *pods) {
  struct rank rank = {
      .violations = candidate->n_violations, .highest_priority = INT32_MIN, .n_victims = candidate->n_victims};
  int64_t earliest = INT64_MAX;
  for (uint32_t i = 0; i < candidate->n_victims; i++) {
    const struct hr__kube_pod_state *pod = &pods[candidate->victims[i]];
    rank.priority_sum += (int64_t)pod->priority + INT32_MAX + 1; // so that negative priorities count too
    if (pod->priority > rank.highest_priority) {
      rank.highest_priority = pod->priority;
      earliest = pod->start;
    } else if (pod->priority == rank.highest_priority && pod->start < earliest) {
      earliest = pod->start;
    }
  }
  rank.start = -earliest;
  return rank;
}

static bool is_better(const struct rank *a, const struct rank *b) {
  if (a->violations != b->violations) return a->violations < b->violations;
  if (a->highest_priority != b->highest_priority) return a->highest_priority < b->highest_priority;
  if (a->priority_sum != b->priority_sum) return a->priority_sum < b->priority_sum;
  if (a->n_victims != b->n_victims) return a->n_victims < b->n_victims;
  return a->start < b->start;
}

uint32_t hr__kube_best_candidate(const struct hr__kube_candidate *candidates, uint32_t n_candidates,
                                 const struct hr__kube_pod_state *pods) {
  uint32_t best = 0;
  struct rank best_rank = rank_of(&candidates[0], pods);
  for (uint32_t i = 1; i < n_candidates; i++) {
    struct rank rank = rank_of(&candidates[i], pods);
    if (!is_better(&rank, &best_rank)) continue;
    best = i;
    best_rank = rank;
  }
  return best;
}
