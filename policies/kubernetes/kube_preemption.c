/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The default preemption of kube-scheduler. On one node, all pods of lower priority are removed first; then those that
   still fit are put back, the most important first. Pods whose eviction would violate a disruption budget are put back
   before the others. What stays out are the victims. Source: see kubernetes.h. */

#include "policies/kubernetes/kubernetes.h"

#include <stddef.h>

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

/* Returns whether evicting one more pod violates a budget, and counts it. `spent` has one count per budget. */
static bool violates(const struct hr__kube_preemption *preemption, const struct hr__kube_pod_state *pod,
                     uint32_t *spent) {
  bool violated = false;
  for (uint32_t b = 0; b < preemption->n_budgets && b < 32; b++) {
    if (!(pod->budgets >> b & 1) || (pod->exempted >> b & 1)) continue;
    violated |= ++spent[b] > (preemption->allowance[b] > 0 ? preemption->allowance[b] : 0);
  }
  return violated;
}

/* Puts the pods of one kind back if the preemptor still fits, and adds the others to the victims. `is_violating` has
   one entry per pod of the list. */
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
    for (uint32_t i = 0; i < candidate->n_victims; i++)
      hr__kube_node_add(node, &preemption->pods[candidate->victims[i]].request, preemption->n_resources, 1);
  } else {
    for (uint32_t i = 0; i < n_lower; i++)
      hr__kube_node_add(node, &preemption->pods[on_node[i]].request, preemption->n_resources, 1);
  }
  return fits;
}

/* ---- The choice among nodes ---- */

/* What the choice compares, as numbers of which the smaller wins, in this order. */
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
