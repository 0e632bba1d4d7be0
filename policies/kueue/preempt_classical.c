/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Classical preemption. Candidates of other queues are collected on the way from the queue to the root of its tree, in
 * the parts of the tree that use more than their quota. Where the remaining request fits into the quota of a node, the
 * preemptor has the advantage over everything above it: those candidates can be reclaimed at any priority that the
 * policy allows, even while borrowing.
 *
 * Source: pkg/scheduler/preemption/classical and classical_strategy.go of kubernetes-sigs/kueue.
 */

#include "policies/kueue/preempt.h"
#include "policies/kueue/quota.h"

/* ---- Candidates ---- */

/* How a candidate of another queue without hierarchical advantage is classified. */
static void classify(const struct hr__kueue_preemptor *self, const struct hr__kueue_workload *workload,
                     struct hr__kueue_candidate *candidate) {
  const struct hr__kueue_preemption *rules = &self->world->queues[self->demand.workload->queue].preemption;
  bool above = workload->priority >= self->demand.workload->priority ||
               (rules->has_threshold && workload->priority > rules->threshold);
  candidate->only_without_borrowing = !rules->borrow || above;
  candidate->cause = candidate->only_without_borrowing ? HR__KUEUE_RECLAIM : HR__KUEUE_RECLAIM_WHILE_BORROWING;
}

/* Adds the candidates of a queue that were collected at `ancestor` (HR_NONE: the preemptor's queue). */
static void collect_queue(struct hr__kueue_preemptor *self, uint32_t queue, uint32_t ancestor, bool advantage) {
  const struct hr__kueue_preemption *rules = &self->world->queues[self->demand.workload->queue].preemption;
  enum hr__kueue_policy policy = ancestor == HR_NONE ? rules->within_queue : rules->reclaim;
  for (uint32_t id = self->world->queues[queue].first_admitted; id != HR_NONE;
       id = self->world->workloads[id].next_admitted) {
    const struct hr__kueue_workload *workload = &self->world->workloads[id];
    if (!hr__kueue_demand_uses(self, workload) || !hr__kueue_policy_allows(policy, self->demand.workload, workload))
      continue;
    struct hr__kueue_candidate candidate = {.workload = id, .ancestor = ancestor, .hierarchy = advantage};
    if (ancestor == HR_NONE)
      candidate.cause = HR__KUEUE_IN_QUEUE;
    else if (advantage)
      candidate.cause = HR__KUEUE_RECLAIM;
    else
      classify(self, workload, &candidate);
    self->candidates[self->n_candidates++] = candidate;
  }
}

/* Collects below `node`, without the part `skip` that was visited before. */
static void collect_below(struct hr__kueue_preemptor *self, uint32_t node, uint32_t ancestor, uint32_t skip,
                          bool advantage) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  for (uint32_t i = tree->child_start[node]; i < tree->child_start[node + 1]; i++) {
    uint32_t child = tree->children[i];
    if (child == skip || child == self->demand.workload->queue || hr__kueue_within_nominal(self, child)) continue;
    if (child < tree->n_queues)
      collect_queue(self, child, ancestor, advantage);
    else
      collect_below(self, child, ancestor, skip, advantage);
  }
}

/* Whether the remaining requests fit into the quota of a node. Reduces them by what is free in its local quota. */
static bool fits_quota(struct hr__kueue_preemptor *self, uint32_t node) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  bool fits = true;
  for (uint32_t i = 0; i < self->demand.n_usage; i++) {
    struct hr__kueue_usage *rest = &self->rest[i];
    size_t at = hr__kueue_cell(tree, node, rest->pair);
    fits &= hr__kueue_plus(tree->usage[at], rest->amount) <= tree->subtree[at];
    int64_t left = hr__kueue_minus(rest->amount, hr__kueue_local_available(tree, node, rest->pair));
    rest->amount = left > 0 ? left : 0;
  }
  return fits;
}

static void collect(struct hr__kueue_preemptor *self) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  uint32_t queue = self->demand.workload->queue;
  const struct hr__kueue_preemption *rules = &self->world->queues[queue].preemption;
  if (rules->within_queue != HR__KUEUE_POLICY_NEVER) collect_queue(self, queue, HR_NONE, false);
  if (tree->parent[queue] == HR_NONE || rules->reclaim == HR__KUEUE_POLICY_NEVER) return;
  for (uint32_t i = 0; i < self->demand.n_usage; i++) self->rest[i] = self->demand.usage[i];
  bool advantage = fits_quota(self, queue);
  uint32_t visited = queue;
  for (uint32_t node = tree->parent[queue]; node != HR_NONE; node = tree->parent[node]) {
    collect_below(self, node, node, visited, advantage);
    bool fits = fits_quota(self, node);
    advantage |= fits;
    visited = node;
  }
}

/* ---- Attempts ---- */

/* Whether a candidate may be preempted now: its queue, and the cohorts up to where it was collected, still use more
   than their quota. */
static bool is_valid(const struct hr__kueue_preemptor *self, const struct hr__kueue_candidate *candidate, bool borrow) {
  if (candidate->ancestor == HR_NONE) return true;
  if (borrow && candidate->only_without_borrowing) return false;
  uint32_t node = self->world->workloads[candidate->workload].queue;
  for (; node != candidate->ancestor; node = self->world->tree.parent[node])
    if (hr__kueue_within_nominal(self, node)) return false;
  return true;
}

static bool attempt(struct hr__kueue_preemptor *self, bool borrow) {
  bool fits = false;
  for (uint32_t i = 0; i < self->n_candidates && !fits; i++) {
    const struct hr__kueue_candidate *candidate = &self->candidates[i];
    if (!is_valid(self, candidate, borrow)) continue;
    hr__kueue_target_take(self, candidate->workload, candidate->cause);
    fits = hr__kueue_demand_fits(self, borrow);
  }
  hr__kueue_targets_settle(self, fits, borrow);
  return fits;
}

/* Whether the queue uses less than its nominal quota of all pairs of the demand. */
static bool is_under_nominal(const struct hr__kueue_preemptor *self) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  for (uint32_t i = 0; i < self->demand.n_pairs; i++) {
    size_t at = hr__kueue_cell(tree, self->demand.workload->queue, self->demand.pairs[i]);
    if (tree->usage[at] >= tree->nominal[at]) return false;
  }
  return true;
}

void hr__kueue_preempt_classical(struct hr__kueue_preemptor *self) {
  collect(self);
  hr__kueue_candidates_sort(self);
  bool foreign = false, hierarchy = false;
  for (uint32_t i = 0; i < self->n_candidates; i++) {
    foreign |= self->candidates[i].ancestor != HR_NONE;
    hierarchy |= self->candidates[i].hierarchy;
  }
  bool forbidden = !self->world->queues[self->demand.workload->queue].preemption.borrow;
  if (!foreign || (forbidden && !is_under_nominal(self))) {
    attempt(self, true);
    return;
  }
  bool first = !(forbidden && !hierarchy);
  if (!attempt(self, first)) attempt(self, !first);
}
