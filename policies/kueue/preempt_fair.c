/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preemption with fair sharing. The incoming usage counts while shares are compared. From the root of the tree, the
 * child with the highest share is entered until a queue is reached; its first candidate is preempted if the strategy
 * holds between the two children just below the lowest common ancestor of both queues.
 *
 * Layout: candidates are sorted, and each queue has a list of its candidates in this order (`heads`, `next`). A pruned
 * node will have no more targets. Invariant: every round takes a candidate away or prunes a node, so the loop ends.
 *
 * Source: pkg/scheduler/preemption/fair_strategy.go and fairsharing/ of kubernetes-sigs/kueue.
 */

#include "policies/kueue/preempt.h"
#include "policies/kueue/quota.h"
#include "policies/kueue/workload.h"

#include <string.h>

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

uint32_t hr__kueue_fair_pop(struct hr__kueue_preemptor *self, uint32_t queue) {
  uint32_t at = self->heads[queue];
  self->heads[queue] = self->candidates[at].next;
  return self->candidates[at].workload;
}

void hr__kueue_fair_drop(struct hr__kueue_preemptor *self, uint32_t queue) {
  self->pruned[queue] = true;
}

static bool is_ancestor(const struct hr__kueue_tree *tree, uint32_t node, uint32_t queue) {
  for (uint32_t at = tree->parent[queue]; at != HR_NONE; at = tree->parent[at])
    if (at == node) return true;
  return false;
}

/* Prunes a node that can have no more targets. */
static bool prune(struct hr__kueue_preemptor *self, uint32_t node, const struct hr__kueue_share *share) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  uint32_t preemptor = self->demand.workload->queue;
  if (node < tree->n_queues)
    self->pruned[node] = (!share->borrowing && node != preemptor) || self->heads[node] == HR_NONE;
  else
    self->pruned[node] = !share->borrowing && !is_ancestor(tree, node, preemptor);
  return self->pruned[node];
}

/* Whether queue `a` comes before queue `b` of the same share: its first candidate sorts first. */
static bool head_first(const struct hr__kueue_preemptor *self, uint32_t a, uint32_t b) {
  return hr__kueue_candidate_order(self->world, self->candidates[self->heads[a]].workload,
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
  for (uint32_t i = 0; i < self->demand.n_usage; i++) {
    const struct hr__kueue_usage *usage = &self->demand.usage[i];
    if (add)
      hr__kueue_add_usage(&self->world->tree, self->demand.workload->queue, usage->pair, usage->amount);
    else
      hr__kueue_remove_usage(&self->world->tree, self->demand.workload->queue, usage->pair, usage->amount);
  }
}

static bool take(struct hr__kueue_preemptor *self, uint32_t workload, enum hr__kueue_cause cause) {
  hr__kueue_target_take(self, workload, cause);
  change_incoming(self, false);
  bool fits = hr__kueue_demand_fits(self, true);
  change_incoming(self, true);
  return fits;
}

/* Preempts from a foreign queue the first candidate that the strategy allows; the others wait for the second pass. */
static bool take_by_share(struct hr__kueue_preemptor *self, uint32_t queue) {
  while (self->heads[queue] != HR_NONE) {
    uint32_t at = self->heads[queue], workload = hr__kueue_fair_pop(self, queue);
    if (share_allows(self, self->world->strategies[0], queue, workload))
      return take(self, workload, HR__KUEUE_FAIR_SHARE);
    self->retry[self->n_retry++] = at;
  }
  return false;
}

static bool first_pass(struct hr__kueue_preemptor *self) {
  uint32_t own = self->demand.workload->queue, queue;
  bool entitled = hr__kueue_has_gate(self->world, HR__KUEUE_BIT_FAIR_WITHIN_NOMINAL);
  for (uint32_t i = 0; i < self->demand.n_pairs; i++)
    entitled &= !hr__kueue_is_borrowing(&self->world->tree, own, self->demand.pairs[i]);
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

static void collect_queue(struct hr__kueue_preemptor *self, uint32_t queue, enum hr__kueue_policy policy) {
  for (uint32_t id = self->world->queues[queue].first_admitted; id != HR_NONE;
       id = self->world->workloads[id].next_admitted) {
    const struct hr__kueue_workload *workload = &self->world->workloads[id];
    if (hr__kueue_policy_allows(policy, self->demand.workload, workload) && hr__kueue_demand_uses(self, workload))
      self->candidates[self->n_candidates++] = (struct hr__kueue_candidate){.workload = id, .ancestor = HR_NONE};
  }
}

static bool borrows(const struct hr__kueue_preemptor *self, uint32_t queue) {
  for (uint32_t i = 0; i < self->demand.n_pairs; i++)
    if (hr__kueue_is_borrowing(&self->world->tree, queue, self->demand.pairs[i])) return true;
  return false;
}

static void collect(struct hr__kueue_preemptor *self) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  uint32_t own = self->demand.workload->queue, root = hr__kueue_root(tree, own);
  const struct hr__kueue_preemption *rules = &self->world->queues[own].preemption;
  if (rules->within_queue != HR__KUEUE_POLICY_NEVER) collect_queue(self, own, rules->within_queue);
  if (tree->parent[own] == HR_NONE || rules->reclaim == HR__KUEUE_POLICY_NEVER) return;
  for (uint32_t queue = 0; queue < tree->n_queues; queue++)
    if (queue != own && hr__kueue_root(tree, queue) == root && borrows(self, queue))
      collect_queue(self, queue, rules->reclaim);
}

void hr__kueue_preempt_fair(struct hr__kueue_preemptor *self) {
  collect(self);
  if (!self->n_candidates) return;
  hr__kueue_candidates_sort(self);
  change_incoming(self, true);
  bool fits = first_pass(self) || second_pass(self);
  change_incoming(self, false);
  hr__kueue_targets_settle(self, fits, true);
}
