/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which queued workloads have no prospect of quota, so that a cycle need not examine them.
 *
 * Whenever quota is freed, Kueue examines the first workload of each shape in each queue of the tree, and nearly all of
 * them are inadmissible again. Here a bound decides first: a workload is hopeless if, for some resource, no flavor has
 * enough quota, even after all preemptions that its queue could make. The bound never calls an admissible workload
 * hopeless, and a hopeless workload has no effect on the other entries of a cycle; so decisions stay the same.
 *
 * The bound of preemptions is for cohorts without parents in classical preemption without borrowWithinCohort. There, a
 * preemption that reclaims from other queues must leave the queue within its nominal quota, and any other one takes
 * from the queue itself. Other settings count as hopeful.
 *
 * Layout: per queue, what its workloads with quota use by priority and pair. Invariant: these sums are those of the
 * list of the queue.
 */

#include "policies/kueue/engine.h"

#include <string.h>

bool hr__kueue_prospects_create(struct hr__kueue_engine *self) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  self->root = hr_arena_alloc(self->arena, ((size_t)tree->n_queues + 1) * sizeof *self->root);
  self->is_freed = hr_arena_alloc(self->arena, (size_t)tree->n_nodes + 1);
  self->priorities = hr_arena_alloc(self->arena, ((size_t)tree->n_queues + 1) * sizeof *self->priorities);
  if (!self->root || !self->is_freed || !self->priorities) return false;
  for (uint32_t i = 0; i < tree->n_queues; i++) {
    struct hr__kueue_priorities *table = &self->priorities[i];
    self->root[i] = hr__kueue_root(tree, i);
    size_t cells = (size_t)HR__KUEUE_MAX_PRIORITIES * tree->n_pairs + 1;
    if (!(table->amounts = hr_arena_alloc(self->arena, cells * sizeof *table->amounts))) return false;
  }
  return true;
}

void hr__kueue_prospects_count(struct hr__kueue_engine *self, uint32_t slot, int sign) {
  const struct hr__kueue_workload *workload = &self->world.workloads[slot];
  struct hr__kueue_priorities *table = &self->priorities[workload->queue];
  uint32_t at = 0;
  if (table->count > HR__KUEUE_MAX_PRIORITIES) return;
  while (at < table->count && table->priority[at] != workload->priority) at++;
  if (at == table->count) {
    table->count++;
    if (at == HR__KUEUE_MAX_PRIORITIES) return;
    table->priority[at] = workload->priority;
  }
  int64_t *amounts = table->amounts + (size_t)at * self->world.n_pairs;
  for (uint32_t i = 0; i < workload->n_usage; i++) amounts[workload->usage[i].pair] += sign * workload->usage[i].amount;
}

/* At most what the workload could preempt in its own queue. */
static int64_t own_victims(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload,
                           uint32_t pair) {
  const struct hr__kueue_priorities *table = &self->priorities[workload->queue];
  enum hr__kueue_policy policy = self->world.queues[workload->queue].preemption.within_queue;
  int64_t sum = 0;
  if (policy == HR__KUEUE_POLICY_NEVER || policy == HR__KUEUE_POLICY_UNSET) return 0;
  if (table->count > HR__KUEUE_MAX_PRIORITIES || policy == HR__KUEUE_POLICY_ANY)
    return self->world.tree.usage[hr__kueue_cell(&self->world.tree, workload->queue, pair)];
  for (uint32_t i = 0; i < table->count; i++)
    if (table->priority[i] < workload->priority ||
        (policy == HR__KUEUE_POLICY_LOWER_OR_NEWER && table->priority[i] == workload->priority))
      sum = hr__kueue_plus(sum, table->amounts[(size_t)i * self->world.n_pairs + pair]);
  return sum;
}

/* Whether the bound of preemptions holds for a queue. */
static bool is_plain(const struct hr__kueue_engine *self, uint32_t queue) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  uint32_t parent = tree->parent[queue];
  return !self->world.fair_sharing && !self->world.queues[queue].preemption.borrow &&
         (parent == HR_NONE || tree->parent[parent] == HR_NONE);
}

/* Whether an amount of a pair may be available, after preemptions. */
static bool may_get(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload, uint32_t pair,
                    int64_t amount) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  const struct hr__kueue_preemption *rules = &self->world.queues[workload->queue].preemption;
  size_t at = hr__kueue_cell(tree, workload->queue, pair);
  if (amount > hr__kueue_potential(tree, workload->queue, pair)) return false;
  int64_t available = hr__kueue_available(tree, workload->queue, pair);
  if (amount <= available) return true;
  int64_t own = own_victims(self, workload, pair);
  if (amount <= hr__kueue_plus(available, own)) return true;
  return rules->reclaim != HR__KUEUE_POLICY_NEVER && tree->parent[workload->queue] != HR_NONE &&
         hr__kueue_plus(hr__kueue_minus(tree->usage[at], own), amount) <= tree->nominal[at];
}

/* Whether a cycle holds quota for an inadmissible workload: it can be so if its request is within its nominal quota,
   unless the queue can always reclaim that. */
static bool may_hold(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload, uint32_t pair,
                     int64_t amount) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  return !hr__kueue_can_always_reclaim(&self->world.queues[workload->queue]) &&
         tree->nominal[hr__kueue_cell(tree, workload->queue, pair)] >= amount;
}

bool hr__kueue_is_hopeless(const struct hr__kueue_engine *self, uint32_t slot) {
  const struct hr__kueue_workload *workload = &self->world.workloads[slot];
  const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[0];
  if (!is_plain(self, workload->queue)) return false;
  for (uint32_t i = 0; i < pod_set->requests.count; i++) {
    uint32_t resource = pod_set->requests.items[i].resource;
    int64_t amount = hr__kueue_times(pod_set->requests.items[i].amount, pod_set->count);
    const struct hr__kueue_group *group = hr__kueue_group_of(&self->world.queues[workload->queue], resource);
    bool hopeless = group != NULL;
    for (uint32_t k = 0; hopeless && k < group->n_flavors; k++) {
      uint32_t pair = hr__kueue_pair(&self->world, group->flavors[k], resource);
      hopeless = !may_get(self, workload, pair, amount) && !may_hold(self, workload, pair, amount);
    }
    if (hopeless) return true;
  }
  return false;
}

/* ---- Trees with freed quota ----------------------------------------------------------------------------- */

/* Whether some workload of a queue might be admitted, or has its turn in the next cycle anyway. */
static bool queue_has_prospects(const struct hr__kueue_engine *self, uint32_t id) {
  const struct hr__kueue_pending_queue *queue = &self->pending.queues[id];
  if (queue->n_buckets || queue->first_alone != HR_NONE) return true;
  for (uint32_t bucket = queue->first_parked; bucket != HR_NONE; bucket = self->pending.buckets[bucket].next) {
    const struct hr__kueue_bucket *at = &self->pending.buckets[bucket];
    if (at->shape == HR_NONE || !hr__kueue_is_hopeless(self, at->half[!at->active].items[0])) return true;
  }
  return false;
}

bool hr__kueue_return_freed(struct hr__kueue_engine *self) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  bool returned = false;
  self->some_freed = false;
  for (uint32_t i = 0; i < tree->n_queues; i++) {
    uint32_t root = self->root[i];
    if (!self->is_freed[root] || !queue_has_prospects(self, i)) continue;
    hr__kueue_pending_return(&self->pending, i);
    self->is_freed[root] = false;
    returned = true;
  }
  for (uint32_t i = 0; i < tree->n_queues; i++) self->is_freed[self->root[i]] = false;
  return returned;
}
