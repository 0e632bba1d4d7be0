/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preemption: the classical algorithm, the one with fair sharing, and their common part (policies, the order of
 * candidates, the test whether the demand fits, and the minimal set of targets).
 *
 * Targets are selected one after the other, and their usage is removed from the tree and the nodes, until the demand
 * fits. Then targets that are not needed are removed from the selection, from the last but one to the first. Invariant:
 * after a preemption was computed, the usage is as before.
 *
 * Source: pkg/scheduler/preemption of kubernetes-sigs/kueue (preemption.go, common/, preemption_oracle.go).
 */

#include "policies/kueue/cycle.h"

#include "policies/kueue/kueue.h"

#include <string.h>

/* ---- Classical preemption ------------------------------------------------------------------------------ */

/*
 * Classical preemption. Here, a node is a node of the tree: a queue or a cohort. Candidates of other queues are
 * collected on the way from the queue to the root of its tree, from nodes that use more than their quota. At each node
 * of the way, the request is reduced by the quota that is free there; `rest` is what remains. If the rest fits into the
 * quota of a node, the preemptor has the hierarchical advantage over all candidates that are collected above this node.
 * Such candidates may be preempted even if the preemptor borrows. If it borrows, others need a lower priority that is
 * not above the threshold, and the queue must allow such preemption.
 *
 * Source: pkg/scheduler/preemption/classical and classical_strategy.go of kubernetes-sigs/kueue.
 */

/* ---- Candidates ---- */

/* Classifies a candidate of another queue over which the preemptor has no hierarchical advantage. Sets its cause, and
   whether it may be preempted only if the preemptor does not borrow. */
static void classify(const struct hr__kueue_preemptor *self, const struct hr__kueue_workload *workload,
                     struct hr__kueue_candidate *candidate) {
  const struct hr__kueue_preemption *rules = &self->world->queues[self->demand.workload->queue].preemption;
  bool above = workload->priority >= self->demand.workload->priority ||
               (rules->has_threshold && workload->priority > rules->threshold);
  candidate->only_without_borrowing = !rules->borrow || above;
  candidate->cause = candidate->only_without_borrowing ? HR__KUEUE_RECLAIM : HR__KUEUE_RECLAIM_WHILE_BORROWING;
}

static bool demand_uses(const struct hr__kueue_preemptor *self, const struct hr__kueue_workload *candidate) {
  for (uint32_t i = 0; i < candidate->n_usage; i++)
    for (uint32_t k = 0; k < self->demand.n_pairs; k++)
      if (candidate->usage[i].pair == self->demand.pairs[k]) return true;
  return false;
}

/* Adds the candidates of a queue. `ancestor`: the cohort at which they are collected; HR_NONE: the preemptor's own
   queue, or fair sharing, which does not need it. `advantage`: the preemptor has the hierarchical advantage over
   them. */
static void collect_queue(struct hr__kueue_preemptor *self, uint32_t queue, enum hr__kueue_policy policy,
                          uint32_t ancestor, bool advantage) {
  for (uint32_t id = self->world->queues[queue].first_admitted; id != HR_NONE;
       id = self->world->workloads[id].next_admitted) {
    const struct hr__kueue_workload *workload = &self->world->workloads[id];
    if (!demand_uses(self, workload) || !hr__kueue_policy_allows(policy, self->demand.workload, workload)) continue;
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

/* Whether the node uses at most its quota of all flavors and resources of the demand. */
static bool is_within_nominal(const struct hr__kueue_preemptor *self, uint32_t node) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  for (uint32_t i = 0; i < self->demand.n_pairs; i++) {
    size_t at = hr__kueue_cell(tree, node, self->demand.pairs[i]);
    if (tree->usage[at] > tree->subtree[at]) return false;
  }
  return true;
}

/* Collects the candidates below `node`, except those of the subtree `skip`, which was visited before. `advantage`: the
   preemptor has the hierarchical advantage over them. */
static void collect_below(struct hr__kueue_preemptor *self, uint32_t node, uint32_t ancestor, uint32_t skip,
                          bool advantage) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  for (uint32_t i = tree->child_start[node]; i < tree->child_start[node + 1]; i++) {
    uint32_t child = tree->children[i];
    if (child == skip || child == self->demand.workload->queue || is_within_nominal(self, child)) continue;
    if (child < tree->n_queues)
      collect_queue(self, child, self->world->queues[self->demand.workload->queue].preemption.reclaim, ancestor,
                    advantage);
    else
      collect_below(self, child, ancestor, skip, advantage);
  }
}

/* Whether the remaining requests (`rest`) fit into the quota of a node. Then reduces them by the free amount of its
   local quota. */
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
  if (rules->within_queue != HR__KUEUE_POLICY_NEVER) collect_queue(self, queue, rules->within_queue, HR_NONE, false);
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
   than their quota. `borrow`: the preemptor may borrow. */
static bool is_valid(const struct hr__kueue_preemptor *self, const struct hr__kueue_candidate *candidate, bool borrow) {
  if (candidate->ancestor == HR_NONE) return true;
  if (borrow && candidate->only_without_borrowing) return false;
  uint32_t node = self->world->workloads[candidate->workload].queue;
  for (; node != candidate->ancestor; node = self->world->tree.parent[node])
    if (is_within_nominal(self, node)) return false;
  return true;
}

/* Whether the demand fits now. `borrow`: the queue may borrow. */
static bool demand_fits(struct hr__kueue_preemptor *self, bool borrow) {
  const struct hr__kueue_demand *demand = &self->demand;
  const struct hr__kueue_tree *tree = &self->world->tree;
  uint32_t queue = demand->workload->queue;
  for (uint32_t i = 0; i < demand->n_usage; i++) {
    const struct hr__kueue_usage *usage = &demand->usage[i];
    if (!borrow && hr__kueue_borrows_with(tree, queue, usage->pair, usage->amount)) return false;
    if (usage->amount > hr__kueue_available(tree, queue, usage->pair)) return false;
  }
  const struct hr__kueue_topology_calls *topology = &self->world->topology;
  if (!demand->assignment || !topology->find || !hr__kueue_has_gate(self->world, HR__KUEUE_BIT_TOPOLOGY)) return true;
  topology->find(topology->self, self->world, demand->workload, demand->assignment, false, &self->placements);
  return self->placements.failed == HR_NONE;
}

/* Adds a target and removes its usage. */
static void take_target(struct hr__kueue_preemptor *self, uint32_t workload, enum hr__kueue_cause cause) {
  hr__kueue_change_usage(self->world, workload, -1);
  self->targets[self->n_targets++] = (struct hr__kueue_target){workload, cause};
}

/* Removes targets that are not needed from the selection; if the demand does not fit (`fits` is false), removes all.
   Restores the usage of all targets. `borrow`: the queue may borrow. */
static void settle_targets(struct hr__kueue_preemptor *self, bool fits, bool borrow) {
  for (uint32_t i = self->n_targets; fits && i-- > 0;) {
    if (i + 1 >= self->n_targets) continue; /* the last one was needed */
    hr__kueue_change_usage(self->world, self->targets[i].workload, 1);
    if (demand_fits(self, borrow))
      self->targets[i] = self->targets[--self->n_targets];
    else
      hr__kueue_change_usage(self->world, self->targets[i].workload, -1);
  }
  for (uint32_t i = 0; i < self->n_targets; i++) hr__kueue_change_usage(self->world, self->targets[i].workload, 1);
  if (!fits) self->n_targets = 0;
}

static bool attempt(struct hr__kueue_preemptor *self, bool borrow) {
  bool fits = false;
  for (uint32_t i = 0; i < self->n_candidates && !fits; i++) {
    const struct hr__kueue_candidate *candidate = &self->candidates[i];
    if (!is_valid(self, candidate, borrow)) continue;
    take_target(self, candidate->workload, candidate->cause);
    fits = demand_fits(self, borrow);
  }
  settle_targets(self, fits, borrow);
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

static void preempt_classical(struct hr__kueue_preemptor *self) {
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

/* ---- Fair sharing -------------------------------------------------------------------------------------- */

/*
 * Preemption with fair sharing. The incoming usage counts while shares are compared. From the root of the tree, the
 * child with the highest share is entered until a queue is reached; its first candidate is preempted if the strategy
 * allows it. The strategy compares the shares of the two nodes just below the lowest common ancestor of both queues.
 *
 * Layout: candidates are sorted, and each queue has a list of its candidates in this order (`heads`, `next`). A pruned
 * node will have no more targets. Invariant: every round takes a candidate away or prunes a node, so the loop ends.
 *
 * Source: pkg/scheduler/preemption/fair_strategy.go and fairsharing/ of kubernetes-sigs/kueue.
 */

/* ---- Order of queues ---- */

void hr__kueue_fair_begin(struct hr__kueue_preemptor *self) {
  for (uint32_t i = 0; i < self->world->tree.n_queues; i++) self->heads[i] = HR_NONE;
  memset(self->pruned, 0, self->world->tree.n_nodes * sizeof *self->pruned);
  for (uint32_t i = self->n_candidates; i-- > 0;) {
    uint32_t queue = self->world->workloads[self->candidates[i].workload].queue;
    self->candidates[i].next = self->heads[queue];
    self->heads[queue] = i;
  }
}

static bool is_ancestor(const struct hr__kueue_tree *tree, uint32_t node, uint32_t queue) {
  for (uint32_t at = tree->parent[queue]; at != HR_NONE; at = tree->parent[at])
    if (at == node) return true;
  return false;
}

/* Prunes a node if it can have no more targets. Returns whether it is pruned. */
static bool prune(struct hr__kueue_preemptor *self, uint32_t node, const struct hr__kueue_share *share) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  uint32_t preemptor = self->demand.workload->queue;
  if (node < tree->n_queues)
    self->pruned[node] = (!share->borrowing && node != preemptor) || self->heads[node] == HR_NONE;
  else
    self->pruned[node] = !share->borrowing && !is_ancestor(tree, node, preemptor);
  return self->pruned[node];
}

/* Candidates of one queue that uses admission fair sharing are ordered by the usage of their local queues, the highest
   first. Returns 0 for other candidates. */
static int by_local_usage(const struct hr__kueue_world *world, const struct hr__kueue_workload *a,
                          const struct hr__kueue_workload *b) {
  if (!world->admission_fair_sharing || a->queue != b->queue || !world->queues[a->queue].usage_based) return 0;
  if (a->local_queue == b->local_queue || a->local_queue == HR_NONE || b->local_queue == HR_NONE) return 0;
  double left = world->local_queues[a->local_queue].usage, right = world->local_queues[b->local_queue].usage;
  return (left < right) - (left > right);
}

/* Compares candidates of a preemption for `queue`: negative if `a` is preempted before `b`. Equal workloads are in the
   order of their indices. */
static int candidate_order(const struct hr__kueue_world *world, uint32_t a_id, uint32_t b_id, uint32_t queue) {
  const struct hr__kueue_workload *a = &world->workloads[a_id], *b = &world->workloads[b_id];
  if (a->evicted != b->evicted) return a->evicted ? -1 : 1;
  bool a_own = a->queue == queue, b_own = b->queue == queue;
  if (a_own != b_own) return b_own ? -1 : 1;
  int order = by_local_usage(world, a, b);
  if (order) return order;
  if (a->priority != b->priority) return a->priority < b->priority ? -1 : 1;
  int64_t a_us = a->reserved ? a->reserved_us : world->now_us, b_us = b->reserved ? b->reserved_us : world->now_us;
  if (a_us != b_us) return a_us > b_us ? -1 : 1;
  if (a->uid_rank != b->uid_rank) return a->uid_rank < b->uid_rank ? -1 : 1;
  return (a_id > b_id) - (a_id < b_id);
}

/* Whether queue `a` comes before queue `b`, which has the same share: its first candidate is preempted before that of
   `b`. */
static bool head_first(const struct hr__kueue_preemptor *self, uint32_t a, uint32_t b) {
  return candidate_order(self->world, self->candidates[self->heads[a]].workload,
                         self->candidates[self->heads[b]].workload, self->demand.workload->queue) < 0;
}

/* The child of `node` with the highest share; a cohort wins a tie against a queue. HR_NONE: all are pruned. */
static uint32_t highest_child(struct hr__kueue_preemptor *self, uint32_t node) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  uint32_t best = HR_NONE;
  struct hr__kueue_share highest = hr__kueue_share_lowest();
  for (uint32_t i = tree->child_start[node]; i < tree->child_start[node + 1]; i++) {
    uint32_t child = tree->children[i];
    if (self->pruned[child]) continue;
    struct hr__kueue_share share = hr__kueue_share_of(self->world, child, NULL, 0);
    if (prune(self, child, &share)) continue;
    int order = hr__kueue_share_compare(&share, &highest);
    bool both_queues = best != HR_NONE && child < tree->n_queues && best < tree->n_queues;
    bool wins_tie = both_queues ? head_first(self, child, best) : child >= tree->n_queues;
    if (best != HR_NONE && (order < 0 || (order == 0 && !wins_tie))) continue;
    best = child;
    highest = share;
  }
  return best;
}

uint32_t hr__kueue_fair_next(struct hr__kueue_preemptor *self) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  uint32_t queue = self->demand.workload->queue;
  if (tree->parent[queue] == HR_NONE) return self->pruned[queue] || self->heads[queue] == HR_NONE ? HR_NONE : queue;
  uint32_t root = hr__kueue_root(tree, queue);
  while (!self->pruned[root]) {
    uint32_t node = root;
    while (node >= tree->n_queues) {
      uint32_t child = highest_child(self, node);
      if (child == HR_NONE) {
        self->pruned[node] = true;
        break;
      }
      node = child;
    }
    if (node < tree->n_queues) return node;
  }
  return HR_NONE;
}

/* ---- Shares ---- */

/* The child of the lowest common ancestor of `queue` and `other` on the way to `queue`. */
static uint32_t below_common(const struct hr__kueue_tree *tree, uint32_t queue, uint32_t other) {
  uint32_t node = queue;
  while (tree->parent[node] != HR_NONE && !is_ancestor(tree, tree->parent[node], other)) node = tree->parent[node];
  return node;
}

bool hr__kueue_fair_reaches(const struct hr__kueue_world *world, uint32_t queue) {
  const struct hr__kueue_tree *tree = &world->tree;
  for (uint32_t node = queue, parent; (parent = tree->parent[node]) != HR_NONE; node = parent) {
    struct hr__kueue_share mine = hr__kueue_share_of(world, node, NULL, 0);
    for (uint32_t i = tree->child_start[parent]; i < tree->child_start[parent + 1]; i++) {
      if (tree->children[i] == node) continue;
      struct hr__kueue_share other = hr__kueue_share_of(world, tree->children[i], NULL, 0);
      if (other.borrowing && hr__kueue_share_compare(&mine, &other) <= 0) return true;
    }
  }
  return false;
}

static bool share_allows(struct hr__kueue_preemptor *self, enum hr__kueue_fair_strategy strategy, uint32_t queue,
                         uint32_t workload) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  uint32_t own = self->demand.workload->queue, target = below_common(tree, queue, own);
  struct hr__kueue_share mine = hr__kueue_share_of(self->world, below_common(tree, own, queue), NULL, 0);
  if (strategy == HR__KUEUE_INITIAL_SHARE) {
    struct hr__kueue_share old = hr__kueue_share_of(self->world, target, NULL, 0);
    return hr__kueue_share_compare(&mine, &old) < 0;
  }
  hr__kueue_change_usage(self->world, workload, -1);
  struct hr__kueue_share after = hr__kueue_share_of(self->world, target, NULL, 0);
  hr__kueue_change_usage(self->world, workload, 1);
  return hr__kueue_share_compare(&mine, &after) <= 0;
}

/* ---- Preemption ---- */

/* Adds the incoming usage to the tree, or removes it. */
static void change_incoming(struct hr__kueue_preemptor *self, bool add) {
  const struct hr__kueue_demand *demand = &self->demand;
  hr__kueue_change_amounts(&self->world->tree, demand->workload->queue, demand->usage, demand->n_usage, add);
}

static bool take(struct hr__kueue_preemptor *self, uint32_t workload, enum hr__kueue_cause cause) {
  take_target(self, workload, cause);
  change_incoming(self, false);
  bool fits = demand_fits(self, true);
  change_incoming(self, true);
  return fits;
}

/* Preempts the first candidate of another queue that the strategy allows. The candidates before it are kept for the
   second pass. Returns whether the demand fits afterwards; false if no candidate was preempted. */
static bool take_by_share(struct hr__kueue_preemptor *self, uint32_t queue) {
  while (self->heads[queue] != HR_NONE) {
    uint32_t at = self->heads[queue], workload = hr__kueue_fair_pop(self, queue);
    if (share_allows(self, self->world->strategies[0], queue, workload))
      return take(self, workload, HR__KUEUE_FAIR_SHARE);
    self->retry[self->n_retry++] = at;
  }
  return false;
}

/* `entitled`: the queue stays within its nominal quota with the incoming usage, so that shares do not matter. */
static bool first_pass(struct hr__kueue_preemptor *self, bool entitled) {
  uint32_t own = self->demand.workload->queue, queue;
  hr__kueue_fair_begin(self);
  self->n_retry = 0;
  while ((queue = hr__kueue_fair_next(self)) != HR_NONE) {
    bool fits;
    if (queue == own)
      fits = take(self, hr__kueue_fair_pop(self, queue), HR__KUEUE_IN_QUEUE);
    else if (entitled)
      fits = take(self, hr__kueue_fair_pop(self, queue), HR__KUEUE_RECLAIM);
    else
      fits = take_by_share(self, queue);
    if (fits) return true;
  }
  return false;
}

static bool second_pass(struct hr__kueue_preemptor *self) {
  if (self->world->n_strategies < 2) return false;
  for (uint32_t i = 0; i < self->n_retry; i++) self->spare[i] = self->candidates[self->retry[i]];
  struct hr__kueue_candidate *rest = self->spare;
  self->spare = self->candidates;
  self->candidates = rest;
  self->n_candidates = self->n_retry;
  hr__kueue_fair_begin(self);
  uint32_t queue;
  while ((queue = hr__kueue_fair_next(self)) != HR_NONE) {
    uint32_t workload = hr__kueue_fair_pop(self, queue);
    if (share_allows(self, HR__KUEUE_INITIAL_SHARE, queue, workload) && take(self, workload, HR__KUEUE_FAIR_SHARE))
      return true;
    hr__kueue_fair_drop(self, queue);
  }
  return false;
}

/* ---- Candidates ---- */

static void collect_candidates(struct hr__kueue_preemptor *self) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  uint32_t own = self->demand.workload->queue, root = hr__kueue_root(tree, own);
  const struct hr__kueue_preemption *rules = &self->world->queues[own].preemption;
  if (rules->within_queue != HR__KUEUE_POLICY_NEVER) collect_queue(self, own, rules->within_queue, HR_NONE, false);
  if (tree->parent[own] == HR_NONE || rules->reclaim == HR__KUEUE_POLICY_NEVER) return;
  for (uint32_t queue = 0; queue < tree->n_queues; queue++)
    if (queue != own && hr__kueue_root(tree, queue) == root && !is_within_nominal(self, queue))
      collect_queue(self, queue, rules->reclaim, HR_NONE, false);
}

/* Adds the usage of the candidates of the preemptor's queue to the tree, or removes it. */
static void change_own(struct hr__kueue_preemptor *self, bool add) {
  uint32_t own = self->demand.workload->queue;
  for (uint32_t i = 0; i < self->n_candidates; i++) {
    const struct hr__kueue_workload *workload = &self->world->workloads[self->candidates[i].workload];
    if (workload->queue == own)
      hr__kueue_change_amounts(&self->world->tree, own, workload->usage, workload->n_usage, add);
  }
}

/* Whether a search would certainly find no targets: the candidates of the preemptor's queue do not suffice, and even
   with all of them as targets, no strategy allows a target in another queue. */
static bool is_hopeless(struct hr__kueue_preemptor *self) {
  const struct hr__kueue_demand *demand = &self->demand;
  uint32_t own = demand->workload->queue;
  bool fits = true;
  change_own(self, false);
  for (uint32_t i = 0; i < demand->n_usage; i++)
    fits &= demand->usage[i].amount <= hr__kueue_available(&self->world->tree, own, demand->usage[i].pair);
  change_incoming(self, true);
  bool hopeless = !fits && !hr__kueue_fair_reaches(self->world, own);
  change_incoming(self, false);
  change_own(self, true);
  return hopeless;
}

static void preempt_fair(struct hr__kueue_preemptor *self) {
  collect_candidates(self);
  if (!self->n_candidates) return;
  change_incoming(self, true);
  bool entitled = hr__kueue_has_gate(self->world, HR__KUEUE_BIT_FAIR_WITHIN_NOMINAL) &&
                  is_within_nominal(self, self->demand.workload->queue);
  change_incoming(self, false);
  if (!entitled && is_hopeless(self)) return;
  hr__kueue_candidates_sort(self);
  change_incoming(self, true);
  bool fits = first_pass(self, entitled) || second_pass(self);
  change_incoming(self, false);
  settle_targets(self, fits, true);
}

/* ---- Preemption ---------------------------------------------------------------------------------------- */

/* ---- Memory ---- */

bool hr__kueue_preemptor_begin(struct hr__kueue_preemptor *self, struct hr_arena *arena,
                               struct hr__kueue_world *world) {
  *self = (struct hr__kueue_preemptor){.world = world};
  uint32_t workloads = world->n_workloads, pairs = world->n_pairs, nodes = world->tree.n_nodes;
  return HR__ARENA_ARRAY(arena, self->candidates, workloads) && HR__ARENA_ARRAY(arena, self->spare, workloads) &&
         HR__ARENA_ARRAY(arena, self->targets, workloads) && HR__ARENA_ARRAY(arena, self->retry, workloads) &&
         HR__ARENA_ARRAY(arena, self->pairs, pairs) && HR__ARENA_ARRAY(arena, self->rest, pairs) &&
         HR__ARENA_ARRAY(arena, self->heads, nodes) && HR__ARENA_ARRAY(arena, self->pruned, nodes) &&
         HR__ARENA_ARRAY(arena, self->placements.found, world->max_pod_sets) &&
         HR__ARENA_ARRAY(arena, self->placements.tried, world->max_pod_sets);
}

/* ---- Policies ---- */

bool hr__kueue_policy_allows(enum hr__kueue_policy policy, const struct hr__kueue_workload *preemptor,
                             const struct hr__kueue_workload *candidate) {
  if (candidate->keeps_quota) return false;
  if (policy == HR__KUEUE_POLICY_ANY) return true;
  if (policy != HR__KUEUE_POLICY_LOWER && policy != HR__KUEUE_POLICY_LOWER_OR_NEWER) return false;
  if (preemptor->priority > candidate->priority) return true;
  return policy == HR__KUEUE_POLICY_LOWER_OR_NEWER && preemptor->priority == candidate->priority &&
         preemptor->queue_us < candidate->queue_us;
}

const char *hr__kueue_cause_name(enum hr__kueue_cause cause) {
  static const char *const names[] = {"InClusterQueue", "InCohortReclamation", "InCohortFairSharing",
                                      "InCohortReclaimWhileBorrowing"};
  return names[cause];
}

/* ---- Order of candidates ---- */

/* The rank of a candidate in the classical order. 0: the preemptor has the hierarchical advantage; 1: other candidates
   of other queues; 2: candidates of the own queue. */
static int list_of(const struct hr__kueue_candidate *candidate) {
  return candidate->ancestor == HR_NONE ? 2 : !candidate->hierarchy;
}

static int compare(const struct hr__kueue_preemptor *self, const struct hr__kueue_candidate *a,
                   const struct hr__kueue_candidate *b) {
  const struct hr__kueue_world *world = self->world;
  bool a_evicted = world->workloads[a->workload].evicted, b_evicted = world->workloads[b->workload].evicted;
  if (a_evicted != b_evicted) return a_evicted ? -1 : 1;
  if (list_of(a) != list_of(b)) return list_of(a) - list_of(b);
  return candidate_order(world, a->workload, b->workload, self->demand.workload->queue);
}

/* Merges the sorted runs first .. middle - 1 and middle .. end - 1. */
static void merge(struct hr__kueue_preemptor *self, uint32_t first, uint32_t middle, uint32_t end) {
  struct hr__kueue_candidate *from = self->candidates, *to = self->spare;
  uint32_t left = first, right = middle;
  for (uint32_t i = first; i < end; i++) {
    bool take_left = right >= end || (left < middle && compare(self, &from[left], &from[right]) <= 0);
    to[i] = from[take_left ? left++ : right++];
  }
}

void hr__kueue_candidates_sort(struct hr__kueue_preemptor *self) {
  uint32_t n = self->n_candidates;
  for (uint32_t width = 1; width < n; width *= 2) {
    for (uint32_t first = 0; first < n; first += 2 * width) {
      uint32_t middle = first + width < n ? first + width : n, end = first + 2 * width < n ? first + 2 * width : n;
      merge(self, first, middle, end);
    }
    struct hr__kueue_candidate *sorted = self->spare;
    self->spare = self->candidates;
    self->candidates = sorted;
  }
}

/* ---- Targets ---- */

/* Finds the targets for any demand. Returns their number. */
static uint32_t preempt_for(struct hr__kueue_preemptor *self, const struct hr__kueue_demand *demand) {
  self->demand = *demand;
  self->n_targets = self->n_candidates = 0;
  hr__kueue_preempt_forget(self);
  if (self->world->fair_sharing)
    preempt_fair(self);
  else
    preempt_classical(self);
  return self->n_targets;
}

static void add_pair(struct hr__kueue_preemptor *self, uint32_t pair) {
  for (uint32_t i = 0; i < self->n_pairs; i++)
    if (self->pairs[i] == pair) return;
  self->pairs[self->n_pairs++] = pair;
}

/* Whether the targets of a demand are those of the last simulation. Never with topologies, which simulations ignore. */
static bool was_simulated(const struct hr__kueue_preemptor *self, const struct hr__kueue_demand *demand) {
  const struct hr__kueue_simulated *last = &self->simulated;
  return last->workload == demand->workload && !self->world->topology.find && demand->n_usage == 1 &&
         demand->n_pairs == 1 && demand->pairs[0] == last->pair && demand->usage[0].pair == last->pair &&
         demand->usage[0].amount == last->amount;
}

uint32_t hr__kueue_preempt(struct hr__kueue_preemptor *self, const struct hr__kueue_workload *workload,
                           const struct hr__kueue_assignment *assignment) {
  self->n_pairs = 0;
  for (uint32_t i = 0; i < assignment->n_pod_sets; i++) {
    const struct hr__kueue_pod_set_assignment *row = &assignment->pod_sets[i];
    for (uint32_t k = 0; k < row->n_choices; k++)
      if (row->choices[k].mode == HR__KUEUE_PREEMPT)
        add_pair(self, hr__kueue_pair(self->world, row->choices[k].flavor, row->choices[k].resource));
  }
  struct hr__kueue_demand demand = {.workload = workload,
                                    .usage = assignment->usage,
                                    .n_usage = assignment->n_usage,
                                    .assignment = assignment,
                                    .pairs = self->pairs,
                                    .n_pairs = self->n_pairs};
  if (!was_simulated(self, &demand)) return preempt_for(self, &demand);
  return self->n_targets = self->simulated.n_targets;
}

enum hr__kueue_fit hr__kueue_preempt_simulate(void *argument, struct hr__kueue_world *world,
                                              const struct hr__kueue_workload *workload, uint32_t pair, int64_t amount,
                                              int32_t *level) {
  struct hr__kueue_preemptor *self = argument;
  struct hr__kueue_usage usage = {pair, amount};
  struct hr__kueue_demand demand = {.workload = workload, .usage = &usage, .n_usage = 1, .pairs = &pair, .n_pairs = 1};
  uint32_t n = preempt_for(self, &demand);
  bool own = false;
  for (uint32_t i = 0; i < n; i++) {
    own |= world->workloads[self->targets[i].workload].queue == workload->queue;
    hr__kueue_change_usage(world, self->targets[i].workload, -1);
  }
  *level = (int32_t)hr__kueue_borrow_level(&world->tree, workload->queue, pair, amount, NULL);
  for (uint32_t i = 0; i < n; i++) hr__kueue_change_usage(world, self->targets[i].workload, 1);
  self->simulated = (struct hr__kueue_simulated){workload, pair, n, amount};
  if (!n) return HR__KUEUE_FIT_NO_CANDIDATES;
  return own ? HR__KUEUE_FIT_PREEMPT : HR__KUEUE_FIT_RECLAIM;
}
