/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decides about one entry of a cycle. Earlier entries of the cycle hold the quota and the nodes of workloads that they
 * admit or that wait for preemptions. So an entry must fit beside them, after the targets of all these entries have
 * left.
 *
 * Source: pkg/scheduler/scheduler.go of kubernetes-sigs/kueue (processEntry and what it calls).
 */

#include "policies/kueue/cycle.h"
#include "policies/kueue/kueue.h"

/* ---- Holding ---- */

static void hold_quota(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry, const struct hr__kueue_usage *usage,
                       uint32_t n_usage) {
  const struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  for (uint32_t i = 0; !workload->reserved && i < n_usage; i++) {
    hr__kueue_add_usage(&self->world->tree, workload->queue, usage[i].pair, usage[i].amount);
    entry->held[entry->n_held++] = usage[i];
  }
}

static void hold_nodes(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  const struct hr__kueue_topology_calls *topology = &self->world->topology;
  if (!topology->reserve || !hr__kueue_has_gate(self->world, HR__KUEUE_BIT_TOPOLOGY)) return;
  topology->reserve(topology->self, self->world, &self->world->workloads[entry->workload], &entry->assignment, 1);
  entry->holds_nodes = true;
}

uint32_t hr__kueue_reserve(const struct hr__kueue_world *world, uint32_t queue,
                           const struct hr__kueue_assignment *assignment, struct hr__kueue_usage *out) {
  const struct hr__kueue_tree *tree = &world->tree;
  for (uint32_t i = 0; i < assignment->n_usage; i++) {
    struct hr__kueue_usage usage = assignment->usage[i];
    size_t at = hr__kueue_cell(tree, queue, usage.pair);
    int64_t limit = tree->nominal[at];
    if (assignment->mode == HR__KUEUE_PREEMPT && assignment->borrowing > 0) {
      limit = hr__kueue_minus(hr__kueue_plus(limit, tree->borrowing[at]), tree->usage[at]);
      if (tree->borrowing[at] != HR__KUEUE_UNLIMITED && limit < usage.amount) usage.amount = limit;
    } else if (assignment->mode == HR__KUEUE_PREEMPT) {
      limit = hr__kueue_minus(limit, tree->usage[at]);
      if (limit < usage.amount) usage.amount = limit;
      if (usage.amount < 0) usage.amount = 0;
    }
    out[i] = usage;
  }
  return assignment->n_usage;
}

/* Keeps quota and nodes for an entry that needs preemption without targets, unless its queue can reclaim them later. */
static void reserve(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  const struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  if (hr__kueue_can_always_reclaim(&self->world->queues[workload->queue])) return;
  if (!workload->reserved) {
    entry->n_held = hr__kueue_reserve(self->world, workload->queue, &entry->assignment, entry->held);
    for (uint32_t i = 0; i < entry->n_held; i++)
      hr__kueue_add_usage(&self->world->tree, workload->queue, entry->held[i].pair, entry->held[i].amount);
  }
  hold_nodes(self, entry);
}

/* ---- Fit ---- */

enum cycle_fit { FIT_NO_QUOTA, FIT_NO_NODES, FIT_OK };

static const struct hr__kueue_target *targets_of(const struct hr__kueue_cycle *self,
                                                 const struct hr__kueue_entry *entry) {
  return entry->n_targets ? &self->targets[entry->first_target] : NULL;
}

/* Removes or adds the usage of the victims of the cycle and of the targets of the entry, each once. */
static void change_victims(struct hr__kueue_cycle *self, const struct hr__kueue_entry *entry, int sign) {
  const struct hr__kueue_target *targets = targets_of(self, entry);
  for (uint32_t i = 0; i < self->n_victims; i++) hr__kueue_change_usage(self->world, self->victims[i], sign);
  for (uint32_t i = 0; i < entry->n_targets; i++)
    if (!self->is_victim[targets[i].workload]) hr__kueue_change_usage(self->world, targets[i].workload, sign);
}

static enum cycle_fit check_fit(struct hr__kueue_cycle *self, const struct hr__kueue_entry *entry) {
  const struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  const struct hr__kueue_topology_calls *topology = &self->world->topology;
  enum cycle_fit fit = FIT_OK;
  change_victims(self, entry, -1);
  for (uint32_t i = 0; !workload->reserved && i < entry->assignment.n_usage; i++) {
    const struct hr__kueue_usage *usage = &entry->assignment.usage[i];
    if (usage->amount > hr__kueue_available(&self->world->tree, workload->queue, usage->pair)) fit = FIT_NO_QUOTA;
  }
  if (fit == FIT_OK && topology->fits && hr__kueue_has_gate(self->world, HR__KUEUE_BIT_TOPOLOGY) &&
      !topology->fits(topology->self, self->world, workload, &entry->assignment))
    fit = FIT_NO_NODES;
  change_victims(self, entry, 1);
  return fit;
}

static bool overlaps(const struct hr__kueue_cycle *self, const struct hr__kueue_entry *entry) {
  const struct hr__kueue_target *targets = targets_of(self, entry);
  for (uint32_t i = 0; i < entry->n_targets; i++)
    if (self->is_victim[targets[i].workload]) return true;
  return false;
}

/* Computes the assignment again with the flavors of the nomination. */
static void assign_again(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  struct hr__kueue_assignment nominated = entry->assignment;
  const int32_t *tried = workload->tried;
  entry->assignment = self->pinned; /* the memory is swapped: the old assignment must last */
  self->pinned = nominated;
  workload->tried = NULL;
  self->assigner.pinned = &self->pinned;
  hr__kueue_entry_assign(self, entry);
  self->assigner.pinned = NULL;
  workload->tried = tried;
}

/* The targets of the entry are evicted for an earlier one. Searches for other targets as if these victims had left. */
static void find_other_targets(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  for (uint32_t i = 0; i < self->n_victims; i++) hr__kueue_unlist(self->world, self->victims[i]);
  assign_again(self, entry);
  for (uint32_t i = self->n_victims; i-- > 0;) hr__kueue_list(self->world, self->victims[i]);
  if (entry->assignment.mode == HR__KUEUE_FIT) {
    entry->assignment.mode = HR__KUEUE_DEFERRED_FIT;
    entry->recomputation = HR__KUEUE_DEFERRED;
  } else if (entry->n_targets) {
    entry->recomputation = overlaps(self, entry) ? HR__KUEUE_STILL_OVERLAPPING : HR__KUEUE_NEW_TARGETS;
  }
}

static enum cycle_fit update(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  enum cycle_fit fit = check_fit(self, entry);
  if (fit == FIT_NO_NODES && hr__kueue_has_gate(self->world, HR__KUEUE_BIT_TOPOLOGY_RECOMPUTE)) {
    assign_again(self, entry);
    fit = check_fit(self, entry);
  }
  if (overlaps(self, entry) && hr__kueue_has_gate(self->world, HR__KUEUE_BIT_RECOMPUTE_ON_OVERLAP)) {
    find_other_targets(self, entry);
    fit = check_fit(self, entry);
  }
  return fit;
}

/* ---- Variants of a workload ---- */

/* The position of a flavor in the order of the queue. */
static uint32_t flavor_rank(const struct hr__kueue_queue *queue, uint32_t flavor) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < queue->n_groups; i++)
    for (uint32_t k = 0; k < queue->groups[i].n_flavors; k++, rank++)
      if (queue->groups[i].flavors[k] == flavor) return rank;
  return HR_NONE;
}

/* The position of the first flavor that a variant may use. */
static uint32_t variant_rank(const struct hr__kueue_world *world, const struct hr__kueue_workload *workload) {
  uint32_t first = HR_NONE;
  for (uint32_t i = 0; i < workload->n_allowed; i++) {
    uint32_t rank = flavor_rank(&world->queues[workload->queue], workload->allowed[i]);
    if (rank < first) first = rank;
  }
  return first;
}

/* Whether a variant may replace one with a less favorable flavor. */
static bool may_migrate(const struct hr__kueue_world *world, const struct hr__kueue_workload *workload) {
  const struct hr__kueue_queue *queue = &world->queues[workload->queue];
  if (queue->least_preferred == HR_NONE) return true;
  return variant_rank(world, workload) <= flavor_rank(queue, queue->least_preferred);
}

/* An admitted variant of the same workload whose flavor comes before (or after) this one's; HR_NONE: none. */
static uint32_t find_variant(const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
                             bool more_favorable) {
  if (!hr__kueue_has_gate(world, HR__KUEUE_BIT_CONCURRENT_ADMISSION) || workload->variant_of == HR_NONE) return HR_NONE;
  uint32_t rank = variant_rank(world, workload);
  for (uint32_t id = world->queues[workload->queue].first_admitted; id != HR_NONE;
       id = world->workloads[id].next_admitted) {
    const struct hr__kueue_workload *other = &world->workloads[id];
    if (other == workload || other->variant_of != workload->variant_of) continue;
    uint32_t other_rank = variant_rank(world, other);
    if (more_favorable ? other_rank < rank : other_rank > rank) return id;
  }
  return HR_NONE;
}

/* ---- Decisions ---- */

static void skip(struct hr__kueue_entry *entry, enum hr__kueue_reason reason) {
  entry->status = HR__KUEUE_SKIPPED;
  entry->reason = reason;
  entry->keeps_bookmark = false;
}

static void requeue(struct hr__kueue_entry *entry, enum hr__kueue_requeue why, enum hr__kueue_reason reason) {
  entry->requeue = why;
  entry->reason = reason;
}

/* Whether the entry is done because of its mode. */
static bool is_done_by_mode(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  const struct hr__kueue_world *world = self->world;
  const struct hr__kueue_workload *workload = &world->workloads[entry->workload];
  enum hr__kueue_mode mode = entry->assignment.mode;
  if (mode != HR__KUEUE_FIT && hr__kueue_has_gate(world, HR__KUEUE_BIT_TOPOLOGY_REPLACEMENT_FAIL_FAST) &&
      world->topology.has_failed_node && world->topology.has_failed_node(world->topology.self, workload)) {
    entry->status = HR__KUEUE_EVICTED;
    return true;
  }
  if (mode == HR__KUEUE_NO_FIT) {
    requeue(entry, HR__KUEUE_REQUEUE_NO_FIT, entry->assignment.reason);
    return true;
  }
  if (mode != HR__KUEUE_PREEMPT) return false;
  if (!entry->n_targets) {
    requeue(entry, HR__KUEUE_REQUEUE_NO_CANDIDATES, HR__KUEUE_WAITING_FOR_QUOTA);
    reserve(self, entry);
    return true;
  }
  bool gates = hr__kueue_has_gate(world, HR__KUEUE_BIT_CONCURRENT_ADMISSION) ||
               hr__kueue_has_gate(world, HR__KUEUE_BIT_ORCHESTRATED_PREEMPTION);
  if (!gates || !workload->gated) return false;
  entry->status = HR__KUEUE_PREEMPTION_GATED;
  entry->keeps_bookmark = false;
  requeue(entry, HR__KUEUE_REQUEUE_PREEMPTION_GATED, HR__KUEUE_GATED);
  return true;
}

static void take_victims(struct hr__kueue_cycle *self, const struct hr__kueue_entry *entry) {
  const struct hr__kueue_target *targets = targets_of(self, entry);
  for (uint32_t i = 0; i < entry->n_targets; i++) {
    if (self->is_victim[targets[i].workload]) continue;
    self->is_victim[targets[i].workload] = true;
    self->victims[self->n_victims++] = targets[i].workload;
  }
}

static void admit(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  const struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  if (self->not_all_ready && !workload->reserved) {
    entry->waits_for_pods_ready = true;
    requeue(entry, HR__KUEUE_REQUEUE_FAILED_AFTER_NOMINATION, HR__KUEUE_WAITING_FOR_PODS_READY);
    return;
  }
  uint32_t other = find_variant(self->world, workload, false);
  if (other != HR_NONE && !may_migrate(self->world, workload)) {
    skip(entry, HR__KUEUE_PENDING_EVALUATION);
    return;
  }
  if (other != HR_NONE) {
    entry->migrated = other;
    entry->keeps_bookmark = false;
    requeue(entry, HR__KUEUE_REQUEUE_PENDING_MIGRATION, HR__KUEUE_WAITING_FOR_PREEMPTED);
    return;
  }
  entry->status = HR__KUEUE_ADMITTED;
}

void hr__kueue_entry_process(struct hr__kueue_cycle *self, struct hr__kueue_entry *entry) {
  const struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  if (find_variant(self->world, workload, true) != HR_NONE) {
    skip(entry, HR__KUEUE_PENDING_EVALUATION);
    return;
  }
  enum cycle_fit fit = update(self, entry);
  if (is_done_by_mode(self, entry)) return;
  if (overlaps(self, entry) || fit != FIT_OK) {
    entry->skipped_preemption = overlaps(self, entry) || entry->assignment.mode == HR__KUEUE_PREEMPT;
    skip(entry, HR__KUEUE_WAITING_FOR_QUOTA);
    return;
  }
  take_victims(self, entry);
  hold_quota(self, entry, entry->assignment.usage, entry->assignment.n_usage);
  hold_nodes(self, entry);
  if (entry->assignment.mode == HR__KUEUE_FIT) {
    admit(self, entry);
    return;
  }
  entry->preempts = entry->assignment.mode == HR__KUEUE_PREEMPT;
  entry->keeps_bookmark = false;
  requeue(entry, HR__KUEUE_REQUEUE_PENDING_PREEMPTION, HR__KUEUE_WAITING_FOR_PREEMPTED);
}

/* ---- Bookmarks ---- */

bool hr__kueue_bookmark_is_outdated(hr__kueue_gates gates, int64_t last_generation, int64_t generation,
                                    int64_t last_cycle, int64_t cycle, bool known_shapes, bool same_shape) {
  if (hr__kueue_gate_is_on(gates, HR__KUEUE_BIT_PRESERVE_SCAN_PROGRESS)) {
    if (known_shapes && !same_shape) return true;
    if (cycle - last_cycle <= 1) return false;
  }
  return generation > last_generation;
}

void hr__kueue_bookmarks_save(const struct hr__kueue_world *world, const struct hr__kueue_workload *workload,
                              const struct hr__kueue_assignment *assignment, int32_t *row) {
  for (uint32_t i = 0; i < workload->n_pod_sets * world->n_resources; i++) row[i] = -1;
  for (uint32_t i = 0; i < assignment->n_pod_sets; i++) {
    const struct hr__kueue_pod_set_assignment *pod_set = &assignment->pod_sets[i];
    for (uint32_t k = 0; k < pod_set->n_choices; k++)
      row[pod_set->pod_set * world->n_resources + pod_set->choices[k].resource] = pod_set->choices[k].tried;
  }
}
