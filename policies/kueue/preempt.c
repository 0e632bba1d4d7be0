/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What all preemptions have in common: policies, the order of candidates, the test whether the demand fits, and the
 * minimal set of targets.
 *
 * Targets are taken one after the other, and their usage is removed from the tree and the nodes, until the demand fits.
 * Then those that are not needed are put back, from the last but one to the first. Invariant: after a preemption was
 * computed, the usage is as before.
 *
 * Source: pkg/scheduler/preemption of kubernetes-sigs/kueue (preemption.go, common/, preemption_oracle.go).
 */

#include "policies/kueue/preempt.h"

#include "policies/kueue/quota.h"
#include "policies/kueue/workload.h"

#include <string.h>

/* ---- Memory ---- */

bool hr__kueue_preemptor_begin(struct hr__kueue_preemptor *self, struct hr_arena *arena,
                               struct hr__kueue_world *world) {
  *self = (struct hr__kueue_preemptor){.world = world};
  size_t workloads = (size_t)world->n_workloads + 1, pairs = (size_t)world->n_pairs + 1;
  size_t nodes = (size_t)world->tree.n_nodes + 1, pod_sets = (size_t)world->max_pod_sets + 1;
  self->candidates = hr_arena_alloc(arena, workloads * sizeof *self->candidates);
  self->spare = hr_arena_alloc(arena, workloads * sizeof *self->spare);
  self->targets = hr_arena_alloc(arena, workloads * sizeof *self->targets);
  self->retry = hr_arena_alloc(arena, workloads * sizeof *self->retry);
  self->pairs = hr_arena_alloc(arena, pairs * sizeof *self->pairs);
  self->rest = hr_arena_alloc(arena, pairs * sizeof *self->rest);
  self->heads = hr_arena_alloc(arena, nodes * sizeof *self->heads);
  self->pruned = hr_arena_alloc(arena, nodes * sizeof *self->pruned);
  self->placements.found = hr_arena_alloc(arena, pod_sets * sizeof *self->placements.found);
  self->placements.tried = hr_arena_alloc(arena, pod_sets * sizeof *self->placements.tried);
  return self->candidates && self->spare && self->targets && self->retry && self->pairs && self->rest && self->heads &&
         self->pruned && self->placements.found && self->placements.tried;
}

/* ---- Policies ---- */

bool hr__kueue_policy_allows(enum hr__kueue_policy policy, const struct hr__kueue_workload *preemptor,
                             const struct hr__kueue_workload *candidate) {
  if (policy == HR__KUEUE_POLICY_ANY) return true;
  if (policy != HR__KUEUE_POLICY_LOWER && policy != HR__KUEUE_POLICY_LOWER_OR_NEWER) return false;
  if (preemptor->priority > candidate->priority) return true;
  return policy == HR__KUEUE_POLICY_LOWER_OR_NEWER && preemptor->priority == candidate->priority &&
         preemptor->queue_us < candidate->queue_us;
}

bool hr__kueue_can_always_reclaim(const struct hr__kueue_queue *queue) {
  return queue->preemption.reclaim == HR__KUEUE_POLICY_ANY;
}

const char *hr__kueue_cause_name(enum hr__kueue_cause cause) {
  static const char *const names[] = {"InClusterQueue", "InCohortReclamation", "InCohortFairSharing",
                                      "InCohortReclaimWhileBorrowing"};
  return names[cause];
}

/* ---- Order of candidates ---- */

/* Candidates of one queue that uses admission fair sharing are ordered by the usage of their local queues. */
static int by_local_usage(const struct hr__kueue_world *world, const struct hr__kueue_workload *a,
                          const struct hr__kueue_workload *b) {
  if (!world->admission_fair_sharing || a->queue != b->queue || !world->queues[a->queue].usage_based) return 0;
  if (a->local_queue == b->local_queue || a->local_queue == HR_NONE || b->local_queue == HR_NONE) return 0;
  double left = world->local_queues[a->local_queue].usage, right = world->local_queues[b->local_queue].usage;
  return (left < right) - (left > right);
}

int hr__kueue_candidate_order(const struct hr__kueue_world *world, uint32_t a_id, uint32_t b_id, uint32_t queue) {
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

/* The list a candidate belongs to in the classical order: hierarchy, priority, own queue. */
static int list_of(const struct hr__kueue_candidate *candidate) {
  return candidate->ancestor == HR_NONE ? 2 : !candidate->hierarchy;
}

static int compare(const struct hr__kueue_preemptor *self, const struct hr__kueue_candidate *a,
                   const struct hr__kueue_candidate *b) {
  const struct hr__kueue_world *world = self->world;
  bool a_evicted = world->workloads[a->workload].evicted, b_evicted = world->workloads[b->workload].evicted;
  if (a_evicted != b_evicted) return a_evicted ? -1 : 1;
  if (list_of(a) != list_of(b)) return list_of(a) - list_of(b);
  return hr__kueue_candidate_order(world, a->workload, b->workload, self->demand.workload->queue);
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

/* ---- Demand ---- */

bool hr__kueue_demand_uses(const struct hr__kueue_preemptor *self, const struct hr__kueue_workload *candidate) {
  for (uint32_t i = 0; i < candidate->n_usage; i++)
    for (uint32_t k = 0; k < self->demand.n_pairs; k++)
      if (candidate->usage[i].pair == self->demand.pairs[k]) return true;
  return false;
}

bool hr__kueue_within_nominal(const struct hr__kueue_preemptor *self, uint32_t node) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  for (uint32_t i = 0; i < self->demand.n_pairs; i++) {
    size_t at = hr__kueue_cell(tree, node, self->demand.pairs[i]);
    if (tree->usage[at] > tree->subtree[at]) return false;
  }
  return true;
}

bool hr__kueue_demand_fits(struct hr__kueue_preemptor *self, bool borrow) {
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

/* ---- Targets ---- */

void hr__kueue_target_take(struct hr__kueue_preemptor *self, uint32_t workload, enum hr__kueue_cause cause) {
  hr__kueue_change_usage(self->world, workload, -1);
  self->targets[self->n_targets++] = (struct hr__kueue_target){workload, cause};
}

void hr__kueue_targets_settle(struct hr__kueue_preemptor *self, bool fits, bool borrow) {
  for (uint32_t i = self->n_targets; fits && i-- > 0;) {
    if (i + 1 >= self->n_targets) continue; /* the last one was needed */
    hr__kueue_change_usage(self->world, self->targets[i].workload, 1);
    if (hr__kueue_demand_fits(self, borrow))
      self->targets[i] = self->targets[--self->n_targets];
    else
      hr__kueue_change_usage(self->world, self->targets[i].workload, -1);
  }
  for (uint32_t i = 0; i < self->n_targets; i++) hr__kueue_change_usage(self->world, self->targets[i].workload, 1);
  if (!fits) self->n_targets = 0;
}

uint32_t hr__kueue_preempt_for(struct hr__kueue_preemptor *self, const struct hr__kueue_demand *demand) {
  self->demand = *demand;
  self->n_targets = self->n_candidates = 0;
  if (self->world->fair_sharing)
    hr__kueue_preempt_fair(self);
  else
    hr__kueue_preempt_classical(self);
  return self->n_targets;
}

static void add_pair(struct hr__kueue_preemptor *self, uint32_t pair) {
  for (uint32_t i = 0; i < self->n_pairs; i++)
    if (self->pairs[i] == pair) return;
  self->pairs[self->n_pairs++] = pair;
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
  return hr__kueue_preempt_for(self, &demand);
}

enum hr__kueue_fit hr__kueue_preempt_simulate(void *argument, struct hr__kueue_world *world,
                                              const struct hr__kueue_workload *workload, uint32_t pair, int64_t amount,
                                              int32_t *level) {
  struct hr__kueue_preemptor *self = argument;
  struct hr__kueue_usage usage = {pair, amount};
  struct hr__kueue_demand demand = {.workload = workload, .usage = &usage, .n_usage = 1, .pairs = &pair, .n_pairs = 1};
  uint32_t n = hr__kueue_preempt_for(self, &demand);
  bool own = false;
  for (uint32_t i = 0; i < n; i++) {
    own |= world->workloads[self->targets[i].workload].queue == workload->queue;
    hr__kueue_change_usage(world, self->targets[i].workload, -1);
  }
  *level = (int32_t)hr__kueue_borrow_level(&world->tree, workload->queue, pair, amount, NULL);
  for (uint32_t i = 0; i < n; i++) hr__kueue_change_usage(world, self->targets[i].workload, 1);
  if (!n) return HR__KUEUE_FIT_NO_CANDIDATES;
  return own ? HR__KUEUE_FIT_PREEMPT : HR__KUEUE_FIT_RECLAIM;
}
