/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the queued workloads that have no prospect of quota, so that a cycle need not examine them.
 *
 * Whenever quota is freed, Kueue examines the first workload of each shape in each queue of the tree, and nearly all of
 * them are inadmissible again. Here a bound is checked first: a workload is hopeless if, for some resource, no flavor
 * has enough quota, even after all preemptions that its queue could make. The bound never calls an admissible workload
 * hopeless, and a hopeless workload has no effect on the other entries of a cycle; so decisions stay the same.
 *
 * The bound of preemptions is for cohorts without parents in classical preemption. There, a preemption that reclaims
 * from other queues must leave the queue within its nominal quota, or preempt only lower priorities
 * (borrowWithinCohort); any other preemption is within the queue itself. With other settings, workloads are not
 * hopeless.
 *
 * Layout: per queue, the usage of its workloads with quota, by priority and pair. Invariant: these sums are those of
 * the list of the queue.
 */

#include "policies/kueue/engine.h"

#include <string.h>

bool hr__kueue_prospects_create(struct hr__kueue_engine *self) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  self->root = hr_arena_alloc(self->arena, ((size_t)tree->n_queues + 1) * sizeof *self->root);
  self->is_freed = hr_arena_alloc(self->arena, (size_t)tree->n_nodes + 1);
  self->is_filled = hr_arena_alloc(self->arena, (size_t)tree->n_nodes + 1);
  self->priorities = hr_arena_alloc(self->arena, ((size_t)tree->n_queues + 1) * sizeof *self->priorities);
  if (!self->root || !self->is_freed || !self->is_filled || !self->priorities) return false;
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

/* Whether `priorities` has the amounts that the workload could preempt in its own queue. */
static bool own_is_known(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload) {
  return self->priorities[workload->queue].count <= HR__KUEUE_MAX_PRIORITIES &&
         self->world.queues[workload->queue].preemption.within_queue != HR__KUEUE_POLICY_ANY;
}

/* An upper bound of the amount that the workload could preempt in its own queue. */
static int64_t own_victims(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload,
                           uint32_t pair) {
  const struct hr__kueue_priorities *table = &self->priorities[workload->queue];
  enum hr__kueue_policy policy = self->world.queues[workload->queue].preemption.within_queue;
  int64_t sum = 0;
  if (policy == HR__KUEUE_POLICY_NEVER || policy == HR__KUEUE_POLICY_UNSET) return 0;
  if (!own_is_known(self, workload))
    return self->world.tree.usage[hr__kueue_cell(&self->world.tree, workload->queue, pair)];
  for (uint32_t i = 0; i < table->count; i++)
    if (table->priority[i] < workload->priority ||
        (policy == HR__KUEUE_POLICY_LOWER_OR_NEWER && table->priority[i] == workload->priority))
      sum = hr__kueue_plus(sum, table->amounts[(size_t)i * self->world.n_pairs + pair]);
  return sum;
}

/* Adds the amounts that the workload could preempt in its own queue to the tree, or removes them. */
static void change_own(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload, bool add) {
  struct hr__kueue_tree tree = self->world.tree;
  for (uint32_t pair = 0; pair < tree.n_pairs; pair++) {
    int64_t amount = own_victims(self, workload, pair);
    if (amount > 0 && add) hr__kueue_add_usage(&tree, workload->queue, pair, amount);
    if (amount > 0 && !add) hr__kueue_remove_usage(&tree, workload->queue, pair, amount);
  }
}

/* Whether fair sharing may allow a preemption in another queue. An amount within the nominal quota can always be
   reclaimed. Otherwise the share, even after all preemptions in the own queue, must not be above all other shares. */
static bool may_take_by_share(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload,
                              uint32_t pair, int64_t amount) {
  struct hr__kueue_tree tree = self->world.tree; /* its columns are those of the world */
  size_t at = hr__kueue_cell(&tree, workload->queue, pair);
  if (hr__kueue_plus(tree.usage[at], amount) <= tree.nominal[at] || !own_is_known(self, workload)) return true;
  change_own(self, workload, false);
  hr__kueue_add_usage(&tree, workload->queue, pair, amount);
  bool reaches = hr__kueue_fair_reaches(&self->world, workload->queue);
  hr__kueue_remove_usage(&tree, workload->queue, pair, amount);
  change_own(self, workload, true);
  return reaches;
}

/* An upper bound of the usage with a lower priority in queues other than that of the workload. */
static int64_t lower_beside(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload,
                            uint32_t pair) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  uint32_t parent = tree->parent[workload->queue];
  int64_t sum = 0;
  for (uint32_t i = tree->child_start[parent]; i < tree->child_start[parent + 1]; i++) {
    uint32_t queue = tree->children[i];
    if (queue == workload->queue) continue;
    const struct hr__kueue_priorities *table = &self->priorities[queue];
    if (table->count > HR__KUEUE_MAX_PRIORITIES)
      sum = hr__kueue_plus(sum, tree->usage[hr__kueue_cell(tree, queue, pair)]);
    for (uint32_t k = 0; table->count <= HR__KUEUE_MAX_PRIORITIES && k < table->count; k++)
      if (table->priority[k] < workload->priority)
        sum = hr__kueue_plus(sum, table->amounts[(size_t)k * self->world.n_pairs + pair]);
  }
  return sum;
}

/* Whether classical preemption may take from other queues: what remains of the queue must be within its nominal quota,
   or, with borrowWithinCohort, only lower priorities are taken. Not known for cohorts with parents. `free`: the
   available amount, including `own`, the amount that the workload could preempt in its own queue. */
static bool may_reclaim(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload, uint32_t pair,
                        int64_t amount, int64_t own, int64_t free) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  size_t at = hr__kueue_cell(tree, workload->queue, pair);
  if (tree->parent[tree->parent[workload->queue]] != HR_NONE ||
      hr__kueue_plus(hr__kueue_minus(tree->usage[at], own), amount) <= tree->nominal[at])
    return true;
  return self->world.queues[workload->queue].preemption.borrow &&
         amount <= hr__kueue_plus(free, lower_beside(self, workload, pair));
}

/* Whether an amount of a pair may be available, after preemptions. */
static bool may_get(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload, uint32_t pair,
                    int64_t amount) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  if (amount > hr__kueue_potential(tree, workload->queue, pair)) return false;
  int64_t available = hr__kueue_available(tree, workload->queue, pair);
  if (amount <= available) return true;
  int64_t own = own_victims(self, workload, pair);
  int64_t free = hr__kueue_plus(available, own);
  if (amount <= free) return true;
  if (self->world.queues[workload->queue].preemption.reclaim == HR__KUEUE_POLICY_NEVER ||
      tree->parent[workload->queue] == HR_NONE)
    return false;
  return self->world.fair_sharing ? may_take_by_share(self, workload, pair, amount)
                                  : may_reclaim(self, workload, pair, amount, own, free);
}

/* Whether a cycle may hold quota or nodes for an inadmissible workload, unless the queue can always reclaim its quota:
   it can be so if the request is within the nominal quota, or that of a cohort below the root, or if it may preempt
   while borrowing. */
static bool may_hold(const struct hr__kueue_engine *self, const struct hr__kueue_workload *workload, uint32_t pair,
                     int64_t amount) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  const struct hr__kueue_queue *queue = &self->world.queues[workload->queue];
  bool may_reclaim;
  if (hr__kueue_can_always_reclaim(queue)) return false;
  if (self->world.fair_sharing || queue->preemption.borrow ||
      tree->nominal[hr__kueue_cell(tree, workload->queue, pair)] >= amount)
    return true;
  hr__kueue_borrow_level(tree, workload->queue, pair, amount, &may_reclaim);
  return may_reclaim;
}

bool hr__kueue_is_hopeless(const struct hr__kueue_engine *self, uint32_t slot) {
  const struct hr__kueue_workload *workload = &self->world.workloads[slot];
  const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[0];
  for (uint32_t i = 0; i < pod_set->requests.count; i++) {
    uint32_t resource = pod_set->requests.items[i].resource;
    int64_t amount = hr__kueue_times(pod_set->requests.items[i].amount, hr__kueue_fewest(pod_set));
    int64_t full = hr__kueue_times(pod_set->requests.items[i].amount, pod_set->count);
    const struct hr__kueue_group *group = hr__kueue_group_of(&self->world.queues[workload->queue], resource);
    bool hopeless = group != NULL;
    for (uint32_t k = 0; hopeless && k < group->n_flavors; k++) {
      uint32_t pair = hr__kueue_pair(&self->world, group->flavors[k], resource);
      hopeless = !may_get(self, workload, pair, amount) && !may_hold(self, workload, pair, full);
    }
    if (hopeless) return true;
  }
  return false;
}

/* ---- Trees with freed quota ----------------------------------------------------------------------------- */

/* The last shapes that were found hopeless in a queue. With a lower priority or a larger request, a shape is hopeless,
   too. */
enum { MAX_KNOWN = 4 };
struct verdicts {
  const struct hr__kueue_engine *engine;
  struct hr__kueue_shape known[MAX_KNOWN];
  uint32_t n_known, next;
};

static bool stays_parked(void *argument, uint32_t queue, uint32_t shape, uint32_t workload) {
  struct verdicts *self = argument;
  const struct hr__kueue_shape *own = &self->engine->shape_of[shape];
  (void)queue;
  if (self->engine->plain) return false;
  for (uint32_t i = 0; own->resource != HR_NONE && i < self->n_known; i++)
    if (own->resource == self->known[i].resource && own->priority <= self->known[i].priority &&
        own->amount >= self->known[i].amount && own->full >= self->known[i].full)
      return true;
  if (!hr__kueue_is_hopeless(self->engine, workload)) return false;
  if (own->resource != HR_NONE) {
    self->known[self->next] = *own;
    self->next = (self->next + 1) % MAX_KNOWN;
    if (self->n_known < MAX_KNOWN) self->n_known++;
  }
  return true;
}

void hr__kueue_return_freed(struct hr__kueue_engine *self) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  self->some_freed = false;
  for (uint32_t i = 0; i < tree->n_queues; i++) {
    if (!self->is_freed[self->root[i]]) continue;
    struct verdicts verdicts = {.engine = self};
    hr__kueue_pending_return_some(&self->pending, i, stays_parked, &verdicts);
  }
  for (uint32_t i = 0; i < tree->n_queues; i++) self->is_freed[self->root[i]] = false;
}

void hr__kueue_recheck_stayed(struct hr__kueue_engine *self) {
  for (uint32_t i = 0; i < self->world.tree.n_queues; i++) {
    if (!self->is_filled[self->root[i]]) continue;
    struct verdicts verdicts = {.engine = self};
    hr__kueue_pending_recheck(&self->pending, i, stays_parked, &verdicts);
  }
  for (uint32_t i = 0; i < self->world.tree.n_queues; i++) self->is_filled[self->root[i]] = false;
  self->some_filled = false;
}
